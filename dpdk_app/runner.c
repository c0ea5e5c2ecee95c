/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that run the turns of a core on the CPU of the process that rang: see runner.h.
 *
 * A runner must have its CPU at once when it is woken: the process that woke it computes on, or
 * polls. It gets the least real-time priority, so the kernel lets it run in the place of the waker.
 * idle.c bounds the time that it may so take from others. Without the right it asks for the
 * shortest slice, and takes its turn like any other thread.
 *
 * Calls lcore.c. sched(7), sched_setattr(2).
 */
#include "dpdk_app/runner.h"

#include <assert.h>
#include <errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/app.h"
#include "dpdk_app/eal.h"
#include "dpdk_app/lcore.h"
#include "dpdk_app/log.h"

enum {
	RUNNER_SLICE_NS = 100000, /* the least that the kernel accepts */
	RUNNER_NAME_CHARS = 16,
};

/* Runners wait here until their core's descriptors are there. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint32_t tried; /* threads that have tried to raise their priority */
	bool refused;   /* a thread may not */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

/* struct sched_attr of sched_setattr(2): the kernel's header does not go with libc's. */
struct runner_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns; /* the slice */
	uint64_t deadline_ns;
	uint64_t period_ns;
};
static_assert(sizeof(struct runner_attr) == 48, "SCHED_ATTR_SIZE_VER0");

static int raise_priority(void)
{
	const struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
	const struct runner_attr attr = {
	    .size = sizeof(attr),
	    .policy = SCHED_OTHER,
	    .runtime_ns = RUNNER_SLICE_NS,
	};

	if (!pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		return 0;
	return syscall(SYS_sched_setattr, 0, &attr, 0) ? -errno : -EPERM;
}

static void *runner_main(void *arg)
{
	struct runner *runner = arg;
	char name[RUNNER_NAME_CHARS];
	int err = raise_priority();

	snprintf(name, sizeof(name), "weft-%u.%d", runner->core->number % 1000, runner->cpu % 1000);
	(void)prctl(PR_SET_NAME, name, 0UL, 0UL, 0UL);
	/* Its caches of pools are the core's: only the owner of the core uses them. */
	RTE_PER_LCORE(_lcore_id) = runner->core->lcore;
	pthread_mutex_lock(&gate.lock);
	gate.refused |= err != 0;
	gate.tried++;
	pthread_cond_broadcast(&gate.cond);
	while (!runner->started)
		pthread_cond_wait(&gate.cond, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
	lcore_runner(runner);
	return NULL;
}

static int create(struct core *core, int cpu)
{
	struct runner *runner = &core->runner[core->num_runners];
	pthread_attr_t attr;
	cpu_set_t set;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	runner->cpu = cpu;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	err = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!err)
		err = pthread_create(&runner->thread, &attr, runner_main, runner);
	pthread_attr_destroy(&attr);
	if (!err)
		core->num_runners++;
	return -err;
}

/*
 * An operator who names cores has others in mind for the other CPUs. Frames of a port come to the
 * core's own CPU: with a port the poller works alone.
 */
uint32_t runner_cpus(const struct conf *conf, bool all_cpus, int cpu[RUNNER_CPUS + 1])
{
	uint32_t n = all_cpus && conf->share != CONF_SHARE_NO ? eal_cpus(cpu, RUNNER_CPUS + 1) : 0;

	for (uint32_t i = 0; i < conf->num_nics; i++) {
		if (conf->nic[i].wire != CONF_WIRE_SWITCH)
			return 0;
	}
	return n > RUNNER_CPUS ? 0 : n;
}

/* A thread that first runs after the rights are dropped could not raise its priority. */
static void await(uint32_t threads)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.tried < threads)
		pthread_cond_wait(&gate.cond, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

int runner_create(struct app *app)
{
	int cpu[RUNNER_CPUS + 1];
	uint32_t n = runner_cpus(&app->conf, app->all_cpus, cpu);
	uint32_t created = 0;
	int err = 0;

	for (uint32_t c = 0; !err && c < app->num_cores; c++) {
		for (uint32_t i = 0; !err && i < n; i++) {
			err = create(app->core[c], cpu[i]);
			created += !err;
		}
	}
	await(created);
	return err;
}

void runner_start(struct core *core)
{
	pthread_mutex_lock(&gate.lock);
	core->stats.runners = core->num_runners - 1;
	core->stats.runners_rt = gate.refused ? 0 : core->stats.runners;
	if (gate.refused && core->number == 0 && core->num_runners > 1)
		log_info("weftd may not raise the priority of its threads (CAP_SYS_NICE): requests "
			 "wait for programs that compute on all CPUs");
	for (uint32_t i = 1; i < core->num_runners; i++)
		core->runner[i].started = true;
	pthread_cond_broadcast(&gate.cond);
	pthread_mutex_unlock(&gate.lock);
}

void runner_end(struct core *core)
{
	const uint64_t one = 1;

	for (uint32_t i = 1; i < core->num_runners; i++) {
		/* A saturated counter is readable, which suffices. */
		(void)!write(core->runner[i].wake_fd, &one, sizeof(one));
		pthread_join(core->runner[i].thread, NULL);
	}
}

struct runner *runner_near(struct core *core, int cpu)
{
	for (uint32_t i = 1; i < core->num_runners; i++) {
		if (core->runner[i].cpu == cpu)
			return &core->runner[i];
	}
	return &core->runner[core->num_runners > 1 ? 1 : RUNNER_POLLER];
}
