/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics and their answers: results, masks and operations that are refused, memory that is gone.
 */
#include "tests/pair/rd_pair.h"

enum {
	SINK = 65536, /* in A's memory */
};

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
}

/* Results of atomics, mapped and not; masks and operations that are not supported are refused. */
static void atomics(void)
{
	struct wire_atomic_request *wire;
	uint64_t *word, *sink;
	uint32_t stag, m;

	begin();
	word = (void *)(B->mem + 256);
	sink = (void *)(A->mem + SINK);
	stag = rp_reg(&rp, 1, word, 8, RP_ALL_ACCESS, false);
	for (m = 0; m < 2; m++) {
		struct rp_req req = {.bytes = 8, .offset = SINK, .remote_offset = 256};

		req.dst = B->qp[0];
		req.rkey = m ? stag : B->stag;
		*word = UINT64_MAX - 1;
		req.opcode = HW_WQE_FETCH_ADD;
		req.compare_add = 5;
		rp_req(&rp, 0, A->qp[0], &req);
		rp_quiet(&rp);
		CU_ASSERT_EQUAL(*word, 3);
		CU_ASSERT_EQUAL(*sink, UINT64_MAX - 1);
		req.opcode = HW_WQE_CMP_SWAP;
		req.compare_add = 4;
		req.swap = UINT64_C(0x8000000000000001);
		rp_req(&rp, 0, A->qp[0], &req);
		rp_quiet(&rp);
		CU_ASSERT_EQUAL(*word, 3);
		CU_ASSERT_EQUAL(*sink, 3);
		req.compare_add = 3;
		rp_req(&rp, 0, A->qp[0], &req);
		rp_quiet(&rp);
		CU_ASSERT_EQUAL(*word, UINT64_C(0x8000000000000001));
		CU_ASSERT_EQUAL(*sink, 3);
		for (req.wr_id = 0; req.wr_id < 3; req.wr_id++)
			rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	}
	for (m = 0; m < 4; m++) {
		const struct rp_req req = {.opcode = m < 2 ? HW_WQE_CMP_SWAP : HW_WQE_FETCH_ADD,
					   .wr_id = m,
					   .dst = B->qp[0],
					   .offset = SINK,
					   .bytes = 8,
					   .compare_add = 1,
					   .remote_offset = 256};
		struct rp_info info;

		*word = 7;
		rp.filter = rp_keep_data;
		rp_req(&rp, 0, A->qp[0], &req);
		rp_settle(&rp);
		info = rp_info_of(&rp.wire.kept[0], 0);
		wire = (void *)(info.ddp + sizeof(struct wire_ddp_untagged));
		if (m == 0)
			wire->compare_mask = be64_put(0xff);
		else if (m == 3)
			wire->opcode = be32_put(WIRE_ATOMIC_SWAP);
		else
			wire->add_swap_mask = be64_put(m == 1 ? 0 : 0x80);
		rp_reseal(&rp.wire.kept[0]);
		rp_release(&rp);
		rp_expect_send(&rp, 0, m, HW_STATUS_REM_ACCESS_ERR);
		CU_ASSERT_EQUAL(*word, 7);
	}
	rp_end(&rp);
}

/* An atomic on memory that the process does not have. */
static void atomic_fault(void)
{
	struct rp_req req = {.opcode = HW_WQE_FETCH_ADD,
			     .bytes = 8,
			     .offset = SINK,
			     .remote_offset = 256,
			     .wr_id = 8};

	begin();
	req.dst = B->qp[0];
	req.rkey = rp_reg(&rp, 1, B->mem + 256, 8, RP_ALL_ACCESS, false);
	rp_host_fault(&rp, true);
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_host_fault(&rp, false);
	rp_expect_send(&rp, 0, 8, HW_STATUS_REM_ACCESS_ERR);
	rp_end(&rp);
}

UT_MAIN("pair/rdmap_atomic", UT(atomics), UT(atomic_fault))
