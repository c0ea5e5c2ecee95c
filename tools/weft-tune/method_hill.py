# SPDX-License-Identifier: BSD-3-Clause
"""Hill climbing with restarts. ESPGOAL 6.2.

The first climb begins where the plan says (start.py), further ones at random. A neighbour differs in one parameter by a
step. Neighbours are measured a few at a time, and the climb goes to the best of these few that is better by more than
the noise. The step shrinks where none is; the climb ends when no neighbour is better at the least step, which is 1.
ESPGOAL's climbs wandered in flat regions, where neighbours differ by the noise alone; here they stay, and climbs.py
tells from the record how many places were flat.

With noise a point is measured again beside each group of neighbours, and each several times, since the machine drifts. A
target without noise measures everything once, with one seed: a repeat would be a copy, and a setting that is met again
is looked up.
"""
import math

from start import Start
from stats import deviation, median

AT_A_TIME = 4
LEAST_REPEATS = 3
FIRST_SHARE = 4  # of the range: the first step
LAST_SHARE = 1024  # the last one: a step of 1 in every range
SHRINK = 4  # by which a step without a better neighbour is divided
MAX_CLIMBS = 4096
SAME_SHARE = 0.001  # without noise: a smaller difference comes from the jitter that the seed chose, not from the setting


def margin(value):
    """How far two values may lie apart by the jitter alone, where there is no noise."""
    return SAME_SHARE * abs(value)


def noise(spreads, repeats):
    """How far two medians of repeats measurements may lie apart by noise alone.

    spreads: standard deviations of the settings that were measured together.
    """
    return 2 * median(spreads) * math.sqrt(2.0 / repeats) if spreads else 0.0


class Climber:
    def __init__(self, search):
        self.search, self.metric = search, search.metric
        self.exact = search.run.target.noise_free
        self.repeats = 1 if self.exact else max(search.repeats, LEAST_REPEATS)
        self.step = 0  # of the record; one is left out between two climbs

    def recent(self, cand):
        return median(cand.recent_costs(self.metric, self.repeats))

    def moves(self):
        """All moves of a step in random order: a parameter and a sign."""
        moves = [(i, sign) for i in self.search.space.params for sign in (-1, 1)]
        self.search.prng.shuffle(moves)
        return moves

    def neighbour(self, at, param, sign, share):
        """The neighbour that a move leads to; None at the end of the range."""
        space = self.search.space
        value = at.setting.param[param] + sign * max(space.highest[param] // share, 1)
        setting = at.setting.having({param: space.clamp(param, value, 0)})
        if setting == at.setting:
            return None
        return (self.search.find(setting) if self.exact else None) or self.search.add(setting)

    def margin(self, cands):
        """How much better than the first another has to be."""
        if self.exact:
            return margin(self.recent(cands[0]))
        return noise([deviation(c.recent_costs(self.metric, self.repeats)) for c in cands], self.repeats)

    def look(self, at, near):
        """Measures at and its neighbours. The best that is better by more than the margin, or at; and whether it is over."""
        cands = [at] + near
        # Without noise those alone that no climb has measured yet.
        fresh = [c for c in cands if not c.samples] if self.exact else cands
        if fresh and self.search.measure(fresh, 1, self.repeats, self.step):
            return at, True
        best, to = self.recent(at) - self.margin(cands), at
        for cand in near:
            if self.recent(cand) < best:
                best, to = self.recent(cand), cand
        return to, False

    def try_moves(self, at, share):
        """Looks around with one step. Returns a better neighbour or at, and whether it is over."""
        used, moves, to, over = self.search.used, self.moves(), at, False
        while moves and not over and to is at:
            near = []
            while moves and len(near) < AT_A_TIME:
                cand = self.neighbour(at, *moves.pop(0), share)
                if cand:
                    near.append(cand)
            if not near:
                break
            to, over = self.look(at, near)
        # A step that only looked up is none in the record: numbers are left out between climbs.
        self.step += self.search.used > used
        return to, over

    def climb(self, start):
        """One climb. Returns its end, and whether the budget ended it."""
        search, share, over = self.search, FIRST_SHARE, False
        setting = start.setting(search.space, search.prng)
        at = (search.find(setting) if self.exact else None) or search.add(setting)
        while share <= LAST_SHARE and not over:
            before = at
            at, over = self.try_moves(at, share)
            if at is before:
                share *= SHRINK
        self.step += 1
        return at, over


def hill(search):
    climber, ends, over = Climber(search), [], False
    if climber.exact:
        search.seed = search.run.common_seed()
    while not over and len(ends) < MAX_CLIMBS:
        end, over = climber.climb(Start("random") if ends else search.plan.start)
        ends.append(end)
    search.seed = 0
    search.choose(ends)
