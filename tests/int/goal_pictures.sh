#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# goal-dump's pictures: the graph of a schedule, the timeline of a traced run as SVG and as trace
# events. Runs are goal-run's, in virtual time; each figure is compared with the points that
# goal-dump --trace prints. Damaged files end with a message.

# shellcheck disable=SC2154 # lib.sh has out and err
. tests/int/lib.sh
need python3

golden=tests/golden/goal
run=$WEFT_BIN/goal-run
dump=$WEFT_BIN/goal-dump

for f in started wildcards; do
	tool 0 "$dump" --dot "$golden/$f.goal"
	cmp "$out" "$golden/$f.dot" || die "$f.goal: another graph"
done

# A sum, a pipeline with losses, a multicast; a run that ends by its time-out.
tool 0 "$run" --sim --coll allreduce=recursive_doubling --ranks 4 --bytes 64 --trace "$WEFT_TMP/sum"
tool 0 "$run" --sim --coll bcast=chain --ranks 12 --bytes 131072 --loss 2 --seed 3 --trace "$WEFT_TMP/chain"
tool 0 "$run" --sim --coll bcast=multicast --ranks 3 --bytes 64 --warmup 3 --trace "$WEFT_TMP/mcast"
tool 1 "$run" --sim --timeout 1 --trace "$WEFT_TMP/late" "$golden/no_partner.goal"

for name in sum chain mcast late; do
	for f in "$WEFT_TMP/$name"/rank*.trace; do
		tool 0 "$dump" --trace "$f"
		cp "$out" "${f%.trace}.points"
	done
	tool 0 "$dump" --json "$WEFT_TMP/$name"/rank*.trace
	cp "$out" "$WEFT_TMP/$name.json"
	tool 0 "$dump" -o "$WEFT_TMP/$name.svg" --timeline "$WEFT_TMP/$name"/rank*.trace
	tool 0 "$dump" --dot "$WEFT_TMP/$name"/rank*.trace
	cp "$out" "$WEFT_TMP/$name.dot"
done
python3 tests/int/goal_pictures_check.py "$WEFT_TMP" || die 'a picture is not what was traced'

# Each rank at its own begin.
tool 0 "$dump" --json --align "$WEFT_TMP"/sum/rank*.trace
python3 - "$out" <<'PY' || die '--align'
import json, sys
runs = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "run"]
assert len(runs) == 4 and all(e["ts"] == 0 for e in runs), runs
PY

# Files that do not belong together.
sum=$WEFT_TMP/sum
tool 1 "$dump" --timeline "$sum/rank0.trace" "$sum/rank0.trace"
grep -q 'rank 0: there are two files of it' "$err" || die "$(cat "$err")"
tool 1 "$dump" --json "$sum/rank0.trace" "$WEFT_TMP/mcast/rank1.trace"
grep -q 'run 3; .* is run 1' "$err" || die "$(cat "$err")"
tool 1 "$dump" --json "$sum/rank0.trace" "$WEFT_TMP/chain/rank1.trace"
grep -q 'a run of 12 ranks; .* one of 4' "$err" || die "$(cat "$err")"
tool 1 "$dump" --dot "$golden/ping.goal" "$golden/ping.goal"
tool 1 "$dump" --timeline "$golden/ping.goal"
tool 1 "$dump" --dot "$WEFT_TMP/absent"
tool 1 "$dump" -o "$WEFT_TMP/sum.svg" --timeline "$WEFT_TMP/absent"
[ -s "$WEFT_TMP/sum.svg" ] || die 'a trace that is not there destroyed the picture'
tool 1 "$dump" -o /dev/full --timeline "$sum/rank0.trace"
tool 1 "$run" --sim --coll barrier --ranks 2 --trace "$golden/ping.goal/x"
tool 2 "$dump" --dot
tool 2 "$dump" --dot --json "$sum/rank0.trace"
tool 2 "$dump" --align "$sum/rank0.trace"
tool 2 "$dump" --trace "$sum/rank0.trace" "$sum/rank1.trace"
tool 2 "$run" --model 1,1,1,1,1,1 --trace "$WEFT_TMP/x" "$golden/ping.goal"
tool 0 "$dump" --help
for word in --dot --timeline --json --align; do
	grep -q -- "$word" "$out" || die "--help does not name $word"
done

# Schedules whose offsets, counts and indices are wrong, alone and within a trace.
python3 - "$sum/rank0.trace" "$WEFT_TMP" <<'PY'
import struct, sys
trace = open(sys.argv[1], "rb").read()
at = 64 + 16 * struct.unpack_from("<I", trace, 20)[0]
code = trace[at:]
offset, = struct.unpack_from("<Q", code, 64)
edges, = struct.unpack_from("<Q", code, 72)
open(sys.argv[2] + "/good.goalc", "wb").write(code)
fields = [(4, "H"), (8, "Q"), (16, "I"), (24, "I"), (36, "I"), (40, "I"), (64, "Q"), (72, "Q"), (offset, "B"),
          (offset + 8, "I"), (offset + 12, "I"), (offset + 16, "I"), (offset + 20, "I"), (edges, "I")]
for i, (field, kind) in enumerate(fields):
    size = struct.calcsize(kind)
    bad = code[:field] + b"\xfe" * size + code[field + size:]
    open("%s/bad%d.%s" % (sys.argv[2], i, "trace" if i % 2 else "goalc"), "wb").write(trace[:at] + bad if i % 2 else bad)
for i, cut in enumerate((0, 7, 63, 64, 70, at, len(trace) - 1)):
    open("%s/bad_cut%d.trace" % (sys.argv[2], i), "wb").write(trace[:cut])
PY
tool 0 "$dump" --dot "$WEFT_TMP/good.goalc"
[ "$(grep -c 'label="[0-9]' "$out")" -eq 6 ] || die 'a compiled schedule has other vertices'
for f in "$WEFT_TMP"/bad*; do
	tool 1 "$dump" --dot "$f"
	case $f in *.trace) tool 1 "$dump" --timeline "$f" ;; esac
done
