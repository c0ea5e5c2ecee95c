/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that a process lends to its queue pairs (HW_QP_F_LENT).
 *
 * Such a queue pair has no rings of its own: before the process posts to an empty queue it puts the
 * place of a ring into the record. So the process needs as many rings as it has queues with
 * requests, not as many as it has queues. The place is read with each producer index; while the
 * queue has requests an honest process does not change it. Any place within the process's own BAR
 * is as good as another one: the NIC only reads rings, and checks each request.
 */
#ifndef WEFT_FW_LENT_H
#define WEFT_FW_LENT_H

#include <stdbool.h>

#include "nic_fw/host/qp.h"

/* lent.c: another place was read. Returns false if no ring has room there. */
bool lent_sq_moved(struct fw_nic *nic, struct fw_qp *qp, uint32_t place);
bool lent_rq_moved(struct fw_nic *nic, struct fw_qp *qp, uint32_t place);

/*
 * Call after the producer index was read, and before a request that it announces. False: the
 * record names no place for a ring. Always true of a queue pair with rings of its own.
 */
static inline bool lent_sq(struct fw_nic *nic, struct fw_qp *qp)
{
	uint32_t place = __atomic_load_n(&qp->record->sq_place, __ATOMIC_RELAXED);

	return __builtin_expect(place == qp->sq_place, 1) || lent_sq_moved(nic, qp, place);
}

static inline bool lent_rq(struct fw_nic *nic, struct fw_qp *qp)
{
	uint32_t place = __atomic_load_n(&qp->record->rq_place, __ATOMIC_RELAXED);

	return __builtin_expect(place == qp->rq_place, 1) || lent_rq_moved(nic, qp, place);
}

/* Gives a new queue pair the ring at place 0, the BAR's start, until its record names one. */
void lent_begin(struct fw_nic *nic, struct fw_qp *qp);

#endif /* WEFT_FW_LENT_H */
