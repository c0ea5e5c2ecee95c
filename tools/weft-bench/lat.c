/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ping-pong with send or write: message 2i goes there, 2i + 1 comes back, each made from its number
 * and checked.
 *
 * On UD a message may be lost: a message without an answer within LAT_RESEND_NS is sent again, and
 * a duplicate is answered again.
 */
#include <stdio.h>

#include "lib/clock.h"
#include "tools/weft-bench/pair.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/report.h"

enum {
	LAT_RESEND_NS = 20000000,
	LAT_COMPLAINTS = 5, /* wrong messages that are described */
};

struct lat_state {
	struct opts *o;
	struct pair *pair;
	struct rounds rounds;
	uint64_t rung_ns; /* just after the doorbell of the message in flight */
	bool measures;    /* the warm-up is over */
};

/* Results of a wait for a message. */
enum lat_got {
	LAT_FAILED = -1,
	LAT_MSG = 0,
	LAT_NOTHING, /* UD: none within LAT_RESEND_NS */
	LAT_FD,      /* the other end sends a line over TCP */
};

static int post_receives(struct ep *ep)
{
	uint32_t slot;

	if (ep->o->qp == WEFT_QPT_UD && ep->o->op == BENCH_WRITE)
		return 0; /* Write-Record takes none */
	for (slot = 0; slot < ep->o->window; slot++)
		if (ep_queue_recv(ep, slot))
			return -1;
	return ep_flush(ep);
}

static int lat_post(struct lat_state *s, struct ep *ep, uint64_t seq)
{
	const struct opts *o = ep->o;

	/* Its slot must not belong to the NIC any more. */
	while (ep->posted - ep->done >= o->window)
		if (ep_poll(ep) < 0)
			return -1;
	pattern_fill(ep_tx(ep, (uint32_t)(seq % o->window)), o->size, seq, o->window);
	if (ep_queue(ep, seq, o->size))
		return -1;
	if (ep_flush(ep))
		return -1;
	/* Before the doorbell, the time to read the clock would be a part of the round trip. */
	s->rung_ns = clock_now_ns();
	return 0;
}

/* Compares, then posts the receive again. *seq becomes the number in the message. */
static int check_msg(struct lat_state *s, struct ep *ep, const struct ep_msg *msg, uint64_t want,
		     bool *repeated)
{
	const struct opts *o = s->o;
	uint8_t *data = ep_rx(ep, msg->slot);
	size_t at;

	*repeated = o->qp == WEFT_QPT_UD && msg->seq < want;
	if (!*repeated) {
		at = msg->bytes == o->size ? pattern_check(data, o->size, want, o->window) : 0;
		if (at != o->size && s->rounds.errors++ < LAT_COMPLAINTS)
			fail("message %llu of %u bytes is wrong at byte %zu",
			     (unsigned long long)want, msg->bytes, at);
		/* The wire may duplicate a Write-Record, which is then looked at again. */
		if (o->qp != WEFT_QPT_UD || o->op != BENCH_WRITE)
			pattern_wipe(data, o->size);
	}
	if (o->qp == WEFT_QPT_UD && o->op == BENCH_WRITE)
		return 0;
	/* Posted with the next request. */
	return ep_queue_recv(ep, msg->slot);
}

/*
 * The NIC's clock stands still within a turn, so a message that came within one turn may seem to
 * arrive before it was sent.
 */
static int note_nic(struct lat_state *s, const struct ep_msg *msg)
{
	uint64_t ns = msg->nic_ns > s->rung_ns ? msg->nic_ns - s->rung_ns : 0;

	return samples_add(&s->rounds.nic, ns);
}

/*
 * Takes down how long the wake-up took, after the first poll behind a sleep. The first completion
 * ended the sleep, unless it was there before that began.
 */
static int note_wake(struct lat_state *s, struct ep_idle *idle, uint64_t first_ns)
{
	uint64_t woken_ns = idle->woken_ns;

	idle->woken_ns = 0;
	if (!s->o->wakes_file || !s->measures || first_ns < idle->slept_ns || first_ns > woken_ns)
		return 0;
	return samples_add(&s->rounds.wake, woken_ns - first_ns);
}

/*
 * Waits at ep for message want. other: loop's second end, whose completions are polled too. A
 * repeated message sets *again.
 */
static enum lat_got await(struct lat_state *s, struct ep *ep, struct ep *other, uint64_t want,
			  bool *again)
{
	struct ep_idle idle = {.o = s->o, .ep = {ep, other}, .fd = other ? -1 : s->pair->oob.fd};
	uint64_t waited;
	struct ep_msg msg;
	int n;

	*again = false;
	for (;;) {
		n = ep_poll(ep);
		if (n < 0 || (!n && other && ep_poll(other) < 0))
			return LAT_FAILED;
		if (n && note_wake(s, &idle, ep->first_ns))
			return LAT_FAILED;
		if (ep_next(ep, &msg)) {
			if (check_msg(s, ep, &msg, want, again))
				return LAT_FAILED;
			if (!*again && other && note_nic(s, &msg))
				return LAT_FAILED;
			if (!*again || s->o->server)
				return LAT_MSG;
			continue;
		}
		if (n) {
			ep_busy(&idle);
			continue;
		}
		if (ep_idle(&idle, &waited))
			return LAT_FAILED;
		if (idle.fd_ready)
			return LAT_FD;
		if (s->o->qp == WEFT_QPT_UD && !s->o->server && waited > LAT_RESEND_NS)
			return LAT_NOTHING;
	}
}

/* Sends seq from one end and waits for want at the other; sends again on UD after a loss. */
static int exchange(struct lat_state *s, struct ep *from, uint64_t seq, struct ep *to,
		    struct ep *other, uint64_t want)
{
	uint64_t begin = s->o->qp == WEFT_QPT_UD ? clock_now_ns() : 0;
	enum lat_got got;
	bool again;

	if (lat_post(s, from, seq))
		return -1;
	while ((got = await(s, to, other, want, &again)) == LAT_NOTHING) {
		if ((double)(clock_now_ns() - begin) > s->o->timeout_s * 1e9)
			return fail("no answer for %g s: gave up", s->o->timeout_s);
		s->rounds.resent++;
		if (lat_post(s, from, seq))
			return -1;
	}
	/* The server sends on request only, and there was none. */
	if (got == LAT_FD)
		return fail("the other end has gone");
	return got == LAT_MSG ? 0 : -1;
}

static int round_trip(struct lat_state *s, uint64_t i)
{
	struct ep *a = &s->pair->a, *b = &s->pair->b;

	if (!s->o->loop)
		return exchange(s, a, 2 * i, a, NULL, 2 * i + 1);
	if (exchange(s, a, 2 * i, b, a, 2 * i))
		return -1;
	return exchange(s, b, 2 * i + 1, a, b, 2 * i + 1);
}

/* Client or loop: the measuring end. */
static int drive(struct lat_state *s)
{
	const struct opts *o = s->o;
	uint64_t i, t0, t1, end = 0;

	for (i = 0; i < o->warmup; i++)
		if (round_trip(s, i))
			return -1;
	s->rounds.nic.count = 0;
	s->measures = true;
	t0 = clock_now_ns();
	if (o->duration_s > 0)
		end = t0 + (uint64_t)(o->duration_s * 1e9);
	for (; end ? t0 < end : i < o->warmup + o->iters; i++) {
		if (round_trip(s, i))
			return -1;
		t1 = clock_now_ns();
		if (samples_add(&s->rounds.rtt, t1 - t0))
			return -1;
		t0 = t1;
	}
	if (!o->loop) {
		struct flow account;
		json_t *msg;
		int rc;

		if (pair_finish(s->pair, i, &msg))
			return -1;
		rc = flow_parse(msg, &account);
		json_decref(msg);
		if (rc)
			return -1;
		s->rounds.errors += account.errors;
		if (account.received != i)
			return fail("the server counted %llu messages of %llu",
				    (unsigned long long)account.received, (unsigned long long)i);
	}
	return 0;
}

/* Server: answers until the client reports over TCP that it is done. */
static int answer(struct lat_state *s)
{
	struct ep *ep = &s->pair->a;
	struct flow account = {0};
	uint64_t i = 0, sent;
	enum lat_got got;
	bool again;

	while ((got = await(s, ep, NULL, 2 * i, &again)) == LAT_MSG) {
		if (again) {
			s->rounds.resent++;
			if (i && lat_post(s, ep, 2 * i - 1))
				return -1;
			continue;
		}
		if (lat_post(s, ep, 2 * i + 1))
			return -1;
		i++;
	}
	if (got != LAT_FD || pair_sent(s->pair, &sent))
		return -1;
	account.received = i;
	account.errors = s->rounds.errors;
	if (oob_send(&s->pair->oob, flow_json(&account)))
		return -1;
	return sent == i ? 0
			 : fail("the client counted %llu messages, we %llu",
				(unsigned long long)sent, (unsigned long long)i);
}

int lat_run(struct pair *p)
{
	struct opts *o = p->o;
	struct lat_state s = {.o = o, .pair = p};
	int rc = post_receives(&p->a);

	if (!rc && o->loop)
		rc = post_receives(&p->b);
	if (!rc)
		rc = pair_sync(p);
	if (!rc)
		rc = o->server ? answer(&s) : drive(&s);
	if (!rc && o->wakes_file)
		rc = samples_save(&s.rounds.wake, o->wakes_file);
	if (!rc && !o->server)
		report_lat(o, p->a.end.context->name, &s.rounds);
	if (!rc && o->server && !o->json)
		printf("served %s %s over %s on %s: %llu wrong messages\n", bench_mode_str(o->mode),
		       bench_op_str(o->op), bench_qp_str(o), p->a.end.context->name,
		       (unsigned long long)s.rounds.errors);
	rounds_free(&s.rounds);
	return rc || s.rounds.errors ? BENCH_FAILED : BENCH_OK;
}
