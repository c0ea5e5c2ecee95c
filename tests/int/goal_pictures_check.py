#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares goal-dump's pictures of a run with the points that goal-dump --trace prints.

goal_pictures.sh calls it. usage: goal_pictures_check.py FOLDER, with NAME/rankR.points, NAME.json, NAME.svg, NAME.dot.
"""
import glob
import json
import re
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def points(path):
    """Times of a rank's operations in us from its start: {(vertex, point): first time}, and how many were sent again."""
    times, again = {}, 0
    with open(path, encoding="ascii") as f:
        for line in f:
            words = line.split()
            if words[0].startswith("#") or words[2].startswith("RUN") or len(words) < 4:
                continue
            times.setdefault((int(words[3]), words[2]), float(words[0]))
            again += words[2] == "PACKET_AGAIN"
    return times, again


def near(a, b):
    return abs(a - b) < 0.0015


def check_rank(events, rank, times):
    """Every operation that began has one event, with the times of its points."""
    run, = [e for e in events if e.get("cat") == "run" and e["pid"] == rank]
    ops = {e["args"]["vertex"]: e for e in events if e["ph"] == "X" and e["pid"] == rank and e is not run}
    started = {vertex for vertex, point in times if point == "OP_START"}
    assert set(ops) == started, (rank, ops, started)
    rows = {}
    for vertex, e in ops.items():
        begin = e["ts"] - run["ts"]
        assert near(begin, times[vertex, "OP_START"]), (e, times)
        finish = times.get((vertex, "OP_FINISH"))
        assert e["args"]["finished"] == (finish is not None), e
        assert near(begin + e["dur"], run["dur"] if finish is None else finish), (e, times)
        for name, point in (("acked_us", "MSG_ACKED"), ("first_packet_us", "PACKET_FIRST"), ("matched_us", "MSG_MATCHED")):
            assert (name in e["args"]) == ((vertex, point) in times), e
            assert name not in e["args"] or near(e["args"][name] - run["ts"], times[vertex, point]), e
        rows.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
    for row in rows.values():
        row.sort()
        assert all(a[1] <= b[0] for a, b in zip(row, row[1:])), row
    return len(ops)


def check_flows(events):
    """Each message leaves a send and enters the receive that names its rank, when that ends."""
    ends = {}
    for e in events:
        if e["ph"] in "sf":
            ends.setdefault(e["id"], {})[e["ph"]] = e
    for flow in ends.values():
        found = {}
        for phase, cats in (("s", ("send", "mcast")), ("f", ("recv", "mrecv"))):
            e = flow[phase]
            found[phase] = [x for x in events if x["ph"] == "X" and x.get("cat") in cats and
                            (x["pid"], x["tid"]) == (e["pid"], e["tid"]) and x["ts"] <= e["ts"] <= x["ts"] + x["dur"] + 0.001]
            assert found[phase], e
        assert any(str(flow["s"]["pid"]) == x["name"].split()[-1] for x in found["f"]), flow
        assert flow["s"]["ts"] <= flow["f"]["ts"], flow
    return len(ends)


def check(folder, name, ranks, messages):
    with open("%s/%s.json" % (folder, name), encoding="ascii") as f:
        trace = json.load(f)
    assert set(trace) == {"displayTimeUnit", "traceEvents"}, set(trace)
    events, ops, again = trace["traceEvents"], 0, 0
    assert len(glob.glob("%s/%s/rank*.points" % (folder, name))) == ranks, name
    for rank in range(ranks):
        times, more = points("%s/%s/rank%d.points" % (folder, name, rank))
        ops += check_rank(events, rank, times)
        again += more
    assert check_flows(events) == messages, (name, messages)
    assert sum(e["ph"] == "i" for e in events) == again, (name, again)
    names = [e["args"]["name"] for e in events if e.get("name") == "process_name"]
    assert names == ["rank %d" % r for r in range(ranks)], names

    svg = xml.etree.ElementTree.parse("%s/%s.svg" % (folder, name)).getroot()
    assert len(svg.findall(SVG + "g")) == ops, name
    lines = [e.get("class") for e in svg.findall(SVG + "line")]
    assert lines.count("m") == messages + 1 and lines.count("a") == again + bool(again), (name, lines)
    least, most = 70, 960
    for rect in svg.iter(SVG + "rect"):
        if rect.get("x"):
            assert float(rect.get("x")) >= least and float(rect.get("x")) + float(rect.get("width")) <= most, rect.attrib

    with open("%s/%s.dot" % (folder, name), encoding="ascii") as f:
        dot = f.read()
    assert [int(r) for r in re.findall('label="rank ([0-9]+)"', dot)] == list(range(ranks)), dot
    pairs = re.findall("r([0-9]+)_[0-9]+ -> r([0-9]+)_[0-9]+ .*bold", dot)
    assert len(pairs) == messages and dot.count("{") == dot.count("}"), (name, pairs)
    return again


def main():
    folder = sys.argv[1]
    assert check(folder, "sum", 4, 8) == 0
    # Twelve ranks, four segments each: a chain has eleven links.
    assert check(folder, "chain", 12, 44) > 0
    assert check(folder, "mcast", 3, 2) == 0
    # no_partner.goal: what has no partner is neither a message nor finished.
    assert check(folder, "late", 2, 0) == 0


if __name__ == "__main__":
    main()
