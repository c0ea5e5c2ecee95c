/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The service manager's watchdog, sd_watchdog_enabled(3). A core without a turn between two checks
 * hangs in the kernel or in a loop. weftd then sends no message, and is restarted. Sleeping cores
 * are woken at each check, so that a core that fails to wake is detected too.
 *
 * Calls notify.c.
 */
#include "dpdk_app/watchdog.h"

#include <stdlib.h>
#include <unistd.h>

#include "dpdk_app/args/args_value.h"
#include "dpdk_app/log.h"
#include "dpdk_app/client/notify.h"

enum {
	WATCHDOG_LOOKS = 3, /* checks per period of the service manager */
};

static void begin_period(struct watchdog *dog, struct app *app, uint64_t now_ns)
{
	dog->next_ns = now_ns + dog->period_ns;
	for (uint32_t i = 0; i < app->num_cores; i++) {
		dog->rounds[i] = atomic_load_explicit(&app->core[i]->rounds, memory_order_acquire);
		core_wake(app->core[i]);
	}
}

void watchdog_init(struct watchdog *dog, struct app *app, uint64_t now_ns)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t value;

	*dog = (struct watchdog){.stuck = -1};
	if (!usec || !value_u64(usec, 1, UINT64_MAX / 1000, &value))
		return;
	dog->period_ns = value * 1000 / WATCHDOG_LOOKS;
	if (pid && (!value_u64(pid, 1, INT32_MAX, &value) || value != (uint64_t)getpid()))
		dog->period_ns = 0;
	begin_period(dog, app, now_ns);
}

int watchdog_wait_ms(const struct watchdog *dog, uint64_t now_ns)
{
	uint64_t ms;

	if (!dog->period_ns)
		return -1;
	if (now_ns >= dog->next_ns)
		return 0;
	ms = (dog->next_ns - now_ns) / 1000000 + 1;
	return ms < 1000000 ? (int)ms : 1000000;
}

bool watchdog_look(struct watchdog *dog, struct app *app, uint64_t now_ns)
{
	int stuck = -1;

	if (!dog->period_ns || now_ns < dog->next_ns)
		return false;
	for (uint32_t i = 0; i < app->num_cores; i++) {
		if (atomic_load_explicit(&app->core[i]->rounds, memory_order_acquire) ==
		    dog->rounds[i])
			stuck = (int)i;
	}
	if (stuck < 0)
		notify_send("WATCHDOG=1");
	else if (stuck != dog->stuck)
		log_error("core %d has made no turn for %llu ms: the watchdog is not notified",
			  app->core[stuck]->cpu, (unsigned long long)(dog->period_ns / 1000000));
	dog->stuck = stuck;
	begin_period(dog, app, now_ns);
	return stuck < 0;
}
