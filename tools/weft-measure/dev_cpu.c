/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses CPUs for the ends that no core of weftd uses. A core polls, so a client on the same CPU
 * would wait for its time slice.
 *
 * weftd's process is the listener of the NIC's socket. A CPU counts as used when it is the only one
 * on which a thread of weftd may run.
 */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host_driver/weft.h"
#include "tools/weft-measure/dev_end.h"

/* The process behind the NIC's socket; 0: not found. */
static pid_t listener(const char *device)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct ucred cred = {0};
	socklen_t bytes = sizeof(cred);
	struct weft_device *list;
	int n = weft_get_device_list(&list), i, fd;

	for (i = 0; i < n; i++) {
		if (!strcmp(list[i].name, device))
			memcpy(addr.sun_path, list[i].path, sizeof(addr.sun_path));
	}
	if (n > 0)
		weft_free_device_list(list);
	if (!addr.sun_path[0])
		return 0;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes))
		cred.pid = 0;
	close(fd);
	return cred.pid;
}

/* Adds the CPUs that threads of a process have to themselves. */
static void add_pinned(pid_t pid, cpu_set_t *taken)
{
	char path[64];
	struct dirent *entry;
	cpu_set_t set;
	DIR *dir;
	int cpu;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || sched_getaffinity(tid, sizeof(set), &set) || CPU_COUNT(&set) != 1)
			continue;
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (CPU_ISSET(cpu, &set))
				CPU_SET(cpu, taken);
		}
	}
	closedir(dir);
}

int dev_cpu_for(const char *device, uint32_t end)
{
	cpu_set_t mine, taken;
	pid_t pid = listener(device);
	int cpu, first = -1;

	CPU_ZERO(&taken);
	if (pid > 0)
		add_pinned(pid, &taken);
	if (sched_getaffinity(0, sizeof(mine), &mine))
		return -1;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &mine) || CPU_ISSET(cpu, &taken))
			continue;
		if (!end)
			return cpu;
		if (first < 0)
			first = cpu;
		else
			return cpu; /* the second end has the second one */
	}
	return first;
}
