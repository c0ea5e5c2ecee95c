#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's programs of librdmacm on weft's NICs, unchanged: rping (checks what it reads), ucmatose, udaddy,
# rdma_server and rdma_client. librdmacm.so.1 of weft exports what the real one does; a client that nobody
# answers, or whose server dies, ends with an error.
# timeout: 400

. tests/int/lib.sh

run=build/bin/weft-run
[ -e build/lib/verbs/librdmacm.so.1 ] || skip 'librdmacm-dev is not installed'
command -v rping >/dev/null || skip 'rdmacm-utils is not installed'
ns=weft-cm-$$
ip netns add "$ns"
at_exit "ip netns del $ns"
ip -n "$ns" link set lo up
weftd_start weftd --nics 2

exported()
{
	objdump -T "$1" | awk '$2 == "g" && $4 != "*UND*" && $4 != "*ABS*" { print $6, $7 }' | sort
}
diff <(exported "/usr/lib/$(gcc -dumpmachine)/librdmacm.so.1") <(exported build/lib/verbs/librdmacm.so.1) ||
	die 'the exported symbols are not those of the real library'

# cm NAME DEVICE COMMAND...
cm()
{
	local name=$1 device=$2
	shift 2
	spawn "$name" ip netns exec "$ns" "$run" --device "$device" "$@"
}

# Nobody listens: refused, not a hang.
cm nobody weft0 rping -c -a 10.77.0.2 -C 1
finish nobody
[ "$status" -ne 0 ] || die 'rping connects to nobody'

# A server is asked again until it listens: the client says so at once when it does not.
pair()
{
	local name=$1 end=$((SECONDS + LIMIT))
	while :; do
		"${@:2}"
		[ "$status" -ne 0 ] || break
		[ "$SECONDS" -lt "$end" ] || die "$name: the client fails, status $status"
		sleep 0.1
	done
}
client=0
try()
{
	client=$((client + 1))
	cm "client$client" weft0 "$@"
	finish "client$client"
}

cm rping.s weft1 rping -s -a 10.77.0.2 -v -C 50 -S 4000
pair rping try rping -c -a 10.77.0.2 -v -V -C 50 -S 4000
expect_ok rping.s
grep -q 'rdma-ping-49' "$WEFT_TMP/client$client.out" || die 'rping has not pinged 50 times'
# Any address; within one NIC.
cm any.s weft0 rping -s -C 3
pair rping-any try rping -c -a 10.77.0.1 -V -C 3
expect_ok any.s
cm mato.s weft1 ucmatose -c 4 -C 20 -S 1000
pair ucmatose try ucmatose -s 10.77.0.2 -c 4 -C 20 -S 1000
expect_ok mato.s
cm udaddy.s weft1 udaddy -c 2 -C 10
pair udaddy try udaddy -s 10.77.0.2 -c 2 -C 10
expect_ok udaddy.s
cm server weft1 rdma_server -s 10.77.0.2 -p 7471
pair rdma_client try rdma_client -s 10.77.0.2 -p 7471
expect_ok server
