/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures of the kernel that the BPF programs of weft-irqs read.
 *
 * They are declared as far as they are needed, and relocated when the programs are loaded (CO-RE):
 * the same programs run on kernels other than the one they were built on.
 */
#ifndef WEFT_IRQS_KERNEL_H
#define WEFT_IRQS_KERNEL_H

#include "tools/weft-irqs/irqs_shared.h"

#define KERNEL __attribute__((preserve_access_index))

struct sched_entity {
	unsigned char sched_delayed;
} KERNEL;

struct task_struct {
	int on_cpu;
	int on_rq;
	struct sched_entity se;
	unsigned int __state;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	__u64 start_time;
	char comm[IRQS_NAME];
} KERNEL;

/* Before 5.14. */
struct task_struct___old {
	long state;
} KERNEL;

struct ns_common {
	unsigned int inum;
} KERNEL;

struct net {
	struct ns_common ns;
} KERNEL;

typedef struct {
	struct net *net;
} KERNEL possible_net_t;

struct net_device {
	char name[IRQS_NAME];
	int ifindex;
	possible_net_t nd_net;
} KERNEL;

struct napi_struct {
	struct net_device *dev;
} KERNEL;

#endif /* WEFT_IRQS_KERNEL_H */
