/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends that their sender gives up in the middle: the receives that they took come back, in any
 * order of arrival, and no other message is affected.
 */
#include "tests/pair/rd_pair.h"

enum {
	SEGMENTS = 4,
	BYTES = SEGMENTS * 1392,
};

static struct rp rp;
static uint32_t lost; /* bits of the Send's packets, in order, that are kept back */
static uint32_t sends, cancels_lost;

#define A (&rp.end[0])
#define B (&rp.end[1])

static enum bench_verdict some(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from != 0 || info->type != WIRE_DGRAM_RD)
		return BENCH_PASS;
	if (info->is_void && info->frame->n > 120 && cancels_lost) {
		cancels_lost--;
		return BENCH_DROP;
	}
	if (info->is_void || info->opcode != WIRE_RDMAP_SEND)
		return BENCH_PASS;
	return lost >> sends++ & 1 ? BENCH_KEEP : BENCH_PASS;
}

static void begin(uint32_t lose)
{
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	lost = lose;
	sends = cancels_lost = 0;
	rp.filter = some;
	for (i = 0; i < 6; i++)
		rp_recv(&rp, 1, B->qp[0], i, 10000 * (i + 1), BYTES);
}

/* A message of another QP arrives whole in the receive of this number. */
static void other_works(uint64_t wr_id)
{
	rp.filter = NULL;
	rp_send(&rp, 0, A->qp[1], B->qp[0], 77, 0, BYTES);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 77, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, wr_id, HW_STATUS_SUCCESS);
}

/* Every subset of its four packets is there when the QP ends; then the others arrive, or never. */
static void every_subset(void)
{
	uint32_t mask, late;

	for (mask = 1; mask < 1 << SEGMENTS; mask++)
		for (late = 0; late < 3; late++) {
			uint32_t taken = mask != (1 << SEGMENTS) - 1, i;

			begin(mask);
			cancels_lost = mask % 3;
			rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, BYTES);
			rp_settle(&rp);
			CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, taken);
			rp_destroy_qp(&rp, 0, A->qp[0]);
			/* Before the voids, or after the end. */
			for (i = 0; late == 1 && i < rp.wire.num_kept; i++)
				bench_wire_deliver(&rp.wire, i);
			rp_run(&rp, 20000000);
			for (i = 0; late == 2 && i < rp.wire.num_kept; i++)
				bench_wire_deliver(&rp.wire, i);
			rp_quiet(&rp);
			CU_ASSERT_EQUAL(RP_CNT(&rp, 0, rd_cancels_tx), 1);
			CU_ASSERT_EQUAL(RP_CNT(&rp, 1, rd_cancels_rx), 1);
			CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 0);
			if (late == 1) {
				/* All packets arrived in the end: the message is complete. */
				rp_expect_recv(&rp, 1, 0, HW_STATUS_SUCCESS);
				taken = 1;
			} else if (taken) {
				rp_expect_recv(&rp, 1, 0, HW_STATUS_REM_ABORT_ERR);
			}
			rp_expect_none(&rp);
			CU_ASSERT_EQUAL(rp_session(&rp, 1)->cancels, 0);
			other_works(taken);
			rp_end(&rp);
		}
}

/* All its packets are acknowledged and the rest was not sent: nothing is in flight. */
static void between_packets(void)
{
	begin(0);
	rp_session(&rp, 0)->cwnd = 1;
	rp_session(&rp, 0)->cwnd_fp = 256;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, BYTES);
	while (sends < 2) {
		rp_poll(&rp, 0);
		rp_poll(&rp, 1);
	}
	rp_destroy_qp(&rp, 0, A->qp[0]);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_REM_ABORT_ERR);
	other_works(1);
	rp_end(&rp);
}

/* Several messages, early ones after a lost one; earlier messages of the QP are not affected. */
static void several(void)
{
	uint32_t i;

	begin(1u << 1);
	for (i = 0; i < 4; i++)
		rp_send(&rp, 0, A->qp[0], B->qp[0], i, 0, 8);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 2);
	rp_destroy_qp(&rp, 0, A->qp[0]);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_REM_ABORT_ERR);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	other_works(3);
	rp_end(&rp);
}

static enum bench_verdict drop_sends(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from == 0 && info->ddp && sends++)
		return BENCH_DROP;
	return BENCH_PASS;
}

/* The QP gave up one message and continues: its next one keeps its receive. */
static void goes_on(void)
{
	struct hw_qp_attr attr = {.timeout = 8, .retry_cnt = 1};

	begin(0);
	CU_ASSERT_EQUAL(
	    rp_modify(&rp, 0, A->qp[0], HW_QPS_RTS, HW_QP_TIMEOUT | HW_QP_RETRY_CNT, &attr), 0);
	rp.filter = drop_sends;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, BYTES);
	rp_run(&rp, 30000000);
	rp_expect_send(&rp, 0, 1, HW_STATUS_RETRY_EXC_ERR);
	rp.filter = some;
	lost = 1;
	sends = 0;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, BYTES);
	rp_settle(&rp);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_REM_ABORT_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Forged cancellations: of other lengths, for QPs that do not exist or hold nothing. */
static void forged(void)
{
	struct wire_rd_cancel cancel = {.src_qpn = be32_put(2), .last_ssn = be32_put(UINT32_MAX)};
	const struct rd_session *s;
	uint32_t qpn;

	begin(1u << 1);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, BYTES);
	rp_settle(&rp);
	s = rp_session(&rp, 1);
	for (qpn = 0; qpn < 1u << 21; qpn += 1u << 16) {
		cancel.dst_qpn = be32_put(qpn + 7);
		rd_cancel_rx(B->nic, s, &cancel);
	}
	cancel.dst_qpn = be32_put(B->qp[0]->qpn);
	cancel.src_qpn = be32_put(A->qp[1]->qpn);
	rd_cancel_rx(B->nic, s, &cancel);
	cancel.src_qpn = be32_put(A->qp[0]->qpn);
	cancel.first_ssn = be32_put(A->qp[0]->ssn + 1);
	cancel.last_ssn = be32_put(A->qp[0]->ssn - 1);
	rd_cancel_rx(B->nic, s, &cancel);
	rp_expect_none(&rp);
	rp.filter = NULL;
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

UT_MAIN("pair/rd_cancel", UT(every_subset), UT(between_packets), UT(several), UT(goes_on),
	UT(forged))
