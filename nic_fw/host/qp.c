/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of queue pairs. qp_flush.c handles the posted requests at a change of state.
 *
 * Calls each stage that holds state of the QP to release it. IBA 10.3.1, figure 124; RFC 5040
 * section 6.
 */
#include "nic_fw/fw_nic.h"

/* Returns the place of a number that was given out here, FW_NONE of any other. */
static uint32_t qp_place(const struct fw_nic *nic, uint32_t qpn)
{
	uint32_t index = (qpn & FW_QPN_INDEX_MASK) - FW_QPN_FIRST;

	/* Numbers below FW_QPN_FIRST wrap to ones that are never given out. */
	if ((qpn & ~(uint32_t)FW_QPN_INDEX_MASK) != nic->qpn_base || index >= nic->host.qp_ids.high)
		return FW_NONE;
	return index;
}

struct fw_qp *qp_find(struct fw_nic *nic, uint32_t qpn)
{
	uint32_t index = qp_place(nic, qpn);

	return index != FW_NONE && nic->host.qps[index].used ? &nic->host.qps[index] : NULL;
}

bool qp_has_just_ended(const struct fw_nic *nic, uint32_t qpn)
{
	uint32_t index = qp_place(nic, qpn);
	uint64_t ended_ns = index != FW_NONE ? nic->host.qps[index].ended_ns : 0;

	return ended_ns && nic->now_ns - ended_ns < QP_GRACE_NS;
}

#define BIT(state) (1u << (state))
#define ALWAYS     (BIT(HW_QPS_RESET) | BIT(HW_QPS_ERR))

/* Legal steps from each state. Staying in a state is no change. */
static const uint8_t next_states[HW_QPS_STATES] = {
    [HW_QPS_RESET] = BIT(HW_QPS_RESET) | BIT(HW_QPS_INIT),
    [HW_QPS_INIT] = ALWAYS | BIT(HW_QPS_RTR),
    [HW_QPS_RTR] = ALWAYS | BIT(HW_QPS_RTS),
    [HW_QPS_RTS] = ALWAYS | BIT(HW_QPS_SQD) | BIT(HW_QPS_SQE),
    [HW_QPS_SQD] = ALWAYS | BIT(HW_QPS_RTS) | BIT(HW_QPS_SQE),
    [HW_QPS_SQE] = ALWAYS | BIT(HW_QPS_RTS),
    [HW_QPS_ERR] = ALWAYS,
};

/* The transports release their messages before the requests that these belong to. */
static void stop_sends(struct fw_nic *nic, struct fw_qp *qp)
{
	sched_qp_remove(nic, qp);
	/* A staged frame may point at inline data in slots that the process may use again now. */
	if (!nic->host.clients[qp->client].closing)
		eth_tx_forget(nic, qp->client);
	llp_stop_qp(nic, qp);
}

static void enter_err(struct fw_nic *nic, struct fw_qp *qp)
{
	stop_sends(nic, qp);
	host_up.qp_down(nic, qp);
	qp->last_wqe_due = qp->srq != HW_SRQ_NONE || qp->type == HW_QPT_XRC_RECV;
	qp_flush(nic, qp);
}

/*
 * Posted requests are dropped without a completion (IBA 10.3.1.1). Indices continue from the
 * process's position, so that neither side has to send the other one; without trust in the old
 * content, any index will do.
 */
static void skip_posted(struct fw_qp *qp)
{
	qp->sq_prod = __atomic_load_n(&qp->record->sq_prod, __ATOMIC_ACQUIRE);
	qp->sq_next = qp->sq_prod;
	qp->sq_cons = qp->sq_prod;
	qp->rq_prod = __atomic_load_n(&qp->record->rq_prod, __ATOMIC_ACQUIRE);
	qp->rq_cons = qp->rq_prod;
	__atomic_store_n(&qp->record->sq_cons, qp->sq_cons, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->record->rq_cons, qp->rq_cons, __ATOMIC_RELEASE);
}

void qp_reset_over(struct fw_qp *qp)
{
	skip_posted(qp);
	qp->msn = 0;
	qp->rd_atomics = 0;
	qp->dst_qpn = 0;
	qp->dst_ip = 0;
	qp->incarnation_tx = 0;
	qp->incarnation_rx = 0;
	qp->uc = (struct fw_uc_rx){0};
	qp->qkey = 0;
	qp->access = 0;
	qp->attr_mask = 0;
	qp_attr_reset(qp);
}

static void enter_reset(struct fw_nic *nic, struct fw_qp *qp)
{
	stop_sends(nic, qp);
	host_up.qp_down(nic, qp);
	qp_flush(nic, qp);
}

/* In SQD: raises the event once the last pending request has completed (IBA 10.3.1.5). */
static void qp_check_drained(struct fw_nic *nic, struct fw_qp *qp)
{
	if (qp->state != HW_QPS_SQD || !qp->sq_draining || qp->outstanding)
		return;
	qp->sq_draining = false;
	if (qp->attr.en_sqd_async_notify)
		xrc_event(nic, qp, HW_EVENT_SQ_DRAINED);
}

static void enter_sqd(struct fw_nic *nic, struct fw_qp *qp)
{
	sched_qp_remove(nic, qp);
	qp->sq_draining = true;
	qp_check_drained(nic, qp);
}

void qp_set_state(struct fw_nic *nic, struct fw_qp *qp, enum hw_qp_state state)
{
	enum hw_qp_state from = (enum hw_qp_state)qp->state;

	assert(state < HW_QPS_STATES && next_states[from] & BIT(state));
	assert(state != HW_QPS_SQE || !qp_is_rc(qp));
	/* The new state flushes the rest of the old one, unless it has gone already. */
	assert(!qp->flushing || state == HW_QPS_ERR || state == HW_QPS_RESET);
	qp->state = (uint8_t)state;
	fw_trace(nic, TRACE_QP_STATE, qp->qpn, from, state);
	switch (state) {
	case HW_QPS_RESET:
		enter_reset(nic, qp);
		break;
	case HW_QPS_INIT:
		break;
	case HW_QPS_RTR:
		qp->comm_est = false;
		break;
	case HW_QPS_RTS:
		qp->sq_draining = false;
		sched_qp_add(nic, qp);
		break;
	case HW_QPS_SQD:
		enter_sqd(nic, qp);
		break;
	case HW_QPS_SQE:
		stop_sends(nic, qp);
		qp_flush(nic, qp);
		break;
	case HW_QPS_ERR:
		if (from != HW_QPS_ERR)
			enter_err(nic, qp);
		break;
	case HW_QPS_STATES:
		break;
	}
}

void qp_comm_est(struct fw_nic *nic, struct fw_qp *qp)
{
	qp->comm_est = true;
	xrc_event(nic, qp, HW_EVENT_COMM_EST);
}

void qp_error(struct fw_nic *nic, struct fw_qp *qp, enum hw_event_type event)
{
	if (qp->state == HW_QPS_ERR || qp->state == HW_QPS_RESET)
		return;
	qp_set_state(nic, qp, HW_QPS_ERR);
	xrc_event(nic, qp, event);
}

void qp_sq_error(struct fw_nic *nic, struct fw_qp *qp)
{
	if (qp_is_rc(qp)) {
		qp_error(nic, qp, HW_EVENT_NONE);
		return;
	}
	if (qp->state == HW_QPS_RTS || qp->state == HW_QPS_SQD)
		qp_set_state(nic, qp, HW_QPS_SQE);
}

void qp_unblock(struct fw_nic *nic, struct fw_qp *qp)
{
	qp_check_drained(nic, qp);
	/* A queue that is not blocked is in the list already, or rings for its next request. */
	if (!qp->sq_blocked)
		return;
	qp->sq_blocked = false;
	sched_qp_add(nic, qp);
}
