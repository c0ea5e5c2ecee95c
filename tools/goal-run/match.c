/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of messages and receives.
 *
 * Called by model.c. All keys (receiver, sender, tag) that occur are numbered in advance; each
 * has a queue of those that wait under it, either messages or receives. Operations with
 * wildcards have no key: they wait in a list per rank. Since an operation with a wildcard may
 * take one that has a key, these too stand in a list per rank, in order.
 */
#include "tools/goal-run/match.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE GOAL_NO_OP

/* What a rank's lists hold. */
enum list {
	LIST_RECV,      /* posted receives with a key */
	LIST_RECV_WILD, /* and without */
	LIST_MSG,
	LIST_MSG_WILD,
	NUM_LISTS,
};

struct ends {
	uint32_t head, tail;
};

struct node {
	uint32_t next, prev; /* in the rank's list */
	uint32_t key_next;   /* in the key's queue */
	uint32_t key;        /* NONE: a wildcard */
	uint32_t order;      /* counts up with each that waits */
	uint32_t rank;       /* that it belongs to */
};

struct match {
	const struct goal_set *set;
	struct node *node;  /* per operation */
	struct ends *ends;  /* NUM_LISTS per rank */
	struct ends *queue; /* two per key: receives, messages */
	uint32_t order;
};

static bool is_msg(const struct match *m, uint32_t op)
{
	return m->set->ops[op].kind == GOAL_OP_SEND;
}

/* The rank that matches op, and the one that the data comes from. */
static uint32_t receiver(const struct match *m, uint32_t op)
{
	return is_msg(m, op) ? m->set->ops[op].peer : m->node[op].rank;
}

static uint32_t source(const struct match *m, uint32_t op)
{
	return is_msg(m, op) ? m->node[op].rank : m->set->ops[op].peer;
}

/* Whether two operations of the same receiver go together. */
static bool fits(const struct match *m, uint32_t a, uint32_t b)
{
	uint32_t src_a = source(m, a), src_b = source(m, b);
	uint32_t tag_a = m->set->ops[a].tag, tag_b = m->set->ops[b].tag;

	return (src_a == src_b || src_a == GOAL_ANY || src_b == GOAL_ANY) &&
	       (tag_a == tag_b || tag_a == GOAL_ANY || tag_b == GOAL_ANY);
}

static uint64_t hash_of(const struct match *m, uint32_t op)
{
	uint64_t h = receiver(m, op);

	h = h * 0x9e3779b97f4a7c15ull + source(m, op);
	h ^= h >> 29;
	h = h * 0xbf58476d1ce4e5b9ull + m->set->ops[op].tag;
	h ^= h >> 32;
	return h * 0x94d049bb133111ebull >> 20;
}

static bool same_key(const struct match *m, uint32_t a, uint32_t b)
{
	return receiver(m, a) == receiver(m, b) && source(m, a) == source(m, b) &&
	       m->set->ops[a].tag == m->set->ops[b].tag;
}

/* Numbers the keys. Returns how many there are, or NONE: no memory. */
static uint32_t number_keys(struct match *m)
{
	uint32_t num_ops = m->set->num_ops, num = 0;
	size_t room = 64, i;
	uint32_t *table; /* hash to an operation that has the key */

	while (room < (size_t)num_ops * 2)
		room *= 2;
	table = malloc(room * sizeof(*table));
	if (!table)
		return NONE;
	for (i = 0; i < room; i++)
		table[i] = NONE;
	for (uint32_t op = 0; op < num_ops; op++) {
		const struct goal_op *o = &m->set->ops[op];

		m->node[op].key = NONE;
		if (o->kind == GOAL_OP_CALC || o->peer == GOAL_ANY || o->tag == GOAL_ANY)
			continue;
		i = hash_of(m, op) & (room - 1);
		while (table[i] != NONE && !same_key(m, table[i], op))
			i = (i + 1) & (room - 1);
		if (table[i] == NONE) {
			table[i] = op;
			m->node[op].key = num++;
		} else {
			m->node[op].key = m->node[table[i]].key;
		}
	}
	free(table);
	return num;
}

static struct ends *empty_ends(size_t num)
{
	struct ends *ends = calloc(num ? num : 1, sizeof(*ends));

	for (size_t i = 0; ends && i < num; i++)
		ends[i] = (struct ends){NONE, NONE};
	return ends;
}

struct match *match_create(const struct goal_set *set)
{
	struct match *m = calloc(1, sizeof(*m));
	uint32_t num_keys;

	if (!m)
		return NULL;
	m->set = set;
	m->node = calloc((size_t)set->num_ops + 1, sizeof(*m->node));
	m->ends = empty_ends((size_t)set->num_ranks * NUM_LISTS);
	if (!m->node || !m->ends)
		goto no_memory;
	for (uint32_t rank = 0; rank < set->num_ranks; rank++)
		for (uint32_t op = set->rank_first[rank]; op < set->rank_first[rank + 1]; op++)
			m->node[op].rank = rank;
	num_keys = number_keys(m);
	if (num_keys == NONE)
		goto no_memory;
	m->queue = empty_ends((size_t)num_keys * 2);
	if (!m->queue)
		goto no_memory;
	return m;
no_memory:
	match_free(m);
	return NULL;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	free(m->node);
	free(m->ends);
	free(m->queue);
	free(m);
}

uint32_t match_rank(const struct match *m, uint32_t op)
{
	return m->node[op].rank;
}

static struct ends *list_of(const struct match *m, uint32_t rank, enum list list)
{
	return &m->ends[(size_t)rank * NUM_LISTS + list];
}

static struct ends *queue_of(const struct match *m, uint32_t key, bool msg)
{
	return &m->queue[(size_t)key * 2 + msg];
}

/* The list that op itself waits in. */
static struct ends *own_list(const struct match *m, uint32_t op)
{
	bool wild = m->node[op].key == NONE;

	if (is_msg(m, op))
		return list_of(m, receiver(m, op), wild ? LIST_MSG_WILD : LIST_MSG);
	return list_of(m, receiver(m, op), wild ? LIST_RECV_WILD : LIST_RECV);
}

static void wait_here(struct match *m, uint32_t op)
{
	struct ends *list = own_list(m, op);
	struct node *n = &m->node[op];

	n->order = m->order++;
	n->prev = list->tail;
	n->next = NONE;
	*(list->tail == NONE ? &list->head : &m->node[list->tail].next) = op;
	list->tail = op;
	if (n->key != NONE) {
		struct ends *queue = queue_of(m, n->key, is_msg(m, op));

		n->key_next = NONE;
		*(queue->tail == NONE ? &queue->head : &m->node[queue->tail].key_next) = op;
		queue->tail = op;
	}
}

static void wait_no_more(struct match *m, uint32_t op)
{
	struct ends *list = own_list(m, op);
	struct node *n = &m->node[op];

	*(n->prev == NONE ? &list->head : &m->node[n->prev].next) = n->next;
	*(n->next == NONE ? &list->tail : &m->node[n->next].prev) = n->prev;
	if (n->key != NONE) {
		/* The first that fits of a list is the first of its key, too. */
		struct ends *queue = queue_of(m, n->key, is_msg(m, op));

		queue->head = n->key_next;
		if (queue->head == NONE)
			queue->tail = NONE;
	}
}

static uint32_t first_fit(const struct match *m, const struct ends *list, uint32_t op)
{
	uint32_t other = list->head;

	while (other != NONE && !fits(m, op, other))
		other = m->node[other].next;
	return other;
}

uint32_t match_take_or_wait(struct match *m, uint32_t op)
{
	bool msg = is_msg(m, op);
	uint32_t rank = receiver(m, op), key = m->node[op].key, exact, wild, other;

	exact = key != NONE ? queue_of(m, key, !msg)->head
			    : first_fit(m, list_of(m, rank, msg ? LIST_RECV : LIST_MSG), op);
	wild = first_fit(m, list_of(m, rank, msg ? LIST_RECV_WILD : LIST_MSG_WILD), op);
	other = exact;
	if (exact == NONE || (wild != NONE && m->node[wild].order < m->node[exact].order))
		other = wild;
	if (other == NONE)
		wait_here(m, op);
	else
		wait_no_more(m, other);
	return other;
}

uint32_t match_waiting(const struct match *m, uint32_t *ops)
{
	uint32_t num = 0;

	for (size_t i = 0; i < (size_t)m->set->num_ranks * NUM_LISTS; i++)
		for (uint32_t op = m->ends[i].head; op != NONE; op = m->node[op].next) {
			if (ops)
				ops[num] = op;
			num++;
		}
	return num;
}
