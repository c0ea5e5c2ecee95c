#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plays many RD peers at once on one interface: answers ARP for every address of a subnet,
HELLO with a reply, and acknowledges each RD packet. For bench.py's memory row.

usage: peers.py IFACE NET/LEN      (inside the namespace of the interface; ends with SIGTERM)
"""
import ipaddress
import socket
import struct
import sys

PORT = 47810
VERSION = 2
CREDITS = 32
MAC = bytes.fromhex("025747000001")


def crc32c_table():
    table = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    return table


TABLE = crc32c_table()


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = TABLE[(c ^ b) & 0xFF] ^ c >> 8
    return struct.pack("<I", c ^ 0xFFFFFFFF)


def ip_sum(header):
    s = sum(struct.unpack("!10H", header))
    s = (s & 0xFFFF) + (s >> 16)
    return ~(s + (s >> 16)) & 0xFFFF


def udp_frame(dst_mac, src_ip, dst_ip, body):
    udp = struct.pack("!4H", PORT, PORT, 8 + len(body) + 4, 0) + body
    udp += crc32c(udp)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, src_ip, dst_ip)
    head = head[:10] + struct.pack("!H", ip_sum(head)) + head[12:]
    return dst_mac + MAC + b"\x08\x00" + head + udp


def dgram(kind, flags=0):
    return bytes([VERSION << 4 | kind, flags]) + bytes(26)


def answer(frame, net):
    dst, src, kind = frame[:6], frame[6:12], frame[12:14]
    if kind == b"\x08\x06" and frame[20:22] == b"\x00\x01":
        sender_ip, target_ip = frame[28:32], frame[38:42]
        if ipaddress.ip_address(target_ip) not in net or src == MAC:
            return None
        return (src + MAC + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x0800, 6, 4, 2) + MAC + target_ip + src +
                sender_ip).ljust(60, b"\0")
    if kind != b"\x08\x00" or dst != MAC or frame[23] != 17:
        return None
    me, peer = frame[30:34], frame[26:30]
    body = frame[42:]
    if body[0] == VERSION << 4 | 3 and not body[28 + 14] & 1:  # HELLO
        epoch, _, psn, mtu = struct.unpack("!IIIH", body[28:42])
        mine = struct.unpack("!I", me)[0]
        STATE[me] = [epoch, psn]
        return udp_frame(src, me, peer, dgram(3) + struct.pack("!IIIHBB16x", mine, epoch, 1, mtu, 1, 0))
    if body[0] == VERSION << 4 | 1 and me in STATE:  # RD
        psn, timestamp = struct.unpack("!I", body[32:36])[0], body[40:44]
        state = STATE[me]
        if psn == state[1]:
            state[1] = (psn + 1) & 0xFFFFFFFF
        # The limit: packets that the sender may send in total, modulo 256, as its count of them (used) is.
        rd = struct.pack("!III4s4sHBB", state[0], 1, state[1], bytes(4), timestamp, 0, 0, (body[50] + CREDITS) & 0xFF)
        return udp_frame(src, me, peer, dgram(2, 0x10) + rd + bytes(56))
    return None


STATE = {}


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    net = ipaddress.ip_network(sys.argv[2], strict=False)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.bind((sys.argv[1], 0))
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    print("ready", flush=True)
    while True:
        reply = answer(s.recv(65536), net)
        if reply:
            s.send(reply)


if __name__ == "__main__":
    sys.exit(main())
