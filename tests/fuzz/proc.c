/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of the processes of world.h: attach, command, post, poll. Without libweft, so that a
 * target can do all of it wrong. Calls fw.h, writes into BARs.
 */
#include "tests/fuzz/world.h"

#include <sanitizer/asan_interface.h>

static struct fw_nic *fw_of(const struct w_proc *p)
{
	struct fw_nic *fw = w->nic[p->nic].fw;

	fw_now(fw, w->wire.now_ns);
	return fw;
}

void proc_attach(struct w_proc *p, uint32_t nic)
{
	struct fw_client_params params = {
	    .bar = p->bar, .bar_bytes = W_BAR_BYTES, .pid = 1, .name = "fuzz"};
	struct hw_resp_attach attach;

	p->nic = nic;
	world_fresh_bar(p);
	world_open_memory(p);
	W_CHECK(!fw_client_attach(fw_of(p), &params, &p->client, &attach), "attach failed");
	p->attached = true;
}

void proc_attach_tool(struct w_proc *p, uint32_t nic)
{
	struct fw_client_params params = {.pid = 2, .tool = true, .name = "tool"};
	struct hw_resp_attach attach;

	p->nic = nic;
	W_CHECK(!fw_client_attach(fw_of(p), &params, &p->client, &attach), "attach failed");
	p->attached = true;
	p->tool = true;
}

void proc_detach(struct w_proc *p)
{
	uint32_t before = w->nic[p->nic].port.num_detached;

	if (fw_client_detach(fw_of(p), p->client) == FW_DETACH_PENDING)
		while (w->nic[p->nic].port.num_detached == before)
			fw_poll(w->nic[p->nic].fw, w->wire.now_ns, 0);
	p->attached = false;
	ASAN_POISON_MEMORY_REGION(p->bar, W_BAR_BYTES);
	world_close_memory(p);
}

static bool answered(void)
{
	return w->done.tag == w->pending_tag;
}

int proc_cmd_async(struct w_proc *p, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	struct fw_cmd_aux aux = {.mapping = p->mem, .map_bytes = W_MEM_BYTES};
	bool memfd = cmd->op == HW_CMD_REG_MR && cmd->u.reg_mr.flags & HW_REG_F_MAPPED;

	w->done.tag = 0;
	cmd->tag = ++w->pending_tag;
	if (memfd)
		aux.offset = cmd->u.reg_mr.addr - (uintptr_t)p->mem;
	if (fw_cmd(fw_of(p), p->client, cmd, memfd ? &aux : NULL, resp) == FW_CMD_PENDING)
		return -1;
	W_CHECK(resp->tag == cmd->tag && resp->op == cmd->op, "an answer to something else");
	if (memfd && !resp->status)
		w->nic[p->nic].maps_given++;
	return resp->status;
}

int proc_cmd(struct w_proc *p, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	if (proc_cmd_async(p, cmd, resp) < 0) {
		world_run(10 * W_S, answered);
		W_CHECK(answered(), "command %u was never answered", cmd->op);
		*resp = w->done;
	}
	return resp->status;
}

int proc_obj(struct w_proc *p, enum hw_cmd_op op, uint32_t handle)
{
	struct hw_cmd cmd = {.op = op, .u.obj.handle = handle};
	struct hw_cmd_resp resp;

	return proc_cmd(p, &cmd, &resp);
}

static uint32_t make(struct w_proc *p, struct hw_cmd *cmd, struct hw_cmd_resp *resp)
{
	W_CHECK(!proc_cmd(p, cmd, resp), "command %u of the set-up: errno %d", cmd->op,
		resp->status);
	return resp->u.handle;
}

uint32_t proc_pd(struct w_proc *p)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;

	return make(p, &cmd, &resp);
}

uint32_t proc_eq(struct w_proc *p, struct hw_resp_create_eq *made)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_EQ, .u.create_eq = {.entries = 64}};
	struct hw_cmd_resp resp;

	make(p, &cmd, &resp);
	if (made)
		*made = resp.u.create_eq;
	return resp.u.create_eq.eq;
}

uint32_t proc_cq(struct w_proc *p, uint32_t eq, struct hw_resp_create_cq *made)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ,
			     .u.create_cq = {.entries = W_CQ_ENTRIES, .eq = eq}};
	struct hw_cmd_resp resp;

	make(p, &cmd, &resp);
	*made = resp.u.create_cq;
	return made->cq;
}

uint32_t proc_ah(struct w_proc *p, uint32_t pd, uint32_t ip)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_AH, .u.create_ah.pd = pd};
	struct hw_cmd_resp resp;

	if (ip) {
		cmd.u.create_ah.av.dst_ip = ip;
		cmd.u.create_ah.av.flags = HW_AV_F_GRH;
	}
	return make(p, &cmd, &resp);
}

uint32_t proc_reg(struct w_proc *p, uint32_t pd, uint32_t offset, uint32_t bytes, uint32_t access,
		  bool mapped)
{
	struct hw_cmd cmd = {.op = HW_CMD_REG_MR};
	struct hw_cmd_resp resp;

	cmd.u.reg_mr.addr = (uintptr_t)p->mem + offset;
	cmd.u.reg_mr.iova = (uintptr_t)p->mem + offset;
	cmd.u.reg_mr.bytes = bytes;
	cmd.u.reg_mr.pd = pd;
	cmd.u.reg_mr.access = access;
	if (mapped) {
		cmd.u.reg_mr.flags = HW_REG_F_MAPPED;
	}
	return make(p, &cmd, &resp);
}

void proc_qp(struct w_proc *p, struct w_qp *qp, struct hw_cmd_create_qp *create)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP};
	struct hw_cmd_resp resp;

	create->sq_slots = 128;
	create->max_send_wr = 64;
	create->max_recv_wr = create->srq == HW_SRQ_NONE ? 64 : 0;
	create->max_send_sge = 4;
	create->max_recv_sge = create->srq == HW_SRQ_NONE ? 4 : 0;
	create->max_inline_bytes = 128;
	cmd.u.create_qp = *create;
	make(p, &cmd, &resp);
	qp->made = resp.u.create_qp;
	qp->type = (uint8_t)create->type;
	qp->srq = create->srq != HW_SRQ_NONE;
}

int proc_modify(struct w_proc *p, uint32_t qpn, enum hw_qp_state state, uint32_t mask,
		const struct hw_qp_attr *attr)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};
	struct hw_cmd_resp resp;

	if (attr)
		cmd.u.modify_qp.attr = *attr;
	cmd.u.modify_qp.qpn = qpn;
	cmd.u.modify_qp.mask = mask | HW_QP_STATE;
	cmd.u.modify_qp.attr.state = state;
	return proc_cmd(p, &cmd, &resp);
}

int proc_rts(struct w_proc *p, const struct w_qp *qp, uint32_t qkey, const struct w_qp *dst)
{
	struct hw_qp_attr attr = {
	    .port = 1,
	    .qkey = qkey,
	    .access = W_ALL_ACCESS,
	    .timeout = 14,
	    .retry_cnt = 3,
	    .rnr_retry = 2,
	    .min_rnr_timer = 12,
	    .max_rd_atomic = 8,
	    .max_dest_rd_atomic = 8,
	    .path_mtu = 1024,
	    .sq_psn = 100,
	    .rq_psn = 100,
	    .av = {.dst_ip = w->nic[!p->nic].fw->config.ip, .flags = HW_AV_F_GRH},
	};
	uint32_t timers = HW_QP_TIMEOUT | HW_QP_RETRY_CNT | HW_QP_RNR_RETRY;
	uint32_t init = HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS;
	uint32_t rtr = 0, rts = HW_QP_SQ_PSN;
	int err;

	if (qp->type == HW_QPT_RC) {
		attr.dst_qpn = dst ? dst->made.qpn : 0;
		rtr = HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN | HW_QP_RQ_PSN |
		      HW_QP_MAX_DEST_RD_ATOMIC | HW_QP_MIN_RNR_TIMER;
		rts |= timers | HW_QP_MAX_QP_RD_ATOMIC;
		if (qp->transport != HW_QP_TRANSPORT_RD) {
			attr.transport = qp->transport;
			init |= HW_QP_TRANSPORT;
		}
		/* The connection determines the peer. */
		if (qp->transport == HW_QP_TRANSPORT_TCP) {
			rtr = HW_QP_MAX_DEST_RD_ATOMIC;
			rts = HW_QP_MAX_QP_RD_ATOMIC;
		}
	} else if (qp->type == HW_QPT_XRC_SEND || qp->type == HW_QPT_XRC_RECV) {
		bool recv = qp->type == HW_QPT_XRC_RECV;

		attr.dst_qpn = dst ? dst->made.qpn : 0;
		rtr = HW_QP_AV | HW_QP_PATH_MTU | HW_QP_DEST_QPN | HW_QP_RQ_PSN;
		if (recv)
			rtr |= HW_QP_MAX_DEST_RD_ATOMIC | HW_QP_MIN_RNR_TIMER;
		rts |= recv ? HW_QP_TIMEOUT : timers | HW_QP_MAX_QP_RD_ATOMIC;
	} else {
		init |= HW_QP_QKEY;
		if (qp->type == HW_QPT_RD)
			rts |= timers;
	}
	err = proc_modify(p, qp->made.qpn, HW_QPS_INIT, init, &attr);
	if (!err)
		err = proc_modify(p, qp->made.qpn, HW_QPS_RTR, rtr, &attr);
	return err ? err : proc_modify(p, qp->made.qpn, HW_QPS_RTS, rts, &attr);
}

int proc_tag_open(struct w_proc *p, const struct w_qp *qp, uint32_t qkey,
		  const struct hw_cmd_tag_open *open)
{
	struct hw_qp_attr attr = {.port = 1, .qkey = qkey, .access = W_ALL_ACCESS};
	struct hw_cmd cmd = {.op = HW_CMD_TAG_OPEN, .u.tag_open = *open};
	struct hw_cmd_resp resp;
	int err =
	    proc_modify(p, qp->made.qpn, HW_QPS_INIT,
			HW_QP_PKEY_INDEX | HW_QP_PORT | HW_QP_ACCESS_FLAGS | HW_QP_QKEY, &attr);

	/* Assignment to a member may change the bytes of the union behind it, which must be 0. */
	memset(&cmd, 0, sizeof(cmd));
	cmd.op = HW_CMD_TAG_OPEN;
	memcpy(&cmd.u.tag_open, open, sizeof(*open));
	cmd.u.tag_open.qpn = qp->made.qpn;
	return err ? err : proc_cmd(p, &cmd, &resp);
}

/* ---- queues ------------------------------------------------------------------------------ */

struct hw_qp_record *proc_record(struct w_proc *p, const struct w_qp *qp)
{
	return (void *)(p->bar + qp->made.record_offset);
}

void proc_wqe(struct w_proc *p, const struct w_qp *qp, const struct hw_sq_wqe *wqe,
	      const void *data, uint32_t data_bytes, bool publish)
{
	struct hw_qp_record *record = proc_record(p, qp);
	uint8_t *ring = p->bar + qp->made.sq_offset;
	uint32_t mask = qp->made.sq_slots - 1, at;
	uint32_t slot = record->sq_prod;

	memcpy(ring + (size_t)(slot & mask) * HW_SQ_SLOT_BYTES, wqe, sizeof(*wqe));
	for (at = 0; at < data_bytes; at += HW_SQ_SLOT_BYTES) {
		uint32_t n = data_bytes - at;

		if (n > HW_SQ_SLOT_BYTES)
			n = HW_SQ_SLOT_BYTES;
		slot++;
		memcpy(ring + (size_t)(slot & mask) * HW_SQ_SLOT_BYTES, (const uint8_t *)data + at,
		       n);
	}
	if (publish)
		__atomic_store_n(&record->sq_prod, slot + 1, __ATOMIC_RELEASE);
}

void proc_ring(struct w_proc *p, uint32_t kind, uint32_t id, uint64_t rung_offset)
{
	struct hw_bar_header *header = (void *)p->bar;
	uint32_t *ring = (void *)(p->bar + HW_BAR_DB_RING);

	if (rung_offset &&
	    __atomic_exchange_n((uint32_t *)(void *)(p->bar + rung_offset), 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&ring[header->db_tail++ % HW_DB_RING_ENTRIES], HW_DB_ENTRY(kind, id),
			 __ATOMIC_RELEASE);
}

void proc_ring_sq(struct w_proc *p, const struct w_qp *qp)
{
	proc_ring(p, HW_DB_SQ, qp->made.qpn,
		  qp->made.record_offset + offsetof(struct hw_qp_record, rung));
}

void proc_recv(struct w_proc *p, uint64_t prod_offset, uint64_t ring_offset, uint32_t entries,
	       uint32_t stride, const struct hw_rq_wqe *wqe, const struct hw_sge *sge)
{
	uint32_t *prod = (void *)(p->bar + prod_offset);
	uint32_t room = (stride - (uint32_t)sizeof(*wqe)) / (uint32_t)sizeof(*sge);
	uint8_t *entry = p->bar + ring_offset + (size_t)(*prod & (entries - 1)) * stride;

	memcpy(entry, wqe, sizeof(*wqe));
	memcpy(entry + sizeof(*wqe), sge,
	       (wqe->num_sge < room ? wqe->num_sge : room) * sizeof(*sge));
	__atomic_store_n(prod, *prod + 1, __ATOMIC_RELEASE);
}

uint32_t proc_tag_op(struct w_proc *p, const struct w_qp *qp, const struct hw_tag_rq_wqe *wqe,
		     const struct hw_sge *sge)
{
	const struct hw_resp_create_qp *made = &qp->made;
	struct hw_qp_record *record = proc_record(p, qp);
	uint32_t place = record->rq_prod;
	uint32_t room = (made->rq_stride_bytes - (uint32_t)sizeof(*wqe)) / (uint32_t)sizeof(*sge);
	uint8_t *entry = p->bar + made->rq_offset +
			 (size_t)(place & (made->rq_entries - 1)) * made->rq_stride_bytes;

	memcpy(entry, wqe, sizeof(*wqe));
	memcpy(entry + sizeof(*wqe), sge,
	       (wqe->num_sge < room ? wqe->num_sge : room) * sizeof(*sge));
	__atomic_store_n(&record->rq_prod, place + 1, __ATOMIC_RELEASE);
	proc_ring(p, HW_DB_RQ, made->qpn,
		  made->record_offset + offsetof(struct hw_qp_record, rq_rung));
	return place;
}

bool proc_eqe(struct w_proc *p, const struct hw_resp_create_eq *eq, uint32_t *cons)
{
	const struct hw_eqe *ring = (const void *)(p->bar + eq->ring_offset);
	struct hw_eq_record *record = (void *)(p->bar + eq->record_offset);
	uint32_t at = *cons & (eq->entries - 1);

	if (__atomic_load_n(&ring[at].phase, __ATOMIC_ACQUIRE) != !(*cons & eq->entries))
		return false;
	__atomic_store_n(&record->cons, ++*cons, __ATOMIC_RELEASE);
	return true;
}

bool proc_cqe(struct w_proc *p, const struct hw_resp_create_cq *cq, uint32_t *cons,
	      struct hw_cqe *cqe)
{
	const struct hw_cqe *ring = (const void *)(p->bar + cq->ring_offset);
	struct hw_cq_record *record = (void *)(p->bar + cq->record_offset);
	uint32_t at = *cons & (cq->entries - 1);

	if (__atomic_load_n(&ring[at].phase, __ATOMIC_ACQUIRE) != !(*cons & cq->entries))
		return false;
	*cqe = ring[at];
	__atomic_store_n(&record->cons, ++*cons, __ATOMIC_RELEASE);
	return true;
}
