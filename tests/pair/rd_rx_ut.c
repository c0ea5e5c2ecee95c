/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets in: every order of arrival of a small window, duplicates, refusals with later packets,
 * losses across 2^32. rd_rx_peer_ut.c has the edges of the window and hostile peers.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

static enum bench_verdict copy_data(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->type == WIRE_DGRAM_RD ? BENCH_COPY : BENCH_PASS;
}

static enum bench_verdict twice(struct rp *r, const struct rp_info *info)
{
	(void)r;
	(void)info;
	return BENCH_TWICE;
}

static struct rp_info kept(uint32_t i)
{
	return rp_info_of(&rp.wire.kept[i], !rp.wire.kept[i].to);
}

/* The kept frame with this distance from the first PSN. */
static uint32_t kept_psn(uint32_t first, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < rp.wire.num_kept; k++)
		if (kept(k).psn == first + i)
			return k;
	CU_FAIL_FATAL("no such PSN is kept");
	return 0;
}

/* The next permutation in lexical order; false after the last. */
static bool next_order(uint32_t *order, uint32_t n)
{
	uint32_t i = n - 1, j = n - 1, t;

	while (i && order[i - 1] >= order[i])
		i--;
	if (!i)
		return false;
	while (order[j] <= order[i - 1])
		j--;
	t = order[i - 1];
	order[i - 1] = order[j];
	order[j] = t;
	for (j = n - 1; i < j; i++, j--) {
		t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	return true;
}

enum {
	X1 = 2000, /* two packets */
	X2 = 100,
	Y1 = 50,
	Y2 = 60,
	SRC = 0,
	DST = 512 * 1024,
};

/* Two messages in each of two flows, five packets, kept on the wire. Returns their first PSN. */
static uint32_t post_five(void)
{
	struct rp_end *a = &rp.end[0], *b = &rp.end[1];
	uint32_t first = rp_session(&rp, 0)->tx_psn;

	rp.filter = rp_keep_data;
	rp_fill(a->mem + SRC, 4096, first);
	rp_send(&rp, 0, a->qp[0], b->qp[0], 1, SRC, X1);
	rp_send(&rp, 0, a->qp[0], b->qp[0], 2, SRC + 1, X2);
	rp_send(&rp, 0, a->qp[1], b->qp[1], 3, SRC + 2, Y1);
	rp_send(&rp, 0, a->qp[1], b->qp[1], 4, SRC + 3, Y2);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 5);
	return first;
}

static void recvs(uint32_t q, uint32_t n)
{
	static uint32_t at;

	while (n--) {
		at = (at + 1) % 64;
		rp_recv(&rp, 1, rp.end[1].qp[q], DST + at * 4096, DST + at * 4096, 4096);
	}
}

/* Takes the next receive completion of any QP and checks its content. Returns its length. */
static uint32_t take_recv(uint32_t seed)
{
	static uint8_t want[4096];
	struct hw_cqe cqe;
	uint32_t skip;

	if (!rp_rcqe(&rp, 1, &cqe))
		return 0;
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	skip = cqe.bytes == X1 ? 0 : cqe.bytes == X2 ? 1 : cqe.bytes == Y1 ? 2 : 3;
	rp_fill(want, sizeof(want), seed);
	CU_ASSERT_FATAL(cqe.bytes + skip <= sizeof(want));
	CU_ASSERT_EQUAL(memcmp(rp.end[1].mem + cqe.wr_id, want + skip, cqe.bytes), 0);
	return cqe.bytes;
}

/* Assigns frames to places: X's three packets, then Y's two, by QPN and PSN. */
static void sort_frames(uint32_t first, uint32_t place[5])
{
	uint32_t i, x = 0, y = 3;

	for (i = 0; i < 5; i++) {
		uint32_t k = kept_psn(first, i);

		if (be32_get(kept(k).dgram->src_qpn) == rp.end[0].qp[0]->qpn)
			place[x++] = k;
		else
			place[y++] = k;
	}
	CU_ASSERT_EQUAL_FATAL(x, 3);
	CU_ASSERT_EQUAL_FATAL(y, 5);
}

static void every_order(void)
{
	uint32_t order[5] = {0, 1, 2, 3, 4}, place[5];
	uint32_t rounds = 0;

	rp_begin(&rp);
	rp_open(&rp);
	do {
		uint32_t first = post_five(), have = 0, x = 0, y = 0, i, n;

		sort_frames(first, place);
		recvs(0, 2);
		recvs(1, 2);
		for (i = 0; i < 5; i++) {
			uint32_t want_x, want_y;

			bench_wire_deliver(&rp.wire, place[order[i]]);
			if (i % 2)
				bench_wire_deliver(&rp.wire, place[order[i]]);
			rp_poll(&rp, 1);
			have |= 1u << order[i];
			/* The order of each flow permits these completions and no others. */
			want_x = (have & 7) == 7 ? 2 : (have & 3) == 3 ? 1 : 0;
			want_y = (have & 24) == 24 ? 2 : have & 8 ? 1 : 0;
			while ((n = take_recv(first))) {
				if (n == X1 || n == X2) {
					CU_ASSERT_EQUAL(n, x ? X2 : X1);
					x++;
				} else {
					CU_ASSERT_EQUAL(n, y ? Y2 : Y1);
					y++;
				}
			}
			CU_ASSERT_EQUAL(x, want_x);
			CU_ASSERT_EQUAL(y, want_y);
		}
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		for (i = 1; i <= 4; i++) {
			struct hw_cqe cqe;

			CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		}
		rp_check_pools(&rp, 0, 0);
		rp_check_pools(&rp, 1, 0);
		rounds++;
	} while (next_order(order, 5));
	CU_ASSERT_EQUAL(rounds, 120);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_retransmits), 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_duplicates), 240);
	rp_end(&rp);
}

/*
 * No receive for X: its packets are refused in any order of arrival, with an ACK after each; later
 * all arrive once, in order, and Y never waited.
 */
static void every_order_refused(void)
{
	uint32_t order[5] = {0, 1, 2, 3, 4}, place[5];

	rp_begin(&rp);
	rp_open(&rp);
	do {
		uint32_t first = post_five(), i, y = 0, n;

		sort_frames(first, place);
		recvs(1, 2);
		for (i = 0; i < 5; i++) {
			bench_wire_deliver(&rp.wire, place[order[i]]);
			rp_settle(&rp);
		}
		while ((n = take_recv(first)))
			CU_ASSERT_EQUAL(n, y++ ? Y2 : Y1);
		CU_ASSERT_EQUAL(y, 2);
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_run(&rp, 2000000);
		CU_ASSERT_EQUAL(take_recv(first), 0);
		recvs(0, 2);
		rp_quiet(&rp);
		CU_ASSERT_EQUAL(take_recv(first), X1);
		CU_ASSERT_EQUAL(take_recv(first), X2);
		CU_ASSERT_EQUAL(take_recv(first), 0);
		for (i = 0; i < 4; i++) {
			struct hw_cqe cqe;

			CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		}
		rp_check_pools(&rp, 0, 0);
		rp_check_pools(&rp, 1, 0);
	} while (next_order(order, 5));
	rp_end(&rp);
}

/*
 * One receive, and a process that posts the next one only when that is complete: the first message
 * gets it, whichever packet arrives first.
 */
static void last_receive_is_the_first_messages(void)
{
	uint32_t order[3] = {0, 1, 2};

	rp_begin(&rp);
	rp_open(&rp);
	do {
		uint32_t first = rp_session(&rp, 0)->tx_psn, i;

		rp.filter = rp_keep_data;
		rp_fill(rp.end[0].mem, 4096, first);
		rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 1, 0, X1);
		rp_send(&rp, 0, rp.end[0].qp[0], rp.end[1].qp[0], 2, 1, X2);
		rp_settle(&rp);
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 3);
		recvs(0, 1);
		for (i = 0; i < 3; i++) {
			bench_wire_deliver(&rp.wire, kept_psn(first, order[i]));
			rp_settle(&rp);
		}
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		CU_ASSERT_EQUAL(take_recv(first), X1);
		CU_ASSERT_EQUAL(take_recv(first), 0);
		recvs(0, 1);
		rp_quiet(&rp);
		CU_ASSERT_EQUAL(take_recv(first), X2);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	} while (next_order(order, 3));
	rp_end(&rp);
}

/*
 * A Send is refused. An atomic, a read and a Write that follow it arrived earlier and were
 * acknowledged as received: each is carried out once, after the Send.
 */
static void held_then_refused(void)
{
	uint32_t order[4] = {0, 1, 2, 3};
	uint64_t executed = 0;

	rp_begin(&rp);
	rp_open(&rp);
	do {
		struct rp_end *a = &rp.end[0], *b = &rp.end[1];
		uint32_t first = rp_session(&rp, 0)->tx_psn, i;
		struct rp_req req = {.wr_id = 2, .dst = b->qp[0], .bytes = 8, .offset = 8192};

		rp.filter = rp_keep_data;
		rp_fill(a->mem, 64, first);
		rp_send(&rp, 0, a->qp[0], b->qp[0], 1, 2, Y1);
		req.opcode = HW_WQE_FETCH_ADD;
		req.remote_offset = 4096;
		req.compare_add = 3;
		rp_req(&rp, 0, a->qp[0], &req);
		req.opcode = HW_WQE_READ;
		req.wr_id = 3;
		req.offset = 8200;
		rp_req(&rp, 0, a->qp[0], &req);
		req.opcode = HW_WQE_WRITE;
		req.wr_id = 4;
		req.offset = 0;
		req.remote_offset = 5000;
		rp_req(&rp, 0, a->qp[0], &req);
		rp_settle(&rp);
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 4);
		for (i = 0; i < 4; i++) {
			bench_wire_deliver(&rp.wire, kept_psn(first, order[i]));
			rp_settle(&rp);
		}
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_run(&rp, 3000000);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), executed);
		recvs(0, 1);
		rp_quiet(&rp);
		for (i = 1; i <= 4; i++)
			rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(take_recv(first), Y1);
		executed++;
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), executed);
		CU_ASSERT_EQUAL(*(uint64_t *)(void *)(b->mem + 4096), 3 * executed);
		CU_ASSERT_EQUAL(*(uint64_t *)(void *)(a->mem + 8192), 3 * (executed - 1));
		CU_ASSERT_EQUAL(*(uint64_t *)(void *)(a->mem + 8200), 3 * executed);
		CU_ASSERT_EQUAL(memcmp(b->mem + 5000, a->mem, 8), 0);
		rp_check_pools(&rp, 0, 0);
		rp_check_pools(&rp, 1, 0);
	} while (next_order(order, 4));
	rp_end(&rp);
}

/* One of each operation in both directions. */
static void one_of_each(uint64_t round)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		struct rp_end *x = &rp.end[e], *y = &rp.end[!e];
		struct rp_req req = {.dst = y->qp[0], .bytes = 8, .offset = 64, .wr_id = 1};

		rp_recv(&rp, !e, y->qp[0], 1, DST, 4096);
		rp_recv(&rp, !e, y->qp[0], 2, DST + 4096, 4096);
		rp_send(&rp, e, x->qp[0], y->qp[0], 1, 0, 3000);
		req.opcode = HW_WQE_FETCH_ADD;
		req.compare_add = 1;
		req.remote_offset = 128;
		rp_req(&rp, e, x->qp[0], &req);
		req.opcode = HW_WQE_CMP_SWAP;
		req.compare_add = round;
		req.swap = round + 1;
		req.remote_offset = 136;
		rp_req(&rp, e, x->qp[0], &req);
		req.opcode = HW_WQE_READ;
		req.offset = 16384;
		req.remote_offset = 32768;
		req.bytes = 5000;
		rp_req(&rp, e, x->qp[0], &req);
		req.opcode = HW_WQE_WRITE_IMM;
		req.imm = 7;
		req.remote_offset = 65536;
		rp_req(&rp, e, x->qp[0], &req);
	}
}

static void check_each(uint64_t round)
{
	uint32_t e, i;

	for (e = 0; e < 2; e++) {
		for (i = 0; i < 5; i++)
			rp_expect_send(&rp, e, 1, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, e, 1, HW_STATUS_SUCCESS);
		rp_expect_recv(&rp, e, 2, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(*(uint64_t *)(void *)(rp.end[e].mem + 128), round + 1);
		CU_ASSERT_EQUAL(*(uint64_t *)(void *)(rp.end[e].mem + 136), round + 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, e, atomics_executed), 2 * (round + 1));
		CU_ASSERT_EQUAL(RP_CNT(&rp, e, reads_executed), round + 1);
		CU_ASSERT_EQUAL(memcmp(rp.end[e].mem + 16384, rp.end[!e].mem + 32768, 5000), 0);
	}
}

/* Every frame arrives twice; later every packet arrives again, in reverse order; PSNs pass 2^32. */
static void executed_once(void)
{
	uint64_t round;
	uint32_t i;

	rp_begin(&rp);
	for (round = 0; round < 8; round++) {
		rp.filter = round % 2 ? twice : copy_data;
		rp_fill(rp.end[0].mem + 32768, 5000, (uint32_t)round);
		rp_fill(rp.end[1].mem + 32768, 5000, (uint32_t)round + 100);
		one_of_each(round);
		rp_quiet(&rp);
		check_each(round);
		rp.filter = NULL;
		for (i = rp.wire.num_kept; i; i--)
			bench_wire_deliver(&rp.wire, i - 1);
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		rp_expect_none(&rp);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, atomics_executed), 2 * (round + 1));
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 2 * (round + 1));
	}
	CU_ASSERT_TRUE(rp_session(&rp, 0)->tx_psn < 1000);
	CU_ASSERT_TRUE(rp_session(&rp, 1)->tx_psn < 1000);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_retransmits), 0);
	rp_end(&rp);
}

/* A third of all frames is lost in a pattern, in both directions, across the wrap. */
static enum bench_verdict lossy(struct rp *r, const struct rp_info *info)
{
	(void)info;
	return r->wire.frames * 2654435761u % 100 < 33 ? BENCH_DROP : BENCH_PASS;
}

static void loss_across_the_wrap(void)
{
	uint64_t round;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = lossy;
	for (round = 0; round < 12; round++) {
		rp_fill(rp.end[0].mem + 32768, 5000, (uint32_t)round);
		rp_fill(rp.end[1].mem + 32768, 5000, (uint32_t)round + 100);
		one_of_each(round);
		rp_run(&rp, 3000000000);
		check_each(round);
	}
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_retransmits) > 0);
	rp_end(&rp);
}

/* No context for a packet: as if it had not arrived. */
static void out_of_contexts(void)
{
	struct fw_pool *pools[3];
	uint32_t p;

	rp_begin(&rp);
	rp_open(&rp);
	pools[0] = &rp.end[1].nic->rd.held;
	pools[1] = &rp.end[1].nic->rd.rx_windows;
	pools[2] = &rp.end[1].nic->host.recv_msgs;
	for (p = 0; p < 3; p++) {
		uint32_t max = pools[p]->max, free_list = pools[p]->free, high = pools[p]->high;
		uint32_t first, i;

		pools[p]->max = high;
		pools[p]->free = FW_NONE;
		first = post_five();
		recvs(0, 2);
		recvs(1, 2);
		for (i = 5; i; i--) {
			bench_wire_deliver(&rp.wire, kept_psn(first, i - 1));
			rp_settle(&rp);
		}
		pools[p]->max = max;
		pools[p]->free = free_list;
		CU_ASSERT_EQUAL(pools[p]->used, 0);
		CU_ASSERT_TRUE(RP_CNT(&rp, 1, drop_rd_no_memory) > p);
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		for (i = 0; i < 4; i++) {
			struct hw_cqe cqe;

			CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status == HW_STATUS_SUCCESS);
			CU_ASSERT_TRUE(take_recv(first) > 0);
		}
	}
	rp_end(&rp);
}

/* Frames in pieces: no byte is read outside of them. */
static void in_pieces(void)
{
	static const uint32_t sizes[] = {1, 7, 64, 1000};
	uint64_t round;

	rp_begin(&rp);
	for (round = 0; round < 4; round++) {
		rp.end[0].port.piece = rp.end[1].port.piece =
		    sizes[round] < 80 ? 80 + sizes[round] : sizes[round];
		rp_fill(rp.end[0].mem + 32768, 5000, (uint32_t)round);
		rp_fill(rp.end[1].mem + 32768, 5000, (uint32_t)round + 100);
		one_of_each(round);
		rp_quiet(&rp);
		check_each(round);
	}
	rp_end(&rp);
}

UT_MAIN("pair/rd_rx", UT(every_order), UT(every_order_refused),
	UT(last_receive_is_the_first_messages), UT(held_then_refused), UT(executed_once),
	UT(loss_across_the_wrap), UT(out_of_contexts), UT(in_pieces))
