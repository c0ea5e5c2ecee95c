# SPDX-License-Identifier: BSD-3-Clause
"""The line on the terminal that says how far a run is, and how long it will take still."""
import math
import os
import time

from space import METRICS, OBJECTIVES, cost

BAR_CHARS = 24
COLUMNS = 79  # where the terminal does not say
AGAIN_S = 0.1  # between two drawings


def time_text(seconds):
    whole = int(seconds + 0.5)
    if whole >= 3600:
        return "%d h %02d min" % (whole // 3600, whole // 60 % 60)
    return "%d:%02d" % (whole // 60, whole % 60)


class Progress:
    def __init__(self, out, expected, first):
        """out: the terminal, or None. expected: measurements in all. first: those that the record held already."""
        self.out, self.expected, self.first = out, expected, first
        self.columns = COLUMNS
        self.begin_s, self.shown_s = time.monotonic(), -math.inf
        self.chars = 0  # of the line that stands there
        self.search = ("random", "latency")
        self.phase = "search"
        self.best = math.nan
        if out:
            try:
                self.columns = max(os.get_terminal_size(out.fileno()).columns - 1, 20)
            except OSError:
                pass  # no terminal: the usual width

    def text(self, num, elapsed_s):
        every = max(num, self.expected)
        full = num * BAR_CHARS // every if every else 0
        left = "-"
        if num > self.first:
            left = time_text(elapsed_s * (every - num) / (num - self.first))
        unit = METRICS[OBJECTIVES[self.search[1]][0]].unit
        best = "" if math.isnan(self.best) else ", best %.4g %s" % (self.best, unit)
        return "[%s] %d/%d, %s left: %s %s %s%s" % ("#" * full + "." * (BAR_CHARS - full), num, every, left,
                                                    *self.search, self.phase, best)

    def step(self, num, entry):
        """A measurement was made, the num-th of all. Draws at most ten times a second."""
        if self.search != (entry.method, entry.objective):
            self.best = math.nan
        self.search, self.phase = (entry.method, entry.objective), entry.phase
        metric = OBJECTIVES[entry.objective][0]
        value = entry.value(metric)
        if not math.isnan(value) and not cost(metric, value) >= cost(metric, self.best):
            self.best = value
        now_s = time.monotonic()
        if not self.out or now_s < self.shown_s + AGAIN_S:
            return
        self.shown_s = now_s
        text = self.text(num, now_s - self.begin_s)[:self.columns]
        self.out.write("\r" + text.ljust(self.chars))
        self.out.flush()
        self.chars = len(text)

    def end(self):
        """Takes the line away."""
        if self.out and self.chars:
            self.out.write("\r%s\r" % (" " * self.chars))
            self.out.flush()
        self.chars = 0
