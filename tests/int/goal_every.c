/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls every function of goal.h and goal_coll.h, with and without the optional arguments, on four
 * ranks that check each result.
 *
 * One source, C11 and C++: tests/int/goal_every.sh runs it as the Makefile builds it, then as g++
 * does with the installed headers. It stops at the first failed check with a message and status 1.
 * API: docs/collectives.md; ESPGOAL, chapter 2.
 *
 *	goal_every FOLDER	where it may write files
 */
#ifdef GOAL_INSTALLED
#include <goal_coll.h>
#else
#include "host_driver/goal/goal_coll.h"
#endif
#include "tests/int/goal_check.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RANKS = 4,
	RUNS = 12,
	THREADS = 3,
	COUNT = 64,
	BIG = 300000
};

static int next, before;
static const char *folder;

/* ---- before GOAL_Init() ---------------------------------------------------------------------- */

static void uninitialised(void)
{
	check(!GOAL_IsInitialized() && GOAL_IsFinalized() == 1);
	check(!GOAL_CommWorld() && GOAL_LastError() == GOAL_ERR_STATE);
	check(*GOAL_LastErrorDetail());
	check(!GOAL_CreateGraph() && GOAL_LastError() == GOAL_ERR_STATE);
	check(GOAL_GroupSize() == GOAL_ERR_STATE && GOAL_MyRank() == GOAL_ERR_STATE);
	check(GOAL_Finalize() == GOAL_ERR_STATE && GOAL_TraceCount(0) == GOAL_ERR_STATE);
	check(GOAL_Run(NULL) == GOAL_ERR_ARG && GOAL_Wait(0) == GOAL_ERR_ARG);
}

static void words(void)
{
	const char *unknown = GOAL_StrError(12345);
	int code, other, known = 0, ext;

	for (code = 0; code >= -64; code--) {
		check(*GOAL_StrError(code));
		if (!strcmp(GOAL_StrError(code), unknown))
			continue;
		known++;
		for (other = 0; other > code; other--)
			check(strcmp(GOAL_StrError(code), GOAL_StrError(other)) != 0);
	}
	check(known == 1 + 11 + 11); /* success, errors of runs, errors of calls */
	for (ext = GOAL_EXT_COMMUNICATORS; ext <= GOAL_EXT_USER_OPS; ext++)
		check(GOAL_IsExtensionAvailable((GOAL_ExtensionId)ext) == 1);
	check(!GOAL_IsExtensionAvailable((GOAL_ExtensionId)ext));
	check(strcmp(GOAL_TracePointName(UINT32_MAX), GOAL_TracePointName(0)) != 0);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* Sends messages with four, five and six arguments around the ring, and messages of pieces. */
static void messages(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	int out[6], in[6] = {0}, parts[3] = {me, me + 10, me + 20}, got[3] = {0}, i;
	void *from[2] = {&parts[0], &parts[1]}, *to[2] = {&got[0], &got[2]}, *pad[1] = {at(16)};
	int from_bytes[2] = {4, 8}, to_bytes[2] = {8, 4}, pad_bytes[1] = {12};
	GOAL_Vertex fill, copy;

	for (i = 0; i < 6; i++)
		out[i] = 100 * i + me;
	check(g && GOAL_AllocateScratchpad(g, 64) == GOAL_SUCCESS);
	check(GOAL_Send(g, &out[0], 4, next) >= 0 && GOAL_Recv(g, &in[0], 4, before) >= 0);
	check(GOAL_Send(g, &out[1], 4, next, 1) >= 0 && GOAL_Recv(g, &in[1], 4, before, 1) >= 0);
	check(GOAL_Send(g, &out[2], 4, next, 2, GOAL_USERSPACE) >= 0);
	fill = GOAL_Recv(g, at(8), 4, before, 2, GOAL_SCRATCHPAD);
	copy = GOAL_LocalOp(g, at(8), at(8), &in[2], GOAL_COPY, GOAL_UINT, 32, 1, GOAL_SCRATCHPAD,
			    GOAL_SCRATCHPAD);
	check(fill >= 0 && copy >= 0 && GOAL_Requires(g, fill, copy) == GOAL_SUCCESS);
	/*
	 * Both ends cut the message differently: the second piece of one end is in two at the
	 * other.
	 */
	to[0] = got;
	check(GOAL_SendVec(g, from, from_bytes, 2, next) >= 0);
	check(GOAL_RecvVec(g, to, to_bytes, 2, before) >= 0);
	check(GOAL_SendVec(g, from, from_bytes, 2, next, 7) >= 0);
	fill = GOAL_RecvVec(g, pad, pad_bytes, 1, before, 7, GOAL_SCRATCHPAD);
	copy = GOAL_SendVec(g, pad, pad_bytes, 1, next, 8, GOAL_SCRATCHPAD);
	check(GOAL_Requires(g, fill, copy) == GOAL_SUCCESS);
	to[0] = &in[3];
	to_bytes[0] = 12;
	check(GOAL_RecvVec(g, to, to_bytes, 1, before, 8) >= 0);
	run_free(compiled(g));
	for (i = 0; i < 3; i++)
		check(in[i] == 100 * i + before && got[i] == before + 10 * i &&
		      in[3 + i] == (before + RANKS - 1) % RANKS + 10 * i);
}

/* Rank 0 sends three multicasts, with three, four and five arguments. */
static void multicasts(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	int v[3] = {7, 8, 9}, in[3] = {0};
	GOAL_Vertex last, first;

	check(GOAL_AllocateScratchpad(g, 4) == GOAL_SUCCESS);
	if (me == 0) {
		check(GOAL_McastSend(g, &v[0], 4) >= 0 && GOAL_McastSend(g, &v[1], 4, 1) >= 0);
		first = GOAL_LocalOp(g, &v[2], &v[2], at(0), GOAL_COPY, GOAL_SINT, 32, 1,
				     GOAL_USERSPACE, GOAL_USERSPACE, GOAL_SCRATCHPAD);
		last = GOAL_McastSend(g, at(0), 4, 2, GOAL_SCRATCHPAD);
		check(GOAL_McastRecv(g, in, 4, 0) == GOAL_INVALID_VERTEX); /* its own */
	} else {
		check(GOAL_McastRecv(g, &in[0], 4, 0) >= 0 &&
		      GOAL_McastRecv(g, &in[1], 4, 0, 1) >= 0);
		first = GOAL_McastRecv(g, at(0), 4, 0, 2, GOAL_SCRATCHPAD);
		last = GOAL_LocalOp(g, at(0), at(0), &in[2], GOAL_COPY, GOAL_SINT, 32, 1,
				    GOAL_SCRATCHPAD, GOAL_SCRATCHPAD, GOAL_USERSPACE);
	}
	check(first >= 0 && GOAL_Requires(g, first, last) == GOAL_SUCCESS);
	run_free(compiled(g));
	check(me == 0 || !memcmp(in, v, sizeof(v)));
}

/* Arithmetic with argument lists of every length, and timers. */
static void arithmetic(void)
{
	int32_t a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, sum[4], vec[4][4];
	void *pa[2] = {a, a + 1}, *pb[1] = {b}, *pr[2];
	int la[2] = {4, 12}, lb[1] = {16}, lr[2] = {12, 4}, i, k;
	char type = GOAL_SINT, width = 32, op = GOAL_SUB;
	GOAL_Graph g = GOAL_CreateGraph();
	double start = 0, end = 0;
	GOAL_Vertex v[4], t0, t1, wait;
	uint8_t low = 200, high = 100, wrapped = 0;

	check(GOAL_LocalOp(g, a, b, sum, GOAL_ADD, GOAL_SINT, 32, 4) >= 0);
	check(GOAL_LocalOp(g, &low, &high, &wrapped, GOAL_ADD, GOAL_UINT, 8, 1, GOAL_USERSPACE) >=
	      0);
	for (i = 0; i < 4; i++) {
		pr[0] = vec[i];
		pr[1] = vec[i] + 3;
		v[i] = i == 0 ? GOAL_LocalOpVec(g, pa, la, 2, pb, lb, 1, pr, lr, 2, type, width, op)
		       : i == 1 ? GOAL_LocalOpVec(g, pa, la, 2, pb, lb, 1, pr, lr, 2, type, width,
						  op, GOAL_USERSPACE)
		       : i == 2
			   ? GOAL_LocalOpVec(g, pa, la, 2, pb, lb, 1, pr, lr, 2, type, width, op,
					     GOAL_USERSPACE, GOAL_USERSPACE)
			   : GOAL_LocalOpVec(g, pa, la, 2, pb, lb, 1, pr, lr, 2, type, width, op,
					     GOAL_USERSPACE, GOAL_USERSPACE, GOAL_USERSPACE);
		check(v[i] >= 0);
	}
	t0 = GOAL_LocalOp(g, NULL, NULL, &start, GOAL_WTIME, GOAL_FLOAT, 64, 1);
	t1 = GOAL_LocalOp(g, NULL, NULL, &end, GOAL_WTIME, GOAL_FLOAT, 64, 1);
	wait = GOAL_Calc(g, 2000000);
	check(t0 >= 0 && t1 >= 0 && GOAL_Requires(g, t0, wait) == GOAL_SUCCESS);
	check(GOAL_Requires(g, wait, t1) == GOAL_SUCCESS);
	/* A timer on another cpu may begin when this one has begun. */
	check(GOAL_RequiresStart(g, wait, GOAL_Calc(g, 1000, 255)) == GOAL_SUCCESS);
	run_free(compiled(g));
	for (i = 0; i < 4; i++) {
		check(sum[i] == a[i] + b[i]);
		for (k = 0; k < 4; k++)
			check(vec[k][i] == a[i] - b[i]);
	}
	check(wrapped == 44 && start > 0 && end >= start);
}

/* Calls that are refused, and the reason given. */
static void refused(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Vertex a, b;
	int x[2] = {0};

	check(GOAL_Send(g, x, 4, RANKS) == INVALID_VERTEX && GOAL_LastError() == GOAL_ERR_ARG);
	check(strstr(GOAL_LastErrorDetail(), "GOAL_Send"));
	check(GOAL_Send(g, x, -1, next) < 0 && GOAL_Send(g, x, 4, next, GOAL_ANY_TAG) < 0);
	check(GOAL_Recv(NULL, x, 4, 0) < 0 && GOAL_McastSend(g, x, -1) < 0);
	check(GOAL_LocalOp(g, x, x, x, GOAL_AND, GOAL_FLOAT, 32, 1) < 0);
	check(GOAL_LocalOp(g, x, x, x, GOAL_ADD, GOAL_FLOAT, 16, 1) < 0);
	check(GOAL_LocalOp(g, x, x, x, GOAL_ADD, GOAL_UINT, 64, INT64_MAX) < 0);
	check(GOAL_LocalOp(g, x, x, x, GOAL_ADD, GOAL_UINT, 32, -1) < 0);
	check(GOAL_Calc(g, 1, 256) < 0 && GOAL_Calc(NULL, 1) < 0);
	check(GOAL_Requires(g, 0, 1) == GOAL_ERR_ARG && GOAL_RequiresStart(g, -1, 0) < 0);
	check(GOAL_AllocateScratchpad(g, SIZE_MAX) == GOAL_ERR_ARG);
	check(!GOAL_Compile(g) && !GOAL_Compile(NULL));
	a = GOAL_Send(g, x, 4, next);
	b = GOAL_Recv(g, x + 1, 4, before);
	check(GOAL_Requires(g, a, b) == GOAL_SUCCESS && GOAL_Requires(g, b, a) == GOAL_SUCCESS);
	check(!GOAL_Compile(g) && GOAL_LastError() == GOAL_ERR_CYCLE);
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS && GOAL_FreeGraph(NULL) == GOAL_ERR_ARG);
	g = GOAL_CreateGraphOn(GOAL_CommWorld());
	check(GOAL_Recv(g, at(1), 4, before, 0, GOAL_SCRATCHPAD) >= 0);
	check(!GOAL_Compile(g) && GOAL_LastError() == GOAL_ERR_SCRATCHPAD);
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
	check(!GOAL_IsScheduleValid(NULL) && GOAL_FreeSchedule(NULL) == GOAL_ERR_ARG);
	check(GOAL_Init() == GOAL_ERR_STATE && GOAL_IsInitialized() && !GOAL_IsFinalized());
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* *in receives the previous rank's *out; the send waits for a timer first. */
static GOAL_Schedule ring(GOAL_Comm comm, const void *out, void *in, int64_t bytes, uint64_t ns)
{
	int rank = GOAL_CommRank(comm), size = GOAL_CommSize(comm);
	GOAL_Graph g = GOAL_CreateGraphOn(comm);
	GOAL_Vertex send = GOAL_Send(g, out, bytes, (rank + 1) % size);

	check(send >= 0 && GOAL_Recv(g, in, bytes, (rank + size - 1) % size) >= 0);
	if (ns)
		check(GOAL_Requires(g, GOAL_Calc(g, ns), send) == GOAL_SUCCESS);
	return compiled(g);
}

/* Several schedules, each run several times, in flight together; then one run repeatedly. */
static void in_flight(void)
{
	GOAL_Comm world = GOAL_CommWorld();
	GOAL_Handle h[3 * RUNS];
	int out[3], in[3] = {0}, i;
	GOAL_Schedule s[3];
	GOAL_Result result;

	for (i = 0; i < 3; i++) {
		out[i] = 1000 * i + me;
		s[i] = ring(world, &out[i], &in[i], 4, i == 0 ? 1000000 : 0);
		GOAL_MakeScheduleReusable(s[i]);
		GOAL_MakeScheduleReuseable(s[i]);
	}
	for (i = 0; i < 3 * RUNS; i++) {
		h[i] = i % 5 ? GOAL_Run(s[i % 3]) : GOAL_RunTimeout(s[i % 3], 0);
		check(h[i] >= 0);
	}
	check(GOAL_Finalize() == GOAL_ERR_STATE);       /* not while they are in flight */
	check(GOAL_FreeSchedule(s[2]) == GOAL_SUCCESS); /* freed after its last run */
	for (i = 3 * RUNS - 1; i >= 0; i--) {
		check(GOAL_WaitResult(h[i], &result) == GOAL_SUCCESS && GOAL_Test(h[i]) == 1);
		check(result.status == GOAL_SUCCESS && result.ops == (i % 3 ? 2u : 3u));
		check(result.start_ns && result.finish_ns >= result.start_ns);
		check(GOAL_Cancel(h[i]) ==
		      GOAL_SUCCESS); /* a handle of a finished run has no effect */
	}
	for (i = 0; i < 3; i++)
		check(in[i] == 1000 * i + before);
	for (i = 0; i < 200; i++) {
		out[1] = i * RANKS + me;
		h[0] = GOAL_Run(s[1]);
		while (!GOAL_Test(h[0]))
			;
		check(GOAL_Wait(h[0]) == GOAL_SUCCESS && in[1] == i * RANKS + before);
	}
	check(GOAL_FreeSchedule(s[0]) == GOAL_SUCCESS && GOAL_FreeSchedule(s[1]) == GOAL_SUCCESS);
}

/* A failing run fails at all ranks, with the reason, and the next runs succeed. */
static void failures(void)
{
	GOAL_Comm world = GOAL_CommWorld();
	int out = me, in = -1, zero = 0, one = 1;
	char room[8], longer[16] = {0};
	GOAL_Schedule stuck = ring(world, &out, &in, 4, UINT64_C(3600000000000));
	GOAL_Schedule good = ring(world, &out, &in, 4, 0), bad;
	GOAL_Result result;
	GOAL_Vertex divide = -1;
	GOAL_Handle h;
	GOAL_Graph g;

	h = GOAL_Run(stuck);
	/* The other ranks may be notified before they look. */
	if (me == 1)
		check(GOAL_Test(h) == 0 && GOAL_Cancel(h) == GOAL_SUCCESS);
	check(GOAL_Wait(h) == GOAL_ERR_CANCELED && GOAL_LastError() == GOAL_ERR_CANCELED);
	h = me == 2 ? GOAL_RunTimeout(stuck, 20000000) : GOAL_Run(stuck);
	check(GOAL_WaitResult(h, &result) == GOAL_ERR_TIMEOUT && result.rank == 2);
	g = GOAL_CreateGraph();
	if (me == 3)
		divide = GOAL_LocalOp(g, &one, &zero, &one, GOAL_DIV, GOAL_SINT, 32, 1);
	/* A message that never comes: no rank completes before rank 3 has failed. */
	check(GOAL_Recv(g, &in, 4, next) >= 0 && GOAL_Send(g, &out, 4, next) >= 0);
	bad = compiled(g);
	check(GOAL_WaitResult(GOAL_Run(bad), &result) == GOAL_ERR_DIVIDE && result.rank == 3);
	check(me != 3 || result.vertex == divide);
	check(GOAL_FreeSchedule(bad) == GOAL_SUCCESS);
	g = GOAL_CreateGraph();
	check(GOAL_Send(g, longer, me == 0 ? 16 : 8, next) >= 0 &&
	      GOAL_Recv(g, room, 8, before) >= 0);
	/* No rank completes before rank 1 has its message. */
	check(GOAL_Recv(g, &in, 4, next, 9) >= 0);
	bad = compiled(g);
	check(GOAL_Wait(GOAL_Run(bad)) == GOAL_ERR_TRUNCATED);
	check(GOAL_FreeSchedule(bad) == GOAL_SUCCESS && GOAL_FreeSchedule(stuck) == GOAL_SUCCESS);
	run_free(good);
	check(in == before && GOAL_Wait(GOAL_ERR_BUSY) == GOAL_ERR_BUSY && GOAL_Test(-1) == 1 &&
	      GOAL_TestLocal(-1) == 1);
	check(GOAL_Cancel(-1) == GOAL_ERR_ARG);
}

/* ---- waiting by descriptor ------------------------------------------------------------------- */

static void *wait_inside(void *arg)
{
	check(GOAL_Wait(*(GOAL_Handle *)arg) == GOAL_SUCCESS);
	return NULL;
}

/* One thread polls descriptors, one waits in the library: the end of each run wakes its own. */
static void events(void)
{
	GOAL_Comm world = GOAL_CommWorld();
	int out[2] = {me, me}, in[2], fd[2], same[2], i;
	GOAL_Schedule s[2];
	GOAL_Handle h[2];
	pthread_t thread;

	check(GOAL_Listen(NULL, &me, fd) == GOAL_ERR_ARG && GOAL_Heard(NULL) == GOAL_ERR_ARG);
	check(GOAL_Listen(world, &me, fd) == GOAL_SUCCESS);
	check(GOAL_Listen(world, &me, same) == GOAL_SUCCESS && fd[0] == same[0] &&
	      fd[1] == same[1]);
	check(GOAL_Listen(world, &next, same) == GOAL_ERR_STATE);
	for (i = 0; i < 2; i++)
		s[i] = ring(world, &out[i], &in[i], 4, 1000000);
	for (i = 0; i < 20; i++) {
		struct pollfd p[2] = {{fd[0], POLLIN, 0}, {fd[1], POLLIN, 0}};

		in[0] = in[1] = -1;
		h[0] = GOAL_Run(s[i % 2]);
		h[1] = GOAL_Run(s[!(i % 2)]);
		check(pthread_create(&thread, NULL, wait_inside, &h[1]) == 0);
		for (;;) {
			check(GOAL_Heard(world) == GOAL_SUCCESS);
			if (GOAL_RequestEvent(h[0]))
				break;
			check(poll(p, 2, 30000) > 0);
		}
		check(GOAL_Test(h[0]) && GOAL_RequestEvent(h[0]) == 1);
		check(pthread_join(thread, NULL) == 0);
		check(GOAL_Wait(h[0]) == GOAL_SUCCESS && in[0] == before && in[1] == before);
	}
	check(GOAL_RequestEvent(-1) == 1);
	check(GOAL_Unlisten(world) == GOAL_SUCCESS && GOAL_Unlisten(world) == GOAL_SUCCESS);
	check(GOAL_Unlisten(NULL) == GOAL_ERR_ARG);
	check(GOAL_FreeSchedule(s[0]) == GOAL_SUCCESS && GOAL_FreeSchedule(s[1]) == GOAL_SUCCESS);
}

/* ---- communicators, threads ------------------------------------------------------------------ */

static void communicators(void)
{
	static const int lists[3][4] = {{3, 2, 1, 0}, {2, 0}, {1, 3}};
	static const int twice[2] = {0, 0};
	GOAL_Comm world = GOAL_CommWorld(), back, half;
	const int *pair = lists[1 + me % 2];
	int out = me, in[3] = {-1, -1, -1}, i;
	GOAL_Schedule s[3];
	GOAL_Handle h[3];

	back = GOAL_CommCreate(world, lists[0], 4);
	half = GOAL_CommCreate(world, pair, 2);
	check(back && half && GOAL_CommSize(back) == 4 && GOAL_CommSize(half) == 2);
	check(GOAL_CommRank(back) == 3 - me && pair[GOAL_CommRank(half)] == me);
	check(GOAL_CommRank(NULL) < 0 && GOAL_CommSize(NULL) < 0);
	s[0] = ring(world, &out, &in[0], 4, 500000);
	s[1] = ring(back, &out, &in[1], 4, 0);
	s[2] = ring(half, &out, &in[2], 4, 0);
	/* Each rank in another order: communicators do not wait for each other. */
	for (i = 0; i < 3; i++)
		h[(i + me) % 3] = GOAL_Run(s[(i + me) % 3]);
	for (i = 0; i < 3; i++)
		check(GOAL_Wait(h[i]) == GOAL_SUCCESS);
	check(in[0] == before && in[1] == next && in[2] == (me + 2) % 4);
	check(GOAL_CommFree(half) == GOAL_ERR_STATE);
	for (i = 0; i < 3; i++)
		check(GOAL_FreeSchedule(s[i]) == GOAL_SUCCESS);
	check(GOAL_CommFree(half) == GOAL_SUCCESS && GOAL_CommFree(back) == GOAL_SUCCESS);
	check(GOAL_CommFree(NULL) == GOAL_ERR_ARG);
	/* The call is refused at all ranks, so their counts stay equal. */
	check(!GOAL_CommCreate(world, twice, 2) && !GOAL_CommCreate(world, lists[0], 5));
	check(!GOAL_CommCreate(NULL, lists[0], 1) && GOAL_LastError() == GOAL_ERR_ARG);
}

struct thread {
	GOAL_Comm comm; /* a run of this rank's own */
	int number;
	pthread_t id;
};

static void *thread_main(void *arg)
{
	const struct thread *t = (const struct thread *)arg;
	int *out = (int *)malloc(2 * BIG), *in = out + BIG / 4, i, k;
	GOAL_Schedule s;

	check(out && GOAL_LastError() == GOAL_SUCCESS); /* each thread has its own error text */
	for (i = 0; i < 6; i++) {
		s = ring(t->comm, out, in, t->number == 0 ? BIG : 400 * (i + 1), 0);
		for (k = 0; k < 4; k++) {
			out[0] = (t->number * 6 + i) * 4 + k + 100000 * me;
			check(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
			check(in[0] == (t->number * 6 + i) * 4 + k + 100000 * before);
		}
		check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	}
	check(GOAL_Run(NULL) == GOAL_ERR_ARG && GOAL_LastError() == GOAL_ERR_ARG);
	free(out);
	return NULL;
}

static void threads(void)
{
	static const int all[RANKS] = {0, 1, 2, 3};
	struct thread t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		t[i].number = i;
		t[i].comm = GOAL_CommCreate(GOAL_CommWorld(), all, RANKS);
		check(t[i].comm != NULL);
	}
	for (i = 0; i < THREADS; i++)
		check(!pthread_create(&t[i].id, NULL, thread_main, &t[i]));
	for (i = 0; i < THREADS; i++)
		check(!pthread_join(t[i].id, NULL) && GOAL_CommFree(t[i].comm) == GOAL_SUCCESS);
}

/* ---- files, traces --------------------------------------------------------------------------- */

static void files(void)
{
	GOAL_Comm world = GOAL_CommWorld();
	int out = me + 50, in = 0, out2 = me + 70, in2 = 0, i;
	GOAL_Buffer buffers[8];
	GOAL_Schedule s = ring(world, &out, &in, 4, 0);
	int num = GOAL_ScheduleBuffers(s, buffers, 8);
	char path[512];
	FILE *f;

	check(num >= 1 && num <= 2 && GOAL_ScheduleBuffers(s, NULL, 0) == num);
	snprintf(path, sizeof(path), "%s/schedule.%d", folder, me);
	check(GOAL_SaveSchedule(s, path) == GOAL_SUCCESS);
	check(GOAL_SaveSchedule(s, "/nowhere/at/all") == GOAL_ERR_FILE);
	check(!GOAL_LoadSchedule(world, path, buffers, num - 1) &&
	      GOAL_LastError() == GOAL_ERR_ARG);
	check(!GOAL_LoadSchedule(NULL, path, buffers, num));
	/*
	 * Loads the same schedule with the buffers of the file or, where both are known apart, with
	 * other ones.
	 */
	for (i = 0; num == 2 && i < 2; i++)
		buffers[i].addr = buffers[i].addr == (void *)&out ? &out2 : &in2;
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	run_free(GOAL_LoadSchedule(world, path, buffers, num));
	/* The compiler may have placed the two next to each other, at any rank. */
	check(num == 2 ? in == 0 && (in2 == before + 70 || in2 == before + 50)
		       : in == before + 70 || in == before + 50);
	f = fopen(path, "r+b");
	check(f && !fseek(f, 40, SEEK_SET) && fputc(0xa5, f) != EOF && !fclose(f));
	check(!GOAL_LoadSchedule(world, path, buffers, num) && GOAL_LastError() == GOAL_ERR_FILE);
	check(!GOAL_LoadSchedule(world, folder, buffers, num));
}

static void traces(void)
{
	const GOAL_TraceEntry *trace = NULL;
	int out = me, in = -1, i, count;
	GOAL_Schedule s = ring(GOAL_CommWorld(), &out, &in, 4, 0);
	GOAL_Handle h = GOAL_RunTraced(s, 100, &trace);
	char path[512];

	check(GOAL_Wait(h) == GOAL_SUCCESS && trace && in == before);
	count = GOAL_TraceCount(h);
	check(count >= 6 && count <= 100 && GOAL_TraceLost(h) == 0);
	check(!strcmp(GOAL_TracePointName(trace[0].point), "RUN_START"));
	check(!strcmp(GOAL_TracePointName(trace[count - 1].point), "RUN_FINISH"));
	for (i = 1; i < count; i++)
		check(trace[i].ns >= trace[i - 1].ns);
	snprintf(path, sizeof(path), "%s/trace.%d", folder, me);
	check(GOAL_SaveTrace(h, path) == GOAL_SUCCESS && GOAL_SaveTrace(h, NULL) == GOAL_ERR_ARG);
	snprintf(path, sizeof(path), "%s/saved.%d", folder, me);
	check(GOAL_SaveSchedule(s, path) == GOAL_SUCCESS);
	h = GOAL_RunTraced(s, 2, NULL);
	check(GOAL_Wait(h) == GOAL_SUCCESS);
	check(GOAL_TraceCount(h) == 2 && GOAL_TraceLost(h) >= 4);
	check(GOAL_RunTraced(s, 0, NULL) == GOAL_ERR_ARG && GOAL_TraceCount(-1) == GOAL_ERR_ARG);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Two blocks of each rank to the next. */
static GOAL_Schedule to_the_next(GOAL_Comm comm, int *send, int *recv, int64_t bytes,
				 GOAL_Algorithm alg)
{
	const GOAL_Block sends[] = {{next, 0, 0, bytes}, {next, 1, bytes, bytes}};
	const GOAL_Block recvs[] = {{before, 0, 0, bytes}, {before, 1, bytes, bytes}};

	return GOAL_ExchangeSchedule(comm, send, sends, 2, recv, recvs, 2, alg);
}

static GOAL_Schedule collective(GOAL_Collective coll, GOAL_Algorithm alg, int *send, int *recv,
				int root)
{
	GOAL_Comm w = GOAL_CommWorld();
	int64_t bytes = COUNT * 4;

	switch (coll) {
	case GOAL_COLL_BARRIER:
		return GOAL_BarrierSchedule(w, alg);
	case GOAL_COLL_BCAST:
		return GOAL_BcastSchedule(w, me == root ? send : recv, bytes, root, alg);
	case GOAL_COLL_GATHER:
		return GOAL_GatherSchedule(w, send, me == root ? recv : NULL, bytes, root, alg);
	case GOAL_COLL_SCATTER:
		return GOAL_ScatterSchedule(w, me == root ? send : NULL, recv, bytes, root, alg);
	case GOAL_COLL_REDUCE:
		return GOAL_ReduceSchedule(w, send, me == root ? recv : NULL, COUNT, GOAL_ADD,
					   GOAL_SINT, 32, root, alg);
	case GOAL_COLL_ALLREDUCE:
		return GOAL_AllreduceSchedule(w, send, recv, COUNT, GOAL_ADD, GOAL_SINT, 32, alg);
	case GOAL_COLL_ALLGATHER:
		return GOAL_AllgatherSchedule(w, send, recv, bytes, alg);
	case GOAL_COLL_REDUCE_SCATTER:
		return GOAL_ReduceScatterSchedule(w, send, recv, COUNT, GOAL_ADD, GOAL_SINT, 32,
						  alg);
	case GOAL_COLL_ALLTOALL:
		return GOAL_AlltoallSchedule(w, send, recv, bytes, alg);
	case GOAL_COLL_SCAN:
		return GOAL_ScanSchedule(w, send, recv, COUNT, GOAL_ADD, GOAL_SINT, 32, alg);
	case GOAL_COLL_EXSCAN:
		return GOAL_ExscanSchedule(w, send, recv, COUNT, GOAL_ADD, GOAL_SINT, 32, alg);
	case GOAL_COLL_EXCHANGE:
		return to_the_next(w, send, recv, bytes, alg);
	case GOAL_COLLECTIVES:
		break;
	}
	return NULL;
}

/* Element i of rank r's send. */
static int element(int r, int i)
{
	return 10000 * (r + 1) + i;
}

/* Ranks 0 to n - 1 combined. */
static int combined(int n, int i)
{
	return 10000 * (n * (n + 1) / 2) + n * i;
}

/* Element i expected in recv; -1: untouched. */
static int expected(GOAL_Collective coll, int root, int i)
{
	int block = i / COUNT, k = i % COUNT;

	if (coll == GOAL_COLL_ALLGATHER || (coll == GOAL_COLL_GATHER && me == root))
		return element(block, k);
	if (coll == GOAL_COLL_ALLTOALL)
		return element(block, COUNT * me + k);
	if (coll == GOAL_COLL_EXCHANGE && block < 2)
		return element(before, i);
	if (block > 0)
		return -1;
	if (coll == GOAL_COLL_EXSCAN)
		return me ? combined(me, k) : -1;
	if (coll == GOAL_COLL_BCAST && me != root)
		return element(root, k);
	if (coll == GOAL_COLL_SCATTER)
		return element(root, COUNT * me + k);
	if (coll == GOAL_COLL_ALLREDUCE || (coll == GOAL_COLL_REDUCE && me == root))
		return combined(RANKS, k);
	if (coll == GOAL_COLL_REDUCE_SCATTER)
		return combined(RANKS, COUNT * me + k);
	return coll == GOAL_COLL_SCAN ? combined(me + 1, k) : -1;
}

static void collectives(void)
{
	static int send[RANKS * COUNT], recv[RANKS * COUNT];
	int c, a, i, root, num;

	for (i = 0; i < RANKS * COUNT; i++)
		send[i] = element(me, i);
	for (c = 0; c < GOAL_COLLECTIVES; c++) {
		GOAL_Collective coll = (GOAL_Collective)c;

		for (a = 0, num = 0; a < GOAL_ALGORITHMS; a++) {
			GOAL_Algorithm alg = (GOAL_Algorithm)a;

			root = (c + a) % RANKS;
			if (alg != GOAL_ALG_AUTO && !GOAL_HasAlgorithm(coll, alg)) {
				check(!collective(coll, alg, send, recv, root));
				check(GOAL_LastError() == GOAL_ERR_ARG);
				continue;
			}
			num++;
			memset(recv, 0xff, sizeof(recv));
			run_free(collective(coll, alg, send, recv, root));
			for (i = 0; i < RANKS * COUNT; i++)
				check(recv[i] == expected(coll, root, i));
		}
		check(num >= 3);
	}
	for (i = 0; i < COUNT; i++)
		recv[i] = element(me, i);
	run_free(GOAL_AllreduceSchedule(GOAL_CommWorld(), GOAL_IN_PLACE, recv, COUNT, GOAL_MAX,
					GOAL_SINT, 32, GOAL_ALG_AUTO));
	check(recv[0] == element(RANKS - 1, 0));
	check(!GOAL_BarrierSchedule(NULL, GOAL_ALG_AUTO));
	check(!GOAL_BcastSchedule(GOAL_CommWorld(), recv, 4, RANKS, GOAL_ALG_AUTO));
}

static void rules(void)
{
	int a;

	for (a = 0; a < GOAL_ALGORITHMS; a++)
		check(GOAL_AlgorithmByName(GOAL_AlgorithmName((GOAL_Algorithm)a)) == a);
	check(!GOAL_AlgorithmName(GOAL_ALGORITHMS) && !GOAL_CollectiveName(GOAL_COLLECTIVES));
	check(GOAL_AlgorithmByName("fastest") == GOAL_ERR_ARG && GOAL_AlgorithmByName(NULL) < 0);
	check(!strcmp(GOAL_CollectiveName(GOAL_COLL_SCAN), "scan"));
	check(GOAL_AutoAlgorithm(GOAL_COLL_BARRIER, 6, 0) == GOAL_ALG_BRUCK);
	check(GOAL_AutoAlgorithm(GOAL_COLL_GATHER, 61, 5000) == GOAL_ALG_BINOMIAL);
	check(GOAL_AutoAlgorithm(GOAL_COLL_BCAST, 0, 1) == GOAL_ERR_ARG);
	check(GOAL_SetCollectiveRules("bcast:4/100=chain,binomial") == GOAL_SUCCESS);
	check(GOAL_AutoAlgorithm(GOAL_COLL_BCAST, 4, 100) == GOAL_ALG_CHAIN);
	check(GOAL_AutoAlgorithm(GOAL_COLL_BCAST, 4, 101) == GOAL_ALG_BINOMIAL);
	check(GOAL_SetCollectiveRules("bcast:4/100=bruck") == GOAL_ERR_ARG);
	check(GOAL_AutoAlgorithm(GOAL_COLL_BCAST, 5, 100) == GOAL_ALG_BINOMIAL);
	check(GOAL_SetCollectiveRules(NULL) == GOAL_SUCCESS);
	/* The ring is not chosen where its messages would grow with the square of the ranks. */
	check(GOAL_AutoAlgorithm(GOAL_COLL_BCAST, 4096, 65536) != GOAL_ALG_SCATTER_ALLGATHER);
}

int main(int argc, char **argv)
{
	folder = argc == 2 ? argv[1] : ".";
	uninitialised();
	words();
	check(GOAL_Init() == GOAL_SUCCESS);
	me = GOAL_MyRank();
	check(GOAL_GroupSize() == RANKS && me >= 0 && me < RANKS);
	check(GOAL_CommRank(GOAL_CommWorld()) == me && GOAL_CommSize(GOAL_CommWorld()) == RANKS);
	next = (me + 1) % RANKS;
	before = (me + RANKS - 1) % RANKS;
	messages();
	multicasts();
	arithmetic();
	refused();
	in_flight();
	communicators();
	threads();
	failures();
	events();
	files();
	traces();
	collectives();
	rules();
	run_free(GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO));
	check(GOAL_Finalize() == GOAL_SUCCESS && GOAL_IsFinalized() == 1);
	check(GOAL_Finalize() == GOAL_ERR_STATE);
	printf("rank %d: all right\n", me);
	return 0;
}
