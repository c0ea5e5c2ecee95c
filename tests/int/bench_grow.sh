#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench grow: every message is compared, rows are complete, and --qps bounds the numbers.
# Nothing is left in the NICs.

. tests/int/lib.sh
need python3

weftd_start d --nics 5
spawn all "$WEFT_BIN/weft-bench" grow --device weft0 --device2 weft1 --qps 256 --duration 0.02 --json
expect_ok all
spawn table "$WEFT_BIN/weft-bench" grow --part procs --device weft0 --device2 weft1 --qps 4 --duration 0.02
expect_ok table
grep -qE '^ +procs +4 +' "$WEFT_TMP/table.out" || die 'no row of 4 processes'
python3 - "$WEFT_TMP/all.out" <<'END' || die 'the JSON object is not what it should be'
import json
import sys

rows = json.load(open(sys.argv[1]))["rows"]
for r in rows:
    assert 0 < r["mmps_min"] <= r["mmps"] <= r["mmps_max"] and r["cost"] > 0, r
assert [r["qps"] for r in rows if r["part"] == "qps"] == [1, 16, 256], rows
assert [r["peers"] for r in rows if r["part"] == "peers"] == [1, 4], rows
assert [r["processes"] for r in rows if r["part"] == "procs"] == [1, 4, 16, 64], rows
assert [(r["mib"], r["regions"]) for r in rows if r["part"] == "memory"] == [(1, 1), (1, 256), (64, 1)], rows
END
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop d
