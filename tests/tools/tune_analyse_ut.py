#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""weft-tune's conclusions from a record of a formula, the files that it writes, and apply, which sets the values in them."""
import io
import json
import os
import tempfile
import unittest
from unittest import mock

from tune_fix import BEST_BANDWIDTH, BEST_LATENCY, INITIAL, Formula, plan_of, run_of

import apply
import options
import plan as plans
import record as records
import report
import result
import study
from analysis import Analysis
from record import REFERENCES
from report import marked
from tool import Failed
from verdict import ALPHA


def analysis_of(plan, target, folder=None):
    run = run_of(plan, target, folder)
    study.carry_out(run, plan)
    run.record.close()
    return Analysis(plan, run.record.entries)


class Conclusions(unittest.TestCase):
    def test_better_or_not(self):
        """The best is known to be better than the initial setting; where all is flat, that is said."""
        for flat in (False, True):
            a = analysis_of(plan_of("halving", "latency", 250), Formula(flat=flat))
            self.assertTrue(220 < len(a.entries) <= 250)
            v = a.best("latency")
            self.assertEqual((len(a.verdicts), v.best().initial, v.versus_initial.distinct), (1, flat, not flat))
            # Most of what makes no difference is as it was at first.
            self.assertLessEqual(v.changes(v.best()), 5)
            self.assertIsNone(a.best("cpu"))
            self.assertTrue(v.verified)
            self.assertEqual(v.searched + v.finals, len(a.entries))
            self.assertEqual([c.phase for c in v.references], list(REFERENCES))
            self.assertEqual({c.figure("lat_us").num for c in v.references}, {7})
            # One interrupt for one frame: nothing waits.
            self.assertAlmostEqual(v.references[0].median("lat_us"), BEST_LATENCY, delta=3)
            if not flat:
                self.assertLess(v.versus_initial.share, -0.4)

    def test_models(self):
        """The formula's coefficients come out: 0.92 us per rx-usec, -0.002 per tx-usec-irq."""
        a = analysis_of(plan_of("linear", "latency", 400), Formula(noise=0))
        self.assertEqual([m.metric for m in a.models], ["lat_us"])
        fit = a.models[0].fit
        self.assertAlmostEqual(fit.b[1], 0.92, delta=0.02)
        self.assertLess(fit.p[1], ALPHA)
        self.assertGreater(fit.p[4], ALPHA)
        self.assertGreater(fit.adjusted_r2, 0.9)

    def test_front(self):
        """Nothing of the front is clearly better than another; the knee is good in everything."""
        a = analysis_of(plan_of("halving", "pareto", 400), Formula())
        v = a.verdicts[0]
        self.assertGreater(len(v.front), 2)
        for x, y in zip(v.front, v.front[1:]):
            self.assertLessEqual(x.median("lat_us"), y.median("lat_us"))
            self.assertTrue(x.median("irqs_per_s") > 0.97 * y.median("irqs_per_s") or
                            x.median("bw_10m") < 1.03 * y.median("bw_10m"))
        knee = a.best("pareto").best()
        self.assertIs(knee, v.front[v.knee])
        self.assertLess(knee.median("lat_us"), 2 * BEST_LATENCY)
        self.assertLess(knee.median("irqs_per_s"), 20000)
        self.assertGreater(knee.median("bw_10m"), 0.8 * BEST_BANDWIDTH)

    def test_flat_hills(self):
        for flat in (False, True):
            a = analysis_of(plan_of("hill", "bandwidth", 1000), Formula(noise=0.002, flat=flat))
            hill = a.verdicts[0].climbs
            self.assertTrue(1 <= hill.climbs < hill.places)
            self.assertEqual(hill.flat * 4 > hill.places, flat)

    def test_exact_hills(self):
        """The same without noise, where every setting is in the record once."""
        for flat in (False, True):
            plan = plan_of("hill", "latency", 600, params=(0,))
            hill = analysis_of(plan, Formula(noise=0, flat=flat, noise_free=True)).verdicts[0].climbs
            self.assertTrue(1 < hill.climbs < hill.places)
            self.assertTrue(hill.flat == hill.places if flat else hill.flat * 4 < hill.places)

    def test_nothing(self):
        a = Analysis(plan_of("halving", "latency", 10), [])
        self.assertEqual((a.verdicts, a.models, a.comparison, a.best("latency")), ([], [], None, None))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def text(self, name):
        with open(os.path.join(self.folder, name), encoding="utf8") as f:
            return f.read()

    def test_paper(self):
        """The study of ESPGOAL in small: every part of the record, result and report is there."""
        plan = plan_of("halving", "latency", 500, paper=True, samples=60)
        entries = analysis_of(plan, Formula(), self.folder).entries
        self.assertLessEqual(len(entries), study.expected(plan))
        plan, record = plans.load(self.folder), records.load(self.folder)
        a = Analysis(plan, record.entries)
        self.assertEqual((len(a.verdicts), len(a.models)), (7, 3))
        self.assertEqual([c.figure(m).num for c, m in zip(a.comparison.optima, ("lat_us", "bw_10m"))], [60, 60])
        self.assertFalse(result.is_complete(self.folder, len(entries)))
        # No gnuplot: all but the pictures, and a line that says so.
        result.save(a, True, self.folder)
        with mock.patch.dict(os.environ, PATH=self.folder):
            self.assertIn("gnuplot is missing", report.write(a, True, self.folder))
        self.assertTrue(result.is_complete(self.folder, len(entries)))
        self.assertFalse(result.is_complete(self.folder, len(entries) + 1))
        drawn = os.listdir(self.folder + "/pictures")
        self.assertLessEqual({"scatter.tsv", "generations-bandwidth.gp"}, set(drawn))
        self.assertNotIn("pareto.tsv", drawn)
        for name, parts in (
                ("report.md", ("adjusted R²", "0.9171", "Both optima side by side", "| reference: initial | reference: off "
                               "| reference: adaptive | reference: target p99=20us |")),
                ("pictures/finals.gp", ("'target p99=20us'",)), ("pictures/progress.gp", ("reference: adaptive",)),
                ("measurements.csv", (",reference-target,",)),
                ("report.html", ("a formula, &quot;noisy&quot;", "</html>"))):
            for part in parts:
                self.assertIn(part, self.text(name))
        root = json.loads(self.text("result.json"))
        # The random settings of ESPGOAL have no end, so nothing beside it.
        self.assertEqual([len(s.get("references", [])) for s in root["searches"]], [0] + [3] * 6)
        self.assertEqual(root["searches"][1]["references"][1]["reference"], "adaptive")
        self.assertIn("optima_side_by_side", root)
        summary = report.summary(a, self.folder)
        self.assertTrue(summary.startswith("latency    rx-usecs "))
        self.assertIn("\n           references: initial ", summary)
        self.assertIn(", target p99=20us ", summary)

    def test_apply(self):
        plan, target = plan_of("random", "latency", 80, params=(0, 1)), Formula()
        a = analysis_of(plan, target, self.folder)
        with self.assertRaisesRegex(Failed, "has no result"):
            result.best_of(self.folder, None)
        result.save(a, True, self.folder)
        measurements = json.loads(self.text("measurements.json"))
        self.assertEqual([(m["result"], plans.setting_from_json(m["setting"])) for m in measurements],
                         [(e.result, e.setting) for e in a.entries])
        best, params = result.best_of(self.folder, None)
        self.assertEqual((best, params), (a.best("latency").best().setting, (0, 1)))
        with self.assertRaisesRegex(Failed, "for latency: name one"):
            result.best_of(self.folder, "pareto")
        path, out = self.folder + "/result.json", io.StringIO()
        words = ["apply", path, "--netdev", "eth0", "--peer", "x"]
        apply.apply(options.parse(words + ["--dry-run"]), None, out)
        self.assertIsNone(target.now)
        apply.apply(options.parse(words), lambda kind, name: target, out)
        self.assertIn("eth0: rx-usecs", out.getvalue())
        # A parameter that was not searched stays as it is there, and nothing is put back.
        self.assertEqual(target.now.param, best.param[:2] + INITIAL.param[2:])
        self.assertEqual(target.restored, 0)
        target.highest = (0,) * 8
        with self.assertRaisesRegex(Failed, "is at most 0 there"):
            apply.apply(options.parse(words), lambda kind, name: target, out)
        for text in ("{}", "[]", '{"best": {"latency": {}}}', "{"):
            with open(path, "w", encoding="utf8") as f:
                f.write(text)
            self.assertRaises(Failed, result.best_of, path, "latency")

    def test_marks(self):
        self.assertEqual(marked("a **b** `c*<d>`, **e**"), "a <b>b</b> <code>c*&lt;d&gt;</code>, <b>e</b>")


if __name__ == "__main__":
    unittest.main()
