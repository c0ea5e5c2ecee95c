/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP, receiving: a layer above that is full and resumes, its notifications, and copies that are
 * put off (ESPGOAL 4.1.5).
 */
#include "tests/pair/esp_rx_fix.h"

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

/* So many packets that are copied wait for a turn, but for the first, which shows what they are. */
static void begin_copied(uint32_t packets)
{
	begin(apart, 0);
	ep.end[1].copy_bytes = 1400;
	arrive(0, TXS, 300);
	for (uint32_t i = 1; i < packets; i++)
		queue_up(i);
}

/*
 * Packets that are copied to memory that is not mapped: a turn takes a few and holds those that
 * came with them, so that frames of others need not wait for their copies. The window stays open.
 */
static void put_off(void)
{
	enum {
		PACKETS = 20,
		PART = 4 /* of a turn: two in each of two stages */
	};
	uint32_t before;

	begin_copied(PACKETS);
	while (ep.end[1].read < PACKETS) {
		before = ep.end[1].read;
		CU_ASSERT_TRUE(fw_poll(ep.end[1].nic, ep.wire.now_ns, FW_TURN_LONG) > 0);
		CU_ASSERT_TRUE_FATAL(ep.end[1].read > before && ep.end[1].read - before <= PART);
		CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, PACKETS - ep.end[1].read);
		CU_ASSERT_EQUAL(esp_rx_window(rx()), ESP_MAX_BURST);
	}
	CU_ASSERT_EQUAL(ep.end[1].nic->esp.held.used, 0);
	CU_ASSERT_EQUAL(ep.end[1].fulls, 0);
	ep_abort(&ep, 0);
	ep_end(&ep);
}

/* In short turns a stage takes one, and none in seven turns of eight. */
static void put_off_in_short_turns(void)
{
	enum {
		PACKETS = 12,
		PART = 2, /* of a turn, in two stages */
	};
	uint32_t turns = 0, copied = 0;

	begin_copied(PACKETS);
	while (ep.end[1].read < PACKETS) {
		uint32_t before = ep.end[1].read;

		(void)fw_poll(ep.end[1].nic, ep.wire.now_ns, FW_TURN_SHORT);
		CU_ASSERT_TRUE(ep.end[1].read - before <= PART);
		copied += ep.end[1].read > before;
		CU_ASSERT_TRUE_FATAL(++turns < FW_DEAR_EVERY * PACKETS);
	}
	/* One turn in each eight; the first and the last eight are not whole. */
	CU_ASSERT_TRUE(turns > FW_DEAR_EVERY * (copied - 2));
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

UT_MAIN("pair/esp_room", UT(full_and_again_room), UT(put_off), UT(put_off_in_short_turns),
	UT(resumed_for_nothing), UT(a_slow_receiver), UT(the_lost_news_of_room))
