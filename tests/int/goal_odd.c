/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unusual and wrong uses of libGOAL, case by case: each must end as the documents say, with a
 * helpful message.
 *
 * Run by tests/int/goal_odd.sh with three ranks.
 *
 *	goal_odd CASE...	those of cases[] below
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"
#include "tests/int/goal_check.h"

enum {
	BLOCK = 4000,  /* messages of the gather with a late rank */
	ROUNDS = 800,  /* bytes of each: together more than a pool of 2 MiB holds */
	BIG = 1 << 20, /* beyond the eager limit */
	LATE_MS = 1500,
};
#define FOREVER_NS UINT64_C(3600000000000)

static int size;

static bool says(const char *what)
{
	return strstr(GOAL_LastErrorDetail(), what) != NULL;
}

static uint8_t *pages(size_t bytes, uint8_t fill)
{
	uint8_t *mem =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(mem != MAP_FAILED);
	memset(mem, fill, bytes);
	return mem;
}

static void barrier(GOAL_Comm comm)
{
	GOAL_Schedule s = GOAL_BarrierSchedule(comm, GOAL_ALG_AUTO);

	check(s && GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/* Runs for the given time, or until its time-out. */
static GOAL_Handle calc(uint64_t ns, uint64_t timeout_ns)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;
	GOAL_Handle h;

	check(GOAL_Calc(g, ns) >= 0);
	s = compiled(g);
	h = GOAL_RunTimeout(s, timeout_ns);
	check(h >= 0 && GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	return h;
}

static void args(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	uint8_t buf[8];

	check(GOAL_Send(g, buf, 8, 0, 0, (GOAL_MemType)7) == GOAL_INVALID_VERTEX);
	check(GOAL_LastError() == GOAL_ERR_ARG && says("GOAL_Send: 7 is no memory type"));
	check(GOAL_LocalOp(g, buf, buf, buf, GOAL_ADD, GOAL_UINT, 8, 8, GOAL_USERSPACE,
			   (GOAL_MemType)7) == GOAL_INVALID_VERTEX &&
	      says("memory type"));
	check(GOAL_Recv(g, buf, 8, size) == GOAL_INVALID_VERTEX &&
	      says("rank 3 is not in the communicator, which has 3 ranks"));
	check(GOAL_Recv(g, buf, 8, 0, -5) == GOAL_INVALID_VERTEX && says("tag -5 is negative"));
	check(GOAL_Recv(g, buf, -8, 0) == GOAL_INVALID_VERTEX && says("a negative length, -8"));
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
	check(GOAL_CommFree(GOAL_CommWorld()) == GOAL_ERR_ARG && says("GOAL_Finalize"));
	/* Longer than the range of the NIC's clock. */
	check(GOAL_Wait(calc(UINT64_MAX, 50000000)) == GOAL_ERR_TIMEOUT);
	barrier(GOAL_CommWorld());
}

static void compile_errors(void)
{
	uint8_t *there = pages(2 * BIG, 0);
	GOAL_Graph g = GOAL_CreateGraph();

	check(munmap(there + BIG, BIG) == 0);
	check(GOAL_Send(g, there, 100, 0) == 0 && GOAL_Recv(g, there + BIG - 50, 100, 1, 4) == 1);
	check(!GOAL_Compile(g) && GOAL_LastError() == GOAL_ERR_MEMORY);
	check(says("vertex 1, a receive of 100 bytes with tag 4 from rank 1: the buffer of 100 "
		   "bytes at 0x") &&
	      says("is not mapped"));
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
	/* The memory becomes read-only: a receive into it is refused. */
	check(mprotect(there, BIG, PROT_READ) == 0);
	g = GOAL_CreateGraph();
	check(GOAL_Recv(g, there, 100, 0, 9) == 0);
	check(!GOAL_Compile(g) && GOAL_LastError() == GOAL_ERR_MEMORY);
	check(says("vertex 0, a receive of 100 bytes with tag 9 from rank 0") &&
	      says("may not be written to"));
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS && munmap(there, BIG) == 0);
	g = GOAL_CreateGraph();
	check(GOAL_AllocateScratchpad(g, 10) == GOAL_SUCCESS);
	check(GOAL_Send(g, (void *)8, 4, 0, 0, GOAL_SCRATCHPAD) == 0);
	check(!GOAL_Compile(g) && GOAL_LastError() == GOAL_ERR_SCRATCHPAD);
	check(says("vertex 0, a send of 4 bytes") && says("scratchpad's 10 bytes"));
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
	barrier(GOAL_CommWorld());
}

/* Rank 2 sends nothing. Each rank's error names the message that it waits for. */
static void time_out(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	uint8_t *buf = pages(BIG, 0);
	GOAL_Schedule s;
	int i;

	if (me == 0)
		for (i = 0; i < 12; i++)
			check(GOAL_Recv(g, buf + 16 * i, 10 + i, i < 10 ? 2 : 1, i) >= 0);
	else
		check(GOAL_Recv(g, buf, BIG, 0, 77) >= 0);
	s = compiled(g);
	check(GOAL_Wait(GOAL_RunTimeout(s, me == 0 ? 1000000000 : 0)) == GOAL_ERR_TIMEOUT);
	if (me == 0) {
		check(says(
		    "rank 0 waits for vertex 0, a receive of 10 bytes with tag 0 from rank 2"));
		check(says("vertex 9, a receive of 19 bytes") && says("; and 2 more"));
		check(!says("vertex 10,"));
	} else {
		check(
		    says("at rank 0") &&
		    says("waits for vertex 0, a receive of 1048576 bytes with tag 77 from rank 0"));
	}
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS && munmap(buf, BIG) == 0);
}

static void truncated(void)
{
	uint8_t *buf = pages(BIG, 0);
	int64_t bytes;

	/* One eager message, one announced. */
	for (bytes = 20; bytes <= BIG; bytes += BIG - 20) {
		GOAL_Graph g = GOAL_CreateGraph();
		GOAL_Schedule s;
		char want[100];

		if (me == 0)
			check(GOAL_Send(g, buf, bytes, 1) >= 0);
		if (me == 1)
			check(GOAL_Recv(g, buf, bytes - 9, 0) >= 0);
		/*
		 * A receive from the next rank keeps each run alive until the truncation is found.
		 */
		check(GOAL_Recv(g, buf, 1, (me + 1) % size, 9) >= 0);
		s = compiled(g);
		check(GOAL_Wait(GOAL_Run(s)) == GOAL_ERR_TRUNCATED);
		snprintf(want, sizeof(want), "the message has %d bytes, its receive room for %d",
			 (int)bytes, (int)bytes - 9);
		check(says(want) && says(me == 1 ? "vertex 0, a receive of" : "at rank 1"));
		check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	}
	check(munmap(buf, BIG) == 0);
}

static void subsets(void)
{
	static const int low[] = {0, 1}, high[] = {1, 2}, ends[] = {2, 0}, bad[] = {0, 0};
	GOAL_Comm of[2][3] = {{NULL}};
	int round, i;

	/* Twice, so that there are two of each list. */
	for (round = 0; round < 2; round++) {
		/*
		 * A call that fails on one rank changes no key, because the other ranks do not
		 * learn of it.
		 */
		if (me == 1)
			check(!GOAL_CommCreate(GOAL_CommWorld(), bad, 2));
		if (me <= 1)
			check((of[round][0] = GOAL_CommCreate(GOAL_CommWorld(), low, 2)));
		if (me >= 1)
			check((of[round][1] = GOAL_CommCreate(GOAL_CommWorld(), high, 2)));
		if (me != 1)
			check((of[round][2] = GOAL_CommCreate(GOAL_CommWorld(), ends, 2)));
		for (i = 0; i < 3; i++)
			if (of[round][i])
				barrier(of[round][i]);
	}
	for (i = 0; i < 6; i++)
		check(!of[i / 3][i % 3] || GOAL_CommFree(of[i / 3][i % 3]) == GOAL_SUCCESS);
	barrier(GOAL_CommWorld());
}

/* A forked child has copies of all objects, but none of the parent's runs. */
static void forks(void)
{
	GOAL_Schedule s = GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO);
	GOAL_Handle h = calc(300000000, 0);
	GOAL_Graph g;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	check(pid >= 0);
	if (!pid) {
		check(GOAL_Wait(h) == GOAL_ERR_STATE && says("fork"));
		check(GOAL_Test(h) == 1 && GOAL_Cancel(h) == GOAL_ERR_STATE);
		check(GOAL_Run(s) == GOAL_ERR_STATE && GOAL_Finalize() == GOAL_ERR_STATE);
		check(!GOAL_CommWorld() && GOAL_LastError() == GOAL_ERR_STATE);
		g = GOAL_CreateGraph();
		check(!g);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	check(GOAL_Wait(h) == GOAL_SUCCESS && GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/* From rank 0 to the others; each run uses the content of the buffer at its start. */
static void unmapped(void)
{
	uint8_t *buf = pages(BIG, (uint8_t)(me ? 0 : 1)), *again;
	GOAL_Schedule s = GOAL_BcastSchedule(GOAL_CommWorld(), buf, BIG, 0, GOAL_ALG_BINOMIAL);
	GOAL_Result result = {0};
	int status;

	check(s && GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS && buf[BIG - 1] == 1);
	if (me == 1)
		check(munmap(buf, BIG) == 0);
	status = GOAL_WaitResult(GOAL_Run(s), &result);
	/* A leaf may have finished by then. */
	check((me == 2 && status == GOAL_SUCCESS) ||
	      (status == GOAL_ERR_MEMORY && result.rank == 1));
	barrier(GOAL_CommWorld());
	if (me == 1) {
		again = mmap(buf, BIG, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		check(again == buf);
	}
	/* New memory is mapped at the same address, also at the root of another one. */
	check(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS && buf[0] == 1 && buf[BIG - 1] == 1);
	again =
	    mmap(buf, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(again == buf);
	memset(buf, me ? 0 : 7, BIG);
	check(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS && buf[0] == 7 && buf[BIG - 1] == 7);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS && munmap(buf, BIG) == 0);
	barrier(GOAL_CommWorld());
}

/*
 * Buffers of a collective are its work space, so one run at a time is allowed; a barrier has none.
 */
static void several(void)
{
	uint64_t *in = (void *)pages(BIG, 0), *out = (void *)pages(BIG, 0);
	GOAL_Schedule sum = GOAL_AllreduceSchedule(GOAL_CommWorld(), in, out, 1000, GOAL_ADD,
						   GOAL_UINT, 64, GOAL_ALG_AUTO);
	GOAL_Schedule bar = GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO);
	const int all[] = {0, 1, 2};
	GOAL_Comm order = GOAL_CommCreate(GOAL_CommWorld(), all, 3);
	GOAL_Handle h, b[8];
	int i, round;

	check(sum && bar && order);
	for (i = 0; i < 1000; i++)
		in[i] = (uint64_t)i + (uint64_t)me;
	for (round = 0; round < 10; round++) {
		barrier(GOAL_CommWorld());
		/* Rank 2 starts when the others have tried: until then their runs are in flight. */
		if (me == 2)
			barrier(order);
		/* Refused while the run of the round before is in flight. */
		do
			h = GOAL_Run(sum);
		while (h == GOAL_ERR_STATE && says("in flight"));
		check(h >= 0);
		if (me != 2) {
			check(GOAL_Run(sum) == GOAL_ERR_STATE && says("in flight"));
			barrier(order);
		}
		for (i = 0; i < 8; i++)
			check((b[i] = GOAL_Run(bar)) >= 0);
		for (i = 0; i < 8; i++)
			check(GOAL_Wait(b[i]) == GOAL_SUCCESS);
		/*
		 * In even rounds the handle is never tested: the next round must still see that the
		 * run is over.
		 */
		if (round % 2)
			check(GOAL_Wait(h) == GOAL_SUCCESS && out[999] == 3 * 999 + 3);
		barrier(GOAL_CommWorld());
	}
	check(GOAL_FreeSchedule(sum) == GOAL_SUCCESS && GOAL_FreeSchedule(bar) == GOAL_SUCCESS);
	check(GOAL_CommFree(order) == GOAL_SUCCESS);
}

/*
 * Runs that ended before anything waited for them: another run has taken their records since, which
 * a later run of the same collective does by itself.
 */
static void outcomes(void)
{
	uint64_t in = 1, out = 0;
	GOAL_Schedule sum = GOAL_AllreduceSchedule(GOAL_CommWorld(), &in, &out, 1, GOAL_ADD,
						   GOAL_UINT, 64, GOAL_ALG_AUTO);
	GOAL_Handle first[10], late;
	GOAL_Result result;
	int i;

	check(sum);
	late = calc(FOREVER_NS, 1000000);
	while (!GOAL_Test(late))
		usleep(1000);
	for (i = 0; i < 10; i++) {
		/* Refused while the run before it is in flight. */
		do
			first[i] = GOAL_Run(sum);
		while (first[i] == GOAL_ERR_STATE && says("in flight"));
		check(first[i] >= 0);
	}
	for (i = 0; i < 10; i++)
		check(GOAL_WaitResult(first[i], &result) == GOAL_SUCCESS && result.ops > 0);
	check(GOAL_Wait(late) == GOAL_ERR_TIMEOUT && says("a calc of 3600000000000 ns"));
	check(GOAL_Test(first[0]) == 1 && out == 3);
	check(GOAL_FreeSchedule(sum) == GOAL_SUCCESS);
	barrier(GOAL_CommWorld());
}

/* Rank 2 is late by more than a second; rank 1 runs ahead until the root's pool is full. */
static void late(void)
{
	uint8_t *in = pages(BLOCK, (uint8_t)me), *out = pages(3 * BLOCK, 99);
	GOAL_Schedule s = GOAL_GatherSchedule(GOAL_CommWorld(), in, out, BLOCK, 0, GOAL_ALG_LINEAR);
	GOAL_Schedule r = GOAL_ReduceSchedule(GOAL_CommWorld(), in, me ? NULL : out, BLOCK / 8,
					      GOAL_ADD, GOAL_UINT, 64, 0, GOAL_ALG_AUTO);
	int i;

	check(s && r);
	if (me == 2)
		usleep(LATE_MS * 1000);
	for (i = 0; i < ROUNDS; i++) {
		check(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
		check(me || (out[0] == 0 && out[BLOCK] == 1 && out[3 * BLOCK - 1] == 2));
	}
	if (me == 2)
		usleep(LATE_MS * 1000);
	for (i = 0; i < ROUNDS; i++)
		check(GOAL_Wait(GOAL_Run(r)) == GOAL_SUCCESS && (me || out[1] == 3));
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS && GOAL_FreeSchedule(r) == GOAL_SUCCESS);
}

/* A large multicast is received after a later one. */
static void multicast(void)
{
	uint8_t *large = pages(BIG, (uint8_t)(me ? 0 : 5)), small[8] = {0};
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Vertex first, then;
	GOAL_Schedule s;

	if (me == 0) {
		memset(small, 6, sizeof(small));
		first = GOAL_McastSend(g, large, BIG, 1);
		then = GOAL_McastSend(g, small, sizeof(small), 2);
	} else {
		first = GOAL_McastRecv(g, small, sizeof(small), 0, 2);
		then = GOAL_McastRecv(g, large, BIG, 0, 1);
	}
	check(first >= 0 && then >= 0 && GOAL_Requires(g, first, then) == GOAL_SUCCESS);
	s = compiled(g);
	check(GOAL_Wait(GOAL_RunTimeout(s, 20000000000)) == GOAL_SUCCESS);
	check(small[7] == 6 && large[0] == 5 && large[BIG - 1] == 5);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	barrier(GOAL_CommWorld());
}

/* weftd is killed meanwhile. */
static void gone(void)
{
	GOAL_Handle h = calc(FOREVER_NS, 0), unseen = calc(FOREVER_NS, 0);

	printf("ready\n");
	fflush(stdout);
	while (!GOAL_Test(h))
		usleep(1000);
	check(GOAL_Wait(h) == GOAL_ERR_NIC_GONE && GOAL_Wait(h) == GOAL_ERR_NIC_GONE);
	check(unseen >= 0 && GOAL_Finalize() == GOAL_ERR_NIC_GONE);
	check(GOAL_IsFinalized() && GOAL_Finalize() == GOAL_ERR_STATE);
	printf("all right\n");
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
	    {"args", args},           {"compile_errors", compile_errors},
	    {"time_out", time_out},   {"truncated", truncated},
	    {"subsets", subsets},     {"forks", forks},
	    {"unmapped", unmapped},   {"several", several},
	    {"outcomes", outcomes},   {"late", late},
	    {"multicast", multicast}, {"gone", gone},
	};
	size_t k;
	int i;

	if (GOAL_Init() != GOAL_SUCCESS) {
		fprintf(stderr, "GOAL_Init: %s (%s)\n", GOAL_StrError(GOAL_LastError()),
			GOAL_LastErrorDetail());
		return 1;
	}
	me = GOAL_MyRank();
	size = GOAL_GroupSize();
	for (i = 1; i < argc; i++) {
		for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
			if (strcmp(argv[i], cases[k].name) == 0)
				break;
		check(k < sizeof(cases) / sizeof(cases[0]));
		cases[k].run();
		printf("%s: right\n", argv[i]);
		fflush(stdout);
	}
	check(GOAL_Finalize() == GOAL_SUCCESS);
	printf("all right\n");
	return 0;
}
