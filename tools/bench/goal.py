# SPDX-License-Identifier: BSD-3-Clause
"""The groups goal_* of bench.py: collectives on the NIC (goal-bench) in turn with Open MPI
(mpi_base).

The NICs of a weftd are polled on the last CPU, all ranks of goal-bench share the others; MPI's ranks
have all CPUs, weftd asleep meanwhile. Method of ESPGOAL 6.3 to 6.6: mean over the ranks,
median over the runs. Ranks are 8, each on a NIC of its own unless a row's name says otherwise.
"""
import glob
import json
import os
import shutil
import statistics

from harness import BIN, BUILD, Failed, run, say, windows_row

RANKS = 8
ALL_BUT_LAST = "0-%d" % (os.cpu_count() - 2) if os.cpu_count() > 2 else "0"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
BTL = {"tcp": ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"], "vader": ["--mca", "btl", "vader,self"]}
MATRICES = (64, 128, 256, 512, 1024, 2048)
PING_SIZES = (8, 64, 512, 4096, 32768, 262144, 1048576)
OP_SIZES = (8, 4096, 65536, 1048576)
SHORT = 0.3  # seconds of one measurement in a window, for the default of --seconds


def length(env):
    return "%.3f" % (SHORT * env.args.seconds)


def ours(env, mode, *what, ranks=RANKS, nics=None, cpu=ALL_BUT_LAST):
    more = ["--nics", nics] if nics else []
    return json.loads(run(BIN + "/goal-bench", mode, *what, "--ranks", ranks, "--seconds", length(env), "--run-dir",
                          env.dir, *more, cpu=cpu))


def mpi(env, btl, mode, *what, ranks=RANKS, more=(), pre=()):
    if not shutil.which("mpirun") or not os.path.exists(BIN + "/mpi_base"):
        raise Failed("no Open MPI to compare with: install openmpi-bin and libopenmpi-dev, then make bench again")
    return json.loads(run(*pre, *MPIRUN, *BTL[btl], *more, "-n", ranks, BIN + "/mpi_base", mode, length(env), *what, cpu=None))


def in_windows(env, name, windows, *measures):
    """The results of each measure, window by window: [[a, a, ...], [b, b, ...], ...]."""
    seen = [[] for _ in measures]
    for i in range(windows):
        say("%s, window %d of %d" % (name, i + 1, windows))
        for results, measure in zip(seen, measures):
            results.append(measure())
    return seen


def column(results, index, key="us"):
    return [r[index][key] for r in results]


def nic_part(results, index):
    """The NICs' part: mean over the ranks, and from the last start to the last finish."""
    return {"nic_us": statistics.median(column(results, index, "nic_us")),
            "nic_last_us": statistics.median(column(results, index, "nic_last_us"))}


def coll(env):
    what = ["barrier", "bcast:65536", "allreduce:8"]
    names = ["goal_barrier_8", "goal_bcast_64k_8", "goal_allreduce_8b_8"]
    env.weftd("--nics", str(RANKS))
    own, turns, one, tcp, vader = in_windows(
        env, "goal_coll", env.args.windows, lambda: ours(env, "coll", *what), lambda: ours(env, "turns"),
        lambda: ours(env, "coll", *what, nics="1"), lambda: mpi(env, "tcp", "coll", *what),
        lambda: mpi(env, "vader", "coll", *what))
    rows = []
    for i, name in enumerate(names):
        for results, suffix in ((own, ""), (one, "_one_nic")):
            for base, against in ((tcp, ""), (vader, "_vader")):
                rows.append(windows_row(name + suffix + against, "us", column(results, i), column(base, i),
                                        **nic_part(results, i)))
    # Compared with the time of the ranks' CPUs for scheduling each rank once.
    rows.append(windows_row("goal_barrier_8_turns", "us", column(own, 0), column(turns, 0), **nic_part(own, 0)))
    return rows


def jumbo(env):
    """The broadcast with frames of 9,000 bytes; those of the loopback interface, which MPI uses, have 65,536."""
    env.weftd("--nics", str(RANKS), "--mtu", "9000")
    own, tcp, vader = in_windows(
        env, "goal_jumbo", min(3, env.args.windows), lambda: ours(env, "coll", "bcast:65536"),
        lambda: mpi(env, "tcp", "coll", "bcast:65536"), lambda: mpi(env, "vader", "coll", "bcast:65536"))
    return [windows_row("goal_bcast_64k_8_mtu9000" + against, "us", column(own, 0), column(base, 0), **nic_part(own, 0))
            for base, against in ((tcp, ""), (vader, "_vader"))]


def gather(env):
    """The algorithms of ESPGOAL's figures 6.11 and 6.12, at both sides."""
    env.weftd("--nics", str(RANKS))
    rows = []
    for name, bytes_, alg, number in (("goal_gather_512b", 512, "binomial", 2),
                                      ("goal_gather_500k", 512000, "linear_sync_32k", 3)):
        more = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_gather_algorithm", str(number),
                "--mca", "coll_tuned_gather_algorithm_segmentsize", "32768"]
        own, tcp, vader = in_windows(
            env, name, min(3, env.args.windows), lambda: ours(env, "coll", "gather:%d:%s" % (bytes_, alg)),
            lambda: mpi(env, "tcp", "coll", "gather:%d" % bytes_, more=more),
            lambda: mpi(env, "vader", "coll", "gather:%d" % bytes_, more=more))
        for base, against in ((tcp, ""), (vader, "_vader")):
            rows.append(windows_row(name + against, "us", column(own, 0), column(base, 0), **nic_part(own, 0)))
    return rows


def start(env):
    """Costs of one rank, in us; the baseline is 1 us, so ratios are us."""
    env.weftd("--nics", "1")
    got, = in_windows(env, "goal_start", env.args.windows, lambda: ours(env, "start", ranks=1))
    ones = [1.0] * len(got)
    return [windows_row("goal_start_us", "us", column(got, 0, "run_us"), ones),
            windows_row("goal_empty_us", "us", column(got, 0, "us"), ones)]


def overlap(env):
    """1 - (overall - compute) / pure, rank 0's times; the baseline is Open MPI's over tcp. Rows NAME: overall and compute
    while the other ranks sleep (MPI: wait); NAME_osu: by the definition of the OSU benchmarks, all ranks do the same at once,
    in pure and in overall."""
    what = ["barrier", "allreduce:65536"]
    env.weftd("--nics", str(RANKS))
    got, tcp, vader = in_windows(env, "goal_overlap", min(3, env.args.windows), lambda: ours(env, "overlap", *what),
                                 lambda: mpi(env, "tcp", "overlap", *what),
                                 lambda: mpi(env, "vader", "overlap", *what))
    rows = []
    for i, name in enumerate(("goal_ibarrier_overlap", "goal_iallreduce_64k_overlap")):
        parts = {k: statistics.median(column(got, i, k))
                 for k in ("overlap_alone", "pure_us", "idle_us", "overall_us", "compute_us", "start_us", "wait_us")}
        osu = {k: statistics.median(column(got, i, k)) for k in ("pure_us", "osu_overall_us", "osu_compute_us")}
        for suffix, key, more in (("", "overlap", parts), ("_osu", "overlap_osu", osu)):
            # The formula may fall below zero; OSU prints 0 then.
            base = [max(0.001, v) for v in column(tcp, i, key)]
            rows.append(windows_row(name + suffix, "", column(got, i, key), base,
                                    vader=max(0.0, statistics.median(column(vader, i, key))), **more))
    return rows


def matmul(env):
    """Times with a barrier in flight against the same without; the waiting apart."""
    env.weftd("--nics", str(RANKS))
    got, tcp, both = in_windows(env, "goal_matmul", min(2, env.args.windows),
                                lambda: ours(env, "matmul", "barrier", *MATRICES),
                                lambda: mpi(env, "tcp", "matmul", *MATRICES),
                                lambda: ours(env, "matmul", *MATRICES, "--alone", cpu=None))
    rows = []
    for i, n in enumerate(MATRICES):
        alone = column(got, i, "alone_us")
        more = {"wait_us": statistics.median(column(got, i, "wait_us"))}
        rows.append(windows_row("goal_matmul_%d" % n, "us", column(got, i, "with_us"), alone, **more))
        more = {"wait_us": statistics.median(column(got, i, "tested_wait_us"))}
        rows.append(windows_row("goal_matmul_%d_test" % n, "us", column(got, i, "tested_us"), alone, **more))
        rows.append(windows_row("goal_matmul_%d_all_cores" % n, "us", column(got, i, "with_us"),
                                column(both, i, "alone_us")))
        for key, name in (("with_us", "mpi_ibarrier_matmul_%d"), ("tested_us", "mpi_ibarrier_matmul_%d_test")):
            wait = "wait_us" if key == "with_us" else "tested_wait_us"
            rows.append(windows_row(name % n, "us", column(tcp, i, key), column(tcp, i, "alone_us"),
                                    wait_us=statistics.median(column(tcp, i, wait))))
    return rows


def pingpong(env):
    """Half a round by size, from host to host (goal_pingpong_BYTES: a run for each message, started and awaited by the
    process) and from NIC to NIC (goal_nic_pingpong_BYTES: all rounds in one run); the baseline of both is MPI_Send and
    MPI_Recv over tcp, from host to host."""
    env.weftd("--nics", "2")
    got, tcp, vader = in_windows(env, "goal_pingpong", min(3, env.args.windows),
                                 lambda: ours(env, "pingpong", *PING_SIZES, ranks=2),
                                 lambda: mpi(env, "tcp", "pingpong", *PING_SIZES, ranks=2),
                                 lambda: mpi(env, "vader", "pingpong", *PING_SIZES, ranks=2))
    return [windows_row(name % n, "us", column(got, i, key), column(tcp, i), vader_us=statistics.median(column(vader, i)))
            for name, key in (("goal_pingpong_%d", "hosts_us"), ("goal_nic_pingpong_%d", "us"))
            for i, n in enumerate(PING_SIZES)]


def esp(env):
    """Half a round of 8 bytes over ESP: from host to host (esp_pingpong_us), and from core to core without a host
    (esp_nic_pingpong_us); the baseline of both is the kernel's UDP, from host to host."""
    spaces = env.veth(1500)
    env.weftd("--nics", "2")

    def kernel():
        a, b = spaces
        return min(float(run(BIN + "/udp_base", "pair", a, "10.78.0.1", b, "10.78.0.2", length(env), how, cpu=None)) / 2
                   for how in ("spin", "block"))

    got, udp = in_windows(env, "esp_pingpong_us", min(3, env.args.windows),
                          lambda: ours(env, "pingpong", "8", ranks=2)[0], kernel)
    return [windows_row(name, "us", [g[key] for g in got], udp)
            for name, key in (("esp_pingpong_us", "hosts_us"), ("esp_nic_pingpong_us", "us"))]


def localop(env):
    env.weftd("--nics", "1")
    got, = in_windows(env, "goal_localop", 1, lambda: ours(env, "localop", *OP_SIZES, ranks=1))
    return [windows_row("goal_localop_%s_%d" % (r["name"], r["bytes"]), "us", [r["us"]], [r["loop_us"]])
            for r in got[0]]


def userop(env):
    """64 KiB by programs of the user, compiled by weftd; the baseline is the built-in operation of like kind."""
    objects = BUILD + "/user-ops"
    os.makedirs(objects, exist_ok=True)
    if not shutil.which("clang"):
        raise Failed("no clang, which compiles programs for BPF: install it, then make bench again")
    for path in sorted(glob.glob("docs/examples/user-ops/*.bpf.c")):
        name = os.path.basename(path)[:-len(".bpf.c")]
        run("clang", "-target", "bpf", "-O2", "-mcpu=v2", "-I.", "-c", path, "-o", "%s/%s.o" % (objects, name), cpu=None)
    env.weftd("--nics", "1")
    got, = in_windows(env, "bpf_op_64k", env.args.windows,
                      lambda: ours(env, "userop", "65536", "--user-ops", objects, ranks=1))
    return [windows_row("bpf_op_64k" + ("" if r["name"] == "sum" else "_" + r["name"]), "us", column(got, i),
                        column(got, i, "builtin_us")) for i, r in enumerate(got[0])]


GROUPS = {"goal_coll": coll, "goal_jumbo": jumbo, "goal_gather": gather, "goal_start": start, "goal_overlap": overlap, "goal_matmul": matmul,
          "goal_pingpong": pingpong, "esp_pingpong": esp, "goal_localop": localop,
          "bpf_op": userop}
# Bounds on the ratio, or on the value where they say so.
GOALS = {"goal_barrier_8": "<= 0.2", "goal_barrier_8_vader": "<= 1", "goal_bcast_64k_8": "<= 0.25",
         "goal_allreduce_8b_8": "<= 0.2", "goal_start_us": "value <= 1", **{"bpf_op_64k" + n: "<= 1.5" for n in ("", "_saxpy", "_complex_add", "_argmin", "_mersenne")}, "goal_empty_us": "value <= 3",
         "goal_ibarrier_overlap": "value >= 0.95", "goal_iallreduce_64k_overlap": "value >= 0.95",
         "goal_ibarrier_overlap_osu": "value >= 0.95", "goal_iallreduce_64k_overlap_osu": "value >= 0.95",
         **{"goal_matmul_%d" % n: "<= 1.01" for n in MATRICES}}
