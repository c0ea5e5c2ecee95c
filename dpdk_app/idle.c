/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle policy. A dedicated core spins with rte_pause. A shared core yields after every turn without
 * work. Unless the operator has set it, sharing is detected from this thread's involuntary context
 * switches. If the other threads poll, a yield returns soon. If they compute, it lasts for their
 * time slice, milliseconds, while frames and doorbells wait. The core then sleeps at once instead:
 * the next doorbell wakes it like an interrupt. After a period without work the core publishes that
 * it sleeps, checks the doorbells and rings once more, and waits on the descriptors of doorbells,
 * ports and messages. A card raises interrupts while the core sleeps, if its driver can. A port
 * without a descriptor is polled every millisecond.
 *
 * Descriptors shared with a process (doorbells) are watched edge-triggered and never read: a
 * process could make a read() block, or consume its wake-up.
 *
 * Calls fw_sleep() and epoll.
 */
#include "dpdk_app/idle.h"

#include <errno.h>
#include <rte_pause.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/log.h"
#include "dpdk_app/rings.h"
#include "dpdk_app/wire/faults.h"
#include "dpdk_app/wire/wire.h"
#include "shared_defs/hw_bar.h"

enum {
	IDLE_EVENTS = 32,
	IDLE_SPIN_PAUSES = 1,
	IDLE_NS = 10000000,       /* spinning time of a dedicated core before it sleeps */
	IDLE_SHARED_NS = 1000000, /* yielding time of a shared core before it sleeps */
	IDLE_NAP_NS = 1000000,    /* polling interval of a port that cannot wake the core */
	/* A nap costs about 20 us of CPU time; after a second without work naps become longer. */
	IDLE_LONG_NAP_NS = 3000000,
	IDLE_LONG_NAP_AFTER_NS = 1000000000,
	IDLE_NEAR_NS = 20000, /* for a timer nearer than this the core stays awake */
	IDLE_SHARE_CHECK_NS = 5000000,
	IDLE_SHARE_HOLD_NS = 20000000, /* a core stays marked as shared for this time */
	/* Sleeping and waking costs less than a yield of this length. */
	IDLE_YIELD_LONG_NS = 200000,
	/*
	 * A single long yield may be chance. After a second one within this many times its length,
	 * the core sleeps instead of yielding for this many times as long.
	 */
	IDLE_CROWD_WITHIN = 2,
	IDLE_CROWD_TIMES = 100,
};

/* epoll data of descriptors that belong to no client; no pointer has these values. */
enum {
	IDLE_DATA_WAKE = 1,
	IDLE_DATA_PORT = 2,
};

static int idle_add(const struct core *core, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = {.events = events, .data.u64 = data};

	return epoll_ctl(core->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int idle_init(struct core *core)
{
	core->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	core->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (core->wake_fd < 0 || core->epoll_fd < 0)
		return -errno;
	return idle_add(core, core->wake_fd, EPOLLIN, IDLE_DATA_WAKE);
}

void idle_close(struct core *core)
{
	close(core->epoll_fd);
	close(core->wake_fd);
}

void idle_watch_doorbell(struct core *core, struct client *client)
{
	int err =
	    idle_add(core, client->doorbell_fd, EPOLLIN | EPOLLET, (uint64_t)(uintptr_t)client);

	/* Without it the client is still served whenever the core is awake. */
	if (err)
		log_error("doorbells of %s cannot wake core %d: %s", client->name, core->cpu,
			  strerror(-err));
}

void idle_unwatch_doorbell(struct core *core, struct client *client)
{
	epoll_ctl(core->epoll_fd, EPOLL_CTL_DEL, client->doorbell_fd, NULL);
}

int idle_watch_port(const struct core *core, int fd)
{
	return idle_add(core, fd, EPOLLIN | EPOLLET, IDLE_DATA_PORT);
}

void idle_unwatch_port(const struct core *core, int fd)
{
	epoll_ctl(core->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Detects other threads on this CPU. One system call every few milliseconds. */
static void share_check(struct core *core)
{
	struct rusage usage;
	uint64_t switches;

	core->share_checked_ns = core->now_ns;
	if (getrusage(RUSAGE_THREAD, &usage))
		return;
	switches = (uint64_t)usage.ru_nivcsw;
	if (switches != core->switches_seen)
		core->share_until_ns = core->now_ns + IDLE_SHARE_HOLD_NS;
	core->switches_seen = switches;
}

static bool shared(struct core *core)
{
	/*
	 * A sleeping thread has no involuntary switches, so the result of earlier yields stays
	 * valid.
	 */
	bool yes = core->now_ns < core->share_until_ns || core->now_ns < core->crowd_until_ns;

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
static uint64_t doorbell_time(const struct core *core, const struct client *client)
{
	const struct hw_bar_header *header = client->bar;
	uint64_t rung_ns;

	if (!header)
		return 0;
	rung_ns = __atomic_load_n(&header->wake_ns, __ATOMIC_RELAXED);
	return rung_ns >= core->now_ns && rung_ns <= core->woke_ns ? rung_ns : 0;
}

/*
 * An interface that goes down leaves an error in its sockets (ENETDOWN), which wakes a watching
 * thread until the error is read. link.c learns the link state from the kernel.
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

static void count_wake(struct core *core, const struct epoll_event *ev, int n)
{
	core->woke_ns = app_clock_ns();
	core->rung_ns = 0;
	for (int i = 0; i < n; i++) {
		uint64_t ignored;

		if (ev[i].data.u64 == IDLE_DATA_WAKE) {
			core->stats.wakes_message++;
			/* Private and non-blocking: an empty one is not an error. */
			if (read(core->wake_fd, &ignored, sizeof(ignored)) < 0)
				continue;
		} else if (ev[i].data.u64 == IDLE_DATA_PORT) {
			core->stats.wakes_frame++;
			if (ev[i].events & EPOLLERR)
				clear_errors(core);
		} else {
			core->stats.wakes_doorbell++;
			core->rung_ns = doorbell_time(core, ev[i].data.ptr);
		}
	}
	if (n <= 0) {
		core->stats.wakes_timer++;
		core->woke_ns = 0; /* no request waited for this wake-up */
	}
}

/*
 * A watched socket calls epoll for every received and sent frame, about 0.3 us each, so ports are
 * watched only while the core sleeps. Starting to watch checks them once, so an earlier frame also
 * wakes the core. Returns false if a port cannot be watched.
 */
static bool watch_ports(struct core *core)
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
			    idle_add(core, wire->fd[j], EPOLLIN, IDLE_DATA_PORT))
				all = false;
		}
	}
	return all;
}

static void unwatch_ports(struct core *core)
{
	for (uint32_t i = 0; i < core->num_shards; i++) {
		const struct shard *shard = core->shard[i];
		const struct wire *wire = shard->nic->wire;

		for (uint32_t j = 0; j < wire->num_fds; j++) {
			if (wire->fd_shard[j] == shard->number)
				epoll_ctl(core->epoll_fd, EPOLL_CTL_DEL, wire->fd[j], NULL);
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

static void sleep_now(struct core *core, uint64_t until_ns)
{
	struct epoll_event ev[IDLE_EVENTS];
	struct timespec wait, *timeout = NULL;
	uint64_t ns = UINT64_MAX;
	int n;

	if (until_ns != UINT64_MAX)
		ns = until_ns - core->now_ns;
	if (!watch_ports(core) || naps(core)) {
		uint64_t nap_ns = core->now_ns - core->idle_since_ns < IDLE_LONG_NAP_AFTER_NS
				      ? IDLE_NAP_NS
				      : IDLE_LONG_NAP_NS;

		ns = ns < nap_ns ? ns : nap_ns;
	}
	if (ns != UINT64_MAX) {
		wait.tv_sec = (time_t)(ns / 1000000000);
		wait.tv_nsec = (long)(ns % 1000000000);
		timeout = &wait;
	}
	core->stats.sleeps++;
	turns_break(&core->turns);
	n = epoll_pwait2(core->epoll_fd, ev, IDLE_EVENTS, timeout, NULL);
	unwatch_ports(core);
	disarm_ports(core);
	count_wake(core, ev, n);
}

/*
 * Publishes the sleep, checks that no work arrived, sleeps, and withdraws it. Returns false if it
 * did not sleep.
 */
static bool try_sleep(struct core *core)
{
	uint64_t until_ns = next_timer_ns(core);
	uint32_t published = 0;
	bool may = true, slept = false;

	if (until_ns != UINT64_MAX && until_ns < core->now_ns + IDLE_NEAR_NS)
		return false;
	/* Pairs with core_wake(), which fills a ring and then reads this word. */
	atomic_store_explicit(&core->sleeping, 1, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	while (may && published < core->num_shards) {
		const struct shard *shard = core->shard[published++];

		may = shard->ops->sleep(shard->fw, true);
	}
	if (may && !work_waiting(core) && arm_ports(core)) {
		sleep_now(core, until_ns);
		slept = true;
	}
	for (uint32_t i = 0; i < published; i++)
		(void)core->shard[i]->ops->sleep(core->shard[i]->fw, false);
	atomic_store_explicit(&core->sleeping, 0, memory_order_seq_cst);
	return slept;
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

/* Yields the CPU and records the duration. */
static void yield_cpu(struct core *core)
{
	uint64_t begin_ns = app_clock_ns(), took_ns;

	core->stats.yields++;
	turns_break(&core->turns);
	sched_yield();
	took_ns = app_clock_ns() - begin_ns;
	if (took_ns < IDLE_YIELD_LONG_NS)
		return;
	core->stats.yields_long++;
	if (begin_ns - core->yielded_long_ns < took_ns * IDLE_CROWD_WITHIN)
		core->crowd_until_ns = begin_ns + took_ns + took_ns * IDLE_CROWD_TIMES;
	core->yielded_long_ns = begin_ns + took_ns;
}

void idle_turn(struct core *core, uint32_t work)
{
	uint64_t patience_ns = core->app->conf.idle_ns;
	bool share;

	if (work) {
		core->stats.busy_turns++;
		core->idle_since_ns = 0;
		if (core->woke_ns)
			count_latency(core);
		return;
	}
	if (!core->idle_since_ns)
		core->idle_since_ns = core->now_ns;
	share = shared(core);
	if (!patience_ns)
		patience_ns = share ? IDLE_SHARED_NS : IDLE_NS;
	if (core->now_ns - core->idle_since_ns >= patience_ns ||
	    (share && core->now_ns < core->crowd_until_ns)) {
		if (!try_sleep(core) && share)
			yield_cpu(core);
		return;
	}
	if (share) {
		yield_cpu(core);
		return;
	}
	for (int i = 0; i < IDLE_SPIN_PAUSES; i++)
		rte_pause();
}
