/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended reliable connections: domains, and QPs that several processes have open.
 *
 * A message of an XRC_SEND QP names its SRQ. The XRC_RECV QP where it arrives has no receives, no
 * completion queue and no protection domain of its own but takes all three from that SRQ, which may
 * be another process's. QP and SRQ must be of one domain. xrc.c has the commands; rdmap_rx.c and
 * recv.c look up the SRQ of a packet. IBA annex A14.
 */
#ifndef WEFT_FW_XRC_H
#define WEFT_FW_XRC_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/host/qp.h"
#include "shared_defs/hw_cqe.h"

struct fw_nic;
struct fw_srq;

/* A domain as one process has it open. */
struct fw_xrcd {
	bool used;
	bool is_file; /* named by a file: others may open it */
	uint16_t client;
	uint32_t refs;   /* SRQs and QPs made in it, QPs opened by it */
	uint64_t domain; /* the same in all processes that have it open; never 0, never reused */
	uint64_t file_dev;
	uint64_t file_ino;
	struct fw_list node; /* of the client */
};

/* An XRC_RECV QP in a process that did not make it. */
struct fw_qp_open {
	struct fw_list qp_node; /* qp->opens */
	struct fw_list node;    /* of the client */
	struct fw_qp *qp;
	uint32_t xrcd;
	uint32_t client;
};

enum {
	XRC_SRQN_FIRST = 1, /* srqn of the SRQ with number 0 */
};

struct fw_xrcd *xrcd_own(struct fw_nic *nic, uint32_t client, uint32_t handle);
void xrcd_close(struct fw_nic *nic, uint32_t handle);

/* Returns the SRQ that a request to this XRC_RECV QP names; NULL: none of its domain. */
struct fw_srq *xrc_srq(struct fw_nic *nic, const struct fw_qp *qp, uint32_t srqn);
/* Returns its protection domain; FW_NONE: no such SRQ. */
uint32_t xrc_srq_pd(struct fw_nic *nic, const struct fw_qp *qp, uint32_t srqn);

/* Returns the protection domain of a peer's request here. qkey: of its packets. */
static inline uint32_t xrc_pd(struct fw_nic *nic, const struct fw_qp *qp, uint32_t qkey)
{
	return qp->type == HW_QPT_XRC_RECV ? xrc_srq_pd(nic, qp, qkey) : qp->pd;
}

/* True if this process has it open without having made it. */
bool xrc_is_open(const struct fw_qp *qp, uint32_t client);
/* A process, its maker or another, releases a QP. False: it was the last. */
bool xrc_let_go(struct fw_nic *nic, struct fw_qp *qp, uint32_t client);
/* Reports an asynchronous event of a QP to each process that has it. */
void xrc_event(struct fw_nic *nic, const struct fw_qp *qp, enum hw_event_type type);

#endif /* WEFT_FW_XRC_H */
