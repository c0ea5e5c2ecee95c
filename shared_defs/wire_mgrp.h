/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable groups on the wire: multicast to all ranks of a communicator, and its repair.
 *
 * 	Ethernet (WIRE_ETHERTYPE_ESP) | wire_edp (WIRE_EDP_GROUP) | wire_mgrp | CRC32C
 * 	Ethernet | wire_edp | wire_mgrp (DATA, REPAIR) | wire_goal | payload | CRC32C
 *
 * DATA is sent to the group's address, all other types to one station. Each sending rank has its
 * own sequence number space, and the ranks form a binomial tree below it. nic_fw/coll/mgrp_*.c
 * implements it; tools/wireshark/weft.lua decodes it. docs/wire-group.md explains each field.
 */
#ifndef WEFT_WIRE_MGRP_H
#define WEFT_WIRE_MGRP_H

#include "shared_defs/be.h"

enum wire_mgrp_type {
	WIRE_MGRP_DATA = 1,   /* from the root to all; wire_goal and payload follow */
	WIRE_MGRP_REPAIR = 2, /* retransmission from a parent to one child */
	WIRE_MGRP_STATUS = 3, /* child to parent: received and missing packets */
	WIRE_MGRP_PROBE = 4,  /* parent to child: requests a STATUS */
	WIRE_MGRP_ASK = 5,  /* to any rank: can it progress without the ranks for which it waits? */
	WIRE_MGRP_TELL = 6, /* answer to ASK */
	WIRE_MGRP_TYPES
};

enum {
	WIRE_MGRP_WINDOW = 256,     /* packets not yet acknowledged by all members */
	WIRE_MGRP_MISSING = 64,     /* packets that one STATUS can request */
	WIRE_MGRP_MAC_BYTE0 = 0x03, /* of the group's address: locally administered, group bit */
	WIRE_MGRP_MAC_BYTE1 = 0x57,
};
#define WIRE_MGRP_ALL 0xffffffffu /* dst_rank of DATA */

struct wire_mgrp {
	uint8_t type; /* wire_mgrp_type */
	uint8_t reserved;
	/* STATUS: smallest MTU in the member's subtree; 0: unknown. TELL: 1: it can progress. */
	struct be16 mtu;
	struct be32 root;     /* owner of the sequence number space; ASK, TELL: the sender */
	struct be32 src_rank; /* sender of this frame */
	struct be32 dst_rank; /* receiver; ranks may share a station */
	struct be64 key;      /* key of the communicator */
	struct be64 key2;
	/* Random incarnation of the root's space; ASK, TELL: number of the question. */
	struct be32 epoch;
	/* First number of the space. ASK: the stalled run. TELL: number of its changes. */
	struct be32 base;
	/*
	 * DATA, REPAIR: number of this packet. PROBE: first packet for which the parent has no
	 * report. STATUS: the member and all ranks below it have every packet before this one.
	 * TELL: bits of the ranks that have no room for its messages: 0 to 31, and 32 to 63 in own.
	 */
	struct be32 psn;
	struct be32 own; /* STATUS: the first packet that the member itself lacks */
	/*
	 * STATUS: number of bit 0 of missing. TELL: bits of the ranks for whose messages it has no
	 * room: 0 to 31, and 32 to 63 in from2.
	 */
	struct be32 from;
	struct be32 from2;
	struct be64
	    missing; /* STATUS: bit i: packet from + i is missing; TELL: it waits for rank i */
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
