/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps, slots and sums of workloads whose processes poll at random times: datagrams, groups,
 * unreliable and extended connections, Write-Records. Calls sim.c and sim_end.c.
 */
#include "sim_harness/wl/sim_wl_actor.h"

enum {
	SETTLE_STEPS = 1000, /* parts of the limit between two looks */
};

void wl_actor_start(struct sim_run *run, sim_fn step, void *actors, size_t size, uint32_t num)
{
	uint32_t i;

	for (i = 0; i < num; i++)
		sim_at(run->sim, sim_now_ns(run->sim) + i, step, (uint8_t *)actors + i * size, 0);
}

void wl_actor_again(const struct sim_end *end, struct sim_prng *prng, uint64_t low_ns,
		    uint64_t high_ns, sim_fn step, void *actor)
{
	uint64_t wait_ns =
	    sim_slow_ns(sim_proc_nic(end->proc), sim_prng_range(prng, low_ns, high_ns));

	sim_at(end->sim, sim_now_ns(end->sim) + wait_ns, step, actor, 0);
}

uint32_t wl_actor_free(uint64_t used, uint32_t num)
{
	uint32_t i = 0;

	while (i < num && used >> i & 1)
		i++;
	return i;
}

void wl_actor_failed(struct sim_run *run, uint32_t index, const struct weft_wc *wc, const char *of)
{
	sim_run_fail(run, "completion: weft%u: %s completed with %s (%s)", index, of,
		     weft_wc_status_str(wc->status), weft_vendor_err_str(wc->vendor_err));
}

uint32_t wl_actor_changed(const uint8_t *at, uint32_t from, uint32_t bytes, uint8_t value)
{
	while (from < bytes && at[from] == value)
		from++;
	return from;
}

uint64_t wl_actor_duplicated(struct sim_run *run)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < sim_nic_count(run->sim); i++)
		sum += sim_nic_counts(sim_nic_at(run->sim, i))->duplicated;
	return sum;
}

uint64_t wl_actor_lost(const struct sim_nic *nic)
{
	const struct sim_nic_counts *c = sim_nic_counts(nic);

	return c->drop_rx_queue + c->drop_switch_queue + c->drop_fault + c->drop_partition +
	       c->corrupted;
}

void wl_actor_settle(struct sim_run *run, int64_t (*unaccounted)(struct sim_run *run),
		     uint64_t limit_ns)
{
	uint64_t end_ns = sim_now_ns(run->sim) + limit_ns;

	while (unaccounted(run) > 0 && sim_now_ns(run->sim) < end_ns && !run->failure[0])
		sim_run_for(run->sim, limit_ns / SETTLE_STEPS);
}
