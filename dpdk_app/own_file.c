/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of weftd's own; see own_file.h. Calls only libc.
 */
#include "dpdk_app/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int own_file_open(const char *path, int more, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | more, mode);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL; /* a write could wait for its reader */
	else if (st.st_nlink > 1)
		err = -EMLINK;
	else if (st.st_uid && st.st_uid != geteuid())
		err = -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

const char *own_file_reason(int err)
{
	switch (err) {
	case -EINVAL:
		return "is not a regular file";
	case -ELOOP:
		return "is a symbolic link";
	case -EMLINK:
		return "has other names as well";
	case -EPERM:
		return "belongs to another user";
	default:
		return strerror(-err);
	}
}
