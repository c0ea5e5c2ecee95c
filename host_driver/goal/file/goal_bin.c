/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the binary schedules that LogGOPSim's txt2bin writes.
 *
 * docs/goal-format.md describes the layout. The bytes are untrusted: each count is checked against
 * the bytes available before it is used, ranks may not share bytes, and redundant fields must
 * agree. Calls goal_set.c.
 */
#include "host_driver/goal/file/goal_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAGIC = 4223,
	/* Written by LogGOPSim --save-mem, which has decremented the dependency counts. */
	MAGIC_SPENT = 2342,
	MAGIC_BYTES = 8,
	HEADER_BYTES = 6, /* ranks, last cpu, last nic; offsets count from the end of these bytes */
	JUMP_BYTES = 16,
	RANK_BYTES = 8, /* number of nodes and number of roots */
	NODE_BYTES = 39,

	TYPE_SEND = 1,
	TYPE_RECV = 2,
	TYPE_CALC = 3,
};

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t le64(const uint8_t *p)
{
	return le32(p) | (uint64_t)le32(p + 4) << 32;
}

struct bin {
	const uint8_t *body; /* the bytes after the magic number */
	uint64_t bytes;
	uint32_t num_ranks;
	uint8_t max_cpu, max_nic;
	struct goal_build build;
};

/* The parts of one rank in the file, bounds-checked. */
struct rank_part {
	uint32_t rank;
	uint32_t num_nodes, num_roots;
	const uint8_t *roots, *nodes, *appendix;
	uint64_t num_appendix;
	uint32_t first_op;
};

static int fail(const struct bin *b, uint32_t rank, const char *what)
{
	return goal_error_at(b->build.err, b->build.name, 0, "rank %" PRIu32 ": %s", rank, what);
}

static int fail_node(const struct bin *b, const struct rank_part *part, uint32_t node,
		     const char *what)
{
	return goal_error_at(b->build.err, b->build.name, 0,
			     "rank %" PRIu32 ", operation %" PRIu32 ": %s", part->rank, node, what);
}

/*
 * Reads the edges of one node: count entries of the appendix, starting at first, name waiting
 * operations.
 */
static int take_waits(struct bin *b, const struct rank_part *part, uint32_t node,
		      enum goal_wait wait, uint64_t *used)
{
	const uint8_t *p =
	    part->nodes + (uint64_t)node * NODE_BYTES + (wait == GOAL_WAIT_END ? 23 : 31);
	uint64_t count = le32(p), first = le32(p + 4);

	if (!count)
		return 0;
	*used += count;
	/* Overlapping lists would let a small file expand into a large graph. */
	if (first + count > part->num_appendix || *used > part->num_appendix)
		return fail_node(b, part, node, "its dependents lie outside the appendix");
	for (uint64_t i = first; i < first + count; i++) {
		uint32_t op = le32(part->appendix + i * 4);
		int rc;

		if (op >= part->num_nodes)
			return fail_node(b, part, node,
					 "a dependent is not an operation of this rank");
		if (op == node)
			return fail_node(b, part, node, "this operation waits for itself");
		rc = goal_build_wait(&b->build, wait, part->first_op + op, part->first_op + node);
		if (rc)
			return rc;
	}
	return 0;
}

static int take_node(struct bin *b, const struct rank_part *part, uint32_t node)
{
	const uint8_t *p = part->nodes + (uint64_t)node * NODE_BYTES;
	struct goal_op op = {
	    .peer = le32(p + 5),
	    .size = le64(p + 9),
	    .tag = le32(p + 17),
	    .cpu = p[21],
	    .nic = p[22],
	};

	switch (p[4]) {
	case TYPE_SEND:
		op.kind = GOAL_OP_SEND;
		break;
	case TYPE_RECV:
		op.kind = GOAL_OP_RECV;
		break;
	case TYPE_CALC:
		/* txt2bin writes arbitrary values into the fields that a calc does not use. */
		op.kind = GOAL_OP_CALC;
		op.peer = op.tag = op.nic = 0;
		break;
	default:
		return fail_node(b, part, node, "its type is not send, recv or calc");
	}
	if (op.cpu > b->max_cpu || op.nic > b->max_nic)
		return fail_node(b, part, node, "its cpu or nic is above the file's own maximum");
	return goal_build_op(&b->build, &op);
}

/* Checks that the dependency counts and the list of roots match the edges. */
static int check_counts(const struct bin *b, const struct rank_part *part)
{
	uint32_t *waits = calloc((size_t)part->num_nodes + 1, sizeof(*waits));
	uint32_t roots = 0;
	int rc = 0;

	if (!waits)
		return goal_error_memory(b->build.err, b->build.name);
	for (int w = 0; w < GOAL_NUM_WAITS; w++) {
		const struct goal_pairs *pairs = &b->build.pairs[w];

		/* The pairs of this rank are at the end of the array. */
		for (size_t i = pairs->num; i-- > 0 && pairs->pair[i].op >= part->first_op;)
			waits[pairs->pair[i].op - part->first_op]++;
	}
	for (uint32_t i = 0; i < part->num_nodes && !rc; i++) {
		if (le32(part->nodes + (uint64_t)i * NODE_BYTES) != waits[i])
			rc = fail_node(b, part, i,
				       "its number of dependencies does not match the edges");
		roots += !waits[i];
	}
	if (!rc && roots != part->num_roots)
		rc = fail(b, part->rank, "the list of operations without dependencies is wrong");
	for (uint32_t i = 0; i < part->num_roots && !rc; i++) {
		uint32_t op = le32(part->roots + (uint64_t)i * 4);

		/* A root may appear once: the increment makes a second one fail. */
		if (op >= part->num_nodes || waits[op]++)
			rc = fail(b, part->rank,
				  "the list of operations without dependencies is wrong");
	}
	free(waits);
	return rc;
}

/*
 * Finds the parts of a rank. *at is the end of the previous rank, and is advanced to the end of
 * this one.
 */
static int find_rank(const struct bin *b, uint32_t rank, uint64_t *at, struct rank_part *part)
{
	const uint8_t *jump = b->body + HEADER_BYTES + (uint64_t)rank * JUMP_BYTES;
	uint64_t start = le64(jump), end = le64(jump + 8), fixed;

	if (start < *at || end < start || end > b->bytes)
		return fail(b, rank, "its position is outside the file or within another rank");
	*at = end;
	if (end - start < RANK_BYTES)
		return fail(b, rank, "it is cut short");
	part->rank = rank;
	part->num_nodes = le32(b->body + start);
	part->num_roots = le32(b->body + start + 4);
	fixed = RANK_BYTES + (uint64_t)part->num_roots * 4 + (uint64_t)part->num_nodes * NODE_BYTES;
	if (end - start < fixed || (end - start - fixed) % 4)
		return fail(b, rank, "it is cut short");
	part->roots = b->body + start + RANK_BYTES;
	part->nodes = part->roots + (uint64_t)part->num_roots * 4;
	part->appendix = b->body + start + fixed;
	part->num_appendix = (end - start - fixed) / 4;
	return 0;
}

static int take_rank(struct bin *b, uint32_t rank, uint64_t *at)
{
	struct rank_part part = {0};
	uint64_t used = 0;
	int rc = find_rank(b, rank, at, &part);

	if (!rc)
		rc = goal_build_rank(&b->build);
	part.first_op = (uint32_t)b->build.num_ops;
	for (uint32_t i = 0; !rc && i < part.num_nodes; i++)
		rc = take_node(b, &part, i);
	for (uint32_t i = 0; !rc && i < part.num_nodes; i++) {
		rc = take_waits(b, &part, i, GOAL_WAIT_END, &used);
		if (!rc)
			rc = take_waits(b, &part, i, GOAL_WAIT_START, &used);
	}
	if (!rc)
		rc = check_counts(b, &part);
	return rc;
}

static int take_file(struct bin *b)
{
	uint64_t at;
	int rc = 0;

	if (b->bytes < HEADER_BYTES)
		return goal_error_at(b->build.err, b->build.name, 0, "the file is cut short");
	b->num_ranks = le32(b->body);
	b->max_cpu = b->body[4];
	b->max_nic = b->body[5];
	at = HEADER_BYTES + (uint64_t)b->num_ranks * JUMP_BYTES;
	if (at > b->bytes)
		return goal_error_at(b->build.err, b->build.name, 0,
				     "the file is too short for %" PRIu32 " ranks", b->num_ranks);
	for (uint32_t rank = 0; !rc && rank < b->num_ranks; rank++)
		rc = take_rank(b, rank, &at);
	if (!rc && at != b->bytes)
		return goal_error_at(b->build.err, b->build.name, 0,
				     "there is data after the last rank");
	return rc;
}

bool goal_bin_is(const void *data, size_t bytes)
{
	uint64_t magic;

	if (bytes < MAGIC_BYTES)
		return false;
	magic = le64(data);
	return magic == MAGIC || magic == MAGIC_SPENT;
}

int goal_bin_read(const void *data, size_t bytes, const char *name, struct goal_set *set,
		  struct goal_error *err)
{
	struct bin b = {0};
	int rc;

	*set = (struct goal_set){0};
	goal_build_init(&b.build, name, err);
	if (!goal_bin_is(data, bytes))
		return goal_error_at(err, name, 0, "not a binary GOAL schedule");
	if (le64(data) == MAGIC_SPENT)
		return goal_error_at(
		    err, name, 0, "LogGOPSim --save-mem has consumed this file: generate it again");
	b.body = (const uint8_t *)data + MAGIC_BYTES;
	b.bytes = bytes - MAGIC_BYTES;
	rc = take_file(&b);
	if (!rc)
		rc = goal_build_finish(&b.build, set);
	else
		goal_build_drop(&b.build);
	return rc;
}
