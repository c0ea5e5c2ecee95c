/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupts: signals the eventfds on which processes wait.
 *
 * A process shares the file description of its eventfd with weftd. It can make it blocking and fill
 * its counter; a write() of weftd would then sleep without limit. The signal is therefore sent as
 * the completion of an empty asynchronous read (io_submit with IOCB_FLAG_RESFD). It adds to the
 * counter inside the kernel, saturates and never blocks; several signals cost one system call.
 *
 * A signal wakes all waiters of the eventfd. A process may create any number of them, at the cost
 * of the core. Signals are therefore timed after a slow batch. Event queues whose signals are
 * repeatedly slow are signalled one at a time from then on, with at most a hundredth of the core's
 * time for all of them; their signals arrive late.
 *
 * One batch per core; it is flushed at the end of a turn.
 */
#ifndef WEFT_APP_IRQ_H
#define WEFT_APP_IRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_limits.h"

enum {
	IRQ_BATCH = 32,
	IRQ_SLOW_NS = 50000,  /* a signal that takes longer is slow */
	IRQ_SLOW_PARTS = 100, /* slow signals get this fraction of the core's time */
	/*
	 * Consecutive slow signals that mark a queue; fewer may be accidents, such as preemption.
	 */
	IRQ_SLOW_ROW = 4,
	IRQ_QUICK_COUNT = 255, /* consecutive fast signals that clear the mark */
};

/* A signalled process; accessed only by its core while it is attached. */
struct irq_owner {
	const int *fd; /* by event queue; -1: none */
	/*
	 * By event queue: consecutive slow signals; for a slow queue, fast signals left to clear
	 * the mark.
	 */
	uint8_t row[HW_MAX_EQ_PER_CLIENT];
	uint64_t slow[HW_MAX_EQ_PER_CLIENT / 64]; /* bit per event queue: it is slow */
	uint64_t owed[HW_MAX_EQ_PER_CLIENT / 64]; /* bit per event queue: it waits for its turn */
	bool known; /* one queue is slow: slow signals of its other queues count at once */
	uint32_t num_owed;
	struct irq_owner *next; /* in irq_batch.waiting while num_owed is not 0 */
};

struct irq_batch {
	uint64_t aio; /* aio_context_t */
	int null_fd;
	uint32_t num_unreaped;
	uint32_t count;
	int fd[IRQ_BATCH];
	struct irq_owner *owner[IRQ_BATCH];
	uint32_t eq[IRQ_BATCH];
	uint32_t careful; /* number of further flushes in which each signal is timed */
	struct irq_owner *waiting, **waiting_tail;
	uint64_t next_ns; /* earliest time of the next slow signal */
	uint64_t num_late;
};

/*
 * Returns 0, or -errno: weftd cannot run. If the kernel has no asynchronous I/O left or does not
 * support it, the log reports that and names the remedy.
 */
int irq_init(struct irq_batch *batch) __attribute__((warn_unused_result));
void irq_close(struct irq_batch *batch);

/*
 * Queues a signal for fd, which is not a process's event queue; flushes when full. Returns the
 * number of system calls.
 */
uint32_t irq_add(struct irq_batch *batch, int fd);
/*
 * Queues a signal for a process's event queue that has an eventfd; it may have to wait for its
 * turn. Returns the number of system calls.
 */
uint32_t irq_raise(struct irq_batch *batch, struct irq_owner *owner, uint32_t eq);
/* Sends all queued signals. Returns the number of system calls. */
uint32_t irq_flush(struct irq_batch *batch);
/* Sends delayed signals that are due. Returns the number of system calls. */
uint32_t irq_run_late(struct irq_batch *batch, uint64_t now_ns);
/* Returns the time at which irq_run_late() is due; UINT64_MAX: nothing waits. */
uint64_t irq_late_ns(const struct irq_batch *batch);
/* Drops the pending signals of an event queue that is being destroyed. */
void irq_forget(struct irq_batch *batch, struct irq_owner *owner, uint32_t eq);
/* Drops all records of a process that is ending. */
void irq_forget_all(struct irq_batch *batch, struct irq_owner *owner);

#endif /* WEFT_APP_IRQ_H */
