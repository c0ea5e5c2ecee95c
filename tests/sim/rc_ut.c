/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC queue pairs set up with modify_qp alone, over the reliable datagram engine: order of receives,
 * every operation, the incarnation tag, the error state, and processes on different shards of a
 * NIC.
 */
#include "tests/sim/sim_fix.h"

/* rc_esp_ut.c and rc_tcp_ut.c run the tests common to all transports over the other two. */
#ifndef RC_TRANSPORT
#define RC_TRANSPORT WEFT_QP_TRANSPORT_RD
#endif
/* The opcode of Sends that carry a number. */
#ifndef RC_SEND_IMM
#define RC_SEND_IMM WEFT_WR_SEND_IMM
#endif

enum {
	SINK = 512 * 1024,
	SLOT = 16384,
};

static const struct pair_attr rc = {
    .faults = FIX_FAULTS, .a = {.type = WEFT_QPT_RC, .inactive = true}, .same = true};

#ifndef RC_TCP
static uint8_t rnr_retry = 7;

/* Brings one end to RTS towards the other. */
static void connect_end(struct pair *p, struct sim_end *end, const struct sim_end *peer,
			const struct sim_nic *peer_nic, uint32_t sq_psn, uint32_t rq_psn)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .transport = RC_TRANSPORT,
				    .access = WEFT_ACCESS_REMOTE_WRITE | WEFT_ACCESS_REMOTE_READ |
					      WEFT_ACCESS_REMOTE_ATOMIC};

	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
					  WEFT_QP_TRANSPORT | WEFT_QP_ACCESS_FLAGS) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR,
				     .path_mtu_bytes = 4096,
				     .dst_qpn = peer->qp->qpn,
				     .rq_psn = rq_psn,
				     .max_dest_rd_atomic = 8,
				     .min_rnr_timer = 5};
	attr.av = weft_av_ip(sim_nic_ip(peer_nic));
	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_AV | WEFT_QP_PATH_MTU |
					  WEFT_QP_DEST_QPN | WEFT_QP_RQ_PSN |
					  WEFT_QP_MAX_DEST_RD_ATOMIC | WEFT_QP_MIN_RNR_TIMER) == 0);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS,
				     .timeout = 10,
				     .retry_cnt = 7,
				     .rnr_retry = rnr_retry,
				     .sq_psn = sq_psn,
				     .max_rd_atomic = 8};
	FIX_REQUIRE(p, weft_modify_qp(end->qp, &attr,
				      WEFT_QP_STATE | WEFT_QP_TIMEOUT | WEFT_QP_RETRY_CNT |
					  WEFT_QP_RNR_RETRY | WEFT_QP_SQ_PSN |
					  WEFT_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void open_rc(struct pair *p, uint64_t seed)
{
	pair_open(p, seed, &rc);
	connect_end(p, &p->a, &p->b, p->nb, 0x111111, 0x222222);
	connect_end(p, &p->b, &p->a, p->na, 0x222222, 0x111111);
}

#define close_rc pair_close
#endif

/* Messages take receives in the order of both queues. */
static void order_of_receives(void)
{
	struct weft_wc wc;
	struct pair p;
	uint64_t seed;
	uint32_t i, j;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		open_rc(&p, seed);
		for (i = 0; i < 20; i++)
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 1000 + i, SINK + i * SLOT, SLOT) == 0);
		for (j = 0; j < 200; j += 20) {
			for (i = j; i < j + 20; i++) {
				struct post request = {.wr_id = i,
						       .offset = i % 20 * SLOT,
						       .bytes = (i * 911) % SLOT,
						       .opcode = i % 3 ? WEFT_WR_SEND : RC_SEND_IMM,
						       .imm = i};

				fill(&p, i, p.a.buf + request.offset, request.bytes);
				FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
			}
			for (i = j; i < j + 20; i++) {
				wc = expect(&p, &p.b, 1000 + i % 20, WEFT_WC_SUCCESS);
				FIX_CHECK(&p, wc.bytes == (i * 911) % SLOT);
				FIX_CHECK(&p, i % 3 || RC_SEND_IMM == WEFT_WR_SEND || wc.imm == i);
				FIX_CHECK(&p,
					  filled(&p, i, p.b.buf + SINK + i % 20 * SLOT, wc.bytes));
				FIX_REQUIRE(&p, sim_end_recv(&p.b, 1000 + i % 20,
							     SINK + i % 20 * SLOT, SLOT) == 0);
			}
			for (i = j; i < j + 20; i++)
				expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		}
		close_rc(&p);
	}
}

/* Each is carried out once, in its order, whatever its page does. */
static void slow_atomics(struct pair *p, uint32_t round)
{
	enum {
		WORD = SINK + 4 * SLOT, /* in both buffers */
		DEPTH = 4,
	};
	const uint64_t first = round * 2 * DEPTH;
	uint64_t word, old;
	uint32_t i;

	for (i = 0; i < DEPTH; i++) {
		struct post add = {.opcode = WEFT_WR_FETCH_ADD,
				   .wr_id = 10 + i,
				   .bytes = 8,
				   .offset = WORD + i * 16,
				   .compare_add = 1,
				   .remote_offset = WORD};
		struct post swap = {.opcode = WEFT_WR_CMP_SWAP,
				    .wr_id = 20 + i,
				    .bytes = 8,
				    .offset = WORD + i * 16 + 8,
				    .compare_add = first + 2 * i + 1,
				    .swap = first + 2 * i + 2,
				    .remote_offset = WORD};

		FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &add) == 0);
		FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &swap) == 0);
	}
	for (i = 0; i < DEPTH; i++) {
		expect(p, &p->a, 10 + i, WEFT_WC_SUCCESS);
		expect(p, &p->a, 20 + i, WEFT_WC_SUCCESS);
		memcpy(&old, p->a.buf + WORD + i * 16, 8);
		FIX_CHECK(p, old == first + 2 * i);
		memcpy(&old, p->a.buf + WORD + i * 16 + 8, 8);
		FIX_CHECK(p, old == first + 2 * i + 1);
	}
	memcpy(&word, p->b.buf + WORD, 8);
	FIX_CHECK(p, word == first + 2 * DEPTH);
}

/*
 * Memory that is not mapped, with pages that arrive late: data that cannot be read is not sent,
 * data that cannot be placed is not accepted, and both are retried until every byte is right.
 */
static void slow_pages(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	fix_no_host_map = true;
	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		open_rc(&p, seed);
		sim_host_busy(p.sim, 50000);
		for (i = 0; i < 30; i++) {
			uint32_t bytes = 1 + (i * 1777) % SLOT;
			struct post send = {.wr_id = 1, .bytes = bytes};
			struct post put = {.opcode = WEFT_WR_WRITE,
					   .wr_id = 2,
					   .bytes = bytes,
					   .remote_offset = SINK + SLOT};
			struct post get = {.opcode = WEFT_WR_READ,
					   .wr_id = 3,
					   .bytes = bytes,
					   .offset = SINK + SLOT,
					   .remote_offset = SINK};

			fill(&p, i, p.a.buf, bytes);
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 1000, SINK, SLOT) == 0);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &send) == 0);
			expect(&p, &p.b, 1000, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
			expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &get) == 0);
			expect(&p, &p.a, 3, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, bytes));
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK + SLOT, bytes));
			FIX_CHECK(&p, filled(&p, i, p.a.buf + SINK + SLOT, bytes));
			slow_atomics(&p, i);
		}
		FIX_CHECK(&p, sim_nic_stat(p.na, "host_busy") > 0);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "host_busy") > 0);
		close_rc(&p);
	}
	fix_no_host_map = false;
}

/* A counter of a NIC that must exceed its initial value. */
struct more {
	struct sim_nic *nic;
	const char *name;
	uint64_t than;
};

static bool is_more(void *ctx)
{
	const struct more *more = ctx;

	return sim_nic_stat(more->nic, more->name) > more->than;
}

/*
 * An atomic is executed, and the page for its response arrives late: meanwhile the response is not
 * accepted, and the request neither fails nor is executed again.
 */
static void slow_answers(void)
{
	struct pair p;
	uint64_t seed, old, left;
	uint32_t i;

	fix_no_host_map = true;
	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		open_rc(&p, seed);
		for (i = 0; i < 20; i++) {
			struct post add = {.opcode = WEFT_WR_FETCH_ADD,
					   .wr_id = 3,
					   .bytes = 8,
					   .offset = SINK,
					   .compare_add = 5,
					   .remote_offset = SINK};
			struct more done = {p.nb, "atomics_executed", i};
			struct more busy = {p.na, "host_busy", sim_nic_stat(p.na, "host_busy")};

			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &add) == 0);
			FIX_REQUIRE(&p, sim_run_until(p.sim, is_more, &done, FIX_LIMIT_NS));
			sim_host_busy(p.sim, 1000000);
			FIX_REQUIRE(&p, sim_run_until(p.sim, is_more, &busy, FIX_LIMIT_NS));
			sim_run_for(p.sim, 300000);
			sim_host_busy(p.sim, 0);
			expect(&p, &p.a, 3, WEFT_WC_SUCCESS);
			memcpy(&old, p.a.buf + SINK, 8);
			memcpy(&left, p.b.buf + SINK, 8);
			FIX_CHECK(&p, old == 5 * i && left == 5 * i + 5);
		}
		FIX_CHECK(&p, sim_nic_stat(p.nb, "atomics_executed") == 20);
		close_rc(&p);
	}
	fix_no_host_map = false;
}

static void operations(void)
{
	struct pair p;
	uint64_t seed, old;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		open_rc(&p, seed);
		for (i = 0; i < 60; i++) {
			uint32_t bytes = (i * 1777) % 60000;
			struct post put = {.opcode = WEFT_WR_WRITE,
					   .wr_id = 1,
					   .bytes = bytes,
					   .remote_offset = SINK};
			struct post get = {.opcode = WEFT_WR_READ,
					   .wr_id = 2,
					   .bytes = bytes,
					   .offset = SINK,
					   .remote_offset = SINK};
			struct post add = {.opcode = WEFT_WR_FETCH_ADD,
					   .wr_id = 3,
					   .bytes = 8,
					   .offset = SINK + 65536,
					   .compare_add = 5,
					   .remote_offset = SINK + 65536};

			fill(&p, i, p.a.buf, bytes);
			memset(p.a.buf + SINK, 0xee, bytes);
			/* The read is executed after the write, as posted. */
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &put) == 0);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &get) == 0);
			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &add) == 0);
			expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 3, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, bytes));
			FIX_CHECK(&p, filled(&p, i, p.a.buf + SINK, bytes));
			memcpy(&old, p.a.buf + SINK + 65536, 8);
			FIX_CHECK(&p, old == 5 * i);
		}
		close_rc(&p);
	}
}

#ifdef RC_STREAM
/*
 * Deregisters a region while packets of a Write are made from it, or responses to a Read: number 1
 * or 2.
 */
static void withdraw(struct pair *p, bool read)
{
	struct post put = {.opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = 400000};
	struct post get = {.opcode = WEFT_WR_READ, .wr_id = 2, .bytes = 400000};
	struct sim_end *from = read ? &p->b : &p->a;
	struct weft_mr *mr = weft_reg_mr(from->pd, from->buf, 400000,
					 WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_READ);
	struct weft_sge sge;

	FIX_REQUIRE(p, mr != NULL);
	sge = (struct weft_sge){(uintptr_t)p->a.buf, 400000, mr->lkey};
	if (read) {
		get.rkey = mr->rkey;
		FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &get) == 0);
	} else {
		put.sge = &sge;
		put.num_sge = 1;
		FIX_REQUIRE(p, post(&p->a, NULL, &p->b, &put) == 0);
	}
	FIX_CHECK(p, silent(p, &p->a, 20000));
	FIX_REQUIRE(p, weft_dereg_mr(mr) == 0);
}

/* Both ends send all kinds of requests at once, more than the queues hold at a time. */
static void both_ways(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i, e;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		open_rc(&p, seed);
		for (i = 0; i < 40; i++) {
			for (e = 0; e < 2; e++) {
				struct sim_end *from = e ? &p.b : &p.a, *to = e ? &p.a : &p.b;
				struct post put = {.opcode = WEFT_WR_WRITE_IMM,
						   .wr_id = i,
						   .bytes = i * 977,
						   .remote_offset = SINK,
						   .imm = i};
				struct post get = {.opcode = WEFT_WR_READ,
						   .wr_id = 1000 + i,
						   .bytes = i * 977,
						   .offset = SINK + 100000,
						   .remote_offset = SINK};

				fill(&p, 2 * i + e, from->buf, put.bytes);
				FIX_REQUIRE(&p, sim_end_recv(to, 500 + i, SINK + 300000, 10) == 0);
				FIX_REQUIRE(&p, post(from, NULL, to, &put) == 0);
				FIX_REQUIRE(&p, post(from, NULL, to, &get) == 0);
			}
			for (e = 0; e < 2; e++) {
				struct sim_end *from = e ? &p.b : &p.a;
				struct weft_wc wc;
				uint32_t k, seen = 0;

				for (k = 0; k < 3; k++) {
					FIX_REQUIRE(&p,
						    sim_end_wait(from, &wc, 1, FIX_LIMIT_NS) == 1);
					FIX_CHECK(&p, wc.status == WEFT_WC_SUCCESS);
					seen |= wc.wr_id == i          ? 1
						: wc.wr_id == 1000 + i ? 2
						: wc.wr_id == 500 + i  ? 4
								       : 8;
				}
				FIX_CHECK(&p, seen == 7);
				FIX_CHECK(
				    &p, filled(&p, 2 * i + e, from->buf + SINK + 100000, i * 977));
			}
		}
		close_rc(&p);
	}
}
#endif

#ifndef RC_STREAM
/*
 * Ends with different PSNs are not one connection: nothing is delivered, and an event reports it.
 */
static void other_incarnation(void)
{
	struct post request = {.wr_id = 1, .bytes = 100};
	struct pair p;

	pair_open(&p, 1, &rc);
	connect_end(&p, &p.a, &p.b, p.nb, 0x111111, 0x222222);
	connect_end(&p, &p.b, &p.a, p.na, 0x222222, 0x111112);
	FIX_REQUIRE(&p, sim_end_recv(&p.b, 2, SINK, 100) == 0);
	FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &request) == 0);
	expect(&p, &p.a, 1, WEFT_WC_REM_OP_ERR);
	FIX_CHECK(&p, silent(&p, &p.b, FIX_MS));
	FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_incarnation") > 0);
	pair_close(&p);
}

#endif

#ifndef RC_TCP
/* A failed request puts the QP into its error state and flushes the rest. */
static void error_state(void)
{
	struct weft_qp_attr attr;
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct post bad = {.opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = 1000};

		open_rc(&p, seed);
		bad.rkey = p.b.mr->rkey ^ 0x77;
		FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &bad) == 0);
		for (i = 2; i < 6; i++) {
			struct post good = {.opcode = WEFT_WR_WRITE, .wr_id = i, .bytes = 1000};

			FIX_REQUIRE(&p, post(&p.a, NULL, &p.b, &good) == 0);
		}
		expect(&p, &p.a, 1, WEFT_WC_REM_ACCESS_ERR);
		for (i = 2; i < 6; i++)
			expect(&p, &p.a, i, WEFT_WC_WR_FLUSH_ERR);
		FIX_REQUIRE(&p, weft_query_qp(p.a.qp, &attr, NULL) == 0);
		FIX_CHECK(&p, attr.state == WEFT_QPS_ERR);
		FIX_CHECK(&p, attr.timeout == 10 && attr.retry_cnt == 7 && attr.sq_psn == 0x111111);
		pair_close(&p);
	}
}

#endif

#ifndef RC_STREAM
/* Four processes on each NIC, one on each of its four shards: all reach all. */
static void across_shards(void)
{
	const struct pair_attr four = {.faults = FIX_FAULTS, .shards = 4};
	struct sim_end from[4], to[4];
	struct pair p;
	uint64_t seed;
	uint32_t i, j;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &four);
		for (i = 0; i < 4; i++) {
			FIX_REQUIRE(&p, sim_end_open(&from[i], p.na, NULL) == 0);
			FIX_REQUIRE(&p, sim_end_open(&to[i], p.nb, NULL) == 0);
		}
		for (i = 0; i < 4; i++) {
			struct weft_ah *ah = sim_end_ah(&from[i], p.nb);

			FIX_REQUIRE(&p, ah != NULL);
			for (j = 0; j < 16; j++)
				FIX_CHECK(&p, sim_proc_shard(from[i].proc) ==
						  (from[i].qp->qpn >> 16 & 7));
			for (j = 0; j < 4; j++) {
				struct post request = {.wr_id = 4 * i + j, .bytes = 50000};

				fill(&p, 4 * i + j, from[i].buf, 50000);
				FIX_REQUIRE(&p, sim_end_recv(&to[j], i, SINK, 50000) == 0);
				FIX_REQUIRE(&p, post(&from[i], ah, &to[j], &request) == 0);
				expect(&p, &to[j], i, WEFT_WC_SUCCESS);
				expect(&p, &from[i], 4 * i + j, WEFT_WC_SUCCESS);
				FIX_CHECK(&p, filled(&p, 4 * i + j, to[j].buf + SINK, 50000));
			}
		}
		for (i = 0; i < 4; i++) {
			sim_end_close(&from[i]);
			sim_end_close(&to[i]);
		}
		pair_close(&p);
	}
}

UT_MAIN("sim/rc", UT(order_of_receives), UT(operations), UT(slow_pages), UT(slow_answers),
	UT(other_incarnation), UT(error_state), UT(across_shards))
#endif
