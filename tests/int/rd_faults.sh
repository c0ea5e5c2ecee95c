#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 180
#
# Every operation of RD between two processes while the switch loses, repeats and overtakes 1 % of
# all frames at once: every byte is verified by weft-bench, and so is the sum of a counter that three
# processes add to.

. tests/int/lib.sh

weftd_start weftd --nics 4 --mtu 4000 --loss 1 --dup 1 --reorder 1 --seed 11
for op in send write read; do
	bench weft1 weft0 lat --op "$op" --iters 500 --size 64
	bench weft1 weft0 bw --op "$op" --iters 300 --size 40000
done
for op in atomic cas; do
	bench weft1 weft0 lat --op "$op" --iters 500
done
# Gathered from and scattered to many pieces, and all kinds of memory.
bench weft1 weft0 bw --op send --iters 200 --size 30000 --sge 16
bench weft1 weft0 bw --op write --iters 200 --size 30000 --mem malloc
bench weft1 weft0 bw --op read --iters 200 --size 30000 --mem shared
bench weft1 weft0 bw --op send --iters 200 --size 30000 --mem shared --event
bench weft1 weft0 rate --op send --iters 5000 --size 100 --no-inline

bench_server sum.s weft0 counter --clients 3
for i in 1 2 3; do
	bench_client "sum.$i" "weft$i" counter --iters 2000
done
expect_ok sum.1 sum.2 sum.3 sum.s

# The faults were there, and were mended by the protocol.
for name in switch_lost switch_duplicated switch_reordered; do
	[ "$(counter weft0 "$name")" -gt 0 ] || die "$name is 0: nothing was tested"
done
[ "$(counter weft0 rd_tx_retransmits)" -gt 0 ] || die 'nothing was sent again'
[ "$(counter weft1 rd_rx_duplicates)" -gt 0 ] || die 'no duplicate came'
expect_objects weft0 '0 0 0 0'
weftd_stop weftd
