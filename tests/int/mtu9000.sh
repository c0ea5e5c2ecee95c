#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# NICs at the largest and smallest MTU, 9000 and 1280, with messages around the sizes at which one
# more packet is needed, on a perfect and on a faulty switch.

. tests/int/lib.sh

round()
{
	local mtu=$1 name=weftd_$1_$2 size
	shift
	weftd_start "$name" --nics 2 --mtu "$mtu" "${@:2}"
	[ "$(ctl list | awk '$1 == "weft0" { print $4 }')" = "$mtu" ] || die "weft0 has not MTU $mtu"
	for size in $((mtu - 140)) $((mtu - 20)) $mtu $((2 * mtu + 1)) 64K; do
		bench weft1 weft0 bw --op send --size "$size" --iters 300
		bench weft1 weft0 bw --op write --size "$size" --iters 300 --sge 2
		bench weft1 weft0 bw --op read --size "$size" --iters 300
	done
	bench weft1 weft0 bw --op write --size 1M --iters 60
	bench weft1 weft0 lat --qp ud --op send --size $((mtu - 140)) --iters 200
	weftd_stop "$name"
}

round 9000 perfect
round 9000 faults --loss 1 --dup 1 --reorder 1 --seed 9
round 1280 faults --loss 1 --dup 1 --reorder 1 --seed 10
