/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA on the wire: the frames that set a connection up, and the frame of each ULPDU.
 *
 * Included by nic_fw/mpa_*.c and by tests. RFC 5044 sections 4 (FPDUs, markers) and 7.1 (request
 * and reply), RFC 6581 section 9 (enhanced set-up: IRD, ORD and the first frame).
 */
#ifndef WEFT_WIRE_MPA_H
#define WEFT_WIRE_MPA_H

#include "shared_defs/be.h"

enum {
	WIRE_MPA_KEY_BYTES = 16,
	WIRE_MPA_MAX_PRIVATE = 512, /* PD_Length at most */
	WIRE_MPA_REVISION_1 = 1,    /* RFC 5044 */
	WIRE_MPA_REVISION_2 = 2,    /* RFC 6581 */
};

#define WIRE_MPA_KEY_REQ "MPA ID Req Frame"
#define WIRE_MPA_KEY_REP "MPA ID Rep Frame"

/* Request and reply; private data follows. RFC 5044 7.1.1, figure 6. */
struct wire_mpa_setup {
	uint8_t key[WIRE_MPA_KEY_BYTES];
	uint8_t flags; /* WIRE_MPA_F_* */
	uint8_t revision;
	struct be16 private_bytes; /* what RFC 6581 puts in front of it counts */
};
static_assert(sizeof(struct wire_mpa_setup) == 20, "RFC 5044 7.1.1");
static_assert(offsetof(struct wire_mpa_setup, flags) == 16, "");
static_assert(offsetof(struct wire_mpa_setup, revision) == 17, "");
static_assert(offsetof(struct wire_mpa_setup, private_bytes) == 18, "");

/* wire_mpa_setup.flags; the others are reserved: 0 when sent, ignored when received. */
enum {
	WIRE_MPA_F_MARKERS = 0x80,  /* M: the sender wants markers in what it receives */
	WIRE_MPA_F_CRC = 0x40,      /* C: CRCs are used, both ways, when either end says so */
	WIRE_MPA_F_REJECT = 0x20,   /* R: of a reply: no */
	WIRE_MPA_F_ENHANCED = 0x10, /* S: struct wire_mpa_enhanced begins the private data */
};

/* RFC 6581 9.1, figure 3. */
struct wire_mpa_enhanced {
	struct be16 ird; /* flags A and B, and 14 bits */
	struct be16 ord; /* flags C and D, and 14 bits */
};
static_assert(sizeof(struct wire_mpa_enhanced) == 4, "RFC 6581 9.1");

enum {
	WIRE_MPA_IRD_PEER_TO_PEER = 0x8000, /* A: the active end sends a frame first, of itself */
	WIRE_MPA_IRD_RTR_SEND = 0x4000,     /* B: it may be an FPDU of no bytes */
	WIRE_MPA_ORD_RTR_WRITE = 0x8000,    /* C: an RDMA Write of no bytes */
	WIRE_MPA_ORD_RTR_READ = 0x4000,     /* D: an RDMA Read of no bytes */
	WIRE_MPA_DEPTH_MASK = 0x3fff,
	WIRE_MPA_DEPTH_NONE = 0x3fff, /* left to the programs */
};

/* The kinds of first frame, as a set: what a request offers, or the one that a reply names. */
enum {
	WIRE_MPA_RTR_SEND = 0x1,
	WIRE_MPA_RTR_WRITE = 0x2,
	WIRE_MPA_RTR_READ = 0x4,
};

/* FPDU: length, ULPDU, padding to 4 bytes, CRC. RFC 5044 4.1, figure 2. */
struct wire_mpa_fpdu {
	struct be16 ulpdu_bytes;
};
static_assert(sizeof(struct wire_mpa_fpdu) == 2, "RFC 5044 4.1");

enum {
	WIRE_MPA_CRC_BYTES = 4,
	WIRE_MPA_MARKER_BYTES = 4,
	WIRE_MPA_MARKER_DISTANCE =
	    512, /* of the stream, from one marker's beginning to the next's */
};

/* RFC 5044 4.3, figure 4. */
struct wire_mpa_marker {
	struct be16 reserved;
	struct be16 fpdu_ptr; /* bytes from the FPDU's beginning to the marker */
};
static_assert(sizeof(struct wire_mpa_marker) == WIRE_MPA_MARKER_BYTES, "RFC 5044 4.3");

#endif /* WEFT_WIRE_MPA_H */
