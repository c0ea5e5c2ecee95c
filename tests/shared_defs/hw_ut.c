/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host/NIC contract (shared_defs/hw_*.h, status.h, trace_events.h): sizes and offsets written
 * down a second time, byte images of the entries that two programs share, helper arithmetic, and
 * the numbers that verbs prescribe (infiniband/verbs.h).
 */
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_cmd.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/hw_wqe.h"
#include "shared_defs/status.h"
#include "shared_defs/trace_events.h"

#include "tests/golden.h"
#include "tests/ut.h"

#define LOAD(name, object)                                                                         \
	CU_ASSERT_EQUAL_FATAL(golden_load("hw.hex", name, (uint8_t *)&(object), sizeof(object)),   \
			      sizeof(object))

static void send_wqe(void)
{
	struct hw_sq_wqe g, w = {
				.opcode = HW_WQE_FETCH_ADD,
				.flags = HW_WQE_F_SIGNALED | HW_WQE_F_FENCE,
				.slots = 2,
				.num_sge = 1,
				.imm_inv = 0x01020304,
				.wr_id = 0x1112131415161718,
				.ah = 0x21222324,
				.dst_qpn = 0x31323334,
				.qkey = 0x41424344,
				.inline_bytes = 0x51525354,
				.remote_addr = 0x6162636465666768,
				.rkey = 0x71727374,
				.mw_access = 0x81828384,
				.compare_add = 0x9192939495969798,
				.swap = 0xa1a2a3a4a5a6a7a8,
			    };
	struct hw_sge sge, want = {0x0102030405060708, 0x11121314, 0x21222324};

	LOAD("sq_wqe", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
	LOAD("sge", sge);
	CU_ASSERT_EQUAL(memcmp(&sge, &want, sizeof(sge)), 0);
}

static void cqe(void)
{
	struct hw_cqe g, w = {
			     .wr_id = 0x0102030405060708,
			     .timestamp_ns = 0x1112131415161718,
			     .bytes = 0x21222324,
			     .imm_inv = 0x31323334,
			     .qpn = 0x41424344,
			     .src_qpn = 0x51525354,
			     .status = HW_STATUS_RETRY_EXC_ERR,
			     .opcode = HW_CQE_RECV,
			     .flags = HW_CQE_F_IMM | HW_CQE_F_SOLICITED,
			     .phase = 1,
			     .vendor_err = 0x61626364,
			     .sq_index = 0x71727374,
			     .src_ip = 0x81828384,
			     .record_to = 0x9192939495969798,
			     .record_map = 0xa1a2a3a4a5a6a7a8,
			 };

	LOAD("cqe", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
	/* status, opcode, flags and phase are one aligned word, which is stored last and at once */
	CU_ASSERT_EQUAL(offsetof(struct hw_cqe, status) % 4, 0);
	CU_ASSERT_EQUAL(offsetof(struct hw_cqe, phase) / 4, offsetof(struct hw_cqe, status) / 4);
}

static void eqe(void)
{
	struct hw_eqe g, w = {.id = 0x01020304,
			      .aux = 0x11121314,
			      .aux2 = 0x21222324,
			      .type = HW_EVENT_PEER_ERROR,
			      .code = 2,
			      .layer_etype = 0x12,
			      .phase = 1};

	LOAD("eqe", g);
	CU_ASSERT_EQUAL(memcmp(&g, &w, sizeof(g)), 0);
	CU_ASSERT_EQUAL(offsetof(struct hw_eqe, phase) / 4, offsetof(struct hw_eqe, type) / 4);
}

/* The host's and the NIC's words are in different cache lines. */
static void records(void)
{
	const size_t line = HW_CACHE_LINE_BYTES;

	CU_ASSERT_EQUAL(sizeof(struct hw_bar_header), 320);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, magic), 0);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, bar_bytes), 8);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, client), 16);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, nic_state), 64);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, sleeping), 68);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, link_up), 72);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, db_tail), 128);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, clock_ns), 192);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, coll_nic_calls), 256);
	CU_ASSERT_EQUAL(offsetof(struct hw_bar_header, coll_left_bytes), 280);
	CU_ASSERT_EQUAL(sizeof(struct hw_qp_record), 2 * line);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_record, rq_prod), 4);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_record, rung), 8);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_record, sq_cons), line);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_record, rq_cons), line + 4);
	CU_ASSERT_EQUAL(offsetof(struct hw_cq_record, arm), 4);
	CU_ASSERT_EQUAL(offsetof(struct hw_cq_record, rung), 8);
	CU_ASSERT_EQUAL(offsetof(struct hw_cq_record, prod), line);
	CU_ASSERT_EQUAL(offsetof(struct hw_srq_record, cons), line);
	CU_ASSERT_EQUAL(sizeof(struct hw_eq_record), line);
	CU_ASSERT_EQUAL(HW_BAR_MAGIC, 'W' | 'E' << 8 | 'F' << 16 | 'T' << 24);
}

static void doorbells(void)
{
	CU_ASSERT_EQUAL(HW_DB_ENTRY(HW_DB_SQ, 0x210007), 0x01210007u);
	CU_ASSERT_EQUAL(HW_DB_ENTRY(HW_DB_CQ_ARM, 0xffffff), 0x02ffffffu);
	CU_ASSERT_EQUAL(HW_DB_KIND(0x02210007u), HW_DB_CQ_ARM);
	CU_ASSERT_EQUAL(HW_DB_ID(0x02ffffffu), 0xffffff);
	/* No entry is 0, which means empty. */
	CU_ASSERT_NOT_EQUAL(HW_DB_ENTRY(HW_DB_SQ, 0), 0);
	/* The ring cannot overflow: one entry per object at most, and its index wraps evenly. */
	CU_ASSERT_TRUE(HW_MAX_QP + HW_MAX_CQ + HW_MAX_EQ_PER_CLIENT <= HW_DB_RING_ENTRIES);
	CU_ASSERT_EQUAL(HW_DB_RING_ENTRIES & (HW_DB_RING_ENTRIES - 1), 0);
	CU_ASSERT_EQUAL(HW_BAR_DYNAMIC % HW_BAR_PAGE_BYTES, 0);
	/* The arm word's parts do not overlap and fill it; rings are shorter than its index. */
	CU_ASSERT_EQUAL(HW_CQ_ARM_ARMED ^ HW_CQ_ARM_SOLICITED ^ HW_CQ_ARM_INDEX, UINT32_MAX);
	CU_ASSERT_EQUAL(HW_CQ_ARM_ARMED & HW_CQ_ARM_SOLICITED & HW_CQ_ARM_INDEX, 0);
	CU_ASSERT_TRUE(HW_MAX_CQE < HW_CQ_ARM_INDEX / 2);
}

static void slots_of_a_request(void)
{
	CU_ASSERT_EQUAL(hw_sq_slots(0), 1);
	CU_ASSERT_EQUAL(hw_sq_slots(1), 2);
	CU_ASSERT_EQUAL(hw_sq_slots(64), 2);
	CU_ASSERT_EQUAL(hw_sq_slots(65), 3);
	CU_ASSERT_EQUAL(hw_sq_slots(HW_MAX_INLINE_BYTES), HW_SQ_MAX_SLOTS);
	CU_ASSERT_TRUE(hw_sq_slots(HW_MAX_SGE * sizeof(struct hw_sge)) <= HW_SQ_MAX_SLOTS);
	/* The longest ring holds the most requests of one slot each. */
	CU_ASSERT_TRUE(HW_MAX_WR <= HW_MAX_SQ_SLOTS);
}

static void stride_of_a_receive(void)
{
	for (uint32_t sge = 0; sge <= HW_MAX_SGE; sge++) {
		uint32_t stride = hw_rq_stride_bytes(sge);

		CU_ASSERT_EQUAL(stride & (stride - 1), 0);
		CU_ASSERT_TRUE(stride >= 16 + 16 * sge);
		CU_ASSERT_TRUE(stride == 32 || stride / 2 < 16 + 16 * sge);
	}
	CU_ASSERT_EQUAL(hw_rq_stride_bytes(1), 32);
	CU_ASSERT_EQUAL(hw_rq_stride_bytes(2), 64);
	CU_ASSERT_EQUAL(hw_rq_stride_bytes(3), 64);
	CU_ASSERT_EQUAL(hw_rq_stride_bytes(HW_MAX_SGE), 512);
}

/* Packets of the control channel: the union never outgrows its bytes, commands fit. */
static void commands(void)
{
	CU_ASSERT_EQUAL(sizeof(struct hw_cmd), 128);
	CU_ASSERT_EQUAL(sizeof(struct hw_cmd_resp), 512);
	CU_ASSERT_EQUAL(sizeof(((struct hw_cmd *)0)->u), sizeof(((struct hw_cmd *)0)->u.bytes));
	CU_ASSERT_EQUAL(sizeof(((struct hw_cmd_resp *)0)->u),
			sizeof(((struct hw_cmd_resp *)0)->u.bytes));
	CU_ASSERT_EQUAL(offsetof(struct hw_cmd, tag), 4);
	CU_ASSERT_EQUAL(offsetof(struct hw_cmd_resp, tag), 4);
	CU_ASSERT_EQUAL(offsetof(struct hw_cmd_resp, status), 8);
	CU_ASSERT_EQUAL(offsetof(struct hw_cmd_reg_mr, num_pieces), 24);
	CU_ASSERT_EQUAL(offsetof(struct hw_cmd_reg_mr, flags), 40);
	CU_ASSERT_EQUAL(offsetof(struct hw_cmd_modify_qp, attr), 8);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_attr, av), 32);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_attr, timeout), 44);
	CU_ASSERT_EQUAL(offsetof(struct hw_qp_attr, pkey_index), 52);
	CU_ASSERT_EQUAL(sizeof(struct hw_stat), 48);
	CU_ASSERT_EQUAL(sizeof(struct hw_list_item), 64);
	CU_ASSERT_EQUAL(offsetof(struct hw_resp_device, ip), 24);
	CU_ASSERT_EQUAL(sizeof(struct hw_cmd_attach), 32);
	CU_ASSERT_EQUAL(sizeof(struct hw_resp_device), 152);
	CU_ASSERT_EQUAL(offsetof(struct hw_resp_device, num_coll_shards), 132);
	CU_ASSERT_EQUAL(offsetof(struct hw_resp_device, switch_id), 148);
	CU_ASSERT_EQUAL(offsetof(struct hw_resp_device, max_msg_bytes) % 8, 0);
}

static void numbers_of_verbs(void)
{
	/* enum ibv_wc_status */
	CU_ASSERT_EQUAL(HW_STATUS_LOC_LEN_ERR, 1);
	CU_ASSERT_EQUAL(HW_STATUS_WR_FLUSH_ERR, 5);
	CU_ASSERT_EQUAL(HW_STATUS_REM_ACCESS_ERR, 10);
	CU_ASSERT_EQUAL(HW_STATUS_RETRY_EXC_ERR, 12);
	CU_ASSERT_EQUAL(HW_STATUS_RNR_RETRY_EXC_ERR, 13);
	CU_ASSERT_EQUAL(HW_STATUS_GENERAL_ERR, 21);
	/* enum ibv_wc_opcode */
	CU_ASSERT_EQUAL(HW_CQE_READ, 2);
	CU_ASSERT_EQUAL(HW_CQE_CMP_SWAP, 3);
	CU_ASSERT_EQUAL(HW_CQE_FETCH_ADD, 4);
	CU_ASSERT_EQUAL(HW_CQE_RECV, 1 << 7);
	/* enum ibv_qp_state, ibv_qp_type, ibv_access_flags, ibv_qp_attr_mask */
	CU_ASSERT_EQUAL(HW_QPS_RTS, 3);
	CU_ASSERT_EQUAL(HW_QPS_ERR, 6);
	CU_ASSERT_EQUAL(HW_QPT_UD, 4);
	CU_ASSERT_EQUAL(HW_ACCESS_REMOTE_ATOMIC, 8);
	CU_ASSERT_EQUAL(HW_QP_AV, 1 << 7);
	CU_ASSERT_EQUAL(HW_QP_DEST_QPN, 1 << 20);
}

/* The limits that the device reports. */
static void limits(void)
{
	CU_ASSERT_TRUE(HW_MAX_QP >= 16384);
	CU_ASSERT_TRUE(HW_MAX_MR >= 65536);
	CU_ASSERT_TRUE(HW_MAX_PEERS >= 1024);
	CU_ASSERT_TRUE(HW_MAX_SGE >= 16);
	CU_ASSERT_EQUAL(HW_MAX_UD_MSG_BYTES, 64 * 1024);
	CU_ASSERT_EQUAL(HW_MAX_MSG_BYTES, UINT64_C(1) << 30);
	/* QPN: 5 bits of NIC, 3 of shard, 16 of index */
	CU_ASSERT_TRUE(HW_MAX_QP <= 1 << 16);
}

static void trace_order(void)
{
	static const char *const names[] = {
#define X(name, args) #name,
	    TRACE_EVENTS(X)
#undef X
	};
	static const enum trace_event walk[] = {
	    TRACE_DOORBELL, TRACE_SCHED,  TRACE_WQE,    TRACE_RDMAP_TX, TRACE_DDP_TX,
	    TRACE_ETH_TX,   TRACE_ETH_RX, TRACE_DDP_RX, TRACE_RDMAP_RX, TRACE_CQE,
	    TRACE_MODER,    TRACE_EQE,    TRACE_IRQ};

	CU_ASSERT_EQUAL(sizeof(names) / sizeof(names[0]), TRACE_EVENT_COUNT);
	for (size_t i = 1; i < sizeof(walk) / sizeof(walk[0]); i++)
		CU_ASSERT_TRUE(walk[i - 1] < walk[i]);
	CU_ASSERT_STRING_EQUAL(names[TRACE_CQE], "CQE");
}

UT_MAIN("shared_defs/hw", UT(send_wqe), UT(cqe), UT(eqe), UT(records), UT(doorbells),
	UT(slots_of_a_request), UT(stride_of_a_receive), UT(commands), UT(numbers_of_verbs),
	UT(limits), UT(trace_order))
