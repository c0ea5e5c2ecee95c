/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks of the machine: kernel, CPUs, limits, memory, the group, the firewall. See doctor.h.
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/doctor.h"

enum {
	NEED_MAJOR = 5, /* AF_XDP with need_wakeup and BPF skeletons: 5.10 */
	NEED_MINOR = 10,
	NEED_FILES = 1024,
	NEED_MAPS = 65530,
	GROUPS_MAX = 256,
	MEMLOCK_SMALL = 8 << 20,
};

static void look_at_kernel(struct doctor *d)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return;
	if (major < NEED_MAJOR || (major == NEED_MAJOR && minor < NEED_MINOR))
		doctor_add(d, DOCTOR_WARN, "kernel",
			   "use Linux 5.10 or later for ports of interfaces",
			   "Linux %s lacks parts of AF_XDP", name.release);
	else
		doctor_add(d, DOCTOR_OK, "kernel", NULL, "Linux %s", name.release);
}

static void look_at_cpus(struct doctor *d)
{
	long num = sysconf(_SC_NPROCESSORS_ONLN);

	if (num < 2)
		doctor_add(d, DOCTOR_WARN, "CPUs", "use a machine of two CPUs or more",
			   "one CPU: weftd and the programs take turns on it");
	else if (num == 2)
		doctor_add(d, DOCTOR_NOTE, "CPUs",
			   "expect MPI programs of two ranks to share a CPU",
			   "two CPUs: weftd polls on one of them");
	else
		doctor_add(d, DOCTOR_OK, "CPUs", NULL, "%ld CPUs", num);
}

static void look_at_limits(struct doctor *d)
{
	struct rlimit files, memlock;
	char text[64];

	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < NEED_FILES)
		doctor_add(d, DOCTOR_WARN, "open files", "ulimit -n 1024, or more",
			   "%" PRIu64 " for this user: a queue pair with events takes one",
			   (uint64_t)files.rlim_cur);
	/* libweft's memory is memfds, which are not locked; other verbs programs check it. */
	if (!getrlimit(RLIMIT_MEMLOCK, &memlock) && memlock.rlim_cur < MEMLOCK_SMALL)
		doctor_add(d, DOCTOR_NOTE, "locked memory",
			   "ulimit -l unlimited, if an MPI library complains",
			   "%" PRIu64 " KiB for this user; weft needs none, some programs check it",
			   (uint64_t)memlock.rlim_cur >> 10);
	if (doctor_line(d, text, sizeof(text), "/proc/sys/vm/max_map_count") &&
	    strtoul(text, NULL, 10) < NEED_MAPS)
		doctor_add(d, DOCTOR_WARN, "mappings", "sysctl vm.max_map_count=65530",
			   "vm.max_map_count is %s: weftd maps the memory of all programs", text);
}

/* Events of programs go by asynchronous I/O, which all programs of the machine share. */
static void look_at_aio(struct doctor *d)
{
	char most[32], used[32];

	if (!doctor_line(d, most, sizeof(most), "/proc/sys/fs/aio-max-nr") ||
	    !doctor_line(d, used, sizeof(used), "/proc/sys/fs/aio-nr"))
		return;
	if (strtoul(used, NULL, 10) + 1024 > strtoul(most, NULL, 10))
		doctor_add(d, DOCTOR_WARN, "asynchronous I/O", "sysctl fs.aio-max-nr=1048576",
			   "%s of %s requests are taken: weftd does not start without some", used,
			   most);
	else
		doctor_add(d, DOCTOR_OK, "asynchronous I/O", NULL, "%s of %s requests are taken",
			   used, most);
}

static void look_at_swap(struct doctor *d)
{
	char path[512], line[128];
	uint64_t total = 0, left = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/meminfo", d->root);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		(void)sscanf(line, "SwapTotal: %" SCNu64, &total);
		(void)sscanf(line, "SwapFree: %" SCNu64, &left);
	}
	if (file)
		fclose(file);
	if (total > left && (total - left) > total / 10)
		doctor_add(d, DOCTOR_NOTE, "memory", "add memory, or end what takes it",
			   "%" PRIu64
			   " MiB are swapped out: copies of such memory wait for the disk",
			   (total - left) >> 10);
}

/* Ordinary memory serves as well but for TLB misses; cards without an IOMMU need them. */
static void look_at_hugepages(struct doctor *d)
{
	static const char dir[] = "/sys/kernel/mm/hugepages/hugepages-2048kB";
	char all[32], unused[32];

	if (!doctor_line(d, all, sizeof(all), "%s/nr_hugepages", dir) ||
	    !doctor_line(d, unused, sizeof(unused), "%s/free_hugepages", dir))
		return;
	if (strtoul(all, NULL, 10) == 0)
		doctor_add(d, DOCTOR_OK, "hugepages", NULL,
			   "there are none: weftd uses ordinary memory");
	else
		doctor_add(d, DOCTOR_OK, "hugepages", NULL, "%s of %s of 2 MiB are free", unused,
			   all);
}

static void look_at_group(struct doctor *d)
{
	const struct group *weft = getgrnam("weft");
	gid_t groups[GROUPS_MAX];
	int num = getgroups(GROUPS_MAX, groups);

	if (!geteuid())
		return;
	if (!weft) {
		doctor_add(d, DOCTOR_NOTE, "group", "systemd-sysusers, after make install",
			   "there is no group weft: only weftd's own user may attach");
		return;
	}
	for (int i = 0; i < num; i++)
		if (groups[i] == weft->gr_gid)
			return;
	if (getegid() != weft->gr_gid)
		doctor_add(d, DOCTOR_WARN, "group", "usermod -aG weft USER, and log in again",
			   "you are not in the group weft: programs of yours may not attach");
}

/* AF_XDP takes frames before nftables sees them. */
static void look_at_firewall(struct doctor *d)
{
	char line[256];

	if (doctor_line(d, line, sizeof(line), "/proc/net/nf_conntrack_stat") ||
	    doctor_line(d, line, sizeof(line), "/proc/net/stat/nf_conntrack"))
		doctor_add(d, DOCTOR_NOTE, "firewall",
			   "on the switches between, let UDP 47810 to 47817, the TCP ports in use "
			   "and EtherType 0x88b5 pass",
			   "this machine filters packets; frames of weft's interfaces pass its "
			   "nftables by");
}

void doctor_cpu(struct doctor *d, const char *subject, unsigned long cpu)
{
	char governor[64];

	if (doctor_line(d, governor, sizeof(governor),
			"/sys/devices/system/cpu/cpu%lu/cpufreq/scaling_governor", cpu) &&
	    strcmp(governor, "performance") != 0)
		doctor_add(d, DOCTOR_NOTE, subject, "cpupower frequency-set -g performance",
			   "CPU %lu changes its frequency (governor %s)", cpu, governor);
}

void doctor_numa(struct doctor *d, const char *subject, const char *device, unsigned long cpu)
{
	char text[256], cure[320];
	long node;

	if (!doctor_line(d, text, sizeof(text), "%s/numa_node", device))
		return;
	node = strtol(text, NULL, 10);
	if (node < 0 ||
	    !doctor_line(d, text, sizeof(text), "/sys/devices/system/node/node%ld/cpulist", node) ||
	    doctor_in_list(text, cpu))
		return;
	snprintf(cure, sizeof(cure), "cores among %s, the CPUs of that node", text);
	doctor_add(d, DOCTOR_NOTE, subject, cure,
		   "its device is on NUMA node %ld, and CPU %lu is on another", node, cpu);
}

/* Finds a VLAN on the interface in lines of "eth1.5 | 5 | eth1". */
static bool has_vlan(const struct doctor *d, const char *device, char *name, size_t bytes)
{
	char path[512], line[256], vlan[64], under[64];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/net/vlan/config", d->root);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		found =
		    sscanf(line, "%63s | %*u | %63s", vlan, under) == 2 && !strcmp(under, device);
		if (found)
			snprintf(name, bytes, "%s", vlan);
	}
	if (file)
		fclose(file);
	return found;
}

void doctor_offloads(struct doctor *d, const char *subject, const char *device, uint32_t offloads)
{
	char cure[160], vlan[64];

	snprintf(cure, sizeof(cure), "ethtool -K %s lro off", device);
	if (offloads & DOCTOR_OFFLOAD_LRO)
		doctor_add(d, DOCTOR_WARN, subject, cure,
			   "%s joins received segments (LRO): its driver takes no XDP program, and "
			   "AF_PACKET loses the joined ones",
			   device);
	snprintf(cure, sizeof(cure), "ethtool -K %s rxvlan off", device);
	if (offloads & DOCTOR_OFFLOAD_RX_VLAN && has_vlan(d, device, vlan, sizeof(vlan)))
		doctor_add(d, DOCTOR_NOTE, subject, cure,
			   "%s takes off the tags of %s, whose frames look like frames of the NIC",
			   device, vlan);
}

void doctor_machine(struct doctor *d)
{
	look_at_kernel(d);
	look_at_cpus(d);
	look_at_limits(d);
	look_at_aio(d);
	look_at_swap(d);
	look_at_hugepages(d);
	look_at_group(d);
	look_at_firewall(d);
}
