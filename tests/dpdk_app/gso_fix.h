/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of runs (gso_ut.c, gso_dgram_ut.c): frames of one flow in a small pool, runs
 * of them, and frames joined for the kernel.
 */
#ifndef WEFT_TESTS_DPDK_APP_GSO_FIX_H
#define WEFT_TESTS_DPDK_APP_GSO_FIX_H

#include <rte_mbuf.h>
#include <sys/uio.h>

#include "dpdk_app/csum.h"
#include "dpdk_app/wire/gso_cut.h"
#include "dpdk_app/wire/gso_run.h"
#include "tests/dpdk_app/gso_seg.h"
#include "tests/ut.h"

enum {
	PIECE = 3072, /* of a frame that comes in several buffers */
	RUN = 32,
	SEQ = 0xfffff000, /* wraps within a run */
};

static struct rte_mempool *pool;
static struct gso_flows flows;
static struct rte_mbuf *frames[RUN];
static uint32_t num_frames, next_seq;

static inline void begin(void)
{
	pool = seg_pool("gso_ut");
	memset(&flows, 0, sizeof(flows));
	num_frames = 0;
	next_seq = SEQ;
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

static inline void end(void)
{
	rte_pktmbuf_free_bulk(frames, num_frames);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

/* The next segment of the flow. */
static inline struct rte_mbuf *add(uint32_t payload, uint8_t flags)
{
	struct rte_mbuf *m = seg_make(pool, next_seq, payload, flags);

	next_seq += payload;
	frames[num_frames++] = m;
	return m;
}

static inline void drop_all(void)
{
	rte_pktmbuf_free_bulk(frames, num_frames);
	num_frames = 0;
}

/* Single frames at the start of a flow. */
static inline void warm(void)
{
	for (uint32_t i = 0; i < 64; i++) {
		add(SEG_MSS, WIRE_TCP_ACK);
		add(SEG_MSS, WIRE_TCP_ACK);
		next_seq -= SEG_MSS;
		CU_ASSERT_EQUAL(gso_run(&flows, frames, 2), 1);
		drop_all();
	}
}

static inline uint32_t run(void)
{
	return gso_run(&flows, frames, num_frames);
}

/* A frame in buffers of PIECE bytes, as AF_XDP passes it on. */
static inline struct rte_mbuf *chain(const uint8_t *frame, uint32_t bytes)
{
	struct rte_mbuf *first = NULL, *last = NULL;

	for (uint32_t at = 0; at < bytes; at += PIECE) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		uint32_t n = bytes - at < PIECE ? bytes - at : PIECE;

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		memcpy(rte_pktmbuf_mtod(m, void *), frame + at, n);
		m->data_len = (uint16_t)n;
		m->pkt_len = n;
		if (first) {
			last->next = m;
			first->nb_segs++;
			first->pkt_len += n;
		} else {
			first = m;
		}
		last = m;
	}
	return first;
}

/* A whole run in one frame, as a kernel without segmentation sends it. */
static inline uint32_t join(uint8_t *frame, uint16_t *each)
{
	struct iovec payload[RUN];
	uint32_t bytes = gso_join(frames, num_frames, frame, payload, each);

	for (uint32_t i = 0; i < num_frames; i++) {
		memcpy(frame + bytes, payload[i].iov_base, payload[i].iov_len);
		bytes += (uint32_t)payload[i].iov_len;
	}
	return bytes;
}

static inline struct rte_mbuf *joined(uint8_t *frame, uint32_t *bytes)
{
	uint16_t each;

	*bytes = join(frame, &each);
	CU_ASSERT_EQUAL(each, SEG_MSS);
	return chain(frame, *bytes);
}

static uint8_t large[RUN * SEG_MTU];

static inline void make_run(void)
{
	warm();
	for (uint32_t i = 0; i + 1 < RUN; i++)
		add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_ECE);
	add(333, WIRE_TCP_ACK | WIRE_TCP_ECE | WIRE_TCP_PSH);
	CU_ASSERT_EQUAL(run(), RUN);
}

static inline struct rte_mbuf *rejoined(void)
{
	uint32_t bytes;

	return joined(large, &bytes);
}

#endif /* WEFT_TESTS_DPDK_APP_GSO_FIX_H */
