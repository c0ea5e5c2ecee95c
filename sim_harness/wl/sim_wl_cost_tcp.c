/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload cost: an RC connection over TCP. See sim_wl_cost.c. Calls sim_wl_conn.c.
 */
#include "sim_harness/wl/sim_wl_conn.h"
#include "sim_harness/wl/sim_wl_cost.h"

#include <errno.h>

int cost_tcp_open(struct cost *c)
{
	struct wl_conn_half from = {&c->from, c->from.qp, wl_conn_channel(&c->from, false)};
	struct wl_conn_half to = {&c->to, c->to.qp, wl_conn_channel(&c->to, true)};

	if (!from.channel || !to.channel)
		return -errno;
	return wl_conn_open(&from, &to);
}
