/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: when a completion becomes an event, and an event an interrupt.
 *
 * 	moder.c		decides: visible now or later, interrupt now or later; masks
 * 	moder_report.c	completions not yet reported by an interrupt, by age; counters of a vector
 * 	moder_cmd.c	settings: commands, checks, event queues of a vector
 * 	moder_adapt.c	mode ADAPTIVE
 * 	moder_target.c	mode TARGET
 *
 * Settings and counters belong to a vector, state belongs to an event queue, whose eventfd is an
 * interrupt line. docs/moderation.md walks through it; ESPGOAL 6.2, figure 6.1.
 */
#ifndef WEFT_FW_MODER_H
#define WEFT_FW_MODER_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/host/host_nic.h"
#include "shared_defs/hw_coalesce.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"

struct fw_nic;
struct fw_cq;
struct fw_eq;

enum moder_class {
	MODER_RX, /* completions of receives */
	MODER_TX, /* of a process's own requests */
	MODER_CLASSES
};

static inline enum moder_class moder_class_of(uint8_t cqe_opcode)
{
	return cqe_opcode < HW_CQE_RECV || cqe_opcode == HW_CQE_TSEND ? MODER_TX : MODER_RX;
}

enum {
	MODER_AGES = 64,               /* turns kept apart; when they run out, pairs are merged */
	MODER_NEWS = 8,                /* sampled entries of a CQ that is armed behind them */
	MODER_MAX_PERIOD_US = 1000000, /* of MODIFY_CQ */
};
#define MODER_NEVER UINT32_MAX /* frames: no such limit */

/* A class's limits, ready for use. Both 0: off. A count has a time, HW_COALESCE_BOUND_US. */
struct moder_limits {
	uint64_t ns;     /* UINT64_MAX: none */
	uint32_t frames; /* MODER_NEVER: none */
};

/* Completions of a class that wait: to become visible, or visible and for their interrupt. */
struct moder_wait {
	uint32_t frames;      /* 0: none waits, and the rest is undefined */
	uint32_t frames_cq;   /* limit of CQs that have one of their own; MODER_NEVER */
	uint64_t first_ns;    /* the oldest */
	uint64_t first_eq_ns; /* the oldest under the event queue's limits; UINT64_MAX: none */
	uint64_t due_cq_ns;   /* by limits of CQs of their own; UINT64_MAX */
};

/* Completions of one turn that no interrupt has reported. */
struct moder_age {
	uint64_t ns;
	uint32_t frames;
};

/* New entries in a CQ: one completion, or those behind which it was armed. */
struct moder_news {
	struct {
		uint64_t ns;
		uint32_t frames;
		enum moder_class class;
	} at[MODER_NEWS];
	uint32_t count;
	/* BY_EVENT: the limits decide; BY_SOLICITED, BY_ERROR, BY_RETRY: at once. */
	enum hw_vector_counter cause;
	const struct hw_cqe *cqe; /* the completion; NULL: armed */
};

/* Mode ADAPTIVE, as Linux's DIM: the state of the search for a profile. */
enum moder_tune {
	MODER_TUNE_RIGHT, /* towards more moderation */
	MODER_TUNE_LEFT,
	MODER_TUNE_PARKED, /* stays for some samples, then tries again */
};

/* Measurement between two decisions. */
struct moder_sample {
	uint64_t begin_ns;
	uint64_t completions; /* fw_moder.completions at its beginning */
	uint32_t interrupts;
};

/* Input of decisions; all 0: the profile before was not measured. */
struct moder_rates {
	uint64_t per_s;     /* completions */
	uint32_t per_irq16; /* completions for each interrupt, in sixteenths */
};

struct moder_adapt {
	enum moder_tune tune;
	uint8_t profile;
	uint8_t patience;    /* it is parked for 2^patience samples */
	uint8_t alone;       /* interrupts in a row whose wait brought no second completion */
	uint8_t good;        /* the profile furthest right that was better than the one before */
	bool doubt;          /* the last sample was worse, and is repeated */
	uint32_t parked_for; /* samples left */
	struct moder_sample sample;
	struct moder_rates last;
	uint64_t last_ns; /* of the last completion that waited */
	uint64_t gap_ns;  /* smoothed time between completions */
};

/* Mode TARGET: the budget of completions that may be late. */
struct moder_target {
	int64_t credit;    /* in 10,000ths of a completion */
	uint64_t slack_ns; /* measured lateness of interrupts */
	uint64_t due_ns;   /* of waiting completions, as last computed */
	uint64_t hold_ns;  /* smoothed wait of the first completion of an interrupt */
	uint32_t skip;     /* interrupts without waiting longer, since that gained nothing */
	uint32_t vain;     /* times in a row that it gained nothing */
};

struct fw_moder {
	/* every event */
	bool in_handler;   /* the last interrupt's entries were not all taken at the last check */
	bool open;         /* entries or completions wait for an interrupt or to be visible */
	bool by_mask;      /* the mask holds an interrupt back; the doorbell ends that */
	bool at_once;      /* and an entry without limits waits behind it */
	bool starved;      /* the ring is full: CQs stay armed until the process took entries */
	uint8_t mode;      /* hw_coalesce_mode */
	uint8_t cause;     /* hw_vector_counter of the interrupt at the end of this turn */
	uint32_t irq_prod; /* producer index when the last interrupt was raised */
	uint32_t serial;   /* of the interrupt to come; fw_cq.reported_serial */
	uint32_t num_ages;
	uint64_t completions;          /* ever, on CQs of the event queue */
	uint64_t completions_reported; /* of them, when the last interrupt was raised */
	struct moder_limits limits[MODER_CLASSES];
	struct moder_limits irq[MODER_CLASSES]; /* of visibility */
	struct moder_wait wait[MODER_CLASSES];  /* visible, no interrupt yet */
	/* moderated */
	struct moder_wait hidden[MODER_CLASSES];
	struct fw_list hidden_cqs; /* fw_cq.hidden_node */
	struct fw_timer timer;     /* the earliest deadline of this struct */
	uint64_t retry_ns;         /* starved: next check of the ring */
	uint32_t retry_at;         /* and the CQ to continue with when it has room */
	uint32_t others;           /* events of other kinds since the last interrupt */
	struct moder_age age[MODER_AGES];
	struct moder_adapt adapt;
	struct moder_target target;
};

/* ---- moder.c --------------------------------------------------------------------------------- */

void moder_init(struct fw_nic *nic, struct fw_eq *eq);
/* The event queue ends; no CQ uses it any more. */
void moder_end(struct fw_nic *nic, struct fw_eq *eq);
/*
 * An armed CQ has a completion: its event becomes visible, now or later, followed by an interrupt.
 * A full ring leaves the CQ armed.
 */
void moder_due(struct fw_nic *nic, struct fw_cq *cq, const struct moder_news *news);
/* A completion without an event of its own, while others wait (open). */
void moder_cqe(struct fw_nic *nic, struct fw_cq *cq, const struct moder_news *news);
/* An event of another kind was written, or found the ring full: interrupt at once. */
void moder_other(struct fw_nic *nic, struct fw_eq *eq);
/* The CQ was armed anew without a due completion, or ends: its event is not hidden any more. */
void moder_unhide(struct fw_nic *nic, struct fw_cq *cq);
/* The CQ's own settings were set or cleared. */
void moder_modified(struct fw_nic *nic, struct fw_cq *cq);
/* Checks waiting completions again: the process armed a CQ, settings changed, time has passed. */
void moder_look(struct fw_nic *nic, struct fw_eq *eq);
/* Doorbell: the process has removed its mask. */
void moder_unmask(struct fw_nic *nic, struct fw_eq *eq);
/* At the end of a turn. False: masked meanwhile, the interrupt waits for the doorbell. */
bool moder_raise(struct fw_nic *nic, struct fw_eq *eq);

/* ---- moder_report.c ----------------------------------------------------------------------------
 */

/* Notes completions that wait for an interrupt, since ns. */
void moder_age_add(struct fw_moder *m, uint64_t ns, uint32_t frames);
/* The interrupt is raised: counts it, by its cause, and the completions that it reports. */
void moder_report(struct fw_nic *nic, struct fw_eq *eq);
/* The process has found the completions: they need no interrupt any more. */
void moder_forget(struct fw_moder *m);
/* Stores counter i of all vectors, "moder_..."; false past the last. */
bool moder_stat(const struct fw_nic *nic, uint32_t i, const char **name, uint64_t *value);

/* ---- moder_cmd.c ----------------------------------------------------------------------------- */

/* True if the fields in the mask are in range; the rest is ignored. */
bool moder_check(const struct hw_coalesce *coalesce, uint32_t set);
/* Adds the event queue to the vector. */
void moder_join(struct fw_nic *nic, struct fw_eq *eq, uint32_t vector);
void moder_leave(struct fw_nic *nic, struct fw_eq *eq);
/* Converts limits in microseconds and completions (0: off) to the engine's form. */
struct moder_limits moder_limits_of(uint32_t usecs, uint32_t frames);
/* Publishes the choice of an event queue's engine, for queries. */
void moder_chosen(struct fw_nic *nic, const struct fw_eq *eq, const struct moder_limits *rx,
		  const struct moder_limits *tx);

/* ---- moder_adapt.c --------------------------------------------------------------------------- */

void moder_adapt_begin(struct fw_nic *nic, struct fw_eq *eq);
/* A completion waits on its CQ. Returns true if waiting longer gains nothing. */
bool moder_adapt_cqe(struct fw_nic *nic, struct fw_eq *eq, const struct fw_cq *cq,
		     const struct hw_cqe *cqe);
/* Returns the time from which the next completion is overdue. */
uint64_t moder_adapt_due_ns(const struct fw_moder *m);
/* An interrupt is raised; the completions that waited for it are still recorded. */
void moder_adapt_irq(struct fw_nic *nic, struct fw_eq *eq);

/* ---- moder_target.c -------------------------------------------------------------------------- */

void moder_target_begin(struct fw_nic *nic, struct fw_eq *eq);
/* Returns when the interrupt for the waiting completions is due. */
uint64_t moder_target_due_ns(const struct fw_nic *nic, struct fw_eq *eq);
/* The interrupt is raised; the ages are still recorded. */
void moder_target_irq(struct fw_nic *nic, struct fw_eq *eq);

/* Timers: up/timer_fires.c. */
void moder_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_MODER_H */
