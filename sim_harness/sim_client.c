/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking process and its host's processor; see sim_client.h.
 *
 * A step takes effect at the end of its duration. An interrupt in between delays that end. Calls
 * libweft as applications do.
 */
#include "sim_harness/sim_client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static void run(struct sim *sim, void *ctx, uint64_t due_ns);

/* Ends the current step when the processor has been free for it long enough. */
static void finish_at(struct sim_client *c, uint64_t when_ns)
{
	c->due_ns = when_ns;
	sim_at(c->end.sim, when_ns, run, c, when_ns);
}

/* Starts the next step, which occupies the processor from now on. */
static void begin(struct sim_client *c, enum sim_client_step step, uint64_t ns)
{
	uint64_t now_ns = sim_now_ns(c->end.sim);

	c->step = step;
	if (c->busy_until_ns < now_ns)
		c->busy_until_ns = now_ns;
	c->busy_until_ns += ns;
	c->counts.busy_ns += ns;
	finish_at(c, c->busy_until_ns);
}

static void go_to_sleep(struct sim_client *c)
{
	if (c->signalled) {
		c->signalled = false;
		begin(c, SIM_CLIENT_EVENT, c->cost.event_ns);
		return;
	}
	c->state = SIM_CLIENT_ASLEEP;
}

/* No completion was found: arms, checks once more, then sleeps. */
static void found_nothing(struct sim_client *c)
{
	if (c->armed)
		go_to_sleep(c);
	else
		begin(c, SIM_CLIENT_ARM, c->cost.arm_ns);
}

static void post_or_poll(struct sim_client *c)
{
	if (c->post_head != c->post_tail)
		begin(c, SIM_CLIENT_POST, c->cost.post_ns);
	else
		begin(c, SIM_CLIENT_POLL, c->cost.poll_ns);
}

static void take_event(struct sim_client *c)
{
	struct weft_cq *cq;
	int rc = weft_get_cq_event(c->end.channel, &cq, NULL);

	assert(rc == 0 || rc == -EAGAIN);
	if (rc) {
		c->counts.spurious++;
	} else {
		weft_ack_cq_events(cq, 1);
		c->armed = false;
	}
	begin(c, SIM_CLIENT_POLL, c->cost.poll_ns);
}

static void poll_one(struct sim_client *c)
{
	struct weft_wc wc;
	int n = weft_poll_cq(c->end.cq, 1, &wc);

	assert(n >= 0);
	if (!n) {
		found_nothing(c);
		return;
	}
	if (wc.opcode == WEFT_WC_RECV) {
		uint64_t ns = wc.bytes * c->cost.byte_ps / 1000;

		/* The copy precedes the next step. */
		c->busy_until_ns = sim_now_ns(c->end.sim) + ns;
		c->counts.busy_ns += ns;
		c->counts.received++;
	} else {
		c->counts.sent++;
	}
	c->completion(c->ctx, c, &wc);
	post_or_poll(c);
}

static void post_one(struct sim_client *c)
{
	const struct sim_client_post *p = &c->post[c->post_head++ % SIM_CLIENT_POSTS];
	struct weft_sge sge = sim_end_sge(&c->end, p->offset, p->bytes);
	struct weft_send_wr wr = {.wr_id = p->wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = WEFT_WR_SEND,
				  .flags = WEFT_SEND_SIGNALED | p->flags,
				  .ah = c->ah,
				  .dst_qpn = c->peer_qpn,
				  .qkey = SIM_END_QKEY};
	int rc;

	if (p->recv)
		rc = sim_end_recv(&c->end, p->wr_id, p->offset, p->bytes);
	else
		rc = weft_post_send(c->end.qp, &wr, NULL);
	assert(!rc || !"the owner keeps to the depth of the queues");
	(void)rc;
	post_or_poll(c);
}

static void arm(struct sim_client *c)
{
	int rc = weft_req_notify_cq(c->end.cq, false);

	assert(!rc);
	(void)rc;
	c->armed = true;
	begin(c, SIM_CLIENT_POLL, c->cost.poll_ns);
}

static void run(struct sim *sim, void *ctx, uint64_t due_ns)
{
	struct sim_client *c = ctx;

	if (due_ns != c->due_ns || c->state == SIM_CLIENT_ASLEEP)
		return;
	if (c->busy_until_ns > sim_now_ns(sim)) {
		finish_at(c, c->busy_until_ns);
		return;
	}
	if (c->state == SIM_CLIENT_WAKING) {
		c->state = SIM_CLIENT_RUNNING;
		c->signalled = false;
		begin(c, SIM_CLIENT_EVENT, c->cost.event_ns);
		return;
	}
	switch (c->step) {
	case SIM_CLIENT_EVENT:
		take_event(c);
		break;
	case SIM_CLIENT_POLL:
		poll_one(c);
		break;
	case SIM_CLIENT_POST:
		post_one(c);
		break;
	case SIM_CLIENT_ARM:
		arm(c);
		break;
	}
}

static uint64_t wake_ns(struct sim_client *c)
{
	const struct sim_client_cost *cost = &c->cost;

	return cost->wake_spread ? sim_spread_draw(cost->wake_spread, &c->prng, cost->wake_ns)
				 : cost->wake_ns;
}

/* Interrupt: its service takes the processor at once, even from the process. */
static void on_irq(void *ctx, struct sim_proc *proc, uint32_t eq)
{
	struct sim_client *c = ctx;
	uint64_t now_ns = sim_now_ns(c->end.sim);

	(void)proc;
	(void)eq;
	if (c->busy_until_ns < now_ns)
		c->busy_until_ns = now_ns;
	c->busy_until_ns += c->cost.irq_ns;
	c->counts.busy_ns += c->cost.irq_ns;
	c->counts.irqs++;
	c->signalled = true;
	if (c->state != SIM_CLIENT_ASLEEP)
		return;
	c->state = SIM_CLIENT_WAKING;
	c->counts.wakes++;
	c->counts.busy_ns += c->cost.switch_ns;
	finish_at(c, c->busy_until_ns + wake_ns(c));
}

int sim_client_open(struct sim_client *c, struct sim_nic *nic, const struct sim_client_attr *attr)
{
	struct sim_end_attr end = attr->end;
	int rc;

	memset(c, 0, sizeof(*c));
	end.events = true;
	rc = sim_end_open(&c->end, nic, &end);
	if (rc)
		return rc;
	c->cost = attr->cost;
	c->completion = attr->completion;
	c->ctx = attr->ctx;
	sim_prng_init(&c->prng, attr->seed, SIM_STREAM_CLIENT, sim_nic_index(nic));
	sim_proc_on_irq(c->end.proc, on_irq, c);
	sim_proc_set_nonblocking(c->end.proc, true);
	return 0;
}

void sim_client_close(struct sim_client *c)
{
	/* Pending events of the simulation may still refer to it. */
	c->state = SIM_CLIENT_ASLEEP;
	if (c->end.proc)
		sim_proc_on_irq(c->end.proc, NULL, NULL);
	sim_end_close(&c->end);
}

int sim_client_connect(struct sim_client *c, const struct sim_client *peer)
{
	c->ah = sim_end_ah(&c->end, sim_proc_nic(peer->end.proc));
	c->peer_qpn = peer->end.qp->qpn;
	return c->ah ? 0 : -errno;
}

static void queue(struct sim_client *c, const struct sim_client_post *p)
{
	assert(c->post_tail - c->post_head < SIM_CLIENT_POSTS);
	c->post[c->post_tail++ % SIM_CLIENT_POSTS] = *p;
}

void sim_client_send(struct sim_client *c, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	queue(c, &(struct sim_client_post){.wr_id = wr_id, .offset = offset, .bytes = bytes});
}

void sim_client_recv(struct sim_client *c, uint64_t wr_id, size_t offset, uint32_t bytes)
{
	queue(c, &(struct sim_client_post){
		     .recv = true, .wr_id = wr_id, .offset = offset, .bytes = bytes});
}

void sim_client_start(struct sim_client *c)
{
	if (c->state != SIM_CLIENT_ASLEEP)
		return;
	c->state = SIM_CLIENT_RUNNING;
	post_or_poll(c);
}

bool sim_client_idle(const struct sim_client *c)
{
	return c->state == SIM_CLIENT_ASLEEP && c->post_head == c->post_tail;
}
