# SPDX-License-Identifier: BSD-3-Clause
"""Random search, the optimum of a linear model, and a grid. ESPGOAL 6.2 (250 random settings, least squares)."""
import itertools
import math

from space import cost
from stats import fit

ALPHA = 0.001  # what is significant for a linear model's optimum, as in ESPGOAL's table
LINEAR_OPTIMA = 2  # settings that a model proposes


def sample(search, num, repeats):
    """The whole sample in each round, so that what drifts is spread over all of it."""
    for _ in range(num):
        search.add(search.space.draw_uniform(search.prng))
    return search.measure(search.cands, 1, repeats, 0)


def random(search):
    sample(search, max(search.budget // search.repeats, 1), search.repeats)
    search.choose(search.cands)


def corners(search, best):
    """Settings in a corner, where a linear model is best.

    The first has each parameter at the end that its coefficient names. The second has only those there whose coefficient
    is significant, the others as in the best setting of the sample.
    """
    params = search.space.params
    known = [(c.setting, c.value(search.metric)) for c in search.cands]
    known = [(s, v) for s, v in known if not math.isnan(v)]
    found = fit([[s.param[i] for i in params] for s, _ in known], [v for _, v in known])
    every, significant = {}, {}
    for i, b, p in zip(params, found.b[1:], found.p[1:]) if found else ():
        if math.isnan(b):
            continue
        every[i] = 1 if cost(search.metric, b) > 0 else search.space.highest[i]
        if p < ALPHA:
            significant[i] = every[i]
    return best.having(every), best.having(significant)


def linear(search):
    num = search.budget // search.repeats
    over = sample(search, num - LINEAR_OPTIMA if num > LINEAR_OPTIMA + 1 else 1, search.repeats)
    search.choose(search.cands)
    if over or not search.finals:
        return
    optima = corners(search, search.finals[0].setting)
    search.measure([search.add(s) for s in optima if not search.find(s)], 1, search.repeats, 1)
    search.choose(search.cands)


def grid_size(plan):
    """Combinations that the grid has."""
    return len(plan.grid) ** len(plan.space.params)


def grid(search):
    space = search.space
    # The first parameter varies fastest.
    for values in itertools.product(search.plan.grid, repeat=len(space.params)):
        setting = space.base.having({i: space.clamp(i, v, 0) for i, v in zip(space.params, reversed(values))})
        # Values above a parameter's highest come out as the highest: once is enough.
        if not search.find(setting):
            search.add(setting)
    search.measure(search.cands, 1, search.repeats, 0)
    search.choose(search.cands)
