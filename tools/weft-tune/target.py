# SPDX-License-Identifier: BSD-3-Clause
"""A target, where settings are set and measured: a process of weft-measure that lives as long as the run.

Requests and answers are lines of JSON (tools/weft-measure/README.md). The process puts the initial settings back when
its input ends, also after weft-tune has died.
"""
import errno
import json
import signal
import subprocess

import plan as plans
import tool
from space import PARAMS, Setting, in_order
from tool import Failed, Stopped


class Target:
    def __init__(self, kind, name):
        """Opens it: kind is "sim", "device" or "netdev"."""
        try:
            self.process = subprocess.Popen([tool.MEASURE, kind] + ([name] if name else []), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True, encoding="utf8")
        except OSError as e:
            raise Failed("%s cannot be started: %s (it is built with weft-irqs' packages)" %
                         (tool.MEASURE, tool.reason(e))) from e
        try:
            about = self.answer()
        except (Failed, Stopped):
            self.close()
            raise
        self.what = about["what"]  # a line or two about what is measured where, for the report
        self.metrics = in_order(about["metrics"])  # that it can measure
        self.noise_free = about["noise_free"]  # a repeat with the same seed would be a copy
        self.modes = about["modes"]
        self.params = tuple(i for i, word in enumerate(PARAMS) if word in about["highest"])
        self.highest = tuple(about["highest"].get(word, 0) for word in PARAMS)
        self.initial = Setting(tuple(about["initial"][word] for word in PARAMS))

    def answer(self):
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise Failed("weft-measure has died, so the settings may not be as they were (exit status %s)" %
                         self.process.wait())
        answer = json.loads(line)
        if "error" not in answer:
            return answer
        if answer["errno"] == errno.EINTR:
            raise Stopped
        raise Failed(answer["error"])

    def ask(self, request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # answer() finds that the process is gone
        return self.answer()

    def measure(self, setting, metrics, effort, seed):
        """The metrics, by name, and how many seconds it took."""
        answer = self.ask({"setting": setting_words(setting), "metrics": metrics, "effort": effort, "seed": str(seed)})
        return {m: float(v) for m, v in answer["result"].items()}, answer["took_s"]

    def apply(self, setting):
        """Sets it for good: it is not put back at the end."""
        self.ask({"setting": setting_words(setting), "keep": True})

    def restore(self):
        """Puts the initial settings back, those that stood when the target was opened."""
        self.ask({"restore": True})

    def interrupt(self):
        """From a signal's handler: the measurement that runs ends early, and no further one begins."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has died, which the last answer said
        self.process.stdout.close()
        self.process.wait()


def setting_words(setting):
    return {**plans.values_json(setting.param), "mode": setting.mode}
