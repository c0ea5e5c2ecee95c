/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of the process, the kernel and the cgroup, and /etc/subuid: see user_tables.h. Calls the
 * kernel: getrlimit(2), proc(5), cgroups(7), subuid(5).
 */
#include "dpdk_app/client/user_tables.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/hostmem.h"
#include "dpdk_app/client/user.h"

enum {
	TABLES_TEXT_BYTES = 16384,
	TABLES_PATH_CHARS = 512,
	TABLES_NAMES_BYTES = 4096, /* buffer for a passwd entry */
	TABLES_SUBUIDS = 1024,
	TABLES_OWN_FDS = 128, /* weftd's own descriptors, including the control thread's reserve */
	TABLES_MIN_FDS = 64,  /* for a dozen processes */
	TABLES_MEMORY_PARTS = 8, /* this fraction is reserved for tables and packets */
};
#define TABLES_MIN_BYTES (UINT64_C(64) << 20)

/* ---- owners of uids */

struct range {
	uid_t start;
	uint64_t count;
	uid_t owner;
};

static struct range ranges[TABLES_SUBUIDS];
static uint32_t num_ranges;

/* Resolves a name or number of subuid(5). */
static bool find_owner(const char *name, uid_t *uid)
{
	struct passwd entry, *found = NULL;
	char text[TABLES_NAMES_BYTES];
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	if (*name && !*end) {
		*uid = (uid_t)number;
		return true;
	}
	if (getpwnam_r(name, &entry, text, sizeof(text), &found) || !found)
		return false;
	*uid = entry.pw_uid;
	return true;
}

void user_tables_read_ranges(FILE *file)
{
	char line[TABLES_PATH_CHARS], name[TABLES_PATH_CHARS];
	unsigned long start, count;

	num_ranges = 0;
	while (num_ranges < TABLES_SUBUIDS && fgets(line, sizeof(line), file)) {
		struct range *range = &ranges[num_ranges];

		if (sscanf(line, "%511[^:]:%lu:%lu", name, &start, &count) != 3 ||
		    !find_owner(name, &range->owner))
			continue;
		range->start = (uid_t)start;
		range->count = count;
		num_ranges++;
	}
}

void user_tables_read_subuids(void)
{
	FILE *file = fopen("/etc/subuid", "re");

	num_ranges = 0;
	if (!file)
		return; /* no subuids are assigned */
	user_tables_read_ranges(file);
	fclose(file);
}

uid_t user_tables_owner(uid_t uid)
{
	for (uint32_t i = 0; i < num_ranges; i++) {
		if (uid >= ranges[i].start && uid - ranges[i].start < ranges[i].count)
			return ranges[i].owner;
	}
	return uid;
}

/* ---- available resources */

/* Reads a file of proc or sys as text; false: not readable. */
static bool read_text(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_number(const char *path, uint64_t *value)
{
	char text[64], *end;

	if (!read_text(path, text, sizeof(text)))
		return false;
	*value = strtoull(text, &end, 10);
	return end != text; /* the text was "max" */
}

uint64_t user_tables_kb(const char *text, const char *key)
{
	size_t chars = strlen(key);

	while (text && *text) {
		if (!strncmp(text, key, chars) && text[chars] == ':')
			return strtoull(text + chars + 1, NULL, 10) << 10;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return 0;
}

bool user_tables_cgroup(const char *text, const char *controller, char *path, size_t chars)
{
	while (text && *text) {
		const char *list = strchr(text, ':');
		const char *at = list ? strchr(list + 1, ':') : NULL;
		const char *end = strchr(text, '\n');
		size_t length;

		if (!at || (end && at > end))
			return false;
		length = end ? (size_t)(end - at - 1) : strlen(at + 1);
		if ((size_t)(at - list - 1) == strlen(controller) &&
		    !strncmp(list + 1, controller, strlen(controller)) && length < chars) {
			memcpy(path, at + 1, length);
			path[length] = '\0';
			return true;
		}
		text = end ? end + 1 : NULL;
	}
	return false;
}

/*
 * Returns the smallest limit of a cgroup and its ancestors, minus their usage (used_file NULL: 0).
 */
static uint64_t cgroup_left(const char *root, const char *group, const char *max_file,
			    const char *used_file)
{
	char path[TABLES_PATH_CHARS], file[TABLES_PATH_CHARS + 64];
	uint64_t left = UINT64_MAX, max, used;

	snprintf(path, sizeof(path), "%s%s", root, group);
	for (;;) {
		char *slash = strrchr(path, '/');

		snprintf(file, sizeof(file), "%s/%s", path, max_file);
		if (read_number(file, &max)) {
			used = 0;
			if (used_file)
				snprintf(file, sizeof(file), "%s/%s", path, used_file);
			if ((!used_file || read_number(file, &used)) &&
			    (max > used ? max - used : 0) < left)
				left = max > used ? max - used : 0;
		}
		if (!slash || slash < path + strlen(root))
			return left;
		*slash = '\0';
	}
}

/* key: line of /proc/meminfo; used_file*: usage files of cgroup versions 2 and 1. */
static uint64_t memory_bytes(const char *key, const char *used_file, const char *used_file_v1)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char text[TABLES_TEXT_BYTES], group[TABLES_PATH_CHARS];
	uint64_t left = UINT64_MAX, n;

	if (read_text("/proc/meminfo", text, sizeof(text))) {
		n = user_tables_kb(text, key);
		if (n)
			left = n;
	}
	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return left;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (!user_tables_cgroup(text, "", group, sizeof(group)))
			break;
		n = cgroup_left(roots[i], group, "memory.max", used_file);
		left = n < left ? n : left;
	}
	if (user_tables_cgroup(text, "memory", group, sizeof(group))) {
		n = cgroup_left("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
				used_file_v1);
		left = n < left ? n : left;
	}
	return left;
}

uint64_t user_tables_memory_bytes(void)
{
	return memory_bytes("MemAvailable", "memory.current", "memory.usage_in_bytes");
}

uint64_t user_tables_memory_total(void)
{
	return memory_bytes("MemTotal", NULL, NULL);
}

static uint64_t for_processes(uint64_t memory)
{
	uint64_t bytes = memory - memory / TABLES_MEMORY_PARTS;

	return bytes < TABLES_MIN_BYTES ? TABLES_MIN_BYTES : bytes;
}

struct user_tables user_find_tables(void)
{
	struct user_tables tables = {.connections = CLIENT_MAX_TOTAL};
	struct rlimit limit;

	tables.descriptors = TABLES_MIN_FDS;
	/* TCP ports may use the other half: tcp_ports.c. */
	if (!getrlimit(RLIMIT_NOFILE, &limit) &&
	    limit.rlim_cur / 2 > TABLES_OWN_FDS + TABLES_MIN_FDS)
		tables.descriptors = limit.rlim_cur / 2 - TABLES_OWN_FDS;
	tables.bytes = for_processes(user_tables_memory_bytes());
	/*
	 * The machine's total memory, not the free part: processes register memory that they
	 * already use.
	 */
	tables.memory = for_processes(user_tables_memory_total());
	tables.mappings = hostmem_max();
	return tables;
}
