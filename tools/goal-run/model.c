/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The LogGOPS model, as an event simulation in virtual time.
 *
 * Calls match.c. The model is that of LogGOPSim; the rules, one by one, are in docs/goal-format.md.
 * An operation is an event from the time it is ready; a send becomes the event of its message's
 * arrival. An event whose cpu or nic is busy is repeated when they are free. Events are taken by
 * time, then by age, so the outcome never depends on the machine.
 */
#include "tools/goal-run/model.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap.h"
#include "tools/goal-run/match.h"

struct event {
	uint64_t time;
	uint64_t age; /* its number in the order of creation; kept when it is repeated */
	uint32_t op;
	bool msg; /* the message of op arrives, at its peer */
};

/*
 * Times at which each cpu (or nic) of each rank becomes free. Unused numbers take no room: a rank's
 * clocks are those whose bits are set, in order.
 */
struct clocks {
	uint64_t (*used)[4];
	size_t *first; /* per rank */
	uint64_t *free_ns;
};

struct model {
	const struct goal_set *set;
	struct model_params p;
	struct match *match;
	struct event *heap; /* each operation is at most one event at a time */
	uint32_t num_events;
	uint64_t next_age;
	struct clocks cpu, tx, rx; /* tx, rx: a nic's sending and its receiving side */
	uint32_t *waits;           /* per operation: unmet dependencies */
	uint64_t *ready_ns;        /* per operation: time at which the last of them was met */
	uint32_t *ready;           /* operations that the current event has made ready */
	uint32_t num_ready;
	uint32_t num_done;
	bool overflow;
};

/* ---- clocks --------------------------------------------------------------------------------- */

static int clocks_create(struct clocks *c, uint32_t num_ranks)
{
	c->used = calloc(num_ranks, sizeof(*c->used));
	c->first = calloc(num_ranks, sizeof(*c->first));
	return c->used && c->first ? 0 : -ENOMEM;
}

static void clocks_use(struct clocks *c, uint32_t rank, uint8_t number)
{
	c->used[rank][number / 64] |= 1ull << number % 64;
}

static int clocks_start(struct clocks *c, uint32_t num_ranks)
{
	size_t num = 0;

	for (uint32_t rank = 0; rank < num_ranks; rank++) {
		c->first[rank] = num;
		for (int i = 0; i < 4; i++)
			num += (size_t)__builtin_popcountll(c->used[rank][i]);
	}
	c->free_ns = calloc(num ? num : 1, sizeof(*c->free_ns));
	return c->free_ns ? 0 : -ENOMEM;
}

static uint64_t *clock_of(const struct clocks *c, uint32_t rank, uint8_t number)
{
	const uint64_t *used = c->used[rank];
	size_t at = c->first[rank];

	for (int i = 0; i < number / 64; i++)
		at += (size_t)__builtin_popcountll(used[i]);
	at += (size_t)__builtin_popcountll(used[number / 64] & ((1ull << number % 64) - 1));
	return &c->free_ns[at];
}

static void clocks_free(struct clocks *c)
{
	free(c->used);
	free(c->first);
	free(c->free_ns);
}

/* ---- times ---------------------------------------------------------------------------------- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Times stay below MODEL_MAX_NS, so their sums do not wrap; beyond it the run is aborted. */
static uint64_t add_ns(struct model *m, uint64_t a, uint64_t b)
{
	if (b > MODEL_MAX_NS || a + b > MODEL_MAX_NS) {
		m->overflow = true;
		return MODEL_MAX_NS;
	}
	return a + b;
}

/* The time of all bytes but the first, whose time is part of o and g. */
static uint64_t bytes_ns(struct model *m, uint64_t size, uint64_t ns_per_byte)
{
	uint64_t ns;

	if (size <= 1)
		return 0;
	if (__builtin_mul_overflow(size - 1, ns_per_byte, &ns) || ns > MODEL_MAX_NS) {
		m->overflow = true;
		return MODEL_MAX_NS;
	}
	return ns;
}

/* ---- events --------------------------------------------------------------------------------- */

static void push(struct model *m, struct event e)
{
	assert(m->num_events < m->set->num_ops);
	heap_push(m->heap, m->num_events++, &e, sizeof(e));
}

static struct event pop(struct model *m)
{
	struct event top;

	heap_pop(m->heap, m->num_events--, &top, sizeof(top));
	return top;
}

/* The time from which op's own cpu and, for a send, its nic are free. */
static uint64_t free_from(const struct model *m, uint32_t op)
{
	const struct goal_op *o = &m->set->ops[op];
	uint32_t rank = match_rank(m->match, op);
	uint64_t t = *clock_of(&m->cpu, rank, o->cpu);

	if (o->kind == GOAL_OP_SEND)
		t = later(t, *clock_of(&m->tx, rank, o->nic));
	return t;
}

static void start(struct model *m, uint32_t op)
{
	push(m, (struct event){
		    .time = later(free_from(m, op), m->ready_ns[op]),
		    .age = m->next_age++,
		    .op = op,
		});
}

/* op has started, or ended, at t. */
static void release(struct model *m, uint32_t op, enum goal_wait wait, uint64_t t)
{
	const struct goal_edges *e = &m->set->edges[wait];

	for (uint32_t i = e->first[op]; i < e->first[op + 1]; i++) {
		uint32_t next = e->target[i];

		m->ready_ns[next] = later(m->ready_ns[next], t);
		if (!--m->waits[next])
			m->ready[m->num_ready++] = next;
	}
	if (wait == GOAL_WAIT_END)
		m->num_done++;
}

/* Starts those of the operations that belong to this rank and kind, in their order. */
static void start_some(struct model *m, uint32_t rank, uint8_t kind)
{
	for (uint32_t i = 0; i < m->num_ready; i++)
		if (m->set->ops[m->ready[i]].kind == kind &&
		    match_rank(m->match, m->ready[i]) == rank)
			start(m, m->ready[i]);
}

/* An event makes operations ready of one rank, or of both ends of a message. */
static void start_ready(struct model *m)
{
	uint32_t low = GOAL_NO_OP, high = 0;

	for (uint32_t i = 0; i < m->num_ready; i++) {
		uint32_t rank = match_rank(m->match, m->ready[i]);

		low = rank < low ? rank : low;
		high = rank > high ? rank : high;
	}
	for (uint8_t kind = GOAL_OP_SEND; m->num_ready && kind <= GOAL_OP_CALC; kind++)
		start_some(m, low, kind);
	for (uint8_t kind = GOAL_OP_SEND; low < high && kind <= GOAL_OP_CALC; kind++)
		start_some(m, high, kind);
	m->num_ready = 0;
}

/* Operations without dependencies, at time 0. */
static void start_first(struct model *m)
{
	const struct goal_set *set = m->set;

	for (uint32_t rank = 0; rank < set->num_ranks; rank++)
		for (uint8_t kind = GOAL_OP_SEND; kind <= GOAL_OP_CALC; kind++)
			for (uint32_t op = set->rank_first[rank]; op < set->rank_first[rank + 1];
			     op++)
				if (!set->num_waits[op] && set->ops[op].kind == kind)
					start(m, op);
}

/* ---- the rules ------------------------------------------------------------------------------ */

static void do_calc(struct model *m, const struct event *e)
{
	const struct goal_op *o = &m->set->ops[e->op];
	uint64_t *cpu = clock_of(&m->cpu, match_rank(m->match, e->op), o->cpu);

	*cpu = add_ns(m, e->time, o->size);
	release(m, e->op, GOAL_WAIT_START, e->time);
	release(m, e->op, GOAL_WAIT_END, *cpu);
}

static void do_send(struct model *m, const struct event *e)
{
	const struct goal_op *o = &m->set->ops[e->op];
	uint32_t rank = match_rank(m->match, e->op);
	uint64_t t = e->time;

	*clock_of(&m->cpu, rank, o->cpu) = add_ns(m, t, m->p.o + bytes_ns(m, o->size, m->p.O));
	*clock_of(&m->tx, rank, o->nic) = add_ns(m, t, m->p.g + bytes_ns(m, o->size, m->p.G));
	push(m, (struct event){
		    .time = add_ns(m, t, m->p.o + m->p.L),
		    .age = m->next_age++,
		    .op = e->op,
		    .msg = true,
		});
	release(m, e->op, GOAL_WAIT_START, t);
	if (o->size <= m->p.S)
		release(m, e->op, GOAL_WAIT_END, t);
}

/* Receive recv took the message of send at t. A large one has kept its sender waiting. */
static void do_match(struct model *m, uint32_t send, uint32_t recv, uint64_t t)
{
	const struct goal_op *o = &m->set->ops[send];

	if (o->size > m->p.S) {
		uint32_t rank = match_rank(m->match, send);
		uint64_t *cpu = clock_of(&m->cpu, rank, o->cpu);
		uint64_t *tx = clock_of(&m->tx, rank, o->nic);

		*cpu = later(*cpu, t);
		*tx = later(*tx, t);
		release(m, send, GOAL_WAIT_END, t);
	}
	release(m, recv, GOAL_WAIT_END, t);
}

static void do_recv(struct model *m, const struct event *e)
{
	uint32_t send = match_take_or_wait(m->match, e->op);

	release(m, e->op, GOAL_WAIT_START, e->time);
	if (send != GOAL_NO_OP)
		do_match(m, send, e->op, e->time);
}

/* The send names the cpu and nic of the receiver. */
static void do_arrival(struct model *m, const struct event *e, uint64_t *cpu, uint64_t *rx)
{
	const struct goal_op *o = &m->set->ops[e->op];
	uint64_t cpu_ns = bytes_ns(m, o->size, m->p.O), nic_ns = bytes_ns(m, o->size, m->p.G);
	uint32_t recv;

	*cpu = add_ns(m, e->time, m->p.o + later(cpu_ns, nic_ns));
	*rx = add_ns(m, e->time, m->p.g + nic_ns);
	recv = match_take_or_wait(m->match, e->op);
	if (recv != GOAL_NO_OP)
		do_match(m, e->op, recv, e->time);
}

static void do_event(struct model *m, struct event e)
{
	const struct goal_op *o = &m->set->ops[e.op];
	uint64_t *cpu, *rx, free_ns;

	if (e.msg) {
		cpu = clock_of(&m->cpu, o->peer, o->cpu);
		rx = clock_of(&m->rx, o->peer, o->nic);
		free_ns = later(*cpu, *rx);
		if (free_ns <= e.time)
			do_arrival(m, &e, cpu, rx);
	} else if (o->kind == GOAL_OP_RECV) {
		free_ns = 0; /* posting costs nothing */
		do_recv(m, &e);
	} else {
		free_ns = free_from(m, e.op);
		if (free_ns <= e.time && o->kind == GOAL_OP_SEND)
			do_send(m, &e);
		else if (free_ns <= e.time)
			do_calc(m, &e);
	}
	if (free_ns > e.time) {
		e.time = free_ns;
		push(m, e);
	}
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int create_clocks(struct model *m)
{
	const struct goal_set *set = m->set;
	struct clocks *all[] = {&m->cpu, &m->tx, &m->rx};

	for (int i = 0; i < 3; i++)
		if (clocks_create(all[i], set->num_ranks))
			return -ENOMEM;
	for (uint32_t op = 0; op < set->num_ops; op++) {
		const struct goal_op *o = &set->ops[op];
		uint32_t rank = match_rank(m->match, op);

		clocks_use(&m->cpu, rank, o->cpu);
		if (o->kind != GOAL_OP_SEND)
			continue;
		clocks_use(&m->tx, rank, o->nic);
		clocks_use(&m->cpu, o->peer, o->cpu);
		clocks_use(&m->rx, o->peer, o->nic);
	}
	for (int i = 0; i < 3; i++)
		if (clocks_start(all[i], set->num_ranks))
			return -ENOMEM;
	return 0;
}

static int create(struct model *m, const struct goal_set *set)
{
	size_t num = (size_t)set->num_ops + 1;

	m->match = match_create(set);
	m->heap = malloc(num * sizeof(*m->heap));
	m->waits = malloc(num * sizeof(*m->waits));
	m->ready_ns = calloc(num, sizeof(*m->ready_ns));
	m->ready = malloc(num * sizeof(*m->ready));
	if (!m->match || !m->heap || !m->waits || !m->ready_ns || !m->ready || create_clocks(m))
		return -ENOMEM;
	memcpy(m->waits, set->num_waits, (num - 1) * sizeof(*m->waits));
	return 0;
}

static int take_result(const struct model *m, struct model_result *result)
{
	const struct goal_set *set = m->set;

	result->num_unmatched = match_waiting(m->match, NULL);
	assert(result->num_unmatched || m->num_done == set->num_ops);
	result->rank_ns = calloc(set->num_ranks, sizeof(*result->rank_ns));
	result->unmatched = calloc((size_t)result->num_unmatched + 1, sizeof(*result->unmatched));
	if (!result->rank_ns || !result->unmatched) {
		model_result_free(result);
		return -ENOMEM;
	}
	match_waiting(m->match, result->unmatched);
	for (uint32_t rank = 0; rank < set->num_ranks; rank++) {
		size_t at = m->cpu.first[rank];
		uint64_t ns = 0;

		for (int i = 0; i < 4; i++)
			for (int n = __builtin_popcountll(m->cpu.used[rank][i]); n > 0; n--)
				ns = later(ns, m->cpu.free_ns[at++]);
		result->rank_ns[rank] = ns;
		if (ns > result->finish_ns) {
			result->finish_ns = ns;
			result->last_rank = rank;
		}
	}
	return 0;
}

int model_run(const struct goal_set *set, const struct model_params *params,
	      struct model_result *result)
{
	struct model m = {.set = set, .p = *params};
	int rc = create(&m, set);

	*result = (struct model_result){0};
	if (!rc)
		start_first(&m);
	while (!rc && m.num_events) {
		do_event(&m, pop(&m));
		start_ready(&m);
		if (m.overflow)
			rc = -ERANGE;
	}
	if (!rc)
		rc = take_result(&m, result);
	match_free(m.match);
	clocks_free(&m.cpu);
	clocks_free(&m.tx);
	clocks_free(&m.rx);
	free(m.heap);
	free(m.waits);
	free(m.ready_ns);
	free(m.ready);
	return rc;
}

void model_result_free(struct model_result *result)
{
	free(result->rank_ns);
	free(result->unmatched);
	*result = (struct model_result){0};
}
