#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench mpi3: every part runs, the program checks every message, rows are complete and their
# figures possible, and nothing is left in the NICs. Sizes and repetitions are small, so the figures
# are not compared.

. tests/int/lib.sh
need python3

weftd_start d --nics 2
mpi3()
{
	local part=$1
	shift
	spawn "$part" "$WEFT_BIN/weft-bench" mpi3 --part "$part" --device weft0 --device2 weft1 --timeout 150 --json "$@"
	expect_ok "$part"
}
mpi3 basic --size 16K --iters 4
mpi3 qps --size 1K --iters 2
mpi3 pairs --size 64 --iters 2
mpi3 reuse --size 16K --iters 8
mpi3 overlap --size 16K --iters 2
mpi3 progress --size 8K
mpi3 sci --size 64K --iters 1
spawn table "$WEFT_BIN/weft-bench" mpi3 --part basic --size 4 --iters 1 --device weft0 --device2 weft1
expect_ok table
grep -qE '^ +basic +4 +eager ' "$WEFT_TMP/table.out" || die 'no row of 4 bytes in the table'
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
                assert r[k] > 0 or k in ("ratio", "efficiency", "arrived_us"), (k, r)
    have = [tuple(r[k] for k in keys) for r in out]
    assert len(set(have)) == len(have), have
    return set(have), out


assert rows("basic", "bytes")[0] == {(4 ** i,) for i in range(8)}
assert rows("qps", "qps", "bytes")[0] == {(n, b) for n in (1, 2, 4, 8, 16) for b in (64, 256, 1024)}
assert rows("pairs", "pairs", "bytes")[0] == {(n, 64) for n in (1, 2, 4, 8)}
assert rows("reuse", "reuse_percent", "bytes")[0] == {(p, 64 * 4 ** i) for p in (0, 50, 100) for i in range(5)}
have, out = rows("overlap", "side", "protocol", "bytes")
assert have == {(s, p, b) for s in ("send", "recv")
                for p, b in (("eager", 1024), ("eager", 4096), ("get", 16384), ("put", 16384))}, have
for r in out:
    assert -0.2 < r["ratio"] <= 2.1, r  # 20 steps of a tenth at most
have, out = rows("progress", "side", "protocol", "bytes", "delay_us")
assert have == {(s, "eager", 8192, d) for s in ("send", "recv") for d in (0, 200, 400, 800, 1600)}, have
have, out = rows("sci", "busy", "memory", "protocol", "bytes", "l_busy_us")
assert len(out) == 2 * 4 * 6, len(out)
END
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop d
