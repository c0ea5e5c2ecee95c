#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Reasons of the branches that no test takes, by rules and out of a list written by hand.

The list has files, entries and reasons:

    nic_fw/net/udp.c
    udp_rx 1: if (!frame)
    udp_tx 2,5: while (a && b || c)
    	the reason of both entries

An entry is a function, the branches of a line that nothing takes, and the text of that line. The
numbers are those of `gcov -b`: each condition has two, the first one leads to what follows in the
code. An entry holds for its branches alone: another branch of the line is open, and an entry is
stale when all of its branches are taken or its line is no more.
"""

import collections
import glob
import re

ASSERTION = "an assertion: the other way ends the program"
IMPLIED = "no other value: the enum is the firmware's own, -Wswitch has all of it named, and those that may be ran"
FOLLOWS = "never evaluated: the branch that leads here is not taken, and its reason stands there"
OPEN = "open"

Missed = collections.namedtuple("Missed", "file line function text branch reason")


class Listed:
    """The lists: reasons by file, function, text and branch, and which of them were asked for."""

    def __init__(self, paths):
        self.reasons = {}
        self.used = set()
        for path in paths:
            self.read(path)

    def read(self, path):
        entries, name = [], None
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip("\n")
                entry = re.fullmatch(r"(\w+) (\d+(?:,\d+)*): (.*)", line)
                if not line or line.startswith("#"):
                    continue
                if line.startswith("\t"):
                    if not entries:
                        raise ValueError(f"{path}:{number}: a reason without an entry")
                    for key in entries:
                        self.reasons[key] = line.strip()
                    entries = []
                elif entry and name:
                    entries += [(name, entry[1], entry[3], int(i)) for i in entry[2].split(",")]
                elif re.fullmatch(r"nic_fw/\S+", line) and not entries:
                    name = line
                else:
                    raise ValueError(f"{path}:{number}: neither file, entry nor reason")
        if entries:
            raise ValueError(f"{path}: entries without a reason at its end")

    def find(self, *key):
        if key in self.reasons:
            self.used.add(key)
        return self.reasons.get(key)

    def stale(self):
        """Entries no branch of which was missed."""
        used = {key[:3] for key in self.used}
        return sorted({key[:3] for key in self.reasons} - used)


def statement(text, line):
    """The assertion or switch that begins in a line or goes on in it, else the line: (its first line, text)."""
    for first in range(line, max(0, line - 8), -1):
        whole = text[first - 1]
        if first < line and re.search(r"[;{}]\s*$", whole):
            break
        if re.match(r"\s*(assert|switch)\b", whole):
            last = first
            while whole.count("(") > whole.count(")"):
                whole += " " + text[last].strip()
                last += 1
            return first, whole.strip()
    return line, text[line - 1].strip()


def number_of(enum):
    """The last name of an enum of the firmware, which is the number of its values if it ends in S."""
    for path in glob.glob("nic_fw/**/*.[ch]", recursive=True):
        with open(path, encoding="utf-8") as f:
            found = re.search(r"\benum " + enum + r" \{(.*?)\};", f.read(), re.S)
        if found:
            names = re.findall(r"^\s*([A-Z]\w+)", found[1], re.M)
            return names[-1] if names and names[-1].endswith("S") else None
    return None


def cases_missed(text, line, ran, number):
    """
    How many cases of a switch without default did not run, but cannot: the number of values, and
    those that lead to an assertion. None: others did not run, or one may run into the next.
    """
    indent = re.match(r"\s*", text[line - 1])[0]
    end = next(i for i in range(line, len(text)) if text[i].startswith(indent + "}"))
    missed, labels = 0, []
    for n in range(line + 1, end + 1):
        row = text[n - 1]
        label = re.match(indent + r"case (\w+):", row)
        if "fall" in row or re.match(indent + r"default:", row):
            return None
        if label:
            labels.append(label[1])
        elif n in ran and labels:
            if not ran[n] and labels != [number] and "assert(!" not in row:
                return None
            missed += not ran[n]
            labels = []
    return missed


def rule_of(text, line, counts, ran, first_ran):
    """Reasons of a line's missed branches that need no entry."""
    missed = [i for i, count in enumerate(counts) if not count]
    start, whole = statement(text, line)
    if not any(counts) and first_ran:
        return {i: FOLLOWS for i in missed}
    if whole.startswith("assert") and not re.search(r"\|\||\?", whole):
        return {i: ASSERTION for i in missed if counts[i ^ 1]}
    # The macro asserts that the entry is in its chain before each step.
    if whole.startswith("fw_chain_del(") and counts[1]:
        return {0: ASSERTION}
    if whole.startswith("switch"):
        enum = re.match(r"switch \((?:\(enum (\w+)\))?[^&|?]*\) {$", whole)
        if not enum or re.match(r"(wire|hw)_", enum[1] or "") or start != line:
            return {}
        others = cases_missed(text, line, ran, enum[1] and number_of(enum[1]))
        return {i: IMPLIED for i in missed} if others is not None and len(missed) == 1 + others else {}
    # A condition neither way of which was taken is not evaluated.
    pairs = range(0, len(counts) - 1, 2)
    return {i: FOLLOWS for first in pairs for i in (first, first + 1)
            if first_ran and not counts[first] and not counts[first + 1]}


def missed_branches(lines, branches, functions, listed):
    """All branches that none took, each with its reason."""
    rows = []
    for name in sorted(branches):
        with open(name, encoding="utf-8") as f:
            text = f.read().splitlines()
        entered = collections.Counter()
        for line in sorted(lines[name]):
            entered.setdefault(functions[name, line], lines[name][line])
        by_line = collections.defaultdict(dict)
        for (line, i), count in branches[name].items():
            by_line[line][i] = count
        for line in sorted(by_line):
            counts = [by_line[line][i] for i in sorted(by_line[line])]
            if all(counts) or line > len(text):
                continue
            function, here = functions[name, line], text[line - 1].strip()
            reasons = rule_of(text, line, counts, lines[name], entered[function])
            for i, count in enumerate(counts):
                if count:
                    continue
                reason = listed.find(name, function, here, i) or reasons.get(i, OPEN)
                rows.append(Missed(name, line, function, here, i, reason))
    return rows
