/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lost grants: no flow stands still for ever, whichever frame that carried credits is lost.
 */
#include "tests/pair/rd_pair.h"

enum {
	OTHERS = 40,      /* requesting peers, as both ends believe */
	BYTES = 30000,    /* of a message */
	FRAMES_MAX = 400, /* of a transfer, at most */
	AT_B = 500000,    /* target of B's Writes */
};
#define LONG_NS UINT64_C(200000000) /* a time without progress that is too long */

static struct rp rp;
static uint32_t lose_from, lose_at, lose_num, seen;

#define A (&rp.end[0])
#define B (&rp.end[1])

static enum bench_verdict lose(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from != lose_from || info->type == 0xff)
		return BENCH_PASS;
	seen++;
	return seen > lose_at && seen <= lose_at + lose_num ? BENCH_DROP : BENCH_PASS;
}

static void others(int32_t n)
{
	A->nic->rd.grants.num_backlogged += (uint32_t)n;
	B->nic->rd.grants.num_backlogged += (uint32_t)n;
}

/* Opens the session; each end has only so many credits. */
static void begin(uint32_t credits)
{
	uint32_t e;

	rp_begin(&rp);
	rp_open(&rp);
	rp_quiet(&rp);
	others(OTHERS);
	for (e = 0; e < 2; e++) {
		struct rd_session *s = rp_session(&rp, e);
		struct rd_session *peer = rp_session(&rp, !e);

		peer->rx_limit = peer->rx_used + credits;
		peer->rx_announced = peer->rx_limit;
		s->credit_limit = (uint8_t)(s->credit_used + credits);
	}
}

static void end(void)
{
	struct hw_cqe cqe;

	rp.filter = NULL;
	others(-OTHERS);
	while (rp_scqe(&rp, 0, &cqe) || rp_scqe(&rp, 1, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static void post(uint32_t from, uint64_t wr_id)
{
	struct rp_end *e = &rp.end[from];
	struct rp_req req = {.opcode = HW_WQE_WRITE,
			     .wr_id = wr_id,
			     .dst = rp.end[!from].qp[0],
			     .bytes = BYTES,
			     .remote_offset = AT_B};

	rp_req(&rp, from, e->qp[0], &req);
}

/*
 * A writes, and B too if both do, while so many frames of one end are lost. Returns the number of
 * frames that end sent.
 */
static uint32_t transfer(uint32_t from, uint32_t at, uint32_t num, bool both)
{
	lose_from = from;
	lose_at = at;
	lose_num = num;
	seen = 0;
	begin(1);
	rp_fill(A->mem, BYTES, 7);
	rp_fill(B->mem, BYTES, 8);
	rp.filter = lose;
	post(0, 1);
	if (both)
		post(1, 2);
	rp_run(&rp, LONG_NS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(B->mem + AT_B, BYTES, 7));
	if (both) {
		rp_expect_send(&rp, 1, 2, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(A->mem + AT_B, BYTES, 8));
	}
	end();
	return seen;
}

/* Each frame of one end alone, and with the two after it. */
static void lose_each(uint32_t from, bool both)
{
	uint32_t at, frames = 1;

	for (at = 0; at < frames; at++) {
		frames = transfer(from, at, 1, both);
		CU_ASSERT_FATAL(frames < FRAMES_MAX);
		transfer(from, at, 3, both);
	}
	CU_ASSERT_TRUE(at >= 8);
}

static void of_the_receiver(void)
{
	lose_each(1, false);
}

static void of_the_sender(void)
{
	lose_each(0, false);
}

static void of_both(void)
{
	lose_each(0, true);
	lose_each(1, true);
}

/*
 * Nothing in flight and no credits: the end requests credits, even if its first requests are lost.
 */
static void out_of_credits(void)
{
	uint32_t lost;

	for (lost = 0; lost < 4; lost++) {
		lose_from = 0;
		lose_at = 0;
		lose_num = lost;
		seen = 0;
		begin(0);
		rp.filter = lose;
		post(0, 1);
		rp_run(&rp, LONG_NS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		end();
	}
}

UT_MAIN("pair/rd_grant_loss", UT(of_the_receiver), UT(of_the_sender), UT(of_both),
	UT(out_of_credits))
