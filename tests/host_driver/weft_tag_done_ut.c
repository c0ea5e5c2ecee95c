/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_tag_done.c: completions of a tagged endpoint, in any order, of peeks, of buffers
 * of many messages, of failures; what is flushed.
 */
#include "tests/host_driver/weft_tag_fix.h"

/* Requests with the same wr_id, and completions in another order than the requests. */
static void completes_in_any_order(void)
{
	struct weft_wc wc;
	uint64_t token[4];
	struct fix f;
	uint32_t i;

	setup(&f);
	for (i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(receive(&f, 100 + i / 2, 0, NULL), 0);
		token[i] = op_at(&f, i)->wr_id;
	}
	complete(&f, (struct hw_cqe){.wr_id = token[3],
				     .opcode = HW_CQE_TRECV,
				     .flags = HW_CQE_F_IMM,
				     .bytes = 10,
				     .imm_inv = 20,
				     .status = HW_STATUS_LOC_LEN_ERR,
				     .src_qpn = 5,
				     .src_ip = 6,
				     .record_to = UINT64_C(1) << 60,
				     .record_map = UINT64_C(1) << 61});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.wr_id, 101);
	CU_ASSERT_EQUAL(wc.opcode, WEFT_WC_TRECV);
	CU_ASSERT_EQUAL(wc.status, WEFT_WC_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(wc.flags, WEFT_WC_WITH_DATA);
	CU_ASSERT_EQUAL(wc.bytes, 10);
	CU_ASSERT_EQUAL(wc.msg_bytes, 20);
	CU_ASSERT_EQUAL(wc.imm, 0);
	CU_ASSERT_EQUAL(wc.src_qpn, 5);
	CU_ASSERT_EQUAL(wc.src_ip, 6);
	CU_ASSERT_EQUAL(wc.tag, UINT64_C(1) << 60);
	CU_ASSERT_EQUAL(wc.data, UINT64_C(1) << 61);
	complete(&f, (struct hw_cqe){.wr_id = token[0],
				     .opcode = HW_CQE_TRECV,
				     .status = HW_STATUS_WR_FLUSH_ERR,
				     .vendor_err = HW_VENDOR_ERR_CANCELED});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.wr_id, 100);
	CU_ASSERT_EQUAL(wc.vendor_err, WEFT_VENDOR_ERR_CANCELED);
	/* Cancelling is no failure of the endpoint. */
	CU_ASSERT_FALSE(weft_container_of(f.ep->qp, struct weft_qp_obj, pub)->in_error);
	/* The two slots serve again. */
	take_all(&f);
	CU_ASSERT_EQUAL(receive(&f, 200, 0, NULL), 0);
	CU_ASSERT_EQUAL(receive(&f, 201, 0, NULL), 0);
	CU_ASSERT_EQUAL(op_at(&f, 4)->wr_id, token[3]);
	CU_ASSERT_EQUAL(op_at(&f, 5)->wr_id, token[0]);
	CU_ASSERT_STRING_EQUAL(weft_wc_opcode_str(wc.opcode), "TRECV");
	CU_ASSERT_STRING_EQUAL(weft_vendor_err_str(wc.vendor_err), "CANCELED");
	teardown(&f);
}

static void peeks(void)
{
	const struct weft_tag_recv_wr wr = {.wr_id = 7, .flags = WEFT_TAG_CLAIM};
	struct weft_wc wc;
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(weft_tag_peek(f.ep, &wr), 0);
	complete(&f, (struct hw_cqe){.wr_id = op_at(&f, 0)->wr_id,
				     .opcode = HW_CQE_TPEEK,
				     .imm_inv = 33,
				     .sq_index = 44,
				     .record_to = 55});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.wr_id, 7);
	CU_ASSERT_EQUAL(wc.opcode, WEFT_WC_TPEEK);
	CU_ASSERT_EQUAL(wc.msg_bytes, 33);
	CU_ASSERT_EQUAL(wc.claim, 44);
	CU_ASSERT_EQUAL(wc.tag, 55);
	CU_ASSERT_EQUAL(weft_tag_peek(f.ep, &wr), 0);
	complete(&f, (struct hw_cqe){.wr_id = op_at(&f, 1)->wr_id,
				     .opcode = HW_CQE_TPEEK,
				     .status = HW_STATUS_GENERAL_ERR,
				     .vendor_err = HW_VENDOR_ERR_NO_MESSAGE});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.status, WEFT_WC_GENERAL_ERR);
	CU_ASSERT_EQUAL(wc.vendor_err, WEFT_VENDOR_ERR_NO_MESSAGE);
	CU_ASSERT_FALSE(weft_container_of(f.ep->qp, struct weft_qp_obj, pub)->in_error);
	teardown(&f);
}

/* A multi-receive buffer keeps its slot until it is released. */
static void multi_receive(void)
{
	struct weft_wc wc;
	uint64_t token;
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(receive(&f, 5, WEFT_TAG_MULTI, NULL), 0);
	token = op_at(&f, 0)->wr_id;
	for (uint32_t i = 0; i < 3; i++) {
		complete(&f, (struct hw_cqe){.wr_id = token,
					     .opcode = HW_CQE_TRECV,
					     .flags = i == 2 ? HW_CQE_F_RELEASED : 0,
					     .sq_index = i * 100});
		wc = poll_one(&f);
		CU_ASSERT_EQUAL(wc.wr_id, 5);
		CU_ASSERT_EQUAL(wc.offset, i * 100);
		CU_ASSERT_EQUAL(wc.flags, i == 2 ? WEFT_WC_RELEASED : 0);
		CU_ASSERT_EQUAL(receive(&f, 6, 0, NULL), 0);
		CU_ASSERT_EQUAL(op_at(&f, i + 1)->wr_id == token, i == 2);
		take_all(&f);
	}
	teardown(&f);
}

/* An RDMA Write with immediate of a peer takes no receive. */
static void write_with_immediate(void)
{
	struct weft_wc wc;
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(receive(&f, 0, 0, NULL), 0);
	complete(&f, (struct hw_cqe){.opcode = HW_CQE_RECV_WRITE_IMM,
				     .flags = HW_CQE_F_IMM,
				     .imm_inv = 77,
				     .bytes = 5});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.opcode, WEFT_WC_RECV_WRITE_IMM);
	CU_ASSERT_EQUAL(wc.imm, 77);
	complete(&f, (struct hw_cqe){.wr_id = op_at(&f, 0)->wr_id, .opcode = HW_CQE_TRECV});
	CU_ASSERT_EQUAL(poll_one(&f).opcode, WEFT_WC_TRECV);
	teardown(&f);
}

static void unsignaled_failure(void)
{
	struct weft_wc wc;
	struct fix f;

	setup(&f);
	CU_ASSERT_EQUAL(send(&f, 31, WEFT_TAG_UNSIGNALED), 0);
	take_all(&f);
	complete(&f, (struct hw_cqe){
			 .wr_id = 31, .opcode = HW_CQE_TSEND, .status = HW_STATUS_REM_ABORT_ERR});
	wc = poll_one(&f);
	CU_ASSERT_EQUAL(wc.wr_id, 31);
	CU_ASSERT_EQUAL(wc.opcode, WEFT_WC_TSEND);
	CU_ASSERT_EQUAL(wc.status, WEFT_WC_REM_ABORT_ERR);
	teardown(&f);
}

/* weftd is killed: every request that had no completion gets one, and only those. */
static void flushes_what_is_open(void)
{
	uint32_t seen[128] = {0};
	struct weft_wc wc[4];
	struct fix f;
	int n, sum = 0;

	setup(&f);
	CU_ASSERT_EQUAL(send(&f, 1, 0), 0);
	CU_ASSERT_EQUAL(send(&f, 2, 0), 0);
	CU_ASSERT_EQUAL(receive(&f, 10, 0, NULL), 0);
	CU_ASSERT_EQUAL(receive(&f, 11, WEFT_TAG_MULTI, NULL), 0);
	take_all(&f);
	/* Open sends, one completed; one in the ring; one unsignaled in the ring. */
	complete(&f, (struct hw_cqe){.wr_id = fake_slot(f.hw, 0)->wr_id, .opcode = HW_CQE_TSEND});
	CU_ASSERT_EQUAL(send(&f, 3, 0), 0);
	CU_ASSERT_EQUAL(send(&f, 4, WEFT_TAG_UNSIGNALED), 0);
	CU_ASSERT_EQUAL(receive(&f, 12, 0, NULL), 0);
	fake_die(f.nic);
	weft_ctx_look(weft_ctx_of(f.context), true);
	while ((n = weft_poll_cq(f.cq, 4, wc)) > 0) {
		sum += n;
		for (int i = 0; i < n; i++) {
			bool send_op = wc[i].wr_id < 10;

			seen[wc[i].wr_id]++;
			CU_ASSERT_EQUAL(wc[i].opcode, send_op ? WEFT_WC_TSEND : WEFT_WC_TRECV);
			CU_ASSERT_EQUAL(wc[i].status == WEFT_WC_SUCCESS, wc[i].wr_id == 1);
			CU_ASSERT_EQUAL(!!(wc[i].flags & WEFT_WC_RELEASED), wc[i].wr_id == 11);
		}
	}
	CU_ASSERT_EQUAL(sum, 7);
	for (int i = 1; i <= 4; i++)
		CU_ASSERT_EQUAL(seen[i], 1);
	for (int i = 10; i <= 12; i++)
		CU_ASSERT_EQUAL(seen[i], 1);
	CU_ASSERT_EQUAL(send(&f, 1, 0), -EIO);
	CU_ASSERT_EQUAL(receive(&f, 1, 0, NULL), -EIO);
	teardown(&f);
}

UT_MAIN("host_driver/weft_tag_done", UT(completes_in_any_order), UT(peeks), UT(multi_receive),
	UT(write_with_immediate), UT(unsignaled_failure), UT(flushes_what_is_open))
