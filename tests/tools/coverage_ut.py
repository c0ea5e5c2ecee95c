#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/coverage_reasons.py: rules and lists give reasons to branches that nothing took, and to no others."""
import collections
import os
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import coverage_reasons as reasons  # noqa: E402

SOURCE = """\
enum kind {
	KIND_A,
	KIND_B,
	KINDS,
};
static int f(int a, int b)
{
	assert(a && b);
	if (a || b)
		g();
	while (a)
		h();
	fw_chain_del(head, a, table, next);
	switch ((enum kind)a) {
	case KIND_A:
		return 1;
	case KIND_B:
		return 2;
	case KINDS:
		break;
	}
	switch ((enum wire_kind)b) {
	case WIRE_A:
		return 3;
	}
	return 0;
}
"""
NAME = "nic_fw/f.c"


def check(got, want):
    if got != want:
        sys.exit("%r, not %r" % (got, want))


def line_of(text):
    return SOURCE.split("\n").index(next(row for row in SOURCE.split("\n") if text in row)) + 1


def reasons_of(counts, ran=(), lists=""):
    """Reasons by line and branch; counts: of the branches by the text of their line; ran: lines that did not."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/list.txt"
        with open(path, "w", encoding="utf8") as f:
            f.write(lists)
        listed = reasons.Listed([path])
    branches = {NAME: {(line_of(text), i): n for text, all_ in counts.items() for i, n in enumerate(all_)}}
    numbers = range(line_of("static int f"), SOURCE.count("\n"))
    lines = {NAME: collections.Counter({n: 0 if n in [line_of(text) for text in ran] else 5 for n in numbers})}
    functions = {(NAME, n): "f" for n in numbers}
    rows = reasons.missed_branches(lines, branches, functions, listed)
    return {(row.text, row.branch): row.reason for row in rows}, listed.stale()


def rules():
    check(reasons_of({"if (a || b)": [3, 2, 1, 1]}), ({}, []))
    found, _ = reasons_of({"if (a || b)": [3, 0, 0, 0], "assert(a": [4, 0, 4, 0],
                           "fw_chain_del": [0, 7, 7, 9], "while (a)": [0, 5]})
    check(found, {("if (a || b)", 1): reasons.OPEN, ("if (a || b)", 2): reasons.FOLLOWS,
                  ("if (a || b)", 3): reasons.FOLLOWS, ("assert(a && b);", 1): reasons.ASSERTION,
                  ("assert(a && b);", 3): reasons.ASSERTION, ("while (a)", 0): reasons.OPEN,
                  ("fw_chain_del(head, a, table, next);", 0): reasons.ASSERTION})


def switches():
    own, wire = "switch ((enum kind)a) {", "switch ((enum wire_kind)b) {"
    # The default, and the number of the values.
    found, _ = reasons_of({"enum kind)a": [1, 2, 0, 0]}, ran=["break;"])
    check(found, {(own, 2): reasons.IMPLIED, (own, 3): reasons.IMPLIED})
    # A value that may be did not run.
    found, _ = reasons_of({"enum kind)a": [1, 0, 0, 0]}, ran=["return 2", "break;"])
    check(set(found.values()), {reasons.OPEN})
    # A peer's value may be any.
    found, _ = reasons_of({"enum wire_kind)b": [1, 0]})
    check(found, {(wire, 1): reasons.OPEN})


def lists():
    text = "# Words.\nnic_fw/f.c\nf 1: if (a || b)\nf 0: while (a)\n\tbecause\n"
    found, stale = reasons_of({"if (a || b)": [3, 0, 2, 1], "while (a)": [0, 5]}, lists=text)
    check((set(found.values()), stale), ({"because"}, []))
    # Another branch of the line is open, and what is taken is stale.
    found, stale = reasons_of({"if (a || b)": [3, 1, 2, 0], "while (a)": [0, 5]}, lists=text)
    check(found, {("if (a || b)", 3): reasons.OPEN, ("while (a)", 0): "because"})
    check(stale, [(NAME, "f", "if (a || b)")])
    for wrong in ("nic_fw/f.c\n\tbecause\n", "f 1: if (a)\n\tbecause\n", "nic_fw/f.c\nf 1: if (a)\n",
                  "nic_fw/f.c\nf x: if (a)\n\tbecause\n"):
        try:
            reasons_of({}, lists=wrong)
        except ValueError:
            continue
        sys.exit("no error: %r" % wrong)


with tempfile.TemporaryDirectory() as tree:
    os.mkdir(tree + "/nic_fw")
    with open(tree + "/" + NAME, "w", encoding="utf8") as source:
        source.write(SOURCE)
    os.chdir(tree)
    for case in rules, switches, lists:
        case()
    os.chdir("/")
