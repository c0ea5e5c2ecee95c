/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench's streams: credits, loss on UD, measurement. This file plays the ends: ep_poll()
 * delivers the messages that a test puts into msgs.
 */
#include "tools/weft-bench/stream.c"
#include "tools/weft-bench/pattern.c"
#include "tools/weft-bench/util.c"

#include <stdlib.h>

#include "tests/ut.h"

enum {
	WINDOW = 8,
	SIZE = 64,
	STRIDE = EP_HEADROOM + SIZE,
};

static uint64_t region[(EP_CONTROL_BYTES + (2 * WINDOW + 1) * STRIDE) / 8];
static struct ep_msg msgs[64];
static uint32_t num_msgs, next_msg;
static uint64_t queued, credits[64], num_credits, receives;

int ep_queue(struct ep *ep, uint64_t seq, uint32_t bytes)
{
	CU_ASSERT_EQUAL(seq, queued);
	CU_ASSERT_EQUAL(bytes, SIZE);
	queued++;
	ep->posted++;
	return 0;
}

int ep_queue_credit(struct ep *ep, uint64_t value)
{
	(void)ep;
	credits[num_credits++ % 64] = value;
	return 0;
}

int ep_queue_recv(struct ep *ep, uint32_t slot)
{
	(void)ep;
	CU_ASSERT(slot < WINDOW);
	receives++;
	return 0;
}

int ep_flush(struct ep *ep)
{
	(void)ep;
	return 0;
}

int ep_poll(struct ep *ep)
{
	(void)ep;
	return (int)(num_msgs - next_msg);
}

int ep_next(struct ep *ep, struct ep_msg *msg)
{
	(void)ep;
	if (next_msg == num_msgs)
		return 0;
	*msg = msgs[next_msg++];
	return 1;
}

static struct opts opts;
static struct ep ep;

static void set_up(enum weft_qp_type qp)
{
	memset(&opts, 0, sizeof(opts));
	opts.qp = qp;
	opts.window = WINDOW;
	opts.size = SIZE;
	memset(&ep, 0, sizeof(ep));
	ep.o = &opts;
	ep.mem.p = (uint8_t *)region;
	ep.stride = STRIDE;
	num_msgs = next_msg = 0;
	queued = num_credits = receives = 0;
}

static void deliver(uint64_t seq, uint64_t says)
{
	uint32_t slot;

	if (next_msg == num_msgs)
		next_msg = num_msgs = 0;
	slot = num_msgs % WINDOW;
	pattern_fill(ep_rx(&ep, slot), SIZE, seq, WINDOW);
	msgs[num_msgs++] = (struct ep_msg){.seq = says, .slot = slot, .bytes = SIZE};
}

static void credit(uint64_t value)
{
	next_msg = 0;
	num_msgs = 1;
	msgs[0] = (struct ep_msg){.seq = value, .bytes = 8};
}

static void window_holds(void)
{
	struct stream_tx tx = {.ep = &ep, .total = 30};

	set_up(WEFT_QPT_RD);
	CU_ASSERT_EQUAL(stream_send(&tx), WINDOW);
	CU_ASSERT_EQUAL(stream_send(&tx), 0);
	ep.done = 8;
	CU_ASSERT_EQUAL(stream_send(&tx), 0); /* acknowledged, not consumed */
	credit(3);
	CU_ASSERT_EQUAL(stream_send(&tx), 1); /* the credit; its receive is posted again */
	CU_ASSERT_EQUAL(receives, 1);
	CU_ASSERT_EQUAL(stream_send(&tx), 3);
	CU_ASSERT_EQUAL(queued, 11);
	/* An older credit that comes late changes nothing. */
	credit(2);
	CU_ASSERT_EQUAL(stream_send(&tx), 1);
	CU_ASSERT_EQUAL(tx.credit, 3);
	/* Consumed, not acknowledged: the slot still belongs to the NIC. */
	ep.done = 3;
	credit(11);
	CU_ASSERT_EQUAL(stream_send(&tx), 1);
	CU_ASSERT_EQUAL(stream_send(&tx), 0);
}

static void impossible_credit(void)
{
	struct stream_tx tx = {.ep = &ep, .total = 30};

	set_up(WEFT_QPT_RD);
	CU_ASSERT_EQUAL(stream_send(&tx), WINDOW);
	credit(9);
	CU_ASSERT_EQUAL(stream_send(&tx), -1);
}

static void ends_when_acknowledged(void)
{
	struct stream_tx tx = {.ep = &ep, .total = 2};

	set_up(WEFT_QPT_RD);
	CU_ASSERT_EQUAL(stream_send(&tx), 2);
	CU_ASSERT(!stream_sent(&tx));
	ep.done = 2;
	CU_ASSERT(stream_sent(&tx));
	tx.total = UINT64_MAX;
	CU_ASSERT(!stream_sent(&tx));
	tx.end_ns = 1; /* long ago */
	CU_ASSERT_EQUAL(stream_send(&tx), 0);
	CU_ASSERT(stream_sent(&tx));
}

static void ud_gives_up_lost(void)
{
	struct stream_tx tx = {.ep = &ep, .total = 30};

	set_up(WEFT_QPT_UD);
	CU_ASSERT_EQUAL(stream_send(&tx), WINDOW);
	ep.done = WINDOW;
	stream_send_idle(&tx, STREAM_RESUME_NS - 1);
	CU_ASSERT_EQUAL(stream_send(&tx), 0);
	stream_send_idle(&tx, STREAM_RESUME_NS);
	/* As many as have a credit for answer. */
	CU_ASSERT_EQUAL(stream_send(&tx), WINDOW / 4);
	ep.done = queued;
	credit(queued);
	CU_ASSERT_EQUAL(stream_send(&tx), 1);
	CU_ASSERT_EQUAL(stream_send(&tx), WINDOW);
	/* RD never does. */
	opts.qp = WEFT_QPT_RD;
	ep.done = queued;
	stream_send_idle(&tx, STREAM_RESUME_NS);
	CU_ASSERT_EQUAL(stream_send(&tx), 0);
}

/* Sends to a receiver that does not poll, for an hour. */
static void send_for_an_hour(struct stream_tx *tx)
{
	uint64_t waited_ns = 0, ns;

	for (ns = 0; ns < UINT64_C(3600000000000); ns += 10000000, waited_ns += 10000000) {
		stream_send_idle(tx, waited_ns);
		if (stream_send(tx) > 0)
			waited_ns = 0;
		ep.done = queued;
	}
}

/*
 * Write-Record takes no receives: all messages to a receiver that was stopped wait in its
 * completion queue, whatever the time, and each may come twice.
 */
static void ud_stopped_receiver(void)
{
	static const uint32_t windows[] = {1, 2, 3, WINDOW};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		struct stream_tx tx = {.ep = &ep, .total = UINT64_MAX};

		set_up(WEFT_QPT_UD);
		opts.op = BENCH_WRITE;
		opts.window = windows[i];
		send_for_an_hour(&tx);
		CU_ASSERT(queued > windows[i]);
		CU_ASSERT(2 * queued <= ep_cq_messages(&opts));
		/* It goes on, and so does the sender, as often again. */
		credit(queued);
		CU_ASSERT_EQUAL(stream_send(&tx), 1);
		queued = 0;
		tx.seq = tx.credit = 0;
		send_for_an_hour(&tx);
		CU_ASSERT(queued > windows[i]);
	}
}

static void receiver_credits(void)
{
	struct stream_rx rx = {.ep = &ep};
	uint64_t i;

	set_up(WEFT_QPT_RD);
	for (i = 0; i < 6; i++) {
		deliver(i, i);
		CU_ASSERT(stream_recv(&rx) >= 0);
	}
	/* Every quarter of the window. */
	CU_ASSERT_EQUAL(num_credits, 3);
	CU_ASSERT_EQUAL(credits[2], 6);
	CU_ASSERT_EQUAL(receives, 6);
	CU_ASSERT_EQUAL(rx.flow.received, 6);
	CU_ASSERT_EQUAL(rx.flow.errors, 0);
	CU_ASSERT_EQUAL(rx.flow.lost, 0);
}

static void wrong_bytes_count(void)
{
	struct stream_rx rx = {.ep = &ep};

	set_up(WEFT_QPT_RD);
	deliver(1, 0); /* message 1 where 0 should be */
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.flow.errors, 1);
	deliver(1, 1);
	msgs[next_msg].bytes = SIZE - 1;
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.flow.errors, 2);
}

static void ud_counts_lost(void)
{
	struct stream_rx rx = {.ep = &ep};

	set_up(WEFT_QPT_UD);
	deliver(0, 0);
	deliver(3, 3); /* 1 and 2 are missing */
	deliver(2, 2); /* 2 came late */
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.flow.lost, 1);
	CU_ASSERT_EQUAL(rx.next, 4);
	CU_ASSERT_EQUAL(rx.flow.errors, 0);
	/* A number far off is invalid and does not count as loss. */
	deliver(4, UINT64_MAX - 1);
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.flow.errors, 1);
	CU_ASSERT_EQUAL(rx.next, 4);
}

/* A duplicate of an earlier message, and a later one, may be found in a Write-Record's place. */
static void write_is_overwritten(void)
{
	struct stream_rx rx = {.ep = &ep};

	set_up(WEFT_QPT_UD);
	opts.op = BENCH_WRITE;
	deliver(1, 1 + WINDOW); /* the place has message 1; 9 is reported */
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.flow.errors, 0);
	CU_ASSERT_EQUAL(rx.num_doubts, 1);
	deliver(1, 1);
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.num_doubts, 0);
	/* The report of the duplicate comes when its place has been overwritten again. */
	deliver(2, 2 + WINDOW);
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.num_doubts, 1);
	deliver(2 + 2 * WINDOW, 2 + 2 * WINDOW);
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.num_doubts, 1);
	deliver(2 + 2 * WINDOW, 2 + 2 * WINDOW);
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.num_doubts, 0);
	CU_ASSERT_EQUAL(rx.flow.errors, 0);
	deliver(2 + WINDOW, 2);
	deliver(3 + 65 * WINDOW, 3); /* too far away */
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT_EQUAL(rx.flow.errors, 1);
	stream_account(&rx);
	CU_ASSERT_EQUAL(rx.flow.errors, 1);
}

/* Without the duplicate, an earlier message in the place is an error: nothing was written. */
static void write_is_missing(void)
{
	struct stream_rx rx = {.ep = &ep};

	set_up(WEFT_QPT_UD);
	opts.op = BENCH_WRITE;
	deliver(1, 1 + WINDOW);
	deliver(2, 2);
	/* Later messages of the place were not found in it before: they are no duplicates. */
	deliver(1 + 2 * WINDOW, 1 + 2 * WINDOW);
	deliver(1 + 3 * WINDOW, 1 + 3 * WINDOW);
	CU_ASSERT(stream_recv(&rx) >= 0);
	stream_account(&rx);
	CU_ASSERT_EQUAL(rx.flow.errors, 1);
	/* Sends have a buffer each: nothing overwrites it. */
	rx = (struct stream_rx){.ep = &ep};
	set_up(WEFT_QPT_UD);
	deliver(1, 1 + WINDOW);
	deliver(1, 1);
	CU_ASSERT(stream_recv(&rx) >= 0);
	CU_ASSERT(rx.flow.errors >= 1);
}

static void warm_up_is_not_measured(void)
{
	struct stream_rx rx = {.ep = &ep, .warmup = 4};
	uint64_t i;

	set_up(WEFT_QPT_RD);
	for (i = 0; i < 10; i++) {
		deliver(i, i);
		CU_ASSERT(stream_recv(&rx) >= 0);
	}
	stream_account(&rx);
	/* The time starts with the fourth, which is not counted. */
	CU_ASSERT_EQUAL(rx.flow.messages, 6);
	CU_ASSERT_EQUAL(rx.flow.bytes, 6 * SIZE);
	CU_ASSERT_EQUAL(rx.flow.received, 10);
	CU_ASSERT(rx.flow.seconds > 0);
}

UT_MAIN("tools/stream", UT(window_holds), UT(impossible_credit), UT(ends_when_acknowledged),
	UT(ud_gives_up_lost), UT(ud_stopped_receiver), UT(receiver_credits), UT(wrong_bytes_count),
	UT(ud_counts_lost), UT(write_is_overwritten), UT(write_is_missing),
	UT(warm_up_is_not_measured))
