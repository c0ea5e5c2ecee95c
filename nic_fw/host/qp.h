/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: the object, its state machine, its attributes.
 *
 * qp.c: states. qp_flush.c: flushing. qp_cmd.c: create, modify (with verbs' legality of each
 * transition and mask), query, destroy. Fields are grouped by use: the first lines by every
 * request, the last by commands. Source: IBA 10.3, 11.2.5; RFC 5040 6.
 */
#ifndef WEFT_FW_QP_H
#define WEFT_FW_QP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/rdmap/esp_rdmap.h"
#include "nic_fw/base/list.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd.h"

struct fw_nic;
struct fw_cq;
struct mpa_conn;
struct tag_ep;

/* Receive state of an unreliable connection (uc_rx.c). */
struct fw_uc_rx {
	bool begun;       /* ssn is valid: a message has come since RESET */
	bool open;        /* ssn is under way, without a loss so far */
	uint8_t opcode;   /* wire_rdmap_opcode */
	uint32_t ssn;     /* of the last message with a received packet */
	uint32_t bytes;   /* of the whole message */
	uint32_t next_mo; /* the offset that must come next */
};

/* Attributes of a queue pair until modify_qp sets them. */
enum {
	QP_DEFAULT_TIMEOUT = 19,       /* IBA 9.7.6.1.3: 4.096 us << 19 = 2.1 s */
	QP_DEFAULT_RETRY_CNT = 5,      /* 12.9 s: longer than most links need to come back */
	QP_DEFAULT_RNR_RETRY = 7,      /* for ever */
	QP_DEFAULT_MIN_RNR_TIMER = 12, /* 0.64 ms */
};

struct fw_qp {
	/* identity and state */
	uint32_t qpn;
	uint32_t pd;
	uint16_t client;
	uint8_t type;  /* hw_qp_type */
	uint8_t state; /* hw_qp_state; changed by qp_set_state() only */
	uint8_t flags; /* HW_QP_F_* */
	bool used;
	bool sq_blocked; /* fetching waits: fence, no read slot, no context; qp_unblock() */
	bool sq_draining;
	bool sq_failing; /* a request failed here and waits for earlier ones to complete */
	bool comm_est;   /* a packet of the peer came since RTR */
	bool flushing;   /* of its present state: no new work is begun (qp_flush.c) */
	bool in_flush;
	bool sq_flushed; /* a request failed or was flushed: none after it ends otherwise */
	/*
	 * hw_status; not SUCCESS: the stream has ended. Of its requests those that were answered
	 * were carried out, and the first other one fails with this status.
	 */
	uint8_t sq_lost;
	bool last_wqe_due; /* QP_LAST_WQE is raised at the end of the flush */
	uint8_t llp;       /* its transport: enum llp_kind */

	/* send side, by db.c, sched.c, wqe.c */
	struct hw_qp_record *record;
	uint8_t *sq_ring;
	uint32_t sq_mask;     /* slots - 1 */
	uint32_t sq_prod;     /* last read from the host */
	uint32_t sq_next;     /* next slot to fetch */
	uint32_t sq_cons;     /* slots retired, in order; the index in the record */
	uint32_t ssn;         /* number of the last message sent */
	uint32_t msn;         /* RC: MSN of the last untagged message on QN 0 */
	uint32_t rd_atomics;  /* reads and atomics in flight */
	uint32_t outstanding; /* requests fetched and not completed */
	/* HW_QP_F_LENT: places that sq_ring and rq_ring are at (lent.h); else 0 */
	uint32_t sq_place, rq_place;
	struct fw_list wqes; /* fetched requests in order (fw_wqe.qp_node) */
	/* The peer went past all requests before this one, which it could not carry out; or NULL.
	 */
	const struct fw_wqe *sq_refused;
	struct fw_list reads;      /* reads and atomics of them (fw_wqe.read_node) */
	struct fw_list sched_node; /* in nic->host.sched_qps while it has requests to fetch */
	struct fw_cq *send_cq;

	/* receive side, by rq.c, ud_rx.c, rdmap_rx.c */
	struct fw_cq *recv_cq;
	uint8_t *rq_ring;
	uint32_t rq_mask;
	uint32_t rq_stride_bytes;
	uint32_t rq_prod;
	uint32_t rq_cons;
	uint32_t srq; /* HW_SRQ_NONE */
	uint32_t qkey;
	uint64_t domain;           /* XRC_RECV: whose SRQs it may use (xrc.h); else 0 */
	uint32_t access;           /* HW_ACCESS_REMOTE_* that this QP grants */
	uint32_t responder_slots;  /* reads and atomics of peers being answered */
	struct fw_list windows;    /* of type 2, bound to it (fw_mr.qp_node) */
	uint64_t guessed_ns;       /* last failed try of a peer to name an STag; 0: never */
	uint32_t msgs_open;        /* receive messages partly arrived (recv.c, ud_reasm.c) */
	uint32_t rx_msn_taken;     /* RC: MSNs up to here have a receive */
	uint32_t rx_msn_delivered; /* RC: and up to here were delivered */
	uint32_t xrcd;             /* XRC_RECV: place of its domain */
	struct fw_list recv_msgs;  /* those messages; UC: a receive that waits for one, or none */
	struct fw_list atomics;    /* of peers, on slow memory (slow_atomic.qp_node) */
	struct fw_uc_rx uc;        /* UC: the message that is arriving */

	/* connected and reliable QPs, by rd_*.c */
	uint32_t dst_qpn;        /* RC, XRC, UC */
	uint32_t dst_ip;         /* likewise, network byte order */
	uint16_t incarnation_tx; /* likewise: tag in packets of this end */
	uint16_t incarnation_rx; /* likewise: tag that received packets must have */
	uint32_t cm;             /* place + 1 of its endpoint; 0: none (cm.c) */
	struct fw_list flows;    /* rd flows of this QP */
	union {
		/* UD: groups that it is attached to (mcast_member.qp_node) */
		struct fw_list mcasts;
		/* XRC_RECV: other processes that have it (fw_qp_open.qp_node) */
		struct fw_list opens;
	};
	struct esp_rdmap *esp; /* RC over ESP: its streams; without memory in all others */
	struct mpa_conn *mpa;  /* RC over TCP: its connection; NULL: none, or ended */
	struct tag_ep *tag;    /* a tagged endpoint that was opened (HW_CMD_TAG_OPEN), NULL */

	struct fw_list done_node;  /* in nic->slices.done */
	struct fw_list done_flows; /* RD: rd_flow.done_node */
	struct fw_list flush_node; /* flushing: in nic->slices.flushes or fw_cq.late.flushes */
	struct fw_list flush_msgs; /* fw_wqe.flow_node: messages that a transport has released */

	/* commands only */
	struct hw_qp_attr attr;
	uint16_t max_send_wr, max_recv_wr, max_inline_bytes;
	uint8_t max_send_sge, max_recv_sge;
	uint32_t attr_mask; /* HW_QP_* ever set since RESET */
	/*
	 * moder_adapt.c, [receives, requests]: position of the queue at an interrupt, and its
	 * serial
	 */
	uint32_t moder_at[2], moder_serial[2];
	uint64_t sq_offset;                            /* of both rings; 0: lent */
	struct fw_list node;                           /* of the client */
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes; /* for weftctl */
	uint64_t ended_ns; /* destruction of the last QP with this number; 0: there was none */
};
static_assert(offsetof(struct fw_qp, qkey) <= 192, "posts and receives touch three cache lines");
static_assert(sizeof(struct fw_qp) == 576, "nine cache lines, so that each QP begins with one");
static_assert((int)HW_MAX_WR <= UINT16_MAX && (int)HW_MAX_INLINE_BYTES <= UINT16_MAX &&
		  (int)HW_MAX_SGE <= UINT8_MAX,
	      "limits of queues");

/*
 * Peers of a QP that was destroyed learn of it only after this time. A program may end while
 * requests of its peer are under way that the peer needs no answer to; an RNIC drops them, and the
 * peer notices nothing until its retries are used up.
 */
#define QP_GRACE_NS UINT64_C(100000000)

/* A QPN: nic_index in bits 19-23, shard in 16-18, below them the QP's place in nic->host.qps. */
enum {
	FW_QPN_INDEX_MASK = 0xffff,
	FW_QPN_SHARD_SHIFT = 16,
	FW_QPN_NIC_SHIFT = 19,
	FW_QPN_MASK = 0xffffff,
	FW_QPN_FIRST = 2, /* of place 0: QPNs 0 and 1 are reserved (IBA 3.5.9, 10.2.4.3) */
};

/* Returns the QP that a QPN of this instance names, or NULL. */
struct fw_qp *qp_find(struct fw_nic *nic, uint32_t qpn);
/* True if a QP with this number was destroyed within the last QP_GRACE_NS. */
bool qp_has_just_ended(const struct fw_nic *nic, uint32_t qpn);

/* qp_attr.c: sets the attributes of RESET. */
void qp_attr_reset(struct fw_qp *qp);
/* True if verbs allow this change with these HW_QP_* attributes. Any type of hw_qp_type. */
bool qp_attr_is_legal(uint8_t type, enum hw_qp_state from, enum hw_qp_state to, uint32_t mask);
/*
 * Returns the attributes that a QP over TCP may omit there: the connection manager sets its peer
 * and all attributes of the peer.
 */
uint32_t qp_attr_excused(const struct fw_qp *qp, const struct hw_qp_attr *attr, uint32_t mask,
			 enum hw_qp_state to);
/* Checks the range of the values. Returns 0 or a positive errno. */
int qp_attr_check(struct fw_nic *nic, const struct fw_qp *qp, const struct hw_qp_attr *attr,
		  uint32_t mask);
/* Applies checked attributes. */
void qp_attr_apply(struct fw_nic *nic, struct fw_qp *qp, const struct hw_qp_attr *attr,
		   uint32_t mask);

/* Returns how long a request of this QP may stay unacknowledged; UINT64_MAX: for ever. */
uint64_t qp_limit_ns(const struct fw_qp *qp);
/* Returns the time that a code of the RNR timer stands for (IBA table 45). */
uint64_t qp_rnr_timer_ns(uint8_t code);

/*
 * The only way to change a state: asserts that the step is legal, traces, flushes, raises events.
 */
void qp_set_state(struct fw_nic *nic, struct fw_qp *qp, enum hw_qp_state state);

/*
 * The peer of a connection has sent a packet: raises COMM_EST the first time, if the QP is still in
 * RTR. The process may wait for that to bring it to RTS (IBA 11.6.3.3).
 */
void qp_comm_est(struct fw_nic *nic, struct fw_qp *qp);

static inline void qp_heard(struct fw_nic *nic, struct fw_qp *qp)
{
	if (__builtin_expect(qp->state == HW_QPS_RTR && !qp->comm_est, 0))
		qp_comm_est(nic, qp);
}

/*
 * Reports an error to the process: the QP goes to ERR (or SQE for datagram QPs when only the send
 * queue is concerned), posted requests are flushed with WR_FLUSH_ERR, and the asynchronous event
 * (HW_EVENT_NONE: none) is raised.
 */
void qp_error(struct fw_nic *nic, struct fw_qp *qp, enum hw_event_type event);
void qp_sq_error(struct fw_nic *nic, struct fw_qp *qp);

/*
 * Flushes posted and pending requests as the QP's state demands: ERR and SQE complete them with
 * WR_FLUSH_ERR, RESET drops them. Does as much as the turn has units for; the rest follows in later
 * turns, and qp->flushing is true until then. A doorbell of a QP in ERR or SQE starts it again;
 * receives ring no doorbell.
 */
void qp_flush(struct fw_nic *nic, struct fw_qp *qp);
void qp_flush_run(struct fw_nic *nic, struct fw_qp *qp); /* a part of it */
void qp_flush_slice(struct fw_nic *nic);                 /* slice_job.run: a part of the oldest */
void qp_reset_over(struct fw_qp *qp); /* the state from before RESET is all released */

/* Wakes a send queue that waited for a context, a fence or a read slot. */
void qp_unblock(struct fw_nic *nic, struct fw_qp *qp);

/* Types of queue pairs, as bits. */
#define QP_TYPE(name)      (UINT32_C(1) << HW_QPT_##name)
#define QP_TYPES_RC        (QP_TYPE(RC) | QP_TYPE(XRC_SEND) | QP_TYPE(XRC_RECV))
#define QP_TYPES_CONNECTED (QP_TYPES_RC | QP_TYPE(UC))
#define QP_TYPES_RELIABLE  (QP_TYPES_RC | QP_TYPE(RD))

static inline bool qp_can_receive(const struct fw_qp *qp)
{
	return qp->state == HW_QPS_RTR || qp->state == HW_QPS_RTS || qp->state == HW_QPS_SQD ||
	       qp->state == HW_QPS_SQE;
}

/* A reliable connection, or one end of an extended one. */
static inline bool qp_is_rc(const struct fw_qp *qp)
{
	return QP_TYPES_RC >> qp->type & 1;
}

/* True if it has one peer, which modify_qp named. */
static inline bool qp_is_connected(const struct fw_qp *qp)
{
	return QP_TYPES_CONNECTED >> qp->type & 1;
}

/* True if it sends each message once. */
static inline bool qp_is_unreliable(const struct fw_qp *qp)
{
	return qp->type == HW_QPT_UD || qp->type == HW_QPT_UC;
}

static inline bool qp_is_reliable(const struct fw_qp *qp)
{
	return QP_TYPES_RELIABLE >> qp->type & 1;
}

/*
 * Work of the stages for qp_flush.c when a QP leaves its working states; the QP is already in the
 * new state. The steps return true when they are finished.
 */
void sched_qp_remove(struct fw_nic *nic, struct fw_qp *qp); /* sched.c: off the ready list */
bool wqe_flush_step(struct fw_nic *nic, struct fw_qp *qp);  /* fetched and posted sends */
/* True if the process has posted sends that are not fetched; it may not have rung yet. */
bool wqe_is_posted(const struct fw_qp *qp);
bool recv_flush_step(struct fw_nic *nic, struct fw_qp *qp); /* recv.c: open messages */

#endif /* WEFT_FW_QP_H */
