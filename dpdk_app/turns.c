/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Durations of turns. See turns.h.
 *
 * Preemption is detected through the thread's restartable sequence (rseq(2), registered by glibc):
 * when the kernel preempts the thread outside the sequence, it clears the pointer to the sequence.
 * A sequence that the thread never enters thus serves as a mark, at the cost of a store and a load
 * per turn. Without rseq, preempted turns are not detected.
 *
 * Runs on the core; calls stats.c.
 */
#include "dpdk_app/turns.h"

#include <assert.h>
#include <string.h>

#include "dpdk_app/control/stats.h"

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#endif
#endif

#ifdef HAVE_RSEQ

/*
 * The sequence is the first byte, its abort handler the second word, before which the kernel
 * requires its signature. None of it is ever executed.
 */
static const uint32_t marks[2] = {RSEQ_SIG, 0};

static struct rseq *area(void)
{
	uint8_t *self = __builtin_thread_pointer();

	return __rseq_size ? (struct rseq *)(void *)(self + __rseq_offset) : NULL;
}

/* Returns true if the kernel preempted or migrated the thread since mark(). */
static bool was_lost(void)
{
	const struct rseq *rseq = area();

	return rseq && !__atomic_load_n(&rseq->rseq_cs, __ATOMIC_RELAXED);
}

static void mark(void)
{
	static struct rseq_cs never;
	struct rseq *rseq = area();

	if (!rseq)
		return;
	/*
	 * Set at run time, because initializers cannot hold addresses as integers; every core
	 * writes the same values.
	 */
	__atomic_store_n(&never.start_ip, (uintptr_t)&marks[0], __ATOMIC_RELAXED);
	__atomic_store_n(&never.post_commit_offset, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&never.abort_ip, (uintptr_t)&marks[1], __ATOMIC_RELAXED);
	__atomic_store_n(&rseq->rseq_cs, (uintptr_t)&never, __ATOMIC_RELEASE);
}

#else

static bool was_lost(void)
{
	return false;
}

static void mark(void)
{
}

#endif

void turns_ends(struct turns *turns)
{
	turns->lost = was_lost();
	mark();
}

void turns_next(struct turns *turns, uint64_t ns)
{
	enum turn_kind kind = turns->kind;
	/* A preemption between the mark and the clock counts for both turns. */
	bool whole = turns->whole, lost = turns->lost || was_lost();

	turns->kind = TURN_PLAIN;
	turns->whole = true;
	if (!whole)
		return;
	if (ns > turns->ns_max)
		turns->ns_max = ns;
	if (lost) {
		turns->lost_turns++;
		return;
	}
	turns->of[kind].turns++;
	if (ns > TURNS_LONG_NS)
		turns->of[kind].long_turns++;
	if (ns <= turns->of[kind].ns_max)
		return;
	turns->of[kind].ns_max = ns;
	if (kind == TURN_COMMAND)
		turns->op_max = turns->op;
}

void turns_stats(const struct turns *turns, struct hw_stat stat[TURNS_STATS])
{
	static const char *const names[TURN_KINDS] = {
	    [TURN_PLAIN] = "plain",   [TURN_FLUSH] = "flush",     [TURN_LEAVE] = "leave",
	    [TURN_LATER] = "later",   [TURN_COMMAND] = "command", [TURN_ATTACH] = "attach",
	    [TURN_DETACH] = "detach", [TURN_QUERY] = "query",
	};
	uint32_t n = 0, kind;

	stats_put(&stat[n++], "core_", "turn_ns_max", turns->ns_max);
	stats_put(&stat[n++], "core_", "turns_lost", turns->lost_turns);
	stats_put(&stat[n++], "core_", "turn_op_max", turns->op_max);
	for (kind = 0; kind < TURN_KINDS; kind++) {
		stats_put(&stat[n++], "core_turns_", names[kind], turns->of[kind].turns);
		stats_put(&stat[n++], "core_long_", names[kind], turns->of[kind].long_turns);
		stats_put(&stat[n++], "core_ns_max_", names[kind], turns->of[kind].ns_max);
	}
	assert(n == TURNS_STATS);
}
