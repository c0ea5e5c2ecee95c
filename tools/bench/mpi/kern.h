/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small kernels with the communication of CG, MG, LU, IS (NPB), RADIX and SMG2000, and messages
 * between two ranks, for the comparison of transports in docs/iwarp.md (Rashti's thesis, figures
 * 6.4 to 6.7) and of copies in docs/memory.md (SCI-MPICH).
 *
 * kern.c runs them; kern_*.c implement them. Each computes a real result that does not depend on
 * the number of ranks, so that it is compared with that of one rank. MPI calls are wrapped in
 * COMM(), which adds up the time spent in them.
 */
#ifndef WEFT_BENCH_MPI_KERN_H
#define WEFT_BENCH_MPI_KERN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ranks that share the work; with one rank no MPI call is made. */
struct kern_team {
	MPI_Comm comm;
	int rank;
	int ranks; /* a power of two, to 64 */
	double comm_s;
	double part_s; /* of it: in the call that kern.part names */
};

#define COMM(team, call)                                                                           \
	do {                                                                                       \
		double begun = MPI_Wtime();                                                        \
		(void)(call);                                                                      \
		(team)->comm_s += MPI_Wtime() - begun;                                             \
	} while (0)

/*
 * A kernel does a number of steps and returns a checksum of its whole result: exact ones are equal
 * on any number of ranks, the others within rounding.
 */
struct kern {
	const char *name;
	bool exact;
	double (*run)(struct kern_team *team, int steps);
	const char *part; /* an MPI call that has a time of its own (team.part_s), or NULL */
};

extern const struct kern kern_cg, kern_mg, kern_lu, kern_radix, kern_smg, kern_is_w, kern_is_a;

/*
 * kern_p2p.c: messages between ranks 0 and 1: half a round trip (us), or a window of messages each
 * way (MiB/s): of MPI_Isend() and MPI_Irecv(), of persistent requests that are started again, or of
 * buffers that are allocated for each window and freed after it.
 */
enum kern_messages {
	KERN_PING,
	KERN_BOTH,
	KERN_PERSISTENT,
	KERN_FRESH
};
/* Takes count measurements. False: a wrong byte. */
bool kern_p2p(struct kern_team *team, enum kern_messages kind, int bytes, double seconds,
	      double *values, int count);

/* kern.c: zeroed memory; ends the program when there is none. */
void *kern_room(size_t count, size_t bytes);
/* Adds a value and its place to a sum that does not depend on the order. */
void kern_mix(uint64_t *sum, uint64_t place, double value);
/* The sum over all ranks, as a number that doubles represent exactly. */
double kern_total(struct kern_team *team, uint64_t sum);

#endif /* WEFT_BENCH_MPI_KERN_H */
