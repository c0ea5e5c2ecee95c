#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make barrier-table: Bruck's barrier over 2 to 16 ranks, each on a NIC of its own (ESPGOAL figure 6.10), beside the
simulator's prediction and Open MPI's barrier by the same algorithm; picture and table of docs/collectives.md.

The NICs of a weftd are polled on the last CPU and the ranks share the others; MPI's ranks have all (tools/bench/goal.py).
On a machine that others use, "chrt -f 10" before it makes all of it realtime processes. Rows go into
docs/pictures/coll_bruck.tsv, and from there alone into picture and table. Calls weftd, goal-bench, goal-run, mpirun,
gnuplot.

usage: barrier.py [--draw-only] [--seconds S] [--windows N] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import json
import math
import os
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

import goal
import tables
from figures import bars, draw, number, spread, summary, table
from harness import BIN, run

RANKS = range(2, 17)
BARRIER = "barrier:0:bruck"
# Open MPI's own rules would take it for other numbers than powers of two alone.
BRUCK = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_barrier_algorithm", "4"]
SEED = 1
QUIET = 1.5  # load, before it begins, to which a measurement counts as one of a quiet machine
# The switch inside a weftd has no wire: only the work of its core takes time.
NO_WIRE = ("--link", "0,-,0,0,-,131072")
FIGURES = ("us", "nic_us", "nic_last_us", "turns_us", "tcp_us", "vader_us")


def simulated(ranks, *options):
    """Microseconds from the common start to the last rank's end, in virtual time."""
    text = run(BIN + "/goal-run", "--sim", "--json", "--seed", SEED, "--coll", "barrier=bruck", "--ranks", ranks, *options)
    return json.loads(text)["finish_ns"] / 1e3


def window(env, ranks):
    """Each figure once; weft's, the CPUs' part of it, and MPI's in turn."""
    ours = goal.ours(env, "coll", BARRIER, ranks=ranks)[0]
    return {"us": ours["us"], "nic_us": ours["nic_us"], "nic_last_us": ours["nic_last_us"],
            "turns_us": goal.ours(env, "turns", ranks=ranks)[0]["us"],
            **{btl + "_us": goal.mpi(env, btl, "coll", "barrier", ranks=ranks, more=BRUCK)[0]["us"] for btl in goal.BTL}}


def measured(env):
    rows = []
    for ranks in RANKS:
        env.close()
        env.weftd("--nics", str(ranks))
        load, realtime = os.getloadavg()[0], int(os.sched_getscheduler(0) == os.SCHED_FIFO)
        seen = [window(env, ranks) for _ in range(env.args.windows)]
        rows.append({"ranks": ranks, "rounds": math.ceil(math.log2(ranks)), "load": round(load, 1), "realtime": realtime,
                     **{k: v for f in FIGURES for k, v in summary(f, [s[f] for s in seen]).items()},
                     "sim_core_us": simulated(ranks, *NO_WIRE, "--ranks-per-nic", ranks),
                     "sim_cores_us": simulated(ranks, *NO_WIRE), "sim_wire_us": simulated(ranks)})
        print(ranks, "ranks measured", flush=True)
    return rows


LINES = (("us", "GOAL on NICs of weft, from call to call"), ("nic_last_us", "of it the NICs, on one core"),
         ("sim_core_us", "simulated: one core for all NICs"), ("sim_cores_us", "simulated: a core for each NIC"),
         ("turns_us", "the CPU of the ranks alone"), ("tcp_us", "Open MPI, tcp"), ("vader_us", "Open MPI, shared memory"))


def picture(rows, folder):
    series = [(title, bars(rows, "ranks", what) if what + "_low" in rows[0] else [(r["ranks"], r[what], r[what], r[what]) for r in rows])
              for what, title in LINES]
    draw(folder, "coll_bruck", "set title \"Bruck's barrier\"\nset xlabel 'ranks'\nset ylabel 'us'\nset logscale y\n"
         "set xrange [1.5:16.5]\nset xtics 2,2,16\nset yrange [0.3:2000]\nset bmargin at screen 0.36\n", series)


def loaded(rows):
    """Says so where others used the machine: later loads are also those of our own ranks."""
    before = rows[0]["load"]
    if before <= QUIET:
        return []
    text = ("**Preliminary.** Other programs used the machine (load %.1f when it began)%s. Times of processes are too long by an "
            "unknown part; those of the simulator are right." % (
                before, ", so all that is measured ran as realtime processes" if all(r["realtime"] for r in rows) else ""))
    return textwrap.wrap(text, 100) + [""]


def bruck(rows, folder):
    picture(rows, folder)
    body = [["%d" % r["ranks"], "%d" % r["rounds"], spread(r, "us"), spread(r, "nic_last_us"), number(r["sim_core_us"]),
             number(r["sim_cores_us"]), number(r["sim_wire_us"]), spread(r, "turns_us"), spread(r, "tcp_us"),
             spread(r, "vader_us")] for r in rows]
    head = ["ranks", "rounds", "measured, us", "of it the NICs", "simulated, one core", "a core for each NIC",
            "the same, wire of 2 us", "CPU of the ranks alone", "Open MPI, tcp", "Open MPI, shared memory"]
    return loaded(rows) + ["![Bruck's barrier](pictures/coll_bruck.svg)", ""] + table(head, body)


if __name__ == "__main__":
    tables.main(__doc__, "collectives.md", "coll", {"bruck": (measured, bruck)}, seconds=0.5)
