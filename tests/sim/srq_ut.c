/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues under reliable datagrams, with faults: every message takes one
 * receive, the limit event comes once, an empty queue makes senders wait and loses nothing.
 */
#include "tests/sim/sim_fix.h"

enum {
	SINK = 512 * 1024,
	SLOT = 8192,
	WR = 32,
};

static const struct pair_attr faulty = {.faults = FIX_FAULTS, .b = {.srq_wr = WR}};

/* Two QPs share the queue; completions are told apart by QP number. */
static void two_qps(void)
{
	struct weft_qp *qa, *qb;
	struct pair p;
	uint64_t seed;
	uint32_t i, n, got, next[2];

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct weft_wc wc[8];

		pair_open(&p, seed, &faulty);
		qa = extra_qp(&p.a, WEFT_QPT_RD, false);
		qb = extra_qp(&p.b, WEFT_QPT_RD, false);
		for (i = 0; i < WR; i++)
			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK + i * SLOT, SLOT) == 0);
		for (i = 0; i < 60; i++) {
			struct post request = {.opcode = WEFT_WR_SEND_IMM,
					       .imm = i / 2,
					       .wr_id = i,
					       .offset = i * SLOT,
					       .bytes = 100 + i * 113};

			request.qp = i % 2 ? qa : p.a.qp;
			request.dst_qpn = i % 2 ? qb->qpn : p.b.qp->qpn;
			fill(&p, i, p.a.buf + i * SLOT, request.bytes);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		}
		next[0] = next[1] = 0;
		for (got = 0; got < 60; got += n) {
			n = sim_end_wait(&p.b, wc, 1, FIX_LIMIT_NS);
			FIX_REQUIRE(&p, n == 1 && wc[0].status == WEFT_WC_SUCCESS);
			i = wc[0].qpn == qb->qpn;
			FIX_CHECK(&p, wc[0].imm == next[i]);
			i += 2 * next[i]++;
			FIX_CHECK(&p, wc[0].bytes == 100 + i * 113);
			FIX_CHECK(&p,
				  filled(&p, i, p.b.buf + SINK + wc[0].wr_id * SLOT, wc[0].bytes));
			FIX_REQUIRE(&p, sim_end_recv(&p.b, wc[0].wr_id, SINK + wc[0].wr_id * SLOT,
						     SLOT) == 0);
		}
		for (got = 0; got < 60; got += n) {
			n = sim_end_wait(&p.a, wc, 1, FIX_LIMIT_NS);
			FIX_REQUIRE(&p, n == 1 && wc[0].status == WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

/* Below the limit one event is raised, once; setting the limit arms it again. */
static void limit_event(void)
{
	const struct weft_srq_attr limit = {.limit = 4};
	struct weft_async_event event;
	struct weft_srq_attr is;
	struct pair p;
	uint64_t seed, irqs;
	uint32_t i, round;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		for (round = 0; round < 2; round++) {
			for (i = 0; i < 8; i++)
				FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK, SLOT) == 0);
			FIX_REQUIRE(&p, weft_modify_srq(p.b.srq, &limit, WEFT_SRQ_LIMIT) == 0);
			FIX_REQUIRE(&p, weft_query_srq(p.b.srq, &is) == 0);
			FIX_CHECK(&p, is.limit == 4 && is.max_wr >= WR);
			irqs = sim_nic_counts(p.nb)->irqs;
			for (i = 0; i < 8; i++) {
				struct post request = {.wr_id = i, .bytes = 100};

				FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
				expect(&p, &p.a, i, WEFT_WC_SUCCESS);
				FIX_CHECK(&p, (sim_nic_counts(p.nb)->irqs > irqs) == (i >= 4));
			}
			FIX_CHECK(&p, sim_nic_counts(p.nb)->irqs == irqs + 1);
			FIX_REQUIRE(&p, weft_get_async_event(p.b.context, &event) == 0);
			FIX_CHECK(&p, event.type == WEFT_EVENT_SRQ_LIMIT && event.srq == p.b.srq);
			weft_ack_async_event(&event);
			FIX_REQUIRE(&p, weft_query_srq(p.b.srq, &is) == 0);
			FIX_CHECK(&p, is.limit == 0);
			for (i = 0; i < 8; i++)
				expect(&p, &p.b, i, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

/* No receive is posted: the messages wait, and arrive in order when receives are posted. */
static void empty(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &faulty);
		for (i = 0; i < 10; i++) {
			struct post request = {.wr_id = i, .bytes = SLOT, .offset = i * SLOT};

			fill(&p, i, p.a.buf + i * SLOT, SLOT);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
		}
		FIX_CHECK(&p, silent(&p, &p.a, 3 * FIX_MS));
		for (i = 0; i < 10; i++) {
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 100 + i, SINK, SLOT) == 0);
			expect(&p, &p.b, 100 + i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, SLOT));
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

UT_MAIN("sim/srq", UT(two_qps), UT(limit_event), UT(empty))
