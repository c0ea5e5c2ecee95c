/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC connections over TCP for workloads that need them before they begin. See sim_wl_conn.c.
 */
#ifndef WEFT_SIM_WL_CONN_H
#define WEFT_SIM_WL_CONN_H

#include "sim_harness/sim_end.h"

struct weft_comp_channel;

/*
 * Opens a channel for events of the connection manager. listens: also listens at the port that
 * wl_conn_open() connects to. Returns NULL with errno set.
 */
struct weft_comp_channel *wl_conn_channel(struct sim_end *end, bool listens);

/* One end of a connection: a queue pair in RESET, and the channel of its process. */
struct wl_conn_half {
	struct sim_end *end;
	struct weft_qp *qp;
	struct weft_comp_channel *channel;
};

/*
 * Connects from to the listener of to, with CRC32C, and brings both queue pairs to RTS. Runs the
 * simulation; one call at a time for each channel. Returns 0 or a negative errno.
 */
int wl_conn_open(struct wl_conn_half *from, struct wl_conn_half *to);

#endif /* WEFT_SIM_WL_CONN_H */
