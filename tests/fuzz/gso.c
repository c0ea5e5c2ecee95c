/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: TCP segments that go to the kernel as one frame, and such frames that come from it,
 * also runs of datagrams.
 *
 * The first byte of an input chooses. `runs`: segments of a few flows through wire_runs.c, with
 * sockets that have room as the input says; each frame of several segments is divided as Linux does
 * (tcp_gso_segment(), inet_gso_segment()), and must give the segments that it was made of; all
 * leave once and in order, those sent singly with right checksums. The same frames are cut by
 * gso_cut.c, with the same result. `cut`: a frame of any content in pieces through gso_cut.c; the
 * segments of an accepted one hold its payload, none is beyond the MTU, their checksums are right.
 *
 * Runs gso_run.c, gso_cut.c and wire_runs.c. Their mbufs are blocks of the heap of the exact size,
 * so that the sanitizer sees each access beyond one.
 */
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/take.h"

static struct rte_mbuf *mbuf_take(void);
static void mbuf_give(struct rte_mbuf *m);
static void mbufs_give(struct rte_mbuf **m, uint32_t n);

#define rte_pktmbuf_alloc(pool)     ((void)(pool), mbuf_take())
#define rte_pktmbuf_free(m)         mbuf_give(m)
#define rte_pktmbuf_free_bulk(m, n) mbufs_give(m, n)
/* No frame is a run of the firmware, which alone needs several. */
#define rte_pktmbuf_alloc_bulk(pool, m, n) ((void)(pool), (void)(m), (void)(n), -1)
/* AF_PACKET and AF_XDP take single frames alike. */
#define rte_eth_tx_burst(port, queue, m, n) ((void)(port), (uint16_t)xsk_tx(NULL, m, n))
#include "dpdk_app/csum.c"
#include "dpdk_app/wire/gso_cut.c"
#include "dpdk_app/wire/gso_run.c"
#include "dpdk_app/wire/wire_runs.c"

enum {
	ROOM = 9216,  /* of an mbuf for a segment */
	PIECE = 4096, /* of a large frame, where the input has no length */
	BIG_MAX = 65535 + 14,
	FRAMES = 128,      /* of one run of the target */
	PAYLOAD_MAX = 512, /* long ones add nothing but time */
	FLOWS = 3,
	HDR = GSO_L4_AT + sizeof(struct wire_tcp),
};

static uint32_t num_mbufs;
static struct take in;

/* ---- mbufs ----------------------------------------------------------------------------------- */

static struct rte_mbuf *mbuf_new(uint32_t room, uint32_t bytes)
{
	struct rte_mbuf *m = calloc(1, sizeof(*m));

	take_check(m != NULL, "no memory");
	m->buf_addr = malloc(room ? room : 1);
	take_check(m->buf_addr != NULL, "no memory");
	m->buf_len = (uint16_t)room;
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	m->nb_segs = 1;
	num_mbufs++;
	return m;
}

/* A pool that is empty now and then. */
static struct rte_mbuf *mbuf_take(void)
{
	return take_u8(&in) == 0xff ? NULL : mbuf_new(ROOM, 0);
}

static void mbuf_give(struct rte_mbuf *m)
{
	while (m) {
		struct rte_mbuf *next = m->next;

		free(m->buf_addr);
		free(m);
		num_mbufs--;
		m = next;
	}
}

static void mbufs_give(struct rte_mbuf **m, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mbuf_give(m[i]);
}

static uint8_t *bytes_of(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, uint8_t *);
}

/* ---- what Linux does with a large frame ------------------------------------------------------ */

static uint16_t tcp_sum(const struct wire_ip *ip, const uint8_t *tcp, uint32_t bytes)
{
	uint32_t sum = wire_sum_add(WIRE_IPPROTO_TCP + bytes, &ip->src, 2 * sizeof(ip->src));

	return wire_sum_fold(wire_sum_add(sum, tcp, bytes));
}

/* True if the checksum is right, or is left out with the sum of the pseudo header in its place. */
static bool tcp_sum_is_right(const uint8_t *frame, uint32_t bytes, bool partial)
{
	const struct wire_ip *ip = (const void *)(frame + sizeof(struct wire_eth));
	uint32_t ip_bytes = (ip->version_ihl & 15u) * 4u;
	const uint8_t *tcp = (const uint8_t *)ip + ip_bytes;
	uint32_t tcp_bytes = bytes - (uint32_t)sizeof(struct wire_eth) - ip_bytes;

	if (partial)
		return csum_is_partial(frame, bytes);
	return !tcp_sum(ip, tcp, tcp_bytes);
}

/*
 * Writes segment i of a frame with hdr_bytes of headers, ip_bytes of them IP's; returns its length.
 * The checksum of TCP is left as it is, that of a datagram is 0.
 */
static uint32_t linux_segment(const uint8_t *big, uint32_t big_bytes, uint32_t hdr_bytes,
			      uint32_t ip_bytes, uint32_t each, uint32_t i, uint8_t *out)
{
	uint32_t at = hdr_bytes + i * each;
	uint32_t n = big_bytes - at < each ? big_bytes - at : each;
	struct wire_ip *ip = (void *)(out + sizeof(struct wire_eth));
	struct wire_tcp *tcp = (void *)((uint8_t *)ip + ip_bytes);
	struct wire_udp *udp = (void *)tcp;

	memcpy(out, big, hdr_bytes);
	memcpy(out + hdr_bytes, big + at, n);
	ip->total_bytes = be16_put((uint16_t)(hdr_bytes - sizeof(struct wire_eth) + n));
	if (ip->proto == WIRE_IPPROTO_UDP) {
		udp->bytes = be16_put((uint16_t)(sizeof(*udp) + n));
		udp->checksum = be16_put(0);
	} else {
		tcp->seq = be32_put(be32_get(tcp->seq) + i * each);
		if (i)
			tcp->flags &= (uint8_t)~WIRE_TCP_CWR;
		if (at + n < big_bytes)
			tcp->flags &= (uint8_t) ~(WIRE_TCP_FIN | WIRE_TCP_PSH);
	}
	ip->checksum = be16_put(0);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, ip_bytes)));
	return hdr_bytes + n;
}

/* Equal but for the identification (which may be any with DF), and the checksum of TCP. */
static void same_segment(const uint8_t *a, const uint8_t *b, uint32_t bytes, uint32_t ip_bytes)
{
	const uint32_t id_at = sizeof(struct wire_eth) + 4, sum_at = id_at + 6;
	const uint32_t tcp_sum_at = (uint32_t)sizeof(struct wire_eth) + ip_bytes + CSUM_TCP_AT;

	bool udp = a[sizeof(struct wire_eth) + offsetof(struct wire_ip, proto)] == WIRE_IPPROTO_UDP;

	for (uint32_t i = 0; i < bytes; i++)
		if (i - id_at >= 2 && i - sum_at >= 2 && (udp || i - tcp_sum_at >= 2))
			take_check(a[i] == b[i], "a segment differs from what Linux would make");
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Puts a frame into a chain of pieces with the lengths of the input, all but the last even. */
static struct rte_mbuf *chain(const uint8_t *frame, uint32_t bytes, uint32_t first)
{
	uint32_t n = first < bytes ? first : bytes, at = n;
	struct rte_mbuf *m = mbuf_new(n, n), *last = m;

	memcpy(bytes_of(m), frame, n);
	m->pkt_len = bytes;
	while (at < bytes) {
		n = (uint32_t)take_u8(&in) * 64 + take_u8(&in) % 8;
		n = n < bytes - at ? n : bytes - at;
		if (in.left < 2)
			n = bytes - at < PIECE ? bytes - at : PIECE;
		last->next = mbuf_new(n, n);
		last = last->next;
		memcpy(bytes_of(last), frame + at, n);
		at += n;
		m->nb_segs++;
	}
	return m;
}

/* Checks the segments of a frame against those of Linux. */
static void cut(struct gso_cut *c, const uint8_t *big, uint32_t big_bytes, uint32_t mtu)
{
	uint32_t hdr_bytes = c->layout.hdr_bytes, ip_bytes = c->layout.ip_bytes;
	uint32_t each = c->layout.each, done = hdr_bytes, i = 0;
	bool udp = c->layout.udp;
	size_t empty_max = in.left + 1;
	static uint8_t want[BIG_MAX];

	while (c->big) {
		struct rte_mbuf *m = gso_cut_next(c, NULL);
		uint32_t bytes;

		if (!m) {
			take_check(--empty_max, "no segment from a pool that has some");
			continue;
		}
		take_check(done < big_bytes, "more segments than the frame holds");
		bytes = linux_segment(big, big_bytes, hdr_bytes, ip_bytes, each, i++, want);
		take_check(m->data_len == bytes && m->pkt_len == bytes, "length of a segment");
		take_check(bytes <= mtu + sizeof(struct wire_eth), "a segment beyond the MTU");
		same_segment(bytes_of(m), want, bytes, ip_bytes);
		take_check((udp || tcp_sum_is_right(bytes_of(m), bytes, true)) &&
			       csum_device_ok(m) &&
			       !wire_sum_fold(wire_sum_add(0, bytes_of(m) + sizeof(struct wire_eth),
							   ip_bytes)),
			   "checksums of a segment");
		done += bytes - hdr_bytes;
		mbuf_give(m);
	}
	take_check(done == big_bytes, "payload is missing");
	take_check(!udp || i <= GSO_CUT_MAX, "more datagrams than a frame may have");
}

/* Makes the headers right, as far as the input says so. */
static void mend(uint8_t *frame, uint32_t bytes, uint8_t right, uint32_t mtu)
{
	struct wire_eth *eth = (void *)frame;
	struct wire_ip *ip = (void *)(eth + 1);
	uint32_t ip_bytes = (ip->version_ihl & 15u) * 4u;
	struct wire_tcp *tcp = (void *)((uint8_t *)ip + ip_bytes);
	uint32_t tcp_bytes = bytes - (uint32_t)sizeof(*eth) - ip_bytes;

	if (right & 1) {
		eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
		ip->version_ihl = (uint8_t)(0x40 | (ip->version_ihl & 15));
		ip->proto = WIRE_IPPROTO_TCP;
		ip->frag = be16_put(WIRE_IP_DF);
	}
	if (right & 2)
		ip->total_bytes = be16_put((uint16_t)(bytes - sizeof(*eth)));
	if (ip_bytes < sizeof(*ip) || sizeof(*eth) + ip_bytes + sizeof(*tcp) > bytes)
		return;
	if (right & 32) {
		struct wire_udp *udp = (void *)tcp;

		ip->proto = WIRE_IPPROTO_UDP;
		if (right & 64)
			udp->bytes = be16_put((uint16_t)(be16_get(udp->bytes) % mtu));
		return;
	}
	if (right & 4)
		tcp->flags &= (uint8_t) ~(WIRE_TCP_SYN | WIRE_TCP_RST | WIRE_TCP_URG);
	if (!(right & 8))
		return;
	tcp->checksum = be16_put(0);
	tcp->checksum = be16_put(tcp_sum(ip, (uint8_t *)tcp, tcp_bytes));
	/* As Linux leaves it for a device. */
	if (right & 16)
		tcp->checksum = be16_put((uint16_t)wire_sum_add(WIRE_IPPROTO_TCP + tcp_bytes,
								&ip->src, 2 * sizeof(ip->src)));
}

static void cut_any(void)
{
	static uint8_t big[BIG_MAX + 1];
	uint8_t right = take_u8(&in);
	uint32_t mtu = 68 + take_u16(&in) % (ROOM - 128), first = 34 + take_u16(&in) % 2048;
	uint32_t bytes = first + take_u16(&in) % (BIG_MAX - 2100), taken = take_u8(&in) * 4u;
	struct rte_mbuf *m;
	struct gso_cut c;

	/* The beginning is of the input, the rest a pattern. */
	for (uint32_t i = 0; i < bytes; i++)
		big[i] = (uint8_t)(i * 7 + i / 256);
	take_bytes(&in, big, taken < bytes ? taken : bytes);
	mend(big, bytes, right, mtu);
	m = chain(big, bytes, first);
	if (!gso_cut_begin(&c, m, mtu)) {
		take_check(!c.big, "a frame that was refused and kept");
		mbuf_give(m);
		return;
	}
	if (take_u8(&in) == 0xfe)
		gso_cut_end(&c);
	else
		cut(&c, big, bytes, mtu);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static struct wire wire;
static struct gso_flows flows;
static struct gso_held held;
static uint32_t next_out; /* number of the frame that must leave next */

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

bool borrow_is_borrowed(const struct rte_mbuf *m)
{
	(void)m;
	return false;
}

uint32_t borrow_packets(const struct rte_mbuf *m, uint32_t *segment_bytes)
{
	(void)m, (void)segment_bytes;
	return 1;
}

void borrow_cut(const struct rte_mbuf *run, uint32_t packet, struct rte_mbuf *m)
{
	(void)run, (void)packet, (void)m;
}

bool gso_tx_whole(struct gso *gso, struct rte_mbuf *run)
{
	(void)gso, (void)run;
	return false;
}

uint32_t xsk_tx(struct xsk *xsk, struct rte_mbuf **frames, uint32_t n)
{
	uint32_t room = take_u8(&in);

	(void)xsk;
	if (room >= 128)
		n = n < 255u - room ? n : 255u - room;
	for (uint32_t i = 0; i < n; i++) {
		take_check(frames[i]->hash.usr == next_out++, "order of frames sent singly");
		take_check(!csum_is_left(frames[i]) &&
			       tcp_sum_is_right(bytes_of(frames[i]), frames[i]->data_len, false),
			   "a frame without its checksum");
		mbuf_give(frames[i]);
	}
	return n;
}

/* The frame of a run, whole; returns its length. */
static uint32_t joined(struct rte_mbuf **frames, uint32_t n, uint8_t *big, uint32_t *hdr_bytes,
		       uint16_t *each)
{
	struct iovec payload[GSO_RUN_MAX];
	uint32_t bytes = gso_join(frames, n, big, payload, each);

	*hdr_bytes = bytes;
	for (uint32_t i = 0; i < n; i++) {
		take_check(bytes + payload[i].iov_len <= BIG_MAX, "a run beyond IP's limit");
		memcpy(big + bytes, payload[i].iov_base, payload[i].iov_len);
		bytes += (uint32_t)payload[i].iov_len;
	}
	return bytes;
}

bool gso_tx(struct gso *gso, struct rte_mbuf **frames, uint32_t n)
{
	static uint8_t big[BIG_MAX], want[BIG_MAX];
	uint32_t hdr_bytes, bytes, i;
	struct gso_cut c;
	uint16_t each;

	(void)gso;
	take_check(n >= GSO_LEAST && n <= GSO_RUN_MAX, "length of a run");
	if (take_u8(&in) > 0xf0)
		return false;
	bytes = joined(frames, n, big, &hdr_bytes, &each);
	take_check(tcp_sum_is_right(big, bytes, true), "the sum of a run");
	for (i = 0; i < n; i++) {
		take_check(hdr_bytes + i * each < bytes, "segments of a run");
		take_check(linux_segment(big, bytes, hdr_bytes, sizeof(struct wire_ip), each, i,
					 want) == frames[i]->data_len,
			   "length of a run's segment");
		same_segment(bytes_of(frames[i]), want, frames[i]->data_len,
			     sizeof(struct wire_ip));
		take_check(frames[i]->hash.usr == next_out++, "order of a run");
	}
	take_check(hdr_bytes + i * each >= bytes, "more in a run than its segments");
	take_check(gso_cut_begin(&c, chain(big, bytes, hdr_bytes + 60),
				 hdr_bytes - (uint32_t)sizeof(struct wire_eth) + each),
		   "gso_cut refuses what gso_run makes");
	cut(&c, big, bytes, hdr_bytes - (uint32_t)sizeof(struct wire_eth) + each);
	mbufs_give(frames, n);
	return true;
}

/* A segment as the firmware sends it; the input draws what differs from the one before. */
static struct rte_mbuf *segment(uint32_t number)
{
	static const uint8_t flags[] = {WIRE_TCP_ACK,
					WIRE_TCP_ACK,
					WIRE_TCP_ACK | WIRE_TCP_PSH,
					WIRE_TCP_ACK | WIRE_TCP_ECE,
					WIRE_TCP_ACK | WIRE_TCP_FIN,
					WIRE_TCP_ACK | WIRE_TCP_CWR};
	static struct {
		uint32_t seq, ack;
		uint16_t payload, window;
		uint8_t opt_words;
	} flow[FLOWS];
	uint8_t what = take_u8(&in), f = what % 8 < 6 ? 0 : what % 8 - 5;
	uint8_t change = what >> 3, flag = WIRE_TCP_ACK;
	struct wire_eth *eth;
	struct wire_tcp *tcp;
	struct wire_ip *ip;
	struct rte_mbuf *m;
	uint32_t bytes;

	if (!number)
		memset(flow, 0, sizeof(flow));
	if (!number || change == 1)
		flow[f].payload = take_u16(&in) % PAYLOAD_MAX;
	else if (change == 2)
		flow[f].seq = take_u32(&in);
	else if (change == 3)
		flow[f].ack += take_u8(&in);
	else if (change == 4)
		flow[f].window = take_u16(&in);
	else if (change == 5)
		flow[f].opt_words = take_u8(&in) % 11;
	else if (change == 6)
		flag = flags[take_u8(&in) % sizeof(flags)];
	bytes = HDR + flow[f].opt_words * 4u + flow[f].payload;
	m = mbuf_new(bytes, bytes);
	eth = (void *)bytes_of(m);
	ip = (void *)(eth + 1);
	tcp = (void *)(ip + 1);
	memset(eth, 0, HDR);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->total_bytes = be16_put((uint16_t)(bytes - sizeof(*eth)));
	ip->frag = be16_put(WIRE_IP_DF);
	ip->ttl = WIRE_IP_TTL;
	ip->proto = WIRE_IPPROTO_TCP;
	ip->src = be32_put(0x0a070001);
	ip->dst = be32_put(0x0a070002u + f % 2);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	tcp->src_port = be16_put(40000);
	tcp->dst_port = be16_put((uint16_t)(7000 + f));
	tcp->seq = be32_put(flow[f].seq);
	tcp->ack = be32_put(flow[f].ack);
	tcp->data_offset = (uint8_t)((sizeof(*tcp) / 4 + flow[f].opt_words) << 4);
	tcp->flags = flag;
	tcp->window = be16_put(flow[f].window);
	tcp->checksum = be16_put((uint16_t)wire_sum_add(WIRE_IPPROTO_TCP + bytes - GSO_L4_AT,
							&ip->src, 2 * sizeof(ip->src)));
	for (uint32_t i = HDR; i < bytes; i++)
		((uint8_t *)eth)[i] = (uint8_t)(number * 31 + i);
	/* Options that differ end a run, too. */
	if (change != 7)
		memset(tcp + 1, 0x55, flow[f].opt_words * 4u);
	flow[f].seq += flow[f].payload;
	m->l2_len = sizeof(*eth);
	m->l3_len = sizeof(*ip);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	m->hash.usr = number;
	if (change == 8)
		csum_finish(m);
	return m;
}

/* Flows begin with single frames; those of the input soon send runs. */
static void warm(void)
{
	for (uint32_t i = 0; i < GSO_FLOWS; i++)
		flows.flow[i].alone = 0;
}

static void runs(void)
{
	struct rte_mbuf *kept[FW_BURST];
	uint32_t made = 0, num_kept = 0, turns = 0, took;

	memset(&flows, 0, sizeof(flows));
	memset(&held, 0, sizeof(held));
	next_out = 0;
	while (in.left && made < FRAMES) {
		uint32_t burst = 1 + take_u8(&in) % FW_BURST;

		while (num_kept < burst && made < FRAMES)
			kept[num_kept++] = segment(made++);
		warm();
		took = wire_runs_tx(&wire, kept, num_kept);
		take_check(took <= num_kept, "more frames taken than there were");
		num_kept -= took;
		memmove(kept, kept + took, num_kept * sizeof(kept[0]));
		if (take_u8(&in) & 1)
			(void)wire_runs_pump(&wire);
		take_check(held.num < GSO_RUN_MAX, "a run that is held is too long");
	}
	/* As long as there is input, it may refuse every frame. */
	while ((num_kept || wire_runs_held(&wire)) && turns < 1000) {
		turns += !in.left;
		took = wire_runs_tx(&wire, kept, num_kept);
		num_kept -= took;
		memmove(kept, kept + took, num_kept * sizeof(kept[0]));
		(void)wire_runs_pump(&wire);
	}
	take_check(turns < 1000, "frames that never leave");
	take_check(next_out == made, "frames are lost");
}

void fuzz_gso_begin(void)
{
}

void fuzz_gso(const uint8_t *data, size_t bytes)
{
	in = (struct take){data, bytes};
	if (take_u8(&in) & 1)
		runs();
	else
		cut_any();
	take_check(!num_mbufs, "mbufs are left");
}
