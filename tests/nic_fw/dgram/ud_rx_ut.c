/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD in: the choice of the QP, opcodes, receives and their failures, GRH, errors of peers.
 */
#include "tests/bench/stubs/net.h"

static uint8_t data[2000];

static void init(void)
{
	net_init(0);
	net_learn_peer();
	net_fill(data, sizeof(data), 4);
}

static void rx_send(uint32_t bytes)
{
	struct frame f;

	net_put_send(&f, data, 0, bytes, bytes);
	frame_end(&f);
	net_rx_pieces(&f, 211);
}

/* The Terminate that was sent, if any; its layer and type in the high byte. */
static int terminate_sent(void)
{
	struct frame *f = &net.sent[0];
	int code;

	net_flush();
	if (!net.num_sent)
		return -1;
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(be32_get(net_dgramh(f)->dst_qpn), NET_PEER_QPN);
	CU_ASSERT_EQUAL(f->b[UDP_TX_HDR_BYTES + 28 + 1] & 0x0f, WIRE_RDMAP_TERMINATE);
	code = f->b[UDP_TX_HDR_BYTES + 28 + 18] << 8 | f->b[UDP_TX_HDR_BYTES + 28 + 19];
	net.num_sent = 0;
	return code;
}

static void delivers(void)
{
	static const uint32_t bytes[] = {0, 1, 8, 500, 1422};
	struct wire_ip *ip = (struct wire_ip *)(net.recv_buf + 20);
	uint8_t zero[20] = {0};
	uint32_t i;

	init();
	for (i = 0; i < 5; i++) {
		const struct hw_cqe *cqe = &net.cqe[i];

		rx_send(bytes[i]);
		CU_ASSERT_EQUAL_FATAL(net.num_cqe, i + 1);
		CU_ASSERT_EQUAL(cqe->status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(cqe->opcode, HW_CQE_RECV);
		CU_ASSERT_EQUAL(cqe->flags, HW_CQE_F_GRH);
		CU_ASSERT_EQUAL(cqe->bytes, bytes[i] + 40);
		CU_ASSERT_EQUAL(cqe->wr_id, 1000 + i);
		CU_ASSERT_EQUAL(cqe->qpn, NET_QPN);
		CU_ASSERT_EQUAL(cqe->src_qpn, NET_PEER_QPN);
		CU_ASSERT_EQUAL(cqe->src_ip, NET_PEER_IP);
		CU_ASSERT_EQUAL(memcmp(net.recv_buf, zero, 20), 0);
		CU_ASSERT_EQUAL(ip->version_ihl, 0x45);
		CU_ASSERT_EQUAL(be32_get(ip->src), 0x0a4d0002);
		CU_ASSERT_EQUAL(memcmp(net.recv_buf + 40, data, bytes[i]), 0);
	}
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 5);
	CU_ASSERT_EQUAL(net_drops(), 0);
	net_end();
}

static void long_qp_has_no_grh(void)
{
	init();
	net.qp.flags = HW_QP_F_UD_LONG;
	net.recv_bytes = 100;
	rx_send(100);
	CU_ASSERT_EQUAL(net.cqe[0].flags, 0);
	CU_ASSERT_EQUAL(net.cqe[0].bytes, 100);
	CU_ASSERT_EQUAL(net.cqe[0].src_ip, NET_PEER_IP);
	CU_ASSERT_EQUAL(memcmp(net.recv_buf, data, 100), 0);
	net_end();
}

static void grh_without_options(void)
{
	struct wire_ip *ip = (struct wire_ip *)(net.recv_buf + 20);
	struct frame plain, f;

	init();
	net_put_send(&plain, data, 0, 8, 8);
	frame_end(&plain);
	f = plain;
	memmove(f.b + 14 + 24, plain.b + 14 + 20, plain.n - 14 - 20);
	memset(f.b + 14 + 20, 1, 4); /* undefined operation */
	f.n += 4;
	net_iph(&f)->version_ihl = 0x46;
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(ip->version_ihl, 0x45);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, ip, 20)), 0);
	CU_ASSERT_EQUAL(memcmp(net.recv_buf + 40, data, 8), 0);
	net_end();
}

static void immediate_and_solicited(void)
{
	struct wire_ddp_untagged *ddp;
	struct frame f;

	init();
	ddp = net_put_send(&f, data, 0, 4, 4);
	ddp->rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND_SE;
	net_dgramh(&f)->flags = WIRE_DGRAM_F_IMM;
	net_dgramh(&f)->imm = be32_put(0xdeadbeef);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.cqe[0].flags, HW_CQE_F_GRH | HW_CQE_F_IMM | HW_CQE_F_SOLICITED);
	CU_ASSERT_EQUAL(memcmp(&net.cqe[0].imm_inv, "\xde\xad\xbe\xef", 4), 0);
	net_end();
}

static void which_qp(void)
{
	static const uint8_t deaf[] = {HW_QPS_RESET, HW_QPS_INIT, HW_QPS_ERR};
	static const uint8_t hears[] = {HW_QPS_RTR, HW_QPS_RTS, HW_QPS_SQD, HW_QPS_SQE};
	uint32_t i;

	init();
	net.qp.qpn = NET_QPN + 1;
	rx_send(8);
	CU_ASSERT_EQUAL(CNT(drop_no_qp), 1);
	net.qp.qpn = NET_QPN;
	net.qp.type = HW_QPT_RD;
	rx_send(8);
	CU_ASSERT_EQUAL(CNT(drop_qp_type), 1);
	net.qp.type = HW_QPT_UD;
	net.qp.qkey = NET_QKEY ^ 0x80000000;
	rx_send(8);
	CU_ASSERT_EQUAL(CNT(drop_qkey), 1);
	net.qp.qkey = NET_QKEY;
	for (i = 0; i < 3; i++) {
		net.qp.state = deaf[i];
		rx_send(8);
	}
	CU_ASSERT_EQUAL(CNT(drop_qp_state), 3);
	CU_ASSERT_EQUAL(net_drops(), 6);
	CU_ASSERT_EQUAL(net.recvs_taken, 0);
	for (i = 0; i < 4; i++) {
		net.qp.state = hears[i];
		rx_send(8);
	}
	CU_ASSERT_EQUAL(net.num_cqe, 4);
	CU_ASSERT_EQUAL(terminate_sent(), -1); /* strangers must not learn which QPs exist */
	net_end();
}

static void opcodes(void)
{
	static const struct {
		uint8_t opcode;
		uint32_t qn, bytes;
	} illegal[] = {{WIRE_RDMAP_SEND_INVALIDATE, 0, 8}, {WIRE_RDMAP_SEND_SE_INVALIDATE, 0, 8},
		       {WIRE_RDMAP_READ_REQUEST, 1, 28},   {WIRE_RDMAP_IMMEDIATE, 0, 8},
		       {WIRE_RDMAP_ATOMIC_REQUEST, 1, 52}, {WIRE_RDMAP_ATOMIC_RESPONSE, 3, 12}};
	struct wire_ddp_untagged *ddp;
	struct frame f;
	uint32_t i;

	init();
	for (i = 0; i < 6; i++) {
		ddp = net_put_send(&f, data, 0, illegal[i].bytes, illegal[i].bytes);
		ddp->rdmap_ctrl = WIRE_RDMAP_VERSION | illegal[i].opcode;
		ddp->qn = be32_put(illegal[i].qn);
		frame_end(&f);
		net_rx(&f);
		CU_ASSERT_EQUAL(terminate_sent(), 0x0206);
	}
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 6);
	/* A Write that is no record, a record that is no Write, a record with immediate data. */
	net_put_record(&f, data, NET_TO, 0, 8, 8);
	net_dgramh(&f)->flags = 0;
	frame_end(&f);
	net_rx(&f);
	net_put_send(&f, data, 0, 8, 8);
	net_dgramh(&f)->flags = WIRE_DGRAM_F_RECORD;
	frame_end(&f);
	net_rx(&f);
	net_put_record(&f, data, NET_TO, 0, 8, 8);
	net_dgramh(&f)->flags |= WIRE_DGRAM_F_IMM;
	frame_end(&f);
	net_rx(&f);
	ddp = net_put_send(&f, data, 0, 8, 8);
	ddp->ddp_ctrl |= 0x04;
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 10);
	CU_ASSERT_EQUAL(net_drops(), 10);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	net_end();
}

static void no_receive(void)
{
	init();
	net.rq_result = RQ_EMPTY;
	rx_send(8);
	CU_ASSERT_EQUAL(CNT(drop_ud_no_receive), 1);
	CU_ASSERT_EQUAL(net_drops(), 1);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	CU_ASSERT_EQUAL(terminate_sent(), -1);
	net_end();
}

static void bad_receive(void)
{
	init();
	net.rq_result = RQ_BAD;
	rx_send(8);
	CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_LOC_QP_OP_ERR);
	CU_ASSERT_EQUAL(net.cqe[0].wr_id, 1000);
	CU_ASSERT_EQUAL(net_drops(), 1);
	net.rq_result = RQ_OK;
	rx_send(8);
	CU_ASSERT_EQUAL(net.cqe[1].status, HW_STATUS_SUCCESS);
	net_end();
}

static void receive_too_short(void)
{
	uint32_t i;

	init();
	memset(net.recv_buf, 0xaa, 200);
	net.recv_bytes = 139; /* one byte short: 40 of GRH, 100 of data */
	rx_send(100);
	CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(net.cqe[0].vendor_err, HW_VENDOR_ERR_TOO_LONG);
	CU_ASSERT_EQUAL(CNT(drop_ud_too_long), 1);
	CU_ASSERT_EQUAL(terminate_sent(), 0x1205);
	for (i = 0; i < 200; i++)
		CU_ASSERT_EQUAL(net.recv_buf[i], 0xaa);
	CU_ASSERT_EQUAL(net.qp.state, HW_QPS_RTS);
	net.recv_bytes = 140;
	rx_send(100);
	CU_ASSERT_EQUAL(net.cqe[1].status, HW_STATUS_SUCCESS);
	net.recv_bytes = 39; /* not even the GRH */
	rx_send(0);
	CU_ASSERT_EQUAL(net.cqe[2].status, HW_STATUS_LOC_LEN_ERR);
	net_end();
}

static void fault_of_the_receive(void)
{
	static const enum hw_vendor_err errs[] = {HW_VENDOR_ERR_LKEY, HW_VENDOR_ERR_BOUNDS,
						  HW_VENDOR_ERR_ACCESS, HW_VENDOR_ERR_HOST_FAULT};
	uint32_t i;

	init();
	for (i = 0; i < 4; i++) {
		net.place_err = errs[i];
		rx_send(8);
		CU_ASSERT_EQUAL(net.cqe[i].status, HW_STATUS_LOC_PROT_ERR);
		CU_ASSERT_EQUAL(net.cqe[i].vendor_err, errs[i]);
	}
	CU_ASSERT_EQUAL(CNT(drop_ud_protection), 4);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 0);
	CU_ASSERT_EQUAL(terminate_sent(), -1); /* not the peer's fault */
	net_end();
}

/* A page is temporarily absent: the datagram is lost, and its receive waits for the next one. */
static void a_slow_page(void)
{
	init();
	net.place_err = HW_VENDOR_ERR_HOST_FAULT;
	net.nic->host.mem_busy = true;
	rx_send(8);
	CU_ASSERT_EQUAL(net.recvs_taken, 0);
	CU_ASSERT_EQUAL(CNT(drop_ud_busy), 1);
	net.place_err = HW_VENDOR_ERR_NONE;
	rx_send(8);
	CU_ASSERT_EQUAL(net.recvs_taken, 1);
	CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(CNT(ud_rx_msgs), 1);
	CU_ASSERT_EQUAL(terminate_sent(), -1);
	net_end();
}

static void full_cq(void)
{
	init();
	net.cq_full = true;
	rx_send(8);
	CU_ASSERT_EQUAL(net.qp_errors, 1);
	net_end();
}

/* Verbs promise one frame; a QP without the extension accepts no part of more. */
static void long_message_to_a_plain_qp(void)
{
	struct frame f;

	init();
	net_put_send(&f, data, 0, 1000, 2000);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ud_too_long), 1);
	CU_ASSERT_EQUAL(terminate_sent(), 0x1205);
	CU_ASSERT_EQUAL(net.recvs_taken, 0);
	net_end();
}

static void put_terminate(struct frame *f, uint32_t bytes)
{
	uint8_t term[64] = {0x12, 0x05};
	struct wire_ddp_untagged *ddp = net_put_send(f, term, 0, bytes, bytes);

	ddp->rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_TERMINATE;
	ddp->qn = be32_put(WIRE_QN_TERMINATE);
	net_dgramh(f)->imm = be32_put(0x01020304);
	net_dgramh(f)->qkey = be32_put(0x99999999); /* the peer does not know the QP's own Q_Key */
	frame_end(f);
}

static void error_of_a_peer(void)
{
	struct frame f;
	uint32_t i;

	init();
	put_terminate(&f, 4);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_eqe, 1);
	CU_ASSERT_EQUAL(net.eqe_client, NET_CLIENT);
	CU_ASSERT_EQUAL(net.eqe_eq, 0);
	CU_ASSERT_EQUAL(net.eqe.type, HW_EVENT_PEER_ERROR);
	CU_ASSERT_EQUAL(net.eqe.id, NET_QPN);
	CU_ASSERT_EQUAL(net.eqe.aux, 0x01020304);
	CU_ASSERT_EQUAL(net.eqe.aux2, NET_PEER_IP);
	CU_ASSERT_EQUAL(net.eqe.layer_etype, 0x12);
	CU_ASSERT_EQUAL(net.eqe.code, 0x05);
	CU_ASSERT_EQUAL(net.qp.state, HW_QPS_RTS);
	/* a QP without notifications */
	net.qp.flags = HW_QP_F_NO_PEER_ERROR;
	put_terminate(&f, 4);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_eqe, 1);
	net.qp.flags = 0;
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	/* A flood of errors does not fill the event queue. */
	for (i = 0; i < 1000; i++)
		net_rx(&f);
	CU_ASSERT_EQUAL(net.num_eqe, UD_ERROR_BURST);
	CU_ASSERT_EQUAL(CNT(ud_errors_rx), 1002);
	put_terminate(&f, 3);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 1);
	CU_ASSERT_EQUAL(terminate_sent(), -1);
	net_end();
}

UT_MAIN("nic_fw/dgram/ud_rx", UT(delivers), UT(long_qp_has_no_grh), UT(grh_without_options),
	UT(immediate_and_solicited), UT(which_qp), UT(opcodes), UT(no_receive), UT(bad_receive),
	UT(receive_too_short), UT(fault_of_the_receive), UT(a_slow_page), UT(full_cq),
	UT(long_message_to_a_plain_qp), UT(error_of_a_peer))
