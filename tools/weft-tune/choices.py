# SPDX-License-Identifier: BSD-3-Clause
"""Entries of a record by candidate: a setting with the figures of all that was measured with it."""
import math
from typing import NamedTuple

from space import METRICS
from stats import mad, median_interval, weighted_median

LEVEL = 0.95  # of intervals


class Figure(NamedTuple):
    """The figures of one metric with one setting."""
    num: int = 0  # 0: nothing, the others NAN
    median: float = math.nan
    mad: float = math.nan
    low: float = math.nan  # the interval of 95 % for the median, or the whole sample where that is too small
    high: float = math.nan


NOTHING = Figure()


class Choice:
    """A setting with all that was measured with it in one phase of a search."""
    __slots__ = ("setting", "phase", "initial", "figures")

    def __init__(self, entries, base):
        self.setting, self.phase = entries[0].setting, entries[0].phase
        self.initial = self.setting == base  # the setting that the target had when the run began
        self.figures = {m: figure(entries, m) for m in METRICS if any(m in e.result for e in entries)}

    def figure(self, metric):
        return self.figures.get(metric, NOTHING)

    def median(self, metric):
        return self.figure(metric).median


def figure(entries, metric):
    """Median weighted by effort, as the search itself judged; spread and interval of the values."""
    known = [(e.result[metric], e.effort) for e in entries if metric in e.result]
    values = [v for v, _ in known]
    return Figure(len(values), weighted_median(values, [w for _, w in known]), mad(values),
                  *median_interval(values, LEVEL))


def by_candidate(entries):
    """Lists of the entries of one candidate, by its number."""
    groups = {}
    for e in entries:
        groups.setdefault(e.candidate, []).append(e)
    return [groups[number] for number in sorted(groups)]


def choices(entries, base):
    """A choice for each candidate among the entries. base: the initial setting."""
    return [Choice(group, base) for group in by_candidate(entries)]
