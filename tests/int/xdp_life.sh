#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The XDP program on an interface: it is gone when weftd ends or is killed; a second weftd and a
# foreign program are reported; remains of a killed weftd on older kernels are removed; the
# interface goes down, is renamed, joins a bridge for a while, moves to another namespace, is
# deleted.

. tests/int/lib.sh
need ping python3

for ns in a b c; do
	netns_add $ns
done
a=$(unique a) b=$(unique b) c=$(unique c)
in_ns="ip netns exec $b"

new_veth()
{
	ip link add va netns "$a" type veth peer name vb netns "$b" || skip 'no veth here'
	ip -n "$a" addr replace 10.9.0.1/24 dev va
	ip -n "$a" link set va up
	ip -n "$b" link set vb up
}

# has_program NAMESPACE INTERFACE
has_program()
{
	ip -n "$1" link show "$2" | grep -q prog/xdp
}

has_none()
{
	! has_program "$@"
}

start()
{
	local name=$1
	shift
	weftd_start "$name" --port vb --ip 10.9.0.10/24 "$@"
	has_program "$b" vb || die 'there is no XDP program'
}

# refused NAME TEXT OPTION...: weftd must not start, and must say why
refused()
{
	local name=$1 text=$2
	shift 2
	# shellcheck disable=SC2086 # words
	spawn "$name" $in_ns "$WEFT_BIN/weftd" --port vb --ip 10.9.0.11/24 --name other "$@"
	expect_fail "$name" "$text"
}

answers()
{
	ip netns exec "$a" ping -c 1 -W 1 10.9.0.10 >/dev/null
}

link_is()
{
	ctl list >"$WEFT_TMP/list"
	[ "$(awk '$1 == "weft0" { print $5 }' "$WEFT_TMP/list")" = "$1" ]
}

# Sockets in error keep no core awake: a sleeping core is not woken a thousand times a second.
sleeps_again()
{
	local sleeps
	sleeps=$(counter weft0 core_sleeps)
	sleep 0.4
	[ "$(counter weft0 core_sleeps)" -lt $((sleeps + 300)) ] || die 'the core finds no rest'
}

knows()
{
	ctl neigh weft0 | grep -q " 10.9.0.1 .*$1"
}

# attach NAME: attaches a program to the interface itself, without a link, as older and other tools
# do; prints its id
attach()
{
	# shellcheck disable=SC2086 # words
	$in_ns python3 - "$1" <<'PY' || die 'the program is not attached'
import ctypes, socket, sys
bpf = ctypes.CDLL("libbpf.so.1")
code = (ctypes.c_uint64 * 2)(2 << 32 | 0xb7, 0x95)  # r0 = XDP_PASS; exit
fd = bpf.bpf_prog_load(6, sys.argv[1].encode(), b"GPL", code, ctypes.c_size_t(2), None)
sys.exit(fd < 0 or bpf.bpf_xdp_attach(socket.if_nametoindex("vb"), fd, 2, None) != 0)
PY
}

new_veth
start first
wait_until 'the NIC answers' answers
refused second 'another weftd uses it; stop that one first'
# A user who removes the program does not get far.
ip -n "$b" link set dev vb xdpgeneric off 2>"$WEFT_TMP/off.err"
has_program "$b" vb || die 'ip link took the program of a weftd that runs'
kill9 first
wait_until 'SIGKILL took the program along' has_none "$b" vb
say 'ok: killed'

attach weft_xdp
has_program "$b" vb || die 'the interface has no program'
start later
says later 'removed the XDP program of a killed weftd'
wait_until 'the NIC answers' answers
# A station that announces a new MAC (gratuitous ARP) is accepted, though it requests no address.
ip -n "$a" neigh flush dev va
wait_until 'the NIC is asked for its MAC, and answers' answers
knows 02:00:00:00:00:77 && die 'the NIC knows a MAC that nobody has'
ip netns exec "$a" sysctl -q -w net.ipv4.conf.va.arp_notify=1
ip -n "$a" link set va address 02:00:00:00:00:77
wait_until 'the NIC knows the new MAC' knows 02:00:00:00:00:77
weftd_stop later
has_none "$b" vb || die 'the program is still there'
say 'ok: left behind'

attach firewall
refused foreign 'program is attached, "firewall" with id [0-9]*; .* ip link set dev vb xdpgeneric off' --netdev xdp
weftd_start tap --port vb --ip 10.9.0.10/24
says tap 'AF_PACKET instead of AF_XDP on vb: another XDP program is attached, "firewall"'
wait_until 'the NIC answers' answers
tool 1 "$WEFT_BIN/weftctl" xdp weft0
# shellcheck disable=SC2154 # tests/int/lib.sh has it
grep -q 'weft0: the NIC does not use AF_XDP on an interface of the kernel' "$err" || die "$(cat "$err")"
[ "$(ctl xdp --json)" = '[]' ] || die 'weftctl shows a program that is not there'
ip -n "$b" link set vb down
wait_until 'the link is down' link_is down
sleeps_again
ip -n "$b" link set vb up
wait_until 'the NIC answers again' answers
sleeps_again
weftd_stop tap
has_program "$b" vb || die 'the program of somebody else was taken away'
ip -n "$b" link set dev vb xdpgeneric off
say "ok: somebody else's"

start native --netdev native
wait_until 'the NIC answers' answers
counter_is weft0 xdp_generic 0 || die 'not in the driver'
ip -n "$b" link set vb down
wait_until 'the link is down' link_is down
ip -n "$b" link set vb name vx
ip -n "$b" link set vx up
wait_until 'the link is up' link_is up
wait_until 'the NIC answers again' answers
weftd_stop native
has_none "$b" vx || die 'the program is still there'
ip -n "$b" link set vx down
ip -n "$b" link set vx name vb
ip -n "$b" link set vb up
say 'ok: down, another name'

start moved
ip -n "$b" link add br0 type bridge || skip 'no bridge here'
ip -n "$b" link set vb master br0
ip -n "$b" link set vb nomaster
wait_until 'the NIC answers, out of the bridge' answers
link_is up || die 'the link is down, out of the bridge'
ip -n "$b" link set vb netns "$c"
says moved 'the interface vb is gone from this namespace'
wait_until 'the link is down' link_is down
sleeps_again
weftd_stop moved
has_none "$c" vb || die 'the program is on the interface in its new namespace'
ip -n "$a" link del va
say 'ok: moved'

new_veth
start deleted
wait_until 'the NIC answers' answers
ip -n "$b" link del vb
says deleted 'the interface vb is gone from this namespace'
weftd_stop deleted
say 'ok: deleted'
