# SPDX-License-Identifier: BSD-3-Clause
"""A weftd of two NICs at the built-in switch, and programs beside it: memory.py, iwarp.py, tuning.py and
wakes.py measure with it.

Environment: WEFT_BIN (where the programs are).
"""
import json
import os
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ.get("WEFT_BIN", "build/bin"))


def result(process):
    """Returns its output; ends this program when it fails, or has not ended in five minutes."""
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    if process.returncode:
        sys.exit("%s failed:\n%s" % (" ".join(process.args), err[-1500:]))
    return out


class Nics:
    """weftd in a folder of its own, polling on the last CPU; the others are for programs."""

    def __init__(self, mtu, *options):
        self.options = ["--mtu", str(mtu), *options]

    def __enter__(self):
        cpus = sorted(os.sched_getaffinity(0))
        self.tmp = tempfile.TemporaryDirectory()
        self.dir = self.tmp.name
        self.pin = ["taskset", "-c", ",".join(map(str, cpus[:-1] or cpus))]
        self.env = dict(os.environ, WEFT_RUN_DIR=self.dir)
        self.weftd = subprocess.Popen(
            [BIN + "/weftd", "--nics", "2", "--cores", str(cpus[-1]), "--run-dir", self.dir, *self.options],
            stdout=subprocess.PIPE, stderr=open(self.dir + "/weftd.log", "w", encoding="utf8"), text=True)
        if "ready" not in self.weftd.stdout.readline():
            self.weftd.terminate()
            self.weftd.wait()
            with open(self.dir + "/weftd.log", encoding="utf8") as f:
                sys.exit("weftd does not start: %s/weftd --nics 2 %s\n%s" % (BIN, " ".join(self.options), f.read()[-1500:]))
        return self

    def __exit__(self, *_):
        self.weftd.terminate()
        self.weftd.wait()
        self.tmp.cleanup()

    def start(self, *words, env=None, everywhere=False):
        """A program; everywhere: on all CPUs."""
        return subprocess.Popen(([] if everywhere else self.pin) + [str(w) for w in words], env=env or self.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def bench(self, *words, everywhere=False):
        """weft-bench's JSON."""
        return json.loads(result(self.start(BIN + "/weft-bench", *words, "--json", everywhere=everywhere)))
