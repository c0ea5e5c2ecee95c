/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and atomics at both ends: the reach of a response, forged sinks, responder slots, atomics
 * in order, Terminates and their statuses.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

enum {
	GUARD = 64,
	SINK = 4096,
};

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
}

static void post(uint8_t opcode, uint64_t wr_id, uint32_t bytes, uint32_t remote_offset)
{
	struct rp_req req = {.opcode = opcode,
			     .wr_id = wr_id,
			     .dst = B->qp[0],
			     .offset = SINK,
			     .bytes = bytes,
			     .compare_add = 1,
			     .remote_offset = remote_offset};

	rp_req(&rp, 0, A->qp[0], &req);
}

static struct wire_ddp_tagged *tagged(uint32_t k)
{
	return (void *)rp_info_of(&rp.wire.kept[k], 1).ddp;
}

/* A response that is changed on the wire: nothing outside of the read's buffer changes. */
static void try_response(uint32_t stag, uint64_t to)
{
	struct wire_ddp_tagged *h = tagged(0), old = *h;
	uint8_t *p = A->mem;

	h->stag = be32_put(stag);
	h->to = be64_put(to);
	rp_reseal(&rp.wire.kept[0]);
	/* The PSN is consumed, so each attempt has a session of its own. */
	rd_bit_clear(&rp_session(&rp, 0)->received, rp_info_of(&rp.wire.kept[0], 1).psn);
	rp_session(&rp, 0)->rx_psn = rp_info_of(&rp.wire.kept[0], 1).psn;
	rp_session(&rp, 0)->rx_high = rp_session(&rp, 0)->rx_psn;
	rp_session(&rp, 0)->rx_taken = 0;
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 0);
	CU_ASSERT_TRUE(rp_all(p + SINK - GUARD, GUARD, 0));
	CU_ASSERT_TRUE(rp_all(p + SINK + 100, GUARD, 0));
	*h = old;
	rp_reseal(&rp.wire.kept[0]);
}

static void forged_sinks(void)
{
	uint32_t stag, i;
	struct hw_cqe cqe;

	begin();
	memset(B->mem, 0xab, 4096);
	rp.filter = rp_keep_answers;
	post(HW_WQE_READ, 1, 100, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 1);
	stag = be32_get(tagged(0)->stag);
	CU_ASSERT_EQUAL(stag & STAG_SINK_FLAG, STAG_SINK_FLAG);
	CU_ASSERT_EQUAL(be64_get(tagged(0)->to), 0);
	/* Regions, every second generation, other contexts. */
	try_response(A->stag, (uintptr_t)A->mem + SINK - GUARD);
	try_response(A->stag | STAG_SINK_FLAG, 0);
	for (i = 1; i < 128; i++)
		try_response(stag ^ i * 61 % 8192 << FW_WQE_SINK_BITS, 0);
	for (i = 1; i < 64; i++)
		try_response(stag ^ i, 0);
	try_response(stag ^ STAG_SINK_FLAG, 0);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 100, 0));
	/* Beyond the read's buffer, and before it. */
	try_response(stag, 1);
	try_response(stag, 100);
	try_response(stag, UINT64_MAX);
	try_response(stag, UINT64_MAX - 99);
	try_response(stag, UINT64_C(1) << 32);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 100, 0));
	/* For a request of another number: contexts come back with the same STag. */
	for (i = 1; i < 8; i++) {
		struct wire_dgram *dgram = rp_info_of(&rp.wire.kept[0], 1).dgram;
		struct be32 ssn = dgram->ssn;

		dgram->ssn = be32_put(be32_get(ssn) - i);
		try_response(stag, 0);
		dgram->ssn = ssn;
	}
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 100, 0));
	CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
	/* The unchanged response is accepted. */
	try_response(stag, 0);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 100, 0xab));
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A response that ends before its read is an error; the queue continues. */
static void short_response(void)
{
	struct wire_dgram *dgram;
	struct wire_ddp_tagged *h;

	begin();
	rp.filter = rp_keep_answers;
	post(HW_WQE_READ, 1, 3000, 0);
	post(HW_WQE_READ, 2, 8, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 4);
	/* The first segment claims to be the last. */
	dgram = rp_info_of(&rp.wire.kept[0], 1).dgram;
	h = tagged(0);
	h->ddp_ctrl |= WIRE_DDP_LAST;
	dgram->msg_bytes = be32_put(rp.wire.kept[0].n - UDP_TX_HDR_BYTES - 4 - 28 - 24 - 14);
	rp_reseal(&rp.wire.kept[0]);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_BAD_RESP_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
	rp_end(&rp);
}

/*
 * A Write after the read is acknowledged and waits for it. The read fails by the very last packet:
 * the Write completes then.
 */
static void failure_lets_others_go(void)
{
	struct rp_info info;

	begin();
	rp.filter = rp_keep_answers;
	post(HW_WQE_READ, 1, 3000, 0);
	post(HW_WQE_WRITE, 2, 8, 8192);
	rp_settle(&rp);
	CU_ASSERT_TRUE(rp.wire.num_kept >= 3);
	/* The ACK was in the response and is kept with it. */
	rd_ack_cumulative(A->nic, rp_session(&rp, 0), rp_session(&rp, 0)->tx_psn, 0, false);
	CU_ASSERT_PTR_NULL(rp_session(&rp, 0)->tx);
	rp_expect_none(&rp);
	info = rp_info_of(&rp.wire.kept[0], 1);
	tagged(0)->ddp_ctrl |= WIRE_DDP_LAST;
	info.dgram->msg_bytes =
	    be32_put(info.frame->n - WIRE_DGRAM_CRC_BYTES -
		     (uint32_t)(info.ddp + sizeof(struct wire_ddp_tagged) - info.frame->b));
	info.dgram->flags &= (uint8_t)~WIRE_DGRAM_F_ACK;
	rp_reseal(info.frame);
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 0);
	rp_expect_send(&rp, 0, 1, HW_STATUS_BAD_RESP_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_end(&rp);
}

/* Scatter over SGEs of odd sizes, in order and out of order. */
static void scatter(void)
{
	uint32_t round;

	begin();
	rp_fill(B->mem, 65536, 3);
	for (round = 0; round < 8; round++) {
		struct hw_sge sge[16];
		struct hw_sq_wqe wqe = {.opcode = HW_WQE_READ,
					.flags = HW_WQE_F_SIGNALED,
					.slots = 5,
					.num_sge = 16,
					.wr_id = round,
					.ah = A->ah,
					.dst_qpn = B->qp[0]->qpn,
					.qkey = RP_QKEY,
					.remote_addr = (uintptr_t)B->mem + round,
					.rkey = B->stag};
		uint32_t i, at = 0;

		for (i = 0; i < 16; i++) {
			sge[i] = (struct hw_sge){(uintptr_t)A->mem + 1000 * i,
						 (round * 37 + i * 61) % 997, A->stag};
			at += sge[i].bytes;
		}
		rp.filter = rp_keep_answers;
		rp_write_sq(A->qp[0], &wqe, sge, sizeof(sge));
		rp_ring(&rp, 0, A->qp[0]);
		rp_settle(&rp);
		rp.filter = NULL;
		for (i = rp.wire.num_kept; i; i--)
			bench_wire_deliver(&rp.wire, i - 1);
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, round, HW_STATUS_SUCCESS);
		for (i = 0, at = 0; i < 16; i++) {
			CU_ASSERT_EQUAL(
			    memcmp(A->mem + 1000 * i, B->mem + round + at, sge[i].bytes), 0);
			at += sge[i].bytes;
		}
	}
	rp_end(&rp);
}

/* The requester's own memory is deregistered: its own fault, and the queue stops. */
static void sink_gone(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .bytes = 8, .offset = SINK};
	uint32_t stag;

	begin();
	req.dst = B->qp[0];
	stag = rp_reg(&rp, 0, A->mem + SINK, 8, HW_ACCESS_LOCAL_WRITE, true);
	req.lkey = stag;
	rp.filter = rp_keep_answers;
	rp_req(&rp, 0, A->qp[0], &req);
	req.opcode = HW_WQE_FETCH_ADD;
	req.wr_id = 2;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag), 0);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_SQE);
	rp_end(&rp);
}

/* Terminates by the error at the responder; an RD QP stays, an RC QP fails. */
static void remote_errors(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t access;
		uint32_t offset;
		bool other_key;
		enum hw_status status;
	} cases[] = {
	    {HW_WQE_READ, HW_ACCESS_LOCAL_WRITE, 0, false, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_WRITE, HW_ACCESS_REMOTE_READ, 0, false, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_FETCH_ADD, HW_ACCESS_REMOTE_READ, 0, false, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_READ, RP_ALL_ACCESS, 4089, false, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_WRITE, RP_ALL_ACCESS, 4089, false, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_CMP_SWAP, RP_ALL_ACCESS, 4096, false, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_READ, RP_ALL_ACCESS, 0, true, HW_STATUS_REM_ACCESS_ERR},
	    {HW_WQE_WRITE, RP_ALL_ACCESS, 0, true, HW_STATUS_REM_ACCESS_ERR},
	};
	uint32_t i;

	begin();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rp_req req = {.opcode = cases[i].opcode, .bytes = 8, .wr_id = i};
		uint32_t stag = rp_reg(&rp, 1, B->mem + 8192, 4096, cases[i].access, true);
		struct fw_qp *a, *b;

		req.rkey = cases[i].other_key ? stag ^ 2 : stag;
		req.remote_offset = 8192 + cases[i].offset;
		req.dst = B->qp[0];
		rp_req(&rp, 0, A->qp[0], &req);
		post(HW_WQE_WRITE, 100, 8, 0);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, i, cases[i].status);
		rp_expect_send(&rp, 0, 100, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_RTS);
		rp_rc(&rp, &a, &b, NULL);
		req.dst = NULL;
		rp_req(&rp, 0, a, &req);
		req.wr_id = 200;
		rp_req(&rp, 0, a, &req);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, i, cases[i].status);
		rp_expect_send(&rp, 0, 200, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
		CU_ASSERT_EQUAL(b->state, HW_QPS_ERR);
		rp_destroy_qp(&rp, 0, a);
		rp_destroy_qp(&rp, 1, b);
		A->num_qp--;
		B->num_qp--;
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	}
	rp_end(&rp);
}

/*
 * A message longer than the window, to memory that does not exist: one Terminate, not one per
 * packet.
 */
static void long_write_fails(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 600000, .wr_id = 1};

	begin();
	req.dst = B->qp[0];
	req.rkey = B->stag ^ 2;
	rp_req(&rp, 0, A->qp[0], &req);
	post(HW_WQE_WRITE, 2, 8, 0);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Completion statuses that the codes of a Terminate become. */
static void terminate_statuses(void)
{
	uint8_t prot = WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION;
	uint8_t op = WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_OPERATION;
	uint8_t ut = WIRE_TERM_LAYER_DDP << 4 | WIRE_TERM_DDP_UNTAGGED;
	uint32_t e;

	CU_ASSERT_EQUAL(rdmap_status_of(prot, WIRE_TERM_PROT_INVALID_STAG),
			HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(rdmap_status_of(prot, WIRE_TERM_PROT_BASE_BOUNDS),
			HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(rdmap_status_of(prot, WIRE_TERM_PROT_CANT_INVALIDATE),
			HW_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(rdmap_status_of(ut, WIRE_TERM_UT_TOO_LONG), HW_STATUS_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(rdmap_status_of(op, WIRE_TERM_OP_STREAM_CATASTROPHIC),
			HW_STATUS_REM_OP_ERR);
	/* Any code that a peer sends is a failure. */
	for (e = 0; e < 65536; e++)
		CU_ASSERT_NOT_EQUAL(rdmap_status_of((uint8_t)(e >> 8), (uint8_t)e),
				    HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(rdmap_protection_code(HW_VENDOR_ERR_LKEY), WIRE_TERM_PROT_INVALID_STAG);
	CU_ASSERT_EQUAL(rdmap_protection_code(HW_VENDOR_ERR_BOUNDS), WIRE_TERM_PROT_BASE_BOUNDS);
	CU_ASSERT_EQUAL(rdmap_protection_code(HW_VENDOR_ERR_ACCESS), WIRE_TERM_PROT_ACCESS);
}

/*
 * No more responses at a time than the QP was set up for; all requests are answered in the end,
 * once.
 */
static void responder_slots(void)
{
	struct hw_qp_attr attr = {.max_dest_rd_atomic = 2};
	uint64_t i;

	begin();
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[0], HW_QPS_RTS, HW_QP_MAX_DEST_RD_ATOMIC, &attr),
			0);
	rp.filter = rp_keep_answers;
	for (i = 0; i < 6; i++)
		post(i % 2 ? HW_WQE_FETCH_ADD : HW_WQE_READ, i, 8, 128);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(B->qp[0]->responder_slots, 2);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, reads_executed) + RP_CNT(&rp, 1, atomics_executed), 2);
	rp_release(&rp);
	for (i = 0; i < 6; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 3);
	CU_ASSERT_EQUAL(*(uint64_t *)(void *)(B->mem + 128), 3);
	CU_ASSERT_EQUAL(B->qp[0]->responder_slots, 0);
	/* No slots at all: the request is repeated until its limit. */
	attr.max_dest_rd_atomic = 0;
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[0], HW_QPS_RTS, HW_QP_MAX_DEST_RD_ATOMIC, &attr),
			0);
	attr.rnr_retry = 2;
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
	post(HW_WQE_READ, 9, 8, 0);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 9, HW_STATUS_RNR_RETRY_EXC_ERR);
	rp_end(&rp);
}

/* The responder's QP or process ends between the ACK of a read and its response. */
static void responder_gone(void)
{
	struct fw_qp *a, *b;
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 2, .bytes = 8};

	begin();
	rp.filter = rp_keep_answers;
	post(HW_WQE_READ, 1, 8, 0);
	rp_rc(&rp, &a, &b, NULL);
	rp_req(&rp, 0, a, &req);
	rp_run(&rp, 100000);
	CU_ASSERT_TRUE(rp.wire.num_kept >= 2);
	rp_expect_none(&rp);
	rp_destroy_qp(&rp, 1, B->qp[0]);
	rp_destroy_qp(&rp, 1, b);
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_OP_ERR);
	rp_end(&rp);
}

/*
 * The memory of a read is deregistered while it is answered, and then the QP is destroyed with the
 * Terminate that replaced the answer. The request is acknowledged and is not repeated, so it must
 * be notified nevertheless.
 */
static void terminate_gone(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .bytes = 8, .offset = SINK};
	struct fw_qp *a, *b;
	uint32_t stag, rc;

	for (rc = 0; rc < 2; rc++) {
		begin();
		stag = rp_reg(&rp, 1, B->mem, 4096, RP_ALL_ACCESS, true);
		rp.filter = rp_keep_answers;
		if (rc)
			rp_rc(&rp, &a, &b, NULL);
		else
			a = A->qp[0], b = B->qp[0], req.dst = b;
		req.rkey = stag;
		rp_req(&rp, 0, a, &req);
		rp_run(&rp, 100000);
		CU_ASSERT_TRUE(rp.wire.num_kept >= 1);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 1, terminates_tx), 0);
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
		rp_run(&rp, 1000000);
		CU_ASSERT_TRUE(RP_CNT(&rp, 1, terminates_tx) >= 1);
		rp_expect_none(&rp);
		rp_destroy_qp(&rp, 1, b);
		rp.filter = NULL;
		bench_wire_forget(&rp.wire);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
		rp_end(&rp);
		req.dst = NULL;
	}
}

/* An error in the responder's own queue does not cost its peers their answers. */
static void responder_in_sqe(void)
{
	struct rp_req bad = {.opcode = HW_WQE_WRITE, .bytes = 8, .lkey = 0x77777, .wr_id = 5};

	begin();
	memset(B->mem, 0x5a, 8);
	rp.filter = rp_keep_answers;
	post(HW_WQE_READ, 1, 8, 0);
	rp_settle(&rp);
	bad.dst = A->qp[0];
	rp_req(&rp, 1, B->qp[0], &bad);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(B->qp[0]->state, HW_QPS_SQE);
	rp.filter = NULL;
	bench_wire_forget(&rp.wire);
	rp_quiet(&rp);
	rp_expect_send(&rp, 1, 5, HW_STATUS_LOC_PROT_ERR);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 8, 0x5a));
	rp_end(&rp);
}

/*
 * A passive side can answer before RTS, where sq_psn is set (IBA 9.7.4; the servers of perftest).
 */
static void responder_in_rtr(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .offset = SINK, .bytes = 3000};
	struct fw_qp *a, *b;
	struct hw_eqe eqe;

	begin();
	memset(B->mem, 0x5a, 8192);
	rp_rc_state(&rp, &a, &b, NULL, HW_QPS_RTR);
	rp_req(&rp, 0, a, &req);
	req = (struct rp_req){.opcode = HW_WQE_FETCH_ADD,
			      .wr_id = 2,
			      .offset = SINK + 4096,
			      .bytes = 8,
			      .compare_add = 1,
			      .remote_offset = 4096};
	rp_req(&rp, 0, a, &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 3000, 0x5a));
	CU_ASSERT_TRUE(rp_all(A->mem + SINK + 4096, 8, 0x5a));
	CU_ASSERT_EQUAL(B->mem[4096], 0x5b);
	/* The process that delays RTS until the first packet was notified of it, once. */
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, events), 0);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, events), 1);
	eqe = B->nic->host.eqs[B->nic->host.clients[B->client].eq[0]].ring[0];
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_COMM_EST);
	CU_ASSERT_EQUAL(eqe.id, b->qpn);
	/* A Terminate finds its request, too. */
	req = (struct rp_req){.opcode = HW_WQE_READ, .wr_id = 3, .bytes = 8, .rkey = 0x77777};
	rp_req(&rp, 0, a, &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 3, HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(b->state, HW_QPS_ERR);
	rp_end(&rp);
}

/* A read of no bytes needs no memory at either end. */
static void empty_read(void)
{
	struct rp_req req = {.opcode = HW_WQE_READ, .wr_id = 1, .rkey = 0x1234};

	begin();
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

UT_MAIN("pair/rdmap_resp", UT(forged_sinks), UT(short_response), UT(failure_lets_others_go),
	UT(scatter), UT(sink_gone), UT(remote_errors), UT(long_write_fails), UT(terminate_statuses),
	UT(responder_slots), UT(responder_gone), UT(terminate_gone), UT(responder_in_sqe),
	UT(responder_in_rtr), UT(empty_read))
