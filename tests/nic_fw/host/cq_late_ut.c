/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues beside a copy to the process's memory that comes late: failed entries and those
 * behind them stay invisible until it is over, as do their events, also through a resize.
 */
#include "tests/nic_fw/host/cq_fix.h"

static bool post_failed(struct fw_ut *ut, struct fw_cq *cq, uint64_t wr_id)
{
	struct hw_cqe cqe = good(wr_id);

	cqe.status = HW_STATUS_WR_FLUSH_ERR;
	return cq_post(ut->nic, cq, &cqe);
}

/* A copy of client 0 that was given up; over when port.host_writes_late is false. */
static void begin_late_copy(struct fw_ut *ut)
{
	static uint8_t memory[8];
	const uint8_t data[8] = {1};
	const struct fw_mem mem = {.addr = (uintptr_t)memory};

	ut->port.host_writes_late = true;
	CU_ASSERT_FALSE(mem_write(ut->nic, &mem, 0, data, sizeof(data)));
}

static void end_late_copy(struct fw_ut *ut)
{
	ut->port.host_writes_late = false;
	fw_ut_poll(ut, 1000000);
}

/* The failed entry and those behind it wait for the copy, in order; their event, too. */
static void entries_wait_for_late_copies(void)
{
	uint32_t eq, lap, i, at;
	struct hw_cqe cqe;
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 64);
	cq = host_cq(ut.nic, 0, 4, eq);
	for (lap = 0; lap < 7; lap++) {
		at = lap * 3;
		arm(&ut, cq, at, lap % 2);
		begin_late_copy(&ut);
		CU_ASSERT_TRUE(post_failed(&ut, cq, at));
		CU_ASSERT_TRUE(post(&ut, cq, at + 1));
		CU_ASSERT_TRUE(post_failed(&ut, cq, at + 2));
		fw_ut_poll(&ut, 1000000);
		CU_ASSERT_FALSE(host_cqe(cq, at, &cqe));
		CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
		arm(&ut, cq, at, lap % 2);
		CU_ASSERT_FALSE(fw_ut_event(&ut, 0, eq, &eqe));
		end_late_copy(&ut);
		CU_ASSERT_TRUE(fw_ut_event(&ut, 0, eq, &eqe));
		for (i = 0; i < 3; i++) {
			CU_ASSERT_TRUE(host_cqe(cq, at + i, &cqe));
			CU_ASSERT_EQUAL(cqe.wr_id, at + i);
			CU_ASSERT_EQUAL(cqe.status,
					i == 1 ? HW_STATUS_SUCCESS : HW_STATUS_WR_FLUSH_ERR);
		}
		CU_ASSERT_FALSE(host_cqe(cq, at + 3, &cqe));
		cq->record->cons = at + 3;
	}
	CU_ASSERT_EQUAL(ut.nic->counters.cqes_late, 7);
	/* Without a late copy nothing waits, and beside one no request that succeeded. */
	CU_ASSERT_TRUE(post_failed(&ut, cq, at + 3));
	CU_ASSERT_TRUE(host_cqe(cq, at + 3, &cqe));
	cqe = good(at + 4);
	cqe.opcode = HW_CQE_SEND;
	begin_late_copy(&ut);
	CU_ASSERT_TRUE(cq_post(ut.nic, cq, &cqe));
	CU_ASSERT_TRUE(host_cqe(cq, at + 4, &cqe));
	/* A receive may have been that of an earlier message, which was lost. */
	CU_ASSERT_TRUE(post(&ut, cq, at + 5));
	CU_ASSERT_FALSE(host_cqe(cq, at + 5, &cqe));
	end_late_copy(&ut);
	CU_ASSERT_TRUE(host_cqe(cq, at + 5, &cqe));
	fw_ut_end(&ut);
}

/* Completions that vector 0 counts as told. */
static uint64_t told(const struct fw_ut *ut)
{
	const struct moder_vector *vector = &ut->nic->host.vectors[0];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < sizeof(vector->wait) / sizeof(vector->wait[0]); i++)
		sum += vector->wait[i];
	return sum;
}

/*
 * A process arms behind entries that wait for a late copy and that it cannot have seen: its lie
 * counts at most a queue's entries on the vector that it shares with others.
 */
static void armed_behind_late_entries(void)
{
	struct hw_eqe eqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 64);
	cq = host_cq(ut.nic, 0, 4, eq);
	begin_late_copy(&ut);
	CU_ASSERT_TRUE(post_failed(&ut, cq, 0));
	CU_ASSERT_TRUE(post_failed(&ut, cq, 1));
	arm(&ut, cq, 2, false);
	fw_ut_poll(&ut, 1000000);
	(void)fw_ut_event(&ut, 0, eq, &eqe);
	CU_ASSERT_TRUE(told(&ut) <= 4);
	end_late_copy(&ut);
	CU_ASSERT_TRUE(told(&ut) <= 8);
	fw_ut_end(&ut);
}

static bool tells_last_wqe(struct fw_ut *ut, const struct fw_qp *qp)
{
	struct hw_eqe eqe;

	if (!fw_ut_event(ut, 0, 0, &eqe))
		return false;
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_QP_LAST_WQE);
	CU_ASSERT_EQUAL(eqe.id, qp->qpn);
	return true;
}

/* A QP with an SRQ tells its last receive when the process can see it, also if another ends first.
 */
static void the_last_receive_is_told_behind_late_entries(void)
{
	struct fw_qp *qp, *reset;
	struct hw_cqe cqe;
	struct fw_srq *srq;
	struct fw_cq *cq;
	struct fw_ut ut;
	uint32_t pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
	srq = host_srq(ut.nic, 0, pd, 4, 1);
	qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, srq->index);
	reset = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, srq->index);
	host_rts(ut.nic, qp, 0);
	host_rts(ut.nic, reset, 0);
	begin_late_copy(&ut);
	CU_ASSERT_TRUE(post_failed(&ut, cq, 1));
	CU_ASSERT_EQUAL(host_modify(ut.nic, qp, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_EQUAL(host_modify(ut.nic, reset, HW_QPS_ERR, 0, NULL), 0);
	fw_ut_poll(&ut, 1000000);
	CU_ASSERT_FALSE(host_cqe(cq, 0, &cqe));
	CU_ASSERT_FALSE(tells_last_wqe(&ut, qp));
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	/* The answer to RESET waits as well; the QP tells nothing any more. */
	CU_ASSERT_EQUAL(host_modify(ut.nic, reset, HW_QPS_RESET, 0, NULL), -1);
	CU_ASSERT_FALSE(reset->flushing);
	end_late_copy(&ut);
	CU_ASSERT_TRUE(host_cqe(cq, 0, &cqe));
	fw_ut_poll(&ut, 1);
	CU_ASSERT_TRUE(tells_last_wqe(&ut, qp));
	CU_ASSERT_FALSE(tells_last_wqe(&ut, reset));
	CU_ASSERT_FALSE(qp->flushing);
	/* Its process may end while a QP waits. */
	host_rts(ut.nic, reset, 0);
	begin_late_copy(&ut);
	CU_ASSERT_TRUE(post_failed(&ut, cq, 2));
	CU_ASSERT_EQUAL(host_modify(ut.nic, reset, HW_QPS_ERR, 0, NULL), 0);
	CU_ASSERT_TRUE(reset->flushing);
	fw_ut_end(&ut);
}

/* Waiting entries stay invisible in a new ring, whichever comes first. */
static void waiting_entries_are_resized(void)
{
	struct hw_cmd_resp resp;
	uint32_t start, i;
	struct hw_cqe cqe;
	struct fw_ut ut;
	struct fw_cq *cq;

	for (start = 0; start < 20; start++) {
		fw_ut_begin(&ut);
		cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
		for (i = 0; i < start; i++) {
			CU_ASSERT_TRUE(post(&ut, cq, i));
			cq->record->cons = i + 1;
		}
		CU_ASSERT_TRUE(post(&ut, cq, start));
		begin_late_copy(&ut);
		CU_ASSERT_TRUE(post_failed(&ut, cq, start + 1));
		CU_ASSERT_TRUE(post(&ut, cq, start + 2));
		CU_ASSERT_EQUAL_FATAL(resize(&ut, cq, start % 2 ? 4 : 16, &resp), 0);
		CU_ASSERT_TRUE(host_cqe(cq, start, &cqe));
		CU_ASSERT_FALSE(host_cqe(cq, start + 1, &cqe));
		end_late_copy(&ut);
		for (i = start; i < start + 3; i++) {
			CU_ASSERT_TRUE(host_cqe(cq, i, &cqe));
			CU_ASSERT_EQUAL(cqe.wr_id, i);
		}
		CU_ASSERT_FALSE(host_cqe(cq, i, &cqe));
		/* A CQ that is destroyed meanwhile is forgotten. */
		begin_late_copy(&ut);
		CU_ASSERT_TRUE(post_failed(&ut, cq, i));
		fw_ut_end(&ut);
	}
}

/* The copy is over when a resize has copied the entry, and before it ends. */
static void an_entry_appears_during_a_resize(void)
{
	enum {
		ENTRIES = 2048,
		POSTED = 1000,
	};
	struct hw_cmd_resp resp;
	struct hw_cqe cqe;
	struct fw_ut ut;
	struct fw_cq *cq;
	uint32_t i;

	fw_ut_begin(&ut);
	cq = host_cq(ut.nic, 0, ENTRIES, HW_EQ_NONE);
	begin_late_copy(&ut);
	for (i = 0; i < POSTED; i++)
		CU_ASSERT_TRUE(post_failed(&ut, cq, i));
	CU_ASSERT_EQUAL(resize(&ut, cq, 2 * ENTRIES, &resp), -1);
	for (i = 0; i < ENTRIES && !cq->resize.copied; i++)
		fw_ut_poll(&ut, 1);
	CU_ASSERT_TRUE(cq->resize.copied && cq->resize.copied != cq->prod);
	CU_ASSERT_FALSE(host_cqe(cq, 0, &cqe));
	end_late_copy(&ut);
	CU_ASSERT_TRUE(cq->resize.serial && host_cqe(cq, 0, &cqe));
	for (i = 0; i < ENTRIES && cq->resize.serial; i++)
		fw_ut_poll(&ut, 1);
	CU_ASSERT_EQUAL(cq->mask, 2 * ENTRIES - 1);
	for (i = 0; i < POSTED; i++)
		CU_ASSERT_TRUE_FATAL(host_cqe(cq, i, &cqe) && cqe.wr_id == i &&
				     cqe.status != HW_STATUS_SUCCESS);
	CU_ASSERT_FALSE(host_cqe(cq, POSTED, &cqe));
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/cq_late", UT(entries_wait_for_late_copies), UT(armed_behind_late_entries),
	UT(the_last_receive_is_told_behind_late_entries), UT(waiting_entries_are_resized),
	UT(an_entry_appears_during_a_resize))
