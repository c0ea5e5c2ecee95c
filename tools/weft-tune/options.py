# SPDX-License-Identifier: BSD-3-Clause
"""weft-tune's command line. What makes no sense is refused here, before anything is opened.

Words are read as getopt_long(3) does: options anywhere, shortened as far as they stay clear, "--" ends them.
"""
import re

import start
import tool
from plan import METHODS, Plan
from space import ALL_PARAMS, INDEX, METRICS, OBJECTIVES, PARAMS, in_order
from tool import Usage

HELP = """\
Usage: weft-tune --device NIC | --netdev IFACE | --sim [OPTION]...
       weft-tune --resume DIR
       weft-tune report DIR
       weft-tune apply DIR|FILE --device NIC | --netdev IFACE [--objective O] [--dry-run]
       weft-tune serve [--port P] [--bind ADDRESS] [IFACE]

Finds the interrupt moderation (rx-usecs, rx-frames, tx-usecs, tx-frames and their -irq
forms) that suits an objective best, by measuring. The initial settings are put back
at the end, after errors and signals too; apply sets the best ones.

Where
  --device NIC         a NIC of weftd; --peer NIC: the other end, of the same weftd
                       (the next one)
  --netdev IFACE       an interface of Linux with ethtool -c, to a host on which
                       weft-tune serve runs: --peer ADDRESS[:PORT]; as root
  --sim[=PROFILE]      simulated NICs and hosts: weft, or espgoal (the paper's kind)
What
  --objective O        latency, bandwidth, overlap, cpu, or pareto: latency, interrupts a
                       second and bandwidth at once (latency)
  --also LIST          what a search measures besides, as lat_us,bw_1m,bw_10m: for the pictures
                       and models of random settings
  --params LIST        only these, as rx-usecs,rx-frames; the others stay (all)
How
  --method M           random: settings drawn evenly; linear: the optimum of a least-squares
                       model of them; hill: climbing with restarts; genetic: 50 generations;
                       halving: short measurements of many, longer ones of the better
                       halves; grid: all combinations of --grid (halving)
  --budget N           measurements in all (250; genetic 2640; grid what it takes; --paper:
                       of each genetic search, 25590)
  --start S            hill: where the first climb begins: initial, off, random, or values
                       as rx-usecs=5,rx-frames=16 (initial); halving: random: without the
                       settings that one would try by hand
  --grid LIST          values of each parameter, as 0,1,10,100
  --repeats N          measurements of each setting of a search (1)
  --seed S             of all that is random (1)
  --paper              the whole study of ESPGOAL 6.2: random settings with linear models,
                       hill climbing, genetic, halving with a tenth of its measurements,
                       and both optima side by side
  --samples N          paper: random settings, and runs of both optima (250)
Results
  --out DIR            new folder for them (weft-tune-OBJECTIVE-METHOD)
  --resume DIR         goes on with a run that was stopped
  --json               the result on standard output as JSON
  --quiet              nothing but errors
  --dry-run            apply: say what would be set
  --help, --version

In DIR: measurements.csv and .json (every measurement), result.json, report.md and
report.html with pictures (gnuplot).

Exit status: 0 done, 1 failure or stopped, 2 usage.
"""

NONE, REQUIRED, OPTIONAL = range(3)
SEARCH = ("method", "budget", "seed", "repeats", "samples", "params", "also", "grid", "start", "paper", "out")
VALUES = {  # whether an option takes a value
    "sim": OPTIONAL, "device": REQUIRED, "netdev": REQUIRED, "peer": REQUIRED, "objective": REQUIRED,
    "resume": REQUIRED, "json": NONE, "quiet": NONE, "dry-run": NONE, "help": NONE, "version": NONE,
    **{name: REQUIRED for name in SEARCH}, "paper": NONE,
}
TARGETS = ("device", "netdev", "sim")
MAX_GRID = 64
MAX_VALUE = 1023  # of a parameter
SUFFIXES = {"K": 10, "M": 20, "G": 30}
# Numbers: the least and the highest.
NUMBERS = {"budget": (1, 100000000), "seed": (0, (1 << 64) - 1), "repeats": (1, 64), "samples": (2, 100000)}
PARETO_METHODS = ("random", "genetic", "halving", "grid")


class Options:
    def __init__(self):
        self.command = "run"  # or "resume", "report", "apply", "help", "version"
        self.plan = Plan()
        self.out = None  # folder of a new run
        self.path = None  # of resume, apply, report
        self.objective = None  # as it was given
        self.json = self.quiet = self.dry_run = False
        self.given = {}  # value by option; targets and what matters beyond its value
        self.search = None  # the last option that is for a new run alone


def split_words(words):
    """Pairs of option and value, and the words that are no options."""
    options, rest, left = [], [], list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return options, rest + left
        if word == "-h":
            options.append(("help", None))
        elif not word.startswith("--"):
            if word.startswith("-") and word != "-":
                raise Usage("there is no option '-%s'" % word[1])
            rest.append(word)
        else:
            name, equals, value = word[2:].partition("=")
            found = [name] if name in VALUES else [o for o in VALUES if o.startswith(name)]
            if len(found) != 1:
                raise Usage("there is no option '%s'" % word)
            kind, value = VALUES[found[0]], value if equals else None
            if kind == NONE and equals:
                raise Usage("--%s takes no value" % found[0])
            if kind == REQUIRED and not equals:
                if not left:
                    raise Usage("%s needs a value" % word)
                value = left.pop(0)
            options.append((found[0], value))
        if options and options[-1][0] in ("help", "version"):
            return options, rest
    return options, rest


def number(name, text):
    low, high = NUMBERS[name]
    match = re.fullmatch(r"([0-9]+)([KMG]?)", text, re.ASCII)
    value = int(match[1]) << SUFFIXES.get(match[2], 0) if match else -1
    if not low <= value <= high:
        raise Usage("--%s takes a whole number from %d to %d, not '%s'" % (name, low, high, text))
    return value


def take_params(text):
    for word in text.split(","):
        if word not in INDEX:
            raise Usage("there is no parameter '%s': --params takes rx-usecs, rx-frames, tx-usecs, tx-frames and the "
                        "same with -irq, separated by commas" % word)
    return tuple(sorted({INDEX[word] for word in text.split(",")}))


def take_also(text):
    for name in text.split(","):
        if name not in METRICS:
            raise Usage("there is no metric '%s': --also takes names as in measurements.csv (lat_us, bw_1m, bw_10m, "
                        "...), separated by commas" % name)
    return in_order(text.split(","))


def take_grid(text):
    values = text.split(",")
    if any(not re.fullmatch(r"[0-9]+", v, re.ASCII) or int(v) > MAX_VALUE for v in values):
        raise Usage("--grid takes whole numbers from 0 to %d, separated by commas, not '%s'" % (MAX_VALUE, text))
    if len(values) > MAX_GRID:
        raise Usage("--grid takes at most %d values" % MAX_GRID)
    return tuple(map(int, values))


def take_start(text):
    found = start.parse(text)
    if not found:
        raise Usage("--start takes initial, off, random, or values as rx-usecs=5,rx-frames=16, not '%s'" % text)
    return found


def take_method(text):
    if text not in METHODS:
        raise Usage("--method takes random, linear, hill, genetic, halving or grid, not '%s'" % text)
    return text


def take_objective(text):
    if text not in OBJECTIVES:
        raise Usage("--objective takes latency, bandwidth, overlap, cpu or pareto, not '%s'" % text)
    return text


TAKE = {"params": take_params, "also": take_also, "grid": take_grid, "start": take_start, "method": take_method,
        "objective": take_objective, **{name: lambda text, n=name: number(n, text) for name in NUMBERS}}


def take_option(o, name, value):
    if name in TARGETS:
        before = next((t for t in TARGETS if t in o.given), None)
        if before:
            raise Usage("one of --device, --netdev and --sim, not --%s and --%s" % (before, name))
    elif name == "resume":
        o.command, o.path = "resume", value
    elif name in TAKE:
        value = TAKE[name](value)
        setattr(o.plan, name, value)
    elif name in ("json", "quiet", "dry-run"):
        setattr(o, name.replace("-", "_"), True)
    elif name == "paper":
        o.plan.paper = True
    o.given[name] = value
    if name in SEARCH:
        o.search = name


def take_words(o, words):
    """The words that are no options: nothing, report DIR, apply PATH."""
    if not words:
        return
    if o.command == "resume":
        raise Usage("--resume takes one DIR, '%s' is one too many" % words[0])
    if words[0] not in ("report", "apply"):
        raise Usage("there is no command '%s': report, apply, serve, or none to search" % words[0])
    if len(words) < 2:
        raise Usage("%s needs the DIR of a run" % words[0])
    if len(words) > 2:
        raise Usage("%s takes one DIR, '%s' is one too many" % (words[0], words[2]))
    o.command, o.path = words


def set_target(o):
    target = next((t for t in TARGETS if t in o.given), None)
    if not target:
        raise Usage("no target: give --device NIC, --netdev IFACE or --sim")
    name, peer = o.given[target] or "", o.given.get("peer")
    if peer is not None and target == "sim":
        raise Usage("--peer is for --device and --netdev: a simulated NIC has its own")
    if not name and target != "sim":
        raise Usage("--%s needs a name" % target)
    o.plan.target, o.plan.name = target, name if peer is None else "%s@%s" % (name, peer)


def check_search(o):
    """Options of a search that do not go together."""
    plan = o.plan
    if plan.paper and ("method" in o.given or "objective" in o.given):
        raise Usage("--paper has its own methods and objectives: without --method and --objective")
    if plan.paper and plan.grid:
        raise Usage("--grid is for --method grid")
    halving = plan.method == "halving" and plan.start.kind in ("initial", "random")
    if "start" in o.given and not plan.paper and plan.method != "hill" and not halving:
        raise Usage("--start is for --method hill: %s does not begin at a setting" % plan.method)
    if not plan.paper and "samples" in o.given:
        raise Usage("--samples is for --paper; --budget says how much else is measured")
    if plan.method == "grid" and not plan.grid:
        raise Usage("--method grid needs its values: --grid 0,1,10,100")
    if plan.method != "grid" and plan.grid:
        raise Usage("--grid is for --method grid")
    if plan.objective == "pareto" and plan.method not in PARETO_METHODS:
        raise Usage("--objective pareto goes with --method random, genetic, halving or grid: %s climbs towards one "
                    "figure alone" % plan.method)


def check(o):
    if o.dry_run and o.command != "apply":
        raise Usage("--dry-run is for apply")
    if o.command != "run" and o.search:
        raise Usage("--%s is for a new run: a record has all that by itself" % o.search)
    if o.command in ("resume", "report"):
        wrong = [name for name in (*TARGETS, "peer", "objective") if name in o.given]
        if wrong:
            raise Usage("a record knows where it was measured, and for what: without --%s" % wrong[0])
        return
    set_target(o)
    if o.command == "apply":
        if o.plan.target == "sim":
            raise Usage("apply needs --device NIC or --netdev IFACE")
        return
    check_search(o)
    name = "paper" if o.plan.paper else "%s-%s" % (o.plan.objective, o.plan.method)
    o.out = o.given.get("out") or "weft-tune-" + name


def parse(words):
    """The options of a command line. Raises Usage for options that contradict each other."""
    o = Options()
    options, rest = split_words(words)
    for name, value in options:
        if name in ("help", "version"):
            o.command = name
            return o
        take_option(o, name, value)
    o.objective = o.given.get("objective")
    take_words(o, rest)
    check(o)
    return o


def command_of(plan):
    """The command line that makes the plan's run again, without --out."""
    name, at, peer = plan.name.partition("@")
    words = ["weft-tune --%s%s%s" % (plan.target, "" if not name else "=" if plan.target == "sim" else " ", name)]
    if at:
        words.append("--peer " + peer)
    words.append("--paper --samples %d" % plan.samples if plan.paper else
                 "--objective %s --method %s" % (plan.objective, plan.method))
    words.append("--budget %d --seed %d" % (plan.budget, plan.seed))
    if plan.also:
        words.append("--also " + ",".join(plan.also))
    if plan.repeats > 1:
        words.append("--repeats %d" % plan.repeats)
    if plan.start.kind != "initial" and (plan.paper or plan.method in ("hill", "halving")):
        words.append("--start " + plan.start.text())
    if plan.grid:
        words.append("--grid " + ",".join(map(str, plan.grid)))
    params = plan.space.params if plan.space else plan.params
    if params not in ((), ALL_PARAMS):
        words.append("--params " + ",".join(PARAMS[i] for i in params))
    return " ".join(words)


def version_text():
    return "weft-tune %s\n" % tool.VERSION
