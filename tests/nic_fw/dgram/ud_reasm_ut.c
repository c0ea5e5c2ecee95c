/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembly of long Sends and Write-Records: any order, loss, duplicates, forgeries, limits.
 */
#include "tests/bench/stubs/net.h"

enum {
	S = 1416, /* segment of MTU 1500 */
	MSG = 5 * S + 100,
	SEGMENTS = 6,
};

static uint8_t data[NET_BUF_BYTES];

static void init(void)
{
	net_init(0);
	net_learn_peer();
	net_fill(data, sizeof(data), 8);
	net.qp.flags = HW_QP_F_UD_LONG;
	net.recv_bytes = HW_MAX_UD_MSG_BYTES;
}

static uint32_t length_of(uint32_t i, uint32_t msg_bytes)
{
	return msg_bytes - i * S < S ? msg_bytes - i * S : S;
}

static void rx_segment(uint32_t i, uint32_t msg_bytes, uint32_t ssn)
{
	struct frame f;

	net_put_send(&f, data, i * S, length_of(i, msg_bytes), msg_bytes);
	net_dgramh(&f)->ssn = be32_put(ssn);
	frame_end(&f);
	net_rx_pieces(&f, 333);
}

static void rx_record(uint32_t i, uint32_t msg_bytes, uint32_t ssn)
{
	struct frame f;

	net_put_record(&f, data, NET_TO, i * S, length_of(i, msg_bytes), msg_bytes);
	net_dgramh(&f)->ssn = be32_put(ssn);
	frame_end(&f);
	net_rx_pieces(&f, 333);
}

/* Nothing is kept: no entry, no buffer, no timer. */
static void check_empty(void)
{
	CU_ASSERT_EQUAL(net.nic->ud.reasms.used, 0);
	CU_ASSERT_EQUAL(net.nic->ud.buffers.used, 0);
	CU_ASSERT_EQUAL(net.nic->timers.count, 0);
	CU_ASSERT_EQUAL(net.qp.msgs_open, 0);
	CU_ASSERT_TRUE(fw_list_empty(&net.qp.recv_msgs));
}

static void permute(uint32_t *order, uint32_t n, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n - 1; i; i--) {
		uint32_t j = (seed = seed * 1103515245u + 12345u) >> 16, t = order[i];

		order[i] = order[j % (i + 1)];
		order[j % (i + 1)] = t;
	}
}

static void any_order(void)
{
	uint32_t order[SEGMENTS], round, i;

	init();
	for (round = 0; round < 100; round++) {
		net.num_cqe = 0;
		memset(net.recv_buf, 0, MSG + 10);
		permute(order, SEGMENTS, round);
		for (i = 0; i < SEGMENTS; i++) {
			CU_ASSERT_EQUAL(net.num_cqe, 0);
			CU_ASSERT_EQUAL(net.recvs_taken, round);
			rx_segment(order[i], MSG, 0xfffffff0 + round);
		}
		CU_ASSERT_EQUAL_FATAL(net.num_cqe, 1);
		CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(net.cqe[0].bytes, MSG);
		CU_ASSERT_EQUAL(memcmp(net.recv_buf, data, MSG), 0);
		CU_ASSERT_EQUAL(net.qp.rx_msgs, round + 1);
		CU_ASSERT_EQUAL(net.qp.rx_bytes, (round + 1) * MSG);
		check_empty();
	}
	CU_ASSERT_EQUAL(net_drops(), 0);
	net_end();
}

static void largest_message(void)
{
	uint32_t i, n = (HW_MAX_UD_MSG_BYTES + S - 1) / S;

	init();
	for (i = n; i-- > 0;)
		rx_segment(i, HW_MAX_UD_MSG_BYTES, 1);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(memcmp(net.recv_buf, data, HW_MAX_UD_MSG_BYTES), 0);
	/* One byte more is refused, and nothing of it is kept. */
	rx_segment(0, HW_MAX_UD_MSG_BYTES + 1, 2);
	CU_ASSERT_EQUAL(CNT(drop_ud_too_long), 1);
	check_empty();
	net_end();
}

static void duplicates_are_harmless(void)
{
	uint32_t i;

	init();
	for (i = 0; i < SEGMENTS - 1; i++) {
		rx_segment(i, MSG, 1);
		rx_segment(i, MSG, 1);
		rx_segment(0, MSG, 1);
	}
	rx_segment(SEGMENTS - 1, MSG, 1);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(memcmp(net.recv_buf, data, MSG), 0);
	/* A late segment opens a message, which the timer ends. */
	rx_segment(3, MSG, 1);
	net_advance(UD_REASM_TIMEOUT_NS);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(CNT(ud_reassembly_timeouts), 1);
	check_empty();
	net_end();
}

static void immediate_comes_with_the_last(void)
{
	struct frame f;

	init();
	net_put_send(&f, data, S, 10, S + 10);
	net_dgramh(&f)->flags = WIRE_DGRAM_F_IMM;
	net_dgramh(&f)->imm = be32_put(0xdeadbeef);
	frame_end(&f);
	net_rx(&f);
	rx_segment(0, S + 10, 1);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(net.cqe[0].flags, HW_CQE_F_IMM);
	CU_ASSERT_EQUAL(memcmp(&net.cqe[0].imm_inv, "\xde\xad\xbe\xef", 4), 0);
	net_end();
}

static void lost_segment_takes_no_receive(void)
{
	uint32_t i;

	init();
	for (i = 0; i < SEGMENTS; i++)
		if (i != 2)
			rx_segment(i, MSG, 1);
	net_advance(UD_REASM_TIMEOUT_NS - 1);
	CU_ASSERT_EQUAL(CNT(ud_reassembly_timeouts), 0);
	net_advance(1);
	CU_ASSERT_EQUAL(CNT(ud_reassembly_timeouts), 1);
	CU_ASSERT_EQUAL(net.recvs_taken, 0);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	check_empty();
	net_end();
}

/* A turn that comes so late: the core was absent. */
static void come_back_after(uint64_t ns)
{
	net.nic->there_ns = net.nic->now_ns;
	(void)fw_count_absence(net.nic, net.nic->now_ns + ns);
	net_advance(ns);
}

/* Segments that come while the core is absent wait in the port, also the rest of a message or
 * record. */
static void core_is_absent(void)
{
	uint32_t i, k;

	init();
	for (k = 0; k < 2; k++) {
		for (i = 0; i < SEGMENTS; i++) {
			if (k)
				rx_record(SEGMENTS - 1 - i, MSG, 1);
			else
				rx_segment(i, MSG, 1);
			if (i + 1 < SEGMENTS)
				come_back_after(2 * UD_REASM_TIMEOUT_NS);
		}
		CU_ASSERT_EQUAL_FATAL(net.num_cqe, k + 1);
		CU_ASSERT_EQUAL(net.cqe[k].status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(CNT(ud_reassembly_timeouts), 0);
		CU_ASSERT_EQUAL(CNT(ud_rx_records_partial), 0);
		check_empty();
	}
	/* Once it has been there for as long, or has come back often enough, the rest is lost. */
	for (k = 0; k < 2; k++) {
		rx_segment(0, MSG, 2);
		if (k) {
			for (i = 0; i <= FW_WAIT_TURNS; i++)
				come_back_after(UD_REASM_TIMEOUT_NS);
		} else {
			come_back_after(2 * UD_REASM_TIMEOUT_NS);
			for (i = 0; i < 110; i++)
				net_advance(UD_REASM_AGAIN_NS);
		}
		CU_ASSERT_EQUAL(CNT(ud_reassembly_timeouts), k + 1);
		check_empty();
	}
	net_end();
}

/* Equal numbers from two QPs, or from two hosts, are two messages. */
static void keyed_by_source(void)
{
	struct frame f;

	init();
	rx_segment(0, S + 10, 1);
	net_put_send(&f, data, S, 10, S + 10);
	net_dgramh(&f)->src_qpn = be32_put(NET_PEER_QPN + 1);
	frame_end(&f);
	net_rx(&f);
	net_put_send(&f, data, S, 10, S + 10);
	net_iph(&f)->src = be32_put(0x0a4d0009);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	CU_ASSERT_EQUAL(net.qp.msgs_open, 3);
	rx_segment(1, S + 10, 1);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(net.qp.msgs_open, 2);
	net_end();
}

static void rx_odd(uint32_t mo, uint32_t bytes, uint32_t msg_bytes)
{
	struct frame f;

	net_put_send(&f, data, mo, bytes, msg_bytes);
	frame_end(&f);
	net_rx(&f);
}

static void inconsistent_segments(void)
{
	struct wire_ddp_untagged *ddp;
	struct frame f;

	init();
	rx_segment(0, MSG, 1);
	rx_odd(S, S - 8, MSG);               /* another length */
	rx_odd(S + 8, S, MSG);               /* no multiple of it */
	rx_odd(S, S, MSG + 1);               /* another message length */
	rx_odd(MSG - 99, 99, MSG);           /* a last one that starts elsewhere */
	rx_odd(MSG - S - 100, S + 100, MSG); /* one that is longer than the others */
	ddp = net_put_send(&f, data, S, S, MSG);
	ddp->rdmap_ctrl = WIRE_RDMAP_VERSION | WIRE_RDMAP_SEND_SE;
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 6);
	/* The last segment before others, then a length that does not fit it. */
	net_advance(UD_REASM_TIMEOUT_NS);
	rx_odd(5 * S, 100, MSG);
	rx_odd(0, S + 8, MSG);
	rx_odd(0, 90, MSG);
	rx_odd(MSG - 90, 90, MSG);
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 9);
	rx_odd(0, S, MSG);
	rx_odd(S, S, MSG);
	rx_odd(2 * S, S, MSG);
	rx_odd(3 * S, S, MSG);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	rx_odd(4 * S, S, MSG);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(memcmp(net.recv_buf, data, MSG), 0);
	check_empty();
	net_end();
}

static void segments_too_small(void)
{
	init();
	/* 65 pieces are more than the map has bits; nothing stays behind. */
	rx_odd(0, 100, 6401);
	check_empty();
	rx_odd(0, 100, 6400);
	CU_ASSERT_EQUAL(net.qp.msgs_open, 1);
	net_advance(UD_REASM_TIMEOUT_NS);
	/* A last segment that is longer than all before it is malformed. */
	rx_odd(10, 20, 30);
	check_empty();
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 2);
	net_end();
}

static void bounded_per_qp_and_in_all(void)
{
	uint32_t ssn, i;
	struct fw_qp *qp = &net.qp;

	init();
	for (ssn = 0; ssn < UD_REASM_PER_QP + 3; ssn++)
		rx_segment(0, MSG, ssn);
	CU_ASSERT_EQUAL(qp->msgs_open, UD_REASM_PER_QP);
	CU_ASSERT_EQUAL(CNT(drop_ud_reassembly_full), 3);
	/* Messages that are already open continue. */
	for (i = 1; i < SEGMENTS; i++)
		rx_segment(i, MSG, 5);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	rx_segment(0, MSG, 1000);
	CU_ASSERT_EQUAL(CNT(drop_ud_reassembly_full), 3);
	net_advance(UD_REASM_TIMEOUT_NS);
	check_empty();
	/* The table of all QPs. */
	for (ssn = 0; ssn < UD_REASM_MAX + 2; ssn++) {
		qp->msgs_open = 0;
		rx_segment(0, MSG, ssn);
	}
	/* One user leaves a quarter of it. */
	CU_ASSERT_EQUAL(net.nic->ud.reasms.used, UD_REASM_MAX - UD_REASM_MAX / SHARE_POOL_PARTS);
	CU_ASSERT_EQUAL(net.user.ud_reasms, net.nic->ud.reasms.used);
	CU_ASSERT_EQUAL(CNT(ud_reasms_share_refused), UD_REASM_MAX / SHARE_POOL_PARTS + 2);
	net.user.ud_reasms = 0;
	for (; ssn < 2 * UD_REASM_MAX + 4; ssn++) {
		qp->msgs_open = 0;
		rx_segment(0, MSG, ssn);
	}
	CU_ASSERT_EQUAL(net.nic->ud.reasms.used, UD_REASM_MAX);
	net.user.ud_reasms = UD_REASM_MAX;
	CU_ASSERT_TRUE(CNT(drop_ud_reassembly_full) > UD_REASM_MAX);
	qp->msgs_open = UD_REASM_MAX;
	CU_ASSERT_TRUE(ud_flush_step(net.nic, qp));
	CU_ASSERT_EQUAL(net.user.ud_reasms, 0);
	check_empty();
	net_end();
}

static void too_long_for_its_receive(void)
{
	uint32_t i;

	init();
	net.recv_bytes = MSG - 1;
	for (i = 0; i < SEGMENTS; i++)
		rx_segment(i, MSG, 1);
	CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(CNT(ud_errors_tx), 1);
	check_empty();
	net.rq_result = RQ_EMPTY;
	for (i = 0; i < SEGMENTS; i++)
		rx_segment(i, MSG, 2);
	CU_ASSERT_EQUAL(CNT(drop_ud_no_receive), 1);
	check_empty();
	net_end();
}

/* The CQ overruns during the delivery of a message: the QP is flushed from within. */
static void full_cq(void)
{
	uint32_t i;

	init();
	net.cq_full = true;
	rx_segment(0, MSG, 2);
	for (i = 0; i < SEGMENTS; i++)
		rx_segment(i, MSG, 1);
	CU_ASSERT_EQUAL(net.qp_errors, 1);
	check_empty();
	net_end();
	init();
	net.cq_full = true;
	rx_record(1, MSG, 2);
	rx_record(0, 100, 1);
	CU_ASSERT_EQUAL(net.qp_errors, 1);
	check_empty();
	net_end();
}

/* ---- Write-Record --------------------------------------------------------------------- */

static void check_record(const struct hw_cqe *cqe, uint32_t msg_bytes, uint64_t map, uint8_t flags)
{
	CU_ASSERT_EQUAL(cqe->status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(cqe->opcode, HW_CQE_RECV_WRITE_RECORD);
	CU_ASSERT_EQUAL(cqe->flags, flags);
	CU_ASSERT_EQUAL(cqe->bytes, msg_bytes);
	CU_ASSERT_EQUAL(cqe->sq_index, NET_STAG);
	CU_ASSERT_EQUAL(cqe->record_to, NET_TO);
	CU_ASSERT_EQUAL(cqe->record_map, map);
	CU_ASSERT_EQUAL(cqe->src_qpn, NET_PEER_QPN);
	CU_ASSERT_EQUAL(cqe->src_ip, NET_PEER_IP);
}

static void record_in_any_order(void)
{
	uint32_t order[SEGMENTS], round, i;

	init();
	for (round = 0; round < 50; round++) {
		net.num_cqe = 0;
		memset(net.region, 0, MSG + 10);
		permute(order, SEGMENTS, round);
		for (i = 0; i < SEGMENTS; i++) {
			CU_ASSERT_EQUAL(net.num_cqe, 0);
			rx_record(order[i], MSG, round);
			/* Placed at once. */
			CU_ASSERT_EQUAL(memcmp(net.region + order[i] * S, data + order[i] * S,
					       length_of(order[i], MSG)),
					0);
		}
		CU_ASSERT_EQUAL_FATAL(net.num_cqe, 1);
		check_record(&net.cqe[0], MSG, 0x3f, 0);
		CU_ASSERT_EQUAL(net.cqe[0].vendor_err, S);
		CU_ASSERT_EQUAL(net.qp.rx_msgs, round + 1);
		CU_ASSERT_EQUAL(net.qp.rx_bytes, (round + 1) * MSG);
		check_empty();
	}
	CU_ASSERT_EQUAL(net.recvs_taken, 0);
	CU_ASSERT_EQUAL(CNT(ud_rx_records), 50);
	CU_ASSERT_EQUAL(CNT(ud_rx_records_partial), 0);
	net_end();
}

static void record_of_one_frame(void)
{
	struct frame f;

	init();
	rx_record(0, 100, 1);
	check_record(&net.cqe[0], 100, 1, 0);
	CU_ASSERT_EQUAL(net.cqe[0].vendor_err, 100);
	net_put_record(&f, data, NET_TO, 0, 0, 0);
	net_dgramh(&f)->flags |= WIRE_DGRAM_F_SOLICITED;
	frame_end(&f);
	net_rx(&f);
	check_record(&net.cqe[1], 0, 0, HW_CQE_F_SOLICITED);
	check_empty();
	net_end();
}

static void record_with_holes(void)
{
	init();
	rx_record(0, MSG, 1);
	rx_record(2, MSG, 1);
	rx_record(4, MSG, 1);
	net_advance(UD_REASM_TIMEOUT_NS - 1);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	net_advance(1);
	check_record(&net.cqe[0], MSG, 0x15, HW_CQE_F_PARTIAL);
	CU_ASSERT_EQUAL(net.cqe[0].vendor_err, S);
	/* After the last segment the others are waited for only shortly. */
	rx_record(1, MSG, 2);
	rx_record(5, MSG, 2);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	net_advance(UD_RECORD_GRACE_NS);
	check_record(&net.cqe[1], MSG, 0x22, HW_CQE_F_PARTIAL);
	CU_ASSERT_EQUAL(CNT(ud_rx_records_partial), 2);
	/* Only the last segment: its place is known, the length of the others is not. */
	rx_record(5, MSG, 3);
	net_advance(UD_RECORD_GRACE_NS);
	check_record(&net.cqe[2], MSG, 2, HW_CQE_F_PARTIAL);
	CU_ASSERT_EQUAL(net.cqe[2].vendor_err, 5 * S);
	check_empty();
	net_end();
}

static void record_not_allowed(void)
{
	static const struct {
		enum hw_vendor_err err;
		uint32_t code;
	} t[] = {{HW_VENDOR_ERR_LKEY, 0x0100},
		 {HW_VENDOR_ERR_BOUNDS, 0x0101},
		 {HW_VENDOR_ERR_ACCESS, 0x0102}};
	uint32_t i;

	init();
	for (i = 0; i < 3; i++) {
		net.mem_err = t[i].err;
		rx_record(0, MSG, 1);
		net_flush();
		CU_ASSERT_EQUAL_FATAL(net.num_sent, i + 1);
		CU_ASSERT_EQUAL(net.sent[i].b[UDP_TX_HDR_BYTES + 28 + 18], t[i].code >> 8);
		CU_ASSERT_EQUAL(net.sent[i].b[UDP_TX_HDR_BYTES + 28 + 19], t[i].code & 0xff);
		check_empty();
	}
	net.mem_err = HW_VENDOR_ERR_NONE;
	net.qp.access = 0;
	rx_record(0, MSG, 1);
	net.qp.access = HW_ACCESS_REMOTE_WRITE;
	net.mem_fault = true;
	rx_record(0, MSG, 1);
	CU_ASSERT_EQUAL(CNT(drop_ud_protection), 5);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	check_empty();
	net_end();
}

/* A segment that may not be placed is not in the map; the others are. */
static void record_beyond_the_region(void)
{
	init();
	net.region_bytes = 5 * S + 99;
	rx_record(0, MSG, 1);
	rx_record(5, MSG, 1);
	rx_record(1, MSG, 1);
	CU_ASSERT_EQUAL(CNT(drop_ud_protection), 1);
	net_advance(UD_REASM_TIMEOUT_NS);
	check_record(&net.cqe[0], MSG, 3, HW_CQE_F_PARTIAL);
	net_end();
}

/* A segment whose page is absent is lost: it is not in the map, and may come again. */
static void record_on_a_slow_page(void)
{
	uint32_t i;

	init();
	net.mem_fault = true;
	net.nic->host.mem_busy = true;
	rx_record(1, MSG, 1);
	CU_ASSERT_EQUAL(CNT(drop_ud_busy), 1);
	net.mem_fault = false;
	for (i = 0; i < SEGMENTS; i++) {
		CU_ASSERT_EQUAL(net.num_cqe, 0);
		if (i != 1)
			rx_record(i, MSG, 1);
	}
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	rx_record(1, MSG, 1);
	CU_ASSERT_EQUAL_FATAL(net.num_cqe, 1);
	check_record(&net.cqe[0], MSG, (1 << SEGMENTS) - 1, 0);
	CU_ASSERT_EQUAL(CNT(drop_ud_busy), 1);
	net_end();
}

static void record_that_changes_its_mind(void)
{
	struct wire_ddp_tagged *ddp;
	struct frame f;

	init();
	rx_record(0, MSG, 1);
	ddp = net_put_record(&f, data, NET_TO, S, S, MSG);
	ddp->stag = be32_put(NET_STAG + 1);
	frame_end(&f);
	net_rx(&f);
	net_put_record(&f, data, NET_TO + 8, S, S, MSG);
	frame_end(&f);
	net_rx(&f);
	rx_segment(1, MSG, 1); /* a Send of the same number */
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 3);
	CU_ASSERT_EQUAL(net.qp.msgs_open, 1);
	net_end();
}

UT_MAIN("nic_fw/dgram/ud_reasm", UT(any_order), UT(largest_message), UT(duplicates_are_harmless),
	UT(immediate_comes_with_the_last), UT(lost_segment_takes_no_receive), UT(core_is_absent),
	UT(keyed_by_source), UT(inconsistent_segments), UT(segments_too_small),
	UT(bounded_per_qp_and_in_all), UT(too_long_for_its_receive), UT(full_cq),
	UT(record_in_any_order), UT(record_on_a_slow_page), UT(record_of_one_frame),
	UT(record_with_holes), UT(record_not_allowed), UT(record_beyond_the_region),
	UT(record_that_changes_its_mind))
