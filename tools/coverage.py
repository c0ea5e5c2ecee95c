#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Lines and branches of the firmware that tests ran, per floor, out of gcov's counts.

    tools/coverage.py [--json FILE] [--page FILE] [--missed] [--floor NAME] DIR

DIR holds .gcno and .gcda files (build/obj/cov). A source that several objects have, as a header
or by #include, counts once: a line or a branch is covered when any of them ran it. --missed lists
the lines that none ran. --page writes the table, and each line with a branch that none took, with its kind:
KINDS below, by the text of the line. The sources must be those that were compiled.
`make coverage` runs it; it runs gcov. Exit status 0, 2 on wrong usage.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

# Kinds of branches, by the first pattern that their line has.
KINDS = [
    (r"\bassert\(|\babort\(", "assertion: the other way ends the program"),
    (r"mem_busy|HOST_FAULT|RDMAP_DROP|NOT_NOW", "memory that is slow or gone at that moment"),
    (r"eth_tx_begin|!frame\b|tx_room|TX_FULL", "the port has no room at that moment"),
    (r"fw_pool_get|fw_ids_get|\bfull\b", "a pool or a table is full"),
    (r"FW_DROP|drop_|malformed", "input that the wire's rules refuse"),
    (r"return FW_E|FW_E[A-Z]+", "a command that is refused"),
]
OTHER = "no test reaches it"


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
    """Counts of lines and branches by source file below nic_fw/."""
    lines = collections.defaultdict(collections.Counter)
    branches = collections.defaultdict(collections.Counter)
    for record in records:
        name = record["file"]
        if not name.startswith("nic_fw/"):
            continue
        for line in record["lines"]:
            number = line["line_number"]
            lines[name][number] += line["count"]
            for i, branch in enumerate(line["branches"]):
                branches[name][number, i] += branch["count"]
    return lines, branches


def kind_of(text):
    return next((kind for pattern, kind in KINDS if re.search(pattern, text)), OTHER)


def missed_branches(branches):
    """Branches that none took: (file, line, number of branches, text, kind)."""
    rows = []
    for name in sorted(branches):
        with open(name, encoding="utf-8") as f:
            text = f.read().splitlines()
        count = collections.Counter(line for (line, _), n in branches[name].items() if not n)
        for line in sorted(count):
            here = text[line - 1].strip() if line <= len(text) else ""
            rows.append((name, line, count[line], here, kind_of(here)))
    return rows


def write_page(path, table, branches):
    """The table by folder, the kinds, and each line with a branch that none took."""
    rows = missed_branches(branches)
    kinds = collections.Counter()
    for row in rows:
        kinds[row[4]] += row[2]
    with open(path, "w", encoding="utf-8") as out:
        out.write("# Coverage of nic_fw\n\nUnit tests and a soak together, by gcov: `make coverage`.\n\n"
                  "| folder | lines | | branches | |\n| --- | --- | --- | --- | --- |\n")
        for key, (ran, total, taken, ways) in sorted(table.items(), key=lambda row: row[0] == "all"):
            out.write(f"| `{key}` | {ran} of {total} | {100 * ran / total:.1f} % "
                      f"| {taken} of {ways} | {100 * taken / max(ways, 1):.1f} % |\n")
        out.write("\n## Branches that were not taken, by the kind of their line\n\n| kind | branches |\n| --- | --- |\n")
        for kind, count in kinds.most_common():
            out.write(f"| {kind} | {count} |\n")
        out.write("\n## Each\n\n| file | line | branches | text | kind |\n| --- | --- | --- | --- | --- |\n")
        for name, line, count, text, kind in rows:
            text = text.replace("|", "\\|")
            out.write(f"| {name} | {line} | {count} | `{text}` | {kind} |\n")


def floor_of(name):
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else "."


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the table there, too")
    parser.add_argument("--page", metavar="FILE", help="write a page in Markdown there")
    parser.add_argument("--missed", action="store_true", help="list the lines that none ran")
    parser.add_argument("--floor", metavar="NAME", help="this folder of nic_fw alone")
    parser.add_argument("dir")
    args = parser.parse_args()
    lines, branches = merge(read_counts(args.dir))
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
    if args.page:
        write_page(args.page, table, branches)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(table, out, indent=1, sort_keys=True)
            out.write("\n")


if __name__ == "__main__":
    main()
