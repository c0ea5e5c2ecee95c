/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets out: headers, distances, segments, turns of flows and sessions, ports without room,
 * payload that is read again for each transmission.
 */
#include "tests/pair/rd_pair.h"

static struct rp rp;

#define A (&rp.end[0])
#define B (&rp.end[1])

static struct rp_info kept(uint32_t k)
{
	return rp_info_of(&rp.wire.kept[k], !rp.wire.kept[k].to);
}

static void write_to(uint32_t q, const struct fw_qp *dst, uint64_t wr_id, uint32_t bytes)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = wr_id, .bytes = bytes, .dst = dst};

	rp_req(&rp, 0, A->qp[q], &req);
}

/* Each header field of a message of three segments, and of the next one in the flow. */
static void headers(void)
{
	struct rp_req req = {.opcode = HW_WQE_SEND_IMM,
			     .flags = HW_WQE_F_SOLICITED,
			     .bytes = 3000,
			     .imm = 0x44332211};
	uint32_t psn, i, sum = 0;
	struct rd_session *s;

	rp_begin(&rp);
	rp_open(&rp);
	s = rp_session(&rp, 0);
	psn = s->tx_psn;
	rp.filter = rp_keep_data;
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	write_to(0, B->qp[0], 1, 8);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 4);
	for (i = 0; i < 4; i++) {
		struct rp_info info = kept(i);
		uint32_t payload =
		    info.frame->n - WIRE_DGRAM_CRC_BYTES - (uint32_t)(info.ddp - info.frame->b);

		CU_ASSERT_EQUAL(info.psn, psn + i);
		CU_ASSERT_EQUAL(be32_get(info.rd->epoch), s->peer_epoch);
		CU_ASSERT_EQUAL(be16_get(info.rd->flow_distance), i ? 1 : 0);
		CU_ASSERT_EQUAL(be32_get(info.rd->timestamp), (uint32_t)rp.wire.now_ns);
		CU_ASSERT_EQUAL(be32_get(info.dgram->dst_qpn), B->qp[0]->qpn);
		CU_ASSERT_EQUAL(be32_get(info.dgram->src_qpn), A->qp[0]->qpn);
		CU_ASSERT_EQUAL(be32_get(info.dgram->qkey), RP_QKEY);
		CU_ASSERT_EQUAL(be16_get(info.dgram->incarnation), 0);
		CU_ASSERT_EQUAL(be32_get(info.dgram->msg_bytes), i < 3 ? 3000 : 8);
		CU_ASSERT_EQUAL(be32_get(info.dgram->ssn), A->qp[0]->ssn - (i < 3));
		CU_ASSERT_EQUAL(info.last, i >= 2);
		CU_ASSERT_EQUAL(!!(info.dgram->flags & WIRE_DGRAM_F_IMM), i == 2);
		CU_ASSERT_EQUAL(!!(info.dgram->flags & WIRE_DGRAM_F_SOLICITED), i == 2);
		CU_ASSERT_FALSE(info.dgram->flags & WIRE_DGRAM_F_RESPONSE);
		CU_ASSERT_FALSE(info.dgram->flags & WIRE_DGRAM_F_RETRANSMIT);
		if (i == 2)
			CU_ASSERT_EQUAL(memcmp(&info.dgram->imm, &req.imm, 4), 0);
		if (i == 3)
			break;
		payload -= (uint32_t)sizeof(struct wire_ddp_untagged);
		CU_ASSERT_EQUAL(payload, i < 2 ? s->segment_bytes : 3000u - 2u * s->segment_bytes);
		CU_ASSERT_TRUE(info.frame->n <= sizeof(struct wire_eth) + 1500);
		sum += payload;
	}
	CU_ASSERT_EQUAL(sum, 3000);
	rp_recv(&rp, 1, B->qp[0], 9, 0, 3000);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 0, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(rp_expect_recv(&rp, 1, 9, HW_STATUS_SUCCESS).imm_inv, 0x44332211);
	rp_end(&rp);
}

/* Distances name the last unacknowledged packet of the flow, whatever lies between. */
static void distances(void)
{
	uint32_t last[2] = {0, 0}, i;
	bool any[2] = {false, false}; /* any PSN may be the first, 0 too */

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_keep_data;
	for (i = 0; i < 12; i++) {
		uint32_t q = (i * 7 / 3) % 2;
		struct rp_info info;

		write_to(q, B->qp[q], i, 8);
		rp_settle(&rp);
		CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, i + 1);
		info = kept(i);
		CU_ASSERT_EQUAL(be16_get(info.rd->flow_distance), any[q] ? info.psn - last[q] : 0);
		last[q] = info.psn;
		any[q] = true;
	}
	rp_release(&rp);
	for (i = 0; i < 12; i++) {
		struct hw_cqe cqe;

		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe));
	}
	/* All packets are acknowledged: the next one is the first. */
	rp.filter = rp_keep_data;
	write_to(0, B->qp[0], 1, 8);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(be16_get(kept(0).rd->flow_distance), 0);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Every length around that of a segment. */
static void lengths(void)
{
	uint32_t seg, i;

	rp_begin(&rp);
	rp_open(&rp);
	seg = rp_session(&rp, 0)->segment_bytes;
	for (i = 0; i < 24; i++) {
		uint32_t bytes = i < 12 ? seg - 6 + i : 2 * seg - 18 + i;
		uint32_t psn = rp_session(&rp, 0)->tx_psn;

		rp_fill(A->mem, bytes, i);
		memset(B->mem, 0, bytes + 8);
		write_to(0, B->qp[0], i, bytes);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, i, HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_filled(B->mem, bytes, i));
		CU_ASSERT_EQUAL(B->mem[bytes], 0);
		CU_ASSERT_EQUAL(rp_session(&rp, 0)->tx_psn - psn, (bytes + seg - 1) / seg);
	}
	rp_end(&rp);
}

/* Two flows with much to send take turns: neither waits for the end of the other. */
static void flows_in_turn(void)
{
	uint32_t i, changes = 0, ended = 0;
	struct hw_cqe cqe;

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_keep_data;
	write_to(0, B->qp[0], 1, 100000);
	write_to(1, B->qp[1], 2, 100000);
	rp_settle(&rp);
	CU_ASSERT_TRUE(rp.wire.num_kept >= 32);
	for (i = 1; i < 32; i++)
		changes += be32_get(kept(i).dgram->src_qpn) != be32_get(kept(i - 1).dgram->src_qpn);
	CU_ASSERT_TRUE(changes >= 3);
	for (i = 0; i + RD_FLOW_QUANTUM < 32; i++) {
		uint32_t k, same = 0;

		for (k = 0; k <= RD_FLOW_QUANTUM; k++)
			same += be32_get(kept(i + k).dgram->src_qpn) ==
				be32_get(kept(i).dgram->src_qpn);
		CU_ASSERT_TRUE(same <= RD_FLOW_QUANTUM);
	}
	rp_release(&rp);
	rp_run(&rp, 1000000000);
	/* Either may be the first to end. */
	for (i = 0; i < 2; i++) {
		CU_ASSERT_TRUE_FATAL(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_SUCCESS);
		ended |= 1u << cqe.wr_id;
	}
	CU_ASSERT_EQUAL(ended, 1u << 1 | 1u << 2);
	rp_end(&rp);
}

/* A port that accepts a frame now and then: nothing is lost, and the flow does not stop. */
static void little_room(void)
{
	uint32_t i, room;

	rp_begin(&rp);
	rp_open(&rp);
	rp_fill(A->mem, 60000, 1);
	write_to(0, B->qp[0], 1, 60000);
	write_to(1, B->qp[1], 2, 3);
	for (i = 0; i < 3000; i++) {
		rp_tx_room(&rp, room = i % 4);
		rp_poll(&rp, 0);
		rp_tx_room(&rp, room);
		rp_poll(&rp, 1);
		rp.wire.now_ns += 20000;
	}
	rp_tx_room(&rp, UINT32_MAX);
	rp_quiet(&rp);
	{
		struct hw_cqe cqe;

		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status == HW_STATUS_SUCCESS);
		CU_ASSERT_TRUE(rp_scqe(&rp, 0, &cqe) && cqe.status == HW_STATUS_SUCCESS);
	}
	/* The second Write puts the same data over the first three bytes. */
	CU_ASSERT_TRUE(rp_filled(B->mem, 60000, 1));
	rp_end(&rp);
}

/* A port may borrow a frame's data if the request counts as read only when acknowledged. */
static void what_may_be_borrowed(void)
{
	struct rp_req req = {
	    .opcode = HW_WQE_WRITE, .flags = HW_WQE_F_INLINE, .bytes = 100, .wr_id = 2};

	rp_begin(&rp);
	rp_open(&rp);
	rp.filter = rp_keep_data;
	write_to(0, B->qp[0], 1, 1000);
	rp_settle(&rp);
	req.dst = B->qp[0];
	rp_req(&rp, 0, A->qp[0], &req);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(rp.wire.num_kept, 2);
	CU_ASSERT_TRUE(kept(0).frame->flags & FW_TX_F_BORROW);
	CU_ASSERT_FALSE(kept(1).frame->flags & FW_TX_F_BORROW);
	bench_wire_forget(&rp.wire);
	rp_run(&rp, 300000);
	CU_ASSERT_FATAL(rp.wire.num_kept >= 1);
	CU_ASSERT_TRUE(kept(0).dgram->flags & WIRE_DGRAM_F_RETRANSMIT);
	CU_ASSERT_FALSE(kept(0).frame->flags & FW_TX_F_BORROW);
	rp_release(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_expect_send(&rp, 0, 2, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* A retransmission reads the memory again and is marked. */
static void gathered_anew(void)
{
	uint32_t psn;

	rp_begin(&rp);
	rp_open(&rp);
	memset(A->mem, 1, 8);
	rp.filter = rp_drop_data;
	write_to(0, B->qp[0], 1, 8);
	rp_settle(&rp);
	memset(A->mem, 2, 8);
	psn = rp_session(&rp, 0)->tx_una;
	rp.filter = rp_keep_data;
	rp_run(&rp, 300000);
	CU_ASSERT_FATAL(rp.wire.num_kept >= 1);
	CU_ASSERT_EQUAL(kept(0).psn, psn);
	CU_ASSERT_TRUE(kept(0).dgram->flags & WIRE_DGRAM_F_RETRANSMIT);
	rp_release(&rp);
	CU_ASSERT_EQUAL(B->mem[0], 2);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

/* Memory that is read from the process: a fault at the first transmission, and at a later one. */
static void host_faults(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .wr_id = 1, .bytes = 4000};
	uint32_t again;

	for (again = 0; again < 2; again++) {
		struct hw_cqe cqe;

		rp_begin(&rp);
		rp_open(&rp);
		req.dst = B->qp[0];
		req.lkey = rp_reg(&rp, 0, A->mem, 8192, 0, false);
		rp.filter = rp_drop_data;
		rp_host_fault(&rp, !again);
		rp_req(&rp, 0, A->qp[0], &req);
		rp_settle(&rp);
		rp_host_fault(&rp, again);
		rp.filter = NULL;
		rp_quiet(&rp);
		CU_ASSERT_FATAL(rp_scqe(&rp, 0, &cqe));
		CU_ASSERT_EQUAL(cqe.status, HW_STATUS_LOC_PROT_ERR);
		CU_ASSERT_EQUAL(cqe.vendor_err, HW_VENDOR_ERR_HOST_FAULT);
		CU_ASSERT_EQUAL(A->qp[0]->state, HW_QPS_SQE);
		CU_ASSERT_EQUAL(rp_session(&rp, 1)->rx_psn, rp_session(&rp, 0)->tx_psn);
		rp_host_fault(&rp, false);
		write_to(1, B->qp[1], 5, 8);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 5, HW_STATUS_SUCCESS);
		rp_end(&rp);
	}
}

/* No more packets are in flight than the window allows; each acknowledgement opens it. */
static void window_limit(void)
{
	struct rd_session *s;
	uint32_t i;

	rp_begin(&rp);
	rp_open(&rp);
	s = rp_session(&rp, 0);
	A->nic->config.cc_off = true;
	rd_cong_init(A->nic, s);
	rp.filter = rp_drop_data;
	write_to(0, B->qp[0], 1, 800000);
	rp_settle(&rp);
	CU_ASSERT_EQUAL(s->tx_psn - s->tx_una, WIRE_RD_WINDOW);
	for (i = 1; i < 20; i++) {
		/* Acknowledged, but without new credits: nothing may be sent. */
		rd_ack_cumulative(A->nic, s, s->tx_una + i, 0, false);
		rp_settle(&rp);
		CU_ASSERT_EQUAL(s->tx_psn - s->tx_una, WIRE_RD_WINDOW - i);
		s->credit_limit = (uint8_t)(s->credit_limit + i);
		rd_session_ready(A->nic, s);
		rp_settle(&rp);
		CU_ASSERT_EQUAL(s->tx_psn - s->tx_una, WIRE_RD_WINDOW);
	}
	rd_session_fail(A->nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
	rp_expect_send(&rp, 0, 1, HW_STATUS_REM_ABORT_ERR);
	rp_end(&rp);
}

/* Posts a Write of A's queue pair to A itself. */
static void write_to_itself(uint32_t q, uint64_t wr_id, uint32_t bytes)
{
	struct hw_sq_wqe wqe = {.opcode = HW_WQE_WRITE,
				.flags = HW_WQE_F_SIGNALED,
				.slots = 2,
				.num_sge = 1,
				.wr_id = wr_id,
				.qkey = RP_QKEY};
	struct hw_sge sge = {.bytes = bytes};

	sge.addr = (uintptr_t)A->mem;
	sge.lkey = A->stag;
	wqe.ah = A->ah;
	wqe.dst_qpn = A->qp[1]->qpn;
	wqe.remote_addr = (uintptr_t)A->mem + 65536;
	wqe.rkey = A->stag;
	rp_write_sq(A->qp[q], &wqe, &sge, sizeof(sge));
	rp_ring(&rp, 0, A->qp[q]);
}

/* The session of a NIC with its own address. */
static void to_itself(void)
{
	rp_begin(&rp);
	rp_fill(A->mem, 5000, 4);
	write_to_itself(0, 1, 5000);
	rp_quiet(&rp);
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	CU_ASSERT_TRUE(rp_filled(A->mem + 65536, 5000, 4));
	rp_end(&rp);
}

/* A session that is alone has a whole turn, unless its packets are long; others share it. */
static void whole_turn(void)
{
	/* The bench's port takes 32 frames, of which one remains for an ACK. */
	static const uint16_t segments[] = {1392, 2048, 3000, 8904};
	static const uint16_t packets[] = {31, 31, RD_SESSION_ALONE_BYTES / 3000, 16};
	uint32_t i;

	for (i = 0; i < 2 * sizeof(segments) / sizeof(segments[0]); i++) {
		struct rd_session *s;
		uint32_t psn;

		rp_begin(&rp);
		rp_open(&rp);
		write_to_itself(1, 1, 8);
		rp_quiet(&rp);
		rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
		s = rp_session(&rp, 0);
		A->nic->config.cc_off = true;
		rd_cong_init(A->nic, s);
		s->segment_bytes = segments[i / 2];
		A->nic->config.mtu = HW_MAX_MTU;
		rp.filter = rp_drop_data;
		write_to(0, B->qp[0], 2, 800000);
		rp_poll(&rp, 0);
		/* The first packets have left, with the credits of an idle session. */
		psn = s->tx_psn;
		s->credit_limit = (uint8_t)(s->credit_used + 100);
		rd_session_ready(A->nic, s);
		if (i % 2)
			rd_session_ready(A->nic, rd_session_find(A->nic, A->nic->config.ip, 0));
		rp_poll(&rp, 0);
		CU_ASSERT_EQUAL(s->tx_psn - psn, i % 2 ? 16 : packets[i / 2]);
		rd_session_fail(A->nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_NONE);
		rp_expect_send(&rp, 0, 2, HW_STATUS_REM_ABORT_ERR);
		rp_end(&rp);
	}
}

/* A header says that more follows: of data, what its sender knows; else, what waits or was lost. */
static void more_follows(void)
{
	static const uint8_t types[] = {WIRE_DGRAM_RD, WIRE_DGRAM_RD_ACK, WIRE_DGRAM_RD_PROBE};
	struct fw_list waiting;
	uint32_t type, lost, flows, more;

	rp_begin(&rp);
	rp_open(&rp);
	for (type = 0; type < sizeof(types); type++) {
		for (lost = 0; lost < 2; lost++) {
			for (flows = 0; flows < 2; flows++) {
				struct rd_session *s = rp_session(&rp, 0);
				struct fw_tx_frame *frame = eth_tx_begin(A->nic);
				const struct wire_dgram *dgram =
				    (const void *)(frame->hdr + UDP_TX_HDR_BYTES);
				uint8_t used = s->credit_used;

				fw_list_init(&waiting);
				if (flows)
					fw_list_add_tail(&s->flows, &waiting);
				s->lost = lost;
				s->more = !(lost || flows);
				rd_tx_headers(A->nic, s, frame, types[type], 7, 0, 100);
				more = (dgram->flags & WIRE_DGRAM_F_MORE) != 0;
				CU_ASSERT_EQUAL(more, types[type] == WIRE_DGRAM_RD ? s->more
										   : lost || flows);
				CU_ASSERT_EQUAL(s->credit_used - used,
						types[type] == WIRE_DGRAM_RD);
				s->credit_used = used;
				s->lost = 0;
				s->more = false;
				fw_list_del(&waiting);
			}
		}
	}
	rp_end(&rp);
}

static uint32_t data_frames;

static enum bench_verdict count_and_drop(struct rp *r, const struct rp_info *info)
{
	(void)r;
	if (info->from || info->type != WIRE_DGRAM_RD)
		return BENCH_PASS;
	data_frames++;
	return BENCH_DROP;
}

/* A session that paces its packets repeats lost ones no earlier than it would send new ones. */
static void repeats_are_paced(void)
{
	struct rp_req req = {.opcode = HW_WQE_WRITE, .bytes = 8, .wr_id = 1};
	struct rd_session *s;

	rp_begin(&rp);
	rp_open(&rp);
	s = rp_session(&rp, 0);
	req.dst = rp.end[1].qp[0];
	data_frames = 0;
	rp.filter = count_and_drop;
	rp_req(&rp, 0, A->qp[0], &req);
	rp_settle(&rp);
	CU_ASSERT_EQUAL_FATAL(data_frames, 1);
	fw_timer_set(&A->nic->timers, &s->pace_timer, rp.wire.now_ns + 2000000000);
	rp_run(&rp, 1900000000);
	CU_ASSERT_EQUAL(data_frames, 1);
	CU_ASSERT_TRUE(s->lost > 0);
	rp_run(&rp, 110000000);
	CU_ASSERT_TRUE(data_frames > 1);
	rp.filter = NULL;
	rp_run(&rp, UINT64_C(10000000000));
	rp_expect_send(&rp, 0, 1, HW_STATUS_SUCCESS);
	rp_end(&rp);
}

UT_MAIN("pair/rd_tx", UT(repeats_are_paced), UT(more_follows), UT(headers), UT(distances),
	UT(lengths), UT(flows_in_turn), UT(little_room), UT(what_may_be_borrowed),
	UT(gathered_anew), UT(host_faults), UT(window_limit), UT(to_itself), UT(whole_turn))
