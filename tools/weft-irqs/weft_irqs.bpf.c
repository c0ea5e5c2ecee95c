/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BPF programs of weft-irqs: they count events of scheduler, interrupts and NAPI in maps, without
 * output per event. Every tracepoint has two programs with one body: tp_btf where the kernel takes
 * it, else a raw tracepoint.
 *
 * Loaded by irqs.c, which names the processes; read by irqs_read.c. irqs_kernel.h declares the
 * kernel's structures. Tracepoints: include/trace/events/{sched,irq,napi,timer}.h.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "tools/weft-irqs/irqs_kernel.h"
#include "tools/weft-irqs/irqs_shared.h"

/* State of a processor. */
struct cpu_state {
	__u64 since_ns; /* time since which its process runs or was counted; 0: not known */
	__u64 softirq_at_ns;
	__u64 irq_at_ns; /* 0: in no handler */
	__u32 slot;
	__u32 tid;           /* the running thread */
	__u32 vector_plus_1; /* 0: in no softirq */
	__u32 timers;        /* depth of timers' functions */
};

/* The last wake-up of a thread; kept until its end. */
struct pending {
	__u64 at_ns;
	__u32 waits; /* it has not run since */
	__u32 waker;
	__u32 id;
	__u32 zero;
	char comm[IRQS_NAME];
};

/* Set before loading. */
const volatile __u32 all_processes;
const volatile __u32 num_names;
const volatile char names[IRQS_NAMES][IRQS_NAME];
/* sched_switch has the state of the leaving thread: since 5.18. */
const volatile __u32 switch_has_state;

struct irqs_lost lost;
__u32 slots_used = IRQS_SLOT_FIRST;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IRQS_PROCESSES);
	__type(key, __u32);
	__type(value, struct irqs_proc_ref);
} procs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IRQS_SLOTS);
	__type(key, __u32);
	__type(value, struct irqs_proc);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IRQS_SLOTS);
	__type(key, __u32);
	__type(value, struct irqs_slot_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IRQS_THREADS);
	__type(key, __u32);
	__type(value, struct pending);
} woken SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, IRQS_WAKES);
	__type(key, struct irqs_wake_key);
	__type(value, struct irqs_wake);
} wakes SEC(".maps");

/* Template of new entries of wakes: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irqs_wake);
} wake_zero SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, IRQS_NETDEVS);
	__type(key, struct irqs_netdev_key);
	__type(value, struct irqs_netdev);
} netdevs SEC(".maps");

/*
 * A field of a task from a tracepoint, which tp_btf programs may read directly. btf is constant
 * where this is inlined.
 */
#define TASK(task, field) (btf ? (task)->field : BPF_CORE_READ(task, field))

#define LOST(what)        __sync_fetch_and_add(&lost.what, 1)

static __always_inline struct cpu_state *this_cpu(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&cpus, &key);
}

static __always_inline struct irqs_slot_counts *counts_of(__u32 slot)
{
	return bpf_map_lookup_elem(&counts, &slot);
}

static __always_inline void name_slot(__u32 slot, __u32 pid, struct task_struct *task)
{
	struct irqs_proc *proc = bpf_map_lookup_elem(&slots, &slot);

	if (!proc)
		return;
	proc->pid = pid;
	bpf_probe_read_kernel_str(proc->comm, sizeof(proc->comm),
				  &BPF_CORE_READ(task, group_leader)->comm);
}

/* Starts to count this process, of which task is a thread. Returns its slot. */
static __always_inline __u32 select_process(struct task_struct *task)
{
	struct irqs_proc_ref ref = {.start_ns = BPF_CORE_READ(task, group_leader, start_time)};
	__u32 pid = BPF_CORE_READ(task, tgid);

	ref.slot = __sync_fetch_and_add(&slots_used, 1);
	if (ref.slot >= IRQS_SLOTS) {
		ref.slot = IRQS_SLOT_OTHERS;
		LOST(processes);
	}
	if (bpf_map_update_elem(&procs, &pid, &ref, BPF_ANY)) {
		LOST(untracked);
		return IRQS_SLOT_REST;
	}
	if (ref.slot != IRQS_SLOT_OTHERS)
		name_slot(ref.slot, pid, task);
	return ref.slot;
}

static __always_inline __u32 slot_of(struct task_struct *task, int btf)
{
	__u32 pid = TASK(task, tgid);
	struct irqs_proc_ref *ref;

	if (!pid)
		return IRQS_SLOT_IDLE;
	ref = bpf_map_lookup_elem(&procs, &pid);
	if (ref)
		return ref->slot;
	return all_processes ? select_process(task) : IRQS_SLOT_REST;
}

/* Until now the processor was its process's. */
static __always_inline void charge(struct cpu_state *cpu, __u64 now)
{
	struct irqs_slot_counts *c = counts_of(cpu->slot);

	if (c && cpu->since_ns)
		c->cpu_ns += now - cpu->since_ns;
	cpu->since_ns = now;
}

/* ---- scheduler ----------------------------------------------------------------------------------
 */

static __always_inline void hist_add(struct irqs_hist *hist, __u64 ns)
{
	__u32 at = irqs_bucket(ns);

	hist->count++;
	hist->sum_ns += ns;
	if (ns > hist->max_ns)
		hist->max_ns = ns;
	if (at < IRQS_BUCKETS)
		hist->bucket[at]++;
}

/* A thread of a counted process runs: records the time since its wake-up, and its waker. */
static __always_inline void runs_again(__u32 slot, __u32 tid, __u64 now)
{
	struct pending *p = bpf_map_lookup_elem(&woken, &tid);
	struct irqs_wake_key key = {.slot = slot};
	struct irqs_wake *wake;
	__u32 zero = 0;
	void *fresh;

	if (!p || !p->waits)
		return;
	p->waits = 0;
	key.waker = p->waker;
	key.id = p->id;
	wake = bpf_map_lookup_elem(&wakes, &key);
	if (!wake) {
		fresh = bpf_map_lookup_elem(&wake_zero, &zero);
		if (fresh)
			bpf_map_update_elem(&wakes, &key, fresh, BPF_NOEXIST);
		wake = bpf_map_lookup_elem(&wakes, &key);
	}
	if (wake) {
		if (!wake->comm[0])
			__builtin_memcpy(wake->comm, p->comm, sizeof(wake->comm));
		hist_add(&wake->latency, now - p->at_ns);
	} else {
		LOST(wakes);
	}
}

static __always_inline long state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)(void *)task, state);
}

/* bool preempt, prev, next, unsigned int prev_state: voluntary as __schedule() has it. */
static __always_inline int on_switch(__u64 *ctx, int btf)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct cpu_state *cpu = this_cpu();
	__u64 now = bpf_ktime_get_ns();
	struct irqs_slot_counts *c;
	long state;
	int known;

	if (!cpu)
		return 0;
	state = switch_has_state ? (unsigned int)ctx[3] : state_of(prev);
	known = cpu->since_ns && cpu->tid == (__u32)TASK(prev, pid);
	charge(cpu, now);
	/* The first event of this processor; or the kernel omitted a switch. */
	if (!known) {
		if (cpu->tid)
			LOST(switches);
		cpu->slot = slot_of(prev, btf);
	}
	c = counts_of(cpu->slot);
	if (c) {
		if (!(ctx[0] & 1) && state)
			c->voluntary++;
		else
			c->involuntary++;
	}
	cpu->slot = slot_of(next, btf);
	cpu->tid = TASK(next, pid);
	if (cpu->slot >= IRQS_SLOT_OTHERS)
		runs_again(cpu->slot, cpu->tid, now);
	return 0;
}

/*
 * A running thread that has only announced to sleep is woken without a switch. On its way off the
 * processor it may have left the queue already, or be left there asleep (6.12 and later).
 */
static __always_inline int is_asleep(struct task_struct *task, int btf)
{
	if (!bpf_core_field_exists(task->on_cpu) || !TASK(task, on_cpu) || !TASK(task, on_rq))
		return 1;
	if (bpf_core_field_exists(task->se.sched_delayed))
		return TASK(task, se.sched_delayed);
	return 0;
}

/* The waker: interrupts come first, since the process below them is not involved. */
static __always_inline void set_waker(struct pending *p, const struct cpu_state *cpu)
{
	__u32 waker = IRQS_BY_PROCESS, id = 0;
	struct task_struct *self;

	if (cpu->irq_at_ns) {
		waker = IRQS_BY_IRQ;
	} else if (cpu->timers) {
		waker = IRQS_BY_TIMER;
	} else if (cpu->vector_plus_1) {
		waker = IRQS_BY_SOFTIRQ;
		id = cpu->vector_plus_1 - 1;
	} else {
		id = bpf_get_current_pid_tgid() >> 32;
	}
	/* Mostly the same as the last time, so its name is known. */
	if (p->at_ns && p->waker == waker && p->id == id)
		return;
	p->waker = waker;
	p->id = id;
	p->comm[0] = 0;
	if (waker == IRQS_BY_PROCESS) {
		self = (void *)bpf_get_current_task();
		bpf_probe_read_kernel_str(p->comm, sizeof(p->comm),
					  &BPF_CORE_READ(self, group_leader)->comm);
	}
}

static __always_inline void set_pending(__u32 tid, const struct cpu_state *cpu)
{
	struct pending fresh = {0}, *p = bpf_map_lookup_elem(&woken, &tid);

	if (p) {
		set_waker(p, cpu);
		p->at_ns = bpf_ktime_get_ns();
		p->waits = 1;
		return;
	}
	set_waker(&fresh, cpu);
	fresh.at_ns = bpf_ktime_get_ns();
	fresh.waits = 1;
	if (bpf_map_update_elem(&woken, &tid, &fresh, BPF_ANY))
		LOST(wakes);
}

static __always_inline int on_waking(__u64 *ctx, int btf)
{
	struct task_struct *task = (void *)ctx[0];
	struct cpu_state *cpu = this_cpu();
	struct irqs_slot_counts *c;
	__u32 slot;

	if (!cpu)
		return 0;
	slot = slot_of(task, btf);
	c = counts_of(cpu->slot);
	if (c)
		c->wakes_given++;
	c = counts_of(slot);
	if (!c)
		return 0;
	if (!is_asleep(task, btf)) {
		c->wakeups_awake++;
		return 0;
	}
	c->wakeups++;
	if (slot >= IRQS_SLOT_OTHERS)
		set_pending(TASK(task, pid), cpu);
	return 0;
}

/* parent, child: children of counted processes are counted. */
static __always_inline int on_fork(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	__u32 pid = BPF_CORE_READ(parent, tgid);

	if (pid == (__u32)BPF_CORE_READ(child, tgid))
		return 0;
	if (bpf_map_lookup_elem(&procs, &pid))
		select_process(child);
	return 0;
}

static __always_inline int is_named(struct task_struct *task)
{
	char comm[IRQS_NAME] = {0};

	bpf_probe_read_kernel_str(comm, sizeof(comm), &task->comm);
	for (__u32 i = 0; i < IRQS_NAMES; i++) {
		__u32 at = 0;

		if (i >= num_names)
			break;
		while (at < IRQS_NAME && comm[at] == names[i][at] && comm[at])
			at++;
		if (at < IRQS_NAME && comm[at] == names[i][at])
			return 1;
	}
	return 0;
}

/* The process has its program's name now. */
static __always_inline int on_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct cpu_state *cpu = this_cpu();
	struct irqs_proc_ref *ref = bpf_map_lookup_elem(&procs, &pid);

	if (ref) {
		if (ref->slot >= IRQS_SLOT_FIRST)
			name_slot(ref->slot, pid, task);
	} else if (cpu && num_names && is_named(task)) {
		charge(cpu, bpf_ktime_get_ns());
		cpu->slot = select_process(task);
	}
	return 0;
}

/* A thread is gone. The pid may be another process's by now. */
static __always_inline int on_free(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 pid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	struct irqs_proc_ref *ref;

	bpf_map_delete_elem(&woken, &tid);
	if (tid != pid)
		return 0;
	ref = bpf_map_lookup_elem(&procs, &pid);
	if (ref && (!ref->start_ns || ref->start_ns == BPF_CORE_READ(task, start_time)))
		bpf_map_delete_elem(&procs, &pid);
	return 0;
}

/* ---- interrupts ---------------------------------------------------------------------------------
 */

static __always_inline int on_softirq_entry(__u64 *ctx)
{
	struct cpu_state *cpu = this_cpu();
	__u32 vector = (__u32)ctx[0];
	struct irqs_slot_counts *c;

	if (!cpu || vector >= IRQS_VECTORS)
		return 0;
	c = counts_of(cpu->slot);
	if (c)
		c->softirqs[vector]++;
	cpu->vector_plus_1 = vector + 1;
	cpu->softirq_at_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int on_softirq_exit(__u64 *ctx)
{
	struct cpu_state *cpu = this_cpu();
	__u32 vector = (__u32)ctx[0];
	struct irqs_slot_counts *c;

	if (!cpu || vector >= IRQS_VECTORS || cpu->vector_plus_1 != vector + 1)
		return 0;
	c = counts_of(cpu->slot);
	if (c)
		c->softirq_ns[vector] += bpf_ktime_get_ns() - cpu->softirq_at_ns;
	cpu->vector_plus_1 = 0;
	return 0;
}

static __always_inline int on_irq_entry(void)
{
	struct cpu_state *cpu = this_cpu();
	struct irqs_slot_counts *c;

	if (!cpu)
		return 0;
	c = counts_of(cpu->slot);
	if (c)
		c->hard_irqs++;
	cpu->irq_at_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int on_irq_exit(void)
{
	struct cpu_state *cpu = this_cpu();
	struct irqs_slot_counts *c;

	if (!cpu || !cpu->irq_at_ns)
		return 0;
	c = counts_of(cpu->slot);
	if (c)
		c->hard_irq_ns += bpf_ktime_get_ns() - cpu->irq_at_ns;
	cpu->irq_at_ns = 0;
	return 0;
}

static __always_inline int on_timer(int begins)
{
	struct cpu_state *cpu = this_cpu();

	if (cpu && begins)
		cpu->timers++;
	else if (cpu && cpu->timers)
		cpu->timers--;
	return 0;
}

/* napi, int work, int budget. */
static __always_inline int on_napi(__u64 *ctx)
{
	struct napi_struct *napi = (void *)ctx[0];
	int work = (int)ctx[1], budget = (int)ctx[2];
	struct net_device *dev = BPF_CORE_READ(napi, dev);
	struct irqs_netdev fresh = {.name = "backlog"};
	struct irqs_netdev_key key = {0};
	struct cpu_state *cpu = this_cpu();
	struct irqs_slot_counts *c;
	struct irqs_netdev *seen;

	if (dev) {
		key.ifindex = BPF_CORE_READ(dev, ifindex);
		if (bpf_core_field_exists(dev->nd_net.net))
			key.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	}
	seen = bpf_map_lookup_elem(&netdevs, &key);
	if (!seen) {
		if (dev)
			bpf_probe_read_kernel_str(fresh.name, sizeof(fresh.name), &dev->name);
		bpf_map_update_elem(&netdevs, &key, &fresh, BPF_NOEXIST);
		seen = bpf_map_lookup_elem(&netdevs, &key);
	}
	if (seen) {
		seen->polls++;
		seen->packets += work > 0 ? work : 0;
		seen->full += work >= budget;
	} else {
		LOST(netdevs);
	}
	c = cpu ? counts_of(cpu->slot) : 0;
	if (c) {
		c->napi_polls++;
		c->napi_packets += work > 0 ? work : 0;
	}
	return 0;
}

/*
 * Run on each processor by irqs.c (BPF_PROG_TEST_RUN), on top of its current process: at the start
 * it records that process, and later counts the time of a process that has not left its processor.
 */
SEC("raw_tp")
int flush(void *ctx)
{
	struct cpu_state *cpu = this_cpu();

	(void)ctx;
	if (!cpu)
		return 0;
	if (!cpu->since_ns)
		cpu->slot = IRQS_SLOT_REST;
	/* Interrupts are enabled here, so none is being handled. */
	cpu->irq_at_ns = 0;
	charge(cpu, bpf_ktime_get_ns());
	cpu->slot = slot_of((void *)bpf_get_current_task(), 0);
	cpu->tid = (__u32)bpf_get_current_pid_tgid();
	return 0;
}

/* A body under both kinds of tracepoint. */
#define BOTH(tracepoint, body)                                                                     \
	SEC("tp_btf/" #tracepoint) int btf_##tracepoint(__u64 *ctx)                                \
	{                                                                                          \
		const int btf = 1;                                                                 \
		(void)ctx;                                                                         \
		(void)btf;                                                                         \
		return body;                                                                       \
	}                                                                                          \
	SEC("raw_tp/" #tracepoint) int raw_##tracepoint(__u64 *ctx)                                \
	{                                                                                          \
		const int btf = 0;                                                                 \
		(void)ctx;                                                                         \
		(void)btf;                                                                         \
		return body;                                                                       \
	}

/* Attached in this order: no begin without its end, which would last until the next one. */
BOTH(softirq_exit, on_softirq_exit(ctx))
BOTH(softirq_entry, on_softirq_entry(ctx))
BOTH(irq_handler_exit, on_irq_exit())
BOTH(irq_handler_entry, on_irq_entry())
BOTH(hrtimer_expire_exit, on_timer(0))
BOTH(hrtimer_expire_entry, on_timer(1))
BOTH(napi_poll, on_napi(ctx))
BOTH(sched_process_fork, on_fork(ctx))
BOTH(sched_process_exec, on_exec(ctx))
BOTH(sched_process_free, on_free(ctx))
BOTH(sched_waking, on_waking(ctx, btf))
BOTH(sched_switch, on_switch(ctx, btf))

char _license[] SEC("license") = "Dual BSD/GPL";
