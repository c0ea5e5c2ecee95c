#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares tshark's analysis of a capture of a NIC with the properties that the test expects.
lib.sh's frames() runs it.

    frames.py FILE --nic A.B.C.D [OPTION...]

Always: no frame is malformed, no checksum of the NIC's wrong; each TCP connection that carried
bytes begins with an MPA Request, and what was agreed to is FPDUs to the last byte, with RDMAP
in them; no CRC is wrong. Where the capture could not keep pace and lost frames, the connections
of that time need not be whole; one must be.

    --revision N         every Request and Reply has it (default: any)
    --crc on|off         every Request and Reply asks for CRCs, or none does; then FPDUs have them, or have none
    --active nic|peer|both   who sent Requests (default: not looked at)
    --begins WHO=LIST    what the connections that WHO (nic, peer) began with, as frames of peer-to-peer: of none, write,
                         read, fpdu (one of no bytes), each of them at least once and nothing else; may be repeated
    --terminate WHO=L/T/C    one was sent, layer, type, code as RFC 5040 draws them; one option for each that was sent
    --nic-alone          looks at what the NIC sent, set-ups aside: the peer's FPDUs do not begin where its segments do, which
                         tshark cannot follow

Exit status 0 and a line that says what there is; 1 and what is wrong; 2 usage.
"""
import argparse
import re
import subprocess
import sys

FIELDS = ("frame.number tcp.stream ip.src tcp.srcport tcp.seq tcp.len frame.drop_count _ws.malformed tcp.checksum.status"
          " iwarp_mpa.bad_length iwarp_mpa.req iwarp_mpa.rep iwarp_mpa.rev iwarp_mpa.crc_flag iwarp_mpa.rej_flag"
          " iwarp_mpa.res iwarp_mpa.pdlength iwarp_mpa.privatedata iwarp_mpa.ulpdulength iwarp_rdma.opcode"
          " iwarp_rdma.rdmardsz iwarp_rdma.term_layer iwarp_rdma.term_etype iwarp_rdma.term_etype_rdma"
          " iwarp_rdma.term_etype_ddp iwarp_rdma.term_etype_llp iwarp_rdma.term_errcode iwarp_rdma.term_errcode_rdma"
          " iwarp_rdma.term_errcode_ddp_tagged iwarp_rdma.term_errcode_ddp_untagged iwarp_rdma.term_errcode_llp").split()
# Linux draws ports that belong to other protocols, so the heuristic on the bytes comes first;
# another heuristic takes small Sends for RPC.
OPTIONS = ["--disable-protocol", "rpcordma", "-o", "tcp.try_heuristic_first:TRUE", "-o", "tcp.check_checksum:TRUE"]
ENHANCED = 0x10
PEER_TO_PEER = 0x8000
SETUP_BYTES = 20
wrong = {}  # what, and where


def check(condition, what, where=""):
    if not condition:
        wrong.setdefault(what, []).append(where)


def tshark(path, *args):
    run = subprocess.run(["tshark", "-r", path, *OPTIONS, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         check=False, text=True)
    if run.returncode:
        sys.exit(f"frames.py: tshark: exit status {run.returncode}: {run.stderr.strip()}")
    return run.stdout.splitlines()


def number(text, nothing=0):
    return int(text, 0) if text else nothing


class Stream:
    """One TCP connection: what each end sent."""

    def __init__(self, key):
        self.key = key
        self.request = self.reply = None
        self.first = None      # what the active end's first FPDU is
        self.end = {}          # bytes of TCP by sender
        self.fpdus = {}        # bytes in FPDUs, likewise
        self.rdmap = 0
        self.seen = []         # first and last frame
        self.torn = False      # frames of that time were lost by the capture

    def take(self, f):
        src = f["ip.src"]
        self.seen = [*self.seen[:1], int(f["frame.number"])]
        bytes_ = number(f["tcp.len"])
        if bytes_:
            self.end[src] = max(self.end.get(src, 0), number(f["tcp.seq"]) + bytes_ - 1)
        if f["iwarp_mpa.req"] or f["iwarp_mpa.rep"]:
            setup = {"src": src, "rev": number(f["iwarp_mpa.rev"]), "crc": f["iwarp_mpa.crc_flag"] in ("1", "True"),
                     "rejected": f["iwarp_mpa.rej_flag"] in ("1", "True"), "private": f["iwarp_mpa.privatedata"].replace(":", ""),
                     "enhanced": bool(number(f["iwarp_mpa.res"]) & ENHANCED), "bytes": SETUP_BYTES + number(f["iwarp_mpa.pdlength"])}
            if f["iwarp_mpa.req"]:
                self.request = setup
            else:
                self.reply = setup
        lengths = [number(x) for x in f["iwarp_mpa.ulpdulength"].split(",") if x]
        opcodes = [number(x) for x in f["iwarp_rdma.opcode"].split(",") if x]
        self.rdmap += len(opcodes)
        self.fpdus[src] = self.fpdus.get(src, 0) + sum((2 + x + 3) // 4 * 4 + 4 for x in lengths)
        if lengths and self.first is None and self.request and src == self.request["src"]:
            self.first = self.kind(lengths[0], opcodes, f)

    @staticmethod
    def kind(length, opcodes, f):
        if not length:
            return "fpdu"
        if opcodes[:1] == [0] and length == 14:
            return "write"
        if opcodes[:1] == [1] and number(f["iwarp_rdma.rdmardsz"].split(",")[0]) == 0:
            return "read"
        return "data"

    def peer_to_peer(self):
        if not (self.reply["enhanced"] and len(self.reply["private"]) >= 8):
            return False
        return bool(int(self.reply["private"][:4], 16) & PEER_TO_PEER)

    def agreed(self):
        return self.request and self.reply and not self.reply["rejected"]


def terminate_of(f):
    kinds = [f["iwarp_rdma.term_" + x] for x in ("etype", "etype_rdma", "etype_ddp", "etype_llp")]
    codes = [f["iwarp_rdma.term_errcode" + x] for x in ("", "_rdma", "_ddp_tagged", "_ddp_untagged", "_llp")]
    pick = [next((x for x in words if x), "?").split(",")[0] for words in (kinds, codes)]
    layer = f["iwarp_rdma.term_layer"].split(",")[0]
    return "/".join([*(str(number(x)) if x != "?" else x for x in (layer, pick[0])),
                     f"0x{number(pick[1]):02x}" if pick[1] != "?" else "?"])


def read_capture(path, nic, nic_alone):
    streams, terminates, losses = {}, [], []
    for line in tshark(path, "-T", "fields", *(w for f in FIELDS for w in ("-e", f))):
        f = dict(zip(FIELDS, line.split("\t")))
        at = f["frame.number"]
        if number(f["frame.drop_count"]):
            losses.append(int(at))
        looked_at = f["ip.src"] == nic or not nic_alone
        check(not f["_ws.malformed"] or not looked_at, "malformed", at)
        check(not f["iwarp_mpa.bad_length"] or not looked_at, "bad length of MPA", at)
        # Linux writes a checksum of 0 as 0xffff, which tshark does not like.
        check(f["tcp.checksum.status"] != "0" or f["ip.src"] != nic, "wrong checksum", at)
        if not f["tcp.stream"]:
            continue
        stream = streams.setdefault(f["tcp.stream"], Stream("connection " + f["tcp.stream"]))
        stream.take(f)
        if f["iwarp_rdma.term_layer"] and looked_at:
            terminates.append(("nic" if f["ip.src"] == nic else "peer") + "=" + terminate_of(f))
    for s in streams.values():
        s.torn = any(s.seen[0] <= at <= s.seen[-1] for at in losses)
    if losses:
        print(f"frames.py: the capture lost frames at {len(losses)} places: {sum(s.torn for s in streams.values())} connections are "
              "not whole in it")
    return list(streams.values()), terminates


def check_setups(streams, args):
    agreed = [s for s in streams if s.agreed()]
    for s in streams:
        check(s.request or not s.end, "bytes without an MPA Request", s.key)
        for setup in (s.request, s.reply):
            if setup:
                check(args.revision in (0, setup["rev"]), f"revision {setup['rev']} of MPA", s.key)
                check(not args.crc or setup["rejected"] or setup["crc"] == (args.crc == "on"),
                      "CRC asked for" if setup["crc"] else "CRC not asked for", s.key)
    for s in agreed:
        check(s.rdmap, "no RDMAP behind the set-up", s.key)
        for setup in (s.request, s.reply):
            src = setup["src"]
            if args.nic_alone and src != args.nic:
                continue
            carried = s.end.get(src, 0) - setup["bytes"]
            # Markers are 4 bytes in each 512.
            check(s.torn or s.fpdus.get(src, 0) >= carried * 0.99 - 4,
                  f"{s.key}: {carried} bytes from {src}, {s.fpdus.get(src, 0)} of them in FPDUs")
    check(agreed, "no connection of MPA")
    check(not agreed or not all(s.torn for s in agreed), "the capture lost frames of every connection")
    return agreed


def check_begins(agreed, args):
    began = {"nic": set(), "peer": set()}
    for s in agreed:
        who = "nic" if s.request["src"] == args.nic else "peer"
        began[who].add(s.first or "nothing" if s.peer_to_peer() else "none")
    if args.active:
        for who in began:
            check(bool(began[who]) == (args.active in (who, "both")), f"Requests of the {who}: {sorted(began[who]) or 'none'}")
    for word in args.begins:
        who, _, kinds = word.partition("=")
        check(began[who] == set(kinds.split(",")), f"connections of the {who} began with {sorted(began[who])}, not {kinds}")


def check_crcs(path, args, agreed):
    good = bad = 0
    mine = f" && ip.src == {args.nic}" if args.nic_alone else ""
    for line in tshark(path, "-O", "iwarp_mpa", "-Y", "iwarp_mpa.fpdu" + mine):
        good += "(Good CRC32)" in line
        bad += "(Bad CRC32" in line
    check(not bad, f"{bad} wrong CRCs")
    fpdus = 1 if args.nic_alone else sum(s.rdmap for s in agreed)
    if args.crc == "on":
        check(good >= fpdus, f"{good} CRCs looked at, of {fpdus} FPDUs")
    elif args.crc == "off":
        check(not good, f"{good} CRCs where none were agreed")
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("--nic", required=True)
    p.add_argument("--revision", type=int, default=0)
    p.add_argument("--crc", choices=("on", "off"))
    p.add_argument("--active", choices=("nic", "peer", "both"))
    p.add_argument("--begins", action="append", default=[])
    p.add_argument("--terminate", action="append", default=[])
    p.add_argument("--nic-alone", action="store_true")
    args = p.parse_args()
    if any(not re.fullmatch(r"(nic|peer)=[a-z,]+", w) for w in args.begins):
        p.error("--begins takes nic=LIST or peer=LIST")
    streams, terminates = read_capture(args.file, args.nic, args.nic_alone)
    agreed = check_setups(streams, args)
    check_begins(agreed, args)
    check(sorted(terminates) == sorted(args.terminate), f"Terminates: {sorted(terminates)}, not {sorted(args.terminate)}")
    crcs = check_crcs(args.file, args, agreed)
    for what, where in wrong.items():
        print(f"frames.py: {what}" + (f" ({len(where)}: {', '.join(where[:5])} ...)" if where[0] else ""))
    print(f"{len(agreed)} connections, {sum(s.rdmap for s in agreed)} FPDUs with RDMAP, {crcs} CRCs right, "
          f"{len(terminates)} Terminates, {len(streams) - len(agreed)} connections refused or unused, {len(wrong)} things wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
