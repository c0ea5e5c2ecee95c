/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of reports: differences between two of them, sums over processes. Calls hist.c.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/weft-irqs/hist.h"

const char *const irqs_vector_name[IRQS_VECTORS] = {
    [IRQS_HI] = "HI",           [IRQS_TIMER] = "TIMER", [IRQS_NET_TX] = "NET_TX",
    [IRQS_NET_RX] = "NET_RX",   [IRQS_BLOCK] = "BLOCK", [IRQS_IRQ_POLL] = "IRQ_POLL",
    [IRQS_TASKLET] = "TASKLET", [IRQS_SCHED] = "SCHED", [IRQS_HRTIMER] = "HRTIMER",
    [IRQS_RCU] = "RCU",
};

void irqs_add_counts(struct irqs_slot_counts *to, const struct irqs_slot_counts *from, int sign)
{
	__u64 *sum = (__u64 *)to;
	const __u64 *more = (const __u64 *)from;

	_Static_assert(sizeof(*to) % sizeof(*sum) == 0, "counters alone");
	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] = sign > 0 ? sum[i] + more[i] : sum[i] - more[i];
}

static void make_plain(char *name, size_t room)
{
	for (size_t i = 0; i < room && name[i]; i++)
		if (name[i] < ' ' || name[i] > '~')
			name[i] = '?';
}

void irqs_report_plain(struct irqs_report *report)
{
	for (uint32_t i = 0; i < report->num_rows; i++)
		make_plain(report->row[i].proc.comm, sizeof(report->row[i].proc.comm));
	for (uint32_t i = 0; i < report->num_wakes; i++)
		make_plain(report->wake[i].wake.comm, sizeof(report->wake[i].wake.comm));
	for (uint32_t i = 0; i < report->num_netdevs; i++)
		make_plain(report->netdev[i].netdev.name, sizeof(report->netdev[i].netdev.name));
}

static void wakes_since(struct irqs_report *report, const struct irqs_report *before)
{
	for (uint32_t i = 0; i < report->num_wakes; i++)
		for (uint32_t j = 0; j < before->num_wakes; j++)
			if (!memcmp(&report->wake[i].key, &before->wake[j].key,
				    sizeof(report->wake[i].key)))
				hist_since(&report->wake[i].wake.latency,
					   &before->wake[j].wake.latency);
}

static void netdevs_since(struct irqs_report *report, const struct irqs_report *before)
{
	for (uint32_t i = 0; i < report->num_netdevs; i++) {
		struct irqs_netdev *now = &report->netdev[i].netdev;

		for (uint32_t j = 0; j < before->num_netdevs; j++) {
			const struct irqs_netdev *old = &before->netdev[j].netdev;

			if (memcmp(&report->netdev[i].key, &before->netdev[j].key,
				   sizeof(report->netdev[i].key)) != 0)
				continue;
			now->polls -= old->polls;
			now->packets -= old->packets;
			now->full -= old->full;
		}
	}
}

void irqs_report_since(struct irqs_report *report, const struct irqs_report *before)
{
	report->time_ns = report->at_ns - before->at_ns;
	for (uint32_t i = 0; i < report->num_rows && i < before->num_rows; i++)
		irqs_add_counts(&report->row[i].counts, &before->row[i].counts, -1);
	wakes_since(report, before);
	netdevs_since(report, before);
	report->lost.processes -= before->lost.processes;
	report->lost.untracked -= before->lost.untracked;
	report->lost.wakes -= before->lost.wakes;
	report->lost.netdevs -= before->lost.netdevs;
	report->lost.switches -= before->lost.switches;
	report->lost.missed -= before->lost.missed;
}

static void *copy_rows(const void *rows, size_t num, size_t bytes)
{
	void *copy = calloc(num ? num : 1, bytes);

	if (copy)
		memcpy(copy, rows, num * bytes);
	return copy;
}

struct irqs_report *irqs_report_copy(const struct irqs_report *report)
{
	struct irqs_report *copy = copy_rows(report, 1, sizeof(*report));

	if (!copy)
		return NULL;
	copy->wake = copy_rows(report->wake, report->num_wakes, sizeof(*copy->wake));
	copy->netdev = copy_rows(report->netdev, report->num_netdevs, sizeof(*copy->netdev));
	if (copy->wake && copy->netdev)
		return copy;
	irqs_report_free(copy);
	return NULL;
}

void irqs_report_free(struct irqs_report *report)
{
	if (!report)
		return;
	free(report->wake);
	free(report->netdev);
	free(report);
}

void irqs_report_latency(const struct irqs_report *report, uint32_t slot, struct irqs_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
	for (uint32_t i = 0; i < report->num_wakes; i++)
		if (report->wake[i].selected &&
		    (slot == IRQS_SLOTS || slot == report->wake[i].key.slot))
			hist_sum(hist, &report->wake[i].wake.latency);
}

static void sum_vectors(const struct irqs_slot_counts *c, uint64_t *softirqs, uint64_t *ns)
{
	for (uint32_t v = 0; v < IRQS_VECTORS; v++) {
		*softirqs += c->softirqs[v];
		*ns += c->softirq_ns[v];
	}
}

void irqs_report_sum(const struct irqs_report *report, struct irqs_counts *counts)
{
	struct irqs_hist hist;

	memset(counts, 0, sizeof(*counts));
	counts->time_ns = report->time_ns;
	for (uint32_t i = 0; i < report->num_rows; i++) {
		const struct irqs_slot_counts *c = &report->row[i].counts;

		sum_vectors(c, &counts->machine_softirqs, &counts->machine_softirq_ns);
		if (i < IRQS_SLOT_OTHERS)
			continue;
		sum_vectors(c, &counts->softirqs, &counts->softirq_ns);
		counts->cpu_ns += c->cpu_ns;
		counts->voluntary += c->voluntary;
		counts->involuntary += c->involuntary;
		counts->wakeups += c->wakeups;
		counts->hard_irqs += c->hard_irqs;
		counts->hard_irq_ns += c->hard_irq_ns;
		counts->napi_polls += c->napi_polls;
		counts->napi_packets += c->napi_packets;
	}
	irqs_report_latency(report, IRQS_SLOTS, &hist);
	counts->wake_latency = hist_latency(&hist);
	counts->lost = report->lost.untracked + report->lost.wakes + report->lost.netdevs +
		       report->lost.switches + report->lost.missed;
}
