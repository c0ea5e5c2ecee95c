#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tagged endpoints by real processes: every call and rule of weft_tag.h (tag_calls.c), six processes
# that all exchange messages with all over a switch that loses, doubles and reorders 1 % of the
# frames (tag_crowd.c), and one process that is killed while messages of all kinds are under way to
# and from it: the others' requests end and they go on.

. tests/int/lib.sh

weftd_start clean --nics 3
spawn calls "$WEFT_INT/tag_calls" weft0 weft1
expect_ok calls
cat "$WEFT_TMP/calls.out"
spawn same "$WEFT_INT/tag_calls" weft0 weft0
expect_ok same
spawn killed "$WEFT_INT/tag_crowd" 4 1 5 --kill weft0 weft1 weft2
expect_ok killed
for n in 0 1 2; do
	expect_objects weft$n '0 0 0 0'
done
weftd_stop clean

weftd_start faulty --nics 3 --loss 1 --dup 1 --reorder 1 --seed 20271
spawn calls.faulty "$WEFT_INT/tag_calls" weft0 weft1
expect_ok calls.faulty
spawn crowd "$WEFT_INT/tag_crowd" 6 2 7 weft0 weft1 weft2
expect_ok crowd
for name in rd_tx_retransmits rd_rx_duplicates rd_rx_out_of_order; do
	n=$(counter weft0 $name)
	[ "$n" -gt 0 ] || die "$name is 0: there were no faults to get over"
done
for n in 0 1 2; do
	expect_objects weft$n '0 0 0 0'
done
weftd_stop faulty
