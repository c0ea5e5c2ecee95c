#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make copies-tables: what copies of a message cost, and what memory processes need: SCI-MPICH (figures 1 and 6, III.C,
III.D, tables 4 and 5) and the MVAPICH study (figures 4 to 10), measured here; pictures and tables of docs/copies.md.

Open MPI (mpi_kern) on two NICs of one weftd at the built-in switch: over UCX, whose eager protocol copies a
message at both ends and whose rendezvous does not, and over libfabric's provider weft. Rows go into
docs/pictures/copies_PART.tsv, and from there alone into pictures and tables. Calls weftd, mpirun, memcpy_base, gnuplot.

usage: copies.py [--draw-only] [--part PART]... [--seconds S] [--windows N] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

import goal
import mpi
import tables
import tag_mpi
from figures import bars, draw, number, ordered, pick, size, spread, summary, table
from harness import BIN, Failed, LAST_CPU, run

UCX = {"WEFT_MPI_OVER": "ucx"}
# Bounce buffers at both ends for messages of any size; and none from 1 KiB on.
COPIES = dict(UCX, UCX_RNDV_THRESH="inf", UCX_ZCOPY_THRESH="inf")
NONE = dict(UCX, UCX_RNDV_THRESH="1024")
WEFT = {"WEFT_MPI_OVER": "ofi", "FI_PROVIDER_PATH": tag_mpi.LIBFABRIC}
# Title: environment of the ranks, options of mpirun, kind of messages.
WAYS = {"two copies": (COPIES, mpi.UCX, "both"), "none, used again": (NONE, mpi.UCX, "both"),
        "none, persistent": (NONE, mpi.UCX, "persistent"), "none, new": (NONE, mpi.UCX, "fresh"),
        "weft, used again": (WEFT, tag_mpi.WEFT, "both"), "weft, persistent": (WEFT, tag_mpi.WEFT, "persistent"),
        "weft, new": (WEFT, tag_mpi.WEFT, "fresh")}
STACKS = {"two copies": (COPIES, mpi.UCX), "none, UCX": (NONE, mpi.UCX), "provider weft": (WEFT, tag_mpi.WEFT)}
MEMORY = {"UD, UCX": (dict(UCX, WEFT_MPI_OVER="ud"), mpi.UCX), "RC, UCX": (UCX, mpi.UCX), "provider weft": (WEFT, tag_mpi.WEFT)}
SIZES = [4 ** i for i in range(5, 12)]
CLASSES = {"is_w": "W", "is_a": "A"}
IS_RANKS = 4
KERNELS = ("is_w", "cg", "lu", "mg")
RANKS = (2, 4, 8, 16)


# ---- measuring ------------------------------------------------------------------------------

def kern(env, way, ranks, *what):
    """The rows that mpi_kern prints."""
    variables, options = way
    if not os.path.exists(BIN + "/mpi_kern"):
        raise Failed("no Open MPI: install openmpi-bin and libopenmpi-dev")
    return json.loads(run(*mpi.before(env, **variables), *goal.MPIRUN, *options, "-n", ranks, mpi.RANK, BIN + "/mpi_kern",
                          goal.length(env), *what, cpu=goal.ALL_BUT_LAST))


def bandwidth(env):
    """Ways in turn for each size, so that all see the same machine; the copy of a core beside them."""
    env.weftd("--nics", "2", "--mtu", "9000")
    seen = {}
    for n in SIZES:
        for _ in range(env.args.windows):
            for title, (variables, options, kind) in WAYS.items():
                row, = kern(env, (variables, options), 2, "%s:%d" % (kind, n))
                seen.setdefault((title, n), []).append(row["mib_s"])
            seen.setdefault(("memcpy, one core", n), []).append(
                float(run(BIN + "/memcpy_base", goal.length(env), cpu=str(LAST_CPU))) * 1e9 / 8 / (1 << 20))
        print("copies,", n, "bytes measured", flush=True)
    return [{"way": w, "bytes": n, **summary("mib_s", v)} for (w, n), v in seen.items()]


def sort(env):
    """IS of NPB on four ranks."""
    env.weftd("--nics", "2", "--mtu", "9000")
    seen = {}
    for _ in range(env.args.windows):
        for title, way in STACKS.items():
            for row in kern(env, way, IS_RANKS, *CLASSES):
                seen.setdefault((row["kernel"], title), []).append(row)
    return [{"kernel": k, "way": w, **{f: v for name in ("alltoallv_us", "comm_us", "run_us")
                                       for f, v in summary(name, [r[name] for r in rows]).items()}}
            for (k, w), rows in seen.items()]


def memory(env):
    """Kernels one by one, since the most that a process needed is not reset; weftd anew for each."""
    rows = []
    for title, way in MEMORY.items():
        for k in KERNELS:
            for ranks in RANKS:
                env.close()
                d = env.weftd("--nics", "2", "--mtu", "9000")
                idle = resident(d.pid)
                row, = kern(env, way, ranks, k)
                rows.append({"way": title, "kernel": k, "ranks": ranks, "run_us": row["run_us"],
                             "rank_kib": row["rss_kib"], "weftd_kib": resident(d.pid) - idle})
        print("memory,", title, "measured", flush=True)
    return rows


def resident(pid):
    """KiB of a process: the most that it had."""
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


# ---- drawing --------------------------------------------------------------------------------

def efficiency(peak, copy, copies):
    """SCI-MPICH, equations 1 and 2."""
    return 1 / (1 + copies * peak / copy)


def bandwidth_table(rows, folder):
    ways = [w for w in ordered(rows, "way") if w != "memcpy, one core"]
    draw(folder, "copies_bandwidth", "set logscale x 2\nset logscale y 10\nset xlabel 'bytes'\nset format x '%.0b%B'\n"
         "set ylabel 'MiB/s, both ways'\nset title 'MPI by copies of a message (SCI-MPICH, figure 6)'\n",
         [(w, bars(pick(rows, way=w), "bytes", "mib_s")) for w in ways])
    copy = statistics.median(r["mib_s"] for r in rows if r["way"] == "memcpy, one core")
    peaks = [50 * 2 ** (i / 2) for i in range(18)]
    draw(folder, "copies_model", "set logscale x 2\nset xrange [50:20000]\nset xlabel 'bandwidth of the wire, MiB/s'\nset ylabel 'efficiency'\nset yrange [0:1.05]\n"
         "set title 'n copies of %.0f MiB/s each (SCI-MPICH, figure 1)'\n" % copy,
         [("%d copies" % n if n != 1 else "1 copy", [(p,) + (efficiency(p, copy, n),) * 3 for p in peaks]) for n in range(3)])
    cells = [[size(n)] + [spread(pick(rows, way=w, bytes=n)[0], "mib_s") for w in ways] for n in ordered(rows, "bytes")]
    return table(["bytes"] + ways, cells) + ["", "A core copies %s MiB/s here (memcpy of 1 MiB)." % number(copy)]


def sort_table(rows, _folder):
    return table(["class", "way", "MPI_Alltoallv, ms", "all MPI calls, ms", "a step, ms", "Alltoallv, % of it"],
                 [[CLASSES[r["kernel"]], r["way"]] + [spread({k: v / 1000 for k, v in r.items() if k.endswith(("us", "min", "max"))}, f)
                                                      for f in ("alltoallv_us", "comm_us", "run_us")]
                  + [number(100 * r["alltoallv_us"] / r["run_us"])] for r in sorted(rows, key=lambda r: r["kernel"], reverse=True)])


def memory_table(rows, folder):
    draw(folder, "copies_memory", "set logscale x 2\nset xlabel 'ranks'\nset ylabel 'MiB of a rank'\n"
         "set title 'Memory of a rank, IS class W (MVAPICH study, figures 4 to 10)'\n",
         [(w, [(r["ranks"],) + (r["rank_kib"] / 1024,) * 3 for r in pick(rows, way=w, kernel="is_w")]) for w in ordered(rows, "way")])
    ways = ordered(rows, "way")
    body = []
    for k in KERNELS:
        for n in RANKS:
            found = [pick(rows, way=w, kernel=k, ranks=n)[0] for w in ways]
            body.append([k.upper().replace("_W", ", class W"), n] + ["%s, %s, %s" % tuple(
                number(v) for v in (r["run_us"] / 1000, r["rank_kib"] / 1024, r["weftd_kib"] / 1024)) for r in found])
    return table(["kernel", "ranks"] + ways, body)


PARTS = {"bandwidth": (bandwidth, bandwidth_table), "sort": (sort, sort_table), "memory": (memory, memory_table)}


if __name__ == "__main__":
    tables.main(__doc__, "copies.md", "copies", PARTS, seconds=1.0)
