# SPDX-License-Identifier: BSD-3-Clause
"""Rows of make bench about tagged messages: weft-bench tag, beside the message layer of weft-bench
mpi3, which matches on the host as MPI libraries do.

Each part measures blocks in turn by itself; the rows have their medians and extremes. Rows with _weft
are of libweft; those of the same names without it are of MPI (tag_mpi.py).
"""
from harness import in_turn

DEVICES = ("--device", "weft0", "--device2", "weft1")
OVERLAP = {"256k": 256 << 10, "1m": 1 << 20, "4m": 4 << 20}


def tag(env, part, *options):
    return env.bench("tag", "--part", part, *DEVICES, *options)["rows"]


def mpi3(env, part, *options):
    return env.bench("mpi3", "--part", part, *DEVICES, *options)["rows"]


def only(rows, **fields):
    found = [r for r in rows if all(r[k] == v for k, v in fields.items())]
    if len(found) != 1:
        raise LookupError("%d rows with %s" % (len(found), fields))
    return found[0]


def latency(env):
    env.weftd("--nics", "2")
    return [in_turn(env, "tag_8b_lat_weft", "us", lambda: only(tag(env, "lat", "--size", "8", "--iters", "20000"), bytes=8)["us"],
                    lambda: only(mpi3(env, "basic", "--size", "16", "--iters", "20000"), bytes=16)["latency_us"])]


def rate(env):
    """Baseline: sends of a reliable datagram queue pair, which match nothing."""
    env.weftd("--nics", "2")
    return [in_turn(env, "tag_rate_64_weft", "Mmsg/s", lambda: tag(env, "rate", "--iters", "2000")[0]["mmsg_s"],
                    lambda: env.bench("loop", "rate", *DEVICES, "--duration", env.seconds())["mmps"])]


def match(env):
    """Latency behind lists of 10,000, beside the empty ones of the same endpoints."""
    env.weftd("--nics", "2")
    rows = []
    found = tag(env, "match", "--iters", "10000")
    for kind, name in (("posted", "tag_match_10000"), ("unexpected", "tag_match_unexpected_10000")):
        r = only(found, list=kind, length=10000)
        rows.append({"name": name, "value": r["us"], "unit": "us", "baseline": r["empty_us"], "ratio": r["ratio"],
                     "min": r["ratio_min"], "max": r["ratio_max"]})
    return rows


def overlap(env):
    """Overlap as it is, beside that of rendezvous by RDMA Read with matching on the host."""
    env.weftd("--nics", "2")
    found = tag(env, "overlap")
    base = mpi3(env, "overlap", "--size", "4M")
    rows = []
    for side, first, prefix in (("recv", "receiver", "recv_overlap_"), ("recv", "sender", "recv_overlap_late_"),
                                ("send", "receiver", "send_overlap_")):
        for size, count in OVERLAP.items():
            r = only(found, side=side, first=first, bytes=count)
            b = only(base, side=side, protocol="get", bytes=count)["ratio"]
            rows.append({"name": prefix + size + "_weft", "value": r["ratio"], "unit": "", "baseline": b,
                         "ratio": r["ratio"] / b if b > 0 else 0, "min": r["ratio_min"], "max": r["ratio_max"]})
    return rows


def freq(env):
    """The saving of latency by registering frequent buffers, beside the most that it could be: C - V at
    both ends. Where V exceeds C nothing is registered, and the row says so."""
    env.weftd("--nics", "2")
    found = tag(env, "freq", "--iters", "5000")
    rows = []
    for size in (8192, 16384):
        r = only(found, bytes=size)
        limit = r["limit_us"] if r["registered"] and r["limit_us"] > 0 else 0
        share = [r[k] / limit if limit else 1 for k in ("gain_us", "gain_us_min", "gain_us_max")]
        rows.append({"name": "freq_%dk_gain_weft" % (size >> 10), "value": r["gain_us"], "unit": "us", "baseline": limit,
                     "ratio": share[0], "min": share[1], "max": share[2], "registered": r["registered"]})
    r = only(found, bytes=8192)
    rows.append({"name": "freq_noreuse_loss_weft", "value": r["loss"], "unit": "", "baseline": 1, "ratio": r["loss"],
                 "min": r["loss_min"], "max": r["loss_max"]})
    return rows


GROUPS = {"tag_lat": latency, "tag_rate": rate, "tag_match": match, "tag_overlap": overlap, "tag_freq": freq}
GOALS = {"tag_match_10000": "<= 1.1", "tag_match_unexpected_10000": "<= 1.1",
         **{"%s%s_weft" % (p, s): "value >= 0.92" for p in ("recv_overlap_", "recv_overlap_late_") for s in OVERLAP},
         "send_overlap_1m_weft": "value >= 0.95", "freq_8k_gain_weft": ">= 0.9", "freq_16k_gain_weft": ">= 0.9",
         "freq_noreuse_loss_weft": "<= 0.02"}
