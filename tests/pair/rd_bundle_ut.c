/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bundles: short messages of one QP to another in one frame. Each keeps its fate: loss, refusal,
 * error, doubles; HELLOs of peers that take none; malformed ones.
 *
 * Runs nic_fw/dgram/rd_bundle.c. docs/wire-format.md "Bundles".
 */
#include <stdlib.h>

#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

enum {
	SLOT_BYTES = 1024, /* of memory for each message */
	AT_ONCE = 8,       /* SCHED_QP_QUANTUM: fetched in one turn at the least */
};

/* The queue pairs of post() and expect(); dst: NULL for connected ones. */
static struct fw_qp *from, *to, *dst;

static void begin(void)
{
	rp_begin_bundling(&rp, true, true);
	rp_open(&rp);
	from = A->qp[0];
	to = dst = B->qp[0];
	CU_ASSERT_TRUE(rp_session(&rp, 0)->bundle);
	CU_ASSERT_TRUE(rp_session(&rp, 1)->bundle);
}

/* The same with connected queue pairs, whose receives have the order of the messages. */
static void begin_rc(void)
{
	begin();
	rp_rc(&rp, &from, &to, NULL);
	dst = NULL;
}

/* Posts messages [first, end), with these lengths by turns, and a receive for each. */
static void post_from(uint32_t first, uint32_t end, const uint32_t *bytes, uint32_t lengths)
{
	for (uint32_t i = first; i < end; i++) {
		rp_recv(&rp, 1, to, 100 + i, i * SLOT_BYTES, SLOT_BYTES);
		rp_fill(A->mem + (size_t)i * SLOT_BYTES, SLOT_BYTES, i);
		memset(B->mem + (size_t)i * SLOT_BYTES, 0xee, SLOT_BYTES);
		rp_send(&rp, 0, from, dst, i, i * SLOT_BYTES, bytes[i % lengths]);
	}
}

static void post(uint32_t n, const uint32_t *bytes, uint32_t lengths)
{
	post_from(0, n, bytes, lengths);
}

static void expect(uint32_t n, const uint32_t *bytes, uint32_t lengths)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct hw_cqe cqe = rp_expect_recv(&rp, 1, 100 + i, HW_STATUS_SUCCESS);
		const uint8_t *at = B->mem + (size_t)i * SLOT_BYTES;
		uint32_t want = bytes[i % lengths];

		CU_ASSERT_EQUAL(cqe.bytes, want);
		CU_ASSERT_EQUAL(cqe.src_qpn, from->qpn);
		CU_ASSERT_TRUE(rp_filled(at, want, i));
		CU_ASSERT_TRUE(rp_all(at + want, SLOT_BYTES - want, 0xee));
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
}

/* Lengths around the limit; the first PSNs precede 2^32, so that a bundle lies across it. */
static void lengths(void)
{
	static const uint32_t bytes[] = {64, 0, 1, RD_BUNDLE_MSG_BYTES, 7, RD_BUNDLE_MSG_BYTES + 1,
					 63};
	uint8_t credits;
	uint64_t before;
	uint32_t psn;

	begin();
	psn = rp_session(&rp, 0)->tx_psn;
	credits = rp_session(&rp, 0)->credit_used;
	before = RP_CNT(&rp, 0, tx_frames);
	post(42, bytes, 7);
	rp_quiet(&rp);
	expect(42, bytes, 7);
	CU_ASSERT_EQUAL(rp_session(&rp, 0)->tx_psn, psn + 42);
	CU_ASSERT_EQUAL((uint8_t)(rp_session(&rp, 0)->credit_used - credits), 42);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_used, rp_session(&rp, 1)->rx_taken);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_bundles) >= 6);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_bundles), RP_CNT(&rp, 1, rd_rx_bundles));
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, tx_frames) - before < 30);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_retransmits), 0);
	rp_end(&rp);
}

/* A frame has what fits: none is longer than the MTU, and full ones have no room for one more. */
static void fills_frames(void)
{
	static const uint32_t bytes[] = {500};
	uint32_t k;

	begin();
	rp.filter = rp_copy_bundles;
	post(12, bytes, 1);
	rp_quiet(&rp);
	CU_ASSERT_TRUE_FATAL(rp.wire.num_kept >= 4);
	for (k = 0; k < rp.wire.num_kept; k++) {
		const struct rp_info info = rp_info_of(&rp.wire.kept[k], 0);

		CU_ASSERT_EQUAL(be32_get(info.dgram->msg_bytes), 2);
		CU_ASSERT_TRUE(info.frame->n <= 1500 + sizeof(struct wire_eth));
	}
	expect(12, bytes, 1);
	rp_end(&rp);
}

/* Every kind of request, with the numbers that belong to each message. */
static void kinds(void)
{
	static const uint8_t opcodes[] = {HW_WQE_SEND_IMM, HW_WQE_WRITE, HW_WQE_FETCH_ADD,
					  HW_WQE_SEND,     HW_WQE_READ,  HW_WQE_WRITE_IMM,
					  HW_WQE_SEND};
	uint64_t counter = 5;
	struct hw_cqe cqe;
	uint32_t i;

	begin();
	rp_fill(A->mem, 7 * SLOT_BYTES, 1);
	rp_fill(B->mem + 0x8000, 64, 9);
	memcpy(B->mem + 0x9000, &counter, 8);
	for (i = 0; i < 4; i++)
		rp_recv(&rp, 1, B->qp[0], 100 + i, i * SLOT_BYTES, SLOT_BYTES);
	for (i = 0; i < 7; i++) {
		struct rp_req req = {.opcode = opcodes[i],
				     .wr_id = i,
				     .bytes = opcodes[i] == HW_WQE_FETCH_ADD ? 8 : 64,
				     .offset = i * SLOT_BYTES,
				     .imm = 0x01020304 + i,
				     .compare_add = 3,
				     .dst = B->qp[0]};

		req.flags = (uint8_t)(i == 0 ? HW_WQE_F_SOLICITED : i == 6 ? HW_WQE_F_INLINE : 0);
		req.remote_offset = opcodes[i] == HW_WQE_FETCH_ADD ? 0x9000
				    : opcodes[i] == HW_WQE_READ    ? 0x8000
								   : 0xa000 + i * 64;
		rp_req(&rp, 0, A->qp[0], &req);
	}
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_bundles), 1);
	for (i = 0; i < 7; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	cqe = rp_expect_recv(&rp, 1, 100, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.imm_inv, 0x01020304);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_IMM | HW_CQE_F_SOLICITED);
	cqe = rp_expect_recv(&rp, 1, 101, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.flags, 0);
	cqe = rp_expect_recv(&rp, 1, 102, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.opcode, HW_CQE_RECV_WRITE_IMM);
	CU_ASSERT_EQUAL(cqe.imm_inv, 0x01020304 + 5);
	cqe = rp_expect_recv(&rp, 1, 103, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.flags, 0);
	CU_ASSERT_EQUAL(memcmp(B->mem + 3 * SLOT_BYTES, A->mem + 6 * SLOT_BYTES, 64), 0);
	CU_ASSERT_EQUAL(memcmp(B->mem + 0xa000 + 64, A->mem + SLOT_BYTES, 64), 0);
	CU_ASSERT_EQUAL(memcmp(B->mem + 0xa000 + 5 * 64, A->mem + 5 * SLOT_BYTES, 64), 0);
	CU_ASSERT_TRUE(rp_filled(A->mem + 4 * SLOT_BYTES, 64, 9));
	memcpy(&counter, B->mem + 0x9000, 8);
	CU_ASSERT_EQUAL(counter, 8);
	rp_end(&rp);
}

static uint32_t to_drop;

static enum bench_verdict drop_bundles(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->type != WIRE_DGRAM_RD_BUNDLE || !to_drop)
		return BENCH_PASS;
	to_drop--;
	return BENCH_DROP;
}

/* The messages of a lost frame are sent again, each alone, and delivered once. */
static void lost(void)
{
	static const uint32_t bytes[] = {40};

	begin_rc();
	to_drop = 1;
	rp.filter = drop_bundles;
	post(2 * AT_ONCE, bytes, 1);
	rp_run(&rp, 100000000);
	CU_ASSERT_EQUAL(to_drop, 0);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_retransmits) >= AT_ONCE);
	expect(2 * AT_ONCE, bytes, 1);
	rp_end(&rp);
}

static enum bench_verdict double_bundles(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->type == WIRE_DGRAM_RD_BUNDLE ? BENCH_TWICE : BENCH_PASS;
}

static void doubled(void)
{
	static const uint32_t bytes[] = {40, 0, 200};

	begin();
	rp.filter = double_bundles;
	post(AT_ONCE, bytes, 3);
	rp_quiet(&rp);
	expect(AT_ONCE, bytes, 3);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_duplicates), AT_ONCE);
	rp_end(&rp);
}

/* Posts two bundles, of which the second comes; the first one is kept. */
static void second_first(const uint32_t *bytes)
{
	rp.filter = rp_keep_data;
	post(AT_ONCE, bytes, 1);
	rp_settle(&rp);
	post_from(AT_ONCE, 2 * AT_ONCE, bytes, 1);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 2);
	rp.filter = NULL;
	bench_wire_deliver(&rp.wire, 1);
	rp_settle(&rp);
}

/* A bundle overtakes the one before it: its messages are held, or sent again, in order. */
static void overtaken(void)
{
	static const uint32_t bytes[] = {24};

	begin_rc();
	second_first(bytes);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_out_of_order), AT_ONCE);
	rp_expect_none(&rp);
	bench_wire_deliver(&rp.wire, 0);
	rp_run(&rp, 100000000);
	expect(2 * AT_ONCE, bytes, 1);
	rp_end(&rp);
}

/* The same without a connection: receives are taken as messages come, and complete in order. */
static void overtaken_datagrams(void)
{
	static const uint32_t bytes[] = {24};
	struct hw_cqe cqe;
	uint32_t i;

	begin();
	second_first(bytes);
	rp_expect_none(&rp);
	bench_wire_deliver(&rp.wire, 0);
	rp_run(&rp, 100000000);
	for (i = 0; i < 2 * AT_ONCE; i++) {
		CU_ASSERT_TRUE_FATAL(rp_rcqe(&rp, 1, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(B->mem + (size_t)(cqe.wr_id - 100) * SLOT_BYTES, 24, i));
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
}

/* Two receives for eight messages: two are delivered, the others refused, and come later. */
static void refused(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < AT_ONCE; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i * SLOT_BYTES, 16);
	for (i = 0; i < 2; i++)
		rp_recv(&rp, 1, B->qp[0], 100 + i, i * SLOT_BYTES, SLOT_BYTES);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_refused), AT_ONCE - 2);
	for (i = 0; i < 2; i++)
		rp_expect_recv(&rp, 1, 100 + i, HW_STATUS_SUCCESS);
	for (; i < AT_ONCE; i++)
		rp_recv(&rp, 1, B->qp[0], 100 + i, i * SLOT_BYTES, SLOT_BYTES);
	rp_run(&rp, 100000000);
	for (i = 2; i < AT_ONCE; i++)
		rp_expect_recv(&rp, 1, 100 + i, HW_STATUS_SUCCESS);
	for (i = 0; i < AT_ONCE; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* One message is too long for its receive: those before it succeed, those behind it go on. */
static void one_is_wrong(void)
{
	uint32_t i;

	begin();
	for (i = 0; i < AT_ONCE; i++) {
		rp_recv(&rp, 1, B->qp[0], 100 + i, i * SLOT_BYTES, i == 3 ? 8 : SLOT_BYTES);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i * SLOT_BYTES, 16);
	}
	rp_run(&rp, 100000000);
	CU_ASSERT_TRUE(RP_CNT(&rp, 0, rd_tx_bundles) >= 1);
	for (i = 0; i < AT_ONCE; i++)
		rp_expect_send(&rp, 0, i, i == 3 ? HW_STATUS_REM_INV_REQ_ERR : HW_STATUS_SUCCESS);
	for (i = 0; i < AT_ONCE; i++)
		rp_expect_recv(&rp, 1, 100 + i, i == 3 ? HW_STATUS_LOC_LEN_ERR : HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Messages with other numbers in the common header, or of other flows, are not of the bundle. */
static void apart(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};
	uint32_t i;

	begin();
	for (i = 0; i < 2 * AT_ONCE; i++) {
		req.wr_id = i;
		req.dst = B->qp[i % 2];
		rp_req(&rp, 0, A->qp[i % 2], &req);
	}
	rp.filter = rp_copy_bundles;
	rp_quiet(&rp);
	for (i = 0; i < rp.wire.num_kept; i++) {
		const struct rp_info info = rp_info_of(&rp.wire.kept[i], 0);
		uint32_t q = be32_get(info.dgram->src_qpn) == A->qp[1]->qpn;

		CU_ASSERT_EQUAL(be32_get(info.dgram->dst_qpn), B->qp[q]->qpn);
	}
	CU_ASSERT_TRUE(rp.wire.num_kept >= 2);
	for (i = 0; i < 2 * AT_ONCE; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
}

/* A message with another Q_Key shares no header: it alone is refused by the peer. */
static void other_q_key(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};
	struct hw_sq_wqe *wqe;
	uint32_t slot, i;

	begin();
	req.dst = B->qp[0];
	for (i = 0; i < AT_ONCE; i++) {
		req.wr_id = i;
		slot = from->record->sq_prod;
		rp_req(&rp, 0, from, &req);
		wqe = (void *)(from->sq_ring + (size_t)(slot & from->sq_mask) * HW_SQ_SLOT_BYTES);
		wqe->qkey += i == 3;
	}
	rp_run(&rp, 100000000);
	for (i = 0; i < AT_ONCE; i++)
		rp_expect_send(&rp, 0, i, i == 3 ? HW_STATUS_REM_INV_REQ_ERR : HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_qkey), 1);
	rp_end(&rp);
}

/* Memory that the NIC has not mapped is read when the frame leaves, each message alone. */
static void unmapped(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};
	uint32_t i;

	begin();
	req.dst = B->qp[0];
	req.lkey = rp_reg(&rp, 0, A->mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
	rp_fill(A->mem, 64, 4);
	for (i = 0; i < AT_ONCE; i++) {
		req.wr_id = i;
		req.offset = req.remote_offset = i * 8;
		rp_req(&rp, 0, A->qp[0], &req);
	}
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_bundles), 0);
	for (i = 0; i < AT_ONCE; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(B->mem, 64, 4));
	rp_end(&rp);
}

/* ---- HELLOs ------------------------------------------------------------------------------ */

static enum bench_verdict drop_flagged(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->hello && info->hello->flags & WIRE_RD_HELLO_BUNDLE ? BENCH_DROP : BENCH_PASS;
}

/* One end takes none, or is of a version that drops HELLOs with a flag that it does not know. */
static void peers_without(void)
{
	static const uint32_t bytes[] = {40};
	uint32_t i;

	for (i = 0; i < 3; i++) {
		rp_begin_bundling(&rp, i != 0, i != 1);
		rp.filter = i == 2 ? drop_flagged : NULL;
		post(AT_ONCE, bytes, 1);
		rp_run(&rp, 20000000);
		rp.filter = NULL;
		CU_ASSERT_PTR_NOT_NULL_FATAL(rp_session(&rp, 0));
		CU_ASSERT_EQUAL(rp_session(&rp, 0)->state, RD_OPEN);
		CU_ASSERT_FALSE(rp_session(&rp, 0)->bundle);
		CU_ASSERT_FALSE(rp_session(&rp, 1)->bundle);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_bundles), 0);
		expect(AT_ONCE, bytes, 1);
		rp_end(&rp);
	}
}

static enum bench_verdict drop_first_reply(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (!info->hello || !(info->hello->flags & WIRE_RD_HELLO_REPLY) || !to_drop)
		return BENCH_PASS;
	to_drop--;
	return BENCH_DROP;
}

/* A lost answer costs no bundles: the second try has no flag, its answer has. */
static void lost_reply(void)
{
	rp_begin_bundling(&rp, true, true);
	to_drop = 1;
	rp.filter = drop_first_reply;
	rp_open(&rp);
	CU_ASSERT_EQUAL(to_drop, 0);
	CU_ASSERT_TRUE(rp_session(&rp, 0)->bundle);
	CU_ASSERT_TRUE(rp_session(&rp, 1)->bundle);
	rp_end(&rp);
}

/* The peer restarts and takes none any more. */
static void restarted_without(void)
{
	static const uint32_t bytes[] = {40};

	begin();
	rp.bundle[1] = false;
	rp_restart(&rp, 1);
	to = dst = B->qp[0];
	rp_send(&rp, 0, from, dst, 7, 0, 4);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 7, HW_STATUS_REM_ABORT_ERR);
	post(AT_ONCE, bytes, 1);
	rp_quiet(&rp);
	expect(AT_ONCE, bytes, 1);
	CU_ASSERT_FALSE(rp_session(&rp, 0)->bundle);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_bundles), 0);
	rp_end(&rp);
}

/* ---- malformed --------------------------------------------------------------------------- */

/* Changes a bundle of eight Sends of 16 bytes. */
static void spoil(const struct rp_info *info, uint32_t how)
{
	struct wire_rd_part *part = (void *)(info->rd + 1);
	struct wire_rd_part *second = (void *)((uint8_t *)(part + 1) + be16_get(part->bytes));

	switch (how) {
	case 0:
		info->dgram->msg_bytes = be32_put(0);
		break;
	case 1:
	case 3: /* fewer, and more than there are */
	case 4:
		info->dgram->msg_bytes = be32_put(how == 1 ? 1 : how == 3 ? 7 : 9);
		break;
	case 2:
		info->dgram->msg_bytes = be32_put(WIRE_RD_BUNDLE_MAX + 1);
		break;
	case 5:
		second->bytes = be16_put((uint16_t)(be16_get(second->bytes) + 1));
		break;
	case 6:
		part->bytes = be16_put(UINT16_MAX);
		break;
	case 7:
		second->flags = WIRE_DGRAM_F_RESPONSE;
		break;
	case 8:
		second->reserved = 1;
		break;
	case 9:
		info->dgram->dst_qpn = be32_put(0);
		break;
	default:
		break;
	}
}

/* No byte of it is looked at, and nothing is acknowledged: the right one is still awaited. */
static void malformed(void)
{
	static const uint32_t bytes[] = {16};
	struct bench_frame copy;
	uint64_t before;
	uint32_t how;

	begin();
	rp.filter = rp_keep_data;
	post(AT_ONCE, bytes, 1);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	rp.filter = NULL;
	for (how = 0; how < 10; how++) {
		copy = rp.wire.kept[0];
		copy.b = malloc(copy.n);
		memcpy(copy.b, rp.wire.kept[0].b, copy.n);
		const struct rp_info info = rp_info_of(&copy, 0);

		spoil(&info, how);
		rp_reseal(&copy);
		before = RP_CNT(&rp, 1, drop_rd_malformed);
		bench_wire_inject(&rp.wire, 1, copy.b, copy.n);
		rp_settle(&rp);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_rd_malformed), before + 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_packets), 1);
		free(copy.b);
	}
	bench_wire_deliver(&rp.wire, 0);
	rp_quiet(&rp);
	expect(AT_ONCE, bytes, 1);
	rp_end(&rp);
}

/* A part whose DDP header is cut: its PSN is not accepted, those before it are. */
static void cut_part(void)
{
	struct wire_rd_part *part;
	struct rp_info info;
	uint32_t i;

	begin();
	rp.filter = rp_keep_data;
	for (i = 0; i < 2; i++) {
		rp_recv(&rp, 1, B->qp[0], 100 + i, i * SLOT_BYTES, SLOT_BYTES);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, i * SLOT_BYTES, 0);
	}
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	rp.filter = NULL;
	info = rp_info_of(&rp.wire.kept[0], 0);
	part = (void *)(info.rd + 1);
	part = (void *)((uint8_t *)(part + 1) + be16_get(part->bytes));
	((uint8_t *)(part + 1))[0] ^= WIRE_DDP_LAST;
	rp_reseal(&rp.wire.kept[0]);
	bench_wire_deliver(&rp.wire, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_ddp_malformed), 1);
	rp_expect_recv(&rp, 1, 100, HW_STATUS_SUCCESS);
	rp_run(&rp, 100000000);
	rp_expect_recv(&rp, 1, 101, HW_STATUS_SUCCESS);
	for (i = 0; i < 2; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static enum bench_verdict in_segments(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->type == WIRE_DGRAM_RD_BUNDLE)
		info->frame->piece = 50;
	return BENCH_PASS;
}

/* A frame that comes in several segments is put together first. */
static void in_pieces(void)
{
	static const uint32_t bytes[] = {100, 3, 0, 77};

	begin();
	rp.filter = in_segments;
	post(2 * AT_ONCE, bytes, 4);
	rp_quiet(&rp);
	expect(2 * AT_ONCE, bytes, 4);
	CU_ASSERT_TRUE(RP_CNT(&rp, 1, rd_rx_bundles) >= 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_tx_retransmits), 0);
	rp_end(&rp);
}

UT_MAIN("pair/rd_bundle", UT(lengths), UT(fills_frames), UT(kinds), UT(lost), UT(doubled),
	UT(overtaken), UT(overtaken_datagrams), UT(refused), UT(one_is_wrong), UT(apart),
	UT(other_q_key), UT(unmapped), UT(peers_without), UT(lost_reply), UT(restarted_without),
	UT(malformed), UT(cut_part), UT(in_pieces))
