#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# weft-bench srq: every message is right and the counters agree with each other. Memory of shared
# receives does not depend on the number of peers; that of own receives does. Nothing is left in the
# NICs.

. tests/int/lib.sh
need python3

weftd_start d --nics 2
for peers in 2 40; do
	spawn "p$peers" "$WEFT_BIN/weft-bench" srq --device weft0 --device2 weft1 --iters 600 --peers "$peers" --json
	expect_ok "p$peers"
done
spawn table "$WEFT_BIN/weft-bench" srq --device weft0 --device2 weft1 --iters 100 --peers 3 --recvs 8 --size 1K
expect_ok table
grep -qE '^ +memory +3 +own +burst +24 +24 +' "$WEFT_TMP/table.out" || die 'not 24 own receives of 1 KiB'
python3 - "$WEFT_TMP" <<'END' || die 'the JSON objects are not what they should be'
import json
import sys

memory = {}
for peers in (2, 40):
    rows = json.load(open("%s/p%d.out" % (sys.argv[1], peers)))["rows"]
    for r in rows:
        assert r["peers"] == peers, r
    for r in [r for r in rows if r["part"] == "memory"]:
        memory[peers, r["receives"], r["pattern"]] = r
        classes = [c for c in rows if c["part"] == "sizes" and (c["receives"], c["pattern"]) == (r["receives"], r["pattern"])]
        assert sum(c["messages"] for c in classes) == r["messages"] >= 600, r
        unexpected = sum(c["unexpected"] for c in classes)
        assert abs(100 * unexpected / r["messages"] - r["unexpected_percent"]) < 0.1, (r, unexpected)
        assert 0 < r["msg_s_min"] <= r["msg_s"] <= r["msg_s_max"], r
        assert r["buffer_kib"] == 2 * r["buffers"], r
    latency = [r for r in rows if r["part"] == "latency"]
    assert len(latency) == 1 and latency[0]["own_us"] > 0 and latency[0]["shared_us"] > 0, latency
assert len(memory) == 8, memory
for (peers, receives, pattern), r in memory.items():
    if receives == "own":
        assert r["buffers"] == 32 * peers and r["watermark_events"] == 0, r
    elif pattern == "steady":
        assert r["buffers"] == 256, r  # two batches of 64 leave more than the watermark
    else:
        # Bytes held at once: two batches of 512, the waiting messages and a chunk, however many
        # peers there are.
        assert r["buffers"] == 256 or 256 < r["buffers"] <= 1536 and r["watermark_events"] > 0, r
END
expect_objects weft0 '0 0 0 0'
expect_objects weft1 '0 0 0 0'
weftd_stop d
