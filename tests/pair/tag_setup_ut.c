/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to a tagged endpoint that is not set up: its first messages wait for it, and what an
 * earlier endpoint of its number has left with a peer ends. A context is never set up.
 */
#include "tests/pair/tag_pair.h"

enum {
	LONG = 20000,
	SINK = 400000,
	WAIT_NS = 1000000000,
};

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)

/* Both ends know of each other. */
static void begin_with(const struct hw_cmd_tag_open *open)
{
	tp_begin_with(&tp, open);
	rp_fill(MEM(0), LONG, 4);
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

/* The endpoint of an end is dropped; the next one of its number is in RESET or in INIT. */
static void renew(uint32_t e, enum hw_qp_state state)
{
	const struct hw_qp_attr attr = {.port = 1, .qkey = RP_QKEY, .access = RP_ALL_ACCESS};

	CU_ASSERT_EQUAL(rp_modify(&tp.rp, e, tp.qp[e], HW_QPS_RESET, 0, NULL), 0);
	rp_quiet(&tp.rp);
	if (state == HW_QPS_INIT)
		CU_ASSERT_EQUAL(
		    rp_modify(&tp.rp, e, tp.qp[e], HW_QPS_INIT,
			      HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY | HW_QP_ACCESS_FLAGS,
			      &attr),
		    0);
}

static const enum hw_qp_state states[] = {HW_QPS_RESET, HW_QPS_INIT};

/* A receive takes an RTS of the earlier endpoint: its read fails. */
static void read(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		begin();
		tp_send(&tp, 0, 1, 7, 0, LONG);
		rp_quiet(&tp.rp);
		renew(0, states[i]);
		tp_recv(&tp, 1, 2, 7, SINK, LONG);
		rp_run(&tp.rp, WAIT_NS);
		tp_expect(&tp, 1, 2, HW_STATUS_REM_OP_ERR);
		rp_expect_none(&tp.rp);
		tp_end(&tp);
	}
}

/* A receive that was announced to it is cancelled. */
static void cancel(void)
{
	struct tp_op op = {.op = HW_TAG_CANCEL};
	uint32_t i;

	for (i = 0; i < 2; i++) {
		begin();
		op.number = tp_recv(&tp, 1, 2, 7, SINK, LONG);
		rp_quiet(&tp.rp);
		CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 1);
		renew(0, states[i]);
		tp_op(&tp, 1, &op);
		rp_run(&tp.rp, WAIT_NS);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_WR_FLUSH_ERR).vendor_err,
				HW_VENDOR_ERR_CANCELED);
		rp_expect_none(&tp.rp);
		tp_end(&tp);
	}
}

/* It had announced a receive, to which a message is written. */
static void write(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		begin();
		tp_recv(&tp, 1, 2, 7, SINK, LONG);
		rp_quiet(&tp.rp);
		renew(1, states[i]);
		tp_send(&tp, 0, 1, 7, 0, LONG);
		rp_run(&tp.rp, WAIT_NS);
		tp_expect_sent(&tp, 0, 1, HW_STATUS_REM_OP_ERR);
		rp_expect_none(&tp.rp);
		tp_end(&tp);
	}
}

/* A first message to it waits; each is alone, since a refused one stops those behind it. */
static void first_message(void)
{
	static const uint32_t bytes[] = {0, 100, LONG};
	uint32_t i;

	for (i = 0; i < 6; i++) {
		begin();
		renew(1, states[i % 2]);
		tp_send_flags(&tp, 0, 1, 7, 0, bytes[i / 2], HW_TSEND_F_SYNC, 0);
		rp_run(&tp.rp, WAIT_NS);
		rp_expect_none(&tp.rp);
		rp_rts(&tp.rp, 1, tp.qp[1]);
		tp_recv(&tp, 1, 2, 7, SINK, LONG);
		rp_run(&tp.rp, WAIT_NS);
		tp_expect_sent(&tp, 0, 1, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(tp_expect(&tp, 1, 2, HW_STATUS_SUCCESS).bytes, bytes[i / 2]);
		CU_ASSERT(rp_filled(MEM(1) + SINK, bytes[i / 2], 4));
		tp_end(&tp);
	}
}

/* So does a request of verbs. */
static void first_request(void)
{
	static const uint8_t opcodes[] = {HW_WQE_WRITE, HW_WQE_READ};
	struct rp_req req = {.wr_id = 3, .bytes = 100, .remote_offset = SINK};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		begin();
		renew(1, states[i % 2]);
		req.opcode = opcodes[i / 2];
		req.dst = tp.qp[1];
		rp_req(&tp.rp, 0, tp.qp[0], &req);
		rp_run(&tp.rp, WAIT_NS);
		rp_expect_none(&tp.rp);
		rp_rts(&tp.rp, 1, tp.qp[1]);
		rp_run(&tp.rp, WAIT_NS);
		rp_expect_send(&tp.rp, 0, 3, HW_STATUS_SUCCESS);
		tp_end(&tp);
	}
}

/* Nothing that is sent to a context waits: it stays in INIT. */
static void context(void)
{
	const struct hw_cmd_tag_open open = {.eager_bytes = TP_EAGER_BYTES,
					     .flags = HW_TAG_OPEN_F_CONTEXT};
	const struct hw_cmd_tag_open none = {.eager_bytes = TP_EAGER_BYTES};
	struct fw_qp *own;

	begin_with(&none);
	own = tp.qp[1];
	tp.qp[1] = tp_qp(&tp, 1, &open);
	renew(1, HW_QPS_INIT);
	tp_send(&tp, 0, 1, 7, 0, 100);
	rp_run(&tp.rp, WAIT_NS);
	tp_expect_sent(&tp, 0, 1, HW_STATUS_REM_OP_ERR);
	tp_send(&tp, 0, 2, 7, 0, LONG);
	rp_run(&tp.rp, WAIT_NS);
	tp_expect_sent(&tp, 0, 2, HW_STATUS_REM_OP_ERR);
	rp_expect_none(&tp.rp);
	rp_destroy_qp(&tp.rp, 1, tp.qp[1]);
	tp.qp[1] = own;
	tp_end(&tp);
}

UT_MAIN("pair/tag_setup", UT(read), UT(cancel), UT(write), UT(first_message), UT(first_request),
	UT(context))
