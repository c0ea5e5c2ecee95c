/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Full pools: detects messages that wait for room which can never come.
 *
 * A message that finds no room in the pool stops its stream, or its root's multicasts, until a
 * receive takes something. That may take as long as a process or a peer is late, so no time limit
 * can decide. A look walks the operations that the runs in flight wait for. If all of them are
 * blocked by messages without room, here or at ranks that report so of themselves (goal_circle.c),
 * nothing can proceed any more, and the run of the oldest such message fails. The look calls
 * goal_run.c for that, and proceeds in steps, because a run may wait for very many operations.
 * docs/collectives.md "Full pools".
 */
#include "nic_fw/fw_nic.h"

enum {
	RESUMED_AT_ONCE = 16, /* streams, and spaces, of a communicator */
};

enum verdict {
	STALL_MAY_END, /* something here can still proceed, or a rank elsewhere can help */
	STALL_MORE,    /* the step is over, the look is not */
	STALL_STILL,   /* only messages of stall.ranks can help */
};

void goal_stall_moved(struct goal_comm *comm)
{
	comm->stall.changes++;
}

static bool goal_stall_waits(const struct goal_comm *comm)
{
	return !fw_list_empty(&comm->blocked) || !fw_list_empty(&comm->group.blocked) ||
	       comm->stall.self;
}

static void look_later(struct fw_nic *nic, struct goal_comm *comm)
{
	struct goal_stall *stall = &comm->stall;

	if (fw_timer_is_set(&stall->timer))
		return;
	stall->wait_ns = GOAL_STALL_NS;
	fw_timer_set(&nic->timers, &stall->timer, nic->now_ns + stall->wait_ns);
}

/* A communicator may have thousands of streams and spaces: the timer resumes the rest. */
static void resume_some(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t left = RESUMED_AT_ONCE;
	struct fw_list *pos;

	while (left && (pos = fw_list_pop(&comm->resuming))) {
		struct goal_link *link = FW_CONTAINER(pos, struct goal_link, blocked_node);

		left--;
		if (link->stream)
			esp_resume(nic, link->stream);
	}
	mgrp_resume(nic, comm, left);
	if (!fw_list_empty(&comm->resuming) || !fw_list_empty(&comm->group.resuming))
		fw_timer_set(&nic->timers, &comm->resume_timer, nic->now_ns + FW_SOON_NS);
}

void goal_stall_resume_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_comm *comm = FW_CONTAINER(timer, struct goal_comm, resume_timer);

	goal_stall_moved(comm);
	resume_some(nic, comm);
}

void goal_stall_comm_init(struct goal_comm *comm)
{
	fw_list_init(&comm->blocked);
	fw_list_init(&comm->resuming);
	fw_timer_init(&comm->resume_timer, FW_TIMER_GOAL_RESUME);
}

void goal_stall_unblock_group(struct fw_nic *nic, struct goal_comm *comm)
{
	fw_list_splice_tail(&comm->group.resuming, &comm->group.blocked);
	resume_some(nic, comm);
}

void goal_comm_unblock(struct fw_nic *nic, struct goal_comm *comm)
{
	goal_stall_moved(comm);
	fw_list_splice_tail(&comm->resuming, &comm->blocked);
	goal_stall_unblock_group(nic, comm);
	/* Messages to the rank itself have no peer that repeats them. */
	if (comm->stall.self)
		fw_timer_set(&nic->timers, &comm->stall.timer, nic->now_ns + FW_SOON_NS);
	else
		fw_timer_cancel(&nic->timers, &comm->stall.timer);
}

void goal_stall_link(struct fw_nic *nic, struct goal_link *link, uint32_t instance)
{
	struct goal_comm *comm = &nic->goal.comms[link->comm];

	FW_COUNT(nic, goal_pool_full);
	goal_stall_moved(comm);
	link->blocked_instance = instance;
	if (!fw_list_linked(&link->blocked_node))
		fw_list_add_tail(&comm->blocked, &link->blocked_node);
	look_later(nic, comm);
}

void goal_stall_group(struct fw_nic *nic, struct goal_comm *comm, uint32_t root, uint32_t instance)
{
	FW_COUNT(nic, goal_pool_full);
	goal_stall_moved(comm);
	mgrp_space_find(nic, comm, root)->blocked_instance = instance;
	look_later(nic, comm);
}

void goal_stall_self(struct fw_nic *nic, struct goal_comm *comm)
{
	FW_COUNT(nic, goal_pool_full);
	goal_stall_moved(comm);
	comm->stall.self = true;
	look_later(nic, comm);
}

/* ---- a look --------------------------------------------------------------------------------- */

/* True if the run has work of its own left, whose effects are unknown. */
static bool is_busy(const struct goal_run *run)
{
	return run->num_ready || run->num_finished || run->num_locals || run->fault != HW_GOAL_OK ||
	       !fw_list_empty(&run->staging) || !fw_list_empty(&run->bulk) ||
	       !fw_list_empty(&run->calcs);
}

/* True if its end lets another operation begin. */
static bool has_dependents(const struct goal_run *run, uint32_t op)
{
	return run->schedule->ops[op].num_edges;
}

static void add_victim(struct goal_stall *stall, uint32_t instance)
{
	if (!stall->has_victim || (int32_t)(instance - stall->victim) < 0)
		stall->victim = instance;
	stall->has_victim = true;
}

static bool is_behind(const struct goal_link *link)
{
	return link && fw_list_linked(&link->blocked_node);
}

/* Only that rank can help. True: it cannot be queried, and may help. */
static bool may_help(struct goal_comm *comm, uint32_t rank)
{
	if (comm->num_ranks > GOAL_CIRCLE_RANKS)
		return true;
	comm->stall.ranks |= UINT64_C(1) << rank;
	return false;
}

/* A send under way. True: its end does not depend on room here. */
static bool send_may_end(struct fw_nic *nic, struct goal_stall *stall, struct goal_send *send)
{
	struct goal_run *run = send->run;

	if (send->kind == GOAL_SEND_SELF) {
		/* On its way into the pool. */
		if (send->unexp)
			return true;
		if (send->bytes > run->comm->eager_bytes)
			return false;
		if (!send->awaited && goal_self_keep(nic, send))
			return true;
		stall->self_seen = true;
		add_victim(stall, run->instance);
		return false;
	}
	if (!has_dependents(run, send->op))
		return false;
	if (!send->link)
		return true;
	if (send->kind == GOAL_SEND_WAITING && is_behind(send->link))
		return false;
	return may_help(run->comm, send->link->rank);
}

/* Adds all ranks whose streams are open, because a message may come from them. */
static bool any_may_come(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t rank;

	if (comm->num_ranks > GOAL_CIRCLE_RANKS)
		return true;
	for (rank = 0; rank < comm->num_ranks; rank++)
		if (rank != comm->rank && !is_behind(goal_link_at(nic, comm, rank)))
			(void)may_help(comm, rank);
	return false;
}

/* A receive that was started. True: its message may come. */
static bool recv_may_end(struct fw_nic *nic, const struct goal_recv *recv)
{
	struct goal_comm *comm = recv->run->comm;
	const struct mgrp_space *space;

	if (!has_dependents(recv->run, recv->op))
		return false;
	if (recv->key.group) {
		space = mgrp_space_find(nic, comm, recv->run->schedule->ops[recv->op].peer);
		return !space || !fw_list_linked(&space->blocked_node);
	}
	if (recv->any)
		return any_may_come(nic, comm);
	return recv->link && !is_behind(recv->link) && may_help(comm, recv->link->rank);
}

/*
 * A run (instance) whose message finds no room. True: the run has ended or is still to be started.
 */
static bool head_may_go(struct fw_nic *nic, struct goal_comm *comm, uint32_t instance)
{
	if (!goal_run_find(nic, comm, instance))
		return true;
	add_victim(&comm->stall, instance);
	return false;
}

/*
 * True: messages of this rank on a stream may be in flight. A stream that the peer holds has met a
 * full pool; only the peer can determine whether that ends.
 */
static bool stream_may_move(struct goal_comm *comm, const struct goal_link *link)
{
	if (!link->stream || esp_is_idle(link->stream))
		return false;
	if (!esp_is_held(link->stream))
		return true;
	comm->stall.held |= UINT64_C(1) << link->rank;
	return may_help(comm, link->rank);
}

/* Returns the list that a phase walks. */
static struct fw_list *goal_stall_list_of(struct goal_comm *comm)
{
	struct goal_stall *stall = &comm->stall;
	struct goal_run *run =
	    stall->run ? FW_CONTAINER(stall->run, struct goal_run, comm_node) : NULL;

	switch (stall->phase) {
	case GOAL_STALL_RUNS:
		return &comm->runs;
	case GOAL_STALL_SENDS:
		return &run->sends;
	case GOAL_STALL_RECVS:
		return &run->recvs;
	case GOAL_STALL_UNEXPS:
		return &comm->unexps;
	case GOAL_STALL_LINKS:
		return &comm->blocked;
	case GOAL_STALL_SPACES:
		return &comm->group.blocked;
	case GOAL_STALL_STREAMS:
		return &comm->all_links;
	case GOAL_STALL_PHASES:
		break;
	}
	return NULL;
}

/* Checks one item of the phase's list. True: it may proceed on its own. */
static bool item_may_move(struct fw_nic *nic, struct goal_comm *comm, struct fw_list *at)
{
	struct goal_stall *stall = &comm->stall;

	switch (stall->phase) {
	case GOAL_STALL_RUNS:
		return is_busy(FW_CONTAINER(at, struct goal_run, comm_node));
	case GOAL_STALL_SENDS:
		return send_may_end(nic, stall, FW_CONTAINER(at, struct goal_send, run_node));
	case GOAL_STALL_RECVS:
		return recv_may_end(nic, FW_CONTAINER(at, struct goal_recv, run_node));
	case GOAL_STALL_UNEXPS:
		/* The process may start its run, and make room. */
		return goal_stall_waits(comm) &&
		       (int32_t)(FW_CONTAINER(at, struct goal_unexp, comm_node)->key.instance -
				 comm->next_instance) >= 0;
	case GOAL_STALL_LINKS:
		return head_may_go(
		    nic, comm, FW_CONTAINER(at, struct goal_link, blocked_node)->blocked_instance);
	case GOAL_STALL_SPACES:
		return head_may_go(
		    nic, comm, FW_CONTAINER(at, struct mgrp_space, blocked_node)->blocked_instance);
	case GOAL_STALL_STREAMS:
		return stream_may_move(comm, FW_CONTAINER(at, struct goal_link, node));
	case GOAL_STALL_PHASES:
		break;
	}
	return true;
}

/*
 * The phase's list is at its end: sends and receives of a run follow it, then comes the next run.
 */
static void goal_stall_next_phase(struct goal_stall *stall)
{
	stall->at = NULL;
	if (stall->phase == GOAL_STALL_RECVS) {
		stall->phase = GOAL_STALL_RUNS;
		stall->at = stall->run;
	} else if (stall->phase == GOAL_STALL_RUNS) {
		stall->phase = GOAL_STALL_UNEXPS;
	} else {
		stall->phase++;
	}
}

/* Looks through all phases before end. */
static enum verdict goal_stall_look(struct fw_nic *nic, struct goal_comm *comm,
				    enum goal_stall_phase end)
{
	struct goal_stall *stall = &comm->stall;
	uint32_t items;

	/* A page will come, or its access fails; some are about to be tried again. */
	if (goal_slow_waits(comm) || !fw_list_empty(&comm->resuming) ||
	    !fw_list_empty(&comm->group.resuming))
		return STALL_MAY_END;

	if (stall->seen != stall->changes) {
		stall->seen = stall->changes;
		stall->phase = GOAL_STALL_RUNS;
		stall->run = stall->at = NULL;
		stall->has_victim = stall->self_seen = false;
		stall->ranks = stall->held = 0;
	}
	for (items = 0; stall->phase < end; items++) {
		struct fw_list *list = goal_stall_list_of(comm);
		struct fw_list *at;

		assert(list);
		at = stall->at ? stall->at->next : list->next;
		if (items == GOAL_STALL_ITEMS)
			return STALL_MORE;
		if (at == list) {
			goal_stall_next_phase(stall);
			continue;
		}
		if (item_may_move(nic, comm, at))
			return STALL_MAY_END;
		stall->at = at;
		if (stall->phase == GOAL_STALL_RUNS) {
			stall->run = at;
			stall->at = NULL;
			stall->phase = GOAL_STALL_SENDS;
		}
	}
	stall->self = stall->self_seen;
	return STALL_STILL;
}

bool goal_stall_is_still(struct fw_nic *nic, struct goal_comm *comm, struct mgrp_note *note)
{
	const struct fw_list *pos;
	bool still;

	comm->stall.seen = UINT64_MAX;
	/* Multicasts of this rank in flight may still let other ranks proceed. */
	still = !fw_list_empty(&comm->runs) && mgrp_drained(comm) && !goal_slow_waits(comm) &&
		goal_stall_look(nic, comm, GOAL_STALL_PHASES) == STALL_STILL;
	/* This rank's own look begins anew. */
	comm->stall.seen = UINT64_MAX;
	note->changes = (uint32_t)comm->stall.changes;
	note->ranks = comm->stall.ranks;
	note->held = comm->stall.held;
	note->stops = 0;
	if (still)
		fw_list_for_each (pos, &comm->blocked)
			note->stops |= UINT64_C(1)
				       << FW_CONTAINER(pos, struct goal_link, blocked_node)->rank;
	return still;
}

/* Makes room for a large multicast if there is some; otherwise fails a run. */
void goal_stall_break(struct fw_nic *nic, struct goal_comm *comm)
{
	struct goal_stall *stall = &comm->stall;

	if (!goal_run_find(nic, comm, stall->victim))
		return;
	if (!stall->keep_large && !fw_list_empty(&comm->group.blocked)) {
		stall->keep_large = true;
	} else {
		FW_COUNT(nic, goal_pool_circles);
		stall->keep_large = false;
		goal_run_fail(nic, goal_run_find(nic, comm, stall->victim), HW_GOAL_UNEXPECTED,
			      comm->rank, FW_NONE);
	}
	goal_comm_unblock(nic, comm);
}

void goal_stall_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_comm *comm = FW_CONTAINER(timer, struct goal_comm, stall.timer);
	struct goal_stall *stall = &comm->stall;

	if (!goal_stall_waits(comm))
		return;
	switch (goal_stall_look(nic, comm, GOAL_STALL_STREAMS)) {
	case STALL_MORE:
		fw_timer_set(&nic->timers, timer, nic->now_ns + FW_SOON_NS);
		return;
	case STALL_STILL:
		stall->seen = UINT64_MAX;
		if (stall->has_victim && !stall->ranks) {
			goal_stall_break(nic, comm);
			return;
		}
		if (stall->has_victim)
			goal_circle_ask(nic, comm);
		break;
	case STALL_MAY_END:
		break;
	}
	stall->seen = UINT64_MAX;
	stall->wait_ns *= 2;
	if (stall->wait_ns > GOAL_STALL_MAX_NS)
		stall->wait_ns = GOAL_STALL_MAX_NS;
	/* Random delays keep stalled ranks from asking at the same time. */
	fw_timer_set(&nic->timers, timer,
		     nic->now_ns + stall->wait_ns +
			 comm->rank % GOAL_CIRCLE_RANKS * GOAL_CIRCLE_GAP_NS);
}

void goal_stall_init(struct goal_stall *stall)
{
	fw_timer_init(&stall->timer, FW_TIMER_GOAL_STALL);
	stall->seen = UINT64_MAX;
	stall->wait_ns = GOAL_STALL_NS;
}
