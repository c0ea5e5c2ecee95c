/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload cost: tagged messages into receives that were posted before. See sim_wl_cost.c.
 * docs/tagged.md.
 */
#include "sim_harness/wl/sim_wl_cost.h"

#include <errno.h>

#include "host_driver/weft_tag.h"

static int open_tagged(struct cost *c)
{
	struct sim_end *const end[2] = {&c->from, &c->to};
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct weft_tag_attr attr = {.send_cq = end[i]->cq,
					     .recv_cq = end[i]->cq,
					     .cap = {.max_send_wr = 2 * COST_TURN_MAX,
						     .max_recv_wr = 2 * COST_TURN_MAX,
						     .max_send_sge = 1,
						     .max_recv_sge = 1},
					     .qkey = SIM_END_QKEY,
					     .pool_bytes = 1 << 20};

		/* The pool is of libweft's own memory. */
		sim_proc_move_memory(end[i]->proc);
		c->tag[i] = weft_open_tag_ep(end[i]->pd, &attr);
		if (!c->tag[i])
			return -errno;
	}
	c->ah = sim_end_ah(&c->from, sim_nic_at(c->run->sim, 1));
	return c->ah ? 0 : -errno;
}

static int post_tagged(struct cost *c)
{
	struct weft_sge sge;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < c->turn && !rc; i++) {
		const struct weft_tag_recv_wr wr = {.wr_id = COST_WR_RECV + i,
						    .sg_list = &sge,
						    .num_sge = 1,
						    .src_ip =
							sim_nic_ip(sim_nic_at(c->run->sim, 0)),
						    .src_qpn = c->tag[0]->qp->qpn,
						    .tag = i};

		sge = cost_to(c, i);
		rc = weft_tag_recv(c->tag[1], &wr, NULL);
	}
	for (i = 0; i < c->turn && !rc; i++) {
		const struct weft_tag_send_wr wr = {.wr_id = i,
						    .sg_list = &sge,
						    .num_sge = 1,
						    .ah = c->ah,
						    .dst_qpn = c->tag[1]->qp->qpn,
						    .tag = i};

		sge = cost_from(c, i);
		rc = weft_tag_send(c->tag[0], &wr);
	}
	return rc;
}

static void close_tagged(struct cost *c)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		if (c->tag[i])
			weft_close_tag_ep(c->tag[i]);
	c->tag[0] = c->tag[1] = NULL;
}

const struct cost_path cost_tagged = {
    .type = WEFT_QPT_RD,
    .inactive = true,
    .open = open_tagged,
    .post = post_tagged,
    .sends = 1,
    .recvs = 1,
    .close = close_tagged,
};
