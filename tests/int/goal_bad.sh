#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bad input to GOAL on NICs, case by case (goal_bad.c): every rank reports a clear error in bounded
# time, other communicators are unharmed, and the NICs' counts of objects return to their initial
# values.

. tests/int/lib.sh

n=4
weftd_start weftd --nics $n
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)

# Prints the objects and contexts in use, of all kinds. Sessions and neighbours are kept on purpose
# and left out.
used()
{
	local i
	for ((i = 0; i < n; i++)); do
		ctl stats weft$i | awk '/_used:/ && !/^(rd_sessions|neighbours|clients)_used/ && $2 != 0 { print "weft'$i'", $0 }'
	done
}
used_is()
{
	[ "$(used)" = "$1" ]
}
at_start=$(used)

mem=
pool=2000000
# job NAME RANKS CASE...
job()
{
	local name=$1 ranks=$2 i
	shift 2
	for ((i = 0; i < ranks; i++)); do
		spawn "$name.$i" env WEFT_MEM=$mem WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB="$name" WEFT_DEVICE=weft$i WEFT_GOAL_POOL=$pool \
			"$WEFT_INT/goal_bad" "$@"
	done
}

nothing_left()
{
	local i
	for ((i = 0; i < n; i++)); do expect_objects weft$i '0 0 0 0'; done
	say "$SECONDS s: $1"
	wait_until "nothing is left after $1: $(used)" used_is "$at_start"
}

# all_right NAME RANKS: checks that all ranks finished
all_right()
{
	local i
	for ((i = 0; i < $2; i++)); do
		expect_ok "$1.$i"
		out_has "$1.$i" '^all right' || die "$1.$i did not come to its end"
	done
	nothing_left "$1"
}

# Refused before anything runs; runs that fail, one after another on one communicator.
job refused $n cycle peer scratchpad truncated forged
all_right refused $n
job fails $n lengths multicast tags divide pool cycle lengths
all_right fails $n
# A pool as large as what arrives before its receives.
pool=8000000
job roomy $n roomy
all_right roomy $n
pool=2000000
mem=process_vm
job unmapped $n unmapped
all_right unmapped $n
mem=

# A rank ends while a run waits for it: by a signal, and by itself.
for case in killed leaves; do
	job $case $n $case
	finish $case.$((n - 1))
	all_right $case $((n - 1))
done

# A rank of the list was never started.
job absent $((n - 1)) absent
all_right absent $((n - 1))
weftd_stop weftd

# Processes end right after their run, over a wire with high loss: no rank misses a message.
weftd_start lossy --nics $n --loss 10
for i in 1 2 3; do
	job exits$i $n exits
	all_right exits$i $n
done
weftd_stop lossy
