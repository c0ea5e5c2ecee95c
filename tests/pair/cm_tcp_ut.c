/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager over TCP between two whole NICs (cm_pair.h): all ways to set up a
 * connection, messages in both directions, and all ways to end it. Nothing is left at either end.
 */
#include "tests/pair/cm_tcp_fix.h"

/*
 * Revisions, CRC, markers and first frames, chosen by each end: messages pass in both directions.
 */
static void every_way(void)
{
	static const uint16_t crc[] = {0, HW_MPA_CRC};
	static const uint16_t markers[] = {0, HW_MPA_MARKERS};
	static const uint16_t begin_by[] = {0, HW_MPA_RTR_SEND, HW_MPA_RTR_WRITE, HW_MPA_RTR_READ,
					    HW_MPA_REVISION_1};
	uint32_t i;

	for (i = 0; i < 40; i++) {
		uint16_t a =
		    (uint16_t)(HW_MPA_GIVEN | crc[i & 1] | markers[i >> 1 & 1] | begin_by[i >> 3]);
		uint16_t b = (uint16_t)(HW_MPA_GIVEN | markers[i >> 2 & 1]);

		connected(a, b);
		send_one(0, 1, 3000);
		send_one(1, 2, 5000);
		send_one(0, 3, 0);
		CU_ASSERT_EQUAL(cp_simple(&cp, i & 1, HW_CMD_CM_DISCONNECT, i & 1 ? cp.b : cp.a),
				0);
		run(100);
		ended();
		cp_end(&cp);
	}
}

/* The passive end may send first once it has received the active end's first frame. */
static void either_begins(void)
{
	connected(0, 0);
	send_one(1, 7, 100);
	cp_end(&cp);
}

/*
 * The first message of either end needs no timer, also if its segment is long beside the window
 * that a connection begins with: with any number of other connections.
 */
static void long_segments(void)
{
	uint32_t others, e;

	for (others = 0; others < 12; others++) {
		begin();
		for (e = 0; e < 2; e++) {
			cp.rp.end[e].nic->config.mtu = HW_MAX_MTU;
			cp.rp.end[e].nic->tcp.grants.open = others;
		}
		bring_to(3, 0, 0);
		(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
		for (e = 0; e < 2; e++) {
			rp_recv(&cp.rp, e, e ? qb : qa, 5, 65536, 65536);
			rp_send(&cp.rp, !e, e ? qa : qb, NULL, 6, 0, 8200);
			run(1);
			rp_expect_send(&cp.rp, !e, 6, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(rp_expect_recv(&cp.rp, e, 5, HW_STATUS_SUCCESS).bytes,
					8200);
			cp.rp.end[e].nic->tcp.grants.open -= others;
		}
		cp_end(&cp);
	}
}

/* The active end sends requests that were posted before the connection once it is connected. */
static void posted_early(void)
{
	begin();
	rp_recv(&cp.rp, 1, qb, 5, 0, 4096);
	bring_to(2, 0, 0);
	rp_send(&cp.rp, 0, qa, NULL, 6, 0, 64);
	run(100);
	rp_expect_none(&cp.rp);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_ACCEPT, cp.a), 0);
	run(300);
	rp_expect_send(&cp.rp, 0, 6, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(rp_expect_recv(&cp.rp, 1, 5, HW_STATUS_SUCCESS).bytes, 64);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
	cp_end(&cp);
}

static void rejected(void)
{
	struct hw_cmd_cm cm = {.data_bytes = 3, .data = "sad"};
	struct hw_resp_cm_event ev;

	begin();
	bring_to(1, 0, 0);
	cm.ep = cp.b;
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_REJECT, &cm, NULL), 0);
	run(100);
	ev = cp_expect(&cp, 0, cp.a, HW_CM_EVENT_REJECTED);
	CU_ASSERT(ev.data_bytes == 3 && !memcmp(ev.data, "sad", 3));
	cp_expect_none(&cp);
	CU_ASSERT_EQUAL(cp.rp.end[0].nic->cm.eps[cp.a].state, CM_IDLE);
	cp_end(&cp);
}

/* A queue pair that ends in any way ends its connection, and the peer's queue pair with it. */
static void qp_ends_it(void)
{
	uint32_t how, e;

	for (how = 0; how < 3; how++) {
		for (e = 0; e < 2; e++) {
			connected(0, 0);
			rp_recv(&cp.rp, 0, qa, 1, 0, 64);
			rp_recv(&cp.rp, 1, qb, 2, 0, 64);
			if (how == 2)
				rp_destroy_qp(&cp.rp, e, e ? qb : qa);
			else
				CU_ASSERT_EQUAL(rp_modify(&cp.rp, e, e ? qb : qa,
							  how ? HW_QPS_RESET : HW_QPS_ERR, 0, NULL),
						0);
			run(100);
			(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_DISCONNECTED);
			(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
			CU_ASSERT_EQUAL((e ? qa : qb)->state, HW_QPS_ERR);
			(void)rp_expect_recv(&cp.rp, !e, e ? 1 : 2, HW_STATUS_WR_FLUSH_ERR);
			if (how == 0)
				(void)rp_expect_recv(&cp.rp, e, e ? 2 : 1, HW_STATUS_WR_FLUSH_ERR);
			CU_ASSERT_EQUAL(cp.rp.end[e].nic->mpa.conns.used, 0);
			cp_end(&cp);
		}
	}
}

/* A process that dies at any stage: its peer is notified and nothing is left. */
static void process_dies(void)
{
	static const enum hw_cm_event_type told[2][4] = {
	    {HW_CM_EVENT_REQUEST, HW_CM_EVENT_REJECTED, HW_CM_EVENT_REJECTED,
	     HW_CM_EVENT_ESTABLISHED},
	    {HW_CM_EVENT_REJECTED, HW_CM_EVENT_REJECTED, HW_CM_EVENT_DISCONNECTED,
	     HW_CM_EVENT_DISCONNECTED},
	};
	uint32_t stage, e;

	for (e = 0; e < 2; e++) {
		for (stage = 0; stage < 4; stage++) {
			begin();
			bring_to(stage, 0, 0);
			rp_detach(&cp.rp, e);
			run(20000);
			(void)cp_expect(&cp, !e, CP_NONE, told[e][stage]);
			rp_detach(&cp.rp, !e);
			cp_end_detached(&cp);
		}
	}
}

/* A peer that is gone for good is detected by its silence alone. */
static void peer_is_gone(void)
{
	connected(0, 0);
	run(60000);
	cp_expect_none(&cp);
	cp.rp.end[1].port.dead = true;
	run(200000);
	(void)cp_expect(&cp, 0, cp.a, HW_CM_EVENT_DISCONNECTED);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 0, cm_peers_lost), 1);
	/* The other end learns of it when it sends. */
	cp.rp.end[1].port.dead = false;
	run(60000);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_DISCONNECTED);
	cp_end(&cp);
}

/*
 * The peer has a new MAC and does not announce it. After the first SYN without an answer the NIC
 * sends an ARP request, so that the second repetition (3 s) arrives, long before processes give up.
 */
static void peer_has_moved(void)
{
	struct fw_nic *nic;

	connected(0, 0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a), 0);
	run(100);
	ended();
	qa = cp_tcp_qp(&cp, 0);
	qb = cp_tcp_qp(&cp, 1);
	nic = cp.rp.end[0].nic;
	CU_ASSERT_EQUAL_FATAL(nic->net.neigh_count, 1);
	nic->net.neigh[0].mac[WIRE_MAC_BYTES - 1] ^= 1;
	nic->tcp.neigh_changes++;
	cp.a = cp_tcp_ask(&cp, qa->qpn, 0);
	run(2500);
	cp_expect_none(&cp);
	run(1000);
	cp.b = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST).ep;
	cp_end(&cp);
}

/* A process has its share of connections and listeners as either end, and no more. */
static void shares(void)
{
	struct hw_cmd_cm cm = {.transport = HW_CM_TRANSPORT_TCP};
	struct fw_client *owner[2];
	uint32_t e;

	begin();
	for (e = 0; e < 2; e++) {
		owner[e] = &cp.rp.end[e].nic->host.clients[cp.rp.end[e].client];
		owner[e]->share->process->limit[HW_SHARE_TCP] = 1;
		owner[e]->share->process->limit[HW_SHARE_LISTENER] = 1;
	}
	bring_to(3, 0, 0);
	(void)cp_expect(&cp, 1, cp.b, HW_CM_EVENT_ESTABLISHED);
	cm.ep = cp_bound(&cp, 1, HW_CM_TCP, CP_PORT + 1);
	CU_ASSERT_EQUAL(cp_cmd(&cp, 1, HW_CMD_CM_LISTEN, &cm, NULL), FW_EDQUOT);
	cm = (struct hw_cmd_cm){.ep = cp_bound(&cp, 0, HW_CM_TCP, 0),
				.ip = cp.rp.end[1].nic->config.ip,
				.port = CP_PORT,
				.transport = HW_CM_TRANSPORT_TCP};
	CU_ASSERT_EQUAL(cp_cmd(&cp, 0, HW_CMD_CM_CONNECT, &cm, NULL), FW_EDQUOT);
	CU_ASSERT_EQUAL(CP_CNT(&cp, 0, tcp_share_refused), 1);
	/* The passive end has a share, too. */
	owner[0]->share->process->limit[HW_SHARE_TCP] = 2;
	cm.ep = cp_tcp_ask(&cp, 0, 0);
	run(20000);
	(void)cp_expect(&cp, 0, cm.ep, HW_CM_EVENT_REJECTED);
	CU_ASSERT(CP_CNT(&cp, 1, tcp_share_refused) > 0);
	cp_expect_none(&cp);
	/* The share is free again when the connection ends. */
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DISCONNECT, cp.a), 0);
	run(100);
	ended();
	for (e = 0; e < 2; e++) {
		CU_ASSERT_EQUAL(owner[e]->share->process->held[HW_SHARE_TCP], 0);
		CU_ASSERT_EQUAL(owner[e]->share->user->held[HW_SHARE_TCP], 0);
	}
	(void)cp_tcp_ask(&cp, 0, 0);
	run(100);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	cp_end(&cp);
}

/* The last segments of a process that has ended count for its user until they are sent. */
static void share_outlives_process(void)
{
	struct fw_client_params params = {.tool = true};
	struct hw_resp_attach resp;
	struct fw_account *user;
	struct fw_nic *nic;
	uint32_t stay;

	connected(0, 0);
	nic = cp.rp.end[0].nic;
	user = nic->host.clients[cp.rp.end[0].client].share->user;
	params.uid = user->uid;
	params.pid = 99;
	CU_ASSERT_EQUAL_FATAL(fw_client_attach(nic, &params, &stay, &resp), 0);
	CU_ASSERT_PTR_EQUAL(nic->host.clients[stay].share->user, user);
	cp.rp.end[1].port.dead = true;
	rp_detach(&cp.rp, 0);
	run(1);
	CU_ASSERT_EQUAL(user->held[HW_SHARE_TCP], nic->mpa.conns.used);
	run(200000);
	CU_ASSERT_EQUAL(user->held[HW_SHARE_TCP], 0);
	fw_client_detach(nic, stay);
	cp.rp.end[1].port.dead = false;
	run(60000);
	rp_detach(&cp.rp, 1);
	cp_end_detached(&cp);
}

/* A peer that restarted does not know the connection. */
static void peer_restarts(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		connected(0, 0);
		rp_recv(&cp.rp, !e, e ? qa : qb, 1, 0, 64);
		rp_restart(&cp.rp, e);
		run(60000);
		(void)cp_expect(&cp, !e, e ? cp.a : cp.b, HW_CM_EVENT_DISCONNECTED);
		CU_ASSERT_EQUAL((e ? qa : qb)->state, HW_QPS_ERR);
		(void)rp_expect_recv(&cp.rp, !e, 1, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(cp.rp.end[!e].nic->mpa.conns.used, 0);
		rp_detach(&cp.rp, !e);
		cp_end_detached(&cp);
	}
}

UT_MAIN("pair/cm_tcp", UT(every_way), UT(either_begins), UT(long_segments), UT(posted_early),
	UT(rejected), UT(qp_ends_it), UT(process_dies), UT(peer_is_gone), UT(peer_has_moved),
	UT(shares), UT(share_outlives_process), UT(peer_restarts))
