/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostile input from both sides: damaged and forged frames, a process that scribbles over its BAR.
 * Nothing crashes (sanitizers watch), data of others stays right, nothing leaks.
 *
 * Frames of real traffic are recorded and sent again with bytes flipped, fields set to extremes,
 * cut, extended, spliced; with their checksums left wrong, or made right so that they reach the
 * parsers behind.
 */
#include "tests/sim/sim_fix.h"

#include "nic_fw/base/crc32c.h"
#include "sim_harness/wl/sim_workload.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/wire_dgram.h"
#include "shared_defs/wire_eth.h"
#include "shared_defs/wire_ip.h"

enum {
	SINK = 512 * 1024,
	SAMPLES = 256,
	FRAME_MAX = 9300,
	UDP_AT = sizeof(struct wire_eth) + sizeof(struct wire_ip),
	PAYLOAD_AT = UDP_AT + sizeof(struct wire_udp),
	RD_AT = PAYLOAD_AT + sizeof(struct wire_dgram),
	CRC_BYTES = 4,
};

struct samples {
	uint8_t frame[SAMPLES][FRAME_MAX];
	uint32_t bytes[SAMPLES];
	uint32_t n;
	uint32_t seen;
	bool ip_only;
	struct wire_rd latest[2]; /* session header last sent by either NIC */
};
static struct samples samples;

static enum sim_verdict sample(void *ctx, struct sim_nic *from, uint8_t *frame, size_t bytes)
{
	struct samples *s = ctx;
	/* Keeps the first frames, then replaces an old one every few frames. */
	uint32_t at = s->n < SAMPLES ? s->n : s->seen * 37 % SAMPLES;

	if (bytes > RD_AT + sizeof(struct wire_rd) && frame[12] == 8 && frame[13] == 0 &&
	    (frame[PAYLOAD_AT] & 15) == WIRE_DGRAM_RD && sim_nic_index(from) < 2)
		memcpy(&s->latest[sim_nic_index(from)], frame + RD_AT, sizeof(struct wire_rd));
	if (bytes > FRAME_MAX || (s->ip_only && (frame[12] != 8 || frame[13] != 0)))
		return SIM_PASS;
	if (s->n < SAMPLES || s->seen % 16 == 0) {
		memcpy(s->frame[at], frame, bytes);
		s->bytes[at] = (uint32_t)bytes;
		if (s->n < SAMPLES)
			s->n++;
	}
	s->seen++;
	return SIM_PASS;
}

static const uint64_t extremes[] = {0,          1,          0x7f,      0x80,       0xff,
				    0x7fff,     0x8000,     0xffff,    0x7fffffff, 0x80000000,
				    0xffffffff, UINT64_MAX, INT64_MAX, 1u << 30,   65536};

/* One change somewhere, mostly in the headers. */
static uint32_t mutate_once(struct sim_prng *prng, uint8_t *f, uint32_t bytes)
{
	uint32_t zone = sim_prng_below(prng, 8) ? (bytes < 160 ? bytes : 160) : bytes;
	uint32_t at = (uint32_t)sim_prng_below(prng, zone), n, from;
	uint64_t x;

	/*
	 * Headers of IP and below are tested less often: other stacks have tested such changes for
	 * decades.
	 */
	if (at < PAYLOAD_AT && zone > PAYLOAD_AT && sim_prng_below(prng, 8))
		at = PAYLOAD_AT + (uint32_t)sim_prng_below(prng, zone - PAYLOAD_AT);
	switch (sim_prng_below(prng, 7)) {
	case 0:
	case 1:
		f[at] ^= (uint8_t)(1u << sim_prng_below(prng, 8));
		break;
	case 2:
		f[at] = (uint8_t)sim_prng_next(prng);
		break;
	case 3: /* a field, big-endian, to an extreme or a little beside what it was */
		n = 1u << sim_prng_below(prng, 4);
		x = __builtin_bswap64(extremes[sim_prng_below(prng, 15)] << (64 - 8 * n));
		if (at + n <= bytes)
			memcpy(f + at, &x, n);
		break;
	case 4:
		f[at] = (uint8_t)(f[at] + (sim_prng_below(prng, 2) ? 1 : -1));
		break;
	case 5: /* cut */
		if (bytes > 15 && !sim_prng_below(prng, 4))
			bytes = 14 + (uint32_t)sim_prng_below(prng, bytes - 14);
		break;
	case 6: /* extended, or a part of another frame */
		from = (uint32_t)sim_prng_below(prng, samples.n);
		n = (uint32_t)sim_prng_below(prng, 64);
		if (sim_prng_below(prng, 2)) {
			if (bytes + n <= FRAME_MAX)
				bytes += n;
		} else if (at + n <= bytes && at + n <= samples.bytes[from]) {
			memcpy(f + at, samples.frame[from] + at, n);
		}
		break;
	}
	return bytes;
}

/*
 * Makes lengths, checksum and CRC32C fit again; not always, since lengths themselves are a target.
 */
static void make_right(struct sim_prng *prng, uint8_t *f, uint32_t bytes)
{
	struct wire_udp udp;
	struct wire_ip ip;
	struct be32 crc;

	if (bytes < PAYLOAD_AT + CRC_BYTES || f[12] != 8 || f[13] != 0)
		return;
	memcpy(&ip, f + sizeof(struct wire_eth), sizeof(ip));
	memcpy(&udp, f + UDP_AT, sizeof(udp));
	if (sim_prng_below(prng, 16)) {
		ip.version_ihl = WIRE_IP_VERSION_IHL;
		ip.frag = be16_put(WIRE_IP_DF);
		ip.proto = WIRE_IPPROTO_UDP;
		ip.total_bytes = be16_put((uint16_t)(bytes - sizeof(struct wire_eth)));
		udp.bytes = be16_put((uint16_t)(bytes - UDP_AT));
		udp.checksum = be16_put(0);
	}
	ip.checksum = be16_put(0);
	ip.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &ip, sizeof(ip))));
	memcpy(f + sizeof(struct wire_eth), &ip, sizeof(ip));
	memcpy(f + UDP_AT, &udp, sizeof(udp));
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, f + UDP_AT, bytes - UDP_AT - CRC_BYTES));
	memcpy(f + bytes - CRC_BYTES, &crc, sizeof(crc));
}

/*
 * Writes a session header that fits the session's state, so that the rest of the frame is parsed.
 */
static void make_current(struct sim_prng *prng, uint8_t *f, uint32_t bytes, uint32_t from)
{
	struct wire_rd rd;

	if (bytes < RD_AT + sizeof(rd) + CRC_BYTES || f[12] != 8 || f[13] != 0)
		return;
	memcpy(&rd, f + RD_AT, sizeof(rd));
	rd.epoch = samples.latest[from].epoch;
	rd.psn = be32_put(be32_get(samples.latest[from].psn) + (uint32_t)sim_prng_below(prng, 6));
	if (sim_prng_below(prng, 2))
		rd.ack = samples.latest[from].ack;
	if (sim_prng_below(prng, 2))
		rd.flow_distance = be16_put((uint16_t)sim_prng_below(prng, 4));
	memcpy(f + RD_AT, &rd, sizeof(rd));
}

enum forgery {
	DAMAGED,  /* checksums wrong */
	STRANGER, /* right, from an address without a station */
	SPOOFED,  /* right, from the address that it claims */
};

/* Throws n frames at both NICs, a few at a time, while the simulation runs. */
static void attack(struct pair *p, enum forgery how, uint32_t n)
{
	static uint8_t f[FRAME_MAX + 64];
	uint8_t stranger[] = {10, 77, 7, 7};

	while (n--) {
		uint32_t from = (uint32_t)sim_prng_below(&p->prng, samples.n);
		uint32_t bytes = samples.bytes[from], changes;
		struct sim_nic *to = samples.frame[from][5] ? p->nb : p->na;

		memcpy(f, samples.frame[from], bytes);
		if (!sim_prng_below(&p->prng, 16))
			to = sim_prng_below(&p->prng, 2) ? p->na : p->nb;
		if (how == SPOOFED && sim_prng_below(&p->prng, 2))
			make_current(&p->prng, f, bytes, to == p->na);
		changes = 1 + (uint32_t)sim_prng_below(&p->prng, 4);
		while (changes--)
			bytes = mutate_once(&p->prng, f, bytes);
		if (sim_prng_below(&p->prng, 16))
			memcpy(f, sim_nic_mac(to), 6);
		if (how == STRANGER && bytes >= 34) {
			f[6 + 3] = 0x99;
			memcpy(f + sizeof(struct wire_eth) + offsetof(struct wire_ip, src),
			       stranger, 4);
			uint32_t ip = sim_nic_ip(to);
			memcpy(f + sizeof(struct wire_eth) + offsetof(struct wire_ip, dst), &ip, 4);
		}
		if (how != DAMAGED)
			make_right(&p->prng, f, bytes);
		else if (bytes == samples.bytes[from] && !memcmp(f, samples.frame[from], bytes))
			f[bytes - 1] ^= 1; /* the changes cancelled each other */
		sim_inject(to, f, bytes);
		if (!sim_prng_below(&p->prng, 4))
			sim_run_for(p->sim, sim_prng_below(&p->prng, 3000));
	}
}

/* Each operation of RD once, checked; the filter records its frames. */
static void traffic(struct pair *p, uint32_t round)
{
	static const enum weft_wr_opcode ops[] = {WEFT_WR_SEND, WEFT_WR_WRITE, WEFT_WR_READ,
						  WEFT_WR_FETCH_ADD, WEFT_WR_WRITE_IMM};
	uint32_t bytes = 1 + round * 997 % 12000;
	enum weft_wr_opcode op = ops[round % 5];
	struct post request = {.opcode = op,
			       .wr_id = round,
			       .remote_offset = SINK,
			       .bytes = op == WEFT_WR_FETCH_ADD ? 8 : bytes,
			       .compare_add = 1};

	fill(p, round, p->a.buf, bytes);
	if (op == WEFT_WR_SEND || op == WEFT_WR_WRITE_IMM)
		FIX_REQUIRE(p, sim_end_recv(&p->b, 9, SINK, bytes) == 0);
	memset(p->b.buf + SINK, 0, bytes);
	if (op == WEFT_WR_READ)
		fill(p, round, p->b.buf + SINK, bytes);
	FIX_REQUIRE(p, post(&p->a, p->ab, &p->b, &request) == 0);
	if (op == WEFT_WR_SEND || op == WEFT_WR_WRITE_IMM)
		expect(p, &p->b, 9, WEFT_WC_SUCCESS);
	expect(p, &p->a, round, WEFT_WC_SUCCESS);
	if (op == WEFT_WR_FETCH_ADD)
		FIX_CHECK(p, p->b.buf[SINK] == 1);
	else
		FIX_CHECK(p,
			  filled(p, round, op == WEFT_WR_READ ? p->a.buf : p->b.buf + SINK, bytes));
}

static void record_traffic(struct pair *p, bool ip_only)
{
	uint32_t i;

	memset(&samples, 0, sizeof(samples));
	samples.ip_only = ip_only;
	sim_set_filter(p->sim, sample, &samples);
	for (i = 0; i < 50; i++)
		traffic(p, i);
}

static void under_attack(enum forgery how)
{
	struct pair p;
	uint64_t seed;
	uint32_t i;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, NULL);
		record_traffic(&p, true);
		for (i = 0; i < 100; i++) {
			attack(&p, how, 30);
			traffic(&p, 1000 + i);
		}
		FIX_CHECK(&p, sim_nic_stat_sum(p.na, "drop_") > 300);
		pair_close(&p);
	}
}

/* Frames damaged on the way: counted as dropped, and all traffic right. */
static void damaged(void)
{
	under_attack(DAMAGED);
}

/* A stranger with a correct CRC cannot change the sessions of others. */
static void stranger(void)
{
	under_attack(STRANGER);
}

/*
 * A forger of the sender's address may break a session, no more: the NICs live on, and after a
 * restart everything works.
 */
static void spoofed(void)
{
	static const struct sim_end_attr kinds[] = {
	    {.type = WEFT_QPT_RD},
	    {.type = WEFT_QPT_UD},
	    {.type = WEFT_QPT_UD, .qp_flags = WEFT_QP_F_UD_LONG},
	};
	struct sim_end ends[2][3];
	struct pair p;
	uint64_t seed;
	uint32_t i, k, round;

	for (seed = 1; seed <= FIX_SEEDS; seed++) {
		pair_open(&p, seed, NULL);
		record_traffic(&p, false);
		for (k = 0; k < 3; k++) {
			FIX_REQUIRE(&p, sim_end_open(&ends[0][k], p.na, &kinds[k]) == 0);
			FIX_REQUIRE(&p, sim_end_open(&ends[1][k], p.nb, &kinds[k]) == 0);
		}
		for (round = 0; round < 60; round++) {
			for (k = 0; k < 3; k++) {
				struct weft_ah *ah = sim_end_ah(&ends[0][k], p.nb);
				struct post request = {.opcode = k == 0   ? round % 6
								 : k == 1 ? round % 2
									  : WEFT_WR_WRITE_RECORD,
						       .bytes = k == 2 ? 30000 : 3000};
				struct weft_wc wc[16];

				/*
				 * Any result is accepted: ARP may be poisoned, queues may be full.
				 */
				(void)!sim_end_recv(&ends[1][k], 1, SINK, 65536);
				if (ah) {
					(void)!post(&ends[0][k], ah, &ends[1][k], &request);
					sim_run_for(p.sim, 20000);
				}
				(void)!weft_poll_cq(ends[0][k].cq, 16, wc);
				(void)!weft_poll_cq(ends[1][k].cq, 16, wc);
			}
			attack(&p, SPOOFED, 100);
		}
		sim_set_filter(p.sim, NULL, NULL);
		for (i = 0; i < 2; i++)
			for (k = 0; k < 3; k++)
				sim_end_close(&ends[i][k]);
		sim_end_close(&p.a);
		sim_end_close(&p.b);
		sim_run_for(p.sim, 500 * FIX_MS);
		FIX_CHECK(&p, sim_nic_counts(p.na)->frames_held == 0);
		FIX_CHECK(&p, sim_nic_counts(p.na)->maps == sim_nic_counts(p.na)->unmaps);
		FIX_CHECK(&p, sim_nic_counts(p.nb)->maps == sim_nic_counts(p.nb)->unmaps);
		sim_nic_restart(p.na);
		sim_nic_restart(p.nb);
		FIX_REQUIRE(&p, sim_end_open(&p.a, p.na, NULL) == 0);
		FIX_REQUIRE(&p, sim_end_open(&p.b, p.nb, NULL) == 0);
		p.ab = sim_end_ah(&p.a, p.nb);
		FIX_REQUIRE(&p, p.ab != NULL);
		for (i = 0; i < 10; i++)
			traffic(&p, i);
		pair_close(&p);
	}
}

/* Garbage of every kind and length, without a byte of real frames. */
static void noise(void)
{
	static uint8_t f[FRAME_MAX];
	struct pair p;
	uint32_t i;

	pair_open(&p, 1, NULL);
	for (i = 0; i < 20000; i++) {
		uint32_t bytes = (uint32_t)sim_prng_below(&p.prng, i % 16 ? 200 : FRAME_MAX);

		sim_prng_fill(&p.prng, f, bytes);
		if (i % 2 && bytes >= 14) {
			memcpy(f, sim_nic_mac(p.nb), 6);
			f[12] = 8;
			f[13] = i % 4 == 3 ? 6 : 0;
			if (i % 8 == 5)
				make_right(&p.prng, f, bytes);
		}
		sim_inject(p.nb, f, bytes);
		if (i % 32 == 0)
			sim_run_for(p.sim, 5000);
		if (i % 1000 == 0)
			traffic(&p, i / 1000);
	}
	pair_close(&p);
}

/* A process writes garbage over everything it shares with the NIC; others do not notice. */
static void scribbled_bar(void)
{
	enum {
		SCRIBBLED = HW_BAR_DYNAMIC + 256 * 1024
	};
	struct sim_end evil;
	struct weft_ah *ah;
	struct pair p;
	uint64_t seed, bytes;
	uint32_t i, n;
	uint8_t *bar;

	for (seed = 1; seed <= 2 * FIX_SEEDS; seed++) {
		pair_open(&p, seed, NULL);
		FIX_REQUIRE(&p, sim_end_open(&evil, p.na, NULL) == 0);
		ah = sim_end_ah(&evil, p.nb);
		FIX_REQUIRE(&p, ah != NULL);
		for (i = 0; i < 10; i++) {
			struct post request = {
			    .opcode = i % 8, .wr_id = i, .bytes = 8, .remote_offset = SINK};

			(void)!post(&evil, ah, &evil, &request);
			(void)!sim_end_recv(&evil, i, 0, 100);
		}
		bar = sim_proc_bar(evil.proc, &bytes);
		FIX_REQUIRE(&p, bar && bytes > SCRIBBLED);
		for (i = 0; i < 200; i++) {
			for (n = 0; n < 200; n++) {
				/* Doorbell ring, its tail, records, queues. */
				uint64_t x = sim_prng_below(&p.prng, 3)
						 ? extremes[sim_prng_below(&p.prng, 15)]
						 : sim_prng_next(&p.prng);
				size_t at =
				    sim_prng_below(&p.prng, 4) == 0
					? HW_BAR_DB_RING + sim_prng_below(&p.prng, 512)
					: HW_BAR_DYNAMIC + sim_prng_below(&p.prng, 256 * 1024 - 8);
				if (!sim_prng_below(&p.prng, 8))
					x = HW_DB_ENTRY(sim_prng_below(&p.prng, 4),
							sim_prng_below(&p.prng, 8));
				at &= ~(size_t)3;
				memcpy(bar + at, &x, sim_prng_below(&p.prng, 2) ? 4 : 8);
			}
			sim_nic_wake(p.na);
			traffic(&p, i);
		}
		sim_end_kill(&evil);
		for (i = 0; i < 5; i++)
			traffic(&p, i);
		pair_close(&p);
	}
}

UT_MAIN("sim/hostile", UT(damaged), UT(stranger), UT(spoofed), UT(noise), UT(scribbled_bar))
