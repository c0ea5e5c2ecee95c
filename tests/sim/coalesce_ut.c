/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation of a NIC with several shards, through libweft: a setting of one process
 * holds in all shards, and counters are of one shard or their sum.
 */
#include "tests/sim/sim_fix.h"

#include <errno.h>

enum {
	SHARDS = 2,
	ENDS = 4, /* of the first NIC; processes are given to shards in turn */
	VECTOR = 5,
};

struct net {
	struct sim *sim;
	struct sim_end end[ENDS];
};

static void net_open(struct net *n)
{
	const struct sim_end_attr attr = {.type = WEFT_QPT_RD};
	struct sim_config config;

	memset(n, 0, sizeof(*n));
	sim_config_default(&config);
	config.num_shards = SHARDS;
	n->sim = sim_new(&config, 1);
	CU_ASSERT_FATAL(n->sim != NULL);
	(void)sim_nic_new(n->sim);
	for (uint32_t i = 0; i < ENDS; i++)
		FIX_REQUIRE(n, sim_end_open(&n->end[i], sim_nic_at(n->sim, 0), &attr) == 0);
}

static void net_close(struct net *n)
{
	for (uint32_t i = 0; i < ENDS; i++)
		sim_end_close(&n->end[i]);
	sim_free(n->sim);
}

static struct weft_context *context(const struct net *n, uint32_t i)
{
	return n->end[i].cq->context;
}

/* Counters of all processes, and so of all shards. */
static void all_have(const struct net *n, uint32_t vector, uint32_t rx_usecs,
		     enum weft_coalesce_mode mode)
{
	struct weft_coalesce set;

	for (uint32_t i = 0; i < ENDS; i++) {
		CU_ASSERT_EQUAL(weft_query_coalesce(context(n, i), vector, &set, NULL), 0);
		CU_ASSERT_EQUAL(set.param[WEFT_COALESCE_RX_USECS], rx_usecs);
		CU_ASSERT_EQUAL(set.mode, mode);
	}
}

static void every_shard(void)
{
	struct weft_coalesce c = {.param = {7}, .mode = WEFT_COALESCE_FIXED};
	struct net n;

	net_open(&n);
	all_have(&n, VECTOR, 0, WEFT_COALESCE_FIXED);
	for (uint32_t i = 0; i < ENDS; i++) {
		c.param[WEFT_COALESCE_RX_USECS] = 20 + i;
		c.mode = i % 2 ? WEFT_COALESCE_ADAPTIVE : WEFT_COALESCE_FIXED;
		CU_ASSERT_EQUAL(
		    weft_set_coalesce(context(&n, i), VECTOR, WEFT_COALESCE_SET_ALL, &c), 0);
		all_have(&n, VECTOR, 20 + i, c.mode);
		all_have(&n, VECTOR - 1, 0, WEFT_COALESCE_FIXED);
	}
	/* With one value too high, no part of the setting takes effect in any shard. */
	c.param[WEFT_COALESCE_RX_USECS] = 1;
	c.param[WEFT_COALESCE_TX_FRAMES_IRQ] = 256;
	CU_ASSERT_EQUAL(weft_set_coalesce(context(&n, 1), VECTOR, WEFT_COALESCE_SET_ALL, &c),
			-EINVAL);
	all_have(&n, VECTOR, 20 + ENDS - 1, WEFT_COALESCE_ADAPTIVE);
	CU_ASSERT_EQUAL(weft_set_coalesce(context(&n, 0), 8, WEFT_COALESCE_SET_MODE, &c), -EINVAL);
	c.mode = WEFT_COALESCE_FIXED;
	c.param[WEFT_COALESCE_TX_FRAMES_IRQ] = 0;
	CU_ASSERT_EQUAL(
	    weft_set_coalesce(context(&n, 2), WEFT_COALESCE_ALL_VECTORS, WEFT_COALESCE_SET_ALL, &c),
	    0);
	for (uint32_t v = 0; v < 8; v++)
		all_have(&n, v, 1, WEFT_COALESCE_FIXED);
	net_close(&n);
}

/* A channel more in one shard adds one event queue there, and to the sum. */
static void counters(void)
{
	struct weft_comp_channel *channel;
	struct weft_vector v, own[SHARDS];
	struct net n;

	net_open(&n);
	channel = weft_create_comp_channel(context(&n, 0), VECTOR);
	CU_ASSERT_PTR_NOT_NULL_FATAL(channel);
	for (uint32_t i = 0; i < ENDS; i++) {
		for (uint32_t s = 0; s < SHARDS; s++)
			CU_ASSERT_EQUAL(weft_query_vector(context(&n, i), VECTOR, s, &own[s]), 0);
		CU_ASSERT_EQUAL(own[0].event_queues + own[1].event_queues, 1);
		CU_ASSERT_EQUAL(
		    weft_query_vector(context(&n, i), VECTOR, WEFT_COALESCE_ALL_SHARDS, &v), 0);
		CU_ASSERT_EQUAL(v.event_queues, 1);
	}
	CU_ASSERT_EQUAL(weft_query_vector(context(&n, 0), VECTOR, SHARDS, &v), -EINVAL);
	CU_ASSERT_EQUAL(weft_query_vector(context(&n, 0), 8, 0, &v), -EINVAL);
	CU_ASSERT_EQUAL(weft_destroy_comp_channel(channel), 0);
	net_close(&n);
}

UT_MAIN("sim/coalesce", UT(every_shard), UT(counters))
