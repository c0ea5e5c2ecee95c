/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libweft: completion channels, completion queues, completions. A part of weft.h, whose conventions
 * apply.
 *
 * weft_coalesce.h sets when a channel's interrupt is raised.
 */
#ifndef WEFT_WEFT_CQ_H
#define WEFT_WEFT_CQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host_driver/weft_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- completion queues */

/*
 * A completion channel: an event queue of the NIC with its own interrupt, on which completion
 * events arrive.
 */
struct weft_comp_channel {
	struct weft_context *context;
	/*
	 * Becomes readable when a completion event is pending or the NIC is gone. Use it only with
	 * poll, epoll and fcntl(O_NONBLOCK); never read it. It may be readable without an event:
	 * set O_NONBLOCK if weft_get_cq_event() must not block.
	 */
	int fd;
	void *user;
};

/*
 * Creates a channel. vector selects the interrupt moderation, below weft_device_attr.num_vectors.
 */
WEFT_API struct weft_comp_channel *weft_create_comp_channel(struct weft_context *context,
							    uint32_t vector);
/* Destroys a channel. -EBUSY while a CQ uses it. */
WEFT_API WEFT_CHECK_RET int weft_destroy_comp_channel(struct weft_comp_channel *channel);

struct weft_cq {
	struct weft_context *context;
	struct weft_comp_channel *channel; /* NULL: polled only */
	uint32_t handle;
	uint32_t entries; /* at least the requested number */
	void *user;
};

/* Creates a completion queue for at least entries completions. channel may be NULL. */
WEFT_API struct weft_cq *weft_create_cq(struct weft_context *context, uint32_t entries,
					struct weft_comp_channel *channel, void *user);
/*
 * Changes the size. Pending completions are kept. -EINVAL: too large; -EBUSY: too small for the
 * pending completions.
 */
WEFT_API WEFT_CHECK_RET int weft_resize_cq(struct weft_cq *cq, uint32_t entries);
/*
 * Sets interrupt moderation: an event is raised after count completions or period_us microseconds
 * after the first one, whichever is sooner. 0, 0: the settings of the channel's vector apply
 * (weft_coalesce.h), by default no delay. Solicited completions and errors are never delayed.
 */
WEFT_API WEFT_CHECK_RET int weft_modify_cq(struct weft_cq *cq, uint16_t count, uint32_t period_us);
/*
 * Destroys a CQ. -EBUSY while a QP uses it. Blocks until every event that weft_get_cq_event() or
 * weft_get_async_event() returned for it is acknowledged.
 */
WEFT_API WEFT_CHECK_RET int weft_destroy_cq(struct weft_cq *cq);

/* The values of enum ibv_wc_status. */
enum weft_wc_status {
	WEFT_WC_SUCCESS = 0,
	WEFT_WC_LOC_LEN_ERR = 1,
	WEFT_WC_LOC_QP_OP_ERR = 2,
	WEFT_WC_LOC_EEC_OP_ERR = 3,
	WEFT_WC_LOC_PROT_ERR = 4,
	WEFT_WC_WR_FLUSH_ERR = 5,
	WEFT_WC_MW_BIND_ERR = 6,
	WEFT_WC_BAD_RESP_ERR = 7,
	WEFT_WC_LOC_ACCESS_ERR = 8,
	WEFT_WC_REM_INV_REQ_ERR = 9,
	WEFT_WC_REM_ACCESS_ERR = 10,
	WEFT_WC_REM_OP_ERR = 11,
	WEFT_WC_RETRY_EXC_ERR = 12,
	WEFT_WC_RNR_RETRY_EXC_ERR = 13,
	WEFT_WC_LOC_RDD_VIOL_ERR = 14,
	WEFT_WC_REM_INV_RD_REQ_ERR = 15,
	WEFT_WC_REM_ABORT_ERR = 16,
	WEFT_WC_INV_EECN_ERR = 17,
	WEFT_WC_INV_EEC_STATE_ERR = 18,
	WEFT_WC_FATAL_ERR = 19,
	WEFT_WC_RESP_TIMEOUT_ERR = 20,
	WEFT_WC_GENERAL_ERR = 21,
};

/* The values of enum ibv_wc_opcode. Valid if status is WEFT_WC_SUCCESS. */
enum weft_wc_opcode {
	WEFT_WC_SEND = 0,
	WEFT_WC_WRITE = 1, /* also WEFT_WR_WRITE_RECORD */
	WEFT_WC_READ = 2,
	WEFT_WC_CMP_SWAP = 3,
	WEFT_WC_FETCH_ADD = 4,
	WEFT_WC_BIND_MW = 5,
	WEFT_WC_LOCAL_INV = 6,
	WEFT_WC_ATOMIC = 64, /* WEFT_WR_ATOMIC */
	WEFT_WC_RECV = 128,
	WEFT_WC_RECV_WRITE_IMM = 129,
	WEFT_WC_RECV_WRITE_RECORD = 192, /* a peer's Write-Record; consumes no receive */
	/* Tagged endpoints (weft_tag.h); these three are also valid if the status is an error. */
	WEFT_WC_TSEND = 193,
	WEFT_WC_TRECV = 194,
	WEFT_WC_TPEEK = 195,
};

/* weft_wc.flags */
enum weft_wc_flags {
	WEFT_WC_F_GRH = 0x01, /* 40 bytes of GRH precede the data and are counted in bytes */
	WEFT_WC_F_IMM = 0x02, /* imm is valid */
	WEFT_WC_F_INV = 0x04, /* inv_stag is valid: the peer invalidated this STag */
	WEFT_WC_F_SOLICITED = 0x08,
	WEFT_WC_F_PARTIAL = 0x10, /* Write-Record: pieces are missing, see record_map */
	WEFT_WC_WITH_DATA = 0x02, /* TRECV, TPEEK: data is valid */
	WEFT_WC_RELEASED = 0x40,  /* TRECV: the multi-receive buffer serves no more messages */
};

struct weft_wc {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the NIC's clock at the time of completion */
	enum weft_wc_status status;
	enum weft_wc_opcode opcode;
	uint32_t vendor_err; /* enum weft_vendor_err */
	uint32_t bytes;      /* bytes received or read */
	uint32_t qpn;
	uint32_t src_qpn; /* UD, RD receives */
	uint32_t src_ip;  /* network byte order; UD, RD receives */
	uint32_t flags;   /* enum weft_wc_flags */
	uint32_t imm;
	uint32_t inv_stag;
	/*
	 * The unions hold fields of tagged endpoints. Write-Record: location of the message. Bit i
	 * of record_map means that the piece that starts at i * record_piece_bytes is valid (the
	 * last piece may be shorter).
	 */
	union {
		uint32_t record_stag;
		uint32_t offset; /* TRECV of a multi-receive buffer: where the message begins */
		uint32_t claim;  /* TPEEK with WEFT_TAG_CLAIM */
	};
	union {
		uint32_t record_piece_bytes;
		uint32_t msg_bytes; /* TRECV, TPEEK: length of the whole message */
	};
	union {
		uint64_t record_to;
		uint64_t tag; /* TRECV, TPEEK */
	};
	union {
		uint64_t record_map;
		uint64_t data; /* TRECV, TPEEK with WEFT_WC_WITH_DATA */
	};
};

/* Reason of a failed request, in more detail than the status. */
enum weft_vendor_err {
	WEFT_VENDOR_ERR_NONE = 0,
	WEFT_VENDOR_ERR_OPCODE = 1,
	WEFT_VENDOR_ERR_SLOTS = 2,
	WEFT_VENDOR_ERR_NUM_SGE = 3,
	WEFT_VENDOR_ERR_FLAGS = 4,
	WEFT_VENDOR_ERR_AH = 5,
	WEFT_VENDOR_ERR_LKEY = 6,
	WEFT_VENDOR_ERR_BOUNDS = 7,
	WEFT_VENDOR_ERR_ACCESS = 8,
	WEFT_VENDOR_ERR_TOO_LONG = 9,
	WEFT_VENDOR_ERR_ALIGN = 10,
	WEFT_VENDOR_ERR_QUEUE = 11,
	WEFT_VENDOR_ERR_PEER_RESTART = 12,
	WEFT_VENDOR_ERR_HOST_FAULT = 13,
	WEFT_VENDOR_ERR_UNREACHABLE = 14,
	WEFT_VENDOR_ERR_RD_ATOMIC = 15,
	WEFT_VENDOR_ERR_CQ_OVERRUN = 16,
	WEFT_VENDOR_ERR_NO_MESSAGE = 17, /* weft_tag_peek() found none */
	WEFT_VENDOR_ERR_CANCELED = 18,   /* weft_tag_cancel() withdrew the receive */
	WEFT_VENDOR_ERR_NIC_GONE = 255,  /* generated by the library: weftd ended */
};

/*
 * Takes up to max completions, oldest first. Returns their number (0: none). Makes no system call,
 * except for sched_yield after a number of empty polls (WEFT_YIELD) and a check every 10 ms that
 * weftd is alive. If it is not, outstanding requests of the CQ's QPs complete with
 * WEFT_WC_WR_FLUSH_ERR, after the completions of the NIC. Receives of shared receive queues do not
 * complete; if nothing else is left, returns -EIO.
 */
WEFT_API WEFT_CHECK_RET int weft_poll_cq(struct weft_cq *cq, int max, struct weft_wc *wc);

/*
 * True if weft_poll_cq() would return something, also that the NIC is gone. Takes no lock and does
 * not yield the processor: for threads that look at several CQs, or that have more to do. No other
 * thread may resize or destroy the CQ meanwhile.
 */
WEFT_API bool weft_cq_waiting(struct weft_cq *cq);

/*
 * The calling thread waits, and weft_cq_waiting() is false for each CQ that it waits for: yields
 * the processor as an empty weft_poll_cq() does (WEFT_YIELD). To be called without locks.
 */
WEFT_API void weft_poll_again(void);

/*
 * Requests one event on the CQ's channel for the next completion that has not been polled yet
 * (solicited_only: the next solicited completion or error). The event is raised at once if there
 * already is one, so none is lost between the last poll and this call. -EINVAL: the CQ has no
 * channel.
 */
WEFT_API WEFT_CHECK_RET int weft_req_notify_cq(struct weft_cq *cq, bool solicited_only);

/*
 * Waits for the next completion event and returns its CQ and that CQ's user pointer (either
 * argument may be NULL). Blocks unless channel->fd has O_NONBLOCK. Each event must be acknowledged.
 * -EAGAIN: no event (O_NONBLOCK); -EINTR: a signal; -EIO: the NIC is gone and every armed CQ has
 * had its event.
 */
WEFT_API WEFT_CHECK_RET int weft_get_cq_event(struct weft_comp_channel *channel,
					      struct weft_cq **cq, void **user);
/*
 * Acknowledges count events of weft_get_cq_event(). One call may acknowledge several events; a
 * count beyond the number of unacknowledged events is truncated.
 */
WEFT_API void weft_ack_cq_events(struct weft_cq *cq, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_WEFT_CQ_H */
