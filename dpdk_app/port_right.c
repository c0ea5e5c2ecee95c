/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports that a process may bind. See port_right.h.
 *
 * The kernel reports who connected, but not with which capabilities. They are read from /proc,
 * while the process may execute a set-uid program, or one with file capabilities, at any moment.
 * Such a program is not dumpable, so root owns its files in /proc. The values read therefore count
 * only if the process owned the files before and after. As a consequence, a capability from a file
 * does not count; an ambient one does (capabilities(7), proc(5)).
 */
#include "dpdk_app/port_right.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PORT_RIGHT_TEXT = 4096, /* buffer for a file in /proc */
	PORT_RIGHT_START = 1024,
};

/* Reads a whole file as a string. Returns false if it is missing or longer. */
static bool read_text(const char *path, char text[PORT_RIGHT_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 1;

	if (fd < 0)
		return false;
	while (n > 0 && used < PORT_RIGHT_TEXT - 1) {
		n = read(fd, text + used, PORT_RIGHT_TEXT - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	text[used] = '\0';
	return n == 0;
}

bool port_right_in_status(const char *status, uid_t uid)
{
	const char *uids = strstr(status, "\nUid:"), *caps = strstr(status, "\nCapEff:");
	unsigned long id[4];
	uint64_t bits;

	if (!uids || !caps ||
	    sscanf(uids, "\nUid: %lu %lu %lu %lu", &id[0], &id[1], &id[2], &id[3]) != 4 ||
	    sscanf(caps, "\nCapEff: %" SCNx64, &bits) != 1)
		return false;
	for (int i = 0; i < 4; i++) {
		if (id[i] != uid)
			return false;
	}
	return bits >> CAP_NET_BIND_SERVICE & 1;
}

/*
 * Returns true if the file exists and the process owns it; after it has gained rights, root does. A
 * lookup by name checks at each call, whereas a descriptor would report the state at its opening.
 */
static bool is_own(const char *path, uid_t uid)
{
	struct stat st;

	return !stat(path, &st) && st.st_uid == uid;
}

/* Returns true if two files in /proc have the same content. */
static bool same_text(const char *a, const char *b)
{
	char text_a[PORT_RIGHT_TEXT], text_b[PORT_RIGHT_TEXT];

	return read_text(a, text_a) && read_text(b, text_b) && !strcmp(text_a, text_b);
}

/*
 * Returns true if weftd's network namespace belongs to weftd's user namespace; otherwise no process
 * visible to weftd has rights there.
 */
static bool owns_network(void)
{
	int net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), owner;
	struct stat mine, its;
	bool same;

	if (net < 0)
		return false;
	owner = ioctl(net, NS_GET_USERNS);
	same = owner >= 0 && !fstat(owner, &its) && !stat("/proc/self/ns/user", &mine) &&
	       its.st_ino == mine.st_ino && its.st_dev == mine.st_dev;
	if (owner >= 0)
		close(owner);
	close(net);
	return same;
}

static bool has_ended(int pid_fd)
{
	struct pollfd p = {.fd = pid_fd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

static bool has_right(pid_t pid, uid_t uid, int pid_fd)
{
	char status[48], map[48], text[PORT_RIGHT_TEXT];

	if (pid_fd < 0 || pid <= 0 || !owns_network())
		return false;
	snprintf(status, sizeof(status), "/proc/%d/status", (int)pid);
	snprintf(map, sizeof(map), "/proc/%d/uid_map", (int)pid);
	/*
	 * Capabilities are relative to the process's own user namespace. Its uid map shows whether
	 * that is weftd's, without a right to inspect the process: a namespace with the whole range
	 * in one line is the initial one, or one that root configured so.
	 */
	return is_own(status, uid) && same_text(map, "/proc/self/uid_map") &&
	       read_text(status, text) && port_right_in_status(text, uid) && is_own(status, uid) &&
	       !has_ended(pid_fd);
}

/*
 * Returns the setting of weftd's network namespace, or the kernel's default if it is not readable.
 */
static uint32_t port_start(void)
{
	char text[PORT_RIGHT_TEXT], *end;
	unsigned long start;

	if (!read_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", text))
		return PORT_RIGHT_START;
	start = strtoul(text, &end, 10);
	return end == text || start > UINT16_MAX + 1 ? PORT_RIGHT_START : (uint32_t)start;
}

uint32_t port_right_first(pid_t pid, uid_t uid, int pid_fd)
{
	uint32_t start = port_start();

	return start && has_right(pid, uid, pid_fd) ? 0 : start;
}
