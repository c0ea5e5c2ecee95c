# SPDX-License-Identifier: BSD-3-Clause
"""The searches of a plan: one search, or with --paper the whole study of ESPGOAL 6.2.

The study: 250 random settings, hill climbing, the genetic algorithm for latency and for bandwidth, 250 runs of both
optima; and successive halving with a tenth of the genetic algorithm's measurements.
"""
from typing import NamedTuple

from analysis import Analysis
from method_random import grid_size, random
from search import Finals, Search
from space import in_order

SAMPLES = 250
# A population of 50, or ESPGOAL's, 51 generations, and the end.
SMALL_GENETIC = 2550 + 90
PAPER_GENETIC = 25500 + 90
TENTH = 10  # of the genetic algorithm's measurements: what halving gets
BOTH = ("latency", "bandwidth")


class Step(NamedTuple):
    method: str
    objective: str
    budget: int
    metrics: tuple = ()  # none: the objective's
    bare: bool = False  # nothing is measured again in the end
    compare: bool = False  # both genetic optima side by side; budget: measurements of both


def default_budget(plan):
    """The budget where none is given: 250 settings as in ESPGOAL, or 50 generations of 50 (paper: of 500)."""
    if plan.paper:
        return PAPER_GENETIC
    if plan.method == "genetic":
        return SMALL_GENETIC
    if plan.method == "grid":
        return grid_size(plan) * plan.repeats * 5 // 4 + Finals(5, 7, True, 3, 27).measurements()
    return SAMPLES


def steps(plan):
    if not plan.paper:
        return [Step(plan.method, plan.objective, plan.budget)]
    few = plan.budget // TENTH
    metrics = in_order(set(plan.metrics) & {"lat_us", "bw_1m", "bw_10m"})
    return [Step("random", "latency", plan.samples, metrics, bare=True),
            *(Step("hill", o, max(few, plan.samples)) for o in BOTH),
            *(Step("genetic", o, plan.budget) for o in BOTH),
            *(Step("halving", o, few) for o in BOTH),
            Step("genetic", "latency", 2 * plan.samples, compare=True)]


def expected(plan):
    """Measurements in all."""
    return sum(step.budget for step in steps(plan))


def optima(run, plan):
    """The settings that the genetic searches came upon themselves, not the simplest of those like them, as in ESPGOAL."""
    analysis = Analysis(plan, run.record.entries[:run.record.replayed])
    own = {v.objective: v.choices[v.own].setting for v in analysis.verdicts if v.method == "genetic" and v.best()}
    return [own[o] for o in BOTH if o in own]


def carry_out(run, plan):
    for step in steps(plan):
        search = Search(run, plan, step.method, step.objective, step.budget)
        search.metrics = step.metrics or search.metrics
        if step.compare:
            settings = optima(run, plan)
            if len(settings) == len(BOTH):
                search.compare(settings, step.budget // 2)
        elif step.bare:
            random(search)
        else:
            search.carry_out()
