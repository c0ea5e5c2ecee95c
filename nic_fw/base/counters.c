/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters and gauges by number, for the STATS command and weftd's telemetry.
 *
 * First come the counters of hw_counters.h, then the gauges (the present use and the highest).
 * fw_stat() (cmd_query.c) adds moderation's counters and the stages. Calls nothing.
 */
#include "nic_fw/fw_nic.h"

static const char *const counter_names[] = {
#define X(name, help) #name,
    HW_COUNTERS(X)
#undef X
};

enum {
	NUM_COUNTERS = sizeof(counter_names) / sizeof(counter_names[0]),
};
static_assert(sizeof(struct fw_counters) == NUM_COUNTERS * sizeof(uint64_t), "");

enum gauge_kind {
	GAUGE_IDS,      /* numbers in use */
	GAUGE_POOL,     /* elements in use */
	GAUGE_POOL_MAX, /* the highest use so far */
	GAUGE_WORD,     /* a uint32_t */
	GAUGE_LONG,     /* a uint64_t */
};

struct gauge {
	const char *name;
	enum gauge_kind kind;
	size_t offset; /* in struct fw_nic */
};

#define IDS(name, field)                                                                           \
	{                                                                                          \
		name, GAUGE_IDS, offsetof(struct fw_nic, field)                                    \
	}
#define WORD(name, field)                                                                          \
	{                                                                                          \
		name, GAUGE_WORD, offsetof(struct fw_nic, field)                                   \
	}
#define LONG(name, field)                                                                          \
	{                                                                                          \
		name, GAUGE_LONG, offsetof(struct fw_nic, field)                                   \
	}
#define POOL(name, field)                                                                          \
	{name, GAUGE_POOL, offsetof(struct fw_nic, field)},                                        \
	{                                                                                          \
		name "_max", GAUGE_POOL_MAX, offsetof(struct fw_nic, field)                        \
	}

static const struct gauge gauges[] = {
    IDS("clients_used", host.client_ids),
    IDS("pds_used", host.pd_ids),
    IDS("mrs_used", host.mr_ids),
    IDS("cqs_used", host.cq_ids),
    IDS("eqs_used", host.eq_ids),
    IDS("srqs_used", host.srq_ids),
    IDS("xrcds_used", host.xrcd_ids),
    IDS("qps_used", host.qp_ids),
    POOL("qp_opens_used", host.qp_opens),
    IDS("ahs_used", host.ah_ids),
    IDS("rd_sessions_used", rd.session_ids),
    POOL("mcast_groups_used", net.mcast_group_pool),
    POOL("mcast_attached_used", net.mcast_members),
    POOL("slice_commands_used", slices.command_pool),
    WORD("slice_units_max", slices.most),
    WORD("igmp_version", net.igmp.version),
    WORD("neighbours_used", net.neigh_count),
    WORD("ah_waiting", host.ah_waiting),
    POOL("wqes_used", host.wqes),
    POOL("wqe_exts_used", host.wqe_exts),
    POOL("rd_flows_used", rd.flows),
    POOL("rd_tx_windows_used", rd.tx_windows),
    POOL("rd_rx_windows_used", rd.rx_windows),
    POOL("rd_held_used", rd.held),
    POOL("recv_msgs_used", host.recv_msgs),
    POOL("ud_reasms_used", ud.reasms),
    POOL("ud_buffers_used", ud.buffers),
    IDS("cm_endpoints_used", cm.ids),
    POOL("cm_data_used", cm.data),
    WORD("cm_listeners", cm.num_listeners),
    WORD("tcp_flows_used", tcp.num_flows),
    WORD("tcp_flows_used_max", tcp.num_flows_max),
    POOL("tcp_rests_used", tcp.rests),
    POOL("tcp_half_open_used", tcp.syns),
    POOL("tcp_chunks_used", tcp.chunks),
    WORD("tcp_listeners", tcp.num_listeners),
    POOL("mpa_conns_used", mpa.conns),
    POOL("mpa_setups_used", mpa.setups),
    POOL("mpa_segs_used", mpa.segs),
    POOL("mpa_partials_used", mpa.partials),
    IDS("esp_streams_used", esp.ids),
    POOL("esp_held_used", esp.held),
    POOL("esp_rdmap_lasts_used", rdmap.esp_lasts),
    IDS("goal_comms_used", goal.comm_ids),
    IDS("goal_schedules_used", goal.schedule_ids),
    WORD("goal_loads_used", goal.loads_active),
    POOL("goal_links_used", goal.links),
    POOL("goal_runs_used", goal.runs),
    POOL("goal_sends_used", goal.sends),
    POOL("goal_recvs_used", goal.recvs),
    POOL("goal_unexps_used", goal.unexps),
    POOL("goal_calcs_used", goal.calcs),
    POOL("mgrp_spaces_used", mgrp.spaces),
    POOL("tag_posteds_used", tag.posteds),
    POOL("tag_arrivals_used", tag.arrivals),
    POOL("tag_sends_used", tag.sends),
    POOL("tag_kept_used", tag.kept),
    POOL("tag_peers_used", tag.peers),
    POOL("tag_rtrs_used", tag.rtrs),
    POOL("tag_shares_used", tag.shares),
    LONG("goal_heap_bytes_used", goal.heap.buddy.used),
};

enum {
	NUM_GAUGES = sizeof(gauges) / sizeof(gauges[0]),
};

static uint64_t gauge_value(const struct fw_nic *nic, const struct gauge *gauge)
{
	const void *at = (const uint8_t *)nic + gauge->offset;

	switch (gauge->kind) {
	case GAUGE_IDS:
		return fw_ids_used(at);
	case GAUGE_POOL:
		return ((const struct fw_pool *)at)->used;
	case GAUGE_POOL_MAX:
		return ((const struct fw_pool *)at)->used_max;
	case GAUGE_WORD:
		return *(const uint32_t *)at;
	case GAUGE_LONG:
		return *(const uint64_t *)at;
	}
	return 0;
}

bool counters_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value)
{
	if (i < NUM_COUNTERS) {
		const uint64_t *counters = (const uint64_t *)(const void *)&nic->counters;

		*name = counter_names[i];
		*value = counters[i];
		return true;
	}
	i -= NUM_COUNTERS;
	if (i >= NUM_GAUGES)
		return false;
	*name = gauges[i].name;
	*value = gauge_value(nic, &gauges[i]);
	return true;
}

uint32_t counters_num(void)
{
	return (uint32_t)(NUM_COUNTERS + NUM_GAUGES);
}
