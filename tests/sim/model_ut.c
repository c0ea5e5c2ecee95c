/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of verbs accepts correct completions and refuses every kind of wrong ones.
 */
#include <string.h>

#include "sim_harness/sim_model.h"
#include "tests/ut.h"

enum {
	SENDS = 4,
};

static struct sim_model model;
static struct sim_model_qp a, b;
static struct sim_model_rq rq;
static struct sim_model_send send[SENDS];
static struct sim_model_recv recv[SENDS];
static uint8_t data[SENDS][16];
static uint32_t ended;

static void count_end(void *ctx, struct sim_model_send *s)
{
	(void)ctx, (void)s;
	ended++;
}

/* Four messages from A to B are in flight, and four receives are posted at B. */
static void setup(enum weft_qp_type type, uint32_t flags)
{
	uint32_t i;

	memset(&model, 0, sizeof(model));
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	memset(&rq, 0, sizeof(rq));
	memset(send, 0, sizeof(send));
	memset(recv, 0, sizeof(recv));
	model.ended = count_end;
	ended = 0;
	a.type = b.type = type;
	a.qpn = 0xa;
	a.ip = 1;
	b.qpn = 0xb;
	b.ip = 2;
	b.rq = &rq;
	rq.strict = type != WEFT_QPT_RD;
	for (i = 0; i < SENDS; i++) {
		memset(data[i], (int)i + 1, sizeof(data[i]));
		send[i] = (struct sim_model_send){.wr_id = i,
						  .opcode = WEFT_WR_SEND,
						  .flags = flags,
						  .allowed = SIM_MAY(SUCCESS),
						  .vendor = SIM_ANY_VENDOR,
						  .bytes = sizeof(data[i]),
						  .data = data[i],
						  .dst = &b,
						  .dst_qpn = b.qpn,
						  .dst_ip = b.ip};
		sim_model_post_send(&a, &send[i]);
		recv[i] = (struct sim_model_recv){.wr_id = 100 + i, .capacity = 64};
		sim_model_post_recv(&rq, &recv[i]);
	}
}

static bool sent(uint32_t i, enum weft_wc_status status)
{
	struct weft_wc wc = {.wr_id = i, .qpn = a.qpn, .status = status, .opcode = WEFT_WC_SEND};

	return sim_model_send_wc(&model, &a, &send[i], &wc);
}

/* Message m arrives in receive r. */
static bool got(uint32_t m, uint32_t r, uint32_t bytes, uint32_t flags)
{
	const struct sim_model_send *message;
	struct weft_wc wc = {.wr_id = 100 + r,
			     .qpn = b.qpn,
			     .src_qpn = a.qpn,
			     .src_ip = a.ip,
			     .bytes = bytes,
			     .flags = flags,
			     .opcode = WEFT_WC_RECV};

	return sim_model_recv_wc(&model, &b, &recv[r], &wc, data[m], &message) &&
	       message == &send[m];
}

static bool recv_failed(uint32_t r, enum weft_wc_status status)
{
	const struct sim_model_send *message;
	struct weft_wc wc = {.wr_id = 100 + r,
			     .qpn = b.qpn,
			     .src_qpn = a.qpn,
			     .src_ip = a.ip,
			     .status = status,
			     .opcode = WEFT_WC_RECV};

	return sim_model_recv_wc(&model, &b, &recv[r], &wc, NULL, &message);
}

static void what_is_right(void)
{
	uint32_t i;

	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	for (i = 0; i < SENDS; i++) {
		CU_ASSERT(got(i, i, 16, 0));
		CU_ASSERT(sent(i, WEFT_WC_SUCCESS));
	}
	for (i = 0; i < SENDS; i++)
		CU_ASSERT(sim_model_message_ok(&model, &send[i]));
	CU_ASSERT(ended == SENDS && !a.outstanding && !rq.outstanding && !b.in_count);
}

static void once_and_in_order(void)
{
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!sent(1, WEFT_WC_SUCCESS));
	CU_ASSERT(sent(0, WEFT_WC_SUCCESS));
	CU_ASSERT(!sent(0, WEFT_WC_SUCCESS));
	CU_ASSERT(!got(1, 1, 16, 0)); /* a receive completes before an earlier one */
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	CU_ASSERT(got(1, 0, 16, 0)); /* message 0 may have failed */
	CU_ASSERT(!got(0, 1, 16, 0));
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	CU_ASSERT(got(1, 0, 16, 0));
	CU_ASSERT(!sent(0, WEFT_WC_SUCCESS)); /* it did not */
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	CU_ASSERT(got(0, 1, 16, 0));
	CU_ASSERT(!got(0, 0, 16, 0)); /* twice */
}

static void destinations_have_orders_of_their_own(void)
{
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	send[0].dst_qpn = 0xc;
	CU_ASSERT(sent(1, WEFT_WC_SUCCESS));
	CU_ASSERT(!sent(3, WEFT_WC_SUCCESS));
	CU_ASSERT(sent(0, WEFT_WC_SUCCESS));
}

static void unsignalled_ones_end_with_a_later_one(void)
{
	setup(WEFT_QPT_RC, 0);
	send[3].flags = WEFT_SEND_SIGNALED;
	CU_ASSERT(!sent(2, WEFT_WC_SUCCESS));
	CU_ASSERT(sent(3, WEFT_WC_SUCCESS));
	CU_ASSERT(ended == SENDS && !a.outstanding);
	CU_ASSERT(!sim_model_message_ok(&model, &send[0])); /* never received */
	setup(WEFT_QPT_RC, 0);
	send[3].flags = WEFT_SEND_SIGNALED;
	send[1].allowed = SIM_MAY(REM_ACCESS_ERR);
	CU_ASSERT(!sent(3, WEFT_WC_SUCCESS));
}

static void statuses(void)
{
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!sent(0, WEFT_WC_REM_ACCESS_ERR));
	send[0].allowed = SIM_MAY(REM_ACCESS_ERR);
	CU_ASSERT(!sent(0, WEFT_WC_SUCCESS));
	CU_ASSERT(sent(0, WEFT_WC_REM_ACCESS_ERR));
	/* The queue has failed: the rest is flushed in order. */
	CU_ASSERT(!sent(1, WEFT_WC_SUCCESS));
	CU_ASSERT(!sent(2, WEFT_WC_WR_FLUSH_ERR));
	CU_ASSERT(sent(1, WEFT_WC_WR_FLUSH_ERR));
	CU_ASSERT(!sim_model_flushed(&model, &a));
	CU_ASSERT(sent(2, WEFT_WC_WR_FLUSH_ERR));
	CU_ASSERT(sent(3, WEFT_WC_WR_FLUSH_ERR));
	CU_ASSERT(sim_model_flushed(&model, &a));
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!sent(0, WEFT_WC_WR_FLUSH_ERR)); /* nothing has failed */
}

static void vendor_and_opcode(void)
{
	struct weft_wc wc = {.qpn = 0xa, .status = WEFT_WC_LOC_PROT_ERR};

	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	send[0].allowed = SIM_MAY(LOC_PROT_ERR);
	send[0].vendor = WEFT_VENDOR_ERR_LKEY;
	wc.vendor_err = WEFT_VENDOR_ERR_BOUNDS;
	CU_ASSERT(!sim_model_send_wc(&model, &a, &send[0], &wc));
	wc.vendor_err = WEFT_VENDOR_ERR_LKEY;
	wc.opcode = WEFT_WC_READ;
	CU_ASSERT(!sim_model_send_wc(&model, &a, &send[0], &wc));
	wc.opcode = WEFT_WC_SEND;
	wc.qpn = 0xb;
	CU_ASSERT(!sim_model_send_wc(&model, &a, &send[0], &wc));
	wc.qpn = 0xa;
	CU_ASSERT(sim_model_send_wc(&model, &a, &send[0], &wc));
}

static void what_a_receive_holds(void)
{
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!got(0, 0, 15, 0));
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!got(0, 0, 16, WEFT_WC_F_SOLICITED));
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!got(0, 0, 16, WEFT_WC_F_IMM));
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	recv[0].capacity = 15;
	CU_ASSERT(!got(0, 0, 16, 0));
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	a.qpn = 0xc; /* the completion names another source */
	send[0].qp = &b;
	CU_ASSERT(!got(0, 0, 16, 0));
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	data[3][15] ^= 1;
	send[3].data = data[2];
	CU_ASSERT(!got(3, 0, 16, 0)); /* bytes that were never sent */
}

static void receives_that_fail(void)
{
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!recv_failed(0, WEFT_WC_WR_FLUSH_ERR));
	b.recv_flushing = true;
	CU_ASSERT(recv_failed(0, WEFT_WC_WR_FLUSH_ERR));
	CU_ASSERT(!recv_failed(0, WEFT_WC_WR_FLUSH_ERR));
	CU_ASSERT(!recv_failed(2, WEFT_WC_WR_FLUSH_ERR));
	setup(WEFT_QPT_RC, WEFT_SEND_SIGNALED);
	CU_ASSERT(!recv_failed(0, WEFT_WC_LOC_LEN_ERR));
	CU_ASSERT(!recv_failed(0, WEFT_WC_LOC_PROT_ERR));
	recv[0].capacity = 15;
	CU_ASSERT(recv_failed(0, WEFT_WC_LOC_LEN_ERR));
	recv[1].bad = true;
	CU_ASSERT(recv_failed(1, WEFT_WC_LOC_PROT_ERR));
}

/* A Write whose memory was deregistered, in place of message i. */
static void make_faulty_write(uint32_t i)
{
	send[i].opcode = WEFT_WR_WRITE;
	send[i].allowed |= SIM_MAY(LOC_PROT_ERR);
	sim_model_forget(&send[i]);
}

/* A message ends when an earlier request of its poster fails, whether that is known yet or not. */
static void receives_whose_message_goes_with_its_queue(void)
{
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	CU_ASSERT(!recv_failed(0, WEFT_WC_REM_ABORT_ERR));
	make_faulty_write(2);
	CU_ASSERT(recv_failed(0, WEFT_WC_REM_ABORT_ERR));

	/* Messages before it go on. */
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	make_faulty_write(3);
	CU_ASSERT(!recv_failed(0, WEFT_WC_REM_ABORT_ERR));
}

static void datagrams(void)
{
	setup(WEFT_QPT_UD, WEFT_SEND_SIGNALED);
	CU_ASSERT(sent(0, WEFT_WC_SUCCESS));
	CU_ASSERT(sent(1, WEFT_WC_SUCCESS));
	CU_ASSERT(got(1, 0, 16, 0)); /* in any order */
	CU_ASSERT(got(0, 1, 16, 0));
	CU_ASSERT(!got(0, 2, 16, 0));
	setup(WEFT_QPT_UD, WEFT_SEND_SIGNALED);
	model.may_duplicate = true;
	CU_ASSERT(got(0, 0, 16, 0) && got(0, 1, 16, 0));
	CU_ASSERT(sent(0, WEFT_WC_SUCCESS) && sim_model_message_ok(&model, &send[0]));
}

/* Messages of one list by length: others of it and of their own length were forgotten. */
static void lengths_alike(void)
{
	uint32_t i;

	setup(WEFT_QPT_UD, WEFT_SEND_SIGNALED);
	for (i = 0; i < SENDS; i++)
		sim_model_forget(&send[i]);
	for (i = 0; i < SENDS; i++) {
		send[i].bytes = i % 2 ? SIM_MODEL_LENGTHS : 0;
		sim_model_post_send(&a, &send[i]);
	}
	CU_ASSERT(got(2, 0, 0, 0) == false); /* the earlier one is meant */
	CU_ASSERT(b.in_count == SENDS);
	for (i = 0; i < SENDS - 1; i++)
		sim_model_forget(&send[i]);
	CU_ASSERT(b.in_count == 1 && b.like[0].first == &send[3] && b.like[0].last == &send[3]);
}

static void resets(void)
{
	setup(WEFT_QPT_RD, WEFT_SEND_SIGNALED);
	sim_model_drop_sends(&model, &a);
	sim_model_revive(&a);
	CU_ASSERT(!sent(0, WEFT_WC_SUCCESS));
	/* Messages in flight may still arrive, once. */
	CU_ASSERT(got(2, 0, 16, 0) && got(1, 1, 16, 0) && !got(1, 2, 16, 0));
	CU_ASSERT(sim_model_message_ok(&model, &send[0]));
}

UT_MAIN("sim/model", UT(what_is_right), UT(once_and_in_order),
	UT(destinations_have_orders_of_their_own), UT(unsignalled_ones_end_with_a_later_one),
	UT(statuses), UT(vendor_and_opcode), UT(what_a_receive_holds), UT(receives_that_fail),
	UT(receives_whose_message_goes_with_its_queue), UT(datagrams), UT(lengths_alike),
	UT(resets))
