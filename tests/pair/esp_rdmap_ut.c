/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP, packet by packet: lies in the peer's name on the wire, Sends that invalidate, a peer
 * that restarts without its queue pair. nic_fw/rdmap/esp_rdmap*.c; tests/sim/rc_esp_ut.c has whole
 * conversations.
 */
#include "nic_fw/base/crc32c.h"
#include "tests/pair/esp_rdmap_fix.h"

/* A change of the first message that an end sends. */
struct lie {
	uint32_t from;
	uint8_t opcode;     /* of the posted request */
	uint32_t at, bytes; /* bytes that become the value, big-endian */
	uint32_t value;
	uint32_t cut;        /* bytes left after the header of ESP; 0: all */
	enum hw_status send; /* status of A's request */
	bool waits; /* waits for an answer that is not sent any more, but not without end */
};

static const struct lie *lie;
static bool lied;

static void reseal(struct bench_frame *frame)
{
	struct wire_edp *edp = (void *)(frame->b + EDP_AT);
	uint32_t n = frame->n - EDP_AT - WIRE_EDP_CRC_BYTES;
	struct be32 crc;

	edp->bytes = be16_put((uint16_t)n);
	crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, frame->b + EDP_AT, n));
	memcpy(frame->b + EDP_AT + n, &crc, sizeof(crc));
}

static enum bench_verdict tell(struct rp *r, const struct rp_info *info)
{
	struct bench_frame *frame = info->frame;
	uint32_t i;

	(void)r;
	if (lied || info->from != lie->from || !carries(frame))
		return BENCH_PASS;
	lied = true;
	for (i = 0; i < lie->bytes; i++)
		frame->b[lie->at + i] = (uint8_t)(lie->value >> 8 * (lie->bytes - 1 - i));
	if (lie->cut)
		frame->n = RDMAP_AT + lie->cut + WIRE_EDP_CRC_BYTES;
	reseal(frame);
	return BENCH_PASS;
}

static void check_lie(uint32_t number)
{
	struct hw_cqe cqe;

	begin();
	memset(A->mem, 0x11, BYTES);
	memset(B->mem + DST - GUARD, 0x22, BYTES + 2 * GUARD);
	rp_recv(&rp, 1, qb, 50, 0, BYTES);
	rp.filter = tell;
	request(lie->opcode, 1, 0);
	rp_run(&rp, UINT64_C(3000) * MS);
	CU_ASSERT_TRUE(lied);
	if (lie->waits) {
		CU_ASSERT_FALSE(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_TRUE(rp_all(A->mem + SINK, BYTES, 0));
		/* The peer is there, and never sends it again. */
		rp_run(&rp, UINT64_C(40000) * MS);
	}
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	if (cqe.status != lie->send)
		printf("\n    lie %u: status %d, not %d", number, cqe.status, lie->send);
	CU_ASSERT_EQUAL(cqe.status, lie->send);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK - GUARD, GUARD, 0));
	CU_ASSERT_TRUE(rp_all(A->mem + SINK + BYTES, GUARD, 0));
	CU_ASSERT_TRUE(rp_all(B->mem + DST - GUARD, GUARD, 0x22));
	CU_ASSERT_TRUE(rp_all(B->mem + DST + BYTES, GUARD, 0x22));
	/* The lie may have ended either QP. */
	rp.filter = NULL;
	CU_ASSERT_EQUAL(rp_modify(&rp, 0, qa, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, qb, HW_QPS_ERR, 0, NULL), 0);
	rp_run(&rp, UINT64_C(100) * MS);
	while (rp_scqe(&rp, 0, &cqe) || rp_rcqe(&rp, 1, &cqe))
		;
	over();
}

/* Requests with each field of their headers wrong, then answers. */
static void lies(void)
{
	static const struct lie list[] = {
	    /* undefined flags, an answer among requests, reserved bytes */
	    {0, HW_WQE_WRITE, RDMAP_AT, 1, 0x10, 0, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_WRITE, RDMAP_AT, 1, 0x80, 0, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_WRITE, RDMAP_AT, 1, WIRE_ESP_RDMAP_RESPONSE, 0, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_SEND, RDMAP_AT, 1, WIRE_ESP_RDMAP_NOT_READY, 0, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_SEND, RDMAP_AT + 1, 1, 1, 0, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_SEND, RDMAP_AT + 3, 1, 1, 0, HW_STATUS_REM_OP_ERR, false},
	    /* too short for its header, for DDP's */
	    {0, HW_WQE_SEND, RDMAP_AT, 0, 0, 1, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_SEND, RDMAP_AT, 0, 0, sizeof(struct wire_esp_rdmap), HW_STATUS_REM_OP_ERR,
	     false},
	    {0, HW_WQE_SEND, RDMAP_AT, 0, 0, sizeof(struct wire_esp_rdmap) + 5,
	     HW_STATUS_REM_OP_ERR, false},
	    /* a length that differs from its only segment; an unknown version of DDP */
	    {0, HW_WQE_SEND, RDMAP_AT + 8, 4, BYTES + 1, 0, HW_STATUS_REM_OP_ERR, false},
	    {0, HW_WQE_SEND, DDP_AT, 1, WIRE_DDP_LAST | 3, 0, HW_STATUS_REM_OP_ERR, false},
	    /* a Write to another place: STag, address */
	    {0, HW_WQE_WRITE, DDP_AT + 2, 4, 0x7fffff00, 0, HW_STATUS_REM_ACCESS_ERR, false},
	    {0, HW_WQE_WRITE, DDP_AT + 6, 4, 0xffffffff, 0, HW_STATUS_REM_ACCESS_ERR, false},
	    /*
	     * an answer that claims to be a request; one to another request; one to another place
	     */
	    {1, HW_WQE_READ, RDMAP_AT, 1, 0, 0, HW_STATUS_BAD_RESP_ERR, false},
	    {1, HW_WQE_READ, RDMAP_AT, 1, 0x14, 0, HW_STATUS_BAD_RESP_ERR, false},
	    {1, HW_WQE_READ, RDMAP_AT + 12, 4, 77, 0, HW_STATUS_RETRY_EXC_ERR, true},
	    {1, HW_WQE_READ, DDP_AT + 2, 4, 0xfffffff0, 0, HW_STATUS_RETRY_EXC_ERR, true},
	    {1, HW_WQE_READ, DDP_AT + 10, 4, BYTES, 0, HW_STATUS_RETRY_EXC_ERR, true},
	    {1, HW_WQE_FETCH_ADD, RDMAP_AT + 12, 4, 77, 0, HW_STATUS_RETRY_EXC_ERR, true},
	};
	uint32_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		lie = &list[i];
		lied = false;
		check_lie(i);
	}
}

/* The second packet of A is lost, and a forged packet in B's name acknowledges it. */
static enum bench_verdict forge_ack(struct rp *r, const struct rp_info *info)
{
	struct wire_esp *esp = (void *)(info->frame->b + ESP_AT);
	struct wire_eth *eth = (void *)info->frame->b;
	static uint32_t packets;

	(void)r;
	if (be16_get(eth->type) != WIRE_ETHERTYPE_ESP)
		return BENCH_PASS;
	if (info->from == 0 && carries(info->frame)) {
		packets = lied ? packets : packets + 1;
		return !lied && packets % 2 == 0 ? BENCH_DROP : BENCH_PASS;
	}
	if (info->from == 1 && !lied && packets && packets % 2 == 0) {
		lied = true;
		esp->ack = be32_put(be32_get(esp->ack) + 1);
		memset(&esp->received, 0, sizeof(esp->received));
		reseal(info->frame);
	}
	return BENCH_PASS;
}

/* Data that was acknowledged in the peer's name is not sent again; later data makes no progress. */
static void forged_acknowledgement(void)
{
	struct hw_cqe cqe;
	uint64_t at;

	begin();
	at = rp.wire.now_ns;
	request(HW_WQE_WRITE, 1, 0);
	rp_run(&rp, UINT64_C(10) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	lied = false;
	rp.filter = forge_ack;
	request(HW_WQE_WRITE, 2, 0);
	request(HW_WQE_WRITE, 3, 0);
	request(HW_WQE_WRITE, 4, 0);
	rp_run(&rp, UINT64_C(5000) * MS);
	CU_ASSERT_TRUE(lied);
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_RTS);
	CU_ASSERT_FALSE(fw_list_empty(&qa->wqes));
	/* The first look notes what there is, and so many find the same. */
	at += (LLP_ANSWER_LOOKS + 1) * LLP_LOOK_NS;
	rp_run(&rp, at - 1 - rp.wire.now_ns);
	rp_expect_none(&rp);
	rp_run(&rp, MS);
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_WR_FLUSH_ERR);
	over();
}

/* Requests that were posted before the stream is open all go, more than leave in one turn. */
static void many_wait_for_the_stream(void)
{
	enum {
		MANY = 50
	};
	struct rp_req put = {.opcode = HW_WQE_WRITE, .bytes = 4};
	uint64_t i;

	begin();
	for (i = 0; i < MANY; i++) {
		put.wr_id = i;
		put.offset = put.remote_offset = DST + 4 * (uint32_t)i;
		memcpy(A->mem + put.offset, &i, 4);
		rp_req(&rp, 0, qa, &put);
	}
	rp_run(&rp, 100 * MS);
	for (i = 0; i < MANY; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(B->mem + DST, A->mem + DST, 4 * MANY), 0);
	over();
}

/* Marks of the end of a message are its last packet's, of a short one and of a long one. */
static enum bench_verdict count_marks(struct rp *r, const struct rp_info *info)
{
	struct wire_esp_rdmap wire;
	uint32_t *marks = r->ctx;

	if (info->from == 0 && carries(info->frame)) {
		memcpy(&wire, info->frame->b + RDMAP_AT, sizeof(wire));
		marks[0]++;
		marks[1] += (wire.flags & WIRE_ESP_RDMAP_IMM) != 0;
		marks[2] += (wire.flags & WIRE_ESP_RDMAP_SOLICITED) != 0;
	}
	return BENCH_PASS;
}

static void immediate_data_come_with_the_last(void)
{
	static const uint8_t opcodes[] = {HW_WQE_SEND_IMM, HW_WQE_WRITE_IMM, HW_WQE_SEND};
	uint32_t op, bytes, solicited, marks[3];
	struct hw_cqe cqe;

	begin();
	rp.ctx = marks;
	rp.filter = count_marks;
	for (op = 0; op < sizeof(opcodes); op++) {
		bool imm = opcodes[op] != HW_WQE_SEND;

		for (bytes = 100; bytes <= 5100; bytes += 5000) {
			for (solicited = 0; solicited < 2; solicited++) {
				struct rp_req req = {.opcode = opcodes[op], .bytes = bytes};

				memset(marks, 0, sizeof(marks));
				req.imm = 0x11223344;
				req.remote_offset = DST;
				req.flags = solicited ? HW_WQE_F_SOLICITED : 0;
				rp_recv(&rp, 1, qb, 50, DST, 5100);
				rp_req(&rp, 0, qa, &req);
				rp_run(&rp, 100 * MS);
				rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
				cqe = rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
				CU_ASSERT_EQUAL(cqe.flags & HW_CQE_F_IMM, imm ? HW_CQE_F_IMM : 0);
				CU_ASSERT_TRUE(!imm || cqe.imm_inv == 0x11223344);
				CU_ASSERT_EQUAL(cqe.bytes, bytes);
				CU_ASSERT_TRUE(bytes == 100 ? marks[0] == 1 : marks[0] > 3);
				CU_ASSERT_EQUAL(marks[1], imm);
				CU_ASSERT_EQUAL(marks[2], imm && solicited);
			}
		}
	}
	over();
}

/* A receiver may be not ready without end as long as it reports that. */
static void not_ready_for_long(void)
{
	begin_with(7, 26); /* 82 ms */
	request(HW_WQE_SEND, 1, 0);
	request(HW_WQE_READ, 2, 0);
	rp_run(&rp, UINT64_C(100000) * MS);
	rp_expect_none(&rp);
	rp_recv(&rp, 1, qb, 50, 0, BYTES);
	rp_run(&rp, UINT64_C(1000) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
	over();
}

/* A Send with Invalidate ends a key of the receiver, with the Send and once. */
static void send_with_invalidate(void)
{
	struct rp_req put = {.opcode = HW_WQE_WRITE, .wr_id = 2, .bytes = 8, .remote_offset = DST};
	struct hw_cqe cqe;
	uint32_t stag;

	begin();
	stag = rp_reg(&rp, 1, B->mem + DST, BYTES, RP_ALL_ACCESS, true);
	rp_recv(&rp, 1, qb, 50, 0, BYTES);
	rp_recv(&rp, 1, qb, 51, 0, BYTES);
	request(HW_WQE_SEND_INV, 1, stag);
	rp_run(&rp, UINT64_C(100) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	cqe = rp_expect_recv(&rp, 1, 50, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.flags, HW_CQE_F_INV);
	CU_ASSERT_EQUAL(cqe.bytes, BYTES);
	put.rkey = stag;
	rp_req(&rp, 0, qa, &put);
	rp_run(&rp, UINT64_C(100) * MS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(qb->state, HW_QPS_ERR);
	rp_expect_recv(&rp, 1, 51, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	over();
}

/* A key that is gone already: the receive completes with the reason, and so does the Send. */
static void invalidated_twice(void)
{
	uint32_t stag;

	begin();
	stag = rp_reg(&rp, 1, B->mem + DST, BYTES, RP_ALL_ACCESS, true);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	rp_recv(&rp, 1, qb, 50, 0, BYTES);
	request(HW_WQE_SEND_INV, 1, stag);
	request(HW_WQE_WRITE, 2, 0);
	rp_run(&rp, UINT64_C(100) * MS);
	rp_expect_recv(&rp, 1, 50, HW_STATUS_REM_INV_REQ_ERR);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_INV_REQ_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_WR_FLUSH_ERR);
	over();
}

/*
 * Memory of a process that ends is unreachable before its queue pairs are reset. A Write that
 * arrives in between is neither carried out nor refused.
 */
static void to_a_process_that_leaves(void)
{
	begin();
	request(HW_WQE_WRITE, 1, 0);
	rp_run(&rp, UINT64_C(10) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	B->nic->host.clients[qb->client].closing = true;
	request(HW_WQE_WRITE, 2, 0);
	rp_run(&rp, UINT64_C(10) * MS);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(qb->state, HW_QPS_RTS);
	B->nic->host.clients[qb->client].closing = false;
	over();
}

/*
 * Either end of a stream counts for the share of its process, which is checked before a stream is
 * made.
 */
static void shares(void)
{
	struct fw_account *owner;
	uint32_t e;

	for (e = 0; e < 2; e++) {
		begin_with(7, 1);
		qa->attr.retry_cnt = 7;
		owner = rp.end[e].nic->host.clients[rp.end[e].client].share->process;
		owner->limit[HW_SHARE_STREAM] = 0;
		request(HW_WQE_WRITE, 1, 0);
		rp_run(&rp, UINT64_C(20) * MS);
		rp_expect_none(&rp);
		CU_ASSERT(rp.end[e].nic->counters.esp_share_refused > 0);
		owner->limit[HW_SHARE_STREAM] = 1;
		rp_run(&rp, UINT64_C(400) * MS);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(owner->held[HW_SHARE_STREAM], 1);
		rp_destroy_qp(&rp, 0, qa);
		rp_destroy_qp(&rp, 1, qb);
		rp_run(&rp, UINT64_C(10000) * MS);
		CU_ASSERT_EQUAL(owner->held[HW_SHARE_STREAM], 0);
		rp_end(&rp);
	}
}

/* The peer restarts and does not know the QP: requests under way fail and are not repeated. */
static void peer_restarts(void)
{
	struct hw_cqe cqe;

	begin();
	request(HW_WQE_WRITE, 1, 0);
	rp_run(&rp, UINT64_C(10) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp.filter = lose_answers;
	request(HW_WQE_FETCH_ADD, 2, 0);
	rp_run(&rp, 20000);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	rp.filter = NULL;
	rp_restart(&rp, 1);
	qb = NULL;
	request(HW_WQE_WRITE, 3, 0);
	rp_run(&rp, UINT64_C(40000) * MS);
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.wr_id, 2);
	CU_ASSERT_TRUE(cqe.status == HW_STATUS_REM_OP_ERR ||
		       cqe.status == HW_STATUS_REM_ABORT_ERR ||
		       cqe.status == HW_STATUS_RETRY_EXC_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 0);
	rp_destroy_qp(&rp, 0, qa);
	rp_run(&rp, UINT64_C(1000) * MS);
	rp_end(&rp);
}

/* ARP replies that this end sends, to be damaged. */
static uint32_t damaged_from, damaged;

static enum bench_verdict damage_answer(struct rp *r, const struct rp_info *info)
{
	struct wire_arp *arp = (void *)(info->frame->b + sizeof(struct wire_eth));
	const struct wire_eth *eth = (const void *)info->frame->b;

	(void)r;
	if (damaged || info->from != damaged_from || be16_get(eth->type) != WIRE_ETHERTYPE_ARP ||
	    be16_get(arp->op) != WIRE_ARP_REPLY)
		return BENCH_PASS;
	arp->sender_mac[1] ^= 0x20;
	damaged++;
	return BENCH_PASS;
}

/*
 * An end that learned a wrong MAC of its peer finds the right one before its retries are used up.
 */
static void wrong_mac(void)
{
	struct rp_req put = {
	    .opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = BYTES, .remote_offset = DST};
	struct hw_qp_attr attr;

	for (damaged_from = 0; damaged_from < 2; damaged_from++) {
		begin();
		attr = qa->attr;
		attr.retry_cnt = 7;
		qa->attr = attr;
		qb->attr.retry_cnt = 7;
		damaged = 0;
		rp.filter = damage_answer;
		memset(A->mem, 0x5a, BYTES);
		rp_req(&rp, 0, qa, &put);
		rp_run(&rp, UINT64_C(400) * MS);
		CU_ASSERT_EQUAL(damaged, 1);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_all(B->mem + DST, BYTES, 0x5a));
		over();
	}
}

UT_MAIN("pair/esp_rdmap", UT(many_wait_for_the_stream), UT(immediate_data_come_with_the_last),
	UT(wrong_mac), UT(lies), UT(forged_acknowledgement), UT(not_ready_for_long),
	UT(send_with_invalidate), UT(invalidated_twice), UT(to_a_process_that_leaves), UT(shares),
	UT(peer_restarts))
