#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Upgrades in a row, for upgrade.sh and upgrade_programs.sh, which source this after tests/int/lib.sh. weftctl and its
# shell have a real-time priority: on two CPUs that programs poll on they would wait for seconds to begin.

# drive WINDOWS MOST PID...: upgrades and questions (--check) in turn, until there are MOST upgrades in WINDOWS or one of the
# processes has ended; prints how long each change took. A window, "upgrade BEGIN END" or "check BEGIN END", has its line if
# all of them outlived it.
drive()
{
	local windows=$1 most=$2 num kind begin end row
	num=$(grep -c ^upgrade "$windows")
	shift 2
	while [ "$num" -lt "$most" ]; do
		for kind in check upgrade; do
			begin=$EPOCHREALTIME
			if [ $kind = check ]; then
				row=$("$WEFT_BIN/weftctl" upgrade --json --check) || exit
			else
				row=$("$WEFT_BIN/weftctl" upgrade --json) || exit
			fi
			end=$EPOCHREALTIME
			kill -0 "$@" 2>/dev/null || exit 0
			echo "$kind $begin $end" >>"$windows"
			echo "$row" | sed -n 's/.*"longest_us": \([0-9]*\).*/\1/p'
			sleep 0.1
		done
		num=$((num + 1))
	done
}
export -f drive

# upgrades MOST NAME...: drives upgrades until there are MOST of $windows, or one of the processes has ended. The number that
# there are now goes into $upgraded, the longest change in us into $longest.
windows=$WEFT_TMP/windows
upgrades()
{
	local most=$1 name all=()
	for name in "${@:2}"; do
		all+=("${pid[$name]}")
	done
	touch "$windows"
	# shellcheck disable=SC2016 # the new shell expands it
	spawn drive chrt -r 1 bash -c 'drive "$@"' drive "$windows" "$most" "${all[@]}"
	expect_ok drive
	cat "$WEFT_TMP/drive.out" >>"$windows.changes"
	upgraded=$(grep -c ^upgrade "$windows")
	# shellcheck disable=SC2034 # for the scripts
	longest=$(sort -n "$windows.changes" | tail -n 1)
	longest=${longest:-0}
}

# upgrades_anew: none yet
upgrades_anew()
{
	# shellcheck disable=SC2034
	upgraded=0
	rm -f "$windows" "$windows.changes"
}
