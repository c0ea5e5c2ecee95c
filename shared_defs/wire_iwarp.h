/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DDP and RDMAP on the wire, as the standards define them.
 *
 * The same headers are used over every lower layer: in MPA FPDUs over TCP, and after weft's
 * datagram header over UDP. nic_fw/rdmap implements them. Sources: RFC 5041
 * (DDP) section 4, RFC 5040 (RDMAP) section 4, RFC 7306 (atomics, immediate data) sections 5 and 6.
 */
#ifndef WEFT_WIRE_IWARP_H
#define WEFT_WIRE_IWARP_H

#include "shared_defs/be.h"

/* DDP control field, RFC 5041 4.1 */
enum {
	WIRE_DDP_TAGGED = 0x80,
	WIRE_DDP_LAST = 0x40,
	WIRE_DDP_RESERVED = 0x3c,
	WIRE_DDP_VERSION_MASK = 0x03,
	WIRE_DDP_VERSION = 0x01,
};

/* RDMAP control field, RFC 5040 4.1: version in the top two bits, opcode in the low four bits. */
enum {
	WIRE_RDMAP_VERSION = 0x40,
	WIRE_RDMAP_VERSION_MASK = 0xc0,
	WIRE_RDMAP_RESERVED = 0x30,
	WIRE_RDMAP_OPCODE_MASK = 0x0f,
};

enum wire_rdmap_opcode {
	WIRE_RDMAP_WRITE = 0x0,
	WIRE_RDMAP_READ_REQUEST = 0x1,
	WIRE_RDMAP_READ_RESPONSE = 0x2,
	WIRE_RDMAP_SEND = 0x3,
	WIRE_RDMAP_SEND_INVALIDATE = 0x4,
	WIRE_RDMAP_SEND_SE = 0x5,
	WIRE_RDMAP_SEND_SE_INVALIDATE = 0x6,
	WIRE_RDMAP_TERMINATE = 0x7,
	WIRE_RDMAP_IMMEDIATE = 0x8,       /* RFC 7306 6.1 */
	WIRE_RDMAP_IMMEDIATE_SE = 0x9,    /* RFC 7306 6.1 */
	WIRE_RDMAP_ATOMIC_REQUEST = 0xa,  /* RFC 7306 5.2 */
	WIRE_RDMAP_ATOMIC_RESPONSE = 0xb, /* RFC 7306 5.2 */
};

/* Untagged queue numbers, RFC 5040 4 and RFC 7306 5.2 */
enum {
	WIRE_QN_SEND = 0,
	WIRE_QN_READ_REQUEST = 1, /* also atomic requests */
	WIRE_QN_TERMINATE = 2,
	WIRE_QN_ATOMIC_RESPONSE = 3,
};

/* Tagged header: RFC 5041 4.2 with the RDMAP control of RFC 5040 4.1. */
struct wire_ddp_tagged {
	uint8_t ddp_ctrl;
	uint8_t rdmap_ctrl;
	struct be32 stag;
	struct be64 to;
};
static_assert(sizeof(struct wire_ddp_tagged) == 14, "RFC 5041 4.2");
static_assert(offsetof(struct wire_ddp_tagged, stag) == 2, "");
static_assert(offsetof(struct wire_ddp_tagged, to) == 6, "");

/* Untagged header: RFC 5041 4.3; inv_stag is RsvdULP, used by Send with Invalidate. */
struct wire_ddp_untagged {
	uint8_t ddp_ctrl;
	uint8_t rdmap_ctrl;
	struct be32 inv_stag;
	struct be32 qn;
	struct be32 msn;
	struct be32 mo;
};
static_assert(sizeof(struct wire_ddp_untagged) == 18, "RFC 5041 4.3");
static_assert(offsetof(struct wire_ddp_untagged, inv_stag) == 2, "");
static_assert(offsetof(struct wire_ddp_untagged, qn) == 6, "");
static_assert(offsetof(struct wire_ddp_untagged, msn) == 10, "");
static_assert(offsetof(struct wire_ddp_untagged, mo) == 14, "");

/* RDMA Read Request payload, RFC 5040 4.4 */
struct wire_read_request {
	struct be32 sink_stag;
	struct be64 sink_to;
	struct be32 bytes;
	struct be32 src_stag;
	struct be64 src_to;
};
static_assert(sizeof(struct wire_read_request) == 28, "RFC 5040 4.4");
static_assert(offsetof(struct wire_read_request, sink_to) == 4, "");
static_assert(offsetof(struct wire_read_request, bytes) == 12, "");
static_assert(offsetof(struct wire_read_request, src_stag) == 16, "");
static_assert(offsetof(struct wire_read_request, src_to) == 20, "");

/* RFC 7306 5.2.1: reserved (28 bits) and opcode (4 bits) form the first word. */
enum wire_atomic_opcode {
	WIRE_ATOMIC_FETCH_ADD = 0,
	WIRE_ATOMIC_SWAP = 1, /* defined by RFC 7306 5.1.2; weft rejects it */
	WIRE_ATOMIC_CMP_SWAP = 2,
	/*
	 * weft's own, over RD between NICs of weft: an operation of hw_atomic.h on one element.
	 * add_swap_mask is HW_ATOMIC_CODE(), compare_mask 0; operands and the response's original
	 * are in the low bytes.
	 */
	WIRE_ATOMIC_TYPED = 0x0f,
	WIRE_ATOMIC_OPCODE_MASK = 0x0f,
};

struct wire_atomic_request {
	struct be32 opcode;
	struct be32 request_id;
	struct be32 stag;
	struct be64 to;
	struct be64 add_swap;
	struct be64 add_swap_mask;
	struct be64 compare;
	struct be64 compare_mask;
};
static_assert(sizeof(struct wire_atomic_request) == 52, "RFC 7306 5.2.1");
static_assert(offsetof(struct wire_atomic_request, request_id) == 4, "");
static_assert(offsetof(struct wire_atomic_request, stag) == 8, "");
static_assert(offsetof(struct wire_atomic_request, to) == 12, "");
static_assert(offsetof(struct wire_atomic_request, add_swap) == 20, "");
static_assert(offsetof(struct wire_atomic_request, add_swap_mask) == 28, "");
static_assert(offsetof(struct wire_atomic_request, compare) == 36, "");
static_assert(offsetof(struct wire_atomic_request, compare_mask) == 44, "");

enum {
	WIRE_IMMEDIATE_BYTES = 8, /* the payload of Immediate Data, RFC 7306 6.3 */
};

struct wire_atomic_response {
	struct be32 request_id;
	struct be64 original;
};
static_assert(sizeof(struct wire_atomic_response) == 12, "RFC 7306 5.2.2");
static_assert(offsetof(struct wire_atomic_response, original) == 4, "");

/*
 * Terminate control, RFC 5040 4.8: layer (4 bits), error type (4 bits), error code (8), header
 * control bits M, D, R (3 bits), reserved (13). M, D and R state which of the following parts are
 * present: the DDP segment length and the headers of the segment at fault.
 */
struct wire_terminate {
	uint8_t layer_etype;
	uint8_t code;
	uint8_t hdrct;
	uint8_t reserved;
};
static_assert(sizeof(struct wire_terminate) == 4, "RFC 5040 4.8");

enum {
	WIRE_TERM_LAYER_RDMAP = 0x0,
	WIRE_TERM_LAYER_DDP = 0x1,
	WIRE_TERM_LAYER_LLP = 0x2,
	WIRE_TERM_HDRCT_M = 0x80, /* DDP segment length valid */
	WIRE_TERM_HDRCT_D = 0x40, /* DDP header included */
	WIRE_TERM_HDRCT_R = 0x20, /* RDMAP header included */
};

/* Error types and codes, RFC 5040 4.8 figure 10 and RFC 5041 8.2; RFC 7306 8.2 adds atomics. */
enum {
	WIRE_TERM_RDMAP_CATASTROPHIC = 0x0,
	WIRE_TERM_RDMAP_PROTECTION = 0x1,
	WIRE_TERM_RDMAP_OPERATION = 0x2,

	WIRE_TERM_PROT_INVALID_STAG = 0x00,
	WIRE_TERM_PROT_BASE_BOUNDS = 0x01,
	WIRE_TERM_PROT_ACCESS = 0x02,
	WIRE_TERM_PROT_STAG_STREAM = 0x03,
	WIRE_TERM_PROT_TO_WRAP = 0x04,
	WIRE_TERM_PROT_CANT_INVALIDATE = 0x09,
	WIRE_TERM_PROT_UNSPECIFIED = 0xff,

	WIRE_TERM_OP_VERSION = 0x05,
	WIRE_TERM_OP_OPCODE = 0x06,
	WIRE_TERM_OP_STREAM_CATASTROPHIC = 0x07,
	WIRE_TERM_OP_GLOBAL_CATASTROPHIC = 0x08,
	WIRE_TERM_OP_UNSPECIFIED = 0xff,

	WIRE_TERM_DDP_CATASTROPHIC = 0x0,
	WIRE_TERM_DDP_TAGGED = 0x1,
	WIRE_TERM_DDP_UNTAGGED = 0x2,

	WIRE_TERM_T_INVALID_STAG = 0x00,
	WIRE_TERM_T_BASE_BOUNDS = 0x01,
	WIRE_TERM_T_STAG_STREAM = 0x02,
	WIRE_TERM_T_TO_WRAP = 0x03,
	WIRE_TERM_T_VERSION = 0x04,

	WIRE_TERM_UT_INVALID_QN = 0x01,
	WIRE_TERM_UT_NO_BUFFER = 0x02,
	WIRE_TERM_UT_MSN_RANGE = 0x03,
	WIRE_TERM_UT_INVALID_MO = 0x04,
	WIRE_TERM_UT_TOO_LONG = 0x05,
	WIRE_TERM_UT_VERSION = 0x06,

	/* RFC 5044 8 */
	WIRE_TERM_LLP_MPA = 0x0,
	WIRE_TERM_MPA_CLOSED = 0x01, /* the TCP connection is closed or lost */
	WIRE_TERM_MPA_CRC = 0x02,
	WIRE_TERM_MPA_MARKER = 0x03, /* markers and lengths are inconsistent */
	WIRE_TERM_MPA_SETUP = 0x04,  /* invalid request or reply */
	WIRE_TERM_MPA_IRD = 0x06,    /* RFC 6581 8: insufficient IRD */
	WIRE_TERM_MPA_RTR = 0x07,    /* RFC 6581 8: no common kind of first frame */
};

#endif /* WEFT_WIRE_IWARP_H */
