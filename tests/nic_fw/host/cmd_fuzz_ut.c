/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile process: random commands, some of them plausible so that objects exist, and a BAR that
 * is overwritten meanwhile. Seeded: a failure repeats.
 */
#include "tests/bench/host.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Often a number that may exist, sometimes a random one. */
static uint32_t wild(uint64_t *state)
{
	uint64_t r = next_random(state);

	switch (r % 8) {
	case 0:
		return (uint32_t)(r >> 32);
	case 1:
		return UINT32_MAX;
	case 2:
		return 1u << (r >> 8) % 32;
	default:
		return (uint32_t)(r >> 32) % 12;
	}
}

/* Words of hw_cmd.u that a command uses; now and then more are filled. */
static uint32_t words_of(uint32_t op)
{
	switch (op) {
	case HW_CMD_QUERY_DEVICE:
	case HW_CMD_ALLOC_PD:
		return 0;
	case HW_CMD_REG_MR:
		return 12;
	case HW_CMD_CREATE_QP:
		return 13;
	case HW_CMD_CREATE_EQ:
	case HW_CMD_ALLOC_MW:
		return 2;
	case HW_CMD_CREATE_SRQ:
	case HW_CMD_MODIFY_SRQ:
		return 9;
	case HW_CMD_OPEN_XRCD:
		return 6;
	case HW_CMD_MODIFY_QP:
		return 16;
	case HW_CMD_RESIZE_CQ:
	case HW_CMD_MODIFY_CQ:
	case HW_CMD_CREATE_AH:
		return 4;
	case HW_CMD_CM_CREATE:
	case HW_CMD_CM_BIND:
	case HW_CMD_CM_CONNECT:
	case HW_CMD_CM_ACCEPT:
	case HW_CMD_CM_REJECT:
		return 8;
	default:
		return 3;
	}
}

/* The last number that each kind of creation returned. */
static uint32_t known[HW_CMD_OPS];

/* Connections of the NIC with itself, within one process. */
static void make_cm_sane(struct fw_ut *ut, struct hw_cmd *cmd, uint64_t *state)
{
	struct hw_cmd_cm *cm = &cmd->u.cm;
	bool second = next_random(state) & 1;

	if (cmd->op < HW_CMD_CM_CREATE || cmd->op > HW_CMD_CM_EVENT || cmd->op == HW_CMD_CM_DATA)
		return;
	/* Rarely, so that objects live for a while. */
	if (cmd->op == HW_CMD_CM_DESTROY && next_random(state) % 8)
		return;
	memset(cm, 0, sizeof(*cm));
	cm->ep = second ? known[HW_CMD_CM_CREATE] : (uint32_t)(next_random(state) % 16);
	cm->eq = known[HW_CMD_CREATE_EQ];
	if (cmd->op == HW_CMD_CM_BIND) {
		cm->space = HW_CM_TCP;
		cm->port = (uint16_t)(next_random(state) % 4);
	}
	if (cmd->op == HW_CMD_CM_RESOLVE || cmd->op == HW_CMD_CM_CONNECT)
		cm->ip = ut->nic->config.ip;
	if (cmd->op == HW_CMD_CM_CONNECT) {
		cm->port = (uint16_t)(1 + next_random(state) % 3);
		cm->flags = next_random(state) % 4 == 0 ? HW_CM_F_DATAGRAM : 0;
	}
	if (cmd->op == HW_CMD_CM_CONNECT || cmd->op == HW_CMD_CM_ACCEPT)
		cm->param.qpn = known[HW_CMD_CREATE_QP];
}

/*
 * Makes a command of lent rings or XRC plausible: few files, and now and then QPs and SRQs of the
 * domain that was opened last.
 */
static void make_xrc_sane(struct hw_cmd *cmd, uint64_t *state)
{
	bool xrc = next_random(state) % 4 == 0;

	switch (cmd->op) {
	case HW_CMD_OPEN_XRCD:
		cmd->u.open_xrcd.flags = (uint32_t)(next_random(state) % 4);
		cmd->u.open_xrcd.reserved = 0;
		cmd->u.open_xrcd.file_dev = 0;
		cmd->u.open_xrcd.file_ino =
		    cmd->u.open_xrcd.flags & HW_XRCD_F_FILE ? 1 + next_random(state) % 3 : 0;
		break;
	case HW_CMD_CLOSE_XRCD:
		cmd->u.obj.handle = (uint32_t)(next_random(state) % 64);
		break;
	case HW_CMD_CREATE_SRQ:
		cmd->u.srq.flags = xrc ? HW_SRQ_F_XRC : 0;
		cmd->u.srq.xrcd = xrc ? known[HW_CMD_OPEN_XRCD] : 0;
		cmd->u.srq.cq = xrc ? known[HW_CMD_CREATE_CQ] : 0;
		break;
	case HW_CMD_CREATE_QP:
		cmd->u.create_qp.xrcd = 0;
		if (xrc)
			cmd->u.create_qp =
			    (struct hw_cmd_create_qp){.type = HW_QPT_XRC_RECV,
						      .srq = HW_SRQ_NONE,
						      .xrcd = known[HW_CMD_OPEN_XRCD]};
		break;
	case HW_CMD_ALLOC_RINGS:
		cmd->u.alloc_rings.bytes = HW_RING_MIN_BYTES << next_random(state) % 4;
		cmd->u.alloc_rings.count %= 4;
		break;
	case HW_CMD_OPEN_QP:
		cmd->u.open_qp.xrcd = known[HW_CMD_OPEN_XRCD];
		cmd->u.open_qp.qpn = known[HW_CMD_CREATE_QP];
		break;
	default:
		break;
	}
}

static void make_sane(struct fw_ut *ut, struct hw_cmd *cmd, uint64_t *state)
{
	const struct fw_qp *qp = qp_find(ut->nic, known[HW_CMD_CREATE_QP]);
	bool second = next_random(state) & 1;

	switch (cmd->op) {
	case HW_CMD_CREATE_QP:
		cmd->u.create_qp.pd = known[HW_CMD_ALLOC_PD];
		cmd->u.create_qp.send_cq = known[HW_CMD_CREATE_CQ];
		cmd->u.create_qp.recv_cq = known[HW_CMD_CREATE_CQ];
		cmd->u.create_qp.type = second ? HW_QPT_RD : HW_QPT_UD;
		cmd->u.create_qp.sq_slots = 16;
		cmd->u.create_qp.max_send_wr %= 16;
		cmd->u.create_qp.max_recv_wr %= 64;
		cmd->u.create_qp.max_send_sge %= 4;
		cmd->u.create_qp.max_recv_sge %= 4;
		cmd->u.create_qp.max_inline_bytes %= 100;
		cmd->u.create_qp.flags = next_random(state) % 2 ? HW_QP_F_LENT : 0;
		cmd->u.create_qp.srq = second ? HW_SRQ_NONE : known[HW_CMD_CREATE_SRQ];
		break;
	case HW_CMD_CREATE_CQ:
		cmd->u.create_cq.flags = 0;
		cmd->u.create_cq.eq = second ? HW_EQ_NONE : known[HW_CMD_CREATE_EQ];
		break;
	case HW_CMD_CREATE_SRQ:
		cmd->u.srq.pd = known[HW_CMD_ALLOC_PD];
		cmd->u.srq.max_sge %= 4;
		break;
	case HW_CMD_REG_MR:
		cmd->u.reg_mr.pd = known[HW_CMD_ALLOC_PD];
		cmd->u.reg_mr.access = HW_ACCESS_LOCAL_WRITE | HW_ACCESS_REMOTE_READ;
		cmd->u.reg_mr.bytes %= 4096;
		cmd->u.reg_mr.flags = 0;
		cmd->u.reg_mr.reserved = 0;
		break;
	case HW_CMD_CREATE_AH:
		cmd->u.create_ah.pd = known[HW_CMD_ALLOC_PD];
		memset(&cmd->u.create_ah.av, 0, sizeof(cmd->u.create_ah.av));
		break;
	case HW_CMD_MODIFY_QP:
		cmd->u.modify_qp.qpn = known[HW_CMD_CREATE_QP];
		cmd->u.modify_qp.mask = HW_QP_STATE;
		cmd->u.modify_qp.attr.state %= HW_QPS_STATES;
		if (qp && qp->state < HW_QPS_RTS && second)
			cmd->u.modify_qp.attr.state = qp->state + 1u;
		if (cmd->u.modify_qp.attr.state == HW_QPS_INIT)
			cmd->u.modify_qp.mask |= HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY;
		if (cmd->u.modify_qp.attr.state == HW_QPS_RTS)
			cmd->u.modify_qp.mask |= HW_QP_SQ_PSN;
		memset(&cmd->u.modify_qp.attr.av, 0, sizeof(cmd->u.modify_qp.attr.av));
		cmd->u.modify_qp.attr.pkey_index = 0;
		cmd->u.modify_qp.attr.transport = 0;
		cmd->u.modify_qp.attr.port = 1;
		break;
	case HW_CMD_RESIZE_CQ:
	case HW_CMD_MODIFY_CQ:
		cmd->u.cq.cq = known[HW_CMD_CREATE_CQ];
		break;
	case HW_CMD_QUERY_QP:
		cmd->u.obj.handle = known[HW_CMD_CREATE_QP];
		break;
	case HW_CMD_DEREG_MR:
		cmd->u.obj.handle = known[HW_CMD_REG_MR];
		break;
	/* Rarely, so that objects live for a while. */
	case HW_CMD_DESTROY_QP:
		if (next_random(state) % 8 == 0)
			cmd->u.obj.handle = known[HW_CMD_CREATE_QP];
		break;
	default:
		break;
	}
}

static void wild_command(struct fw_ut *ut, uint64_t *state, struct hw_cmd *cmd)
{
	uint32_t i, words;

	memset(cmd, 0, sizeof(*cmd));
	cmd->op = (uint32_t)(next_random(state) % (HW_CMD_OPS));
	words = words_of(cmd->op) + (next_random(state) % 16 == 0);
	for (i = 0; i < words; i++) {
		uint32_t word = wild(state);

		memcpy(cmd->u.bytes + 4 * i, &word, sizeof(word));
	}
	if (next_random(state) & 1) {
		make_sane(ut, cmd, state);
		make_cm_sane(ut, cmd, state);
		make_xrc_sane(cmd, state);
	}
}

/* Some words of the BAR: header, doorbells, records, rings. */
static void scribble(struct fw_ut *ut, uint32_t client, uint64_t *state)
{
	const struct fw_client *owner = &ut->nic->host.clients[client];
	uint32_t *bar = (uint32_t *)(void *)ut->client[client].bar;
	uint32_t kind = 1 + (uint32_t)(next_random(state) % 4);
	uint32_t base = kind == HW_DB_EQ ? 0 : ut->nic->qpn_base;

	bar[next_random(state) % (owner->bar.high / 4)] = wild(state);
	bar[next_random(state) % (HW_BAR_PAGE_BYTES / 4)] = wild(state);
	bar[HW_BAR_DB_RING / 4 + owner->db_head % HW_DB_RING_ENTRIES] =
	    HW_DB_ENTRY(kind, base | (wild(state) & 0xffff));
	if (owner->bar.num_record_pages) {
		uint64_t page = next_random(state) % owner->bar.num_record_pages;

		bar[owner->bar.record_page[page].offset / 4 +
		    next_random(state) % (HW_BAR_PAGE_BYTES / 4)] = wild(state);
	}
}

/*
 * A process that sends random commands and overwrites its BAR harms only itself. When it ends, all
 * its resources are free.
 */
static void random_commands_and_a_scribbled_bar(void)
{
	enum {
		LIVES = 12,
		COMMANDS = 8000
	};
	uint64_t state = 0x2545f4914f6cdd1d;
	struct hw_cqe cqe = {.wr_id = 7}, got;
	uint32_t good, bad = 0, life, i, made_qps = 0, moved_qps = 0;
	uint32_t made_cms = 0, asked_cms = 0, made_recvs = 0, made_xrc_srqs = 0;
	uint32_t lent_qps = 0, made_rings = 0;
	struct hw_cmd_resp resp;
	struct fw_cq *good_cq;
	struct fw_qp *good_qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &good), 0);
	good_cq = host_cq(ut.nic, good, 16, HW_EQ_NONE);
	good_qp = host_qp(ut.nic, good, HW_QPT_RD, host_pd(ut.nic, good), good_cq, HW_SRQ_NONE);
	host_rts(ut.nic, good_qp, 0);
	for (life = 0; life < LIVES; life++) {
		for (i = 0; i < COMMANDS; i++) {
			struct hw_cmd cmd;

			wild_command(&ut, &state, &cmd);
			if (host_cmd(ut.nic, bad, &cmd, &resp) == 0) {
				/* The first word of an answer is the number of the new object. */
				known[cmd.op] = resp.u.handle;
				made_qps += cmd.op == HW_CMD_CREATE_QP;
				made_recvs += cmd.op == HW_CMD_CREATE_QP &&
					      cmd.u.create_qp.type == HW_QPT_XRC_RECV;
				made_xrc_srqs += cmd.op == HW_CMD_CREATE_SRQ && resp.u.srq.srqn;
				lent_qps += cmd.op == HW_CMD_CREATE_QP &&
					    cmd.u.create_qp.flags & HW_QP_F_LENT;
				made_rings += cmd.op == HW_CMD_ALLOC_RINGS;
				moved_qps += cmd.op == HW_CMD_MODIFY_QP;
				made_cms += cmd.op == HW_CMD_CM_CREATE;
				asked_cms += cmd.op == HW_CMD_CM_CONNECT;
			}
			scribble(&ut, bad, &state);
			if (i % 16 == 0)
				fw_ut_poll(&ut, 10000);
		}
		fw_ut_detach(&ut, bad);
		CU_ASSERT_EQUAL_FATAL(fw_ids_used(&ut.nic->host.qp_ids), 1);
		CU_ASSERT_EQUAL_FATAL(fw_ids_used(&ut.nic->host.cq_ids), 1);
		CU_ASSERT_EQUAL_FATAL(fw_ids_used(&ut.nic->host.eq_ids), 1);
		CU_ASSERT_EQUAL_FATAL(fw_ids_used(&ut.nic->host.mr_ids), 0);
		CU_ASSERT_EQUAL_FATAL(fw_ids_used(&ut.nic->host.pd_ids), 1);
		CU_ASSERT_EQUAL_FATAL(fw_ids_used(&ut.nic->host.xrcd_ids), 0);
		CU_ASSERT_EQUAL_FATAL(ut.nic->host.wqes.used, 0);
		CU_ASSERT_EQUAL_FATAL(ut.nic->host.recv_msgs.used, 0);
		if (life + 1 < LIVES)
			CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &bad), 0);
	}
	CU_ASSERT_TRUE(made_qps > 500 && moved_qps > 200);
	CU_ASSERT_TRUE(made_cms > 100 && asked_cms > 20);
	CU_ASSERT_TRUE(lent_qps > 100 && made_rings > 20);
	CU_ASSERT_TRUE(made_recvs > 20 && made_xrc_srqs > 20);
	CU_ASSERT_EQUAL(good_qp->state, HW_QPS_RTS);
	CU_ASSERT_TRUE(cq_post(ut.nic, good_cq, &cqe));
	CU_ASSERT_TRUE(host_cqe(good_cq, 0, &got));
	CU_ASSERT_EQUAL(got.wr_id, 7);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/cmd_fuzz", UT(random_commands_and_a_scribbled_bar))
