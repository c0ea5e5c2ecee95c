/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * First frames that are not the one that was agreed, and answers that nobody asked for: of another
 * kind than the oldest request, before the request was sent, to the first frame. nic_fw/mpa/
 * mpa_ddp.c.
 */
#include "tests/pair/mpa_pair.h"

static const struct mpa_params crc = {.crc = true};

enum {
	MD = WIRE_TERM_HDRCT_M | WIRE_TERM_HDRCT_D,
	ATOMIC_RESPONSE_BYTES = 12,
};

static uint8_t fpdu[256];

/* Gives side 0 an FPDU with this ULPDU. */
static void inject(const void *hdr, uint32_t hdr_bytes, uint32_t data_bytes)
{
	uint32_t n = hdr_bytes + data_bytes, bytes = mpa_plain_bytes(n);
	struct be16 length = be16_put((uint16_t)n);
	struct be32 sum;

	memset(fpdu, 0, sizeof(fpdu));
	memcpy(fpdu, &length, sizeof(length));
	memcpy(fpdu + MPA_LENGTH_BYTES, hdr, hdr_bytes);
	sum = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, fpdu, bytes - WIRE_MPA_CRC_BYTES));
	memcpy(fpdu + bytes - WIRE_MPA_CRC_BYTES, &sum, sizeof(sum));
	CU_ASSERT_EQUAL(mp_receive(&mp.side[0], fpdu, bytes), bytes);
}

static void read_response(uint32_t stag, uint32_t data_bytes, bool last)
{
	struct wire_ddp_tagged ddp = {
	    .ddp_ctrl = (uint8_t)(WIRE_DDP_TAGGED | WIRE_DDP_VERSION | (last ? WIRE_DDP_LAST : 0)),
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_READ_RESPONSE,
	    .stag = be32_put(stag),
	};

	inject(&ddp, sizeof(ddp), data_bytes);
}

static void atomic_response(uint32_t request_id)
{
	struct {
		struct wire_ddp_untagged ddp;
		struct wire_atomic_response answer;
	} all = {.ddp = {.ddp_ctrl = WIRE_DDP_VERSION | WIRE_DDP_LAST,
			 .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_ATOMIC_RESPONSE,
			 .qn = be32_put(WIRE_QN_ATOMIC_RESPONSE),
			 .msn = be32_put(1)},
		 .answer = {.request_id = be32_put(request_id)}};

	inject(&all, sizeof(all), 0);
}

static void expect(uint8_t layer_etype, uint8_t code)
{
	struct hw_cqe cqe;

	(void)mp_make(&mp.side[0]);
	(void)mp_expect_terminate(&mp.side[0], layer_etype, code, MD, fpdu);
	CU_ASSERT_EQUAL(mp.side[0].qp->state, HW_QPS_ERR);
	mp_run();
	while (rp_scqe(&rp, 0, &cqe) || rp_rcqe(&rp, 0, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_WR_FLUSH_ERR);
	mp_end();
}

/* The sink of the request that was posted last. */
static uint32_t sink(void)
{
	struct fw_wqe *wqe = FW_CONTAINER(mp.side[0].qp->wqes.prev, struct fw_wqe, qp_node);

	return wqe_sink_stag(mp_nic(&mp.side[0]), wqe);
}

/* Answers that come before any request, or before the request was sent. */
static void too_early(void)
{
	mp_begin(&crc);
	atomic_response(1);
	expect(0x02, 0xff);

	mp_begin(&crc);
	mp_req(0, HW_WQE_READ, 1, 100, 0);
	rp_poll(&rp, 0);
	read_response(sink(), 100, true);
	expect(0x11, 0x00);

	mp_begin(&crc);
	mp_req(0, HW_WQE_FETCH_ADD, 1, 8, 0);
	rp_poll(&rp, 0);
	atomic_response(sink());
	expect(0x02, 0xff);
}

/* The oldest request is of another kind. */
static void of_another_kind(void)
{
	mp_begin(&crc);
	mp_req(0, HW_WQE_FETCH_ADD, 1, 8, 0);
	rp_poll(&rp, 0);
	(void)mp_make(&mp.side[0]);
	read_response(sink(), 8, true);
	expect(0x11, 0x00);

	mp_begin(&crc);
	mp_req(0, HW_WQE_READ, 1, 100, 0);
	rp_poll(&rp, 0);
	(void)mp_make(&mp.side[0]);
	atomic_response(sink());
	expect(0x02, 0xff);
}

/* The answer to a first frame that is a Read has no data, and is one segment. */
static void answer_to_the_first(void)
{
	const struct mpa_params param = {
	    .crc = true, .peer_to_peer = true, .enhanced = true, .rtr = WIRE_MPA_RTR_READ};
	uint32_t i;

	for (i = 0; i < 2; i++) {
		mp_begin(&param);
		mpa_tx_rtr(mp_nic(&mp.side[0]), mp.side[0].conn);
		(void)mp_make(&mp.side[0]);
		CU_ASSERT_TRUE(mp.side[0].conn->rtr_answer);
		read_response(1, i ? 4 : 0, i);
		expect(0x11, 0x00);
	}
}

/* A Send of many segments grows beyond all messages. */
static void endless_send(void)
{
	struct wire_ddp_untagged ddp = {
	    .ddp_ctrl = WIRE_DDP_VERSION,
	    .rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND,
	    .msn = be32_put(1),
	};
	struct recv_msg *msg;
	struct hw_cqe cqe;

	mp_begin(&crc);
	rp_recv(&rp, 0, mp.side[0].qp, 50, 0, 1000);
	inject(&ddp, sizeof(ddp), 100);
	msg = FW_CONTAINER(mp.side[0].qp->recv_msgs.next, struct recv_msg, qp_node);
	CU_ASSERT_EQUAL(msg->done, 100);
	msg->done = HW_MAX_MSG_BYTES - 99;
	ddp.mo = be32_put(msg->done);
	inject(&ddp, sizeof(ddp), 100);
	(void)mp_make(&mp.side[0]);
	(void)mp_expect_terminate(&mp.side[0], 0x12, 0x05, MD, fpdu);
	mp_run();
	CU_ASSERT_TRUE(rp_rcqe(&rp, 0, &cqe));
	CU_ASSERT_NOT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	mp_end();
}

/* ---- first frames ---------------------------------------------------------------------------- */

struct first {
	uint8_t rtr, opcode;
	uint32_t bytes;
};

/* An end that begins with a message of its own in place of the frame: it is a message like others.
 */
static void first_is_a_message(void)
{
	static const struct first list[] = {
	    {WIRE_MPA_RTR_SEND, HW_WQE_SEND, 100},   {WIRE_MPA_RTR_SEND, HW_WQE_WRITE, 100},
	    {WIRE_MPA_RTR_SEND, HW_WQE_WRITE, 0},    {WIRE_MPA_RTR_WRITE, HW_WQE_SEND, 0},
	    {WIRE_MPA_RTR_SEND, HW_WQE_READ, 100},   {WIRE_MPA_RTR_READ, HW_WQE_READ, 100},
	    {WIRE_MPA_RTR_READ, HW_WQE_WRITE, 0},    {WIRE_MPA_RTR_SEND, HW_WQE_SEND, 3000},
	    {WIRE_MPA_RTR_SEND, HW_WQE_SEND_INV, 0}, {WIRE_MPA_RTR_SEND, HW_WQE_FETCH_ADD, 8},
	};
	struct mpa_params param = {.crc = true, .peer_to_peer = true, .enhanced = true};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const struct first *f = &list[i];
		bool received = f->opcode == HW_WQE_SEND;
		struct hw_cqe cqe;

		param.rtr = f->rtr;
		mp_begin(&param);
		mp.side[1].conn->state = MPA_RTR_WAIT;
		rp_recv(&rp, 1, mp.side[1].qp, 50, 0, 4000);
		mp_req(0, f->opcode, 1, f->bytes, 0);
		mp_run();
		CU_ASSERT_TRUE(mp.side[1].first);
		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
		if (f->opcode != HW_WQE_SEND_INV)
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		if (received)
			CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS).bytes,
					f->bytes);
		while (rp_rcqe(&rp, 1, &cqe))
			;
		mp_end();
	}
}

UT_MAIN("pair/mpa_answers", UT(too_early), UT(of_another_kind), UT(answer_to_the_first),
	UT(endless_send), UT(first_is_a_message))
