/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short requests that take no context: their data are copied, and they are complete at once; those
 * that cannot be carried out so take a context, and nothing of them is done twice.
 */
#include "tests/pair/wqe_fix.h"

enum {
	MOST = LLP_NOW_BYTES,
	RECV_AT = 65536,
};

static struct fw_qp *a, *b;

/* Two queue pairs of UD or UC; the session of RD is of no use here. */
static void pair_of(enum hw_qp_type type)
{
	begin();
	if (type == HW_QPT_UC)
		rp_uc(&rp, &a, &b);
	else
		rp_ud(&rp, &a, &b);
	rp_quiet(&rp);
}

static uint32_t grh_bytes(void)
{
	return a->type == HW_QPT_UD ? HW_GRH_BYTES : 0;
}

static struct hw_sq_wqe send_to_b(uint64_t wr_id)
{
	struct hw_sq_wqe wqe = good_send();

	wqe.wr_id = wr_id;
	wqe.dst_qpn = b->qpn;
	return wqe;
}

/* Writes a Send of so many bytes of the memory, or inline, without a doorbell. */
static void write_send(uint64_t wr_id, uint32_t bytes, bool inlined)
{
	struct hw_sq_wqe wqe = send_to_b(wr_id);
	struct hw_sge sge = good_sge();

	sge.bytes = bytes;
	if (inlined) {
		wqe.flags |= HW_WQE_F_INLINE;
		wqe.num_sge = 0;
		wqe.inline_bytes = bytes;
		wqe.slots = (uint8_t)hw_sq_slots(bytes);
		rp_write_sq(a, &wqe, A->mem, bytes);
	} else {
		rp_write_sq(a, &wqe, &sge, sizeof(sge));
	}
}

/* The number of contexts that were taken since the last call. */
static uint32_t contexts(void)
{
	uint32_t taken = A->nic->host.wqes.used_max;

	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
	A->nic->host.wqes.used_max = 0;
	return taken;
}

/* Sends so many bytes, which need a context only if they are too many, or wrap in the ring. */
static void send_one(uint32_t bytes, bool inlined)
{
	uint32_t wraps =
	    inlined && ((a->sq_next + 1) & a->sq_mask) + hw_sq_slots(bytes) - 1 > a->sq_mask + 1;
	struct hw_cqe cqe;

	rp_fill(A->mem, 2 * MOST, bytes + inlined);
	rp_recv(&rp, 1, b, bytes, RECV_AT, 1024);
	write_send(bytes, bytes, inlined);
	rp_ring(&rp, 0, a);
	rp_poll(&rp, 0);
	/* The process may use its memory again. */
	rp_expect_send(&rp, 0, bytes, HW_STATUS_SUCCESS);
	memset(A->mem, 0, 2 * MOST);
	CU_ASSERT_EQUAL(a->record->sq_cons, a->record->sq_prod);
	rp_settle(&rp);
	cqe = rp_expect_recv(&rp, 1, bytes, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe.bytes, grh_bytes() + bytes);
	CU_ASSERT_EQUAL(contexts(), bytes > MOST || wraps);
	rp_fill(A->mem, 2 * MOST, bytes + inlined);
	CU_ASSERT_EQUAL(memcmp(B->mem + RECV_AT + grh_bytes(), A->mem, bytes), 0);
}

/* Each length, by an SGE and inline, several times round the ring, and most at each place of it. */
static void each_length(enum hw_qp_type type)
{
	uint32_t bytes, place;

	pair_of(type);
	(void)contexts();
	for (bytes = 0; bytes <= 2 * MOST; bytes++) {
		send_one(bytes, false);
		send_one(bytes, true);
	}
	CU_ASSERT_TRUE(a->sq_next > 3 * 256);
	for (bytes = 1; bytes <= MOST; bytes += 19) {
		for (place = a->sq_mask - 3; place <= a->sq_mask; place++) {
			while ((a->sq_next & a->sq_mask) != place)
				send_one(0, true);
			send_one(bytes, true);
		}
	}
	rp_end(&rp);
}

static void each_length_of_ud(void)
{
	each_length(HW_QPT_UD);
}

static void each_length_of_uc(void)
{
	each_length(HW_QPT_UC);
}

/* Short ones behind a long one wait for it; those after it do not. All arrive in their order. */
static void order_is_kept(void)
{
	static const uint32_t bytes[] = {8, 500, 8, 16, 700, 8};
	struct hw_cqe cqe;
	uint32_t i, n = sizeof(bytes) / sizeof(bytes[0]);

	pair_of(HW_QPT_UD);
	(void)contexts();
	for (i = 0; i < n; i++) {
		rp_recv(&rp, 1, b, i, RECV_AT, 1024);
		write_send(i, bytes[i], false);
	}
	rp_ring(&rp, 0, a);
	rp_settle(&rp);
	for (i = 0; i < n; i++) {
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		cqe = rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.bytes, HW_GRH_BYTES + bytes[i]);
	}
	CU_ASSERT_EQUAL(contexts(), n - 1);
	CU_ASSERT_EQUAL(a->ssn, n);
	rp_end(&rp);
}

/* Without room in the port a request waits in a context, and is sent once. */
static void without_room(void)
{
	pair_of(HW_QPT_UD);
	(void)contexts();
	rp_recv(&rp, 1, b, 1, RECV_AT, 1024);
	rp_tx_room(&rp, 0);
	write_send(1, 8, false);
	rp_ring(&rp, 0, a);
	rp_settle(&rp);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 1);
	CU_ASSERT_EQUAL(a->ssn, 1);
	rp_tx_room(&rp, 32);
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	(void)rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(contexts(), 1);
	CU_ASSERT_EQUAL(a->ssn, 1);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, ud_tx_msgs), 1);
	rp_end(&rp);
}

/* A fault is reported once, has no number, and stops the queue. */
static void faults(void)
{
	struct hw_sge sge;
	struct hw_sq_wqe wqe;
	uint32_t ssn, i;

	pair_of(HW_QPT_UD);
	for (i = 0; i < 3; i++) {
		uint64_t bad = RP_CNT(&rp, 0, wqes_bad);
		struct hw_cqe cqe;

		ssn = a->ssn;
		wqe = send_to_b(5);
		sge = good_sge();
		if (i == 0)
			sge.lkey ^= 1;
		else if (i == 1)
			sge.addr += RP_MEM_BYTES;
		else
			wqe.ah ^= 77;
		rp_write_sq(a, &wqe, &sge, sizeof(sge));
		write_send(6, 8, false);
		rp_ring(&rp, 0, a);
		rp_settle(&rp);
		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.wr_id, 5);
		CU_ASSERT_NOT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe.vendor_err, i == 0   ? HW_VENDOR_ERR_LKEY
						: i == 1 ? HW_VENDOR_ERR_BOUNDS
							 : HW_VENDOR_ERR_AH);
		rp_expect_send(&rp, 0, 6, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(RP_CNT(&rp, 0, wqes_bad), bad + 1);
		CU_ASSERT_EQUAL(a->ssn, ssn);
		CU_ASSERT_EQUAL(a->state, HW_QPS_SQE);
		CU_ASSERT_EQUAL(rp_modify(&rp, 0, a, HW_QPS_RTS, 0, NULL), 0);
	}
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, ud_tx_msgs), 0);
	rp_end(&rp);
}

/*
 * A request that waited for room fails when it goes on, with more behind it than a turn flushes:
 * none of them is sent.
 */
static void none_behind_a_late_fault(void)
{
	enum {
		BEHIND = 100,
	};
	struct hw_sge sge;
	struct hw_sq_wqe wqe;
	uint32_t i, stag;

	pair_of(HW_QPT_UD);
	stag = rp_reg(&rp, 0, A->mem, 4096, HW_ACCESS_LOCAL_WRITE, true);
	wqe = send_to_b(0);
	sge = good_sge();
	sge.lkey = stag;
	rp_tx_room(&rp, 0);
	rp_write_sq(a, &wqe, &sge, sizeof(sge));
	for (i = 1; i <= BEHIND; i++)
		write_send(i, 8, false);
	rp_ring(&rp, 0, a);
	rp_settle(&rp);
	rp_expect_none(&rp);
	CU_ASSERT_EQUAL(rp_dereg(&rp, 0, stag), 0);
	rp_tx_room(&rp, 32);
	rp_settle(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_LOC_PROT_ERR);
	for (i = 1; i <= BEHIND; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, ud_tx_msgs), 0);
	CU_ASSERT_EQUAL(a->state, HW_QPS_SQE);
	rp_end(&rp);
}

/* Without HW_WQE_F_SIGNALED only the index shows that it is over. */
static void unsignalled(void)
{
	struct hw_sq_wqe wqe;
	struct hw_sge sge;

	pair_of(HW_QPT_UD);
	sge = good_sge();
	wqe = send_to_b(9);
	wqe.flags = 0;
	rp_recv(&rp, 1, b, 1, RECV_AT, 1024);
	rp_write_sq(a, &wqe, &sge, sizeof(sge));
	rp_ring(&rp, 0, a);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(a->record->sq_cons, a->record->sq_prod);
	(void)rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_expect_none(&rp);
	rp_end(&rp);
}

/* A full CQ ends the queue pair, as it does with requests in contexts. */
static void overrun(void)
{
	struct fw_cq *cq;
	uint32_t i;

	pair_of(HW_QPT_UD);
	cq = A->scq;
	cq->record->cons = cq->prod - cq->mask + 1;
	cq->cons = cq->record->cons;
	for (i = 0; i < 4; i++)
		write_send(i, 8, false);
	rp_ring(&rp, 0, a);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(a->state, HW_QPS_ERR);
	CU_ASSERT_EQUAL(RP_CNT(&rp, 0, ud_tx_msgs), 3);
	CU_ASSERT_TRUE(cq->overrun);
	CU_ASSERT_EQUAL(A->nic->host.wqes.used, 0);
	rp_detach(&rp, 0);
	rp_detach(&rp, 1);
	rp_free(&rp);
}

/* A request whose sender seems to wait for it makes turns short. */
static void lone_ones(void)
{
	uint32_t n, i;

	pair_of(HW_QPT_UD);
	for (n = 1; n < 8; n++) {
		struct hw_cqe cqe;

		for (i = 0; i < n; i++)
			write_send(i, 8, false);
		rp_ring(&rp, 0, a);
		rp_poll(&rp, 0);
		CU_ASSERT_EQUAL(!!(A->nic->turn_did & FW_DID_LONE), n <= FW_LONE_REQUESTS);
		rp_settle(&rp);
		while (rp_scqe(&rp, 0, &cqe))
			CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
	}
	rp_end(&rp);
}

UT_MAIN("pair/wqe_now", UT(each_length_of_ud), UT(each_length_of_uc), UT(order_is_kept),
	UT(without_room), UT(faults), UT(none_behind_a_late_fault), UT(unsignalled), UT(overrun),
	UT(lone_ones))
