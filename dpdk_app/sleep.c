/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a core sleeps and wakes: see sleep.h.
 *
 * The owner publishes that the core sleeps, checks doorbells and rings once more, and gives the
 * core back. Doorbells, ports, messages and timers then wake a runner by the descriptors of its
 * epoll set. A card raises interrupts while the core sleeps, if its driver can. A port without a
 * descriptor is polled every millisecond.
 *
 * Descriptors shared with a process (doorbells) are watched edge-triggered and never read: a
 * process could make a read() block, or consume its wake-up.
 *
 * A timer stays armed when the core is woken for another reason, and is armed anew only for an
 * earlier time: to program a timer costs as much as a turn, and most are moved on before they
 * expire.
 *
 * Calls fw_sleep() and epoll.
 */
#include "dpdk_app/sleep.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/log.h"
#include "dpdk_app/rings.h"
#include "dpdk_app/wire/faults.h"
#include "dpdk_app/wire/wire.h"
#include "lib/clock.h"
#include "shared_defs/hw_bar.h"

enum {
	SLEEP_EVENTS = 32,
	SLEEP_SLACK_NS = 50000,
	SLEEP_NAP_NS = 1000000, /* polling interval of a port that cannot wake the core */
	/* A nap costs about 20 us of CPU time; after a second without work naps become longer. */
	SLEEP_LONG_NAP_NS = 3000000,
	SLEEP_LONG_NAP_AFTER_NS = 1000000000,
	/* CPU time that a runner spends on rings without work in a window. */
	SLEEP_VAIN_WINDOW_NS = 2000000,
	SLEEP_VAIN_NS = SLEEP_VAIN_WINDOW_NS / 8,
	SLEEP_VAIN_ONE_NS = 5000,
};

/* Kinds of epoll data; a doorbell's has its shard and client below. */
enum {
	SLEEP_DATA_SHIFT = 32,
	SLEEP_DATA_WAKE = 1,
	SLEEP_DATA_PORT = 2,
	SLEEP_DATA_TIMER = 3,
	SLEEP_DATA_DOORBELL = 4,
	SLEEP_CLIENT_BITS = 16,
};
#define SLEEP_DATA(kind, low) ((uint64_t)(kind) << SLEEP_DATA_SHIFT | (uint64_t)(low))

static int add(const struct runner *runner, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = {.events = events, .data.u64 = data};

	return epoll_ctl(runner->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int init(struct runner *runner)
{
	int err;

	runner->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	runner->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	runner->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (runner->wake_fd < 0 || runner->timer_fd < 0 || runner->epoll_fd < 0)
		return -errno;
	err = add(runner, runner->wake_fd, EPOLLIN, SLEEP_DATA(SLEEP_DATA_WAKE, 0));
	if (!err)
		err = add(runner, runner->timer_fd, EPOLLIN | EPOLLET,
			  SLEEP_DATA(SLEEP_DATA_TIMER, 0));
	return err;
}

int sleep_init(struct core *core)
{
	int err = 0;

	core->alarm_ns = UINT64_MAX;
	for (uint32_t i = 0; !err && i < core->num_runners; i++)
		err = init(&core->runner[i]);
	return err;
}

void sleep_close(struct core *core)
{
	for (uint32_t i = 0; i < core->num_runners; i++) {
		close(core->runner[i].epoll_fd);
		close(core->runner[i].timer_fd);
		close(core->runner[i].wake_fd);
	}
}

/* Returns the runner for what wakes the core itself, and not for a process on some CPU. */
static struct runner *home(const struct core *core)
{
	return runner_near((struct core *)(uintptr_t)core, core->cpu);
}

void sleep_watch_doorbell(struct core *core, struct client *client)
{
	const struct shard *shard = client->shard;
	uint64_t who =
	    (uint64_t)shard->stream << SLEEP_CLIENT_BITS | client->fw_client[shard->number];
	int err = 0;

	for (uint32_t i = 0; !err && i < client->num_doorbells; i++)
		err = add(core_doorbell_runner(core, i), client->doorbell_fd[i], EPOLLIN | EPOLLET,
			  SLEEP_DATA(SLEEP_DATA_DOORBELL, who));
	/* Without it the client is still served whenever the core is awake. */
	if (err)
		log_error("doorbells of %s cannot wake core %d: %s", client->name, core->cpu,
			  strerror(-err));
}

void sleep_unwatch_doorbell(struct core *core, struct client *client)
{
	for (uint32_t i = 0; i < client->num_doorbells; i++)
		epoll_ctl(core_doorbell_runner(core, i)->epoll_fd, EPOLL_CTL_DEL,
			  client->doorbell_fd[i], NULL);
}

int sleep_watch_port(const struct core *core, int fd)
{
	return add(home(core), fd, EPOLLIN | EPOLLET, SLEEP_DATA(SLEEP_DATA_PORT, 0));
}

void sleep_unwatch_port(const struct core *core, int fd)
{
	epoll_ctl(home(core)->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Returns true if a ring of this core is not empty. */
static bool work_waiting(struct core *core)
{
	if (rings_waiting(core->msgs))
		return true;
	for (uint32_t i = 0; i < core->num_shards; i++) {
		struct shard *shard = core->shard[i];

		if (lanes_waiting(&shard->loop) || lanes_waiting(&shard->in) ||
		    shard->num_backlog || shard->num_rest)
			return true;
		if (shard->nic->wire->ops->waiting(shard))
			return true;
	}
	return false;
}

static uint64_t next_timer_ns(struct core *core)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < core->num_shards; i++) {
		struct shard *shard = core->shard[i];
		uint64_t fw = shard->ops->next_timer_ns(shard->fw);
		uint64_t wire = shard->nic->wire->ops->next_ns(shard);
		uint64_t late = faults_next_ns(shard);

		next = fw < next ? fw : next;
		next = late < next ? late : next;
		next = wire < next ? wire : next;
	}
	if (irq_late_ns(&core->irqs) < next)
		next = irq_late_ns(&core->irqs);
	return next;
}

/*
 * Returns the time of the doorbell as stated by the process. It is untrusted and may concern an
 * earlier sleep, so only a time within this sleep is accepted.
 */
static uint64_t doorbell_time(const struct core *core, uint64_t who)
{
	const struct hw_bar_header *header = NULL;
	uint64_t stream = who >> SLEEP_CLIENT_BITS, rung_ns;
	uint32_t number = (uint32_t)who & ((1u << SLEEP_CLIENT_BITS) - 1);

	/* The client may have left since. */
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct shard *shard = core->shard[i];

		if (shard->stream == stream && number < HW_MAX_CLIENTS && shard->client[number])
			header = shard->client[number]->bar;
	}
	if (!header)
		return 0;
	rung_ns = __atomic_load_n(&header->wake_ns, __ATOMIC_RELAXED);
	return rung_ns >= core->now_ns && rung_ns <= core->woke_ns ? rung_ns : 0;
}

/*
 * An interface that goes down leaves an error in its sockets (ENETDOWN), which wakes a watching
 * thread until the error is read. link.c reads the link state from the kernel.
 */
static void clear_errors(const struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct shard *shard = core->shard[i];
		const struct wire *wire = shard->nic->wire;

		for (uint32_t j = 0; j < wire->num_fds; j++) {
			int error;
			socklen_t bytes = sizeof(error);

			if (wire->fd_shard[j] != shard->number)
				continue;
			/*
			 * Fails for a descriptor that is not a socket and therefore has no such
			 * error.
			 */
			(void)getsockopt(wire->fd[j], SOL_SOCKET, SO_ERROR, &error, &bytes);
		}
	}
}

/* The owner, after the sleep that these events ended. */
static void count_wake(struct core *core, const struct epoll_event *ev, int n)
{
	bool timer = n <= 0;

	core->woke_ns = core->run_ns;
	core->rung_ns = 0;
	for (int i = 0; i < n; i++) {
		switch (ev[i].data.u64 >> SLEEP_DATA_SHIFT) {
		case SLEEP_DATA_WAKE:
			core->stats.wakes_message++;
			break;
		case SLEEP_DATA_PORT:
			core->stats.wakes_frame++;
			if (ev[i].events & EPOLLERR)
				clear_errors(core);
			break;
		case SLEEP_DATA_TIMER:
			timer = true;
			break;
		default:
			core->stats.wakes_doorbell++;
			core->rung_ns = doorbell_time(core, (uint32_t)ev[i].data.u64);
		}
	}
	if (timer) {
		core->stats.wakes_timer++;
		core->woke_ns = 0; /* no request waited for this wake-up */
	}
}

/*
 * A watched socket calls epoll for every received and sent frame, about 0.3 us each, so ports are
 * watched only while the core sleeps. Starting to watch checks them once, so an earlier frame also
 * wakes the core. Returns false if a port cannot be watched.
 */
static bool watch_ports(const struct core *core, const struct runner *runner)
{
	bool all = true;

	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct shard *shard = core->shard[i];
		const struct wire *wire = shard->nic->wire;

		/* Sockets of a removed interface would wake a watching thread permanently. */
		if (atomic_load_explicit(&wire->gone, memory_order_acquire))
			continue;
		for (uint32_t j = 0; j < wire->num_fds; j++) {
			if (wire->fd_shard[j] == shard->number &&
			    add(runner, wire->fd[j], EPOLLIN, SLEEP_DATA(SLEEP_DATA_PORT, 0)))
				all = false;
		}
	}
	return all;
}

static void unwatch_ports(const struct core *core, const struct runner *runner)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct shard *shard = core->shard[i];
		const struct wire *wire = shard->nic->wire;

		for (uint32_t j = 0; j < wire->num_fds; j++) {
			if (wire->fd_shard[j] == shard->number)
				epoll_ctl(runner->epoll_fd, EPOLL_CTL_DEL, wire->fd[j], NULL);
		}
	}
}

static void disarm_ports(const struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct wire_ops *ops = core->shard[i]->nic->wire->ops;

		if (ops->disarm)
			ops->disarm(core->shard[i]);
	}
}

/* Lets devices announce frames. Returns false if frames wait already. */
static bool arm_ports(const struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct wire_ops *ops = core->shard[i]->nic->wire->ops;

		if (ops->arm && !ops->arm(core->shard[i])) {
			disarm_ports(core);
			return false;
		}
	}
	return true;
}

/* Returns true if a port cannot wake the core. */
static bool naps(const struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct shard *shard = core->shard[i];
		const struct wire *wire = shard->nic->wire;

		if (wire->naps && (!shard->number || wire->queue_each))
			return true;
	}
	return false;
}

/* Makes sure that the runner is woken at this time, at the latest. The owner. */
static void set_alarm(struct core *core, const struct runner *runner, uint64_t until_ns)
{
	struct itimerspec at = {0};

	if (core->alarm_ns <= core->now_ns)
		core->alarm_ns = UINT64_MAX; /* it has expired */
	if (until_ns >= core->alarm_ns)
		return;
	at.it_value.tv_sec = (time_t)(until_ns / 1000000000);
	at.it_value.tv_nsec = (long)(until_ns % 1000000000);
	if (!timerfd_settime(runner->timer_fd, TFD_TIMER_ABSTIME, &at, NULL))
		core->alarm_ns = until_ns;
}

/* Notifies processes that a core polls, and where. The owner. */
static void notify_awake(const struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++)
		(void)core->shard[i]->ops->sleep(core->shard[i]->fw, false);
}

/* Withdraws the sleep. The owner. */
static void awake(struct core *core)
{
	if (core->armed) {
		unwatch_ports(core, core->watcher);
		disarm_ports(core);
		core->armed = false;
	}
	notify_awake(core);
	atomic_store_explicit(&core->sleeping, 0, memory_order_seq_cst);
	core->asleep = false;
}

/* Publishes the sleep. Returns false if work is there already. */
static bool publish(struct core *core)
{
	bool may = true;

	core->asleep = true;
	/* Pairs with core_wake(), which fills a ring and then reads this word. */
	atomic_store_explicit(&core->sleeping, 1, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; may && i < core->num_shards; i++)
		may = core->shard[i]->ops->sleep(core->shard[i]->fw, true);
	core->armed = may && !work_waiting(core) && arm_ports(core);
	return core->armed;
}

/* Returns true if ACKs waited that leave with the next turn now. */
static bool hurry(struct core *core)
{
	bool any = false;

	for (uint32_t i = 0; i < core->num_shards; i++)
		any |= core->shard[i]->ops->hurry(core->shard[i]->fw);
	return any;
}

bool sleep_give(struct core *core, struct runner *me, uint64_t near_ns)
{
	struct runner *runner = me->number == RUNNER_POLLER ? home(core) : me;
	uint64_t until_ns = next_timer_ns(core);

	if (until_ns != UINT64_MAX && until_ns < core->now_ns + near_ns)
		return false;
	/* A poller has polled for longer than they wait. */
	if (me->number != RUNNER_POLLER && hurry(core))
		return false;
	core->watcher = runner;
	if (!publish(core)) {
		awake(core);
		return false;
	}
	if (!watch_ports(core, runner) || naps(core)) {
		uint64_t nap_ns = core->now_ns - core->idle_since_ns < SLEEP_LONG_NAP_AFTER_NS
				      ? SLEEP_NAP_NS
				      : SLEEP_LONG_NAP_NS;

		if (until_ns > core->now_ns + nap_ns)
			until_ns = core->now_ns + nap_ns;
	}
	set_alarm(core, runner, until_ns);
	core->stats.sleeps++;
	turns_break(&core->turns);
	if (runner_give(&core->owner, me->number))
		return true;
	awake(core);
	return false;
}

static void call_poller(const struct core *core)
{
	const uint64_t one = 1;

	/* A saturated counter is readable, which suffices. */
	(void)!write(core->runner[RUNNER_POLLER].wake_fd, &one, sizeof(one));
}

/* True if only processes rang. */
static bool only_rung(const struct epoll_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		if (ev[i].data.u64 >> SLEEP_DATA_SHIFT != SLEEP_DATA_DOORBELL)
			return false;
	return n > 0;
}

/*
 * A process may ring on any CPU, as often as it can write, and the runner would take that CPU from
 * others with its priority. One that has woken for nothing for so long hears no rings for the rest
 * of the window; the poller works in its place.
 */
static void count_vain(const struct core *core, struct runner *me)
{
	uint64_t now_ns = app_clock_ns(), cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), until_ns;
	struct timespec until;

	if (now_ns - me->vain_since_ns >= SLEEP_VAIN_WINDOW_NS) {
		me->vain_since_ns = now_ns;
		me->vain_ns = 0;
	}
	/* The time that the first of several in a row took is not known. */
	me->vain_ns += me->cpu_ns ? cpu_ns - me->cpu_ns : SLEEP_VAIN_ONE_NS;
	me->cpu_ns = cpu_ns;
	if (me->vain_ns < SLEEP_VAIN_NS)
		return;
	call_poller(core);
	me->rests++;
	until_ns = me->vain_since_ns + SLEEP_VAIN_WINDOW_NS;
	until = (struct timespec){.tv_sec = (time_t)(until_ns / 1000000000),
				  .tv_nsec = (long)(until_ns % 1000000000)};
	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

bool sleep_wait(struct core *core, struct runner *me)
{
	struct epoll_event ev[SLEEP_EVENTS];
	uint64_t ignored;
	int n;

	for (;;) {
		if (me->rung && !me->worked)
			count_vain(core, me);
		else
			me->cpu_ns = 0;
		me->rung = me->worked = false;
		n = epoll_pwait2(me->epoll_fd, ev, SLEEP_EVENTS, NULL, NULL);
		if (me->number != RUNNER_POLLER && core->quit)
			return false;
		for (int i = 0; i < n; i++) {
			/* Private and non-blocking: an empty one is not an error. */
			if (ev[i].data.u64 == SLEEP_DATA(SLEEP_DATA_WAKE, 0))
				(void)!read(me->wake_fd, &ignored, sizeof(ignored));
		}
		me->rung = me->number != RUNNER_POLLER && only_rung(ev, n);
		if (runner_take(&core->owner, me->number))
			break;
	}
	core->run_ns = app_clock_ns();
	if (core->asleep) {
		awake(core);
		count_wake(core, ev, n);
	} else {
		notify_awake(core);
	}
	return true;
}

void sleep_call_poller(struct core *core, struct runner *me)
{
	core->stats.calls++;
	/* Another runner that came meanwhile needs no look of this one: the poller looks. */
	while (!runner_give(&core->owner, me->number))
		;
	call_poller(core);
}
