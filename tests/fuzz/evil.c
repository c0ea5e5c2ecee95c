/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of evil.h. Calls proc.c.
 */
#include "tests/fuzz/evil.h"

struct evil evil[2];

static struct w_proc *proc(uint32_t e)
{
	return &w->proc[EVIL_PROC + e];
}

const struct evil_obj *evil_pick(uint32_t e, enum evil_kind kind, uint32_t i)
{
	static const struct evil_obj none;
	uint32_t n = evil[e].num[kind];

	return n ? &evil[e].obj[kind][i % n] : &none;
}

static uint32_t handle(uint32_t e, enum evil_kind kind, uint32_t i)
{
	return evil_pick(e, kind, i)->handle;
}

static struct evil_obj *remember(uint32_t e, enum evil_kind kind, uint32_t number)
{
	struct evil *v = &evil[e];
	uint32_t i = v->num[kind] < EVIL_OBJECTS ? v->num[kind]++ : number % EVIL_OBJECTS;

	memset(&v->obj[kind][i], 0, sizeof(v->obj[kind][i]));
	v->obj[kind][i].handle = number;
	return &v->obj[kind][i];
}

static void remember_qp(uint32_t e, const struct hw_resp_create_qp *made,
			const struct hw_cmd_create_qp *create)
{
	bool tagged = create->type == HW_QPT_RD && create->flags & HW_QP_F_TAGGED;
	struct evil_obj *o = remember(e, tagged ? EVIL_TAG : EVIL_QP, made->qpn);

	o->record = made->record_offset;
	o->ring = made->rq_offset;
	o->entries = made->rq_entries;
	o->stride = made->rq_stride_bytes;
	o->qp =
	    (struct w_qp){.made = *made, .type = (uint8_t)create->type, .srq = !made->rq_entries};
}

/* Remembers the object that a successful command has made. */
static void take_answer(uint32_t e, const struct hw_cmd *cmd, const struct hw_cmd_resp *resp)
{
	struct evil_obj *o;

	switch (cmd->op) {
	case HW_CMD_ALLOC_PD:
		remember(e, EVIL_PD, resp->u.handle);
		break;
	case HW_CMD_REG_MR:
		remember(e, EVIL_MR, resp->u.mr.stag);
		break;
	case HW_CMD_CREATE_EQ:
		o = remember(e, EVIL_EQ, resp->u.create_eq.eq);
		o->record = resp->u.create_eq.record_offset;
		o->ring = resp->u.create_eq.ring_offset;
		break;
	case HW_CMD_CREATE_CQ:
		o = remember(e, EVIL_CQ, resp->u.create_cq.cq);
		o->record = resp->u.create_cq.record_offset;
		o->ring = resp->u.create_cq.ring_offset;
		o->entries = resp->u.create_cq.entries;
		break;
	case HW_CMD_CREATE_SRQ:
		o = remember(e, EVIL_SRQ, resp->u.srq.srq);
		o->record = resp->u.srq.record_offset;
		o->ring = resp->u.srq.ring_offset;
		o->entries = resp->u.srq.entries;
		o->stride = resp->u.srq.stride_bytes;
		break;
	case HW_CMD_CREATE_QP:
		remember_qp(e, &resp->u.create_qp, &cmd->u.create_qp);
		break;
	case HW_CMD_CREATE_AH:
		remember(e, EVIL_AH, resp->u.handle);
		break;
	case HW_CMD_ALLOC_MW:
		remember(e, EVIL_MW, resp->u.handle);
		break;
	case HW_CMD_OPEN_XRCD:
		remember(e, EVIL_XRCD, resp->u.handle);
		break;
	case HW_CMD_GOAL_OPEN:
		evil[e].runs_offset = resp->u.goal_open.runs_offset;
		break;
	case HW_CMD_GOAL_COMM_CREATE:
		remember(e, EVIL_COMM, resp->u.handle);
		break;
	case HW_CMD_GOAL_LOAD:
		remember(e, EVIL_SCHEDULE, resp->u.goal_load.schedule);
		break;
	default:
		break;
	}
}

/* ---- commands ---------------------------------------------------------------------------- */

static void sane_reg_mr(uint32_t e, struct hw_cmd_reg_mr *reg, const struct rec *r)
{
	uint32_t offset = r->x & 0x1ffff;

	reg->addr = (uintptr_t)proc(e)->mem + offset;
	reg->iova = reg->addr;
	reg->bytes = W_MEM_BYTES - offset;
	reg->pd = handle(e, EVIL_PD, r->b);
	reg->access = r->x >> 17 & HW_ACCESS_ALL;
	reg->flags = r->x >> 31 ? HW_REG_F_MAPPED : 0;
}

static void sane_create_qp(uint32_t e, struct hw_cmd_create_qp *create, const struct rec *r)
{
	static const uint8_t types[] = {HW_QPT_RD, HW_QPT_RC, HW_QPT_UD, HW_QPT_UC};

	if (r->z & 2) {
		create->type = HW_QPT_XRC_RECV;
		create->srq = HW_SRQ_NONE;
		create->xrcd = handle(e, EVIL_XRCD, r->b);
		return;
	}
	create->type = types[r->x & 3];
	create->pd = handle(e, EVIL_PD, r->b);
	create->send_cq = handle(e, EVIL_CQ, r->b >> 2);
	create->recv_cq = handle(e, EVIL_CQ, r->b >> 4);
	create->srq = r->x & 4 ? handle(e, EVIL_SRQ, r->b) : HW_SRQ_NONE;
	create->sq_slots = 1u << (r->x >> 4 & 15);
	create->max_send_wr = create->sq_slots / 2;
	create->max_recv_wr = r->x >> 8 & 127;
	create->max_send_sge = r->x >> 16 & 15;
	create->max_recv_sge = r->x >> 20 & 15;
	create->max_inline_bytes = r->x >> 24;
	create->flags = r->x >> 3 & 1;
	if (create->type == HW_QPT_UD && r->x & 4)
		create->flags |= HW_QP_F_UD_LONG;
	if (r->z & 1) {
		create->type = HW_QPT_XRC_SEND;
		create->srq = HW_SRQ_NONE;
		create->max_recv_wr = create->max_recv_sge = 0;
	}
	if (r->z == EVIL_Z_TAGGED)
		evil_tag_sane_qp(create);
}

static void sane_srq(uint32_t e, struct hw_cmd_srq *srq, const struct rec *r)
{
	*srq = (struct hw_cmd_srq){.pd = handle(e, EVIL_PD, r->b),
				   .max_wr = r->x & 0xff,
				   .max_sge = r->x >> 8 & 15,
				   .limit = r->x >> 16 & 63};
	if (r->z & 1) {
		srq->flags = HW_SRQ_F_XRC;
		srq->xrcd = handle(e, EVIL_XRCD, r->b);
		srq->cq = handle(e, EVIL_CQ, r->b >> 2);
	}
}

static void sane_modify_qp(uint32_t e, struct hw_cmd_modify_qp *modify, const struct rec *r)
{
	const struct evil_obj *o = evil_pick(e, EVIL_QP, r->b);
	struct hw_qp_attr *attr = &modify->attr;

	modify->qpn = o->handle;
	attr->state = r->x % HW_QPS_STATES;
	modify->mask = r->z ? r->z & 0x1fffff : HW_QP_STATE;
	attr->access = HW_ACCESS_ALL & ~HW_ACCESS_ZERO_BASED;
	attr->qkey = EVIL_QKEY;
	attr->path_mtu = 1024;
	attr->port = 1;
	attr->timeout = 8;
	attr->retry_cnt = r->x >> 4 & 7;
	attr->rnr_retry = r->x >> 8 & 7;
	attr->max_rd_atomic = 4;
	attr->max_dest_rd_atomic = 4;
	attr->dst_qpn = handle(!e, EVIL_QP, r->b);
	attr->av.dst_ip = w->nic[r->x >> 12 & 1].fw->config.ip;
	attr->av.flags = HW_AV_F_GRH;
	attr->en_sqd_async_notify = r->x >> 13 & 1;
}

static uint32_t named_object(uint32_t e, uint32_t op, uint32_t i)
{
	switch (op) {
	case HW_CMD_DEALLOC_PD:
		return handle(e, EVIL_PD, i);
	case HW_CMD_DEREG_MR:
		return handle(e, EVIL_MR, i);
	case HW_CMD_DESTROY_EQ:
		return handle(e, EVIL_EQ, i);
	case HW_CMD_DESTROY_CQ:
	case HW_CMD_RESIZE_CQ:
	case HW_CMD_MODIFY_CQ:
		return handle(e, EVIL_CQ, i);
	case HW_CMD_DESTROY_SRQ:
	case HW_CMD_MODIFY_SRQ:
	case HW_CMD_QUERY_SRQ:
		return handle(e, EVIL_SRQ, i);
	case HW_CMD_DESTROY_QP:
	case HW_CMD_QUERY_QP:
		return handle(e, EVIL_QP, i);
	case HW_CMD_DESTROY_AH:
		return handle(e, EVIL_AH, i);
	case HW_CMD_DEALLOC_MW:
		return handle(e, EVIL_MW, i);
	case HW_CMD_CLOSE_XRCD:
		return handle(e, EVIL_XRCD, i);
	default:
		return i;
	}
}

/* Commands of collectives and connections; any other takes an object alone. */
static void make_sane_link(uint32_t e, struct hw_cmd *cmd, const struct rec *r)
{
	switch (cmd->op) {
	case HW_CMD_GOAL_OPEN:
	case HW_CMD_GOAL_COMM_CREATE:
	case HW_CMD_GOAL_COMM_DESTROY:
	case HW_CMD_GOAL_POOL:
	case HW_CMD_GOAL_LOAD:
	case HW_CMD_GOAL_UNLOAD:
	case HW_CMD_GOAL_CANCEL:
		evil_goal_sane(e, cmd, r);
		break;
	case HW_CMD_TAG_OPEN:
		evil_tag_sane_open(e, &cmd->u.tag_open, r);
		break;
	case HW_CMD_CM_CREATE:
	case HW_CMD_CM_BIND:
	case HW_CMD_CM_LISTEN:
	case HW_CMD_CM_RESOLVE:
	case HW_CMD_CM_DATA:
	case HW_CMD_CM_CONNECT:
	case HW_CMD_CM_ACCEPT:
	case HW_CMD_CM_MOVE:
	case HW_CMD_CM_EVENT:
	case HW_CMD_CM_REST:
		cm_sane(cmd, r, handle(e, EVIL_EQ, r->b >> 4), w->nic[r->x >> 31].fw->config.ip,
			handle(e, EVIL_QP, r->z));
		break;
	default:
		cmd->u.obj.handle = r->z == EVIL_Z_TAGGED ? handle(e, EVIL_TAG, r->b)
							  : named_object(e, cmd->op, r->b);
		break;
	}
}

static void make_sane(uint32_t e, struct hw_cmd *cmd, const struct rec *r)
{
	switch (cmd->op) {
	case HW_CMD_REG_MR:
		sane_reg_mr(e, &cmd->u.reg_mr, r);
		break;
	case HW_CMD_CREATE_EQ:
		cmd->u.create_eq = (struct hw_cmd_create_eq){r->b % 9, r->x & 0xfff};
		break;
	case HW_CMD_CREATE_CQ:
		cmd->u.create_cq.entries = r->x & 0xfff;
		cmd->u.create_cq.eq = r->b & 1 ? HW_EQ_NONE : handle(e, EVIL_EQ, r->b >> 1);
		break;
	case HW_CMD_RESIZE_CQ:
	case HW_CMD_MODIFY_CQ:
		cmd->u.cq = (struct hw_cmd_cq){.cq = handle(e, EVIL_CQ, r->b)};
		if (cmd->op == HW_CMD_RESIZE_CQ)
			cmd->u.cq.entries = r->x & 0xffff;
		else
			cmd->u.cq.count = r->x, cmd->u.cq.period_us = r->z;
		break;
	case HW_CMD_CREATE_SRQ:
		sane_srq(e, &cmd->u.srq, r);
		break;
	case HW_CMD_OPEN_XRCD:
		cmd->u.open_xrcd.flags = r->x & HW_XRCD_F_ALL;
		cmd->u.open_xrcd.file_ino = r->x & HW_XRCD_F_FILE ? 1 + (r->x >> 3 & 1) : 0;
		break;
	case HW_CMD_OPEN_QP:
		cmd->u.open_qp.xrcd = handle(e, EVIL_XRCD, r->b);
		cmd->u.open_qp.qpn = handle(e, EVIL_QP, r->x);
		break;
	case HW_CMD_MODIFY_SRQ:
		cmd->u.srq = (struct hw_cmd_srq){
		    .srq = handle(e, EVIL_SRQ, r->b), .limit = r->x & 127, .mask = 2};
		break;
	case HW_CMD_CREATE_QP:
		sane_create_qp(e, &cmd->u.create_qp, r);
		break;
	case HW_CMD_MODIFY_QP:
		sane_modify_qp(e, &cmd->u.modify_qp, r);
		break;
	case HW_CMD_CREATE_AH:
		cmd->u.create_ah.pd = handle(e, EVIL_PD, r->b);
		cmd->u.create_ah.av.flags = r->x & HW_AV_F_GRH;
		if (r->x & HW_AV_F_GRH)
			cmd->u.create_ah.av.dst_ip = w->nic[0].fw->config.ip + (r->x >> 8 << 24);
		break;
	case HW_CMD_ALLOC_MW:
		cmd->u.alloc_mw =
		    (struct hw_cmd_alloc_mw){handle(e, EVIL_PD, r->b), 1 + (r->x & 1)};
		break;
	case HW_CMD_MODIFY_MR:
		cmd->u.modify_mr = (struct hw_cmd_modify_mr){.stag = handle(e, EVIL_MR, r->b),
							     .pd = handle(e, EVIL_PD, r->x),
							     .access = r->z & 0x3f};
		break;
	case HW_CMD_LIST:
		cmd->u.list = (struct hw_cmd_list){r->b, r->x, r->z};
		break;
	case HW_CMD_STATS:
		cmd->u.obj = (struct hw_cmd_handle){.cursor = r->x};
		break;
	default:
		make_sane_link(e, cmd, r);
		break;
	}
}

void evil_cmd(uint32_t e, const struct rec *r, const uint8_t *raw)
{
	struct hw_cmd cmd = {.op = (r->a >> 1) % (HW_CMD_OPS)};
	struct hw_cmd_resp resp;
	uint32_t word = r->c % 64;
	bool queries = cmd.op == HW_CMD_QUERY_DEVICE || cmd.op == HW_CMD_ALLOC_PD;
	int err;

	if (raw)
		memcpy(cmd.u.bytes, raw, sizeof(cmd.u.bytes));
	else if (!queries)
		make_sane(e, &cmd, r);
	if (!raw && word && word <= sizeof(cmd.u.bytes) / 4)
		memcpy(cmd.u.bytes + 4 * (word - 1), &r->y, sizeof(r->y));
	err = r->c & 0x80 ? proc_cmd_async(proc(e), &cmd, &resp) : proc_cmd(proc(e), &cmd, &resp);
	if (!err)
		take_answer(e, &cmd, &resp);
}

/* ---- queues ------------------------------------------------------------------------------ */

/*
 * r->b: opcode, and from bit 4 the QP; r->c: flags, bit 4 the other evil process is meant, bit 5
 * this NIC, bit 6 not published, bit 7 no doorbell; x: bytes and place; y: a word to write at the
 * place z >> 24; z: further choices.
 */
void evil_wqe(uint32_t e, const struct rec *r)
{
	static uint8_t inl[512];
	const struct w_qp *qp = &evil_pick(e, EVIL_QP, r->b >> 4)->qp;
	uint32_t peer = r->c & 0x20 ? e : !e, at = r->z >> 24, i;
	struct hw_sge sge[HW_MAX_SGE];
	struct hw_sq_wqe wqe = {
	    .opcode = r->b & 15,
	    .flags = r->c & HW_WQE_F_ALL,
	    .num_sge = r->z & 3,
	    .imm_inv = handle(peer, EVIL_MW, r->z >> 2),
	    .wr_id = r->x,
	    .ah = handle(e, EVIL_AH, r->c >> 5 & 1),
	    .dst_qpn = handle(peer, EVIL_QP, (r->b >> 4) + (r->z >> 4 & 15)),
	    .qkey = EVIL_QKEY,
	    .remote_addr = (uintptr_t)proc(peer)->mem + (r->z >> 8 & 0xffff),
	    .rkey = handle(peer, r->c & 0x10 ? EVIL_MW : EVIL_MR, r->z >> 2),
	    .compare_add = r->x,
	    .mw_access = r->z & HW_ACCESS_ALL,
	};
	bool inlined = wqe.flags & HW_WQE_F_INLINE;
	uint32_t data_bytes;

	if (!qp->made.sq_slots)
		return;
	if (qp->type == HW_QPT_XRC_SEND)
		wqe.qkey = 1 + handle(peer, EVIL_SRQ, r->z >> 10);
	if (wqe.opcode == HW_WQE_BIND_MW)
		wqe.rkey = handle(e, EVIL_MW, r->z >> 2) + (r->z >> 8 & 1);
	for (i = 0; i < wqe.num_sge; i++)
		sge[i] =
		    (struct hw_sge){(uintptr_t)proc(e)->mem + (r->x >> 15),
				    (r->x & 0x7fff) / wqe.num_sge, handle(e, EVIL_MR, r->z >> 6)};
	data_bytes = wqe.num_sge * (uint32_t)sizeof(sge[0]);
	if (inlined) {
		wqe.num_sge = 0;
		wqe.inline_bytes = data_bytes = r->x % 520;
		if (data_bytes > sizeof(inl))
			data_bytes = sizeof(inl);
	}
	wqe.slots = (uint8_t)hw_sq_slots(data_bytes);
	if (at && at <= sizeof(wqe) - sizeof(r->y))
		memcpy((uint8_t *)&wqe + at, &r->y, sizeof(r->y));
	else if (at >= 64 && at < 64 + data_bytes && !inlined)
		memcpy((uint8_t *)sge + (at - 64) / 4 * 4, &r->y, sizeof(r->y));
	proc_wqe(proc(e), qp, &wqe, inlined ? (const void *)inl : (const void *)sge, data_bytes,
		 !(r->c & 0x40));
	if (!(r->c & 0x80))
		proc_ring_sq(proc(e), qp);
}

void evil_recv(uint32_t e, const struct rec *r)
{
	bool srq = r->c & 0x80;
	const struct evil_obj *o = evil_pick(e, srq ? EVIL_SRQ : EVIL_QP, r->b);
	struct hw_rq_wqe wqe = {.wr_id = r->x, .num_sge = r->c & 31};
	struct hw_sge sge[32];
	uint32_t i;

	if (!o->entries)
		return;
	for (i = 0; i < 32; i++)
		sge[i] = (struct hw_sge){(uintptr_t)proc(e)->mem + (r->x >> 15), r->x & 0x7fff,
					 r->y ? r->y : handle(e, EVIL_MR, r->z)};
	proc_recv(proc(e), o->record + (srq ? 0 : (uint32_t)offsetof(struct hw_qp_record, rq_prod)),
		  o->ring, o->entries, o->stride, &wqe, sge);
}

/* Picks the place of the word: r->b its kind, r->c the object, z the offset in it. */
static uint64_t place_of(uint32_t e, const struct rec *r)
{
	static const enum evil_kind kinds[] = {EVIL_QP, EVIL_CQ, EVIL_SRQ, EVIL_EQ};
	bool tagged = (r->b & 0x63) == 0x60;
	const struct evil_obj *o = evil_pick(e, tagged ? EVIL_TAG : kinds[r->b & 3], r->c);

	switch (r->b >> 2 & 7) {
	case 0:
	case 1:
		return o->record + r->z % 32 * 4;
	case 2:
		return o->ring + r->z % 0x2000 * 4;
	case 3:
		return evil_pick(e, EVIL_QP, r->c)->qp.made.sq_offset + r->z % 0x800 * 4;
	case 4:
		return HW_BAR_DB_RING +
		       (((struct hw_bar_header *)(void *)proc(e)->bar)->db_tail + r->z % 8) %
			   HW_DB_RING_ENTRIES * 4;
	case 5:
		return r->z % 64 * 4;
	case 6:
		return HW_BAR_DYNAMIC + r->z % 0x20000 * 4;
	default:
		if (r->b & 0x20)
			return evil[e].runs_offset +
			       r->z % (EVIL_RUNS * (uint32_t)sizeof(struct hw_goal_run) / 4) * 4;
		return r->z % (W_BAR_BYTES / 4) * 4;
	}
}

void evil_poke(uint32_t e, const struct rec *r)
{
	/* A schedule may change while it is copied. */
	bool mem = (r->b & 0xdc) == 0xdc;
	uint64_t at = mem ? EVIL_STAGE_AT + r->z % 1024 * 4 : place_of(e, r);
	uint8_t *base = mem ? proc(e)->mem : proc(e)->bar;
	uint32_t *word = (uint32_t *)(void *)(base + at), i, n = 1 + (r->y >> 28) % 8;

	for (i = 0; i < n && at + 4 * (i + 1) <= W_BAR_BYTES; i++)
		__atomic_store_n(&word[i],
				 r->a & 0x80 ? __atomic_load_n(&word[i], __ATOMIC_RELAXED) + r->x
					     : r->x,
				 __ATOMIC_RELAXED);
}

/* Takes its events or not, masks its vector or not, writes the consumer index or not. */
static void mask_eq(uint32_t e, const struct rec *r)
{
	const struct evil_obj *eq = evil_pick(e, EVIL_EQ, r->b);
	struct hw_eq_record *record = (void *)(proc(e)->bar + eq->record);

	if (eq->record) {
		record->masked = r->c & 8;
		record->cons += r->x % 4;
	}
	if (!(r->c & 8) || r->c & 16)
		proc_ring(proc(e), HW_DB_EQ, eq->handle, 0);
}

void evil_ring(uint32_t e, const struct rec *r)
{
	const struct evil_obj *qp = evil_pick(e, EVIL_QP, r->b);
	const struct evil_obj *cq = evil_pick(e, EVIL_CQ, r->b);
	struct hw_cq_record *record = (void *)(proc(e)->bar + cq->record);

	switch (r->c & 3) {
	case 0:
		proc_ring(proc(e), HW_DB_SQ, qp->handle, 0);
		break;
	case 1: /* as after a poll, unless bit 2 says otherwise */
		if (cq->record && !(r->c & 4)) {
			record->cons = record->prod;
			record->arm = HW_CQ_ARM_ARMED | (r->c & 8 ? HW_CQ_ARM_SOLICITED : 0) |
				      (record->cons & HW_CQ_ARM_INDEX);
		}
		proc_ring(proc(e), HW_DB_CQ_ARM, cq->handle, 0);
		break;
	case 2: /* perhaps a good process's; or sets and clears a mask */
		if (r->c & 4)
			mask_eq(e, r);
		else
			proc_ring(proc(e), HW_DB_SQ, (uint32_t)(e << 19) | (2 + r->x % 16), 0);
		break;
	default:
		if (r->c & 4)
			evil_run(e, r);
		else
			proc_ring(proc(e), r->x >> 24, r->x, 0);
		break;
	}
}

/* ---- set-up ------------------------------------------------------------------------------ */

static uint32_t objects(uint32_t e)
{
	uint32_t k, n = !!evil[e].runs_offset;

	for (k = 0; k < EVIL_KINDS; k++)
		n += evil[e].num[k];
	return n;
}

static void must(uint32_t e, const struct rec *r)
{
	uint32_t before = objects(e);

	evil_cmd(e, r, NULL);
	W_CHECK(objects(e) == before + 1 || r->a >> 1 == HW_CMD_GOAL_POOL,
		"evil: command %u of the set-up failed", r->a >> 1);
}

#define CMD(op_) .a = (op_) << 1

void evil_attach(uint32_t e)
{
	const uint32_t qp = 7u << 4 | 16u << 8 | 4u << 16 | 4u << 20 | 128u << 24;
	const uint32_t all = (uint32_t)(W_ALL_ACCESS) << 17;
	const struct rec make[] = {
	    {CMD(HW_CMD_ALLOC_PD)},
	    {CMD(HW_CMD_CREATE_EQ), .x = 64},
	    {CMD(HW_CMD_CREATE_CQ), .x = 64},
	    {CMD(HW_CMD_CREATE_CQ), .x = 256},
	    {CMD(HW_CMD_CREATE_SRQ), .x = 16 | 3 << 8},
	    {CMD(HW_CMD_REG_MR), .x = all | 1u << 31},
	    {CMD(HW_CMD_REG_MR), .x = all},
	    {CMD(HW_CMD_ALLOC_MW), .x = 0},
	    {CMD(HW_CMD_ALLOC_MW), .x = 1},
	    {CMD(HW_CMD_CREATE_AH), .x = 1 | (uint32_t)!e << 8},
	    {CMD(HW_CMD_CREATE_AH), .x = 1 | e << 8},
	    {CMD(HW_CMD_CREATE_QP), .x = qp},
	    {CMD(HW_CMD_CREATE_QP), .x = qp | 4},
	    {CMD(HW_CMD_CREATE_QP), .x = qp | 1},
	    {CMD(HW_CMD_CREATE_QP), .x = qp | 2},
	    {CMD(HW_CMD_CREATE_QP), .x = qp | 2 | 4},
	    {CMD(HW_CMD_OPEN_XRCD), .x = HW_XRCD_F_FILE | HW_XRCD_F_CREATE},
	    {CMD(HW_CMD_CREATE_SRQ), .x = 16 | 3 << 8, .z = 1},
	    {CMD(HW_CMD_CREATE_QP), .x = qp, .z = 1},
	    {CMD(HW_CMD_CREATE_QP), .z = 2},
	    {CMD(HW_CMD_CREATE_QP), .x = qp, .z = EVIL_Z_TAGGED},
	    {CMD(HW_CMD_GOAL_OPEN), .x = EVIL_RUNS},
	    {CMD(HW_CMD_GOAL_COMM_CREATE), .x = e},
	    {CMD(HW_CMD_GOAL_POOL), .x = 2},
	    {CMD(HW_CMD_GOAL_LOAD), .x = 1},
	    {CMD(HW_CMD_GOAL_LOAD), .x = 7},
	};
	uint32_t i;

	memset(&evil[e], 0, sizeof(evil[e]));
	proc_attach(proc(e), e);
	for (i = 0; i < sizeof(make) / sizeof(make[0]); i++)
		must(e, &make[i]);
	evil_tag_begin(e);
}

/* The other process's QP of the same index; for XRC the other end. */
static uint32_t other_end(uint32_t e, uint32_t i)
{
	uint8_t type = evil[e].obj[EVIL_QP][i].qp.type;

	return type == HW_QPT_XRC_SEND ? i + 1 : type == HW_QPT_XRC_RECV ? i - 1 : i;
}

void evil_connect(void)
{
	uint32_t e, i;

	for (e = 0; e < 2; e++)
		for (i = 0; i < evil[e].num[EVIL_QP]; i++)
			W_CHECK(!proc_rts(proc(e), &evil[e].obj[EVIL_QP][i].qp, EVIL_QKEY,
					  &evil[!e].obj[EVIL_QP][other_end(e, i)].qp),
				"evil: no RTS");
	for (e = 0; e < 2; e++)
		W_CHECK(!proc_rts(proc(e), &evil[e].obj[EVIL_TAG][0].qp, EVIL_QKEY, NULL),
			"evil: no tagged RTS");
}
