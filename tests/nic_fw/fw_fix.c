/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance, the port and the shorthands of fw_ut.h.
 */
#include "tests/nic_fw/fw_ut.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nic_fw/base/crc32c.h"

static uint32_t port_rx_burst(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	(void)ctx;
	(void)frames;
	(void)n;
	return 0;
}

static void port_rx_free(void *ctx, struct fw_rx_frame *frames, uint32_t n)
{
	(void)ctx;
	(void)frames;
	(void)n;
}

static void port_rx_release(void *ctx, void *cookie)
{
	(void)ctx;
	(void)cookie;
}

static uint32_t port_tx_burst(void *ctx, struct fw_tx_frame *frames, uint32_t n)
{
	struct fw_ut *ut = ctx;
	uint32_t i;

	if (ut->tx_full)
		return 0;
	for (i = 0; i < n; i++)
		frames[i].status = 0;
	ut->frames_sent += n;
	return n;
}

static void port_tx_settle(void *ctx)
{
	struct fw_ut *ut = ctx;

	ut->settles++;
}

static int port_host_read(void *ctx, uint32_t client, void *dst, uint64_t addr, uint32_t bytes)
{
	struct fw_ut *ut = ctx;

	(void)client;
	ut->host_calls++;
	if (ut->host_fault)
		return -FW_EFAULT;
	if (ut->host_busy)
		return -FW_EBUSY;
	memcpy(dst, (const void *)(uintptr_t)addr, bytes);
	return 0;
}

static int port_host_write(void *ctx, uint32_t client, uint64_t addr, const void *src,
			   uint32_t bytes)
{
	struct fw_ut *ut = ctx;

	(void)client;
	ut->host_calls++;
	ut->host_src = src;
	if (ut->host_fault)
		return -FW_EFAULT;
	if (ut->host_busy)
		return -FW_EBUSY;
	memcpy((void *)(uintptr_t)addr, src, bytes);
	return 0;
}

static void port_irq(void *ctx, uint32_t client, uint32_t eq)
{
	struct fw_ut *ut = ctx;

	ut->client[client].irqs[eq]++;
}

static void port_cmd_done(void *ctx, uint32_t client, const struct hw_cmd_resp *resp)
{
	struct fw_ut *ut = ctx;

	ut->num_done++;
	ut->done_client = client;
	ut->done = *resp;
}

static void port_detached(void *ctx, uint32_t client)
{
	struct fw_ut *ut = ctx;

	ut->num_detached++;
	ut->last_detached = client;
}

static void port_mem_unmap(void *ctx, uint32_t client, void *mapping)
{
	struct fw_ut *ut = ctx;

	(void)client;
	ut->num_unmaps++;
	if (ut->num_unmapped < FW_UT_UNMAPS)
		ut->unmapped[ut->num_unmapped++] = mapping;
}

static void port_arena_release(void *ctx, void *addr, size_t bytes)
{
	(void)ctx;
	memset(addr, 0, bytes);
}

static uint64_t port_random64(void *ctx)
{
	(void)ctx;
	return 0x0123456789abcdefu;
}

static void *map_zero(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CU_ASSERT_FATAL(p != MAP_FAILED);
	return p;
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
	};
	struct fw_port port = {
	    .ctx = ut,
	    .rx_burst = port_rx_burst,
	    .rx_free = port_rx_free,
	    .rx_release = port_rx_release,
	    .tx_burst = port_tx_burst,
	    .tx_settle = port_tx_settle,
	    .host_read = port_host_read,
	    .host_write = port_host_write,
	    .irq = port_irq,
	    .cmd_done = port_cmd_done,
	    .detached = port_detached,
	    .mem_unmap = port_mem_unmap,
	    .arena_release = port_arena_release,
	    .random64 = port_random64,
	    .crc32c = fw_crc32c,
	    .copy_crc32c = fw_copy_crc32c,
	};
	uint32_t client;

	memset(ut, 0, sizeof(*ut));
	ut->now_ns = 1000000;
	ut->arena_bytes = fw_arena_bytes();
	ut->arena = map_zero(ut->arena_bytes);
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

	/* A user of its own, where the test does not say otherwise. */
	p.pid = p.uid = 42 + ut->num_attached++;
	if (params)
		p = *params;
	if (!p.tool && !p.bar)
		p.bar = map_zero(p.bar_bytes);
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

	uint32_t before = ut->num_detached;

	if (fw_client_detach(ut->nic, client) == FW_DETACH_PENDING) {
		while (ut->num_detached == before)
			fw_ut_poll(ut, 1000);
		CU_ASSERT_EQUAL(ut->last_detached, client);
	}
	/* Whatever touches the BAR from now on faults. */
	if (c->bar)
		munmap(c->bar, c->bar_bytes);
	c->bar = NULL;
}

void fw_ut_poll(struct fw_ut *ut, uint64_t dt_ns)
{
	ut->now_ns += dt_ns;
	fw_poll(ut->nic, ut->now_ns, 256);
}

int fw_ut_cmd(struct fw_ut *ut, uint32_t client, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	static uint32_t tag;

	cmd->tag = ++tag;
	if (fw_cmd(ut->nic, client, cmd, NULL, resp) == FW_CMD_PENDING)
		return -1;
	CU_ASSERT_EQUAL(resp->tag, cmd->tag);
	CU_ASSERT_EQUAL(resp->op, cmd->op);
	return resp->status;
}

int fw_ut_obj(struct fw_ut *ut, uint32_t client, enum hw_cmd_op op, uint32_t handle,
	      struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = op, .u.obj.handle = handle};
	struct hw_cmd_resp own;

	return fw_ut_cmd(ut, client, &cmd, resp ? resp : &own);
}

uint32_t fw_ut_pd(struct fw_ut *ut, uint32_t client)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(fw_ut_cmd(ut, client, &cmd, &resp), 0);
	return resp.u.handle;
}

uint32_t fw_ut_eq(struct fw_ut *ut, uint32_t client, uint32_t entries)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = entries}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(fw_ut_cmd(ut, client, &cmd, &resp), 0);
	ut->client[client].eq_cons[resp.u.create_eq.eq] = 0;
	return resp.u.create_eq.eq;
}

struct fw_cq *fw_ut_cq(struct fw_ut *ut, uint32_t client, uint32_t entries, uint32_t eq)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ, .u.create_cq = {.entries = entries, .eq = eq}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(fw_ut_cmd(ut, client, &cmd, &resp), 0);
	return &ut->nic->host.cqs[resp.u.create_cq.cq];
}

struct fw_srq *fw_ut_srq(struct fw_ut *ut, uint32_t client, uint32_t pd, uint32_t max_wr,
			 uint32_t max_sge)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_SRQ,
			     .u.srq = {.pd = pd, .max_wr = max_wr, .max_sge = max_sge}};
	struct hw_cmd_resp resp;

	CU_ASSERT_EQUAL_FATAL(fw_ut_cmd(ut, client, &cmd, &resp), 0);
	return &ut->nic->host.srqs[resp.u.srq.srq];
}

struct fw_qp *fw_ut_qp(struct fw_ut *ut, uint32_t client, enum hw_qp_type type, uint32_t pd,
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
	CU_ASSERT_EQUAL_FATAL(fw_ut_cmd(ut, client, &cmd, &resp), 0);
	return qp_find(ut->nic, resp.u.create_qp.qpn);
}

uint32_t fw_ut_reg(struct fw_ut *ut, uint32_t client, uint32_t pd, void *mem, uint64_t bytes,
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
	CU_ASSERT_EQUAL_FATAL(fw_cmd(ut->nic, client, &cmd, mapped ? &aux : NULL, &resp),
			      FW_CMD_DONE);
	CU_ASSERT_EQUAL_FATAL(resp.status, 0);
	CU_ASSERT_EQUAL(resp.u.mr.mapped, mapped);
	return resp.u.mr.stag;
}

int fw_ut_modify(struct fw_ut *ut, const struct fw_qp *qp, enum hw_qp_state state, uint32_t mask,
		 const struct hw_qp_attr *attr)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};
	struct hw_cmd_resp resp;

	if (attr)
		cmd.u.modify_qp.attr = *attr;
	cmd.u.modify_qp.qpn = qp->qpn;
	cmd.u.modify_qp.mask = mask | HW_QP_STATE;
	cmd.u.modify_qp.attr.state = state;
	return fw_ut_cmd(ut, qp->client, &cmd, &resp);
}

void fw_ut_rts(struct fw_ut *ut, const struct fw_qp *qp)
{
	struct hw_qp_attr attr = {.port = 1, .qkey = 0x1111};

	CU_ASSERT_EQUAL_FATAL(
	    fw_ut_modify(ut, qp, HW_QPS_INIT, HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_QKEY, &attr),
	    0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_modify(ut, qp, HW_QPS_RTR, 0, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_modify(ut, qp, HW_QPS_RTS, HW_QP_SQ_PSN, &attr), 0);
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

bool fw_ut_cqe(const struct fw_cq *cq, uint32_t index, struct hw_cqe *cqe)
{
	*cqe = cq->ring[index & cq->mask];
	return cqe->phase == !(index & (cq->mask + 1));
}

void fw_ut_post_recv(struct fw_qp *qp, uint64_t wr_id, uint32_t num_sge)
{
	uint8_t *entry =
	    qp->rq_ring + (size_t)(qp->record->rq_prod & qp->rq_mask) * qp->rq_stride_bytes;
	struct hw_rq_wqe wqe = {.wr_id = wr_id, .num_sge = num_sge};
	struct hw_sge sge = {.bytes = 100, .lkey = 7};
	uint32_t i;

	memcpy(entry, &wqe, sizeof(wqe));
	for (i = 0; i < num_sge && i < qp->max_recv_sge; i++) {
		sge.addr = wr_id + i;
		memcpy(entry + sizeof(wqe) + i * sizeof(sge), &sge, sizeof(sge));
	}
	qp->record->rq_prod++;
}
