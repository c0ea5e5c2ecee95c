/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_THREAD_MULTIPLE: threads that send and receive at once with tags of their own, threads with
 * communicators of their own and their collectives, and both at the same time. Options: mt.h. Calls
 * mt.c, MPI and pthreads.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mt.h"

enum {
	MAX_THREADS = 8,
	TAGS = 1000, /* per thread */
};

struct thread {
	pthread_t id;
	int number;
	MPI_Comm comm;
	int messages;
	int rounds;
};

static size_t bytes_of(int from, int to, int thread, int i)
{
	static const size_t limits[] = {32, 32, 2000, 20000, 300000};
	uint64_t state = mt_seed(from, to, thread * TAGS + i, 1);
	size_t limit = limits[mt_random(&state, 5)];

	return mt_random(&state, (uint32_t)(limit < mt.max_bytes ? limit : mt.max_bytes) + 1);
}

/* One message to each rank and one from each, all in flight at once. */
static void exchange(struct thread *t, int i)
{
	MPI_Request request[2 * 64];
	uint8_t *buf[2 * 64];
	int n = 0, tag = t->number * TAGS + i % TAGS;

	for (int from = 0; from < mt.ranks; from++, n++) {
		size_t bytes = bytes_of(from, mt.rank, t->number, i);

		buf[n] = mt_alloc(bytes);
		MPI_Irecv(buf[n], (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request[n]);
	}
	for (int to = 0; to < mt.ranks; to++, n++) {
		size_t bytes = bytes_of(mt.rank, to, t->number, i);

		buf[n] = mt_alloc(bytes);
		mt_fill(buf[n], bytes, mt_seed(mt.rank, to, tag, bytes));
		MPI_Isend(buf[n], (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request[n]);
	}
	MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
	for (int from = 0; from < mt.ranks; from++) {
		size_t bytes = bytes_of(from, mt.rank, t->number, i);

		mt_same(buf[from], bytes, mt_seed(from, mt.rank, tag, bytes), "a thread's message");
	}
	for (int k = 0; k < n; k++)
		free(buf[k]);
}

static void *with_tags(void *arg)
{
	struct thread *t = arg;

	for (int i = 0; i < t->messages; i++)
		exchange(t, i);
	return NULL;
}

/* Blocking calls, in pairs of ranks around the ring. */
static void *blocking(void *arg)
{
	struct thread *t = arg;
	int right = (mt.rank + 1) % mt.ranks, left = (mt.rank + mt.ranks - 1) % mt.ranks;

	for (int i = 0; i < t->messages; i++) {
		size_t out_bytes = bytes_of(mt.rank, right, t->number, i),
		       in_bytes = bytes_of(left, mt.rank, t->number, i);
		uint8_t *out = mt_alloc(out_bytes), *in = mt_alloc(in_bytes);

		mt_fill(out, out_bytes, mt_seed(mt.rank, right, t->number, out_bytes));
		if (mt.rank % 2 == 0 && mt.rank != left)
			MPI_Send(out, (int)out_bytes, MPI_BYTE, right, t->number, t->comm);
		MPI_Recv(in, (int)in_bytes, MPI_BYTE, left, t->number, t->comm, MPI_STATUS_IGNORE);
		if (mt.rank % 2 != 0)
			MPI_Send(out, (int)out_bytes, MPI_BYTE, right, t->number, t->comm);
		mt_same(in, in_bytes, mt_seed(left, mt.rank, t->number, in_bytes),
			"a thread's blocking message");
		free(out);
		free(in);
	}
	return NULL;
}

static void *with_communicators(void *arg)
{
	struct thread *t = arg;
	uint8_t *buf = mt_alloc(5000);

	for (int i = 0; i < t->rounds; i++) {
		int root = i % mt.ranks, sum = 0, mine = (mt.rank + 1) * (t->number + i + 1);
		size_t bytes = (size_t)(i * 37) % 5000;
		int want = mt.ranks * (mt.ranks + 1) / 2 * (t->number + i + 1);

		if (mt.rank == root)
			mt_fill(buf, bytes, mt_seed(root, t->number, i, bytes));
		MPI_Bcast(buf, (int)bytes, MPI_BYTE, root, t->comm);
		mt_same(buf, bytes, mt_seed(root, t->number, i, bytes), "a thread's Bcast");
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, t->comm);
		MT_CHECK(sum == want, "a thread's Allreduce gives %d, not %d", sum, want);
		MPI_Barrier(t->comm);
	}
	free(buf);
	return NULL;
}

static void run(const char *name, struct thread *t, int threads, void *(*even)(void *),
		void *(*odd)(void *))
{
	mt_part(name);
	for (int i = 0; i < threads; i++)
		MT_CHECK(pthread_create(&t[i].id, NULL, i % 2 ? odd : even, &t[i]) == 0,
			 "no thread");
	for (int i = 0; i < threads; i++)
		pthread_join(t[i].id, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	struct thread t[MAX_THREADS];
	int threads;

	mt_start(argc, argv, MPI_THREAD_MULTIPLE);
	MT_CHECK(mt.ranks <= 60, "this is for 60 ranks at most");
	threads = mt.quick ? 3 : 6;
	for (int i = 0; i < threads; i++) {
		t[i].number = i;
		t[i].messages = mt.quick ? 15 : 60 * mt.rounds;
		t[i].rounds = mt.quick ? 15 : 60 * mt.rounds;
		MPI_Comm_dup(MPI_COMM_WORLD, &t[i].comm);
	}
	run("own tags", t, threads, with_tags, with_tags);
	if (mt.ranks % 2 == 0)
		run("own communicators, blocking", t, threads, blocking, blocking);
	run("own communicators, collectives", t, threads, with_communicators, with_communicators);
	run("both", t, threads, with_tags, with_communicators);
	for (int i = 0; i < threads; i++)
		MPI_Comm_free(&t[i].comm);
	return mt_end();
}
