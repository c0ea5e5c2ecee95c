#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make congestion-table: measures incast and outcast with weft-sim from seed to seed, prints tables in Markdown.

A row holds the worst of its seeds, in brackets the median. Each run lasts until every flow's share of the
line is 50 messages of 64 KiB, and at least 8 ms. It runs weft-sim.

With --cells FILE the figures of each run are kept there, a line each, and a run whose line is there is not
made again: an interrupted table goes on where it was. The file begins anew when weft-sim is another one.

usage: congestion.py [--seeds N] [--jobs N] [--senders MAX] [--only rd|tcp] [--cells FILE] [--same FILE]
MAX: rows of more are left out. --same: a file of cells of another weft-sim, measured again in part and compared.
Environment: WEFT_BIN (where weft-sim is). Exit status 0, 1 when a run failed or a cell differs, 2 usage.
"""
import argparse
import concurrent.futures
import hashlib
import os
import statistics
import subprocess
import sys

BIN = os.environ.get("WEFT_BIN", "build/bin")
LATE = "late=50,warm_us=20000"
IDLE = "warm_us=20000,idle_us=1000000"
FAR = "far=10"
# Workload, flows, buffer in KiB, latency in us, other parameters, time in us that is not measured.
RD = (
    [("incast", n, 128, 2, "", 0) for n in (2, 3, 4, 8, 16, 32, 128, 512, 1024)]
    + [("incast", n, kib, 2, "", 0) for kib in (64, 1024) for n in (8, 32, 128)]
    + [("incast", n, 128, us, "", 0) for us in (10, 50) for n in (2, 3, 4, 8, 16, 32, 128)]
    + [("incast", n, 128, 2, LATE, 20000) for n in (8, 32, 128)]
    + [("incast", n, 128, 2, IDLE, 1020000) for n in (8, 32, 128)]
    + [("incast", n, 128, 2, FAR, 0) for n in (16, 32, 128)]
    + [("outcast", n, 128, us, "", 0) for us in (2, 50) for n in (2, 8, 32, 128)]
)
TCP = (
    [("incast", n, 128, 2, "tcp=1", 0) for n in (2, 3, 4, 8, 16, 32, 64, 128)]
    + [("incast", n, kib, 2, "tcp=1", 0) for kib in (64, 1024) for n in (8, 32, 128)]
    + [("incast", n, 128, 50, "tcp=1", 0) for n in (2, 3, 4, 8, 16, 32, 64, 128)]
    + [("incast", n, 128, 2, "tcp=1," + LATE, 20000) for n in (8, 32, 128)]
    + [("incast", n, 128, 2, "tcp=1," + IDLE, 1020000) for n in (8, 32, 128)]
    + [("incast", n, 128, 2, "tcp=1," + FAR, 0) for n in (16, 32, 128)]
    + [("outcast", n, 128, us, "tcp=1", 0) for us in (2, 50) for n in (2, 8, 32, 128)]
)
WORDS = {"": "all at once", LATE: "half join after 20 ms", IDLE: "after an idle second",
         FAR: "10 % ten times as far away"}
FLOWS = {"incast": "senders", "outcast": "receivers"}
HEAD = """| flows | buffer, KiB | latency, us | | seeds | line, % | Jain's index | p99 / mean | drops, % |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def command(point, seed):
    workload, flows, kib, latency_us, more, skip_us = point
    text = "%s:gbps=10,%s=%d,buffer=%d" % (workload, FLOWS[workload], flows, kib * 1024)
    ms = max(8, round(flows * 50 * 65536 * 8 / 10e6)) + skip_us // 1000
    return ["--workload", text + ("," + more if more else ""), "--seed", str(seed), "--duration-ms", str(ms),
            "--latency-ns", str(latency_us * 1000), "--drain-ms", "60000"]


def measure(args):
    """The figures of one run: share of the line, Jain's index, p99 / mean, drops in per cent."""
    p = subprocess.run([BIN + "/weft-sim"] + args, capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit("congestion.py: weft-sim %s failed:\n%s%s" % (" ".join(args), p.stdout[-500:], p.stderr[-500:]))
    f = {}
    for words in (text.split() for text in p.stdout.splitlines()):
        if len(words) == 2 and words[0][0].isdigit():
            f[words[1]] = float(words[0])
    mean = f.get("request_us", 0)
    return (f["line_percent"], f["jain_index"], f["request_p99_us"] / mean if mean else float("inf"),
            100 * f["queue_drops"] / f["frames"])


class Cells:
    """Runs that were made: their options and figures, in a file if one is named."""

    def __init__(self, path):
        self.path = path
        self.known = {}
        if not path:
            return
        with open(BIN + "/weft-sim", "rb") as program:
            first = "weft-sim %s\n" % hashlib.sha256(program.read()).hexdigest()
        lines = open(path, encoding="utf-8").readlines() if os.path.exists(path) else []
        if not lines or lines[0] != first:
            with open(path, "w", encoding="utf-8") as f:
                f.write(first)
            lines = []
        self.known = read_cells(lines)

    def get(self, point, seed):
        args = command(point, seed)
        key = " ".join(args)
        if key not in self.known:
            self.known[key] = measure(args)
            if self.path:
                with open(self.path, "a", encoding="utf-8") as f:
                    f.write(key + "\t" + "\t".join("%.6f" % x for x in self.known[key]) + "\n")
        return self.known[key]


def read_cells(lines):
    """The runs of a file of cells; a line that was cut off is left out."""
    known = {}
    for line in lines[1:]:
        words = line.rstrip("\n").split("\t")
        if len(words) == 5 and line.endswith("\n"):
            known[words[0]] = tuple(float(x) for x in words[1:])
    return known


def row(point, figures):
    workload, flows, kib, latency_us, more, _ = point
    words = WORDS[more.removeprefix("tcp=1").removeprefix(",")] if workload == "incast" else "outcast"
    share, jain, ratio, drops = zip(*figures)
    return "| %d | %d | %d | %s | %d | %.1f (%.1f) | %.3f (%.3f) | %.2f (%.2f) | %.2f |" % (
        flows, kib, latency_us, words, len(figures), min(share), statistics.median(share), min(jain),
        statistics.median(jain), max(ratio), statistics.median(ratio), max(drops))


def table(points, args, cells):
    print(HEAD)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for point in points:
            if point[1] <= args.senders:
                seeds = range(1, args.seeds + 1)
                print(row(point, list(pool.map(lambda s, p=point: cells.get(p, s), seeds))), flush=True)


def same(path, args):
    """Measures the kept runs of seed 1 again; returns how many differ."""
    with open(path, encoding="utf-8") as f:
        known = read_cells(f.readlines())
    wrong = 0
    for key, figures in known.items():
        flows = int(key.split("=")[2].split(",")[0])
        if " --seed 1 " not in key or flows > args.senders:
            continue
        now = tuple(float("%.6f" % x) for x in measure(key.split()))
        if now != figures:
            print("differs: %s\n  kept %s\n  now  %s" % (key, figures, now), flush=True)
            wrong += 1
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--senders", type=int, default=1024)
    parser.add_argument("--only", choices=("rd", "tcp"))
    parser.add_argument("--cells")
    parser.add_argument("--same")
    args = parser.parse_args()
    if args.same:
        sys.exit(1 if same(args.same, args) else 0)
    cells = Cells(args.cells)
    for name, points in (("rd", RD), ("tcp", TCP)):
        if args.only in (None, name):
            print("\n%s\n" % {"rd": "RD", "tcp": "RC over TCP"}[name])
            table(points, args, cells)


if __name__ == "__main__":
    main()
