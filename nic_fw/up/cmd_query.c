/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries about the whole NIC: QUERY_DEVICE, STATS, LIST.
 *
 * Lists are read by cursor, a few objects per answer, without state in between. An object that
 * comes or goes meanwhile may be missed; none is listed twice.
 */
#include "nic_fw/fw_nic.h"

/* EUI-64 of the MAC (RFC 4291 appendix A), in network byte order in memory. */
static uint64_t node_guid(const uint8_t mac[WIRE_MAC_BYTES])
{
	const uint8_t bytes[8] = {
	    (uint8_t)(mac[0] ^ 0x02), mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5],
	};
	uint64_t guid;

	memcpy(&guid, bytes, sizeof(guid));
	return guid;
}

int cmd_query_device(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		     const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct hw_resp_device *device = &resp->u.device;
	const struct fw_config *config = &nic->config;

	(void)client;
	(void)cmd;
	(void)aux;
	memcpy(device->name, config->name, sizeof(device->name));
	device->name[sizeof(device->name) - 1] = '\0';
	memcpy(device->mac, config->mac, sizeof(device->mac));
	device->link_up = nic->link_up;
	device->ip_prefix = config->ip_prefix;
	device->ip = config->ip;
	device->mtu = config->mtu;
	device->max_qp = HW_MAX_QP;
	device->max_cq = HW_MAX_CQ;
	device->max_srq = HW_MAX_SRQ;
	device->max_mr = HW_MAX_MR;
	device->max_pd = HW_MAX_PD;
	device->max_ah = HW_MAX_AH;
	device->max_mw = HW_MAX_MR; /* windows and regions share their numbers */
	device->max_wr = HW_MAX_WR;
	device->max_cqe = HW_MAX_CQE;
	device->max_sge = HW_MAX_SGE;
	device->max_inline_bytes = HW_MAX_INLINE_BYTES;
	device->max_rd_atomic = HW_MAX_RD_ATOMIC;
	device->max_ud_payload_bytes =
	    config->mtu - DGRAM_UD_OVERHEAD - (uint32_t)sizeof(struct wire_ddp_untagged);
	device->max_ud_long_bytes = HW_MAX_UD_MSG_BYTES;
	device->num_vectors = HW_NUM_VECTORS;
	device->max_peers = HW_MAX_PEERS;
	device->shard = config->shard;
	device->num_shards = config->num_shards;
	device->max_mcast_grp = HW_MAX_MCAST_GRP;
	device->max_mcast_qp_attach = HW_MAX_MCAST_QP_ATTACH;
	device->max_total_mcast_qp_attach = HW_MAX_TOTAL_MCAST;
	device->num_coll_shards = config->num_coll_shards;
	device->switch_id = config->switch_id;
	device->max_msg_bytes = HW_MAX_MSG_BYTES;
	device->max_mr_bytes = HW_MAX_MR_BYTES;
	device->node_guid = node_guid(config->mac);
	device->link_mbps = config->link_mbps;
	return 0;
}

int cmd_stats(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	      const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct hw_resp_stats *stats = &resp->u.stats;
	uint32_t i = cmd->u.obj.cursor;
	const char *name;
	uint64_t value;

	(void)client;
	(void)aux;
	while (stats->count < HW_STATS_PER_RESP && fw_stat(nic, i, &name, &value)) {
		struct hw_stat *stat = &stats->stat[stats->count++];
		size_t at = 0;

		for (; name[at]; at++) {
			assert(at < sizeof(stat->name) - 1);
			stat->name[at] = name[at];
		}
		stat->value = value;
		i++;
	}
	stats->next = i;
	return 0;
}

enum {
	PLACES_PER_UNIT = 16, /* table places examined */
};

/* Fills an item from the object in a place of its table; false: the place is empty. */
typedef bool (*list_fn)(struct fw_nic *nic, uint32_t client, uint32_t place,
			struct hw_list_item *item);

static bool list_client(struct fw_nic *nic, uint32_t client, uint32_t place,
			struct hw_list_item *item)
{
	const struct fw_client *c = &nic->host.clients[place];
	uint32_t forged = 0;

	(void)client;
	if (!c->used)
		return false;
	if (c->bar.base)
		forged = __atomic_load_n(&((const struct hw_bar_header *)c->bar.base)->forged,
					 __ATOMIC_RELAXED);
	item->forged = forged < UINT16_MAX ? (uint16_t)forged : UINT16_MAX;
	item->id = place;
	item->client = place;
	item->state = c->share->user->uid;
	item->type = (c->tool ? HW_CLIENT_TOOL : 0) | (uint32_t)c->use << HW_CLIENT_USE_SHIFT;
	item->a = c->pid;
	item->b = c->share->held[HW_SHARE_QP] + c->share->held[HW_SHARE_CQ] +
		  c->share->held[HW_SHARE_SRQ] + c->share->held[HW_SHARE_MR] +
		  c->share->held[HW_SHARE_PD] + c->share->held[HW_SHARE_AH] +
		  c->share->held[HW_SHARE_EQ];
	memcpy(item->name, c->name, sizeof(item->name));
	return true;
}

/* Returns a count that a process keeps in its BAR, and may set to anything. */
static uint64_t count_of(const uint64_t *count)
{
	uint64_t value = __atomic_load_n(count, __ATOMIC_RELAXED);

	return value < INT64_MAX ? value : INT64_MAX;
}

static bool list_coll(struct fw_nic *nic, uint32_t client, uint32_t place,
		      struct hw_list_item *item)
{
	const struct fw_client *c = &nic->host.clients[place];
	const struct hw_bar_header *header;
	uint64_t on_nic, left;

	(void)client;
	if (!c->used || !c->bar.base)
		return false;
	header = (const struct hw_bar_header *)c->bar.base;
	on_nic = count_of(&header->coll_nic_calls);
	left = count_of(&header->coll_left_calls);
	if (!on_nic && !left)
		return false;
	item->id = place;
	item->client = c->pid;
	item->state = c->share->user->uid;
	item->a = on_nic;
	item->b = count_of(&header->coll_nic_bytes);
	item->more[0] = left;
	item->more[1] = count_of(&header->coll_left_bytes);
	return true;
}

static bool list_qp(struct fw_nic *nic, uint32_t client, uint32_t place, struct hw_list_item *item)
{
	const struct fw_qp *qp = &nic->host.qps[place];

	(void)client;
	if (!qp->used)
		return false;
	item->id = qp->qpn;
	item->client = qp->client;
	item->state = qp->state;
	item->type = qp->type;
	item->a = qp->dst_qpn;
	item->b = qp->tx_bytes;
	return true;
}

/*
 * An STag is all that a peer needs besides the QP, so only its own process and root see it.
 * Addresses of another user's memory are hidden from all but root, too.
 */
static bool list_mr(struct fw_nic *nic, uint32_t client, uint32_t place, struct hw_list_item *item)
{
	const struct fw_client *asks = &nic->host.clients[client];
	const struct fw_mr *mr = &nic->host.mrs[place];

	if (mr->kind == FW_MR_FREE)
		return false;
	if (mr->client == client || asks->sees_all)
		item->id = stag_make(place, mr->key);
	item->client = mr->client;
	item->state = mr->kind;
	item->type = mr->access;
	if (nic->share.holders[mr->client].user == asks->share->user || asks->sees_all)
		item->a = mr->addr;
	item->b = mr->bytes;
	if (mr->kind == FW_MR_REGION && mr->mapping)
		memcpy(item->name, "mapped", sizeof("mapped"));
	else if (mr->kind == FW_MR_REGION)
		memcpy(item->name, "process_vm", sizeof("process_vm"));
	return true;
}

static bool list_cq(struct fw_nic *nic, uint32_t client, uint32_t place, struct hw_list_item *item)
{
	const struct fw_cq *cq = &nic->host.cqs[place];

	(void)client;
	if (!cq->used)
		return false;
	item->id = cq->index;
	item->client = cq->client;
	item->state = cq->overrun;
	item->type = cq->eq;
	item->a = (uint64_t)cq->mask + 1;
	item->b = cq->prod;
	return true;
}

static bool list_neighbour(struct fw_nic *nic, uint32_t client, uint32_t place,
			   struct hw_list_item *item)
{
	const struct neigh *neigh = &nic->net.neigh[place];

	(void)client;
	if (neigh->state == NEIGH_FREE)
		return false;
	item->id = neigh->ip;
	item->state = neigh->state == NEIGH_REACHABLE;
	item->a = neigh->confirmed_ns;
	item->b = neigh->used_ns;
	memcpy(item->mac, neigh->mac, sizeof(item->mac));
	return true;
}

static bool list_peer(struct fw_nic *nic, uint32_t client, uint32_t place,
		      struct hw_list_item *item)
{
	const struct rd_peer *peer = &nic->rd.peers[place];
	const struct rd_session *session;
	struct rd_session copy;

	(void)client;
	if (!peer->used)
		return false;
	session = rd_rest_view(nic, peer, &copy);
	item->id = session->peer_ip;
	item->state = session->state;
	item->type = session->peer_shard;
	item->a = session->rtt.srtt_ns;
	item->b = session->tx_psn - session->tx_una;
	memcpy(item->mac, session->peer_mac, sizeof(item->mac));
	if (session->segment_bytes)
		item->more[0] = session->segment_bytes + (uint64_t)DGRAM_RD_OVERHEAD +
				sizeof(struct wire_ddp_untagged);
	return true;
}

static bool list_group(struct fw_nic *nic, uint32_t client, uint32_t place,
		       struct hw_list_item *item)
{
	const struct mcast_group *group = fw_pool_at(&nic->net.mcast_group_pool, place);

	(void)client;
	/* A freed group keeps its bytes: only groups that the table leads to exist. */
	if (mcast_find(nic, group->ip) != group)
		return false;
	item->id = group->ip;
	item->state = group->num_members ? 1 : 0;
	item->type = group->changes_left;
	item->a = group->num_members;
	item->b = group->rx_packets;
	wire_group_mac(group->ip, item->mac);
	return true;
}

/* One place for each kind of each account; kinds that the account does not use are left out. */
static bool list_share(struct fw_nic *nic, uint32_t client, uint32_t place,
		       struct hw_list_item *item)
{
	uint32_t number = place / HW_SHARES_SHARD, kind = place % HW_SHARES_SHARD;
	bool user = number < SHARE_USERS;
	const struct fw_account *account =
	    user ? &nic->share.users[number] : &nic->share.processes[number - SHARE_USERS];

	(void)client;
	if (!account->held[kind] || (!user && !account->clients))
		return false;
	item->id = account->uid;
	item->client = account->pid;
	item->state = kind;
	item->type = user ? HW_SHARE_OF_USER : HW_SHARE_OF_PROCESS;
	item->a = account->held[kind];
	item->b = account->limit[kind];
	return true;
}

static list_fn cmd_query_list_of(const struct fw_nic *nic, uint32_t kind, uint32_t *places)
{
	switch ((enum hw_list_kind)kind) {
	case HW_LIST_CLIENTS:
		*places = nic->host.client_ids.high;
		return list_client;
	case HW_LIST_QPS:
		*places = nic->host.qp_ids.high;
		return list_qp;
	case HW_LIST_MRS:
		*places = nic->host.mr_ids.high;
		return list_mr;
	case HW_LIST_CQS:
		*places = nic->host.cq_ids.high;
		return list_cq;
	case HW_LIST_NEIGHBOURS:
		*places = nic->net.neigh_count;
		return list_neighbour;
	case HW_LIST_PEERS:
		*places = nic->rd.session_ids.high;
		return list_peer;
	case HW_LIST_GROUPS:
		*places = nic->net.mcast_group_pool.high;
		return list_group;
	case HW_LIST_SHARES:
		*places = (SHARE_USERS + SHARE_PROCESSES) * HW_SHARES_SHARD;
		return list_share;
	case HW_LIST_COLLS:
		*places = nic->host.client_ids.high;
		return list_coll;
	case HW_LIST_USERS: /* weftd's own */
	case HW_LIST_KINDS:
		break;
	}
	return NULL;
}

int cmd_list(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	     const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct hw_resp_list *list = &resp->u.list;
	uint32_t place = cmd->u.list.cursor, places;
	list_fn fn = cmd_query_list_of(nic, cmd->u.list.kind, &places);

	(void)aux;
	if (!fn)
		return FW_EINVAL;
	if (place < nic->slices.resume)
		place = nic->slices.resume;
	for (; place < places && list->count < HW_LIST_PER_RESP; place++) {
		/* A table may have long empty stretches. An empty answer would end the list. */
		if (place % PLACES_PER_UNIT == 0 && !slice_take(nic, 1)) {
			nic->slices.resume = place;
			if (!list->count)
				return CMD_LATER;
			break;
		}
		if (fn(nic, client, place, &list->item[list->count]))
			list->count++;
	}
	list->next = place;
	return 0;
}

bool fw_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value)
{
	if (counters_stat(nic, i, name, value))
		return true;
	i -= counters_num();
	if (moder_stat(nic, i, name, value))
		return true;
	return fw_stage_stat(&nic->stages, i - HW_VECTOR_NUM_COUNTERS, name, value);
}
