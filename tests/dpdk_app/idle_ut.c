/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpdk_app/idle.c and sleep.c: when a core without work yields its CPU, sleeps, or stays awake, and
 * when a runner gives it back. The firmware, its wire, sched_yield() and the waits of the processor
 * are the test's.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_power_pause() */

#include "dpdk_app/idle.h"

#include <pthread.h>
#include <rte_cpuflags.h>
#include <rte_power_intrinsics.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dpdk_app/power.h"
#include "dpdk_app/sleep.h"
#include "dpdk_app/wire/wire.h"
#include "tests/ut.h"

#define NEAR_NS  UINT64_C(5000)
#define FAR_NS   UINT64_C(2000000)
#define CROWD_NS UINT64_C(1000000000)
#define TURN_NS  UINT64_C(10000)
#define TICK_NS  UINT64_C(4000000) /* of the kernel */

enum {
	MANY_TURNS = 1000,
	LONG_YIELD_US = 10000,   /* a crowd is then assumed for a second */
	BUSY_TURNS = 1000000000, /* whose wake-ups would take longer than any yield */
	MANY_RINGS = 5000000,
};

static uint64_t timer_ns; /* of the firmware, from the begin of a turn */
static uint64_t num_yields;
static long num_switches; /* that the thread did not want */
static uint32_t yield_us; /* the time that a yield takes, at least */
static uint32_t num_acks; /* of the firmware, which wait */
static uint32_t told;     /* the owner when the firmware was last told that it polls */
static bool published;    /* the firmware was told to publish that it sleeps */
static struct app app;
static struct core core;
static struct shard shard;
static struct nic nic;
static struct wire wire;
static struct rte_ring empty;

static bool can_pause;
static uint32_t num_pauses; /* of the processor */

/* In the place of DPDK's. */
void rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *can)
{
	can->power_pause = can_pause;
}

int rte_power_pause(const uint64_t until)
{
	num_pauses++;
	(void)until;
	return 0;
}

/* In the place of libc's. */
int sched_yield(void)
{
	num_yields++;
	if (yield_us)
		usleep(yield_us);
	return 0;
}

/* In the place of libc's: of this thread alone. */
int getrusage(__rusage_who_t who, struct rusage *usage)
{
	(void)who;
	memset(usage, 0, sizeof(*usage));
	usage->ru_nivcsw = num_switches;
	return 0;
}

static uint64_t next_timer(const struct fw_nic *fw)
{
	(void)fw;
	return core.now_ns + timer_ns;
}

static bool may_sleep(struct fw_nic *fw, bool sleep)
{
	(void)fw;
	published = sleep;
	if (!sleep)
		told = atomic_load(&core.owner);
	return true;
}

static bool hurries(struct fw_nic *fw)
{
	(void)fw;
	return num_acks && num_acks--;
}

static uint64_t no_frame_ns(const struct shard *s)
{
	(void)s;
	return UINT64_MAX;
}

static bool no_frame(const struct shard *s)
{
	(void)s;
	return false;
}

/* A core without work on a CPU that it shares. */
static void begin_with(uint32_t runners, uint64_t ns)
{
	static const struct fw_ops fw_ops = {
	    .next_timer_ns = next_timer, .sleep = may_sleep, .hurry = hurries};
	static const struct wire_ops wire_ops = {.next_ns = no_frame_ns, .waiting = no_frame};

	memset(&core, 0, sizeof(core));
	memset(&shard, 0, sizeof(shard));
	app.conf.share = CONF_SHARE_YES;
	wire.ops = &wire_ops;
	nic.wire = &wire;
	shard.nic = &nic;
	shard.ops = &fw_ops;
	core.app = &app;
	core.msgs = &empty;
	core.num_runners = runners;
	for (uint32_t i = 0; i < runners; i++)
		core.runner[i] = (struct runner){.core = &core, .number = i, .cpu = (int)i - 1};
	core.shard[0] = &shard;
	core.num_shards = 1;
	core.now_ns = app_clock_ns();
	timer_ns = ns;
	num_yields = 0;
	yield_us = 0;
	num_acks = 0;
	published = false;
	CU_ASSERT_EQUAL_FATAL(sleep_init(&core), 0);
}

static void begin(uint64_t ns)
{
	begin_with(1, ns);
	CU_ASSERT_TRUE_FATAL(runner_take(&core.owner, RUNNER_POLLER));
}

static void end(void)
{
	sleep_close(&core);
}

/* The other threads of its CPU compute: a yield lasts for a time slice of theirs. */
static void crowd(void)
{
	core.crowd_until_ns = core.now_ns + CROWD_NS;
	core.crowd_sleeps = core.stats.sleeps + MANY_TURNS;
}

static void yields_to_pollers(void)
{
	begin(FAR_NS);
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 1);
	CU_ASSERT_EQUAL(core.stats.sleeps, 0);
	end();
}

static void sleeps_in_a_crowd(void)
{
	begin(FAR_NS);
	crowd();
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 0);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	end();
}

/* A turn without work after one with work, so that the patience begins anew. */
static void turn(void)
{
	core.now_ns = app_clock_ns();
	idle_turn(&core, 1);
	idle_turn(&core, 0);
}

/* A yield that took a time slice of a thread that computes: the core sleeps from then on. */
static void learns_of_a_crowd(void)
{
	begin(FAR_NS);
	yield_us = LONG_YIELD_US;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(core.stats.yields_long, 1);
	yield_us = 0;
	turn();
	CU_ASSERT_EQUAL(num_yields, 1);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	end();
}

/* One long yield among so many messages costs less than to be woken for each of them. */
static void goes_on_among_many_messages(void)
{
	begin(FAR_NS);
	yield_us = LONG_YIELD_US;
	core.stats.busy_turns = BUSY_TURNS;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(core.stats.yields_long, 1);
	turn();
	CU_ASSERT_EQUAL(num_yields, 2);
	CU_ASSERT_EQUAL(core.stats.sleeps, 0);
	/* Hardly one since: now it sleeps. */
	turn();
	CU_ASSERT_EQUAL(num_yields, 2);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	end();
}

/* When its wake-ups have cost more than the yield, it polls again. */
static void polls_after_many_sleeps(void)
{
	begin(FAR_NS);
	crowd();
	core.stats.sleeps += MANY_TURNS - 1;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 0);
	turn();
	CU_ASSERT_EQUAL(num_yields, 1);
	CU_ASSERT_EQUAL(core.stats.sleeps, MANY_TURNS);
	end();
}

/* After its patience, too, it yields where it cannot sleep. */
static void patience(void)
{
	begin(FAR_NS);
	idle_turn(&core, 0);
	core.now_ns += FAR_NS;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 1);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	timer_ns = NEAR_NS;
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_yields, 2);
	CU_ASSERT_EQUAL(core.stats.sleeps, 1);
	end();
}

/* Turns without work for so long; each is taken for the first one. */
static void idle_for(uint64_t ns)
{
	for (; ns; ns -= TURN_NS) {
		core.now_ns += TURN_NS;
		idle_turn(&core, 1);
		idle_turn(&core, 0);
	}
}

/* Another thread waits for the poller's CPU at most as long as it takes the poller to look. */
static void looks_for_others(void)
{
	begin(FAR_NS);
	app.conf.share = CONF_SHARE_AUTO;
	idle_for(40 * TICK_NS);
	CU_ASSERT(num_yields >= 39 && num_yields <= 41);
	/* The next yield lets one run: it is shared for 20 ms, and looks often for a while. */
	num_switches++;
	idle_for(TICK_NS);
	CU_ASSERT_TRUE(core.stats.shared);
	idle_for(5 * TICK_NS);
	CU_ASSERT_FALSE(core.stats.shared);
	num_yields = 0;
	idle_for(TICK_NS);
	CU_ASSERT(num_yields >= 8);
	idle_for(100 * TICK_NS);
	num_yields = 0;
	idle_for(40 * TICK_NS);
	CU_ASSERT(num_yields >= 39 && num_yields <= 41);
	end();
}

/* A core of its own without work for so long, on a processor that can pause or not. */
static void polls_alone(bool can, uint64_t idle_ns)
{
	begin(FAR_NS);
	app.conf.share = CONF_SHARE_NO;
	can_pause = can;
	num_pauses = 0;
	power_init(&core);
	idle_turn(&core, 0);
	core.now_ns += idle_ns;
	idle_turn(&core, 0);
}

static void pauses_with_little_power(void)
{
	polls_alone(true, POWER_AFTER_NS);
	CU_ASSERT_EQUAL(num_pauses, 1);
	CU_ASSERT_EQUAL(core.stats.power_pauses, 1);
	CU_ASSERT_EQUAL(core.stats.power_monitors, 0);
	CU_ASSERT_EQUAL(core.stats.sleeps, 0);
	idle_turn(&core, 1);
	idle_turn(&core, 0);
	CU_ASSERT_EQUAL(num_pauses, 1);
	end();
	polls_alone(true, POWER_AFTER_NS - 1);
	CU_ASSERT_EQUAL(num_pauses, 0);
	end();
	polls_alone(false, POWER_AFTER_NS);
	CU_ASSERT_EQUAL(num_pauses, 0);
	CU_ASSERT_EQUAL(core.stats.power_pauses, 0);
	end();
}

/* A core with a poller and a runner each for CPU 0 and 1, woken by a process on CPU 1. */
static void woken(uint64_t ns)
{
	const uint64_t one = 1;

	begin_with(3, ns);
	CU_ASSERT_EQUAL_FATAL(write(core.runner[2].wake_fd, &one, sizeof(one)), sizeof(one));
	CU_ASSERT_TRUE_FATAL(sleep_wait(&core, &core.runner[2]));
	CU_ASSERT_EQUAL(atomic_load(&core.owner), 3);
	core.now_ns = core.run_ns;
}

/* Ends a turn with this amount of work, of TURN_NS. */
static bool goes_on(uint32_t work)
{
	core.now_ns += TURN_NS;
	return idle_runner(&core, &core.runner[2], work);
}

static void runner_gives_back(void)
{
	woken(FAR_NS);
	CU_ASSERT_EQUAL(told, 3);
	CU_ASSERT_TRUE(goes_on(1));
	CU_ASSERT_FALSE(published);
	CU_ASSERT_FALSE(goes_on(0));
	CU_ASSERT_TRUE(published);
	CU_ASSERT_EQUAL(atomic_load(&core.owner), RUNNER_NONE);
	CU_ASSERT_EQUAL(atomic_load(&core.sleeping), 1);
	CU_ASSERT_EQUAL(num_yields, 0);
	end();
}

/* ACKs that wait leave in one more turn. */
static void runner_sends_acks(void)
{
	woken(FAR_NS);
	num_acks = 1;
	CU_ASSERT_TRUE(goes_on(0));
	CU_ASSERT_FALSE(published);
	CU_ASSERT_FALSE(goes_on(0));
	end();
}

/* The sleep is withdrawn by the runner that is woken, whichever began it. */
static void runner_withdraws_the_sleep(void)
{
	const uint64_t one = 1;

	woken(FAR_NS);
	CU_ASSERT_FALSE(goes_on(0));
	CU_ASSERT_EQUAL(write(core.runner[1].wake_fd, &one, sizeof(one)), sizeof(one));
	CU_ASSERT_TRUE(sleep_wait(&core, &core.runner[1]));
	CU_ASSERT_FALSE(published);
	CU_ASSERT_EQUAL(atomic_load(&core.sleeping), 0);
	CU_ASSERT_EQUAL(core.stats.wakes_message, 1);
	end();
}

/* A timer that is nearer than a sleep takes. */
static void runner_awaits_a_near_timer(void)
{
	woken(NEAR_NS);
	CU_ASSERT_TRUE(goes_on(0));
	CU_ASSERT_FALSE(published);
	end();
}

/* A farther timer wakes the runner that has armed it, once for later ones, too. */
static void runner_is_woken_by_a_timer(void)
{
	woken(4 * NEAR_NS);
	CU_ASSERT_FALSE(goes_on(0));
	CU_ASSERT_TRUE(core.alarm_ns <= core.now_ns + 4 * NEAR_NS);
	CU_ASSERT_TRUE(sleep_wait(&core, &core.runner[2]));
	core.now_ns = core.run_ns;
	CU_ASSERT_EQUAL(core.stats.wakes_timer, 1);
	timer_ns = CROWD_NS;
	CU_ASSERT_FALSE(goes_on(0));
	CU_ASSERT_TRUE(runner_take(&core.owner, 2));
	core.asleep = false;
	core.armed = false;
	timer_ns = 2 * CROWD_NS;
	CU_ASSERT_FALSE(goes_on(0));
	CU_ASSERT_TRUE(core.alarm_ns < core.now_ns + 2 * CROWD_NS - TURN_NS);
	end();
}

/* Returns the turns with work after which the runner calls the poller. */
static uint32_t turns_of_work(void)
{
	uint32_t n = 1;

	while (n < MANY_TURNS && goes_on(1))
		n++;
	return n;
}

static void poller_goes_on_with_much_work(void)
{
	uint32_t alone, crowded;

	woken(FAR_NS);
	alone = turns_of_work();
	CU_ASSERT_EQUAL(core.stats.calls, 1);
	CU_ASSERT_EQUAL(atomic_load(&core.owner), RUNNER_NONE);
	/* It was not put to sleep: processes need not ring. */
	CU_ASSERT_FALSE(published);
	CU_ASSERT_EQUAL(atomic_load(&core.sleeping), 0);
	CU_ASSERT_TRUE(sleep_wait(&core, &core.runner[RUNNER_POLLER]));
	CU_ASSERT_EQUAL(atomic_load(&core.owner), RUNNER_POLLER + 1);
	/* Processes that wait learn that it polls on another CPU now. */
	CU_ASSERT_EQUAL(told, RUNNER_POLLER + 1);
	end();
	/* In a crowd it would wait for its turn: the runner goes on for longer, but not for good.
	 */
	woken(FAR_NS);
	crowd();
	crowded = turns_of_work();
	CU_ASSERT_TRUE(crowded > alone);
	CU_ASSERT_TRUE(crowded < MANY_TURNS);
	end();
}

/* Little work in much time needs no poller. */
static void runner_suffices_for_little_work(void)
{
	const uint64_t one = 1;

	woken(FAR_NS);
	for (uint32_t i = 0; i < MANY_TURNS; i++) {
		CU_ASSERT_TRUE_FATAL(goes_on(1));
		CU_ASSERT_FALSE_FATAL(goes_on(0));
		CU_ASSERT_EQUAL(write(core.runner[2].wake_fd, &one, sizeof(one)), sizeof(one));
		CU_ASSERT_TRUE_FATAL(sleep_wait(&core, &core.runner[2]));
		core.now_ns += 10 * TURN_NS;
		core.run_ns = core.now_ns;
	}
	CU_ASSERT_EQUAL(core.stats.calls, 0);
	end();
}

static void *waits(void *arg)
{
	CU_ASSERT_TRUE(sleep_wait(&core, arg));
	return NULL;
}

/*
 * Rings on a CPU while another runner has the core, as often as a process can write: the runner of
 * that CPU hears them no more for a while, and calls the poller. Later ones reach it again.
 */
static void vain_rings_leave_the_cpu_to_others(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = UINT64_C(4) << 32};
	struct runner *runner = &core.runner[2];
	int ring = eventfd(0, EFD_NONBLOCK);
	const uint64_t one = 1;
	pthread_t thread;
	uint64_t called;

	begin_with(3, FAR_NS);
	CU_ASSERT_TRUE(runner_take(&core.owner, 1));
	CU_ASSERT_EQUAL_FATAL(epoll_ctl(runner->epoll_fd, EPOLL_CTL_ADD, ring, &ev), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, waits, runner), 0);
	for (uint32_t i = 0;
	     i < MANY_RINGS && __atomic_load_n(&runner->rests, __ATOMIC_RELAXED) < 3; i++) {
		CU_ASSERT_EQUAL(write(ring, &one, sizeof(one)), sizeof(one));
		if (i % 64 == 63)
			usleep(1);
	}
	CU_ASSERT_TRUE(__atomic_load_n(&runner->rests, __ATOMIC_RELAXED) >= 3);
	CU_ASSERT_EQUAL(read(core.runner[RUNNER_POLLER].wake_fd, &called, sizeof(called)),
			sizeof(called));
	CU_ASSERT_TRUE(called >= 3);
	while (!runner_give(&core.owner, 1))
		;
	CU_ASSERT_EQUAL(write(ring, &one, sizeof(one)), sizeof(one));
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(atomic_load(&core.owner), 3);
	close(ring);
	end();
}

/* Many short stretches of work: to be woken for each costs more than to poll. */
static void poller_goes_on_with_many_wakes(void)
{
	const uint64_t one = 1;

	woken(FAR_NS);
	for (uint32_t i = 0; i < MANY_TURNS && !core.stats.calls; i++) {
		bool on = idle_runner(&core, &core.runner[2], 1) &&
			  idle_runner(&core, &core.runner[2], 0);

		CU_ASSERT_FALSE_FATAL(on);
		if (core.stats.calls)
			break;
		CU_ASSERT_EQUAL(write(core.runner[2].wake_fd, &one, sizeof(one)), sizeof(one));
		CU_ASSERT_TRUE_FATAL(sleep_wait(&core, &core.runner[2]));
		/* The work takes no time. */
		core.run_ns = core.now_ns;
	}
	CU_ASSERT_EQUAL(core.stats.calls, 1);
	end();
}

static void ends(void)
{
	woken(FAR_NS);
	core.quit = true;
	CU_ASSERT_FALSE(goes_on(1));
	CU_ASSERT_TRUE(sleep_wait(&core, &core.runner[RUNNER_POLLER]));
	CU_ASSERT_EQUAL(write(core.runner[1].wake_fd, &(uint64_t){1}, 8), 8);
	CU_ASSERT_FALSE(sleep_wait(&core, &core.runner[1]));
	end();
}

UT_MAIN("dpdk_app/idle", UT(yields_to_pollers), UT(looks_for_others), UT(sleeps_in_a_crowd),
	UT(learns_of_a_crowd), UT(goes_on_among_many_messages), UT(polls_after_many_sleeps),
	UT(patience), UT(pauses_with_little_power), UT(runner_gives_back), UT(runner_sends_acks),
	UT(runner_withdraws_the_sleep), UT(runner_awaits_a_near_timer),
	UT(runner_is_woken_by_a_timer), UT(poller_goes_on_with_much_work),
	UT(runner_suffices_for_little_work), UT(poller_goes_on_with_many_wakes),
	UT(vain_rings_leave_the_cpu_to_others), UT(ends))
