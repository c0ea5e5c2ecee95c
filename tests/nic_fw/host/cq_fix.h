/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of completion queues, included by cq*_ut.c: entries, arming, resizing.
 */
#ifndef WEFT_TESTS_CQ_FIX_H
#define WEFT_TESTS_CQ_FIX_H

#include "tests/bench/host.h"

static inline struct hw_cqe good(uint64_t wr_id)
{
	struct hw_cqe cqe = {.wr_id = wr_id, .qpn = 5, .opcode = HW_CQE_RECV};

	return cqe;
}

static inline bool post(struct fw_ut *ut, struct fw_cq *cq, uint64_t wr_id)
{
	struct hw_cqe cqe = good(wr_id);

	return cq_post(ut->nic, cq, &cqe);
}

/* Arms as libweft does: index and kind in one word, then the doorbell, which calls cq_arm(). */
static inline void arm(struct fw_ut *ut, struct fw_cq *cq, uint32_t cons, bool solicited)
{
	cq->record->arm =
	    (cons & HW_CQ_ARM_INDEX) | HW_CQ_ARM_ARMED | (solicited ? HW_CQ_ARM_SOLICITED : 0);
	cq_arm(ut->nic, cq);
}

static inline int resize(struct fw_ut *ut, const struct fw_cq *cq, uint32_t entries,
			 struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = HW_CMD_RESIZE_CQ, .u.cq = {.cq = cq->index, .entries = entries}};

	return host_cmd(ut->nic, 0, &cmd, resp);
}

#endif /* WEFT_TESTS_CQ_FIX_H */
