/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command slots: answers and errors, what a hostile process writes, turns of several processes, a
 * command that takes many turns, shares, the end of a process in the middle.
 */
#include "tests/bench/host.h"

static struct hw_cmd_slot *slot_at(struct fw_ut *ut, uint32_t client, uint32_t index)
{
	return (struct hw_cmd_slot *)(void *)(ut->client[client].bar + HW_BAR_CMD_SLOTS) + index;
}

static void ring(struct fw_ut *ut, uint32_t client, uint32_t index)
{
	struct fw_client *c = &ut->nic->host.clients[client];

	c->db_ring[c->header->db_tail++ % HW_DB_RING_ENTRIES] = HW_DB_ENTRY(HW_DB_CMD, index);
}

/* Fills a slot in and rings. */
static struct hw_cmd_slot *put(struct fw_ut *ut, uint32_t client, uint32_t index,
			       const struct hw_cmd *cmd)
{
	struct hw_cmd_slot *slot = slot_at(ut, client, index);

	slot->cmd = *cmd;
	slot->serial++;
	slot->rung = 1;
	ring(ut, client, index);
	return slot;
}

static bool is_done(const struct hw_cmd_slot *slot)
{
	return slot->done == slot->serial;
}

/* Puts a command and runs a turn; returns the status. */
static int32_t run(struct fw_ut *ut, const struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_slot *slot = put(ut, 0, 3, cmd);

	fw_ut_poll(ut, 1000);
	CU_ASSERT_TRUE_FATAL(is_done(slot));
	CU_ASSERT_EQUAL(slot->rung, 0);
	CU_ASSERT_EQUAL(slot->resp.op, cmd->op);
	CU_ASSERT_EQUAL(slot->resp.tag, cmd->tag);
	if (resp)
		*resp = slot->resp;
	return slot->resp.status;
}

static struct hw_cmd to_state(const struct fw_qp *qp, enum hw_qp_state state)
{
	return (struct hw_cmd){
	    .op = HW_CMD_MODIFY_QP,
	    .tag = 77,
	    .u.modify_qp = {.qpn = qp->qpn, .mask = HW_QP_STATE, .attr.state = state}};
}

static struct fw_qp *qp_of(struct fw_ut *ut, enum hw_qp_type type)
{
	return host_qp(ut->nic, 0, type, host_pd(ut->nic, 0), host_cq(ut->nic, 0, 128, HW_EQ_NONE),
		       HW_SRQ_NONE);
}

static void answers_as_the_channel(void)
{
	struct hw_cmd_resp by_slot, by_channel;
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_QP, .tag = 5};
	struct fw_qp *qp;
	struct fw_ut ut;
	uint64_t before;

	fw_ut_begin(&ut);
	qp = qp_of(&ut, HW_QPT_RD);
	before = ut.nic->counters.commands;
	cmd.u.obj.handle = qp->qpn;
	CU_ASSERT_EQUAL(run(&ut, &cmd, &by_slot), 0);
	CU_ASSERT_EQUAL(ut.nic->counters.commands, before + 1);
	CU_ASSERT_EQUAL(ut.nic->counters.commands_slot, 1);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &by_channel), 0);
	by_channel.tag = by_slot.tag;
	CU_ASSERT_EQUAL(memcmp(&by_slot, &by_channel, sizeof(by_slot)), 0);
	/* The slot serves the next one. */
	host_rts(ut.nic, qp, 0);
	cmd = to_state(qp, HW_QPS_ERR);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	fw_ut_end(&ut);
}

static void refuses(void)
{
	static const uint32_t not_by_slot[] = {0,
					       HW_CMD_ATTACH,
					       HW_CMD_ALLOC_PD,
					       HW_CMD_REG_MR,
					       HW_CMD_RESIZE_CQ,
					       HW_CMD_CREATE_AH,
					       HW_CMD_OPEN_QP,
					       HW_CMD_CREATE_EQ,
					       HW_CMD_GOAL_OP,
					       HW_CMD_OPS,
					       UINT32_MAX};
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_QP, .tag = 9};
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	qp = qp_of(&ut, HW_QPT_RD);
	cmd.u.obj.handle = qp->qpn + 1;
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EINVAL);
	cmd.u.obj.handle = qp->qpn;
	cmd.u.bytes[sizeof(cmd.u.bytes) - 1] = 1;
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EINVAL);
	cmd = (struct hw_cmd){.tag = 9};
	for (uint32_t i = 0; i < sizeof(not_by_slot) / sizeof(not_by_slot[0]); i++) {
		cmd.op = not_by_slot[i];
		CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EOPNOTSUPP);
	}
	/* A handle of another process. */
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &(uint32_t){0}), 0);
	cmd = to_state(qp, HW_QPS_ERR);
	put(&ut, 1, 0, &cmd);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(slot_at(&ut, 1, 0)->resp.status, FW_EINVAL);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RESET);
	fw_ut_end(&ut);
}

static struct hw_cmd make_cq(void)
{
	return (struct hw_cmd){
	    .op = HW_CMD_CREATE_CQ, .tag = 6, .u.create_cq = {.entries = 32, .eq = HW_EQ_NONE}};
}

static struct hw_cmd of_object(enum hw_cmd_op op, uint32_t handle)
{
	return (struct hw_cmd){.op = op, .tag = 8, .u.obj.handle = handle};
}

/* Queues come and go by slots; those in use stay. */
static void makes_queues(void)
{
	struct hw_cmd cmd = make_cq();
	struct hw_cmd_resp cq, qp, srq;
	uint64_t before;
	struct fw_ut ut;
	uint32_t pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	before = ut.nic->host.clients[0].bar.high;
	CU_ASSERT_EQUAL_FATAL(run(&ut, &cmd, &cq), 0);
	CU_ASSERT_EQUAL(cq.u.create_cq.entries, 32);
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_SRQ,
			      .u.srq = {.pd = pd, .max_wr = 16, .max_sge = 2}};
	CU_ASSERT_EQUAL_FATAL(run(&ut, &cmd, &srq), 0);
	cmd = (struct hw_cmd){.op = HW_CMD_CREATE_QP,
			      .u.create_qp = {.type = HW_QPT_RD,
					      .pd = pd,
					      .send_cq = cq.u.create_cq.cq,
					      .recv_cq = cq.u.create_cq.cq,
					      .srq = srq.u.srq.srq,
					      .sq_slots = 16,
					      .max_send_wr = 16,
					      .max_send_sge = 1}};
	CU_ASSERT_EQUAL_FATAL(run(&ut, &cmd, &qp), 0);
	CU_ASSERT_PTR_NOT_NULL(qp_own(ut.nic, 0, qp.u.create_qp.qpn));
	cmd = of_object(HW_CMD_DESTROY_CQ, cq.u.create_cq.cq);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EBUSY);
	cmd = of_object(HW_CMD_DESTROY_SRQ, srq.u.srq.srq);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EBUSY);
	cmd = of_object(HW_CMD_DESTROY_QP, qp.u.create_qp.qpn);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EINVAL);
	cmd = of_object(HW_CMD_DESTROY_SRQ, srq.u.srq.srq);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	cmd = of_object(HW_CMD_DESTROY_CQ, cq.u.create_cq.cq);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	CU_ASSERT_EQUAL(ut.nic->host.clients[0].bar.high, before);
	fw_ut_end(&ut);
}

/* Pages of records come by the channel, where weftd makes them before the core writes there. */
static void records_by_the_channel(void)
{
	struct hw_cmd cmd = make_cq();
	struct hw_cmd_resp resp;
	uint32_t pages, made = 0;
	struct fw_bar *bar;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	bar = &ut.nic->host.clients[0].bar;
	pages = bar->num_record_pages;
	while (!run(&ut, &cmd, NULL) && ++made < 1000)
		;
	CU_ASSERT(made > 0 && made < 1000);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EAGAIN);
	CU_ASSERT_EQUAL(bar->num_record_pages, pages);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(bar->num_record_pages, pages + FW_BAR_RECORD_CHUNK);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	fw_ut_end(&ut);
}

/* A process with many holes in its BAR makes no turn long: its searches go by the channel. */
static void holes_by_the_channel(void)
{
	enum {
		NUM = 2 * FW_BAR_QUICK_EXTENTS + 4
	};
	static uint32_t cq[NUM];
	struct hw_cmd cmd = make_cq(), end;
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	uint32_t i;

	fw_ut_begin(&ut);
	for (i = 0; i < NUM; i++) {
		CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, 0, &cmd, &resp), 0);
		cq[i] = resp.u.create_cq.cq;
	}
	for (i = 0; i < NUM && ut.nic->host.clients[0].bar.num_free <= FW_BAR_QUICK_EXTENTS;
	     i += 2) {
		end = of_object(HW_CMD_DESTROY_CQ, cq[i]);
		CU_ASSERT_EQUAL_FATAL(run(&ut, &end, NULL), 0);
	}
	CU_ASSERT_FATAL(i < NUM);
	end = of_object(HW_CMD_DESTROY_CQ, cq[NUM - 1]);
	CU_ASSERT_EQUAL(run(&ut, &end, NULL), FW_EAGAIN);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EAGAIN);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, 0, &end, &resp), 0);
	fw_ut_end(&ut);
}

/* Takes the units of the turns that follow. */
static void no_units(struct fw_ut *ut)
{
	ut->nic->slices.left = 0;
}

static void copied_once(void)
{
	struct hw_cmd_slot *slot;
	struct hw_cmd cmd;
	struct fw_qp *qp;
	struct fw_ut ut;
	uint64_t bad;

	fw_ut_begin(&ut);
	qp = qp_of(&ut, HW_QPT_RD);
	host_rts(ut.nic, qp, 0);
	cmd = to_state(qp, HW_QPS_ERR);
	slot = put(&ut, 0, 0, &cmd);
	no_units(&ut);
	(void)db_poll(ut.nic);
	CU_ASSERT_FALSE(is_done(slot));
	CU_ASSERT_TRUE(slice_pending(ut.nic));
	/* The command is the NIC's: neither its words nor a second doorbell change it. */
	slot->cmd.u.modify_qp.qpn = 0;
	slot->cmd.op = HW_CMD_OPS;
	bad = ut.nic->counters.doorbells_bad;
	ring(&ut, 0, 0);
	ring(&ut, 0, HW_CMD_SLOTS);
	ring(&ut, 0, 0xffffff);
	(void)db_poll(ut.nic);
	CU_ASSERT_EQUAL(ut.nic->counters.doorbells_bad, bad + 3);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_TRUE(is_done(slot));
	CU_ASSERT_EQUAL(slot->resp.status, 0);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_ERR);
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	fw_ut_end(&ut);
}

/* A process with all slots full waits for itself; another one is served in its first turn. */
static void turns(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_QP};
	struct fw_ut ut;
	uint32_t i, done = 0, before = 0, num_turns = 0;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &i), 0);
	for (i = 0; i < HW_CMD_SLOTS; i++)
		put(&ut, 0, i, &cmd);
	put(&ut, 1, 0, &cmd);
	no_units(&ut);
	(void)db_poll(ut.nic);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_TRUE(is_done(slot_at(&ut, 1, 0)));
	while (done < HW_CMD_SLOTS && ++num_turns < 100) {
		for (done = 0; done < HW_CMD_SLOTS && is_done(slot_at(&ut, 0, done)); done++)
			;
		CU_ASSERT(done - before <= FW_SLICE_UNITS / FW_SLICE_SLOT_UNITS);
		before = done;
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_EQUAL(done, HW_CMD_SLOTS);
	fw_ut_end(&ut);
}

/* weftd holds these answers until a copy that was given up is over: they go by the channel. */
static void waits_with_unmapped_memory(void)
{
	static uint8_t memory[4096];
	struct hw_cmd cmd;
	struct fw_qp *qp;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	qp = qp_of(&ut, HW_QPT_RD);
	(void)host_reg(ut.nic, 0, qp->pd, memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, true);
	cmd = to_state(qp, HW_QPS_RESET);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	(void)host_reg(ut.nic, 0, qp->pd, memory, sizeof(memory), HW_ACCESS_LOCAL_WRITE, false);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EAGAIN);
	cmd = to_state(qp, HW_QPS_ERR);
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EAGAIN);
	CU_ASSERT_EQUAL(qp->state, HW_QPS_RESET);
	cmd = (struct hw_cmd){.op = HW_CMD_QUERY_QP, .tag = 1, .u.obj.handle = qp->qpn};
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), 0);
	cmd.op = HW_CMD_DESTROY_QP;
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EAGAIN);
	CU_ASSERT_PTR_NOT_NULL(qp_own(ut.nic, 0, qp->qpn));
	cmd.op = HW_CMD_DESTROY_SRQ;
	cmd.u.obj.handle = host_srq(ut.nic, 0, qp->pd, 16, 1)->index;
	CU_ASSERT_EQUAL(run(&ut, &cmd, NULL), FW_EAGAIN);
	fw_ut_end(&ut);
}

/* Sends to a peer that does not answer, so that they stay. */
static void post_sends(struct fw_ut *ut, struct fw_qp *qp, uint32_t count)
{
	struct hw_cmd ah = {.op = HW_CMD_CREATE_AH, .u.create_ah.pd = qp->pd};
	struct fw_client *c = &ut->nic->host.clients[0];
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(host_cmd(ut->nic, 0, &ah, &resp), 0);
	for (uint32_t i = 0; i < count; i++) {
		struct hw_sq_wqe wqe = {.opcode = HW_WQE_SEND,
					.slots = 1,
					.wr_id = i,
					.ah = resp.u.handle,
					.dst_qpn = 2};

		memcpy(qp->sq_ring +
			   (size_t)(qp->record->sq_prod++ & qp->sq_mask) * HW_SQ_SLOT_BYTES,
		       &wqe, sizeof(wqe));
	}
	qp->record->rung = 1;
	c->db_ring[c->header->db_tail++ % HW_DB_RING_ENTRIES] = HW_DB_ENTRY(HW_DB_SQ, qp->qpn);
	for (uint32_t i = 0; i < 8; i++)
		fw_ut_poll(ut, 1000);
	CU_ASSERT(qp->outstanding > FW_SLICE_UNITS);
}

static void takes_many_turns(void)
{
	const struct hw_cmd query = {.op = HW_CMD_QUERY_QP};
	struct hw_cmd_slot *reset, *other;
	struct hw_cmd cmd;
	struct fw_qp *qp;
	struct fw_ut ut;
	uint32_t num_turns = 0;

	fw_ut_begin(&ut);
	qp = qp_of(&ut, HW_QPT_RD);
	host_rts(ut.nic, qp, 0);
	post_sends(&ut, qp, 60);
	cmd = to_state(qp, HW_QPS_RESET);
	reset = put(&ut, 0, 0, &cmd);
	other = put(&ut, 0, 1, &query);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_FALSE(is_done(reset));
	while (!is_done(reset) && ++num_turns < 100)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT(num_turns > 1 && num_turns < 100);
	CU_ASSERT_TRUE(is_done(other));
	CU_ASSERT_EQUAL(reset->resp.status, 0);
	CU_ASSERT_EQUAL(qp->outstanding, 0);
	CU_ASSERT_EQUAL(qp->sq_cons, qp->record->sq_prod);
	fw_ut_end(&ut);
}

/* Commands that were begun, and some that were not, go with their process. */
static void ends_in_the_middle(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_QUERY_QP};
	struct fw_qp *qp;
	struct fw_ut ut;
	uint32_t client;

	fw_ut_begin(&ut);
	qp = qp_of(&ut, HW_QPT_RD);
	host_rts(ut.nic, qp, 0);
	post_sends(&ut, qp, 60);
	for (uint32_t i = 1; i < HW_CMD_SLOTS; i++)
		put(&ut, 0, i, &cmd);
	cmd = to_state(qp, HW_QPS_RESET);
	put(&ut, 0, 0, &cmd);
	no_units(&ut);
	(void)db_poll(ut.nic);
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_TRUE(slice_pending(ut.nic));
	fw_ut_detach(&ut, 0);
	for (uint32_t i = 0; i < 20; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	/* The next process with its number begins with free slots. */
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	cmd = (struct hw_cmd){.op = HW_CMD_QUERY_QP, .u.obj.handle = 1};
	for (uint32_t i = 0; i < HW_CMD_SLOTS; i++) {
		put(&ut, client, i, &cmd);
		fw_ut_poll(&ut, 1000);
		CU_ASSERT_EQUAL(slot_at(&ut, client, i)->resp.status, FW_EINVAL);
	}
	fw_ut_end(&ut);
}

static void shares_hold(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CM_CREATE, .tag = 3};
	struct hw_cmd_resp resp;
	struct fw_ut ut;
	uint32_t eq;

	fw_ut_begin(&ut);
	eq = fw_ut_eq(&ut, 0, 16);
	ut.nic->host.clients[0].share->process->limit[HW_SHARE_CM] = 2;
	cmd.u.cm.eq = eq;
	CU_ASSERT_EQUAL(run(&ut, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(run(&ut, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(run(&ut, &cmd, &resp), FW_EDQUOT);
	CU_ASSERT_EQUAL(resp.u.quota.kind, HW_SHARE_CM);
	cmd = (struct hw_cmd){.op = HW_CMD_CM_DESTROY, .tag = 4};
	CU_ASSERT_EQUAL(run(&ut, &cmd, &resp), 0);
	fw_ut_end(&ut);
}

UT_MAIN("host/cmd_slot", UT(answers_as_the_channel), UT(refuses), UT(makes_queues),
	UT(records_by_the_channel), UT(holes_by_the_channel), UT(copied_once), UT(turns),
	UT(waits_with_unmapped_memory), UT(takes_many_turns), UT(ends_in_the_middle),
	UT(shares_hold))
