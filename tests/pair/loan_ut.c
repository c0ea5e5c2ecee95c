/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two NICs whose ports lend (tests/bench/loan.h), as those of weftd's built-in switch do: the bench
 * lends what it says, and the firmware has it copied in time.
 */
#include "tests/bench/loan.h"
#include "tests/pair/rd_pair.h"

enum {
	BYTES = 1200, /* one packet */
	SINK = 100000,
	OLD = 1,
	NEW = 2,
};

static struct rp rp;
static enum bench_verdict fate;

#define A (&rp.end[0])
#define B (&rp.end[1])

static enum bench_verdict to_b(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 0 && info->type == WIRE_DGRAM_RD ? fate : BENCH_PASS;
}

/* A Write of the pattern OLD is under way. */
static void write_one(bool lends)
{
	struct rp_req write = {
	    .opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = SINK};

	rp_begin(&rp);
	rp_open(&rp);
	A->port.lends = B->port.lends = lends;
	rp.filter = to_b;
	write.dst = B->qp[0];
	rp_fill(A->mem, BYTES, OLD);
	rp_req(&rp, 0, A->qp[0], &write);
	rp_poll(&rp, 0);
}

static void over(uint32_t pattern, uint32_t wrong_sums)
{
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_dgram_crc), wrong_sums);
	CU_ASSERT_TRUE(rp_filled(B->mem + SINK, BYTES, pattern));
	rp_end(&rp);
}

/* The receiver reads the sender's memory as it is then: only a port that lends can tell. */
static void read_on_arrival(void)
{
	fate = BENCH_PASS;
	write_one(true);
	CU_ASSERT_TRUE(bench_loan_reaches(&A->port, A->mem, BYTES));
	CU_ASSERT_FALSE(bench_loan_reaches(&A->port, A->mem + BYTES, BYTES));
	CU_ASSERT_FALSE(bench_loan_reaches(&B->port, A->mem, BYTES));
	rp_fill(A->mem, BYTES, NEW);
	over(NEW, 0);

	write_one(false);
	CU_ASSERT_FALSE(bench_loan_reaches(&A->port, A->mem, BYTES));
	rp_fill(A->mem, BYTES, NEW);
	over(OLD, 0);
}

/* A frame without CRC32C counts as right; one that the wire has kept has its sums. */
static void sums(void)
{
	struct bench_frame *frame;

	fate = BENCH_PASS;
	write_one(true);
	CU_ASSERT_EQUAL_FATAL(B->port.inbox_count, 1);
	frame = &B->port.inbox[0];
	CU_ASSERT_EQUAL(frame->loan.num_crcs, 1);
	CU_ASSERT_EQUAL(frame->loan.crc_at[0] + 4u, frame->n);
	over(OLD, 0);

	fate = BENCH_KEEP;
	write_one(true);
	CU_ASSERT_FALSE(bench_loan_reaches(&A->port, A->mem, BYTES));
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	bench_wire_deliver(&rp.wire, 0);
	over(OLD, 0);

	/* A copy of a frame has no known checksums. */
	fate = BENCH_KEEP;
	write_one(true);
	rp.wire.kept[0].b[rp.wire.kept[0].n - 1] ^= 1;
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 1);
	over(OLD, 1);
}

/* Memory that the firmware returns to the process is copied first. */
static void settled(void)
{
	uint32_t settles;

	fate = BENCH_PASS;
	write_one(true);
	settles = A->port.settles;
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, A->stag), 0);
	CU_ASSERT_EQUAL(A->port.settles, settles + 1);
	CU_ASSERT_FALSE(bench_loan_reaches(&A->port, A->mem, RP_MEM_BYTES));
	rp_fill(A->mem, BYTES, NEW);
	rp.filter = NULL;
	rp_quiet(&rp);
	CU_ASSERT_TRUE(rp_filled(B->mem + SINK, BYTES, OLD));
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	A->stag = rp_reg(&rp, 0, A->mem, RP_MEM_BYTES, RP_ALL_ACCESS, true);
	rp_end(&rp);
}

UT_MAIN("pair/loan", UT(read_on_arrival), UT(sums), UT(settled))
