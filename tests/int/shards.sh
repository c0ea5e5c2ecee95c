#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One NIC with several shards, each on a thread of its own, which communicate with each other and
# with clients of the same shard, over a perfect and over a faulty switch. Processes come to the
# shards in a balanced way, and weftctl list has a load for each.
# WEFT_SHARDS=N: a NIC of N shards instead of 2 (make test-shards).
# timeout: 600

. tests/int/lib.sh
shards=${WEFT_SHARDS:-2}

# Processes in each shard, without tools: "2,1,1"
processes()
{
	ctl clients weft0 >"$WEFT_TMP/list"
	awk -v n="$1" 'NR > 1 && $6 != "yes" { count[$2]++ }
		END { for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", count[i]; print "" }' "$WEFT_TMP/list"
}

processes_are()
{
	[ "$(processes "$1")" = "$2" ]
}

# The load of each shard, as weftctl list has it: "12,0"
loads()
{
	ctl list | awk '$1 == "weft0" { print $NF }'
}

some_load()
{
	loads | tr ',' '\n' | grep -qv '^0$'
}

all_shards_work()
{
	ctl stats weft0 --per-shard >"$WEFT_TMP/stats"
	awk -v n="$shards" '/\.port_rx_frames:/ && $2 > 0 { seen++ } END { exit seen < n }' "$WEFT_TMP/stats"
}

round()
{
	local name=weftd$1 n want
	shift
	weftd_start "$name" --nics 1 --cores "$(cores_list "$shards")" "$@"
	[ "$(ctl list | awk '$1 == "weft0" { print $7 }')" = "$shards" ] || die "the NIC has not $shards shards"
	# A pair for each two shards: client and server are in different ones.
	for ((n = 0; n < shards; n += 2)); do
		bench_start "across$name$n" weft0 weft0 bw --op write --size 10000 --duration 600
	done
	want=$(printf '1,%.0s' $(seq "$shards"))
	wait_until "there is a process in each shard (there are $(processes "$shards"))" processes_are "$shards" "${want%,}"
	in_traffic weft0
	wait_until 'all shards receive' all_shards_work
	wait_until "weftctl list shows a load (it shows $(loads))" some_load
	[ "$(loads | tr ',' '\n' | wc -l)" = "$shards" ] || die "not a load for each shard: $(loads)"
	for ((n = 0; n < shards; n += 2)); do
		kill9 "across$name$n.c"
		expect_fail "across$name$n.s" 'weft-bench: '
	done
	for op in send write read; do
		bench weft0 weft0 bw --op $op --size 5000 --iters 800
	done
	bench weft0 weft0 rate --op atomic --iters 3000
	bench weft0 weft0 lat --qp ud --iters 300
	# Four clients on one counter.
	bench_server "counter$name.s" weft0 counter --clients 4
	for n in 1 2 3 4; do
		bench_client "counter$name.c$n" weft0 counter --iters 1000
	done
	expect_ok "counter$name.c"{1,2,3,4} "counter$name.s"
	expect_objects weft0 '0 0 0 0'
	weftd_stop "$name"
}

# pair NAME: two processes that send to each other, slowly
pair()
{
	bench_start "$1" weft0 weft0 lat --size 64 --duration 600
}

# spread_is A,B...: these numbers of processes are in the shards of weft0, in any order
spread_is()
{
	[ "$(processes 4 | tr ',' '\n' | sort | paste -sd,)" = "$1" ]
}

# A place that became free is filled first, whatever the turn. The load of the cores decides among
# places that are alike.
balanced()
{
	weftd_start balanced --nics 1 --cores "$(cores_list 4)"
	pair one
	wait_until "two are attached (now $(processes 4))" spread_is 0,0,1,1
	pair two
	wait_until "four are attached (now $(processes 4))" spread_is 1,1,1,1
	pair three
	wait_until "six are attached (now $(processes 4))" spread_is 1,1,2,2
	kill9 one.c
	kill9 three.c
	expect_fail one.s 'weft-bench: '
	expect_fail three.s 'weft-bench: '
	wait_until "four have gone (now $(processes 4))" spread_is 0,0,1,1
	pair four
	wait_until "the empty shards are filled first (now $(processes 4))" spread_is 1,1,1,1
	kill9 two.c
	kill9 four.c
	expect_fail two.s 'weft-bench: '
	expect_fail four.s 'weft-bench: '
	weftd_stop balanced
}

round perfect
round faulty --loss 1 --dup 1 --reorder 1
balanced
