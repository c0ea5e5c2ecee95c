/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules of a file as a job: graphs, generated data, and the expected content of each
 * receive.
 *
 * A rank's buffer has its sends, operation after operation, a guard, and its receives. The data of
 * a message follow from its source, destination, tag, its number among those of equal source,
 * destination and tag, and the run. Where a rank has no wildcards the n-th receive from a source
 * and tag takes the n-th message (docs/collectives.md "Matching"); where it has some, every receive
 * must hold a message of its own that it may take.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/goal-run/goal_run.h"

#define NONE GOAL_NO_OP

enum {
	GUARD_BYTES = 64,
	GUARD = 0xa5,
};

struct op_place {
	uint64_t at;      /* in the rank's buffer */
	uint32_t partner; /* of a receive: the send; of a send: its receive. NONE */
	uint32_t number;  /* number of a send among equals */
};

struct job_rank {
	uint64_t recv_at, bytes;
	bool wild;
	uint32_t first_in, num_in; /* of sorted: messages to it */
};

struct file_job {
	struct job job;
	const struct goal_set *set;
	struct op_place *op;
	struct job_rank *rank;
	uint32_t *sorted; /* sends by destination, source, tag, in the order of the file */
	uint32_t num_sends;
	uint32_t *source; /* rank of each operation */
	uint32_t *taken;  /* for each operation, while wildcards are checked */
};

static const struct file_job *own(const struct job *job)
{
	return (const struct file_job *)(const void *)job;
}

static uint64_t seed_of(const struct file_job *j, uint32_t send, uint32_t run)
{
	const struct goal_op *o = &j->set->ops[send];
	uint64_t seed = job_word(run, j->source[send]);

	seed = job_word(seed, o->peer);
	seed = job_word(seed, o->tag);
	return job_word(seed, j->op[send].number);
}

/* ---- who gets what ------------------------------------------------------------------------- */

/* Sort key of a message, from either end. */
struct msg {
	uint32_t dest, source, tag, op;
};

static int by_key(const void *a, const void *b)
{
	const struct msg *x = a, *y = b;

	if (x->dest != y->dest)
		return x->dest < y->dest ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

static bool same_key(const struct msg *x, const struct msg *y)
{
	return x->dest == y->dest && x->source == y->source && x->tag == y->tag;
}

/* Numbers sends among equals, and assigns a send to each receive without wildcards. */
static void pair_up(struct file_job *j, const struct msg *sends, uint32_t num_sends,
		    const struct msg *recvs, uint32_t num_recvs)
{
	uint32_t i, k = 0, number = 0;

	for (i = 0; i < num_sends; i++) {
		struct job_rank *r = &j->rank[sends[i].dest];

		number = i && same_key(&sends[i - 1], &sends[i]) ? number + 1 : 0;
		j->op[sends[i].op].number = number;
		j->sorted[i] = sends[i].op;
		if (!r->num_in++)
			r->first_in = i;
	}
	for (i = 0; i < num_recvs; i++) {
		struct msg want = recvs[i];

		want.op = 0;
		while (k < num_sends && by_key(&sends[k], &want) < 0 && !same_key(&sends[k], &want))
			k++;
		if (k < num_sends && same_key(&sends[k], &want)) {
			j->op[recvs[i].op].partner = sends[k].op;
			j->op[sends[k].op].partner = recvs[i].op;
			k++;
		}
	}
}

static int match_all(struct file_job *j)
{
	const struct goal_set *set = j->set;
	struct msg *sends = calloc((size_t)set->num_ops + 1, sizeof(*sends));
	struct msg *recvs = calloc((size_t)set->num_ops + 1, sizeof(*recvs));
	uint32_t num_sends = 0, num_recvs = 0, i;

	for (i = 0; sends && recvs && i < set->num_ops; i++) {
		const struct goal_op *o = &set->ops[i];

		j->op[i].partner = NONE;
		if (o->kind == GOAL_OP_SEND)
			sends[num_sends++] = (struct msg){o->peer, j->source[i], o->tag, i};
		else if (o->kind == GOAL_OP_RECV && !j->rank[j->source[i]].wild)
			recvs[num_recvs++] = (struct msg){j->source[i], o->peer, o->tag, i};
	}
	j->num_sends = num_sends;
	j->sorted = calloc((size_t)num_sends + 1, sizeof(*j->sorted));
	if (sends && recvs && j->sorted) {
		qsort(sends, num_sends, sizeof(*sends), by_key);
		qsort(recvs, num_recvs, sizeof(*recvs), by_key);
		pair_up(j, sends, num_sends, recvs, num_recvs);
		i = 0;
	} else {
		i = 1;
	}
	free(sends);
	free(recvs);
	return i ? run_fail("%s: not enough memory", j->job.name) : RUN_OK;
}

/* ---- the job -------------------------------------------------------------------------------- */

static uint64_t bytes(const struct job *job, uint32_t rank)
{
	return own(job)->rank[rank].bytes;
}

static int64_t add_op(const struct file_job *j, struct goal_graph *g, uint32_t op, uint8_t *buf)
{
	const struct goal_op *o = &j->set->ops[op];
	struct goal_mem mem = {(uintptr_t)buf + j->op[op].at, o->size, false};

	switch ((enum goal_kind)o->kind) {
	case GOAL_OP_SEND:
		return goal_graph_msg(g, GOAL_INSN_SEND, &mem, 1, o->peer, o->tag);
	case GOAL_OP_RECV:
		return goal_graph_msg(g, GOAL_INSN_RECV, &mem, 1, o->peer, o->tag);
	case GOAL_OP_CALC:
		return goal_graph_calc(g, o->size, o->cpu);
	}
	return -1;
}

static int add_edges(const struct file_job *j, struct goal_graph *g, uint32_t first, uint32_t op)
{
	int rc = 0;

	for (enum goal_wait w = 0; w < GOAL_NUM_WAITS; w++) {
		const struct goal_edges *e = &j->set->edges[w];

		for (uint32_t i = e->first[op]; !rc && i < e->first[op + 1]; i++)
			rc = goal_graph_requires(g, op - first, e->target[i] - first,
						 w == GOAL_WAIT_START);
	}
	return rc;
}

static struct goal_graph *graph(const struct job *job, uint32_t rank, uint8_t *buf)
{
	const struct file_job *j = own(job);
	uint32_t first = j->set->rank_first[rank], end = j->set->rank_first[rank + 1], i;
	struct goal_graph *g = goal_graph_new(rank, job->num_ranks);
	int64_t rc = g ? 0 : -1;

	for (i = first; rc >= 0 && i < end; i++)
		rc = add_op(j, g, i, buf);
	/* A rank without operations still takes part in the run. */
	if (rc >= 0 && first == end)
		rc = goal_graph_nop(g);
	for (i = first; rc >= 0 && i < end; i++)
		rc = add_edges(j, g, first, i);
	if (rc >= 0)
		return g;
	run_fail("%s: rank %" PRIu32 ": its schedule is too large for a NIC, or for memory",
		 job->name, rank);
	goal_graph_free(g);
	return NULL;
}

static void fill(const struct job *job, uint32_t rank, uint32_t run, uint8_t *buf)
{
	const struct file_job *j = own(job);

	for (uint32_t i = j->set->rank_first[rank]; i < j->set->rank_first[rank + 1]; i++)
		if (j->set->ops[i].kind == GOAL_OP_SEND)
			job_fill(seed_of(j, i, run), buf + j->op[i].at, j->set->ops[i].size);
	memset(buf + j->rank[rank].recv_at, GUARD, j->rank[rank].bytes - j->rank[rank].recv_at);
}

static uint64_t untouched(const uint8_t *at, uint64_t size)
{
	uint64_t i = 0;

	while (i < size && at[i] == GUARD)
		i++;
	return i;
}

/* The first byte of a receive that is wrong if it took this send; its size: none. */
static uint64_t first_wrong(const struct file_job *j, uint32_t recv, uint32_t send, uint32_t run,
			    const uint8_t *at)
{
	uint64_t room = j->set->ops[recv].size, size = j->set->ops[send].size, same;

	if (size > room)
		return 0;
	same = job_differs(seed_of(j, send, run), at, size);
	return same < size ? same : size + untouched(at + size, room - size);
}

static bool wrong_byte(const struct job *job, uint32_t rank, uint32_t op, uint64_t at)
{
	char text[120];

	job->ops->describe(job, rank, op - own(job)->set->rank_first[rank], text, sizeof(text));
	run_fail("%s: rank %" PRIu32 ": %s: byte %" PRIu64 " is wrong", job->name, rank, text, at);
	return false;
}

/*
 * Finds a message for a receive, also among those that others took if they can take another one:
 * the result must be a matching, and short messages may look alike.
 */
static bool find_message(const struct file_job *j, uint32_t recv, uint32_t run, const uint8_t *buf,
			 uint8_t *tried)
{
	const struct job_rank *r = &j->rank[j->source[recv]];
	const struct goal_op *o = &j->set->ops[recv];
	uint32_t i;

	for (i = 0; i < r->num_in; i++) {
		uint32_t send = j->sorted[r->first_in + i];

		if (tried[i] || (o->peer != GOAL_ANY && o->peer != j->source[send]) ||
		    (o->tag != GOAL_ANY && o->tag != j->set->ops[send].tag) ||
		    first_wrong(j, recv, send, run, buf + j->op[recv].at) < o->size ||
		    j->set->ops[send].size > o->size)
			continue;
		tried[i] = 1;
		if (j->taken[send] == NONE || find_message(j, j->taken[send], run, buf, tried)) {
			j->taken[send] = recv;
			return true;
		}
	}
	return false;
}

static bool check_wild(const struct job *job, uint32_t rank, uint32_t run, const uint8_t *buf)
{
	const struct file_job *j = own(job);
	const struct job_rank *r = &j->rank[rank];
	uint8_t *tried = malloc((size_t)r->num_in + 1);
	bool right = tried != NULL;
	uint32_t i;

	for (i = 0; i < r->num_in; i++)
		j->taken[j->sorted[r->first_in + i]] = NONE;
	for (i = j->set->rank_first[rank]; right && i < j->set->rank_first[rank + 1]; i++) {
		if (j->set->ops[i].kind != GOAL_OP_RECV)
			continue;
		memset(tried, 0, r->num_in);
		right = find_message(j, i, run, buf, tried);
		if (!right)
			run_fail("%s: rank %" PRIu32 ", line %" PRIu32
				 ": the receive holds no message that it may take",
				 job->name, rank, j->set->ops[i].line);
	}
	free(tried);
	return right;
}

static bool check(const struct job *job, uint32_t rank, uint32_t run, const uint8_t *buf)
{
	const struct file_job *j = own(job);
	const struct job_rank *r = &j->rank[rank];
	uint64_t at = untouched(buf + r->recv_at, GUARD_BYTES);

	if (at < GUARD_BYTES) {
		run_fail("%s: rank %" PRIu32 ": bytes in front of its receives are wrong",
			 job->name, rank);
		return false;
	}
	if (r->wild)
		return check_wild(job, rank, run, buf);
	for (uint32_t i = j->set->rank_first[rank]; i < j->set->rank_first[rank + 1]; i++) {
		const struct goal_op *o = &j->set->ops[i];

		if (o->kind != GOAL_OP_RECV || j->op[i].partner == NONE)
			continue;
		at = first_wrong(j, i, j->op[i].partner, run, buf + j->op[i].at);
		if (at < o->size)
			return wrong_byte(job, rank, i, at);
	}
	return true;
}

static void describe(const struct job *job, uint32_t rank, uint32_t op, char *text, size_t room)
{
	const struct goal_set *set = own(job)->set;
	uint32_t i = set->rank_first[rank] + op;
	char where[32] = "", peer[12], tag[12];
	int n;

	text[0] = '\0';
	if (i < set->rank_first[rank] || i >= set->rank_first[rank + 1])
		return;
	if (set->ops[i].line)
		snprintf(where, sizeof(where), "line %" PRIu32 ": ", set->ops[i].line);
	n = snprintf(text, room, "%s%s of %" PRIu64, where, goal_kind_str(set->ops[i].kind),
		     set->ops[i].size);
	if (set->ops[i].kind != GOAL_OP_CALC && n >= 0 && (size_t)n < room)
		snprintf(text + n, room - (size_t)n, ", %s %s, tag %s",
			 set->ops[i].kind == GOAL_OP_SEND ? "to" : "from",
			 goal_number_or_any(peer, set->ops[i].peer),
			 goal_number_or_any(tag, set->ops[i].tag));
}

static void free_job(struct job *job)
{
	struct file_job *j = (struct file_job *)(void *)job;

	free(j->op);
	free(j->rank);
	free(j->sorted);
	free(j->source);
	free(j->taken);
	free(j);
}

static const struct job_ops ops = {
    .bytes = bytes,
    .graph = graph,
    .fill = fill,
    .check = check,
    .describe = describe,
    .free = free_job,
};

/*
 * The set with its messages matched as on NICs: where a rank has no wildcards the n-th receive of a
 * source and tag takes the n-th message, whichever is ready first. A tag for each pair makes a
 * matcher by arrival do so. NULL: no memory; else only the operations are to be freed.
 */
static struct goal_op *paired(const struct file_job *j)
{
	const struct goal_set *set = j->set;
	struct goal_op *copy = malloc(((size_t)set->num_ops + 1) * sizeof(*copy));
	uint32_t i;

	if (!copy)
		return NULL;
	memcpy(copy, set->ops, (size_t)set->num_ops * sizeof(*copy));
	for (i = 0; i < set->num_ops; i++) {
		bool send = copy[i].kind == GOAL_OP_SEND;

		if (copy[i].kind == GOAL_OP_CALC ||
		    j->rank[send ? copy[i].peer : j->source[i]].wild)
			continue;
		copy[i].tag = send || j->op[i].partner == NONE ? i : j->op[i].partner;
	}
	return copy;
}

uint32_t job_file_unmatched(const struct job *job, const struct goal_set *set)
{
	struct goal_op *copy = paired(own(job));
	struct goal_set as_on_nics = *set;
	uint32_t num;

	if (!copy)
		return 0;
	as_on_nics.ops = copy;
	num = predict_unmatched(job->name, &as_on_nics, set);
	free(copy);
	return num;
}

/* Available memory in bytes; UINT64_MAX: not known. */
static uint64_t free_memory(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kib = UINT64_MAX / 1024;
	char line[100];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

/* Buffers of all ranks are in this process. */
static int check_memory(const struct file_job *j)
{
	uint64_t sum = 0, there = free_memory();
	uint32_t rank;

	for (rank = 0; rank < j->set->num_ranks; rank++)
		if (__builtin_add_overflow(sum, j->rank[rank].bytes, &sum))
			sum = UINT64_MAX;
	if (sum <= there)
		return RUN_OK;
	return run_fail(
	    "%s: its messages need %.1f GB of buffers, and %.1f GB of memory are free here "
	    "(--model needs none)",
	    j->job.name, (double)sum / 1e9, (double)there / 1e9);
}

/* Places in a rank's buffer: one range that is read, one that is written. */
static int lay_out(struct file_job *j, uint32_t rank)
{
	const struct goal_set *set = j->set;
	struct job_rank *r = &j->rank[rank];
	uint64_t size[2] = {0, 0}, at;
	uint32_t i;

	for (i = set->rank_first[rank]; i < set->rank_first[rank + 1]; i++) {
		const struct goal_op *o = &set->ops[i];

		j->source[i] = rank;
		if (o->kind == GOAL_OP_CALC)
			continue;
		if (o->kind == GOAL_OP_SEND && o->tag == GOAL_ANY)
			return run_fail("%s: line %" PRIu32 ": a send to any tag: a NIC's messages "
					"have one, give it a number",
					j->job.name, o->line);
		if (o->size > GOAL_MAX_MSG_BYTES || size[o->kind] > GOAL_MAX_MSG_BYTES)
			return run_fail("%s: line %" PRIu32 ": more bytes than a rank can have",
					j->job.name, o->line);
		r->wild = r->wild ||
			  (o->kind == GOAL_OP_RECV && (o->peer == GOAL_ANY || o->tag == GOAL_ANY));
		j->op[i].at = size[o->kind];
		size[o->kind] += o->size;
	}
	r->recv_at = size[GOAL_OP_SEND];
	at = r->recv_at + GUARD_BYTES;
	r->bytes = at + size[GOAL_OP_RECV];
	for (i = set->rank_first[rank]; i < set->rank_first[rank + 1]; i++)
		if (set->ops[i].kind == GOAL_OP_RECV)
			j->op[i].at += at;
	return RUN_OK;
}

struct job *job_file(const char *name, const struct goal_set *set)
{
	struct file_job *j = calloc(1, sizeof(*j));
	int rc = RUN_OK;

	if (!j) {
		run_fail("%s: not enough memory", name);
		return NULL;
	}
	j->job = (struct job){&ops, name, set->num_ranks, set->num_ops};
	j->set = set;
	j->op = calloc((size_t)set->num_ops + 1, sizeof(*j->op));
	j->source = calloc((size_t)set->num_ops + 1, sizeof(*j->source));
	j->taken = calloc((size_t)set->num_ops + 1, sizeof(*j->taken));
	j->rank = calloc(set->num_ranks, sizeof(*j->rank));
	if (!j->op || !j->source || !j->taken || !j->rank)
		rc = run_fail("%s: not enough memory", name);
	for (uint32_t rank = 0; rc == RUN_OK && rank < set->num_ranks; rank++)
		rc = lay_out(j, rank);
	if (rc == RUN_OK)
		rc = check_memory(j);
	if (rc == RUN_OK)
		rc = match_all(j);
	if (rc == RUN_OK)
		return &j->job;
	free_job(&j->job);
	return NULL;
}
