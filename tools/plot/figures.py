# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of figures that were measured: those beside it stand on it.

A figure is a field NAME of a row with NAME_min and NAME_max beside it. Rows are kept in a file of tab-separated
values, and from there alone drawn by gnuplot and put between marks of a Markdown file. The file's second line names the
machine and the date of what was measured; so does the page, above the table.
"""
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import textwrap
import time

HEAD = """
set terminal svg noenhanced size 960,500 dynamic font 'sans-serif,14' background rgb 'white'
set encoding utf8
set output '%s.svg'
set grid lc rgb '#dddddd' lt 1 lw 1
set border 3
set tics nomirror out
"""

# The legend lies below the axis's label, whatever the number of its rows. "key below" would overlap the label.
KEY = """
set key at screen 0.5,0.015 center bottom horizontal
set bmargin at screen 0.24
set xlabel offset 0,0.7
"""


# Colours and marks of the series. No two series of a picture share both, up to twelve.
COLOURS = ("#0060ad", "#c03020", "#308030", "#d08000", "#803090", "#555555", "#00a0a0", "#a05a2c", "#e060a0", "#707000",
           "#4040ff", "#000000")
MARKS = (7, 5, 9, 13, 11, 6, 4, 8, 12, 10, 3, 2)


def styles(count):
    if count > len(COLOURS):
        sys.exit("figures.py: %d series in one picture, there are %d styles" % (count, len(COLOURS)))
    return "".join("set style line %d lc rgb '%s' lw 2 pt %d ps 0.8\n" % (i + 1, COLOURS[i], MARKS[i]) for i in range(count))


ON = "# measured on "


def line_of(path, pattern):
    """The first match of a pattern in a file of the kernel; empty without one."""
    try:
        with open(path, encoding="utf8") as f:
            found = re.search(pattern, f.read(), re.M)
    except OSError:
        return ""
    return found.group(1).strip() if found else ""


def machine(cpuinfo="/proc/cpuinfo", sources="/sys/devices/system/clocksource/clocksource0"):
    """Processor, its clock, the kernel, the clock that it reads, and today's date."""
    processor = line_of(cpuinfo, r"^model name\s*:\s*(.*)") or line_of(cpuinfo, r"^CPU part\s*:\s*(.*)") or platform.machine()
    mhz = line_of(cpuinfo, r"^cpu MHz\s*:\s*([0-9]+)")
    return ", ".join(["%d CPUs of %s" % (os.cpu_count(), processor)] + (["%s MHz" % mhz] if mhz else []) + [
        "Linux " + platform.release(), "clock %s" % (line_of(sources + "/current_clocksource", r"(.+)") or "unknown"),
        time.strftime("%Y-%m-%d", time.gmtime())])


def write(path, rows, on=None):
    """on: the machine and the date; None: this one, today."""
    with open(path, "w", encoding="utf8") as f:
        f.write("#" + "\t".join(rows[0]) + "\n" + ON + (on or machine()) + "\n")
        for r in rows:
            f.write("\t".join("%.4g" % v if isinstance(v, float) else str(v) for v in r.values()) + "\n")


def value(text):
    try:
        return float(text)
    except ValueError:
        return text


def read(path):
    with open(path, encoding="utf8") as f:
        keys = f.readline()[1:].rstrip("\n").split("\t")
        return [dict(zip(keys, map(value, line.rstrip("\n").split("\t")))) for line in f if line[0] != "#"]


def measured_on(path):
    """The lines of a page above a table of a file: where and when it was measured."""
    with open(path, encoding="utf8") as f:
        f.readline()
        second = f.readline()
    if not second.startswith(ON):
        sys.exit("figures.py: %s does not say what it was measured on" % path)
    return textwrap.wrap("Measured on %s:" % second[len(ON):].rstrip("\n"), 100) + [""]


def size(n):
    n = int(n)
    for shift, unit in ((20, "Mi"), (10, "Ki")):
        if n >> shift and not n % (1 << shift):
            return "%d %s" % (n >> shift, unit)
    return str(n)


def number(x):
    return "%.0f" % x if abs(x) >= 100 else "%.1f" % x if abs(x) >= 10 else "%.2f" % x


def summary(name, values):
    """The fields of a figure that was measured several times: the median, the least and the greatest."""
    return {name: statistics.median(values), name + "_min": min(values), name + "_max": max(values)}


def spread(row, name):
    """A figure, with the least and the greatest of its blocks."""
    words = "%s (%s to %s)" if row[name + "_min"] < 0 else "%s (%s-%s)"
    return words % tuple(number(row[name + s]) for s in ("", "_min", "_max"))


def table(head, body):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(map(str, r)) + " |" for r in body]


def pick(rows, **want):
    return [r for r in rows if all(r[k] == v for k, v in want.items())]


def ordered(rows, key):
    return list(dict.fromkeys(r[key] for r in rows))


def log_ticks(settings, series):
    """Ticks of a logarithmic y axis: 1, 2, 5, where decades alone would leave fewer than three."""
    if not re.search(r"set logscale x?y", settings):
        return ""
    values = [v for _, points in series for _, *three in points for v in three if v > 0]
    low, high = math.log10(min(values)), math.log10(max(values))
    if math.floor(high) - math.ceil(low) >= 2:
        return ""
    steps = [m * 10.0 ** e for e in range(math.floor(low) - 1, math.ceil(high) + 1) for m in (1, 2, 5)]
    bottom = max(t for t in steps if t <= min(values) * 1.001)
    top = min((t for t in steps if t >= max(values) * 0.999), default=steps[-1])
    ticks = [t for t in steps if bottom <= t <= top]
    return "set ytics (%s)\nset yrange [%g:%g]\n" % (", ".join("'%g' %g" % (t, t) for t in ticks), bottom, top)


def positive(settings, series):
    """A logarithmic axis has no zero: points at 0 are left out, and bars end at their point."""
    if not re.search(r"set logscale x?y", settings):
        return series
    return [(title, [(x, y, low if low > 0 else y, high) for x, y, low, high in points if y > 0]) for title, points in series]


def run_gnuplot(folder, script, log=None):
    """Runs gnuplot in a folder. FileNotFoundError: there is none. log: a file for its messages."""
    subprocess.run(["gnuplot"], input=script, text=True, check=True, cwd=folder, stderr=log)


def gnuplot(folder, name, script):
    run_gnuplot(folder, script)
    path = "%s/%s.svg" % (folder, name)
    with open(path, encoding="utf8") as f:
        lines = f.read().splitlines()
    with open(path, "w", encoding="utf8") as f:
        f.writelines(line.rstrip() + "\n" for line in lines)


def draw(folder, name, settings, series):
    """series: (title, [(x, y, low, high)]); a line each, with bars from low to high."""
    series = [s for s in positive(settings, series) if s[1]]
    script = HEAD % name + KEY + styles(len(series)) + log_ticks(settings, series) + settings
    plots = []
    for i, (title, points) in enumerate(series):
        script += "$d%d << EOD\n%sEOD\n" % (i, "".join("%g %g %g %g\n" % p for p in points))
        plots.append("$d%d using 1:2:3:4 with yerrorlines ls %d title '%s'" % (i, i + 1, title))
    gnuplot(folder, name, script + "plot " + ", ".join(plots) + "\n")


def draw_groups(folder, name, settings, groups, series):
    """A group of bars for each of groups, which have no order; series: (title, [(group's index, y, low, high)])."""
    width = 0.8 / len(series)
    marks = ", ".join("'%s' %d" % (g, i) for i, g in enumerate(groups))
    script = HEAD % name + "set key below\n" + styles(len(series)) + "set style fill solid 0.8\nset xtics rotate by -45 (%s)\n" % marks
    script += "set xrange [-0.6:%g]\n" % (len(groups) - 0.4) + settings
    plots = []
    for i, (title, points) in enumerate(series):
        data = "".join("%g %g %g %g\n" % (x - 0.4 + width * (i + 0.5), *rest) for x, *rest in points)
        script += "$d%d << EOD\n%sEOD\n" % (i, data)
        plots.append("$d%d using 1:2:(%g) with boxes ls %d lw 0.5 title '%s'" % (i, width * 0.9, i + 1, title))
        plots.append("$d%d using 1:2:3:4 with yerrorbars lc rgb '#333333' pt -1 lw 1 notitle" % i)
    gnuplot(folder, name, script + "plot " + ", ".join(plots) + "\n")


def bars(rows, x, y, scale=1):
    return [(r[x], r[y] * scale, r[y + "_min"] * scale, r[y + "_max"] * scale) for r in rows]


def put(path, name, lines):
    """Lines between the marks of a table."""
    with open(path, encoding="utf8") as f:
        text = f.read()
    start, end = "<!-- table %s -->\n" % name, "<!-- end -->"
    at = text.find(start)
    if at < 0:
        sys.exit("%s has no place for table %s" % (path, name))
    stop = text.index(end, at)
    with open(path, "w", encoding="utf8") as f:
        f.write(text[:at + len(start)] + "\n".join(lines) + "\n" + text[stop:])
