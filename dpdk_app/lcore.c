/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poll loop: messages, each shard to completion, interrupts, idle policy. The clock is read
 * once per turn.
 *
 * Calls msg.c, the firmware, the wires, irq.c and idle.c.
 */
#include "dpdk_app/lcore.h"

#include <rte_debug.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/idle.h"
#include "dpdk_app/sleep.h"
#include "dpdk_app/log.h"
#include "dpdk_app/client/msg.h"
#include "dpdk_app/port.h"
#include "dpdk_app/sandbox.h"
#include "dpdk_app/tsan.h"
#include "dpdk_app/wire/wire.h"
#include "lib/clock.h"

enum {
	LCORE_LINK_CHECK_NS = 10000000,
	LCORE_TAKE_US = 20,
	LCORE_QUIET_TURNS = 4, /* after fw_shutdown(): sends the remaining frames */
};

uint64_t app_clock_ns(void)
{
	return clock_now_ns();
}

/*
 * Records work that was divided into slices to bound the length of a turn, and what decides how
 * long the next ones are.
 */
static void note_work(struct core *core, const struct shard *shard)
{
	static const struct {
		uint32_t did;
		enum turn_kind kind;
	} kinds[] = {
	    {FW_DID_FLUSH, TURN_FLUSH},
	    {FW_DID_LEAVE, TURN_LEAVE},
	    {FW_DID_COMMAND, TURN_LATER},
	};
	uint32_t did = shard->ops->did(shard->fw);

	if (!did)
		return;
	fw_pace_note(&core->pace, did, core->now_ns);
	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (did & kinds[i].did)
			turns_note(&core->turns, kinds[i].kind);
	}
}

static uint32_t shard_turn(struct shard *shard, uint64_t now_ns, uint32_t budget)
{
	bool up = atomic_load_explicit(&shard->nic->link_up, memory_order_acquire);
	uint32_t work = 0, done;

	if (up != shard->link_up) {
		shard->link_up = up;
		port_line(shard);
		shard->ops->link(shard->fw, up);
		work++;
	}
	work += port_tx_flush(shard);
	done = shard->ops->poll(shard->fw, now_ns, budget);
	if (done)
		note_work(shard->core, shard);
	return work + done;
}

static uint32_t check_links(struct core *core)
{
	uint32_t work = 0;

	core->links_checked_ns = core->now_ns;
	for (uint32_t i = 0; i < core->num_wires; i++) {
		struct wire *wire = core->wire[i];

		if (wire->ops->link && wire->ops->link(wire)) {
			struct nic *nic = wire->nic;

			for (uint32_t s = 0; s < nic->num_shards; s++)
				core_wake(nic->shard[s].core);
			work++;
		}
	}
	return work;
}

/* Divides the last turn, which took ns, among the shards that had work in it. */
static void load_turn(struct core *core, uint64_t ns)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		if (core->work[i])
			load_add(&core->shard[i]->load, ns, core->work[i], core->all_work);
	}
}

static void load_report(struct core *core, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - core->load_ns;

	core->load_ns = now_ns;
	for (uint32_t i = 0; i < core->num_shards; i++) {
		struct shard *shard = core->shard[i];

		atomic_store_explicit(&shard->load_permille, load_period(&shard->load, took_ns),
				      memory_order_relaxed);
	}
}

/* Frames, requests and timers of the core's shards; pumped: frames of its ports. */
static uint32_t shard_turns(struct core *core, uint32_t pumped)
{
	uint32_t budget = fw_pace_budget(&core->pace, core->now_ns), all = 0;

	for (uint32_t i = 0; i < core->num_shards; i++) {
		core->work[i] = shard_turn(core->shard[i], core->now_ns, budget);
		/* A port's frames count for the first shard, whatever NIC they belong to. */
		if (!i)
			core->work[0] += pumped;
		all += core->work[i];
	}
	core->all_work = all;
	return all;
}

static uint32_t core_turn(struct core *core)
{
	uint64_t now_ns;
	uint32_t work, pumped = 0;

	turns_ends(&core->turns);
	now_ns = app_clock_ns();
	turns_next(&core->turns, now_ns - core->now_ns);
	if (core->worked) {
		core->stats.busy_ns += now_ns - core->now_ns;
		load_turn(core, now_ns - core->now_ns);
	}
	if (now_ns - core->load_ns >= LOAD_PERIOD_NS)
		load_report(core, now_ns);
	core->now_ns = now_ns;
	work = msg_run(core);
	for (uint32_t i = 0; i < core->num_wires; i++)
		pumped += core->wire[i]->ops->pump(core->wire[i]);
	work += shard_turns(core, pumped);
	if (core->num_wires && core->now_ns - core->links_checked_ns > LCORE_LINK_CHECK_NS)
		work += check_links(core);
	if (core->irqs.count)
		core->shard[0]->stats.irq_submits += irq_flush(&core->irqs);
	if (core->irqs.waiting) {
		core->shard[0]->stats.irq_submits += irq_run_late(&core->irqs, core->now_ns);
		core->shard[0]->stats.irqs_late = core->irqs.num_late;
	}
	core->worked = work != 0;
	core->stats.turns++;
	atomic_store_explicit(&core->rounds, core->stats.turns, memory_order_release);
	return work;
}

static void begin(const struct core *core)
{
	/* Gives a sleeping core the finest timer resolution. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	/* The kernel has accepted the process's filter; this one differs only in its list. */
	if (!core->app->conf.no_seccomp && sandbox_core(core))
		rte_panic("core %d: its system calls cannot be filtered\n", core->cpu);
}

void lcore_runner(struct runner *runner)
{
	struct core *core = runner->core;

	begin(core);
	while (sleep_wait(core, runner)) {
		while (idle_runner(core, runner, core_turn(core)))
			;
	}
}

int lcore_main(void *arg)
{
	struct core *core = arg;

	TSAN_ACQUIRE(core);
	begin(core);
	while (!runner_take(&core->owner, RUNNER_POLLER))
		usleep(LCORE_TAKE_US);
	while (!core->quit)
		idle_turn(core, core_turn(core));
	/* The poller has the core: the last sleep ended with it. */
	runner_end(core);
	for (int i = 0; i < LCORE_QUIET_TURNS; i++)
		core_turn(core);
	TSAN_RELEASE(core);
	return 0;
}

void lcore_quiesce(struct app *app)
{
	for (uint32_t i = 0; i < app->num_cores; i++) {
		struct core *core = app->core[i];
		uint64_t seen = atomic_load_explicit(&core->rounds, memory_order_acquire);

		/* A sleeping core holds no references between two turns. */
		while (!atomic_load(&core->sleeping) &&
		       atomic_load_explicit(&core->rounds, memory_order_acquire) == seen &&
		       !core->quit)
			usleep(50);
	}
}
