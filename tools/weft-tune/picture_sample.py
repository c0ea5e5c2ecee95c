# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the random settings.

Each parameter against latency and bandwidth (ESPGOAL figure 6.2), and the coefficients of the linear models.
"""
import math

import record as records
from pictures import PAPER, Picture
from space import METRICS, PARAMS
from verdict import ALPHA

ACROSS = 4  # panels beside each other


def panel_metrics(verdict):
    """Latency and the longest bulk that was measured; of another objective's search its own metric alone."""
    searched = verdict.of_phase(records.SEARCH)
    known = [m for m in ("lat_us", "bw_10m", "bw_1m") if any(m in e.result for e in searched)]
    return known[:2] or [verdict.metric]


def axis_range(values):
    """A range that holds all values with some room."""
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or abs(low) * 0.05 + 1e-9
    return "[%g:%g]" % (0 if low >= 0 > low - room else low - room, high + room)


def tic_step(width):
    """Whole steps that give some five tics."""
    step = 10.0 ** math.floor(math.log10(width / 4))
    return step * (5 if width / step > 20 else 2 if width / step > 8 else 1)


def model_line(model, found, param):
    """The model's line over one parameter, the others at their means; "": not significant."""
    if not model or param not in model.params:
        return ""
    i = model.params.index(param) + 1
    if not model.fit.p[i] < ALPHA:
        return ""
    mean_x = sum(c.setting.param[param] for c in found) / len(found)
    mean_y = sum(c.median(model.metric) for c in found) / len(found)
    slope = model.fit.b[i]
    return ", \\\n\t%g + %g * x with lines lw 1.5 lc rgb '#c03020' notitle" % (mean_y - slope * mean_x, slope)


def panel(analysis, param, metric, column, found):
    highest = analysis.plan.space.highest[param]
    return ("set xlabel '%s' offset 0,0.6\nset xrange [0:%d]\nset xtics %d\n"
            "plot 'scatter.tsv' using %d:%d with points pt 7 ps 0.35 lc rgb '%s' notitle%s\n" % (
                PARAMS[param], highest, 250 if highest > 600 else 50, param + 1, column,
                "#0060ad" if metric == "lat_us" else "#1a8040", model_line(analysis.model(metric), found, param)))


def scatter(analysis):
    verdict = next(iter(analysis.samples()), None)
    found = analysis.sampled(verdict) if verdict else []
    if not found:
        return None
    metrics, params = panel_metrics(verdict), analysis.plan.space.params
    across = min(len(params), ACROSS)
    rows = len(metrics) * ((len(params) + across - 1) // across)
    tsv = "\t".join((*PARAMS, *metrics)) + "\n" + "".join(
        "\t".join([*map(str, c.setting.param), *("%g" % c.median(m) for m in metrics)]) + "\n" for c in found)
    width, height = 300 * across + 80, 230 * rows + 85
    gp = ("set key autotitle columnhead\nset key off\n"
          "set multiplot layout %d,%d margins %g,0.985,%g,%g spacing 0.05,%g title "
          "'%d random settings; red: the linear model where significant (0.001)'\n" % (
              rows, across, 0.13 if across < 3 else 0.06, 60.0 / height, 1 - 40.0 / height, 55.0 / height, len(found)))
    for m, metric in enumerate(metrics):
        values = [c.median(metric) for c in found if metric in c.figures]
        spread = max(values) - min(values)
        gp += "set yrange %s\nset ytics %g\n" % (axis_range(values), tic_step(spread or abs(values[0]) + 1))
        for column, param in enumerate(params):
            gp += "set ylabel '%s' offset 0.4\nset format y '%%g'\n" % ("" if column % across else METRICS[metric].axis)
            gp += panel(analysis, param, metric, len(PARAMS) + 1 + m, found)
        # The last row of a metric may be short.
        gp += "set multiplot next\n" * (-len(params) % across)
    return Picture(tsv, gp + "unset multiplot\n", width, height)


def effects(analysis, model):
    """Change of the metric over a parameter's whole range, with 99.9 %, and ESPGOAL's."""
    paper, lines = PAPER.get(model.metric), []
    for i, param in enumerate(model.params, 1):
        reach, b = analysis.plan.space.highest[param], model.fit.b[i]
        if math.isnan(b):
            continue
        # 3.29: what 99.9 % of a normal variable lies within; degrees of freedom abound.
        lines.append("%d\t%s\t%g\t%g\t%d\t%g\n" % (
            i, PARAMS[param], b * reach, 3.29 * model.fit.error[i] * reach, model.fit.p[i] < ALPHA,
            paper.coefficients[PARAMS[param]] * reach if paper else math.nan))
    return "# %s\n" % model.metric + "".join(lines)


def effect_panel(model, block):
    text = ("set title '%s: adjusted R^2 %.3f'\n"
            "set ylabel 'change over the whole range, %s'\n"
            "plot 'coefficients.tsv' index %d using 1:($5 > 0 ? $3 : NaN):xtic(2) with boxes ls 1 title "
            "'significant at 0.001', \\\n"
            "\t'' index %d using 1:($5 > 0 ? NaN : $3):xtic(2) with boxes ls 2 title 'not significant', \\\n"
            "\t'' index %d using 1:($3 - $4):(0):(2 * $4) with vectors nohead lc rgb '#222222' lw 1.6 title "
            "'99.9%% interval'" % (METRICS[model.metric].axis, model.fit.adjusted_r2, METRICS[model.metric].unit, block,
                                   block, block))
    if model.metric in PAPER:
        text += (", \\\n\t'' index %d using ($1 + 0.3):6 with points pt 13 ps 1 lc rgb '#d08000' title 'the paper'" %
                 block)
    return text + "\n"


def coefficients(analysis):
    models = [m for m in map(analysis.model, ("lat_us", "bw_1m", "bw_10m")) if m] or analysis.models[:1]
    if not models:
        return None
    gp = ("set style fill solid 0.85\nset boxwidth 0.5\nset style line 1 lc rgb '#0060ad'\n"
          "set style line 2 lc rgb '#b8c4d0'\nset xrange [0.4:%d.6]\nset xtics rotate by -20\n"
          "set xzeroaxis lt 1 lc rgb '#555555'\nset key outside right top\nset multiplot layout %d,1\n" % (
              len(analysis.plan.space.params), len(models)))
    gp += "".join(effect_panel(m, block) for block, m in enumerate(models))
    return Picture("\n\n".join(effects(analysis, m) for m in models), gp + "unset multiplot\n", 860,
                   310 * len(models) + 30)


DRAW = {"scatter": scatter, "coefficients": coefficients}
