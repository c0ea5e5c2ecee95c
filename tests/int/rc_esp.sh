#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Connected queue pairs of real processes, over datagrams and over ESP streams: every operation and
# byte, on a switch that loses, duplicates and reorders frames, at MTU 1500 and 9000; one end killed
# in the middle.

. tests/int/lib.sh

round()
{
	local mtu=$1 name=weftd$1 op
	weftd_start "$name" --nics 2 --mtu "$mtu" --loss 1 --dup 1 --reorder 1 --seed 4
	for op in send write put read; do
		bench weft1 weft0 lat --qp rc-esp --op $op --size 100 --iters 300
		bench weft1 weft0 bw --qp rc-esp --op $op --size $((3 * mtu + 1)) --iters 300
	done
	bench weft1 weft0 bw --qp rc-esp --op write --size 1M --iters 20
	bench weft1 weft0 rate --qp rc-esp --op atomic --iters 500
	bench weft1 weft0 rate --qp rc-esp --op cas --iters 100
	[ "$(counter weft0 rd_tx_packets)" -eq 0 ] || die 'some of it went by datagrams'
	[ "$(counter weft0 esp_tx_retransmits)" -gt 0 ] || die 'nothing was lost, or it was no stream'
	bench weft1 weft0 bw --qp rc --op send --size 20000 --iters 200
	[ "$(counter weft0 rd_tx_packets)" -gt 0 ] || die 'RC by datagrams sent none'
}

round 1500
# One end dies: the other end's requests complete with an error, and no object is left.
bench_start dies weft1 weft0 bw --qp rc-esp --op write --size 100000 --iters 1000000
in_traffic weft0
kill9 dies.s
finish dies.c
[ "$status" -eq 1 ] || die "the client of a server that died ended with $status"
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop weftd1500
round 9000
weftd_stop weftd9000
