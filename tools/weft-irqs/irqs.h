/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counting interrupts, wake-ups and switches of processes while something runs.
 *
 * irqs_open() loads the BPF programs, irqs_start() lets them count, irqs_read() sums the counts
 * over the requested processes; irqs_report() has them by process, interface and waker. Used by
 * weft-irqs, and by weft-tune for its objective cpu. Calls libbpf. Needs root, or CAP_BPF and
 * CAP_PERFMON, and a kernel of 5.12 or later with BTF.
 *
 * A struct irqs belongs to one thread at a time. Functions return 0, or -errno after writing an
 * error message of one line to the message of irqs_open().
 */
#ifndef WEFT_IRQS_IRQS_H
#define WEFT_IRQS_IRQS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/weft-irqs/irqs_shared.h"

struct irqs;

struct irqs_options {
	const pid_t *pids; /* counted, with all threads, and the children they make from then on */
	uint32_t num_pids;
	const char *const
	    *names;         /* likewise processes of this name (/proc/PID/comm), now or later */
	uint32_t num_names; /* at most IRQS_NAMES */
	/*
	 * Wakers in the latencies: names or pids of processes, names of softirqs (NET_RX), timer,
	 * irq. None: all of them.
	 */
	const char *const *wakers;
	uint32_t num_wakers;
	bool all;     /* every process of the machine */
	bool raw;     /* raw tracepoints also where the kernel takes tp_btf */
	bool verbose; /* messages of libbpf go to stderr */
};

/* Summary of a histogram. A percentile is exact to within a quarter; all 0 where count is. */
struct irqs_latency {
	uint64_t count;
	uint64_t mean_ns;
	uint64_t p50_ns;
	uint64_t p90_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
};

/* Since irqs_start(): sums over the requested processes. */
struct irqs_counts {
	uint64_t time_ns; /* of the clock */
	uint64_t cpu_ns;  /* with interrupts on top of them, as in getrusage(2) */
	uint64_t voluntary;
	uint64_t involuntary;
	uint64_t wakeups;
	uint64_t softirqs; /* that ran on top of them */
	uint64_t softirq_ns;
	uint64_t hard_irqs;
	uint64_t hard_irq_ns;
	uint64_t napi_polls;
	uint64_t napi_packets;
	struct irqs_latency wake_latency; /* from wake-up to running */
	uint64_t machine_softirqs;        /* on all processors, on top of any process */
	uint64_t machine_softirq_ns;
	uint64_t
	    lost; /* events that were not counted for want of room: if not 0, figures are too low */
};

/*
 * Loads the programs; nothing is counted yet. message: room for one line of at most message_bytes,
 * kept for the session. *out is only valid on 0: -ESRCH an unknown pid, -EPERM not allowed,
 * -EOPNOTSUPP the kernel cannot, -EINVAL too many names.
 */
int irqs_open(struct irqs **out, const struct irqs_options *options, char *message,
	      size_t message_bytes) __attribute__((warn_unused_result));

/* Also counts this process, and its children from now on. -ESRCH: there is none. */
int irqs_add_pid(struct irqs *irqs, pid_t pid) __attribute__((warn_unused_result));

/* Starts counting. A second call restarts from zero. */
int irqs_start(struct irqs *irqs) __attribute__((warn_unused_result));

/* Reads the counts since irqs_start(); counting goes on. */
int irqs_read(struct irqs *irqs, struct irqs_counts *counts) __attribute__((warn_unused_result));

/* Ends counting. NULL is allowed. */
void irqs_close(struct irqs *irqs);

/* ---- by process, interface and waker -------------------------------------------------------- */

struct irqs_row {
	struct irqs_proc proc; /* pid 0: a slot below IRQS_SLOT_FIRST */
	struct irqs_slot_counts counts;
};

struct irqs_wake_row {
	struct irqs_wake_key key;
	struct irqs_wake wake;
	bool selected; /* one of irqs_options.wakers */
};

struct irqs_netdev_row {
	struct irqs_netdev_key key;
	struct irqs_netdev netdev;
};

struct irqs_report {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t time_ns;
	struct irqs_row row[IRQS_SLOTS];
	uint32_t num_rows;
	uint32_t num_wakes;
	uint32_t num_netdevs;
	struct irqs_wake_row *wake;
	struct irqs_netdev_row *netdev;
	struct irqs_lost lost;
	const char *const *missing; /* tracepoints that this kernel lacks; the session's */
	uint32_t num_missing;
};

/* Everything since irqs_start(). The caller frees *out by irqs_report_free(). */
int irqs_report(struct irqs *irqs, struct irqs_report **out) __attribute__((warn_unused_result));

/* NULL: out of memory. */
struct irqs_report *irqs_report_copy(const struct irqs_report *report);

/* Subtracts before, an older report of the same irqs_start(), from report. */
void irqs_report_since(struct irqs_report *report, const struct irqs_report *before);

/*
 * Names of processes and interfaces as weftd shows them: a ? for each byte that is not printable
 * ASCII. The kernel allows any bytes in a process's name, and cuts it at the 16th. Reports have
 * names in this form.
 */
void irqs_report_plain(struct irqs_report *report);
void irqs_report_free(struct irqs_report *report);

/* Sums over the requested processes, as irqs_read() has them. */
void irqs_report_sum(const struct irqs_report *report, struct irqs_counts *counts);

/*
 * All of hist's latencies of the requested processes, of wakers selected; slot: of one, or
 * IRQS_SLOTS.
 */
void irqs_report_latency(const struct irqs_report *report, uint32_t slot, struct irqs_hist *hist);

/* to += from, or to -= from with a negative sign. */
void irqs_add_counts(struct irqs_slot_counts *to, const struct irqs_slot_counts *from, int sign);

/* NET_RX and so on, as /proc/softirqs has them. */
extern const char *const irqs_vector_name[IRQS_VECTORS];

#endif /* WEFT_IRQS_IRQS_H */
