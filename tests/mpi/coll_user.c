/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of MPI_Op_create() on a communicator whose info key `weft` names a program for the
 *NIC.
 *
 *	coll_user same FILE:SECTION		the NIC's results beside the function's
 *	coll_user differ VALUE [VALUE...]	one for each rank, - for none: all ranks get an
 *error
 *
 * The function and the program (docs/examples/user-ops/mersenne.bpf.c) add modulo 2^61 - 1. What
 * the NIC carries out does not call the function.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST = 20000,
	CALLS = 4, /* kinds of reductions */
};

static const uint64_t prime = (UINT64_C(1) << 61) - 1;
static int rank, ranks, calls;
static uint64_t in[MOST * 2], work[MOST * 2], out[MOST * 2], want[MOST * 2];

static void die(const char *what, int n)
{
	fprintf(stderr, "rank %d: %s (%d)\n", rank, what, n);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Elements are words, one of each 16 bytes, or several. */
static void add(void *a_, void *b_, int *count, MPI_Datatype *type)
{
	const uint64_t *a = a_;
	uint64_t *b = b_;
	MPI_Aint lb, extent;
	int bytes, i, k;

	calls++;
	MPI_Type_size(*type, &bytes);
	MPI_Type_get_extent(*type, &lb, &extent);
	for (i = 0; i < *count; i++)
		for (k = 0; k < bytes / 8; k++) {
			size_t at = (size_t)i * (size_t)extent / 8 + (size_t)k;
			uint64_t sum = a[at] + b[at];

			b[at] = (sum & prime) + (sum >> 61);
		}
}

static MPI_Comm dup_with(const char *value)
{
	MPI_Comm comm;
	MPI_Info info;

	MPI_Info_create(&info);
	if (strcmp(value, "-") != 0)
		MPI_Info_set(info, "weft", (char *)(uintptr_t)value);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	return comm;
}

/* The words of an element of that type, and those that it spans. */
struct shape {
	MPI_Datatype type;
	int words, span;
};

/* MPICH 4.0.2's blocking reduction in place takes MPI_IN_PLACE for an address at other roots. */
static int root_of(int in_place)
{
	return in_place ? 0 : ranks - 1;
}

static void start(int which, int n, int in_place, struct shape s, MPI_Op op, MPI_Comm comm,
		  MPI_Request *r)
{
	const void *from = in_place ? MPI_IN_PLACE : in;
	void *to = out;
	int root = root_of(in_place);

	switch (which) {
	case 0:
		MPI_Iallreduce(from, to, n, s.type, op, comm, r);
		break;
	case 1:
		MPI_Ireduce(rank == root ? from : in, rank == root ? to : NULL, n, s.type, op, root,
			    comm, r);
		break;
	case 2:
		MPI_Iscan(from, to, n, s.type, op, comm, r);
		break;
	default:
		MPI_Ireduce_scatter_block(from, to, n / ranks, s.type, op, comm, r);
	}
}

static void run(int which, int n, int in_place, struct shape s, MPI_Op op, MPI_Comm comm)
{
	const void *from = in_place ? MPI_IN_PLACE : in;
	int root = root_of(in_place);

	switch (which) {
	case 0:
		MPI_Allreduce(from, want, n, s.type, op, comm);
		break;
	case 1:
		MPI_Reduce(rank == root ? from : in, rank == root ? want : NULL, n, s.type, op,
			   root, comm);
		break;
	case 2:
		MPI_Scan(from, want, n, s.type, op, comm);
		break;
	default:
		MPI_Reduce_scatter_block(from, want, n / ranks, s.type, op, comm);
	}
}

/* One call on the communicator with the key and on the world. True: the NIC carried it out. */
static int same(int which, int n, int in_place, struct shape s, MPI_Op op, MPI_Comm comm)
{
	int words = n * s.span, keep = which == 3 ? n / ranks * s.span : words, i, before;
	MPI_Request request;

	for (i = 0; i < words; i++) {
		in[i] = ((uint64_t)(unsigned int)rand() << 32 | (unsigned int)rand()) >> 4 & prime;
		out[i] = want[i] = in_place ? in[i] : 7;
	}
	before = calls;
	start(which, n, in_place, s, op, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	/* The ranks together: some algorithms have ranks that do not combine. */
	before = calls - before;
	MPI_Allreduce(MPI_IN_PLACE, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	run(which, n, in_place, s, op, MPI_COMM_WORLD);
	if (which == 1 && rank != root_of(in_place))
		return !before;
	if (memcmp(out, want, (size_t)keep * 8) != 0)
		die("another result", which);
	return !before;
}

static void all_same(const char *value)
{
	static const int counts[] = {0, 1, 5, 64, 1000, MOST};
	MPI_Comm comm = dup_with(value), plain;
	struct shape words = {MPI_UINT64_T, 1, 1}, gaps = {0, 1, 2}, pairs = {0, 2, 2};
	MPI_Datatype one;
	MPI_Op op, ordered;
	unsigned int i;
	int which, place;

	MPI_Op_create(add, 1, &op);
	MPI_Op_create(add, 0, &ordered);
	MPI_Type_contiguous(1, MPI_UINT64_T, &one);
	MPI_Type_create_resized(one, 0, 16, &gaps.type);
	MPI_Type_commit(&gaps.type);
	MPI_Type_contiguous(2, MPI_UINT64_T, &pairs.type);
	MPI_Type_commit(&pairs.type);
	for (which = 0; which < CALLS; which++)
		for (place = 0; place < 2; place++)
			for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
				if (!same(which, counts[i], place, words, op, comm))
					die("the function was called", which);
				if (!same(which, counts[i], place, gaps, op, comm))
					die("the function was called for a type with gaps", which);
			}
	/* These stay with the function: another size of elements, an order, no key. */
	if (same(0, 1000, 0, pairs, op, comm) || same(0, 1000, 0, words, ordered, comm))
		die("the function was not called", 0);
	MPI_Comm_dup(MPI_COMM_WORLD, &plain);
	if (same(0, 1000, 0, words, op, plain))
		die("the function was not called without a key", 0);
	MPI_Comm_free(&plain);
	MPI_Type_free(&one);
	MPI_Type_free(&gaps.type);
	MPI_Type_free(&pairs.type);
	MPI_Op_free(&op);
	MPI_Op_free(&ordered);
	MPI_Comm_free(&comm);
}

static void expect_error(int rc, const char *what)
{
	int class = MPI_SUCCESS;

	MPI_Error_class(rc, &class);
	if (class != MPI_ERR_OP)
		die(what, class);
}

static void differ(const char *value)
{
	MPI_Comm comm = dup_with(value);
	MPI_Request request;
	uint64_t one = 1, sum = 0;
	MPI_Op op;

	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Op_create(add, 1, &op);
	expect_error(MPI_Iallreduce(&one, &sum, 1, MPI_UINT64_T, op, comm, &request),
		     "no error of MPI_Iallreduce");
	expect_error(MPI_Allreduce(&one, &sum, 1, MPI_UINT64_T, op, comm),
		     "no error of MPI_Allreduce");
	/* Everything else goes on. */
	MPI_Iallreduce(&one, &sum, 1, MPI_UINT64_T, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (sum != (uint64_t)ranks)
		die("a wrong sum", (int)sum);
	MPI_Op_free(&op);
	MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	srand((unsigned int)rank + 1);
	if (argc > 2 && !strcmp(argv[1], "same"))
		all_same(argv[2]);
	else if (argc > 2 && !strcmp(argv[1], "differ"))
		differ(argv[2 + (rank < argc - 2 ? rank : 0)]);
	else
		die("usage: coll_user same|differ VALUE...", argc);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("all right\n");
	MPI_Finalize();
	return 0;
}
