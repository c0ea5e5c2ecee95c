/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP, packet by packet: lies in the peer's name on the wire, Sends that invalidate, a peer
 * that restarts without its queue pair. nic_fw/rdmap/esp_rdmap*.c; tests/sim/rc_esp_ut.c has whole
 * conversations.
 */
#include "tests/pair/rd_pair.h"

#include "nic_fw/base/crc32c.h"

enum {
	MS = 1000000,
	SINK = 64 * 1024, /* in A's memory: target of reads */
	DST = 128 * 1024, /* in B's memory: target of Writes */
	GUARD = 64,
	BYTES = 200,
	EDP_AT = sizeof(struct wire_eth),
	ESP_AT = EDP_AT + sizeof(struct wire_edp),
	RDMAP_AT = ESP_AT + sizeof(struct wire_esp),
	DDP_AT = RDMAP_AT + sizeof(struct wire_esp_rdmap),
};

static struct rp rp;
static struct fw_qp *qa, *qb;

#define A (&rp.end[0])
#define B (&rp.end[1])

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

static bool carries(const struct bench_frame *frame)
{
	struct wire_eth eth;
	struct wire_esp esp;

	if (frame->n <= DDP_AT + WIRE_EDP_CRC_BYTES)
		return false;
	memcpy(&eth, frame->b, sizeof(eth));
	memcpy(&esp, frame->b + ESP_AT, sizeof(esp));
	return be16_get(eth.type) == WIRE_ETHERTYPE_ESP && esp.numbered &&
	       !(esp.flags & (WIRE_ESP_SYN | WIRE_ESP_FIN | WIRE_ESP_RST));
}

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

static void begin_with(uint8_t rnr_retry, uint8_t min_rnr_timer)
{
	const struct hw_qp_attr attr = {
	    .timeout = 14,
	    .retry_cnt = 2,
	    .rnr_retry = rnr_retry,
	    .min_rnr_timer = min_rnr_timer,
	    .max_rd_atomic = 4,
	    .max_dest_rd_atomic = 4,
	    .transport = HW_QP_TRANSPORT_ESP,
	};

	rp_begin(&rp);
	rp_rc(&rp, &qa, &qb, &attr);
	CU_ASSERT_FATAL(qa->attr.transport == HW_QP_TRANSPORT_ESP);
	lied = false;
}

static void begin(void)
{
	begin_with(2, 1);
}

static void over(void)
{
	rp.filter = NULL;
	rp_destroy_qp(&rp, 0, qa);
	rp_destroy_qp(&rp, 1, qb);
	rp_run(&rp, UINT64_C(40000) * MS);
	rp_end(&rp);
}

static void request(uint8_t opcode, uint64_t wr_id, uint32_t stag)
{
	struct rp_req req = {
	    .opcode = opcode,
	    .wr_id = wr_id,
	    .offset = opcode == HW_WQE_READ ? SINK : 0,
	    .bytes = opcode == HW_WQE_FETCH_ADD ? 8 : BYTES,
	    .remote_offset = DST,
	    .imm = stag,
	    .compare_add = 1,
	};

	rp_req(&rp, 0, qa, &req);
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

	begin();
	request(HW_WQE_WRITE, 1, 0);
	rp_run(&rp, UINT64_C(10) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
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
	rp_run(&rp, UINT64_C(40000) * MS);
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(qa->state, HW_QPS_ERR);
	while (rp_scqe(&rp, 0, &cqe))
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_WR_FLUSH_ERR);
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

static enum bench_verdict drop_answers(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 1 && carries(info->frame) ? BENCH_DROP : BENCH_PASS;
}

/* The peer restarts and does not know the QP: requests under way fail and are not repeated. */
static void peer_restarts(void)
{
	struct hw_cqe cqe;

	begin();
	request(HW_WQE_WRITE, 1, 0);
	rp_run(&rp, UINT64_C(10) * MS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp.filter = drop_answers;
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
	CU_ASSERT_FALSE(fw_list_empty(&qa->esp.waiting));
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
	while (lose || !qa->esp.out.faulty)
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

static enum bench_verdict lose_answers(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 1 && carries(info->frame) ? BENCH_DROP : BENCH_PASS;
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

UT_MAIN("pair/esp_rdmap", UT(wrong_mac), UT(lies), UT(forged_acknowledgement),
	UT(not_ready_for_long), UT(send_with_invalidate), UT(invalidated_twice),
	UT(to_a_process_that_leaves), UT(shares), UT(peer_restarts), UT(lost_before_a_fault),
	UT(first_of_two_faults), UT(earlier_fault_later), UT(answerer_leaves))
