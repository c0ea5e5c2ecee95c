#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Delay of a client's round trips while another process attacks the same weftd.

A client sends 64 B by RD between two NICs of one weftd, polling, in windows: alone, beside a
process that computes and never speaks to weftd, and beside each attack of tests/security. An
attack is a program that takes the socket of a NIC and a number of seconds, prints "attacking" when
it has begun, and ends by itself; words behind it go to it, as in slow_page:3000 (it holds a page for
3 s). The table has the medians of the windows' percentiles, and the greatest maximum. weftd has the
last CPU, all others share the rest.

usage: beside.py [--windows N] [--seconds S] [--json FILE] [--attacks DIR] [ATTACK ...]
Environment: WEFT_BIN (build/bin). Exit status 0, 1 when an attack did not begin, 2 usage.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from harness import BIN, BUILD, CLIENT_CPU, Env, Failed, say  # noqa: E402

ATTACKS = ["slow_page:3000", "punch", "long_turns"]
# An attack has what the client leaves of its CPU: it is weftd that it is to hold up.
IDLE = ["chrt", "-i", "0", "taskset", "-c", CLIENT_CPU]
COLUMNS = ("typical", "p99", "p99_9", "max")


def begin(env, cmd, log):
    """Starts an attack, and returns when it has begun."""
    p = subprocess.Popen(IDLE + cmd, stdout=subprocess.PIPE, stderr=log, text=True)
    env.children.append(p)
    for line in p.stdout:
        if "attacking" in line:
            return p
    raise Failed("%s did not begin: exit %d" % (cmd[0], p.wait()))


def measure(env, name, args, log):
    """The round trips of one window beside one attack (None: alone), us."""
    p = None
    if name == "(computes)":
        p = subprocess.Popen(IDLE + ["sh", "-c", "while :; do :; done"])
        env.children.append(p)
    elif name != "(alone)":
        program, *words = name.split(":")
        p = begin(env, [args.attacks + "/" + program, env.dir + "/weft0", str(args.seconds + 4)] + words, log)
    try:
        r = env.bench("loop", "lat", "--device", "weft0", "--device2", "weft1", "--duration", str(args.seconds))
    finally:
        if p and name == "(computes)":
            p.kill()
        if p:
            p.wait()  # an attack ends by itself, and what it has started
            env.children.remove(p)
    if r["errors"]:
        raise Failed("%d errors of the client beside %s" % (r["errors"], name))
    return [r["rtt_us"][c] for c in COLUMNS]


def rows_of(env, args, names, log):
    windows = {n: [] for n in names}
    for w in range(args.windows):
        for n in names:
            say("window %d of %d: %s" % (w + 1, args.windows, n))
            windows[n].append(measure(env, n, args, log))
    say("")
    rows = []
    for n in names:
        by_column = list(zip(*windows[n]))
        rows.append({"attack": n, "typical": statistics.median(by_column[0]), "p99": statistics.median(by_column[1]),
                     "p99_9": statistics.median(by_column[2]), "max": max(by_column[3]),
                     "windows": args.windows, "p99_of_windows": by_column[1]})
    for r in rows:
        r["p99_ratio"] = r["p99"] / rows[0]["p99"]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("--attacks", default=BUILD + "/san/int", help="folder of the attacks' programs")
    parser.add_argument("attack", nargs="*", default=ATTACKS)
    args = parser.parse_args()
    env = Env(args)
    with tempfile.TemporaryFile("w+") as log:
        try:
            env.weftd("--nics", "2")
            os.chmod(env.dir, 0o755)  # some attack as another user
            os.chmod(env.dir + "/weft0", 0o666)
            rows = rows_of(env, args, ["(alone)", "(computes)"] + args.attack, log)
        except Failed as e:
            log.seek(0)
            print("beside.py: %s\n%s" % (e, log.read()[-500:]), file=sys.stderr)
            return 1
        finally:
            env.close()
            os.rmdir(env.dir)
    print("| beside | typical us | p99 us | p99.9 us | max us | p99, of alone |\n| --- | --- | --- | --- | --- | --- |")
    for r in rows:
        print("| %s | %.1f | %.1f | %.1f | %.0f | %.2f |" % (r["attack"], r["typical"], r["p99"], r["p99_9"], r["max"],
                                                             r["p99_ratio"]))
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"bin": BIN, "rows": rows}, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
