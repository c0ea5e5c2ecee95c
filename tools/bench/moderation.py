# SPDX-License-Identifier: BSD-3-Clause
"""The groups moderation_*: savings and costs of interrupt moderation for two processes that
block.

A client on weft0 and a server on weft1 of one weftd, both on the first CPU, both asleep until
the NIC's interrupt (weft-bench --event): a stream, and a ping-pong, of 64 B and of 64 KiB. Each
window measures without moderation, then adaptive, then with fixed limits. Interrupts of a
message are those of the end that has more of them, as the NICs count them (weftctl coalesce
--stats), with those of the beginning, when the engine has measured nothing yet. Imported by
bench.py.
"""
import json
import os
import subprocess
import time

from harness import BIN, CLIENT_CPU, Failed, run, windows_row

NICS = ("weft0", "weft1")
SIZES = {"64": 64, "64k": 65536}
SETTINGS = {
    "off": ("off",),
    "adaptive": ("adaptive", "on"),
    "fixed": ("set", "rx-usecs", 200, "rx-frames", 16, "tx-usecs", 200, "tx-frames", 16),
}


def weftctl(env, *options):
    return run(BIN + "/weftctl", "--run-dir", env.dir, *options)


def interrupts(env, nic):
    vectors = json.loads(weftctl(env, "coalesce", nic, "--stats", "--json"))
    return sum(v["interrupts"] for v in vectors)


def between(env, mode, size):
    """The client's figures, and the interrupts of each end per received message."""
    between.port = getattr(between, "port", 33000 + os.getpid() % 10000) + 1
    cmd = ["taskset", "-c", CLIENT_CPU, BIN + "/weft-bench", mode, "--event", "--run-dir", env.dir, "--port",
           str(between.port)]
    before = [interrupts(env, n) for n in NICS]
    server = subprocess.Popen(cmd + ["--server", "--device", NICS[1]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    env.children.append(server)
    for _ in range(200):
        if run("ss", "-Hltn", "sport = :%d" % between.port, cpu=None).strip():
            break
        time.sleep(0.05)
    client = run(*cmd[3:], "--connect", "127.0.0.1", "--device", NICS[0], "--size", size, "--duration",
                 max(1, env.args.seconds), "--json")
    if server.wait(60):
        raise Failed("weft-bench %s --server: %s" % (mode, server.stderr.read().strip()[-300:]))
    env.children.remove(server)
    figures = json.loads(client)
    messages = figures["received"] if "received" in figures else figures["iters"]
    figures["irqs_per_msg"] = max(interrupts(env, n) - b for n, b in zip(NICS, before)) / messages
    return figures


def measured(env, mode, size):
    """For each setting the figures of each window, in turn."""
    found = {name: [] for name in SETTINGS}
    for window in range(env.args.windows + 1):
        for name, words in SETTINGS.items():
            for nic in NICS:
                weftctl(env, "coalesce", nic, "off")  # "set" leaves the mode as it is
                weftctl(env, "coalesce", nic, *words)
            figures = between(env, mode, size)
            if window:  # the first is to warm up
                found[name].append(figures)
    return found


def rows_of(found, size, metrics):
    rows = []
    for name, unit, of in metrics:
        values = {s: [of(f) for f in figures] for s, figures in found.items()}
        for setting in ("adaptive", "fixed"):
            rows.append(windows_row("moderation_%s_%s%s" % (name, size, "" if setting == "adaptive" else "_fixed"), unit,
                                    values[setting], values["off"]))
    return rows


def group(size):
    def measure(env):
        env.close()
        env.weftd("--nics", "2")
        rows = rows_of(measured(env, "bw", SIZES[size]), size, (
            ("irqs_per_msg", "", lambda f: f["irqs_per_msg"]),
            ("bw", "M/s", lambda f: f["mmps"]),
        ))
        rows += rows_of(measured(env, "lat", SIZES[size]), size, (
            ("lat", "us", lambda f: f["latency_us"]["avg"]),
        ))
        return rows

    return measure


GROUPS = {"moderation_" + s: group(s) for s in SIZES}
GOALS = {}
for s in SIZES:
    GOALS["moderation_irqs_per_msg_" + s] = "value <= 0.1"
    GOALS["moderation_bw_" + s] = ">= 0.95"
    GOALS["moderation_lat_" + s] = "<= 1.1"
