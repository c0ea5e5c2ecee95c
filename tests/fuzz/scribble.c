/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two hostile processes scribble over all of their BARs and ring doorbells, from a thread of their
 * own, while the firmware of both NICs takes its turns: true concurrency, which a repeatable fuzz
 * target lacks. A word that the NIC reads twice differs the second time. Two processes that keep
 * the rules (good.c) must not notice.
 *
 * Run by scribble_ut.c for a second, and by run/scribble_main.c; calls evil.c, good.c, world.c.
 */
#include "tests/fuzz/scribble.h"

#include <pthread.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/prng.h"
#include "tests/fuzz/evil.h"
#include "tests/fuzz/good.h"

enum {
	BATCH = 256,        /* words between two checks that the BAR is still mapped */
	TURN_NS = 2000,     /* ns of virtual time */
	PATIENCE = 1000000, /* turns of a message, at most */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool stop;
static struct scribble_result result;

static uint32_t value(uint64_t *state)
{
	static const uint32_t edges[] = {
	    0, 1, 2, 3, 63, 64, 1024, 0x8000, 0x7fffffff, 0x80000000u, 0xfffffffeu, UINT32_MAX};
	uint64_t r = prng_next(state);

	switch (r & 3) {
	case 0:
		return (uint32_t)(r >> 32);
	case 1:
		return edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))];
	default:
		return (uint32_t)(r >> 8 & 15);
	}
}

static struct rec any_rec(uint64_t *state)
{
	uint64_t r = prng_next(state), s = prng_next(state);

	return (struct rec){.op = (uint8_t)r,
			    .a = (uint8_t)(r >> 8),
			    .b = (uint8_t)(r >> 16),
			    .c = (uint8_t)(r >> 24),
			    .x = value(state),
			    .y = (uint32_t)s & 0x7fffffff,
			    .z = (uint32_t)(r >> 32)};
}

/* The lock keeps the BAR mapped, and evil's table of objects consistent. */
static void *scribbler(void *arg)
{
	uint64_t state = *(const uint64_t *)arg;
	uint32_t i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_mutex_lock(&lock);
		for (i = 0; i < BATCH; i++) {
			struct rec r = any_rec(&state);
			uint32_t e = r.op & 1;

			if (!w->proc[EVIL_PROC + e].attached)
				continue;
			if (r.op & 0x70)
				evil_poke(e, &r);
			else if (r.op & 8)
				evil_ring(e, &r);
			else
				evil_wqe(e, &r);
			result.words++;
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* Sends commands of the hostile processes now and then, and kills them. */
static void disturb(uint64_t *state)
{
	struct rec r = any_rec(state);
	uint32_t e = r.op & 1;

	pthread_mutex_lock(&lock);
	if (r.op < 8) {
		proc_detach(&w->proc[EVIL_PROC + e]);
		evil_attach(e);
		result.lives++;
	} else {
		/* No wait for the answer, which would run the NICs without scribbling. */
		r.c |= 0x80;
		evil_cmd(e, &r, NULL);
	}
	pthread_mutex_unlock(&lock);
}

struct scribble_result scribble(uint64_t seed, uint32_t seconds)
{
	uint64_t state = seed, other = seed ^ UINT64_C(0x5deece66d);
	uint64_t end_ms;
	pthread_t thread;
	uint32_t waited = 0;

	world_begin();
	good_begin();
	evil_attach(0);
	evil_attach(1);
	evil_connect();
	good_start((uint32_t)prng_next(&state));
	W_CHECK(!pthread_create(&thread, NULL, scribbler, &other), "no thread");
	end_ms = clock_now_ms() + (uint64_t)seconds * 1000;
	while (result.turns % 64 || clock_now_ms() < end_ms) {
		world_poll(0);
		world_poll(1);
		w->wire.now_ns += TURN_NS;
		result.turns++;
		if (good_idle()) {
			waited = 0;
			good_run();
			good_post((uint32_t)prng_next(&state) & 1,
				  (uint32_t)prng_next(&state) % GOOD_SLOTS,
				  (enum good_kind)(prng_next(&state) % GOOD_KINDS),
				  (uint32_t)prng_next(&state) % 8192);
			result.messages++;
		}
		W_CHECK(++waited < PATIENCE, "good: nothing completes any more");
		if (!(prng_next(&state) % 64))
			disturb(&state);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	good_finish();
	proc_detach(&w->proc[EVIL_PROC]);
	proc_detach(&w->proc[EVIL_PROC + 1]);
	good_finish();
	proc_detach(&w->proc[GOOD_PROC]);
	proc_detach(&w->proc[GOOD_PROC + 1]);
	world_check_empty();
	return result;
}
