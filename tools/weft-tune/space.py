# SPDX-License-Identifier: BSD-3-Clause
"""The space that weft-tune searches: parameters, metrics and objectives by name; settings, and how they are drawn.

The names are those of tools/weft-measure/tune.h. ESPGOAL figure 6.1, section 6.2.
"""
import math
from typing import NamedTuple

PARAMS = ("rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "rx-usecs-irq", "rx-frames-irq", "tx-usecs-irq",
          "tx-frames-irq")
INDEX = {word: i for i, word in enumerate(PARAMS)}


class Metric(NamedTuple):
    unit: str
    axis: str  # its words beside an axis of a picture, and in a table
    rises: bool  # more is better


# The order is that of the columns in CSV and JSON.
METRICS = {
    # half a round trip of a small message: median
    "lat_us": Metric("us", "latency, us", False),
    "lat_p99_us": Metric("us", "99th percentile of latency, us", False),
    "bw_1m": Metric("MB/s", "bandwidth of 1 MB, MB/s", True),
    "bw_10m": Metric("MB/s", "bandwidth of 10 MB, MB/s", True),
    # of both hosts under bulk of 10 MB
    "irqs_per_s": Metric("1/s", "interrupts a second", False),
    # of the receiver of a stream of messages of 64 KiB, as those below but overlap
    "irqs_per_msg": Metric("", "interrupts a message", False),
    # under bulk of 1 MB
    "overlap": Metric("", "share of time left to computing", True),
    "cpu_us_per_msg": Metric("us", "processor time a message, us", False),
    "wakeups_per_msg": Metric("", "wake-ups a message", False),
    "switches_per_msg": Metric("", "context switches a message", False),
    "softirqs_per_msg": Metric("", "softirqs a message", False),
}
HOST_METRICS = ("wakeups_per_msg", "switches_per_msg", "softirqs_per_msg")  # counted by weft-irqs

# The metrics that a search measures; the first is the one that the objective stands for.
OBJECTIVES = {
    "latency": ("lat_us",),
    "bandwidth": ("bw_10m",),
    "overlap": ("overlap",),
    "cpu": ("cpu_us_per_msg",),
    "pareto": ("lat_us", "bw_10m", "irqs_per_s"),
}

# How the limits are chosen. Searches vary FIXED alone; the other modes are reference rows.
FIXED, ADAPTIVE, TARGET = "fixed", "adaptive", "target"
TARGET_TEXT = "target p99=20us"


def in_order(metrics):
    """Names of metrics, each once, in the order of the columns."""
    return tuple(m for m in METRICS if m in metrics)


def cost(metric, value):
    """The quantity to be made small: the metric, or its negative."""
    return -value if METRICS[metric].rises else value


class Setting(NamedTuple):
    """One point of the space: a value for each parameter, 0 for off."""
    param: tuple
    mode: str = FIXED

    def having(self, values):
        """The setting with other values: a dict by index."""
        return self._replace(param=tuple(values.get(i, v) for i, v in enumerate(self.param)))

    def text(self, params):
        """"rx-usecs 5 rx-frames 16 ...", only those of params."""
        return " ".join("%s %d" % (PARAMS[i], self.param[i]) for i in params)


ALL_PARAMS = tuple(range(len(PARAMS)))
OFF = Setting((0,) * len(PARAMS))


class Space(NamedTuple):
    """The part that is searched; parameters that are not in params stay as they are in base."""
    params: tuple  # indices, rising
    highest: tuple
    base: Setting

    def clamp(self, param, value, lowest):
        return min(max(value, lowest), self.highest[param])

    def draw_uniform(self, prng):
        """Uniform over the whole range of figure 6.1, which has no 0."""
        return self.base.having({i: prng.between(1, self.highest[i]) for i in self.params})

    def draw_value(self, prng, param):
        """0, 1, the highest, uniform in the logarithm, or uniform."""
        highest = self.highest[param]
        kind = prng.below(100)
        if kind < 15:
            return 0
        if kind < 25:
            return 1
        if kind < 35:
            return highest
        if kind < 75:
            return self.clamp(param, int(math.exp(prng.share() * math.log(highest + 1))), 1)
        return prng.between(1, highest)

    def draw_mixed(self, prng):
        return self.base.having({i: self.draw_value(prng, i) for i in self.params})
