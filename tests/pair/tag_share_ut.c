/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of peers: one that takes all it can beside one that takes little, at the pool, the table,
 * the reads and the announcements of an endpoint; what an endpoint holds for many peers.
 */
#include <stdlib.h>

#include "tests/pair/tag_pair.h"

static struct tp tp;
static struct fw_qp *greedy; /* of end 0; tp.qp[0] is the peer that takes little */

#define MEM(e) (tp.rp.end[e].mem)
#define NIC(e) (tp.rp.end[e].nic)

enum {
	LONG = 20000,
	SINK = 400000,
	POOL = 64 << 10,
	GREEDY_TAG = 7,
	FORGED_AT = 900000, /* in MEM(0) */
	PEERS = 1000,
	MESSAGES = 1000, /* in all, of any number of peers */
};

static const struct hw_cmd_tag_open small = {.pool_bytes = POOL, .eager_bytes = TP_EAGER_BYTES};

static void begin(void)
{
	const struct hw_cmd_tag_open none = {.eager_bytes = TP_EAGER_BYTES};

	tp_begin_with(&tp, &small);
	rp_fill(MEM(0), 100000, 4);
	greedy = tp_qp(&tp, 0, &none);
}

static const struct tag_ep *ep(void)
{
	return &NIC(1)->tag.eps[tp.qp[1] - NIC(1)->host.qps];
}

/* The other endpoint of end 0 sends. */
static void greedy_send(uint64_t wr_id, uint32_t bytes)
{
	struct fw_qp *little = tp.qp[0];

	tp.qp[0] = greedy;
	tp_send(&tp, 0, wr_id, GREEDY_TAG, 0, bytes);
	tp.qp[0] = little;
}

static uint32_t greedy_recv(uint64_t wr_id, uint32_t bytes)
{
	struct fw_qp *little = tp.qp[0];
	uint32_t place;

	tp.qp[0] = greedy;
	place = tp_recv(&tp, 1, wr_id, GREEDY_TAG, SINK, bytes);
	tp.qp[0] = little;
	return place;
}

/* Takes all completions; asserts that they succeeded. */
static void reap(uint32_t sends, uint32_t recvs)
{
	struct hw_cqe cqe;

	rp_quiet(&tp.rp);
	for (; rp_scqe(&tp.rp, 0, &cqe); sends--)
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	for (; rp_rcqe(&tp.rp, 1, &cqe); recvs--)
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(sends, 0);
	CU_ASSERT_EQUAL(recvs, 0);
}

/* Four sevenths of a pool are for one peer; another has room at once. */
static void pool(void)
{
	uint32_t i, used;

	begin();
	for (i = 0; i < 100; i++)
		greedy_send(i, 1000);
	rp_quiet(&tp.rp);
	used = (uint32_t)tp_query(&tp, 1).pool_used_bytes;
	CU_ASSERT(used > POOL / 2 && used <= POOL / 7 * 4);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, 100);
	CU_ASSERT(RP_CNT(&tp.rp, 0, tag_converted) >= 100 - used / 1024);
	i = (uint32_t)RP_CNT(&tp.rp, 0, tag_converted);
	tp_send(&tp, 0, 200, 1, 0, 1000);
	tp_send(&tp, 0, 201, 1, 0, 4000);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(RP_CNT(&tp.rp, 0, tag_converted), i);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).pool_used_bytes, used + 1024 + 4096);
	for (i = 0; i < 100; i++) {
		greedy_recv(i, 1000);
		if (i % 20 == 19)
			rp_quiet(&tp.rp);
	}
	tp_recv(&tp, 1, 200, 1, SINK, 1000);
	tp_recv(&tp, 1, 201, 1, SINK, 4000);
	reap(102, 102);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).pool_used_bytes, 0);
	CU_ASSERT_EQUAL(ep()->num_readers, 0);
	tp_end(&tp);
}

/* The table of messages: a peer without receives is held back, and goes on as it gets some. */
static void table(void)
{
	uint32_t i, max, held;

	begin();
	max = NIC(1)->tag.arrivals.max;
	NIC(1)->tag.arrivals.max = 70;
	for (i = 0; i < 100; i++)
		greedy_send(i, i % 2 ? 0 : LONG);
	rp_run(&tp.rp, 20000000);
	held = tp_query(&tp, 1).unexpected;
	CU_ASSERT(held > 20 && held < 40);
	CU_ASSERT(RP_CNT(&tp.rp, 1, tag_peer_held_back) > 0);
	for (i = 0; i < 4; i++)
		tp_send(&tp, 0, 200 + i, 1, 0, i % 2 ? 0 : LONG);
	rp_run(&tp.rp, 20000000);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, held + 4);
	for (i = 0; i < 4; i++)
		tp_recv(&tp, 1, 200 + i, 1, SINK, LONG);
	rp_run(&tp.rp, 20000000);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, held);
	for (i = 0; i < 100; i++) {
		greedy_recv(i, LONG);
		if (i % 20 == 19)
			rp_run(&tp.rp, 100000000);
	}
	reap(104, 104);
	NIC(1)->tag.arrivals.max = max;
	tp_end(&tp);
}

static bool answers;

/* The greedy peer does not answer reads. */
static enum bench_verdict silent(struct rp *rp, const struct rp_info *info)
{
	(void)rp;
	return !answers && info->from == 0 && info->ddp && !info->is_void &&
		       info->opcode == WIRE_RDMAP_READ_RESPONSE &&
		       be32_get(info->dgram->src_qpn) == greedy->qpn
		   ? BENCH_DROP
		   : BENCH_PASS;
}

/* Messages of a peer that lets no read end keep no other from being read. */
static void reads(void)
{
	uint32_t i;

	begin();
	answers = false;
	tp.rp.filter = silent;
	for (i = 0; i < 60; i++)
		greedy_recv(i, LONG);
	rp_quiet(&tp.rp);
	for (i = 0; i < 60; i++)
		greedy_send(i, LONG);
	rp_run(&tp.rp, 1000000);
	CU_ASSERT(ep()->num_reading >= TAG_READS / 2 && ep()->num_reading < TAG_READS);
	CU_ASSERT_EQUAL(ep()->num_readers, 1);
	for (i = 0; i < 6; i++) {
		tp_send(&tp, 0, 100 + i, 1, 0, LONG);
		tp_recv(&tp, 1, 100 + i, 1, SINK + LONG, LONG);
		rp_run(&tp.rp, 500000);
		tp_expect(&tp, 1, 100 + i, HW_STATUS_SUCCESS);
		tp_expect_sent(&tp, 0, 100 + i, HW_STATUS_SUCCESS);
	}
	/* Many at a time: those that wait are served in turn. */
	for (i = 0; i < 30; i++) {
		tp_send(&tp, 0, 200 + i, 1, 0, LONG);
		tp_recv(&tp, 1, 200 + i, 1, SINK + LONG, LONG);
	}
	rp_run(&tp.rp, 2000000);
	for (i = 0; i < 30; i++) {
		tp_expect(&tp, 1, 200 + i, HW_STATUS_SUCCESS);
		tp_expect_sent(&tp, 0, 200 + i, HW_STATUS_SUCCESS);
	}
	answers = true;
	rp_run(&tp.rp, 2000000000);
	reap(60, 60);
	tp_end(&tp);
}

/* ---- peers that are names alone: frames of end 0 under other QPNs ------------------------- */

static uint32_t forged_qpn; /* 0: frames pass as they are */
static bool forged_response;

static enum bench_verdict rename_source(struct rp *rp, const struct rp_info *info)
{
	struct bench_frame *frame = info->frame;

	(void)rp;
	if (forged_qpn && info->from == 0 && info->ddp) {
		info->dgram->src_qpn = be32_put(forged_qpn);
		if (forged_response)
			info->dgram->flags |= WIRE_DGRAM_F_RESPONSE;
		rp_reseal(frame);
	}
	return BENCH_PASS;
}

/* The test's own account of peers: an ordinary queue pair sends an envelope under a name. */
static void send_as(uint32_t peer, const struct wire_tag *env, uint32_t bytes)
{
	struct rp_end *end = &tp.rp.end[0];

	memcpy(MEM(0) + FORGED_AT, env, sizeof(*env));
	forged_qpn = (end->qp[0]->qpn & ~0xffffu) | (40000 + peer);
	tp.rp.filter = rename_source;
	rp_send(&tp.rp, 0, end->qp[0], tp.qp[1], 0, FORGED_AT, (uint32_t)sizeof(*env) + bytes);
	rp_quiet(&tp.rp);
	rp_expect_send(&tp.rp, 0, 0, HW_STATUS_SUCCESS);
	forged_qpn = 0;
}

/* Peers of one station share its part of the places; one that is idle makes room for another. */
static void peers(void)
{
	struct wire_tag env = {.kind = WIRE_TAG_EAGER};
	struct tp_op any = {.flags = HW_TAG_F_ANY_SRC, .ignore = UINT64_MAX, .bytes = 10};
	uint32_t i, max;

	begin();
	max = NIC(1)->tag.peers.max;
	NIC(1)->tag.peers.max = 30;
	for (i = 0; i < 100; i++) {
		send_as(i, &env, 0);
		CU_ASSERT(ep()->last_peer && (ep()->last_peer->qpn & 0xffff) == 40000 + i);
		tp_op(&tp, 1, &any);
		rp_quiet(&tp.rp);
		tp_expect(&tp, 1, 0, HW_STATUS_SUCCESS);
	}
	CU_ASSERT(NIC(1)->tag.peers.used > 10 && NIC(1)->tag.peers.used <= 20);
	/* A peer to which something is announced stays known. */
	greedy_send(1, 8);
	greedy_recv(1, 8);
	reap(1, 1);
	i = greedy_recv(2, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced, 1);
	for (i = 0; i < 100; i++)
		send_as(i, &env, 0);
	greedy_send(2, LONG);
	rp_quiet(&tp.rp);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).announced_used, 1);
	for (i = 0; i < 100; i++) {
		tp_op(&tp, 1, &any);
		rp_quiet(&tp.rp);
	}
	reap(1, 101);
	CU_ASSERT_EQUAL(NIC(1)->tag.shares.used, NIC(1)->tag.peers.used + 1);
	NIC(1)->tag.peers.max = max;
	tp_end(&tp);
}

/* Announced receives of a station's endpoints stay within its part. */
static void rtrs(void)
{
	struct wire_tag env = {
	    .kind = WIRE_TAG_RTR, .bytes = be32_put(LONG), .stag = be32_put(STAG_SINK_FLAG)};
	uint32_t i, k, max;

	begin();
	max = NIC(1)->tag.rtrs.max;
	NIC(1)->tag.rtrs.max = 60;
	forged_response = true;
	for (i = 0; i < 20; i++) {
		const struct tag_peer *peer;

		/* The NACK of the first one names the message behind which others are kept. */
		env.handle = be32_put(0);
		for (k = 0; k < 8; k++) {
			send_as(i, &env, 0);
			peer = ep()->last_peer;
			CU_ASSERT_PTR_NOT_NULL_FATAL(peer);
			env.handle = be32_put(peer->sent_ssn);
			CU_ASSERT_EQUAL(peer->share->held[TAG_HELD_RTRS], peer->num_rtrs);
			CU_ASSERT_EQUAL(peer->share->station->held[TAG_HELD_RTRS],
					NIC(1)->tag.rtrs.used);
		}
	}
	CU_ASSERT(NIC(1)->tag.rtrs.used > 20 && NIC(1)->tag.rtrs.used <= 40);
	forged_response = false;
	rp_run(&tp.rp, 2000000000);
	NIC(1)->tag.rtrs.max = max;
	tp_end(&tp);
}

/* As much memory holds the messages of 2 peers as those of 1,000. */
static void flat(void)
{
	static const uint32_t counts[] = {2, 100, PEERS};
	struct wire_tag env = {.kind = WIRE_TAG_EAGER, .bytes = be32_put(1)};
	struct tp_op any = {.flags = HW_TAG_F_ANY_SRC, .ignore = UINT64_MAX, .bytes = 10};
	uint64_t bytes[3], records[3], pool = UINT64_C(64) << 20; /* libweft's default */
	uint32_t c, i;

	for (c = 0; c < 3; c++) {
		const struct tag_nic *tag;

		tp_begin(&tp);
		tag = &NIC(1)->tag;
		for (i = 0; i < MESSAGES; i++)
			send_as(i * 7 % counts[c], &env, 1);
		bytes[c] = tp_query(&tp, 1).pool_used_bytes;
		CU_ASSERT_EQUAL(tp_query(&tp, 1).unexpected, MESSAGES);
		records[c] = (uint64_t)tag->peers.used * tag->peers.elem_bytes +
			     (uint64_t)tag->shares.used * tag->shares.elem_bytes +
			     (uint64_t)tag->arrivals.used * tag->arrivals.elem_bytes;
		for (i = 0; i < MESSAGES; i++) {
			tp_op(&tp, 1, &any);
			rp_quiet(&tp.rp);
			tp_expect(&tp, 1, 0, HW_STATUS_SUCCESS);
		}
		tp_end(&tp);
	}
	CU_ASSERT_EQUAL(bytes[0], bytes[1]);
	CU_ASSERT_EQUAL(bytes[0], bytes[2]);
	/* Within a tenth with all records. */
	CU_ASSERT((pool + records[2]) * 10 < (pool + records[0]) * 11);
	printf("%llu bytes of the pool, records %llu %llu %llu ", (unsigned long long)bytes[0],
	       (unsigned long long)records[0], (unsigned long long)records[1],
	       (unsigned long long)records[2]);
}

UT_MAIN("pair/tag_share", UT(pool), UT(table), UT(reads), UT(peers), UT(rtrs), UT(flat))
