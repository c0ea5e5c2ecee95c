/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in, from peers that lie or fail: the edges of the window, predecessors that do not exist,
 * classes, queue pairs that are not ready or gone, void PSNs. rd_rx_ut.c has the orders of arrival.
 */
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

enum {
	DST = 512 * 1024,
};

static struct rp rp;

static struct rp_info kept(uint32_t i)
{
	return rp_info_of(&rp.wire.kept[i], !rp.wire.kept[i].to);
}

/* A kept packet with another PSN and distance. */
static void deliver_as(uint32_t k, uint32_t psn, uint16_t distance)
{
	struct rp_info info = kept(k);
	struct be32 old_psn = info.rd->psn;
	struct be16 old_distance = info.rd->flow_distance;

	info.rd->psn = be32_put(psn);
	info.rd->flow_distance = be16_put(distance);
	rp_reseal(info.frame);
	/* Credits do not matter here. */
	rp_session(&rp, 1)->rx_taken = rp_session(&rp, 1)->rx_used;
	bench_wire_deliver(&rp.wire, k);
	info.rd->psn = old_psn;
	info.rd->flow_distance = old_distance;
	rp_reseal(info.frame);
	rp_poll(&rp, 1);
}

static uint32_t keep_one_write(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[0], .bytes = 8};
	uint32_t psn = rp_session(&rp, 0)->tx_psn;

	rp.filter = rp_keep_data;
	rp_req(&rp, 0, rp.end[0].qp[0], &req);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	return psn;
}

static void edges_of_the_window(void)
{
	struct rd_session *s;
	uint32_t psn;

	rp_begin(&rp);
	rp_open(&rp);
	psn = keep_one_write();
	s = rp_session(&rp, 1);
	CU_ASSERT_EQUAL_FATAL(s->rx_psn, psn);
	deliver_as(0, psn + WIRE_RD_WINDOW, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_window), 1);
	deliver_as(0, psn + 0x7fffffff, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_window), 2);
	CU_ASSERT_EQUAL(s->rx_high, psn);
	deliver_as(0, psn - 1, 0);
	deliver_as(0, psn - 0x80000000, 0);
	deliver_as(0, psn - WIRE_RD_WINDOW, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_duplicates), 3);
	deliver_as(0, psn, WIRE_RD_WINDOW);
	deliver_as(0, psn, 0xffff);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_malformed), 2);
	CU_ASSERT_EQUAL(s->rx_psn, psn);
	/* The last place of the window, without a predecessor: delivered at once. */
	deliver_as(0, psn + WIRE_RD_WINDOW - 1, 0);
	CU_ASSERT_EQUAL(s->rx_high, psn + WIRE_RD_WINDOW);
	CU_ASSERT_EQUAL(s->rx_psn, psn);
	CU_ASSERT_TRUE(rd_bit(&s->delivered, psn + WIRE_RD_WINDOW - 1));
	/* A predecessor that was settled long ago. */
	deliver_as(0, psn, WIRE_RD_WINDOW - 1);
	CU_ASSERT_EQUAL(s->rx_psn, psn + 1);
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rd_session_fail(rp.end[1].nic, s, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
}

/* Packets that name the same predecessor, or each other: no context is lost by them. */
static void lies_about_predecessors(void)
{
	uint32_t psn, i, d;
	struct rd_session *s;

	rp_begin(&rp);
	rp_open(&rp);
	psn = keep_one_write();
	s = rp_session(&rp, 1);
	for (i = 1; i < 12; i++)
		deliver_as(0, psn + i, (uint16_t)i);
	CU_ASSERT_EQUAL(rp.end[1].nic->rd.held.used, s->held_count);
	CU_ASSERT_TRUE(s->held_count >= 1);
	deliver_as(0, psn, 0);
	CU_ASSERT_EQUAL(rp.end[1].nic->rd.held.used, 0);
	CU_ASSERT_PTR_NULL(s->rx);
	/* All that arrived is settled by now; the rest arrives again. */
	for (i = 1; i < 12; i++)
		deliver_as(0, psn + i, 0);
	CU_ASSERT_EQUAL(s->rx_psn, psn + 12);
	/* Every distance at every place of a window, backwards and then forwards, twice. */
	for (d = 1; d < WIRE_RD_WINDOW; d += 7) {
		uint32_t base = s->rx_psn;

		for (i = WIRE_RD_WINDOW - 1; i; i--)
			deliver_as(0, base + i, (uint16_t)((i * d) % WIRE_RD_WINDOW));
		for (i = 0; i < WIRE_RD_WINDOW; i++)
			deliver_as(0, base + i, (uint16_t)(d % 3));
		for (i = 0; i < WIRE_RD_WINDOW; i++)
			deliver_as(0, base + i, 0);
		CU_ASSERT_EQUAL(s->rx_psn, base + WIRE_RD_WINDOW);
		CU_ASSERT_EQUAL(rp.end[1].nic->rd.held.used, 0);
		CU_ASSERT_EQUAL(s->held_count, 0);
	}
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rd_session_fail(rp.end[1].nic, s, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
}

/* The class of a packet follows from its opcode: a request marked as response is ignored. */
static void class_must_fit(void)
{
	struct rp_info info;

	rp_begin(&rp);
	rp_open(&rp);
	(void)keep_one_write();
	rp.end[1].mem[0] = 1;
	info = kept(0);
	info.dgram->flags |= WIRE_DGRAM_F_RESPONSE;
	info.dgram->qkey = be32_put(RP_QKEY + 1);
	rp_reseal(info.frame);
	bench_wire_deliver(&rp.wire, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(rp.end[1].mem[0], 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_ddp_malformed), 1);
	/*
	 * With a wrong Q_Key and in its own class it is an error, which is reported to the sender.
	 */
	info.dgram->flags &= (uint8_t)~WIRE_DGRAM_F_RESPONSE;
	rp_reseal(info.frame);
	bench_wire_deliver(&rp.wire, 0);
	rp.filter = NULL;
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(rp.end[1].mem[0], 1);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_INV_REQ_ERR);
	rp_end(&rp);
}

/* A QP that is not ready makes its peers wait; one that does not exist is reported. */
static void qp_not_ready(void)
{
	struct fw_qp *late;

	rp_begin(&rp);
	late = rp_qp(&rp, 1, HW_QPT_RD, 1);
	rp_send(&rp, 0, rp.end[0].qp[0], late, 1, 0, 10);
	rp_run(&rp, 20000000);
	rp_expect_none(&rp);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_rnr_backoffs) > 5);
	rp_rts(&rp, 1, late);
	rp_recv(&rp, 1, late, 9, 0, 10);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 9, HW_STATUS_SUCCESS);
	rp_send(&rp, 0, rp.end[0].qp[0], late, 2, 0, 10);
	rp_destroy_qp(&rp, 1, late);
	rp_run(&rp, 2 * QP_GRACE_NS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_OP_ERR);
	CU_ASSERT_EQUAL(rp.end[0].qp[0]->state, HW_QPS_RTS);
	rp_end(&rp);
}

/* The QP is destroyed while its packets are lost: void PSNs move the window for the others. */
static void voids(void)
{
	struct rp_end *a, *b;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	a = &rp.end[0];
	b = &rp.end[1];
	rp.filter = rp_drop_data;
	for (i = 0; i < 5; i++) {
		rp_send(&rp, 0, a->qp[0], b->qp[0], i, 0, 3000);
		rp_settle(&rp);
	}
	rp_destroy_qp(&rp, 0, a->qp[0]);
	rp.filter = NULL;
	rp_recv(&rp, 1, b->qp[1], 7, DST, 4096);
	rp_send(&rp, 0, a->qp[1], b->qp[1], 6, 0, 100);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 7, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_voids), 15);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, rp_session(&rp, 0)->tx_psn);
	/* After more than a window no packet is marked refused. */
	for (i = 0; i < 140; i++) {
		struct rp_req req = {.opcode = HW_WQE_WRITE, .dst = b->qp[1], .unsignaled = true};

		rp_req(&rp, 0, a->qp[1], &req);
		rp_settle(&rp);
	}
	rp_quiet(&rp);
	CU_ASSERT_FALSE(rp_session(&rp, 1)->any_refused);
	rp_end(&rp);
}

/*
 * A request fails at its own end while its packet is lost, after one that is still under way: the
 * later ones are delivered nevertheless, once.
 */
static void void_before_held(void)
{
	struct rp_end *a, *b;
	struct rp_req req;
	uint32_t first, stag;

	rp_begin(&rp);
	rp_open(&rp);
	a = &rp.end[0];
	b = &rp.end[1];
	stag = rp_reg(&rp, 1, b->mem + 4096, 4096, RP_ALL_ACCESS, true);
	/*
	 * The responder's memory is deregistered while its response is lost; a second response
	 * follows.
	 */
	req = (struct rp_req){.opcode = HW_WQE_READ,
			      .wr_id = 1,
			      .dst = b->qp[0],
			      .offset = 0,
			      .bytes = 64,
			      .remote_offset = 4096,
			      .rkey = stag};
	first = rp_session(&rp, 1)->tx_psn;
	rp_req(&rp, 0, a->qp[0], &req);
	req.wr_id = 2;
	req.offset = 100;
	req.remote_offset = 100;
	req.rkey = b->stag;
	rp_fill(b->mem + 100, 64, 5);
	rp_req(&rp, 0, a->qp[0], &req);
	rp_poll(&rp, 0);
	rp_poll(&rp, 1);
	/* Both responses are in the requester's inbox: the first one is dropped. */
	CU_ASSERT_FATAL(a->port.inbox_count >= 2);
	CU_ASSERT_EQUAL(rp_info_of(&a->port.inbox[0], 1).psn, first);
	bench_port_drop(&a->port, 0);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(a->mem + 100, 64, 5));
	CU_ASSERT_EQUAL(a->mem[0], 0);
	rp_end(&rp);
}

UT_MAIN("pair/rd_rx_peer", UT(edges_of_the_window), UT(lies_about_predecessors), UT(class_must_fit),
	UT(qp_not_ready), UT(voids), UT(void_before_held))
