/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpdk_app/idle.c: when a core without work yields its CPU, sleeps, or stays awake. The firmware,
 * its wire and sched_yield() are the test's.
 */
#include "dpdk_app/idle.h"

#include <sched.h>
#include <string.h>

#include "dpdk_app/wire/wire.h"
#include "tests/ut.h"

#define NEAR_NS  UINT64_C(5000)
#define FAR_NS   UINT64_C(2000000)
#define CROWD_NS UINT64_C(1000000000)

static uint64_t timer_ns; /* of the firmware, from the begin of a turn */
static uint64_t num_yields;
static struct app app;
static struct core core;
static struct shard shard;
static struct nic nic;
static struct wire wire;
static struct rte_ring empty;

/* In the place of libc's. */
int sched_yield(void)
{
	num_yields++;
	return 0;
}

static uint64_t next_timer(const struct fw_nic *fw)
{
	(void)fw;
	return core.now_ns + timer_ns;
}

static bool may_sleep(struct fw_nic *fw, bool sleep)
{
	(void)fw;
	(void)sleep;
	return true;
}

static uint64_t no_frame_ns(const struct shard *s)
{
	(void)s;
	return UINT64_MAX;
}

static bool no_frame(const struct shard *s)
{
	(void)s;
	return false;
}

/* A core without work on a CPU that it shares. */
static void begin(uint64_t ns)
{
	static const struct fw_ops fw_ops = {.next_timer_ns = next_timer, .sleep = may_sleep};
	static const struct wire_ops wire_ops = {.next_ns = no_frame_ns, .waiting = no_frame};

	memset(&core, 0, sizeof(core));
	memset(&shard, 0, sizeof(shard));
	app.conf.share = CONF_SHARE_YES;
	wire.ops = &wire_ops;
	nic.wire = &wire;
	shard.nic = &nic;
	shard.ops = &fw_ops;
	core.app = &app;
	core.msgs = &empty;
	core.shard[0] = &shard;
	core.num_shards = 1;
	core.now_ns = app_clock_ns();
	timer_ns = ns;
	num_yields = 0;
	CU_ASSERT_EQUAL_FATAL(idle_init(&core), 0);
}

static void end(void)
{
	idle_close(&core);
}

/* The other threads of its CPU compute: a yield lasts for a time slice of theirs. */
static void crowd(void)
{
	core.crowd_until_ns = core.now_ns + CROWD_NS;
}

static void yields_to_pollers(void)
{
	begin(FAR_NS);
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 1);
	CU_ASSERT_EQUAL(core.stats.sleeps, 0);
	end();
}

static void sleeps_in_a_crowd(void)
{
	begin(FAR_NS);
	crowd();
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 0);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	end();
}

/* After its patience, too, it yields where it cannot sleep. */
static void patience(void)
{
	begin(FAR_NS);
	idle_turn(&core, 0);
	core.now_ns += FAR_NS;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 1);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	timer_ns = NEAR_NS;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 2);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	end();
}

UT_MAIN("dpdk_app/idle", UT(yields_to_pollers), UT(sleeps_in_a_crowd), UT(patience))
