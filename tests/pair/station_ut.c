/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One station's packets take a part of tables that all stations share, and leave the rest to
 * others: packets of RD before their turn. docs/security.md "Exhaustion by a neighbour".
 */
#include "tests/pair/rd_pair.h"

enum {
	HELD = 30,  /* places, in this test */
	SENDS = 28, /* behind one that is lost, within the first window */
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static uint32_t first; /* PSN of the packet that is lost */
static bool known;

static enum bench_verdict lose_first(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from || info->type != WIRE_DGRAM_RD || !info->ddp)
		return BENCH_PASS;
	if (!known)
		first = info->psn;
	known = true;
	return info->psn == first ? BENCH_DROP : BENCH_PASS;
}

static void post(uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 4096 + i * 64, 64);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i * 64, 64);
	}
	rp_settle(&rp);
}

/* Two thirds are for one station; its packets beyond count as lost, and come again. */
static void early_packets(void)
{
	struct hw_cqe cqe;
	uint32_t i, max, held;

	rp_begin(&rp);
	rp_open(&rp);
	max = B->nic->rd.held.max;
	B->nic->rd.held.max = HELD;
	known = false;
	rp.filter = lose_first;
	post(0, SENDS - 4);
	held = B->nic->rd.held.used;
	CU_ASSERT_EQUAL(held, HELD / 3 * 2);
	CU_ASSERT(RP_CNT(&rp, 1, drop_rd_no_memory) > 0);
	/* The next ones come from another station. */
	rp_session(&rp, 1)->station ^= 1;
	post(SENDS - 4, 4);
	CU_ASSERT(B->nic->rd.held.used > held);
	rp.filter = NULL;
	rp_run(&rp, 2000000000);
	for (i = 0; i < SENDS; i++) {
		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status == HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_rcqe(&rp, 1, &cqe) && cqe.status == HW_STATUS_SUCCESS);
	}
	CU_ASSERT_EQUAL(B->nic->station.used[STATION_RD_HELD], 0);
	B->nic->rd.held.max = max;
	rp_end(&rp);
}

UT_MAIN("pair/station", UT(early_packets))
