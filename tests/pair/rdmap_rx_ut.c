/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arriving segments: rights of QP, region and window, invalidation, immediate data, opcodes that
 * weft does not accept, QPs of the wrong kind, incarnations.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
}

static void post(struct rp_req req)
{
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
}

/* Flags, immediate data, opcode and solicited events of each kind of message. */
static void completions(void)
{
	static const struct {
		uint8_t opcode, flags, cqe_opcode, cqe_flags;
	} kinds[] = {
	    {HW_WQE_SEND, 0, HW_CQE_RECV, 0},
	    {HW_WQE_SEND, HW_WQE_F_SOLICITED, HW_CQE_RECV, HW_CQE_F_SOLICITED},
	    {HW_WQE_SEND_IMM, 0, HW_CQE_RECV, HW_CQE_F_IMM},
	    {HW_WQE_SEND_IMM, HW_WQE_F_SOLICITED, HW_CQE_RECV, HW_CQE_F_IMM | HW_CQE_F_SOLICITED},
	    {HW_WQE_WRITE_IMM, 0, HW_CQE_RECV_WRITE_IMM, HW_CQE_F_IMM},
	    {HW_WQE_WRITE_IMM, HW_WQE_F_SOLICITED, HW_CQE_RECV_WRITE_IMM,
	     HW_CQE_F_IMM | HW_CQE_F_SOLICITED},
	};
	uint32_t i;

	begin();
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rp_req req = {.opcode = kinds[i].opcode,
				     .flags = kinds[i].flags,
				     .wr_id = i,
				     .bytes = 20,
				     .imm = 0xa1b2c3d4,
				     .remote_offset = 4096};
		struct hw_cqe cqe;

		rp_recv(&rp, 1, B->qp[0], i, 0, 64);
		post(req);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		cqe = rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.opcode, kinds[i].cqe_opcode);
		CU_ASSERT_EQUAL(cqe.flags, kinds[i].cqe_flags);
		CU_ASSERT_EQUAL(cqe.imm_inv, kinds[i].cqe_flags & HW_CQE_F_IMM ? 0xa1b2c3d4 : 0);
		CU_ASSERT_EQUAL(cqe.bytes, 20);
		CU_ASSERT_EQUAL(cqe.qpn, B->qp[0]->qpn);
		CU_ASSERT_EQUAL(cqe.src_qpn, A->qp[0]->qpn);
		CU_ASSERT_EQUAL(cqe.src_ip, A->nic->config.ip);
	}
	rp_end(&rp);
}

/* Send with Invalidate: the key is invalid from then on, before its owner is notified. */
static void invalidate(void)
{
	struct rp_req req = {.opcode = HW_WQE_SEND_INV, .wr_id = 1, .bytes = 4};
	struct rp_req write = {.opcode = HW_WQE_WRITE, .wr_id = 2, .bytes = 4, .remote_offset = 0};
	struct hw_cqe cqe;
	uint32_t stag;

	begin();
	stag = rp_reg(&rp, 1, B->mem, 4096, RP_ALL_ACCESS, true);
	req.imm = stag;
	write.rkey = stag;
	rp_recv(&rp, 1, B->qp[0], 1, 8192, 64);
	post(req);
	post(write);
	rp_quiet(&rp);
	cqe = rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_INV);
	CU_ASSERT_EQUAL(cqe.imm_inv, stag);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_ACCESS_ERR);
	/* Again, and for a key that never allowed remote access: neither may be invalidated. */
	rp_recv(&rp, 1, B->qp[0], 3, 8192, 64);
	req.wr_id = 3;
	post(req);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 3, HW_STATUS_REM_INV_REQ_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_REM_INV_REQ_ERR);
	req.imm = rp_reg(&rp, 1, B->mem, 4096, HW_ACCESS_LOCAL_WRITE, true);
	rp_recv(&rp, 1, B->qp[0], 4, 8192, 64);
	req.wr_id = 4;
	post(req);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 4, HW_STATUS_REM_INV_REQ_ERR);
	rp_expect_send(&rp, 0, 4, HW_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	rp_end(&rp);
}

/* Operations that the QP does not grant, whatever the region grants. */
static void rights_of_the_qp(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t right;
	} ops[] = {{HW_WQE_WRITE, HW_ACCESS_REMOTE_WRITE},
		   {HW_WQE_WRITE_IMM, HW_ACCESS_REMOTE_WRITE},
		   {HW_WQE_READ, HW_ACCESS_REMOTE_READ},
		   {HW_WQE_FETCH_ADD, HW_ACCESS_REMOTE_ATOMIC},
		   {HW_WQE_CMP_SWAP, HW_ACCESS_REMOTE_ATOMIC}};
	uint32_t i;

	begin();
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct hw_qp_attr attr = {.access = RP_ALL_ACCESS & ~ops[i].right};
		struct rp_req req = {.opcode = ops[i].opcode, .wr_id = i, .bytes = 8};

		CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[0], HW_QPS_RTS, HW_QP_ACCESS_FLAGS, &attr),
				0);
		memset(A->mem, 5, 8);
		post(req);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_REM_ACCESS_ERR);
		CU_ASSERT_EQUAL(B->mem[0], 0);
	}
	rp_end(&rp);
}

/* A kept packet with its opcode changed, to a QP that accepts it: reported, not carried out. */
static void opcodes(void)
{
	static const uint8_t refused[] = {WIRE_RDMAP_IMMEDIATE, WIRE_RDMAP_IMMEDIATE_SE};
	static const uint8_t malformed[] = {WIRE_RDMAP_WRITE,
					    WIRE_RDMAP_READ_REQUEST,
					    WIRE_RDMAP_READ_RESPONSE,
					    WIRE_RDMAP_TERMINATE,
					    WIRE_RDMAP_ATOMIC_REQUEST,
					    WIRE_RDMAP_ATOMIC_RESPONSE,
					    0xc,
					    0xd,
					    0xe,
					    0xf};
	uint32_t i;

	begin();
	for (i = 0; i < sizeof(refused) + sizeof(malformed); i++) {
		struct rp_req req = {.opcode = HW_WQE_SEND, .wr_id = i, .bytes = 8};
		uint64_t dropped = RP_CNT(&rp, 1, drop_ddp_malformed);
		bool drop = i >= sizeof(refused);
		struct rp_info info;
		uint8_t old;

		rp.filter = rp_keep_data;
		rp_recv(&rp, 1, B->qp[0], i, 0, 64);
		post(req);
		rp_settle(&rp);
		info = rp_info_of(&rp.wire.kept[0], 0);
		old = info.ddp[1];
		info.ddp[1] =
		    WIRE_RDMAP_VERSION | (drop ? malformed[i - sizeof(refused)] : refused[i]);
		rp_reseal(info.frame);
		bench_wire_deliver(&rp.wire, 0);
		rp_poll(&rp, 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_ddp_malformed), dropped + drop);
		info.ddp[1] = old;
		rp_reseal(info.frame);
		rp_release(&rp);
		if (drop) {
			rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
			rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
		} else {
			rp_expect_send(&rp, 0, i, HW_STATUS_REM_OP_ERR);
			/* Its receive is left for the next message. */
			rp_send(&rp, 0, A->qp[0], B->qp[0], 100, 0, 8);
			rp_quiet(&rp);
			rp_expect_send(&rp, 0, 100, HW_STATUS_SUCCESS);
			rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
		}
	}
	rp_end(&rp);
}

/* Packets for a UD QP, an RC QP of another connection, another incarnation, a wrong Q_Key. */
static void wrong_qp(void)
{
	struct hw_qp_attr attr = {.port = 1, .qkey = RP_QKEY};
	struct fw_qp *ud, *a, *b;
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8};

	begin();
	memset(A->mem, 9, 8);
	ud = rp_qp(&rp, 1, HW_QPT_UD, 1);
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 1, ud, HW_QPS_INIT, HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY, &attr),
	    0);
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, ud, HW_QPS_RTR, 0, NULL), 0);
	req.dst = ud;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_OP_ERR);
	rp_rc(&rp, &a, &b, NULL);
	req.dst = b;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_run(&rp, 5000000000);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_OP_ERR);
	CU_ASSERT_EQUAL(b->state, HW_QPS_RTS);
	attr.qkey = 0x2222;
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[1], HW_QPS_RTS, HW_QP_QKEY, &attr), 0);
	req.dst = B->qp[1];
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(B->mem[0], 0);
	/* The two RC QPs still work. */
	req.dst = NULL;
	rp_req(&rp, 0, a, &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(B->mem[0], 9);
	rp_end(&rp);
}

/*
 * A packet of a former connection has the number of a message of the present one: its error does
 * not affect that message, which keeps its receive.
 */
static void message_of_an_earlier_connection(void)
{
	struct rp_req send = {.opcode = HW_WQE_SEND, .wr_id = 1, .bytes = 3000};
	struct wire_dgram *dgram;
	struct fw_qp *a, *b;
	struct hw_cqe cqe;

	begin();
	rp_rc(&rp, &a, &b, NULL);
	rp_recv(&rp, 1, b, 7, 65536, 4000);
	rp.filter = rp_keep_data;
	rp_req(&rp, 0, a, &send);
	rp_settle(&rp);
	CU_ASSERT_FATAL(rp.wire.num_kept > 1);
	/* The second packet arrives first and takes the receive. */
	bench_wire_deliver(&rp.wire, 1);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(b->msgs_open, 1);
	dgram = rp_info_of(&rp.wire.kept[0], 0).dgram;
	dgram->incarnation = be16_put((uint16_t)(be16_get(dgram->incarnation) + 1));
	rp_reseal(&rp.wire.kept[0]);
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, drop_incarnation), 1);
	CU_ASSERT_FALSE(rp_rcqe(&rp, 1, &cqe));
	CU_ASSERT_EQUAL(b->msgs_open, 1);
	CU_ASSERT_EQUAL(b->state, HW_QPS_RTS);
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_destroy_qp(&rp, 0, a);
	rp_destroy_qp(&rp, 1, b);
	rp_end(&rp);
}

/* Numbers each message of the peer one higher. */
static enum bench_verdict skip_one(struct rp *r, const struct rp_info *info)
{
	struct wire_ddp_untagged *ddp = (void *)info->ddp;

	(void)r;
	if (info->from == 0 && info->ddp && info->opcode == WIRE_RDMAP_SEND) {
		ddp->msn = be32_put(be32_get(ddp->msn) + 1);
		rp_reseal(info->frame);
	}
	return BENCH_PASS;
}

/*
 * Lets the last packet of the first Send look like a response to a request that nobody made. It is
 * void: its PSN counts as received, and nothing is delivered.
 */
static enum bench_verdict break_off(struct rp *r, const struct rp_info *info)
{
	bool *done = r->ctx;

	if (info->from == 0 && info->ddp && info->opcode == WIRE_RDMAP_SEND && info->last &&
	    !*done) {
		*done = true;
		info->dgram->flags |= WIRE_DGRAM_F_RESPONSE;
		rp_reseal(info->frame);
	}
	return BENCH_PASS;
}

/* A connected peer that leaves a message out, or unfinished, and sends the next: RFC 5041 7.2. */
static void message_out_of_turn(void)
{
	static const rp_filter lies[] = {skip_one, break_off};
	struct rp_req send = {.opcode = HW_WQE_SEND, .wr_id = 1, .bytes = 3000};
	struct rp_req imm = {.opcode = HW_WQE_WRITE_IMM, .wr_id = 2, .bytes = 8};
	struct fw_qp *a, *b;
	struct hw_cqe cqe;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		bool done = false;

		begin();
		rp_rc(&rp, &a, &b, NULL);
		rp_recv(&rp, 1, b, 7, 65536, 4000);
		rp_recv(&rp, 1, b, 8, 65536, 4000);
		rp.filter = lies[i % 2];
		rp.ctx = &done;
		send.wr_id = 1;
		send.bytes = 3000;
		rp_req(&rp, 0, a, &send);
		rp_quiet(&rp);
		send.wr_id = 2;
		send.bytes = 100; /* placed and delivered in one step, if it is due */
		if (a->state == HW_QPS_RTS)
			rp_req(&rp, 0, a, i < 2 ? &send : &imm);
		rp_quiet(&rp);
		/* In the order of the queue, and none of them successful. */
		rp_expect_recv(&rp, 1, 7, HW_STATUS_WR_FLUSH_ERR);
		rp_expect_recv(&rp, 1, 8, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(b->state, HW_QPS_ERR);
		CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
		rp.filter = NULL;
		while (rp_scqe(&rp, 0, &cqe))
			CU_ASSERT(cqe.wr_id == 1 || cqe.status != HW_STATUS_SUCCESS);
		rp_destroy_qp(&rp, 0, a);
		rp_destroy_qp(&rp, 1, b);
		rp_end(&rp);
	}
}

/*
 * Write with immediate: the data may arrive before the receive is posted; the completion waits for
 * it.
 */
static void write_with_immediate_waits(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE_IMM, .wr_id = 1, .bytes = 3000, .imm = 5};
	struct rp_req after = {.opcode = HW_WQE_WRITE, .wr_id = 2, .bytes = 8, .offset = 4096};

	begin();
	rp_fill(A->mem, 3000, 1);
	A->mem[4096] = 7;
	after.remote_offset = 8192;
	post(req);
	post(after);
	rp_run(&rp, 5000000);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(B->mem[8192], 0);
	rp_recv(&rp, 1, B->qp[0], 1, 65536, 64);
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS).bytes, 3000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(B->mem, 3000, 1));
	CU_ASSERT_EQUAL(B->mem[65536], 0);
	CU_ASSERT_EQUAL(B->mem[8192], 7);
	rp_end(&rp);
}

/* The process of the target has unmapped its memory. */
static void target_faults(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8};

	begin();
	req.rkey = rp_reg(&rp, 1, B->mem, 4096, RP_ALL_ACCESS, false);
	rp_host_fault(&rp, true);
	post(req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	rp_host_fault(&rp, false);
	post(req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A full receive CQ ends the QP, and the senders of messages in flight are notified. */
static void receive_cq_full(void)
{
	struct fw_cq *cq;
	uint32_t i;

	begin();
	cq = B->rcq;
	cq->record->cons = cq->prod - cq->mask;
	cq->cons = cq->record->cons;
	for (i = 0; i < 3; i++) {
		rp_recv(&rp, 1, B->qp[0], i, 0, 64);
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 8);
	}
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(B->qp[0]->state, HW_QPS_ERR);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_OP_ERR);
	CU_ASSERT_EQUAL(B->qp[1]->state, HW_QPS_RTS);
	rp_end(&rp);
}

UT_MAIN("pair/rdmap_rx", UT(completions), UT(invalidate), UT(rights_of_the_qp), UT(opcodes),
	UT(wrong_qp), UT(message_of_an_earlier_connection), UT(message_out_of_turn),
	UT(write_with_immediate_waits), UT(target_faults), UT(receive_cq_full))
