/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: their ranks, the streams to them, and the pool of unexpected messages.
 *
 * Calls esp.h, goal_msg.c and goal_ending.c. Either end opens a stream when it first needs it. A
 * rank whose stream has ended is lost to the communicator for good. docs/collectives.md "Failure".
 */
#include "nic_fw/fw_nic.h"

#include "nic_fw/coll/goal_user.h"

struct goal_comm *goal_comm_find(struct fw_nic *nic, uint64_t key, uint64_t key2, uint32_t rank)
{
	struct goal_comm *comm;

	for (comm = mgrp_first_member(nic, key, key2); comm; comm = mgrp_next_member(nic, comm))
		if (comm->rank == rank)
			return comm;
	return NULL;
}

/* ---- links ---------------------------------------------------------------------------------- */

static struct goal_link *link_new(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank)
{
	struct goal_link *link = goal_take(nic, comm->client, GOAL_TABLE_LINKS);

	if (!link)
		return NULL;
	memset(link, 0, sizeof(*link));
	link->comm = (uint32_t)(comm - nic->goal.comms);
	link->client = comm->client;
	link->rank = rank;
	fw_list_init(&link->sends);
	fw_list_init(&link->recvs);
	fw_list_init(&link->lost_sends);
	fw_list_init(&link->lost_recvs);
	fw_list_init(&link->lost_node);
	fw_list_init(&link->blocked_node);
	fw_list_init(&link->slow_node);
	fw_list_add_tail(&comm->all_links, &link->node);
	comm->links[rank] = fw_pool_index(&nic->goal.links, link);
	return link;
}

void goal_link_free(struct fw_nic *nic, struct goal_link *link)
{
	assert(fw_list_empty(&link->sends) && fw_list_empty(&link->recvs));
	assert(fw_list_empty(&link->lost_sends) && fw_list_empty(&link->lost_recvs));
	fw_list_del(&link->lost_node);
	fw_list_del(&link->blocked_node);
	fw_list_del(&link->slow_node);
	fw_list_del(&link->node);
	goal_give(nic, link->client, GOAL_TABLE_LINKS, link);
}

struct goal_link *goal_link_at(struct fw_nic *nic, const struct goal_comm *comm, uint32_t rank)
{
	return comm->links[rank] == FW_NONE ? NULL
					    : fw_pool_at(&nic->goal.links, comm->links[rank]);
}

struct goal_link *goal_link_get(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank)
{
	struct goal_link *link = goal_link_at(nic, comm, rank);
	struct esp_key key = {WIRE_ESP_GOAL, comm->rank, rank, comm->key, comm->key2};

	if (link)
		return link->stream ? link : NULL;
	link = link_new(nic, comm, rank);
	if (!link)
		return NULL;
	link->stream =
	    esp_open(nic, comm->client, &key, comm->peers[rank].mac, comm->peers[rank].shard, link);
	if (link->stream)
		return link;
	comm->links[rank] = FW_NONE;
	goal_link_free(nic, link);
	return NULL;
}

bool goal_link_lost(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank, uint32_t instance)
{
	const struct goal_link *link = goal_link_at(nic, comm, rank);

	if (link && link->left)
		return goal_lost_left_before(link, instance);
	return link ? !link->stream && link->lost : !goal_link_get(nic, comm, rank);
}

struct goal_link *goal_link_accept(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank,
				   struct esp_stream *stream)
{
	struct goal_link *link;

	/* A rank has one stream in its life: a lost one does not come back under the same key. */
	if (rank >= comm->num_ranks || rank == comm->rank || comm->links[rank] != FW_NONE)
		return NULL;
	link = link_new(nic, comm, rank);
	if (link && !esp_own(nic, stream, comm->client)) {
		comm->links[rank] = FW_NONE;
		goal_link_free(nic, link);
		return NULL;
	}
	if (link)
		link->stream = stream;
	return link;
}

void goal_link_await(struct fw_nic *nic, struct goal_link *link, bool on)
{
	if (on) {
		if (!link->awaiting++ && link->stream)
			esp_watch(nic, link->stream);
		return;
	}
	assert(link->awaiting);
	if (!--link->awaiting && link->stream)
		esp_unwatch(nic, link->stream);
}

void goal_link_left(struct fw_nic *nic, struct goal_link *link, uint32_t instance)
{
	struct goal_comm *comm = &nic->goal.comms[link->comm];

	link->left = true;
	link->left_at = instance;
	/* Earlier runs still get their messages from it: its stream stays open for them. */
	goal_lost_begin(nic, comm, link, false, true, HW_GOAL_PEER_LOST);
}

void goal_msg_opened(struct fw_nic *nic, void *ctx)
{
	const struct goal_link *link = ctx;

	if (link->comm != FW_NONE)
		mgrp_link_opened(nic, &nic->goal.comms[link->comm], link->rank);
}

void goal_msg_ended(struct fw_nic *nic, void *ctx, enum esp_end why)
{
	struct goal_link *link = ctx;
	enum hw_goal_status status =
	    why == ESP_END_UNREACHABLE ? HW_GOAL_UNREACHABLE : HW_GOAL_PEER_LOST;
	struct goal_comm *comm;

	link->stream = NULL;
	link->lost = why != ESP_END_CLOSED || link->left;
	if (link->comm == FW_NONE) {
		goal_lost_free(nic, link);
		return;
	}
	comm = &nic->goal.comms[link->comm];
	goal_stall_moved(comm);
	fw_list_del(&link->blocked_node);
	FW_COUNT(nic, goal_peers_lost);
	mgrp_link_over(nic, comm, link->rank);
	if (comm->closing)
		goal_comm_try_end(nic, comm);
	goal_lost_begin(nic, comm, link, why == ESP_END_CLOSED, false, status);
}

/* ---- receives from any rank ----------------------------------------------------------------- */

/*
 * Opens a rank's stream if it has none, and watches it. A lost rank may be the one that a receive
 * waits for. Without a free stream the rank is not watched.
 */
static void watch_rank(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank)
{
	struct goal_link *link = rank == comm->rank ? NULL : goal_link_get(nic, comm, rank);

	if (link) {
		comm->any_watched += !link->any_watched;
		if (!link->any_watched)
			goal_link_await(nic, link, true);
		link->any_watched = true;
		return;
	}
	link = rank == comm->rank ? NULL : goal_link_at(nic, comm, rank);
	if (link && link->lost)
		goal_lost_begin(nic, comm, link, false, false, HW_GOAL_PEER_LOST);
}

static void unwatch_rank(struct fw_nic *nic, struct goal_comm *comm, uint32_t rank)
{
	struct goal_link *link = goal_link_at(nic, comm, rank);

	if (!link || !link->any_watched)
		return;
	link->any_watched = false;
	comm->any_watched--;
	goal_link_await(nic, link, false);
}

/* Checks some ranks in each step, in rotation, so that a large communicator delays no other. */
void goal_comm_any_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct goal_comm *comm = FW_CONTAINER(timer, struct goal_comm, any_timer);
	uint32_t i;

	for (i = 0; i < GOAL_ANY_RANKS && i < comm->num_ranks; i++) {
		if (comm->any_recvs)
			watch_rank(nic, comm, comm->any_rank);
		else
			unwatch_rank(nic, comm, comm->any_rank);
		comm->any_rank = comm->any_rank + 1 < comm->num_ranks ? comm->any_rank + 1 : 0;
	}
	if (comm->any_recvs || comm->any_watched)
		fw_timer_set(&nic->timers, timer, nic->now_ns + GOAL_ANY_NS);
}

void goal_comm_await_any(struct fw_nic *nic, struct goal_comm *comm, bool on)
{
	comm->any_recvs += on ? 1 : UINT32_MAX;
	/* Most such receives finish before the first step. */
	if (on && !fw_timer_is_set(&comm->any_timer))
		fw_timer_set(&nic->timers, &comm->any_timer, nic->now_ns + GOAL_ANY_NS);
}

/* ---- the pool ------------------------------------------------------------------------------- */

bool goal_pool_alloc(struct goal_comm *comm, uint64_t bytes, uint32_t *region, uint64_t *offset)
{
	uint32_t i;

	for (i = 0; i < comm->num_regions; i++) {
		*offset = buddy_alloc(&comm->regions[i].buddy, bytes);
		if (*offset == BUDDY_NONE)
			continue;
		*region = i;
		return true;
	}
	return false;
}

void goal_pool_free(struct goal_comm *comm, uint32_t region, uint64_t offset)
{
	(void)buddy_free(&comm->regions[region].buddy, offset);
}

/* ---- aborts of runs that are still to come -------------------------------------------------- */

static uint32_t farthest_abort(const struct goal_comm *comm)
{
	uint32_t i, far = 0;

	for (i = 1; i < comm->num_aborts; i++)
		if (comm->aborts[i].instance - comm->next_instance >
		    comm->aborts[far].instance - comm->next_instance)
			far = i;
	return far;
}

void goal_comm_note_abort(struct goal_comm *comm, uint32_t instance, enum hw_goal_status status,
			  uint32_t rank, struct goal_lengths lengths)
{
	uint32_t i;

	for (i = 0; i < comm->num_aborts; i++)
		if (comm->aborts[i].instance == instance)
			return;
	i = comm->num_aborts;
	if (i == GOAL_MAX_ABORTS) {
		/*
		 * The abort of the farthest run gives way. A peer that aborts very distant runs is
		 * ignored.
		 */
		i = farthest_abort(comm);
		if (instance - comm->next_instance >=
		    comm->aborts[i].instance - comm->next_instance)
			return;
	} else {
		comm->num_aborts++;
	}
	comm->aborts[i] = (struct goal_abort){instance, status, rank, lengths};
}

bool goal_comm_take_abort(struct goal_comm *comm, uint32_t instance, struct goal_abort *abort)
{
	uint32_t i;

	for (i = 0; i < comm->num_aborts; i++) {
		if (comm->aborts[i].instance != instance)
			continue;
		*abort = comm->aborts[i];
		comm->aborts[i] = comm->aborts[--comm->num_aborts];
		return true;
	}
	return false;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

void goal_comm_end_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	goal_comm_destroy(nic, FW_CONTAINER(timer, struct goal_comm, end_timer), false);
}

void goal_comm_try_end(struct fw_nic *nic, struct goal_comm *comm)
{
	/* The end is delayed, because callers still use its spaces. */
	if (mgrp_drained(comm) && comm->end_timer.deadline_ns > nic->now_ns)
		fw_timer_set(&nic->timers, &comm->end_timer, nic->now_ns);
}

void goal_comm_init(struct goal_comm *comm)
{
	memset(comm, 0, sizeof(*comm));
	fw_list_init(&comm->all_links);
	fw_list_init(&comm->schedules);
	fw_list_init(&comm->runs);
	fw_list_init(&comm->lost);
	fw_list_init(&comm->lost_node);
	fw_list_init(&comm->endings);
	fw_list_init(&comm->ending_node);
	fw_list_init(&comm->sweep_node);
	fw_list_init(&comm->unexps);
	fw_list_init(&comm->announced);
	goal_stall_comm_init(comm);
	fw_list_init(&comm->node);
	goal_stall_init(&comm->stall);
	fw_timer_init(&comm->any_timer, FW_TIMER_GOAL_COMM_ANY);
	goal_slow_comm_init(comm);
	fw_timer_init(&comm->end_timer, FW_TIMER_GOAL_COMM_END);
}

static void release_link(struct fw_nic *nic, struct goal_link *link)
{
	fw_list_del(&link->blocked_node);
	fw_list_del(&link->slow_node);
	if (link->any_watched)
		goal_link_await(nic, link, false);
	if (!link->stream) {
		goal_link_free(nic, link);
	} else {
		link->comm = FW_NONE;
		if (link->client == FW_CLIENT_ORPHANS)
			goal_orphan_link(nic, link);
		else
			fw_list_add_tail(&nic->host.clients[link->client].goal_links, &link->node);
		esp_close(nic, link->stream);
	}
}

/* Ends its stream if it must not drain, and frees what is left of an ended one's messages. */
static bool empty_link(struct fw_nic *nic, struct goal_comm *comm, struct goal_link *link,
		       bool at_once)
{
	goal_lost_cancel(comm, link);
	if (at_once && link->stream) {
		esp_abort(nic, link->stream);
		link->stream = NULL;
	}
	return link->stream || goal_lost_drain(nic, link);
}

/*
 * The links outlive the communicator while their streams drain, unless at_once. False: units ran
 * out.
 */
static bool release_links(struct fw_nic *nic, struct goal_comm *comm, bool at_once)
{
	while (!fw_list_empty(&comm->all_links)) {
		struct goal_link *link = FW_CONTAINER(comm->all_links.next, struct goal_link, node);

		/*
		 * The link's own units come last: taken before those of its messages, they would
		 * leave these none.
		 */
		if (!empty_link(nic, comm, link, at_once) || !slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		fw_list_del(&link->node);
		release_link(nic, link);
	}
	return true;
}

/* Ends a run with its pending and active operations, of which a schedule may have very many. */
static bool drop_runs(struct fw_nic *nic, struct goal_comm *comm, bool left)
{
	/* Failed runs come first: their ranks receive the reason. */
	if (!goal_ending_step(nic, comm))
		return false;
	while (!fw_list_empty(&comm->runs)) {
		struct goal_run *run = FW_CONTAINER(comm->runs.next, struct goal_run, comm_node);

		if (left && !goal_run_left(nic, run))
			return false;
		if (!slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		if (!goal_run_trim(nic, run))
			return false;
		goal_run_drop(nic, run);
	}
	return true;
}

bool goal_comm_empty(struct fw_nic *nic, struct goal_comm *comm, bool left)
{
	while (!fw_list_empty(&comm->unexps)) {
		if (!slice_take(nic, 1))
			return false;
		goal_unexp_free(nic, FW_CONTAINER(comm->unexps.next, struct goal_unexp, comm_node));
	}
	while (!fw_list_empty(&comm->announced)) {
		if (!slice_take(nic, 1))
			return false;
		goal_send_free(nic, FW_CONTAINER(comm->announced.next, struct goal_send, run_node));
	}
	if (!drop_runs(nic, comm, left))
		return false;
	while (!fw_list_empty(&comm->schedules)) {
		if (!slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		goal_schedule_destroy(
		    nic, FW_CONTAINER(comm->schedules.next, struct goal_schedule, node));
	}
	return true;
}

/* Frees the process's part; ranks that need repairs are still served. */
static void shut(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t i;

	assert(fw_list_empty(&comm->runs) && fw_list_empty(&comm->schedules));
	for (i = 0; i < comm->num_regions; i++)
		goal_heap_free(nic, comm->client, comm->regions[i].buddy.blocks);
	comm->num_regions = 0;
	goal_op_end(nic, comm);
	nic->host.pds[comm->pd].refs--;
	/* Streams that wait for room must not wait any longer. */
	goal_comm_unblock(nic, comm);
}

/*
 * Runs twice if a member below it in a tree lacks packets: first for its process, and as a whole
 * when the members have them, or after MGRP_DRAIN_NS.
 */
void goal_comm_destroy(struct fw_nic *nic, struct goal_comm *comm, bool at_once)
{
	uint32_t client = comm->client;
	bool again = comm->closing;

	comm->closing = true;
	if (!again)
		shut(nic, comm);
	if (!again && !at_once && !mgrp_drained(comm)) {
		fw_timer_set(&nic->timers, &comm->end_timer, nic->now_ns + MGRP_DRAIN_NS);
		return;
	}
	if (!comm->ungrouped)
		comm->ungrouped = mgrp_leave(nic, comm);
	if (!comm->ungrouped || !release_links(nic, comm, at_once)) {
		fw_timer_set(&nic->timers, &comm->end_timer, nic->now_ns + FW_SOON_NS);
		return;
	}
	fw_timer_cancel(&nic->timers, &comm->end_timer);
	fw_timer_cancel(&nic->timers, &comm->stall.timer);
	fw_timer_cancel(&nic->timers, &comm->any_timer);
	fw_timer_cancel(&nic->timers, &comm->slow_timer);
	fw_timer_cancel(&nic->timers, &comm->resume_timer);
	goal_heap_free(nic, client, comm->peers);
	goal_heap_free(nic, client, comm->links);
	fw_list_del(&comm->node);
	fw_list_del(&comm->lost_node);
	fw_list_del(&comm->sweep_node);
	comm->used = false;
	share_give(nic, client, HW_SHARE_COMM, 1);
	fw_ids_put(&nic->goal.comm_ids, (uint32_t)(comm - nic->goal.comms));
}

/* Notifies each link once; notified links move to the end of the list. */
static bool tell_left(struct fw_nic *nic, struct goal_comm *comm)
{
	while (!fw_list_empty(&comm->all_links)) {
		struct goal_link *link = FW_CONTAINER(comm->all_links.next, struct goal_link, node);

		if (link->told_left)
			break;
		if (!slice_take(nic, FW_SLICE_GOAL_UNITS))
			return false;
		fw_list_del(&link->node);
		fw_list_add_tail(&comm->all_links, &link->node);
		link->told_left = true;
		if (link->stream && !goal_msg_left(nic, link, comm->next_instance))
			FW_COUNT(nic, goal_aborts_lost);
	}
	return true;
}

bool goal_comm_leave(struct fw_nic *nic, struct goal_comm *comm)
{
	if (comm->left || (comm->closing && !comm->leaving))
		return true;
	if (!comm->leaving && !goal_comm_empty(nic, comm, true))
		return false;
	if (!comm->leaving)
		shut(nic, comm);
	/* No new links and messages from here on. */
	comm->leaving = true;
	comm->closing = true;
	comm->left = tell_left(nic, comm);
	return comm->left;
}

bool goal_client_leave(struct fw_nic *nic, uint32_t client)
{
	struct fw_client *owner = &nic->host.clients[client];
	uint32_t table;

	goal_load_forget_client(nic, client);
	goal_list_forget(nic, client, true);
	if (!goal_orphan_take(nic, owner))
		return false;
	goal_heap_free(nic, client, owner->goal_active);
	goal_heap_free(nic, client, owner->goal_endings);
	owner->goal_active = NULL;
	owner->goal_endings = NULL;
	if (owner->goal_eq != HW_EQ_NONE)
		eq_own(nic, client, owner->goal_eq)->refs--;
	owner->goal_eq = HW_EQ_NONE;
	assert(!owner->goal_bytes);
	for (table = 0; table < GOAL_TABLES; table++)
		assert(!owner->goal_held[table]);
	return true;
}
