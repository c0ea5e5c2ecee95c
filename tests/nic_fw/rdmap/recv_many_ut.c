/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Very many incomplete messages at one QP: a packet finds its own without a walk over the others,
 * and the end of their session, or of their SRQ, completes them in turns. Chains and completions
 * are counted; nothing is timed. See nic_fw/rdmap/recv.c, docs/security.md "Stalls".
 */
#include <arpa/inet.h>

#include "tests/bench/host.h"

enum {
	MESSAGES = 3000,
	RING = 4096,
	FIRST_QPN = 100,
	LONGEST_CHAIN = 16,
};

static struct fw_ut ut;

/*
 * A QP of RD with an SRQ, and a session; MESSAGES have taken a receive of it, each from another QP.
 */
struct open {
	struct fw_qp *qp;
	struct fw_cq *cq;
	struct fw_srq *srq;
	struct rd_session *session;
	struct rdmap_seg pkt;
};

static struct rdmap_seg *packet(struct open *o, uint32_t i)
{
	o->pkt.src_ip = o->session ? o->session->peer_ip : 1;
	o->pkt.peer = o->session ? &o->session->recv : NULL;
	o->pkt.src_qpn = FIRST_QPN + i;
	o->pkt.msn = 1;
	return &o->pkt;
}

static void take_all(struct open *o)
{
	struct recv_msg *msg;
	uint32_t i;

	/* The whole ring is posted, with zeroes: receives of no bytes. */
	o->srq->record->prod = RING;
	for (i = 0; i < MESSAGES; i++)
		CU_ASSERT_EQUAL_FATAL(recv_begin(ut.nic, o->qp, packet(o, i), true, &msg),
				      RDMAP_OK);
	CU_ASSERT_EQUAL(ut.nic->host.recv_msgs.used, MESSAGES);
}

static struct open begin(void)
{
	struct open o = {0};
	uint32_t pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	o.cq = host_cq(ut.nic, 0, RING, HW_EQ_NONE);
	o.srq = host_srq(ut.nic, 0, pd, RING, 1);
	o.qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, o.cq, o.srq->index);
	o.session = rd_session_get(ut.nic, htonl(0x0a4d0007), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o.session);
	take_all(&o);
	return o;
}

static uint32_t longest_chain(void)
{
	uint32_t i, longest = 0;

	for (i = 0; i < FW_HASH_SIZE; i++) {
		uint32_t at = ut.nic->host.recv_hash[i], n = 0;

		for (; at; n++)
			at = ((struct recv_msg *)fw_pool_at(&ut.nic->host.recv_msgs, at - 1))
				 ->hash_next;
		if (n > longest)
			longest = n;
	}
	return longest;
}

static void each_is_found_in_a_short_chain(void)
{
	struct open o = begin();
	struct recv_msg *msg;
	uint32_t i;

	CU_ASSERT(longest_chain() <= LONGEST_CHAIN);
	for (i = 0; i < MESSAGES; i++) {
		msg = recv_find(ut.nic, o.qp, packet(&o, i));
		CU_ASSERT_PTR_NOT_NULL_FATAL(msg);
		CU_ASSERT_EQUAL(msg->src_qpn, FIRST_QPN + i);
	}
	CU_ASSERT_PTR_NULL(recv_find(ut.nic, o.qp, packet(&o, MESSAGES)));
	/* In any order, and the others stay. */
	for (i = 0; i < MESSAGES; i += 3)
		recv_end(ut.nic, o.qp, recv_find(ut.nic, o.qp, packet(&o, i)));
	for (i = 0; i < MESSAGES; i++)
		CU_ASSERT_EQUAL(!recv_find(ut.nic, o.qp, packet(&o, i)), i % 3 == 0);
	/* The peer gives one up. */
	recv_cancel(ut.nic, o.qp, &o.session->recv, FIRST_QPN + 1, 1, 1);
	CU_ASSERT_PTR_NULL(recv_find(ut.nic, o.qp, packet(&o, 1)));
	CU_ASSERT_PTR_NOT_NULL(recv_find(ut.nic, o.qp, packet(&o, 2)));
	fw_ut_end(&ut);
}

static uint32_t completions(const struct open *o, uint32_t from)
{
	struct hw_cqe cqe;

	for (; host_cqe(o->cq, from, &cqe); from++)
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_REM_ABORT_ERR);
	return from;
}

/* The next life of the session is not affected by the rest of this one. */
static void end_of_a_session_in_turns(void)
{
	struct open o = begin();
	uint32_t done = 0, was, turns;
	struct recv_msg *young;

	CU_ASSERT_TRUE(recv_is_open(&o.session->recv));
	fw_ut_poll(&ut, 1000);
	recv_abort_peer(ut.nic, &o.session->recv);
	CU_ASSERT_FALSE(recv_is_open(&o.session->recv));
	done = completions(&o, 0);
	CU_ASSERT(done <= FW_SLICE_AT_ONCE);
	CU_ASSERT_PTR_NULL(recv_find(ut.nic, o.qp, packet(&o, MESSAGES - 1)));
	CU_ASSERT_EQUAL(recv_begin(ut.nic, o.qp, packet(&o, MESSAGES - 1), true, &young), RDMAP_OK);
	CU_ASSERT_PTR_EQUAL(recv_find(ut.nic, o.qp, packet(&o, MESSAGES - 1)), young);
	for (turns = 0; done < MESSAGES && turns < MESSAGES; turns++) {
		was = done;
		fw_ut_poll(&ut, 1000);
		done = completions(&o, was);
		CU_ASSERT(done - was <= FW_SLICE_UNITS);
	}
	CU_ASSERT_EQUAL(done, MESSAGES);
	CU_ASSERT_EQUAL(ut.nic->host.recv_msgs.used, 1);
	CU_ASSERT_TRUE(recv_is_open(&o.session->recv));
	CU_ASSERT_PTR_EQUAL(recv_find(ut.nic, o.qp, packet(&o, MESSAGES - 1)), young);
	fw_ut_end(&ut);
}

static struct fw_qp *xrc_qp(struct open *o)
{
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_XRCD};
	struct hw_cmd_resp resp;
	uint32_t xrcd;

	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	xrcd = resp.u.handle;
	o->cq = host_cq(ut.nic, 0, RING, HW_EQ_NONE);
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_SRQ,
			      .u.srq = {.pd = host_pd(ut.nic, 0),
					.max_wr = RING,
					.max_sge = 1,
					.flags = HW_SRQ_F_XRC,
					.xrcd = xrcd,
					.cq = o->cq->index}};
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	o->srq = &ut.nic->host.srqs[resp.u.srq.srq];
	o->pkt.qkey = resp.u.srq.srqn;
	cmd = (struct hw_cmd){
	    .op = HW_CMD_CREATE_QP,
	    .u.create_qp = {.type = HW_QPT_XRC_RECV, .srq = HW_SRQ_NONE, .xrcd = xrcd}};
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	return qp_find_live(ut.nic, resp.u.create_qp.qpn);
}

static void end_of_an_srq_in_turns(void)
{
	struct open o = {0};
	struct recv_msg *msg;
	uint32_t left, was, turns;

	fw_ut_begin(&ut);
	o.qp = xrc_qp(&o);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o.qp);
	take_all(&o);
	CU_ASSERT(longest_chain() <= LONGEST_CHAIN);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_SRQ, o.srq->index, NULL), -1);
	left = ut.nic->host.recv_msgs.used;
	CU_ASSERT(left >= MESSAGES - FW_SLICE_AT_ONCE);
	/* The QP's number is freed: no message takes another receive. */
	CU_ASSERT_PTR_NULL(xrc_srq(ut.nic, o.qp, o.pkt.qkey));
	for (turns = 0; !ut.port.num_done && turns < MESSAGES; turns++) {
		was = left;
		fw_ut_poll(&ut, 1000);
		left = ut.nic->host.recv_msgs.used;
		CU_ASSERT(was - left <= FW_SLICE_UNITS);
	}
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(left, 0);
	CU_ASSERT_PTR_NULL(recv_find(ut.nic, o.qp, packet(&o, 1)));
	CU_ASSERT_EQUAL(recv_begin(ut.nic, o.qp, packet(&o, 1), false, &msg), RDMAP_REFUSE);
	fw_ut_end(&ut);
}

/* Its process is killed in the middle: the rest is freed with it. */
static void end_of_an_srq_with_its_process(void)
{
	struct open o = {0};

	fw_ut_begin(&ut);
	o.qp = xrc_qp(&o);
	CU_ASSERT_PTR_NOT_NULL_FATAL(o.qp);
	take_all(&o);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_SRQ, o.srq->index, NULL), -1);
	fw_ut_poll(&ut, 1000);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/rdmap/recv_many", UT(each_is_found_in_a_short_chain), UT(end_of_a_session_in_turns),
	UT(end_of_an_srq_in_turns), UT(end_of_an_srq_with_its_process))
