/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that the kernel preempts within a pool of frames, a ring of messages or a lane hinders
 * no other: at whichever instruction of a call, other threads' calls go through and find what they
 * should.
 *
 * The processor traps after each instruction of the call under test (the trap flag of x86), and the
 * handler of the signal plays the other threads, once for each place of the code: a second time
 * there, the call goes on, as they may defeat its compare-and-swap each time. A call of theirs that
 * waited for the interrupted one would wait for ever; an alarm ends it. Besides, threads use a pool
 * at once, and it loses no frame.
 *
 * Runs dpdk_app/frame_pool.c, rings.c and lanes.h.
 */
#include <pthread.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "dpdk_app/frame_pool.h"
#include "dpdk_app/lanes.h"
#include "dpdk_app/rings.h"
#include "tests/ut.h"

enum {
	FRAMES = 4096,
	HELD = 1024, /* frames that the other threads have */
	BATCH = 288, /* frames of a call: as a core's cache gets */
	MOST = 800,  /* frames that one of several threads has */
	WAIT_S = 20, /* until a call is taken for one that never ends */
	TRAP_FLAG = 0x100,
	PLACES = 1 << 14,
	LEAST_PLACES = 20,
	ENTRIES = 8192, /* of a ring */
	TURNS = 20000,
	THREADS = 4,
};

static void (*others)(void);     /* what the other threads do meanwhile */
static uintptr_t places[PLACES]; /* of the code where they have done it: a hash table */
static uint32_t num_places;

static void nothing(void)
{
}

static void begin(void)
{
	static char *args[] = {"preempted_ut",   "--no-huge",   "-m", "64", "--no-pci",
			       "--no-telemetry", "--no-shconf", "-l", "0",  "--log-level=error"};
	static bool done;

	if (!done)
		CU_ASSERT_FATAL(rte_eal_init(sizeof(args) / sizeof(args[0]), args) >= 0);
	done = true;
}

/* ---- a call that is interrupted */

static void on_alarm(int signal)
{
	static const char text[] = "a call waits for one that is interrupted\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

#ifdef __x86_64__
static bool first_time(uintptr_t place)
{
	uint32_t i = (uint32_t)(place * 2654435761u) % PLACES;

	while (places[i] && places[i] != place)
		i = (i + 1) % PLACES;
	if (places[i])
		return false;
	places[i] = place;
	num_places++;
	return true;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (num_places < PLACES / 2 &&
	    first_time((uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]))
		others();
}

static void trap(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}
#else
static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
}

/* Without a trap flag, the other threads' turn is after the call. */
static void trap(bool on)
{
	if (!on)
		others();
}
#endif

/*
 * Makes the call, between before and after, until no new place of its code comes up. Ends the
 * test if a call of the others does not end.
 */
static void interrupted(void (*before)(void), void (*call)(void), void (*after)(void),
			void (*meanwhile)(void))
{
	struct sigaction on_traps = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct sigaction on_alarms = {.sa_handler = on_alarm};
	uint32_t places_before;

	CU_ASSERT_EQUAL_FATAL(sigaction(SIGTRAP, &on_traps, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(sigaction(SIGALRM, &on_alarms, NULL), 0);
	others = meanwhile;
	memset(places, 0, sizeof(places));
	num_places = 0;
	do {
		places_before = num_places;
		before();
		alarm(WAIT_S);
		trap(true);
		call();
		trap(false);
		alarm(0);
		after();
	} while (num_places > places_before);
#ifdef __x86_64__
	CU_ASSERT_TRUE(num_places > LEAST_PLACES);
	CU_ASSERT_TRUE(num_places < PLACES / 2);
#endif
}

/* ---- pools */

static struct rte_mempool *pool;
static void *call_frames[BATCH]; /* of the interrupted call */
static void *held[HELD];         /* of the other threads; the last ones move */
static uint32_t num_held;
static _Atomic uint32_t failed;

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

static void pool_begin(const char *name)
{
	begin();
	pool = frame_pool_new(name, FRAMES, 0, RTE_PKTMBUF_HEADROOM);
	CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
	failed = 0;
	num_held = HELD;
	CU_ASSERT_EQUAL_FATAL(rte_mempool_generic_get(pool, held, HELD, NULL), 0);
}

/* All frames are in the pool, each once. */
static void pool_end(void)
{
	static void *all[FRAMES];
	void *one;

	rte_mempool_generic_put(pool, held, num_held, NULL);
	CU_ASSERT_EQUAL(failed, 0);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), FRAMES);
	CU_ASSERT_EQUAL_FATAL(rte_mempool_generic_get(pool, all, FRAMES, NULL), 0);
	CU_ASSERT_EQUAL(rte_mempool_generic_get(pool, &one, 1, NULL), -ENOBUFS);
	qsort(all, FRAMES, sizeof(all[0]), by_address);
	for (uint32_t i = 1; i < FRAMES; i++)
		CU_ASSERT_NOT_EQUAL(all[i], all[i - 1]);
	rte_mempool_generic_put(pool, all, FRAMES, NULL);
	rte_mempool_free(pool);
}

static void get_batch(void)
{
	failed += rte_mempool_generic_get(pool, call_frames, BATCH, NULL) != 0;
}

static void put_batch(void)
{
	rte_mempool_generic_put(pool, call_frames, BATCH, NULL);
}

/* Two threads put, three get, of which one in vain. */
static void others_use_the_pool(void)
{
	static void *too_many[FRAMES + 1];

	rte_mempool_generic_put(pool, held + HELD - BATCH, BATCH, NULL);
	rte_mempool_generic_put(pool, held + HELD - BATCH - 1, 1, NULL);
	failed += rte_mempool_generic_get(pool, too_many, FRAMES + 1, NULL) != -ENOBUFS;
	failed += rte_mempool_generic_get(pool, held + HELD - BATCH - 1, 1, NULL) != 0;
	failed += rte_mempool_generic_get(pool, held + HELD - BATCH, BATCH, NULL) != 0;
}

static void get_is_interrupted(void)
{
	pool_begin("get");
	interrupted(nothing, get_batch, put_batch, others_use_the_pool);
	pool_end();
}

static void put_is_interrupted(void)
{
	pool_begin("put");
	interrupted(get_batch, put_batch, nothing, others_use_the_pool);
	pool_end();
}

/* Batches of all sizes, and single frames: there always is a chunk with room. */
static void *gets_and_puts(void *arg)
{
	uint64_t random = (uintptr_t)arg + 1;
	void *mine[MOST];
	uint32_t n = 0;

	for (uint32_t i = 0; i < TURNS; i++) {
		uint32_t batch;

		random = random * 6364136223846793005u + 1442695040888963407u;
		batch = random >> 63 ? 1 : (uint32_t)(random >> 33) % (MOST / 2);
		if (random >> 32 & 1 && n + batch <= MOST) {
			if (!rte_mempool_generic_get(pool, mine + n, batch, NULL))
				n += batch;
		} else {
			batch = RTE_MIN(batch, n);
			n -= batch;
			rte_mempool_generic_put(pool, mine + n, batch, NULL);
		}
	}
	rte_mempool_generic_put(pool, mine, n, NULL);
	return NULL;
}

static void threads_use_a_pool(void)
{
	pthread_t thread[THREADS];

	pool_begin("threads");
	for (uintptr_t i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, gets_and_puts, (void *)i),
				      0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	pool_end();
}

/* ---- rings of messages */

static struct rte_ring *ring;
static _Atomic uintptr_t num_put, num_taken, sum;

static void put_message(void)
{
	failed += !rings_put(ring, (void *)++num_put);
}

static void take_message(void)
{
	uintptr_t message = (uintptr_t)rings_take(ring);

	num_taken += message != 0;
	sum += message;
}

static void others_put(void)
{
	put_message();
	take_message();
}

static void put_of_a_message_is_interrupted(void)
{
	begin();
	failed = 0;
	ring = rings_new("messages", ENTRIES);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ring);
	interrupted(nothing, put_message, take_message, others_put);
	interrupted(put_message, take_message, nothing, put_message);
	while (rings_waiting(ring))
		take_message();
	CU_ASSERT_EQUAL(failed, 0);
	CU_ASSERT_EQUAL(num_taken, num_put);
	CU_ASSERT_EQUAL(sum, num_put * (num_put + 1) / 2);
	rte_ring_free(ring);
}

/* ---- lanes */

static struct lanes lanes;
static uintptr_t sent, received, wrong;

static void put_frame(void)
{
	struct rte_mbuf *m = (struct rte_mbuf *)(sent + 1);

	sent += lanes_put(&lanes, 0, &m, 1);
}

static void take_frame(void)
{
	struct rte_mbuf *m;
	uint32_t next = 0;

	if (lanes_waiting(&lanes) && lanes_take(&lanes, &next, &m, 1))
		wrong += (uintptr_t)m != ++received;
}

static void lane_is_interrupted(void)
{
	begin();
	CU_ASSERT_EQUAL_FATAL(lanes_init(&lanes, 1), 0);
	interrupted(put_frame, put_frame, take_frame, take_frame);
	interrupted(put_frame, take_frame, take_frame, put_frame);
	while (lanes_waiting(&lanes))
		take_frame();
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(received, sent);
	lanes_free(&lanes);
}

UT_MAIN("dpdk_app/preempted", UT(get_is_interrupted), UT(put_is_interrupted),
	UT(threads_use_a_pool), UT(put_of_a_message_is_interrupted), UT(lane_is_interrupted))
