#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The record of weft-tune: what is written reads back bit for bit.

A run that was stopped, or killed in the middle of a line, ends as one that was not. run.json, texts of starts, and the
progress line.
"""
import json
import math
import os
import tempfile
import unittest

from tune_fix import Formula, plan_of, run_of

import plan as plans
import record as records
import start
from progress import Progress
from record import Entry
from search import Search
from space import ADAPTIVE, METRICS, OFF, Setting
from tool import Failed, Stopped

METHODS = ("random", "hill", "genetic", "halving")


class Folders(unittest.TestCase):
    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name


class Lines(unittest.TestCase):
    def test_lines(self):
        entry = Entry("halving", "pareto", "final", 3, 4000000000, 7, Setting(tuple(range(1023, 1015, -1))),
                      ("lat_us", "bw_1m", "overlap"), 0.1, (1 << 64) - 1)
        entry.result = {m: 1 / (i + 3) for i, m in enumerate(METRICS) if i % 2}
        entry.when_s, entry.took_s = 1e9 + 0.125, 0.000001
        line = entry.format(12)
        back = records.parse(line)
        for name in Entry.__slots__:
            self.assertEqual(getattr(back, name), getattr(entry, name))
        # The phase of a reference names its mode.
        entry.phase, entry.setting = "reference-adaptive", Setting(entry.setting.param, ADAPTIVE)
        line = entry.format(12)
        self.assertIn(",reference-adaptive,", line)
        self.assertEqual(records.parse(line).setting, entry.setting)
        # Whatever is missing at the end, or too much there: no entry.
        for bad in [line[:cut] for cut in range(len(line))] + ["a,b,c\n", line[:-1] + ",9\n", line.replace("12", "-1")]:
            self.assertRaises(ValueError, records.parse, bad)

    def test_bytes_are_those_of_printf(self):
        entry = Entry("hill", "cpu", "search", 0, 1, 2, OFF, ("cpu_us_per_msg",), 0.125, 9)
        entry.result, entry.when_s, entry.took_s = {"cpu_us_per_msg": 1 / 3}, 2.0, 0.5
        self.assertEqual(entry.format(4), "4,hill,cpu,search,0,1,2,9,0.125,cpu_us_per_msg,0,0,0,0,0,0,0,0,,,,,,,,"
                                          "0.33333333333333331,,,,2.000,0.500000\n")


class Plans(Folders):
    def test_plans(self):
        folder = self.folder()
        plan = plan_of("grid", "overlap", 12345, params=(0, 7), seed=(1 << 64) - 1, paper=True, also=("overlap",),
                       grid=(0, 1, 1023), start=start.parse("rx-usecs=5,tx-frames-irq=9"))
        plan.params = plan.space.params
        plans.save_json(plans.to_json(plan), folder, plans.RUN)
        self.assertEqual(plans.load(folder), plan)
        path = os.path.join(folder, plans.RUN)
        for text in ('{"method": "magic"}\n', "{\n", "[]", "\xff"):
            with open(path, "w", encoding="latin1") as f:
                f.write(text)
            self.assertRaises(Failed, plans.load, folder)
        os.unlink(path)
        with self.assertRaisesRegex(Failed, "holds no record"):
            plans.load(folder)

    def test_what_is_not_written_is_refused(self):
        root = plans.to_json(plan_of("hill", "latency", 100))
        for key, wrong in (("budget", 0), ("budget", "7"), ("params", []), ("params", ["x"]), ("start", "there"),
                           ("objective", "speed"), ("measurable", "speed"), ("highest", {}), ("repeats", True)):
            with self.assertRaises((KeyError, ValueError, TypeError, AttributeError)):
                plans.from_json({**root, key: wrong})

    def test_old_plans(self):
        """The version before wrote "found" for the initial setting, and no start: its climbs began at random."""
        root = plans.to_json(plan_of("hill", "latency", 100))
        self.assertNotIn("found", root)
        old = json.loads(json.dumps(root))
        old["found"] = old.pop("initial")
        del old["start"]
        want = plans.from_json({**root, "start": "random"})
        self.assertEqual(plans.from_json(old), want)

    def test_starts(self):
        for text in ("initial", "off", "random", "rx-usecs=0", "rx-usecs=5,tx-frames-irq=255"):
            self.assertEqual(start.parse(text).text(), text)
        for text in ("", "here", "rx-usecs", "rx-usecs=", "rx-usecs=1,", "rx-usecs=-1", "rx-usecs=1x", "=4",
                     "rx-usecs=4294967296"):
            self.assertIsNone(start.parse(text))


class Runs(Folders):
    def carry_out(self, plan, target, folder, again=False):
        record = None
        if again:
            record = records.load(folder)
            record.continue_()
        run = run_of(plan, target, folder, record)
        try:
            Search(run, plan, plan.method, plan.objective, plan.budget).carry_out()
        finally:
            run.record.close()
        return run.record

    @staticmethod
    def lines(record):
        return [e.format(i).rsplit(",", 2)[0] for i, e in enumerate(record.entries)]

    def stopped(self, plan, target, folder, after, again=False):
        target.stop_after = after
        self.assertRaises(Stopped, self.carry_out, plan, target, folder, again)
        return len(records.load(folder).entries)

    def test_resumed(self):
        """Stopped several times at different places, torn once: the same end as at one go."""
        for method in METHODS:
            plan, folder, target = plan_of(method, "latency", 120), self.folder(), Formula()
            whole = self.carry_out(plan, Formula(), self.folder())
            self.assertEqual(self.stopped(plan, target, folder, 17), 17)
            # A kill in the middle of a write takes the end off the file.
            path = os.path.join(folder, records.CSV)
            os.truncate(path, os.path.getsize(path) - 5)
            self.assertEqual(self.stopped(plan, target, folder, 90, True), 89)
            target.stop_after = math.inf
            self.assertEqual(self.lines(self.carry_out(plan, target, folder, True)), self.lines(whole))
            # Measured once more: the one that was torn.
            self.assertEqual(target.measured, len(whole.entries) + 1)

    def test_refused(self):
        """A record of other measurements is not gone on with; one that is there is not written over."""
        plan, folder, target = plan_of("random", "latency", 60), self.folder(), Formula()
        self.stopped(plan, target, folder, 20)
        with self.assertRaisesRegex(Failed, "--resume"):
            records.create(folder, plan)
        plan.seed += 1
        target.stop_after = math.inf
        with self.assertRaisesRegex(Failed, "made by another version"):
            self.carry_out(plan, target, folder, True)
        path = os.path.join(folder, records.CSV)
        with open(path, "a", encoding="utf8") as f:
            f.write("no,measurement\n1,2\n")
        with self.assertRaisesRegex(Failed, "line 22"):
            records.load(folder)
        with open(path, "w", encoding="utf8") as f:
            f.write("other,columns\n")
        with self.assertRaisesRegex(Failed, "columns"):
            records.load(folder)
        self.assertRaises(Failed, records.create, "/dev/null/x", plan)


class Line(unittest.TestCase):
    def test_progress(self):
        p = Progress(None, 200, 0)
        p.search, p.best = ("halving", "latency"), 12.5
        self.assertEqual(p.text(50, 10), "[######..................] 50/200, 0:30 left: halving latency search, best 12.5 us")
        # Measurements that the record held already take no time.
        p.first = 40
        self.assertIn("2:30 left", p.text(50, 10))
        self.assertIn("201/201, 0:00 left", p.text(201, 10))
        p.first, p.expected = 0, 1000000
        self.assertIn("55 h 33 min left", p.text(50, 10))


if __name__ == "__main__":
    unittest.main()
