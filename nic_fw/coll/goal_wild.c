/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching by arrival, for schedules with wildcards.
 *
 * A receive names a rank or any, and a tag or any: four shapes. Receives that wait stand in a hash
 * under their own shape; a message is looked up once in each, and the receive that was started
 * first takes it. Messages that came before their receive stand under each shape, so a receive
 * looks once. Equal keys stand in their order (base/multi.h), so the cost grows neither with
 * receives nor with messages. A communicator indexes its messages from its first schedule with
 * wildcards on; those that came before are indexed while it is loaded, some in a turn. Places come
 * from SipHash, so no peer chooses the length of a chain. docs/collectives.md "Matching".
 */
#include "nic_fw/fw_nic.h"

enum {
	ANY_RANK = 1, /* bits of a shape */
	ANY_TAG = 2,
	INDEX_QUANTUM = 1024, /* messages that a step indexes: as the items of a step of a load */
};

/* Leaves of a key only that which receives of a shape compare. */
static struct goal_key4 of_shape(const struct goal_key4 *key, uint32_t shape)
{
	return (struct goal_key4){.instance = key->instance,
				  .rank = shape & ANY_RANK ? GOAL_RANK_ANY : key->rank,
				  .tag = shape & ANY_TAG ? GOAL_TAG_ANY : key->tag};
}

static uint32_t shape_of(const struct goal_key4 *key)
{
	return (key->rank == GOAL_RANK_ANY ? ANY_RANK : 0u) |
	       (key->tag == GOAL_TAG_ANY ? ANY_TAG : 0u);
}

static bool is_equal(const struct goal_key4 *a, const struct goal_key4 *b)
{
	return a->instance == b->instance && a->rank == b->rank && a->tag == b->tag;
}

/* The number of the chain of a key, as of_shape() made it. */
static uint32_t chain_of(struct fw_nic *nic, const struct goal_comm *comm,
			 const struct goal_key4 *key)
{
	uint64_t hash =
	    fw_keyed(nic, (uint64_t)key->rank << 32 | key->tag,
		     (uint64_t)key->instance << 32 | (uint32_t)(comm - nic->goal.comms), 0);

	return (uint32_t)hash % GOAL_HASH_SIZE;
}

/* ---- receives */

static struct fw_multi *first_recv(struct fw_multi *chain, const struct goal_run *run,
				   const struct goal_key4 *key)
{
	struct fw_multi *at;

	fw_multi_for_each(at, chain)
	{
		const struct goal_recv *recv = FW_CONTAINER(at, struct goal_recv, wild_at);

		if (recv->run == run && is_equal(&recv->key, key))
			return at;
	}
	return NULL;
}

void goal_wild_await(struct fw_nic *nic, struct goal_recv *recv)
{
	uint32_t shape = shape_of(&recv->key);
	struct goal_key4 key = of_shape(&recv->key, shape);
	struct fw_multi **chain = &nic->goal.wild_recvs[chain_of(nic, recv->run->comm, &key)];

	assert(!recv->waits && !recv->matched);
	recv->waits = true;
	recv->serial = recv->run->wild_serial++;
	recv->run->wild_recvs[shape]++;
	fw_multi_add(chain, first_recv(*chain, recv->run, &key), &recv->wild_at);
}

void goal_wild_forget(struct goal_recv *recv)
{
	if (!recv->waits)
		return;
	recv->waits = false;
	recv->run->wild_recvs[shape_of(&recv->key)]--;
	fw_multi_del(&recv->wild_at);
}

struct goal_recv *goal_wild_find_recv(struct fw_nic *nic, struct goal_run *run,
				      const struct goal_key4 *key)
{
	struct goal_recv *best = NULL;
	uint32_t shape;

	for (shape = 0; shape < GOAL_WILD_SHAPES; shape++) {
		struct goal_key4 masked = of_shape(key, shape);
		struct goal_recv *recv;
		struct fw_multi *at;

		if (!run->wild_recvs[shape])
			continue;
		at = first_recv(nic->goal.wild_recvs[chain_of(nic, run->comm, &masked)], run,
				&masked);
		recv = at ? FW_CONTAINER(at, struct goal_recv, wild_at) : NULL;
		if (recv && (!best || (int32_t)(recv->serial - best->serial) < 0))
			best = recv;
	}
	return best;
}

/* ---- messages */

static struct goal_unexp *unexp_at(struct fw_multi *at, uint32_t shape)
{
	return FW_CONTAINER(at - shape, struct goal_unexp, wild_at);
}

static struct fw_multi **unexp_chain(struct fw_nic *nic, const struct goal_comm *comm,
				     const struct goal_key4 *key, uint32_t shape)
{
	return &nic->goal.wild_unexps[shape * GOAL_HASH_SIZE + chain_of(nic, comm, key)];
}

static struct fw_multi *first_unexp(const struct fw_nic *nic, struct fw_multi *chain,
				    const struct goal_comm *comm, const struct goal_key4 *key,
				    uint32_t shape)
{
	uint32_t comm_index = (uint32_t)(comm - nic->goal.comms);
	struct fw_multi *at;

	fw_multi_for_each(at, chain)
	{
		const struct goal_unexp *unexp = unexp_at(at, shape);
		struct goal_key4 own = of_shape(&unexp->key, shape);

		if (unexp->comm == comm_index && is_equal(&own, key))
			return at;
	}
	return NULL;
}

/* Multicasts are matched by their key. */
static void add_to_index(struct fw_nic *nic, struct goal_comm *comm, struct goal_unexp *unexp)
{
	uint32_t shape;

	if (unexp->key.group)
		return;
	unexp->indexed = true;
	for (shape = 0; shape < GOAL_WILD_SHAPES; shape++) {
		struct goal_key4 key = of_shape(&unexp->key, shape);
		struct fw_multi **chain = unexp_chain(nic, comm, &key, shape);

		fw_multi_add(chain, first_unexp(nic, *chain, comm, &key, shape),
			     &unexp->wild_at[shape]);
	}
}

bool goal_wild_index(struct fw_nic *nic, struct goal_comm *comm)
{
	uint32_t left;

	if (!comm->wild)
		comm->wild_built = &comm->unexps;
	comm->wild = true;
	for (left = INDEX_QUANTUM; comm->wild_built && left; left--) {
		comm->wild_built = comm->wild_built->next;
		if (comm->wild_built == &comm->unexps)
			comm->wild_built = NULL;
		else
			add_to_index(nic, comm,
				     FW_CONTAINER(comm->wild_built, struct goal_unexp, comm_node));
	}
	return !comm->wild_built;
}

void goal_wild_add(struct fw_nic *nic, struct goal_comm *comm, struct goal_unexp *unexp)
{
	unexp->indexed = false;
	if (comm->wild && !comm->wild_built)
		add_to_index(nic, comm, unexp);
}

void goal_wild_remove(struct goal_comm *comm, struct goal_unexp *unexp)
{
	uint32_t shape;

	if (comm->wild_built == &unexp->comm_node)
		comm->wild_built = unexp->comm_node.prev;
	for (shape = 0; unexp->indexed && shape < GOAL_WILD_SHAPES; shape++)
		fw_multi_del(&unexp->wild_at[shape]);
	unexp->indexed = false;
}

struct goal_unexp *goal_wild_find_unexp(struct fw_nic *nic, struct goal_comm *comm,
					const struct goal_key4 *key)
{
	uint32_t shape = shape_of(key);
	struct goal_key4 masked = of_shape(key, shape);
	struct fw_multi *at;

	assert(comm->wild && !comm->wild_built);
	at = first_unexp(nic, *unexp_chain(nic, comm, &masked, shape), comm, &masked, shape);
	return at ? unexp_at(at, shape) : NULL;
}
