#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The figures of docs/pictures and of docs/congestion.md match this tree: some points of each are
# measured again in virtual time (make pictures-check: more of them). A figure that was changed by
# hand is found. It computes for a minute, so a busy machine has time.
#
# timeout: 1200

# shellcheck disable=SC2154 # lib.sh has out
. tests/int/lib.sh
set -e
# A build with sanitizers gives the same figures but takes minutes.
export WEFT_BIN=$PWD/build/bin
tools/plot/pictures.py --check --some docs/pictures || die 'pictures differ from what the tree makes: make pictures'

tools/plot/diagram.py --check docs/pictures/parts.txt || die 'parts.svg differs from its text: make pictures'
sed 's/tools/toolz/' docs/pictures/parts.txt >"$WEFT_TMP/parts.txt"
cp docs/pictures/parts.svg "$WEFT_TMP"
if tools/plot/diagram.py --check "$WEFT_TMP/parts.txt" 2>/dev/null; then
	die 'a picture that differs from its text was not found'
fi

cp docs/pictures/*.tsv docs/pictures/goal_* "$WEFT_TMP"
sed -i 's/rank 3/rank 4/' "$WEFT_TMP/goal_timeline.svg"
sed -i 's/^2\t[0-9.]*\t/2\t99\t/' "$WEFT_TMP/incast.tsv"
if tools/plot/pictures.py --check --some "$WEFT_TMP" >"$WEFT_TMP/found"; then
	die 'a wrong figure was not found'
fi
grep -q 'goal_timeline.svg: is not what goal-dump makes' "$WEFT_TMP/found" || die "$(cat "$WEFT_TMP/found")"
grep -q "incast.tsv: has no line '2 " "$WEFT_TMP/found" || die "$(cat "$WEFT_TMP/found")"

tools/plot/congestion.py --check docs --senders 2 || die 'docs/congestion.md differs from what the tree makes: make congestion-table'
mkdir "$WEFT_TMP/pictures"
cp docs/pictures/congestion.tsv "$WEFT_TMP/pictures"
sed 's/^\(| 2 | 128 | 2 | all at once | [0-9]* | \)9/\18/' docs/congestion.md >"$WEFT_TMP/congestion.md"
if tools/plot/congestion.py --check "$WEFT_TMP" --senders 0 >"$WEFT_TMP/found"; then
	die 'a row that its runs do not give was not found'
fi
grep -q "congestion.md: has no row '| 2 | 128 | 2 |" "$WEFT_TMP/found" || die "$(cat "$WEFT_TMP/found")"
# A row of seeds that are alike, and a program in the place of weft-sim.
cat >"$WEFT_TMP/weft-sim" <<'EOF'
#!/bin/sh
printf '%s line_percent\n1 jain_index\n100 request_us\n110 request_p99_us\n0 queue_drops\n1 frames\n' "$LINE_PERCENT"
EOF
chmod +x "$WEFT_TMP/weft-sim"
awk -F '\t' -v OFS='\t' 'NR == 1 || NR == 2 { if (NR == 2) { $8 = 90.5; $9 = 1; $10 = 1.1; $11 = 0 } print }' \
	docs/pictures/congestion.tsv >"$WEFT_TMP/pictures/congestion.tsv"
found() {
	LINE_PERCENT=$1 WEFT_BIN=$WEFT_TMP tools/plot/congestion.py --check "$WEFT_TMP" --senders 2 |
		grep "congestion.tsv: seed 1 of '| 2 | 128 | 2 | all at once | 1 | "
}
found 90.1 && die 'a run that moved a little was found to be wrong'
found 89.9 | grep -q 'misses the aim of 90' || die 'a run that misses an aim was not found'
found 92.1 | grep -q 'line_percent 92.1000, not 90.5000' || die 'a run that the row does not tell of was not found'

# A part of the rows is measured anew, the others stay.
cp docs/congestion.md "$WEFT_TMP"
cp docs/pictures/congestion.tsv "$WEFT_TMP/pictures"
LINE_PERCENT=95 WEFT_BIN=$WEFT_TMP tools/plot/congestion.py --write "$WEFT_TMP" --only tcp --senders 2 --seeds 1 >/dev/null
tools/plot/congestion.py --check "$WEFT_TMP" --senders 0 || die 'a page that was written in part is wrong'
[ "$(diff docs/congestion.md "$WEFT_TMP/congestion.md" | grep -c '^>')" = "$(diff docs/congestion.md "$WEFT_TMP/congestion.md" | grep -c '^> | 2 | .* | 1 | 95.0 ')" ] ||
	die "$(diff docs/congestion.md "$WEFT_TMP/congestion.md")"
