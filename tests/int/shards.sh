#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One NIC on two cores: two shards, each with its own clients, which communicate with each other and
# with clients of the same shard, over a perfect and over a faulty switch.

. tests/int/lib.sh
[ "$(nproc)" -ge 2 ] || skip 'two CPUs are needed'
cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' |
	head -n 2 | paste -sd,)

# Clients are given to shards in turn: the numbers of the shards they are in, without tools
shards_used()
{
	ctl clients weft0 >"$WEFT_TMP/list"
	awk 'NR > 1 && $6 != "yes" { print $2 }' "$WEFT_TMP/list" | sort -u | paste -sd,
}

both_shards()
{
	[ "$(shards_used)" = 0,1 ]
}

round()
{
	local name=weftd$1 n
	shift
	weftd_start "$name" --nics 1 --cores "$cpus" "$@"
	[ "$(ctl list | awk '$1 == "weft0" { print $7 }')" = 2 ] || die 'the NIC has not two shards'
	bench_start "across$name" weft0 weft0 bw --op write --size 10000 --duration 600
	wait_until 'clients are in both shards' both_shards
	in_traffic weft0
	kill9 "across$name.c"
	expect_fail "across$name.s" 'weft-bench: '
	for op in send write read; do
		bench weft0 weft0 bw --op $op --size 5000 --iters 800
	done
	bench weft0 weft0 rate --op atomic --iters 3000
	bench weft0 weft0 lat --qp ud --iters 300
	# Four clients, two in each shard, on one counter.
	bench_server "counter$name.s" weft0 counter --clients 4
	for n in 1 2 3 4; do
		bench_client "counter$name.c$n" weft0 counter --iters 1000
	done
	expect_ok "counter$name.c"{1,2,3,4} "counter$name.s"
	expect_objects weft0 '0 0 0 0'
	weftd_stop "$name"
}

round perfect
round faulty --loss 1 --dup 1 --reorder 1
