/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of the network, of NICs and of hosts: partitions, clogged ports, pauses, clock jumps,
 * deaths, and the list of faults for weft-sim's --faults.
 *
 * Faults of single frames (loss etc.) are fields of struct sim_link, applied in sim_link.c. The
 * faults here last for some time. A fault clock ticks once per virtual millisecond and draws the
 * faults that begin. The workload decides which process dies, through its event handler.
 * Swizzle-clogging (stopping links one by one and freeing them in random order) was introduced by
 * FoundationDB.
 */
#include "sim_harness/sim_int.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TICK_NS = 1000000,
	PPM_PER_PERCENT = 10000,
	BURST_FRAMES = 8,
	REORDER_NS = 50000,
	SLOW_MIN = 4, /* factor by which a slow host delays waits */
	SLOW_MAX = 100,
};
/* Below the shortest request time-out of the workloads, so that a jump fails no request. */
#define JUMP_MAX_NS UINT64_C(20000000)

enum sim_fault {
	FAULT_LOSS,
	FAULT_BURST,
	FAULT_DUP,
	FAULT_REORDER,
	FAULT_CORRUPT,
	FAULT_FORGE,
	FAULT_ECN,
	FAULT_JITTER,
	FAULT_CLOG,
	FAULT_SWIZZLE,
	FAULT_PARTITION,
	FAULT_ONEWAY,
	FAULT_PAUSE,
	FAULT_JUMP,
	FAULT_SLOW,
	FAULT_KILL,
	FAULT_RESTART,
	FAULTS
};
static_assert((int)FAULTS <= (int)SIM_FAULT_KINDS, "sim->fault_ppm has room for all");

void sim_block(struct sim_nic *a, struct sim_nic *b, bool blocked)
{
	uint64_t bit = UINT64_C(1) << (b->index % 64);

	if (blocked)
		a->blocked[b->index / 64] |= bit;
	else
		a->blocked[b->index / 64] &= ~bit;
}

void sim_partition(struct sim *sim, uint64_t side)
{
	uint32_t i, j;

	for (i = 0; i < sim->num_nics; i++) {
		for (j = 0; j < sim->num_nics; j++)
			sim_block(sim->nics[i], sim->nics[j],
				  (side >> (i % 64) & 1) != (side >> (j % 64) & 1));
	}
}

void sim_heal(struct sim *sim)
{
	uint32_t i;

	for (i = 0; i < sim->num_nics; i++)
		memset(sim->nics[i]->blocked, 0, sizeof(sim->nics[i]->blocked));
}

void sim_clog(struct sim_nic *nic, bool clogged)
{
	nic->clogged = clogged;
	if (!clogged)
		sim_link_unclog(nic);
}

static void clog_event(struct sim *sim, void *ctx, uint64_t clogged)
{
	(void)sim;
	sim_clog(ctx, clogged);
}

void sim_swizzle(struct sim *sim, uint64_t duration_ns)
{
	uint64_t half_ns = duration_ns / 2;
	uint32_t i;

	for (i = 0; i < sim->num_nics; i++) {
		sim_at(sim, sim->now_ns + sim_prng_below(&sim->fault_prng, half_ns), clog_event,
		       sim->nics[i], true);
		sim_at(sim, sim->now_ns + half_ns + sim_prng_below(&sim->fault_prng, half_ns),
		       clog_event, sim->nics[i], false);
	}
}

static void heal_event(struct sim *sim, void *ctx, uint64_t arg)
{
	(void)ctx, (void)arg;
	sim_heal(sim);
}

static void unblock_event(struct sim *sim, void *ctx, uint64_t to)
{
	sim_block(ctx, sim->nics[to], false);
}

void sim_nic_jump(struct sim_nic *nic, uint64_t ns)
{
	nic->clock_offset_ns += ns;
	sim_nic_wake(nic);
}

void sim_on_fault(struct sim *sim, sim_fault_fn fn, void *ctx)
{
	sim->on_fault = fn;
	sim->on_fault_ctx = ctx;
}

uint64_t sim_slow_ns(const struct sim_nic *nic, uint64_t ns)
{
	struct sim_prng prng;

	if (!nic->sim->fault_ppm[FAULT_SLOW])
		return ns;
	/* Each host has its own stream, so queries do not shift the draws of others. */
	sim_prng_init(&prng, nic->sim->seed, SIM_STREAM_FAULT, 1 + nic->index);
	if (!sim_prng_chance(&prng, nic->sim->fault_ppm[FAULT_SLOW]))
		return ns;
	return ns * sim_prng_range(&prng, SLOW_MIN, SLOW_MAX);
}

/* Draws the faults that begin in this millisecond at one NIC. */
static void tick_nic(struct sim *sim, struct sim_nic *nic)
{
	struct sim_prng *prng = &sim->fault_prng;
	const uint32_t *ppm = sim->fault_ppm;

	if (!nic->clogged && sim_prng_chance(prng, ppm[FAULT_CLOG])) {
		sim_clog(nic, true);
		sim_at(sim, sim->now_ns + sim_prng_range(prng, TICK_NS / 10, 2 * TICK_NS),
		       clog_event, nic, false);
	}
	if (sim_prng_chance(prng, ppm[FAULT_PAUSE]))
		sim_nic_pause(nic, sim_prng_range(prng, TICK_NS / 20, TICK_NS));
	if (sim_prng_chance(prng, ppm[FAULT_JUMP]))
		sim_nic_jump(nic, sim_prng_below(prng, 2) ? sim_prng_range(prng, 1, TICK_NS)
							  : sim_prng_range(prng, 1, JUMP_MAX_NS));
	if (!sim->on_fault)
		return;
	if (sim_prng_chance(prng, ppm[FAULT_KILL]))
		sim->on_fault(sim->on_fault_ctx, SIM_FAULT_KILL, nic);
	if (sim_prng_chance(prng, ppm[FAULT_RESTART]))
		sim->on_fault(sim->on_fault_ctx, SIM_FAULT_RESTART, nic);
}

/* Draws the faults of the network. */
static void tick_network(struct sim *sim)
{
	struct sim_prng *prng = &sim->fault_prng;
	const uint32_t *ppm = sim->fault_ppm;

	if (sim_prng_chance(prng, ppm[FAULT_PARTITION])) {
		sim_partition(sim, sim_prng_next(prng));
		sim_at(sim, sim->now_ns + sim_prng_range(prng, TICK_NS / 10, 5 * TICK_NS),
		       heal_event, NULL, 0);
	}
	if (sim_prng_chance(prng, ppm[FAULT_ONEWAY])) {
		struct sim_nic *from = sim->nics[sim_prng_below(prng, sim->num_nics)];
		uint64_t to = sim_prng_below(prng, sim->num_nics);

		sim_block(from, sim->nics[to], true);
		sim_at(sim, sim->now_ns + sim_prng_range(prng, TICK_NS / 10, 5 * TICK_NS),
		       unblock_event, from, to);
	}
	if (sim_prng_chance(prng, ppm[FAULT_SWIZZLE]))
		sim_swizzle(sim, sim_prng_range(prng, TICK_NS, 4 * TICK_NS));
}

/* One tick of the fault clock, which stops while no fault can begin. */
static void fault_tick(struct sim *sim, void *ctx, uint64_t arg)
{
	uint32_t i, any = 0;

	(void)ctx, (void)arg;
	for (i = FAULT_CLOG; i < FAULTS; i++)
		any |= sim->fault_ppm[i];
	if (!any) {
		sim->fault_clock = false;
		return;
	}
	for (i = 0; i < sim->num_nics; i++)
		tick_nic(sim, sim->nics[i]);
	if (sim->num_nics)
		tick_network(sim);
	sim_at(sim, sim->now_ns + TICK_NS, fault_tick, NULL, 0);
}

static const struct {
	const char *name;
	double value; /* default value */
	double max;
} faults[FAULTS] = {
    [FAULT_LOSS] = {"loss", 1, 100},
    [FAULT_BURST] = {"burst", 0.1, 100},
    [FAULT_DUP] = {"dup", 1, 100},
    [FAULT_REORDER] = {"reorder", 1, 100},
    [FAULT_CORRUPT] = {"corrupt", 0.5, 100},
    [FAULT_FORGE] = {"forge", 1, 100},
    [FAULT_ECN] = {"ecn", 10, 100},
    [FAULT_JITTER] = {"jitter", 10, 1000000},
    [FAULT_CLOG] = {"clog", 5, 100},
    [FAULT_SWIZZLE] = {"swizzle", 2, 100},
    [FAULT_PARTITION] = {"partition", 2, 100},
    [FAULT_ONEWAY] = {"oneway", 5, 100},
    [FAULT_PAUSE] = {"pause", 5, 100},
    [FAULT_JUMP] = {"jump", 2, 100},
    [FAULT_SLOW] = {"slow", 25, 100},
    [FAULT_KILL] = {"kill", 2, 100},
    [FAULT_RESTART] = {"restart", 1, 100},
};

const char *sim_faults_help(void)
{
	return "  loss[=%]       share of frames lost individually (1)\n"
	       "  burst[=%]      share of frames that start a burst of losses, 8 frames on average "
	       "(0.1)\n"
	       "  dup[=%]        share of frames duplicated (1)\n"
	       "  reorder[=%]    share of frames delayed by up to 50 us (1)\n"
	       "  corrupt[=%]    share of frames of which one to four bytes change (0.5)\n"
	       "  forge[=%]      share of frames followed by a forged one: changed bytes, correct "
	       "CRC (1);\n                 only for the workload hostile\n"
	       "  ecn[=%]        mark congestion when a switch queue is filled this far (10)\n"
	       "  jitter[=US]    latency varies by up to US microseconds, in order (10)\n"
	       "  clog[=%]       chance per NIC and ms that its port stops for 0.1 to 2 ms (5)\n"
	       "  swizzle[=%]    chance per ms that all ports stop one by one and resume in random "
	       "order (2)\n"
	       "  partition[=%]  chance per ms that the network is cut in two for 0.1 to 5 ms (2)\n"
	       "  oneway[=%]     chance per ms that one NIC does not reach another for 0.1 to 5 "
	       "ms (5)\n"
	       "  pause[=%]      chance per NIC and ms that it is not polled for 0.05 to 1 ms "
	       "(5)\n"
	       "  jump[=%]       chance per NIC and ms that its clock jumps ahead by up to 20 ms "
	       "(2)\n"
	       "  slow[=%]       share of hosts whose processes poll 4 to 100 times less often "
	       "(25)\n"
	       "  kill[=%]       chance per NIC and ms that a process dies, if the workload "
	       "supports it (2)\n"
	       "  restart[=%]    chance per NIC and ms that it restarts, if the workload supports "
	       "it (1)\n";
}

static void set_link(struct sim_link *link, enum sim_fault fault, double value)
{
	uint32_t ppm = (uint32_t)(value * PPM_PER_PERCENT + 0.5);

	switch (fault) {
	case FAULT_LOSS:
		link->fault.loss_ppm = ppm;
		break;
	case FAULT_BURST:
		link->fault.burst_ppm = ppm;
		link->fault.burst_frames = BURST_FRAMES;
		break;
	case FAULT_DUP:
		link->fault.dup_ppm = ppm;
		break;
	case FAULT_REORDER:
		link->fault.reorder_ppm = ppm;
		break;
	case FAULT_CORRUPT:
		link->fault.corrupt_ppm = ppm;
		break;
	case FAULT_FORGE:
		link->forge_ppm = ppm;
		break;
	case FAULT_ECN:
		link->ecn_bytes = (uint32_t)(link->queue_bytes * value / 100);
		break;
	case FAULT_JITTER:
		link->jitter_ns = (uint64_t)(value * 1000);
		break;
	case FAULT_CLOG:
	case FAULT_SWIZZLE:
	case FAULT_PARTITION:
	case FAULT_ONEWAY:
	case FAULT_PAUSE:
	case FAULT_JUMP:
	case FAULT_SLOW:
	case FAULT_KILL:
	case FAULT_RESTART:
	case FAULTS:
		break;
	}
	if ((link->fault.reorder_ppm || link->fault.dup_ppm) && !link->reorder_ns)
		link->reorder_ns = REORDER_NS;
}

static void set_fault(struct sim *sim, enum sim_fault fault, double value)
{
	uint32_t ppm = (uint32_t)(value * PPM_PER_PERCENT + 0.5), i;

	sim->doubtful |= fault == FAULT_CORRUPT || fault == FAULT_FORGE;
	set_link(&sim->config.link, fault, value);
	for (i = 0; i < sim->num_nics; i++)
		set_link(&sim->nics[i]->link, fault, value);
	if (fault < FAULT_CLOG || fault >= FAULTS)
		return;
	sim->fault_ppm[fault] = ppm;
	if (!sim->fault_clock) {
		sim->fault_clock = true;
		sim_at(sim, sim->now_ns + TICK_NS, fault_tick, NULL, 0);
	}
}

/* Parses one entry: NAME or NAME=VALUE[%]. */
static int parse_one(struct sim *sim, const char *entry, size_t bytes, char *message,
		     size_t message_bytes)
{
	size_t name_bytes = strcspn(entry, "=");
	char *end = NULL;
	double value;
	int i;

	if (name_bytes > bytes)
		name_bytes = bytes;
	for (i = 0; i < FAULTS; i++) {
		if (strlen(faults[i].name) == name_bytes &&
		    !strncmp(faults[i].name, entry, name_bytes))
			break;
	}
	if (i == FAULTS) {
		snprintf(message, message_bytes,
			 "there is no fault called '%.*s'; --help lists them", (int)name_bytes,
			 entry);
		return -EINVAL;
	}
	value = faults[i].value;
	if (name_bytes < bytes) {
		value = strtod(entry + name_bytes + 1, &end);
		if (end < entry + bytes && *end == '%')
			end++;
		if (end == entry + name_bytes + 1 || end != entry + bytes || !(value >= 0) ||
		    value > faults[i].max) {
			snprintf(message, message_bytes,
				 "'%.*s': the value is a number from 0 to %g", (int)bytes, entry,
				 faults[i].max);
			return -EINVAL;
		}
	}
	set_fault(sim, (enum sim_fault)i, value);
	return 0;
}

int sim_faults_parse(struct sim *sim, const char *list, char *message, size_t message_bytes)
{
	size_t bytes;
	int rc;

	for (; *list; list += bytes + (list[bytes] == ',')) {
		bytes = strcspn(list, ",");
		if (!bytes)
			continue;
		rc = parse_one(sim, list, bytes, message, message_bytes);
		if (rc)
			return rc;
	}
	return 0;
}

bool sim_faults_any(const struct sim *sim)
{
	const struct hw_fault_chances *chance = &sim->config.link.fault;
	const struct sim_link *link = &sim->config.link;
	uint32_t i;

	for (i = 0; i < SIM_FAULT_KINDS; i++) {
		if (sim->fault_ppm[i])
			return true;
	}
	return link->jitter_ns || link->forge_ppm || chance->loss_ppm || chance->burst_ppm ||
	       chance->dup_ppm || chance->reorder_ppm || chance->corrupt_ppm;
}

static void clear_link(struct sim_link *link)
{
	link->jitter_ns = 0;
	link->fault = (struct hw_fault_chances){0};
	link->forge_ppm = 0;
}

void sim_faults_off(struct sim *sim)
{
	uint32_t i;

	memset(sim->fault_ppm, 0, sizeof(sim->fault_ppm));
	clear_link(&sim->config.link);
	sim_heal(sim);
	for (i = 0; i < sim->num_nics; i++) {
		clear_link(&sim->nics[i]->link);
		fault_end_burst(&sim->nics[i]->fault);
		sim_clog(sim->nics[i], false);
	}
}
