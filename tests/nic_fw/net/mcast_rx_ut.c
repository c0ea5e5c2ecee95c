/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams to groups, frame by frame: sent, received, and dropped ones.
 */
#include "tests/bench/stubs/net.h"

#define GROUP net_ip(239, 1, 2, 3)
/* Another group with the same MAC. */
#define TWIN net_ip(238, 129, 2, 3)

static const uint8_t group_mac[6] = {0x01, 0, 0x5e, 1, 2, 3};
static uint8_t data[3000];
static struct mcast_member member;
static struct fw_wqe wqe;

static void init(uint8_t shard)
{
	struct mcast_group *group;

	net_init(shard);
	net_fill(data, sizeof(data), 4);
	group = fw_pool_get(&net.nic->net.mcast_group_pool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(group);
	memset(group, 0, sizeof(*group));
	group->ip = GROUP;
	net.nic->net.mcast_hash[fw_hash_keyed(&net.nic->hash_key, GROUP, 0, 0) % MCAST_HASH_SIZE] =
	    1;
	fw_list_init(&group->members);
	fw_list_add_tail(&net.nic->net.mcast_groups, &group->node);
	member.group = group;
	member.qp = &net.qp;
	fw_list_add_tail(&group->members, &member.group_node);
	group->num_members = 1;
	CU_ASSERT_EQUAL_FATAL(mac_filter_add(net.nic, group_mac, GROUP), 0);
}

/* A segment to the group, not sealed. */
static void put(struct frame *f, uint32_t mo, uint32_t bytes, uint32_t msg_bytes)
{
	net_put_send(f, data, mo, bytes, msg_bytes);
	memcpy(net_eth(f)->dst, group_mac, 6);
	memcpy(&net_iph(f)->dst, &(uint32_t){GROUP}, 4);
	net_udph(f)->dst_port = be16_put(WIRE_DGRAM_PORT);
	net_dgramh(f)->dst_qpn = be32_put(WIRE_DGRAM_GROUP_QPN);
}

/* A group accepts datagrams of UD alone: RD has one peer. */
static void other_types_are_dropped(void)
{
	struct frame f;

	init(0);
	put(&f, 0, 700, 700);
	net_dgramh(&f)->ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD;
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.rd_calls, 0);
	CU_ASSERT_EQUAL(CNT(drop_dgram_type), 1);
	CU_ASSERT_EQUAL(net_drops(), 1);
	net_end();
}

static void arrives(void)
{
	const struct wire_ip *ip = (const struct wire_ip *)(net.recv_buf + 20);
	struct frame f;
	uint32_t shard;

	for (shard = 0; shard < 8; shard += 3) { /* the port is the same for all shards */
		init((uint8_t)shard);
		put(&f, 0, 700, 700);
		frame_end(&f);
		net_rx_pieces(&f, 300);
		CU_ASSERT_EQUAL_FATAL(net.num_cqe, 1);
		CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_SUCCESS);
		CU_ASSERT_EQUAL(net.cqe[0].bytes, 740);
		CU_ASSERT_EQUAL(net.cqe[0].flags, HW_CQE_F_GRH);
		CU_ASSERT_EQUAL(net.cqe[0].src_ip, NET_PEER_IP);
		CU_ASSERT_EQUAL(net.cqe[0].src_qpn, NET_PEER_QPN);
		CU_ASSERT_EQUAL(memcmp(net.recv_buf + 40, data, 700), 0);
		/* The GRH has the group's address. */
		CU_ASSERT_EQUAL(be32_get(ip->dst), 0xef010203);
		CU_ASSERT_EQUAL(CNT(mcast_rx_packets), 1);
		CU_ASSERT_EQUAL(CNT(mcast_rx_copies), 1);
		CU_ASSERT_EQUAL(member.group->rx_packets, 1);
		CU_ASSERT_EQUAL(net_drops(), 0);
		net_end();
	}
}

/* Each frame has one error, which has a counter of its own. */
static void what_does_not_arrive(void)
{
	struct frame f;

	init(0);
	put(&f, 0, 10, 10);
	memcpy(&net_iph(&f)->dst, &(uint32_t){TWIN}, 4);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_mcast_no_group), 1);
	put(&f, 0, 10, 10);
	memcpy(net_eth(&f)->dst, net_mac, 6); /* to a station, with the address of a group */
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_not_our_ip), 1);
	put(&f, 0, 10, 10);
	memcpy(net_eth(&f)->src, net_mac, 6);
	memcpy(&net_iph(&f)->src, &(uint32_t){NET_IP}, 4);
	frame_end(&f);
	net_rx(&f); /* our own, returned by the network */
	CU_ASSERT_EQUAL(CNT(drop_mcast_reflected), 1);
	put(&f, 0, 10, 10);
	net_udph(&f)->dst_port = be16_put(WIRE_DGRAM_PORT + 1);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_udp_port), 1);
	put(&f, 0, 10, 10);
	net_dgramh(&f)->dst_qpn = be32_put(NET_QPN);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_no_qp), 1);
	put(&f, 0, 10, 10);
	net_dgramh(&f)->qkey = be32_put(NET_QKEY ^ 1);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_qkey), 1);
	put(&f, 0, 10, 10);
	net_dgramh(&f)->ver_type = WIRE_DGRAM_VERSION << 4 | WIRE_DGRAM_RD_PROBE;
	frame_end(&f);
	net_rx(&f);
	net_put_ip(&f, WIRE_IPPROTO_ICMP);
	memcpy(net_eth(&f)->dst, group_mac, 6);
	memcpy(&net_iph(&f)->dst, &(uint32_t){GROUP}, 4);
	frame_add(&f, "\x08\x00\xf7\xff\x00\x00\x00\x00", 8);
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_icmp), 1);
	CU_ASSERT_EQUAL(net_drops(), 8);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	CU_ASSERT_EQUAL(net.recvs_taken, 0);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_end();
}

/* Errors of a multicast datagram are not answered: no receive, too long, not a Send. */
static void errors_are_not_answered(void)
{
	struct frame f;

	init(0);
	net_learn_peer();
	net.recv_bytes = 50;
	put(&f, 0, 11, 11);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(net.cqe[0].status, HW_STATUS_LOC_LEN_ERR);
	net.rq_result = RQ_EMPTY;
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ud_no_receive), 1);
	put(&f, 0, 1000, 3000); /* of several frames, to a QP that accepts one */
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ud_too_long), 2);
	net_put_record(&f, data, NET_TO, 0, 8, 8);
	memcpy(net_eth(&f)->dst, group_mac, 6);
	memcpy(&net_iph(&f)->dst, &(uint32_t){GROUP}, 4);
	net_dgramh(&f)->dst_qpn = be32_put(WIRE_DGRAM_GROUP_QPN);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ddp_malformed), 1);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 0);
	CU_ASSERT_EQUAL(CNT(ud_errors_tx), 0);
	net_end();
}

static void long_messages(void)
{
	struct frame f;

	init(0);
	net.qp.flags = HW_QP_F_UD_LONG;
	put(&f, 1000, 1000, 3000);
	frame_end(&f);
	net_rx(&f);
	put(&f, 0, 1000, 3000);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 0);
	put(&f, 2000, 1000, 3000);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL_FATAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(net.cqe[0].bytes, 3000);
	CU_ASSERT_EQUAL(memcmp(net.recv_buf, data, 3000), 0);
	net_end();
}

static void its_own_can_be_blocked(void)
{
	struct frame f;

	init(0);
	net.port.rx_flags = FW_RX_LOOP;
	put(&f, 0, 10, 10);
	memcpy(net_eth(&f)->src, net_mac, 6);
	memcpy(&net_iph(&f)->src, &(uint32_t){NET_IP}, 4);
	net_dgramh(&f)->src_qpn = be32_put(NET_QPN);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	net.qp.flags = HW_QP_F_BLOCK_SELF_MCAST_LB;
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 1);
	CU_ASSERT_EQUAL(CNT(mcast_rx_self_blocked), 1);
	/*
	 * Datagrams of another QP of this NIC, and of a QP elsewhere with the same number, are
	 * delivered.
	 */
	put(&f, 0, 10, 10);
	memcpy(net_eth(&f)->src, net_mac, 6);
	memcpy(&net_iph(&f)->src, &(uint32_t){NET_IP}, 4);
	frame_end(&f);
	net_rx(&f);
	net.port.rx_flags = 0;
	put(&f, 0, 10, 10);
	net_dgramh(&f)->src_qpn = be32_put(NET_QPN);
	frame_end(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(net.num_cqe, 3);
	CU_ASSERT_EQUAL(net_drops(), 0);
	net_end();
}

static void request(uint32_t dst_ip, uint32_t bytes, uint8_t hop_limit)
{
	memset(&wqe, 0, sizeof(wqe));
	wqe.qp = &net.qp;
	wqe.opcode = HW_WQE_SEND;
	wqe.rdmap_opcode = WIRE_RDMAP_SEND;
	wqe.bytes = bytes;
	wqe.ssn = wqe.msn = 3;
	wqe.dst_ip = dst_ip;
	wqe.dst_qpn = WIRE_DGRAM_GROUP_QPN;
	wqe.hop_limit = hop_limit;
	wqe.qkey = NET_QKEY;
	net_fill(net.payload, sizeof(net.payload), bytes + 1);
}

static void goes_out(void)
{
	static const uint8_t other_mac[6] = {0x01, 0, 0x5e, 0x7f, 0, 9};
	struct frame *f;

	init(2);
	net.nic->config.num_shards = 1;
	request(GROUP, 600, 1);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL_FATAL(net.num_sent, 1); /* no ARP */
	f = &net.sent[0];
	CU_ASSERT_EQUAL(memcmp(net_eth(f)->dst, group_mac, 6), 0);
	CU_ASSERT_EQUAL(be32_get(net_iph(f)->dst), 0xef010203);
	CU_ASSERT_EQUAL(net_iph(f)->ttl, 1);
	CU_ASSERT_EQUAL(wire_sum_fold(wire_sum_add(0, net_iph(f), sizeof(struct wire_ip))), 0);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->src_port), WIRE_DGRAM_PORT + 2);
	CU_ASSERT_EQUAL(be16_get(net_udph(f)->dst_port), WIRE_DGRAM_PORT);
	CU_ASSERT_EQUAL(be32_get(net_dgramh(f)->dst_qpn), WIRE_DGRAM_GROUP_QPN);
	CU_ASSERT_EQUAL(f->flags, FW_TX_F_ALSO_LOOP); /* a QP here is a member */
	/* A group without local members: frames leave the link if the TTL permits. */
	request(net_ip(239, 255, 0, 9), 5000, 9);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 5);
	CU_ASSERT_EQUAL(net.sent[1].flags, 0);
	CU_ASSERT_EQUAL(net_iph(&net.sent[4])->ttl, 9);
	CU_ASSERT_EQUAL(memcmp(net_eth(&net.sent[1])->dst, other_mac, 6), 0);
	/* Other shards may have members. */
	net.nic->config.num_shards = 2;
	request(net_ip(239, 255, 0, 9), 8, 1);
	CU_ASSERT_TRUE(ud_tx(net.nic, &wqe));
	net_flush();
	CU_ASSERT_EQUAL(net.sent[5].flags, FW_TX_F_ALSO_LOOP);
	CU_ASSERT_EQUAL(CNT(mcast_tx_msgs), 3);
	CU_ASSERT_EQUAL(net.completed, 3);
	net_end();
}

UT_MAIN("nic_fw/net/mcast_rx", UT(arrives), UT(other_types_are_dropped), UT(what_does_not_arrive),
	UT(errors_are_not_answered), UT(long_messages), UT(its_own_can_be_blocked), UT(goes_out))
