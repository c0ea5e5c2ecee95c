/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: tagged messages, matched by the NIC.
 *
 * An endpoint sends messages to, and receives messages from, any number of other endpoints. The NIC
 * matches them by source and tag, buffers those that come before their receive, and moves long ones
 * by rendezvous, all without a call of the process. docs/tagged.md has the rules.
 *
 * The conventions of weft.h hold: 0 or a negative errno, any thread at any time, polling by
 * weft_poll_cq(). Posting locks the endpoint's send or receive queue. An endpoint contains an RD
 * queue pair (ep->qp); weft_post_send() on it does RDMA Writes, Reads and atomics. A peer's Write
 * with immediate completes with WEFT_WC_RECV_WRITE_IMM in the receive CQ and takes no receive.
 */
#ifndef WEFT_TAG_H
#define WEFT_TAG_H

#include "host_driver/weft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When the NIC announces a posted receive to the only sender that it can match. */
enum weft_tag_announce {
	WEFT_TAG_ANNOUNCE_ADAPTIVE, /* while four fifths of the announcements are used */
	WEFT_TAG_ANNOUNCE_NEVER,
	WEFT_TAG_ANNOUNCE_ALWAYS,
};

struct weft_tag_attr {
	struct weft_cq *send_cq;
	struct weft_cq *recv_cq;
	struct weft_qp_cap cap; /* set to the actual values; 0: defaults */
	uint32_t access;        /* enum weft_access: rights of peers' Writes, Reads and atomics */
	uint32_t qkey;          /* the same at all endpoints that talk to each other */
	/* Longest message that is sent without a rendezvous; 0: the device's default. */
	uint32_t eager_bytes;
	/* Memory for unexpected messages, committed as it is used; 0: 64 MiB. */
	uint64_t pool_bytes;
	/* WEFT_EVENT_TAG_POOL_LOW when less is free, or a peer has used its share; 0: never. */
	uint64_t pool_low_bytes;
	void *user;
	enum weft_tag_announce announce;
	/*
	 * The endpoint is a context: it is not sent to, and sends nothing; others that are opened
	 * with it as receives_of take the receives, peeks and cancellations that are posted to it.
	 */
	bool context;
	/* A context of the same PD, whose receives it takes; it has none of its own. NULL: none. */
	struct weft_tag_ep *receives_of;
};

struct weft_tag_ep {
	struct weft_qp *qp;   /* its qpn is the endpoint's address, with the NIC's IP address */
	uint32_t eager_bytes; /* actual */
	uint64_t pool_bytes;
	void *user;
};

/*
 * Opens an endpoint that is ready to send and to receive. attr->cap is set to the actual values.
 * errno: EINVAL a value beyond the device's limits, ENOMEM, EDQUOT the share of the process or user
 * is used up, EOPNOTSUPP weftd is too old.
 */
WEFT_API struct weft_tag_ep *weft_open_tag_ep(struct weft_pd *pd, struct weft_tag_attr *attr);
/*
 * Closes it: posted receives and open sends end without completions, messages under way fail at
 * their peers. Always succeeds.
 */
WEFT_API void weft_close_tag_ep(struct weft_tag_ep *ep);

/*
 * Contexts. A receive of a context completes in the receive CQ of the endpoint that took the
 * message (weft_wc.qpn names it), with the wr_id that it was posted with. What ends without a
 * message completes at the endpoint opened first of those that live, without any in the receive CQ
 * of the context. A buffer of many messages (WEFT_TAG_MULTI) is released by the completion that is
 * polled last of all CQs: a message, or one with src_qpn 0 that brings no message. Receives of a
 * context are not announced.
 *
 * The end of a context ends its endpoints (WEFT_EVENT_QP_FATAL). Completions of its receives that
 * were not polled when their endpoint was closed are kept: this call takes up to max of them, and
 * returns their number. -EINVAL: it is no context, max is negative; -ENOMEM, once, behind all that
 * are kept: there was no memory for some. Any thread.
 */
WEFT_API int weft_take_tag_orphans(struct weft_tag_ep *context, int max, struct weft_wc *wc);

enum weft_tag_flags {
	WEFT_TAG_MSG = 0x01,        /* untagged message: a space of its own, tags are ignored */
	WEFT_TAG_UNSIGNALED = 0x02, /* no completion on success; wr_id is below 2^63 */
	/* sends */
	WEFT_TAG_INLINE = 0x04, /* the payload is copied now; up to cap.max_inline_bytes */
	WEFT_TAG_SYNC = 0x08,   /* completes when a receive has matched it */
	WEFT_TAG_DATA = 0x10,   /* data is sent to the receiver's completion */
	/* receives */
	WEFT_TAG_MULTI = 0x20, /* serves messages until less than min_free_bytes is left */
	/* peeks, and receives of claimed messages */
	WEFT_TAG_CLAIM = 0x40,   /* the peek claims the message for weft_tag_recv_claimed() */
	WEFT_TAG_DISCARD = 0x80, /* the message is dropped */
};

struct weft_tag_send_wr {
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
	uint32_t flags;     /* enum weft_tag_flags */
	struct weft_ah *ah; /* of the peer's NIC */
	uint32_t dst_qpn;   /* the peer's endpoint */
	uint64_t tag;
	uint64_t data;
};

/* Source of a receive: any. */
#define WEFT_TAG_ANY_QPN 0u

struct weft_tag_recv_wr {
	uint64_t wr_id;
	const struct weft_sge *sg_list;
	uint32_t num_sge;
	uint32_t flags;   /* enum weft_tag_flags */
	uint32_t src_ip;  /* network byte order; not used if src_qpn is WEFT_TAG_ANY_QPN */
	uint32_t src_qpn; /* WEFT_TAG_ANY_QPN: any source */
	uint64_t tag;
	uint64_t ignore; /* bits of the tag that are not compared */
	uint32_t min_free_bytes;
};

/*
 * Posts a send. The NIC owns the memory until completion (WEFT_WC_TSEND) unless it is inline.
 * Completions come in any order. -ENOMEM: the send queue is full, or 65536 sends are
 * open; -EINVAL: too many SGEs or inline bytes, no address handle, a flag that is not for sends.
 */
WEFT_API WEFT_CHECK_RET int weft_tag_send(struct weft_tag_ep *ep,
					  const struct weft_tag_send_wr *wr);
/*
 * Posts a receive. It completes with WEFT_WC_TRECV: bytes, msg_bytes, src_ip, src_qpn, tag, and
 * data with WEFT_WC_WITH_DATA. A longer message fills the buffer and completes with
 * WEFT_WC_LOC_LEN_ERR. *number (may be NULL) names it for weft_tag_cancel(). With WEFT_TAG_MULTI it
 * completes for each message, at offset in the buffer, and last with WEFT_WC_RELEASED.
 *
 * This call and the next three post to the receive queue. -ENOMEM: it is full, which lasts until
 * the NIC has looked at it, or 65536 receives are posted; -EINVAL: too many SGEs, a flag that is
 * not for this call.
 */
WEFT_API WEFT_CHECK_RET int weft_tag_recv(struct weft_tag_ep *ep, const struct weft_tag_recv_wr *wr,
					  uint32_t *number);
/*
 * Looks for an unexpected message; wr->sg_list is not used. Completes with WEFT_WC_TPEEK: success
 * and the message's envelope, or WEFT_WC_GENERAL_ERR with WEFT_VENDOR_ERR_NO_MESSAGE. With
 * WEFT_TAG_CLAIM, weft_wc.claim names the message.
 */
WEFT_API WEFT_CHECK_RET int weft_tag_peek(struct weft_tag_ep *ep,
					  const struct weft_tag_recv_wr *wr);
/* Receives the claimed message into wr's buffer, or drops it with WEFT_TAG_DISCARD. */
WEFT_API WEFT_CHECK_RET int weft_tag_recv_claimed(struct weft_tag_ep *ep, uint32_t claim,
						  const struct weft_tag_recv_wr *wr);
/*
 * Withdraws a posted receive. It completes once: with WEFT_WC_WR_FLUSH_ERR and
 * WEFT_VENDOR_ERR_CANCELED, or as if this call had not been made.
 */
WEFT_API WEFT_CHECK_RET int weft_tag_cancel(struct weft_tag_ep *ep, uint32_t number);

struct weft_tag_stats {
	uint32_t posted;     /* receives waiting for a message */
	uint32_t unexpected; /* messages waiting for a receive */
	uint32_t open_sends; /* sends waiting for their match */
	uint32_t claimed;
	uint64_t pool_bytes;
	uint64_t pool_used_bytes;
	uint64_t matched_posted;     /* messages that found a receive */
	uint64_t matched_unexpected; /* receives that found a message */
	uint64_t rendezvous;
	uint64_t announced;
	uint64_t announced_used;
	uint64_t pool_refused; /* messages that did not fit into the pool */
};
/* Blocks until weftd answers. */
WEFT_API WEFT_CHECK_RET int weft_query_tag_ep(struct weft_tag_ep *ep, struct weft_tag_stats *stats);

/* ------------------------------------------------------- memory that is not registered */

/*
 * For layers whose users pass memory that is not registered: provides each message with memory that
 * is. Up to max_copy_bytes, that is a copy, or the user's memory itself once it was used so often
 * that registering it pays: more than R / (C - V) times, where the costs of registering R, of
 * copying C and of looking up V are measured when the process first creates such an object
 * (Rashti's thesis, equation 5.3). Longer memory is always registered. Regions are kept in a
 * registration cache. Memory below 128 bytes is always copied. While fewer than 20 % of the buffers
 * in the table of uses are used often, and the table is full, no further ones are watched.
 * docs/tagged.md, "Memory that is not registered".
 */
struct weft_tag_mem {
	struct weft_pd *pd;
	void *user;
};

struct weft_tag_mem_attr {
	size_t max_copy_bytes; /* 0: 16 KiB; at most 64 KiB */
	size_t max_bytes;      /* of memory for copies; 0: 16 MiB */
	uint32_t uses;         /* uses before memory is registered; 0: as measured */
	bool never;            /* memory up to max_copy_bytes is never registered */
};

/*
 * attr NULL: all fields 0. errno EINVAL: max_copy_bytes is too large. The object is the caller's:
 * closing the context does not free it, so it is destroyed before.
 */
WEFT_API struct weft_tag_mem *weft_create_tag_mem(struct weft_pd *pd,
						  const struct weft_tag_mem_attr *attr);
/* -EBUSY: buffers have not been put back. */
WEFT_API WEFT_CHECK_RET int weft_destroy_tag_mem(struct weft_tag_mem *mem);

/* Memory of one message, from weft_tag_get_buf() until its request has completed. */
struct weft_tag_buf {
	struct weft_sge sge; /* for the request */
	/* private: */
	struct weft_mr *mr;
	void *copy;
	void *addr;
	bool recv;
};

/*
 * Provides a send with the content of [addr, addr + bytes), or a receive (recv) with room. bytes is
 * not 0. Returns 0, -ENOMEM, or what weft_reg_mr_cached() reports.
 */
WEFT_API WEFT_CHECK_RET int weft_tag_get_buf(struct weft_tag_mem *mem, void *addr, size_t bytes,
					     bool recv, struct weft_tag_buf *buf);
/*
 * Ends the use. bytes: received ones, which are at addr after this call; not used after a send.
 */
WEFT_API void weft_tag_put_buf(struct weft_tag_mem *mem, struct weft_tag_buf *buf, size_t bytes);

struct weft_tag_mem_stats {
	uint64_t copied;     /* messages */
	uint64_t direct;     /* messages up to max_copy_bytes from or to registered memory */
	uint64_t registered; /* longer messages */
	uint64_t unwatched;  /* messages while the table was full of rarely used buffers */
	uint32_t entries;    /* of the table of uses */
	uint32_t frequent;   /* entries that are used often */
	uint64_t bytes;      /* memory for copies */
	uint32_t uses[3];    /* uses before memory of 1, 4 and 16 KiB is registered; ~0: never */
	/* Measured costs of 8 KiB: registering, copying, looking up. */
	double reg_ns, copy_ns, look_ns;
};
WEFT_API void weft_query_tag_mem(struct weft_tag_mem *mem, struct weft_tag_mem_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_TAG_H */
