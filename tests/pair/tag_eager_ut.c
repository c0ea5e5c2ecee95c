/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eager messages of tagged endpoints: matching in order, unexpected ones, truncation, buffers of
 * many messages, peek, claim, discard, cancel, loss and reordering on the wire.
 */
#include "tests/pair/tag_pair.h"

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)

static void fill(uint32_t bytes)
{
	rp_fill(MEM(0), bytes, 7);
}

/* A posted receive takes the message; its bytes go there without the pool. */
static void posted(void)
{
	static const uint32_t lengths[] = {0, 1, 8, 1000, 1388, 1389, 4000, TP_EAGER_BYTES};
	struct hw_cqe cqe;
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct tp_op op = {
		    .wr_id = i, .tag = 5, .offset = 70000, .bytes = 8192, .num_sge = 1 + i % 3};

		fill(lengths[i]);
		memset(MEM(1) + 70000, 0xee, 8192);
		tp_op(&tp, 1, &op);
		rp_settle(&tp.rp);
		CU_ASSERT_EQUAL(tp_query(&tp, 1).posted, 1);
		tp_send_flags(&tp, 0, 100 + i, 5, 0, lengths[i], HW_TSEND_F_DATA, 0);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, 100 + i, HW_STATUS_SUCCESS);
		cqe = tp_expect(&tp, 1, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.opcode, HW_CQE_TRECV);
		CU_ASSERT_EQUAL(cqe.bytes, lengths[i]);
		CU_ASSERT_EQUAL(cqe.imm_inv, lengths[i]);
		CU_ASSERT_EQUAL(cqe.record_to, 5);
		CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_IMM);
		CU_ASSERT_EQUAL(cqe.record_map, ~(uint64_t)(100 + i));
		CU_ASSERT_EQUAL(cqe.src_qpn, tp.qp[0]->qpn);
		CU_ASSERT_EQUAL(cqe.src_ip, tp.rp.end[0].nic->config.ip);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + 70000, lengths[i], 7));
		CU_ASSERT_EQUAL(MEM(1)[70000 + lengths[i]], 0xee);
	}
	CU_ASSERT_EQUAL(tp.rp.end[1].nic->tag.eps[tp.qp[1] - tp.rp.end[1].nic->host.qps].pool.high,
			0);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).matched_posted, i);
	tp_end(&tp);
}

/* Messages before their receives; the first that fits goes first. */
static void unexpected(void)
{
	uint32_t i;

	tp_begin(&tp);
	fill(8192);
	for (i = 0; i < 8; i++)
		tp_send(&tp, 0, i, i % 2, i * 512, 500 + i);
	tp_send(&tp, 0, 8, 9, 0, 4000);
	rp_quiet(&tp.rp);
	for (i = 0; i < 9; i++)
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 9);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).pool_used_bytes, 8 * 512 + 4096);
	for (i = 0; i < 4; i++) {
		tp_recv(&tp, 1, 10 + i, 1, 100000, 600);
		rp_settle(&tp.rp);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, 10 + i, HW_STATUS_SUCCESS).bytes, 501 + 2 * i);
		CU_ASSERT_EQUAL(memcmp(MEM(1) + 100000, MEM(0) + (2 * i + 1) * 512, 501 + 2 * i),
				0);
	}
	tp_recv(&tp, 1, 20, 9, 100000, 8000);
	for (i = 0; i < 4; i++) {
		struct tp_op op = {.wr_id = 30 + i,
				   .tag = 77,
				   .ignore = ~UINT64_C(0),
				   .flags = HW_TAG_F_ANY_SRC,
				   .offset = 110000,
				   .bytes = 600};

		tp_op(&tp, 1, &op);
	}
	rp_settle(&tp.rp);
	tp_expect(&tp, 1, 20, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + 100000, 4000, 7));
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, 30 + i, HW_STATUS_SUCCESS).bytes, 500 + 2 * i);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).pool_used_bytes, 0);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).matched_unexpected, 9);
	tp_end(&tp);
}

/* Untagged messages match no tagged receive, and the other way round. */
static void spaces(void)
{
	struct tp_op op = {.wr_id = 1, .flags = HW_TAG_F_MSG, .bytes = 100};

	tp_begin(&tp);
	tp_send_flags(&tp, 0, 1, 0, 0, 10, HW_TSEND_F_MSG, 0);
	tp_send(&tp, 0, 2, 0, 0, 20);
	rp_quiet(&tp.rp);
	tp_recv(&tp, 1, 2, 0, 0, 100);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS).bytes, 20);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).bytes, 10);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* The buffer is filled; both lengths are reported. Before the receive, and after it. */
static void truncated(void)
{
	uint32_t i;
	struct hw_cqe cqe;

	tp_begin(&tp);
	fill(4000);
	for (i = 0; i < 2; i++) {
		memset(MEM(1), 0xee, 3000);
		if (i)
			tp_send(&tp, 0, 1, 3, 0, 4000);
		rp_quiet(&tp.rp);
		tp_recv(&tp, 1, 2, 3, 0, 2000);
		if (!i)
			tp_send(&tp, 0, 1, 3, 0, 4000);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
		cqe = tp_expect(&tp, 1, 2, HW_STATUS_LOC_LEN_ERR);
		CU_ASSERT_EQUAL(cqe.bytes, 2000);
		CU_ASSERT_EQUAL(cqe.imm_inv, 4000);
		CU_ASSERT_TRUE(rp_filled(MEM(1), 2000, 7));
		CU_ASSERT_EQUAL(MEM(1)[2000], 0xee);
	}
	tp_end(&tp);
}

/* One buffer for many messages, released when little of it is left. */
static void multi(void)
{
	struct tp_op op = {.wr_id = 1,
			   .tag = 3,
			   .flags = HW_TAG_F_MULTI,
			   .offset = 50000,
			   .bytes = 1000,
			   .min_free_bytes = 100};
	struct hw_cqe cqe;
	uint32_t i;

	tp_begin(&tp);
	fill(4000);
	/* Two before it, three after. */
	tp_send(&tp, 0, 10, 3, 0, 200);
	tp_send(&tp, 0, 11, 3, 200, 200);
	rp_quiet(&tp.rp);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	for (i = 2; i < 5; i++)
		tp_send(&tp, 0, 10 + i, 3, 200 * i, i == 4 ? 150 : 200);
	tp_send(&tp, 0, 20, 3, 0, 10);
	rp_quiet(&tp.rp);
	for (i = 0; i < 5; i++) {
		tp_expect_sent(&tp, 0, 10 + i, HW_STATUS_SUCCESS);
		cqe = tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.sq_index, 200 * i);
		CU_ASSERT_EQUAL(cqe.flags, i == 4 ? HW_CQE_F_RELEASED : 0);
	}
	CU_ASSERT_TRUE(rp_filled(MEM(1) + 50000, 950, 7));
	tp_expect_sent(&tp, 0, 20, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 1);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).posted, 0);
	/* Cancelled after a message. */
	i = tp_op(&tp, 1, &op);
	op = (struct tp_op){.op = HW_TAG_CANCEL, .number = i};
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).flags, 0);
	cqe = tp_expect(&tp, 1, 1, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_RELEASED);
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_CANCELED);
	tp_end(&tp);
}

/* Cancels the buffer while it is used up and a message of it is under way: nothing is found. */
static void cancel_used_up(uint32_t number)
{
	struct tp_op op = {.op = HW_TAG_CANCEL, .number = number};

	CU_ASSERT_EQUAL(tp_query(&tp, 1).posted, 0);
	tp_op(&tp, 1, &op);
	rp_poll(&tp.rp, 1);
}

static enum bench_verdict last_is_lost(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return info->type == WIRE_DGRAM_RD && !info->from && info->last ? BENCH_DROP : BENCH_PASS;
}

/* The message that uses up a buffer is still arriving: it releases the buffer, and it alone. */
static void multi_released_by_last(void)
{
	struct tp_op op = {.wr_id = 1,
			   .tag = 3,
			   .flags = HW_TAG_F_MULTI,
			   .offset = 50000,
			   .bytes = 4000,
			   .min_free_bytes = 100};
	struct hw_cqe cqe;
	uint32_t number;

	tp_begin(&tp);
	fill(4000);
	number = tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	tp.rp.filter = last_is_lost;
	tp_send(&tp, 0, 10, 3, 0, 3950);
	rp_settle(&tp.rp);
	cancel_used_up(number);
	rp_settle(&tp.rp);
	rp_expect_none(&tp.rp);
	tp.rp.filter = NULL;
	rp_run(&tp.rp, 2000000000);
	tp_expect_sent(&tp, 0, 10, HW_STATUS_SUCCESS);
	cqe = tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, 3950);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_RELEASED);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + 50000, 3950, 7));
	rp_expect_none(&tp.rp);
	tp_end(&tp);
}

/*
 * An empty message waits behind a copy to a page that is absent; the message behind it uses up the
 * buffer and completes first. The empty one releases the buffer, also after a cancellation.
 */
static void multi_released_by_empty(void)
{
	struct tp_op plain = {.wr_id = 1, .tag = 9, .offset = 40000, .bytes = 500};
	struct tp_op op = {.wr_id = 2,
			   .tag = 3,
			   .flags = HW_TAG_F_MULTI,
			   .offset = 50000,
			   .bytes = 1000,
			   .min_free_bytes = 100};
	struct rp_end *end = &tp.rp.end[1];
	struct hw_cqe cqe;
	uint32_t number;

	tp_begin(&tp);
	fill(1000);
	plain.lkey = rp_reg(&tp.rp, 1, MEM(1), RP_MEM_BYTES, HW_ACCESS_LOCAL_WRITE, false);
	tp_send(&tp, 0, 10, 9, 0, 500);
	tp_send_flags(&tp, 0, 11, 3, 0, 0, HW_TSEND_F_DATA, 0);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 10, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 11, HW_STATUS_SUCCESS);
	end->port.host_busy = true;
	tp_op(&tp, 1, &plain);
	number = tp_op(&tp, 1, &op);
	rp_poll(&tp.rp, 1);
	tp_send(&tp, 0, 12, 3, 0, 950);
	rp_poll(&tp.rp, 0);
	rp_poll(&tp.rp, 1);
	cqe = tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, 950);
	CU_ASSERT_EQUAL(cqe.flags, 0);
	cancel_used_up(number);
	rp_expect_none(&tp.rp);
	end->port.host_busy = false;
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 12, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	cqe = tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, 0);
	CU_ASSERT_EQUAL(cqe.record_map, ~UINT64_C(11));
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_IMM | HW_CQE_F_RELEASED);
	rp_expect_none(&tp.rp);
	tp_end(&tp);
}

static void peek_and_claim(void)
{
	struct tp_op peek = {.op = HW_TAG_PEEK, .wr_id = 1, .tag = 4};
	struct tp_op claimed = {.op = HW_TAG_CLAIMED, .wr_id = 2, .offset = 60000, .bytes = 4096};
	struct hw_cqe cqe;

	tp_begin(&tp);
	fill(4000);
	tp_op(&tp, 1, &peek);
	rp_settle(&tp.rp);
	cqe = tp_expect(&tp, 1, 1, HW_STATUS_GENERAL_ERR);
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_NO_MESSAGE);
	tp_send_flags(&tp, 0, 1, 4, 0, 3000, HW_TSEND_F_DATA, 0);
	tp_send(&tp, 0, 2, 4, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	tp_op(&tp, 1, &peek);
	peek.flags = HW_TAG_F_CLAIM;
	tp_op(&tp, 1, &peek);
	peek.flags = HW_TAG_F_DISCARD;
	tp_op(&tp, 1, &peek);
	tp_op(&tp, 1, &peek);
	rp_settle(&tp.rp);
	cqe = tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.opcode, HW_CQE_TPEEK);
	CU_ASSERT_EQUAL(cqe.imm_inv, 3000);
	CU_ASSERT_EQUAL(cqe.record_map, ~UINT64_C(1));
	cqe = tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.imm_inv, 3000);
	claimed.number = cqe.sq_index;
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).imm_inv, 10);
	tp_expect(&tp, 1, 1, HW_STATUS_GENERAL_ERR);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).claimed, 1);
	/* No other receive gets it. */
	tp_recv(&tp, 1, 3, 4, 0, 100);
	rp_settle(&tp.rp);
	rp_expect_none(&tp.rp);
	tp_op(&tp, 1, &claimed);
	tp_op(&tp, 1, &claimed);
	rp_settle(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS).bytes, 3000);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + 60000, 3000, 7));
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_GENERAL_ERR).vendor_err,
			HW_VENDOR_ERR_NO_MESSAGE);
	tp_send(&tp, 0, 5, 4, 0, 7);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 5, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* Cancelled or completed, never both. */
static void cancel(void)
{
	struct tp_op op = {.op = HW_TAG_CANCEL};

	tp_begin(&tp);
	op.number = tp_recv(&tp, 1, 1, 2, 0, 10);
	tp_recv(&tp, 1, 2, 2, 0, 10);
	tp_op(&tp, 1, &op);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_WR_FLUSH_ERR).vendor_err,
			HW_VENDOR_ERR_CANCELED);
	tp_send(&tp, 0, 1, 2, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	op.number++;
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	rp_expect_none(&tp.rp);
	tp_end(&tp);
}

/* A synchronous send completes when its message is matched, and later ones do not wait for it. */
static void synchronous(void)
{
	tp_begin(&tp);
	tp_send_flags(&tp, 0, 1, 1, 0, 10, HW_TSEND_F_SYNC, 0);
	tp_send(&tp, 0, 2, 2, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_none(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 0).open_sends, 1);
	/* Its slot is free. */
	CU_ASSERT_EQUAL(tp.qp[0]->sq_cons, tp.qp[0]->sq_next);
	tp_recv(&tp, 1, 11, 1, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 11, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_recv(&tp, 1, 12, 2, 0, 10);
	rp_settle(&tp.rp);
	tp_expect(&tp, 1, 12, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

static uint32_t packets, drop_every;

static enum bench_verdict lossy(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	if (info->type != WIRE_DGRAM_RD || info->from)
		return BENCH_PASS;
	/* Not periodic: a packet and its repetition must not share their fate for ever. */
	return fw_hash(++packets, drop_every, 0) % drop_every ? BENCH_PASS : BENCH_DROP;
}

/* Packets are lost: later ones overtake them, and messages still match in order. */
static void loss(void)
{
	uint32_t i, round;

	for (round = 0; round < 12; round++) {
		uint32_t posted_first = round % 3 * 10;

		tp_begin(&tp);
		fill(1 << 16);
		packets = 0;
		drop_every = 3 + round;
		tp.rp.filter = lossy;
		for (i = 0; i < posted_first; i++)
			tp_recv(&tp, 1, 1000 + i, 1, 200000 + i * 4096, 4096);
		rp_settle(&tp.rp);
		for (i = 0; i < 20; i++)
			tp_send_flags(&tp, 0, i, 1, i * 100, 10 + i * 190, 0,
				      i % 5 == 1 && i < 2 ? HW_WQE_F_INLINE : 0);
		rp_run(&tp.rp, 1000000);
		for (i = posted_first; i < 20; i++)
			tp_recv(&tp, 1, 1000 + i, 1, 200000 + i * 4096, 4096);
		rp_run(&tp.rp, 2000000000);
		for (i = 0; i < 20; i++) {
			tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1000 + i, HW_STATUS_SUCCESS).bytes,
					10 + i * 190);
			CU_ASSERT_EQUAL(
			    memcmp(MEM(1) + 200000 + i * 4096, MEM(0) + i * 100, 10 + i * 190), 0);
		}
		tp_end(&tp);
	}
}

/* Entries that are not legal complete with their wr_id, and harm nothing else. */
static void bad_entries(void)
{
	static const struct {
		uint8_t op, flags, num_sge;
		enum hw_vendor_err err;
	} bad[] = {
	    {0, 0, 0, HW_VENDOR_ERR_OPCODE},
	    {HW_TAG_OPS, 0, 0, HW_VENDOR_ERR_OPCODE},
	    {255, 0, 0, HW_VENDOR_ERR_OPCODE},
	    {HW_TAG_RECV, HW_TAG_F_CLAIM, 0, HW_VENDOR_ERR_FLAGS},
	    {HW_TAG_RECV, 0x80, 0, HW_VENDOR_ERR_FLAGS},
	    {HW_TAG_RECV, 0, 17, HW_VENDOR_ERR_NUM_SGE},
	    {HW_TAG_RECV, 0, 255, HW_VENDOR_ERR_NUM_SGE},
	    {HW_TAG_PEEK, HW_TAG_F_MULTI, 0, HW_VENDOR_ERR_FLAGS},
	    {HW_TAG_PEEK, HW_TAG_F_CLAIM | HW_TAG_F_DISCARD, 0, HW_VENDOR_ERR_FLAGS},
	};
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hw_tag_rq_wqe wqe = {
		    .op = bad[i].op, .flags = bad[i].flags, .num_sge = bad[i].num_sge, .wr_id = i};
		struct hw_sge sge[HW_MAX_SGE] = {{0}};

		tp_write_op(tp.qp[1], &wqe, sge);
		tp_ring(&tp, 1, tp.qp[1]);
		rp_settle(&tp.rp);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, i, HW_STATUS_LOC_QP_OP_ERR).vendor_err,
				bad[i].err);
	}
	tp_recv(&tp, 1, 50, 1, 0, 10);
	tp_send(&tp, 0, 51, 1, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 50, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 51, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* An endpoint that ends flushes its receives; one in RESET drops them. */
static void flushed(void)
{
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < 40; i++)
		tp_recv(&tp, 1, i, 1, 0, 10);
	for (i = 0; i < 20; i++)
		tp_send_flags(&tp, 0, i, 2, 0, 10, HW_TSEND_F_SYNC, 0);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_ERR, 0, NULL), 0);
	rp_quiet(&tp.rp);
	for (i = 0; i < 40; i++)
		tp_expect(&tp, 1, i, HW_STATUS_WR_FLUSH_ERR);
	for (i = 0; i < 20; i++)
		tp_expect_sent(&tp, 0, i, HW_STATUS_REM_ABORT_ERR);
	tp_recv(&tp, 1, 99, 1, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 99, HW_STATUS_WR_FLUSH_ERR);
	/* The other end: sends that wait for their match. */
	tp_end(&tp);
	tp_begin(&tp);
	tp_send_flags(&tp, 0, 1, 2, 0, 10, HW_TSEND_F_SYNC, 0);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 0, tp.qp[0], HW_QPS_ERR, 0, NULL), 0);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_WR_FLUSH_ERR);
	tp_recv(&tp, 1, 1, 2, 0, 10);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* A Write with immediate data takes no receive. */
static void write_imm(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE_IMM,
			     .wr_id = 3,
			     .bytes = 8,
			     .imm = 0x1234,
			     .remote_offset = 800};
	struct hw_cqe cqe;

	tp_begin(&tp);
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_RTS, HW_QP_ACCESS_FLAGS,
				  &(struct hw_qp_attr){.access = RP_ALL_ACCESS}),
			0);
	tp_recv(&tp, 1, 1, 2, 0, 10);
	req.dst = tp.qp[1];
	rp_req(&tp.rp, 0, tp.qp[0], &req);
	rp_quiet(&tp.rp);
	rp_expect_send(&tp.rp, 0, 3, HW_STATUS_SUCCESS);
	cqe = rp_expect_recv(&tp.rp, 1, 0, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.opcode, HW_CQE_RECV_WRITE_IMM);
	CU_ASSERT_EQUAL(cqe.imm_inv, 0x1234);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).posted, 1);
	tp.rp.filter = NULL;
	CU_ASSERT_EQUAL(rp_modify(&tp.rp, 1, tp.qp[1], HW_QPS_RESET, 0, NULL), 0);
	tp_end(&tp);
}

UT_MAIN("pair/tag_eager", UT(posted), UT(unexpected), UT(spaces), UT(truncated), UT(multi),
	UT(multi_released_by_last), UT(multi_released_by_empty), UT(peek_and_claim), UT(cancel),
	UT(synchronous), UT(loss), UT(bad_entries), UT(flushed), UT(write_imm))
