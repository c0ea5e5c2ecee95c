/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HELLOs: the MACs from which they are accepted, their cookies, their shares of the table of
 * sessions.
 */
#include <arpa/inet.h>
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static const uint8_t forger_mac[6] = {0x02, 0x66, 0, 0, 0, 6};

/* Frames to the forger's MAC, and HELLOs by kind. */
static uint32_t to_forger, hellos, challenges, replies;
static uint64_t last_cookie;

static enum bench_verdict watch(struct rp *r, const struct rp_info *info)
{
	const struct wire_eth *eth = (const void *)info->frame->b;

	(void)r;
	to_forger += !memcmp(eth->dst, forger_mac, sizeof(forger_mac));
	if (!info->hello)
		return BENCH_PASS;
	hellos++;
	challenges += !!(info->hello->flags & WIRE_RD_HELLO_CHALLENGE);
	replies += !!(info->hello->flags & WIRE_RD_HELLO_REPLY);
	if (info->hello->flags & WIRE_RD_HELLO_CHALLENGE)
		last_cookie = be64_get(info->hello->cookie);
	return BENCH_PASS;
}

static void begin(void)
{
	rp_begin(&rp);
	to_forger = hellos = challenges = replies = 0;
	rp.filter = watch;
}

static void write_one(uint32_t from, uint64_t wr_id, enum hw_wqe_opcode opcode)
{
	struct rp_req req = {.opcode = opcode, .wr_id = wr_id, .bytes = 8, .compare_add = 1};

	req.dst = rp.end[!from].qp[0];
	rp_req(&rp, from, rp.end[from].qp[0], &req);
}

/* A HELLO to A in the name of ip, as on the wire. */
static void greet(uint32_t ip, const uint8_t *mac, const struct wire_rd_hello *hello)
{
	struct {
		uint8_t b[UDP_TX_HDR_BYTES + sizeof(struct wire_dgram) + sizeof(*hello) +
			  WIRE_DGRAM_CRC_BYTES];
	} f = {{0}};
	struct bench_frame frame = {.b = f.b, .n = sizeof(f)};
	struct wire_eth *eth = (void *)f.b;
	struct wire_ip *iph = (void *)(eth + 1);
	struct wire_udp *udp = (void *)(iph + 1);
	struct wire_dgram *dgram = (void *)(udp + 1);

	memcpy(eth->dst, A->nic->config.mac, 6);
	memcpy(eth->src, mac, 6);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	iph->version_ihl = WIRE_IP_VERSION_IHL;
	iph->frag = be16_put(WIRE_IP_DF);
	iph->ttl = 64;
	iph->proto = WIRE_IPPROTO_UDP;
	iph->total_bytes = be16_put(sizeof(f) - sizeof(*eth));
	memcpy(&iph->src, &ip, 4);
	memcpy(&iph->dst, &A->nic->config.ip, 4);
	udp->src_port = udp->dst_port = be16_put(WIRE_DGRAM_PORT);
	udp->bytes = be16_put(sizeof(f) - IP_TX_HDR_BYTES);
	dgram->ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD_HELLO;
	memcpy(dgram + 1, hello, sizeof(*hello));
	rp_reseal(&frame);
	bench_wire_inject(&rp.wire, 0, f.b, sizeof(f));
	rp_settle(&rp);
}

static void greet_with(uint32_t ip, const uint8_t *mac, uint32_t epoch, uint64_t cookie)
{
	const struct wire_rd_hello hello = {.epoch = be32_put(epoch),
					    .first_psn = be32_put(5),
					    .mtu = be16_put(1500),
					    .cookie = be64_put(cookie)};

	greet(ip, mac, &hello);
}

/* A learns a station of its link. */
static void meet(uint32_t ip, const uint8_t *mac)
{
	struct {
		struct wire_eth eth;
		struct wire_arp arp;
	} f = {.eth.type = be16_put(WIRE_ETHERTYPE_ARP),
	       .arp = {.hw_type = be16_put(WIRE_ARP_HW_ETHERNET),
		       .proto_type = be16_put(WIRE_ETHERTYPE_IPV4),
		       .hw_bytes = 6,
		       .proto_bytes = 4,
		       .op = be16_put(WIRE_ARP_REPLY)}};
	uint8_t known[6];

	fw_now(A->nic, rp.wire.now_ns);
	(void)neigh_lookup(A->nic, ip, known);
	memcpy(f.eth.dst, A->nic->config.mac, 6);
	memcpy(f.eth.src, mac, 6);
	memcpy(f.arp.sender_mac, mac, 6);
	memcpy(&f.arp.sender_ip, &ip, 4);
	memcpy(&f.arp.target_ip, &A->nic->config.ip, 4);
	bench_wire_inject(&rp.wire, 0, &f, sizeof(f));
	rp_settle(&rp);
}

static uint32_t nth_ip(uint32_t i)
{
	return htonl(0x0a800000 + i);
}

static void nth_mac(uint32_t i, uint8_t *mac)
{
	const uint8_t made[6] = {0x02, 0x88, 0, 0, (uint8_t)(i >> 8), (uint8_t)i};

	memcpy(mac, made, sizeof(made));
}

/* ---- the sequence ---------------------------------------------------------------------------- */

/* HELLO, challenge, HELLO, reply; then data, and no further HELLO. */
static void four_messages(void)
{
	begin();
	write_one(0, 1, HW_WQE_WRITE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(hellos, 4);
	CU_ASSERT_EQUAL(challenges, 1);
	CU_ASSERT_EQUAL(replies, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_challenges_rx), 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_challenges_tx), 1);
	write_one(1, 2, HW_WQE_WRITE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(hellos, 4);
	rp_end(&rp);
}

/* A HELLO alone leaves nothing: no session, only the known neighbour. */
static void nothing_before_the_cookie(void)
{
	uint32_t i, ip;

	begin();
	ip = B->nic->config.ip;
	meet(ip, B->nic->config.mac);
	for (i = 1; i < 100; i++)
		greet_with(ip, B->nic->config.mac, i, 0);
	CU_ASSERT_EQUAL(challenges, 99);
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), 0);
	/* Wrong cookies, and correct ones of another epoch or another address. */
	greet_with(ip, B->nic->config.mac, 7, last_cookie ^ 1);
	greet_with(ip, B->nic->config.mac, 7, rd_hello_cookie(A->nic, ip, 0, 8));
	greet_with(ip, B->nic->config.mac, 7, rd_hello_cookie(A->nic, nth_ip(1), 0, 7));
	greet_with(ip, B->nic->config.mac, 7, rd_hello_cookie(A->nic, ip, 1, 7));
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), 0);
	/* A cookie that is a minute old. */
	last_cookie = rd_hello_cookie(A->nic, ip, 0, 7);
	rp_run(&rp, 2 * RD_COOKIE_NS);
	greet_with(ip, B->nic->config.mac, 7, last_cookie);
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), 0);
	greet_with(ip, B->nic->config.mac, 7, rd_hello_cookie(A->nic, ip, 0, 7));
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), 1);
	CU_ASSERT_EQUAL(replies, 1);
	rp_end(&rp);
}

/* Without a cookie a new epoch on an open session is not offered. */
static void no_offer_before_the_cookie(void)
{
	struct rd_session *s;

	begin();
	rp_open(&rp);
	s = rp_session(&rp, 0);
	replies = 0;
	greet_with(s->peer_ip, B->nic->config.mac, 77, 0);
	CU_ASSERT_FALSE(s->pend);
	CU_ASSERT_EQUAL(replies, 0);
	greet_with(s->peer_ip, B->nic->config.mac, 77, rd_hello_cookie(A->nic, s->peer_ip, 0, 77));
	CU_ASSERT_TRUE(s->pend);
	CU_ASSERT_EQUAL(replies, 1);
	/* The station is known now: the same HELLO is answered as before. */
	greet_with(s->peer_ip, B->nic->config.mac, 77, 0);
	CU_ASSERT_EQUAL(replies, 2);
	write_one(0, 1, HW_WQE_WRITE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* ---- a third station ------------------------------------------------------------------------- */

/* Every kind of HELLO in the peer's name from the forger's MAC. */
static void forge_all(uint32_t guess)
{
	const uint32_t ip = B->nic->config.ip;
	const struct rd_session *s = rp_session(&rp, 0);
	uint32_t ours = s ? s->epoch : 1, theirs = s && s->peer_epoch ? s->peer_epoch : 2;
	struct wire_rd_hello hello = {.epoch = be32_put(guess), .mtu = be16_put(1500)};

	greet(ip, forger_mac, &hello);
	hello.cookie = be64_put(rd_hello_cookie(A->nic, ip, 0, guess));
	greet(ip, forger_mac, &hello);
	hello.flags = WIRE_RD_HELLO_REPLY;
	hello.peer_epoch = be32_put(ours);
	greet(ip, forger_mac, &hello);
	hello = (struct wire_rd_hello){
	    .peer_epoch = be32_put(ours), .flags = WIRE_RD_HELLO_CHALLENGE, .cookie = be64_put(99)};
	greet(ip, forger_mac, &hello);
	/* A reset from a forger that has even guessed the epoch. */
	hello = (struct wire_rd_hello){.peer_epoch = be32_put(theirs),
				       .first_psn = be32_put(UINT32_MAX)};
	greet(ip, forger_mac, &hello);
}

/* Before the first message, while the session opens, and when it is open. */
static void forged_at_any_time(void)
{
	uint32_t known, i;

	for (known = 0; known < 2; known++) {
		begin();
		if (known)
			meet(B->nic->config.ip, B->nic->config.mac);
		forge_all(1000);
		CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), 0);
		write_one(0, 1, HW_WQE_FETCH_ADD);
		for (i = 0; i < 12; i++) {
			rp_poll(&rp, 0);
			forge_all(2000 + i);
			rp_poll(&rp, 1);
		}
		rp_run(&rp, 50000000);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		for (i = 0; i < 20; i++) {
			forge_all(3000 + i);
			write_one(i & 1, i, HW_WQE_FETCH_ADD);
			forge_all(4000 + i);
			rp_quiet(&rp);
			rp_expect_send(&rp, i & 1, i, HW_STATUS_SUCCESS);
		}
		CU_ASSERT_EQUAL(to_forger, 0);
		CU_ASSERT_TRUE(RP_CNT(&rp, 0, drop_rd_neigh) > 100);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_peer_restarts), 0);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_peer_restarts), 0);
		rp_end(&rp);
	}
}

/* A packet without a session, from another MAC than its sender's, is not answered. */
static void no_reset_to_the_forger(void)
{
	uint8_t frame[256];
	uint32_t n;

	begin();
	rp_open(&rp);
	write_one(1, 1, HW_WQE_WRITE);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL_FATAL(A->port.inbox_count, 1);
	n = A->port.inbox[0].n;
	memcpy(frame, A->port.inbox[0].b, n);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 1, HW_STATUS_SUCCESS);
	rd_session_release(A->nic, rp_session(&rp, 0));
	hellos = 0;
	memcpy(frame + 6, forger_mac, 6);
	bench_wire_inject(&rp.wire, 0, frame, n);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(hellos, 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, drop_rd_no_session), 1);
	memcpy(frame + 6, B->nic->config.mac, 6);
	bench_wire_inject(&rp.wire, 0, frame, n);
	rp_poll(&rp, 0);
	CU_ASSERT_EQUAL(hellos, 1);
	CU_ASSERT_EQUAL(to_forger, 0);
	rp_end(&rp);
}

/* Peers beyond a gateway: accepted from its MAC alone, and answered there. */
static void beyond_the_gateway(void)
{
	const uint32_t gateway = htonl(0x0a4d00fe), far = htonl(0xc0a80304);
	uint8_t mac[6];

	begin();
	nth_mac(1, mac);
	greet_with(far, mac, 7, rd_hello_cookie(A->nic, far, 0, 7));
	CU_ASSERT_EQUAL(hellos, 0); /* no way back */
	A->nic->config.gateway = gateway;
	meet(gateway, mac);
	greet_with(far, forger_mac, 7, rd_hello_cookie(A->nic, far, 0, 7));
	CU_ASSERT_EQUAL(hellos, 0);
	CU_ASSERT_PTR_NULL(rd_session_find(A->nic, far, 0));
	greet_with(far, mac, 7, 0);
	CU_ASSERT_EQUAL(challenges, 1);
	greet_with(far, mac, 7, last_cookie);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rd_session_find(A->nic, far, 0));
	CU_ASSERT_EQUAL(memcmp(rd_session_find(A->nic, far, 0)->peer_mac, mac, 6), 0);
	CU_ASSERT_EQUAL(replies, 1);
	CU_ASSERT_EQUAL(to_forger, 0);
	rp_end(&rp);
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* One station owns all addresses beyond: a session with each, as far as the limits allow. */
static void one_station_many_addresses(void)
{
	const uint32_t gateway = htonl(0x0a4d00fe);
	uint32_t i, share;
	struct rd_session *s;

	begin();
	A->nic->config.gateway = gateway;
	meet(gateway, forger_mac);
	for (i = 0; i < 2 * HW_MAX_PEERS; i++) {
		greet_with(nth_ip(i), forger_mac, 7, rd_hello_cookie(A->nic, nth_ip(i), 0, 7));
		s = rd_session_find(A->nic, nth_ip(i), 0);
		/* As if each had sent a packet besides its HELLO. */
		if (s)
			rd_share_heard(A->nic, s);
	}
	CU_ASSERT_EQUAL(A->nic->rd.num_half_open, 0);
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), HW_MAX_PEERS / 2);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, drop_rd_share), 2 * HW_MAX_PEERS - HW_MAX_PEERS / 2);
	/* The true peer, and processes here, find room. */
	write_one(1, 1, HW_WQE_WRITE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_session(&rp, 0)->foreign);
	write_one(0, 2, HW_WQE_WRITE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_FALSE(rp_session(&rp, 0)->foreign);
	/* When idle for long, its own sessions make room for its new ones. */
	rp_run(&rp, RD_EVICT_IDLE_NS + 1);
	i = 3 * HW_MAX_PEERS;
	greet_with(nth_ip(i), forger_mac, 7, rd_hello_cookie(A->nic, nth_ip(i), 0, 7));
	CU_ASSERT_PTR_NOT_NULL(rd_session_find(A->nic, nth_ip(i), 0));
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), HW_MAX_PEERS / 2 + 1);
	share = rd_session_find(A->nic, nth_ip(i), 0)->station;
	CU_ASSERT_EQUAL(A->nic->rd.shares[share].num_foreign, HW_MAX_PEERS / 2);
	CU_ASSERT_EQUAL(A->nic->rd.num_foreign, HW_MAX_PEERS / 2);
	rp_end(&rp);
}

/* Any number of stations: the places reserved for processes here stay free. */
static void many_stations(void)
{
	uint8_t mac[6];
	uint32_t i;

	begin();
	A->nic->config.ip_prefix = 8;
	for (i = 0; i < HW_MAX_PEERS; i++) {
		struct rd_session *s;

		nth_mac(i, mac);
		meet(nth_ip(i + 1), mac);
		greet_with(nth_ip(i + 1), mac, 7, rd_hello_cookie(A->nic, nth_ip(i + 1), 0, 7));
		s = rd_session_find(A->nic, nth_ip(i + 1), 0);
		if (s)
			rd_share_heard(A->nic, s);
	}
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), RD_FOREIGN_MAX);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, drop_rd_share) > 0);
	write_one(0, 1, HW_WQE_WRITE);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static enum bench_verdict hellos_only(struct rp *r, const struct rp_info *info)
{
	(void)watch(r, info);
	return info->hello || info->type == 0xff ? BENCH_PASS : BENCH_DROP;
}

/*
 * HELLOs with correct cookies and nothing else, from a station of many addresses, displace each
 * other. The session of a true peer that has only greeted stays.
 */
static void half_open(void)
{
	const uint32_t gateway = htonl(0x0a4d00fe);
	uint32_t i;

	begin();
	A->nic->config.gateway = gateway;
	meet(gateway, forger_mac);
	rp.filter = hellos_only;
	write_one(1, 5, HW_WQE_FETCH_ADD);
	rp_settle(&rp);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rp_session(&rp, 0));
	CU_ASSERT_TRUE(rp_session(&rp, 0)->half_open);
	for (i = 0; i < HW_MAX_PEERS; i++)
		greet_with(nth_ip(i), forger_mac, 7, rd_hello_cookie(A->nic, nth_ip(i), 0, 7));
	CU_ASSERT_EQUAL(A->nic->rd.num_half_open, RD_HALF_OPEN);
	CU_ASSERT_EQUAL(fw_ids_used(&A->nic->rd.session_ids), RD_HALF_OPEN);
	/* The oldest session was dropped. */
	CU_ASSERT_PTR_NULL(rd_session_find(A->nic, nth_ip(0), 0));
	CU_ASSERT_PTR_NOT_NULL(rd_session_find(A->nic, nth_ip(HW_MAX_PEERS - 2), 0));
	CU_ASSERT_PTR_NOT_NULL_FATAL(rp_session(&rp, 0));
	CU_ASSERT_TRUE(rp_session(&rp, 0)->half_open);
	rp.filter = watch;
	rp_run(&rp, 50000000);
	rp_expect_send(&rp, 1, 5, HW_STATUS_SUCCESS);
	CU_ASSERT_FALSE(rp_session(&rp, 0)->half_open);
	CU_ASSERT_EQUAL(A->nic->rd.num_half_open, RD_HALF_OPEN - 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, atomics_executed), 1);
	rp_end(&rp);
}

/*
 * A HELLO with its cookie that comes again, each time after the end of its session: the probes with
 * first credits are few, so the copies bring their address hardly more bytes than they have.
 */
static void replayed(void)
{
	uint64_t cookie, begin_ns, periods;
	struct rd_session *s;
	uint8_t mac[6];
	uint32_t i;

	begin();
	nth_mac(1, mac);
	A->nic->config.ip_prefix = 8;
	meet(nth_ip(1), mac);
	cookie = rd_hello_cookie(A->nic, nth_ip(1), 0, 7);
	begin_ns = rp.wire.now_ns;
	for (i = 0; i < 200; i++) {
		greet_with(nth_ip(1), mac, 7, cookie);
		s = rd_session_find(A->nic, nth_ip(1), 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		CU_ASSERT_TRUE(s->rx_limit <= RD_CREDIT_IDLE);
		rd_session_release(A->nic, s);
	}
	periods = 1 + (rp.wire.now_ns - begin_ns) / 10000000;
	CU_ASSERT_EQUAL(replies, 200);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_probes) >= 1);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_probes) <= 8 * periods);
	CU_ASSERT_TRUE(periods < 10);
	rp_end(&rp);
}

/* First credits are part of the stock of idle sessions, which bounds what comes unannounced. */
static void first_credits(void)
{
	uint8_t mac[6];

	begin();
	nth_mac(1, mac);
	A->nic->config.ip_prefix = 8;
	meet(nth_ip(1), mac);
	greet_with(nth_ip(1), mac, 7, rd_hello_cookie(A->nic, nth_ip(1), 0, 7));
	CU_ASSERT_EQUAL(rd_session_find(A->nic, nth_ip(1), 0)->rx_limit, RD_CREDIT_IDLE);
	rd_session_release(A->nic, rd_session_find(A->nic, nth_ip(1), 0));
	A->nic->rd.grants.open += 1000;
	greet_with(nth_ip(1), mac, 8, rd_hello_cookie(A->nic, nth_ip(1), 0, 8));
	CU_ASSERT_EQUAL(rd_session_find(A->nic, nth_ip(1), 0)->rx_limit, RD_CREDIT_FIRST);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_probes), 1);
	A->nic->rd.grants.open -= 1000;
	rp_end(&rp);
}

/* Drops the first HELLO with a cookie; notes A's path when its first data leave. */
static enum bench_verdict drop_the_first(struct rp *r, const struct rp_info *info)
{
	uint32_t *path_ns = r->ctx;

	if (info->from)
		return BENCH_PASS;
	if (info->hello && info->hello->cookie.b[7] && !hellos++)
		return BENCH_DROP;
	if (info->type == WIRE_DGRAM_RD && !*path_ns)
		*path_ns = rp_session(r, 0)->path_ns;
	return BENCH_PASS;
}

/*
 * The reply to a HELLO that was repeated may be one to the first: a path longer than the interval
 * would look like a short one, and its own time like a queue.
 */
static void answer_to_the_first(void)
{
	uint32_t path_ns = 0;

	begin();
	rp.filter = drop_the_first;
	rp.ctx = &path_ns;
	write_one(0, 1, HW_WQE_WRITE);
	rp_run(&rp, 4 * RD_HELLO_RETRY_NS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(hellos >= 2);
	CU_ASSERT_TRUE(path_ns >= RD_HELLO_RETRY_NS);
	rp_end(&rp);
}

UT_MAIN("pair/rd_hello", UT(four_messages), UT(nothing_before_the_cookie),
	UT(no_offer_before_the_cookie), UT(forged_at_any_time), UT(no_reset_to_the_forger),
	UT(beyond_the_gateway), UT(one_station_many_addresses), UT(many_stations), UT(half_open),
	UT(replayed), UT(first_credits), UT(answer_to_the_first))
