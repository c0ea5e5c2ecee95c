#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `make run`: four NICs joined by the built-in switch, client processes that attach to them and
# move data, unmodified programs, collectives, and a report with the kernel's figure beside each of
# weft's. Exit status 0 only if every byte was right.
#
# Started by make with WEFT_BIN and WEFT_BUILD. Takes no arguments. Uses a folder of its own for
# sockets and files, ends what it started. tools/lib.sh has the parts, kernel.sh the kernel's side.

set -u
cd "$(dirname "$0")/../.." || exit 1
WEFT_BIN=${WEFT_BIN:-$PWD/build/bin}
WEFT_BUILD=${WEFT_BUILD:-$PWD/build}
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
# shellcheck source=tools/run/kernel.sh
. tools/run/kernel.sh

file_bytes=100000000
adders=3
wrong=0
steps=16
step=0
ahead=0 # rows in which weft does better than the kernel, of
beside=0 # those that have the kernel's figure
best=0 best_name=

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
	printf '  %-42s %-26s %s\n' "$1" "${2:-}" "${3:-}"
}

# result NAME TEXT STATUS: a row that counts.
result()
{
	if [ "$3" -eq 0 ]; then
		row "$1" "$2" "${4:-}"
	else
		row "$1" "FAILED"
		wrong=$((wrong + 1))
	fi
}

# compare NAME less|more WEFT KERNEL UNIT WHO: in $against the kernel's figure and how weft does
# beside it, or '-'; counts for the verdict.
compare()
{
	local factor
	against='-'
	[ -n "$3" ] && [ -n "$4" ] || return
	factor=$(awk -v w="$3" -v k="$4" -v how="$2" 'BEGIN { printf "%.2f", how == "less" ? k / w : w / k }')
	against=$(printf '%8.2f %-5s %-10s %5.2f x' "$4" "$5" "$6" "$factor")
	beside=$((beside + 1))
	if awk -v f="$factor" 'BEGIN { exit !(f > 1) }'; then
		ahead=$((ahead + 1))
	fi
	if awk -v f="$factor" -v b="$best" 'BEGIN { exit !(f > b) }'; then
		best=$factor best_name=$1
	fi
}

# latency NAME KERNEL WHO COMMAND...: a row of round trips beside the kernel's figure.
latency()
{
	local name=$1 kernel_us=$2 who=$3 out rc text='' us=''
	shift 3
	progress "$name"
	out=$("$@")
	rc=$?
	if [ $rc -eq 0 ]; then
		us=$(number "$out" rtt_us typical)
		text=$(printf '%8.2f us (99 %% %.2f)' "$us" "$(number "$out" rtt_us p99)")
	fi
	compare "$name" less "$us" "$kernel_us" us "$who"
	result "$name" "$text" "$rc" "$against"
}

# flow NAME gbps|mmps KERNEL WHO COMMAND...: a row of bandwidth or of messages.
flow()
{
	local name=$1 key=$2 kernel_value=$3 who=$4 unit='Gb/s' out rc text='' value=''
	shift 4
	[ "$key" = gbps ] || unit='M/s'
	progress "$name"
	out=$("$@")
	rc=$?
	if [ $rc -eq 0 ]; then
		value=$(number "$out" "$key")
		text=$(printf '%8.2f %s' "$value" "$unit")
	fi
	compare "$name" more "$value" "$kernel_value" "$unit" "$who"
	result "$name" "$text" "$rc" "$against"
}

loop()
{
	"${bench_prefix[@]}" "$WEFT_BIN/weft-bench" loop "$@" --json --run-dir "$tmp/lan" \
		--device weft0 --device2 weft1
}

counter()
{
	local clients=() i rc=0 name="fetch-and-add, $adders processes, one counter" value
	progress "$name"
	if ! bench_server lan counter --clients "$adders" --device weft0 --json; then
		result "$name" '' 1
		return
	fi
	for ((i = 1; i <= adders; i++)); do
		background bench_client lan counter --device "weft$i" --iters 20000 --json
		clients+=($!)
	done
	for i in "${clients[@]}"; do
		wait "$i" || rc=1
	done
	if ! wait "$server"; then
		cat "$server_log" >&2
		rc=1
	fi
	value=$(number "$(cat "$server_out")" mmps)
	compare "$name" more "$value" "$(kernel_counter)" M/s UDP
	result "$name" "$(printf '%8.2f M/s' "$value")" "$rc" "$against"
	[ "$rc" -ne 0 ] || row '  its sum' "  $(number "$(cat "$server_out")" value), no value twice"
}

move_file()
{
	local out rc sum_sent sum_received seconds='' name="file of $((file_bytes / 1000000)) MB, 1 % of all frames lost"
	progress "$name"
	head -c "$file_bytes" /dev/urandom >"$tmp/sent"
	out=$(bench_pair lossy file "--recv $tmp/received --device weft1" \
		"--send $tmp/sent --device weft0")
	rc=$?
	# By another program than the one that moved it.
	sum_sent=$(sha256sum <"$tmp/sent")
	sum_received=$(sha256sum <"$tmp/received")
	[ "$sum_sent" = "$sum_received" ] || rc=1
	[ "$rc" -ne 0 ] || seconds=$(number "$out" seconds)
	compare "$name" less "$seconds" "$(kernel_file "$tmp/sent" "$tmp/received.kernel")" s TCP
	result "$name" "$(printf '%8.2f s (%.2f Gb/s)' "$seconds" "$(number "$out" gbps)")" "$rc" "$against"
	[ "$rc" -ne 0 ] || row '  SHA-256 at both ends' "  ${sum_sent%% *}"
}

# on NIC COMMAND...: an unmodified program on that NIC.
on()
{
	"${bench_prefix[@]}" "$WEFT_BIN/weft-run" --run-dir "$tmp/lan" --device "$1" "${@:2}"
}

# missing NAME: a row for a program that is not installed, or that was built without librdmacm.
missing()
{
	row "$1" '       - (not installed)'
}

ping_rdma()
{
	local name='rping: 200 pings, each validated' rc=1 start server us=''
	progress "$name"
	if ! command -v rping >/dev/null || [ ! -x "$WEFT_BIN/weft-run" ]; then
		missing "$name"
		return
	fi
	on weft1 rping -s -a 10.77.0.2 -C 200 -S 1000 -V >"$tmp/rping.server" 2>&1 &
	server=$!
	started+=("$server")
	# The NIC refuses connections until the server listens.
	for _ in $(seq 50); do
		start=$(date +%s%N)
		if on weft0 rping -c -a 10.77.0.2 -C 200 -S 1000 -V >"$tmp/rping.client" 2>&1; then
			rc=0
			us=$((($(date +%s%N) - start) / 200000))
			break
		fi
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	wait "$server" || rc=1
	[ "$rc" -eq 0 ] || cat "$tmp/rping.server" "$tmp/rping.client" >&2
	result "$name" "$(printf '%8d us each, with set-up' "${us:-0}")" "$rc" '-'
}

stream_tcp()
{
	local name='iperf3, over weft-run --sockets' rc gbps server
	progress "$name"
	if ! command -v iperf3 >/dev/null || [ ! -x "$WEFT_BIN/weft-run" ]; then
		missing "$name"
		return
	fi
	: >"$tmp/iperf3.server"
	on weft1 --sockets iperf3 -s -1 -p 5202 --forceflush >"$tmp/iperf3.server" 2>&1 &
	server=$!
	started+=("$server")
	wait_for "$tmp/iperf3.server" listening 10 "$server"
	gbps=$(iperf3_gbps on weft0 --sockets iperf3 -c 10.77.0.2 -p 5202 -t 1)
	[ -n "$gbps" ]
	rc=$?
	wait "$server" || rc=1
	[ "$rc" -eq 0 ] || cat "$tmp/iperf3.server" >&2
	compare "$name" more "$gbps" "$tcp_gbps" Gb/s TCP
	result "$name" "$(printf '%8.2f Gb/s' "${gbps:-0}")" "$rc" "$against"
}

# objects JSON: the objects of an array, one a line.
objects()
{
	sed 's/}, {/}\n{/g' <<<"$1"
}

# on_nics US: the NICs' part of a collective. The NIC's clock stands still during a turn of its core,
# so it is 0 where the last process's start and every end are in one turn.
on_nics()
{
	awk -v us="$1" 'BEGIN { if (us < 0.05) print " (NICs: one turn)"; else printf " (NICs %.1f)\n", us }'
}

# collectives RANKS PLACE: barrier, broadcast and allreduce; as the programs see them, and on the NICs.
collectives()
{
	local out rc line nics i=0 names=('barrier' 'broadcast of 64 KiB' 'allreduce of 8 bytes')
	progress "collectives, $1 processes"
	out=$("${bench_prefix[@]}" "$WEFT_BIN/goal-bench" coll barrier bcast:65536 allreduce:8 --ranks "$1" \
		--seconds 0.3 --run-dir "$tmp/lan")
	rc=$?
	if [ $rc -ne 0 ]; then
		result "collectives, $1 processes" '' "$rc"
		return
	fi
	while IFS= read -r line; do
		# From the last start to the last end. A broadcast may be over before its last rank starts.
		nics=$(on_nics "$(number "$line" nic_last_us)")
		[ $i -ne 1 ] || nics=
		result "${names[i]}, $1 processes $2" "$(printf '%8.1f us' "$(number "$line" us)")$nics" 0 '-'
		i=$((i + 1))
	done < <(objects "$out")
}

overlap()
{
	local out rc line i=0 names=('an allreduce of 64 KiB' 'an allreduce of 1 MiB')
	progress 'overlap'
	# A barrier lasts some 8 us: one switch to another process would be several times all of it.
	out=$("${bench_prefix[@]}" "$WEFT_BIN/goal-bench" overlap allreduce:65536 allreduce:1048576 --ranks 4 \
		--seconds 0.3 --run-dir "$tmp/lan")
	rc=$?
	if [ $rc -ne 0 ]; then
		result 'overlap' '' "$rc"
		return
	fi
	while IFS= read -r line; do
		result "rank 0 computes during ${names[i]}" "$(printf '%8.1f %% of its %.1f us' \
			"$(number "$line" overlap | awk '{ print 100 * $1 }')" "$(number "$line" pure_us)")" 0 '-'
		i=$((i + 1))
	done < <(objects "$out")
}

echo "weft: network cards in software. Programs move data through them without calls of the kernel."
echo "four NICs on the built-in switch, $cores CPUs, clients and weftd on different ones"
kernel_up || echo '  no network namespaces here (root makes them): the kernel is not measured'
weftd_up lan --nics 4
# shellcheck disable=SC2154 # kernel.sh has it
weftd_up lossy --nics 2 --mtu "$kernel_mtu" --subnet 10.78.0.0/24 --loss 1
"$WEFT_BIN/weftctl" list --run-dir "$tmp/lan" | sed 's/^/  /'

progress 'the kernel'
tcp_us=$(kernel_base tcp) udp_us=$(kernel_base loop)
udp_rate=$(kernel_base rate | awk '{ print $1 / 1e6 }')
pair_us=$(kernel_base pair spin)
tcp_gbps=$(kernel_iperf3)

row 'One process, both ends, 64 bytes' '    weft' '  kernel, same run    factor'
latency 'reliable message (RD), round trip' "$tcp_us" TCP loop lat --qp rd --op send --duration 1
latency 'datagram (UD), round trip' "$udp_us" UDP loop lat --qp ud --op send --duration 1
flow 'reliable messages' mmps "$udp_rate" UDP loop rate --qp rd --duration 1
flow 'datagrams' mmps "$udp_rate" UDP loop rate --qp ud --duration 1

row 'Two processes'
latency 'reliable message, 64 bytes, round trip' "$pair_us" UDP bench_pair lan lat '--device weft1' \
	'--device weft0 --qp rd --op send --duration 1'
latency 'datagram, 64 bytes, round trip' "$pair_us" UDP bench_pair lan lat '--device weft3' \
	'--device weft2 --qp ud --op send --duration 1'
latency 'read of remote memory, 64 bytes' "$pair_us" UDP bench_pair lan lat '--device weft1' \
	'--device weft0 --qp rd --op read --duration 1'
flow 'write to remote memory, 1 MiB' gbps "$tcp_gbps" TCP bench_pair lan bw '--device weft1' \
	'--device weft0 --qp rd --op write --size 1M --duration 1'
flow 'read of remote memory, 1 MiB' gbps "$tcp_gbps" TCP bench_pair lan bw '--device weft1' \
	'--device weft0 --qp rd --op read --size 1M --duration 1'

row 'Several processes'
counter
move_file

row 'Unmodified programs, as Debian ships them'
ping_rdma
stream_tcp

row 'Group operations, carried out by the NICs' '    for programs (NICs)'
collectives 4 'on 4 NICs'
collectives 16 'on 4 NICs'
row 'A program computes meanwhile' '    time left to it'
overlap

for name in lan lossy; do
	weftd_down "$name" || {
		echo "weftd $name did not end well:" >&2
		cat "$tmp/$name.log" >&2
		wrong=$((wrong + 1))
	}
done
if [ "$wrong" -ne 0 ]; then
	echo "$wrong of $steps steps went wrong"
	exit 1
fi
echo "every byte was right"
load=$(awk '{ print int($1 + 0.5) }' /proc/loadavg)
if [ "$load" -gt $((cores + 2)) ]; then
	echo "the machine is busy (load $load on $cores CPUs): programs waited for a CPU, figures mean little"
fi
if [ "$beside" -gt 0 ]; then
	echo "verdict (a factor above 1: weft does better): weft beats the kernel in $ahead of $beside rows, most in '$best_name' ($best x)"
fi
cat <<-END
	try next:
	  make run-mpi                                          MPI programs, unchanged, on these NICs
	  build/bin/weft-sim --seed 7 --random                  the same firmware under faults, in virtual time
	  build/bin/weftd --nics 2 & build/bin/weftctl list     NICs of your own; README.md goes on from here
END
