/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that host/ makes to floors above it. up/host_up.c fills it in.
 */
#ifndef WEFT_FW_HOST_UP_H
#define WEFT_FW_HOST_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "shared_defs/hw_cqe.h"

struct fw_list;
struct fw_nic;
struct fw_qp;
struct fw_srq;
struct fw_tx_frame;
struct fw_wqe;
struct rd_flow;

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
	/* Handles a doorbell of kind HW_DB_RQ of a tagged endpoint. */
	void (*tag_doorbell)(struct fw_nic *nic, struct fw_qp *qp);
	/* A tagged send was fetched: gives it an envelope. False: no memory now. */
	bool (*tag_send)(struct fw_nic *nic, struct fw_wqe *wqe);
	/* It could not be queued after all, and will be fetched again. */
	void (*tag_unsend)(struct fw_nic *nic, struct fw_wqe *wqe);
	/* A send with a handle was acknowledged, or has failed. False: the CQ is full. */
	bool (*tag_sent)(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
			 enum hw_vendor_err vendor_err);
	/* Adds data that the NIC has kept of an inline send to a frame. */
	enum hw_vendor_err (*tag_gather)(struct fw_nic *nic, const struct fw_wqe *wqe,
					 uint32_t offset, uint32_t bytes,
					 struct fw_tx_frame *frame);
	/*
	 * The peer had no room for this send, which stands before others of its flow. True: it was
	 * changed, and may be sent again at once.
	 */
	bool (*tag_refused)(struct fw_nic *nic, struct rd_flow *flow, struct fw_wqe *wqe);
	/* A message of the NIC's own with a handle has ended; wqe is a copy. */
	void (*tag_ended)(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
			  enum hw_vendor_err vendor_err);
	/* The session with a peer has ended: its sends, and receives that it was filling, end. */
	void (*tag_peer_down)(struct fw_nic *nic, struct fw_list *sends, struct fw_list *written);
	/* Ends all that a tagged endpoint holds, in units: true once nothing is left. */
	bool (*tag_flush)(struct fw_nic *nic, struct fw_qp *qp);
	/* Frees the endpoint of a QP in RESET, in units: true once it is done. */
	bool (*tag_close)(struct fw_nic *nic, struct fw_qp *qp);
	/* Handles a doorbell of kind HW_DB_GOAL_RUN: record, as the process wrote it. */
	void (*goal_doorbell)(struct fw_nic *nic, uint32_t client, uint32_t record);
};

extern const struct host_up host_up;

#endif /* WEFT_FW_HOST_UP_H */
