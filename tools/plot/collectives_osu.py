# SPDX-License-Identifier: BSD-3-Clause
"""Parts osu and imb of make coll-tables: the programs of others that measure overlap, unchanged.

OSU's osu_iNAME (7.x, data validation on, no calls of MPI_Test while they compute) and Intel's IMB-NBC, with the
stacks of tools/bench/coll.py. Neither is in Debian: WEFT_OSU names the folder in which OSU's were built with mpicc
(./configure CC=mpicc CXX=mpicxx; make), WEFT_IMB the program IMB-NBC. Calls mpirun.
"""
import os

import coll
from figures import number, ordered, pick, size, spread, summary, table
from harness import Failed

NAMES = ("ibarrier", "ibcast", "iallreduce", "iallgather", "ialltoall", "ireduce", "igather", "iscatter")
SIZES = (8, 64, 1024, 4096, 16384, 65536, 262144, 1048576)
# Open MPI 4.1.4's op/avx adds some integer types wrongly, MPI_CHAR among them: OSU's comparison ends the run.
RIGHT = ["--mca", "op", "^avx"]
STACKS = {"weft": "coll/weft", "ucx": "libnbc over UCX", "tcp": "libnbc over tcp"}


def place(variable, what):
    found = os.environ.get(variable, "")
    if not os.path.exists(found):
        raise Failed("%s is not set to %s" % (variable, what))
    return found


def osu_lines(name, text):
    """(bytes, us, overlap) of each line; every result was compared."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0][0].isdigit():
            continue
        if words[-1] in ("Pass", "Fail"):
            if words.pop() == "Fail":
                raise Failed("osu_%s: wrong data: %s" % (name, line))
        elif name != "ibarrier":
            raise Failed("osu_%s does not say whether its data is right" % name)
        *block, _overall, _compute, pure, overlap = (float(w) for w in words)
        found.append((int(block[0]) if block else 0, pure, overlap / 100))
    return found


def run_osu(folder, run, name):
    path = "%s/c/mpi/collective/non_blocking/osu_%s" % (folder, name)
    words = [] if name == "ibarrier" else ["-c", "-m", "8:1048576"]
    return osu_lines(name, run(path, "-x", "10", "-i", "100", *words))


def run_imb(path, run, name):
    """IMB-NBC's lines: bytes, repetitions, overall, pure, computation (us), overlap (%)."""
    words = [] if name == "ibarrier" else ["-msglog", "3:20"]
    found = []
    for line in run(path, name.capitalize(), "-npmin", "2", "-iter", "100", *words).splitlines():
        w = line.split()
        if len(w) == (5 if name == "ibarrier" else 6) and w[0].replace(".", "").isdigit():
            found.append((0 if name == "ibarrier" else int(w[0]), float(w[-3]), float(w[-1]) / 100))
    return found


def measured(env, one):
    runs, seen = coll.programs(env, *RIGHT), {}
    for name in NAMES:
        for _ in range(env.args.windows):
            for stack, run in runs.items():
                lines = one(run, name)
                if not lines:
                    raise Failed("%s over %s printed no figures" % (name, stack))
                for block, us, overlap in lines:
                    if name == "ibarrier" or block in SIZES:
                        seen.setdefault((stack, name, block), []).append((us, overlap))
        print(name, "measured", flush=True)
    return [{"stack": s, "collective": c, "bytes": n, **summary("us", [r[0] for r in rows]), **summary("overlap", [r[1] for r in rows])}
            for (s, c, n), rows in seen.items()]


def osu(env):
    folder = place("WEFT_OSU", "the folder of OSU's built benchmarks")
    return measured(env, lambda run, name: run_osu(folder, run, name))


def imb(env):
    path = place("WEFT_IMB", "Intel's IMB-NBC")
    return measured(env, lambda run, name: run_imb(path, run, name))


def lines(rows, _folder):
    """Their table, which both parts have."""
    head = ["collective", "bytes"] + ["%s, %s" % (STACKS[s], f) for f in ("overlap", "us") for s in STACKS] + ["us of libnbc's over UCX"]
    body = []
    for c in ordered(rows, "collective"):
        for n in ordered(pick(rows, collective=c), "bytes"):
            at = {s: pick(rows, stack=s, collective=c, bytes=n) for s in STACKS}
            body.append([c, size(n)] + [spread(at[s][0], f) if at[s] else "" for f in ("overlap", "us") for s in STACKS] +
                        [number(at["weft"][0]["us"] / at["ucx"][0]["us"])])
    return table(head, body)


PARTS = {"osu": (osu, lines), "imb": (imb, lines)}
