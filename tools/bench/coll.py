# SPDX-License-Identifier: BSD-3-Clause
"""The groups coll_* of bench.py: collectives of unchanged MPI programs on the NIC (coll/weft of Open MPI 4.1)
beside Open MPI's own.

mpi_coll, with results checked: over weft's NICs with coll/weft; over the same NICs by UCX and libnbc (or
tuned, for blocking ones); over Open MPI's tcp BTL on a veth. Overlap by OSU's formula: every rank computes for
as long as the collective takes alone, without calls of MPI. Two ranks: over the NICs they share the CPUs that
weftd leaves, over tcp they have all. The matrix multiplication of ESPGOAL 6.6 with MPI_Ibarrier is that of
mpi_base, eight ranks, as in goal.py; they have all CPUs, so weftd has no core of its own then.
"""
import functools
import json
import os
import statistics

import goal
import mpi
from goal import in_windows
from harness import BIN, windows_row

COMPONENTS = os.path.abspath(BIN + "/../lib/openmpi") + ":SYSTEM_DEFAULT"
NONE = ["--mca", "coll", "^weft"]
STACKS = ("weft", "ucx", "tcp")
OVERLAPS = [("iallreduce", 65536, "64k"), ("ialltoall", 4096, "4k"), ("ibcast", 1048576, "1m")]


def component(env, **more):
    """The environment's words before mpirun for ranks whose collectives the NICs carry out."""
    return mpi.before(env, None, OMPI_MCA_mca_base_component_path=COMPONENTS, **more)


def programs(env, *more):
    """A weftd, and for each stack the function that runs a program of two ranks so, with more options of mpirun, and
    returns what it prints."""
    veth = mpi.Veth(env, env.veth(1500))
    env.weftd("--nics", "2")
    over = {"weft": (goal.ALL_BUT_LAST, component(env), mpi.UCX, mpi.RANK),
            "ucx": (goal.ALL_BUT_LAST, mpi.before(env), mpi.UCX + NONE, mpi.RANK),
            "tcp": (None, veth.before(), mpi.TCP + NONE, veth.wrapper)}
    return {s: functools.partial(mpi.printed, cpu, pre, options + list(more), rank) for s, (cpu, pre, options, rank) in over.items()}


def stacks(env, *names):
    """A weftd, and for each name the function that runs mpi_coll so and returns its rows."""
    run = programs(env)
    return [lambda *what, s=s: json.loads(run[s](BIN + "/mpi_coll", goal.length(env), *what)) for s in names]


def overlap(env):
    """Overlap, the baseline libnbc's over UCX; latency; and the call that starts a cached schedule, in us."""
    what = ["%s:%d" % (name, n) for name, n, _ in OVERLAPS] + ["iallreduce:8"]
    found = dict(zip(STACKS, in_windows(env, "coll_overlap", min(3, env.args.windows),
                                        *[lambda s=s: s(*what) for s in stacks(env, *STACKS)])))
    rows = []
    for i, (name, _, size) in enumerate(OVERLAPS):
        ratios = {s: goal.column(found[s], i, "overlap") for s in STACKS}
        rows.append(windows_row("coll_%s_%s_overlap" % (name, size), "", ratios["weft"], [max(0.001, v) for v in ratios["ucx"]],
                                tcp=statistics.median(ratios["tcp"]),
                                **{s + "_us": statistics.median(goal.column(found[s], i)) for s in STACKS}))
    us = {s: goal.column(found[s], 0) for s in STACKS}
    rows.append(windows_row("coll_iallreduce_64k_lat", "us", us["weft"], us["ucx"], tcp_us=statistics.median(us["tcp"])))
    calls = goal.column(found["weft"], len(OVERLAPS), "call_us")
    rows.append(windows_row("coll_start_us", "us", calls, [1.0] * len(calls)))
    return rows


def multiply(env, options, pre=()):
    """mpi_base's matrix multiplication: eight ranks, rank 0 alone on the first CPU."""
    return goal.mpi(env, "vader", "matmul", *goal.MATRICES, more=options, pre=pre)


def matmul(env):
    """The time with MPI_Ibarrier in flight against the same without: the NIC's, and libnbc's; with calls of MPI_Test, too."""
    env.weftd("--nics", str(goal.RANKS), own=False)
    on = ["env", "OMPI_MCA_mca_base_component_path=" + COMPONENTS, "WEFT_RUN_DIR=" + env.dir]
    got, nbc = in_windows(env, "coll_matmul", min(2, env.args.windows), lambda: multiply(env, [], on), lambda: multiply(env, NONE))
    rows = []
    for i, n in enumerate(goal.MATRICES):
        for who, seen in (("", got), ("_libnbc", nbc)):
            alone = goal.column(seen, i, "alone_us")
            for key, wait, how in (("with_us", "wait_us", ""), ("tested_us", "tested_wait_us", "_test")):
                rows.append(windows_row("coll_matmul_%d%s%s" % (n, how, who), "us", goal.column(seen, i, key), alone,
                                        wait_us=statistics.median(goal.column(seen, i, wait))))
    return rows


GROUPS = {"coll_overlap": overlap, "coll_matmul": matmul}
GOALS = {**{"coll_%s_%s_overlap" % (name, size): "value >= 0.95" for name, _, size in OVERLAPS},
         "coll_iallreduce_64k_lat": "<= 1", "coll_start_us": "value <= 3",
         **{"coll_matmul_%d%s" % (n, how): "<= 1.01" for n in goal.MATRICES for how in ("", "_test")}}
