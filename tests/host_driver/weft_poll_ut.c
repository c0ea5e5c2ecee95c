/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_driver/weft_poll.c, weft_cq.c: completions, phases, resizing, and polling without a NIC.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/host_driver/fake_nic.h"
#include "tests/ut.h"

static const struct weft_qp_cap cap = {
    .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1};

static struct weft_cq_obj *obj(const struct weft_cq *cq)
{
	return weft_container_of(cq, struct weft_cq_obj, pub);
}

static void every_field(void)
{
	struct fake_setup s;
	struct hw_cqe cqe = {
	    .wr_id = 0x123456789,
	    .bytes = 77,
	    .imm_inv = 0xcafe,
	    .src_qpn = 4711,
	    .status = HW_STATUS_SUCCESS,
	    .opcode = HW_CQE_RECV,
	    .flags = HW_CQE_F_IMM | HW_CQE_F_GRH | HW_CQE_F_SOLICITED,
	    .src_ip = 0x0100000a,
	    .vendor_err = 3,
	    .record_to = 9,
	    .record_map = 10,
	};
	struct weft_wc wc[2];

	fake_setup(&s, WEFT_QPT_UD, &cap, 4);
	cqe.qpn = s.qp->qpn;
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 2, wc), 0);
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 0x123456789);
	CU_ASSERT_EQUAL(wc[0].timestamp_ns, 1000);
	CU_ASSERT_EQUAL(wc[0].status, WEFT_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc[0].opcode, WEFT_WC_RECV);
	CU_ASSERT_EQUAL(wc[0].vendor_err, 3);
	CU_ASSERT_EQUAL(wc[0].bytes, 77);
	CU_ASSERT_EQUAL(wc[0].qpn, s.qp->qpn);
	CU_ASSERT_EQUAL(wc[0].src_qpn, 4711);
	CU_ASSERT_EQUAL(wc[0].src_ip, 0x0100000a);
	CU_ASSERT_EQUAL(wc[0].flags, WEFT_WC_F_IMM | WEFT_WC_F_GRH | WEFT_WC_F_SOLICITED);
	CU_ASSERT_EQUAL(wc[0].imm, 0xcafe);
	CU_ASSERT_EQUAL(wc[0].inv_stag, 0);
	cqe.opcode = HW_CQE_RECV_WRITE_RECORD;
	cqe.flags = HW_CQE_F_INV;
	cqe.sq_index = 0x700;
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 2, wc), 1);
	CU_ASSERT_EQUAL(wc[0].imm, 0);
	CU_ASSERT_EQUAL(wc[0].inv_stag, 0xcafe);
	CU_ASSERT_EQUAL(wc[0].record_stag, 0x700);
	CU_ASSERT_EQUAL(wc[0].record_piece_bytes, 3);
	CU_ASSERT_EQUAL(wc[0].vendor_err, 0);
	CU_ASSERT_EQUAL(wc[0].record_to, 9);
	CU_ASSERT_EQUAL(wc[0].record_map, 10);
	fake_teardown(&s);
}

/* Bursts of one to four through a ring of four, indices passing 2^32. */
static void phases_flip(void)
{
	struct fake_setup s;
	struct hw_cqe cqe = {.opcode = HW_CQE_RECV};
	struct weft_wc wc[8];
	uint64_t sent = 0, got = 0;
	const uint32_t start = UINT32_MAX - 21;
	struct fake_cq *hw;

	fake_setup(&s, WEFT_QPT_UD, &cap, 4);
	cqe.qpn = s.qp->qpn;
	hw = &s.nic->cq[s.cq->handle];
	hw->prod = start;
	obj(s.cq)->cons = start;
	for (unsigned i = 0; i < 4; i++) /* as they would be in the ring */
		hw->ring[(start + i) & 3].phase = (start + i) & 4 ? 1 : 0;
	for (unsigned round = 0; round < 40; round++) {
		unsigned burst = round % 4 + 1;
		int n;

		for (unsigned i = 0; i < burst; i++) {
			cqe.wr_id = sent++;
			fake_cqe(s.nic, s.cq, cqe);
		}
		n = weft_poll_cq(s.cq, 8, wc);
		CU_ASSERT_EQUAL(n, (int)burst);
		for (int i = 0; i < n; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, got++);
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 8, wc), 0);
		CU_ASSERT_EQUAL(hw->record->cons, hw->prod);
	}
	CU_ASSERT_EQUAL(got, sent);
	fake_teardown(&s);
}

static void resize_keeps_what_waits(void)
{
	struct fake_setup s;
	struct hw_cqe cqe = {.opcode = HW_CQE_RECV};
	struct weft_wc wc[64];
	uint32_t sizes[] = {4, 32, 4, 64, 8};
	uint64_t sent = 0, got = 0;

	fake_setup(&s, WEFT_QPT_UD, &cap, 4);
	cqe.qpn = s.qp->qpn;
	for (unsigned round = 0; round < 60; round++) {
		int n;

		for (unsigned i = 0; i < 3; i++) {
			cqe.wr_id = sent++;
			fake_cqe(s.nic, s.cq, cqe);
		}
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, wc), 1);
		CU_ASSERT_EQUAL(wc[0].wr_id, got++);
		CU_ASSERT_EQUAL(weft_resize_cq(s.cq, sizes[round % 5]), 0);
		CU_ASSERT_EQUAL(s.cq->entries, sizes[round % 5]);
		cqe.wr_id = sent++;
		fake_cqe(s.nic, s.cq, cqe);
		n = weft_poll_cq(s.cq, 64, wc);
		CU_ASSERT_EQUAL(n, 3);
		for (int i = 0; i < n; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, got++);
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 64, wc), 0);
	}
	s.nic->fail_op = HW_CMD_RESIZE_CQ;
	s.nic->fail_status = EBUSY;
	CU_ASSERT_EQUAL(weft_resize_cq(s.cq, 16), -EBUSY);
	CU_ASSERT_EQUAL(s.cq->entries, 8);
	fake_teardown(&s);
}

/* Entries of a destroyed or reset QP in the CQ are skipped, others' are returned. */
static void purged_with_its_qp(void)
{
	struct fake_setup s;
	struct weft_qp_init_attr attr = {.type = WEFT_QPT_UD, .cap = cap};
	struct weft_qp_attr reset = {.state = WEFT_QPS_RESET};
	struct hw_cqe cqe = {.opcode = HW_CQE_RECV};
	struct weft_wc wc[8];
	struct weft_qp *other;

	fake_setup(&s, WEFT_QPT_UD, &cap, 16);
	attr.send_cq = attr.recv_cq = s.cq;
	other = weft_create_qp(s.pd, &attr);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	for (unsigned i = 0; i < 3; i++) {
		cqe.wr_id = i;
		cqe.qpn = other->qpn;
		fake_cqe(s.nic, s.cq, cqe);
		cqe.qpn = s.qp->qpn;
		fake_cqe(s.nic, s.cq, cqe);
	}
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, wc), 1);
	CU_ASSERT_EQUAL(weft_destroy_qp(other), 0);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 2, wc), 2);
	CU_ASSERT_EQUAL(wc[0].qpn, s.qp->qpn);
	CU_ASSERT_EQUAL(wc[1].wr_id, 1);
	CU_ASSERT_EQUAL(weft_modify_qp(s.qp, &reset, WEFT_QP_STATE), 0);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 8, wc), 0);
	CU_ASSERT_EQUAL(s.nic->cq[0].record->cons, 6);
	fake_teardown(&s);
}

/*
 * Room for removed entries is free before the next poll, at every place of the ring: a process that
 * counts its requests in flight never sees its queue overrun.
 */
static void purged_makes_room(void)
{
	struct fake_setup s;
	struct weft_qp_init_attr attr = {.type = WEFT_QPT_UD, .cap = cap};
	struct hw_cqe cqe = {.opcode = HW_CQE_RECV};
	struct weft_wc wc[8];
	struct weft_qp *other;
	uint64_t sent = 0;

	fake_setup(&s, WEFT_QPT_UD, &cap, 8);
	attr.send_cq = attr.recv_cq = s.cq;
	for (unsigned round = 0; round < 21; round++) {
		uint64_t first = sent;
		uint32_t cons = s.nic->cq[0].record->cons;

		other = weft_create_qp(s.pd, &attr);
		CU_ASSERT_PTR_NOT_NULL_FATAL(other);
		/* Three of eight belong to others, at changing places. */
		for (unsigned i = 0; i < 8; i++) {
			bool own = (i + round) % 3 == 0;

			cqe.wr_id = own ? sent++ : 1000;
			cqe.qpn = own ? s.qp->qpn : other->qpn;
			fake_cqe(s.nic, s.cq, cqe);
		}
		CU_ASSERT_EQUAL(weft_destroy_qp(other), 0);
		CU_ASSERT_EQUAL(s.nic->cq[0].record->cons, cons + 8 - (uint32_t)(sent - first));
		/* As many fit as were removed, and come behind the others. */
		cqe.qpn = s.qp->qpn;
		while (s.nic->cq[0].prod - s.nic->cq[0].record->cons < 8) {
			cqe.wr_id = sent++;
			fake_cqe(s.nic, s.cq, cqe);
		}
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 8, wc), 8);
		for (unsigned i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(wc[i].wr_id, first + i);
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 8, wc), 0);
	}
	fake_teardown(&s);
}

static void cq_in_use(void)
{
	struct fake_setup s;

	fake_setup(&s, WEFT_QPT_UD, &cap, 4);
	CU_ASSERT_EQUAL(weft_destroy_cq(s.cq), -EBUSY);
	fake_teardown(&s);
}

/* Polls until a completion arrives or two seconds have passed. */
static int poll_until(struct weft_cq *cq, int max, struct weft_wc *wc)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int n = 0;

	for (int i = 0; i < 2000 && n == 0; i++) {
		for (int k = 0; k < 200 && n == 0; k++)
			n = weft_poll_cq(cq, max, wc);
		if (n == 0)
			nanosleep(&pause, NULL);
	}
	return n;
}

/*
 * weftd is killed: first its completed requests are returned, then the rest as flushed, signalled
 * or not, each once, in the order of posting; then none, and posting fails.
 */
static void flushed_when_gone(void)
{
	struct fake_setup s;
	struct weft_send_wr send = {.flags = WEFT_SEND_SIGNALED};
	struct weft_recv_wr recv = {.wr_id = 100};
	struct hw_cqe cqe = {.wr_id = 1, .sq_index = 1};
	struct weft_wc wc[16];
	int n;

	fake_setup(&s, WEFT_QPT_UD, &cap, 16);
	send.ah = s.ah;
	cqe.qpn = s.qp->qpn;
	for (uint64_t i = 1; i <= 5; i++) {
		send.wr_id = i;
		/* 2 is unsignalled and completed, 4 is unsignalled and was not completed. */
		send.flags = i == 2 || i == 4 ? 0 : WEFT_SEND_SIGNALED;
		CU_ASSERT_EQUAL(weft_post_send(s.qp, &send, NULL), 0);
	}
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), 0);
	recv.wr_id = 101;
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), 0);
	fake_cqe(s.nic, s.cq, cqe);
	s.hw->record->sq_cons = 2;
	fake_die(s.nic);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 16, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 1);
	CU_ASSERT_EQUAL(wc[0].status, WEFT_WC_SUCCESS);
	/* Two at a time: none is lost or duplicated in between. */
	n = poll_until(s.cq, 2, wc);
	CU_ASSERT_EQUAL_FATAL(n, 2);
	n += poll_until(s.cq, 2, wc + n);
	n += poll_until(s.cq, 2, wc + n);
	CU_ASSERT_EQUAL(n, 5);
	for (int i = 0; i < n; i++) {
		const uint64_t wr_ids[] = {3, 4, 5, 100, 101};

		CU_ASSERT_EQUAL(wc[i].wr_id, wr_ids[i]);
		CU_ASSERT_EQUAL(wc[i].status, WEFT_WC_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(wc[i].vendor_err, WEFT_VENDOR_ERR_NIC_GONE);
		CU_ASSERT_EQUAL(wc[i].qpn, s.qp->qpn);
		CU_ASSERT_EQUAL(wc[i].opcode, i < 3 ? WEFT_WC_SEND : WEFT_WC_RECV);
	}
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 2, wc), 0);
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &send, NULL), -EIO);
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), -EIO);
	CU_ASSERT_PTR_NULL(weft_create_cq(s.context, 4, NULL, NULL));
	CU_ASSERT_EQUAL(errno, EIO);
	/* Objects can be destroyed without a NIC. */
	fake_teardown(&s);
}

/*
 * A thread that polls for a receive of a shared queue, without own requests, is notified of the
 * end.
 */
static void shared_queues_end(void)
{
	struct weft_srq_attr attr = {.max_wr = 4, .max_sge = 1};
	struct weft_qp_init_attr init = {.type = WEFT_QPT_RD, .cap = cap};
	struct weft_send_wr send = {.wr_id = 9, .flags = WEFT_SEND_SIGNALED};
	struct weft_recv_wr recv = {.wr_id = 1};
	struct fake_setup s;
	struct weft_srq *srq;
	struct weft_cq *cq;
	struct weft_qp *qp;
	struct weft_wc wc[4];

	fake_setup(&s, WEFT_QPT_RD, &cap, 16);
	srq = weft_create_srq(s.qp->pd, &attr);
	cq = weft_create_cq(s.context, 16, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(srq);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cq);
	init.send_cq = init.recv_cq = cq;
	init.srq = srq;
	qp = weft_create_qp(s.qp->pd, &init);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL(weft_post_srq_recv(srq, &recv, NULL), 0);
	send.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &send, NULL), 0);
	CU_ASSERT_EQUAL(weft_poll_cq(cq, 4, wc), 0);
	fake_die(s.nic);
	CU_ASSERT_EQUAL(poll_until(cq, 4, wc), -EIO);
	CU_ASSERT_EQUAL(weft_poll_cq(cq, 4, wc), -EIO);
	CU_ASSERT_EQUAL(poll_until(s.cq, 4, wc), 1);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 4, wc), 0);
	CU_ASSERT_EQUAL(weft_destroy_qp(qp), 0);
	CU_ASSERT_EQUAL(weft_destroy_cq(cq), 0);
	CU_ASSERT_EQUAL(weft_destroy_srq(srq), 0);
	fake_teardown(&s);
}

/* Receives complete in any order; the remaining ones are flushed, not those posted last. */
static void flushes_the_right_receives(void)
{
	struct fake_setup s;
	struct weft_recv_wr recv = {.wr_id = 0};
	struct hw_cqe cqe = {.opcode = HW_CQE_RECV};
	const uint64_t done[] = {12, 10, 15};
	unsigned seen = 0;
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_RD, &cap, 16);
	cqe.qpn = s.qp->qpn;
	for (recv.wr_id = 10; recv.wr_id < 18; recv.wr_id++)
		CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		cqe.wr_id = done[i];
		fake_cqe(s.nic, s.cq, cqe);
		CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	}
	recv.wr_id = 18;
	CU_ASSERT_EQUAL(weft_post_recv(s.qp, &recv, NULL), 0);
	fake_die(s.nic);
	for (int i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(poll_until(s.cq, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.status, WEFT_WC_WR_FLUSH_ERR);
		seen |= 1u << wc.wr_id;
	}
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 0);
	CU_ASSERT_EQUAL(seen, 1u << 11 | 1u << 13 | 1u << 14 | 1u << 16 | 1u << 17 | 1u << 18);
	fake_teardown(&s);
}

/* weftd ends in good order: its header says so before the socket closes. */
static void flushed_when_stopped(void)
{
	struct fake_setup s;
	struct weft_send_wr send = {.wr_id = 1};
	struct hw_bar_header *header;
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_UD, &cap, 16);
	send.ah = s.ah;
	CU_ASSERT_EQUAL(weft_post_send(s.qp, &send, NULL), 0);
	header = (void *)s.nic->bar;
	__atomic_store_n(&header->nic_state, HW_NIC_STOPPED, __ATOMIC_RELEASE);
	CU_ASSERT_EQUAL(poll_until(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, WEFT_WC_WR_FLUSH_ERR);
	fake_teardown(&s);
}

/* A completion in a CQ that is not its QP's: the CQ would keep the QP when it is destroyed. */
static void another_queues_completion(void)
{
	struct fake_setup s;
	struct hw_cqe cqe = {.opcode = HW_CQE_RECV};
	struct weft_cq *other;
	struct weft_wc wc;

	fake_setup(&s, WEFT_QPT_UD, &cap, 16);
	other = weft_create_cq(s.context, 16, NULL, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	cqe.qpn = s.qp->qpn;
	fake_cqe(s.nic, other, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(other, 1, &wc), 0);
	CU_ASSERT_PTR_NULL(obj(other)->last_qp);
	fake_cqe(s.nic, s.cq, cqe);
	CU_ASSERT_EQUAL(weft_poll_cq(s.cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(weft_destroy_cq(other), 0);
	fake_teardown(&s);
}

UT_MAIN("host_driver/weft_poll", UT(every_field), UT(phases_flip), UT(resize_keeps_what_waits),
	UT(purged_with_its_qp), UT(purged_makes_room), UT(cq_in_use), UT(flushed_when_gone),
	UT(shared_queues_end), UT(flushes_the_right_receives), UT(flushed_when_stopped),
	UT(another_queues_completion))
