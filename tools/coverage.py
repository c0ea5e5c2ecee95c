#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Lines and branches of the firmware that tests ran, per floor, out of gcov's counts.

    tools/coverage.py [--json FILE] [--page FILE] [--missed | --open] [--floor NAME] DIR

DIR holds .gcno and .gcda files (build/obj/cov). A source that several objects have, as a header
or by #include, counts once: a line or a branch is covered when any of them ran it. --missed lists
the lines that none ran. --page writes the table, and each branch that none took with its reason:
by a rule (coverage_reasons.py), out of the lists tests/coverage/*.txt, or "open". --open prints
open branches as entries of such a list. The sources must be those that were compiled.
`make coverage` runs it; it runs gcov. Exit status 0, 2 on wrong usage.
"""

import argparse
import collections
import glob
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import coverage_reasons as reasons  # noqa: E402

LISTS = "tests/coverage/*.txt"


def read_counts(folder):
    """Yields gcov's record of each source of each object that ran."""
    objects = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names
               if name.endswith(".gcda")]
    if not objects:
        sys.exit(f"coverage: no .gcda file below {folder}: run make coverage")
    for first in range(0, len(objects), 32):
        out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities",
                              *sorted(objects)[first:first + 32]],
                             check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            yield from json.loads(line)["files"]


def merge(records):
    """Counts of lines and branches by source file below nic_fw/, and the functions of lines."""
    lines = collections.defaultdict(collections.Counter)
    functions = {}
    branches = collections.defaultdict(collections.Counter)
    for record in records:
        name = record["file"]
        if not name.startswith("nic_fw/"):
            continue
        for line in record["lines"]:
            number = line["line_number"]
            functions[name, number] = line.get("function_name", "")
            lines[name][number] += line["count"]
            for i, branch in enumerate(line["branches"]):
                branches[name][number, i] += branch["count"]
    return lines, branches, functions


def kinds_of(rows):
    """Numbers of branches by the kind of their reason."""
    rules = (reasons.ASSERTION, reasons.IMPLIED, reasons.FOLLOWS, reasons.OPEN)
    return collections.Counter(row.reason if row.reason in rules else "a reason of its own, below"
                               for row in rows).most_common()


def write_page(path, table, rows, stale):
    """The table by folder, the kinds of reasons, and each branch that none took."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("# Coverage of nic_fw\n\nUnit tests and a soak together, by gcov: `make coverage`.\n\n"
                  "| folder | lines | | branches | |\n| --- | --- | --- | --- | --- |\n")
        for key, (ran, total, taken, ways) in sorted(table.items(), key=lambda row: row[0] == "all"):
            out.write(f"| `{key}` | {ran} of {total} | {100 * ran / total:.1f} % "
                      f"| {taken} of {ways} | {100 * taken / max(ways, 1):.1f} % |\n")
        out.write("\n## Branches that were not taken\n\n| reason | branches |\n| --- | --- |\n")
        for kind, count in kinds_of(rows):
            out.write(f"| {kind} | {count} |\n")
        out.write("\n## Each\n\nBranches of a line are numbered as by `gcov -b`.\n\n"
                  "| file | line | branches | text | reason |\n| --- | --- | --- | --- | --- |\n")
        for (name, line, _, text, reason), numbers in by_entry(rows).items():
            text = text.replace("|", "\\|")
            out.write(f"| {name} | {line} | {numbers} | `{text}` | {reason} |\n")
        if stale:
            out.write("\n## Stale entries of the lists: all of their branches are taken, or their line is no more\n\n")
            for name, function, text in stale:
                out.write(f"- {name}: {function}: `{text}`\n")


def by_entry(rows):
    """Numbers of branches by what else an entry of a list and a line of the page have."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row.file, row.line, row.function, row.text, row.reason].append(str(row.branch))
    return {key: ",".join(numbers) for key, numbers in found.items()}


def print_open(rows):
    name = None
    for (file, _, function, text, _), numbers in by_entry(r for r in rows if r.reason == reasons.OPEN).items():
        if name != file:
            print(file)
            name = file
        print(f"{function} {numbers}: {text}")


def floor_of(name):
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else "."


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the table there, too")
    parser.add_argument("--page", metavar="FILE", help="write a page in Markdown there")
    parser.add_argument("--missed", action="store_true", help="list the lines that none ran")
    parser.add_argument("--open", action="store_true", help="list open branches as entries")
    parser.add_argument("--floor", metavar="NAME", help="this folder of nic_fw alone")
    parser.add_argument("dir")
    args = parser.parse_args()
    lines, branches, functions = merge(read_counts(args.dir))
    listed = reasons.Listed(sorted(glob.glob(LISTS)))
    rows = [row for row in reasons.missed_branches(lines, branches, functions, listed)
            if not args.floor or floor_of(row.file) == args.floor]
    if args.open:
        print_open(rows)
        return
    table = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name in sorted(lines):
        if args.floor and floor_of(name) != args.floor:
            continue
        figures = [sum(1 for n in lines[name].values() if n), len(lines[name]),
                   sum(1 for n in branches[name].values() if n), len(branches[name])]
        for key in floor_of(name), "all":
            table[key] = [a + b for a, b in zip(table[key], figures)]
        if args.missed:
            for number in sorted(n for n, count in lines[name].items() if not count):
                print(f"{name}:{number}")
    print(f"{'folder':8} {'lines':>14} {'':>6} {'branches':>15}")
    for key, (ran, total, taken, ways) in sorted(table.items(), key=lambda row: row[0] == "all"):
        print(f"{key:8} {ran:6} of {total:5} {100 * ran / total:5.1f}% "
              f"{taken:6} of {ways:5} {100 * taken / max(ways, 1):5.1f}%")
    for kind, count in kinds_of(rows):
        print(f"{count:6} {kind}")
    stale = listed.stale() if not args.floor else []
    for name, function, text in stale:
        print(f"coverage: stale: {name}: {function}: {text}")
    if args.page:
        write_page(args.page, table, rows, stale)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(table, out, indent=1, sort_keys=True)
            out.write("\n")


if __name__ == "__main__":
    main()
