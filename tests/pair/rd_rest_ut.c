/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle sessions of RD: who rests, and that a session which was woken goes on as if it had not.
 */
#include "tests/pair/rd_pair.h"

#include <arpa/inet.h>

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* The number of the only session between the two ends. */
enum {
	PEER = 0
};

static bool rests(uint32_t e)
{
	return rp.end[e].nic->rd.peers[PEER].awake == FW_NONE;
}

/* Another peer is looked up, so that the end of the turn looks at sessions; it is forgotten. */
static void look(uint32_t e)
{
	struct fw_nic *nic = rp.end[e].nic;
	struct rd_session *other;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		fw_now(nic, rp.wire.now_ns);
		other = rd_session_get(nic, htonl(0x0a4d0080), 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(other);
		rp_poll(&rp, e);
		other = rd_session_get(nic, htonl(0x0a4d0080), 0);
		rd_session_release(nic, other);
	}
}

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 64);
	rp_recv(&rp, 1, B->qp[0], 2, 0, 64);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
}

static void exchange(uint64_t wr_id)
{
	rp_recv(&rp, 1, B->qp[0], wr_id + 1, 4096, 4000);
	rp_fill(A->mem, 4000, (uint32_t)wr_id);
	rp_send(&rp, 0, A->qp[0], B->qp[0], wr_id, 0, 4000);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, wr_id, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, wr_id + 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(B->mem + 4096, 4000, (uint32_t)wr_id));
}

/* Both ends rest, and go on in the same session, with the same knowledge of the path. */
static void goes_on(void)
{
	uint8_t kept[2][RD_KEPT_BYTES];
	uint64_t opened;
	uint32_t e, round;

	begin();
	opened = RP_CNT(&rp, 0, rd_sessions_opened) + RP_CNT(&rp, 1, rd_sessions_opened);
	for (round = 0; round < 4; round++) {
		for (e = 0; e < 2; e++) {
			const struct rd_session *s = rp_session(&rp, e);

			memcpy(kept[e], (const uint8_t *)s + RD_KEPT_AT, RD_KEPT_BYTES);
			look(e);
			CU_ASSERT_TRUE_FATAL(rests(e));
			CU_ASSERT_EQUAL(rp.end[e].nic->rd.awake.used, 0);
			/* Woken, it is as before. */
			s = rp_session(&rp, e);
			CU_ASSERT_FALSE(rests(e));
			CU_ASSERT_FALSE(
			    memcmp(kept[e], (const uint8_t *)s + RD_KEPT_AT, RD_KEPT_BYTES));
			CU_ASSERT_EQUAL(s->peer_ip, rp.end[!e].nic->config.ip);
			look(e);
			CU_ASSERT_TRUE(rests(e));
		}
		exchange(10 + 2 * round);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_sessions_opened) + RP_CNT(&rp, 1, rd_sessions_opened),
			opened);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_retransmits), 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_duplicates), 0);
	rp_end(&rp);
}

/* Packets in flight, at both ends. */
static void busy_sender(void)
{
	begin();
	rp.filter = rp_keep_data;
	rp_recv(&rp, 1, B->qp[0], 4, 4096, 4000);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 3, 0, 4000);
	rp_settle(&rp);
	look(0);
	CU_ASSERT_FALSE(rests(0));
	/* The second packet first: the receiver holds it. */
	CU_ASSERT_TRUE_FATAL(rp.wire.num_kept >= 2);
	bench_wire_deliver(&rp.wire, 1);
	rp_settle(&rp);
	CU_ASSERT_PTR_NOT_NULL(rp_session(&rp, 1)->rx);
	look(1);
	CU_ASSERT_FALSE(rests(1));
	bench_wire_deliver(&rp.wire, 0);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 4, HW_STATUS_SUCCESS);
	look(0);
	look(1);
	CU_ASSERT_TRUE(rests(0) && rests(1));
	exchange(20);
	rp_end(&rp);
}

/* A packet lost in the middle of a message: nothing is held, but a receive is taken. */
static void busy_receiver(void)
{
	begin();
	rp.filter = rp_keep_data;
	rp_recv(&rp, 1, B->qp[0], 4, 4096, 4000);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 3, 0, 4000);
	rp_settle(&rp);
	bench_wire_deliver(&rp.wire, 0);
	rp_settle(&rp);
	CU_ASSERT_PTR_NULL(rp_session(&rp, 1)->rx);
	look(1);
	CU_ASSERT_FALSE(rests(1));
	rp_release(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 4, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A refused PSN is reported in each ACK until the window has passed it. */
static void refusal(void)
{
	uint32_t i;

	begin();
	rp_send(&rp, 0, A->qp[0], B->qp[0], 3, 0, 64);
	rp_settle(&rp);
	CU_ASSERT_TRUE_FATAL(RP_CNT(&rp, 1, rd_rx_refused) > 0);
	rp_recv(&rp, 1, B->qp[0], 4, 4096, 64);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 4, HW_STATUS_SUCCESS);
	look(1);
	CU_ASSERT_FALSE(rests(1));
	for (i = 0; i < 2 * WIRE_RD_WINDOW / 3; i++)
		exchange(100 + 2 * i);
	look(1);
	CU_ASSERT_TRUE(rests(1));
	rp_end(&rp);
}

/* An idle peer is listed, and makes room after a minute, as one whose session is in use. */
static void listed_and_evicted(void)
{
	struct rd_session copy;
	const struct rd_session *s;
	struct hw_cmd cmd = {.op = HW_CMD_LIST, .u.list = {.kind = HW_LIST_PEERS}};
	struct hw_cmd_resp resp;
	uint64_t srtt_ns;

	begin();
	srtt_ns = rp_session(&rp, 0)->rtt.srtt_ns;
	look(0);
	CU_ASSERT_TRUE(rests(0));
	s = rd_rest_view(A->nic, &A->nic->rd.peers[PEER], &copy);
	CU_ASSERT_EQUAL(s->state, RD_OPEN);
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&rp, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.list.count, 1);
	CU_ASSERT_EQUAL(resp.u.list.item[0].id, B->nic->config.ip);
	CU_ASSERT_EQUAL(resp.u.list.item[0].state, RD_OPEN);
	CU_ASSERT_EQUAL(resp.u.list.item[0].a, srtt_ns);
	CU_ASSERT_TRUE(resp.u.list.item[0].more[0] <= B->nic->config.mtu);
	CU_ASSERT_TRUE(resp.u.list.item[0].more[0] + 8 > B->nic->config.mtu);
	CU_ASSERT_TRUE(rests(0));
	CU_ASSERT_FALSE(rd_session_evict(A->nic, 0, FW_NONE));
	fw_now(A->nic, rp.wire.now_ns + RD_EVICT_IDLE_NS + 1000000000);
	CU_ASSERT_TRUE(rd_session_evict(A->nic, 0, FW_NONE));
	CU_ASSERT_FALSE(A->nic->rd.peers[PEER].used);
	CU_ASSERT_PTR_NULL(rp_session(&rp, 0));
	CU_ASSERT_EQUAL(A->nic->rd.awake.used, 0);
	fw_now(A->nic, rp.wire.now_ns);
	rp_end(&rp);
}

/* Thousands of peers, one after the other: few sessions are awake at a time. */
static void many_peers(void)
{
	enum {
		PEERS = 3000
	};
	uint32_t i;

	begin();
	for (i = 0; i < PEERS; i++) {
		fw_now(A->nic, rp.wire.now_ns);
		CU_ASSERT_PTR_NOT_NULL_FATAL(rd_session_get(A->nic, htonl(0x0a000001 + i), 0));
		rp_poll(&rp, 0);
	}
	CU_ASSERT_TRUE(A->nic->rd.awake.high <= 4);
	for (i = 0; i < PEERS; i++) {
		const struct rd_session *s = rd_session_find(A->nic, htonl(0x0a000001 + i), 0);

		CU_ASSERT_TRUE_FATAL(s && s->peer_ip == htonl(0x0a000001 + i));
		rp_poll(&rp, 0);
	}
	CU_ASSERT_TRUE(A->nic->rd.awake.high <= 4);
	/* A NIC of weftd lets some stay awake. */
	A->nic->config.rd_awake = FW_RD_AWAKE;
	for (i = 0; i < PEERS; i++) {
		(void)rd_session_find(A->nic, htonl(0x0a000001 + i), 0);
		rp_poll(&rp, 0);
	}
	CU_ASSERT_EQUAL(A->nic->rd.awake.used, FW_RD_AWAKE);
	exchange(20);
	rp_end(&rp);
}

UT_MAIN("pair/rd_rest", UT(goes_on), UT(busy_sender), UT(busy_receiver), UT(refusal),
	UT(listed_and_evicted), UT(many_peers))
