/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process's table of runs, for weft_goal.c and weft_goal_run.c.
 */
#ifndef WEFT_GOAL_PRIV_H
#define WEFT_GOAL_PRIV_H

#include <pthread.h>

#include "host_driver/weft_goal.h"

struct weft_goal {
	struct weft_ctx *ctx;
	struct weft_comp_channel *channel;
	struct hw_goal_run *records;
	uint32_t runs;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t over;  /* an event arrived, or the leader stopped waiting */
	bool leader;          /* a thread waits for events on behalf of all */
	/* The waiter by descriptor (NULL: none), and how often it asked to be. */
	const void *listener;
	uint32_t listens;
	int note_fd;    /* eventfd: the leader has taken events; -1: not made yet */
	uint32_t *free; /* unused records */
	uint32_t num_free;
	uint32_t serial;
	/* Registered memory from which schedules are loaded, kept, so that a load is one command.
	 */
	pthread_mutex_t stage_lock;
	struct weft_mr *stage; /* NULL: not made yet */
	struct weft_pd *stage_pd;
};

#endif /* WEFT_GOAL_PRIV_H */
