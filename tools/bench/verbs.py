# SPDX-License-Identifier: BSD-3-Clause
"""The groups verbs_* of bench.py: perftest over weft's NICs, unchanged, beside qperf over the
kernel's sockets.

perftest runs under weft-run, its two processes on the first CPU and weftd on the last one;
qperf's two processes run where the kernel puts them, in two namespaces with a veth between.
Latency is one way (half a round trip), the mean, as both programs report it. Imported by
bench.py.
"""
import os
import shutil
import subprocess
import time

from harness import BIN, CLIENT_CPU, Failed, in_turn, run

UNITS = {"us": 1.0, "ns": 1e-3, "ms": 1e3, "GB/sec": 8.0, "MB/sec": 8e-3, "KB/sec": 8e-6}
QPERF_PORT = 21000 + os.getpid() % 10000


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Failed("%s is not installed (tools/deps.sh bench)" % p)


def until_it_listens(port, ns=None):
    pre = ["ip", "netns", "exec", ns] if ns else []
    for _ in range(200):
        if run(*pre, "ss", "-Hltn", "sport = :%d" % port, cpu=None).strip():
            return
        time.sleep(0.05)
    raise Failed("nobody listens on port %d" % port)


class Qperf:
    """A qperf server in one namespace; the other namespace requests the figures."""

    def __init__(self, env, spaces):
        self.env, self.ns = env, spaces[0]
        p = subprocess.Popen(["ip", "netns", "exec", spaces[1], "qperf", "-lp", str(QPERF_PORT)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        env.children.append(p)
        until_it_listens(QPERF_PORT, spaces[1])

    def figure(self, test, size):
        """Microseconds of *_lat, Gb/s of *_bw (what was received)."""
        seconds = max(1, round(self.env.args.seconds))  # whole ones are all it knows
        out = run("ip", "netns", "exec", self.ns, "qperf", "-lp", QPERF_PORT, "-t", seconds, "-m", size, "10.78.0.2",
                  test, cpu=None)
        words = [line.split() for line in out.splitlines() if "=" in line]
        if not words:
            raise Failed("qperf %s: %s" % (test, out.strip()))
        return float(words[-1][2]) * UNITS[words[-1][3]]


def perftest(env, program, nics, *options):
    """The words of the line of figures of a client on nics[0] and a server on nics[1]."""
    perftest.port = getattr(perftest, "port", 31000 + os.getpid() % 10000) + 1
    cmd = ["taskset", "-c", CLIENT_CPU, BIN + "/weft-run", "--run-dir", env.dir, "--transport", "ib", program, "-F", "-p",
           str(perftest.port)] + [str(o) for o in options]
    server = subprocess.Popen(cmd + ["-d", nics[1]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.children.append(server)
    until_it_listens(perftest.port)
    out = run(*cmd, "-d", nics[0], "127.0.0.1", cpu=None)
    if server.wait(60):
        raise Failed("%s: the server ended with exit status %d" % (program, server.returncode))
    lines = [line.split() for line in out.splitlines() if line.split() and line.split()[0].isdigit()]
    if not lines:
        raise Failed("%s: %s" % (program, out.strip()[-300:]))
    return lines[-1]


def send_lat(env, nics, num):
    """t_avg: qperf reports the mean, too."""
    return float(perftest(env, "ib_send_lat", nics, "-s", 64, "-n", num)[5])


def write_bw(env, nics, num):
    return float(perftest(env, "ib_write_bw", nics, "-s", 65536, "-n", num, "--report_gbits")[3])


def socket_lat(qperf):
    return min(qperf.figure("udp_lat", 64), qperf.figure("tcp_lat", 64))


def over_switch(env):
    """Two NICs of one weftd, against sockets over a veth."""
    need("ib_send_lat", "qperf", "ss")
    rows, nics = [], ("weft0", "weft1")
    for mtu, suffix in ((9000, ""), (1500, "_mtu1500")):
        env.close()
        qperf = Qperf(env, env.veth(mtu))
        env.weftd("--nics", "2", "--mtu", mtu)
        if not suffix:
            rows.append(in_turn(env, "verbs_send_64_lat", "us", lambda: send_lat(env, nics, 20000),
                                lambda q=qperf: socket_lat(q)))
        rows.append(in_turn(env, "verbs_write_64k_bw" + suffix, "Gb/s", lambda: write_bw(env, nics, 20000),
                            lambda q=qperf: qperf_bw(q)))
    return rows


def qperf_bw(qperf):
    return qperf.figure("tcp_bw", 65536)


def over_veth(env):
    """Two NICs of one weftd that are the ends of a veth, against sockets over a veth like it."""
    need("ib_send_lat", "qperf", "ss")
    rows = []
    for mtu in (1500, 9000):
        env.close()
        qperf = Qperf(env, env.veth(mtu))
        wire = env.netns("w")
        run("ip", "-n", wire, "link", "add", "wa", "mtu", mtu, "type", "veth", "peer", "name", "wb", "mtu", mtu, cpu=None)
        for dev in ("wa", "wb"):
            run("ip", "-n", wire, "link", "set", dev, "up", cpu=None)
            run("ip", "netns", "exec", wire, "ethtool", "-K", dev, "tx", "off", cpu=None)
        env.weftd("--port", "wa", "--ip", "10.79.0.1/24", "--port", "wb", "--ip", "10.79.0.2/24", "--mtu", mtu, ns=wire)
        if mtu == 1500:
            rows.append(in_turn(env, "verbs_send_64_lat_veth", "us", lambda: send_lat(env, ("weft0", "weft1"), 20000),
                                lambda q=qperf: socket_lat(q)))
        rows.append(in_turn(env, "verbs_write_64k_bw_veth%d" % mtu, "Gb/s",
                            lambda: write_bw(env, ("weft0", "weft1"), 2000), lambda q=qperf: qperf_bw(q)))
    return rows


GROUPS = {"verbs_switch": over_switch, "verbs_veth": over_veth}
GOALS = {"verbs_send_64_lat": "<= 0.6", "verbs_write_64k_bw": ">= 1.2"}
