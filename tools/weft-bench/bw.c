/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth and message rate of send and write: counted, timed and checked at the receiver. Calls
 * stream.c.
 */
#include <stdio.h>

#include "lib/clock.h"
#include "tools/weft-bench/pair.h"
#include "tools/weft-bench/stream.h"

enum {
	/* UD: time after which the last messages count as lost. */
	BW_TAIL_NS = 200000000,
};

static struct stream_tx sender(const struct opts *o, struct ep *ep)
{
	struct stream_tx tx = {.ep = ep, .total = o->warmup + o->iters};

	if (o->duration_s > 0) {
		tx.total = UINT64_MAX;
		tx.end_ns = clock_now_ns() + (uint64_t)(o->duration_s * 1e9);
	}
	return tx;
}

/* The lost tail of a UD stream. */
static void count_tail(struct stream_rx *rx, uint64_t sent)
{
	if (rx->next < sent)
		rx->flow.lost += sent - rx->next;
}

static int run_loop(struct opts *o, struct pair *p, struct flow *flow)
{
	struct stream_tx tx = sender(o, &p->a);
	struct stream_rx rx = {.ep = &p->b, .warmup = o->warmup};
	struct ep_idle idle = {.o = o, .ep = {&p->a, &p->b}, .fd = -1};
	uint64_t waited;
	int n, m;

	while (!stream_sent(&tx) || rx.next < tx.total || rx.num_doubts) {
		n = stream_send(&tx);
		m = n < 0 ? n : stream_recv(&rx);
		if (m < 0)
			return -1;
		if (n + m) {
			ep_busy(&idle);
			continue;
		}
		if (ep_idle(&idle, &waited))
			return -1;
		stream_send_idle(&tx, waited);
		if (waited)
			stream_recv_idle(&rx);
		if (o->qp == WEFT_QPT_UD && stream_sent(&tx) && waited > BW_TAIL_NS)
			break;
	}
	count_tail(&rx, tx.total);
	stream_account(&rx);
	*flow = rx.flow;
	return 0;
}

static int run_client(struct opts *o, struct pair *p, struct flow *flow)
{
	struct stream_tx tx = sender(o, &p->a);
	struct ep_idle idle = {.o = o, .ep = {&p->a}, .fd = p->oob.fd};
	uint64_t waited;
	json_t *msg;
	int n;

	while (!stream_sent(&tx)) {
		n = stream_send(&tx);
		if (n < 0)
			return -1;
		if (n) {
			ep_busy(&idle);
			continue;
		}
		if (ep_idle(&idle, &waited))
			return -1;
		/* The server sends on request only, and there was none. */
		if (idle.fd_ready)
			return fail("the other end has gone");
		stream_send_idle(&tx, waited);
	}
	if (pair_finish(p, tx.seq, &msg))
		return -1;
	n = flow_parse(msg, flow);
	json_decref(msg);
	if (!n && o->qp != WEFT_QPT_UD && flow->received != tx.seq)
		n = fail("the server counted %llu messages of %llu",
			 (unsigned long long)flow->received, (unsigned long long)tx.seq);
	return n;
}

static int run_server(struct opts *o, struct pair *p, struct flow *flow)
{
	struct stream_rx rx = {.ep = &p->a, .warmup = o->warmup};
	struct ep_idle idle = {.o = o, .ep = {&p->a}, .fd = p->oob.fd};
	uint64_t waited, sent = UINT64_MAX;
	int n;

	/* Messages that must still be reported come within the time of the tail. */
	while (rx.next < sent || rx.num_doubts) {
		n = stream_recv(&rx);
		if (n < 0)
			return -1;
		if (n) {
			ep_busy(&idle);
			continue;
		}
		if (ep_idle(&idle, &waited))
			return -1;
		if (waited)
			stream_recv_idle(&rx);
		if (idle.fd_ready) {
			idle.fd_ready = false;
			idle.fd = -1;
			if (pair_sent(p, &sent))
				return -1;
			ep_busy(&idle);
		}
		if (o->qp == WEFT_QPT_UD && sent != UINT64_MAX && waited > BW_TAIL_NS)
			break;
	}
	count_tail(&rx, sent);
	stream_account(&rx);
	*flow = rx.flow;
	return oob_send(&p->oob, flow_json(flow));
}

int bw_loop(struct pair *p, struct flow *flow)
{
	int rc = stream_start(&p->a);

	if (!rc)
		rc = stream_start(&p->b);
	return rc ? rc : run_loop(p->o, p, flow);
}

int bw_run(struct pair *p)
{
	struct opts *o = p->o;
	struct flow flow = {0};
	int rc = stream_start(&p->a);

	if (!rc && o->loop)
		rc = stream_start(&p->b);
	if (!rc)
		rc = pair_sync(p);
	if (!rc) {
		if (o->loop)
			rc = run_loop(o, p, &flow);
		else
			rc = o->server ? run_server(o, p, &flow) : run_client(o, p, &flow);
	}
	if (!rc && !o->server)
		report_flow(o, p->a.end.context->name, &flow);
	if (!rc && o->server && !o->json)
		printf("served %s %s over %s on %s: %llu messages, %llu lost, %llu wrong\n",
		       bench_mode_str(o->mode), bench_op_str(o->op), bench_qp_str(o),
		       p->a.end.context->name, (unsigned long long)flow.received,
		       (unsigned long long)flow.lost, (unsigned long long)flow.errors);
	return rc || flow.errors ? BENCH_FAILED : BENCH_OK;
}
