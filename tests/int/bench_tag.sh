#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench tag: every part runs, the program checks every message, rows are complete and their
# figures possible, and nothing is left in the NICs. Sizes and repetitions are small, so the figures
# are not compared.

. tests/int/lib.sh
need python3

weftd_start d --nics 2
tag()
{
	local part=$1
	shift
	spawn "$part" "$WEFT_BIN/weft-bench" tag --part "$part" --device weft0 --device2 weft1 --timeout 150 --json "$@"
	expect_ok "$part"
}
tag lat --size 128K --iters 4
tag bw --size 64K --iters 4
tag rate --iters 4
tag match --iters 4 --list 1000
tag overlap --size 1K --iters 2
tag adapt
tag freq --iters 2
tag ring --iters 2
spawn table "$WEFT_BIN/weft-bench" tag --part lat --size 8 --iters 2 --mem malloc --device weft0 --device2 weft1
expect_ok table
grep -qE '^ +lat +8 ' "$WEFT_TMP/table.out" || die 'no row of 8 bytes in the table'
python3 - "$WEFT_TMP" <<'END' || die 'the JSON objects are not what they should be'
import json
import sys


def rows(part, *keys):
    out = json.load(open("%s/%s.out" % (sys.argv[1], part)))["rows"]
    for r in out:
        assert r["part"] == part, r
        for k in r:
            if k + "_min" in r:
                assert r[k + "_min"] <= r[k] <= r[k + "_max"], (k, r)
                assert r[k] > 0 or k in ("ratio", "gain_us", "loss"), (k, r)
    have = [tuple(r[k] for k in keys) for r in out]
    assert len(set(have)) == len(have), have
    return set(have), out


assert rows("lat", "bytes")[0] == {(8 * 4 ** i,) for i in range(8)}
assert rows("bw", "bytes")[0] == {(4096 * 4 ** i,) for i in range(3)}
assert rows("rate", "bytes")[0] == {(64,)}
assert rows("match", "list", "length")[0] == {(k, 10 ** i) for k in ("posted", "unexpected") for i in range(1, 4)}
assert rows("freq", "bytes")[0] == {(1024 * 2 ** i,) for i in range(5)}
have, out = rows("ring", "rings", "bytes")
assert have == {(n, b) for n in (1, 2, 10, 100, 1000) for b in (8, 64, 1024)}, have
have, out = rows("adapt", "messages", "messages_are")
assert len(have) == 36, have
used = {k: sum(r["used"] for r in out[i:i + 12]) for i, k in ((0, "first"), (12, "short"), (24, "last"))}
assert used["first"] == sum(r["announced"] for r in out[:12]) == 96, used  # each is used
assert used["short"] == 0 and sum(r["announced"] for r in out[12:24]) <= 32, out  # and none before it stops
assert out[24]["announced"] == 0 and used["last"] >= 8, out  # it starts again
have, out = rows("overlap", "side", "first", "bytes")
assert have == {(s, f, b) for s, f in (("send", "receiver"), ("recv", "receiver"), ("recv", "sender"))
                for b in (1024,)}, have
for r in out:
    assert -0.2 < r["ratio"] <= 2.1, r  # 20 steps of a tenth at most
END
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop d
