/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of QUERY_DEVICE, STATS and LIST: each field of an answer is that of its object, each
 * object stands in one answer, and an object that is gone in none.
 */
#include "tests/bench/host.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	MAX_ITEMS = 200,
};

static void every_field_of_the_device(void)
{
	static const uint8_t guid[8] = {0x0a, 0x22, 0x33, 0xff, 0xfe, 0x44, 0x55, 0x66};
	static const uint8_t mac[6] = {0x08, 0x22, 0x33, 0x44, 0x55, 0x66};
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_DEVICE};
	struct hw_resp_device *device;
	struct fw_config *config;
	struct hw_cmd_resp resp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	config = &ut.nic->config;
	memset(config->name, 'n', sizeof(config->name));
	memcpy(config->mac, mac, sizeof(mac));
	config->ip_prefix = 23;
	config->mtu = 9000;
	config->shard = 2;
	config->num_shards = 7;
	config->num_coll_shards = 3;
	config->link_mbps = 25000;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	device = &resp.u.device;
	/* The name ends, however long that of the configuration is. */
	CU_ASSERT_EQUAL(memcmp(device->name, "nnnnnnnnnnnnnnn", sizeof(device->name)), 0);
	CU_ASSERT_EQUAL(memcmp(device->mac, mac, sizeof(mac)), 0);
	CU_ASSERT_EQUAL(memcmp(&device->node_guid, guid, sizeof(guid)), 0);
	CU_ASSERT_EQUAL(device->link_up, 1);
	CU_ASSERT_EQUAL(device->ip_prefix, 23);
	CU_ASSERT_EQUAL(device->ip, htonl(0x0a4d0001));
	CU_ASSERT_EQUAL(device->mtu, 9000);
	CU_ASSERT_EQUAL(device->max_qp, HW_MAX_QP);
	CU_ASSERT_EQUAL(device->max_cq, HW_MAX_CQ);
	CU_ASSERT_EQUAL(device->max_srq, HW_MAX_SRQ);
	CU_ASSERT_EQUAL(device->max_mr, HW_MAX_MR);
	CU_ASSERT_EQUAL(device->max_pd, HW_MAX_PD);
	CU_ASSERT_EQUAL(device->max_ah, HW_MAX_AH);
	CU_ASSERT_EQUAL(device->max_mw, HW_MAX_MR);
	CU_ASSERT_EQUAL(device->max_wr, HW_MAX_WR);
	CU_ASSERT_EQUAL(device->max_cqe, HW_MAX_CQE);
	CU_ASSERT_EQUAL(device->max_sge, HW_MAX_SGE);
	CU_ASSERT_EQUAL(device->max_inline_bytes, HW_MAX_INLINE_BYTES);
	CU_ASSERT_EQUAL(device->max_rd_atomic, HW_MAX_RD_ATOMIC);
	/* 9000 less IPv4 20, UDP 8, ours 28, DDP/RDMAP 18, CRC 4. */
	CU_ASSERT_EQUAL(device->max_ud_payload_bytes, 8922);
	CU_ASSERT_EQUAL(device->max_ud_long_bytes, HW_MAX_UD_MSG_BYTES);
	CU_ASSERT_EQUAL(device->num_vectors, HW_NUM_VECTORS);
	CU_ASSERT_EQUAL(device->max_peers, HW_MAX_PEERS);
	CU_ASSERT_EQUAL(device->shard, 2);
	CU_ASSERT_EQUAL(device->num_shards, 7);
	CU_ASSERT_EQUAL(device->num_coll_shards, 3);
	CU_ASSERT_EQUAL(device->max_mcast_grp, HW_MAX_MCAST_GRP);
	CU_ASSERT_EQUAL(device->max_mcast_qp_attach, HW_MAX_MCAST_QP_ATTACH);
	CU_ASSERT_EQUAL(device->max_total_mcast_qp_attach, HW_MAX_TOTAL_MCAST);
	CU_ASSERT_EQUAL(device->max_msg_bytes, HW_MAX_MSG_BYTES);
	CU_ASSERT_EQUAL(device->max_mr_bytes, HW_MAX_MR_BYTES);
	CU_ASSERT_EQUAL(device->link_mbps, 25000);
	fw_link(ut.nic, false);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(device->link_up, 0);
	config->mtu = 1500;
	config->num_shards = 1;
	config->shard = config->num_coll_shards = 0;
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static uint64_t no_clock(void)
{
	return 0;
}

/* Counters come first, then those of interrupts by vector, then those of stages: none is left out.
 */
static void all_kinds_of_statistics(void)
{
	uint32_t i, counters = counters_num();
	uint64_t value;
	const char *name, *expected;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	ut.nic->stages.clock = no_clock;
	for (i = 0; i < counters; i++)
		CU_ASSERT_TRUE_FATAL(fw_stat(ut.nic, i, &name, &value));
	for (i = 0; i < HW_VECTOR_NUM_COUNTERS; i++) {
		CU_ASSERT_TRUE_FATAL(moder_stat(ut.nic, i, &expected, &value));
		CU_ASSERT_TRUE_FATAL(fw_stat(ut.nic, counters + i, &name, &value));
		CU_ASSERT_STRING_EQUAL(name, expected);
	}
	for (i = 0; fw_stage_stat(&ut.nic->stages, i, &expected, &value); i++) {
		CU_ASSERT_TRUE_FATAL(
		    fw_stat(ut.nic, counters + HW_VECTOR_NUM_COUNTERS + i, &name, &value));
		CU_ASSERT_STRING_EQUAL(name, expected);
	}
	CU_ASSERT_TRUE(i > 0);
	CU_ASSERT_FALSE(fw_stat(ut.nic, counters + HW_VECTOR_NUM_COUNTERS + i, &name, &value));
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* Objects of a process, one of each kind of share. */
static void fields_of_clients(void)
{
	struct fw_client_params params = {
	    .bar_bytes = FW_UT_BAR_BYTES, .pid = 7, .uid = 9, .use = 3, .name = "prog"};
	struct fw_client_params tool = {.tool = true, .pid = 8, .uid = 10, .use = 1};
	struct hw_cmd ah = {.op = HW_CMD_CREATE_AH};
	struct hw_list_item items[MAX_ITEMS];
	uint32_t client, pd, before, i;
	struct hw_cmd_resp resp;
	struct fw_cq *cq;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	CU_ASSERT_EQUAL(client, 1);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CLIENTS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[0].id, 0);
	CU_ASSERT_EQUAL(items[0].client, 0);
	CU_ASSERT_EQUAL(items[1].id, 1);
	CU_ASSERT_EQUAL(items[1].client, 1);
	CU_ASSERT_EQUAL(items[1].state, 9);
	CU_ASSERT_EQUAL(items[1].type, 3 << HW_CLIENT_USE_SHIFT);
	CU_ASSERT_EQUAL(items[1].a, 7);
	CU_ASSERT_STRING_EQUAL(items[1].name, "prog");
	/* Each kind of object counts once. */
	before = (uint32_t)items[1].b;
	pd = host_pd(ut.nic, client);
	cq = host_cq(ut.nic, client, 8, HW_EQ_NONE);
	(void)host_srq(ut.nic, client, pd, 4, 1);
	(void)host_qp(ut.nic, client, HW_QPT_UD, pd, cq, HW_SRQ_NONE);
	(void)host_reg(ut.nic, client, pd, items, sizeof(items), 0, false);
	(void)fw_ut_eq(&ut, client, 8);
	for (i = 0; i < 2; i++) {
		/* The NIC's own address needs no next hop. */
		ah.u.create_ah.pd = pd;
		ah.u.create_ah.av =
		    (struct hw_av){.dst_ip = ut.nic->config.ip, .flags = HW_AV_F_GRH};
		CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &ah, &resp), 0);
	}
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CLIENTS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[1].b, before + 8);
	/* A tool has no BAR, and no count in it. */
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &tool, &client), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CLIENTS, items, MAX_ITEMS), 3);
	CU_ASSERT_EQUAL(items[2].type, HW_CLIENT_TOOL | 1 << HW_CLIENT_USE_SHIFT);
	CU_ASSERT_EQUAL(items[2].forged, 0);
	CU_ASSERT_EQUAL(fw_ut_list(&ut, 0, HW_LIST_COLLS, items, MAX_ITEMS), 0);
	fw_ut_detach(&ut, 1);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CLIENTS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[1].id, 2);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* A process has collectives on the NIC, beside it, or none at all. */
static void fields_of_collectives(void)
{
	struct hw_list_item items[MAX_ITEMS];
	struct hw_bar_header *header;
	uint32_t client[2];
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client[0]), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client[1]), 0);
	header = (void *)ut.nic->host.clients[client[0]].bar.base;
	header->coll_nic_calls = 1;
	header->coll_nic_bytes = (uint64_t)INT64_MAX - 1;
	header = (void *)ut.nic->host.clients[client[1]].bar.base;
	header->coll_left_calls = 3;
	header->coll_left_bytes = 40;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_COLLS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[0].id, client[0]);
	CU_ASSERT_EQUAL(items[0].client, 43);
	CU_ASSERT_EQUAL(items[0].state, 43);
	CU_ASSERT_EQUAL(items[0].a, 1);
	CU_ASSERT_EQUAL(items[0].b, INT64_MAX - 1);
	CU_ASSERT_EQUAL(items[0].more[0], 0);
	CU_ASSERT_EQUAL(items[1].id, client[1]);
	CU_ASSERT_EQUAL(items[1].client, 44);
	CU_ASSERT_EQUAL(items[1].a, 0);
	CU_ASSERT_EQUAL(items[1].more[0], 3);
	CU_ASSERT_EQUAL(items[1].more[1], 40);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static void fields_of_completion_queues(void)
{
	struct hw_list_item items[MAX_ITEMS];
	struct fw_cq *cq[2];
	uint32_t client;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	cq[0] = host_cq(ut.nic, client, 16, fw_ut_eq(&ut, client, 8));
	cq[1] = host_cq(ut.nic, client, 4, HW_EQ_NONE);
	cq[1]->prod = 77;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CQS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[0].id, cq[0]->index);
	CU_ASSERT_EQUAL(items[0].client, client);
	CU_ASSERT_EQUAL(items[0].state, 0);
	CU_ASSERT_EQUAL(items[0].type, cq[0]->eq);
	CU_ASSERT_EQUAL(items[0].a, 16);
	CU_ASSERT_EQUAL(items[0].b, 0);
	CU_ASSERT_EQUAL(items[1].id, cq[1]->index);
	CU_ASSERT_EQUAL(items[1].type, cq[1]->eq);
	CU_ASSERT_NOT_EQUAL(items[1].type, items[0].type);
	CU_ASSERT_EQUAL(items[1].a, 4);
	CU_ASSERT_EQUAL(items[1].b, 77);
	cq[1]->prod = 0;
	cq[1]->overrun = true;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CQS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[1].state, 1);
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DESTROY_CQ, cq[1]->index, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_CQS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].id, cq[0]->index);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static void fields_of_queue_pairs(void)
{
	struct hw_list_item items[MAX_ITEMS];
	uint32_t client, pd;
	struct fw_qp *qp[2];
	struct fw_cq *cq;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	pd = host_pd(ut.nic, client);
	cq = host_cq(ut.nic, client, 16, HW_EQ_NONE);
	qp[0] = host_qp(ut.nic, client, HW_QPT_UD, pd, cq, HW_SRQ_NONE);
	qp[1] = host_qp(ut.nic, client, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	host_rts(ut.nic, qp[1], 0);
	qp[1]->dst_qpn = 5;
	qp[1]->tx_bytes = UINT64_C(1) << 40;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_QPS, items, MAX_ITEMS), 2);
	CU_ASSERT_EQUAL(items[0].id, qp[0]->qpn);
	CU_ASSERT_EQUAL(items[0].client, client);
	CU_ASSERT_EQUAL(items[0].state, HW_QPS_RESET);
	CU_ASSERT_EQUAL(items[0].type, HW_QPT_UD);
	CU_ASSERT_EQUAL(items[1].state, HW_QPS_RTS);
	CU_ASSERT_EQUAL(items[1].a, 5);
	CU_ASSERT_EQUAL(items[1].b, UINT64_C(1) << 40);
	qp[1]->dst_qpn = 0;
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DESTROY_QP, qp[0]->qpn, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_QPS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].id, qp[1]->qpn);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static void fields_of_regions(void)
{
	struct hw_list_item items[MAX_ITEMS];
	uint32_t client, pd, stag[2], first;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	pd = host_pd(ut.nic, client);
	stag[0] = host_reg(ut.nic, client, pd, items, 50, HW_ACCESS_REMOTE_READ, true);
	stag[1] = host_reg(ut.nic, client, pd, &ut, 60, HW_ACCESS_LOCAL_WRITE, false);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, client, HW_LIST_MRS, items, MAX_ITEMS), 2);
	/* Numbers are drawn, so either may be listed first. */
	first = items[0].id == stag[0] ? 0 : 1;
	CU_ASSERT_EQUAL(items[first].id, stag[0]);
	CU_ASSERT_EQUAL(items[first].client, client);
	CU_ASSERT_EQUAL(items[first].state, FW_MR_REGION);
	CU_ASSERT_EQUAL(items[first].type, HW_ACCESS_REMOTE_READ);
	CU_ASSERT_EQUAL(items[first].a, (uintptr_t)items);
	CU_ASSERT_EQUAL(items[first].b, 50);
	CU_ASSERT_STRING_EQUAL(items[first].name, "mapped");
	CU_ASSERT_EQUAL(items[!first].id, stag[1]);
	CU_ASSERT_EQUAL(items[!first].type, HW_ACCESS_LOCAL_WRITE);
	CU_ASSERT_EQUAL(items[!first].b, 60);
	CU_ASSERT_STRING_EQUAL(items[!first].name, "process_vm");
	CU_ASSERT_EQUAL(host_obj(ut.nic, client, HW_CMD_DEREG_MR, stag[0], NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, client, HW_LIST_MRS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].id, stag[1]);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* A window is listed as itself: it is no region, and no way to its memory is named. */
static void a_window_has_no_name(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_MW, .u.alloc_mw = {.type = 2}};
	struct hw_list_item items[MAX_ITEMS];
	struct hw_cmd_resp resp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	cmd.u.alloc_mw.pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_MRS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].state, FW_MR_WINDOW);
	CU_ASSERT_EQUAL(items[0].name[0], 0);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static void fields_of_peers(void)
{
	static const uint8_t mac[6] = {2, 3, 4, 5, 6, 7};
	struct hw_list_item items[MAX_ITEMS];
	struct rd_session *s;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	s = rd_session_get(ut.nic, htonl(0x0a4d0007), 5);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	s->segment_bytes = 1400;
	s->rtt.srtt_ns = 12345;
	s->tx_psn = 50;
	s->tx_una = 42;
	memcpy(s->peer_mac, mac, sizeof(mac));
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_PEERS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].id, htonl(0x0a4d0007));
	CU_ASSERT_EQUAL(items[0].state, s->state);
	CU_ASSERT_EQUAL(items[0].type, 5);
	CU_ASSERT_EQUAL(items[0].a, 12345);
	CU_ASSERT_EQUAL(items[0].b, 8);
	CU_ASSERT_EQUAL(memcmp(items[0].mac, mac, sizeof(mac)), 0);
	/* IPv4 20, UDP 8, ours 28, the session's 24, DDP/RDMAP 18, CRC 4. */
	CU_ASSERT_EQUAL(items[0].more[0], 1400 + 102);
	s->segment_bytes = 0;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_PEERS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].more[0], 0);
	s->tx_psn = s->tx_una;
	ut.nic->rd.peers[s->index].used = false;
	CU_ASSERT_EQUAL(fw_ut_list(&ut, 0, HW_LIST_PEERS, items, MAX_ITEMS), 0);
	ut.nic->rd.peers[s->index].used = true;
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

static void fields_of_neighbours_and_groups(void)
{
	static const uint8_t mac[6] = {2, 3, 4, 5, 6, 7}, group_mac[6] = {1, 0, 0x5e, 1, 2, 3};
	const uint32_t group_ip = htonl(0xe1010203);
	struct hw_cmd attach = {.op = HW_CMD_ATTACH_MCAST};
	struct hw_list_item items[MAX_ITEMS];
	struct mcast_group *group;
	struct hw_cmd_resp resp;
	struct neigh *neigh;
	struct fw_cq *cq;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	neigh = &ut.nic->net.neigh[ut.nic->net.neigh_count++];
	*neigh = (struct neigh){.ip = htonl(0x0a4d0007), .confirmed_ns = 55, .used_ns = 66};
	memcpy(neigh->mac, mac, sizeof(mac));
	CU_ASSERT_EQUAL(fw_ut_list(&ut, 0, HW_LIST_NEIGHBOURS, items, MAX_ITEMS), 0);
	neigh->state = NEIGH_INCOMPLETE;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_NEIGHBOURS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].state, 0);
	neigh->state = NEIGH_REACHABLE;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_NEIGHBOURS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].id, htonl(0x0a4d0007));
	CU_ASSERT_EQUAL(items[0].state, 1);
	CU_ASSERT_EQUAL(items[0].a, 55);
	CU_ASSERT_EQUAL(items[0].b, 66);
	CU_ASSERT_EQUAL(memcmp(items[0].mac, mac, sizeof(mac)), 0);
	ut.nic->net.neigh_count--;
	cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
	qp = host_qp(ut.nic, 0, HW_QPT_UD, host_pd(ut.nic, 0), cq, HW_SRQ_NONE);
	attach.u.mcast.qpn = qp->qpn;
	attach.u.mcast.gid[10] = attach.u.mcast.gid[11] = 0xff;
	memcpy(attach.u.mcast.gid + 12, &group_ip, sizeof(group_ip));
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &attach, &resp), 0);
	group = mcast_find(ut.nic, group_ip);
	CU_ASSERT_PTR_NOT_NULL_FATAL(group);
	group->rx_packets = UINT64_C(1) << 33;
	group->changes_left = 2;
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_GROUPS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].id, group_ip);
	CU_ASSERT_EQUAL(items[0].state, 1);
	CU_ASSERT_EQUAL(items[0].type, 2);
	CU_ASSERT_EQUAL(items[0].a, 1);
	CU_ASSERT_EQUAL(items[0].b, UINT64_C(1) << 33);
	CU_ASSERT_EQUAL(memcmp(items[0].mac, group_mac, sizeof(group_mac)), 0);
	/* A group that was left is listed until its leave was reported, and no longer. */
	attach.op = HW_CMD_DETACH_MCAST;
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &attach, &resp), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_GROUPS, items, MAX_ITEMS), 1);
	CU_ASSERT_EQUAL(items[0].state, 0);
	CU_ASSERT_EQUAL(items[0].a, 0);
	fw_ut_poll(&ut, UINT64_C(10000000000));
	fw_ut_poll(&ut, UINT64_C(10000000000));
	CU_ASSERT_EQUAL(fw_ut_list(&ut, 0, HW_LIST_GROUPS, items, MAX_ITEMS), 0);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* The share of a user is the sum of its processes' shares, each with a limit of its own. */
static void shares_of_users_and_processes(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .uid = 9};
	uint32_t client[2], i, n, seen = 0;
	struct hw_list_item items[MAX_ITEMS];
	struct fw_ut ut;

	fw_ut_begin(&ut);
	params.limits.process[HW_SHARE_PD] = 11;
	params.limits.user[HW_SHARE_PD] = 12;
	for (i = 0; i < 2; i++) {
		params.pid = 70 + i;
		CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client[i]), 0);
	}
	(void)host_pd(ut.nic, 0);
	for (i = 0; i < 5; i++)
		(void)host_pd(ut.nic, client[i >= 3]);
	n = fw_ut_list(&ut, 0, HW_LIST_SHARES, items, MAX_ITEMS);
	for (i = 0; i < n; i++) {
		const struct hw_list_item *item = &items[i];

		CU_ASSERT_TRUE(item->a > 0);
		if (item->type == HW_SHARE_OF_PROCESS && item->state == HW_SHARE_PD &&
		    item->client == 42)
			seen |= 8;
		if (item->id != 9 || item->state != HW_SHARE_PD)
			continue;
		if (item->type == HW_SHARE_OF_USER) {
			CU_ASSERT_EQUAL(item->client, 0);
			CU_ASSERT_EQUAL(item->a, 5);
			CU_ASSERT_EQUAL(item->b, 12);
			seen |= 1;
		} else {
			CU_ASSERT_EQUAL(item->type, HW_SHARE_OF_PROCESS);
			CU_ASSERT_EQUAL(item->a, item->client == 70 ? 3 : 2);
			CU_ASSERT_EQUAL(item->b, 11);
			CU_ASSERT_EQUAL(seen & (item->client == 70 ? 2 : 4), 0);
			seen |= item->client == 70 ? 2 : 4;
		}
	}
	CU_ASSERT_EQUAL(seen, 15);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/*
 * A list is read in answers of a few items, and goes on behind the last. A command looks at 1,024
 * places; with nothing found in them it goes on in later turns, so that no answer is empty before
 * the end of the table.
 */
static void each_object_once(void)
{
	enum {
		PLACES = 3000,
		LOOKS = 1024,
		USED = 8,
	};
	static const uint32_t used[USED] = {0, 1, 15, 16, 17, LOOKS - 1, 2 * LOOKS, PLACES - 1};
	struct hw_cmd cmd = {.op = HW_CMD_LIST, .u.list.kind = HW_LIST_NEIGHBOURS};
	struct hw_list_item items[MAX_ITEMS];
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	uint32_t i, turns;

	fw_ut_begin(&ut);
	ut.nic->net.neigh_count = PLACES;
	for (i = 0; i < USED; i++) {
		ut.nic->net.neigh[used[i]].ip = used[i] + 1;
		ut.nic->net.neigh[used[i]].state = NEIGH_REACHABLE;
	}
	CU_ASSERT_EQUAL_FATAL(fw_ut_list(&ut, 0, HW_LIST_NEIGHBOURS, items, MAX_ITEMS), USED);
	for (i = 0; i < USED; i++)
		CU_ASSERT_EQUAL(items[i].id, used[i] + 1);
	/* As many items as an answer holds end it. */
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.list.count, HW_LIST_PER_RESP);
	CU_ASSERT_EQUAL(resp.u.list.next, used[HW_LIST_PER_RESP - 1] + 1);
	/* As many places as a command may look at do, too. */
	cmd.u.list.cursor = 16;
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.list.count, 3);
	CU_ASSERT_EQUAL(resp.u.list.item[0].id, 17);
	CU_ASSERT_EQUAL(resp.u.list.next, 16 + LOOKS);
	/* A turn that finds nothing leaves the place to the next one. */
	cmd.u.list.cursor = LOOKS;
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), -1);
	for (turns = 0; !ut.port.num_done || ut.port.done.tag != cmd.tag; turns++) {
		CU_ASSERT_FATAL(turns < 10);
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_EQUAL(ut.port.done.u.list.count, 1);
	CU_ASSERT_EQUAL(ut.port.done.u.list.item[0].id, 2 * LOOKS + 1);
	/* The end. */
	cmd.u.list.cursor = PLACES;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.list.count, 0);
	CU_ASSERT_EQUAL(resp.u.list.next, PLACES);
	for (i = 0; i < USED; i++)
		ut.nic->net.neigh[used[i]].state = NEIGH_FREE;
	ut.nic->net.neigh_count = 0;
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

UT_MAIN("nic_fw/up/cmd_query", UT(every_field_of_the_device), UT(all_kinds_of_statistics),
	UT(fields_of_clients), UT(fields_of_collectives), UT(fields_of_completion_queues),
	UT(fields_of_queue_pairs), UT(fields_of_regions), UT(a_window_has_no_name),
	UT(fields_of_peers), UT(fields_of_neighbours_and_groups), UT(shares_of_users_and_processes),
	UT(each_object_once))
