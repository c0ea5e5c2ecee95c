/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes a receive for a message.
 *
 * Calls srq.c if the QP has an SRQ. Posting a receive rings no doorbell: the host's index is read
 * when the known ones are used up. docs/host-interface.md, pair R1 (producer index), R2 (consumer
 * index).
 */
#include "nic_fw/fw_nic.h"

/* Copies the entry, then checks the copy. The SGEs' keys are checked when data is placed. */
static inline enum rq_result copy_entry(const uint8_t *entry, uint32_t max_sge,
					struct fw_recv *recv)
{
	const struct hw_sge *from = (const void *)(entry + sizeof(struct hw_rq_wqe));
	struct hw_rq_wqe wqe;
	uint32_t i;

	fw_copy_once(&wqe, entry, sizeof(wqe));
	recv->wr_id = wqe.wr_id;
	recv->bytes = 0;
	recv->num_sge = 0;
	if (wqe.num_sge > max_sge)
		return RQ_BAD;
	recv->num_sge = wqe.num_sge;
	for (i = 0; i < wqe.num_sge; i++) {
		fw_copy_once(&recv->sge[i], &from[i], sizeof(recv->sge[i]));
		recv->bytes += recv->sge[i].bytes;
	}
	return RQ_OK;
}

static uint32_t own_available(struct fw_nic *nic, struct fw_qp *qp)
{
	uint32_t prod;

	if (!qp->rq_ring)
		return 0;
	/* Pair R1. */
	prod = __atomic_load_n(&qp->record->rq_prod, __ATOMIC_ACQUIRE);
	if (prod - qp->rq_cons > qp->rq_mask + 1 || !lent_rq(nic, qp)) {
		/* More than the ring holds, or no ring: no entry is trusted. */
		FW_COUNT(nic, wqes_bad);
		qp->rq_prod = qp->rq_cons;
		return 0;
	}
	qp->rq_prod = prod;
	return prod - qp->rq_cons;
}

static enum rq_result look_srq(struct fw_nic *nic, struct fw_srq *srq, struct fw_recv *recv)
{
	if (srq->error || (srq->prod == srq->cons && !srq_available(nic, srq)))
		return RQ_EMPTY;
	recv->pd = srq->pd;
	return copy_entry(srq->ring + (size_t)(srq->cons & srq->mask) * srq->stride_bytes,
			  srq->max_sge, recv);
}

enum rq_result rq_take_srq(struct fw_nic *nic, struct fw_srq *srq, struct fw_recv *recv)
{
	enum rq_result result = look_srq(nic, srq, recv);

	if (result == RQ_BAD)
		FW_COUNT(nic, wqes_bad);
	if (result != RQ_EMPTY)
		srq_taken(nic, srq);
	return result;
}

void rq_prefetch(const struct fw_nic *nic, const struct fw_qp *qp)
{
	const struct fw_srq *srq;

	if (qp->srq != HW_SRQ_NONE) {
		srq = &nic->host.srqs[qp->srq];
		__builtin_prefetch(srq->record);
		__builtin_prefetch(srq->ring + (size_t)(srq->cons & srq->mask) * srq->stride_bytes);
	} else if (qp->rq_ring) {
		if (qp->rq_prod == qp->rq_cons)
			__builtin_prefetch(qp->record);
		__builtin_prefetch(qp->rq_ring +
				   (size_t)(qp->rq_cons & qp->rq_mask) * qp->rq_stride_bytes);
	}
}

enum rq_result rq_look(struct fw_nic *nic, struct fw_qp *qp, struct fw_recv *recv)
{
	if (qp->srq != HW_SRQ_NONE)
		return look_srq(nic, &nic->host.srqs[qp->srq], recv);
	if (qp->rq_prod == qp->rq_cons && !own_available(nic, qp))
		return RQ_EMPTY;
	recv->pd = qp->pd;
	return copy_entry(qp->rq_ring + (size_t)(qp->rq_cons & qp->rq_mask) * qp->rq_stride_bytes,
			  qp->max_recv_sge, recv);
}

void rq_taken(struct fw_nic *nic, struct fw_qp *qp)
{
	if (qp->srq != HW_SRQ_NONE) {
		srq_taken(nic, &nic->host.srqs[qp->srq]);
		return;
	}
	qp->rq_cons++;
	/* Pair R2: the entry was read before the host may write there again. */
	__atomic_store_n(&qp->record->rq_cons, qp->rq_cons, __ATOMIC_RELEASE);
}

enum rq_result rq_take(struct fw_nic *nic, struct fw_qp *qp, struct fw_recv *recv)
{
	enum rq_result result = rq_look(nic, qp, recv);

	if (result == RQ_BAD)
		FW_COUNT(nic, wqes_bad);
	if (result != RQ_EMPTY)
		rq_taken(nic, qp);
	return result;
}

uint32_t rq_available(struct fw_nic *nic, struct fw_qp *qp)
{
	if (qp->srq != HW_SRQ_NONE)
		return srq_available(nic, &nic->host.srqs[qp->srq]);
	return own_available(nic, qp);
}
