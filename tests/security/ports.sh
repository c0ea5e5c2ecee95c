#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Restricted ports: an unprivileged process requests low ones over rdma_cm in each port space,
# rsockets and the control socket, with and without CAP_NET_BIND_SERVICE, in a user namespace of its
# own, and while it becomes a program that has the capability. A weftd without descriptors takes
# over no port that a program of the kernel uses.

# shellcheck disable=SC2154 # tests/int/lib.sh has them
. tests/int/lib.sh
need setpriv setcap prlimit python3 unshare

for_others
netns_add n
ns=$(unique n)
nobody=65534
prog=$WEFT_INT/ports
in_ns="ip netns exec $ns"
weftd_start weftd --nics 2
chmod o+x "$WEFT_TMP" "$WEFT_RUN_DIR"
chmod o+rw "$WEFT_RUN_DIR"/weft?
as="setpriv --reuid $nobody --regid $nobody --clear-groups --inh-caps -all"
# Files for the client's output; it has no other rights.
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
at_exit "rm -rf '$dir'"
chmod 755 "$dir"

# asks WANTED WORDS COMMAND...: expects that it prints WANTED
asks()
{
	local want=$1 got
	shift
	# shellcheck disable=SC2086 # words
	got=$($in_ns "$@" 2>"$WEFT_TMP/ask.err") || die "$*: $(cat "$WEFT_TMP/ask.err")"
	[ "$got" = "$want" ] || die "$*: $got, not $want"
}

for space in tcp udp ib; do
	for port in 22 443 1023; do
		# shellcheck disable=SC2086
		asks EACCES $as "$prog" bind weft0 $space $port
	done
	# shellcheck disable=SC2086
	asks ok $as "$prog" bind weft0 $space 1024
	asks ok "$prog" bind weft0 $space 443
	# The capability that systemd's AmbientCapabilities= gives.
	asks ok setpriv --reuid $nobody --regid $nobody --clear-groups --inh-caps +net_bind_service \
		--ambient-caps +net_bind_service "$prog" bind weft0 $space 443
done
[ "$(counter weft0 cm_port_denied)" -eq 9 ] || die "counted: $(counter weft0 cm_port_denied)"
say 'ok: low ports need CAP_NET_BIND_SERVICE'

# All capabilities, but of a user namespace that has no power over weftd's network.
if $as unshare -Ur true 2>/dev/null; then
	# shellcheck disable=SC2086
	asks EACCES $as unshare -Ur "$prog" bind weft0 tcp 22
	say 'ok: not by a user namespace'
else
	say 'not tried: an unprivileged user can make no user namespace here'
fi

# Debian's programs report the errno of bind(2).
run=build/bin/weft-run
if [ -e build/lib/verbs/librdmacm.so.1 ] && command -v rping rstream >/dev/null; then
	for words in 'rping -s -p 22' 'rstream -p 443'; do
		# shellcheck disable=SC2086
		$in_ns $as "$run" --device weft1 $words >"$out" 2>&1 </dev/null &&
			die "$words as nobody: it went"
		grep -qi 'permission denied' "$out" || die "$words: $(cat "$out")"
	done
	say 'ok: rdma_cm and rsockets'
else
	say 'not tried: rdmacm-utils or librdmacm-dev is not installed'
fi

# When weftd looks, the process that connected has become a program with the capability, written by
# others: refused.
cp "$(command -v sleep)" "$dir/sleep"
setcap cap_net_bind_service=ep "$dir/sleep" || skip 'files have no capabilities here'
kill -STOP "${pid[weftd]}"
# shellcheck disable=SC2086
spawn race $in_ns $as "$prog" race "$WEFT_RUN_DIR/weft0" "$dir/go" "$dir/sleep" 22
says race executed
touch "$dir/go"
kill -CONT "${pid[weftd]}"
says race '^(ok|E[A-Z]*)$'
out_has race '^EACCES$' || die 'a process has the right of a program that it executed'
kill9 race
say 'ok: not by executing a program that has it'

# The administrator may have opened low ports to all users.
$in_ns sysctl -q -w net.ipv4.ip_unprivileged_port_start=0
# shellcheck disable=SC2086
asks ok $as "$prog" bind weft0 tcp 22
$in_ns sysctl -q -w net.ipv4.ip_unprivileged_port_start=444
# shellcheck disable=SC2086
asks EACCES $as "$prog" bind weft0 tcp 443
# shellcheck disable=SC2086
asks ok $as "$prog" bind weft0 tcp 444
weftd_stop weftd
say 'ok: ip_unprivileged_port_start'

# ---- an address that the kernel has, too

netns_add p
peer=$(unique p)
ip link add va netns "$peer" type veth peer name vb netns "$ns" || skip 'no veth here'
ip -n "$peer" addr add 10.9.0.1/24 dev va
ip -n "$peer" link set va up
ip -n "$ns" addr add 10.9.0.10/24 dev vb
ip -n "$ns" link set vb up
service='
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.9.0.10", 7000))
s.listen(5)
print("listens", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"the kernel\n")
    c.close()
'
spawn service ip netns exec "$ns" python3 -c "$service"
says service listens

serves()
{
	ip netns exec "$peer" python3 -c 'import socket
print(socket.create_connection(("10.9.0.10", 7000), 5).makefile().read().strip())' 2>/dev/null |
		grep -q 'the kernel'
}

weftd_start shared --port vb --ip 10.9.0.10/24
[ "$(counter weft0 xdp_shared_address)" -eq 1 ] || die 'the address is not shared'
wait_until 'the service answers' serves
chmod o+rw "$WEFT_RUN_DIR"/weft0
for n in 7000 7001; do
	# shellcheck disable=SC2086
	spawn ask$n $in_ns $as "$prog" later weft0 "$dir/full" $n
	says ask$n attached
done
# Not one more descriptor.
prlimit --pid "${pid[shared]}" --nofile=8:
touch "$dir/full"
expect_ok ask7000 ask7001
for n in 7000 7001; do
	grep -qE '^(EMFILE|EADDRINUSE)$' "$WEFT_TMP/ask$n.out" ||
		die "weftd has no descriptor: port $n: $(tail -n 1 "$WEFT_TMP/ask$n.out")"
done
serves || die 'the service of the kernel is not reached any more'
prlimit --pid "${pid[shared]}" --nofile=1024:
wait_until 'weftd takes connections again' counter_is weft0 xdp_tcp_ports 0
counter_above weft0 cm_port_refused 1 || die 'not counted'
# shellcheck disable=SC2086
asks EADDRINUSE $as "$prog" bind weft0 tcp 7000
# shellcheck disable=SC2086
asks ok $as "$prog" bind weft0 tcp 7001
weftd_stop shared
say 'ok: no descriptor, no port'
