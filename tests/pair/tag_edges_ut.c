/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edges of tagged endpoints: pools that are opened wrongly, run low or are taken away, tables that
 * are full, numbers that wrap, memory that is slow or gone.
 */
#include <stdlib.h>

#include "tests/bench/pool.h"
#include "tests/pair/tag_pair.h"

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)
#define NIC(e) (tp.rp.end[e].nic)

enum {
	LONG = 20000,
	SEGMENTS = 4000, /* an eager message of several packets */
	SINK = 400000,
};

static struct tag_ep *ep(void)
{
	return &NIC(1)->tag.eps[tp.qp[1] - NIC(1)->host.qps];
}

/* ---- commands -------------------------------------------------------------------------------- */

static int open_pool_at(const struct fw_qp *qp, uint64_t addr, uint64_t bytes, uint32_t stag)
{
	struct hw_cmd cmd = {.op = HW_CMD_TAG_OPEN,
			     .u.tag_open = {.qpn = qp->qpn,
					    .pool_addr = addr,
					    .pool_bytes = bytes,
					    .pool_stag = stag,
					    .eager_bytes = TP_EAGER_BYTES}};
	struct hw_cmd_resp resp;

	return rp_cmd(&tp.rp, 1, &cmd, &resp);
}

static struct fw_qp *new_qp(uint32_t flags)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	const struct hw_qp_attr attr = {.port = 1, .qkey = RP_QKEY};
	struct rp_end *end = &tp.rp.end[1];
	struct hw_cmd_resp resp;
	struct fw_qp *qp;

	cmd.u.create_qp = (struct hw_cmd_create_qp){.pd = end->pd,
						    .type = HW_QPT_RD,
						    .send_cq = end->scq->index,
						    .recv_cq = end->rcq->index,
						    .srq = HW_SRQ_NONE,
						    .sq_slots = 16,
						    .max_send_wr = 8,
						    .max_recv_wr = 8,
						    .max_send_sge = 1,
						    .max_recv_sge = 1,
						    .flags = flags};
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&tp.rp, 1, &cmd, &resp), 0);
	qp = qp_find(end->nic, resp.u.create_qp.qpn);
	CU_ASSERT_EQUAL(open_pool_at(qp, 0, 0, 0), FW_EINVAL);
	CU_ASSERT_EQUAL_FATAL(rp_modify(&tp.rp, 1, qp, HW_QPS_INIT,
					HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY, &attr),
			      0);
	return qp;
}

/* Pools that no endpoint gets; the endpoint can still be opened with a right one. */
static void opened_wrongly(void)
{
	const uint32_t unit = BUDDY_MIN_BYTES;
	struct hw_cmd query = {.op = HW_CMD_TAG_QUERY};
	struct hw_cmd_resp resp;
	uint32_t stag, unmapped;
	struct fw_qp *qp;
	uint64_t addr, used;

	tp_begin(&tp);
	stag = tp.pool_stag[1];
	addr = (uintptr_t)tp.pool[1];
	unmapped = rp_reg(&tp.rp, 1, tp.pool[1], TP_POOL_BYTES, HW_ACCESS_LOCAL_WRITE, false);
	qp = new_qp(0);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit, stag), FW_EINVAL);
	query.u.obj.handle = qp->qpn;
	CU_ASSERT_EQUAL(rp_cmd(&tp.rp, 1, &query, &resp), FW_EINVAL);
	query.u.obj.handle = qp->qpn ^ 0xffff;
	CU_ASSERT_EQUAL(rp_cmd(&tp.rp, 1, &query, &resp), FW_EINVAL);
	rp_destroy_qp(&tp.rp, 1, qp);

	qp = new_qp(HW_QP_F_TAGGED);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, HW_TAG_MAX_POOL_BYTES + (uint64_t)unit, stag),
			FW_EINVAL);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit + 1, stag), FW_EINVAL);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr + 1, unit, stag), FW_EINVAL);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, TP_POOL_BYTES + unit, stag), FW_EFAULT);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit, stag ^ 0x100), FW_EFAULT);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit, unmapped), FW_EOPNOTSUPP);
	/* Other endpoints have all records. */
	used = NIC(1)->tag.records.used;
	NIC(1)->tag.records.used = NIC(1)->tag.records.bytes;
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit, stag), FW_ENOMEM);
	NIC(1)->tag.records.used = used;
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit, stag), 0);
	CU_ASSERT_EQUAL(open_pool_at(qp, addr, unit, stag), FW_EINVAL);
	rp_destroy_qp(&tp.rp, 1, qp);
	tp_end(&tp);
}

/* Inline data that must be kept, for which the NIC has no buffer: the send is no source. */
static void no_buffer_to_keep_data(void)
{
	struct fw_wqe wqe = {.flags = HW_WQE_F_INLINE};
	struct tag_send send = {.bytes = 10, .kept = FW_NONE};
	struct fw_pool *kept;
	uint32_t max;

	tp_begin(&tp);
	wqe.qp = tp.qp[0];
	kept = &NIC(0)->tag.kept;
	max = kept->max;
	kept->max = kept->used;
	CU_ASSERT_FALSE(tag_source_keep(NIC(0), &send, &wqe));
	CU_ASSERT_FALSE(send.source);
	CU_ASSERT_EQUAL(send.kept, FW_NONE);
	kept->max = max;
	/* A message without data needs no buffer. */
	send.bytes = 0;
	CU_ASSERT_TRUE(tag_source_keep(NIC(0), &send, &wqe));
	CU_ASSERT_TRUE(send.source);
	CU_ASSERT_EQUAL(send.kept, FW_NONE);
	/* At the end of the ring they wrap. */
	send = (struct tag_send){.bytes = 100, .kept = FW_NONE};
	wqe.sq_slot = wqe.qp->sq_mask - 1;
	rp_fill(wqe.qp->sq_ring, (wqe.qp->sq_mask + 1) * HW_SQ_SLOT_BYTES, 3);
	CU_ASSERT_TRUE(tag_source_keep(NIC(0), &send, &wqe));
	CU_ASSERT_NOT_EQUAL_FATAL(send.kept, FW_NONE);
	CU_ASSERT_EQUAL(memcmp(fw_pool_at(kept, send.kept),
			       wqe.qp->sq_ring + wqe.qp->sq_mask * HW_SQ_SLOT_BYTES,
			       HW_SQ_SLOT_BYTES),
			0);
	CU_ASSERT_EQUAL(memcmp((uint8_t *)fw_pool_at(kept, send.kept) + HW_SQ_SLOT_BYTES,
			       wqe.qp->sq_ring, 100 - HW_SQ_SLOT_BYTES),
			0);
	fw_pool_put(kept, fw_pool_at(kept, send.kept));
	memset(wqe.qp->sq_ring, 0, (wqe.qp->sq_mask + 1) * HW_SQ_SLOT_BYTES);
	tp_end(&tp);
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* Takes n unexpected messages of tags from i on. */
/*
 * The records of a large pool are cleared in parts when its endpoint ends: all of those that were
 * used, and none behind them, which may be another endpoint's.
 */
static void records_of_a_large_pool(void)
{
	enum {
		BYTES = 6 << 20,
		RECORDS = BYTES / BUDDY_MIN_BYTES * sizeof(struct buddy_block),
		GUARD = TAG_CLOSE_BYTES,
	};
	uint8_t *pool = aligned_alloc(4096, BYTES), *records;
	uint32_t stag, i;
	struct fw_qp *qp;

	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	CU_ASSERT_TRUE(RECORDS > 2 * TAG_CLOSE_BYTES && RECORDS % TAG_CLOSE_BYTES);
	tp_begin(&tp);
	stag = rp_reg(&tp.rp, 1, pool, BYTES, HW_ACCESS_LOCAL_WRITE, true);
	for (i = 0; i < 2; i++) {
		struct tag_ep *large;

		qp = new_qp(HW_QP_F_TAGGED);
		CU_ASSERT_EQUAL_FATAL(open_pool_at(qp, (uintptr_t)pool, BYTES, stag), 0);
		large = &NIC(1)->tag.eps[qp - NIC(1)->host.qps];
		/* As if all of it, or a little more than a part, had been used. */
		large->pool.high = i ? BYTES : BYTES / 2 - 7 * BUDDY_MIN_BYTES;
		records = (uint8_t *)large->pool.blocks;
		memset(records, 0xaa, RECORDS + GUARD);
		rp_destroy_qp(&tp.rp, 1, qp);
		rp_run(&tp.rp, 100000000);
		CU_ASSERT_TRUE(rp_all(records, i ? RECORDS : RECORDS / 2 - 7 * 12, 0));
		CU_ASSERT_TRUE(rp_all(records + RECORDS, GUARD, 0xaa));
		memset(records, 0, RECORDS + GUARD);
	}
	CU_ASSERT_EQUAL(rp_dereg(&tp.rp, 1, stag), 0);
	tp_end(&tp);
	free(pool);
}

static void unexpected(uint32_t i, uint32_t n, uint32_t bytes)
{
	uint32_t end = i + n;

	for (; i < end; i++) {
		tp_send(&tp, 0, i, i, 0, bytes);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
	}
}

static void receive(uint32_t i, uint32_t n, uint32_t bytes)
{
	uint32_t end = i + n;

	for (; i < end; i++) {
		tp_recv(&tp, 1, i, i, SINK, bytes);
		rp_quiet(&tp.rp);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, i, HW_STATUS_SUCCESS).bytes, bytes);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, bytes, 4));
	}
}

/* The process hears once that its pool runs low, and again when half of it was free meanwhile. */
static void runs_low(void)
{
	const struct hw_cmd_tag_open open = {
	    .pool_bytes = 64 << 10, .eager_bytes = TP_EAGER_BYTES, .pool_low_bytes = 40 << 10};
	uint32_t round;

	tp_begin_with(&tp, &open);
	rp_fill(MEM(0), 100000, 4);
	for (round = 0; round < 2; round++) {
		unexpected(0, 5, SEGMENTS);
		CU_ASSERT_FALSE(ep()->low_reported);
		unexpected(5, 3, SEGMENTS);
		CU_ASSERT_TRUE(ep()->low_reported);
		/* Still less than the process wants to have free. */
		receive(0, 1, SEGMENTS);
		CU_ASSERT_TRUE(ep()->low_reported);
		receive(1, 7, SEGMENTS);
		CU_ASSERT_FALSE(ep()->low_reported);
	}
	tp_end(&tp);
}

/* The process takes the pool away: what lies there is lost, and nothing more comes. */
static void taken_away(void)
{
	tp_begin(&tp);
	rp_fill(MEM(0), 100000, 4);
	unexpected(1, 1, SEGMENTS);
	CU_ASSERT_EQUAL(rp_dereg(&tp.rp, 1, tp.pool_stag[1]), 0);
	tp_send(&tp, 0, 2, 2, 0, SEGMENTS);
	rp_run(&tp.rp, 1000000000);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_OP_ERR);
	tp_recv(&tp, 1, 1, 1, SINK, SEGMENTS);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_LOC_PROT_ERR);
	/* Messages that meet a receive need none. */
	tp_recv(&tp, 1, 3, 3, SINK, SEGMENTS);
	rp_quiet(&tp.rp);
	tp_send(&tp, 0, 3, 3, 0, SEGMENTS);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* ---- receives -------------------------------------------------------------------------------- */

static uint32_t claim(uint64_t tag)
{
	struct tp_op peek = {.op = HW_TAG_PEEK, .flags = HW_TAG_F_CLAIM, .wr_id = 1, .tag = tag};

	tp_op(&tp, 1, &peek);
	rp_quiet(&tp.rp);
	return tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).sq_index;
}

/* No place for a receive: it ends with an error, and the message waits for the next one. */
static void no_receive(void)
{
	struct tp_op op = {.op = HW_TAG_CLAIMED, .offset = SINK, .bytes = 100};
	struct fw_pool saved;

	tp_begin(&tp);
	rp_fill(MEM(0), 100000, 4);
	unexpected(1, 2, 100);
	op.number = claim(2);
	bench_pool_hold(&NIC(1)->tag.posteds, &saved);
	tp_recv(&tp, 1, 5, 1, SINK, 100);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 5, HW_STATUS_LOC_QP_OP_ERR).vendor_err,
			HW_VENDOR_ERR_QUEUE);
	op.wr_id = 6;
	tp_op(&tp, 1, &op);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_expect(&tp, 1, 6, HW_STATUS_LOC_QP_OP_ERR).vendor_err,
			HW_VENDOR_ERR_QUEUE);
	bench_pool_release(&NIC(1)->tag.posteds, &saved);
	receive(1, 1, 100);
	op.wr_id = 7;
	tp_op(&tp, 1, &op);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 7, HW_STATUS_SUCCESS);
	/* As many as one endpoint may have. */
	ep()->match.num_posted += HW_TAG_MAX_POSTED;
	tp_recv(&tp, 1, 8, 1, SINK, 100);
	rp_quiet(&tp.rp);
	ep()->match.num_posted -= HW_TAG_MAX_POSTED;
	tp_expect(&tp, 1, 8, HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(NIC(1)->counters.tag_posteds_share_refused, 3);
	tp_end(&tp);
}

/* The numbers of claims wrap, and none is 0; a discarded one may be without a completion. */
static void claims_wrap(void)
{
	struct tp_op op = {
	    .op = HW_TAG_CLAIMED, .flags = HW_TAG_F_DISCARD | HW_TAG_F_UNSIGNALED, .wr_id = 7};

	tp_begin(&tp);
	unexpected(1, 1, 100);
	ep()->claims = (1u << (32 - TAG_CLAIM_BITS)) - 1;
	op.number = claim(1);
	CU_ASSERT_EQUAL(op.number, 1u << TAG_CLAIM_BITS);
	tp_op(&tp, 1, &op);
	rp_quiet(&tp.rp);
	rp_expect_none(&tp.rp);
	tp_end(&tp);
}

/* A receive of many messages that is filled to its last byte takes no more. */
static void filled(void)
{
	struct tp_op op = {.flags = HW_TAG_F_MULTI, .wr_id = 9, .tag = 1, .offset = SINK};

	tp_begin(&tp);
	rp_fill(MEM(0), 100000, 4);
	op.bytes = 200;
	tp_op(&tp, 1, &op);
	rp_quiet(&tp.rp);
	tp_send(&tp, 0, 1, 1, 0, 100);
	tp_send(&tp, 0, 2, 1, 100, 100);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_FALSE(tp_expect(&tp, 1, 9, HW_STATUS_SUCCESS).flags & HW_CQE_F_RELEASED);
	CU_ASSERT_TRUE(tp_expect(&tp, 1, 9, HW_STATUS_SUCCESS).flags & HW_CQE_F_RELEASED);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, 200, 4));
	tp_check(&tp, 1, 0, 0, 0);
	tp_end(&tp);
}

/* A receive without a completion of its own has one only when it fails. */
static void unsignaled(void)
{
	struct tp_op op = {.flags = HW_TAG_F_UNSIGNALED, .wr_id = 9, .tag = 1, .offset = SINK};
	struct hw_cqe cqe;
	uint32_t i;

	tp_begin(&tp);
	rp_fill(MEM(0), 100000, 4);
	for (i = 0; i < 4; i++) {
		/* A message of one packet, of several, one that is written, and one too long. */
		uint32_t bytes = i == 1 ? SEGMENTS : i == 2 ? LONG : 100;

		op.bytes = i == 3 ? 99 : LONG;
		tp_op(&tp, 1, &op);
		rp_quiet(&tp.rp);
		tp_send(&tp, 0, i, 1, 0, bytes);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, i == 3 ? 99 : bytes, 4));
		tp_check(&tp, 1, 0, 0, 0);
		if (i < 3)
			CU_ASSERT_FALSE(rp_rcqe(&tp.rp, 1, &cqe));
	}
	tp_expect(&tp, 1, 9, HW_STATUS_LOC_LEN_ERR);
	tp_end(&tp);
}

/* Solicited messages, before and after their receive, and queue pairs that signal all. */
static void solicited(void)
{
	const uint8_t flags = HW_WQE_F_SOLICITED | HW_WQE_F_SIGNALED; /* not signaled */
	uint32_t i;

	tp_begin(&tp);
	tp.qp[0]->flags |= HW_QP_F_SQ_SIG_ALL;
	for (i = 0; i < 6; i++) {
		uint32_t bytes = i < 2 || i > 3 ? 100 : LONG;
		uint32_t sync = i == 1 ? HW_TSEND_F_SYNC : 0;

		if (i % 2)
			tp_recv(&tp, 1, i, i, SINK, bytes);
		rp_quiet(&tp.rp);
		tp_send_flags(&tp, 0, i, i, 0, bytes, sync, flags);
		rp_quiet(&tp.rp);
		if (!(i % 2))
			tp_recv(&tp, 1, i, i, SINK, bytes);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(tp_expect(&tp, 1, i, HW_STATUS_SUCCESS).flags & HW_CQE_F_SOLICITED);
	}
	tp_end(&tp);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * The memory of a receive is slow for some time, or is gone: announced and written to, taken by a
 * message of several packets, copied to from the pool.
 */
static void slow_or_gone(bool gone, uint32_t bytes, bool early)
{
	struct tp_op op = {.wr_id = 1, .tag = 1, .offset = SINK, .bytes = LONG};
	struct bench_port *port = &tp.rp.end[1].port;
	struct hw_cqe cqe;

	tp_begin(&tp);
	rp_fill(MEM(0), 100000, 4);
	unexpected(99, 1, 8);
	receive(99, 1, 8);
	op.lkey = rp_reg(&tp.rp, 1, MEM(1), RP_MEM_BYTES, RP_ALL_ACCESS, false);
	if (!early)
		tp_op(&tp, 1, &op);
	rp_quiet(&tp.rp);
	if (!early)
		*(gone ? &port->host_fault : &port->host_busy) = true;
	tp_send(&tp, 0, 2, 1, 0, bytes);
	rp_run(&tp.rp, 20000);
	*(gone ? &port->host_fault : &port->host_busy) = true;
	if (early)
		tp_op(&tp, 1, &op);
	for (uint32_t i = 0; i < 20; i++) {
		(void)rp_poll(&tp.rp, 0);
		(void)rp_poll(&tp.rp, 1);
		bench_wire_pass_to(&tp.rp.wire, tp.rp.wire.now_ns + 10000);
	}
	CU_ASSERT_EQUAL(rp_rcqe(&tp.rp, 1, &cqe), gone);
	if (gone)
		CU_ASSERT_NOT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	port->host_fault = port->host_busy = false;
	rp_run(&tp.rp, 1000000000);
	CU_ASSERT_FATAL(rp_scqe(&tp.rp, 0, &cqe));
	if (!gone) {
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS).bytes, bytes);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, bytes, 4));
	}
	tp_end(&tp);
}

static void slow(void)
{
	slow_or_gone(false, LONG, false);
	slow_or_gone(false, SEGMENTS, false);
	slow_or_gone(false, SEGMENTS, true);
}

static void gone(void)
{
	slow_or_gone(true, LONG, false);
	slow_or_gone(true, SEGMENTS, false);
	slow_or_gone(true, SEGMENTS, true);
}

UT_MAIN("pair/tag_edges", UT(opened_wrongly), UT(records_of_a_large_pool),
	UT(no_buffer_to_keep_data), UT(runs_low), UT(taken_away), UT(no_receive), UT(claims_wrap),
	UT(filled), UT(unsignaled), UT(solicited), UT(slow), UT(gone))
