/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies into memory that is not mapped which the port carries out after the core gave them up: a
 * completion that gives the buffer back comes after them, with an event for those who wait, and
 * nothing is written later. Completions that give no buffer of such a copy back do not wait.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

enum {
	BYTES = 500,
	SOURCE = 4096,
	SINK = 65536,
	WAIT_NS = 3000000,
	SEED = 5,
};

static struct fw_qp *a, *b;

static void begin(void)
{
	const struct hw_qp_attr attr = {
	    .timeout = 14, .retry_cnt = 7, .max_rd_atomic = 4, .max_dest_rd_atomic = 4};
	uint32_t e;

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &a, &b, &attr);
	for (e = 0; e < 2; e++) {
		rp_fill(rp.end[e].mem + SOURCE, BYTES, SEED + e);
		rp.end[e].stag = rp_reg(&rp, e, rp.end[e].mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
	}
}

/* The buffer belongs to the process again: nothing is written to it. */
static void reuse(struct rp_end *end)
{
	memset(end->mem + SINK, 0x77, BYTES);
	rp_run(&rp, WAIT_NS);
	for (uint32_t i = 0; i < BYTES; i++)
		CU_ASSERT_EQUAL_FATAL(end->mem[SINK + i], 0x77);
}

/* Sends a message to B, whose copy is late. */
static void late_send(void)
{
	rp_recv(&rp, 1, b, 1, SINK, BYTES);
	rp_recv(&rp, 1, b, 2, SINK + BYTES, BYTES);
	B->port.host_writes_late = true;
	rp_send(&rp, 0, a, NULL, 3, SOURCE, BYTES);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_PTR_NOT_NULL(B->port.late_write.mem);
	rp_expect_none(&rp);
}

static void fail(uint32_t e, struct fw_qp *qp)
{
	CU_ASSERT_EQUAL(rp_modify(&rp, e, qp, HW_QPS_ERR, 0, NULL), 0);
}

static void receive_flushed(void)
{
	struct hw_cqe cqe;

	begin();
	late_send();
	fail(1, b);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_FALSE(rp_rcqe(&rp, 1, &cqe));
	B->port.host_writes_late = false;
	rp_run(&rp, WAIT_NS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_WR_FLUSH_ERR);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, cqes_late), 1);
	CU_ASSERT_TRUE(rp_filled(B->mem + SINK, BYTES, SEED));
	reuse(B);
	fail(0, a);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_REM_OP_ERR);
	rp_end(&rp);
}

static void read_flushed(void)
{
	const struct rp_req get = {.opcode = HW_WQE_READ,
				   .wr_id = 4,
				   .offset = SINK,
				   .bytes = BYTES,
				   .remote_offset = SOURCE};
	struct hw_cqe cqe;

	begin();
	A->port.host_writes_late = true;
	rp_req(&rp, 0, a, &get);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_PTR_NOT_NULL(A->port.late_write.mem);
	fail(0, a);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	A->port.host_writes_late = false;
	rp_run(&rp, WAIT_NS);
	rp_expect_send(&rp, 0, 4, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_TRUE(rp_filled(A->mem + SINK, BYTES, SEED + 1));
	reuse(A);
	fail(1, b);
	rp_end(&rp);
}

/* Without an error the message comes again, and its completion behind the second copy. */
static void received(void)
{
	begin();
	late_send();
	B->port.host_writes_late = false;
	rp_quiet(&rp);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS).bytes, BYTES);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, cqes_late), 0);
	CU_ASSERT_TRUE(rp_filled(B->mem + SINK, BYTES, SEED));
	reuse(B);
	fail(1, b);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_WR_FLUSH_ERR);
	rp_end(&rp);
}

/*
 * A request that was posted in SQE is flushed behind a late copy: its queue pair works again when
 * that completion is there. One that has none by then has succeeded.
 */
static void works_again(void)
{
	struct rp_req bad = {.opcode = HW_WQE_SEND, .wr_id = 1, .bytes = 8, .lkey = 1}, next;
	static uint8_t memory[8];
	const struct fw_mem mem = {.addr = (uintptr_t)memory};
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	bad.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &bad);
	rp_run(&rp, WAIT_NS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL_FATAL(A->qp[0]->state, HW_QPS_SQE);
	A->port.host_writes_late = true;
	CU_ASSERT_FALSE(mem_write(A->nic, &mem, 0, &(uint8_t){1}, 1));
	next = bad;
	next.wr_id = 2;
	next.lkey = 0;
	rp_req(&rp, 0, A->qp[0], &next);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	(void)rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, 0, NULL);
	/* The command is tried again in each turn, so the NICs do not come to rest. */
	for (uint32_t turn = 0; turn < 8; turn++)
		(void)fw_poll(A->nic, rp.wire.now_ns, FW_TURN_LONG);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_SQE);
	A->port.host_writes_late = false;
	rp_run(&rp, WAIT_NS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	/* The command was answered. */
	CU_ASSERT_EQUAL(A->port.num_done, 1);
	A->port.num_done = 0;
	rp_end(&rp);
}

/* Its process ends while completions wait: they wait for nothing any more. */
static void process_ends(void)
{
	begin();
	late_send();
	fail(1, b);
	rp_detach(&rp, 1);
	B->port.host_writes_late = false;
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_TRUE(fw_list_empty(&B->nic->host.late_cqs));
	rp_detach(&rp, 0);
	rp_free(&rp);
}

UT_MAIN("pair/late_copy", UT(receive_flushed), UT(read_flushed), UT(received), UT(works_again),
	UT(process_ends))
