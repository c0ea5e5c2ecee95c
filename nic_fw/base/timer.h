/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers of one instance: a binary heap ordered by deadline.
 *
 * fw_poll() runs them after the input was drained. Deadlines are exact, so that the simulator's
 * virtual time is. A timer that is set again before it fires moves. Users that often push a
 * deadline out keep the old one and check again when it fires.
 */
#ifndef WEFT_FW_TIMER_H
#define WEFT_FW_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;
struct fw_timer;

/* The timers of all floors: a number, since addresses of code change with an upgrade. */
enum fw_timer_kind {
	FW_TIMER_TCP,
	FW_TIMER_TCP_REST,
	FW_TIMER_TCP_SYN,
	FW_TIMER_TCP_GRANT,
	FW_TIMER_NEIGH,
	FW_TIMER_IGMP,
	FW_TIMER_ESP_RDMAP_OPEN,
	FW_TIMER_ESP_RDMAP_LOOK,
	FW_TIMER_ESP_RDMAP_READY,
	FW_TIMER_CM,
	FW_TIMER_GOAL_TRACE,
	FW_TIMER_GOAL_RUN_SLOW,
	FW_TIMER_GOAL_COMM_SLOW,
	FW_TIMER_GOAL_ORPHAN,
	FW_TIMER_GOAL_RUN,
	FW_TIMER_GOAL_CALC,
	FW_TIMER_MGRP,
	FW_TIMER_MGRP_ACK,
	FW_TIMER_GOAL_COMM_ANY,
	FW_TIMER_GOAL_COMM_END,
	FW_TIMER_GOAL_RESUME,
	FW_TIMER_GOAL_STALL,
	FW_TIMER_AH,
	FW_TIMER_MODER,
	FW_TIMER_RD_RNR,
	FW_TIMER_RD_SESSION,
	FW_TIMER_RD_PACE,
	FW_TIMER_UD_REASM,
	FW_TIMER_RD_GRANT,
	FW_TIMER_ESP,
	FW_TIMER_MPA_RETRY,
	FW_TIMER_MPA,
	FW_TIMER_CQ_LATE,
	FW_TIMER_TAG_OWING,
	FW_TIMER_KINDS
};

typedef void (*fw_timer_fn)(struct fw_nic *nic, struct fw_timer *timer);

/* By fw_timer_kind: up/timer_fires.c. */
extern const fw_timer_fn fw_timer_fires[FW_TIMER_KINDS];

struct fw_timer {
	uint64_t deadline_ns;
	uint32_t kind;
	uint32_t pos; /* place in the heap plus one; 0: not set */
};

struct fw_timers {
	struct fw_timer **heap;
	uint32_t count;
	uint32_t max;
};

void fw_timers_init(struct fw_timers *timers, struct fw_timer **heap, uint32_t max);
void fw_timer_init(struct fw_timer *timer, enum fw_timer_kind kind);

static inline bool fw_timer_is_set(const struct fw_timer *timer)
{
	return timer->pos != 0;
}

/* A moment from which a wait for a peer is counted. */
struct fw_moment {
	uint64_t ns;   /* 0: none */
	uint32_t away; /* time that this core had missed by then, in FW_AWAY_UNIT_NS; it wraps */
	uint32_t absences; /* number of absences by then */
};

enum {
	FW_AWAY_UNIT_NS = 1024,
	FW_WAIT_TURNS = 32, /* absences after which a peer has had enough chances to answer */
};
#define FW_AWAY_NS UINT64_C(1000000) /* a core this late counts as absent */

/* At the beginning of a turn: returns how late it is, and counts an absence of the core. */
uint64_t fw_count_absence(struct fw_nic *nic, uint64_t now_ns);
/*
 * True if a peer has been silent for more than limit_ns (UINT64_MAX: never) since the moment. A
 * core without a processor cannot receive, so the wait is over only when the core was present for
 * that long, or came back often enough to have sent again and received answers.
 */
bool fw_waited(const struct fw_nic *nic, const struct fw_moment *since, uint64_t limit_ns);

/* The heap has room for every timer that can exist (asserted). */
void fw_timer_set(struct fw_timers *timers, struct fw_timer *timer, uint64_t deadline_ns);
void fw_timer_cancel(struct fw_timers *timers, struct fw_timer *timer);

/* Fires expired timers, at most budget of them. Returns how many. */
uint32_t fw_timers_run(struct fw_nic *nic, struct fw_timers *timers, uint64_t now_ns,
		       uint32_t budget);

static inline uint64_t fw_timers_next_ns(const struct fw_timers *timers)
{
	return timers->count ? timers->heap[0]->deadline_ns : UINT64_MAX;
}

#endif /* WEFT_FW_TIMER_H */
