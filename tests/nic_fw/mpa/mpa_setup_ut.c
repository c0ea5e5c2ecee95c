/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up of a connection (mpa_setup.c): the frame in segments, and the parameters that a request
 * names and an answer agrees to, for each option of this end and each offer of the peer.
 */
#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

static struct fw_nic nic;
static struct mpa_setup setup;
static struct mpa_conn conn;
static struct cm_ep ep;
static uint8_t hello[] = {0x10, 0x32, 0x54, 0x76, 0x98};

static void begin(uint16_t options)
{
	memset(&conn, 0, sizeof(conn));
	memset(&setup, 0, sizeof(setup));
	memset(&ep, 0, sizeof(ep));
	conn.setup = &setup;
	conn.options = options;
	conn.param.revision =
	    options & HW_MPA_REVISION_1 ? WIRE_MPA_REVISION_1 : WIRE_MPA_REVISION_2;
	ep.param.responder_resources = 5;
	ep.param.initiator_depth = 7;
}

/* A segment is what TCP has room for; the last is pushed. Repeats begin anywhere in it. */
static void segments_of_a_frame(void)
{
	struct fw_tx_frame frame = {.num_seg = 0};
	struct tcp_seg *seg[3], other;
	uint32_t i;

	begin(0);
	CU_ASSERT_FALSE(mpa_setup_pending(&conn));
	setup.tx_bytes = 50;
	CU_ASSERT_TRUE(mpa_setup_pending(&conn));
	CU_ASSERT_PTR_NULL(mpa_setup_next(&conn, 0));
	for (i = 0; i < 3; i++) {
		CU_ASSERT_TRUE(mpa_setup_pending(&conn));
		seg[i] = mpa_setup_next(&conn, 20);
		CU_ASSERT_PTR_NOT_NULL_FATAL(seg[i]);
		CU_ASSERT_TRUE(mpa_setup_owns(&conn, seg[i]));
		CU_ASSERT_EQUAL(seg[i]->bytes, i < 2 ? 20 : 10);
		CU_ASSERT_EQUAL(seg[i]->flags, i < 2 ? 0 : TCP_SEG_PSH);
	}
	CU_ASSERT_FALSE(mpa_setup_pending(&conn));
	CU_ASSERT_FALSE(mpa_setup_owns(&conn, &other));
	for (i = 0; i < 3; i++) {
		frame.num_seg = 1;
		CU_ASSERT_EQUAL(mpa_setup_fill(&conn, seg[i], 3, 6, &frame), 0);
		CU_ASSERT_EQUAL(frame.num_seg, 2);
		CU_ASSERT_PTR_EQUAL(frame.seg[1].mem, setup.tx + (size_t)20 * i + 3);
		CU_ASSERT_EQUAL(frame.seg[1].bytes, 6);
		CU_ASSERT_EQUAL(frame.seg[1].kind, FW_TX_MEM);
	}
	/* All that is left in one. */
	setup.tx_bytes = 70;
	seg[0] = mpa_setup_next(&conn, 20);
	CU_ASSERT_PTR_NOT_NULL_FATAL(seg[0]);
	CU_ASSERT_EQUAL(seg[0]->bytes, 20);
	CU_ASSERT_EQUAL(seg[0]->flags, TCP_SEG_PSH);
}

/* There are so many segments, and the first that is acknowledged is the next to be used. */
static void as_many_segments_as_there_are(void)
{
	struct tcp_seg *seg[MPA_SETUP_SEGS];
	uint32_t i;

	begin(0);
	setup.tx_bytes = MPA_SETUP_SEGS + 1;
	for (i = 0; i < MPA_SETUP_SEGS; i++) {
		seg[i] = mpa_setup_next(&conn, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(seg[i]);
		CU_ASSERT_TRUE(mpa_setup_owns(&conn, seg[i]));
	}
	CU_ASSERT_PTR_NULL(mpa_setup_next(&conn, 1));
	CU_ASSERT_TRUE(mpa_setup_pending(&conn));
	mpa_setup_acked(NULL, &conn, seg[3], false);
	CU_ASSERT_EQUAL(setup.tx_acked, 1);
	CU_ASSERT_PTR_EQUAL(mpa_setup_next(&conn, 1), seg[3]);
	conn.setup = NULL;
	CU_ASSERT_FALSE(mpa_setup_owns(&conn, seg[0]));
	CU_ASSERT_FALSE(mpa_setup_pending(&conn));
}

/* Reads back the frame to be sent. */
static struct mpa_frame written(bool reply)
{
	struct mpa_frame frame;

	CU_ASSERT_EQUAL(mpa_frame_bytes(setup.tx, setup.tx_bytes, reply), setup.tx_bytes);
	CU_ASSERT_EQUAL(mpa_frame_read(setup.tx, reply, &frame), 0);
	return frame;
}

static void what_a_request_names(void)
{
	uint32_t options;

	for (options = 0; options < 0x80; options++) {
		bool enhanced = !(options & HW_MPA_REVISION_1);
		uint8_t rtr = enhanced ? (uint8_t)(options >> HW_MPA_RTR_SHIFT) : 0;
		struct mpa_frame frame;

		begin((uint16_t)(HW_MPA_GIVEN | options));
		ep.tx_data = hello;
		ep.tx_bytes = 5;
		mpa_setup_ask(&conn, &ep);
		frame = written(false);
		CU_ASSERT_EQUAL(frame.markers, !!(options & HW_MPA_MARKERS));
		CU_ASSERT_EQUAL(frame.crc, !!(options & (HW_MPA_CRC | HW_MPA_CRC_REQUIRED)));
		CU_ASSERT_EQUAL(frame.revision, enhanced ? 2 : 1);
		CU_ASSERT_EQUAL(frame.enhanced, enhanced);
		CU_ASSERT_EQUAL(frame.rtr, rtr);
		CU_ASSERT_EQUAL(frame.peer_to_peer, rtr != 0);
		CU_ASSERT_EQUAL(frame.ird, enhanced ? 5 : WIRE_MPA_DEPTH_NONE);
		CU_ASSERT_EQUAL(frame.ord, enhanced ? 7 : WIRE_MPA_DEPTH_NONE);
		CU_ASSERT_EQUAL(frame.data_bytes, 5);
		CU_ASSERT_EQUAL(memcmp(frame.data, hello, 5), 0);
		CU_ASSERT_EQUAL(conn.param.rx_markers, frame.markers);
		CU_ASSERT_EQUAL(conn.param.crc, frame.crc);
		CU_ASSERT_EQUAL(conn.param.rtr, rtr);
		CU_ASSERT_EQUAL(conn.param.ird, 5);
		CU_ASSERT_EQUAL(conn.param.ord, 7);
	}
}

/* The first frame is the cheapest kind that both have; of the peer's if they have none in common.
 */
static void the_first_frame_that_is_chosen(void)
{
	uint32_t own, offered;

	for (own = 0; own < 8; own++) {
		for (offered = 1; offered < 8; offered++) {
			uint32_t both = own & offered ? own & offered : offered, want;

			want = both & WIRE_MPA_RTR_WRITE  ? WIRE_MPA_RTR_WRITE
			       : both & WIRE_MPA_RTR_SEND ? WIRE_MPA_RTR_SEND
							  : WIRE_MPA_RTR_READ;
			begin((uint16_t)(HW_MPA_GIVEN | own << HW_MPA_RTR_SHIFT));
			conn.param.enhanced = conn.param.peer_to_peer = true;
			conn.param.rtr = (uint8_t)offered;
			mpa_setup_answer(&conn, &ep, false);
			CU_ASSERT_EQUAL(conn.param.rtr, want);
			CU_ASSERT_EQUAL(written(true).rtr, want);
			CU_ASSERT_TRUE(written(true).peer_to_peer);
		}
	}
}

/* The answerer asks for no more at a time than the peer answers; its own answers are its own. */
static void depths_of_an_answer(void)
{
	static const struct {
		uint16_t ird, ord; /* of the peer */
		bool enhanced;
		uint16_t own_ord, named_ird, named_ord;
	} list[] = {
	    {3, 2, true, 3, 5, 3},
	    {7, 9, true, 7, 5, 7},
	    {8, 9, true, 7, 5, 7},
	    {0, 0, true, 0, 5, 0},
	    {WIRE_MPA_DEPTH_NONE, 2, true, 7, 5, 7},
	    {3, WIRE_MPA_DEPTH_NONE, true, 3, 5, 3},
	    {WIRE_MPA_DEPTH_NONE, WIRE_MPA_DEPTH_NONE, true, 7, WIRE_MPA_DEPTH_NONE,
	     WIRE_MPA_DEPTH_NONE},
	    {3, 2, false, 7, WIRE_MPA_DEPTH_NONE, WIRE_MPA_DEPTH_NONE},
	};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		begin(HW_MPA_DEFAULT);
		conn.param.enhanced = list[i].enhanced;
		conn.param.ird = list[i].ird;
		conn.param.ord = list[i].ord;
		mpa_setup_answer(&conn, &ep, false);
		CU_ASSERT_EQUAL(conn.param.ird, 5);
		CU_ASSERT_EQUAL(conn.param.ord, list[i].own_ord);
		CU_ASSERT_EQUAL(written(true).ird, list[i].named_ird);
		CU_ASSERT_EQUAL(written(true).ord, list[i].named_ord);
		CU_ASSERT_FALSE(written(true).reject);
		CU_ASSERT_FALSE(written(true).peer_to_peer);
	}
}

/* A refusal says so, with the process's data or with none, and agrees to nothing. */
static void what_a_refusal_names(void)
{
	struct mpa_params before;
	struct mpa_frame frame;

	begin(HW_MPA_DEFAULT);
	conn.param = (struct mpa_params){
	    .revision = 2, .crc = true, .rx_markers = true, .enhanced = true, .ird = 3, .ord = 2};
	before = conn.param;
	mpa_setup_answer(&conn, NULL, true);
	frame = written(true);
	CU_ASSERT_TRUE(frame.reject && frame.crc && frame.markers && frame.enhanced);
	CU_ASSERT_EQUAL(frame.data_bytes, 0);
	CU_ASSERT_EQUAL(frame.ird, 0);
	CU_ASSERT_EQUAL(frame.ord, 0);
	CU_ASSERT_EQUAL(memcmp(&before, &conn.param, sizeof(before)), 0);
	ep.tx_data = hello;
	ep.tx_bytes = 2;
	mpa_setup_answer(&conn, &ep, true);
	frame = written(true);
	CU_ASSERT_TRUE(frame.reject);
	CU_ASSERT_EQUAL(frame.data_bytes, 2);
	CU_ASSERT_EQUAL(memcmp(frame.data, hello, 2), 0);
}

/*
 * States of a connection, each with its time: whatever it waits for, it may close once its frame
 * was sent or is awaited, and it may be over at any time.
 */
static void each_state_may_end(void)
{
	static const uint8_t ways[][6] = {
	    {MPA_CONNECTING, MPA_REQ_SENT, MPA_REP_RCVD, MPA_FPDU, MPA_TERM_SENT},
	    {MPA_REQ_WAIT, MPA_REQ_RCVD, MPA_RTR_WAIT, MPA_FPDU, MPA_TERM_SENT},
	};
	struct fw_timer *heap[4];
	uint32_t way, step, k;

	for (way = 0; way < 2; way++) {
		for (step = 0; step < 5; step++) {
			for (k = 0; k < 2; k++) {
				uint32_t i;

				begin(0);
				memset(&nic, 0, sizeof(nic));
				fw_timers_init(&nic.timers, heap, 4);
				nic.now_ns = 5;
				mpa_rdmap_init_conn(&conn);
				for (i = 0; i <= step; i++) {
					mpa_set_state(&nic, &conn, ways[way][i]);
					CU_ASSERT_EQUAL(conn.state, ways[way][i]);
					/* Only data may flow without end. */
					CU_ASSERT_EQUAL(fw_timer_is_set(&conn.timer),
							conn.state != MPA_FPDU);
				}
				if (k && ways[way][step] != MPA_CONNECTING) {
					mpa_set_state(&nic, &conn, MPA_CLOSING);
					CU_ASSERT_TRUE(fw_timer_is_set(&conn.timer));
				}
				mpa_set_state(&nic, &conn, MPA_FREE);
				CU_ASSERT_FALSE(fw_timer_is_set(&conn.timer));
			}
		}
	}
}

UT_MAIN("nic_fw/mpa/mpa_setup", UT(each_state_may_end), UT(segments_of_a_frame),
	UT(as_many_segments_as_there_are), UT(what_a_request_names),
	UT(the_first_frame_that_is_chosen), UT(depths_of_an_answer), UT(what_a_refusal_names))
