/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over MPA/TCP, connected by the connection manager: the tests of rc_ut.c, with CRC and markers
 * on and off, and those of TCP streams: errors that end them, peers that end, memory that is
 * unmapped, loss of the peer, reconnecting. nic_fw/mpa/mpa_*.c, nic_fw/tcp/tcp_*.c, cm_tcp.c.
 */
#define RC_TRANSPORT WEFT_QP_TRANSPORT_TCP
#define RC_STREAM    1
#define RC_TCP       1
#define RC_SEND_IMM  WEFT_WR_SEND
#include "host_driver/weft_cm.h"
#include "host_driver/weft_priv.h"
#include "tests/sim/rc_tcp_fix.h"
#include "tests/sim/sim_fix.h"

static void open_rc(struct pair *p, uint64_t seed);
static void close_rc(struct pair *p);

#include "tests/sim/rc_ut.c"

static void open_rc(struct pair *p, uint64_t seed)
{
	rc_tcp_open(p, seed, &rc);
}

static void close_rc(struct pair *p)
{
	rc_tcp_close(p);
}

static void set_state(struct pair *p, struct weft_qp *qp, enum weft_qp_state state)
{
	struct weft_qp_attr attr = {.state = state};

	FIX_REQUIRE(p, weft_modify_qp(qp, &attr, WEFT_QP_STATE) == 0);
}

static enum weft_qp_state state_of(struct pair *p, struct weft_qp *qp)
{
	struct weft_qp_attr attr;

	FIX_REQUIRE(p, weft_query_qp(qp, &attr, NULL) == 0);
	return attr.state;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Each of CRC, markers and revision, with all operations; no packet went by datagrams. */
static void every_mode(void)
{
	static const uint16_t modes[] = {
	    HW_MPA_GIVEN,
	    HW_MPA_GIVEN | HW_MPA_CRC,
	    HW_MPA_GIVEN | HW_MPA_MARKERS,
	    HW_MPA_GIVEN | HW_MPA_CRC | HW_MPA_MARKERS | HW_MPA_RTR_READ,
	    HW_MPA_GIVEN | HW_MPA_CRC | HW_MPA_REVISION_1,
	    HW_MPA_GIVEN | HW_MPA_CRC | HW_MPA_RTR_SEND,
	};
	struct pair p;
	uint32_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct post put = {.opcode = WEFT_WR_WRITE_IMM,
				   .wr_id = 1,
				   .bytes = 200000,
				   .remote_offset = SINK,
				   .imm = 4711};
		struct post get = {.opcode = WEFT_WR_READ,
				   .wr_id = 2,
				   .bytes = 200000,
				   .offset = SINK,
				   .remote_offset = SINK};
		struct weft_wc wc;

		rc_tcp.options = modes[i];
		open_rc(&p, 1 + i);
		fill(&p, i, p.a.buf, 200000);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 5, 0, 0) == 0);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &get) == 0);
		wc = expect(&p, &p.b, 5, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, wc.bytes == 200000 && wc.imm == 4711);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 200000));
		FIX_CHECK(&p, filled(&p, i, p.a.buf + SINK, 200000));
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_packets") == 0);
		FIX_CHECK(&p, sim_nic_stat(p.na, "mpa_tx_fpdus") >= 200000 / 9000);
		close_rc(&p);
	}
	rc_tcp.options = 0;
}

/* With markers, data behind a hole is placed at once. */
static void early_with_markers(void)
{
	struct post put = {
	    .opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = 500000, .remote_offset = 0};
	struct pair p;

	rc_tcp.options = HW_MPA_GIVEN | HW_MPA_MARKERS | HW_MPA_CRC;
	open_rc(&p, 5);
	fill(&p, 3, p.a.buf, 500000);
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
	expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
	FIX_CHECK(&p, filled(&p, 3, p.b.buf, 500000));
	FIX_CHECK(&p, sim_nic_stat(p.nb, "mpa_rx_early") > 0);
	close_rc(&p);
	rc_tcp.options = 0;
}

/* A read without permission: the request fails with the reason, all others are flushed. */
static void error_ends_it(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post bad = {
		    .opcode = WEFT_WR_READ, .wr_id = 1, .bytes = 1000, .offset = SINK};

		open_rc(&p, seed);
		bad.rkey = p.b.mr->rkey ^ 0x77;
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 50, SINK, 100) == 0);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &bad) == 0);
		for (i = 2; i < 6; i++) {
			bad.wr_id = i;
			bad.rkey = 0;
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &bad) == 0);
		}
		expect(&p, &p.a, 1, WEFT_WC_REM_ACCESS_ERR);
		for (i = 2; i < 6; i++)
			expect(&p, &p.a, i, WEFT_WC_WR_FLUSH_ERR);
		expect(&p, &p.b, 50, WEFT_WC_WR_FLUSH_ERR);
		FIX_CHECK(&p, state_of(&p, p.a.qp) == WEFT_QPS_ERR);
		FIX_CHECK(&p, state_of(&p, p.b.qp) == WEFT_QPS_ERR);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "mpa_terminates_tx") == 1);
		FIX_CHECK(&p, sim_nic_stat(p.na, "mpa_terminates_rx") == 1);
		(void)rc_tcp_told(&p, &rc_tcp.active, HW_CM_EVENT_DISCONNECTED);
		(void)rc_tcp_told(&p, &rc_tcp.passive, HW_CM_EVENT_DISCONNECTED);
		close_rc(&p);
	}
}

/* The peer's QP ends with requests in flight: they are flushed at once. */
static void peer_ends(void)
{
	struct post get = {.opcode = WEFT_WR_READ,
			   .wr_id = 1,
			   .bytes = 400000,
			   .offset = SINK,
			   .remote_offset = 0};
	struct pair p;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		open_rc(&p, 1 + i);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &get) == 0);
		FIX_CHECK(&p, silent(&p, &p.a, 20000));
		set_state(&p, p.b.qp, i ? WEFT_QPS_RESET : WEFT_QPS_ERR);
		expect(&p, &p.a, 1, WEFT_WC_WR_FLUSH_ERR);
		FIX_CHECK(&p, state_of(&p, p.a.qp) == WEFT_QPS_ERR);
		(void)rc_tcp_told(&p, &rc_tcp.active, HW_CM_EVENT_DISCONNECTED);
		close_rc(&p);
	}
}

/* A process at either end dies in the middle: the other end is notified. */
static void killed_process(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		struct sim_end *victim, *other;
		struct weft_wc wc[16];

		open_rc(&p, seed);
		victim = seed % 2 ? &p.a : &p.b;
		other = seed % 2 ? &p.b : &p.a;
		for (i = 0; i < 8; i++) {
			struct post put = {.opcode = i % 2 ? WEFT_WR_READ : WEFT_WR_WRITE,
					   .wr_id = i,
					   .bytes = 30000,
					   .offset = i * 30000,
					   .remote_offset = i * 30000};

			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
			FIX_REQUIRE(&p, post(&p.b, NULL, &p.a, &put) == 0);
		}
		sim_run_for(p.sim, sim_prng_below(&p.prng, 60000));
		sim_proc_kill(victim->proc);
		FIX_CHECK(&p, sim_end_wait(other, wc, 8, FIX_LIMIT_NS) == 8);
		(void)rc_tcp_told(&p, seed % 2 ? &rc_tcp.passive : &rc_tcp.active,
				  HW_CM_EVENT_DISCONNECTED);
		FIX_CHECK(&p, state_of(&p, other->qp) == WEFT_QPS_ERR);
		close_rc(&p);
	}
}

/* Reconnects the same queue pairs. */
static void connected_anew(void)
{
	struct post send = {.wr_id = 1, .bytes = 30000};
	struct pair p;
	uint32_t i;

	open_rc(&p, 3);
	for (i = 0; i < 6; i++) {
		fill(&p, i, p.a.buf, 30000);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 7, SINK, 30000) == 0);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		expect(&p, &p.b, 7, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 30000));
		set_state(&p, p.a.qp, WEFT_QPS_RESET);
		set_state(&p, p.b.qp, WEFT_QPS_RESET);
		(void)rc_tcp_told(&p, &rc_tcp.active, HW_CM_EVENT_DISCONNECTED);
		(void)rc_tcp_told(&p, &rc_tcp.passive, HW_CM_EVENT_DISCONNECTED);
		FIX_CHECK(&p, weft_cm_destroy(p.a.context, rc_tcp.active.ep) == 0);
		FIX_CHECK(&p, weft_cm_destroy(p.b.context, rc_tcp.passive.ep) == 0);
		while (weft_cm_get_event(rc_tcp.active.channel, &(struct hw_resp_cm_event){0}) == 0)
			;
		while (weft_cm_get_event(rc_tcp.passive.channel, &(struct hw_resp_cm_event){0}) ==
		       0)
			;
		rc_tcp_connect(&p);
	}
	close_rc(&p);
}

/* The sender's memory is not mapped: the port reads each segment's payload. */
static void unmapped(void)
{
	struct pair_attr attr = rc;
	struct post put = {.opcode = WEFT_WR_WRITE, .bytes = 50000, .remote_offset = SINK};
	struct pair p;
	uint32_t i, m;

	attr.a.unmapped = true;
	for (m = 0; m < 2; m++) {
		rc_tcp.options = HW_MPA_GIVEN | (m ? HW_MPA_MARKERS : HW_MPA_CRC);
		rc_tcp_open(&p, 1, &attr);
		for (i = 0; i < 10; i++) {
			put.wr_id = i;
			fill(&p, i, p.a.buf, 50000);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 50000));
		}
		close_rc(&p);
	}
	rc_tcp.options = 0;
}

/* A region is deregistered while segments are made from it, or responses. */
static void memory_goes(void)
{
	struct pair_attr quiet = rc;
	struct pair p;
	uint32_t i;

	quiet.faults = NULL;
	for (i = 0; i < 2; i++) {
		struct weft_wc wc;

		rc_tcp_open(&p, 1 + i, &quiet);
		withdraw(&p, i);
		FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&p, wc.status == (i ? WEFT_WC_REM_ACCESS_ERR : WEFT_WC_LOC_PROT_ERR));
		FIX_CHECK(&p, state_of(&p, p.a.qp) == WEFT_QPS_ERR);
		close_rc(&p);
	}
}

/* The peer is gone: TCP times out, and the oldest request fails with the reason. */
static void peer_lost(void)
{
	struct post put = {.opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = 1000};
	struct pair_attr quiet = rc;
	struct weft_wc wc;
	struct pair p;

	quiet.faults = NULL;
	rc_tcp_open(&p, 1, &quiet);
	sim_partition(p.sim, 1);
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
	put.wr_id = 2;
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
	FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, UINT64_C(400000) * FIX_MS) == 1);
	FIX_CHECK(&p, wc.wr_id == 1 && wc.status == WEFT_WC_RETRY_EXC_ERR);
	expect(&p, &p.a, 2, WEFT_WC_WR_FLUSH_ERR);
	close_rc(&p);
}

/*
 * A page arrives late: its segment is retried at the interval of the first time-out, so that it
 * leaves soon after the page arrives, with markers and without.
 */
static void slow_for_long(void)
{
	struct pair_attr quiet = rc;
	struct post send = {.wr_id = 1, .bytes = 3000};
	uint16_t before = rc_tcp.options;
	uint64_t begun_ns;
	struct pair p;
	uint32_t i;

	fix_no_host_map = true;
	quiet.faults = NULL;
	for (i = 0; i < 2; i++) {
		rc_tcp.options = i ? HW_MPA_GIVEN | HW_MPA_MARKERS : 0;
		rc_tcp_open(&p, 1, &quiet);
		fill(&p, i, p.a.buf, send.bytes);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 1000, SINK, SLOT) == 0);
		sim_host_busy(p.sim, 1000000);
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
		sim_run_for(p.sim, 30000 * FIX_MS);
		sim_host_busy(p.sim, 0);
		begun_ns = sim_now_ns(p.sim);
		expect(&p, &p.b, 1000, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, sim_now_ns(p.sim) - begun_ns < 1000 * FIX_MS);
		FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, send.bytes));
		close_rc(&p);
	}
	rc_tcp.options = before;
	fix_no_host_map = false;
}

/* ---- connections at rest --------------------------------------------------------------------- */

static bool both_rest(struct pair *p)
{
	return sim_nic_stat(p->na, "tcp_rests_used") == 1 &&
	       sim_nic_stat(p->nb, "tcp_rests_used") == 1;
}

/* Opens a connection that was used and rests at both ends. */
static void open_idle(struct pair *p)
{
	struct pair_attr quiet = rc;
	struct post send = {.wr_id = 1, .bytes = 3000};

	quiet.faults = NULL;
	rc_tcp_open(p, 1, &quiet);
	FIX_REQUIRE(p, sim_end_recv(&p->b, 2, SINK, 3000) == 0);
	FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &send) == 0);
	expect(p, &p->b, 2, WEFT_WC_SUCCESS);
	expect(p, &p->a, 1, WEFT_WC_SUCCESS);
	sim_run_for(p->sim, 2000 * FIX_MS);
	FIX_REQUIRE(p, both_rest(p));
}

/* A request of either end goes as ever, of each kind. */
static void requests_after_rest(void)
{
	static const enum weft_wr_opcode kinds[] = {WEFT_WR_SEND, WEFT_WR_WRITE, WEFT_WR_READ,
						    WEFT_WR_FETCH_ADD};
	struct pair p;
	uint32_t i;

	open_idle(&p);
	for (i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct sim_end *from = i % 2 ? &p.b : &p.a, *to = i % 2 ? &p.a : &p.b;
		struct post request = {.opcode = kinds[i / 2],
				       .wr_id = 10 + i,
				       .bytes = kinds[i / 2] == WEFT_WR_FETCH_ADD ? 8 : 20000,
				       .offset = kinds[i / 2] == WEFT_WR_READ ? SINK : 0,
				       .remote_offset = kinds[i / 2] == WEFT_WR_READ ? 0 : SINK};
		bool read = request.opcode == WEFT_WR_READ;

		fill(&p, i, read ? to->buf : from->buf, 20000);
		if (request.opcode == WEFT_WR_SEND)
			FIX_REQUIRE(&p, sim_end_recv(to, 2, SINK, 20000) == 0);
		FIX_REQUIRE(&p, post(from, NULL, to, &request) == 0);
		expect(&p, from, 10 + i, WEFT_WC_SUCCESS);
		if (request.opcode == WEFT_WR_SEND)
			expect(&p, to, 2, WEFT_WC_SUCCESS);
		if (request.opcode != WEFT_WR_FETCH_ADD)
			FIX_CHECK(&p, filled(&p, i, (read ? from : to)->buf + SINK, 20000));
		sim_run_for(p.sim, 2000 * FIX_MS);
		FIX_CHECK(&p, both_rest(&p));
	}
	FIX_CHECK(&p, sim_nic_stat(p.na, "tcp_tx_retransmits") == 0);
	close_rc(&p);
}

/* Each way in which a connection may end finds one that rests. */
static void ends_after_rest(void)
{
	enum {
		DISCONNECTED,
		ENDPOINT_DESTROYED,
		QP_IN_ERROR,
		QP_RESET,
		QP_DESTROYED,
		PROCESS_KILLED,
		CAUSES
	};
	struct pair p;
	uint32_t i;

	for (i = 0; i < 2 * CAUSES; i++) {
		struct rc_tcp_end *from, *to;

		open_idle(&p);
		from = i % 2 ? &rc_tcp.passive : &rc_tcp.active;
		to = i % 2 ? &rc_tcp.active : &rc_tcp.passive;
		if (i / 2 == DISCONNECTED)
			FIX_CHECK(&p, weft_cm_disconnect(from->end->context, from->ep) == 0);
		else if (i / 2 == ENDPOINT_DESTROYED)
			FIX_CHECK(&p, weft_cm_destroy(from->end->context, from->ep) == 0);
		else if (i / 2 == QP_IN_ERROR || i / 2 == QP_RESET)
			set_state(&p, from->end->qp,
				  i / 2 == QP_RESET ? WEFT_QPS_RESET : WEFT_QPS_ERR);
		else if (i / 2 == PROCESS_KILLED)
			sim_proc_kill(from->end->proc);
		else
			FIX_CHECK(&p, weft_destroy_qp(from->end->qp) == 0);
		if (i / 2 == QP_DESTROYED)
			from->end->qp = NULL;
		(void)rc_tcp_told(&p, to, HW_CM_EVENT_DISCONNECTED);
		FIX_CHECK(&p, state_of(&p, to->end->qp) == WEFT_QPS_ERR);
		FIX_CHECK(&p, sim_nic_stat(p.na, "tcp_rests_used") == 0);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "tcp_rests_used") == 0);
		close_rc(&p);
	}
}

/* Keep-alive keeps it while the peer lives, and ends it when the peer's NIC is gone. */
static void silence_after_rest(void)
{
	struct pair p;

	open_idle(&p);
	sim_run_for(p.sim, 100000 * FIX_MS);
	FIX_CHECK(&p, both_rest(&p));
	FIX_CHECK(&p, sim_nic_stat(p.na, "tcp_keepalives") >= 6);
	FIX_CHECK(&p, state_of(&p, p.a.qp) == WEFT_QPS_RTS);
	sim_partition(p.sim, 1);
	sim_run_for(p.sim, 60000 * FIX_MS);
	(void)rc_tcp_told(&p, &rc_tcp.active, HW_CM_EVENT_DISCONNECTED);
	(void)rc_tcp_told(&p, &rc_tcp.passive, HW_CM_EVENT_DISCONNECTED);
	FIX_CHECK(&p, state_of(&p, p.a.qp) == WEFT_QPS_ERR);
	close_rc(&p);
}

UT_MAIN("sim/rc_tcp", UT(order_of_receives), UT(operations), UT(slow_pages), UT(slow_answers),
	UT(slow_for_long), UT(every_mode), UT(early_with_markers), UT(error_ends_it), UT(both_ways),
	UT(peer_ends), UT(killed_process), UT(connected_anew), UT(unmapped), UT(memory_goes),
	UT(peer_lost), UT(requests_after_rest), UT(ends_after_rest), UT(silence_after_rest))
