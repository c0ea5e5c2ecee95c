#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Delay of a client's round trips while another process attacks the same weftd.

A client sends 64 B by RD between two NICs of one weftd, polling, in windows: alone, beside a
process that computes and never speaks to weftd, and beside each attack of tests/security. An
attack is a program that takes the socket of a NIC and a number of seconds, prints "attacking" when
it has begun, and ends by itself; words behind it go to it, as in slow_page:3000 (it holds a page for
3 s).

An attack takes CPU time of the machine, too. Each is measured a second time with another weftd as
its target, which has what the client leaves of its CPU: "elsewhere" is what the attack costs by
that alone, and the last column says what sharing a NIC with it adds.

The client and the attack share a CPU, and a client that polls in vain gives it up: what a round trip
takes beside an attack is for a part the time in which the attack ran. So the table has, beside the
round trip, the way of one message by the NIC's clock, from the doorbell to the completion at the
receiver ("NIC"), in which the client's CPU has no part.

The table has the medians of the windows' percentiles, least and greatest p99 of a window, and how
many of a million turns of weftd's core had commands or work in bulk in them and took longer than
10 us: weftd's own account, without the turns in which the kernel gave the CPU to others
(docs/operating.md), so it holds on a crowded machine, too, where the delays are the crowd's. The measured weftd's core
has the last CPU to itself; its other threads, which carry the commands of the attack, share the
client's, where an operator gives them one of their own (--cores).

With the defaults it takes three minutes, with --every (make beside) a row for each kind of attack,
in twelve; a quiet machine is what the delays want.

usage: beside.py [--every] [--windows N] [--seconds S] [--json FILE] [--attacks DIR] [ATTACK ...]
Environment: WEFT_BIN (build/bin). Exit status 0, 1 when an attack did not begin, 2 usage.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from harness import BIN, BUILD, CLIENT_CPU, LAST_CPU, Env, Failed, say  # noqa: E402

ATTACKS = ["slow_page:3000", "punch", "long_turns"]
EVERY = ["slow_page:3000", "slow_page:3000:atomic", "punch", "stage:mapped", "stage"] + \
    ["long_turns:" + kind for kind in ("regions", "qps", "flush", "resize", "attach", "stats")] + ["long_turns"]
ALONE, COMPUTES = "(alone)", "(computes)"
READY_S = 10
# An attack gets the part of its CPU that the client leaves, since it is weftd that it attacks.
IDLE = ["chrt", "-i", "0", "taskset", "-c", CLIENT_CPU]
COLUMNS = ("typical", "p99", "p99_9", "max")
NIC_COLUMNS = ("typical", "p99", "p99_9")


def begin(env, cmd, log):
    """Starts an attack, and returns when it has begun."""
    p = subprocess.Popen(IDLE + cmd, stdout=subprocess.PIPE, stderr=log, text=True)
    env.children.append(p)
    for line in p.stdout:
        if "attacking" in line:
            return p
    raise Failed("%s did not begin: exit %d" % (cmd[0], p.wait()))


def measured_weftd(env):
    """The measured client: its core has the last CPU, its other threads share the client's."""
    env.weftd("--nics", "2", "--cores", "%s:io,%s:ctl" % (LAST_CPU, CLIENT_CPU))
    os.chmod(env.dir, 0o755)  # some attack as another user
    os.chmod(env.dir + "/weft0", 0o666)


def other_weftd(env, log):
    """A second weftd on the client's CPU, with the rest of its time: returns its run directory, and
    the process."""
    where = env.dir + "/other"
    os.makedirs(where, mode=0o755, exist_ok=True)
    p = subprocess.Popen([BIN + "/weftd", "--run-dir", where, "--cores", CLIENT_CPU, "--nics", "2"], stdout=log,
                         stderr=log)
    env.children.append(p)
    end = time.monotonic() + READY_S
    while not os.path.exists(where + "/weft0"):
        if p.poll() is not None or time.monotonic() > end:
            raise Failed("the second weftd did not start")
        time.sleep(0.05)
    os.chmod(where + "/weft0", 0o666)
    subprocess.run(["chrt", "-a", "-i", "-p", "0", str(p.pid)], check=True)
    return where, p


def long_turns(env):
    """Turns of the core so far, and those with commands or slices that took longer than 10 us by
    themselves."""
    out = subprocess.run([BIN + "/weftctl", "--run-dir", env.dir, "--json", "stats", "weft0"], capture_output=True,
                         text=True, check=True)
    stats = json.loads(out.stdout)["weft0"]
    long = sum(v for k, v in stats.items() if k.startswith("core_long_") and k != "core_long_plain")
    return [stats["core_turns"], long]


def attack(env, name, where, args, log):
    """Starts the process beside the measured client; None: nothing."""
    program, *words = name.split(":")
    if name == COMPUTES:
        p = subprocess.Popen(IDLE + ["sh", "-c", "while :; do :; done"])
        env.children.append(p)
        return p
    if name == ALONE:
        return None
    return begin(env, [args.attacks + "/" + program, where + "/weft0", str(args.seconds + 4)] + words, log)


def measure(env, name, elsewhere, args, log):
    """The round trips of one window, us, and turns and long turns in it."""
    where, other = other_weftd(env, log) if elsewhere else (env.dir, None)
    p = attack(env, name, where, args, log)
    try:
        before = long_turns(env)
        r = env.bench("loop", "lat", "--device", "weft0", "--device2", "weft1", "--duration", str(args.seconds))
        after = long_turns(env)
    finally:
        if p and name == COMPUTES:
            p.kill()
        for child in filter(None, (p, other)):
            if child is other:
                child.terminate()
            child.wait()  # an attack ends by itself, and what it has started
            env.children.remove(child)
    if r["errors"]:
        raise Failed("%d errors of the client beside %s" % (r["errors"], name))
    return [r["rtt_us"][c] for c in COLUMNS] + [r["nic_us"][c] for c in NIC_COLUMNS] + \
        [a - b for a, b in zip(after, before)]


def rows_of(env, args, names, log):
    kinds = [(n, e) for n in names for e in (False, True) if not e or n not in (ALONE, COMPUTES)]
    windows = {k: [] for k in kinds}
    for w in range(args.windows):
        for name, elsewhere in kinds:
            say("window %d of %d: %s%s" % (w + 1, args.windows, name, " elsewhere" if elsewhere else ""))
            windows[name, elsewhere].append(measure(env, name, elsewhere, args, log))
    say("")
    rows = []
    for k in kinds:
        by_column = list(zip(*windows[k]))
        rows.append({"attack": k[0], "elsewhere": k[1], "typical": statistics.median(by_column[0]),
                     "p99": statistics.median(by_column[1]), "p99_min": min(by_column[1]),
                     "p99_max": max(by_column[1]), "p99_9": statistics.median(by_column[2]), "max": max(by_column[3]),
                     "nic_typical": statistics.median(by_column[4]), "nic_p99": statistics.median(by_column[5]),
                     "nic_p99_min": min(by_column[5]), "nic_p99_max": max(by_column[5]),
                     "nic_p99_9": statistics.median(by_column[6]),
                     "long_turns_per_million": 1e6 * sum(by_column[8]) / max(1, sum(by_column[7])),
                     "windows": args.windows, "p99_of_windows": by_column[1]})
    fair = {r["attack"]: r["p99"] for r in rows if r["elsewhere"]}
    for r in rows:
        r["p99_ratio"] = r["p99"] / rows[0]["p99"]
        r["nic_p99_ratio"] = r["nic_p99"] / rows[0]["nic_p99"]
        r["p99_fair_ratio"] = r["p99"] / fair[r["attack"]] if r["attack"] in fair and not r["elsewhere"] else None
    return rows


def table(rows, load):
    print("| beside | typical us | p99 us (least, greatest) | p99.9 us | max us | p99, of alone | of elsewhere | "
          "NIC: typical us | p99 us (least, greatest) | p99.9 us | p99, of alone | "
          "turns over 10 us, in a million |\n" + "| --- " * 12 + "|")
    for r in rows:
        print("| %s%s | %.1f | %.1f (%.1f, %.1f) | %.1f | %.0f | %.2f | %s | %.1f | %.1f (%.1f, %.1f) | %.1f | %.2f | %.1f |"
              % (r["attack"], ", elsewhere" if r["elsewhere"] else "", r["typical"], r["p99"], r["p99_min"],
                 r["p99_max"], r["p99_9"], r["max"], r["p99_ratio"],
                 "%.2f" % r["p99_fair_ratio"] if r["p99_fair_ratio"] else "", r["nic_typical"], r["nic_p99"],
                 r["nic_p99_min"], r["nic_p99_max"], r["nic_p99_9"], r["nic_p99_ratio"],
                 r["long_turns_per_million"]))
    print("\nload of the machine (processes that run or want to): %.1f before, %.1f after, %d CPUs"
          % (load[0], load[1], os.cpu_count()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("--attacks", default=BUILD + "/san/int", help="folder of the attacks' programs")
    parser.add_argument("--every", action="store_true", help="each kind of attack")
    parser.add_argument("attack", nargs="*")
    args = parser.parse_args()
    attacks = args.attack or (EVERY if args.every else ATTACKS)
    env = Env(args)
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryFile("w+") as log:
        try:
            measured_weftd(env)
            rows = rows_of(env, args, [ALONE, COMPUTES] + attacks, log)
        except Failed as e:
            log.seek(0)
            print("beside.py: %s\n%s" % (e, log.read()[-500:]), file=sys.stderr)
            return 1
        finally:
            env.close()
            os.rmdir(env.dir)
    load.append(os.getloadavg()[0])
    table(rows, load)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"bin": BIN, "load": load, "rows": rows}, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
