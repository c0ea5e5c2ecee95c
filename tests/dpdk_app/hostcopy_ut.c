/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies by a worker: every byte of mapped memory, an error for unmapped memory, an answer in
 * bounded time while a page does not arrive, and no wait for it afterwards.
 *
 * Runs dpdk_app/client/hostcopy.c on memory of this process. In place of a missing page, a seccomp
 * filter holds the worker's pread() until the test lets it go.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpdk_app/client/hostcopy.h"
#include "nic_fw/fw_port.h"
#include "tests/ut.h"

enum {
	BYTES = 100000,
	WAIT_MS = 60000,
};

static int control_fd = -1;
static struct hostcopy_stats stats;

static struct hostcopy *begin(void)
{
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	struct hostcopy *copy;

	control_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CU_ASSERT_EQUAL_FATAL(hostcopy_start(&copy, mem, 0, control_fd), 0);
	close(mem);
	memset(&stats, 0, sizeof(stats));
	return copy;
}

static void end(struct hostcopy *copy)
{
	hostcopy_end(copy);
	for (uint32_t ms = 0; !hostcopy_over(copy) && ms < WAIT_MS; ms++)
		usleep(1000);
	CU_ASSERT_TRUE_FATAL(hostcopy_over(copy));
	hostcopy_free(copy);
	/* Its worker may be about to write to control_fd, so that stays open. */
}

/* A busy machine may refuse an access, which is then repeated, as the firmware's sender does. */
static int read_all(struct hostcopy *copy, void *dst, const void *src, uint32_t bytes)
{
	int err;

	do {
		err = hostcopy_read(copy, dst, (uintptr_t)src, bytes, &stats);
	} while (err == -EBUSY && usleep(1000) == 0);
	return err;
}

static int write_all(struct hostcopy *copy, void *dst, const void *src, uint32_t bytes)
{
	int err;

	do {
		err = hostcopy_write(copy, (uintptr_t)dst, src, bytes, &stats);
	} while (err == -EBUSY && usleep(1000) == 0);
	return err;
}

static void every_byte(void)
{
	static uint8_t from[BYTES], to[BYTES];
	struct hostcopy *copy = begin();

	for (uint32_t i = 0; i < BYTES; i++)
		from[i] = (uint8_t)(i * 7 + i / 251);
	CU_ASSERT_EQUAL(read_all(copy, to, from, BYTES), 0);
	CU_ASSERT_EQUAL(memcmp(from, to, BYTES), 0);
	memset(to, 0, sizeof(to));
	CU_ASSERT_EQUAL(write_all(copy, to + 1, from, BYTES - 2), 0);
	CU_ASSERT_TRUE(!to[0] && !memcmp(from, to + 1, BYTES - 2) && !to[BYTES - 1]);
	for (uint32_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(read_all(copy, to, from + i, 100), 0);
	CU_ASSERT_EQUAL(memcmp(from + 999, to, 100), 0);
	CU_ASSERT_TRUE(stats.copies >= 1000 + 2 * BYTES / 16384);
	end(copy);
}

/* A copy to pages beyond the end of a file fails; no other mapping ever gets their addresses. */
static void what_is_not_there(void)
{
	int fd = memfd_create("hostcopy", MFD_CLOEXEC);
	struct hostcopy *copy = begin();
	uint8_t bytes[64] = {0}, *mem;

	CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 4096), 0);
	mem = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CU_ASSERT_FATAL(mem != MAP_FAILED);
	close(fd);
	CU_ASSERT_EQUAL(write_all(copy, mem + 4096 - 64, bytes, 64), 0);
	CU_ASSERT_EQUAL(write_all(copy, mem + 4096, bytes, 64), -EFAULT);
	CU_ASSERT_EQUAL(read_all(copy, bytes, mem + 4096, 64), -EFAULT);
	CU_ASSERT_EQUAL(read_all(copy, bytes, mem + 4096 - 32, 64), -EFAULT);
	CU_ASSERT_EQUAL(read_all(copy, bytes, mem, 64), 0);
	munmap(mem, 8192);
	end(copy);
}

static void atomics(void)
{
	/* The last two are on the first bytes of the word. */
	static const struct fw_atomic ops[] = {
	    {HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 0, 5},
	    {HW_ATOMIC_CSWAP, HW_ATOMIC_UINT64, 12, 0x5500000040},
	    {HW_ATOMIC_CSWAP, HW_ATOMIC_UINT64, 12, 50},
	    {HW_ATOMIC_MAX, HW_ATOMIC_INT8, 0, 0x77},
	    {HW_ATOMIC_READ, HW_ATOMIC_UINT16, 0, 1},
	};
	struct hostcopy *copy = begin();
	static const uint64_t before[] = {7, 12, 0x5500000040, 0x40, 0x77};
	uint64_t word = 7, original;
	uint8_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (uint32_t i = 0; i < 5; i++) {
		int err;

		do {
			original = 0;
			err = hostcopy_atomic(copy, (uintptr_t)&word, &ops[i], &original, &stats);
			while (err == -EINPROGRESS &&
			       (err = hostcopy_atomic_over(copy, &original)) == -EBUSY &&
			       !usleep(1000))
				err = -EINPROGRESS;
		} while (err == -EBUSY && !usleep(1000));
		CU_ASSERT_EQUAL(err, 0);
		CU_ASSERT_EQUAL(original, before[i]);
	}
	CU_ASSERT_EQUAL(word, 0x5500000077);
	CU_ASSERT_FATAL(gone != MAP_FAILED && !munmap(gone, 4096));
	CU_ASSERT_EQUAL(hostcopy_atomic_over(copy, &original), -EFAULT);
	end(copy);
}

/* Makes each later pread() of this process sleep until it is answered through the descriptor. */
static int hold_reads(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &filter);
}

/* Lets one of them continue. */
static bool let_go(int listener)
{
	struct seccomp_notif asked = {0};
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return false;
	answer.id = asked.id;
	return !ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/*
 * An atomic that the core gave up is carried out once, and its result waits while other copies are
 * made.
 */
static int slow_atomic(struct hostcopy *copy, int listener)
{
	static const struct fw_atomic add = {HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 0, 5};
	static uint64_t word = 7, other;
	uint64_t original = 0, mark, late;

	if (hostcopy_late(copy, 0))
		return 12;
	if (hostcopy_atomic(copy, (uintptr_t)&word, &add, &original, &stats) != -EINPROGRESS)
		return 1;
	if (hostcopy_atomic_over(copy, &original) != -EBUSY ||
	    hostcopy_atomic(copy, (uintptr_t)&word, &add, &original, &stats) != -EBUSY ||
	    hostcopy_write(copy, (uintptr_t)&word, &other, 8, &stats) != -EBUSY || word != 7)
		return 2;
	mark = hostcopy_mark(copy);
	late = hostcopy_late(copy, 0);
	if (!late || hostcopy_late(copy, late) != late)
		return 13;
	if (!let_go(listener))
		return 3;
	while (!hostcopy_passed(copy, mark))
		usleep(100);
	if (hostcopy_late(copy, late) || hostcopy_late(copy, 0))
		return 14;
	if (word != 12 || write_all(copy, &other, &word, 8) || other != 12)
		return 4;
	if (hostcopy_atomic(copy, (uintptr_t)&word, &add, &original, &stats) != -EBUSY)
		return 5;
	if (hostcopy_atomic_over(copy, &original) || original != 7 ||
	    hostcopy_atomic_over(copy, &original) != -EFAULT || word != 12)
		return 6;
	return 0;
}

/* Its end waits for no copy. */
static int slow_end(struct hostcopy *copy, int listener)
{
	static uint8_t from[64], to[64];

	if (hostcopy_read(copy, to, (uintptr_t)from, 64, &stats) != -EBUSY)
		return 9;
	hostcopy_end(copy);
	usleep(10000);
	if (hostcopy_over(copy))
		return 10;
	if (!let_go(listener))
		return 11;
	while (!hostcopy_over(copy))
		usleep(100);
	hostcopy_free(copy);
	return 0;
}

/* Runs the steps in a process whose reads are held; returns the number of the one that failed. */
static int slow_steps(void)
{
	static uint8_t from[64] = "slow", to[64];
	int listener = hold_reads();
	struct pollfd told;
	struct hostcopy *copy;
	uint64_t mark;

	if (listener < 0)
		return 77;
	copy = begin();
	told = (struct pollfd){.fd = control_fd, .events = POLLIN};
	/* The copy has timed out, and further ones are refused meanwhile. */
	if (hostcopy_read(copy, to, (uintptr_t)from, 64, &stats) != -EBUSY || stats.given_up != 1)
		return 1;
	for (int i = 0; i < 1000; i++) {
		if (hostcopy_write(copy, (uintptr_t)to, from, 64, &stats) != -EBUSY)
			return 2;
	}
	if (stats.refused != 1000 || stats.copies != 1 || to[0])
		return 3;
	mark = hostcopy_mark(copy);
	if (hostcopy_passed(copy, mark) || hostcopy_late(copy, 0) || poll(&told, 1, 0))
		return 4;
	if (!let_go(listener) || poll(&told, 1, WAIT_MS) != 1 || !hostcopy_passed(copy, mark))
		return 5;
	/* It ends late, and has written to no memory of the core. */
	if (to[0] || write_all(copy, to, from, 64) || memcmp(to, from, 64))
		return 6;
	/*
	 * Slow copies, one after the other, use up the account: the core waits for the shortest
	 * time.
	 */
	for (int i = 0; i < 10; i++) {
		if (hostcopy_read(copy, to, (uintptr_t)from, 64, &stats) != -EBUSY)
			return 7;
		if (!let_go(listener) || hostcopy_passed(copy, UINT64_MAX))
			return 8;
		mark = hostcopy_mark(copy);
		while (!hostcopy_passed(copy, mark))
			usleep(100);
	}
	return slow_atomic(copy, listener) ? 20 : slow_end(copy, listener);
}

static void what_does_not_come(void)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		alarm(100);
		_exit(slow_steps());
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		puts("    not tried: the kernel hands no system calls to user space");
	else
		CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

UT_MAIN("dpdk_app/hostcopy", UT(every_byte), UT(what_is_not_there), UT(atomics),
	UT(what_does_not_come))
