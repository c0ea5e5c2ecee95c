/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of RD: the ordered messages of one (QP, peer QP, class).
 *
 *	rd_flow.c	messages in order: sent, completed, flushed
 *	rd_outcome.c	acknowledged and refused packets, terminated messages
 *	rd_fail.c	failures and limits of messages and flows
 *	rd_ending.c	flows that end, in slices
 *
 * ARCHITECTURE.md "RD in one page".
 */
#ifndef WEFT_FW_RD_FLOW_H
#define WEFT_FW_RD_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/dgram/rd.h"
#include "nic_fw/host/wqe.h"
#include "shared_defs/hw_cqe.h"

/* Messages of one (QP, peer QP, class) in order. Exists while it has messages. */
struct rd_flow {
	struct fw_list qp_node;      /* qp->flows */
	struct fw_list session_node; /* session->all_flows, ended, failing */
	struct fw_list ready_node;   /* session->flows */
	struct fw_list done_node;    /* qp->done_flows: the first messages are over */
	struct fw_list msgs;         /* fw_wqe.flow_node: not completed, in order */
	/* RC, likewise: requests behind one that failed; they wait to be flushed. */
	struct fw_list behind;
	struct fw_wqe *next; /* the message to send from; NULL: all sent */
	struct fw_qp *qp;
	struct rd_session *session;
	uint32_t dst_qpn;
	uint32_t last_psn;    /* valid while outstanding is not 0 */
	uint32_t outstanding; /* PSNs in flight */
	uint32_t hash_next;
	uint32_t life;      /* session->recv.life when it began, or returned to the session */
	bool response;      /* class */
	bool failing;       /* in session->failing: its messages complete with end_status */
	uint8_t end_status; /* hw_status */
	uint8_t end_vendor_err;
	bool refused; /* a packet was refused: no sending until all packets are resolved */
	/* Then: the first message to be sent again, and the lowest of its PSNs; NULL: none. */
	struct fw_wqe *first_refused;
	uint32_t first_refused_psn;
	bool refused_ended; /* such a message has ended: another one may be the first */
	uint32_t begun_ssn; /* of the last message of which a packet was sent */
	bool backing_off;   /* the RNR timer runs */
	uint8_t rnr_tries;
	uint8_t error_tries; /* refusals without a timer, in a row */
	uint8_t looks;       /* in a row at which look_ssn had look_bytes and awaited the rest */
	uint32_t rnr_ns;
	uint32_t look_serial;
	uint32_t look_ssn;
	uint32_t look_bytes;
	struct fw_moment since; /* time of its beginning */
	uint64_t heard_ns;      /* time when the peer last acknowledged a packet of it; 0: never */
	struct fw_timer rnr_timer;
	/* Its packets do not get through (rd_tx.c, withdrawal). */
	bool withdrew;             /* this round's first refusal answered a withdrawal of ours */
	uint8_t withdrawals;       /* rounds in a row; while not 0 one packet at a time is sent */
	struct fw_wqe *resume_msg; /* message of the first withdrawn packet */
	uint32_t resume_bytes;
	struct fw_moment stuck; /* time when that packet was first sent; 0: packets get through */
};

/* True if it is about to end, or to return to its session: rd_ending.c. It sends nothing. */
static inline bool rd_flow_is_ending(const struct rd_flow *flow)
{
	return flow->failing || flow->life != flow->session->recv.life;
}

static inline bool rd_flow_is_empty(const struct rd_flow *flow)
{
	return fw_list_empty(&flow->msgs) && fw_list_empty(&flow->behind);
}

/* True if its first message is not acknowledged, or not answered. */
static inline bool rd_flow_front_waits(const struct rd_flow *flow)
{
	const struct fw_wqe *msg = FW_CONTAINER(flow->msgs.next, struct fw_wqe, flow_node);

	return !fw_list_empty(&flow->msgs) && (msg->state != FW_WQE_RESPONSE || !msg->answered);
}

/* rd_flow.c */
/*
 * Queues a message (its dst_ip, dst_qpn, kind are set). False: no memory, or a flow to the same
 * destination is ending; try again later.
 */
bool rd_flow_send(struct fw_nic *nic, struct fw_wqe *msg);
/* Takes back a response that was queued in this turn, and frees it. */
void rd_flow_unsend(struct fw_nic *nic, struct fw_wqe *msg);
/* Reports that a read or atomic response arrived in full. */
void rd_flow_response(struct fw_nic *nic, struct fw_wqe *msg);
/*
 * Sets requests behind msg aside, which send nothing any more. Their order in the flow is that of
 * their numbers.
 */
void rd_flow_cut(struct rd_flow *flow, struct fw_wqe *msg);
/*
 * True if a Terminate for this packet's message is in flight, not yet acknowledged; or if so many
 * answers are that another Terminate must wait.
 */
bool rd_flow_is_terminating(struct fw_nic *nic, const struct fw_qp *qp,
			    const struct rdmap_seg *pkt);
/* Finds the flow that takes new messages of this destination and class; NULL: none. */
struct rd_flow *rd_flow_find(struct fw_nic *nic, const struct fw_qp *qp,
			     const struct rd_session *session, uint32_t dst_qpn, bool response);
/* Removes one message from its flow in any state; its PSNs become void. */
void rd_flow_remove(struct fw_nic *nic, struct fw_wqe *msg);
/* Lists it with its session if it may send. */
void rd_flow_ready(struct fw_nic *nic, struct rd_flow *flow);
/*
 * True if it has something to send that the peer's answers allow. A flow whose packets did not get
 * through sends one packet at a time.
 */
static inline bool rd_flow_has_next(const struct rd_flow *flow)
{
	return flow->next && !flow->refused && !flow->backing_off &&
	       !(flow->withdrawals && flow->outstanding);
}
/* True if it has something to send and may send. */
bool rd_flow_may_send(const struct fw_nic *nic, const struct rd_flow *flow);
/* True if its packets may be sent again: its QP is not being destroyed. */
bool rd_flow_may_resend(const struct fw_nic *nic, const struct rd_flow *flow);
/* Returns the next message behind msg that is to be sent; NULL: none. */
struct fw_wqe *rd_flow_next(const struct rd_flow *flow, const struct fw_wqe *msg);
/* A message was removed: the others continue, and complete as far as possible. */
void rd_flow_settle(struct fw_nic *nic, struct rd_flow *flow);
/*
 * Completes finished messages at the front of the flow, in order. Very many may have waited for the
 * first one: those that the turn has no units for complete in later turns. The flow may be freed by
 * it.
 */
void rd_flow_complete_front(struct fw_nic *nic, struct rd_flow *flow);
/* llp_ops.complete */
void rd_flow_complete(struct fw_nic *nic, struct fw_qp *qp);
/* Its PSNs in flight become void, and it sends nothing more. */
void rd_flow_stop(struct fw_nic *nic, struct rd_flow *flow);
void rd_flow_free(struct fw_nic *nic, struct rd_flow *flow);
/* True if the QP's state requires the end of a flow that still exists. */
bool rd_flush_due(const struct fw_qp *qp);
/* Moves the messages of one such flow to qp->flush_msgs. False: none, or no units. */
bool rd_flush_flow(struct fw_nic *nic, struct fw_qp *qp);
void rd_flow_rnr_fire(struct fw_nic *nic, struct fw_timer *timer); /* the RNR timer */

/* rd_outcome.c */
/*
 * Reports that packets of one message (NULL: it is gone) were accepted, which no slot names any
 * more, or that the packet of this slot was refused. The flow may be freed by it.
 */
void rd_outcome_acked(struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *msg,
		      uint32_t packets);
void rd_outcome_refused(struct fw_nic *nic, struct rd_slot *slot, uint32_t rnr_ns);
/* Reports the message that the peer could not carry out. */
void rd_outcome_terminated(struct fw_nic *nic, struct fw_qp *qp, uint32_t src_ip, uint32_t src_qpn,
			   uint32_t ssn, enum hw_status status);
/* Removes every reference to a message, or to the whole flow, from the send window. */
void rd_outcome_void(struct rd_session *s, const struct fw_wqe *msg, const struct rd_flow *flow);
/* A message ends: it is not the first to be sent again any more. */
void rd_outcome_forget(struct rd_flow *flow, const struct fw_wqe *msg);

/* rd_fail.c */
/* Ends one message with a status; the rest of the flow goes on. */
void rd_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
		 enum hw_vendor_err vendor_err);
/* Ends it and fails all its messages, in order and in slices. It may be gone at once. */
void rd_flow_fail(struct fw_nic *nic, struct rd_flow *flow, enum hw_status status,
		  enum hw_vendor_err vendor_err);
/*
 * Checks the flows that only await responses, in slices: fails those whose QP's limit is reached
 * while the peer has been silent since session->probe. True: some are left, or not yet looked at.
 */
bool rd_flow_check_awaiting(struct fw_nic *nic, struct rd_session *session);
/*
 * Fails the flows whose oldest request has awaited its answer, or the rest of it, for
 * LLP_ANSWER_LOOKS calls while the peer was alive; in slices.
 */
void rd_flow_check_answers(struct fw_nic *nic, struct rd_session *session);
/*
 * True if its packets have been unacknowledged for longer than its QP's timeout and retries allow.
 */
bool rd_flow_is_over_limit(const struct fw_nic *nic, const struct rd_flow *flow);
/* Fails the flows whose QP's timeout and retry count are used up, in slices. */
void rd_flow_check_limits(struct fw_nic *nic, struct rd_session *session);
/* Continues with such checks. False: nothing is left of them, or no units. */
bool rd_fail_step(struct fw_nic *nic, struct rd_session *session);

/* rd_ending.c */
/*
 * Ends the flows of the session: each fails, in slices, and its responses are freed. Flows of which
 * nothing was sent until since_ns stay, and are sent anew (UINT64_MAX: none). The caller ends the
 * session's life (recv_abort_peer()) and then calls rd_ending_run().
 */
void rd_ending_session(struct fw_nic *nic, struct rd_session *session, enum hw_status status,
		       enum hw_vendor_err vendor_err, uint64_t since_ns);
/* Ends one flow; the caller calls rd_ending_run() then. */
void rd_ending_flow(struct fw_nic *nic, struct rd_flow *flow, enum hw_status status,
		    enum hw_vendor_err vendor_err);
/* Returns a flow of an ended session to the session, if it may stay. False: it fails. */
bool rd_ending_stays(struct fw_nic *nic, struct rd_flow *flow);
/* Ends an ending flow of a QP that is flushed. False: units ran out. */
bool rd_ending_flush(struct fw_nic *nic, struct rd_flow *flow);
/* Does a part of the work that waits, within slice_take(). Flows and requests may be gone then. */
void rd_ending_run(struct fw_nic *nic);
/* The session has flows to be looked at: rd_fail_step(). */
void rd_ending_look(struct fw_nic *nic, struct rd_session *session);
void rd_ending_slice(struct fw_nic *nic); /* slice_job.run */
bool rd_ending_pending(const struct fw_nic *nic);

#endif /* WEFT_FW_RD_FLOW_H */
