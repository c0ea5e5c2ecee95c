/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a job in the simulator: the same firmware, each rank on a NIC of its own, virtual time.
 *
 * Calls sim_harness/sim.h and ranks.c. The network is LogGP's when --link says so (a gap keeps the
 * next frame away, bytes take time once: sim_link.cut_through), else the simulator's default
 * switch; a core's work has the firmware's costs (below), or those of --link. All ranks ring at the
 * same virtual instant, from which times count.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim_harness/sim.h"
#include "tools/goal-run/goal_run.h"

/*
 * The firmware's own costs: those of frames and operations chosen within the spread of what
 * weft-bench stages measured, the others assumed. See docs/goal-sim.md "What the firmware's own
 * costs are".
 */
enum {
	OWN_RX_NS = 120,
	OWN_TX_NS = 120,
	OWN_BYTE_PS = 60,
	OWN_OP_NS = 60,
	OWN_POLL_NS = 50,
	OWN_DOORBELL_NS = 100, /* interval of a core that polls */
};
/* After the runs' own time-out: time to notify the other ranks. */
#define GRACE_NS UINT64_C(30000000000)

struct wait {
	struct ranks *ranks;
	uint32_t at; /* its predecessors are over */
};

static bool all_over(void *ctx)
{
	struct wait *w = ctx;

	while (w->at < w->ranks->num &&
	       weft_goal_test(w->ranks->rank[w->at].goal, w->ranks->rank[w->at].run))
		w->at++;
	return w->at == w->ranks->num;
}

static void *alloc(struct ranks *ranks, uint32_t rank, uint64_t bytes)
{
	void *mem = sim_mem_alloc(ranks->rank[rank].proc, bytes, true);

	if (!mem)
		errno = ENOMEM;
	return mem;
}

static void configure(struct sim_config *config, const struct opts *o)
{
	const struct run_link *link = &o->link;

	sim_config_default(config);
	config->cost = (struct sim_cost){OWN_RX_NS, OWN_TX_NS, OWN_BYTE_PS, OWN_OP_NS};
	config->poll_ns = OWN_POLL_NS;
	config->poll_work_ns = 0;
	config->poll_jitter_ns = 0;
	config->doorbell_ns = OWN_DOORBELL_NS;
	config->rx_split_ppm = 0;
	config->rx_queue_frames = 1 << 20;
	config->mtu = o->mtu;
	config->block_ns = UINT64_C(600) * 1000000000;
	if (!o->link_set)
		return;
	config->link.latency_ns = (uint64_t)link->L;
	config->link.gap_ns = (uint64_t)link->g;
	config->link.gap_ps_per_byte = (uint64_t)(link->G * 1000 + 0.5);
	config->link.queue_bytes = UINT32_MAX;
	config->link.cut_through = true;
	if (!link->own_o) {
		config->cost.rx_ns = config->cost.tx_ns = (uint64_t)link->o;
		config->cost.op_ns = 0;
		config->poll_ns = 0;
		config->doorbell_ns = 0;
	}
	if (!link->own_O)
		config->cost.byte_ps = (uint64_t)(link->O * 1000 + 0.5);
}

static int open_all(struct sim *sim, struct ranks *ranks, const struct opts *o)
{
	struct sim_nic *nic = NULL;
	uint32_t i;
	int rc = RUN_OK;

	for (i = 0; rc == RUN_OK && i < ranks->num; i++) {
		struct rank *r = &ranks->rank[i];

		if (i % o->ranks_per_nic == 0)
			nic = sim_nic_new(sim);
		r->proc = sim_proc_new(nic, "rank");
		/* Memory that libweft allocates for itself. */
		sim_proc_any_memory(r->proc);
		r->context = sim_open(r->proc);
		rc = r->context ? ranks_open(ranks, i)
				: run_fail("rank %" PRIu32 ": %s", i, strerror(errno));
	}
	return rc == RUN_OK ? ranks_join(ranks) : rc;
}

static void close_all(struct sim *sim, struct ranks *ranks)
{
	uint32_t i;

	sim_faults_off(sim);
	for (i = 0; ranks->rank && i < ranks->num; i++) {
		weft_goal_close(ranks->rank[i].goal);
		ranks->rank[i].goal = NULL;
		if (ranks->rank[i].context)
			weft_close_device(ranks->rank[i].context);
	}
	ranks_end(ranks);
}

static uint64_t frames(struct sim *sim)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sim_nic_count(sim); i++)
		sum += sim_nic_counts(sim_nic_at(sim, i))->tx_frames;
	return sum;
}

static int one_run(struct sim *sim, struct ranks *ranks, uint32_t run)
{
	struct wait wait = {ranks, 0};
	uint64_t limit_ns = ranks->timeout_ns ? ranks->timeout_ns + GRACE_NS : UINT64_MAX / 2;
	uint32_t i;
	int rc;

	for (i = 0; i < ranks->num; i++)
		ranks->rank[i].clock_ns = sim_nic_clock_ns(sim_proc_nic(ranks->rank[i].proc));
	rc = ranks_start(ranks, run);
	if (rc != RUN_OK)
		return rc;
	if (!sim_run_until(sim, all_over, &wait, limit_ns))
		return run_fail("%s: rank %" PRIu32 " has not ended its run", ranks->job->name,
				wait.at);
	return ranks_check(ranks, run);
}

static int set_faults(struct sim *sim, const struct opts *o)
{
	char text[160], loss[40];

	snprintf(loss, sizeof(loss), "loss=%g", o->loss_percent);
	if (o->loss_percent > 0 && sim_faults_parse(sim, loss, text, sizeof(text)))
		return run_fail("--loss: %s", text);
	if (o->faults && sim_faults_parse(sim, o->faults, text, sizeof(text)))
		return run_fail("--faults: %s", text);
	return RUN_OK;
}

int run_in_sim(const struct job *job, const struct opts *o, struct finish *f)
{
	uint32_t nics = (job->num_ranks + o->ranks_per_nic - 1) / o->ranks_per_nic, run, i;
	struct ranks ranks = {0};
	struct sim_config config;
	struct sim *sim;
	uint64_t before = 0;
	int rc;

	if (nics > SIM_MAX_NICS)
		return run_fail("%s: %" PRIu32 " NICs; the simulator has at most %d "
				"(--ranks-per-nic puts several ranks on each)",
				job->name, nics, SIM_MAX_NICS);
	configure(&config, o);
	sim = sim_new(&config, o->seed);
	if (!sim)
		return run_fail("not enough memory");
	rc = ranks_begin(&ranks, job, o);
	ranks.alloc = alloc;
	ranks.key[0] = o->seed;
	ranks.key[1] = job->num_ranks;
	if (rc == RUN_OK)
		rc = open_all(sim, &ranks, o);
	if (rc == RUN_OK)
		rc = set_faults(sim, o);
	for (run = 0; rc == RUN_OK && run < o->warmup + o->repeat; run++) {
		if (run == o->warmup)
			before = frames(sim);
		rc = one_run(sim, &ranks, run);
		for (i = 0; rc == RUN_OK && run >= o->warmup && i < ranks.num; i++)
			finish_set(f, run - o->warmup, i,
				   ranks.rank[i].result.finish_ns - ranks.rank[i].clock_ns);
	}
	f->frames = (frames(sim) - before) / o->repeat;
	f->events = sim_events(sim);
	f->nics = nics;
	close_all(sim, &ranks);
	sim_free(sim);
	return rc;
}
