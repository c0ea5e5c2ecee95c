#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A NIC at the kernel's own address, by AF_XDP: it takes only those TCP ports on which it has
# connections or listeners. A TCP service of the kernel there, its ping and its own connections go
# on while RC over TCP runs with Linux at the other end, both ways; no port belongs to both. The
# address goes and comes back while weftd runs. AF_PACKET refuses a shared address.

. tests/int/lib.sh
need ping python3 ethtool
run=build/bin/weft-run
progs=build/int
[ -x "$progs/rc_peer" ] || skip 'librdmacm-dev is not installed'

netns_add a
netns_add b
a=$(unique a) b=$(unique b)
ip link add va netns "$a" type veth peer name vb netns "$b" || skip 'no veth here'
ip -n "$a" addr add 10.9.0.1/24 dev va
ip -n "$b" addr add 10.9.0.2/24 dev vb
for end in "$a va" "$b vb"; do
	# shellcheck disable=SC2086 # words
	ip netns exec ${end% *} ethtool -K ${end#* } tso off gso off gro off >/dev/null 2>&1
	# shellcheck disable=SC2086
	ip -n ${end% *} link set ${end#* } up
done
on_a="ip netns exec $a"
on_b="ip netns exec $b"

# An echo service, and its client until the file "enough" exists; every byte is checked.
cat >"$WEFT_TMP/echo.py" <<'PY'
import os, socket, sys, threading

def serve(c):
    while data := c.recv(4096):
        c.sendall(data)

if sys.argv[1] == "server":
    s = socket.create_server((sys.argv[2], int(sys.argv[3])))
    print("listening", flush=True)
    while True:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
s = socket.create_connection((sys.argv[2], int(sys.argv[3])), 10)
rounds = 0
while not os.path.exists(sys.argv[4]) or not rounds:
    text = os.urandom(3000)
    s.sendall(text)
    got = b""
    while len(got) < len(text):
        part = s.recv(4096)
        assert part, "closed"
        got += part
    assert got == text, "wrong bytes"
    rounds += 1
print("rounds", rounds)
PY

# tcp_to NAMESPACE-COMMAND PORT: prints "refused", "open" or "silent"
tcp_to()
{
	# shellcheck disable=SC2086 # words
	$1 python3 - "$2" <<'PY'
import socket, sys
try:
    socket.create_connection(("10.9.0.2", int(sys.argv[1])), 10)
    print("open")
except ConnectionRefusedError:
    print("refused")
except OSError:
    print("silent")
PY
}

# pair NAME PORT ACTIVE PASSIVE: both of rc and sock
pair()
{
	local who
	for who in "$4 listen" "$3 connect"; do
		# shellcheck disable=SC2086 # words
		case $who in
		"rc listen") spawn "$1.p" $on_b "$run" --device weft0 "$progs/rc_peer" listen 10.9.0.2 "$2" -s 5000 ;;
		"sock listen") spawn "$1.p" $on_a "$progs/mpa_sock" listen 10.9.0.1 "$2" -s 5000 ;;
		"rc connect") spawn "$1.a" $on_b "$run" --device weft0 "$progs/rc_peer" connect 10.9.0.1 "$2" -s 5000 -o write -d both -n 60 ;;
		"sock connect") spawn "$1.a" $on_a "$progs/mpa_sock" connect 10.9.0.2 "$2" -s 5000 -o write -d both -n 60 ;;
		esac
		[ "${who#* }" = connect ] || says "$1.p" '^listening'
	done
}

# shellcheck disable=SC2086 # words
refused()
{
	spawn packet $on_b "$WEFT_BIN/weftd" --port vb --ip 10.9.0.2/24 --netdev packet
	expect_fail packet 'the kernel also has the NIC.s address, which requires AF_XDP'
}

refused
in_ns=$on_b
weftd_start weftd --port vb --ip 10.9.0.2/24 --netdev xdp
export in_ns=
says weftd "at the kernel's address"
counter_is weft0 xdp_shared_address 1 || die 'the address is not the kernel'"'s"

# shellcheck disable=SC2086
{
	spawn echo.s $on_b python3 "$WEFT_TMP/echo.py" server 10.9.0.2 2222
	spawn back.s $on_a python3 "$WEFT_TMP/echo.py" server 10.9.0.1 2223
	says echo.s listening
	says back.s listening
	spawn echo.c $on_a python3 "$WEFT_TMP/echo.py" client 10.9.0.2 2222 "$WEFT_TMP/enough"
	spawn back.c $on_b python3 "$WEFT_TMP/echo.py" client 10.9.0.1 2223 "$WEFT_TMP/enough"
	spawn ping $on_a ping -c 10 -i 0.05 -W 10 10.9.0.2
}
pair one 7001 sock rc
pair two 7002 rc sock
expect_ok one.a one.p two.a two.p ping
out_has ping ' 10 received' || die 'not all pings were answered'
touch "$WEFT_TMP/enough"
expect_ok echo.c back.c
counter_above weft0 xdp_taken_tcp 100 || die 'the NIC took no TCP'
counter_above weft0 xdp_passed_port 10 || die 'the kernel got no TCP'
counter_is weft0 icmp_echo_rx 0 || die 'the NIC took pings of the kernel'
say "ok: side by side: $(tail -n 1 "$WEFT_TMP/echo.c.out"), $(tail -n 1 "$WEFT_TMP/back.c.out") of the kernel"

# No port belongs to both: the NIC cannot take a port of the kernel's service, and the other way
# round.
# shellcheck disable=SC2086
spawn taken $on_b "$run" --device weft0 "$progs/rc_peer" listen 10.9.0.2 2222
finish taken
# shellcheck disable=SC2154 # tests/int/lib.sh has it
[ "$status" -ne 0 ] || die "the NIC listens on a port of the kernel's service"
out_has taken 'Address already in use' || die 'it does not say why not'
[ "$(tcp_to "$on_a" 7003)" = refused ] || die 'a port that nobody has is not refused'
# shellcheck disable=SC2086
spawn holder $on_b "$run" --device weft0 "$progs/rc_peer" listen 10.9.0.2 7003
says holder '^listening'
counter_is weft0 xdp_tcp_ports 1 || die 'the NIC has not one port'
counter_is weft0 xdp_tcp_ports_reserved 1 || die 'the port is not kept from the kernel'
# shellcheck disable=SC2086
spawn thief $on_b python3 "$WEFT_TMP/echo.py" server 10.9.0.2 7003
finish thief
out_has thief 'Address already in use' || die "the kernel gave the NIC's port to somebody"
[ "$(tcp_to "$on_a" 7003)" = open ] || die 'the NIC does not answer'
[ "$(tcp_to "$on_a" 2222)" = open ] || die 'the service does not answer'
kill9 holder
wait_until 'the port is nobody'"'s" counter_is weft0 xdp_tcp_ports 0
counter_is weft0 xdp_tcp_ports_reserved 0 || die 'the kernel is still kept from the port'
[ "$(tcp_to "$on_a" 7003)" = refused ] || die 'a port that nobody has any more is not refused'
say 'ok: ports'

# The address becomes the NIC's own, which refuses unknown ports and answers ping; then it is shared
# again.
# shellcheck disable=SC2086
spawn lasting $on_b "$run" --device weft0 "$progs/rc_peer" listen 10.9.0.2 7004
says lasting '^listening'
ip -n "$b" addr del 10.9.0.2/24 dev vb
says weftd 'its address is its own'
counter_is weft0 xdp_tcp_ports_reserved 0 || die 'ports are still kept from the kernel'
[ "$(tcp_to "$on_a" 2222)" = refused ] || die 'the NIC does not refuse'
$on_a ping -c 1 -W 10 10.9.0.2 >/dev/null || die 'the NIC does not answer'
counter_above weft0 icmp_echo_rx 0 || die 'it was not the NIC that answered'
ip -n "$b" addr add 10.9.0.2/24 dev vb
says weftd "its address is the kernel's too"
wait_until 'the port is kept from the kernel' counter_is weft0 xdp_tcp_ports_reserved 1
[ "$(tcp_to "$on_a" 2222)" = open ] || die 'the service does not answer'
[ "$(tcp_to "$on_a" 7004)" = open ] || die 'the NIC does not answer'
say 'ok: the address goes and comes'
kill9 lasting
weftd_stop weftd
