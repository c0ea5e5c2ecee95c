/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of TCP segments for a card that divides them: when they are asked for, the chain of mbufs
 * that a driver gets, the order of frames, those that come back for want of room, tags of a VLAN.
 *
 * Runs dpdk_app/wire/tso.c. The card is a driver in this file, which divides what it gets by the
 * requests in the mbufs alone, as DPDK describes them; each segment has to have the bytes of
 * the frame that it was made of.
 */
#include "dpdk_app/wire/tso.h"

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <string.h>

#include "dpdk_app/csum.h"
#include "dpdk_app/wire/wire.h"
#include "lib/prng.h"
#include "tests/dpdk_app/gso_seg.h"
#include "tests/ut.h"

enum {
	PORT = 3,
	QUEUE = 1,
	SEQ = 0xfffff000, /* wraps on the way */
	KEPT = 4096,
	FRAME_MAX = 1600,
	ALONE = 64, /* frames that a flow begins with */
	TAG_BYTES = 4,
	VLAN = 5,
};

#define OFFERS                                                                                     \
	(RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static struct rte_mempool *pool;
static struct conf_nic conf;
static struct nic nic;
static struct wire wire;
static struct rte_mbuf *frames[FW_BURST]; /* made, not taken */
static uint32_t num_frames, next_seq;

/* Frames as they have to leave, with their checksums. */
static struct {
	uint8_t byte[FRAME_MAX];
	uint32_t bytes;
} made[KEPT];
static uint32_t num_made, num_left;

/* The card. */
static uint32_t room; /* packets that it takes */
static bool refuses;  /* runs */
/* Its driver inserts tags, and wants the length in sums, as net_virtio does. */
static bool inserts;
static uint32_t packets[KEPT]; /* segments of each that it got */
static uint32_t num_packets;

/* One frame leaves: it has to be the next of those that were made. */
static void leave(uint8_t *frame, uint32_t bytes, uint32_t l2_bytes)
{
	struct wire_ip *ip = (struct wire_ip *)(frame + l2_bytes);
	uint32_t tag = l2_bytes - (uint32_t)sizeof(struct wire_eth);

	CU_ASSERT_FATAL(num_left < num_made);
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	if (ip->proto == WIRE_IPPROTO_TCP)
		wire_sum_put(frame, bytes, l2_bytes + 20, l2_bytes + 20 + CSUM_TCP_AT);
	if (tag) {
		CU_ASSERT_EQUAL(frame[12] << 8 | frame[13], 0x8100);
		CU_ASSERT_EQUAL(frame[14] << 8 | frame[15], VLAN);
		memmove(frame + tag, frame, 12);
	}
	CU_ASSERT_EQUAL(bytes - tag, made[num_left].bytes);
	CU_ASSERT_EQUAL(memcmp(frame + tag, made[num_left].byte, bytes - tag), 0);
	num_left++;
}

/* Divides a packet by its requests. */
static uint32_t divide(const struct rte_mbuf *m)
{
	static uint8_t all[65536 + 64], segment[FRAME_MAX];
	uint32_t hdr = (uint32_t)m->l2_len + m->l3_len + m->l4_len, bytes = 0, n = 0;
	uint32_t l2_bytes = m->l2_len;
	struct wire_tcp *tcp = (struct wire_tcp *)(segment + l2_bytes + m->l3_len);
	struct wire_ip *ip = (struct wire_ip *)(segment + l2_bytes);
	const struct wire_tcp *whole = (const struct wire_tcp *)(all + l2_bytes + m->l3_len);
	uint32_t sum = wire_sum_add(WIRE_IPPROTO_TCP, all + l2_bytes + 12, 8);

	for (const struct rte_mbuf *s = m; s; s = s->next, n++) {
		CU_ASSERT_FATAL(bytes + s->data_len <= sizeof(all));
		memcpy(all + bytes, rte_pktmbuf_mtod(s, const void *), s->data_len);
		bytes += s->data_len;
	}
	CU_ASSERT_EQUAL(n, m->nb_segs);
	CU_ASSERT_EQUAL(bytes, m->pkt_len);
	CU_ASSERT_TRUE(bytes - sizeof(struct wire_eth) <= 65535);
	CU_ASSERT_EQUAL(hdr, l2_bytes + 20 + (uint32_t)(whole->data_offset >> 4) * 4);
	sum = wire_sum_add(WIRE_IPPROTO_TCP, all + l2_bytes + 12, 8);
	if (inserts)
		sum =
		    wire_sum_add(WIRE_IPPROTO_TCP + bytes - l2_bytes - 20, all + l2_bytes + 12, 8);
	CU_ASSERT_EQUAL(be16_get(whole->checksum), (uint16_t)~wire_sum_fold(sum));
	n = 0;
	for (uint32_t at = hdr; at < bytes; at += m->tso_segsz, n++) {
		uint32_t left = bytes - at, each = left < m->tso_segsz ? left : m->tso_segsz;

		memcpy(segment, all, hdr);
		memcpy(segment + hdr, all + at, each);
		ip->total_bytes = be16_put((uint16_t)(hdr - l2_bytes + each));
		tcp->seq = be32_put(be32_get(whole->seq) + at - hdr);
		if (at + each < bytes)
			tcp->flags &= (uint8_t) ~(WIRE_TCP_PSH | WIRE_TCP_FIN);
		/* The checksum is of the segment: the pseudo header's has the length now. */
		sum = wire_sum_add(WIRE_IPPROTO_TCP + hdr - l2_bytes - 20 + each, &ip->src, 8);
		tcp->checksum = be16_put((uint16_t)~wire_sum_fold(sum));
		leave(segment, hdr + each, l2_bytes);
	}
	return n;
}

/* A second time it would be wrong. */
static void add_length(struct rte_mbuf *m)
{
	uint32_t l4_at = (uint32_t)m->l2_len + m->l3_len;
	struct wire_tcp *tcp = rte_pktmbuf_mtod_offset(m, struct wire_tcp *, l4_at);
	uint32_t sum = be16_get(tcp->checksum) + m->pkt_len - l4_at;

	tcp->checksum = be16_put((uint16_t)~wire_sum_fold(sum));
}

static uint16_t card_prepare(void *queue, struct rte_mbuf **m, uint16_t n)
{
	(void)queue;
	for (uint16_t i = 0; i < n; i++) {
		bool run = m[i]->ol_flags & RTE_MBUF_F_TX_TCP_SEG;

		if (refuses && run)
			return i;
		if (inserts && m[i]->ol_flags & RTE_MBUF_F_TX_VLAN)
			CU_ASSERT_EQUAL(rte_vlan_insert(&m[i]), 0);
		if (inserts && run)
			add_length(m[i]);
	}
	return n;
}

/* Takes frames with their tag in them; one that the card were to insert is put in here. */
static uint32_t card_take(struct rte_mbuf *m)
{
	uint32_t n = 1, l2_bytes;
	uint8_t *frame;

	if (m->ol_flags & RTE_MBUF_F_TX_VLAN) {
		CU_ASSERT_FALSE(inserts);
		CU_ASSERT_EQUAL(m->vlan_tci, VLAN);
		frame = (uint8_t *)rte_pktmbuf_prepend(m, TAG_BYTES);
		memmove(frame, frame + TAG_BYTES, 12);
		memcpy(frame + 12, (const uint8_t[]){0x81, 0, 0, VLAN}, TAG_BYTES);
		m->l2_len += TAG_BYTES;
	}
	if (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) {
		n = divide(m);
	} else {
		frame = rte_pktmbuf_mtod(m, uint8_t *);
		l2_bytes = sizeof(struct wire_eth) + (frame[12] == 0x81 ? TAG_BYTES : 0);
		CU_ASSERT_EQUAL(m->nb_segs, 1);
		leave(frame, m->data_len, l2_bytes);
	}
	rte_pktmbuf_free(m);
	return n;
}

static uint16_t card_burst(void *queue, struct rte_mbuf **m, uint16_t n)
{
	(void)queue;
	if (n > room)
		n = (uint16_t)room;
	room -= n;
	for (uint16_t i = 0; i < n; i++)
		packets[num_packets++] = card_take(m[i]);
	return n;
}

/* Returns the offloads that weftd asks a driver for that says this of itself. */
static uint64_t request(uint64_t offers, uint16_t nb_seg_max, uint16_t nb_mtu_seg_max)
{
	struct rte_eth_dev_info info = {
	    .tx_offload_capa = offers,
	    .tx_desc_lim = {.nb_seg_max = nb_seg_max, .nb_mtu_seg_max = nb_mtu_seg_max}};
	struct rte_eth_conf eth = {0};

	tso_request(&wire, &info, &eth);
	return eth.txmode.offloads;
}

static void begin(uint64_t offers, uint16_t nb_seg_max)
{
	static void *queues[QUEUE + 1];

	pool = seg_pool("tso_ut");
	rte_eth_fp_ops[PORT].tx_pkt_burst = card_burst;
	rte_eth_fp_ops[PORT].tx_pkt_prepare = card_prepare;
	rte_eth_fp_ops[PORT].txq.data = queues;
	memset(&conf, 0, sizeof(conf));
	memset(&wire, 0, sizeof(wire));
	nic.conf = &conf;
	nic.pool = pool;
	wire.nic = &nic;
	wire.port = PORT;
	room = UINT32_MAX;
	refuses = inserts = false;
	num_frames = num_made = num_left = num_packets = 0;
	next_seq = SEQ;
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
	(void)request(offers, nb_seg_max, UINT16_MAX);
}

static void end(void)
{
	CU_ASSERT_EQUAL(num_frames, 0);
	CU_ASSERT_EQUAL(num_left, num_made);
	CU_ASSERT_EQUAL(rte_mempool_avail_count(pool), SEG_POOL);
	tso_free(&wire);
}

/* Makes a frame, and a copy of it as it has to leave. */
static void add_frame(struct rte_mbuf *m)
{
	frames[num_frames++] = m;
	made[num_made].bytes = m->data_len;
	memcpy(made[num_made].byte, rte_pktmbuf_mtod(m, const void *), m->data_len);
	if (csum_is_left(m))
		csum_seal(m, made[num_made].byte, m->pkt_len);
	num_made++;
}

static void add(uint32_t payload, uint8_t flags)
{
	add_frame(seg_make(pool, next_seq, payload, flags));
	next_seq += payload;
}

/* Sends what was made; returns how many frames were taken, and keeps the others. */
static uint32_t send_all(void)
{
	uint32_t took = tso_tx(&wire, QUEUE, frames, num_frames);

	CU_ASSERT_FATAL(took <= num_frames);
	num_frames -= took;
	memmove(frames, frames + took, num_frames * sizeof(frames[0]));
	return took;
}

/* A flow past its initial single frames. */
static void warm(void)
{
	for (uint32_t i = 0; i < ALONE; i++) {
		add(SEG_MSS, WIRE_TCP_ACK);
		CU_ASSERT_EQUAL(send_all(), 1);
	}
	num_packets = 0;
}

static void asked_for_where_offered(void)
{
	uint64_t all = OFFERS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;

	begin(0, UINT16_MAX);
	CU_ASSERT_EQUAL(request(all | RTE_ETH_TX_OFFLOAD_UDP_TSO, UINT16_MAX, UINT16_MAX), all);
	CU_ASSERT_EQUAL(wire.tso_frames, FW_BURST);
	CU_ASSERT_EQUAL(request(OFFERS, 8, 2), OFFERS);
	CU_ASSERT_EQUAL(wire.tso_frames, 8);
	for (uint32_t bit = 0; bit < 64; bit++) {
		uint64_t one = UINT64_C(1) << bit;

		if (!(OFFERS & one))
			continue;
		CU_ASSERT_EQUAL(request(all & ~one, UINT16_MAX, UINT16_MAX), 0);
		CU_ASSERT_EQUAL(wire.tso_frames, 0);
	}
	/* Buffers of a packet, and of a segment of it, are too few. */
	CU_ASSERT_EQUAL(request(all, 1, UINT16_MAX), 0);
	CU_ASSERT_EQUAL(request(all, UINT16_MAX, 1), 0);
	CU_ASSERT_EQUAL(wire.tso_frames, 0);
	conf.no_tso = true;
	CU_ASSERT_EQUAL(request(all, UINT16_MAX, UINT16_MAX), 0);
	CU_ASSERT_EQUAL(wire.tso_frames, 0);
	end();
}

/* A burst with a short segment at its end becomes one packet, with IP's checksum by either. */
static void burst_is_one_packet(void)
{
	static const uint64_t by[] = {OFFERS, OFFERS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM};

	for (size_t i = 0; i < 2; i++) {
		begin(by[i], UINT16_MAX);
		warm();
		while (num_frames + 1 < FW_BURST)
			add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_ECE);
		add(333, WIRE_TCP_ACK | WIRE_TCP_ECE | WIRE_TCP_PSH);
		CU_ASSERT_EQUAL(send_all(), FW_BURST);
		CU_ASSERT_EQUAL(num_packets, 1);
		CU_ASSERT_EQUAL(packets[0], FW_BURST);
		CU_ASSERT_EQUAL(tso_stats(wire.tso).runs, 1);
		CU_ASSERT_EQUAL(tso_stats(wire.tso).frames, FW_BURST);
		end();
	}
}

static struct rte_mbuf *chain;
static uint32_t ip_sum;

static uint16_t card_keeps(void *queue, struct rte_mbuf **m, uint16_t n)
{
	(void)queue;
	chain = m[0];
	ip_sum = wire_sum_fold(
	    wire_sum_add(0, rte_pktmbuf_mtod_offset(m[0], void *, sizeof(struct wire_eth)), 20));
	return n;
}

/* The requests in the first mbuf, as DPDK wants them. */
static void requests(void)
{
	uint64_t seg = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV4;

	for (uint32_t made_by_card = 0; made_by_card < 2; made_by_card++) {
		begin(OFFERS | (made_by_card ? RTE_ETH_TX_OFFLOAD_IPV4_CKSUM : 0), UINT16_MAX);
		warm();
		add(SEG_MSS, WIRE_TCP_ACK);
		add(100, WIRE_TCP_ACK | WIRE_TCP_PSH);
		rte_eth_fp_ops[PORT].tx_pkt_burst = card_keeps;
		CU_ASSERT_EQUAL(send_all(), 2);
		CU_ASSERT_EQUAL(chain->ol_flags, seg | (made_by_card ? RTE_MBUF_F_TX_IP_CKSUM : 0));
		CU_ASSERT_EQUAL(chain->l2_len, 14);
		CU_ASSERT_EQUAL(chain->l3_len, 20);
		CU_ASSERT_EQUAL(chain->l4_len, 20 + SEG_OPT_BYTES);
		CU_ASSERT_EQUAL(chain->tso_segsz, SEG_MSS);
		CU_ASSERT_EQUAL(chain->nb_segs, 2);
		CU_ASSERT_EQUAL(chain->pkt_len, SEG_HDR_BYTES + SEG_MSS + 100);
		CU_ASSERT_EQUAL(chain->next->data_len, 100);
		/* The header is right where the card does not make its checksum. */
		CU_ASSERT_TRUE(!ip_sum == !made_by_card);
		CU_ASSERT_EQUAL(rte_validate_tx_offload(chain), made_by_card ? 0 : -EINVAL);
		rte_pktmbuf_free(chain);
		num_left = num_made;
		end();
	}
}

/* Frames that are in no run stay where they were made. */
static void order(void)
{
	begin(OFFERS, UINT16_MAX);
	warm();
	add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_FIN);
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	add(100, WIRE_TCP_ACK);
	add_frame(seg_dgram(pool, 1, SEG_DGRAM, 0));
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_PSH);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(send_all(), 8);
	CU_ASSERT_EQUAL(num_packets, 5);
	CU_ASSERT_EQUAL(packets[0], 1);
	CU_ASSERT_EQUAL(packets[1], 3);
	CU_ASSERT_EQUAL(packets[2], 1);
	CU_ASSERT_EQUAL(packets[3], 2);
	CU_ASSERT_EQUAL(packets[4], 1);
	end();
}

/* No packet has more buffers than the driver takes, and none is taken for a repetition. */
static void driver_limit(void)
{
	begin(OFFERS, 8);
	warm();
	for (uint32_t i = 0; i < 20; i++)
		add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(send_all(), 20);
	CU_ASSERT_EQUAL(num_packets, 3);
	CU_ASSERT_EQUAL(packets[0], 8);
	CU_ASSERT_EQUAL(packets[1], 8);
	CU_ASSERT_EQUAL(packets[2], 4);
	end();
}

/* Frames that a full card did not take are as they were, and go in runs later. */
static void no_room(void)
{
	begin(OFFERS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, 8);
	warm();
	for (uint32_t i = 0; i < 20; i++)
		add(SEG_MSS, WIRE_TCP_ACK);
	room = 1;
	CU_ASSERT_EQUAL(send_all(), 8);
	for (uint32_t i = 0; i < num_frames; i++) {
		struct rte_mbuf *m = frames[i];

		CU_ASSERT_EQUAL(m->nb_segs, 1);
		CU_ASSERT_PTR_NULL(m->next);
		CU_ASSERT_EQUAL(m->pkt_len, SEG_HDR_BYTES + SEG_MSS);
		CU_ASSERT_EQUAL(m->data_len, m->pkt_len);
		CU_ASSERT_EQUAL(m->data_off, RTE_PKTMBUF_HEADROOM);
		CU_ASSERT_EQUAL(m->ol_flags, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM);
		CU_ASSERT_EQUAL(m->tso_segsz, 0);
		csum_seal(m, rte_pktmbuf_mtod(m, uint8_t *), m->pkt_len);
		CU_ASSERT_EQUAL(
		    memcmp(rte_pktmbuf_mtod(m, void *), made[num_left + i].byte, m->data_len), 0);
		/* As the firmware left it. */
		seg_tcp(m)->checksum = be16_put(
		    (uint16_t)wire_sum_add(WIRE_IPPROTO_TCP + m->data_len - GSO_L4_AT,
					   rte_pktmbuf_mtod_offset(m, void *, GSO_L4_AT - 8), 8));
	}
	room = 0;
	CU_ASSERT_EQUAL(send_all(), 0);
	CU_ASSERT_EQUAL(tso_stats(wire.tso).runs, 1);
	room = UINT32_MAX;
	CU_ASSERT_EQUAL(send_all(), 12);
	CU_ASSERT_EQUAL(num_packets, 3);
	CU_ASSERT_EQUAL(packets[2], 4);
	end();
}

/* A driver that refuses a run gets no other. */
static void refused(void)
{
	begin(OFFERS, UINT16_MAX);
	warm();
	refuses = true;
	add(SEG_MSS, WIRE_TCP_ACK | WIRE_TCP_PSH);
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(send_all(), 1);
	CU_ASSERT_EQUAL(send_all(), 2);
	CU_ASSERT_EQUAL(num_packets, 3);
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	CU_ASSERT_EQUAL(send_all(), 2);
	CU_ASSERT_EQUAL(num_packets, 5);
	CU_ASSERT_EQUAL(tso_stats(wire.tso).refused, 1);
	CU_ASSERT_EQUAL(tso_stats(wire.tso).runs, 0);
	end();
}

/* A frame that another holds stays as it is. */
static void shared(void)
{
	struct rte_mbuf *other;

	begin(OFFERS, UINT16_MAX);
	warm();
	add(SEG_MSS, WIRE_TCP_ACK);
	add(SEG_MSS, WIRE_TCP_ACK);
	other = frames[1];
	rte_mbuf_refcnt_update(other, 1);
	CU_ASSERT_EQUAL(send_all(), 2);
	CU_ASSERT_EQUAL(num_packets, 2);
	CU_ASSERT_EQUAL(other->data_len, SEG_HDR_BYTES + SEG_MSS);
	rte_pktmbuf_free(other);
	end();
}

/* Random flags, lengths, room and tags: every frame leaves once, whole and in order. */
static void random_bursts(void)
{
	uint64_t prng;

	for (uint32_t round = 0; round < 300; round++) {
		prng = round;
		begin(OFFERS | (round & 1 ? RTE_ETH_TX_OFFLOAD_IPV4_CKSUM : 0),
		      (uint16_t)(2 + prng_below(&prng, 40)));
		wire.vlan = round & 2 ? VLAN : 0;
		wire.vlan_inserts = round & 4;
		inserts = round & 8;
		warm();
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t n = (uint32_t)prng_below(&prng, FW_BURST + 1);

			while (num_frames < n) {
				bool odd = !prng_below(&prng, 8);

				add(odd ? 20 + (uint32_t)prng_below(&prng, SEG_MSS - 20) : SEG_MSS,
				    WIRE_TCP_ACK | (prng_below(&prng, 8) ? 0 : WIRE_TCP_PSH));
				if (!prng_below(&prng, 16) && num_frames < n)
					add_frame(seg_dgram(pool, i, SEG_DGRAM, 0));
			}
			room = (uint32_t)prng_below(&prng, 6);
			(void)send_all();
		}
		room = UINT32_MAX;
		(void)send_all();
		CU_ASSERT_TRUE(tso_stats(wire.tso).runs > 0);
		end();
	}
}

UT_MAIN("dpdk_app/tso", UT(asked_for_where_offered), UT(burst_is_one_packet), UT(requests),
	UT(order), UT(driver_limit), UT(no_room), UT(refused), UT(shared), UT(random_bursts))
