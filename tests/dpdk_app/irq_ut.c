/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signalling eventfds: each gets its signal, one that would block does not, a closed one
 * hurts no other.
 *
 * Runs dpdk_app/client/irq.c; the alarm ends a test that blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpdk_app/client/irq.h"
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

/* Makes each later io_setup() of this process fail with error. */
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

/* fs.aio-max-nr is used up, or the kernel lacks it: no other call is sure not to block. */
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

enum {
	CHILDREN = 24,
	WAITERS = 900, /* waits of each child, by epolls: within the open files that any process may
			  have */
};

/* A process that waits for an eventfd many times; ends when the pipe is closed. */
static void wait_often(int fd, int life, int ready)
{
	for (int i = 0; i < WAITERS; i++) {
		struct epoll_event ev = {.events = EPOLLIN};
		int epoll_fd = epoll_create1(0);

		if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev))
			_exit(1);
	}
	if (write(ready, "", 1) != 1)
		_exit(1);
	while (read(life, &(char){0}, 1) > 0)
		;
	_exit(0);
}

/* A process whose eventfd has very many waiters, and one without. */
struct many {
	struct irq_batch batch;
	struct irq_owner evil, good;
	int dear[4], quick[2]; /* their eventfds */
	int life[2];           /* the waiters end when it is closed */
};

static void start_waiters(struct many *m)
{
	int ready[2];

	CU_ASSERT_EQUAL_FATAL(irq_init(&m->batch), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(m->life) + pipe(ready), 0);
	m->evil.fd = m->dear;
	m->good.fd = m->quick;
	m->dear[0] = eventfd(0, EFD_NONBLOCK);
	for (int i = 1; i < 4; i++)
		m->dear[i] = dup(m->dear[0]);
	m->quick[0] = eventfd(0, EFD_NONBLOCK);
	m->quick[1] = eventfd(0, EFD_NONBLOCK);
	for (int i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		close(m->life[1]);
		wait_often(m->dear[0], m->life[0], ready[1]);
	}
	for (int i = 0; i < CHILDREN; i++)
		CU_ASSERT_EQUAL_FATAL(read(ready[0], &(char){0}, 1), 1);
}

static void expensive_signals_are_recognized(struct many *m)
{
	/* The first signals are prompt: a batch takes long, then single signals are timed. */
	for (int i = 0; i < 1 + IRQ_SLOW_ROW; i++) {
		CU_ASSERT_EQUAL(m->evil.slow[0], 0);
		irq_raise(&m->batch, &m->evil, 0);
		irq_raise(&m->batch, &m->good, 0);
		irq_flush(&m->batch);
		CU_ASSERT_EQUAL(take(m->dear[0]), 1);
		CU_ASSERT_EQUAL(take(m->quick[0]), 1);
	}
	CU_ASSERT_EQUAL(m->evil.slow[0], 1);
	CU_ASSERT_EQUAL(m->good.slow[0], 0);
	/* Further event queues of a recognized process turn slow after one expensive signal. */
	for (uint32_t i = 1; i < 4; i++) {
		irq_raise(&m->batch, &m->evil, i);
		irq_flush(&m->batch);
		CU_ASSERT_EQUAL(take(m->dear[0]), 1);
	}
	CU_ASSERT_EQUAL(m->evil.slow[0], 15);
}

/* All event queues of the process wait together, once each. Returns the time at the end. */
static uint64_t expensive_signals_wait(struct many *m)
{
	uint64_t now_ns = 1, late = 0;

	for (uint32_t i = 0; i < 4; i++)
		irq_raise(&m->batch, &m->evil, i);
	irq_raise(&m->batch, &m->evil, 3);
	CU_ASSERT_EQUAL(irq_late_ns(&m->batch), 0);
	irq_flush(&m->batch);
	CU_ASSERT_EQUAL(take(m->dear[0]), 0);
	for (int i = 4; i; i--) {
		irq_run_late(&m->batch, now_ns);
		CU_ASSERT_EQUAL(take(m->dear[0]), 1);
		late = irq_late_ns(&m->batch);
		CU_ASSERT_TRUE(late > now_ns + IRQ_SLOW_NS * (IRQ_SLOW_PARTS - 1));
		irq_run_late(&m->batch, now_ns + IRQ_SLOW_NS * (IRQ_SLOW_PARTS - 1));
		CU_ASSERT_EQUAL(take(m->dear[0]), 0);
		irq_raise(&m->batch, &m->good, 1);
		irq_flush(&m->batch);
		CU_ASSERT_EQUAL(take(m->quick[1]), 1);
		now_ns = m->batch.next_ns;
	}
	CU_ASSERT_EQUAL(late, UINT64_MAX);
	CU_ASSERT_EQUAL(m->batch.num_late, 4);
	return now_ns;
}

/* Thousands of waiters delay signals to their own process, and to no other. */
static void many_wait_for_one(void)
{
	struct many m = {0};
	uint64_t now_ns;

	start_waiters(&m);
	expensive_signals_are_recognized(&m);
	now_ns = expensive_signals_wait(&m);
	/* Destroyed event queues wait no longer. */
	irq_raise(&m.batch, &m.evil, 1);
	irq_raise(&m.batch, &m.evil, 2);
	irq_forget(&m.batch, &m.evil, 1);
	CU_ASSERT_EQUAL(irq_late_ns(&m.batch), now_ns);
	irq_forget_all(&m.batch, &m.evil);
	CU_ASSERT_EQUAL(irq_late_ns(&m.batch), UINT64_MAX);
	/* Without waiters the signals are quick, and count as quick again in the end. */
	close(m.life[1]);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < IRQ_QUICK_COUNT; i++) {
		irq_raise(&m.batch, &m.evil, 0);
		irq_flush(&m.batch);
		irq_run_late(&m.batch, now_ns += 1000000000);
	}
	CU_ASSERT_TRUE(m.evil.row[0] < IRQ_QUICK_COUNT);
	CU_ASSERT_EQUAL(take(m.dear[0]), IRQ_QUICK_COUNT);
	for (int i = 0; i < 4; i++)
		close(m.dear[i]);
	irq_close(&m.batch);
}

UT_MAIN("dpdk_app/irq", UT(each_gets_its_signal), UT(far_more_than_the_kernel_queues),
	UT(a_full_one_does_not_block), UT(no_start_without_it), UT(a_closed_one_hurts_no_other),
	UT(many_wait_for_one))
