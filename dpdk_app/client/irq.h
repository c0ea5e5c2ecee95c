/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupts: signalling the eventfds that processes wait on.
 *
 * A process shares the file description of its eventfd with weftd: it can make it blocking
 * and fill its counter, and then a write() of weftd would sleep for ever. So the signal goes
 * out as the completion of an empty asynchronous read (io_submit with IOCB_FLAG_RESFD),
 * which adds to the counter inside the kernel, saturates and never blocks; several at once
 * cost one system call.
 *
 * A signal wakes all who wait for the eventfd, of whom a process may make as many as it likes, and
 * the core pays for each. So signals are timed when a batch took long; those of an event queue that
 * are dear again and again are sent one at a time from then on, and all such together take a
 * hundredth of the core's time: they come late.
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
	IRQ_SLOW_NS = 50000,  /* a signal that takes longer is dear */
	IRQ_SLOW_PARTS = 100, /* dear ones take one of so many parts of the core's time */
	IRQ_SLOW_ROW = 4, /* dear ones in a row: no accident, such as a CPU that was taken away */
	IRQ_QUICK_COUNT = 255, /* quick ones after which an event queue is believed again */
};

/* A process that is signalled; its core's alone while it is attached. */
struct irq_owner {
	const int *fd; /* by event queue, -1: none */
	/* By event queue: dear ones in a row; of a slow one, quick ones until it is believed. */
	uint8_t row[HW_MAX_EQ_PER_CLIENT];
	uint64_t slow[HW_MAX_EQ_PER_CLIENT / 64]; /* bit by event queue: it is dear */
	uint64_t owed[HW_MAX_EQ_PER_CLIENT / 64]; /* and: it waits for its turn */
	bool known; /* one was slow: of the others none is an accident */
	uint32_t num_owed;
	struct irq_owner *next; /* in irq_batch.waiting while num_owed */
};

struct irq_batch {
	uint64_t aio; /* aio_context_t */
	int null_fd;
	uint32_t num_unreaped;
	uint32_t count;
	int fd[IRQ_BATCH];
	struct irq_owner *owner[IRQ_BATCH];
	uint32_t eq[IRQ_BATCH];
	uint32_t careful; /* flushes to come in which each signal is timed */
	struct irq_owner *waiting, **waiting_tail;
	uint64_t next_ns; /* when the next dear signal may go out */
	uint64_t num_late;
};

/*
 * 0, or -errno: weftd cannot run. When the kernel has no asynchronous I/O left, or none at all, the
 * log has said it, and how to mend it.
 */
int irq_init(struct irq_batch *batch) __attribute__((warn_unused_result));
void irq_close(struct irq_batch *batch);

/*
 * Notes that fd, which is no process's event queue, is to be signalled; flushes when full. Returns
 * system calls made.
 */
uint32_t irq_add(struct irq_batch *batch, int fd);
/* Likewise of a process's event queue, which has an eventfd; it may have to wait for its turn. */
uint32_t irq_raise(struct irq_batch *batch, struct irq_owner *owner, uint32_t eq);
/* Signals all that were noted. Returns system calls made. */
uint32_t irq_flush(struct irq_batch *batch);
/* Sends signals that had to wait, as far as it is their time. Returns system calls made. */
uint32_t irq_run_late(struct irq_batch *batch, uint64_t now_ns);
/* When irq_run_late() has something to do; UINT64_MAX: nothing waits. */
uint64_t irq_late_ns(const struct irq_batch *batch);
/* The event queue goes. */
void irq_forget(struct irq_batch *batch, struct irq_owner *owner, uint32_t eq);
/* The process goes; nothing of it is noted any more. */
void irq_forget_all(struct irq_batch *batch, struct irq_owner *owner);

#endif /* WEFT_APP_IRQ_H */
