/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager's handshake over datagrams.
 *
 * 	Ethernet | IPv4 | UDP | wire_dgram (type CM, all else 0) | wire_cm | private data | CRC32C
 *
 * The messages are those of InfiniBand's communication management (IBA 12.6, 12.11) in one format.
 * REQ, REP, RTU establish a connection; REJ rejects one; DREQ, DREP close it; MRA requests more
 * time for the process; SIDR_REQ, SIDR_REP resolve a UD QP; ALIVE checks that the other end exists.
 * Each end is identified by 64 bits that are known only to receivers of its messages.
 * nic_fw/cm/cm_rd*.c implements it; tools/wireshark/weft.lua decodes it.
 * docs/connection-manager.md.
 */
#ifndef WEFT_WIRE_CM_H
#define WEFT_WIRE_CM_H

#include "shared_defs/be.h"

enum wire_cm_type {
	WIRE_CM_REQ = 1,
	WIRE_CM_MRA = 2,
	WIRE_CM_REP = 3,
	WIRE_CM_RTU = 4,
	WIRE_CM_REJ = 5,
	WIRE_CM_DREQ = 6,
	WIRE_CM_DREP = 7,
	WIRE_CM_SIDR_REQ = 8,
	WIRE_CM_SIDR_REP = 9,
	WIRE_CM_ALIVE = 10,
	WIRE_CM_ALIVE_REP = 11,
	WIRE_CM_TYPES
};

/* wire_cm.flags */
enum {
	WIRE_CM_F_SRQ = 0x01,
	WIRE_CM_F_FLOW_CONTROL = 0x02,
	WIRE_CM_F_ALL = 0x03,
};

struct wire_cm {
	uint8_t type; /* wire_cm_type */
	uint8_t flags;
	uint8_t private_bytes;
	uint8_t qp_type;    /* REQ: hw_qp_type; else 0 */
	struct be16 reason; /* REJ: hw_cm_reason; else 0 */
	struct be16 arg;    /* REJ, redirected: number of the right shard; otherwise 0 */
	struct be64 src_id; /* identifies the sender's endpoint */
	struct be64 dst_id; /* identifies the receiver's endpoint; 0 in REQ and SIDR_REQ */
	struct be16 space;  /* REQ, SIDR_REQ: the port space; else 0 */
	struct be16 src_port;
	struct be16 dst_port;
	struct be16 mtu;  /* largest IPv4 packet, bytes */
	struct be32 qpn;  /* the sender's QP */
	struct be32 psn;  /* first PSN that it will send */
	struct be32 qkey; /* SIDR_REP */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
};
static_assert(sizeof(struct wire_cm) == 48, "docs/connection-manager.md, message");
static_assert(offsetof(struct wire_cm, reason) == 4, "");
static_assert(offsetof(struct wire_cm, src_id) == 8, "");
static_assert(offsetof(struct wire_cm, dst_id) == 16, "");
static_assert(offsetof(struct wire_cm, space) == 24, "");
static_assert(offsetof(struct wire_cm, qpn) == 32, "");
static_assert(offsetof(struct wire_cm, qkey) == 40, "");
static_assert(offsetof(struct wire_cm, responder_resources) == 44, "");

#endif /* WEFT_WIRE_CM_H */
