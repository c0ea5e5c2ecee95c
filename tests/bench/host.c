/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands, queues and the NIC of host.h. Calls nic_fw/fw.h and port.c.
 */
#include "tests/bench/host.h"

#include <arpa/inet.h>
#include <sys/mman.h>

/* ---- a process of any NIC ---------------------------------------------------------------- */

int host_cmd(struct fw_nic *nic, uint32_t client, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	static uint32_t tag;

	cmd->tag = ++tag;
	if (fw_cmd(nic, client, cmd, NULL, resp) == FW_CMD_PENDING)
		return -1;
	CU_ASSERT_EQUAL(resp->tag, cmd->tag);
	CU_ASSERT_EQUAL(resp->op, cmd->op);
	return resp->status;
}

int host_obj(struct fw_nic *nic, uint32_t client, enum hw_cmd_op op, uint32_t handle,
	     struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = op, .u.obj.handle = handle};
	struct hw_cmd_resp own;

	return host_cmd(nic, client, &cmd, resp ? resp : &own);
}

uint32_t host_pd(struct fw_nic *nic, uint32_t client)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(host_cmd(nic, client, &cmd, &resp), 0);
	return resp.u.handle;
}

struct fw_cq *host_cq(struct fw_nic *nic, uint32_t client, uint32_t entries, uint32_t eq)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ, .u.create_cq = {.entries = entries, .eq = eq}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(host_cmd(nic, client, &cmd, &resp), 0);
	return &nic->host.cqs[resp.u.create_cq.cq];
}

struct fw_srq *host_srq(struct fw_nic *nic, uint32_t client, uint32_t pd, uint32_t max_wr,
			uint32_t max_sge)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_SRQ,
			     .u.srq = {.pd = pd, .max_wr = max_wr, .max_sge = max_sge}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(host_cmd(nic, client, &cmd, &resp), 0);
	return &nic->host.srqs[resp.u.srq.srq];
}

struct fw_qp *host_qp(struct fw_nic *nic, uint32_t client, enum hw_qp_type type, uint32_t pd,
		      const struct fw_cq *cq, uint32_t srq)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_create_qp *create = &cmd.u.create_qp;
	struct hw_cmd_resp resp;

	create->pd = pd;
	create->type = type;
	create->send_cq = cq->index;
	create->recv_cq = cq->index;
	create->srq = srq;
	create->sq_slots = 64;
	create->max_send_wr = 16;
	create->max_recv_wr = 16;
	create->max_send_sge = 4;
	create->max_recv_sge = 4;
	create->max_inline_bytes = 128;
	CU_ASSERT_EQUAL_FATAL(host_cmd(nic, client, &cmd, &resp), 0);
	return qp_find(nic, resp.u.create_qp.qpn);
}

uint32_t host_reg(struct fw_nic *nic, uint32_t client, uint32_t pd, void *mem, uint64_t bytes,
		  uint32_t access, bool mapped)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct fw_cmd_aux aux = {.mapping = mem, .map_bytes = bytes};
	struct hw_cmd_resp resp;

	cmd.u.reg_mr.addr = (uintptr_t)mem;
	cmd.u.reg_mr.iova = (uintptr_t)mem;
	cmd.u.reg_mr.bytes = bytes;
	cmd.u.reg_mr.pd = pd;
	cmd.u.reg_mr.access = access;
	cmd.u.reg_mr.flags = mapped ? HW_REG_F_MAPPED : 0;
	CU_ASSERT_EQUAL_FATAL(fw_cmd(nic, client, &cmd, mapped ? &aux : NULL, &resp), FW_CMD_DONE);
	CU_ASSERT_EQUAL_FATAL(resp.status, 0);
	CU_ASSERT_EQUAL(resp.u.mr.mapped, mapped);
	return resp.u.mr.stag;
}

int host_modify(struct fw_nic *nic, const struct fw_qp *qp, enum hw_qp_state state, uint32_t mask,
		const struct hw_qp_attr *attr)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};
	struct hw_cmd_resp resp;

	if (attr)
		cmd.u.modify_qp.attr = *attr;
	cmd.u.modify_qp.qpn = qp->qpn;
	cmd.u.modify_qp.mask = mask | HW_QP_STATE;
	cmd.u.modify_qp.attr.state = state;
	return host_cmd(nic, qp->client, &cmd, &resp);
}

void host_rts(struct fw_nic *nic, const struct fw_qp *qp, uint32_t access)
{
	struct hw_qp_attr attr = {.port = 1, .qkey = HOST_QKEY, .access = access};
	uint32_t mask = HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY;

	mask |= access ? HW_QP_ACCESS_FLAGS : 0;
	CU_ASSERT_EQUAL_FATAL(host_modify(nic, qp, HW_QPS_INIT, mask, &attr), 0);
	CU_ASSERT_EQUAL_FATAL(host_modify(nic, qp, HW_QPS_RTR, 0, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(host_modify(nic, qp, HW_QPS_RTS, HW_QP_SQ_PSN, &attr), 0);
}

bool host_cqe(const struct fw_cq *cq, uint32_t index, struct hw_cqe *cqe)
{
	*cqe = cq->ring[index & cq->mask];
	return cqe->phase == !(index & (cq->mask + 1));
}

bool host_next_cqe(struct fw_cq *cq, uint32_t *cons, struct hw_cqe *cqe)
{
	if (!host_cqe(cq, *cons, cqe))
		return false;
	__atomic_store_n(&cq->record->cons, ++*cons, __ATOMIC_RELEASE);
	return true;
}

void host_recv(struct fw_qp *qp, uint64_t wr_id, const struct hw_sge *sge, uint32_t num_sge)
{
	uint8_t *entry =
	    qp->rq_ring + (size_t)(qp->record->rq_prod & qp->rq_mask) * qp->rq_stride_bytes;
	struct hw_rq_wqe wqe = {.wr_id = wr_id, .num_sge = num_sge};

	/* Pieces beyond the limit are counted in num_sge, but not written. */
	if (num_sge > qp->max_recv_sge)
		num_sge = qp->max_recv_sge;
	memcpy(entry, &wqe, sizeof(wqe));
	if (num_sge)
		memcpy(entry + sizeof(wqe), sge, num_sge * sizeof(*sge));
	__atomic_store_n(&qp->record->rq_prod, qp->record->rq_prod + 1, __ATOMIC_RELEASE);
}

struct goal_comm *host_comm(struct fw_nic *nic, uint32_t ranks, uint32_t next_instance)
{
	struct goal_comm *comm = &nic->goal.comms[0];

	goal_comm_init(comm);
	fw_list_init(&comm->group.all);
	fw_list_init(&comm->group.blocked);
	fw_list_init(&comm->group.resuming);
	comm->num_ranks = ranks;
	comm->next_instance = next_instance;
	return comm;
}

static uint32_t *run_chain(struct fw_nic *nic, const struct goal_comm *comm, uint32_t instance)
{
	uint32_t comm_index = (uint32_t)(comm - nic->goal.comms);

	return &nic->goal.run_hash[fw_hash_keyed(&nic->hash_key, instance, comm_index, 0) %
				   GOAL_MAX_RUNS];
}

struct goal_run *host_run(struct fw_nic *nic, struct goal_comm *comm,
			  struct goal_schedule *schedule, uint32_t instance)
{
	struct goal_run *run = goal_take(nic, comm->client, GOAL_TABLE_RUNS);

	CU_ASSERT_PTR_NOT_NULL_FATAL(run);
	memset(run, 0, sizeof(*run));
	goal_run_init_lists(run);
	run->client = comm->client;
	run->comm = comm;
	run->schedule = schedule;
	run->instance = instance;
	fw_chain_add(run_chain(nic, comm, instance), &run->hash_next,
		     fw_pool_index(&nic->goal.runs, run));
	fw_list_add_tail(&comm->runs, &run->comm_node);
	CU_ASSERT_PTR_EQUAL_FATAL(goal_run_find(nic, comm, instance), run);
	return run;
}

void host_run_end(struct fw_nic *nic, struct goal_run *run)
{
	goal_msg_drop_run(nic, run);
	fw_chain_del(run_chain(nic, run->comm, run->instance), run, fw_pool_table(&nic->goal.runs),
		     hash_next);
	fw_list_del(&run->client_node);
	fw_list_del(&run->comm_node);
	goal_give(nic, run->client, GOAL_TABLE_RUNS, run);
}

/* ---- a NIC alone ------------------------------------------------------------------------- */

static uint64_t always_the_same(void *ctx)
{
	(void)ctx;
	return 0x0123456789abcdefu;
}

void fw_ut_begin(struct fw_ut *ut)
{
	struct fw_config config = {
	    .name = "weft1",
	    .mac = {0x02, 0x77, 0, 0, 0, 1},
	    .ip_prefix = 24,
	    .nic_index = 1,
	    .num_shards = 1,
	    .mtu = 1500,
	    .ip = htonl(0x0a4d0001),
	    .nic_ip = {htonl(0x0a4d0064), htonl(0x0a4d0001)},
	    .hash_secret = BENCH_HASH_SECRET,
	};
	struct fw_port port = bench_port_table(&ut->port);
	uint32_t client;

	memset(ut, 0, sizeof(*ut));
	bench_port_init(&ut->port);
	port.random64 = always_the_same;
	/* Without this function the NIC does not ask for room: frames beyond it are lost. */
	port.tx_room = NULL;
	ut->now_ns = 1000000;
	ut->arena_bytes = fw_arena_bytes();
	ut->arena = bench_map(ut->arena_bytes);
	ut->nic = fw_init(&config, &port, ut->arena, ut->arena_bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ut->nic);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(ut, NULL, &client), 0);
	CU_ASSERT_EQUAL_FATAL(client, 0);
	fw_ut_poll(ut, 0);
}

void fw_ut_end(struct fw_ut *ut)
{
	struct fw_nic *nic = ut->nic;
	uint32_t i;

	for (i = 0; i < FW_UT_CLIENTS; i++)
		if (nic->host.clients[i].used)
			fw_ut_detach(ut, i);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.client_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.pd_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.mr_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.cq_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.eq_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.srq_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.qp_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.ah_ids), 0);
	CU_ASSERT_EQUAL(fw_ids_used(&nic->host.xrcd_ids), 0);
	CU_ASSERT_EQUAL(nic->host.qp_opens.used, 0);
	CU_ASSERT_EQUAL(nic->net.mcast_members.used, 0);
	CU_ASSERT_EQUAL(nic->host.ah_waiting, 0);
	CU_ASSERT_TRUE(fw_list_empty(&nic->host.db_clients));
	munmap(ut->arena, ut->arena_bytes);
}

int fw_ut_attach(struct fw_ut *ut, const struct fw_client_params *params, uint32_t *client)
{
	struct fw_client_params p = {.bar_bytes = FW_UT_BAR_BYTES, .name = "ut"};
	struct hw_resp_attach attach;
	struct fw_ut_client *c;
	int err;

	/* A separate user, unless the test gives another one. */
	p.pid = p.uid = 42 + ut->num_attached++;
	if (params)
		p = *params;
	if (!p.tool && !p.bar)
		p.bar = bench_map(p.bar_bytes);
	err = fw_client_attach(ut->nic, &p, client, &attach);
	if (err) {
		if (p.bar)
			munmap(p.bar, p.bar_bytes);
		return err;
	}
	CU_ASSERT_FATAL(*client < FW_UT_CLIENTS);
	c = &ut->client[*client];
	memset(c, 0, sizeof(*c));
	c->bar = p.bar;
	c->bar_bytes = p.bar ? p.bar_bytes : 0;
	c->attach = attach;
	return 0;
}

void fw_ut_detach(struct fw_ut *ut, uint32_t client)
{
	struct fw_ut_client *c = &ut->client[client];

	uint32_t before = ut->port.num_detached, turns;

	if (fw_client_detach(ut->nic, client) == FW_DETACH_PENDING) {
		for (turns = 0; ut->port.num_detached == before; turns++) {
			CU_ASSERT_FATAL(turns < MAX_DETACH_TURNS);
			fw_ut_poll(ut, 1000);
		}
		CU_ASSERT_EQUAL(ut->port.last_detached, client);
	}
	/* Any later access to the BAR faults. */
	if (c->bar)
		munmap(c->bar, c->bar_bytes);
	c->bar = NULL;
}

void fw_ut_poll(struct fw_ut *ut, uint64_t dt_ns)
{
	ut->now_ns += dt_ns;
	fw_poll(ut->nic, ut->now_ns, 256);
}

uint32_t fw_ut_eq(struct fw_ut *ut, uint32_t client, uint32_t entries)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = entries}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(host_cmd(ut->nic, client, &cmd, &resp), 0);
	ut->client[client].eq_cons[resp.u.create_eq.eq] = 0;
	return resp.u.create_eq.eq;
}

bool fw_ut_event(struct fw_ut *ut, uint32_t client, uint32_t eq, struct hw_eqe *eqe)
{
	const struct fw_eq *queue = &ut->nic->host.eqs[ut->nic->host.clients[client].eq[eq]];
	uint32_t *cons = &ut->client[client].eq_cons[eq];
	uint8_t phase = !(*cons & (queue->mask + 1));

	*eqe = queue->ring[*cons & queue->mask];
	if (eqe->phase != phase)
		return false;
	queue->record->cons = ++*cons;
	return true;
}

void fw_ut_post_recv(struct fw_qp *qp, uint64_t wr_id, uint32_t num_sge)
{
	struct hw_sge sge[HW_MAX_SGE];
	uint32_t i;

	for (i = 0; i < HW_MAX_SGE; i++)
		sge[i] = (struct hw_sge){.addr = wr_id + i, .bytes = 100, .lkey = 7};
	host_recv(qp, wr_id, sge, num_sge);
}

uint32_t fw_ut_list(struct fw_ut *ut, uint32_t client, uint32_t kind, struct hw_list_item *items,
		    uint32_t max)
{
	struct hw_cmd cmd = {.op = HW_CMD_LIST, .u.list.kind = kind};
	struct hw_cmd_resp resp;
	uint32_t count = 0, i;

	for (;;) {
		uint32_t done = ut->port.num_done;

		if (host_cmd(ut->nic, client, &cmd, &resp) == -1) {
			while (ut->port.num_done == done)
				fw_ut_poll(ut, 1000);
			resp = ut->port.done;
		}
		CU_ASSERT_EQUAL_FATAL(resp.status, 0);
		if (!resp.u.list.count)
			return count;
		CU_ASSERT_TRUE_FATAL(resp.u.list.count <= HW_LIST_PER_RESP);
		CU_ASSERT_TRUE_FATAL(count + resp.u.list.count <= max);
		for (i = 0; i < resp.u.list.count; i++)
			items[count++] = resp.u.list.item[i];
		/* The next answer has units of its own. */
		cmd.u.list.cursor = resp.u.list.next;
		fw_ut_poll(ut, 0);
	}
}
