/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: memory that is gone when a message is sent, sent again, or answered. The first fault
 * decides; earlier requests bring their data. nic_fw/rdmap/esp_rdmap*.c.
 */
#include "tests/pair/esp_rdmap_fix.h"

/* A is alone until the filter lets it connect; then its first packet with data is lost, once. */
static bool connects;
static uint32_t lose;

static enum bench_verdict lose_first(struct rp *r, const struct rp_info *info)
{
	const struct wire_eth *eth = (const void *)info->frame->b;

	(void)r;
	if (!connects && be16_get(eth->type) == WIRE_ETHERTYPE_ESP)
		return BENCH_DROP;
	if (info->from != 0 || !carries(info->frame) || !lose)
		return BENCH_PASS;
	lose--;
	return BENCH_DROP;
}

/*
 * Three Writes of A wait for the stream. The regions whose bit is set in gone are deregistered
 * before it opens. Then the first packets that carry anything are lost.
 */
static void writes_whose_memory_goes(uint32_t gone, uint32_t losses)
{
	uint32_t stag[3];

	begin();
	connects = false;
	lose = losses;
	rp.filter = lose_first;
	memset(B->mem + DST, 0xee, 4096);
	for (uint32_t i = 0; i < 3; i++) {
		struct rp_req put = {.opcode = HW_WQE_WRITE,
				     .wr_id = i + 1,
				     .offset = i * 1024,
				     .bytes = BYTES,
				     .remote_offset = DST + i * 1024};

		memset(A->mem + put.offset, (int)(i + 1), BYTES);
		stag[i] = rp_reg(&rp, 0, A->mem + put.offset, BYTES, RP_ALL_ACCESS, true);
		put.lkey = stag[i];
		rp_req(&rp, 0, qa, &put);
	}
	rp_run(&rp, 20000);
	CU_ASSERT_FALSE(fw_list_empty(&qa->esp->waiting));
	for (uint32_t i = 0; i < 3; i++)
		if (gone & 1u << i)
			CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag[i]), 0);
	connects = true;
	rp_run(&rp, UINT64_C(1000) * MS);
	for (uint32_t i = 0; i < 3; i++)
		if (!(gone & 1u << i))
			CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag[i]), 0);
}

/* A Write that is sent again brings its data, though the memory of the next one is gone. */
static void lost_before_a_fault(void)
{
	for (uint32_t losses = 0; losses < 4; losses++) {
		writes_whose_memory_goes(2, losses);
		CU_ASSERT_EQUAL(lose, 0);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 2, HW_STATUS_LOC_PROT_ERR);
		rp_expect_send(&rp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_TRUE(rp_all(B->mem + DST, BYTES, 1));
		CU_ASSERT_TRUE(rp_all(B->mem + DST + 1024, BYTES, 0xee));
		CU_ASSERT_TRUE(rp_all(B->mem + DST + 2048, BYTES, 0xee));
		CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
		over();
	}
}

/* The first of two faults decides: neither it nor a later request succeeds. */
static void first_of_two_faults(void)
{
	writes_whose_memory_goes(5, 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_TRUE(rp_all(B->mem + DST, 3 * 1024, 0xee));
	over();
}

/*
 * A fault that is found when a packet is sent again precedes one that is known: the memory of the
 * second Write goes first, that of the first one after its packet was lost.
 */
static void earlier_fault_later(void)
{
	struct rp_req put = {
	    .opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = DST};
	uint32_t first, second;
	struct hw_cqe cqe;

	begin();
	connects = false;
	lose = 1;
	rp.filter = lose_first;
	memset(B->mem + DST, 0xee, 4096);
	first = rp_reg(&rp, 0, A->mem, BYTES, RP_ALL_ACCESS, true);
	second = rp_reg(&rp, 0, A->mem + 1024, BYTES, RP_ALL_ACCESS, true);
	put.lkey = first;
	rp_req(&rp, 0, qa, &put);
	put.wr_id = 2;
	put.lkey = second;
	put.offset = 1024;
	rp_req(&rp, 0, qa, &put);
	rp_run(&rp, 20000);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, second), 0);
	connects = true;
	while (lose || !qa->esp->out.faulty)
		rp_run(&rp, 1000);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, first), 0);
	rp_run(&rp, UINT64_C(1000) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 2);
	CU_ASSERT_NOT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_all(B->mem + DST, 4096, 0xee));
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	over();
}

/*
 * The memory of a process that ends is gone before its queue pair is reset: the peer is notified of
 * the stream's end, not of a missing right.
 */
static void answerer_leaves(void)
{
	struct fw_client *leaving;

	begin();
	leaving = &B->nic->host.clients[B->client];
	rp.filter = lose_answers;
	request(HW_WQE_READ, 1, 0);
	rp_run(&rp, MS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, reads_executed), 1);
	rp.filter = NULL;
	leaving->closing = true;
	rp_run(&rp, UINT64_C(200) * MS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), 0);
	leaving->closing = false;
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	over();
}

UT_MAIN("pair/esp_rdmap_gone", UT(lost_before_a_fault), UT(first_of_two_faults),
	UT(earlier_fault_later), UT(answerer_leaves))
