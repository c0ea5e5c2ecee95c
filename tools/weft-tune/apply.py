# SPDX-License-Identifier: BSD-3-Clause
"""`weft-tune apply`: the best setting of a run, set for good."""
from result import best_of
from space import PARAMS
from tool import Failed


def by_hand(target, name, setting, params):
    """The command that sets the same by hand."""
    name, words = name.split("@")[0], setting.text(params)
    if target == "netdev":
        return "ethtool -C %s %s" % (name, words)
    return "weftctl coalesce %s set %s" % (name if target == "device" else "weft0", words)


def settable(best, params, target):
    """The parameters that can be set there, of those that count."""
    for i in params:
        if i not in target.params and best.param[i]:
            raise Failed("%s cannot be set there; the run was made with it at %d" % (PARAMS[i], best.param[i]))
        if i in target.params and best.param[i] > target.highest[i]:
            raise Failed("%s is at most %d there, the best is %d" % (PARAMS[i], target.highest[i], best.param[i]))
    return tuple(i for i in params if i in target.params)


def apply(options, open_target, out):
    """open_target(kind, name): a Target. out: where it says what was set."""
    plan = options.plan
    best, params = best_of(options.path, options.objective)
    if options.dry_run:
        out.write("would set: %s\n" % by_hand(plan.target, plan.name, best, params))
        return
    target = open_target(plan.target, plan.name)
    try:
        params = settable(best, params, target)
        # A parameter that the run did not vary stays as it is.
        now = target.initial.having({i: best.param[i] for i in params})
        target.apply(now)
    finally:
        target.close()
    out.write("%s: %s\n" % (plan.name.split("@")[0], now.text(params)))
