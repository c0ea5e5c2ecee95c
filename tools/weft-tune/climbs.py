# SPDX-License-Identifier: BSD-3-Clause
"""Places where hill climbing looked around, told apart by the noise that the climb itself allowed for."""
import itertools
import math
from typing import NamedTuple

from choices import by_candidate
from method_hill import margin, noise
from space import cost
from stats import deviation, median


class Climbs(NamedTuple):
    climbs: int = 0  # begun
    places: int = 0  # looked around
    flat: int = 0  # of these, without any visible slope


def is_flat(group, metric):
    """group: the entries of one step, those of a point, which is the oldest candidate, and of its neighbours."""
    samples = [[e.value(metric) for e in entries] for entries in by_candidate(group)]
    allowed = noise([deviation(s) for s in samples], min(map(len, samples)))
    medians = [median(s) for s in samples]
    return len(samples) > 1 and all(abs(m - medians[0]) <= allowed for m in medians[1:])


def count_exact(groups, metric):
    """A climb without noise: each setting is in the record once.

    So a step has the new neighbours of a point that an earlier step measured; in the first of a climb the point is the
    oldest one.
    """
    climbs = flat = 0
    at, last_step = math.nan, None
    for group in groups:
        values = [e.value(metric) for e in group]
        begins = last_step is None or group[0].step > last_step + 1
        last_step = group[0].step
        at = values[0] if begins else at
        best = at
        for value in values:
            if cost(metric, value) < cost(metric, best):
                best = value
        climbs += begins
        flat += all(abs(value - at) <= margin(at) for value in values)
        # The climb went there only when it was worth it.
        if abs(best - at) > margin(at):
            at = best
    return Climbs(climbs, len(groups), flat)


def count(entries, metric):
    """entries: those of the search."""
    ordered = sorted(entries, key=lambda e: (e.step, e.candidate))
    groups = [list(g) for _, g in itertools.groupby(ordered, key=lambda e: e.step)]
    if len(ordered) > 1 and ordered[0].seed == ordered[1].seed:
        return count_exact(groups, metric)
    climbs, newest = 0, -1
    for group in groups:
        # A point that none of the earlier steps had measured begins a climb.
        climbs += group[0].candidate > newest
        newest = max(newest, group[-1].candidate)
    return Climbs(climbs, len(groups), sum(is_flat(g, metric) for g in groups))
