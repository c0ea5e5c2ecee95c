#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# goal-bench as a program: every mode with a few runs, whose results it checks itself, with a NIC
# for each rank and with a shared one, under loss; errors and exit statuses.

. tests/int/lib.sh

weftd_start weftd --nics 4 --loss 1 --reorder 1
out=$WEFT_TMP/bench.out
err=$WEFT_TMP/bench.err

# bench STATUS WORD...: runs goal-bench and expects this exit status
goal_bench()
{
	local want=$1 rc
	shift
	"$WEFT_BIN/goal-bench" "$@" >"$out" 2>"$err" </dev/null
	rc=$?
	[ "$rc" -eq "$want" ] || { cat "$out" "$err"; die "goal-bench $*: exit status $rc, not $want"; }
}

# has COUNT KEY: expects COUNT JSON objects with this key
has()
{
	[ "$(grep -o "\"$2\": " "$out" | wc -l)" -eq "$1" ] || { cat "$out"; die "not $1 times $2"; }
}

goal_bench 0 coll barrier bcast:65536 allreduce:8 gather:512:binomial --ranks 5 --iters 20
has 4 nic_us
goal_bench 0 coll barrier allreduce:300000:ring --ranks 6 --nics 1 --iters 5
has 2 slowest_us
goal_bench 0 pingpong 8 200000 --iters 2
has 2 us
goal_bench 0 overlap barrier allreduce:4096 --ranks 4 --iters 5
has 2 overlap
goal_bench 0 matmul barrier 64 96 --ranks 3 --threads 2 --iters 3
has 2 tested_us
goal_bench 0 start --iters 20
has 1 run_us
goal_bench 0 localop 8 4096 --seconds 0.001
has 12 loop_us
goal_bench 0 matmul 64 --alone --threads 2 --seconds 0.001
has 1 alone_us

for words in '' 'sing' 'coll' 'coll march' 'coll bcast:7' 'coll barrier:8:quick' 'pingpong x' 'start now' 'coll barrier --ranks 0' \
	'pingpong 8 --alone'; do
	# shellcheck disable=SC2086 # words
	goal_bench 2 $words
	[ "$(wc -l <"$err")" -eq 1 ] || { cat "$err"; die "goal-bench $words: not one line"; }
done
goal_bench 1 coll bcast:8:pairwise
goal_bench 1 start --nics 9
goal_bench 1 start --run-dir "$WEFT_TMP/nowhere"
for i in 0 1 2 3; do expect_objects weft$i '0 0 0 0'; done
weftd_stop weftd
