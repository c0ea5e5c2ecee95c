#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives whose runs name their buffers, and ranks that join through a library beside GOAL_Init()
# (goal_with.c). A NIC that is gone, or that one rank does not find, keeps all ranks from joining.

. tests/int/lib.sh

n=3
weftd_start weftd --nics $n
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)

for order in join init; do
	mkdir "$WEFT_TMP/$order"
	for ((i = 0; i < n; i++)); do
		spawn $order.$i env RANKS=$n WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB=$order WEFT_DEVICE=weft$i \
			"$WEFT_INT/goal_with" $order "$WEFT_TMP/$order"
	done
	for ((i = 0; i < n; i++)); do
		expect_ok $order.$i
		out_has $order.$i '^all right' || die "$order.$i did not come to its end"
	done
	for ((i = 0; i < n; i++)); do expect_objects weft$i '0 0 0 0'; done
done

# Rank 1 finds no NIC: the others say so, and do not wait.
mkdir "$WEFT_TMP/alone"
for ((i = 0; i < n; i++)); do
	spawn alone.$i env RANKS=$n WEFT_RANK=$i WEFT_DEVICE=weft$((i == 1 ? 77 : i)) "$WEFT_INT/goal_with" join "$WEFT_TMP/alone"
done
for ((i = 0; i < n; i++)); do expect_fail alone.$i 'rank 1: no weft NIC can be opened'; done
for ((i = 0; i < n; i++)); do expect_objects weft$i '0 0 0 0'; done
weftd_stop weftd
