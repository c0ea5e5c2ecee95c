/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All limits of the device. query-device reports them. nic_fw sizes its tables with them; this
 * reserves only address space, since pages are committed on first use. The host driver checks
 * against the values that query-device reported, not against these.
 */
#ifndef WEFT_HW_LIMITS_H
#define WEFT_HW_LIMITS_H

enum {
	HW_MAX_QP = 16384, /* per shard */
	HW_MAX_CQ = 16384,
	HW_MAX_SRQ = 4096,
	HW_MAX_XRCD = 4096,          /* open XRC domains, counted per opening */
	HW_MAX_XRCD_PER_CLIENT = 64, /* likewise */
	HW_MAX_QP_OPENS = 16384,     /* XRC_RECV QPs open in processes that did not create them */
	HW_MAX_MR = 65536,
	HW_MAX_PD = 4096,
	HW_MAX_AH = 65536,
	HW_MAX_CLIENTS = 256,        /* processes attached per shard */
	HW_MAX_EQ_PER_CLIENT = 1024, /* EQ 0 is the asynchronous one */
	HW_MAX_PEERS = 4096,         /* RD sessions per shard */
	HW_MAX_NEIGH = 4096,
	HW_MAX_MCAST_GRP = 1024,      /* IPv4 groups with attached QPs */
	HW_MAX_MCAST_QP_ATTACH = 256, /* QPs attached per group */
	HW_MAX_TOTAL_MCAST = 16384,   /* attachments of all QPs to all groups */
	HW_NUM_VECTORS = 8,           /* interrupt vectors with separate moderation settings */

	HW_MAX_SQ_SLOTS = 32768, /* 64-byte slots per send queue */
	HW_MAX_WR = 8192,        /* work requests per queue */
	HW_MAX_CQE = 262144,     /* libfabric's ofi_rxm requests 196,608 for one CQ */
	HW_MAX_SGE = 16,
	HW_MAX_INLINE_BYTES = 512,
	HW_MAX_RD_ATOMIC = 128,      /* outstanding reads and atomics per QP, for each side */
	HW_MAX_UD_MSG_BYTES = 65536, /* libweft's extension; verbs report the active MTU */
	HW_MIN_MTU = 1280,
	HW_MAX_MTU = 9216,
};

#define HW_MAX_MSG_BYTES (UINT64_C(1) << 30) /* RD, RC */
#define HW_MAX_MR_BYTES  (UINT64_C(1) << 46)

/* Number of send queue slots of a request with this many SGEs or inline bytes. */
#define HW_SQ_SLOT_BYTES 64
#define HW_GRH_BYTES     40

#endif /* WEFT_HW_LIMITS_H */
