/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send requests that have to wait: fences, limits of reads, contexts and flows that are all in use
 * or shared with other processes.
 */
#include "tests/pair/wqe_fix.h"

static void read_of(uint64_t wr_id, uint8_t flags)
{
	struct rp_req req = {.opcode = HW_WQE_READ,
			     .flags = flags,
			     .wr_id = wr_id,
			     .dst = B->qp[0],
			     .bytes = 8,
			     .remote_offset = 4096};

	rp_req(&rp, 0, A->qp[0], &req);
}

static void release(void)
{
	uint32_t i;

	for (i = 0; i < rp.wire.num_kept; i++)
		bench_wire_deliver(&rp.wire, i);
	bench_wire_forget(&rp.wire);
	rp_settle(&rp);
}

/* A fenced request waits for earlier reads and atomics, others do not. */
static void fence(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};

	begin();
	req.dst = B->qp[0];
	rp.filter = rp_keep_answers;
	A->mem[0] = 1;
	read_of(1, 0);
	req.wr_id = 2;
	req.remote_offset = 100;
	rp_req(&rp, 0, A->qp[0], &req);
	req.wr_id = 3;
	req.flags = HW_WQE_F_FENCE;
	req.remote_offset = 200;
	rp_req(&rp, 0, A->qp[0], &req);
	req.wr_id = 4;
	req.flags = 0;
	req.remote_offset = 300;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(B->mem[100], 1);
	CU_ASSERT_EQUAL(B->mem[200], 0);
	CU_ASSERT_EQUAL(B->mem[300], 0);
	CU_ASSERT_TRUE(A->qp[0]->sq_blocked);
	A->mem[0] = 0;
	rp_expect_none(&rp);
	release();
	rp.filter = NULL;
	rp_quiet(&rp);
	CU_ASSERT_FALSE(A->qp[0]->sq_blocked);
	for (req.wr_id = 1; req.wr_id <= 4; req.wr_id++)
		rp_expect_send(&rp, 0, req.wr_id, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* No more reads and atomics are under way than the QP was set up for. */
static void read_limit(void)
{
	struct hw_qp_attr attr = {.max_rd_atomic = 3};
	uint64_t i, left = 10;

	begin();
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_MAX_QP_RD_ATOMIC, &attr), 0);
	rp.filter = rp_keep_answers;
	for (i = 0; i < left; i++)
		read_of(i, 0);
	rp_settle(&rp);
	for (i = 0; left;) {
		uint32_t now = left < 3 ? (uint32_t)left : 3;

		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, now);
		CU_ASSERT_EQUAL(A->qp[0]->rd_atomics, now);
		release();
		for (left -= now; now; now--)
			rp_expect_send(&rp, 0, i++, HW_STATUS_SUCCESS);
	}
	rp.filter = NULL;
	rp_end(&rp);
}

/* Without a context the request waits; neither it nor its number is lost. */
static void no_context(void)
{
	struct fw_pool *pools[3];
	uint32_t p, ssn;

	begin();
	pools[0] = &A->nic->host.wqes;
	pools[1] = &A->nic->rd.flows;
	pools[2] = &A->nic->host.wqe_exts;
	for (p = 0; p < 3; p++) {
		uint32_t max = pools[p]->max, list = pools[p]->free;
		struct hw_sq_wqe wqe = good_send();
		struct hw_sge sge[6];
		uint32_t i;

		for (i = 0; i < 6; i++)
			sge[i] = good_sge();
		wqe.opcode = HW_WQE_WRITE;
		wqe.num_sge = 6;
		wqe.slots = 3;
		pools[p]->max = pools[p]->high;
		pools[p]->free = FW_NONE;
		ssn = A->qp[0]->ssn;
		rp_write_sq(A->qp[0], &wqe, sge, sizeof(sge));
		rp_ring(&rp, 0, A->qp[0]);
		rp_poll(&rp, 0);
		rp_poll(&rp, 0);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(A->qp[0]->ssn, ssn);
		pools[p]->max = max;
		pools[p]->free = list;
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 77, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(A->qp[0]->ssn, ssn + 1);
	}
	rp_end(&rp);
}

/*
 * So does a request that will be refused: its SGEs are copied once, into the context, before they
 * are checked. It keeps no extension.
 */
static void no_extension_for_a_wrong_key(void)
{
	struct fw_pool *exts;
	struct hw_sq_wqe wqe;
	struct hw_sge sge[6];
	struct hw_cqe cqe;
	uint32_t max, i;

	begin();
	exts = &A->nic->host.wqe_exts;
	max = exts->max;
	for (i = 0; i < 6; i++)
		sge[i] = good_sge();
	sge[5].lkey ^= 2;
	wqe = good_send();
	wqe.num_sge = 6;
	wqe.slots = 3;
	exts->max = exts->high;
	rp_write_sq(A->qp[0], &wqe, sge, sizeof(sge));
	rp_ring(&rp, 0, A->qp[0]);
	rp_poll(&rp, 0);
	rp_expect_none(&rp);
	exts->max = max;
	rp_quiet(&rp);
	CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 77);
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(exts->used, 0);
	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
	rp_end(&rp);
}

/* Takes all that a second process of this user gets of the rest. */
static uint32_t second_process_gets(struct fw_account *user)
{
	struct fw_wqe *wqe[30];
	struct fw_qp other = *A->qp[0];
	uint32_t n = 0, i;

	other.client = 1;
	A->nic->host.clients[1].share = &A->nic->share.holders[1];
	A->nic->share.holders[1].user = user;
	while (n < 30 && (wqe[n] = wqe_alloc(A->nic, &other, FW_WQE_REQUEST)))
		n++;
	for (i = 0; i < n; i++)
		wqe_free(A->nic, wqe[i]);
	CU_ASSERT_EQUAL(A->nic->host.clients[1].wqes_held, 0);
	A->nic->share.holders[1].user = NULL;
	A->nic->host.clients[1].share = NULL;
	return n;
}

/*
 * A process whose peer accepts nothing: it gets two thirds of the contexts, and waiting requests
 * continue.
 */
static void one_process_takes_not_all_contexts(void)
{
	struct fw_pool *pool;
	uint32_t max, i;

	begin();
	pool = &A->nic->host.wqes;
	max = pool->max;
	CU_ASSERT_FATAL(pool->high <= 30);
	pool->max = 30;
	for (i = 0; i < 40; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 64);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(A->qp[0]->outstanding, 20);
	CU_ASSERT_EQUAL(A->nic->host.clients[A->client].wqes_held, 20);
	CU_ASSERT_TRUE(A->nic->counters.wqes_share_refused > 0);
	/* A process gets two thirds of what is left, a user three quarters of all. */
	CU_ASSERT_EQUAL(second_process_gets(&A->nic->share.users[HW_MAX_CLIENTS - 1]), 7);
	CU_ASSERT_EQUAL(second_process_gets(A->nic->host.clients[A->client].share->user), 3);
	for (i = 0; i < 40; i++)
		rp_recv(&rp, 1, B->qp[0], i, 4096, 64);
	rp_run(&rp, 10000000);
	for (i = 0; i < 40; i++) {
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(A->nic->host.clients[A->client].wqes_held, 0);
	pool->max = max;
	rp_end(&rp);
}

/* The same for flows: one message to each of many queue pairs takes as many flows. */
static void one_process_takes_not_all_flows(void)
{
	struct hw_sge sge;
	struct hw_sq_wqe wqe;
	struct fw_pool *pool;
	uint32_t max, i;

	begin();
	sge = good_sge();
	wqe = good_send();
	pool = &A->nic->rd.flows;
	max = pool->max;
	CU_ASSERT_FATAL(pool->high <= 9);
	pool->max = 9;
	rp.filter = rp_drop_all;
	for (i = 0; i < 9; i++) {
		wqe.dst_qpn = B->qp[0]->qpn + i;
		rp_write_sq(A->qp[0], &wqe, &sge, sizeof(sge));
	}
	rp_ring(&rp, 0, A->qp[0]);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(pool->used, 6);
	CU_ASSERT_EQUAL(A->nic->host.clients[A->client].flows_held, 6);
	CU_ASSERT_TRUE(A->nic->counters.rd_flows_share_refused > 0);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RESET, 0, NULL), 0);
	CU_ASSERT_EQUAL(A->nic->host.clients[A->client].flows_held, 0);
	pool->max = max;
	rp.filter = NULL;
	rp_end(&rp);
}

UT_MAIN("pair/wqe_limit", UT(fence), UT(read_limit), UT(no_context),
	UT(no_extension_for_a_wrong_key), UT(one_process_takes_not_all_contexts),
	UT(one_process_takes_not_all_flows))
