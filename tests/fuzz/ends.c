/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of ends.h: set-up, posting, the account of completions.
 *
 * Calls proc.c.
 */
#include "tests/fuzz/ends.h"

struct ends ends;

static const uint8_t types[E_ALL_QPS] = {
    [E_RD] = HW_QPT_RD,     [E_RD_SRQ] = HW_QPT_RD, [E_RC] = HW_QPT_RC,
    [E_RC_SRQ] = HW_QPT_RC, [E_UD] = HW_QPT_UD,     [E_UD_LONG] = HW_QPT_UD,
    [E_RC_ESP] = HW_QPT_RC, [E_RC_TCP] = HW_QPT_RC, [E_TAG] = HW_QPT_RD,
};

static uint8_t pattern[W_MEM_BYTES];

static void check(const uint8_t *mem, uint32_t from, uint32_t to)
{
	W_CHECK(!memcmp(mem + from, pattern + from, to - from),
		"memory was written between %u and %u, which nobody may write", from, to);
}

void ends_check_memory(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++) {
		world_open_memory(&w->proc[e]);
		check(w->proc[e].mem, E_ALL_AT + E_ALL_BYTES, E_LOCAL_AT);
		check(w->proc[e].mem, E_LOCAL_AT + E_LOCAL_BYTES, W_MEM_BYTES);
	}
}

/* ---- set-up ------------------------------------------------------------------------------ */

static void make_srq(struct w_proc *p, struct end *end)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_SRQ,
			     .u.srq = {.pd = end->pd, .max_wr = 64, .max_sge = 3}};
	struct hw_cmd_resp resp;

	W_CHECK(!proc_cmd(p, &cmd, &resp), "no SRQ");
	end->srq = resp.u.srq;
}

static void make_end(uint32_t e)
{
	struct w_proc *p = &w->proc[e];
	struct end *end = &ends.end[e];
	struct hw_cmd mw = {.op = HW_CMD_ALLOC_MW};
	struct hw_cmd_resp resp;
	uint32_t i;

	proc_attach(p, e);
	memcpy(p->mem, pattern, sizeof(pattern));
	end->pd = proc_pd(p);
	end->eq = proc_eq(p, NULL);
	proc_cq(p, end->eq, &end->scq);
	proc_cq(p, end->eq, &end->rcq);
	make_srq(p, end);
	end->all = proc_reg(p, end->pd, E_ALL_AT, E_ALL_BYTES, W_ALL_ACCESS, true);
	end->read = proc_reg(p, end->pd, E_READ_AT, E_READ_BYTES, HW_ACCESS_REMOTE_READ, true);
	end->local = proc_reg(p, end->pd, E_LOCAL_AT, E_LOCAL_BYTES, HW_ACCESS_LOCAL_WRITE, false);
	mw.u.alloc_mw.pd = end->pd;
	mw.u.alloc_mw.type = 2;
	W_CHECK(!proc_cmd(p, &mw, &resp), "no window");
	end->window = resp.u.handle;
	for (i = 0; i < E_ALL_QPS; i++) {
		struct hw_cmd_create_qp create = {
		    .pd = end->pd,
		    .type = types[i],
		    .send_cq = end->scq.cq,
		    .recv_cq = end->rcq.cq,
		    .srq = i == E_RD_SRQ || i == E_RC_SRQ ? end->srq.srq : HW_SRQ_NONE,
		    .flags = i == E_UD_LONG ? HW_QP_F_UD_LONG
			     : i == E_TAG   ? HW_QP_F_TAGGED
					    : 0,
		};

		proc_qp(p, &end->qp[i], &create);
		end->qp[i].transport = i == E_RC_ESP   ? HW_QP_TRANSPORT_ESP
				       : i == E_RC_TCP ? HW_QP_TRANSPORT_TCP
						       : HW_QP_TRANSPORT_RD;
	}
	ends_tag_begin(e);
}

static void link_end(uint32_t e)
{
	struct w_proc *p = &w->proc[e];
	struct end *end = &ends.end[e];
	uint32_t i;

	/* The connection manager connects the QP over TCP. */
	for (i = 0; i < E_RC_TCP; i++)
		W_CHECK(!proc_rts(p, &end->qp[i], E_QKEY, &ends.end[!e].qp[i]), "no QP in RTS");
	W_CHECK(!proc_rts(p, &end->qp[E_TAG], E_QKEY, NULL), "no tagged QP in RTS");
	end->ah[0] = proc_ah(p, end->pd, w->nic[!e].fw->config.ip);
	end->ah[1] = proc_ah(p, end->pd, w->nic[e].fw->config.ip);
	end->ah[2] = proc_ah(p, end->pd, 0);
}

static void join_end(uint32_t e)
{
	struct end *end = &ends.end[e];
	uint8_t *mem = w->proc[e].mem;

	ends.coll.key = UINT64_C(0x1122334455667788);
	ends.coll.end[e] = (struct coll_end){
	    .p = &w->proc[e],
	    .pd = end->pd,
	    .stag = {end->all, end->local},
	    .mem = mem + E_ALL_AT + E_COLL_AT,
	    .other = mem + E_LOCAL_AT + E_OTHER_AT,
	    .bytes = {E_COLL_BYTES - COLL_SLOT_AT, E_OTHER_BYTES},
	};
}

void ends_begin(void)
{
	/* An empty Write opens the session of either end. */
	static const struct rec hello = {.b = HW_WQE_WRITE};
	uint32_t e, i;

	for (i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + (i >> 8));
	for (e = 0; e < 2; e++)
		make_end(e);
	for (e = 0; e < 2; e++)
		link_end(e);
	for (e = 0; e < 2; e++)
		ends_post(e, &hello);
	world_run(100 * W_MS, NULL);
	ends_poll();
	for (e = 0; e < 2; e++)
		join_end(e);
	for (e = 0; e < 2; e++)
		cm_begin(&ends.end[e].cm, &w->proc[e]);
	cm_join(&ends.end[0].cm, &w->proc[0], &ends.end[0].qp[E_RC_TCP], &ends.end[1].cm,
		&w->proc[1], &ends.end[1].qp[E_RC_TCP]);
	coll_begin(&ends.coll);
	W_CHECK(ends_idle(), "no session");
	memset(ends.job, 0, sizeof(ends.job));
	ends.num_jobs = 0;
}

struct fw_qp *ends_fw_qp(uint32_t e, uint32_t qp)
{
	return qp_find(w->nic[e].fw, ends.end[e].qp[qp].made.qpn);
}

void ends_forget(uint32_t e, uint32_t qp)
{
	uint32_t i;

	for (i = 0; i < ends.num_jobs; i++)
		if (ends.job[i].end == e && ends.job[i].qp == qp)
			ends.job[i].forgotten = true;
}

void ends_mend(uint32_t e, uint32_t qp)
{
	const struct w_qp *q = &ends.end[e].qp[qp];
	uint8_t state = ends_fw_qp(e, qp)->state;

	if (state == HW_QPS_SQE || state == HW_QPS_SQD) {
		W_CHECK(!proc_modify(&w->proc[e], q->made.qpn, HW_QPS_RTS, 0, NULL), "no RTS");
		return;
	}
	if (state == HW_QPS_RTS)
		return;
	/* A reset connection is not set up again. */
	if (qp == E_RC_TCP)
		return;
	ends_forget(e, qp);
	W_CHECK(!proc_modify(&w->proc[e], q->made.qpn, HW_QPS_RESET, 0, NULL), "no RESET");
	W_CHECK(!proc_rts(&w->proc[e], q, E_QKEY, &ends.end[!e].qp[qp]), "no RTS");
}

/* ---- posting ----------------------------------------------------------------------------- */

struct job *ends_job(uint32_t e, uint32_t qp, bool recv, uint32_t bytes, uint64_t *wr_id)
{
	struct job *job;

	if (ends.num_jobs == E_JOBS)
		return NULL;
	*wr_id = ends.num_jobs;
	job = &ends.job[ends.num_jobs++];
	*job = (struct job){.recv = recv, .end = (uint8_t)e, .qp = (uint8_t)qp, .bytes = bytes};
	return job;
}

void ends_local_range(uint32_t e, uint32_t x, struct hw_sge *sge)
{
	bool local = x >> 31;
	uint32_t at = local ? E_LOCAL_AT : E_ALL_AT;
	uint32_t room = local ? E_LOCAL_BYTES : E_ALL_BYTES;
	uint32_t offset = (x >> 16 & 0xff) * 256 % room;

	sge->addr = (uintptr_t)w->proc[e].mem + at + offset;
	sge->bytes = x & 0xffff;
	if (!(x >> 30 & 1) && sge->bytes > room - offset)
		sge->bytes = room - offset;
	sge->lkey = local ? ends.end[e].local : ends.end[e].all;
}

/*
 * r->a bits 1-3: QP; r->b: opcode; r->c bits 0-3: flags, 4-6: QP to send to, as far from ours, 7:
 * AH this NIC; x: ends_local_range(); y: place at the peer (16 bits of 8 bytes), z: key, immediate,
 * operand
 */
void ends_post(uint32_t e, const struct rec *r)
{
	static uint8_t inl[256];
	struct end *end = &ends.end[e];
	uint32_t i = (r->a >> 1 & 7) % E_QPS, dst = (i + (r->c >> 4 & 7)) % E_QPS;
	uint32_t peer = r->c & 0x80 ? e : !e;
	const struct w_qp *qp = &end->qp[i];
	struct hw_qp_record *record = proc_record(&w->proc[e], qp);
	uint8_t state = ends_fw_qp(e, i)->state;
	const uint32_t rkeys[4] = {ends.end[peer].all, ends.end[peer].read, r->z,
				   ends.end[peer].window};
	struct hw_sge sge[2];
	struct hw_sq_wqe wqe = {
	    .opcode = r->b % HW_WQE_OPCODES,
	    .flags = HW_WQE_F_SIGNALED | (r->c & HW_WQE_F_ALL),
	    .imm_inv = r->z & 0x100 ? ends.end[peer].window : r->z,
	    .ah = end->ah[r->c & 0x80      ? 1
			  : r->y >> 16 & 1 ? 2
					   : 0],
	    .dst_qpn = ends.end[peer].qp[dst].made.qpn,
	    .qkey = E_QKEY ^ (r->y >> 20 == 0xfff),
	    .rkey = rkeys[r->z & 3],
	    .compare_add = r->z,
	    .swap = r->y,
	};
	uint32_t data_bytes = 0;
	struct job *job;

	if (state == HW_QPS_RESET || state == HW_QPS_INIT || state == HW_QPS_RTR ||
	    record->sq_prod - record->sq_cons > 100)
		return;
	ends_local_range(e, r->x, &sge[0]);
	wqe.remote_addr = (uintptr_t)w->proc[peer].mem + (r->y & 0x3fff) * 8;
	if (wqe.flags & HW_WQE_F_INLINE) {
		wqe.inline_bytes = data_bytes = r->x % 160;
	} else if (sge[0].bytes) {
		wqe.num_sge = 1;
		if (sge[0].bytes > 64 && r->x >> 29 & 1) {
			sge[1] = sge[0];
			sge[0].bytes = 33;
			sge[1].addr += 33;
			sge[1].bytes -= 33;
			wqe.num_sge = 2;
		}
		data_bytes = wqe.num_sge * (uint32_t)sizeof(sge[0]);
	}
	if (wqe.opcode == HW_WQE_FETCH_ADD || wqe.opcode == HW_WQE_CMP_SWAP)
		sge[0].bytes = 8;
	if (wqe.opcode == HW_WQE_ATOMIC) {
		/* One in eight has any code and the length drawn. */
		wqe.mw_access = HW_ATOMIC_CODE((r->z >> 8 & 0xff) % HW_ATOMIC_OPS,
					       (r->z >> 16 & 0xff) % HW_ATOMIC_TYPES);
		if (r->z >> 29)
			sge[0].bytes = hw_atomic_bytes(HW_ATOMIC_TYPE_OF(wqe.mw_access));
		else
			wqe.mw_access = r->z;
	}
	if (wqe.opcode == HW_WQE_BIND_MW) {
		wqe.rkey = end->window + (r->z & 1);
		wqe.mw_access = W_ALL_ACCESS & ~HW_ACCESS_MW_BIND & ~HW_ACCESS_LOCAL_WRITE;
	}
	if (wqe.opcode == HW_WQE_LOCAL_INV)
		wqe.imm_inv = end->window;
	wqe.slots = (uint8_t)hw_sq_slots(data_bytes);
	job = ends_job(e, i, false, sge[0].bytes, &wqe.wr_id);
	if (!job)
		return;
	job->responded = (wqe.opcode >= HW_WQE_READ && wqe.opcode <= HW_WQE_CMP_SWAP) ||
			 wqe.opcode == HW_WQE_ATOMIC;
	proc_wqe(&w->proc[e], qp, &wqe, wqe.flags & HW_WQE_F_INLINE ? (const void *)inl : sge,
		 data_bytes, true);
	proc_ring_sq(&w->proc[e], qp);
}

void ends_recv(uint32_t e, const struct rec *r)
{
	struct w_proc *p = &w->proc[e];
	struct end *end = &ends.end[e];
	uint32_t i = (r->a >> 1 & 7) % E_QPS, n;
	const struct w_qp *qp = &end->qp[i];
	struct hw_qp_record *record = proc_record(p, qp);
	const struct hw_srq_record *srq = (const void *)(p->bar + end->srq.record_offset);
	struct hw_rq_wqe wqe = {.num_sge = 1 + r->c % 3};
	struct hw_sge sge[3];
	uint32_t bytes = 0, k;

	if (ends_fw_qp(e, i)->state == HW_QPS_RESET)
		return;
	for (k = 0; k < wqe.num_sge; k++) {
		ends_local_range(e, r->x + k * (r->y & 0xff00ff), &sge[k]);
		bytes += sge[k].bytes;
	}
	for (n = 1 + r->b % 4; n; n--) {
		uint32_t posted =
		    qp->srq ? srq->prod - srq->cons : record->rq_prod - record->rq_cons;

		if (posted >= 64 || !ends_job(e, i, true, bytes, &wqe.wr_id))
			return;
		if (qp->srq)
			proc_recv(p, end->srq.record_offset, end->srq.ring_offset, end->srq.entries,
				  end->srq.stride_bytes, &wqe, sge);
		else
			proc_recv(p,
				  qp->made.record_offset + offsetof(struct hw_qp_record, rq_prod),
				  qp->made.rq_offset, qp->made.rq_entries, qp->made.rq_stride_bytes,
				  &wqe, sge);
	}
	/* A doorbell makes the NIC flush receives of a QP in error. */
	if (!qp->srq)
		proc_ring_sq(p, qp);
}

/* ---- completions ------------------------------------------------------------------------- */

static void check_cqe(uint32_t e, const struct hw_cqe *cqe, bool recv)
{
	const struct end *end = &ends.end[e];
	struct job *job;

	if (cqe->opcode == HW_CQE_RECV_WRITE_RECORD)
		return;
	W_CHECK(cqe->wr_id < ends.num_jobs, "a completion of nothing, wr_id %llu",
		(unsigned long long)cqe->wr_id);
	job = &ends.job[cqe->wr_id];
	W_CHECK(!job->done, "a second completion of wr_id %llu", (unsigned long long)cqe->wr_id);
	W_CHECK(job->end == e && job->recv == recv, "a completion in another queue");
	job->done = !job->multi || cqe->flags & HW_CQE_F_RELEASED;
	if (cqe->opcode == HW_CQE_TPEEK && !cqe->status && cqe->sq_index)
		ends.end[e].claim = cqe->sq_index;
	if (job->multi)
		W_CHECK(cqe->bytes <= job->bytes &&
			    (!cqe->bytes || cqe->sq_index <= job->bytes - cqe->bytes),
			"a message beyond the buffer of many");
	if (!recv || !end->qp[job->qp].srq)
		W_CHECK(cqe->qpn == end->qp[job->qp].made.qpn, "a completion of another QP");
	/* With an immediate, the bytes counted are at the Write's destination. */
	W_CHECK(cqe->status != HW_STATUS_SUCCESS ||
		    (cqe->opcode != HW_CQE_RECV && cqe->opcode != HW_CQE_TRECV) ||
		    cqe->bytes <= job->bytes,
		"%u bytes were received where there is room for %u", cqe->bytes, job->bytes);
}

void ends_poll(void)
{
	struct hw_cqe cqe;
	uint32_t e;

	for (e = 0; e < 2; e++) {
		struct end *end = &ends.end[e];

		if (!w->proc[e].attached)
			continue;
		while (proc_cqe(&w->proc[e], &end->scq, &end->scq_cons, &cqe))
			check_cqe(e, &cqe, false);
		while (proc_cqe(&w->proc[e], &end->rcq, &end->rcq_cons, &cqe))
			check_cqe(e, &cqe, true);
	}
}

/*
 * On a stream a forger may acknowledge a read in the name of a peer that never received it. The
 * read waits for its response while the peer lives, and so do all requests behind it.
 */
bool ends_idle(void)
{
	bool awaits[2][E_ALL_QPS] = {0};
	uint32_t i;

	ends_poll();
	for (i = 0; i < ends.num_jobs; i++) {
		const struct job *job = &ends.job[i];

		if (job->qp == E_TAG ? !ends.tag_over || job->silent : job->recv)
			continue;
		if (job->done || job->forgotten || !w->proc[job->end].attached)
			continue;
		if (ends.lied && job->responded && (job->qp == E_RC_ESP || job->qp == E_RC_TCP))
			awaits[job->end][job->qp] = true;
		if (!awaits[job->end][job->qp])
			return false;
	}
	return coll_idle(&ends.coll);
}

/* ---- collectives ------------------------------------------------------------------------- */

/* A run ends by its own time-out: the other rank may never start, or forged frames may abort it. */
void ends_run(uint32_t e, const struct rec *r)
{
	(void)coll_start(&ends.coll, e, r->b % COLL_SCHEDULES,
			 1 + (uint64_t)(r->x & 0xffff) * (r->c & 1 ? 100 : 20000));
}

void ends_goal(uint32_t e, const struct rec *r)
{
	switch (r->b % 3) {
	case 0:
		(void)coll_load(&ends.coll, e, r->c % COLL_SCHEDULES, r->x % 65536);
		break;
	case 1:
		(void)coll_cancel(&ends.coll, e, r->c % COLL_RECORDS);
		break;
	default:
		/* Maps it again at the same place, whether it is the same memory or not. */
		(void)coll_load(&ends.coll, 0, r->c % COLL_SCHEDULES, r->x % 65536);
		(void)coll_load(&ends.coll, 1, r->c % COLL_SCHEDULES, r->x % 65536);
		break;
	}
}
