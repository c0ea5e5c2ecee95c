# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of figures that were measured: those beside it stand on it.

A figure is a field NAME of a row with NAME_min and NAME_max beside it. Rows are kept in a file of tab-separated
values, and from there alone drawn by gnuplot and put between marks of a Markdown file.
"""
import subprocess
import sys

HEAD = """
set terminal svg noenhanced size 960,500 dynamic font 'sans-serif,14' background rgb 'white'
set encoding utf8
set output '%s.svg'
set grid lc rgb '#dddddd' lt 1 lw 1
set border 3
set key outside right top
set tics nomirror out
set style line 1 lc rgb '#0060ad' lw 2 pt 7 ps 0.7
set style line 2 lc rgb '#c03020' lw 2 pt 5 ps 0.7
set style line 3 lc rgb '#308030' lw 2 pt 9 ps 0.8
set style line 4 lc rgb '#d08000' lw 2 pt 13 ps 0.8
set style line 5 lc rgb '#803090' lw 2 pt 11 ps 0.8
set style line 6 lc rgb '#555555' lw 2 pt 6 ps 0.7
"""


def write(path, rows):
    with open(path, "w", encoding="utf8") as f:
        f.write("#" + "\t".join(rows[0]) + "\n")
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
        return [dict(zip(keys, map(value, line.rstrip("\n").split("\t")))) for line in f]


def size(n):
    n = int(n)
    for shift, unit in ((20, "Mi"), (10, "Ki")):
        if n >> shift and not n % (1 << shift):
            return "%d %s" % (n >> shift, unit)
    return str(n)


def number(x):
    return "%.0f" % x if abs(x) >= 100 else "%.1f" % x if abs(x) >= 10 else "%.2f" % x


def spread(row, name):
    """A figure and how far its blocks lay apart."""
    return "%s (%s to %s)" % tuple(number(row[name + s]) for s in ("", "_min", "_max"))


def table(head, body):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(map(str, r)) + " |" for r in body]


def pick(rows, **want):
    return [r for r in rows if all(r[k] == v for k, v in want.items())]


def ordered(rows, key):
    return list(dict.fromkeys(r[key] for r in rows))


def draw(folder, name, settings, series):
    """series: (title, [(x, y, low, high)]); a line each, with bars from low to high."""
    script = HEAD % name + settings
    plots = []
    for i, (title, points) in enumerate(series):
        script += "$d%d << EOD\n%sEOD\n" % (i, "".join("%g %g %g %g\n" % p for p in points))
        plots.append("$d%d using 1:2:3:4 with yerrorlines ls %d title '%s'" % (i, i % 6 + 1, title))
    script += "plot " + ", ".join(plots) + "\n"
    subprocess.run(["gnuplot"], input=script, text=True, check=True, cwd=folder)
    path = "%s/%s.svg" % (folder, name)
    with open(path, encoding="utf8") as f:
        lines = f.read().splitlines()
    with open(path, "w", encoding="utf8") as f:
        f.writelines(line.rstrip() + "\n" for line in lines)


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
