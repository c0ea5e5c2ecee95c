/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to the BPF programs of weft-irqs and the rest of it: the values of the maps.
 *
 * Included by weft_irqs.bpf.c in the kernel, and by irqs.h. Fixed-size; times in nanoseconds.
 */
#ifndef WEFT_IRQS_SHARED_H
#define WEFT_IRQS_SHARED_H

/* No <stdint.h>: clang's BPF target has none of its own. */
#include <linux/types.h>

/* Every counted process has a slot for the whole session, also after its end. */
enum irqs_slot {
	IRQS_SLOT_REST,   /* processes that were not requested */
	IRQS_SLOT_IDLE,   /* the processor was idle */
	IRQS_SLOT_OTHERS, /* requested, but there was no slot left */
	IRQS_SLOT_FIRST,
	IRQS_SLOTS = 512,
};

enum {
	IRQS_PROCESSES = 8192, /* live processes */
	IRQS_THREADS = 8192,   /* threads of counted processes that have slept */
	IRQS_WAKES = 1024,     /* pairs of a process and its waker */
	IRQS_NETDEVS = 256,
	IRQS_NAME = 16, /* TASK_COMM_LEN, IFNAMSIZ */
	IRQS_NAMES = 8, /* --comm */
	/* Buckets of a power of two: four, so a value is known to within a quarter. */
	IRQS_SUB_BITS = 2,
	IRQS_SUBS = 1 << IRQS_SUB_BITS,
	IRQS_BUCKETS = 144, /* up to 2^37 ns, 137 s */
};

/* Softirq vectors in the kernel's order (enum of linux/interrupt.h, part of its ABI). */
enum irqs_vector {
	IRQS_HI,
	IRQS_TIMER,
	IRQS_NET_TX,
	IRQS_NET_RX,
	IRQS_BLOCK,
	IRQS_IRQ_POLL,
	IRQS_TASKLET,
	IRQS_SCHED,
	IRQS_HRTIMER,
	IRQS_RCU,
	IRQS_VECTORS,
};

/* Kinds of wakers. */
enum irqs_waker {
	IRQS_BY_PROCESS, /* id: its pid */
	IRQS_BY_SOFTIRQ, /* id: the vector */
	IRQS_BY_TIMER,   /* a high-resolution timer: a sleep or a time-out ended */
	IRQS_BY_IRQ,     /* the handler of a hard interrupt */
	IRQS_WAKERS,
};

/* Counts of a slot. Interrupts count for the process on top of which they ran. */
struct irqs_slot_counts {
	__u64 cpu_ns; /* softirqs and interrupts on top included, as getrusage(2) has it */
	__u64 voluntary;
	__u64 involuntary;
	__u64 wakeups;       /* its threads were woken from sleep */
	__u64 wakeups_awake; /* likewise before they had fallen asleep: no switch follows */
	__u64 wakes_given;   /* it woke others, or an interrupt on top of it did */
	__u64 hard_irqs;
	__u64 hard_irq_ns;
	__u64 napi_polls;
	__u64 napi_packets;
	__u64 softirqs[IRQS_VECTORS];
	__u64 softirq_ns[IRQS_VECTORS];
};

/* Process of a slot. */
struct irqs_proc {
	__u32 pid;
	char comm[IRQS_NAME];
};

/* Entry of map procs, by pid. start_ns 0: not known. */
struct irqs_proc_ref {
	__u64 start_ns;
	__u32 slot;
	__u32 zero;
};

struct irqs_hist {
	__u64 count;
	__u64 sum_ns;
	__u64 max_ns;
	__u64 bucket[IRQS_BUCKETS];
};

struct irqs_wake_key {
	__u32 slot;  /* slot of the woken process */
	__u32 waker; /* enum irqs_waker */
	__u32 id;
};

struct irqs_wake {
	char comm[IRQS_NAME]; /* slot of a waking process */
	struct irqs_hist latency;
};

struct irqs_netdev_key {
	__u32 ifindex; /* 0: the backlog of a processor, used by all devices without NAPI */
	__u32 netns;   /* inode */
};

struct irqs_netdev {
	char name[IRQS_NAME];
	__u64 polls;
	__u64 packets;
	__u64 full; /* polls that used up their budget: more was waiting */
};

/* Events without room to be counted. */
struct irqs_lost {
	__u64 processes; /* shown together as IRQS_SLOT_OTHERS */
	__u64 untracked; /* processes that are not counted at all */
	__u64 wakes;     /* wake-ups whose latency was not measured */
	__u64 netdevs;   /* polls of interfaces beyond IRQS_NETDEVS */
	__u64 switches;  /* switches without a tracepoint event: a processor had changed hands */
	__u64
	    missed; /* events skipped by the kernel because the same program was already running */
};

/* The bucket of a value. */
static inline __attribute__((always_inline)) __u32 irqs_bucket(__u64 ns)
{
	__u32 shift = 0, at;
	__u64 v = ns;

	if (ns < IRQS_SUBS)
		return (__u32)ns;
	/* The place of the highest bit, in steps without a loop. */
	if (v >> 32) {
		v >>= 32;
		shift += 32;
	}
	if (v >> 16) {
		v >>= 16;
		shift += 16;
	}
	if (v >> 8) {
		v >>= 8;
		shift += 8;
	}
	if (v >> 4) {
		v >>= 4;
		shift += 4;
	}
	if (v >> 2) {
		v >>= 2;
		shift += 2;
	}
	if (v >> 1)
		shift += 1;
	at = (shift - 1) * IRQS_SUBS + (__u32)(ns >> (shift - IRQS_SUB_BITS) & (IRQS_SUBS - 1));
	return at < IRQS_BUCKETS ? at : IRQS_BUCKETS - 1;
}

#endif /* WEFT_IRQS_SHARED_H */
