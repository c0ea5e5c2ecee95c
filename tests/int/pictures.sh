#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The figures of docs/pictures match this tree: some points of each picture are measured again in
# virtual time (make pictures-check: all of them). A figure that was changed by hand is found.

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
