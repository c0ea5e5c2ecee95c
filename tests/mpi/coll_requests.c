/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of non-blocking collectives in every call that takes requests, among those of messages
 * and of the program itself; requests, types and communicators freed while a collective is under
 * way; communicators of every kind; wrong arguments. For libweft-mpich.so; the output is the same
 * without it.
 *
 *	coll_requests [free]
 *
 * free: also MPI_Request_free() of a collective under way, which MPI leaves to the library, and
 * requests that the NIC's collectives end with the call.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY = 1500, /* more than libgoal has records of runs */
	LARGE = 1 << 18,
	SENDS = 100,
	SENDS_AT_ONCE = 4, /* the first ones: coll/weft lets few be under way */
};

static int rank, size;

static void check_at(int ok, int line)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: coll_requests.c:%d is wrong\n", rank, line);
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check_at(condition, __LINE__)

static int sum_of_ranks(int ranks)
{
	return ranks * (ranks - 1) / 2;
}

/* ---- requests of several kinds -------------------------------------------------------------- */

static int query(void *arg, MPI_Status *status)
{
	(void)arg;
	MPI_Status_set_elements(status, MPI_INT, 3);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = 17;
	status->MPI_TAG = 18;
	return MPI_SUCCESS;
}

static int nothing(void *arg)
{
	(void)arg;
	return MPI_SUCCESS;
}

static int no_cancel(void *arg, int complete)
{
	(void)arg;
	(void)complete;
	return MPI_SUCCESS;
}

enum {
	KINDS = 6,
};

/* A sum, a message out and in, a request of the program, an empty one, a barrier. */
static void start(MPI_Request requests[KINDS], int *in, int *sum)
{
	int left = (rank + size - 1) % size, right = (rank + 1) % size;

	sum[0] = sum[1] = -1;
	MPI_Iallreduce(in, &sum[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(&sum[1], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(in, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[2]);
	MPI_Grequest_start(query, nothing, no_cancel, NULL, &requests[3]);
	MPI_Grequest_complete(requests[3]);
	requests[4] = MPI_REQUEST_NULL;
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[5]);
}

static void end_by_waitall(MPI_Request *requests)
{
	MPI_Status statuses[KINDS];

	CHECK(MPI_Waitall(KINDS, requests, statuses) == MPI_SUCCESS);
	CHECK(statuses[1].MPI_SOURCE == (rank + size - 1) % size && statuses[1].MPI_TAG == 5);
	CHECK(statuses[3].MPI_SOURCE == 17 && statuses[3].MPI_TAG == 18);
}

static void end_by_any(MPI_Request *requests, int test)
{
	int seen[KINDS] = {0}, index, flag, i;

	for (i = 0; i < KINDS - 1; i++) {
		if (test)
			do
				MPI_Testany(KINDS, requests, &index, &flag, MPI_STATUS_IGNORE);
			while (!flag);
		else
			MPI_Waitany(KINDS, requests, &index, MPI_STATUS_IGNORE);
		CHECK(index >= 0 && index < KINDS && index != 4 && !seen[index]++);
	}
	MPI_Waitany(KINDS, requests, &index, MPI_STATUS_IGNORE);
	CHECK(index == MPI_UNDEFINED);
}

static void end_by_some(MPI_Request *requests, int test)
{
	int indices[KINDS], done, left = KINDS - 1;
	MPI_Status statuses[KINDS];

	while (left > 0) {
		if (test)
			MPI_Testsome(KINDS, requests, &done, indices, statuses);
		else
			MPI_Waitsome(KINDS, requests, &done, indices, statuses);
		CHECK(done >= !test && done <= left);
		left -= done;
	}
	MPI_Testsome(KINDS, requests, &done, indices, statuses);
	CHECK(done == MPI_UNDEFINED);
}

static void end_by_single(MPI_Request *requests)
{
	int flag, i;

	for (i = KINDS - 1; i >= 0; i--) {
		for (flag = 0; !flag;)
			MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
		MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
		CHECK(flag);
		for (flag = 0; !flag;)
			MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
		CHECK(requests[i] == MPI_REQUEST_NULL);
	}
}

static void kinds(void)
{
	MPI_Request requests[KINDS];
	int sum[2], flag, way, i;

	for (way = 0; way < 7; way++) {
		start(requests, &rank, sum);
		if (way == 0)
			end_by_waitall(requests);
		else if (way < 3)
			end_by_any(requests, way == 2);
		else if (way < 5)
			end_by_some(requests, way == 4);
		else if (way == 5)
			end_by_single(requests);
		else
			do
				MPI_Testall(KINDS, requests, &flag, MPI_STATUSES_IGNORE);
			while (!flag);
		CHECK(sum[0] == sum_of_ranks(size) && sum[1] == (rank + size - 1) % size);
		for (i = 0; i < KINDS; i++)
			CHECK(requests[i] == MPI_REQUEST_NULL);
	}
}

/* ---- what is freed -------------------------------------------------------------------------- */

static void freed_request(void)
{
	static int in[LARGE / 4], out[LARGE / 4];
	volatile int *last = &out[LARGE / 4 - 1];
	MPI_Request request, other;
	int flag, i;

	for (i = 0; i < LARGE / 4; i++)
		in[i] = rank + i;
	MPI_Iallreduce(in, out, LARGE / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	CHECK(request == MPI_REQUEST_NULL);
	MPI_Ibarrier(MPI_COMM_WORLD, &other);
	MPI_Wait(&other, MPI_STATUS_IGNORE);
	while (*last != sum_of_ranks(size) + size * (LARGE / 4 - 1))
		MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
	/* MPI_Finalize() waits for this one. */
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
}

static void freed(void)
{
	int gaps[8], *all = calloc((size_t)size * 8, sizeof(*all)), i;
	MPI_Request request;
	MPI_Datatype type;
	MPI_Comm comm;

	for (i = 0; i < 8; i++)
		gaps[i] = rank * 10 + i;
	MPI_Type_vector(4, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Iallgather(gaps, 1, type, all, 4, MPI_INT, comm, &request);
	MPI_Type_free(&type);
	MPI_Comm_free(&comm);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < 4 * size; i++)
		CHECK(all[i] == i / 4 * 10 + i % 4 * 2);
	free(all);
}

/*
 * A rank that only sends may use its buffer again when its request has ended, whatever the others
 * do. at_once: a short message ends with the call.
 */
static void senders(int at_once)
{
	int mine, got, flag, i, gaps[3];
	MPI_Request request;
	MPI_Datatype type;

	for (i = 0; i < SENDS; i++) {
		got = mine = i;
		MPI_Ibcast(&got, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
		MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
		CHECK(flag || !at_once || rank > 0 || i >= SENDS_AT_ONCE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(got == i);
		got = -1;
		MPI_Ireduce(&mine, &got, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		mine = -1;
		CHECK(rank < size - 1 || got == i * size);
	}
	MPI_Type_vector(2, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	for (i = 0; i < SENDS; i++) {
		gaps[0] = gaps[2] = i;
		MPI_Ibcast(gaps, 1, type, 0, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(gaps[0] == i && gaps[2] == i);
		gaps[0] = gaps[2] = -1;
		MPI_Ibarrier(MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(gaps[0] == -1 && gaps[2] == -1);
	}
	MPI_Type_free(&type);
}

/* One at a time would be enough; this is more than there is room for. */
static void many(void)
{
	static MPI_Request requests[MANY];
	static int sums[MANY];
	int i;

	for (i = 0; i < MANY; i++)
		MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
	MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < MANY; i++)
		CHECK(sums[i] == sum_of_ranks(size));
}

/* ---- communicators -------------------------------------------------------------------------- */

static void use(MPI_Comm comm)
{
	int own, ranks, sum = -1, scan = -1;
	MPI_Request request;

	if (comm == MPI_COMM_NULL)
		return;
	MPI_Comm_rank(comm, &own);
	MPI_Comm_size(comm, &ranks);
	MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(sum == sum_of_ranks(ranks));
	MPI_Scan(&own, &scan, 1, MPI_INT, MPI_SUM, comm);
	CHECK(scan == sum_of_ranks(own + 1));
	MPI_Comm_free(&comm);
}

static void between(MPI_Comm half)
{
	int own, far, low = rank % 2 == 0, sum = -1;
	MPI_Request request;
	MPI_Comm inter, merged;

	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low, 3, &inter);
	MPI_Comm_remote_size(inter, &far);
	own = low ? 1 : 100;
	MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(sum == far * (low ? 100 : 1));
	MPI_Intercomm_merge(inter, !low, &merged);
	use(merged);
	MPI_Comm_free(&inter);
}

static void comms(void)
{
	int dims[2] = {0, 0}, wrap[2] = {1, 0}, keep[2] = {1, 0}, left = (rank + size - 1) % size,
	    right = (rank + 1) % size, *list = calloc((size_t)size, sizeof(*list)), i;
	MPI_Comm comm, grid, half;
	MPI_Request request;
	MPI_Group all, part;

	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrap, 0, &grid);
	MPI_Cart_sub(grid, keep, &comm);
	use(comm);
	use(grid);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
				       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
	use(comm);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
	use(comm);
	MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	use(comm);
	for (i = 0; i < size; i++)
		list[i] = size - 1 - i;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, size, list, &part);
	MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
	use(comm);
	MPI_Group_free(&part);
	MPI_Group_incl(all, size - size / 2, list, &part);
	MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
	use(comm);
	if (rank >= size / 2) {
		MPI_Comm_create_group(MPI_COMM_WORLD, part, 4, &comm);
		use(comm);
	}
	MPI_Group_free(&part);
	MPI_Group_free(&all);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	between(half);
	use(half);
	free(list);
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* A message that ends only while its receiver waits for a collective that its sender enters late.
 */
static void behind_a_message(void)
{
	static char data[1 << 22];
	MPI_Request request = MPI_REQUEST_NULL;

	memset(data, rank == 1 ? 7 : 0, sizeof(data));
	if (rank == 0)
		MPI_Irecv(data, sizeof(data), MPI_CHAR, 1, 6, MPI_COMM_WORLD, &request);
	if (rank == 1)
		MPI_Send(data, sizeof(data), MPI_CHAR, 0, 6, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(rank > 1 || (data[0] == 7 && data[sizeof(data) - 1] == 7));
}

static int class_of(int rc)
{
	int class = MPI_SUCCESS;

	MPI_Error_class(rc, &class);
	return class;
}

static void wrong(void)
{
	int one = 1, sum;
	MPI_Request request;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	CHECK(class_of(MPI_Ibcast(&one, -1, MPI_INT, 0, MPI_COMM_WORLD, &request)) ==
	      MPI_ERR_COUNT);
	CHECK(class_of(MPI_Ibcast(&one, 1, MPI_INT, size, MPI_COMM_WORLD, &request)) ==
	      MPI_ERR_ROOT);
	CHECK(class_of(MPI_Ibcast(&one, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, &request)) ==
	      MPI_ERR_TYPE);
	CHECK(class_of(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD,
				      &request)) == MPI_ERR_OP);
	CHECK(class_of(MPI_Ibarrier(MPI_COMM_NULL, &request)) == MPI_ERR_COMM);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	kinds();
	freed();
	senders(argc > 1 && !strcmp(argv[1], "free"));
	many();
	comms();
	behind_a_message();
	wrong();
	if (argc > 1 && !strcmp(argv[1], "free"))
		freed_request();
	if (rank == 0)
		printf("all requests ended\n");
	MPI_Finalize();
	return 0;
}
