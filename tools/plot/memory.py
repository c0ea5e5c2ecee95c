#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make memory-tables: measures with weft-bench reg, srq and mpi3, and writes the tables and pictures of docs/memory.md.

Starts a weftd of two NICs on the last CPU and weft-bench on the others; each part's rows go into
docs/pictures/PART.tsv, and from there alone into docs/pictures/*.svg and between the marks
"<!-- table NAME -->" and "<!-- end -->" of docs/memory.md. Calls weftd, weft-bench, gnuplot.

usage: memory.py [--draw-only] [--part PART]... [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import argparse

from nics import Nics
from figures import bars, draw, measured_on, number, ordered, pick, put, read, size, spread, table, write

PEERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


# ---- measuring ------------------------------------------------------------------------------

BOTH = ("--device", "weft0", "--device2", "weft1")


def measure(nics, parts, folder):
    """Rows of each part, all with the same fields, into its file. srq has its parts from the same runs."""
    srq = []
    for part in parts:
        mode, name = part.split("_", 1)
        if mode == "srq":
            srq = srq or sum((nics.bench(mode, "--peers", n, *BOTH)["rows"] for n in PEERS), [])
            rows = srq
        else:
            # The rank that measures overlap has the first CPU alone, its partner the last.
            rows = nics.bench(mode, "--part", name, *BOTH, everywhere=name in ("overlap", "progress", "sci"))["rows"]
        write("%s/%s.tsv" % (folder, part), [r for r in rows if r["part"] == name])
        print(part, "measured", flush=True)


KINDS = (("alloc", "of weft_alloc()"), ("first", "malloc, first time"), ("again", "malloc, again"), ("vm", "not mapped"),
         ("miss", "cache, miss"), ("hit", "cache, hit"))


def reg_cost(rows, folder):
    body = []
    for r in rows:
        body.append([size(r["bytes"]), dict(KINDS)[r["kind"]],
                     "%s (%s to %s)" % tuple(number(r[k]) for k in ("reg_us", "reg_us_p10", "reg_us_p90")),
                     number(r["reg_host_us"]), number(r["reg_nic_us"]), number(r["dereg_us"]), number(r["dereg_host_us"]),
                     number(r["dereg_nic_us"])])
    draw(folder, "reg_cost", "set logscale xy\nset xlabel 'bytes'\nset ylabel 'us to register'\n"
         "set title 'Registering memory, and finding it in the cache'\nset format x '%.0b%B'\nset logscale x 2\n",
         [(title, [(r["bytes"], r["reg_us"], r["reg_us_p10"], r["reg_us_p90"]) for r in pick(rows, kind=kind)])
          for kind, title in KINDS])
    return table(["bytes", "memory", "register, us (first to last tenth)", "host", "NIC", "deregister, us", "host", "NIC"],
                 body)


def reg_policy(rows, _folder):
    return table(["policy", "us per use (spread)", "hits", "misses", "evicted", "kept, KiB"],
                 [[r["policy"], spread(r, "us_per_use"), "%d" % r["hits"], "%d" % r["misses"], "%d" % r["evictions"],
                   "%d" % (r["kept_bytes"] / 1024)] for r in rows])


def reg_table2(rows, folder):
    sizes = ordered(rows, "bytes")
    body = []
    for reps in ordered(rows, "reps"):
        for cache in ("no", "yes"):
            for memory in ("weft_alloc", "malloc"):
                cells = pick(rows, reps=reps, cache=cache, memory=memory)
                body.append(["%d" % reps, cache, memory] + [spread(r, "mib_s") for r in cells])
    draw(folder, "reg_table2", "set logscale x 10\nset xlabel 'repetitions with the same buffers'\nset ylabel 'MiB/s'\n"
         "set yrange [0:*]\nset xtics (1,10,100)\nset xrange [0.8:125]\n"
         "set title 'Ping-pong of 512 KiB without a copy, memory registered by the cache or each time'\n",
         [("%s, %s" % (memory, "cached" if cache == "yes" else "each time"),
           bars(pick(rows, cache=cache, memory=memory, bytes=524288.0), "reps", "mib_s"))
          for memory in ("weft_alloc", "malloc") for cache in ("yes", "no")])
    return table(["repetitions", "cache", "memory"] + ["%sB" % size(s) for s in sizes], body)


def reg_heap(rows, _folder):
    sizes = ordered(rows, "bytes")
    return table(["memory", "pass"] + ["%sB" % size(s) for s in sizes],
                 [[memory, "%d" % n] + [spread(r, "mib_s") for r in pick(rows, memory=memory, **{"pass": n})]
                  for memory in ordered(rows, "memory") for n in ordered(rows, "pass")])


PATTERNS = (("own", "steady"), ("own", "burst"), ("shared", "steady"), ("shared", "burst"))


def srq_memory(rows, folder):
    def memory(r):
        return r["buffer_kib"] + r["ring_kib"]

    axes = "set logscale x 2\nset xlabel 'peers'\nset xrange [1.8:1100]\n"
    draw(folder, "srq_memory", axes + "set logscale y 10\nset ylabel 'KiB for receives, rings included'\n"
         "set title 'Memory of one process for receives'\n",
         [("%s, %s" % p, [(r["peers"], memory(r), memory(r), memory(r)) for r in pick(rows, receives=p[0], pattern=p[1])])
          for p in PATTERNS[1:]])
    draw(folder, "srq_rate", axes + "set yrange [0:*]\nset ylabel 'messages a second, thousands'\n"
         "set title 'Messages to one process'\n",
         [("%s, %s" % p, bars(pick(rows, receives=p[0], pattern=p[1]), "peers", "msg_s", 1e-3)) for p in PATTERNS])
    return table(["peers", "receives", "pattern", "buffers", "KiB", "rings, KiB", "watermark events", "unexpected, %",
                  "thousand messages/s"],
                 [["%d" % r["peers"], r["receives"], r["pattern"], "%d" % r["buffers"], "%d" % r["buffer_kib"],
                   "%d" % r["ring_kib"], "%d" % r["watermark_events"], "%.0f" % r["unexpected_percent"],
                   spread({k: v / 1000 for k, v in r.items() if k.startswith("msg_s")}, "msg_s")]
                  for r in rows if r["peers"] in (2, 16, 128, 1000)])


def srq_sizes(rows, _folder):
    rows = pick(rows, peers=128.0)
    body = []
    for up_to in ordered(rows, "up_to"):
        cells = [pick(rows, up_to=up_to, receives=p[0], pattern=p[1])[0] for p in PATTERNS]
        body.append([size(up_to), "%d" % cells[0]["messages"], "%d" % cells[0]["kib"]]
                    + ["%.0f" % (100 * c["unexpected"] / c["messages"]) for c in cells])
    return table(["bytes, up to", "messages (steady)", "KiB"] + ["unexpected, %% (%s, %s)" % p for p in PATTERNS], body)


def srq_latency(rows, folder):
    draw(folder, "srq_latency", "set logscale x 2\nset xlabel 'peers'\nset xrange [1.8:1100]\nset yrange [0:*]\n"
         "set ylabel 'us, half a round trip of 64 bytes'\nset title 'What sharing receives costs'\n",
         [("receives of its own", bars(rows, "peers", "own_us")), ("shared receives", bars(rows, "peers", "shared_us"))])
    return table(["peers", "own receives, us", "shared, us", "price, us"],
                 [["%d" % r["peers"], spread(r, "own_us"), spread(r, "shared_us"), spread(r, "price_us")]
                  for r in rows])


BYTES = "set logscale x 2\nset xlabel 'bytes'\nset format x '%.0b%B'\n"


def mpi3_basic(rows, folder):
    draw(folder, "mpi3_latency", BYTES + "set logscale y 10\nset ylabel 'us, half a round trip'\n"
         "set title 'Latency of messages'\n", [("ping-pong", bars(rows, "bytes", "latency_us"))])
    draw(folder, "mpi3_bandwidth", BYTES + "set logscale y 10\nset ylabel 'MiB/s'\nset title 'Bandwidth of messages'\n",
         [("both ways, 16 each", bars(rows, "bytes", "bothway_mib_s")),
          ("ping-pong", bars(rows, "bytes", "pingpong_mib_s"))])
    return table(["bytes", "protocol", "latency, us", "ping-pong, MiB/s", "both ways, MiB/s"],
                 [[size(r["bytes"]), r["protocol"], spread(r, "latency_us"), spread(r, "pingpong_mib_s"),
                   spread(r, "bothway_mib_s")] for r in rows])


def many(rows, folder, name, key, what, title):
    """Two pictures over the number of connections, a line for each size; the table of both."""
    axes = "set logscale x 2\nset xlabel '%s'\n" % what
    sizes = ordered(rows, "bytes")
    draw(folder, name + "_latency", axes + "set logscale y 10\nset ylabel 'us for each'\n"
         "set title 'Normalised latency over %s'\n" % title,
         [("%sB" % size(s), bars(pick(rows, bytes=s), key, "normalized_us")) for s in sizes])
    draw(folder, name + "_throughput", axes + "set logscale y 10\nset ylabel 'MiB/s, both ways'\n"
         "set title 'Throughput over %s'\n" % title,
         [("%sB" % size(s), bars(pick(rows, bytes=s), key, "bothway_mib_s")) for s in sizes])
    return table(["bytes", what, "normalised latency, us", "both ways, MiB/s"],
                 [[size(r["bytes"]), "%d" % r[key], spread(r, "normalized_us"), spread(r, "bothway_mib_s")]
                  for r in sorted(rows, key=lambda r: (r["bytes"], r[key]))])


def mpi3_qps(rows, folder):
    return many(rows, folder, "mpi3_qps", "qps", "queue pairs", "queue pairs of two processes")


def mpi3_pairs(rows, folder):
    return many(rows, folder, "mpi3_pairs", "pairs", "pairs", "pairs of processes")


def mpi3_reuse(rows, folder):
    shares = (0, 50, 100)
    draw(folder, "mpi3_reuse", BYTES + "set logscale y 10\nset ylabel 'us, half a round trip'\n"
         "set title 'Buffers of malloc that are used again, or not'\n",
         [("%d %% used again" % s, bars(pick(rows, reuse_percent=float(s)), "bytes", "latency_us")) for s in shares])
    body = []
    for n in ordered(rows, "bytes"):
        cells = [pick(rows, bytes=n, reuse_percent=float(s))[0] for s in shares]
        body.append([size(n)] + [spread(r, "latency_us") for r in cells]
                    + [number(cells[0]["latency_us"] / cells[2]["latency_us"])])
    return table(["bytes", "0 %, us", "50 %, us", "100 %, us", "0 % / 100 %"], body)


PROTOCOLS = ("eager", "get", "put")


def mpi3_overlap(rows, folder):
    series = []
    for side in ("send", "recv"):
        for protocol in ("get", "put"):
            points = [r for r in rows if r["side"] == side and r["protocol"] in ("eager", protocol)]
            series.append(("%s, %s" % (side, protocol), bars(points, "bytes", "ratio")))
    draw(folder, "mpi3_overlap", BYTES + "set yrange [0:1.5]\nset ylabel 'overlap ratio (equation 3.4)'\n"
         "set title 'Computation that a message hides (eager to 4 KiB, then get or put)'\n", series)
    return table(["side", "protocol", "bytes", "l0, us", "overlap ratio"],
                 [[r["side"], r["protocol"], size(r["bytes"]), spread(r, "l0_us"), spread(r, "ratio")] for r in rows])


def mpi3_progress(rows, folder):
    lines = [(side, protocol) for side in ("send", "recv") for protocol in PROTOCOLS]
    draw(folder, "mpi3_progress", "set xlabel 'computation between the call and the wait, us'\nset ylabel 'us'\n"
         "set title 'Progress: a flat line moves on by itself'\nset yrange [0:*]\n",
         [("%s, %s" % p, bars(pick(rows, side=p[0], protocol=p[1]), "delay_us", "latency_us")) for p in lines])
    delays = ordered(rows, "delay_us")
    return table(["side", "protocol", "bytes"] + ["%d us" % d for d in delays],
                 [[s, p, size(pick(rows, side=s, protocol=p)[0]["bytes"])]
                  + [spread(r, "latency_us") for r in pick(rows, side=s, protocol=p)] for s, p in lines])


def mpi3_sci(rows, folder):
    variants = list(dict.fromkeys((r["memory"], r["protocol"]) for r in rows))
    for busy in ("DAXPY", "FIXED"):
        draw(folder, "mpi3_sci_%s" % busy.lower(),
             "set logscale xy 10\nset xlabel 'computation, us'\nset ylabel 'computation and message, us'\n"
             "set title '%s, 256 KiB'\n" % busy,
             [("%s, %s" % v, bars(pick(rows, busy=busy, memory=v[0], protocol=v[1], bytes=262144.0), "l_busy_us",
                                  "l_overlap_us")) for v in variants])
    body = []
    for bytes_ in ordered(rows, "bytes"):
        for busy in ("DAXPY", "FIXED"):
            for memory, protocol in variants:
                # Saturated: about 500 us of computation.
                r = pick(rows, bytes=bytes_, busy=busy, memory=memory, protocol=protocol)[3]
                body.append([size(bytes_), busy, memory, protocol, spread(r, "l_busy_us"), spread(r, "l_msg_us"),
                             spread(r, "l_overlap_us"), spread(r, "efficiency")])
    return table(["bytes", "work", "memory", "protocol", "l_busy, us", "l_msg, us", "l_overlap, us", "efficiency"], body)


PARTS = {"reg_cost": reg_cost, "reg_policy": reg_policy, "reg_table2": reg_table2, "reg_heap": reg_heap, "srq_memory": srq_memory,
         "srq_sizes": srq_sizes, "srq_latency": srq_latency, "mpi3_basic": mpi3_basic, "mpi3_qps": mpi3_qps,
         "mpi3_pairs": mpi3_pairs, "mpi3_reuse": mpi3_reuse, "mpi3_overlap": mpi3_overlap,
         "mpi3_progress": mpi3_progress, "mpi3_sci": mpi3_sci}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw-only", action="store_true", help="from the figures that are there")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="these alone")
    parser.add_argument("dir", nargs="?", default="docs")
    args = parser.parse_args()
    parts = args.part or list(PARTS)
    folder = args.dir + "/pictures"
    if not args.draw_only:
        with Nics(9000) as nics:
            measure(nics, parts, folder)
    for part in parts:
        path = "%s/%s.tsv" % (folder, part)
        put(args.dir + "/memory.md", part, measured_on(path) + PARTS[part](read(path), folder))


if __name__ == "__main__":
    main()
