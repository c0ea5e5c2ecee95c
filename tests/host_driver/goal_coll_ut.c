/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives without a NIC: choice of the algorithm, rules and names, invalid arguments, and
 * properties of graphs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_driver/goal/compile/goal_coll_build.h"
#include "tests/ut.h"

static uint8_t memory[2][65536];

static int build(struct goal_graph *graph, struct goal_coll_call call)
{
	return goal_coll_build(graph, &call);
}

static int try_build(struct goal_coll_call call, uint32_t rank, uint32_t ranks)
{
	struct goal_graph *graph = goal_graph_new(rank, ranks);
	int rc = build(graph, call);

	goal_graph_free(graph);
	return rc;
}

static GOAL_Algorithm choice(GOAL_Collective coll, int ranks, int64_t bytes)
{
	return (GOAL_Algorithm)GOAL_AutoAlgorithm(coll, ranks, bytes);
}

/* The rules of ESPGOAL 5.4 and 5.5, on both sides of each limit. */
static void papers_rules(void)
{
	int ranks;

	for (ranks = 1; ranks <= 64; ranks++)
		CU_ASSERT(choice(GOAL_COLL_BARRIER, ranks, 0) ==
			  (ranks & (ranks - 1) ? GOAL_ALG_BRUCK : GOAL_ALG_RECURSIVE_DOUBLING));
	CU_ASSERT(choice(GOAL_COLL_GATHER, 4, 92161) == GOAL_ALG_LINEAR_SYNC_32K);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 4, 92160) == GOAL_ALG_LINEAR_SYNC_1K);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 64, 6001) == GOAL_ALG_LINEAR_SYNC_1K);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 61, 6000) == GOAL_ALG_BINOMIAL);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 60, 6000) == GOAL_ALG_LINEAR);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 11, 1023) == GOAL_ALG_BINOMIAL);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 11, 1024) == GOAL_ALG_LINEAR);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 10, 1023) == GOAL_ALG_LINEAR);
}

/* Powers of two and other counts, on both sides of the limits. */
static void allreduce_rules(void)
{
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 2, 1 << 30) == GOAL_ALG_RECURSIVE_DOUBLING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 4, 32768) == GOAL_ALG_RECURSIVE_DOUBLING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 4, 32769) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 16, 128) == GOAL_ALG_RECURSIVE_DOUBLING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 16, 129) == GOAL_ALG_MULTICAST);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 16, 4097) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 1024, 1 << 30) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 3, 8) == GOAL_ALG_MULTICAST);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 12, 32768) == GOAL_ALG_MULTICAST);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 12, 32769) == GOAL_ALG_RING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 24, 131072) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 24, 131073) == GOAL_ALG_RING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 48, 262144) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 48, 262145) == GOAL_ALG_RING);
}

/* Ranks that share a switch: other rules for a broadcast, unless the user has some. */
static void rules_near(void)
{
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 2, 1, true) == GOAL_ALG_BINOMIAL);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 3, 131072, true) == GOAL_ALG_MULTICAST);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 8, 131073, true) == GOAL_ALG_BINOMIAL);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 8, 131073, false) == GOAL_ALG_MULTICAST);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_ALLREDUCE, 12, 32769, true) == GOAL_ALG_RING);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BARRIER, 6, 0, true) == GOAL_ALG_BRUCK);
	CU_ASSERT(GOAL_SetCollectiveRules("bcast:65536=chain,multicast") == 0);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 8, 65536, true) == GOAL_ALG_CHAIN);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 8, 65537, true) == GOAL_ALG_MULTICAST);
	CU_ASSERT(GOAL_SetCollectiveRules(NULL) == 0);
	CU_ASSERT(goal_coll_choose(GOAL_COLL_BCAST, 8, 65536, true) == GOAL_ALG_MULTICAST);
}

/* Rules are read at the first use, so this test comes first. */
static void wrong_variable(void)
{
	struct goal_coll_call call = {.coll = GOAL_COLL_BARRIER, .type = GOAL_UINT, .width = 8};

	CU_ASSERT_FATAL(setenv("WEFT_GOAL_COLL", "bcast:tree", 1) == 0);
	CU_ASSERT(GOAL_AutoAlgorithm(GOAL_COLL_BARRIER, 4, 0) == GOAL_ERR_ARG);
	CU_ASSERT(strstr(GOAL_LastErrorDetail(), "WEFT_GOAL_COLL") != NULL);
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call.alg = GOAL_ALG_BRUCK;
	CU_ASSERT(try_build(call, 0, 4) == 0);
	CU_ASSERT(GOAL_SetCollectiveRules("bcast:nothing") == GOAL_ERR_ARG);
	CU_ASSERT(GOAL_AutoAlgorithm(GOAL_COLL_BARRIER, 4, 0) == GOAL_ERR_ARG);
	CU_ASSERT(GOAL_SetCollectiveRules(NULL) == 0);
	CU_ASSERT(GOAL_AutoAlgorithm(GOAL_COLL_BARRIER, 4, 0) == GOAL_ALG_RECURSIVE_DOUBLING);
	CU_ASSERT(unsetenv("WEFT_GOAL_COLL") == 0);
}

static void rules_in_words(void)
{
	static const char *const wrong[] = {
	    "bcast",
	    "bcast:",
	    "bcast:tree",
	    "bcast:ring",
	    "nothing:ring",
	    "bcast:10=chain",
	    "bcast:10=",
	    "bcast:10=chain,",
	    "bcast:10chain",
	    "bcast:1/=chain",
	    "bcast:auto",
	    "bcast:chain,",
	    "bcast:chain;;",
	    "bcast:/10=chain",
	    "bcast:5000000000/1=chain,chain",
	    "gather:99999999999999999999999=linear,linear",
	    "bcast:pow2=chain,chain",
	    "bcast:pow2/any=chain",
	    "bcast:pow/10=chain,chain",
	    "bcast:pow28/10=chain,chain",
	    "bcast:8pow2=chain,chain",
	    "bcast:any/10=chain,chain",
	    "bcast:any",
	    "bcast:anyany=chain,chain",
	    "bcast:8pow2/=chain,chain",
	    "bcast:5000000000pow2/1=chain,chain",
	};
	uint32_t i;

	CU_ASSERT(GOAL_SetCollectiveRules(
		      "bcast:100=binomial,8/65536=chain,scatter_allgather;gather:linear") == 0);
	CU_ASSERT(choice(GOAL_COLL_BCAST, 60, 100) == GOAL_ALG_BINOMIAL);
	CU_ASSERT(choice(GOAL_COLL_BCAST, 8, 101) == GOAL_ALG_CHAIN);
	CU_ASSERT(choice(GOAL_COLL_BCAST, 9, 101) == GOAL_ALG_SCATTER_ALLGATHER);
	CU_ASSERT(choice(GOAL_COLL_BCAST, 8, 65537) == GOAL_ALG_SCATTER_ALLGATHER);
	CU_ASSERT(choice(GOAL_COLL_GATHER, 64, 1000000) == GOAL_ALG_LINEAR);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CU_ASSERT(GOAL_SetCollectiveRules(wrong[i]) == GOAL_ERR_ARG);
		CU_ASSERT(GOAL_LastError() == GOAL_ERR_ARG);
	}
	CU_ASSERT(GOAL_SetCollectiveRules("allreduce:8pow2/100=recursive_doubling,4/any=multicast,"
					  "pow2/any=rabenseifner,any=ring,multicast") == 0);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 8, 100) == GOAL_ALG_RECURSIVE_DOUBLING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 8, 101) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 7, 100) == GOAL_ALG_RING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 3, 1 << 30) == GOAL_ALG_MULTICAST);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 1, 1) == GOAL_ALG_RECURSIVE_DOUBLING);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 1 << 12, 1 << 30) == GOAL_ALG_RABENSEIFNER);
	CU_ASSERT(choice(GOAL_COLL_ALLREDUCE, 4095, 1) == GOAL_ALG_RING);
	/* The wrong rules changed nothing. */
	CU_ASSERT(choice(GOAL_COLL_BCAST, 60, 100) == GOAL_ALG_BINOMIAL);
	CU_ASSERT(choice(GOAL_COLL_BCAST, 9, 101) == GOAL_ALG_SCATTER_ALLGATHER);
	CU_ASSERT(GOAL_SetCollectiveRules(NULL) == 0);
	papers_rules();
	allreduce_rules();
}

static void names(void)
{
	int coll, alg, has;

	for (alg = 0; alg < GOAL_ALGORITHMS; alg++)
		CU_ASSERT(GOAL_AlgorithmByName(GOAL_AlgorithmName((GOAL_Algorithm)alg)) == alg);
	CU_ASSERT(GOAL_AlgorithmByName("") == GOAL_ERR_ARG);
	CU_ASSERT(GOAL_AlgorithmByName("rings") == GOAL_ERR_ARG);
	CU_ASSERT(GOAL_AlgorithmByName(NULL) == GOAL_ERR_ARG);
	CU_ASSERT(GOAL_AlgorithmName(GOAL_ALGORITHMS) == NULL);
	CU_ASSERT(GOAL_CollectiveName(GOAL_COLLECTIVES) == NULL);
	CU_ASSERT(GOAL_AutoAlgorithm(GOAL_COLLECTIVES, 2, 2) == GOAL_ERR_ARG);
	CU_ASSERT(GOAL_AutoAlgorithm(GOAL_COLL_SCAN, 0, 2) == GOAL_ERR_ARG);
	for (coll = 0; coll < GOAL_COLLECTIVES; coll++) {
		CU_ASSERT(GOAL_CollectiveName((GOAL_Collective)coll) != NULL);
		for (has = 0, alg = 0; alg < GOAL_ALGORITHMS; alg++)
			has += GOAL_HasAlgorithm((GOAL_Collective)coll, (GOAL_Algorithm)alg);
		CU_ASSERT(has >= 2);
		CU_ASSERT(!GOAL_HasAlgorithm((GOAL_Collective)coll, GOAL_ALG_AUTO));
	}
}

/* The collective supports the choice of auto, and builds it. */
static void choices_exist(void)
{
	uint32_t ranks, i;
	int coll;

	for (coll = 0; coll < GOAL_COLLECTIVES; coll++) {
		for (ranks = 1; ranks <= 64; ranks += ranks < 4 ? 1 : 15) {
			for (i = 0; i < 24; i++)
				CU_ASSERT(GOAL_HasAlgorithm(
				    (GOAL_Collective)coll,
				    choice((GOAL_Collective)coll, (int)ranks, INT64_C(1) << i)));
			CU_ASSERT(try_build((struct goal_coll_call){.coll = (GOAL_Collective)coll,
								    .send = memory[0],
								    .recv = memory[1],
								    .count = 100,
								    .op = GOAL_ADD,
								    .type = GOAL_UINT,
								    .width = 8},
					    ranks - 1, ranks) == 0);
		}
	}
}

static void wrong_arguments(void)
{
	const struct goal_coll_call good = {.coll = GOAL_COLL_REDUCE,
					    .alg = GOAL_ALG_BINOMIAL,
					    .send = memory[0],
					    .recv = memory[1],
					    .count = 10,
					    .op = GOAL_ADD,
					    .type = GOAL_FLOAT,
					    .width = 32,
					    .root = 3};
	static const GOAL_Op no_ops[] = {GOAL_SUB, GOAL_DIV, GOAL_COPY, GOAL_WTIME,
					 GOAL_AND, GOAL_OR,  GOAL_XOR};
	struct goal_coll_call call = good;
	uint32_t i;

	CU_ASSERT(try_build(good, 3, 4) == 0);
	for (i = 0; i < sizeof(no_ops) / sizeof(no_ops[0]); i++) {
		call.op = no_ops[i];
		CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	}
	call = good;
	for (i = 0; i < 200; i++) {
		call.width = i;
		CU_ASSERT(try_build(call, 0, 4) == (i == 32 || i == 64 ? 0 : -EINVAL));
	}
	call = good;
	call.type = (GOAL_DataType)3;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call = good;
	call.root = 4;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call = good;
	call.alg = GOAL_ALG_RING;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call.alg = GOAL_ALG_MULTICAST;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call.alg = (GOAL_Algorithm)99;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call = good;
	call.coll = GOAL_COLLECTIVES;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	call = good;
	call.count = UINT64_C(1) << 60;
	CU_ASSERT(try_build(call, 0, 4) == -EINVAL);
	/* Its scratchpad would be too large. */
	call.count = UINT64_C(1) << 27;
	CU_ASSERT(try_build(call, 3, 4) == -EOVERFLOW);
	call = good;
	call.recv = NULL;
	CU_ASSERT(try_build(call, 3, 4) == -EINVAL);
	CU_ASSERT(try_build(call, 2, 4) == 0);
	call = good;
	call.send = GOAL_IN_PLACE;
	CU_ASSERT(try_build(call, 3, 4) == 0);
	CU_ASSERT(try_build(call, 2, 4) == -EINVAL);
	call.count = 0;
	CU_ASSERT(try_build(call, 2, 4) == 0);
}

static bool waits(const struct goal_graph *graph, uint32_t first, uint32_t then)
{
	uint32_t i, found = 0;

	for (i = 0; i < graph->num_deps; i++)
		found += graph->deps[i].from == first && graph->deps[i].to == then;
	CU_ASSERT(found <= 1);
	return found;
}

/*
 * A reader waits for the last writer, a writer for its readers, or for the last writer; by overlap.
 */
static void order_of_uses(void)
{
	struct goal_mem mem = {(uintptr_t)memory[0], 4096, false};
	struct goal_graph *graph = goal_graph_new(0, 2);
	struct goal_coll c = {.graph = graph, .size = 2};
	uint32_t a, b, d, e, f;

	a = goal_coll_recv(&c, goal_coll_part(mem, 0, 64), 1, 0);
	b = goal_coll_recv(&c, goal_coll_part(mem, 32, 64), 1, 0);
	d = goal_coll_send(&c, goal_coll_part(mem, 0, 32), 1, 0);
	e = goal_coll_recv(&c, goal_coll_part(mem, 16, 32), 1, 0);
	f = goal_coll_send(&c, goal_coll_part(mem, 0, 200), 1, 0);
	CU_ASSERT(waits(graph, a, b));
	CU_ASSERT(waits(graph, a, d) && !waits(graph, b, d));
	CU_ASSERT(waits(graph, d, e) && waits(graph, b, e) && !waits(graph, a, e));
	CU_ASSERT(waits(graph, a, f) && waits(graph, b, f) && waits(graph, e, f));
	CU_ASSERT(!waits(graph, d, f) && graph->num_deps == 7);
	/* The scratchpad is other memory. */
	mem.scratch = true;
	(void)goal_coll_recv(&c, mem, 1, 0);
	CU_ASSERT(!c.error && graph->num_deps == 7);
	free(c.map[0].stretches);
	free(c.map[1].stretches);
	free(c.reads);
	free(c.waits);
	goal_graph_free(graph);
}

/* Blocks that are read and written in different orders are registered as one buffer. */
static void one_range_for_one_buffer(void)
{
	struct goal_graph *graph = goal_graph_new(7, 64);
	struct goal_code code;
	uint32_t vertex;

	CU_ASSERT(build(graph, (struct goal_coll_call){.coll = GOAL_COLL_ALLGATHER,
						       .alg = GOAL_ALG_RING,
						       .send = GOAL_IN_PLACE,
						       .recv = memory[1],
						       .count = 1000,
						       .type = GOAL_UINT,
						       .width = 8}) == 0);
	CU_ASSERT_FATAL(goal_compile(graph, 131072, &code, &vertex) == 0);
	/* The last block received is not sent on, and one is only sent. */
	CU_ASSERT(code.num_ranges <= 4);
	goal_code_free(&code);
	goal_graph_free(graph);
}

UT_MAIN("host_driver/goal_coll", UT(wrong_variable), UT(papers_rules), UT(rules_near),
	UT(rules_in_words), UT(names), UT(choices_exist), UT(wrong_arguments), UT(order_of_uses),
	UT(one_range_for_one_buffer))
