#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""
Compares what tshark shows of a capture with the bytes of the frames and with what was sent.

    capture_check.py --columns       the options of tshark that make FIELDS
    capture_check.py FIELDS

FIELDS has a line for each reliable datagram with a segment of RDMAP, the fields of COLUMNS in this
order. Each is read from the payload of UDP, too, at the offsets of docs/wire-format.md and RFC 5041,
and must be equal. Writes of WRITE_BYTES and Reads of READ_BYTES must then be whole: segments without
gap, the last one flagged, one STag, PSNs in order; each Read request with its response. A datagram
that was sent again, as after a time in which weftd had no CPU, counts once and must repeat the headers
of the first. Exit status 0; 1 with the first difference.
"""

import struct
import sys

COLUMNS = ["udp.payload", "ip.src", "weft.version", "weft.type", "weft.dst_qpn", "weft.src_qpn",
           "weft.msg_bytes", "weft.ssn", "weft.rd.epoch", "weft.rd.psn", "weft.crc",
           "weft.crc.status", "iwarp_ddp.tagged_flag", "iwarp_ddp.last_flag", "iwarp_ddp.stag",
           "iwarp_ddp.tagged_offset", "iwarp_rdma.opcode", "iwarp_rdma.sinkstag",
           "iwarp_rdma.sinkto", "iwarp_rdma.rdmardsz", "iwarp_rdma.srcto"]
WRITE, READ_REQUEST, READ_RESPONSE = 0, 1, 2
WRITE_BYTES, READ_BYTES = 3000, 64
DDP_AT, TAGGED_BYTES, CRC_BYTES = 52, 14, 4
NIC_SHIFT = 19  # of a QPN


def fail(text):
    sys.exit(f"capture_check: {text}")


def decode(data):
    """The same fields out of the bytes of a datagram."""
    ver_type, _flags, _incarnation, dst, src, _qkey, _imm, msg_bytes, ssn = struct.unpack_from(">BBHIIIIII", data)
    epoch, psn = struct.unpack_from(">II", data, 28)
    ddp, rdmap = data[DDP_AT], data[DDP_AT + 1]
    row = {"weft.version": ver_type >> 4, "weft.type": ver_type & 15, "weft.dst_qpn": dst,
           "weft.src_qpn": src, "weft.msg_bytes": msg_bytes, "weft.ssn": ssn, "weft.rd.epoch": epoch,
           "weft.rd.psn": psn, "weft.crc": struct.unpack_from("<I", data, len(data) - CRC_BYTES)[0],
           "iwarp_ddp.tagged_flag": ddp >> 7, "iwarp_ddp.last_flag": ddp >> 6 & 1,
           "iwarp_rdma.opcode": rdmap & 15}
    if ddp >> 7:
        row["iwarp_ddp.stag"], row["iwarp_ddp.tagged_offset"] = struct.unpack_from(">IQ", data, DDP_AT + 2)
    elif rdmap & 15 == READ_REQUEST:
        sink, to, size, _src, src_to = struct.unpack_from(">IQIIQ", data, DDP_AT + 18)
        row.update({"iwarp_rdma.sinkstag": sink, "iwarp_rdma.sinkto": to,
                    "iwarp_rdma.rdmardsz": size, "iwarp_rdma.srcto": src_to})
    return row


def sent_again(seen, number, row):
    """True for a datagram whose PSN was seen before."""
    key = tuple(row[name] for name in ("weft.src_qpn", "weft.dst_qpn", "weft.rd.epoch", "weft.rd.psn"))
    headers = {name: value for name, value in row.items() if name != "weft.crc"}
    first, earlier = seen.setdefault(key, (number, headers))
    if earlier != headers:
        fail(f"frame {number}: {headers}, the same PSN in frame {first} was {earlier}")
    return first != number


def read_rows(path):
    rows = []
    seen = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            shown = dict(zip(COLUMNS, line.rstrip("\n").split("\t")))
            data = bytes.fromhex(shown["udp.payload"].replace(":", ""))
            row = decode(data)
            for name, value in row.items():
                if not shown[name] or int(shown[name], 0) != value:
                    # The CRC32C is a number in either order of bytes.
                    if name == "weft.crc" and shown[name] and int(shown[name], 0).to_bytes(4, "little") == \
                            value.to_bytes(4, "big"):
                        continue
                    fail(f"frame {number}: {name} is shown as {shown[name]!r}, its bytes are {value:#x}")
            if shown["weft.crc.status"] not in ("good", "1"):
                fail(f"frame {number}: the CRC32C is {shown['weft.crc.status']!r}")
            nic = int(shown["ip.src"].rsplit(".", 1)[1]) - 1
            if row["weft.src_qpn"] >> NIC_SHIFT != nic or row["weft.dst_qpn"] >> NIC_SHIFT == nic:
                fail(f"frame {number}: from {shown['ip.src']}, QPN {row['weft.src_qpn']:#x} to "
                     f"{row['weft.dst_qpn']:#x}")
            if sent_again(seen, number, row):
                continue
            rows.append(dict(row, bytes=len(data) - DDP_AT - TAGGED_BYTES - CRC_BYTES))
    return rows


def check_writes(rows):
    """The messages of WRITE_BYTES, each as a whole; their number."""
    messages = {}
    for row in rows:
        if row["iwarp_rdma.opcode"] == WRITE and row["weft.msg_bytes"] == WRITE_BYTES:
            messages.setdefault((row["weft.src_qpn"], row["weft.ssn"]), []).append(row)
    for (_qpn, ssn), parts in messages.items():
        first = parts[0]
        offset = first["iwarp_ddp.tagged_offset"]
        for i, part in enumerate(parts):
            want = {"iwarp_ddp.tagged_offset": offset, "weft.rd.psn": (first["weft.rd.psn"] + i) & 0xffffffff,
                    "iwarp_ddp.last_flag": int(i + 1 == len(parts)), "iwarp_ddp.stag": first["iwarp_ddp.stag"],
                    "weft.dst_qpn": first["weft.dst_qpn"], "weft.rd.epoch": first["weft.rd.epoch"]}
            wrong = {name: part[name] for name, value in want.items() if part[name] != value}
            if wrong:
                fail(f"segment {i + 1} of Write {ssn}: {wrong}, due was {want}")
            offset += part["bytes"]
        if len(parts) != 3 or offset - first["iwarp_ddp.tagged_offset"] != WRITE_BYTES:
            fail(f"Write {ssn} has {len(parts)} segments of {offset - first['iwarp_ddp.tagged_offset']} bytes")
    return len(messages)


def check_reads(rows):
    """Each request with its response; their number."""
    asked = {}
    reads = 0
    for row in rows:
        if row["iwarp_rdma.opcode"] == READ_REQUEST:
            asked[row["iwarp_rdma.sinkstag"]] = row
        elif row["iwarp_rdma.opcode"] == READ_RESPONSE:
            request = asked.pop(row["iwarp_ddp.stag"], None)
            if not request:
                fail(f"a response to STag {row['iwarp_ddp.stag']:#x}, which no request named")
            got = (row["weft.src_qpn"], row["weft.dst_qpn"], row["iwarp_ddp.tagged_offset"], row["bytes"],
                   row["weft.msg_bytes"], row["iwarp_ddp.last_flag"])
            want = (request["weft.dst_qpn"], request["weft.src_qpn"], request["iwarp_rdma.sinkto"],
                    request["iwarp_rdma.rdmardsz"], READ_BYTES, 1)
            if got != want:
                fail(f"a response of {got} to a request of {want}")
            reads += 1
    if asked:
        fail(f"{len(asked)} Reads without a response")
    return reads


def main():
    if len(sys.argv) != 2:
        sys.exit(2)
    if sys.argv[1] == "--columns":
        print(" ".join(f"-e {name}" for name in COLUMNS))
        return
    rows = read_rows(sys.argv[1])
    print(f"{len(rows)} segments, {check_writes(rows)} Writes, {check_reads(rows)} Reads")


if __name__ == "__main__":
    main()
