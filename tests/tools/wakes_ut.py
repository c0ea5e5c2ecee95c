#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/plot/wakes.py: bins of a histogram hold each time once, and the header that it makes is C with these bins."""
import os
import re
import sys

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "plot"))
import wakes  # noqa: E402


def check(got, want):
    if got != want:
        sys.exit("%r, not %r" % (got, want))


# Every time lies in its bin, and bins follow each other without a gap, across powers of two as well.
for ns in (1, 2, 63, 64, 127, 128, 8191, 8192, 8193, 999999):
    low, high = wakes.bin_of(ns)
    if not low <= ns < high or (high - low) * wakes.STEPS > max(ns, wakes.STEPS):
        sys.exit("%d is in %d to %d" % (ns, low, high))
    check(wakes.bin_of(high)[0], high)
    check(wakes.bin_of(low - 1)[1] if low > 1 else low, low)

times = [8000, 8001, 8063, 8064, 16384, 900000]
check(wakes.bins(times), [(8000, 8064, 3), (8064, 8128, 4), (16384, 16640, 5), (892928, 901120, 6)])
check([wakes.quantile(times, q) for q in (0, 0.5, 0.999, 1)], [8000, 8064, 900000, 900000])

text = wakes.header(times, 2, ("a machine of some name " * 8, "1.5"))
check(re.findall(r"{(\d+), (\d+), (\d+)}", text)[-1], ("892928", "901120", "6"))
check(re.search(r"median_ns = (\d+)", text).group(1), "8064")
check(max(map(len, text.split("\n"))) <= 100, True)
if "6 wake-ups by weft-bench; 2 of more" not in text or "load 1.5." not in text:
    sys.exit(text)
print("ok")
