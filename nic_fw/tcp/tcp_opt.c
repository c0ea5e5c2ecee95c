/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP options, read and written.
 *
 * Received options may hold any bytes. Calls nothing. RFC 9293 3.1 (form), 3.7.1 (MSS), RFC 7323,
 * RFC 2018.
 */
#include "nic_fw/fw_nic.h"
#include "nic_fw/tcp/tcp_flow.h"

enum {
	TS_ALIGNED = WIRE_TCP_OPT_NOP << 24 | WIRE_TCP_OPT_NOP << 16 | WIRE_TCP_OPT_TS << 8 |
		     WIRE_TCP_TS_BYTES,
};

static uint32_t word(const uint8_t *p)
{
	struct be32 v;

	memcpy(&v, p, sizeof(v));
	return be32_get(v);
}

static void put_word(uint8_t *p, uint32_t x)
{
	struct be32 v = be32_put(x);

	memcpy(p, &v, sizeof(v));
}

static void read_sack(const uint8_t *data, uint32_t bytes, struct tcp_options *opt)
{
	uint32_t i, n = bytes / WIRE_TCP_SACK_BLOCK_BYTES;

	/* A second option of the kind replaces the first. */
	opt->num_sack = (uint8_t)(n < TCP_SACK_BLOCKS ? n : TCP_SACK_BLOCKS);
	for (i = 0; i < opt->num_sack; i++) {
		opt->sack[i].from = word(data + i * WIRE_TCP_SACK_BLOCK_BYTES);
		opt->sack[i].to = word(data + i * WIRE_TCP_SACK_BLOCK_BYTES + 4);
	}
}

/* Reads one option whose length fits. A wrong length is ignored (RFC 9293 3.1, MUST-7). */
static void read_one(const uint8_t *p, uint32_t bytes, struct tcp_options *opt)
{
	switch (p[0]) {
	case WIRE_TCP_OPT_MSS:
		if (bytes == WIRE_TCP_MSS_BYTES)
			opt->mss = (uint16_t)(p[2] << 8 | p[3]);
		break;
	case WIRE_TCP_OPT_WSCALE:
		if (bytes == WIRE_TCP_WSCALE_BYTES) {
			opt->has_wscale = true;
			/* RFC 7323 2.3: more than 14 counts as 14. */
			opt->wscale =
			    p[2] < WIRE_TCP_MAX_WSCALE ? p[2] : (uint8_t)WIRE_TCP_MAX_WSCALE;
		}
		break;
	case WIRE_TCP_OPT_SACK_OK:
		if (bytes == WIRE_TCP_SACK_OK_BYTES)
			opt->sack_ok = true;
		break;
	case WIRE_TCP_OPT_TS:
		if (bytes == WIRE_TCP_TS_BYTES) {
			opt->has_ts = true;
			opt->ts_val = word(p + 2);
			opt->ts_ecr = word(p + 6);
		}
		break;
	case WIRE_TCP_OPT_SACK:
		if (bytes > 2 && (bytes - 2) % WIRE_TCP_SACK_BLOCK_BYTES == 0)
			read_sack(p + 2, bytes - 2, opt);
		break;
	default:
		break;
	}
}

bool tcp_opt_parse(const uint8_t *data, uint32_t bytes, struct tcp_options *opt)
{
	uint32_t at = 0;

	memset(opt, 0, sizeof(*opt));
	/* The usual options: time stamps alone, aligned as RFC 7323 appendix A recommends. */
	if (bytes == WIRE_TCP_TS_PADDED_BYTES && word(data) == TS_ALIGNED) {
		opt->has_ts = true;
		opt->ts_val = word(data + 4);
		opt->ts_ecr = word(data + 8);
		return true;
	}
	while (at < bytes) {
		uint32_t n;

		if (data[at] == WIRE_TCP_OPT_END)
			return true;
		if (data[at] == WIRE_TCP_OPT_NOP) {
			at++;
			continue;
		}
		if (bytes - at < 2)
			return false;
		n = data[at + 1];
		if (n < 2 || n > bytes - at)
			return false;
		read_one(data + at, n, opt);
		at += n;
	}
	return true;
}

uint32_t tcp_opt_ts(uint8_t *dst, uint32_t ts_val, uint32_t ts_ecr)
{
	dst[0] = WIRE_TCP_OPT_NOP;
	dst[1] = WIRE_TCP_OPT_NOP;
	dst[2] = WIRE_TCP_OPT_TS;
	dst[3] = WIRE_TCP_TS_BYTES;
	put_word(dst + 4, ts_val);
	put_word(dst + 8, ts_ecr);
	return WIRE_TCP_TS_PADDED_BYTES;
}

uint32_t tcp_opt_syn(uint8_t *dst, uint16_t mss, uint16_t flags, uint8_t wscale, uint32_t ts_val,
		     uint32_t ts_ecr)
{
	uint32_t at = 0;

	dst[at++] = WIRE_TCP_OPT_MSS;
	dst[at++] = WIRE_TCP_MSS_BYTES;
	dst[at++] = (uint8_t)(mss >> 8);
	dst[at++] = (uint8_t)mss;
	if (flags & TCP_F_SACK) {
		/* Takes the place of the two NOPs before timestamps, if present. */
		if (!(flags & TCP_F_TS)) {
			dst[at++] = WIRE_TCP_OPT_NOP;
			dst[at++] = WIRE_TCP_OPT_NOP;
		}
		dst[at++] = WIRE_TCP_OPT_SACK_OK;
		dst[at++] = WIRE_TCP_SACK_OK_BYTES;
	}
	if (flags & TCP_F_TS) {
		uint8_t ts[WIRE_TCP_TS_PADDED_BYTES];
		uint32_t skip = flags & TCP_F_SACK ? 2 : 0;

		(void)tcp_opt_ts(ts, ts_val, ts_ecr);
		memcpy(dst + at, ts + skip, sizeof(ts) - skip);
		at += (uint32_t)sizeof(ts) - skip;
	}
	if (flags & TCP_F_WSCALE) {
		dst[at++] = WIRE_TCP_OPT_NOP;
		dst[at++] = WIRE_TCP_OPT_WSCALE;
		dst[at++] = WIRE_TCP_WSCALE_BYTES;
		dst[at++] = wscale;
	}
	assert(at % 4 == 0 && at <= WIRE_TCP_OPT_MAX_BYTES);
	return at;
}

uint32_t tcp_opt_sack(uint8_t *dst, const struct tcp_block *blocks, uint32_t count)
{
	uint32_t i, at = 4;

	dst[0] = WIRE_TCP_OPT_NOP;
	dst[1] = WIRE_TCP_OPT_NOP;
	dst[2] = WIRE_TCP_OPT_SACK;
	dst[3] = (uint8_t)(2 + count * WIRE_TCP_SACK_BLOCK_BYTES);
	for (i = 0; i < count; i++) {
		put_word(dst + at, blocks[i].from);
		put_word(dst + at + 4, blocks[i].to);
		at += WIRE_TCP_SACK_BLOCK_BYTES;
	}
	return at;
}
