#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make pictures: measures with weft-sim and goal-run in virtual time, and draws docs/pictures/*.svg.

Each picture has a .tsv beside it with its figures, and is drawn from that alone. goal_graph.svg is drawn
from goal_graph.dot, which goal-dump writes, and goal_timeline.svg is goal-dump's own. Seeds are fixed:
the same sources give the same bytes. It runs weft-sim, goal-run, goal-dump, gnuplot and dot.

usage: pictures.py [--draw-only | --check [--some]] [DIR]     DIR: where to (docs/pictures)
--check measures and compares with the figures that are there, of --some points or of all; it draws nothing.
Environment: WEFT_BIN (where weft's programs are). Exit status 0, 1 when a run failed or a figure differs, 2 usage.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

BIN = os.environ.get("WEFT_BIN", "build/bin")
SEED = 1
SENDERS = (1, 2, 4, 8, 16, 32, 64, 128)
LOSSES = (0, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
MS = 200
RANKS = (4, 16, 64, 256, 1024, 4096)
IN_FLIGHT = 16  # packets of go-back-N: what the delay target lets stand on this line

HEAD = """
set terminal svg size 800,%d dynamic font 'sans-serif,14' background rgb 'white'
set encoding utf8
set datafile separator '\\t'
set output '%s.svg'
set grid lc rgb '#dddddd' lt 1 lw 1
set border 3
set tics nomirror out
set style line 1 lc rgb '#0060ad' lw 2 pt 7 ps 0.7
set style line 2 lc rgb '#c03020' lw 2 pt 5 ps 0.7
set style line 3 lc rgb '#555555' lw 2 dt 2
set style line 4 lc rgb '#d08000' lw 2 dt 4
"""

INCAST = """
set multiplot layout 3,1 margins 0.12,0.96,0.08,0.94 spacing 0.07
set logscale x 2
set xrange [0.9:145]
set xtics (1,2,4,8,16,32,64,128) format ''
set yrange [0:105]
set ytics 20
set ylabel 'goodput, % of the line'
set title 'Incast onto one 10 Gb/s port, 128 KiB of drop-tail buffer'
set key bottom left
plot 'incast.tsv' using 1:2 with linespoints ls 1 title 'congestion control', \\
	'' using 1:7 with linespoints ls 2 title 'without (--cc-off)', \\
	'' using 1:6 with lines ls 3 title 'all but headers'
unset title
set yrange [0:1.05]
set ytics 0.2
set ylabel "Jain's index of the senders"
plot 'incast.tsv' using 1:3 with linespoints ls 1 notitle, '' using 1:8 with linespoints ls 2 notitle
set yrange [0:80]
set ytics 20
set ylabel 'frames dropped, %'
set xtics (1,2,4,8,16,32,64,128) format '%g'
set xlabel 'senders, all starting at once, 64 KiB messages'
plot 'incast.tsv' using 1:4 with linespoints ls 1 notitle, '' using 1:9 with linespoints ls 2 notitle
unset multiplot
"""

LOSS = """
set xrange [0:10]
set yrange [0:100]
set xtics 1
set ytics 10
set xlabel 'frames lost in each direction, %%'
set ylabel 'goodput, %% of the line'
set title 'One sender, 10 Gb/s, 64 KiB messages, single losses'
set key bottom left
plot 'loss.tsv' using 1:3 with lines ls 3 title 'selective repeat, ideal: (1 - p) of all but headers', \\
	'' using 1:2 with linespoints ls 1 title 'weft', \\
	'' using 1:5 with linespoints ls 2 title 'weft without congestion control', \\
	'' using 1:4 with lines ls 4 title 'go-back-N, %d packets in flight (calculated)'
""" % IN_FLIGHT

COLLECTIVES = """
set multiplot layout 2,1 margins 0.12,0.96,0.09,0.94 spacing 0.09
set logscale x 4
set xrange [3:5500]
set xtics (4,16,64,256,1024,4096) format ''
set yrange [0:*]
set ylabel 'virtual time, us'
set key top left
set title 'Barrier: 25 Gb/s, 2 us, a NIC for each rank'
plot 'collectives.tsv' using 1:2 with linespoints ls 1 title 'recursive doubling', \\
	'' using 1:3 with linespoints ls 4 pt 9 title 'Bruck', \\
	'' using 1:4 with linespoints ls 2 title 'multicast (allreduce of 8 bytes)'
set title 'Broadcast of 1 KiB'
set xtics (4,16,64,256,1024,4096) format '%g'
set xlabel 'ranks'
plot 'collectives.tsv' using 1:5 with linespoints ls 1 title 'binomial tree', \\
	'' using 1:6 with linespoints ls 2 title 'multicast'
unset multiplot
"""


def simulate(workload, *options):
    """The figures of one run by name."""
    cmd = [BIN + "/weft-sim", "--seed", str(SEED), "--duration-ms", str(MS), "--workload", workload] + list(options)
    p = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit("pictures.py: %s failed:\n%s%s" % (" ".join(cmd), p.stdout[-500:], p.stderr[-500:]))
    figures = {}
    for line in p.stdout.splitlines():
        words = line.split()
        if len(words) == 2 and words[0][0].isdigit():
            figures[words[1]] = float(words[0])
    return figures


def line(row):
    return "\t".join("%g" % round(x, 3) for x in row)


def incast(senders):
    row = [senders]
    for option in ([], ["--cc-off"]):
        f = simulate("incast:senders=%d,buffer=131072,gbps=10" % senders, *option)
        drops = 100 * f["queue_drops"] / f["frames"]
        row += [f["line_percent"], f["jain_index"], drops, f["timeouts"], f["ideal_percent"]]
    return row[:10]


def loss(percent):
    faults = ["--faults", "loss=%g" % percent] if percent else []
    on = simulate("incast:senders=1,gbps=10", *faults)
    off = simulate("incast:senders=1,gbps=10", "--cc-off", *faults)
    p = percent / 100
    ideal = on["ideal_percent"] * (1 - p)
    back = on["ideal_percent"] * (1 - p) / (1 - p + IN_FLIGHT * p)
    return [percent, on["line_percent"], ideal, back, off["line_percent"]]


def collective(name, ranks, size=0):
    """Microseconds that a collective takes."""
    cmd = [BIN + "/goal-run", "--sim", "--json", "--seed", str(SEED), "--coll", name, "--ranks", str(ranks)]
    p = subprocess.run(cmd + ["--bytes", str(size)], capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit("pictures.py: %s failed:\n%s" % (" ".join(cmd), p.stderr[-500:]))
    return json.loads(p.stdout)["finish_ns"] / 1000


def collectives(ranks):
    return [ranks, collective("barrier=recursive_doubling", ranks), collective("barrier=bruck", ranks),
            collective("allreduce=multicast", ranks, 8), collective("bcast=binomial", ranks, 1024),
            collective("bcast=multicast", ranks, 1024)]


# Each: its columns, the points of the first of them, those that --some takes, the row of a point.
TABLES = {
    "incast": (["senders", "line_percent", "jain", "drop_percent", "timeouts", "headers_percent", "off_line_percent",
                "off_jain", "off_drop_percent", "off_timeouts"], SENDERS, (2, 16), incast),
    "loss": (["loss_percent", "line_percent", "ideal_percent", "go_back_n_percent", "off_line_percent"],
             LOSSES, (1, 10), loss),
    "collectives": (["ranks", "barrier_recursive_doubling_us", "barrier_bruck_us", "barrier_multicast_us",
                     "bcast_binomial_us", "bcast_multicast_us"], RANKS, (4, 64), collectives),
}


# Pictures of single runs: options of goal-run, what goal-dump makes of the traces.
RUNS = {
    "goal_graph.dot": (["--coll", "allreduce=recursive_doubling", "--ranks", "4", "--bytes", "64"], "--dot"),
    "goal_timeline.svg": (["--coll", "bcast=chain", "--ranks", "4", "--bytes", "131072", "--loss", "1", "--seed", "3"],
                          "--timeline"),
}


def traced(name):
    """The text that goal-dump makes of a traced run."""
    options, form = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        run = [BIN + "/goal-run", "--sim", "--trace", folder] + options
        files = ["%s/rank%d.trace" % (folder, rank) for rank in range(int(options[options.index("--ranks") + 1]))]
        text = ""
        for cmd in (run, [BIN + "/goal-dump", form] + files):
            p = subprocess.run(cmd, capture_output=True, text=True, check=False)
            if p.returncode:
                sys.exit("pictures.py: %s failed:\n%s" % (" ".join(cmd), p.stderr[-500:]))
            text = p.stdout
    return text


def write(folder):
    for name in RUNS:
        with open("%s/%s" % (folder, name), "w", encoding="ascii") as f:
            f.write(traced(name))
    for name, (columns, points, _, row) in TABLES.items():
        with open("%s/%s.tsv" % (folder, name), "w", encoding="ascii") as f:
            f.write("#" + "\t".join(columns) + "\n")
            for point in points:
                f.write(line(row(point)) + "\n")


def check(folder, some):
    """How many rows of the folder are not what the tree measures."""
    differ = 0
    for name in RUNS:
        with open("%s/%s" % (folder, name), encoding="ascii") as f:
            if f.read() != traced(name):
                print("%s/%s: is not what goal-dump makes; type: make pictures" % (folder, name))
                differ += 1
    for name, (columns, points, few, row) in TABLES.items():
        path = "%s/%s.tsv" % (folder, name)
        with open(path, encoding="ascii") as f:
            kept = f.read().splitlines()
        wanted = ["#" + "\t".join(columns)] if some else []
        wanted += [line(row(point)) for point in (few if some else points)]
        if not some and len(kept) != len(points) + 1:
            print("%s: has %d lines, not %d" % (path, len(kept), len(points) + 1))
            differ += 1
        for text in wanted:
            if text not in kept:
                print("%s: has no line '%s'; type: make pictures" % (path, text.replace("\t", " ")))
                differ += 1
    return differ


def draw(folder, name, height, script):
    subprocess.run(["gnuplot"], input=HEAD % (height, name) + script, text=True, check=True, cwd=folder)
    with open("%s/%s.svg" % (folder, name), encoding="utf8") as f:
        lines = f.read().splitlines()
    with open("%s/%s.svg" % (folder, name), "w", encoding="utf8") as f:
        f.writelines(line.rstrip() + "\n" for line in lines)


def draw_graph(folder):
    p = subprocess.run(["dot", "-Tsvg", "goal_graph.dot"], capture_output=True, text=True, check=True, cwd=folder)
    with open("%s/goal_graph.svg" % folder, "w", encoding="utf8") as f:
        f.writelines(line.rstrip() + "\n" for line in p.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw-only", action="store_true", help="from the figures that are there")
    parser.add_argument("dir", nargs="?", default="docs/pictures")
    parser.add_argument("--check", action="store_true", help="compare with the figures that are there; draw nothing")
    parser.add_argument("--some", action="store_true", help="with --check: a few points of each picture")
    args = parser.parse_args()
    if args.some and not args.check:
        parser.error("--some goes with --check")
    if args.check:
        sys.exit(1 if check(args.dir, args.some) else 0)
    os.makedirs(args.dir, exist_ok=True)
    if not args.draw_only:
        write(args.dir)
    draw(args.dir, "incast", 900, INCAST)
    draw(args.dir, "loss", 500, LOSS)
    draw(args.dir, "collectives", 800, COLLECTIVES)
    draw_graph(args.dir)


if __name__ == "__main__":
    main()
