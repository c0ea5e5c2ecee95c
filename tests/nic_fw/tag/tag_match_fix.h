/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of matching, included by tag_match*_ut.c: one endpoint, with a table of as
 * many places as a test wants.
 */
#ifndef WEFT_TESTS_TAG_MATCH_FIX_H
#define WEFT_TESTS_TAG_MATCH_FIX_H

#include "nic_fw/tag/tag_match.h"
#include "tests/ut.h"

enum {
	BUCKETS = 4096,
	NODES = 20000,
	IP_A = 0x0a000001,
};

static const uint64_t secret[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static struct fw_multi *bucket[BUCKETS];
static struct tag_table table;
static struct tag_match match;
static struct tag_recv recvs[NODES];
static struct tag_msg msgs[NODES];

static inline void start(uint32_t buckets)
{
	memset(bucket, 0, sizeof(bucket));
	memset(recvs, 0, sizeof(recvs));
	memset(msgs, 0, sizeof(msgs));
	tag_table_init(&table, bucket, buckets, secret);
	tag_match_init(&match, &table, 7);
}

/* Longest chain of the table. */
static inline uint32_t longest_chain(void)
{
	uint32_t i, len, longest = 0;

	for (i = 0; i < BUCKETS; i++) {
		struct fw_multi *at = bucket[i];

		for (len = 0; at; at = at->next)
			len++;
		longest = len > longest ? len : longest;
	}
	return longest;
}

#endif /* WEFT_TESTS_TAG_MATCH_FIX_H */
