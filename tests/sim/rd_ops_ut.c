/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every operation of reliable datagrams, byte by byte, at several seeds, over links that lose,
 * duplicate and reorder 1 % of the frames each.
 */
#include "tests/sim/sim_fix.h"

enum {
	SINK = 512 * 1024, /* offset of received data in the buffers; the first half is sources */
	GUARD = 256,
};

static const uint32_t sizes[] = {0,    1,    63,   64,    65,    255,    1000,  3900,
				 4000, 4096, 8192, 20000, 65536, 131072, 65535, 7};
enum {
	NUM_SIZES = sizeof(sizes) / sizeof(sizes[0]),
};

static const struct pair_attr faulty = {.faults = FIX_FAULTS};
/* One side's memory is reached through host_read and host_write. */
static const struct pair_attr faulty_unmapped = {.faults = FIX_FAULTS, .b = {.unmapped = true}};

static const struct pair_attr *attr_of(uint64_t seed)
{
	return seed % 2 ? &faulty : &faulty_unmapped;
}

/*
 * One message of each size with an opcode that consumes a receive; checks the completion of both.
 */
static void two_sided(struct pair *p, enum weft_wr_opcode opcode, uint32_t round, uint32_t size)
{
	struct post request = {.opcode = opcode,
			       .wr_id = round,
			       .bytes = size,
			       .imm = 0xabcd0000 + round,
			       .remote_offset = SINK + GUARD};
	bool write = opcode == WEFT_WR_WRITE_IMM;
	struct weft_wc wc;

	fill(p, round, p->a.buf, size);
	memset(p->b.buf + SINK, 0xee, size + 2 * GUARD);
	FIX_REQUIRE(p,
		    sim_end_recv(&p->b, 1000 + round, write ? 0 : SINK + GUARD, size + GUARD) == 0);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &request) == 0);
	wc = expect(p, &p->b, 1000 + round, WEFT_WC_SUCCESS);
	FIX_CHECK(p, wc.bytes == size);
	FIX_CHECK(p, wc.opcode == (write ? WEFT_WC_RECV_WRITE_IMM : WEFT_WC_RECV));
	FIX_CHECK(p, wc.src_qpn == p->a.qp->qpn && wc.qpn == p->b.qp->qpn);
	FIX_CHECK(p, wc.src_ip == sim_nic_ip(p->na));
	FIX_CHECK(p, !(wc.flags & WEFT_WC_F_IMM) == (opcode == WEFT_WR_SEND));
	if (wc.flags & WEFT_WC_F_IMM)
		FIX_CHECK(p, wc.imm == 0xabcd0000 + round);
	FIX_CHECK(p, filled(p, round, p->b.buf + SINK + GUARD, size));
	FIX_CHECK(p, all_bytes(p->b.buf + SINK, 0xee, GUARD));
	FIX_CHECK(p, all_bytes(p->b.buf + SINK + GUARD + size, 0xee, GUARD));
	wc = expect(p, &p->a, round, WEFT_WC_SUCCESS);
	FIX_CHECK(p, wc.opcode == (write ? WEFT_WC_WRITE : WEFT_WC_SEND));
}

static void all_sizes(enum weft_wr_opcode opcode)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (i = 0; i < 4 * NUM_SIZES; i++)
			two_sided(&p, opcode, i, sizes[i % NUM_SIZES]);
		pair_close(&p);
	}
}

static void send(void)
{
	all_sizes(WEFT_WR_SEND);
}

static void send_imm(void)
{
	all_sizes(WEFT_WR_SEND_IMM);
}

static void write_imm(void)
{
	all_sizes(WEFT_WR_WRITE_IMM);
}

/*
 * Many messages in flight at once are delivered in the order of posting, each whole. Each takes the
 * receive that was there when its first packet came, which the test leaves open.
 */
static void send_pipelined(void)
{
	enum {
		COUNT = 400,
		DEPTH = 32,
		SLOT = 8192
	};
	uint32_t posted, sent, got, n, i;
	struct weft_wc wc[8];
	struct pair p;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (i = 0; i < DEPTH; i++)
			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK + i * SLOT, SLOT) == 0);
		for (posted = sent = got = 0; sent < COUNT || got < COUNT;) {
			uint32_t limit = (got < sent ? got : sent) + DEPTH;

			for (; posted < COUNT && posted < limit; posted++) {
				uint8_t *at = p.a.buf + posted % DEPTH * SLOT;
				uint32_t bytes = 4 + (posted * 977) % (SLOT - 4);
				struct post request = {.wr_id = posted,
						       .bytes = bytes,
						       .offset = posted % DEPTH * SLOT};

				fill(&p, posted, at, bytes);
				FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			}
			n = sim_end_wait(&p.b, wc, 1, got < COUNT ? FIX_LIMIT_NS : 0);
			for (i = 0; i < n; i++, got++) {
				FIX_REQUIRE(&p, wc[i].status == WEFT_WC_SUCCESS);
				FIX_REQUIRE(&p, wc[i].bytes == 4 + (got * 977) % (SLOT - 4));
				FIX_CHECK(&p, filled(&p, got, p.b.buf + SINK + wc[i].wr_id * SLOT,
						     wc[i].bytes));
				FIX_REQUIRE(&p, sim_end_recv(&p.b, wc[i].wr_id,
							     SINK + wc[i].wr_id * SLOT, SLOT) == 0);
			}
			n = sim_end_wait(&p.a, wc, 1, got < COUNT ? 0 : FIX_LIMIT_NS);
			FIX_REQUIRE(&p, n || got < COUNT || sent == COUNT);
			for (i = 0; i < n; i++, sent++)
				FIX_REQUIRE(&p,
					    wc[i].status == WEFT_WC_SUCCESS && wc[i].wr_id == sent);
		}
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_tx_retransmits") > 0);
		pair_close(&p);
	}
}

static void write(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (i = 0; i < 4 * NUM_SIZES; i++) {
			uint32_t size = sizes[i % NUM_SIZES];
			struct post request = {.opcode = WEFT_WR_WRITE,
					       .wr_id = i,
					       .bytes = size,
					       .offset = 3,
					       .remote_offset = SINK + GUARD};
			struct weft_wc wc;

			fill(&p, i, p.a.buf + 3, size);
			memset(p.b.buf + SINK, 0xee, size + 2 * GUARD);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			wc = expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.opcode == WEFT_WC_WRITE);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK + GUARD, size));
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK, 0xee, GUARD));
			FIX_CHECK(&p, all_bytes(p.b.buf + SINK + GUARD + size, 0xee, GUARD));
		}
		FIX_CHECK(&p, silent(&p, &p.b, FIX_MS));
		pair_close(&p);
	}
}

static void read(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (i = 0; i < 4 * NUM_SIZES; i++) {
			uint32_t size = sizes[i % NUM_SIZES];
			struct post request = {.opcode = WEFT_WR_READ,
					       .wr_id = i,
					       .bytes = size,
					       .offset = SINK + GUARD,
					       .remote_offset = 5};
			struct weft_wc wc;

			fill(&p, i, p.b.buf + 5, size);
			memset(p.a.buf + SINK, 0xee, size + 2 * GUARD);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			wc = expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.opcode == WEFT_WC_READ && wc.bytes == size);
			FIX_CHECK(&p, filled(&p, i, p.a.buf + SINK + GUARD, size));
			FIX_CHECK(&p, all_bytes(p.a.buf + SINK, 0xee, GUARD));
			FIX_CHECK(&p, all_bytes(p.a.buf + SINK + GUARD + size, 0xee, GUARD));
		}
		FIX_CHECK(&p, silent(&p, &p.b, FIX_MS));
		pair_close(&p);
	}
}

/* Both ends add to one counter: each old value is seen once, so each add was done once. */
static void fetch_add(void)
{
	enum {
		COUNT = 300,
		DEPTH = 16
	};
	uint8_t seen[2 * COUNT];
	uint32_t posted, done, i;
	struct weft_wc wc;
	uint64_t seed, old;
	struct pair p;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct sim_end *ends[2];

		pair_open(&p, seed, attr_of(seed));
		ends[0] = &p.a;
		ends[1] = &p.b;
		memset(seen, 0, sizeof(seen));
		/* b adds to its own memory over the internal link. */
		struct weft_ah *self = sim_end_ah(&p.b, p.nb);

		FIX_REQUIRE(&p, self != NULL);
		for (posted = done = 0; done < 2 * COUNT;) {
			for (; posted < 2 * COUNT && posted < done + DEPTH; posted++) {
				struct post request = {.opcode = WEFT_WR_FETCH_ADD,
						       .wr_id = posted,
						       .bytes = 8,
						       .offset = 64 + (size_t)posted * 8,
						       .compare_add = 3,
						       .remote_offset = SINK};

				FIX_REQUIRE(&p, post(ends[posted % 2], posted % 2 ? self : p.ab,
						     &p.b, &request) == 0);
			}
			for (i = 0; i < 2; i++) {
				while (sim_end_wait(ends[i], &wc, 1, 2000)) {
					FIX_REQUIRE(&p, wc.status == WEFT_WC_SUCCESS);
					FIX_CHECK(&p, wc.opcode == WEFT_WC_FETCH_ADD);
					memcpy(&old, ends[i]->buf + 64 + wc.wr_id * 8, 8);
					FIX_REQUIRE(&p, old % 3 == 0 && old / 3 < 2 * COUNT);
					FIX_CHECK(&p, !seen[old / 3]);
					seen[old / 3] = 1;
					done++;
				}
			}
			FIX_REQUIRE(&p, sim_now_ns(p.sim) < FIX_LIMIT_NS);
		}
		memcpy(&old, p.b.buf + SINK, 8);
		FIX_CHECK(&p, old == 3 * 2 * COUNT);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "atomics_executed") == 2 * COUNT);
		pair_close(&p);
	}
}

static void cmp_swap(void)
{
	uint64_t seed, value = 0, old, now;
	struct pair p;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		value = 0;
		for (i = 0; i < 200; i++) {
			bool hit = sim_prng_below(&p.prng, 2);
			struct post request = {.opcode = WEFT_WR_CMP_SWAP,
					       .wr_id = i,
					       .bytes = 8,
					       .offset = 128,
					       .remote_offset = SINK + 8,
					       .compare_add = hit ? value : value + 1,
					       .swap = sim_prng_next(&p.prng)};
			struct weft_wc wc;

			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			wc = expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.opcode == WEFT_WC_CMP_SWAP);
			memcpy(&old, p.a.buf + 128, 8);
			FIX_CHECK(&p, old == value);
			value = hit ? request.swap : value;
			memcpy(&now, p.b.buf + SINK + 8, 8);
			FIX_CHECK(&p, now == value);
		}
		FIX_CHECK(&p,
			  all_bytes(p.b.buf + SINK, 0, 8) && all_bytes(p.b.buf + SINK + 16, 0, 8));
		pair_close(&p);
	}
}

/* Sixteen pieces on both sides, cut differently, empty ones among them. */
static void sge_16(void)
{
	struct weft_sge from[16], to[16];
	struct pair p;
	uint64_t seed;
	uint32_t round, i, total, rest;
	uint8_t got[65536];

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (round = 0; round < 40; round++) {
			struct weft_recv_wr recv = {.wr_id = 7, .sg_list = to, .num_sge = 16};
			struct post request = {.opcode =
						   round % 2 ? WEFT_WR_SEND : WEFT_WR_SEND_IMM,
					       .wr_id = round,
					       .sge = from,
					       .num_sge = 16};
			struct weft_wc wc;

			for (i = total = 0; i < 16; i++) {
				uint32_t n = (uint32_t)sim_prng_below(&p.prng, 4) *
					     (uint32_t)sim_prng_below(&p.prng, 1200);

				from[i] = sim_end_sge(&p.a, i * 8192 + i, n);
				total += n;
			}
			fill(&p, round, got, total);
			for (i = rest = 0; i < 16; rest += from[i++].bytes)
				memcpy((void *)(uintptr_t)from[i].addr, got + rest, from[i].bytes);
			for (i = 0, rest = total; i < 16; rest -= to[i++].bytes)
				to[i] = sim_end_sge(
				    &p.b, SINK + i * 65536 / 2,
				    i == 15 ? rest
					    : (uint32_t)sim_prng_below(&p.prng, rest / 4 + 2) %
						  (rest + 1));
			FIX_REQUIRE(&p, weft_post_recv(p.b.qp, &recv, NULL) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			wc = expect(&p, &p.b, 7, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.bytes == total);
			for (i = rest = 0; i < 16; rest += to[i++].bytes)
				memcpy(got + rest, (void *)(uintptr_t)to[i].addr, to[i].bytes);
			FIX_CHECK(&p, filled(&p, round, got, total));
			expect(&p, &p.a, round, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

/* Inline data is copied at the post: later changes of the buffer have no effect. */
static void inline_data(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (i = 0; i <= 256; i += 8) {
			struct post request = {.wr_id = i, .bytes = i, .flags = WEFT_SEND_INLINE};
			struct weft_wc wc;

			fill(&p, i, p.a.buf, i);
			FIX_REQUIRE(&p, sim_end_recv(&p.b, 1, SINK, 256) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			memset(p.a.buf, 0x11, 256);
			wc = expect(&p, &p.b, 1, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, wc.bytes == i && filled(&p, i, p.b.buf + SINK, i));
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

/* A fenced request sends the data that the read before it fetched. */
static void fence(void)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, attr_of(seed));
		for (i = 0; i < 50; i++) {
			struct post get = {
			    .opcode = WEFT_WR_READ, .wr_id = 1, .bytes = 20000, .offset = SINK};
			struct post put = {.opcode = WEFT_WR_WRITE,
					   .wr_id = 2,
					   .bytes = 20000,
					   .offset = SINK,
					   .remote_offset = SINK,
					   .flags = WEFT_SEND_FENCE};

			fill(&p, i, p.b.buf, 20000);
			memset(p.a.buf + SINK, 0xee, 20000);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &get) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &put) == 0);
			expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
			expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, filled(&p, i, p.b.buf + SINK, 20000));
		}
		pair_close(&p);
	}
}

/* The receiver's key is gone once the message that invalidates it is delivered. */
static void send_invalidate(void)
{
	struct pair p;
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct weft_mr *mr;
		struct post put = {.opcode = WEFT_WR_WRITE, .wr_id = 1, .bytes = 100};
		struct post inv = {.opcode = WEFT_WR_SEND_INV, .wr_id = 2, .bytes = 5000};
		struct weft_wc wc;

		pair_open(&p, seed, attr_of(seed));
		mr = weft_reg_mr(p.b.pd, p.b.buf, 4096,
				 WEFT_ACCESS_LOCAL_WRITE | WEFT_ACCESS_REMOTE_WRITE);
		FIX_REQUIRE(&p, mr != NULL);
		put.rkey = inv.inv_stag = mr->rkey;
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &put) == 0);
		expect(&p, &p.a, 1, WEFT_WC_SUCCESS);
		FIX_REQUIRE(&p, sim_end_recv(&p.b, 9, SINK, 5000) == 0);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &inv) == 0);
		wc = expect(&p, &p.b, 9, WEFT_WC_SUCCESS);
		FIX_CHECK(&p, (wc.flags & WEFT_WC_F_INV) && wc.inv_stag == mr->rkey);
		expect(&p, &p.a, 2, WEFT_WC_SUCCESS);
		memset(p.b.buf, 0x77, 100);
		FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &put) == 0);
		expect(&p, &p.a, 1, WEFT_WC_REM_ACCESS_ERR);
		FIX_CHECK(&p, all_bytes(p.b.buf, 0x77, 100));
		FIX_CHECK(&p, weft_dereg_mr(mr) == 0);
		pair_close(&p);
	}
}

/* A solicited message raises the event that was armed for solicited ones only. */
static void solicited(void)
{
	const struct pair_attr attr = {.faults = FIX_FAULTS, .b = {.events = true}};
	struct weft_cq *cq;
	struct weft_wc wc;
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &attr);
		FIX_REQUIRE(&p, weft_req_notify_cq(p.b.cq, true) == 0);
		for (i = 0; i < 3; i++) {
			struct post request = {
			    .wr_id = i, .bytes = 10, .flags = i == 2 ? WEFT_SEND_SOLICITED : 0};
			uint64_t irqs = sim_nic_counts(p.nb)->irqs;

			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK, 10) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
			sim_run_for(p.sim, FIX_MS);
			FIX_CHECK(&p, (sim_nic_counts(p.nb)->irqs > irqs) == (i == 2));
		}
		FIX_CHECK(&p, weft_get_cq_event(p.b.channel, &cq, NULL) == 0 && cq == p.b.cq);
		weft_ack_cq_events(p.b.cq, 1);
		for (i = 0; i < 3; i++) {
			wc = expect(&p, &p.b, i, WEFT_WC_SUCCESS);
			FIX_CHECK(&p, !(wc.flags & WEFT_WC_F_SOLICITED) == (i != 2));
		}
		pair_close(&p);
	}
}

/* Blocking for completions: an entry between the last poll and the arming is not lost. */
static void events(void)
{
	const struct pair_attr attr = {.faults = FIX_FAULTS, .a = {.events = true}, .same = true};
	struct weft_cq *cq;
	struct weft_wc wc;
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, &attr);
		for (i = 0; i < 200; i++) {
			struct post request = {.wr_id = i, .bytes = 100};

			FIX_REQUIRE(&p, sim_end_recv(&p.b, i, SINK, 100) == 0);
			FIX_REQUIRE(&p, post(&p.a, p.ab, &p.b, &request) == 0);
			/* Arm at a random moment: before, while or after it arrives. */
			sim_run_for(p.sim, sim_prng_below(&p.prng, 12000));
			FIX_REQUIRE(&p, weft_req_notify_cq(p.b.cq, false) == 0);
			FIX_REQUIRE(&p, weft_get_cq_event(p.b.channel, &cq, NULL) == 0);
			FIX_CHECK(&p, cq == p.b.cq);
			weft_ack_cq_events(cq, 1);
			FIX_REQUIRE(&p, weft_poll_cq(p.b.cq, 1, &wc) == 1);
			FIX_CHECK(&p, wc.wr_id == i && wc.status == WEFT_WC_SUCCESS);
			expect(&p, &p.a, i, WEFT_WC_SUCCESS);
		}
		pair_close(&p);
	}
}

UT_MAIN("sim/rd_ops", UT(send), UT(send_imm), UT(send_pipelined), UT(write), UT(write_imm),
	UT(read), UT(fetch_add), UT(cmp_swap), UT(sge_16), UT(inline_data), UT(fence),
	UT(send_invalidate), UT(solicited), UT(events))
