/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on communicators of every kind, also those that the NIC does not serve.
 *
 *	coll_comms left | spawn | abort | hold FILE
 *
 * left: two groups and an intercommunicator between them, communicators of one rank, one of
 * MPI_Comm_idup(), functions with large counts. spawn: two more processes, which run collectives
 *among themselves, and with this job on an intercommunicator and on the communicator that is merged
 *of it. abort: a rank calls MPI_Abort() while collectives are under way. hold: some collectives,
 *then all ranks wait until FILE exists. Rank 0 prints how many collectives of each kind it called.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WORDS = 3000,
	CHILDREN = 2,
	UNDER_WAY = 8,
};

static int rank, ranks;

static void check_at(int ok, int line)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: coll_comms.c:%d is wrong\n", rank, line);
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check_at(condition, __LINE__)

static void end(MPI_Request *request)
{
	MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Seven collectives, blocking and non-blocking, among the ranks of one communicator. */
static int within(MPI_Comm comm)
{
	static int in[WORDS], out[WORDS];
	int own, size, i, sum = -1, *all;
	MPI_Request request;

	MPI_Comm_rank(comm, &own);
	MPI_Comm_size(comm, &size);
	all = calloc((size_t)size, sizeof(*all));
	for (i = 0; i < WORDS; i++)
		in[i] = i * (own + 1);
	MPI_Allreduce(in, out, WORDS, MPI_INT, MPI_SUM, comm);
	for (i = 0; i < WORDS; i++)
		CHECK(out[i] == i * size * (size + 1) / 2);
	MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
	end(&request);
	CHECK(sum == size * (size - 1) / 2);
	MPI_Iallgather(&own, 1, MPI_INT, all, 1, MPI_INT, comm, &request);
	end(&request);
	for (i = 0; i < size; i++)
		CHECK(all[i] == i);
	sum = own == size - 1 ? 17 : -1;
	MPI_Ibcast(&sum, 1, MPI_INT, size - 1, comm, &request);
	end(&request);
	CHECK(sum == 17);
	MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
	CHECK(own || all[size - 1] == size - 1);
	MPI_Ibarrier(comm, &request);
	end(&request);
	MPI_Barrier(comm);
	free(all);
	return 7;
}

/* Six between two groups; the first is that of low ranks. A root's own group gives no buffers. */
static int between(MPI_Comm inter, int first)
{
	int own, near, far, i, sum = -1, *all, *counts, *places, word;
	MPI_Request request;

	MPI_Comm_rank(inter, &own);
	MPI_Comm_size(inter, &near);
	MPI_Comm_remote_size(inter, &far);
	all = calloc((size_t)far, sizeof(*all));
	counts = calloc((size_t)far, sizeof(*counts));
	places = calloc((size_t)far, sizeof(*places));
	MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
	end(&request);
	CHECK(sum == far * (far - 1) / 2);
	MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, inter);
	for (i = 0; i < far; i++)
		CHECK(all[i] == i);
	word = first && own == 0 ? 42 : -1;
	MPI_Bcast(&word, 1, MPI_INT, !first ? 0 : own ? MPI_PROC_NULL : MPI_ROOT, inter);
	CHECK(word == (first && own ? -1 : 42));
	if (first)
		MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT,
			   own ? MPI_PROC_NULL : MPI_ROOT, inter);
	else
		MPI_Gather(&own, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, inter);
	for (i = 0; i < far; i++) {
		counts[i] = 1;
		places[i] = far - 1 - i;
	}
	MPI_Iallgatherv(&own, 1, MPI_INT, all, counts, places, MPI_INT, inter, &request);
	end(&request);
	for (i = 0; i < far; i++)
		CHECK(all[places[i]] == i);
	MPI_Barrier(inter);
	free(all);
	free(counts);
	free(places);
	return 6;
}

/* With large counts, where the library has them: MPI 4.0. */
static int large(void)
{
#if MPI_VERSION >= 4
	int sum = -1, word = rank == 0 ? 11 : -1;
	MPI_Request request;

	MPI_Bcast_c(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Iallreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	end(&request);
	CHECK(word == 11 && sum == ranks * (ranks - 1) / 2);
	MPI_Bcast_init_c(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	end(&request);
	MPI_Request_free(&request);
	return 3;
#else
	return 0;
#endif
}

static void left(void)
{
	int low = rank < ranks / 2, inters, singles, idups, larges;
	MPI_Comm half, inter, one, dup;
	MPI_Request request;

	MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 3, &inter);
	inters = between(inter, low);
	MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &one);
	singles = within(MPI_COMM_SELF) + within(one);
	MPI_Comm_idup(MPI_COMM_WORLD, &dup, &request);
	end(&request);
	idups = within(dup);
	larges = large();
	if (rank == 0)
		printf("called: inter %d, single %d, idup %d, large %d\n", inters, singles, idups,
		       larges);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&one);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

static void spawn(char *self)
{
	char *arguments[] = {"spawn", NULL};
	int errors[CHILDREN], inters, jobs, size, i, within_job;
	MPI_Comm parent, inter, merged;

	MPI_Comm_get_parent(&parent);
	inter = parent;
	if (parent == MPI_COMM_NULL) {
		MPI_Comm_spawn(self, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
			       errors);
		for (i = 0; i < CHILDREN; i++)
			CHECK(errors[i] == MPI_SUCCESS);
	}
	within_job = within(MPI_COMM_WORLD);
	inters = between(inter, parent == MPI_COMM_NULL);
	MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged);
	MPI_Comm_size(merged, &size);
	CHECK(size == (parent == MPI_COMM_NULL ? ranks + CHILDREN : size));
	jobs = within(merged);
	within_job += within(MPI_COMM_WORLD);
	if (rank == 0)
		printf("called: %s, inter %d, job %d, own %d\n",
		       parent == MPI_COMM_NULL ? "parent" : "child", inters, jobs, within_job);
	MPI_Comm_free(&merged);
	MPI_Comm_disconnect(&inter);
}

/* The last rank starts nothing of the second half, so that those of the others do not end. */
static void abort_job(void)
{
	static int in[UNDER_WAY][WORDS], out[UNDER_WAY][WORDS];
	MPI_Request requests[UNDER_WAY];
	int i;

	(void)within(MPI_COMM_WORLD);
	for (i = 0; i < UNDER_WAY / 2 || (rank < ranks - 1 && i < UNDER_WAY); i++)
		MPI_Iallreduce(in[i], out[i], WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &requests[i]);
	if (rank == ranks - 1) {
		usleep(300000);
		MPI_Abort(MPI_COMM_WORLD, 5);
	}
	MPI_Waitall(UNDER_WAY, requests, MPI_STATUSES_IGNORE);
	printf("a collective ended without one of its ranks\n");
}

static void hold(const char *file)
{
	int calls = within(MPI_COMM_WORLD);

	if (rank == 0) {
		printf("called: own %d\n", calls);
		fflush(stdout);
	}
	while (access(file, F_OK))
		usleep(20000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!strcmp(what, "left"))
		left();
	else if (!strcmp(what, "spawn"))
		spawn(argv[0]);
	else if (!strcmp(what, "abort"))
		abort_job();
	else if (!strcmp(what, "hold") && argc > 2)
		hold(argv[2]);
	else
		CHECK(0);
	MPI_Finalize();
	return 0;
}
