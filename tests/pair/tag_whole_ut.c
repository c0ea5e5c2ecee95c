/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of one packet that meet a posted receive (nic_fw/tag/tag_whole.c): they need no context
 * at the receiver, and every other case takes the other way with the same result.
 */
#include "tests/pair/tag_pair.h"

static struct tp tp;

#define MEM(e) (tp.rp.end[e].mem)

enum {
	TO = 70000, /* of the receives */
	ROOM = 1024,
};

/* Contexts that the receiver has ever had. */
static uint32_t contexts(void)
{
	const struct fw_nic *nic = tp.rp.end[1].nic;

	return nic->tag.arrivals.high + nic->host.recv_msgs.high;
}

/* Sends bytes, and asserts that the receive reports so many of them. */
static void message(uint32_t wr_id, uint32_t bytes, uint32_t room, uint32_t tsend_flags)
{
	enum hw_status status = room < bytes ? HW_STATUS_LOC_LEN_ERR : HW_STATUS_SUCCESS;
	struct hw_cqe cqe;

	rp_fill(MEM(0), bytes, wr_id);
	memset(MEM(1) + TO, 0xee, ROOM + 1);
	tp_send_flags(&tp, 0, 100 + wr_id, 5, 0, bytes, tsend_flags, 0);
	rp_quiet(&tp.rp);
	tp_expect_sent(&tp, 0, 100 + wr_id, HW_STATUS_SUCCESS);
	cqe = tp_expect(&tp, 1, wr_id, status);
	room = room < bytes ? room : bytes;
	CU_ASSERT_TRUE(cqe.opcode == HW_CQE_TRECV && cqe.bytes == room && cqe.imm_inv == bytes);
	CU_ASSERT_TRUE(cqe.src_qpn == tp.qp[0]->qpn && cqe.record_to == 5 && !cqe.sq_index);
	CU_ASSERT_EQUAL(!!(cqe.flags & HW_CQE_F_IMM), !!(tsend_flags & HW_TSEND_F_DATA));
	if (tsend_flags & HW_TSEND_F_DATA)
		CU_ASSERT_EQUAL(cqe.record_map, ~(uint64_t)(100 + wr_id));
	CU_ASSERT_TRUE(rp_filled(MEM(1) + TO, room, wr_id));
	CU_ASSERT_EQUAL(MEM(1)[TO + room], 0xee);
}

/* Empty, short, as long as the receive, longer; with and without data of its own. */
static void without_context(void)
{
	static const uint32_t lengths[] = {0, 1, 8, ROOM - 1, ROOM, ROOM + 1, 1300};
	uint32_t i;

	tp_begin(&tp);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		tp_recv(&tp, 1, i, 5, TO, ROOM);
		rp_settle(&tp.rp);
		message(i, lengths[i], ROOM, i % 2 ? HW_TSEND_F_DATA : 0);
	}
	CU_ASSERT_EQUAL(contexts(), 0);
	CU_ASSERT_EQUAL(tp_query(&tp, 1).matched_posted, i);
	CU_ASSERT_EQUAL(tp.qp[1]->rx_msgs, i);
	tp_end(&tp);
}

/* A receive of no bytes, for a message and for an empty one. */
static void empty_receive(void)
{
	tp_begin(&tp);
	tp_recv(&tp, 1, 1, 5, TO, 0);
	rp_settle(&tp.rp);
	message(1, 100, 0, 0);
	tp_recv(&tp, 1, 2, 5, TO, 0);
	rp_settle(&tp.rp);
	message(2, 0, 0, 0);
	CU_ASSERT_EQUAL(contexts(), 0);
	tp_end(&tp);
}

/* Bytes that lie in several SGEs, which the other way places. */
static void several_sges(void)
{
	struct tp_op op = {.wr_id = 3, .tag = 5, .offset = TO, .bytes = ROOM, .num_sge = 4};

	tp_begin(&tp);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	message(3, ROOM, ROOM, HW_TSEND_F_DATA);
	CU_ASSERT_TRUE(contexts() > 0);
	tp_end(&tp);
}

/* The sender of a synchronous message waits for its DONE. */
static void synchronous(void)
{
	tp_begin(&tp);
	tp_recv(&tp, 1, 4, 5, TO, ROOM);
	rp_settle(&tp.rp);
	message(4, 64, ROOM, HW_TSEND_F_SYNC);
	CU_ASSERT_TRUE(contexts() > 0);
	tp_end(&tp);
}

/* A buffer of many messages: each behind the last one, and back with the last. */
static void many_in_one(void)
{
	struct tp_op op = {.wr_id = 9,
			   .tag = 5,
			   .flags = HW_TAG_F_MULTI,
			   .offset = TO,
			   .bytes = 1000,
			   .min_free_bytes = 200};
	struct hw_cqe cqe;
	uint32_t i;

	tp_begin(&tp);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	for (i = 0; i < 3; i++) {
		rp_fill(MEM(0), 300, i);
		tp_send(&tp, 0, i, 5, 0, 300);
		rp_quiet(&tp.rp);
		tp_expect_sent(&tp, 0, i, HW_STATUS_SUCCESS);
		cqe = tp_expect(&tp, 1, 9, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(cqe.bytes == 300 && cqe.sq_index == 300 * i);
		CU_ASSERT_EQUAL(cqe.flags, i == 2 ? HW_CQE_F_RELEASED : 0);
		CU_ASSERT_TRUE(rp_filled(MEM(1) + TO + 300 * i, 300, i));
	}
	CU_ASSERT_EQUAL(contexts(), 0);
	tp_end(&tp);
}

/* A receive that may not be written to fails as it does the other way, and the message with it. */
static void no_access(void)
{
	struct tp_op op = {.wr_id = 5, .tag = 5, .offset = TO, .bytes = ROOM, .lkey = 0x12345600};

	tp_begin(&tp);
	tp_op(&tp, 1, &op);
	rp_settle(&tp.rp);
	tp_send(&tp, 0, 6, 5, 0, 64);
	rp_quiet(&tp.rp);
	tp_expect(&tp, 1, 5, HW_STATUS_LOC_PROT_ERR);
	tp_expect_sent(&tp, 0, 6, HW_STATUS_REM_OP_ERR);
	tp_end(&tp);
}

UT_MAIN("pair/tag_whole", UT(without_context), UT(empty_receive), UT(several_sges), UT(synchronous),
	UT(many_in_one), UT(no_access))
