/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of a queue pair whose stream carries them in order (llp_ops.stream): ESP and TCP.
 *
 * Every request that the stream has is in qp->wqes, in the order of the send queue. It ends in
 * three steps: acknowledged (state FW_WQE_RESPONSE), answered or failed (fw_wqe.answered, .status),
 * and completed, in its turn. Flows of RD, which may hold requests of many peers, end theirs in
 * rd_flow.c.
 */
#ifndef WEFT_FW_REQUESTER_H
#define WEFT_FW_REQUESTER_H

#include <stdint.h>

#include "shared_defs/hw_cqe.h"

struct fw_nic;
struct fw_qp;
struct fw_wqe;

/* Returns the first request that is neither answered nor failed; NULL: none. */
struct fw_wqe *requester_oldest(struct fw_qp *qp);
/* Returns the first of these that is a read or an atomic; NULL: none. */
struct fw_wqe *requester_oldest_read(struct fw_qp *qp);
/* Returns the one of these with this number; NULL: none. */
struct fw_wqe *requester_find_read(struct fw_qp *qp, uint32_t ssn);

/* The peer has acknowledged all of the request. */
void requester_acked(struct fw_nic *nic, struct fw_wqe *msg);
/* llp_ops.answered */
void requester_answered(struct fw_nic *nic, struct fw_wqe *msg);
/* Fails the request with this status in its turn; no later request is sent any more. */
void requester_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
		    enum hw_vendor_err vendor_err);
/* llp_ops.complete of a stream */
void requester_complete(struct fw_nic *nic, struct fw_qp *qp);
/*
 * Fails the request with this status. The peer has gone past all before it, so these were carried
 * out, except for reads and atomics without an answer, which are flushed.
 */
void requester_refused(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status);
/*
 * The stream is lost. Requests that were answered were carried out, even though their
 * acknowledgements did not come. Fails the oldest of the rest, and the QP with it. No request may
 * be fetched until all are over (fw_qp.sq_lost).
 */
void requester_lost(struct fw_nic *nic, struct fw_qp *qp, enum hw_status status);

#endif /* WEFT_FW_REQUESTER_H */
