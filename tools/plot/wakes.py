#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long a wake-up takes here, from weft-bench: the histogram from which weft-measure's simulated hosts draw theirs.

Two processes that block exchange messages over two NICs of a weftd. Each wake-up is timed from the NIC's completion to
the end of poll(). All run as realtime processes, and one of least priority keeps the CPU of the two busy: so other
programs of the machine stay away, and each wake-up takes a CPU that runs from a process that gives way at once.
Wake-ups of more than a millisecond are left out: the kernel withholds the CPU from realtime processes for that long.

usage: wakes.py [--seconds S] [HEADER [PAGE]]     (tools/weft-measure/wake_times.h, docs/tuning.md)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 on failure, 2 usage. As root.
"""
import argparse
import itertools
import os
import subprocess
import sys

import figures
from nics import BIN, Nics, result

LONGEST_NS = 1000000
STEPS = 64  # bins for each power of two
QUANTILES = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 0.9999)


def measure(seconds):
    """Wake-ups in ns, in rising order."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    except PermissionError:
        sys.exit("wakes.py: realtime processes are root's")
    with Nics(4096) as nics:
        busy = subprocess.Popen(["chrt", "-f", "1", *nics.pin, "sh", "-c", "while :; do :; done"])
        try:
            server = nics.start(BIN + "/weft-bench", "lat", "--event", "--server", "--port", "0", "--device", "weft1")
            port = server.stderr.readline().split()[-1]
            path = nics.dir + "/wakes"
            result(nics.start(BIN + "/weft-bench", "lat", "--event", "--connect", "localhost", "--port", port, "--device",
                              "weft0", "--duration", seconds, "--wakes", path))
            result(server)
        finally:
            busy.kill()
            busy.wait()
        with open(path, encoding="utf8") as f:
            return sorted(int(line) for line in f)


def bin_of(ns):
    """The bin that a time lies in: its first time, and the first one behind it."""
    step = max((1 << ns.bit_length() - 1) // STEPS, 1)
    return ns // step * step, ns // step * step + step


def bins(times):
    """Rows of first time, time behind the last, and samples so far."""
    upto, rows = 0, []
    for (low, high), some in itertools.groupby(times, bin_of):
        upto += sum(1 for _ in some)
        rows.append((low, high, upto))
    return rows


def quantile(times, q):
    return times[min(int(q * len(times)), len(times) - 1)]


HEADER = """/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long wake-ups took: from the NIC's completion to the end of poll(). Made by make wake-times.
 *
 * %s
 *
 * %d wake-ups by weft-bench; %d of more than a millisecond are left out. The simulated hosts of
 * target_sim.c have their wake-ups from here.
 */
#ifndef WEFT_WAKE_TIMES_H
#define WEFT_WAKE_TIMES_H

#include "sim_harness/sim_spread.h"

/* clang-format off */
static const struct sim_spread_bin wake_bins[] = {
%s
};
/* clang-format on */

static const struct sim_spread wake_times = {
    .bin = wake_bins,
    .num_bins = sizeof(wake_bins) / sizeof(wake_bins[0]),
    .median_ns = %d,
};

#endif /* WEFT_WAKE_TIMES_H */
"""


def comment(text, width=97):
    """Words in lines of a comment."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n * ".join(lines)


def header(times, left_out, on):
    rows = ["{%d, %d, %d}," % r for r in bins(times)]
    lines = ["\t" + " ".join(rows[i:i + 4]) for i in range(0, len(rows), 4)]
    return HEADER % (comment("Measured on %s, load %s." % on), len(times), left_out, "\n".join(lines), quantile(times, 0.5))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("header", nargs="?", default="tools/weft-measure/wake_times.h")
    parser.add_argument("page", nargs="?", default="docs/tuning.md")
    args = parser.parse_args()
    on = figures.machine(), "%.1f" % os.getloadavg()[0]
    times = measure(args.seconds)
    kept = [t for t in times if t <= LONGEST_NS]
    if len(kept) < 1000:
        sys.exit("wakes.py: %d wake-ups: too few" % len(kept))
    with open(args.header, "w", encoding="utf8") as f:
        f.write(header(kept, len(times) - len(kept), on))
    figures.put(args.page, "tuning_wakes", figures.table(
        ["share of wake-ups"] + ["%g %%" % (100 * q) for q in QUANTILES],
        [["within, us"] + ["%.1f" % (quantile(kept, q) / 1e3) for q in QUANTILES],
         ["by the median"] + ["%.2f" % (quantile(kept, q) / quantile(kept, 0.5)) for q in QUANTILES]]))


if __name__ == "__main__":
    main()
