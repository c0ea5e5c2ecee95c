#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make goal-table: the firmware in the simulator beside the LogGOPS model, into docs/goal-sim.md.

For each schedule of a folder and each set of parameters that its predicted.tsv names: goal-run --sim
with the firmware's own costs, and with o and O of the set, over the predicted time; by class of
schedules the least, median and greatest ratio. Calls goal-run.

usage: goal_table.py [--limit SECONDS] [--doc DOC] FOLDER     FOLDER: with predicted.tsv and the schedules;
    DOC: whose table is replaced (docs/goal-sim.md); runs that take longer than SECONDS (20) are left out
Environment: WEFT_BIN (where goal-run is). Exit status 0, 1 when a run failed, 2 usage.
"""
import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import textwrap

BIN = os.environ.get("WEFT_BIN", "build/bin")
MTU = "9000"
PREDICTED = "max_finish_stablesort"
BEGIN, END = "<!-- table: make goal-table -->\n", "<!-- end of table -->\n"
HEAD = """| parameters | schedules | message | rows | own costs : predicted | o, O given : predicted |
| --- | --- | --- | --- | --- | --- |
"""
CLASSES = ("to 1 KiB", "to 64 KiB", "above")


def simulate(link, path, limit):
    """finish_ns, or None when the run takes too long."""
    command = [BIN + "/goal-run", "--sim", "--timeout", "0", "--mtu", MTU, "--link", link, path]
    try:
        p = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if p.returncode:
        sys.exit("goal_table.py: %s: %s" % (" ".join(command), p.stderr.strip()))
    return int(p.stdout.splitlines()[-1].split()[1])


def ratios(folder, row, limit):
    own = ",".join((row["L"], "-", row["g"], row["G"], "-", row["S"]))
    given = ",".join(row[c] for c in "LogGOS")
    times = []
    for link in (own, given):
        ns = simulate(link, os.path.join(folder, row["file"]), limit)
        if ns is None:
            return None
        times.append(ns / int(row[PREDICTED]))
    return times


def group(row):
    """Parameters, algorithm, and size of message as index of CLASSES."""
    name = os.path.basename(row["file"])
    size = re.search(r"_d(\d+)", name)
    nbytes = int(size.group(1)) if size else 0
    kind = re.sub(r"_n\d+.*", "", name)
    return row["params"], kind, 0 if nbytes <= 1024 else 1 if nbytes <= 65536 else 2


def read_rows(folder):
    path = os.path.join(folder, "predicted.tsv")
    try:
        with open(path, encoding="ascii") as f:
            return list(csv.DictReader(f, delimiter="\t"))
    except OSError as e:
        print("goal_table.py: %s: %s\nGive the folder of schedules in LogGOPSim's format and of predicted.tsv, "
              "whose columns are\nfile, params, L, o, g, G, O, S, %s: make goal-table GOAL_SAMPLES=dir"
              % (path, e.strerror, PREDICTED), file=sys.stderr)
        sys.exit(2)


def progress(text):
    if sys.stderr.isatty():
        print("\r\033[K" + text, end="", file=sys.stderr, flush=True)


def cell(values):
    return "%.2f / %.2f / %.2f" % (min(values), statistics.median(values), max(values))


def table(folder, limit):
    groups, left_out, rows = {}, [], read_rows(folder)
    for i, row in enumerate(rows):
        progress("%d of %d: %s" % (i + 1, len(rows), row["file"]))
        # Seconds of virtual calc, in which idle NICs poll: minutes of a processor.
        pair = None if "resnet" in row["file"] else ratios(folder, row, limit)
        if pair:
            groups.setdefault(group(row), []).append(pair)
        else:
            left_out.append("%s (%s)" % (os.path.basename(row["file"]), row["params"]))
    progress("")
    out = HEAD
    for key in sorted(groups):
        cells = " | ".join(cell(c) for c in zip(*groups[key]))
        out += "| %s | %s | %s | %d | %s |\n" % (key[0], key[1], CLASSES[key[2]], len(groups[key]), cells)
    text = "Left out: %s." % (", ".join(left_out) or "none")
    return out + "\n" + textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=20)
    parser.add_argument("--doc", default="docs/goal-sim.md")
    parser.add_argument("folder")
    args = parser.parse_args()
    with open(args.doc, encoding="utf8") as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        sys.exit("goal_table.py: %s has no table to replace" % args.doc)
    head, rest = text.split(BEGIN)
    new = head + BEGIN + "\n" + table(args.folder, args.limit) + "\n" + END + rest.split(END)[1]
    with open(args.doc, "w", encoding="utf8") as f:
        f.write(new)


if __name__ == "__main__":
    main()
