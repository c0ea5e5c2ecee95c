/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame that the kernel gets of a run of the firmware: the same as of its packets one by one;
 * and whether a flow's runs may go as one.
 *
 * Runs dpdk_app/wire/gso_whole.c, gso_run.c and borrow.c on a small pool of DPDK; nothing is sent.
 */
#include "dpdk_app/wire/gso_whole.h"

#include "dpdk_app/accel.h"
#include "tests/dpdk_app/run_fix.h"

enum {
	ALONE = 64, /* frames that go singly at the start of a flow */
};

static struct rte_mempool *pool;
static struct gso_flows flows;
static uint8_t frame[65536], singly[65536];

static void begin(void)
{
	static bool ready;

	pool = seg_pool("gso_whole_ut");
	if (!ready) {
		CU_ASSERT_EQUAL_FATAL(borrow_init(), 0);
		accel_init();
	}
	ready = true;
	memset(&flows, 0, sizeof(flows));
}

static void end(void)
{
	borrow_sweep(&run_shard);
	CU_ASSERT_EQUAL(run_shard.num_borrowed, 0);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

static uint32_t flatten(const struct iovec *piece, uint32_t n, uint8_t *to)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(to + bytes, piece[i].iov_base, piece[i].iov_len);
		bytes += (uint32_t)piece[i].iov_len;
	}
	return bytes;
}

static uint8_t *sealed_of(const struct rte_mbuf *packet, uint8_t *copy)
{
	return memcpy(copy, rte_pktmbuf_mtod(packet, const uint8_t *), packet->data_len);
}

/* Joins the packets of a run as if they had been sent one by one. */
static uint32_t join_singly(const struct rte_mbuf *m, uint32_t n, uint16_t *each)
{
	struct rte_mbuf *packet[FW_RUN_MAX];
	struct iovec payload[FW_RUN_MAX];
	uint32_t bytes;

	CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(pool, packet, n), 0);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t sealed[SEG_ROOM], checked[SEG_ROOM];

		borrow_cut(m, i, packet[i]);
		CU_ASSERT_EQUAL(borrow_seal(m, i, sealed), packet[i]->data_len);
		CU_ASSERT_EQUAL(packet[i]->pkt_len, packet[i]->data_len);
		CU_ASSERT_EQUAL(csum_is_left(packet[i]), csum_is_left(m));
		if (csum_is_left(packet[i]))
			csum_seal(packet[i], sealed_of(packet[i], checked), packet[i]->pkt_len);
		else
			(void)sealed_of(packet[i], checked);
		CU_ASSERT_EQUAL(memcmp(sealed, checked, packet[i]->data_len), 0);
	}
	bytes = gso_join(packet, n, singly, payload, each);
	bytes += flatten(payload, n, singly + bytes);
	rte_pktmbuf_free_bulk(packet, n);
	return bytes;
}

/* Runs of every length, settled or not, whose last packet is full or shorter. */
static void as_of_single_packets(void)
{
	for (uint32_t i = 0; i < 4 * (FW_RUN_MAX - 1); i++) {
		uint32_t n = 2 + i / 4;
		struct gso_whole whole;
		struct rte_mbuf *m;
		uint16_t each;

		begin();
		m = run_make(pool, UINT32_MAX - 3, n, i & 1 ? RUN_SEGMENT : GSO_UDP_LEAST);
		if (i & 2) {
			borrow_settle(&run_shard);
			memset(run_memory, 0, sizeof(run_memory));
		}
		gso_whole_make(m, &whole);
		CU_ASSERT_EQUAL(whole.packets, n);
		CU_ASSERT_EQUAL(whole.hdr_bytes, SEG_UDP_HDR_BYTES);
		CU_ASSERT_EQUAL(flatten(&whole.piece[1], whole.num_pieces, frame),
				join_singly(m, n, &each));
		CU_ASSERT_EQUAL(memcmp(frame, singly, whole.hdr_bytes + whole.bytes), 0);
		CU_ASSERT_EQUAL(whole.each, each);
		CU_ASSERT_EQUAL(each, RUN_HDR_BYTES - SEG_UDP_HDR_BYTES + RUN_SEGMENT + 4);
		rte_pktmbuf_free(m);
		end();
	}
}

/* The same of FPDUs: sequence numbers that wrap, and PSH at the end. */
static void as_of_single_segments(void)
{
	for (uint32_t n = 2; n <= FW_RUN_MAX; n++) {
		struct gso_whole whole;
		struct rte_mbuf *m;
		uint16_t each;

		begin();
		m = run_make_tcp(pool, UINT32_MAX - 3, n, n & 1 ? RUN_SEGMENT : 8);
		gso_whole_make(m, &whole);
		CU_ASSERT_EQUAL(whole.hdr_bytes, SEG_HDR_BYTES);
		CU_ASSERT_EQUAL(flatten(&whole.piece[1], whole.num_pieces, frame),
				join_singly(m, n, &each));
		CU_ASSERT_EQUAL(memcmp(frame, singly, whole.hdr_bytes + whole.bytes), 0);
		CU_ASSERT_EQUAL(whole.each, each);
		CU_ASSERT_TRUE(frame[GSO_L4_AT + 13] & WIRE_TCP_PSH);
		rte_pktmbuf_free(m);
		end();
	}
}

/* The end of a message may be shorter than a frame that would go in a run by itself. */
static void last_of_one_byte(void)
{
	struct gso_whole whole;
	struct rte_mbuf *m;
	uint32_t bytes;

	begin();
	m = run_make(pool, 7, 9, 1);
	gso_whole_make(m, &whole);
	bytes = flatten(&whole.piece[1], whole.num_pieces, frame);
	CU_ASSERT_EQUAL(bytes, whole.hdr_bytes + whole.bytes);
	for (uint32_t i = 0; i < 9; i++) {
		uint32_t at = whole.hdr_bytes + i * whole.each, n = borrow_seal(m, i, singly);

		CU_ASSERT_EQUAL(memcmp(frame + at, singly + whole.hdr_bytes, n - whole.hdr_bytes),
				0);
		CU_ASSERT_EQUAL(at + n - whole.hdr_bytes == bytes, i == 8);
	}
	rte_pktmbuf_free(m);
	end();
}

static uint32_t send_singly(uint32_t psn, uint8_t flags)
{
	struct rte_mbuf *m = run_make(pool, psn, 2, RUN_SEGMENT), *packet = rte_pktmbuf_alloc(pool);
	uint32_t run;

	CU_ASSERT_PTR_NOT_NULL_FATAL(packet);
	borrow_cut(m, 0, packet);
	seg_dgram_hdr(packet)->flags |= flags;
	run = gso_run(&flows, &packet, 1);
	rte_pktmbuf_free(packet);
	rte_pktmbuf_free(m);
	borrow_sweep(&run_shard);
	return run;
}

/*
 * A flow begins singly, and does so again when the datagrams that it repeats are half of those in
 * runs; meanwhile the firmware is told to make no runs.
 */
static void when_runs_go(void)
{
	uint8_t hdr[FW_TX_HDR_BYTES], other[WIRE_MAC_BYTES];
	const uint8_t *mac = hdr;

	begin();
	run_headers(hdr, 0);
	memcpy(other, mac, sizeof(other));
	other[0] ^= 4;
	CU_ASSERT_FALSE(gso_runs_to(&flows, mac));
	CU_ASSERT_FALSE(gso_run_whole(&flows, hdr, 32, 40000));
	for (uint32_t i = 0; i < ALONE; i++) {
		CU_ASSERT_FALSE(gso_runs_to(&flows, mac));
		CU_ASSERT_EQUAL(send_singly(i, 0), 1);
	}
	CU_ASSERT_TRUE(gso_runs_to(&flows, mac));
	CU_ASSERT_FALSE(gso_runs_to(&flows, other));
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT_TRUE(gso_run_whole(&flows, hdr, 32, 40000));
	for (uint32_t i = 0; i < 33; i++) {
		CU_ASSERT_TRUE(gso_runs_to(&flows, mac));
		(void)send_singly(i, WIRE_DGRAM_F_RETRANSMIT);
	}
	CU_ASSERT_FALSE(gso_runs_to(&flows, mac));
	CU_ASSERT_FALSE(gso_run_whole(&flows, hdr, 32, 40000));
	end();
}

/* Neither a kernel that knows none of datagrams nor another protocol gets any. */
static void what_no_kernel_divides(void)
{
	uint8_t hdr[FW_TX_HDR_BYTES];

	begin();
	for (uint32_t i = 0; i < ALONE; i++)
		(void)send_singly(i, 0);
	run_headers(hdr, 0);
	flows.no_udp = true;
	CU_ASSERT_FALSE(gso_run_whole(&flows, hdr, 32, 40000));
	CU_ASSERT_FALSE(gso_runs_to(&flows, hdr));
	flows.no_udp = false;
	CU_ASSERT_TRUE(gso_run_whole(&flows, hdr, 32, 40000));
	((struct wire_eth *)(void *)hdr)->type = be16_put(WIRE_ETHERTYPE_ESP);
	CU_ASSERT_FALSE(gso_run_whole(&flows, hdr, 32, 40000));
	end();
}

/* A run of TCP behind which the flow went on is one that is sent again. */
static void runs_of_tcp(void)
{
	uint8_t hdr[FW_TX_HDR_BYTES];
	struct rte_mbuf *m;

	begin();
	for (uint32_t i = 0; i < ALONE; i++) {
		m = seg_make(pool, i * SEG_MSS, SEG_MSS, WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(gso_run(&flows, &m, 1), 1);
		rte_pktmbuf_free(m);
	}
	m = seg_make(pool, ALONE * SEG_MSS, SEG_MSS, WIRE_TCP_ACK);
	memcpy(hdr, rte_pktmbuf_mtod(m, void *), SEG_HDR_BYTES);
	/* The kernel had no room: it goes by any way, and nothing was lost. */
	CU_ASSERT_TRUE(gso_run_whole(&flows, hdr, 20, 20 * SEG_MSS));
	gso_run_refused(&flows, hdr);
	CU_ASSERT_EQUAL(gso_run(&flows, &m, 1), 1);
	CU_ASSERT_TRUE(gso_runs_to(&flows, hdr));
	gso_run_refused(&flows, hdr);
	CU_ASSERT_TRUE(gso_run_whole(&flows, hdr, 20, 20 * SEG_MSS));
	CU_ASSERT_FALSE(gso_run_whole(&flows, hdr, 20, 20 * SEG_MSS));
	seg_tcp(m)->seq = be32_put((ALONE + 20) * SEG_MSS);
	memcpy(hdr, rte_pktmbuf_mtod(m, void *), SEG_HDR_BYTES);
	CU_ASSERT_TRUE(gso_run_whole(&flows, hdr, 2, 2 * SEG_MSS));
	rte_pktmbuf_free(m);
	end();
}

UT_MAIN("dpdk_app/gso_whole", UT(as_of_single_packets), UT(as_of_single_segments),
	UT(last_of_one_byte), UT(when_runs_go), UT(what_no_kernel_divides), UT(runs_of_tcp))
