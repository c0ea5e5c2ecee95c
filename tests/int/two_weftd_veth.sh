#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two weftd processes, one on each end of a veth, by AF_XDP, by AF_PACKET, and one of each. Long
# messages go and come as frames of many segments, of RD and of TCP, whichever it is, also where the
# kernel divides them and computes their checksums.

. tests/int/lib.sh

veth_add a b
a=$(unique a) b=$(unique b)

# large NIC COUNTER: the NIC has received frames of many segments and lost none
large()
{
	counter_above "$1" "$2" 0 || die "$1 received no frame of many segments"
	counter_is "$1" "$2_bad" 0 || die "$1 could not divide a frame"
}

round()
{
	local op large=packet_rx_large
	[ "$2" = packet ] || large=xsk_queue0_rx_large
	in_ns="ip netns exec $a"
	weftd_start "left_$1_$2" --port va --ip 10.9.0.1/24 --name left --netdev "$1"
	in_ns="ip netns exec $b"
	weftd_start "right_$1_$2" --port vb --ip 10.9.0.2/24 --name right --netdev "$2"
	in_ns=
	for op in send write read; do
		bench right0 left0 lat --op $op --iters 200
		bench left0 right0 bw --op $op --size 20000 --iters 200
	done
	bench right0 left0 bw --op write --size 64K --iters 100
	counter_above left0 gso_frames 0 || die 'long messages of RD are sent one frame at a time'
	large right0 "$large"
	bench left0 right0 bw --qp rc-tcp --op write --size 60000 --iters 60
	bench right0 left0 rate --op atomic --iters 1000
	bench right0 left0 lat --qp ud --iters 200
	weftd_stop "left_$1_$2"
	weftd_stop "right_$1_$2"
}

round xdp xdp
round xdp packet
round packet packet

# The kernel divides the frames before they leave: datagrams have a checksum then.
need ethtool
ip netns exec "$a" ethtool -K va tx off >/dev/null
in_ns="ip netns exec $a"
weftd_start left_divided --port va --ip 10.9.0.1/24 --name left
in_ns="ip netns exec $b"
weftd_start right_divided --port vb --ip 10.9.0.2/24 --name right
in_ns=
bench right0 left0 bw --op write --size 64K --iters 100
counter_above left0 gso_frames 0 || die 'long messages of RD are sent one frame at a time'
counter_is right0 drop_udp_checksum 0 || die 'a checksum of the kernel counts as wrong'
weftd_stop left_divided
weftd_stop right_divided
