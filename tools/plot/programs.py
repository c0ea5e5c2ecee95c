#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows app_* of build/bench.json (make apps) as the table and the picture of docs/programs.md.

The rows go into docs/pictures/programs.tsv, and from there alone into docs/pictures/programs.svg and between the marks of
docs/programs.md. The picture has the speed beside kernel TCP's, 1 being as fast. Calls gnuplot.

usage: programs.py [--draw-only] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BUILD (build): where bench.json is. Exit status 0, 1 when there are no rows, 2 usage.
"""
import argparse
import json
import os
import sys

from figures import HEAD, gnuplot, measured_on, number, put, read, styles, table, write

BUILD = os.environ.get("WEFT_BUILD", "build")
FIELDS = ("name", "value", "unit", "baseline", "ratio", "min", "max", "vader", "turns", "less_is_better")


def measured(path):
    """The rows of programs, of one set of fields, and the machines and dates that they name."""
    with open(path, encoding="utf8") as f:
        rows = [r for r in json.load(f) if r["name"].startswith("app_")]
    rows.sort(key=lambda r: r["name"])
    on = [" and ".join(sorted({str(r[k])[:end] for r in rows if k in r})) for k, end in
          (("processor", None), ("kernel", None), ("date", len("2026-11-28")))]
    return [{k: r.get(k, "") if k != "less_is_better" else int(r[k]) for k in FIELDS} for r in rows], "%s, Linux %s, %s" % tuple(on)


def speed(row, of="ratio"):
    """How fast beside the kernel's TCP, whichever way the unit goes."""
    return 1 / row[of] if row["less_is_better"] else row[of]


def body(rows):
    for r in rows:
        vader = number(r["vader"]) if r["vader"] != "" else ""
        slow, fast = sorted((speed(r, "min"), speed(r, "max")))
        yield [r["name"][4:], r["unit"], number(r["value"]), number(r["baseline"]), vader,
               "%.2f (%.2f to %.2f)" % (speed(r), slow, fast)]


def picture(folder, rows):
    """A bar each, from the top; the line is the speed of kernel TCP."""
    script = HEAD % "programs"
    script += ("set terminal svg noenhanced size 960,%d dynamic font 'sans-serif,13' background rgb 'white'\n" % (90 + 22 * len(rows))
               + "set key off\nset style fill solid 0.8\nset xlabel 'speed, kernel TCP = 1'\nset xrange [0:*]\n"
               + "set yrange [-0.7:%g]\nset grid noy\nset arrow from 1,graph 0 to 1,graph 1 nohead lc rgb '#c03020' lw 2 front\n"
               % (len(rows) - 0.3))
    names = ", ".join("'%s' %d" % (r["name"][4:], len(rows) - 1 - i) for i, r in enumerate(rows))
    data = "".join("%g %d\n" % (speed(r), len(rows) - 1 - i) for i, r in enumerate(rows))
    script += "set ytics (%s)\n$d << EOD\n%sEOD\n" % (names, data)
    script += styles(1) + "plot $d using (0):2:(0):1:($2-0.35):($2+0.35) with boxxyerror ls 1\n"
    gnuplot(folder, "programs", script)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--draw-only", action="store_true", help="from docs/pictures/programs.tsv, not from bench.json")
    p.add_argument("docs", nargs="?", default="docs")
    args = p.parse_args()
    folder = args.docs + "/pictures"
    if not args.draw_only:
        rows, on = measured(BUILD + "/bench.json")
        if not rows:
            print("programs.py: %s/bench.json has no rows of programs: make apps" % BUILD, file=sys.stderr)
            return 1
        write(folder + "/programs.tsv", rows, on)
    rows = read(folder + "/programs.tsv")
    put(args.docs + "/programs.md", "programs", measured_on(folder + "/programs.tsv") +
        table(["program", "", "weft", "kernel TCP", "shared memory", "speed, TCP = 1 (least to greatest)"], body(rows)))
    picture(folder, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
