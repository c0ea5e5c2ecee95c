# SPDX-License-Identifier: BSD-3-Clause
"""Conclusions of a record: the best setting of each search, linear models, two optima side by side.

A function of the plan and the entries alone, so that `weft-tune report` makes the same of them at any time, of an
unfinished run too.
"""
import math
from typing import NamedTuple

import record as records
from choices import by_candidate, choices
from space import METRICS, cost
from stats import Fit, fit
from verdict import Verdict, Versus


class Model(NamedTuple):
    """Least squares over the random settings."""
    metric: str
    params: tuple  # of its columns
    fit: Fit


class Comparison:
    """Both genetic optima, of latency and of bandwidth, side by side."""

    def __init__(self, optima, entries):
        self.optima = optima
        self.values = {m: [[e.result[m] for e in group if m in e.result] for group in by_candidate(entries)]
                       for m in METRICS}
        self.versus = {m: Versus(*self.values[m]) for m in METRICS if all(self.values[m])}


class Analysis:
    def __init__(self, plan, entries):
        self.plan, self.entries = plan, entries
        groups, compared = {}, []
        for e in entries:
            if e.phase == records.COMPARE:
                compared.append(e)
            else:
                groups.setdefault((e.method, e.objective), []).append(e)
        self.verdicts = [Verdict(plan, *search, group) for search, group in groups.items()]
        self.models = next(filter(None, map(self.fit_models, self.samples())), [])
        optima = choices(compared, plan.space.base)
        self.comparison = Comparison(optima, compared) if len(optima) == 2 else None

    def samples(self):
        """The verdicts that have random settings."""
        return [v for v in self.verdicts if v.method in ("random", "linear")]

    def sampled(self, verdict):
        """The random settings: of the linear method step 0 is the sample."""
        return choices([e for e in verdict.of_phase(records.SEARCH) if not e.step and e.effort >= 1],
                       self.plan.space.base)

    def fit_models(self, verdict):
        """A linear model of each metric that the random settings measured."""
        params, models, found = self.plan.space.params, [], self.sampled(verdict)
        for metric in METRICS:
            known = [c for c in found if metric in c.figures]
            model = fit([[c.setting.param[i] for i in params] for c in known], [c.median(metric) for c in known])
            if model:
                models.append(Model(metric, params, model))
        return models

    def model(self, metric):
        return next((m for m in self.models if m.metric == metric), None)

    def best(self, objective):
        """The verdict with the best setting for an objective, of all searches for it; None: there is none."""
        found = None
        for v in self.verdicts:
            if v.objective != objective or not v.best() or math.isnan(v.best().median(v.metric)):
                continue
            # A single lucky measurement does not beat what was measured again.
            if found and (v.verified, -self.cost(v)) <= (found.verified, -self.cost(found)):
                continue
            found = v
        return found

    @staticmethod
    def cost(verdict):
        return cost(verdict.metric, verdict.best().median(verdict.metric))
