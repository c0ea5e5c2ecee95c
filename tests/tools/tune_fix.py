# SPDX-License-Identifier: BSD-3-Clause
"""A target of weft-tune that is a formula with noise, for its unit tests: its optima are known.

It can be told to fail or to stop the run. tests/tools/tune_*_ut.py import this module, which also finds the modules of
weft-tune.
"""
import math
import os
import random
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [ROOT + "/tools/weft-tune", ROOT + "/tools/plot"]

from plan import Plan  # noqa: E402
from record import Record, create  # noqa: E402
from run import Run  # noqa: E402
from space import ADAPTIVE, ALL_PARAMS, FIXED, INDEX, TARGET, Setting, Space, in_order  # noqa: E402
from tool import Failed  # noqa: E402

BEST_LATENCY = 20.0
BEST_BANDWIDTH = 117.0
BOUND_US = 1000  # of a count without a time: HW_COALESCE_BOUND_US
HIGHEST = (1023, 255) * 4
INITIAL = Setting((20, 5, 72, 53, 0, 0, 0, 0))
METRICS = in_order(("lat_us", "bw_1m", "bw_10m", "irqs_per_s"))


def value(setting, word):
    return setting.param[INDEX[word]]


class Formula:
    """Stands in for target.Target."""
    metrics, params, highest, initial = METRICS, ALL_PARAMS, HIGHEST, INITIAL
    what = 'a formula, "noisy"'

    def __init__(self, noise=0.01, flat=False, noise_free=False, modes=(FIXED, ADAPTIVE, TARGET)):
        self.noise, self.flat, self.noise_free, self.modes = noise, flat, noise_free, modes
        self.measured = 0
        self.run = None  # that a measurement stops
        self.stop_after = self.fail_after = math.inf
        self.now, self.restored = None, 0  # what apply() set; how often it was put back

    def latency(self, s):
        """One frame waits for its interrupt by the rules of hw_coalesce.h."""
        frames, usecs = value(s, "rx-frames"), value(s, "rx-usecs")
        wait_us = 0 if frames == 1 or frames == usecs == 0 else usecs or BOUND_US
        return BEST_LATENCY + (0 if self.flat else 0.92 * wait_us + 0.002 * (1023 - value(s, "tx-usecs-irq")))

    def bandwidth(self, s):
        """Best with two dozen frames to an interrupt; rx-usecs takes a little."""
        frames = value(s, "rx-frames") or 1
        return BEST_BANDWIDTH - (0 if self.flat else 6 * abs(math.log2(frames / 24)) + 0.02 * value(s, "rx-usecs"))

    def measure(self, setting, metrics, effort, seed):
        if self.measured >= self.fail_after:
            raise Failed("the peer of the formula has died")
        self.measured += 1
        if self.measured == self.stop_after:
            self.run.stop = True
        values = {"lat_us": self.latency(setting), "bw_1m": self.bandwidth(setting) * 0.9,
                  "bw_10m": self.bandwidth(setting), "irqs_per_s": 80000 / (value(setting, "rx-frames") + 1)}
        draw = random.Random(seed)
        return {m: values[m] * (1 + self.noise * draw.gauss(0, 1) / math.sqrt(effort)) for m in metrics}, 0.001

    def apply(self, setting):
        self.now = setting

    def restore(self):
        self.restored += 1

    def close(self):
        pass


def plan_of(method, objective, budget, **more):
    space = Space(more.pop("params", ALL_PARAMS), HIGHEST, INITIAL)
    return Plan(target="fix", method=method, objective=objective, budget=budget, space=space, metrics=METRICS,
                what=Formula.what, command="weft-tune --sim", **more)


def run_of(plan, target, folder=None, record=None):
    record = record or (create(folder, plan) if folder else Record())
    run = Run(target, record, plan.seed)
    target.run = run
    return run
