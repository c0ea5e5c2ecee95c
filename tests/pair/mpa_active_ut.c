/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of MPA (mpa_conn.c, mpa_setup.c) of a NIC that connects: its requests bit for bit,
 * replies of a peer that sends arbitrary bytes, refusals, and time.
 */
#include "tests/pair/mpa_setup.h"

#include "nic_fw/base/crc32c.h"

static uint32_t active;

/* End 1 requests a connection; the peer has accepted it in TCP. */
static struct fw_qp *connect_out(uint16_t mpa, uint16_t mss)
{
	struct hw_cmd_cm cm = {
	    .mpa = mpa,
	    .data_bytes = 5,
	    .data = "hello",
	    .param = {.responder_resources = 7, .initiator_depth = 9},
	};
	struct fw_qp *qp;

	tcp_peer_begin(&tp);
	tp.mss = mss;
	qp = tcp_peer_ask(&tp, &cm);
	CU_ASSERT_TRUE_FATAL(tp.open);
	active = cm.ep;
	return qp;
}

static void active_asks(void)
{
	static const struct {
		uint16_t mpa;
		char request[24];
		uint8_t bytes;
	} cases[] = {
	    {0, REQ "\x50\x02\0\x09\x80\7\xc0", 23},
	    {HW_MPA_GIVEN, REQ "\x10\x02\0\x09\0\7\0", 23},
	    {HW_MPA_GIVEN | HW_MPA_MARKERS | HW_MPA_RTR_SEND, REQ "\x90\x02\0\x09\xc0\7\0", 23},
	    {HW_MPA_GIVEN | HW_MPA_REVISION_1 | HW_MPA_CRC_REQUIRED, REQ "\x40\x01\0\5hel", 23},
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)connect_out(cases[i].mpa, i & 1 ? 64 : TP_MSS);
		CU_ASSERT_EQUAL(memcmp(tp.rx, cases[i].request, cases[i].bytes), 0);
		CU_ASSERT_EQUAL(memcmp(tp.rx + tp.rx_bytes - 5, "hello", 5), 0);
		CU_ASSERT_EQUAL(tp.rx_bytes, sizeof(struct wire_mpa_setup) +
						 be16_get(*(struct be16 *)(tp.rx + 18)));
		tcp_peer_end(&tp);
	}
}

/* The reply cut anywhere, and data after it before the process has answered. */
static void active_is_answered(void)
{
	uint32_t segment;

	for (segment = 1; segment < 60; segment += 7) {
		struct fw_qp *qp = connect_out(HW_MPA_GIVEN | HW_MPA_CRC, TP_MSS);
		struct hw_resp_cm_event ev;

		SEND(ENHANCED(REP, "\x50", "\x07", "\x00\x0a\x00\x05yes"), segment);
		ev = cp_expect(&tp.cp, 1, active, HW_CM_EVENT_RESPONSE);
		CU_ASSERT(ev.data_bytes == 3 && !memcmp(ev.data, "yes", 3));
		/* The peer has 10 for our 9, and wants 5 of our 7. */
		CU_ASSERT_EQUAL(ev.param.responder_resources, 9);
		CU_ASSERT_EQUAL(ev.param.initiator_depth, 7);
		CU_ASSERT_EQUAL(conn_of(active)->state, MPA_REP_RCVD);
		CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_ACCEPT, active), 0);
		CU_ASSERT_EQUAL(conn_of(active)->state, MPA_FPDU);
		CU_ASSERT_EQUAL(qp->attr.max_rd_atomic, 9);
		CU_ASSERT_PTR_EQUAL(qp->mpa, conn_of(active));
		cp_expect_none(&tp.cp);
		tcp_peer_end(&tp);
	}
}

/* The parameters that both ends derive from valid replies. */
static void active_agrees(void)
{
	enum {
		G = HW_MPA_GIVEN,
		W = HW_MPA_RTR_WRITE,
	};
	static const struct {
		uint16_t mpa;
		char reply[8];
		uint8_t bytes;
		bool crc, tx_markers;
		uint8_t rtr, ird, ord;
	} cases[] = {
	    {G, "\x10\x02\0\4\0\1\0\1", 8, false, false, 0, 7, 1},
	    {G, "\x50\x02\0\4\0\1\0\1", 8, true, false, 0, 7, 1},
	    {G, "\x90\x02\0\4\0\x20\0\1", 8, false, true, 0, 7, 9},
	    /* either is enough */
	    {G | HW_MPA_CRC, "\x10\x02\0\4\0\1\0\1", 8, true, false, 0, 7, 1},
	    {G, "\x10\x02\0\4\x3f\xff\x3f\xff", 8, false, false, 0, 7, 9},
	    /* it wants more reads than were offered, and gets them */
	    {G, "\x10\x02\0\4\0\0\0\x10", 8, false, false, 0, 16, 0},
	    {G | W, "\x10\x02\0\4\x80\1\x80\1", 8, false, false, 2, 7, 1},
	    {G | W | HW_MPA_RTR_READ, "\x10\x02\0\4\x80\1\x40\1", 8, false, false, 4, 7, 1},
	    /* siw chooses Write whatever was offered */
	    {G | HW_MPA_RTR_SEND, "\x10\x02\0\4\x80\1\x80\1", 8, false, false, 2, 7, 1},
	    /* not peer-to-peer in the end */
	    {G | W, "\x10\x02\0\4\0\1\0\1", 8, false, false, 0, 7, 1},
	    {G | HW_MPA_REVISION_1, "\x40\x01\0\0", 4, true, false, 0, 7, 9},
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct mpa_params *p;
		char text[24];

		(void)connect_out(cases[i].mpa, TP_MSS);
		memcpy(text, REP, WIRE_MPA_KEY_BYTES);
		memcpy(text + WIRE_MPA_KEY_BYTES, cases[i].reply, 8);
		send_text(text, WIRE_MPA_KEY_BYTES + cases[i].bytes, 0);
		(void)cp_expect(&tp.cp, 1, active, HW_CM_EVENT_RESPONSE);
		p = &conn_of(active)->param;
		CU_ASSERT(p->crc == cases[i].crc && p->tx_markers == cases[i].tx_markers &&
			  p->rtr == cases[i].rtr && p->peer_to_peer == (p->rtr != 0));
		CU_ASSERT(p->ird == cases[i].ird && p->ord == cases[i].ord);
		tcp_peer_end(&tp);
	}
}

/* One FPDU and FIN: layer LLP/MPA with the code; CRC and marker by the flags of the reply. */
static void expect_terminate(uint8_t code, uint8_t flags)
{
	static const uint8_t fpdu[] = {0, 22, 0x41, 0x47, 0, 0, 0, 0, 0, 0,   0,
				       2, 0,  0,    0,    1, 0, 0, 0, 0, 0x20};
	const uint8_t *at = tp.rx + sizeof(struct wire_mpa_setup) + 4 + 5;
	uint32_t n = flags & WIRE_MPA_F_MARKERS ? 4 : 0;
	struct be32 crc = be32_put(0);

	CU_ASSERT_TRUE(tp.closed);
	CU_ASSERT_FALSE(tp.reset);
	CU_ASSERT_EQUAL_FATAL(tp.rx + tp.rx_bytes - at, n + 28);
	CU_ASSERT_EQUAL(memcmp(at, "\0\0\0\0", n), 0);
	CU_ASSERT_EQUAL(memcmp(at + n, fpdu, sizeof(fpdu)), 0);
	CU_ASSERT_EQUAL(at[n + 21], code);
	CU_ASSERT(!at[n + 22] && !at[n + 23]);
	if (flags & WIRE_MPA_F_CRC)
		crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, at, n + 24));
	CU_ASSERT_EQUAL(memcmp(at + n + 24, &crc, sizeof(crc)), 0);
}

static void active_refuses(void)
{
	enum {
		G = HW_MPA_GIVEN,
		P2P = HW_MPA_GIVEN | HW_MPA_RTR_WRITE,
	};
	static const struct {
		uint16_t mpa;
		const char *text;
		uint32_t bytes;
		uint8_t code, flags; /* of a Terminate, if there is one */
	} cases[] = {
	    {G, B("HTTP/1.1 400 Bad Request\r\n"), 0, 0},
	    {G, B(REQ "\x10\x02\0\4\0\1\0\1"), 0, 0},
	    {G, B(REP "\x10\x02\2\1"), 0, 0},
	    {G, B(REP "\x10\x03\0\4\0\1\0\1"), 0, 0},
	    {G, B(REP "\x00\x01\0\0"), 0, 0},
	    {G, B(REP "\x00\x02\0\0"), 0, 0},
	    {G, B(REP "\x10\x02\0\2\0\1"), 0, 0},
	    {G, B(REP "\x10\x02\0\4\0\1\x3f\xf0"), 6, 0},
	    {G, B(REP "\xd0\x02\0\4\0\1\0\x81"), 6, 0xc0},
	    {P2P, B(REP "\x10\x02\0\4\x80\1\0\1"), 7, 0},
	    {P2P, B(REP "\x50\x02\0\4\x80\1\xc0\1"), 7, 0x40},
	    {G | HW_MPA_CRC_REQUIRED, B(REP "\x10\x02\0\4\0\1\0\1"), 0, 0},
	    {G | HW_MPA_REVISION_1, B(REP "\x10\x02\0\4\0\1\0\1"), 0, 0},
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)connect_out(cases[i].mpa, TP_MSS);
		send_text(cases[i].text, cases[i].bytes, 0);
		CU_ASSERT_EQUAL(cp_expect(&tp.cp, 1, active, HW_CM_EVENT_UNREACHABLE).status,
				FW_EPROTO);
		CU_ASSERT_EQUAL(CP_CNT(&tp.cp, 1, mpa_setup_malformed), 1);
		if (cases[i].code) {
			expect_terminate(cases[i].code, cases[i].flags);
			tcp_peer_fin(&tp);
			rp_run(&tp.cp.rp, CP_MS);
		} else {
			CU_ASSERT_TRUE(tp.reset);
		}
		CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
		cp_expect_none(&tp.cp);
		tcp_peer_end(&tp);
	}
}

static void active_is_rejected(void)
{
	struct hw_resp_cm_event ev;

	(void)connect_out(0, TP_MSS);
	SEND(REP "\x30\x02\0\6\0\0\0\0no", 9);
	ev = cp_expect(&tp.cp, 1, active, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(ev.status, HW_CM_REJ_CONSUMER);
	CU_ASSERT(ev.data_bytes == 2 && !memcmp(ev.data, "no", 2));
	CU_ASSERT_TRUE(tp.closed);
	tcp_peer_fin(&tp);
	cp_expect_none(&tp.cp);
	tcp_peer_end(&tp);
}

/* After a close, a reset or a reject with revision 1 the NIC requests once more with revision 1. */
static void active_falls_back(void)
{
	uint64_t ended_ns;
	uint32_t how;

	for (how = 0; how < 3; how++) {
		struct hw_resp_cm_event ev;

		(void)connect_out(0, TP_MSS);
		CU_ASSERT_EQUAL(tp.rx[17], 2);
		tp.rx_bytes = 0;
		ended_ns = tp.cp.rp.end[1].nic->now_ns;
		if (how == 0)
			tcp_peer_fin(&tp);
		else if (how == 1)
			tcp_peer_rst(&tp);
		else
			SEND(REP "\x20\x01\0\0", 0);
		rp_run(&tp.cp.rp, 10 * CP_MS);
		CU_ASSERT_EQUAL(tp.syns, 2);
		CU_ASSERT_EQUAL(CP_CNT(&tp.cp, 1, mpa_fallbacks), 1);
		/* Sequence numbers that the first connection has used pass first. */
		CU_ASSERT_TRUE(tp.syn_ns - ended_ns >= 29 * TCP_ISN_TICK_NS);
		CU_ASSERT_EQUAL(memcmp(tp.rx, REQ "\x40\x01\0\5hello", 25), 0);
		cp_expect_none(&tp.cp);
		SEND(REP "\x40\x01\0\0", 0);
		ev = cp_expect(&tp.cp, 1, active, HW_CM_EVENT_RESPONSE);
		CU_ASSERT_EQUAL(ev.param.initiator_depth, 7);
		tcp_peer_end(&tp);
	}
	/* It falls back only once. */
	(void)connect_out(0, TP_MSS);
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, 10 * CP_MS);
	CU_ASSERT_EQUAL(tp.syns, 2);
	tcp_peer_fin(&tp);
	rp_run(&tp.cp.rp, 10 * CP_MS);
	(void)cp_expect(&tp.cp, 1, active, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(tp.syns, 2);
	tcp_peer_end(&tp);
}

static void active_waits(void)
{
	(void)connect_out(0, TP_MSS);
	SEND("MPA ID Rep", 0);
	rp_run(&tp.cp.rp, 119 * CP_S);
	cp_expect_none(&tp.cp);
	rp_run(&tp.cp.rp, 2 * CP_S);
	CU_ASSERT_EQUAL(cp_expect(&tp.cp, 1, active, HW_CM_EVENT_UNREACHABLE).status, FW_ETIMEDOUT);
	CU_ASSERT_TRUE(tp.reset);
	tcp_peer_end(&tp);
	/* The process does not report that its queue pair is ready. */
	(void)connect_out(HW_MPA_GIVEN, TP_MSS);
	SEND(ENHANCED(REP, "\x10", "\x04", "\x00\x0a\x00\x05"), 0);
	(void)cp_expect(&tp.cp, 1, active, HW_CM_EVENT_RESPONSE);
	rp_run(&tp.cp.rp, 125 * CP_S);
	(void)cp_expect(&tp.cp, 1, active, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_TRUE(tp.reset);
	CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_ACCEPT, active), FW_EINVAL);
	tcp_peer_end(&tp);
	/* The process destroys the endpoint meanwhile. */
	(void)connect_out(0, TP_MSS);
	CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DESTROY, active), 0);
	rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_TRUE(tp.reset);
	tcp_peer_end(&tp);
}

/* An FPDU after the reply or the request that ends the connection when it is accepted. */
static void wrong_behind(void)
{
	static const char wrong[] = "\x00\x0e\x41\x47 wrong CRC ahead";
	struct hw_resp_cm_event ev;
	struct fw_qp *qp;

	qp = connect_out(HW_MPA_GIVEN | HW_MPA_CRC, TP_MSS);
	SEND(ENHANCED(REP, "\x50", "\x07", "\x00\x0a\x00\x05yes"), 0);
	SEND(wrong, 0);
	(void)cp_expect(&tp.cp, 1, active, HW_CM_EVENT_RESPONSE);
	CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_ACCEPT, active), 0);
	rp_run(&tp.cp.rp, 200 * CP_S);
	(void)cp_expect(&tp.cp, 1, active, HW_CM_EVENT_DISCONNECTED);
	cp_expect_none(&tp.cp);
	CU_ASSERT_PTR_NULL(qp->mpa);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
	tcp_peer_end(&tp);

	ask(HW_MPA_GIVEN | HW_MPA_CRC);
	SEND(ENHANCED(REQ, "\x50", "\x07", "\x00\x0a\x00\x05yes"), 0);
	SEND(wrong, 0);
	CU_ASSERT_EQUAL(cp_event(&tp.cp, 1, &ev), HW_CM_EVENT_REQUEST);
	qp = cp_tcp_qp(&tp.cp, 1);
	CU_ASSERT_EQUAL(accept_with(ev.ep, qp, 1, 1), 0);
	rp_run(&tp.cp.rp, 200 * CP_S);
	CU_ASSERT_PTR_NULL(qp->mpa);
	CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
	tcp_peer_end(&tp);
}

UT_MAIN("pair/mpa_active", UT(active_asks), UT(active_is_answered), UT(active_agrees),
	UT(active_refuses), UT(active_is_rejected), UT(active_falls_back), UT(active_waits),
	UT(wrong_behind))
