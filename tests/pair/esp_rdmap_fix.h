/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the tests of RC over ESP, included by esp_rdmap*_ut.c: a queue pair at A and at B.
 */
#ifndef WEFT_TESTS_ESP_RDMAP_FIX_H
#define WEFT_TESTS_ESP_RDMAP_FIX_H

#include "tests/pair/rd_pair.h"

enum {
	MS = 1000000,
	SINK = 64 * 1024, /* in A's memory: target of reads */
	DST = 128 * 1024, /* in B's memory: target of Writes */
	GUARD = 64,
	BYTES = 200,
	EDP_AT = sizeof(struct wire_eth),
	ESP_AT = EDP_AT + sizeof(struct wire_edp),
	RDMAP_AT = ESP_AT + sizeof(struct wire_esp),
	DDP_AT = RDMAP_AT + sizeof(struct wire_esp_rdmap),
};

static struct rp rp;
static struct fw_qp *qa, *qb;

#define A (&rp.end[0])
#define B (&rp.end[1])

static inline bool carries(const struct bench_frame *frame)
{
	struct wire_eth eth;
	struct wire_esp esp;

	if (frame->n <= DDP_AT + WIRE_EDP_CRC_BYTES)
		return false;
	memcpy(&eth, frame->b, sizeof(eth));
	memcpy(&esp, frame->b + ESP_AT, sizeof(esp));
	return be16_get(eth.type) == WIRE_ETHERTYPE_ESP && esp.numbered &&
	       !(esp.flags & (WIRE_ESP_SYN | WIRE_ESP_FIN | WIRE_ESP_RST));
}

/* A filter. */
static inline enum bench_verdict lose_answers(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 1 && carries(info->frame) ? BENCH_DROP : BENCH_PASS;
}

static inline void begin_with(uint8_t rnr_retry, uint8_t min_rnr_timer)
{
	const struct hw_qp_attr attr = {
	    .timeout = 14,
	    .retry_cnt = 2,
	    .rnr_retry = rnr_retry,
	    .min_rnr_timer = min_rnr_timer,
	    .max_rd_atomic = 4,
	    .max_dest_rd_atomic = 4,
	    .transport = HW_QP_TRANSPORT_ESP,
	};

	rp_begin(&rp);
	rp_rc(&rp, &qa, &qb, &attr);
	CU_ASSERT_FATAL(qa->attr.transport == HW_QP_TRANSPORT_ESP);
}

static inline void begin(void)
{
	begin_with(2, 1);
}

static inline void over(void)
{
	rp.filter = NULL;
	rp_destroy_qp(&rp, 0, qa);
	rp_destroy_qp(&rp, 1, qb);
	rp_run(&rp, UINT64_C(40000) * MS);
	rp_end(&rp);
}

static inline void request(uint8_t opcode, uint64_t wr_id, uint32_t stag)
{
	struct rp_req req = {
	    .opcode = opcode,
	    .wr_id = wr_id,
	    .offset = opcode == HW_WQE_READ ? SINK : 0,
	    .bytes = opcode == HW_WQE_FETCH_ADD ? 8 : BYTES,
	    .remote_offset = DST,
	    .imm = stag,
	    .compare_add = 1,
	};

	rp_req(&rp, 0, qa, &req);
}

#endif /* WEFT_TESTS_ESP_RDMAP_FIX_H */
