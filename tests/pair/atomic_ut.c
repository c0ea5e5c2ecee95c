/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics of hw_atomic.h between two NICs: elements of each size, mapped and not; what is refused
 * at either end; memory that a process keeps changing, which is played here (mem_atomic()).
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

enum {
	WORD = 64, /* in B's memory */
	SINK = 4096,
};

/* Tries of the responder that find the memory changed each time. */
static uint32_t contended;

bool __real_mem_atomic(const struct fw_mem *mem, const struct fw_atomic *op, uint64_t *original);
bool __wrap_mem_atomic(const struct fw_mem *mem, const struct fw_atomic *op, uint64_t *original);

bool __wrap_mem_atomic(const struct fw_mem *mem, const struct fw_atomic *op, uint64_t *original)
{
	if (contended) {
		contended--;
		return false;
	}
	return __real_mem_atomic(mem, op, original);
}

static void begin(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	memset(A->mem + SINK, 0xee, 64);
	memset(B->mem + WORD, 0x11, 64);
}

static struct rp_req request(uint8_t op, uint8_t type, uint32_t at, uint64_t value)
{
	return (struct rp_req){.opcode = HW_WQE_ATOMIC,
			       .dst = B->qp[0],
			       .offset = SINK,
			       .bytes = hw_atomic_bytes(type),
			       .remote_offset = WORD + at,
			       .atomic = HW_ATOMIC_CODE(op, type),
			       .swap = value};
}

static void post(uint8_t op, uint8_t type, uint32_t at, uint64_t value, uint32_t rkey)
{
	struct rp_req req = request(op, type, at, value);

	req.rkey = rkey;
	rp_req(&rp, 0, A->qp[0], &req);
}

static void over(enum hw_status status)
{
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 0, status);
}

/* A write of one element of each size: its neighbours, there and at the requester, stay. */
static void sizes(void)
{
	begin();
	for (uint32_t m = 0; m < 2; m++) {
		uint32_t stag = rp_reg(&rp, 1, B->mem + WORD, 24, RP_ALL_ACCESS, m);

		for (uint8_t type = 0; type < HW_ATOMIC_TYPES; type++) {
			uint32_t n = hw_atomic_bytes(type);

			memset(A->mem + SINK, 0xee, 64);
			memset(B->mem + WORD, 0x11, 64);
			post(HW_ATOMIC_WRITE, type, 8, UINT64_MAX, stag);
			over(HW_STATUS_SUCCESS);
			CU_ASSERT_TRUE(rp_all(A->mem + SINK, n, 0x11));
			CU_ASSERT_TRUE(rp_all(A->mem + SINK + n, 64 - n, 0xee));
			CU_ASSERT_TRUE(rp_all(B->mem + WORD, 8, 0x11));
			CU_ASSERT_TRUE(rp_all(B->mem + WORD + 8, n, 0xff));
			CU_ASSERT_TRUE(rp_all(B->mem + WORD + 8 + n, 64 - 8 - n, 0x11));
		}
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 2 * HW_ATOMIC_TYPES);
	CU_ASSERT_EQUAL(B->port.host_atomics, HW_ATOMIC_TYPES);
	rp_end(&rp);
}

/* A region that ends within a word: an element has to end with it. */
static void bounds(void)
{
	static const struct {
		uint8_t type;
		uint32_t at;
		bool fits;
	} rows[] = {
	    {HW_ATOMIC_UINT8, 5, true},   {HW_ATOMIC_UINT8, 6, false},  {HW_ATOMIC_INT16, 4, true},
	    {HW_ATOMIC_INT16, 6, false},  {HW_ATOMIC_FLOAT, 0, true},   {HW_ATOMIC_FLOAT, 4, false},
	    {HW_ATOMIC_DOUBLE, 0, false}, {HW_ATOMIC_UINT64, 0, false},
	};

	begin();
	for (uint32_t m = 0; m < 2; m++) {
		uint32_t stag = rp_reg(&rp, 1, B->mem + WORD, 6, RP_ALL_ACCESS, m);

		for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			uint32_t n = hw_atomic_bytes(rows[i].type);

			memset(B->mem + WORD, 0x11, 16);
			post(HW_ATOMIC_WRITE, rows[i].type, rows[i].at, 0, stag);
			over(rows[i].fits ? HW_STATUS_SUCCESS : HW_STATUS_REM_ACCESS_ERR);
			CU_ASSERT_TRUE(
			    rp_all(B->mem + WORD + rows[i].at, n, rows[i].fits ? 0 : 0x11));
		}
		CU_ASSERT_EQUAL(rp_dereg(&rp, 1, stag), 0);
	}
	rp_end(&rp);
}

/* Requests that this end refuses. A local error stops the queue. */
static void refused_here(void)
{
	static const struct {
		uint32_t code, bytes, at;
		enum hw_vendor_err err;
	} rows[] = {
	    {HW_ATOMIC_CODE(HW_ATOMIC_OPS, HW_ATOMIC_UINT8), 1, 0, HW_VENDOR_ERR_OPCODE},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_TYPES), 8, 0, HW_VENDOR_ERR_OPCODE},
	    {HW_ATOMIC_CODE(HW_ATOMIC_BXOR, HW_ATOMIC_FLOAT), 4, 0, HW_VENDOR_ERR_OPCODE},
	    {1u << 31 | HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_UINT8), 1, 0, HW_VENDOR_ERR_OPCODE},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_UINT16), 1, 0, HW_VENDOR_ERR_BOUNDS},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_UINT16), 8, 0, HW_VENDOR_ERR_BOUNDS},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_UINT16), 2, 1, HW_VENDOR_ERR_ALIGN},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_DOUBLE), 8, 4, HW_VENDOR_ERR_ALIGN},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rp_req req = {.opcode = HW_WQE_ATOMIC,
				     .offset = SINK,
				     .bytes = rows[i].bytes,
				     .remote_offset = WORD + rows[i].at,
				     .atomic = rows[i].code};
		struct hw_cqe cqe;

		begin();
		req.dst = B->qp[0];
		rp_req(&rp, 0, A->qp[0], &req);
		rp_quiet(&rp);
		CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, wqe_status_of(rows[i].err));
		CU_ASSERT_EQUAL(cqe.vendor_err, rows[i].err);
		CU_ASSERT_TRUE(rp_all(B->mem + WORD, 64, 0x11));
		rp_end(&rp);
	}
}

/* Connected queue pairs have no such request. */
static void not_of_rc(void)
{
	struct fw_qp *a, *b;
	struct rp_req req;
	struct hw_cqe cqe;

	begin();
	rp_rc(&rp, &a, &b, NULL);
	req = request(HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 0, 1);
	req.dst = NULL;
	rp_req(&rp, 0, a, &req);
	rp_quiet(&rp);
	CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
	CU_ASSERT_EQUAL(cqe.status, HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_OPCODE);
	CU_ASSERT_TRUE(rp_all(B->mem + WORD, 64, 0x11));
	rp_end(&rp);
}

static struct wire_atomic_request *kept(void)
{
	return (void *)(rp_info_of(&rp.wire.kept[0], 0).ddp + sizeof(struct wire_ddp_untagged));
}

/* Requests of peers that this end refuses: codes and masks, an address that is not aligned. */
static void refused_there(void)
{
	static const struct {
		uint64_t code, compare_mask;
		uint32_t shift;
	} rows[] = {
	    {HW_ATOMIC_CODE(HW_ATOMIC_OPS, HW_ATOMIC_INT32), 0, 0},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_TYPES), 0, 0},
	    {HW_ATOMIC_CODE(HW_ATOMIC_MSWAP, HW_ATOMIC_FLOAT), 0, 0},
	    {UINT64_C(1) << 32 | HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_INT32), 0, 0},
	    {UINT64_MAX, 0, 0},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_INT32), 1, 0},
	    {HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_INT32), 0, 2},
	};

	begin();
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_atomic_request *wire;

		rp.filter = rp_keep_data;
		post(HW_ATOMIC_SUM, HW_ATOMIC_INT32, 0, 1, 0);
		rp_settle(&rp);
		wire = kept();
		CU_ASSERT_EQUAL(be32_get(wire->opcode), WIRE_ATOMIC_TYPED);
		wire->add_swap_mask = be64_put(rows[i].code);
		wire->compare_mask = be64_put(rows[i].compare_mask);
		wire->to = be64_put(be64_get(wire->to) + rows[i].shift);
		rp_reseal(&rp.wire.kept[0]);
		rp_release(&rp);
		rp_expect_send(&rp, 0, 0, HW_STATUS_REM_ACCESS_ERR);
		CU_ASSERT_TRUE(rp_all(B->mem + WORD, 64, 0x11));
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 0);
	rp_end(&rp);
}

/* A connected peer that sends one anyway. */
static void forged_by_rc(void)
{
	struct fw_qp *a, *b;
	struct rp_req req = {.opcode = HW_WQE_FETCH_ADD,
			     .offset = SINK,
			     .bytes = 8,
			     .remote_offset = WORD,
			     .compare_add = 1};

	begin();
	rp_rc(&rp, &a, &b, NULL);
	rp.filter = rp_keep_data;
	rp_req(&rp, 0, a, &req);
	rp_settle(&rp);
	kept()->opcode = be32_put(WIRE_ATOMIC_TYPED);
	kept()->add_swap_mask = be64_put(HW_ATOMIC_CODE(HW_ATOMIC_SUM, HW_ATOMIC_UINT64));
	rp_reseal(&rp.wire.kept[0]);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_TRUE(rp_all(B->mem + WORD, 64, 0x11));
	CU_ASSERT_EQUAL(b->state, HW_QPS_ERR);
	rp_end(&rp);
}

/* Rights are those of all atomics. */
static void rights(void)
{
	uint32_t stag;

	begin();
	stag = rp_reg(&rp, 1, B->mem + WORD, 8, RP_ALL_ACCESS & ~HW_ACCESS_REMOTE_ATOMIC, true);
	post(HW_ATOMIC_READ, HW_ATOMIC_UINT8, 0, 0, stag);
	over(HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 64, 0xee));
	rp_end(&rp);
}

/* A page that comes late: carried out once, and answered once. */
static void slow_page(void)
{
	uint32_t stag;
	uint16_t value;

	begin();
	stag = rp_reg(&rp, 1, B->mem + WORD, 6, RP_ALL_ACCESS, false);
	B->port.host_late = true;
	post(HW_ATOMIC_SUM, HW_ATOMIC_INT16, 4, 0x101, stag);
	rp_run(&rp, 3000000);
	rp_expect_none(&rp);
	B->port.host_late = false;
	over(HW_STATUS_SUCCESS);
	memcpy(&value, B->mem + WORD + 4, sizeof(value));
	CU_ASSERT_EQUAL(value, 0x1212);
	CU_ASSERT_TRUE(rp_all(B->mem + WORD + 6, 58, 0x11));
	CU_ASSERT_TRUE(rp_all(A->mem + SINK, 2, 0x11) && rp_all(A->mem + SINK + 2, 62, 0xee));
	CU_ASSERT_EQUAL(B->port.host_atomics, 1);
	CU_ASSERT_EQUAL(B->nic->host.slow_atomics.used, 0);
	rp_end(&rp);
}

/*
 * A process keeps changing the element: the request counts as lost, nothing of its answer is left,
 * and it comes again until it is carried out, once. Others go on.
 */
static void kept_changing(void)
{
	uint64_t before;

	begin();
	before = B->qp[0]->rx_msgs;
	contended = 3;
	post(HW_ATOMIC_SUM, HW_ATOMIC_UINT32, 0, 1, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_contended), 1);
	CU_ASSERT_EQUAL(B->qp[0]->responder_slots, 0);
	CU_ASSERT_TRUE(fw_list_empty(&B->qp[0]->flows));
	over(HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_contended), 3);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 1);
	CU_ASSERT_EQUAL(*(uint32_t *)(void *)(B->mem + WORD), 0x11111112);
	CU_ASSERT_EQUAL(B->qp[0]->rx_msgs, before + 1);
	/* An answer before it that is not acknowledged yet stays. */
	rp.filter = rp_keep_answers;
	post(HW_ATOMIC_SUM, HW_ATOMIC_UINT32, 0, 1, 0);
	rp_settle(&rp);
	contended = 1;
	post(HW_ATOMIC_SUM, HW_ATOMIC_UINT32, 0, 1, 0);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_contended), 4);
	CU_ASSERT_EQUAL(B->qp[0]->responder_slots, 1);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(*(uint32_t *)(void *)(B->mem + WORD), 0x11111114);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_executed), 3);
	CU_ASSERT_EQUAL(B->qp[0]->responder_slots, 0);
	rp_end(&rp);
}

/* Likewise for a request that came before its turn. */
static void kept_changing_held(void)
{
	struct rp_req put = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 8};

	begin();
	put.dst = B->qp[0];
	rp.filter = rp_keep_data;
	rp_req(&rp, 0, A->qp[0], &put);
	rp_settle(&rp);
	rp.filter = NULL;
	post(HW_ATOMIC_SUM, HW_ATOMIC_UINT8, 0, 1, 0);
	rp_poll(&rp, 0);
	rp_poll(&rp, 1);
	contended = 1;
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	over(HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 1, atomics_contended), 1);
	CU_ASSERT_EQUAL(B->mem[WORD], 0x12);
	rp_end(&rp);
}

UT_MAIN("pair/atomic", UT(sizes), UT(bounds), UT(refused_here), UT(not_of_rc), UT(refused_there),
	UT(forged_by_rc), UT(rights), UT(slow_page), UT(kept_changing), UT(kept_changing_held))
