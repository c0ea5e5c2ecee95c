#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Rights of a running weftd, for each way to start it: by root, by root with --user, by an
# unprivileged user with ambient capabilities, by one with none. Every thread has exactly the
# capabilities of docs/security.md "Rights of weftd", no way back to more (no_new_privs), and a
# filter of system calls; cores have two filters. weftd still serves: data, captures, processes that
# are killed, links that go down and up, groups, low ports of TCP at the kernel's address, and a
# clean end.

. tests/int/lib.sh
. tests/interop/lib.sh # run, progs
need ping setpriv python3

BIND=0x400   # CAP_NET_BIND_SERVICE
LOCK=0x4000  # CAP_IPC_LOCK, where the limit on locked memory cannot be raised

# field FILE NAME: a field of a /proc/.../status
field()
{
	awk -v name="$2:" '$1 == name { print $2 }' "$1"
}

# hex NAME CAPABILITIES: in the format of /proc, with CAP_IPC_LOCK where it is due
hex()
{
	local caps=$2
	# shellcheck disable=SC2154 # pid is of tests/int/lib.sh
	grep -q '^Max locked memory *unlimited ' "/proc/${pid[$1]}/limits" || caps=$((caps | LOCK))
	printf '%016x' "$caps"
}

# rights NAME CAPABILITIES FILTERS: checks every thread; FILTERS: 1, or 0 with --seccomp off; a core
# has one more
rights()
{
	local name=$1 caps filters=$3 task f cores=0 want
	caps=$(hex "$1" "$2")
	for task in "/proc/${pid[$name]}/task"/*; do
		for f in CapEff CapPrm; do
			[ "$(field "$task/status" $f)" = "$caps" ] ||
				die "$name: thread $(cat "$task/comm") has $f $(field "$task/status" $f), not $caps"
		done
		for f in CapInh CapAmb; do
			[ "$(field "$task/status" $f)" = 0000000000000000 ] || die "$name: thread $(cat "$task/comm"): $f"
		done
		[ "$(field "$task/status" NoNewPrivs)" = 1 ] || die "$name: thread $(cat "$task/comm") could get new rights"
		want=$filters
		case $(cat "$task/comm") in
		rte-worker* | lcore-worker* | weft-[0-9]*.[0-9]*)
			cores=$((cores + 1))
			want=$((filters * 2))
			;;
		esac
		[ "$(field "$task/status" Seccomp_filters)" = "$want" ] ||
			die "$name: thread $(cat "$task/comm") has $(field "$task/status" Seccomp_filters) filters, not $want"
	done
	[ "$cores" -gt 0 ] || die "$name has no cores"
	say "ok: $name: capabilities $caps, $cores cores"
}

# bounded NAME CAPABILITIES: no program that it could execute gets more
bounded()
{
	local task caps
	caps=$(hex "$1" "$2")
	for task in "/proc/${pid[$1]}/task"/*; do
		[ "$(field "$task/status" CapBnd)" = "$caps" ] || die "$1: CapBnd $(field "$task/status" CapBnd), not $caps"
	done
}

# user NAME USER: every thread runs as that user, without root's groups
user()
{
	local task uid gid
	uid=$(id -u "$2") gid=$(id -g "$2")
	for task in "/proc/${pid[$1]}/task"/*; do
		awk -v uid="$uid" -v gid="$gid" '
			$1 == "Uid:" && ($2 != uid || $3 != uid || $4 != uid || $5 != uid) { bad = 1 }
			$1 == "Gid:" && ($2 != gid || $3 != gid || $4 != gid || $5 != gid) { bad = 1 }
			$1 == "Groups:" { for (i = 2; i <= NF; i++) if (!$i) bad = 1 }
			END { exit bad }' "$task/status" || die "$1: a thread is not user $2 alone"
	done
}

# serves NIC NIC: data, one process killed in the middle, a capture
serves()
{
	bench "$1" "$2" lat --iters 100
	bench "$1" "$2" bw --size 65536 --iters 50
	sequence=$((sequence + 1))
	spawn "cap$sequence" "$WEFT_BIN/weftctl" capture "$1" -w "$WEFT_TMP/cap$sequence.pcapng"
	wait_until 'a capture begins' test -s "$WEFT_TMP/cap$sequence.pcapng"
	bench_start "dies$sequence" "$1" "$2" lat --iters 1000000
	in_traffic "$1"
	kill9 "dies$sequence.c"
	finish "dies$sequence.s"
	kill -INT "${pid[cap$sequence]}"
	expect_ok "cap$sequence"
	[ "$(stat -c %s "$WEFT_TMP/cap$sequence.pcapng")" -gt 10000 ] || die 'the capture has no frames'
	expect_objects "$1" '0 0 0 0'
	expect_objects "$2" '0 0 0 0'
}

# ends NAME: weftd ends cleanly; no socket is left in the run directory
ends()
{
	weftd_stop "$1"
	[ -z "$(find "$WEFT_RUN_DIR" -type s)" ] || die "$1 left sockets: $(find "$WEFT_RUN_DIR" -type s)"
}

# new_dir USER: makes an empty run directory owned by USER; none: the directory does not exist
new_dir()
{
	rm -rf "$WEFT_RUN_DIR"
	[ $# -eq 0 ] || install -d -o "$1" -m 755 "$WEFT_RUN_DIR"
}

[ "$(id -u)" -eq 0 ] || skip 'only root can start weftd in all these ways'
for_others
id nobody >/dev/null 2>&1 || skip 'there is no user nobody here'

# ---- on the built-in switch: no capability at all

weftd_start root --nics 2 --user root
rights root 0 1
bounded root 0
serves weft0 weft1
kill -HUP "${pid[root]}"
says root 'SIGHUP'
bench weft0 weft1 lat --iters 100
ends root

weftd_start off --nics 1 --user root --seccomp off
rights off 0 0
ends off

new_dir
weftd_start changed --nics 2 --user nobody
rights changed 0 1
bounded changed 0
user changed nobody
[ "$(stat -c %U "$WEFT_RUN_DIR/weft0")" = nobody ] || die 'the socket is not the user'\''s'
serves weft0 weft1
ends changed

# An existing directory keeps its owner.
new_dir root
spawn refused "$WEFT_BIN/weftd" --nics 1 --user nobody
expect_fail refused 'run directory belongs to another user'
[ "$(stat -c %U "$WEFT_RUN_DIR")" = root ] || die 'the run directory was given away'

new_dir nobody
as_nobody='setpriv --reuid=nobody --regid=nogroup --clear-groups'
in_ns="$as_nobody --bounding-set=-all --inh-caps=-all"
weftd_start bare --nics 2
in_ns=
LOCK=0 rights bare 0 1
user bare nobody
serves weft0 weft1
ends bare
[ ! -S "/tmp/dpdk/weftd-weft/dpdk_telemetry.v2" ] || die 'DPDK keeps a socket in /tmp'

# ---- on a veth, whose address the kernel has, too: ports below 1024 are bound there

veth_add a b
a=$(unique a) b=$(unique b)
ip -n "$a" addr add 10.9.0.1/24 dev va
ip -n "$b" addr add 10.9.0.2/24 dev vb

link_is()
{
	ctl list >"$WEFT_TMP/list"
	[ "$(awk '$1 == "weft0" { print $5 }' "$WEFT_TMP/list")" = "$1" ]
}

joined()
{
	ip -n "$b" maddr show dev vb | grep -q '01:00:5e:09:08:07'
}

reserved()
{
	ip netns exec "$b" python3 -c '
import errno, socket
try:
    socket.socket().bind(("10.9.0.2", 600))
except OSError as e:
    raise SystemExit(e.errno != errno.EADDRINUSE)
raise SystemExit(1)'
}

# on_veth NAME: operations of a NIC on an interface of the kernel that need rights which it has
# given up
on_veth()
{
	local state
	for state in down up; do
		ip -n "$a" link set va $state
		wait_until "the link is $state" link_is $state
	done
	ip netns exec "$a" ping -q -c 3 -W 5 10.9.0.2 >/dev/null || die 'ping'
	spawn "member$1" "$WEFT_INT/mcast_prog" member weft0 239.9.8.7 7
	says "member$1" '^attached$'
	wait_until 'the interface has joined the group' joined
	kill -TERM "${pid[member$1]}"
	finish "member$1"
	# shellcheck disable=SC2154 # run and progs are of tests/interop/lib.sh
	spawn "low$1" ip netns exec "$b" "$run" --device weft0 "$progs/rc_peer" listen 10.9.0.2 600
	says "low$1" '^listening'
	reserved || die 'port 600 of the NIC is not kept from the kernel'
	kill9 "low$1"
	wait_until 'port 600 is given back' counter_is weft0 xdp_tcp_ports_reserved 0
	counter_above weft0 xdp_passed 0 || die 'the counters of the XDP program cannot be read'
	serves weft0 weft0
}

new_dir
in_ns="ip netns exec $b"
weftd_start veth --port vb --ip 10.9.0.2/24 --netdev xdp --user root
in_ns=
rights veth $BIND 1
bounded veth $BIND
on_veth veth
ends veth

# Release build: a core of a build with sanitizers makes a few more system calls.
if [ -x build/bin/weftd ]; then
	new_dir
	in_ns="ip netns exec $b"
	WEFT_BIN=build/bin weftd_start released --port vb --ip 10.9.0.2/24 --netdev xdp --user root
	in_ns=
	rights released $BIND 1
	on_veth released
	ends released
fi

# AF_XDP's memory is locked: the limit cannot be raised without rights.
new_dir nobody
caps=+net_admin,+net_raw,+bpf,+perfmon,+net_bind_service,+ipc_lock
in_ns="ip netns exec $b $as_nobody --inh-caps=$caps --ambient-caps=$caps --bounding-set=-all,$caps"
weftd_start ambient --port vb --ip 10.9.0.2/24 --netdev xdp
in_ns=
rights ambient $BIND 1
user ambient nobody
on_veth ambient
ends ambient

# AF_PACKET binds no port.
ip -n "$b" addr del 10.9.0.2/24 dev vb
new_dir
in_ns="ip netns exec $b"
weftd_start packet --port vb --ip 10.9.0.2/24 --netdev packet --user nobody
export in_ns=
rights packet 0 1
user packet nobody
ip netns exec "$a" ping -q -c 3 -W 5 10.9.0.2 >/dev/null || die 'ping'
serves weft0 weft0
ends packet
