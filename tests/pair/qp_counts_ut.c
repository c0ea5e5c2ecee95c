/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of queue pairs for weftctl: messages and bytes in both directions, of each operation,
 * once it is posted, and once it is carried out. nic_fw/host/wqe.c, nic_fw/rdmap/rdmap_rx.c,
 * rdmap_resp.c.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

enum {
	BYTES = 3000, /* two packets */
};

static struct fw_qp *qp_at(uint32_t e)
{
	return rp.end[e].qp[0];
}

static void has(uint32_t e, uint64_t tx_msgs, uint64_t tx_bytes, uint64_t rx_msgs,
		uint64_t rx_bytes)
{
	CU_ASSERT_EQUAL(qp_at(e)->tx_msgs, tx_msgs);
	CU_ASSERT_EQUAL(qp_at(e)->tx_bytes, tx_bytes);
	CU_ASSERT_EQUAL(qp_at(e)->rx_msgs, rx_msgs);
	CU_ASSERT_EQUAL(qp_at(e)->rx_bytes, rx_bytes);
}

static void operation(uint8_t opcode, uint64_t wr_id, uint32_t bytes, enum hw_status status)
{
	const struct rp_req req = {.opcode = opcode,
				   .wr_id = wr_id,
				   .dst = qp_at(1),
				   .bytes = bytes,
				   .remote_offset = 65536,
				   .imm = 7};

	rp_req(&rp, 0, qp_at(0), &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, wr_id, status);
}

static void each_operation(void)
{
	uint64_t at0;

	rp_begin(&rp);
	has(0, 0, 0, 0, 0);
	operation(HW_WQE_WRITE, 1, BYTES, HW_STATUS_SUCCESS);
	has(0, 1, BYTES, 0, 0);
	has(1, 0, 0, 1, BYTES);
	rp_recv(&rp, 1, qp_at(1), 50, 0, BYTES);
	operation(HW_WQE_SEND, 2, BYTES, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
	has(0, 2, 2 * BYTES, 0, 0);
	has(1, 0, 0, 2, 2 * BYTES);
	rp_recv(&rp, 1, qp_at(1), 51, 0, BYTES);
	operation(HW_WQE_WRITE_IMM, 3, 10, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 51, HW_STATUS_SUCCESS);
	has(0, 3, 2 * BYTES + 10, 0, 0);
	has(1, 0, 0, 3, 2 * BYTES + 10);
	/* The other end counts a read and an atomic, which bring it no bytes. */
	at0 = qp_at(0)->tx_bytes;
	operation(HW_WQE_READ, 4, BYTES, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(qp_at(0)->tx_msgs, 4);
	CU_ASSERT_EQUAL(qp_at(0)->tx_bytes, at0 + BYTES);
	has(1, 0, 0, 4, 2 * BYTES + 10);
	operation(HW_WQE_FETCH_ADD, 5, 8, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(qp_at(0)->tx_msgs, 5);
	has(1, 0, 0, 5, 2 * BYTES + 10);
	CU_ASSERT_EQUAL(qp_at(0)->rx_msgs, 0);
	rp_end(&rp);
}

/* A message that does not fit its receive is none that was received. */
static void too_long(void)
{
	rp_begin(&rp);
	rp_recv(&rp, 1, qp_at(1), 50, 0, 10);
	operation(HW_WQE_SEND, 1, 11, HW_STATUS_REM_INV_REQ_ERR);
	(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_LOC_LEN_ERR);
	has(1, 0, 0, 0, 0);
	rp_end(&rp);
}

UT_MAIN("pair/qp_counts", UT(each_operation), UT(too_long))
