/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench's polling: messages that take no receives come in any number, and wait in the
 * completion queue while the ring is full. This file plays that queue.
 */
#include "host_driver/weft.h"
/* The library has it, too. */
#define weft_poll_cq ep_io_ut_poll
static int weft_poll_cq(struct weft_cq *cq, int max, struct weft_wc *wc);
#include "tools/weft-bench/ep_io.c"
#include "tools/weft-bench/pattern.c"
#include "tools/weft-bench/util.c"

#include <stdlib.h>

#include "tests/ut.h"

enum {
	SIZE = 64,
	STRIDE = EP_HEADROOM + SIZE,
	WINDOW_MAX = 8,
};

static uint64_t region[(EP_CONTROL_BYTES + (2 * WINDOW_MAX + 1) * STRIDE) / 8];
static uint32_t pending, reported;
static struct opts opts;
static struct ep ep;

/* Reports pending Write-Records, in turn to each slot. */
static int weft_poll_cq(struct weft_cq *cq, int max, struct weft_wc *wc)
{
	int n;

	(void)cq;
	for (n = 0; n < max && pending; n++, pending--, reported++)
		wc[n] = (struct weft_wc){
		    .status = WEFT_WC_SUCCESS,
		    .opcode = WEFT_WC_RECV_WRITE_RECORD,
		    .flags = WEFT_WC_F_IMM,
		    .imm = htonl(reported),
		    .bytes = SIZE,
		    .record_to = (uintptr_t)ep_rx(&ep, reported % opts.window),
		    .timestamp_ns = 1000 + reported,
		};
	return n;
}

static void begin(uint32_t window)
{
	uint32_t i;

	opts = (struct opts){
	    .qp = WEFT_QPT_UD, .op = BENCH_WRITE, .window = window, .size = SIZE, .sge = 1};
	memset(&ep, 0, sizeof(ep));
	ep.o = &opts;
	ep.mem.p = (uint8_t *)region;
	ep.stride = STRIDE;
	for (i = 1; i < ep_ring_messages(&opts); i *= 2)
		;
	ep.msg_mask = i - 1;
	ep.msgs = calloc(i, sizeof(*ep.msgs));
	CU_ASSERT_PTR_NOT_NULL_FATAL(ep.msgs);
	pending = reported = 0;
}

/* Many more than the window at once: none is lost, and their order stays. */
static void more_than_the_window(void)
{
	static const uint32_t windows[] = {1, 2, WINDOW_MAX};
	struct ep_msg msg;
	uint32_t i, next;

	for (i = 0; i < 3; i++) {
		begin(windows[i]);
		pending = 1000;
		for (next = 0; ep_poll(&ep) > 0;)
			while (ep_next(&ep, &msg)) {
				CU_ASSERT_EQUAL(msg.seq, next);
				CU_ASSERT_EQUAL(msg.slot, next % windows[i]);
				next++;
			}
		CU_ASSERT_EQUAL(next, 1000);
		free(ep.msgs);
	}
}

/* A ring that is not emptied takes what it has room for, and then reports so. */
static void a_full_ring(void)
{
	struct ep_msg msg;
	uint32_t n = 0;

	begin(2);
	pending = 1000;
	while (ep_poll(&ep) > 0)
		;
	CU_ASSERT_EQUAL(reported, ep.msg_mask + 1);
	CU_ASSERT_EQUAL(ep_poll(&ep), -1);
	for (; ep_next(&ep, &msg); n++)
		CU_ASSERT_EQUAL(msg.seq, n);
	CU_ASSERT_EQUAL(n, ep.msg_mask + 1);
	CU_ASSERT_EQUAL(ep_poll(&ep), EP_POLL_MAX);
	free(ep.msgs);
}

/* The first completion of a poll says when what ended a sleep came; none leaves that alone. */
static void first_of_a_poll(void)
{
	begin(WINDOW_MAX);
	pending = 3;
	CU_ASSERT_EQUAL(ep_poll(&ep), 3);
	CU_ASSERT_EQUAL(ep.first_ns, 1000);
	CU_ASSERT_EQUAL(ep_poll(&ep), 0);
	CU_ASSERT_EQUAL(ep.first_ns, 1000);
	pending = 1;
	CU_ASSERT_EQUAL(ep_poll(&ep), 1);
	CU_ASSERT_EQUAL(ep.first_ns, 1003);
	free(ep.msgs);
}

UT_MAIN("tools/ep_io", UT(more_than_the_window), UT(a_full_ring), UT(first_of_a_poll))
