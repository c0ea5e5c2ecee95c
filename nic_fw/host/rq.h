/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive queues and shared receive queues: taking a receive for a message.
 *
 * The entry is copied once and then checked. srq.c has the SRQ's commands and its limit event.
 */
#ifndef WEFT_FW_RQ_H
#define WEFT_FW_RQ_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_wqe.h"

struct fw_nic;
struct fw_qp;

struct fw_srq {
	struct hw_srq_record *record;
	uint8_t *ring;
	uint32_t mask;
	uint32_t stride_bytes;
	uint32_t cons; /* requests taken */
	uint32_t prod; /* last read from the host */
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit; /* 0: not armed */
	uint32_t pd;
	uint32_t refs;    /* QPs */
	uint64_t domain;  /* XRC: its domain (xrc.h); else 0 */
	struct fw_cq *cq; /* XRC: CQ of its receives */
	uint32_t xrcd;    /* XRC */
	uint32_t index;
	uint16_t client;
	bool used;
	bool error;
	bool ending;               /* XRC: it is being destroyed, and gives no receive */
	struct fw_list open_recvs; /* XRC: recv_msg.peer_node */
	uint64_t record_offset;
	uint64_t ring_offset;
	struct fw_list node;
};

/* A receive request as copied; SGEs are checked when data is placed. */
struct fw_recv {
	uint64_t wr_id;
	uint64_t bytes; /* sum of the SGEs, in 64 bits */
	uint32_t num_sge;
	uint32_t pd; /* of the QP or SRQ that it was posted to */
	struct hw_sge sge[HW_MAX_SGE];
};

enum rq_result {
	RQ_OK,
	RQ_EMPTY,
	RQ_BAD, /* malformed entry: taken, wr_id set, complete it with LOC_QP_OP_ERR */
};

/* Prefetches the lines that rq_take() will read: a message for the QP is on its way up. */
void rq_prefetch(const struct fw_nic *nic, const struct fw_qp *qp);
/* Takes the next receive of the QP (its SRQ's if it has one). */
enum rq_result rq_take(struct fw_nic *nic, struct fw_qp *qp, struct fw_recv *recv);
/*
 * The same in two steps: a receive that rq_look() returned, unless it was RQ_EMPTY, may stay for
 * the next message. RQ_BAD is the caller's to count.
 */
enum rq_result rq_look(struct fw_nic *nic, struct fw_qp *qp, struct fw_recv *recv);
void rq_taken(struct fw_nic *nic, struct fw_qp *qp);
/* rq_take() of an SRQ. */
enum rq_result rq_take_srq(struct fw_nic *nic, struct fw_srq *srq, struct fw_recv *recv);

/* Returns how many receives are posted and not taken; reads the host's index. */
uint32_t rq_available(struct fw_nic *nic, struct fw_qp *qp);

/*
 * srq.c: returns the receives posted to the SRQ and not taken; reads the host's index; 0 after an
 * error.
 */
uint32_t srq_available(struct fw_nic *nic, struct fw_srq *srq);
/*
 * A receive was taken: publishes it, and raises the limit event if fewer than the limit are left.
 */
void srq_taken(struct fw_nic *nic, struct fw_srq *srq);

#endif /* WEFT_FW_RQ_H */
