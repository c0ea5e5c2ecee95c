# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions shared by tools/run and tools/bench: a private folder, weftds that start and stop,
# servers and clients of weft-bench, and a clean-up at the end.
#
# Sourced. Expects WEFT_BIN (the folder of the programs). Sets tmp. Ends only processes that it
# started, by pid.

: "${WEFT_BIN:?where the programs are}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX") || exit 1
declare -A weftd_pid=()
declare -a started=() # further processes, to be ended with the script
declare -a at_end=()  # commands, in reverse order

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

# background COMMAND...: starts it, to be ended with the script; pid in $!
background()
{
	"$@" &
	started+=($!)
}

clean_up()
{
	local rc=$? pid i
	trap - EXIT INT TERM
	for pid in "${started[@]}" "${weftd_pid[@]}"; do
		kill "$pid" 2>/dev/null
	done
	for pid in "${started[@]}" "${weftd_pid[@]}"; do
		wait "$pid" 2>/dev/null
	done
	for ((i = ${#at_end[@]} - 1; i >= 0; i--)); do
		eval "${at_end[i]}" >/dev/null 2>&1
	done
	rm -rf "$tmp"
	exit "$rc"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# wait_for FILE TEXT SECONDS PID: waits until the file contains the text; false when the time is
# over or the process has ended
wait_for()
{
	local file=$1 text=$2 tenths=$(($3 * 20)) pid=$4
	while ! grep -q -- "$text" "$file" 2>/dev/null; do
		if [ "$tenths" -le 0 ] || ! kill -0 "$pid" 2>/dev/null; then
			grep -q -- "$text" "$file" 2>/dev/null
			return
		fi
		tenths=$((tenths - 1))
		sleep 0.05
	done
}

# weftd_up NAME ARG...: starts a weftd whose sockets are in $tmp/NAME. weftd_prefix=(...) comes
# before the command, such as ip netns exec.
weftd_prefix=()
weftd_up()
{
	local name=$1
	shift
	mkdir -p "$tmp/$name"
	: >"$tmp/$name.log"
	"${weftd_prefix[@]}" "$WEFT_BIN/weftd" --run-dir "$tmp/$name" "$@" >"$tmp/$name.log" 2>&1 &
	weftd_pid[$name]=$!
	wait_for "$tmp/$name.log" ': ready' 10 "${weftd_pid[$name]}" && return
	sed 's/^/    /' "$tmp/$name.log" >&2
	die "weftd $* did not start"
}

# weftd_down NAME: ends it; returns its exit status
weftd_down()
{
	local pid=${weftd_pid[$1]}
	unset "weftd_pid[$1]"
	kill "$pid" 2>/dev/null
	wait "$pid"
}

# bench_server NAME WORDS...: starts a weft-bench --server in the background; its port in $port, its
# pid in $server. bench_prefix=(...): taskset and the like.
bench_prefix=()
bench_server()
{
	local log=$tmp/server.$RANDOM.log
	: >"$log"
	server_out=$log.out
	"${bench_prefix[@]}" "$WEFT_BIN/weft-bench" "$2" --server --port 0 --run-dir "$tmp/$1" "${@:3}" \
		>"$server_out" 2>"$log" &
	server=$!
	started+=("$server")
	wait_for "$log" 'listening on port' 10 "$server" || {
		cat "$log" >&2
		return 1
	}
	port=$(sed -n 's/.*listening on port //p' "$log" | head -n 1)
	server_log=$log
}

# bench_client NAME WORDS...: runs the client of the last server
bench_client()
{
	"${bench_prefix[@]}" "$WEFT_BIN/weft-bench" "$2" --connect 127.0.0.1 --port "$port" \
		--run-dir "$tmp/$1" "${@:3}"
}

# bench_pair NAME MODE "SERVER OPTIONS" "CLIENT OPTIONS": runs both; prints the client's output
bench_pair()
{
	local rc
	# shellcheck disable=SC2086 # options are words
	bench_server "$1" "$2" $3 --json || return 1
	# shellcheck disable=SC2086
	bench_client "$1" "$2" $4 --json
	rc=$?
	if ! wait "$server"; then
		cat "$server_log" >&2
		rc=1
	fi
	return "$rc"
}

# number JSON KEY...: prints a number of a flat object, or of a nested one
number()
{
	local text=$1 key
	shift
	for key in "$@"; do
		text=${text#*\"$key\": }
	done
	text=${text%%[,\}]*}
	printf '%s\n' "$text"
}
