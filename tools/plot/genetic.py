#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make tuning-genetic: the genetic searches of ESPGOAL 6.2 with its population of 500, beside a small one; a table and
pictures of docs/tuning.md.

Both are weft-tune's on simulated machines as ESPGOAL's. The small one is that of make tuning-tables. A search that was
stopped goes on from its record in FOLDER/genetic-OBJECTIVE; one that is whole is not measured again. Figures go into
docs/pictures/tuning_populations.tsv, and from there alone into table and pictures.

usage: genetic.py [--draw-only | --take] [--work FOLDER] [DIR]     DIR: the docs folder (docs)
--take measures nothing and takes what the records have. Environment: WEFT_BIN (where the programs are). Exit status 0,
1 when a run failed, 2 usage.
"""
import argparse
import csv
import itertools
import os
import statistics
import subprocess
import sys

import tuning
from figures import draw, number, pick, put, read, table, write
from nics import BIN

FULL = 500
SMALL = 57  # what weft-tune makes of tuning.BUDGET
GENERATIONS = 50  # after the first population
FINALS = 90  # measurements behind the search (tools/weft-tune/study.py)
SHOWN = (0, 1, 2, 3, 5, 10, 20, 30, 40, 50)
METRIC = {"latency": "lat_us", "bandwidth": "bw_10m"}
UNIT = {"latency": "us", "bandwidth": "MB/s"}
PAPER = {"latency": 22.930, "bandwidth": 119.35}  # the best of generation 50


def measure(folder, objective):
    """The search with 500, from where its record ends."""
    if os.path.exists(folder + "/result.json"):
        return
    words = ["--resume", folder] if os.path.exists(folder + "/measurements.csv") else [
        "--sim=espgoal", "--method", "genetic", "--objective", objective, "--budget",
        str(FULL * (GENERATIONS + 1) + FINALS), "--seed", "1", "--out", folder]
    if subprocess.run([BIN + "/weft-tune", *words], check=False).returncode:
        sys.exit("genetic.py: weft-tune %s failed" % " ".join(words))


def generations(path, objective, population):
    """A row for each generation that is whole."""
    with open(path, encoding="utf8") as f:
        found = [(int(r["step"]), float(r[METRIC[objective]])) for r in csv.DictReader(f)
                 if (r["method"], r["objective"], r["phase"]) == ("genetic", objective, "search")]
    rows = []
    for step, group in itertools.groupby(found, key=lambda s: s[0]):
        values = sorted(v for _, v in group)
        if len(values) < population and step < GENERATIONS:
            break  # stopped within it, or the budget's last part
        low, mid, high = statistics.quantiles(values, n=4)
        rows.append({"objective": objective, "population": population, "generation": step, "best": "%.6g" % (
            values[0] if objective == "latency" else values[-1]), "low": "%.6g" % low, "median": "%.6g" % mid,
                     "high": "%.6g" % high})
    return rows


def line(rows, what):
    return [(r["generation"], r[what], r["low"] if what == "median" else r[what], r["high"] if what == "median" else r[what])
            for r in rows]


def picture(rows, folder, objective):
    series = [("population of %d: %s" % (n, title), line(pick(rows, population=n), what))
              for n in (SMALL, FULL) for what, title in (("best", "best"), ("median", "median, quartiles"))]
    paper = PAPER[objective]
    series.append(("ESPGOAL, best of generation 50", [(x, paper, paper, paper) for x in (0, GENERATIONS)]))
    draw(folder, "tuning_convergence_" + objective,
         "set xlabel 'generation'\nset xrange [-1:51]\nset ylabel '%s'\nset title 'Genetic search for %s'\nset bmargin at screen "
         "0.3\n%s" % (UNIT[objective], objective, "set logscale y\n" if objective == "latency" else ""), series)


def cells(rows, population, generation):
    found = pick(rows, population=population, generation=generation)
    return ["%.5g" % found[0]["best"], number(found[0]["median"])] if found else ["", ""]


def lines(rows):
    body = []
    for objective in METRIC:
        own = pick(rows, objective=objective)
        for g in SHOWN:
            body.append([objective + ", " + UNIT[objective], g] + cells(own, SMALL, g) + cells(own, FULL, g) +
                        ["%.5g" % PAPER[objective] if g == GENERATIONS else ""])
    head = ["", "generation"] + ["population of %d: %s" % (n, what) for n in (SMALL, FULL) for what in ("best", "median")]
    return table(head + ["ESPGOAL: best"], body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", default="build/tuning", help="what weft-tune measured (build/tuning)")
    parser.add_argument("--draw-only", action="store_true", help="from the figures that are there")
    parser.add_argument("--take", action="store_true", help="from the records that are there, whole or not")
    parser.add_argument("docs", nargs="?", default="docs")
    args = parser.parse_args()
    pictures = args.docs + "/pictures"
    path = pictures + "/tuning_populations.tsv"
    if not args.draw_only:
        rows = []
        for objective in METRIC:
            folder = "%s/genetic-%s" % (args.work, objective)
            if not args.take:
                tuning.study(args.work)
                measure(folder, objective)
            rows += generations(args.work + "/sim/measurements.csv", objective, SMALL)
            rows += generations(folder + "/measurements.csv", objective, FULL)
        write(path, rows)
    rows = read(path)
    for objective in METRIC:
        picture(pick(rows, objective=objective), pictures, objective)
    put(args.docs + "/tuning.md", "tuning_populations", lines(rows))


if __name__ == "__main__":
    main()
