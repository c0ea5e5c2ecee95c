/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupts and processor time of a Linux host; see net_host.h.
 */
#include "tools/weft-measure/net_host.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_IRQS = 256, /* of one device */
};

/* Numbers in a directory of names that are numbers; 0: there is none. */
static size_t read_numbers(const char *path, uint32_t *numbers)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)) && count < MAX_IRQS) {
		if (isdigit((unsigned char)entry->d_name[0]))
			numbers[count++] = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	closedir(dir);
	return count;
}

/* The device's own, or its parent's: a virtio device's are the PCI device's above it. */
static size_t irq_numbers(const char *name, uint32_t *numbers)
{
	static const char *const forms[] = {"/sys/class/net/%s/device/msi_irqs",
					    "/sys/class/net/%s/device/../msi_irqs"};
	char path[256];
	size_t i, count = 0;

	for (i = 0; i < 2 && !count; i++) {
		snprintf(path, sizeof(path), forms[i], name);
		count = read_numbers(path, numbers);
	}
	return count;
}

/* True if a word of the text is the name, or begins with it before a character of no word. */
static bool has_name(const char *text, const char *name)
{
	size_t chars = strlen(name);
	const char *at = text;

	while ((at = strstr(at, name))) {
		bool starts = at == text || !isalnum((unsigned char)at[-1]);

		if (starts && !isalnum((unsigned char)at[chars]))
			return true;
		at += chars;
	}
	return false;
}

bool net_host_irq_line(const char *line, const char *name, const uint32_t *numbers, size_t count,
		       uint64_t *sum)
{
	char *end;
	unsigned long number = strtoul(line, &end, 10), n;
	uint64_t all = 0;
	size_t i;
	bool ours = false;

	/* "NMI:" and its like are no device's. */
	if (end == line || *end != ':')
		return false;
	line = end + 1;
	/* A count for each processor, then the controller and names. */
	for (n = strtoul(line, &end, 10); end != line; n = strtoul(line, &end, 10)) {
		if (*end && !isspace((unsigned char)*end))
			break;
		all += n;
		line = end;
	}
	for (i = 0; i < count && !ours; i++)
		ours = numbers[i] == number;
	if (!count)
		ours = has_name(line, name);
	if (ours)
		*sum += all;
	return ours;
}

static int read_irqs(const char *name, struct net_host *host)
{
	uint32_t numbers[MAX_IRQS];
	size_t count = irq_numbers(name, numbers), bytes = 0;
	FILE *f = fopen("/proc/interrupts", "re");
	char *line = NULL;

	if (!f)
		return -errno;
	while (getline(&line, &bytes, f) >= 0) {
		if (net_host_irq_line(line, name, numbers, count, &host->irqs))
			host->has_irqs = true;
	}
	free(line);
	fclose(f);
	return 0;
}

static int read_cpu(struct net_host *host)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	int n;

	if (!f)
		return -errno;
	n = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
		   &iowait, &irq, &softirq, &steal);
	fclose(f);
	if (n != 8)
		return -EPROTO;
	host->busy_s = (double)(user + nice + system + irq + softirq) * tick_s;
	host->idle_s = (double)(idle + iowait) * tick_s;
	return 0;
}

int net_host_read(const char *name, struct net_host *host)
{
	int rc;

	memset(host, 0, sizeof(*host));
	rc = name ? read_irqs(name, host) : 0;
	return rc ? rc : read_cpu(host);
}
