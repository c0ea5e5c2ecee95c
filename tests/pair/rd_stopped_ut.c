/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows that send nothing, because their queue pair has ended or their memory is gone, beside a
 * session that may send: how many of them a turn looks at. Steps along lists (nic_fw/base/walk.h)
 * and completions are counted; nothing is timed. docs/security.md "Stalls".
 */
#include "tests/pair/rd_pair.h"

enum {
	FLOWS = 1000, /* of one queue pair, each with a request that waits for the window */
	QPS = 200,    /* with a request each, likewise */
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* Makes a queue pair for so many requests. */
static struct fw_qp *make_qp(uint32_t requests)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_create_qp *create = &cmd.u.create_qp;
	struct hw_cmd_resp resp;
	struct fw_qp *qp;

	create->pd = A->pd;
	create->type = HW_QPT_RD;
	create->send_cq = A->scq->index;
	create->recv_cq = A->rcq->index;
	create->srq = HW_SRQ_NONE;
	create->sq_slots = 2 * requests;
	create->max_send_wr = requests;
	create->max_recv_wr = 1;
	create->max_send_sge = 1;
	create->max_recv_sge = 1;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&rp, 0, &cmd, &resp), 0);
	qp = qp_find(A->nic, resp.u.create_qp.qpn);
	rp_rts(&rp, 0, qp);
	return qp;
}

static void flows_of_an_ended_queue_pair(void)
{
	struct fw_qp *qp, to = {0};
	struct hw_qp_attr attr = {0};
	uint64_t most = 0, all = 0;
	struct rd_session *s;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	qp = make_qp(2048);
	rp.filter = rp_drop_all;
	for (i = 0; i < FLOWS; i++) {
		to.qpn = (B->qp[0]->qpn & ~0xffffu) | (1000 + i);
		rp_send(&rp, 0, qp, &to, i, 0, 8);
		if (i % 16 == 15)
			(void)rp_poll(&rp, 0);
	}
	while (A->nic->rd.flows.used < FLOWS)
		(void)rp_poll(&rp, 0);
	s = rp_session(&rp, 0);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, qp, HW_QPS_ERR, 0, &attr), 0);
	/* The window opens, as by an ACK. */
	s->cwnd = WIRE_RD_WINDOW;
	rd_session_ready(A->nic, s);
	while (!fw_list_empty(&s->flows)) {
		fw_walk_steps = 0;
		(void)rp_poll(&rp, 0);
		most = fw_walk_steps > most ? fw_walk_steps : most;
		all += fw_walk_steps;
	}
	CU_ASSERT(all > 0 && most <= 8 * RD_FLOW_LOOKS);
	/* Another queue pair of the process sends. */
	rp.filter = NULL;
	rp_recv(&rp, 1, B->qp[0], 7, 0, 8);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 7, 0, 8);
	rp_run(&rp, 2000000000);
	(void)rp_expect_recv(&rp, 1, 7, HW_STATUS_SUCCESS);
	rp_free(&rp);
}

static void flows_without_memory(void)
{
	static struct fw_qp *qps[QPS];
	struct rp_req req = {.opcode = HW_WQE_SEND, .dst = NULL, .bytes = 8};
	uint32_t i, before, left, most = 0;
	struct rd_session *s;
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_drop_all;
	req.lkey = rp_reg(&rp, 0, A->mem, RP_MEM_BYTES, RP_ALL_ACCESS, true);
	req.dst = B->qp[0];
	for (i = 0; i < QPS; i++) {
		qps[i] = make_qp(16);
		rp_req(&rp, 0, qps[i], &req);
		(void)rp_poll(&rp, 0);
	}
	for (i = 0; i < 50; i++)
		(void)rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(A->nic->rd.flows.used, QPS);
	s = rp_session(&rp, 0);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, req.lkey), 0);
	s->cwnd = WIRE_RD_WINDOW;
	rd_session_ready(A->nic, s);
	left = A->nic->host.wqes.used;
	for (i = 0; i < 50; i++) {
		before = left;
		(void)rp_poll(&rp, 0);
		left = A->nic->host.wqes.used;
		most = before - left > most ? before - left : most;
	}
	CU_ASSERT(most > 0 && most <= 4 * RD_FLOW_LOOKS);
	for (i = 0; rp_scqe(&rp, 0, &cqe); i++)
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT(i > 2 * most);
	rp_free(&rp);
}

UT_MAIN("pair/rd_stopped", UT(flows_of_an_ended_queue_pair), UT(flows_without_memory))
