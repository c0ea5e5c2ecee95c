/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: a binary heap of events, and a clock that jumps from one event to the next.
 *
 * Everything in the simulator happens in an event: a frame arrives, a core polls its firmware, a
 * fault begins. Events of the same nanosecond run in the order of their scheduling, so nothing
 * depends on addresses or on the host's clock. Calls the functions passed to sim_at().
 */
#include "lib/heap.h"
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void sim_config_default(struct sim_config *config)
{
	memset(config, 0, sizeof(*config));
	config->link.latency_ns = 2000;
	config->link.gap_ns = 5;
	config->link.gap_ps_per_byte = 320; /* 25 Gb/s */
	config->link.queue_bytes = 1024 * 1024;
	config->mtu = 4096;
	config->num_shards = 1;
	config->poll_budget = 32;
	config->poll_ns = 100;
	config->poll_work_ns = 100;
	config->poll_jitter_ns = 50;
	config->doorbell_ns = 300;
	config->loop_ns = 300;
	config->rx_queue_frames = 1024;
	config->tx_queue_frames = 256;
	config->rx_split_ppm = 200000;
	config->block_ns = UINT64_C(30000000000);
}

struct sim *sim_new(const struct sim_config *config, uint64_t seed)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	/*
	 * Processes and NICs are one thread here: a poll that finds nothing and gives the processor
	 * to another program only takes time.
	 */
	(void)setenv("WEFT_YIELD", "never", 1);
	if (!sim)
		return NULL;
	if (config)
		sim->config = *config;
	else
		sim_config_default(&sim->config);
	assert(sim->config.num_shards >= 1 && sim->config.num_shards <= SIM_MAX_SHARDS);
	sim->seed = seed;
	sim->now_ns = SIM_START_NS;
	sim->digest = UINT64_C(0xcbf29ce484222325);
	sim_prng_init(&sim->fault_prng, seed, SIM_STREAM_FAULT, 0);
	if (sim_mem_init(sim)) {
		free(sim);
		return NULL;
	}
	return sim;
}

/* Frames in transit belong to their events. */
static void free_events(struct sim *sim)
{
	size_t i;

	for (i = 0; i < sim->heap_count; i++)
		sim_link_drop_event(sim, &sim->heap[i]);
	free(sim->heap);
}

void sim_free(struct sim *sim)
{
	struct sim_proc *proc;
	uint32_t i;

	while ((proc = sim->procs)) {
		sim->procs = proc->next;
		assert(!proc->context || !"a context of sim_open() was not closed");
		sim_proc_free(proc);
	}
	for (i = 0; i < sim->num_nics; i++)
		sim_nic_free(sim->nics[i]);
	free_events(sim);
	assert(sim->pkts == 0 || !"a frame was lost by the harness or kept by the firmware");
	sim_pcap_close(sim);
	sim_trace_close(sim);
	sim_mem_close(sim);
	free(sim);
}

void sim_host_busy(struct sim *sim, uint32_t ppm)
{
	sim->config.host_busy_ppm = ppm;
}

const struct sim_config *sim_get_config(const struct sim *sim)
{
	return &sim->config;
}

uint64_t sim_seed(const struct sim *sim)
{
	return sim->seed;
}

uint64_t sim_now_ns(const struct sim *sim)
{
	return sim->now_ns;
}

uint64_t sim_events(const struct sim *sim)
{
	return sim->events;
}

void sim_prng_for(const struct sim *sim, struct sim_prng *prng, enum sim_stream kind,
		  uint64_t index)
{
	sim_prng_init(prng, sim->seed, kind, index);
}

void sim_at(struct sim *sim, uint64_t when_ns, sim_fn fn, void *ctx, uint64_t arg)
{
	struct sim_event ev = {.when_ns = when_ns > sim->now_ns ? when_ns : sim->now_ns,
			       .seq = sim->seq++,
			       .fn = fn,
			       .ctx = ctx,
			       .arg = arg};

	if (sim->heap_count == sim->heap_size) {
		sim->heap_size = sim->heap_size ? sim->heap_size * 2 : 1024;
		sim->heap = realloc(sim->heap, sim->heap_size * sizeof(*sim->heap));
		assert(sim->heap);
	}
	heap_push(sim->heap, sim->heap_count++, &ev, sizeof(ev));
}

bool sim_step(struct sim *sim, uint64_t limit_ns)
{
	struct sim_event ev;

	if (!sim->heap_count || sim->heap[0].when_ns > limit_ns) {
		if (sim->now_ns < limit_ns)
			sim->now_ns = limit_ns;
		return false;
	}
	heap_pop(sim->heap, sim->heap_count--, &ev, sizeof(ev));
	assert(ev.when_ns >= sim->now_ns);
	sim->now_ns = ev.when_ns;
	sim->events++;
	ev.fn(sim, ev.ctx, ev.arg);
	return true;
}

void sim_run_for(struct sim *sim, uint64_t ns)
{
	uint64_t limit_ns = sim->now_ns + ns;

	while (sim_step(sim, limit_ns))
		;
}

bool sim_run_until(struct sim *sim, sim_pred pred, void *ctx, uint64_t limit_ns)
{
	uint64_t end_ns = sim->now_ns + limit_ns;

	while (!pred(ctx)) {
		if (!sim_step(sim, end_ns))
			return pred(ctx);
	}
	return true;
}

bool sim_run_idle(struct sim *sim, uint64_t limit_ns)
{
	uint64_t end_ns = sim->now_ns + limit_ns;

	while (sim->heap_count) {
		if (!sim_step(sim, end_ns))
			return false;
	}
	return true;
}

void sim_digest_add(struct sim *sim, const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t h = sim->digest, x;

	/* FNV-1a on words: a digest for comparison, not for security. */
	for (; bytes >= sizeof(x); bytes -= sizeof(x), p += sizeof(x)) {
		memcpy(&x, p, sizeof(x));
		h = (h ^ x) * UINT64_C(0x100000001b3);
		h ^= h >> 29;
	}
	while (bytes--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3);
	sim->digest = h;
}

uint64_t sim_digest(struct sim *sim)
{
	uint32_t i, s, c;

	for (i = 0; i < sim->num_nics; i++) {
		struct sim_nic *nic = sim->nics[i];

		for (s = 0; s < nic->num_shards; s++) {
			const char *name;
			uint64_t value;

			for (c = 0; fw_stat(nic->shard[s].fw, c, &name, &value); c++)
				sim_digest_add(sim, &value, sizeof(value));
		}
		sim_digest_add(sim, &nic->counts, sizeof(nic->counts));
	}
	sim_digest_add(sim, &sim->now_ns, sizeof(sim->now_ns));
	sim_digest_add(sim, &sim->events, sizeof(sim->events));
	return sim->digest;
}
