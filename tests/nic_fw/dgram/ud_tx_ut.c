/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD out: one frame and many, no room, faults, the next hop, error messages.
 */
#include "tests/bench/stubs/net.h"

static struct fw_wqe wqe;

static void request(uint8_t opcode, uint32_t bytes)
{
	memset(&wqe, 0, sizeof(wqe));
	wqe.qp = &net.qp;
	wqe.wr_id = 77;
	wqe.opcode = opcode;
	wqe.rdmap_opcode = opcode == HW_WQE_WRITE_RECORD ? WIRE_RDMAP_WRITE : WIRE_RDMAP_SEND;
	wqe.bytes = bytes;
	wqe.ssn = 0xffffffff;
	wqe.msn = wqe.ssn;
	wqe.dst_ip = NET_PEER_IP;
	wqe.dst_qpn = NET_PEER_QPN | 3u << 16; /* on shard 3 */
	wqe.qkey = 0x22222222;
	wqe.rkey = NET_STAG;
	wqe.remote_addr = NET_TO;
	memcpy(&wqe.imm_inv, &(struct be32){{0xde, 0xad, 0xbe, 0xef}}, 4);
	net_fill(net.payload, sizeof(net.payload), bytes + 1);
}

static void init(void)
{
	net_init(2);
	net_learn_peer();
}

/*
 * Checks CRC, lengths, addresses and header of a sent frame; returns the place of its DDP segment.
 */
static const uint8_t *check_frame(struct frame *f, uint8_t flags)
{
	const uint8_t *udp = f->b + IP_TX_HDR_BYTES;
	uint32_t bytes = f->n - IP_TX_HDR_BYTES;
	struct be32 crc = fw_crc32c_wire(fw_crc32c(FW_CRC32C_INIT, udp, bytes - 4));
	struct wire_dgram *d = net_dgramh(f);

	CU_ASSERT(f->n <= sizeof(struct wire_eth) + net.nic->config.mtu);
	CU_ASSERT_EQUAL(memcmp(&crc, f->b + f->n - 4, 4), 0);
	CU_ASSERT_EQUAL(be16_get(net_iph(f)->total_bytes), f->n - sizeof(struct wire_eth));
	CU_ASSERT_EQUAL(net_iph(f)->tos, 0);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->bytes), bytes);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->src_port), WIRE_DGRAM_PORT + 2);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->dst_port), WIRE_DGRAM_PORT + 3);
	CU_ASSERT_EQUAL(d->ver_type, 0x20);
	CU_ASSERT_EQUAL(d->flags, flags);
	CU_ASSERT_EQUAL(be16_get(d->incarnation), 0);
	CU_ASSERT_EQUAL(be32_get(d->dst_qpn), wqe.dst_qpn);
	CU_ASSERT_EQUAL(be32_get(d->src_qpn), NET_QPN);
	CU_ASSERT_EQUAL(be32_get(d->qkey), 0x22222222);
	CU_ASSERT_EQUAL(be32_get(d->msg_bytes), wqe.bytes);
	CU_ASSERT_EQUAL(be32_get(d->ssn), 0xffffffff);
	return (const uint8_t *)(d + 1);
}

static void one_frame(void)
{
	const uint8_t *ddp;
	uint32_t bytes;

	init();
	for (bytes = 0; bytes < 3; bytes++) {
		net.num_sent = 0;
		net.completed = 0;
		request(HW_WQE_SEND, bytes * 711);
		CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
		CU_ASSERT_EQUAL(net.completed, 1);
		CU_ASSERT_EQUAL(net.status, HW_STATUS_SUCCESS);
		net_flush();
		CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
		ddp = check_frame(&net.sent[0], 0);
		CU_ASSERT_EQUAL(be32_get(net_dgramh(&net.sent[0])->imm), 0);
		CU_ASSERT_EQUAL(ddp[0], WIRE_DDP_LAST | WIRE_DDP_VERSION);
		CU_ASSERT_EQUAL(memcmp(ddp + 18, net.payload, wqe.bytes), 0);
		CU_ASSERT_EQUAL(net.sent[0].n, 42 + 28 + 18 + wqe.bytes + 4);
	}
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 3);
	net_end();
}

/* Data that the caller has are copied behind the headers, of each length that may be. */
static void data_behind_the_headers(void)
{
	const uint8_t *ddp;
	uint32_t bytes;

	init();
	for (bytes = 0; bytes <= LLP_NOW_BYTES; bytes += bytes < 4 ? 1 : 23) {
		net.num_sent = 0;
		request(HW_WQE_SEND, bytes);
		CU_ASSERT_TRUE(ud_llp_ops.send_now(net.nic, &wqe, net.payload));
		net_flush();
		CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
		ddp = check_frame(&net.sent[0], 0);
		CU_ASSERT_EQUAL(ddp[0], WIRE_DDP_LAST | WIRE_DDP_VERSION);
		CU_ASSERT_EQUAL(memcmp(ddp + 18, net.payload, bytes), 0);
		CU_ASSERT_EQUAL(net.sent[0].n, 42 + 28 + 18 + bytes + 4);
	}
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 9);
	/* Without the next hop nothing is sent. */
	net.num_sent = 0;
	wqe.dst_ip ^= 0x55000000;
	CU_ASSERT_FALSE(ud_llp_ops.send_now(net.nic, &wqe, net.payload));
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 9);
	net_end();
}

/* The largest payload of one frame is not cut, though it is no multiple of 8. */
static void largest_frame_and_one_more(void)
{
	uint32_t most = NET_MTU - DGRAM_UD_OVERHEAD - 18;

	init();
	CU_ASSERT_EQUAL(most, 1422);
	request(HW_WQE_SEND, most);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(net.sent[0].n, 14 + NET_MTU);
	request(HW_WQE_SEND, most + 1);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 3);
	net_end();
}

static void immediate_on_the_last_segment(void)
{
	init();
	request(HW_WQE_SEND_IMM, 2000);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 2);
	check_frame(&net.sent[0], 0);
	CU_ASSERT_EQUAL(be32_get(net_dgramh(&net.sent[0])->imm), 0);
	check_frame(&net.sent[1], WIRE_DGRAM_F_IMM);
	CU_ASSERT_EQUAL(be32_get(net_dgramh(&net.sent[1])->imm), 0xdeadbeef);
	net_end();
}

/* A Write with immediate data is solicited if its request says so. */
static void solicited_writes(void)
{
	uint32_t i;

	init();
	for (i = 0; i < 2; i++) {
		net.num_sent = 0;
		request(HW_WQE_WRITE_IMM, 100);
		wqe.rdmap_opcode = WIRE_RDMAP_WRITE;
		wqe.flags = i ? HW_WQE_F_SOLICITED : 0;
		CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
		net_flush();
		CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
		check_frame(&net.sent[0], WIRE_DGRAM_F_IMM | (i ? WIRE_DGRAM_F_SOLICITED : 0));
	}
	net_end();
}

static void long_message_is_cut(void)
{
	uint32_t at = 0, i;

	init();
	request(HW_WQE_SEND, HW_MAX_UD_MSG_BYTES);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, (65536 + 1415) / 1416);
	for (i = 0; i < net.num_sent; i++) {
		const uint8_t *ddp = check_frame(&net.sent[i], 0);
		const struct wire_ddp_untagged *u = (const struct wire_ddp_untagged *)ddp;
		uint32_t bytes = net.sent[i].n - 42 - 28 - 18 - 4;

		CU_ASSERT_EQUAL(be32_get(u->mo), at);
		CU_ASSERT_EQUAL(be32_get(u->msn), 0xffffffff);
		CU_ASSERT_EQUAL(memcmp(u + 1, net.payload + at, bytes), 0);
		at += bytes;
		CU_ASSERT_EQUAL(u->ddp_ctrl & WIRE_DDP_LAST, at == 65536 ? WIRE_DDP_LAST : 0);
	}
	CU_ASSERT_EQUAL(at, 65536);
	net_end();
}

static void records(void)
{
	uint32_t i;

	init();
	request(HW_WQE_WRITE_RECORD, 3000);
	wqe.flags = HW_WQE_F_SOLICITED;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 3);
	for (i = 0; i < 3; i++) {
		const struct wire_ddp_tagged *t = (const struct wire_ddp_tagged *)check_frame(
		    &net.sent[i], WIRE_DGRAM_F_RECORD | WIRE_DGRAM_F_SOLICITED);

		CU_ASSERT_EQUAL(be32_get(net_dgramh(&net.sent[i])->imm), i * 1416);
		CU_ASSERT_EQUAL(be32_get(t->stag), NET_STAG);
		CU_ASSERT_EQUAL(be64_get(t->to), NET_TO + i * 1416);
	}
	net_end();
}

static void goes_on_when_there_is_room(void)
{
	uint32_t turns = 0;

	init();
	request(HW_WQE_SEND, HW_MAX_UD_MSG_BYTES);
	net.port.tx_room = 0;
	CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.nic->net.tx_count, FW_TX_STAGE);
	CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
	do {
		net.port.tx_room = 5;
		turns++;
		CU_ASSERT_FATAL(turns < 100);
	} while (!ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.completed, 1);
	net.port.tx_room = 100;
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 47);
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 1);
	net_end();
}

static void stops_at_the_allowance_of_the_turn(void)
{
	init();
	request(HW_WQE_SEND, 3000);
	net.nic->net.tx_allow = 2;
	CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(wqe.sent_bytes, 2 * 1416);
	CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
	net.nic->net.tx_allow = 1;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 3);
	net_end();
}

static void memory_of_the_process(void)
{
	init();
	request(HW_WQE_SEND, 3000);
	net.payload_host = true;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.num_sent, 3); /* read before the request completed */
	CU_ASSERT_EQUAL(net.status, HW_STATUS_SUCCESS);
	/* No room: the frame is not staged, since a later fault could not be reported. */
	request(HW_WQE_SEND, 3000);
	net.port.tx_room = 2;
	CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 0);
	CU_ASSERT_EQUAL(wqe.sent_bytes, 2 * 1416);
	net.port.tx_room = 2;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.num_sent, 6);
	request(HW_WQE_SEND, 100);
	net.port.host_fault = true;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.status, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(net.vendor_err, HW_VENDOR_ERR_HOST_FAULT);
	CU_ASSERT_EQUAL(net.completed, 3);
	net_end();
}

static void bad_key_sends_nothing(void)
{
	init();
	request(HW_WQE_SEND, 100);
	net.gather_err = HW_VENDOR_ERR_LKEY;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 0);
	CU_ASSERT_EQUAL(net.status, HW_STATUS_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(net.vendor_err, HW_VENDOR_ERR_LKEY);
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 0);
	net_end();
}

static void waits_for_the_next_hop_but_not_for_ever(void)
{
	uint32_t i;

	net_init(2);
	request(HW_WQE_SEND, 100);
	for (i = 0; i < NEIGH_TRIES; i++) {
		CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
		net_advance(NEIGH_RETRY_NS);
	}
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(net.completed, 1);
	CU_ASSERT_EQUAL(net.status, HW_STATUS_SUCCESS);
	CU_ASSERT_EQUAL(CNT(drop_neigh_unresolved), 1);
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 0);
	net_advance(NEIGH_HOLD_NS);
	request(HW_WQE_SEND, 100);
	CU_ASSERT_FALSE(ud_tx(net.nic, &wqe));
	net_learn_peer();
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	CU_ASSERT_EQUAL(CNT(ud_tx_msgs), 1);
	net_end();
}

static void to_our_own_address(void)
{
	net_init(2);
	request(HW_WQE_SEND, 10);
	wqe.dst_ip = NET_IP;
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.sent[0].flags & FW_TX_LOOP, FW_TX_LOOP);
	CU_ASSERT_EQUAL(memcmp(net_eth(&net.sent[0])->dst, net_mac, 6), 0);
	net_end();
}

/*
 * The datagram of docs/wire-format.md and tests/golden/wire_dgram.hex, whose CRC was computed by
 * other programs.
 */
static void golden_datagram(void)
{
	static const uint8_t golden[] = {
	    0xba, 0xc2, 0xba, 0xc2, 0x00, 0x3e, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x00,
	    0x20, 0x00, 0x05, 0x00, 0x00, 0x00, 0x03, 0x11, 0x11, 0x11, 0x11, 0x00, 0x00,
	    0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01, 0x41, 0x43, 0x00,
	    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
	    0x00, 0x00, 0x77, 0x65, 0x66, 0x74, 0x43, 0x1a, 0xf2, 0x93};

	net_init(0);
	net_learn_peer();
	request(HW_WQE_SEND, 4);
	net.qp.qpn = 3;
	wqe.dst_qpn = 0x200005;
	wqe.qkey = 0x11111111;
	wqe.ssn = wqe.msn = 1;
	memcpy(net.payload, "weft", 4);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.sent[0].n, IP_TX_HDR_BYTES + sizeof(golden));
	CU_ASSERT_EQUAL(memcmp(net.sent[0].b + IP_TX_HDR_BYTES, golden, sizeof(golden)), 0);
	net_end();
}

static void error_message(void)
{
	struct frame f;
	const struct fw_rx_frame rx = {.seg = {{f.b, sizeof(f.b)}}, .num_seg = 1};
	const struct dgram_hdr hdr = {.type = WIRE_DGRAM_UD};
	struct rdmap_seg pkt = {.frame = &rx,
				.hdr = &hdr,
				.src_ip = NET_PEER_IP,
				.src_shard = 3,
				.src_qpn = NET_PEER_QPN | 3u << 16,
				.qkey = 0x22222222,
				.ssn = 0xffffffff,
				.opcode = WIRE_RDMAP_SEND};
	const uint8_t *ddp;

	init();
	net_put_eth(&f, net_mac, WIRE_ETHERTYPE_IPV4);
	request(HW_WQE_SEND, 4); /* reference of check_frame() */
	ud_tx_error(net.nic, &net.qp, &pkt, 0x12, 0x05);
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1);
	ddp = check_frame(&net.sent[0], 0);
	CU_ASSERT_EQUAL(be32_get(net_dgramh(&net.sent[0])->imm), 0xffffffff);
	CU_ASSERT_EQUAL(ddp[0], 0x41);
	CU_ASSERT_EQUAL(ddp[1], 0x47);
	CU_ASSERT_EQUAL(ddp[9], WIRE_QN_TERMINATE);
	CU_ASSERT_EQUAL(ddp[18], 0x12);
	CU_ASSERT_EQUAL(ddp[19], 0x05);
	CU_ASSERT_EQUAL(CNT(ud_errors_tx), 1);
	pkt.opcode = WIRE_RDMAP_TERMINATE;
	ud_tx_error(net.nic, &net.qp, &pkt, 0x12, 0x05);
	CU_ASSERT_EQUAL(CNT(ud_errors_tx), 1);
	pkt.opcode = WIRE_RDMAP_SEND;
	/* Unknown: an ARP request is sent, the message is lost. */
	pkt.src_ip = net_ip(10, 77, 0, 9);
	ud_tx_error(net.nic, &net.qp, &pkt, 0x12, 0x05);
	CU_ASSERT_EQUAL(CNT(ud_errors_tx), 1);
	/*
	 * In the peer's name, but from elsewhere: the peer gets an ARP request, no answer is sent
	 * to either.
	 */
	pkt.src_ip = NET_PEER_IP;
	net_eth(&f)->src[5] ^= 1;
	ud_tx_error(net.nic, &net.qp, &pkt, 0x12, 0x05);
	CU_ASSERT_EQUAL(CNT(ud_errors_tx), 1);
	CU_ASSERT_EQUAL(CNT(arp_conflicts), 1);
	net_end();
}

static void rate_of_errors(void)
{
	uint64_t last = 0, now = 5 * UD_ERROR_INTERVAL_NS;
	uint32_t spent = 0, i;

	for (i = 0; i < UD_ERROR_BURST; i++)
		CU_ASSERT_TRUE(ud_rate_limit(now, &last, &spent));
	CU_ASSERT_FALSE(ud_rate_limit(now, &last, &spent));
	now += UD_ERROR_INTERVAL_NS - 1;
	CU_ASSERT_FALSE(ud_rate_limit(now, &last, &spent));
	now += 1;
	CU_ASSERT_TRUE(ud_rate_limit(now, &last, &spent));
	CU_ASSERT_FALSE(ud_rate_limit(now, &last, &spent));
	now += 3 * UD_ERROR_INTERVAL_NS;
	for (i = 0; i < 3; i++)
		CU_ASSERT_TRUE(ud_rate_limit(now, &last, &spent));
	CU_ASSERT_FALSE(ud_rate_limit(now, &last, &spent));
	now = UINT64_MAX;
	for (i = 0; i < UD_ERROR_BURST; i++)
		CU_ASSERT_TRUE(ud_rate_limit(now, &last, &spent));
	CU_ASSERT_FALSE(ud_rate_limit(now, &last, &spent));
}

UT_MAIN("nic_fw/dgram/ud_tx", UT(one_frame), UT(data_behind_the_headers),
	UT(largest_frame_and_one_more), UT(immediate_on_the_last_segment), UT(solicited_writes),
	UT(long_message_is_cut), UT(records), UT(goes_on_when_there_is_room),
	UT(stops_at_the_allowance_of_the_turn), UT(memory_of_the_process),
	UT(bad_key_sends_nothing), UT(waits_for_the_next_hop_but_not_for_ever),
	UT(to_our_own_address), UT(golden_datagram), UT(error_message), UT(rate_of_errors))
