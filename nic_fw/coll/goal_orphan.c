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

/* Messages that were moved stand behind the others. False: units ran out. */
static bool move_sends(struct fw_nic *nic, struct goal_link *link)
{
	while (!fw_list_empty(&link->sends)) {
		struct goal_send *send =
		    FW_CONTAINER(link->sends.next, struct goal_send, link_node);

		if (send->client == FW_CLIENT_ORPHANS)
			break;
		if (!slice_take(nic, 1))
			return false;
		goal_move(nic, send->client, FW_CLIENT_ORPHANS, GOAL_TABLE_SENDS);
		goal_heap_move(nic, send->client, FW_CLIENT_ORPHANS, send->staged);
		send->client = FW_CLIENT_ORPHANS;
		fw_list_del(&send->link_node);
		fw_list_add_tail(&link->sends, &send->link_node);
	}
	return true;
}

/*
 * False: units ran out. The link's own units come last: were they taken first at each try, none
 * might be left for a message.
 */
static bool move_link(struct fw_nic *nic, struct goal_link *link)
{
	if (!move_sends(nic, link) || !slice_take(nic, FW_SLICE_GOAL_UNITS))
		return false;
	goal_move(nic, link->client, FW_CLIENT_ORPHANS, GOAL_TABLE_LINKS);
	link->client = FW_CLIENT_ORPHANS;
	return true;
}

/* Links that were moved stand behind the others. False: units ran out. */
static bool move_links(struct fw_nic *nic, struct goal_comm *comm)
{
	for (;;) {
		struct goal_link *link = FW_CONTAINER(comm->all_links.next, struct goal_link, node);

		if (fw_list_empty(&comm->all_links) || link->client == FW_CLIENT_ORPHANS)
			return true;
		goal_lost_cancel(comm, link);
		if (!move_link(nic, link))
			return false;
		fw_list_del(&link->node);
		fw_list_add_tail(&comm->all_links, &link->node);
	}
}

/* The same for spaces of the communicator's group. */
static bool move_spaces(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t i;

	for (;;) {
		struct mgrp_space *space =
		    FW_CONTAINER(comm->group.all.next, struct mgrp_space, node);

		if (fw_list_empty(&comm->group.all) || space->client == FW_CLIENT_ORPHANS)
			return true;
		if (!slice_take(nic, FW_SLICE_UNITS))
			return false;
		for (i = 0; i < MGRP_WINDOW; i++)
			if (space->ring[i].ends)
				goal_heap_move(nic, space->client, FW_CLIENT_ORPHANS,
					       space->ring[i].block);
		goal_heap_move(nic, space->client, FW_CLIENT_ORPHANS, space->ring);
		goal_move(nic, space->client, FW_CLIENT_ORPHANS, GOAL_TABLE_SPACES);
		space->client = FW_CLIENT_ORPHANS;
		fw_list_del(&space->node);
		fw_list_add_tail(&comm->group.all, &space->node);
	}
}

/* False: units ran out. */
static bool move_comm(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t from = comm->client;

	if (!move_spaces(nic, comm) || !move_links(nic, comm))
		return false;
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
	return true;
}

static void abort_stream(struct fw_nic *nic, struct goal_link *link)
{
	if (link->stream)
		esp_abort(nic, link->stream);
	link->stream = NULL;
}

/* Ends streams that close and whose peer did not acknowledge the data before FIN in time. */
void goal_orphan_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct fw_list *list = &orphans(nic)->goal_links;

	/* They stand in the order of their limits. */
	while (!fw_list_empty(list)) {
		struct goal_link *link = FW_CONTAINER(list->next, struct goal_link, node);
		bool due = link->until_ns <= nic->now_ns;

		if (!due || !slice_take(nic, FW_SLICE_GOAL_UNITS)) {
			fw_timer_set(&nic->timers, timer,
				     nic->now_ns + (due ? FW_SOON_NS : LOOK_NS));
			return;
		}
		fw_list_del(&link->node);
		abort_stream(nic, link);
		goal_lost_free(nic, link);
	}
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
		if (room && !mgrp_drained(comm) && !comm->ungrouped) {
			if (!move_comm(nic, comm))
				return false;
			continue;
		}
		goal_comm_destroy(nic, comm, !room);
		/* The links of a communicator take units, too. */
		if (owner->goal_comms.next == &comm->node)
			return false;
	}
	/* Streams of communicators that the process destroyed itself. */
	while (!fw_list_empty(&owner->goal_links)) {
		struct goal_link *link =
		    FW_CONTAINER(owner->goal_links.next, struct goal_link, node);

		if (!room || !link->stream) {
			if (!slice_take(nic, FW_SLICE_GOAL_UNITS))
				return false;
			abort_stream(nic, link);
			if (!goal_lost_drain(nic, link))
				return false;
			goal_link_free(nic, link);
			continue;
		}
		if (!move_link(nic, link))
			return false;
		fw_list_del(&link->node);
		goal_orphan_link(nic, link);
	}
	return true;
}

void goal_orphan_init(struct fw_nic *nic)
{
	fw_list_init(&orphans(nic)->goal_comms);
	fw_list_init(&orphans(nic)->goal_links);
	fw_timer_init(&nic->goal.orphan_timer, FW_TIMER_GOAL_ORPHAN);
}
