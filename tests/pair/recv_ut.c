/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that messages have taken: the order of completion on RC for any order of arrival, MSNs
 * that wrap or jump, messages that are too long, malformed receives, flushing, peers that are gone.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static void post_rc(struct fw_qp *qp, uint8_t opcode, uint64_t wr_id, uint32_t bytes)
{
	struct rp_req req = {.opcode = opcode, .wr_id = wr_id, .bytes = bytes};

	rp_req(&rp, 0, qp, &req);
}

/*
 * Four messages of RC, one of which takes its receive without placing data: every order of arrival.
 */
static void order_on_rc(void)
{
	static const uint8_t opcodes[4] = {HW_WQE_SEND, HW_WQE_WRITE_IMM, HW_WQE_SEND_IMM,
					   HW_WQE_SEND};
	uint32_t a, b, c, d;
	struct fw_qp *qp, *peer;

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &qp, &peer, NULL);
	qp->msn = peer->rx_msn_taken = peer->rx_msn_delivered = 0xffffffff - 20;
	for (a = 0; a < 4; a++)
		for (b = 0; b < 4; b++)
			for (c = 0; c < 4; c++) {
				uint32_t order[4], i;

				d = 6 - a - b - c;
				if (a == b || b == c || a == c || d > 3)
					continue;
				order[0] = a;
				order[1] = b;
				order[2] = c;
				order[3] = d;
				rp.filter = rp_keep_data;
				for (i = 0; i < 4; i++) {
					rp_recv(&rp, 1, peer, i, 4096 * i, 4096);
					rp_fill(A->mem, 64, i);
					post_rc(qp, opcodes[i], i, 10 + i);
					rp_settle(&rp);
				}
				CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 4);
				for (i = 0; i < 4; i++) {
					bench_wire_deliver(&rp.wire, order[i]);
					rp_poll(&rp, 1);
				}
				for (i = 0; i < 4; i++) {
					struct hw_cqe cqe =
					    rp_expect_recv(&rp, 1, i, HW_STATUS_SUCCESS);

					CU_ASSERT_EQUAL(cqe.bytes, 10 + i);
				}
				rp_release(&rp);
				for (i = 0; i < 4; i++)
					rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
			}
	CU_ASSERT_TRUE(qp->msn < 100); /* it has wrapped */
	rp_end(&rp);
}

/* An early message takes the receives of those before it, as far as there are any. */
static void placeholders(void)
{
	struct fw_qp *qp, *peer;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	rp_rc(&rp, &qp, &peer, NULL);
	rp.filter = rp_keep_data;
	for (i = 0; i < 3; i++)
		post_rc(qp, HW_WQE_SEND, i, 8);
	rp_settle(&rp);
	rp_recv(&rp, 1, peer, 0, 0, 64);
	rp_recv(&rp, 1, peer, 1, 64, 64);
	/*
	 * The third message: two receives for the first two, none for itself, so it counts as lost.
	 */
	bench_wire_deliver(&rp.wire, 2);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(peer->rx_msn_taken, 2);
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 2);
	bench_wire_deliver(&rp.wire, 1);
	rp_poll(&rp, 1);
	rp_expect_none(&rp);
	bench_wire_deliver(&rp.wire, 0);
	rp_poll(&rp, 1);
	rp_expect_recv(&rp, 1, 0, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS);
	rp_recv(&rp, 1, peer, 2, 128, 64);
	rp_release(&rp);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
	for (i = 0; i < 3; i++)
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A message number far off is the peer's error, and costs at most the peer's own QP. */
static void wild_msn(void)
{
	static const uint32_t msns[] = {0, RECV_MSN_AHEAD + 1, 0x80000000, 0xffffffff};
	struct wire_ddp_untagged *ddp;
	struct fw_qp *qp, *peer;
	uint32_t i, k;

	for (i = 0; i < sizeof(msns) / sizeof(msns[0]); i++) {
		rp_begin(&rp);
		rp_open(&rp);
		rp_rc(&rp, &qp, &peer, NULL);
		for (k = 0; k < 3; k++)
			rp_recv(&rp, 1, peer, k, 0, 64);
		rp.filter = rp_keep_data;
		post_rc(qp, HW_WQE_SEND, 9, 8);
		rp_settle(&rp);
		ddp = (void *)rp_info_of(&rp.wire.kept[0], 0).ddp;
		ddp->msn = be32_put(msns[i]);
		rp_reseal(&rp.wire.kept[0]);
		rp_release(&rp);
		rp_expect_send(&rp, 0, 9, HW_STATUS_REM_INV_REQ_ERR);
		for (k = 0; k < 3; k++)
			rp_expect_recv(&rp, 1, k, HW_STATUS_WR_FLUSH_ERR);
		CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
		CU_ASSERT_EQUAL(peer->state, HW_QPS_ERR);
		rp_end(&rp);
	}
}

/*
 * A message longer than its receive: both ends are notified, nothing is written beyond, RD
 * continues.
 */
static void too_long(void)
{
	uint32_t segments;

	rp_begin(&rp);
	rp_open(&rp);
	for (segments = 1; segments <= 3; segments += 2) {
		uint32_t bytes = segments == 1 ? 101 : 3000;
		struct hw_cqe cqe;

		memset(B->mem, 0xee, 4096);
		memset(A->mem, 1, 4096);
		rp_recv(&rp, 1, B->qp[0], 1, 0, bytes - 1);
		rp_recv(&rp, 1, B->qp[0], 2, 8192, 4096);
		rp_send(&rp, 0, A->qp[0], B->qp[0], 5, 0, bytes);
		rp_send(&rp, 0, A->qp[0], B->qp[0], 6, 0, bytes);
		rp_quiet(&rp);
		cqe = rp_expect_recv(&rp, 1, 1, HW_STATUS_LOC_LEN_ERR);
		CU_ASSERT_EQUAL(cqe.qpn, B->qp[0]->qpn);
		CU_ASSERT_EQUAL(cqe.src_qpn, A->qp[0]->qpn);
		rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
		rp_expect_send(&rp, 0, 5, HW_STATUS_REM_INV_REQ_ERR);
		rp_expect_send(&rp, 0, 6, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(B->mem[bytes - 1], 0xee);
		CU_ASSERT_EQUAL(B->qp[0]->state, HW_QPS_RTS);
	}
	rp_end(&rp);
}

/* A message of exactly the length fits; no bytes need no room; SGEs of no bytes do not count. */
static void exact(void)
{
	struct hw_sge sge[3];

	rp_begin(&rp);
	rp_fill(A->mem, 100, 2);
	sge[0] = (struct hw_sge){(uintptr_t)B->mem, 40, B->stag};
	sge[1] = (struct hw_sge){0, 0, 0x1234};
	sge[2] = (struct hw_sge){(uintptr_t)B->mem + 40, 60, B->stag};
	host_recv(B->qp[0], 1, sge, 3);
	host_recv(B->qp[0], 2, sge, 0);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 100);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, 0);
	rp_quiet(&rp);
	CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 1, HW_STATUS_SUCCESS).bytes, 100);
	CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS).bytes, 0);
	CU_ASSERT_TRUE(rp_filled(B->mem, 100, 2));
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Receives with wrong keys fail alone; the sender of the message is notified. */
static void bad_receives(void)
{
	struct hw_sge sge;

	rp_begin(&rp);
	sge = (struct hw_sge){(uintptr_t)B->mem, 100, B->stag ^ 2};
	host_recv(B->qp[0], 1, &sge, 1);
	sge = (struct hw_sge){(uintptr_t)B->mem + RP_MEM_BYTES - 50, 100, B->stag};
	host_recv(B->qp[0], 2, &sge, 1);
	rp_recv(&rp, 1, B->qp[0], 3, 0, 100);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 100);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, 100);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 3, 0, 100);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_LOC_PROT_ERR);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_LOC_PROT_ERR);
	rp_expect_recv(&rp, 1, 3, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
	rp_expect_send(&rp, 0, 2, HW_STATUS_REM_OP_ERR);
	rp_expect_send(&rp, 0, 3, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A QP leaves RTS with half messages: ERR completes their receives, RESET drops them. */
static void flush(void)
{
	uint32_t round;

	for (round = 0; round < 2; round++) {
		enum hw_qp_state to = round ? HW_QPS_RESET : HW_QPS_ERR;

		rp_begin(&rp);
		rp_open(&rp);
		rp.filter = rp_keep_data;
		rp_recv(&rp, 1, B->qp[0], 1, 0, 4096);
		rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 4000);
		rp_settle(&rp);
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 3);
		bench_wire_deliver(&rp.wire, 0);
		bench_wire_deliver(&rp.wire, 2);
		rp_poll(&rp, 1);
		CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 1);
		CU_ASSERT_EQUAL(rp_modify(&rp, 1, B->qp[0], to, 0, NULL), 0);
		CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 0);
		if (to == HW_QPS_ERR)
			rp_expect_recv(&rp, 1, 1, HW_STATUS_WR_FLUSH_ERR);
		rp_expect_none(&rp);
		if (to == HW_QPS_RESET) {
			/*
			 * The QP is set up again at once: the message begins again and arrives
			 * whole.
			 */
			rp_fill(A->mem, 4000, 7);
			B->qp[0]->record->rq_prod = B->qp[0]->rq_prod;
			rp_rts(&rp, 1, B->qp[0]);
			rp_recv(&rp, 1, B->qp[0], 2, 16384, 4096);
			rp_release(&rp);
			rp_expect_recv(&rp, 1, 2, HW_STATUS_SUCCESS);
			CU_ASSERT_TRUE(rp_filled(B->mem + 16384, 4000, 7));
			rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		} else {
			rp_release(&rp);
			rp_expect_send(&rp, 0, 1, HW_STATUS_REM_OP_ERR);
		}
		rp_end(&rp);
	}
}

/* The peer's NIC is gone: the receives of its half messages complete, those of others stay. */
static void peer_gone(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_keep_data;
	rp_recv(&rp, 1, B->qp[0], 1, 0, 4096);
	rp_recv(&rp, 1, B->qp[1], 2, 4096, 4096);
	rp_recv(&rp, 1, B->qp[1], 3, 8192, 4096);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 4000);
	rp_send(&rp, 0, A->qp[1], B->qp[1], 2, 0, 4000);
	rp_settle(&rp);
	bench_wire_deliver(&rp.wire, 0);
	bench_wire_deliver(&rp.wire, rp.wire.num_kept - 1);
	rp_poll(&rp, 1);
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 2);
	recv_abort_peer(B->nic, &rd_session_get(B->nic, A->nic->config.ip + 1, 0)->recv);
	recv_abort_peer(B->nic, &rd_session_get(B->nic, A->nic->config.ip, 1)->recv);
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 2);
	bench_wire_forget(&rp.wire);
	rp.filter = NULL;
	rp_restart(&rp, 0);
	rp_send(&rp, 0, A->qp[1], B->qp[1], 7, 0, 100);
	rp_quiet(&rp);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	rp_expect_recv(&rp, 1, 2, HW_STATUS_REM_ABORT_ERR);
	rp_expect_recv(&rp, 1, 3, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 7, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Posts a receive in memory of B that is not mapped; its page is absent when A's Send comes. */
static void take_and_drop(void)
{
	struct hw_sge sge = {
	    .addr = (uintptr_t)B->mem,
	    .bytes = 4096,
	    .lkey = rp_reg(&rp, 1, B->mem, RP_MEM_BYTES, RP_ALL_ACCESS, false),
	};

	host_recv(B->qp[0], 1, &sge, 1);
	B->port.host_busy = true;
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 100);
	rp_settle(&rp);
	B->port.host_busy = false;
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 1);
	CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, rp_session(&rp, 0)->tx_una);
}

/* A packet took its receive and counts as lost. Its sender restarts and sends nothing any more. */
static void peer_gone_after_a_drop(void)
{
	rp_begin(&rp);
	rp_open(&rp);
	take_and_drop();
	rp_restart(&rp, 0);
	rp_run(&rp, 3 * RD_AWAIT_NS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
	/* It is cut off. */
	rp_begin(&rp);
	rp_open(&rp);
	take_and_drop();
	A->port.dead = true;
	rp_run(&rp, RD_STALE_NS + 4 * RD_MAX_RTO_NS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	rp_restart(&rp, 0);
	rp_end(&rp);
}

/* The same: no context is left that could hold a packet which came before its turn. */
static void peer_gone_after_an_early_drop(void)
{
	struct fw_pool *held;
	uint32_t max, free_list;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_keep_data;
	rp_recv(&rp, 1, B->qp[0], 1, 0, 4096);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 1, 0, 100);
	rp_send(&rp, 0, A->qp[0], B->qp[0], 2, 0, 100);
	rp_settle(&rp);
	held = &B->nic->rd.held;
	max = held->max;
	free_list = held->free;
	held->max = held->high;
	held->free = FW_NONE;
	bench_wire_deliver(&rp.wire, rp.wire.num_kept - 1);
	rp_poll(&rp, 1);
	held->max = max;
	held->free = free_list;
	CU_ASSERT_EQUAL(B->nic->host.recv_msgs.used, 1);
	bench_wire_forget(&rp.wire);
	rp.filter = NULL;
	rp_restart(&rp, 0);
	rp_run(&rp, 3 * RD_AWAIT_NS);
	rp_expect_recv(&rp, 1, 1, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
}

/*
 * A receive is taken, and this core is away for so long that the session is stale when it sends
 * itself. The receive completes: by the rest of its message, or with an error.
 */
static void stale_while_open(void)
{
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	take_and_drop();
	rp.wire.now_ns += RD_STALE_NS + 1;
	rp_recv(&rp, 0, A->qp[1], 3, 8192, 4096);
	rp_send(&rp, 1, B->qp[1], A->qp[1], 2, 8192, 100);
	rp_poll(&rp, 1);
	rp_quiet(&rp);
	CU_ASSERT_TRUE(rp_rcqe(&rp, 1, &cqe) && cqe.wr_id == 1);
	CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.wr_id == 1);
	rp_expect_send(&rp, 1, 2, HW_STATUS_SUCCESS);
	rp_expect_recv(&rp, 0, 3, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

UT_MAIN("pair/recv", UT(order_on_rc), UT(placeholders), UT(wild_msn), UT(too_long), UT(exact),
	UT(bad_receives), UT(flush), UT(peer_gone), UT(peer_gone_after_a_drop),
	UT(peer_gone_after_an_early_drop), UT(stale_while_open))
