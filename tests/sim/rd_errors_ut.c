/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of reliable datagrams: receiver not ready, peers that die or restart, links that go.
 * Exactly the affected requests fail, with the right status, and everything else goes on.
 */
#include "tests/sim/rd_errors_fix.h"

/* Messages without a receive wait, stay in order, and do not hold up another QP of the session. */
static void receiver_not_ready(void)
{
	struct weft_qp *qa, *qb;
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post other = {.wr_id = 900, .bytes = 3000, .offset = 100000};
		struct weft_sge sge;
		struct weft_recv_wr recv = {.wr_id = 901, .sg_list = &sge, .num_sge = 1};

		pair_open(&p, seed, &faulty);
		qa = extra_qp(&p.a, WEFT_QPT_RD, false);
		qb = extra_qp(&p.b, WEFT_QPT_RD, false);
		for (i = 0; i < 20; i++) {
			struct post request = {.wr_id = i, .bytes = 5000, .offset = i * 5000};

			fill(&p, i, p.a.buf + i * 5000, 5000);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		}
		FIX_CHECK(&p, silent(&p, &p.a, 5 * FIX_MS));
		FIX_CHECK(&p, sim_nic_stat(p.nb, "rd_rx_refused") > 0);
		sge = sim_end_sge(&p.b, SINK, 3000);
		FIX_REQUIRE(&p, weft_post_recv(qb, &recv, NULL) == 0);
		other.qp = qa;
		other.dst_qpn = qb->qpn;
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &other) == 0);
		expect(&p, &p.b, 901, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 900, WEFT_WC_SUCCESS);
		for (i = 0; i < 20; i++) {
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 100 + i, SINK, 5000) == 0);
			expect(&p, &p.b, 100 + i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 5000));
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

static void rnr_retry_limit(void)
{
	const struct weft_qp_attr two = {.rnr_retry = 2}, timer = {.min_rnr_timer = 14};
	struct pair p;
	uint64_t seed, start;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		modify(&p, p.a.qp, &two, WEFT_QP_RNR_RETRY);
		modify(&p, p.b.qp, &timer, WEFT_QP_MIN_RNR_TIMER); /* 1.28 ms */
		start = sim_now_ns(p.sim);
		send_one(&p, 1);
		expect(&p, &p.a, 1, WEFT_WC_RNR_RETRY_EXC_ERR);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start > 2 * 1280000);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start < 50 * FIX_MS);
		works(&p);
		pair_close(&p);
	}
}

/* A NIC without power: its requests end with RETRY_EXC_ERR in time, those to others succeed. */
static void dead_nic(void)
{
	struct weft_ah *ac;
	struct sim_end c;
	struct pair p;
	uint64_t seed, start;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post to_c = {.wr_id = 77, .bytes = 2000};

		pair_open(&p, seed, &faulty);
		FIX_REQUIRE(&p, sim_end_open(&c, sim_nic_new(p.sim), NULL) == 0);
		ac = sim_end_ah(&p.a, sim_proc_nic(c.proc));
		FIX_REQUIRE(&p, ac != NULL);
		works(&p);
		short_timeout(&p, p.a.qp);
		sim_nic_kill(p.nb);
		start = sim_now_ns(p.sim);
		send_one(&p, 1);
		send_one(&p, 2);
		for (i = 0; i < 5; i++) {
			FIX_REQUIRE(&p, sim_end_recv(&c, 5, 0, 2000) == 0);
			FIX_REQUIRE(&p, post(&p.a, ac, &c, &to_c) == 0);
			expect(&p, &c, 5, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 77, WEFT_WC_SUCCESS);
		}
		FIX_CHECK(&p, sim_now_ns(p.sim) - start < 10 * FIX_MS);
		expect(&p, &p.a, 1, WEFT_WC_RETRY_EXC_ERR);
		expect(&p, &p.a, 2, WEFT_WC_RETRY_EXC_ERR);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start > 4 * UINT64_C(4096) << 10);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start < 100 * FIX_MS);
		FIX_REQUIRE(&p, sim_end_recv(&c, 5, 0, 2000) == 0);
		FIX_REQUIRE(&p, post(&p.a, ac, &c, &to_c) == 0);
		expect(&p, &p.a, 77, WEFT_WC_SUCCESS);
		sim_end_close(&c);
		pair_close(&p);
	}
}

/*
 * Two NICs on one processor lose it for longer than all retries: requests survive. A dead peer is
 * still detected, though the NIC's own time runs slowly.
 */
static void paused_nics(void)
{
	const struct weft_qp_attr attr = {.timeout = 14, .retry_cnt = 7};
	struct pair p;
	struct weft_wc wc = {0};
	uint64_t seed, start;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		modify(&p, p.a.qp, &attr, WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT);
		works(&p);
		for (i = 0; i < 10; i++) {
			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK, 3000) == 0);
			send_one(&p, 100 + i);
			sim_run_for(p.sim, 1000 * (i + 1));
			sim_nic_pause(p.na, 700 * FIX_MS);
			sim_nic_pause(p.nb, 700 * FIX_MS);
			expect(&p, &p.b, i, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 100 + i, WEFT_WC_SUCCESS);
		}
		sim_nic_kill(p.nb);
		send_one(&p, 1);
		start = sim_now_ns(p.sim);
		for (i = 0; i < 100 && !weft_poll_cq(p.a.cq, 1, &wc); i++) {
			sim_nic_pause(p.na, 100 * FIX_MS);
			sim_run_for(p.sim, 101 * FIX_MS);
		}
		FIX_CHECK(&p, wc.wr_id == 1 && wc.status == WEFT_WC_RETRY_EXC_ERR);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start > 536 * FIX_MS);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start < 6000 * FIX_MS);
		pair_close(&p);
	}
}

/* Never answered from the start: the address has no station, or that NIC has sent nothing. */
static void never_there(void)
{
	struct weft_av av = weft_av_ip(0);
	struct weft_ah *ah;
	struct pair p;

	pair_open(&p, 1, NULL);
	memcpy(&av.dst_ip, (uint8_t[]){10, 77, 99, 99}, 4);
	errno = 0;
	ah = weft_create_ah(p.a.pd, &av);
	FIX_CHECK(&p, !ah && (errno == ETIMEDOUT || errno == EHOSTUNREACH));
	short_timeout(&p, p.a.qp);
	sim_nic_kill(p.nb);
	send_one(&p, 1);
	expect(&p, &p.a, 1, WEFT_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

/* A peer restarts: open requests end in error and are not replayed; new ones work. */
static void restarted_nic(void)
{
	struct sim_end b2;
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post old = {.opcode = WEFT_WR_FETCH_ADD,
				   .bytes = 8,
				   .compare_add = 1,
				   .remote_offset = SINK};
		struct post fresh = {.wr_id = 50, .bytes = 2000};
		struct weft_wc wc[10];
		uint32_t n;

		pair_open(&p, seed, &faulty);
		works(&p);
		short_timeout(&p, p.a.qp);
		sim_block(p.na, p.nb, true);
		for (i = 0; i < 10; i++) {
			old.wr_id = i;
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &old) == 0);
		}
		sim_run_for(p.sim, FIX_MS);
		sim_nic_restart(p.nb);
		sim_end_close(&p.b);
		/* The buffer may have another address, and the QP the same number. */
		FIX_REQUIRE(&p, sim_end_open(&b2, p.nb, NULL) == 0);
		sim_block(p.na, p.nb, false);
		n = sim_end_wait(&p.a, wc, 10, FIX_LIMIT_NS);
		FIX_REQUIRE(&p, n == 10);
		for (i = 0; i < n; i++)
			FIX_CHECK(&p, wc[i].status != WEFT_WC_SUCCESS);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "atomics_executed") == 0);
		FIX_CHECK(&p, all_bytes(b2.buf, 0, b2.bytes));
		for (i = 0; i < 20; i++) {
			fill(&p, i, p.a.buf, 2000);
			FIX_REQUIRE(&p, sim_end_recv(&b2, 60, SINK, 2000) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &b2, &fresh) == 0);
			expect(&p, &b2, 60, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, b2.buf + SINK, 2000));
			expect(&p, &p.a, 50, WEFT_WC_SUCCESS);
		}
		sim_end_close(&b2);
		pair_close(&p);
	}
}

/* Frames of a finished session, sent again, have no effect. */
struct recorder {
	struct sim_nic *from;
	uint8_t frame[64][5000];
	size_t bytes[64];
	uint32_t n;
};

static enum sim_verdict record(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct recorder *r = ctx;

	if (from == r->from && r->n < 64 && bytes > 100 && bytes <= sizeof(r->frame[0])) {
		memcpy(r->frame[r->n], frame, bytes);
		r->bytes[r->n++] = bytes;
	}
	return SIM_PASS;
}

static void stale_frames(void)
{
	static struct recorder r;
	struct sim_end b2;
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post add = {.opcode = WEFT_WR_FETCH_ADD, .bytes = 8, .compare_add = 1};
		struct post fresh = {.wr_id = 50, .bytes = 2000};

		pair_open(&p, seed, NULL);
		memset(&r, 0, sizeof(r));
		r.from = p.na;
		sim_set_filter(p.sim, record, &r);
		for (i = 0; i < 10; i++) {
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &add) == 0);
			expect(&p, &p.a, 0, WEFT_WC_SUCCESS);
		}
		sim_set_filter(p.sim, NULL, NULL);
		FIX_REQUIRE(&p, r.n >= 10);
		/* Frames of the same session, sent again: duplicates, which are not executed. */
		for (i = 0; i < r.n; i++)
			sim_inject(p.nb, r.frame[i], r.bytes[i]);
		sim_run_for(p.sim, FIX_MS);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "atomics_executed") == 10);
		FIX_CHECK(&p, p.b.buf[0] == 10);
		sim_nic_restart(p.nb);
		sim_end_close(&p.b);
		FIX_REQUIRE(&p, sim_end_open(&b2, p.nb, NULL) == 0);
		for (i = 0; i < r.n; i++) {
			sim_inject(p.nb, r.frame[i], r.bytes[i]);
			sim_run_for(p.sim, 10000);
		}
		sim_run_for(p.sim, 10 * FIX_MS);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "atomics_executed") == 0);
		FIX_REQUIRE(&p, sim_end_recv(&b2, 60, SINK, 2000) == 0);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &b2, &fresh) == 0);
		expect(&p, &b2, 60, WEFT_WC_SUCCESS);
		for (i = 0; i < r.n; i++)
			sim_inject(p.nb, r.frame[i], r.bytes[i]);
		expect(&p, &p.a, 50, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "atomics_executed") == 0);
		sim_end_close(&b2);
		pair_close(&p);
	}
}

/* A process is killed: its peers are notified, another process on its NIC goes on. */
static void killed_process(void)
{
	struct sim_end other;
	struct pair p;
	uint64_t seed;
	uint32_t i, n;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct weft_wc wc[20];
		struct post to_other = {.wr_id = 70, .bytes = 2000};

		pair_open(&p, seed, &faulty);
		FIX_REQUIRE(&p, sim_end_open(&other, p.nb, NULL) == 0);
		short_timeout(&p, p.a.qp);
		for (i = 0; i < 20; i++) {
			struct post request = {.opcode = i % 2 ? WEFT_WR_READ : WEFT_WR_WRITE,
					       .wr_id = i,
					       .bytes = 20000,
					       .offset = i * 20000,
					       .remote_offset = i * 20000};

			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		}
		sim_run_for(p.sim, sim_prng_below(&p.prng, 100000));
		sim_end_kill(&p.b);
		n = sim_end_wait(&p.a, wc, 20, FIX_LIMIT_NS);
		FIX_CHECK(&p, n == 20);
		/*
		 * In order: after a failed write, no later write was executed. An earlier read may
		 * have failed for its response alone.
		 */
		for (i = 2; i < n; i += 2)
			FIX_CHECK(&p, wc[i - 2].status == WEFT_WC_SUCCESS ||
					  wc[i].status != WEFT_WC_SUCCESS);
		FIX_CHECK(&p, wc[n - 1].status != WEFT_WC_SUCCESS);
		FIX_REQUIRE(&p, sim_end_recv(&other, 60, SINK, 2000) == 0);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &other, &to_other) == 0);
		expect(&p, &other, 60, WEFT_WC_SUCCESS);
		expect(&p, &p.a, 70, WEFT_WC_SUCCESS);
		sim_end_close(&other);
		pair_close(&p);
	}
}

/* Drops one QP's packets while it is set. */
struct dropper {
	uint32_t src_qpn;
	bool on;
	uint32_t dropped;
};

static enum sim_verdict drop_qp(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct dropper *d = ctx;
	struct wire_dgram hdr;

	(void)from;
	if (!d->on || bytes < DGRAM_AT + sizeof(hdr) || frame[12] != 8 || frame[13] != 0)
		return SIM_PASS;
	memcpy(&hdr, frame + DGRAM_AT, sizeof(hdr));
	if (be32_get(hdr.src_qpn) != d->src_qpn)
		return SIM_PASS;
	d->dropped++;
	return SIM_DROP;
}

/* One QP's packets do not come through; those of another to the same peer do, in time. */
static void no_head_of_line_blocking(void)
{
	struct dropper d = {0};
	struct weft_qp *qa, *qb;
	struct pair p;
	uint64_t start;
	uint32_t i;

	pair_open(&p, 1, NULL);
	works(&p);
	qa = extra_qp(&p.a, WEFT_QPT_RD, false);
	qb = extra_qp(&p.b, WEFT_QPT_RD, false);
	d.src_qpn = p.a.qp->qpn;
	d.on = true;
	sim_set_filter(p.sim, drop_qp, &d);
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 5, SINK, 3000) == 0);
	send_one(&p, 6);
	for (i = 0; i < 40; i++) {
		struct post other = {
		    .opcode = WEFT_WR_WRITE, .wr_id = 900, .bytes = 3000, .offset = 100000};

		other.qp = qa;
		other.dst_qpn = qb->qpn;
		start = sim_now_ns(p.sim);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &other) == 0);
		expect(&p, &p.a, 900, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, sim_now_ns(p.sim) - start < FIX_MS);
	}
	FIX_CHECK(&p, d.dropped > 0);
	d.on = false;
	expect(&p, &p.b, 5, WEFT_WC_SUCCESS);
	expect(&p, &p.a, 6, WEFT_WC_SUCCESS);
	sim_set_filter(p.sim, NULL, NULL);
	pair_close(&p);
}

/* One message from a to b and one back; the link is down for down_ns in the middle. */
static void ping_pong(struct pair *p, uint64_t down_ns)
{
	const struct post ping = {.wr_id = 10, .bytes = 3000}, pong = {.wr_id = 11, .bytes = 3000};

	FIX_REQUIRE(p, sim_end_recv(&p->a, 20, SINK, 3000) == 0);
	FIX_REQUIRE(p, sim_end_recv(&p->b, 21, SINK, 3000) == 0);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &ping) == 0);
	if (down_ns) {
		sim_partition(p->sim, 1);
		sim_run_for(p->sim, down_ns);
		sim_heal(p->sim);
	}
	expect(p, &p->b, 21, WEFT_WC_SUCCESS);
	expect(p, &p->a, 10, WEFT_WC_SUCCESS);
	FIX_REQUIRE(p, post(&p->b, p->ba, &p->a, &pong) == 0);
	expect(p, &p->a, 20, WEFT_WC_SUCCESS);
	expect(p, &p->b, 11, WEFT_WC_SUCCESS);
}

/* Defaults: 9 s without a link end nothing, whether the session was open or opens. */
static void link_down(void)
{
	struct pair p;
	uint64_t seed, start;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		for (i = 0; i < 3; i++) {
			start = sim_now_ns(p.sim);
			ping_pong(&p, i == seed % 2 ? 9000 * FIX_MS : 0);
			FIX_CHECK(&p, sim_now_ns(p.sim) - start < 12000 * FIX_MS);
		}
		FIX_CHECK(&p, !sim_nic_stat(p.na, "retry_exceeded"));
		pair_close(&p);
	}
}

/* A link that stays down: 4.096 us * 2^19, six times, as in docs/operating.md. */
static void link_gone(void)
{
	const uint64_t limit_ns = (UINT64_C(4096) << 19) * 6;
	struct pair p;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, NULL);
		if (seed % 2)
			works(&p);
		sim_partition(p.sim, 1);
		send_one(&p, 1);
		FIX_CHECK(&p, silent(&p, &p.a, limit_ns));
		expect(&p, &p.a, 1, WEFT_WC_RETRY_EXC_ERR);
		sim_heal(p.sim);
		pair_close(&p);
	}
}

UT_MAIN("sim/rd_errors", UT(receiver_not_ready), UT(rnr_retry_limit), UT(dead_nic), UT(paused_nics),
	UT(never_there), UT(restarted_nic), UT(stale_frames), UT(killed_process),
	UT(no_head_of_line_blocking), UT(link_down), UT(link_gone))
