#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends unsolicited TCP segments to a NIC from a raw socket, as an off-path attacker can.
strangers.sh runs it.

    strangers.py syns ADDRESS PORT...                   requests from addresses and ports that are nobody's
    strangers.py blind ADDRESS PORT PEER PEER'S-PORT    resets, SYNs, ACKs, FINs and data, as of this connection's peer

Ends on SIGTERM and prints how many were sent. Sequence numbers are drawn by a seed.
"""
import random
import signal
import socket
import struct
import sys
import time

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
BATCH = 50         # segments, and a pause behind them: the NIC has others' frames to take, too
PAUSE_S = 0.005


def total(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def segment(src, sport, dst, dport, seq, ack, flags, data=b"", stamp=None):
    opts = b"" if stamp is None else struct.pack("!BBBBII", 1, 1, 8, 10, *stamp)
    head = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, (20 + len(opts)) // 4 << 4, flags, 65535, 0, 0) + opts
    pseudo = src + dst + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(head) + len(data))
    head = head[:16] + struct.pack("!H", total(pseudo + head + data)) + head[18:]
    # The kernel fills in length, identification and checksum of IP.
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_TCP, 0, src, dst) + head + data


def any_request(draw, dst, ports):
    src = bytes([10, 9, 0, draw.randrange(4, 255)])
    return segment(src, draw.randrange(1024, 65536), dst, draw.choice(ports), draw.getrandbits(32), 0, SYN)


def any_segment(draw, dst, port, peer, peer_port):
    flags = draw.choice((RST, RST | ACK, SYN, SYN | ACK, ACK, FIN | ACK, PSH | ACK))
    data = draw.randbytes(draw.randrange(1, 200)) if flags & PSH else b""
    # Most segments without timestamps are dropped for that reason alone.
    stamp = (draw.getrandbits(32), draw.getrandbits(32)) if draw.randrange(4) else None
    return segment(peer, peer_port, dst, port, draw.getrandbits(32), draw.getrandbits(32), flags, data, stamp)


def main(argv):
    if len(argv) < 4 or argv[1] not in ("syns", "blind") or (argv[1] == "blind" and len(argv) != 6):
        sys.stderr.write(__doc__ + "\n")
        return 2
    draw = random.Random(1)
    dst = socket.inet_aton(argv[2])
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
        print("ready", flush=True)
        while not stop:
            for _ in range(BATCH):
                if argv[1] == "syns":
                    one = any_request(draw, dst, [int(p) for p in argv[3:]])
                else:
                    one = any_segment(draw, dst, int(argv[3]), socket.inet_aton(argv[4]), int(argv[5]))
                s.sendto(one, (argv[2], 0))
                sent += 1
            time.sleep(PAUSE_S)
    print("sent", sent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
