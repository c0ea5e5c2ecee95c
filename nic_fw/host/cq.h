/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues (cq.c) and event queues (eq.c); between them is moderation (moder.h).
 *
 * A completion goes cq_post() -> moder_due() -> cq_report() -> eq_raise() -> port->irq().
 * docs/host-interface.md, pairs C1 (CQE phase), C2 (arm), E1 (EQE phase), E2 and E3 (consumer index
 * of an EQ).
 */
#ifndef WEFT_FW_CQ_H
#define WEFT_FW_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/host/moder.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cqe.h"

struct fw_nic;
struct fw_eq;
struct fw_timer;
struct hw_resp_create_eq;

struct fw_cq {
	struct hw_cqe *ring;
	struct hw_cq_record *record;
	uint32_t mask;
	uint32_t prod;           /* entries written, free-running */
	uint32_t cons;           /* last consumer index read from the host */
	uint32_t solicited_prod; /* prod after the last solicited or failed entry */
	uint32_t arm_index;      /* an event is due when prod is beyond */
	bool armed;
	bool armed_solicited;
	bool overrun; /* dead: CQ_ERR was raised */
	bool used;
	uint16_t client;
	bool has_late; /* late is in use */
	uint8_t reserved;
	uint32_t index;            /* the CQ's number */
	uint32_t eq;               /* client's EQ number, HW_EQ_NONE */
	struct fw_eq *event_queue; /* that EQ, NULL */
	uint32_t refs;             /* QPs; two for one that sends and receives here */
	uint64_t record_offset;
	uint64_t ring_offset;
	uint32_t moder_count; /* MODIFY_CQ; both 0: the vector's setting */
	uint32_t moder_period_us;
	uint32_t reported_serial;   /* fw_moder.serial when its event became visible last */
	struct fw_list hidden_node; /* in fw_moder.hidden_cqs: armed, due, not visible yet */
	struct fw_list node;        /* of the client */
	/*
	 * An entry that is in the ring without its phase, and hides all behind it, until a late
	 * copy is over: the process could reuse the buffer too early.
	 */
	struct cq_late {
		uint64_t copy;           /* of fw_port.host_late() */
		uint32_t at;             /* its index */
		uint32_t word;           /* that makes it visible, without the phase */
		uint32_t solicited_prod; /* of struct fw_cq when it becomes visible */
		struct fw_list node;     /* in nic->host.late_cqs */
		struct fw_list flushes;  /* fw_qp.flush_node: QPs whose QP_LAST_WQE waits */
	} late;
	struct cq_resize {
		uint32_t serial;  /* fw_slices.resume of the command that does it; 0: none */
		uint32_t entries; /* of the new ring */
		uint32_t cons;    /* as the process stored it when it sent the command */
		uint32_t cleared; /* entries of the new ring marked "not written yet" */
		uint32_t copied;  /* index up to which unpolled entries are copied */
		uint64_t offset;
	} resize;
};

/*
 * Writes one entry. timestamp_ns and phase are filled in here. When the ring is full: CQ_ERR to the
 * process, the entry is lost, and the caller's QP should go to error (returns false).
 */
bool cq_post(struct fw_nic *nic, struct fw_cq *cq, const struct hw_cqe *cqe);

/* The host rang HW_DB_CQ_ARM: reads the arm word, and raises the event at once if it is due. */
void cq_arm(struct fw_nic *nic, struct fw_cq *cq);

/* Index of the first entry that the process cannot see. */
static inline uint32_t cq_visible(const struct fw_cq *cq)
{
	return __builtin_expect(cq->has_late, 0) ? cq->late.at : cq->prod;
}

/* True if there are entries beyond the index up to which the process had polled. */
static inline bool cq_is_due(const struct fw_cq *cq)
{
	if (cq->armed_solicited)
		return (int32_t)(cq->solicited_prod - cq->arm_index) > 0;
	return cq_visible(cq) != cq->arm_index;
}

/*
 * Makes entries visible if the copy that they wait for is over. False: it is not. After the answer
 * to a command that ends a QP or an SRQ the process takes its entries out of the ring, so none may
 * appear later.
 */
bool cq_settled(struct fw_nic *nic, struct fw_cq *cq);
/* The timer of all CQs with such entries. */
void cq_late_fire(struct fw_nic *nic, struct fw_timer *timer);

/* Makes an entry visible that a resize under way has copied. */
void cq_resize_show(struct fw_nic *nic, struct fw_cq *cq, uint32_t index);

/* Writes the event of an armed CQ, which disarms it. False: the event queue is full. */
bool cq_report(struct fw_nic *nic, struct fw_cq *cq);

struct fw_eq {
	struct hw_eqe *ring;
	struct hw_eq_record *record;
	uint32_t mask;
	uint32_t prod;
	bool used;
	bool irq_pending; /* in nic->host.irq_list: an interrupt at the end of this turn */
	uint16_t client;
	uint32_t number; /* of the client */
	uint32_t vector;
	uint32_t refs; /* CQs, endpoints */
	struct fw_moder moder;
	uint64_t record_offset;
	uint64_t ring_offset;
	struct fw_list irq_node;  /* in nic->host.irq_list until the end of the turn */
	struct fw_list cm_events; /* events of endpoints (cm_waiting_event), oldest first */
	bool cm_notified;         /* HW_EVENT_CM was written, and events wait since */
};

/* Writes an event; the interrupt is raised at the end of the turn. Full: lost and counted. */
void eq_post(struct fw_nic *nic, uint32_t client, uint32_t eq, const struct hw_eqe *eqe);
/* Asynchronous event on the client's EQ 0. */
void eq_async(struct fw_nic *nic, uint32_t client, enum hw_event_type type, uint32_t id);
/* Writes an event without an interrupt. False: no room; the loss is not counted. */
bool eq_write(struct fw_nic *nic, struct fw_eq *eq, const struct hw_eqe *eqe);
/* Schedules an interrupt for the end of the turn; the first cause counts. */
void eq_raise(struct fw_nic *nic, struct fw_eq *eq, enum hw_vector_counter cause);
bool eq_is_full(struct fw_eq *eq);
/* Makes EQ number of a client (0: the asynchronous one). Returns 0 or a positive errno. */
int eq_create(struct fw_nic *nic, uint32_t client, uint32_t number, uint32_t vector,
	      uint32_t entries, struct hw_resp_create_eq *resp);
/* Raises due interrupts; the last stage of fw_poll(). */
void eq_flush_irqs(struct fw_nic *nic);

enum {
	FW_EQ0_ENTRIES = 4096, /* of the asynchronous event queue */
	FW_EQ_MAX_ENTRIES = 65536,
};
#define FW_EQ_RETRY_NS UINT64_C(10000000) /* retry interval of a full EQ */

/*
 * Writes the due events of armed CQs after a full EQ. Checks some CQs, from number *at on, and
 * advances it. True: there are more.
 */
bool cq_retry_events(struct fw_nic *nic, struct fw_eq *eq, uint32_t *at);

#endif /* WEFT_FW_CQ_H */
