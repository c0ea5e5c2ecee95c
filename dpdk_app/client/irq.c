/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals eventfds without ever blocking; irq.h explains the reason.
 *
 * No step sleeps. A read of /dev/null completes immediately (the driver returns 0 bytes without a
 * queue, a lock or a page), so io_submit() itself completes it. The completion adds to the
 * eventfd's counter under a spinlock and saturates at the counter's maximum. io_getevents() is
 * called with a minimum of 0 events, so it does not wait. The contexts are created before the cores
 * run: without one, only write() would remain, which a process can make block.
 *
 * Calls the kernel's asynchronous I/O. io_submit(2), eventfd(2).
 */
#include "dpdk_app/client/irq.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/log.h"
#include "lib/clock.h"

enum {
	IRQ_AIO_EVENTS = 256,
	/* Completions are fetched and discarded before the kernel's ring can fill. */
	IRQ_REAP_AT = 128,
	IRQ_CAREFUL = 64, /* timed flushes after a slow batch */
};

static void say_no_aio(int err)
{
	char most[24] = "";
	int fd = open("/proc/sys/fs/aio-max-nr", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, most, sizeof(most) - 1);

	if (fd >= 0)
		close(fd);
	if (err != EAGAIN || n <= 0) {
		log_error(
		    "the kernel provides no asynchronous I/O (%s), which weftd needs to notify "
		    "processes: it must have CONFIG_AIO, and no filter may reject io_setup()",
		    strerror(err));
		return;
	}
	log_error("the kernel's asynchronous I/O, which weftd needs to notify processes, is "
		  "exhausted: run sysctl -w fs.aio-max-nr=%llu",
		  2 * strtoull(most, NULL, 10));
}

int irq_init(struct irq_batch *batch)
{
	aio_context_t context = 0;
	int err;

	memset(batch, 0, sizeof(*batch));
	batch->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (batch->null_fd < 0)
		return -errno;
	if (syscall(SYS_io_setup, IRQ_AIO_EVENTS, &context)) {
		err = errno;
		say_no_aio(err);
		close(batch->null_fd);
		return -err;
	}
	batch->aio = context;
	return 0;
}

void irq_close(struct irq_batch *batch)
{
	syscall(SYS_io_destroy, (aio_context_t)batch->aio);
	close(batch->null_fd);
}

static uint32_t irq_reap(struct irq_batch *batch)
{
	struct io_event events[IRQ_REAP_AT];

	batch->num_unreaped = 0;
	syscall(SYS_io_getevents, (aio_context_t)batch->aio, 0L, (long)IRQ_REAP_AT, events, NULL);
	return 1;
}

/* Signals entries [from, from + n) of the batch. Returns the number of system calls. */
static uint32_t submit(struct irq_batch *batch, uint32_t from, uint32_t n)
{
	struct iocb block[IRQ_BATCH];
	struct iocb *list[IRQ_BATCH];
	char nothing[1];
	uint32_t calls = 0;
	uint32_t done = 0;

	if (batch->num_unreaped + n > IRQ_REAP_AT)
		calls += irq_reap(batch);
	memset(block, 0, n * sizeof(block[0]));
	for (uint32_t i = 0; i < n; i++) {
		block[i].aio_lio_opcode = IOCB_CMD_PREAD;
		block[i].aio_fildes = (uint32_t)batch->null_fd;
		block[i].aio_buf = (uint64_t)(uintptr_t)nothing;
		block[i].aio_nbytes = sizeof(nothing);
		block[i].aio_flags = IOCB_FLAG_RESFD;
		block[i].aio_resfd = (uint32_t)batch->fd[from + i];
		list[i] = &block[i];
	}
	while (done < n) {
		long k = syscall(SYS_io_submit, (aio_context_t)batch->aio, (long)(n - done),
				 list + done);

		calls++;
		if (k > 0) {
			batch->num_unreaped += (uint32_t)k;
			done += (uint32_t)k;
		} else {
			done++; /* the descriptor is closed: its process is ending */
		}
	}
	return calls;
}

static bool bit_of(const uint64_t *bits, uint32_t eq)
{
	return bits[eq / 64] >> eq % 64 & 1;
}

/*
 * Records whether a signal of an event queue was slow. Several slow ones in a row mark the queue as
 * slow, several fast ones in a row clear the mark; a single one may be chance.
 */
static void judge(struct irq_owner *owner, uint32_t eq, bool dear)
{
	bool slow = bit_of(owner->slow, eq);

	if (dear && (slow || ++owner->row[eq] >= (owner->known ? 1 : IRQ_SLOW_ROW))) {
		owner->known = true;
		owner->slow[eq / 64] |= UINT64_C(1) << eq % 64;
		owner->row[eq] = IRQ_QUICK_COUNT;
	} else if (!dear && !slow) {
		owner->row[eq] = 0;
	} else if (!dear && !--owner->row[eq]) {
		owner->slow[eq / 64] &= ~(UINT64_C(1) << eq % 64);
	}
}

/*
 * Sends and times one signal by this thread's CPU time, which excludes preemption. Returns its cost
 * in ns.
 */
static uint64_t submit_timed(struct irq_batch *batch, uint32_t entry, uint32_t *calls)
{
	struct irq_owner *owner = batch->owner[entry];
	uint64_t cost_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);

	*calls += submit(batch, entry, 1);
	cost_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cost_ns;
	if (owner)
		judge(owner, batch->eq[entry], cost_ns > IRQ_SLOW_NS);
	return cost_ns;
}

uint32_t irq_flush(struct irq_batch *batch)
{
	uint32_t calls = 0;
	uint64_t start_ns;

	if (!batch->count)
		return 0;
	if (batch->careful) {
		batch->careful--;
		for (uint32_t i = 0; i < batch->count; i++)
			(void)submit_timed(batch, i, &calls);
	} else {
		start_ns = clock_read_ns(CLOCK_MONOTONIC);
		calls = submit(batch, 0, batch->count);
		if (clock_read_ns(CLOCK_MONOTONIC) - start_ns > IRQ_SLOW_NS)
			batch->careful = IRQ_CAREFUL;
	}
	batch->count = 0;
	return calls;
}

static uint32_t note(struct irq_batch *batch, int fd, struct irq_owner *owner, uint32_t eq)
{
	uint32_t calls = 0;

	/* Two events of one queue within a turn need one signal. */
	for (uint32_t i = 0; i < batch->count; i++) {
		if (batch->fd[i] == fd)
			return 0;
	}
	if (batch->count == IRQ_BATCH)
		calls = irq_flush(batch);
	batch->fd[batch->count] = fd;
	batch->eq[batch->count] = eq;
	batch->owner[batch->count++] = owner;
	return calls;
}

uint32_t irq_add(struct irq_batch *batch, int fd)
{
	return note(batch, fd, NULL, 0);
}

/* ---- processes with slow signals */

static void wait_at_the_end(struct irq_batch *batch, struct irq_owner *owner)
{
	if (!batch->waiting)
		batch->waiting_tail = &batch->waiting;
	owner->next = NULL;
	*batch->waiting_tail = owner;
	batch->waiting_tail = &owner->next;
}

uint32_t irq_raise(struct irq_batch *batch, struct irq_owner *owner, uint32_t eq)
{
	uint64_t bit = UINT64_C(1) << eq % 64;

	if (!bit_of(owner->slow, eq))
		return note(batch, owner->fd[eq], owner, eq);
	if (!(owner->owed[eq / 64] & bit)) {
		owner->owed[eq / 64] |= bit;
		if (!owner->num_owed++)
			wait_at_the_end(batch, owner);
	}
	return 0;
}

/* Removes and returns the first waiting event queue. */
static uint32_t take_owed(struct irq_owner *owner)
{
	uint32_t word = 0, eq;

	while (!owner->owed[word])
		word++;
	eq = word * 64 + (uint32_t)__builtin_ctzll(owner->owed[word]);
	owner->owed[word] &= owner->owed[word] - 1;
	owner->num_owed--;
	return eq;
}

uint32_t irq_run_late(struct irq_batch *batch, uint64_t now_ns)
{
	uint32_t calls = irq_flush(batch);

	for (uint32_t n = 0; n < IRQ_BATCH && batch->waiting && now_ns >= batch->next_ns; n++) {
		struct irq_owner *owner = batch->waiting;
		uint64_t cost_ns;

		batch->waiting = owner->next;
		batch->eq[0] = take_owed(owner);
		batch->fd[0] = owner->fd[batch->eq[0]];
		batch->owner[0] = owner;
		cost_ns = submit_timed(batch, 0, &calls);
		batch->num_late++;
		if (cost_ns > IRQ_SLOW_NS)
			batch->next_ns = now_ns + cost_ns * IRQ_SLOW_PARTS;
		if (owner->num_owed)
			wait_at_the_end(batch, owner);
	}
	return calls;
}

uint64_t irq_late_ns(const struct irq_batch *batch)
{
	return batch->waiting ? batch->next_ns : UINT64_MAX;
}

static void leave(struct irq_batch *batch, struct irq_owner *owner)
{
	struct irq_owner **at = &batch->waiting;

	while (*at && *at != owner)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = owner->next;
	if (!*at)
		batch->waiting_tail = at;
}

void irq_forget(struct irq_batch *batch, struct irq_owner *owner, uint32_t eq)
{
	uint64_t bit = UINT64_C(1) << eq % 64;

	owner->row[eq] = 0;
	owner->slow[eq / 64] &= ~bit;
	if (!(owner->owed[eq / 64] & bit))
		return;
	owner->owed[eq / 64] &= ~bit;
	if (!--owner->num_owed)
		leave(batch, owner);
}

void irq_forget_all(struct irq_batch *batch, struct irq_owner *owner)
{
	if (!owner->num_owed)
		return;
	leave(batch, owner);
	owner->num_owed = 0;
	memset(owner->owed, 0, sizeof(owner->owed));
}
