#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints digests of a kept set of weft-sim's runs. A change that moves code without changing the
# firmware's behaviour changes none of them.
#
#	tools/digests.sh SIM			print "WORKLOAD SEED DIGEST" for each run of the set
#	tools/digests.sh SIM OTHER [JOBS]	compare two programs; prints the runs that differ
#
# The set: seeds 1 to 20 (SEEDS) of drawn workloads and of each workload that SIM has, with drawn
# options; those whose parameters are not drawn have some from below. And each line of
# tests/sim/seeds.txt, as "kept NUMBER" (KEPT=no: none). A run whose checks fail has a digest, too.
# Exit status 0; 1 when a run differs, or has none; 2 usage.

set -u
if [ $# -lt 1 ] || [ $# -gt 3 ] || [ ! -x "$1" ]; then
	echo "usage: digests.sh SIM [OTHER [JOBS]]" >&2
	exit 2
fi
jobs=${3:-2}
seeds=${SEEDS:-20}
kept=$(dirname "$0")/../tests/sim/seeds.txt
workloads=$("$1" --help | sed -n '/^Workloads/,/^$/s/^  \([a-z][a-z0-9_]*\) .*/\1/p')
if [ -z "$workloads" ]; then
	echo "digests.sh: $1 --help names no workload" >&2
	exit 1
fi

# Parameters of a workload, one set a line: seed 1 has the first, and so on in turn.
parameters()
{
	case $1 in
	incast) printf '%s\n' senders=8,bytes=20000 senders=4,tcp=1 senders=8,ecn=20000,slow_us=5 senders=6,late=50,far=50,idle_us=200 ;;
	outcast) printf '%s\n' receivers=8,bytes=20000 receivers=4,tcp=1 receivers=8,ecn=20000,warm_us=100 ;;
	alltoall) printf '%s\n' nics=8 nics=16,bytes=5000,depth=2 ;;
	cost) printf '%s\n' op={0..6} op={0..5},bytes=5000 ;;
	*) echo ;;
	esac
}

# Prints "WORKLOAD SEED OPTION..." for each run.
set_of_runs()
{
	local w s all at number=0 line
	for s in $(seq "$seeds"); do
		echo "drawn $s --seed $s --random"
	done
	for w in $workloads; do
		mapfile -t all < <(parameters "$w")
		for s in $(seq "$seeds"); do
			at=${all[(s - 1) % ${#all[@]}]}
			echo "$w${at:+:$at} $s --seed $s --random --workload $w${at:+:$at}"
		done
	done
	[ "${KEPT:-yes}" = yes ] || return
	while IFS= read -r line; do
		case $line in '' | '#'*) continue ;; esac
		number=$((number + 1))
		echo "kept $number $line"
	done < "$kept"
}

# digest SIM OPTION...: prints the digest of a run, or "failed"
digest()
{
	"$@" 2>/dev/null | awk '/^digest / { d = $2 } END { print d ? d : "failed" }'
}
export -f digest

runs=$(set_of_runs)
list()
{
	# shellcheck disable=SC2016 # the shell that xargs starts expands them
	echo "$runs" | xargs -P "$jobs" -L 1 bash -c 'echo "$1 $2 $(digest "$0" "${@:3}")"' "$1" | sort -k1,1 -k2,2n
}
if [ $# -eq 1 ]; then
	list "$1"
	exit
fi
list=$(list "$1")
if none=$(grep ' failed$' <<<"$list"); then
	echo "no digest by $1:"
	echo "$none"
	exit 1
fi
out=$(diff <(echo "$list") <(list "$2")) || {
	echo "$out"
	exit 1
}
echo "$(wc -l <<<"$runs") runs, the same digest in each"
