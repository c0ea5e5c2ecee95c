/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tagged endpoints of ends.h: sends and operations of every kind, within the account.
 *
 * End 0 announces always, end 1 as usage says. Calls proc.c. docs/tagged.md.
 */
#include "tests/fuzz/ends.h"

enum {
	EAGER_BYTES = 2048, /* two packets */
};

void ends_tag_begin(uint32_t e)
{
	struct w_proc *p = &w->proc[e];
	const struct hw_cmd_tag_open open = {
	    .pool_stag = ends.end[e].all,
	    .pool_addr = (uintptr_t)p->mem + E_ALL_AT + E_POOL_AT,
	    .pool_bytes = E_POOL_BYTES,
	    .pool_low_bytes = E_POOL_BYTES / 4,
	    .eager_bytes = EAGER_BYTES,
	    .flags = e ? 0 : HW_TAG_OPEN_F_ANNOUNCE_ALWAYS,
	};

	int err = proc_tag_open(p, &ends.end[e].qp[E_TAG], E_QKEY, &open);

	W_CHECK(!err, "no tagged endpoint: errno %d", err);
}

/*
 * r->c bits 0-2: HW_TSEND_F_*, 3: inline, 4: solicited, 5: to this end itself, 6: to a plain queue
 * pair, 7: fence; x: ends_local_range(); y: data; z: tag (3 bits)
 */
static void send(uint32_t e, const struct rec *r)
{
	static const uint8_t inl[128];
	const struct end *end = &ends.end[e];
	const struct w_qp *qp = &end->qp[E_TAG];
	const struct hw_qp_record *record = proc_record(&w->proc[e], qp);
	uint32_t peer = r->c & 0x20 ? e : !e, data_bytes;
	uint8_t state = ends_fw_qp(e, E_TAG)->state;
	struct hw_sge sge;
	struct hw_sq_wqe wqe = {
	    .opcode = HW_WQE_TSEND,
	    .flags = (uint8_t)(HW_WQE_F_SIGNALED | (r->c & 8 ? HW_WQE_F_INLINE : 0) |
			       (r->c & 0x10 ? HW_WQE_F_SOLICITED : 0) |
			       (r->c & 0x80 ? HW_WQE_F_FENCE : 0)),
	    .mw_access = r->c & HW_TSEND_F_ALL,
	    .ah = end->ah[peer == e],
	    .dst_qpn = ends.end[peer].qp[r->c & 0x40 ? E_RD : E_TAG].made.qpn,
	    .qkey = E_QKEY,
	    .compare_add = r->z & 7,
	    .swap = r->y,
	};

	if (state == HW_QPS_RESET || state == HW_QPS_INIT || state == HW_QPS_RTR ||
	    record->sq_prod - record->sq_cons > 100)
		return;
	ends_local_range(e, r->x, &sge);
	if (wqe.flags & HW_WQE_F_INLINE) {
		wqe.inline_bytes = sge.bytes = r->x % sizeof(inl);
		data_bytes = wqe.inline_bytes;
	} else {
		wqe.num_sge = sge.bytes > 0;
		data_bytes = wqe.num_sge * (uint32_t)sizeof(sge);
	}
	wqe.slots = (uint8_t)hw_sq_slots(data_bytes);
	if (!ends_job(e, E_TAG, false, sge.bytes, &wqe.wr_id))
		return;
	proc_wqe(&w->proc[e], qp, &wqe,
		 wqe.flags & HW_WQE_F_INLINE ? (const void *)inl : (const void *)&sge, data_bytes,
		 true);
	proc_ring_sq(&w->proc[e], qp);
}

/*
 * r->c: HW_TAG_F_*, bit 6: from this end itself, bit 7: two SGEs; x: ends_local_range(); y: free
 * bytes of a MULTI receive (16 bits), or which receive to cancel; z: tag (3 bits), ignored bits of
 * it (from bit 8 on, all with bit 31).
 */
static void operate(uint32_t e, const struct rec *r, uint8_t op)
{
	struct w_proc *p = &w->proc[e];
	struct end *end = &ends.end[e];
	const struct w_qp *qp = &end->qp[E_TAG];
	const struct hw_qp_record *record = proc_record(p, qp);
	uint32_t peer = r->c & 0x40 ? e : !e, bytes;
	struct hw_sge sge[2];
	struct hw_tag_rq_wqe wqe = {
	    .op = op,
	    .flags = r->c & HW_TAG_F_ALL,
	    .num_sge = 1,
	    .src_ip = w->nic[peer].fw->config.ip,
	    .src_qpn = ends.end[peer].qp[E_TAG].made.qpn,
	    .number =
		op == HW_TAG_CANCEL ? record->rq_prod - 1 - r->y % 8 : end->claim + (r->y >> 28),
	    .tag = r->z & 7,
	    .ignore = r->z >> 31 ? UINT64_MAX : r->z >> 8,
	    .min_free_bytes = r->y & 0xffff,
	};
	struct job *job;

	if (ends_fw_qp(e, E_TAG)->state == HW_QPS_RESET ||
	    record->rq_prod - record->rq_cons >= qp->made.rq_entries)
		return;
	ends_local_range(e, r->x, &sge[0]);
	bytes = sge[0].bytes;
	if (r->c & 0x80 && bytes > 64) {
		sge[1] = sge[0];
		sge[0].bytes = 33;
		sge[1].addr += 33;
		sge[1].bytes -= 33;
		wqe.num_sge = 2;
	}
	/* A cancellation has no completion of its own. */
	if (op != HW_TAG_CANCEL) {
		job = ends_job(e, E_TAG, true, bytes, &wqe.wr_id);
		if (!job)
			return;
		job->multi = op == HW_TAG_RECV && wqe.flags & HW_TAG_F_MULTI;
		job->silent = !job->multi && wqe.flags & HW_TAG_F_UNSIGNALED;
	}
	(void)proc_tag_op(p, qp, &wqe, sge);
}

static void change_state(uint32_t e, const struct rec *r)
{
	const struct w_qp *qp = &ends.end[e].qp[E_TAG];
	struct hw_cmd query = {.op = HW_CMD_TAG_QUERY, .u.obj.handle = qp->made.qpn};
	struct hw_cmd_resp resp;

	switch (r->c % 8) {
	case 0:
		proc_modify(&w->proc[e], qp->made.qpn, HW_QPS_ERR, 0, NULL);
		break;
	case 1:
		proc_modify(&w->proc[e], qp->made.qpn, HW_QPS_SQD, 0, NULL);
		break;
	case 2:
		ends_forget(e, E_TAG);
		proc_modify(&w->proc[e], qp->made.qpn, HW_QPS_RESET, 0, NULL);
		break;
	case 3:
		W_CHECK(!proc_cmd(&w->proc[e], &query, &resp), "no query");
		W_CHECK(resp.u.tag_query.pool_used_bytes <= resp.u.tag_query.pool_bytes,
			"more of the pool is used than it has");
		break;
	default:
		ends_mend(e, E_TAG);
		break;
	}
}

/* r->b: the kind of step. */
void ends_tag(uint32_t e, const struct rec *r)
{
	static const uint8_t ops[] = {HW_TAG_PEEK, HW_TAG_CLAIMED, HW_TAG_CANCEL};

	switch (r->b & 7) {
	case 0:
	case 1:
	case 2:
		send(e, r);
		break;
	case 3:
	case 4:
		operate(e, r, HW_TAG_RECV);
		break;
	case 5:
	case 6:
		operate(e, r, ops[(r->b >> 3) % 3]);
		break;
	default:
		change_state(e, r);
		break;
	}
}

void ends_tag_stop(void)
{
	uint32_t e;

	for (e = 0; e < 2; e++)
		if (w->proc[e].attached && ends_fw_qp(e, E_TAG)->state != HW_QPS_RESET)
			W_CHECK(!proc_modify(&w->proc[e], ends.end[e].qp[E_TAG].made.qpn,
					     HW_QPS_ERR, 0, NULL),
				"no ERR");
	ends.tag_over = true;
}
