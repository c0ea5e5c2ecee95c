#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make coll-tables: collectives of MPI on the NIC, overlap and latency by size, beside Open MPI's own; pictures
and tables of docs/coll-tables.md.

mpi_coll with coll/weft, with libnbc or tuned over UCX on the same NICs, and over tcp on a veth, as
tools/bench/coll.py has them. Rows go into docs/pictures/coll_PART.tsv, and from there alone into pictures and
tables. Calls weftd, mpirun, gnuplot.

usage: collectives.py [--draw-only] [--part PART]... [--seconds S] [--windows N] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

import coll
import collectives_osu
import tables
from figures import bars, draw, number, ordered, pick, size, spread, summary, table

NAMES = ("bcast", "allreduce", "allgather", "alltoall", "reduce", "gather", "scatter")
SIZES = (8, 64, 1024, 4096, 16384, 65536, 262144, 1048576)
STACKS = {"weft": "coll/weft", "ucx": "libnbc over UCX", "tcp": "libnbc over tcp"}
BLOCKING = {"weft": "coll/weft, default rules", "ucx": "tuned over UCX", "tcp": "tuned over tcp"}


def measured(env, prefix, figures):
    """A row for each stack, collective and size; the stacks in turn, so that all see the same machine."""
    runs = dict(zip(coll.STACKS, coll.stacks(env, *coll.STACKS)))
    seen = {}
    for what in [prefix + "barrier"] + [prefix + n for n in NAMES]:
        words = [what] if what.endswith("barrier") else ["%s:%d" % (what, n) for n in SIZES]
        for _ in range(env.args.windows):
            for name, run in runs.items():
                for row in run(*words):
                    seen.setdefault((name, row["name"], row["bytes"]), []).append(row)
        print(what, "measured", flush=True)
    return [{"stack": s, "collective": c, "bytes": n, **{k: v for f in figures for k, v in summary(f, [r[f] for r in rows]).items()}}
            for (s, c, n), rows in seen.items()]


def nonblocking(env):
    return measured(env, "i", ("overlap", "us", "call_us", "host_us"))


def blocking(env):
    return measured(env, "", ("us",))


def picture(rows, folder, name, title, what):
    ticks = ", ".join("'%s' %d" % (size(n), n) for n in SIZES)
    settings = "set logscale x 4\nset xtics (%s)\nset xlabel 'bytes of a block'\nset title '%s'\n" % (ticks, title)
    settings += "set yrange [0:1.1]\nset ylabel 'overlap'\n" if what == "overlap" else "set logscale y\nset ylabel 'us'\n"
    draw(folder, name, settings, [(STACKS[s], bars(pick(rows, stack=s), "bytes", what)) for s in ordered(rows, "stack")])


def cells(rows, c, n, what):
    found = [pick(rows, stack=s, collective=c, bytes=n) for s in STACKS]
    return [spread(f[0], what) if f else "" for f in found]


def nonblocking_table(rows, folder):
    lines = []
    for c in ("iallreduce", "ialltoall", "ibcast"):
        picture(pick(rows, collective=c), folder, "coll_" + c, c + ", two ranks", "overlap")
        lines.append("![overlap of %s](pictures/coll_%s.svg)" % (c, c))
    head = ["collective", "bytes"] + ["%s, %s" % (STACKS[s], f) for f in ("overlap", "us", "host, us") for s in STACKS] + ["call, us"]
    body = []
    for c in ordered(rows, "collective"):
        for n in ordered(pick(rows, collective=c), "bytes"):
            weft = pick(rows, stack="weft", collective=c, bytes=n)
            body.append([c, size(n)] + cells(rows, c, n, "overlap") + cells(rows, c, n, "us") + cells(rows, c, n, "host_us") +
                        [number(weft[0]["call_us"]) if weft else ""])
    return lines + [""] + table(head, body)


def blocking_table(rows, _folder):
    body = []
    for c in ordered(rows, "collective"):
        for n in ordered(pick(rows, collective=c), "bytes"):
            ours, tuned = (pick(rows, stack=s, collective=c, bytes=n) for s in ("weft", "ucx"))
            body.append([c, size(n)] + cells(rows, c, n, "us") + [number(ours[0]["us"] / tuned[0]["us"]) if ours and tuned else ""])
    return table(["collective", "bytes"] + [BLOCKING[s] + ", us" for s in BLOCKING] + ["of tuned over UCX"], body)


PARTS = {"overlap": (nonblocking, nonblocking_table), "blocking": (blocking, blocking_table), **collectives_osu.PARTS}


if __name__ == "__main__":
    tables.main(__doc__, "coll-tables.md", "coll", PARTS, seconds=0.5)
