/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attach and detach of processes.
 *
 * Calls the destroy function of every kind of object. A process may be killed at any moment: detach
 * needs no cooperation from it and finds all its objects in the client's lists. There may be very
 * many: they disappear for others at once, and are freed in slices (slice.h).
 */
#include "nic_fw/fw_nic.h"

static void init_client(struct fw_client *client, const struct fw_client_params *params)
{
	uint32_t i;

	client->used = true;
	client->tool = params->tool;
	client->closing = false;
	client->has_unmapped = false;
	client->db_head = 0;
	client->header = NULL;
	client->db_ring = NULL;
	client->pid = params->pid;
	client->use = params->use;
	client->sees_all = params->sees_all;
	client->first_port = params->first_port;
	memcpy(client->name, params->name, sizeof(client->name));
	client->name[sizeof(client->name) - 1] = '\0';
	fw_list_init(&client->db_node);
	fw_list_init(&client->leave_node);
	fw_list_init(&client->tag_work);
	fw_list_init(&client->tag_node);
	fw_list_init(&client->qps);
	fw_list_init(&client->cqs);
	fw_list_init(&client->srqs);
	fw_list_init(&client->mrs);
	fw_list_init(&client->pds);
	fw_list_init(&client->ahs);
	fw_list_init(&client->cms);
	fw_list_init(&client->xrcds);
	fw_list_init(&client->qp_opens);
	fw_list_init(&client->atomics);
	fw_list_init(&client->slots);
	fw_list_init(&client->slots_node);
	client->atomics_held = 0;
	client->atomic_now = NULL;
	for (i = 0; i < HW_MAX_EQ_PER_CLIENT; i++)
		client->eq[i] = FW_NONE;
	client->wqes_held = client->flows_held = 0;
	client->goal_bytes = 0;
	client->goal_num_runs = 0;
	client->goal_eq = HW_EQ_NONE;
	client->goal_active = NULL;
	client->goal_endings = NULL;
	fw_list_init(&client->goal_comms);
	fw_list_init(&client->goal_links);
	fw_list_init(&client->goal_ready);
	fw_list_init(&client->goal_node);
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
	header->poll_cpu = fw_poll_cpu(nic);
	header->link_up = nic->link_up;
	header->clock_ns = nic->now_ns;
	__atomic_store_n(&header->nic_state, HW_NIC_RUNNING, __ATOMIC_RELEASE);
}

static int attach_bar(struct fw_nic *nic, uint32_t number, const struct fw_client_params *params,
		      struct hw_resp_attach *resp)
{
	struct fw_client *client = &nic->host.clients[number];
	struct hw_resp_create_eq eq0;
	int err;

	client->bar.free = nic->host.client_extents + (size_t)number * FW_BAR_EXTENTS;
	bar_init(&client->bar, params->bar, params->bar_bytes);
	client->header = params->bar;
	client->db_ring = client_bar(client, HW_BAR_DB_RING);
	err = eq_create(nic, number, 0, 0, FW_EQ0_ENTRIES, &eq0);
	if (err)
		return err;
	bar_records_ahead(nic, number);
	cmd_slot_init_client(nic, number);
	init_header(nic, client, number);
	fw_list_add_tail(&nic->host.db_clients, &client->db_node);
	resp->bar_bytes = client->bar.bytes;
	assert(eq0.record_offset % HW_BAR_PAGE_BYTES == 0);
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
	number = fw_ids_get(&nic->host.client_ids);
	if (number == FW_NONE)
		return FW_EUSERS;
	memset(resp, 0, sizeof(*resp));
	init_client(&nic->host.clients[number], params);
	nic->host.clients[number].share = &nic->share.holders[number];
	err = share_join(nic, number, params);
	if (!err && !params->tool) {
		err = attach_bar(nic, number, params, resp);
		if (err)
			share_leave(nic, number);
	}
	if (err) {
		nic->host.clients[number].used = false;
		fw_ids_put(&nic->host.client_ids, number);
		return err;
	}
	resp->client = number;
	resp->shard = nic->config.shard;
	resp->num_shards = nic->config.num_shards;
	*client = number;
	return 0;
}

/*
 * Removes objects from a list until it is empty, one unit each. STMT destroys the first one, at
 * pos. False: units ran out.
 */
#define LEAVE_ALL(list, units, STMT)                                                               \
	while (!fw_list_empty(list)) {                                                             \
		struct fw_list *pos = (list)->next;                                                \
                                                                                                   \
		if (!slice_take(nic, units))                                                       \
			return false;                                                              \
		STMT;                                                                              \
	}

#define INDEX(type, table) ((uint32_t)(FW_CONTAINER(pos, type, node) - nic->host.table))

/* Receives taken by other processes' messages cost units, too. */
static bool leave_srqs(struct fw_nic *nic, struct fw_client *client)
{
	while (!fw_list_empty(&client->srqs)) {
		struct fw_srq *srq = FW_CONTAINER(client->srqs.next, struct fw_srq, node);

		if (!slice_take(nic, 2) || !host_up.forget_srq(nic, srq))
			return false;
		srq_destroy(nic, srq->index);
	}
	return true;
}

/* Queue pairs take units of their own. */
static bool leave_qps(struct fw_nic *nic, struct fw_client *client)
{
	uint32_t number = (uint32_t)(client - nic->host.clients);

	while (!fw_list_empty(&client->qp_opens))
		if (!qp_let_go(nic,
			       FW_CONTAINER(client->qp_opens.next, struct fw_qp_open, node)->qp,
			       number))
			return false;
	while (!fw_list_empty(&client->qps))
		if (!qp_let_go(nic, FW_CONTAINER(client->qps.next, struct fw_qp, node), number))
			return false;
	return true;
}

static bool leave_eqs(struct fw_nic *nic, struct fw_client *client)
{
	while (client->share->held[HW_SHARE_EQ]) {
		if (!slice_take(nic, 1))
			return false;
		/* Numbers from the last down: EQ 0, for asynchronous events, goes at the end. */
		while (client->eq[client->leave_eq] == FW_NONE)
			client->leave_eq--;
		eq_destroy(nic, client->eq[client->leave_eq]);
	}
	return true;
}

/* Users before the objects that they use, windows before their regions. True: all is freed. */
static bool leave_step(struct fw_nic *nic, struct fw_client *client)
{
	uint32_t number = (uint32_t)(client - nic->host.clients), i;

	/* Peers of its connections are notified of their end. */
	for (i = 0; host_up.leave[i]; i++)
		if (!host_up.leave[i](nic, number))
			return false;
	if (!leave_qps(nic, client))
		return false;
	if (!leave_srqs(nic, client))
		return false;
	LEAVE_ALL(&client->xrcds, 1, xrcd_close(nic, INDEX(struct fw_xrcd, xrcds)));
	LEAVE_ALL(&client->cqs, 2, cq_destroy(nic, INDEX(struct fw_cq, cqs)));
	if (!leave_eqs(nic, client))
		return false;
	LEAVE_ALL(&client->ahs, 1, ah_destroy(nic, INDEX(struct fw_ah, ahs)));
	LEAVE_ALL(&client->mrs, 1, mr_destroy(nic, INDEX(struct fw_mr, mrs)));
	LEAVE_ALL(&client->pds, 1, pd_destroy(nic, INDEX(struct fw_pd, pds)));
	return true;
}

static void leave_over(struct fw_nic *nic, struct fw_client *leaving)
{
	uint32_t client = (uint32_t)(leaving - nic->host.clients);

	assert(!leaving->wqes_held && !leaving->flows_held);
	/* No staged frame may point into the BAR, or name the client's number. */
	eth_tx_forget(nic, client);
	slow_atomic_leave(nic, client);
	fw_list_del(&leaving->leave_node);
	share_leave(nic, (uint32_t)(leaving - nic->host.clients));
	leaving->header = NULL;
	leaving->db_ring = NULL;
	leaving->bar.base = NULL;
	leaving->used = false;
	leaving->closing = false;
	fw_ids_put(&nic->host.client_ids, client);
}

static void client_leave_run(struct fw_nic *nic, struct fw_client *client)
{
	if (!leave_step(nic, client))
		return;
	leave_over(nic, client);
	nic->port.detached(nic->port.ctx, (uint32_t)(client - nic->host.clients));
}

void client_leave_slice(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.leaving);

	if (!node)
		return;
	fw_list_add_tail(&nic->slices.leaving, node);
	nic->turn_did |= FW_DID_LEAVE;
	client_leave_run(nic, FW_CONTAINER(node, struct fw_client, leave_node));
}

enum fw_detach_result fw_client_detach(struct fw_nic *nic, uint32_t client)
{
	struct fw_client *leaving;

	assert(client < HW_MAX_CLIENTS && nic->host.clients[client].used);
	leaving = &nic->host.clients[client];
	assert(!leaving->closing);
	slice_allow(nic);
	/* No staged frame may point into its mappings; from now on none is made that does. */
	eth_tx_forget(nic, client);
	leaving->closing = true;
	leaving->leave_eq = HW_MAX_EQ_PER_CLIENT - 1;
	fw_list_del(&leaving->db_node);
	fw_list_del(&leaving->goal_node);
	ah_forget_client(nic, client);
	slice_forget_client(nic, client);
	cmd_slot_forget_client(nic, client);
	if (leave_step(nic, leaving)) {
		leave_over(nic, leaving);
		return FW_DETACH_DONE;
	}
	assert(nic->port.detached);
	fw_list_add_tail(&nic->slices.leaving, &leaving->leave_node);
	slice_wait(&nic->slices, SLICE_LEAVE);
	return FW_DETACH_PENDING;
}
