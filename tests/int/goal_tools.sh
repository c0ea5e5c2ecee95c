#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# goal-run --model and goal-dump as programs: the rows of tests/golden/goal, output, JSON, binary
# input, errors and exit statuses.

. tests/int/lib.sh
need python3

golden=tests/golden/goal
run=$WEFT_BIN/goal-run
dump=$WEFT_BIN/goal-dump

# Each row as computed by hand, also from goal-dump's output.
rows=0
while IFS=$'\t' read -r file params want; do
	case $file in '#'*) continue ;; esac
	rows=$((rows + 1))
	tool 0 "$dump" "$golden/$file"
	cmp "$out" "$golden/$file" || die "goal-dump changes $file"
	cp "$out" "$WEFT_TMP/again.goal"
	for f in "$golden/$file" "$WEFT_TMP/again.goal"; do
		if [ "$want" = deadlock ]; then
			tool 1 "$run" --model "$params" "$f"
			[ "$(tail -n 1 "$out")" = deadlock ] || die "$f: no deadlock in the last line"
			continue
		fi
		tool 0 "$run" --model "$params" "$f"
		got=$(awk '$1 == "rank" { printf "%s%s", n++ ? "," : "", $3 }' "$out")
		[ "$got" = "$want" ] || die "$f with $params: $got, by hand $want"
		[ "$(tail -n 1 "$out")" = "finish_ns $(tr , '\n' <<<"$want" | sort -n | tail -n 1)" ] ||
			die "$f: last line '$(tail -n 1 "$out")'"
	done
done <"$golden/predicted.tsv"
[ "$rows" -ge 14 ] || die "only $rows rows in predicted.tsv"

# A deadlock's message names the operations.
tool 1 "$run" --model 10,2,3,1,0,100 "$golden/no_partner.goal"
grep -q 'rank 0, line 4: recv of 4 bytes from 1, tag 2' "$err" || die "the receive is not named"
grep -q 'rank 1, line 10: send of 4 bytes to 0, tag 1' "$err" || die "the send is not named"

tool 0 "$run" --json --model 10,2,3,1,0,100 "$golden/started.goal"
python3 - "$out" <<'PY' || die "--json"
import json, sys
j = json.load(open(sys.argv[1]))
assert j["finish_ns"] == 41 and j["rank_finish_ns"] == [41, 22] and j["last_rank"] == 0, j
assert j["ranks"] == 2 and j["operations"] == 5 and j["deadlock"] is False, j
assert j["model"] == {"L": 10, "o": 2, "g": 3, "G": 1, "O": 0, "S": 100}, j
PY
tool 1 "$run" --json --model 10,2,3,1,0,100 "$golden/no_partner.goal"
python3 - "$out" <<'PY' || die "--json of a deadlock"
import json, sys
j = json.load(open(sys.argv[1]))
assert j["deadlock"] is True and j["unmatched"] == 2 and "finish_ns" not in j, j
PY

# LogGOPSim's binary form, from the bytes of tests/golden/goal_bin.hex.
sed -n '/^= two_ranks/,$p' tests/golden/goal_bin.hex | sed '1d; s/#.*//' | tr -cd '0-9a-f' |
	python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' \
		>"$WEFT_TMP/two.bin"
tool 0 "$dump" -o "$WEFT_TMP/two.goal" "$WEFT_TMP/two.bin"
[ -s "$out" ] && die "-o writes to standard output too"
tool 0 "$run" --model 10,2,3,1,0,100 "$WEFT_TMP/two.bin"
cp "$out" "$WEFT_TMP/by_bin"
tool 0 "$run" --model 10,2,3,1,0,100 "$WEFT_TMP/two.goal"
cmp "$out" "$WEFT_TMP/by_bin" || die "the binary and its text differ"
"$run" --model 10,2,3,1,0,100 - <"$WEFT_TMP/two.bin" | cmp - "$WEFT_TMP/by_bin" ||
	die "standard input"

# Errors name the file and the line; no file is overwritten.
printf 'num_ranks 1\nrank 0 {\n  a: calc 1 cpu 256\n}\n' >"$WEFT_TMP/bad.goal"
for command in "$run --model 1,1,1,1,1,1" "$dump -o $WEFT_TMP/two.goal"; do
	# shellcheck disable=SC2086 # words
	tool 1 $command "$WEFT_TMP/bad.goal"
	grep -q 'bad.goal:3: the number of the cpu is more than 255' "$err" || die "$command: no line"
done
[ -s "$WEFT_TMP/two.goal" ] || die "goal-dump -o has destroyed the file, though it could not read"
tool 1 "$run" --model 1,1,1,1,1,1 "$WEFT_TMP/absent"
tool 1 "$dump" -o "$WEFT_TMP/no/such/folder" "$WEFT_TMP/two.bin"
tool 1 "$dump" -o /dev/full "$WEFT_TMP/two.bin"
tool 1 "$dump" -o "$WEFT_TMP/two.goal" --trace "$WEFT_TMP/two.bin"
[ -s "$WEFT_TMP/two.goal" ] || die "goal-dump --trace -o has destroyed the file, though there is no trace"

# A failed write to standard output is an error, of --help too.
for command in "$dump --help" "$dump $WEFT_TMP/two.bin" "$run --model 1,1,1,1,1,1 $WEFT_TMP/two.bin" \
	"$WEFT_BIN/goal-bench --help" "$WEFT_BIN/weft-bench --help" "$WEFT_BIN/weftctl --version"; do
	# shellcheck disable=SC2086 # words
	$command >/dev/full 2>"$err" && die "$command: output is lost, and it says nothing"
	grep -q ': standard output: ' "$err" || die "$command: $(cat "$err")"
done
for params in 1,1,1,1,1 1,1,1,1,1,1,1 '1,1,1,1,1,' -1,1,1,1,1,1 1.5,1,1,1,1,1 '' a,1,1,1,1,1 ' 1,1,1,1,1,1' \
	1,1,1,1,1,18446744073709551616; do
	tool 2 "$run" --model "$params" "$WEFT_TMP/two.bin"
done
WEFT_RUN_DIR=$WEFT_TMP/none WEFT_DEVICE='' tool 1 "$run" "$WEFT_TMP/two.bin"
grep -q 'is weftd running' "$err" || die "goal-run without NICs does not say what there is"
tool 2 "$run" --model 1,1,1,1,1,1
tool 2 "$run" --model 1,1,1,1,1,1 a b
tool 2 "$run" --nonsense
tool 2 "$dump"
tool 2 "$dump" a b
tool 2 "$dump" -o
for t in "$run" "$dump"; do
	tool 0 "$t" --help
	grep -q '^Usage' "$out" || die "$t --help"
	tool 0 "$t" --version
done
