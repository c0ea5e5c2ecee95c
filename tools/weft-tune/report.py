# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run for people, as Markdown and as one HTML page, and the summary on the terminal.

report.j2 has the text, md.j2 and html.j2 its two forms. Text may hold `code` and **bold**.
"""
import html
import itertools
import math
import os
import time
import urllib.parse

import pictures
import tool
from apply import by_hand
from record import REFERENCES
from space import ALL_PARAMS, METRICS, OBJECTIVES, PARAMS
from tool import Failed, reason
from verdict import ALPHA

SVG_SAFE = "-_.~ ,;:/=()!*@+$"  # what a data URL in double quotes may hold as it is
FEW = 6  # values, below which the interval is the whole sample


def value_text(metric, value):
    """"20.1 us", "-" for nothing."""
    return "-" if math.isnan(value) else ("%.4g %s" % (value, METRICS[metric].unit)).rstrip()


def plain(text):
    return html.escape(text, quote=False).replace('"', "&quot;")


def marked(text):
    """With `code` and **bold** as tags."""
    tags = itertools.cycle(("<b>", "</b>"))
    parts = plain(text).split("`")
    for i in range(0, len(parts), 2):
        head, *rest = parts[i].split("**")
        parts[i] = head + "".join(next(tags) + r for r in rest)
    return "".join(part + ("" if i + 1 == len(parts) else "</code>" if i % 2 else "<code>")
                   for i, part in enumerate(parts))


def versus_text(v):
    """How the best one compares with what was set before, in words."""
    best, versus = v.best(), v.versus_initial
    if best and best.initial:
        return "it is the initial setting"
    if math.isnan(versus.differ.p):
        return "the initial setting was not measured beside it"
    by = "%.1f %% %s than the initial setting" % (
        abs(100 * versus.share), "better" if (versus.share > 0) == METRICS[v.metric].rises else "worse")
    if versus.distinct:
        return "%s (p = %.2g)" % (by, versus.differ.p)
    if abs(versus.differ.share - 0.5) == 0.5:
        return ("%s, every time, but that was too few for a significance of 0.001 (p = %.2g, Mann-Whitney)" %
                (by, versus.differ.p))
    return "indistinguishable from the initial setting (p = %.2g, Mann-Whitney)" % versus.differ.p


def references(v):
    """The rows to compare with, by name, as the search measured them in its end."""
    initial = v.initial_choice()
    return ([("initial", initial)] if initial else []) + [(REFERENCES[c.phase][0], c) for c in v.references]


class Report:
    """The figures and texts that report.j2 shows."""

    def __init__(self, analysis, complete, folder, drawn):
        self.plan, self.entries, self.verdicts = analysis.plan, analysis.entries, analysis.verdicts
        self.models, self.comparison = analysis.models, analysis.comparison
        self.complete, self.folder, self.version = complete, folder, tool.VERSION
        self.drawn = drawn  # captions of the pictures that are there, by name
        self.initial = self.plan.space.base.text(ALL_PARAMS)
        self.bests = [(o, v) for o, v in ((o, analysis.best(o)) for o in OBJECTIVES) if v]
        self.versus = versus_text

    def title(self):
        plan = self.plan
        if plan.paper:
            return "Interrupt moderation: the study of ESPGOAL 6.2 (%s)" % plan.target
        return "Interrupt moderation for %s (%s)" % (plan.objective, " ".join(filter(None, (plan.target, plan.name))))

    def date(self, i):
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.entries[i].when_s))

    def took_s(self):
        return sum(e.took_s for e in self.entries)

    def by_hand(self, v):
        return by_hand(self.plan.target, self.plan.name, v.best().setting, self.plan.space.params)

    @staticmethod
    def axis(metric):
        return METRICS[metric].axis

    def svg(self, name):
        with open(os.path.join(self.folder, "pictures", name + ".svg"), "rb") as f:
            return urllib.parse.quote(f.read(), safe=SVG_SAFE)

    @staticmethod
    def best_table(v):
        """All metrics of the best one beside those of the references."""
        refs = references(v)
        head = ["measured", "best: median", "interval of 95 %", "spread (MAD)"] + ["reference: " + n for n, _ in refs]
        return head, [[METRICS[m].axis, "%.5g" % f.median,
                       "%.5g to %.5g%s" % (f.low, f.high, " (all)" if f.num < FEW else ""), "%.2g" % f.mad] +
                      [value_text(m, c.median(m)) for _, c in refs] for m, f in v.best().figures.items()]

    def searches(self):
        return [[v.method, v.objective, str(v.searched), "%.4g" % v.effort, str(v.finals),
                 value_text(v.metric, v.own_best().median(v.metric) if v.own_best() else math.nan)]
                for v in self.verdicts]

    def halving(self):
        """Halving beside the genetic algorithm, for each objective that has both."""
        for h, g in itertools.product(self.verdicts, repeat=2):
            if (h.method, g.method) != ("halving", "genetic") or h.objective != g.objective:
                continue
            if not h.own_best() or not g.own_best():
                continue
            mine, theirs = (v.own_best().median(h.metric) for v in (h, g))
            yield ("For %s halving came to %s with %d measurements (%.4g full ones), the genetic algorithm to %s with "
                   "%d: %+.2f %%." % (h.objective, value_text(h.metric, mine), h.searched + h.finals,
                                      h.effort + h.finals, value_text(h.metric, theirs), g.searched + g.finals,
                                      100 * (mine / theirs - 1)))

    @staticmethod
    def model_table(model):
        fit, paper = model.fit, pictures.PAPER.get(model.metric)
        head = ["parameter", "coefficient", "standard error", "t", "p"]
        head += ["the paper (Tigon3, 1 Gb/s)"] if paper else []
        rows = []
        for name, b, error, t, p in zip(("constant", *(PARAMS[i] for i in model.params)), fit.b, fit.error, fit.t,
                                        fit.p):
            row = [name, "-", "-", "-", "-"] if math.isnan(b) else [
                name, "**%.4g**" % b if p < ALPHA else "%.4g" % b, "%.2g" % error, "%.2f" % t,
                "< 1e-15" if p < 1e-15 else "%.2g" % p]
            rows.append(row + (["%.4g" % paper.coefficients[name]] if paper else []))
        rows.append(["adjusted R\u00b2", "%.4f" % fit.adjusted_r2, " ", " ", " "] +
                    (["%.4f" % paper.adjusted_r2] if paper else []))
        return head, rows

    def optima(self):
        return [(name, o.setting.text(self.plan.space.params))
                for name, o in zip(("latency", "bandwidth"), self.comparison.optima)]

    def comparison_table(self):
        optima = self.comparison.optima
        head = ["median of %d" % optima[0].figure("lat_us").num, "optimum for latency", "optimum for bandwidth",
                "difference (Mann-Whitney)"]
        rows = []
        for m, versus in self.comparison.versus.items():
            differ = ("%+.2f %%, p = %.2g" % (100 * versus.share, versus.differ.p) if versus.distinct else
                      "indistinguishable, p = %.2g" % versus.differ.p)
            rows.append([METRICS[m].axis, *(value_text(m, o.median(m)) for o in optima), differ])
        return head, rows

    def front(self, v):
        # By number in the order of the parameters: words would fill the page.
        return [["`%s`%s" % (" ".join(str(c.setting.param[i]) for i in self.plan.space.params),
                             " **knee**" if k == v.knee else "")] +
                ["%.4g" % c.median(m) for m in ("lat_us", "irqs_per_s", "bw_10m")] for k, c in enumerate(v.front)]


def write(analysis, complete, folder):
    """Draws the pictures, writes both forms. Returns a line for the user when gnuplot is missing or fails, else ""."""
    import jinja2
    drawn, note = pictures.draw(analysis, folder)
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.dirname(os.path.abspath(__file__))),
                             trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                             undefined=jinja2.StrictUndefined)
    env.filters.update(plain=plain, marked=marked)
    report = Report(analysis, complete, folder, drawn)
    for form in ("md", "html"):
        path = os.path.join(folder, "report." + form)
        try:
            text = env.get_template("report.j2").render(doc=env.get_template(form + ".j2").module, report=report)
            with open(path, "w", encoding="utf8") as f:
                f.write(text)
        except OSError as e:
            raise Failed("%s: cannot be written: %s" % (path, reason(e))) from e
    return note


def summary(analysis, folder):
    """The outcome in a few lines."""
    lines = []
    for objective in OBJECTIVES:
        v = analysis.best(objective)
        if not v:
            continue
        best = v.best()
        lines.append("%-10s %s" % (objective, best.setting.text(analysis.plan.space.params)))
        if objective == "pareto":
            lines.append("           the knee of %d settings that none is better than: %.4g us, %.4g interrupts/s, "
                         "%.4g MB/s" % (len(v.front), *(best.median(m) for m in ("lat_us", "irqs_per_s", "bw_10m"))))
        else:
            lines.append("           %s by %s with %d measurements; %s" % (
                value_text(v.metric, best.median(v.metric)), v.method, v.searched + v.finals, versus_text(v)))
        refs = ["%s %s" % (name, value_text(v.metric, c.median(v.metric))) for name, c in references(v)]
        if refs:
            lines.append("           references: " + ", ".join(refs))
    return "\n".join(lines + ["report     %s/report.html, report.md" % folder]) + "\n"
