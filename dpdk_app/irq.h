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
 * One batch per core; it is flushed at the end of a turn.
 */
#ifndef WEFT_APP_IRQ_H
#define WEFT_APP_IRQ_H

#include <stdint.h>

enum {
	IRQ_BATCH = 32,
};

struct irq_batch {
	uint64_t aio; /* aio_context_t */
	int null_fd;
	uint32_t num_unreaped;
	uint32_t count;
	int fd[IRQ_BATCH];
};

/*
 * 0, or -errno: weftd cannot run. When the kernel has no asynchronous I/O left, or none at all, the
 * log has said it, and how to mend it.
 */
int irq_init(struct irq_batch *batch) __attribute__((warn_unused_result));
void irq_close(struct irq_batch *batch);

/* Notes that fd is to be signalled; flushes when full. Returns system calls made. */
uint32_t irq_add(struct irq_batch *batch, int fd);
/* Signals all that were noted. Returns system calls made. */
uint32_t irq_flush(struct irq_batch *batch);

#endif /* WEFT_APP_IRQ_H */
