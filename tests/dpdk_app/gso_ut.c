/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP segments sent to the kernel as one frame, and such frames received from it: the segments of a
 * run, the frame's content, the segments after cutting it, refused frames.
 *
 * Runs dpdk_app/wire/gso_run.c and gso_cut.c on a small pool of DPDK; nothing is sent.
 */
#include "tests/dpdk_app/gso_fix.h"

static void runs(void)
{
	begin();
	warm();
	for (uint32_t i = 0; i < RUN; i++)
		add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), RUN);
	CU_ASSERT_TRUE(gso_may_go_on(frames, RUN, true));
	CU_ASSERT_FALSE(gso_may_go_on(frames, RUN, false));
	drop_all();
	/* A shorter segment is the last, and so is one with PSH. */
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	add(200, WIRE_TCP_ACK);
	add(200, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 3);
	CU_ASSERT_TRUE(gso_may_go_on(frames, 2, true));
	CU_ASSERT_FALSE(gso_may_go_on(frames, 3, true));
	drop_all();
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_PSH);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 2);
	CU_ASSERT_FALSE(gso_may_go_on(frames, 2, true));
	drop_all();
	/* A longer one begins another run. */
	add(300, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 1);
	end();
}

/* Each of these differs from the first one in a field that the kernel would repeat. */
static void what_is_no_run(void)
{
	begin();
	warm();
	for (uint32_t i = 0; i < 10; i++) {
		struct rte_mbuf *m;

		add(SEG_MSS, WIRE_TCP_ACK);
		m = add(SEG_MSS, WIRE_TCP_ACK);
		switch (i) {
		case 0:
			seg_tcp(m)->seq = be32_put(next_seq);
			break;
		case 1:
			seg_tcp(m)->ack = be32_put(78);
			break;
		case 2:
			seg_tcp(m)->window = be16_put(501);
			break;
		case 3:
			seg_tcp(m)->dst_port = be16_put(7002);
			break;
		case 4:
			seg_tcp(m)->flags |= WIRE_TCP_ECE;
			break;
		case 5:
			seg_tcp(m)->flags |= WIRE_TCP_FIN;
			break;
		case 6:
			((uint8_t *)(seg_tcp(m) + 1))[SEG_OPT_BYTES - 1] ^= 1;
			break;
		case 7:
			rte_pktmbuf_mtod(m, uint8_t *)[0] ^= 2; /* another station */
			break;
		case 8:
			rte_pktmbuf_mtod_offset(m, struct wire_ip *, sizeof(struct wire_eth))->tos =
			    WIRE_IP_ECT0;
			break;
		default:
			m->ol_flags = 0; /* its checksum is filled in */
		}
		CU_ASSERT_EQUAL(run(), 1);
		drop_all();
	}
	add(SEG_MSS, WIRE_TCP_ACK)->ol_flags = 0;
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 1);
	end();
}

static void repetitions_go_singly(void)
{
	uint32_t count, at;

	begin();
	warm();
	at = next_seq;
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 2);
	drop_all();
	next_seq = at;
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 1);
	/* A new flow likewise, for a while that is longer than at the start. */
	next_seq += SEG_MSS;
	for (count = 0; run() == 1 && count < 10000; count++) {
		drop_all();
		add(SEG_MSS, WIRE_TCP_ACK);
		add(SEG_MSS, WIRE_TCP_ACK);
		next_seq -= SEG_MSS;
	}
	CU_ASSERT(count > 64 && count < 10000);
	end();
}

static void what_was_not_sent_is_no_repetition(void)
{
	begin();
	warm();
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(run(), 3);
	gso_unsent(&flows, frames, num_frames);
	CU_ASSERT_EQUAL(run(), 3);
	end();
}

/* ---- frames to and from the kernel */

static void joined_and_cut_is_the_same(void)
{
	struct gso_cut cut;
	struct rte_mbuf *big;
	uint32_t bytes, i;

	begin();
	make_run();
	big = joined(large, &bytes);
	/* As the kernel requires: a right IP header, and the pseudo header's sum of the whole. */
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, large + sizeof(struct wire_eth), 20)), 0);
	CU_ASSERT_TRUE(csum_is_partial(large, bytes));
	CU_ASSERT_TRUE_FATAL(gso_cut_begin(&cut, big, SEG_MTU));
	for (i = 0; cut.big && i < RUN; i++) {
		struct rte_mbuf *m = gso_cut_next(&cut, pool);

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		CU_ASSERT_EQUAL(m->data_len, frames[i]->data_len);
		CU_ASSERT(!memcmp(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(frames[i], void *),
				  m->data_len));
		CU_ASSERT_TRUE(csum_device_ok(m));
		rte_pktmbuf_free(m);
	}
	CU_ASSERT_EQUAL(i, RUN);
	CU_ASSERT_PTR_NULL(cut.big);
	end();
}

static void flags_are_dealt_out(void)
{
	struct gso_cut cut;
	struct rte_mbuf *big;

	begin();
	make_run();
	big = rejoined();
	seg_tcp(big)->flags = WIRE_TCP_ACK | WIRE_TCP_CWR | WIRE_TCP_FIN | WIRE_TCP_PSH;
	CU_ASSERT_TRUE_FATAL(gso_cut_begin(&cut, big, SEG_MTU));
	for (uint32_t i = 0; i < RUN; i++) {
		struct rte_mbuf *m = gso_cut_next(&cut, pool);
		uint8_t flags = WIRE_TCP_ACK;

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		if (!i)
			flags |= WIRE_TCP_CWR;
		if (i + 1 == RUN)
			flags |= WIRE_TCP_FIN | WIRE_TCP_PSH;
		CU_ASSERT_EQUAL(seg_tcp(m)->flags, flags);
		rte_pktmbuf_free(m);
	}
	end();
}

static void what_is_not_cut(void)
{
	struct wire_eth *eth;
	struct wire_ip *ip;
	struct gso_cut cut;
	struct rte_mbuf *big;

	begin();
	make_run();
	for (uint32_t i = 0; i < 9; i++) {
		uint32_t mtu = SEG_MTU;

		big = rejoined();
		eth = rte_pktmbuf_mtod(big, struct wire_eth *);
		ip = (struct wire_ip *)(eth + 1);
		switch (i) {
		case 0:
			eth->type = be16_put(WIRE_ETHERTYPE_ARP);
			break;
		case 1:
			ip->proto = WIRE_IPPROTO_UDP;
			break;
		case 2:
			ip->frag = be16_put(WIRE_IP_MF);
			break;
		case 3:
			ip->total_bytes = be16_put(0); /* longer than IPv4 allows */
			break;
		case 4:
			ip->version_ihl = 0x4f; /* its options are missing */
			break;
		case 5:
			seg_tcp(big)->data_offset = 4 << 4;
			break;
		case 6:
			seg_tcp(big)->flags |= WIRE_TCP_SYN;
			break;
		case 7:
			seg_tcp(big)->checksum = be16_put(1);
			break;
		default:
			mtu = SEG_HDR_BYTES - sizeof(*eth); /* no room for data */
		}
		CU_ASSERT_FALSE(gso_cut_begin(&cut, big, mtu));
		CU_ASSERT_PTR_NULL(cut.big);
		rte_pktmbuf_free(big);
	}
	end();
}

/* A filled-in checksum is verified. */
static void whole_checksum(void)
{
	struct gso_cut cut;
	struct rte_mbuf *big, *m;
	uint32_t bytes;
	struct be16 sum;

	begin();
	make_run();
	big = joined(large, &bytes);
	wire_sum_put(large, bytes, GSO_L4_AT, GSO_L4_AT + CSUM_TCP_AT);
	memcpy(&sum, large + GSO_L4_AT + CSUM_TCP_AT, sizeof(sum));
	seg_tcp(big)->checksum = sum;
	CU_ASSERT_TRUE_FATAL(gso_cut_begin(&cut, big, SEG_MTU));
	m = gso_cut_next(&cut, pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m);
	CU_ASSERT_TRUE(csum_is_partial(rte_pktmbuf_mtod(m, uint8_t *), m->data_len));
	rte_pktmbuf_free(m);
	gso_cut_end(&cut);
	/* One byte of the last buffer. */
	big = joined(large, &bytes);
	seg_tcp(big)->checksum = sum;
	rte_pktmbuf_mtod(rte_pktmbuf_lastseg(big), uint8_t *)[5] ^= 0x10;
	CU_ASSERT_FALSE(gso_cut_begin(&cut, big, SEG_MTU));
	rte_pktmbuf_free(big);
	end();
}

static void no_buffers(void)
{
	struct rte_mbuf *taken[SEG_POOL];
	struct gso_cut cut;
	uint32_t n = 0;

	begin();
	make_run();
	CU_ASSERT_TRUE_FATAL(gso_cut_begin(&cut, rejoined(), SEG_MTU));
	while (n < SEG_POOL && (taken[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	CU_ASSERT_PTR_NULL(gso_cut_next(&cut, pool));
	gso_cut_end(&cut);
	CU_ASSERT_PTR_NULL(cut.big);
	gso_cut_end(&cut);
	rte_pktmbuf_free_bulk(taken, n);
	end();
}

UT_MAIN("dpdk_app/gso", UT(runs), UT(what_is_no_run), UT(repetitions_go_singly),
	UT(what_was_not_sent_is_no_repetition), UT(joined_and_cut_is_the_same),
	UT(flags_are_dealt_out), UT(what_is_not_cut), UT(whole_checksum), UT(no_buffers))
