/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable groups, sending: turns of roots, repairs of parents, statuses of children, probes.
 *
 * A message is copied into the ring as the window opens (mgrp_data.c), so its operation is
 * finished, and its buffer free, when the last packet is in. A child requests missing packets
 * (STATUS with bits) and repeats the request while no packet comes. A parent that receives no
 * answer to its packets sends PROBE. Both waits follow the measured round trips. Calls edp.c and
 * mgrp_data.c. docs/wire-group.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	MGRP_OFFSET = sizeof(struct wire_eth) + sizeof(struct wire_edp),
	SLOW_PROBE = 4, /* factor of the wait for packets that a child's children owe it */
};

static struct goal_comm *mgrp_tx_comm(struct fw_nic *nic, const struct mgrp_space *space)
{
	return &nic->goal.comms[space->comm];
}

/* ---- waits ---------------------------------------------------------------------------------- */

static uint64_t mgrp_tx_rto_ns(const struct fw_rtt *rtt, uint32_t tries)
{
	uint64_t ns = fw_rtt_timeout_ns(rtt, MGRP_FIRST_RTO_NS, MGRP_MIN_RTO_NS);

	ns <<= tries < 10 ? tries : 10;
	return ns < MGRP_MAX_RTO_NS ? ns : MGRP_MAX_RTO_NS;
}

/* ---- frames --------------------------------------------------------------------------------- */

static uint16_t mgrp_tx_master_port(uint32_t shard)
{
	return (uint16_t)(WIRE_EDP_PORT_BASE + shard * WIRE_EDP_PORT_SPAN);
}

/* Begins a frame up to wire_mgrp; NULL: no room. */
static struct fw_tx_frame *begin_comm(struct fw_nic *nic, const struct goal_comm *comm,
				      const uint8_t *mac, uint32_t shard, uint8_t type,
				      uint32_t dst_rank, struct wire_mgrp **wire)
{
	struct fw_tx_frame *frame =
	    edp_tx_begin(nic, mac, mgrp_tx_master_port(shard),
			 mgrp_tx_master_port(nic->config.shard), WIRE_EDP_GROUP);

	if (!frame)
		return NULL;
	*wire = (struct wire_mgrp *)(void *)(frame->hdr + MGRP_OFFSET);
	memset(*wire, 0, sizeof(**wire));
	(*wire)->type = type;
	(*wire)->src_rank = be32_put(comm->rank);
	(*wire)->dst_rank = be32_put(dst_rank);
	(*wire)->key = be64_put(comm->key);
	(*wire)->key2 = be64_put(comm->key2);
	eth_tx_hdr(frame, sizeof(struct wire_eth),
		   sizeof(struct wire_edp) + sizeof(struct wire_mgrp), 0);
	return frame;
}

struct fw_tx_frame *mgrp_tx_begin(struct fw_nic *nic, const struct mgrp_space *space,
				  const uint8_t *mac, uint32_t shard, uint8_t type,
				  uint32_t dst_rank, struct wire_mgrp **wire)
{
	struct fw_tx_frame *frame =
	    begin_comm(nic, mgrp_tx_comm(nic, space), mac, shard, type, dst_rank, wire);

	if (!frame)
		return NULL;
	(*wire)->root = be32_put(space->root);
	(*wire)->epoch = be32_put(space->epoch);
	(*wire)->base = be32_put(space->base);
	return frame;
}

bool mgrp_note_send(struct fw_nic *nic, const struct goal_comm *comm, const struct mgrp_note *note)
{
	const struct hw_goal_peer *peer = &comm->peers[note->rank];
	struct wire_mgrp *wire;
	struct fw_tx_frame *frame =
	    begin_comm(nic, comm, peer->mac, peer->shard, note->type, note->rank, &wire);

	if (!frame)
		return false;
	wire->root = be32_put(comm->rank);
	wire->epoch = be32_put(note->question);
	wire->base = be32_put(note->type == WIRE_MGRP_ASK ? note->instance : note->changes);
	wire->mtu = be16_put(note->moves);
	wire->psn = be32_put((uint32_t)note->held);
	wire->own = be32_put((uint32_t)(note->held >> 32));
	wire->from = be32_put((uint32_t)note->stops);
	wire->from2 = be32_put((uint32_t)(note->stops >> 32));
	wire->missing = be64_put(note->ranks);
	edp_tx_end(nic, frame, true);
	return true;
}

static struct fw_tx_frame *begin_to(struct fw_nic *nic, const struct mgrp_space *space,
				    uint8_t type, uint32_t rank, struct wire_mgrp **wire)
{
	const struct hw_goal_peer *peer = &mgrp_tx_comm(nic, space)->peers[rank];

	return mgrp_tx_begin(nic, space, peer->mac, peer->shard, type, rank, wire);
}

static bool send_repair(struct fw_nic *nic, struct mgrp_space *space, uint32_t psn, uint32_t rank)
{
	struct mgrp_slot *slot = mgrp_slot(space, psn);
	struct wire_mgrp *wire;
	struct fw_tx_frame *frame = begin_to(nic, space, WIRE_MGRP_REPAIR, rank, &wire);

	if (!frame)
		return false;
	wire->psn = be32_put(psn);
	mgrp_data_put(nic, space, slot, slot->bytes - (uint32_t)sizeof(struct wire_goal), frame);
	edp_tx_end(nic, frame, false);
	slot->repaired = true;
	FW_COUNT(nic, mgrp_tx_repairs);
	return true;
}

static bool mgrp_tx_send_probe(struct fw_nic *nic, struct mgrp_space *space,
			       struct mgrp_child *child)
{
	struct wire_mgrp *wire;
	struct fw_tx_frame *frame = begin_to(nic, space, WIRE_MGRP_PROBE, child->rank, &wire);

	if (!frame)
		return false;
	wire->psn = be32_put(space->high);
	edp_tx_end(nic, frame, true);
	FW_COUNT(nic, mgrp_tx_probes);
	return true;
}

/* Returns the smallest MTU at or below this member; 0: not all are known. */
static uint16_t subtree_mtu(const struct fw_nic *nic, const struct mgrp_space *space)
{
	uint16_t mtu = nic->config.mtu;
	uint32_t i;

	for (i = 0; i < space->num_children; i++) {
		if (space->child[i].gone)
			continue;
		if (space->child[i].mtu < mtu)
			mtu = space->child[i].mtu;
	}
	return mtu;
}

/* Sets bits for missing packets from psn on; returns the first number beyond the bitmap. */
static uint32_t missing_from(const struct mgrp_space *space, uint32_t psn, uint64_t *missing)
{
	uint32_t i;

	*missing = 0;
	for (i = 0; i < WIRE_MGRP_MISSING && seq_lt(psn + i, space->high); i++)
		if (!mgrp_slot(space, psn + i)->block)
			*missing |= UINT64_C(1) << i;
	return psn + i;
}

static bool send_status(struct fw_nic *nic, struct mgrp_space *space)
{
	struct wire_mgrp *wire;
	struct fw_tx_frame *frame = begin_to(nic, space, WIRE_MGRP_STATUS, space->parent, &wire);
	uint64_t missing;

	if (!frame)
		return false;
	if (seq_lt(space->requested, space->next))
		space->requested = space->next;
	/* Finds the first gap that was not requested; repairs of earlier gaps are in flight. */
	while (seq_lt(space->requested, space->high) && mgrp_slot(space, space->requested)->block)
		space->requested++;
	wire->from = be32_put(space->requested);
	space->requested = missing_from(space, space->requested, &missing);
	while (seq_lt(space->requested, space->high) && mgrp_slot(space, space->requested)->block)
		space->requested++;
	wire->missing = be64_put(missing);
	wire->psn = be32_put(space->low);
	wire->own = be32_put(space->next);
	wire->mtu = be16_put(subtree_mtu(nic, space));
	edp_tx_end(nic, frame, true);
	space->reported_ack = space->low;
	space->reported_own = space->next;
	if (missing) {
		space->request_ns = nic->now_ns;
		space->requesting = true;
		FW_COUNT(nic, mgrp_tx_nacks);
	}
	FW_COUNT(nic, mgrp_tx_statuses);
	return true;
}

/* ---- turns ---------------------------------------------------------------------------------- */

void mgrp_ready(struct fw_nic *nic, struct mgrp_space *space)
{
	if (!fw_list_linked(&space->ready_node))
		fw_list_add_tail(&nic->mgrp.ready, &space->ready_node);
}

void mgrp_owe(struct fw_nic *nic, struct mgrp_space *space, bool now)
{
	if (space->parent == FW_NONE || space->parent_gone || !space->known)
		return;
	if (now) {
		if (!fw_list_linked(&space->due_node))
			fw_list_add_tail(&nic->mgrp.due, &space->due_node);
	} else if (!fw_timer_is_set(&space->ack_timer)) {
		fw_timer_set(&nic->timers, &space->ack_timer, nic->now_ns + MGRP_ACK_NS);
	}
}

/* Sends packets that children requested and that are here. Returns their cost. */
static uint32_t repair(struct fw_nic *nic, struct mgrp_space *space, uint32_t most)
{
	uint32_t psn, sent = 0, i;

	if (!space->wanted)
		return 0;
	space->wanted = 0;
	for (psn = space->low; seq_lt(psn, space->high); psn++) {
		struct mgrp_slot *slot = mgrp_slot(space, psn);

		for (i = 0; slot->block && slot->wanted && i < space->num_children; i++) {
			if (!(slot->wanted >> i & 1))
				continue;
			if (space->child[i].gone || seq_lt(psn, space->child[i].own)) {
				slot->wanted &= ~(UINT32_C(1) << i);
				continue;
			}
			if (sent >= most || !eth_tx_room(nic) ||
			    !send_repair(nic, space, psn, space->child[i].rank)) {
				space->wanted = 1;
				return sent;
			}
			slot->wanted &= ~(UINT32_C(1) << i);
			sent += eth_tx_cost(nic);
		}
	}
	return sent;
}

static bool mgrp_tx_may_send(const struct mgrp_space *space)
{
	return space->wanted || mgrp_data_is_next(space);
}

/* A space that is alone has the whole turn. */
static uint32_t mgrp_tx_quantum(const struct fw_nic *nic, uint32_t budget)
{
	return budget < MGRP_TX_QUANTUM || fw_list_empty(&nic->mgrp.ready) ? budget
									   : MGRP_TX_QUANTUM;
}

static uint32_t run_space(struct fw_nic *nic, struct mgrp_space *space, uint32_t most)
{
	uint32_t sent = 0;

	(void)fw_dear_take(nic);
	if (space->resume) {
		space->resume = false;
		mgrp_deliver(nic, space);
		sent = fw_dear_take(nic);
	}
	(void)eth_tx_cost(nic);
	sent += repair(nic, space, most);
	while (sent < most && mgrp_data_send(nic, space, most - sent))
		sent += eth_tx_cost(nic);
	return sent;
}

static void flush_statuses(struct fw_nic *nic)
{
	while (!fw_list_empty(&nic->mgrp.due)) {
		struct mgrp_space *space =
		    FW_CONTAINER(nic->mgrp.due.next, struct mgrp_space, due_node);

		if (!send_status(nic, space))
			return;
		/* There are more gaps than one STATUS names: send another. */
		if (seq_lt(space->requested, space->high))
			continue;
		fw_list_del(&space->due_node);
		fw_timer_cancel(&nic->timers, &space->ack_timer);
		mgrp_timer_update(nic, space);
	}
}

/* Operations have finished, while the interpreter had nothing to do: it goes on with their runs. */
static uint32_t step_runs(struct fw_nic *nic, uint32_t budget)
{
	uint8_t stage = fw_stage_enter(nic, FW_STAGE_GOAL);
	uint32_t done = goal_step_poll(nic, budget);

	(void)fw_stage_enter(nic, stage);
	return done;
}

uint32_t mgrp_run(struct fw_nic *nic, uint32_t budget)
{
	bool idle = fw_list_empty(&nic->goal.clients);
	struct fw_list again;
	uint32_t done = 0;

	if (fw_list_empty(&nic->mgrp.ready)) {
		flush_statuses(nic);
		return 0;
	}
	fw_list_init(&again);
	while (done < budget && !fw_list_empty(&nic->mgrp.ready) && eth_tx_room(nic)) {
		struct mgrp_space *space =
		    FW_CONTAINER(nic->mgrp.ready.next, struct mgrp_space, ready_node);
		uint32_t sent;

		fw_list_del(&space->ready_node);
		sent = run_space(nic, space, mgrp_tx_quantum(nic, budget - done));
		done += sent;
		if (!mgrp_tx_may_send(space) || fw_list_linked(&space->ready_node))
			continue;
		/*
		 * Goes to the end of the queue; a space that could send nothing waits for the next
		 * turn.
		 */
		fw_list_add_tail(sent ? &nic->mgrp.ready : &again, &space->ready_node);
	}
	fw_list_splice_tail(&nic->mgrp.ready, &again);
	flush_statuses(nic);
	if (idle && done < budget && !fw_list_empty(&nic->goal.clients))
		done += step_runs(nic, budget - done);
	return done;
}

bool mgrp_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->mgrp.ready) || !fw_list_empty(&nic->mgrp.due);
}

/* ---- timers --------------------------------------------------------------------------------- */

/* Time to repeat the request for missing packets; UINT64_MAX: nothing requested is missing. */
static uint64_t request_due_ns(const struct mgrp_space *space)
{
	if (!space->known || space->parent == FW_NONE || space->parent_gone ||
	    !seq_lt(space->next, space->requested) || mgrp_slot(space, space->next)->block)
		return UINT64_MAX;
	return space->request_ns + mgrp_tx_rto_ns(&space->request_rtt, space->retries);
}

static uint64_t probe_due_ns(const struct mgrp_space *space, const struct mgrp_child *child)
{
	uint64_t wait_ns = mgrp_tx_rto_ns(&space->rtt, child->probes + child->answers);

	if (child->gone || !child->awaiting)
		return UINT64_MAX;
	if (!seq_lt(child->own, space->next))
		wait_ns =
		    SLOW_PROBE * wait_ns < MGRP_MAX_RTO_NS ? SLOW_PROBE * wait_ns : MGRP_MAX_RTO_NS;
	return child->from_ns + wait_ns;
}

/* Only moves the timer earlier; a wait that became longer is found when the timer fires. */
void mgrp_timer_update(struct fw_nic *nic, struct mgrp_space *space)
{
	uint64_t due_ns = request_due_ns(space);
	uint32_t i;

	for (i = 0; i < space->num_children; i++) {
		uint64_t ns = probe_due_ns(space, &space->child[i]);

		if (ns < due_ns)
			due_ns = ns;
	}
	if (due_ns == UINT64_MAX)
		return;
	if (!fw_timer_is_set(&space->timer) || due_ns < space->timer.deadline_ns)
		fw_timer_set(&nic->timers, &space->timer, due_ns);
}

void mgrp_timer_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct mgrp_space *space = FW_CONTAINER(timer, struct mgrp_space, timer);
	uint32_t i;

	if (request_due_ns(space) <= nic->now_ns) {
		if (space->retries < UINT8_MAX)
			space->retries++;
		space->requested = space->next;
		space->request_ns = nic->now_ns;
		mgrp_owe(nic, space, true);
	}
	for (i = 0; i < space->num_children; i++) {
		struct mgrp_child *child = &space->child[i];

		if (probe_due_ns(space, child) > nic->now_ns)
			continue;
		if (child->probes < UINT8_MAX)
			child->probes++;
		child->from_ns = nic->now_ns;
		(void)mgrp_tx_send_probe(nic, space, child);
	}
	mgrp_timer_update(nic, space);
}

/*
 * A child that made its communicator after packets were sent knows of none, and dropped them. Its
 * parent may use a long wait for it by now, so it is probed at once.
 */
void mgrp_link_opened(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank)
{
	struct fw_list *pos;
	uint32_t i;

	fw_list_for_each (pos, &comm->group.all) {
		struct mgrp_space *space = FW_CONTAINER(pos, struct mgrp_space, node);

		for (i = 0; i < space->num_children; i++) {
			struct mgrp_child *child = &space->child[i];

			if (child->rank != rank || !child->probes || child->gone ||
			    !child->awaiting)
				continue;
			child->probes = 1;
			child->answers = 0;
			child->from_ns = nic->now_ns;
			(void)mgrp_tx_send_probe(nic, space, child);
			mgrp_timer_update(nic, space);
		}
	}
}

void mgrp_ack_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	mgrp_owe(nic, FW_CONTAINER(timer, struct mgrp_space, ack_timer), true);
}
