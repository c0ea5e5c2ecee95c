/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signalling eventfds without ever blocking; irq.h says why it is done this way.
 *
 * Nothing of it sleeps: a read of /dev/null is over when it has begun (the driver answers 0 bytes
 * without a queue, a lock or a page), so io_submit() itself completes it, and its completion adds
 * to the eventfd's counter under a spinlock and stops at the counter's maximum. io_getevents() asks
 * for no event at least, so it does not wait. The contexts are made before the cores run: one that
 * could not be had later would leave write() alone, which a process can make block.
 *
 * Calls the kernel's asynchronous I/O. io_submit(2), eventfd(2).
 */
#include "dpdk_app/irq.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dpdk_app/log.h"

enum {
	IRQ_AIO_EVENTS = 256,
	/* Completions are fetched, and thrown away, before the kernel's ring can fill. */
	IRQ_REAP_AT = 128,
};

static void say_no_aio(int err)
{
	char most[24] = "";
	int fd = open("/proc/sys/fs/aio-max-nr", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, most, sizeof(most) - 1);

	if (fd >= 0)
		close(fd);
	if (err != EAGAIN || n <= 0) {
		log_error("the kernel gives no asynchronous I/O (%s), by which processes are told "
			  "of events: it must have CONFIG_AIO, and no filter may refuse io_setup()",
			  strerror(err));
		return;
	}
	log_error("the kernel's asynchronous I/O, by which processes are told of events, is used "
		  "up: type sysctl -w fs.aio-max-nr=%llu",
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

uint32_t irq_flush(struct irq_batch *batch)
{
	struct iocb block[IRQ_BATCH];
	struct iocb *list[IRQ_BATCH];
	char nothing[1];
	uint32_t calls = 0;
	uint32_t done = 0;

	if (!batch->count)
		return 0;
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
