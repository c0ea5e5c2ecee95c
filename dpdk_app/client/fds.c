/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits on weftd's descriptors by purpose. See fds.h.
 *
 * Calls getrlimit(2) on each use, since other processes may change the limit (prlimit(1)). No use
 * is on a fast path.
 */
#include "dpdk_app/client/fds.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	FDS_KEPT_MAX = 64,  /* descriptors between the limits of two purposes */
	FDS_KEPT_SHARE = 8, /* but at most this fraction of all */
};

uint64_t fds_limit(uint64_t limit, enum fds_use use)
{
	uint64_t kept =
	    limit / FDS_KEPT_SHARE < FDS_KEPT_MAX ? limit / FDS_KEPT_SHARE : (uint64_t)FDS_KEPT_MAX;

	return limit - kept * (uint64_t)use;
}

int fds_take(int fd, enum fds_use use)
{
	struct rlimit limit;

	if (fd < 0)
		return -errno;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && (uint64_t)fd < fds_limit(limit.rlim_cur, use))
		return fd;
	close(fd);
	return -EMFILE;
}
