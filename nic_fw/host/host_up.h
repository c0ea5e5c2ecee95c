/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that host/ makes to floors above it. up/host_up.c fills it in.
 */
#ifndef WEFT_FW_HOST_UP_H
#define WEFT_FW_HOST_UP_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;
struct fw_qp;
struct fw_srq;

struct host_up {
	/*
	 * The client leaves: true once that floor has freed all its objects. Repeated until then.
	 */
	bool (*leave[3])(struct fw_nic *nic, uint32_t client); /* the last one is NULL */
	/*
	 * Ends arriving messages that took receives of the queue, in units: true once none is left.
	 */
	bool (*forget_srq)(struct fw_nic *nic, struct fw_srq *srq);
	/* A queue pair left its working states. */
	void (*qp_down)(struct fw_nic *nic, struct fw_qp *qp);
	/* Handles a doorbell of kind HW_DB_GOAL_RUN: record, as the process wrote it. */
	void (*goal_doorbell)(struct fw_nic *nic, uint32_t client, uint32_t record);
};

extern const struct host_up host_up;

#endif /* WEFT_FW_HOST_UP_H */
