/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints while a table is short, again and again, at either end: every message and every
 * receive still ends as it must, once, and nothing is left.
 */
#include "tests/bench/pool.h"
#include "tests/pair/tag_pair.h"

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)
#define NIC(e) (tp.rp.end[e].nic)

enum {
	LONG = 20000,
	SEGMENTS = 4000, /* an eager message of several packets */
	SINK = 400000,
	ROOM = 20480, /* of a receive */
	MSGS = 12,
	ROUNDS = 30,
	TABLES = 8,
	SLICE_TURNS = 4,
	STEP_NS = 2000,
};

static uint32_t random_state;

static uint32_t draw(uint32_t n)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 16) % n;
}

/* Runs some turns without waiting for rest, which there is none of while retries find nothing. */
static void turns(uint32_t n)
{
	while (n--) {
		rp_poll(&tp.rp, 0);
		rp_poll(&tp.rp, 1);
		bench_wire_pass_to(&tp.rp.wire, tp.rp.wire.now_ns + draw(STEP_NS));
	}
}

/* Lets time pass in slices, in some of which a pool of one end has nothing. */
static void run_short(struct fw_pool *pool, uint32_t slices)
{
	struct fw_pool saved;

	while (slices--) {
		bool is_short = draw(2);

		if (is_short)
			bench_pool_hold(pool, &saved);
		turns(1 + draw(SLICE_TURNS));
		if (is_short)
			bench_pool_release(pool, &saved);
	}
}

/* Both ends know of each other, so that receives are announced. */
static void begin(void)
{
	const struct hw_cmd_tag_open open = {.pool_bytes = TP_POOL_BYTES,
					     .eager_bytes = TP_EAGER_BYTES,
					     .flags = HW_TAG_OPEN_F_ANNOUNCE_ALWAYS};
	uint32_t e;

	tp_begin_with(&tp, &open);
	rp_fill(MEM(0), 200000, 4);
	for (e = 0; e < 2; e++) {
		tp_recv(&tp, e, 1000, 99, 0, 8);
		tp_send(&tp, !e, 1000, 99, 100000, 8);
		rp_quiet(&tp.rp);
		tp_expect(&tp, e, 1000, HW_STATUS_SUCCESS);
		tp_expect_sent(&tp, !e, 1000, HW_STATUS_SUCCESS);
	}
}

static uint32_t bytes_of(uint32_t i)
{
	static const uint32_t bytes[] = {LONG, 100, SEGMENTS, 0, 64, LONG};

	return bytes[i % 6];
}

static void send_one(uint32_t i)
{
	uint32_t sync = i % 3 == 1 ? HW_TSEND_F_SYNC : 0;
	uint8_t inlined = bytes_of(i) == 64 ? HW_WQE_F_INLINE : 0;

	tp_send_flags(&tp, 0, i, i, i * 100, bytes_of(i), sync, inlined);
}

/* Each end has exactly one completion of each number, all of them successes. */
static void check_all(bool all_received)
{
	uint32_t sent = 0, received = 0, i;
	struct hw_cqe cqe;

	for (i = 0; i < MSGS; i++) {
		CU_ASSERT_FATAL(rp_scqe(&tp.rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		sent |= 1u << cqe.wr_id;
		CU_ASSERT_FATAL(rp_rcqe(&tp.rp, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.bytes, bytes_of((uint32_t)cqe.wr_id));
		CU_ASSERT_EQUAL(
		    memcmp(MEM(1) + SINK + cqe.wr_id * ROOM, MEM(0) + cqe.wr_id * 100, cqe.bytes),
		    0);
		received |= 1u << cqe.wr_id;
	}
	CU_ASSERT_EQUAL(sent, (1u << MSGS) - 1);
	CU_ASSERT(!all_received || received == (1u << MSGS) - 1);
	rp_expect_none(&tp.rp);
}

/* Messages of all protocols, each before or after its receive. */
static void exchange(struct fw_pool *pool)
{
	uint32_t i, first;

	for (i = 0; i < MSGS; i++) {
		first = draw(2);
		if (first)
			tp_recv(&tp, 1, i, i, SINK + i * ROOM, ROOM);
		else
			send_one(i);
		run_short(pool, draw(6));
		if (first)
			send_one(i);
		else
			tp_recv(&tp, 1, i, i, SINK + i * ROOM, ROOM);
		run_short(pool, draw(3));
	}
	run_short(pool, 100);
	rp_run(&tp.rp, 3000000000);
	check_all(true);
}

/* The tables that a message needs, but for that of receives. */
static struct fw_pool *pool_of(struct fw_nic *nic, uint32_t n)
{
	struct fw_pool *const pools[TABLES] = {
	    &nic->tag.arrivals, &nic->tag.sends, &nic->tag.kept, &nic->tag.peers,
	    &nic->tag.rtrs,     &nic->host.wqes, &nic->rd.flows, &nic->host.recv_msgs};

	return pools[n];
}

static void each_table(void)
{
	uint32_t e, n, round;

	for (e = 0; e < 2; e++)
		for (n = 0; n < TABLES; n++)
			for (round = 0; round < ROUNDS; round++) {
				random_state = round;
				begin();
				exchange(pool_of(NIC(e), n));
				tp_end(&tp);
			}
}

UT_MAIN("pair/tag_short", UT(each_table))
