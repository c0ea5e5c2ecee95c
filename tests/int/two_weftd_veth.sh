#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two weftd processes, one on each end of a veth, by AF_XDP, by AF_PACKET, and one of each, where
# the AF_PACKET end takes no frames of many segments.

. tests/int/lib.sh

veth_add a b
a=$(unique a) b=$(unique b)

round()
{
	local op
	in_ns="ip netns exec $a"
	weftd_start "left_$1_$2" --port va --ip 10.9.0.1/24 --name left --netdev "$1"
	in_ns="ip netns exec $b"
	weftd_start "right_$1_$2" --port vb --ip 10.9.0.2/24 --name right --netdev "$2"
	in_ns=
	for op in send write read; do
		bench right0 left0 lat --op $op --iters 200
		bench left0 right0 bw --op $op --size 20000 --iters 200
	done
	bench left0 right0 bw --qp rc-tcp --op write --size 60000 --iters 60
	bench right0 left0 rate --op atomic --iters 1000
	bench right0 left0 lat --qp ud --iters 200
	weftd_stop "left_$1_$2"
	weftd_stop "right_$1_$2"
}

round xdp xdp
round xdp packet
round packet packet
