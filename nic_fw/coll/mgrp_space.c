/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spaces of packet numbers of a reliable group: places in the tree, packets kept for members, the
 * packets that all members have, and the end.
 *
 * Calls mgrp_tx.c and goal_comm.c. A member keeps a packet until every member below has it. Its
 * own acknowledgement then reports this to its parent. docs/wire-group.md.
 */
#include "nic_fw/fw_nic.h"

/* ---- communicators by key ------------------------------------------------------------------- */

static uint32_t *mgrp_space_bucket(struct fw_nic *nic, uint64_t key, uint64_t key2)
{
	uint64_t mixed = fw_siphash(nic->config.hash_secret, key, key2, 0);

	return &nic->mgrp.hash[mixed % MGRP_HASH_SIZE];
}

struct goal_comm *mgrp_first_member(struct fw_nic *nic, uint64_t key, uint64_t key2)
{
	struct goal_comm *comm;

	fw_chain_for_each (comm, *mgrp_space_bucket(nic, key, key2), nic->goal.comms, group.next)
		if (comm->key == key && comm->key2 == key2)
			return comm;
	return NULL;
}

struct goal_comm *mgrp_next_member(struct fw_nic *nic, const struct goal_comm *comm)
{
	struct goal_comm *next;

	fw_chain_for_each (next, comm->group.next, nic->goal.comms, group.next)
		if (next->key == comm->key && next->key2 == comm->key2)
			return next;
	return NULL;
}

void mgrp_mac(uint64_t key, uint64_t key2, uint8_t *mac)
{
	uint32_t h =
	    fw_hash((uint32_t)key, (uint32_t)(key >> 32) ^ (uint32_t)(key2 >> 32), (uint32_t)key2);

	mac[0] = WIRE_MGRP_MAC_BYTE0;
	mac[1] = WIRE_MGRP_MAC_BYTE1;
	mac[2] = (uint8_t)(h >> 24);
	mac[3] = (uint8_t)(h >> 16);
	mac[4] = (uint8_t)(h >> 8);
	mac[5] = (uint8_t)h;
}

void mgrp_init(struct fw_nic *nic)
{
	fw_list_init(&nic->mgrp.ready);
	fw_list_init(&nic->mgrp.due);
}

int mgrp_join(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t *head = mgrp_space_bucket(nic, comm->key, comm->key2), i;

	fw_list_init(&comm->group.all);
	fw_list_init(&comm->group.blocked);
	fw_list_init(&comm->group.resuming);
	comm->group.spaces =
	    goal_heap_alloc(nic, comm->client, (uint64_t)comm->num_ranks * sizeof(uint32_t));
	if (!comm->group.spaces)
		return FW_ENOSPC;
	for (i = 0; i < comm->num_ranks; i++)
		comm->group.spaces[i] = FW_NONE;
	mgrp_mac(comm->key, comm->key2, comm->group.mac);
	if (mac_filter_add(nic, comm->group.mac, 0)) {
		goal_heap_free(nic, comm->client, comm->group.spaces);
		return FW_ENOSPC;
	}
	fw_chain_add(head, &comm->group.next, (uint32_t)(comm - nic->goal.comms));
	return 0;
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* Ranks relative to the root: v's parent is v without its lowest bit. */
uint32_t mgrp_parent(uint32_t num_ranks, uint32_t root, uint32_t rank)
{
	uint32_t v = (uint32_t)(((uint64_t)rank + num_ranks - root) % num_ranks);

	if (!v)
		return FW_NONE;
	return (uint32_t)(((uint64_t)(v & (v - 1)) + root) % num_ranks);
}

uint32_t mgrp_children(uint32_t num_ranks, uint32_t root, uint32_t rank, uint32_t *children)
{
	uint32_t v = (uint32_t)(((uint64_t)rank + num_ranks - root) % num_ranks), count = 0;
	uint64_t mask;

	for (mask = 1; v + mask < num_ranks && !(v & mask); mask *= 2)
		children[count++] = (uint32_t)((v + mask + root) % num_ranks);
	return count;
}

/* ---- beginning ------------------------------------------------------------------------------ */

struct mgrp_space *mgrp_space_find(const struct fw_nic *nic, const struct goal_comm *comm,
				   uint32_t root)
{
	return comm->group.spaces[root] == FW_NONE
		   ? NULL
		   : fw_pool_at(&nic->mgrp.spaces, comm->group.spaces[root]);
}

/* Starts the space at psn: all members have everything before. */
static void begin_at(struct mgrp_space *space, uint32_t psn)
{
	uint32_t i;

	space->low = space->next = space->high = space->requested = psn;
	space->reported_own = space->reported_ack = psn;
	for (i = 0; i < space->num_children; i++)
		space->child[i].own = space->child[i].ack = psn;
}

void mgrp_adopt(struct mgrp_space *space, uint32_t epoch, uint32_t base)
{
	space->known = true;
	space->epoch = epoch;
	space->base = base;
	begin_at(space, base);
}

/*
 * Starts the root's space: numbers of its own choice, and frames that the smallest NIC accepts
 * until all MTUs are known.
 */
static void begin_root(struct fw_nic *nic, const struct goal_comm *comm, struct mgrp_space *space)
{
	uint64_t random = nic->port.random64(nic->port.ctx);
	uint32_t i;

	mgrp_adopt(space, (uint32_t)(random >> 32), (uint32_t)random);
	space->frame_bytes = HW_MIN_MTU;
	for (i = 0; i < comm->num_ranks; i++) {
		if (i == comm->rank)
			continue;
		if (memcmp(comm->peers[i].mac, nic->config.mac, WIRE_MAC_BYTES))
			space->to_wire = true;
		else
			space->to_loop = true;
	}
}

static void place_in_tree(struct fw_nic *nic, struct goal_comm *comm, struct mgrp_space *space)
{
	uint32_t children[MGRP_MAX_CHILDREN], i;

	space->parent = mgrp_parent(comm->num_ranks, space->root, comm->rank);
	if (space->parent != FW_NONE)
		space->parent_gone = !goal_link_get(nic, comm, space->parent);
	space->num_children = mgrp_children(comm->num_ranks, space->root, comm->rank, children);
	for (i = 0; i < space->num_children; i++) {
		space->child[i].rank = children[i];
		space->child[i].gone = !goal_link_get(nic, comm, children[i]);
	}
}

struct mgrp_space *mgrp_space_get(struct fw_nic *nic, struct goal_comm *comm, uint32_t root)
{
	struct mgrp_space *space = mgrp_space_find(nic, comm, root);

	if (space)
		return space;
	space = goal_take(nic, comm->client, GOAL_TABLE_SPACES);
	if (!space)
		return NULL;
	memset(space, 0, sizeof(*space));
	space->ring =
	    goal_heap_alloc_zero(nic, comm->client, MGRP_WINDOW * sizeof(struct mgrp_slot));
	if (!space->ring) {
		goal_give(nic, comm->client, GOAL_TABLE_SPACES, space);
		return NULL;
	}
	space->comm = (uint32_t)(comm - nic->goal.comms);
	space->client = comm->client;
	space->root = root;
	fw_list_init(&space->queue);
	fw_list_init(&space->ready_node);
	fw_list_init(&space->due_node);
	fw_list_init(&space->blocked_node);
	fw_timer_init(&space->timer, FW_TIMER_MGRP);
	fw_timer_init(&space->ack_timer, FW_TIMER_MGRP_ACK);
	fw_list_add_tail(&comm->group.all, &space->node);
	comm->group.spaces[root] = fw_pool_index(&nic->mgrp.spaces, space);
	place_in_tree(nic, comm, space);
	if (root == comm->rank)
		begin_root(nic, comm, space);
	return space;
}

/* ---- packets kept for members --------------------------------------------------------------- */

bool mgrp_keeps(const struct mgrp_space *space)
{
	uint32_t i;

	for (i = 0; i < space->num_children; i++)
		if (!space->child[i].gone)
			return true;
	return false;
}

void mgrp_free_block(struct fw_nic *nic, struct mgrp_space *space, struct mgrp_slot *slot)
{
	if (slot->block) {
		/* A frame of this turn may still point at the block. */
		if (nic->net.tx_count)
			eth_tx_flush(nic);
		/* And so may one that was lent, to a NIC whose ranks are lost or of others. */
		if (slot->ends && slot->lent)
			goal_heap_settle(nic, slot->block);
		if (slot->ends)
			goal_heap_free(nic, space->client, slot->block);
		space->ring_bytes -= slot->bytes;
	}
	slot->block = NULL;
	slot->wanted = 0;
}

static void await_child(struct fw_nic *nic, struct mgrp_space *space, struct mgrp_child *child,
			bool on)
{
	struct goal_comm *comm = &nic->goal.comms[space->comm];

	if (child->awaiting == on)
		return;
	child->awaiting = on;
	child->probes = 0;
	child->answers = 0;
	child->from_ns = nic->now_ns;
	goal_link_await(nic, fw_pool_at(&nic->goal.links, comm->links[child->rank]), on);
}

void mgrp_taken(struct fw_nic *nic, struct mgrp_space *space)
{
	uint32_t i;

	for (i = 0; i < space->num_children; i++) {
		struct mgrp_child *child = &space->child[i];

		if (!child->gone && !child->awaiting && seq_lt(child->ack, space->next))
			await_child(nic, space, child, true);
	}
	mgrp_timer_update(nic, space);
}

/* Computes the largest frame that every member accepts, once all MTUs are known. */
static void agree_on_mtu(const struct fw_nic *nic, struct mgrp_space *space)
{
	uint32_t mtu = nic->config.mtu, i;

	for (i = 0; i < space->num_children; i++) {
		if (space->child[i].gone)
			continue;
		if (!space->child[i].mtu)
			return;
		if (space->child[i].mtu < mtu)
			mtu = space->child[i].mtu;
	}
	if (mtu >= HW_MIN_MTU)
		space->frame_bytes = mtu;
}

void mgrp_advance(struct fw_nic *nic, struct mgrp_space *space)
{
	uint32_t low = space->next, i;

	for (i = 0; i < space->num_children; i++) {
		struct mgrp_child *child = &space->child[i];

		if (child->gone)
			continue;
		if (seq_lt(child->ack, low))
			low = child->ack;
		if (!seq_lt(child->ack, space->next))
			await_child(nic, space, child, false);
	}
	for (; seq_lt(space->low, low); space->low++)
		mgrp_free_block(nic, space, mgrp_slot(space, space->low));
	if (space->root == nic->goal.comms[space->comm].rank) {
		agree_on_mtu(nic, space);
		if (!fw_list_empty(&space->queue))
			mgrp_ready(nic, space);
	} else if (space->known &&
		   (space->low != space->reported_ack || space->next != space->reported_own)) {
		mgrp_owe(nic, space,
			 space->low - space->reported_ack >= MGRP_ACK_EVERY ||
			     space->next - space->reported_own >= MGRP_ACK_EVERY);
	}
	if (nic->goal.comms[space->comm].closing)
		goal_comm_try_end(nic, &nic->goal.comms[space->comm]);
}

/* ---- neighbours ----------------------------------------------------------------------------- */

uint32_t mgrp_lost(struct fw_nic *nic, const struct mgrp_space *space, uint32_t instance)
{
	struct goal_comm *comm = &nic->goal.comms[space->comm];
	uint32_t i;

	if (space->parent != FW_NONE && goal_link_lost(nic, comm, space->parent, instance))
		return space->parent;
	for (i = 0; i < space->num_children; i++)
		if (goal_link_lost(nic, comm, space->child[i].rank, instance))
			return space->child[i].rank;
	return FW_NONE;
}

void mgrp_link_over(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank)
{
	struct fw_list *pos;
	uint32_t i;

	fw_list_for_each (pos, &comm->group.all) {
		struct mgrp_space *space = FW_CONTAINER(pos, struct mgrp_space, node);

		if (space->parent == rank)
			space->parent_gone = true;
		for (i = 0; i < space->num_children; i++) {
			struct mgrp_child *child = &space->child[i];

			if (child->rank != rank || child->gone)
				continue;
			await_child(nic, space, child, false);
			child->gone = true;
		}
		mgrp_advance(nic, space);
	}
}

void mgrp_resume(struct fw_nic *nic, struct goal_comm *comm, uint32_t most)
{
	struct fw_list *pos;

	while (most-- && (pos = fw_list_pop(&comm->group.resuming))) {
		struct mgrp_space *space = FW_CONTAINER(pos, struct mgrp_space, blocked_node);

		space->resume = true;
		mgrp_ready(nic, space);
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

bool mgrp_drained(const struct goal_comm *comm)
{
	const struct fw_list *pos;

	fw_list_for_each (pos, &comm->group.all) {
		const struct mgrp_space *space = FW_CONTAINER(pos, struct mgrp_space, node);

		if (space->low != space->next || !fw_list_empty(&space->queue))
			return false;
	}
	return true;
}

static void free_space(struct fw_nic *nic, struct goal_comm *comm, struct mgrp_space *space)
{
	uint32_t i;

	for (i = 0; i < space->num_children; i++)
		if (!space->child[i].gone)
			await_child(nic, space, &space->child[i], false);
	for (; seq_lt(space->low, space->high); space->low++)
		mgrp_free_block(nic, space, mgrp_slot(space, space->low));
	goal_heap_free(nic, space->client, space->ring);
	fw_timer_cancel(&nic->timers, &space->timer);
	fw_timer_cancel(&nic->timers, &space->ack_timer);
	fw_list_del(&space->ready_node);
	fw_list_del(&space->due_node);
	fw_list_del(&space->blocked_node);
	fw_list_del(&space->node);
	comm->group.spaces[space->root] = FW_NONE;
	assert(fw_list_empty(&space->queue));
	goal_give(nic, space->client, GOAL_TABLE_SPACES, space);
}

bool mgrp_leave(struct fw_nic *nic, struct goal_comm *comm)
{
	while (!fw_list_empty(&comm->group.all)) {
		if (!slice_take(nic, FW_SLICE_UNITS))
			return false;
		free_space(nic, comm, FW_CONTAINER(comm->group.all.next, struct mgrp_space, node));
	}
	fw_chain_del(mgrp_space_bucket(nic, comm->key, comm->key2), comm, nic->goal.comms,
		     group.next);
	(void)mac_filter_del(nic, comm->group.mac, 0);
	goal_heap_free(nic, comm->client, comm->group.spaces);
	comm->group.spaces = NULL;
	return true;
}
