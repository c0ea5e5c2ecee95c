/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that compute: Reduce, Allreduce, Reduce_scatter(_block), Scan, Exscan; the built-in
 * operations on several types, MINLOC and MAXLOC, and operations of our own of which one is not
 * commutative. Blocking and non-blocking, in place, from all roots. Each rank computes the results
 * from the others' input, which follows a rule. Options: mt.h. Calls mt.c and MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/prng.h"
#include "tests/mpi/mt.h"

/* x -> a x + b modulo 2^32; composing two of them is associative and not commutative */
struct affine {
	uint32_t a, b;
};

struct place {
	double value;
	int rank;
};

enum kind {
	KIND_LONG,
	KIND_DOUBLE,
	KIND_BYTE,
	KIND_AFFINE,
	KIND_PLACE,
};

/*
 * An operation on a type, and its result for two elements, into the second (MPI's order: in,
 * inout).
 */
struct op {
	const char *name;
	enum kind kind;
	size_t bytes;
	MPI_Datatype type;
	MPI_Op op;
	void (*fold)(const void *in, void *inout);
};

static MPI_Datatype affine_type;
static MPI_Op affine_op, worst_op;

#define FOLD(name, type, expr)                                                                     \
	static void name(const void *in, void *inout)                                              \
	{                                                                                          \
		type x, y;                                                                         \
		memcpy(&x, in, sizeof(x));                                                         \
		memcpy(&y, inout, sizeof(y));                                                      \
		y = (type)(expr);                                                                  \
		memcpy(inout, &y, sizeof(y));                                                      \
	}
FOLD(long_sum, int64_t, x + y)
FOLD(long_max, int64_t, x > y ? x : y)
FOLD(long_xor, int64_t, x ^ y)
FOLD(long_and, int64_t, x &&y)
FOLD(double_sum, double, x + y)
FOLD(double_min, double, x < y ? x : y)
FOLD(double_prod, double, x *y)
FOLD(byte_or, uint8_t, x | y)
FOLD(long_worst, int64_t, x % 1009 > y % 1009 || (x % 1009 == y % 1009 && x > y) ? x : y)

static void fold_affine(const void *in, void *inout)
{
	struct affine x, y;

	memcpy(&x, in, sizeof(x));
	memcpy(&y, inout, sizeof(y));
	y = (struct affine){x.a * y.a, x.a * y.b + x.b};
	memcpy(inout, &y, sizeof(y));
}

static void place_max(const void *in, void *inout)
{
	struct place x, y;

	memcpy(&x, in, sizeof(x));
	memcpy(&y, inout, sizeof(y));
	if (x.value > y.value || (x.value == y.value && x.rank < y.rank))
		memcpy(inout, &x, sizeof(x));
}

static void op_affine(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *len; i++)
		fold_affine((struct affine *)in + i, (struct affine *)inout + i);
}

static void op_worst(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *len; i++)
		long_worst((int64_t *)in + i, (int64_t *)inout + i);
}

static struct {
	MPI_Comm comm;
	int rank, ranks;
	bool nonblocking;
} at;

#define CALL(...) MT_CALL(at.nonblocking, MT_WAIT, __VA_ARGS__)

/* Element i of a rank; sums and products of doubles stay exact. */
static void element(const struct op *op, int rank, size_t i, void *out)
{
	uint64_t x = prng_mix((uint64_t)rank * 1000003 + i);
	int64_t l = (int64_t)(x % 2000) - 1000;
	double d = op->fold == double_prod ? (double)(x % 2 + 1) : (double)l / 4;
	uint8_t b = (uint8_t)(1u << x % 8);
	struct affine f = {(uint32_t)x | 1, (uint32_t)(x >> 32)};
	struct place p = {(double)(x % 5), rank};

	memset(out, 0, op->bytes);
	switch (op->kind) {
	case KIND_LONG:
		memcpy(out, &l, sizeof(l));
		break;
	case KIND_DOUBLE:
		memcpy(out, &d, sizeof(d));
		break;
	case KIND_BYTE:
		memcpy(out, &b, sizeof(b));
		break;
	case KIND_AFFINE:
		memcpy(out, &f, sizeof(f));
		break;
	case KIND_PLACE:
		memcpy((char *)out + offsetof(struct place, value), &p.value, sizeof(p.value));
		memcpy((char *)out + offsetof(struct place, rank), &p.rank, sizeof(p.rank));
		break;
	}
}

static void *vector_of(const struct op *op, int rank, size_t count)
{
	char *v = mt_alloc(op->bytes * count);

	for (size_t i = 0; i < count; i++)
		element(op, rank, i, v + i * op->bytes);
	return v;
}

/* Combines ranks from..last, in their order: r0 op (r1 op (...)). */
static void fold_ranks(const struct op *op, int last, size_t i, void *out)
{
	char below[64];

	element(op, last, i, out);
	for (int r = last - 1; r >= 0; r--) {
		element(op, r, i, below);
		op->fold(below, out);
	}
}

static void expect(const struct op *op, const char *call, const void *got, size_t count,
		   size_t first, int last)
{
	const char *p = got;
	char want[64];

	mt.checks++;
	for (size_t i = 0; i < count; i++) {
		fold_ranks(op, last, first + i, want);
		/* the padding of a pair has no meaning */
		MT_CHECK(memcmp(p + i * op->bytes, want, op->kind == KIND_PLACE ? 12 : op->bytes) ==
			     0,
			 "%s of %s: element %zu of %zu is wrong", call, op->name, i, count);
	}
}

static void reduce(const struct op *op, size_t n, int root)
{
	void *in = vector_of(op, at.rank, n), *out = vector_of(op, at.rank, n);

	CALL(MPI_Reduce, MPI_Ireduce, in, out, (int)n, op->type, op->op, root, at.comm);
	if (at.rank == root)
		expect(op, "Reduce", out, n, 0, at.ranks - 1);
	CALL(MPI_Reduce, MPI_Ireduce, at.rank == root ? MPI_IN_PLACE : in, in, (int)n, op->type,
	     op->op, root, at.comm);
	if (at.rank == root)
		expect(op, "Reduce in place", in, n, 0, at.ranks - 1);
	free(in);
	free(out);
}

static void allreduce(const struct op *op, size_t n)
{
	void *in = vector_of(op, at.rank, n), *out = mt_alloc(n * op->bytes);

	CALL(MPI_Allreduce, MPI_Iallreduce, in, out, (int)n, op->type, op->op, at.comm);
	expect(op, "Allreduce", out, n, 0, at.ranks - 1);
	CALL(MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, in, (int)n, op->type, op->op, at.comm);
	expect(op, "Allreduce in place", in, n, 0, at.ranks - 1);
	free(in);
	free(out);
}

static void scans(const struct op *op, size_t n)
{
	void *in = vector_of(op, at.rank, n), *out = mt_alloc(n * op->bytes);

	CALL(MPI_Scan, MPI_Iscan, in, out, (int)n, op->type, op->op, at.comm);
	expect(op, "Scan", out, n, 0, at.rank);
	CALL(MPI_Exscan, MPI_Iexscan, in, out, (int)n, op->type, op->op, at.comm);
	if (at.rank > 0)
		expect(op, "Exscan", out, n, 0, at.rank - 1);
	CALL(MPI_Scan, MPI_Iscan, MPI_IN_PLACE, in, (int)n, op->type, op->op, at.comm);
	expect(op, "Scan in place", in, n, 0, at.rank);
	free(in);
	free(out);
}

/* Blocks of n elements, and of r + n % 5 ones. */
static void reduce_scatter(const struct op *op, size_t n)
{
	int counts[64];
	size_t total = 0, first = 0;
	void *in = vector_of(op, at.rank, n * (size_t)at.ranks),
	     *out = mt_alloc((n + 70) * op->bytes);

	CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, (int)n, op->type, op->op,
	     at.comm);
	expect(op, "Reduce_scatter_block", out, n, n * (size_t)at.rank, at.ranks - 1);
	free(in);
	for (int r = 0; r < at.ranks; r++) {
		counts[r] = r + (int)n % 5;
		if (r < at.rank)
			first += (size_t)counts[r];
		total += (size_t)counts[r];
	}
	in = vector_of(op, at.rank, total);
	CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, counts, op->type, op->op, at.comm);
	expect(op, "Reduce_scatter", out, (size_t)counts[at.rank], first, at.ranks - 1);
	free(in);
	free(out);
}

static void one_op(const struct op *op)
{
	static const size_t counts[] = {0, 1, 2, 7, 64, 333, 4097, 70001, 600000};
	int step = mt.quick && at.ranks > 1 ? at.ranks - 1 : 1;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t n = counts[i];

		if (n * op->bytes > mt.max_bytes || (mt.quick && i % 2 == 0 && n) ||
		    (n > 10000 && op->kind == KIND_PLACE))
			continue;
		for (int root = 0; root<at.ranks; root += n> 1000 ? at.ranks : step)
			reduce(op, n, root);
		allreduce(op, n);
		scans(op, n);
		if (n < 100000)
			reduce_scatter(op, n);
	}
}

static void run(MPI_Comm comm)
{
	const struct op ops[] = {
	    {"sum of longs", KIND_LONG, 8, MPI_INT64_T, MPI_SUM, long_sum},
	    {"maximum of longs", KIND_LONG, 8, MPI_INT64_T, MPI_MAX, long_max},
	    {"exclusive or of longs", KIND_LONG, 8, MPI_INT64_T, MPI_BXOR, long_xor},
	    {"logical and of longs", KIND_LONG, 8, MPI_INT64_T, MPI_LAND, long_and},
	    {"sum of doubles", KIND_DOUBLE, 8, MPI_DOUBLE, MPI_SUM, double_sum},
	    {"minimum of doubles", KIND_DOUBLE, 8, MPI_DOUBLE, MPI_MIN, double_min},
	    {"product of doubles", KIND_DOUBLE, 8, MPI_DOUBLE, MPI_PROD, double_prod},
	    {"or of bytes", KIND_BYTE, 1, MPI_BYTE, MPI_BOR, byte_or},
	    {"MAXLOC", KIND_PLACE, sizeof(struct place), MPI_DOUBLE_INT, MPI_MAXLOC, place_max},
	    {"an operation of ours", KIND_LONG, 8, MPI_INT64_T, worst_op, long_worst},
	    {"one that does not commute", KIND_AFFINE, 8, affine_type, affine_op, fold_affine},
	};

	at.comm = comm;
	MPI_Comm_rank(comm, &at.rank);
	MPI_Comm_size(comm, &at.ranks);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		mt_part(ops[i].name);
		one_op(&ops[i]);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm turned;

	mt_start(argc, argv, MPI_THREAD_SINGLE);
	MT_CHECK(mt.ranks <= 60, "this is for 60 ranks at most");
	MPI_Type_contiguous(2, MPI_UINT32_T, &affine_type);
	MPI_Type_commit(&affine_type);
	MPI_Op_create(op_affine, 0, &affine_op);
	MPI_Op_create(op_worst, 1, &worst_op);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -mt.rank, &turned);
	for (int pass = 0; pass < 2; pass++) {
		at.nonblocking = pass == 1;
		run(MPI_COMM_WORLD);
		if (!mt.quick)
			run(turned);
	}
	MPI_Comm_free(&turned);
	MPI_Op_free(&affine_op);
	MPI_Op_free(&worst_op);
	MPI_Type_free(&affine_type);
	return mt_end();
}
