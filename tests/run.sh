#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs tests and counts them: tests/run.sh TEST...
#
# A TEST is a CUnit program (build/san/ut/...), whose every test counts, or an integration script
# (tests/int/*.sh, *.py, tests/security/*.sh), which counts as one, or a program of Python's
# unittest (tests/tools/*_ut.py), whose every test counts. Two more run at a time than there are
# processors, since many of them wait (JOBS=N: N); a script with the line "# alone" near its top runs
# alone. Prints one line per test in the order given, PASS, FAIL or SKIP with the reason, and the
# output of failed tests. A skip whose reason is not in tests/skips.txt is a failure. The last line
# is "N passed, N failed, N skipped"; the exit status is 1 if a test failed.
#
# A script runs in the root of the tree with
#	WEFT_BIN	folder of the programs (default: those built with sanitizers)
#	WEFT_INT	folder of the programs of tests/int/*.c
#	WEFT_PLAIN	those of them that run under valgrind, without sanitizers
#	WEFT_TSAN	those of them that have threads, with ThreadSanitizer
#	WEFT_TMP	an empty folder of its own, removed when it passes
#	WEFT_RUN_DIR	WEFT_TMP/run: folder of its weftd's sockets
#
# A script has 300 s, or as many as a line "# timeout: SECONDS" near its top says, times WEFT_SLOW=N
# where the programs are slow (ThreadSanitizer, more threads than CPUs). A unit test has
# 120 s of processor time (WEFT_UNIT_TIMEOUT), so that a busy machine is no failure, and ten times
# that on the clock, which ends a hang. Exit status 0 of a script is a pass, 77 a skip with its last
# line as the reason, anything else a failure. Processes left in its process group are killed.

set -u
cd "$(dirname "$0")/.." || exit 1
# A test that calls make chooses its own goals and variables, not those of the make that runs it.
unset MAKEFLAGS MFLAGS MAKELEVEL T
# Tests leave nothing in the tree; Python would keep its modules' bytecode beside them.
export PYTHONDONTWRITEBYTECODE=1
build=$PWD/build
export WEFT_BIN=${WEFT_BIN:-$build/san/bin}
export WEFT_INT=${WEFT_INT:-$build/san/int}
export WEFT_PLAIN=${WEFT_PLAIN:-$build/int}
export WEFT_TSAN=${WEFT_TSAN:-$build/tsan/int}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

logs=$build/test-logs
tmp=$build/test-tmp
mkdir -p "$logs" "$tmp"
passed=0 failed=0 skipped=0
failures=()

# Prints a failure: its name, the reason, its log, and how to run it again.
fail()
{
	failures+=("$1")
	echo "FAIL $1: $2"
	sed 's/^/    /' "$3" | tail -n "${WEFT_TEST_TAIL:-60}"
	echo "    again: $4"
}

unit_timeout=${WEFT_UNIT_TIMEOUT:-120}

# run_limited SECONDS LOG COMMAND...: runs it in a process group of its own, which is killed when it
# is over. A TERM to the calling subshell, or several, end the command by TERM; it has the 5 s of
# timeout -k to remove what it made.
run_limited()
{
	local limit=$1 log=$2 pid='' ended='' rc
	shift 2
	trap 'ended=1; [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null' TERM
	timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null &
	pid=$!
	[ -z "$ended" ] || kill -TERM "$pid" 2>/dev/null
	wait "$pid"
	rc=$?
	while [ -n "$ended" ] && kill -0 "$pid" 2>/dev/null; do
		wait "$pid" # a signal had interrupted the one before
		rc=$?
	done
	trap '' TERM
	kill -KILL -- "-$pid" 2>/dev/null
	return "$rc"
}
declare -A running=() # process of run_limited for each started test
# Not all of "running": the number of one that is over may be another's.
# shellcheck disable=SC2046 # numbers
trap 'kill -TERM $(jobs -rp) 2>/dev/null; wait; exit 130' INT TERM

is_script()
{
	[[ $1 == *.sh || $1 == *.py ]]
}

# Prints the name of a script in the report: its folder below tests/ and its file.
script_name()
{
	local dir=${1%/*}
	case $dir in
	tests/* | */tests/*) echo "${dir##*/}/${1##*/}" ;;
	*) echo "int/${1##*/}" ;;
	esac
}

# skip_is_listed NAME REASON
skip_is_listed()
{
	local pattern reason
	while read -r pattern reason; do
		# shellcheck disable=SC2053 # a pattern
		if [[ $1 == $pattern && $2 =~ ^($reason)$ ]]; then
			return 0
		fi
	done < <(grep -v '^#' tests/skips.txt)
	return 1
}

log_of()
{
	local name=${1#*/ut/}
	is_script "$1" && name=$(script_name "$1")
	echo "$logs/${name//\//_}.log"
}

tmp_of()
{
	echo "$tmp/${1##*/}"
}

# Prints the seconds on the clock.
limit_of()
{
	local limit=$((unit_timeout * 10))
	if is_script "$1"; then
		limit=$(sed -n '1,40s/^# timeout: \([0-9][0-9]*\)$/\1/p' "$1" | head -n 1)
		limit=$((${limit:-300} * ${WEFT_SLOW:-1}))
	fi
	echo "$limit"
}

alone()
{
	is_script "$1" && sed -n 1,40p "$1" | grep -qx '# alone'
}

# start TEST LOG: writes its seconds, then its exit status, beside its log
start()
{
	local begin=$SECONDS log=$2 rc
	if is_script "$1"; then
		WEFT_TMP=$(tmp_of "$1")
		export WEFT_TMP WEFT_RUN_DIR=$WEFT_TMP/run
		rm -rf "$WEFT_TMP"
		mkdir -p "$WEFT_RUN_DIR"
	fi
	if is_script "$1"; then
		run_limited "$(limit_of "$1")" "$log" "$1"
	else
		run_limited "$(limit_of "$1")" "$log" prlimit --cpu="$unit_timeout:$((unit_timeout + 5))" "$1"
	fi
	rc=$?
	echo "$((SECONDS - begin))" >"$log.seconds"
	echo "$rc" >"$log.status"
}

# Keeps $jobs of the tests from a place of the list on running.
jobs=${JOBS:-$(($(nproc) + 2))}
tests=("$@")
start_ahead()
{
	local i t log busy
	mapfile -t busy < <(jobs -rp)
	for ((i = $1; i < ${#tests[@]} && ${#busy[@]} < jobs; i++)); do
		t=${tests[i]}
		if [ ! -x "$t" ] || [ -n "${running[$t]:-}" ]; then
			continue
		fi
		if alone "$t" && [ "${#busy[@]}" -gt 0 ]; then
			break
		fi
		log=$(log_of "$t")
		rm -f "$log.status"
		start "$t" "$log" &
		running[$t]=$!
		busy+=("$!")
		if alone "$t"; then
			break
		fi
	done
}

# Waits until the test in this place is done, while others go on. Returns its exit status. The shell
# forgets the status of a process whose number comes again, so it is read from the file.
await()
{
	local pid status
	start_ahead "$1"
	pid=${running[${tests[$1]}]}
	status=$(log_of "${tests[$1]}").status
	while [ ! -s "$status" ] && jobs -rp | grep -qx "$pid"; do
		wait -n
		alone "${tests[$1]}" || start_ahead "$1"
	done
	return "$(cat "$status" 2>/dev/null || echo 127)"
}

unit()
{
	local bin=$1 rc=$2 log=$3 name=${1#*/ut/} line run ok bad
	# "tests  total ran passed failed inactive" of CUnit's run summary
	line=$(sed -n 's/^ *tests  *\([0-9]*\)  *\([0-9]*\)  *\([0-9]*\)  *\([0-9]*\) .*/\2 \3 \4/p' "$log" | tail -n 1)
	read -r run ok bad <<<"${line:-0 0 0}"
	passed=$((passed + ok))
	failed=$((failed + bad))
	if [ "$rc" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$run" -gt 0 ]; then
		echo "PASS $name ($ok tests)"
		return
	fi
	if [ "$bad" -eq 0 ]; then
		failed=$((failed + 1)) # it crashed, leaked, hung or ran nothing
	fi
	case $rc in
	124 | 137) fail "$name" "not done in $(limit_of "$bin") s" "$log" "$bin" ;;
	152) fail "$name" "not done in $unit_timeout s of processor time" "$log" "$bin" ;; # SIGXCPU
	0) fail "$name" "no test was run" "$log" "$bin" ;;
	*) fail "$name" "$bad of $run tests failed, exit status $rc" "$log" "$bin" ;;
	esac
}

script()
{
	local path=$1 rc=$2 log=$3 name limit dir reason tests
	name=$(script_name "$path")
	limit=$(limit_of "$path")
	dir=$(tmp_of "$path")
	case $rc in
	0)
		tests=$(sed -n 's/^Ran \([0-9]*\) tests* in .*/\1/p' "$log")
		passed=$((passed + ${tests:-1}))
		rm -rf "$dir"
		echo "PASS $name (${tests:+$tests tests, }$(cat "$log.seconds") s)"
		;;
	77)
		reason=$(tail -n 1 "$log")
		if skip_is_listed "$name" "$reason"; then
			skipped=$((skipped + 1))
			echo "SKIP $name ($reason)"
		else
			failed=$((failed + 1))
			fail "$name" "tests/skips.txt does not list the skip '$reason'" "$log" "tests/run.sh $path"
		fi
		;;
	124 | 137)
		failed=$((failed + 1))
		fail "$name" "not done in $limit s" "$log" "tests/run.sh $path"
		;;
	*)
		failed=$((failed + 1))
		fail "$name" "exit status $rc, files in ${dir#"$PWD"/}" "$log" "tests/run.sh $path"
		;;
	esac
}

for at in "${!tests[@]}"; do
	t=${tests[at]}
	if [ ! -x "$t" ]; then
		failed=$((failed + 1))
		failures+=("$t")
		echo "FAIL $t: not there, or not executable"
		continue
	fi
	await "$at"
	rc=$?
	unset "running[$t]"
	if is_script "$t"; then
		script "$t" "$rc" "$(log_of "$t")"
	else
		unit "$t" "$rc" "$(log_of "$t")"
	fi
done

if [ $# -eq 0 ]; then
	echo "tests/run.sh: no tests given" >&2
	failed=1
fi
if [ "${#failures[@]}" -gt 0 ]; then
	echo "failed: ${failures[*]}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
