/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP options: written options are read back, bytes of a SYN against those of tests/golden, and any
 * list of options from a hostile peer is read within its bounds. RFC 9293 3.1.
 */
#include "nic_fw/fw_nic.h"
#include "tests/golden.h"
#include "tests/ut.h"

/* Options in memory of their exact length: the sanitizer reports a byte read beyond. */
static bool parse(const uint8_t *data, uint32_t bytes, struct tcp_options *opt)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	bool ok;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, data, bytes);
	ok = tcp_opt_parse(copy, bytes, opt);
	free(copy);
	return ok;
}

static void syn_golden(void)
{
	uint8_t golden[64], opts[WIRE_TCP_OPT_MAX_BYTES];
	size_t n = golden_load("wire_tcp.hex", "syn", golden, sizeof(golden));
	struct wire_tcp tcp;
	struct tcp_options opt;
	uint32_t bytes;

	CU_ASSERT_EQUAL_FATAL(n, 40);
	memcpy(&tcp, golden, sizeof(tcp));
	CU_ASSERT_EQUAL(be16_get(tcp.src_port), 43978);
	CU_ASSERT_EQUAL(be16_get(tcp.dst_port), 7174);
	CU_ASSERT_EQUAL(be32_get(tcp.seq), 0x9a3c17f0);
	CU_ASSERT_EQUAL(be32_get(tcp.ack), 0);
	CU_ASSERT_EQUAL(tcp.data_offset >> 4, 10);
	CU_ASSERT_EQUAL(tcp.flags, WIRE_TCP_SYN | WIRE_TCP_ECE | WIRE_TCP_CWR);
	CU_ASSERT_EQUAL(be16_get(tcp.window), 0xffff);
	CU_ASSERT(parse(golden + sizeof(tcp), 20, &opt));
	CU_ASSERT_EQUAL(opt.mss, 1460);
	CU_ASSERT(opt.sack_ok && opt.has_ts && opt.has_wscale);
	CU_ASSERT_EQUAL(opt.ts_val, 0x01020304);
	CU_ASSERT_EQUAL(opt.ts_ecr, 0);
	CU_ASSERT_EQUAL(opt.wscale, 6);
	bytes = tcp_opt_syn(opts, 1460, TCP_F_SACK | TCP_F_TS | TCP_F_WSCALE, 6, 0x01020304, 0);
	CU_ASSERT_EQUAL_FATAL(bytes, 20);
	CU_ASSERT_EQUAL(memcmp(opts, golden + sizeof(tcp), bytes), 0);
}

static void sack_golden(void)
{
	static const struct tcp_block blocks[] = {{0xfffffff0, 0x10}, {0x1000, 0x2000}};
	uint8_t golden[64], opts[WIRE_TCP_OPT_MAX_BYTES];
	struct tcp_options opt;
	uint32_t bytes;

	CU_ASSERT_EQUAL_FATAL(golden_load("wire_tcp.hex", "ts_sack", golden, sizeof(golden)), 32);
	bytes = tcp_opt_ts(opts, 0x11223344, 0x55667788);
	bytes += tcp_opt_sack(opts + bytes, blocks, 2);
	CU_ASSERT_EQUAL_FATAL(bytes, 32);
	CU_ASSERT_EQUAL(memcmp(opts, golden, bytes), 0);
	CU_ASSERT(parse(golden, bytes, &opt));
	CU_ASSERT_EQUAL(opt.num_sack, 2);
	CU_ASSERT_EQUAL(opt.sack[0].from, 0xfffffff0);
	CU_ASSERT_EQUAL(opt.sack[0].to, 0x10);
	CU_ASSERT_EQUAL(opt.sack[1].to, 0x2000);
	CU_ASSERT_EQUAL(opt.ts_val, 0x11223344);
	CU_ASSERT_EQUAL(opt.ts_ecr, 0x55667788);
}

/*
 * Time stamps as almost every segment has them. A list that differs from that in one bit has none:
 * its first bytes are the end of the list, an option of another kind, or one of another length.
 */
static void aligned_time_stamps(void)
{
	uint8_t opts[WIRE_TCP_OPT_MAX_BYTES];
	struct tcp_options opt;
	uint32_t bytes, i;

	bytes = tcp_opt_ts(opts, 0x81223344, 0xf5667788);
	CU_ASSERT_EQUAL_FATAL(bytes, WIRE_TCP_TS_PADDED_BYTES);
	memset(&opt, 0xff, sizeof(opt));
	CU_ASSERT(parse(opts, bytes, &opt));
	CU_ASSERT(opt.has_ts && !opt.has_wscale && !opt.sack_ok);
	CU_ASSERT_EQUAL(opt.ts_val, 0x81223344);
	CU_ASSERT_EQUAL(opt.ts_ecr, 0xf5667788);
	CU_ASSERT_EQUAL(opt.mss, 0);
	CU_ASSERT_EQUAL(opt.num_sack, 0);
	for (i = 0; i < 32; i++) {
		opts[i / 8] ^= (uint8_t)(1 << i % 8);
		CU_ASSERT_FALSE(parse(opts, bytes, &opt) && opt.has_ts);
		opts[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

/* Each set of options that a SYN can have, written and read. */
static void every_syn(void)
{
	uint8_t opts[WIRE_TCP_OPT_MAX_BYTES];
	struct tcp_options opt;
	uint32_t set, bytes;

	for (set = 0; set < 8; set++) {
		uint16_t flags = (uint16_t)((set & 1 ? TCP_F_SACK : 0) | (set & 2 ? TCP_F_TS : 0) |
					    (set & 4 ? TCP_F_WSCALE : 0));

		bytes = tcp_opt_syn(opts, 9000 - 40, flags, 14, 7, 8);
		CU_ASSERT(bytes % 4 == 0 && bytes <= sizeof(opts));
		CU_ASSERT(parse(opts, bytes, &opt));
		CU_ASSERT_EQUAL(opt.mss, 8960);
		CU_ASSERT_EQUAL(opt.sack_ok, (set & 1) != 0);
		CU_ASSERT_EQUAL(opt.has_ts, (set & 2) != 0);
		CU_ASSERT_EQUAL(opt.has_wscale, (set & 4) != 0);
		CU_ASSERT(!opt.has_ts || (opt.ts_val == 7 && opt.ts_ecr == 8));
	}
}

static void lengths(void)
{
	struct tcp_options opt;
	uint8_t data[40] = {0};
	uint32_t n;

	CU_ASSERT(parse(data, 0, &opt));
	/* A length of 0 or 1 makes no progress, one beyond the end leaves the header. */
	for (n = 0; n < 256; n++) {
		memset(data, WIRE_TCP_OPT_NOP, sizeof(data));
		data[0] = 77;
		data[1] = (uint8_t)n;
		CU_ASSERT_EQUAL(parse(data, sizeof(data), &opt), n >= 2 && n <= sizeof(data));
	}
	/* A kind without a length at the end. */
	data[39] = WIRE_TCP_OPT_TS;
	data[1] = 2;
	CU_ASSERT(!parse(data, sizeof(data), &opt));
	/* Known kinds of a wrong length are skipped. */
	for (n = 2; n < 20; n++) {
		static const uint8_t kinds[] = {WIRE_TCP_OPT_MSS, WIRE_TCP_OPT_WSCALE,
						WIRE_TCP_OPT_SACK_OK, WIRE_TCP_OPT_TS};
		uint32_t k;

		for (k = 0; k < sizeof(kinds); k++) {
			memset(data, WIRE_TCP_OPT_NOP, sizeof(data));
			data[0] = kinds[k];
			data[1] = (uint8_t)n;
			CU_ASSERT(parse(data, sizeof(data), &opt));
			CU_ASSERT_EQUAL(opt.mss != 0, k == 0 && n == 4);
			CU_ASSERT_EQUAL(opt.has_wscale, k == 1 && n == 3);
			CU_ASSERT_EQUAL(opt.sack_ok, k == 2 && n == 2);
			CU_ASSERT_EQUAL(opt.has_ts, k == 3 && n == 10);
		}
	}
}

static void values(void)
{
	static const uint8_t end[] = {WIRE_TCP_OPT_END, 77, 0, 0};
	static const uint8_t scale[] = {WIRE_TCP_OPT_WSCALE, 3, 15, 1};
	uint8_t sack[36] = {WIRE_TCP_OPT_SACK, 34};
	struct tcp_options opt;

	/* Options after the end mark are ignored. */
	CU_ASSERT(parse(end, sizeof(end), &opt));
	/* RFC 7323 2.3 */
	CU_ASSERT(parse(scale, sizeof(scale), &opt));
	CU_ASSERT_EQUAL(opt.wscale, WIRE_TCP_MAX_WSCALE);
	sack[34] = sack[35] = WIRE_TCP_OPT_NOP;
	CU_ASSERT(parse(sack, sizeof(sack), &opt));
	CU_ASSERT_EQUAL(opt.num_sack, 4);
	sack[1] = 33; /* not whole blocks */
	CU_ASSERT(parse(sack, sizeof(sack), &opt));
	CU_ASSERT_EQUAL(opt.num_sack, 0);
}

/* Random bytes. */
static void random_bytes(void)
{
	struct tcp_options opt;
	uint32_t i, k, seed = 1;
	uint8_t data[40] = {0};

	for (i = 0; i < 20000; i++) {
		for (k = 0; k < sizeof(data); k++) {
			seed = seed * 1103515245u + 12345u;
			/* Mostly defined kinds and lengths. */
			data[k] = seed >> 28 ? (uint8_t)(seed >> 16 & 15) : (uint8_t)(seed >> 16);
		}
		(void)parse(data, i % 41, &opt);
		CU_ASSERT(opt.num_sack <= TCP_SACK_BLOCKS && opt.wscale <= WIRE_TCP_MAX_WSCALE);
	}
}

UT_MAIN("nic_fw/tcp/tcp_opt", UT(syn_golden), UT(sack_golden), UT(aligned_time_stamps),
	UT(every_syn), UT(lengths), UT(values), UT(random_bytes))
