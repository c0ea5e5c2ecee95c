/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP against every pattern of loss. The first frames of a connection that are lost, doubled or
 * late are enumerated, not drawn. Under every pattern all queued data is delivered once and in
 * order, both ends are notified that the stream is closed, and nothing is left.
 */
#include "tests/pair/esp_pair.h"

static struct ep ep;

/* ---- filters ------------------------------------------------------------------------------- */

enum {
	LOST_FRAMES = 12, /* 2^12 patterns */
	ODD_FRAMES = 5,   /* 4^5 patterns */
};

/* Bit i: frame i is lost. */
static enum bench_verdict by_bits(struct ep *e, const struct ep_info *info)
{
	return info->number < LOST_FRAMES && e->bits >> info->number & 1 ? BENCH_DROP : BENCH_PASS;
}

/* Two bits for each frame: unchanged, lost, doubled, late. */
static enum bench_verdict by_pairs(struct ep *e, const struct ep_info *info)
{
	static const enum bench_verdict verdicts[] = {BENCH_PASS, BENCH_DROP, BENCH_TWICE,
						      BENCH_LATE};

	return info->number < ODD_FRAMES ? verdicts[e->bits >> 2 * info->number & 3] : BENCH_PASS;
}

/* ---- scenarios ------------------------------------------------------------------------------ */

struct scenario {
	const char *name;
	bool crossing;       /* both ends open at once */
	uint32_t packets[2]; /* of each end's first transfer; 0: none */
	uint32_t more[2];    /* of a second transfer, queued when the first is acknowledged */
	uint32_t close_by;   /* bit per end */
	bool wait_idle;      /* closed after all was delivered; else at once */
	uint32_t full_at;    /* packets after which end 1 is full for a while; 0: never */
};

static bool delivered(const struct ep_end *to, const struct ep_end *from)
{
	return to->read == from->wrote;
}

static void report(const struct scenario *sc, uint64_t bits, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "%s, pattern %#llx: %s", sc->name, (unsigned long long)bits,
		 what);
	CU_FAIL(text);
	printf("\n    %s", text);
}

static void queue_more(const struct scenario *sc, bool done[2])
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		struct ep_end *end = &ep.end[e];

		if (!done[e] && sc->more[e] && end->stream && end->sent_ok) {
			ep_send(&ep, e, sc->more[e]);
			done[e] = true;
		}
	}
}

static bool all_there(const struct scenario *sc)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		uint32_t want = sc->packets[e] + sc->more[e];

		if (ep.end[e].wrote != want || !delivered(&ep.end[!e], &ep.end[e]))
			return false;
	}
	return true;
}

/* One connection from SYN to the end under one pattern. */
static bool play(const struct scenario *sc, ep_filter filter, uint64_t bits)
{
	bool more_done[2] = {false, false}, closed = false;
	uint32_t e, ms;

	ep_anew(&ep);
	ep_mark(&ep, filter, bits);
	if (sc->full_at)
		ep.end[1].room = sc->full_at;
	ep_open(&ep, 0);
	if (sc->crossing)
		ep_open(&ep, 1);
	for (ms = 0; ms < 4000; ms++) {
		for (e = 0; e < 2; e++) {
			struct ep_end *end = &ep.end[e];

			if (end->stream && sc->packets[e] && !end->num_xfers)
				ep_send(&ep, e, sc->packets[e]);
		}
		queue_more(sc, more_done);
		if (!ep.end[1].room && ms >= 30 && ep.end[1].fulls)
			ep_room(&ep, 1, UINT32_MAX);
		if (!closed && ep.end[0].stream && (!sc->wait_idle || all_there(sc))) {
			for (e = 0; e < 2; e++)
				if (sc->close_by >> e & 1 && ep.end[e].stream)
					ep_close(&ep, e);
			closed = true;
		}
		if (closed && !ep.end[0].stream && !ep.end[1].stream)
			break;
		ep_run(&ep, EP_MS);
	}
	if (!ep_idle(&ep, 20 * EP_S)) {
		char text[96];

		snprintf(text, sizeof(text), "waiting for ever: states %d, %d",
			 ep.end[0].stream ? (int)ep.end[0].stream->state : -1,
			 ep.end[1].stream ? (int)ep.end[1].stream->state : -1);
		report(sc, bits, text);
		return false;
	}
	if (!all_there(sc)) {
		report(sc, bits, "not all was delivered");
		return false;
	}
	for (e = 0; e < 2; e++) {
		if (ep.end[e].ends != 1 || ep.end[e].why != ESP_END_CLOSED || ep.end[e].sent_not) {
			char text[96];

			snprintf(text, sizeof(text), "end %u: %u ends, the last %d; %u, %u sent", e,
				 ep.end[e].ends, ep.end[e].why, ep.end[e].sent_ok,
				 ep.end[e].sent_not);
			report(sc, bits, text);
			return false;
		}
	}
	ep_check_empty(&ep);
	return true;
}

static void enumerate(const struct scenario *sc, ep_filter filter, uint32_t bits_used)
{
	uint64_t bits;

	ep_begin(&ep);
	for (bits = 0; bits < UINT64_C(1) << bits_used; bits++)
		if (!play(sc, filter, bits))
			break;
	ep_end(&ep);
}

static void all_patterns(const struct scenario *sc)
{
	enumerate(sc, by_bits, LOST_FRAMES);
	enumerate(sc, by_pairs, 2 * ODD_FRAMES);
}

/* ---- enumerated patterns -------------------------------------------------------------------- */

static void handshake_and_close(void)
{
	static const struct scenario sc = {
	    .name = "open and close", .packets = {1}, .close_by = 1, .wait_idle = true};

	all_patterns(&sc);
}

static void close_behind_data(void)
{
	static const struct scenario sc = {
	    .name = "close behind data", .packets = {3}, .close_by = 1};

	all_patterns(&sc);
}

static void crossing_syns(void)
{
	static const struct scenario sc = {.name = "crossing SYNs",
					   .crossing = true,
					   .packets = {2, 2},
					   .close_by = 1,
					   .wait_idle = true};

	all_patterns(&sc);
}

static void crossing_fins(void)
{
	static const struct scenario sc = {.name = "crossing FINs",
					   .crossing = true,
					   .packets = {1, 1},
					   .close_by = 3,
					   .wait_idle = true};

	all_patterns(&sc);
}

static void both_close_behind_data(void)
{
	static const struct scenario sc = {
	    .name = "both close behind data", .crossing = true, .packets = {2, 3}, .close_by = 3};

	all_patterns(&sc);
}

static void transmissions_one_after_another(void)
{
	static const struct scenario sc = {.name = "two transmissions",
					   .packets = {2},
					   .more = {2},
					   .close_by = 1,
					   .wait_idle = true};

	all_patterns(&sc);
}

static void both_ways(void)
{
	static const struct scenario sc = {.name = "both ways",
					   .packets = {4, 3},
					   .more = {1, 1},
					   .close_by = 1,
					   .wait_idle = true};

	all_patterns(&sc);
}

static void longer_than_the_initial_burst(void)
{
	static const struct scenario sc = {
	    .name = "longer than a burst", .packets = {40}, .close_by = 1, .wait_idle = true};

	all_patterns(&sc);
}

static void a_receiver_that_is_full(void)
{
	static const struct scenario sc = {.name = "full for a while",
					   .packets = {6},
					   .close_by = 1,
					   .wait_idle = true,
					   .full_at = 2};

	all_patterns(&sc);
}

/* ---- ESPGOAL's open problem ---------------------------------------------------------------- */

/* Drops the frames of end 1 from the first data on, until bits is 0. */
static enum bench_verdict no_answers(struct ep *e, const struct ep_info *info)
{
	if (info->from == 1 && e->bits) {
		e->bits--;
		return BENCH_DROP;
	}
	return BENCH_PASS;
}

/*
 * A whole burst is received with its TXF, every acknowledgement is lost, and more is queued
 * meanwhile. The receiver does not expect to act; the window is closed for the next TXS. The sender
 * repeats TXF after its own time-out, and the answer opens the window.
 */
static void the_lost_ack_of_txf(void)
{
	enum {
		BURST = 16
	};
	uint64_t rto_ns;

	memset(&ep, 0, sizeof(ep));
	ep.burst = ep.initial_burst = BURST;
	ep_begin_with(&ep);
	ep_opened(&ep);
	ep_send(&ep, 0, 1);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	rto_ns = esp_timer_rto_ns(ep.end[0].stream, 0);
	/* A burst is acknowledged with its TXS; then all answers to the second one are lost. */
	ep_send(&ep, 0, 2 * BURST);
	ep_run(&ep, 2 * EP_LATENCY_NS);
	CU_ASSERT_FALSE(ep.end[0].stream->txs_unacked);
	ep_mark(&ep, no_answers, 100);
	ep_run(&ep, 100000);
	CU_ASSERT_EQUAL(ep.end[1].read, 1 + 2 * BURST);
	CU_ASSERT_FALSE(ep.end[1].stream->rx_open);
	CU_ASSERT_EQUAL(ep.end[0].stream->snd_next - ep.end[0].stream->snd_una, BURST);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	ep.bits = 0;
	ep_send(&ep, 0, 5);
	/* Neither end can act until the time-out after TXF. */
	ep_run(&ep, rto_ns - 100000 - 1);
	CU_ASSERT_EQUAL(ep.end[1].read, 1 + 2 * BURST);
	ep_run(&ep, 1 + 3 * EP_LATENCY_NS);
	CU_ASSERT_EQUAL(ep.end[1].read, 1 + 2 * BURST + 5);
	ep_run(&ep, 3 * EP_LATENCY_NS);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 3);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_timeouts), 1);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, esp_rrq_tx), 0);
	ep_end(&ep);
}

/* The same with the window full to its last packet by many short transmissions. */
static void the_lost_acks_of_many_txf(void)
{
	uint32_t i;

	ep_begin(&ep);
	ep_opened(&ep);
	ep_mark(&ep, no_answers, 1000);
	for (i = 0; i < ESP_BURST; i++) {
		ep_send(&ep, 0, 1);
		ep_run(&ep, 100);
	}
	ep_run(&ep, EP_LATENCY_NS);
	CU_ASSERT_EQUAL(ep.end[1].read, ESP_BURST);
	CU_ASSERT_EQUAL(ep.end[0].stream->snd_next - ep.end[0].stream->snd_una, ESP_BURST);
	for (i = 0; i < 10; i++)
		ep_send(&ep, 0, 3);
	ep_run(&ep, 100000);
	ep.bits = 0;
	ep_run(&ep, 3 * ESP_FIRST_RTO_NS);
	CU_ASSERT_EQUAL(ep.end[1].read, ESP_BURST + 30);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, ESP_BURST + 10);
	ep_end(&ep);
}

UT_MAIN("pair/esp_loss", UT(handshake_and_close), UT(close_behind_data), UT(crossing_syns),
	UT(crossing_fins), UT(both_close_behind_data), UT(transmissions_one_after_another),
	UT(both_ways), UT(longer_than_the_initial_burst), UT(a_receiver_that_is_full),
	UT(the_lost_ack_of_txf), UT(the_lost_acks_of_many_txf))
