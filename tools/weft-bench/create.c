/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in which one process makes N queue pairs, each with a completion queue of its own, brings
 * them to RTS, and destroys them again. Calls libweft.
 *
 * Each step is a command to weftd over the control socket, one after the other, as in a program
 * that makes its connections in a loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "tools/weft-bench/end.h"
#include "tools/weft-bench/report.h"

enum {
	CREATE_WR = 16,  /* requests and receives that each queue pair can hold */
	CREATE_CQE = 32, /* entries of its completion queue */
};

struct create {
	struct end end;
	struct weft_cq **cq;
	struct weft_qp **qp;
	uint32_t num;
};

struct create_times {
	double create_ms;
	double ready_ms;
	double destroy_ms;
};

static int make_all(struct create *c, enum weft_qp_type type)
{
	for (uint32_t i = 0; i < c->num; i++) {
		struct weft_qp_init_attr init = {
		    .type = type,
		    .cap = {.max_send_wr = CREATE_WR,
			    .max_recv_wr = CREATE_WR,
			    .max_send_sge = 1,
			    .max_recv_sge = 1},
		};

		c->cq[i] = weft_create_cq(c->end.context, CREATE_CQE, NULL, NULL);
		if (!c->cq[i])
			return fail("completion queue %u: %s", i + 1, strerror(errno));
		init.send_cq = init.recv_cq = c->cq[i];
		c->qp[i] = weft_create_qp(c->end.pd, &init);
		if (!c->qp[i])
			return fail("queue pair %u: %s", i + 1, strerror(errno));
	}
	return 0;
}

static int activate_all(struct create *c)
{
	for (uint32_t i = 0; i < c->num; i++) {
		int rc = weft_activate_qp(c->qp[i], BENCH_QKEY, 0);

		if (rc)
			return fail("queue pair %u to RTS: %s", i + 1, strerror(-rc));
	}
	return 0;
}

static int destroy_all(struct create *c)
{
	for (uint32_t i = 0; i < c->num; i++) {
		int rc = weft_destroy_qp(c->qp[i]);

		if (!rc)
			rc = weft_destroy_cq(c->cq[i]);
		if (rc)
			return fail("queue pair %u: %s", i + 1, strerror(-rc));
	}
	return 0;
}

static double since_ms(uint64_t *from_ns)
{
	uint64_t now = clock_now_ns();
	double ms = (double)(now - *from_ns) / 1e6;

	*from_ns = now;
	return ms;
}

static int measure(struct create *c, enum weft_qp_type type, struct create_times *times)
{
	uint64_t from_ns = clock_now_ns();

	if (make_all(c, type))
		return -1;
	times->create_ms = since_ms(&from_ns);
	if (activate_all(c))
		return -1;
	times->ready_ms = since_ms(&from_ns);
	if (destroy_all(c))
		return -1;
	times->destroy_ms = since_ms(&from_ns);
	return 0;
}

static void report(const struct opts *o, const struct create *c, const struct create_times *t)
{
	json_t *more;

	if (!o->json) {
		printf("%u %s queue pairs with a completion queue each on %s:\n", c->num,
		       bench_qp_str(o), c->end.context->name);
		printf(" created in %.2f ms, ready to send after %.2f more, destroyed in %.2f\n",
		       t->create_ms, t->ready_ms, t->destroy_ms);
		return;
	}
	more = json_pack("{s:I, s:f, s:f, s:f}", "count", (json_int_t)c->num, "create_ms",
			 t->create_ms, "ready_ms", t->ready_ms, "destroy_ms", t->destroy_ms);
	report_more(o, c->end.context->name, more);
}

int create_run(struct opts *o)
{
	struct create c = {.num = o->qps};
	struct create_times times;
	int rc = -1;

	c.cq = calloc(c.num, sizeof(struct weft_cq *));
	c.qp = calloc(c.num, sizeof(struct weft_qp *));
	if (!c.cq || !c.qp)
		fail("no memory for %u queue pairs", c.num);
	/* Once for pages that the first object of each kind commits, once for the figures. */
	else if (!end_open(&c.end, o->device))
		rc = measure(&c, o->qp, &times) || measure(&c, o->qp, &times) ? -1 : 0;
	if (!rc)
		report(o, &c, &times);
	end_close(&c.end);
	free(c.cq);
	free(c.qp);
	return rc ? BENCH_FAILED : BENCH_OK;
}
