/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parks the cores by a message to each; see park.h.
 *
 * A parked core yields its CPU: the control thread may need it. Calls msg.c.
 */
#include "dpdk_app/client/park.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "dpdk_app/client/msg.h"

enum {
	PARK_LOOK_US = 20,
	PARK_RETRY_US = 100, /* a core's ring is full: it drains while the core runs */
};

struct park {
	_Atomic(uint32_t) parked;
	_Atomic(bool) over;
};

/* On a core, between two turns. */
static void wait_here(struct shard *shard, void *arg)
{
	struct park *park = arg;

	(void)shard;
	atomic_fetch_add_explicit(&park->parked, 1, memory_order_release);
	while (!atomic_load_explicit(&park->over, memory_order_acquire))
		usleep(PARK_LOOK_US); /* sched_yield() would not release the CPU of a runner */
}

void park_run(struct app *app, void (*change)(void *arg), void *arg)
{
	static struct msg msg[CONF_MAX_CORES];
	struct park park = {0};

	for (uint32_t i = 0; i < app->num_cores; i++) {
		memset(&msg[i], 0, sizeof(msg[i]));
		msg[i].kind = MSG_CALL;
		msg[i].core = app->core[i];
		msg[i].call = wait_here;
		msg[i].arg = &park;
		while (msg_send(&msg[i]))
			usleep(PARK_RETRY_US);
	}
	while (atomic_load_explicit(&park.parked, memory_order_acquire) < app->num_cores)
		usleep(PARK_LOOK_US);
	change(arg);
	atomic_store_explicit(&park.over, true, memory_order_release);
	for (uint32_t i = 0; i < app->num_cores; i++) {
		while (!atomic_load_explicit(&msg[i].called, memory_order_acquire))
			usleep(PARK_LOOK_US);
		atomic_fetch_sub(&app->awaited, 1);
	}
}
