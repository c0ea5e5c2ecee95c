#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/plot/barrier.py: the page says where a measurement was disturbed, and has a row for each number of ranks."""
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "plot"))
import barrier  # noqa: E402


def check(got, want):
    if got != want:
        sys.exit("%r, not %r" % (got, want))


def row(ranks, load, realtime):
    figures = {name + end: value for name in barrier.FIGURES for end, value in (("", 2.0), ("_min", 1.5), ("_max", 40.0))}
    return {"ranks": ranks, "rounds": 3.0, "load": load, "realtime": realtime, **figures, "sim_core_us": 9.13,
            "sim_cores_us": 1.41, "sim_wire_us": 7.529}


check(barrier.loaded([row(2.0, barrier.QUIET, 0.0), row(3.0, 9.5, 0.0)]), [])
text = barrier.loaded([row(2.0, 9.5, 1.0), row(3.0, 0.3, 1.0)])
check(text[0].startswith("**Preliminary.** ") and text[-1] == "" and max(map(len, text)) <= 100, True)
check("load 9.5 when it began), so all that is measured ran as realtime" in " ".join(text), True)
check("realtime" in " ".join(barrier.loaded([row(2.0, 9.5, 1.0), row(3.0, 9.5, 0.0)])), False)

barrier.picture = lambda rows, folder: None
lines = barrier.bruck([row(float(n), 0.1, 0.0) for n in barrier.RANKS], ".")
check(lines[0].startswith("!["), True)
check(len(lines), 2 + 2 + len(barrier.RANKS))
check(lines[4], "| 2 | 3 | 2.00 (1.50-40.0) | 2.00 (1.50-40.0) | 9.13 | 1.41 | 7.53 | 2.00 (1.50-40.0) | 2.00 (1.50-40.0) | "
      "2.00 (1.50-40.0) |")
print("ok")
