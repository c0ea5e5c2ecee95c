/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signalling eventfds: each gets its signal, one that would block does not, a closed one
 * hurts no other.
 *
 * Runs dpdk_app/irq.c; the alarm ends a test that blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpdk_app/irq.h"
#include "tests/ut.h"

static uint64_t take(int fd)
{
	uint64_t count = 0;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static void each_gets_its_signal(void)
{
	enum {
		FDS = IRQ_BATCH * 2 + 3
	};
	struct irq_batch batch;
	int fd[FDS];

	CU_ASSERT_EQUAL_FATAL(irq_init(&batch), 0);
	for (int i = 0; i < FDS; i++)
		fd[i] = eventfd(0, EFD_NONBLOCK);
	for (int i = 0; i < FDS; i++) {
		irq_add(&batch, fd[i]);
		irq_add(&batch, fd[i]); /* twice in a turn: one signal */
	}
	irq_flush(&batch);
	CU_ASSERT_EQUAL(irq_flush(&batch), 0);
	for (int i = 0; i < FDS; i++) {
		CU_ASSERT_EQUAL(take(fd[i]), 1);
		close(fd[i]);
	}
	irq_close(&batch);
}

static void far_more_than_the_kernel_queues(void)
{
	struct irq_batch batch;
	int fd = eventfd(0, EFD_NONBLOCK);

	CU_ASSERT_EQUAL_FATAL(irq_init(&batch), 0);
	for (int i = 0; i < 5000; i++) {
		irq_add(&batch, fd);
		irq_flush(&batch);
	}
	CU_ASSERT_EQUAL(take(fd), 5000);
	irq_close(&batch);
	close(fd);
}

static void a_full_one_does_not_block(void)
{
	const uint64_t most = UINT64_MAX - 1;
	struct irq_batch batch;
	int fd = eventfd(0, 0);

	CU_ASSERT_EQUAL_FATAL(irq_init(&batch), 0);
	CU_ASSERT_EQUAL(write(fd, &most, sizeof(most)), sizeof(most));
	alarm(10);
	for (int i = 0; i < 3; i++) {
		irq_add(&batch, fd);
		irq_flush(&batch);
	}
	alarm(0);
	CU_ASSERT(take(fd) >= most);
	irq_close(&batch);
	close(fd);
}

static void a_closed_one_hurts_no_other(void)
{
	struct irq_batch batch;
	int gone = eventfd(0, EFD_NONBLOCK);
	int a = eventfd(0, EFD_NONBLOCK);
	int b = eventfd(0, EFD_NONBLOCK);

	CU_ASSERT_EQUAL_FATAL(irq_init(&batch), 0);
	close(gone);
	irq_add(&batch, a);
	irq_add(&batch, gone);
	irq_add(&batch, b);
	irq_flush(&batch);
	CU_ASSERT_EQUAL(take(a), 1);
	CU_ASSERT_EQUAL(take(b), 1);
	irq_close(&batch);
	close(a);
	close(b);
}

/* From now on io_setup() of this process fails with error. */
static void refuse_io_setup(uint32_t error)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_setup, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(100);
}

/* fs.aio-max-nr used up, a kernel without: there is no other way that cannot block. */
static void no_start_without_it(void)
{
	static const int errors[] = {EAGAIN, ENOSYS};

	for (uint32_t i = 0; i < 2; i++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			struct irq_batch batch;

			refuse_io_setup((uint32_t)errors[i]);
			_exit(irq_init(&batch) == -errors[i] ? 0 : 1);
		}
		CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
		CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

UT_MAIN("dpdk_app/irq", UT(each_gets_its_signal), UT(far_more_than_the_kernel_queues),
	UT(a_full_one_does_not_block), UT(no_start_without_it), UT(a_closed_one_hurts_no_other))
