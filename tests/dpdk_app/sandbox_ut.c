/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters of system calls: the operations that a process of weftd and a core of it can still do,
 * and the calls that end them. Each case is a child of its own, since a filter stays.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dpdk_app/sandbox.h"
#include "dpdk_app/wire/wire.h"
#include "tests/ut.h"

static struct app app;
static struct core core;
static struct conf_nic conf;
static struct shard *shard;

static void *nothing(void *arg)
{
	return arg;
}

/* ---- attempts; 0: success ---- */

static int open_file(void)
{
	int fd = open("/etc/passwd", O_RDONLY);

	return fd < 0 || close(fd);
}

static int make_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

static int setns_call(void)
{
	return syscall(SYS_setns, -1, 0) != -1;
}

static int program_load(void)
{
	return syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0) != -1;
}

static int map_lookup(void)
{
	union bpf_attr attr = {.map_fd = UINT32_MAX};

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) != -1 || errno != EBADF;
}

static int code_page(void)
{
	static char *page;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED || mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static int data_page(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED || madvise(page, 4096, MADV_DONTNEED) || munmap(page, 4096);
}

static int fast_path(void)
{
	const uint64_t one = 1;
	struct timespec now;
	struct rusage usage;
	uint64_t value;
	int fd = app.control_fd;

	return write(fd, &one, sizeof(one)) != sizeof(one) ||
	       read(fd, &value, sizeof(value)) != sizeof(value) || sched_yield() ||
	       syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) ||
	       getrusage(RUSAGE_THREAD, &usage);
}

static int tcp_socket(void)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) || close(fd);
}

static int unix_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 || close(fd);
}

static int trace_parent(void)
{
	return ptrace(PTRACE_SEIZE, getppid(), 0, 0) != 0;
}

static int kill_parent(void)
{
	return (int)syscall(SYS_tgkill, getppid(), getppid(), 0);
}

static int unlink_file(void)
{
	return unlink("/nowhere/at/all") != -1;
}

static int handler(void)
{
	return signal(SIGUSR1, SIG_IGN) == SIG_ERR;
}

static int default_fault(void)
{
	return signal(SIGBUS, SIG_DFL) == SIG_ERR;
}

static int read_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit);
}

static int set_limit(void)
{
	const struct rlimit limit = {64, 64};

	return setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- the children */

enum how {
	PROCESS,
	CORE_SWITCH, /* rights of a NIC on the built-in switch */
	CORE_WIRE,
};

/* The signal that ended the child, 0: success, -1: the call failed. */
static int try_it(enum how how, int (*what)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		const struct rlimit none = {0, 0};

		setrlimit(RLIMIT_CORE, &none);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		conf.wire = how == CORE_WIRE ? CONF_WIRE_NETDEV : CONF_WIRE_SWITCH;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || sandbox_process(false) ||
		    (how != PROCESS && sandbox_core(&core)))
			_exit(2);
		_exit(what() ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -2;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) ? -WEXITSTATUS(status) : 0;
}

static void begin(void)
{
	static struct nic nic;
	static struct shard one;

	shard = &one;
	nic.conf = &conf;
	shard->nic = &nic;
	core.app = &app;
	core.shard[0] = shard;
	core.num_shards = 1;
	app.control_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

static void test_process(void)
{
	begin();
	CU_ASSERT_EQUAL(try_it(PROCESS, open_file), 0);
	CU_ASSERT_EQUAL(try_it(PROCESS, make_thread), 0);
	CU_ASSERT_EQUAL(try_it(PROCESS, map_lookup), 0);
	CU_ASSERT_EQUAL(try_it(PROCESS, data_page), 0);
	CU_ASSERT_EQUAL(try_it(PROCESS, setns_call), SIGABRT);
	CU_ASSERT_EQUAL(try_it(PROCESS, program_load), SIGABRT);
	CU_ASSERT_EQUAL(try_it(PROCESS, code_page), SIGABRT);
}

static void test_core(void)
{
	begin();
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, fast_path), 0);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, data_page), 0);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, default_fault), 0);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, read_limit), 0);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, set_limit), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, code_page), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, unlink_file), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, kill_parent), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, setns_call), SIGABRT);
#ifndef __SANITIZE_ADDRESS__
	/* Calls that a report of a sanitizer may make. */
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, open_file), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, trace_parent), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, make_thread), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, handler), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, unix_socket), SIGABRT);
#else
	(void)trace_parent;
	(void)handler;
	(void)unix_socket;
#endif
}

/* Ports need a few calls more, and get them only where there is a port. */
static void test_core_wire(void)
{
	begin();
	CU_ASSERT_EQUAL(try_it(CORE_WIRE, fast_path), 0);
	CU_ASSERT_EQUAL(try_it(CORE_WIRE, tcp_socket), 0);
	CU_ASSERT_EQUAL(try_it(CORE_WIRE, map_lookup), 0);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, map_lookup), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_WIRE, program_load), SIGABRT);
#ifndef __SANITIZE_ADDRESS__
	CU_ASSERT_EQUAL(try_it(CORE_WIRE, unix_socket), SIGABRT);
	CU_ASSERT_EQUAL(try_it(CORE_SWITCH, tcp_socket), SIGABRT);
#endif
}

UT_MAIN("dpdk_app/sandbox", UT(test_process), UT(test_core), UT(test_core_wire))
