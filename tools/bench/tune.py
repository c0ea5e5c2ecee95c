# SPDX-License-Identifier: BSD-3-Clause
"""The groups tune_*: how far the result of weft-tune with successive halving is from the best of all
combinations of a grid, of which it may measure a tenth. In the simulator, so that nothing depends on the
machine: a seed of the tuner takes the place of a window, and each seed counts: the row's value is the
largest gap of all. Each objective runs on the machine whose initial setting is far from the best:
latency and bandwidth on ESPGOAL's, whose driver sets rx-usecs 20, overlap and processor time on weft's,
where nothing is moderated. Halving begins at random (--start random): the settings that one would try by
hand are ends of the range, where an optimum may well be. The grid has the ends of the range of frames
inside; an optimum at its last value, beyond which times may be longer, is named in "edge": the gap may
be larger then than what the grid shows.
"""
import json
import os
import shutil

from harness import BIN, CLIENT_CPU, Failed, run

PARAMS = "rx-usecs,rx-frames,tx-usecs,tx-frames"
GRID = "0,3,20,90,255"
SETTINGS = 5 ** 4
GOAL = "value <= 5"  # percent
OBJECTIVES = {  # machine, metric, whether more is better
    "latency": ("espgoal", "lat_us", False),
    "bandwidth": ("espgoal", "bw_10m", True),
    "overlap": ("weft", "overlap", True),
    "cpu": ("weft", "cpu_us_per_msg", False),
}


def tuned(env, objective, *options):
    """The metric's median of the best setting, measured again, that setting, and the number of measurements."""
    machine, metric, _ = OBJECTIVES[objective]
    out = os.path.join(env.dir, "tune")
    shutil.rmtree(out, ignore_errors=True)
    run(BIN + "/weft-tune", "--sim=" + machine, "--objective", objective, "--params", PARAMS, "--quiet", "--out", out,
        *options, cpu=CLIENT_CPU, timeout=1200)
    with open(os.path.join(out, "result.json")) as f:
        result = json.load(f)
    best = result["best"][objective]
    return best["metrics"][metric]["median"], best["setting"], result["measurements"]


def gap_percent(objective, value, best):
    """How much worse a value is than the best, in percent; below 0: better than all of the grid."""
    return 100 * (1 - value / best if OBJECTIVES[objective][2] else value / best - 1)


def gap_row(objective, gaps, base, setting):
    """The row of these gaps, one for each seed."""
    last = int(GRID.split(",")[-1])
    edge = [name for name in PARAMS.split(",") if name.endswith("usecs") and setting.get(name) == last]
    return {"name": "tune_%s_gap" % objective, "value": max(gaps), "unit": "%", "baseline": 100.0, "ratio": max(gaps) / 100,
            "min": min(gaps) / 100, "max": max(gaps) / 100, "seeds": gaps, "within": sum(g <= 5 for g in gaps),
            "best": base, "edge": edge, "sweep": SETTINGS, "measurements": SETTINGS // 10}


def gap(objective):
    def measure(env):
        base, setting, _ = tuned(env, objective, "--method", "grid", "--grid", GRID)
        gaps = []
        for seed in range(1, env.args.windows + 1):
            value, _, used = tuned(env, objective, "--method", "halving", "--start", "random", "--budget", SETTINGS // 10,
                                   "--seed", seed)
            if used > SETTINGS / 10:
                raise Failed("%d measurements are more than a tenth of %d" % (used, SETTINGS))
            gaps.append(gap_percent(objective, value, base))
        return [gap_row(objective, gaps, base, setting)]

    return measure


GROUPS = {"tune_" + o: gap(o) for o in OBJECTIVES}
GOALS = {"tune_%s_gap" % o: GOAL for o in OBJECTIVES}
