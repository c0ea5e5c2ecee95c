/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of connections over TCP: queue pairs at both ends, connections, their end.
 */
#ifndef WEFT_TESTS_PAIR_CM_TCP_FIX_H
#define WEFT_TESTS_PAIR_CM_TCP_FIX_H

#include "tests/pair/cm_pair.h"

static struct cp cp;
static struct fw_qp *qa, *qb;

static inline void begin(void)
{
	cp_begin(&cp);
	rp_open(&cp.rp);
	qa = cp_tcp_qp(&cp, 0);
	qb = cp_tcp_qp(&cp, 1);
}

static inline void run(uint64_t ms)
{
	rp_run(&cp.rp, ms * CP_MS);
}

/* Runs a connection up to stage: 0 requested, 1 received, 2 accepted, 3 established. */
static inline void bring_to(uint32_t stage, uint16_t mpa_a, uint16_t mpa_b)
{
	(void)cp_tcp_listen(&cp, mpa_b, 0);
	cp.a = cp_tcp_ask(&cp, qa->qpn, mpa_a);
	run(100);
	if (stage > 0)
		cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	if (stage > 1)
		CU_ASSERT_EQUAL(cp_accept(&cp, 1, cp.b, qb->qpn), 0);
	run(100);
	if (stage > 1)
		(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_RESPONSE);
	if (stage > 2) {
		CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cp.a), 0);
		run(100);
	}
}

static inline void connected(uint16_t mpa_a, uint16_t mpa_b)
{
	begin();
	bring_to(3, mpa_a, mpa_b);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.eps[cp.a].state, CM_ESTABLISHED);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->cm.eps[cp.b].state, CM_ESTABLISHED);
}

static inline void send_one(uint32_t from, uint64_t wr_id, uint32_t bytes)
{
	rp_fill(cp.rp.end[from].mem, bytes, (uint32_t)wr_id);
	memset(cp.rp.end[!from].mem + 65536, 0, bytes);
	rp_recv(&cp.rp, !from, from ? qa : qb, wr_id, 65536, 65536);
	rp_send(&cp.rp, from, from ? qb : qa, NULL, wr_id, 0, bytes);
	run(300);
	rp_expect_send(&cp.rp, from, wr_id, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(rp_expect_recv(&cp.rp, !from, wr_id, HW_STATUS_SUCCESS).bytes, bytes);
	CU_ASSERT_TRUE(rp_filled(cp.rp.end[!from].mem + 65536, bytes, (uint32_t)wr_id));
}

/* Both processes disconnect: both are notified of the end, both queue pairs are in ERR. */
static inline void ended(void)
{
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_DISCONNECTED);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(qb->state, HW_QPS_ERR);
	CU_ASSERT_PTR_NULL(qa->mpa);
	CU_ASSERT_PTR_NULL(qb->mpa);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->mpa.conns.used, 0);
	CU_ASSERT_EQUAL(cp.rp.end[1].nic->mpa.conns.used, 0);
}

#endif /* WEFT_TESTS_PAIR_CM_TCP_FIX_H */
