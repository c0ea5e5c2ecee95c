/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads, atomics and plain Writes: the client's requests, which the server's NIC executes without
 * its process. Latency with one request at a time, bandwidth and rate with --window of them.
 *
 * Read n fetches slot n modulo (window + 1) of the server, whose pattern is that number.
 * Fetch-and-add n must return n, as must compare-and-swap of n with n + 1; in the end the server's
 * word must equal the client's count. Write n goes to slot n modulo window; in the end each slot
 * must hold the last message that went there, as perftest's ib_write_bw leaves it.
 */
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/pair.h"
#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/report.h"

enum {
	PULL_COMPLAINTS = 5,
};

struct pull {
	struct opts *o;
	struct pair *pair;
	struct ep *server; /* loop: the passive end */
	struct rounds rounds;
	struct flow flow;
	uint64_t seq; /* number of the next request */
};

/* Fills each slot with its first message. */
static void prepare_client(const struct opts *o, struct ep *ep)
{
	uint32_t slot;

	for (slot = 0; slot < o->window; slot++)
		pattern_fill(ep_tx(ep, slot), o->size, slot, o->window);
}

/* Fills the source of reads. */
static void prepare_server(const struct opts *o, struct ep *ep)
{
	uint32_t slot;

	memset(ep->mem.p, 0, EP_CONTROL_BYTES);
	for (slot = 0; slot <= o->window; slot++)
		pattern_fill(ep_tx(ep, slot), o->size, slot, o->window + 1);
}

/* Wipes the last answer's bytes, then queues. */
static int ask(struct pull *s)
{
	struct ep *ep = &s->pair->a;
	uint8_t *slot = ep_rx(ep, (uint32_t)(s->seq % s->o->window));

	if (s->o->op == BENCH_PUT) {
		/* The last message of this slot has completed. */
		pattern_refill(ep_tx(ep, (uint32_t)(s->seq % s->o->window)), s->o->size, s->seq,
			       s->o->window);
		return ep_queue(ep, s->seq++, s->o->size);
	}
	memset(slot, 0xee, s->o->size < 64 ? s->o->size : 64);
	pattern_wipe(slot, s->o->size);
	return ep_queue(ep, s->seq++, s->o->size);
}

/* Checks the answer to request seq. */
static void check_answer(struct pull *s, uint64_t seq)
{
	const struct opts *o = s->o;
	const uint8_t *data = ep_rx(&s->pair->a, (uint32_t)(seq % o->window));
	uint64_t original;

	if (o->op == BENCH_PUT)
		return; /* check_server() */
	if (o->op == BENCH_READ) {
		uint32_t slot = (uint32_t)(seq % (o->window + 1));
		size_t at = pattern_check(data, o->size, slot, o->window + 1);

		if (at != o->size && s->flow.errors++ < PULL_COMPLAINTS)
			fail("read %llu is wrong at byte %zu", (unsigned long long)seq, at);
		return;
	}
	memcpy(&original, data, sizeof(original));
	if (original != seq && s->flow.errors++ < PULL_COMPLAINTS)
		fail("atomic %llu found %llu", (unsigned long long)seq,
		     (unsigned long long)original);
}

/* Waits until at most left requests are in flight, and checks the completed ones. */
static int drain(struct pull *s, uint64_t left)
{
	struct ep *ep = &s->pair->a;
	struct ep_idle idle = {.o = s->o, .ep = {ep}, .fd = -1};
	uint64_t before;
	int n;

	while (ep->posted - ep->done > left) {
		before = ep->done;
		n = ep_poll(ep);
		if (n < 0 || (!n && ep_idle(&idle, NULL)))
			return -1;
		if (n)
			ep_busy(&idle);
		/* Requests of one queue pair complete in order. */
		for (; before < ep->done; before++)
			check_answer(s, before);
	}
	return 0;
}

static int drive_lat(struct pull *s)
{
	const struct opts *o = s->o;
	uint64_t t0 = 0, t1, end = 0, i;

	for (i = 0;; i++) {
		if (i == o->warmup) {
			t0 = clock_now_ns();
			end = o->duration_s > 0 ? t0 + (uint64_t)(o->duration_s * 1e9) : 0;
		}
		if (i >= o->warmup && (end ? t0 >= end : i >= o->warmup + o->iters))
			return 0;
		if (ask(s) || ep_flush(&s->pair->a) || drain(s, 0))
			return -1;
		if (i < o->warmup)
			continue;
		t1 = clock_now_ns();
		if (samples_add(&s->rounds.rtt, t1 - t0))
			return -1;
		t0 = t1;
	}
}

static int drive_flow(struct pull *s)
{
	const struct opts *o = s->o;
	struct ep *ep = &s->pair->a;
	uint64_t t0 = 0, end = 0, left = 0, batch = o->window < 4 ? 1 : o->window / 4;

	for (;;) {
		if (!t0 && s->seq >= o->warmup) {
			if (drain(s, 0))
				return -1;
			t0 = clock_now_ns();
			end = o->duration_s > 0 ? t0 + (uint64_t)(o->duration_s * 1e9) : 0;
			left = s->seq;
		}
		if (t0 && (end ? clock_now_ns() >= end : s->seq >= left + o->iters))
			break;
		while (ep->posted - ep->done < o->window && ep->num_wr < batch)
			if (ask(s))
				return -1;
		if (ep_flush(ep) || drain(s, o->window - batch))
			return -1;
	}
	if (drain(s, 0))
		return -1;
	s->flow.seconds = (double)(clock_now_ns() - t0) * 1e-9;
	s->flow.messages = s->seq - left;
	s->flow.bytes = s->flow.messages * o->size;
	return 0;
}

/* Checks that each slot holds its last message, of that many in all. */
static int check_puts(const struct opts *o, const struct ep *server, uint64_t sent)
{
	uint64_t seq = sent > o->window ? sent - o->window : 0;

	for (; seq < sent; seq++) {
		const uint8_t *data = ep_rx(server, (uint32_t)(seq % o->window));
		size_t at = pattern_check(data, o->size, seq, o->window);

		if (at != o->size)
			return fail("write %llu is wrong at byte %zu", (unsigned long long)seq, at);
	}
	return 0;
}

/* Checks the server's memory and its word against the client's counts. */
static int check_server(const struct opts *o, const struct ep *server, uint64_t want)
{
	uint64_t have;

	if (o->op == BENCH_READ)
		return 0;
	if (o->op == BENCH_PUT)
		return check_puts(o, server, want);
	memcpy(&have, server->mem.p + EP_CTL_COUNTER, sizeof(have));
	if (have != want)
		return fail("the server's word is %llu after %llu atomics",
			    (unsigned long long)have, (unsigned long long)want);
	return 0;
}

static int drive(struct pull *s)
{
	json_t *msg;
	int rc = s->o->mode == BENCH_LAT ? drive_lat(s) : drive_flow(s);

	if (rc)
		return -1;
	s->flow.received = s->seq;
	if (s->o->loop)
		return check_server(s->o, s->server, s->seq);
	if (pair_finish(s->pair, s->seq, &msg))
		return -1;
	if (!json_is_true(json_object_get(msg, "ok")))
		rc = fail("the server reported wrong data");
	json_decref(msg);
	return rc;
}

static int serve(struct pull *s)
{
	uint64_t sent;
	int rc;

	/* While the client runs, this process has nothing to do. */
	s->pair->oob.timeout_ms = -1;
	if (pair_sent(s->pair, &sent))
		return -1;
	rc = check_server(s->o, &s->pair->a, sent);
	if (oob_send(&s->pair->oob, json_pack("{s:b}", "ok", !rc)))
		return -1;
	if (!rc && !s->o->json)
		printf("served %s %s over %s on %s: %llu requests\n", bench_mode_str(s->o->mode),
		       bench_op_str(s->o->op), bench_qp_str(s->o), s->pair->a.end.context->name,
		       (unsigned long long)sent);
	return rc;
}

int pull_run(struct pair *p)
{
	struct opts *o = p->o;
	struct pull s = {.o = o, .pair = p, .server = o->loop ? &p->b : &p->a};
	int rc;

	if (o->loop || o->server)
		prepare_server(o, s.server);
	if (!o->server && o->op == BENCH_PUT)
		prepare_client(o, &p->a);
	rc = pair_sync(p);
	if (!rc)
		rc = o->server ? serve(&s) : drive(&s);
	if (!rc && !o->server) {
		if (o->mode == BENCH_LAT) {
			s.rounds.errors = s.flow.errors;
			report_lat(o, p->a.end.context->name, &s.rounds);
		} else {
			report_flow(o, p->a.end.context->name, &s.flow);
		}
	}
	rounds_free(&s.rounds);
	return rc || s.flow.errors ? BENCH_FAILED : BENCH_OK;
}
