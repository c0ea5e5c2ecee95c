# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of searches.

Box plots of each generation (ESPGOAL figures 6.4, 6.5), both optima side by side (6.6), the finals, the Pareto front, the
best so far.
"""
import functools
import itertools
import math

import record as records
from choices import choices
from pictures import Picture
from record import REFERENCES
from space import METRICS, OBJECTIVES, PARAMS, cost
from stats import box

SHOWN_FINALS = 7
REFERENCE_COLOUR = "#777777"
COLOURS = {"random": "#888888", "linear": "#7030a0", "hill": "#d08000", "genetic": "#0060ad", "halving": "#c03020",
           "grid": "#1a8040"}
# Tics of a logarithmic scale that may span less than two decades.
TICS = "0.1,0.2,0.5,1,2,5,10,20,50,100,200,500,1000,2000"


def tsv_line(*values):
    return "\t".join("%g" % v if isinstance(v, (int, float)) else v for v in values) + "\n"


def box_line(x, values):
    """A box plot for gnuplot: x, box, whiskers, median, least and most."""
    b = box(values)
    return tsv_line(x, b.quarter, b.low, b.high, b.three_quarters, b.median, b.least, b.most)


def plot_boxes(file, block, colour):
    """Plot of a block of box_line()s."""
    return ("plot '{0}' index {1} using 1:2:3:4:5 with candlesticks whiskerbars 0.4 lw 0.7 lc rgb '{2}' fs solid 0.35 "
            "notitle, \\\n"
            "\t'' index {1} using 1:6:6:6:6 with candlesticks lw 1.6 lc rgb '#111111' notitle, \\\n"
            "\t'' index {1} using 1:($7 < $3 ? $7 : NaN) with points pt 7 ps 0.2 lc rgb '#999999' notitle, \\\n"
            "\t'' index {1} using 1:($8 > $4 ? $8 : NaN) with points pt 7 ps 0.2 lc rgb '#999999' notitle\n"
            .format(file, block, colour))


def log_scale(verdict):
    """A quantity that shrinks to a tenth and less shows its end in a logarithmic scale alone."""
    low = min((c.median(verdict.metric) for c in verdict.choices if verdict.metric in c.figures), default=math.inf)
    if low > 0 and verdict.worst > 10 * low:
        return "set logscale y\nset ytics (%s)\n" % TICS
    return "unset logscale y\nset ytics autofreq\n"


def generations(objectives, name, analysis):
    """The genetic search for the first of these objectives that has one."""
    v = next((v for v in analysis.verdicts if v.method == "genetic" and v.objective in objectives), None)
    if not v:
        return None
    space, file = analysis.plan.space, name + ".tsv"
    steps = [list(g) for _, g in itertools.groupby(v.of_phase(records.SEARCH), key=lambda e: e.step)]
    tsv = "# generation, box, whiskers, box, median, least, most\n"
    for param in space.params:
        tsv += "# %s\n" % PARAMS[param] + "".join(
            box_line(i, [e.setting.param[param] for e in step]) for i, step in enumerate(steps)) + "\n\n"
    tsv += "# %s\n" % v.metric + "".join(
        box_line(i, [e.result[v.metric] for e in step if v.metric in e.result]) for i, step in enumerate(steps))
    rows = (len(space.params) + 3) // 3
    gp = ("set key off\nset xrange [-1:%d]\nset boxwidth 0.6\nset xlabel 'generation' offset 0,0.6\n"
          "set multiplot layout %d,3 title 'Genetic search for %s'\n" % (len(steps), rows, v.objective))
    for block, param in enumerate(space.params):
        gp += "set title '%s' offset 0,-0.7\nset yrange [0:%g]\n" % (PARAMS[param], space.highest[param] * 1.04)
        gp += plot_boxes(file, block, "#0060ad")
    gp += "set title '%s' offset 0,-0.7\nset yrange [*:*]\n%s" % (METRICS[v.metric].axis, log_scale(v))
    gp += plot_boxes(file, len(space.params), "#c03020")
    return Picture(tsv, gp + "unset multiplot\n", 1150, 250 * rows + 60)


def optima(analysis):
    comparison = analysis.comparison
    if not comparison:
        return None
    tsv = ""
    gp = ("set key off\nset xrange [0.4:2.6]\nset boxwidth 0.4\nset offsets 0,0,graph 0.05,graph 0.05\nset bmargin 4\n"
          "set xtics (\"optimum\\nfor latency\" 1, \"optimum\\nfor bandwidth\" 2)\nset multiplot layout 1,2\n")
    for block, (metric, colour) in enumerate((("lat_us", "#0060ad"), ("bw_10m", "#1a8040"))):
        tsv += "# %s\n" % metric + "".join(
            box_line(i, values) for i, values in enumerate(comparison.values[metric], 1)) + "\n\n"
        versus = comparison.versus.get(metric)
        gp += "set ylabel '%s'\nset title '%d runs each, in turn: %s'\n" % (
            METRICS[metric].axis, comparison.optima[0].figure(metric).num,
            "they differ" if versus and versus.distinct else "indistinguishable")
        gp += plot_boxes("optima.tsv", block, colour)
    return Picture(tsv, gp + "unset multiplot\n", 820, 430)


def finals_panel(v, block):
    """The finals of one search, the best first, and behind them in grey the references: tsv and gp."""
    shown = [("%s%d" % ("initial, " if c.initial else "", i), c, 0)
             for i, c in enumerate(v.choices[:SHOWN_FINALS], 1)]
    shown += [(REFERENCES[c.phase][0], c, 1) for c in v.references]
    places = [(place, name, c.figure(v.metric), grey) for place, (name, c, grey) in enumerate(shown, 1)]
    tsv = "".join(tsv_line(place, f.median, f.low, f.high, grey) for place, _, f, grey in places) + "\n\n"
    gp = ("set title 'Finals of %s, %s%s'\nset ylabel '%s'\nset xrange [0.3:%d.7]\nset xtics rotate by 30 right (" % (
        v.method, v.objective, "; references grey" if v.references else "", METRICS[v.metric].axis, len(places)))
    gp += ", ".join("'%s' %d" % (name, place) for place, name, _, _ in places)
    gp += (")\nplot 'finals.tsv' index %d using 1:($5 > 0 ? NaN : $2):3:4 with yerrorbars pt 7 ps 0.8 lw 1.5 lc rgb '%s' "
           "notitle" % (block, "#1a8040" if METRICS[v.metric].rises else "#0060ad"))
    if v.references:
        gp += (", \\\n\t'' index %d using 1:($5 > 0 ? $2 : NaN):3:4 with yerrorbars pt 5 ps 0.8 lw 1.5 lc rgb '%s' notitle"
               % (block, REFERENCE_COLOUR))
    return tsv, gp + "\n"


def finals(analysis):
    verdicts = [v for v in analysis.verdicts if v.verified and v.objective != "pareto"]
    if not verdicts:
        return None
    across = min(len(verdicts), 2)
    down = (len(verdicts) + across - 1) // across
    tsv = "# place, median, interval of 95 % for it, 1: a reference\n"
    gp = "set key off\nset offsets 0,0,graph 0.08,graph 0.08\nset multiplot layout %d,%d\n" % (down, across)
    for block, v in enumerate(verdicts):
        more_tsv, more_gp = finals_panel(v, block)
        tsv, gp = tsv + more_tsv, gp + more_gp
    return Picture(tsv, gp + "unset multiplot\n", 430 * across + 20, 290 * down + 20)


def pareto_references(v):
    """The initial setting and the references, each with its name."""
    initial = v.initial_choice()
    named = []
    for c in v.references:
        same = initial and c.setting == initial.setting
        named.append((c, REFERENCES[c.phase][0] + (" (initial)" if same else "")))
        initial = None if same else initial
    return named + ([(initial, "initial")] if initial else [])


def pareto(analysis):
    v = next((v for v in reversed(analysis.verdicts) if v.front), None)
    if not v:
        return None
    found = choices(v.of_phase(records.SEARCH), analysis.plan.space.base)
    named = pareto_references(v)

    def points(of):
        return "".join(tsv_line(*(c.median(m) for m in ("lat_us", "irqs_per_s", "bw_10m"))) for c in of)

    def bounds(metric):
        values = [c.median(metric) for c in found + [c for c, _ in named] if metric in c.figures]
        return min((x for x in values if x > 0), default=math.inf), max([1e-9, *values])

    tsv = "# latency, interrupts a second, bandwidth: all, the front, the knee, references\n" + "\n\n".join(
        (points(found), points(v.front), points([v.front[v.knee]]),
         "".join(tsv_line(c.median("lat_us"), c.median("irqs_per_s"), name) for c, name in named)))
    (low_x, high_x), (low_y, high_y) = bounds("lat_us"), bounds("irqs_per_s")
    gp = "set xrange [%g:%g]\nset yrange [%g:%g]\n" % (low_x * 0.8, high_x * 1.25, low_y * 0.7, high_y * 5)
    gp += ("set logscale xy\nset xtics (%s)\nset xlabel '%s'\nset ylabel '%s'\nset cblabel '%s' offset 1.5\n"
           "set palette defined (0 '#30308f', 0.5 '#20a090', 1 '#f0c020')\n"
           "set key top right box lc rgb '#cccccc' opaque\n"
           "plot 'pareto.tsv' index 0 using 1:2 with points pt 7 ps 0.3 lc rgb '#bbbbbb' title 'measured', \\\n"
           "\t'' index 1 using 1:2:3 with points pt 7 ps 1 lc palette title 'none is better in all three', \\\n"
           "\t'' index 2 using 1:2 with points pt 6 ps 2 lw 2 lc rgb '#c03020' title 'the knee', \\\n"
           "\t'' index 3 using 1:2 with points pt 2 ps 1.4 lw 2 lc rgb '#111111' title 'reference', \\\n"
           "\t'' index 3 using 1:2:3 with labels left offset 0.8,0.5 font ',11' notitle\n" % (
               TICS, *(METRICS[m].axis for m in ("lat_us", "irqs_per_s", "bw_10m"))))
    return Picture(tsv, gp, 860, 540)


def progress_block(v):
    """Best full measurement so far, a line for each that bettered it."""
    best, num, text = math.nan, 0, "# %s, %s\n" % (v.method, v.objective)
    for num, e in enumerate(v.of_phase(records.SEARCH), 1):
        value = e.value(v.metric)
        if e.effort < 1 or math.isnan(value) or cost(v.metric, value) >= cost(v.metric, best):
            continue
        best = value
        text += "%d\t%g\n" % (num, best)
    return text + "%d\t%g\n\n\n" % (num, best)


def progress_panel(analysis, objective):
    panel = [(i, v) for i, v in enumerate(analysis.verdicts) if v.objective == objective]
    metric = METRICS[panel[0][1].metric]
    lines = ["'progress.tsv' index %d using 1:2 with steps lw 2 lc rgb '%s' title '%s'" % (i, COLOURS[v.method], v.method)
             for i, v in panel]
    # References as lines across a panel: no search has to find them. Every search for the objective measured them, so
    # one will do.
    refs = next((v.references for _, v in panel if v.references), [])
    lines += ["%g with lines dt %d lw 1.5 lc rgb '%s' title 'reference: %s'" % (
        c.median(panel[0][1].metric), k, REFERENCE_COLOUR, REFERENCES[c.phase][0]) for k, c in enumerate(refs, 2)]
    return "set title 'Best so far: %s'\nset ylabel '%s'\nset key %s right\n%splot %s\n" % (
        objective, metric.axis, "bottom" if metric.rises else "top", log_scale(panel[0][1]), ", \\\n\t".join(lines))


def progress(analysis):
    panels = [o for o in OBJECTIVES if o != "pareto" and any(v.objective == o for v in analysis.verdicts)]
    if not panels:
        return None
    gp = ("set logscale x\nset xlabel 'measurements'\nset autoscale fix\nset offsets 0,0,graph 0.06,graph 0.06\n"
          "set multiplot layout %d,1\n" % len(panels)) + "".join(progress_panel(analysis, o) for o in panels)
    return Picture("".join(map(progress_block, analysis.verdicts)), gp + "unset multiplot\n", 760,
                   330 * len(panels) + 20)


DRAW = {
    "generations-latency": functools.partial(generations, ("latency",), "generations-latency"),
    "generations-bandwidth": functools.partial(generations, ("bandwidth",), "generations-bandwidth"),
    "generations": functools.partial(generations, ("overlap", "cpu", "pareto"), "generations"),
    "optima": optima, "finals": finals, "pareto": pareto, "progress": progress,
}
