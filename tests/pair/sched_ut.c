/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round robin over send queues: quanta, membership of the list, budgets.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void post(uint32_t q, uint32_t n)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE};

	req.dst = B->qp[0];
	while (n--) {
		req.wr_id = q;
		rp_req(&rp, 0, A->qp[q], &req);
	}
}

static uint32_t fetched(uint32_t q)
{
	return A->qp[q]->sq_next;
}

static void begin(void)
{
	uint32_t i;

	rp_begin(&rp);
	for (i = 0; i < 2; i++)
		rp_rts(&rp, 0, rp_qp(&rp, 0, HW_QPT_RD, 1));
	A->nic->now_ns = rp.wire.now_ns;
}

static void end(uint32_t completions)
{
	struct hw_cqe cqe;

	rp_quiet(&rp);
	while (completions--)
		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status == HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Each queue gets its quantum in a turn, whatever the others have. */
static void quanta(void)
{
	begin();
	post(0, 100);
	post(1, 3);
	post(2, 20);
	(void)db_poll(A->nic);
	CU_ASSERT_EQUAL(sched_run(A->nic, 1000), 2 * SCHED_QP_QUANTUM + 3);
	CU_ASSERT_EQUAL(fetched(0), SCHED_QP_QUANTUM);
	CU_ASSERT_EQUAL(fetched(1), 3);
	CU_ASSERT_EQUAL(fetched(2), SCHED_QP_QUANTUM);
	/* An empty queue has left the list. */
	CU_ASSERT_FALSE(fw_list_linked(&A->qp[1]->sched_node));
	CU_ASSERT_TRUE(fw_list_linked(&A->qp[0]->sched_node));
	CU_ASSERT_EQUAL(sched_run(A->nic, 1000), 2 * SCHED_QP_QUANTUM);
	CU_ASSERT_EQUAL(sched_run(A->nic, 1000), SCHED_QP_QUANTUM + 4);
	CU_ASSERT_FALSE(fw_list_linked(&A->qp[2]->sched_node));
	/* A queue that is alone has more, within the budget. */
	CU_ASSERT_EQUAL(sched_run(A->nic, 1000), SCHED_QP_ALONE);
	CU_ASSERT_EQUAL(sched_run(A->nic, 5), 5);
	end(123);
}

/*
 * A small budget: queues without a turn come first the next time. The last one of a turn has its
 * whole quantum.
 */
static void budget(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 4; i++)
		post(i, 10);
	(void)db_poll(A->nic);
	CU_ASSERT_EQUAL(sched_run(A->nic, 0), 0);
	CU_ASSERT_EQUAL(sched_run(A->nic, 12), 16);
	CU_ASSERT_EQUAL(fetched(0), 8);
	CU_ASSERT_EQUAL(fetched(1), 8);
	CU_ASSERT_EQUAL(fetched(2), 0);
	CU_ASSERT_EQUAL(sched_run(A->nic, 16), 16);
	CU_ASSERT_EQUAL(fetched(2), 8);
	CU_ASSERT_EQUAL(fetched(3), 8);
	CU_ASSERT_EQUAL(sched_run(A->nic, 100), 8);
	CU_ASSERT_TRUE(fw_list_empty(&A->nic->host.sched_qps));
	end(40);
}

/* True if the last of n requests, of bytes each, was a lone one. */
static bool is_lone(uint32_t n, uint32_t bytes)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .dst = B->qp[0], .bytes = bytes};

	for (uint32_t i = 0; i < n; i++)
		rp_req(&rp, 0, A->qp[0], &req);
	A->nic->turn_did = 0;
	(void)db_poll(A->nic);
	CU_ASSERT_EQUAL(sched_run(A->nic, 32), n);
	return fw_did(A->nic) & FW_DID_LONE;
}

/* A lone request is short, the last of its queue, and has few before it that are not complete. */
static void lone(void)
{
	begin();
	CU_ASSERT_TRUE(is_lone(1, 0));
	CU_ASSERT_FALSE(is_lone(1, FW_LONE_BYTES + 1));
	CU_ASSERT_TRUE(is_lone(1, FW_LONE_BYTES));
	CU_ASSERT_TRUE(is_lone(1, 1));
	CU_ASSERT_FALSE(is_lone(1, 1));
	end(5);
	begin();
	CU_ASSERT_FALSE(is_lone(FW_LONE_REQUESTS + 1, 64));
	CU_ASSERT_FALSE(is_lone(1, 64));
	rp_quiet(&rp);
	CU_ASSERT_TRUE(is_lone(FW_LONE_REQUESTS, 64));
	/* A doorbell without a request has none. */
	rp_quiet(&rp);
	rp_ring(&rp, 0, A->qp[0]);
	CU_ASSERT_FALSE(is_lone(0, 0));
	end(2 * FW_LONE_REQUESTS + 2);
}

/* A queue is in the list at most once, and never when it is blocked or not in RTS. */
static void membership(void)
{
	begin();
	rp_settle(&rp);
	sched_qp_add(A->nic, A->qp[0]);
	sched_qp_add(A->nic, A->qp[0]);
	sched_qp_add(A->nic, A->qp[1]);
	CU_ASSERT_PTR_EQUAL(fw_list_pop(&A->nic->host.sched_qps), &A->qp[0]->sched_node);
	CU_ASSERT_PTR_EQUAL(fw_list_pop(&A->nic->host.sched_qps), &A->qp[1]->sched_node);
	CU_ASSERT_PTR_NULL(fw_list_pop(&A->nic->host.sched_qps));
	A->qp[0]->sq_blocked = true;
	sched_qp_add(A->nic, A->qp[0]);
	CU_ASSERT_TRUE(fw_list_empty(&A->nic->host.sched_qps));
	A->qp[0]->sq_blocked = false;
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_SQD, 0, NULL), 0);
	post(0, 1);
	(void)db_poll(A->nic);
	CU_ASSERT_TRUE(fw_list_empty(&A->nic->host.sched_qps));
	rp_quiet(&rp);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, 0, NULL), 0);
	CU_ASSERT_TRUE(fw_list_linked(&A->qp[0]->sched_node));
	sched_qp_remove(A->nic, A->qp[0]);
	sched_qp_remove(A->nic, A->qp[0]);
	CU_ASSERT_TRUE(fw_list_empty(&A->nic->host.sched_qps));
	sched_qp_add(A->nic, A->qp[0]);
	end(1);
}

UT_MAIN("pair/sched", UT(quanta), UT(budget), UT(lone), UT(membership))
