/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames beyond the MTU beside the ring of AF_PACKET: their segments, their place among the others,
 * frames that are late, forged, too many or no runs.
 *
 * Runs dpdk_app/wire/large.c over a pair of sockets in place of a packet socket.
 */
#include "dpdk_app/wire/large.h"

#include <linux/virtio_net.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dpdk_app/csum.h"
#include "tests/dpdk_app/gso_seg.h"
#include "tests/ut.h"

enum {
	RUN = 20,
	TRUSTED_AFTER = 4096, /* frames behind a wrong stub */
	LATE_LOOKS = 1100,    /* more than large.c looks for a frame that is announced */
};

static struct rte_mempool *pool;
static struct large *large;
static int kernel; /* end of the pair in place of the kernel */
static struct rte_mbuf *sent[RUN];

static void begin(void)
{
	int pair[2];

	pool = seg_pool("large_ut");
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	kernel = pair[1];
	large = large_new(pair[0], SEG_MTU, pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(large);
	for (uint32_t i = 0; i < RUN; i++)
		sent[i] = seg_dgram(pool, i, i + 1 < RUN ? SEG_DGRAM : 700, 0);
}

static void end(void)
{
	rte_pktmbuf_free_bulk(sent, RUN);
	large_close(large);
	close(kernel);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

/* The run as one frame into the socket; returns its stub in the ring. */
static struct rte_mbuf *put_run(bool to_socket, uint16_t udp_bytes)
{
	static uint8_t frame[65536];
	struct virtio_net_hdr vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM};
	struct iovec payload[RUN];
	uint16_t each;
	uint32_t bytes = gso_join(sent, RUN, frame, payload, &each);
	struct iovec piece[2] = {{&vnet, sizeof(vnet)}, {frame, 0}};
	struct rte_mbuf *stub = rte_pktmbuf_alloc(pool);

	CU_ASSERT_PTR_NOT_NULL_FATAL(stub);
	for (uint32_t i = 0; i < RUN; i++) {
		memcpy(frame + bytes, payload[i].iov_base, payload[i].iov_len);
		bytes += (uint32_t)payload[i].iov_len;
	}
	if (udp_bytes)
		((struct wire_udp *)(frame + GSO_L4_AT))->bytes = be16_put(udp_bytes);
	piece[1].iov_len = bytes;
	if (to_socket)
		CU_ASSERT_EQUAL(writev(kernel, piece, 2), (ssize_t)(bytes + sizeof(vnet)));
	memcpy(rte_pktmbuf_mtod(stub, void *), frame, LARGE_STUB_BYTES);
	stub->data_len = LARGE_STUB_BYTES;
	stub->pkt_len = LARGE_STUB_BYTES;
	return stub;
}

/* Takes the next frames and compares them with the run. */
static void expect_run(void)
{
	struct rte_mbuf *m[RUN];

	CU_ASSERT_EQUAL_FATAL(large_get(large, m, RUN), RUN);
	for (uint32_t i = 0; i < RUN; i++) {
		CU_ASSERT_EQUAL(m[i]->data_len, sent[i]->data_len);
		CU_ASSERT_EQUAL(m[i]->pkt_len, sent[i]->pkt_len);
		CU_ASSERT(!memcmp(rte_pktmbuf_mtod(m[i], void *), rte_pktmbuf_mtod(sent[i], void *),
				  m[i]->data_len));
		CU_ASSERT_TRUE(csum_device_ok(m[i]));
	}
	rte_pktmbuf_free_bulk(m, RUN);
}

static void expect_one(const struct rte_mbuf *want)
{
	struct rte_mbuf *m;

	CU_ASSERT_EQUAL_FATAL(large_get(large, &m, 1), 1);
	CU_ASSERT_PTR_EQUAL(m, want);
	rte_pktmbuf_free(m);
}

static void in_its_place(void)
{
	struct rte_mbuf *ring[4];

	begin();
	ring[0] = seg_dgram(pool, 100, 200, 0);
	ring[1] = put_run(true, 0);
	ring[2] = seg_dgram(pool, 101, 200, 0);
	ring[3] = put_run(true, 0);
	large_put(large, ring, 4);
	expect_one(ring[0]);
	expect_run();
	expect_one(ring[2]);
	CU_ASSERT_TRUE(large_has(large));
	expect_run();
	CU_ASSERT_FALSE(large_waiting(large));
	CU_ASSERT_EQUAL(large_stats(large)->frames, 2);
	end();
}

/* The stub came first: the frame is taken as soon as it is there, or given up. */
static void late(void)
{
	struct rte_mbuf *stub;

	begin();
	stub = put_run(false, 0);
	large_put(large, &stub, 1);
	CU_ASSERT_FALSE(large_has(large));
	CU_ASSERT_TRUE(large_waiting(large));
	rte_pktmbuf_free(put_run(true, 0));
	large_put(large, NULL, 0);
	expect_run();
	CU_ASSERT_FALSE(large_waiting(large));
	stub = put_run(false, 0);
	large_put(large, &stub, 1);
	for (uint32_t i = 0; i < LATE_LOOKS; i++)
		large_put(large, NULL, 0);
	CU_ASSERT_FALSE(large_waiting(large));
	CU_ASSERT_EQUAL(large_stats(large)->missing, 1);
	end();
}

/* Frames that cannot be divided are dropped, and those behind them are not. */
static void what_is_not_divided(void)
{
	const uint16_t wrong[] = {7, 36, 60, SEG_DGRAM + 9, 0xffff};
	struct rte_mbuf *stub;

	begin();
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		stub = put_run(true, wrong[i]);
		large_put(large, &stub, 1);
		CU_ASSERT_FALSE(large_has(large));
		CU_ASSERT_EQUAL(large_stats(large)->bad, i + 1);
	}
	CU_ASSERT_EQUAL(write(kernel, "short", 5), 5);
	stub = put_run(true, 0);
	large_put(large, &stub, 1);
	CU_ASSERT_FALSE(large_has(large));
	stub = put_run(false, 0);
	large_put(large, &stub, 1);
	expect_run();
	end();
}

/* Frames that are no stubs stay as they are: other lengths, groups, other protocols. */
static void no_stubs(void)
{
	struct rte_mbuf *m[3];

	begin();
	for (uint32_t i = 0; i < 3; i++)
		m[i] = put_run(false, 0);
	m[0]->data_len--;
	rte_pktmbuf_mtod(m[1], uint8_t *)[0] |= 1;
	rte_pktmbuf_mtod_offset(m[2], struct wire_ip *, sizeof(struct wire_eth))->proto =
	    WIRE_IPPROTO_ICMP;
	large_put(large, m, 3);
	for (uint32_t i = 0; i < 3; i++)
		expect_one(m[i]);
	CU_ASSERT_FALSE(large_waiting(large));
	end();
}

static void no_buffers(void)
{
	struct rte_mbuf *taken[SEG_POOL], *stub;
	uint32_t n = 0;

	begin();
	stub = put_run(true, 0);
	while (n < SEG_POOL && (taken[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	large_put(large, &stub, 1);
	CU_ASSERT_FALSE(large_waiting(large));
	CU_ASSERT_EQUAL(large_stats(large)->no_mbuf, 1);
	rte_pktmbuf_free_bulk(taken, n);
	stub = put_run(true, 0);
	large_put(large, &stub, 1);
	expect_run();
	end();
}

/* The sum of TCP must be vouched for, since its segments have none. */
static void tcp(void)
{
	struct virtio_net_hdr vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_size = 1000};
	struct iovec piece[2] = {{&vnet, sizeof(vnet)}};
	struct rte_mbuf *m, *seg;

	begin();
	seg = seg_make(pool, 5, 3000, WIRE_TCP_ACK);
	piece[1] = (struct iovec){rte_pktmbuf_mtod(seg, void *), seg->data_len};
	for (uint32_t i = 0; i < 2; i++) {
		CU_ASSERT(writev(kernel, piece, 2) > 0);
		m = rte_pktmbuf_copy(seg, pool, 0, LARGE_STUB_BYTES);
		large_put(large, &m, 1);
		for (uint32_t n = 0; n < 3 && !i; n++) {
			CU_ASSERT_EQUAL_FATAL(large_get(large, &m, 1), 1);
			CU_ASSERT_EQUAL(m->data_len, SEG_HDR_BYTES + 1000);
			CU_ASSERT_EQUAL(be32_get(seg_tcp(m)->seq), 5 + n * 1000);
			CU_ASSERT_TRUE(
			    csum_is_partial(rte_pktmbuf_mtod(m, uint8_t *), m->data_len));
			CU_ASSERT(!memcmp(
			    rte_pktmbuf_mtod_offset(m, uint8_t *, SEG_HDR_BYTES),
			    rte_pktmbuf_mtod_offset(seg, uint8_t *, SEG_HDR_BYTES + n * 1000),
			    1000));
			rte_pktmbuf_free(m);
		}
		CU_ASSERT_FALSE(large_has(large));
		vnet.flags = 0;
	}
	CU_ASSERT_EQUAL(large_stats(large)->frames, 1);
	CU_ASSERT_EQUAL(large_stats(large)->bad, 1);
	rte_pktmbuf_free(seg);
	end();
}

/*
 * A stub that is not of the next frame: this one frame is lost. Behind it stubs are not believed
 * for a while, so that no stranger who forges some costs more.
 */
static void wrong_stub(void)
{
	const uint16_t other = SEG_DGRAM - 100 + sizeof(struct wire_udp);
	struct rte_mbuf *stub;

	begin();
	rte_pktmbuf_free(put_run(true, 0));
	stub = put_run(false, other);
	large_put(large, &stub, 1);
	CU_ASSERT_FALSE(large_has(large));
	CU_ASSERT_EQUAL(large_stats(large)->bad, 1);
	for (uint32_t i = 0; i < TRUSTED_AFTER; i++) {
		rte_pktmbuf_free(put_run(true, 0));
		stub = put_run(false, other);
		large_put(large, &stub, 1);
		expect_run();
	}
	CU_ASSERT_EQUAL(large_stats(large)->bad, 1);
	rte_pktmbuf_free(put_run(true, 0));
	stub = put_run(false, other);
	large_put(large, &stub, 1);
	CU_ASSERT_FALSE(large_has(large));
	CU_ASSERT_EQUAL(large_stats(large)->bad, 2);
	CU_ASSERT_FALSE(large_waiting(large));
	end();
}

UT_MAIN("dpdk_app/large", UT(in_its_place), UT(late), UT(what_is_not_divided), UT(no_stubs),
	UT(no_buffers), UT(tcp), UT(wrong_stub))
