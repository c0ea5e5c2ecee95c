/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EDP and ESP on the wire: the Ethernet Datagram and Stream Protocols, over raw Ethernet. This ESP
 * is unrelated to IPsec.
 *
 * 	Ethernet (WIRE_ETHERTYPE_ESP) | wire_edp | wire_esp | payload | CRC32C
 * 	Ethernet (WIRE_ETHERTYPE_ESP) | wire_edp | echo or unreachable data | CRC32C
 *
 * The CRC32C (polynomial and byte order as in wire_dgram.h) covers everything from wire_edp to the
 * byte before it. wire_edp.bytes gives the end of the frame, because Ethernet pads short frames.
 *
 * nic_fw/stream (edp.c, esp_*.c) implements them; tools/wireshark/weft.lua decodes them. Source:
 * ESPGOAL, chapter 3, for ports, echo, flags and packet classes. The layout, which its lost figure
 * 3.2 showed, is weft's: docs/wire-esp.md explains each field.
 */
#ifndef WEFT_WIRE_ESP_H
#define WEFT_WIRE_ESP_H

#include "shared_defs/be.h"

enum {
	WIRE_EDP_VERSION = 1,
	WIRE_EDP_CRC_BYTES = 4,

	/*
	 * Ports of shard s are [base + s * span, base + (s + 1) * span); the first one is its
	 * master port.
	 */
	WIRE_EDP_PORT_BASE = 0x4000,
	WIRE_EDP_PORT_SPAN = 0x1000,
	WIRE_EDP_SHARDS = 8,

	/* With --port-echo, weftd answers echoes to it before the firmware does. */
	WIRE_EDP_PORT_ECHO = 7,
};

/* The low four bits of ver_type. */
enum wire_edp_type {
	WIRE_EDP_ESP = 0,  /* wire_esp follows */
	WIRE_EDP_ECHO = 1, /* answered with the same data; any port of the NIC */
	WIRE_EDP_ECHO_REPLY = 2,
	/* No such port: the headers wire_edp and wire_esp of the packet follow. */
	WIRE_EDP_UNREACHABLE = 3,
	WIRE_EDP_GROUP = 4, /* wire_mgrp follows: reliable groups (wire_mgrp.h) */
	WIRE_EDP_TYPES
};

struct wire_edp {
	uint8_t ver_type; /* version in the high four bits, wire_edp_type in the low */
	uint8_t reserved;
	struct be16 bytes; /* length from this header to the last byte before the CRC32C */
	struct be16 dst_port;
	struct be16 src_port;
};
static_assert(sizeof(struct wire_edp) == 8, "docs/wire-esp.md, EDP");
static_assert(offsetof(struct wire_edp, bytes) == 2, "");
static_assert(offsetof(struct wire_edp, dst_port) == 4, "");
static_assert(offsetof(struct wire_edp, src_port) == 6, "");

/* wire_esp.flags, as defined by ESPGOAL 3.2. */
enum {
	WIRE_ESP_SYN = 0x01,
	WIRE_ESP_ACK = 0x02, /* the fields ack, window and received are valid */
	WIRE_ESP_FIN = 0x04,
	WIRE_ESP_RST = 0x08,
	WIRE_ESP_RRQ =
	    0x10, /* re-request: resend the packets missing in `received`, and rrq_count more */
	WIRE_ESP_TXS = 0x20, /* first packet of a transmission */
	WIRE_ESP_TXF = 0x40, /* last packet of a transmission, as known when it was sent */
	WIRE_ESP_TXR = 0x80, /* end of a transfer of the layer above; kept by merging */
	/*
	 * Packets that change the state of a connection are never delayed by flow control. All
	 * others are data and may be paused.
	 */
	WIRE_ESP_STATE_FLAGS = WIRE_ESP_SYN | WIRE_ESP_FIN | WIRE_ESP_RST | WIRE_ESP_RRQ,
};

struct wire_esp {
	struct be32 seq; /* of this packet; without payload, TXS, TXF, SYN, FIN: unused */
	struct be32 ack; /* all packets before this one were received */
	uint8_t flags;
	uint8_t numbered;   /* 1: seq is its number; 0: seq is the next number; 2: BEHIND */
	struct be16 window; /* packets from ack on for which the receiver has room */
	/* Random incarnations of the two ends; packets of an older connection are dropped. */
	struct be32 src_inc;
	struct be32 dst_inc; /* 0 in the first SYN */
	struct be32 rrq_count;
	struct be64 received; /* bit i: packet ack + i was received (bit 0 is always 0) */
};
static_assert(sizeof(struct wire_esp) == 32, "docs/wire-esp.md, ESP");
static_assert(offsetof(struct wire_esp, ack) == 4, "");
static_assert(offsetof(struct wire_esp, flags) == 8, "");
static_assert(offsetof(struct wire_esp, window) == 10, "");
static_assert(offsetof(struct wire_esp, src_inc) == 12, "");
static_assert(offsetof(struct wire_esp, dst_inc) == 16, "");
static_assert(offsetof(struct wire_esp, rrq_count) == 20, "");
static_assert(offsetof(struct wire_esp, received) == 24, "");

enum {
	/* Value of `numbered`: no number, but sent after all packets before `seq`. */
	WIRE_ESP_BEHIND = 2,
	WIRE_ESP_WINDOW = 64, /* packets in flight per direction */
};

/* Service of a stream, named in its SYN. */
enum wire_esp_service {
	WIRE_ESP_GOAL = 1,  /* messages of a communicator between two ranks (wire_goal.h) */
	WIRE_ESP_RDMAP = 2, /* DDP segments of an RC queue pair */
};

/*
 * Payload of SYN and SYN+ACK: identifies the stream. Both ends of a GOAL stream name the same key,
 * so that two crossing SYNs form one connection.
 */
struct wire_esp_open {
	struct be16 service; /* wire_esp_service */
	struct be16 mtu; /* largest Ethernet payload (EDP header to CRC32C) that this end accepts */
	struct be32 src_rank; /* rank of the sender of this packet; RDMAP: its QPN */
	struct be32 dst_rank;
	struct be32 reserved;
	struct be64 key;  /* key of the communicator, the same at all its ranks */
	struct be64 key2; /* second half of the key; random, so that it cannot be guessed */
};
static_assert(sizeof(struct wire_esp_open) == 32, "docs/wire-esp.md, open");
static_assert(offsetof(struct wire_esp_open, src_rank) == 4, "");
static_assert(offsetof(struct wire_esp_open, key) == 16, "");

/* wire_esp_rdmap.flags */
enum {
	WIRE_ESP_RDMAP_IMM = 0x01,       /* imm is immediate data of the message */
	WIRE_ESP_RDMAP_SOLICITED = 0x02, /* a Write with immediate that requests an event */
	WIRE_ESP_RDMAP_RESPONSE = 0x04,  /* response to a request of the stream's opener */
	WIRE_ESP_RDMAP_NOT_READY = 0x08, /* no receive for the next request; the segment is empty */
	WIRE_ESP_RDMAP_FLAGS = 0x0f,
};

/*
 * Precedes each DDP segment of a stream of service WIRE_ESP_RDMAP and adds the fields that DDP
 * lacks. A packet holds one segment. A segment without payload means that the sender's memory was
 * unmapped.
 */
struct wire_esp_rdmap {
	uint8_t flags;
	uint8_t reserved[3];
	struct be32 imm;       /* Terminate: number of the request that failed */
	struct be32 msg_bytes; /* length of the whole message */
	struct be32 ssn;       /* number of the message; in a response, that of its request */
};
static_assert(sizeof(struct wire_esp_rdmap) == 16, "docs/wire-esp.md, RC over ESP");
static_assert(offsetof(struct wire_esp_rdmap, imm) == 4, "");
static_assert(offsetof(struct wire_esp_rdmap, ssn) == 12, "");

#endif /* WEFT_WIRE_ESP_H */
