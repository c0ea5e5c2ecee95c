#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make tagged-tables: the figures of Rashti and Afsahi's speculative rendezvous, and of chapter 5 of
Rashti's thesis, measured here; pictures and tables of docs/tagged-tables.md.

Open MPI (mpi_tag) over libfabric's provider weft, over UCX and verbs;ofi_rxm on the same NICs, and
over tcp on a veth, as tools/bench/tag_mpi.py has them. Rows go into docs/pictures/tagged_PART.tsv,
and from there alone into pictures and tables. Calls weftd, weft-bench, mpirun, gnuplot.

usage: tagged.py [--draw-only] [--part PART]... [--seconds S] [--windows N] [DIR]     DIR: the docs folder (docs)
Environment: WEFT_BIN (where the programs are). Exit status 0, 1 when a run failed, 2 usage.
"""
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

import goal
import mpi
import tables
import tag
import tag_mpi
from figures import bars, draw, draw_groups, number, ordered, pick, size, spread, summary, table
from harness import BIN, Failed

STACKS = {"weft": "weft (mtl ofi)", "ucx": "UCX on weft", "rxm": "ofi_rxm on weft", "tcp": "tcp"}
SIDES = [(side, first) for side in ("recv", "send") for first in ("receiver", "sender")]
SIZES = [4 ** i for i in range(7, 12)]
PROGRESS_BYTES = 1 << 20
CROSSING = [1 << i for i in range(10, 21, 2)]
ANNOUNCE = ("never", "always", "adaptive")
SMALL = [2 ** i for i in range(7, 15)]
SPECTRUM = (1024, 4096, 16384)
USES = 32  # of a buffer that counts as used often: the thesis's threshold for 8 KiB
KEEP = ("adaptive", str(USES), "never")
KERNELS = ("cg", "mg", "lu", "radix", "smg")
RANKS = 4


# ---- measuring ------------------------------------------------------------------------------

def overlap(env):
    """Stacks in turn for each size, so that all see the same machine."""
    stacks = dict(zip(STACKS, tag_mpi.stacks(env, *STACKS)))
    seen = {}
    for n in SIZES:
        what = ["overlap:%s:%s:%d" % (*s, n) for s in SIDES]
        for _ in range(env.args.windows):
            for name, run in stacks.items():
                for row in run(*what):
                    seen.setdefault((name, row["side"], row["first"], n), []).append(row)
        print("overlap,", n, "bytes measured", flush=True)
    return [{"stack": name, "side": side, "first": first, "bytes": n, **summary("ratio", [r["ratio"] for r in rows]),
             "l0_us": statistics.median(r["l0_us"] for r in rows)} for (name, side, first, n), rows in seen.items()]


def progress(env):
    rows = []
    for name, run in zip(STACKS, tag_mpi.stacks(env, *STACKS)):
        found = [run(*["progress:%s:%s:%d" % (*s, PROGRESS_BYTES) for s in SIDES]) for _ in range(env.args.windows)]
        for same in zip(*found):
            first = same[0]
            rows.append({"stack": name, "side": first["side"], "first": first["first"],
                         "delay": first["delay"], "delay_us": statistics.median(r["delay_us"] for r in same),
                         **summary("us", [r["us"] for r in same]), **summary("times", [r["us"] / r["l0_us"] for r in same]),
                         "left_us": statistics.median(r["left_us"] for r in same)})
        print("progress,", name, "measured", flush=True)
    return rows


def in_turn(env, setting, values, *what):
    """The times of each measurement by each value of a setting of the provider, in turn."""
    run, = tag_mpi.stacks(env, "weft")
    seen = {v: [] for v in values}
    for _ in range(env.args.windows):
        for v in values:
            seen[v].append([r["us"] for r in run(*what, **{setting: v})])
    return seen


def crossing(env):
    """Both ranks post a receive and send: announcements meet the messages on their way."""
    seen = in_turn(env, "FI_WEFT_ANNOUNCE", ANNOUNCE, *["exchange:%d" % n for n in CROSSING])
    rows = []
    for i, n in enumerate(CROSSING):
        never = [w[i] for w in seen["never"]]
        for a in ANNOUNCE:
            us = [w[i] for w in seen[a]]
            rows.append({"announce": a, "bytes": n, **summary("us", us),
                         **summary("percent", [100 * (u / b - 1) for u, b in zip(us, never)])})
    return rows


def adapt(env):
    env.weftd("--nics", "2")
    return [{k: r[k] for k in ("messages", "messages_are", "announced", "used")} for r in tag.tag(env, "adapt")]


def gains(seen, sizes):
    """By how much less time messages take whose buffers stay registered, %: when it pays, and after USES uses."""
    rows = []
    for i, n in enumerate(sizes):
        kept, forced, copied = ([w[i] for w in seen[k]] for k in KEEP)
        rows.append({"bytes": n, **summary("kept_us", kept), **summary("forced_us", forced), **summary("copied_us", copied),
                     **summary("percent", [100 * (1 - k / c) for k, c in zip(kept, copied)]),
                     **summary("forced_percent", [100 * (1 - k / c) for k, c in zip(forced, copied)])})
    return rows


def pingpong(env):
    """The gain, and the possible one: C - V at both ends, of the latency with copies (equation 5.6)."""
    rows = gains(in_turn(env, "FI_WEFT_KEEP_BUFFERS", KEEP, *["pingpong:%d" % n for n in SMALL]), SMALL)
    costs = {r["bytes"]: r for r in tag.tag(env, "freq", "--iters", "20")}
    for r in rows:
        c = costs.get(r["bytes"])
        gain_us = c["copy_calls_us"] - c["look_calls_us"] if c else 0
        r["possible_percent"] = 100 * gain_us / r["copied_us"]
        r["uses"] = c["reg_ns"] / 1e3 / (gain_us / 2) if gain_us > 0 else 0
    return rows


def spectrum(env):
    rows = []
    for n in SPECTRUM:
        rows += gains(in_turn(env, "FI_WEFT_KEEP_BUFFERS", KEEP, "spectrum:%d" % n), [n])
        env.close()
    return rows


COUNTS = re.compile(r"buffers watched (\d+), used often (\d+); messages copied (\d+), not copied (\d+), long (\d+)")


def statistics_of(env):
    """Sums of the counts that each rank's provider logs at its end."""
    env.weftd("--nics", "2")
    rows = []
    for k in KERNELS:
        words = mpi.before(env, WEFT_MPI_OVER="ofi", FI_PROVIDER_PATH=tag_mpi.LIBFABRIC, FI_LOG_LEVEL="info", FI_LOG_PROV="weft",
                           FI_LOG_SUBSYS="domain", FI_WEFT_KEEP_BUFFERS=USES) + goal.MPIRUN + tag_mpi.WEFT
        p = subprocess.run(["taskset", "-c", goal.ALL_BUT_LAST, *words, "-n", str(RANKS), mpi.RANK, BIN + "/mpi_kern",
                            goal.length(env), k], capture_output=True, text=True, timeout=120, check=False)
        found = [list(map(int, m)) for m in COUNTS.findall(p.stderr)]
        if p.returncode or len(found) < RANKS:
            raise Failed("%s: exit %d, %d of %d ranks: %s" % (k, p.returncode, len(found), RANKS, p.stderr[-500:]))
        watched, often, copied, direct, rest = map(sum, zip(*found))
        rows.append({"kernel": k, "watched": watched, "often": often, "copied": copied, "direct": direct, "long": rest})
    return rows


# ---- drawing --------------------------------------------------------------------------------

WHO = {"recv": "receiving", "send": "sending"}


def shown(names, lines):
    """The lines of a table behind its pictures."""
    return ["![%s](pictures/%s.svg)" % (n.replace("tagged_", "").replace("_", " "), n) for n in names] + [""] + lines


def sides_of(name):
    return ["%s_%s_%s" % (name, side, first) for side, first in SIDES]


def each_side(rows, folder, name, settings, points):
    for side, first in SIDES:
        series = [(STACKS[s], points(pick(rows, stack=s, side=side, first=first))) for s in ordered(rows, "stack")]
        draw(folder, "%s_%s_%s" % (name, side, first), settings + "set title 'Open MPI, %s, the %s first'\n" % (WHO[side], first),
             series)


def overlap_table(rows, folder):
    ticks = ", ".join("'%s' %d" % (size(n), n) for n in ordered(rows, "bytes"))
    each_side(rows, folder, "tagged_overlap", "set logscale x 4\nset xtics (%s)\nset xlabel 'bytes'\nset yrange [0:1.2]\n"
              "set ylabel 'overlap (equation 3.4)'\n" % ticks, lambda r: bars(r, "bytes", "ratio"))
    body = []
    for side, first in SIDES:
        for n in ordered(rows, "bytes"):
            cells = [pick(rows, stack=s, side=side, first=first, bytes=n) for s in ordered(rows, "stack")]
            body.append([WHO[side], first, size(n)] + [spread(c[0], "ratio") if c else "" for c in cells])
    return shown(sides_of("tagged_overlap"), table(["rank 0 is", "first", "bytes"] + [STACKS[s] for s in ordered(rows, "stack")], body))


def progress_table(rows, folder):
    each_side(rows, folder, "tagged_progress", "set yrange [0:4]\nset xlabel 'computation, as a multiple of the message alone'\n"
              "set ylabel 'time in all, likewise'\n", lambda r: bars(r, "delay", "times"))
    body = []
    for side, first in SIDES:
        for s in ordered(rows, "stack"):
            found = sorted(pick(rows, stack=s, side=side, first=first), key=lambda r: r["delay"])
            alone, last = found[0], found[-1]
            body.append([WHO[side], first, STACKS[s], number(alone["us"]), number(last["delay_us"]), number(last["left_us"])])
    return shown(sides_of("tagged_progress"),
                 table(["rank 0 is", "first", "over", "alone, us", "computation, us", "left after it, us"], body))


def crossing_table(rows, folder):
    ticks = ", ".join("'%s' %d" % (size(n), n) for n in ordered(rows, "bytes"))
    draw(folder, "tagged_crossing", "set logscale x 4\nset xtics (%s)\nset xlabel 'bytes'\nset ylabel 'more time than without "
         "announcements, %%'\nset title 'Crossing messages (figure 19a)'\n" % ticks,
         [(a, bars(pick(rows, announce=a), "bytes", "percent")) for a in ordered(rows, "announce") if a != "never"])
    others = ordered(rows, "announce")[1:]
    return shown(["tagged_crossing"], table(
        ["bytes", "never, us"] + ["%s, %%" % a for a in others],
        [[size(n), number(pick(rows, bytes=n, announce="never")[0]["us"])] +
         [spread(pick(rows, bytes=n, announce=a)[0], "percent") for a in others] for n in ordered(rows, "bytes")]))


def adapt_table(rows, folder):
    steps = [r["messages"] for r in rows]
    draw(folder, "tagged_adapt", "set xlabel 'messages'\nset ylabel 'of 8 receives'\nset yrange [0:9]\n"
         "set title 'Announcements: long messages, short ones, long ones again'\n",
         [(k, [(r["messages"],) + (r[k],) * 3 for r in rows]) for k in ("announced", "used")])
    body = []
    at = 0
    while at < len(rows):
        end = at
        while end < len(rows) and rows[end]["messages_are"] == rows[at]["messages_are"]:
            end += 1
        part = rows[at:end]
        body.append(["%d to %d" % (steps[at] - steps[0] + 1, steps[end - 1]), part[0]["messages_are"],
                     "%d" % sum(r["announced"] for r in part), "%d" % sum(r["used"] for r in part)])
        at = end
    return shown(["tagged_adapt"], table(["messages", "they are", "receives announced", "announcements used"], body))


def gain_picture(rows, folder, name, title, more=()):
    draw_groups(folder, name, "set ylabel 'less time than with copies, %%'\nset title '%s'\n" % title,
                [size(r["bytes"]) for r in rows],
                [(t, [(i, r[k], r[k + "_min"], r[k + "_max"]) for i, r in enumerate(rows)])
                 for t, k in (("registered when it pays", "percent"), ("after %d uses" % USES, "forced_percent"))] +
                [*[(t, [(i,) + (r[k],) * 3 for i, r in enumerate(rows)]) for t, k in more]])


GAIN_HEAD = ["bytes", "copied, us", "gain where it pays, %", "gain after %d uses, %%" % USES]


def gain_cells(r):
    return [size(r["bytes"]), spread(r, "copied_us"), spread(r, "percent"), spread(r, "forced_percent")]


def pingpong_table(rows, folder):
    gain_picture(rows, folder, "tagged_pingpong", "Ping-pong with the same buffers (figure 5.5)", [("possible", "possible_percent")])
    return shown(["tagged_pingpong"], table(
        GAIN_HEAD + ["possible, %", "uses that pay for registering"],
        [gain_cells(r) + [number(r["possible_percent"]), "%.0f" % r["uses"] if r["uses"] else "never"] for r in rows]))


def spectrum_table(rows, folder):
    gain_picture(rows, folder, "tagged_spectrum", "1,000 buffers, of which buffer i is used i times (figure 5.6)")
    return shown(["tagged_spectrum"], table(GAIN_HEAD, [gain_cells(r) for r in rows]))


def statistics_table(rows, _folder):
    return table(["kernel", "buffers watched", "used often", "%", "messages copied", "not copied", "long"],
                 [[r["kernel"].upper()] + ["%d" % r[k] for k in ("watched", "often")] +
                  [number(100 * r["often"] / r["watched"]) if r["watched"] else "-"] +
                  ["%d" % r[k] for k in ("copied", "direct", "long")] for r in rows])


PARTS = {"overlap": (overlap, overlap_table), "progress": (progress, progress_table), "crossing": (crossing, crossing_table),
         "adapt": (adapt, adapt_table), "pingpong": (pingpong, pingpong_table), "spectrum": (spectrum, spectrum_table),
         "statistics": (statistics_of, statistics_table)}


if __name__ == "__main__":
    tables.main(__doc__, "tagged-tables.md", "tagged", PARTS, seconds=1.0)
