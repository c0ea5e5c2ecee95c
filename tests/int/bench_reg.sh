#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench reg: every part prints its figures, they agree with each other and with the cache's
# counters, the program checks the content, and nothing is left in the NICs.

. tests/int/lib.sh
need python3

weftd_start d --nics 2
reg()
{
	local name=$1
	shift
	spawn "$name" "$WEFT_BIN/weft-bench" reg --device weft0 --device2 weft1 --size 512K --iters 10 "$@"
	expect_ok "$name"
}
reg cost --part cost --json
reg policy --part policy --json
reg table2 --part table2 --json
reg heap --part heap --json
reg table --part policy
grep -qE '^ +policy +lru, 1/2 ' "$WEFT_TMP/table.out" || die 'no policy in the table'
python3 - "$WEFT_TMP" <<'END' || die 'the JSON objects are not what they should be'
import json
import sys


def rows(name):
    return json.load(open("%s/%s.out" % (sys.argv[1], name)))["rows"]


cost = rows("cost")
assert cost[0]["part"] == "empty_command" and cost[0]["us"] > 0, cost[0]
kinds = ["alloc", "first", "again", "vm", "miss", "hit"]
assert [(r["kind"], r["bytes"]) for r in cost[1:]] == [(k, b) for b in (4096, 16384, 65536, 262144) for k in kinds]
for r in cost[1:]:
    assert 0 < r["reg_us_p10"] <= r["reg_us"] <= r["reg_us_p90"] and r["dereg_us"] > 0, r
    assert r["reg_host_us"] > 0 and r["reg_nic_us"] >= 0, r
policy = {r["policy"]: r for r in rows("policy")}
for r in policy.values():
    assert r["hits"] + r["misses"] == 2000, r
assert policy["lazy"]["misses"] == 64 == policy["lazy"]["entries"] and policy["lazy"]["evictions"] == 0, policy["lazy"]
assert policy["lazy, 16"]["entries"] == 16 and policy["lazy, 16"]["misses"] > 64, policy
for name, part in (("lru, 1/2", 2), ("lru, 1/4", 4)):
    assert policy[name]["kept_bytes"] <= 64 * 65536 // part and policy[name]["evictions"] > 0, policy[name]
for name in ("immediate", "off"):
    assert policy[name]["misses"] == 2000 and policy[name]["entries"] == 0, policy[name]
table2 = rows("table2")
assert len({(r["reps"], r["cache"], r["memory"], r["bytes"]) for r in table2}) == len(table2) == 2 * 2 * 2 * 2, table2
heap = rows("heap")
assert [(r["memory"], r["pass"], r["bytes"]) for r in heap] == \
    [(m, p, b) for m in ("mmap", "malloc", "malloc, heap") for p in (1, 2) for b in (65536, 262144)], heap
for r in table2 + heap:
    assert 0 < r["mib_s_min"] <= r["mib_s"] <= r["mib_s_max"], r
END
spawn none "$WEFT_BIN/weft-bench" reg --device weft7
expect_fail none 'cannot open weft7'
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop d
