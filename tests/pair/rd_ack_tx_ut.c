/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements that leave: when, and what they contain; round trip times, distances between
 * packets of a flow.
 */
#include "tests/pair/rd_ack_fix.h"

static uint64_t delay_ns;

/* RFC 6298 2.2 and 2.3, from timestamps that the peer echoes with its own delay added. */
static void round_trip_times(void)
{
	struct rd_session *s;
	struct wire_rd_ack map;
	struct wire_rd rd;
	uint32_t psn;

	rp_begin(&rp);
	rp_open(&rp);
	psn = post_lost(4);
	s = sender();
	s->rtt.srtt_ns = 0;
	delay_ns = 80000;
	memset(&map, 0, sizeof(map));
	memset(&rd, 0, sizeof(rd));
	rd.ack = be32_put(psn + 1);
	rd.timestamp_echo = be32_put((uint32_t)rp.wire.now_ns);
	rp.wire.now_ns += delay_ns;
	fw_now(rp.end[0].nic, rp.wire.now_ns);
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, 80000);
	CU_ASSERT_EQUAL(s->rtt.var_ns, 40000);
	rd.ack = be32_put(psn + 2);
	rd.timestamp_echo = be32_put((uint32_t)(rp.wire.now_ns - 160000));
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	CU_ASSERT_EQUAL(s->rtt.var_ns, (3 * 40000 + 80000) / 4);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, (7 * 80000 + 160000) / 8);
	/* No echo, and an echo from the future: no sample. */
	rd.ack = be32_put(psn + 3);
	rd.timestamp_echo = be32_put(0);
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	rd.timestamp_echo = be32_put((uint32_t)rp.wire.now_ns + 5);
	rd_ack_rx(rp.end[0].nic, s, &rd, &map, false);
	CU_ASSERT_EQUAL(s->rtt.srtt_ns, 90000);
	CU_ASSERT_EQUAL(s->tx_una, psn + 3);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp.filter = NULL;
	start_over();
	rp_end(&rp);
}

/* The gap since the last turn is subtracted if the core was away, not if it slept. */
static void gaps(void)
{
	uint32_t slept;

	for (slept = 0; slept < 2; slept++) {
		struct rd_session *s;
		uint32_t e;

		rp_begin(&rp);
		rp_open(&rp);
		s = sender();
		s->rtt.srtt_ns = 0;
		rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, 8);
		rp_recv(&rp, 1, rp.end[1].qp[0], 1, 0, 8);
		rp_poll(&rp, 0);
		for (e = 0; e < 2; e++) {
			if (slept)
				CU_ASSERT_TRUE(fw_sleep(rp.end[!e].nic, true));
			rp.wire.now_ns += 50000;
			rp_poll(&rp, !e);
		}
		/* Half of it was caused by the other end, which reports that or not. */
		CU_ASSERT_EQUAL(s->rtt.srtt_ns, slept ? 100000 : 1);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
		rp_end(&rp);
	}
}

/* Sends one message to end 1, which answers messages as a rule; returns the ACKs that it sends. */
static uint64_t acks_of_a_message(void)
{
	uint64_t before = RP_CNT(&rp, 1, rd_acks_tx);

	rp_session(&rp, 1)->answers = true;
	rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, 8);
	rp_recv(&rp, 1, rp.end[1].qp[0], 1, 0, 8);
	rp_poll(&rp, 0);
	rp_poll(&rp, 1);
	return RP_CNT(&rp, 1, rd_acks_tx) - before;
}

static void message_is_over(void)
{
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
}

/* An ACK that waits for an answer leaves before the core sleeps, and later ones at once. */
static void leaves_before_a_sleep(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	CU_ASSERT_EQUAL(acks_of_a_message(), 0);
	CU_ASSERT_TRUE(fw_hurry(rp.end[1].nic));
	rp_poll(&rp, 1);
	CU_ASSERT_FALSE(fw_hurry(rp.end[1].nic));
	message_is_over();
	CU_ASSERT_EQUAL(acks_of_a_message(), 1);
	message_is_over();
	rp.wire.now_ns += RD_ACK_PROMPT_NS; /* the core has not slept for long */
	CU_ASSERT_EQUAL(acks_of_a_message(), 0);
	rp_quiet(&rp);
	message_is_over();
	rp_end(&rp);
}

/* Checks each bit of the ACK for packets that arrive in a chosen pattern. */
static enum bench_verdict keep_both(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from == 0 && info->type == WIRE_DGRAM_RD)
		return BENCH_KEEP;
	return info->type == WIRE_DGRAM_RD_ACK ? BENCH_KEEP : BENCH_PASS;
}

static void what_an_ack_says(void)
{
	uint32_t pattern, i;

	rp_begin(&rp);
	rp_open(&rp);
	for (pattern = 1; pattern < 1 << W; pattern++) {
		uint32_t psn = sender()->tx_psn, k, una = 0;
		struct rp_info info;

		/* The state of the window does not matter: earlier losses were on purpose. */
		rd_cong_init(rp.end[0].nic, sender());
		rp.filter = keep_both;
		for (i = 0; i < W; i++) {
			struct rp_req req = {
			    .opcode = HW_WQE_WRITE, .dst = rp.end[1].qp[0], .wr_id = i};

			rp_req(&rp, 0, rp.end[0].qp[0], &req);
			rp_settle(&rp);
		}
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, W);
		for (i = 0; i < W; i++)
			if (pattern >> i & 1)
				bench_wire_deliver(&rp.wire, i);
		rp_session(&rp, 1)->answers = false;
		rp_poll(&rp, 1);
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, W + 1);
		k = W;
		info = rp_info_of(&rp.wire.kept[k], 1);
		while (una < W && pattern >> una & 1)
			una++;
		CU_ASSERT_EQUAL(info.dgram->flags & WIRE_DGRAM_F_ACK, WIRE_DGRAM_F_ACK);
		CU_ASSERT_EQUAL(be32_get(info.dgram->dst_qpn), 0);
		CU_ASSERT_EQUAL(be32_get(info.rd->ack), psn + una);
		CU_ASSERT_EQUAL(be32_get(info.rd->epoch), sender()->epoch);
		CU_ASSERT_EQUAL(be64_get(info.ack->received[0]),
				una < W ? (uint64_t)pattern >> una : 0);
		CU_ASSERT_EQUAL(be64_get(info.ack->received[1]), 0);
		for (i = 0; i < 4; i++)
			CU_ASSERT_EQUAL(be64_get(info.ack->refused[i]), 0);
		CU_ASSERT_EQUAL(be32_get(info.ack->rnr_timer_ns), 0);
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		for (i = 0; i < W; i++)
			rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
}

UT_MAIN("pair/rd_ack_tx", UT(round_trip_times), UT(gaps), UT(leaves_before_a_sleep),
	UT(what_an_ack_says))
