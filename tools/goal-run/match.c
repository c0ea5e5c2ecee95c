/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching of messages and receives.
 *
 * Waiting operations are in queues, one for each (receiver, source, tag), where a wildcard is a
 * value like others: a partner without wildcards has four queues to check. One with wildcards needs
 * queues by tag, by source or of all that wait at its receiver; these are kept only if some
 * operation has such wildcards. No queue is ever searched.
 */
#include "tools/goal-run/match.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE GOAL_NO_OP

/* Kind of a queue: which of source and tag all of its operations have in common. */
enum index {
	BY_BOTH,
	BY_SOURCE,
	BY_TAG,
	BY_NONE,
	NUM_INDEXES,
};

struct link {
	uint32_t next, prev;
	uint32_t queue; /* number of the queue in which the operation waits, if it does */
};

struct ends {
	uint32_t head, tail;
};

struct place {
	uint32_t receiver, source, tag; /* GOAL_ANY where the index ignores it */
	uint32_t queue;                 /* NONE: empty place of the table */
};

struct queues {
	bool used;
	struct link *link;   /* per operation */
	struct ends *ends;   /* two per queue: receives, messages */
	struct place *table; /* hash, open addressing; never more than half full */
	size_t room;
	uint32_t num;
};

struct match {
	const struct goal_set *set;
	uint32_t *rank;  /* queue of each operation */
	uint32_t *order; /* per operation: age of those that wait; 0: it does not wait */
	struct queues queues[NUM_INDEXES];
	bool wild; /* some operation has a wildcard */
	uint32_t num_orders;
};

static bool is_msg(const struct match *m, uint32_t op)
{
	return m->set->ops[op].kind == GOAL_OP_SEND;
}

/* The rank that matches op, and the one that sends the data. */
static uint32_t receiver(const struct match *m, uint32_t op)
{
	return is_msg(m, op) ? m->set->ops[op].peer : m->rank[op];
}

static uint32_t source(const struct match *m, uint32_t op)
{
	return is_msg(m, op) ? m->rank[op] : m->set->ops[op].peer;
}

/* ---- queues --------------------------------------------------------------------------------- */

static uint64_t hash_of(uint32_t rank, uint32_t source, uint32_t tag)
{
	uint64_t h = rank;

	h = h * 0x9e3779b97f4a7c15ull + source;
	h ^= h >> 29;
	h = h * 0xbf58476d1ce4e5b9ull + tag;
	h ^= h >> 32;
	return h * 0x94d049bb133111ebull >> 20;
}

/* Place of that queue in the table, or the empty place for it. */
static struct place *place_of(const struct queues *q, uint32_t rank, uint32_t source, uint32_t tag)
{
	size_t i = hash_of(rank, source, tag) & (q->room - 1);

	for (;; i = (i + 1) & (q->room - 1)) {
		struct place *p = &q->table[i];

		if (p->queue == NONE ||
		    (p->receiver == rank && p->source == source && p->tag == tag))
			return p;
	}
}

/* The same for op's own source and tag, as far as the index uses them. */
static struct place *own_place(const struct match *m, enum index index, uint32_t op)
{
	bool by_source = index == BY_BOTH || index == BY_SOURCE;
	bool by_tag = index == BY_BOTH || index == BY_TAG;

	return place_of(&m->queues[index], receiver(m, op), by_source ? source(m, op) : GOAL_ANY,
			by_tag ? m->set->ops[op].tag : GOAL_ANY);
}

/* The index in which to find a partner for op. */
static enum index index_for(const struct match *m, uint32_t op)
{
	if (source(m, op) == GOAL_ANY)
		return m->set->ops[op].tag == GOAL_ANY ? BY_NONE : BY_TAG;
	return m->set->ops[op].tag == GOAL_ANY ? BY_SOURCE : BY_BOTH;
}

/* Numbers the queues of an index. */
static int create_queues(struct match *m, enum index index)
{
	struct queues *q = &m->queues[index];
	uint32_t num_ops = m->set->num_ops;

	q->room = 64;
	while (q->room < (size_t)num_ops * 2)
		q->room *= 2;
	q->table = malloc(q->room * sizeof(*q->table));
	q->link = calloc((size_t)num_ops + 1, sizeof(*q->link));
	if (!q->table || !q->link)
		return -1;
	for (size_t i = 0; i < q->room; i++)
		q->table[i].queue = NONE;
	for (uint32_t op = 0; op < num_ops; op++) {
		struct place *p;

		if (m->set->ops[op].kind == GOAL_OP_CALC)
			continue;
		p = own_place(m, index, op);
		if (p->queue == NONE)
			*p = (struct place){
			    .receiver = receiver(m, op),
			    .source =
				index == BY_BOTH || index == BY_SOURCE ? source(m, op) : GOAL_ANY,
			    .tag = index == BY_BOTH || index == BY_TAG ? m->set->ops[op].tag
								       : GOAL_ANY,
			    .queue = q->num++,
			};
		q->link[op].queue = p->queue;
	}
	q->ends = malloc(((size_t)q->num * 2 + 1) * sizeof(*q->ends));
	if (!q->ends)
		return -1;
	for (size_t i = 0; i < (size_t)q->num * 2; i++)
		q->ends[i] = (struct ends){NONE, NONE};
	q->used = true;
	return 0;
}

struct match *match_create(const struct goal_set *set)
{
	struct match *m = calloc(1, sizeof(*m));
	bool wanted[NUM_INDEXES] = {[BY_BOTH] = true};
	bool failed;

	if (!m)
		return NULL;
	m->set = set;
	m->rank = calloc((size_t)set->num_ops + 1, sizeof(*m->rank));
	m->order = calloc((size_t)set->num_ops + 1, sizeof(*m->order));
	failed = !m->rank || !m->order;
	for (uint32_t rank = 0; !failed && rank < set->num_ranks; rank++)
		for (uint32_t op = set->rank_first[rank]; op < set->rank_first[rank + 1]; op++)
			m->rank[op] = rank;
	for (uint32_t op = 0; !failed && op < set->num_ops; op++)
		if (set->ops[op].kind != GOAL_OP_CALC)
			wanted[index_for(m, op)] = true;
	for (enum index i = BY_BOTH; !failed && i < NUM_INDEXES; i++)
		if (wanted[i]) {
			m->wild = i != BY_BOTH || m->wild;
			failed = create_queues(m, i);
		}
	if (failed) {
		match_free(m);
		return NULL;
	}
	return m;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	for (enum index i = BY_BOTH; i < NUM_INDEXES; i++) {
		free(m->queues[i].link);
		free(m->queues[i].ends);
		free(m->queues[i].table);
	}
	free(m->rank);
	free(m->order);
	free(m);
}

uint32_t match_rank(const struct match *m, uint32_t op)
{
	return m->rank[op];
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void wait_here(struct match *m, uint32_t op)
{
	m->order[op] = ++m->num_orders;
	for (enum index i = BY_BOTH; i < NUM_INDEXES; i++) {
		const struct queues *q = &m->queues[i];
		struct ends *ends;

		if (!q->used)
			continue;
		ends = &q->ends[(size_t)q->link[op].queue * 2 + is_msg(m, op)];
		q->link[op].prev = ends->tail;
		q->link[op].next = NONE;
		*(ends->tail == NONE ? &ends->head : &q->link[ends->tail].next) = op;
		ends->tail = op;
	}
}

static void wait_no_more(struct match *m, uint32_t op)
{
	m->order[op] = 0;
	for (enum index i = BY_BOTH; i < NUM_INDEXES; i++) {
		const struct queues *q = &m->queues[i];
		struct ends *ends;
		struct link l;

		if (!q->used)
			continue;
		l = q->link[op];
		ends = &q->ends[(size_t)l.queue * 2 + is_msg(m, op)];
		*(l.prev == NONE ? &ends->head : &q->link[l.prev].next) = l.next;
		*(l.next == NONE ? &ends->tail : &q->link[l.next].prev) = l.prev;
	}
}

/* The older of best and the first operation that waits in that queue for op. */
static uint32_t older(const struct match *m, uint32_t best, const struct queues *q, uint32_t op,
		      uint32_t from, uint32_t tag)
{
	const struct place *p = place_of(q, receiver(m, op), from, tag);
	uint32_t first;

	if (p->queue == NONE)
		return best;
	first = q->ends[(size_t)p->queue * 2 + !is_msg(m, op)].head;
	if (first == NONE || (best != NONE && m->order[best] < m->order[first]))
		return best;
	return first;
}

static uint32_t partner(const struct match *m, uint32_t op)
{
	enum index index = index_for(m, op);
	const struct queues *q = &m->queues[index];
	uint32_t from = source(m, op), tag = m->set->ops[op].tag, best;

	if (!m->wild)
		return q->ends[(size_t)q->link[op].queue * 2 + !is_msg(m, op)].head;
	/* Where op names a value, a wildcard of the other side matches as well. */
	best = older(m, NONE, q, op, from, tag);
	if (index == BY_BOTH || index == BY_SOURCE)
		best = older(m, best, q, op, GOAL_ANY, tag);
	if (index == BY_BOTH || index == BY_TAG)
		best = older(m, best, q, op, from, GOAL_ANY);
	if (index == BY_BOTH)
		best = older(m, best, q, op, GOAL_ANY, GOAL_ANY);
	return best;
}

uint32_t match_take_or_wait(struct match *m, uint32_t op)
{
	uint32_t other = partner(m, op);

	if (other == NONE)
		wait_here(m, op);
	else
		wait_no_more(m, other);
	return other;
}

uint32_t match_waiting(const struct match *m, uint32_t *ops)
{
	uint32_t num = 0;

	for (uint32_t op = 0; op < m->set->num_ops; op++)
		if (m->order[op]) {
			if (ops)
				ops[num] = op;
			num++;
		}
	return num;
}
