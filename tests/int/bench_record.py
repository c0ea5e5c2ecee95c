#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench/record.py: a run of some rows keeps the others, and each row names its origin."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "tools/bench")
import record  # noqa: E402

tmp = os.environ["WEFT_TMP"]
path = tmp + "/bench.json"


def check(got, want):
    if got != want:
        print("%r, not %r" % (got, want))
        sys.exit(1)


def rows():
    with open(path) as f:
        return [(r["name"], r["value"], r.get("commit")) for r in json.load(f)]


record.merge(path, [{"name": "a", "value": 1}, {"name": "b", "value": 2}], {"commit": "x"})
check(rows(), [("a", 1, "x"), ("b", 2, "x")])
record.merge(path, [{"name": "c", "value": 3}, {"name": "a", "value": 4}], {"commit": "y"})
check(rows(), [("a", 4, "y"), ("b", 2, "x"), ("c", 3, "y")])
record.merge(path, [], {"commit": "z"})
check(rows(), [("a", 4, "y"), ("b", 2, "x"), ("c", 3, "y")])
for text in ("", "{", "{}", "[1, {\"value\": 2}]"):
    with open(path, "w") as f:
        f.write(text)
    record.merge(path, [{"name": "a", "value": 5}], {"commit": "w"})
    check(rows(), [("a", 5, "w")])
check(os.listdir(tmp).count("bench.json.part"), 0)

tree = tmp + "/tree"
git = ["git", "-C", tree, "-c", "user.name=n", "-c", "user.email=n@example.invalid"]
os.mkdir(tree)
for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
    subprocess.run(git + words, check=True)
head = subprocess.run(git + ["rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
where = record.origin(tree)
check(sorted(where), ["commit", "date", "kernel", "processor"])
check(where["commit"], head[:12])
with open(tree + "/file", "w") as f:
    f.write("x")
subprocess.run(git + ["add", "file"], check=True)
check(record.origin(tree)["commit"], head[:12] + "+")
check(record.origin("/proc")["commit"], "unknown")
with open(tmp + "/cpuinfo", "w") as f:
    f.write("processor\t: 0\nmodel name\t: Some Processor 3000\nmodel name\t: Other\n")
check(record.processor(tmp + "/cpuinfo"), "Some Processor 3000")
