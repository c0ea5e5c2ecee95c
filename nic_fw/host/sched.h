/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbells (db.c) and the round robin over send queues (sched.c).
 *
 * db_poll() is the first stage of fw_poll(): it empties the doorbell rings into the ready
 * list of QPs. sched_run() serves that list: each QP may fetch a few requests a turn, so
 * that no QP starves another. The cost grows with active queues only.
 */
#ifndef WEFT_FW_SCHED_H
#define WEFT_FW_SCHED_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;
struct fw_qp;

enum {
	SCHED_QP_QUANTUM = 8,   /* requests one QP may fetch in a turn */
	SCHED_QP_ALONE = 16,    /* the same where no other has any: a bundle's (rd_bundle.c) */
	DB_CLIENT_QUANTUM = 64, /* doorbells one client may ring in a turn */
};

uint32_t db_poll(struct fw_nic *nic);
bool db_pending(const struct fw_nic *nic);

/* Appends a QP to the ready list, unless it is there or may not send. */
void sched_qp_add(struct fw_nic *nic, struct fw_qp *qp);
uint32_t sched_run(struct fw_nic *nic, uint32_t budget);

#endif /* WEFT_FW_SCHED_H */
