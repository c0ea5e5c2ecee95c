/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that wait for receivers of the switch: in order for each receiver, none delayed by
 * another's, bounded for each and for all, and dropped when a receiver is stuck.
 *
 * Runs dpdk_app/wire/switch_hold.c on a small pool of DPDK; receivers are counters here.
 */
#include "dpdk_app/wire/switch_hold.h"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <string.h>

#include "tests/ut.h"

enum {
	FRAMES = 1024,
	STUCK = 1, /* a receiver that takes nothing */
	SLOW = 2,  /* one frame each time */
	QUICK = 3,
};

static struct rte_mempool *pool;
static struct switch_holds holds;
static uint64_t stuck;
static uint32_t got[CONF_MAX_NICS]; /* frames that each receiver has taken */
static bool stuck_wakes;

static void begin(void)
{
	static char *args[] = {"switch_hold_ut", "--no-huge",   "-m", "32", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};

	if (!pool) {
		CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
		pool = rte_pktmbuf_pool_create("hold", FRAMES, 0, 0, RTE_PKTMBUF_HEADROOM + 64,
					       SOCKET_ID_ANY);
		CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	}
	memset(&holds, 0, sizeof(holds));
	memset(got, 0, sizeof(got));
	stuck = 0;
	stuck_wakes = false;
}

static void end(void)
{
	switch_hold_drop(&holds);
	CU_ASSERT_EQUAL(holds.mask, 0);
	CU_ASSERT_EQUAL(holds.total, 0);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
}

/*
 * Frames numbered from first, with their number as length. Returns how many were kept; the others
 * are freed.
 */
static uint32_t put(uint32_t to, uint32_t first, uint32_t n, uint64_t now_ns)
{
	struct rte_mbuf *m[SWITCH_HOLD_TOTAL];
	uint32_t kept, i;

	CU_ASSERT_FATAL(n <= SWITCH_HOLD_TOTAL);
	CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(pool, m, n), 0);
	for (i = 0; i < n; i++)
		m[i]->pkt_len = first + i;
	kept = switch_hold_put(&holds, to, m, n, now_ns);
	rte_pktmbuf_free_bulk(m + kept, n - kept);
	return kept;
}

static uint32_t take(void *ctx, uint32_t to, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t i;

	(void)ctx;
	if (to == STUCK && !stuck_wakes)
		return 0;
	if (to == SLOW)
		n = 1;
	for (i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(frames[i]->pkt_len, got[to]);
		got[to]++;
		rte_pktmbuf_free(frames[i]);
	}
	return n;
}

static uint32_t flush(uint64_t now_ns)
{
	return switch_hold_flush(&holds, take, NULL, now_ns, &stuck);
}

static void each_by_itself_and_in_order(void)
{
	begin();
	CU_ASSERT_EQUAL(put(STUCK, 0, 10, 1000), 10);
	CU_ASSERT_EQUAL(put(SLOW, 0, 3, 1000), 3);
	CU_ASSERT_EQUAL(put(QUICK, 0, 5, 1000), 5);
	CU_ASSERT_EQUAL(put(SLOW, 3, 2, 1000), 2);
	CU_ASSERT_EQUAL(flush(2000), 6);
	CU_ASSERT_EQUAL(got[QUICK], 5);
	CU_ASSERT_EQUAL(got[SLOW], 1);
	CU_ASSERT_EQUAL(holds.mask, 1u << STUCK | 1u << SLOW);
	while (got[SLOW] < 5)
		CU_ASSERT_EQUAL(flush(3000), 1);
	CU_ASSERT_EQUAL(holds.mask, 1u << STUCK);
	stuck_wakes = true;
	CU_ASSERT_EQUAL(flush(4000), 10);
	CU_ASSERT_EQUAL(got[STUCK], 10);
	CU_ASSERT_EQUAL(stuck, 0);
	end();
}

static void bounded_for_each_and_for_all(void)
{
	begin();
	CU_ASSERT_EQUAL(put(STUCK, 0, SWITCH_HOLD_FRAMES + 7, 0), SWITCH_HOLD_FRAMES);
	CU_ASSERT_EQUAL(put(STUCK, 0, 1, 0), 0);
	/* Others still have room. */
	CU_ASSERT_EQUAL(put(QUICK, 0, SWITCH_HOLD_FRAMES, 0), SWITCH_HOLD_FRAMES);
	CU_ASSERT_EQUAL(put(SLOW, 0, 1, 0), SWITCH_HOLD_TOTAL > 2 * SWITCH_HOLD_FRAMES);
	CU_ASSERT_EQUAL(flush(1),
			SWITCH_HOLD_FRAMES + (SWITCH_HOLD_TOTAL > 2 * SWITCH_HOLD_FRAMES));
	CU_ASSERT_EQUAL(holds.total, SWITCH_HOLD_FRAMES);
	end();
}

static void a_stuck_one_loses_them(void)
{
	begin();
	CU_ASSERT_EQUAL(put(STUCK, 0, 4, 5000), 4);
	CU_ASSERT_TRUE(switch_hold_alive(&holds, STUCK, 5000 + SWITCH_ALIVE_NS - 1));
	CU_ASSERT_FALSE(switch_hold_alive(&holds, STUCK, 5000 + SWITCH_ALIVE_NS));
	CU_ASSERT_EQUAL(flush(5000 + SWITCH_HOLD_NS - 1), 0);
	CU_ASSERT_EQUAL(flush(5000 + SWITCH_HOLD_NS), 4);
	CU_ASSERT_EQUAL(stuck, 4);
	CU_ASSERT_EQUAL(holds.mask, 0);
	/* A receiver that takes frames now and then is not stuck. */
	CU_ASSERT_EQUAL(put(SLOW, 0, 3, 0), 3);
	CU_ASSERT_EQUAL(flush(SWITCH_HOLD_NS), 1);
	CU_ASSERT_EQUAL(flush(2 * SWITCH_HOLD_NS), 1);
	CU_ASSERT_TRUE(switch_hold_alive(&holds, SLOW, 2 * SWITCH_HOLD_NS));
	CU_ASSERT_EQUAL(flush(3 * SWITCH_HOLD_NS), 1);
	CU_ASSERT_EQUAL(stuck, 4);
	end();
}

/* A receiver is removed: its frames go, those of others stay. */
static void a_removed_one_loses_them(void)
{
	begin();
	CU_ASSERT_EQUAL(put(STUCK, 0, 4, 5000), 4);
	CU_ASSERT_EQUAL(put(QUICK, 0, 3, 5000), 3);
	switch_hold_forget(&holds, STUCK);
	CU_ASSERT_EQUAL(holds.mask, 1 << QUICK);
	CU_ASSERT_EQUAL(holds.total, 3);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES - 3);
	switch_hold_forget(&holds, STUCK);
	CU_ASSERT_EQUAL(flush(6000), 3);
	CU_ASSERT_EQUAL(stuck, 0);
	end();
}

UT_MAIN("dpdk_app/switch_hold", UT(each_by_itself_and_in_order), UT(bounded_for_each_and_for_all),
	UT(a_stuck_one_loses_them), UT(a_removed_one_loses_them))
