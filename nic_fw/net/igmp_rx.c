/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP, a host's side: queries of routers, and reports of other hosts.
 *
 * A query is noted in the groups that it asks about, with the time at which their reports are due;
 * igmp.c sends them. The length of a query and its code show its version. RFC 3376 4.1, 5.2, 7.1
 * (older versions), RFC 2236, RFC 1112 appendix I.
 */
#include "nic_fw/fw_nic.h"

/* A code of eight bits: linear below 128, then a float (RFC 3376 4.1.1, 4.1.7). */
static uint32_t code_value(uint8_t code)
{
	if (code < WIRE_IGMP_FLOAT)
		return code;
	return ((code & 0x0fu) | 0x10u) << ((code >> 4 & 0x07u) + 3);
}

static bool has_router_alert(const struct wire_ip *ip)
{
	const uint8_t *option = (const uint8_t *)(ip + 1);
	uint32_t left = (ip->version_ihl & 0x0fu) * 4u - (uint32_t)sizeof(*ip);

	while (left && *option != WIRE_IP_OPTION_END) {
		uint32_t bytes = *option == WIRE_IP_OPTION_NOP ? 1 : left > 1 ? option[1] : 0;

		if (*option == WIRE_IP_OPTION_ROUTER_ALERT && bytes == WIRE_IP_ROUTER_ALERT_BYTES)
			return bytes <= left;
		if (!bytes || bytes > left)
			return false;
		option += bytes;
		left -= bytes;
	}
	return false;
}

/* A query of an older version: this host uses it as long as such a querier may be there. */
static void note_older(struct fw_nic *nic, uint64_t *until_ns, uint64_t response_ns)
{
	struct igmp *igmp = &nic->net.igmp;
	uint32_t before = igmp_version(nic);
	struct fw_list *pos;

	*until_ns = nic->now_ns + response_ns +
		    (uint64_t)igmp->robustness * igmp->query_interval_s * UINT64_C(1000000000);
	if (igmp_version(nic) == before)
		return;
	/*
	 * The querier would not understand answers of the other version; changes are reported in
	 * the new one.
	 */
	igmp->general_ns = 0;
	fw_list_for_each (pos, &nic->net.mcast_groups)
		FW_CONTAINER(pos, struct mcast_group, node)->query_ns = 0;
}

/* General query: RFC 3376 5.2, rules 1 and 2. In older versions each group waits by itself. */
static void rx_general(struct fw_nic *nic, uint64_t max_ns)
{
	struct igmp *igmp = &nic->net.igmp;
	struct fw_list *pos;
	uint64_t at_ns = nic->now_ns + igmp_delay_ns(nic, max_ns);

	if (igmp_version(nic) == 3) {
		if (!igmp->general_ns || igmp->general_ns > at_ns)
			igmp->general_ns = at_ns;
		igmp_due_at(nic, igmp->general_ns);
		return;
	}
	/* The answers to the query before have hardly begun: they answer this one, too. */
	if (igmp->spread_ns && nic->now_ns - igmp->spread_ns < IGMP_GAP_NS)
		return;
	igmp->spread_ns = nic->now_ns;
	igmp_due_at(nic, nic->now_ns);
	fw_list_for_each (pos, &nic->net.mcast_groups) {
		struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		at_ns = nic->now_ns + igmp_delay_ns(nic, max_ns);
		if (!igmp_is_reported(group))
			continue;
		if (!group->query_ns || group->query_ns > at_ns)
			group->query_ns = at_ns;
	}
}

/* Adds the queried sources to those of a waiting query; too many: the whole group is reported. */
static void add_sources(struct mcast_group *group, bool waits, const uint32_t *source, uint32_t num)
{
	uint32_t i, j;

	if (!waits)
		group->num_sources = 0;
	for (i = 0; i < num; i++) {
		for (j = 0; j < group->num_sources && group->source[j] != source[i]; j++)
			;
		if (j < group->num_sources)
			continue;
		if (group->num_sources == IGMP_MAX_SOURCES) {
			group->num_sources = 0;
			return;
		}
		group->source[group->num_sources++] = source[i];
	}
}

/* Query for a group, or for a group and sources: RFC 3376 5.2, rules 1, 3, 4 and 5. */
static void rx_specific(struct fw_nic *nic, uint32_t ip, uint64_t max_ns, const uint32_t *source,
			uint32_t num_sources)
{
	struct mcast_group *group = mcast_find(nic, ip);
	uint64_t at_ns = nic->now_ns + igmp_delay_ns(nic, max_ns);

	if (!group || !igmp_is_reported(group))
		return;
	if (nic->net.igmp.general_ns && nic->net.igmp.general_ns <= at_ns)
		return;
	if (!num_sources || (group->query_ns && !group->num_sources))
		group->num_sources = 0;
	else
		add_sources(group, group->query_ns != 0, source, num_sources);
	if (!group->query_ns || group->query_ns > at_ns)
		group->query_ns = at_ns;
	igmp_due_at(nic, group->query_ns);
}

/* Handles the fields that version 3 adds to a query. False: the message is truncated. */
static bool rx_v3(struct fw_nic *nic, uint32_t bytes, uint32_t ip, uint64_t max_ns)
{
	const struct wire_igmp_query *query = (const struct wire_igmp_query *)nic->scratch;
	uint32_t num = be16_get(query->num_sources);
	uint32_t source[IGMP_MAX_SOURCES];

	if (sizeof(*query) + num * sizeof(uint32_t) > bytes)
		return false;
	if (query->flags & WIRE_IGMP_QRV_MASK)
		nic->net.igmp.robustness = query->flags & WIRE_IGMP_QRV_MASK;
	if (query->qqic)
		nic->net.igmp.query_interval_s = code_value(query->qqic);
	if (!ip) {
		rx_general(nic, max_ns);
		return true;
	}
	/* For more sources than fit, the group answers as a whole. */
	if (num > IGMP_MAX_SOURCES)
		num = 0;
	memcpy(source, query + 1, num * sizeof(source[0]));
	rx_specific(nic, ip, max_ns, source, num);
	return true;
}

/* Handles a query; length and code show its version (RFC 3376 7.1). False: malformed. */
static bool rx_query(struct fw_nic *nic, const struct ip_rx_info *info, uint32_t bytes)
{
	const struct wire_igmp *query = (const struct wire_igmp *)nic->scratch;
	uint64_t max_ns = query->max_resp_code * IGMP_UNIT_NS;
	uint32_t ip;

	memcpy(&ip, &query->group, sizeof(ip));
	if ((ip && !wire_is_group(ip)) ||
	    (bytes > sizeof(*query) && bytes < sizeof(struct wire_igmp_query)))
		return false;
	FW_COUNT(nic, igmp_queries_rx);
	if (bytes == sizeof(*query) && !query->max_resp_code) {
		FW_COUNT(nic, igmp_queries_v1_rx);
		note_older(nic, &nic->net.igmp.v1_until_ns, IGMP_V1_RESPONSE_NS);
		rx_general(nic, IGMP_V1_RESPONSE_NS);
		return true;
	}
	/* Queries forged by a distant host lack it (RFC 3376 9.1). */
	if (!has_router_alert(info->ip))
		return false;
	if (bytes > sizeof(*query))
		return rx_v3(nic, bytes, ip, code_value(query->max_resp_code) * IGMP_UNIT_NS);
	FW_COUNT(nic, igmp_queries_v2_rx);
	if (ip) {
		rx_specific(nic, ip, max_ns, NULL, 0);
		return true;
	}
	note_older(nic, &nic->net.igmp.v2_until_ns, max_ns);
	rx_general(nic, max_ns);
	return true;
}

/* Another member has reported the group to the router: one report is enough (RFC 2236 3). */
static void rx_old_report(struct fw_nic *nic)
{
	const struct wire_igmp *report = (const struct wire_igmp *)nic->scratch;
	struct mcast_group *group;
	uint32_t ip;

	memcpy(&ip, &report->group, sizeof(ip));
	group = mcast_find(nic, ip);
	FW_COUNT(nic, igmp_reports_rx);
	if (group && igmp_version(nic) < 3)
		group->query_ns = 0;
}

void igmp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info)
{
	uint32_t bytes = info->payload_bytes;
	struct eth_cursor cursor;
	bool ok = true;

	if (bytes < sizeof(struct wire_igmp) || bytes > FW_SCRATCH_BYTES || info->ip->ttl != 1 ||
	    wire_sum_fold(ip_sum_frame(0, frame, info->payload_offset, bytes)) != 0) {
		FW_DROP(nic, drop_igmp);
		return;
	}
	eth_cursor_init(&cursor, frame, info->payload_offset, bytes);
	eth_cursor_copy(&cursor, nic->scratch, bytes);
	fw_trace(nic, TRACE_IGMP_RX, 0, nic->scratch[0], bytes);
	switch (nic->scratch[0]) {
	case WIRE_IGMP_QUERY:
		ok = rx_query(nic, info, bytes);
		break;
	case WIRE_IGMP_V1_REPORT:
	case WIRE_IGMP_V2_REPORT:
		rx_old_report(nic);
		break;
	default: /* for routers, or of a protocol that shares the number (RFC 3376 4) */
		FW_COUNT(nic, igmp_reports_rx);
		break;
	}
	if (!ok)
		FW_DROP(nic, drop_igmp);
}
