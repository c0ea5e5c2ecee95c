#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-tune --device measures on two NICs of a running weftd and restores the setting of each
# vector: at the end, when it is stopped, when one of its processes dies in mid-run. Absent NICs,
# and a weftd that ends, are reported in one line.

. tests/int/lib.sh

settings()
{
	ctl coalesce "$1" >>"$WEFT_TMP/settings"
}

# as_before: both NICs have their initial settings
as_before()
{
	: >"$WEFT_TMP/settings"
	settings weft0
	settings weft1
	cmp -s "$WEFT_TMP/before" "$WEFT_TMP/settings"
}

# same WHEN: both NICs have their initial settings
same()
{
	as_before ||
		die "$1 the settings are not as they were: $(diff "$WEFT_TMP/before" "$WEFT_TMP/settings")"
}

# tune NAME OPTION...: in the background, results in $WEFT_TMP/NAME.d
tune()
{
	local name=$1
	shift
	spawn "$name" "$WEFT_BIN/weft-tune" --device weft0 --quiet --out "$WEFT_TMP/$name.d" "$@"
}

# rows NAME: number of its measurements so far
rows()
{
	[ -e "$WEFT_TMP/$1.d/measurements.csv" ] && [ "$(wc -l <"$WEFT_TMP/$1.d/measurements.csv")" -gt 2 ]
}

# one_line NAME: its whole error output is one line
one_line()
{
	[ "$(wc -l <"$WEFT_TMP/$1.err")" -eq 1 ] || die "$1 says more than a line: $(cat "$WEFT_TMP/$1.err")"
}

# 4,096 settings, none of which takes long.
long=(--method grid --params "rx-usecs,tx-usecs,rx-frames,tx-frames,rx-usecs-irq,tx-usecs-irq" --grid "1,2,3,4")

weftd_start weftd --nics 2
ctl coalesce weft0 set rx-usecs 7 tx-frames 3
ctl coalesce weft1 --vector 2 set adaptive on
: >"$WEFT_TMP/settings"
settings weft0
settings weft1
cp "$WEFT_TMP/settings" "$WEFT_TMP/before"

tune whole --objective overlap --method random --params rx-usecs --budget 15
expect_ok whole
same 'when it is done'
rows whole || die 'nothing was measured'
# A vector of weft1 is adaptive.
grep -q 'At first it chose its limits by itself' "$WEFT_TMP/whole.d/report.md" || die 'compared with what was not set'
for reference in off adaptive target; do
	grep -q ",reference-$reference," "$WEFT_TMP/whole.d/measurements.csv" || die "no row for $reference"
done
say 'ok: measured, and as it was'

tune stopped "${long[@]}"
wait_until 'measurements are there' rows stopped
kill -INT "${pid[stopped]}"
finish stopped
[ "$status" -eq 1 ] || die "exit status $status"
same 'when it was stopped'
say 'ok: stopped'

tune bereft "${long[@]}"
wait_until 'measurements are there' rows bereft
# weft-tune has started weft-measure, and that a process on each NIC.
kill -KILL "$(pgrep -P "$(pgrep -P "${pid[bereft]}")" | head -n 1)"
expect_fail bereft 'weft[01]'
one_line bereft
same 'when a process of it died'
say 'ok: a process dies'

# weft-measure finds that nobody asks any more.
tune killed "${long[@]}"
wait_until 'measurements are there' rows killed
kill9 killed
wait_until 'the settings are as they were' as_before
say 'ok: killed'

tool 1 "$WEFT_BIN/weft-tune" --device weft7 --out "$WEFT_TMP/no7"
grep -q "no NIC 'weft7'" "$err" || die "$(cat "$err")"
tool 1 "$WEFT_BIN/weft-tune" --device weft0 --peer weft0 --out "$WEFT_TMP/no0"
grep -q 'is the NIC itself' "$err" || die "$(cat "$err")"

tune last "${long[@]}"
wait_until 'measurements are there' rows last
kill9 weftd
expect_fail last 'weft[01]'
say 'ok: weftd dies'
