/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker thread of a process and its single slot.
 *
 * 	IDLE -> ASKED	core: requests a copy and wakes the worker
 * 	ASKED -> IDLE	worker: the copy succeeded or failed; the core takes the result, unless it
 * gave up
 *
 * The worker runs on the core's own CPU with a real-time priority. When woken it runs at once,
 * copies, and sleeps. A copy of present pages thus costs two context switches in addition to the
 * system call, and no other CPU. A worker that must wait for a page releases the CPU. If weftd may
 * not use real-time threads, the worker is an ordinary thread on any CPU and gets more time.
 *
 * An atomic is one copy: the worker reads, computes and writes. If the core gave up, its result is
 * kept outside the slot until the core takes it.
 *
 * A core waits HOSTCOPY_FREE_NS for each copy. Longer waits are charged to the process's account,
 * which is refilled at 1/HOSTCOPY_SHARE of the elapsed time, up to HOSTCOPY_BURST_NS. A process
 * with slow pages can therefore stall the core for at most a hundredth of the time.
 *
 * Calls the kernel. futex(2), sched(7), proc_pid_mem(5).
 */
#include "dpdk_app/client/hostcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock.h"
#include "nic_fw/fw_port.h"

enum {
	HOSTCOPY_BYTES = 16384,
	HOSTCOPY_FREE_NS = 20000,
	HOSTCOPY_FREE_ORDINARY_NS =
	    200000, /* an ordinary thread must wait for its turn on the CPU */
	HOSTCOPY_MOST_NS = 1000000,
	HOSTCOPY_BURST_NS = 2000000,
	HOSTCOPY_SHARE = 100,
	HOSTCOPY_STACK_BYTES = 256 << 10,
};

enum hostcopy_state {
	HOSTCOPY_IDLE,
	HOSTCOPY_ASKED,
};

enum hostcopy_kind {
	HOSTCOPY_READ,
	HOSTCOPY_WRITE,
	HOSTCOPY_ATOMIC,
};

struct hostcopy {
	_Atomic(uint32_t) state; /* enum hostcopy_state; both sides sleep on it */
	_Atomic(bool) core_sleeps;
	_Atomic(bool) ending;
	_Atomic(bool) over;              /* set last by the worker */
	_Atomic(bool) notify;            /* the control thread waits for the end of a copy */
	_Atomic(uint64_t) num_requested; /* core */
	_Atomic(uint64_t) num_done;      /* worker */
	int mem_fd;
	int control_fd;
	uint64_t free_ns;

	/* The copy: owned by the core while IDLE, by the worker while ASKED. */
	enum hostcopy_kind kind;
	uint64_t addr;
	uint32_t bytes;
	int result;
	struct fw_atomic atomic;
	uint64_t original;
	uint8_t buffer[HOSTCOPY_BYTES];

	/* core: */
	int64_t account_ns;
	uint64_t filled_ns;
	/* An atomic that the core gave up and whose result it has not taken. */
	struct late {
		bool open;
		bool over; /* the result was moved here */
		int result;
		uint64_t original;
	} late;
};

/* Sleeps while the state equals seen, until woken or timed out (NULL: no limit). */
static void state_wait(struct hostcopy *copy, uint32_t seen, const struct timespec *timeout)
{
	syscall(SYS_futex, (uint32_t *)&copy->state, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0);
}

static void state_wake(struct hostcopy *copy)
{
	syscall(SYS_futex, (uint32_t *)&copy->state, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
}

/* ---- the worker */

/* Returns 0 or -EFAULT. */
static int copy_all(const struct hostcopy *copy, bool out, void *data, uint32_t bytes)
{
	uint8_t *buffer = data;
	uint32_t done = 0;

	while (done < bytes) {
		off_t at = (off_t)(copy->addr + done);
		ssize_t n = out ? pwrite(copy->mem_fd, buffer + done, bytes - done, at)
				: pread(copy->mem_fd, buffer + done, bytes - done, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EFAULT;
		done += (uint32_t)n;
	}
	return 0;
}

/* Aligned, it lies in one page: a write that fails has written nothing. */
static int carry_out(struct hostcopy *copy)
{
	uint64_t value;
	int err;

	copy->original = 0;
	err = copy_all(copy, false, &copy->original, copy->bytes);
	if (err)
		return err;
	/* A comparison that fails writes nothing: the page may be for reading only. */
	if (!fw_atomic_result(&copy->atomic, copy->original, &value))
		return 0;
	return copy_all(copy, true, &value, copy->bytes);
}

static void work(struct hostcopy *copy)
{
	const uint64_t one = 1;

	copy->result = copy->kind == HOSTCOPY_ATOMIC ? carry_out(copy)
						     : copy_all(copy, copy->kind == HOSTCOPY_WRITE,
								copy->buffer, copy->bytes);
	atomic_fetch_add(&copy->num_done, 1);
	/* Sequentially consistent, here and in await(): one of the two sees the other's store. */
	atomic_store(&copy->state, HOSTCOPY_IDLE);
	if (atomic_load(&copy->core_sleeps))
		state_wake(copy);
	if (atomic_exchange(&copy->notify, false) && write(copy->control_fd, &one, sizeof(one)) < 0)
		return; /* saturated, so it is readable */
}

/*
 * Ends after the current copy: later requests are ignored, and the thread that ended the worker
 * holds no reference.
 */
static void *worker_main(void *arg)
{
	struct hostcopy *copy = arg;
	const int control_fd = copy->control_fd;
	const uint64_t one = 1;

	while (!atomic_load(&copy->ending)) {
		uint32_t state = atomic_load(&copy->state);

		if (state == HOSTCOPY_ASKED)
			work(copy);
		else
			state_wait(copy, state, NULL);
	}
	close(copy->mem_fd);
	/* The control thread may free it at once. */
	atomic_store(&copy->over, true);
	if (write(control_fd, &one, sizeof(one)) < 0)
		return NULL; /* saturated, so it is readable */
	return NULL;
}

/* ---- creation of workers */

/*
 * A thread that is started while weftd may use real-time priorities. It creates the workers after
 * the right was dropped, because new threads inherit its priority.
 */
static struct maker {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool there;
	struct hostcopy *order; /* worker to create; NULL: none */
	int cpu;
	int err; /* result of the last creation */
} maker = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

/* cpu -1: any. Returns 0 or a negative errno. */
static int start_thread(struct hostcopy *copy, int cpu)
{
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	CPU_ZERO(&set);
	if (cpu >= 0)
		CPU_SET((unsigned)cpu, &set);
	err = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (!err)
		err = pthread_attr_setstacksize(&attr, HOSTCOPY_STACK_BYTES);
	if (!err && cpu >= 0)
		err = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!err)
		err = pthread_create(&thread, &attr, worker_main, copy);
	pthread_attr_destroy(&attr);
	return -err;
}

static void *maker_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&maker.lock);
	for (;;) {
		while (!maker.order)
			pthread_cond_wait(&maker.cond, &maker.lock);
		maker.err = start_thread(maker.order, maker.cpu);
		maker.order = NULL;
		pthread_cond_broadcast(&maker.cond);
	}
	return NULL;
}

void hostcopy_allow(void)
{
	const struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_RR) + 1};
	pthread_attr_t attr;
	pthread_t thread;

	if (maker.there || pthread_attr_init(&attr))
		return;
	maker.there = !pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) &&
		      !pthread_attr_setstacksize(&attr, HOSTCOPY_STACK_BYTES) &&
		      !pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) &&
		      !pthread_attr_setschedpolicy(&attr, SCHED_RR) &&
		      !pthread_attr_setschedparam(&attr, &param) &&
		      !pthread_create(&thread, &attr, maker_main, NULL);
	pthread_attr_destroy(&attr);
}

/* Starts a real-time thread on the core's CPU. -EPERM: not allowed. */
static int start_at_once(struct hostcopy *copy, int cpu)
{
	int err;

	if (!maker.there)
		return -EPERM;
	pthread_mutex_lock(&maker.lock);
	maker.order = copy;
	maker.cpu = cpu;
	pthread_cond_broadcast(&maker.cond);
	while (maker.order)
		pthread_cond_wait(&maker.cond, &maker.lock);
	err = maker.err;
	pthread_mutex_unlock(&maker.lock);
	return err;
}

int hostcopy_start(struct hostcopy **made, int mem_fd, int cpu, int control_fd)
{
	struct hostcopy *copy = calloc(1, sizeof(*copy));
	int err;

	if (!copy)
		return -ENOMEM;
	copy->mem_fd = fcntl(mem_fd, F_DUPFD_CLOEXEC, 3);
	if (copy->mem_fd < 0) {
		err = -errno;
		free(copy);
		return err;
	}
	copy->control_fd = control_fd;
	copy->free_ns = HOSTCOPY_FREE_NS;
	copy->account_ns = HOSTCOPY_BURST_NS;
	copy->filled_ns = clock_now_ns();
	err = start_at_once(copy, cpu);
	if (err) {
		copy->free_ns = HOSTCOPY_FREE_ORDINARY_NS;
		err = start_thread(copy, -1);
	}
	if (err) {
		close(copy->mem_fd);
		free(copy);
		return err;
	}
	*made = copy;
	return 0;
}

void hostcopy_end(struct hostcopy *copy)
{
	atomic_store(&copy->ending, true);
	state_wake(copy);
}

bool hostcopy_over(const struct hostcopy *copy)
{
	return atomic_load(&copy->over);
}

void hostcopy_free(struct hostcopy *copy)
{
	free(copy);
}

uint64_t hostcopy_bytes(void)
{
	return sizeof(struct hostcopy) + HOSTCOPY_STACK_BYTES;
}

uint64_t hostcopy_mark(const struct hostcopy *copy)
{
	return atomic_load(&copy->num_requested);
}

bool hostcopy_passed(struct hostcopy *copy, uint64_t mark)
{
	if (atomic_load(&copy->num_done) >= mark)
		return true;
	atomic_store(&copy->notify, true);
	/* The copy may have finished just before. */
	return atomic_load(&copy->num_done) >= mark;
}

/* ---- the core */

/* Returns how long the core may wait now. */
static uint64_t patience_ns(struct hostcopy *copy, uint64_t now_ns)
{
	copy->account_ns += (int64_t)((now_ns - copy->filled_ns) / HOSTCOPY_SHARE);
	if (copy->account_ns > HOSTCOPY_BURST_NS)
		copy->account_ns = HOSTCOPY_BURST_NS;
	copy->filled_ns = now_ns;
	if (copy->account_ns <= 0)
		return copy->free_ns;
	if (copy->account_ns > HOSTCOPY_MOST_NS)
		return copy->free_ns + HOSTCOPY_MOST_NS;
	return copy->free_ns + (uint64_t)copy->account_ns;
}

/* The copy was not finished when the worker had been woken. Returns true if it finishes in time. */
static bool await(struct hostcopy *copy)
{
	uint64_t begun_ns = clock_now_ns(), now_ns = begun_ns;
	uint64_t patience = patience_ns(copy, begun_ns);
	bool done = false;

	atomic_store(&copy->core_sleeps, true);
	while (!(done = atomic_load(&copy->state) == HOSTCOPY_IDLE) &&
	       now_ns - begun_ns < patience) {
		const struct timespec left = {.tv_nsec = (long)(begun_ns + patience - now_ns)};

		state_wait(copy, HOSTCOPY_ASKED, &left);
		now_ns = clock_now_ns();
	}
	atomic_store(&copy->core_sleeps, false);
	if (now_ns - begun_ns > copy->free_ns)
		copy->account_ns -= (int64_t)(now_ns - begun_ns - copy->free_ns);
	return done;
}

/* Moves the result of an abandoned atomic out of the slot. Returns false if there is none yet. */
static bool settle(struct hostcopy *copy)
{
	if (atomic_load_explicit(&copy->state, memory_order_acquire) == HOSTCOPY_ASKED)
		return false;
	if (copy->late.open && !copy->late.over) {
		copy->late.over = true;
		copy->late.result = copy->result;
		copy->late.original = copy->original;
	}
	return true;
}

/* Claims the slot. Returns false while an abandoned copy is in progress. */
static bool take_slot(struct hostcopy *copy, struct hostcopy_stats *stats)
{
	if (settle(copy))
		return true;
	stats->refused++;
	return false;
}

/* Performs the copy described in the slot. Returns 0, -EFAULT or -EBUSY. */
static int make(struct hostcopy *copy, struct hostcopy_stats *stats)
{
	stats->copies++;
	atomic_fetch_add(&copy->num_requested, 1);
	atomic_store(&copy->state, HOSTCOPY_ASKED);
	state_wake(copy);
	if (atomic_load(&copy->state) != HOSTCOPY_IDLE) {
		stats->waits++;
		if (!await(copy)) {
			stats->given_up++;
			return -EBUSY;
		}
	}
	return copy->result;
}

int hostcopy_read(struct hostcopy *copy, void *dst, uint64_t addr, uint32_t bytes,
		  struct hostcopy_stats *stats)
{
	uint8_t *to = dst;
	int err = 0;

	while (!err && bytes) {
		uint32_t n = bytes < HOSTCOPY_BYTES ? bytes : HOSTCOPY_BYTES;

		if (!take_slot(copy, stats))
			return -EBUSY;
		copy->kind = HOSTCOPY_READ;
		copy->addr = addr;
		copy->bytes = n;
		err = make(copy, stats);
		if (!err)
			memcpy(to, copy->buffer, n);
		to += n;
		addr += n;
		bytes -= n;
	}
	return err;
}

int hostcopy_write(struct hostcopy *copy, uint64_t addr, const void *src, uint32_t bytes,
		   struct hostcopy_stats *stats)
{
	const uint8_t *from = src;
	int err = 0;

	while (!err && bytes) {
		uint32_t n = bytes < HOSTCOPY_BYTES ? bytes : HOSTCOPY_BYTES;

		if (!take_slot(copy, stats))
			return -EBUSY;
		copy->kind = HOSTCOPY_WRITE;
		copy->addr = addr;
		copy->bytes = n;
		memcpy(copy->buffer, from, n);
		err = make(copy, stats);
		from += n;
		addr += n;
		bytes -= n;
	}
	return err;
}

int hostcopy_atomic(struct hostcopy *copy, uint64_t addr, const struct fw_atomic *op,
		    uint64_t *original, struct hostcopy_stats *stats)
{
	int err;

	if (!take_slot(copy, stats) || copy->late.open)
		return -EBUSY;
	copy->kind = HOSTCOPY_ATOMIC;
	copy->addr = addr;
	copy->bytes = hw_atomic_bytes(op->type);
	copy->atomic = *op;
	err = make(copy, stats);
	if (err == -EBUSY) {
		copy->late = (struct late){.open = true};
		return -EINPROGRESS;
	}
	*original = copy->original;
	return err;
}

int hostcopy_atomic_over(struct hostcopy *copy, uint64_t *original)
{
	if (!copy->late.open)
		return -EFAULT;
	if (!copy->late.over && !settle(copy))
		return -EBUSY;
	copy->late.open = false;
	*original = copy->late.original;
	return copy->late.result;
}

uint64_t hostcopy_late(const struct hostcopy *copy, uint64_t since)
{
	if (since)
		return atomic_load(&copy->num_done) < since ? since : 0;
	if (copy->kind == HOSTCOPY_READ || atomic_load(&copy->state) == HOSTCOPY_IDLE)
		return 0;
	return atomic_load(&copy->num_requested);
}
