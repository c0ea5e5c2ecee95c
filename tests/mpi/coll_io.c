/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective input and output: MPI_File_write_all() and read_all() of views that interleave the
 * ranks' blocks, whose exchange of data is collectives inside MPI-IO.
 *
 *	coll_io FILE ROUNDS
 *
 * Each rank checks what it reads, through its own view, through the next rank's, and at an
 * explicit offset; rank 0 reads the file without MPI and checks each byte.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	BLOCK = 1000, /* ints of a rank, one after the other */
	BLOCKS = 24,
	WORDS = BLOCK * BLOCKS,
};

static int rank, ranks;
static int out[WORDS], in[WORDS];

static void check_at(int ok, int line)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d: coll_io.c:%d is wrong\n", rank, line);
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check_at(condition, __LINE__)

/* The int at a place of the file. */
static int word_at(int place, int round)
{
	return place * 7 + round * 1000003;
}

/* The place of an element of a rank's view. */
static int place_of(int of, int element)
{
	return (element / BLOCK * ranks + of) * BLOCK + element % BLOCK;
}

static void set_view(MPI_File file, MPI_Datatype blocks, int of)
{
	MPI_Offset at = (MPI_Offset)of * BLOCK * (MPI_Offset)sizeof(int);

	CHECK(MPI_File_set_view(file, at, MPI_INT, blocks, "native", MPI_INFO_NULL) == MPI_SUCCESS);
}

static void check_read(int of, int round, MPI_Status *status)
{
	int count, i;

	MPI_Get_count(status, MPI_INT, &count);
	CHECK(count == WORDS);
	for (i = 0; i < WORDS; i++)
		CHECK(in[i] == word_at(place_of(of, i), round));
}

static void read_alone(const char *name, int round)
{
	int total = WORDS * ranks, *all = malloc((size_t)total * sizeof(*all)), i;
	FILE *f = fopen(name, "rb");

	CHECK(f && all && fread(all, sizeof(*all), (size_t)total, f) == (size_t)total);
	CHECK(fgetc(f) == EOF);
	for (i = 0; i < total; i++)
		CHECK(all[i] == word_at(i, round));
	fclose(f);
	free(all);
}

static void one_round(const char *name, MPI_Datatype blocks, int round)
{
	int next = (rank + 1) % ranks, i;
	MPI_Status status;
	MPI_File file;

	CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			    &file) == MPI_SUCCESS);
	CHECK(MPI_File_set_size(file, 0) == MPI_SUCCESS);
	for (i = 0; i < WORDS; i++)
		out[i] = word_at(place_of(rank, i), round);
	set_view(file, blocks, rank);
	CHECK(MPI_File_write_all(file, out, WORDS, MPI_INT, &status) == MPI_SUCCESS);
	CHECK(MPI_File_sync(file) == MPI_SUCCESS);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_seek(file, 0, MPI_SEEK_SET);
	CHECK(MPI_File_read_all(file, in, WORDS, MPI_INT, &status) == MPI_SUCCESS);
	check_read(rank, round, &status);
	set_view(file, blocks, next);
	CHECK(MPI_File_read_at_all(file, 0, in, WORDS, MPI_INT, &status) == MPI_SUCCESS);
	check_read(next, round, &status);
	CHECK(MPI_File_close(&file) == MPI_SUCCESS);
	if (rank == 0)
		read_alone(name, round);
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Datatype vector, blocks;
	int rounds, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	CHECK(argc == 3);
	rounds = atoi(argv[2]);
	MPI_Type_contiguous(BLOCK, MPI_INT, &vector);
	MPI_Type_create_resized(vector, 0, (MPI_Aint)ranks * BLOCK * (MPI_Aint)sizeof(int),
				&blocks);
	MPI_Type_commit(&blocks);
	for (i = 0; i < rounds; i++)
		one_round(argv[1], blocks, i);
	MPI_Type_free(&blocks);
	MPI_Type_free(&vector);
	MPI_Finalize();
	return 0;
}
