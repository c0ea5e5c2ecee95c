# SPDX-License-Identifier: BSD-3-Clause
"""A search: one method for one objective within a budget of measurements.

The methods (method_*.py) decide which settings are measured with what effort. This module interleaves and counts,
remembers every candidate with all that was measured with it, and makes the end of a search. ESPGOAL 6.2.
"""
import math
from typing import NamedTuple

import pareto
import record as records
from method_genetic import genetic
from method_halving import halving
from method_hill import hill, noise
from method_random import grid, linear, random
from plan import METHODS
from prng import DRAW, Prng
from record import Entry
from space import HOST_METRICS, OBJECTIVES, cost, in_order
from stats import deviation, median, weighted_median

SIMPLIFY_REPEATS = 3
FINALS_PERCENT = 27  # of a budget, at most, for the finals and what is measured beside
CARRY_OUT = {"random": random, "linear": linear, "hill": hill, "genetic": genetic, "halving": halving, "grid": grid}


class Candidate:
    """A setting, and what was measured with it."""
    __slots__ = ("id", "setting", "reference", "samples", "cost", "dominated_by", "crowding")

    def __init__(self, number, setting, reference=None):
        self.id, self.setting = number, setting
        self.reference = reference  # the phase of that reference; None: it is none
        self.samples = []  # pairs of effort and result
        # Set by Search.order(): costs to be made small, NAN where not measured; candidates that are better in all;
        # the distance of its neighbours on its front.
        self.cost, self.dominated_by, self.crowding = [], 0, 0.0

    def value(self, metric):
        """Median of a metric, weighted by effort; NAN: not measured."""
        known = [(result[metric], effort) for effort, result in self.samples if metric in result]
        return weighted_median([v for v, _ in known], [w for _, w in known])

    def effort(self):
        """Sum of the efforts with which it was measured."""
        return sum(effort for effort, _ in self.samples)

    def recent_costs(self, metric, num):
        """Costs of the last num samples."""
        return [cost(metric, result.get(metric, math.nan)) for _, result in self.samples[-num:]]


class Finals(NamedTuple):
    """The part of a budget that is kept for the end."""
    cands: int
    repeats: int = 0
    initial: bool = False  # the initial setting is measured beside them
    references: int = 0
    simplify: int = 0  # measurements for finding out which parameters the best one need not change

    def measurements(self):
        return (self.cands + self.initial + self.references) * self.repeats + self.simplify


def plan_finals(budget, params, references):
    """How the end is planned for a budget, with so many parameters, and references to measure."""
    simplify = (params + 1) * SIMPLIFY_REPEATS
    for cands, repeats, initial in ((5, 7, True), (3, 5, True), (2, 3, True), (2, 2, True), (2, 1, True), (1, 1, True),
                                    (1, 1, False)):
        finals = Finals(cands, repeats, initial, references)
        if finals.measurements() > budget * FINALS_PERCENT // 100:
            continue
        return finals._replace(simplify=simplify) if cands > 2 and simplify <= budget // 8 else finals
    return Finals(1)


class Search:
    def __init__(self, run, plan, method, objective, budget):
        """Draws from the plan's seed."""
        self.run, self.plan, self.space = run, plan, plan.space
        self.method, self.objective = method, objective
        self.metric = OBJECTIVES[objective][0]
        # Every measurement of the search makes these.
        host = [m for m in HOST_METRICS if objective == "cpu" and m in run.target.metrics]
        self.metrics = in_order((*OBJECTIVES[objective], *plan.also, *host))
        self.repeats = plan.repeats
        self.budget, self.used = budget, 0  # of the search, without what is measured in the end
        self.seed = 0  # of all measurements of the method; 0: each has its own
        self.prng = Prng(plan.seed, DRAW, METHODS.index(method) * len(OBJECTIVES) + list(OBJECTIVES).index(objective))
        self.cands = []
        self.known = {}  # the first candidate by setting
        self.finals = []  # the method's best, best first, that are worth measuring again
        self.wanted_finals = 0

    def add(self, setting, reference=None):
        cand = Candidate(len(self.cands), setting, reference)
        self.cands.append(cand)
        self.known.setdefault(setting, cand)
        return cand

    def find(self, setting):
        """The first candidate with this setting; None: there is none yet."""
        return self.known.get(setting)

    def rounds(self, cands, phase, metrics, repeats, effort=1.0, step=0, seed=0, limited=False):
        """Rounds of all candidates in random order. True: the budget, which counts if limited, ended them early."""
        order = list(cands)
        for _ in range(repeats):
            self.prng.shuffle(order)
            for cand in order:
                if limited and self.used >= self.budget:
                    return True
                entry = self.run.measure(Entry(self.method, self.objective, cand.reference or phase, step, cand.id,
                                               len(cand.samples), cand.setting, metrics, effort, seed))
                cand.samples.append((entry.effort, entry.result))
                self.used += 1
        return False

    def measure(self, cands, effort, repeats, step):
        """Measures each of the candidates repeats times, in rounds of random order.

        What drifts in the machine meets all alike so. True: the budget ended it early.
        """
        return self.rounds(cands, records.SEARCH, self.metrics, repeats, effort, step, self.seed, limited=True)

    def order(self, cands):
        """The candidates, the best first: by cost, or by how many dominate them and then where the front is thin."""
        metrics = in_order(OBJECTIVES[self.objective])
        for cand in cands:
            cand.cost = [cost(m, cand.value(m)) for m in metrics]
        if len(metrics) > 1:
            pareto.rank(cands)
            return sorted(cands, key=lambda c: (c.dominated_by, -c.crowding, c.id))
        # Candidates that were not measured go last.
        return sorted(cands, key=lambda c: (1, 0, c.id) if math.isnan(c.cost[0]) else (0, c.cost[0], c.id))

    def choose(self, cands):
        """Makes finals of the best ones of cands that differ."""
        order = self.order(cands)
        self.finals = []
        # A budget that ended before any of these was measured: whatever was.
        if cands is not self.cands and not order[0].samples:
            order[0] = next((c for c in self.cands if c.samples), order[0])
        for cand in order:
            if len(self.finals) == self.wanted_finals:
                break
            if cand.samples and all(f.setting != cand.setting for f in self.finals):
                self.finals.append(cand)

    def simplify(self):
        """Sets single parameters of the best final back to their initial values.

        Those that make no difference beyond the noise are set back together, and the setting that comes of it takes the
        last place of the finals.
        """
        if not self.finals:
            return
        base, best = self.space.base, self.finals[0]
        changed = [i for i, value in enumerate(best.setting.param) if value != base.param[i]]
        cands = [best] + [self.add(best.setting.having({i: base.param[i]})) for i in changed]
        self.rounds(cands, records.SIMPLIFY, self.metrics, SIMPLIFY_REPEATS)
        costs = [c.recent_costs(self.metric, SIMPLIFY_REPEATS) for c in cands]
        worst = median(costs[0]) + noise([deviation(c) for c in costs], SIMPLIFY_REPEATS)
        simple = best.setting.having({i: base.param[i] for i, c in zip(changed, costs[1:]) if median(c) <= worst})
        # Nothing to gain when it is known already, by which way ever.
        if any(f.setting == simple for f in self.finals):
            return
        self.finals = self.finals[:self.wanted_finals - 1] + [self.add(simple)]

    def measure_finals(self, finals):
        """Measures the finals beside the initial setting and the references, all metrics, in rounds."""
        base, cands = self.space.base, list(self.finals)
        if finals.initial and all(c.setting != base for c in cands):
            cands.append(self.add(base))
        if finals.references:
            cands += [self.add(records.reference(phase, base), phase) for phase, (_, mode) in records.REFERENCES.items()
                      if mode in self.run.target.modes]
        self.rounds(cands, records.FINAL, self.run.target.metrics, finals.repeats)

    def compare(self, settings, num):
        """Settings side by side, num times each, in random order within each round."""
        metrics = [m for o in ("latency", "bandwidth") for m in OBJECTIVES[o] if m in self.run.target.metrics]
        self.rounds([self.add(s) for s in settings], records.COMPARE, in_order(metrics), num)

    def carry_out(self):
        """The whole: the method, then its finals."""
        finals = plan_finals(self.budget, len(self.space.params), len(self.run.target.modes))
        self.budget -= finals.measurements()
        self.wanted_finals = finals.cands
        CARRY_OUT[self.method](self)
        if finals.simplify and self.objective != "pareto":
            self.simplify()
        self.measure_finals(finals)
