# SPDX-License-Identifier: BSD-3-Clause
"""Conclusions about one search: its best setting, and how sure that is; for several objectives the front."""
import math

import climbs
import pareto
import record as records
from choices import choices
from space import OBJECTIVES, cost
from stats import Differ, mann_whitney, median

ALPHA = 0.001  # ESPGOAL's level
FRONT_NOISE = 0.02  # differences below this share are taken for noise when the front is made
# Two settings are alike when the test sees nothing at this level, which is strict since the first of several is a lucky
# one, and they lie within this share or twice the spread.
ALIKE_P = 0.01
ALIKE_SHARE = 0.01
FRONT_METRICS = ("lat_us", "irqs_per_s", "bw_10m")


class Versus:
    """How two samples of a metric differ; p is NAN where there is nothing to compare."""

    def __init__(self, a=(), b=()):
        self.differ = mann_whitney(a, b) if len(a) and len(b) else Differ()
        base = abs(median(b))
        self.share = self.differ.shift / base if base else math.nan  # shift by the second's median
        self.distinct = self.differ.p < ALPHA


def by_cost(found, metric):
    """The cheapest first, those without the metric last."""
    def key(choice):
        value = cost(metric, choice.median(metric))
        return (math.isnan(value), 0 if math.isnan(value) else value)
    return sorted(found, key=key)


def front_costs(choice):
    return [cost(m, choice.median(m)) for m in FRONT_METRICS]


def clearly_better(a, b):
    """a is better than b in something by more than the noise, and in nothing worse by more."""
    noise = [FRONT_NOISE * abs(y) for y in b]
    return all(x <= y + n for x, y, n in zip(a, b, noise)) and any(x < y - n for x, y, n in zip(a, b, noise))


def like(a, b):
    """Nothing is between them but the noise: to the user they are one."""
    return all(abs(a.median(m) - b.median(m)) <= FRONT_NOISE * abs(b.median(m)) for m in FRONT_METRICS)


def front_of(found):
    """Choices that no other is better than in all three metrics, by latency.

    Those that one of the front is clearly better than are left out: luck alone brought them. Of some that are alike the
    one that was measured first stays.
    """
    full = [(c, front_costs(c)) for c in found if not any(map(math.isnan, front_costs(c)))]
    counts = pareto.dominated([costs for _, costs in full]) if full else []
    best = [pair for pair, count in zip(full, counts) if not count]
    front = []
    for choice, costs in best:
        if not any(clearly_better(other, costs) for _, other in best) and not any(like(f, choice) for f in front):
            front.append(choice)
    return by_cost(front, "lat_us")


def knee_of(front):
    """The index of the one nearest to the best of everything, each metric by its range on the front."""
    # Latencies and interrupts span decades: twice as much is as bad anywhere.
    axes = [[cost(m, math.log(max(c.median(m), 1e-9))) for c in front] for m in FRONT_METRICS]
    away = [sum(((axis[i] - min(axis)) / (max(axis) - min(axis))) ** 2 for axis in axes if max(axis) > min(axis))
            for i in range(len(front))]
    return away.index(min(away)) if front else 0


class Verdict:
    def __init__(self, plan, method, objective, entries):
        """entries: those of the search, its end included, but not the comparison of optima."""
        self.plan, self.method, self.objective = plan, method, objective
        self.metric = OBJECTIVES[objective][0]
        base = plan.space.base
        self.entries = entries
        searched = self.of_phase(records.SEARCH)
        self.searched, self.finals = len(searched), len(entries) - len(searched)  # measurements
        self.effort = sum((e.effort for e in searched), 0.0)  # of the search, in full measurements
        self.took_s = sum((e.took_s for e in entries), 0.0)
        full = choices([e for e in searched if e.effort >= 1], base)
        # The worst value of the objective's metric in the search at full effort.
        self.worst = max((c.median(self.metric) for c in full if self.metric in c.figures),
                         key=lambda v: cost(self.metric, v), default=math.nan)
        ends = choices(self.of_phase(records.FINAL), base)
        self.verified = bool(ends)  # the choices are from the end
        # Measured in the end, the best first; of the search itself where there was no end.
        self.choices = by_cost(ends or full, self.metric)
        # The reference settings that the end measured, in the order of their phases.
        self.references = [c for phase in records.REFERENCES for c in choices(self.of_phase(phase), base)[:1]]
        # The front of pareto: settings that no other beats by more than the noise, by latency; the knee among them.
        self.front = front_of(full) if objective == "pareto" else []
        self.knee = knee_of(self.front)
        self.choose(searched)
        self.beside_initial()
        self.climbs = climbs.count(searched, self.metric) if method == "hill" else None

    def of_phase(self, phase):
        return [e for e in self.entries if e.phase == phase]

    def final_values(self, setting):
        """Values of the metric that a setting had in the end of the search."""
        return [e.result[self.metric] for e in self.entries
                if e.phase == records.FINAL and e.setting == setting and self.metric in e.result]

    def changes(self, choice):
        return sum(v != b for v, b in zip(choice.setting.param, self.plan.space.base.param))

    def choose(self, searched):
        """Looks for a simpler one among those of the end that cannot be told from the first."""
        # The one to take: of those that cannot be told from the first, which are alike, the one that changes the fewest
        # parameters of the initial setting. Own: the first that the search came upon itself, since the initial one is
        # measured beside it anyway.
        self.chosen, self.own, self.alike = 0, 0, 1
        if not self.verified:
            return
        first = self.choices[0]
        if first.initial and len(self.choices) > 1 and all(e.setting != self.plan.space.base for e in searched):
            self.own = 1
        values = self.final_values(first.setting)
        for i, choice in enumerate(self.choices[1:], 1):
            versus = Versus(self.final_values(choice.setting), values)
            spread = max(first.figure(self.metric).mad, choice.figure(self.metric).mad)
            reach = max(ALIKE_SHARE, 2 * spread / abs(first.median(self.metric) or math.nan))
            if not versus.differ.p >= ALIKE_P or not abs(versus.share) <= reach:
                continue
            self.alike += 1
            if self.changes(choice) < self.changes(self.choices[self.chosen]):
                self.chosen = i

    def beside_initial(self):
        """The best one beside the initial one; p is NAN where that was not measured, or is the best."""
        self.versus_initial = Versus()
        best = self.best()
        if self.verified and best and not best.initial:
            self.versus_initial = Versus(self.final_values(best.setting), self.final_values(self.plan.space.base))

    def best(self):
        """The search's best: the chosen one, of pareto the knee; None: nothing was measured."""
        if self.objective == "pareto":
            return self.front[self.knee] if self.front else None
        return self.choices[self.chosen] if self.choices else None

    def own_best(self):
        """The best setting that the search came upon itself."""
        if self.objective == "pareto" or not self.choices:
            return self.best()
        return self.choices[self.own]

    def initial_choice(self):
        return next((c for c in self.choices if c.initial), None)
