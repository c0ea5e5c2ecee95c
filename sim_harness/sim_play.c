/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes a plan: creates the simulation, runs its workload, prints the results.
 *
 * sim_main.c uses it for one run, sim_soak.c in a child process per run. Calls sim_workload_run().
 */
#include "lib/clock.h"
#include "sim_harness/sim_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct sim *make(const struct sim_plan *plan)
{
	struct sim_config config;

	sim_config_default(&config);
	config.num_shards = (uint32_t)plan->shards;
	config.mtu = (uint32_t)plan->mtu;
	config.link.gap_ps_per_byte = 8000 / plan->gbps;
	config.link.latency_ns = plan->latency_ns;
	config.link.queue_bytes = (uint32_t)plan->queue_kib * 1024;
	config.rx_queue_frames = (uint32_t)plan->rx_frames;
	config.tx_queue_frames = (uint32_t)plan->tx_frames;
	config.poll_ns = plan->poll_ns;
	config.poll_budget = (uint32_t)plan->budget;
	config.rx_split_ppm = (uint32_t)plan->split * 10000;
	config.cc_off = plan->cc_off;
	config.no_bundle = plan->no_bundle;
	config.wrap_soon = plan->wrap_soon;
	config.no_host_map = plan->no_host_map;
	config.host_busy_ppm = (uint32_t)plan->host_busy * 1000;
	config.tx_room = plan->tx_room;
	config.borrow = plan->borrow;
	config.no_crc = plan->no_crc;
	if (plan->workload->config)
		plan->workload->config(plan->param, &config);
	return sim_new(&config, plan->seed);
}

static void report(const struct sim_plan *plan, struct sim *sim, const struct sim_run *run,
		   double real_s)
{
	uint64_t tx = 0, retransmits = 0;
	double virtual_ms = (double)sim_now_ns(sim) / 1e6;
	struct rusage usage;
	uint32_t i;
	int op;

	printf("seed %" PRIu64 ", %s on %" PRIu64 " NICs, faults: %s\n", plan->seed,
	       plan->workload->name, plan->nics, plan->faults[0] ? plan->faults : "none");
	for (op = 0; op < SIM_OPS; op++) {
		if (run->done[op])
			printf("%12" PRIu64 "  %s\n", run->done[op], sim_op_name((enum sim_op)op));
	}
	fputs(run->table, stdout);
	for (i = 0; i < run->num_figures; i++)
		printf("%12.3f  %s\n", run->figure[i].value, run->figure[i].name);
	printf("%12" PRIu64 "  messages received\n%12" PRIu64 "  bytes verified\n", run->received,
	       run->bytes);
	for (i = 0; i < sim_nic_count(sim); i++) {
		tx += sim_nic_counts(sim_nic_at(sim, i))->tx_frames;
		retransmits += sim_nic_stat(sim_nic_at(sim, i), "rd_tx_retransmits");
	}
	printf("%12" PRIu64 "  frames, %" PRIu64 " retransmissions\n", tx, retransmits);
	printf("%12" PRIu64 "  events in %.1f virtual ms, drained in %.3f ms\n", sim_events(sim),
	       virtual_ms, (double)run->drained_ns / 1e6);
	/*
	 * Real time varies between runs, so it must not be part of the output that digests are
	 * compared with.
	 */
	fflush(stdout);
	getrusage(RUSAGE_SELF, &usage);
	fprintf(
	    stderr,
	    "weft-sim: %.2f s, %.0f events/s, %.4f virtual seconds per second, %ld MiB at most\n",
	    real_s, (double)sim_events(sim) / real_s, virtual_ms / 1e3 / real_s,
	    usage.ru_maxrss / 1024);
}

int sim_play(const struct sim_plan *plan, const char *trace, const char *pcap, bool verbose,
	     struct sim_outcome *outcome)
{
	struct sim *sim = make(plan);
	char message[160];
	struct sim_run run;
	double begin_s, matches;
	uint64_t i;
	int rc;

	memset(outcome, 0, sizeof(*outcome));
	assert(sim || !"out of memory, or of address space");
	/* The list was already parsed when the options were read, or it was drawn. */
	rc = sim_faults_parse(sim, plan->faults, message, sizeof(message));
	assert(!rc);
	if (trace)
		rc = sim_trace_open(sim, trace);
	if (!rc && pcap)
		rc = sim_pcap_open(sim, pcap);
	if (rc) {
		sim_free(sim);
		return rc;
	}
	for (i = 0; i < plan->nics; i++)
		sim_nic_new(sim);
	begin_s = clock_now_s();
	if (sim_workload_run_with(&run, sim, plan->workload, plan->param,
				  plan->duration_ms * 1000000, plan->drain_ms * 1000000))
		memcpy(outcome->failure, run.failure, sizeof(outcome->failure));
	if (verbose)
		report(plan, sim, &run, clock_now_s() - begin_s);
	outcome->virtual_ns = sim_now_ns(sim);
	outcome->events = sim_events(sim);
	outcome->drained_ns = run.drained_ns;
	outcome->received = run.received;
	matches = sim_run_figure_of(&run, "matches");
	outcome->matches = matches > 0 ? (uint64_t)matches : 0;
	outcome->digest = sim_digest(sim);
	sim_free(sim);
	outcome->done = true;
	return 0;
}
