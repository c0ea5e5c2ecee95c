/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage of announcements and the NIC's answer over time (speculative-rendezvous, 3.6): phases in
 * which announced receives are written to, and one in which short messages take them. Calls
 * tag_end.c.
 *
 * Rank 0 receives, and reads the counters of its endpoint after each step. All receives are long
 * and posted before their message, which rank 1 sends when the announcement has reached its NIC. So
 * the rows count, and do not depend on the machine.
 */
#include <unistd.h>

#include "tools/weft-bench/pattern.h"
#include "tools/weft-bench/tag.h"

enum {
	STEP = 8,   /* messages of a row */
	STEPS = 12, /* of a phase */
	LONG_BYTES = 64 << 10,
	SHORT_BYTES = 1 << 10,
	SETTLE_US = 1000, /* many round trips */
};

static const struct {
	const char *name;
	size_t bytes;
} phases[] = {{"long", LONG_BYTES}, {"short", SHORT_BYTES}, {"long", LONG_BYTES}};

enum {
	PHASES = sizeof(phases) / sizeof(phases[0]),
};

/* The NIC has seen the receive, and announced it if it does so now. */
static int await_posted(struct tag_end *e)
{
	struct weft_tag_stats stats;

	do {
		if (weft_query_tag_ep(e->ep, &stats))
			return fail("querying the endpoint failed");
	} while (!stats.posted);
	return 0;
}

/* An empty message to rank 1 travels behind the announcement. */
static int receive_one(struct tag_end *e, struct end_mem *buf, size_t bytes, uint64_t seq)
{
	if (tag_irecv(e, buf, 0, LONG_BYTES, TAG_DATA, 0, NULL) || await_posted(e) ||
	    tag_isend(e, buf, 0, 0, TAG_CREDIT, NULL) || tag_wait_sends(e, 0) ||
	    tag_wait_recvs(e, 0))
		return -1;
	return tag_check(e, buf->p, bytes, seq, 1);
}

static int send_one(struct tag_end *e, struct end_mem *buf, size_t bytes, uint64_t seq)
{
	pattern_fill(buf->p, bytes, seq, 1);
	if (tag_irecv(e, buf, 0, 0, TAG_CREDIT, 0, NULL) || tag_wait_recvs(e, 0))
		return -1;
	/* A NIC that does not announce counts receives that waited for a round trip. */
	usleep(SETTLE_US);
	return tag_isend(e, buf, 0, bytes, TAG_DATA, NULL) || tag_wait_sends(e, 0) ? -1 : 0;
}

static int one_message(struct tag_end *e, struct end_mem *buf, size_t bytes, uint64_t seq)
{
	return e->c->rank ? send_one(e, buf, bytes, seq) : receive_one(e, buf, bytes, seq);
}

static int report(struct tag_end *e, int phase, uint64_t messages, struct weft_tag_stats *last)
{
	struct weft_tag_stats now;

	if (weft_query_tag_ep(e->ep, &now))
		return fail("querying the endpoint failed");
	if (crew_row(e->c,
		     json_pack("{s:s, s:s, s:I, s:I, s:I}", "part", "adapt", "messages_are",
			       phases[phase].name, "messages", (json_int_t)messages, "announced",
			       (json_int_t)(now.announced - last->announced), "used",
			       (json_int_t)(now.announced_used - last->announced_used))))
		return -1;
	*last = now;
	return 0;
}

int tag_adapt(struct crew *c, void *arg)
{
	const struct tag_config cfg = {.block = true};
	struct weft_tag_stats last = {0};
	struct tag_end e;
	struct end_mem buf;
	uint64_t seq = 0;

	(void)arg;
	if (tag_open(&e, c, &cfg) || tag_alloc(&e, &buf, LONG_BYTES))
		return -1;
	/* Nothing is announced to a peer of which no message has come. */
	if (one_message(&e, &buf, SHORT_BYTES, seq++))
		return -1;
	for (int phase = 0; phase < PHASES; phase++)
		for (int step = 0; step < STEPS; step++) {
			for (int i = 0; i < STEP; i++)
				if (one_message(&e, &buf, phases[phase].bytes, seq++))
					return -1;
			if (!c->rank && report(&e, phase, seq - 1, &last))
				return -1;
		}
	tag_free(&buf);
	tag_close(&e);
	return 0;
}
