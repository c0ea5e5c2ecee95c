/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the maps of weft_irqs.bpf.c into reports. Calls libbpf, irqs.c (irqs_flush) and hist.c,
 * irqs_report.c. A report is taken while counting goes on: its parts are some microseconds apart.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "tools/weft-irqs/hist.h"
#include "tools/weft-irqs/irqs_private.h"

/* Values of a map per processor, one for each, at strides of 8 bytes. */
struct values {
	char *bytes;
	size_t stride;
	int num;
};

static int values_init(struct values *v, const struct irqs *irqs, size_t bytes)
{
	v->stride = (bytes + 7) & ~(size_t)7;
	v->num = irqs->num_cpus;
	v->bytes = calloc((size_t)v->num, v->stride);
	return v->bytes ? 0 : -ENOMEM;
}

static const void *value_of(const struct values *v, int cpu)
{
	return v->bytes + (size_t)cpu * v->stride;
}

static int read_rows(struct irqs *irqs, struct irqs_report *report)
{
	uint32_t used = __atomic_load_n(&irqs->skel->data->slots_used, __ATOMIC_RELAXED);
	struct values v;
	int rc = values_init(&v, irqs, sizeof(struct irqs_slot_counts));

	report->num_rows = used < IRQS_SLOTS ? used : IRQS_SLOTS;
	for (uint32_t i = 0; rc == 0 && i < report->num_rows; i++) {
		rc = bpf_map_lookup_elem(bpf_map__fd(irqs->skel->maps.slots), &i,
					 &report->row[i].proc);
		if (rc == 0)
			rc = bpf_map_lookup_elem(bpf_map__fd(irqs->skel->maps.counts), &i, v.bytes);
		for (int cpu = 0; rc == 0 && cpu < v.num; cpu++)
			irqs_add_counts(&report->row[i].counts, value_of(&v, cpu), 1);
	}
	free(v.bytes);
	return rc;
}

/*
 * Calls fn with the key and the values of every entry of a hash. Entries are never deleted, so only
 * entries that are made meanwhile can be missed.
 */
static int each_entry(int fd, const struct values *v, void *key, size_t key_bytes,
		      int (*fn)(struct irqs_report *, const void *key, const struct values *),
		      struct irqs_report *report)
{
	char previous[32];
	int rc = bpf_map_get_next_key(fd, NULL, key);

	while (rc == 0) {
		rc = bpf_map_lookup_elem(fd, key, v->bytes);
		if (rc == 0)
			rc = fn(report, key, v);
		if (rc)
			return rc;
		memcpy(previous, key, key_bytes);
		rc = bpf_map_get_next_key(fd, previous, key);
	}
	return rc == -ENOENT ? 0 : rc;
}

static int add_wake(struct irqs_report *report, const void *key, const struct values *v)
{
	struct irqs_wake_row *row = &report->wake[report->num_wakes];

	if (report->num_wakes == IRQS_WAKES)
		return -E2BIG;
	row->key = *(const struct irqs_wake_key *)key;
	for (int cpu = 0; cpu < v->num; cpu++) {
		const struct irqs_wake *wake = value_of(v, cpu);

		hist_sum(&row->wake.latency, &wake->latency);
		if (wake->comm[0] && !row->wake.comm[0])
			memcpy(row->wake.comm, wake->comm, sizeof(row->wake.comm));
	}
	report->num_wakes++;
	return 0;
}

static int add_netdev(struct irqs_report *report, const void *key, const struct values *v)
{
	struct irqs_netdev_row *row = &report->netdev[report->num_netdevs];

	if (report->num_netdevs == IRQS_NETDEVS)
		return -E2BIG;
	row->key = *(const struct irqs_netdev_key *)key;
	for (int cpu = 0; cpu < v->num; cpu++) {
		const struct irqs_netdev *netdev = value_of(v, cpu);

		row->netdev.polls += netdev->polls;
		row->netdev.packets += netdev->packets;
		row->netdev.full += netdev->full;
		if (netdev->name[0] && !row->netdev.name[0])
			memcpy(row->netdev.name, netdev->name, sizeof(row->netdev.name));
	}
	report->num_netdevs++;
	return 0;
}

/* Sorts by process, then by waker: a hash has no order. */
static int by_key(const void *a, const void *b)
{
	const struct irqs_wake_key *x = &((const struct irqs_wake_row *)a)->key;
	const struct irqs_wake_key *y = &((const struct irqs_wake_row *)b)->key;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->waker != y->waker)
		return x->waker < y->waker ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int read_wakes(struct irqs *irqs, struct irqs_report *report)
{
	struct irqs_wake_key key;
	struct values v;
	int rc = values_init(&v, irqs, sizeof(struct irqs_wake));

	if (rc == 0)
		rc = each_entry(bpf_map__fd(irqs->skel->maps.wakes), &v, &key, sizeof(key),
				add_wake, report);
	qsort(report->wake, report->num_wakes, sizeof(*report->wake), by_key);
	free(v.bytes);
	return rc;
}

static int read_netdevs(struct irqs *irqs, struct irqs_report *report)
{
	struct irqs_netdev_key key;
	struct values v;
	int rc = values_init(&v, irqs, sizeof(struct irqs_netdev));

	if (rc == 0)
		rc = each_entry(bpf_map__fd(irqs->skel->maps.netdevs), &v, &key, sizeof(key),
				add_netdev, report);
	free(v.bytes);
	return rc;
}

/* Events that the programs could not count, and those that the kernel did not allow. */
static int read_lost(struct irqs *irqs, struct irqs_lost *lost)
{
	struct bpf_program *program;
	struct bpf_prog_info info;
	uint32_t bytes;
	int fd, rc;

	*lost = irqs->skel->bss->lost;
	bpf_object__for_each_program(program, irqs->skel->obj)
	{
		fd = bpf_program__fd(program);
		if (fd < 0) /* of the other kind */
			continue;
		memset(&info, 0, sizeof(info));
		bytes = sizeof(info);
		rc = bpf_obj_get_info_by_fd(fd, &info, &bytes);
		if (rc)
			return rc;
		lost->missed += info.recursion_misses;
	}
	return 0;
}

static bool matches(const char *waker, const struct irqs_wake_row *row)
{
	char pid[16];

	switch ((enum irqs_waker)row->key.waker) {
	case IRQS_BY_PROCESS:
		snprintf(pid, sizeof(pid), "%u", row->key.id);
		return !strcmp(waker, pid) || !strncmp(waker, row->wake.comm, IRQS_NAME);
	case IRQS_BY_SOFTIRQ:
		return row->key.id < IRQS_VECTORS && !strcmp(waker, irqs_vector_name[row->key.id]);
	case IRQS_BY_TIMER:
		return !strcmp(waker, "timer");
	case IRQS_BY_IRQ:
		return !strcmp(waker, "irq");
	case IRQS_WAKERS:
		break;
	}
	return false;
}

static void select_wakes(const struct irqs *irqs, struct irqs_report *report)
{
	const struct irqs_options *o = &irqs->options;

	for (uint32_t i = 0; i < report->num_wakes; i++) {
		report->wake[i].selected = !o->num_wakers;
		for (uint32_t w = 0; w < o->num_wakers; w++)
			if (matches(o->wakers[w], &report->wake[i]))
				report->wake[i].selected = true;
	}
}

int irqs_snapshot(struct irqs *irqs, struct irqs_report **out)
{
	struct irqs_report *report = calloc(1, sizeof(*report));
	int rc = 0;

	*out = NULL;
	if (report) {
		report->wake = calloc(IRQS_WAKES, sizeof(*report->wake));
		report->netdev = calloc(IRQS_NETDEVS, sizeof(*report->netdev));
	}
	if (!report || !report->wake || !report->netdev)
		rc = -ENOMEM;
	if (rc == 0)
		rc = irqs_flush(irqs);
	if (rc == 0) {
		report->at_ns = clock_now_ns();
		report->missing = irqs->missing;
		report->num_missing = irqs->num_missing;
		rc = read_rows(irqs, report);
		if (rc == 0)
			rc = read_wakes(irqs, report);
		if (rc == 0)
			rc = read_netdevs(irqs, report);
		if (rc == 0)
			rc = read_lost(irqs, &report->lost);
		if (rc)
			irqs_fail(irqs, rc, "cannot read the BPF maps: %s", strerror(-rc));
	}
	if (rc) {
		irqs_report_free(report);
		return rc;
	}
	select_wakes(irqs, report);
	irqs_report_plain(report);
	*out = report;
	return 0;
}

int irqs_report(struct irqs *irqs, struct irqs_report **out)
{
	int rc;

	*out = NULL;
	if (!irqs->base)
		return irqs_fail(irqs, -EINVAL, "nothing has been started");
	rc = irqs_snapshot(irqs, out);
	if (rc == 0)
		irqs_report_since(*out, irqs->base);
	return rc;
}

int irqs_read(struct irqs *irqs, struct irqs_counts *counts)
{
	struct irqs_report *report;
	int rc = irqs_report(irqs, &report);

	if (rc == 0)
		irqs_report_sum(report, counts);
	else
		memset(counts, 0, sizeof(*counts));
	if (rc == 0)
		irqs_report_free(report);
	return rc;
}
