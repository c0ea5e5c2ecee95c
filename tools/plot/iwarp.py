#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make iwarp-tables: datagrams beside connections over TCP, chapter 6 of Rashti's thesis; tables and
pictures of docs/iwarp.md and docs/iwarp-tables.md.

Two NICs of one weftd at the built-in switch, MTU 1500: weftd polls on the last CPU, programs share the others.
Verbs by weft-bench, messages of MPI and kernels by Open MPI (mpi_kern), memory by weft-bench mem. Rows go
into docs/pictures/iwarp_PART.tsv, and from there alone into pictures and tables. Calls weftd,
weft-bench, mpirun, gnuplot.

usage: iwarp.py [--draw-only] [--part PART]... [--seconds S] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

from harness import LAST_CPU, Env, run
from nics import BIN, Nics, result
from figures import bars, draw, draw_groups, measured_on, number, ordered, pick, put, read, size, spread, summary, table, write

HERE = os.path.dirname(os.path.abspath(__file__))
RANK = os.path.join(HERE, "..", "run", "mpi_rank.sh")
MTU = 1500
REPEATS = 3
SIZES = [4 ** i for i in range(11)]
MPI_SIZES = SIZES[::2]
UD_MAX = 64 << 10
RANKS = (2, 4, 8)
KERNELS = ("cg", "mg", "lu", "radix", "smg")
PEERS = (1, 4, 16, 64, 256, 1024)

# Options of weftd, and the traffic of each.
PLAIN, CRC, BOTH, MARKERS = (("--crc", "on", "--mpa-crc", crc, "--mpa-markers", markers) for crc, markers in
                             (("off", "off"), ("on", "off"), ("on", "on"), ("off", "on")))
VERBS = (("UD", "ud"), ("RD", "rd"), ("RC over TCP", "rc-tcp", "crc"), ("TCP, no CRC", "rc-tcp", "none"),
         ("TCP, markers", "rc-tcp", "crc,markers"), ("TCP, markers, no CRC", "rc-tcp", "markers"))
# By UCX, which connects by itself, and by libfabric, which leaves it to rdma_cm, over either transport.
MPI = (("UD, UCX", "ud", "ib", CRC), ("RD, UCX", "ucx", "ib", CRC), ("RD", "rxm", "rd", CRC), ("RC over TCP", "rxm", "tcp", CRC),
       ("TCP, no CRC", "rxm", "tcp", PLAIN), ("TCP, markers", "rxm", "tcp", BOTH),
       ("TCP, markers, no CRC", "rxm", "tcp", MARKERS))
ADDRESSES = ("10.77.0.1/24", "10.77.0.2/24")


# ---- measuring ------------------------------------------------------------------------------

def words(transport, n):
    """UD holds nobody back: what is on the way has to fit the receiver's queue."""
    _, qp, *mpa = transport
    return ["--qp", qp, "--size", n] + (["--mpa"] + mpa if mpa else []) + \
        (["--window", max(1, UD_MAX // n)] if qp == "ud" and n > UD_MAX // 128 else [])


def both_ways(nics, what, seconds):
    """Rates of a stream each way at the same time: two servers, two clients."""
    servers, clients = [], []
    for i in range(2):
        servers.append(nics.start(BIN + "/weft-bench", "bw", "--stamps", "--server", "--device", "weft%d" % i, "--port", 18700 + i))
    for i in range(2):
        clients.append(nics.start(BIN + "/weft-bench", "bw", "--stamps", "--connect", "127.0.0.1", "--device", "weft%d" % (1 - i), "--port",
                                  18700 + i, *what, "--duration", seconds, "--json"))
    both = sum(1000 * json.loads(result(c))["gbps"] for c in clients)
    for s in servers:
        result(s)
    return both


def verbs(seconds):
    """Transports in turn for each size, so that all see the same machine."""
    seen = {}
    with Nics(MTU, "--own-core", *CRC) as nics:
        for n in SIZES:
            for _ in range(REPEATS):
                for transport in VERBS:
                    if transport[1] == "ud" and n > UD_MAX:
                        continue
                    what = words(transport, n)
                    loop = what + ["--device", "weft0", "--device2", "weft1", "--duration", seconds]
                    got = seen.setdefault((transport[0], n), {"us": [], "mbps": [], "both_mbps": []})
                    got["us"].append(nics.bench("loop", "lat", *loop)["latency_us"]["typical"])
                    got["mbps"].append(1000 * nics.bench("loop", "bw", "--stamps", *loop)["gbps"])
                    got["both_mbps"].append(both_ways(nics, what, seconds))
            print("verbs,", n, "bytes measured", flush=True)
    return [{"transport": t[0], "bytes": n, **{k: v for name in seen[t[0], n] for k, v in summary(name, seen[t[0], n][name]).items()}}
            for t in VERBS for n in SIZES if (t[0], n) in seen]


def addresses():
    """The NICs' on an interface that carries nothing: libfabric finds a NIC by them. In a network of this process's own."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "link", "add", "weftaddr", "type", "veth", "peer", "name", "weftaddr2"], check=True)
    for ip in ADDRESSES:
        subprocess.run(["ip", "addr", "add", ip, "dev", "weftaddr"], check=True)
    for name in ("weftaddr", "weftaddr2"):
        subprocess.run(["ip", "link", "set", name, "up"], check=True)


def mpirun(nics, over, llp, ranks, seconds, *what):
    """Ranks take the two NICs in turn; none talks with others by shared memory."""
    env = dict(os.environ, WEFT_RUN=BIN + "/weft-run", WEFT_MPI_NICS="%s:weft0 %s:weft1" % (nics.dir, nics.dir),
               WEFT_MPI_OVER=over)
    if over == "rxm":
        env["WEFT_LLP"] = llp
        how = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "verbs;ofi_rxm"]
    else:
        how = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any", "--mca", "mtl", "^ofi"]
    return json.loads(result(nics.start("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca",
                                        "mpi_yield_when_idle", "1", "--mca", "btl", "self", *how, "-n", ranks, RANK,
                                        BIN + "/mpi_kern", seconds, *what, env=env)))


def messages(seconds):
    rows = []
    for title, over, llp, options in MPI:
        with Nics(MTU, "--own-core", *options) as nics:
            got = mpirun(nics, over, llp, 2, seconds, *["%s:%d" % (k, n) for n in MPI_SIZES for k in ("pingpong", "both")])
        for ping, both in zip(got[::2], got[1::2]):
            rows.append({"transport": title, "bytes": ping["bytes"], **{k: ping[k] for k in ("us", "us_min", "us_max")},
                         **{k: both[k] for k in ("mib_s", "mib_s_min", "mib_s_max")}})
        print("MPI,", title, "measured", flush=True)
    return rows


def kernels(seconds):
    rows = []
    for title, over, llp, options in MPI:
        with Nics(MTU, "--own-core", *options) as nics:
            for ranks in RANKS:
                rows += [{"transport": title, **r} for r in mpirun(nics, over, llp, ranks, seconds, *KERNELS)]
        print("kernels,", title, "measured", flush=True)
    return rows


def peers_of_rd(n):
    """A NIC at a veth, and at its other end as many peers as one likes (peers.py of make bench)."""
    env = Env(argparse.Namespace(seconds=1))
    try:
        a, b = env.veth(MTU)
        run("ip", "netns", "exec", a, "ethtool", "-K", "va", "tx", "off", cpu=None)
        env.spawn([sys.executable, HERE + "/../bench/peers.py", "vb", "10.90.0.0/16"], "ready", ns=b)
        d = env.spawn([BIN + "/weftd", "--run-dir", env.dir, "--cores", LAST_CPU, "--port", "va", "--ip", "10.90.0.1/16",
                       "--netdev", "packet"], "ready", ns=a)
        return env.bench("mem", "--pid", d.pid, "--peers", n, "--peer-ip", "10.90.1.1", "--device", "weft0")
    finally:
        env.close()


def connections(n):
    with Nics(MTU, "--own-core", *CRC) as nics:
        return nics.bench("mem", "--pid", nics.weftd.pid, "--qp", "rc-tcp", "--qps", n, "--device", "weft0", "--device2", "weft1")


def memory(_seconds):
    """Memory of one end: weftd and the process have both of a connection, and both are alike."""
    rows = []
    for n in PEERS:
        for title, measure, ends in (("RC over TCP", connections, 2), ("RD", peers_of_rd, 1)):
            got = measure(n)
            rows.append({"transport": title, "peers": n, "nic_kib": got["rss_difference"] / 1024 / ends,
                         "process_kib": got["own_bytes_each"] * n / 1024 / ends})
        print("memory,", n, "peers measured", flush=True)
    return rows


# ---- tables and pictures --------------------------------------------------------------------

BYTES = "set logscale x 2\nset xlabel 'bytes'\nset format x '%.0b%B'\n"


def titles(rows):
    return ordered(rows, "transport")


def by_size(rows, name):
    """A row for each size, a column for each transport."""
    body = []
    for n in ordered(rows, "bytes"):
        cells = [pick(rows, bytes=n, transport=t) for t in titles(rows)]
        body.append([size(n)] + [spread(c[0], name) if c else "" for c in cells])
    return table(["bytes"] + titles(rows), body)


def lines_of(rows, name):
    return [(t, bars(pick(rows, transport=t), "bytes", name)) for t in titles(rows)]


def verbs_latency(rows, folder):
    draw(folder, "iwarp_verbs_latency", BYTES + "set logscale y 10\nset ylabel 'us, half a round trip'\n"
         "set title 'Verbs: latency (figure 6.3)'\n", lines_of(rows, "us"))
    return by_size(rows, "us")


def verbs_bandwidth(rows, folder):
    for name, what in (("mbps", "one way"), ("both_mbps", "both ways")):
        draw(folder, "iwarp_verbs_" + name, BYTES + "set logscale y 10\nset ylabel 'Mb/s'\n"
             "set title 'Verbs: bandwidth, %s'\n" % what, lines_of(rows, name))
    return by_size(rows, "mbps")


def verbs_both(rows, _folder):
    return by_size(rows, "both_mbps")


def mpi_latency(rows, folder):
    draw(folder, "iwarp_mpi_latency", BYTES + "set logscale y 10\nset ylabel 'us, half a round trip'\n"
         "set title 'Open MPI: latency (figure 6.4)'\n", lines_of(rows, "us"))
    return by_size(rows, "us")


def mpi_both(rows, folder):
    draw(folder, "iwarp_mpi_both", BYTES + "set logscale y 10\nset ylabel 'MiB/s'\n"
         "set title 'Open MPI: bandwidth, both ways (figure 6.5)'\n", lines_of(rows, "mib_s"))
    return by_size(rows, "mib_s")


def kernel_table(rows, name):
    body = []
    for k in ordered(rows, "kernel"):
        for ranks in ordered(rows, "ranks"):
            cells = [pick(rows, kernel=k, ranks=ranks, transport=t) for t in titles(rows)]
            body.append([k.upper(), "%d" % ranks] + [spread(c[0], name) if c else "" for c in cells])
    return table(["kernel", "ranks"] + titles(rows), body)


def kernel_picture(rows, folder, name, title):
    """Times as multiples of those over TCP with CRC, for each kernel and number of ranks."""
    places = [(k, n) for k in ordered(rows, "kernel") for n in ordered(rows, "ranks")]
    series = []
    for t in titles(rows):
        points = []
        for i, (k, n) in enumerate(places):
            r, base = (pick(rows, kernel=k, ranks=n, transport=x) for x in (t, "RC over TCP"))
            if r and base and t != "RC over TCP":
                points.append((i, *[r[0][name + s] / base[0][name] for s in ("", "_min", "_max")]))
        if points:
            series.append((t, points))
    draw_groups(folder, "iwarp_kernels_" + name, "set yrange [0:3]\nset arrow from graph 0,first 1 to graph 1,first 1 nohead lc "
                "rgb '#333333' dt 2\nset ylabel 'time, as a multiple of RC over TCP'\nset title '%s'\n" % title,
                ["%s %d" % (k.upper(), n) for k, n in places], series)


def kernels_comm(rows, folder):
    kernel_picture(rows, folder, "comm_us", "Kernels: time in MPI calls (figure 6.6)")
    return kernel_table(rows, "comm_us")


def kernels_run(rows, folder):
    kernel_picture(rows, folder, "run_us", "Kernels: time in all (figure 6.7)")
    return kernel_table(rows, "run_us")


def memory_table(rows, folder):
    draw(folder, "iwarp_memory", "set logscale xy\nset xlabel 'peers'\nset ylabel 'KiB, NIC and process'\n"
         "set title 'Memory by peers'\n",
         [("%s, %s" % (t, what), [(r["peers"],) + (r[key],) * 3 for r in pick(rows, transport=t)])
          for t in titles(rows) for what, key in (("NIC", "nic_kib"), ("process", "process_kib"))])
    return table(["peers"] + ["%s, %s, KiB" % (t, w) for t in titles(rows) for w in ("NIC", "process")],
                 [["%d" % n] + [number(pick(rows, peers=n, transport=t)[0][k]) for t in titles(rows)
                                for k in ("nic_kib", "process_kib")] for n in ordered(rows, "peers")])


PARTS = {"verbs": (verbs, (verbs_latency, verbs_bandwidth, verbs_both)), "mpi": (messages, (mpi_latency, mpi_both)),
         "kernels": (kernels, (kernels_comm, kernels_run)), "memory": (memory, (memory_table,))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw-only", action="store_true", help="from the figures that are there")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="these alone")
    parser.add_argument("--seconds", type=float, default=0.1, help="of one measurement (0.1)")
    parser.add_argument("dir", nargs="?", default="docs")
    args = parser.parse_args()
    if not args.draw_only:
        # Needs root, as the namespaces of the part memory do.
        if "WEFT_IWARP_NETNS" not in os.environ:
            os.environ["WEFT_IWARP_NETNS"] = "1"
            os.execvp("unshare", ["unshare", "--net"] + sys.argv)
        addresses()
    folder = args.dir + "/pictures"
    for part in args.part or list(PARTS):
        measure, tables = PARTS[part]
        path = "%s/iwarp_%s.tsv" % (folder, part)
        if not args.draw_only:
            write(path, measure(args.seconds))
        for make in tables:
            page = "iwarp.md" if make is memory_table else "iwarp-tables.md"
            put("%s/%s" % (args.dir, page), make.__name__, measured_on(path) + make(read(path), folder))


if __name__ == "__main__":
    main()
