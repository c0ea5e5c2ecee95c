/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several clients fetch-and-add onto one word of the server, all at the same time. In the end the
 * word must be the number of adds, and each of the returned original values must have come exactly
 * once.
 *
 *	client: {weft_bench, mode, iters}  ->
 *	                                   <-  server: {addr}
 *	                                   <-  server: {go}, when all clients have come
 *	client: {sent}, sent * 8 bytes     ->
 *	                                   <-  server: {right}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "tools/weft-bench/ep.h"
#include "tools/weft-bench/oob.h"
#include "tools/weft-bench/report.h"

enum {
	COUNTER_VERSION = 1,
};

struct counter {
	struct opts *o;
	struct ep ep;
	struct oob *oob; /* one for each client */
	uint64_t *iters; /* likewise */
	uint64_t total;
	uint8_t *seen; /* a bit per original value */
	uint64_t wrong;
	double seconds;
};

static int accept_client(struct counter *c, int listen_fd, uint32_t i)
{
	uint64_t version;
	json_t *msg;
	int rc;

	if (oob_accept(c->o, listen_fd, &c->oob[i]) || oob_recv(&c->oob[i], &msg))
		return -1;
	rc = oob_number(msg, "weft_bench", 1000, &version);
	if (!rc && version != COUNTER_VERSION)
		rc = fail("a client is of another version of weft-bench");
	if (!rc && !json_object_get(msg, "counter"))
		rc = fail("a client runs another mode");
	if (!rc)
		rc = oob_number(msg, "iters", 1000000000, &c->iters[i]);
	json_decref(msg);
	c->total += c->iters[i];
	return rc ? rc
		  : oob_send(&c->oob[i], json_pack("{s:o}", "addr", ep_addr_json(&c->ep.local)));
}

/* Marks the values that one client found; each must be new. */
static int collect(struct counter *c, uint32_t i)
{
	uint64_t sent, got, block[512], n, k;
	json_t *msg;

	if (oob_recv(&c->oob[i], &msg))
		return -1;
	got = (uint64_t)oob_number(msg, "sent", INT64_MAX, &sent);
	json_decref(msg);
	if (got || sent != c->iters[i])
		return fail("client %u did not do what it promised", i + 1);
	for (got = 0; got < sent; got += n) {
		n = sent - got < 512 ? sent - got : 512;
		if (oob_recv_bytes(&c->oob[i], block, n * sizeof(block[0])))
			return -1;
		for (k = 0; k < n; k++) {
			uint64_t v = block[k];

			if (v >= c->total || c->seen[v / 8] & 1 << v % 8) {
				c->wrong++;
				continue;
			}
			c->seen[v / 8] |= (uint8_t)(1 << v % 8);
		}
	}
	return 0;
}

static void report(const struct counter *c, uint64_t value)
{
	double rate = c->seconds > 0 ? (double)c->total * 1e-6 / c->seconds : 0;
	bool right = value == c->total && !c->wrong;
	const char *device = c->ep.end.context->name;
	json_t *more;

	if (!c->o->json) {
		printf("counter on %s: %u clients, %llu adds in %.3f s (%.4f M/s)\n", device,
		       c->o->clients, (unsigned long long)c->total, c->seconds, rate);
		printf(" counted to %llu: %s; original values that came twice or never: %llu\n",
		       (unsigned long long)value, value == c->total ? "right" : "WRONG",
		       (unsigned long long)c->wrong);
		return;
	}
	more =
	    json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:b}", "clients", (json_int_t)c->o->clients,
		      "adds", (json_int_t)c->total, "value", (json_int_t)value, "wrong",
		      (json_int_t)c->wrong, "seconds", c->seconds, "mmps", rate, "right", right);
	report_more(c->o, device, more);
}

static int serve(struct counter *c, int listen_fd)
{
	uint64_t value, start;
	uint32_t i;
	int rc = 0;

	memset(c->ep.mem.p, 0, EP_CONTROL_BYTES);
	for (i = 0; i < c->o->clients; i++)
		if (accept_client(c, listen_fd, i))
			return -1;
	c->seen = calloc(1, c->total / 8 + 1);
	if (!c->seen)
		return fail("out of memory");
	start = clock_now_ns();
	for (i = 0; i < c->o->clients; i++)
		if (oob_send(&c->oob[i], json_pack("{s:b}", "go", 1)))
			return -1;
	for (i = 0; i < c->o->clients; i++) {
		c->oob[i].timeout_ms = -1;
		if (collect(c, i))
			return -1;
	}
	c->seconds = (double)(clock_now_ns() - start) * 1e-9;
	memcpy(&value, c->ep.mem.p + EP_CTL_COUNTER, sizeof(value));
	report(c, value);
	if (value != c->total || c->wrong)
		rc = fail("the counter is wrong");
	for (i = 0; i < c->o->clients; i++)
		if (oob_send(&c->oob[i], json_pack("{s:b}", "right", !rc)))
			rc = -1;
	return rc;
}

static int run_server(struct counter *c)
{
	int listen_fd, rc;
	uint32_t i;

	c->oob = calloc(c->o->clients, sizeof(*c->oob));
	c->iters = calloc(c->o->clients, sizeof(*c->iters));
	if (!c->oob || !c->iters)
		return fail("out of memory");
	for (i = 0; i < c->o->clients; i++)
		c->oob[i].fd = -1;
	if (ep_open(&c->ep, c->o, c->o->device) || oob_listen(c->o, &listen_fd))
		return -1;
	rc = serve(c, listen_fd);
	close(listen_fd);
	for (i = 0; i < c->o->clients; i++)
		oob_close(&c->oob[i]);
	return rc;
}

/* Does the adds; original values into found. */
static int add(struct counter *c, uint64_t *found)
{
	struct ep *ep = &c->ep;
	struct ep_idle idle = {.o = c->o, .ep = {ep}, .fd = -1};
	const uint32_t window = c->o->window;
	uint64_t taken = 0;
	int n;

	while (taken < c->o->iters) {
		while (ep->posted < c->o->iters && ep->posted - taken < window)
			if (ep_queue(ep, ep->posted, 8))
				return -1;
		n = ep_flush(ep) ? -1 : ep_poll(ep);
		if (n < 0 || (!n && ep_idle(&idle, NULL)))
			return -1;
		if (n)
			ep_busy(&idle);
		for (; taken < ep->done; taken++)
			memcpy(&found[taken], ep_rx(ep, (uint32_t)(taken % window)), 8);
	}
	return 0;
}

static int expect(struct oob *oob, const char *key)
{
	json_t *msg;
	int rc;

	if (oob_recv(oob, &msg))
		return -1;
	rc = json_is_true(json_object_get(msg, key)) ? 0 : -1;
	json_decref(msg);
	return rc ? fail("the server found the counter wrong, or gave up") : 0;
}

static int run_client(struct counter *c, uint64_t *found)
{
	const struct opts *o = c->o;
	struct ep_addr remote;
	struct oob oob;
	json_t *msg;
	int rc;

	if (ep_open(&c->ep, o, o->device) || oob_connect(o, &oob))
		return -1;
	rc = oob_send(&oob, json_pack("{s:i, s:b, s:I}", "weft_bench", COUNTER_VERSION, "counter",
				      1, "iters", (json_int_t)o->iters));
	if (!rc)
		rc = oob_recv(&oob, &msg);
	if (!rc) {
		rc = ep_addr_parse(json_object_get(msg, "addr"), &remote);
		json_decref(msg);
	}
	if (!rc)
		rc = ep_connect(&c->ep, &remote);
	if (!rc)
		rc = expect(&oob, "go");
	if (!rc)
		rc = add(c, found);
	if (!rc)
		rc = oob_send(&oob, json_pack("{s:I}", "sent", (json_int_t)o->iters));
	if (!rc)
		rc = oob_send_bytes(&oob, found, o->iters * sizeof(*found));
	if (!rc)
		rc = expect(&oob, "right");
	oob_close(&oob);
	if (!rc && !o->json)
		printf("added %llu times on %s\n", (unsigned long long)o->iters,
		       c->ep.end.context->name);
	return rc;
}

int counter_run(struct opts *o)
{
	struct counter c = {.o = o};
	uint64_t *found = NULL;
	int rc;

	o->op = BENCH_ATOMIC;
	o->size = 8;
	if (o->server) {
		rc = run_server(&c);
	} else {
		found = calloc(o->iters, sizeof(*found));
		rc = found ? run_client(&c, found) : fail("out of memory: lower --iters");
	}
	ep_close(&c.ep);
	free(found);
	free(c.seen);
	free(c.oob);
	free(c.iters);
	return rc ? BENCH_FAILED : BENCH_OK;
}
