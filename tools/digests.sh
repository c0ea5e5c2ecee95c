#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints digests of a kept set of weft-sim's runs. A change that moves code without changing the
# firmware's behaviour changes none of them.
#
#	tools/digests.sh SIM			print "WORKLOAD SEED DIGEST" for each run of the set
#	tools/digests.sh SIM OTHER [JOBS]	compare two programs; prints the runs that differ
#
# The set: seeds 1 to 20 (SEEDS) of each workload that draws its own options, and of drawn
# workloads. Exit status 0; 1 when a run differs or fails; 2 usage.

set -u
if [ $# -lt 1 ] || [ $# -gt 3 ] || [ ! -x "$1" ]; then
	echo "usage: digests.sh SIM [OTHER [JOBS]]" >&2
	exit 2
fi
jobs=${3:-2}
workloads="drawn rd_mix rd_send ud_send ud_long ud_record verbs hostile goal rc_tcp tag uc xrc ud_mcast calm"

# Prints the digest of one run by one program, or "failed".
digest()
{
	local sim=$1 workload=$2 seed=$3 options=()
	[ "$workload" = drawn ] || options=(--workload "$workload")
	"$sim" --seed "$seed" --random "${options[@]}" 2>/dev/null | awk '/^digest / { d = $2 } END { print d ? d : "failed" }'
}
export -f digest

runs=$(for w in $workloads; do for s in $(seq "${SEEDS:-20}"); do echo "$w $s"; done; done)
list()
{
	# shellcheck disable=SC2016 # the shell that xargs starts expands them
	echo "$runs" | xargs -P "$jobs" -L 1 bash -c 'echo "$1 $2 $(digest "$0" "$1" "$2")"' "$1" | sort -k1,1 -k2,2n
}
if [ $# -eq 1 ]; then
	list "$1"
	exit
fi
out=$(diff <(list "$1") <(list "$2")) || {
	echo "$out"
	exit 1
}
echo "$(echo "$runs" | wc -l) runs, the same digest in each"
