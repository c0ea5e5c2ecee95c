/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The start of processes that make code for weftd: shared memory, fork, rights. Calls the kernel:
 * memfd_create(2), capset(2), close_range(2).
 */
#include "dpdk_app/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <rte_log.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It needs no rights at all. */
static bool give_up_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_capset, &header, none);
}

/* In the new process; does not return. */
static void helper_main(const struct helper *helper, int fd, int memory, pid_t parent, bool filter,
			const uint8_t *code)
{
	uint8_t *shared = mmap(NULL, helper->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	int kept;

	/* Signals from the terminal are for weftd, and this process ends with it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (shared == MAP_FAILED || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, helper->name);
	prctl(PR_SET_DUMPABLE, 0);
	rte_log_set_global_level(RTE_LOG_EMERG);
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (kept < 0 || dup2(kept, 3) < 0 || close_range(4, ~0U, 0))
		_exit(1);
	if (!give_up_rights() || (filter && helper->filter()))
		_exit(1);
	helper->serve(3, shared, code);
	_exit(0);
}

/* Forks; returns the socket to the helper, or -1. */
static int start(const struct helper *helper, int memory, bool filter, const uint8_t *code)
{
	pid_t parent = getpid(), child;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	child = fork();
	if (!child)
		helper_main(helper, pair[1], memory, parent, filter, code);
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return -1;
	}
	return pair[0];
}

int helper_start(const struct helper *helper, bool filter, const uint8_t **code)
{
	int memory = memfd_create(helper->name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *shared = MAP_FAILED;
	int fd = -1;

	if (memory >= 0 && !ftruncate(memory, (off_t)helper->bytes) &&
	    !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		shared = mmap(NULL, helper->bytes, PROT_READ | PROT_EXEC, MAP_SHARED, memory, 0);
	if (shared != MAP_FAILED)
		fd = start(helper, memory, filter, shared);
	if (memory >= 0)
		close(memory);
	*code = shared;
	return fd;
}
