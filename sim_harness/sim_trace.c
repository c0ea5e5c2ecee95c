/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace of a simulation: one line per event of the firmware.
 *
 * 	12.345678 weft0/0 RD_TX      qpn=0x001 wr_id=5 psn=77
 *
 * The time is the simulation's, in microseconds, so that lines of all NICs can be sorted.
 * fw_trace() in nic_fw calls it through fw_set_trace(). shared_defs/trace_events.h defines the
 * events and their arguments.
 */
#include "sim_harness/sim_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "shared_defs/trace_events.h"

static const struct {
	const char *name;
	const char *args; /* "first second" */
} events[] = {
#define X(name, args) [TRACE_##name] = {#name, args},
    TRACE_EVENTS(X)
#undef X
};

static void print_event(void *ctx, uint64_t now_ns, uint32_t event, uint32_t qpn, uint64_t arg0,
			uint64_t arg1)
{
	struct sim_shard *shard = ctx;
	struct sim_nic *nic = shard->nic;
	FILE *f = nic->sim->trace;
	uint64_t t_ns = now_ns - nic->clock_offset_ns;
	const char *args, *second;

	if (!f)
		return;
	fprintf(f, "%9" PRIu64 ".%03" PRIu64 " %s/%u ", t_ns / 1000, t_ns % 1000, nic->name,
		shard->index);
	if (event >= TRACE_EVENT_COUNT) {
		fprintf(f, "event %u\n", event);
		return;
	}
	args = events[event].args;
	second = strchr(args, ' ');
	fprintf(f, "%-13s qpn=0x%06x %.*s=%" PRIu64 " %s=%" PRIu64 "\n", events[event].name, qpn,
		second ? (int)(second - args) : (int)strlen(args), args, arg0,
		second ? second + 1 : "arg1", arg1);
}

void sim_trace_attach(struct sim_shard *shard)
{
	if (shard->nic->sim->trace)
		fw_set_trace(shard->fw, print_event, shard);
}

int sim_trace_open(struct sim *sim, const char *path)
{
	uint32_t i, s;

	sim_trace_close(sim);
	sim->trace = strcmp(path, "-") ? fopen(path, "w") : stdout;
	if (!sim->trace)
		return -errno;
	for (i = 0; i < sim->num_nics; i++)
		for (s = 0; s < sim->nics[i]->num_shards; s++)
			sim_trace_attach(&sim->nics[i]->shard[s]);
	return 0;
}

void sim_trace_close(struct sim *sim)
{
	if (sim->trace && sim->trace != stdout)
		fclose(sim->trace);
	sim->trace = NULL;
}
