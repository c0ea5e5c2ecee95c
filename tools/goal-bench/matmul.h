/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multiplication of N x N matrices of floats in blocks of 32 x 32, in block data layout, on a given
 * number of threads: the computation of ESPGOAL 6.6.
 *
 * Used by goal-bench and by tools/bench/mpi/mpi_base.c.
 */
#ifndef WEFT_GOAL_BENCH_MATMUL_H
#define WEFT_GOAL_BENCH_MATMUL_H

enum {
	MATMUL_BLOCK = 32,
};

struct matmul;

/* n a multiple of MATMUL_BLOCK. NULL: no memory, no thread. The caller is one of the threads. */
struct matmul *matmul_create(int n, int threads);
void matmul_free(struct matmul *m);
/*
 * c = a * b. Calls test(arg) after each multiplication of two blocks, in the thread that did it,
 * unless test is NULL.
 */
void matmul_run(struct matmul *m, void (*test)(void *arg), void *arg);
/* 0 when a grid of elements of c is right after matmul_run(). */
int matmul_check(const struct matmul *m);

#endif /* WEFT_GOAL_BENCH_MATMUL_H */
