/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of ranks of a new communicator, read in slices.
 *
 * A list may have 65,536 entries, a mebibyte, and the NIC's memory for it is made when it is first
 * touched. The command is repeated until the list is there; the part that was read stays with the
 * client, which makes one list at a time. Calls mem.c and goal_heap.c.
 */
#include "nic_fw/fw_nic.h"

enum {
	STEP_RANKS = 256, /* with their links 20 bytes each */
	STEP_UNITS = FW_SLICE_UNITS,
};
#define LIST_DEAD_NS UINT64_C(1000000000)

static void list_free(struct fw_nic *nic, uint32_t client)
{
	struct goal_list *list = &nic->host.clients[client].goal_list;

	if (list->peers)
		goal_heap_free(nic, client, list->peers);
	if (list->links)
		goal_heap_free(nic, client, list->links);
	*list = (struct goal_list){.serial = list->serial};
}

static int list_begin(struct fw_nic *nic, uint32_t client, uint32_t num_ranks)
{
	struct goal_list *list = &nic->host.clients[client].goal_list;

	list->peers = goal_heap_alloc(nic, client, (uint64_t)num_ranks * sizeof(*list->peers));
	list->links = goal_heap_alloc(nic, client, (uint64_t)num_ranks * sizeof(*list->links));
	if (!list->peers || !list->links) {
		list_free(nic, client);
		return FW_ENOSPC;
	}
	list->num = num_ranks;
	list->serial += list->serial == UINT32_MAX ? 2 : 1;
	nic->slices.resume = list->serial;
	return 0;
}

/* Reads the next part and checks it. */
static int list_step(struct fw_nic *nic, struct goal_list *list, const struct hw_cmd_goal_comm *arg)
{
	uint32_t n = list->num - list->done, i;
	struct fw_mem mem;

	n = n < STEP_RANKS ? n : STEP_RANKS;
	nic->host.mem_busy = false;
	if (mem_check(nic, arg->pd, 0, arg->peers_stag,
		      arg->peers_addr + (uint64_t)list->done * sizeof(*list->peers),
		      n * sizeof(*list->peers), 0, &mem) != HW_VENDOR_ERR_NONE ||
	    !mem_read(nic, &mem, 0, list->peers + list->done, n * (uint32_t)sizeof(*list->peers)))
		return nic->host.mem_busy ? CMD_LATER : FW_EFAULT;
	for (i = list->done; i < list->done + n; i++) {
		if (list->peers[i].shard >= WIRE_EDP_SHARDS || list->peers[i].reserved)
			return FW_EINVAL;
		list->links[i] = FW_NONE;
	}
	list->done += n;
	return 0;
}

int goal_list_read(struct fw_nic *nic, uint32_t client, const struct hw_cmd_goal_comm *arg)
{
	struct goal_list *list = &nic->host.clients[client].goal_list;
	int status = 0;

	if (list->peers && list->serial != nic->slices.resume) {
		/* Another command makes its list, or is gone. */
		if (nic->now_ns - list->tried_ns < LIST_DEAD_NS)
			return CMD_LATER;
		list_free(nic, client);
	}
	if (!list->peers)
		status = list_begin(nic, client, arg->num_ranks);
	list->tried_ns = nic->now_ns;
	while (!status && list->done < list->num) {
		if (!slice_take(nic, STEP_UNITS))
			return CMD_LATER;
		status = list_step(nic, list, arg);
	}
	return status;
}

void goal_list_give(struct fw_nic *nic, uint32_t client, struct goal_comm *comm)
{
	struct goal_list *list = &nic->host.clients[client].goal_list;

	assert(list->peers && list->done == list->num);
	comm->peers = list->peers;
	comm->links = list->links;
	list->peers = NULL;
	list->links = NULL;
	list_free(nic, client);
}

void goal_list_forget(struct fw_nic *nic, uint32_t client, bool any)
{
	struct goal_list *list = &nic->host.clients[client].goal_list;

	if (list->peers && (any || list->serial == nic->slices.resume))
		list_free(nic, client);
}
