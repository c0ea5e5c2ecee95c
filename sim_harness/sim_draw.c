/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derives a run's plan from its seed: number of NICs, network, workload, faults.
 *
 * Queue sizes, latencies and fault rates are drawn by magnitude, so that small and large, rare and
 * frequent are equally likely. In every third run all but one queue are small at once. Wrapping
 * numbers start just below 2^32 in half of the runs. Draws from its own stream.
 */
#include "sim_harness/sim_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A fault and its range of rates, in thousandths of its unit (--help). */
static const struct drawn_fault {
	const char *name;
	uint32_t low, high;
	enum needs {
		NOTHING,
		DEATH, /* only if the workload supports it */
		FORGERY,
	} needs;
	bool late; /* delays frames until their sender or receiver may have restarted */
} drawn_faults[] = {
    {"loss", 10, 20000, NOTHING, false},     {"burst", 10, 1000, NOTHING, false},
    {"dup", 10, 20000, NOTHING, true},       {"reorder", 10, 20000, NOTHING, true},
    {"corrupt", 10, 5000, NOTHING, false},   {"ecn", 1000, 50000, NOTHING, false},
    {"jitter", 100, 50000, NOTHING, false},  {"clog", 500, 20000, NOTHING, true},
    {"swizzle", 500, 10000, NOTHING, false}, {"partition", 500, 10000, NOTHING, false},
    {"oneway", 500, 20000, NOTHING, false},  {"pause", 500, 20000, NOTHING, false},
    {"jump", 200, 5000, NOTHING, false},     {"slow", 10000, 60000, NOTHING, false},
    {"kill", 500, 20000, DEATH, false},      {"restart", 200, 10000, DEATH, true},
    {"forge", 100, 20000, FORGERY, false},
};

/* Returns a number in [low, high] whose magnitude is uniformly distributed. */
static uint64_t by_magnitude(struct sim_prng *prng, uint64_t low, uint64_t high)
{
	uint64_t top = low;

	while (top < high && sim_prng_below(prng, 8))
		top = top * 3 / 2 + 1;
	if (top > high)
		top = high;
	return sim_prng_range(prng, low + (top - low) / 2, top);
}

static bool one_in(struct sim_prng *prng, uint32_t n)
{
	return !sim_prng_below(prng, n);
}

static const struct sim_workload *draw_workload(struct sim_prng *prng)
{
	const struct sim_workload *w;
	uint64_t sum = 0, at;
	uint32_t i;

	for (i = 0; (w = sim_workload_at(i)); i++)
		sum += w->weight;
	at = sim_prng_below(prng, sum);
	for (i = 0; (w = sim_workload_at(i)) && at >= w->weight; i++)
		at -= w->weight;
	return w;
}

static bool bears(const struct sim_workload *workload, enum needs needs)
{
	return needs == NOTHING || (needs == DEATH && workload->bears_death) ||
	       (needs == FORGERY && workload->bears_forgery);
}

static void draw_faults(struct sim_prng *prng, struct sim_plan *plan)
{
	/* Few faults at a time show the effect of each; all at once show their interactions. */
	uint32_t one_of = (uint32_t)sim_prng_range(prng, 2, 8);
	/*
	 * Epochs and numbers distinguish a restarted NIC from its past; make them nearly equal to
	 * test that.
	 */
	bool restarts = plan->workload->bears_death && one_in(prng, 4);
	size_t at = 0, i;

	plan->faults[0] = '\0';
	plan->wrap_soon |= restarts;
	if (plan->workload->calm || (!restarts && one_in(prng, 8)))
		return;
	for (i = 0; i < sizeof(drawn_faults) / sizeof(drawn_faults[0]); i++) {
		const struct drawn_fault *fault = &drawn_faults[i];
		uint64_t rate = by_magnitude(prng, fault->low, fault->high);

		bool drawn = one_in(prng, one_of) || (restarts && fault->late);

		/* A workload that supports forgery exists for that purpose. */
		if (fault->needs == FORGERY)
			drawn = !one_in(prng, 8);
		if (restarts && fault->needs == DEATH)
			rate = sim_prng_range(prng, fault->high / 2, fault->high);
		if (!drawn || !bears(plan->workload, fault->needs))
			continue;
		at += (size_t)snprintf(plan->faults + at, sizeof(plan->faults) - at,
				       "%s%s=%" PRIu64 ".%03" PRIu64, at ? "," : "", fault->name,
				       rate / 1000, rate % 1000);
	}
}

static void draw_network(struct sim_prng *prng, struct sim_plan *plan)
{
	static const uint16_t mtus[] = {1280, 1500, 4096, 9000, 9216};
	static const uint16_t speeds[] = {1, 10, 25, 40, 100, 200, 400};

	plan->mtu = mtus[sim_prng_below(prng, sizeof(mtus) / sizeof(mtus[0]))];
	if (one_in(prng, 3))
		plan->mtu = sim_prng_range(prng, mtus[0], 9216);
	plan->gbps = speeds[sim_prng_below(prng, sizeof(speeds) / sizeof(speeds[0]))];
	plan->latency_ns = by_magnitude(prng, 100, 500000);
	plan->queue_kib = by_magnitude(prng, 32, 1024);
}

/*
 * Makes budget, rings and the switch's queue small together, so that truncated work, waiting for
 * room and drops coincide. Drawing by magnitude alone would do so in one run of a hundred.
 */
static void squeeze(struct sim_prng *prng, struct sim_plan *plan)
{
	uint64_t spared = sim_prng_below(prng, 4);

	if (spared != 0)
		plan->budget = sim_prng_range(prng, 1, 3);
	if (spared != 1)
		plan->tx_frames = sim_prng_range(prng, 8, 16);
	if (spared != 2)
		plan->rx_frames = sim_prng_range(prng, 32, 48);
	if (spared != 3)
		plan->queue_kib = sim_prng_range(prng, 32, 64);
}

void sim_plan_draw(struct sim_plan *plan, uint64_t seed, const struct sim_workload *workload)
{
	struct sim_prng prng;

	sim_prng_init(&prng, seed, SIM_STREAM_DRAW, 0);
	plan->seed = seed;
	plan->workload = draw_workload(&prng);
	if (workload)
		plan->workload = workload;
	sim_params_default(plan->workload, plan->param);
	plan->nics = one_in(&prng, 2) ? sim_prng_range(&prng, 2, 4) : sim_prng_range(&prng, 2, 12);
	plan->shards = one_in(&prng, 2) ? 1 : by_magnitude(&prng, 1, SIM_MAX_SHARDS);
	plan->duration_ms = sim_prng_range(&prng, 1, 2 + 40 / plan->nics);
	draw_network(&prng, plan);
	plan->rx_frames = by_magnitude(&prng, 32, 1024);
	plan->tx_frames = by_magnitude(&prng, 8, 256);
	plan->poll_ns = by_magnitude(&prng, 20, 5000);
	plan->budget = by_magnitude(&prng, 1, 64);
	plan->split = one_in(&prng, 2) ? 20 : sim_prng_below(&prng, 101);
	plan->cc_off = one_in(&prng, 8);
	plan->wrap_soon = one_in(&prng, 2);
	plan->no_host_map = one_in(&prng, 8);
	plan->tx_room = one_in(&prng, 2);
	draw_faults(&prng, plan);
	/* Drawn last, so that a seed keeps its other values. */
	if (plan->workload->bears_busy && one_in(&prng, 3)) {
		plan->no_host_map = true;
		plan->host_busy = by_magnitude(&prng, 1, 100);
	}
	if (one_in(&prng, 3))
		squeeze(&prng, plan);
	/* The ports of the built-in switch, with --crc on or off. */
	plan->borrow = one_in(&prng, 2);
	plan->no_crc = plan->borrow && one_in(&prng, 2);
	plan->no_bundle = one_in(&prng, 4);
}
