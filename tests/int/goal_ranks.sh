#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# GOAL programs on NICs: ranks found by a static list, with loss and reordering on the switch; runs
# that finish while every process is stopped; ranks that die. With mpirun where it is installed.

# shellcheck disable=SC2154 # lib.sh has out, pid and status
. tests/int/lib.sh

weftd_start weftd --nics 4 --loss 1 --reorder 2 --dup 1
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)

# ranks NAME N OPTION...: N processes NAME.0 ... of one job
ranks()
{
	local name=$1 n=$2 i
	shift 2
	for ((i = 0; i < n; i++)); do
		spawn "$name.$i" env WEFT_PEERS="$(cut -d, -f "1-$n" <<<"$peers")" WEFT_RANK=$i WEFT_JOB="$name" \
			WEFT_DEVICE=weft$i "$WEFT_INT/goal_prog" "$@"
	done
}

ranks few 2 -n 20 -b 100000
expect_ok few.0 few.1
ranks all 4 -n 30 -b 20000
expect_ok all.0 all.1 all.2 all.3

# PERFTRACE: goal-dump prints the times of two runs.
for i in 0 1; do
	spawn traced.$i env WEFT_PEERS="$(cut -d, -f 1-2 <<<"$peers")" WEFT_RANK=$i WEFT_DEVICE=weft$i "$WEFT_INT/goal_prog" \
		-n 3 -b 40000 -t "$WEFT_TMP/trace.$i"
done
expect_ok traced.0 traced.1
for i in 0 1; do
	"$WEFT_BIN/goal-dump" --trace "$WEFT_TMP/trace.$i" >"$WEFT_TMP/points" || die 'goal-dump --trace fails'
	head -n 1 "$WEFT_TMP/points" | grep -qE "^# rank $i of 2, run 5: [0-9.]+ us, success$" || die "$(head -n 1 "$WEFT_TMP/points")"
	for point in RUN_START OP_START MSG_SENT PACKET_FIRST PACKET_LAST MSG_ACKED MSG_MATCHED OP_FINISH RUN_FINISH; do
		grep -qE "^ +[0-9.]+ +[0-9.]+  $point " "$WEFT_TMP/points" || die "no $point in the trace of rank $i"
	done
done
tool 0 "$WEFT_BIN/goal-dump" --json "$WEFT_TMP"/trace.[01]
grep -q '"ph":"s","pid":0' "$out" || die 'no message of rank 0 among the trace events'
head -c 100 "$WEFT_TMP/trace.0" >"$WEFT_TMP/short"
for f in short points; do
	"$WEFT_BIN/goal-dump" --trace "$WEFT_TMP/$f" >"$WEFT_TMP/no" 2>&1 && die "goal-dump takes $f for a trace"
done

# Long broadcasts: a static list says nothing of switches, so its ranks use multicast.
multicasts()
{
	local i sum=0
	for i in 0 1 2 3; do sum=$((sum + $(counter weft$i mgrp_tx_data))); done
	echo $sum
}
ranks cast 4 -n 3 -b 100000 -c
expect_ok cast.0 cast.1 cast.2 cast.3
[ "$(multicasts)" -gt 0 ] || die 'ranks of a static list broadcast without multicast'

# The NICs need no process: all are stopped after the start of a run that takes some time.
all_started()
{
	local i
	for i in 0 1 2 3; do grep -q started "$WEFT_TMP/$1.$i.out" || return 1; done
}
runs_done()
{
	local i
	for i in 0 1 2 3; do counter weft$i goal_runs_done; done
}
all_above()
{
	local before=("$@") i
	for i in 0 1 2 3; do [ "$(counter weft$i goal_runs_done)" -gt "${before[$i]}" ] || return 1; done
}
delay=500
while :; do
	mapfile -t idle < <(runs_done)
	ranks stopped$delay 4 -n 1 -d $delay -v
	wait_until 'the runs are started' all_started stopped$delay
	for i in 0 1 2 3; do kill -STOP "${pid[stopped$delay.$i]}"; done
	for i in 0 1 2 3; do wait_until 'it is stopped' state_is stopped$delay.$i T; done
	mapfile -t before < <(runs_done)
	# The barrier is one run; the ring's run must not be over yet, at any rank.
	over=0
	for i in 0 1 2 3; do [ "${before[$i]}" -eq $((idle[i] + 1)) ] || over=1; done
	[ $over -eq 0 ] && break
	for i in 0 1 2 3; do kill -CONT "${pid[stopped$delay.$i]}"; done
	expect_ok stopped$delay.0 stopped$delay.1 stopped$delay.2 stopped$delay.3
	delay=$((delay * 2))
	[ $delay -le 16000 ] || die 'no run lasts until everybody is stopped'
done
wait_until 'the runs are over while all processes are stopped' all_above "${before[@]}"
for i in 0 1 2 3; do
	state_is stopped$delay.$i T || die "stopped$delay.$i runs"
done
for i in 0 1 2 3; do kill -CONT "${pid[stopped$delay.$i]}"; done
expect_ok stopped$delay.0 stopped$delay.1 stopped$delay.2 stopped$delay.3

# A rank dies: the other ranks are notified, and all its objects are freed.
ranks dies 4 -n 100000 -b 4000
wait_until 'they work' counter_above weft3 goal_runs_done 200
kill -KILL "${pid[dies.2]}"
finish dies.2
for i in 0 1 3; do
	finish dies.$i
	[ "$status" -eq 1 ] || die "dies.$i: exit status $status"
	# A process's memory goes before the process does; the run may have met that error instead.
	grep -qE 'a rank has ended|a buffer is unmapped' "$WEFT_TMP/dies.$i.err" || die "dies.$i does not say why it failed"
done
for i in 0 1 2 3; do expect_objects weft$i '0 0 0 0'; done

if command -v mpirun >/dev/null; then
	# libpmix itself leaks.
	spawn mpi env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 4 \
		"$WEFT_INT/goal_prog" -n 20 -b 5000
	expect_ok mpi
	[ "$(grep -c 'rank . of 4' "$WEFT_TMP/mpi.out")" -eq 4 ] || die 'not four ranks'
	# Ranks that told each other of their switch send long broadcasts to one rank each, short ones to all.
	sent=$(multicasts)
	spawn long env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 4 \
		"$WEFT_INT/goal_prog" -n 3 -b 200000 -c
	expect_ok long
	[ "$(multicasts)" -eq "$sent" ] || die 'ranks of one switch use multicast for 200,000 bytes'
	spawn short env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 4 \
		"$WEFT_INT/goal_prog" -n 3 -b 5000 -c
	expect_ok short
	[ "$(multicasts)" -gt "$sent" ] || die 'ranks of one switch use no multicast for 5,000 bytes'
else
	say 'mpirun is not installed: PMIx not tried'
fi
weftd_stop weftd
