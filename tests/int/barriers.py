#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The named pairs of barriers between host and NIC (docs/host-interface.md), and between threads of
weftd (dpdk_app/README.md, "Idle"), under Arm's memory model.

Each pair is a litmus test: two threads of loads, stores, exchanges and fences, and an outcome that
must not happen. All candidate executions are enumerated and checked against the axioms of Armv8
(Pulte et al., "Simplifying ARM concurrency", POPL 2018; Arm ARM, B2.3): no execution that they
allow may have the outcome. Then each barrier is weakened in turn, and the outcome must become
possible where the table says that Arm needs the barrier, so that a test that proves nothing fails.
At last the sources must still have the orders that the tests are written with.

    barriers.py [--list]       exit status 0: all as expected
"""
import itertools
import re
import sys


class Op:
    """One operation. deps: registers that a store's value comes from."""

    def __init__(self, kind, loc=None, val=None, reg=None, order="", label="", body=None):
        self.kind, self.loc, self.val, self.reg = kind, loc, val, reg
        self.order, self.label, self.body = order, label, body


def store(loc, val, order="", label=""):
    return Op("W", loc, val, order=order, label=label)


def load(reg, loc, order="", label=""):
    return Op("R", loc, reg=reg, order=order, label=label)


def exchange(reg, loc, val, label=""):
    return Op("X", loc, val, reg=reg, order="acq rel", label=label)


def fence(label=""):
    return Op("F", label=label)


def when(reg, val, *body):
    """A branch: what stands in it depends on the register (control)."""
    return Op("if", reg=reg, val=val, body=list(body))


class Pair:
    def __init__(self, name, protects, threads, bad, needs, sources):
        self.name, self.protects, self.threads, self.bad = name, protects, threads, bad
        self.needs, self.sources = needs, sources


# The word of a barrier in threads is its label; needs: {label: does Arm need it?}. An acquire whose
# value decides whether a store is made is not needed there: the branch orders the two (C11 needs it).
BARRIER = "host_driver/weft_barrier.h"
SLOTS = [(BARRIER, "weft_barrier_sq_publish", "__ATOMIC_RELEASE"), ("nic_fw/host/db.c", "ring_sq", "__ATOMIC_ACQUIRE")]
RUNG = [(BARRIER, "weft_barrier_ring_needed", "__ATOMIC_ACQ_REL"), ("nic_fw/host/db.c", "clear_rung", "__ATOMIC_ACQ_REL")]
PAIRS = [
    Pair("D1", "what the host wrote before an entry of the doorbell ring",
         [[store("rung", 1), store("entry", 7, "rel", "host: release of the entry")],
          [load("e", "entry", "acq", "NIC: acquire of the entry"), when("e", 7, load("r", "rung"))]],
         lambda r, m: r.get("e") == 7 and r.get("r") == 0,
         {"host: release of the entry": True, "NIC: acquire of the entry": True},
         [(BARRIER, "weft_barrier_db_entry", "__ATOMIC_RELEASE"), ("nic_fw/host/db.c", "poll_client", "__ATOMIC_ACQUIRE")]),
    Pair("D1 again", "an entry in a slot of the ring that was used before",
         [[exchange("old", "rung", 1, "host: exchange of rung"), when("old", 0, store("entry", 8, "rel"))],
          [store("entry", 0), exchange("was", "rung", 0, "NIC: exchange of rung")]],
         lambda r, m: r["old"] == 0 and m["entry"] == 0, {"host: exchange of rung": False, "NIC: exchange of rung": True},
         RUNG + [("nic_fw/host/db.c", "poll_client", "__ATOMIC_RELEASE")]),
    Pair("D2 slots", "the slots of the send queue before its index",
         [[store("slot", 5), store("sq_prod", 1, "rel", "host: release of sq_prod")],
          [load("p", "sq_prod", "acq", "NIC: acquire of sq_prod"), when("p", 1, load("s", "slot"))]],
         lambda r, m: r.get("p") == 1 and r.get("s") == 0,
         {"host: release of sq_prod": True, "NIC: acquire of sq_prod": True}, SLOTS),
    Pair("D2", "that the index is seen or rung anew",
         [[store("sq_prod", 1, "rel"), exchange("old", "rung", 1, "host: exchange of rung")],
          [exchange("was", "rung", 0, "NIC: exchange of rung"), load("p", "sq_prod", "acq")]],
         lambda r, m: r["old"] == 1 and r["p"] == 0,
         {"host: exchange of rung": True, "NIC: exchange of rung": True}, SLOTS + RUNG),
    Pair("D3", "that no side sleeps over a doorbell",
         [[store("entry", 7, "rel"), fence("host: fence before sleeping"), load("z", "sleeping")],
          [store("sleeping", 1), fence("NIC: fence after sleeping"), load("e", "entry", "acq")]],
         lambda r, m: r["z"] == 0 and r["e"] == 0,
         {"host: fence before sleeping": True, "NIC: fence after sleeping": True},
         [(BARRIER, "weft_barrier_nic_sleeping", "__ATOMIC_SEQ_CST"), ("nic_fw/fw.c", "fw_sleep", "__ATOMIC_SEQ_CST")]),
    Pair("S1", "slots of the send queue that the NIC still reads",
         [[load("c", "sq_cons", "acq", "host: acquire of sq_cons"), when("c", 1, store("slot", 9))],
          [load("s", "slot"), store("sq_cons", 1, "rel", "NIC: release of sq_cons")]],
         lambda r, m: r["s"] == 9, {"host: acquire of sq_cons": False, "NIC: release of sq_cons": True},
         [(BARRIER, "weft_barrier_sq_cons", "__ATOMIC_ACQUIRE"), ("nic_fw/host/wqe_done.c", "", "sq_cons, qp->sq_cons, __ATOMIC_RELEASE")]),
    Pair("R1", "receive requests before their index",
         [[store("slot", 5), store("rq_prod", 1, "rel", "host: release of rq_prod")],
          [load("p", "rq_prod", "acq", "NIC: acquire of rq_prod"), when("p", 1, load("s", "slot"))]],
         lambda r, m: r.get("p") == 1 and r.get("s") == 0,
         {"host: release of rq_prod": True, "NIC: acquire of rq_prod": True},
         [(BARRIER, "weft_barrier_rq_publish", "__ATOMIC_RELEASE"), ("nic_fw/host/rq.c", "", "rq_prod, __ATOMIC_ACQUIRE"),
          ("nic_fw/host/srq.c", "", "record->prod, __ATOMIC_ACQUIRE")]),
    Pair("R2", "receive requests that the NIC still copies",
         [[load("c", "rq_cons", "acq", "host: acquire of rq_cons"), when("c", 1, store("slot", 9))],
          [load("s", "slot"), store("rq_cons", 1, "rel", "NIC: release of rq_cons")]],
         lambda r, m: r["s"] == 9, {"host: acquire of rq_cons": False, "NIC: release of rq_cons": True},
         [(BARRIER, "weft_barrier_rq_cons", "__ATOMIC_ACQUIRE"), ("nic_fw/host/rq.c", "", "rq_cons, qp->rq_cons, __ATOMIC_RELEASE"),
          ("nic_fw/host/srq.c", "", "cons, srq->cons, __ATOMIC_RELEASE")]),
    Pair("C1", "a completion's fields and the data that it stands for",
         [[load("w", "word", "acq", "host: acquire of the word"), when("w", 1, load("d", "data"), load("f", "field"))],
          [store("data", 5), store("field", 6), store("word", 1, "rel", "NIC: release of the word")]],
         lambda r, m: r["w"] == 1 and (r.get("d") == 0 or r.get("f") == 0),
         {"host: acquire of the word": True, "NIC: release of the word": True},
         [(BARRIER, "weft_barrier_cqe_word", "__ATOMIC_ACQUIRE"), ("nic_fw/host/cq.c", "cq_show_slot", "__ATOMIC_RELEASE")]),
    Pair("C1 slots", "a completed request's slots, which the host writes anew",
         [[load("w", "word", "acq", "host: acquire of the word"), when("w", 1, store("slot", 9))],
          [load("s", "slot"), store("word", 1, "rel", "NIC: release of the word")]],
         lambda r, m: r["s"] == 9, {"host: acquire of the word": False, "NIC: release of the word": True},
         [("nic_fw/host/cq.c", "cq_show_slot", "__ATOMIC_RELEASE")]),
    Pair("C2", "that the NIC sees what is armed",
         [[store("arm", 3, "rel"), exchange("old", "rung", 1), when("old", 0, store("entry", 7, "rel", "host: release of the entry"))],
          [load("e", "entry", "acq", "NIC: acquire of the entry"),
           when("e", 7, exchange("was", "rung", 0), load("a", "arm", "acq"))]],
         lambda r, m: r["e"] == 7 and r.get("a") == 0,
         {"host: release of the entry": False, "NIC: acquire of the entry": False},
         [(BARRIER, "weft_barrier_cq_arm", "__ATOMIC_RELEASE"), ("nic_fw/host/cq.c", "cq_arm", "__ATOMIC_ACQUIRE")] + RUNG),
    Pair("C3", "completions that the host still reads",
         [[load("f", "field"), store("cons", 1, "rel", "host: release of cons")],
          [load("c", "cons", "acq", "NIC: acquire of cons"), when("c", 1, store("field", 9))]],
         lambda r, m: r["f"] == 9, {"host: release of cons": True, "NIC: acquire of cons": False},
         [(BARRIER, "weft_barrier_cq_cons", "__ATOMIC_RELEASE"), ("nic_fw/host/cq.c", "cq_make_room", "__ATOMIC_ACQUIRE")]),
    Pair("K1", "the answer in a command slot",
         [[load("d", "done", "acq", "host: acquire of done"), when("d", 1, load("f", "resp"))],
          [store("resp", 6), store("done", 1, "rel", "NIC: release of done")]],
         lambda r, m: r["d"] == 1 and r.get("f") == 0,
         {"host: acquire of done": True, "NIC: release of done": True},
         [(BARRIER, "weft_barrier_slot_done", "__ATOMIC_ACQUIRE"), ("nic_fw/host/cmd_slot.c", "cmd_slot_answer", "__ATOMIC_RELEASE")]),
    Pair("E1", "an event's fields",
         [[load("w", "word", "acq", "host: acquire of the word"), when("w", 1, load("f", "field"))],
          [store("field", 6), store("word", 1, "rel", "NIC: release of the word")]],
         lambda r, m: r["w"] == 1 and r.get("f") == 0,
         {"host: acquire of the word": True, "NIC: release of the word": True},
         [(BARRIER, "weft_barrier_eqe_word", "__ATOMIC_ACQUIRE"), ("nic_fw/host/eq.c", "eq_write_entry", "__ATOMIC_RELEASE")]),
    Pair("E2", "events that the host still reads",
         [[load("f", "field"), store("cons", 1, "rel", "host: release of cons")],
          [load("c", "cons", "acq", "NIC: acquire of cons"), when("c", 1, store("field", 9))]],
         lambda r, m: r["f"] == 9, {"host: release of cons": True, "NIC: acquire of cons": False},
         [(BARRIER, "weft_barrier_eq_cons", "__ATOMIC_RELEASE"), ("nic_fw/host/eq.c", "eq_room", "__ATOMIC_ACQUIRE")]),
    Pair("E3", "that an entry without an interrupt is found by the handler",
         [[store("cons", 1, "rel"), fence("host: fence behind cons"), load("w", "word", "acq")],
          [store("word", 1, "rel"), fence("NIC: fence behind the entry"), load("c", "cons", "acq")]],
         lambda r, m: r["w"] == 0 and r["c"] == 0,
         {"host: fence behind cons": True, "NIC: fence behind the entry": True},
         [(BARRIER, "weft_barrier_eq_cons", "__ATOMIC_SEQ_CST"), ("nic_fw/host/moder.c", "handler_takes", "__ATOMIC_SEQ_CST")]),
    # Threads of weftd: the word that says which of them has a core (1: it, 0: none, 3: it is to look again).
    Pair("O1", "what a core's owner wrote before it gave the core back",
         [[store("state", 5), exchange("mine", "owner", 0, "giver: exchange of the owner")],
          [exchange("old", "owner", 2, "taker: exchange of the owner"), when("old", 0, load("s", "state"))]],
         lambda r, m: r["mine"] == 1 and r["old"] == 0 and r.get("s") == 0,
         {"giver: exchange of the owner": True, "taker: exchange of the owner": True},
         [("dpdk_app/runner.h", "", "&mine, RUNNER_NONE, memory_order_acq_rel"),
          ("dpdk_app/runner.h", "runner_take", "memory_order_acq_rel")]),
    Pair("O2", "that the owner finds the work of a thread that came while the core was taken",
         [[store("work", 1), exchange("taken", "owner", 3, "comer: exchange of the owner")],
          [load("look", "owner"), when("look", 3, exchange("kept", "owner", 1, "owner: exchange behind a failed give"),
                                       load("w", "work"))]],
         lambda r, m: r["taken"] == 1 and r.get("kept") == 3 and r.get("w") == 0,
         {"comer: exchange of the owner": True, "owner: exchange behind a failed give": True},
         [("dpdk_app/runner.h", "", "exchange_explicit(owner, number + 1, memory_order_acq_rel)"),
          ("dpdk_app/runner.h", "runner_take", "old | RUNNER_LOOK")]),
    Pair("O3", "that no core sleeps over what another put into its ring",
         [[store("ring", 7, "rel"), fence("sender: fence before sleeping"), load("z", "sleeping")],
          [store("sleeping", 1), fence("core: fence after sleeping"), load("e", "ring", "acq")]],
         lambda r, m: r["z"] == 0 and r["e"] == 0,
         {"sender: fence before sleeping": True, "core: fence after sleeping": True},
         [("dpdk_app/core_wake.c", "core_wake", "atomic_thread_fence(memory_order_seq_cst)"),
          ("dpdk_app/sleep.c", "publish", "atomic_thread_fence(memory_order_seq_cst)")]),
]


# ---- executions


class Event:
    def __init__(self, thread, kind, op, val, ctrl):
        self.thread, self.kind, self.loc, self.val = thread, kind, op.loc, val
        self.order, self.ctrl, self.reg = op.order, frozenset(ctrl), op.reg
        self.pair = None  # the other half of an exchange


def paths(ops, thread, values, regs, ctrl):
    """All ways through a thread: lists of events, one for each choice of what the loads read."""
    if not ops:
        yield []
        return
    op, rest = ops[0], ops[1:]
    if op.kind == "if":
        source, value = regs[op.reg]
        taken = op.body if value == op.val else []
        yield from paths(taken + rest, thread, values, regs, ctrl | {source})
        return
    if op.kind == "F" or op.kind == "W":
        event = Event(thread, op.kind, op, op.val, ctrl)
        for tail in paths(rest, thread, values, regs, ctrl):
            yield [event] + tail
        return
    for value in values[op.loc]:
        read = Event(thread, "R", op, value, ctrl)
        events = [read]
        if op.kind == "X":
            write = Event(thread, "W", op, op.val, ctrl)
            read.pair, write.pair = write, read
            events.append(write)
        for tail in paths(rest, thread, values, {**regs, op.reg: (read, value)}, ctrl):
            yield events + tail


def written(ops, values):
    for op in ops:
        if op.kind in "WX":
            values.setdefault(op.loc, set()).add(op.val)
        elif op.kind == "R":
            values.setdefault(op.loc, set())
        elif op.kind == "if":
            written(op.body, values)


def acyclic(nodes, edges):
    after = {n: [] for n in nodes}
    missing = {n: 0 for n in nodes}
    for a, b in set(edges):
        after[a].append(b)
        missing[b] += 1
    ready, seen = [n for n in nodes if not missing[n]], 0
    while ready:
        node = ready.pop()
        seen += 1
        for n in after[node]:
            missing[n] -= 1
            if not missing[n]:
                ready.append(n)
    return seen == len(nodes)


def ordered_before(events, acquire_is_rcpc):
    """Arm's dob, aob (without its part of rfi) and bob, of events of one thread in program order."""
    edges = []
    for j, b in enumerate(events):
        for i in range(j):
            a = events[i]
            if a.kind == "F" or b.kind == "F":
                continue
            fenced = any(e.kind == "F" for e in events[i + 1:j])
            acquires = a.kind == "R" and "acq" in a.order
            releases = b.kind == "W" and "rel" in b.order
            both = a.kind == "W" and "rel" in a.order and b.kind == "R" and "acq" in b.order and not acquire_is_rcpc
            if fenced or acquires or releases or both or (b.kind == "W" and a in b.ctrl) or a.pair is b:
                edges.append((a, b))
    return edges


def allowed(threads, init, acquire_is_rcpc):
    """Yields (registers, memory) of each execution that the model allows."""
    values = {}
    for thread in threads:
        written(thread, values)
    for loc in values:
        values[loc].add(init.setdefault(loc, 0))
    for chosen in itertools.product(*[list(paths(t, i, values, {}, frozenset())) for i, t in enumerate(threads)]):
        events = [e for path in chosen for e in path if e.kind != "F"]
        first = {loc: Event(-1, "W", Op("W", loc), init[loc], ()) for loc in values}
        writes = {loc: [e for e in events if e.kind == "W" and e.loc == loc] for loc in values}
        reads = [e for e in events if e.kind == "R"]
        sources = [[w for w in [first[r.loc]] + writes[r.loc] if w.val == r.val and w is not r.pair] for r in reads]
        local = [edge for path in chosen for edge in ordered_before(path, acquire_is_rcpc)]
        same_loc = [(a, b) for path in chosen for i, a in enumerate(path) for b in path[i + 1:] if a.loc and a.loc == b.loc]
        orders = [[[first[loc]] + list(p) for p in itertools.permutations(writes[loc])] for loc in values]
        for rf in itertools.product(*sources):
            for co in itertools.product(*orders):
                result = check(events + list(first.values()), reads, rf, co, local, same_loc)
                if result is not None:
                    yield {r.reg: r.val for r in reads}, result


def check(nodes, reads, rf, co, local, same_loc):
    """The three axioms; returns the final memory, or None."""
    place = {w: (chain[0].loc, i) for chain in co for i, w in enumerate(chain)}
    chains = {chain[0].loc: chain for chain in co}
    coherence = [(a, b) for chain in co for i, a in enumerate(chain) for b in chain[i + 1:]]
    reads_from = list(zip(rf, reads))
    from_reads = [(r, w) for w0, r in reads_from for w in chains[r.loc][place[w0][1] + 1:]]
    if not acyclic(nodes, same_loc + coherence + reads_from + from_reads):
        return None
    for w0, r in reads_from:  # nothing comes between the halves of an exchange
        if r.pair and place[r.pair][1] != place[w0][1] + 1:
            return None
    external = [(a, b) for a, b in coherence + reads_from + from_reads if a.thread != b.thread]
    own = [(w, r) for w, r in reads_from if w.thread == r.thread and w.pair and "acq" in r.order]
    if not acyclic(nodes, external + local + own):
        return None
    return {chain[0].loc: chain[-1].val for chain in co}


def weakened(ops, label):
    out = []
    for op in ops:
        if op.kind == "if":
            out.append(when(op.reg, op.val, *weakened(op.body, label)))
        elif op.label != label:
            out.append(op)
        elif op.kind != "F":
            out.append(Op(op.kind, op.loc, op.val, op.reg))
    return out


# ---- the pairs

INIT = {"D2": {"rung": 1}, "D1 again": {"rung": 1, "entry": 7}, "O1": {"owner": 1}, "O2": {"owner": 1}}


def happens(pair, threads):
    return any(pair.bad(regs, memory) for rcpc in (False, True)
               for regs, memory in allowed(threads, dict(INIT.get(pair.name, {})), rcpc))


def body_of(text, function):
    if not function:
        return text
    found = re.search(r"^[^\n;{}]*\b" + function + r"\([^;{]*\)\s*\{.*?^\}", text, re.S | re.M)
    return found.group(0) if found else ""


def main():
    failed = 0
    for pair in PAIRS:
        if happens(pair, pair.threads):
            print(f"{pair.name}: Arm allows what the pair forbids: {pair.protects}")
            failed += 1
        for label, needed in pair.needs.items():
            possible = happens(pair, [weakened(t, label) for t in pair.threads])
            if possible != needed:
                print(f"{pair.name}: without '{label}' the outcome is {'possible' if possible else 'impossible'}")
                failed += 1
            elif "--list" in sys.argv:
                print(f"{pair.name}: {label}: {'needed' if needed else 'the branch orders it as well'}")
        for path, function, text in pair.sources:
            with open(path, encoding="utf-8") as f:
                if text not in body_of(f.read(), function):
                    print(f"{pair.name}: {path}: {function or 'the file'} has no {text} any more")
                    failed += 1
    print(f"{len(PAIRS)} tests of pairs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
