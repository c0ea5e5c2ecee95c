/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP segments and datagrams sent to the kernel as one frame, and such frames received from it: the
 * segments of a run, the frame's content, the segments after cutting it, refused frames.
 *
 * Runs dpdk_app/wire/gso_run.c and gso_cut.c on a small pool of DPDK; nothing is sent.
 */
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

static void begin(void)
{
	pool = seg_pool("gso_ut");
	memset(&flows, 0, sizeof(flows));
	num_frames = 0;
	next_seq = SEQ;
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

static void end(void)
{
	rte_pktmbuf_free_bulk(frames, num_frames);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
}

/* The next segment of the flow. */
static struct rte_mbuf *add(uint32_t payload, uint8_t flags)
{
	struct rte_mbuf *m = seg_make(pool, next_seq, payload, flags);

	next_seq += payload;
	frames[num_frames++] = m;
	return m;
}

static void drop_all(void)
{
	rte_pktmbuf_free_bulk(frames, num_frames);
	num_frames = 0;
}

/* Single frames at the start of a flow. */
static void warm(void)
{
	for (uint32_t i = 0; i < 64; i++) {
		add(SEG_MSS, WIRE_TCP_ACK);
		add(SEG_MSS, WIRE_TCP_ACK);
		next_seq -= SEG_MSS;
		CU_ASSERT_EQUAL(gso_run(&flows, frames, 2), 1);
		drop_all();
	}
}

static uint32_t run(void)
{
	return gso_run(&flows, frames, num_frames);
}

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

/* A frame in buffers of PIECE bytes, as AF_XDP passes it on. */
static struct rte_mbuf *chain(const uint8_t *frame, uint32_t bytes)
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
static uint32_t join(uint8_t *frame, uint16_t *each)
{
	struct iovec payload[RUN];
	uint32_t bytes = gso_join(frames, num_frames, frame, payload, each);

	for (uint32_t i = 0; i < num_frames; i++) {
		memcpy(frame + bytes, payload[i].iov_base, payload[i].iov_len);
		bytes += (uint32_t)payload[i].iov_len;
	}
	return bytes;
}

static struct rte_mbuf *joined(uint8_t *frame, uint32_t *bytes)
{
	uint16_t each;

	*bytes = join(frame, &each);
	CU_ASSERT_EQUAL(each, SEG_MSS);
	return chain(frame, *bytes);
}

static uint8_t large[RUN * SEG_MTU];

static void make_run(void)
{
	warm();
	for (uint32_t i = 0; i + 1 < RUN; i++)
		add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_ECE);
	add(333, WIRE_TCP_ACK | WIRE_TCP_ECE | WIRE_TCP_PSH);
	CU_ASSERT_EQUAL(run(), RUN);
}

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

static struct rte_mbuf *rejoined(void)
{
	uint32_t bytes;

	return joined(large, &bytes);
}

/* Flags that only one segment has: CWR the first, FIN and PSH the last. */
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

UT_MAIN("dpdk_app/gso", UT(runs), UT(what_is_no_run), UT(repetitions_go_singly),
	UT(what_was_not_sent_is_no_repetition), UT(joined_and_cut_is_the_same),
	UT(flags_are_dealt_out), UT(what_is_not_cut), UT(whole_checksum), UT(no_buffers),
	UT(runs_of_datagrams), UT(what_is_no_run_of_datagrams), UT(repeated_datagrams_go_singly),
	UT(few_repetitions_change_nothing), UT(runs_are_not_the_reason),
	UT(datagrams_joined_and_cut_are_the_same), UT(datagrams_that_are_not_cut), UT(any_headers))
