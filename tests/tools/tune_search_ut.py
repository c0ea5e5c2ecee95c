#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Searches of weft-tune on a formula whose optima are known, with noise."""
import itertools
import math
import unittest

from tune_fix import BEST_BANDWIDTH, BEST_LATENCY, METRICS, Formula, plan_of, run_of

import start
from method_genetic import size
from method_random import grid_size
from pareto import rank
from prng import DRAW, Prng
from record import REFERENCES, SEARCH, reference
from search import Candidate, Search
from space import ADAPTIVE, FIXED, INDEX, OFF, Setting
from tool import Failed

METHODS = ("random", "linear", "hill", "genetic", "halving")  # all but grid
QUICK = ("random", "hill", "genetic", "halving")  # those that need no scipy


def search(plan, target):
    """A search to its end: the search, and the entries of its record."""
    run = run_of(plan, target)
    found = Search(run, plan, plan.method, plan.objective, plan.budget)
    found.carry_out()
    return found, run.record.entries


def best_value(method, objective, budget, seed=1, target=None):
    """The true cost or value of the best setting that a search finds."""
    target = target or Formula()
    found, entries = search(plan_of(method, objective, budget, seed=seed), target)
    assert len(entries) == target.measured <= budget
    best = found.order(found.finals)[0].setting
    return target.bandwidth(best) if objective == "bandwidth" else target.latency(best)


def phase(entries, wanted):
    return [e for e in entries if e.phase == wanted]


class Drawing(unittest.TestCase):
    def test_numbers_are_the_simulators(self):
        # sim_harness/sim_prng.c, seed 1, stream 8, index 20
        prng = Prng(1, DRAW, 20)
        self.assertEqual([prng.next() for _ in range(3)],
                         [18118991852675036827, 8800490093301521301, 9827924905063709379])
        self.assertEqual(Prng(1, DRAW, 20).below(0), 0)


class Methods(unittest.TestCase):
    def test_halving_beats_genetic(self):
        """A tenth of the genetic algorithm's measurements, and over the seeds no worse a result."""
        few, many = 0, 0
        for seed in range(1, 4):
            us = best_value("halving", "latency", 261, seed)
            self.assertLessEqual(us, BEST_LATENCY * 1.01)
            few, many = few + us, many + best_value("genetic", "latency", 2640, seed)
            self.assertGreaterEqual(best_value("halving", "bandwidth", 261, seed), BEST_BANDWIDTH * 0.96)
        self.assertLessEqual(few, many)

    def test_small_budgets_are_kept(self):
        for method, budget in itertools.product(METHODS, (1, 2, 5, 10, 20, 40, 60, 100)):
            best_value(method, "latency", budget, 3)
        self.assertLess(best_value("halving", "latency", 40, 3), 24)

    def test_linear_finds_the_corner(self):
        # rx-usecs at 1, tx-usecs-irq high: all that the model can see.
        self.assertLess(best_value("linear", "latency", 250), BEST_LATENCY + 3.1)

    def test_hill(self):
        self.assertLess(best_value("hill", "latency", 600), 200)
        best_value("hill", "latency", 600, target=Formula(flat=True))

    def test_grid(self):
        params = (INDEX["rx-usecs"], INDEX["rx-frames"])
        plan = plan_of("grid", "bandwidth", 1000, params=params, grid=(0, 1, 4, 24, 100, 1000, 2000))
        self.assertEqual(grid_size(plan), 49)
        found, entries = search(plan, Formula())
        best = found.order(found.finals)[0].setting
        self.assertEqual(best.param[1], 24)
        self.assertLessEqual(best.param[0], 4)
        # 1000 and 2000 are one value for frames (255), two for usecs (1000, 1023).
        self.assertEqual(len(phase(entries, SEARCH)), 7 * 6)
        self.assertEqual({e.setting.param[2] for e in entries if e.setting != OFF}, {72})

    def test_genetic_as_in_the_paper(self):
        self.assertEqual([size(n) for n in (25500, 100000, 100)], [(500, 51), (500, 51), (8, 12)])
        _, entries = search(plan_of("genetic", "latency", 5190), Formula())
        self.assertEqual(len(entries), 100 * 51 + 90)
        parents, children = entries[:100], entries[100:200]
        self.assertEqual({e.step for e in children}, {1})
        # Each value is a parent's, or 50 from one at the most.
        away = [min(abs(e.setting.param[i] - p.setting.param[i]) for p in parents) for e in children for i in range(8)]
        self.assertLessEqual(max(away), 50)
        self.assertTrue(0 < sum(map(bool, away)) < len(away) / 5)

    def test_pareto(self):
        """Latency, interrupts and bandwidth pull apart: the front has several settings, none dominated."""
        for method in ("random", "genetic", "halving"):
            found, _ = search(plan_of(method, "pareto", 400), Formula(noise=0))
            self.assertGreater(len(found.finals), 1)
            self.assertEqual([c.dominated_by for c in found.order(found.finals)[:2]], [0, 0])

    def test_ranks(self):
        cands = [Candidate(i, None) for i in range(5)]
        for cand, cost in zip(cands, ([1, 5], [2, 2], [5, 1], [3, 3], [6, 6])):
            cand.cost = cost
        rank(cands[::-1])
        self.assertEqual([c.dominated_by for c in cands], [0, 0, 0, 1, 4])
        self.assertEqual(cands[0].crowding, math.inf)
        self.assertAlmostEqual(cands[1].crowding, 2)

    def test_a_target_that_fails(self):
        target = Formula()
        target.fail_after = 30
        plan = plan_of("halving", "latency", 100)
        run = run_of(plan, target)
        with self.assertRaisesRegex(Failed, "the peer of the formula has died"):
            Search(run, plan, plan.method, plan.objective, plan.budget).carry_out()
        self.assertEqual(len(run.record.entries), 30)


class Climbing(unittest.TestCase):
    """Hill climbing on a target without noise."""

    def entries(self, objective, budget, **more):
        return search(plan_of("hill", objective, budget, **more), Formula(noise=0, noise_free=True))[1]

    def test_begins_where_it_is_told(self):
        for text, wanted in (("initial", Formula.initial), ("off", OFF), ("random", None),
                             ("rx-usecs=300,tx-frames=7", Setting((300, 5, 72, 7, 0, 0, 0, 0)))):
            entries = self.entries("latency", 120, start=start.parse(text))
            begin = next(e for e in entries if not e.candidate).setting
            if wanted:
                self.assertEqual(begin, wanted)
            else:
                self.assertNotIn(begin, (Formula.initial, OFF))

    def test_shrinks_its_steps(self):
        """A climb comes to the top: from quarters of a range down to single steps."""
        entries = phase(self.entries("latency", 250, params=(INDEX["rx-usecs"],)), SEARCH)
        self.assertLessEqual({20 + 1023 // 4, 2}, {e.setting.param[0] for e in entries})
        # 0 would be a count without a time here: 1 ms.
        self.assertEqual(min(entries, key=lambda e: e.result["lat_us"]).setting.param[0], 1)

    def test_repeats_nothing(self):
        """No setting is measured twice by the climbs, and all with one seed."""
        entries = self.entries("bandwidth", 400)
        searched = phase(entries, SEARCH)
        self.assertGreater(len(searched), 200)
        self.assertEqual(len({e.setting for e in searched}), len(searched))
        self.assertEqual({e.seed for e in searched}, {entries[0].seed})
        # The end is measured with seeds of its own: there repeats tell how far seeds matter.
        self.assertNotEqual(entries[-1].seed, entries[0].seed)


class Ends(unittest.TestCase):
    def test_references(self):
        """Every search measures off, adaptive and target as often as its best settings, in their rounds."""
        for method in QUICK:
            plan = plan_of(method, "latency", 300)
            _, entries = search(plan, Formula())
            for name in REFERENCES:
                rows = phase(entries, name)
                self.assertEqual(len(rows), 7)
                self.assertEqual({e.setting for e in rows}, {reference(name, plan.space.base)})
                # All metrics, as of the finals.
                self.assertEqual({e.metrics for e in rows}, {METRICS})
            # In the first round of the end each comes before any comes again.
            for a, b in zip(entries, entries[1:]):
                if a.phase in REFERENCES and b.phase in REFERENCES:
                    self.assertGreaterEqual(b.repeat, a.repeat)

    def test_references_of_few_modes(self):
        """A target without a mode has no row for it, and spends nothing on it."""
        def counts(budget, modes):
            _, entries = search(plan_of("random", "latency", budget), Formula(modes=modes))
            return [len(phase(entries, name)) for name in REFERENCES]

        self.assertEqual(counts(300, (FIXED, ADAPTIVE)), [7, 7, 0])
        # From 15 measurements on there is room for them.
        self.assertEqual(counts(15, Formula().modes), [1, 1, 1])
        self.assertEqual(counts(14, Formula().modes), [0, 0, 0])

    def test_what_is_not_searched_stays(self):
        params = (INDEX["rx-usecs"], INDEX["tx-usecs-irq"])
        for method in METHODS:
            plan = plan_of(method, "latency", 120, params=params)
            for e in search(plan, Formula())[1]:
                for i, v in enumerate(e.setting.param):
                    self.assertLessEqual(v, plan.space.highest[i])
                    # The reference "off" is off in all.
                    if i not in params and e.phase != "reference-off":
                        self.assertEqual(v, plan.space.base.param[i])

    def test_rounds(self):
        """Settings of a round are measured in turn, each once before any comes again."""
        _, entries = search(plan_of("random", "latency", 300, repeats=5), Formula())
        for a, b in zip(entries, entries[1:]):
            if a.phase == b.phase == SEARCH:
                self.assertGreaterEqual(b.repeat, a.repeat)
        self.assertEqual(entries[-1].phase, "final")


if __name__ == "__main__":
    unittest.main()
