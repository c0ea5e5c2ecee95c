#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make overhead-table: what a message costs the host, by weft and by the kernel's UDP and TCP; the table of docs/host-overhead.md.

Two processes that block for each message, both on the first CPU; weftd on the last. weft-irqs counts both of them while they run, once for a
few messages and once for many: the difference belongs to the messages alone. Calls weftd, weft-bench,
weftctl, block_base, weft-irqs.

usage: overhead.py [--draw-only] [--quick] [DIR]     DIR: the docs folder (docs); --quick: few messages, one round
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

from harness import BIN, CLIENT_CPU, Env, Failed, run, say
from figures import measured_on, number, pick, put, read, table, write

# Messages of the short and of the long run.
COUNTS = {64: (2000, 22000), 65536: (500, 4500)}
ROUNDS = 3
FIGURES = ("wakeups", "switches", "net_softirqs", "softirqs", "cpu_us", "nic_us", "wake_p50_us", "wake_p99_us")
PINNED = ["taskset", "-c", CLIENT_CPU]


def counted(env, options, command):
    """Counts of weft-irqs: its JSON."""
    path = env.dir + "/irqs.json"
    p = subprocess.run(PINNED + [BIN + "/weft-irqs", "--json", "-o", path, *options, "--", *map(str, command)], text=True,
                       capture_output=True, timeout=60)
    if p.returncode:
        raise Failed("%s: exit %d: %s" % (" ".join(map(str, command)), p.returncode, p.stderr.strip()[-300:]))
    with open(path, encoding="utf8") as f:
        return json.load(f)


def of_host(counts, nic=None):
    """Sums over the two ends, without weftd; times from being woken to running as buckets."""
    sums = dict.fromkeys(("wakeups", "switches", "net_softirqs", "softirqs", "cpu_us", "nic_us"), 0)
    buckets = {}
    for p in counts["processes"]:
        if p["pid"] == nic:
            sums["nic_us"] += p["cpu_ns"] / 1e3
            continue
        sums["wakeups"] += p["wakeups"]
        sums["switches"] += p["voluntary"] + p["involuntary"]
        sums["net_softirqs"] += p["softirqs"]["NET_RX"] + p["softirqs"]["NET_TX"]
        sums["softirqs"] += sum(p["softirqs"].values())
        sums["cpu_us"] += p["cpu_ns"] / 1e3
        for low, n in p["wake_latency"]["buckets"]:
            buckets[low] = buckets.get(low, 0) + n
    return sums, buckets


def quantile_us(buckets, q):
    """The middle of the bucket: its width is a quarter of a power of two."""
    rank, below = q * sum(buckets.values()), 0
    for low, n in sorted(buckets.items()):
        below += n
        if below >= rank and n:
            return (low + (1 << max(low.bit_length() - 3, 0)) / 2) / 1e3
    return 0.0


def per_message(measure, counts, ways):
    """measure(n) for few and many messages; ways: messages that an iteration is."""
    (few, _), (many, buckets) = measure(counts[0]), measure(counts[1])
    row = {k: (many[k] - few[k]) / (counts[1] - counts[0]) / ways for k in many}
    row["wake_p50_us"], row["wake_p99_us"] = quantile_us(buckets, 0.5), quantile_us(buckets, 0.99)
    return row


class Weft:
    """Two NICs; a server and a client of weft-bench."""

    def __init__(self, env):
        self.env = env
        self.weftd = env.weftd("--nics", "2")
        self.port = 18600

    def measure(self, pattern, size, n):
        self.port += 1
        mode = ["lat" if pattern == "ping-pong" else "bw", "--size", size, "--event", "--run-dir", self.env.dir, "--port",
                self.port]
        if pattern != "ping-pong":
            mode += ["--window", "16", "--stamps"]
        server = self.env.spawn(PINNED + [BIN + "/weft-bench", *map(str, mode), "--server", "--device", "weft1"], "listening")
        # taskset has become weft-bench: its pid.
        c = counted(self.env, ["--waker", "weftd", "--pid", "%d,%d" % (server.pid, self.weftd.pid)],
                    [BIN + "/weft-bench", *mode, "--device", "weft0", "--connect", "127.0.0.1", "--iters", n])
        server.wait(10)
        self.env.children.remove(server)
        return of_host(c, self.weftd.pid)


class Kernel:
    def __init__(self, env, proto):
        self.env, self.proto = env, proto
        self.spaces = env.veth(1500)

    def measure(self, pattern, size, n):
        if self.proto == "udp":
            size = min(size, 65507)
        c = counted(self.env, [], [BIN + "/block_base", self.proto, pattern.replace("-", ""), self.spaces[0], "10.78.0.1",
                                   self.spaces[1], "10.78.0.2", size, n])
        return of_host(c)


def adaptive(env, on):
    """Switches moderation on or off: weftctl coalesce, for every vector of both NICs."""
    for nic in ("weft0", "weft1"):
        run(BIN + "/weftctl", "coalesce", nic, "adaptive", "on" if on else "off", "--run-dir", env.dir)


def measure_all(args):
    cases = []
    for pattern in ("ping-pong", "stream"):
        cases += [(pattern, size, who) for size in COUNTS for who in ("weft", "weft, adaptive", "UDP", "TCP")
                  if pattern == "stream" or who != "weft, adaptive"]
    rounds = {c: [] for c in cases}
    args.seconds = 1
    for _ in range(1 if args.quick else ROUNDS):
        for who in ("weft", "weft, adaptive", "UDP", "TCP"):
            env = Env(args)
            try:
                end = Weft(env) if who.startswith("weft") else Kernel(env, who.lower())
                if who == "weft, adaptive":
                    adaptive(env, True)
                for case in [c for c in cases if c[2] == who]:
                    say("overhead.py: %s of %d bytes, %s" % case)
                    counts = [max(n // 10, 20) for n in COUNTS[case[1]]] if args.quick else COUNTS[case[1]]
                    rounds[case].append(per_message(lambda n, c=case: end.measure(c[0], c[1], n), counts,
                                                    2 if case[0] == "ping-pong" else 1))
            finally:
                env.close()
                os.rmdir(env.dir)
    say("")
    rows = []
    for (pattern, size, who), got in rounds.items():
        row = {"pattern": pattern, "size": size, "who": who}
        for k in FIGURES:
            values = [g[k] for g in got]
            row.update({k: statistics.median(values), k + "_min": min(values), k + "_max": max(values)})
        rows.append(row)
    return rows


def small(row, name):
    """A figure with how far the rounds lay apart; the noise of nothing is nothing."""
    value = row[name]
    if abs(value) < 0.005 and row[name + "_max"] < 0.02:
        return "0"
    return "%s (%s to %s)" % tuple("%.2f" % row[name + s] if abs(row[name + s]) < 10 else number(row[name + s])
                                   for s in ("", "_min", "_max"))


def draw(rows, on, docs):
    head = ["bytes", "", "wake-ups", "switches", "network softirqs", "CPU of programs [us]", "NIC's core [us]",
            "woken to running p50 [us]", "p99 [us]"]
    for pattern in ("ping-pong", "stream"):
        body = [["%d" % r["size"], r["who"], small(r, "wakeups"), small(r, "switches"), small(r, "net_softirqs"),
                 small(r, "cpu_us"), small(r, "nic_us") if r["who"].startswith("weft") else "",
                 small(r, "wake_p50_us"), small(r, "wake_p99_us")] for r in pick(rows, pattern=pattern)]
        put(docs + "/host-overhead.md", "overhead_" + pattern, on + table(head, body))


def main():
    p = argparse.ArgumentParser(prog="overhead.py")
    p.add_argument("--draw-only", action="store_true")
    p.add_argument("--quick", action="store_true")
    p.add_argument("dir", nargs="?", default="docs")
    args = p.parse_args()
    path = args.dir + "/pictures/host_overhead.tsv"
    try:
        if not args.draw_only:
            write(path, measure_all(args))
        draw(read(path), measured_on(path), args.dir)
    except Failed as e:
        sys.exit("overhead.py: %s" % e)
    except OSError as e:
        sys.exit("overhead.py: %s: %s" % (e.filename, e.strerror))


if __name__ == "__main__":
    main()
