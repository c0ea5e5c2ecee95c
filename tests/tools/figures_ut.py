#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/plot/figures.py: a file of figures and the page made of it name the machine and the date."""
import glob
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools", "plot"))
import figures  # noqa: E402

# Tables of virtual time: the same on every machine.
VIRTUAL = ("collectives", "congestion", "incast", "loss")


def check(got, want):
    if got != want:
        sys.exit("%r, not %r" % (got, want))


with tempfile.TemporaryDirectory() as folder:
    path = folder + "/rows.tsv"
    with open(folder + "/cpuinfo", "w", encoding="utf8") as f:
        f.write("processor\t: 0\nmodel name\t: Some Processor 3000\ncpu MHz\t\t: 2345.678\nmodel name\t: Other\n")
    os.mkdir(folder + "/sources")
    with open(folder + "/sources/current_clocksource", "w", encoding="utf8") as f:
        f.write("tsc\n")
    on = figures.machine(folder + "/cpuinfo", folder + "/sources")
    if not re.fullmatch(r"%d CPUs of Some Processor 3000, 2345 MHz, Linux %s, clock tsc, 20\d\d-\d\d-\d\d" %
                        (os.cpu_count(), re.escape(os.uname().release)), on):
        sys.exit("the machine is '%s'" % on)
    if not figures.machine("/dev/null", folder).startswith("%d CPUs of %s, Linux " % (os.cpu_count(), os.uname().machine)):
        sys.exit(figures.machine("/dev/null", folder))

    rows = [{"who": "weft", "us": 1.25, "n": 3}, {"who": "TCP", "us": 2.0, "n": 4}]
    figures.write(path, rows)
    check(figures.read(path), rows)
    check(figures.measured_on(path)[0].startswith("Measured on %d CPUs of " % os.cpu_count()), True)
    figures.write(path, rows, "another machine, 1999-12-31")
    check(figures.read(path), rows)
    check(figures.measured_on(path), ["Measured on another machine, 1999-12-31:", ""])
    figures.write(path, rows, "words " * 30 + "end")
    check(max(map(len, figures.measured_on(path))) <= 100, True)
    with open(path, "w", encoding="utf8") as f:
        f.write("#who\tus\nweft\t1\n")
    try:
        figures.measured_on(path)
    except SystemExit as e:
        check("does not say" in str(e), True)
    else:
        sys.exit("a file without a machine was accepted")

# All that were measured say so.
for path in sorted(glob.glob(ROOT + "/docs/pictures/*.tsv")):
    if os.path.basename(path)[:-4] not in VIRTUAL:
        figures.measured_on(path)
tables = 0
for page in ("coll-tables", "copies", "host-overhead", "iwarp-tables", "iwarp", "memory", "programs", "tagged-tables"):
    with open("%s/docs/%s.md" % (ROOT, page), encoding="utf8") as f:
        for name, begin in re.findall(r"^<!-- table (\S+) -->\n(.*)$", f.read(), re.M):
            tables += 1
            if not begin.startswith("Measured on "):
                sys.exit("docs/%s.md: table %s does not say what it was measured on" % (page, name))
check(tables >= 30, True)
