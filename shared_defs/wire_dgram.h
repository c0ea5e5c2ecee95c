/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram-iWARP on the wire: weft's header between UDP and DDP.
 *
 *	Ethernet | IPv4 | UDP | wire_dgram | [wire_rd] | DDP/RDMAP header | payload | CRC32C
 *
 * The CRC32C (RFC 3385's polynomial, initial value and final complement as RFC 5044 4.4
 * has them, most significant byte of the value last as iSCSI sends it) covers
 * everything from the UDP header to the byte before it. The UDP checksum is 0.
 *
 * Read and written by nic_fw/dgram/dgram.c, ud_*.c, rd_*.c; decoded by tools/wireshark/weft.lua.
 * Source: the thesis (mpi-iwarp-datagram) 6.3, which leaves the header to us; docs/wire-format.md
 * explains each field.
 */
#ifndef WEFT_WIRE_DGRAM_H
#define WEFT_WIRE_DGRAM_H

#include "shared_defs/be.h"

enum {
	/* Shard s of a NIC receives on, and sends from, port WIRE_DGRAM_PORT + s. */
	WIRE_DGRAM_PORT = 47810,
	WIRE_DGRAM_SHARDS = 8,
	/* Datagrams to groups go to the port of shard 0 and this QPN (IBA 3.5.10), on every NIC. */
	WIRE_DGRAM_GROUP_QPN = 0xffffff,

	WIRE_DGRAM_VERSION = 2,
	WIRE_DGRAM_CRC_BYTES = 4,
};

/* Low four bits of ver_type. */
enum wire_dgram_type {
	WIRE_DGRAM_UD = 0,       /* wire_dgram, DDP segment */
	WIRE_DGRAM_RD = 1,       /* wire_dgram, wire_rd, DDP segment */
	WIRE_DGRAM_RD_ACK = 2,   /* wire_dgram, wire_rd, wire_rd_ack */
	WIRE_DGRAM_RD_HELLO = 3, /* wire_dgram, wire_rd_hello, keys */
	WIRE_DGRAM_RD_PROBE = 4, /* wire_dgram, wire_rd: asks for an ACK, carries nothing */
	WIRE_DGRAM_CM = 5,       /* wire_dgram, wire_cm (wire_cm.h), private data */
	WIRE_DGRAM_UC = 6,       /* wire_dgram, DDP segment; qkey is its offset in the message */
	WIRE_DGRAM_TYPES
};

/* wire_dgram.flags */
enum {
	WIRE_DGRAM_F_IMM = 0x01,        /* imm holds immediate data (on a message's last segment) */
	WIRE_DGRAM_F_SOLICITED = 0x02,  /* with F_IMM on a Write: raise a solicited event */
	WIRE_DGRAM_F_RESPONSE = 0x04,   /* flow of responses (reads, atomics, terminates) */
	WIRE_DGRAM_F_RECORD = 0x08,     /* UD RDMA Write: log it at the target (Write-Record) */
	WIRE_DGRAM_F_ACK = 0x10,        /* RD: the ack field of wire_rd is valid */
	WIRE_DGRAM_F_ECE = 0x20,        /* RD: congestion was experienced towards this sender */
	WIRE_DGRAM_F_RETRANSMIT = 0x40, /* RD: this PSN was sent before */
	WIRE_DGRAM_F_MORE = 0x80,       /* RD: this sender has more to send */
	WIRE_DGRAM_F_ALL = 0xff,
};

/* Common header, 28 bytes. */
struct wire_dgram {
	uint8_t ver_type; /* version in the high four bits, wire_dgram_type in the low */
	uint8_t flags;
	/* RC, UC by modify_qp: made from sq_psn and rq_psn of both ends; else 0. */
	struct be16 incarnation;
	struct be32 dst_qpn; /* 24 bits; 0 in RD_ACK, RD_HELLO, RD_PROBE, CM */
	struct be32 src_qpn; /* 24 bits; likewise */
	/* UD, RD; UC: offset of the segment in its message; XRC: the SRQ that is meant */
	struct be32 qkey;
	/* F_IMM: immediate data; Terminate: the ssn at fault; F_RECORD: message offset; else 0 */
	struct be32 imm;
	struct be32 msg_bytes; /* payload of the whole message */
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

/* Session header of RD, 24 bytes. */
struct wire_rd {
	struct be32 epoch;     /* the receiver's epoch of this session, as its HELLO announced it */
	struct be32 psn;       /* RD: this packet's; ACK, PROBE: the next PSN the sender will use */
	struct be32 ack;       /* with F_ACK: every PSN before this one was accepted */
	struct be32 timestamp; /* the sender's clock in ns, modulo 2^32 */
	struct be32 timestamp_echo; /* last timestamp received plus the time it was held; 0: none */
	/* PSN minus that of the previous unacknowledged packet of the same flow; 0: none. */
	struct be16 flow_distance;
	uint8_t used;  /* packets of data that this sender has sent, again ones too, modulo 256 */
	uint8_t limit; /* that its peer may have sent, modulo 256 */
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
	/* Packets in flight in one direction of a session. */
	WIRE_RD_WINDOW = 128,
};

/*
 * Acknowledgement. Bit i of received (word i / 64, bit i % 64) is PSN ack + i. Bit i of
 * refused is PSN ack - WIRE_RD_WINDOW + i: the window and one behind, so that a refusal
 * cannot be lost with an ACK. A refused PSN counts as received for the window.
 */
struct wire_rd_ack {
	struct be64 received[WIRE_RD_WINDOW / 64];
	struct be64 refused[2 * WIRE_RD_WINDOW / 64];
	struct be32 rnr_timer_ns; /* how long to wait before a refused flow is tried again */
	struct be32 reserved;
};
static_assert(sizeof(struct wire_rd_ack) == 56, "docs/wire-format.md, acknowledgement");
static_assert(offsetof(struct wire_rd_ack, refused) == 16, "");
static_assert(offsetof(struct wire_rd_ack, rnr_timer_ns) == 48, "");

/*
 * Cancellation: behind the session header of a packet of type RD whose QPNs are 0. The messages
 * [first_ssn, last_ssn] from one QP to another end here; receives that they hold are given back.
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
	WIRE_RD_HELLO_REPLY = 0x01,     /* answers a HELLO; asks for none */
	WIRE_RD_HELLO_CHALLENGE = 0x02, /* answers a HELLO: repeat it with this cookie */
	WIRE_RD_HELLO_ALL = 0x03,
};

enum {
	/* Keys behind a HELLO: at most so many bytes, and a multiple of 4. */
	WIRE_RD_HELLO_KEY_MAX = 256,
	WIRE_RD_KEY_NONE = 0,
};

/*
 * Opens or re-opens a session between two shards, and tells the path MTU to use. Behind it stand
 * key_bytes bytes of a key exchange of kind key_type; a receiver that does not know the kind
 * ignores them.
 */
struct wire_rd_hello {
	struct be32 epoch;      /* the sender's epoch: what it wants to see in wire_rd */
	struct be32 peer_epoch; /* the receiver's as far as known, 0: unknown */
	struct be32 first_psn;  /* of the sender's stream */
	struct be16 mtu;        /* the largest IPv4 packet the sender takes, bytes */
	uint8_t flags;
	uint8_t reserved;
	struct be64 cookie; /* a challenge's, returned; 0: none was given */
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
