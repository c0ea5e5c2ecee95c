#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench: each figure in turn with its baseline, in one run, as ratios with their spread.

weftd polls on the last CPU, clients and baselines run on the first. Rows are measured in
windows A B A B ...; value and baseline are medians of their windows, min and max are the
extreme ratios of neighbouring windows. Writes build/bench.json and prints a table.

usage: bench.py [--rows NAME,...] [--windows N] [--seconds S] [--list]
Environment: WEFT_BIN, WEFT_BUILD (set by make). Needs root: it makes network namespaces.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

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


class Env:
    """What rows need: namespaces with a veth between them, and a weftd; all is undone at the end."""

    def __init__(self, args):
        self.args = args
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

    def weftd(self, *options, ns=None):
        cmd = [BIN + "/weftd", "--run-dir", self.dir, "--cores", LAST_CPU, "--own-core"] + list(options)
        return self.spawn(cmd, "ready", ns=ns)

    def bench(self, *options, cpu=CLIENT_CPU):
        return json.loads(run(BIN + "/weft-bench", *options, "--run-dir", self.dir, "--json", cpu=cpu))

    def seconds(self):
        return str(self.args.seconds)


def udp(env, mode, spaces, *more, cpu=CLIENT_CPU):
    a, b = spaces
    return float(run(BIN + "/udp_base", mode, a, "10.78.0.1", b, "10.78.0.2", env.seconds(), *more, cpu=cpu))


def loop(env, what, *options):
    r = env.bench("loop", what, "--device", "weft0", "--device2", "weft1", "--duration", env.seconds(), *options)
    if r["errors"]:
        raise Failed("weft-bench found %d errors" % r["errors"])
    return r


def in_turn(env, name, unit, measure, baseline):
    """One row: measure() and baseline() in turn."""
    values, bases = [], []
    measure(), baseline()  # warm
    for _ in range(env.args.windows):
        values.append(measure())
        bases.append(baseline())
    ratios = [v / b for v, b in zip(values, bases)]
    value, base = statistics.median(values), statistics.median(bases)
    return {"name": name, "value": value, "unit": unit, "baseline": base, "ratio": value / base, "min": min(ratios),
            "max": max(ratios)}


def rtt(env):
    spaces = env.veth(1500)
    env.weftd("--nics", "2")
    return [in_turn(env, "rd_send_64_rtt", "us", lambda: loop(env, "lat")["rtt_us"]["typical"],
                    lambda: udp(env, "loop", spaces))]


def rtt_2p(env):
    spaces = env.veth(1500)
    env.weftd("--nics", "2")
    port = str(20000 + os.getpid() % 20000)

    def measure():
        server = subprocess.Popen(["taskset", "-c", CLIENT_CPU, BIN + "/weft-bench", "lat", "--server", "--port", port,
                                   "--device", "weft1", "--run-dir", env.dir], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        env.children.append(server)
        for _ in range(50):  # until it listens
            r = run(BIN + "/weft-bench", "lat", "--connect", "127.0.0.1", "--port", port, "--device", "weft0",
                    "--duration", env.seconds(), "--run-dir", env.dir, "--json", check=False)
            if r.strip():
                break
            time.sleep(0.1)
        server.wait(30)
        return json.loads(r)["rtt_us"]["typical"]

    def kernel():
        return min(udp(env, "pair", spaces, "spin", cpu=None), udp(env, "pair", spaces, "block", cpu=None))

    return [in_turn(env, "rd_send_64_rtt_2p", "us", measure, kernel)]


def rtt_veth(env):
    spaces = env.veth(1500)
    wire = env.netns("w")
    run("ip", "-n", wire, "link", "add", "wa", "type", "veth", "peer", "name", "wb", cpu=None)
    for dev in ("wa", "wb"):
        run("ip", "-n", wire, "link", "set", dev, "up", cpu=None)
        run("ip", "netns", "exec", wire, "ethtool", "-K", dev, "tx", "off", cpu=None)
    env.weftd("--port", "wa", "--ip", "10.79.0.1/24", "--port", "wb", "--ip", "10.79.0.2/24", ns=wire)
    return [in_turn(env, "rd_send_64_rtt_veth", "us", lambda: loop(env, "lat")["rtt_us"]["typical"],
                    lambda: udp(env, "loop", spaces))]


def rates(env):
    spaces = env.veth(1500)
    env.weftd("--nics", "2")
    rows = []
    for qp in ("ud", "rd"):
        row = in_turn(env, qp + "_send_64_rate", "msg/s", lambda q=qp: loop(env, "rate", "--qp", q)["mmps"] * 1e6,
                      lambda: udp(env, "rate", spaces))
        rows.append(row)
        # weft has two cores busy, the NIC's and the client's; the baseline one.
        half = dict(row, name=row["name"] + "_per_core", value=row["value"] / 2)
        for key in ("ratio", "min", "max"):
            half[key] = row[key] / 2
        rows.append(half)
    return rows


def iperf(env, spaces):
    a, b = spaces
    server = subprocess.Popen(["ip", "netns", "exec", b, "iperf3", "-s", "-1", "-B", "10.78.0.2"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.children.append(server)
    for _ in range(50):
        out = run("ip", "netns", "exec", a, "iperf3", "-c", "10.78.0.2", "-t", max(1, round(env.args.seconds)), "-J",
                  cpu=None, check=False)
        result = json.loads(out or "{}")
        if "end" in result and "sum_received" in result["end"]:
            server.wait(10)
            return result["end"]["sum_received"]["bits_per_second"] / 1e9
        time.sleep(0.1)
    raise Failed("iperf3: " + result.get("error", "no answer"))


def bandwidth(env):
    rows = []

    def one(op):
        return loop(env, "bw", "--op", op, "--size", "1M")["gbps"]

    for offloads, suffix in ((True, ""), (False, "_nooffload")):
        env.close()
        spaces = env.veth(9000, offloads)
        env.weftd("--nics", "2", "--mtu", "9000")
        rows.append(in_turn(env, "rd_write_1m_bw" + suffix, "Gb/s", lambda: one("write"),
                            lambda s=spaces: iperf(env, s)))
        if offloads:
            rows.append(in_turn(env, "rd_read_1m_bw", "Gb/s", lambda: one("read"), lambda s=spaces: iperf(env, s)))
            rows.append(in_turn(env, "rd_write_1m_bw_memcpy", "Gb/s", lambda: one("write"),
                                lambda: float(run(BIN + "/memcpy_base", env.seconds(), cpu=str(LAST_CPU)))))
    return rows


def loss(env):
    """Share of the lossless goodput that is kept at 1 % loss on a 10 Gb/s line."""
    def goodput(percent):
        env.close()
        env.weftd("--nics", "2", "--rate-gbps", "10", "--loss", percent)
        return loop(env, "bw", "--op", "write", "--size", "64K")["gbps"]

    return [in_turn(env, "rd_goodput_loss_1pct", "Gb/s", lambda: goodput("1"), lambda: goodput("0"))]


def memory(env):
    rows = []
    d = env.weftd("--nics", "2")
    qp = env.bench("mem", "--pid", str(d.pid), "--qps", "2000", "--device", "weft0")["bytes_each"]
    rows.append({"name": "idle_qp_bytes", "value": qp, "unit": "bytes", "baseline": 2048, "ratio": qp / 2048,
                 "min": qp / 2048, "max": qp / 2048})
    env.close()
    a, b = env.veth(1500)
    run("ip", "netns", "exec", a, "ethtool", "-K", "va", "tx", "off", cpu=None)
    here = os.path.dirname(os.path.abspath(__file__))
    env.spawn([sys.executable, here + "/peers.py", "vb", "10.90.0.0/16"], "ready", ns=b)
    d = env.spawn(["env", BIN + "/weftd", "--run-dir", env.dir, "--cores", LAST_CPU, "--port", "va", "--ip",
                   "10.90.0.1/16", "--netdev", "packet"], "ready", ns=a)
    peer = env.bench("mem", "--pid", str(d.pid), "--peers", "1000", "--peer-ip", "10.90.1.1", "--device",
                     "weft0")["bytes_each"]
    rows.append({"name": "idle_peer_bytes", "value": peer, "unit": "bytes", "baseline": 1024, "ratio": peer / 1024,
                 "min": peer / 1024, "max": peer / 1024})
    return rows


def create(env):
    """1,000 queue pairs with a completion queue each, against as many UDP sockets in one epoll."""
    env.weftd("--nics", "2")
    num, rows = 1000, []
    for i, what in enumerate(("create", "destroy")):
        rows.append(in_turn(env, what + "_1000_qps_ms", "ms", lambda w=what: env.bench(
            "create", "--qps", num, "--device", "weft0")[w + "_ms"], lambda n=i: float(run(
                BIN + "/socket_base", num).split()[n])))
    return rows


def stages(env):
    """Cycles per packet of each stage of the NIC; the row's value is their sum, "stages" holds each."""
    env.weftd("--nics", "2", "--mtu", "9000", "--stages")
    runs = env.bench("stages", "--device", "weft0", "--device2", "weft1", "--duration", env.seconds())["runs"]
    return [{"name": "stages_" + r["name"], "value": r["all"], "unit": "cycles", "baseline": 1, "ratio": r["all"],
             "min": r["all"], "max": r["all"], "idle_share": r["idle_share"], "stages": r["cycles_per_packet"]}
            for r in runs]


GROUPS = {"rtt": rtt, "rtt_2p": rtt_2p, "rtt_veth": rtt_veth, "rate": rates, "bw": bandwidth, "loss": loss,
          "memory": memory, "create": create, "stages": stages}
GOALS = {"rd_send_64_rtt": "<= 0.3", "rd_send_64_rtt_2p": "<= 0.7", "rd_send_64_rtt_veth": "<= 0.8",
         "ud_send_64_rate": ">= 8", "rd_send_64_rate": ">= 5", "rd_write_1m_bw": ">= 1.5", "rd_read_1m_bw": ">= 1.2",
         "rd_write_1m_bw_memcpy": ">= 0.4", "rd_goodput_loss_1pct": ">= 0.8", "idle_peer_bytes": "<= 1",
         "idle_qp_bytes": "<= 1"}


def say(text):
    if sys.stderr.isatty():
        print("\r\033[K" + text, end="", file=sys.stderr, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", default=os.environ.get("ROWS", ""), help="groups to measure: " + ", ".join(GROUPS))
    p.add_argument("--windows", type=int, default=int(os.environ.get("WINDOWS", "5")))
    p.add_argument("--seconds", type=float, default=1.0, help="length of a window")
    p.add_argument("--list", action="store_true", help="print the groups and end")
    args = p.parse_args()
    names = [n for n in args.rows.split(",") if n] or list(GROUPS)
    unknown = [n for n in names if n not in GROUPS]
    if args.list or unknown:
        print("groups: " + " ".join(GROUPS) if args.list else
              "bench.py: no group '%s'; there are %s" % (unknown[0], ", ".join(GROUPS)),
              file=sys.stdout if args.list else sys.stderr)
        return 0 if args.list else 2
    rows, failed = [], 0
    print("%-26s %12s %-6s %12s %8s %8s %8s  %s" % ("row", "value", "", "baseline", "ratio", "min", "max", "goal"))
    for i, name in enumerate(names):
        env = Env(args)
        say("[%d/%d] %s" % (i + 1, len(names), name))
        try:
            new = GROUPS[name](env)
        except (Failed, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as e:
            print("%s: %s: %s" % (name, type(e).__name__, e), file=sys.stderr)
            failed, new = failed + 1, []
        finally:
            env.close()
            shutil.rmtree(env.dir, ignore_errors=True)
        say("")
        for r in new:
            print("%-26s %12.3f %-6s %12.3f %8.3f %8.3f %8.3f  %s" % (
                r["name"], r["value"], r["unit"], r["baseline"], r["ratio"], r["min"], r["max"],
                GOALS.get(r["name"], "")), flush=True)
        rows += new
    path = BUILD + "/bench.json"
    with open(path, "w") as f:
        json.dump(rows, f, indent=1)
        f.write("\n")
    print("written to " + path)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
