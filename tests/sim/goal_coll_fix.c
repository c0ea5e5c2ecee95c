/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See goal_coll_fix.h.
 */
#include "tests/sim/goal_coll_fix.h"

enum {
	GUARD_BYTES = 64,
	GUARD = 0xa5,
};

size_t coll_fix_bytes(uint32_t ranks, uint64_t block_bytes)
{
	return 2 * (ranks * block_bytes + 2 * GUARD_BYTES);
}

void coll_fix_begin(struct goal_fix *fix, uint64_t seed, uint32_t ranks, uint64_t block_bytes,
		    const struct goal_fix_attr *attr)
{
	struct goal_fix_attr mine = attr ? *attr : (struct goal_fix_attr){0};
	size_t pool = 262144;

	/* Unexpected messages: at most twice the bytes that one run receives, and one page each. */
	while (pool < 4 * ranks * block_bytes)
		pool *= 2;
	mine.bytes = (coll_fix_bytes(ranks, block_bytes) + 4095) & ~(size_t)4095;
	mine.pool_bytes = pool;
	goal_fix_begin(fix, seed, ranks, &mine);
}

uint32_t coll_fix_sweep(void)
{
	const char *text = getenv("WEFT_COLL_SWEEP");
	long value = text ? strtol(text, NULL, 10) : 1;

	return value < 1 ? 1 : (uint32_t)value;
}

uint32_t coll_fix_draw(uint64_t *state, uint32_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % limit);
}

/* ---- elements -------------------------------------------------------------------------------- */

struct shape {
	const struct coll_case *cc;
	uint32_t ranks;
	uint32_t elem_bytes;
	uint64_t block; /* bytes */
	uint32_t round;
};

/*
 * Element i of a rank's contribution, as a small number: sums of floats are exact in every order,
 * and products are powers of two.
 */
static uint64_t small_value(const struct shape *s, uint32_t rank, uint64_t i)
{
	uint64_t h = ((uint64_t)rank * 1000003 + i * 7919 + s->round * 31 + 17) *
		     UINT64_C(0x9e3779b97f4a7c15);

	if (s->cc->op == GOAL_MUL && s->cc->width)
		return 1 + (h >> 61) / 7;
	if (s->cc->op >= GOAL_LAND)
		return h >> 62;
	if (s->cc->type == GOAL_FLOAT)
		return h >> 60;
	return h >> 32 ^ h << 17;
}

static void put_value(const struct shape *s, uint64_t value, uint8_t *at)
{
	if (s->cc->type == GOAL_FLOAT && s->elem_bytes == 4) {
		float f = (float)value;

		memcpy(at, &f, 4);
	} else if (s->cc->type == GOAL_FLOAT) {
		double d = (double)value;

		memcpy(at, &d, 8);
	} else {
		memcpy(at, &value, s->elem_bytes);
	}
}

static int64_t sign_extend(uint64_t value, uint32_t bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* a op b, of elements as integers of 64 bits; floats here are small whole numbers. */
static uint64_t combine(const struct shape *s, uint64_t a, uint64_t b)
{
	uint32_t bits = s->elem_bytes * 8;
	uint64_t mask = UINT64_MAX >> (64 - bits);
	bool is_signed = s->cc->type == GOAL_SINT, less;

	a &= s->cc->type == GOAL_FLOAT ? UINT64_MAX : mask;
	b &= s->cc->type == GOAL_FLOAT ? UINT64_MAX : mask;
	less = is_signed ? sign_extend(a, bits) < sign_extend(b, bits) : a < b;
	switch (s->cc->op) {
	case GOAL_ADD:
		return a + b;
	case GOAL_MUL:
		return a * b;
	case GOAL_MAX:
		return less ? b : a;
	case GOAL_MIN:
		return less ? a : b;
	case GOAL_AND:
		return a & b;
	case GOAL_OR:
		return a | b;
	case GOAL_XOR:
		return a ^ b;
	case GOAL_LAND:
		return a && b;
	case GOAL_LOR:
		return a || b;
	case GOAL_LXOR:
		return !a != !b;
	case GOAL_SUB:
	case GOAL_DIV:
	case GOAL_COPY:
	case GOAL_WTIME:
	case GOAL_USER_OP:
	case GOAL_USER_OP_LAST:
		break;
	}
	CU_FAIL("an operation that no reduction has");
	return 0;
}

/* Elements first to first + count - 1 of a rank's contribution. */
static void contribute(const struct shape *s, uint32_t rank, uint64_t first, uint64_t count,
		       uint8_t *at)
{
	uint64_t i;

	for (i = 0; i < count; i++)
		put_value(s, small_value(s, rank, first + i), at + i * s->elem_bytes);
}

/* The elements of ranks 0 to ranks - 1 combined. */
static void combine_ranks(const struct shape *s, uint32_t ranks, uint64_t first, uint64_t count,
			  uint8_t *at)
{
	uint64_t i, value;
	uint32_t k;

	for (i = 0; i < count; i++) {
		value = small_value(s, 0, first + i);
		for (k = 1; k < ranks; k++)
			value = combine(s, value, small_value(s, k, first + i));
		put_value(s, value, at + i * s->elem_bytes);
	}
}

/* ---- input and expected output of each rank -------------------------------------------------- */

/* Number of blocks in a rank's buffers. */
static void blocks_of(const struct shape *s, uint32_t rank, uint32_t *in, uint32_t *out)
{
	bool is_root = rank == s->cc->root;

	*in = *out = 1;
	switch (s->cc->coll) {
	case GOAL_COLL_BARRIER:
		*in = *out = 0;
		break;
	case GOAL_COLL_BCAST:
		*in = 0;
		break;
	case GOAL_COLL_GATHER:
		*out = is_root ? s->ranks : 0;
		break;
	case GOAL_COLL_SCATTER:
		*in = is_root ? s->ranks : 0;
		break;
	case GOAL_COLL_REDUCE:
		*out = is_root;
		break;
	case GOAL_COLL_ALLGATHER:
		*out = s->ranks;
		break;
	case GOAL_COLL_REDUCE_SCATTER:
		*in = s->ranks;
		break;
	case GOAL_COLL_ALLTOALL:
		*in = *out = s->ranks;
		break;
	case GOAL_COLL_EXSCAN:
		*out = rank || s->cc->in_place;
		break;
	case GOAL_COLL_EXCHANGE: /* goal_coll_vary_ut.c */
	case GOAL_COLL_ALLREDUCE:
	case GOAL_COLL_SCAN:
	case GOAL_COLLECTIVES:
		break;
	}
}

static void expect_result(const struct shape *s, uint32_t rank, uint8_t *at)
{
	uint64_t count = s->cc->count;
	uint32_t i;

	switch (s->cc->coll) {
	case GOAL_COLL_BARRIER:
	case GOAL_COLL_EXCHANGE:
	case GOAL_COLLECTIVES:
		break;
	case GOAL_COLL_BCAST:
		contribute(s, s->cc->root, 0, count, at);
		break;
	case GOAL_COLL_GATHER:
	case GOAL_COLL_ALLGATHER:
		for (i = 0; i < s->ranks; i++)
			contribute(s, i, 0, count, at + i * s->block);
		break;
	case GOAL_COLL_SCATTER:
		contribute(s, s->cc->root, rank * count, count, at);
		break;
	case GOAL_COLL_REDUCE:
	case GOAL_COLL_ALLREDUCE:
		combine_ranks(s, s->ranks, 0, count, at);
		break;
	case GOAL_COLL_REDUCE_SCATTER:
		combine_ranks(s, s->ranks, rank * count, count, at);
		break;
	case GOAL_COLL_ALLTOALL:
		for (i = 0; i < s->ranks; i++)
			contribute(s, i, rank * count, count, at + i * s->block);
		break;
	case GOAL_COLL_SCAN:
		combine_ranks(s, rank + 1, 0, count, at);
		break;
	case GOAL_COLL_EXSCAN:
		/* In place rank 0 keeps what it had. */
		combine_ranks(s, rank ? rank : 1, 0, count, at);
		break;
	}
}

/* Where a rank's blocks are: offsets in its buffer. */
struct place {
	uint32_t in_blocks, out_blocks;
	size_t in, out; /* in place: in lies within out, of a scatter out within in */
};

static struct place place_of(const struct goal_fix *fix, const struct shape *s, uint32_t rank)
{
	bool joined = s->cc->in_place;
	struct place p;

	blocks_of(s, rank, &p.in_blocks, &p.out_blocks);
	p.in = GUARD_BYTES;
	p.out = fix->bytes / 2 + GUARD_BYTES;
	joined = joined && p.in_blocks && p.out_blocks;
	if (!joined)
		return p;
	if (s->cc->coll == GOAL_COLL_SCATTER)
		p.out = p.in + rank * s->block;
	else
		p.in = p.out;
	if (s->cc->coll == GOAL_COLL_GATHER || s->cc->coll == GOAL_COLL_ALLGATHER)
		p.in = p.out + rank * s->block;
	return p;
}

static void fill_rank(struct goal_fix *fix, const struct shape *s, uint32_t rank)
{
	struct place p = place_of(fix, s, rank);
	uint8_t *buf = fix->rank[rank].buf;

	memset(buf, GUARD, fix->bytes);
	contribute(s, rank, 0, p.in_blocks * s->cc->count, buf + p.in);
	if (s->cc->coll == GOAL_COLL_BCAST && rank == s->cc->root)
		contribute(s, rank, 0, s->cc->count, buf + p.out);
}

/* Checks the whole buffer against its expected content. */
static bool rank_is_right(struct goal_fix *fix, const struct shape *s, uint32_t rank, uint8_t *want)
{
	struct place p = place_of(fix, s, rank);
	uint64_t out_bytes = p.out_blocks * s->block;

	memset(want, GUARD, fix->bytes);
	contribute(s, rank, 0, p.in_blocks * s->cc->count, want + p.in);
	if (p.out_blocks && out_bytes)
		expect_result(s, rank, want + p.out);
	return memcmp(want, fix->rank[rank].buf, fix->bytes) == 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void load_rank(struct goal_fix *fix, const struct shape *s, uint32_t rank)
{
	struct place p = place_of(fix, s, rank);
	uint8_t *buf = fix->rank[rank].buf;
	struct goal_graph *graph = goal_graph_new(rank, fix->num);
	struct goal_coll_call call = {
	    .coll = s->cc->coll,
	    .alg = s->cc->alg,
	    .send = p.in_blocks ? buf + p.in : NULL,
	    .recv = p.out_blocks ? buf + p.out : NULL,
	    .count = s->cc->count,
	    .op = s->cc->op,
	    .type = s->cc->width ? s->cc->type : GOAL_UINT,
	    .width = s->elem_bytes * 8,
	    .root = s->cc->root,
	};

	if (s->cc->in_place && p.in_blocks && p.out_blocks) {
		if (s->cc->coll == GOAL_COLL_SCATTER)
			call.recv = GOAL_IN_PLACE;
		else
			call.send = GOAL_IN_PLACE;
	}
	FIX_REQUIRE(fix, graph != NULL);
	FIX_REQUIRE(fix, goal_coll_build(graph, &call) == 0);
	goal_fix_load(fix, rank, graph);
}

static void say(const struct shape *s, uint32_t rank)
{
	printf("\n    %s, %s: %u ranks, root %u, %llu elements of %u bytes, op %d, type %d%s: "
	       "rank %u",
	       GOAL_CollectiveName(s->cc->coll), GOAL_AlgorithmName(s->cc->alg), s->ranks,
	       s->cc->root, (unsigned long long)s->cc->count, s->elem_bytes, (int)s->cc->op,
	       (int)s->cc->type, s->cc->in_place ? ", in place" : "", rank);
}

uint64_t coll_fix_run(struct goal_fix *fix, const struct coll_case *cc)
{
	struct shape s = {.cc = cc, .ranks = fix->num};
	uint32_t runs = cc->runs ? cc->runs : 1, i;
	uint8_t *want = malloc(fix->bytes);
	uint64_t took_ns = 0;

	s.elem_bytes = cc->width ? cc->width / 8 : 1;
	s.block = cc->count * s.elem_bytes;
	FIX_REQUIRE(fix, want && coll_fix_bytes(fix->num, s.block) <= fix->bytes);
	for (i = 0; i < fix->num; i++)
		load_rank(fix, &s, i);
	for (s.round = 0; s.round < runs; s.round++) {
		enum hw_goal_status status;

		for (i = 0; i < fix->num; i++)
			fill_rank(fix, &s, i);
		took_ns = sim_now_ns(fix->sim);
		status = goal_fix_run(fix, NULL);
		took_ns = sim_now_ns(fix->sim) - took_ns;
		if (status != HW_GOAL_OK)
			say(&s, 0);
		FIX_REQUIRE(fix, status == HW_GOAL_OK);
		for (i = 0; i < fix->num; i++) {
			bool right = rank_is_right(fix, &s, i, want);

			if (!right)
				say(&s, i);
			FIX_REQUIRE(fix, right);
		}
	}
	for (i = 0; i < fix->num; i++)
		FIX_CHECK(fix, weft_goal_unload(fix->rank[i].goal, fix->rank[i].schedule) == 0);
	free(want);
	return took_ns;
}
