# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a run: all that a resumed run and the report need. run.json keeps it beside the record."""
import json
import math
import os
from dataclasses import dataclass, field

import start as starts
import tool
from space import ADAPTIVE, FIXED, INDEX, METRICS, OBJECTIVES, PARAMS, TARGET, TARGET_TEXT, Setting, Space
from space import in_order
from tool import Failed, reason

RUN = "run.json"
METHODS = ("random", "linear", "hill", "genetic", "halving", "grid")
MODE_TEXTS = {ADAPTIVE: "adaptive", TARGET: TARGET_TEXT}


@dataclass
class Plan:
    target: str = ""  # "sim", "device", "netdev"
    name: str = ""  # of the device or interface, and behind an @ its peer
    method: str = "halving"
    objective: str = "latency"
    paper: bool = False
    budget: int = 0  # measurements; paper: of each genetic search; 0: the default
    seed: int = 1
    repeats: int = 1
    samples: int = 250  # paper: random settings, and runs of both optima
    grid: tuple = ()
    start: starts.Start = starts.Start()  # of hill climbing
    params: tuple = ()  # indices of the parameters that vary; none: all that the target has
    space: Space = None
    metrics: tuple = ()  # those that the target can measure
    also: tuple = ()  # what searches measure beside their objective
    what: str = ""  # the target's own words
    command: str = field(default="")  # that makes this run again


def values_json(values):
    return dict(zip(PARAMS, values))


def setting_json(setting):
    """All parameters, and the mode where there is one: its values are the limits that hold when the mode ends."""
    text = MODE_TEXTS.get(setting.mode)
    return {**values_json(setting.param), **({"mode": text} if text else {})}


def values_from_json(values):
    got = tuple(values[word] for word in PARAMS)
    if any(type(v) is not int or not 0 <= v < 1 << 32 for v in got):
        raise ValueError
    return got


def setting_from_json(value):
    mode = value.get("mode")
    return Setting(values_from_json(value), FIXED if not mode else TARGET if mode.startswith("target ") else ADAPTIVE)


def number_json(value):
    """JSON has no NAN."""
    return value if math.isfinite(value) else None


def metrics_from_text(text):
    names = [word for word in text.split("+") if word]
    if any(word not in METRICS for word in names):
        raise ValueError
    return in_order(names)


def params_from_json(words):
    if not words:
        raise ValueError
    return tuple(sorted({INDEX[word] for word in words}))


def to_json(plan):
    # Seeds have 64 bits, integers of many JSON readers fewer.
    return {
        "version": tool.VERSION, "target": plan.target, "name": plan.name, "method": plan.method,
        "objective": plan.objective, "seed": str(plan.seed), "paper": plan.paper, "budget": plan.budget,
        "measurable": "+".join(plan.metrics), "also": "+".join(plan.also), "repeats": plan.repeats,
        "samples": plan.samples, "grid": list(plan.grid), "start": plan.start.text(),
        "params": [PARAMS[i] for i in plan.space.params], "highest": values_json(plan.space.highest),
        "initial": setting_json(plan.space.base), "what": plan.what, "command": plan.command,
    }


def whole(value, least):
    if type(value) is not int or value < least:
        raise ValueError
    return value


def text(value):
    if not isinstance(value, str):
        raise ValueError
    return value


def from_json(root):
    """The plan of an object. KeyError, ValueError, TypeError, AttributeError: it is none."""
    # Records of versions without a start: their climbs began at random; the initial setting was "found".
    begin = starts.parse(root.get("start", "random"))
    if root["method"] not in METHODS or root["objective"] not in OBJECTIVES or not begin:
        raise ValueError
    space = Space(params_from_json(root["params"]), values_from_json(root["highest"]),
                  setting_from_json(root["initial"] if "initial" in root else root["found"]))
    return Plan(text(root["target"]), text(root["name"]), root["method"], root["objective"], bool(root["paper"]),
                whole(root["budget"], 1), int(root["seed"]), whole(root["repeats"], 1), whole(root["samples"], 1),
                tuple(whole(v, 0) for v in root["grid"]), begin, space.params, space,
                metrics_from_text(root["measurable"]), metrics_from_text(root.get("also", "")), text(root["what"]),
                text(root["command"]))


def save_json(root, folder, name):
    """Writes a file beside the record whole, or not at all: into a file that is renamed."""
    path = os.path.join(folder, name)
    try:
        with open(path + ".new", "w", encoding="utf8") as f:
            json.dump(root, f, indent=1, ensure_ascii=False)
            f.write("\n")
            f.flush()
            os.fsync(f.fileno())
        os.rename(path + ".new", path)
    except OSError as e:
        raise Failed("%s: cannot be written: %s" % (path, reason(e))) from e


def load_json(path):
    try:
        with open(path, encoding="utf8") as f:
            return json.load(f)
    except json.JSONDecodeError as e:
        raise Failed("%s: line %d: %s" % (path, e.lineno, e.msg)) from e
    except (OSError, UnicodeDecodeError) as e:
        raise Failed("%s: cannot be read: %s" % (path, e)) from e


def load(folder):
    path = os.path.join(folder, RUN)
    try:
        os.stat(path)
    except OSError as e:
        raise Failed("%s holds no record of weft-tune (%s: %s)" % (folder, RUN, reason(e))) from e
    try:
        return from_json(load_json(path))
    except (KeyError, ValueError, TypeError, AttributeError) as e:
        raise Failed("%s: is not what weft-tune writes there" % path) from e
