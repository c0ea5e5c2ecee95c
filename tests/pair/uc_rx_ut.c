/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections: segments that are wrong on the wire are dropped, each counted by its
 * reason, and nothing of their message is delivered; the next message is. Memory that is slow or
 * gone under them. nic_fw/dgram/uc_rx.c.
 */
#include "tests/pair/rd_pair.h"

enum {
	BYTES = 3000, /* of a message: segments at 0, and behind */
	DST = 400000,
	WR = 7,
};

static struct rp rp;
static struct fw_qp *a, *b;

#define NIC (rp.end[1].nic)

/* A change of one segment, and the counter that tells of it. */
struct lie {
	void (*change)(struct wire_dgram *dgram, uint8_t *ddp);
	uint32_t nth;
	size_t counter;
	uint8_t opcode;
};

static const struct lie *lie;
static uint32_t segments;

static enum bench_verdict tell(struct rp *pair, const struct rp_info *info)
{
	(void)pair;
	if (info->from || info->type != WIRE_DGRAM_UC)
		return BENCH_PASS;
	if (segments++ == lie->nth) {
		lie->change(info->dgram, (uint8_t *)(info->dgram + 1));
		rp_reseal(info->frame);
	}
	return BENCH_PASS;
}

static uint64_t count_of(size_t counter)
{
	uint64_t n;

	memcpy(&n, (const uint8_t *)&NIC->counters + counter, sizeof(n));
	return n;
}

static void post(uint8_t opcode, uint64_t wr_id)
{
	const struct rp_req req = {
	    .opcode = opcode, .wr_id = wr_id, .bytes = BYTES, .remote_offset = DST, .imm = 5};

	rp_req(&rp, 0, a, &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, wr_id, HW_STATUS_SUCCESS);
}

static void begin(void)
{
	rp_begin(&rp);
	rp_uc(&rp, &a, &b);
	rp_fill(rp.end[0].mem, BYTES, 3);
}

static void end(void)
{
	rp_destroy_qp(&rp, 0, a);
	rp_destroy_qp(&rp, 1, b);
	rp_end(&rp);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void other_qpn(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->dst_qpn = be32_put(b->qpn ^ 0xf00);
}

static void of_another_type(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->dst_qpn = be32_put(rp.end[1].qp[0]->qpn);
}

static void other_source(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->src_qpn = be32_put(a->qpn + 1);
}

static void other_life(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->incarnation.b[0] ^= 1;
}

static void other_place(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->qkey = be32_put(be32_get(dgram->qkey) + 1);
}

static void flags_amid(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->flags |= WIRE_DGRAM_F_SOLICITED;
}

static void other_bytes(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->msg_bytes = be32_put(BYTES + 1);
}

static void older(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)ddp;
	dgram->ssn = be32_put(be32_get(dgram->ssn) - 1);
}

static void solicited(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)dgram;
	ddp[1] = (uint8_t)((ddp[1] & ~WIRE_RDMAP_OPCODE_MASK) | WIRE_RDMAP_SEND_SE);
}

static void terminate(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)dgram;
	ddp[1] = (uint8_t)((ddp[1] & ~WIRE_RDMAP_OPCODE_MASK) | WIRE_RDMAP_TERMINATE);
}

static void read_response(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)dgram;
	ddp[1] = (uint8_t)((ddp[1] & ~WIRE_RDMAP_OPCODE_MASK) | WIRE_RDMAP_READ_RESPONSE);
}

/* A Send that invalidates an STag which the queue pair may not. */
static void invalidates(struct wire_dgram *dgram, uint8_t *ddp)
{
	(void)dgram;
	ddp[1] = (uint8_t)((ddp[1] & ~WIRE_RDMAP_OPCODE_MASK) | WIRE_RDMAP_SEND_INVALIDATE);
	memset(ddp + 2, 0x7f, 4);
}

#define C(name) offsetof(struct fw_counters, name)
#define SEND    HW_WQE_SEND
#define WRITE   HW_WQE_WRITE_IMM

static void wrong_segments(void)
{
	static const struct lie list[] = {
	    {other_qpn, 0, C(drop_no_qp), SEND},
	    {of_another_type, 0, C(drop_qp_type), SEND},
	    {other_source, 0, C(drop_uc_stray), SEND},
	    {other_life, 0, C(drop_uc_stray), SEND},
	    {other_place, 0, C(drop_ddp_malformed), SEND},
	    {other_place, 1, C(drop_ddp_malformed), SEND},
	    {flags_amid, 0, C(drop_ddp_malformed), SEND},
	    {read_response, 0, C(drop_ddp_malformed), WRITE},
	    {terminate, 0, C(drop_ddp_malformed), SEND},
	    {other_bytes, 1, C(drop_uc_order), SEND},
	    {solicited, 1, C(drop_uc_order), SEND},
	    {older, 1, C(drop_uc_order), SEND},
	    {other_qpn, 1, C(drop_no_qp), WRITE},
	};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		uint64_t before;

		begin();
		rp_recv(&rp, 1, b, 50, DST, BYTES);
		lie = &list[i];
		before = count_of(lie->counter);
		segments = 0;
		rp.filter = tell;
		post(lie->opcode, WR);
		CU_ASSERT(segments > lie->nth);
		CU_ASSERT(count_of(lie->counter) > before);
		rp_expect_none(&rp);
		/* Its receive serves the next message. */
		rp.filter = NULL;
		post(lie->opcode, WR + 1);
		CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS).bytes, BYTES);
		CU_ASSERT_TRUE(rp_filled(rp.end[1].mem + DST, BYTES, 3));
		end();
	}
}

/* All segments say that they invalidate an STag: the message is lost with its last one. */
static enum bench_verdict invalidate_all(struct rp *pair, const struct rp_info *info)
{
	(void)pair;
	if (info->from || info->type != WIRE_DGRAM_UC)
		return BENCH_PASS;
	invalidates(info->dgram, (uint8_t *)(info->dgram + 1));
	rp_reseal(info->frame);
	return BENCH_PASS;
}

static void wrong_invalidation(void)
{
	begin();
	rp_recv(&rp, 1, b, 50, DST, BYTES);
	rp.filter = invalidate_all;
	post(HW_WQE_SEND, WR);
	CU_ASSERT_EQUAL(NIC->counters.drop_uc_protection, 1);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(b->state, HW_QPS_RTS);
	rp.filter = NULL;
	post(HW_WQE_SEND, WR + 1);
	(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
	end();
}

/* A right one, solicited and not. */
static void invalidation(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < 2; i++) {
		uint32_t stag = rp_reg(&rp, 1, rp.end[1].mem, 64, RP_ALL_ACCESS, true);
		const struct rp_req req = {.opcode = HW_WQE_SEND_INV,
					   .flags = i ? HW_WQE_F_SOLICITED : 0,
					   .wr_id = WR,
					   .bytes = BYTES,
					   .imm = stag};
		struct hw_cqe cqe;

		rp_recv(&rp, 1, b, 50, DST, BYTES);
		rp_req(&rp, 0, a, &req);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, WR, HW_STATUS_SUCCESS);
		cqe = rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(cqe.flags & HW_CQE_F_INV);
		CU_ASSERT_EQUAL(cqe.imm_inv, stag);
		CU_ASSERT_EQUAL(!!(cqe.flags & HW_CQE_F_SOLICITED), i);
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	}
	end();
}

/* A queue pair that is not ready, or has ended, takes nothing. */
static void wrong_state(void)
{
	struct hw_cqe cqe;

	begin();
	rp_recv(&rp, 1, b, 50, DST, BYTES);
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, b, HW_QPS_ERR, 0, NULL), 0);
	rp_quiet(&rp);
	CU_ASSERT_TRUE(rp_rcqe(&rp, 1, &cqe) && cqe.status == HW_STATUS_WR_FLUSH_ERR);
	post(HW_WQE_SEND, WR);
	CU_ASSERT(NIC->counters.drop_qp_state > 0);
	rp_expect_none(&rp);
	end();
}

/* Memory that is slow loses the message; memory that is gone ends a queue pair whose own it was. */
static void slow_or_gone(void)
{
	static const uint8_t opcodes[] = {HW_WQE_SEND, HW_WQE_WRITE};
	struct rp_end *e = &rp.end[1];
	uint32_t i, unmapped;
	struct hw_cqe cqe;

	for (i = 0; i < 4; i++) {
		struct rp_req req = {.opcode = opcodes[i / 2], .wr_id = WR, .bytes = BYTES};
		struct hw_sge sge = {.bytes = BYTES};
		bool gone = i % 2;

		begin();
		unmapped = rp_reg(&rp, 1, e->mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
		sge.addr = (uintptr_t)(e->mem + DST);
		sge.lkey = unmapped;
		host_recv(b, 50, &sge, 1);
		req.rkey = unmapped;
		req.remote_offset = DST;
		*(gone ? &e->port.host_fault : &e->port.host_busy) = true;
		rp_req(&rp, 0, a, &req);
		rp_quiet(&rp);
		e->port.host_fault = e->port.host_busy = false;
		rp_expect_send(&rp, 0, WR, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(NIC->counters.drop_uc_busy, !gone);
		CU_ASSERT_EQUAL(NIC->counters.drop_uc_protection, gone);
		CU_ASSERT_EQUAL(b->state,
				gone && req.opcode == HW_WQE_SEND ? HW_QPS_ERR : HW_QPS_RTS);
		while (rp_rcqe(&rp, 1, &cqe))
			CU_ASSERT_NOT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		end();
	}
}

UT_MAIN("pair/uc_rx", UT(wrong_segments), UT(wrong_invalidation), UT(invalidation), UT(wrong_state),
	UT(slow_or_gone))
