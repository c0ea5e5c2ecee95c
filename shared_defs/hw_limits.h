/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every limit of the device, by name. query-device reports them; nic_fw sizes its tables
 * with them (address space only: pages are committed on first use); the host driver checks
 * against what query-device reported, not against these.
 */
#ifndef WEFT_HW_LIMITS_H
#define WEFT_HW_LIMITS_H

enum {
	HW_MAX_QP = 16384, /* per shard */
	HW_MAX_CQ = 16384,
	HW_MAX_SRQ = 4096,
	HW_MAX_XRCD = 4096,          /* XRC domains that are open, each once per opening */
	HW_MAX_XRCD_PER_CLIENT = 64, /* of them */
	HW_MAX_QP_OPENS = 16384,     /* XRC_RECV QPs open in processes that did not make them */
	HW_MAX_MR = 65536,
	HW_MAX_PD = 4096,
	HW_MAX_AH = 65536,
	HW_MAX_CLIENTS = 256,        /* processes attached to a shard */
	HW_MAX_EQ_PER_CLIENT = 1024, /* the asynchronous one is EQ 0 */
	HW_MAX_PEERS = 4096,         /* RD sessions of a shard */
	HW_MAX_NEIGH = 4096,
	HW_MAX_MCAST_GRP = 1024,      /* IPv4 groups that QPs are attached to */
	HW_MAX_MCAST_QP_ATTACH = 256, /* QPs attached to one group */
	HW_MAX_TOTAL_MCAST = 16384,   /* attachments, of all QPs to all groups */
	HW_NUM_VECTORS = 8,           /* interrupt vectors whose moderation is set one by one */

	HW_MAX_SQ_SLOTS = 32768, /* 64-byte slots of one send queue */
	HW_MAX_WR = 8192,        /* work requests of one queue */
	HW_MAX_CQE = 262144,     /* libfabric's ofi_rxm asks for 196,608 of one CQ */
	HW_MAX_SGE = 16,
	HW_MAX_INLINE_BYTES = 512,
	HW_MAX_RD_ATOMIC = 128,      /* reads and atomics of one QP in flight, either side */
	HW_MAX_UD_MSG_BYTES = 65536, /* libweft's extension; verbs see the active MTU */
	HW_MIN_MTU = 1280,
	HW_MAX_MTU = 9216,
};

#define HW_MAX_MSG_BYTES (UINT64_C(1) << 30) /* RD, RC */
#define HW_MAX_MR_BYTES  (UINT64_C(1) << 46)

/* Send queue slots that one request with so many SGEs, or inline bytes, takes. */
#define HW_SQ_SLOT_BYTES 64
#define HW_GRH_BYTES     40

#endif /* WEFT_HW_LIMITS_H */
