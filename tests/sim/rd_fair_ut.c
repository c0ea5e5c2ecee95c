/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fairness of RD, between QPs of one session and between peers. Bulk QPs that keep long and short
 * messages open get equal shares of the bytes; a QP with single small messages next to them waits
 * for at most a turn of each; two peers share a NIC's line; a peer of a tagged endpoint that sends
 * what nobody receives does not slow down another.
 */
#include "host_driver/weft_tag.h"
#include "tests/sim/sim_fix.h"

enum {
	BULKS = 4,
	LONG = 262144,
	SHORT = 4 * 3992, /* whole segments: turns are counted in packets */
	SMALL_ID = 9999,
	TOLERANCE = 10, /* per cent of the mean */
};

struct bulk {
	struct weft_qp *qp;
	struct weft_ah *ah;
	const struct sim_end *peer;
	uint32_t dst_qpn;
	uint32_t bytes; /* of a message */
	uint32_t open;  /* messages kept open */
	uint64_t done_bytes;
};

static struct bulk bulk[BULKS];
static struct pair p;

static void post_bulk(uint32_t i)
{
	struct post put = {.opcode = WEFT_WR_WRITE,
			   .wr_id = i,
			   .bytes = bulk[i].bytes,
			   .remote_offset = 0,
			   .qp = bulk[i].qp,
			   .dst_qpn = bulk[i].dst_qpn};

	FIX_REQUIRE(&p, post(&p.a, bulk[i].ah, bulk[i].peer, &put) == 0);
}

/*
 * Runs for a time; if qp is given, a small Write is always in flight on it. Returns its longest
 * time.
 */
static uint64_t work(struct weft_qp *qp, uint32_t dst_qpn, uint64_t ns)
{
	struct post small = {.opcode = WEFT_WR_WRITE,
			     .wr_id = SMALL_ID,
			     .bytes = 64,
			     .remote_offset = SHORT,
			     .qp = qp,
			     .dst_qpn = dst_qpn};
	uint64_t end_ns = sim_now_ns(p.sim) + ns, posted_ns = 0, worst_ns = 0;
	struct weft_wc wc;
	uint32_t i, k;

	for (i = 0; i < BULKS; i++)
		for (k = 0; k < bulk[i].open; k++)
			post_bulk(i);
	while (sim_now_ns(p.sim) < end_ns) {
		if (qp && !posted_ns) {
			posted_ns = sim_now_ns(p.sim);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &small) == 0);
		}
		FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_REQUIRE(&p, wc.status == WEFT_WC_SUCCESS);
		if (wc.wr_id == SMALL_ID) {
			if (sim_now_ns(p.sim) - posted_ns > worst_ns)
				worst_ns = sim_now_ns(p.sim) - posted_ns;
			posted_ns = 0;
			continue;
		}
		bulk[wc.wr_id].done_bytes += bulk[wc.wr_id].bytes;
		post_bulk((uint32_t)wc.wr_id);
	}
	return worst_ns;
}

static void check_shares(void)
{
	uint64_t mean = 0;
	uint32_t i;

	for (i = 0; i < BULKS; i++)
		mean += bulk[i].done_bytes / BULKS;
	for (i = 0; i < BULKS; i++) {
		bool fair = bulk[i].done_bytes * 100 > mean * (100 - TOLERANCE) &&
			    bulk[i].done_bytes * 100 < mean * (100 + TOLERANCE);

		if (!fair)
			printf("\n    share %u: %llu bytes, the mean is %llu", i,
			       (unsigned long long)bulk[i].done_bytes, (unsigned long long)mean);
		FIX_CHECK(&p, fair);
	}
}

static void make_bulk(uint32_t i, const struct sim_end *peer, struct weft_ah *ah, uint32_t dst_qpn)
{
	bulk[i] = (struct bulk){
	    .qp = extra_qp(&p.a, WEFT_QPT_RD, false),
	    .ah = ah,
	    .peer = peer,
	    .dst_qpn = dst_qpn,
	    .bytes = i % 2 ? SHORT : LONG,
	    .open = i % 2 ? 16 : 4,
	};
}

/* Two QPs with long messages, two with short ones, one with single small ones; one session. */
static void between_qps(void)
{
	uint64_t worst_ns;
	struct weft_qp *small, *sink;
	uint32_t i;

	pair_open(&p, 1, NULL);
	for (i = 0; i < BULKS; i++)
		make_bulk(i, &p.b, p.ab, extra_qp(&p.b, WEFT_QPT_RD, false)->qpn);
	small = extra_qp(&p.a, WEFT_QPT_RD, false);
	sink = extra_qp(&p.b, WEFT_QPT_RD, false);
	worst_ns = work(small, sink->qpn, 30 * FIX_MS);
	check_shares();
	/*
	 * At most a window of 128 packets is ahead of it on the line, at 1.4 us each, and a turn of
	 * 8 packets of each of the four; twice that while the window opens.
	 */
	if (worst_ns >= 400000)
		printf("\n    a small message took %llu ns", (unsigned long long)worst_ns);
	FIX_CHECK(&p, worst_ns < 400000);
	pair_close(&p);
}

/* Half of the bulk goes to another peer: each session gets the same share. */
static void between_peers(void)
{
	struct weft_ah *ac;
	struct sim_end c;
	uint32_t i;

	pair_open(&p, 2, NULL);
	FIX_REQUIRE(&p, sim_end_open(&c, sim_nic_new(p.sim), NULL) == 0);
	ac = sim_end_ah(&p.a, sim_proc_nic(c.proc));
	FIX_REQUIRE(&p, ac != NULL);
	for (i = 0; i < BULKS; i++)
		make_bulk(i, i < 2 ? &p.b : &c, i < 2 ? p.ab : ac,
			  extra_qp(i < 2 ? &p.b : &c, WEFT_QPT_RD, false)->qpn);
	work(NULL, 0, 30 * FIX_MS);
	check_shares();
	sim_end_close(&c);
	pair_close(&p);
}

/* ---- peers of a tagged endpoint */

enum {
	FLOOD = 600, /* messages that nobody receives */
	FLOOD_BYTES = 4096,
	ROUNDS = 40,
	ROUND_BYTES = 1000,
	ROUND_TAG = 1,
};

static struct weft_tag_ep *tag_ep(struct sim_end *end, uint64_t pool_bytes)
{
	struct weft_tag_attr attr = {.send_cq = end->cq,
				     .recv_cq = end->cq,
				     .cap = {.max_send_wr = FLOOD, .max_recv_wr = 64},
				     .qkey = SIM_END_QKEY,
				     .eager_bytes = FLOOD_BYTES,
				     .pool_bytes = pool_bytes};

	/* The pool is of libweft's own memory. */
	sim_proc_move_memory(end->proc);
	return weft_open_tag_ep(end->pd, &attr);
}

static void tag_send(struct weft_tag_ep *ep, struct weft_ah *ah, const struct weft_tag_ep *to,
		     struct weft_sge *sge, uint64_t tag)
{
	const struct weft_tag_send_wr wr = {
	    .sg_list = sge, .num_sge = 1, .ah = ah, .dst_qpn = to->qp->qpn, .tag = tag};

	FIX_REQUIRE(&p, weft_tag_send(ep, &wr) == 0);
}

/* Sends unexpected messages, one at a time, and receives them. Returns the time of the slowest. */
static uint64_t exchange(struct weft_tag_ep *from, struct weft_tag_ep *to)
{
	struct weft_sge out = sim_end_sge(&p.a, 0, ROUND_BYTES);
	struct weft_sge in = sim_end_sge(&p.b, 0, ROUND_BYTES);
	const struct weft_tag_recv_wr wr = {
	    .sg_list = &in, .num_sge = 1, .src_qpn = WEFT_TAG_ANY_QPN, .tag = ROUND_TAG};
	uint64_t begin_ns, worst_ns = 0;
	struct weft_wc wc;
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		begin_ns = sim_now_ns(p.sim);
		tag_send(from, p.ab, to, &out, ROUND_TAG);
		FIX_REQUIRE(&p, sim_end_wait(&p.a, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&p, wc.status == WEFT_WC_SUCCESS);
		FIX_REQUIRE(&p, weft_tag_recv(to, &wr, NULL) == 0);
		FIX_REQUIRE(&p, sim_end_wait(&p.b, &wc, 1, FIX_LIMIT_NS) == 1);
		FIX_CHECK(&p, wc.status == WEFT_WC_SUCCESS && wc.bytes == ROUND_BYTES);
		if (sim_now_ns(p.sim) - begin_ns > worst_ns)
			worst_ns = sim_now_ns(p.sim) - begin_ns;
	}
	return worst_ns;
}

/* One fills all it may of a small pool; the other's messages find room in it as before. */
static void between_tagged_peers(void)
{
	struct weft_tag_ep *a, *b, *flood;
	uint64_t alone_ns, beside_ns;
	struct weft_tag_stats stats;
	struct weft_sge sge;
	struct weft_ah *cb;
	struct sim_end c;
	uint32_t i;

	pair_open(&p, 3, NULL);
	FIX_REQUIRE(&p, sim_end_open(&c, sim_nic_new(p.sim), NULL) == 0);
	cb = sim_end_ah(&c, p.nb);
	a = tag_ep(&p.a, 65536);
	b = tag_ep(&p.b, 262144);
	flood = tag_ep(&c, 65536);
	FIX_REQUIRE(&p, cb && a && b && flood);
	(void)exchange(a, b);
	alone_ns = exchange(a, b);
	sge = sim_end_sge(&c, 0, FLOOD_BYTES);
	for (i = 0; i < FLOOD; i++)
		tag_send(flood, cb, b, &sge, ROUND_TAG + 1);
	sim_run_for(p.sim, 20 * FIX_MS);
	FIX_REQUIRE(&p, weft_query_tag_ep(b, &stats) == 0);
	FIX_CHECK(&p, stats.pool_refused > 0 && stats.unexpected == FLOOD);
	beside_ns = exchange(a, b);
	FIX_REQUIRE(&p, weft_query_tag_ep(b, &stats) == 0);
	/* None of its messages was made an RTS. */
	FIX_CHECK(&p, stats.rendezvous == 0);
	FIX_CHECK(&p, beside_ns < 2 * alone_ns);
	printf(" the slowest of %d: %llu ns alone, %llu ns beside ", ROUNDS,
	       (unsigned long long)alone_ns, (unsigned long long)beside_ns);
	weft_close_tag_ep(flood);
	weft_close_tag_ep(a);
	weft_close_tag_ep(b);
	sim_end_close(&c);
	pair_close(&p);
}

UT_MAIN("sim/rd_fair", UT(between_qps), UT(between_peers), UT(between_tagged_peers))
