#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Unusual and wrong uses of libGOAL (goal_odd.c): late ranks, overlapping communicators, fork,
# unmapped buffers, a schedule several times in flight, a large multicast out of order, the end of
# weftd; and invalid environments.

. tests/int/lib.sh

n=3
weftd_start weftd --nics $n
peers=$(ctl list --json | sed -n 's/.*"mac": "\(.*\)",/\1/p' | paste -sd,)

# job NAME CASE...: three ranks
job()
{
	local name=$1 i
	shift
	for ((i = 0; i < n; i++)); do
		spawn "$name.$i" env WEFT_PEERS="$peers" WEFT_RANK=$i WEFT_JOB="$name" WEFT_DEVICE=weft$i "$WEFT_INT/goal_odd" "$@"
	done
}

for name in args compile_errors time_out truncated subsets forks unmapped several outcomes late multicast; do
	job $name $name
	for ((i = 0; i < n; i++)); do
		expect_ok $name.$i
		out_has $name.$i '^all right' || die "$name.$i did not come to its end"
	done
done
for ((i = 0; i < n; i++)); do expect_objects weft$i '0 0 0 0'; done

# alone NAME WORD...: one rank with WORD... in its environment
alone()
{
	local name=$1
	shift
	spawn "$name" env "$@" "$WEFT_INT/goal_odd"
}

# Invalid values are refused; the message lists the valid ones.
alone rank WEFT_PEERS="$peers" WEFT_RANK=zero WEFT_DEVICE=weft0
expect_fail rank 'WEFT_RANK, "zero", is not an index in the list of WEFT_PEERS: a number from 0 to 2'
alone beyond WEFT_PEERS="$peers" WEFT_RANK=3 WEFT_DEVICE=weft0
expect_fail beyond 'WEFT_RANK, "3", is not'
for pool in lots 4k -1 '' 100 99999999999; do
	alone "pool$pool" WEFT_GOAL_POOL="$pool"
	expect_fail "pool$pool" 'WEFT_GOAL_POOL: a number of bytes from 4096 to 1073741824'
done
for tasks in PMI_SIZE=4 SLURM_NTASKS=2 OMPI_COMM_WORLD_SIZE=3; do
	alone "$tasks" "$tasks"
	expect_fail "$tasks" "${tasks%=*} says that this is one of ${tasks#*=} tasks, but no PMIx.*mpirun, or srun --mpi=pmix"
	alone "alone.$tasks" "$tasks" WEFT_LAUNCH=alone
	expect_ok "alone.$tasks"
done
alone one SLURM_NTASKS=1 PMI_SIZE=1 WEFT_GOAL_POOL=8000000
expect_ok one
alone what WEFT_LAUNCH=somehow
expect_fail what 'WEFT_LAUNCH: only "alone" is known'
# libpmix itself leaks where it finds no server.
alone pmix ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" PMIX_RANK=0 PMIX_NAMESPACE=nobody.1
expect_fail pmix 'PMIX_RANK is set, but no PMIx server answers|libpmix.so.2 cannot be loaded'

# The end of weftd, orderly and not.
spawn gone0 env WEFT_DEVICE=weft0 "$WEFT_INT/goal_odd" gone
says gone0 '^ready'
kill9 weftd
expect_ok gone0
weftd_start again --nics 1
spawn gone1 env WEFT_DEVICE=weft0 "$WEFT_INT/goal_odd" gone
says gone1 '^ready'
weftd_stop again
expect_ok gone1
