#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A model of weftd on many cores: messages per second by number of cores, and what bounds them.

Takes the cost of a message and of a hand-over from docs/cost.md (make cost), and properties of a
machine from its options. docs/scaling.md explains the model and has the table.

usage: scaling.py [--write docs/scaling.md] [options]
Exit status 0, 1 when docs/cost.md lacks a figure, 2 usage.
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARKS = "<!-- begin: scaling.py -->\n", "<!-- end: scaling.py -->\n"
CORES = (1, 2, 4, 8, 16, 32, 64)
SHARDS = 8        # of a NIC: three bits of the QPN
MBUF_LINES = 2    # of an mbuf; they change the core with the frame
LINE_BYTES = 64
FRAME_EXTRA = 24  # preamble, FCS and gap
# path of docs/cost.md: bytes of payload, bytes of a full frame, copies of the payload at both ends
PATHS = {"ud_send_64_32": (64, 166, 2), "rd_send_64_32": (64, 178, 2), "tcp_send_64_32": (64, 142, 2),
         "rd_write_4k_32": (4096, 4210, 2)}


class Missing(Exception):
    pass


def read_page(name):
    """Returns {path: (text, instructions, lines, frames)}, {part: (instructions, lines)}."""
    with open(name, encoding="utf-8") as file:
        text = file.read()
    paths = {m[1]: (m[2].strip(), float(m[3]), float(m[4]), float(m[5])) for m in re.finditer(
        r"^\| `(\w+)` ([^|]+)\| \d+ \| (\d+) \| ([\d.]+) \| ([\d.]+) \|", text, re.M)}
    parts = {m[1]: (float(m[2]), float(m[3])) for m in re.finditer(
        r"^\| `(put_\d+|take_\d+|look)` [^|]+\| *\d* *\| ([\d.]+) \| ([\d.]+) \|", text, re.M)}
    return paths, parts


class Model:
    def __init__(self, args, paths, parts):
        self.a, self.paths, self.parts = args, paths, parts

    def work_ns(self, instructions):
        return instructions / (self.a.ipc * self.a.ghz)

    def near_ns(self, path):
        """A core's time for a message at one of its two ends, without hand-over."""
        _, instructions, lines, _ = self.paths[path]
        return (self.work_ns(instructions) + lines * self.a.near_ns) / 2

    def put_ns(self):
        """The sender's time for a frame, in bursts: slots and tail go to the other core."""
        instructions, lines = self.parts["put_8"]
        return self.work_ns(instructions) + min(lines, 1) * self.a.far_ns

    def take_ns(self, path):
        """The receiver's time for a frame: it fetches slots, mbuf and headers from the other core."""
        instructions, lines = self.parts["take_8"]
        header_lines = min(PATHS[path][1], 128) / LINE_BYTES
        return self.work_ns(instructions) + (lines + MBUF_LINES + header_lines) * self.a.far_ns / self.a.overlap

    def look_ns(self, path, lanes):
        """A turn looks into all lanes; a turn of a busy core has 8 frames."""
        return self.work_ns(self.parts["look"][0]) * lanes / 8

    def machine(self, path, nics):
        """Bounds that do not depend on cores: messages per us of all NICs."""
        payload, frame, copies = PATHS[path]
        _, _, lines, frames = self.paths[path]
        yield "line", nics * self.a.gbps * 1e3 / 8 / (frames * (frame + FRAME_EXTRA))
        # A copy reads and writes; the frame itself stays in a cache that the NIC's DMA reaches.
        memory = copies * payload * 2 if payload > self.a.cached_bytes else 0
        if memory:
            yield "memory", self.a.memory_gbs * 1e3 / memory

    def rates(self, path, cores):
        """Yields (way, messages per us, bound) with so many cores. A message loads one core here; its other end is
        another machine's, or, on the switch, another core's."""
        _, _, _, frames = self.paths[path]
        end = self.near_ns(path)
        nics = -(-cores // SHARDS)
        each = min(cores, SHARDS)

        def bounded(rate, bound, limits):
            for name, limit in limits:
                if limit < rate:
                    rate, bound = limit, name
            return rate, bound

        limits = list(self.machine(path, nics))
        yield ("queues",) + bounded(cores * 1e3 / end, "cores", limits)
        # The owner of a port hands every frame over, but those of its own shard: half of a message's frames come in.
        if each == 1:
            one, bound = 1e3 / end, "cores"
        else:
            away = (each - 1) / each * frames
            owner = away * (self.put_ns() + self.take_ns(path)) / 2
            other = end + frames * (self.put_ns() + self.take_ns(path)) / 2
            # All cores are full: the owner's rest serves its own shard. Otherwise the owner is.
            one = (each - 1) * 1e3 / other + max(0.0, 1 - (each - 1) * owner / other) * 1e3 / end
            bound = "cores"
            if 1e3 / owner < one:
                one, bound = 1e3 / owner, "owner"
        yield ("owner",) + bounded(nics * one, bound, limits)
        # On the switch a message takes a core at each end; with one core both ends are there and nothing is handed over.
        both = 2 * end
        if cores > 1:
            both += frames * (self.put_ns() + self.take_ns(path)) + self.look_ns(path, cores)
        yield ("switch",) + bounded(cores * 1e3 / both, "cores", [x for x in limits if x[0] != "line"])


def table(model):
    yield "| path | way | " + " | ".join("%d" % n for n in CORES) + " | of 64 times one core | bound at 64 |"
    yield "| --- | --- |" + " --: |" * (len(CORES) + 1) + " --- |"
    for path in PATHS:
        rows = {}
        for n in CORES:
            for way, rate, bound in model.rates(path, n):
                rows.setdefault(way, []).append((rate, bound))
        for way, points in rows.items():
            yield "| `%s` %s | %s | %s | %.0f %% | %s |" % (
                path, model.paths[path][0], way, " | ".join("%.2f" % rate for rate, _ in points),
                100 * points[-1][0] / (CORES[-1] * points[0][0]), points[-1][1])


def parts(model):
    yield "| path | end of a message, ns | put a frame, ns | take a frame, ns | 64 lanes, ns a frame |"
    yield "| --- | --: | --: | --: | --: |"
    for path in PATHS:
        yield "| `%s` | %.0f | %.0f | %.0f | %.1f |" % (path, model.near_ns(path), model.put_ns(), model.take_ns(path),
                                                    model.look_ns(path, 64))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (("ghz", 3.0, "clock"), ("ipc", 2.0, "instructions of a cycle"),
                              ("near-ns", 4.0, "a line from the core's second cache"),
                              ("far-ns", 60.0, "a line from another core's cache"),
                              ("overlap", 3.0, "lines that a core waits for at a time"),
                              ("gbps", 100.0, "line of a NIC"), ("memory-gbs", 150.0, "bandwidth of the memory"),
                              ("cached-bytes", 1024.0, "payload up to this size stays in caches")):
        parser.add_argument("--" + name, type=float, default=value, help="%s (%g)" % (text, value))
    parser.add_argument("--page", default=os.path.join(ROOT, "docs", "cost.md"), help="figures of make cost")
    parser.add_argument("--write", metavar="FILE", help="write the tables into this page, between its marks")
    args = parser.parse_args()
    if min(args.ghz, args.ipc, args.overlap, args.gbps, args.memory_gbs) <= 0:
        parser.error("a machine has a clock, a line and a memory: figures above 0")
    paths, found = read_page(args.page)
    lacking = [p for p in PATHS if p not in paths] + [p for p in ("put_8", "take_8", "look") if p not in found]
    if lacking:
        raise Missing("docs/cost.md has no figure of %s: make cost" % ", ".join(lacking))
    model = Model(args, paths, found)
    lines = list(parts(model)) + [""] + list(table(model))
    if args.write:
        with open(args.write, encoding="utf-8") as file:
            text = file.read()
        head, rest = text.split(MARKS[0])
        _, tail = rest.split(MARKS[1])
        with open(args.write, "w", encoding="utf-8") as file:
            file.write(head + MARKS[0] + "\n" + "\n".join(lines) + "\n\n" + MARKS[1] + tail)
    else:
        print("\n".join(lines))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as e:
        print("scaling: %s" % e, file=sys.stderr)
        sys.exit(1)
