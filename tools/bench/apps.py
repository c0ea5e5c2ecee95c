#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make apps: third-party programs, started as their users start them, over weft and over the
kernel.

Nothing is pinned and nothing is set: a weftd with its defaults, weft-run, mpirun. Each program
runs in turn over every way, --turns times; MPI programs over weft (weft: UCX, RC; weft_ud: UCX,
UD) and over Open MPI's tcp and vader on this machine, socket programs over weft-run --sockets
and over a veth between two namespaces. Results must be right: hpcc and NPB judge themselves,
LAMMPS must print the same energies over all ways.

Rows app_* go into build/bench.json: value and baseline (tcp) are medians of the turns, ratio is
value / baseline, min and max that ratio's least and greatest over the turns; field vader has
that way's median. Units: s and us less is better; else more. NPB and OSU come from folders that
are named (programs as their makefiles call them: cg.W.x, osu_latency); without them their rows
are left out, and this program says so. Calls weftd, weft-run, record.py.

tools/plot/programs.py makes docs/programs.md of the rows.

usage: apps.py [--turns N] [--ranks N,N] [--npb DIR] [--osu DIR] [--list] [PROGRAM ...]
Environment: WEFT_BIN, WEFT_BUILD; APPS_NPB, APPS_OSU name the folders, too. Exit status 0, 1
when a program failed or was wrong, 2 usage.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import record  # noqa: E402
from harness import BIN, BUILD, Env, Failed, say  # noqa: E402

RUN = os.path.abspath(BIN + "/weft-run")
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]
LIMIT_S = 300
TOOLS = {"hpcc": "hpcc", "lmp": "lammps", "fio": "fio", "iperf3": "iperf3", "redis-server": "redis-server",
         "nginx": "nginx-light", "wrk": "wrk", "mpirun": "openmpi-bin"}
SOURCES = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
NPB = ["is", "cg", "mg", "ft", "lu", "bt", "sp"]
SQUARES = ("bt", "sp")  # these want a square number of ranks

MELT = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "melt.in"), encoding="ascii").read()
# Nickel under strain: atoms of an embedded-atom potential, few on each rank, so that messages are
# small.
SHEAR = """units metal
boundary s s p
atom_style atomic
lattice fcc 3.52
region box block 0 16.0 0 10.0 0 2.828427
create_box 1 box
create_atoms 1 box
pair_style eam
pair_coeff * * /usr/share/lammps/potentials/Ni_u3.eam
neighbor 0.3 bin
neigh_modify delay 5
velocity all create 300.0 5812775
fix 1 all nve
fix 2 all temp/rescale 10 300.0 100.0 10.0 1.0
timestep 0.001
thermo 500
run 2000
"""


# ---- ways --------------------------------------------------------------------------------------

class Ways:
    """A way for programs to reach each other: a weftd, a veth, Open MPI's own."""

    def __init__(self, env):
        self.env = env
        self.spaces = ()

    def start(self, sockets):
        self.env.spawn([BIN + "/weftd", "--run-dir", self.env.dir, "--nics", "4"], "ready")
        if sockets:
            self.spaces = self.env.veth(1500)

    def mpi(self, way, ranks, command, folder):
        """Runs ranks over a way; returns its output and its time."""
        vars_ = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
        words = MPIRUN + ["-n", str(ranks)]
        if way.startswith("weft"):
            if way == "weft_ud":
                vars_["UCX_TLS"] = "ud_verbs,self"
            words = [RUN, "--run-dir", self.env.dir] + words
        else:
            words += ["--mca", "pml", "ob1", "--mca", "btl", "self," + way]
            if way == "tcp":
                words += ["--mca", "btl_tcp_if_include", "lo"]
        begin = time.monotonic()
        p = subprocess.run(words + command, capture_output=True, text=True, timeout=LIMIT_S, env=vars_, cwd=folder)
        took = time.monotonic() - begin
        if p.returncode:
            raise Failed("%s over %s: exit %d: %s" % (command[0], way, p.returncode, (p.stdout + p.stderr)[-4000:]))
        return p.stdout, took

    def end(self, way, which):
        """The words that start a socket program at one of the two ends, and the address of the second end."""
        if way == "weft":
            return [RUN, "--run-dir", self.env.dir, "--sockets", "--device", "weft%d" % which], "10.77.0.2"
        return ["ip", "netns", "exec", self.spaces[which]], "10.78.0.2"


class Server:
    """Runs a program at the second end until the block is left."""

    def __init__(self, words, ready_s=1.0):
        self.p = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(ready_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.terminate()
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()


def client(words):
    p = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    if p.returncode:
        raise Failed("%s: exit %d: %s" % (" ".join(words[-8:]), p.returncode, (p.stdout + p.stderr)[-300:]))
    return p.stdout


# ---- MPI programs: each returns {name: (value, unit)} of one run ---------------------------------

def hpcc(ways, way, ranks):
    folder = ways.env.dir + "/hpcc"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(SOURCES, encoding="ascii") as f:
        text = f.read()
    rows = 2 if ranks % 2 == 0 and ranks > 2 else 1
    text = re.sub(r"(?m)^\d+( +Ps)$", r"%d\1" % rows, text)
    text = re.sub(r"(?m)^\d+( +Qs)$", r"%d\1" % (ranks // rows), text)
    with open(folder + "/hpccinf.txt", "w", encoding="ascii") as f:
        f.write(text)
    _, took = ways.mpi(way, ranks, ["hpcc"], folder)
    with open(folder + "/hpccoutf.txt", encoding="ascii", errors="replace") as f:
        out = f.read()
    if "Success=1" not in out or "FAILED" in out.split("Begin of Summary")[0].replace("0 tests completed and failed", ""):
        raise Failed("hpcc over %s finds its results wrong" % way)
    return {"hpcc_%d" % ranks: (took, "s")}


def lammps(name, text):
    def measure(ways, way, ranks):
        folder = ways.env.dir + "/lammps"
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/in." + name, "w", encoding="ascii") as f:
            f.write(text)
        out, _ = ways.mpi(way, ranks, ["lmp", "-in", "in." + name, "-log", "none"], folder)
        loop = re.search(r"Loop time of ([\d.]+)", out)
        table = re.findall(r"(?m)^ *\d+(?: +-?[\d.e+-]+){4,} *$", out.split("Loop time")[0])
        if not loop or not table:
            raise Failed("lammps over %s prints no time" % way)
        # All ways add the ranks' values in one order.
        same(("lammps_" + name, ranks), [float(x) for x in table[-1].split()[:5]], way)
        return {"lammps_%s_%d" % (name, ranks): (float(loop.group(1)), "s")}
    return measure


seen = {}


def same(key, values, way):
    """Compares all results with the first way's."""
    first = seen.setdefault(key, values)
    for a, b in zip(first, values):
        if abs(a - b) > 1e-6 * max(abs(a), abs(b), 1e-30):
            raise Failed("%s: over %s the result is %s, over the first way %s" % (key[0], way, values, first))


def npb(kernel, size):
    def measure(ways, way, ranks):
        if kernel in SQUARES and int(ranks ** 0.5) ** 2 != ranks:
            return {}
        program = os.path.join(ways.env.args.npb, "%s.%s.x" % (kernel, size))
        out, _ = ways.mpi(way, ranks, [program], ways.env.dir)
        took = re.search(r"Time in seconds *= *([\d.]+)", out)
        if not took or not re.search(r"Verification *= *SUCCESSFUL", out):
            raise Failed("%s over %s does not verify" % (program, way))
        return {"npb_%s_%s_%d" % (kernel, size.lower(), ranks): (float(took.group(1)), "s")}
    return measure


def osu(program, size, unit):
    def measure(ways, way, ranks):
        if ranks != 2 and program in ("osu_latency", "osu_bw"):
            return {}
        out, _ = ways.mpi(way, ranks, [os.path.join(ways.env.args.osu, program), "-m", "%d:%d" % (size, size)], ways.env.dir)
        lines = [w.split() for w in out.splitlines() if w.split()[:1] == [str(size)]]
        if not lines:
            raise Failed("%s over %s prints no figure" % (program, way))
        return {"%s_%d_%d" % (program, size, ranks): (float(lines[0][1]), unit)}
    return measure


def own(mode, size, unit):
    """A ping-pong and a stream of this tree, for machines without OSU."""
    def measure(ways, way, ranks):
        if ranks != 2:
            return {}
        out, _ = ways.mpi(way, ranks, [os.path.abspath(BIN + "/mpi_base"), mode, "1", str(size)], ways.env.dir)
        us = json.loads(out)[0]["us"]
        return {"mpi_%s_%d" % (mode, size): (us, "us") if unit == "us" else (size / us / 1e3, unit)}
    return measure


# ---- socket programs ---------------------------------------------------------------------------

def iperf3(ways, way, _):
    there, address = ways.end(way, 1)
    here, _ = ways.end(way, 0)
    with Server(there + ["iperf3", "-s"]):
        end = json.loads(client(here + ["iperf3", "-J", "-t", "2", "-c", address]))["end"]
    return {"iperf3": (end["sum_received"]["bits_per_second"] / 1e9, "Gb/s")}


def redis(ways, way, _):
    there, address = ways.end(way, 1)
    here, _ = ways.end(way, 0)
    with Server(there + ["redis-server", "--port", "7379", "--bind", address, "--save", "", "--protected-mode", "no",
                         "--dir", ways.env.dir]):
        out = client(here + ["redis-benchmark", "-h", address, "-p", "7379", "-t", "set,get", "-n", "300000", "-c", "16", "--csv"])
    rows = {}
    for line in out.splitlines()[1:]:
        words = [w.strip('"') for w in line.split(",")]
        rows["redis_" + words[0].lower()] = (float(words[1]) / 1e3, "k/s")
        rows["redis_%s_p99" % words[0].lower()] = (float(words[6]) * 1e3, "us")
    return rows


NGINX = """daemon off; master_process off; pid %s/nginx.pid; error_log /dev/null; worker_processes 1;
events { worker_connections 256; }
http { access_log off; server { listen %s:8080; location / { return 200 "weft\\n"; } } }
"""


def nginx(ways, way, _):
    there, address = ways.end(way, 1)
    here, _ = ways.end(way, 0)
    conf = ways.env.dir + "/nginx.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write(NGINX % (ways.env.dir, address))
    with Server(there + ["nginx", "-c", conf]):
        out = client(here + ["wrk", "-t", "1", "-c", "16", "-d", "2", "--latency", "http://%s:8080/" % address])
    rate, p99 = re.search(r"Requests/sec: *([\d.]+)", out), re.search(r"99% *([\d.]+)(us|ms|s)", out)
    if "Socket errors" in out or "Non-2xx" in out or not rate or not p99:
        raise Failed("wrk over %s: %s" % (way, out[-300:]))
    scale = {"us": 1, "ms": 1e3, "s": 1e6}[p99.group(2)]
    return {"nginx": (float(rate.group(1)) / 1e3, "k/s"), "nginx_p99": (float(p99.group(1)) * scale, "us")}


def connect(ways, way, _):
    """Connections one after the other: the whole life of one, its set-up and its end."""
    there, address = ways.end(way, 1)
    here, _ = ways.end(way, 0)
    program = os.path.abspath(BIN + "/conn_base")
    with Server(there + [program, "serve", address, "9800"]):
        out = json.loads(client(here + [program, "connect", address, "9800", "2"]))
    return {name: (out[part], "us") for name, part in
            (("connect", "connect_us"), ("connect_close", "close_us"), ("connect_whole", "whole_us"))}


def fio(ways, way, _):
    """RDMA Writes of fio's rdma engine beside its net engine, which sends over TCP. The rdma engine
    sleeps for half a second after it has connected, and fio counts that sleep as time of the job:
    the ramp, which no figure includes, covers it."""
    there, address = ways.end(way, 1)
    here, _ = ways.end(way, 0)
    common = ["--bs=64k", "--iodepth=8", "--port=7500"]
    if way == "weft":
        there, here = [[w for w in words if w != "--sockets"] for words in (there, here)]
        listens = ["fio", "--name=s", "--ioengine=rdma", "--rw=read"]
        sends = ["fio", "--name=c", "--ioengine=rdma", "--hostname=" + address, "--verb=write", "--rw=write"]
    else:
        listens = ["fio", "--name=s", "--ioengine=net", "--protocol=tcp", "--listen", "--rw=read"]
        sends = ["fio", "--name=c", "--ioengine=net", "--protocol=tcp", "--hostname=" + address, "--rw=write"]
    # A server of the net engine that has its bytes ends before its client, which fails then.
    with Server(there + listens + common + ["--size=1t"]):
        out = client(here + sends + common + ["--size=512m", "--time_based", "--ramp_time=1", "--runtime=2",
                                              "--output-format=json"])
    job = json.loads(out[out.index("{"):])["jobs"][0]
    if job["error"] or job["write"]["runtime"] < 1900:
        raise Failed("fio over %s: error %s, %s ms of writes" % (way, job["error"], job["write"]["runtime"]))
    return {"fio_write": (job["write"]["bw"] * 1024 * 8 / 1e9, "Gb/s")}


PROGRAMS = {"hpcc": hpcc, "lammps_melt": lammps("melt", MELT), "lammps_shear": lammps("shear", SHEAR),
            "mpi_pingpong": own("pingpong", 8, "us"), "mpi_stream": own("stream", 1 << 20, "GB/s")}
PROGRAMS.update({"npb_%s_%s" % (k, s.lower()): npb(k, s) for k in NPB for s in ("W", "A")})
PROGRAMS.update({"osu_latency": osu("osu_latency", 8, "us"), "osu_bw": osu("osu_bw", 1 << 20, "MB/s"),
                 "osu_mbw_mr": osu("osu_mbw_mr", 65536, "MB/s"), "osu_allreduce": osu("osu_allreduce", 65536, "us"),
                 "osu_alltoall": osu("osu_alltoall", 65536, "us"), "osu_ibcast": osu("osu_ibcast", 65536, "us"),
                 "osu_iallreduce": osu("osu_iallreduce", 65536, "us")})
SOCKETS = {"connect": connect, "fio": fio, "iperf3": iperf3, "redis": redis, "nginx": nginx}
LESS = ("s", "us")


# ---- turns and rows ------------------------------------------------------------------------------

def needs(name):
    """The additional commands that a program needs."""
    if name in SOCKETS:
        return {"connect": [], "redis": ["redis-server"], "nginx": ["nginx", "wrk"]}.get(name, [name])
    return ["mpirun"] + (["hpcc"] if name == "hpcc" else ["lmp"] if name.startswith("lammps") else [])


def missing(name, args):
    """The reason why a program cannot be measured here, or None."""
    for tool in needs(name):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin"):
            return "no %s: apt-get install %s" % (tool, TOOLS[tool])
    if name.startswith("npb_") and not os.path.isdir(args.npb):
        return "no folder of NPB's programs: --npb DIR"
    if name.startswith("osu_") and not os.path.isdir(args.osu):
        return "no folder of OSU's programs: --osu DIR"
    if name.startswith("npb_") and not os.path.exists(os.path.join(args.npb, name[4:6] + "." + name[7:].upper() + ".x")):
        return "%s has no %s.%s.x" % (args.npb, name[4:6], name[7:].upper())
    return None


def rows_of(results, turns):
    """Rows in the format of bench.py. results[name][way]: a list of (value, unit)."""
    rows = []
    for name, ways in results.items():
        unit = ways["tcp"][0][1]
        base = [v for v, _ in ways["tcp"]]
        for way, values in ways.items():
            if not way.startswith("weft"):
                continue
            value = [v for v, _ in values]
            ratios = [v / b for v, b in zip(value, base)]
            row = {"name": "app_" + name + ("" if way == "weft" else way[4:]), "value": statistics.median(value), "unit": unit,
                   "baseline": statistics.median(base), "min": min(ratios), "max": max(ratios), "turns": turns,
                   "less_is_better": unit in LESS}
            row["ratio"] = row["value"] / row["baseline"]
            if "vader" in ways:
                row["vader"] = statistics.median(v for v, _ in ways["vader"])
            rows.append(row)
    return rows


def measure(name, args):
    """All turns of one program over all ways."""
    sockets = name in SOCKETS
    env = Env(args)
    results = {}
    try:
        ways = Ways(env)
        ways.start(sockets)
        names = ["weft", "tcp"] if sockets else ["weft", "weft_ud", "tcp", "vader"]
        for turn in range(args.turns):
            for ranks in [2] if sockets else args.ranks:
                for way in names:
                    say("%s, turn %d of %d: %s, %d ranks" % (name, turn + 1, args.turns, way, ranks))
                    got = (SOCKETS[name] if sockets else PROGRAMS[name])(ways, way, ranks)
                    for key, value in got.items():
                        results.setdefault(key, {}).setdefault(way, []).append(value)
    finally:
        env.close()
        shutil.rmtree(env.dir, ignore_errors=True)
        say("")
    return rows_of(results, args.turns)


def print_row(r):
    print("%-28s %10.3f %-5s %10.3f %8.3f %8.3f %8.3f %10s  %s" % (
        r["name"], r["value"], r["unit"], r["baseline"], r["ratio"], r["min"], r["max"],
        "%.3f" % r["vader"] if "vader" in r else "", "less is better" if r["less_is_better"] else "more is better"), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--turns", type=int, default=int(os.environ.get("TURNS", "5")))
    p.add_argument("--ranks", type=lambda t: [int(n) for n in t.split(",")], default=[2, 4])
    p.add_argument("--npb", default=os.environ.get("APPS_NPB", ""))
    p.add_argument("--osu", default=os.environ.get("APPS_OSU", ""))
    p.add_argument("--list", action="store_true", help="print the programs and end")
    p.add_argument("program", nargs="*")
    args = p.parse_args()
    every = list(PROGRAMS) + list(SOCKETS)
    names = [n for w in args.program for n in every if n == w or n.startswith(w + "_")] or (every if not args.program else [])
    if args.list or not names:
        print("programs: " + " ".join(every), file=sys.stdout if args.list else sys.stderr)
        return 0 if args.list else 2
    rows, failed = [], 0
    print("%-28s %10s %-5s %10s %8s %8s %8s %10s" % ("row", "weft", "", "tcp", "ratio", "min", "max", "vader"))
    for name in names:
        why = missing(name, args)
        if why:
            print("%s left out: %s" % (name, why), file=sys.stderr)
            continue
        try:
            new = measure(name, args)
        except (Failed, subprocess.SubprocessError, OSError, ValueError, LookupError) as e:
            print("%s: %s" % (name, e), file=sys.stderr)
            failed, new = failed + 1, []
        for r in new:
            print_row(r)
        rows += new
    record.merge(BUILD + "/bench.json", rows, record.origin(os.path.dirname(os.path.abspath(BUILD))))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
