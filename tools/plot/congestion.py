#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make congestion-table: measures incast and outcast with weft-sim from seed to seed, prints tables in Markdown.

A row holds the worst of its seeds, in brackets the median. Each run lasts until every flow's share of the
line is 50 messages of 64 KiB, and at least 8 ms. It runs weft-sim, and gnuplot to draw.

With --cells FILE the figures of each run are kept there, a line each, and a run whose line is there is not
made again: an interrupted table goes on where it was. The file begins anew when weft-sim is another one.
With --kept no run is made: a row has the seeds that the file has, from 1 on.

--write docs puts the runs into docs/pictures/congestion.tsv and the tables into docs/congestion.md; rows that
--senders or --only leave out stay as they are.

--check docs compares the tables there with those runs, exactly, and measures seed 1 of each row again. The same
sources give the same figures, but a change of any timing in the firmware moves each run a little, as another seed
does, and the table takes an hour. So a run is a difference when the page is no longer true: when it lies farther
than NEAR outside what the seeds of its row gave, or misses an aim that all of them reached.

--draw docs draws docs/pictures/congestion.svg from those runs: the median of each row, with its least and its
greatest seed.

usage: congestion.py [--seeds N] [--jobs N] [--senders MAX] [--only rd|tcp] [--cells FILE [--kept]] [--write DIR]
       congestion.py --check DIR [--senders MAX] [--jobs N]
       congestion.py --draw DIR
MAX: rows of more flows are left out. Environment: WEFT_BIN (where weft-sim is).
Exit status 0, 1 when a run failed or a figure differs, 2 usage.
"""
import argparse
import concurrent.futures
import hashlib
import itertools
import os
import statistics
import subprocess
import sys

import figures as fig
from figures import put, read

BIN = os.environ.get("WEFT_BIN", "build/bin")
LATE = "late=50,warm_us=20000"
IDLE = "warm_us=20000,idle_us=1000000"
FAR = "far=10"
# Workload, flows, buffer in KiB, latency in us, other parameters, time in us that is not measured.
RD = (
    [("incast", n, 128, 2, "", 0) for n in (2, 3, 4, 8, 16, 32, 128, 512, 1024)]
    + [("incast", n, kib, 2, "", 0) for kib in (64, 1024) for n in (8, 32, 128)]
    + [("incast", n, 128, us, "", 0) for us in (10, 50) for n in (2, 3, 4, 8, 16, 32, 128)]
    + [("incast", 128, kib, us, "", 0) for us in (10, 50) for kib in (64, 1024)]
    + [("incast", n, 128, 2, LATE, 20000) for n in (8, 32, 128)]
    + [("incast", n, 128, 2, IDLE, 1020000) for n in (8, 32, 128)]
    + [("incast", n, 128, 2, FAR, 0) for n in (16, 32, 128)]
    + [("incast", n, 64, us, "", 0) for us in (10, 50) for n in (8, 16, 32)]
    + [("incast", n, 64, 50, LATE, 20000) for n in (2, 8, 32, 128)]
    + [("incast", n, kib, 50, IDLE, 1020000) for kib in (64, 128, 1024) for n in (2, 4, 8, 32, 128)]
    + [("incast", n, kib, 50, FAR, 0) for kib in (64, 1024) for n in (16, 32, 128)]
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
TRANSPORTS = (("rd", RD), ("tcp", TCP))
WORDS = {"": "all at once", LATE: "half join after 20 ms", IDLE: "after an idle second",
         FAR: "10 % ten times as far away"}
FLOWS = {"incast": "senders", "outcast": "receivers"}
# One message of 64 KiB is 0.65 % of the line in 8 ms, and one drop of the packets in it 0.06 %.
NEAR = (1.5, 0.01, 0.2, 0.1)
# The aims of congestion.md: sign and bound; 1: at least, -1: at most.
AIMS = ((1, 90), (1, 0.95), (-1, 4), (-1, 1))
FIGURES = ("line_percent", "jain", "p99_by_mean", "drop_percent")
COLUMNS = ("transport", "workload", "flows", "buffer_kib", "latency_us", "case", "seed") + FIGURES
HEAD = """| flows | buffer, KiB | latency, us | | seeds | line, % | Jain's index | p99 / mean | drops, % |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


# Rows of the picture: title, transport, latency in us; all are incast with 128 KiB, all at once.
SERIES = (("RD, 2 us", "rd", 2), ("RD, 50 us", "rd", 50), ("TCP, 2 us", "tcp", 2), ("TCP, 50 us", "tcp", 50))
# Its panels: figure, range, label, where the aim is.
PANELS = ((0, "80:100", "share of the line, %", 90), (1, "0.9:1.005", "Jain's index", 0.95),
          (2, "1:4.2", "p99 / mean of a message", 4))
PICTURE = """
set multiplot layout 3,1 margins 0.13,0.97,0.14,0.95 spacing 0.06
set logscale x 2
set xrange [1.8:1150]
set xtics (2,4,8,16,32,64,128,256,512,1024) format ''
unset key
set title 'Incast onto a 10 Gb/s port, 128 KiB: median, least and greatest of ten seeds'
"""


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
    return tuple(round(x, 4) for x in (f["line_percent"], f["jain_index"],
                                       f["request_p99_us"] / mean if mean else float("inf"),
                                       100 * f["queue_drops"] / f["frames"]))


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

    def seeds(self, point, most):
        """The seeds from 1 to most whose runs were made, up to the first that was not."""
        made = range(1, most + 1)
        return list(itertools.takewhile(lambda s: " ".join(command(point, s)) in self.known, made))

    def get(self, point, seed):
        args = command(point, seed)
        key = " ".join(args)
        if key not in self.known:
            self.known[key] = measure(args)
            if self.path:
                with open(self.path, "a", encoding="utf-8") as f:
                    f.write(key + "\t" + "\t".join("%.4f" % x for x in self.known[key]) + "\n")
        return self.known[key]


def read_cells(lines):
    """The runs of a file of cells; a line that was cut off is left out."""
    known = {}
    for line in lines[1:]:
        words = line.rstrip("\n").split("\t")
        if len(words) == 5 and line.endswith("\n"):
            known[words[0]] = tuple(float(x) for x in words[1:])
    return known


def case(point):
    """The words of a row's fourth column."""
    workload, _, _, _, more, _ = point
    return WORDS[more.removeprefix("tcp=1").removeprefix(",")] if workload == "incast" else "outcast"


def row(point, figures):
    _, flows, kib, latency_us, _, _ = point
    share, jain, ratio, drops = zip(*figures)
    return "| %d | %d | %d | %s | %d | %.1f (%.1f) | %.3f (%.3f) | %.2f (%.2f) | %.2f |" % (
        flows, kib, latency_us, case(point), len(figures), min(share), statistics.median(share), min(jain),
        statistics.median(jain), max(ratio), statistics.median(ratio), max(drops))


def table(points, args, cells):
    """Prints a table; returns the figures of its seeds for each point that was measured."""
    figures = {}
    print(HEAD)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for point in points:
            seeds = cells.seeds(point, args.seeds) if args.kept else range(1, args.seeds + 1)
            if seeds and point[1] <= args.senders:
                figures[point] = list(pool.map(lambda s, p=point: cells.get(p, s), seeds))
                print(row(point, figures[point]), flush=True)
    return figures


def write_runs(path, figures):
    """figures: by transport, those of table()."""
    with open(path, "w", encoding="utf8") as f:
        f.write("#" + "\t".join(COLUMNS) + "\n")
        for transport, points in figures.items():
            for point, seeds in points.items():
                for seed, run in enumerate(seeds, 1):
                    words = (transport,) + point[:4] + (case(point), seed) + tuple("%.4f" % x for x in run)
                    f.write("\t".join(map(str, words)) + "\n")


def read_runs(path):
    """Reads the file of write_runs(): figures of each seed by transport and point."""
    names = {(t,) + p[:4] + (case(p),): (t, p) for t, points in TRANSPORTS for p in points}
    figures = {t: {} for t, _ in TRANSPORTS}
    for line in read(path):
        key = (line["transport"], line["workload"]) + tuple(int(line[x]) for x in COLUMNS[2:5]) + (line["case"],)
        transport, point = names[key]
        figures[transport].setdefault(point, []).append(tuple(line[x] for x in FIGURES))
    return figures


def misses(seeds, now):
    """Returns the figures of now that a row with these seeds does not tell of, in words."""
    wrong = []
    for name, near, (sign, aim), was, x in zip(FIGURES, NEAR, AIMS, zip(*seeds), now):
        if not min(was) - near <= x <= max(was) + near:
            wrong.append("%s %.4f, not %.4f to %.4f" % (name, x, min(was), max(was)))
        elif sign * x < sign * aim <= min(sign * v for v in was):
            wrong.append("%s %.4f, which misses the aim of %g" % (name, x, aim))
    return wrong


def check(folder, args):
    """Returns how much of a page is not what its runs say, or not what weft-sim measures."""
    path = folder + "/pictures/congestion.tsv"
    kept = read_runs(path)
    with open(folder + "/congestion.md", encoding="utf8") as f:
        page = f.read()
    wrong = 0
    for transport, points in kept.items():
        rows = page.split("<!-- table congestion_%s -->\n" % transport)[1].split("<!-- end -->")[0]
        there, made = set(rows.splitlines()[2:]), {row(point, seeds) for point, seeds in points.items()}
        for text in sorted(made - there):
            print("%s/congestion.md: has no row '%s'; type: make congestion-table" % (folder, text))
        for text in sorted(there - made):
            print("%s/congestion.md: no runs of %s give '%s'; type: make congestion-table" % (folder, path, text))
        wrong += len(made ^ there)
    points = [(p, seeds) for t in kept.values() for p, seeds in t.items() if p[1] <= args.senders]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (point, seeds), now in zip(points, pool.map(lambda p: measure(command(p[0], 1)), points)):
            for text in misses(seeds, now):
                print("%s: seed 1 of '%s' has %s; type: make congestion-table" % (path, row(point, seeds), text))
                wrong += 1
    return wrong


def draw(folder):
    """The picture of a folder's runs."""
    runs = read_runs(folder + "/congestion.tsv")
    script = fig.HEAD.replace("size 960,500", "size 960,1000") % "congestion" + fig.styles(len(SERIES)) + PICTURE
    for at, limits, label, aim in PANELS:
        script += "set yrange [%s]\nset ylabel \"%s\"\n" % (limits, label)
        if at == PANELS[-1][0]:
            script += "set xtics format '%g'\nset xlabel 'senders'\nset key at screen 0.5,0.02 center bottom horizontal\n"
        plots = ["%g lc rgb '#555555' dt 2 title 'aim'" % aim]
        for i, (title, transport, latency_us) in enumerate(SERIES):
            rows = [(p[1], [run[at] for run in seeds]) for p, seeds in runs[transport].items()
                    if p[0] == "incast" and p[2] == 128 and p[3] == latency_us and case(p) == WORDS[""]]
            data = "".join("%d %g %g %g\n" % (n, statistics.median(x), min(x), max(x)) for n, x in sorted(rows))
            script += "$d%d_%d << EOD\n%sEOD\n" % (at, i, data)
            plots.append("$d%d_%d using 1:2:3:4 with yerrorlines ls %d title '%s'" % (at, i, i + 1, title))
        script += "plot " + ", ".join(plots) + "\nunset title\n"
    fig.gnuplot(folder, "congestion", script + "unset multiplot\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--senders", type=int, default=1024)
    parser.add_argument("--only", choices=[t for t, _ in TRANSPORTS])
    parser.add_argument("--cells")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--check")
    parser.add_argument("--draw")
    args = parser.parse_args()
    if args.check:
        sys.exit(1 if check(args.check, args) else 0)
    if args.draw:
        draw(args.draw + "/pictures")
        return
    cells = Cells(args.cells)
    path = "%s/pictures/congestion.tsv" % args.write
    old = read_runs(path) if args.write and os.path.exists(path) else {}
    figures = {t: old.get(t, {}) for t, _ in TRANSPORTS}
    for transport, points in TRANSPORTS:
        if args.only in (None, transport):
            print("\n%s\n" % {"rd": "RD", "tcp": "RC over TCP"}[transport])
            new = table(points, args, cells)
            figures[transport] = {p: new.get(p, figures[transport].get(p)) for p in points
                                  if p in new or p in figures[transport]}
            if args.write:
                rows = HEAD.splitlines() + [row(p, seeds) for p, seeds in figures[transport].items()]
                put(args.write + "/congestion.md", "congestion_" + transport, rows)
    if args.write:
        write_runs(path, figures)


if __name__ == "__main__":
    main()
