/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timers of one instance: a binary heap ordered by deadline.
 *
 * Set by rd_*.c, ud_reasm.c, neigh.c, moder.c; run by fw_poll() after input was drained.
 * Deadlines are exact, so that the simulator's virtual time is. A timer that is set again
 * before it fires moves; callers that push a deadline out often keep the old one and look
 * again when it fires.
 */
#ifndef WEFT_FW_TIMER_H
#define WEFT_FW_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct fw_nic;

struct fw_timer {
	uint64_t deadline_ns;
	void (*fire)(struct fw_nic *nic, struct fw_timer *timer);
	uint32_t pos; /* place in the heap plus one; 0: not set */
	uint32_t reserved;
};

struct fw_timers {
	struct fw_timer **heap;
	uint32_t count;
	uint32_t max;
};

void fw_timers_init(struct fw_timers *timers, struct fw_timer **heap, uint32_t max);
void fw_timer_init(struct fw_timer *timer, void (*fire)(struct fw_nic *, struct fw_timer *));

static inline bool fw_timer_is_set(const struct fw_timer *timer)
{
	return timer->pos != 0;
}

/* A moment from which a wait for somebody else is counted. */
struct fw_moment {
	uint64_t ns;       /* 0: none */
	uint32_t away;     /* what this core had missed by then, in FW_AWAY_UNIT_NS; it wraps */
	uint32_t absences; /* and how often it had been away */
};

enum {
	FW_AWAY_UNIT_NS = 1024,
	FW_WAIT_TURNS = 32, /* absences after which one who waits has had his chances */
};
#define FW_AWAY_NS UINT64_C(1000000) /* a core that comes so late was away */

/* At the beginning of a turn: how much too late it is, and notes it if the core was away. */
uint64_t fw_count_absence(struct fw_nic *nic, uint64_t now_ns);
struct fw_moment fw_moment_now(const struct fw_nic *nic);
/*
 * Whether somebody has been silent for more than limit_ns (UINT64_MAX: never). A core that had no
 * processor can have heard nothing: either it was there for so long, or it came back often enough
 * to have sent again and heard answers.
 */
bool fw_waited(const struct fw_nic *nic, const struct fw_moment *since, uint64_t limit_ns);

/* The heap has room for every timer that can exist (asserted). */
void fw_timer_set(struct fw_timers *timers, struct fw_timer *timer, uint64_t deadline_ns);
void fw_timer_cancel(struct fw_timers *timers, struct fw_timer *timer);

/* Fires what is due, at most budget of them; returns how many. */
uint32_t fw_timers_run(struct fw_nic *nic, struct fw_timers *timers, uint64_t now_ns,
		       uint32_t budget);

static inline uint64_t fw_timers_next_ns(const struct fw_timers *timers)
{
	return timers->count ? timers->heap[0]->deadline_ns : UINT64_MAX;
}

#endif /* WEFT_FW_TIMER_H */
