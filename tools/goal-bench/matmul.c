/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See matmul.h. Calls libc alone.
 *
 * The threads share the rows of blocks and wait for each other by spinning with sched_yield(): the
 * smallest multiplication takes less than a wake-up.
 */
#include "tools/goal-bench/matmul.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_THREADS = 64,
	BLOCK_FLOATS = MATMUL_BLOCK * MATMUL_BLOCK,
};

struct worker {
	struct matmul *m;
	int index;
	pthread_t thread;
};

struct matmul {
	int blocks; /* in a row */
	int threads, started;
	float *a, *b, *c; /* block (i, j) at (i * blocks + j) * BLOCK_FLOATS */
	void (*test)(void *arg);
	void *arg;
	uint32_t turn;    /* counts up when there is work */
	uint32_t working; /* threads that have not finished it */
	bool quit;
	struct worker worker[MAX_THREADS];
};

static inline __attribute__((always_inline)) void multiply(const float *a, const float *b, float *c)
{
	int i, j, k;

	for (i = 0; i < MATMUL_BLOCK; i++) {
		float row[MATMUL_BLOCK];

		for (j = 0; j < MATMUL_BLOCK; j++)
			row[j] = c[i * MATMUL_BLOCK + j];
		for (k = 0; k < MATMUL_BLOCK; k++) {
			float x = a[i * MATMUL_BLOCK + k];

			for (j = 0; j < MATMUL_BLOCK; j++)
				row[j] += x * b[k * MATMUL_BLOCK + j];
		}
		for (j = 0; j < MATMUL_BLOCK; j++)
			c[i * MATMUL_BLOCK + j] = row[j];
	}
}

#pragma GCC push_options
#pragma GCC optimize("O3")
static void multiply_any(const float *a, const float *b, float *c)
{
	multiply(a, b, c);
}
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void multiply_avx2(const float *a, const float *b,
							      float *c)
{
	multiply(a, b, c);
}
#endif
#pragma GCC pop_options

static void multiply_blocks(const float *a, const float *b, float *c)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		multiply_avx2(a, b, c);
		return;
	}
#endif
	multiply_any(a, b, c);
}

static void rows(struct matmul *m, int first)
{
	size_t nb = (size_t)m->blocks, i, j, k;

	for (i = (size_t)first; i < nb; i += (size_t)m->threads) {
		for (j = 0; j < nb; j++) {
			float *c = m->c + (i * nb + j) * BLOCK_FLOATS;

			memset(c, 0, BLOCK_FLOATS * sizeof(*c));
			for (k = 0; k < nb; k++) {
				multiply_blocks(m->a + (i * nb + k) * BLOCK_FLOATS,
						m->b + (k * nb + j) * BLOCK_FLOATS, c);
				if (m->test)
					m->test(m->arg);
			}
		}
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct matmul *m = w->m;
	uint32_t seen = 0;

	for (;;) {
		while (__atomic_load_n(&m->turn, __ATOMIC_ACQUIRE) == seen)
			sched_yield();
		seen++;
		if (m->quit)
			return NULL;
		rows(m, w->index);
		__atomic_fetch_sub(&m->working, 1, __ATOMIC_RELEASE);
	}
}

static void next_turn(struct matmul *m)
{
	__atomic_store_n(&m->working, (uint32_t)m->started, __ATOMIC_RELAXED);
	__atomic_fetch_add(&m->turn, 1, __ATOMIC_RELEASE);
}

void matmul_free(struct matmul *m)
{
	int i;

	if (!m)
		return;
	m->quit = true;
	next_turn(m);
	for (i = 0; i < m->started; i++)
		pthread_join(m->worker[i].thread, NULL);
	free(m->a);
	free(m->b);
	free(m->c);
	free(m);
}

/* Small whole numbers: sums are exact in any order. */
static float value(size_t i, size_t j, size_t prime)
{
	return (float)((i * 3 + j * prime) % 3);
}

static float *matrix(size_t nb, size_t prime)
{
	size_t bytes = nb * nb * BLOCK_FLOATS * sizeof(float), i, j;
	float *x = aligned_alloc(64, bytes);

	for (i = 0; x && i < nb * MATMUL_BLOCK; i++) {
		for (j = 0; j < nb * MATMUL_BLOCK; j++)
			x[(i / MATMUL_BLOCK * nb + j / MATMUL_BLOCK) * BLOCK_FLOATS +
			  i % MATMUL_BLOCK * MATMUL_BLOCK + j % MATMUL_BLOCK] =
			    prime ? value(i, j, prime) : 0;
	}
	return x;
}

struct matmul *matmul_create(int n, int threads)
{
	struct matmul *m;

	if (n <= 0 || n % MATMUL_BLOCK || threads < 1 || threads > MAX_THREADS)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->blocks = n / MATMUL_BLOCK;
	m->threads = threads;
	m->a = matrix((size_t)m->blocks, 5);
	m->b = matrix((size_t)m->blocks, 7);
	m->c = matrix((size_t)m->blocks, 0);
	while (m->a && m->b && m->c && m->started < threads - 1) {
		struct worker *w = &m->worker[m->started];

		*w = (struct worker){.m = m, .index = m->started + 1};
		if (pthread_create(&w->thread, NULL, work, w))
			break;
		m->started++;
	}
	if (!m->a || !m->b || !m->c || m->started < threads - 1) {
		matmul_free(m);
		return NULL;
	}
	return m;
}

void matmul_run(struct matmul *m, void (*test)(void *arg), void *arg)
{
	m->test = test;
	m->arg = arg;
	if (m->started)
		next_turn(m);
	rows(m, 0);
	while (m->started && __atomic_load_n(&m->working, __ATOMIC_ACQUIRE))
		sched_yield();
}

int matmul_check(const struct matmul *m)
{
	size_t nb = (size_t)m->blocks, n = nb * MATMUL_BLOCK, step = n / 16 + 1, i, j, k;

	for (i = 0; i < n; i += step) {
		for (j = 0; j < n; j += step) {
			float want = 0;

			for (k = 0; k < n; k++)
				want += value(i, k, 5) * value(k, j, 7);
			if (m->c[(i / MATMUL_BLOCK * nb + j / MATMUL_BLOCK) * BLOCK_FLOATS +
				 i % MATMUL_BLOCK * MATMUL_BLOCK + j % MATMUL_BLOCK] != want)
				return -1;
		}
	}
	return 0;
}
