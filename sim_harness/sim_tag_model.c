/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of matches, and what they say of the order of arrival: see sim_tag_model.h.
 *
 * A match is compared with all operations of the queue that might have been waiting while its
 * message was under way. An operation that is not over yet remembers the messages that passed it.
 */
#include "sim_harness/sim_tag_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *list, size_t num, size_t elem_bytes)
{
	void *more;

	/* The lists grow at powers of two. */
	if (num & (num - 1))
		return list;
	more = realloc(list, (num ? num * 2 : 1) * elem_bytes);
	assert(more);
	return more;
}

static void *zeroed(size_t bytes)
{
	void *mem = calloc(1, bytes);

	assert(mem);
	return mem;
}

static bool complain(struct sim_tag_model *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool complain(struct sim_tag_model *model, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(model->why, sizeof(model->why), format, args);
	va_end(args);
	return false;
}

void sim_tag_model_init(struct sim_tag_model *model)
{
	memset(model, 0, sizeof(*model));
}

void sim_tag_model_free(struct sim_tag_model *model)
{
	uint32_t i, k;

	for (i = 0; i < model->num_ends; i++) {
		struct sim_tag_end *end = model->ends[i];

		for (k = 0; k < end->num_ops; k++) {
			free(end->ops[k]->passed);
			free(end->ops[k]);
		}
		free(end->ops);
		free(end->from);
		free(end);
	}
	for (i = 0; i < model->num_pairs; i++) {
		struct sim_tag_pair *pair = model->pairs[i];

		for (k = 0; k < pair->num_msgs; k++)
			free(pair->msgs[k]);
		free(pair->msgs);
		free(pair);
	}
	free(model->ends);
	free(model->pairs);
	free(model->edges);
	memset(model, 0, sizeof(*model));
}

struct sim_tag_end *sim_tag_end_new(struct sim_tag_model *model, uint32_t ip, uint32_t qpn)
{
	struct sim_tag_end *end = zeroed(sizeof(*end));

	end->index = model->num_ends;
	end->ip = ip;
	end->qpn = qpn;
	end->rx = end;
	model->ends = grow(model->ends, model->num_ends, sizeof(model->ends[0]));
	model->ends[model->num_ends++] = end;
	return end;
}

struct sim_tag_pair *sim_tag_pair_get(struct sim_tag_model *model, struct sim_tag_end *src,
				      struct sim_tag_end *dst)
{
	struct sim_tag_end *rx = dst->rx;
	struct sim_tag_pair *pair;
	uint32_t i;

	for (i = 0; i < rx->num_from; i++)
		if (rx->from[i]->src == src && rx->from[i]->dst == dst)
			return rx->from[i];
	pair = zeroed(sizeof(*pair));
	pair->index = model->num_pairs;
	pair->src = src;
	pair->dst = dst;
	model->pairs = grow(model->pairs, model->num_pairs, sizeof(model->pairs[0]));
	model->pairs[model->num_pairs++] = pair;
	rx->from = grow(rx->from, rx->num_from, sizeof(rx->from[0]));
	rx->from[rx->num_from++] = pair;
	return pair;
}

struct sim_tag_msg *sim_tag_msg_post(struct sim_tag_model *model, struct sim_tag_pair *pair)
{
	struct sim_tag_msg *msg = zeroed(sizeof(*msg));

	msg->pair = pair;
	msg->number = pair->num_msgs;
	msg->posted = ++model->events;
	msg->seen_by = msg->taken_by = UINT32_MAX;
	pair->msgs = grow(pair->msgs, pair->num_msgs, sizeof(pair->msgs[0]));
	pair->msgs[pair->num_msgs++] = msg;
	return msg;
}

void sim_tag_msg_unpost(struct sim_tag_msg *msg)
{
	struct sim_tag_pair *pair = msg->pair;

	assert(pair->msgs[pair->num_msgs - 1] == msg);
	pair->num_msgs--;
	free(msg);
}

static void settle(struct sim_tag_model *model, struct sim_tag_msg *msg)
{
	struct sim_tag_pair *pair = msg->pair;

	if (!msg->settled)
		msg->settled = ++model->events;
	while (pair->open < pair->num_msgs && pair->msgs[pair->open]->settled)
		pair->open++;
}

void sim_tag_msg_sent(struct sim_tag_model *model, struct sim_tag_msg *msg, bool ok)
{
	msg->sent = ++model->events;
	if (!ok)
		sim_tag_msg_lost(model, msg);
}

void sim_tag_msg_lost(struct sim_tag_model *model, struct sim_tag_msg *msg)
{
	msg->lost = true;
	settle(model, msg);
}

struct sim_tag_op *sim_tag_op_post(struct sim_tag_model *model, struct sim_tag_end *end)
{
	struct sim_tag_op *op = zeroed(sizeof(*op));

	op->end = end;
	op->index = end->num_ops;
	op->posted = ++model->events;
	end->ops = grow(end->ops, end->num_ops, sizeof(end->ops[0]));
	end->ops[end->num_ops++] = op;
	return op;
}

void sim_tag_op_unpost(struct sim_tag_op *op)
{
	struct sim_tag_end *end = op->end;

	assert(end->ops[end->num_ops - 1] == op);
	end->num_ops--;
	free(op->passed);
	free(op);
}

void sim_tag_op_cancel(struct sim_tag_model *model, struct sim_tag_op *op)
{
	if (!op->cancel)
		op->cancel = ++model->events;
}

bool sim_tag_op_takes(const struct sim_tag_op *op, const struct sim_tag_msg *msg)
{
	const struct sim_tag_end *src = msg->pair->src;

	if (op->msg != msg->msg)
		return false;
	if (!op->any_src && (op->src_ip != src->ip || op->src_qpn != src->qpn))
		return false;
	return op->msg || ((op->tag ^ msg->tag) & ~op->ignore) == 0;
}

/* The first of these arrived before the second: at once refuted, or kept as a conclusion. */
static bool arrived_before(struct sim_tag_model *model, const struct sim_tag_op *op,
			   struct sim_tag_msg *before, struct sim_tag_msg *after)
{
	if (before == after || before->lost || after->lost)
		return true;
	if (before->pair == after->pair) {
		if (before->number < after->number)
			return true;
		return complain(model,
				"order: operation %u of endpoint %u took message %u of endpoint %u "
				"before message %u, which it fits too",
				op->index, op->end->index, before->number, before->pair->src->index,
				after->number);
	}
	model->edges = grow(model->edges, model->num_edges, sizeof(model->edges[0]));
	model->edges[model->num_edges++] = (struct sim_tag_edge){before, after};
	return true;
}

static void pass(struct sim_tag_op *op, struct sim_tag_msg *msg)
{
	op->passed = grow(op->passed, op->num_passed, sizeof(op->passed[0]));
	op->passed[op->num_passed++] = msg;
	if (!op->cancel)
		op->must_match = true;
}

/* Operations that were over before every message under way was posted need no look any more. */
static void raise_low(struct sim_tag_end *end)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < end->num_from; i++) {
		const struct sim_tag_pair *pair = end->from[i];

		if (pair->open < pair->num_msgs && pair->msgs[pair->open]->posted < oldest)
			oldest = pair->msgs[pair->open]->posted;
	}
	while (end->low < end->num_ops && end->ops[end->low]->done &&
	       end->ops[end->low]->done < oldest)
		end->low++;
}

/* An operation took or saw a message: those before it in the queue which ask for it had reasons. */
static bool look_back(struct sim_tag_model *model, struct sim_tag_op *op, struct sim_tag_msg *msg)
{
	struct sim_tag_end *end = op->end;
	uint32_t i;

	raise_low(end);
	for (i = end->low; i < op->index; i++) {
		struct sim_tag_op *other = end->ops[i];

		if (other->failed || (other->done && other->done < msg->posted) ||
		    !sim_tag_op_takes(other, msg))
			continue;
		if (other->found_none && msg->seen_by < other->index)
			return complain(model,
					"order: peek %u of endpoint %u did not find message %u of "
					"endpoint %u, which operation %u had seen",
					other->index, end->index, msg->number,
					msg->pair->src->index, msg->seen_by);
		if (!other->done)
			pass(other, msg);
		else if (other->last && !arrived_before(model, other, other->last, msg))
			return false;
	}
	return true;
}

/* The operation is over and took this message last. */
static bool over(struct sim_tag_model *model, struct sim_tag_op *op, struct sim_tag_msg *last)
{
	bool ok = true;
	uint32_t i;

	op->done = ++model->events;
	op->last = last;
	for (i = 0; i < op->num_passed && ok && last; i++)
		ok = arrived_before(model, op, last, op->passed[i]);
	free(op->passed);
	op->passed = NULL;
	op->num_passed = 0;
	return ok;
}

/* The message is of the operation's kind, and under way. */
static bool may_take(struct sim_tag_model *model, const struct sim_tag_op *op,
		     const struct sim_tag_msg *msg)
{
	if (op->done)
		return complain(model, "completion: operation %u of endpoint %u completed twice",
				op->index, op->end->index);
	if (!sim_tag_op_takes(op, msg) || msg->pair->dst->rx != op->end)
		return complain(model,
				"match: operation %u of endpoint %u does not ask for message %u of "
				"endpoint %u",
				op->index, op->end->index, msg->number, msg->pair->src->index);
	/* A peek may be reported after the receive behind it. */
	if (msg->matched && (op->kind != SIM_TAG_PEEK || msg->taken_by < op->index))
		return complain(model, "match: message %u of endpoint %u came twice", msg->number,
				msg->pair->src->index);
	return true;
}

bool sim_tag_op_matched(struct sim_tag_model *model, struct sim_tag_op *op, struct sim_tag_msg *msg,
			bool ordered)
{
	if (!may_take(model, op, msg))
		return false;
	if (msg->waits && msg->sent && msg->sent < op->posted && !msg->lost)
		return complain(
		    model,
		    "completion: the send of message %u of endpoint %u completed before "
		    "its receive was posted",
		    msg->number, msg->pair->src->index);
	/* Messages of one buffer stand in it in the order of their arrival. */
	if (op->last && ordered && !arrived_before(model, op, op->last, msg))
		return false;
	msg->matched = true;
	msg->taken_by = op->index;
	model->matches++;
	if (!look_back(model, op, msg))
		return false;
	settle(model, msg);
	if (ordered)
		op->last = msg;
	return op->kind == SIM_TAG_MULTI || over(model, op, msg);
}

bool sim_tag_op_released(struct sim_tag_model *model, struct sim_tag_op *op)
{
	if (op->done || op->kind != SIM_TAG_MULTI)
		return complain(model, "completion: receive %u of endpoint %u was released twice",
				op->index, op->end->index);
	return over(model, op, op->last);
}

bool sim_tag_op_saw(struct sim_tag_model *model, struct sim_tag_op *op, struct sim_tag_msg *msg)
{
	if (!may_take(model, op, msg) || !look_back(model, op, msg))
		return false;
	if (op->index < msg->seen_by)
		msg->seen_by = op->index;
	return over(model, op, msg);
}

bool sim_tag_op_none(struct sim_tag_model *model, struct sim_tag_op *op)
{
	if (op->done)
		return complain(model, "completion: peek %u of endpoint %u completed twice",
				op->index, op->end->index);
	op->found_none = true;
	return over(model, op, NULL);
}

bool sim_tag_op_canceled(struct sim_tag_model *model, struct sim_tag_op *op)
{
	if (op->done || !op->cancel)
		return complain(model,
				"completion: receive %u of endpoint %u was withdrawn, but %s",
				op->index, op->end->index, op->done ? "was over" : "by nobody");
	if (op->must_match && op->kind != SIM_TAG_MULTI)
		return complain(
		    model,
		    "order: receive %u of endpoint %u was passed by a message, and then "
		    "withdrawn",
		    op->index, op->end->index);
	/* A message that passes it from now on says nothing of it. */
	op->failed = true;
	return over(model, op, NULL);
}

void sim_tag_op_failed(struct sim_tag_model *model, struct sim_tag_op *op)
{
	op->failed = true;
	if (!op->done)
		(void)over(model, op, NULL);
}

/* ---- cycles */

/* Messages as nodes of a graph: those of a pair in their order, and the conclusions. */
struct graph {
	size_t *first_of_pair; /* number of its first message */
	size_t num_nodes;
	size_t *start; /* of a node's edges in to[] */
	size_t *to;
	uint32_t *into; /* edges that lead to it from nodes which are not done */
	size_t *ready;
};

static size_t node_of(const struct graph *g, const struct sim_tag_msg *msg)
{
	return g->first_of_pair[msg->pair->index] + msg->number;
}

static void graph_make(struct graph *g, const struct sim_tag_model *model)
{
	size_t i, sum = 0;
	uint32_t k;

	g->first_of_pair = zeroed((model->num_pairs + 1) * sizeof(size_t));
	for (k = 0; k < model->num_pairs; k++) {
		g->first_of_pair[k] = g->num_nodes;
		g->num_nodes += model->pairs[k]->num_msgs;
	}
	g->start = zeroed((g->num_nodes + 2) * sizeof(size_t));
	g->to = zeroed((model->num_edges + g->num_nodes + 1) * sizeof(size_t));
	g->into = zeroed((g->num_nodes + 1) * sizeof(uint32_t));
	g->ready = zeroed((g->num_nodes + 1) * sizeof(size_t));
	for (i = 0; i < model->num_edges; i++)
		g->start[node_of(g, model->edges[i].before) + 2]++;
	for (i = 0; i < g->num_nodes + 2; i++)
		g->start[i] = sum += g->start[i];
	for (i = 0; i < model->num_edges; i++) {
		size_t after = node_of(g, model->edges[i].after);

		g->to[g->start[node_of(g, model->edges[i].before) + 1]++] = after;
		g->into[after]++;
	}
	for (k = 0; k < model->num_pairs; k++)
		for (i = 1; i < model->pairs[k]->num_msgs; i++)
			g->into[g->first_of_pair[k] + i]++;
}

/* Takes nodes that nothing leads to, again and again. Returns how many could be taken. */
static size_t graph_sort(struct graph *g, const struct sim_tag_model *model)
{
	size_t i, k, taken = 0, found = 0;
	bool *last = zeroed(g->num_nodes + 1); /* of its pair */

	for (i = 0; i < model->num_pairs; i++)
		if (model->pairs[i]->num_msgs)
			last[g->first_of_pair[i] + model->pairs[i]->num_msgs - 1] = true;
	for (i = 0; i < g->num_nodes; i++)
		if (!g->into[i])
			g->ready[found++] = i;
	while (taken < found) {
		i = g->ready[taken++];
		for (k = g->start[i]; k < g->start[i + 1]; k++)
			if (!--g->into[g->to[k]])
				g->ready[found++] = g->to[k];
		if (!last[i] && !--g->into[i + 1])
			g->ready[found++] = i + 1;
	}
	free(last);
	return taken;
}

bool sim_tag_model_check(struct sim_tag_model *model)
{
	struct graph g = {0};
	size_t taken;

	graph_make(&g, model);
	taken = graph_sort(&g, model);
	free(g.first_of_pair);
	free(g.start);
	free(g.to);
	free(g.into);
	free(g.ready);
	if (taken == g.num_nodes)
		return true;
	return complain(model,
			"order: no order of arrival explains the matches of %zu of %zu messages",
			g.num_nodes - taken, g.num_nodes);
}
