/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A running weftd holds a lock (flock(2)) on the directory that DPDK created for it. The kernel
 * releases the lock however the process ends, so an unlocked directory has no owner. A lock on the
 * parent directory excludes other weftds between the creation of a directory and its lock.
 *
 * Calls the kernel. DPDK programmer's guide, EAL, "Runtime directory".
 */
#include "dpdk_app/eal_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpdk_app/log.h"

enum {
	EAL_DIR_MODE = 0700, /* the mode that DPDK uses */
};

/* Removes the files in the directory; it has no subdirectories. */
static void eal_dir_empty(int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}

/* Returns a locked descriptor of a stale directory of ours, otherwise -1. */
static int eal_dir_dead(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return -1;
}

int eal_dir_sweep(const char *dir)
{
	static const char ours[] = "weftd-";
	const struct dirent *entry;
	char path[512];
	int parent;
	DIR *list;

	if ((size_t)snprintf(path, sizeof(path), "%s/dpdk", dir) >= sizeof(path))
		return -1;
	if (mkdir(path, EAL_DIR_MODE) && errno != EEXIST)
		return -1;
	parent = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (parent < 0 || flock(parent, LOCK_EX)) {
		if (parent >= 0)
			close(parent);
		return -1;
	}
	list = opendir(path);
	while (list && (entry = readdir(list))) {
		int fd;

		if (strncmp(entry->d_name, ours, sizeof(ours) - 1))
			continue;
		fd = eal_dir_dead(parent, entry->d_name);
		if (fd < 0)
			continue;
		eal_dir_empty(fd);
		if (unlinkat(parent, entry->d_name, AT_REMOVEDIR))
			log_verbose("%s/%s: %s", path, entry->d_name, strerror(errno));
	}
	if (list)
		closedir(list);
	return parent;
}

void eal_dir_hold(int swept, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* It stays open, and therefore locked, until the process ends. */
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB))
		log_verbose("%s: %s", path, strerror(errno));
	if (swept >= 0)
		close(swept);
}
