#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files of gaps.c: for each program how long it saw no completion while weftd was upgraded.

    gaps.py begun DIR NAME...                   exit status 0 if each of them has had completions
    gaps.py table DIR WIRE WINDOWS NAME...      a line for each of them

The files of program NAME are DIR/NAME.PID. WINDOWS has a line "upgrade BEGIN END" or "check BEGIN END" for each
upgrade, and each question whether one would be taken; times are seconds of the real-time clock. The gap of a program at
a window is the longest of its gaps that overlap it. The table has median, 99th percentile and longest of both kinds, in
ms. Exit status 1: a completion failed, a program was not in all windows, or a gap is longer than MOST_MS beyond that of
the questions.
"""
import glob
import struct
import sys

HEAD = struct.Struct("<5Q")
GAP = struct.Struct("<2Q")
GAPS_MAX = 1 << 20
SHORTEST_MS = 0.1  # shorter ones are not in the files
MOST_MS = 200
LEAST_SEEN = 0.9  # of the windows, at least


def processes(folder, name):
    for path in glob.glob(f"{glob.escape(folder)}/{name}.*"):
        with open(path, "rb") as file:
            completions, failed, num, first, last = HEAD.unpack(file.read(HEAD.size))
            data = file.read(GAP.size * min(num, GAPS_MAX))
        gaps = [(begin / 1e6, end / 1e6) for begin, end in GAP.iter_unpack(data) if end]
        yield {"completions": completions, "failed": failed, "gaps": gaps, "first": first / 1e6, "last": last / 1e6,
               "whole": num <= GAPS_MAX}


def begun(folder, names):
    return all(any(p["completions"] for p in processes(folder, name)) for name in names)


def longest(program, begin, end):
    """The longest gap in ms that overlaps the window; None unless a process had completions before and after it."""
    if not any(p["first"] <= begin and p["last"] >= end for p in program):
        return None
    return max((1e3 * (e - b) for p in program for b, e in p["gaps"] if b < end and e > begin), default=SHORTEST_MS)


def figures(values):
    values = sorted(values)
    return values[len(values) // 2], values[(len(values) * 99 + 99) // 100 - 1], values[-1]


def row(folder, wire, name, windows):
    """Prints a program's line; returns a sentence if something is wrong."""
    program = list(processes(folder, name))
    kinds = {}
    for kind, begin, end in windows:
        kinds.setdefault(kind, []).append(longest(program, begin, end))
    failed = sum(p["failed"] for p in program)
    seen = {kind: [v for v in values if v is not None] for kind, values in kinds.items()}
    if not seen["upgrade"] or not seen["check"]:
        return "no completions before and after any upgrade"
    up, check = figures(seen["upgrade"]), figures(seen["check"])
    print(f"{wire:8} {name:10} {len(seen['upgrade']):8} {sum(p['completions'] for p in program):12} {failed:6}   "
          + " ".join(f"{v:7.1f}" for v in up) + "   " + " ".join(f"{v:7.1f}" for v in check))
    if failed:
        return f"{failed} completions failed"
    # A program that is done has its last completion before the window in which it ends.
    if len(seen["upgrade"]) < LEAST_SEEN * len(kinds["upgrade"]):
        return f"no completions before and after {len(kinds['upgrade']) - len(seen['upgrade'])} upgrades"
    if not all(p["whole"] for p in program):
        return "too many gaps"
    if up[-1] > check[-1] + MOST_MS:
        return f"a gap of {up[-1]:.0f} ms"
    return None


def table(folder, wire, path, names):
    with open(path, encoding="ascii") as file:
        windows = [(kind, float(begin), float(end)) for kind, begin, end in map(str.split, file)]
    wrong = [f"{name}: {why}" for name in names if (why := row(folder, wire, name, windows))]
    for sentence in wrong:
        print(f"{wire}: {sentence}", file=sys.stderr)
    return not wrong


def main():
    what, folder, *rest = sys.argv[1:]
    sys.exit(0 if (begun(folder, rest) if what == "begun" else table(folder, rest[0], rest[1], rest[2:])) else 1)


main()
