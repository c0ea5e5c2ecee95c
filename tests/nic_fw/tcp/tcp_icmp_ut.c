/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/tcp/tcp_icmp.c: which ICMP errors count, and which of them end a connection; the path MTU
 * that they set, and when a larger one is probed for.
 */
#include <arpa/inet.h>

#include "nic_fw/tcp/tcp_flow.h"
#include "tests/bench/host.h"

enum {
	PEER_PORT = 5000,
	OUR_PORT = 6000,
	FIRST = -100, /* sequence numbers wrap */
	IN_FLIGHT = 1000,
	HEAD = sizeof(struct wire_ip),
	QUOTED = HEAD + 8,
};

static struct fw_ut ut;
static struct tcp_flow *flow;
static uint8_t original[HEAD + 40 + 8];

static uint32_t peer(void)
{
	return htonl(0x0a4d0009);
}

static void quote(uint32_t head, uint32_t seq)
{
	struct wire_ip *ip = (struct wire_ip *)original;
	struct wire_tcp *tcp = (struct wire_tcp *)(original + head);
	uint32_t ip_peer = peer();

	memset(original, 0, sizeof(original));
	ip->version_ihl = (uint8_t)(0x40 | head / 4);
	ip->proto = WIRE_IPPROTO_TCP;
	memcpy(&ip->src, &ut.nic->config.ip, sizeof(ip->src));
	memcpy(&ip->dst, &ip_peer, sizeof(ip->dst));
	tcp->src_port = be16_put(OUR_PORT);
	tcp->dst_port = be16_put(PEER_PORT);
	tcp->seq = be32_put(seq);
}

static void begin(enum tcp_state state)
{
	fw_ut_begin(&ut);
	flow = tcp_flow_new(ut.nic, peer(), PEER_PORT, OUR_PORT, TCP_USER_NONE);
	CU_ASSERT_PTR_NOT_NULL_FATAL(flow);
	flow->state = state;
	flow->peer_mss = 8000;
	tcp_set_mss(ut.nic, flow);
	flow->snd_una = (uint32_t)FIRST;
	flow->snd_nxt = (uint32_t)FIRST + IN_FLIGHT;
	quote(HEAD, (uint32_t)FIRST);
}

static void end(void)
{
	if (tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT))
		tcp_end(ut.nic, flow, TCP_END_CLOSED);
	fw_ut_end(&ut);
}

static void comes(uint8_t type, uint8_t code, uint16_t mtu, uint32_t bytes)
{
	static const struct ip_rx_info info;

	tcp_rx_icmp(ut.nic, &info, type, code, mtu, original, bytes);
}

/* A message that is about none of our packets changes nothing, not even a counter. */
static void strange(uint8_t type, uint32_t bytes)
{
	uint64_t ignored = ut.nic->counters.tcp_icmp_ignored;

	comes(type, WIRE_ICMP_PORT_UNREACH, 0, bytes);
	CU_ASSERT_EQUAL(flow->unreachable, 0);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_icmp_ignored, ignored);
}

static void about_others(void)
{
	struct wire_ip *ip = (struct wire_ip *)original;

	begin(TCP_ESTABLISHED);
	strange(WIRE_ICMP_UNREACHABLE + 1, QUOTED);
	strange(WIRE_ICMP_UNREACHABLE, HEAD - 1);
	strange(WIRE_ICMP_UNREACHABLE, QUOTED - 1);
	ip->proto = WIRE_IPPROTO_UDP;
	strange(WIRE_ICMP_UNREACHABLE, QUOTED);
	quote(HEAD, (uint32_t)FIRST);
	ip->version_ihl = 0x44;
	strange(WIRE_ICMP_UNREACHABLE, QUOTED);
	/* With options the ports come later. */
	quote(HEAD + 40, (uint32_t)FIRST);
	strange(WIRE_ICMP_UNREACHABLE, QUOTED + 39);
	quote(HEAD, (uint32_t)FIRST);
	original[offsetof(struct wire_ip, src)] ^= 1;
	strange(WIRE_ICMP_UNREACHABLE, QUOTED);
	end();
}

static void ignored(void)
{
	uint64_t before = ut.nic->counters.tcp_icmp_ignored;

	comes(WIRE_ICMP_UNREACHABLE, WIRE_ICMP_PORT_UNREACH, 0, QUOTED);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_icmp_ignored, before + 1);
	CU_ASSERT_EQUAL(flow->unreachable, 0);
}

static void counts(uint32_t seq, uint32_t head)
{
	quote(head, seq);
	flow->unreachable = 0;
	comes(WIRE_ICMP_UNREACHABLE, WIRE_ICMP_PORT_UNREACH, 0, head + 8);
	CU_ASSERT_EQUAL(flow->unreachable, 1);
	CU_ASSERT_EQUAL(flow->state, TCP_ESTABLISHED);
	flow->unreachable = 0;
}

/* Only numbers in flight are believed: others are a guess. */
static void numbers(void)
{
	struct wire_tcp *tcp = (struct wire_tcp *)(original + HEAD);

	begin(TCP_ESTABLISHED);
	counts((uint32_t)FIRST, HEAD);
	counts((uint32_t)FIRST + IN_FLIGHT - 1, HEAD);
	counts((uint32_t)FIRST, HEAD + 40);
	quote(HEAD, (uint32_t)FIRST - 1);
	ignored();
	quote(HEAD, (uint32_t)FIRST + IN_FLIGHT);
	ignored();
	quote(HEAD, (uint32_t)FIRST);
	tcp->dst_port = be16_put(PEER_PORT + 1);
	ignored();
	quote(HEAD, (uint32_t)FIRST);
	tcp->src_port = be16_put(OUR_PORT + 1);
	ignored();
	quote(HEAD, (uint32_t)FIRST);
	flow->snd_nxt = flow->snd_una;
	ignored();
	end();
}

/* A connection that is being made ends if the peer has no such port, and for no other reason. */
static void connecting(void)
{
	static const uint8_t refused[] = {WIRE_ICMP_PORT_UNREACH, WIRE_ICMP_PROTO_UNREACH};

	begin(TCP_SYN_SENT);
	comes(WIRE_ICMP_UNREACHABLE, 1, 0, QUOTED); /* the host */
	CU_ASSERT_PTR_EQUAL(tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT), flow);
	CU_ASSERT_EQUAL(flow->unreachable, 1);
	end();
	for (int i = 0; i < 2; i++) {
		uint64_t failed;

		begin(TCP_SYN_SENT);
		failed = ut.nic->counters.tcp_failed;
		comes(WIRE_ICMP_UNREACHABLE, refused[i], 0, QUOTED);
		CU_ASSERT_PTR_NULL(tcp_find(ut.nic, peer(), PEER_PORT, OUR_PORT));
		CU_ASSERT_EQUAL(ut.nic->counters.tcp_failed, failed + 1);
		end();
	}
}

static void too_big(uint16_t mtu, uint16_t want, uint32_t shrunk)
{
	uint64_t before = ut.nic->counters.tcp_mtu_shrunk;

	comes(WIRE_ICMP_UNREACHABLE, WIRE_ICMP_FRAG_NEEDED, mtu, QUOTED);
	CU_ASSERT_EQUAL(flow->path_mtu, want);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_mtu_shrunk, before + shrunk);
	CU_ASSERT_EQUAL(flow->mss, tcp_mss_for(flow, want));
}

static void path_mtu(void)
{
	begin(TCP_ESTABLISHED);
	/* As large as the link's, and larger: nothing is learnt. */
	too_big(1500, 1500, 0);
	too_big(9000, 1500, 0);
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_NONE);
	too_big(1400, 1400, 1);
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_WANTED);
	CU_ASSERT_EQUAL(flow->probe_ns, ut.nic->now_ns + TCP_MTU_AGE_NS);
	/* A probe that was too long is asked for again, later. */
	flow->probing = TCP_PROBE_OUT;
	flow->probe_ns = 0;
	too_big(1450, 1400, 0);
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_WANTED);
	CU_ASSERT_EQUAL(flow->probe_ns, ut.nic->now_ns + TCP_MTU_AGE_NS);
	/* No message makes packets tiny. */
	too_big(68, TCP_MIN_PATH_MTU, 1);
	too_big(0, TCP_MIN_PATH_MTU, 0);
	end();
}

/* A probe is due ten minutes after, while nothing is lost. */
static void probes(void)
{
	static const uint16_t flags[] = {TCP_F_RECOVERY, TCP_F_LOSS, TCP_F_PROBE};
	uint32_t longer;

	begin(TCP_ESTABLISHED);
	longer = flow->mss;
	CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), flow->mss);
	too_big(1000, 1000, 1);
	CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), flow->mss);
	fw_now(ut.nic, flow->probe_ns - 1);
	CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), flow->mss);
	fw_now(ut.nic, flow->probe_ns);
	CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), longer);
	flow->lost = 1;
	CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), flow->mss);
	flow->lost = 0;
	for (int i = 0; i < 3; i++) {
		uint16_t before = flow->flags;

		flow->flags |= flags[i];
		CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), flow->mss);
		flow->flags = before;
	}
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_WANTED);
	/* The peer takes no longer ones: it is not asked again. */
	flow->peer_mss = flow->mss;
	CU_ASSERT_EQUAL(tcp_probe_room(ut.nic, flow), flow->mss);
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_NONE);
	end();
}

static struct tcp_seg segs[5];

/* Puts n segments of these lengths under way, one behind the other; the last was not sent yet. */
static void under_way(const uint32_t *bytes, uint32_t n)
{
	uint32_t seq = flow->snd_una, i;

	for (i = 0; i < n; i++) {
		segs[i] = (struct tcp_seg){.seq = seq, .bytes = bytes[i]};
		fw_list_add_tail(&flow->segs, &segs[i].node);
		flow->snd_nxt = seq;
		seq += bytes[i];
	}
}

static void forget(void)
{
	fw_list_init(&flow->segs);
	flow->lost = flow->sacked = flow->pipe = 0;
}

/* Longer ones are lost, but for what has come, and are sent again. */
static void segments_that_were_too_long(void)
{
	uint32_t fits;

	begin(TCP_ESTABLISHED);
	fits = tcp_mss_for(flow, 1000);
	under_way((const uint32_t[]){400, fits + 1, fits, fits + 1, fits + 1}, 5);
	flow->pipe = 3 * fits + 402;
	tcp_seg_mark(flow, &segs[1], TCP_SEG_RETRANS | TCP_SEG_LOST, 0);
	tcp_seg_mark(flow, &segs[3], TCP_SEG_SACKED, 0);
	CU_ASSERT_FALSE(fw_list_linked(&flow->ready_node));
	too_big(1000, 1000, 1);
	CU_ASSERT_EQUAL(flow->mss, fits);
	CU_ASSERT_EQUAL(segs[0].flags, 0);
	CU_ASSERT_EQUAL(segs[1].flags, TCP_SEG_LOST);
	CU_ASSERT_EQUAL(segs[2].flags, 0);
	CU_ASSERT_EQUAL(segs[3].flags, TCP_SEG_SACKED);
	CU_ASSERT_EQUAL(segs[4].flags, 0);
	CU_ASSERT_EQUAL(flow->lost, 1);
	CU_ASSERT_TRUE(fw_list_linked(&flow->ready_node));
	forget();
	end();
}

/* A probe that came through makes packets longer; one that was sent twice says nothing. */
static void ends_of_probes(void)
{
	static const uint8_t unsure[] = {TCP_SEG_EVER, TCP_SEG_LOST};
	uint64_t grown;
	uint32_t longest;

	begin(TCP_ESTABLISHED);
	longest = flow->mss;
	too_big(1000, 1000, 1);
	grown = ut.nic->counters.tcp_mtu_grown;
	under_way((const uint32_t[]){100, longest, 100}, 3);
	for (int i = 0; i < 2; i++) {
		flow->probing = TCP_PROBE_OUT;
		flow->probe_ns = 0;
		segs[1].flags = unsure[i];
		tcp_probe_done(ut.nic, flow, &segs[1]);
		CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_WANTED);
		CU_ASSERT_EQUAL(flow->probe_ns, ut.nic->now_ns + TCP_MTU_AGE_NS);
		CU_ASSERT_EQUAL(flow->path_mtu, 1000);
	}
	segs[1].flags = 0;

	/* It alone is lost: that is no congestion. */
	flow->probing = TCP_PROBE_OUT;
	flow->probe_end = tcp_seg_end(&segs[1]);
	CU_ASSERT_FALSE(tcp_probe_lost(flow));
	tcp_seg_mark(flow, &segs[1], TCP_SEG_LOST, 0);
	CU_ASSERT_TRUE(tcp_probe_lost(flow));
	tcp_seg_mark(flow, &segs[2], TCP_SEG_LOST, 0);
	CU_ASSERT_FALSE(tcp_probe_lost(flow));
	tcp_seg_mark(flow, &segs[1], 0, TCP_SEG_LOST);
	CU_ASSERT_FALSE(tcp_probe_lost(flow));
	tcp_seg_mark(flow, &segs[0], TCP_SEG_LOST, 0);
	tcp_seg_mark(flow, &segs[1], TCP_SEG_LOST, 0);
	CU_ASSERT_FALSE(tcp_probe_lost(flow));
	tcp_seg_mark(flow, &segs[1], 0, TCP_SEG_LOST);

	CU_ASSERT_EQUAL(ut.nic->counters.tcp_mtu_grown, grown);
	tcp_probe_done(ut.nic, flow, &segs[1]);
	CU_ASSERT_EQUAL(ut.nic->counters.tcp_mtu_grown, grown + 1);
	CU_ASSERT_EQUAL(flow->probing, TCP_PROBE_NONE);
	CU_ASSERT_EQUAL(flow->path_mtu, 1500);
	CU_ASSERT_EQUAL(flow->mss, longest);
	forget();
	end();
}

UT_MAIN("nic_fw/tcp/tcp_icmp", UT(about_others), UT(numbers), UT(connecting), UT(path_mtu),
	UT(probes), UT(segments_that_were_too_long), UT(ends_of_probes))
