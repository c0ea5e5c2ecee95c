/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP, a host's side: reports to routers and switches which groups are wanted here.
 *
 * mcast.c reports changes, and igmp_rx.c notes queries. A timer sends the messages, at most one in
 * IGMP_GAP_NS, each with as many due records as fit (version 3). All groups are of any source:
 * joined is EXCLUDE {}, left is INCLUDE {}. A change or a query is noted in the group with the time
 * at which its report is due, and one function (run_due()) sends all due reports.
 *
 * Each instance (shard) of a NIC reports its own groups; the last instance that leaves a group
 * reports that. Where a querier uses version 2 or 1, this host does so, too. RFC 3376 5 (hosts),
 * 7.2 (older versions), RFC 2236, RFC 1112 appendix I.
 */
#include "nic_fw/fw_nic.h"

enum {
	IGMP_HDR_BYTES = IP_TX_HDR_BYTES + WIRE_IP_ROUTER_ALERT_BYTES,
};

static uint32_t igmp_net_order(uint32_t ip_host_order)
{
	struct be32 v = be32_put(ip_host_order);
	uint32_t ip;

	memcpy(&ip, &v, sizeof(ip));
	return ip;
}

uint32_t igmp_version(struct fw_nic *nic)
{
	struct igmp *igmp = &nic->net.igmp;

	igmp->version = 3;
	if (nic->now_ns < igmp->v2_until_ns)
		igmp->version = 2;
	if (nic->now_ns < igmp->v1_until_ns)
		igmp->version = 1;
	return igmp->version;
}

uint64_t igmp_delay_ns(struct fw_nic *nic, uint64_t max_ns)
{
	return max_ns ? 1 + nic->port.random64(nic->port.ctx) % max_ns : 1;
}

bool igmp_is_reported(const struct mcast_group *group)
{
	return group->num_members && group->ip != igmp_net_order(WIRE_IGMP_ALL_SYSTEMS);
}

/* ---- due times --------------------------------------------------------------------------- */

static void note_earlier(uint64_t *next_ns, uint64_t at_ns)
{
	if (at_ns < *next_ns)
		*next_ns = at_ns;
}

void igmp_due_at(struct fw_nic *nic, uint64_t at_ns)
{
	struct igmp *igmp = &nic->net.igmp;

	if (at_ns < igmp->next_look_ns)
		at_ns = igmp->next_look_ns;
	if (!fw_timer_is_set(&igmp->timer) || igmp->timer.deadline_ns > at_ns)
		fw_timer_set(&nic->timers, &igmp->timer, at_ns);
}

/* Sets the timer for the earliest due time. */
static void rearm(struct fw_nic *nic)
{
	struct igmp *igmp = &nic->net.igmp;
	uint64_t next_ns = UINT64_MAX;
	struct fw_list *pos;

	if (igmp->general_ns)
		next_ns = igmp->general_ns;
	fw_list_for_each (pos, &nic->net.mcast_groups) {
		const struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		if (group->changes_left)
			note_earlier(&next_ns, group->change_ns);
		if (group->query_ns)
			note_earlier(&next_ns, group->query_ns);
	}
	if (next_ns == UINT64_MAX) {
		fw_timer_cancel(&nic->timers, &igmp->timer);
		return;
	}
	if (next_ns < igmp->next_tx_ns)
		next_ns = igmp->next_tx_ns;
	if (next_ns < igmp->next_look_ns)
		next_ns = igmp->next_look_ns;
	fw_timer_set(&nic->timers, &igmp->timer, next_ns);
}

void igmp_changed(struct fw_nic *nic, struct mcast_group *group)
{
	group->query_ns = 0;
	if (group->ip == igmp_net_order(WIRE_IGMP_ALL_SYSTEMS)) {
		if (!group->num_members)
			mcast_forget(nic, group);
		return;
	}
	group->changes_left = nic->net.igmp.robustness;
	group->change_ns = nic->now_ns;
	igmp_due_at(nic, nic->net.igmp.next_tx_ns > nic->now_ns ? nic->net.igmp.next_tx_ns
								: nic->now_ns);
}

void igmp_link_up(struct fw_nic *nic)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->net.mcast_groups) {
		struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		if (!igmp_is_reported(group))
			continue;
		group->changes_left = nic->net.igmp.robustness;
		group->change_ns = nic->now_ns;
	}
	rearm(nic);
}

/* A general query is due: every group answers, in as few messages as possible. */
static void spread_general(struct fw_nic *nic)
{
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->net.mcast_groups) {
		struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		if (!igmp_is_reported(group))
			continue;
		group->num_sources = 0;
		group->query_ns = nic->net.igmp.general_ns;
	}
	nic->net.igmp.general_ns = 0;
}

static bool change_is_due(const struct fw_nic *nic, const struct mcast_group *group)
{
	return group->changes_left && group->change_ns <= nic->now_ns;
}

static bool query_is_due(const struct fw_nic *nic, const struct mcast_group *group)
{
	return group->query_ns && group->query_ns <= nic->now_ns;
}

/*
 * Drops reports that are due but needless: leaving a group that another instance of the NIC is
 * still in, and answering a query for a group without members. True: the group is gone.
 */
static bool drop_idle(struct fw_nic *nic, struct mcast_group *group)
{
	uint8_t mac[WIRE_MAC_BYTES];

	if (group->num_members)
		return false;
	group->query_ns = 0;
	wire_group_mac(group->ip, mac);
	if (group->changes_left && !mac_filter_others(nic, mac, group->ip))
		return false;
	mcast_forget(nic, group);
	return true;
}

/* Counts one report of a change; all changes of this message share the time of the next one. */
static void count_change(struct fw_nic *nic, struct mcast_group *group, uint64_t again_ns)
{
	group->changes_left--;
	group->change_ns = again_ns;
	if (!group->changes_left && !group->num_members)
		mcast_forget(nic, group);
}

/* ---- messages out ----------------------------------------------------------------------- */

/* Ethernet, IPv4 with router alert, time to live 1 (RFC 3376 4). */
static void write_headers(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t dst_ip,
			  uint32_t bytes)
{
	static const uint8_t alert[WIRE_IP_ROUTER_ALERT_BYTES] = {WIRE_IP_OPTION_ROUTER_ALERT,
								  WIRE_IP_ROUTER_ALERT_BYTES, 0, 0};
	struct wire_ip *ip = (struct wire_ip *)(frame->hdr + sizeof(struct wire_eth));
	uint8_t mac[WIRE_MAC_BYTES];

	wire_group_mac(dst_ip, mac);
	ip_tx_header(nic, frame, dst_ip, mac, WIRE_IPPROTO_IGMP, WIRE_IP_TOS_CONTROL,
		     bytes + (uint32_t)sizeof(alert));
	memcpy(ip + 1, alert, sizeof(alert));
	ip->version_ihl++;
	ip->ttl = 1;
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip) + sizeof(alert))));
}

/* Sends the message in nic->scratch, its checksum still 0. False: no room now. */
static bool igmp_send_message(struct fw_nic *nic, uint32_t dst_ip, uint32_t bytes)
{
	struct be16 *checksum =
	    (struct be16 *)(nic->scratch + offsetof(struct wire_igmp, checksum));
	struct fw_tx_frame *frame = eth_tx_begin(nic);

	if (!frame)
		return false;
	*checksum = be16_put(wire_sum_fold(wire_sum_add(0, nic->scratch, bytes)));
	write_headers(nic, frame, dst_ip, bytes);
	frame->flags |= FW_TX_F_CONTROL;
	eth_tx_hdr(frame, 0, IGMP_HDR_BYTES, 0);
	frame->seg[frame->num_seg++] =
	    (struct fw_tx_seg){.mem = nic->scratch, .bytes = bytes, .kind = FW_TX_MEM};
	/* The next stage reuses the scratch memory. */
	if (eth_tx_try_now(nic, frame) == -FW_EAGAIN)
		return false;
	fw_trace(nic, TRACE_IGMP_TX, 0, nic->scratch[0], bytes);
	return true;
}

/* Writes the record that a group adds to a report. Returns its length; 0: none. */
static uint32_t igmp_write_record(const struct fw_nic *nic, const struct mcast_group *group,
				  uint8_t *out)
{
	struct wire_igmp_record *record = (struct wire_igmp_record *)out;
	uint32_t sources = 0;

	if (change_is_due(nic, group)) {
		record->type = group->num_members ? WIRE_IGMP_TO_EXCLUDE : WIRE_IGMP_TO_INCLUDE;
	} else if (query_is_due(nic, group)) {
		/* None of the queried sources is excluded (RFC 3376 5.2). */
		sources = group->num_sources;
		record->type = sources ? WIRE_IGMP_IS_INCLUDE : WIRE_IGMP_IS_EXCLUDE;
	} else {
		return 0;
	}
	record->aux_words = 0;
	record->num_sources = be16_put((uint16_t)sources);
	memcpy(&record->group, &group->ip, sizeof(record->group));
	memcpy(record + 1, group->source, sources * sizeof(group->source[0]));
	return (uint32_t)sizeof(*record) + sources * (uint32_t)sizeof(group->source[0]);
}

/*
 * After the report was sent: walks the same groups in the same order and clears the reported items.
 */
static void count_report(struct fw_nic *nic, uint32_t records)
{
	uint64_t again_ns = nic->now_ns + igmp_delay_ns(nic, IGMP_UNSOLICITED_NS);
	struct fw_list *pos, *next;

	for (pos = nic->net.mcast_groups.next; records; pos = next) {
		struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		next = pos->next;
		if (change_is_due(nic, group)) {
			/* A report of a change also answers a query. */
			if (query_is_due(nic, group))
				group->query_ns = 0;
			count_change(nic, group, again_ns);
			records--;
		} else if (query_is_due(nic, group)) {
			group->query_ns = 0;
			group->num_sources = 0;
			records--;
		}
	}
}

/* Version 3: sends one report of all due records that fit. False: no room for it now. */
static bool send_report(struct fw_nic *nic)
{
	struct wire_igmp_report *report = (struct wire_igmp_report *)nic->scratch;
	uint32_t max =
	    nic->config.mtu - (uint32_t)sizeof(struct wire_ip) - WIRE_IP_ROUTER_ALERT_BYTES;
	uint32_t most = sizeof(struct wire_igmp_record) + IGMP_MAX_SOURCES * sizeof(uint32_t);
	uint32_t bytes = sizeof(*report), records = 0;
	struct fw_list *pos;

	fw_list_for_each (pos, &nic->net.mcast_groups) {
		const struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);
		uint32_t n;

		if (bytes + most > max)
			break;
		n = igmp_write_record(nic, group, nic->scratch + bytes);
		bytes += n;
		records += n != 0;
	}
	if (!records)
		return true;
	*report = (struct wire_igmp_report){.type = WIRE_IGMP_V3_REPORT,
					    .num_records = be16_put((uint16_t)records)};
	if (!igmp_send_message(nic, igmp_net_order(WIRE_IGMP_V3_ROUTERS), bytes))
		return false;
	FW_COUNT(nic, igmp_reports_tx);
	FW_ADD(nic, igmp_records_tx, records);
	nic->net.igmp.next_tx_ns = nic->now_ns + IGMP_GAP_NS;
	count_report(nic, records);
	return true;
}

/* Versions 1 and 2: one message reports one group. False: no room for it now. */
static bool send_old(struct fw_nic *nic, struct mcast_group *group)
{
	struct wire_igmp *message = (struct wire_igmp *)nic->scratch;
	uint32_t dst_ip = group->num_members ? group->ip : igmp_net_order(WIRE_IGMP_ALL_ROUTERS);
	uint32_t spoken = igmp_version(nic);

	*message = (struct wire_igmp){.type = WIRE_IGMP_V2_REPORT};
	memcpy(&message->group, &group->ip, sizeof(message->group));
	if (spoken == 1)
		message->type = WIRE_IGMP_V1_REPORT;
	if (!group->num_members) {
		message->type = WIRE_IGMP_V2_LEAVE;
		group->changes_left = 1; /* reported once (RFC 2236 3) */
	}
	/* Version 1 has no message for leaving. */
	if (group->num_members || spoken == 2) {
		if (!igmp_send_message(nic, dst_ip, sizeof(*message)))
			return false;
		if (group->num_members)
			FW_COUNT(nic, igmp_reports_tx);
		else
			FW_COUNT(nic, igmp_leaves_tx);
		nic->net.igmp.next_tx_ns = nic->now_ns + IGMP_GAP_NS;
	}
	group->query_ns = 0;
	group->num_sources = 0;
	if (group->changes_left)
		count_change(nic, group, nic->now_ns + igmp_delay_ns(nic, IGMP_UNSOLICITED_NS));
	return true;
}

/* Sends one message of due reports. False: the port has no room. */
static bool run_due(struct fw_nic *nic)
{
	struct fw_list *pos, *next;

	if (nic->net.igmp.general_ns && nic->net.igmp.general_ns <= nic->now_ns)
		spread_general(nic);
	for (pos = nic->net.mcast_groups.next; pos != &nic->net.mcast_groups; pos = next) {
		struct mcast_group *group = FW_CONTAINER(pos, struct mcast_group, node);

		next = pos->next;
		if (!change_is_due(nic, group) && !query_is_due(nic, group))
			continue;
		if (!drop_idle(nic, group) && igmp_version(nic) < 3)
			return send_old(nic, group);
	}
	return igmp_version(nic) < 3 || send_report(nic);
}

void igmp_timer_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	(void)timer;
	nic->net.igmp.next_look_ns = nic->now_ns + IGMP_GAP_NS;
	if (nic->now_ns >= nic->net.igmp.next_tx_ns && !run_due(nic))
		nic->net.igmp.next_tx_ns = nic->now_ns + IGMP_GAP_NS;
	rearm(nic);
}

void igmp_init(struct fw_nic *nic)
{
	uint32_t all = igmp_net_order(WIRE_IGMP_ALL_SYSTEMS);
	uint8_t mac[WIRE_MAC_BYTES];
	int err;

	nic->net.igmp.robustness = IGMP_ROBUSTNESS;
	nic->net.igmp.query_interval_s = IGMP_QUERY_INTERVAL_S;
	nic->net.igmp.version = 3;
	fw_timer_init(&nic->net.igmp.timer, FW_TIMER_IGMP);
	wire_group_mac(all, mac);
	err = mac_filter_add(nic, mac, all);
	assert(!err);
	(void)err;
}
