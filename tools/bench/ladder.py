# SPDX-License-Identifier: BSD-3-Clause
"""The group ladder of bench.py: a small frame answered in the port, in the firmware, by the core of collectives and by
a process (ESPGOAL 6.7). Each row's baseline is the rung "port"; min, median and max of single frames in
microseconds stand beside the ratios of windows. The cores io and coll are two threads on the last CPU, which yield to
each other; the asker and the process that answers share the first.
"""
import json
import statistics

from harness import BIN, LAST_CPU, run, windows_row

FRAMES = 1000  # of each rung in a window


def climb(env, ns):
    """One window: {rung: its figures}."""
    text = run("ip", "netns", "exec", ns, BIN + "/weft-bench", "ladder", "--netdev", "vb", "--device", "weft0", "--iters",
               FRAMES, "--run-dir", env.dir, "--json")
    return {r["name"]: r for r in json.loads(text)["rungs"]}


def ladder(env):
    ns, _ = env.veth(1500, same=True)
    env.weftd("--port", "va", "--ip", "10.79.0.1/24", "--cores", "%s:io,%s:coll" % (LAST_CPU, LAST_CPU), "--port-echo",
              ns=ns)
    climb(env, ns)  # warm
    got = [climb(env, ns) for _ in range(env.args.windows)]
    rows = []
    for rung in got[0]:
        row = windows_row("ladder_" + rung, "us", [g[rung]["median_us"] for g in got],
                          [g["port"]["median_us"] for g in got])
        row["min_us"] = min(g[rung]["min_us"] for g in got)
        row["median_us"] = statistics.median(g[rung]["median_us"] for g in got)
        row["max_us"] = max(g[rung]["max_us"] for g in got)
        rows.append(row)
    return rows


GROUPS = {"ladder": ladder}
