# SPDX-License-Identifier: BSD-3-Clause
"""The record of a run: every single measurement, written to measurements.csv as it goes.

What is shown in the end is made from the record alone. A run that was stopped goes on from it: its methods are carried
out anew, and the record answers what they ask for as far as it reaches. Numbers are written so that they read back bit
for bit.
"""
import errno
import math
import os
import time

import plan as plans
from space import ADAPTIVE, FIXED, METRICS, OBJECTIVES, OFF, PARAMS, TARGET, TARGET_TEXT, Setting
from tool import Failed, reason

CSV = "measurements.csv"
SYNC_S = 1  # between calls of fsync: a power cut loses no more

# Purposes of a measurement. Simplify: the best one with single parameters as they were at first. Compare: two optima
# side by side. References are measured beside the finals, in the same rounds.
SEARCH, SIMPLIFY, FINAL, COMPARE = "search", "simplify", "final", "compare"
REFERENCES = {  # phase: name, in the words of weftctl coalesce; mode
    "reference-off": ("off", FIXED),
    "reference-adaptive": ("adaptive", ADAPTIVE),
    "reference-target": (TARGET_TEXT, TARGET),
}
PHASES = (SEARCH, SIMPLIFY, FINAL, COMPARE, *REFERENCES)

HEADER = ",".join(("number", "method", "objective", "phase", "step", "candidate", "repeat", "seed", "effort",
                   "measured", *PARAMS, *METRICS, "unix_time_s", "took_s")) + "\n"


def reference(phase, base):
    """The setting of a reference, for a target whose limits are base's: these stand beside a mode."""
    mode = REFERENCES[phase][1]
    return OFF if mode == FIXED else Setting(base.param, mode)


def whole(field, bits):
    if not field.isascii() or not field.isdigit() or int(field) >> bits:
        raise ValueError
    return int(field)


class Entry:
    """One measurement."""
    __slots__ = ("method", "objective", "phase", "step", "candidate", "repeat", "setting", "metrics", "effort", "seed",
                 "result", "when_s", "took_s")

    def __init__(self, method, objective, phase, step, candidate, repeat, setting, metrics, effort, seed=0):
        self.method, self.objective, self.phase = method, objective, phase
        self.step = step  # generation, rung, step of a climb
        self.candidate = candidate  # within its search
        self.repeat = repeat
        self.setting = setting
        self.metrics = metrics  # that are measured
        self.effort = float(effort)  # how much of a full measurement, above 0, 1 at most
        self.seed = seed  # 0: one of its own
        self.result = {}  # by metric; what was not measured is not there
        self.when_s = self.took_s = 0.0

    def value(self, metric):
        return self.result.get(metric, math.nan)

    def same_measurement(self, other):
        names = self.__slots__[:-3]
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def format(self, number):
        """The line of the CSV file, with its end."""
        results = ["%.17g" % self.result[m] if m in self.result else "" for m in METRICS]
        return ",".join(map(str, (
            number, self.method, self.objective, self.phase, self.step, self.candidate, self.repeat, self.seed,
            "%.17g" % self.effort, "+".join(self.metrics), *self.setting.param, *results, "%.3f" % self.when_s,
            "%.6f" % self.took_s))) + "\n"


def parse(line):
    """The entry of a line. ValueError: the line is no whole entry."""
    fields = line[:-1].split(",")
    if line[-1:] != "\n" or len(fields) != 10 + len(PARAMS) + len(METRICS) + 2:
        raise ValueError
    method, objective, phase = fields[1:4]
    if method not in plans.METHODS or objective not in OBJECTIVES or phase not in PHASES:
        raise ValueError
    whole(fields[0], 64)
    mode = REFERENCES[phase][1] if phase in REFERENCES else FIXED
    param = tuple(whole(f, 32) for f in fields[10:10 + len(PARAMS)])
    entry = Entry(method, objective, phase, *(whole(f, 32) for f in fields[4:7]), Setting(param, mode),
                  plans.metrics_from_text(fields[9]), float(fields[8]), whole(fields[7], 64))
    results = fields[10 + len(PARAMS):-2]
    entry.result = {m: float(f) for m, f in zip(METRICS, results) if f}
    entry.when_s, entry.took_s = float(fields[-2]), float(fields[-1])
    return entry


class Record:
    """The entries of a run, and their file. Without a folder they are in memory alone."""

    def __init__(self, folder=None):
        self.folder = folder
        self.entries = []
        self.replayed = 0  # entries before this one were taken up again by the run
        self.fd = -1
        self.synced_s = 0.0

    @property
    def path(self):
        return os.path.join(self.folder, CSV)

    def write(self, text):
        data = text.encode()
        try:
            while data:
                data = data[os.write(self.fd, data):]
        except OSError as e:
            raise Failed("%s: cannot be written: %s" % (self.path, reason(e))) from e

    def sync(self):
        self.synced_s = time.monotonic()
        try:
            if self.fd >= 0:
                os.fsync(self.fd)
        except OSError as e:
            # EINVAL: a pipe or a device, which has no disk behind it.
            if e.errno != errno.EINVAL:
                raise Failed("%s: fsync: %s" % (self.path, reason(e))) from e

    def add(self, entry):
        """Appends; on disk within a second, or with sync()."""
        self.entries.append(entry)
        if self.fd < 0:
            return
        # One write for a line: a process that is killed leaves at most the last one torn.
        self.write(entry.format(len(self.entries) - 1))
        if time.monotonic() >= self.synced_s + SYNC_S:
            self.sync()

    def continue_(self):
        """Opens a loaded record for more; cuts off a last line that was not written whole."""
        try:
            with open(self.path, "rb") as f:
                size = sum(len(f.readline()) for _ in range(len(self.entries) + 1))
            self.fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.ftruncate(self.fd, size)
        except OSError as e:
            raise Failed("%s: cannot be written: %s" % (self.path, reason(e))) from e

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def create(folder, plan):
    """A new record in a folder, which is made."""
    record = Record(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise Failed("%s: cannot be made: %s" % (folder, reason(e))) from e
    if os.path.exists(record.path):
        raise Failed("%s holds a record: go on with --resume %s, or give another --out" % (folder, folder))
    plans.save_json(plans.to_json(plan), folder, plans.RUN)
    try:
        record.fd = os.open(record.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as e:
        raise Failed("%s: cannot be made: %s" % (record.path, reason(e))) from e
    record.write(HEADER)
    record.sync()
    return record


def load(folder):
    """A record of a folder. A last line that was not written whole is left out."""
    record = Record(folder)
    try:
        with open(record.path, encoding="utf8", newline="\n") as f:
            lines = f.readlines()
    except (OSError, UnicodeDecodeError) as e:
        raise Failed("%s: cannot be read: %s" % (record.path, e)) from e
    if lines[:1] != [HEADER]:
        raise Failed("%s: its columns are not those of this weft-tune" % record.path)
    for number, line in enumerate(lines[1:], 2):
        try:
            record.entries.append(parse(line))
        except ValueError as e:
            if number == len(lines) and not line.endswith("\n"):
                break
            raise Failed("%s: line %d is no measurement" % (record.path, number)) from e
    return record
