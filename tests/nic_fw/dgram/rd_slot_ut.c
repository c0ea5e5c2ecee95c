/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots of runs in flight: one slot that stands for all packets of a run gives each of them the
 * slot that it would have had, for every length, at every place of the window, and also when the
 * peer has acknowledged the first packets.
 */
#include <string.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	SEGMENT = 1392,
	END = 77, /* bytes of the last packet of a run */
	MSG_AT = 5000,
};

static struct rd_tx_window window;
static struct rd_session session;
static struct fw_wqe msgs[WIRE_RD_WINDOW];
static struct rd_flow flow;

/* Begins a window of no packets in which no slot has sense. */
static void begin(uint32_t psn)
{
	memset(&window, 0xa5, sizeof(window));
	window.rows = false;
	session = (struct rd_session){.tx = &window, .tx_una = psn, .tx_psn = psn};
}

static uint16_t distance_of(uint32_t run)
{
	return (uint16_t)(run + 3);
}

/* Sends a run of the message with this number. */
static void send(uint32_t msg, uint32_t packets)
{
	window.slot[session.tx_psn % WIRE_RD_WINDOW] = (struct rd_slot){
	    .sent_ns = 1000 + msg,
	    .first_sent = {.ns = 900 + msg, .away = 7, .absences = 8},
	    .msg = &msgs[msg],
	    .flow = &flow,
	    .offset = MSG_AT * msg,
	    .bytes = packets > 1 ? SEGMENT : END,
	    .flow_distance = distance_of(msg),
	    .state = RD_SLOT_SENT,
	    .row = (uint8_t)packets,
	    .row_end_bytes = END,
	};
	session.tx_psn += packets;
	window.rows |= packets > 1;
}

/* Checks the slot of a packet: of its message, with its number in the run. */
static void check(uint32_t psn, uint32_t msg, uint32_t i, uint32_t packets)
{
	const struct rd_slot *slot = &window.slot[psn % WIRE_RD_WINDOW];

	CU_ASSERT_EQUAL(slot->sent_ns, 1000 + msg);
	CU_ASSERT_EQUAL(slot->first_sent.ns, 900 + msg);
	CU_ASSERT_EQUAL(slot->first_sent.away, 7);
	CU_ASSERT_EQUAL(slot->first_sent.absences, 8);
	CU_ASSERT_PTR_EQUAL(slot->msg, &msgs[msg]);
	CU_ASSERT_PTR_EQUAL(slot->flow, &flow);
	CU_ASSERT_EQUAL(slot->offset, MSG_AT * msg + i * SEGMENT);
	CU_ASSERT_EQUAL(slot->bytes, i + 1 < packets ? SEGMENT : END);
	CU_ASSERT_EQUAL(slot->flow_distance, i ? 1 : distance_of(msg));
	CU_ASSERT_EQUAL(slot->state, RD_SLOT_SENT);
	CU_ASSERT_EQUAL(slot->tries, 0);
	CU_ASSERT_FALSE(slot->withdrawn);
	CU_ASSERT_EQUAL(slot->row, 1);
}

/* A full window of runs and single packets, from every place on. */
static void spread(void)
{
	static const uint8_t runs[] = {1, 32, 2, 31, 1, 3, 16, 1, 32, 9};

	for (uint32_t at = 0; at < 2 * WIRE_RD_WINDOW; at++) {
		uint32_t psn = at - WIRE_RD_WINDOW; /* wraps */

		begin(psn);
		for (uint32_t r = 0; r < sizeof(runs); r++)
			send(r, runs[r]);
		CU_ASSERT_EQUAL_FATAL(session.tx_psn - psn, WIRE_RD_WINDOW);
		CU_ASSERT_PTR_EQUAL(rd_slot_oldest(&session), &window.slot[psn % WIRE_RD_WINDOW]);
		CU_ASSERT(window.rows);
		CU_ASSERT_PTR_EQUAL(rd_slot_at(&session, psn + 50),
				    &window.slot[(psn + 50) % WIRE_RD_WINDOW]);
		CU_ASSERT_FALSE(window.rows);
		for (uint32_t r = 0; r < sizeof(runs); r++)
			for (uint32_t i = 0; i < runs[r]; i++)
				check(psn++, r, i, runs[r]);
	}
}

/* An ACK ends within a run: each number of packets, of runs of each length. */
static void cut(void)
{
	for (uint32_t packets = 2; packets <= FW_RUN_MAX; packets++) {
		for (uint32_t n = 1; n < packets; n++) {
			uint32_t psn = 4 * WIRE_RD_WINDOW - 17;

			begin(psn);
			send(0, packets);
			send(1, 4);
			rd_slot_cut(&session, psn, n);
			session.tx_una += n;
			CU_ASSERT_EQUAL(rd_slot_oldest(&session)->row, packets - n);
			CU_ASSERT_EQUAL(rd_slot_oldest(&session)->bytes,
					n + 1 < packets ? SEGMENT : END);
			(void)rd_slot_at(&session, psn + n);
			for (uint32_t i = n; i < packets; i++)
				check(psn + i, 0, i, packets);
			for (uint32_t i = 0; i < 4; i++)
				check(psn + packets + i, 1, i, 4);
		}
	}
}

/* Nothing in flight: the slots are those of earlier packets. */
static void none(void)
{
	begin(9);
	window.rows = true;
	(void)rd_slot_at(&session, 8);
	CU_ASSERT_FALSE(window.rows);
}

UT_MAIN("nic_fw/dgram/rd_slot", UT(spread), UT(cut), UT(none))
