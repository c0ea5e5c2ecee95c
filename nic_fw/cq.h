/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues (cq.c), interrupt moderation (moder.c) and event queues (eq.c).
 *
 * A completion goes cq_post() -> moder_cqe() -> eq_post() -> port->irq(). Called by
 * rdmap_rx.c, ud_*.c, rd_*.c, qp.c (flush); cq_arm() by db.c. docs/host-interface.md, pairs
 * C1 (CQE phase), C2 (arm), E1 (EQE phase).
 */
#ifndef WEFT_FW_CQ_H
#define WEFT_FW_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/list.h"
#include "nic_fw/timer.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cqe.h"

struct fw_nic;
struct fw_eq;
struct hw_resp_create_eq;

struct fw_cq {
	struct hw_cqe *ring;
	struct hw_cq_record *record;
	uint32_t mask;
	uint32_t prod;           /* entries written, free-running */
	uint32_t cons;           /* last consumer index read from the host */
	uint32_t solicited_prod; /* prod after the last solicited or failed entry */
	uint32_t arm_index;      /* raise when prod is beyond */
	bool armed;
	bool armed_solicited;
	bool overrun; /* dead: CQ_ERR was raised */
	bool used;
	uint16_t client;
	uint16_t reserved;
	uint32_t index;            /* the CQ's number */
	uint32_t eq;               /* client's EQ number, HW_EQ_NONE */
	struct fw_eq *event_queue; /* that EQ, NULL */
	uint32_t refs;             /* QPs; two for one that sends and receives here */
	uint64_t record_offset;
	uint64_t ring_offset;
	uint32_t moder_count; /* MODIFY_CQ; 0: the vector's setting */
	uint32_t moder_period_us;
	struct fw_list node; /* of the client */
};

/*
 * Writes one entry. timestamp_ns and phase are filled in here. When the ring is full: CQ_ERR to
 * the process, the entry is lost and the caller's QP should go to error (returns false).
 */
bool cq_post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe);

/* The host rang HW_DB_CQ_ARM: reads the arm word, raises at once if there is reason to. */
void cq_arm(struct fw_nic *nic, struct fw_cq *cq);

/* Settings of one interrupt vector; the tuner's issue adds the rest. */
struct fw_moder_params {
	uint32_t rx_usecs;  /* 0: off */
	uint32_t rx_frames; /* 0: off; both off: one interrupt for each event */
};

struct fw_eq {
	struct hw_eqe *ring;
	struct hw_eq_record *record;
	uint32_t mask;
	uint32_t prod;
	bool used;
	bool irq_pending; /* an entry was written since the last interrupt */
	uint16_t client;
	uint32_t number; /* of the client */
	uint32_t vector;
	uint32_t refs; /* CQs, endpoints */
	/* An interrupt is held back: completions since then, and how many end it; 0: none is. */
	uint32_t moder_events;
	uint32_t moder_target;
	bool starved; /* full: CQs stay armed until the process has taken entries */
	uint64_t record_offset;
	uint64_t ring_offset;
	struct fw_timer moder_timer;
	struct fw_list irq_node;  /* in nic->irq_list until the end of the turn */
	struct fw_list cm_events; /* endpoints with events (cm_ep.event_node) */
	bool cm_told;             /* HW_EVENT_CM was written, and events wait since */
};

/* Writes an event; the interrupt is raised at the end of the turn. Full: lost and counted. */
void eq_post(struct fw_nic *nic, uint32_t client, uint32_t eq, const struct hw_eqe *eqe);
/* Asynchronous event on the client's EQ 0. */
void eq_async(struct fw_nic *nic, uint32_t client, enum hw_event_type type, uint32_t id);
/* Writes an event without an interrupt; false: no room, nothing is counted. */
bool eq_write(struct fw_nic *nic, struct fw_eq *eq, const struct hw_eqe *eqe);
/* An interrupt at the end of the turn. */
void eq_raise(struct fw_nic *nic, struct fw_eq *eq);
bool eq_is_full(struct fw_eq *eq);
/* Makes EQ number of a client (0: the asynchronous one). 0, or a positive errno. */
int eq_create(struct fw_nic *nic, uint32_t client, uint32_t number, uint32_t vector,
	      uint32_t entries, struct hw_resp_create_eq *resp);
/* Raises what is due; the last stage of fw_poll(). */
void eq_flush_irqs(struct fw_nic *nic);

enum {
	FW_EQ0_ENTRIES = 4096, /* of the asynchronous event queue */
	FW_EQ_MAX_ENTRIES = 65536,
	FW_MODER_MAX_PERIOD_US = 1000000,
	FW_MODER_DEFAULT_PERIOD_US = 1000, /* bounds a count that comes without a period */
};
#define FW_EQ_RETRY_NS UINT64_C(10000000) /* how often a full EQ is looked at */

/* The events of armed CQs that the entries written so far are due; after a full EQ. */
void cq_retry_events(struct fw_nic *nic, struct fw_eq *eq);

/*
 * Decides when the event of an armed CQ, now written, becomes an interrupt: at once unless the
 * vector (or the CQ) is moderated and the entry is neither solicited nor an error.
 */
void moder_event(struct fw_nic *nic, struct fw_eq *eq, const struct fw_cq *cq, bool urgent);
/* A further completion on a CQ of an EQ whose interrupt is held back. */
void moder_cqe(struct fw_nic *nic, struct fw_eq *eq, bool urgent);
/* The EQ was full: has its CQs looked at again until it is not. */
void moder_starved(struct fw_nic *nic, struct fw_eq *eq);
void moder_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_CQ_H */
