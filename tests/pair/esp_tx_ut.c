/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP, sending: flags with the meaning of ESPGOAL 3.2, merging of queued transfers, initial burst
 * and burst, the peer's window, re-requests, and sending with a closed window.
 */
#include <stdlib.h>

#include "tests/pair/esp_pair.h"

enum {
	TXS = WIRE_ESP_TXS,
	TXF = WIRE_ESP_TXF,
	TXR = WIRE_ESP_TXR,
	ENDS = TXS | TXF | TXR,
	MAX_SENT = 1024,
};

static struct ep ep;
static uint32_t first; /* number of the first packet */

/* Numbered packets that end 0 sent, with retransmissions. */
static struct sent {
	uint32_t packet;
	uint8_t flags;
	uint32_t tx_flags;
	uint64_t at_ns;
} log_of[MAX_SENT];
static uint32_t sent;

static enum bench_verdict record(const struct ep_info *info)
{
	if (info->from || !info->numbered)
		return BENCH_PASS;
	CU_ASSERT_FATAL(sent < MAX_SENT);
	log_of[sent++] = (struct sent){info->seq - first, info->flags & (ENDS | WIRE_ESP_FIN),
				       info->frame->flags, ep.wire.now_ns};
	return BENCH_PASS;
}

static enum bench_verdict all(struct ep *e, const struct ep_info *info)
{
	(void)e;
	return record(info);
}

/* Nothing of end 1 arrives. */
static enum bench_verdict no_answers(struct ep *e, const struct ep_info *info)
{
	(void)e;
	return info->from ? BENCH_DROP : record(info);
}

/* Nothing arrives at either end. */
static enum bench_verdict nothing(struct ep *e, const struct ep_info *info)
{
	(void)e;
	record(info);
	return BENCH_DROP;
}

static struct esp_stream *tx(void)
{
	return ep.end[0].stream;
}

static void begin(uint8_t initial_burst, uint8_t burst)
{
	memset(&ep, 0, sizeof(ep));
	ep.initial_burst = initial_burst;
	ep.burst = burst;
	ep_begin_with(&ep);
	ep_opened(&ep);
	first = tx()->snd_next;
	sent = 0;
	ep_mark(&ep, all, 0);
}

/* Asserts packets in order, each sent once, with these flags. */
static void expect_flags(const uint8_t *flags, uint32_t n)
{
	uint32_t i;

	CU_ASSERT_EQUAL(sent, n);
	for (i = 0; i < n && i < sent; i++) {
		CU_ASSERT_EQUAL(log_of[i].packet, i);
		CU_ASSERT_EQUAL(log_of[i].flags, flags[i]);
	}
}

/* ---- transmissions -------------------------------------------------------------------------- */

static void one_transfer(void)
{
	static const uint8_t one[] = {TXS | TXF | TXR, TXS, 0, TXF | TXR};

	begin(0, 0);
	ep_send(&ep, 0, 1);
	ep_run(&ep, EP_MS);
	ep_send(&ep, 0, 3);
	ep_run(&ep, EP_MS);
	expect_flags(one, 4);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 2);
	ep_end(&ep);
}

/*
 * Transfers that are queued before the first packet make one transmission; the end of each is still
 * reported.
 */
static void merged(void)
{
	static const uint8_t flags[] = {TXS, TXR, 0, 0, TXR, TXF | TXR};

	begin(0, 0);
	ep_send(&ep, 0, 2);
	ep_send(&ep, 0, 3);
	ep_send(&ep, 0, 1);
	ep_run(&ep, EP_MS);
	expect_flags(flags, 6);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 3);
	ep_end(&ep);
}

/*
 * A transfer that is queued while the one before waits for room becomes part of the same
 * transmission.
 */
static void merged_under_way(void)
{
	uint32_t i;

	begin(8, 8);
	ep_send(&ep, 0, 20);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(sent, 8);
	ep_send(&ep, 0, 2);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(sent, 22);
	for (i = 0; i < 22; i++)
		CU_ASSERT_EQUAL(log_of[i].flags, i == 0    ? TXS
						 : i == 19 ? TXR
						 : i == 21 ? TXF | TXR
							   : 0);
	ep_end(&ep);
}

/*
 * No further transfer was queued when the packet got its number: the next one is another
 * transmission.
 */
static void not_merged_any_more(void)
{
	static const uint8_t flags[] = {TXS, TXF | TXR, TXS, TXF | TXR};

	begin(0, 0);
	ep_send(&ep, 0, 2);
	ep_settle(&ep);
	ep_send(&ep, 0, 2);
	ep_run(&ep, EP_MS);
	expect_flags(flags, 4);
	ep_end(&ep);
}

/* A retransmission carries the same flags, whatever is queued by then. */
static void flags_stay(void)
{
	uint32_t i;

	begin(0, 0);
	ep.payload_bytes = ESP_SMALL_BYTES;
	ep_mark(&ep, nothing, 0);
	ep_send(&ep, 0, 1);
	ep_settle(&ep);
	ep_send(&ep, 0, 5);
	ep_run(&ep, 100 * EP_MS);
	for (i = 0; i < sent; i++)
		CU_ASSERT_EQUAL(log_of[i].flags, log_of[i].packet == 0   ? TXS | TXF | TXR
						 : log_of[i].packet == 1 ? TXS
						 : log_of[i].packet == 5 ? TXF | TXR
									 : 0);
	CU_ASSERT_TRUE(sent > 10);
	ep_mark(&ep, all, 0);
	ep_run(&ep, EP_S);
	CU_ASSERT_EQUAL(ep.end[1].read, 6);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 2);
	ep_end(&ep);
}

/* State changes go before data in the port's queue; data does not. */
static void two_classes(void)
{
	uint32_t i;

	begin(0, 0);
	ep_send(&ep, 0, 4);
	ep_close(&ep, 0);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL_FATAL(sent, 5);
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(!!(log_of[i].tx_flags & FW_TX_F_CONTROL), i == 4);
	CU_ASSERT_EQUAL(log_of[4].flags, WIRE_ESP_FIN);
	ep_end(&ep);
}

/* ---- bursts --------------------------------------------------------------------------------- */

/* Before TXS is acknowledged, at most the initial burst is in flight; then a burst. */
static void initial_burst(void)
{
	static const uint8_t sizes[][2] = {{1, 1}, {1, 32}, {4, 16}, {16, 32}, {63, 63}, {63, 2}};
	uint32_t i;

	for (i = 0; i < 6; i++) {
		uint32_t initial = sizes[i][0], burst = sizes[i][1];

		begin(sizes[i][0], sizes[i][1]);
		ep_mark(&ep, no_answers, 0);
		ep_send(&ep, 0, 200);
		ep_settle(&ep);
		CU_ASSERT_EQUAL(sent, initial < burst ? initial : burst);
		/* Only TXS is acknowledged: the burst is allowed, then the window is full. */
		ep_send_forged(&ep, ep_forge(&ep, 1, WIRE_ESP_ACK, false, 0, NULL, 0));
		CU_ASSERT_EQUAL(sent, initial < burst ? initial : burst);
		ep.end[1].stream->rcv_next = first + 1;
		ep_send_forged(&ep, ep_forge(&ep, 1, WIRE_ESP_ACK, false, 0, NULL, 0));
		CU_ASSERT_EQUAL(sent, burst + 1);
		ep_abort(&ep, 0);
		ep_end(&ep);
	}
}

/*
 * A packet that is held out of order acknowledges TXS; the window counts from the first missing
 * one.
 */
static void txs_held_by_the_peer(void)
{
	struct bench_frame f;

	begin(2, 16);
	ep_send(&ep, 0, 1);
	ep_mark(&ep, nothing, 0);
	ep_settle(&ep);
	ep_send(&ep, 0, 50);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(sent, 3);
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, false, 0, NULL, 0);
	((struct wire_esp *)(f.b + 22))->received = be64_put(2);
	ep_send_forged(&ep, f);
	CU_ASSERT_FALSE(tx()->txs_unacked);
	CU_ASSERT_EQUAL(sent, 16);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* A thousand packets, whose numbers pass 2^32; the burst is never exceeded. */
static void past_the_wrap(void)
{
	uint32_t i;

	begin(16, 32);
	CU_ASSERT_TRUE(first + 100 < first);
	ep_send(&ep, 0, 500);
	ep_send(&ep, 0, 500);
	ep_run(&ep, 20 * EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].read, 1000);
	CU_ASSERT_EQUAL(sent, 1000);
	for (i = 0; i < sent; i++)
		CU_ASSERT_EQUAL(log_of[i].packet, i);
	CU_ASSERT_EQUAL(tx()->snd_una, first + 1000);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_tx_retransmits), 0);
	ep_end(&ep);
}

/* ---- the peer's window ---------------------------------------------------------------------- */

static void ack_with_window(uint32_t taken, uint16_t window)
{
	struct bench_frame f;

	ep.end[1].stream->rcv_next = first + taken;
	f = ep_forge(&ep, 1, WIRE_ESP_ACK, false, 0, NULL, 0);
	((struct wire_esp *)(f.b + 22))->window = be16_put(window);
	ep_send_forged(&ep, f);
}

static void the_window_is_kept(void)
{
	begin(16, 32);
	ep_mark(&ep, no_answers, 0);
	ack_with_window(0, 3);
	ep_send(&ep, 0, 100);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(sent, 3);
	ack_with_window(2, 3);
	CU_ASSERT_EQUAL(sent, 5);
	/* The window closes: no new packet follows those that were sent. */
	ack_with_window(3, 0);
	CU_ASSERT_EQUAL(sent, 5);
	/* A window larger than a burst counts as a burst. */
	ack_with_window(5, 1000);
	CU_ASSERT_EQUAL(sent, 5 + 32);
	/* An old acknowledgement changes nothing. */
	ack_with_window(2, 1000);
	CU_ASSERT_EQUAL(sent, 5 + 32);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_acks_stale), 1);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* Nothing in flight and no window: only the packet that starts a transmission is sent. */
static void txs_through_a_closed_window(void)
{
	begin(16, 32);
	ep_mark(&ep, no_answers, 0);
	ack_with_window(0, 0);
	ep_send(&ep, 0, 10);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(sent, 1);
	CU_ASSERT_EQUAL(log_of[0].flags, TXS);
	ack_with_window(1, 0);
	CU_ASSERT_EQUAL(sent, 1);
	/* In the middle of a transmission nothing is sent. */
	ep_run(&ep, 100000);
	CU_ASSERT_EQUAL(sent, 1);
	ack_with_window(1, 4);
	CU_ASSERT_EQUAL(sent, 5);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* ---- repeating ------------------------------------------------------------------------------ */

/* A small TXS is repeated alone until it is acknowledged, at intervals that double. */
static void txs_is_repeated(void)
{
	uint64_t rto_ns;
	uint32_t i;

	begin(4, 16);
	ep.payload_bytes = ESP_SMALL_BYTES;
	ep_mark(&ep, nothing, 0);
	rto_ns = esp_timer_rto_ns(tx(), 0);
	CU_ASSERT_EQUAL(rto_ns, ESP_FIRST_RTO_NS);
	ep_send(&ep, 0, 30);
	ep_run(&ep, 200 * EP_MS);
	CU_ASSERT_TRUE_FATAL(sent >= 4 + 6);
	for (i = 4; i < 4 + 6; i++) {
		CU_ASSERT_EQUAL(log_of[i].packet, 0);
		CU_ASSERT_EQUAL(log_of[i].flags, TXS);
		CU_ASSERT_EQUAL(log_of[i].at_ns - (i == 4 ? log_of[0].at_ns : log_of[i - 1].at_ns),
				rto_ns << (i - 4));
	}
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_timeouts), sent - 4);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

static struct {
	uint64_t at_ns[MAX_SENT];
	uint32_t num;
	bool hold; /* data does not arrive */
} questions;

/* Records queries of end 0; answers arrive. */
static enum bench_verdict note_questions(struct ep *e, const struct ep_info *info)
{
	(void)e;
	record(info);
	if (!info->from && info->esp && info->esp->numbered == WIRE_ESP_BEHIND &&
	    info->flags & WIRE_ESP_RRQ) {
		CU_ASSERT_EQUAL(info->frame->flags & FW_TX_F_CONTROL, 0);
		CU_ASSERT_EQUAL(be32_get(info->esp->rrq_count), 0);
		CU_ASSERT_FATAL(questions.num < MAX_SENT);
		questions.at_ns[questions.num++] = ep.wire.now_ns;
		return questions.hold ? BENCH_DROP : BENCH_PASS;
	}
	return !info->from && info->numbered && questions.hold ? BENCH_DROP : BENCH_PASS;
}

/* A large packet is not repeated unrequested: the peer is asked and reports what is missing. */
static void a_large_txs_is_asked_about(void)
{
	uint64_t rto_ns;
	uint32_t i;

	begin(4, 16);
	memset(&questions, 0, sizeof(questions));
	questions.hold = true;
	ep_mark(&ep, note_questions, 0);
	rto_ns = esp_timer_rto_ns(tx(), 0);
	ep_send(&ep, 0, 3);
	ep_run(&ep, 18 * EP_MS);
	CU_ASSERT_EQUAL_FATAL(questions.num, 4);
	for (i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(questions.at_ns[i] - (i ? questions.at_ns[i - 1] : log_of[0].at_ns),
				rto_ns << i);
	CU_ASSERT_EQUAL(sent, 3);
	/* The next packet arrives: all three are requested, and sent once. */
	questions.hold = false;
	ep_run(&ep, 200 * EP_MS);
	CU_ASSERT_EQUAL(sent, 6);
	CU_ASSERT_EQUAL(ep.end[1].read, 3);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 1, esp_rrq_tx), 1);
	ep_end(&ep);
}

/* TXS is acknowledged and TXF was not sent: the receiver has to act, the sender is silent. */
static void the_receiver_drives(void)
{
	uint32_t before;

	begin(4, 16);
	ep_mark(&ep, nothing, 0);
	ep_send(&ep, 0, 100);
	ep_settle(&ep);
	ep.end[1].stream->rcv_next = first + 1;
	ep_send_forged(&ep, ep_forge(&ep, 1, WIRE_ESP_ACK, false, 0, NULL, 0));
	before = sent;
	CU_ASSERT_EQUAL(before, 17);
	ep_run(&ep, ESP_WATCH_NS - EP_MS);
	CU_ASSERT_EQUAL(sent, before);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_timeouts), 0);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* ---- re-requests ---------------------------------------------------------------------------- */

static struct bench_frame request(uint64_t received, uint32_t count)
{
	struct bench_frame f = ep_forge(&ep, 1, WIRE_ESP_ACK | WIRE_ESP_RRQ, false, 0, NULL, 0);
	struct wire_esp *esp = (struct wire_esp *)(f.b + 22);

	esp->received = be64_put(received);
	esp->rrq_count = be32_put(count);
	return f;
}

/*
 * Twelve packets are lost; the peer sends this bitmap and count. Asserts the packets that are sent
 * again.
 */
static void asked(uint64_t received, uint32_t count, uint32_t want)
{
	uint32_t i, got = 0;

	begin(16, 32);
	ep_mark(&ep, nothing, 0);
	ep_send(&ep, 0, 12);
	ep_settle(&ep);
	CU_ASSERT_EQUAL(sent, 12);
	ep.wire.now_ns += ESP_MIN_RTO_NS;
	ep_send_forged(&ep, request(received, count));
	for (i = 12; i < sent; i++) {
		CU_ASSERT_FALSE(got >> log_of[i].packet & 1);
		got |= 1u << log_of[i].packet;
	}
	CU_ASSERT_EQUAL(got, want);
	if (got != want)
		printf("\nasked %llx %u: got %x, not %x\n", (unsigned long long)received, count,
		       got, want);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_rrq_rx), 1);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

static void re_requests(void)
{
	/* The query requests no packet. */
	asked(0, 0, 0x000);
	/* A number of packets from the first on. */
	asked(0, 1, 0x001);
	asked(0, 5, 0x01f);
	asked(0, 32, 0xfff);
	asked(0, UINT32_MAX, 0xfff);
	/* The holes before the last held packet, and none after it. */
	asked(0x020, 0, 0x01f);
	asked(0x0a4, 0, 0x05b);
	/* A number of packets after it. */
	asked(0x0a4, 2, 0x35b);
	asked(0x002, 1, 0x005);
	asked(UINT64_MAX << 12, 3, 0xfff);
	asked(0xffe, 32, 0x001);
	/* Bit 0 cannot be set: the packet at the acknowledged number is not held. */
	asked(0x001, 1, 0x001);
}

/* A packet sent within half a round trip is still on its way and is not sent again. */
static void asked_too_early(void)
{
	begin(16, 32);
	ep_mark(&ep, nothing, 0);
	ep_send(&ep, 0, 6);
	ep_settle(&ep);
	ep.wire.now_ns += ESP_MIN_RTO_NS / 2 - 1;
	ep_send_forged(&ep, request(0, 6));
	CU_ASSERT_EQUAL(sent, 6);
	ep.wire.now_ns += 1;
	ep_send_forged(&ep, request(0, 6));
	CU_ASSERT_EQUAL(sent, 12);
	/* After the repetition the same packets are recent again. */
	ep_send_forged(&ep, request(0, 6));
	CU_ASSERT_EQUAL(sent, 12);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* The request is based on an older acknowledgement: it is obsolete. */
static void asked_of_the_past(void)
{
	begin(16, 32);
	ep_send(&ep, 0, 6);
	ep_run(&ep, EP_MS);
	sent = 0;
	ep.end[1].stream->rcv_next -= 3;
	ep_send_forged(&ep, request(0, 32));
	ep.end[1].stream->rcv_next += 3;
	CU_ASSERT_EQUAL(sent, 0);
	CU_ASSERT_EQUAL(EP_CNT(&ep, 0, esp_acks_stale), 1);
	ep_end(&ep);
}

/* ---- the port, the memory ------------------------------------------------------------------- */

/* A port without room loses no data: dropped packets are requested again or repeated. */
static void no_room_in_the_port(void)
{
	uint32_t i;

	begin(16, 32);
	ep_tx_room(&ep, 0);
	ep_send(&ep, 0, 40);
	ep_run(&ep, 10 * EP_MS);
	CU_ASSERT_EQUAL(sent, 0);
	for (i = 0; i < 3000 && ep.end[1].read < 40; i++) {
		ep_tx_room(&ep, i % 3);
		ep_run(&ep, 100000);
	}
	ep_tx_room(&ep, UINT32_MAX);
	ep_run(&ep, 100 * EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].read, 40);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	ep_end(&ep);
}

/* The number continues without its payload, and the transfer ends as any other. */
static void memory_that_is_gone(void)
{
	begin(16, 32);
	ep.end[0].gone = true;
	ep_send(&ep, 0, 3);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].empty, 3);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	ep.end[0].gone = false;
	ep_send(&ep, 0, 2);
	ep_run(&ep, EP_MS);
	CU_ASSERT_EQUAL(ep.end[1].read, 5);
	CU_ASSERT_EQUAL(ep.end[1].empty, 3);
	ep_end(&ep);
}

/* Transfers complete one by one in order, each when all of it is acknowledged. */
static void transfers_finish_in_order(void)
{
	begin(16, 32);
	ep_mark(&ep, no_answers, 0);
	ep_send(&ep, 0, 2);
	ep_send(&ep, 0, 2);
	ep_send(&ep, 0, 2);
	ep_settle(&ep);
	ack_with_window(1, 63);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 0);
	ack_with_window(2, 63);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 1);
	ack_with_window(6, 63);
	CU_ASSERT_EQUAL(ep.end[0].sent_ok, 3);
	ep_abort(&ep, 0);
	CU_ASSERT_EQUAL(ep.end[0].sent_not, 0);
	ep_end(&ep);
}

UT_MAIN("pair/esp_tx", UT(one_transfer), UT(merged), UT(merged_under_way), UT(not_merged_any_more),
	UT(flags_stay), UT(two_classes), UT(initial_burst), UT(txs_held_by_the_peer),
	UT(past_the_wrap), UT(the_window_is_kept), UT(txs_through_a_closed_window),
	UT(txs_is_repeated), UT(a_large_txs_is_asked_about), UT(the_receiver_drives),
	UT(re_requests), UT(asked_too_early), UT(asked_of_the_past), UT(no_room_in_the_port),
	UT(memory_that_is_gone), UT(transfers_finish_in_order))
