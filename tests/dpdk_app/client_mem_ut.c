/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor of a process's memory: the valid one is accepted, every other is refused.
 *
 * Runs client_mem_check() of dpdk_app/client/client_mem.c on descriptors of this process and of a
 * child.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dpdk_app/client/client_mem.h"
#include "tests/tmp.h"
#include "tests/ut.h"

static int check_path(const char *path, int flags, pid_t pid)
{
	int fd = open(path, flags | O_CLOEXEC);
	int rc = fd < 0 ? -errno : client_mem_check(fd, pid);

	if (fd >= 0)
		close(fd);
	return rc;
}

static void own_memory_is_taken(void)
{
	char path[40];

	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDWR, getpid()), 0);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDWR | O_NONBLOCK, getpid()), 0);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getpid());
	CU_ASSERT_EQUAL(check_path(path, O_RDWR, getpid()), 0);
}

static void other_rights_are_refused(void)
{
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDONLY, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_WRONLY, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_PATH, getpid()), -EPERM);
	CU_ASSERT_EQUAL(client_mem_check(-1, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDWR, 0), -EPERM);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDWR, -1), -EPERM);
}

static void memory_of_others_is_refused(void)
{
	char path[60];
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)child);
	CU_ASSERT_EQUAL(check_path(path, O_RDWR, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path(path, O_RDWR, child), 0);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDWR, child), -EPERM);
	/* The same address space by another name: no library sends it. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/mem", (int)getpid());
	CU_ASSERT_EQUAL(check_path(path, O_RDWR, getpid()), -EPERM);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CU_ASSERT_EQUAL(check_path("/proc/self/mem", O_RDWR, child), -EPERM);
}

static void other_files_are_refused(void)
{
	char folder[TMP_PATH_BYTES], path[TMP_PATH_BYTES + 20];
	int pair[2], fd;

	CU_ASSERT_EQUAL(check_path("/proc/self/maps", O_RDONLY, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path("/proc/self/comm", O_RDWR, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path("/dev/null", O_RDWR, getpid()), -EPERM);
	CU_ASSERT_EQUAL(check_path("/dev/zero", O_RDWR, getpid()), -EPERM);
	fd = memfd_create("mem", 0);
	CU_ASSERT_EQUAL(client_mem_check(fd, getpid()), -EPERM);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(pipe(pair), 0);
	CU_ASSERT_EQUAL(client_mem_check(pair[0], getpid()), -EPERM);
	close(pair[0]);
	close(pair[1]);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	CU_ASSERT_EQUAL(client_mem_check(pair[0], getpid()), -EPERM);
	close(pair[0]);
	close(pair[1]);
	/* A file with only the right name. */
	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(folder));
	snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%d/mem", folder, (int)getpid());
	CU_ASSERT_EQUAL(check_path(path, O_RDWR | O_CREAT, getpid()), -EPERM);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
	rmdir(path);
	rmdir(folder);
}

/* Sends a byte with a descriptor; the receiver's kernel adds the sender's credentials. */
static bool send_fd(int sock, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes)};

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	return sendmsg(sock, &mh, MSG_NOSIGNAL) == 1;
}

/* False: the other end has closed without a message. */
static bool receive_fd(int sock, int *fd, pid_t *pid)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes)};
	struct ucred cred = {0};

	*fd = -1;
	if (recvmsg(sock, &mh, 0) != 1)
		return false;
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(&mh); cm; cm = CMSG_NXTHDR(&mh, cm)) {
		if (cm->cmsg_type == SCM_RIGHTS)
			memcpy(fd, CMSG_DATA(cm), sizeof(*fd));
		else
			memcpy(&cred, CMSG_DATA(cm), sizeof(cred));
	}
	*pid = cred.pid;
	return *fd >= 0;
}

/*
 * A process in a container: in a user, PID and mount namespace of its own, with its own procfs. It
 * sends its memory as found there, and waits to be ended.
 */
static void contained(int sock, const char *folder)
{
	char name[TMP_PATH_BYTES + 16];
	pid_t inner;
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS))
		_exit(1);
	inner = fork();
	if (inner) {
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", folder, "proc", 0, NULL))
		_exit(1);
	snprintf(name, sizeof(name), "%s/self/mem", folder);
	fd = open(name, O_RDWR);
	if (fd >= 0 && send_fd(sock, fd))
		(void)!read(sock, name, 1);
	_exit(0);
}

static void another_procfs(void)
{
	char folder[TMP_PATH_BYTES];
	int pair[2], fd, one = 1;
	pid_t child, pid = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(tmp_folder(folder));
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CU_ASSERT_EQUAL(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	child = fork();
	if (!child) {
		close(pair[0]);
		contained(pair[1], folder);
	}
	close(pair[1]);
	if (receive_fd(pair[0], &fd, &pid)) {
		/* Its pid there is 1, here it is pid. */
		CU_ASSERT_NOT_EQUAL(pid, 1);
		CU_ASSERT_EQUAL(client_mem_check(fd, pid), 0);
		CU_ASSERT_EQUAL(client_mem_check(fd, getpid()), -EPERM);
		CU_ASSERT_EQUAL(client_mem_check(fd, child), -EPERM);
		close(fd);
	} else {
		puts("    not tried: no user namespaces with a procfs of their own here");
	}
	close(pair[0]);
	waitpid(child, NULL, 0);
	rmdir(folder);
}

UT_MAIN("dpdk_app/client_mem", UT(own_memory_is_taken), UT(other_rights_are_refused),
	UT(memory_of_others_is_refused), UT(other_files_are_refused), UT(another_procfs))
