#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""weft-tune and weft-measure together: the search beside a sweep of everything, in the simulator.

All combinations of a small grid are measured, and successive halving, which may make a third of these measurements, has
to come within 5 % of the best of them. Short measurements, so that it takes seconds; tools/bench/tune.py has the full
ones, a grid of 256 and a tenth, for each objective. And how a target answers to what is wrong.
"""
import os
import unittest

from tune_fix import ROOT

import tool
from plan import Plan
from record import Record
from run import Run
from search import Search
from space import OBJECTIVES, OFF, Space
from target import Target
from tool import Failed, Stopped

GRID = (0, 2, 20, 200)
PARAMS = (0, 1, 2)
SETTINGS = len(GRID) ** len(PARAMS)
SHARE = 3  # of the sweep's measurements the search may make one in so many
EFFORT = 0.05

tool.MEASURE = os.environ.get("WEFT_BIN", ROOT + "/build/san/bin") + "/weft-measure"


class Brief(Target):
    """Target sim, a twentieth of its effort."""
    measured = 0

    def measure(self, setting, metrics, effort, seed):
        self.measured += 1
        return super().measure(setting, metrics, effort * EFFORT, seed)


class Gap(unittest.TestCase):
    def best(self, method, budget):
        target = Brief("sim", "espgoal")
        self.addCleanup(target.close)
        plan = Plan(method=method, budget=budget, grid=GRID, space=Space(PARAMS, target.highest, target.initial))
        search = Search(Run(target, Record(), 1), plan, method, "latency", budget)
        search.carry_out()
        return search.order(search.finals)[0].setting, target.measured

    def test_gap(self):
        sweep, measured = self.best("grid", 2 * SETTINGS)
        self.assertGreaterEqual(measured, SETTINGS)
        few, measured = self.best("halving", SETTINGS // SHARE)
        self.assertTrue(0 < measured <= SETTINGS // SHARE)
        target = Target("sim", "espgoal")
        self.addCleanup(target.close)
        # All measured again, alike.
        sweep, few, first = (target.measure(s, OBJECTIVES["latency"], 0.2, 4711)[0]["lat_us"]
                             for s in (sweep, few, target.initial))
        self.assertLessEqual(few, sweep * 1.05)
        # There was something to find.
        self.assertLess(sweep, first * 0.95)


class Wrong(unittest.TestCase):
    def test_requests(self):
        target = Target("sim", None)
        self.addCleanup(target.close)
        setting = {"setting": dict.fromkeys(("rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "rx-usecs-irq",
                                             "rx-frames-irq", "tx-usecs-irq", "tx-frames-irq"), 0)}
        for wrong in ({}, [], {"setting": {}}, {"setting": {**setting["setting"], "rx-usecs": -1}},
                      {"setting": {**setting["setting"], "mode": "magic"}}, {**setting, "metrics": ["speed"]},
                      {**setting, "metrics": ["lat_us"]}, {**setting, "metrics": ["lat_us"], "effort": 1, "seed": "x"},
                      {**setting, "metrics": ["lat_us"], "effort": 2, "seed": "1"}):
            with self.assertRaisesRegex(Failed, "a request needs"):
                target.ask(wrong)
        with self.assertRaisesRegex(Failed, "the range is 0 to 1023"):
            target.ask({"setting": {**setting["setting"], "rx-usecs": 1024}})
        # It goes on after that.
        self.assertEqual(list(target.measure(OFF, ("lat_us",), EFFORT, 1)[0]), ["lat_us"])

    def test_a_profile_that_is_not_there(self):
        with self.assertRaisesRegex(Failed, "no profile 'nowhere'"):
            Target("sim", "nowhere")

    def test_it_is_stopped_and_dies(self):
        target = Target("sim", None)
        self.addCleanup(target.close)
        target.interrupt()
        with self.assertRaises(Stopped):
            while True:  # until the signal has come
                target.measure(OFF, ("lat_us",), EFFORT, 1)
        target.restore()
        target.process.kill()
        with self.assertRaisesRegex(Failed, "has died"):
            target.restore()


if __name__ == "__main__":
    unittest.main()
