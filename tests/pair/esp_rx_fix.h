/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of ESP of which the test sends the packets of end 0 itself, and records what end 1
 * acknowledges. One for each program that includes it.
 */
#ifndef WEFT_TESTS_PAIR_ESP_RX_FIX_H
#define WEFT_TESTS_PAIR_ESP_RX_FIX_H

#include <stdlib.h>

#include "tests/pair/esp_pair.h"

enum {
	TXS = WIRE_ESP_TXS,
	TXF = WIRE_ESP_TXF,
	TXR = WIRE_ESP_TXR,
	MAX_SAID = 1024,
};

static struct ep ep;
static uint32_t first;

/* The acknowledgements that end 1 sent. */
static struct said {
	uint32_t ack;
	uint8_t flags;
	uint32_t window, count;
	uint64_t received;
	uint64_t at_ns;
} log_of[MAX_SAID];
static uint32_t said;

/*
 * Records the acknowledgements of end 1. Of end 0's packets those whose bit is set in bits are
 * lost, once.
 */
static inline enum bench_verdict lossy(struct ep *e, const struct ep_info *info)
{
	uint32_t packet = info->seq - first;

	if (info->from == 1) {
		CU_ASSERT_FATAL(said < MAX_SAID);
		log_of[said++] =
		    (struct said){be32_get(info->esp->ack) - first, info->flags,
				  be16_get(info->esp->window),      be32_get(info->esp->rrq_count),
				  be64_get(info->esp->received),    e->wire.now_ns};
		return BENCH_PASS;
	}
	if (info->numbered && packet < 64 && e->bits >> packet & 1) {
		e->bits &= ~(UINT64_C(1) << packet);
		return BENCH_DROP;
	}
	return BENCH_PASS;
}

/* Only the test receives the frames of end 1; only forged frames of end 0 arrive. */
static inline enum bench_verdict apart(struct ep *e, const struct ep_info *info)
{
	(void)lossy(e, info);
	return BENCH_DROP;
}

static inline struct esp_stream *rx(void)
{
	return ep.end[1].stream;
}

static inline void begin(ep_filter filter, uint64_t lost)
{
	ep_begin(&ep);
	ep_opened(&ep);
	first = ep.end[0].stream->snd_next;
	CU_ASSERT_TRUE_FATAL(first + 63 < first);
	said = 0;
	ep_mark(&ep, filter, lost);
}

/* Packet number i, as end 0 would send it. */
static inline struct bench_frame packet(uint32_t i, uint8_t flags, uint32_t bytes)
{
	static uint8_t payload[1400];
	struct be32 number = be32_put(i);

	memcpy(payload, &number, sizeof(number));
	return ep_forge(&ep, 0, (uint8_t)(WIRE_ESP_ACK | flags), true, first + i, payload, bytes);
}

static inline void arrive(uint32_t i, uint8_t flags, uint32_t bytes)
{
	ep_send_forged(&ep, packet(i, flags, bytes));
}

/* It waits for a turn. */
static inline void queue_up(uint32_t i)
{
	struct bench_frame frame = packet(i, 0, 300);

	ep_reseal(&frame);
	bench_wire_inject(&ep.wire, frame.to, frame.b, frame.n);
	free(frame.b);
}

static inline void expect_said(uint32_t i, uint8_t flags, uint32_t ack, uint64_t received)
{
	CU_ASSERT_FATAL(i < said);
	CU_ASSERT_EQUAL(log_of[i].flags, flags | WIRE_ESP_ACK);
	CU_ASSERT_EQUAL(log_of[i].ack, ack);
	CU_ASSERT_EQUAL(log_of[i].received, received);
}

#endif /* WEFT_TESTS_PAIR_ESP_RX_FIX_H */
