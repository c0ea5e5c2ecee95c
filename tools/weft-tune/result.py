# SPDX-License-Identifier: BSD-3-Clause
"""result.json and measurements.json, for programs: best settings, references, and every measurement."""
import json
import math
import os

import plan as plans
import record as records
from plan import number_json, setting_json
from space import OBJECTIVES, PARAMS
from stats import Fit
from tool import Failed, reason
from verdict import ALPHA

RESULT = "result.json"
MEASUREMENTS = "measurements.json"


def figure_json(figure):
    return {"measurements": figure.num, **{k: number_json(getattr(figure, k)) for k in ("median", "mad", "low", "high")}}


def choice_json(choice):
    if not choice:
        return None
    return {"setting": setting_json(choice.setting), "is_initial": choice.initial,
            "metrics": {m: figure_json(f) for m, f in choice.figures.items()}}


def versus_json(versus):
    if math.isnan(versus.differ.p):
        return None
    return {"p": versus.differ.p, "shift": number_json(versus.differ.shift), "share": number_json(versus.share),
            "distinct": versus.distinct}


def verdict_json(v):
    root = {"method": v.method, "objective": v.objective, "measurements": v.searched, "final_measurements": v.finals,
            "effort": number_json(v.effort), "took_s": number_json(v.took_s), "verified": v.verified,
            "best": choice_json(v.best()), "beside_initial": versus_json(v.versus_initial)}
    if v.references:
        root["references"] = [{**choice_json(c), "reference": records.REFERENCES[c.phase][0]} for c in v.references]
    # Without an end these would be all that was measured: measurements.json has that.
    if v.verified:
        root["finals"] = [choice_json(c) for c in v.choices]
    if v.objective == "pareto":
        root["front"] = [choice_json(c) for c in v.front]
    if v.climbs:
        root["hill"] = v.climbs._asdict()
    return root


def model_json(model):
    fit: Fit = model.fit
    names = ("constant", *(PARAMS[i] for i in model.params))
    columns = {name: {"coefficient": number_json(b), "standard_error": number_json(error), "t": number_json(t),
                      "p": number_json(p), "significant": p < ALPHA}
               for name, b, error, t, p in zip(names, fit.b, fit.error, fit.t, fit.p)}
    return {"metric": model.metric, "settings": fit.rows, "coefficients": columns, "r_squared": number_json(fit.r2),
            "adjusted_r_squared": number_json(fit.adjusted_r2), "residual_standard_error": number_json(fit.residual),
            "model_p": number_json(fit.f_p)}


def comparison_json(comparison):
    return {"latency": choice_json(comparison.optima[0]), "bandwidth": choice_json(comparison.optima[1]),
            "difference": {m: versus_json(v) for m, v in comparison.versus.items()}}


def best_json(analysis):
    found = {o: analysis.best(o) for o in OBJECTIVES}
    return {o: {**choice_json(v.best()), "method": v.method} for o, v in found.items() if v}


def result_json(analysis, complete):
    """All results. complete: the run reached its end."""
    root = {"plan": plans.to_json(analysis.plan), "complete": complete, "measurements": len(analysis.entries),
            "best": best_json(analysis), "searches": [verdict_json(v) for v in analysis.verdicts],
            "linear_models": [model_json(m) for m in analysis.models]}
    if analysis.comparison:
        root["optima_side_by_side"] = comparison_json(analysis.comparison)
    return root


def entry_json(e):
    return {"method": e.method, "objective": e.objective, "phase": e.phase, "step": e.step, "candidate": e.candidate,
            "repeat": e.repeat, "seed": str(e.seed), "effort": e.effort, "setting": setting_json(e.setting),
            "result": e.result, "unix_time_s": e.when_s, "took_s": e.took_s}


def save(analysis, complete, folder):
    """Writes both files."""
    path = os.path.join(folder, MEASUREMENTS)
    lines = (json.dumps(entry_json(e), ensure_ascii=False, separators=(",", ":")) for e in analysis.entries)
    try:
        with open(path, "w", encoding="utf8") as f:
            f.write("[\n")
            for i, line in enumerate(lines):
                f.write((",\n" if i else "") + line)
            f.write("\n]\n" if analysis.entries else "]\n")
    except OSError as e:
        raise Failed("%s: cannot be written: %s" % (path, reason(e))) from e
    plans.save_json(result_json(analysis, complete), folder, RESULT)


def is_complete(folder, num):
    """True when the folder has the result of a run that reached its end with so many measurements."""
    try:
        root = plans.load_json(os.path.join(folder, RESULT))
        return root["complete"] is True and root["measurements"] == num
    except (Failed, KeyError, TypeError):
        return False


def pick(best, objective, path):
    """The one that was asked for; the names of all in the error otherwise."""
    one = best.get(objective) if objective else next(iter(best.values())) if len(best) == 1 else None
    if not one:
        names = "".join(" " + name for name in best) or " nothing"
        raise Failed("%s has a best setting for%s: name one with --objective" % (path, names))
    return one


def best_of(path, objective):
    """The best setting for an objective in a result.json, or in a folder that has one, and the parameters that count.

    Without an objective the only setting that there is.
    """
    try:
        os.stat(path)
    except OSError as e:
        raise Failed("%s: %s" % (path, reason(e))) from e
    file = os.path.join(path, RESULT) if os.path.isdir(path) else path
    try:
        os.stat(file)
    except OSError as e:
        raise Failed("%s has no result (%s: %s): weft-tune --resume %s goes on with the run, weft-tune report %s takes "
                     "what there is" % (path, RESULT, reason(e), path, path)) from e
    root = plans.load_json(file)
    try:
        one = pick(root.get("best", {}), objective, file)
        return plans.setting_from_json(one["setting"]), plans.params_from_json(root["plan"]["params"])
    except (KeyError, ValueError, TypeError, AttributeError) as e:
        raise Failed("%s is not what weft-tune writes" % file) from e
