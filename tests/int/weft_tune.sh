#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-tune --sim: a search that was stopped, and then killed, resumes and ends like one that was
# not; results, reference rows, report and apply; records of the previous version; the start of hill
# climbing; messages about wrong command lines and places.

. tests/int/lib.sh

tune=$WEFT_BIN/weft-tune
here=$WEFT_TMP
search=(--sim --budget 20 --seed 5 --params "rx-usecs,rx-frames" --quiet)

# measured DIR N: the record has N measurements
measured()
{
	[ -e "$1/measurements.csv" ] && [ "$(wc -l <"$1/measurements.csv")" -gt "$2" ]
}

# figures DIR: the record without its times
figures()
{
	sed 's/,[^,]*,[^,]*$//' "$1/measurements.csv"
}

# fails STATUS TEXT ARG...: weft-tune exits with STATUS and prints one line with TEXT
fails()
{
	local want=$1 text=$2 got
	shift 2
	"$tune" "$@" >"$here/fails.out" 2>"$here/fails.err"
	got=$?
	[ "$got" -eq "$want" ] || die "weft-tune $*: exit status $got, not $want"
	grep -qF -- "$text" "$here/fails.err" || die "weft-tune $* says $(cat "$here/fails.err")"
	[ "$(wc -l <"$here/fails.err")" -eq 1 ] || die "weft-tune $*: more than a line: $(cat "$here/fails.err")"
}

# Under nohup it ignores the end of the terminal.
spawn whole nohup "$tune" "${search[@]}" --out "$here/whole"
wait_until 'a measurement' measured "$here/whole" 1
# shellcheck disable=SC2154 # lib.sh has pid
kill -HUP "${pid[whole]}"
spawn parts "$tune" "${search[@]}" --out "$here/parts"
wait_until 'some measurements' measured "$here/parts" 3
kill -TERM "${pid[parts]}"
expect_fail parts 'stopped after .* weft-tune --resume .* goes on'
spawn parts2 "$tune" --resume "$here/parts" --quiet
wait_until 'some more measurements' measured "$here/parts" 10
kill -KILL "${pid[parts2]}"
finish parts2
spawn parts3 "$tune" --resume "$here/parts" --json
expect_ok whole parts3
diff <(figures "$here/whole") <(figures "$here/parts") >"$here/diff.out" ||
	die "a resumed run differs: $(head -n 5 "$here/diff.out")"
for file in result.json measurements.json report.md report.html; do
	[ -s "$here/parts/$file" ] || die "no $file"
done
grep -q '"complete": true' "$here/parts3.out" || die 'not complete'
# The simulated host takes each interrupt in about 9 us when none is held back, 1009 us at worst.
"$tune" report "$here/whole" >"$here/text.out" || die 'report'
best=$(sed -n 's/^ *\([0-9.]*\) us by halving.*/\1/p' "$here/text.out")
awk -v us="${best:-1e9}" 'BEGIN { exit !(us > 1 && us < 20) }' || die "the best is ${best:-nothing} us"

# off, adaptive and target stand beside the initial setting in text, JSON and report.
grep -q '^           references: initial [0-9.]* us, off [0-9.]* us, adaptive [0-9.]* us, target p99=20us [0-9.]* us$' \
	"$here/text.out" || die "report says $(cat "$here/text.out")"
for reference in off adaptive 'target p99=20us'; do
	grep -q "\"reference\": \"$reference\"" "$here/whole/result.json" || die "no $reference in result.json"
	grep -q "reference: $reference" "$here/whole/report.md" || die "no $reference in the report"
done
[ "$(grep -c ',reference-' "$here/whole/measurements.csv")" -eq 3 ] || die 'references are measured as often as finals'

# A record of the previous version: other names, no references.
mkdir "$here/old"
sed 's/"initial": {/"found": {/; /"start":/d' "$here/whole/run.json" >"$here/old/run.json"
grep -v ',reference-' "$here/whole/measurements.csv" >"$here/old/measurements.csv"
"$tune" report "$here/old" >"$here/old.out" || die 'the record of the version before'
grep -q "^           $best us by halving" "$here/old.out" || die "its report says $(cat "$here/old.out")"

# Hill climbing begins at the given setting; the simulator has no noise, so no setting is measured
# twice.
"$tune" --sim=espgoal --method hill --start rx-usecs=100,rx-frames=0 --budget 30 --params rx-usecs,rx-frames \
	--quiet --out "$here/hill" || die 'hill'
awk -F, '$4 == "search" && $6 == 0 { print $11, $12 }' "$here/hill/measurements.csv" | grep -qx '100 0' ||
	die 'hill climbing does not begin at 100, 0'
twice=$(awk -F, '$4 == "search" { print $11, $12 }' "$here/hill/measurements.csv" | sort | uniq -d)
[ -z "$twice" ] || die "measured twice: $twice"

"$tune" apply "$here/whole" --device weft7 --dry-run >"$here/apply.out" || die 'apply --dry-run'
grep -q '^would set: weftctl coalesce weft7 set rx-usecs [0-9]* rx-frames [0-9]*$' "$here/apply.out" ||
	die "apply says $(cat "$here/apply.out")"

fails 2 '--objective takes latency' --sim --objective speed
fails 2 'no target' --method random
fails 1 'holds a record' --sim --out "$here/whole"
fails 1 'holds no record' --resume "$here/none"
fails 1 'the grid has 100 settings' --sim --method grid --grid 0,1,2,3,4,5,6,7,8,9 \
	--params rx-usecs,rx-frames --budget 50 --out "$here/grid"
fails 2 '--start takes initial' --sim --method hill --start there
fails 1 '--start: tx-usecs is not among' --sim --method hill --params rx-usecs --start tx-usecs=3 --out "$here/start"
fails 1 '--start: rx-frames is at most 255' --sim --method hill --start rx-frames=256 --out "$here/start"
fails 1 "no profile 'nowhere'" --sim=nowhere --out "$here/nowhere"
fails 1 'weft-nobody' --device weft-nobody --out "$here/nobody"
fails 1 'no interrupt coalescing' --netdev lo --peer 127.0.0.1 --out "$here/lo"
say "best $best us"
