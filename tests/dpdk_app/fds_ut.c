/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors by purpose: the share of each, and the refusal of one too many.
 */
#include "dpdk_app/client/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/ut.h"

static void limits(void)
{
	/* Order in which they are used up; the rest is the control thread's. */
	CU_ASSERT_EQUAL(fds_limit(1024, FDS_PORTS), 832);
	CU_ASSERT_EQUAL(fds_limit(1024, FDS_CLIENTS), 896);
	CU_ASSERT_EQUAL(fds_limit(1024, FDS_EVENTS), 960);
	CU_ASSERT_EQUAL(fds_limit(64, FDS_PORTS), 40);
	CU_ASSERT_EQUAL(fds_limit(64, FDS_EVENTS), 56);
	CU_ASSERT_EQUAL(fds_limit(UINT64_MAX, FDS_EVENTS), UINT64_MAX - 64);
	CU_ASSERT_EQUAL(fds_limit(0, FDS_PORTS), 0);
}

static void one_too_many(void)
{
	struct rlimit old, few;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), high;

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 512;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &few), 0);
	CU_ASSERT_EQUAL(fds_take(fd, FDS_PORTS), fd);
	high = fcntl(fd, F_DUPFD_CLOEXEC, 400);
	CU_ASSERT_EQUAL_FATAL(high, 400);
	CU_ASSERT_EQUAL(fds_take(high, FDS_EVENTS), high);
	CU_ASSERT_EQUAL(fds_take(high, FDS_PORTS), -EMFILE);
	CU_ASSERT_EQUAL(fcntl(high, F_GETFD), -1);
	errno = ENFILE;
	CU_ASSERT_EQUAL(fds_take(-1, FDS_CLIENTS), -ENFILE);
	close(fd);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &old), 0);
}

UT_MAIN("dpdk_app/fds", UT(limits), UT(one_too_many))
