#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every operation of reliable datagrams over a switch that loses 1 % of the frames, delivers 1 % twice
# and reorders 1 %, all at once: weft-bench checks every byte. Sizes from one byte to many packets;
# gather lists; all kinds of memory; polling and events; several processes on one counter.

. tests/int/lib.sh

weftd_start weftd --nics 4 --loss 1 --dup 1 --reorder 1 --seed 20261

for op in send write; do
	bench weft1 weft0 lat --op $op --iters 300
	for size in 1 63 64 512 1400 1461 4096; do
		bench weft1 weft0 bw --op $op --size $size --iters 1500
	done
	bench weft2 weft3 bw --op $op --size 100K --iters 150
	bench weft2 weft3 bw --op $op --size 4M --window 4 --iters 10
	bench weft1 weft0 bw --op $op --size 5000 --sge 16 --iters 600
	bench weft1 weft0 bw --op $op --size 5000 --mem malloc --iters 600
	bench weft1 weft0 bw --op $op --size 5000 --mem shared --sge 3 --iters 600
	bench weft1 weft0 bw --op $op --size 200 --no-inline --event --iters 600
	bench weft1 weft0 rate --op $op --iters 10000
done

bench weft1 weft0 lat --op read --iters 300
for size in 1 64 1461 20000; do
	bench weft1 weft0 bw --op read --size $size --iters 600
done
bench weft1 weft0 bw --op put --size 20000 --iters 600
bench weft1 weft0 rate --op put --iters 3000
bench weft2 weft3 bw --op read --size 2M --window 4 --iters 10
bench weft1 weft0 bw --op read --size 5000 --sge 16 --mem malloc --iters 400
bench weft1 weft0 bw --op read --size 5000 --mem shared --event --iters 400

# Compare-and-swap n must find n: each exactly once and in order.
for op in atomic cas; do
	bench weft1 weft0 lat --op $op --iters 300
	bench weft1 weft0 rate --op $op --iters 5000
	bench weft1 weft0 rate --op $op --iters 2000 --mem shared --event
done

# Both ends on one NIC: the frames still pass through the switch.
bench weft0 weft0 bw --size 9000 --iters 400

bench_server counter.s weft0 counter --clients 6
clients=()
for i in 1 2 3 4 5 6; do
	bench_client "counter.c$i" "weft$((i % 4))" counter --iters 1500
	clients+=("counter.c$i")
done
expect_ok "${clients[@]}" counter.s

for name in rd_tx_retransmits rd_rx_duplicates rd_rx_out_of_order; do
	n=$(counter weft0 $name)
	[ "$n" -gt 0 ] || die "$name is 0: there were no faults to get over"
	say "$name: $n"
done
weftd_stop weftd
