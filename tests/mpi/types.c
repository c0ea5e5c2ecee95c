/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived datatypes: messages whose bytes are scattered in memory, sent as one type and received as
 * another; the gaps must not change. Options: mt.h. Calls mt.c and MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/mt.h"

enum {
	FILLER = 0xee, /* byte value that mt_alloc() leaves */
	MAX_BLOCKS = 4096,
};

/* A type, and the places of its bytes, in its order. */
struct layout {
	const char *name;
	MPI_Datatype type;
	int blocks;
	size_t offset[MAX_BLOCKS], bytes[MAX_BLOCKS];
	size_t total, span;
};

static void add_block(struct layout *l, size_t offset, size_t bytes)
{
	if (l->blocks == MAX_BLOCKS)
		mt_fail("%s has too many blocks", l->name);
	l->offset[l->blocks] = offset;
	l->bytes[l->blocks++] = bytes;
	l->total += bytes;
	if (offset + bytes > l->span)
		l->span = offset + bytes;
}

/* n blocks of some ints with a stride */
static void make_vector(struct layout *l, int n, int block, int stride)
{
	l->name = "vector";
	MPI_Type_vector(n, block, stride, MPI_INT, &l->type);
	for (int i = 0; i < n; i++)
		add_block(l, (size_t)i * (size_t)stride * sizeof(int), (size_t)block * sizeof(int));
}

/* Blocks of 0 to 6 doubles, not in ascending order. */
static void make_indexed(struct layout *l, int n)
{
	int *lengths = mt_alloc(sizeof(int) * (size_t)n), *at = mt_alloc(sizeof(int) * (size_t)n);

	l->name = "indexed";
	for (int i = 0; i < n; i++) {
		lengths[i] = i % 7;
		at[i] = i * (n - 1) % n * 8;
		add_block(l, (size_t)at[i] * sizeof(double), (size_t)lengths[i] * sizeof(double));
	}
	MPI_Type_indexed(n, lengths, at, MPI_DOUBLE, &l->type);
	free(lengths);
	free(at);
}

struct record {
	char c[3];
	double d;
	short s[2];
};

/* An array of records: only their members are sent. */
static void make_struct(struct layout *l, int n)
{
	int lengths[] = {3, 1, 2};
	MPI_Aint at[] = {offsetof(struct record, c), offsetof(struct record, d),
			 offsetof(struct record, s)};
	MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, one, sized;

	l->name = "struct";
	MPI_Type_create_struct(3, lengths, at, types, &one);
	MPI_Type_create_resized(one, 0, sizeof(struct record), &sized);
	MPI_Type_contiguous(n, sized, &l->type);
	for (int i = 0; i < n; i++) {
		size_t base = (size_t)i * sizeof(struct record);

		add_block(l, base + (size_t)at[0], 3);
		add_block(l, base + (size_t)at[1], sizeof(double));
		add_block(l, base + (size_t)at[2], 2 * sizeof(short));
	}
	MPI_Type_free(&one);
	MPI_Type_free(&sized);
}

/* The inside of a cube of n^3 ints, without its outermost layer. */
static void make_subarray(struct layout *l, int n)
{
	int sizes[] = {n, n, n}, sub[] = {n - 2, n - 2, n - 2}, start[] = {1, 1, 1};

	l->name = "subarray";
	MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_INT, &l->type);
	for (int z = 1; z < n - 1; z++)
		for (int y = 1; y < n - 1; y++)
			add_block(l, (size_t)((z * n + y) * n + 1) * sizeof(int),
				  (size_t)(n - 2) * sizeof(int));
}

/* One column of a matrix of n x n bytes. */
static void make_column(struct layout *l, int n)
{
	l->name = "column";
	MPI_Type_vector(n, 1, n, MPI_BYTE, &l->type);
	for (int i = 0; i < n; i++)
		add_block(l, (size_t)i * (size_t)n, 1);
}

/* An empty type. */
static void make_empty(struct layout *l)
{
	l->name = "empty";
	MPI_Type_contiguous(0, MPI_INT, &l->type);
}

/* which 0..; false: no more. size makes it small or large. */
static bool make(struct layout *l, int which, int size)
{
	memset(l, 0, sizeof(*l));
	switch (which) {
	case 0:
		make_vector(l, size, 3, 7);
		break;
	case 1:
		make_vector(l, 16, size, 2 * size + 1);
		break;
	case 2:
		make_indexed(l, size);
		break;
	case 3:
		make_struct(l, size < MAX_BLOCKS / 3 ? size : MAX_BLOCKS / 3);
		break;
	case 4:
		make_subarray(l, size < 40 ? 5 : 40);
		break;
	case 5:
		make_column(l, size);
		break;
	case 6:
		make_empty(l);
		break;
	default:
		return false;
	}
	MPI_Type_commit(&l->type);
	return true;
}

/* Copies the sent bytes, into or out of memory of this layout. */
static void scatter(const struct layout *l, uint8_t *mem, const uint8_t *packed)
{
	for (int i = 0; i < l->blocks; packed += l->bytes[i++])
		memcpy(mem + l->offset[i], packed, l->bytes[i]);
}

static void gather(const struct layout *l, const uint8_t *mem, uint8_t *packed)
{
	for (int i = 0; i < l->blocks; packed += l->bytes[i++])
		memcpy(packed, mem + l->offset[i], l->bytes[i]);
}

/* Checks that only sent bytes have changed. */
static void check_between(const struct layout *l, uint8_t *mem)
{
	for (int i = 0; i < l->blocks; i++)
		memset(mem + l->offset[i], FILLER, l->bytes[i]);
	mt_untouched(mem, l->span, FILLER, "between the blocks");
}

/* Scattered and as packed bytes, in both directions. */
static void one_type(struct layout *l, int tag)
{
	int right = (mt.rank + 1) % mt.ranks, left = (mt.rank + mt.ranks - 1) % mt.ranks,
	    n = (int)l->total;
	uint64_t mine = mt_seed(mt.rank, right, tag, l->total),
		 theirs = mt_seed(left, mt.rank, tag, l->total);
	uint8_t *packed = mt_alloc(l->total), *in = mt_alloc(l->total);
	uint8_t *mem = mt_alloc(l->span), *mem_in = mt_alloc(l->span);
	MPI_Status status;
	int count;

	mt_part(l->name);
	mt_fill(packed, l->total, mine);
	scatter(l, mem, packed);
	MPI_Sendrecv(mem, 1, l->type, right, tag, in, n, MPI_BYTE, left, tag, MPI_COMM_WORLD,
		     &status);
	mt_same(in, l->total, theirs, "sent apart, received as bytes");
	MPI_Sendrecv(packed, n, MPI_BYTE, right, tag, mem_in, 1, l->type, left, tag, MPI_COMM_WORLD,
		     &status);
	MPI_Get_count(&status, l->type, &count);
	MT_CHECK(count == 1 || l->total == 0, "count %d", count);
	gather(l, mem_in, in);
	mt_same(in, l->total, theirs, "sent as bytes, received apart");
	check_between(l, mem_in);
	MPI_Sendrecv(mem, 1, l->type, right, tag, mem_in, 1, l->type, left, tag, MPI_COMM_WORLD,
		     &status);
	gather(l, mem_in, in);
	mt_same(in, l->total, theirs, "sent and received apart");
	check_between(l, mem_in);
	free(packed);
	free(in);
	free(mem);
	free(mem_in);
}

/* Pack and Unpack at both ends of a message of MPI_PACKED. */
static void packed(struct layout *l)
{
	int right = (mt.rank + 1) % mt.ranks, left = (mt.rank + mt.ranks - 1) % mt.ranks, room,
	    at = 0;
	uint8_t *bytes = mt_alloc(l->total), *mem = mt_alloc(l->span), *buf;
	MPI_Status status;

	mt_part("Pack and Unpack");
	MPI_Pack_size(1, l->type, MPI_COMM_WORLD, &room);
	buf = mt_alloc((size_t)room);
	mt_fill(bytes, l->total, mt_seed(mt.rank, right, 7, l->total));
	scatter(l, mem, bytes);
	MPI_Pack(mem, 1, l->type, buf, room, &at, MPI_COMM_WORLD);
	MPI_Sendrecv_replace(buf, at, MPI_PACKED, right, 7, left, 7, MPI_COMM_WORLD, &status);
	at = 0;
	MPI_Unpack(buf, room, &at, mem, 1, l->type, MPI_COMM_WORLD);
	gather(l, mem, bytes);
	mt_same(bytes, l->total, mt_seed(left, mt.rank, 7, l->total), "unpacked");
	free(bytes);
	free(mem);
	free(buf);
}

int main(int argc, char **argv)
{
	static const int sizes[] = {3, 40, 700, MAX_BLOCKS};
	static struct layout l;

	mt_start(argc, argv, MPI_THREAD_SINGLE);
	for (int s = 0; s < (mt.quick ? 3 : 4); s++)
		for (int which = 0; make(&l, which, sizes[s]); which++) {
			if (l.total <= mt.max_bytes) {
				one_type(&l, 10 * s + which);
				packed(&l);
			}
			MPI_Type_free(&l.type);
		}
	return mt_end();
}
