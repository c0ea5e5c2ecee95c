/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP, receiving: order, held packets, acknowledgements and their times, re-requests and their
 * times, a layer above that is full and resumes, and its notifications (ESPGOAL 3.1, 3.2, 4.1.5).
 */
#include <stdlib.h>

#include "tests/pair/esp_pair.h"

enum {
	TXS = WIRE_ESP_TXS,
	TXF = WIRE_ESP_TXF,
	TXR = WIRE_ESP_TXR,
	MAX_SAID = 1024,
};

static struct ep ep;
static uint32_t first;

/* The acknowledgements that end 1 sent. */
static struct said {
	uint32_t ack;
	uint8_t flags;
	uint32_t window, count;
	uint64_t received;
	uint64_t at_ns;
} log_of[MAX_SAID];
static uint32_t said;

/*
 * Records the acknowledgements of end 1. Of end 0's packets those whose bit is set in bits are
 * lost, once.
 */
static enum bench_verdict lossy(struct ep *e, const struct ep_info *info)
{
	uint32_t packet = info->seq - first;

	if (info->from == 1) {
		CU_ASSERT_FATAL(said < MAX_SAID);
		log_of[said++] =
		    (struct said){be32_get(info->esp->ack) - first, info->flags,
				  be16_get(info->esp->window),      be32_get(info->esp->rrq_count),
				  be64_get(info->esp->received),    e->wire.now_ns};
		return BENCH_PASS;
	}
	if (info->numbered && packet < 64 && e->bits >> packet & 1) {
		e->bits &= ~(UINT64_C(1) << packet);
		return BENCH_DROP;
	}
	return BENCH_PASS;
}

/* Only the test receives the frames of end 1; only forged frames of end 0 arrive. */
static enum bench_verdict apart(struct ep *e, const struct ep_info *info)
{
	(void)lossy(e, info);
	return BENCH_DROP;
}

static struct esp_stream *rx(void)
{
	return ep.end[1].stream;
}

static void begin(ep_filter filter, uint64_t lost)
{
	ep_begin(&ep);
	ep_opened(&ep);
	first = ep.end[0].stream->snd_next;
	CU_ASSERT_TRUE_FATAL(first + 63 < first);
	said = 0;
	ep_mark(&ep, filter, lost);
}

/* Packet number i, as end 0 would send it. */
static struct bench_frame packet(uint32_t i, uint8_t flags, uint32_t bytes)
{
	static uint8_t payload[1400];
	struct be32 number = be32_put(i);

	memcpy(payload, &number, sizeof(number));
	return ep_forge(&ep, 0, (uint8_t)(WIRE_ESP_ACK | flags), true, first + i, payload, bytes);
}

static void arrive(uint32_t i, uint8_t flags, uint32_t bytes)
{
	ep_send_forged(&ep, packet(i, flags, bytes));
}

/* It waits for a turn. */
static void queue_up(uint32_t i)
{
	struct bench_frame frame = packet(i, 0, 300);

	ep_reseal(&frame);
	bench_wire_inject(&ep.wire, frame.to, frame.b, frame.n);
	free(frame.b);
}

static void expect_said(uint32_t i, uint8_t flags, uint32_t ack, uint64_t received)
{
	CU_ASSERT_FATAL(i < said);
	CU_ASSERT_EQUAL(log_of[i].flags, flags | WIRE_ESP_ACK);
	CU_ASSERT_EQUAL(log_of[i].ack, ack);
	CU_ASSERT_EQUAL(log_of[i].received, received);
}

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

/*
 * The layer above is full: it is notified once, the window closes at once, arriving packets are
 * kept.
 */
static void full_and_again_room(void)
{
	uint32_t i;

	begin(apart, 0);
	ep.end[1].room = 2;
	for (i = 0; i < 6; i++)
		arrive(i, i ? 0 : TXS, 300);
	CU_ASSERT_EQUAL(ep.end[1].read, 2);
	CU_ASSERT_EQUAL(ep.end[1].fulls, 1);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 4);
	/* The packet that was not accepted is held but not acknowledged. */
	ep_run(&ep, ESP_ACK_NS);
	CU_ASSERT_TRUE_FATAL(said > 0);
	expect_said(said - 1, 0, 2, 0xe);
	CU_ASSERT_EQUAL(log_of[said - 1].window, 0);
	/* A full receiver requests nothing. */
	said = 0;
	ep_run(&ep, 10 * EP_S);
	CU_ASSERT_EQUAL(said, 0);
	/* Room for one: that packet goes up, and the layer is full again. */
	ep_room(&ep, 1, 1);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.end[1].read, 3);
	CU_ASSERT_EQUAL(ep.end[1].fulls, 2);
	CU_ASSERT_TRUE(rx()->blocked);
	ep_room(&ep, 1, UINT32_MAX);
	said = 0;
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.end[1].read, 6);
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 0);
	CU_ASSERT_EQUAL_FATAL(said, 1);
	expect_said(0, 0, 6, 0);
	CU_ASSERT_EQUAL(log_of[0].window, ESP_MAX_BURST);
	/* The receiver requests again. */
	ep_run(&ep, 5 * EP_MS);
	CU_ASSERT_TRUE(said > 1);
	CU_ASSERT_EQUAL(log_of[1].flags, WIRE_ESP_ACK | WIRE_ESP_RRQ);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/*
 * Packets that are copied to memory that is not mapped: a turn takes a few and holds those that
 * came with them, so that frames of others need not wait for their copies. The window stays open.
 */
static void put_off(void)
{
	enum {
		PACKETS = 20,
		BUDGET = 32,
		PART = 4 /* of a turn: two in each of two stages */
	};
	uint32_t i, before;

	begin(apart, 0);
	ep.end[1].copy_bytes = 1400;
	/* The first one shows what they are. */
	arrive(0, TXS, 300);
	for (i = 1; i < PACKETS; i++)
		queue_up(i);
	while (ep.end[1].read < PACKETS) {
		before = ep.end[1].read;
		CU_ASSERT_TRUE(fw_poll(ep.end[1].nic, ep.wire.now_ns, BUDGET) > 0);
		CU_ASSERT_TRUE_FATAL(ep.end[1].read > before && ep.end[1].read - before <= PART);
		CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, PACKETS - ep.end[1].read);
		CU_ASSERT_EQUAL(esp_rx_window(rx()), ESP_MAX_BURST);
	}
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 0);
	CU_ASSERT_EQUAL(ep.end[1].fulls, 0);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* esp_resume() has no effect on a stream that is not full, or for a second time. */
static void resumed_for_nothing(void)
{
	begin(apart, 0);
	esp_resume(ep.end[1].nic, rx());
	ep_settle(&ep);
	CU_ASSERT_EQUAL(said, 0);
	ep.end[1].room = 0;
	arrive(0, TXS | TXF | TXR, 20);
	CU_ASSERT_EQUAL(ep.end[1].fulls, 1);
	esp_resume(ep.end[1].nic, rx());
	esp_resume(ep.end[1].nic, rx());
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.end[1].fulls, 2);
	ep_room(&ep, 1, 1);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(ep.end[1].read, 1);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/*
 * A large transfer to an end that accepts a few packets at a time, for long: it resumes by itself.
 */
static void a_slow_receiver(void)
{
	uint32_t i, retransmits;

	begin(lossy, 0);
	ep.end[1].room = 0;
	ep_send(&ep, 0, 200);
	ep_send(&ep, 0, 100);
	for (i = 0; i < 100; i++) {
		ep_run(&ep, 3 * EP_MS);
		CU_ASSERT_EQUAL(ep.end[1].read, 3 * i);
		ep_room(&ep, 1, 3);
	}
	ep_run(&ep, 3 * EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].read, 300);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 2);
	/* Only packets that the sender repeats as a query were dropped for lack of room. */
	retransmits = (uint32_t)EP_CNT(&ep, 0, esp_tx_retransmits);
	CU_ASSERT_TRUE(retransmits < 100);
	CU_ASSERT_EQUAL(ep.end[0].ends + ep.end[1].ends, 0);
	ep_end(&ep);
}

/* The packet that reports new room is lost: the end whose turn it is asks. */
static enum bench_verdict deaf(struct ep *e, const struct ep_info *info)
{
	(void)lossy(e, info);
	return e->bits && info->from == 1 ? BENCH_DROP : BENCH_PASS;
}

static void the_lost_news_of_room(void)
{
	static const uint32_t packets[] = {1, 2, 5, 100};
	uint32_t i;

	for (i = 0; i < 4; i++) {
		begin(lossy, 0);
		ep.end[1].room = 1;
		ep_send(&ep, 0, 1);
		ep_run(&ep, 100 * EP_MS);
		ep_send(&ep, 0, packets[i]);
		ep_run(&ep, 100 * EP_MS);
		CU_ASSERT_TRUE(rx()->blocked);
		ep_mark(&ep, deaf, 1);
		ep_room(&ep, 1, UINT32_MAX);
		ep_run(&ep, 10000);
		ep.bits = 0;
		ep_run(&ep, 300 * EP_MS);
		CU_ASSERT_EQUAL(ep.end[1].read, 1 + packets[i]);
		CU_ASSERT_EQUAL(ep.end[0].sent_ok, 2);
		ep_end(&ep);
	}
}

UT_MAIN("pair/esp_rx", UT(out_of_order), UT(every_order), UT(duplicates_and_strangers),
	UT(too_many_are_held), UT(held_by_stations), UT(malformed), UT(an_ack_waits_for_a_ride),
	UT(an_ack_that_hurries), UT(holes_are_asked_for), UT(silence_is_asked_about),
	UT(what_was_sent_before), UT(losses_are_mended), UT(full_and_again_room), UT(put_off),
	UT(resumed_for_nothing), UT(a_slow_receiver), UT(the_lost_news_of_room))
