# SPDX-License-Identifier: BSD-3-Clause
"""Frames of weft, written down from docs/wire-format.md and not from weft's own code.

Used by tests that look at weft from outside (the dissector's, hostile frames), and by
tools/bench/peers.py, which plays peers. Byte strings in, byte strings out; nothing is sent here.
"""

import struct

UDP_PORT = 47810
VERSION = 1
TYPE_UD, TYPE_RD, TYPE_RD_ACK, TYPE_RD_HELLO, TYPE_RD_PROBE = range(5)
F_IMM, F_SOLICITED, F_RESPONSE, F_RECORD, F_ACK, F_ECE, F_RETRANSMIT = (1 << i for i in range(7))
HELLO_REPLY = 1
HELLO_CHALLENGE = 2

ETHERTYPE_IP = 0x0800
ETHERTYPE_ARP = 0x0806

DGRAM_BYTES = 28
RD_BYTES = 24
CRC_BYTES = 4

RDMAP_WRITE, RDMAP_READ_REQUEST, RDMAP_READ_RESPONSE, RDMAP_SEND = range(4)
RDMAP_SEND_INVALIDATE, RDMAP_SEND_SE, RDMAP_SEND_SE_INVALIDATE, RDMAP_TERMINATE = range(4, 8)
RDMAP_IMMEDIATE, RDMAP_IMMEDIATE_SE, RDMAP_ATOMIC_REQUEST, RDMAP_ATOMIC_RESPONSE = range(8, 12)


def _crc_table():
    table = []
    for i in range(256):
        c = i
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    return table


_TABLE = _crc_table()


def crc32c(data):
    """CRC32C of bytes (RFC 5044 4.4), as a number."""
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ _TABLE[(c ^ b) & 0xFF]
    return c ^ 0xFFFFFFFF


def ip_bytes(text):
    return bytes(int(x) for x in text.split("."))


def mac_bytes(text):
    return bytes(int(x, 16) for x in text.split(":"))


def ip_checksum(header):
    total = sum(struct.unpack("!%dH" % (len(header) // 2), header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def dgram(kind, flags=0, dst_qpn=0, src_qpn=0, qkey=0, imm=0, msg_bytes=0, ssn=0, incarnation=0):
    """The common header."""
    return struct.pack("!BBHIIIIII", VERSION << 4 | kind, flags, incarnation, dst_qpn, src_qpn,
                       qkey, imm, msg_bytes, ssn)


def rd(epoch, psn, ack=0, timestamp=0, echo=0, distance=0):
    """The session header of RD."""
    return struct.pack("!IIIIIHH", epoch & 0xFFFFFFFF, psn & 0xFFFFFFFF, ack & 0xFFFFFFFF,
                       timestamp, echo, distance, 0)


def rd_ack(received=(0, 0), refused=(0, 0, 0, 0), rnr_timer_ns=0):
    return struct.pack("!QQQQQQII", *received, *refused, rnr_timer_ns, 0)


def rd_hello(epoch, peer_epoch=0, first_psn=0, mtu=1500, flags=0, cookie=0, key_type=0, key=b""):
    return struct.pack("!IIIHBBQHHI", epoch, peer_epoch, first_psn & 0xFFFFFFFF, mtu, flags, 0,
                       cookie, key_type, len(key), 0) + key


def ddp_tagged(opcode, stag, to, last=True):
    return struct.pack("!BBIQ", 0x81 | (0x40 if last else 0), 0x40 | opcode, stag, to)


def ddp_untagged(opcode, qn, msn, mo=0, last=True, inv_stag=0):
    return struct.pack("!BBIIII", 0x01 | (0x40 if last else 0), 0x40 | opcode, inv_stag, qn, msn, mo)


def udp(body, sport=UDP_PORT, dport=UDP_PORT, crc=None):
    """UDP datagram with weft's CRC behind body (crc: another one instead)."""
    header = struct.pack("!HHHH", sport, dport, 8 + len(body) + CRC_BYTES, 0)
    c = crc32c(header + body) if crc is None else crc
    return header + body + struct.pack("<I", c)


def ipv4(src, dst, payload, protocol=17, ttl=64, tos=0, ident=0):
    h = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(payload), ident, 0x4000, ttl, protocol, 0,
                    ip_bytes(src), ip_bytes(dst))
    return h[:10] + struct.pack("!H", ip_checksum(h)) + h[12:] + payload


def ethernet(dst, src, payload, ethertype=ETHERTYPE_IP):
    return mac_bytes(dst) + mac_bytes(src) + struct.pack("!H", ethertype) + payload


def arp(op, src_mac, src_ip, dst_mac, dst_ip):
    """An ARP packet, op 1 request, 2 reply."""
    return struct.pack("!HHBBH6s4s6s4s", 1, ETHERTYPE_IP, 6, 4, op, mac_bytes(src_mac),
                       ip_bytes(src_ip), mac_bytes(dst_mac), ip_bytes(dst_ip))


def pcap(frames):
    """A capture file of Ethernet frames."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for i, f in enumerate(frames):
        out += struct.pack("<IIII", i, 0, len(f), len(f)) + f
    return out
