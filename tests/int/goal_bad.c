/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bad input to libGOAL and the NIC, case by case, with three or more ranks. Each case must end with
 * the expected error at every rank, must not disturb a run of another communicator that is in
 * flight, and must leave its own communicator usable for the next run.
 *
 * Run by tests/int/goal_bad.sh, which compares the NICs' counts of objects before and after.
 *
 *	goal_bad CASE...
 *
 * It writes files into WEFT_TMP; cases[] below has the names of the cases.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"
#include "lib/crc32c.h"
#include "shared_defs/goal_format.h"
#include "tests/int/goal_check.h"

enum {
	BIG = 400000,         /* sent only on the receiver's announcement */
	POOL_MESSAGE = 60000, /* in the case that fills the pool */
	POOL_MESSAGES = 100,  /* pool size, less than the messages sent */
	MAX_FILE = 4096,
};

static int size, next, before;
static const char *folder;
static uint8_t *out, *in; /* BIG bytes, and twice as many */
/* A run of another communicator that is in flight meanwhile. */
static GOAL_Comm other;
static GOAL_Schedule witness;
static uint32_t witness_in[1000], witness_out[1000];

/* Checks that compilation fails, and that the error text says why. */
static void refused(GOAL_Graph g, int error)
{
	check(!GOAL_Compile(g) && GOAL_LastError() == error);
	check(*GOAL_StrError(error) && *GOAL_LastErrorDetail());
	check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
}

/* Runs the schedule and checks the error and the rank at fault (-1: not reported here). */
static void ends(GOAL_Schedule s, uint64_t timeout_ns, int error, int rank)
{
	GOAL_Result result = {0};

	check(GOAL_WaitResult(GOAL_RunTimeout(s, timeout_ns), &result) == error);
	check(result.status == error);
	if (rank >= 0 && result.rank != rank)
		fprintf(stderr, "rank %d: rank %d is said to be at fault\n", me, result.rank);
	check(rank < 0 || result.rank == rank);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/* Rank 0 begins, each rank passes the message on to the next, and the last one back to rank 0. */
static GOAL_Graph ring(int64_t bytes, int64_t room, GOAL_Vertex *recv, GOAL_Vertex *send)
{
	GOAL_Graph g = GOAL_CreateGraph();

	*send = GOAL_Send(g, out, bytes, next, 1);
	*recv = GOAL_Recv(g, in, room, before, 1);
	check(*send >= 0 && *recv >= 0);
	if (me)
		check(GOAL_Requires(g, *recv, *send) == GOAL_SUCCESS);
	return g;
}

/* ---- refused before anything runs ------------------------------------------------------------ */

static void cycle(void)
{
	GOAL_Vertex recv, send, third;
	GOAL_Graph g = ring(4, 4, &recv, &send);

	third = GOAL_Calc(g, 1);
	check(GOAL_Requires(g, send, third) == GOAL_SUCCESS);
	check(GOAL_Requires(g, third, recv) == GOAL_SUCCESS);
	check(GOAL_Requires(g, recv, send) == GOAL_SUCCESS);
	refused(g, GOAL_ERR_CYCLE);
	g = GOAL_CreateGraph();
	send = GOAL_Send(g, out, 4, next);
	/* An operation that depends on itself, by edges of either kind. */
	if (GOAL_Requires(g, send, send) == GOAL_SUCCESS)
		refused(g, GOAL_ERR_CYCLE);
	else
		check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
}

static void no_vertex(GOAL_Vertex v)
{
	check(v == GOAL_INVALID_VERTEX && GOAL_LastError() == GOAL_ERR_ARG);
	check(*GOAL_LastErrorDetail());
}

static void peer(void)
{
	GOAL_Graph g = GOAL_CreateGraph();

	no_vertex(GOAL_Send(g, out, 4, size));
	no_vertex(GOAL_Send(g, out, 4, -1));
	no_vertex(GOAL_Recv(g, in, 4, size));
	no_vertex(GOAL_Recv(g, in, 4, -2));
	no_vertex(GOAL_McastRecv(g, in, 4, size));
	no_vertex(GOAL_McastRecv(g, in, 4, me));
	no_vertex(GOAL_Send(g, out, -1, next));
	no_vertex(GOAL_Send(g, out, 4, next, -1));
	refused(g, GOAL_ERR_ARG);
}

static void scratchpad(void)
{
	static const uintptr_t bad[] = {61, 64, 1 << 20, UINTPTR_MAX, (uintptr_t)INT64_MAX};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		GOAL_Graph g = GOAL_CreateGraph();
		GOAL_Vertex v;

		check(GOAL_AllocateScratchpad(g, 64) == GOAL_SUCCESS);
		check(GOAL_Send(g, at(60), 4, next, 0, GOAL_SCRATCHPAD) >= 0);
		if (i & 1)
			v = GOAL_Recv(g, at(bad[i]), 4, before, 0, GOAL_SCRATCHPAD);
		else
			v = GOAL_LocalOp(g, out, out, at(bad[i]), GOAL_ADD, GOAL_UINT, 8, 4,
					 GOAL_USERSPACE, GOAL_USERSPACE, GOAL_SCRATCHPAD);
		if (v >= 0) {
			refused(g, GOAL_ERR_SCRATCHPAD);
			continue;
		}
		check(GOAL_LastError() == GOAL_ERR_SCRATCHPAD || GOAL_LastError() == GOAL_ERR_ARG);
		check(GOAL_FreeGraph(g) == GOAL_SUCCESS);
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes the file with its CRC corrected. */
static void sign(uint8_t *code, size_t bytes)
{
	struct goal_header header;

	memcpy(&header, code, sizeof(header));
	header.crc32c = 0;
	memcpy(code, &header, sizeof(header));
	header.crc32c = ~crc32c_update(CRC32C_INIT, code, bytes);
	memcpy(code, &header, sizeof(header));
}

static GOAL_Schedule load(GOAL_Comm comm, const uint8_t *code, size_t bytes)
{
	GOAL_Buffer buffers[8];
	char path[256];
	FILE *f;
	int i;

	for (i = 0; i < 8; i++)
		buffers[i] = (GOAL_Buffer){i & 1 ? in : out, BIG};
	snprintf(path, sizeof(path), "%s/bad.%d", folder, me);
	f = fopen(path, "wb");
	check(f && fwrite(code, 1, bytes, f) == bytes && fclose(f) == 0);
	return GOAL_LoadSchedule(comm, path, buffers, 8);
}

/* Writes a valid schedule: messages, arithmetic, scratchpad, pieces. */
static size_t saved(GOAL_Comm comm, uint8_t *code)
{
	void *parts[2] = {out + 100, out + 200}, *pad[1] = {at(8)};
	int lengths[2] = {8, 8}, room[1] = {16};
	GOAL_Graph g = GOAL_CreateGraphOn(comm);
	GOAL_Vertex recv, add, calc;
	GOAL_Schedule s;
	char path[256];
	size_t bytes;
	FILE *f;

	check(GOAL_AllocateScratchpad(g, 64) == GOAL_SUCCESS);
	check(GOAL_SendVec(g, parts, lengths, 2, next, 3) >= 0);
	recv = GOAL_RecvVec(g, pad, room, 1, before, 3, GOAL_SCRATCHPAD);
	add = GOAL_LocalOp(g, at(8), out, in, GOAL_ADD, GOAL_UINT, 32, 4, GOAL_SCRATCHPAD);
	calc = GOAL_Calc(g, 1000);
	check(GOAL_Requires(g, recv, add) == GOAL_SUCCESS);
	check(GOAL_RequiresStart(g, recv, calc) == GOAL_SUCCESS);
	s = compiled(g);
	snprintf(path, sizeof(path), "%s/good.%d", folder, me);
	check(GOAL_SaveSchedule(s, path) == GOAL_SUCCESS);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	f = fopen(path, "rb");
	check(f);
	bytes = fread(code, 1, MAX_FILE, f);
	check(bytes > sizeof(struct goal_header) && bytes < MAX_FILE && fclose(f) == 0);
	return bytes;
}

static void truncated(void)
{
	uint8_t code[MAX_FILE], bad[MAX_FILE];
	size_t bytes = saved(GOAL_CommWorld(), code), i;

	for (i = 0; i < bytes; i += i < 120 ? 1 : 13) {
		check(!load(GOAL_CommWorld(), code, i) && GOAL_LastError() == GOAL_ERR_FILE);
		check(*GOAL_LastErrorDetail());
	}
	for (i = 0; i < bytes; i++) {
		memcpy(bad, code, bytes);
		bad[i] ^= (uint8_t)(1 << i % 8);
		check(!load(GOAL_CommWorld(), bad, bytes) && GOAL_LastError() == GOAL_ERR_FILE);
		check(*GOAL_LastErrorDetail());
	}
}

/*
 * Changes each word of a valid schedule, with a correct CRC: the NIC either refuses it and says
 * why, or runs it without harm to others. The ranks need not agree on the schedule.
 */
static void forged(void)
{
	static const uint32_t words[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX};
	int all[64], i;
	uint8_t code[MAX_FILE], bad[MAX_FILE];
	size_t bytes, w, k;
	int loaded = 0, no = 0;
	GOAL_Comm comm;

	for (i = 0; i < size; i++)
		all[i] = i;
	comm = GOAL_CommCreate(GOAL_CommWorld(), all, size);
	check(comm);
	bytes = saved(comm, code);
	for (w = 0; w + 4 <= bytes; w += 4) {
		for (k = 0; k <= sizeof(words) / sizeof(*words); k++) {
			uint32_t old, new;
			GOAL_Schedule s;

			memcpy(bad, code, bytes);
			memcpy(&old, bad + w, 4);
			new = k < sizeof(words) / sizeof(*words) ? words[k] : old + 1;
			memcpy(bad + w, &new, 4);
			sign(bad, bytes);
			s = load(comm, bad, bytes);
			if (!s) {
				check(*GOAL_LastErrorDetail());
				no++;
				continue;
			}
			loaded++;
			/* The clock of a forged timer may run for centuries. */
			(void)GOAL_Wait(GOAL_RunTimeout(s, 3000000));
			check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
		}
	}
	printf("rank %d: %d forged schedules refused, %d run\n", me, no, loaded);
	check(no > 200 && loaded > 20);
	check(GOAL_CommFree(comm) == GOAL_SUCCESS);
}

/* ---- runs that fail -------------------------------------------------------------------------- */

static void lengths(void)
{
	static const int64_t sent[][2] = {
	    {5, 4}, {1, 0}, {100000, 99999}, {BIG, 4}, {BIG, BIG - 1}};
	GOAL_Vertex recv, send;
	size_t i;

	for (i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		GOAL_Graph g = ring(sent[i][0], me == 1 ? sent[i][1] : BIG, &recv, &send);

		ends(compiled(g), 0, GOAL_ERR_TRUNCATED, 1);
		/* A message shorter than its receive is no error. */
		g = ring(sent[i][1], sent[i][0], &recv, &send);
		ends(compiled(g), 0, GOAL_SUCCESS, -1);
	}
}

static void multicast_lengths(void)
{
	static const int64_t sent[][2] = {{5, 4}, {1, 0}, {100000, 99999}, {BIG, 4}};
	GOAL_Vertex recv, send, all;
	size_t i;

	for (i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		GOAL_Graph g = ring(4, 4, &recv, &send);

		if (me == 0)
			all = GOAL_McastSend(g, out, sent[i][0]);
		else
			all = GOAL_McastRecv(g, in + BIG, sent[i][me == 1], 0);
		check(all >= 0 && GOAL_Requires(g, all, send) == GOAL_SUCCESS);
		ends(compiled(g), 0, GOAL_ERR_TRUNCATED, 1);
	}
}

/* A receive without a matching send: the run times out at every rank. */
static void tags(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Vertex send = GOAL_Send(g, out, 8, next, me == 1), recv = GOAL_Recv(g, in, 8, before);

	check(send >= 0 && recv >= 0);
	if (me)
		check(GOAL_Requires(g, recv, send) == GOAL_SUCCESS);
	/* Passes a message once around and one rank further, so that no rank finishes early. */
	if (me == 0)
		check(GOAL_Requires(g, recv, GOAL_Send(g, out, 8, next, 2)) == GOAL_SUCCESS);
	if (me == 1)
		check(GOAL_Recv(g, in, 8, before, 2) >= 0);
	ends(compiled(g), 300000000, GOAL_ERR_TIMEOUT, -1);
}

static void divide(void)
{
	int32_t zero[2] = {1, 0}, one[2] = {1, 1}, r[2];
	GOAL_Vertex recv, send, div = GOAL_INVALID_VERTEX;
	GOAL_Graph g = ring(4, 4, &recv, &send);
	GOAL_Result result;
	GOAL_Schedule s;

	if (me == 1) {
		div = GOAL_LocalOp(g, one, zero, r, GOAL_DIV, GOAL_SINT, 32, 2);
		check(div >= 0 && GOAL_Requires(g, recv, div) == GOAL_SUCCESS);
		check(GOAL_Requires(g, div, send) == GOAL_SUCCESS);
	}
	s = compiled(g);
	check(GOAL_WaitResult(GOAL_Run(s), &result) == GOAL_ERR_DIVIDE && result.rank == 1);
	check(me != 1 || result.vertex == div);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/*
 * Unmaps memory between GOAL_Compile() and GOAL_Run(), with WEFT_MEM=process_vm. Where the NIC has
 * the memory mapped, it keeps the mapping until the schedule is freed.
 */
static void unmapped(void)
{
	GOAL_Vertex recv, send;
	uint8_t *old = out;
	GOAL_Schedule s;
	void *map;

	map = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(map != MAP_FAILED);
	memset(map, 1, BIG);
	if (me == 1)
		out = map;
	s = compiled(ring(BIG, BIG, &recv, &send));
	out = old;
	check(munmap(map, BIG) == 0);
	ends(s, 0, GOAL_ERR_MEMORY, 1);
}

/*
 * Rank 1 receives last what was sent first, so all messages wait in its pool, which WEFT_GOAL_POOL
 * sizes.
 */
static void last_comes_first(int status, int rank)
{
	GOAL_Vertex recv, send, v, first = GOAL_INVALID_VERTEX;
	GOAL_Graph g = ring(4, 4, &recv, &send);
	int i;

	for (i = 0; me < 2 && i < POOL_MESSAGES; i++) {
		v = me ? GOAL_Recv(g, in, POOL_MESSAGE, 0, 2)
		       : GOAL_Send(g, out, POOL_MESSAGE, 1, 2);
		check(v >= 0);
		if (me)
			check(GOAL_Requires(g, recv, v) == GOAL_SUCCESS);
		else
			check(GOAL_Requires(g, v, send) == GOAL_SUCCESS);
		if (me && first != GOAL_INVALID_VERTEX)
			check(GOAL_Requires(g, first, v) == GOAL_SUCCESS);
		first = v;
	}
	if (me == 1)
		check(GOAL_Requires(g, first, send) == GOAL_SUCCESS);
	ends(compiled(g), 0, status, rank);
}

static void pool(void)
{
	last_comes_first(GOAL_ERR_UNEXPECTED, 1);
}

static void roomy(void)
{
	last_comes_first(GOAL_SUCCESS, -1);
}

/* ---- the end of a rank ----------------------------------------------------------------------- */

/* The last rank ends in the given way while a run waits for it. */
static void dies(bool kill)
{
	int last = size - 1, rest[64], i;
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s, sum;
	uint32_t a = 1, b = 0;
	GOAL_Comm comm = NULL;

	for (i = 0; i < last; i++)
		rest[i] = i;
	/* Runs on all ranks but the last one. */
	if (me != last) {
		comm = GOAL_CommCreate(other, rest, last);
		check(comm);
	}
	if (me == last) {
		GOAL_Vertex calc = GOAL_Calc(g, UINT64_C(3600000000000));

		for (i = 0; i < last; i++)
			check(GOAL_Requires(g, calc, GOAL_Send(g, out, BIG, i, 1)) == GOAL_SUCCESS);
		check(GOAL_Run(compiled(g)) >= 0);
		usleep(100000);
		if (kill)
			raise(SIGKILL);
		_exit(0);
	}
	sum = GOAL_AllreduceSchedule(comm, &a, &b, 1, GOAL_ADD, GOAL_UINT, 32, GOAL_ALG_AUTO);
	check(GOAL_Recv(g, in, BIG, last, 1) >= 0);
	s = compiled(g);
	/*
	 * A process's memory goes before the process does; the NIC may have met that error instead.
	 */
	i = GOAL_Wait(GOAL_Run(s));
	check(i == GOAL_ERR_PEER_LOST || i == GOAL_ERR_UNREACHABLE || i == GOAL_ERR_MEMORY);
	i = GOAL_Wait(GOAL_Run(s));
	check(i == GOAL_ERR_PEER_LOST || i == GOAL_ERR_UNREACHABLE);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	for (i = 0; i < 10; i++) {
		b = 0;
		check(GOAL_Wait(GOAL_Run(sum)) == GOAL_SUCCESS && b == (uint32_t)last);
	}
	check(GOAL_FreeSchedule(sum) == GOAL_SUCCESS && GOAL_CommFree(comm) == GOAL_SUCCESS);
}

static void killed(void)
{
	dies(true);
}

static void leaves(void)
{
	dies(false);
}

/* The last rank was never started. */
static void absent(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;
	int rc;

	check(GOAL_Send(g, out, 4, size - 1) >= 0 && GOAL_Recv(g, in, 4, size - 1) >= 0);
	s = compiled(g);
	rc = GOAL_Wait(GOAL_Run(s));
	check(rc == GOAL_ERR_UNREACHABLE || rc == GOAL_ERR_PEER_LOST);
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
}

/*
 * A multicast and a small message to the next rank: the process ends as soon as its own part is
 * complete, whatever the other ranks still wait for.
 */
static void exits(void)
{
	GOAL_Graph g = GOAL_CreateGraph();
	GOAL_Schedule s;
	int i;

	memset(out, 0, BIG);
	for (i = 0; i < 30000; i++)
		out[i] = (uint8_t)(i * 7 + 1);
	check((me ? GOAL_McastRecv(g, in, 30000, 0) : GOAL_McastSend(g, out, 30000)) >= 0);
	check(GOAL_Send(g, out, 100, next, 1) >= 0 && GOAL_Recv(g, in + BIG, 100, before, 1) >= 0);
	s = compiled(g);
	check(GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS);
	check(!memcmp(in + BIG, out, 100) && (!me || !memcmp(in, out, 30000)));
	printf("all right\n");
	_exit(0);
}

/* ---- one after another ----------------------------------------------------------------------- */

static const struct bad_case {
	const char *name;
	void (*run)(void);
	bool last; /* ranks are missing afterwards */
} cases[] = {
    {"cycle", cycle, false},
    {"peer", peer, false},
    {"scratchpad", scratchpad, false},
    {"truncated", truncated, false},
    {"forged", forged, false},
    {"lengths", lengths, false},
    {"multicast", multicast_lengths, false},
    {"tags", tags, false},
    {"divide", divide, false},
    {"unmapped", unmapped, false},
    {"pool", pool, false},
    {"roomy", roomy, false},
    {"killed", killed, true},
    {"leaves", leaves, true},
    {"absent", absent, true},
    {"exits", exits, true},
};

/* A sum over all ranks that takes at least 50 ms, so that it is in flight while the case fails. */
static void make_witness(void)
{
	int all[64], i;

	for (i = 0; i < size; i++)
		all[i] = i;
	other = GOAL_CommCreate(GOAL_CommWorld(), all, size);
	check(other);
	witness = GOAL_AllreduceSchedule(other, witness_out, witness_in, 1000, GOAL_ADD, GOAL_UINT,
					 32, GOAL_ALG_RING);
	check(witness);
}

static void one(const struct bad_case *c)
{
	GOAL_Schedule barrier =
	    c->last ? NULL : GOAL_BarrierSchedule(GOAL_CommWorld(), GOAL_ALG_AUTO);
	GOAL_Handle h = -1;
	int i;

	if (!c->last) {
		check(barrier);
		memset(witness_in, 0, sizeof(witness_in));
		for (i = 0; i < 1000; i++)
			witness_out[i] = (uint32_t)(i + me);
		/* Rank 0 joins when it has finished the case. */
		if (me)
			h = GOAL_Run(witness);
		check(GOAL_Wait(GOAL_Run(barrier)) == GOAL_SUCCESS);
	}
	c->run();
	if (!c->last) {
		check(GOAL_Wait(GOAL_Run(barrier)) == GOAL_SUCCESS);
		check(me ? !GOAL_Test(h) : true);
		/* All ranks check before the next message is requested. */
		check(GOAL_Wait(GOAL_Run(barrier)) == GOAL_SUCCESS);
		if (!me)
			h = GOAL_Run(witness);
		check(GOAL_Wait(h) == GOAL_SUCCESS);
		for (i = 0; i < 1000; i++)
			check(witness_in[i] == (uint32_t)(i * size + size * (size - 1) / 2));
		check(GOAL_FreeSchedule(barrier) == GOAL_SUCCESS);
	}
	printf("rank %d: %s: as it should be\n", me, c->name);
}

static const struct bad_case *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, name))
			return &cases[i];
	return NULL;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	folder = getenv("WEFT_TMP");
	check(folder && GOAL_Init() == GOAL_SUCCESS);
	me = GOAL_MyRank();
	size = GOAL_GroupSize();
	next = (me + 1) % size;
	before = (me + size - 1) % size;
	out = calloc(1, BIG);
	in = calloc(2, BIG);
	check(out && in && size >= 3 && size <= 64);
	make_witness();
	for (int i = 1; i < argc; i++) {
		const struct bad_case *c = find(argv[i]);

		if (!c)
			return 2;
		one(c);
	}
	check(GOAL_FreeSchedule(witness) == GOAL_SUCCESS && GOAL_CommFree(other) == GOAL_SUCCESS);
	check(GOAL_Finalize() == GOAL_SUCCESS);
	free(out);
	free(in);
	printf("all right\n");
	return 0;
}
