#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# timeout: 600
#
# The soak of weft-sim: fixed seeds pass; one of them repeated alone gives the same run; a failure
# is printed with the command that repeats it, which fails in the same way; Ctrl+C ends it cleanly.

. tests/int/lib.sh

sim=$WEFT_BIN/weft-sim

"$sim" --soak --seed 40 --runs 8 --jobs 2 --json "$WEFT_TMP/soak.json" >"$WEFT_TMP/soak.out" 2>"$WEFT_TMP/soak.err" || {
	cat "$WEFT_TMP/soak.out"
	die "seeds 40 to 47 do not hold"
}
grep -q '^soak: 8 runs, .* 0 failed' "$WEFT_TMP/soak.out" || die "the summary is missing"
python3 -c '
import json, sys
soak = json.load(open(sys.argv[1]))
assert soak["runs"] == 8 and soak["failed"] == 0 and not soak["failures"] and soak["events"] > 1000, soak
' "$WEFT_TMP/soak.json" || die "the JSON is not right"

# The values that --random draws, given as options, produce the same run.
"$sim" --seed 3 --random >"$WEFT_TMP/random.out" 2>"$WEFT_TMP/random.err" || die "seed 3 fails"
read -ra args <<<"$(sed -n 's/^drawn://p' "$WEFT_TMP/random.out")"
[ "${#args[@]}" -gt 10 ] || die "what was drawn is not printed"
"$sim" "${args[@]}" >"$WEFT_TMP/given.out" 2>"$WEFT_TMP/given.err" || die "seed 3 with its options fails"
drawn=$(tail -n 1 "$WEFT_TMP/random.out")
given=$(tail -n 1 "$WEFT_TMP/given.out")
[ "$drawn" = "$given" ] || die "the same options gave '$drawn' and '$given'"

# Hosts that poll rarely, a long path and one millisecond for all operations: no run can succeed.
"$sim" --soak --seed 5 --runs 1 --workload rd_mix --drain-ms 1 --faults slow=100 --latency-ns 900000 \
	>"$WEFT_TMP/fail.out" 2>"$WEFT_TMP/fail.err" && die "a run that cannot end in time did not fail"
grep -q '1 runs, .* 1 failed' "$WEFT_TMP/fail.out" || die "the failure is not counted"
what=$(sed -n 's/^FAILED [^:]*: //p' "$WEFT_TMP/fail.out")
read -ra again <<<"$(sed -n 's/^  \(.*--seed 5 --random.*\)/\1/p' "$WEFT_TMP/fail.out")"
[ "${#again[@]}" -gt 3 ] || die "the failure comes without its command"
"${again[@]}" >"$WEFT_TMP/again.out" 2>"$WEFT_TMP/again.err" && die "the command of the failure does not fail"
grep -qxF "FAILED: $what" "$WEFT_TMP/again.out" || die "the command fails differently"

# The record continues from soak to soak, and a failure restarts its workload.
record() { "$sim" --soak --runs "$2" --seed "$1" --record "$WEFT_TMP/record" "${@:3}" 2>/dev/null | tail -n 1; }
record 1 2 --workload ud_send --duration-ms 1 >/dev/null
record 3 1 --workload rd_mix --duration-ms 1 >/dev/null
said=$(record 4 1 --workload ud_send --duration-ms 1)
grep -Eq ' rd_mix 1 .*ud_send 3( |$)| ud_send 3 .*rd_mix 1( |$)' <<<"$said" || die "the record says: $said"
said=$(record 5 1 --workload rd_mix --drain-ms 1 --faults slow=100 --latency-ns 900000)
grep -Eq ' rd_mix 0( |$)' <<<"$said" && grep -Eq ' ud_send 3( |$)' <<<"$said" || die "after a failure: $said"

spawn endless "$sim" --soak --jobs 2
wait_until 'the soak has begun' grep -q '^soak from seed' "$WEFT_TMP/endless.out"
kill -INT "${pid[endless]}"
finish endless
[ "$status" -eq 0 ] || die "exit status $status after SIGINT"
grep -q '^soak: [0-9]* runs' "$WEFT_TMP/endless.out" || die "no summary after SIGINT"

"$sim" --soak --pcap x >"$WEFT_TMP/usage.out" 2>&1
[ $? -eq 2 ] || die "--soak --pcap is not refused"
