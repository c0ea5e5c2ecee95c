#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make cost: instructions and cache lines of the NIC's code for each message, counted by callgrind.

Runs weft-sim's workload "cost" for two durations under valgrind; what the longer run took more,
divided by the messages that it moved more, is the cost of a message: set-up and end cancel out. No
clock is read, so the same program gives the same figures on every machine. Counted are the
functions of nic_fw, by folder, of both NICs, and those of the C library that they call; of libweft
those that post and poll. The simulator's network and port are left out.

usage: cost.py [--check] [--json FILE] [PATH...]     PATH: only these, by name (--list names them);
                                                     a few are measured by name only
       cost.py --write docs/cost.md                  writes the tables between its marks
       cost.py --handover [--write docs/cost.md]     frames from core to core, by tools/bench/handover.c
--check compares instructions with the tables of docs/cost.md and fails when a path takes 3 % more.
Environment: WEFT_BIN (where weft-sim is). Exit status 0, 1 when a run failed or a path has become
dearer, 2 usage.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BIN = os.environ.get("WEFT_BIN", "build/bin")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "cost.md")
LIMIT = 1.03
FLOORS = ("base", "net", "tcp", "stream", "dgram", "mpa", "rdmap", "tag", "host", "cm", "coll", "up", "turn", "libc")
EVENTS = ("Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw")


class Path:
    """A way of sending: op of the workload, what a line of the table is per, durations in ms."""

    def __init__(self, name, text, op, size, turn, ms, mtu=9000, per="messages", paged=True, options=()):
        self.name, self.text, self.op, self.size, self.turn = name, text, op, size, turn
        self.ms, self.mtu, self.per, self.paged, self.options = ms, mtu, per, paged, options


PATHS = [Path("%s_%d" % (name, turn), text, op, size, turn, (1, 2) if turn > 1 else (4, 8))
         for name, text, op, size in (
             ("ud_send_64", "UD Send, 64 B", 0, 64),
             ("rd_send_64", "RD Send, 64 B", 1, 64),
             ("rd_write_4k", "RD Write, 4 KiB", 2, 4096),
             ("tcp_send_64", "RC Send over TCP, 64 B", 3, 64),
             ("tagged_8", "tagged, 8 B, receive posted first", 4, 8),
             ("goal_msg_64", "GOAL, Send and Recv of 64 B", 5, 64),
             ("goal_op_64", "GOAL, addition of 8 integers of 8 B", 6, 64))
         for turn in (1, 32)]
PATHS.append(Path("rd_write_1m_packet", "RD Write, 1 MiB at MTU 1500, per packet", 2, 1 << 20, 1, (2, 6), 1500, "frames"))
PATHS.append(Path("rd_write_1m_switch", "the same by the built-in switch, in runs", 2, 1 << 20, 1, (2, 6), 1500, "frames",
                  options=("--borrow", "--no-crc")))
PATHS += [Path("tcp_%s_1m_switch" % name, "RC %s over TCP, 1 MiB at MTU 1500, by the switch, per packet" % name.capitalize(),
               op, 1 << 20, 1, (1, 3), 1500, "frames", options=("--borrow", "--no-crc"))
          for name, op in (("send", 3), ("write", 7))]
# Measured by name only: runs whose CRC32Cs the receiver checks (--crc on); the CRC32Cs of payload are the port's.
PATHS.append(Path("rd_write_1m_crc", "the same, with --crc on", 2, 1 << 20, 1, (2, 6), 1500, "frames", paged=False,
                  options=("--borrow",)))
# Likewise: docs/tagged.md, "Rings for each peer".
PATHS += [Path("ring_8_%d" % turn, "RD Write of 32 B: 8 B with envelope and last word", 2, 32, turn,
               (1, 2) if turn > 1 else (4, 8), paged=False) for turn in (1, 32)]


class Failed(Exception):
    pass


def simulate(path, ms, out):
    """Returns the workload's figures; callgrind's file is out."""
    command = ["setarch", "-R", "valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, "--cache-sim=yes",
               "--D1=32768,8,64", "--I1=32768,8,64", "--LL=8388608,16,64", os.path.join(BIN, "weft-sim"), "--seed", "1",
               "--nics", "2", "--split", "0", "--mtu", str(path.mtu), "--duration-ms", str(ms), "--workload",
               "cost:op=%d,bytes=%d,turn=%d" % (path.op, path.size, path.turn), *path.options]
    env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    # callgrind counts each byte of a long "rep movsb".
    env["GLIBC_TUNABLES"] = "glibc.cpu.x86_rep_movsb_threshold=%d" % (1 << 30)
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise Failed("%s: %s\n%s" % (path.name, " ".join(command), (done.stdout + done.stderr)[-2000:]))
    return {m[2]: float(m[1]) for m in re.finditer(r"^ +([0-9.]+)  ([a-z_]+)$", done.stdout, re.M)}


class Profile:
    """Costs of a callgrind file: self cost of each function, inclusive cost of each call."""

    def __init__(self, name):
        self.own = {}    # (file, function): [events]
        self.calls = {}  # (file, function) of the caller, of the called: [events]
        self.names = {"file": {}, "fn": {}}
        with open(name, encoding="utf-8", errors="replace") as lines:
            self.read(iter(lines))

    def named(self, kind, text):
        """Names are compressed: "(3) name" defines what "(3)" means from then on."""
        m = re.match(r"\((\d+)\)(?: (.*))?", text)
        if m[2]:
            self.names[kind][m[1]] = m[2]
        return self.names[kind][m[1]]

    @staticmethod
    def add(table, key, line):
        cost = [int(x) for x in line.split()[1:]]
        total = table.setdefault(key, [0] * len(EVENTS))
        for i, value in enumerate(cost[:len(EVENTS)]):
            total[i] += value

    def read(self, lines):
        file = called_file = where = called = None
        for line in lines:
            key, _, value = line.rstrip("\n").partition("=")
            if key == "fl":
                file = self.named("file", value)
            elif key in ("fi", "fe", "cob", "ob"):
                if key[0] == "f":
                    self.named("file", value)
            elif key == "fn":
                where = (file, self.named("fn", value))
                called_file = None
            elif key in ("cfi", "cfl"):
                called_file = self.named("file", value)
            elif key == "cfn":
                called = (called_file or where[0], self.named("fn", value))
            elif key == "calls":
                self.add(self.calls, (where, called), next(lines))
                called_file = None
            elif where and line[0] in "0123456789+-*":
                self.add(self.own, where, line)


def floor_of(file):
    """The folder of nic_fw of a source file, "turn" for its top; None: not of the firmware."""
    m = re.search(r"(?:^|/)nic_fw/(?:([a-z]+)/)?[a-z0-9_]+\.[ch]$", file or "")
    return (m[1] or "turn") if m else None


def is_library(file):
    """True for code that is neither ours nor the simulator's: memcpy and its kind."""
    return not re.search(r"(?:^|/)(?:nic_fw|sim_harness|host_driver|lib|shared_defs)/", file or "")


def total(profile):
    """Returns {floor: [events]} of the firmware, and {call: [events]} of libweft's entries."""
    floors = {}

    def add(floor, cost):
        have = floors.setdefault(floor, [0] * len(EVENTS))
        for i, value in enumerate(cost):
            have[i] += value

    for (file, _), cost in profile.own.items():
        if floor_of(file):
            add(floor_of(file), cost)
    host = {"post": [0] * len(EVENTS), "poll": [0] * len(EVENTS)}
    for ((file, _), (called_file, function)), cost in profile.calls.items():
        if floor_of(file) and is_library(called_file):
            add("libc", cost)
        kind = {"weft_poll_cq": "poll", "weft_goal_test": "poll", "weft_goal_finish": "poll"}.get(function) or (
            "post" if re.match(r"weft_(post_(send|recv)|tag_(send|recv)|goal_start)$", function) else None)
        if kind and "sim_harness" in (file or ""):
            host[kind] = [a + b for a, b in zip(host[kind], cost)]
    return floors, host


def measure(path):
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for ms in path.ms:
            out = os.path.join(folder, "callgrind.%d" % ms)
            figures = simulate(path, ms, out)
            runs.append((figures,) + total(Profile(out)))
    (few, floors0, host0), (many, floors1, host1) = runs
    count = many[path.per] - few[path.per]
    if count <= 0:
        raise Failed("%s: no messages" % path.name)

    def each(a, b, event):
        return (b[EVENTS.index(event)] - a[EVENTS.index(event)]) / count

    none = [0] * len(EVENTS)
    floors = {f: each(floors0.get(f, none), floors1.get(f, none), "Ir") for f in FLOORS}
    lines = sum(each(floors0.get(f, none), floors1.get(f, none), e) for f in FLOORS for e in ("D1mr", "D1mw"))
    return {"name": path.name, "text": path.text, "turn": path.turn, "instructions": sum(floors.values()),
            "lines": lines, "floors": floors, "post": each(host0["post"], host1["post"], "Ir"),
            "poll": each(host0["poll"], host1["poll"], "Ir"),
            "frames": (many["frames"] - few["frames"]) / count, "turns": (many["turns"] - few["turns"]) / count}


def tables(rows):
    """The tables of docs/cost.md."""
    used = [f for f in FLOORS if any(r["floors"][f] >= 0.5 for r in rows)]
    yield "| path | at a time | instructions | lines | frames | turns | post | poll |"
    yield "| --- | --: | --: | --: | --: | --: | --: | --: |"
    for r in rows:
        yield "| `%s` %s | %d | %.0f | %.1f | %.2f | %.2f | %.0f | %.0f |" % (
            r["name"], r["text"], r["turn"], r["instructions"], r["lines"], r["frames"], r["turns"], r["post"], r["poll"])
    yield ""
    yield "| path | " + " | ".join(used) + " |"
    yield "| --- |" + " --: |" * len(used)
    for r in rows:
        yield "| `%s` | " % r["name"] + " | ".join("%.0f" % r["floors"][f] for f in used) + " |"


MARKS = "<!-- begin: make cost -->\n", "<!-- end: make cost -->\n"
HANDOVER_MARKS = "<!-- begin: hand-over -->\n", "<!-- end: hand-over -->\n"


def write(page, lines, marks=MARKS):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    head, rest = text.split(marks[0])
    _, tail = rest.split(marks[1])
    with open(page, "w", encoding="utf-8") as file:
        file.write(head + marks[0] + "\n" + "\n".join(lines) + "\n\n" + marks[1] + tail)


def handover(burst, lanes, times=200):
    """Returns {part: (instructions, lines) of a call} of frames that pass from core to core."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind")
        command = ["setarch", "-R", "valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, "--cache-sim=yes",
                   "--D1=32768,8,64", "--I1=32768,8,64", "--LL=8388608,16,64", os.path.join(BIN, "handover"), str(burst),
                   str(times), str(lanes)]
        env = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        if done.returncode:
            raise Failed("%s\n%s" % (" ".join(command), (done.stdout + done.stderr)[-2000:]))
        profile = Profile(out)
    found = {}
    for (_, (_, function)), cost in profile.calls.items():
        m = re.fullmatch(r"handover_(put|take|look)", function)
        if m:
            ir, lines = found.get(m[1], (0, 0))
            found[m[1]] = (ir + cost[EVENTS.index("Ir")] / times,
                           lines + (cost[EVENTS.index("D1mr")] + cost[EVENTS.index("D1mw")]) / times)
    if set(found) != {"put", "take", "look"}:
        raise Failed("handover: no calls of %s" % ", ".join({"put", "take", "look"} - set(found)))
    return found


def handover_table():
    """The table of frames that pass from core to core."""
    yield "| part | at a time | instructions of a frame | lines of a frame |"
    yield "| --- | --: | --: | --: |"
    costs = {burst: handover(burst, 8) for burst in (1, 8, 32)}
    for part, text in (("put", "sender: `port_steer()`, the lane, the receiver's `sleeping`"),
                       ("take", "receiver: `lanes_take()`, 8 lanes")):
        for burst, cost in costs.items():
            yield "| `%s_%d` %s | %d | %.0f | %.1f |" % (part, burst, text, burst, cost[part][0] / burst, cost[part][1] / burst)
    few, many = costs[1]["look"][0], handover(1, 64)["look"][0]
    yield "| `look` receiver: a further lane without frames, in each turn | | %.1f | 0.0 |" % ((many - few) / (64 - 8))


def recorded(page):
    """Returns {path: instructions} of the page's first table."""
    with open(page, encoding="utf-8") as file:
        return {m[1]: float(m[2]) for m in re.finditer(r"^\| `(\w+)` [^|]+\| \d+ \| (\d+) \|", file.read(), re.M)}


def compiler():
    """The compiler of weft-sim, as it says itself; that of the page must be the same."""
    done = subprocess.run(["readelf", "-p", ".comment", os.path.join(BIN, "weft-sim")], capture_output=True, text=True,
                          check=False)
    return " ".join(sorted(set(re.findall(r"GCC: \(([^)]*)\)", done.stdout))))


def check(rows, page):
    """Returns the number of paths that have become dearer than the page says."""
    known, dearer = recorded(page), 0
    for r in rows:
        if r["name"] not in known:
            print("cost: docs/cost.md has no figure of %s: make cost" % r["name"], file=sys.stderr)
            dearer += 1
        elif r["instructions"] > known[r["name"]] * LIMIT:
            print("cost: %s takes %.0f instructions, %.1f %% more than docs/cost.md says (%.0f)" % (
                r["name"], r["instructions"], 100 * (r["instructions"] / known[r["name"]] - 1), known[r["name"]]),
                  file=sys.stderr)
            dearer += 1
        else:
            print("%-20s %6.0f instructions, docs/cost.md %6.0f" % (r["name"], r["instructions"], known[r["name"]]))
    if dearer:
        print("cost: a commit that makes a path dearer on purpose runs `make cost` and says why", file=sys.stderr)
    return dearer


def chosen(names):
    unknown = set(names) - {p.name for p in PATHS}
    if unknown:
        print("cost: no path %s; --list names them" % ", ".join(sorted(unknown)), file=sys.stderr)
        sys.exit(2)
    return [p for p in PATHS if p.name in names or (not names and p.paged)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the paths")
    parser.add_argument("--check", action="store_true", help="compare with docs/cost.md")
    parser.add_argument("--page", metavar="FILE", default=PAGE, help="compare with this page")
    parser.add_argument("--write", metavar="FILE", help="write the tables into this page, between its marks")
    parser.add_argument("--handover", action="store_true", help="frames from core to core")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    args = parser.parse_args()
    if args.list:
        print("\n".join("%-20s %s" % (p.name, p.text) for p in PATHS))
        return 0
    if args.write and args.paths:
        parser.error("--write writes all paths")
    if args.handover:
        lines = list(handover_table())
        if args.write:
            write(args.write, lines, HANDOVER_MARKS)
        print("\n".join(lines))
        return 0
    if args.check:
        with open(args.page, encoding="utf-8") as file:
            if compiler() not in file.read():
                print("cost: the page was made with another compiler than %s: nothing is compared" % compiler())
                return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(measure, chosen(args.paths)))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if args.write:
        write(args.write, tables(rows))
    if args.check:
        return 1 if check(rows, args.page) else 0
    print("\n".join(tables(rows)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        print("cost: %s" % e, file=sys.stderr)
        sys.exit(1)
