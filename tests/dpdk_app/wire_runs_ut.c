/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to the kernel in runs and singly: their order, the run that waits for the next burst and
 * for how long, and the frames that stay with the caller where there is no room.
 *
 * Runs dpdk_app/wire/wire_runs.c and gso_run.c; the sockets are arrays here.
 */
#include "dpdk_app/wire/wire_runs.h"

#include <string.h>

#include "dpdk_app/accel.h"
#include "dpdk_app/wire/gso.h"
#include "dpdk_app/wire/wire.h"
#include "dpdk_app/wire/xsk.h"
#include "tests/dpdk_app/gso_seg.h"
#include "tests/dpdk_app/run_fix.h"
#include "tests/ut.h"

enum {
	SEQ = 0xffff0000, /* wraps on the way */
	LONGEST = 45,     /* segments of the MTU in one frame of the kernel */
};

static struct rte_mempool *pool;
static struct wire wire;
static struct gso_flows flows;
static struct gso_held held;
static uint32_t next_seq, sent_seq;  /* made; sent, all in order */
static uint32_t runs[128], num_runs; /* frames of each; 1: singly */
static uint32_t xsk_room;
static struct rte_mbuf *kept[FW_BURST]; /* made, not taken */
static uint32_t num_kept;
static bool refuse, dgrams;

struct gso_flows *gso_flows(struct gso *gso)
{
	(void)gso;
	return &flows;
}

struct gso_held *gso_held(struct gso *gso)
{
	(void)gso;
	return &held;
}

static uint32_t psn_of(const uint8_t *frame)
{
	const struct wire_rd *rd =
	    (const void *)(frame + SEG_UDP_HDR_BYTES + sizeof(struct wire_dgram));

	return be32_get(rd->psn);
}

static void take(struct rte_mbuf *m)
{
	if (dgrams) {
		CU_ASSERT_EQUAL(psn_of(rte_pktmbuf_mtod(m, const uint8_t *)), sent_seq);
		sent_seq++;
	} else {
		CU_ASSERT_EQUAL(be32_get(seg_tcp(m)->seq), sent_seq);
		sent_seq += m->pkt_len - SEG_HDR_BYTES;
	}
	rte_pktmbuf_free(m);
}

bool gso_tx(struct gso *gso, struct rte_mbuf **frames, uint32_t n)
{
	(void)gso;
	if (refuse)
		return false;
	runs[num_runs++] = n;
	for (uint32_t i = 0; i < n; i++)
		take(frames[i]);
	return true;
}

bool gso_tx_whole(struct gso *gso, struct rte_mbuf *run)
{
	uint32_t segment_bytes, n = borrow_packets(run, &segment_bytes);
	uint8_t packet[SEG_ROOM];

	(void)gso;
	if (refuse)
		return false;
	(void)borrow_seal(run, 0, packet);
	CU_ASSERT_EQUAL(psn_of(packet), sent_seq);
	sent_seq += n;
	runs[num_runs++] = n;
	rte_pktmbuf_free(run);
	return true;
}

uint32_t xsk_tx(struct xsk *xsk, struct rte_mbuf **frames, uint32_t n)
{
	(void)xsk;
	n = n < xsk_room ? n : xsk_room;
	xsk_room -= n;
	for (uint32_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(frames[i]->ol_flags & RTE_MBUF_F_TX_L4_MASK, 0);
		runs[num_runs++] = 1;
		take(frames[i]);
	}
	return n;
}

/*
 * Sends n segments, the last with these flags; returns how many were taken, and keeps the others.
 */
static uint32_t send_some(uint32_t n, uint8_t last_flags)
{
	uint32_t took;

	while (num_kept < n) {
		kept[num_kept] =
		    seg_make(pool, next_seq, SEG_MSS, num_kept + 1 < n ? WIRE_TCP_ACK : last_flags);
		next_seq += SEG_MSS;
		num_kept++;
	}
	took = wire_runs_tx(&wire, kept, n);
	CU_ASSERT_FATAL(took <= n);
	num_kept -= took;
	memmove(kept, kept + took, num_kept * sizeof(kept[0]));
	return took;
}

/* A flow past its initial single frames. */
static void begin(void)
{
	pool = seg_pool("wire_runs_ut");
	memset(&flows, 0, sizeof(flows));
	memset(&held, 0, sizeof(held));
	refuse = dgrams = false;
	wire.xsk = (struct xsk *)&wire; /* not used but for its presence */
	xsk_room = UINT32_MAX;
	next_seq = sent_seq = SEQ;
	for (uint32_t i = 0; i < 64; i++) {
		num_runs = 0;
		CU_ASSERT_EQUAL(send_some(1, WIRE_TCP_ACK), 1);
	}
	num_runs = 0;
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

static void end(void)
{
	CU_ASSERT_EQUAL(held.num, 0);
	CU_ASSERT_EQUAL(sent_seq, next_seq);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

/* Bursts of one flow are sent in the longest possible runs, with at most one frame too many. */
static void bursts_become_one(void)
{
	uint32_t frames = 0, longest = 0;

	begin();
	for (uint32_t i = 0; i < LONGEST; i++) {
		CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK), FW_BURST);
		CU_ASSERT_EQUAL(wire_runs_pump(&wire), held.num ? 1 : 0);
	}
	while (held.num)
		(void)wire_runs_pump(&wire);
	for (uint32_t i = 0; i < num_runs; i++) {
		frames += runs[i];
		longest += runs[i] == LONGEST;
	}
	CU_ASSERT_EQUAL(frames, LONGEST * FW_BURST);
	CU_ASSERT_EQUAL(longest, FW_BURST - 1);
	CU_ASSERT_EQUAL(num_runs, FW_BURST + 1);
	end();
}

/*
 * A run waits for one turn, and no longer; the end of a message, or of a partial burst, does not
 * wait.
 */
static void nothing_waits_long(void)
{
	begin();
	CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK), FW_BURST);
	CU_ASSERT_EQUAL(num_runs, 0);
	CU_ASSERT_TRUE(wire_runs_held(&wire));
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 1);
	CU_ASSERT_EQUAL(num_runs, 0);
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), FW_BURST);
	CU_ASSERT_EQUAL(num_runs, 1);
	CU_ASSERT_FALSE(wire_runs_held(&wire));
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 0);
	CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK | WIRE_TCP_PSH), FW_BURST);
	CU_ASSERT_EQUAL(num_runs, 2);
	CU_ASSERT_EQUAL(send_some(FW_BURST - 1, WIRE_TCP_ACK), FW_BURST - 1);
	CU_ASSERT_EQUAL(num_runs, 3);
	end();
}

/* Held frames go before later ones of any kind. */
static void what_follows_comes_behind(void)
{
	begin();
	CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK), FW_BURST);
	CU_ASSERT_EQUAL(send_some(1, WIRE_TCP_ACK | WIRE_TCP_FIN), 1);
	CU_ASSERT_EQUAL(num_runs, 2);
	CU_ASSERT_EQUAL(runs[0], FW_BURST);
	CU_ASSERT_EQUAL(runs[1], 1);
	end();
}

/* Every length that may be held, and bursts of every length behind it. */
static void every_length(void)
{
	for (uint32_t first = 0; first < LONGEST; first++) {
		for (uint32_t n = 1; n <= FW_BURST; n++) {
			begin();
			/* A run of its own, so that the rest of the second burst is held. */
			held.num = first;
			for (uint32_t i = 0; i < first; i++, next_seq += SEG_MSS)
				held.frames[i] = seg_make(pool, next_seq, SEG_MSS, WIRE_TCP_ACK);
			CU_ASSERT_EQUAL(send_some(n, WIRE_TCP_ACK), n);
			while (held.num)
				(void)wire_runs_pump(&wire);
			end();
		}
	}
}

/* The link goes down: no earlier frame is sent when it is up again. */
static void link_down(void)
{
	begin();
	CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK), FW_BURST);
	CU_ASSERT_EQUAL(wire_runs_drop(&wire), FW_BURST);
	CU_ASSERT_FALSE(wire_runs_held(&wire));
	CU_ASSERT_EQUAL(wire_runs_drop(&wire), 0);
	sent_seq = next_seq;
	CU_ASSERT_EQUAL(send_some(1, WIRE_TCP_ACK), 1);
	end();
}

static void no_room(void)
{
	begin();
	/* The kernel refuses the run: single frames are sent, as many as the ring takes. */
	refuse = true;
	xsk_room = 10;
	CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK | WIRE_TCP_PSH), 10);
	xsk_room = 100;
	CU_ASSERT_EQUAL(send_some(FW_BURST - 10, WIRE_TCP_ACK), FW_BURST - 10);
	CU_ASSERT_EQUAL(num_runs, FW_BURST);
	/* Held frames stay held, and no others are taken. */
	refuse = false;
	CU_ASSERT_EQUAL(send_some(FW_BURST, WIRE_TCP_ACK), FW_BURST);
	CU_ASSERT_EQUAL(held.num, FW_BURST);
	refuse = true;
	xsk_room = 3;
	CU_ASSERT_EQUAL(send_some(5, WIRE_TCP_ACK), 0);
	CU_ASSERT_EQUAL(held.num, FW_BURST - 3);
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 1);
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 0);
	CU_ASSERT_EQUAL(held.num, FW_BURST - 3);
	/* The rest of it and two of the frames behind. */
	xsk_room = FW_BURST - 1;
	CU_ASSERT_EQUAL(send_some(5, WIRE_TCP_ACK), 2);
	CU_ASSERT_EQUAL(held.num, 0);
	xsk_room = 3;
	CU_ASSERT_EQUAL(send_some(3, WIRE_TCP_ACK), 3);
	end();
}

/* Sends n datagrams of a message; more: of which others follow. */
static void send_dgrams(uint32_t n, bool more)
{
	struct rte_mbuf *m[FW_BURST];

	for (uint32_t i = 0; i < n; i++) {
		m[i] =
		    seg_dgram(pool, next_seq, SEG_DGRAM, i + 1 < n || more ? WIRE_DGRAM_F_MORE : 0);
		((struct wire_rd *)(seg_dgram_hdr(m[i]) + 1))->psn = be32_put(next_seq++);
	}
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, m, n), n);
}

/* Half a burst of datagrams waits a turn for those that its sender announces. */
static void datagrams_wait_for_more(void)
{
	begin();
	dgrams = true;
	next_seq = sent_seq = 0;
	for (uint32_t i = 0; i < 64; i++)
		send_dgrams(1, false);
	CU_ASSERT_EQUAL(num_runs, 64);
	num_runs = 0;
	send_dgrams(16, true);
	CU_ASSERT_EQUAL(num_runs, 0);
	CU_ASSERT_TRUE(wire_runs_held(&wire));
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 1);
	send_dgrams(16, false);
	CU_ASSERT_EQUAL(num_runs, 1);
	CU_ASSERT_EQUAL(runs[0], 32);
	/* More was announced and did not come: the window has closed. */
	send_dgrams(16, true);
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 1);
	CU_ASSERT_EQUAL(wire_runs_pump(&wire), 16);
	CU_ASSERT_EQUAL(num_runs, 2);
	end();
}

static void begin_dgrams(void)
{
	static bool ready;

	begin();
	if (!ready) {
		CU_ASSERT_EQUAL_FATAL(borrow_init(), 0);
		accel_init();
	}
	ready = dgrams = true;
	next_seq = sent_seq = 0;
	for (uint32_t i = 0; i < 64; i++)
		send_dgrams(1, false);
	num_runs = 0;
}

static struct rte_mbuf *next_run(uint32_t n)
{
	struct rte_mbuf *m = run_make(pool, next_seq, n, RUN_SEGMENT);

	next_seq += n;
	return m;
}

static void end_dgrams(void)
{
	borrow_sweep(&run_shard);
	CU_ASSERT_EQUAL(run_shard.num_borrowed, 0);
	end();
}

/* Runs of the firmware, and single frames before, between and behind them, keep their order. */
static void whole_runs_in_order(void)
{
	struct rte_mbuf *m[4];

	begin_dgrams();
	send_dgrams(16, true);
	CU_ASSERT_EQUAL(held.num, 16);
	m[0] = next_run(32);
	m[1] = next_run(15);
	m[2] = seg_dgram(pool, 0, SEG_DGRAM, 0);
	((struct wire_rd *)(seg_dgram_hdr(m[2]) + 1))->psn = be32_put(next_seq++);
	m[3] = next_run(2);
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, m, 4), 4);
	CU_ASSERT_EQUAL(num_runs, 5);
	CU_ASSERT_EQUAL(runs[0], 16);
	CU_ASSERT_EQUAL(runs[1], 32);
	CU_ASSERT_EQUAL(runs[3], 1);
	end_dgrams();
}

/*
 * A run that the kernel refuses goes packet by packet. What finds no room is held, and nothing
 * passes it.
 */
static void refused_runs_are_cut(void)
{
	struct rte_mbuf *m[2];

	begin_dgrams();
	m[0] = next_run(32);
	m[1] = next_run(3);
	refuse = true;
	xsk_room = 10;
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, m, 2), 1);
	CU_ASSERT_EQUAL(num_runs, 10);
	CU_ASSERT_EQUAL(held.num, 22);
	CU_ASSERT_TRUE(wire_runs_held(&wire));
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, m + 1, 1), 0);
	xsk_room = 22 + 1;
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, m + 1, 1), 1);
	CU_ASSERT_EQUAL(held.num, 2);
	xsk_room = 2;
	while (held.num)
		(void)wire_runs_pump(&wire);
	CU_ASSERT_EQUAL(num_runs, 35);
	end_dgrams();
}

/* Without buffers for the packets the run stays with the caller, whole. */
static void cut_needs_buffers(void)
{
	struct rte_mbuf *m, *taken[SEG_POOL];
	uint32_t n;

	begin_dgrams();
	m = next_run(32);
	n = rte_mempool_avail_count(pool) - 31;
	CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(pool, taken, n), 0);
	refuse = true;
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, &m, 1), 0);
	CU_ASSERT_EQUAL(num_runs, 0);
	rte_pktmbuf_free_bulk(taken, n);
	CU_ASSERT_EQUAL(wire_runs_tx(&wire, &m, 1), 1);
	CU_ASSERT_EQUAL(num_runs, 32);
	end_dgrams();
}

UT_MAIN("dpdk_app/wire_runs", UT(bursts_become_one), UT(nothing_waits_long),
	UT(what_follows_comes_behind), UT(every_length), UT(link_down), UT(no_room),
	UT(datagrams_wait_for_more), UT(whole_runs_in_order), UT(refused_runs_are_cut),
	UT(cut_needs_buffers))
