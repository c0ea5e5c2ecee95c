#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Functions shared by the integration scripts of this folder, which source it: . tests/int/lib.sh
#
# A script starts processes by a name (spawn, weftd_start, bench_start), waits for conditions
# (wait_until) and for ends (finish, expect_ok), and reports a failure with die. Every process
# writes to $WEFT_TMP/NAME.out and NAME.err. However the script ends, its remaining processes are
# killed and its namespaces and files removed; a sanitizer's report in any output makes it fail.
# Time limits are generous: they end a hang.

set -u
: "${WEFT_BIN:?run me with tests/run.sh PATH}" "${WEFT_TMP:?}" "${WEFT_RUN_DIR:?}"

LIMIT=${WEFT_TEST_LIMIT:-150} # seconds until a missing event is a failure

declare -A pid=()    # pid of each process by name, until it has been waited for
declare -a names=()  # all processes ever started, for their output
declare -a undo=()   # commands of at_exit, last first
status=0             # exit status of the last process waited for
sequence=0

# A socket's path has at most 107 bytes, which a checkout in a deep folder may exceed.
if [ "${#WEFT_RUN_DIR}" -gt 80 ]; then
	WEFT_RUN_DIR=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
	undo+=("rm -rf '$WEFT_RUN_DIR'")
fi
export WEFT_RUN_DIR
# Keeps apart the ranks of jobs whose lists differ.
WEFT_KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export WEFT_KEY

say()
{
	printf '%s\n' "$*"
}

# Prints the last output of the processes and ends the script.
die()
{
	local n f
	for n in "${names[@]}"; do
		for f in "$WEFT_TMP/$n".{out,err}; do
			[ -s "$f" ] && { say "--- ${f##*/}:"; tail -n 12 "$f"; }
		done
	done
	say "${0##*/}: $*"
	exit 1
}

# The reason of a skip is the last line that the test prints.
skip()
{
	say "$*"
	exit 77
}

# at_exit COMMAND: evaluated when the script ends, in reverse order
at_exit()
{
	undo=("$1" ${undo[@]+"${undo[@]}"})
}

finish_script()
{
	local rc=$? n c
	trap - EXIT INT TERM
	for n in "${!pid[@]}"; do
		kill -KILL "${pid[$n]}" 2>/dev/null
	done
	for n in "${!pid[@]}"; do
		wait "${pid[$n]}" 2>/dev/null
	done
	for c in ${undo[@]+"${undo[@]}"}; do
		eval "$c" || say "at the end: $c: failed"
	done
	if [ "$rc" -eq 0 ] && grep -lE 'Sanitizer|runtime error:' "$WEFT_TMP"/*.{out,err} 2>/dev/null; then
		grep -hE -A 20 'Sanitizer|runtime error:' "$WEFT_TMP"/*.{out,err} 2>/dev/null | head -n 50
		rc=1
	fi
	exit "$rc"
}
trap finish_script EXIT
trap 'exit 130' INT TERM

# wait_until WHAT COMMAND...: waits until COMMAND is true; dies with WHAT if it never is
wait_until()
{
	local what=$1 end=$((SECONDS + LIMIT))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || die "not within $LIMIT s: $what"
		sleep 0.05
	done
}

# ---- other users ----------------------------------------------------------------------------

others_reach()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$WEFT_TMP"
}

# for_others: other users than root can reach this tree and the files of this test. Where a folder
# above it keeps them out, as /root does, the script begins again with the tree mounted in /tmp, for
# itself alone. To be called before anything runs.
for_others()
{
	local dir rel=${WEFT_TMP#"$PWD"/}
	[ "$(id -u)" -eq 0 ] || return 0
	if [ -n "${WEFT_TREE_MOUNT:-}" ]; then
		at_exit "cd / && umount -l '$WEFT_TREE_MOUNT' && rmdir '$WEFT_TREE_MOUNT'"
		others_reach && return
	elif others_reach; then
		return
	else
		dir=$(mktemp -d "${TMPDIR:-/tmp}/weft.XXXXXX")
		if [ "$rel" != "$WEFT_TMP" ] && unshare -m mount --bind "$PWD" "$dir" 2>/dev/null; then
			export WEFT_TREE_MOUNT=$dir WEFT_TMP=$dir/$rel WEFT_RUN_DIR=$dir/$rel/run
			export WEFT_BIN=${WEFT_BIN/#"$PWD"/"$dir"} WEFT_INT=${WEFT_INT/#"$PWD"/"$dir"}
			# shellcheck disable=SC2016 # the new shell expands it
			exec unshare -m bash -c 'mount --bind "$PWD" "$WEFT_TREE_MOUNT" &&
				cd "$WEFT_TREE_MOUNT" && exec bash "$0"' "$0"
		fi
		rmdir "$dir"
	fi
	skip 'other users than root cannot reach the programs'
}

# ---- processes ------------------------------------------------------------------------------

# spawn NAME COMMAND...: in the background
spawn()
{
	local name=$1
	shift
	[ -z "${pid[$name]:-}" ] || die "there is a process called $name already"
	# Truncated here, before the child starts: output of an earlier process of this name must
	# not be taken for its own.
	: >"$WEFT_TMP/$name.out"
	: >"$WEFT_TMP/$name.err"
	"$@" >"$WEFT_TMP/$name.out" 2>"$WEFT_TMP/$name.err" </dev/null &
	pid[$name]=$!
	names+=("$name")
}

alive()
{
	[ -n "${pid[$1]:-}" ] && kill -0 "${pid[$1]}" 2>/dev/null
}

dead()
{
	! alive "$1"
}

# finish NAME: waits until it ends; $status is its exit status, or 128 + N after signal N
finish()
{
	[ -n "${pid[$1]:-}" ] || die "there is no process called $1"
	wait_until "$1 ends" dead "$1"
	{ wait "${pid[$1]}"; } 2>/dev/null
	status=$?
	unset "pid[$1]"
}

# expect_ok NAME...: each ends with exit status 0
expect_ok()
{
	local n
	for n in "$@"; do
		finish "$n"
		[ "$status" -eq 0 ] || die "$n ended with exit status $status"
	done
}

# expect_fail NAME TEXT: it ends by itself, with exit status 1, and its errors contain TEXT (a regular
# expression)
expect_fail()
{
	finish "$1"
	[ "$status" -eq 1 ] || die "$1 ended with exit status $status, not 1"
	grep -qE -- "$2" "$WEFT_TMP/$1.err" || die "$1 does not say '$2'"
}

# kill9 NAME: kills it by SIGKILL and waits for its end
kill9()
{
	alive "$1" || die "$1 ended before it could be killed"
	kill -KILL "${pid[$1]}"
	finish "$1"
	[ "$status" -eq 137 ] || die "$1 ended with $status, not by SIGKILL"
}

out_has()
{
	grep -qE -- "$2" "$WEFT_TMP/$1.out" "$WEFT_TMP/$1.err" 2>/dev/null
}

# says NAME TEXT: waits until its output contains TEXT; fails at once if it ends before
says()
{
	wait_until "$1 says '$2'" said_or_dead "$1" "$2"
	out_has "$1" "$2" && return
	finish "$1"
	die "$1 ended with exit status $status without saying '$2'"
}

said_or_dead()
{
	out_has "$1" "$2" || { dead "$1" && sleep 0.1; }
}

# state_is NAME LETTER: compares the state in /proc; T is stopped
state_is()
{
	grep -q "^State:[[:space:]]*$2" "/proc/${pid[$1]}/status" 2>/dev/null
}

# ---- weftd ----------------------------------------------------------------------------------

# cores_list N: a list for --cores of N threads on the first two CPUs
cores_list()
{
	local usable_cpus
	mapfile -t usable_cpus < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
		awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
	if [ "${#usable_cpus[@]}" -lt 2 ] || [ "$1" -lt 2 ]; then
		say "${usable_cpus[0]}*$1"
	else
		say "${usable_cpus[0]}*$((($1 + 1) / 2)),${usable_cpus[1]}*$(($1 / 2))"
	fi
}

# shard_cores OPTION...: with WEFT_SHARDS=N in the environment (make test-shards), the option that
# gives each NIC N shards, unless the options name cores
shard_cores()
{
	local nics=0
	[ -n "${WEFT_SHARDS:-}" ] || return
	while [ $# -gt 0 ]; do
		case $1 in
		--cores | --config) return ;;
		--nics) nics=$((nics + $2)) ;;
		--port) nics=$((nics + 1)) ;;
		esac
		shift
	done
	say "--cores=$(cores_list $(((nics > 0 ? nics : 1) * WEFT_SHARDS)))"
}

# weftd_start NAME OPTION...: starts weftd and waits until it is ready. in_ns="ip netns exec X" puts
# it into a namespace.
in_ns=
weftd_start()
{
	local name=$1
	shift
	# shellcheck disable=SC2046,SC2086 # words; WEFT_WEFTD: another program, with options (make tsan)
	spawn "$name" $in_ns ${WEFT_WEFTD:-"$WEFT_BIN/weftd"} $(shard_cores "$@") "$@"
	says "$name" '^weftd: ready'
}

# weftd_stop NAME: by SIGTERM; weftd must clean up and exit
weftd_stop()
{
	alive "$1" || die "$1 is not alive any more"
	kill -TERM "${pid[$1]}"
	expect_ok "$1"
}

# ctl WORD...: weftctl, which must succeed
ctl()
{
	"$WEFT_BIN/weftctl" "$@" || die "weftctl $*: exit status $?"
}

# objects NIC: "clients qps mrs cqs", tools not counted
objects()
{
	local kind all
	ctl clients "$1" >"$WEFT_TMP/list"
	all=$(awk 'NR > 1 && $6 != "yes"' "$WEFT_TMP/list" | wc -l)
	for kind in qps mrs cqs; do
		ctl "$kind" "$1" >"$WEFT_TMP/list"
		all="$all $(($(wc -l <"$WEFT_TMP/list") - 1))"
	done
	say "$all"
}

objects_are()
{
	[ "$(objects "$1")" = "$2" ]
}

# expect_objects NIC "CLIENTS QPS MRS CQS": waits until the counts are these
expect_objects()
{
	wait_until "$1 has clients, QPs, MRs, CQs '$2' (has '$(objects "$1")')" objects_are "$1" "$2"
}

# uses NIC INTERFACE: a process is attached by this interface (weftctl clients)
uses()
{
	ctl clients "$1" >"$WEFT_TMP/list"
	awk -v want="$2" 'NR > 1 && $7 == want { found = 1 } END { exit !found }' "$WEFT_TMP/list"
}

# counter NIC NAME: prints a counter of weftctl stats
counter()
{
	ctl stats "$1" >"$WEFT_TMP/list"
	awk -v name="$2:" '$1 == name { print $2; found = 1 } END { exit !found }' "$WEFT_TMP/list" ||
		die "$1 has no counter $2"
}

# counter_above NIC NAME N
counter_above()
{
	[ "$(counter "$1" "$2")" -gt "$3" ]
}

# counter_is NIC NAME N
counter_is()
{
	[ "$(counter "$1" "$2")" -eq "$3" ]
}

# ---- weft-bench -----------------------------------------------------------------------------

# bench_server NAME NIC WORD...: listens; its TCP port into $port. bench_timeout: see --timeout.
bench_timeout=$((LIMIT / 2))
port=
bench_server()
{
	local name=$1 nic=$2
	shift 2
	# shellcheck disable=SC2086
	spawn "$name" $in_ns "$WEFT_BIN/weft-bench" "$@" --timeout "$bench_timeout" --device "$nic" \
		--server --port 0
	says "$name" 'listening on port [0-9]'
	port=$(sed -n 's/.*listening on port \([0-9]*\)$/\1/p' "$WEFT_TMP/$name.err" | head -n 1)
}

# bench_client NAME NIC WORD...: to the server that listens on $port
bench_client()
{
	local name=$1 nic=$2
	shift 2
	# shellcheck disable=SC2086
	spawn "$name" $in_ns "$WEFT_BIN/weft-bench" "$@" --timeout "$bench_timeout" --device "$nic" \
		--connect 127.0.0.1 --port "$port"
}

# bench_start NAME SERVER-NIC CLIENT-NIC WORD...: processes NAME.s and NAME.c
bench_start()
{
	local name=$1 server=$2 client=$3
	shift 3
	bench_server "$name.s" "$server" "$@"
	bench_client "$name.c" "$client" "$@"
}

# bench SERVER-NIC CLIENT-NIC WORD...: runs to the end; every byte must be right
bench()
{
	sequence=$((sequence + 1))
	bench_start "bench$sequence" "$@"
	expect_ok "bench$sequence.c" "bench$sequence.s"
	say "ok: $*"
}

# attached NIC N: true if N processes are attached
attached()
{
	local clients rest
	read -r clients rest <<<"$(objects "$1")"
	[ "$clients" -ge "$2" ]
}

# in_traffic NIC: waits until the NIC sends and receives data: a point in the middle of traffic
in_traffic()
{
	local rx tx
	rx=$(counter "$1" rx_frames)
	tx=$(counter "$1" tx_frames)
	wait_until "$1 receives more than $rx frames" counter_above "$1" rx_frames "$((rx + 100))"
	wait_until "$1 sends more than $tx frames" counter_above "$1" tx_frames "$((tx + 100))"
}

# ---- namespaces -----------------------------------------------------------------------------

# unique NAME: a name of this run alone. An interface's name has at most 15 characters.
unique()
{
	say "w$(($$ % 1000000))$1"
}

# tool STATUS COMMAND...: expects this exit status; output goes to $out and $err
out=$WEFT_TMP/tool.out
err=$WEFT_TMP/tool.err
tool()
{
	local want=$1 rc
	shift
	"$@" >"$out" 2>"$err" </dev/null
	rc=$?
	grep -hE 'Sanitizer|runtime error' "$err" && die "$*"
	[ "$rc" -eq "$want" ] || { cat "$out" "$err"; die "$*: exit status $rc, not $want"; }
}

# netns_add NAME: makes the namespace "$(unique NAME)" with its loopback up; removed at the end
netns_add()
{
	local ns
	ns=$(unique "$1")
	ip netns add "$ns" || skip "no network namespaces here (ip netns add)"
	at_exit "ip netns del $ns"
	# The kernel answers ARP only on the interface that has the address. An answer from a bridge
	# or one of its ports would give a MAC that disappears when the test changes the link.
	ip netns exec "$ns" sysctl -q -w net.ipv4.conf.all.arp_ignore=1
	ip -n "$ns" link set lo up
}

# veth_add A B: makes the namespaces A and B (netns_add), and interfaces vA and vB in them, joined
# and up
veth_add()
{
	local end
	netns_add "$1"
	netns_add "$2"
	ip link add "v$1" netns "$(unique "$1")" type veth peer name "v$2" netns "$(unique "$2")" || skip 'no veth here'
	for end in "$1" "$2"; do
		ip -n "$(unique "$end")" link set "v$end" up
	done
}

# two_weftd memif|veth [OPTION...]: starts weftd left and weftd right, with NIC left0 at 10.9.0.1 and
# right0 at 10.9.0.2, joined by a memif, or by a veth between the namespaces a and b
two_weftd()
{
	local wire=$1
	shift
	if [ "$wire" = memif ]; then
		weftd_start left --port "memif:$WEFT_RUN_DIR/m.sock,server" --ip 10.9.0.1/24 --name left "$@"
		weftd_start right --port "memif:$WEFT_RUN_DIR/m.sock" --ip 10.9.0.2/24 --name right "$@"
		return
	fi
	veth_add a b
	in_ns="ip netns exec $(unique a)"
	weftd_start left --port va --ip 10.9.0.1/24 --name left "$@"
	in_ns="ip netns exec $(unique b)"
	weftd_start right --port vb --ip 10.9.0.2/24 --name right "$@"
	in_ns=
}

# tcp_listens NAMESPACE PORT NAME: true if process NAME listens there, or has ended
tcp_listens()
{
	dead "$3" || ip netns exec "$1" ss -Hltn "sport = :$2" | grep -q .
}

need()
{
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "$tool is not installed"
	done
}
