/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Audit of the NICs: checks the firmware's own gauges.
 *
 * While a workload runs, no table may exceed its limit (shared_defs/hw_limits.h), dependent gauges
 * must agree, and every delayed event must have a pending cause that releases it. When all
 * processes are gone and all frames have arrived, all resources must have been released: pools and
 * tables as empty as at the start, no frame held, no memory mapped. Only knowledge about other NICs
 * may remain: one neighbour for each station and one idle session for each of its shards. Corrupted
 * frames, forgers and hostile processes name stations that do not exist.
 *
 * Reads fw_stat() and sim_nic_counts().
 */
#include "sim_harness/wl/sim_workload.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared_defs/hw_limits.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_esp.h"

enum {
	WATCH_NS = 250000,   /* interval of checks while the workload runs */
	SETTLE_NS = 1000000, /* first wait of the final check; doubled each time */
};

/* A gauge and its maximum. */
static const struct bound {
	const char *name;
	uint64_t most;
} bounds[] = {
    {"clients_used", HW_MAX_CLIENTS},
    {"pds_used", HW_MAX_PD},
    {"mrs_used", HW_MAX_MR},
    {"cqs_used", HW_MAX_CQ},
    {"eqs_used", (uint64_t)HW_MAX_CLIENTS *HW_MAX_EQ_PER_CLIENT},
    {"srqs_used", HW_MAX_SRQ},
    {"qps_used", HW_MAX_QP},
    {"ahs_used", HW_MAX_AH},
    {"rd_sessions_used", HW_MAX_PEERS},
    {"neighbours_used", HW_MAX_NEIGH},
    {"cm_endpoints_used", HW_MAX_CM},
    {"esp_streams_used", WIRE_EDP_PORT_SPAN - 1},
    {"goal_comms_used", HW_MAX_GOAL_COMMS},
    {"goal_schedules_used", HW_MAX_GOAL_SCHEDULES},
};

/* A dependent gauge: at most `most` per unit of the gauge on which it depends. */
static const struct part {
	const char *name;
	const char *whole;
	uint64_t most;
} parts[] = {
    {"rd_tx_windows_used", "rd_sessions_used", 1},
    {"rd_rx_windows_used", "rd_sessions_used", 1},
    {"rd_held_used", "rd_rx_windows_used", WIRE_RD_WINDOW},
    {"wqe_exts_used", "wqes_used", 1},
    {"ud_buffers_used", "ud_reasms_used", 1},
    {"esp_held_used", "esp_streams_used", WIRE_ESP_WINDOW},
    {"esp_rdmap_lasts_used", "esp_streams_used", 1},
    {"eqs_used", "clients_used", HW_MAX_EQ_PER_CLIENT},
    {"ah_waiting", "ahs_used", 1},
    {"cm_listeners", "cm_endpoints_used", 1},
    {"cm_data_used", "cm_endpoints_used", 2},
    {"mgrp_spaces_used", "goal_comms_used", 65536},
};

enum {
	BOUNDS = sizeof(bounds) / sizeof(bounds[0]),
	PARTS = sizeof(parts) / sizeof(parts[0]),
};

/* Returns the index of a gauge; if a name occurs several times, always the same one. */
static uint32_t find(const struct fw_nic *fw, const char *want)
{
	const char *name;
	uint64_t value;
	uint32_t i;

	for (i = 0; fw_stat(fw, i, &name, &value); i++) {
		if (!strcmp(name, want))
			return i;
	}
	assert(!"no gauge has this name");
	return 0;
}

/* Finds the gauges once, since they are read very often, in the order used by check_limits(). */
static void find_all(struct sim_run *run)
{
	const struct fw_nic *fw = sim_nic_fw(sim_nic_at(run->sim, 0), 0);
	uint32_t *at = run->audit_at, i;

	static_assert(BOUNDS + 2 * PARTS <= SIM_AUDIT_GAUGES, "");
	for (i = 0; i < BOUNDS; i++)
		*at++ = find(fw, bounds[i].name);
	for (i = 0; i < PARTS; i++) {
		*at++ = find(fw, parts[i].name);
		*at++ = find(fw, parts[i].whole);
	}
}

static uint64_t gauge(const struct fw_nic *fw, uint32_t at)
{
	const char *name;
	uint64_t value = 0;

	(void)fw_stat(fw, at, &name, &value);
	return value;
}

static void check_limits(struct sim_run *run, struct sim_nic *nic, uint32_t shard)
{
	const struct fw_nic *fw = sim_nic_fw(nic, shard);
	const uint32_t *at = run->audit_at;
	uint32_t i;

	if (fw_lost_interrupts(fw))
		sim_run_fail(run, "audit: weft%u shard %u: an event that nothing will tell of",
			     sim_nic_index(nic), shard);
	for (i = 0; i < BOUNDS; i++) {
		uint64_t is = gauge(fw, *at++);

		if (is > bounds[i].most)
			sim_run_fail(run, "audit: weft%u shard %u: %s is %" PRIu64 " of %" PRIu64,
				     sim_nic_index(nic), shard, bounds[i].name, is, bounds[i].most);
	}
	for (i = 0; i < PARTS; i++, at += 2) {
		uint64_t is = gauge(fw, at[0]), whole = gauge(fw, at[1]);

		if (is > whole * parts[i].most)
			sim_run_fail(
			    run, "audit: weft%u shard %u: %s is %" PRIu64 ", %s only %" PRIu64,
			    sim_nic_index(nic), shard, parts[i].name, is, parts[i].whole, whole);
	}
}

static void watch(struct sim *sim, void *ctx, uint64_t arg)
{
	struct sim_run *run = ctx;
	uint32_t i, s;

	(void)arg;
	if (run->failure[0] || run->closed)
		return;
	for (i = 0; i < sim_nic_count(sim); i++) {
		struct sim_nic *nic = sim_nic_at(sim, i);

		for (s = 0; sim_nic_fw(nic, s); s++) {
			if (sim_nic_ran(nic, s))
				check_limits(run, nic, s);
		}
	}
	sim_at(sim, sim_now_ns(sim) + WATCH_NS, watch, run, 0);
}

void sim_audit_watch(struct sim_run *run)
{
	find_all(run);
	sim_at(run->sim, sim_now_ns(run->sim) + WATCH_NS, watch, run, 0);
}

/* Gauges have these suffixes; those that may remain are listed. */
static bool must_be_empty(const char *name)
{
	size_t bytes = strlen(name);

	if (!strcmp(name, "rd_sessions_used") || !strcmp(name, "neighbours_used"))
		return false;
	/* A count of announcements, and no gauge. */
	if (!strcmp(name, "tag_announced_used"))
		return false;
	return !strcmp(name, "ah_waiting") || (bytes > 5 && !strcmp(name + bytes - 5, "_used"));
}

/* Returns how many entries of a table about other NICs may remain; 0: it is none of these. */
static uint64_t may_remain(const struct sim_nic *nic, const char *name)
{
	const struct sim *sim = sim_nic_sim(nic);
	uint64_t stations = sim_nic_count(sim);

	if (!strcmp(name, "neighbours_used"))
		return stations;
	return !strcmp(name, "rd_sessions_used") ? stations * sim_get_config(sim)->num_shards : 0;
}

/* True if a frame or a process may have named a station that does not exist. */
static bool invented(const struct sim_run *run)
{
	struct sim *sim = run->sim;
	uint32_t i;

	for (i = 0; i < sim_nic_count(sim); i++) {
		const struct sim_nic_counts *counts = sim_nic_counts(sim_nic_at(sim, i));

		if (counts->corrupted)
			return true;
	}
	return run->workload->bears_forgery;
}

/* Returns true if nothing remains; otherwise message describes it. */
static bool nic_empty(const struct sim_run *run, struct sim_nic *nic, char *message,
		      size_t message_bytes)
{
	const struct sim_nic_counts *counts = sim_nic_counts(nic);
	bool any = invented(run);
	struct fw_nic *fw;
	const char *name;
	uint64_t value;
	uint32_t s, i;

	for (s = 0; (fw = sim_nic_fw(nic, s)); s++) {
		for (i = 0; fw_stat(fw, i, &name, &value); i++) {
			if (!must_be_empty(name) &&
			    (!may_remain(nic, name) || value <= may_remain(nic, name) || any))
				continue;
			if (!value)
				continue;
			snprintf(message, message_bytes, "weft%u shard %u: %s is %" PRIu64,
				 sim_nic_index(nic), s, name, value);
			return false;
		}
	}
	if (counts->frames_held || counts->maps != counts->unmaps) {
		snprintf(message, message_bytes,
			 "weft%u: %" PRIu64 " frames held, %" PRIu64 " mappings left",
			 sim_nic_index(nic), counts->frames_held, counts->maps - counts->unmaps);
		return false;
	}
	return true;
}

static bool all_empty(struct sim_run *run, char *message, size_t message_bytes)
{
	uint32_t i;

	for (i = 0; i < sim_nic_count(run->sim); i++) {
		struct sim_nic *nic = sim_nic_at(run->sim, i);

		if (!sim_nic_dead(nic) && !nic_empty(run, nic, message, message_bytes))
			return false;
	}
	return true;
}

void sim_audit_empty(struct sim_run *run, uint64_t limit_ns)
{
	uint64_t end_ns = sim_now_ns(run->sim) + limit_ns, wait_ns = SETTLE_NS;
	char message[128];

	while (!all_empty(run, message, sizeof(message))) {
		if (sim_now_ns(run->sim) >= end_ns) {
			sim_run_fail(run, "audit: %" PRIu64 " ms after all processes ended %s",
				     limit_ns / 1000000, message);
			return;
		}
		sim_run_for(run->sim, wait_ns);
		wait_ns *= 2;
	}
}
