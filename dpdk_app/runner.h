/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that run the turns of a core, one at a time.
 *
 * Runner 0, the poller, is the core's own thread. Where weftd may use all CPUs and all NICs are on
 * the built-in switch, a core has a further runner for each of them. While the poller sleeps, a
 * process rings for the runner of its own CPU, which takes the core, runs turns until there is no
 * work, and gives it back: the work of a request runs in the sender's place, as the kernel's
 * softirqs do. To wake a thread on another CPU takes an interrupt between processors, which costs
 * more than the turn (docs/programs.md).
 *
 * The word core->owner decides who runs a turn. All that belongs to the core (APP_PART(of_core))
 * passes from owner to owner with it.
 */
#ifndef WEFT_APP_RUNNER_H
#define WEFT_APP_RUNNER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct app;
struct conf;
struct core;

enum {
	RUNNER_POLLER = 0,
	RUNNER_CPUS = 8, /* on machines with more CPUs a core has its poller alone */
	RUNNER_MAX = 1 + RUNNER_CPUS,

	RUNNER_NONE = 0,
	RUNNER_LOOK = 1u << 31, /* a process rang while the core was taken: look again */
};

struct runner {
	struct core *core;
	uint32_t number;
	int cpu;
	int wake_fd;  /* private eventfd: messages, frames of other cores */
	int timer_fd; /* CLOCK_MONOTONIC */
	int epoll_fd; /* these, doorbells, ports */
	pthread_t thread;
	bool started;
	/* Its own thread's: rings of processes for which it found no work. */
	bool rung;   /* nothing but rings ended its last wait */
	bool worked; /* it has had work since */
	uint64_t vain_since_ns;
	uint64_t vain_ns; /* CPU time that they took since then */
	uint64_t cpu_ns;  /* its CPU time after the last one, if it was the last; else 0 */
	uint64_t rests;   /* times that it ignored them for a while */
};

/*
 * Takes the core for this runner. Returns false if another runner has it; that one looks for work
 * once more before it gives the core back (runner_give()). Any runner.
 */
static inline bool runner_take(_Atomic(uint32_t) *owner, uint32_t number)
{
	uint32_t old = atomic_load_explicit(owner, memory_order_relaxed);

	for (;;) {
		if (old == RUNNER_NONE) {
			if (atomic_compare_exchange_weak_explicit(owner, &old, number + 1,
								  memory_order_acq_rel,
								  memory_order_relaxed))
				return true;
		} else if (atomic_compare_exchange_weak_explicit(owner, &old, old | RUNNER_LOOK,
								 memory_order_acq_rel,
								 memory_order_relaxed)) {
			return false;
		}
	}
}

/*
 * Gives the core back. Returns false, and keeps it, if another runner tried to take it meanwhile:
 * that one's work may be later than this one's last look. The owner.
 */
static inline bool runner_give(_Atomic(uint32_t) *owner, uint32_t number)
{
	uint32_t mine = number + 1;

	if (atomic_compare_exchange_strong_explicit(owner, &mine, RUNNER_NONE, memory_order_acq_rel,
						    memory_order_relaxed))
		return true;
	atomic_exchange_explicit(owner, number + 1, memory_order_acq_rel);
	return false;
}

/*
 * Finds the CPUs that a core has runners for: none where the operator names cores, has a port, or
 * has more CPUs than RUNNER_CPUS. Returns their number.
 */
uint32_t runner_cpus(const struct conf *conf, bool all_cpus, int cpu[RUNNER_CPUS + 1]);

/*
 * Creates the threads of all cores; they wait for runner_start(). Called while weftd still has the
 * right to raise their priority, and returns when each has used it. Control thread. Returns 0 or
 * -errno.
 */
int runner_create(struct app *app) __attribute__((warn_unused_result));

/* Lets the threads of a core sleep until a process rings. Control thread, after idle_init(). */
void runner_start(struct core *core);

/* Ends them, and returns when they have ended. The poller, which owns the core. */
void runner_end(struct core *core);

/* Returns the runner that a thread on this CPU should wake. */
struct runner *runner_near(struct core *core, int cpu);

#endif /* WEFT_APP_RUNNER_H */
