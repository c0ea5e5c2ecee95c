/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged endpoints of the hostile process: opened, posted to and sent from with any content.
 *
 * Calls proc.c. docs/tagged.md.
 */
#include "tests/fuzz/evil.h"

static struct w_proc *proc(uint32_t e)
{
	return &w->proc[EVIL_PROC + e];
}

static uint32_t handle(uint32_t e, enum evil_kind kind, uint32_t i)
{
	return evil_pick(e, kind, i)->handle;
}

void evil_tag_sane_open(uint32_t e, struct hw_cmd_tag_open *open, const struct rec *r)
{
	*open = (struct hw_cmd_tag_open){
	    .qpn = handle(e, EVIL_TAG, r->b),
	    .pool_stag = handle(e, EVIL_MR, r->b >> 4),
	    .pool_addr = (uintptr_t)proc(e)->mem + (r->x & 0xff) * 512,
	    .pool_bytes = (r->x >> 8 & 0xff) * 512,
	    .pool_low_bytes = r->x >> 16 & 0xff,
	    .eager_bytes = 1u << (r->x >> 24 & 15),
	    .flags = r->x >> 28 & HW_TAG_OPEN_F_ALL,
	};
	if (open->flags & HW_TAG_OPEN_F_MEMBER)
		open->context_qpn = handle(e, EVIL_TAG, r->y);
}

void evil_tag_sane_qp(struct hw_cmd_create_qp *create)
{
	create->type = HW_QPT_RD;
	create->srq = HW_SRQ_NONE;
	create->flags |= HW_QP_F_TAGGED;
}

/*
 * r->b: the endpoint, from bit 4 on; r->c: HW_TSEND_F_*, bit 3 inline, bit 4 the process itself,
 * bit 5 to another kind of queue pair, bit 6 not published; x: bytes and place; y: a word to write
 * at the place z >> 24; z: tag.
 */
static void send(uint32_t e, const struct rec *r)
{
	static const uint8_t inl[256];
	const struct w_qp *qp = &evil_pick(e, EVIL_TAG, r->b >> 4)->qp;
	uint32_t peer = r->c & 0x10 ? e : !e, at = r->z >> 24, data_bytes;
	enum evil_kind to = r->c & 0x20 ? EVIL_QP : EVIL_TAG;
	struct hw_sge sge = {(uintptr_t)proc(e)->mem + (r->x >> 15), r->x & 0x7fff,
			     handle(e, EVIL_MR, r->z >> 6)};
	struct hw_sq_wqe wqe = {
	    .opcode = HW_WQE_TSEND,
	    .flags = (uint8_t)(HW_WQE_F_SIGNALED | (r->c & HW_WQE_F_INLINE)),
	    .mw_access = r->c & HW_TSEND_F_ALL,
	    .num_sge = !(r->c & HW_WQE_F_INLINE),
	    .wr_id = r->x,
	    .ah = handle(e, EVIL_AH, peer == e),
	    .dst_qpn = handle(peer, to, r->b >> 4),
	    .qkey = EVIL_QKEY,
	    .compare_add = r->z & 7,
	    .swap = r->z,
	};

	if (!qp->made.sq_slots)
		return;
	data_bytes = sizeof(sge);
	if (r->c & HW_WQE_F_INLINE)
		wqe.inline_bytes = data_bytes = r->x % sizeof(inl);
	wqe.slots = (uint8_t)hw_sq_slots(data_bytes);
	if (at && at <= sizeof(wqe) - sizeof(r->y))
		memcpy((uint8_t *)&wqe + at, &r->y, sizeof(r->y));
	proc_wqe(proc(e), qp, &wqe, r->c & HW_WQE_F_INLINE ? (const void *)inl : (const void *)&sge,
		 data_bytes, !(r->c & 0x40));
	proc_ring_sq(proc(e), qp);
}

/*
 * r->b: the endpoint, from bit 4 on; r->c: HW_TAG_F_*, bit 6 the process itself; x: bytes and
 * place; y: a word to write at the place z >> 24; z: tag, from bit 3 on the operation, from bit 8
 * on its number and the ignored bits.
 */
static void operate(uint32_t e, const struct rec *r)
{
	const struct w_qp *qp = &evil_pick(e, EVIL_TAG, r->b >> 4)->qp;
	uint32_t peer = r->c & 0x40 ? e : !e, at = r->z >> 24, n = r->z >> 8 & 0xffff, i;
	struct hw_sge sge[HW_MAX_SGE];
	struct hw_tag_rq_wqe wqe = {
	    .op = 1 + (r->z >> 3 & 3),
	    .flags = r->c & HW_TAG_F_ALL,
	    .num_sge = 1,
	    .src_ip = w->nic[peer].fw->config.ip,
	    .src_qpn = handle(peer, EVIL_TAG, r->b >> 4),
	    .wr_id = r->x,
	    .tag = r->z & 7,
	    .ignore = n,
	    .min_free_bytes = n,
	    .number = n,
	};

	if (!qp->made.rq_entries || qp->made.rq_stride_bytes < sizeof(wqe))
		return;
	for (i = 0; i < HW_MAX_SGE; i++)
		sge[i] = (struct hw_sge){(uintptr_t)proc(e)->mem + (r->x >> 15), r->x & 0x7fff,
					 handle(e, EVIL_MR, r->z >> 6)};
	if (wqe.op == HW_TAG_CANCEL)
		wqe.number = proc_record(proc(e), qp)->rq_prod - 1 - n % 8;
	if (at && at <= sizeof(wqe) - sizeof(r->y))
		memcpy((uint8_t *)&wqe + at, &r->y, sizeof(r->y));
	if (wqe.num_sge > HW_MAX_SGE)
		wqe.num_sge = HW_MAX_SGE;
	(void)proc_tag_op(proc(e), qp, &wqe, sge);
}

/* Any word of the endpoint's record or of its rings. */
static void poke(uint32_t e, const struct rec *r)
{
	const struct evil_obj *o = evil_pick(e, EVIL_TAG, r->b >> 4);
	const struct hw_resp_create_qp *made = &o->qp.made;
	uint64_t at = r->c % 3 == 0   ? made->record_offset + r->z % 32 * 4
		      : r->c % 3 == 1 ? made->rq_offset + r->z % 0x800 * 4
				      : made->sq_offset + r->z % 0x800 * 4;
	uint32_t *word = (uint32_t *)(void *)(proc(e)->bar + at);

	__atomic_store_n(word, r->c & 0x80 ? __atomic_load_n(word, __ATOMIC_RELAXED) + r->x : r->x,
			 __ATOMIC_RELAXED);
	if (r->c & 0x40)
		proc_ring(proc(e), HW_DB_RQ, o->handle, 0);
	else
		proc_ring_sq(proc(e), &o->qp);
}

/* To the state that r->c says; sets it up anew from RESET. */
static void change_state(uint32_t e, const struct rec *r)
{
	const struct w_qp *qp = &evil_pick(e, EVIL_TAG, r->b >> 4)->qp;
	static const uint8_t states[] = {HW_QPS_ERR, HW_QPS_SQD, HW_QPS_RESET, HW_QPS_RTS};

	if (r->c & 4)
		(void)proc_rts(proc(e), qp, EVIL_QKEY, NULL);
	else
		(void)proc_modify(proc(e), qp->made.qpn, (enum hw_qp_state)states[r->c & 3], 0,
				  NULL);
}

/* r->b & 7: the kind of step. */
void evil_tag(uint32_t e, const struct rec *r)
{
	switch (r->b & 7) {
	case 0:
	case 1:
		send(e, r);
		break;
	case 2:
	case 3:
	case 4:
		operate(e, r);
		break;
	case 5:
		poke(e, r);
		break;
	default:
		change_state(e, r);
		break;
	}
}

void evil_tag_cmd(uint32_t e, const struct rec *r)
{
	static const uint8_t ops[] = {HW_CMD_TAG_OPEN, HW_CMD_TAG_QUERY, HW_CMD_CREATE_QP,
				      HW_CMD_DESTROY_QP};
	struct rec cmd = *r;

	cmd.a = (uint8_t)(ops[(r->a >> 1) % 4] << 1);
	cmd.z = EVIL_Z_TAGGED;
	evil_cmd(e, &cmd, NULL);
}

void evil_tag_begin(uint32_t e)
{
	const struct w_qp *qp = &evil_pick(e, EVIL_TAG, 0)->qp;
	const struct hw_cmd_tag_open open = {
	    .pool_stag = handle(e, EVIL_MR, 0),
	    .pool_addr = (uintptr_t)proc(e)->mem + EVIL_TAG_POOL_AT,
	    .pool_bytes = EVIL_TAG_POOL_BYTES,
	    .pool_low_bytes = EVIL_TAG_POOL_BYTES / 4,
	    .eager_bytes = 2048,
	};

	W_CHECK(!proc_tag_open(proc(e), qp, EVIL_QKEY, &open), "evil: no tagged endpoint");
}
