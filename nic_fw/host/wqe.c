/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send requests: from the host's ring to a context, and back to a completion.
 *
 * Each slot is copied once; only the copy is checked and used. wqe_fetch() hands the request to its
 * transport (llp.h), or carries it out here when it is local. A short request that its transport is
 * done with at once takes no context. Gathering of payload is in
 * wqe_gather.c, completion in wqe_done.c. Legality of a request: IBA 10.8.2, 11.4.1; STag checks:
 * RFC 5040 7.2.
 */
#include "nic_fw/fw_nic.h"

/* Kinds of requests, as bits. */
enum {
	RULE_SEND = 0x01,   /* the receiver chooses the place of its data */
	RULE_IMM = 0x02,    /* of those: with immediate data, which RFC 7306 has without a Send */
	RULE_LOCAL = 0x04,  /* carried out here */
	RULE_ANSWER = 0x08, /* wqe_is_read_or_atomic() */
	RULE_ATOMIC = 0x10, /* wqe_is_atomic() */
	RULE_BIND = 0x20,
	RULE_TAGGED = 0x40, /* of tagged endpoints */
};

#define TYPES_NOT_UD (QP_TYPES_RELIABLE | QP_TYPE(UC))
#define TYPES_ALL    (TYPES_NOT_UD | QP_TYPE(UD))

static const struct rule {
	uint32_t types;   /* of queue pairs that may send it */
	uint8_t kinds;    /* RULE_* */
	uint8_t rdmap[2]; /* wire_rdmap_opcode; of a solicited one */
} rules[HW_WQE_OPCODES] = {
    [HW_WQE_SEND] = {TYPES_ALL, RULE_SEND, {WIRE_RDMAP_SEND, WIRE_RDMAP_SEND_SE}},
    [HW_WQE_SEND_IMM] = {TYPES_ALL, RULE_SEND | RULE_IMM, {WIRE_RDMAP_SEND, WIRE_RDMAP_SEND_SE}},
    [HW_WQE_SEND_INV] = {TYPES_NOT_UD,
			 RULE_SEND,
			 {WIRE_RDMAP_SEND_INVALIDATE, WIRE_RDMAP_SEND_SE_INVALIDATE}},
    [HW_WQE_WRITE] = {TYPES_NOT_UD, 0, {WIRE_RDMAP_WRITE, WIRE_RDMAP_WRITE}},
    [HW_WQE_WRITE_IMM] = {TYPES_NOT_UD, 0, {WIRE_RDMAP_WRITE, WIRE_RDMAP_WRITE}},
    [HW_WQE_READ] = {QP_TYPES_RELIABLE,
		     RULE_ANSWER,
		     {WIRE_RDMAP_READ_REQUEST, WIRE_RDMAP_READ_REQUEST}},
    [HW_WQE_FETCH_ADD] = {QP_TYPES_RELIABLE,
			  RULE_ANSWER | RULE_ATOMIC,
			  {WIRE_RDMAP_ATOMIC_REQUEST, WIRE_RDMAP_ATOMIC_REQUEST}},
    [HW_WQE_CMP_SWAP] = {QP_TYPES_RELIABLE,
			 RULE_ANSWER | RULE_ATOMIC,
			 {WIRE_RDMAP_ATOMIC_REQUEST, WIRE_RDMAP_ATOMIC_REQUEST}},
    [HW_WQE_LOCAL_INV] = {TYPES_NOT_UD, RULE_LOCAL, {WIRE_RDMAP_WRITE, WIRE_RDMAP_WRITE}},
    [HW_WQE_BIND_MW] = {TYPES_NOT_UD, RULE_LOCAL | RULE_BIND, {WIRE_RDMAP_WRITE, WIRE_RDMAP_WRITE}},
    [HW_WQE_WRITE_RECORD] = {QP_TYPE(UD), 0, {WIRE_RDMAP_WRITE, WIRE_RDMAP_WRITE}},
    [HW_WQE_TSEND] = {TYPES_ALL, RULE_TAGGED, {WIRE_RDMAP_SEND, WIRE_RDMAP_SEND_SE}},
    [HW_WQE_ATOMIC] = {QP_TYPE(RD),
		       RULE_ANSWER | RULE_ATOMIC,
		       {WIRE_RDMAP_ATOMIC_REQUEST, WIRE_RDMAP_ATOMIC_REQUEST}},
};

/* Returns what a QP may send with this opcode, NULL: it may not. */
static inline const struct rule *rule_of(const struct fw_qp *qp, uint8_t opcode)
{
	const struct rule *rule;

	if (opcode >= HW_WQE_OPCODES)
		return NULL;
	rule = &rules[opcode];
	if (!(rule->types >> qp->type & 1))
		return NULL;
	if (rule->kinds & RULE_SEND && qp->flags & HW_QP_F_TAGGED)
		return NULL;
	if (rule->kinds & RULE_IMM && !llp_of(qp)->send_imm)
		return NULL;
	if (rule->kinds & RULE_TAGGED && !qp->tag)
		return NULL;
	return rule;
}

/* A request as it was copied, and what its checks have found out. */
struct fetched {
	struct hw_sq_wqe w;
	uint32_t slot;           /* its first one */
	const struct rule *rule; /* once checked */
	uint64_t bytes;          /* likewise, of its data */
	struct fw_mem mem;       /* likewise, of its last SGE */
};

static const void *sq_slot(const struct fw_qp *qp, uint32_t slot)
{
	return qp->sq_ring + (size_t)(slot & qp->sq_mask) * HW_SQ_SLOT_BYTES;
}

/* Copies SGEs [from, from + n) of the slots after the control slot; they may wrap. */
static inline void copy_sges(const struct fw_qp *qp, uint32_t slot, uint32_t from, uint32_t n,
			     struct hw_sge *sge)
{
	const uint32_t per_slot = HW_SQ_SLOT_BYTES / sizeof(struct hw_sge);
	uint32_t i;

	/* One by one: a copy of a fixed length needs no call. */
	for (i = from; i < from + n; i++) {
		const struct hw_sge *ring = sq_slot(qp, slot + 1 + i / per_slot);

		fw_copy_once(sge++, &ring[i % per_slot], sizeof(*sge));
	}
}

/*
 * Copies all SGEs into the context. False: it needs an extension, and none is left, which does not
 * happen while there are as many as contexts.
 */
static bool wqe_take_sges(struct fw_nic *nic, const struct fw_qp *qp, uint32_t slot,
			  uint32_t num_sge, struct fw_wqe *wqe)
{
	struct fw_wqe_ext *ext;

	wqe->num_sge = (uint8_t)num_sge;
	if (__builtin_expect(num_sge <= FW_WQE_SGES, 1)) {
		copy_sges(qp, slot, 0, num_sge, wqe->sge);
		return true;
	}
	if (!wqe_extend(nic, wqe, num_sge))
		return false;
	ext = fw_pool_at(&nic->host.wqe_exts, wqe->ext);
	copy_sges(qp, slot, 0, FW_WQE_SGES, wqe->sge);
	copy_sges(qp, slot, FW_WQE_SGES, num_sge - FW_WQE_SGES, ext->sge);
	return true;
}

/* Checks sums, limits and local keys of a request's data. */
static inline enum hw_vendor_err check_data(struct fw_nic *nic, const struct fw_qp *qp,
					    struct fetched *f, const struct fw_wqe *wqe)
{
	const struct hw_sq_wqe *w = &f->w;
	uint8_t kinds = f->rule->kinds;
	uint32_t need = kinds & RULE_ANSWER ? HW_ACCESS_LOCAL_WRITE : 0, i;
	enum hw_vendor_err err = HW_VENDOR_ERR_NONE;

	f->bytes = 0;
	if (w->flags & HW_WQE_F_INLINE) {
		if (w->num_sge || kinds & (RULE_ANSWER | RULE_BIND))
			return HW_VENDOR_ERR_FLAGS;
		if (w->inline_bytes > qp->max_inline_bytes)
			return HW_VENDOR_ERR_TOO_LONG;
		if (hw_sq_slots(w->inline_bytes) != w->slots)
			return HW_VENDOR_ERR_SLOTS;
		f->bytes = w->inline_bytes;
		return HW_VENDOR_ERR_NONE;
	}
	if (hw_sq_slots(w->num_sge * (uint32_t)sizeof(struct hw_sge)) != w->slots)
		return HW_VENDOR_ERR_SLOTS;
	for (i = 0; i < w->num_sge && err == HW_VENDOR_ERR_NONE; i++) {
		const struct hw_sge *sge = wqe_sge(nic, wqe, i);

		f->bytes += sge->bytes;
		if (!(kinds & RULE_LOCAL))
			err = mem_check(nic, qp->pd, 0, sge->lkey, sge->addr, sge->bytes, need,
					&f->mem);
	}
	return err;
}

static uint64_t max_message_bytes(const struct fw_nic *nic, const struct fw_qp *qp, uint8_t opcode)
{
	if (qp->type != HW_QPT_UD)
		return HW_MAX_MSG_BYTES;
	if (opcode == HW_WQE_WRITE_RECORD || qp->flags & HW_QP_F_UD_LONG)
		return HW_MAX_UD_MSG_BYTES;
	return nic->config.mtu - DGRAM_UD_OVERHEAD - sizeof(struct wire_ddp_untagged);
}

static enum hw_vendor_err check_atomic(const struct hw_sq_wqe *w, uint64_t total)
{
	uint32_t bytes = sizeof(uint64_t);

	if (w->opcode == HW_WQE_ATOMIC) {
		if (!hw_atomic_is_valid(w->mw_access))
			return HW_VENDOR_ERR_OPCODE;
		bytes = hw_atomic_bytes(HW_ATOMIC_TYPE_OF(w->mw_access));
	}
	if (total != bytes)
		return HW_VENDOR_ERR_BOUNDS;
	return w->remote_addr % bytes ? HW_VENDOR_ERR_ALIGN : HW_VENDOR_ERR_NONE;
}

/* Checks for requests of some kinds. */
static enum hw_vendor_err check_kind(const struct fw_qp *qp, const struct fetched *f)
{
	if (f->rule->kinds & RULE_ANSWER && !qp->attr.max_rd_atomic)
		return HW_VENDOR_ERR_RD_ATOMIC;
	if (f->rule->kinds & RULE_ATOMIC)
		return check_atomic(&f->w, f->bytes);
	if (f->rule->kinds & RULE_BIND && f->w.num_sge != 1)
		return HW_VENDOR_ERR_NUM_SGE;
	if (f->rule->kinds & RULE_TAGGED && f->w.mw_access & ~(uint32_t)HW_TSEND_F_ALL)
		return HW_VENDOR_ERR_FLAGS;
	return HW_VENDOR_ERR_NONE;
}

/* Checks a copied request except for its destination; the peer checks the remote address. */
FW_INLINE enum hw_vendor_err check_request(struct fw_nic *nic, const struct fw_qp *qp,
					   struct fetched *f, const struct fw_wqe *wqe)
{
	enum hw_vendor_err err;

	f->rule = rule_of(qp, f->w.opcode);
	if (!f->rule)
		return HW_VENDOR_ERR_OPCODE;
	if (f->w.flags & ~HW_WQE_F_ALL)
		return HW_VENDOR_ERR_FLAGS;
	if (f->w.num_sge > qp->max_send_sge)
		return HW_VENDOR_ERR_NUM_SGE;
	err = check_data(nic, qp, f, wqe);
	if (err != HW_VENDOR_ERR_NONE)
		return err;
	if (f->bytes > max_message_bytes(nic, qp, f->w.opcode))
		return HW_VENDOR_ERR_TOO_LONG;
	if (__builtin_expect(f->rule->kinds & ~(RULE_SEND | RULE_IMM), 0))
		return check_kind(qp, f);
	return HW_VENDOR_ERR_NONE;
}

/* Sets the destination and the Q_Key (IBA 10.2.5: the high bit selects the QP's own). */
static inline enum hw_vendor_err set_destination(struct fw_nic *nic, const struct fw_qp *qp,
						 const struct hw_sq_wqe *w, struct fw_wqe *wqe)
{
	bool found;

	if (qp_is_connected(qp)) {
		wqe->dst_ip = qp->dst_ip;
		wqe->dst_qpn = qp->dst_qpn;
		wqe->qkey = qp->type == HW_QPT_XRC_SEND ? w->qkey : 0;
		return HW_VENDOR_ERR_NONE;
	}
	wqe->dst_ip = ah_dst_ip(nic, qp->client, qp->pd, w->ah, w->dst_qpn, &found);
	if (!found)
		return HW_VENDOR_ERR_AH;
	wqe->dst_qpn = w->dst_qpn & 0xffffff;
	/* QPN 0 is reserved, and marks void packets of RD. */
	if (qp->type == HW_QPT_RD && !wqe->dst_qpn)
		return HW_VENDOR_ERR_AH;
	wqe->qkey = w->qkey & 0x80000000u ? qp->qkey : w->qkey;
	if (__builtin_expect(wire_is_group(wqe->dst_ip), 0)) {
		/* Only unreliable Sends to the group QPN (IBA 10.5.2.1, 11.4.1.1). */
		if (qp->type != HW_QPT_UD || w->opcode == HW_WQE_WRITE_RECORD ||
		    wqe->dst_qpn != WIRE_DGRAM_GROUP_QPN)
			return HW_VENDOR_ERR_AH;
		wqe->hop_limit = ah_hop_limit(nic, w->ah);
	}
	return wqe->dst_ip ? HW_VENDOR_ERR_NONE : HW_VENDOR_ERR_UNREACHABLE;
}

/* Gives a request its number. */
static inline void wqe_number(struct fw_qp *qp, uint8_t kinds, struct fw_wqe *wqe)
{
	wqe->ssn = ++qp->ssn;
	wqe->msn = wqe->ssn;
	/* RC numbers the messages that take a receive, so that the peer can keep their order. */
	if (qp->type == HW_QPT_RC && (kinds & RULE_SEND || wqe->opcode == HW_WQE_WRITE_IMM))
		wqe->msn = ++qp->msn;
}

static inline void wqe_fill(struct fw_qp *qp, const struct fetched *f, struct fw_wqe *wqe)
{
	const struct hw_sq_wqe *w = &f->w;

	wqe->opcode = w->opcode;
	wqe->rdmap_opcode = f->rule->rdmap[w->flags & HW_WQE_F_SOLICITED ? 1 : 0];
	wqe->flags = w->flags;
	wqe->wr_id = w->wr_id;
	wqe->imm_inv = w->imm_inv;
	wqe->bytes = (uint32_t)f->bytes;
	wqe->sq_slot = f->slot;
	wqe->sq_end = f->slot + w->slots;
	if (f->rule->kinds & RULE_SEND) {
		wqe_number(qp, f->rule->kinds, wqe);
		return;
	}
	wqe->remote_addr = w->remote_addr;
	wqe->rkey = w->rkey;
	wqe->compare_add = w->compare_add;
	wqe->swap = w->swap;
	if (f->rule->kinds & RULE_BIND)
		wqe->mw_access = w->mw_access;
	else if (f->rule->kinds & RULE_TAGGED)
		wqe->tag_flags = (uint8_t)w->mw_access;
	else if (w->opcode == HW_WQE_ATOMIC)
		wqe->atomic = w->mw_access;
	if (!(f->rule->kinds & RULE_LOCAL))
		wqe_number(qp, f->rule->kinds, wqe);
}

/*
 * Checks a copied request, and makes a message of it: the queue has sent one more. Otherwise only
 * fields of the message may have changed.
 */
FW_INLINE enum hw_vendor_err wqe_prepare(struct fw_nic *nic, struct fw_qp *qp, struct fetched *f,
					 struct fw_wqe *wqe)
{
	enum hw_vendor_err err = check_request(nic, qp, f, wqe);

	if (err == HW_VENDOR_ERR_NONE && !(f->rule->kinds & RULE_LOCAL))
		err = set_destination(nic, qp, &f->w, wqe);
	if (err == HW_VENDOR_ERR_NONE)
		wqe_fill(qp, f, wqe);
	return err;
}

static void run_local(struct fw_nic *nic, struct fw_qp *qp, struct fw_wqe *wqe)
{
	enum hw_vendor_err err;

	if (wqe->opcode == HW_WQE_LOCAL_INV) {
		bool ok = mem_invalidate(nic, qp->pd, qp->qpn, wqe->imm_inv);

		wqe_complete_in_order(nic, wqe, ok ? HW_STATUS_SUCCESS : HW_STATUS_MW_BIND_ERR,
				      ok ? HW_VENDOR_ERR_NONE : HW_VENDOR_ERR_LKEY);
		return;
	}
	/* A type 1 window gets its next key from mem_bind(); the host computed the same one. */
	err = mem_bind(nic, qp->pd, qp->qpn, wqe->rkey, wqe->sge[0].lkey, wqe->sge[0].addr,
		       wqe->bytes, wqe->mw_access);
	wqe_complete_in_order(
	    nic, wqe, err == HW_VENDOR_ERR_NONE ? HW_STATUS_SUCCESS : HW_STATUS_MW_BIND_ERR, err);
}

/* True when the request may start now; else the QP is blocked and retries it later. */
static bool wqe_may_start(struct fw_nic *nic, struct fw_qp *qp, const struct hw_sq_wqe *w)
{
	if (w->flags & HW_WQE_F_FENCE && qp->rd_atomics)
		qp->sq_blocked = true;
	/* A transport that is not ready unblocks the QP when it is. */
	if (!llp_is_ready(qp))
		qp->sq_blocked = true;
	if (wqe_is_read_or_atomic(w->opcode) && qp->attr.max_rd_atomic &&
	    qp->rd_atomics >= qp->attr.max_rd_atomic)
		qp->sq_blocked = true;
	if (qp->sq_blocked)
		sched_qp_remove(nic, qp);
	return !qp->sq_blocked;
}

/* Hands a checked request to its transport. False: no memory now, and no state was changed. */
static bool wqe_dispatch(struct fw_nic *nic, struct fw_qp *qp, struct fw_wqe *wqe)
{
	fw_trace(nic, TRACE_WQE, qp->qpn, wqe->wr_id, wqe->opcode);
	if (rules[wqe->opcode].kinds & RULE_LOCAL) {
		run_local(nic, qp, wqe);
		return true;
	}
	qp->tx_msgs++;
	qp->tx_bytes += wqe->bytes;
	if (wqe->opcode == HW_WQE_TSEND && !host_up.tag_send(nic, wqe))
		return false;
	/* Counted first: sending may fail the request at once, which decrements the count. */
	if (wqe_is_read_or_atomic(wqe->opcode)) {
		wqe_sink_draw(nic, wqe);
		qp->rd_atomics++;
		fw_list_add_tail(&qp->reads, &wqe->read_node);
	}
	if (llp_send(nic, wqe))
		return true;
	if (wqe_is_read_or_atomic(wqe->opcode)) {
		qp->rd_atomics--;
		fw_list_del(&wqe->read_node);
	}
	if (wqe->opcode == HW_WQE_TSEND)
		host_up.tag_unsend(nic, wqe);
	return false;
}

enum fetch_result {
	FETCHED,
	FETCHED_NOW, /* and complete */
	FETCH_LATER, /* blocked, or out of contexts */
};

/* True for a request that its transport may be done with at once, all before it being complete. */
static inline bool may_send_now(const struct fw_qp *qp, const struct hw_sq_wqe *w)
{
	return llp_of(qp)->send_now && fw_list_empty(&qp->wqes) && w->num_sge <= 1 &&
	       w->inline_bytes <= LLP_NOW_BYTES;
}

/*
 * Returns the data of a checked request, as far as they can be copied from one piece of memory;
 * NULL: they cannot.
 */
static const uint8_t *data_now(const struct fw_qp *qp, const struct fetched *f)
{
	if (!(f->w.flags & HW_WQE_F_INLINE))
		return f->mem.ptr;
	/* If they wrap, they lie at both ends of the ring. */
	return ((f->slot + 1) & qp->sq_mask) + f->w.slots - 1u <= qp->sq_mask + 1
		   ? sq_slot(qp, f->slot + 1)
		   : NULL;
}

/*
 * Carries a short request out without a context of its own. False: nothing was done, and
 * fetch_one() does it, or finds its fault.
 */
static bool fetch_now(struct fw_nic *nic, struct fw_qp *qp, struct fetched *f)
{
	struct fw_wqe *wqe = nic->host.wqe_now;
	const uint8_t *data;

	copy_sges(qp, f->slot, 0, f->w.num_sge, wqe->sge);
	if (f->w.num_sge && wqe->sge[0].bytes > LLP_NOW_BYTES)
		return false;
	wqe->qp = qp;
	wqe->src_qpn = qp->qpn;
	wqe->incarnation = qp_is_connected(qp) ? qp->incarnation_tx : 0;
	wqe->hop_limit = 0;
	if (wqe_prepare(nic, qp, f, wqe) != HW_VENDOR_ERR_NONE)
		return false;
	data = data_now(qp, f);
	if (f->rule->kinds & (RULE_LOCAL | RULE_TAGGED) || (f->bytes && !data) ||
	    !llp_of(qp)->send_now(nic, wqe, data))
		return false;
	fw_trace(nic, TRACE_WQE, qp->qpn, wqe->wr_id, wqe->opcode);
	FW_COUNT(nic, wqes);
	qp->tx_msgs++;
	qp->tx_bytes += f->bytes;
	wqe_done_now(nic, wqe);
	return true;
}

static bool is_sane(const struct fw_qp *qp, const struct fetched *f)
{
	const struct hw_sq_wqe *w = &f->w;

	return w->slots >= 1 && w->slots <= HW_SQ_MAX_SLOTS && w->slots <= qp->sq_prod - f->slot &&
	       w->num_sge <= HW_MAX_SGE &&
	       1 + w->num_sge * sizeof(struct hw_sge) / HW_SQ_SLOT_BYTES <= w->slots;
}

static enum fetch_result fetch_one(struct fw_nic *nic, struct fw_qp *qp)
{
	struct fetched f;
	struct fw_wqe *wqe;
	enum hw_vendor_err err = HW_VENDOR_ERR_SLOTS;
	uint32_t ssn = qp->ssn;
	uint32_t msn = qp->msn;
	bool sane;

	f.slot = qp->sq_next;
	fw_copy_once(&f.w, sq_slot(qp, f.slot), sizeof(f.w));
	sane = is_sane(qp, &f);
	if (sane && !wqe_may_start(nic, qp, &f.w))
		return FETCH_LATER;
	if (sane && may_send_now(qp, &f.w)) {
		if (fetch_now(nic, qp, &f))
			return FETCHED_NOW;
		/* Its SGE is copied again below, and that copy is checked. */
		qp->ssn = ssn;
	}
	wqe = wqe_alloc(nic, qp, FW_WQE_REQUEST);
	if (!wqe)
		return FETCH_LATER;
	if (!sane) {
		f.w.slots = 1;
	} else if (wqe_take_sges(nic, qp, f.slot, f.w.num_sge, wqe)) {
		err = wqe_prepare(nic, qp, &f, wqe);
	} else {
		wqe_free(nic, wqe);
		return FETCH_LATER;
	}
	wqe->sq_slot = f.slot;
	wqe->sq_end = f.slot + f.w.slots;
	FW_COUNT(nic, wqes);
	fw_list_add_tail(&qp->wqes, &wqe->qp_node);
	qp->outstanding++;
	qp->sq_next = wqe->sq_end;
	if (err != HW_VENDOR_ERR_NONE) {
		FW_COUNT(nic, wqes_bad);
		wqe->opcode = f.w.opcode;
		wqe->wr_id = f.w.wr_id;
		wqe_complete_in_order(nic, wqe, wqe_status_of(err), err);
		return FETCHED;
	}
	if (!wqe_dispatch(nic, qp, wqe)) {
		fw_list_del(&wqe->qp_node);
		qp->outstanding--;
		qp->sq_next = f.slot;
		qp->ssn = ssn;
		qp->msn = msn;
		wqe_free(nic, wqe);
		return FETCH_LATER;
	}
	return FETCHED;
}

/* A request that found no room, or whose next hop was not known, continues first. */
static bool resume(struct fw_nic *nic, struct fw_qp *qp)
{
	struct fw_wqe *wqe;

	if (!llp_of(qp)->resume || fw_list_empty(&qp->wqes))
		return true;
	wqe = FW_CONTAINER(qp->wqes.prev, struct fw_wqe, qp_node);
	/* A request that this end carried out, or refused, waits for those before it. */
	if (wqe->state != FW_WQE_QUEUED || wqe->answered)
		return true;
	return llp_of(qp)->resume(nic, wqe);
}

/*
 * The queue is empty: its last request is a lone one if its sender seems to wait for it. now: so
 * many were carried out at once.
 */
static_assert((int)LLP_NOW_BYTES <= (int)FW_LONE_BYTES, "such a request may be a lone one");
static void note_lone(struct fw_nic *nic, const struct fw_qp *qp, uint32_t now)
{
	const struct fw_wqe *last;

	if (qp->outstanding + now > FW_LONE_REQUESTS)
		return;
	if (fw_list_empty(&qp->wqes)) {
		nic->turn_did |= now ? FW_DID_LONE : 0;
		return;
	}
	last = FW_CONTAINER(qp->wqes.prev, struct fw_wqe, qp_node);
	if (last->bytes <= FW_LONE_BYTES && last->tag_bytes <= FW_LONE_BYTES)
		nic->turn_did |= FW_DID_LONE;
}

uint32_t wqe_fetch(struct fw_nic *nic, struct fw_qp *qp, uint32_t budget)
{
	uint32_t done = 0, now = 0;
	enum fetch_result result;

	if (nic->host.clients[qp->client].closing) {
		sched_qp_remove(nic, qp);
		return 0;
	}
	(void)eth_tx_cost(nic);
	while (done < budget && qp->state == HW_QPS_RTS && !qp->sq_blocked) {
		if (qp->sq_failing) {
			sched_qp_remove(nic, qp);
			break;
		}
		if (!resume(nic, qp))
			return done;
		/* It may have failed: those behind it are flushed. */
		if (qp->state != HW_QPS_RTS)
			return done + 1;
		if (qp->sq_next == qp->sq_prod) {
			/* Pair D2: entries written before this index are visible now. */
			qp->sq_prod = __atomic_load_n(&qp->record->sq_prod, __ATOMIC_ACQUIRE);
			if (qp->sq_next == qp->sq_prod) {
				if (done)
					note_lone(nic, qp, now);
				sched_qp_remove(nic, qp);
				break;
			}
			if (qp->sq_prod - qp->sq_next >
				qp->sq_mask + 1 - (qp->sq_next - qp->sq_cons) ||
			    !lent_sq(nic, qp)) {
				/*
				 * Beyond the ring, or before the fetched entries, or no ring: no
				 * entry is trusted.
				 */
				FW_COUNT(nic, wqes_bad);
				qp->sq_prod = qp->sq_next;
				qp_error(nic, qp, HW_EVENT_QP_FATAL);
				return done;
			}
		}
		result = fetch_one(nic, qp);
		if (result == FETCH_LATER)
			return done;
		now += result == FETCHED_NOW;
		done += eth_tx_cost(nic);
	}
	return done;
}
