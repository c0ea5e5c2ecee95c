/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rendezvous of tagged endpoints: reads by the receiver's NIC, full pools, ends of processes, queue
 * pairs, regions and sessions in the middle, envelopes that a peer forged.
 */
#include "tests/pair/tag_pair.h"

#include <stdlib.h>

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)
#define NIC(e) (tp.rp.end[e].nic)

enum {
	LONG = 100000,
	SINK = 400000,
};

/* Before the receive, and after it; long, and of a buffer that is shorter. */
static void rendezvous(void)
{
	static const struct {
		bool first;
		uint32_t room, parts;
	} cases[] = {{false, LONG, 1}, {true, LONG, 1},  {false, LONG + 5, 16}, {true, LONG, 7},
		     {false, 50, 1},   {true, 70000, 3}, {false, 0, 1},         {true, 0, 1}};
	uint32_t i;

	tp_begin(&tp);
	rp_fill(MEM(0), LONG, 3);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Any source: it is not announced. */
		struct tp_op op = {.flags = HW_TAG_F_ANY_SRC,
				   .wr_id = i,
				   .tag = 1,
				   .offset = SINK,
				   .bytes = cases[i].room,
				   .num_sge = cases[i].parts};
		uint32_t bytes = op.bytes < LONG ? op.bytes : LONG;
		struct hw_cqe cqe;

		memset(MEM(1) + SINK, 0xee, LONG + 5);
		if (cases[i].first)
			tp_op(&tp, 1, &op);
		rp_settle(&tp.rp);
		tp_send_flags(&tp, 0, i, 1, 0, LONG, HW_TSEND_F_DATA, 0);
		rp_quiet(&tp.rp);
		if (!cases[i].first) {
			rp_expect_none(&tp.rp);
			CU_ASSERT_EQUAL(tp_query(&tp, 0).open_sends, 1);
			CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 1);
			CU_ASSERT_EQUAL(tp.qp[0]->sq_cons, tp.qp[0]->sq_next);
			tp_op(&tp, 1, &op);
		}
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		cqe =
		    tp_expect(&tp, 1, i, bytes < LONG ? HW_STATUS_LOC_LEN_ERR : HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.bytes, bytes);
		CU_ASSERT_EQUAL(cqe.imm_inv, LONG);
		CU_ASSERT_EQUAL(cqe.record_map, ~(uint64_t)i);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, bytes, 3));
		CU_ASSERT_EQUAL(MEM(1)[SINK + bytes], 0xee);
	}
	CU_ASSERT_EQUAL(tp_query(&tp, 1).rendezvous, i);
	tp_end(&tp);
}

/* More than reads may be under way at a time; short messages between them; all in order. */
static void many(void)
{
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < 100; i++)
		tp_send(&tp, 0, i, 5, i * 10, i % 3 ? 5000 : 20);
	rp_quiet(&tp.rp);
	for (i = 0; i < 100; i++) {
		if (i == 50)
			rp_run(&tp.rp, 1000);
		tp_recv(&tp, 1, i, 5, SINK + i * 5000, 5000);
		if (i % 30 == 0)
			rp_settle(&tp.rp);
	}
	rp_quiet(&tp.rp);
	for (i = 0; i < 100; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_FATAL(rp_rcqe(&tp.rp, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.bytes, cqe.wr_id % 3 ? 5000 : 20);
		CU_ASSERT_FATAL(rp_scqe(&tp.rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	}
	for (i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(
		    memcmp(MEM(1) + SINK + i * 5000, MEM(0) + i * 10, i % 3 ? 5000 : 20), 0);
	tp_end(&tp);
}

/*
 * The pool is full: messages become RTSs, inline ones too, and none waits for another. The event
 * comes once.
 */
static void pool_full(void)
{
	struct hw_cmd_tag_open open = {
	    .pool_bytes = 4096, .pool_low_bytes = 1024, .eager_bytes = TP_EAGER_BYTES};
	uint32_t i, converted;

	tp_begin_with(&tp, &open);
	rp_fill(MEM(0), 1 << 16, 9);
	for (i = 0; i < 60; i++)
		tp_send_flags(&tp, 0, i, i, i * 1000, i % 4 ? 900 : 100, 0,
			      i % 4 ? 0 : HW_WQE_F_INLINE);
	rp_run(&tp.rp, 100000000);
	converted = (uint32_t)RP_CNT(&tp.rp, 0, tag_converted);
	CU_ASSERT(converted >= 50);
	CU_ASSERT_EQUAL(tp_query(&tp, 0).open_sends, converted);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 60);
	CU_ASSERT(tp_query(&tp, 1).pool_refused > 0);
	CU_ASSERT(tp_query(&tp, 1).pool_used_bytes <= 4096);
	CU_ASSERT_EQUAL(RP_CNT(&tp.rp, 1, events), 1);
	/* The slots of inline data are used again. */
	memset(tp.qp[0]->sq_ring, 0xdd, 256 * HW_SQ_SLOT_BYTES);
	for (i = 60; i--;)
		tp_recv(&tp, 1, 100 + i, i, SINK + i * 1000, 1000);
	rp_quiet(&tp.rp);
	for (i = 0; i < 60; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_FATAL(rp_scqe(&tp.rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_FATAL(rp_rcqe(&tp.rp, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(
		    memcmp(MEM(1) + SINK + i * 1000, MEM(0) + i * 1000, i % 4 ? 900 : 100), 0);
	}
	/* It has room again. */
	tp_send(&tp, 0, 1, 1, 0, 900);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(RP_CNT(&tp.rp, 0, tag_converted), converted);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_recv(&tp, 1, 1, 1, 0, 1000);
	rp_settle(&tp.rp);
	tp_expect(&tp, 1, 1, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* Without a pool every unexpected message is an RTS; a posted receive still gets its message. */
static void no_pool(void)
{
	struct hw_cmd_tag_open open = {.eager_bytes = TP_EAGER_BYTES};

	tp_begin_with(&tp, &open);
	tp_recv(&tp, 1, 7, 7, SINK, 100);
	tp_send_flags(&tp, 0, 1, 1, 0, 100, HW_TSEND_F_SYNC, HW_WQE_F_INLINE);
	tp_send(&tp, 0, 2, 7, 0, 100);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 7, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_none(&tp.rp);
	tp_recv(&tp, 1, 8, 1, SINK, 100);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 8, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* An RTS that is peeked at, claimed, discarded. */
static void claimed(void)
{
	struct tp_op peek = {.op = HW_TAG_PEEK, .tag = 4, .flags = HW_TAG_F_CLAIM};
	struct tp_op op = {.op = HW_TAG_CLAIMED, .wr_id = 2, .offset = SINK, .bytes = LONG};

	tp_begin(&tp);
	rp_fill(MEM(0), LONG, 3);
	tp_send(&tp, 0, 1, 4, 0, LONG);
	tp_send(&tp, 0, 2, 4, 0, LONG);
	tp_send(&tp, 0, 3, 4, 0, LONG);
	rp_quiet(&tp.rp);
	tp_op(&tp, 1, &peek);
	tp_op(&tp, 1, &peek);
	peek.flags = HW_TAG_F_DISCARD;
	tp_op(&tp, 1, &peek);
	rp_quiet(&tp.rp);
	op.number = tp_expect(&tp, 1, 0, HW_STATUS_SUCCESS).sq_index;
	tp_op(&tp, 1, &op);
	op.number = tp_expect(&tp, 1, 0, HW_STATUS_SUCCESS).sq_index;
	op.flags = HW_TAG_F_DISCARD;
	tp_op(&tp, 1, &op);
	tp_expect(&tp, 1, 0, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(MEM(1) + SINK, LONG, 3));
	tp_expect_sent(&tp, 0, 2, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* ---- ends in the middle -------------------------------------------------------------------- */

static uint32_t pass_responses;

static enum bench_verdict stop_data(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	if (info->ddp && info->opcode == WIRE_RDMAP_READ_RESPONSE && !pass_responses)
		return BENCH_DROP;
	if (info->ddp && info->opcode == WIRE_RDMAP_READ_RESPONSE)
		pass_responses--;
	return BENCH_PASS;
}

/* end: it also has a long message for which the other end has no receive. */
static void begin_transfer(uint32_t end)
{
	struct tp_op op = {.wr_id = 1,
			   .tag = 1,
			   .flags = HW_TAG_F_ANY_SRC, /* it is not announced */
			   .offset = SINK,
			   .bytes = LONG};

	tp_begin(&tp);
	tp_send(&tp, end, 5, 55, 0, LONG);
	rp_quiet(&tp.rp);
	rp_fill(MEM(0), LONG, 3);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	pass_responses = 3;
	tp.rp.filter = stop_data;
	tp_send(&tp, 0, 2, 1, 0, LONG);
	rp_run(&tp.rp, 100000);
	rp_expect_none(&tp.rp);
	CU_ASSERT_EQUAL(NIC(1)->tag.arrivals.used, 1 + (end == 0));
}

/* The memory of one end is deregistered in mid transfer: both learn of it, and others go on. */
static void dereg(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		struct tp_op op = {.wr_id = 1, .tag = 1, .offset = SINK, .bytes = LONG};
		uint32_t whole, stag;

		tp_begin(&tp);
		whole = tp.rp.end[e].stag;
		stag = rp_reg(&tp.rp, e, MEM(e), RP_MEM_BYTES, RP_ALL_ACCESS, true);
		tp.rp.end[e].stag = stag;
		tp_op(&tp, 1, &op);
		rp_settle(&tp.rp);
		pass_responses = 3;
		tp.rp.filter = stop_data;
		tp_send(&tp, 0, 2, 1, 0, LONG);
		rp_run(&tp.rp, 100000);
		tp.rp.end[e].stag = whole;
		CU_ASSERT_EQUAL(rp_dereg(&tp.rp, e, stag), 0);
		tp.rp.filter = NULL;
		rp_run(&tp.rp, 1000000000);
		tp_expect_sent(&tp, 0, 2, e ? HW_STATUS_REM_OP_ERR : HW_STATUS_LOC_PROT_ERR);
		tp_expect(&tp, 1, 1, e ? HW_STATUS_LOC_PROT_ERR : HW_STATUS_REM_ACCESS_ERR);
		CU_ASSERT_EQUAL(tp.qp[0]->state, HW_QPS_RTS);
		CU_ASSERT_EQUAL(tp.qp[1]->state, HW_QPS_RTS);
		tp_recv(&tp, 1, 3, 3, SINK, LONG);
		tp_send(&tp, 0, 4, 3, 0, LONG);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, 4, HW_STATUS_SUCCESS);
		tp_expect(&tp, 1, 3, HW_STATUS_SUCCESS);
		tp_end(&tp);
	}
}

/* One end goes to ERR in mid transfer: both complete once. */
static void qp_error_amid(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		begin_transfer(!e);
		CU_ASSERT_EQUAL(rp_modify(&tp.rp, e, tp.qp[e], HW_QPS_ERR, 0, NULL), 0);
		tp.rp.filter = NULL;
		rp_run(&tp.rp, 2000000000);
		tp_expect(&tp, 1, 1, e ? HW_STATUS_WR_FLUSH_ERR : HW_STATUS_REM_OP_ERR);
		if (e)
			tp_expect_sent(&tp, 0, 5, HW_STATUS_REM_ABORT_ERR);
		else
			tp_expect_sent(&tp, 1, 5, HW_STATUS_REM_ABORT_ERR);
		tp_expect_sent(&tp, 0, 2, e ? HW_STATUS_REM_OP_ERR : HW_STATUS_WR_FLUSH_ERR);
		tp_end(&tp);
	}
}

/* The process of one end is killed in mid transfer. */
static void killed_amid(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		begin_transfer(!e);
		rp_detach(&tp.rp, e);
		tp.rp.filter = NULL;
		rp_run(&tp.rp, 2000000000);
		if (e) {
			tp_expect_sent(&tp, 0, 5, HW_STATUS_REM_ABORT_ERR);
			tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_OP_ERR);
		} else {
			tp_expect_sent(&tp, 1, 5, HW_STATUS_REM_ABORT_ERR);
			tp_expect(&tp, 1, 1, HW_STATUS_REM_OP_ERR);
		}
		tp_check(&tp, 0, 0, 0, 0);
		tp_check(&tp, 1, 0, 0, 0);
		CU_ASSERT_EQUAL(NIC(e)->tag.records.used, 0);
		rp_detach(&tp.rp, !e);
		CU_ASSERT_EQUAL(NIC(!e)->tag.records.used, 0);
		rp_free(&tp.rp);
		free(tp.pool[0]);
		free(tp.pool[1]);
	}
}

/* A peer falls silent, or restarts, while it has sends that it has not matched. */
static void peer_gone(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		tp_begin(&tp);
		tp_send(&tp, 0, 1, 1, 0, LONG);
		tp_send_flags(&tp, 0, 2, 1, 0, 10, HW_TSEND_F_SYNC, 0);
		rp_run(&tp.rp, 10000000000);
		rp_expect_none(&tp.rp);
		if (i) {
			tp.rp.filter = rp_drop_all;
			rp_run(&tp.rp, 40000000000);
		} else {
			rp_restart(&tp.rp, 1);
			rp_run(&tp.rp, 2000000000);
		}
		tp_expect_sent(&tp, 0, 1, HW_STATUS_REM_ABORT_ERR);
		tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_ABORT_ERR);
		tp_check(&tp, 0, 0, 0, 0);
		tp.rp.filter = NULL;
		if (i) {
			/* The RTS fails the receive that takes it. */
			tp_recv(&tp, 1, 9, 1, SINK, LONG);
			rp_run(&tp.rp, 2000000000);
			tp_expect(&tp, 1, 9, HW_STATUS_REM_ACCESS_ERR);
			tp_recv(&tp, 1, 9, 1, SINK, LONG);
			rp_run(&tp.rp, 2000000000);
			tp_expect(&tp, 1, 9, HW_STATUS_SUCCESS);
		}
		tp_end(&tp);
	}
}

/* ---- forged envelopes -------------------------------------------------------------------- */

/* An ordinary QP of end 0 sends bytes of its own as an envelope. */
static void forge(const struct wire_tag *env, uint32_t bytes, uint64_t wr_id)
{
	struct rp_end *end = &tp.rp.end[0];

	memcpy(MEM(0) + 900000, env, sizeof(*env));
	rp_send(&tp.rp, 0, end->qp[0], tp.qp[1], wr_id, 900000, bytes);
	rp_quiet(&tp.rp);
}

/* Envelopes that no NIC of ours sends, and the bytes that come with them. */
struct wrong {
	uint8_t kind, flags, reserved;
	uint32_t says_bytes;
	uint32_t stag, handle;
	uint32_t bytes;
};

static const struct wrong wrong[] = {
    {.kind = 0, .says_bytes = 8, .bytes = 40},
    {.kind = WIRE_TAG_KINDS, .says_bytes = 8, .bytes = 40},
    {.kind = 255, .says_bytes = 8, .bytes = 40},
    {.kind = WIRE_TAG_EAGER, .flags = 0x80, .says_bytes = 8, .bytes = 40},
    {.kind = WIRE_TAG_EAGER, .reserved = 1, .says_bytes = 8, .bytes = 40},
    {.kind = WIRE_TAG_EAGER, .says_bytes = 9, .bytes = 40},
    {.kind = WIRE_TAG_EAGER, .says_bytes = UINT32_MAX, .bytes = 40},
    {.kind = WIRE_TAG_EAGER, .says_bytes = 8, .bytes = 31},
    {.kind = WIRE_TAG_EAGER, .says_bytes = 8, .bytes = 0},
    /* SYNC without a handle. */
    {.kind = WIRE_TAG_EAGER, .flags = WIRE_TAG_F_SYNC, .says_bytes = 8, .bytes = 40},
    /* An RTS with data behind it, and one that names no open send. */
    {.kind = WIRE_TAG_RTS, .stag = 0x80000001, .handle = 0x80000001, .says_bytes = 8, .bytes = 40},
    {.kind = WIRE_TAG_RTS, .stag = 0x101, .handle = 0x80000001, .says_bytes = 8, .bytes = 32},
    /* A DONE in the class of requests. */
    {.kind = WIRE_TAG_DONE, .handle = 0x80000001, .says_bytes = 8, .bytes = 32},
    {.kind = WIRE_TAG_EAGER,
     .says_bytes = HW_TAG_MAX_EAGER_BYTES + 1,
     .bytes = 32 + HW_TAG_MAX_EAGER_BYTES + 1},
};

static void malformed(void)
{
	struct tp_op any = {.wr_id = 51, .flags = HW_TAG_F_ANY_SRC, .bytes = 10};
	struct wire_tag good = {.kind = WIRE_TAG_EAGER, .bytes = be32_put(8)};
	uint32_t i, num = sizeof(wrong) / sizeof(wrong[0]);

	tp_begin(&tp);
	for (i = 0; i < num; i++) {
		const struct wrong *w = &wrong[i];
		struct wire_tag env = {
		    .kind = w->kind,
		    .flags = w->flags,
		    .reserved = w->reserved,
		    .bytes = be32_put(w->says_bytes),
		    .stag = be32_put(w->stag),
		    .handle = be32_put(w->handle),
		};

		forge(&env, w->bytes, i);
		rp_expect_send(&tp.rp, 0, i, HW_STATUS_REM_OP_ERR);
		CU_ASSERT_EQUAL(tp.qp[1]->state, HW_QPS_RTS);
	}
	rp_expect_none(&tp.rp);
	tp_check(&tp, 1, 0, 0, 0);
	CU_ASSERT(RP_CNT(&tp.rp, 1, tag_malformed) >= num);
	/* A good one of the same QP, and a send to an ordinary QP. */
	forge(&good, 40, 50);
	rp_expect_send(&tp.rp, 0, 50, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 1);
	tp_op(&tp, 1, &any);
	rp_quiet(&tp.rp);
	rp_expect_recv(&tp.rp, 1, 51, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* An RTS of a stranger names another's open send, or none: the read fails, and nothing leaks. */
static void forged_rts(void)
{
	struct wire_tag env = {.kind = WIRE_TAG_RTS, .bytes = be32_put(LONG)};
	const struct tag_send *send;
	struct tp_op op = {.wr_id = 1, .flags = HW_TAG_F_ANY_SRC, .offset = SINK, .bytes = LONG};

	tp_begin(&tp);
	tp_send(&tp, 0, 3, 77, 0, LONG);
	rp_quiet(&tp.rp);
	send = FW_CONTAINER(NIC(0)->tag.eps[tp.qp[0] - NIC(0)->host.qps].sends.next,
			    struct tag_send, ep_node);
	env.handle = be32_put(tag_send_handle(NIC(0), send));
	env.stag = be32_put(send->secret);
	forge(&env, 32, 10);
	rp_expect_send(&tp.rp, 0, 10, HW_STATUS_SUCCESS);
	tp_op(&tp, 1, &op);
	rp_run(&tp.rp, 100000000);
	rp_expect_recv(&tp.rp, 1, 1, HW_STATUS_REM_ACCESS_ERR);
	/* The DONE of that failure named another's send, and was ignored. */
	CU_ASSERT_EQUAL(tp_query(&tp, 0).open_sends, 1);
	tp_recv(&tp, 1, 4, 77, SINK, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 4, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
	tp_end(&tp);
}

/* Reads from an endpoint of end 0 by an STag of the test's choice. */
static void read_source(struct fw_qp *qp, uint64_t wr_id, uint32_t stag, uint64_t to,
			uint32_t bytes)
{
	const struct rp_end *end = &tp.rp.end[1];
	struct hw_sge sge = {(uintptr_t)end->mem + SINK, bytes, end->stag};
	struct hw_sq_wqe wqe = {.opcode = HW_WQE_READ,
				.flags = HW_WQE_F_SIGNALED,
				.slots = 2,
				.num_sge = 1,
				.wr_id = wr_id,
				.ah = end->ah,
				.dst_qpn = tp.qp[0]->qpn,
				.qkey = RP_QKEY,
				.rkey = stag,
				.remote_addr = to};

	rp_write_sq(qp, &wqe, &sge, sizeof(sge));
	rp_ring(&tp.rp, 1, qp);
	rp_quiet(&tp.rp);
}

/* The peer itself reads beyond the message, twice, after its end. */
static void greedy_reads(void)
{
	const struct tag_send *send;
	uint32_t handle, secret, i;

	tp_begin(&tp);
	tp_send(&tp, 0, 3, 77, 0, LONG);
	rp_quiet(&tp.rp);
	send = FW_CONTAINER(NIC(0)->tag.eps[tp.qp[0] - NIC(0)->host.qps].sends.next,
			    struct tag_send, ep_node);
	handle = tag_send_handle(NIC(0), send);
	secret = send->secret;
	for (i = 0; i < 6; i++) {
		static const uint32_t differs[6] = {0, 0, 1 << TAG_SEND_BITS, 1, 0, 0};

		read_source(i == 5 ? tp.rp.end[1].qp[0] : tp.qp[1], i, handle ^ differs[i],
			    i == 4 ? secret + 8 : secret, i == 1 ? LONG + 1 : 100);
		rp_expect_send(&tp.rp, 1, i, i ? HW_STATUS_REM_ACCESS_ERR : HW_STATUS_SUCCESS);
	}
	tp_recv(&tp, 1, 4, 77, SINK, LONG);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 4, HW_STATUS_SUCCESS);
	tp_expect_sent(&tp, 0, 3, HW_STATUS_SUCCESS);
	read_source(tp.qp[1], 9, handle, secret, 100);
	rp_expect_send(&tp.rp, 1, 9, HW_STATUS_REM_ACCESS_ERR);
	tp_end(&tp);
}

UT_MAIN("pair/tag_rdv", UT(rendezvous), UT(many), UT(pool_full), UT(no_pool), UT(claimed),
	UT(dereg), UT(qp_error_amid), UT(killed_amid), UT(peer_gone), UT(malformed), UT(forged_rts),
	UT(greedy_reads))
