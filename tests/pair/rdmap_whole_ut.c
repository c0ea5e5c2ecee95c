/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends of one segment in their turn: they take no context when the receive is the usual one, and
 * end as others do when it is not.
 */
#include "tests/pair/rd_pair.h"

enum {
	BYTES = 64,
	TO = 4096, /* of the receive in the second end's memory */
};

static struct rp rp;
static struct fw_qp *tx, *rx;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* rc: a connection, else the ends' first QPs of RD. */
static void begin(bool rc)
{
	rp_begin(&rp);
	rp_open(&rp);
	tx = A->qp[0];
	rx = B->qp[0];
	if (rc)
		rp_rc(&rp, &tx, &rx, NULL);
	rp_fill(A->mem, BYTES, 5);
	memset(B->mem + TO, 0xee, 2 * BYTES);
	B->nic->host.recv_msgs.used_max = 0;
}

static void send_one(bool rc, uint32_t bytes)
{
	rp_send(&rp, 0, tx, rc ? NULL : rx, 7, 0, bytes);
	rp_settle(&rp);
}

static uint32_t contexts(void)
{
	return B->nic->host.recv_msgs.used_max;
}

/* Several in a row, and one without data: bytes, completions, order, and no context. */
static void usual(void)
{
	uint32_t rc, i;

	for (rc = 0; rc < 2; rc++) {
		begin(rc);
		for (i = 0; i < 3; i++) {
			uint32_t bytes = i < 2 ? BYTES - i : 0;
			struct hw_cqe cqe;

			rp_recv(&rp, 1, rx, 10 + i, TO, BYTES);
			send_one(rc, bytes);
			cqe = rp_expect_recv(&rp, 1, 10 + i, HW_STATUS_SUCCESS);
			CU_ASSERT_EQUAL(cqe.bytes, bytes);
			CU_ASSERT_EQUAL(cqe.src_qpn, tx->qpn);
			rp_quiet(&rp);
			rp_expect_send(&rp, 0, 7, HW_STATUS_SUCCESS);
		}
		CU_ASSERT_TRUE(rp_filled(B->mem + TO, BYTES, 5));
		CU_ASSERT_EQUAL(B->mem[TO + BYTES], 0xee);
		CU_ASSERT_EQUAL(contexts(), 0);
		CU_ASSERT_EQUAL(rx->msgs_open, 0);
		rp_end(&rp);
	}
}

/* No receive is posted: the message is refused, and comes again when there is one. */
static void none_posted(void)
{
	uint32_t rc;

	for (rc = 0; rc < 2; rc++) {
		begin(rc);
		send_one(rc, BYTES);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_rx_refused), 1);
		rp_recv(&rp, 1, rx, 11, TO, BYTES);
		rp_run(&rp, 20000000);
		(void)rp_expect_recv(&rp, 1, 11, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(B->mem + TO, BYTES, 5));
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 7, HW_STATUS_SUCCESS);
		rp_end(&rp);
	}
}

/* A receive that is too short fails as before: one receive, one error, nothing written. */
static void too_short(void)
{
	begin(false);
	rp_recv(&rp, 1, rx, 12, TO, BYTES - 1);
	rp_recv(&rp, 1, rx, 13, TO, BYTES);
	send_one(false, BYTES);
	(void)rp_expect_recv(&rp, 1, 12, HW_STATUS_LOC_LEN_ERR);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 7, HW_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(B->mem[TO], 0xee);
	CU_ASSERT_EQUAL(contexts(), 1);
	send_one(false, BYTES);
	(void)rp_expect_recv(&rp, 1, 13, HW_STATUS_SUCCESS);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 7, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Memory that is not mapped is written through the port, as often as without the short way. */
static void not_mapped(void)
{
	uint32_t stag;

	begin(false);
	stag = rp_reg(&rp, 1, B->mem, RP_MEM_BYTES, HW_ACCESS_LOCAL_WRITE, false);
	B->stag = stag;
	rp_recv(&rp, 1, rx, 14, TO, BYTES);
	send_one(false, BYTES);
	(void)rp_expect_recv(&rp, 1, 14, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(B->mem + TO, BYTES, 5));
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, host_writes), 1);
	CU_ASSERT_EQUAL(contexts(), 1);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 7, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* The region of the receive is gone: the receive and the request end with errors. */
static void no_region(void)
{
	uint32_t stag, own;

	begin(false);
	own = B->stag;
	stag = rp_reg(&rp, 1, B->mem, RP_MEM_BYTES, HW_ACCESS_LOCAL_WRITE, true);
	B->stag = stag;
	rp_recv(&rp, 1, rx, 15, TO, BYTES);
	B->stag = own;
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	send_one(false, BYTES);
	(void)rp_expect_recv(&rp, 1, 15, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(B->mem[TO], 0xee);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 7, HW_STATUS_REM_OP_ERR);
	rp_end(&rp);
}

UT_MAIN("pair/rdmap_whole", UT(usual), UT(none_posted), UT(too_short), UT(not_mapped),
	UT(no_region))
