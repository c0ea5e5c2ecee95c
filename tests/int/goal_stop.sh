#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives finish without the host: every process stops itself (SIGSTOP) right after it has
# started nine collectives, eager and announced messages, with arithmetic. The NICs finish all of
# them, also under loss. The continued processes find every run finished and every byte right.

. tests/int/lib.sh

n=4

all_stopped()
{
	local i
	for ((i = 0; i < n; i++)); do state_is "rank.$i" T || return 1; done
}
# Prints the number of finished runs, of all NICs.
done_runs()
{
	local i sum=0
	for ((i = 0; i < n; i++)); do sum=$((sum + $(counter weft$i goal_runs_done))); done
	echo $sum
}
done_is()
{
	[ "$(done_runs)" -eq "$1" ]
}

# attempt GBPS: false when the runs were over before every process had stopped
attempt()
{
	local i peers runs before want
	weftd_start weftd --nics $n --rate-gbps "$1" --loss 0.3 --reorder 0.5
	peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)
	for ((i = 0; i < n; i++)); do
		spawn rank.$i env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_DEVICE=weft$i "$WEFT_INT/goal_stop"
	done
	wait_until 'all processes have stopped' all_stopped
	before=$(done_runs)
	runs=$(sed -n 's/^started //p' "$WEFT_TMP/rank.0.out")
	# And the barrier before them.
	want=$((n * (runs + 1)))
	say "$before of $want runs were over when all processes had stopped"
	wait_until "all $want runs are over" done_is "$want"
	all_stopped || die 'a process runs'
	for ((i = 0; i < n; i++)); do
		[ "$(counter weft$i goal_runs_failed)" -eq 0 ] || die "a run of weft$i has failed"
		kill -CONT "${pid[rank.$i]}"
	done
	for ((i = 0; i < n; i++)); do
		expect_ok rank.$i
		out_has rank.$i "^right $runs" || die "rank.$i has not checked $runs runs"
	done
	for ((i = 0; i < n; i++)); do expect_objects weft$i '0 0 0 0'; done
	weftd_stop weftd
	# At least half were still to be done.
	[ "$before" -le $((want / 2)) ]
}

for gbps in 0.5 0.1 0.02; do
	attempt $gbps && exit 0
done
die 'no runs last until everybody is stopped'
