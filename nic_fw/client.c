/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes come and go.
 *
 * Called by dpdk_app/client.c and sim_harness; calls the destroy function of every kind of
 * object. A process may be killed at any moment: detach needs nothing from it and finds all
 * it had in the client's lists.
 */
#include "nic_fw/fw_nic.h"

static uint32_t quota(uint32_t asked, uint32_t limit)
{
	return asked && asked < limit ? asked : limit;
}

static void init_client(struct fw_client *client, const struct fw_client_params *params)
{
	uint32_t i;

	client->used = true;
	client->tool = params->tool;
	client->closing = false;
	client->db_head = 0;
	client->header = NULL;
	client->db_ring = NULL;
	client->pid = params->pid;
	client->first_port = params->first_port;
	memcpy(client->name, params->name, sizeof(client->name));
	client->name[sizeof(client->name) - 1] = '\0';
	fw_list_init(&client->db_node);
	fw_list_init(&client->qps);
	fw_list_init(&client->cqs);
	fw_list_init(&client->srqs);
	fw_list_init(&client->mrs);
	fw_list_init(&client->pds);
	fw_list_init(&client->ahs);
	fw_list_init(&client->cms);
	fw_list_init(&client->xrcds);
	fw_list_init(&client->qp_opens);
	for (i = 0; i < HW_MAX_EQ_PER_CLIENT; i++)
		client->eq[i] = FW_NONE;
	client->num_qp = client->num_cq = client->num_srq = client->num_mr = 0;
	client->num_pd = client->num_ah = client->num_eq = client->num_cm = 0;
	client->num_xrcd = client->num_mcast = 0;
	client->wqes_held = client->flows_held = 0;
	client->goal_bytes = 0;
	client->goal_num_runs = 0;
	client->goal_eq = HW_EQ_NONE;
	client->goal_active = NULL;
	fw_list_init(&client->goal_comms);
	fw_list_init(&client->goal_links);
	fw_list_init(&client->goal_ready);
	fw_list_init(&client->goal_node);
	client->max_qp = quota(params->max_qp, HW_MAX_QP);
	client->max_cq = quota(params->max_cq, HW_MAX_CQ);
	client->max_srq = quota(params->max_srq, HW_MAX_SRQ);
	client->max_mr = quota(params->max_mr, HW_MAX_MR);
	client->max_pd = quota(params->max_pd, HW_MAX_PD);
	client->max_ah = quota(params->max_ah, HW_MAX_AH);
	client->max_mcast = quota(params->max_mcast, HW_MAX_TOTAL_MCAST);
	client->max_cm = quota(params->max_cm, HW_MAX_CM);
	client->max_eq = quota(params->max_eq, HW_MAX_EQ_PER_CLIENT);
}

/* The process has not seen the BAR yet; nic_state is stored last all the same. */
static void init_header(const struct fw_nic *nic, struct fw_client *client, uint32_t number)
{
	struct hw_bar_header *header = client->header;

	header->magic = HW_BAR_MAGIC;
	header->version = HW_BAR_VERSION;
	header->bar_bytes = client->bar.bytes;
	header->client = number;
	header->sleeping = 0;
	header->link_up = nic->link_up;
	header->clock_ns = nic->now_ns;
	__atomic_store_n(&header->nic_state, HW_NIC_RUNNING, __ATOMIC_RELEASE);
}

static int attach_bar(struct fw_nic *nic, uint32_t number, const struct fw_client_params *params,
		      struct hw_resp_attach *resp)
{
	struct fw_client *client = &nic->clients[number];
	struct hw_resp_create_eq eq0;
	int err;

	client->bar.free = nic->client_extents + (size_t)number * FW_BAR_EXTENTS;
	bar_init(&client->bar, params->bar, params->bar_bytes);
	client->header = params->bar;
	client->db_ring = client_bar(client, HW_BAR_DB_RING);
	err = eq_create(nic, number, 0, 0, FW_EQ0_ENTRIES, &eq0);
	if (err)
		return err;
	init_header(nic, client, number);
	fw_list_add_tail(&nic->db_clients, &client->db_node);
	resp->bar_bytes = client->bar.bytes;
	resp->eq0_offset_pages = (uint32_t)(eq0.record_offset / HW_BAR_PAGE_BYTES);
	resp->eq0_entries = eq0.entries;
	return 0;
}

int fw_client_attach(struct fw_nic *nic, const struct fw_client_params *params, uint32_t *client,
		     struct hw_resp_attach *resp)
{
	uint32_t number;
	int err = 0;

	if (nic->stopped)
		return FW_EIO;
	if (!params->tool &&
	    (!params->bar || params->bar_bytes < HW_BAR_DYNAMIC + HW_BAR_PAGE_BYTES))
		return FW_EINVAL;
	number = fw_ids_get(&nic->client_ids);
	if (number == FW_NONE)
		return FW_EUSERS;
	memset(resp, 0, sizeof(*resp));
	init_client(&nic->clients[number], params);
	if (!params->tool)
		err = attach_bar(nic, number, params, resp);
	if (err) {
		nic->clients[number].used = false;
		fw_ids_put(&nic->client_ids, number);
		return err;
	}
	resp->client = number;
	resp->shard = nic->config.shard;
	resp->num_shards = nic->config.num_shards;
	*client = number;
	return 0;
}

/* Windows before the regions that they are bound to. */
static void destroy_mrs(struct fw_nic *nic, struct fw_client *client)
{
	struct fw_list *pos, *next;

	for (pos = client->mrs.next; pos != &client->mrs; pos = next) {
		struct fw_mr *mr = FW_CONTAINER(pos, struct fw_mr, node);

		next = pos->next;
		if (mr->kind == FW_MR_WINDOW)
			mr_destroy(nic, (uint32_t)(mr - nic->mrs));
	}
	while (!fw_list_empty(&client->mrs))
		mr_destroy(
		    nic, (uint32_t)(FW_CONTAINER(client->mrs.next, struct fw_mr, node) - nic->mrs));
}

/* Users before what they use. */
static void destroy_objects(struct fw_nic *nic, struct fw_client *client)
{
	uint32_t i;

	goal_client_detach(nic, (uint32_t)(client - nic->clients));
	/* Peers of its connections hear of their end. */
	cm_client_detach(nic, (uint32_t)(client - nic->clients));
	while (!fw_list_empty(&client->qp_opens))
		qp_let_go(nic, FW_CONTAINER(client->qp_opens.next, struct fw_qp_open, node)->qp,
			  (uint32_t)(client - nic->clients));
	while (!fw_list_empty(&client->qps))
		qp_let_go(nic, FW_CONTAINER(client->qps.next, struct fw_qp, node),
			  (uint32_t)(client - nic->clients));
	while (!fw_list_empty(&client->srqs))
		srq_destroy(nic, (uint32_t)(FW_CONTAINER(client->srqs.next, struct fw_srq, node) -
					    nic->srqs));
	while (!fw_list_empty(&client->xrcds))
		xrcd_close(nic, (uint32_t)(FW_CONTAINER(client->xrcds.next, struct fw_xrcd, node) -
					   nic->xrcds));
	while (!fw_list_empty(&client->cqs))
		cq_destroy(
		    nic, (uint32_t)(FW_CONTAINER(client->cqs.next, struct fw_cq, node) - nic->cqs));
	for (i = 0; i < HW_MAX_EQ_PER_CLIENT; i++)
		if (client->eq[i] != FW_NONE)
			eq_destroy(nic, client->eq[i]);
	while (!fw_list_empty(&client->ahs))
		ah_destroy(
		    nic, (uint32_t)(FW_CONTAINER(client->ahs.next, struct fw_ah, node) - nic->ahs));
	destroy_mrs(nic, client);
	while (!fw_list_empty(&client->pds))
		pd_destroy(
		    nic, (uint32_t)(FW_CONTAINER(client->pds.next, struct fw_pd, node) - nic->pds));
}

void fw_client_detach(struct fw_nic *nic, uint32_t client)
{
	struct fw_client *leaving;

	assert(client < HW_MAX_CLIENTS && nic->clients[client].used);
	leaving = &nic->clients[client];
	leaving->closing = true;
	fw_list_del(&leaving->db_node);
	ah_forget_client(nic, client);
	/* No staged frame may point into the BAR or the mappings, or name the client's number. */
	eth_tx_forget(nic, client);
	destroy_objects(nic, leaving);
	assert(!leaving->wqes_held && !leaving->flows_held);
	leaving->header = NULL;
	leaving->db_ring = NULL;
	leaving->bar.base = NULL;
	leaving->used = false;
	fw_ids_put(&nic->client_ids, client);
}
