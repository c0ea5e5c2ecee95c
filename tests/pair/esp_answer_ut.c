/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: the memory under the answer of a read goes away when the requester may have the
 * answer. It is done with that memory then, and its acknowledgement may be lost. Deregistered
 * memory is missed when the answer is gathered, unmapped memory when the port reads it.
 */
#include "tests/pair/rd_pair.h"

enum {
	MS = 1000000,
	SINK = 64 * 1024, /* in A's memory: target of the read */
	DST = 128 * 1024, /* in B's memory: its source */
	BYTES = 200,
	ESP_AT = sizeof(struct wire_eth) + sizeof(struct wire_edp),
	DDP_AT = ESP_AT + sizeof(struct wire_esp) + sizeof(struct wire_esp_rdmap),
};

/* How the memory goes. */
enum gone {
	DEREGISTERED,
	UNMAPPED,
	WAYS
};

static struct rp rp;
static struct fw_qp *qa, *qb;

#define A (&rp.end[0])
#define B (&rp.end[1])

/* Loses what A acknowledges, and the numbered packets of B. */
static bool deaf, mute;

static enum bench_verdict lose_numbered(struct rp *r, const struct rp_info *info)
{
	struct wire_esp esp;

	(void)r;
	memcpy(&esp, info->frame->b + ESP_AT, sizeof(esp));
	if (info->from == 0)
		return deaf && info->frame->n <= DDP_AT + WIRE_EDP_CRC_BYTES ? BENCH_DROP
									     : BENCH_PASS;
	return mute && esp.numbered == 1 ? BENCH_DROP : BENCH_PASS;
}

static void request(uint8_t opcode, uint64_t wr_id, uint32_t rkey)
{
	const struct rp_req req = {
	    .opcode = opcode,
	    .wr_id = wr_id,
	    .offset = opcode == HW_WQE_READ ? SINK : 0,
	    .bytes = opcode == HW_WQE_FETCH_ADD ? 8 : BYTES,
	    .rkey = rkey,
	    .remote_offset = DST,
	    .compare_add = 1,
	};

	rp_req(&rp, 0, qa, &req);
}

static void begin(void)
{
	const struct hw_qp_attr attr = {
	    .timeout = 14,
	    .retry_cnt = 2,
	    .rnr_retry = 2,
	    .min_rnr_timer = 1,
	    .max_rd_atomic = 4,
	    .max_dest_rd_atomic = 4,
	    .transport = HW_QP_TRANSPORT_ESP,
	};

	rp_begin(&rp);
	rp_rc(&rp, &qa, &qb, &attr);
}

static void over(void)
{
	rp.filter = NULL;
	B->port.host_fault = false;
	rp_destroy_qp(&rp, 0, qa);
	rp_destroy_qp(&rp, 1, qb);
	rp_run(&rp, UINT64_C(40000) * MS);
	rp_end(&rp);
}

/* A reads, and its acknowledgement is lost. The memory goes before B repeats the answer. */
static void read_whose_memory_goes(enum gone gone, bool lost)
{
	struct hw_cqe cqe;
	uint32_t rkey;

	begin();
	rkey = rp_reg(&rp, 1, B->mem, DST + BYTES, RP_ALL_ACCESS, gone == DEREGISTERED);
	request(HW_WQE_FETCH_ADD, 9, 0);
	rp_run(&rp, MS);
	rp_expect_send(&rp, 0, 9, HW_STATUS_SUCCESS);
	memset(A->mem, 0x11, BYTES);
	memset(A->mem + SINK, 0, BYTES);
	memset(B->mem + DST, 0xee, BYTES);
	deaf = true;
	mute = lost;
	rp.filter = lose_numbered;
	request(HW_WQE_READ, 1, rkey);
	if (lost) {
		while (!RP_CNT(&rp, 1, reads_executed))
			rp_run(&rp, 1000);
		/* The answer leaves, and is lost. */
		rp_run(&rp, 1000);
	} else {
		while (!rp_scqe(&rp, 0, &cqe))
			rp_run(&rp, 1000);
		CU_ASSERT_TRUE(cqe.wr_id == 1 && cqe.status == HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_all(A->mem + SINK, BYTES, 0xee));
	}
	if (gone == DEREGISTERED) {
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, rkey), 0);
	} else {
		B->port.host_fault = true;
	}
	mute = true;
}

/* A has the answer: B asks as long as it does not know that, and nothing fails. */
static void answer_that_came_has_no_fault(void)
{
	for (enum gone gone = 0; gone < WAYS; gone++) {
		read_whose_memory_goes(gone, false);
		rp_run(&rp, 20 * MS);
		deaf = mute = false;
		B->port.host_fault = false;
		request(HW_WQE_WRITE, 2, 0);
		rp_run(&rp, UINT64_C(1000) * MS);
		rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_all(B->mem + DST, BYTES, 0x11));
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), 0);
		over();
	}
}

/* A lacks the answer, and B ends the stream: a Write before A knows that does not succeed. */
static void request_behind_a_faulty_answer(void)
{
	struct hw_cqe cqe;

	for (enum gone gone = 0; gone < WAYS; gone++) {
		read_whose_memory_goes(gone, true);
		deaf = false;
		while (qb->esp->in.stream)
			rp_run(&rp, 1000);
		request(HW_WQE_WRITE, 2, 0);
		rp_run(&rp, 10 * MS);
		CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_PTR_NOT_NULL(esp_rdmap_unacked(qa));
		mute = false;
		rp_run(&rp, UINT64_C(1000) * MS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
		rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_TRUE(rp_all(B->mem + DST, BYTES, 0xee));
		CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
		over();
	}
}

static struct wire_terminate said;

static enum bench_verdict read_terminate(struct rp *r, const struct rp_info *info)
{
	struct wire_ddp_untagged ddp;

	(void)r;
	if (info->from == 1 &&
	    info->frame->n >= DDP_AT + sizeof(ddp) + sizeof(said) + WIRE_EDP_CRC_BYTES) {
		memcpy(&ddp, info->frame->b + DDP_AT, sizeof(ddp));
		if ((ddp.rdmap_ctrl & 0x0f) == WIRE_RDMAP_TERMINATE)
			memcpy(&said, info->frame->b + DDP_AT + sizeof(ddp), sizeof(said));
	}
	return BENCH_PASS;
}

/* The reason for the end of a stream whose answer cannot be read: RDMAP's, and the STag's. */
static void reason_of_a_faulty_answer(void)
{
	for (enum gone gone = 0; gone < WAYS; gone++) {
		memset(&said, 0xff, sizeof(said));
		read_whose_memory_goes(gone, true);
		deaf = mute = false;
		rp.filter = read_terminate;
		rp_run(&rp, UINT64_C(1000) * MS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
		CU_ASSERT_EQUAL(said.layer_etype,
				WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION);
		CU_ASSERT_EQUAL(said.code, WIRE_TERM_PROT_INVALID_STAG);
		over();
	}
}

UT_MAIN("pair/esp_answer", UT(answer_that_came_has_no_fault), UT(request_behind_a_faulty_answer),
	UT(reason_of_a_faulty_answer))
