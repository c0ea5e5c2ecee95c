/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signalling eventfds without ever blocking; irq.h says why it is done this way.
 *
 * Called on the cores; calls the kernel's asynchronous I/O. io_submit(2), eventfd(2).
 */
#include "dpdk_app/irq.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/log.h"

enum {
	IRQ_AIO_EVENTS = 256,
	/* Completions are fetched, and thrown away, before the kernel's ring can fill. */
	IRQ_REAP_AT = 128,
};

int irq_init(struct irq_batch *batch)
{
	aio_context_t context = 0;

	memset(batch, 0, sizeof(*batch));
	batch->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (batch->null_fd < 0)
		return -errno;
	if (syscall(SYS_io_setup, IRQ_AIO_EVENTS, &context)) {
		log_info("no asynchronous I/O (%s): raise fs.aio-max-nr; until then a process that "
			 "makes its event descriptors block can hold up a core",
			 strerror(errno));
		return 0;
	}
	batch->aio = context;
	return 0;
}

void irq_close(struct irq_batch *batch)
{
	if (batch->aio)
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

static uint32_t irq_write_all(struct irq_batch *batch)
{
	const uint64_t one = 1;
	uint32_t calls = batch->count;

	for (uint32_t i = 0; i < batch->count; i++) {
		/* A full counter is readable already, which is all a signal means. */
		if (write(batch->fd[i], &one, sizeof(one)) < 0)
			continue;
	}
	batch->count = 0;
	return calls;
}

uint32_t irq_flush(struct irq_batch *batch)
{
	struct iocb block[IRQ_BATCH];
	struct iocb *list[IRQ_BATCH];
	char nothing[1];
	uint32_t calls = 0;
	uint32_t done = 0;

	if (!batch->count)
		return 0;
	if (!batch->aio)
		return irq_write_all(batch);
	if (batch->num_unreaped + batch->count > IRQ_REAP_AT)
		calls += irq_reap(batch);
	memset(block, 0, batch->count * sizeof(block[0]));
	for (uint32_t i = 0; i < batch->count; i++) {
		block[i].aio_lio_opcode = IOCB_CMD_PREAD;
		block[i].aio_fildes = (uint32_t)batch->null_fd;
		block[i].aio_buf = (uint64_t)(uintptr_t)nothing;
		block[i].aio_nbytes = sizeof(nothing);
		block[i].aio_flags = IOCB_FLAG_RESFD;
		block[i].aio_resfd = (uint32_t)batch->fd[i];
		list[i] = &block[i];
	}
	while (done < batch->count) {
		long n = syscall(SYS_io_submit, (aio_context_t)batch->aio,
				 (long)(batch->count - done), list + done);

		calls++;
		if (n > 0) {
			batch->num_unreaped += (uint32_t)n;
			done += (uint32_t)n;
		} else {
			done++; /* not a descriptor any more: its process is going away */
		}
	}
	batch->count = 0;
	return calls;
}

uint32_t irq_add(struct irq_batch *batch, int fd)
{
	uint32_t calls = 0;

	/* Two events of one queue in a turn need one signal. */
	for (uint32_t i = 0; i < batch->count; i++) {
		if (batch->fd[i] == fd)
			return 0;
	}
	if (batch->count == IRQ_BATCH)
		calls = irq_flush(batch);
	batch->fd[batch->count++] = fd;
	return calls;
}
