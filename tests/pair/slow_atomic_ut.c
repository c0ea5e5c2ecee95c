/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics on memory that is not mapped and whose page comes late: the requests wait, whatever
 * happens meanwhile, each is carried out once and answered once, and others go on. All over RD;
 * tests/sim/rc_ut.c has the other transports.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

enum {
	WORD = 64, /* in B's memory */
	RESULT = 4096,
	WAIT_NS = 3000000,
};

/* B's memory that is not mapped. */
static uint32_t unmapped;

static uint64_t word(void)
{
	uint64_t value;

	memcpy(&value, B->mem + WORD, sizeof(value));
	return value;
}

static uint64_t result(uint64_t wr_id)
{
	uint64_t value;

	memcpy(&value, A->mem + RESULT + wr_id * 8, sizeof(value));
	return value;
}

static void begin(void)
{
	const struct hw_qp_attr attr = {.rnr_retry = 0};
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	unmapped = rp_reg(&rp, 1, B->mem, RP_MEM_BYTES, RP_ALL_ACCESS, false);
	/* A page that is not there is no reason for RNR. */
	for (i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(rp_modify(&rp, 0, A->qp[i], HW_QPS_RTS, HW_QP_RNR_RETRY, &attr), 0);
}

static void end(void)
{
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(B->nic->host.slow_atomics.used, 0);
	rp_end(&rp);
}

static void add_to(uint32_t qp, const struct fw_qp *dst, uint64_t wr_id, uint64_t add)
{
	const struct rp_req req = {.opcode = HW_WQE_FETCH_ADD,
				   .wr_id = wr_id,
				   .dst = dst,
				   .offset = (uint32_t)(RESULT + wr_id * 8),
				   .bytes = 8,
				   .compare_add = add,
				   .remote_offset = WORD,
				   .rkey = unmapped};

	rp_req(&rp, 0, A->qp[qp], &req);
}

static void add(uint32_t qp, uint64_t wr_id, uint64_t value)
{
	add_to(qp, B->qp[0], wr_id, value);
}

static void swap(uint32_t qp, uint64_t wr_id, uint64_t compare, uint64_t value)
{
	const struct rp_req req = {.opcode = HW_WQE_CMP_SWAP,
				   .wr_id = wr_id,
				   .dst = B->qp[0],
				   .offset = (uint32_t)(RESULT + wr_id * 8),
				   .bytes = 8,
				   .compare_add = compare,
				   .swap = value,
				   .remote_offset = WORD,
				   .rkey = unmapped};

	rp_req(&rp, 0, A->qp[qp], &req);
}

/* Others go on while the page does not come. */
static void others_go_on(void)
{
	const struct rp_req put = {.opcode = HW_WQE_WRITE,
				   .wr_id = 77,
				   .dst = B->qp[1],
				   .bytes = 5000,
				   .remote_offset = 8192};

	rp_req(&rp, 0, A->qp[1], &put);
	rp_run(&rp, WAIT_NS);
	rp_expect_send(&rp, 0, 77, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
}

/* No page for a while: the request comes again, without a try of RNR. */
static void not_begun(void)
{
	begin();
	B->port.host_busy = true;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	rp_expect_none(&rp);
	others_go_on();
	CU_ASSERT_EQUAL(word(), 0);
	B->port.host_busy = false;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(word(), 5);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_rnr_backoffs), 0);
	end();
}

static void begun_and_late(void)
{
	begin();
	B->port.host_late = true;
	add(0, 1, 5);
	others_go_on();
	CU_ASSERT_EQUAL(word(), 0);
	B->port.host_late = false;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 5 && result(1) == 0);
	CU_ASSERT_EQUAL(B->port.host_atomics, 1);
	swap(0, 2, 5, 9);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 9 && result(2) == 5);
	end();
}

/* Another queue pair, and the same one, on the same word while the first waits. */
static void on_the_same_word(void)
{
	struct hw_cqe cqe;
	uint32_t done;
	uint64_t sum;

	begin();
	B->port.host_late = true;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	add(0, 2, 5);
	add(1, 3, 5);
	add_to(1, B->qp[1], 4, 5);
	rp_run(&rp, WAIT_NS);
	rp_expect_none(&rp);
	B->port.host_late = false;
	rp_quiet(&rp);
	CU_ASSERT_TRUE(word() == 20 && B->port.host_atomics == 4);
	CU_ASSERT_EQUAL(result(1), 0);
	CU_ASSERT_TRUE(result(2) > result(1));
	sum = result(1) + result(2) + result(3) + result(4);
	CU_ASSERT_EQUAL(sum, 0 + 5 + 10 + 15);
	CU_ASSERT_TRUE(result(3) != result(4) && result(2) != result(3) && result(2) != result(4));
	for (done = 0; rp_scqe(&rp, 0, &cqe); done++)
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(done, 4);
	end();
}

/* Its sender gives up; what it asks for next finds the word as the first left it. */
static void given_up(void)
{
	const struct hw_qp_attr attr = {.timeout = 8, .retry_cnt = 2};

	begin();
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
	B->port.host_late = true;
	add(0, 1, 5);
	rp_run(&rp, UINT64_C(2000000000));
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	add(0, 2, 7);
	rp_run(&rp, WAIT_NS / 8);
	CU_ASSERT_EQUAL(word(), 0);
	B->port.host_late = false;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 12 && result(2) == 5);
	end();
}

/* The answering queue pair goes away. */
static void destroyed_meanwhile(void)
{
	const struct fw_qp *qp = B->qp[0];

	begin();
	qp = B->qp[0];
	B->port.host_late = true;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	rp_destroy_qp(&rp, 1, qp);
	rp_run(&rp, 2 * QP_GRACE_NS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	/* The port has it still, and nobody waits for it. */
	CU_ASSERT_EQUAL(B->nic->host.slow_atomics.used, 1);
	CU_ASSERT_EQUAL(word(), 0);
	B->port.host_late = false;
	add_to(1, B->qp[1], 2, 7);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 12 && result(2) == 5);
	end();
}

/* The process goes away with all it has. */
static void detached_meanwhile(void)
{
	begin();
	B->port.host_late = true;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_EQUAL(B->nic->host.slow_atomics.used, 1);
	rp_detach(&rp, 1);
	CU_ASSERT_EQUAL(B->nic->host.slow_atomics.used, 0);
	rp_run(&rp, 2 * QP_GRACE_NS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	rp_detach(&rp, 0);
	rp_free(&rp);
}

/* The region goes away: what was begun under its rights is answered, nothing else is. */
static void deregistered_meanwhile(void)
{
	begin();
	B->port.host_late = true;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 1, unmapped), 0);
	B->port.host_late = false;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 5 && result(1) == 0);
	add(0, 2, 5);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(word(), 5);
	end();
}

/* The memory goes away, not its region. */
static void faults(void)
{
	begin();
	B->port.host_late = true;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	B->port.host_fault = true;
	B->port.host_late = false;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ACCESS_ERR);
	B->port.host_fault = false;
	add(0, 2, 7);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 7 && result(2) == 0);
	end();
}

static enum bench_verdict copy_requests(struct rp *r, const struct rp_info *info)
{
	(void)r;
	return info->from == 0 && info->type == WIRE_DGRAM_RD ? BENCH_COPY : BENCH_PASS;
}

static enum bench_verdict lose_answers(struct rp *r, const struct rp_info *info)
{
	return info->from == 1 && r->wire.frames++ < 40 ? BENCH_DROP : BENCH_PASS;
}

/* Requests that come twice, and answers that are lost. */
static void repeated(void)
{
	uint32_t i;

	begin();
	B->port.host_late = true;
	rp.filter = copy_requests;
	add(0, 1, 5);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_TRUE(rp.wire.num_kept > 1);
	rp.wire.frames = 0;
	rp.filter = lose_answers;
	B->port.host_late = false;
	for (i = 0; i < rp.wire.num_kept; i++)
		bench_wire_deliver(&rp.wire, i);
	rp_run(&rp, WAIT_NS);
	for (i = 0; i < rp.wire.num_kept; i++)
		bench_wire_deliver(&rp.wire, i);
	bench_wire_forget(&rp.wire);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(word() == 5 && result(1) == 0);
	CU_ASSERT_EQUAL(B->port.host_atomics, 1);
	end();
}

static enum bench_verdict lose_first(struct rp *r, const struct rp_info *info)
{
	return info->from == 0 && info->type == WIRE_DGRAM_RD && !r->wire.frames++ ? BENCH_DROP
										   : BENCH_PASS;
}

/* Requests that overtake a lost one are not held: what is held cannot wait for a page. */
static void overtaking(void)
{
	uint32_t i;

	begin();
	rp.wire.frames = 0;
	rp.filter = lose_first;
	B->port.host_busy = true;
	for (i = 0; i < 8; i++)
		add(0, i, 1);
	rp_run(&rp, WAIT_NS);
	CU_ASSERT_EQUAL(B->nic->rd.held.used, 0);
	B->port.host_busy = false;
	rp_quiet(&rp);
	for (i = 0; i < 8; i++) {
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(result(i), i);
	}
	CU_ASSERT_EQUAL(word(), 8);
	end();
}

/* A process has some records; those that nobody asks for make room after a minute. */
static void bounded(void)
{
	struct slow_atomic_key key;
	const struct fw_atomic op = {HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 0, 1};
	struct slow_atomic *last = NULL, *next;
	struct fw_mem mem;
	uint32_t i;

	begin();
	key = (struct slow_atomic_key){.qp = B->qp[0], .ssn = 1};
	fw_now(B->nic, rp.wire.now_ns);
	CU_ASSERT_EQUAL_FATAL(
	    mem_check(B->nic, B->pd, 0, unmapped, (uintptr_t)B->mem + WORD, 8, 0, &mem),
	    HW_VENDOR_ERR_NONE);
	for (i = 0; i < SLOW_ATOMICS_PER_CLIENT; i++) {
		key.src_qpn = key.src_ip = i;
		B->port.host_late = true;
		last = slow_atomic_begin(B->nic, &key, &mem, &op);
		CU_ASSERT_PTR_NOT_NULL_FATAL(last);
		/* While one is under way no other is begun. */
		key.src_qpn = key.src_ip = 1000;
		CU_ASSERT_PTR_NULL(slow_atomic_begin(B->nic, &key, &mem, &op));
		CU_ASSERT_FALSE(slow_atomic_is_over(B->nic, last));
		B->port.host_late = false;
		CU_ASSERT_TRUE(slow_atomic_is_over(B->nic, last));
	}
	CU_ASSERT_PTR_NULL(slow_atomic_begin(B->nic, &key, &mem, &op));
	CU_ASSERT_EQUAL(word(), SLOW_ATOMICS_PER_CLIENT);
	/* The next request of a flow ends the record of the one before it. */
	key.src_qpn = key.src_ip = 3;
	key.ssn = 2;
	next = slow_atomic_begin(B->nic, &key, &mem, &op);
	CU_ASSERT_PTR_NOT_NULL_FATAL(next);
	CU_ASSERT_EQUAL(next->original, SLOW_ATOMICS_PER_CLIENT);
	key.ssn = 1;
	CU_ASSERT_PTR_NULL(slow_atomic_find(B->nic, B->pd, &key));
	/* An earlier life of the session is another request. */
	key.ssn = 2;
	key.life = 1;
	CU_ASSERT_PTR_NULL(slow_atomic_find(B->nic, B->pd, &key));
	rp.wire.now_ns += SLOW_ATOMIC_IDLE_NS;
	fw_now(B->nic, rp.wire.now_ns);
	key = (struct slow_atomic_key){.qp = B->qp[0], .src_ip = 1, .src_qpn = 1, .ssn = 1};
	CU_ASSERT_PTR_NOT_NULL(slow_atomic_find(B->nic, B->pd, &key));
	key.src_qpn = key.src_ip = 1000;
	CU_ASSERT_PTR_NOT_NULL(slow_atomic_begin(B->nic, &key, &mem, &op));
	key.src_qpn = key.src_ip = 0;
	CU_ASSERT_PTR_NULL(slow_atomic_find(B->nic, B->pd, &key));
	key.src_qpn = key.src_ip = 1;
	CU_ASSERT_PTR_NOT_NULL(slow_atomic_find(B->nic, B->pd, &key));
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[0], HW_QPS_ERR, 0, NULL), 0);
	end();
}

/* Requests of a station that asks for no result, until none is begun. Returns how many were. */
static uint32_t hoard(const struct fw_mem *mem, uint32_t ip)
{
	struct slow_atomic_key key = {.qp = B->qp[0], .src_ip = ip, .ssn = 1};
	const struct fw_atomic op = {HW_ATOMIC_SUM, HW_ATOMIC_UINT64, 0, 1};
	struct slow_atomic *atomic;

	for (key.src_qpn = 0; key.src_qpn <= SLOW_ATOMICS_PER_CLIENT; key.src_qpn++) {
		B->port.host_late = true;
		atomic = slow_atomic_begin(B->nic, &key, mem, &op);
		B->port.host_late = false;
		if (!atomic)
			break;
		CU_ASSERT_TRUE(slow_atomic_is_over(B->nic, atomic));
	}
	return key.src_qpn;
}

/* A station alone gets most records, and leaves some to others, who do the same. */
static void shared_by_stations(void)
{
	struct fw_mem mem;

	begin();
	fw_now(B->nic, rp.wire.now_ns);
	CU_ASSERT_EQUAL_FATAL(
	    mem_check(B->nic, B->pd, 0, unmapped, (uintptr_t)B->mem + WORD, 8, 0, &mem),
	    HW_VENDOR_ERR_NONE);
	CU_ASSERT_EQUAL(hoard(&mem, 1), 22);
	CU_ASSERT_EQUAL(hoard(&mem, 2), 7);
	CU_ASSERT_EQUAL(hoard(&mem, 3), 2);
	CU_ASSERT_EQUAL(hoard(&mem, 4), 1);
	CU_ASSERT_EQUAL(hoard(&mem, 5), 0);
	/* No client has asked for any during a minute. */
	rp.wire.now_ns += SLOW_ATOMIC_IDLE_NS;
	fw_now(B->nic, rp.wire.now_ns);
	CU_ASSERT_EQUAL(hoard(&mem, 5), 22);
	CU_ASSERT_EQUAL(B->nic->host.slow_atomics.used, 22);
	CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[0], HW_QPS_ERR, 0, NULL), 0);
	end();
}

UT_MAIN("pair/slow_atomic", UT(not_begun), UT(begun_and_late), UT(on_the_same_word), UT(given_up),
	UT(destroyed_meanwhile), UT(detached_meanwhile), UT(deregistered_meanwhile), UT(faults),
	UT(repeated), UT(overtaking), UT(bounded), UT(shared_by_stations))
