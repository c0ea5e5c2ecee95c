# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a report, by gnuplot.

For each there are pictures/NAME.tsv with its figures, NAME.gp that draws it, NAME.svg and NAME.png.
picture_sample.py and picture_search.py have them one by one; tools/plot/figures.py starts gnuplot.
"""
import os
import subprocess
from typing import NamedTuple

import figures
from space import PARAMS
from tool import Failed, reason


class Paper(NamedTuple):
    coefficients: dict  # by parameter, and "constant"
    adjusted_r2: float


def coefficients(*values):
    return dict(zip(("constant", *PARAMS), values))


# ESPGOAL's linear models of the latency of 0 B and the bandwidth of 1 MB.
PAPER = {
    "lat_us": Paper(coefficients(71.3273936, 0.9170643, 0.0148644, -0.1213577, -0.0057134, 0.0092267, -0.0138306,
                                 0.0003548, -0.0199030), 0.9109),
    "bw_1m": Paper(coefficients(1.370e+02, -4.591e-02, -2.168e-01, 5.595e-03, -5.291e-03, -1.064e-03, 1.056e-02,
                                3.660e-03, -6.843e-04), 0.7019),
}
CAPTIONS = {
    "scatter": "Each parameter of the random settings against what was measured (ESPGOAL figure 6.2).",
    "coefficients": "What the linear models say that each parameter changes over its whole range.",
    "generations-latency": "Parameters and latency by generation (ESPGOAL figure 6.4). Boxes: quartiles; whiskers: 1.5 "
                           "boxes at most; dots: the extremes.",
    "generations-bandwidth": "Parameters and bandwidth by generation (ESPGOAL figure 6.5).",
    "generations": "Parameters and objective by generation.",
    "optima": "The genetic optima for latency and for bandwidth, measured in turn (ESPGOAL figure 6.6).",
    "finals": "The best of each search and the initial setting and the references, measured in turn: median and the "
              "interval that holds it with 95 %.",
    "pareto": "Latency against interrupts a second, bandwidth as colour. No setting is better than one of the front in "
              "one of the three without being worse in another (by more than 2 %).",
    "progress": "The best full measurement so far. Halving's short measurements do not count, so its line begins late.",
}
# Every script begins with these lines.
HEAD = """set encoding utf8
set datafile separator '\\t'
set datafile missing 'nan'
set border 3 lc rgb '#555555'
set tics nomirror out scale 0.5 textcolor rgb '#333333'
set grid lc rgb '#e4e4e4' lt 1 lw 0.7
"""
# The same lines for the SVG and, with more pixels, the PNG.
TERMINALS = (
    ("svg", 2, "set terminal svg size %d,%d dynamic font 'sans-serif,13' background rgb 'white'"),
    ("png", 3, "set terminal pngcairo size %d,%d font 'sans-serif,13' fontscale 1.2 linewidth 1.3 background rgb 'white'"),
)


class Picture(NamedTuple):
    tsv: str
    gp: str
    width: int  # pixels of the SVG
    height: int


def save(folder, name, suffix, text):
    path = os.path.join(folder, "%s.%s" % (name, suffix))
    try:
        with open(path, "w", encoding="utf8") as f:
            f.write(text)
    except OSError as e:
        raise Failed("%s: cannot be written: %s" % (path, reason(e))) from e


def run_gnuplot(folder, name, picture, log):
    """A line for the user where gnuplot is missing or fails, else ""."""
    try:
        for suffix, halves, terminal in TERMINALS:
            size = (picture.width * halves // 2, picture.height * halves // 2)
            script = "%s\nset output '%s.%s'\nload '%s.gp'\n" % (terminal % size, name, suffix, name)
            figures.run_gnuplot(folder, script, log)
    except FileNotFoundError:
        return "no pictures: gnuplot is missing (Debian: gnuplot-nox); weft-tune report draws them later"
    except (OSError, subprocess.CalledProcessError):
        return "picture %s: gnuplot failed, pictures/gnuplot.log tells why" % name
    return ""


def draw(analysis, folder):
    """Draws what the record has something for: captions by name of what was drawn, and a line for the user or ""."""
    from picture_sample import DRAW as SAMPLE
    from picture_search import DRAW as SEARCH
    folder = os.path.join(folder, "pictures")
    drawn, note = {}, ""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as e:
        raise Failed("%s: cannot be made: %s" % (folder, reason(e))) from e
    log_path = os.path.join(folder, "gnuplot.log")
    with open(log_path, "w", encoding="utf8") as log:
        for name, picture_of in {**SAMPLE, **SEARCH}.items():
            picture = picture_of(analysis)
            if not picture:
                for suffix in ("tsv", "gp", "svg", "png"):
                    path = os.path.join(folder, "%s.%s" % (name, suffix))
                    if os.path.exists(path):
                        os.unlink(path)
                continue
            save(folder, name, "tsv", picture.tsv)
            save(folder, name, "gp", "# %s: gnuplot -e \"set terminal svg size %d,%d; set output '%s.svg'\" %s.gp\n" % (
                name, picture.width, picture.height, name, name) + HEAD + picture.gp)
            if not note:
                note = run_gnuplot(folder, name, picture, log)
                if not note:
                    drawn[name] = CAPTIONS[name]
    if not os.path.getsize(log_path):
        os.unlink(log_path)
    return drawn, note
