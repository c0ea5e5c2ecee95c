#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make bench: each figure in turn with its baseline, in one run, as ratios with their spread.

weftd polls on the last CPU, clients and baselines run on the first. Rows are measured in
windows A B A B ...; value and baseline are medians of their windows, min and max are the
extreme ratios of neighbouring windows. Prints a table, and puts the rows into build/bench.json
(record.py): rows of other groups stay there.

Rows over weftd's switch are measured with CRC32Cs computed and checked (weftd --crc on): these are
the rows of record, and goals hold for them. Behind them stand the rows NAME_nocrc, without.

usage: bench.py [--rows NAME,...] [--windows N] [--seconds S] [--crc both|on|off] [--list]
Environment: WEFT_BIN, WEFT_BUILD (set by make). Needs root: it makes network namespaces.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import coll  # noqa: E402
import goal  # noqa: E402
import grow  # noqa: E402
import iwarp  # noqa: E402
import ladder  # noqa: E402
import moderation  # noqa: E402
import mpi  # noqa: E402
import record  # noqa: E402
import tag  # noqa: E402
import tag_mpi  # noqa: E402
import tune  # noqa: E402
import verbs  # noqa: E402
import veth  # noqa: E402
from harness import BIN, BUILD, CLIENT_CPU, LAST_CPU, Env, Failed, in_turn, run, say, setup_of


def udp(env, mode, spaces, *more, cpu=CLIENT_CPU):
    a, b = spaces
    return float(run(BIN + "/udp_base", mode, a, "10.78.0.1", b, "10.78.0.2", env.seconds(), *more, cpu=cpu))


def loop(env, what, *options):
    if what == "bw":
        options += ("--stamps",)
        env.stamps = True
    r = env.bench("loop", what, "--device", "weft0", "--device2", "weft1", "--duration", env.seconds(), *options)
    if r["errors"]:
        raise Failed("weft-bench found %d errors" % r["errors"])
    return r


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

    def at_mtu(mtu):
        env.close()
        env.weftd("--nics", "2", "--mtu", mtu)
        return one("write")

    rows.append(in_turn(env, "rd_write_1m_bw_mtu1500_of_9000", "Gb/s", lambda: at_mtu("1500"), lambda: at_mtu("9000")))
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
    # All in all: what weftd and the process need for one that was used once, pages that both have counted once.
    for name, goal_bytes, words in (("idle_qp", 2048, ["--qps", "2000", "--device", "weft0"]),
                                    ("idle_conn", 1536, ["--qp", "rc-tcp", "--qps", "1000", "--device", "weft0", "--device2", "weft1"])):
        got = env.bench("mem", "--pid", str(d.pid), *words)
        for suffix, key in (("_bytes", "all_bytes_each"), ("_weftd_bytes", "bytes_each")):
            rows.append(dict({"name": name + suffix, "value": got[key], "unit": "bytes", "baseline": goal_bytes,
                              "ratio": got[key] / goal_bytes, "min": got[key] / goal_bytes, "max": got[key] / goal_bytes},
                             **env.setup))
        if name == "idle_conn":
            # One of the two ends: what a machine needs for a connection whose peer is elsewhere.
            end = got["end_bytes_each"]
            rows.append(dict({"name": "idle_conn_end_bytes", "value": end, "unit": "bytes", "baseline": goal_bytes,
                              "ratio": end / goal_bytes, "min": end / goal_bytes, "max": end / goal_bytes}, **env.setup))
    env.close()
    a, b = env.veth(1500)
    run("ip", "netns", "exec", a, "ethtool", "-K", "va", "tx", "off", cpu=None)
    here = os.path.dirname(os.path.abspath(__file__))
    env.spawn([sys.executable, here + "/peers.py", "vb", "10.90.0.0/16"], "ready", ns=b)
    words = ["--cores", LAST_CPU, "--port", "va", "--ip", "10.90.0.1/16", "--netdev", "packet"]
    env.setup = setup_of(words, env.crc, env.link_mtu)
    d = env.spawn([BIN + "/weftd", "--run-dir", env.dir, *words], "ready", ns=a)
    peer = env.bench("mem", "--pid", str(d.pid), "--peers", "1000", "--peer-ip", "10.90.1.1", "--device",
                     "weft0")["bytes_each"]
    rows.append({"name": "idle_peer_bytes", "value": peer, "unit": "bytes", "baseline": 512, "ratio": peer / 512,
                 "min": peer / 512, "max": peer / 512})
    return rows


def create(env):
    """1,000 queue pairs with a completion queue each, against as many UDP sockets in one epoll; then the same beside a process
    that computes on the CPU of the program (rows *_busy_ms)."""
    env.weftd("--nics", "2")
    num, rows = 1000, []
    for suffix in ("_ms", "_busy_ms"):
        if suffix == "_busy_ms":
            env.spawn([sys.executable, "-c", "print('ready', flush=True)\nwhile True:\n    pass"], "ready", cpu=CLIENT_CPU)
        for i, what in enumerate(("create", "destroy")):
            rows.append(in_turn(env, what + "_1000_qps" + suffix, "ms", lambda w=what: env.bench(
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
          "memory": memory, "create": create, "stages": stages, **ladder.GROUPS, **goal.GROUPS, **verbs.GROUPS, **mpi.GROUPS,
          **iwarp.groups(iperf), **veth.groups(iperf), **tune.GROUPS, **moderation.GROUPS, **tag.GROUPS, **tag_mpi.GROUPS, **coll.GROUPS, **grow.GROUPS}
GOALS = {"rd_send_64_rtt": "<= 0.3", "rd_send_64_rtt_2p": "<= 0.7", "rd_send_64_rtt_veth": "<= 0.9",
         "ud_send_64_rate": ">= 8", "rd_send_64_rate": ">= 5", "rd_write_1m_bw": ">= 1.5", "rd_read_1m_bw": ">= 1.2",
         "rd_write_1m_bw_memcpy": ">= 0.4", "rd_write_1m_bw_mtu1500_of_9000": ">= 0.8",
         "rd_goodput_loss_1pct": ">= 0.8", "idle_peer_bytes": "<= 1",
         "create_1000_qps_ms": "value <= 15", "destroy_1000_qps_ms": "value <= 15",
         "create_1000_qps_busy_ms": "value <= 15", "destroy_1000_qps_busy_ms": "value <= 15",
         "idle_qp_bytes": "<= 1", "idle_conn_bytes": "<= 1",
         "idle_conn_end_bytes": "<= 1", **goal.GOALS, **verbs.GOALS, **mpi.GOALS, **iwarp.GOALS, **veth.GOALS, **tune.GOALS, **moderation.GOALS, **tag.GOALS,
         **tag_mpi.GOALS, **coll.GOALS, **grow.GOALS}


def verdict(row):
    """The row's goal, and whether it was met: "<= 0.3" is of the ratio, "value <= 3" of the value."""
    goal_text = GOALS.get(row["name"], "")
    if not goal_text:
        return ""
    words = goal_text.split()
    figure = row["value"] if words[0] == "value" else row["ratio"]
    limit = float(words[-1])
    row["goal"] = goal_text
    row["met"] = figure <= limit if words[-2] == "<=" else figure >= limit
    return goal_text if row["met"] else goal_text + "  MISSED"


def chosen(text):
    """Names of groups from a list of names and their beginnings; an unknown one as it is."""
    names = []
    for word in (w for w in text.split(",") if w):
        names += [n for n in GROUPS if n == word] or [n for n in GROUPS if n.startswith(word + "_")] or [word]
    return names or list(GROUPS)


def measure(args, name, crc):
    """The rows of a group with a setting of weftd --crc; whether the group used the switch."""
    env = Env(args, crc)
    try:
        rows = GROUPS[name](env)
    finally:
        env.close()
        shutil.rmtree(env.dir, ignore_errors=True)
    for r in rows:
        # With stamps one word in 128 of a message above 1 KiB depends on the message; all bytes are compared.
        if env.stamps:
            r["pattern"] = "stamps"
        for key, value in env.setup.items():
            r.setdefault(key, value)
        if env.switched and crc == "off":
            r["name"] += "_nocrc"
    return rows, env.switched


def both(args, name):
    """The rows of a group: of record, and without CRCs where it uses the switch."""
    rows, switched = measure(args, name, "off" if args.crc == "off" else "on")
    if switched and args.crc == "both":
        rows += measure(args, name, "off")[0]
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", default=os.environ.get("ROWS", ""), help="groups to measure, by name or beginning: " + ", ".join(GROUPS))
    p.add_argument("--windows", type=int, default=int(os.environ.get("WINDOWS", "5")))
    p.add_argument("--seconds", type=float, default=1.0, help="length of a window")
    p.add_argument("--crc", choices=("both", "on", "off"), default=os.environ.get("CRC", "both"),
                   help="rows with CRC32Cs between NICs of one weftd, without, or both")
    p.add_argument("--list", action="store_true", help="print the groups and end")
    args = p.parse_args()
    names = chosen(args.rows)
    unknown = [n for n in names if n not in GROUPS]
    if args.list or unknown:
        print("groups: " + " ".join(GROUPS) if args.list else
              "bench.py: no group '%s'; there are %s" % (unknown[0], ", ".join(GROUPS)),
              file=sys.stdout if args.list else sys.stderr)
        return 0 if args.list else 2
    rows, failed = [], 0
    print("%-28s %12s %-6s %12s %8s %8s %8s  %s" % ("row", "value", "", "baseline", "ratio", "min", "max", "goal"))
    for i, name in enumerate(names):
        say("[%d/%d] %s" % (i + 1, len(names), name))
        try:
            new = both(args, name)
        except (Failed, subprocess.SubprocessError, OSError, ValueError, LookupError, TypeError, ArithmeticError) as e:
            print("%s: %s: %s" % (name, type(e).__name__, e), file=sys.stderr)
            failed, new = failed + 1, []
        say("")
        for r in new:
            print("%-28s %12.3f %-6s %12.3f %8.3f %8.3f %8.3f  %s" % (
                r["name"], r["value"], r["unit"], r["baseline"], r["ratio"], r["min"], r["max"], verdict(r)),
                flush=True)
        rows += new
    path = BUILD + "/bench.json"
    record.merge(path, rows, record.origin(os.path.dirname(os.path.abspath(BUILD))))
    print("written to " + path)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
