# SPDX-License-Identifier: BSD-3-Clause
"""Carries out measurements one after the other, and puts every result into the record.

When a stopped run is taken up again the record answers as far as it reaches.
"""
import time

from prng import MASK, WORKLOAD, Prng
from tool import Failed, Stopped


class Run:
    def __init__(self, target, record, seed, progress=None):
        self.target, self.record, self.seed, self.progress = target, record, seed, progress
        self.stop = False  # set by a signal's handler

    def seed_of(self, number):
        """Measurements have seeds of their own, so that a repeat is no copy. 0 stands for none."""
        return Prng(self.seed, WORKLOAD, number).next() or 1

    def common_seed(self):
        """The seed for measurements that are to differ in their settings alone. No record has so many entries."""
        return self.seed_of(MASK)

    def replay(self, entry):
        record = self.record
        old = record.entries[record.replayed]
        if not old.same_measurement(entry):
            raise Failed("measurement %d of %s is not what this weft-tune would do there: it was made by another "
                         "version; begin anew with another --out" % (record.replayed, record.folder))
        return old

    def measure(self, entry):
        """Makes the measurement that the entry describes. Returns it with its result, its times and its seed."""
        record = self.record
        if self.stop:
            raise Stopped
        entry.seed = entry.seed or self.seed_of(record.replayed)
        if record.replayed < len(record.entries):
            entry = self.replay(entry)
        else:
            entry.result, entry.took_s = self.target.measure(entry.setting, entry.metrics, entry.effort, entry.seed)
            entry.when_s = time.time()
            record.add(entry)
            if self.progress:
                self.progress.step(len(record.entries), entry)
        record.replayed += 1
        return entry
