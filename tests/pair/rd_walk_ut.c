/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A refusal, and the end of a queue pair, beside many messages of one flow: neither walks them all.
 * The steps of the lists of rd_flow.c and rd_cancel.c are counted; nothing is timed. See
 * docs/security.md "Stalls".
 */
#include "tests/pair/rd_pair.h"

static uint64_t steps;

#undef fw_list_for_each
#define fw_list_for_each(pos, head)                                                                \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next, steps++)

#include "nic_fw/dgram/rd_cancel.c"
#include "nic_fw/dgram/rd_flow.c"

enum {
	MANY = 60,
	ROUNDS = 5,
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* MANY Sends without a receive for them. */
static void begin(void)
{
	struct hw_qp_attr attr = {.rnr_retry = 7};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
	for (i = 0; i < MANY; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i, 1);
}

static void refusals_walk_no_messages(void)
{
	uint64_t before;
	uint32_t i;

	begin();
	before = RP_CNT(&rp, 0, rd_rnr_backoffs);
	steps = 0;
	while (RP_CNT(&rp, 0, rd_rnr_backoffs) < before + ROUNDS)
		rp_run(&rp, 1000000);
	CU_ASSERT_EQUAL(steps, 0);
	/* All arrive, in their order. */
	for (i = 0; i < MANY; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 1000 + i, 1);
		if (i % 8 == 7)
			rp_run(&rp, 2000000);
	}
	rp_quiet(&rp);
	for (i = 0; i < MANY; i++) {
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
}

/* The first Send is refused; it ends by a limit, and the others go on from the next one. */
static void the_first_ends_meanwhile(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 3; i++) {
		struct hw_qp_attr attr = {.rnr_retry = i % 2};

		rp_run(&rp, 1500000);
		CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
		rp_run(&rp, 1500000);
	}
	for (i = 0; i < MANY; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_RNR_RETRY_EXC_ERR);
	rp_end(&rp);
}

/* One step finds the flow. */
static void a_flush_walks_no_messages(void)
{
	uint32_t i;

	begin();
	rp_run(&rp, 100000);
	steps = 0;
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT(steps <= 2);
	rp_quiet(&rp);
	for (i = 0; i < MANY; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
	rp_end(&rp);
}

UT_MAIN("pair/rd_walk", UT(refusals_walk_no_messages), UT(the_first_ends_meanwhile),
	UT(a_flush_walks_no_messages))
