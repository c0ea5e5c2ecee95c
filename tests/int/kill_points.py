#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# Clients that use every operation (mortal.c), killed by SIGKILL at points of time drawn from a
# seed, spread over their whole life on a logarithmic scale: while they attach, in commands, in
# traffic with each other, with a peer that is stopped, with children that outlive them, after exec.
# After each batch the NICs must have nothing left of them: objects of every kind, contexts of
# transfers, clients, descriptors, mappings of weftd are back to what they were; its memory is
# bounded.
#
# timeout: 900
#
# WEFT_KILLS=N kills (60; make test-kill: 1000); WEFT_SEED=N replays the lives that were drawn.
"""Runs weftd and mortal; prints a table."""
import json
import math
import os
import random
import signal
import subprocess
import sys
import time

BIN, INT, TMP = os.environ["WEFT_BIN"], os.environ["WEFT_INT"], os.environ["WEFT_TMP"]
KILLS = int(os.environ.get("WEFT_KILLS", "60"))
SEED = int(os.environ.get("WEFT_SEED", "0")) or random.randrange(1, 1 << 31)
AT_ONCE = 6
BATCH = 20
STOPPED = AT_ONCE  # the slot of the one that does not run
LIFE_MIN_US, LIFE_MAX_US = 300, 400000
SETTLE_S = 60
HELPERS = 2  # threads that close descriptors for a user, started when the first is slow
KEPT_STACKS = AT_ONCE + 2  # stacks of ended threads: one for each process that copies memory
NICS = ("weft0", "weft1")
# Bytes weftd's memory may grow from the first batch to the last; sanitizers keep freed memory.
GROWTH_KB_MAX = 8192
MEANWHILE = ("commands", "wqes", "cqes", "interrupts", "rx_frames", "atomics_executed", "rd_rx_refused")
# Peers and next hops are kept for a while on purpose.
KEPT = ("rd_sessions_used", "neighbours_used", "clients_used")


def die(text):
    print("kill_points.py: " + text)
    print("again: WEFT_SEED=%d WEFT_KILLS=%d tests/run.sh tests/int/kill_points.py" % (SEED, KILLS))
    sys.exit(1)


def ctl(*words):
    p = subprocess.run([BIN + "/weftctl", *words, "--json"], capture_output=True, text=True)
    if p.returncode:
        die("weftctl %s: %s" % (" ".join(words), p.stderr))
    return json.loads(p.stdout)


def gauges():
    """Objects in use, by name, over both NICs; and clients other than tools."""
    used = {"clients": 0}
    for nic in NICS:
        for name, value in ctl("stats", nic)[nic].items():
            if name.endswith("_used") and name not in KEPT:
                used[name] = used.get(name, 0) + value
        used["clients"] += sum(1 for c in ctl("clients", nic) if not c["tool"])
    return used


def of_process(pid):
    """Descriptors, mappings, mappings of clients' memory, and KiB of weftd's own memory."""
    status = {}
    for line in open("/proc/%d/status" % pid):
        key, _, value = line.partition(":")
        status[key] = value.split()
    maps = open("/proc/%d/maps" % pid).read().splitlines()
    fds = []
    for _ in range(3):  # the connection of the last weftctl may still be closing
        fds.append(len(os.listdir("/proc/%d/fd" % pid)))
        time.sleep(0.01)
    return {"fds": min(fds), "maps": len(maps),
            "shared": sum(1 for line in maps if "memfd:weft-" in line),
            "threads": int(status["Threads"][0]),
            "kb": int(status["RssAnon"][0]) + int(status["RssShmem"][0])}


def spawn(board, slot, seed, life_us, *more):
    with open("%s/mortal%d.err" % (TMP, slot), "a") as err:
        return subprocess.Popen([INT + "/mortal", board, str(slot), str(seed), str(life_us), *more],
                                stdin=subprocess.DEVNULL, stdout=err, stderr=err)


def batch(rnd, board, kills):
    """Starts n clients and waits for their ends; returns how many ended other than by SIGKILL."""
    stopped = spawn(board, STOPPED, rnd.getrandbits(60), 0, "stay")
    stop_after = time.monotonic() + rnd.uniform(0.05, 0.2)
    is_stopped, running, started, wrong = False, {}, 0, 0
    while started < kills or running:
        for slot in range(AT_ONCE):
            if slot not in running and started < kills:
                life = math.exp(rnd.uniform(math.log(LIFE_MIN_US), math.log(LIFE_MAX_US)))
                running[slot] = spawn(board, slot, rnd.getrandbits(60), round(life))
                started += 1
        for slot, p in list(running.items()):
            if p.poll() is not None:
                wrong += p.returncode != -signal.SIGKILL
                del running[slot]
        if not is_stopped and time.monotonic() > stop_after:
            stopped.send_signal(signal.SIGSTOP)
            is_stopped = True
        time.sleep(0.001)
    stopped.kill()
    wrong += stopped.wait() != -signal.SIGKILL
    return wrong


def settle(pid, base):
    """Waits until all counts have their initial values; returns the figures."""
    end = time.monotonic() + SETTLE_S
    while True:
        used, process = gauges(), of_process(pid)
        # Mappings of an allocator may be split by one or two. A thread that has been started for processes
        # stays for the next one, with a stack, its guard and two mappings of an allocator; the C library keeps
        # those of threads that have ended, too, up to KEPT_STACKS.
        clean = not any(used.values()) and not process["shared"] and (base is None or (
            process["fds"] == base["fds"] and process["threads"] <= base["threads"] + HELPERS and
            process["maps"] <= base["maps"] + 2 + 4 * (HELPERS + KEPT_STACKS)))
        if clean:
            return used, process
        if time.monotonic() > end:
            die("not within %d s: %s; %s, at first %s" %
                (SETTLE_S, {k: v for k, v in used.items() if v}, process, base))
        time.sleep(0.05)


def row(kills, used, p, wrong):
    objects = sum(used.get(k, 0) for k in ("pds_used", "mrs_used", "cqs_used", "eqs_used", "srqs_used", "qps_used",
                                            "ahs_used"))
    print("%6d %7d %8d %9d %4d %5d %8d %8d %6d" %
          (kills, used["clients"], objects, sum(used.values()) - objects - used["clients"], p["fds"], p["maps"],
           p["shared"], p["kb"], wrong), flush=True)


def main():
    rnd = random.Random(SEED)
    print("WEFT_SEED=%d" % SEED)
    board = TMP + "/board"
    open(board, "w").close()
    with open(TMP + "/weftd.err", "w") as err:
        weftd = subprocess.Popen([BIN + "/weftd", "--nics", "2"], stdout=err, stderr=err)
    try:
        end = time.monotonic() + SETTLE_S
        while "weftd: ready" not in open(TMP + "/weftd.err").read():
            if weftd.poll() is not None or time.monotonic() > end:
                die("weftd does not start")
            time.sleep(0.02)
        print("%6s %7s %8s %9s %4s %5s %8s %8s %6s" % ("kills", "clients", "objects", "transfers", "fds", "maps",
                                                       "shared", "rss_kb", "others"))
        used, base = settle(weftd.pid, None)
        row(0, used, base, 0)
        done, first = 0, None
        while done < KILLS:
            n = min(BATCH if KILLS <= 100 else 5 * BATCH, KILLS - done)
            wrong = batch(rnd, board, n)
            done += n
            if weftd.poll() is not None:
                die("weftd has ended: %s" % weftd.returncode)
            used, process = settle(weftd.pid, base)
            row(done, used, process, wrong)
            if wrong:
                die("%d clients ended otherwise than by SIGKILL: see %s/mortal*.err" % (wrong, TMP))
            if first and "/san/" not in BIN and process["kb"] > first["kb"] + GROWTH_KB_MAX:
                die("weftd has grown from %d to %d KiB" % (first["kb"], process["kb"]))
            first = first or process
        print("meanwhile: " + ", ".join("%s %d" % (name, sum(ctl("stats", nic)[nic][name] for nic in NICS))
                                        for name in MEANWHILE))
        weftd.send_signal(signal.SIGTERM)
        if weftd.wait(SETTLE_S):
            die("weftd ended with %d" % weftd.returncode)
    finally:
        if weftd.poll() is None:
            weftd.kill()
            weftd.wait()
    text = open(TMP + "/weftd.err").read()
    if "Sanitizer" in text or "runtime error" in text:
        die(text[-3000:])


if __name__ == "__main__":
    main()
