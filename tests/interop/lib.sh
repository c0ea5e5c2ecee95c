#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions shared by the scripts of this folder, which source it after tests/int/lib.sh.
#
# One namespace with a bridge: weftd's NIC "$nic" (10.9.0.2) and Linux's TCP (10.9.0.1) are at the
# ends of a veth each, so that guests can be connected, or the bridge be replaced by a wire that
# loses frames (lossy_wire). A script runs rc_peer on the NIC (rc), mpa_sock on the kernel (sock),
# or another program in the guest.

# shellcheck source=tests/int/lib.sh
run=build/bin/weft-run
progs=build/int
nic=iop0
nic_ip=10.9.0.2
linux_ip=10.9.0.1
[ -x "$progs/rc_peer" ] || skip 'librdmacm-dev is not installed'

# wire_up MTU: makes the namespace "$ns" with all that
wire_up()
{
	local dev
	netns_add iop
	ns=$(unique iop)
	ip -n "$ns" link add br0 type bridge || skip 'no bridge here'
	ip -n "$ns" link add wa mtu "$1" type veth peer name wb mtu "$1" || skip 'no veth here'
	ip -n "$ns" link add la mtu "$1" type veth peer name lb mtu "$1"
	ip -n "$ns" link set wb master br0
	ip -n "$ns" link set lb master br0
	for dev in br0 wa wb la lb; do
		ip netns exec "$ns" sysctl -q -w "net.ipv6.conf.$dev.disable_ipv6=1" 2>/dev/null
		ip -n "$ns" link set "$dev" up
	done
	offloads off
	ip -n "$ns" addr add "$linux_ip/24" dev la
}

# offloads on|off: lets the kernel send many segments as one frame, which a lossy wire does not
# carry
offloads()
{
	local dev
	for dev in br0 wa wb la lb; do
		ip netns exec "$ns" ethtool -K "$dev" tso "$1" gso "$1" gro "$1" >/dev/null 2>&1
	done
}

# nic_up NAME OPTION...: starts a weftd, called NAME
nic_up()
{
	local name=$1
	shift
	# shellcheck disable=SC2034 # weftd_start looks at it
	in_ns="ip netns exec $ns"
	weftd_start "$name" --port wa --ip "$nic_ip/24" --name iop "$@"
	export in_ns=
}

# rc NAME listen|connect PORT OPTION...: runs rc_peer on the NIC
rc()
{
	local name=$1 what=$2 port=$3 ip=$nic_ip
	shift 3
	[ "$what" = listen ] || ip=${peer_ip:-$linux_ip}
	spawn "$name" ip netns exec "$ns" "$run" --device "$nic" "$progs/rc_peer" "$what" "$ip" "$port" "$@"
	[ "$what" = connect ] || says "$name" '^listening'
}

# sock NAME listen|connect PORT OPTION...: runs mpa_sock on the kernel
sock()
{
	local name=$1 what=$2 port=$3 ip=$linux_ip
	shift 3
	[ "$what" = listen ] || ip=$nic_ip
	spawn "$name" ip netns exec "$ns" "$progs/mpa_sock" "$what" "$ip" "$port" "$@"
	[ "$what" = connect ] || says "$name" '^listening'
}

# wire OPTION...: puts a lossy_wire between the two instead of the bridge; without options: the
# bridge again
wires=0
wire()
{
	local dev
	if [ "$wires" -gt 0 ] && alive "wire$wires"; then
		# shellcheck disable=SC2154 # tests/int/lib.sh has it
		kill -TERM "${pid[wire$wires]}"
		expect_ok "wire$wires"
	fi
	for dev in wb lb; do
		ip -n "$ns" link set "$dev" nomaster
		[ $# -gt 0 ] || ip -n "$ns" link set "$dev" master br0
	done
	[ $# -gt 0 ] || return 0
	wires=$((wires + 1))
	spawn "wire$wires" ip netns exec "$ns" "$progs/lossy_wire" wb lb "$@"
	says "wire$wires" '^ready'
}

peer_port=7000
runs=0
# pair ACTIVE PASSIVE BYTES "PASSIVE'S OPTIONS" OPTION...: ACTIVE and PASSIVE are rc or sock; both
# must succeed
pair()
{
	local active=$1 passive=$2 bytes=$3 words=$4
	shift 4
	peer_port=$((peer_port + 1))
	runs=$((runs + 1))
	# shellcheck disable=SC2086 # words
	"$passive" "p$runs" listen "$peer_port" -s "$bytes" $words
	"$active" "a$runs" connect "$peer_port" -s "$bytes" "$@"
	expect_ok "a$runs" "p$runs"
	say "ok: $active to $passive: $bytes $words $* ($(tail -n 1 "$WEFT_TMP/a$runs.out"))"
}

# held: prints the NIC's nonzero gauges of connections, listeners and pending operations
held()
{
	ctl stats "$nic" >"$WEFT_TMP/list"
	awk '$1 ~ /^(cm_endpoints|cm_data|tcp_half_open|tcp_chunks|mpa_conns|mpa_setups|mpa_segs|mpa_partials|wqes|recv_msgs)_used:$/ {
			seen++
			if ($2) print $1, $2
		}
		$1 ~ /^(cm|tcp)_listeners:$/ { seen++; if ($2) print $1, $2 }
		END { if (seen != 12) print seen + 0, "gauges, not 12" }' "$WEFT_TMP/list"
}

nothing_held()
{
	[ -z "$(held)" ]
}

# nothing_left: no objects of programs are left on the NIC, no connections, and none of their
# resources. TCP's flows are left, in TIME-WAIT.
nothing_left()
{
	expect_objects "$nic" '0 0 0 0'
	# shellcheck disable=SC2119 # no arguments
	wait_until "$nic holds nothing ($(held))" nothing_held
}

# no_flows: those in TIME-WAIT are gone, too, a minute later
no_flows()
{
	LIMIT=120 wait_until "$nic has no flows of TCP left" counter_is "$nic" tcp_flows_used 0
}

# capture NAME, captured NAME: writes the NIC's traffic to NAME.pcapng
capture()
{
	spawn "capture_$1" "$WEFT_BIN/weftctl" capture "$nic" -w "$WEFT_TMP/$1.pcapng"
	wait_until "$nic is captured" test -s "$WEFT_TMP/$1.pcapng"
}

captured()
{
	kill -INT "${pid[capture_$1]}"
	expect_ok "capture_$1"
}

# frames NAME OPTION...: tshark finds the properties of the options in it, and nothing malformed
# (frames.py)
frames()
{
	tests/interop/frames.py "$WEFT_TMP/$1.pcapng" --nic "$nic_ip" "${@:2}" >"$WEFT_TMP/frames.out" 2>&1 ||
		{ cat "$WEFT_TMP/frames.out"; die "$1: what tshark sees is not what was to be"; }
	say "ok: $1: $(tail -n 1 "$WEFT_TMP/frames.out")"
}

# ---- siw in a guest

guest=tests/interop/guest.sh
guest_ip=10.9.0.3

# guest_up: the namespace, and a guest with siw in the place of Linux's TCP
guest_up()
{
	local dev reason
	reason=$($guest why) || skip "$reason"
	[ -e "${WEFT_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-guest}/ready" ] || $guest build || die 'no guest'
	export WEFT_GUEST_RUN=$WEFT_TMP/guest
	wire_up 1500
	ip -n "$ns" link add ga type veth peer name gb
	for dev in ga gb; do
		ip netns exec "$ns" ethtool -K $dev tso off gso off gro off >/dev/null 2>&1
		ip -n "$ns" link set $dev up
	done
	ip -n "$ns" link set gb master br0
	ip -n "$ns" link set wb nomaster
	# siw misses an FPDU that comes right behind its own MPA reply: the wire delays it.
	spawn wire ip netns exec "$ns" "$progs/lossy_wire" wb ga -m 200
	says wire '^ready'
	at_exit "$guest stop siw"
	$guest boot siw --ns "$ns" --bridge br0 --ip $guest_ip/24 --add "$progs/rc_peer" || die 'the guest does not boot'
	# rc_peer is in the guest's path, but not in this machine's.
	mkdir "$WEFT_TMP/path"
	ln -s "$PWD/$progs/rc_peer" "$WEFT_TMP/path/rc_peer"
	PATH=$WEFT_TMP/path:$PATH
}

# siw WORD...: runs to its end, in the guest
siw()
{
	timeout "$LIMIT" $guest sh siw "$*" >"$WEFT_TMP/siw.out" 2>&1 || { cat "$WEFT_TMP/siw.out"; die "in the guest: $*"; }
}

# siw_server PORT WORD...: starts it in the guest and waits until it listens
siw_server()
{
	local port=$1
	shift
	siw "($* >/tmp/server.out 2>&1; echo \$? >/tmp/server.rc) & for i in \$(seq 100); do
		rdma res show cm_id 2>/dev/null | grep -q 'state LISTEN.*:$port' && exit 0; sleep 0.1; done; exit 1"
}

# At its end rping closes the event channel on which one of its threads waits, which may print an
# error and exit with -1.
rping_race='grep -qx "rdma_get_cm_event: Bad file descriptor"'

# siw_served: the server in the guest has succeeded
siw_served()
{
	# shellcheck disable=SC2016 # the guest expands it
	siw 'for i in $(seq 700); do [ -e /tmp/server.rc ] && break; sleep 0.1; done; cat /tmp/server.out
		rc=$(cat /tmp/server.rc); rm -f /tmp/server.rc; '"$rping_race /tmp/server.out"' && exit 0; exit ${rc:-99}'
}

# weft NAME WORD...: runs on the NIC
weft()
{
	local name=$1
	shift
	spawn "$name" ip netns exec "$ns" "$run" --device "$nic" "$@"
}
