#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench: a run of some rows keeps the others; each row names its origin, and what it was measured on."""
import argparse
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, "tools/bench")
import bench  # noqa: E402
import harness  # noqa: E402
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

# A row says wire, MTU, CRC32C and CPUs of the weftd that it was measured with, also in a group of several.
last = str(harness.LAST_CPU)
env = harness.Env(None, "on")
env.spawn = lambda *words, **more: None
env.weftd("--nics", "2", "--mtu", "9000")
check({k: env.setup[k] for k in ("wire", "mtu", "crc", "weftd_cpus")},
      {"wire": "switch", "mtu": 9000, "crc": "on", "weftd_cpus": last})
env.weftd("--nics", "2")
check(env.setup["mtu"], 1500)
env.link_mtu = 9000
env.weftd("--port", "wa", "--ip", "10.79.0.1/24", "--netdev", "xdp", "--mpa-crc", "off", "--cores", "0:io,1:coll")
check({k: env.setup[k] for k in ("wire", "mtu", "crc", "weftd_cpus", "mpa_crc")},
      {"wire": "veth, xdp", "mtu": 9000, "crc": "on", "weftd_cpus": "0,1", "mpa_crc": "off"})
env.close()
os.rmdir(env.dir)


def group(env):
    """Two weftds, and a row of each."""
    env.spawn = lambda *words, **more: None
    env.args.windows = 1
    rows = []
    for mtu in ("9000", "1500"):
        env.weftd("--nics", "2", "--mtu", mtu)
        rows.append(harness.in_turn(env, "row" + mtu, "us", lambda: 1.0, lambda: 2.0))
    return rows + [harness.windows_row("last", "us", [1.0], [2.0])]


bench.GROUPS["of_a_test"] = group
got = bench.both(argparse.Namespace(crc="both"), "of_a_test")
check([(r["name"], r["wire"], r["mtu"], r["crc"], r["cpus"]) for r in got],
      [(name + suffix, "switch", mtu, crc, os.cpu_count()) for suffix, crc in (("", "on"), ("_nocrc", "off"))
       for name, mtu in (("row9000", 9000), ("row1500", 1500), ("last", 1500))])
