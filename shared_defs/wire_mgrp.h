/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable groups on the wire: one frame for all ranks of a communicator, and what repairs it.
 *
 *	Ethernet (WIRE_ETHERTYPE_ESP) | wire_edp (WIRE_EDP_GROUP) | wire_mgrp | CRC32C
 *	Ethernet | wire_edp | wire_mgrp (DATA, REPAIR) | wire_goal | payload | CRC32C
 *
 * DATA goes to the group's address, everything else to one station. Each rank that sends has a
 * space of packet sequence numbers of its own, and the ranks stand in a binomial tree below it.
 * Read and written by nic_fw/mgrp_*.c; decoded by tools/wireshark/weft.lua. docs/wire-group.md
 * explains each field.
 */
#ifndef WEFT_WIRE_MGRP_H
#define WEFT_WIRE_MGRP_H

#include "shared_defs/be.h"

enum wire_mgrp_type {
	WIRE_MGRP_DATA = 1,   /* from the root to all; a wire_goal and payload follow */
	WIRE_MGRP_REPAIR = 2, /* the same again, from a parent to one child */
	WIRE_MGRP_STATUS = 3, /* child to parent: what it has, and what it lacks */
	WIRE_MGRP_PROBE = 4,  /* parent to child: answer with STATUS */
	WIRE_MGRP_ASK = 5, /* to any rank: whether it can move on without those that it waits for */
	WIRE_MGRP_TELL = 6, /* the answer */
	WIRE_MGRP_TYPES
};

enum {
	WIRE_MGRP_WINDOW = 256,     /* packets that not all members have acknowledged */
	WIRE_MGRP_MISSING = 64,     /* packets that one STATUS can ask for */
	WIRE_MGRP_MAC_BYTE0 = 0x03, /* of the group's address: locally administered, a group */
	WIRE_MGRP_MAC_BYTE1 = 0x57,
};
#define WIRE_MGRP_ALL 0xffffffffu /* dst_rank of DATA */

struct wire_mgrp {
	uint8_t type; /* wire_mgrp_type */
	uint8_t reserved;
	/* STATUS: the smallest of the member's subtree; 0: not known yet. TELL: 1: it can. */
	struct be16 mtu;
	struct be32 root;     /* whose space of numbers this is; ASK, TELL: the sender */
	struct be32 src_rank; /* who sends this frame */
	struct be32 dst_rank; /* for whom it is: ranks may share a station */
	struct be64 key;      /* of the communicator */
	struct be64 key2;
	struct be32 epoch; /* incarnation of the root's space, random; ASK, TELL: of the question */
	/* First number of the space. ASK: the run that stands still. TELL: counts its changes. */
	struct be32 base;
	/* DATA, REPAIR: number of this packet. PROBE: the first that the parent knows nothing of.
	 * STATUS: the member and all below it have every packet before this one. TELL: bits of the
	 * ranks where its messages find no room: 0 to 31, and in own 32 to 63. */
	struct be32 psn;
	struct be32 own; /* STATUS: the first packet that the member itself has not */
	/* STATUS: what bit 0 of missing stands for. TELL: bits of the ranks whose messages find no
	 * room here, and in from2. */
	struct be32 from;
	struct be32 from2;
	struct be64
	    missing; /* STATUS: bit i: packet from + i is wanted; TELL: it waits for rank i */
};
static_assert(sizeof(struct wire_mgrp) == 64, "docs/wire-group.md");
static_assert(offsetof(struct wire_mgrp, mtu) == 2, "");
static_assert(offsetof(struct wire_mgrp, root) == 4, "");
static_assert(offsetof(struct wire_mgrp, dst_rank) == 12, "");
static_assert(offsetof(struct wire_mgrp, key) == 16, "");
static_assert(offsetof(struct wire_mgrp, epoch) == 32, "");
static_assert(offsetof(struct wire_mgrp, psn) == 40, "");
static_assert(offsetof(struct wire_mgrp, from) == 48, "");
static_assert(offsetof(struct wire_mgrp, missing) == 56, "");

#endif /* WEFT_WIRE_MGRP_H */
