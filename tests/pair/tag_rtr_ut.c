/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announced receives of tagged endpoints: writes by the sender, order, crossing, cancellation,
 * adaptation, forged envelopes.
 */
#include "tests/pair/tag_pair.h"

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)
#define NIC(e) (tp.rp.end[e].nic)

enum {
	LONG = 20000,
	SINK = 400000,
};

/* Both ends know of each other: nothing is announced to a peer that never sent. */
static void begin_with(const struct hw_cmd_tag_open *open)
{
	tp_begin_with(&tp, open);
	rp_fill(MEM(0), 200000, 4);
	tp_recv(&tp, 1, 1000, 99, 0, 8);
	tp_send(&tp, 0, 1000, 99, 0, 8);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1000, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 1000, HW_STATUS_SUCCESS);
}

static void begin(void)
{
	const struct hw_cmd_tag_open open = {.pool_bytes = TP_POOL_BYTES,
					     .eager_bytes = TP_EAGER_BYTES};

	begin_with(&open);
}

static void announced(void)
{
	struct hw_cqe cqe;
	uint32_t i;

	begin();
	for (i = 0; i < 20; i++) {
		uint32_t room = i % 3 ? LONG : LONG - 100;

		memset(MEM(1) + SINK, 0xee, LONG);
		tp_recv(&tp, 1, i, 1, SINK, room);
		rp_quiet(&tp.rp);
		tp_send_flags(&tp, 0, i, 1, 0, LONG, HW_TSEND_F_DATA | (i & 1), 0);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		cqe = tp_expect(&tp, 1, i, room < LONG ? HW_STATUS_LOC_LEN_ERR : HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.bytes, room);
		CU_ASSERT_EQUAL(cqe.imm_inv, LONG);
		CU_ASSERT_EQUAL(cqe.record_map, ~(uint64_t)i);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, room, 4));
	}
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 20);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced_used, 20);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).rendezvous, 0);
	tp_end(&tp);
}

/* A short message takes the first announced receive that fits; the next long one the second. */
static void mispredicted(void)
{
	begin();
	tp_recv(&tp, 1, 1, 1, SINK, LONG);
	tp_recv(&tp, 1, 2, 1, SINK + LONG, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 2);
	tp_send(&tp, 0, 1, 1, 0, 100);
	tp_send(&tp, 0, 2, 1, 0, LONG);
	tp_send(&tp, 0, 3, 1, 0, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).bytes, 100);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS).bytes, LONG);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced_used, 1);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	tp_recv(&tp, 1, 3, 1, SINK, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* RTR and message cross: the RTR is not used, nor are others until the answer has come. */
static void crossing(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 30; i++) {
		tp_recv(&tp, 1, i, 1, SINK, LONG);
		tp_send(&tp, 0, i, 1, 0, i % 4 == 3 ? 100 : LONG);
		if (i % 2)
			tp_recv(&tp, 1, 100 + i, 2, SINK + LONG, LONG);
		rp_quiet(&tp.rp);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, i, HW_STATUS_SUCCESS).bytes,
				i % 4 == 3 ? 100 : LONG);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		if (i % 2) {
			tp_send(&tp, 0, 100 + i, 2, 0, LONG);
			rp_quiet(&tp.rp);
			tp_expect(&tp, 1, 100 + i, HW_STATUS_SUCCESS);
			tp_expect_sent(&tp, 0, 100 + i, HW_STATUS_SUCCESS);
		}
	}
	tp_end(&tp);
}

/* A receive of any source keeps those behind it from being announced. */
static void any_source(void)
{
	struct tp_op any = {
	    .wr_id = 1, .tag = 1, .flags = HW_TAG_F_ANY_SRC, .offset = SINK, .bytes = LONG};

	begin();
	tp_op(&tp, 1, &any);
	tp_recv(&tp, 1, 2, 1, SINK + LONG, LONG);
	tp_recv(&tp, 1, 3, 3, SINK + 2 * LONG, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 1);
	tp_send(&tp, 0, 3, 3, 0, LONG);
	tp_send(&tp, 0, 1, 1, 0, LONG);
	tp_send(&tp, 0, 2, 1, 0, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* Cancelled, or used: the sender decides, also when it is gone. */
static void cancel(void)
{
	struct tp_op op = {.op = HW_TAG_CANCEL};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		begin();
		op.number = tp_recv(&tp, 1, 1, 1, SINK, LONG);
		rp_quiet(&tp.rp);
		if (i == 1)
			tp_send(&tp, 0, 2, 1, 0, LONG);
		if (i == 2)
			CU_ASSERT_EQUAL(rp_modify(&tp.rp, 0, tp.qp[0], HW_QPS_ERR, 0, NULL), 0);
		if (i == 3) {
			rp_restart(&tp.rp, 0);
			tp.qp[0] = NULL;
		}
		tp_op(&tp, 1, &op);
		tp_op(&tp, 1, &op);
		rp_run(&tp.rp, 2000000000);
		if (i == 1) {
			tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
			tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
		} else {
			CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_WR_FLUSH_ERR).vendor_err,
					HW_VENDOR_ERR_CANCELED);
		}
		if (i == 0) {
			/* The sender has forgotten the announcement. */
			tp_send(&tp, 0, 3, 1, 0, LONG);
			tp_recv(&tp, 1, 3, 1, SINK, LONG);
			rp_quiet(&tp.rp);
			tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
			tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
		}
		tp_end(&tp);
	}
}

static enum bench_verdict no_requests(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->from == 1 && info->ddp ? BENCH_DROP : BENCH_PASS;
}

/*
 * The session is found to be a new one by the message that takes the receive, while a cancellation
 * of it awaits its answer.
 */
static void cancel_in_a_new_session(void)
{
	struct tp_op op = {.op = HW_TAG_CANCEL};
	struct tag_peer *peer;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		begin();
		op.number = tp_recv(&tp, 1, 1, 1, SINK, LONG);
		rp_quiet(&tp.rp);
		tp.rp.filter = no_requests;
		tp_op(&tp, 1, &op);
		rp_run(&tp.rp, 1000);
		peer = NIC(1)->tag.eps[tp.qp[1] - NIC(1)->host.qps].last_peer;
		CU_ASSERT_FATAL(peer && peer->num_announced == 1);
		peer->life--;
		if (i)
			tp_op(&tp, 1, &op);
		else
			tp_send(&tp, 0, 2, 1, 0, 100);
		rp_run(&tp.rp, 20000);
		CU_ASSERT_EQUAL(peer->num_announced, 0);
		tp_expect(&tp, 1, 1, i ? HW_STATUS_WR_FLUSH_ERR : HW_STATUS_SUCCESS);
		if (!i)
			tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
		tp.rp.filter = NULL;
		rp_run(&tp.rp, 2000000000);
		tp_end(&tp);
	}
}

/* A receive whose announcement was refused stands before later ones, which are not announced. */
static void refused(void)
{
	begin();
	tp_recv(&tp, 1, 1, 1, SINK, LONG);
	tp_send(&tp, 0, 5, 2, 0, 8);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 5, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 1);
	tp_recv(&tp, 1, 2, 1, SINK + LONG, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 1);
	tp_send(&tp, 0, 6, 1, 0, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 6, HW_STATUS_SUCCESS);
	tp_send(&tp, 0, 7, 1, 0, LONG);
	tp_recv(&tp, 1, 5, 2, SINK, 8);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 5, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 7, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* Messages that always cross their RTRs: announcing stops, and starts again. */
static void adaptation(void)
{
	uint32_t i, before;

	begin();
	for (i = 0; i < 40; i++) {
		tp_recv(&tp, 1, i, 1, SINK, LONG);
		tp_send(&tp, 0, i, 1, 0, LONG);
		rp_quiet(&tp.rp);
		tp_expect(&tp, 1, i, HW_STATUS_SUCCESS);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
	}
	before = (uint32_t)tp_query(&tp, 1).announced;
	CU_ASSERT(before <= 10);
	for (i = 0; i < 200; i++) {
		tp_recv(&tp, 1, i, 1, SINK, LONG);
		rp_quiet(&tp.rp);
		tp_send(&tp, 0, i, 1, 0, LONG);
		rp_quiet(&tp.rp);
		tp_expect(&tp, 1, i, HW_STATUS_SUCCESS);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
	}
	CU_ASSERT(tp_query(&tp, 1).announced >= before + 100);
	CU_ASSERT(tp_query(&tp, 1).announced_used >= 100);
	tp_end(&tp);
}

/* An endpoint announces nothing, or goes on whatever becomes of it; both at once is refused. */
static void settings(void)
{
	struct hw_cmd_tag_open open = {.pool_bytes = TP_POOL_BYTES, .eager_bytes = TP_EAGER_BYTES};
	uint64_t seen[HW_TAG_OPEN_F_ANNOUNCE_ALWAYS + 1], dropped = 0;

	for (open.flags = 0; open.flags <= HW_TAG_OPEN_F_ANNOUNCE_ALWAYS; open.flags++) {
		begin_with(&open);
		for (uint32_t i = 0; i < 40; i++) {
			tp_recv(&tp, 1, i, 1, SINK, LONG);
			tp_send(&tp, 0, i, 1, 0, LONG);
			rp_quiet(&tp.rp);
			tp_expect(&tp, 1, i, HW_STATUS_SUCCESS);
			tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		}
		seen[open.flags] = tp_query(&tp, 1).announced;
		dropped = NIC(1)->counters.tag_announced_dropped;
		tp_end(&tp);
	}
	CU_ASSERT_EQUAL(dropped, 40);
	CU_ASSERT(seen[0] > 0 && seen[0] <= 10);
	CU_ASSERT_EQUAL(seen[HW_TAG_OPEN_F_NO_ANNOUNCE], 0);
	CU_ASSERT_EQUAL(seen[HW_TAG_OPEN_F_ANNOUNCE_ALWAYS], 40);
}

/* The memory of either end goes away before the message is written. */
static void dereg(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		struct tp_op op = {.wr_id = 1, .tag = 1, .offset = SINK, .bytes = LONG};
		uint32_t stag;

		begin();
		stag = rp_reg(&tp.rp, 1, MEM(1), RP_MEM_BYTES, RP_ALL_ACCESS, true);
		if (e)
			op.lkey = stag;
		tp_op(&tp, 1, &op);
		rp_quiet(&tp.rp);
		if (e) {
			CU_ASSERT_EQUAL(rp_dereg(&tp.rp, 1, stag), 0);
			tp_send(&tp, 0, 2, 1, 0, LONG);
			rp_run(&tp.rp, 100000000);
			tp_expect(&tp, 1, 1, HW_STATUS_LOC_PROT_ERR);
			tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_ACCESS_ERR);
		} else {
			CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, NULL), 0);
			rp_quiet(&tp.rp);
			tp_expect(&tp, 1, 1, HW_STATUS_WR_FLUSH_ERR);
			tp_send(&tp, 0, 2, 1, 0, LONG);
			rp_run(&tp.rp, 100000000);
			tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_OP_ERR);
		}
		tp_end(&tp);
	}
}

static uint32_t packets;

static enum bench_verdict lossy(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	(void)info;
	return fw_hash(++packets, 7, 0) % 6 ? BENCH_PASS : BENCH_DROP;
}

/* Loss, all protocols, some order of posting: each receive gets the message of its turn. */
static void loss(void)
{
	uint32_t i, round, x = 1;

	for (round = 0; round < 10; round++) {
		uint32_t length[40], sent = 0, posted = 0;

		begin();
		tp.rp.filter = lossy;
		while (sent < 40 || posted < 40) {
			x = x * 1103515245u + 12345u;
			if (x >> 16 & 1 && sent < 40) {
				length[sent] = x >> 17 & 1 ? 9000 : 300;
				tp_send(&tp, 0, sent, 1, sent * 100, length[sent]);
				sent++;
			} else if (posted < 40) {
				tp_recv(&tp, 1, posted, 1, SINK + posted * 10000, 10000);
				posted++;
			}
			rp_run(&tp.rp, x >> 20 & 0x3ffff);
		}
		rp_run(&tp.rp, 3000000000);
		tp.rp.filter = NULL;
		rp_quiet(&tp.rp);
		for (i = 0; i < 40; i++) {
			struct hw_cqe cqe;

			CU_ASSERT_FATAL(rp_scqe(&tp.rp, 0, &cqe));
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
			CU_ASSERT_FATAL(rp_rcqe(&tp.rp, 1, &cqe));
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(cqe.bytes, length[cqe.wr_id]);
			CU_ASSERT_EQUAL(memcmp(MEM(1) + SINK + cqe.wr_id * 10000,
					       MEM(0) + cqe.wr_id * 100, cqe.bytes),
					0);
		}
		tp_end(&tp);
	}
}

static enum bench_verdict begin_of_write(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->from || !info->ddp || packets++ < 3 ? BENCH_PASS : BENCH_DROP;
}

/* End 1 has two announced receives, and end 0 has written to the first one in part. */
static void write_in_part(void)
{
	begin();
	tp_recv(&tp, 1, 1, 1, SINK, LONG);
	tp_recv(&tp, 1, 2, 1, SINK + LONG, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 2);
	packets = 0;
	tp.rp.filter = begin_of_write;
	tp_send(&tp, 0, 3, 1, 0, LONG);
	rp_run(&tp.rp, 1000);
	CU_ASSERT(packets > 3);
	CU_ASSERT_FALSE(fw_list_empty(&rp_session(&tp.rp, 1)->tag_written));
	tp.rp.filter = NULL;
}

static void end_writer(void)
{
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 0, tp.qp[0], HW_QPS_ERR, 0, NULL), 0);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
}

/* The writer's NIC is gone: the receive ends, and the one to which nothing was written stays. */
static void writer_restarts(void)
{
	struct hw_cqe cqe;

	write_in_part();
	rp_restart(&tp.rp, 0);
	rp_run(&tp.rp, 20000000000);
	tp_expect(&tp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_FALSE(rp_rcqe(&tp.rp, 1, &cqe));
	tp_check(&tp, 1, 1, 0, 0);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, NULL), 0);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 2, HW_STATUS_WR_FLUSH_ERR);
	tp_end(&tp);
}

/* The writer has ended, and its NIC has not: a cancellation finds that out. */
static void writer_ends(void)
{
	struct tp_op op = {.op = HW_TAG_CANCEL};

	write_in_part();
	end_writer();
	op.number = 0;
	tp_op(&tp, 1, &op);
	op.number = 1;
	tp_op(&tp, 1, &op);
	op.number = 2;
	tp_op(&tp, 1, &op);
	rp_run(&tp.rp, 2000000000);
	tp_expect(&tp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_WR_FLUSH_ERR).vendor_err,
			HW_VENDOR_ERR_CANCELED);
	tp_end(&tp);
}

/*
 * The next endpoint of the same number sends: its message takes the receive to which nothing was
 * written, and the other one ends.
 */
static void writer_returns(void)
{
	write_in_part();
	end_writer();
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 0, tp.qp[0], HW_QPS_RESET, 0, NULL), 0);
	rp_quiet(&tp.rp);
	rp_rts(&tp.rp, 0, tp.qp[0]);
	tp_send(&tp, 0, 4, 1, 50000, 100);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 4, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS).bytes, 100);
	CU_ASSERT_EQUAL(memcmp(MEM(1) + SINK + LONG, MEM(0) + 50000, 100), 0);
	tp_expect(&tp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	tp_end(&tp);
}

/* The endpoint ends with such a receive, before the turn in which that would have ended. */
static void lost_and_flushed(void)
{
	struct tag_ep *ep;

	write_in_part();
	ep = &NIC(1)->tag.eps[tp.qp[1] - NIC(1)->host.qps];
	tag_rtr_lose(
	    NIC(1), ep,
	    FW_CONTAINER(rp_session(&tp.rp, 1)->tag_written.next, struct tag_posted, written));
	CU_ASSERT_EQUAL(ep->match.num_posted, 1);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, NULL), 0);
	rp_run(&tp.rp, 2000000000);
	tp_expect(&tp, 1, 2, HW_STATUS_WR_FLUSH_ERR);
	tp_expect(&tp, 1, 1, HW_STATUS_WR_FLUSH_ERR);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_REM_OP_ERR);
	tp_end(&tp);
}

UT_MAIN("pair/tag_rtr", UT(announced), UT(mispredicted), UT(crossing), UT(any_source), UT(cancel),
	UT(cancel_in_a_new_session), UT(refused), UT(adaptation), UT(settings), UT(dereg), UT(loss),
	UT(writer_restarts), UT(writer_ends), UT(writer_returns), UT(lost_and_flushed))
