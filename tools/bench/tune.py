# SPDX-License-Identifier: BSD-3-Clause
"""The groups tune_*: the result of weft-tune with successive halving, compared with the best of
all combinations of a grid, of which it may measure a tenth. In the simulator, so that
nothing depends on the machine: a window is a seed of the tuner. Each objective runs on the
machine whose initial setting is far from the best: latency and bandwidth on ESPGOAL's, whose
driver sets rx-usecs 20, overlap and processor time on weft's, where nothing is moderated.
"""
import json
import os
import shutil

from harness import BIN, CLIENT_CPU, Failed, run, windows_row

PARAMS = "rx-usecs,rx-frames,tx-usecs,tx-frames"
GRID = "0,2,20,200"
SETTINGS = 4 ** 4
OBJECTIVES = {  # machine, metric, unit, at least or at most so much of the sweep's best
    "latency": ("espgoal", "lat_us", "us", "<= 1.05"),
    "bandwidth": ("espgoal", "bw_10m", "MB/s", ">= 0.95"),
    "overlap": ("weft", "overlap", "share", ">= 0.95"),
    "cpu": ("weft", "cpu_us_per_msg", "us", "<= 1.05"),
}


def tuned(env, objective, *options):
    """The metric's median of the best setting, measured again, and the number of measurements."""
    machine, metric, _, _ = OBJECTIVES[objective]
    out = os.path.join(env.dir, "tune")
    shutil.rmtree(out, ignore_errors=True)
    run(BIN + "/weft-tune", "--sim=" + machine, "--objective", objective, "--params", PARAMS, "--quiet", "--out", out,
        *options, cpu=CLIENT_CPU, timeout=600)
    with open(os.path.join(out, "result.json")) as f:
        result = json.load(f)
    return result["best"][objective]["metrics"][metric]["median"], result["measurements"]


def gap(objective):
    def measure(env):
        base, _ = tuned(env, objective, "--method", "grid", "--grid", GRID)
        values = []
        for seed in range(1, env.args.windows + 1):
            value, used = tuned(env, objective, "--method", "halving", "--budget", SETTINGS // 10, "--seed", seed)
            if used > SETTINGS / 10:
                raise Failed("%d measurements are more than a tenth of %d" % (used, SETTINGS))
            values.append(value)
        return [windows_row("tune_%s_gap" % objective, OBJECTIVES[objective][2], values, [base] * len(values),
                            sweep=SETTINGS, measurements=SETTINGS // 10)]

    return measure


GROUPS = {"tune_" + o: gap(o) for o in OBJECTIVES}
GOALS = {"tune_%s_gap" % o: OBJECTIVES[o][3] for o in OBJECTIVES}
