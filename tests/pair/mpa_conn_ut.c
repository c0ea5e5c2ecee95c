/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of MPA (mpa_conn.c, mpa_setup.c) of a NIC that is connected to, by a peer that sends
 * arbitrary bytes: requests and replies bit for bit, in pieces and followed by data, refusals,
 * time.
 */
#include "tests/pair/mpa_setup.h"

/* The reply is the same however the request is cut. */
static void passive_enhanced(void)
{
	uint32_t segment;

	for (segment = 1; segment < 40; segment += 4) {
		struct hw_resp_cm_event ev;
		struct fw_qp *qp;

		ask(0);
		SEND(ENHANCED(REQ, "\x50", "\x0b", "\x00\x04\x00\x05private"), segment);
		ev = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
		CU_ASSERT_EQUAL(ev.transport, HW_CM_TRANSPORT_TCP);
		CU_ASSERT(ev.data_bytes == 7 && !memcmp(ev.data, "private", 7));
		CU_ASSERT_EQUAL(ev.param.responder_resources, 4);
		CU_ASSERT_EQUAL(ev.param.initiator_depth, 5);
		CU_ASSERT_EQUAL(ev.peer_port, tp.peer_port);
		CU_ASSERT_EQUAL(tp.rx_bytes, 0);
		qp = cp_tcp_qp(&tp.cp, 1);
		CU_ASSERT_EQUAL(accept_with(ev.ep, qp, 6, 16), 0);
		rp_run(&tp.cp.rp, CP_MS);
		/* The peer sends first, or we do if it is silent. Four of our reads at once. */
		EXPECT(ENHANCED(REP, "\x50", "\x07", "\x00\x06\x00\x04yes"));
		(void)cp_expect(&tp.cp, 1, ev.ep, HW_CM_EVENT_ESTABLISHED);
		CU_ASSERT_EQUAL(qp->attr.max_rd_atomic, 4);
		CU_ASSERT_EQUAL(conn_of(ev.ep)->state, MPA_RTR_WAIT);
		CU_ASSERT_PTR_NULL(conn_of(ev.ep)->setup);
		rp_run(&tp.cp.rp, 190 * CP_MS);
		CU_ASSERT_EQUAL(conn_of(ev.ep)->state, MPA_RTR_WAIT);
		rp_run(&tp.cp.rp, 20 * CP_MS);
		CU_ASSERT_EQUAL(conn_of(ev.ep)->state, MPA_FPDU);
		tcp_peer_end(&tp);
	}
}

/* A half-received FPDU gives up its buffer, and its connection, by a timer of mpa_rx.c. */
static void made_to_end(void)
{
	struct hw_resp_cm_event ev;
	struct fw_nic *nic;
	struct fw_qp *qp;

	ask(0);
	SEND(ENHANCED(REQ, "\x50", "\x0b", "\x00\x04\x00\x05private"), 0);
	ev = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	qp = cp_tcp_qp(&tp.cp, 1);
	/* A connection that is gone is attached to no queue pair. */
	CU_ASSERT_EQUAL(mpa_attach(tp.cp.rp.end[1].nic, NULL, qp), FW_EINVAL);
	CU_ASSERT_EQUAL(accept_with(ev.ep, qp, 6, 16), 0);
	rp_run(&tp.cp.rp, 300 * CP_MS);
	(void)cp_expect(&tp.cp, 1, ev.ep, HW_CM_EVENT_ESTABLISHED);
	/* An FPDU of 1,000 bytes begins. */
	SEND("\x03\xe8\x41\x43", 0);
	rp_run(&tp.cp.rp, CP_MS);
	nic = tp.cp.rp.end[1].nic;
	CU_ASSERT_EQUAL(nic->mpa.partials.used, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(conn_of(ev.ep));
	CU_ASSERT_PTR_EQUAL(nic->mpa.held.next, &conn_of(ev.ep)->partial->node);
	fw_timer_set(&nic->timers, &qp->mpa->timer, nic->now_ns);
	rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_TRUE(tp.reset);
	(void)cp_expect(&tp.cp, 1, ev.ep, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(nic->mpa.partials.used, 0);
	CU_ASSERT_TRUE(fw_list_empty(&nic->mpa.held));
	tcp_peer_end(&tp);
}

/* A request of the peer and the reply that this end must give to it. */
struct agreement {
	uint16_t mpa;
	char request[8];
	uint8_t request_bytes;
	char reply[8];
	uint8_t reply_bytes;
	bool crc, tx_markers, rx_markers;
	uint8_t rtr;
};

static void check_agreement(const struct agreement *c)
{
	const struct mpa_params *p;
	char text[32];
	uint32_t b;

	ask(c->mpa);
	memcpy(text, REQ, WIRE_MPA_KEY_BYTES);
	memcpy(text + WIRE_MPA_KEY_BYTES, c->request, 8);
	send_text(text, WIRE_MPA_KEY_BYTES + c->request_bytes, 0);
	b = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	{
		const struct hw_cmd_cm cm = {.ep = b,
					     .param = {.qpn = cp_tcp_qp(&tp.cp, 1)->qpn,
						       .responder_resources = 3,
						       .initiator_depth = 4}};

		CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_ACCEPT, &cm, NULL), 0);
	}
	rp_run(&tp.cp.rp, CP_MS);
	memcpy(text, REP, WIRE_MPA_KEY_BYTES);
	memcpy(text + WIRE_MPA_KEY_BYTES, c->reply, 8);
	expect_rx(text, WIRE_MPA_KEY_BYTES + c->reply_bytes);
	p = &conn_of(b)->param;
	CU_ASSERT(p->crc == c->crc && p->tx_markers == c->tx_markers &&
		  p->rx_markers == c->rx_markers && p->rtr == c->rtr &&
		  p->peer_to_peer == (p->rtr != 0));
	/* With a first frame, the event follows that frame. */
	if (!p->rtr)
		(void)cp_expect(&tp.cp, 1, b, HW_CM_EVENT_ESTABLISHED);
	cp_expect_none(&tp.cp);
	tcp_peer_end(&tp);
}

/* Every combination that a request can contain, and the reply to it. */
static void passive_agrees(void)
{
	enum {
		G = HW_MPA_GIVEN,
		C = HW_MPA_CRC,
		M = HW_MPA_MARKERS,
	};
	static const struct agreement cases[] = {
	    /* revision 1 */
	    {G, "\x00\x01\0\0", 4, "\x00\x01\0\0", 4, false, false, false, 0},
	    {G, "\x40\x01\0\0", 4, "\x40\x01\0\0", 4, true, false, false, 0},
	    {G | C, "\x00\x01\0\0", 4, "\x40\x01\0\0", 4, true, false, false, 0},
	    {G | M, "\x00\x01\0\0", 4, "\x80\x01\0\0", 4, false, false, true, 0},
	    {G, "\x80\x01\0\0", 4, "\x00\x01\0\0", 4, false, true, false, 0},
	    {G | M | C, "\xc0\x01\0\0", 4, "\xc0\x01\0\0", 4, true, true, true, 0},
	    /* revision 2 without its extension */
	    {G, "\x00\x02\0\0", 4, "\x00\x02\0\0", 4, false, false, false, 0},
	    /* a reserved bit that siw sets */
	    {G, "\x18\x02\0\4\0\1\0\1", 8, "\x10\x02\0\4\0\3\0\1", 8, false, false, false, 0},
	    /* peer-to-peer: each kind, then the choice */
	    {G, "\x10\x02\0\4\xc0\1\0\1", 8, "\x10\x02\0\4\xc0\3\0\1", 8, false, false, false, 1},
	    {G, "\x10\x02\0\4\x80\1\x80\1", 8, "\x10\x02\0\4\x80\3\x80\1", 8, false, false, false,
	     2},
	    {G, "\x10\x02\0\4\x80\1\x40\1", 8, "\x10\x02\0\4\x80\3\x40\1", 8, false, false, false,
	     4},
	    {G, "\x10\x02\0\4\xc0\1\xc0\1", 8, "\x10\x02\0\4\x80\3\x80\1", 8, false, false, false,
	     2},
	    {G | HW_MPA_RTR_READ, "\x10\x02\0\4\xc0\1\xc0\1", 8, "\x10\x02\0\4\x80\3\x40\1", 8,
	     false, false, false, 4},
	    {G | HW_MPA_RTR_SEND, "\x10\x02\0\4\xc0\1\xc0\1", 8, "\x10\x02\0\4\xc0\3\0\1", 8, false,
	     false, false, 1},
	    /* depths: none at all, left to the programs */
	    {G, "\x10\x02\0\4\0\0\0\0", 8, "\x10\x02\0\4\0\3\0\0", 8, false, false, false, 0},
	    {G, "\x10\x02\0\4\x3f\xff\x3f\xff", 8, "\x10\x02\0\4\x3f\xff\x3f\xff", 8, false, false,
	     false, 0},
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_agreement(&cases[i]);
}

/* Malformed requests: the connection ends with FIN or a reject; no process is notified. */
static void passive_refuses(void)
{
	static const struct {
		const char *text;
		uint32_t bytes;
		bool answered;
		uint16_t mpa;
	} cases[] = {
	    {B("GET / HTTP/1.1\r\n"), false, 0},
	    {B("X"), false, 0},
	    {B(REP "\x40\x01\0\0"), false, 0},
	    {B(REQ "\x40\x00\0\0"), false, 0},
	    {B(REQ "\x40\x03\0\0"), false, 0},
	    {B(REQ "\x40\xff\0\0"), false, 0},
	    {B(REQ "\x40\x01\x02\x01"), false, 0},
	    {B(REQ "\x40\x01\xff\xff"), false, 0},
	    /* an enhanced request to an end of revision 1: the peer may fall back */
	    {B(REQ "\x50\x02\0\4\0\1\0\1"), false, HW_MPA_GIVEN | HW_MPA_REVISION_1},
	    /* enhanced without the fields of that */
	    {B(REQ "\x50\x02\0\0"), true, 0},
	    {B(REQ "\x50\x02\0\3\0\0\0"), true, 0},
	    /* peer-to-peer without a kind of first frame */
	    {B(REQ "\x50\x02\0\4\x80\1\0\1"), true, 0},
	};
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ask(cases[i].mpa);
		send_text(cases[i].text, cases[i].bytes, 0);
		CU_ASSERT_TRUE(tp.closed);
		CU_ASSERT_FALSE(tp.reset);
		CU_ASSERT_EQUAL(CP_CNT(&tp.cp, 1, mpa_setup_malformed), 1);
		if (cases[i].answered)
			EXPECT(REP "\x70\x02\0\4\0\0\0\0");
		else
			CU_ASSERT_EQUAL(tp.rx_bytes, 0);
		/* Data after it is dropped. */
		SEND("more of it", 3);
		cp_expect_none(&tp.cp);
		tcp_peer_fin(&tp);
		rp_run(&tp.cp.rp, CP_S);
		CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
		tcp_peer_end(&tp);
	}
}

static void passive_rejects(void)
{
	struct hw_cmd_cm cm = {.data_bytes = 2, .data = "no", .arg = HW_CM_REJ_CONSUMER};

	ask(0);
	SEND(ENHANCED(REQ, "\x50", "\x04", "\x80\x04\xc0\x05"), 0);
	cm.ep = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_REJECT, &cm, NULL), 0);
	rp_run(&tp.cp.rp, CP_MS);
	EXPECT(REP "\x70\x02\0\6\0\0\0\0no");
	CU_ASSERT_TRUE(tp.closed);
	tcp_peer_fin(&tp);
	cp_expect_none(&tp.cp);
	CU_ASSERT_EQUAL(cp_cmd(&tp.cp, 1, HW_CMD_CM_REJECT, &cm, NULL), FW_EINVAL);
	tcp_peer_end(&tp);
}

/* A peer that sends nothing, or half a request, or closes. */
static void passive_waits(void)
{
	static const char request[] = REQ "\x50\x02\0\4\0\1\0\1";
	uint32_t n;

	for (n = 0; n < sizeof(request) - 1; n += 5) {
		ask(0);
		send_text(request, n, 0);
		rp_run(&tp.cp.rp, 9 * CP_S);
		CU_ASSERT_FALSE(tp.reset);
		rp_run(&tp.cp.rp, 2 * CP_S);
		CU_ASSERT_TRUE(tp.reset);
		CU_ASSERT_EQUAL(CP_CNT(&tp.cp, 1, mpa_setup_timeouts), 1);
		cp_expect_none(&tp.cp);
		tcp_peer_new(&tp);
		tcp_peer_connect(&tp, CP_PORT);
		send_text(request, n, 0);
		tcp_peer_fin(&tp);
		rp_run(&tp.cp.rp, CP_MS);
		CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
		cp_expect_none(&tp.cp);
		tcp_peer_new(&tp);
		tcp_peer_connect(&tp, CP_PORT);
		send_text(request, n, 0);
		/* The listener is destroyed. */
		CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DESTROY, tp.cp.listener), 0);
		rp_run(&tp.cp.rp, CP_MS);
		CU_ASSERT_TRUE(tp.reset);
		tcp_peer_end(&tp);
	}
}

/* A process that was notified and does not answer, or whose peer closes meanwhile. */
static void passive_process_is_slow(void)
{
	struct fw_qp *qp;
	uint32_t b;

	ask(0);
	SEND(ENHANCED(REQ, "\x50", "\x04", "\x00\x04\x00\x05"), 0);
	b = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	rp_run(&tp.cp.rp, 119 * CP_S);
	CU_ASSERT_FALSE(tp.reset);
	rp_run(&tp.cp.rp, 2 * CP_S);
	CU_ASSERT_TRUE(tp.reset);
	(void)cp_expect(&tp.cp, 1, b, HW_CM_EVENT_UNREACHABLE);
	qp = cp_tcp_qp(&tp.cp, 1);
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, b, qp->qpn), FW_EINVAL);
	tcp_peer_new(&tp);
	tcp_peer_connect(&tp, CP_PORT);
	SEND(ENHANCED(REQ, "\x50", "\x04", "\x00\x04\x00\x05"), 0);
	b = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	tcp_peer_rst(&tp);
	(void)cp_expect(&tp.cp, 1, b, HW_CM_EVENT_REJECTED);
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, b, qp->qpn), FW_EINVAL);
	/* An accept without a queue pair, or with one that is not for TCP, fails. */
	tcp_peer_new(&tp);
	tcp_peer_connect(&tp, CP_PORT);
	SEND(ENHANCED(REQ, "\x50", "\x04", "\x00\x04\x00\x05"), 0);
	b = cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, b, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, b, tp.cp.rp.end[1].qp[0]->qpn), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, b, qp->qpn), 0);
	rp_run(&tp.cp.rp, CP_MS);
	(void)cp_expect(&tp.cp, 1, b, HW_CM_EVENT_ESTABLISHED);
	CU_ASSERT_FALSE(tp.reset);
	tcp_peer_end(&tp);
}

/* Frames with some bytes changed, cut anywhere: whatever the NIC reads in them, nothing is left. */
static void damaged(void)
{
	static const char good[] = REQ "\x50\x02\0\x0b\x80\4\xc0\5private";
	uint32_t i, k, seed = 1, requests = 0;

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, 0, 0);
	for (i = 0; i < 400; i++) {
		struct hw_resp_cm_event ev;
		char text[sizeof(good) - 1];

		memcpy(text, good, sizeof(text));
		for (k = 0; k < i % 4; k++) {
			seed = seed * 1664525 + 1013904223;
			/* The key is compared byte by byte: the others change more often. */
			text[(seed >> 8) % 8 ? 16 + (seed >> 12) % 8
					     : (seed >> 12) % sizeof(text)] ^=
			    (char)(1u << (seed >> 20) % 8);
		}
		tcp_peer_new(&tp);
		tcp_peer_connect(&tp, CP_PORT);
		send_text(text, i % 7 ? sizeof(text) : i % sizeof(text), i % 5 * 3);
		if (cp_event(&tp.cp, 1, &ev) == HW_CM_EVENT_REQUEST) {
			CU_ASSERT(ev.data_bytes <= 11);
			requests++;
			CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DESTROY, ev.ep), 0);
		}
		if (i & 1)
			tcp_peer_fin(&tp);
		else
			tcp_peer_rst(&tp);
		rp_run(&tp.cp.rp, 11 * CP_S);
		CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.conns.used, 0);
		CU_ASSERT_EQUAL(tp.cp.rp.end[1].nic->mpa.setups.used, 0);
	}
	CU_ASSERT(requests > 100 && requests < 300);
	cp_expect_none(&tp.cp);
	tcp_peer_end(&tp);
}

UT_MAIN("pair/mpa_conn", UT(made_to_end), UT(passive_enhanced), UT(passive_agrees),
	UT(passive_refuses), UT(passive_rejects), UT(passive_waits), UT(passive_process_is_slow),
	UT(damaged))
