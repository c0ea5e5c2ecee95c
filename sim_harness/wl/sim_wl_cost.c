/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload cost: the same messages again and again, so that their instructions can be counted.
 *
 * One process at each of two NICs. A round posts `turn` messages at once; its frames arrive at
 * once, so that each core handles the messages of a round in as few turns as its budget allows. The
 * next round begins when the completions of all messages were polled. Nothing is random but
 * addresses and sequence numbers, and nothing is lost. tools/bench/cost.py runs it under callgrind
 * with two durations: the difference belongs to the messages alone. docs/cost.md.
 *
 * The data is not checked: other workloads do that, and here the check would be most of the work.
 */
#include "sim_harness/wl/sim_wl_cost.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nic_fw/fw.h"

enum {
	P_OP,
	P_BYTES,
	P_TURN,
};

enum {
	STEP_NS = 20000, /* interval at which the processes look at their queues */
	LATENCY_NS = 1000,
	UD_HEAD_BYTES = 64, /* more room than a datagram needs beside its payload */
	BUF_BYTES_MAX = 1 << 25,
};

struct weft_sge cost_from(const struct cost *c, uint32_t i)
{
	return sim_end_sge(&c->from, (size_t)i * c->bytes, c->bytes);
}

struct weft_sge cost_to(const struct cost *c, uint32_t i)
{
	size_t room = (size_t)c->bytes + UD_HEAD_BYTES;

	return sim_end_sge(&c->to, i * room, (uint32_t)room);
}

/* ---- datagrams and RC ------------------------------------------------------------------------ */

static int post_recvs(struct cost *c)
{
	struct weft_recv_wr wr[COST_TURN_MAX];
	struct weft_sge sge[COST_TURN_MAX];
	uint32_t i;

	for (i = 0; i < c->turn; i++) {
		sge[i] = cost_to(c, i);
		wr[i] = (struct weft_recv_wr){.next = i + 1 < c->turn ? &wr[i + 1] : NULL,
					      .wr_id = COST_WR_RECV + i,
					      .sg_list = &sge[i],
					      .num_sge = 1};
	}
	return weft_post_recv(c->to.qp, wr, NULL);
}

static int post_requests(struct cost *c, enum weft_wr_opcode opcode)
{
	struct weft_send_wr wr[COST_TURN_MAX];
	struct weft_sge sge[COST_TURN_MAX];
	uint32_t i;

	for (i = 0; i < c->turn; i++) {
		struct weft_sge to = cost_to(c, i);

		sge[i] = cost_from(c, i);
		wr[i] = (struct weft_send_wr){.next = i + 1 < c->turn ? &wr[i + 1] : NULL,
					      .wr_id = i,
					      .sg_list = &sge[i],
					      .num_sge = 1,
					      .opcode = opcode,
					      .flags = WEFT_SEND_SIGNALED,
					      .rkey = c->to.mr->rkey,
					      .remote_addr = to.addr,
					      .ah = c->ah,
					      .dst_qpn = c->to.qp->qpn,
					      .qkey = SIM_END_QKEY};
	}
	return weft_post_send(c->from.qp, wr, NULL);
}

static int post_sends(struct cost *c)
{
	int rc = post_recvs(c);

	return rc ? rc : post_requests(c, WEFT_WR_SEND);
}

static int post_writes(struct cost *c)
{
	return post_requests(c, WEFT_WR_WRITE);
}

static int open_dgram(struct cost *c)
{
	c->ah = sim_end_ah(&c->from, sim_nic_at(c->run->sim, 1));
	return c->ah ? 0 : -errno;
}

static const struct cost_path cost_ud = {WEFT_QPT_UD, false, open_dgram, post_sends,
					 1,           1,     NULL,       NULL};
static const struct cost_path cost_rd_send = {WEFT_QPT_RD, false, open_dgram, post_sends,
					      1,           1,     NULL,       NULL};
static const struct cost_path cost_rd_write = {WEFT_QPT_RD, false, open_dgram, post_writes,
					       1,           0,     NULL,       NULL};
static const struct cost_path cost_tcp_send = {WEFT_QPT_RC, true, cost_tcp_open, post_sends,
					       1,           1,    NULL,          NULL};
static const struct cost_path cost_tcp_write = {WEFT_QPT_RC, true, cost_tcp_open, post_writes,
						1,           0,    NULL,          NULL};

static const struct cost_path *const paths[COST_OPS] = {
    [COST_UD] = &cost_ud,
    [COST_RD_SEND] = &cost_rd_send,
    [COST_RD_WRITE] = &cost_rd_write,
    [COST_TCP_SEND] = &cost_tcp_send,
    [COST_TAGGED] = &cost_tagged,
    [COST_GOAL_MSG] = &cost_goal_msg,
    [COST_GOAL_LOCAL] = &cost_goal_local,
    [COST_TCP_WRITE] = &cost_tcp_write,
};

/* ---- rounds ---------------------------------------------------------------------------------- */

static void take(struct cost *c, struct sim_end *end)
{
	struct weft_wc wc[COST_TURN_MAX];
	int n = weft_poll_cq(end->cq, COST_TURN_MAX, wc), i;

	for (i = 0; i < n; i++) {
		if (wc[i].status != WEFT_WC_SUCCESS) {
			sim_run_fail(c->run, "completion: request %" PRIu64 ": %s", wc[i].wr_id,
				     weft_wc_status_str(wc[i].status));
			return;
		}
		if (wc[i].wr_id < COST_WR_RECV)
			c->sent++;
		else
			c->received++;
	}
}

static bool is_over(struct cost *c)
{
	if (c->path->over)
		return c->path->over(c);
	if (c->sent < c->path->sends * c->turn)
		take(c, &c->from);
	if (c->received < c->path->recvs * c->turn)
		take(c, &c->to);
	return c->sent == c->path->sends * c->turn && c->received == c->path->recvs * c->turn;
}

static void step(struct sim *sim, void *ctx, uint64_t arg)
{
	struct cost *c = ctx;
	int rc = 0;

	if (c->run->failure[0] || c->run->closed)
		return;
	if (c->under_way && is_over(c)) {
		c->under_way = false;
		c->rounds++;
		c->run->received += c->turn;
		c->run->bytes += (uint64_t)c->turn * c->bytes;
	}
	if (!c->under_way && !c->run->stopping) {
		c->sent = c->received = 0;
		c->under_way = true;
		rc = c->path->post(c);
	}
	if (rc)
		sim_run_fail(c->run, "post: %s", strerror(-rc));
	else
		sim_at(sim, sim_now_ns(sim) + STEP_NS, step, c, arg);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Lines that take no time: the frames of a turn arrive together, and meet one turn of the peer. */
static void config(const uint64_t *param, struct sim_config *config)
{
	(void)param;
	config->link.gap_ns = 0;
	config->link.gap_ps_per_byte = 0;
	config->link.latency_ns = LATENCY_NS;
	/* As of a NIC of weftd. */
	config->tcp_awake = FW_TCP_AWAKE;
}

static uint32_t nics(const uint64_t *param)
{
	(void)param;
	return 2;
}

static int start(struct sim_run *run)
{
	struct cost *c = calloc(1, sizeof(*c));
	struct sim_end_attr attr = {.max_wr = 2 * COST_TURN_MAX, .max_sge = 1};
	size_t bytes;
	int rc;

	assert(c);
	run->state = c;
	c->run = run;
	c->path = paths[run->param[P_OP]];
	c->turn = (uint32_t)run->param[P_TURN];
	c->bytes = (uint32_t)run->param[P_BYTES];
	bytes = (size_t)c->turn * (c->bytes + UD_HEAD_BYTES);
	if (bytes > BUF_BYTES_MAX)
		return -EINVAL;
	attr.type = c->path->type;
	attr.inactive = c->path->inactive;
	attr.bytes = (bytes + 4095) & ~(size_t)4095;
	rc = sim_end_open(&c->from, sim_nic_at(run->sim, 0), &attr);
	if (!rc)
		rc = sim_end_open(&c->to, sim_nic_at(run->sim, 1), &attr);
	if (!rc)
		rc = c->path->open(c);
	if (!rc)
		sim_at(run->sim, sim_now_ns(run->sim), step, c, 0);
	return rc;
}

static bool quiet(struct sim_run *run)
{
	const struct cost *c = run->state;

	return !c->under_way;
}

static void check(struct sim_run *run)
{
	const struct cost *c = run->state;
	uint64_t frames = 0, turns = 0;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		const struct sim_nic_counts *counts = sim_nic_counts(sim_nic_at(run->sim, i));

		frames += counts->tx_frames;
		turns += counts->polls;
	}
	sim_run_figure(run, "rounds", (double)c->rounds);
	sim_run_figure(run, "messages", (double)(c->rounds * c->turn));
	sim_run_figure(run, "frames", (double)frames);
	sim_run_figure(run, "turns", (double)turns);
}

static void close_all(struct sim_run *run)
{
	struct cost *c = run->state;

	if (c->path->close)
		c->path->close(c);
	sim_end_close(&c->from);
	sim_end_close(&c->to);
}

static void stop(struct sim_run *run)
{
	close_all(run);
	free(run->state);
}

static const struct sim_param params[] = {
    [P_OP] = {"op",
	      "0 UD Send, 1 RD Send, 2 RD Write, 3 Send over TCP, 4 tagged, 5 GOAL message, 6 GOAL "
	      "operation, 7 Write over TCP",
	      COST_RD_SEND, 0, COST_OPS - 1},
    [P_BYTES] = {"bytes", "of a message", 64, 1, 1 << 20},
    [P_TURN] = {"turn", "messages at a time", 32, 1, COST_TURN_MAX},
    {NULL, NULL, 0, 0, 0},
};

const struct sim_workload sim_wl_cost = {
    .name = "cost",
    .help = "equal messages without pause, whose instructions callgrind counts; measured",
    .start = start,
    .quiet = quiet,
    .check = check,
    .close = close_all,
    .stop = stop,
    .params = params,
    .nics = nics,
    .config = config,
    .measures = true,
};
