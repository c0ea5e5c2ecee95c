/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of send requests: two NICs, and requests that are correct.
 */
#ifndef WEFT_TESTS_PAIR_WQE_FIX_H
#define WEFT_TESTS_PAIR_WQE_FIX_H

#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* A correct request, which a test may spoil. */
static inline struct hw_sq_wqe good_send(void)
{
	struct hw_sq_wqe wqe = {
	    .opcode = HW_WQE_SEND,
	    .flags = HW_WQE_F_SIGNALED,
	    .slots = 2,
	    .num_sge = 1,
	    .wr_id = 77,
	    .ah = A->ah,
	    .dst_qpn = B->qp[0]->qpn,
	    .qkey = RP_QKEY,
	    .remote_addr = (uintptr_t)B->mem,
	    .rkey = B->stag,
	};

	return wqe;
}

static inline struct hw_sge good_sge(void)
{
	return (struct hw_sge){.addr = (uintptr_t)A->mem, .bytes = 64, .lkey = A->stag};
}

static inline void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
}

#endif /* WEFT_TESTS_PAIR_WQE_FIX_H */
