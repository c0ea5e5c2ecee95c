/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The right to low ports: by the content of /proc/PID/status, and of this process.
 *
 * tests/security/ports.sh has other processes.
 */
#include "dpdk_app/port_right.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/ut.h"

#define STATUS(uids, caps)                                                                         \
	"Name:\tx\nUid:\t" uids "\nGid:\t0\t0\t0\t0\nCapPrm:\t0\nCapEff:\t" caps "\n"

static void status(void)
{
	CU_ASSERT_TRUE(port_right_in_status(STATUS("7\t7\t7\t7", "0000000000000400"), 7));
	CU_ASSERT_TRUE(port_right_in_status(STATUS("0\t0\t0\t0", "000001ffffffffff"), 0));
	/* Without the capability, for any user. */
	CU_ASSERT_FALSE(port_right_in_status(STATUS("0\t0\t0\t0", "000001fffffffbff"), 0));
	CU_ASSERT_FALSE(port_right_in_status(STATUS("7\t7\t7\t7", "0000000000000000"), 7));
	/* A set-uid program; another user than the one that connected. */
	CU_ASSERT_FALSE(port_right_in_status(STATUS("7\t0\t0\t0", "000001ffffffffff"), 7));
	CU_ASSERT_FALSE(port_right_in_status(STATUS("7\t7\t0\t7", "000001ffffffffff"), 7));
	CU_ASSERT_FALSE(port_right_in_status(STATUS("0\t0\t0\t0", "000001ffffffffff"), 7));
	/* Less than is needed to decide. */
	CU_ASSERT_FALSE(port_right_in_status("", 0));
	CU_ASSERT_FALSE(port_right_in_status("\nUid:\t0\t0\t0\nCapEff:\t400\n", 0));
	CU_ASSERT_FALSE(port_right_in_status("\nUid:\t0\t0\t0\t0\n", 0));
	CU_ASSERT_FALSE(port_right_in_status("\nCapEff:\t400\n", 0));
}

static void nobody_there(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
	unsigned int start = 0;
	int fd;

	CU_ASSERT_FATAL(file != NULL && fscanf(file, "%u", &start) == 1);
	fclose(file);
	/* Without a descriptor of the process the pid may be another one's by now. */
	CU_ASSERT_EQUAL(port_right_first(getpid(), getuid(), -1), start);
	fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(port_right_first(0, getuid(), fd), start);
	CU_ASSERT_EQUAL(port_right_first(getpid(), getuid() + 1, fd), start);
	close(fd);
}

UT_MAIN("dpdk_app/port_right", UT(status), UT(nobody_there))
