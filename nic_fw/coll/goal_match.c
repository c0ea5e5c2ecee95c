/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matches messages with receives.
 *
 * Both ends number the messages of equal key in schedule order, so a hash finds the one receive or
 * the one message. Schedules with wildcards match by arrival: goal_wild.c. Calls goal_comm.c.
 * ESPGOAL 4.2.2; docs/collectives.md "Matching".
 */
#include "nic_fw/fw_nic.h"

static uint32_t goal_match_bucket(const struct goal_comm *comm, struct fw_nic *nic,
				  const struct goal_key4 *key)
{
	uint32_t comm_index = (uint32_t)(comm - nic->goal.comms);

	return fw_hash_keyed5(&nic->hash_key, comm_index, key->instance, key->rank, key->tag,
			      key->count) %
	       GOAL_HASH_SIZE;
}

static bool same(const struct goal_key4 *a, const struct goal_key4 *b)
{
	return a->instance == b->instance && a->rank == b->rank && a->tag == b->tag &&
	       a->count == b->count && a->group == b->group;
}

/* ---- receives ------------------------------------------------------------------------------ */

struct goal_recv *goal_recv_find(struct fw_nic *nic, struct goal_comm *comm,
				 const struct goal_key4 *key)
{
	struct goal_recv *recv;

	fw_chain_for_each (recv, nic->goal.recv_hash[goal_match_bucket(comm, nic, key)],
			   fw_pool_table(&nic->goal.recvs), next)
		if (same(&recv->key, key) && recv->run->comm == comm)
			return recv;
	return NULL;
}

struct goal_recv *goal_recv_new(struct fw_nic *nic, struct goal_run *run, uint32_t op)
{
	const struct goal_insn *code = &run->schedule->ops[op];
	struct goal_recv *recv;
	uint8_t generation;
	bool fresh = nic->goal.recvs.free == FW_NONE;

	recv = goal_take(nic, run->client, GOAL_TABLE_RECVS);
	if (!recv)
		return NULL;
	/* The generation invalidates sinks of an earlier use of this context. */
	generation = fresh ? 0 : (uint8_t)(recv->generation + 1);
	memset(recv, 0, sizeof(*recv));
	recv->generation = generation;
	recv->run = run;
	recv->op = op;
	recv->key = (struct goal_key4){run->instance, code->peer, code->tag, code->count,
				       code->kind == GOAL_INSN_MCAST_RECV};
	goal_cursor_init(&recv->cursor, code->buf[0]);
	fw_list_init(&recv->link_node);
	fw_list_init(&recv->copy_node);
	fw_list_add_tail(&run->recvs, &recv->run_node);
	return recv;
}

void goal_recv_hash(struct fw_nic *nic, struct goal_recv *recv)
{
	uint32_t *head = &nic->goal.recv_hash[goal_match_bucket(recv->run->comm, nic, &recv->key)];

	fw_chain_add(head, &recv->next, fw_pool_index(&nic->goal.recvs, recv));
	recv->hashed = true;
}

static void goal_match_unhash(struct fw_nic *nic, struct goal_recv *recv)
{
	fw_chain_del(&nic->goal.recv_hash[goal_match_bucket(recv->run->comm, nic, &recv->key)],
		     recv, fw_pool_table(&nic->goal.recvs), next);
	recv->hashed = false;
}

void goal_recv_await(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link)
{
	assert(!recv->link);
	recv->link = link;
	fw_list_add_tail(&link->recvs, &recv->link_node);
	goal_link_await(nic, link, true);
}

void goal_recv_await_any(struct fw_nic *nic, struct goal_recv *recv)
{
	recv->any = true;
	recv->run->any_recvs++;
	goal_comm_await_any(nic, recv->run->comm, true);
}

static void not_any(struct fw_nic *nic, struct goal_recv *recv)
{
	if (!recv->any)
		return;
	recv->any = false;
	recv->run->any_recvs--;
	goal_comm_await_any(nic, recv->run->comm, false);
}

void goal_recv_await_over(struct fw_nic *nic, struct goal_recv *recv)
{
	if (!recv->link)
		return;
	goal_link_await(nic, recv->link, false);
	fw_list_del(&recv->link_node);
	recv->link = NULL;
}

void goal_recv_free(struct fw_nic *nic, struct goal_recv *recv)
{
	uint32_t client;

	if (recv->hashed)
		goal_match_unhash(nic, recv);
	if (recv->source)
		goal_unexp_free(nic, recv->source);
	goal_wild_forget(recv);
	not_any(nic, recv);
	goal_recv_await_over(nic, recv);
	fw_list_del(&recv->copy_node);
	fw_list_del(&recv->run_node);
	client = recv->run->client;
	recv->run = NULL;
	goal_give(nic, client, GOAL_TABLE_RECVS, recv);
}

void goal_recv_matched(struct fw_nic *nic, struct goal_recv *recv, struct goal_link *link,
		       uint64_t bytes)
{
	goal_wild_forget(recv);
	recv->matched = true;
	recv->bytes = bytes;
	not_any(nic, recv);
	/* The rest of it, or its data, may never come. */
	if (link && !recv->link)
		goal_recv_await(nic, recv, link);
}

struct goal_recv *goal_match_arrival(struct fw_nic *nic, struct goal_comm *comm,
				     const struct goal_key4 *key)
{
	struct goal_run *run = goal_run_find(nic, comm, key->instance);
	struct goal_recv *recv;

	if (!run)
		return NULL;
	recv = goal_recv_find(nic, comm, key);
	if (recv || !run->schedule->wildcards || key->group)
		return recv;
	recv = goal_wild_find_recv(nic, run, key);
	if (!recv)
		return NULL;
	goal_wild_forget(recv);
	recv->key = *key;
	goal_recv_hash(nic, recv);
	return recv;
}

/* ---- unexpected messages -------------------------------------------------------------------- */

struct goal_unexp *goal_unexp_find(struct fw_nic *nic, struct goal_comm *comm,
				   const struct goal_key4 *key)
{
	uint32_t comm_index = (uint32_t)(comm - nic->goal.comms);
	struct goal_unexp *unexp;

	fw_chain_for_each (unexp, nic->goal.unexp_hash[goal_match_bucket(comm, nic, key)],
			   fw_pool_table(&nic->goal.unexps), next)
		if (same(&unexp->key, key) && unexp->comm == comm_index)
			return unexp;
	return NULL;
}

struct goal_unexp *goal_unexp_new(struct fw_nic *nic, struct goal_comm *comm,
				  const struct goal_key4 *key, uint64_t bytes, bool header)
{
	struct goal_unexp *unexp = goal_take(nic, comm->client, GOAL_TABLE_UNEXPS);
	uint32_t *head;

	if (!unexp)
		return NULL;
	unexp->comm = (uint32_t)(comm - nic->goal.comms);
	unexp->key = *key;
	unexp->header = header;
	unexp->keeping = false;
	unexp->taken = false;
	unexp->bytes = bytes;
	unexp->received = 0;
	unexp->region = FW_NONE;
	unexp->offset = 0;
	unexp->link = NULL;
	if (!header && bytes > sizeof(unexp->small) &&
	    !goal_pool_alloc(comm, bytes, &unexp->region, &unexp->offset)) {
		goal_give(nic, comm->client, GOAL_TABLE_UNEXPS, unexp);
		return NULL;
	}
	head = &nic->goal.unexp_hash[goal_match_bucket(comm, nic, key)];
	fw_chain_add(head, &unexp->next, fw_pool_index(&nic->goal.unexps, unexp));
	fw_list_add_tail(&comm->unexps, &unexp->comm_node);
	goal_wild_add(nic, comm, unexp);
	return unexp;
}

/* No receive finds it any more. */
static void unexp_hide(struct fw_nic *nic, struct goal_unexp *unexp)
{
	struct goal_comm *comm = &nic->goal.comms[unexp->comm];

	fw_chain_del(&nic->goal.unexp_hash[goal_match_bucket(comm, nic, &unexp->key)], unexp,
		     fw_pool_table(&nic->goal.unexps), next);
	goal_sweep_forget(comm, &unexp->comm_node);
	goal_wild_remove(comm, unexp);
	fw_list_del(&unexp->comm_node);
}

void goal_unexp_take(struct fw_nic *nic, struct goal_unexp *unexp, struct goal_recv *recv)
{
	unexp_hide(nic, unexp);
	unexp->taken = true;
	recv->source = unexp;
}

void goal_unexp_free(struct fw_nic *nic, struct goal_unexp *unexp)
{
	struct goal_comm *comm = &nic->goal.comms[unexp->comm];

	if (!unexp->taken)
		unexp_hide(nic, unexp);
	if (unexp->region != FW_NONE)
		goal_pool_free(comm, unexp->region, unexp->offset);
	goal_give(nic, comm->client, GOAL_TABLE_UNEXPS, unexp);
	goal_comm_unblock(nic, comm);
}

struct goal_unexp *goal_match_recv(struct fw_nic *nic, struct goal_comm *comm,
				   const struct goal_schedule *schedule,
				   const struct goal_key4 *key)
{
	return schedule->wildcards && !key->group ? goal_wild_find_unexp(nic, comm, key)
						  : goal_unexp_find(nic, comm, key);
}
