/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The streams of a captured MPA connection: pcap, Ethernet, IPv4, TCP, in memory of the test.
 *
 * Both directions of each connection of a file are put in order; what was captured twice
 * counts once. Included by the tests that read tests/golden/siw/.
 */
#ifndef WEFT_TESTS_MPA_CAPTURE_H
#define WEFT_TESTS_MPA_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_defs/wire_mpa.h"
#include "tests/ut.h"

enum {
	CAP_CONNS = 64,
	CAP_STREAM = 1 << 18,
	CAP_PCAP_HDR = 24,
	CAP_RECORD_HDR = 16,
};

struct cap_stream {
	uint8_t ip[4];
	uint16_t port;
	uint32_t first_seq; /* of its first byte */
	uint32_t bytes;
	uint32_t fpdus; /* where FPDUs begin */
	uint8_t *data;
	bool begun, gap;
};

/* side[0] sent the request. */
struct cap_conn {
	struct cap_stream side[2];
	bool crc, accepted;
};

struct capture {
	struct cap_conn conn[CAP_CONNS];
	uint32_t num;
};

static uint32_t cap_num_loaded; /* files, by cap_load() */

static uint32_t cap_be(const uint8_t *p, uint32_t n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static struct cap_stream *cap_find(struct capture *c, const uint8_t *ip, const uint8_t *tcp)
{
	uint16_t src = (uint16_t)cap_be(tcp, 2), dst = (uint16_t)cap_be(tcp + 2, 2);
	uint32_t i, s;

	/* A connection of the same ports that ended before is another. */
	for (i = c->num; i--;)
		for (s = 0; s < 2; s++)
			if (c->conn[i].side[s].port == src && c->conn[i].side[!s].port == dst &&
			    !memcmp(c->conn[i].side[s].ip, ip + 12, 4))
				return &c->conn[i].side[s];
	CU_ASSERT_FATAL(c->num < CAP_CONNS);
	for (s = 0; s < 2; s++) {
		struct cap_stream *side = &c->conn[c->num].side[s];

		memset(side, 0, sizeof(*side));
		memcpy(side->ip, ip + (s ? 16 : 12), 4);
		side->port = s ? dst : src;
		side->data = malloc(CAP_STREAM);
		CU_ASSERT_PTR_NOT_NULL_FATAL(side->data);
	}
	return &c->conn[c->num++].side[0];
}

static void cap_packet(struct capture *c, const uint8_t *p, uint32_t n)
{
	const uint8_t *ip = p + 14, *tcp;
	uint32_t seq, len, hdr, at;
	struct cap_stream *s;

	if (n < 54 || cap_be(p + 12, 2) != 0x0800 || ip[9] != 6)
		return;
	tcp = ip + (ip[0] & 15u) * 4;
	hdr = (uint32_t)(tcp[12] >> 4) * 4;
	len = cap_be(ip + 2, 2) - (uint32_t)(tcp - ip) - hdr;
	seq = cap_be(tcp + 4, 4);
	s = cap_find(c, ip, tcp);
	if (tcp[13] & 2) {
		s->first_seq = seq + 1;
		s->begun = true;
		return;
	}
	if (!s->begun || !len)
		return;
	at = seq - s->first_seq;
	if (at > s->bytes) {
		s->gap = true;
		return;
	}
	if (at + len <= s->bytes)
		return;
	CU_ASSERT_FATAL(at + len <= CAP_STREAM);
	memcpy(s->data + at, tcp + hdr, len);
	s->bytes = at + len;
}

static bool cap_setup(struct cap_stream *s, const char *key, uint8_t *flags)
{
	const struct wire_mpa_setup *setup = (const void *)s->data;

	if (s->bytes < sizeof(*setup) || memcmp(setup->key, key, WIRE_MPA_KEY_BYTES))
		return false;
	*flags = setup->flags;
	s->fpdus = (uint32_t)sizeof(*setup) + be16_get(setup->private_bytes);
	return s->fpdus <= s->bytes;
}

static void cap_load(struct capture *c, const char *name)
{
	uint8_t hdr[CAP_PCAP_HDR], rec[CAP_RECORD_HDR], *buf = malloc(1 << 18);
	char path[128];
	uint32_t n, i;
	FILE *f;

	memset(c, 0, sizeof(*c));
	(void)snprintf(path, sizeof(path), "tests/golden/siw/%s", name);
	f = fopen(path, "rb");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	cap_num_loaded++;
	CU_ASSERT_EQUAL_FATAL(fread(hdr, sizeof(hdr), 1, f), 1);
	CU_ASSERT_EQUAL_FATAL(hdr[0], 0xd4); /* little-endian, microseconds */
	CU_ASSERT_EQUAL_FATAL(hdr[20], 1);   /* Ethernet */
	while (fread(rec, sizeof(rec), 1, f) == 1) {
		n = (uint32_t)rec[8] | (uint32_t)rec[9] << 8 | (uint32_t)rec[10] << 16;
		CU_ASSERT_FATAL(n < 1 << 18 && fread(buf, n, 1, f) == 1);
		cap_packet(c, buf, n);
	}
	(void)fclose(f);
	free(buf);
	for (i = 0; i < c->num; i++) {
		struct cap_conn *conn = &c->conn[i];
		uint8_t req = 0, rep = WIRE_MPA_F_REJECT;

		conn->accepted = cap_setup(&conn->side[0], WIRE_MPA_KEY_REQ, &req) &&
				 cap_setup(&conn->side[1], WIRE_MPA_KEY_REP, &rep) &&
				 !(rep & WIRE_MPA_F_REJECT);
		conn->crc = (req | rep) & WIRE_MPA_F_CRC;
	}
}

static void cap_free(struct capture *c)
{
	uint32_t i;

	for (i = 0; i < c->num; i++) {
		free(c->conn[i].side[0].data);
		free(c->conn[i].side[1].data);
	}
}

#endif /* WEFT_TESTS_MPA_CAPTURE_H */
