/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP on the wire: weft's header between UDP and DDP.
 *
 * 	Ethernet | IPv4 | UDP | wire_dgram | [wire_rd] | DDP/RDMAP header | payload | CRC32C
 *
 * The CRC32C covers everything from the UDP header to the byte before it. Polynomial (RFC 3385),
 * initial value and final complement are those of RFC 5044 4.4. The most significant byte is sent
 * last, as in iSCSI. The UDP checksum is 0.
 *
 * nic_fw/dgram (dgram.c, ud_*.c, rd_*.c) implements it; tools/wireshark/weft.lua decodes it.
 * Source: Rashti's thesis, 6.3, which leaves the header open; docs/wire-format.md explains each
 * field.
 */
#ifndef WEFT_WIRE_DGRAM_H
#define WEFT_WIRE_DGRAM_H

#include "shared_defs/be.h"

enum {
	/* Shard s of a NIC sends and receives on port WIRE_DGRAM_PORT + s. */
	WIRE_DGRAM_PORT = 47810,
	WIRE_DGRAM_SHARDS = 8,
	/* Datagrams to groups have the port of shard 0 and this QPN (IBA 3.5.10) on every NIC. */
	WIRE_DGRAM_GROUP_QPN = 0xffffff,

	WIRE_DGRAM_VERSION = 2,
	WIRE_DGRAM_CRC_BYTES = 4,
};

/* The low four bits of ver_type. */
enum wire_dgram_type {
	WIRE_DGRAM_UD = 0,       /* wire_dgram, DDP segment */
	WIRE_DGRAM_RD = 1,       /* wire_dgram, wire_rd, DDP segment */
	WIRE_DGRAM_RD_ACK = 2,   /* wire_dgram, wire_rd, wire_rd_ack */
	WIRE_DGRAM_RD_HELLO = 3, /* wire_dgram, wire_rd_hello, keys */
	WIRE_DGRAM_RD_PROBE = 4, /* wire_dgram, wire_rd: requests an ACK, carries no data */
	WIRE_DGRAM_CM = 5,       /* wire_dgram, wire_cm (wire_cm.h), private data */
	/* wire_dgram, DDP segment; qkey is the segment's offset in the message. */
	WIRE_DGRAM_UC = 6,
	/*
	 * wire_dgram, wire_rd, then wire_rd_part and DDP segment of each message: several messages
	 * of one QP to another. msg_bytes is their number.
	 */
	WIRE_DGRAM_RD_BUNDLE = 7,
	WIRE_DGRAM_TYPES
};

/* wire_dgram.flags */
enum {
	WIRE_DGRAM_F_IMM = 0x01,       /* imm holds immediate data (last segment of a message) */
	WIRE_DGRAM_F_SOLICITED = 0x02, /* with F_IMM on a Write: raises a solicited event */
	/* Belongs to the flow of responses (reads, atomics, terminates). */
	WIRE_DGRAM_F_RESPONSE = 0x04,
	WIRE_DGRAM_F_RECORD = 0x08,     /* UD RDMA Write: the target logs it (Write-Record) */
	WIRE_DGRAM_F_ACK = 0x10,        /* RD: the ack field of wire_rd is valid */
	WIRE_DGRAM_F_ECE = 0x20,        /* RD: this sender's packets experienced congestion */
	WIRE_DGRAM_F_RETRANSMIT = 0x40, /* RD: a retransmission of this PSN */
	WIRE_DGRAM_F_MORE = 0x80,       /* RD: the sender has more data to send */
	WIRE_DGRAM_F_ALL = 0xff,
};

/* Common header, 28 bytes. */
struct wire_dgram {
	uint8_t ver_type; /* version in the high four bits, wire_dgram_type in the low */
	uint8_t flags;
	/* RC, UC by modify_qp: derived from sq_psn and rq_psn of both ends; otherwise 0. */
	struct be16 incarnation;
	struct be32 dst_qpn; /* 24 bits; 0 in RD_ACK, RD_HELLO, RD_PROBE, CM */
	struct be32 src_qpn; /* 24 bits; likewise */
	/* UD, RD; UC: offset of the segment in its message; XRC: number of the SRQ */
	struct be32 qkey;
	/*
	 * F_IMM: immediate data; Terminate: ssn of the refused message; F_RECORD: message offset;
	 * otherwise 0
	 */
	struct be32 imm;
	struct be32 msg_bytes; /* payload bytes of the whole message */
	struct be32 ssn;       /* number of the message at its source QP */
};
static_assert(sizeof(struct wire_dgram) == 28, "docs/wire-format.md, common header");
static_assert(offsetof(struct wire_dgram, flags) == 1, "");
static_assert(offsetof(struct wire_dgram, incarnation) == 2, "");
static_assert(offsetof(struct wire_dgram, dst_qpn) == 4, "");
static_assert(offsetof(struct wire_dgram, src_qpn) == 8, "");
static_assert(offsetof(struct wire_dgram, qkey) == 12, "");
static_assert(offsetof(struct wire_dgram, imm) == 16, "");
static_assert(offsetof(struct wire_dgram, msg_bytes) == 20, "");
static_assert(offsetof(struct wire_dgram, ssn) == 24, "");

/*
 * Returns wire_dgram.incarnation of what the end sends whose sq_psn is psn, and the other end's
 * rq_psn. Never 0, which is "not connected". Thread-safe.
 */
static inline uint16_t wire_dgram_incarnation(uint32_t psn)
{
	uint64_t h = psn * UINT64_C(0x9e3779b97f4a7c15);
	uint16_t tag;

	h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	tag = (uint16_t)(h >> 32);
	return tag ? tag : 1;
}

/* Session header of RD, 24 bytes. */
struct wire_rd {
	struct be32 epoch;     /* the receiver's epoch of this session, as announced by its HELLO */
	struct be32 psn;       /* RD: PSN of this packet; ACK, PROBE: the sender's next PSN */
	struct be32 ack;       /* with F_ACK: all PSNs before this one were accepted */
	struct be32 timestamp; /* the sender's clock in ns, modulo 2^32 */
	struct be32 timestamp_echo; /* last timestamp received plus its holding time; 0: none */
	/* Distance to the PSN of the previous unacknowledged packet of the same flow; 0: none. */
	struct be16 flow_distance;
	uint8_t used;  /* data packets sent, including retransmissions, modulo 256 */
	uint8_t limit; /* data packets that the peer may send in total, modulo 256 */
};
static_assert(sizeof(struct wire_rd) == 24, "docs/wire-format.md, session header");
static_assert(offsetof(struct wire_rd, psn) == 4, "");
static_assert(offsetof(struct wire_rd, ack) == 8, "");
static_assert(offsetof(struct wire_rd, timestamp) == 12, "");
static_assert(offsetof(struct wire_rd, timestamp_echo) == 16, "");
static_assert(offsetof(struct wire_rd, flow_distance) == 20, "");
static_assert(offsetof(struct wire_rd, used) == 22, "");
static_assert(offsetof(struct wire_rd, limit) == 23, "");

enum {
	/* Packets in flight per direction of a session. */
	WIRE_RD_WINDOW = 128,
	/* Messages of a bundle, each a PSN from wire_rd.psn on, and each whole. */
	WIRE_RD_BUNDLE_LEAST = 2,
	WIRE_RD_BUNDLE_MAX = 16,
};

/*
 * A message of a bundle: its DDP segment follows without padding. What all of them have in common,
 * and what is of the session, is in the headers before them.
 */
struct wire_rd_part {
	struct be16 bytes; /* of the DDP segment: its headers and payload */
	uint8_t flags;     /* WIRE_DGRAM_F_IMM, WIRE_DGRAM_F_SOLICITED */
	uint8_t reserved;
	struct be32 imm; /* as in wire_dgram, and so on */
	struct be32 msg_bytes;
	struct be32 ssn;
};
static_assert(sizeof(struct wire_rd_part) == 16, "docs/wire-format.md, bundles");
static_assert(offsetof(struct wire_rd_part, flags) == 2, "");
static_assert(offsetof(struct wire_rd_part, imm) == 4, "");
static_assert(offsetof(struct wire_rd_part, msg_bytes) == 8, "");
static_assert(offsetof(struct wire_rd_part, ssn) == 12, "");

/*
 * Acknowledgement. Bit i of received (word i / 64, bit i % 64) stands for PSN ack + i. Bit i of
 * refused stands for PSN ack - WIRE_RD_WINDOW + i. It covers the current window and the previous
 * one, so that a refusal is not lost with an ACK. For the window, a refused PSN counts as received.
 */
struct wire_rd_ack {
	struct be64 received[WIRE_RD_WINDOW / 64];
	struct be64 refused[2 * WIRE_RD_WINDOW / 64];
	struct be32 rnr_timer_ns; /* delay before a refused flow is retried */
	struct be32 reserved;
};
static_assert(sizeof(struct wire_rd_ack) == 56, "docs/wire-format.md, acknowledgement");
static_assert(offsetof(struct wire_rd_ack, refused) == 16, "");
static_assert(offsetof(struct wire_rd_ack, rnr_timer_ns) == 48, "");

/*
 * Cancellation: follows the session header of a packet of type RD with QPNs 0. It ends the messages
 * [first_ssn, last_ssn] from one QP to another; receives that they hold are released.
 */
struct wire_rd_cancel {
	struct be32 dst_qpn;
	struct be32 src_qpn;
	struct be32 first_ssn;
	struct be32 last_ssn;
};
static_assert(sizeof(struct wire_rd_cancel) == 16, "docs/wire-format.md, cancellation");
static_assert(offsetof(struct wire_rd_cancel, src_qpn) == 4, "");
static_assert(offsetof(struct wire_rd_cancel, first_ssn) == 8, "");
static_assert(offsetof(struct wire_rd_cancel, last_ssn) == 12, "");

/* wire_rd_hello.flags */
enum {
	WIRE_RD_HELLO_REPLY = 0x01,     /* answer to a HELLO; requests no answer */
	WIRE_RD_HELLO_CHALLENGE = 0x02, /* answer to a HELLO: repeat it with this cookie */
	WIRE_RD_HELLO_BUNDLE = 0x04,    /* its sender takes bundles in this session */
	WIRE_RD_HELLO_ALL = 0x07,
};

enum {
	/* Maximum bytes of keys after a HELLO, a multiple of 4. */
	WIRE_RD_HELLO_KEY_MAX = 256,
	WIRE_RD_KEY_NONE = 0,
};

/*
 * Opens or re-opens a session between two shards and announces the path MTU. key_bytes bytes of a
 * key exchange of kind key_type follow; a receiver that does not support the kind ignores them.
 */
struct wire_rd_hello {
	struct be32 epoch;      /* the sender's epoch, expected in wire_rd */
	struct be32 peer_epoch; /* the receiver's epoch as far as known; 0: unknown */
	struct be32 first_psn;  /* first PSN of the sender's stream */
	struct be16 mtu;        /* largest IPv4 packet that the sender accepts, in bytes */
	uint8_t flags;
	uint8_t reserved;
	struct be64 cookie; /* returned from a challenge; 0: none */
	struct be16 key_type;
	struct be16 key_bytes;
	struct be32 reserved2;
};
static_assert(sizeof(struct wire_rd_hello) == 32, "docs/wire-format.md, hello");
static_assert(offsetof(struct wire_rd_hello, first_psn) == 8, "");
static_assert(offsetof(struct wire_rd_hello, mtu) == 12, "");
static_assert(offsetof(struct wire_rd_hello, flags) == 14, "");
static_assert(offsetof(struct wire_rd_hello, cookie) == 16, "");
static_assert(offsetof(struct wire_rd_hello, key_type) == 24, "");
static_assert(offsetof(struct wire_rd_hello, key_bytes) == 26, "");
static_assert(offsetof(struct wire_rd_hello, reserved2) == 28, "");

#endif /* WEFT_WIRE_DGRAM_H */
