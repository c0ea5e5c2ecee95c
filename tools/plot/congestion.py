#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make congestion-table: measures incast with weft-sim from seed to seed, prints a table in Markdown.

A row holds the worst of its seeds, in brackets the median. Each run lasts until every sender's
share of the line is 50 messages of 64 KiB, and at least 8 ms. It runs weft-sim.

usage: congestion.py [--seeds N] [--jobs N] [--senders MAX]     MAX: rows of more are left out
Environment: WEFT_BIN (where weft-sim is). Exit status 0, 1 when a run failed, 2 usage.
"""
import argparse
import concurrent.futures
import os
import statistics
import subprocess
import sys

BIN = os.environ.get("WEFT_BIN", "build/bin")
LATE = "late=50,warm_us=20000"
IDLE = "warm_us=20000,idle_us=1000000"
# Senders, buffer in KiB, latency in us, other parameters, time in us that is not measured.
POINTS = (
    [(n, 128, 2, "", 0) for n in (2, 3, 4, 8, 16, 32, 128, 512, 1024)]
    + [(n, kib, 2, "", 0) for kib in (64, 1024) for n in (8, 32, 128)]
    + [(n, 128, us, "", 0) for us in (10, 50) for n in (2, 3, 4, 8, 16, 32, 128)]
    + [(n, 128, 2, LATE, 20000) for n in (8, 32, 128)]
    + [(n, 128, 2, IDLE, 1020000) for n in (8, 32, 128)]
    + [(n, 128, 2, "far=10", 0) for n in (16, 32, 128)]
)
WORDS = {"": "all at once", LATE: "half join after 20 ms", IDLE: "after an idle second",
         "far=10": "10 % ten times as far away"}


def run(point, seed):
    """The figures of one run: share of the line, Jain's index, p99 / mean, drops in per cent."""
    senders, kib, latency_us, more, skip_us = point
    workload = "incast:gbps=10,senders=%d,buffer=%d" % (senders, kib * 1024) + ("," + more if more else "")
    ms = max(8, round(senders * 50 * 65536 * 8 / 10e6)) + skip_us // 1000
    cmd = [BIN + "/weft-sim", "--workload", workload, "--seed", str(seed), "--duration-ms", str(ms)]
    cmd += ["--latency-ns", str(latency_us * 1000), "--drain-ms", "60000"]
    p = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit("congestion.py: %s failed:\n%s%s" % (" ".join(cmd), p.stdout[-500:], p.stderr[-500:]))
    f = {}
    for words in (text.split() for text in p.stdout.splitlines()):
        if len(words) == 2 and words[0][0].isdigit():
            f[words[1]] = float(words[0])
    return (f["line_percent"], f["jain_index"], f["request_p99_us"] / f["request_us"],
            100 * f["queue_drops"] / f["frames"])


def row(point, figures):
    senders, kib, latency_us, more, _ = point
    share, jain, ratio, drops = zip(*figures)
    return "| %d | %d | %d | %s | %d | %.1f (%.1f) | %.3f (%.3f) | %.2f (%.2f) | %.2f |" % (
        senders, kib, latency_us, WORDS[more], len(figures), min(share), statistics.median(share), min(jain),
        statistics.median(jain), max(ratio), statistics.median(ratio), max(drops))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--senders", type=int, default=1024)
    args = parser.parse_args()
    print("| senders | buffer, KiB | latency, us | | seeds | line, % | Jain's index | p99 / mean | drops, % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for point in POINTS:
            if point[0] <= args.senders:
                seeds = range(1, args.seeds + 1)
                print(row(point, list(pool.map(lambda s, p=point: run(p, s), seeds))), flush=True)


if __name__ == "__main__":
    main()
