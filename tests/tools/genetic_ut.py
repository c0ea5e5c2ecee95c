#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/plot/genetic.py: generations of a record of weft-tune, whole ones alone, and the table made of them."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "plot"))
import genetic  # noqa: E402

HEAD = "method,objective,phase,step,lat_us,bw_10m\n"


def check(got, want):
    if got != want:
        sys.exit("%r, not %r" % (got, want))


def record(rows):
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as f:
        f.write(HEAD + "".join("%s,%s,%s,%d,%s,%s\n" % r for r in rows))
    return f.name


def row(step, value, objective="latency", phase="search", method="genetic"):
    return (method, objective, phase, step, value, "") if objective == "latency" else (method, objective, phase, step, "", value)


# Other methods, objectives and phases do not count; the generation that was stopped does not either.
path = record([row(0, 9, method="hill")] + [row(0, v) for v in (40, 10, 30, 20)] + [row(0, 7, "bandwidth")] +
              [row(1, v) for v in (12, 11, 14, 13)] + [row(2, 5), row(2, 6)] + [row(2, 1, phase="final")])
rows = genetic.generations(path, "latency", 4)
check([(r["generation"], r["best"], r["median"]) for r in rows], [(0, "10", "25"), (1, "11", "12.5")])
os.unlink(path)

# More is better of bandwidth. The last generation may be short, since the budget ends there.
path = record([row(g, v, "bandwidth") for g in range(genetic.GENERATIONS) for v in (1, 2, 3)] +
              [row(genetic.GENERATIONS, v, "bandwidth") for v in (8, 9)])
rows = genetic.generations(path, "bandwidth", 3)
check((len(rows), rows[0]["best"], rows[-1]["best"]), (genetic.GENERATIONS + 1, "3", "9"))
os.unlink(path)

# A generation that is not there leaves its cells empty.
known = [{"objective": "latency", "population": genetic.SMALL, "generation": g, "best": 23.456 - g, "median": 30.0} for g in (0.0, 1.0)]
text = genetic.lines(known)
check(text[2], "| latency, us | 0 | 23.456 | 30.0 |  |  |  |")
check(text[4], "| latency, us | 2 |  |  |  |  |  |")
check(text[11], "| latency, us | 50 |  |  |  |  | 22.93 |")
check(len(text), 2 + 2 * len(genetic.SHOWN))
print("ok")
