/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP, receiving: order, held packets, acknowledgements and their times, re-requests and their
 * times (ESPGOAL 3.1, 3.2). esp_room_ut.c has a layer above that is full.
 */
#include "tests/pair/esp_rx_fix.h"

/* ---- order ---------------------------------------------------------------------------------- */

static void out_of_order(void)
{
	begin(apart, 0);
	arrive(2, 0, 300);
	CU_ASSERT_EQUAL(ep.end[1].read, 0);
	arrive(1, 0, 300);
	CU_ASSERT_EQUAL(rx()->received, 6);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 2);
	arrive(0, TXS, 300);
	CU_ASSERT_EQUAL(ep.end[1].read, 3);
	CU_ASSERT_EQUAL(rx()->received, 0);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, esp_rx_out_of_order), 2);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* Every order of six packets. */
static void every_order(void)
{
	uint32_t order[6] = {0, 1, 2, 3, 4, 5}, c[6] = {0}, i = 0, runs = 0, k, t;

	begin(apart, 0);
	for (;;) {
		uint32_t base = 6 * runs++;

		for (k = 0; k < 6; k++)
			arrive(
			    base + order[k],
			    (uint8_t)((order[k] == 0 ? TXS : 0) | (order[k] == 5 ? TXF | TXR : 0)),
			    20);
		CU_ASSERT_EQUAL(ep.end[1].read, base + 6);
		said = 0;
		/* Heap's algorithm. */
		for (i = 0; i < 6 && c[i] == i; i++)
			c[i] = 0;
		if (i == 6)
			break;
		k = i % 2 ? c[i] : 0;
		t = order[k];
		order[k] = order[i];
		order[i] = t;
		c[i]++;
	}
	CU_ASSERT_EQUAL(runs, 720);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, esp_rx_duplicates), 0);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* The packet is not delivered, and answered at once: the sender may have missed the answer. */
static void duplicates_and_strangers(void)
{
	begin(apart, 0);
	arrive(0, TXS, 20);
	arrive(3, 0, 20);
	said = 0;
	arrive(0, TXS, 20);
	expect_said(0, 0, 1, 1 << 2);
	arrive(3, 0, 20);
	expect_said(1, 0, 1, 1 << 2);
	/*
	 * Beyond the window, after the last number that may be missing, and half the number space
	 * away.
	 */
	arrive(1 + WIRE_ESP_WINDOW, 0, 20);
	arrive(0u - 1, 0, 20);
	arrive(0x80000000u, 0, 20);
	CU_ASSERT_EQUAL(said, 5);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, esp_rx_duplicates), 5);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 1);
	/* The last packet that fits is held. */
	arrive(WIRE_ESP_WINDOW, 0, 20);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 2);
	CU_ASSERT_EQUAL(rx()->received, UINT64_C(1) << 63 | 1 << 2);
	CU_ASSERT_EQUAL(ep.end[1].read, 1);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* Without memory to hold a packet, the packet counts as lost. */
static void too_many_are_held(void)
{
	static void *taken[ESP_MAX_HELD];
	uint32_t n = 0;

	begin(apart, 0);
	while (n < ESP_MAX_HELD && (taken[n] = fw_pool_get(&ep.end[1].nic->esp.held)))
		n++;
	CU_ASSERT_EQUAL(n, ESP_MAX_HELD);
	arrive(1, 0, 20);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, drop_esp_no_memory), 1);
	CU_ASSERT_EQUAL(rx()->received, 0);
	arrive(0, TXS, 20);
	CU_ASSERT_EQUAL(ep.end[1].read, 1);
	while (n)
		fw_pool_put(&ep.end[1].nic->esp.held, taken[--n]);
	arrive(1, TXF | TXR, 20);
	CU_ASSERT_EQUAL(ep.end[1].read, 2);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* One station leaves frames to others, and has more when it has taken some. */
static void held_by_stations(void)
{
	struct fw_pool *pool;
	uint32_t i, max;

	begin(apart, 0);
	pool = &ep.end[1].nic->esp.held;
	max = pool->max;
	pool->max = 30;
	for (i = 1; i < 40; i++)
		arrive(i, 0, 20);
	CU_ASSERT_EQUAL(pool->used, 20);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, drop_esp_no_memory), 19);
	station_take(ep.end[1].nic, rx()->station ^ 1, STATION_ESP_HELD);
	CU_ASSERT_TRUE(station_may(ep.end[1].nic, rx()->station ^ 1, STATION_ESP_HELD, pool->max));
	station_give(ep.end[1].nic, rx()->station ^ 1, STATION_ESP_HELD);
	arrive(0, TXS, 20);
	CU_ASSERT_EQUAL(pool->used, 0);
	CU_ASSERT_EQUAL(ep.end[1].read, 21);
	arrive(22, 0, 20);
	CU_ASSERT_EQUAL(pool->used, 1);
	pool->max = max;
	ep_abort(&ep, 0);
	ep_end(&ep);
}

static void malformed(void)
{
	begin(apart, 0);
	/* A packet without ACK, and a FIN with data. Neither is accepted, and the stream stays. */
	ep_send_forged(&ep, ep_forge(&ep, 0, TXS, true, first, "data", 4));
	ep_send_forged(&ep, ep_forge(&ep, 0, WIRE_ESP_ACK | WIRE_ESP_FIN, true, first, "data", 4));
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, drop_esp_malformed), 2);
	CU_ASSERT_EQUAL(rx()->rcv_next, first);
	CU_ASSERT_EQUAL(rx()->state, ESP_OPEN);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* ---- acknowledging -------------------------------------------------------------------------- */

/* The acknowledgement of a small message waits 20 us for an answer that carries it. */
static void an_ack_waits_for_a_ride(void)
{
	uint64_t at_ns;

	begin(apart, 0);
	at_ns = ep.wire.now_ns;
	arrive(0, TXS | TXF | TXR, ESP_SMALL_BYTES);
	ep_run(&ep, ESP_ACK_NS - 1);
	CU_ASSERT_EQUAL(said, 0);
	ep_run(&ep, 1);
	CU_ASSERT_EQUAL_FATAL(said, 1);
	expect_said(0, 0, 1, 0);
	CU_ASSERT_EQUAL(log_of[0].at_ns - at_ns, ESP_ACK_NS);
	arrive(1, TXS | TXF | TXR, ESP_SMALL_BYTES);
	ep_send(&ep, 1, 1);
	ep_settle(&ep);
	CU_ASSERT_EQUAL_FATAL(said, 2);
	expect_said(1, TXS | TXF | TXR, 2, 0);
	ep_run(&ep, 10 * ESP_ACK_NS);
	CU_ASSERT_EQUAL(said, 2);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* Data that the peer waits for is acknowledged at once. */
static void an_ack_that_hurries(void)
{
	uint32_t i;

	begin(apart, 0);
	/* The start of a large message, and its end, however short. */
	arrive(0, TXS, ESP_SMALL_BYTES + 1);
	CU_ASSERT_EQUAL(said, 1);
	/* Between them one in eight. */
	for (i = 1; i <= 20; i++)
		arrive(i, 0, 1000);
	CU_ASSERT_EQUAL(said, 1 + 2);
	expect_said(2, 0, 17, 0);
	arrive(21, TXF | TXR, 10);
	CU_ASSERT_EQUAL(said, 4);
	expect_said(3, 0, 22, 0);
	/* Every start or end that follows a hole. */
	arrive(23, 0, 10);
	CU_ASSERT_EQUAL(said, 4);
	arrive(24, TXF | TXR, 10);
	CU_ASSERT_EQUAL(said, 5);
	expect_said(4, 0, 22, 1 << 1 | 1 << 2);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* ---- re-requests ---------------------------------------------------------------------------- */

/*
 * Three packets after a hole: it is requested again, with the held ones listed; not again within
 * half a time-out.
 */
static void holes_are_asked_for(void)
{
	uint64_t wait_ns;
	uint32_t i;

	begin(apart, 0);
	wait_ns = esp_timer_rto_ns(rx(), 0) / 2;
	arrive(1, 0, 300);
	arrive(2, 0, 300);
	CU_ASSERT_EQUAL(said, 0);
	arrive(3, 0, 300);
	CU_ASSERT_EQUAL_FATAL(said, 1);
	expect_said(0, WIRE_ESP_RRQ, 0, 0xe);
	CU_ASSERT_EQUAL(log_of[0].count, 0);
	for (i = 4; i < 10; i++)
		arrive(i, 0, 300);
	CU_ASSERT_EQUAL(said, 1);
	ep.wire.now_ns += wait_ns;
	arrive(10, 0, 300);
	CU_ASSERT_EQUAL_FATAL(said, 2);
	expect_said(1, WIRE_ESP_RRQ, 0, 0x7fe);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, esp_rrq_tx), 2);
	/* The next hole is another one. */
	arrive(0, TXS, 300);
	said = 0;
	arrive(12, 0, 300);
	arrive(13, 0, 300);
	arrive(14, 0, 300);
	CU_ASSERT_EQUAL_FATAL(said, 1);
	expect_said(0, WIRE_ESP_RRQ, 11, 0xe);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/*
 * The transmission is open and nothing arrives: the peer is asked how far it has sent, at intervals
 * that double.
 */
static void silence_is_asked_about(void)
{
	uint64_t rto_ns, at_ns;
	uint32_t i;

	begin(apart, 0);
	rto_ns = esp_timer_rto_ns(rx(), 0);
	arrive(0, TXS, 300);
	said = 0;
	at_ns = ep.wire.now_ns;
	ep_run(&ep, 50 * EP_MS);
	CU_ASSERT_TRUE_FATAL(said >= 5);
	for (i = 0; i < 5; i++) {
		expect_said(i, WIRE_ESP_RRQ, 1, 0);
		CU_ASSERT_EQUAL(log_of[i].count, 0);
		CU_ASSERT_EQUAL(log_of[i].at_ns - at_ns, rto_ns << i);
		at_ns = log_of[i].at_ns;
	}
	/* Progress resets the intervals; TXF ends the queries. */
	arrive(1, 0, 300);
	said = 0;
	at_ns = ep.wire.now_ns;
	ep_run(&ep, rto_ns + EP_MS);
	CU_ASSERT_TRUE_FATAL(said >= 1);
	CU_ASSERT_TRUE(log_of[said - 1].at_ns - at_ns == rto_ns);
	arrive(2, TXF | TXR, 300);
	said = 0;
	ep_run(&ep, 30 * EP_S);
	CU_ASSERT_EQUAL(said, 0);
	CU_ASSERT_EQUAL(ep.end[1].read, 3);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* A packet without a number that was sent after all before `next`. */
static void behind(uint32_t next)
{
	struct bench_frame f = ep_forge(&ep, 0, WIRE_ESP_ACK, false, first + next, NULL, 0);
	struct wire_esp *esp = (struct wire_esp *)(f.b + 22);

	esp->numbered = WIRE_ESP_BEHIND;
	ep_send_forged(&ep, f);
}

/*
 * The packet has the number of packets that precede it. Missing ones are requested again at once,
 * and only those.
 */
static void what_was_sent_before(void)
{
	begin(apart, 0);
	arrive(0, TXS, 300);
	arrive(2, 0, 300);
	said = 0;
	behind(1);
	behind(3);
	behind(1 + WIRE_ESP_WINDOW + 1);
	CU_ASSERT_EQUAL(said, 0);
	behind(5);
	CU_ASSERT_EQUAL_FATAL(said, 1);
	expect_said(0, WIRE_ESP_RRQ, 1, 2);
	CU_ASSERT_EQUAL(log_of[0].count, 2);
	behind(1 + WIRE_ESP_WINDOW);
	CU_ASSERT_EQUAL_FATAL(said, 2);
	CU_ASSERT_EQUAL(log_of[1].count, WIRE_ESP_WINDOW - 2);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* Losses of a real transfer: each costs one retransmission and no time-out of the sender. */
static void losses_are_mended(void)
{
	uint32_t i;

	for (i = 0; i < 40; i++) {
		begin(lossy, UINT64_C(1) << i);
		ep_send(&ep, 0, 60);
		ep_run(&ep, 100 * EP_MS);
		CU_ASSERT_EQUAL(ep.end[1].read, 60);
		CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
		CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_tx_retransmits), 1);
		CU_ASSERT_TRUE(EP_CNT(&ep, 1, esp_rx_duplicates) <= 1);
		ep_end(&ep);
	}
}

/* ---- full ----------------------------------------------------------------------------------- */

UT_MAIN("pair/esp_rx", UT(out_of_order), UT(every_order), UT(duplicates_and_strangers),
	UT(too_many_are_held), UT(held_by_stations), UT(malformed), UT(an_ack_waits_for_a_ride),
	UT(an_ack_that_hurries), UT(holes_are_asked_for), UT(silence_is_asked_about),
	UT(what_was_sent_before), UT(losses_are_mended))
