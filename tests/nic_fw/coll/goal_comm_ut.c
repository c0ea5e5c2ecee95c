/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_comm.c: links and their ends, receives of any rank, the pool, aborts of runs to
 * come, and the end of a communicator or of its process.
 */
#include "tests/nic_fw/coll/goal_rank_fix.h"

static void links(void)
{
	struct goal_link *link;

	begin();
	CU_ASSERT_PTR_EQUAL(goal_comm_find(ut.nic, 1, 2, RANK), comm);
	CU_ASSERT_PTR_NULL(goal_comm_find(ut.nic, 1, 2, RANK + 1));
	CU_ASSERT_PTR_NULL(goal_comm_find(ut.nic, 2, 2, RANK));
	CU_ASSERT_PTR_NULL(goal_link_at(ut.nic, comm, 3));
	link = goal_link_get(ut.nic, comm, 3);
	CU_ASSERT_PTR_NOT_NULL_FATAL(link);
	CU_ASSERT_PTR_EQUAL(goal_link_get(ut.nic, comm, 3), link);
	CU_ASSERT_PTR_EQUAL(goal_link_at(ut.nic, comm, 3), link);
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 1);
	CU_ASSERT_EQUAL(link->rank, 3);
	CU_ASSERT_EQUAL(link->client, client);
	CU_ASSERT_EQUAL(link->comm, comm - ut.nic->goal.comms);
	CU_ASSERT_PTR_EQUAL_FATAL(link->stream->ctx, link);
	CU_ASSERT_EQUAL(link->stream->key.service, WIRE_ESP_GOAL);
	CU_ASSERT_EQUAL(link->stream->key.local, RANK);
	CU_ASSERT_EQUAL(link->stream->key.remote, 3);
	CU_ASSERT_EQUAL(link->stream->key.key, 1);
	CU_ASSERT_EQUAL(link->stream->key.key2, 2);
	CU_ASSERT(memcmp(link->stream->peer_mac, memory.peers[3].mac, 6) == 0);
	/* No stream is taken where there is one, nor from this rank, nor from one that is none. */
	CU_ASSERT_PTR_NULL(goal_link_accept(ut.nic, comm, 3, link->stream));
	CU_ASSERT_PTR_NULL(goal_link_accept(ut.nic, comm, RANK, link->stream));
	CU_ASSERT_PTR_NULL(goal_link_accept(ut.nic, comm, RANKS, link->stream));
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 1);
	/* Any number of awaits is one watch of the stream. */
	goal_link_await(ut.nic, link, true);
	goal_link_await(ut.nic, link, true);
	CU_ASSERT_EQUAL(link->stream->watchers, 1);
	goal_link_await(ut.nic, link, false);
	CU_ASSERT_EQUAL(link->stream->watchers, 1);
	goal_link_await(ut.nic, link, false);
	CU_ASSERT_EQUAL(link->stream->watchers, 0);
	end();
}

/* A stream that a rank has opened becomes its link, charged to the process, if that may have it. */
static void accepted_streams(void)
{
	static struct esp_stream stream;
	struct fw_client *owner;
	struct goal_link *link;
	uint64_t *limit, *held;

	begin();
	memset(&stream, 0, sizeof(stream));
	owner = &ut.nic->host.clients[client];
	limit = &owner->share->process->limit[HW_SHARE_STREAM];
	held = &owner->share->process->held[HW_SHARE_STREAM];
	*limit = 0;
	CU_ASSERT_PTR_NULL(goal_link_accept(ut.nic, comm, 7, &stream));
	CU_ASSERT_EQUAL(comm->links[7], FW_NONE);
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.esp_share_refused, 1);
	*limit = 1;
	link = goal_link_accept(ut.nic, comm, 7, &stream);
	CU_ASSERT_PTR_NOT_NULL_FATAL(link);
	CU_ASSERT_PTR_EQUAL(link->stream, &stream);
	CU_ASSERT_EQUAL(link->rank, 7);
	CU_ASSERT_PTR_EQUAL(goal_link_get(ut.nic, comm, 7), link);
	CU_ASSERT_EQUAL(*held, 1);
	CU_ASSERT_PTR_NULL(goal_link_accept(ut.nic, comm, 7, &stream));
	share_disown(ut.nic, HW_SHARE_STREAM, &stream.share);
	CU_ASSERT_EQUAL(*held, 0);
	link->stream = NULL;
	end();
}

/* A stream without a share of its owner's leaves no link. */
static void streams_without_a_share(void)
{
	struct fw_client *owner;
	uint64_t *limit, was;

	begin();
	owner = &ut.nic->host.clients[client];
	limit = &owner->share->process->limit[HW_SHARE_STREAM];
	was = *limit;
	*limit = owner->share->process->held[HW_SHARE_STREAM];
	CU_ASSERT_PTR_NULL(goal_link_get(ut.nic, comm, 3));
	CU_ASSERT_EQUAL(comm->links[3], FW_NONE);
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 0);
	CU_ASSERT_EQUAL(owner->goal_held[GOAL_TABLE_LINKS], 0);
	*limit = was;
	CU_ASSERT_PTR_NOT_NULL(goal_link_get(ut.nic, comm, 3));
	end();
}

/* A rank whose stream has ended is lost for good, unless it closed. */
static void ended_streams(void)
{
	struct goal_link *link;
	uint64_t changes;

	begin();
	link = link_to(3);
	link->blocked_instance = 0;
	fw_list_add_tail(&comm->blocked, &link->blocked_node);
	changes = comm->stall.changes;
	(void)lose(3, ESP_END_LOST);
	CU_ASSERT_EQUAL(comm->stall.changes, changes + 1);
	CU_ASSERT_PTR_NULL(link->stream);
	CU_ASSERT_TRUE(link->lost);
	CU_ASSERT_FALSE(fw_list_linked(&link->blocked_node));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_peers_lost, 1);
	CU_ASSERT_PTR_NULL(goal_link_get(ut.nic, comm, 3));
	CU_ASSERT_TRUE(goal_link_lost(ut.nic, comm, 3, 0));
	(void)link_to(4);
	link = lose(4, ESP_END_CLOSED);
	CU_ASSERT_FALSE(link->lost);
	CU_ASSERT_PTR_NULL(goal_link_get(ut.nic, comm, 4));
	CU_ASSERT_FALSE(goal_link_lost(ut.nic, comm, 4, 0));
	CU_ASSERT_EQUAL(ut.nic->counters.goal_peers_lost, 2);
	/* A rank that left is lost from that run on, however its stream ends. */
	goal_link_left(ut.nic, link_to(5), 20);
	link = lose(5, ESP_END_CLOSED);
	CU_ASSERT_TRUE(link->lost);
	CU_ASSERT_FALSE(goal_link_lost(ut.nic, comm, 5, 19));
	CU_ASSERT_TRUE(goal_link_lost(ut.nic, comm, 5, 20));
	/* A link is made where there was none. */
	CU_ASSERT_FALSE(goal_link_lost(ut.nic, comm, 6, 0));
	CU_ASSERT_PTR_NOT_NULL(goal_link_at(ut.nic, comm, 6));
	turns(10);
	CU_ASSERT_FALSE(fw_list_linked(&comm->lost_node));
	end();
}

/* Runs that need the rank fail, with the reason of the end; others go on. */
static void runs_of_a_lost_rank(void)
{
	static const struct {
		enum esp_end why;
		enum hw_goal_status status;
	} row[] = {{ESP_END_LOST, HW_GOAL_PEER_LOST},
		   {ESP_END_UNREACHABLE, HW_GOAL_UNREACHABLE},
		   {ESP_END_CLOSED, HW_GOAL_PEER_LOST}};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin();
		(void)start();
		(void)link_to(3);
		(void)lose(3, row[i].why);
		turns(50);
		CU_ASSERT_NOT_EQUAL(record->done, serial);
		(void)lose(0, row[i].why);
		ends_with(row[i].status, 0, FW_NONE);
		end();
	}
}

/* ---- receives of any rank ------------------------------------------------------------------- */

static void begin_any(void)
{
	prepare(false);
	memory.code.ops[SHORT].peer = GOAL_RANK_ANY;
	load(false);
}

/* All ranks are watched while such a receive waits, so many in a step; and not after it. */
static void any_rank(void)
{
	struct goal_run *run;
	struct packet p;
	uint32_t rank;

	begin_any();
	run = start();
	CU_ASSERT_EQUAL(comm->any_recvs, 1);
	CU_ASSERT_EQUAL(comm->any_watched, 0);
	CU_ASSERT_TRUE_FATAL(fw_timer_is_set(&comm->any_timer));
	CU_ASSERT(comm->any_timer.deadline_ns <= ut.now_ns + GOAL_ANY_NS);
	CU_ASSERT(comm->any_timer.deadline_ns > ut.now_ns + GOAL_ANY_NS - 10000);
	fw_ut_poll(&ut, comm->any_timer.deadline_ns - ut.now_ns - 1);
	CU_ASSERT_EQUAL(comm->any_watched, 0);
	fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(comm->any_watched, GOAL_ANY_RANKS - 1);
	CU_ASSERT_EQUAL(comm->any_rank, GOAL_ANY_RANKS);
	CU_ASSERT_EQUAL(comm->links[RANK], FW_NONE);
	CU_ASSERT_EQUAL(comm->links[GOAL_ANY_RANKS], FW_NONE);
	CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, 63)->awaiting, 1);
	CU_ASSERT_EQUAL(comm->any_timer.deadline_ns, ut.now_ns + GOAL_ANY_NS);
	fw_ut_poll(&ut, GOAL_ANY_NS);
	CU_ASSERT_EQUAL(comm->any_watched, RANKS - 1);
	CU_ASSERT_EQUAL(comm->any_rank, 2 * GOAL_ANY_RANKS - RANKS);
	for (rank = 2; rank < RANKS; rank++) {
		const struct goal_link *link = goal_link_at(ut.nic, comm, rank);

		CU_ASSERT_TRUE_FATAL(link && link->any_watched);
		/* SCATTER and SEND await rank 2. */
		CU_ASSERT_EQUAL(link->awaiting, rank == 2 ? 3 : 1);
	}
	/* The receive has its message. */
	p = piece_of(WIRE_GOAL_EAGER, 9, 7, SHORT_BYTES, 0, SHORT_BYTES);
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	CU_ASSERT_EQUAL(comm->any_recvs, 0);
	CU_ASSERT_EQUAL(run->any_recvs, 0);
	fw_ut_poll(&ut, GOAL_ANY_NS);
	CU_ASSERT_EQUAL(comm->any_watched, RANKS - GOAL_ANY_RANKS - 1 + 0);
	CU_ASSERT_TRUE(fw_timer_is_set(&comm->any_timer));
	fw_ut_poll(&ut, GOAL_ANY_NS);
	CU_ASSERT_EQUAL(comm->any_watched, 0);
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->any_timer));
	for (rank = 3; rank < RANKS; rank++)
		CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, rank)->awaiting, 0);
	CU_ASSERT_EQUAL(goal_link_at(ut.nic, comm, 2)->awaiting, 2);
	end();
}

/* The rank that was lost before may be the one that it waits for. */
static void any_rank_that_is_lost(void)
{
	begin_any();
	(void)link_to(70);
	(void)lose(70, ESP_END_LOST);
	turns(10);
	(void)start();
	turns(10);
	fw_ut_poll(&ut, GOAL_ANY_NS);
	turns(10);
	CU_ASSERT_NOT_EQUAL(record->done, serial);
	fw_ut_poll(&ut, GOAL_ANY_NS);
	ends_with(HW_GOAL_PEER_LOST, 70, FW_NONE);
	end();
	/* A rank that closed is not the one that a run needs. */
	begin_any();
	(void)link_to(70);
	(void)lose(70, ESP_END_CLOSED);
	(void)start();
	fw_ut_poll(&ut, GOAL_ANY_NS);
	fw_ut_poll(&ut, GOAL_ANY_NS);
	turns(50);
	CU_ASSERT_NOT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(comm->any_watched, RANKS - 2);
	end();
}

/* ---- aborts of runs to come ------------------------------------------------------------------ */

static void note(uint32_t ahead, enum hw_goal_status status)
{
	goal_comm_note_abort(comm, comm->next_instance + ahead, status, ahead,
			     (struct goal_lengths){ahead, 2 * ahead});
}

/* Aborts of the nearest runs are kept, in numbers that wrap; the first of each run counts. */
static void aborts_of_runs_to_come(void)
{
	struct goal_abort abort;
	uint32_t i;

	begin();
	comm->next_instance = UINT32_MAX - 20;
	CU_ASSERT_FALSE(goal_comm_take_abort(comm, comm->next_instance, &abort));
	for (i = 0; i < GOAL_MAX_ABORTS; i++)
		note(100 - i, HW_GOAL_DIVIDE);
	CU_ASSERT_EQUAL(comm->num_aborts, GOAL_MAX_ABORTS);
	/* Farther than all, as far as the farthest, and one that is there. */
	note(101, HW_GOAL_TIMEOUT);
	note(100, HW_GOAL_TIMEOUT);
	note(50, HW_GOAL_TIMEOUT);
	note(UINT32_MAX, HW_GOAL_TIMEOUT);
	CU_ASSERT_EQUAL(comm->num_aborts, GOAL_MAX_ABORTS);
	for (i = 0; i < GOAL_MAX_ABORTS; i++)
		CU_ASSERT_EQUAL(comm->aborts[i].status, HW_GOAL_DIVIDE);
	/* A nearer one takes the place of the farthest. */
	note(5, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(comm->num_aborts, GOAL_MAX_ABORTS);
	CU_ASSERT_FALSE(goal_comm_take_abort(comm, comm->next_instance + 100, &abort));
	CU_ASSERT_TRUE(goal_comm_take_abort(comm, comm->next_instance + 5, &abort));
	CU_ASSERT_EQUAL(abort.status, HW_GOAL_MEMORY);
	CU_ASSERT_EQUAL(abort.instance, comm->next_instance + 5);
	CU_ASSERT_EQUAL(abort.rank, 5);
	CU_ASSERT(abort.lengths.message_bytes == 5 && abort.lengths.room_bytes == 10);
	CU_ASSERT_EQUAL(comm->num_aborts, GOAL_MAX_ABORTS - 1);
	CU_ASSERT_FALSE(goal_comm_take_abort(comm, comm->next_instance + 5, &abort));
	/* Each is taken once, in any order. */
	for (i = 99; i > 100 - GOAL_MAX_ABORTS; i--) {
		CU_ASSERT_TRUE(goal_comm_take_abort(comm, comm->next_instance + i, &abort));
		CU_ASSERT_EQUAL(abort.rank, i);
	}
	CU_ASSERT_EQUAL(comm->num_aborts, 0);
	end();
}

/* ---- the pool ---------------------------------------------------------------------------------
 */

/* Regions of a pool are used in their order, each to its end. */
static void regions(void)
{
	static uint8_t more[POOL_BYTES];
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_POOL};
	struct hw_cmd_resp resp;
	uint32_t region, first;
	uint64_t offset[4];

	begin();
	cmd.u.goal_comm =
	    (struct hw_cmd_goal_comm){.comm = (uint32_t)(comm - ut.nic->goal.comms),
				      .pool_stag = host_reg(ut.nic, client, pd, more, sizeof(more),
							    HW_ACCESS_LOCAL_WRITE, true),
				      .pool_addr = (uintptr_t)more,
				      .pool_bytes = sizeof(more)};
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	CU_ASSERT_FALSE(goal_pool_alloc(comm, POOL_BYTES + 1, &region, &offset[0]));
	for (uint32_t i = 0; i < 4; i++) {
		CU_ASSERT_TRUE(goal_pool_alloc(comm, POOL_BYTES / 2, &region, &offset[i]));
		CU_ASSERT_EQUAL(region, i / 2);
	}
	CU_ASSERT_NOT_EQUAL(offset[0], offset[1]);
	CU_ASSERT_FALSE(goal_pool_alloc(comm, 1, &region, &offset[0]));
	first = 1;
	goal_pool_free(comm, first, offset[3]);
	CU_ASSERT_TRUE(goal_pool_alloc(comm, POOL_BYTES / 2, &region, &offset[3]));
	CU_ASSERT_EQUAL(region, 1);
	goal_pool_free(comm, 0, offset[1]);
	CU_ASSERT_TRUE(goal_pool_alloc(comm, 1, &region, &offset[1]));
	CU_ASSERT_EQUAL(region, 0);
	end();
}

/* ---- ends --------------------------------------------------------------------------------------
 */

/* A communicator that its process destroys gives all back; its streams close by themselves. */
static void destroyed(void)
{
	struct fw_client *owner;
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_DESTROY};
	struct hw_cmd unload = {.op = HW_CMD_GOAL_UNLOAD};
	struct goal_link *link;
	struct hw_cmd_resp resp;
	struct packet p;
	uint32_t refs;

	begin_any();
	owner = &ut.nic->host.clients[client];
	(void)start();
	fw_ut_poll(&ut, GOAL_ANY_NS);
	CU_ASSERT(comm->any_watched > 0);
	p = piece_of(WIRE_GOAL_EAGER, 0, 200, 1500, 0, 1000);
	p.instance++;
	CU_ASSERT_EQUAL(arrives(&p), ESP_TAKEN);
	link = link_to(0);
	refs = ut.nic->host.pds[pd].refs;
	cmd.u.goal_comm.comm = (uint32_t)(comm - ut.nic->goal.comms);
	unload.u.goal_load.schedule = schedule;
	goal_run_fail(ut.nic, goal_run_find(ut.nic, comm, 0), HW_GOAL_CANCELED, RANK, FW_NONE);
	turns(100);
	CU_ASSERT_EQUAL(record->done, serial);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &unload, &resp), 0);
	CU_ASSERT(host_cmd(ut.nic, client, &cmd, &resp) <= 0);
	/* The links of a hundred ranks take several steps, each with a pause behind it. */
	for (uint32_t i = 0; i < 200 && comm->used; i++) {
		CU_ASSERT_TRUE(comm->closing);
		fw_ut_poll(&ut, FW_SOON_NS);
	}
	CU_ASSERT_FALSE(comm->used);
	CU_ASSERT_PTR_NULL(goal_comm_find(ut.nic, 1, 2, RANK));
	CU_ASSERT_EQUAL(ut.nic->goal.unexps.used, 0);
	CU_ASSERT_EQUAL(owner->share->process->held[HW_SHARE_COMM], 0);
	CU_ASSERT(ut.nic->host.pds[pd].refs < refs);
	CU_ASSERT_EQUAL(comm->num_regions, 0);
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->any_timer));
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->end_timer));
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->stall.timer));
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->slow_timer));
	CU_ASSERT_FALSE(fw_timer_is_set(&comm->resume_timer));
	CU_ASSERT_FALSE(fw_list_linked(&comm->node));
	/* The stream drains without it, watched by nobody. */
	CU_ASSERT_EQUAL(link->comm, FW_NONE);
	CU_ASSERT_TRUE(fw_list_linked(&link->node));
	CU_ASSERT_EQUAL(link->awaiting, 0);
	/* Packets of it are taken, and forgotten. */
	goal_msg_ended(ut.nic, link, ESP_END_CLOSED);
	end();
}

/* A process that ends with a run under way: its ranks are told that they have lost it. */
static void process_ends(void)
{
	static const uint32_t ranks[3] = {0, 2, 3};
	const struct fw_list *at;
	struct goal_link *link[3];
	uint32_t aborts = 0, lefts = 0, i;
	uint64_t ended_ns;

	begin();
	(void)start();
	for (i = 0; i < 3; i++)
		link[i] = link_to(ranks[i]);
	fw_ut_detach(&ut, client);
	ended_ns = ut.now_ns;
	CU_ASSERT_FALSE(comm->used);
	CU_ASSERT_EQUAL(ut.nic->goal.runs.used, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, 0);
	for (i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(link[i]->comm, FW_NONE);
		CU_ASSERT_EQUAL(link[i]->client, FW_CLIENT_ORPHANS);
		CU_ASSERT_TRUE(link[i]->told_left);
		CU_ASSERT(link[i]->until_ns <= ended_ns + MGRP_DRAIN_NS);
		CU_ASSERT(link[i]->until_ns > ended_ns + MGRP_DRAIN_NS - 1000000);
		for (at = link[i]->sends.next; at != &link[i]->sends; at = at->next) {
			const struct goal_send *send =
			    FW_CONTAINER(at, struct goal_send, link_node);

			CU_ASSERT_EQUAL(send->client, FW_CLIENT_ORPHANS);
			if (send->type == WIRE_GOAL_ABORT) {
				aborts++;
				CU_ASSERT_EQUAL(send->key.tag, HW_GOAL_PEER_LOST);
				CU_ASSERT_EQUAL(send->key.count, RANK);
				CU_ASSERT_EQUAL(send->key.instance, 0);
			}
			if (send->type == WIRE_GOAL_LEFT) {
				lefts++;
				CU_ASSERT_EQUAL(send->key.instance, 1);
			}
		}
	}
	CU_ASSERT_EQUAL(aborts, 2);
	CU_ASSERT_EQUAL(lefts, 3);
	/* Peers have so long to take that. */
	fw_ut_poll(&ut, MGRP_DRAIN_NS - 1000000);
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 3);
	for (i = 0; i < 100; i++)
		fw_ut_poll(&ut, 10000000);
	CU_ASSERT_EQUAL(ut.nic->goal.links.used, 0);
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, 0);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_comm", UT(links), UT(accepted_streams), UT(streams_without_a_share),
	UT(ended_streams), UT(runs_of_a_lost_rank), UT(any_rank), UT(any_rank_that_is_lost),
	UT(aborts_of_runs_to_come), UT(regions), UT(destroyed), UT(process_ends))
