#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make run`: four NICs joined by the built-in switch, client processes that attach to them and
# move data, and a report. Exit status 0 only if every byte was right.
#
# Called by the Makefile with WEFT_BIN. Takes no arguments. Uses a folder of its own for sockets
# and files, ends what it started. tools/lib.sh has the parts.

set -u
cd "$(dirname "$0")/../.." || exit 1
WEFT_BIN=${WEFT_BIN:-$PWD/build/bin}
if [ $# -gt 0 ]; then
	echo "run.sh: takes no arguments; WEFT_BIN says where the programs are" >&2
	exit 2
fi
[ -x "$WEFT_BIN/weftd" ] || {
	echo "run.sh: no $WEFT_BIN/weftd; build it with make" >&2
	exit 1
}
# shellcheck source=tools/lib.sh
. tools/lib.sh

file_bytes=100000000
adders=3
wrong=0
steps=14
step=0

# The core that weftd polls on by default is the last; clients take the others.
cores=$(nproc)
[ "$cores" -lt 2 ] || bench_prefix=(taskset -c "0-$((cores - 2))")

# One line that is written over, on a terminal only.
progress()
{
	step=$((step + 1))
	[ ! -t 1 ] || printf '\r\033[K  [%d/%d] %s ...' "$step" "$steps" "$1"
}

row()
{
	[ ! -t 1 ] || printf '\r\033[K'
	printf '  %-44s %s\n' "$1" "$2"
}

# result NAME TEXT STATUS: a row that counts.
result()
{
	if [ "$3" -eq 0 ]; then
		row "$1" "$2"
	else
		row "$1" "FAILED"
		wrong=$((wrong + 1))
	fi
}

latency()
{
	local name=$1 out rc text=
	shift
	progress "$name"
	out=$("$@")
	rc=$?
	[ $rc -ne 0 ] || text=$(printf '%6.2f us round trip (99%% %.2f, 99.9%% %.2f)' \
		"$(number "$out" rtt_us typical)" "$(number "$out" rtt_us p99)" \
		"$(number "$out" rtt_us p99_9)")
	result "$name" "$text" "$rc"
}

flow()
{
	local name=$1 unit=$2 out rc text=
	shift 2
	progress "$name"
	out=$("$@")
	rc=$?
	if [ $rc -eq 0 ]; then
		case $unit in
		gbps) text=$(printf '%6.2f Gb/s' "$(number "$out" gbps)") ;;
		mmps) text=$(printf '%6.2f million messages/s' "$(number "$out" mmps)") ;;
		esac
	fi
	result "$name" "$text" "$rc"
}

loop()
{
	"${bench_prefix[@]}" "$WEFT_BIN/weft-bench" loop "$@" --json --run-dir "$tmp/lan" \
		--device weft0 --device2 weft1
}

counter()
{
	local clients=() i rc=0 name="fetch-and-add, $adders processes, one counter"
	progress "$name"
	if ! bench_server lan counter --clients "$adders" --device weft0 --json; then
		result "$name" '' 1
		return
	fi
	for ((i = 1; i <= adders; i++)); do
		background bench_client lan counter --device "weft$i" --iters 50000 --json
		clients+=($!)
	done
	for i in "${clients[@]}"; do
		wait "$i" || rc=1
	done
	if ! wait "$server"; then
		cat "$server_log" >&2
		rc=1
	fi
	result "$name" "$(printf '%6.2f million/s; sum %d right, no value twice' \
		"$(number "$(cat "$server_out")" mmps)" "$(number "$(cat "$server_out")" value)")" "$rc"
}

move_file()
{
	local out rc sum_sent sum_received name="file of $((file_bytes / 1000000)) MB, 1 % of all frames lost"
	progress "$name"
	head -c "$file_bytes" /dev/urandom >"$tmp/sent"
	out=$(bench_pair lossy file "--recv $tmp/received --device weft1" \
		"--send $tmp/sent --device weft0")
	rc=$?
	# By another program than the one that moved it.
	sum_sent=$(sha256sum <"$tmp/sent")
	sum_received=$(sha256sum <"$tmp/received")
	[ "$sum_sent" = "$sum_received" ] || rc=1
	result "$name" "$(printf '%6.2f s, %.2f Gb/s' "$(number "$out" seconds)" \
		"$(number "$out" gbps)")" "$rc"
	[ "$rc" -ne 0 ] || row '' "SHA-256 ${sum_sent%% *}"
}

# objects JSON: the objects of an array, one a line.
objects()
{
	sed 's/}, {/}\n{/g' <<<"$1"
}

# collectives RANKS PLACE: barrier, broadcast and allreduce; as the programs see them, and on the NICs.
collectives()
{
	local out rc line i=0 names=('barrier' 'broadcast of 64 KiB' 'allreduce of 8 bytes')
	progress "collectives, $1 processes"
	out=$("${bench_prefix[@]}" "$WEFT_BIN/goal-bench" coll barrier bcast:65536 allreduce:8 --ranks "$1" \
		--seconds 0.3 --run-dir "$tmp/lan")
	rc=$?
	if [ $rc -ne 0 ]; then
		result "collectives, $1 processes" '' "$rc"
		return
	fi
	while IFS= read -r line; do
		result "${names[i]}, $1 processes $2" "$(printf '%6.1f us GOAL_Run to GOAL_Wait, %.1f us on the NICs' \
			"$(number "$line" us)" "$(number "$line" nic_last_us)")" 0
		i=$((i + 1))
	done < <(objects "$out")
}

overlap()
{
	local out rc line i=0 names=('a barrier' 'an allreduce of 64 KiB')
	progress 'overlap'
	out=$("${bench_prefix[@]}" "$WEFT_BIN/goal-bench" overlap barrier allreduce:65536 --ranks 4 --seconds 0.3 \
		--run-dir "$tmp/lan")
	rc=$?
	if [ $rc -ne 0 ]; then
		result 'overlap' '' "$rc"
		return
	fi
	while IFS= read -r line; do
		result "rank 0 computes during ${names[i]}" "$(printf '%6.1f %% of its %.1f us' \
			"$(number "$line" overlap | awk '{ print 100 * $1 }')" "$(number "$line" pure_us)")" 0
		i=$((i + 1))
	done < <(objects "$out")
}

echo "weft: four NICs on the built-in switch, $cores cores, clients and weftd on different ones"
weftd_up lan --nics 4
weftd_up lossy --nics 2 --subnet 10.78.0.0/24 --loss 1
"$WEFT_BIN/weftctl" list --run-dir "$tmp/lan" | sed 's/^/  /'

echo "One process, both ends (64 bytes; every message checked)"
latency 'RD send' loop lat --qp rd --op send --duration 1
latency 'UD send' loop lat --qp ud --op send --duration 1
flow 'RD messages' mmps loop rate --qp rd --duration 1
flow 'UD messages' mmps loop rate --qp ud --duration 1

echo "Two processes"
latency 'RD send, 64 bytes' bench_pair lan lat '--device weft1' \
	'--device weft0 --qp rd --op send --duration 1'
latency 'UD send, 64 bytes' bench_pair lan lat '--device weft3' \
	'--device weft2 --qp ud --op send --duration 1'
latency 'RDMA Read, 64 bytes' bench_pair lan lat '--device weft1' \
	'--device weft0 --qp rd --op read --duration 1'
flow 'RDMA Write, 1 MiB' gbps bench_pair lan bw '--device weft1' \
	'--device weft0 --qp rd --op write --size 1M --duration 1'
flow 'RDMA Read, 1 MiB' gbps bench_pair lan bw '--device weft1' \
	'--device weft0 --qp rd --op read --size 1M --duration 1'

echo "Several processes"
counter
move_file

echo "Collectives on the NICs (every result checked; mean over the processes, median over the runs)"
collectives 4 'on 4 NICs'
collectives 16 'on 4 NICs'
overlap

for name in lan lossy; do
	weftd_down "$name" || {
		echo "weftd $name did not end well:" >&2
		cat "$tmp/$name.log" >&2
		wrong=$((wrong + 1))
	}
done
if [ "$wrong" -eq 0 ]; then
	echo "every byte was right"
else
	echo "$wrong of $steps steps went wrong"
	exit 1
fi
