/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wakes a core that sleeps: by its eventfd, after work was put into one of its rings.
 *
 * idle.c lets a core sleep; processes wake it by the eventfd of their doorbell, the kernel by the
 * sockets of a port.
 */
#include <sched.h>
#include <unistd.h>

#include "dpdk_app/app.h"

void core_wake(struct core *core)
{
	const uint64_t one = 1;

	/* Pairs with try_sleep(), which stores the flag and then checks the rings. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&core->sleeping, memory_order_relaxed))
		return;
	/* A saturated counter is readable, which suffices. */
	if (write(runner_near(core, sched_getcpu())->wake_fd, &one, sizeof(one)) < 0)
		return;
}
