/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions that only a HELLO has opened, which may be a copy of an old one: nothing is sent to that
 * epoch before the peer has shown that it is in it. rd_timer.c, rd_timer_probe_credit().
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* The HELLO with a cookie that opened the session. */
static uint32_t kept_to(uint32_t to)
{
	uint32_t k;

	for (k = 0; k < rp.wire.num_kept; k++)
		if (rp.wire.kept[k].to == to &&
		    be64_get(rp_info_of(&rp.wire.kept[k], !to).hello->cookie) != 0)
			return k;
	CU_FAIL_FATAL("no HELLO to that end");
	return 0;
}

/* An end drops the session for lack of room; its secret stays the same. */
static void forget(uint32_t e)
{
	rd_session_release(rp.end[e].nic, rp_session(&rp, e));
	CU_ASSERT_PTR_NULL(rp_session(&rp, e));
}

static enum bench_verdict drop_probes(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 1 && info->type == WIRE_DGRAM_RD_PROBE ? BENCH_DROP : BENCH_PASS;
}

static void add_back(uint64_t wr_id)
{
	struct rp_req req = {.opcode = HW_WQE_FETCH_ADD,
			     .wr_id = wr_id,
			     .bytes = 8,
			     .compare_add = 1,
			     .remote_offset = 64};

	req.dst = A->qp[0];
	rp_req(&rp, 1, B->qp[0], &req);
}

/*
 * An old HELLO opens a session that the peer does not know. The peer reports that, and the data is
 * sent again in the real session, once.
 */
static void unconfirmed(void)
{
	uint32_t old, i;

	rp_begin(&rp);
	rp.filter = rp_copy_hellos;
	rp_open(&rp);
	rp.filter = NULL;
	old = kept_to(1); /* from A, of its first life */
	rp_restart(&rp, 0);
	forget(1);
	bench_wire_deliver(&rp.wire, old);
	rp_settle(&rp);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rp_session(&rp, 1));
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->state, RD_OPEN);
	CU_ASSERT_FALSE(rp_session(&rp, 1)->confirmed);
	for (i = 0; i < 3; i++)
		add_back(i);
	rp_quiet(&rp);
	for (i = 0; i < 3; i++)
		rp_expect_send(&rp, 1, i, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, atomics_executed), 3);
	CU_ASSERT_TRUE(rp_session(&rp, 1)->confirmed);
	rp_end(&rp);
}

/*
 * One end has dropped the session and greets the other with a HELLO. The other is still in that
 * session, and PSNs are alike: packets of the first end must not be taken for those of the old
 * session and then be repeated. The sender of the HELLO was idle, or has data to send.
 */
static void forgot_and_greeted_late(void)
{
	struct rd_session *s;
	uint32_t busy, old, i;

	for (busy = 0; busy < 2; busy++) {
		rp_begin(&rp);
		rp.filter = rp_copy_hellos;
		rp_open(&rp);
		rp.filter = NULL;
		old = kept_to(1);
		forget(1);
		/* The probe that brings its first credits would show at once that it is late. */
		rp.filter = drop_probes;
		bench_wire_deliver(&rp.wire, old);
		rp_settle(&rp);
		rp.filter = NULL;
		CU_ASSERT_EQUAL_FATAL(rp_session(&rp, 1)->state, RD_OPEN);
		CU_ASSERT_FALSE(rp_session(&rp, 1)->confirmed);
		CU_ASSERT_EQUAL(rp_session(&rp, 1)->peer_epoch, rp_session(&rp, 0)->epoch);
		s = rp_session(&rp, 1);
		s->tx_psn = s->tx_una = s->first_psn = rp_session(&rp, 0)->rx_psn;
		for (i = 0; i < 3; i++)
			add_back(i);
		if (busy) {
			struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 7, .dst = B->qp[0]};

			rp_req(&rp, 0, A->qp[0], &req);
		}
		rp_run(&rp, 100000000);
		for (i = 0; i < 3; i++)
			rp_expect_send(&rp, 1, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, atomics_executed), 3);
		CU_ASSERT_TRUE(rp_session(&rp, 1)->confirmed);
		if (busy) {
			struct hw_cqe cqe;

			CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
		}
		rp_end(&rp);
	}
}

/* A peer that has greeted us is silent from then on: our requests fail as with any silent peer. */
static void greeted_and_left_alone(void)
{
	struct hw_qp_attr attr = {.timeout = 10, .retry_cnt = 3}; /* 16.8 ms */
	uint32_t old;

	rp_begin(&rp);
	rp.filter = rp_copy_hellos;
	rp_open(&rp);
	old = kept_to(1);
	forget(1);
	bench_wire_deliver(&rp.wire, old);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 1, B->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
	rp.filter = drop_probes;
	add_back(1);
	rp_run(&rp, 16000000);
	rp_expect_none(&rp);
	rp_run(&rp, 50000000);
	rp_expect_send(&rp, 1, 1, HW_STATUS_RETRY_EXC_ERR);
	/* Without a limit of its own a request ends with the last probe. */
	attr = (struct hw_qp_attr){0};
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[1], HW_QPS_RTS, HW_QP_TIMEOUT, &attr), 0);
	{
		struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 2, .bytes = 8};

		req.dst = A->qp[0];
		rp_req(&rp, 1, B->qp[1], &req);
	}
	rp_run(&rp, UINT64_C(20000000000));
	rp_expect_send(&rp, 1, 2, HW_STATUS_RETRY_EXC_ERR);
	rp.filter = NULL;
	add_back(3);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, atomics_executed), 1);
	rp_end(&rp);
}

/*
 * An old HELLO greets an end that has restarted: its cookie is from another secret, so nothing
 * follows.
 */
static void restarted_and_greeted_late(void)
{
	uint32_t old;

	rp_begin(&rp);
	rp.filter = rp_copy_hellos;
	rp_open(&rp);
	rp.filter = NULL;
	old = kept_to(1);
	rp_restart(&rp, 1);
	bench_wire_deliver(&rp.wire, old);
	rp_run(&rp, 20000000);
	bench_wire_deliver(&rp.wire, old);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_neigh), 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_challenges_tx), 1);
	CU_ASSERT_PTR_NULL(rp_session(&rp, 1));
	add_back(1);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

UT_MAIN("pair/rd_greet", UT(restarted_and_greeted_late), UT(unconfirmed),
	UT(forgot_and_greeted_late), UT(greeted_and_left_alone))
