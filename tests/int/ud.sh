#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Unreliable datagrams: Send and Write-Record, in one frame and of up to 64 KiB, over a perfect
# switch and one with faults. Received datagrams are right; lost ones are counted and cause no wait.

. tests/int/lib.sh

round()
{
	local name=weftd$1 op
	shift
	weftd_start "$name" --nics 2 "$@"
	for op in send write; do
		bench weft1 weft0 lat --qp ud --op $op --iters 500
		bench weft1 weft0 lat --qp ud --op $op --size 1400 --iters 200 --event
		bench weft1 weft0 rate --qp ud --op $op --iters 10000
		bench weft1 weft0 bw --qp ud --op $op --size 1000 --iters 2000 --sge 16
		bench weft1 weft0 bw --qp ud --op $op --size 1000 --iters 2000 --mem shared
		bench weft1 weft0 bw --qp ud --op $op --size 64K --iters 200
		bench weft1 weft0 bw --qp ud --op $op --size 9001 --iters 500 --mem malloc --event
	done
	weftd_stop "$name"
}

round perfect
round faulty --loss 1 --dup 1 --reorder 1 --seed 5
