/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation of MPI_Op_create() that the NIC carries out: sums modulo 2^61 - 1.
 *
 *	clang -target bpf -O2 -mcpu=v2 -c mersenne.bpf.c -o mersenne.o
 *	mpicc mersenne_mpi.c -o mersenne_mpi
 *	weft-run mpirun -n 4 ./mersenne_mpi $PWD/mersenne.o
 *
 * The info key names the program for the NIC. An MPI library without weft ignores it and calls the
 * function. docs/openmpi.md "Operations of the program's own".
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

static const uint64_t prime = (UINT64_C(1) << 61) - 1;
static int calls;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
	const uint64_t *a = in;
	uint64_t *b = inout;

	(void)type;
	calls++;
	for (int i = 0; i < *count; i++)
		b[i] = ((a[i] + b[i]) & prime) + ((a[i] + b[i]) >> 61);
}

int main(int argc, char **argv)
{
	uint64_t mine[4], sums[4];
	char program[256];
	MPI_Request request;
	MPI_Comm comm;
	MPI_Info info;
	MPI_Op op;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(program, sizeof(program), "%s:mersenne", argc > 1 ? argv[1] : "mersenne.o");
	MPI_Op_create(add, 1, &op);

	/* FILE:SECTION, the same program at every rank. */
	MPI_Info_create(&info);
	MPI_Info_set(info, "weft", program);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);

	for (int i = 0; i < 4; i++)
		mine[i] = prime - 1 - (uint64_t)(rank * 4 + i);
	MPI_Iallreduce(mine, sums, 4, MPI_UINT64_T, op, comm, &request);
	/* ... compute ... */
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (rank == 0)
		printf("%llu %llu %llu %llu, %s\n", (unsigned long long)sums[0],
		       (unsigned long long)sums[1], (unsigned long long)sums[2],
		       (unsigned long long)sums[3], calls ? "by the function" : "by the NIC");
	MPI_Op_free(&op);
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return 0;
}
