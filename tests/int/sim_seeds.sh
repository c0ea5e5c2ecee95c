#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# timeout: 900
#
# Every line of tests/sim/seeds.txt: runs of the simulator that failed once and must not fail again.
# They run the release build, which has the firmware's assertions too and takes half the time.
# WEFT_SEEDS_SIM names another weft-sim: make soak runs them with sanitizers. make test runs every
# second line, from line WEFT_SEEDS_FROM (0) on; make soak runs all (WEFT_SEEDS_STEP=1).

. tests/int/lib.sh

sim=${WEFT_SEEDS_SIM:-build/bin/weft-sim}
count=0 number=${WEFT_SEEDS_FROM:-0} step=${WEFT_SEEDS_STEP:-2}
while IFS= read -r line; do
	case $line in '' | '#'*) continue ;; esac
	number=$((number + 1))
	[ $((number % step)) = 0 ] || continue
	read -ra args <<<"$line"
	"$sim" "${args[@]}" >"$WEFT_TMP/run.out" 2>"$WEFT_TMP/run.err" || {
		cat "$WEFT_TMP/run.out" "$WEFT_TMP/run.err"
		die "weft-sim $line"
	}
	count=$((count + 1))
done <tests/sim/seeds.txt
[ "$count" -gt 0 ] || die "tests/sim/seeds.txt has no runs"
say "$count runs"
