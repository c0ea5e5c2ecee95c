/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided communication: Put, Get, Accumulate, Get_accumulate, Fetch_and_op, Compare_and_swap and
 * their requests, under fences, post-start-complete-wait, and locks with flushes; on the program's
 * memory and on MPI's. Options: mt.h. Calls mt.c and MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/prng.h"
#include "tests/mpi/mt.h"

enum {
	SLOTS = 64, /* 64-bit words in front of the window for counters and locks */
	FRONT = SLOTS * 8,
};

/* A window: SLOTS words, then ranks areas of room bytes. */
static struct {
	MPI_Win win;
	uint8_t *mem;
	size_t room;
	bool allocated;
} w;

static int right(void)
{
	return (mt.rank + 1) % mt.ranks;
}

static int left(void)
{
	return (mt.rank + mt.ranks - 1) % mt.ranks;
}

static size_t window_bytes(void)
{
	return FRONT + (size_t)mt.ranks * w.room;
}

/* Start of rank's area in every window. */
static MPI_Aint area(int rank)
{
	return (MPI_Aint)(FRONT + (size_t)rank * w.room);
}

static uint64_t *words(void)
{
	return (uint64_t *)(void *)w.mem;
}

static void window_open(bool allocated, size_t room)
{
	w.room = room;
	w.allocated = allocated;
	if (allocated) {
		MPI_Win_allocate((MPI_Aint)window_bytes(), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.mem,
				 &w.win);
	} else {
		w.mem = mt_alloc(window_bytes());
		MPI_Win_create(w.mem, (MPI_Aint)window_bytes(), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
			       &w.win);
	}
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt.rank, 0, w.win);
	memset(w.mem, 0, window_bytes());
	MPI_Win_unlock(mt.rank, w.win);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void window_close(void)
{
	MPI_Win_free(&w.win);
	if (!w.allocated)
		free(w.mem);
}

/*
 * All ranks put into their area at every rank, then get the left neighbour's area from the right
 * one.
 */
static void fences(size_t bytes)
{
	uint8_t *out = mt_alloc(bytes * (size_t)mt.ranks), *in = mt_alloc(bytes);

	MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
	for (int r = 0; r < mt.ranks; r++) {
		mt_fill(out + bytes * (size_t)r, bytes, mt_seed(mt.rank, r, 1, bytes));
		MPI_Put(out + bytes * (size_t)r, (int)bytes, MPI_BYTE, r, area(mt.rank), (int)bytes,
			MPI_BYTE, w.win);
	}
	MPI_Win_fence(0, w.win);
	for (int r = 0; r < mt.ranks; r++)
		mt_same(w.mem + area(r), bytes, mt_seed(r, mt.rank, 1, bytes), "Put");
	MPI_Win_fence(MPI_MODE_NOSTORE, w.win);
	MPI_Get(in, (int)bytes, MPI_BYTE, right(), area(left()), (int)bytes, MPI_BYTE, w.win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
	mt_same(in, bytes, mt_seed(left(), right(), 1, bytes), "Get");
	free(out);
	free(in);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Only into the window of the right neighbour. */
static void post_start(size_t bytes)
{
	uint8_t *out = mt_alloc(bytes), *in = mt_alloc(bytes);
	MPI_Group world, to, from;
	int r = right(), l = left();

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &r, &to);
	MPI_Group_incl(world, 1, &l, &from);
	for (int round = 0; round < 3; round++) {
		mt_fill(out, bytes, mt_seed(mt.rank, r, round, bytes));
		MPI_Win_post(from, 0, w.win);
		MPI_Win_start(to, 0, w.win);
		MPI_Put(out, (int)bytes, MPI_BYTE, r, area(0), (int)bytes, MPI_BYTE, w.win);
		MPI_Win_complete(w.win);
		MPI_Win_wait(w.win);
		mt_same(w.mem + area(0), bytes, mt_seed(l, mt.rank, round, bytes),
			"Put after Post");
		MPI_Win_post(from, 0, w.win);
		MPI_Win_start(to, 0, w.win);
		MPI_Get(in, (int)bytes, MPI_BYTE, r, area(0), (int)bytes, MPI_BYTE, w.win);
		MPI_Win_complete(w.win);
		MPI_Win_wait(w.win);
		mt_same(in, bytes, mt_seed(mt.rank, r, round, bytes), "Get after Post");
	}
	MPI_Group_free(&world);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	free(out);
	free(in);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A lock of one target, and of all with flushes. */
static void locks(size_t bytes)
{
	uint8_t *out = mt_alloc(bytes), *in = mt_alloc(bytes);
	MPI_Request request;

	mt_fill(out, bytes, mt_seed(mt.rank, right(), 5, bytes));
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, w.win);
	MPI_Put(out, (int)bytes, MPI_BYTE, right(), area(mt.rank), (int)bytes, MPI_BYTE, w.win);
	MPI_Win_flush(right(), w.win);
	MPI_Get(in, (int)bytes, MPI_BYTE, right(), area(mt.rank), (int)bytes, MPI_BYTE, w.win);
	MPI_Win_unlock(right(), w.win);
	mt_same(in, bytes, mt_seed(mt.rank, right(), 5, bytes), "Get after Put under a lock");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, w.win);
	for (int r = 0; r < mt.ranks; r++) {
		mt_fill(out, bytes, mt_seed(mt.rank, r, 6, bytes));
		MPI_Rput(out, (int)bytes, MPI_BYTE, r, area(mt.rank), (int)bytes, MPI_BYTE, w.win,
			 &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		memset(out, 0xdd, bytes); /* the buffer may be reused */
		MPI_Win_flush(r, w.win);
		MPI_Rget(in, (int)bytes, MPI_BYTE, r, area(mt.rank), (int)bytes, MPI_BYTE, w.win,
			 &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (mt.flush_requests)
			MPI_Win_flush(r, w.win);
		mt_same(in, bytes, mt_seed(mt.rank, r, 6, bytes), "Rget after Rput");
	}
	MPI_Win_flush_all(w.win);
	MPI_Win_unlock_all(w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, mt.rank, 0, w.win);
	MPI_Win_sync(w.win);
	for (int r = 0; r < mt.ranks; r++)
		mt_same(w.mem + area(r), bytes, mt_seed(r, mt.rank, 6, bytes), "what was put");
	MPI_Win_unlock(mt.rank, w.win);
	free(out);
	free(in);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks add into the same elements at every rank. */
static void accumulate(size_t count)
{
	int64_t *add = mt_alloc(count * 8), *sum = (int64_t *)(void *)(w.mem + area(0));

	mt_part("Accumulate");
	MPI_Win_fence(0, w.win);
	memset(sum, 0, count * 8);
	for (size_t i = 0; i < count; i++)
		add[i] = (int64_t)(prng_mix(i) >> 8) + mt.rank;
	MPI_Win_fence(0, w.win);
	for (int round = 0; round < 3; round++)
		for (int r = 0; r < mt.ranks; r++)
			MPI_Accumulate(add, (int)count, MPI_INT64_T, r, area(0), (int)count,
				       MPI_INT64_T, MPI_SUM, w.win);
	MPI_Win_fence(0, w.win);
	for (size_t i = 0; i < count; i++) {
		int64_t want =
		    3 * ((int64_t)(prng_mix(i) >> 8) * mt.ranks + mt.ranks * (mt.ranks - 1) / 2);

		MT_CHECK(sum[i] == want, "element %zu of %zu is %lld, not %lld", i, count,
			 (long long)sum[i], (long long)want);
	}
	mt.checks++;
	free(add);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank draws numbers from one counter at rank 0: no number is drawn twice. */
static void fetch_and_op(int per_rank)
{
	uint64_t one = 1, got, last = 0, *all = NULL, *mine = mt_alloc(8 * (size_t)per_rank);
	uint8_t *seen = mt_alloc((size_t)(per_rank * mt.ranks));

	mt_part("Fetch_and_op");
	MPI_Win_lock_all(0, w.win);
	if (mt.rank == 0)
		words()[0] = 0;
	MPI_Win_sync(w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < per_rank; i++) {
		MPI_Fetch_and_op(&one, &got, MPI_UINT64_T, 0, 0, MPI_SUM, w.win);
		MPI_Win_flush(0, w.win);
		MT_CHECK(i == 0 || got > last, "%llu after %llu", (unsigned long long)got,
			 (unsigned long long)last);
		last = mine[i] = got;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Fetch_and_op(NULL, &got, MPI_UINT64_T, 0, 0, MPI_NO_OP, w.win);
	MPI_Win_flush(0, w.win);
	MPI_Win_unlock_all(w.win);
	MT_CHECK(got == (uint64_t)(per_rank * mt.ranks), "the counter stands at %llu",
		 (unsigned long long)got);
	all = mt_alloc(8 * (size_t)(per_rank * mt.ranks));
	MPI_Allgather(mine, per_rank, MPI_UINT64_T, all, per_rank, MPI_UINT64_T, MPI_COMM_WORLD);
	memset(seen, 0, (size_t)(per_rank * mt.ranks));
	for (int i = 0; i < per_rank * mt.ranks; i++) {
		MT_CHECK(all[i] < (uint64_t)(per_rank * mt.ranks) && !seen[all[i]],
			 "%llu was given twice", (unsigned long long)all[i]);
		seen[all[i]] = 1;
	}
	mt.checks++;
	free(mine);
	free(all);
	free(seen);
}

/* A lock in word 1 of rank 0's window guards word 2, which is not changed atomically. */
static void compare_and_swap(int per_rank)
{
	uint64_t none = 0, me = (uint64_t)mt.rank + 1, was, value;
	int flag;

	mt_part("Compare_and_swap");
	MPI_Win_lock_all(0, w.win);
	if (mt.rank == 0)
		words()[1] = words()[2] = 0;
	MPI_Win_sync(w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < per_rank; i++) {
		do {
			MPI_Compare_and_swap(&me, &none, &was, MPI_UINT64_T, 0, 8, w.win);
			MPI_Win_flush(0, w.win);
			/*
			 * Open MPI makes no progress for others in there when the window is our
			 * own.
			 */
			if (was != 0)
				MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
					   MPI_STATUS_IGNORE);
		} while (was != 0);
		MPI_Get(&value, 8, MPI_BYTE, 0, 16, 8, MPI_BYTE, w.win);
		MPI_Win_flush(0, w.win);
		value++;
		MPI_Put(&value, 8, MPI_BYTE, 0, 16, 8, MPI_BYTE, w.win);
		MPI_Win_flush(0, w.win);
		MPI_Fetch_and_op(&none, &was, MPI_UINT64_T, 0, 8, MPI_REPLACE, w.win);
		MPI_Win_flush(0, w.win);
		MT_CHECK(was == me, "the lock was %llu's", (unsigned long long)was);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Get(&value, 8, MPI_BYTE, 0, 16, 8, MPI_BYTE, w.win);
	MPI_Win_flush(0, w.win);
	MPI_Win_unlock_all(w.win);
	MT_CHECK(value == (uint64_t)(per_rank * mt.ranks), "%llu were counted under the lock",
		 (unsigned long long)value);
	mt.checks++;
	MPI_Barrier(MPI_COMM_WORLD);
}

/* The old values are returned. */
static void get_accumulate(size_t count)
{
	int64_t *add = mt_alloc(count * 8), *was = mt_alloc(count * 8),
		*there = (int64_t *)(void *)(w.mem + area(0));

	mt_part("Get_accumulate");
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt.rank, 0, w.win);
	for (size_t i = 0; i < count; i++) {
		add[i] = (int64_t)i + 1;
		there[i] = (int64_t)i * 1000 + mt.rank;
	}
	MPI_Win_unlock(mt.rank, w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, w.win);
	MPI_Get_accumulate(add, (int)count, MPI_INT64_T, was, (int)count, MPI_INT64_T, right(),
			   area(0), (int)count, MPI_INT64_T, MPI_SUM, w.win);
	MPI_Win_unlock(right(), w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, mt.rank, 0, w.win);
	for (size_t i = 0; i < count; i++) {
		MT_CHECK(was[i] == (int64_t)i * 1000 + right(), "element %zu was %lld", i,
			 (long long)was[i]);
		MT_CHECK(there[i] == (int64_t)i * 1001 + 1 + mt.rank, "element %zu is %lld", i,
			 (long long)there[i]);
	}
	MPI_Win_unlock(mt.rank, w.win);
	mt.checks++;
	free(add);
	free(was);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Accumulates with requests, and local completion: the buffer may be reused. */
static void requests(size_t count)
{
	int64_t *add = mt_alloc(count * 8), *was = mt_alloc(count * 8),
		*there = (int64_t *)(void *)(w.mem + area(0));
	MPI_Request request;

	mt_part("Raccumulate, Rget_accumulate, flush_local");
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt.rank, 0, w.win);
	for (size_t i = 0; i < count; i++)
		there[i] = (int64_t)i;
	MPI_Win_unlock(mt.rank, w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, w.win);
	for (int64_t step = 1; step <= 3; step++) {
		for (size_t i = 0; i < count; i++)
			add[i] = step;
		if (step == 1) {
			MPI_Raccumulate(add, (int)count, MPI_INT64_T, right(), area(0), (int)count,
					MPI_INT64_T, MPI_SUM, w.win, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Accumulate(add, (int)count, MPI_INT64_T, right(), area(0), (int)count,
				       MPI_INT64_T, MPI_SUM, w.win);
			if (step == 2)
				MPI_Win_flush_local(right(), w.win);
			else
				MPI_Win_flush_local_all(w.win);
		}
		memset(add, 0xdd, count * 8); /* the buffer may be reused */
	}
	MPI_Win_flush(right(), w.win);
	for (size_t i = 0; i < count; i++)
		add[i] = 10;
	MPI_Rget_accumulate(add, (int)count, MPI_INT64_T, was, (int)count, MPI_INT64_T, right(),
			    area(0), (int)count, MPI_INT64_T, MPI_SUM, w.win, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (mt.flush_requests)
		MPI_Win_flush(right(), w.win);
	for (size_t i = 0; i < count; i++)
		MT_CHECK(was[i] == (int64_t)i + 6, "element %zu was %lld", i, (long long)was[i]);
	MPI_Win_unlock_all(w.win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, mt.rank, 0, w.win);
	for (size_t i = 0; i < count; i++)
		MT_CHECK(there[i] == (int64_t)i + 16, "element %zu is %lld", i,
			 (long long)there[i]);
	MPI_Win_unlock(mt.rank, w.win);
	mt.checks++;
	free(add);
	free(was);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A window whose memory is attached later: peers get its address in a message. */
static void dynamic(size_t bytes)
{
	uint8_t *mine = mt_alloc(bytes), *out = mt_alloc(bytes), *in = mt_alloc(bytes);
	MPI_Aint here, *all = mt_alloc(sizeof(*all) * (size_t)mt.ranks);
	MPI_Win win;

	mt_part("a dynamic window");
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int round = 0; round < 3; round++) {
		MPI_Win_attach(win, mine, (MPI_Aint)bytes);
		MPI_Get_address(mine, &here);
		MPI_Allgather(&here, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
		mt_fill(out, bytes, mt_seed(mt.rank, right(), round, bytes));
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, win);
		MPI_Put(out, (int)bytes, MPI_BYTE, right(), all[right()], (int)bytes, MPI_BYTE,
			win);
		MPI_Win_flush(right(), win);
		MPI_Get(in, (int)bytes, MPI_BYTE, right(), all[right()], (int)bytes, MPI_BYTE, win);
		MPI_Win_unlock(right(), win);
		mt_same(in, bytes, mt_seed(mt.rank, right(), round, bytes), "Get after Put");
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_lock(MPI_LOCK_SHARED, mt.rank, 0, win);
		mt_same(mine, bytes, mt_seed(left(), mt.rank, round, bytes), "what was put");
		MPI_Win_unlock(mt.rank, win);
		MPI_Win_detach(win, mine);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Win_free(&win);
	free(mine);
	free(out);
	free(in);
	free(all);
}

/* A column of a matrix put into a row, with types at both ends. */
static void types(void)
{
	enum {
		N = 60
	};
	uint8_t *matrix = mt_alloc(N * N), column[N];
	MPI_Datatype type;

	mt_part("Put with a type");
	MPI_Type_vector(N, 1, N, MPI_BYTE, &type);
	MPI_Type_commit(&type);
	mt_fill(column, N, mt_seed(mt.rank, right(), 0, N));
	for (int i = 0; i < N; i++)
		matrix[i * N] = column[i];
	MPI_Win_fence(0, w.win);
	memset(w.mem + area(0), 0xee, 2 * N);
	MPI_Win_fence(0, w.win);
	MPI_Put(matrix, 1, type, right(), area(0), N, MPI_BYTE, w.win);
	MPI_Win_fence(0, w.win);
	mt_same(w.mem + area(0), N, mt_seed(left(), mt.rank, 0, N), "a column put into a row");
	mt_untouched(w.mem + area(0) + N, N, 0xee, "behind it");
	MPI_Type_free(&type);
	free(matrix);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void all(bool allocated)
{
	size_t room = (mt.max_bytes < (size_t)16 << 20 ? mt.max_bytes : (size_t)16 << 20) | 4095;

	mt_part("opening a window");
	room++;
	window_open(allocated, room);
	for (const size_t *s = mt_sizes(); *s <= room; s++) {
		mt_part("fences");
		fences(*s);
		mt_part("post, start, complete, wait");
		post_start(*s);
		mt_part("locks and flushes");
		locks(*s);
	}
	accumulate(1);
	accumulate(500);
	fetch_and_op(mt.quick ? 30 : 300);
	compare_and_swap(mt.quick ? 10 : 100);
	get_accumulate(1);
	get_accumulate(400);
	requests(1);
	requests(400);
	types();
	mt_part("closing the window");
	window_close();
}

int main(int argc, char **argv)
{
	mt_start(argc, argv, MPI_THREAD_SINGLE);
	all(false);
	all(true);
	dynamic(64);
	dynamic(100000);
	return mt_end();
}
