# SPDX-License-Identifier: BSD-3-Clause
"""Successive halving (Jamieson and Talwalkar 2016) with variation.

The first rung measures many settings briefly; each further one doubles the effort and keeps the better half, beside
which it tries as many children of the survivors. What is left of the budget goes to the neighbourhood of the best: one
parameter at a time, measured in turn with the best itself, so that luck in one measurement does not last.

It draws where interrupt moderation has its optima: at 0 (a limit off), at 1, at the ends, and evenly in the logarithm. A
setting is never drawn twice, and all that was measured with it counts, weighted by effort.
"""
MAX_RUNGS = 4
LADDER_PERCENT = 60  # of the budget
MAX_FIRST = 100000  # settings of the first rung
TRIES = 32  # to draw a setting that is not known yet
LEADERS = 2  # measured again in every round of the refinement
PROBES = 6  # new ones in such a round
PROBE_KINDS = 8
FRONT = 16  # of several objectives: parents of the new ones


def first_rung(ladder, rungs):
    """How large the first rung can be with this many measurements for the ladder."""
    # n at first, then n / 2^r survivors and as many children: n (3 - 2^(2 - rungs)).
    return min(max(int(ladder / (3 - 2.0 ** (2 - rungs))), 2), MAX_FIRST)


def known_settings(space, start):
    """The settings that one would try by hand: the initial one, nothing moderated, each kind alone; none with --start random."""
    if start.kind == "random":
        return []
    return [space.base] + [space.base.having({i: value(i) for i in space.params})
                           for value in (lambda i: 0, lambda i: 1, lambda i: space.highest[i])]


def vary(search, parents):
    """A few parameters of a parent, or of a cross of two, changed."""
    space, prng = search.space, search.prng
    a = parents[prng.below(len(parents))].setting
    b = parents[prng.below(len(parents))].setting
    cross = prng.below(2)
    child = list(a.param)
    for i in range(len(child)):
        kind = prng.below(100)
        if i not in space.params:
            continue
        if cross and prng.below(2):
            child[i] = b.param[i]
        if prng.below(2 * len(space.params)) >= 3:  # 1.5 parameters on average
            continue
        value = child[i]
        if kind < 40:
            value = int(value * 4.0 ** (prng.below(2001) / 1000 - 1))
        elif kind < 60:
            value += prng.below(space.highest[i] // 8 + 2) - space.highest[i] // 16 - 1
        else:
            value = space.draw_value(prng, i)
        child[i] = space.clamp(i, value, 0)
    return a._replace(param=tuple(child))


def draw_new(search, known, parents, num):
    """New candidates, at most num: children of the parents; without parents the known settings, then drawn ones."""
    fresh = []
    for _ in range(num):
        for _ in range(TRIES):
            if parents:
                setting = vary(search, parents)
            else:
                setting = known.pop(0) if known else search.space.draw_mixed(search.prng)
            if not search.find(setting):
                fresh.append(search.add(setting))
                break
    return fresh


def ladder(search, first, rungs):
    """The rungs. Returns the candidates of the last one, the best first, and whether the budget ended it."""
    rung, over = draw_new(search, known_settings(search.space, search.plan.start), [], first), False
    for r in range(rungs):
        if r:
            survivors = max(first >> r, 1)
            rung = rung[:survivors]
            rung = rung + draw_new(search, [], rung, survivors)
        over = search.measure(rung, 2.0 ** (r - (rungs - 1)), search.repeats, r)
        rung = search.order(rung)
        if over:
            break
    return rung, over


def probe_value(space, param, value, kind):
    """One of the values worth trying for a parameter that is at value."""
    ends = (0, 1, space.highest[param])
    if kind < len(ends):
        return ends[kind]
    return space.clamp(param, (value // 2, value * 2 + 1, value + 1, value - 1, (value * 5 + 16) // 4)[kind - 3], 0)


def draw_probes(search, leaders):
    """New neighbours of the leaders; fewer where all are known."""
    space, prng, fresh = search.space, search.prng, []
    for _ in range(TRIES):
        if len(fresh) == PROBES:
            break
        if prng.below(3):
            setting = leaders[prng.below(len(leaders))].setting
            param = prng.below(len(space.highest))
            while param not in space.params:
                param = prng.below(len(space.highest))
            kind = prng.below(PROBE_KINDS)
            setting = setting.having({param: probe_value(space, param, setting.param[param], kind)})
        else:
            setting = vary(search, leaders)
        if not search.find(setting):
            fresh.append(search.add(setting))
    return fresh


def refine(search, leaders, step):
    """Rounds at full effort around the best until the budget is used up."""
    over = False
    while not over and leaders:
        round_ = leaders + draw_probes(search, leaders)
        over = search.measure(round_, 1, search.repeats, step)
        leaders = search.order(round_)[:LEADERS]
        step += 1


def well_measured(search):
    """Candidates that were measured with full effort at least once: brief ones may have been lucky."""
    return [c for c in search.cands if c.effort() >= 1] or list(search.cands)


def refine_front(search, step):
    """Rounds of new neighbours of the front, where it is thin first: several objectives have no best to stay with."""
    over = False
    while not over:
        order = search.order(well_measured(search))
        front = [c for i, c in enumerate(order[:FRONT]) if not i or not c.dominated_by]
        fresh = draw_probes(search, front)
        # All are known: the front again.
        over = search.measure(fresh or front, 1, search.repeats, step)
        step += 1


def halving(search):
    budget = search.budget // search.repeats
    # A front needs many that are measured well, not one.
    rungs = 2 if search.objective == "pareto" else MAX_RUNGS if budget >= 60 else 3 if budget >= 24 else 2
    rung, over = ladder(search, first_rung(budget * LADDER_PERCENT // 100, rungs), rungs)
    if not over and search.objective == "pareto":
        refine_front(search, rungs)
    elif not over:
        refine(search, rung[:LEADERS], rungs)
    search.choose(well_measured(search))
