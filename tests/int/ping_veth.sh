#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ping from a Linux namespace over a veth to a weftd on its other end is answered, while the kernel's own
# traffic on that interface goes on; by AF_XDP, and by AF_PACKET.

. tests/int/lib.sh
need ping ethtool

# over HOW TEXT: weftd --netdev HOW, which says TEXT
over()
{
	local how=$1 text=$2 a b
	netns_add "a$how"
	netns_add "b$how"
	a=$(unique "a$how") b=$(unique "b$how")
	ip -n "$a" link add va type veth peer name vb netns "$b"
	ip -n "$a" addr add 10.9.0.11/24 dev va
	ip -n "$b" addr add 10.9.0.12/24 dev vb
	ip -n "$a" link set va up
	ip -n "$b" link set vb up
	in_ns="ip netns exec $a"
	weftd_start "weftd$how" --port va --ip 10.9.0.1/24 --netdev "$how"
	in_ns=
	out_has "weftd$how" "$text" || die "weftd does not say '$text'"
	# The kernel's own, all the while, both ways.
	spawn "kernel$how" ip netns exec "$b" ping -q -i 0.05 -c 40 -W 5 10.9.0.11
	spawn "back$how" ip netns exec "$a" ping -q -i 0.05 -c 40 -W 5 10.9.0.12
	for size in 0 56 1472; do
		ip netns exec "$b" ping -q -i 0.05 -c 10 -W 5 -s "$size" 10.9.0.1 >"$WEFT_TMP/ping" ||
			die "ping of $size bytes: $(cat "$WEFT_TMP/ping")"
		grep -q ' 10 received' "$WEFT_TMP/ping" || die "ping of $size bytes: $(cat "$WEFT_TMP/ping")"
	done
	expect_ok "kernel$how" "back$how"
	out_has "kernel$how" ' 40 received' || die "the kernel's own ping suffered"
	[ "$(counter weft0 icmp_echo_rx)" -eq 30 ] || die 'the NIC did not count 30 echo requests'
	weftd_stop "weftd$how"
	# The interface is the kernel's alone again.
	ip -n "$a" link show va | grep -q 'prog/xdp' && die 'the XDP program is still attached'
	ip netns exec "$b" ping -q -c 1 -W 5 10.9.0.11 >/dev/null || die 'the interface is dead afterwards'
}

over packet 'on AF_PACKET'
over xdp 'on AF_XDP'
