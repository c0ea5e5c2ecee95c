#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weftd ends in the middle of the traffic of clients of every kind, by SIGKILL and by SIGTERM: each
# client ends with an error well before its own time-out.

. tests/int/lib.sh

bench_timeout=3600

# ends SIGNAL STATUS: of weftd
ends()
{
	local i clients=()
	weftd_start "weftd$1" --nics 2
	i=0
	while read -r -a words; do
		i=$((i + 1))
		bench_start "$1$i" weft1 weft0 "${words[@]}" --duration 3600
		clients+=("$1$i.c" "$1$i.s")
	done <<-'KINDS'
		lat --op send
		bw --op write --size 100K --event
		bw --op read --size 100K --mem malloc --event
		rate --op atomic --event
		lat --qp ud --op send --event
	KINDS
	wait_until 'all are attached' attached weft1 "$i"
	wait_until 'all are attached' attached weft0 "$i"
	in_traffic weft1
	kill "-$1" "${pid[weftd$1]}"
	finish "weftd$1"
	[ "$status" -eq "$2" ] || die "weftd ended with exit status $status, not $2"
	for i in "${clients[@]}"; do
		expect_fail "$i" 'weft-bench: '
	done
}

ends KILL 137
ends TERM 0

# Later requests are refused with an error.
"$WEFT_BIN/weftctl" stats weft0 2>"$WEFT_TMP/late.err" && die 'weftctl found a NIC that is gone'
[ "$(wc -l <"$WEFT_TMP/late.err")" -eq 1 ] || die 'weftctl says more than one line'
