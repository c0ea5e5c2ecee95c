/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many requests of one queue pair over ESP: a doorbell, the opening of the stream, its end, a
 * Terminate and a flush each do a part of them in a turn. Steps along lists are counted
 * (nic_fw/base/walk.h); nothing is timed. See docs/security.md "Stalls".
 */
#include "tests/pair/rd_pair.h"

enum {
	MANY = 60,
	/* A turn's 16 units and 32 completions, its frames and its requests. */
	STEPS = 40,
	US = 1000,
};

static struct rp rp;
static struct fw_qp *qa, *qb;
static bool cut;

#define A (&rp.end[0])
#define B (&rp.end[1])

static enum bench_verdict drop_if_cut(struct rp *r, const struct rp_info *info)
{
	(void)r;
	(void)info;
	return cut ? BENCH_DROP : BENCH_PASS;
}

static void begin(void)
{
	const struct hw_qp_attr attr = {
	    .timeout = 18,
	    .retry_cnt = 7,
	    .rnr_retry = 7,
	    .transport = HW_QP_TRANSPORT_ESP,
	};

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &qa, &qb, &attr);
	CU_ASSERT_FATAL(qa->attr.transport == HW_QP_TRANSPORT_ESP);
	rp.filter = drop_if_cut;
	cut = false;
}

static void over(void)
{
	cut = false;
	rp_destroy_qp(&rp, 0, qa);
	rp_destroy_qp(&rp, 1, qb);
	rp_run(&rp, UINT64_C(40000000) * US);
	rp_end(&rp);
}

static void post(uint64_t wr_id)
{
	const struct rp_req put = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = 1};

	rp_req(&rp, 0, qa, &put);
}

/* Runs turn by turn, until A has as many completions; returns the most steps of a turn of A. */
static uint64_t turns(uint32_t completions, enum hw_status first, enum hw_status others)
{
	uint64_t most = 0;
	uint32_t done = 0, n;
	struct hw_cqe cqe;

	for (n = 0; n < 100 * MANY && done < completions; n++) {
		fw_walk_steps = 0;
		rp_poll(&rp, 0);
		if (fw_walk_steps > most)
			most = fw_walk_steps;
		rp_poll(&rp, 1);
		rp.wire.now_ns += US;
		for (; rp_scqe(&rp, 0, &cqe); done++) {
			CU_ASSERT_EQUAL(cqe.wr_id, done);
			CU_ASSERT_EQUAL(cqe.status, done ? others : first);
		}
	}
	CU_ASSERT_EQUAL(done, completions);
	return most;
}

/* Their stream opens when the peer is there again. */
static void opened_behind_many(void)
{
	uint64_t most;
	uint32_t i;

	begin();
	cut = true;
	for (i = 0; i < MANY; i++)
		post(i);
	rp_run(&rp, 1000 * US);
	cut = false;
	most = turns(MANY, HW_STATUS_SUCCESS, HW_STATUS_SUCCESS);
	if (most > STEPS)
		printf("\n    %llu steps", (unsigned long long)most);
	CU_ASSERT(most <= STEPS);
	over();
}

/* Posts many to an open stream, none of which arrives. */
static void on_their_way(void)
{
	uint32_t i;

	begin();
	post(0);
	CU_ASSERT(turns(1, HW_STATUS_SUCCESS, HW_STATUS_SUCCESS) <= STEPS);
	cut = true;
	for (i = 0; i < MANY; i++)
		post(i);
	rp_run(&rp, 100 * US);
	CU_ASSERT_EQUAL(qa->outstanding, MANY);
}

static void ended_under_many(void)
{
	uint64_t most;

	on_their_way();
	fw_walk_steps = 0;
	esp_end(A->nic, qa->esp->out.stream, ESP_END_RESET);
	most = fw_walk_steps;
	if (most > STEPS)
		printf("\n    %llu steps at its end", (unsigned long long)most);
	CU_ASSERT(most <= STEPS);
	CU_ASSERT(turns(MANY, HW_STATUS_REM_OP_ERR, HW_STATUS_WR_FLUSH_ERR) <= STEPS);
	over();
}

static void flushed(void)
{
	on_their_way();
	fw_walk_steps = 0;
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, qa, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT(fw_walk_steps <= STEPS);
	CU_ASSERT(turns(MANY, HW_STATUS_WR_FLUSH_ERR, HW_STATUS_WR_FLUSH_ERR) <= STEPS);
	over();
}

/* A Terminate for one that a peer cannot know looks at the window alone. */
static void terminated(void)
{
	on_their_way();
	fw_walk_steps = 0;
	esp_llp_ops.terminated(A->nic, qa, NULL, qa->ssn - 1, HW_STATUS_REM_OP_ERR);
	CU_ASSERT(fw_walk_steps <= STEPS);
	CU_ASSERT_EQUAL(qa->outstanding, MANY);
	cut = false;
	CU_ASSERT(turns(MANY, HW_STATUS_SUCCESS, HW_STATUS_SUCCESS) <= STEPS);
	over();
}

UT_MAIN("pair/esp_walk", UT(opened_behind_many), UT(ended_under_many), UT(flushed), UT(terminated))
