/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round robin over send queues that have requests to fetch.
 *
 * A QP enters the ready list when its doorbell rings or when it is unblocked, and leaves it when it
 * is empty or blocked. Calls wqe.c. rd_tx.c schedules flows and sessions of RD.
 */
#include "nic_fw/fw_nic.h"

void sched_qp_add(struct fw_nic *nic, struct fw_qp *qp)
{
	if (qp->state != HW_QPS_RTS || qp->sq_blocked || fw_list_linked(&qp->sched_node))
		return;
	fw_list_add_tail(&nic->host.sched_qps, &qp->sched_node);
}

void sched_qp_remove(struct fw_nic *nic, struct fw_qp *qp)
{
	(void)nic;
	fw_list_del(&qp->sched_node);
}

uint32_t sched_run(struct fw_nic *nic, uint32_t budget)
{
	struct fw_list turn;
	struct fw_list *node;
	uint32_t done = 0, most;
	uint8_t stage;

	if (fw_list_empty(&nic->host.sched_qps))
		return 0;
	/* One turn serves each QP at most once, so that a waiting one cannot spin here. */
	fw_list_init(&turn);
	fw_list_splice_tail(&turn, &nic->host.sched_qps);
	most = turn.next == turn.prev ? SCHED_QP_ALONE : SCHED_QP_QUANTUM;
	while (done < budget && (node = fw_list_pop(&turn))) {
		struct fw_qp *qp = FW_CONTAINER(node, struct fw_qp, sched_node);
		/* The last one of a turn gets no less than others, behind whom it goes. */
		uint32_t quantum = budget < most ? budget : most;

		fw_trace(nic, TRACE_SCHED, qp->qpn, qp->outstanding, quantum);
		/* In the list beforehand: fetching unlinks it when no request is left. */
		fw_list_add_tail(&nic->host.sched_qps, &qp->sched_node);
		stage = fw_stage_enter(nic, FW_STAGE_WQE);
		done += wqe_fetch(nic, qp, quantum);
		(void)fw_stage_enter(nic, stage);
	}
	/* QPs that were not served come first in the next turn. */
	fw_list_splice_tail(&turn, &nic->host.sched_qps);
	fw_list_splice_tail(&nic->host.sched_qps, &turn);
	return done;
}
