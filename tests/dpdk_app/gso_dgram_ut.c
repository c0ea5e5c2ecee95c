/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams sent to the kernel as one frame, and such frames received from it: the datagrams of a
 * run, repetitions, the frame's content, the datagrams after cutting it; frames of both kinds with
 * any headers.
 *
 * Runs dpdk_app/wire/gso_run.c and gso_cut.c on a small pool of DPDK; nothing is sent.
 */
#include "tests/dpdk_app/gso_fix.h"

/* ---- datagrams */

static struct rte_mbuf *add_dgram(uint32_t bytes, uint8_t flags)
{
	struct rte_mbuf *m = seg_dgram(pool, next_seq++, bytes, flags);

	frames[num_frames++] = m;
	return m;
}

/* Single frames at the start of a session. */
static void warm_dgrams(void)
{
	for (uint32_t i = 0; i < 64; i++) {
		add_dgram(SEG_DGRAM, 0);
		add_dgram(SEG_DGRAM, 0);
		CU_ASSERT_EQUAL(run(), 1);
		drop_all();
	}
}

static void runs_of_datagrams(void)
{
	begin();
	warm_dgrams();
	for (uint32_t i = 0; i < RUN; i++)
		add_dgram(SEG_DGRAM, WIRE_DGRAM_F_MORE);
	CU_ASSERT_EQUAL(run(), RUN);
	CU_ASSERT_TRUE(gso_may_go_on(frames, RUN, false));
	seg_dgram_hdr(frames[RUN - 1])->flags = 0;
	CU_ASSERT_FALSE(gso_may_go_on(frames, RUN, false));
	drop_all();
	/* A shorter one is the last; a longer one begins another run; short ones go singly. */
	add_dgram(SEG_DGRAM, 0);
	add_dgram(GSO_UDP_LEAST, WIRE_DGRAM_F_MORE);
	add_dgram(GSO_UDP_LEAST, 0);
	CU_ASSERT_EQUAL(run(), 2);
	CU_ASSERT_FALSE(gso_may_go_on(frames, 2, true));
	drop_all();
	add_dgram(GSO_UDP_LEAST, 0);
	add_dgram(SEG_DGRAM, 0);
	CU_ASSERT_EQUAL(run(), 1);
	drop_all();
	add_dgram(GSO_UDP_LEAST - SEG_UDP_HDR_BYTES, 0);
	add_dgram(GSO_UDP_LEAST - SEG_UDP_HDR_BYTES, 0);
	CU_ASSERT_EQUAL(run(), 1);
	drop_all();
	flows.no_udp = true; /* as for a kernel that does not know such frames */
	add_dgram(SEG_DGRAM, 0);
	add_dgram(SEG_DGRAM, 0);
	CU_ASSERT_EQUAL(run(), 1);
	end();
}

/* Each of these differs from the first one, or is of no kind that goes in runs. */
static void what_is_no_run_of_datagrams(void)
{
	begin();
	warm_dgrams();
	for (uint32_t i = 0; i < 8; i++) {
		struct wire_ip *ip;
		struct rte_mbuf *m;

		add_dgram(SEG_DGRAM, 0);
		m = add_dgram(SEG_DGRAM, 0);
		ip = rte_pktmbuf_mtod_offset(m, struct wire_ip *, sizeof(struct wire_eth));
		switch (i) {
		case 0:
			seg_udp(m)->dst_port = be16_put(WIRE_DGRAM_PORT + 1);
			break;
		case 1:
			seg_udp(m)->checksum = be16_put(1);
			break;
		case 2:
			ip->dst = be32_put(0x0a070003);
			break;
		case 3:
			ip->tos = WIRE_IP_ECT0;
			break;
		case 4:
			seg_dgram_hdr(m)->ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_UD;
			break;
		case 5:
			rte_pktmbuf_mtod(m, uint8_t *)[0] ^= 1; /* a group */
			break;
		case 6:
			ip->total_bytes = be16_put(be16_get(ip->total_bytes) - 1);
			break;
		default:
			rte_pktmbuf_free(frames[--num_frames]);
			add(SEG_MSS, WIRE_TCP_ACK);
		}
		CU_ASSERT_EQUAL(run(), 1);
		drop_all();
	}
	end();
}

static void repeat_dgram(void)
{
	add_dgram(SEG_DGRAM, WIRE_DGRAM_F_RETRANSMIT);
	add_dgram(SEG_DGRAM, 0);
	CU_ASSERT_EQUAL(run(), 1);
	drop_all();
}

/* A session that repeats what went in runs sends singly for a while, each time a longer one. */
static void repeated_datagrams_go_singly(void)
{
	uint32_t count, before = 64;

	begin();
	warm_dgrams();
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < RUN; i++)
			add_dgram(SEG_DGRAM, 0);
		CU_ASSERT_EQUAL(run(), RUN);
		drop_all();
		for (uint32_t i = 0; i < RUN; i++)
			repeat_dgram();
		add_dgram(SEG_DGRAM, 0);
		add_dgram(SEG_DGRAM, 0);
		for (count = 0; run() == 1 && count < 100000; count++)
			;
		CU_ASSERT(count > before && count < 100000);
		before = count;
		drop_all();
	}
	end();
}

/* Where single datagrams are repeated as well, the time of single ones does not grow. */
static void runs_are_not_the_reason(void)
{
	uint32_t count = 0;

	begin();
	warm_dgrams();
	for (uint32_t round = 0; round < 9; round++) {
		for (uint32_t i = 0; i < RUN; i++)
			add_dgram(SEG_DGRAM, 0);
		CU_ASSERT_EQUAL(run(), RUN);
		drop_all();
		for (uint32_t i = 0; i < 2 * RUN; i++)
			repeat_dgram();
		add_dgram(SEG_DGRAM, 0);
		add_dgram(SEG_DGRAM, 0);
		for (count = 0; run() == 1 && count < 100000; count++)
			;
		drop_all();
	}
	CU_ASSERT_EQUAL(count, 64);
	end();
}

/* A few repetitions among many datagrams are losses of another kind. */
static void few_repetitions_change_nothing(void)
{
	begin();
	warm_dgrams();
	for (uint32_t i = 0; i < 1000; i++) {
		add_dgram(SEG_DGRAM, 0);
		add_dgram(SEG_DGRAM, i % 2 ? 0 : WIRE_DGRAM_F_RETRANSMIT);
		add_dgram(SEG_DGRAM, 0);
		CU_ASSERT_EQUAL(run(), i % 2 ? 3 : 1);
		drop_all();
		if (i > 100 && !(i % 16))
			repeat_dgram();
	}
	end();
}

static uint32_t join_dgrams(uint32_t last_bytes)
{
	uint32_t bytes;
	uint16_t each;

	warm_dgrams();
	for (uint32_t i = 0; i + 1 < RUN; i++)
		add_dgram(SEG_DGRAM, i ? WIRE_DGRAM_F_MORE : WIRE_DGRAM_F_ACK);
	add_dgram(last_bytes, 0);
	CU_ASSERT_EQUAL(run(), RUN);
	bytes = join(large, &each);
	CU_ASSERT_EQUAL(each, SEG_DGRAM);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, large + sizeof(struct wire_eth), 20)), 0);
	return bytes;
}

static void datagrams_joined_and_cut_are_the_same(void)
{
	struct gso_cut cut;
	uint32_t i, bytes;

	begin();
	bytes = join_dgrams(777);
	/* Another MTU than the sender's makes no difference: the frame says where to cut. */
	CU_ASSERT_TRUE_FATAL(gso_cut_begin(&cut, chain(large, bytes), SEG_MTU + 100));
	for (i = 0; cut.big && i < RUN; i++) {
		struct rte_mbuf *m = gso_cut_next(&cut, pool);

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		CU_ASSERT_EQUAL(m->data_len, frames[i]->data_len);
		CU_ASSERT(!memcmp(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(frames[i], void *),
				  m->data_len));
		rte_pktmbuf_free(m);
	}
	CU_ASSERT_EQUAL(i, RUN);
	CU_ASSERT_PTR_NULL(cut.big);
	end();
}

static void datagrams_that_are_not_cut(void)
{
	const uint16_t wrong[] = {0,
				  7,
				  8 + sizeof(struct wire_dgram), /* no datagram of weft's */
				  60,                            /* too many */
				  SEG_DGRAM + 9,
				  0xffff /* longer than the MTU, as a kernel's own would be */};
	struct gso_cut cut;
	uint32_t bytes;

	begin();
	bytes = join_dgrams(SEG_DGRAM);
	for (uint32_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct rte_mbuf *big = chain(large, bytes);

		seg_udp(big)->bytes = be16_put(wrong[i]);
		CU_ASSERT_FALSE(gso_cut_begin(&cut, big, SEG_MTU));
		CU_ASSERT_PTR_NULL(cut.big);
		rte_pktmbuf_free(big);
	}
	end();
}

/* Whatever the headers say, segments fit the MTU, are as many as allowed, and hold all payload. */
static void any_headers(void)
{
	uint32_t random = 1, cuts = 0, bytes;
	struct gso_cut cut;

	begin();
	bytes = join_dgrams(SEG_DGRAM);
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t whole = i % 3 ? bytes : 60 + random % (bytes - 60), sum = 0, n = 0;
		struct rte_mbuf *big = chain(large, whole);
		uint8_t *hdr = rte_pktmbuf_mtod(big, uint8_t *);

		if (i % 3 == 0) /* consistent, so that the other fields are reached */
			*(struct be16 *)(hdr + 16) = be16_put((uint16_t)(whole - 14));
		for (uint32_t flips = i % 4; flips; flips--) {
			random = random * 1664525 + 1013904223;
			hdr[12 + (random >> 8) % 42] = (uint8_t)(random >> 20);
		}
		random = random * 1664525 + 1013904223;
		if (!gso_cut_begin(&cut, big, SEG_MTU)) {
			rte_pktmbuf_free(big);
			continue;
		}
		while (cut.big && n <= GSO_CUT_MAX) {
			uint32_t hdr_bytes = cut.layout.hdr_bytes;
			struct rte_mbuf *m = gso_cut_next(&cut, pool);

			CU_ASSERT_PTR_NOT_NULL_FATAL(m);
			CU_ASSERT(m->data_len <= SEG_MTU + sizeof(struct wire_eth));
			sum += m->data_len - hdr_bytes;
			whole = n++ ? whole : whole - hdr_bytes;
			rte_pktmbuf_free(m);
		}
		CU_ASSERT_PTR_NULL(cut.big);
		CU_ASSERT_EQUAL(sum, whole);
		cuts++;
	}
	CU_ASSERT(cuts > 300);
	end();
}

UT_MAIN("dpdk_app/gso_dgram", UT(runs_of_datagrams), UT(what_is_no_run_of_datagrams),
	UT(repeated_datagrams_go_singly), UT(few_repetitions_change_nothing),
	UT(runs_are_not_the_reason), UT(datagrams_joined_and_cut_are_the_same),
	UT(datagrams_that_are_not_cut), UT(any_headers))
