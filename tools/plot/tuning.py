#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The study of ESPGOAL 6.2 on weft: runs weft-tune, writes the tables of docs/tuning.md and its pictures.

On simulated machines as ESPGOAL's (random settings, hill climbing, the genetic algorithm, halving, both optima side
by side; hill climbing alone with ten seeds), and random settings on two NICs of a weftd. The records of weft-tune stay
in FOLDER/sim, FOLDER/hill-OBJECTIVE-SEED and FOLDER/device; a record that is whole is not measured again.

usage: tuning.py [--simulated] [--work FOLDER] [--budget N] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

from figures import put, table
from nics import BIN, Nics

PARAMS = ("rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "rx-usecs-irq", "rx-frames-irq", "tx-usecs-irq",
          "tx-frames-irq")
# Coefficients of ESPGOAL 6.2: ping-pong of 0 bytes, us; messages of 1 MB, MB/s.
PAPER = {
    "lat_us": {"constant": 71.327, "rx-usecs": 0.91706, "rx-frames": 0.014864, "rx-usecs-irq": 0.0092267,
               "rx-frames-irq": -0.013831, "tx-usecs": -0.12136, "tx-frames": -0.0057134, "tx-usecs-irq": 0.0003548,
               "tx-frames-irq": -0.019903, "adjusted R2": 0.9109},
    "bw_1m": {"constant": 137.0, "rx-usecs": -0.04591, "rx-frames": -0.2168, "rx-usecs-irq": -0.001064,
              "rx-frames-irq": 0.01056, "tx-usecs": 0.005595, "tx-frames": -0.005291, "tx-usecs-irq": 0.00366,
              "tx-frames-irq": -0.0006843, "adjusted R2": 0.7019},
}
HILL_SEEDS = range(1, 11)
BUDGET = 3000  # of each genetic search: a population of 57
PICTURES = ("scatter", "generations-latency", "generations-bandwidth", "progress", "optima", "coefficients")


# ---- measuring ------------------------------------------------------------------------------

def tune(folder, *options, run=subprocess.run):
    """weft-tune into a folder, unless its result is there."""
    path = folder + "/result.json"
    if not os.path.exists(path):
        shutil.rmtree(folder, ignore_errors=True)
        words = [BIN + "/weft-tune", *options, "--out", folder]
        if run(words).returncode:
            sys.exit("tuning.py: %s failed" % " ".join(words))
    with open(path, encoding="utf8") as f:
        return json.load(f)


def study(work, budget=BUDGET):
    """The whole study, simulated."""
    return tune(work + "/sim", "--sim=espgoal", "--paper", "--budget", str(budget), "--seed", "1")


def on_nics(folder):
    """250 random settings, and the end of the search, on two NICs of a weftd of our own."""
    with Nics(4096) as nics:
        return tune(folder, "--device", "weft0", "--method", "random", "--also", "lat_us,bw_1m,bw_10m", "--budget", "319",
                    run=lambda words: subprocess.run(nics.pin + words, env=nics.env, check=False))


def climb(work):
    """Hill climbing from the initial setting, by objective the results of all seeds."""
    return {o: [tune("%s/hill-%s-%d" % (work, o, seed), "--sim=espgoal", "--method", "hill", "--objective", o, "--budget",
                     "300", "--seed", str(seed), "--quiet") for seed in HILL_SEEDS] for o in ("latency", "bandwidth")}


# ---- pictures -------------------------------------------------------------------------------

POINTS = re.compile(r"(?:[ \t]*<use xlink:href='#gpPt6' transform='translate\([^)]*\) scale\([^)]*\)' "
                    r"color='[^']*'/>\n?){2,}")
POINT = re.compile(r"translate\(([0-9.]+),([0-9.]+)\) scale\([^)]*\)' color='([^']*)'")


def dots(match):
    """Points of one colour as dots of one path: a tenth of the bytes."""
    at = POINT.findall(match.group())
    return "<path fill='none' stroke='%s' stroke-width='2.4' stroke-linecap='round' d='%s'/>\n" % (
        at[0][2], "".join("M%.0f,%.0fh0" % (float(x), float(y)) for x, y, _ in at))


def pictures(work, docs):
    """The same pictures in a fifth of the bytes."""
    for name in PICTURES:
        with open("%s/sim/pictures/%s.svg" % (work, name), encoding="utf8") as f:
            text = POINTS.sub(dots, f.read())
        subprocess.run(["scour", "-q", "--enable-id-stripping", "--shorten-ids", "--remove-metadata", "--strip-xml-prolog",
                        "--enable-comment-stripping", "--indent=none", "--set-precision=4",
                        "-o", "%s/pictures/tuning_%s.svg" % (docs, name.replace("-", "_"))],
                       input=text, text=True, check=True)


# ---- tables ---------------------------------------------------------------------------------

def model(result, metric):
    for m in result["linear_models"]:
        if m["metric"] == metric:
            return m
    sys.exit("tuning.py: weft-tune made no linear model of %s" % metric)


def coefficient(fit, name):
    if name == "adjusted R2":
        return "%.4f" % fit["adjusted_r_squared"]
    c = fit["coefficients"][name]
    text = "%.4g +- %.2g" % (c["coefficient"], c["standard_error"])
    return "**%s**" % text if c["significant"] else text


def models(columns, paper):
    """columns: (title, model), or (title, cells by name)."""
    names = ("constant", *PARAMS, "adjusted R2")
    return table(["", "ESPGOAL"] + [title for title, _ in columns],
                 [[n, "%.4g" % PAPER[paper][n]] + [fit[n] if n in fit else coefficient(fit, n) for _, fit in columns]
                  for n in names])


def kept(page, name):
    """The columns of a table of the page by title, each a dict by the words of the first column."""
    with open(page, encoding="utf8") as f:
        text = f.read()
    text = text[text.index("<!-- table %s -->\n" % name):]
    head, _, *body = [[c.strip() for c in line.split("|")[1:-1]] for line in text.split("\n") if line.startswith("|")]
    body = body[:len(PARAMS) + 2]
    return {title: {r[0]: r[i] for r in body} for i, title in enumerate(head)}


def words(setting):
    return " ".join("%s %d" % (p, setting[p]) for p in PARAMS if setting[p]) or "off"


def figure(objective):
    return ("lat_us", "us") if objective == "latency" else ("bw_10m", "MB/s")


def references(result):
    """Setting for setting the row of each reference, as weft-tune measured it beside the finals; the initial one first."""
    s = result["searches"][0]
    return [("initial", f["metrics"]) for f in s["finals"] if f["is_initial"]] + [
        (r["reference"], r["metrics"]) for r in s["references"]]


def climbs(results):
    """A row for each objective: median, best and worst seed of hill climbing, then the references."""
    body = []
    for objective, runs in results.items():
        metric, unit = figure(objective)
        runs = sorted(runs, key=lambda r: r["best"][objective]["metrics"][metric]["median"], reverse=objective != "latency")
        values = [r["best"][objective]["metrics"][metric]["median"] for r in runs]
        body.append([objective, "%.4g %s" % (values[-1], unit), "%.4g" % (sum(values[4:6]) / 2), "%.4g" % values[0],
                     "`%s`" % words(runs[-1]["best"][objective]["setting"])] +
                    ["%.4g" % m[metric]["median"] for _, m in references(runs[-1])])
    names = [name for name, _ in references(results["latency"][0])]
    return table(["objective", "worst of ten seeds", "median seed", "best seed", "setting of the worst"] +
                 ["reference: " + n for n in names], body)


def searches(result):
    body = []
    for s in result["searches"]:
        metric, unit = figure(s["objective"])
        best = s["best"]["metrics"].get(metric)
        body.append([s["method"], s["objective"], s["measurements"] + s["final_measurements"],
                     "%.4g %s" % (best["median"], unit) if best else "", "`%s`" % words(s["best"]["setting"])])
    return table(["method", "objective", "measurements", "best: median", "setting"], body)


def optima(result):
    both = result["optima_side_by_side"]
    body = []
    for metric, unit in (("lat_us", "latency, us"), ("bw_10m", "bandwidth of 10 MB, MB/s")):
        diff = both["difference"][metric]
        body.append([unit] + ["%.4g (%.4g to %.4g)" % tuple(both[o]["metrics"][metric][k] for k in ("median", "low", "high"))
                              for o in ("latency", "bandwidth")] + ["%+.2f %%" % (100 * diff["share"])])
    return table(["median of 250 (its interval of 95 %)", "optimum for latency", "optimum for bandwidth", "difference"], body)


NICS = ("two NICs of a weftd",), ("two NICs of a weftd, 1 MB", "the same, 10 MB")  # titles of columns


def of_nics(device):
    """The columns of the NICs in both tables of models, measured."""
    return [[(title, model(device, m)) for title, m in zip(titles, metrics)]
            for titles, metrics in zip(NICS, (("lat_us",), ("bw_1m", "bw_10m")))]


def on_page(page):
    """The same as they are on the page."""
    return [[(title, kept(page, name)[title]) for title in titles]
            for titles, name in zip(NICS, ("tuning_latency", "tuning_bandwidth"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", default="build/tuning", help="what weft-tune measured (build/tuning)")
    parser.add_argument("--budget", type=int, default=BUDGET, help="of each genetic search; make tuning-genetic has ESPGOAL's")
    parser.add_argument("--simulated", action="store_true", help="leave out the NICs: their columns stay as they are")
    parser.add_argument("docs", nargs="?", default="docs")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    sim = study(args.work, args.budget)
    page = args.docs + "/tuning.md"
    latency, bandwidth = on_page(page) if args.simulated else of_nics(on_nics(args.work + "/device"))
    put(page, "tuning_latency", models([("simulated, as there", model(sim, "lat_us")), *latency], "lat_us"))
    put(page, "tuning_bandwidth", models([("simulated, 1 MB", model(sim, "bw_1m")), ("simulated, 10 MB", model(sim, "bw_10m")),
                                          *bandwidth], "bw_1m"))
    put(page, "tuning_searches", searches(sim))
    put(page, "tuning_hill", climbs(climb(args.work)))
    put(page, "tuning_optima", optima(sim))
    pictures(args.work, args.docs)


if __name__ == "__main__":
    main()
