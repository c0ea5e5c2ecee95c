/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle policy. A dedicated core polls, with the waits of power.c. A shared core yields after every
 * turn without work. Unless the operator has set it, sharing is detected from this thread's
 * involuntary context switches, and by a yield now and then. If the other threads poll, a yield
 * returns soon. If they compute, it lasts for their time slice, milliseconds, while frames and
 * doorbells wait. The core then sleeps at once instead: the next doorbell wakes a runner, like an
 * interrupt (runner.h). After a period without work it sleeps, too.
 *
 * A runner has a share of its CPU at high priority, like softirqs; what needs more goes on in the
 * poller, which competes as any thread does.
 *
 * Calls power.c and sleep.c.
 */
#include "dpdk_app/idle.h"

#include <sched.h>
#include <sys/resource.h>

#include "dpdk_app/power.h"
#include "dpdk_app/sleep.h"

enum {
	IDLE_NS = 10000000,          /* spinning time of a dedicated core before it sleeps */
	IDLE_SHARED_NS = 1000000,    /* yielding time of a shared core before it sleeps */
	IDLE_NEAR_NS = 20000,        /* for a timer nearer than this the poller stays awake */
	IDLE_RUNNER_NEAR_NS = 10001, /* work that waits for room makes timers of 10 us */
	IDLE_SHARE_CHECK_NS = 5000000,
	IDLE_SHARE_HOLD_NS = 20000000, /* a core stays marked as shared for this time */
	/*
	 * A core that polls alone looks for threads that wait for its CPU: after a 64th of the time
	 * since it met the last one, within these bounds. The greater one is a tick of the kernel.
	 */
	IDLE_LOOK_PART = 64,
	IDLE_LOOK_MIN_NS = 50000,
	IDLE_LOOK_MAX_NS = 4000000,
	/* Sleeping and waking costs less than a yield of this length. */
	IDLE_YIELD_LONG_NS = 200000,
	/*
	 * A message to a core that sleeps costs this more than one to a core that polls: the
	 * doorbell and two switches of threads.
	 */
	IDLE_WAKE_NS = 5000,
	/*
	 * After a yield that took longer than such wake-ups would have, the core sleeps instead of
	 * yielding, for this many times as long, and until its wake-ups cost so many times as much.
	 */
	IDLE_CROWD_TIMES = 100,
	IDLE_CROWD_WAKES = 8,
	/*
	 * Runners call the poller when they had the core for a quarter of the window, or in a crowd
	 * for three quarters.
	 */
	IDLE_WINDOW_NS = 2000000,
	IDLE_POLL_PART = 4,
	IDLE_CROWD_QUARTERS = 3,
};

/* Detects other threads on this CPU. One system call every few milliseconds. */
static void share_check(struct core *core)
{
	struct rusage usage;
	uint64_t switches;

	core->share_checked_ns = core->now_ns;
	if (getrusage(RUSAGE_THREAD, &usage))
		return;
	switches = (uint64_t)usage.ru_nivcsw;
	if (switches != core->switches_seen) {
		core->share_until_ns = core->now_ns + IDLE_SHARE_HOLD_NS;
		core->met_ns = core->now_ns;
	}
	core->switches_seen = switches;
}

/* Returns true while sleeping is better than yielding. */
static bool crowd(const struct core *core)
{
	return core->now_ns < core->crowd_until_ns && core->stats.sleeps < core->crowd_sleeps;
}

static bool shared(struct core *core)
{
	/*
	 * A sleeping thread has no involuntary switches, so the result of earlier yields stays
	 * valid.
	 */
	bool yes = core->now_ns < core->share_until_ns || crowd(core);

	switch (core->app->conf.share) {
	case CONF_SHARE_YES:
		yes = true;
		break;
	case CONF_SHARE_NO:
		yes = false;
		break;
	case CONF_SHARE_AUTO:
		if (core->now_ns - core->share_checked_ns >= IDLE_SHARE_CHECK_NS)
			share_check(core);
		break;
	}
	/* Another weftd thread shares this CPU, whatever the operator has set. */
	yes = yes || core->crowded;
	core->stats.shared = yes;
	return yes;
}

/* Measures the latency of the first turn with work after a sleep. */
static void count_latency(struct core *core)
{
	struct core_stats *stats = &core->stats;
	uint64_t now_ns = app_clock_ns();

	stats->wake_serve_ns_last = now_ns - core->woke_ns;
	if (stats->wake_serve_ns_last > stats->wake_serve_ns_max)
		stats->wake_serve_ns_max = stats->wake_serve_ns_last;
	if (core->rung_ns) {
		stats->wake_doorbell_ns_last = now_ns - core->rung_ns;
		if (stats->wake_doorbell_ns_last > stats->wake_doorbell_ns_max)
			stats->wake_doorbell_ns_max = stats->wake_doorbell_ns_last;
	}
	core->woke_ns = 0;
}

static void count_work(struct core *core)
{
	core->stats.busy_turns++;
	core->idle_since_ns = 0;
	if (core->woke_ns)
		count_latency(core);
}

/* Yields the CPU and records the duration. */
static void yield_cpu(struct core *core)
{
	uint64_t begin_ns = app_clock_ns(), took_ns, served;

	core->stats.yields++;
	turns_break(&core->turns);
	sched_yield();
	took_ns = app_clock_ns() - begin_ns;
	if (took_ns < IDLE_YIELD_LONG_NS)
		return;
	core->stats.yields_long++;
	served = core->stats.busy_turns - core->yield_turns;
	core->yield_turns = core->stats.busy_turns;
	if (took_ns < served * IDLE_WAKE_NS)
		return;
	core->crowd_until_ns = begin_ns + took_ns + took_ns * IDLE_CROWD_TIMES;
	core->crowd_sleeps = core->stats.sleeps + took_ns / IDLE_WAKE_NS * IDLE_CROWD_WAKES;
}

/* Yields so that a thread that became ready here need not wait for the kernel's next tick. */
static bool idle_look(struct core *core)
{
	uint64_t wait_ns = (core->now_ns - core->met_ns) / IDLE_LOOK_PART;

	if (core->app->conf.share != CONF_SHARE_AUTO)
		return false;
	if (wait_ns < IDLE_LOOK_MIN_NS)
		wait_ns = IDLE_LOOK_MIN_NS;
	if (wait_ns > IDLE_LOOK_MAX_NS)
		wait_ns = IDLE_LOOK_MAX_NS;
	if (core->now_ns - core->looked_ns < wait_ns)
		return false;
	core->looked_ns = core->now_ns;
	yield_cpu(core);
	share_check(core);
	return true;
}

static bool try_sleep(struct core *core)
{
	struct runner *me = &core->runner[RUNNER_POLLER];

	return sleep_give(core, me, IDLE_NEAR_NS) && sleep_wait(core, me);
}

void idle_turn(struct core *core, uint32_t work)
{
	uint64_t patience_ns = core->app->conf.idle_ns;
	bool share;

	if (work) {
		count_work(core);
		return;
	}
	if (!core->idle_since_ns)
		core->idle_since_ns = core->now_ns;
	share = shared(core);
	if (!patience_ns)
		patience_ns = share ? IDLE_SHARED_NS : IDLE_NS;
	if (core->now_ns - core->idle_since_ns >= patience_ns || (share && crowd(core))) {
		if (!try_sleep(core) && share)
			yield_cpu(core);
		return;
	}
	if (share) {
		yield_cpu(core);
		return;
	}
	if (!idle_look(core))
		power_wait(core);
}

/*
 * Returns true if the poller should go on: there is more work than pays to be begun by wake-ups, or
 * more than high priority should carry on a crowded CPU.
 */
static bool calls_poller(struct core *core)
{
	uint64_t limit_ns = IDLE_WINDOW_NS / IDLE_POLL_PART;

	if (crowd(core))
		limit_ns = IDLE_WINDOW_NS / 4 * IDLE_CROWD_QUARTERS;
	if (core->now_ns - core->window_ns >= IDLE_WINDOW_NS) {
		core->window_ns = core->now_ns;
		core->window_busy_ns = 0;
	}
	core->window_busy_ns += core->now_ns - core->run_ns;
	/* Its wake-ups are part of what it takes from the program. */
	core->window_busy_ns += (core->stats.sleeps - core->window_sleeps) * IDLE_WAKE_NS;
	core->window_sleeps = core->stats.sleeps;
	core->run_ns = core->now_ns;
	return core->window_busy_ns > limit_ns;
}

bool idle_runner(struct core *core, struct runner *runner, uint32_t work)
{
	runner->worked |= work != 0;
	if (core->quit || calls_poller(core)) {
		core->window_busy_ns = 0;
		sleep_call_poller(core, runner);
		return false;
	}
	if (work) {
		count_work(core);
		return true;
	}
	if (!core->idle_since_ns)
		core->idle_since_ns = core->now_ns;
	return !sleep_give(core, runner, IDLE_RUNNER_NEAR_NS);
}
