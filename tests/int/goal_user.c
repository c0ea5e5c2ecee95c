/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of users over weftd: one rank of two.
 *
 *	goal_user FOLDER	every example, in all forms; refusals, faults, differences
 *	goal_user FOLDER time	64 KiB by a program and by the built-in operation; prints ns
 *
 * FOLDER holds the programs as objects for BPF. Run by tests/int/goal_user.sh.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"
#include "lib/clock.h"
#include "tests/int/goal_check.h"

enum {
	COUNT = 5003, /* no multiple of a block */
	ROUNDS = 2000,
	TIMED_BYTES = 64 << 10,
};

struct pair {
	int64_t value;
	uint64_t index;
};

static const char *folder;

static const char *object(const char *name)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/%s.o", folder, name);
	return path;
}

static GOAL_Op op_of(const char *name)
{
	int op = GOAL_RegisterOp(object(name), name);

	check(op >= GOAL_USER_OP && op <= GOAL_USER_OP_LAST);
	return (GOAL_Op)op;
}

static void run(GOAL_Schedule s, int want)
{
	check(GOAL_Wait(GOAL_Run(s)) == want);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

static void saxpy(void)
{
	static float x[COUNT], y[COUNT], r[COUNT];
	const float alpha = 1.5F;
	int op =
	    GOAL_RegisterOpOn(GOAL_CommWorld(), object("saxpy"), "saxpy", &alpha, sizeof(alpha));
	GOAL_Graph g = GOAL_CreateGraph();
	int i;

	check(op >= GOAL_USER_OP);
	check(GOAL_OpElemBytes(GOAL_CommWorld(), (GOAL_Op)op) == sizeof(float));
	check(GOAL_OpElemBytes(GOAL_CommWorld(), GOAL_USER_OP_LAST) == 0);
	check(GOAL_OpElemBytes(GOAL_CommWorld(), GOAL_ADD) == 0);
	for (i = 0; i < COUNT; i++) {
		x[i] = (float)i / 7;
		y[i] = (float)(COUNT - i) / 3;
		r[i] = -1;
	}
	check(GOAL_LocalOp(g, x, y, r, (GOAL_Op)op, GOAL_FLOAT, 32, COUNT - 1) >= 0);
	run(compiled(g), GOAL_SUCCESS);
	for (i = 0; i < COUNT - 1; i++) {
		const float product = x[i] * alpha;

		check(r[i] == product + y[i]);
	}
	check(r[COUNT - 1] == -1);
}

/* Pieces that cut blocks, the scratchpad, and the result in place of an operand. */
static void sum_in_pieces(GOAL_Op sum)
{
	static uint64_t a[COUNT], b[COUNT];
	void *pieces[3] = {a, a + 1, a + 1001}, *whole[1] = {b};
	const int lengths[3] = {8, 8000, 8 * (COUNT - 1001)}, all[1] = {8 * COUNT};
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Vertex first, second;
	int i;

	for (i = 0; i < COUNT; i++) {
		a[i] = UINT64_MAX / COUNT * (uint64_t)i;
		b[i] = (uint64_t)i * 3;
	}
	check(GOAL_AllocateScratchpad(g, 8 * COUNT) == GOAL_SUCCESS);
	first = GOAL_LocalOp(g, a, b, (void *)0, sum, GOAL_UINT, 64, COUNT, GOAL_USERSPACE,
			     GOAL_USERSPACE, GOAL_SCRATCHPAD);
	check(first >= 0);
	second = GOAL_LocalOp(g, (void *)0, b, b, sum, GOAL_UINT, 0, COUNT, GOAL_SCRATCHPAD);
	check(second >= 0 && GOAL_Requires(g, first, second) == GOAL_SUCCESS);
	first = GOAL_LocalOpVec(g, pieces, lengths, 3, whole, all, 1, pieces, lengths, 3, GOAL_UINT,
				64, (char)sum);
	check(first >= 0 && GOAL_Requires(g, second, first) == GOAL_SUCCESS);
	run(compiled(g), GOAL_SUCCESS);
	for (i = 0; i < COUNT; i++) {
		const uint64_t was = UINT64_MAX / COUNT * (uint64_t)i,
			       twice = was + 6 * (uint64_t)i;

		check(b[i] == twice && a[i] == was + twice);
	}
	/* A width that is not the operation's. */
	g = GOAL_CreateGraph();
	check(GOAL_LocalOp(g, a, b, b, sum, GOAL_UINT, 32, COUNT) == GOAL_INVALID_VERTEX);
	check(GOAL_LocalOp(g, a, b, b, (GOAL_Op)(GOAL_USER_OP + 15), GOAL_UINT, 64, 1) ==
	      GOAL_INVALID_VERTEX);
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
}

static void reductions(void)
{
	static struct pair mine[COUNT], best[COUNT];
	static uint64_t hash[COUNT];
	static float sums[2 * COUNT];
	const uint64_t prime = (UINT64_C(1) << 61) - 1;
	const GOAL_Op argmin = op_of("argmin"), mersenne = op_of("mersenne");
	const GOAL_Op complex_add = op_of("complex_add");
	int i, n = GOAL_GroupSize();

	for (i = 0; i < COUNT; i++) {
		mine[i].value = (i * 7919 + me * 104729) % 1000 - 500;
		if (i % 5 == 0)
			mine[i].value = INT64_MIN + i;
		mine[i].index = (uint64_t)me;
		hash[i] = prime - 1 - (uint64_t)(i * (me + 1));
		sums[2 * i] = (float)i;
		sums[2 * i + 1] = (float)-me;
	}
	run(GOAL_AllreduceSchedule(GOAL_CommWorld(), mine, best, COUNT, argmin, GOAL_UINT, 128,
				   GOAL_ALG_AUTO),
	    GOAL_SUCCESS);
	for (i = 0; i < COUNT; i++) {
		struct pair want = {INT64_MAX, 0};
		int rank;

		for (rank = 0; rank < n; rank++) {
			int64_t value = (i * 7919 + rank * 104729) % 1000 - 500;

			if (i % 5 == 0)
				value = INT64_MIN + i;
			if (value < want.value)
				want = (struct pair){value, (uint64_t)rank};
		}
		check(best[i].value == want.value && best[i].index == want.index);
	}
	run(GOAL_AllreduceSchedule(GOAL_CommWorld(), GOAL_IN_PLACE, hash, COUNT, mersenne,
				   GOAL_UINT, 64, GOAL_ALG_RING),
	    GOAL_SUCCESS);
	run(GOAL_AllreduceSchedule(GOAL_CommWorld(), GOAL_IN_PLACE, sums, COUNT, complex_add,
				   GOAL_FLOAT, 0, GOAL_ALG_AUTO),
	    GOAL_SUCCESS);
	for (i = 0; i < COUNT; i++) {
		uint64_t want = prime - 1 - (uint64_t)i;
		int rank;

		for (rank = 1; rank < n; rank++) {
			want += prime - 1 - (uint64_t)(i * (rank + 1));
			want = (want & prime) + (want >> 61);
		}
		check(hash[i] == want);
		check(sums[2 * i] == (float)(i * n) &&
		      sums[2 * i + 1] == (float)(-n * (n - 1) / 2));
	}
}

/* A program that fails at one rank ends the run at all. */
static void faults(void)
{
	static uint64_t a[COUNT], b[COUNT];
	const GOAL_Op div = op_of("div"), fail_op = op_of("fail");
	int i;

	for (i = 0; i < COUNT; i++)
		a[i] = b[i] = 5;
	a[COUNT - 1] = me ? 0 : 5;
	run(GOAL_AllreduceSchedule(GOAL_CommWorld(), a, b, COUNT, div, GOAL_UINT, 64,
				   GOAL_ALG_RECURSIVE_DOUBLING),
	    GOAL_ERR_DIVIDE);
	run(GOAL_AllreduceSchedule(GOAL_CommWorld(), a, b, COUNT, fail_op, GOAL_UINT, 64,
				   GOAL_ALG_AUTO),
	    GOAL_ERR_USER_OP);
}

static void refusals(GOAL_Op sum)
{
	const uint8_t args[2] = {1, (uint8_t)me};

	check(GOAL_RegisterOp(object("loop"), "loop") == GOAL_ERR_USER_OP);
	check(strstr(GOAL_LastErrorDetail(), "goes back"));
	check(GOAL_RegisterOp(object("sum"), "nothing") == GOAL_ERR_FILE);
	check(GOAL_RegisterOp("/dev/null", "sum") == GOAL_ERR_FILE);
	/* Programs that differ, arguments that differ, a file that one rank lacks. */
	check(GOAL_RegisterOp(object(me ? "sum" : "mersenne"), me ? "sum" : "mersenne") ==
	      GOAL_ERR_USER_OP);
	check(GOAL_RegisterOpOn(GOAL_CommWorld(), object("sum"), "sum", args, 2) ==
	      GOAL_ERR_USER_OP);
	check(GOAL_RegisterOp(me ? object("sum") : "/nowhere", "sum") ==
	      (me ? GOAL_ERR_USER_OP : GOAL_ERR_FILE));
	check(GOAL_RegisterOp(object("sum"), "sum") == (int)sum);
	check(GOAL_RegisterOpOn(NULL, object("sum"), "sum", NULL, 0) == GOAL_ERR_ARG);
	check(GOAL_RegisterOpOn(GOAL_CommWorld(), object("sum"), "sum", args, 65) == GOAL_ERR_ARG);
}

/* Median time of a run in ns, from its start to the return of the wait. */
static uint64_t timed(GOAL_Op op, GOAL_DataType type, int width)
{
	static uint64_t a[TIMED_BYTES / 8], b[TIMED_BYTES / 8], r[TIMED_BYTES / 8];
	static uint64_t ns[ROUNDS];
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;
	int i, k;

	memset(a, 1, sizeof(a));
	memset(b, 1, sizeof(b));
	check(GOAL_LocalOp(g, a, b, r, op, type, width, TIMED_BYTES * 8 / width) >= 0);
	s = compiled(g);
	for (i = 0; i < ROUNDS; i++) {
		uint64_t took = clock_now_ns();

		check(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
		took = clock_now_ns() - took;
		for (k = i; k > 0 && ns[k - 1] > took; k--)
			ns[k] = ns[k - 1];
		ns[k] = took;
	}
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	return ns[ROUNDS / 2];
}

static void measure(void)
{
	const float alpha = 2;
	int op =
	    GOAL_RegisterOpOn(GOAL_CommWorld(), object("saxpy"), "saxpy", &alpha, sizeof(alpha));

	check(op >= GOAL_USER_OP);
	printf("add_u64 %llu\n", (unsigned long long)timed(GOAL_ADD, GOAL_UINT, 64));
	printf("sum %llu\n", (unsigned long long)timed(op_of("sum"), GOAL_UINT, 64));
	printf("mersenne %llu\n", (unsigned long long)timed(op_of("mersenne"), GOAL_UINT, 64));
	printf("argmin %llu\n", (unsigned long long)timed(op_of("argmin"), GOAL_UINT, 128));
	printf("min_s64 %llu\n", (unsigned long long)timed(GOAL_MIN, GOAL_SINT, 64));
	printf("add_f32 %llu\n", (unsigned long long)timed(GOAL_ADD, GOAL_FLOAT, 32));
	printf("complex_add %llu\n",
	       (unsigned long long)timed(op_of("complex_add"), GOAL_FLOAT, 64));
	printf("saxpy %llu\n", (unsigned long long)timed((GOAL_Op)op, GOAL_FLOAT, 32));
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	folder = argv[1];
	check(GOAL_Init() == GOAL_SUCCESS);
	me = GOAL_MyRank();
	check(GOAL_IsExtensionAvailable(GOAL_EXT_USER_OPS) == 1);
	if (argc > 2) {
		measure();
	} else {
		const GOAL_Op sum = op_of("sum");

		saxpy();
		sum_in_pieces(sum);
		reductions();
		faults();
		refusals(sum);
		puts("all right");
	}
	check(GOAL_Finalize() == GOAL_SUCCESS);
	return 0;
}
