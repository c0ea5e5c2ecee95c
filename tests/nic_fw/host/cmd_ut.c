/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attach and detach, the reasons to refuse commands, quotas, queries and lists. cmd_fuzz_ut.c has
 * random commands.
 */
#include "tests/bench/frame.h"
#include "tests/bench/host.h"

#include <arpa/inet.h>

static void attach_fills_the_header(void)
{
	const struct hw_bar_header *header;
	const struct fw_eq *eq;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	header = (const void *)ut.client[0].bar;
	CU_ASSERT_EQUAL(header->magic, HW_BAR_MAGIC);
	CU_ASSERT_EQUAL(header->version, HW_BAR_VERSION);
	CU_ASSERT_EQUAL(header->bar_bytes, FW_UT_BAR_BYTES);
	CU_ASSERT_EQUAL(header->client, 0);
	CU_ASSERT_EQUAL(header->nic_state, HW_NIC_RUNNING);
	CU_ASSERT_EQUAL(header->link_up, 1);
	CU_ASSERT_EQUAL(ut.client[0].attach.num_shards, 1);
	CU_ASSERT_EQUAL(ut.client[0].attach.eq0_entries, FW_EQ0_ENTRIES);
	eq = &ut.nic->host.eqs[ut.nic->host.clients[0].eq[0]];
	CU_ASSERT_PTR_EQUAL(eq->record,
			    ut.client[0].bar +
				(size_t)HW_BAR_PAGE_BYTES * ut.client[0].attach.eq0_offset_pages);
	CU_ASSERT_PTR_EQUAL(eq->ring, eq->record + 1);
	fw_ut_end(&ut);
}

static void attach_refuses(void)
{
	struct fw_client_params params = {.bar_bytes = HW_BAR_DYNAMIC};
	struct hw_resp_attach attach;
	struct fw_ut ut;
	uint32_t client;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL(fw_ut_attach(&ut, &params, &client), FW_EINVAL);
	params.bar_bytes = HW_BAR_DYNAMIC + HW_BAR_PAGE_BYTES; /* no room for EQ 0 */
	CU_ASSERT_EQUAL(fw_ut_attach(&ut, &params, &client), FW_ENOMEM);
	params.bar_bytes = 0;
	CU_ASSERT_EQUAL(fw_client_attach(ut.nic, &params, &client, &attach), FW_EINVAL);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.client_ids), 1);
	fw_shutdown(ut.nic);
	CU_ASSERT_EQUAL(fw_ut_attach(&ut, NULL, &client), FW_EIO);
	fw_ut_end(&ut);
}

static void as_many_clients_as_there_are_places(void)
{
	struct fw_client_params tool = {.tool = true, .name = "weftctl"};
	struct hw_resp_attach attach;
	struct fw_ut ut;
	uint32_t client, i;

	fw_ut_begin(&ut);
	for (i = 1; i < HW_MAX_CLIENTS; i++)
		CU_ASSERT_EQUAL_FATAL(fw_client_attach(ut.nic, &tool, &client, &attach), 0);
	CU_ASSERT_EQUAL(fw_client_attach(ut.nic, &tool, &client, &attach), FW_EUSERS);
	for (i = 1; i < HW_MAX_CLIENTS; i++)
		CU_ASSERT_EQUAL(fw_client_detach(ut.nic, i), FW_DETACH_DONE);
	CU_ASSERT_EQUAL(fw_client_attach(ut.nic, &tool, &client, &attach), 0);
	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, client), FW_DETACH_DONE);
	fw_ut_end(&ut);
}

static void detach_frees_everything_at_once(void)
{
	static uint8_t memory[4096];
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_AH};
	struct hw_cmd_resp resp;
	struct fw_srq *srq;
	struct fw_cq *cq;
	struct fw_ut ut;
	uint32_t pd, eq, i;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	eq = fw_ut_eq(&ut, 0, 16);
	cq = host_cq(ut.nic, 0, 16, eq);
	srq = host_srq(ut.nic, 0, pd, 16, 2);
	for (i = 0; i < 20; i++) {
		struct fw_qp *qp =
		    host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, i & 1 ? srq->index : HW_SRQ_NONE);

		host_rts(ut.nic, qp, 0);
		(void)host_reg(ut.nic, 0, pd, memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, i < 8);
		cmd.u.create_ah.pd = pd;
		CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	}
	fw_ut_detach(&ut, 0);
	CU_ASSERT_EQUAL(ut.port.num_unmaps, 8);
	fw_ut_poll(&ut, 1000000);
	fw_ut_end(&ut); /* asserts that no number is in use */
}

static void what_is_not_a_command_is_refused(void)
{
	static const uint32_t not_ours[] = {0,
					    HW_CMD_ATTACH,
					    HW_CMD_START,
					    HW_CMD_ALLOC_MEM,
					    HW_CMD_FREE_MEM,
					    HW_CMD_CAPTURE,
					    HW_CMD_CHANGE,
					    HW_CMD_UPGRADE,
					    HW_CMD_OPS,
					    UINT32_MAX};
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	uint32_t i;

	fw_ut_begin(&ut);
	for (i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++) {
		struct hw_cmd cmd = {.op = not_ours[i]};

		CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EOPNOTSUPP);
	}
	CU_ASSERT_EQUAL(ut.nic->counters.commands_bad, i);
	fw_ut_end(&ut);
}

static void what_is_unused_must_be_zero(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD, .reserved = 1};
	struct hw_cmd_resp resp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.reserved = 0;
	cmd.u.bytes[0] = 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.bytes[0] = 0;
	cmd.u.bytes[sizeof(cmd.u.bytes) - 1] = 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.bytes[sizeof(cmd.u.bytes) - 1] = 0;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_CREATE_CQ;
	cmd.u.create_cq.entries = 4;
	cmd.u.create_cq.eq = HW_EQ_NONE;
	cmd.u.bytes[sizeof(cmd.u.create_cq)] = 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	fw_ut_end(&ut);
}

static void a_tool_may_only_ask(void)
{
	struct fw_client_params params = {.tool = true};
	struct hw_cmd cmd = {0};
	struct hw_cmd_resp resp;
	uint32_t client, op;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	for (op = 1; op < HW_CMD_OPS; op++) {
		/* Moderation belongs to the NIC, not to a process; weftd checks who may set it. */
		bool asks = op == HW_CMD_QUERY_DEVICE || op == HW_CMD_STATS || op == HW_CMD_LIST ||
			    op == HW_CMD_COALESCE || op == HW_CMD_VECTOR;

		if (op == HW_CMD_ATTACH || op == HW_CMD_START || op == HW_CMD_ALLOC_MEM ||
		    op == HW_CMD_FREE_MEM || op == HW_CMD_CAPTURE || op == HW_CMD_CHANGE ||
		    op == HW_CMD_UPGRADE)
			continue;
		cmd.op = op;
		CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), asks ? 0 : FW_EPERM);
	}
	/* Events for it are dropped. */
	eq_async(ut.nic, client, HW_EVENT_QP_FATAL, 1);
	fw_link(ut.nic, false);
	CU_ASSERT_EQUAL(ut.port.irqs[client][0], 0);
	fw_ut_end(&ut);
}

static void after_the_end_nothing_is_served(void)
{
	struct hw_eqe eqe;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	fw_link(ut.nic, false);
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_PORT_ERR);
	fw_shutdown(ut.nic);
	CU_ASSERT_TRUE(fw_ut_event(&ut, 0, 0, &eqe));
	CU_ASSERT_EQUAL(eqe.type, HW_EVENT_DEVICE_FATAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, 0, NULL), FW_EIO);
	fw_ut_end(&ut);
}

static void quotas_of_each_kind(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES,
					  .limits.process = {
					      [HW_SHARE_CQ] = 1,
					      [HW_SHARE_SRQ] = 1,
					      [HW_SHARE_MR] = 1,
					      [HW_SHARE_PD] = 1,
					      [HW_SHARE_AH] = 1,
					      [HW_SHARE_EQ] = 2,
					  }};
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;
	uint32_t client, pd;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	pd = host_pd(ut.nic, client);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EDQUOT);
	(void)fw_ut_eq(&ut, client, 4);
	cmd.op = HW_CMD_CREATE_EQ;
	cmd.u.create_eq.entries = 4;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EDQUOT);
	(void)host_cq(ut.nic, client, 4, HW_EQ_NONE);
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_CREATE_CQ;
	cmd.u.create_cq.entries = 4;
	cmd.u.create_cq.eq = HW_EQ_NONE;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EDQUOT);
	(void)host_srq(ut.nic, client, pd, 4, 1);
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_CREATE_SRQ;
	cmd.u.srq.pd = pd;
	cmd.u.srq.max_wr = 4;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EDQUOT);
	(void)host_reg(ut.nic, client, pd, &ut, 1, 0, false);
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_ALLOC_MW;
	cmd.u.alloc_mw.pd = pd;
	cmd.u.alloc_mw.type = 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EDQUOT);
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_CREATE_AH;
	cmd.u.create_ah.pd = pd;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, client, &cmd, &resp), FW_EDQUOT);
	fw_ut_end(&ut);
}

static void event_queues(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ};
	struct hw_cmd_resp resp;
	struct fw_cq *cq;
	struct fw_ut ut;
	uint32_t eq, i;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL); /* no entries */
	cmd.u.create_eq.entries = FW_EQ_MAX_ENTRIES + 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.create_eq.entries = 5;
	cmd.u.create_eq.vector = HW_NUM_VECTORS;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.create_eq.vector = HW_NUM_VECTORS - 1;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.create_eq.entries, 8);
	eq = resp.u.create_eq.eq;
	cq = host_cq(ut.nic, 0, 4, eq);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_EQ, eq, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_EQ, 0, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_EQ, 200, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_EQ, UINT32_MAX, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_CQ, cq->index, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_EQ, eq, NULL), 0);
	for (i = 1; i < HW_MAX_EQ_PER_CLIENT; i++)
		CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_ENOSPC);
	fw_ut_end(&ut);
}

static void query_device_names_every_limit(void)
{
	static const uint8_t guid[8] = {0x00, 0x77, 0x00, 0xff, 0xfe, 0x00, 0x00, 0x01};
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_DEVICE};
	struct hw_resp_device *device;
	struct hw_cmd_resp resp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	device = &resp.u.device;
	CU_ASSERT_STRING_EQUAL(device->name, "weft1");
	CU_ASSERT_EQUAL(memcmp(&device->node_guid, guid, sizeof(guid)), 0);
	CU_ASSERT_EQUAL(device->ip, htonl(0x0a4d0001));
	CU_ASSERT_EQUAL(device->max_qp, HW_MAX_QP);
	CU_ASSERT_EQUAL(device->max_mr, HW_MAX_MR);
	CU_ASSERT_EQUAL(device->max_sge, HW_MAX_SGE);
	CU_ASSERT_EQUAL(device->max_msg_bytes, HW_MAX_MSG_BYTES);
	CU_ASSERT_EQUAL(device->max_peers, HW_MAX_PEERS);
	/* 1500 less IPv4 20, UDP 8, ours 28, DDP/RDMAP 18, CRC 4. */
	CU_ASSERT_EQUAL(device->max_ud_payload_bytes, 1422);
	CU_ASSERT_EQUAL(device->switch_id, 0);
	ut.nic->config.switch_id = 255;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(device->switch_id, 255);
	fw_ut_end(&ut);
}

static void statistics_come_in_pieces(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_STATS};
	uint32_t total = 0, commands = 0, i;
	const char *name;
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	uint64_t value;

	fw_ut_begin(&ut);
	for (;;) {
		CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
		if (!resp.u.stats.count)
			break;
		for (i = 0; i < resp.u.stats.count; i++) {
			CU_ASSERT_TRUE(fw_stat(ut.nic, total, &name, &value));
			CU_ASSERT_STRING_EQUAL(resp.u.stats.stat[i].name, name);
			if (!strcmp(name, "commands"))
				commands = (uint32_t)resp.u.stats.stat[i].value;
			if (!strcmp(name, "clients_used"))
				CU_ASSERT_EQUAL(resp.u.stats.stat[i].value, 1);
			total++;
		}
		cmd.u.obj.cursor = resp.u.stats.next;
	}
	CU_ASSERT_TRUE(commands > 0);
	CU_ASSERT_FALSE(fw_stat(ut.nic, total, &name, &value));
	CU_ASSERT_TRUE(total > sizeof(struct fw_counters) / sizeof(uint64_t));
	cmd.u.obj.cursor = UINT32_MAX;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.stats.count, 0);
	fw_ut_end(&ut);
}

enum {
	MAX_ITEMS = 200,
};

/* Counts the items of a kind and keeps the last. */
static uint32_t list(struct fw_ut *ut, uint32_t client, uint32_t kind, struct hw_list_item *last)
{
	static struct hw_list_item items[MAX_ITEMS];
	uint32_t count = fw_ut_list(ut, client, kind, items, MAX_ITEMS);

	if (count)
		*last = items[count - 1];
	return count;
}

/* Counts in the BAR are the process's own; it may set them to anything. */
static void counts(struct fw_ut *ut, uint32_t client)
{
	struct hw_bar_header *header = (void *)ut->nic->host.clients[client].bar.base;
	struct hw_list_item item;

	header->forged = 3;
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_CLIENTS, &item), 2);
	CU_ASSERT_EQUAL(item.forged, 3);
	header->forged = UINT32_MAX;
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_CLIENTS, &item), 2);
	CU_ASSERT_EQUAL(item.forged, UINT16_MAX);
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_COLLS, &item), 0);
	header->coll_left_calls = 2;
	header->coll_left_bytes = 30;
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_COLLS, &item), 1);
	CU_ASSERT_EQUAL(item.id, client);
	CU_ASSERT_EQUAL(item.client, 43);
	CU_ASSERT_EQUAL(item.state, ut->nic->host.clients[client].share->user->uid);
	CU_ASSERT_EQUAL(item.a, 0);
	CU_ASSERT_EQUAL(item.more[0], 2);
	CU_ASSERT_EQUAL(item.more[1], 30);
	header->coll_nic_calls = 5;
	header->coll_nic_bytes = UINT64_MAX;
	header->coll_left_calls = UINT64_C(1) << 63;
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_COLLS, &item), 1);
	CU_ASSERT_EQUAL(item.a, 5);
	CU_ASSERT_EQUAL(item.b, INT64_MAX);
	CU_ASSERT_EQUAL(item.more[0], INT64_MAX);
	CU_ASSERT_EQUAL(item.more[1], 30);
}

/* A neighbour that an address handle waits for is reachable when it has answered. */
static void neighbours(struct fw_ut *ut, uint32_t pd)
{
	static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 0x99};
	const uint32_t ip = htonl(0x0a4d0009);
	struct hw_cmd ah = {.op = HW_CMD_CREATE_AH,
			    .u.create_ah = {.pd = pd, .av = {.dst_ip = ip, .flags = HW_AV_F_GRH}}};
	struct hw_list_item item;
	struct hw_cmd_resp resp;
	struct frame f;

	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_NEIGHBOURS, &item), 0);
	CU_ASSERT_EQUAL(host_cmd(ut->nic, 0, &ah, &resp), -1);
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_NEIGHBOURS, &item), 1);
	CU_ASSERT_EQUAL(item.id, ip);
	CU_ASSERT_EQUAL(item.state, 0);
	frame_eth(&f, ut->nic->config.mac, mac, WIRE_ETHERTYPE_ARP);
	frame_arp(&f, WIRE_ARP_REPLY, mac, ip, ut->nic->config.ip);
	bench_port_put(&ut->port, f.b, f.n, 0);
	fw_ut_poll(ut, 1000);
	CU_ASSERT_EQUAL(list(ut, 0, HW_LIST_NEIGHBOURS, &item), 1);
	CU_ASSERT_EQUAL(item.state, 1);
	CU_ASSERT(memcmp(item.mac, mac, sizeof(mac)) == 0);
	CU_ASSERT_EQUAL(item.a, ut->now_ns);
}

static void lists_of_objects(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_LIST, .u.list.kind = HW_LIST_KINDS};
	struct hw_list_item item;
	struct hw_cmd_resp resp;
	struct fw_client_params same_user = {.bar_bytes = FW_UT_BAR_BYTES, .pid = 7, .uid = 42};
	struct fw_client_params root = {.tool = true, .sees_all = true};
	uint32_t pd, client2, client3, tool, stag, i;
	struct fw_cq *cq;
	struct fw_qp *qp = NULL;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client2), 0);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
	for (i = 0; i < 14; i++)
		qp = host_qp(ut.nic, 0, HW_QPT_RD, pd, cq, HW_SRQ_NONE);
	stag = host_reg(ut.nic, 0, pd, &ut, 99, 0, false);
	CU_ASSERT_EQUAL(list(&ut, 0, HW_LIST_QPS, &item), 14);
	CU_ASSERT_EQUAL(item.id, qp->qpn);
	CU_ASSERT_EQUAL(item.type, HW_QPT_RD);
	CU_ASSERT_EQUAL(list(&ut, 0, HW_LIST_CQS, &item), 1);
	CU_ASSERT_EQUAL(item.a, 8);
	CU_ASSERT_EQUAL(list(&ut, 0, HW_LIST_CLIENTS, &item), 2);
	CU_ASSERT_STRING_EQUAL(item.name, "ut");
	CU_ASSERT_EQUAL(item.a, 43);
	CU_ASSERT_EQUAL(item.forged, 0);
	counts(&ut, client2);
	CU_ASSERT_EQUAL(list(&ut, 0, HW_LIST_MRS, &item), 1);
	CU_ASSERT_EQUAL(item.id, stag);
	CU_ASSERT_EQUAL(item.b, 99);
	CU_ASSERT_STRING_EQUAL(item.name, "process_vm");
	/*
	 * Another process of the same user does not receive the STag, one of another user receives
	 * nothing.
	 */
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &same_user, &client3), 0);
	CU_ASSERT_EQUAL(list(&ut, client3, HW_LIST_MRS, &item), 1);
	CU_ASSERT_EQUAL(item.id, 0);
	CU_ASSERT_EQUAL(item.a, (uintptr_t)&ut);
	CU_ASSERT_EQUAL(list(&ut, client2, HW_LIST_MRS, &item), 1);
	CU_ASSERT_EQUAL(item.id, 0);
	CU_ASSERT_EQUAL(item.a, 0);
	CU_ASSERT_EQUAL(item.b, 99);
	/* Root receives all. */
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &root, &tool), 0);
	CU_ASSERT_EQUAL(list(&ut, 0, HW_LIST_CLIENTS, &item), 4);
	CU_ASSERT_EQUAL(item.id, tool);
	CU_ASSERT_EQUAL(item.type, HW_CLIENT_TOOL);
	CU_ASSERT_EQUAL(list(&ut, tool, HW_LIST_MRS, &item), 1);
	CU_ASSERT_EQUAL(item.id, stag);
	CU_ASSERT_EQUAL(item.a, (uintptr_t)&ut);
	neighbours(&ut, pd);
	CU_ASSERT_EQUAL(list(&ut, 0, HW_LIST_PEERS, &item), 0);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), FW_EINVAL);
	cmd.u.list.kind = HW_LIST_QPS;
	cmd.u.list.cursor = UINT32_MAX;
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(resp.u.list.count, 0);
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

/* Shares of a process, with the limits that it was given. */
static void lists_of_shares(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = 7, .uid = 42};
	struct hw_list_item item;
	uint32_t client, kind;
	struct fw_ut ut;

	for (kind = 0; kind < HW_SHARES_SHARD; kind++) {
		params.limits.process[kind] = 60 + kind;
		params.limits.user[kind] = 100 + kind;
	}
	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	for (kind = 0; kind < 3; kind++)
		(void)host_pd(ut.nic, client);
	CU_ASSERT_TRUE_FATAL(list(&ut, 0, HW_LIST_SHARES, &item) > 0);
	CU_ASSERT_EQUAL(item.type, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(item.id, 42);
	CU_ASSERT_EQUAL(item.client, 7);
	CU_ASSERT_EQUAL(item.b, 60 + item.state);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/cmd", UT(attach_fills_the_header), UT(attach_refuses),
	UT(as_many_clients_as_there_are_places), UT(detach_frees_everything_at_once),
	UT(what_is_not_a_command_is_refused), UT(what_is_unused_must_be_zero),
	UT(a_tool_may_only_ask), UT(after_the_end_nothing_is_served), UT(quotas_of_each_kind),
	UT(event_queues), UT(query_device_names_every_limit), UT(statistics_come_in_pieces),
	UT(lists_of_objects), UT(lists_of_shares))
