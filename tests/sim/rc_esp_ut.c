/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP (docs/wire-esp.md): the tests of rc_ut.c, and those of streams: a receiver that is
 * not ready, peers that end, time-outs, memory that is unmapped, reconnecting.
 */
#define RC_TRANSPORT WEFT_QP_TRANSPORT_ESP
#define RC_STREAM    1
#include "tests/sim/rc_ut.c"

/* No packet went by datagrams, and streams were used. */
static void by_streams_alone(void)
{
	struct post request = {.wr_id = 1, .bytes = 100000};
	struct pair p;

	open_rc(&p, 1);
	fill(&p, 1, p.a.buf, 100000);
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 2, SINK, 100000) == 0);
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 1, p.b.buf + SINK, 100000));
	FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_packets") == 0);
	FIX_CHECK(&p, sim_nic_stat(p.na, "esp_tx_packets") >= 100000 / 9000);
	pair_close(&p);
}

/* Without a receive, acknowledgements still flow both ways. With one, the messages arrive. */
static void not_ready(void)
{
	struct post send = {.wr_id = 1, .bytes = 5000};
	struct post get = {
	    .opcode = WEFT_WR_READ, .wr_id = 2, .bytes = 5000, .offset = SINK, .remote_offset = 0};
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		open_rc(&p, seed);
		fill(&p, 7, p.a.buf, 5000);
		for (i = 0; i < 5; i++)
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		FIX_CHECK(&p, silent(&p, &p.a, 20 * FIX_MS));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "esp_rdmap_rnr_tx") > 10);
		FIX_REQUIRE(&p, post(&p.b, NULL, &p.a, &get) == 0);
		expect(&p, &p.b, 2, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, 7, p.b.buf + SINK, 5000));
		for (i = 0; i < 5; i++) {
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 10 + i, SINK, 5000) == 0);
			expect(&p, &p.b, 10 + i, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

/* Without receives the QP's own limit counts: the request fails with RNR_RETRY_EXC_ERR. */
static void never_ready(void)
{
	struct post send = {.wr_id = 1, .bytes = 5000};
	struct pair p;
	uint8_t retry;

	for (retry = 0; retry < 7; retry += 3) {
		rnr_retry = retry;
		open_rc(&p, 1 + retry);
		send.wr_id = 1;
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 9, SINK, 5000) == 0);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		send.wr_id = 2;
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		send.wr_id = 3;
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		expect(&p, &p.b, 9, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 2, WEFT_WC_RNR_RETRY_EXC_ERR);
		expect(&p, &p.a, 3, WEFT_WC_WR_FLUSH_ERR);
		FIX_CHECK(&p, sim_nic_stat(p.na, "esp_rdmap_rnr_rx") >= retry + 1u);
		pair_close(&p);
	}
	rnr_retry = 7;
}

static void set_state(struct pair *p, struct weft_qp *qp, enum weft_qp_state state)
{
	struct weft_qp_attr attr = {.state = state};

	FIX_REQUIRE(p, weft_modify_qp(qp, &attr, WEFT_QP_STATE) == 0);
}

/* The peer's QP ends with requests in flight: they fail soon, before the retries are used up. */
static void peer_ends(void)
{
	struct post send = {.wr_id = 1, .bytes = 3000};
	struct pair p;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		open_rc(&p, 1 + i);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		FIX_CHECK(&p, silent(&p, &p.a, FIX_MS));
		set_state(&p, p.b.qp, i ? WEFT_QPS_RESET : WEFT_QPS_ERR);
		expect(&p, &p.a, 1, WEFT_WC_REM_OP_ERR);
		pair_close(&p);
	}
}

/* Reconnects the same queue pairs with other PSNs. */
static void connected_anew(void)
{
	struct post send = {.wr_id = 1, .bytes = 30000};
	struct pair p;
	uint32_t i, psn;

	open_rc(&p, 3);
	for (i = 0, psn = 0x400; i < 6; i++, psn += 2) {
		fill(&p, i, p.a.buf, 30000);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 7, SINK, 30000) == 0);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		expect(&p, &p.b, 7, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 30000));
		/* The stream of a QP that no longer receives ends with data in flight. */
		if (i % 2)
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		set_state(&p, p.a.qp, WEFT_QPS_RESET);
		set_state(&p, p.b.qp, WEFT_QPS_RESET);
		connect_end(&p, &p.a, &p.b, p.nb, psn, psn + 1);
		connect_end(&p, &p.b, &p.a, p.na, psn + 1, psn);
	}
	pair_close(&p);
}

/* The sender's memory is not mapped: the port reads each packet's payload, or fails. */
static void unmapped(void)
{
	struct pair_attr attr = rc;
	struct post put = {.opcode = WEFT_WR_WRITE, .bytes = 50000, .remote_offset = SINK};
	struct pair p;
	uint32_t i;

	attr.a.unmapped = true;
	pair_open(&p, 1, &attr);
	connect_end(&p, &p.a, &p.b, p.nb, 1, 2);
	connect_end(&p, &p.b, &p.a, p.na, 2, 1);
	for (i = 0; i < 10; i++) {
		put.wr_id = i;
		fill(&p, i, p.a.buf, 50000);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
		expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 50000));
	}
	pair_close(&p);
}

/* The most that a NIC sent in one turn. */
struct longest {
	struct pair *p;
	uint64_t sent_bytes, most_bytes;
};

static bool longest_is_over(void *arg)
{
	struct longest *l = arg;
	uint64_t sent_bytes = sim_nic_stat(l->p->na, "tx_bytes");
	struct weft_wc wc;

	if (sent_bytes - l->sent_bytes > l->most_bytes)
		l->most_bytes = sent_bytes - l->sent_bytes;
	l->sent_bytes = sent_bytes;
	return weft_poll_cq(l->p->a.cq, 1, &wc) == 1;
}

/* The most bytes that a turn sends. */
static uint64_t most_bytes(uint32_t budget)
{
	struct post put = {.opcode = WEFT_WR_WRITE, .bytes = 500000, .remote_offset = SINK};
	struct pair_attr attr = rc;
	struct pair p;
	struct longest longest = {.p = &p};

	attr.faults = NULL;
	attr.mtu = 9000;
	attr.budget = budget;
	pair_open(&p, 1, &attr);
	connect_end(&p, &p.a, &p.b, p.nb, 1, 2);
	connect_end(&p, &p.b, &p.a, p.na, 2, 1);
	longest.sent_bytes = sim_nic_stat(p.na, "tx_bytes");
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
	FIX_REQUIRE(&p, sim_run_until(p.sim, longest_is_over, &longest, FIX_LIMIT_NS));
	pair_close(&p);
	return longest.most_bytes;
}

/* Long frames make no longer turns than short ones: others wait for as many bytes. */
static void bytes_of_a_turn(void)
{
	enum {
		/* Units of 4 KiB, and the rest of the last stream's. */
		LONG_BYTES = (FW_TURN_LONG * 4 + 16) << 10,
		SHORT_BYTES = FW_TURN_SHORT * 4 << 10,
	};
	uint64_t bytes = most_bytes(FW_TURN_LONG);

	CU_ASSERT_TRUE(bytes > SHORT_BYTES && bytes <= LONG_BYTES);
	bytes = most_bytes(FW_TURN_SHORT);
	CU_ASSERT_TRUE(bytes > 9000 && bytes <= SHORT_BYTES);
}

/* No QP accepts the stream (other PSNs, another transport, not in RTR): retries are used up. */
static void nobody_there(void)
{
	struct post send = {.wr_id = 1, .bytes = 100};
	struct pair p;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		pair_open(&p, 1, &rc);
		connect_end(&p, &p.a, &p.b, p.nb, 0x111111, 0x222222);
		if (i)
			connect_end(&p, &p.b, &p.a, p.na, 0x222222, 0x111112);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		expect(&p, &p.a, 1, WEFT_WC_RETRY_EXC_ERR);
		pair_close(&p);
	}
}

/* A region is deregistered while packets are made from it, or responses. */
static void memory_goes(void)
{
	struct pair p;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		open_rc(&p, 1 + i);
		withdraw(&p, i);
		expect(&p, &p.a, i ? 2 : 1, i ? WEFT_WC_REM_ACCESS_ERR : WEFT_WC_LOC_PROT_ERR);
		pair_close(&p);
	}
}

/* Streams do not cross routers, and a QP cannot have one to itself. */
static void where_no_stream_goes(void)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT, .port = 1, .transport = RC_TRANSPORT};
	const int to_rtr = WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU | WEFT_QP_DEST_QPN |
			   WEFT_QP_RQ_PSN | WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER;
	struct pair p;

	pair_open(&p, 1, &rc);
	FIX_REQUIRE(&p, weft_modify_qp(p.a.qp, &attr,
				       WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
					   WEFT_QP_TRANSPORT | WEFT_QP_ACCESS_FLAGS) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = 1024,
				     .dst_qpn = p.a.qp->qpn,
				     .min_rnr_timer = 1};
	attr.av = weft_av_ip(sim_nic_ip(p.na));
	FIX_CHECK(&p, weft_modify_qp(p.a.qp, &attr, to_rtr) == -EOPNOTSUPP);
	pair_close(&p);
}

UT_MAIN("sim/rc_esp", UT(order_of_receives), UT(operations), UT(slow_pages), UT(slow_answers),
	UT(error_state), UT(by_streams_alone), UT(both_ways), UT(not_ready), UT(never_ready),
	UT(peer_ends), UT(connected_anew), UT(unmapped), UT(bytes_of_a_turn), UT(nobody_there),
	UT(memory_goes), UT(where_no_stream_goes))
