/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPA on the wire: the set-up frames of a connection, and the FPDU, the frame of each ULPDU.
 *
 * nic_fw/mpa implements it. RFC 5044, sections 4 (FPDUs, markers) and 7.1 (request and reply); RFC
 * 6581, section 9 (enhanced set-up: IRD, ORD and the first frame).
 */
#ifndef WEFT_WIRE_MPA_H
#define WEFT_WIRE_MPA_H

#include "shared_defs/be.h"

enum {
	WIRE_MPA_KEY_BYTES = 16,
	WIRE_MPA_MAX_PRIVATE = 512, /* limit of PD_Length */
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
	struct be16 private_bytes; /* includes the fields of RFC 6581 */
};
static_assert(sizeof(struct wire_mpa_setup) == 20, "RFC 5044 7.1.1");
static_assert(offsetof(struct wire_mpa_setup, flags) == 16, "");
static_assert(offsetof(struct wire_mpa_setup, revision) == 17, "");
static_assert(offsetof(struct wire_mpa_setup, private_bytes) == 18, "");

/* wire_mpa_setup.flags; all other bits are reserved: sent as 0, ignored on receipt. */
enum {
	WIRE_MPA_F_MARKERS = 0x80,  /* M: the sender requests markers in received data */
	WIRE_MPA_F_CRC = 0x40,      /* C: CRCs are used both ways if either end sets it */
	WIRE_MPA_F_REJECT = 0x20,   /* R: rejected; in replies only */
	WIRE_MPA_F_ENHANCED = 0x10, /* S: the private data begins with struct wire_mpa_enhanced */
};

/* RFC 6581 9.1, figure 3. */
struct wire_mpa_enhanced {
	struct be16 ird; /* flags A and B, and 14 bits */
	struct be16 ord; /* flags C and D, and 14 bits */
};
static_assert(sizeof(struct wire_mpa_enhanced) == 4, "RFC 6581 9.1");

enum {
	WIRE_MPA_IRD_PEER_TO_PEER = 0x8000, /* A: the active end sends the first frame unprompted */
	WIRE_MPA_IRD_RTR_SEND = 0x4000,     /* B: it may be an empty FPDU */
	WIRE_MPA_ORD_RTR_WRITE = 0x8000,    /* C: it may be an RDMA Write of 0 bytes */
	WIRE_MPA_ORD_RTR_READ = 0x4000,     /* D: it may be an RDMA Read of 0 bytes */
	WIRE_MPA_DEPTH_MASK = 0x3fff,
	WIRE_MPA_DEPTH_NONE = 0x3fff, /* negotiated by the programs */
};

/* Kinds of first frame, as a set: those that a request offers, or the one that a reply selects. */
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
	    512, /* of the stream, from the start of one marker to the start of the next */
};

/* RFC 5044 4.3, figure 4. */
struct wire_mpa_marker {
	struct be16 reserved;
	struct be16 fpdu_ptr; /* bytes from the start of the FPDU to the marker */
};
static_assert(sizeof(struct wire_mpa_marker) == WIRE_MPA_MARKER_BYTES, "RFC 5044 4.3");

#endif /* WEFT_WIRE_MPA_H */
