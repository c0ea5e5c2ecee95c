# SPDX-License-Identifier: BSD-3-Clause
"""Base of the groups of bench.py: commands pinned to CPUs, namespaces, a weftd, and rows made of
windows.
"""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("WEFT_BUILD", "build")
BIN = os.environ.get("WEFT_BIN", BUILD + "/bin")
LAST_CPU = os.cpu_count() - 1
CLIENT_CPU = "0"
TAG = "wb%d" % os.getpid()


class Failed(Exception):
    pass


def run(*cmd, cpu=CLIENT_CPU, check=True, timeout=120):
    """The standard output of a command pinned to a CPU (None: anywhere)."""
    pin = ["taskset", "-c", cpu] if cpu is not None else []
    p = subprocess.run(pin + [str(c) for c in cmd], capture_output=True, text=True, timeout=timeout)
    if check and p.returncode:
        raise Failed("%s: exit %d: %s" % (" ".join(map(str, cmd)), p.returncode, p.stderr.strip()[-300:]))
    return p.stdout


def setup_of(options, crc, link_mtu):
    """Describes in a row a weftd that is started with these options: its wire, the MTU, whether CRC32Cs are made and checked
    between its NICs, the CPUs of the machine and weftd's. On a netdev they always are."""
    def value(name, default):
        given = [str(v) for n, v in zip(options, options[1:]) if n == name]
        return given[-1] if given else default

    switch = "--nics" in options
    wire = "switch" if switch else "veth, " + value("--netdev", "auto")
    cores = sorted({words.split(":")[0] for words in value("--cores", str(LAST_CPU)).split(",")})
    setup = {"wire": wire, "mtu": int(value("--mtu", link_mtu)), "crc": crc if switch else "on", "cpus": os.cpu_count(),
             "weftd_cpus": ",".join(cores)}
    if "--mpa-crc" in options:
        setup["mpa_crc"] = value("--mpa-crc", "on")
    return setup


class Env:
    """Environment of the rows: namespaces with a veth between them, and a weftd; all is removed at
    the end."""

    def __init__(self, args, crc="on"):
        self.args = args
        self.crc = crc  # between NICs of one weftd: weftd --crc
        self.setup = {}  # of the weftd that was started last: setup_of()
        self.link_mtu = 1500  # of the last veth
        self.switched = False  # a weftd with NICs on the switch was started
        self.stamps = False  # messages of bandwidth were made with weft-bench --stamps
        self.dir = tempfile.mkdtemp(prefix="weft-bench-")
        self.children = []
        self.spaces = []

    def close(self):
        for p in self.children:
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
        for p in self.children:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
        self.children = []
        for ns in self.spaces:
            subprocess.run(["ip", "netns", "del", ns], stderr=subprocess.DEVNULL)
        self.spaces = []
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir, exist_ok=True)

    def netns(self, name):
        ns = TAG + name
        run("ip", "netns", "add", ns, cpu=None)
        self.spaces.append(ns)
        run("ip", "-n", ns, "link", "set", "lo", "up", cpu=None)
        return ns

    def veth(self, mtu, offloads=True, same=False):
        """Two namespaces with a veth and addresses 10.78.0.1 and .2, or one with both ends."""
        self.link_mtu = mtu
        a = self.netns("a")
        b = a if same else self.netns("b")
        run("ip", "link", "add", "va", "netns", a, "mtu", mtu, "type", "veth", "peer", "name", "vb", "netns", b,
            "mtu", mtu, cpu=None)
        for ns, dev, ip in ((a, "va", "10.78.0.1/24"), (b, "vb", "10.78.0.2/24")):
            if not same:
                run("ip", "-n", ns, "addr", "add", ip, "dev", dev, cpu=None)
            run("ip", "-n", ns, "link", "set", dev, "up", cpu=None)
            if not offloads:
                run("ip", "netns", "exec", ns, "ethtool", "-K", dev, "tso", "off", "gso", "off", "gro", "off", "tx",
                    "off", cpu=None)
        return a, b

    def spawn(self, cmd, ready, ns=None, cpu=None):
        pre = ["ip", "netns", "exec", ns] if ns else []
        pre += ["taskset", "-c", cpu] if cpu is not None else []
        p = subprocess.Popen(pre + [str(c) for c in cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(p)
        seen = []
        for line in p.stdout:
            seen.append(line)
            if ready in line:
                return p
        raise Failed("%s did not start: %s" % (cmd[0], "".join(seen)[-500:]))

    def weftd(self, *options, ns=None, own=True):
        """own: on the last CPU, which the programs leave to it; else as by default, where they have all CPUs."""
        cmd = [BIN + "/weftd", "--run-dir", self.dir] + (["--cores", LAST_CPU, "--own-core"] if own else []) + list(options)
        # The veth in the comparison has MTU 1500, and the switch 9216 by default; rows of another
        # MTU name it.
        if "--nics" in options and "--mtu" not in options:
            cmd += ["--mtu", "1500"]
        # Rows of record compute and check every CRC32C, as a wire would.
        if "--nics" in options:
            self.switched = True
            if self.crc == "on":
                cmd += ["--crc", "on"]
        self.setup = setup_of(cmd, self.crc, self.link_mtu)
        return self.spawn(cmd, "ready", ns=ns)

    def bench(self, *options, cpu=CLIENT_CPU):
        return json.loads(run(BIN + "/weft-bench", *options, "--run-dir", self.dir, "--json", cpu=cpu))

    def seconds(self):
        return str(self.args.seconds)


def say(text):
    """A line that is overwritten, on a terminal only."""
    if sys.stderr.isatty():
        print("\r\033[K" + text, end="", file=sys.stderr, flush=True)


def windows_row(name, unit, values, bases, **more):
    """One row of windows that were measured in turn."""
    ratios = [v / b for v, b in zip(values, bases)]
    value, base = statistics.median(values), statistics.median(bases)
    return dict({"name": name, "value": value, "unit": unit, "baseline": base, "ratio": value / base,
                 "min": min(ratios), "max": max(ratios)}, **more)


def in_turn(env, name, unit, measure, baseline):
    """One row: measure() and baseline() in turn."""
    values, bases = [], []
    measure(), baseline()  # warm
    for _ in range(env.args.windows):
        values.append(measure())
        bases.append(baseline())
    return windows_row(name, unit, values, bases, **env.setup)
