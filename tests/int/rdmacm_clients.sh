#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Debian's programs of librdmacm on weft's NICs, unchanged: rping (checks what it reads), ucmatose,
# udaddy, rdma_server and rdma_client. A client without a server ends with an error.
# timeout: 400

. tests/int/lib.sh

run=build/bin/weft-run
[ -e build/lib/verbs/librdmacm.so.1 ] || skip 'librdmacm-dev is not installed'
need rping
netns_add c
ns=$(unique c)
weftd_start weftd --nics 2

# cm NAME DEVICE COMMAND...
cm()
{
	local name=$1 device=$2
	shift 2
	spawn "$name" ip netns exec "$ns" "$run" --device "$device" "$@"
}

# Without a listener a connection is refused and does not hang.
cm nobody weft0 rping -c -a 10.77.0.2 -C 1
finish nobody
[ "$status" -ne 0 ] || die 'rping connects to nobody'

# listens NIC: waits for a listener there
listens()
{
	wait_until "a server listens on $1" counter_above "$1" cm_listeners 0
}

client=0
try()
{
	client=$((client + 1))
	cm "client$client" weft0 "$@"
	expect_ok "client$client"
}

# pair NAME NIC SERVER... -- CLIENT...: a server on that NIC and a client on weft0, both of which
# must succeed
pair()
{
	local name=$1 nic=$2 server=()
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	cm "$name" "$nic" "${server[@]}"
	listens "$nic"
	try "$@"
	expect_ok "$name"
	wait_until "nobody listens on $nic" counter_is "$nic" cm_listeners 0
}

pair rping.s weft1 rping -s -a 10.77.0.2 -v -C 50 -S 4000 -- rping -c -a 10.77.0.2 -v -V -C 50 -S 4000
grep -q 'rdma-ping-49' "$WEFT_TMP/client$client.out" || die 'rping has not pinged 50 times'
# The server listens on any address; both are on one NIC.
pair any.s weft0 rping -s -C 3 -- rping -c -a 10.77.0.1 -V -C 3
pair self.s weft1 rping -s -a 127.0.0.1 -C 3 -- rping -c -a 10.77.0.2 -V -C 3
pair mato.s weft1 ucmatose -c 4 -C 20 -S 1000 -- ucmatose -s 10.77.0.2 -c 4 -C 20 -S 1000
pair udaddy.s weft1 udaddy -c 2 -C 10 -- udaddy -s 10.77.0.2 -c 2 -C 10
pair server weft1 rdma_server -s 10.77.0.2 -p 7471 -- rdma_client -s 10.77.0.2 -p 7471
[ "$(counter weft1 mpa_established)" -gt 0 ] || die 'nothing of it went over TCP'

# The same over datagrams.
export WEFT_LLP=rd
before=$(counter weft1 mpa_established)
pair rping.rd weft1 rping -s -a 10.77.0.2 -v -C 20 -S 4000 -- rping -c -a 10.77.0.2 -v -V -C 20 -S 4000
pair mato.rd weft1 ucmatose -c 4 -C 20 -S 1000 -- ucmatose -s 10.77.0.2 -c 4 -C 20 -S 1000
pair server.rd weft1 rdma_server -s 10.77.0.2 -p 7471 -- rdma_client -s 10.77.0.2 -p 7471
[ "$(counter weft1 mpa_established)" -eq "$before" ] || die 'WEFT_LLP=rd speaks TCP'
# Extended connections: an XRC domain and an SRQ of the server's identifier.
pair xserver weft1 rdma_xserver -p 7472 -c x -- rdma_xclient -s 10.77.0.2 -p 7472 -c x
