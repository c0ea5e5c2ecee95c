# SPDX-License-Identifier: BSD-3-Clause
"""The order of a run: command line, target, record, searches, settings put back, analysis, results. ESPGOAL 6.2."""
import importlib.util
import json
import os
import signal
import sys

import options
import plan as plans
import record as records
import result
import study
import tool
from analysis import Analysis
from apply import apply
from progress import Progress
from run import Run
from space import OBJECTIVES, PARAMS, Space
from target import Target
from tool import Failed, Stopped, Usage

DONE, FAILED, USAGE = range(3)
PACKAGES = {"scipy": "python3-scipy", "statsmodels": "python3-statsmodels", "jinja2": "python3-jinja2"}


def complain(text):
    sys.stderr.write("weft-tune: %s\n" % text)
    return FAILED


def catch_signals(run):
    def on_signal(*_):
        run.stop = True
        if run.target:
            run.target.interrupt()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup ignores the signal, and a program that it started goes on.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, on_signal)


def check_packages():
    """Failed: the end of a run could not be written. It is better to know that before the first measurement."""
    missing = [package for module, package in PACKAGES.items() if not importlib.util.find_spec(module)]
    if missing:
        raise Failed("packages are missing: %s (Debian: apt-get install)" % " ".join(missing))


def check_start(plan):
    """Failed: --start names what the search cannot reach."""
    for i, value in plan.start.values:
        if i not in plan.space.params:
            raise Failed("--start: %s is not among the parameters that vary" % PARAMS[i])
        if value > plan.space.highest[i]:
            raise Failed("--start: %s is at most %d there, not %d" % (PARAMS[i], plan.space.highest[i], value))


def fill_plan(plan, target):
    """Takes what the target has into the plan of a new run."""
    params = plan.params or target.params
    for i in params:
        if i not in target.params:
            raise Failed("--%s has no %s to set" % (plan.target, PARAMS[i]))
    plan.space = Space(params, target.highest, target.initial)
    check_start(plan)
    plan.metrics, plan.what = target.metrics, target.what
    plan.budget = plan.budget or study.default_budget(plan)
    size = study.grid_size(plan) if plan.method == "grid" else 0
    if size * plan.repeats > plan.budget:
        raise Failed("the grid has %d settings, the budget is %d: fewer --params or --grid values, or --budget" %
                     (size, plan.budget))
    for step in reversed(study.steps(plan)):
        for metric in plans.in_order((*OBJECTIVES[step.objective], *plan.also)):
            if metric not in plan.metrics:
                raise Failed("--%s cannot measure %s" % (plan.target, metric))
    plan.command = options.command_of(plan)


def show(o, plan, record, complete):
    """Results, report and pictures of a record."""
    import report
    analysis = Analysis(plan, record.entries)
    result.save(analysis, complete, record.folder)
    note = report.write(analysis, complete, record.folder)
    if note and not o.quiet:
        complain(note)
    if o.json:
        json.dump(result.result_json(analysis, complete), sys.stdout, indent=1, ensure_ascii=False)
        sys.stdout.write("\n")
    elif not o.quiet:
        sys.stdout.write(report.summary(analysis, record.folder))
    return DONE


def put_back(o, plan, target, record):
    """Puts the initial settings back.

    A run that was killed may not have done so: its successor begins with one of the settings that it tried, and only
    the record knows the initial one.
    """
    try:
        target.restore()
        if o.command == "resume" and target.initial != plan.space.base:
            target.apply(plan.space.base)
    except Failed as e:
        # This matters more than what else went wrong: something is left as it should not be.
        complain("the settings from before could not be put back: %s" % e)
        raise Failed("the results are in %s" % (record.folder if record else o.out)) from e
    finally:
        target.close()


def carry_out(o, plan, run):
    show_progress = not o.quiet and sys.stderr.isatty()
    run.progress = Progress(sys.stderr if show_progress else None, study.expected(plan), len(run.record.entries))
    try:
        study.carry_out(run, plan)
    finally:
        run.progress.end()
        run.record.sync()


def measure(o, plan, record):
    """Opens the target, carries out the searches, puts the settings back. Returns the record, and what went wrong."""
    run, wrong = Run(None, record, plan.seed), None
    catch_signals(run)
    run.target = target = Target(plan.target, plan.name)
    try:
        if not record:
            fill_plan(plan, target)
            run.record = records.create(o.out, plan)
        else:
            record.continue_()
        carry_out(o, plan, run)
    except (Failed, Stopped) as e:
        wrong = e
    try:
        put_back(o, plan, target, run.record)
    except Failed as e:
        wrong = wrong or e
    return run.record, wrong


def search(o):
    """A new run, or one that is taken up again."""
    plan, record = o.plan, None
    if o.command == "resume":
        plan = plans.load(o.path)
        record = records.load(o.path)
        # A record may come from elsewhere.
        if plan.target not in options.TARGETS:
            raise Failed("%s: there is no target '%s'" % (o.path, plan.target))
    record, wrong = measure(o, plan, record)
    if not wrong:
        return show(o, plan, record, True)
    if not record:
        return complain("stopped" if isinstance(wrong, Stopped) else wrong)
    again = "weft-tune --resume %s goes on" % record.folder
    if isinstance(wrong, Stopped):
        return complain("stopped after %d of %d measurements, the settings are put back; %s" %
                        (len(record.entries), study.expected(plan), again))
    # Measurements made before an error are not lost.
    if record.entries:
        return complain("%s; %d measurements are kept, %s" % (wrong, len(record.entries), again))
    return complain(wrong)


def carry_out_command(words):
    if words[:1] == ["serve"]:
        os.execv(tool.MEASURE, [tool.MEASURE] + words)
    o = options.parse(words)
    if o.command == "help":
        sys.stdout.write(options.HELP)
    elif o.command == "version":
        sys.stdout.write(options.version_text())
    elif o.command == "apply":
        apply(o, Target, sys.stdout)
    elif o.command == "report":
        check_packages()
        plan, record = plans.load(o.path), records.load(o.path)
        return show(o, plan, record, result.is_complete(o.path, len(record.entries)))
    else:
        check_packages()
        return search(o)
    return DONE


def main(words):
    """The exit status."""
    try:
        status = carry_out_command(words)
        sys.stdout.flush()
        return status
    except Usage as e:
        sys.stderr.write("weft-tune: %s (weft-tune --help tells more)\n" % e)
        return USAGE
    except Failed as e:
        return complain(e)
    except OSError as e:
        # Buffered output may fail only now. The end of the program must find nothing left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return complain("standard output: %s" % tool.reason(e))
