/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send requests as a hostile process writes them, and correct ones: each field, rings that wrap,
 * invalid indices, sums in 64 bits.
 */
#include "tests/pair/wqe_fix.h"

/*
 * Posts it and a correct request after it: the first fails with this reason, the second is flushed,
 * the QP is in SQE and works again after a modify.
 */
static void fails(const struct hw_sq_wqe *wqe, const struct hw_sge *sge, uint32_t num_sge,
		  enum hw_vendor_err why, enum hw_status status)
{
	struct fw_qp *qp = A->qp[0];
	struct hw_sq_wqe next = good_send();
	struct hw_sge data = good_sge();
	struct hw_cqe cqe;

	rp_write_sq(qp, wqe, sge, num_sge * (uint32_t)sizeof(*sge));
	next.wr_id = 78;
	rp_write_sq(qp, &next, &data, sizeof(data));
	rp_ring(&rp, 0, qp);
	rp_settle(&rp);
	CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 77);
	CU_ASSERT_EQUAL(cqe.status, status);
	CU_ASSERT_EQUAL(cqe.vendor_err, why);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_SQE);
	/* Random slots may be flushed under other numbers: all of them are flushes. */
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(qp->record->sq_cons, qp->record->sq_prod);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, qp, HW_QPS_RTS, 0, NULL), 0);
}

static void fails_op(const struct hw_sq_wqe *wqe, uint32_t num_sge, enum hw_vendor_err why)
{
	struct hw_sge sge[16];
	uint32_t i;

	for (i = 0; i < 16; i++) {
		sge[i] = good_sge();
		sge[i].bytes = 4;
	}
	fails(wqe, sge, num_sge, why, HW_STATUS_LOC_QP_OP_ERR);
}

static void opcodes_and_flags(void)
{
	static const uint8_t opcodes[] = {HW_WQE_WRITE_RECORD, HW_WQE_OPCODES, 0x7f, 0xff};
	struct hw_sq_wqe wqe;
	uint32_t i;

	begin();
	for (i = 0; i < sizeof(opcodes); i++) {
		wqe = good_send();
		wqe.opcode = opcodes[i];
		fails_op(&wqe, 1, HW_VENDOR_ERR_OPCODE);
	}
	for (i = HW_WQE_F_ALL + 1; i < 256; i <<= 1) {
		wqe = good_send();
		wqe.flags |= (uint8_t)i;
		fails_op(&wqe, 1, HW_VENDOR_ERR_FLAGS);
	}
	rp_end(&rp);
}

static void slots_and_sges(void)
{
	struct hw_sq_wqe wqe;
	uint32_t slots, sges;

	begin();
	for (slots = 0; slots < 256; slots += slots < 12 ? 1 : 61) {
		wqe = good_send();
		wqe.slots = (uint8_t)slots;
		if (slots != 2)
			fails_op(&wqe, 1, HW_VENDOR_ERR_SLOTS);
	}
	/* More SGEs than the slots hold, and than a request may have. */
	for (sges = 0; sges < 256; sges += sges < 20 ? 1 : 47) {
		wqe = good_send();
		wqe.num_sge = (uint8_t)sges;
		if (sges < 1 || sges > 4)
			fails_op(&wqe, 1, HW_VENDOR_ERR_SLOTS);
	}
	/* A request that continues beyond the posted slots. */
	wqe = good_send();
	wqe.slots = 9;
	wqe.num_sge = 16;
	fails_op(&wqe, 1, HW_VENDOR_ERR_SLOTS);
	rp_end(&rp);
}

static void sges_of_the_qp(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_create_qp *create = &cmd.u.create_qp;
	struct hw_cmd_resp resp;
	struct hw_sq_wqe wqe;
	struct hw_sge sge[2];
	struct hw_cqe cqe;
	struct fw_qp *qp;

	begin();
	create->pd = A->pd;
	create->type = HW_QPT_RD;
	create->send_cq = A->scq->index;
	create->recv_cq = A->rcq->index;
	create->srq = HW_SRQ_NONE;
	create->sq_slots = 16;
	create->max_send_wr = 4;
	create->max_send_sge = 1;
	CU_ASSERT_EQUAL_FATAL(rp_cmd(&rp, 0, &cmd, &resp), 0);
	qp = qp_find(A->nic, resp.u.create_qp.qpn);
	rp_rts(&rp, 0, qp);
	wqe = good_send();
	wqe.num_sge = 2;
	sge[0] = sge[1] = good_sge();
	rp_write_sq(qp, &wqe, sge, sizeof(sge));
	rp_ring(&rp, 0, qp);
	rp_settle(&rp);
	CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_NUM_SGE);
	rp_end(&rp);
}

static void inline_data(void)
{
	struct hw_sq_wqe wqe;

	begin();
	wqe = good_send();
	wqe.flags |= HW_WQE_F_INLINE;
	fails_op(&wqe, 1, HW_VENDOR_ERR_FLAGS); /* and an SGE */
	wqe.num_sge = 0;
	wqe.inline_bytes = 257;
	wqe.slots = 6;
	fails(&wqe, NULL, 0, HW_VENDOR_ERR_SLOTS, HW_STATUS_LOC_QP_OP_ERR); /* not posted */
	{
		uint8_t data[320] = {0};

		fails(&wqe, (void *)data, 320 / 16, HW_VENDOR_ERR_TOO_LONG, HW_STATUS_LOC_LEN_ERR);
		wqe.inline_bytes = 0xffffffff;
		fails(&wqe, (void *)data, 320 / 16, HW_VENDOR_ERR_TOO_LONG, HW_STATUS_LOC_LEN_ERR);
		wqe.inline_bytes = 65;
		wqe.slots = 2;
		fails(&wqe, (void *)data, 4, HW_VENDOR_ERR_SLOTS, HW_STATUS_LOC_QP_OP_ERR);
		wqe.inline_bytes = 8;
		wqe.opcode = HW_WQE_READ;
		fails(&wqe, (void *)data, 4, HW_VENDOR_ERR_FLAGS, HW_STATUS_LOC_QP_OP_ERR);
		wqe.opcode = HW_WQE_FETCH_ADD;
		fails(&wqe, (void *)data, 4, HW_VENDOR_ERR_FLAGS, HW_STATUS_LOC_QP_OP_ERR);
		wqe.opcode = HW_WQE_BIND_MW;
		fails(&wqe, (void *)data, 4, HW_VENDOR_ERR_FLAGS, HW_STATUS_LOC_QP_OP_ERR);
	}
	rp_end(&rp);
}

static void fails_prot(struct hw_sge sge, uint8_t opcode, enum hw_vendor_err why)
{
	struct hw_sq_wqe wqe = good_send();

	wqe.opcode = opcode;
	fails(&wqe, &sge, 1, why, HW_STATUS_LOC_PROT_ERR);
}

static void keys_and_bounds(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;
	uint32_t read_only, foreign, pd;
	struct hw_sge sge;

	begin();
	sge = good_sge();
	sge.lkey ^= 1;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_LKEY);
	sge.lkey = STAG_SINK_FLAG | good_sge().lkey;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_LKEY);
	sge.lkey = 0xffffffff;
	fails_prot(sge, HW_WQE_WRITE, HW_VENDOR_ERR_LKEY);
	pd = A->pd;
	CU_ASSERT_EQUAL(rp_cmd(&rp, 0, &cmd, &resp), 0);
	A->pd = resp.u.handle;
	foreign = rp_reg(&rp, 0, A->mem, 4096, RP_ALL_ACCESS, true);
	A->pd = pd;
	sge.lkey = foreign;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_LKEY);
	sge = good_sge();
	sge.addr += RP_MEM_BYTES - 63;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_BOUNDS);
	sge.addr = (uintptr_t)A->mem - 1;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_BOUNDS);
	sge.addr = UINT64_MAX - 7;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_BOUNDS);
	sge = good_sge();
	sge.bytes = 0xffffffff;
	fails_prot(sge, HW_WQE_SEND, HW_VENDOR_ERR_BOUNDS);
	/* The target of the answer to a read or an atomic must be writable. */
	read_only = rp_reg(&rp, 0, A->mem, 4096, 0, true);
	sge = good_sge();
	sge.lkey = read_only;
	fails_prot(sge, HW_WQE_READ, HW_VENDOR_ERR_ACCESS);
	sge.bytes = 8;
	fails_prot(sge, HW_WQE_CMP_SWAP, HW_VENDOR_ERR_ACCESS);
	rp_end(&rp);
}

static void remote_side(void)
{
	struct hw_sq_wqe wqe;
	struct hw_sge sge;

	begin();
	wqe = good_send();
	sge = good_sge();
	wqe.opcode = HW_WQE_FETCH_ADD;
	wqe.remote_addr = (uintptr_t)B->mem;
	sge.bytes = 7;
	fails(&wqe, &sge, 1, HW_VENDOR_ERR_BOUNDS, HW_STATUS_LOC_PROT_ERR);
	sge.bytes = 9;
	fails(&wqe, &sge, 1, HW_VENDOR_ERR_BOUNDS, HW_STATUS_LOC_PROT_ERR);
	rp_end(&rp);
}

/*
 * The remote fields of a Send hold whatever the caller's memory held before: UCX does not set them.
 */
static void sends_have_no_remote_side(void)
{
	struct hw_sge sge;
	struct hw_sq_wqe wqe;
	struct hw_cqe cqe;

	begin();
	sge = good_sge();
	wqe = good_send();
	wqe.remote_addr = UINT64_MAX - 1;
	wqe.rkey = 0xffffffff;
	rp_recv(&rp, 1, B->qp[0], 1, 65536, 4096);
	rp_write_sq(A->qp[0], &wqe, &sge, sizeof(sge));
	rp_ring(&rp, 0, A->qp[0]);
	rp_settle(&rp);
	CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_NONE);
	(void)rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

static void atomics_and_handles(void)
{
	struct hw_qp_attr attr = {0};
	struct hw_sq_wqe wqe;
	struct hw_sge sge;

	begin();
	wqe = good_send();
	sge = good_sge();
	sge.bytes = 8;
	wqe.opcode = HW_WQE_FETCH_ADD;
	wqe.remote_addr += 4;
	fails(&wqe, &sge, 1, HW_VENDOR_ERR_ALIGN, HW_STATUS_LOC_QP_OP_ERR);
	wqe = good_send();
	wqe.ah = A->ah + 1;
	fails_op(&wqe, 1, HW_VENDOR_ERR_AH);
	wqe.ah = 0xffffffff;
	fails_op(&wqe, 1, HW_VENDOR_ERR_AH);
	wqe = good_send();
	wqe.dst_qpn = 0; /* on the wire, 0 would mark a void packet */
	fails_op(&wqe, 1, HW_VENDOR_ERR_AH);
	wqe.dst_qpn = 0xff000000;
	fails_op(&wqe, 1, HW_VENDOR_ERR_AH);
	wqe = good_send();
	wqe.opcode = HW_WQE_BIND_MW;
	wqe.num_sge = 0;
	wqe.slots = 1;
	fails(&wqe, NULL, 0, HW_VENDOR_ERR_NUM_SGE, HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_MAX_QP_RD_ATOMIC, &attr), 0);
	wqe = good_send();
	wqe.opcode = HW_WQE_READ;
	fails(&wqe, &sge, 1, HW_VENDOR_ERR_RD_ATOMIC, HW_STATUS_LOC_QP_OP_ERR);
	rp_end(&rp);
}

/* Sums that are small modulo 2^32. */
static void sums_in_64_bits(void)
{
	struct hw_sge sge[16];
	struct hw_sq_wqe wqe;
	uint32_t stag, i, n;

	begin();
	stag = rp_reg(&rp, 0, (void *)0x10000, UINT64_C(1) << 40, RP_ALL_ACCESS, false);
	for (i = 0; i < 16; i++)
		sge[i] = (struct hw_sge){.addr = 0x10000, .bytes = 0x80000000, .lkey = stag};
	for (n = 2; n <= 16; n += 2) {
		wqe = good_send();
		wqe.num_sge = (uint8_t)n;
		wqe.slots = (uint8_t)hw_sq_slots(n * 16);
		fails(&wqe, sge, n, HW_VENDOR_ERR_TOO_LONG, HW_STATUS_LOC_LEN_ERR);
	}
	for (i = 0; i < 16; i++)
		sge[i].bytes = 0xffffffff;
	wqe.num_sge = 16;
	wqe.slots = 5;
	fails(&wqe, sge, 16, HW_VENDOR_ERR_TOO_LONG, HW_STATUS_LOC_LEN_ERR);
	/* One byte more than the longest message. */
	sge[0].bytes = HW_MAX_MSG_BYTES;
	sge[1].bytes = 1;
	wqe.num_sge = 2;
	wqe.slots = 2;
	fails(&wqe, sge, 2, HW_VENDOR_ERR_TOO_LONG, HW_STATUS_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag), 0);
	rp_end(&rp);
}

/* Indices past the ring, or backwards, at any place of the ring: only the QP fails. */
static void wild_producer(void)
{
	static const uint32_t jumps[] = {257, 300, 0x80000000, 0xffffffff, 0x7fffffff};
	uint32_t i;

	begin();
	for (i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct fw_qp *qp = rp_qp(&rp, 0, HW_QPT_RD, 1);
		struct hw_cqe cqe;

		rp_rts(&rp, 0, qp);
		qp->record->sq_prod += jumps[i];
		rp_ring(&rp, 0, qp);
		rp_settle(&rp);
		CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
		CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
		rp_destroy_qp(&rp, 0, qp);
		A->num_qp--;
	}
	/* A full ring of zeroes: every slot is a request of no slots. */
	A->qp[0]->record->sq_prod += 256;
	rp_ring(&rp, 0, A->qp[0]);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_SQE);
	CU_ASSERT_EQUAL(A->qp[0]->record->sq_cons, A->qp[0]->record->sq_prod);
	for (i = 0; i < 256; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
	}
	rp_end(&rp);
}

/*
 * A queue in SQE returns to work before the doorbell of a further request is read: it is flushed,
 * and the next one is carried out.
 */
static void posted_before_it_works_again(void)
{
	struct hw_sq_wqe wqe;
	struct hw_sge data;
	struct fw_qp *qp;

	begin();
	qp = A->qp[0];
	data = good_sge();
	wqe = good_send();
	wqe.opcode = 200;
	rp_write_sq(qp, &wqe, &data, sizeof(data));
	rp_ring(&rp, 0, qp);
	rp_settle(&rp);
	rp_expect_send(&rp, 0, wqe.wr_id, HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_SQE);
	wqe = good_send();
	wqe.wr_id = 78;
	rp_write_sq(qp, &wqe, &data, sizeof(data));
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, qp, HW_QPS_RTS, 0, NULL), 0);
	rp_expect_send(&rp, 0, 78, HW_STATUS_WR_FLUSH_ERR);
	rp_ring(&rp, 0, qp);
	rp_recv(&rp, 1, B->qp[0], 1, 0, RP_MEM_BYTES);
	wqe.wr_id = 79;
	rp_write_sq(qp, &wqe, &data, sizeof(data));
	rp_ring(&rp, 0, qp);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 79, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/*
 * An index that moves back among fetched requests that wait: they are flushed, and nothing is read
 * again.
 */
static void producer_goes_back(void)
{
	uint32_t back, i;

	begin();
	for (back = 1; back <= 6; back++) {
		struct fw_qp *qp = rp_qp(&rp, 0, HW_QPT_RD, 1);
		uint64_t fetched;

		rp_rts(&rp, 0, qp);
		for (i = 0; i < 3; i++)
			rp_send(&rp, 0, qp, B->qp[0], i, 0, 64);
		/* There is no receive: the requests are refused, and wait. */
		rp_settle(&rp);
		CU_ASSERT_EQUAL(qp->outstanding, 3);
		CU_ASSERT_EQUAL(qp->sq_next - qp->sq_cons, 6);
		fetched = A->nic->counters.wqes;
		qp->record->sq_prod -= back;
		rp_ring(&rp, 0, qp);
		rp_settle(&rp);
		CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
		CU_ASSERT_EQUAL(A->nic->counters.wqes, fetched);
		for (i = 0; i < 3; i++)
			rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
		rp_expect_none(&rp);
		rp_destroy_qp(&rp, 0, qp);
		A->num_qp--;
	}
	rp_end(&rp);
}

/* Requests of 2 to 5 slots cross the ring's end at every offset; the payload is exact. */
static void wraps(void)
{
	struct hw_sge sge[16];
	struct fw_qp *qp;
	uint32_t round;

	begin();
	qp = A->qp[0];
	for (round = 0; round < 600; round++) {
		struct hw_sq_wqe wqe = good_send();
		bool inlined = round % 3 == 0;
		uint32_t n = 1 + round % 16, i, bytes = 0;
		struct hw_cqe cqe;

		wqe.wr_id = round;
		rp_fill(A->mem, 4096, round);
		rp_recv(&rp, 1, B->qp[0], round, 65536, 4096);
		if (inlined) {
			bytes = round % 257;
			wqe.flags |= HW_WQE_F_INLINE;
			wqe.num_sge = 0;
			wqe.inline_bytes = bytes;
			wqe.slots = (uint8_t)hw_sq_slots(bytes);
			rp_write_sq(qp, &wqe, A->mem, bytes);
		} else {
			for (i = 0; i < n; i++) {
				sge[i] = good_sge();
				sge[i].addr += bytes;
				sge[i].bytes = (round + i) % 40; /* sometimes 0 */
				bytes += sge[i].bytes;
			}
			wqe.num_sge = (uint8_t)n;
			wqe.slots = (uint8_t)hw_sq_slots(n * 16);
			rp_write_sq(qp, &wqe, sge, n * 16);
		}
		rp_ring(&rp, 0, qp);
		rp_run(&rp, 100000);
		rp_expect_send(&rp, 0, round, HW_STATUS_SUCCESS);
		cqe = rp_expect_recv(&rp, 1, round, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.bytes, bytes);
		CU_ASSERT_EQUAL(memcmp(B->mem + 65536, A->mem, bytes), 0);
		CU_ASSERT_EQUAL(qp->record->sq_cons, qp->record->sq_prod);
	}
	CU_ASSERT_TRUE(qp->sq_next > 3 * 256);
	rp_end(&rp);
}

UT_MAIN("pair/wqe", UT(opcodes_and_flags), UT(slots_and_sges), UT(sges_of_the_qp), UT(inline_data),
	UT(keys_and_bounds), UT(remote_side), UT(sends_have_no_remote_side),
	UT(atomics_and_handles), UT(sums_in_64_bits), UT(wild_producer),
	UT(posted_before_it_works_again), UT(producer_goes_back), UT(wraps))
