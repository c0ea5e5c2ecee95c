#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make fuzz`: runs each fuzz target for its share of FUZZ_SECONDS, starting from the kept inputs,
# and prints the result.
#
#	tests/fuzz/run/fuzz.sh BUILD TARGET...	BUILD: build/fuzz
#
# Environment: FUZZ_SECONDS (60) in all, shared by the targets; FUZZ_CPU_SECONDS instead: each target
# runs until it has used that much processor time, however long a busy machine takes; JOBS (1)
# targets run at the same time; the line of each has its processor time; FUZZ_MERGE=1: new inputs are
# added to tests/fuzz/corpus afterwards, minimized. New inputs are kept in BUILD/corpus/TARGET, where the
# next run continues; finds are in BUILD/finds. Exit status 0, 1 when there was a find.

set -u
cd "$(dirname "$0")/../../.." || exit 1
build=$1
shift
seconds=${FUZZ_SECONDS:-60}
jobs=${JOBS:-1}
share=$((seconds * jobs / $#))
[ "$share" -ge 1 ] || share=1
cpu_seconds=${FUZZ_CPU_SECONDS:-}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1:strict_string_checks=1:handle_abort=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
mkdir -p "$build/finds" "$build/log"

# until_cpu PID SECONDS: waits until the process has used SECONDS of processor time, then asks it to
# end as libFuzzer does by itself. Returns when the process has ended.
until_cpu()
{
	local pid=$1 limit=$(($2 * $(getconf CLK_TCK))) stat fields
	while read -r stat <"/proc/$pid/stat"; do
		read -ra fields <<<"${stat##*) }"
		[ "${fields[0]}" != Z ] || return
		if [ $((fields[11] + fields[12])) -ge "$limit" ]; then
			kill -USR1 "$pid"
			return
		fi
		sleep 2
	done 2>/dev/null
}

# fuzz_one TARGET: the status of its run is in log/TARGET.rc, its processor time in log/TARGET.cpu.
fuzz_one()
{
	local t=$1 log=$build/log/$1.log seconds=${cpu_seconds:-$share} rc pid
	local run=("$build/bin/fuzz_$t" "$seconds")
	local TIMEFORMAT='%U %S'
	mkdir -p "$build/corpus/$t"
	if [ "$t" != scribble ]; then
		# Without a limit of real time (0) until_cpu() ends the run.
		[ -z "$cpu_seconds" ] || seconds=0
		run=("$build/bin/fuzz_$t" -max_total_time="$seconds" -max_len=3072 -timeout=30
			-print_final_stats=1 -artifact_prefix="$build/finds/$t-"
			"$build/corpus/$t" "tests/fuzz/corpus/$t")
	fi
	{
		time {
			"${run[@]}" >"$log" 2>&1 &
			pid=$!
			if [ "$t" != scribble ] && [ -n "$cpu_seconds" ]; then
				until_cpu "$pid" "$cpu_seconds"
			fi
			wait "$pid"
			rc=$?
		}
	} 2>"$build/log/$t.cpu"
	echo "$rc" >"$build/log/$t.rc"
}

report()
{
	local t=$1 log=$build/log/$1.log rc line find
	rc=$(cat "$build/log/$t.rc" 2>/dev/null || echo 1)
	if [ "$t" = scribble ]; then
		line=$(tail -n 1 "$log")
	else
		line=$(sed -n 's/.*cov: \([0-9]*\) ft: \([0-9]*\) corp: \([0-9]*\)\/\([^ ]*\) .*/\1 \3 \4/p' "$log" | tail -n 1)
		read -r cov corp size <<<"${line:-0 0 0b}"
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
		new=$(sed -n 's/^stat::new_units_added: *//p' "$log")
		line="${runs:-0} runs, ${rate:-0}/s; coverage $cov edges; corpus $corp inputs ($size), ${new:-0} new"
	fi
	line="$line; $(awk '{printf "%d", $1 + $2}' "$build/log/$t.cpu") s of processor"
	if [ "$rc" -eq 0 ]; then
		printf 'ok    %-10s %s\n' "$t" "$line"
		return
	fi
	broken=1
	printf 'FIND  %-10s %s\n' "$t" "$line"
	grep -aE '^fuzz:|Assertion|runtime error:|ERROR: (Address|Leak|libFuzzer)' "$log" | head -n 5 | sed 's/^/      /'
	find=$(sed -n 's/.*Test unit written to \(.*\)/\1/p' "$log" | tail -n 1)
	if [ "$t" = scribble ]; then
		find=$(sed -n 's/^seed //p' "$log" | tail -n 1)
		echo "      again: $build/bin/fuzz_$t $share $find"
	elif [ -n "$find" ]; then
		echo "      again: $build/bin/fuzz_$t $find"
	else
		tail -n 5 "$log" | sed 's/^/      /'
	fi
}

broken=0
running=0
for t in "$@"; do
	fuzz_one "$t" &
	running=$((running + 1))
	if [ "$running" -ge "$jobs" ]; then
		wait -n
		running=$((running - 1))
	fi
done
wait
for t in "$@"; do
	report "$t"
done

if [ -n "${FUZZ_MERGE:-}" ] && [ "$broken" -eq 0 ]; then
	for t in "$@"; do
		[ "$t" != scribble ] || continue
		mkdir -p "$build/merged"
		rm -rf "$build/merged/$t"
		mkdir "$build/merged/$t"
		"$build/bin/fuzz_$t" -merge=1 -use_counters=0 -max_len=3072 "$build/merged/$t" "tests/fuzz/corpus/$t" \
			"$build/corpus/$t" >"$build/log/$t.merge.log" 2>&1 || broken=1
		echo "merged $t: $(find "$build/merged/$t" -type f | wc -l) inputs in $build/merged/$t"
	done
fi
exit "$broken"
