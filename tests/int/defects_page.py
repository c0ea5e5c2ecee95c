#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/defects.md: each test that it names exists, with the case or the word behind it. A made-up one is found."""
import os
import re
import sys

# A test, and the words behind it: `pair/rd_rx_ut`: `first`, `second`
NAMED = re.compile(r"`([a-z_]+(?:/[a-z_]+)*/[a-z0-9_]+)`(?:: ((?:`[^`]+`(?:, )?)+))?")


def sources(test):
    """The files of a test: a script has its programs in files of its name."""
    return [p for p in ("tests/%s.%s" % (test, ext) for ext in ("c", "sh", "py")) if os.path.exists(p)]


def wrong_in(line):
    """Returns the tests and words of a row that do not exist; also a row without any."""
    last = line.rstrip().rstrip("|").rsplit("|", 1)[1]
    named = NAMED.findall(last)
    if not named:
        return ["no test: " + line.strip()]
    wrong = []
    for test, words in named:
        text = ""
        for path in sources(test):
            with open(path, encoding="utf8") as f:
                text += f.read()
        if not text:
            wrong.append("no test " + test)
        for word in re.findall("`([^`]+)`", words):
            there = "UT(%s)" % word if os.path.exists("tests/%s.c" % test) and test.endswith("_ut") else word
            if there not in text:
                wrong.append("%s has no %s" % (test, word))
    return wrong


def rows(page):
    return [line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| what", "| seeds"))]


with open("docs/defects.md", encoding="utf8") as f:
    lines = rows(f.read())
found = [w for line in lines for w in wrong_in(line)]
for false in ("| x | `pair/nothing_ut` |", "| x | `sim/rd_errors_ut`: `link_up` |", "| x | y |"):
    if not wrong_in(false):
        found.append("not found to be wrong: " + false)
if len(lines) < 40:
    found.append("the page has %d rows" % len(lines))
for text in found:
    print(text)
sys.exit(1 if found else 0)
