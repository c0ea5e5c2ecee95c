/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance gets another address or MTU: a new instance in another arena takes its place.
 *
 * Segment sizes, sessions, checksums and names of groups are made of both, so nothing of the old
 * instance is kept but what an operator sees or has set: counters, interrupt moderation, the link.
 * Peers find the new one as they find a NIC that was started again. fw_renew() refuses while
 * anything of a process is left. Calls fw_init(). docs/operating.md, "Addresses and MTU".
 */
#include "nic_fw/fw_nic.h"

/* No object of a process, and nothing that would hold a frame or a port of the NIC's. */
static bool vacant(const struct fw_nic *nic)
{
	const struct host_nic *host = &nic->host;

	for (uint32_t i = 0; i < HW_MAX_CLIENTS; i++) {
		if (host->clients[i].used && !host->clients[i].tool)
			return false;
	}
	return !fw_ids_used(&host->qp_ids) && !fw_ids_used(&host->cq_ids) &&
	       !fw_ids_used(&host->srq_ids) && !fw_ids_used(&host->mr_ids) &&
	       !fw_ids_used(&host->pd_ids) && !fw_ids_used(&host->ah_ids) &&
	       !fw_ids_used(&host->xrcd_ids) && !fw_ids_used(&nic->cm.ids) &&
	       !fw_ids_used(&nic->esp.ids) && !fw_ids_used(&nic->goal.comm_ids) &&
	       !fw_ids_used(&nic->goal.schedule_ids) && !host->wqes.used && !host->recv_msgs.used &&
	       !nic->esp.held.used && !tcp_flows_open(nic) && !nic->tcp.syns.used &&
	       !nic->goal.links.used && !nic->goal.runs.used && !nic->mgrp.spaces.used &&
	       !nic->tag.arrivals.used && !nic->net.tx_count && !slice_pending(nic);
}

struct fw_nic *fw_renew(struct fw_nic *nic, const struct fw_net *net, void *arena,
			size_t arena_bytes)
{
	struct fw_config config = nic->config;
	struct fw_nic *heir;

	if (!vacant(nic))
		return NULL;
	/* Segments that they guard against would meet an instance without any connection. */
	tcp_drop_time_wait(nic);
	config.mtu = net->mtu;
	config.ip = net->ip;
	config.ip_prefix = net->ip_prefix;
	config.gateway = net->gateway;
	config.nic_ip[config.nic_index] = net->ip;
	for (uint32_t i = 0; i < 2; i++)
		config.hash_secret[i] = nic->port.random64(nic->port.ctx) | 1;
	for (uint32_t i = 0; i < HW_NUM_VECTORS; i++)
		config.coalesce[i] = nic->host.vectors[i].coalesce;
	heir = fw_init(&config, &nic->port, arena, arena_bytes);
	if (!heir)
		return NULL;
	heir->now_ns = nic->now_ns;
	heir->start_ns = nic->start_ns;
	heir->link_up = nic->link_up;
	heir->counters = nic->counters;
	heir->stages = nic->stages;
	heir->trace = nic->trace;
	heir->trace_ctx = nic->trace_ctx;
	return heir;
}

void fw_set_nic_ip(struct fw_nic *nic, uint32_t index, uint32_t ip)
{
	if (index < sizeof(nic->config.nic_ip) / sizeof(nic->config.nic_ip[0]))
		nic->config.nic_ip[index] = ip;
}
