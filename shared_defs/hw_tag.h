/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints, host to NIC: receive operations, options of tagged sends, completions.
 *
 * A tagged endpoint is an RD queue pair that was created with HW_QP_F_TAGGED. Its receive queue
 * holds operations of matching instead of plain receives; the NIC takes them out of the ring as
 * soon as it has seen them (doorbell HW_DB_RQ). A tagged send is a send request with the opcode
 * HW_WQE_TSEND. docs/tagged.md; host_driver/weft_tag.c writes, nic_fw/tag reads. Little-endian.
 */
#ifndef WEFT_HW_TAG_H
#define WEFT_HW_TAG_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/hw_wqe.h"

/* Limits of one endpoint, and defaults of its attributes. */
enum {
	HW_TAG_MAX_POSTED = 65536,     /* receives waiting for a message */
	HW_TAG_MAX_UNEXPECTED = 65536, /* messages waiting for a receive */
	HW_TAG_MAX_OPEN_SENDS = 65536, /* sends waiting for their match */
	HW_TAG_MAX_EAGER_BYTES = 65536,
	HW_TAG_DEFAULT_EAGER_BYTES = 16384,
};
#define HW_TAG_MAX_POOL_BYTES (UINT64_C(1) << 32)

/* hw_tag_rq_wqe.op */
enum hw_tag_op {
	HW_TAG_RECV = 1,
	HW_TAG_PEEK = 2,    /* reports the first message that fits, and leaves it where it is */
	HW_TAG_CLAIMED = 3, /* receives, or discards, the message that a peek has claimed */
	HW_TAG_CANCEL = 4,  /* withdraws a posted receive */
	HW_TAG_OPS
};

/* hw_tag_rq_wqe.flags */
enum {
	HW_TAG_F_ANY_SRC = 0x01,
	HW_TAG_F_MSG = 0x02,     /* untagged messages: a space of their own; no tag is compared */
	HW_TAG_F_CLAIM = 0x04,   /* PEEK: only CLAIMED receives the message from now on */
	HW_TAG_F_DISCARD = 0x08, /* PEEK, CLAIMED: the message is dropped */
	HW_TAG_F_MULTI = 0x10,   /* RECV: the buffer serves messages until little of it is left */
	HW_TAG_F_UNSIGNALED = 0x20, /* RECV: no completion if it succeeds */
	HW_TAG_F_ALL = 0x3f,
};

/* One operation; SGEs follow as in hw_rq_wqe. */
struct hw_tag_rq_wqe {
	uint8_t op;    /* hw_tag_op */
	uint8_t flags; /* HW_TAG_F_* */
	uint8_t num_sge;
	uint8_t reserved0;
	uint32_t src_ip;  /* network byte order; unless ANY_SRC */
	uint32_t src_qpn; /* likewise */
	/*
	 * CLAIMED: the number of the claim (hw_cqe.sq_index of the peek). CANCEL: the place in the
	 * queue, counted from 0 and modulo 2^32, at which the receive was posted.
	 */
	uint32_t number;
	uint64_t wr_id;
	uint64_t tag;
	uint64_t ignore; /* bits of the tag that are not compared */
	/* MULTI: the buffer is released when fewer bytes than this are left. */
	uint32_t min_free_bytes;
	uint32_t reserved1;
	uint64_t reserved2[2];
};
static_assert(sizeof(struct hw_tag_rq_wqe) == 64, "");
static_assert(offsetof(struct hw_tag_rq_wqe, number) == 12, "");
static_assert(offsetof(struct hw_tag_rq_wqe, wr_id) == 16, "");
static_assert(offsetof(struct hw_tag_rq_wqe, tag) == 24, "");
static_assert(offsetof(struct hw_tag_rq_wqe, min_free_bytes) == 40, "");

/* Stride of the receive queue of an endpoint whose receives have up to max_sge SGEs. */
static inline uint32_t hw_tag_stride_bytes(uint32_t max_sge)
{
	uint32_t need =
	    (uint32_t)sizeof(struct hw_tag_rq_wqe) + max_sge * (uint32_t)sizeof(struct hw_sge);
	uint32_t stride = 64;

	while (stride < need)
		stride <<= 1;
	return stride;
}

/*
 * HW_WQE_TSEND uses fields of hw_sq_wqe as follows: compare_add is the tag, swap is the data of 8
 * bytes for the receiver's completion, mw_access has HW_TSEND_F_*.
 */
enum {
	HW_TSEND_F_SYNC = 0x01, /* completes when a receive has matched it */
	HW_TSEND_F_MSG = 0x02,  /* untagged message */
	HW_TSEND_F_DATA = 0x04, /* swap is valid */
	HW_TSEND_F_ALL = 0x07,
};

/*
 * Fields of hw_cqe in completions of a tagged endpoint (opcodes HW_CQE_T*):
 *
 *	bytes		received bytes in the buffer; sent bytes
 *	imm_inv		length of the message
 *	src_ip, src_qpn	its sender
 *	record_to	its tag
 *	record_map	its data of 8 bytes, with HW_CQE_F_IMM
 *	sq_index	TRECV of a MULTI buffer: offset of the message in it; TPEEK: number of the
 *claim
 *
 * A message longer than its buffer completes with LOC_LEN_ERR and fills the buffer; a peek that
 * finds nothing with GENERAL_ERR and HW_VENDOR_ERR_NO_MESSAGE; a cancelled receive with
 * WR_FLUSH_ERR and HW_VENDOR_ERR_CANCELED. HW_CQE_F_RELEASED: the buffer of a MULTI receive
 * belongs to the host again. Sends complete in any order.
 *
 * A context's receive completes in the receive CQ of the endpoint that took the message. What ends
 * without a message (a failed, cancelled or flushed operation, a peek that finds nothing) completes
 * at the endpoint that was opened first of those that live, without any at the context. Completions
 * of a MULTI buffer may stand in several CQs, so its last one is apart: RELEASED, no bytes, and in
 * imm_inv the number of the others.
 */

/*
 * hw_cmd_tag_open.flags. When receives are announced; neither: as their usage says. Whose receives
 * the endpoint takes; neither: its own.
 */
enum {
	HW_TAG_OPEN_F_NO_ANNOUNCE = 0x01,
	HW_TAG_OPEN_F_ANNOUNCE_ALWAYS = 0x02,
	HW_TAG_OPEN_F_CONTEXT = 0x04, /* others may take its receives, which are not announced */
	HW_TAG_OPEN_F_MEMBER = 0x08,  /* those of context_qpn */
	HW_TAG_OPEN_F_ALL = 0x0f,
};

/* HW_CMD_TAG_OPEN: gives an endpoint in INIT its memory and limits. */
struct hw_cmd_tag_open {
	uint32_t qpn;
	uint32_t pool_stag;  /* of a region of the same PD with local write */
	uint64_t pool_addr;  /* multiples of 512 */
	uint64_t pool_bytes; /* for unexpected messages; 0: none is buffered */
	/* EVENT_TAG_POOL_LOW when less is free, or a peer's share is used up; 0: never */
	uint64_t pool_low_bytes;
	uint32_t eager_bytes; /* longer messages are sent by rendezvous */
	uint32_t flags;       /* HW_TAG_OPEN_F_* */
	uint32_t context_qpn; /* MEMBER: a context of the same process and PD; else 0 */
	uint32_t reserved;    /* 0 */
};
static_assert(sizeof(struct hw_cmd_tag_open) == 48, "");

/* HW_CMD_TAG_QUERY. Counts since TAG_OPEN. */
struct hw_resp_tag_query {
	uint32_t posted;
	uint32_t unexpected;
	uint32_t open_sends;
	uint32_t claimed;
	uint64_t pool_bytes;
	uint64_t pool_used_bytes;
	uint64_t matched_posted;     /* messages that found a receive */
	uint64_t matched_unexpected; /* receives that found a message */
	uint64_t rendezvous;
	uint64_t announced; /* RTRs sent */
	uint64_t announced_used;
	uint64_t pool_refused; /* messages that did not fit into the pool */
};
static_assert(sizeof(struct hw_resp_tag_query) == 80, "");

#endif /* WEFT_HW_TAG_H */
