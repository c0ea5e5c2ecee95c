/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GOAL program for the integration tests: a barrier, a ring and a sum, made with goal.h alone,
 * and an allreduce and a broadcast of goal_coll.h.
 *
 * Run by tests/int/goal_*.sh, by hand or with mpirun. Prints one line for each rank and exits with
 * 0 when every byte was right. --help lists its options.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"
#include "lib/cli.h"

static int fail(const char *what)
{
	/* GOAL_MyRank() is a call that may fail, too. */
	fprintf(stderr, "%s: %s (%s)\n", what, GOAL_StrError(GOAL_LastError()),
		GOAL_LastErrorDetail());
	return 1;
}

static GOAL_Schedule barrier(int rank, int size)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Vertex recv = GOAL_INVALID_VERTEX;
	GOAL_Schedule sched;
	int distance;

	GOAL_AllocateScratchpad(g, 1);
	for (distance = 1; distance < size; distance *= 2) {
		GOAL_Vertex send = GOAL_Send(g, 0, 1, (rank + distance) % size, 0, GOAL_SCRATCHPAD);
		GOAL_Vertex next =
		    GOAL_Recv(g, 0, 1, (rank - distance + size) % size, 0, GOAL_SCRATCHPAD);

		if (recv != GOAL_INVALID_VERTEX) {
			GOAL_Requires(g, recv, send);
			GOAL_Requires(g, recv, next);
		}
		recv = next;
	}
	if (size == 1)
		GOAL_Calc(g, 1);
	sched = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	return sched;
}

/* Each rank's numbers go once around the ring and are summed on the way. */
static GOAL_Schedule sum_ring(int rank, int size, uint32_t *own, uint32_t *sum, int count,
			      int delay_ms)
{
	int next = (rank + 1) % size, before = (rank - 1 + size) % size;
	int64_t bytes = (int64_t)count * 4;
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule sched;
	GOAL_Vertex recv, add, send;

	GOAL_AllocateScratchpad(g, (size_t)bytes);
	if (rank == 0) {
		send = GOAL_Send(g, own, bytes, next, 3);
		GOAL_Recv(g, sum, bytes, before, 3);
		if (delay_ms)
			GOAL_Requires(g, GOAL_Calc(g, (uint64_t)delay_ms * 1000000), send);
	} else {
		recv = GOAL_Recv(g, 0, bytes, before, 3, GOAL_SCRATCHPAD);
		add = GOAL_LocalOp(g, 0, own, sum, GOAL_ADD, GOAL_UINT, 32, count, GOAL_SCRATCHPAD);
		send = GOAL_Send(g, sum, bytes, next, 3);
		GOAL_Requires(g, recv, add);
		GOAL_Requires(g, add, send);
	}
	sched = GOAL_Compile(g);
	GOAL_FreeGraph(g);
	return sched;
}

struct work {
	int rank, size, rounds, bytes, delay_ms;
	bool verbose, reduce, spread;
	uint32_t *own, *sum;
	const char *trace, *until;
	GOAL_Schedule bar, ring, all, cast;
	uint64_t best_ns;
};

static int check_sum(const struct work *w, int i)
{
	int k;

	for (k = 0; k < w->bytes / 4; k++) {
		uint32_t want = (uint32_t)(k * (w->size * (w->size + 1) / 2) + w->size * i);

		if (w->sum[k] != want) {
			fprintf(stderr, "round %d: sum %d is %u, not %u\n", i, k, w->sum[k], want);
			return 1;
		}
	}
	return 0;
}

/* Runs one broadcast of the last rank's. */
static int broadcast(struct work *w, int i)
{
	int k;

	memset(w->sum, 0xff, (size_t)w->bytes);
	for (k = 0; w->rank == w->size - 1 && k < w->bytes / 4; k++)
		w->sum[k] = (uint32_t)(k * 7 + i);
	if (GOAL_Wait(GOAL_Run(w->cast)) != GOAL_SUCCESS)
		return fail("broadcast");
	for (k = 0; k < w->bytes / 4; k++) {
		if (w->sum[k] != (uint32_t)(k * 7 + i)) {
			fprintf(stderr, "round %d: word %d of the broadcast is %u\n", i, k,
				w->sum[k]);
			return 1;
		}
	}
	return 0;
}

/* Runs one barrier, one ring, and one allreduce and broadcast if they are asked for; 0: all is
 * right. */
static int round_trip(struct work *w, int i)
{
	GOAL_Result result;
	bool traced;
	GOAL_Handle h;
	int k;

	for (k = 0; k < w->bytes / 4; k++)
		w->own[k] = (uint32_t)(k * (w->rank + 1) + i);
	h = GOAL_Run(w->bar);
	if (GOAL_WaitResult(h, &result) != GOAL_SUCCESS)
		return fail("barrier");
	if (result.finish_ns - result.start_ns < w->best_ns)
		w->best_ns = result.finish_ns - result.start_ns;
	traced = w->trace && i == w->rounds - 1;
	h = traced ? GOAL_RunTraced(w->ring, 1000, NULL) : GOAL_Run(w->ring);
	if (w->verbose && i == w->rounds - 1) {
		printf("started\n");
		fflush(stdout);
	}
	if (GOAL_Wait(h) != GOAL_SUCCESS)
		return fail("ring");
	if (traced && (GOAL_TraceCount(h) < 5 || GOAL_TraceLost(h) ||
		       GOAL_SaveTrace(h, w->trace) != GOAL_SUCCESS))
		return fail("trace");
	if (w->rank == 0 && w->size > 1 && check_sum(w, i))
		return 1;
	if (w->spread && broadcast(w, i))
		return 1;
	if (!w->reduce)
		return 0;
	memset(w->sum, 0xff, (size_t)w->bytes);
	if (GOAL_Wait(GOAL_Run(w->all)) != GOAL_SUCCESS)
		return fail("allreduce");
	return check_sum(w, i);
}

static int work(struct work *w)
{
	int i, rc = 0;

	w->rank = GOAL_MyRank();
	w->size = GOAL_GroupSize();
	w->bar = barrier(w->rank, w->size);
	w->ring = w->size > 1
		      ? sum_ring(w->rank, w->size, w->own, w->sum, w->bytes / 4, w->delay_ms)
		      : w->bar;
	if (w->reduce)
		w->all = GOAL_AllreduceSchedule(GOAL_CommWorld(), w->own, w->sum, w->bytes / 4,
						GOAL_ADD, GOAL_UINT, 32, GOAL_ALG_AUTO);
	if (w->spread)
		w->cast = GOAL_BcastSchedule(GOAL_CommWorld(), w->sum, w->bytes / 4 * 4,
					     w->size - 1, GOAL_ALG_AUTO);
	if (!w->bar || !w->ring || (w->reduce && !w->all) || (w->spread && !w->cast))
		return fail("GOAL_Compile");
	for (i = 0; i < w->rounds && !rc; i++)
		rc = round_trip(w, i);
	if (!rc)
		printf("rank %d of %d: %d rounds, fastest barrier %.1f us on the NIC\n", w->rank,
		       w->size, w->rounds, (double)w->best_ns / 1000);
	GOAL_FreeSchedule(w->bar);
	if (w->all)
		GOAL_FreeSchedule(w->all);
	if (w->cast)
		GOAL_FreeSchedule(w->cast);
	if (w->ring != w->bar)
		GOAL_FreeSchedule(w->ring);
	return rc;
}

static const struct cli_option rows[] = {
    {.name = "rounds",
     .letter = 'n',
     .value = "N",
     .help = "barriers and rings",
     .kind = CLI_NUMBER,
     .high = INT32_MAX,
     .initial = "100",
     CLI_FIELD(struct work, rounds)},
    {.name = "bytes",
     .letter = 'b',
     .value = "N",
     .help = "of each message",
     .kind = CLI_NUMBER,
     .high = INT32_MAX,
     .initial = "4000",
     CLI_FIELD(struct work, bytes)},
    {.name = "delay",
     .letter = 'd',
     .value = "MS",
     .help = "the NIC of rank 0 waits MS in each ring before it sends",
     .kind = CLI_NUMBER,
     .high = INT32_MAX,
     CLI_FIELD(struct work, delay_ms)},
    {.name = "allreduce",
     .letter = 'a',
     .help = "an allreduce of as many bytes in each round, too",
     .kind = CLI_FLAG,
     CLI_FIELD(struct work, reduce)},
    {.name = "broadcast",
     .letter = 'c',
     .help = "a broadcast of as many bytes in each round, too",
     .kind = CLI_FLAG,
     CLI_FIELD(struct work, spread)},
    {.name = "trace",
     .letter = 't',
     .value = "FILE",
     .help = "trace the last ring into this file",
     .kind = CLI_TEXT,
     CLI_FIELD(struct work, trace)},
    {.name = "until",
     .letter = 'u',
     .value = "FILE",
     .help = "stay attached until this file is there",
     .kind = CLI_TEXT,
     CLI_FIELD(struct work, until)},
    {.name = "verbose",
     .letter = 'v',
     .help = "print a line when the last ring has been started",
     .kind = CLI_FLAG,
     CLI_FIELD(struct work, verbose)},
};

static const struct cli_program program = {
    .name = "goal_prog",
    .usage = "goal_prog [OPTION]...",
    .about = "A barrier, a ring and a sum on the NIC, with every byte checked.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(*rows),
};

int main(int argc, char **argv)
{
	struct work w = {.best_ns = UINT64_MAX};
	struct cli cli;
	int rc = cli_take(&cli, &program, &w, NULL, argc, argv);

	if (rc != CLI_RUN)
		return rc;
	if (GOAL_Init() != GOAL_SUCCESS)
		return fail("GOAL_Init");
	w.own = malloc((size_t)w.bytes);
	w.sum = malloc((size_t)w.bytes);
	rc = work(&w);
	while (!rc && w.until && access(w.until, F_OK) != 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	if (GOAL_Finalize() != GOAL_SUCCESS)
		rc = fail("GOAL_Finalize");
	free(w.own);
	free(w.sum);
	return rc;
}
