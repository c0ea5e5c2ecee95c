/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that host/ owns: objects that processes make by commands, and their
 * requests. docs/host-interface.md.
 */
#ifndef WEFT_FW_HOST_NIC_H
#define WEFT_FW_HOST_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/hw_coalesce.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/hw_limits.h"

struct fw_ah;
struct fw_bar_extent;
struct fw_client;
struct fw_cmd_slot;
struct fw_cq;
struct fw_eq;
struct fw_mr;
struct fw_pd;
struct fw_qp;
struct fw_srq;
struct fw_xrcd;
struct guess;
struct hw_qp_record;

enum {
	FW_AH_WAITERS = 256, /* CREATE_AH commands that wait for ARP */
};

struct fw_ah_waiter {
	bool used;
	uint32_t client;
	uint32_t ip; /* next hop, network byte order */
	uint32_t ah;
	uint32_t tag;
	struct fw_timer timer; /* answers in any case, whatever the result of ARP */
};

/* A vector: its settings, and the counts of its event queues. */
struct moder_vector {
	struct hw_coalesce coalesce;
	struct hw_coalesce now; /* last choice of one of its event queues */
	uint64_t counter[HW_VECTOR_NUM_COUNTERS];
	uint64_t wait[HW_VECTOR_BUCKETS];
	uint64_t wait_sum_ns;
	uint32_t event_queues;
};

struct host_nic {
	struct fw_list db_clients;
	struct fw_list sched_qps;
	struct fw_list irq_list;
	struct fw_list late_cqs;    /* cq_late.node */
	struct fw_timer late_timer; /* the next look at them */

	struct fw_client *clients;
	struct fw_cmd_slot *cmd_slots;        /* HW_CMD_SLOTS for each client */
	uint32_t cq_resizes;                  /* RESIZE_CQ that began: the serial of the last */
	struct fw_bar_extent *client_extents; /* FW_BAR_EXTENTS for each client: its bar.free */
	struct fw_ids client_ids;
	struct fw_pd *pds;
	struct fw_ids pd_ids;
	struct fw_mr *mrs;
	struct fw_ids mr_ids;
	struct guess *guesses; /* GUESS_PLACES */
	bool mem_busy; /* last failure of mem.c: true: busy, may succeed later; false: permanent */
	struct fw_cq *cqs;
	struct fw_ids cq_ids;
	struct fw_eq *eqs;
	struct fw_ids eq_ids;
	struct moder_vector vectors[HW_NUM_VECTORS];
	struct fw_srq *srqs;
	struct fw_ids srq_ids;
	struct fw_xrcd *xrcds;
	struct fw_ids xrcd_ids;
	uint64_t xrc_domains; /* the last number given out */
	struct fw_pool qp_opens;
	/* Record of QPs without one: no request is ever posted there. */
	struct hw_qp_record *null_record;
	struct fw_qp *null_qp; /* answers requests for QPNs that do not exist */
	struct fw_qp *qps;
	struct esp_rdmap *esps; /* by the place of a QP: fw_qp.esp */
	struct fw_ids qp_ids;
	struct fw_ah *ahs;
	struct fw_ids ah_ids;
	struct fw_ah_waiter *ah_waiters;
	uint32_t ah_waiting;

	struct fw_pool wqes;
	struct fw_wqe *wqe_now; /* the request that fetch_now() has in hand */
	struct fw_pool wqe_exts;
	struct fw_pool recv_msgs;
	struct fw_pool slow_atomics;
	uint32_t *recv_hash;  /* FW_HASH_SIZE: recv_msg by peer's QP and ours */
	uint32_t recv_serial; /* last recv_msg.serial given out */
};

#endif /* WEFT_FW_HOST_NIC_H */
