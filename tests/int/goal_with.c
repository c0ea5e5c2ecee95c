/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules without buffers, and GOAL_Join() beside GOAL_Init().
 *
 *	goal_with join|init FOLDER
 *
 * Each rank joins by an allgather through files in FOLDER, before GOAL_Init(), or after it and in
 * steps. Runs of one schedule name buffers of all kinds of memory, several at once; a rank that has
 * none, or that names memory that is not there, makes the run fail at every rank. Caches find
 * schedules by their calls and lists. Run by tests/int/goal_with.sh.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_driver/goal/goal.h"
#include "host_driver/goal/goal_coll.h"
#include "host_driver/goal/libgoal.h"
#include "tests/int/goal_check.h"

enum {
	WORDS = 3000,
	SMALL = 7,
	LARGE = 1 << 20, /* too large for a copy */
	FLIGHT = 20,
};

static const char *folder;
static int size, gathers, settings_read;
static uint64_t in_data[WORDS] = {1}, out_data[WORDS] = {1};

/* In place of libc's: counts. */
char *secure_getenv(const char *name)
{
	settings_read++;
	return getenv(name);
}

static int allgather(const void *mine, void *all, size_t bytes, void *arg)
{
	char path[400], part[420];
	int i, fd, number = gathers++;

	(void)arg;
	snprintf(path, sizeof(path), "%s/%d.%d", folder, number, me);
	snprintf(part, sizeof(part), "%s.part", path);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, mine, bytes) != (ssize_t)bytes || rename(part, path) < 0)
		return -1;
	close(fd);
	for (i = 0; i < size; i++) {
		snprintf(path, sizeof(path), "%s/%d.%d", folder, number, i);
		while ((fd = open(path, O_RDONLY)) < 0)
			usleep(1000);
		if (read(fd, (uint8_t *)all + (size_t)i * bytes, bytes) != (ssize_t)bytes)
			return -1;
		close(fd);
	}
	return 0;
}

static GOAL_Comm join(void)
{
	const GOAL_Group group = {
	    .rank = me, .size = size, .local_rank = me, .allgather = allgather};
	GOAL_Comm comm = GOAL_Join(&group);

	check(comm && GOAL_CommRank(comm) == me && GOAL_CommSize(comm) == size);
	return comm;
}

/* A joining that is given up, then one that is not. */
static GOAL_Comm join_in_steps(void)
{
	GOAL_Hello mine, *all = calloc((size_t)size, sizeof(*all));
	GOAL_Joining joining = GOAL_JoinBegin(getenv("WEFT_DEVICE"), &mine);
	GOAL_Comm comm;

	check(all && joining && !GOAL_JoinEnd(joining, NULL));
	joining = GOAL_JoinBegin(getenv("WEFT_DEVICE"), &mine);
	check(joining && !allgather(&mine, all, sizeof(mine), NULL));
	check(GOAL_JoinMake(joining, me, size, all, &mine) == GOAL_SUCCESS);
	check(!allgather(&mine, all, sizeof(mine), NULL));
	comm = GOAL_JoinEnd(joining, all);
	check(comm && GOAL_CommRank(comm) == me && GOAL_CommSize(comm) == size);
	free(all);
	return comm;
}

static GOAL_Schedule allreduce(GOAL_Comm comm, int64_t words, int in_place)
{
	const GOAL_CollectiveCall call = {.coll = GOAL_COLL_ALLREDUCE,
					  .count = words,
					  .op = GOAL_ADD,
					  .type = GOAL_UINT,
					  .width = 64,
					  .in_place = in_place};
	GOAL_Schedule s = GOAL_UnboundSchedule(comm, &call);

	check(s);
	return s;
}

static void fill(uint64_t *at, int64_t words, uint64_t seed)
{
	int64_t i;

	for (i = 0; i < words; i++)
		at[i] = seed * 1000 + (uint64_t)i + (uint64_t)me;
}

static int is_sum(const uint64_t *at, int64_t words, uint64_t seed)
{
	uint64_t ranks = (uint64_t)size * (uint64_t)(size - 1) / 2;
	int64_t i;

	for (i = 0; i < words; i++)
		if (at[i] != (uint64_t)size * (seed * 1000 + (uint64_t)i) + ranks)
			return 0;
	return 1;
}

static void run(GOAL_Schedule s, uint64_t *in, uint64_t *out, int64_t words, uint64_t seed)
{
	fill(in, words, seed);
	check(GOAL_Wait(GOAL_RunWith(s, in, out)) == GOAL_SUCCESS);
	check(is_sum(out, words, seed));
}

static void *map(size_t bytes, int how)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

	check(at != MAP_FAILED);
	return at;
}

/* One schedule, with buffers of every kind of memory in turn. */
static void kinds(GOAL_Comm comm, int64_t words)
{
	GOAL_Schedule s = allreduce(comm, words, 0), in_place = allreduce(comm, words, 1);
	size_t bytes = WORDS * sizeof(uint64_t);
	uint64_t in[WORDS], out[WORDS + 1], *heap = malloc(2 * bytes);
	uint64_t *shared = map(2 * bytes, MAP_SHARED), *area = map(2 * bytes, MAP_PRIVATE);
	int k;

	check(heap);
	for (k = 0; k < 3; k++) {
		out[words] = 77;
		run(s, in, out, words, 1);
		check(out[words] == 77);
		run(s, heap, heap + WORDS, words, 2);
		run(s, in_data, out_data, words, 3);
		run(s, shared, shared + WORDS, words, 4);
		run(s, area, area + WORDS, words, 5);
		run(s, in, shared, words, 6);
		run(s, heap + 1, out_data, words, 7);
		fill(in, words, 8);
		check(GOAL_Wait(GOAL_RunWith(in_place, NULL, in)) == GOAL_SUCCESS);
		check(is_sum(in, words, 8));
		/* The memory at the address changes between runs. */
		munmap(area, 2 * bytes);
		area = map(2 * bytes, MAP_PRIVATE);
	}
	free(heap);
	munmap(shared, 2 * bytes);
	munmap(area, 2 * bytes);
	GOAL_FreeSchedule(s);
	GOAL_FreeSchedule(in_place);
}

static uint64_t registrations(GOAL_Comm comm)
{
	struct weft_mr_cache_stats stats;

	check(weft_query_mr_cache(comm->lib->kept, &stats) == 0);
	return stats.misses;
}

/* The environment of a rank of MPI is long: a run does not look at it. */
static void settings(GOAL_Comm comm)
{
	GOAL_Schedule s = allreduce(comm, SMALL, 0);
	int before;

	check(settings_read > 0);
	run(s, in_data, out_data, SMALL, 13);
	before = settings_read;
	run(s, in_data, out_data, SMALL, 14);
	check(settings_read == before);
	GOAL_FreeSchedule(s);
}

/* Buffers that were registered for one run are not registered again for the next; new memory at
 * their address is. */
static void again(GOAL_Comm comm)
{
	GOAL_Schedule s = allreduce(comm, WORDS, 0);
	size_t bytes = WORDS * sizeof(uint64_t);
	uint64_t *heap = malloc(2 * bytes), *area = map(2 * bytes, MAP_PRIVATE), before;
	int k;

	check(heap);
	run(s, heap, heap + WORDS, WORDS, 14);
	run(s, area, area + WORDS, WORDS, 15);
	before = registrations(comm);
	for (k = 0; k < 10; k++) {
		run(s, heap, heap + WORDS, WORDS, 16);
		run(s, area, area + WORDS, WORDS, 17);
	}
	check(registrations(comm) == before);
	munmap(area, 2 * bytes);
	area = map(2 * bytes, MAP_PRIVATE);
	run(s, area, area + WORDS, WORDS, 18);
	check(registrations(comm) > before);
	munmap(area, 2 * bytes);
	free(heap);
	GOAL_FreeSchedule(s);
}

/* Runs of one schedule are in flight together, each with its own buffers. */
static void flight(GOAL_Comm comm)
{
	GOAL_Schedule s = allreduce(comm, WORDS, 0);
	uint64_t *in = malloc(FLIGHT * sizeof(in_data)), *out = malloc(FLIGHT * sizeof(in_data));
	GOAL_Handle h[FLIGHT];
	int i;

	check(in && out);
	for (i = 0; i < FLIGHT; i++) {
		fill(in + i * WORDS, WORDS, (uint64_t)i);
		h[i] = GOAL_RunWith(s, in + i * WORDS, out + i * WORDS);
		check(h[i] >= 0);
	}
	check(GOAL_FreeSchedule(s) == GOAL_SUCCESS);
	for (i = FLIGHT - 1; i >= 0; i--) {
		check(GOAL_Wait(h[i]) == GOAL_SUCCESS);
		check(is_sum(out + i * WORDS, WORDS, (uint64_t)i));
	}
	free(in);
	free(out);
}

static void meet(void)
{
	uint8_t mine = 1, *all = malloc((size_t)size);

	check(all && allgather(&mine, all, 1, NULL) == 0);
	free(all);
}

/* The root of a bcast has its buffer back at once if it is copied; a rank that receives waits. */
static void local(GOAL_Comm comm)
{
	GOAL_CollectiveCall call = {.coll = GOAL_COLL_BCAST,
				    .count = SMALL * 8,
				    .width = 8,
				    .op = GOAL_COPY,
				    .type = GOAL_UINT};
	GOAL_Schedule small = GOAL_UnboundSchedule(comm, &call), large;
	uint64_t *buf = map(LARGE * sizeof(*buf), MAP_PRIVATE);
	GOAL_Handle h = GOAL_ERR_ARG;
	int i;

	call.count = LARGE * 8;
	large = GOAL_UnboundSchedule(comm, &call);
	check(small && large && GOAL_TestLocal(GOAL_ERR_ARG) == 1);
	if (me != 0) {
		h = GOAL_RunWith(small, NULL, buf);
		check(h >= 0 && !GOAL_TestLocal(h));
	}
	meet();
	if (me == 0) {
		fill(buf, SMALL, 14);
		h = GOAL_RunWith(small, NULL, buf);
		check(h >= 0 && GOAL_TestLocal(h));
		memset(buf, 0, SMALL * 8);
		check(GOAL_Wait(h) == GOAL_SUCCESS);
	}
	meet();
	/* The buffer has what arrived when the run was found over, not before. */
	check(GOAL_TestLocal(h) == (me == 0));
	check(GOAL_Wait(h) == GOAL_SUCCESS && GOAL_TestLocal(h) == 1);
	for (i = 0; i < SMALL; i++)
		check(buf[i] == (me == 0 ? 0 : 14000 + (uint64_t)i));
	if (me == 0) {
		h = GOAL_RunWith(large, NULL, buf);
		check(h >= 0 && !GOAL_TestLocal(h));
	}
	meet();
	if (me != 0)
		h = GOAL_RunWith(large, NULL, buf);
	check(GOAL_Wait(h) == GOAL_SUCCESS);
	munmap(buf, LARGE * sizeof(*buf));
	GOAL_FreeSchedule(small);
	GOAL_FreeSchedule(large);
}

/* A reduce_scatter of first words for rank 0, one more for each rank after it. */
static GOAL_Schedule scatter_of(GOAL_Cache cache, int64_t *counts, int64_t first)
{
	/* Static: unused bytes are 0. */
	static GOAL_CollectiveCall call = {
	    .coll = GOAL_COLL_REDUCE_SCATTER, .op = GOAL_ADD, .type = GOAL_UINT, .width = 64};
	int i;

	call.counts = counts;
	for (i = 0; i < size; i++)
		counts[i] = first + i;
	return GOAL_CacheTake(cache, &call);
}

static void run_scatter(GOAL_Schedule s, int64_t first)
{
	uint64_t offset = (uint64_t)(me * first + me * (me - 1) / 2);

	fill(in_data, size * first + size * (size - 1) / 2, 12);
	check(GOAL_Wait(GOAL_RunWith(s, in_data, out_data)) == GOAL_SUCCESS);
	check(out_data[0] ==
	      (uint64_t)size * (12000 + offset) + (uint64_t)size * (uint64_t)(size - 1) / 2);
}

/* The words go round to the next rank. */
static GOAL_Schedule ring_of(GOAL_Cache cache, GOAL_Block *send, GOAL_Block *recv, int64_t words)
{
	static GOAL_CollectiveCall call = {.coll = GOAL_COLL_EXCHANGE,
					   .alg = GOAL_ALG_LINEAR,
					   .op = GOAL_COPY,
					   .type = GOAL_UINT,
					   .width = 8,
					   .num_sends = 1,
					   .num_recvs = 1};

	call.sends = send;
	call.recvs = recv;
	*send = (GOAL_Block){.rank = (me + 1) % size, .bytes = words * 8};
	*recv = (GOAL_Block){.rank = (me + size - 1) % size, .bytes = words * 8};
	return GOAL_CacheTake(cache, &call);
}

static void run_ring(GOAL_Schedule s, int64_t words)
{
	out_data[words] = 77;
	fill(in_data, words, 13);
	check(GOAL_Wait(GOAL_RunWith(s, in_data, out_data)) == GOAL_SUCCESS);
	check(out_data[words - 1] == (uint64_t)(13000 + words - 1 + (me + size - 1) % size) &&
	      out_data[words] == 77);
}

/* Equal calls find one schedule, wherever their lists lie; other lists are other calls. */
static void caches(GOAL_Comm comm)
{
	GOAL_Cache cache = GOAL_CacheCreate(comm);
	int64_t *counts = calloc(2 * (size_t)size, sizeof(*counts));
	GOAL_Schedule two, three, again, ring, longer;
	GOAL_Block blocks[4];
	int i;

	check(cache && counts);
	check(!GOAL_CacheCreate(NULL) && GOAL_LastError() == GOAL_ERR_ARG);
	check(!GOAL_CacheTake(cache, NULL) && GOAL_LastError() == GOAL_ERR_ARG);
	two = scatter_of(cache, counts, 2);
	three = scatter_of(cache, counts, 3);
	again = scatter_of(cache, counts + size, 2);
	check(two && three && three != two && again == two);
	ring = ring_of(cache, &blocks[0], &blocks[1], 2);
	longer = ring_of(cache, &blocks[0], &blocks[1], 3);
	GOAL_CacheRelease(again);
	again = ring_of(cache, &blocks[2], &blocks[3], 2);
	check(ring && longer && longer != ring && again == ring);
	run_scatter(two, 2);
	run_scatter(three, 3);
	run_ring(ring, 2);
	run_ring(longer, 3);
	/* More schedules than the cache has room for; a schedule outlasts its place there. */
	for (i = 0; i < 70; i++)
		GOAL_CacheRelease(scatter_of(cache, counts, 4 + i));
	run_scatter(two, 2);
	GOAL_CacheFree(cache);
	run_ring(again, 2);
	GOAL_CacheRelease(two);
	GOAL_CacheRelease(three);
	GOAL_CacheRelease(ring);
	GOAL_CacheRelease(longer);
	GOAL_CacheRelease(again);
	free(counts);
}

static void errors(GOAL_Comm comm)
{
	const GOAL_CollectiveCall bad = {.coll = GOAL_COLL_REDUCE, .count = 1, .root = size};
	GOAL_Schedule s = allreduce(comm, LARGE, 0), bound;
	uint64_t *in = map(LARGE * sizeof(*in), MAP_PRIVATE);
	uint64_t *out = map(LARGE * sizeof(*in), MAP_PRIVATE), one = 1, sum;

	bound = GOAL_AllreduceSchedule(comm, &one, &sum, 1, GOAL_ADD, GOAL_UINT, 64, GOAL_ALG_AUTO);
	check(bound);
	check(!GOAL_UnboundSchedule(comm, &bad) && GOAL_LastError() == GOAL_ERR_ARG);
	check(GOAL_Run(s) == GOAL_ERR_ARG);
	check(GOAL_RunWith(bound, in, out) == GOAL_ERR_ARG);
	check(GOAL_RunWith(s, NULL, out) == GOAL_ERR_ARG);
	run(s, in, out, LARGE, 9);
	/* Rank 0 names memory that is gone; the run fails at all ranks, and the next one does not.
	 */
	if (me == 0)
		munmap(in, LARGE * sizeof(*in));
	check(GOAL_Wait(GOAL_RunWith(s, in, out)) == GOAL_ERR_MEMORY);
	if (me == 0)
		in = map(LARGE * sizeof(*in), MAP_PRIVATE);
	run(s, in, out, LARGE, 10);
	/* Rank 1 cannot take part. */
	check(GOAL_Wait(me == 1 ? GOAL_RunFailing(bound) : GOAL_RunWith(s, in, out)) ==
	      GOAL_ERR_MEMORY);
	run(s, in, out, LARGE, 11);
	munmap(in, LARGE * sizeof(*in));
	munmap(out, LARGE * sizeof(*in));
	GOAL_FreeSchedule(s);
	GOAL_FreeSchedule(bound);
}

/* Counts are in the NIC's list of processes with collectives. */
static void counts(GOAL_Comm comm)
{
	struct weft_context *tool = weft_open_tool(getenv("WEFT_DEVICE"));
	struct weft_list_item items[WEFT_LIST_MIN];
	struct weft_device_attr device;
	uint32_t cursor = 0;
	int n, i, found = 0;

	check(tool && weft_query_device(comm->lib->context, &device) == 0);
	GOAL_CountCollective(comm, 1, 100);
	GOAL_CountCollective(comm, 0, 7);
	GOAL_CountCollective(comm, 0, 8);
	while ((n = weft_list(tool, WEFT_LIST_COLLS, device.shard, &cursor, items, WEFT_LIST_MIN)) >
	       0)
		for (i = 0; i < n; i++)
			found += items[i].client == (uint32_t)getpid() && items[i].a == 1 &&
				 items[i].b == 100 && items[i].more[0] == 2 &&
				 items[i].more[1] == 15;
	check(n == 0 && found == 1);
	weft_close_device(tool);
}

static void world_works(void)
{
	uint64_t one = 1, sum = 0;
	GOAL_Schedule s = GOAL_AllreduceSchedule(GOAL_CommWorld(), &one, &sum, 1, GOAL_ADD,
						 GOAL_UINT, 64, GOAL_ALG_AUTO);

	check(s && GOAL_Wait(GOAL_Run(s)) == GOAL_SUCCESS && sum == (uint64_t)size);
	GOAL_FreeSchedule(s);
}

int main(int argc, char **argv)
{
	int join_first = argc > 2 && !strcmp(argv[1], "join");
	const char *rank = getenv("WEFT_RANK"), *ranks = getenv("RANKS");
	GOAL_Comm comm = NULL;

	check(argc == 3 && rank && ranks);
	me = atoi(rank);
	size = atoi(ranks);
	folder = argv[2];
	if (join_first) {
		comm = join();
		check(!GOAL_IsInitialized() && GOAL_IsFinalized() && !GOAL_CommWorld());
		kinds(comm, SMALL);
	}
	check(GOAL_Init() == GOAL_SUCCESS && GOAL_Init() == GOAL_ERR_STATE);
	check(GOAL_MyRank() == me && GOAL_GroupSize() == size);
	if (!join_first)
		comm = join_in_steps();
	world_works();
	kinds(comm, SMALL);
	kinds(GOAL_CommWorld(), WORDS);
	settings(comm);
	again(comm);
	flight(comm);
	local(comm);
	caches(comm);
	counts(comm);
	errors(comm);
	if (join_first) {
		check(GOAL_Finalize() == GOAL_SUCCESS && !GOAL_CommWorld());
		kinds(comm, WORDS);
		check(GOAL_Leave(comm) == GOAL_SUCCESS);
	} else {
		check(GOAL_Leave(comm) == GOAL_SUCCESS);
		world_works();
		check(GOAL_Finalize() == GOAL_SUCCESS);
	}
	printf("all right\n");
	return 0;
}
