/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets of finished operations that outlive their process, because peers still wait for them.
 *
 * A send is finished when its buffer may be overwritten, a receive when its data have arrived. A
 * process may therefore end while the NIC still owes its messages to peers, or repairs from the
 * rings of its groups. The detach of a client moves the rest of its communicators and links to this
 * file; all of it lies in the NIC's own memory. It is charged to a client that is no process, until
 * everything is acknowledged, for MGRP_DRAIN_NS at most. Calls goal_comm.c, esp_conn.c.
 * docs/collectives.md "Failure".
 */
#include "nic_fw/fw_nic.h"

enum {
	SHARE = 4, /* of the quota, and of each table: a quarter may be held this way */
};
#define LOOK_NS UINT64_C(1000000000) /* interval of checks of closing links */

static struct fw_client *orphans(struct fw_nic *nic)
{
	return &nic->host.clients[FW_CLIENT_ORPHANS];
}

/* True if one process's rest fits beside the rests of earlier processes. */
static bool have_room(struct fw_nic *nic, const struct fw_client *owner)
{
	const struct fw_client *all = orphans(nic);
	uint32_t table;

	if (owner->goal_bytes + all->goal_bytes > GOAL_CLIENT_QUOTA_BYTES / SHARE)
		return false;
	for (table = 0; table < GOAL_TABLES; table++)
		if (owner->goal_held[table] + all->goal_held[table] >
		    goal_table_max(nic, (enum goal_table)table) / SHARE)
			return false;
	return true;
}

static void move_link(struct fw_nic *nic, struct goal_link *link)
{
	uint32_t from = link->client;
	struct fw_list *pos;

	fw_list_for_each (pos, &link->sends) {
		struct goal_send *send = FW_CONTAINER(pos, struct goal_send, link_node);

		goal_move(nic, from, FW_CLIENT_ORPHANS, GOAL_TABLE_SENDS);
		goal_heap_move(nic, from, FW_CLIENT_ORPHANS, send->staged);
		send->client = FW_CLIENT_ORPHANS;
	}
	goal_move(nic, from, FW_CLIENT_ORPHANS, GOAL_TABLE_LINKS);
	link->client = FW_CLIENT_ORPHANS;
}

static void move_space(struct fw_nic *nic, uint32_t from, struct mgrp_space *space)
{
	uint32_t i;

	for (i = 0; i < MGRP_WINDOW; i++)
		goal_heap_move(nic, from, FW_CLIENT_ORPHANS, space->ring[i].block);
	goal_heap_move(nic, from, FW_CLIENT_ORPHANS, space->ring);
	goal_move(nic, from, FW_CLIENT_ORPHANS, GOAL_TABLE_SPACES);
}

static void move_comm(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t from = comm->client;
	struct fw_list *pos;

	fw_list_for_each (pos, &comm->group.all)
		move_space(nic, from, FW_CONTAINER(pos, struct mgrp_space, node));
	fw_list_for_each (pos, &comm->all_links)
		move_link(nic, FW_CONTAINER(pos, struct goal_link, node));
	goal_heap_move(nic, from, FW_CLIENT_ORPHANS, comm->group.spaces);
	goal_heap_move(nic, from, FW_CLIENT_ORPHANS, comm->peers);
	goal_heap_move(nic, from, FW_CLIENT_ORPHANS, comm->links);
	share_give(nic, from, HW_SHARE_COMM, 1);
	share_take(nic, FW_CLIENT_ORPHANS, HW_SHARE_COMM, 1);
	comm->client = FW_CLIENT_ORPHANS;
	fw_list_del(&comm->node);
	fw_list_add_tail(&orphans(nic)->goal_comms, &comm->node);
	if (!fw_timer_is_set(&comm->end_timer))
		fw_timer_set(&nic->timers, &comm->end_timer, nic->now_ns + MGRP_DRAIN_NS);
}

static void abort_link(struct fw_nic *nic, struct goal_link *link)
{
	fw_list_del(&link->node);
	esp_abort(nic, link->stream);
	link->stream = NULL;
	goal_link_free(nic, link);
}

/* Ends streams that close and whose peer did not acknowledge the data before FIN in time. */
static void goal_orphan_look(struct fw_nic *nic, struct fw_timer *timer)
{
	struct fw_list *list = &orphans(nic)->goal_links, *pos, *next;

	for (pos = list->next; pos != list; pos = next) {
		struct goal_link *link = FW_CONTAINER(pos, struct goal_link, node);

		next = pos->next;
		if (link->until_ns <= nic->now_ns)
			abort_link(nic, link);
	}
	if (!fw_list_empty(list))
		fw_timer_set(&nic->timers, timer, nic->now_ns + LOOK_NS);
}

void goal_orphan_link(struct fw_nic *nic, struct goal_link *link)
{
	link->until_ns = nic->now_ns + MGRP_DRAIN_NS;
	fw_list_add_tail(&orphans(nic)->goal_links, &link->node);
	if (!fw_timer_is_set(&nic->goal.orphan_timer))
		fw_timer_set(&nic->timers, &nic->goal.orphan_timer, nic->now_ns + LOOK_NS);
}

bool goal_orphan_take(struct fw_nic *nic, struct fw_client *owner)
{
	bool room = have_room(nic, owner);

	while (!fw_list_empty(&owner->goal_comms)) {
		struct goal_comm *comm =
		    FW_CONTAINER(owner->goal_comms.next, struct goal_comm, node);

		if (!goal_comm_leave(nic, comm) || !slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		if (room && !mgrp_drained(comm) && !comm->ungrouped)
			move_comm(nic, comm);
		else
			goal_comm_destroy(nic, comm, !room);
		/* The links of a communicator take units, too. */
		if (owner->goal_comms.next == &comm->node)
			return false;
	}
	/* Streams of communicators that the process destroyed itself. */
	while (!fw_list_empty(&owner->goal_links)) {
		struct goal_link *link =
		    FW_CONTAINER(owner->goal_links.next, struct goal_link, node);

		if (!slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		if (!room) {
			abort_link(nic, link);
			continue;
		}
		fw_list_del(&link->node);
		move_link(nic, link);
		goal_orphan_link(nic, link);
	}
	return true;
}

void goal_orphan_init(struct fw_nic *nic)
{
	fw_list_init(&orphans(nic)->goal_comms);
	fw_list_init(&orphans(nic)->goal_links);
	fw_timer_init(&nic->goal.orphan_timer, goal_orphan_look);
}
