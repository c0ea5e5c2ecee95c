/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the descriptor of its memory that a process sent. A hostile process may send a file whose
 * server delays its answers (FUSE). Every step therefore involves the kernel only. statfs(), which
 * would query the server, comes last, for files that cannot belong to such a server.
 *
 * Calls the kernel. proc_pid_mem(5), proc_pid_status(5) NSpid, statx(2).
 */
#include "dpdk_app/client/client_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	MEM_PATH_CHARS = 4096,
	MEM_STATUS_CHARS = 8192, /* NSpid is within the first fifteen lines */
	MEM_PAGE_BYTES = 4096,
};

static bool same_device(const struct statx *a, const struct statx *b)
{
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

/* Returns the number N of a name that ends in /N/mem; 0: any other name. */
static long number_of(int fd)
{
	char link[40], path[MEM_PATH_CHARS], *slash, *end;
	ssize_t n;
	long number;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || (size_t)n >= sizeof(path) - 1)
		return 0;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash || strcmp(slash, "/mem"))
		return 0;
	*slash = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash[1] < '1' || slash[1] > '9')
		return 0;
	errno = 0;
	number = strtol(slash + 1, &end, 10);
	return errno || *end ? 0 : number;
}

/* Returns true if a process has this number in one of its pid namespaces. */
static bool has_number(pid_t pid, long number)
{
	char path[40], status[MEM_STATUS_CHARS], *at, *end;
	size_t used = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (used < sizeof(status) - 1 &&
	       (n = read(fd, status + used, sizeof(status) - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	status[used] = '\0';
	/* The program's name precedes it, with newlines escaped. */
	at = strstr(status, "\nNSpid:");
	if (!at)
		return false;
	for (at += strlen("\nNSpid:"); *at == '\t'; at = end) {
		if (strtol(at + 1, &end, 10) == number)
			return true;
	}
	return false;
}

/*
 * For weftd's own procfs: looks up the process's file and compares. While the descriptor is open,
 * the kernel keeps its inode for that name.
 */
static bool is_file_of(const struct statx *st, pid_t pid)
{
	struct statx own;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &own) &&
	       same_device(&own, st) && own.stx_ino == st->stx_ino;
}

/*
 * For another procfs: no file of /proc/<pid> can be mapped, but every FUSE file can. A file that
 * can be mapped is rejected without statfs(), which its server could delay.
 */
static bool is_procfs(int fd)
{
	void *page = mmap(NULL, MEM_PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	struct statfs fs;

	if (page != MAP_FAILED) {
		munmap(page, MEM_PAGE_BYTES);
		return false;
	}
	return errno == ENODEV && !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

int client_mem_check(int fd, pid_t pid)
{
	int flags = fcntl(fd, F_GETFL);
	struct statx st, proc;
	long number;

	if (pid <= 0 || flags < 0 || flags & O_PATH || (flags & O_ACCMODE) != O_RDWR)
		return -EPERM;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) ||
	    !S_ISREG(st.stx_mode))
		return -EPERM;
	number = number_of(fd);
	if (number <= 0 || statx(AT_FDCWD, "/proc", AT_STATX_DONT_SYNC, STATX_INO, &proc))
		return -EPERM;
	if (same_device(&st, &proc))
		return number == pid && is_file_of(&st, pid) ? 0 : -EPERM;
	return has_number(pid, number) && is_procfs(fd) ? 0 : -EPERM;
}
