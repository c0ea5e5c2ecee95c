/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pair of ends (sim_fix.h) whose RC queue pairs are connected over MPA/TCP by the connection
 * manager: opening, events, closing. Used by rc_tcp_ut.c and tcp_run_*_ut.c.
 */
#ifndef WEFT_TESTS_RC_TCP_FIX_H
#define WEFT_TESTS_RC_TCP_FIX_H

#include "host_driver/weft_cm.h"
#include "host_driver/weft_priv.h"
#include "tests/sim/sim_fix.h"

struct rc_tcp_end {
	struct sim_end *end;
	struct weft_comp_channel *channel;
	uint32_t ep;
};

/* The connection of the test under way: its ends are those of a and b. */
struct rc_tcp {
	struct rc_tcp_end active, passive;
	uint32_t listener;
	uint16_t options; /* HW_MPA_* */
};
extern struct rc_tcp rc_tcp;

/* Opens a pair, listens at b, and connects. */
void rc_tcp_open(struct pair *p, uint64_t seed, const struct pair_attr *attr);
/* Moves the queue pair of an end to RTS. */
void rc_tcp_ready(struct pair *p, struct sim_end *end);
/* Waits for an event of this type. */
struct hw_resp_cm_event rc_tcp_told(struct pair *p, struct rc_tcp_end *t,
				    enum hw_cm_event_type type);
/* Connects a to b, as new endpoints. */
void rc_tcp_connect(struct pair *p);
/* Several requests open the congestion windows of both ends, so that runs are long. */
void rc_tcp_warm(struct pair *p);
/* Ends all, and checks that all resources of connections are freed. */
void rc_tcp_close(struct pair *p);

#endif /* WEFT_TESTS_RC_TCP_FIX_H */
