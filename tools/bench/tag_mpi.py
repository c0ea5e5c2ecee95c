# SPDX-License-Identifier: BSD-3-Clause
"""Rows of make bench about messages of MPI that the NIC matches: Open MPI 4.1 over libfabric's provider
weft (pml cm, mtl ofi), beside the same program (mpi_tag) over UCX and over verbs;ofi_rxm on the same
NICs, and over its tcp BTL on a veth.

Ranks on the NICs share the CPUs that weftd leaves, those over tcp have all. In rows of overlap rank 0
calls nothing between its post and MPI_Wait(). Its partner sleeps until then over weft; over UCX and
ofi_rxm it calls MPI every 50 us, as these libraries need it to go on; over tcp, with a CPU of its own,
it waits in MPI. tag.py has rows of the same names, with _weft, about libweft alone.
"""
import functools
import os
import statistics

import goal
import mpi
import tag
from goal import in_windows
from harness import BIN, windows_row

WEFT = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "weft", "--mca", "btl", "self"]
LIBFABRIC = os.path.abspath(BIN + "/../lib/libfabric")
OVERLAPS = [("recv", "receiver", "recv_overlap_", n) for n in tag.OVERLAP] + \
    [("recv", "sender", "recv_overlap_late_", n) for n in tag.OVERLAP] + [("send", "receiver", "send_overlap_", "1m")]
CG_BYTES = 300000  # of a message of NPB's CG, class B, on four ranks
FREQ_BYTES = 8192


def on_nics(env, options, partner, over, ns, *what, **more):
    pre = mpi.before(env, ns, WEFT_MPI_OVER=over, **more)
    return mpi.launch(goal.ALL_BUT_LAST, pre, options, mpi.RANK, "mpi_tag", goal.length(env), partner, *what)


def over_weft(env, *what, **more):
    return on_nics(env, WEFT, "sleep", "ofi", None, *what, FI_PROVIDER_PATH=LIBFABRIC, **more)


def over_tcp(env, veth, *what):
    return mpi.launch(None, veth.before(), mpi.TCP, veth.wrapper, "mpi_tag", goal.length(env), "wait", *what)


def stacks(env, *names):
    """A weftd, and for each name the function that runs mpi_tag so."""
    veth = mpi.Veth(env, env.veth(1500))
    ns = mpi.addresses(env)
    env.weftd("--nics", "2")
    every = {"weft": functools.partial(over_weft, env), "ucx": functools.partial(on_nics, env, mpi.UCX, "nap", "ucx", None),
             "rxm": functools.partial(on_nics, env, mpi.OFI, "nap", "rxm", ns), "tcp": functools.partial(over_tcp, env, veth)}
    return [every[n] for n in names]


def latency(env):
    found = in_windows(env, "tag_8b_lat", env.args.windows,
                       *[lambda s=s: s("pingpong:8") for s in stacks(env, "weft", "rxm", "tcp")])
    us = [goal.column(f, 0) for f in found]
    return [windows_row("tag_8b_lat", "us", us[0], us[1]), windows_row("tag_8b_lat_tcp", "us", us[0], us[2])]


def rate(env):
    found = in_windows(env, "tag_rate_64", env.args.windows, *[lambda s=s: s("rate:64") for s in stacks(env, "weft", "rxm")])
    return [windows_row("tag_rate_64", "Mmsg/s", *[goal.column(f, 0, "mmsg_s") for f in found])]


def overlap(env):
    """The baseline is UCX; all three are kept with the row."""
    names = ("weft", "ucx", "rxm", "tcp")
    what = ["overlap:%s:%s:%d" % (side, first, tag.OVERLAP[size]) for side, first, _, size in OVERLAPS]
    found = in_windows(env, "recv_overlap", env.args.windows, *[lambda s=s: s(*what) for s in stacks(env, *names)])
    rows = []
    for i, (_, _, prefix, size) in enumerate(OVERLAPS):
        ratios = {n: goal.column(f, i, "ratio") for n, f in zip(names, found)}
        mine, others = ratios.pop("weft"), {n: statistics.median(r) for n, r in ratios.items()}
        rows.append({"name": prefix + size, "value": statistics.median(mine), "unit": "", "baseline": others["ucx"],
                     "ratio": statistics.median(mine), "min": min(mine), "max": max(mine), **others})
    return rows


def exchange(env):
    """Receives that are announced too late to be used, beside the same without announcements."""
    weft, = stacks(env, "weft")
    found = in_windows(env, "cg_exchange", env.args.windows,
                       *[lambda a=a: weft("exchange:%d" % CG_BYTES, FI_WEFT_ANNOUNCE=a) for a in ("adaptive", "never", "always")])
    us = [goal.column(f, 0) for f in found]
    return [windows_row("cg_exchange", "us", us[0], us[1], always_us=statistics.median(us[2]))]


def freq(env):
    """The saving by buffers that stay registered, beside the most that it could be (tag.py); and the cost of
    watching buffers that are not used again."""
    weft, = stacks(env, "weft")
    limit = tag.only(tag.tag(env, "freq", "--iters", "20"), bytes=FREQ_BYTES)
    most = limit["limit_us"] if limit["registered"] and limit["limit_us"] > 0 else 0
    what = ["pingpong:%d" % FREQ_BYTES, "fresh:%d" % FREQ_BYTES]
    kept, copied = in_windows(env, "freq_8k_gain", env.args.windows,
                              *[lambda k=k: weft(*what, FI_WEFT_KEEP_BUFFERS=k) for k in ("adaptive", "never")])
    gains = [c - k for c, k in zip(goal.column(copied, 0), goal.column(kept, 0))]
    shares = [g / most if most else 1 for g in gains]
    losses = [k / c - 1 for c, k in zip(goal.column(copied, 1), goal.column(kept, 1))]
    loss = statistics.median(losses)
    return [{"name": "freq_8k_gain", "value": statistics.median(gains), "unit": "us", "baseline": most,
             "ratio": statistics.median(shares), "min": min(shares), "max": max(shares), "registered": limit["registered"]},
            {"name": "freq_noreuse_loss", "value": loss, "unit": "", "baseline": 1, "ratio": loss, "min": min(losses),
             "max": max(losses)}]


GROUPS = {"tag_mpi_lat": latency, "tag_mpi_rate": rate, "tag_mpi_overlap": overlap, "tag_mpi_cg": exchange, "tag_mpi_freq": freq}
GOALS = {"tag_8b_lat": "<= 0.7", "tag_8b_lat_tcp": "<= 0.8", "tag_rate_64": ">= 1.5",
         **{prefix + size: "value >= %s" % (0.95 if side == "send" else 0.92) for side, _, prefix, size in OVERLAPS},
         "cg_exchange": "<= 1.04", "freq_8k_gain": ">= 0.9", "freq_noreuse_loss": "<= 0.02"}
