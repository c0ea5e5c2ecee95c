/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A third station tries to receive the traffic of two others: it greets, resets and answers in
 * their names, forges ARP, and floods. The true pair's messages arrive, and no frame with data goes
 * to the forger's MAC: every frame that leaves a NIC is checked.
 *
 * The forger knows the formats, makes every CRC right, and returns every cookie or epoch that is
 * sent to its MAC. It answers no ARP request, since the winner of that race is trusted
 * (docs/security.md, "RD sessions").
 */
#include "tests/sim/sim_fix.h"

#include <arpa/inet.h>

#include "nic_fw/base/crc32c.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	SINK = 512 * 1024,
	BYTES = 3000,
	UDP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	DGRAM_AT = UDP_AT + sizeof(struct wire_udp),
	HELLO_AT = DGRAM_AT + sizeof(struct wire_dgram),
	HELLO_FRAME_BYTES = HELLO_AT + sizeof(struct wire_rd_hello) + WIRE_DGRAM_CRC_BYTES,
};

static const uint8_t broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

struct forger {
	struct pair *p;
	struct sim_nic *nic; /* the third station's MAC */
	uint8_t mac[6];
	bool stop;
	bool spoofs_mac; /* sends with the MAC of the station that it impersonates */
	bool lies;       /* in ARP as well */
	uint64_t period_ns;
	uint32_t rounds;
	uint32_t captured; /* frames to its MAC other than ARP replies */
	uint32_t flood;    /* addresses to flood from */
};

/* ---- forged frames --------------------------------------------------------------------------- */

static void send_hello(struct forger *f, struct sim_nic *to, uint32_t as_ip, const uint8_t *as_mac,
		       const struct wire_rd_hello *hello)
{
	uint8_t b[HELLO_FRAME_BYTES] = {0};
	struct wire_eth *eth = (void *)b;
	struct wire_ip *ip = (void *)(b + sizeof(*eth));
	struct wire_udp *udp = (void *)(b + UDP_AT);
	uint32_t to_ip = sim_nic_ip(to);
	struct be32 crc;

	(void)f;
	memcpy(eth->dst, sim_nic_mac(to), 6);
	memcpy(eth->src, as_mac, 6);
	eth->type = be16_put(WIRE_ETHERTYPE_IPV4);
	ip->version_ihl = WIRE_IP_VERSION_IHL;
	ip->frag = be16_put(WIRE_IP_DF);
	ip->ttl = WIRE_IP_TTL;
	ip->proto = WIRE_IPPROTO_UDP;
	ip->total_bytes = be16_put(sizeof(b) - sizeof(*eth));
	memcpy(&ip->src, &as_ip, 4);
	memcpy(&ip->dst, &to_ip, 4);
	ip->checksum = be16_put(wire_sum_fold(wire_sum_add(0, ip, sizeof(*ip))));
	udp->src_port = udp->dst_port = be16_put(WIRE_DGRAM_PORT);
	udp->bytes = be16_put(sizeof(b) - UDP_AT);
	b[DGRAM_AT] = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD_HELLO;
	memcpy(b + HELLO_AT, hello, sizeof(*hello));
	crc =
	    fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, b + UDP_AT, sizeof(b) - UDP_AT - sizeof(crc)));
	memcpy(b + sizeof(b) - sizeof(crc), &crc, sizeof(crc));
	sim_inject(to, b, sizeof(b));
}

static void send_arp(struct forger *f, struct sim_nic *to, uint16_t op, uint32_t as_ip,
		     uint32_t target_ip, const uint8_t *dst)
{
	struct {
		struct wire_eth eth;
		struct wire_arp arp;
	} b = {.eth.type = be16_put(WIRE_ETHERTYPE_ARP),
	       .arp = {.hw_type = be16_put(WIRE_ARP_HW_ETHERNET),
		       .proto_type = be16_put(WIRE_ETHERTYPE_IPV4),
		       .hw_bytes = 6,
		       .proto_bytes = 4,
		       .op = be16_put(op)}};

	memcpy(b.eth.dst, dst, 6);
	memcpy(b.eth.src, f->mac, 6);
	memcpy(b.arp.sender_mac, f->mac, 6);
	memcpy(&b.arp.sender_ip, &as_ip, 4);
	memcpy(b.arp.target_mac, sim_nic_mac(to), 6);
	memcpy(&b.arp.target_ip, &target_ip, 4);
	sim_inject(to, &b, sizeof(b));
}

/* Every content of a HELLO, to one of the pair in the name of the other. */
static void greet(struct forger *f, struct sim_nic *to, struct sim_nic *as)
{
	const uint8_t *mac = f->spoofs_mac ? sim_nic_mac(as) : f->mac;
	struct sim_prng *prng = &f->p->prng;
	struct wire_rd_hello hello = {.epoch = be32_put(1 + f->rounds),
				      .first_psn = be32_put((uint32_t)sim_prng_next(prng)),
				      .mtu = be16_put(1500)};

	send_hello(f, to, sim_nic_ip(as), mac, &hello);
	hello.cookie = be64_put(sim_prng_next(prng));
	send_hello(f, to, sim_nic_ip(as), mac, &hello);
	hello.peer_epoch = be32_put((uint32_t)sim_prng_next(prng));
	hello.flags = WIRE_RD_HELLO_REPLY;
	send_hello(f, to, sim_nic_ip(as), mac, &hello);
	hello.epoch = be32_put(0);
	hello.flags = WIRE_RD_HELLO_CHALLENGE;
	send_hello(f, to, sim_nic_ip(as), mac, &hello);
	hello.flags = 0; /* a reset */
	hello.first_psn = be32_put(UINT32_MAX);
	send_hello(f, to, sim_nic_ip(as), mac, &hello);
}

static void lie(struct forger *f, struct sim_nic *to, struct sim_nic *as)
{
	uint32_t ip = sim_nic_ip(as);

	send_arp(f, to, WIRE_ARP_REQUEST, ip, sim_nic_ip(to), broadcast_mac);
	send_arp(f, to, WIRE_ARP_REQUEST, ip, sim_nic_ip(to), sim_nic_mac(to));
	send_arp(f, to, WIRE_ARP_REQUEST, ip, ip, broadcast_mac);
	send_arp(f, to, WIRE_ARP_REPLY, ip, ip, broadcast_mac);
}

/* Addresses without a station, half of them with MACs of their own. */
static void flood(struct forger *f, struct sim_nic *to)
{
	uint32_t i = f->rounds % f->flood, n = htonl(0x0ac80001 + i);
	uint8_t mac[6] = {0x02, 0x99, 0, 0, (uint8_t)(i >> 8), (uint8_t)i};
	const struct wire_rd_hello hello = {
	    .epoch = be32_put(1 + f->rounds), .first_psn = be32_put(9), .mtu = be16_put(1500)};

	send_hello(f, to, n, i & 1 ? mac : f->mac, &hello);
	send_arp(f, to, WIRE_ARP_REQUEST, n, sim_nic_ip(to), broadcast_mac);
}

static void strike(struct sim *sim, void *ctx, uint64_t arg)
{
	struct forger *f = ctx;
	struct pair *p = f->p;

	if (f->stop)
		return;
	if (f->flood) {
		flood(f, p->na);
		flood(f, p->nb);
	} else {
		if (f->lies) {
			lie(f, p->na, p->nb);
			lie(f, p->nb, p->na);
		}
		greet(f, p->na, p->nb);
		greet(f, p->nb, p->na);
	}
	f->rounds++;
	sim_at(sim, sim_now_ns(sim) + f->period_ns, strike, f, arg);
}

/* Sees all frames; answers those to the forger's MAC as well as it can. */
static enum sim_verdict watch(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct forger *f = ctx;
	struct sim_nic *as = from == f->p->na ? f->p->nb : f->p->na;
	struct wire_rd_hello hello;
	struct wire_eth eth;

	memcpy(&eth, frame, sizeof(eth));
	if (memcmp(eth.dst, f->mac, 6) != 0 || be16_get(eth.type) == WIRE_ETHERTYPE_ARP)
		return SIM_PASS;
	f->captured++;
	if (bytes < HELLO_FRAME_BYTES || (frame[DGRAM_AT] & 15) != WIRE_DGRAM_RD_HELLO)
		return SIM_DROP;
	memcpy(&hello, frame + HELLO_AT, sizeof(hello));
	hello.peer_epoch = hello.epoch;
	hello.epoch = be32_put(1 + f->rounds);
	hello.mtu = be16_put(1500);
	hello.flags = hello.flags ? 0 : WIRE_RD_HELLO_REPLY;
	send_hello(f, from, sim_nic_ip(as), f->mac, &hello);
	return SIM_DROP;
}

/* ---- the pair -------------------------------------------------------------------------------- */

/* Like pair_open(), with a third station that is active before the others. */
static void open_with(struct pair *p, struct forger *f, uint64_t seed, uint32_t shards)
{
	struct sim_config config;

	memset(p, 0, sizeof(*p));
	sim_config_default(&config);
	config.num_shards = shards;
	p->sim = sim_new(&config, seed);
	CU_ASSERT_FATAL(p->sim != NULL);
	sim_prng_for(p->sim, &p->prng, SIM_STREAM_TEST, 0);
	p->na = sim_nic_new(p->sim);
	p->nb = sim_nic_new(p->sim);
	f->nic = sim_nic_new(p->sim);
	f->p = p;
	memcpy(f->mac, sim_nic_mac(f->nic), 6);
	sim_set_filter(p->sim, watch, f);
	sim_at(p->sim, 0, strike, f, 0);
	sim_run_for(p->sim, FIX_MS);
	FIX_REQUIRE(p, sim_end_open(&p->a, p->na, NULL) == 0);
	FIX_REQUIRE(p, sim_end_open(&p->b, p->nb, NULL) == 0);
	p->ab = sim_end_ah(&p->a, p->nb);
	p->ba = sim_end_ah(&p->b, p->na);
	FIX_REQUIRE(p, p->ab && p->ba);
}

static void one_message(struct pair *p, uint32_t n, bool back)
{
	struct sim_end *from = back ? &p->b : &p->a, *to = back ? &p->a : &p->b;
	const struct post request = {.wr_id = n, .bytes = BYTES};

	fill(p, n, from->buf, BYTES);
	memset(to->buf + SINK, 0, BYTES);
	FIX_REQUIRE(p, sim_end_recv(to, 1000 + n, SINK, BYTES) == 0);
	FIX_REQUIRE(p, post(from, back ? p->ba : p->ab, to, &request) == 0);
	expect(p, to, 1000 + n, WEFT_WC_SUCCESS);
	expect(p, from, n, WEFT_WC_SUCCESS);
	FIX_CHECK(p, filled(p, n, to->buf + SINK, BYTES));
}

static void messages(struct pair *p, uint32_t n, uint64_t between_ns)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		one_message(p, i, i & 1);
		sim_run_for(p->sim, between_ns);
	}
}

static void close_with(struct pair *p, struct forger *f)
{
	FIX_CHECK(p, f->captured == 0);
	FIX_CHECK(p, f->rounds > 10);
	f->stop = true;
	sim_set_filter(p->sim, NULL, NULL);
	pair_close(p);
}

/* ---- scenarios ------------------------------------------------------------------------------- */

static void greets_in_their_names(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		struct forger f = {.period_ns = 20000};
		struct pair p;

		open_with(&p, &f, seed, seed & 1 ? 1 : 4);
		messages(&p, 30, 100000);
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_peer_restarts") == 0);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "drop_rd_neigh") > 100);
		close_with(&p, &f);
	}
}

/* As above with the MAC of the other station: answers go there, and epochs must be guessed. */
static void greets_with_their_macs(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		struct forger f = {.period_ns = 20000, .spoofs_mac = true};
		struct pair p;

		open_with(&p, &f, seed, 1);
		messages(&p, 30, 100000);
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_peer_restarts") == 0);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "rd_challenges_tx") > 100);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "rd_sessions_used") == 1);
		close_with(&p, &f);
	}
}

static void lies_by_arp(void)
{
	uint64_t seed;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		struct forger f = {.period_ns = 50000, .lies = true};
		struct pair p;

		open_with(&p, &f, seed, seed & 1 ? 1 : 4);
		messages(&p, 30, 100000);
		/* Longer than the time after which ARP requests are sent again. */
		f.period_ns = 100 * FIX_MS;
		messages(&p, 10, 7000 * FIX_MS);
		FIX_CHECK(&p, sim_nic_stat(p.na, "arp_conflicts") > 100);
		close_with(&p, &f);
	}
}

/* On a network that loses, duplicates and reorders, while one of the pair restarts. */
static void restarts_and_faults(void)
{
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		struct forger f = {.period_ns = 300000, .spoofs_mac = seed & 1};
		struct pair p;

		open_with(&p, &f, seed, 1);
		pair_faults(&p, "loss,dup,reorder");
		for (i = 0; i < 3; i++) {
			messages(&p, 10, 100000);
			sim_nic_restart(p.nb);
			sim_end_close(&p.b);
			FIX_REQUIRE(&p, sim_end_open(&p.b, p.nb, NULL) == 0);
			p.ba = sim_end_ah(&p.b, p.na);
			FIX_REQUIRE(&p, p.ba != NULL);
			/* From the restarted one: its first packet ends the old session. */
			one_message(&p, 500, true);
		}
		messages(&p, 10, 100000);
		sim_faults_off(p.sim);
		close_with(&p, &f);
	}
}

/* From 5,000 addresses, while the pair works and while it connects: no state is kept for them. */
static void floods(void)
{
	uint64_t seed;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		struct forger f = {.period_ns = 5000, .flood = 5000};
		struct pair p;

		open_with(&p, &f, seed, 1);
		messages(&p, 60, 500000);
		FIX_CHECK(&p, f.rounds > 5000);
		FIX_CHECK(&p, sim_nic_stat(p.na, "rd_sessions_used") == 1);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "rd_sessions_used") == 1);
		FIX_CHECK(&p, sim_nic_stat(p.nb, "arp_tx") < 6 * 64 * 64);
		close_with(&p, &f);
	}
}

UT_MAIN("sim/rd_capture", UT(greets_in_their_names), UT(greets_with_their_macs), UT(lies_by_arp),
	UT(restarts_and_faults), UT(floods))
