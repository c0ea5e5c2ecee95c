/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that hang: they send a frame byte by byte, never acknowledge the reply, never begin, or
 * stop reading. The process is notified in bounded time and nothing of the connection is left.
 * nic_fw/mpa/mpa_conn.c, mpa_setup.c, nic_fw/cm/cm_tcp.c.
 */
#include "tests/pair/tcp_peer.h"

#define REQUEST "MPA ID Req Frame"
#define REPLY   "MPA ID Rep Frame"

enum {
	SILENT = 100,
};

static struct tcp_peer tp;

static struct fw_nic *nic(void)
{
	return tp.cp.rp.end[1].nic;
}

static void nothing_left(void)
{
	CU_ASSERT_EQUAL(nic()->mpa.conns.used, 0);
	CU_ASSERT_EQUAL(nic()->mpa.setups.used, 0);
	CU_ASSERT_EQUAL(nic()->mpa.segs.used, 0);
	CU_ASSERT_EQUAL(nic()->mpa.partials.used, 0);
	CU_ASSERT_EQUAL(nic()->cm.data.used, 0);
}

/* A listener of ours has the peer's request; returns its endpoint. */
static uint32_t asked(const char *request, uint32_t bytes)
{
	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, 0, 0);
	tcp_peer_connect(&tp, CP_PORT);
	tcp_peer_send(&tp, request, bytes, 0);
	return cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
}
#define CLIENT_SERVER REQUEST "\x10\x02\0\4\0\1\0\1"
#define PEER_TO_PEER  REQUEST "\x10\x02\0\4\x80\1\x80\1"
#define ASKED(text)   asked(text, sizeof(text) - 1)

/* The time limit is for the frame, not for each byte of it. */
static void drips_its_request(void)
{
	static const char request[] = CLIENT_SERVER;
	uint32_t i;

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, 0, 0);
	tcp_peer_connect(&tp, CP_PORT);
	for (i = 0; i < 20 && !tp.reset; i++) {
		tcp_peer_send(&tp, request + i, 1, 0);
		rp_run(&tp.cp.rp, CP_S);
	}
	CU_ASSERT_TRUE(tp.reset);
	CU_ASSERT(i >= 9 && i <= 11);
	CU_ASSERT_EQUAL(nic()->counters.mpa_setup_timeouts, 1);
	/* No process was notified. */
	cp_expect_none(&tp.cp);
	nothing_left();
	tcp_peer_end(&tp);
}

/* Silent connections hold the places of a listener for ten seconds; later ones then find room. */
static void silent_ones_make_room(void)
{
	uint32_t i;

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, 0, 2);
	for (i = 0; i < 20; i++) {
		tcp_peer_new(&tp);
		tcp_peer_connect(&tp, CP_PORT);
		CU_ASSERT(nic()->mpa.conns.used <= 2);
	}
	CU_ASSERT_EQUAL(nic()->mpa.conns.used, 2);
	rp_run(&tp.cp.rp, 11 * CP_S);
	CU_ASSERT_EQUAL(nic()->counters.mpa_setup_timeouts, 2);
	cp_expect_none(&tp.cp);
	nothing_left();
	tcp_peer_new(&tp);
	tcp_peer_connect(&tp, CP_PORT);
	tcp_peer_send(&tp, CLIENT_SERVER, sizeof(CLIENT_SERVER) - 1, 0);
	(void)cp_expect(&tp.cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	tcp_peer_end(&tp);
}

/* The end of a listener resets its silent connections, some in a turn. */
static void silent_ones_end_in_turns(void)
{
	uint32_t i, turns, left, was;
	bool over = false;

	tcp_peer_begin(&tp);
	(void)cp_tcp_listen(&tp.cp, 0, SILENT);
	for (i = 0; i < SILENT; i++) {
		tcp_peer_new(&tp);
		tcp_peer_connect(&tp, CP_PORT);
	}
	left = nic()->mpa.conns.used;
	CU_ASSERT_EQUAL(left, SILENT);
	fw_now(nic(), tp.cp.rp.wire.now_ns);
	for (turns = 0; !over && turns < SILENT; turns++) {
		was = left;
		nic()->slices.left = FW_SLICE_UNITS;
		over = cm_destroy(nic(), &nic()->cm.eps[tp.cp.listener]);
		left = nic()->mpa.conns.used;
		CU_ASSERT(was - left <= FW_SLICE_UNITS / FW_SLICE_FLOW_UNITS);
	}
	CU_ASSERT_EQUAL(left, 0);
	CU_ASSERT_EQUAL(nic()->cm.num_listeners, 0);
	nothing_left();
	tcp_peer_end(&tp);
}

static void drips_its_reply(void)
{
	static const char reply[] = REPLY "\x10\x02\0\4\0\1\0\1";
	struct hw_cmd_cm cm = {0};
	uint32_t i;

	tcp_peer_begin(&tp);
	(void)tcp_peer_ask(&tp, &cm);
	for (i = 0; i < sizeof(reply) - 1 && !tp.reset; i++) {
		tcp_peer_send(&tp, reply + i, 1, 0);
		rp_run(&tp.cp.rp, 10 * CP_S);
	}
	CU_ASSERT_TRUE(tp.reset);
	CU_ASSERT(i >= 11 && i <= 13);
	CU_ASSERT_EQUAL(cp_expect(&tp.cp, 1, cm.ep, HW_CM_EVENT_UNREACHABLE).status, FW_ETIMEDOUT);
	nothing_left();
	tcp_peer_end(&tp);
}

/* An end that must let the peer send first also waits until the peer has the reply. */
static void reply_is_lost(void)
{
	uint32_t ep = ASKED(CLIENT_SERVER);
	struct fw_qp *qp = cp_tcp_qp(&tp.cp, 1);

	tp.deaf = true;
	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, ep, qp->qpn), 0);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	rp_send(&tp.cp.rp, 1, qp, NULL, 7, 0, 40);
	rp_run(&tp.cp.rp, 900 * CP_MS);
	CU_ASSERT_EQUAL(qp->mpa->state, MPA_RTR_WAIT);
	tp.deaf = false;
	while (!tp.rx_bytes)
		rp_run(&tp.cp.rp, CP_MS);
	CU_ASSERT_EQUAL(tp.rx_bytes, 24);
	rp_run(&tp.cp.rp, 190 * CP_MS);
	CU_ASSERT_EQUAL(tp.rx_bytes, 24);
	rp_run(&tp.cp.rp, 20 * CP_MS);
	CU_ASSERT_EQUAL(tp.rx_bytes, 24 + 2 + 18 + 40 + 4);
	rp_expect_send(&tp.cp.rp, 1, 7, HW_STATUS_SUCCESS);
	tcp_peer_end(&tp);
}

/* A peer that is silent after its request: the process does not wait without end. */
static void reply_is_never_heard(void)
{
	uint32_t p2p;

	for (p2p = 0; p2p < 2; p2p++) {
		uint32_t ep = p2p ? ASKED(PEER_TO_PEER) : ASKED(CLIENT_SERVER);
		struct fw_qp *qp = cp_tcp_qp(&tp.cp, 1);

		rp_recv(&tp.cp.rp, 1, qp, 3, 0, 64);
		tp.deaf = true;
		CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, ep, qp->qpn), 0);
		rp_run(&tp.cp.rp, 300 * CP_S);
		if (!p2p) {
			(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
			(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
		} else {
			(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_UNREACHABLE);
		}
		CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
		(void)rp_expect_recv(&tp.cp.rp, 1, 3, HW_STATUS_WR_FLUSH_ERR);
		cp_expect_none(&tp.cp);
		nothing_left();
		tcp_peer_end(&tp);
	}
}

/* A peer that has the reply and never sends the first frame that it promised. */
static void never_begins(void)
{
	uint32_t ep = ASKED(PEER_TO_PEER);
	struct fw_qp *qp = cp_tcp_qp(&tp.cp, 1);

	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, ep, qp->qpn), 0);
	rp_send(&tp.cp.rp, 1, qp, NULL, 7, 0, 40);
	rp_run(&tp.cp.rp, 119 * CP_S);
	CU_ASSERT_EQUAL(tp.rx_bytes, 24);
	cp_expect_none(&tp.cp);
	rp_run(&tp.cp.rp, 2 * CP_S);
	CU_ASSERT_TRUE(tp.reset);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_UNREACHABLE);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(nic()->counters.mpa_setup_timeouts, 1);
	rp_expect_send(&tp.cp.rp, 1, 7, HW_STATUS_RETRY_EXC_ERR);
	cp_expect_none(&tp.cp);
	nothing_left();
	tcp_peer_end(&tp);
}

/*
 * A peer whose window stays closed and which answers each probe is alive, and is waited for. When
 * the process disconnects, its requests are flushed and the peer has ten seconds to close.
 */
static void reads_no_more(void)
{
	uint32_t ep = ASKED(CLIENT_SERVER), i;
	struct fw_qp *qp = cp_tcp_qp(&tp.cp, 1);

	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, ep, qp->qpn), 0);
	rp_run(&tp.cp.rp, 300 * CP_MS);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	rp_send(&tp.cp.rp, 1, qp, NULL, 1, 0, 64);
	tp.full = true;
	rp_run(&tp.cp.rp, CP_S);
	for (i = 2; i < 10; i++)
		rp_send(&tp.cp.rp, 1, qp, NULL, i, 0, 4000);
	rp_run(&tp.cp.rp, 600 * CP_S);
	cp_expect_none(&tp.cp);
	CU_ASSERT_FALSE(tp.reset);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(cp_simple(&tp.cp, 1, HW_CMD_CM_DISCONNECT, ep), 0);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	for (i = 1; i < 10; i++)
		rp_expect_send(&tp.cp.rp, 1, i, HW_STATUS_WR_FLUSH_ERR);
	rp_run(&tp.cp.rp, 11 * CP_S);
	CU_ASSERT_TRUE(tp.reset);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
	cp_expect_none(&tp.cp);
	nothing_left();
	tcp_peer_end(&tp);
}

/* The same without answers to probes: the peer is gone, and the oldest request reports it. */
static void reads_no_more_and_is_gone(void)
{
	uint32_t ep = ASKED(CLIENT_SERVER);
	struct fw_qp *qp = cp_tcp_qp(&tp.cp, 1);

	CU_ASSERT_EQUAL(cp_accept(&tp.cp, 1, ep, qp->qpn), 0);
	rp_run(&tp.cp.rp, 300 * CP_MS);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_ESTABLISHED);
	tp.deaf = true;
	rp_send(&tp.cp.rp, 1, qp, NULL, 1, 0, 64);
	rp_send(&tp.cp.rp, 1, qp, NULL, 2, 0, 64);
	rp_run(&tp.cp.rp, 300 * CP_S);
	rp_expect_send(&tp.cp.rp, 1, 1, HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&tp.cp.rp, 1, 2, HW_STATUS_WR_FLUSH_ERR);
	(void)cp_expect(&tp.cp, 1, ep, HW_CM_EVENT_DISCONNECTED);
	cp_expect_none(&tp.cp);
	nothing_left();
	tcp_peer_end(&tp);
}

UT_MAIN("pair/mpa_slow", UT(drips_its_request), UT(silent_ones_make_room),
	UT(silent_ones_end_in_turns), UT(drips_its_reply), UT(reply_is_lost),
	UT(reply_is_never_heard), UT(never_begins), UT(reads_no_more),
	UT(reads_no_more_and_is_gone))
