/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Send requests: from the host's ring to a context, and back to a completion.
 *
 * Each slot is copied once; only the copy is checked and used. wqe_fetch() hands the request to its
 * transport (llp.h), or carries it out here when it is local. Gathering of payload is in
 * wqe_gather.c, completion in wqe_done.c. Legality of a request: IBA 10.8.2, 11.4.1; STag checks:
 * RFC 5040 7.2.
 */
#include "nic_fw/fw_nic.h"

/* True for opcodes that a QP type may send. */
static bool opcode_allowed(const struct fw_qp *qp, uint8_t opcode)
{
	switch ((enum hw_wqe_opcode)opcode) {
	case HW_WQE_SEND:
		return !(qp->flags & HW_QP_F_TAGGED);
	case HW_WQE_SEND_IMM:
		/* RFC 7306 has immediate data, but no Send with it. */
		return llp_of(qp)->send_imm && !(qp->flags & HW_QP_F_TAGGED);
	case HW_WQE_SEND_INV:
		return qp->type != HW_QPT_UD && !(qp->flags & HW_QP_F_TAGGED);
	case HW_WQE_WRITE:
	case HW_WQE_WRITE_IMM:
	case HW_WQE_LOCAL_INV:
	case HW_WQE_BIND_MW:
		return qp->type != HW_QPT_UD;
	case HW_WQE_READ:
	case HW_WQE_FETCH_ADD:
	case HW_WQE_CMP_SWAP:
		return qp_is_reliable(qp);
	case HW_WQE_ATOMIC:
		return qp->type == HW_QPT_RD;
	case HW_WQE_WRITE_RECORD:
		return qp->type == HW_QPT_UD;
	case HW_WQE_TSEND:
		return qp->tag != NULL;
	case HW_WQE_OPCODES:
		break;
	}
	return false;
}

static bool is_local(uint8_t opcode)
{
	return opcode == HW_WQE_LOCAL_INV || opcode == HW_WQE_BIND_MW;
}

/* Sends: the receiver chooses the place of their data. */
static bool is_untagged(uint8_t opcode)
{
	return opcode == HW_WQE_SEND || opcode == HW_WQE_SEND_IMM || opcode == HW_WQE_SEND_INV;
}

static uint8_t rdmap_opcode_of(uint8_t opcode, uint8_t flags)
{
	bool se = flags & HW_WQE_F_SOLICITED;

	switch ((enum hw_wqe_opcode)opcode) {
	case HW_WQE_SEND:
	case HW_WQE_SEND_IMM:
	case HW_WQE_TSEND:
		return se ? WIRE_RDMAP_SEND_SE : WIRE_RDMAP_SEND;
	case HW_WQE_SEND_INV:
		return se ? WIRE_RDMAP_SEND_SE_INVALIDATE : WIRE_RDMAP_SEND_INVALIDATE;
	case HW_WQE_READ:
		return WIRE_RDMAP_READ_REQUEST;
	case HW_WQE_FETCH_ADD:
	case HW_WQE_CMP_SWAP:
	case HW_WQE_ATOMIC:
		return WIRE_RDMAP_ATOMIC_REQUEST;
	case HW_WQE_WRITE:
	case HW_WQE_WRITE_IMM:
	case HW_WQE_WRITE_RECORD:
	case HW_WQE_LOCAL_INV:
	case HW_WQE_BIND_MW:
	case HW_WQE_OPCODES:
		break;
	}
	return WIRE_RDMAP_WRITE;
}

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
static enum hw_vendor_err check_data(struct fw_nic *nic, const struct fw_qp *qp,
				     const struct hw_sq_wqe *w, const struct fw_wqe *wqe,
				     uint64_t *total)
{
	uint32_t need = wqe_is_read_or_atomic(w->opcode) ? HW_ACCESS_LOCAL_WRITE : 0;
	uint64_t sum = 0;
	uint32_t i;

	if (w->flags & HW_WQE_F_INLINE) {
		if (w->num_sge || wqe_is_read_or_atomic(w->opcode) || w->opcode == HW_WQE_BIND_MW)
			return HW_VENDOR_ERR_FLAGS;
		if (w->inline_bytes > qp->max_inline_bytes)
			return HW_VENDOR_ERR_TOO_LONG;
		if (hw_sq_slots(w->inline_bytes) != w->slots)
			return HW_VENDOR_ERR_SLOTS;
		*total = w->inline_bytes;
		return HW_VENDOR_ERR_NONE;
	}
	if (hw_sq_slots(w->num_sge * (uint32_t)sizeof(struct hw_sge)) != w->slots)
		return HW_VENDOR_ERR_SLOTS;
	for (i = 0; i < w->num_sge; i++) {
		const struct hw_sge *sge = wqe_sge(nic, wqe, i);
		struct fw_mem mem;
		enum hw_vendor_err err;

		sum += sge->bytes;
		if (is_local(w->opcode))
			continue;
		err = mem_check(nic, qp->pd, 0, sge->lkey, sge->addr, sge->bytes, need, &mem);
		if (err != HW_VENDOR_ERR_NONE)
			return err;
	}
	*total = sum;
	return HW_VENDOR_ERR_NONE;
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

/* Checks a copied request except for its destination; the peer checks the remote address. */
static enum hw_vendor_err check_request(struct fw_nic *nic, const struct fw_qp *qp,
					const struct hw_sq_wqe *w, const struct fw_wqe *wqe,
					uint64_t *total)
{
	enum hw_vendor_err err;

	if (!opcode_allowed(qp, w->opcode))
		return HW_VENDOR_ERR_OPCODE;
	if (w->flags & ~HW_WQE_F_ALL)
		return HW_VENDOR_ERR_FLAGS;
	if (w->num_sge > qp->max_send_sge)
		return HW_VENDOR_ERR_NUM_SGE;
	err = check_data(nic, qp, w, wqe, total);
	if (err != HW_VENDOR_ERR_NONE)
		return err;
	if (*total > max_message_bytes(nic, qp, w->opcode))
		return HW_VENDOR_ERR_TOO_LONG;
	if (wqe_is_read_or_atomic(w->opcode) && !qp->attr.max_rd_atomic)
		return HW_VENDOR_ERR_RD_ATOMIC;
	if (wqe_is_atomic(w->opcode))
		return check_atomic(w, *total);
	if (w->opcode == HW_WQE_BIND_MW && w->num_sge != 1)
		return HW_VENDOR_ERR_NUM_SGE;
	if (w->opcode == HW_WQE_TSEND && w->mw_access & ~(uint32_t)HW_TSEND_F_ALL)
		return HW_VENDOR_ERR_FLAGS;
	return HW_VENDOR_ERR_NONE;
}

/* Sets the destination and the Q_Key (IBA 10.2.5: the high bit selects the QP's own). */
static enum hw_vendor_err set_destination(struct fw_nic *nic, const struct fw_qp *qp,
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
	if (wire_is_group(wqe->dst_ip)) {
		/* Only unreliable Sends to the group QPN (IBA 10.5.2.1, 11.4.1.1). */
		if (qp->type != HW_QPT_UD || w->opcode == HW_WQE_WRITE_RECORD ||
		    wqe->dst_qpn != WIRE_DGRAM_GROUP_QPN)
			return HW_VENDOR_ERR_AH;
		wqe->hop_limit = ah_hop_limit(nic, w->ah);
	}
	return wqe->dst_ip ? HW_VENDOR_ERR_NONE : HW_VENDOR_ERR_UNREACHABLE;
}

static void wqe_fill(struct fw_qp *qp, const struct hw_sq_wqe *w, struct fw_wqe *wqe,
		     uint64_t total)
{
	wqe->opcode = w->opcode;
	wqe->rdmap_opcode = rdmap_opcode_of(w->opcode, w->flags);
	wqe->flags = w->flags;
	wqe->wr_id = w->wr_id;
	wqe->imm_inv = w->imm_inv;
	wqe->bytes = (uint32_t)total;
	wqe->remote_addr = w->remote_addr;
	wqe->rkey = w->rkey;
	wqe->compare_add = w->compare_add;
	wqe->swap = w->swap;
	if (w->opcode == HW_WQE_BIND_MW)
		wqe->mw_access = w->mw_access;
	else if (w->opcode == HW_WQE_TSEND)
		wqe->tag_flags = (uint8_t)w->mw_access;
	else if (w->opcode == HW_WQE_ATOMIC)
		wqe->atomic = w->mw_access;
	if (!is_local(w->opcode)) {
		wqe->ssn = ++qp->ssn;
		wqe->msn = wqe->ssn;
		/*
		 * RC numbers the messages that take a receive, so that the peer can keep their
		 * order.
		 */
		if (qp->type == HW_QPT_RC &&
		    (is_untagged(w->opcode) || w->opcode == HW_WQE_WRITE_IMM))
			wqe->msn = ++qp->msn;
	}
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
	if (is_local(wqe->opcode)) {
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
	FETCH_LATER, /* blocked, or out of contexts */
};

static enum fetch_result fetch_one(struct fw_nic *nic, struct fw_qp *qp)
{
	struct hw_sq_wqe w;
	struct fw_wqe *wqe;
	uint64_t total = 0;
	enum hw_vendor_err err;
	uint32_t slot = qp->sq_next;
	uint32_t ssn = qp->ssn;
	uint32_t msn = qp->msn;
	bool sane;

	fw_copy_once(&w, sq_slot(qp, slot), sizeof(w));
	sane = w.slots >= 1 && w.slots <= HW_SQ_MAX_SLOTS && w.slots <= qp->sq_prod - slot &&
	       w.num_sge <= HW_MAX_SGE &&
	       1 + w.num_sge * sizeof(struct hw_sge) / HW_SQ_SLOT_BYTES <= w.slots;
	if (sane && !wqe_may_start(nic, qp, &w))
		return FETCH_LATER;
	wqe = wqe_alloc(nic, qp, FW_WQE_REQUEST);
	if (!wqe)
		return FETCH_LATER;
	if (sane) {
		if (!wqe_take_sges(nic, qp, slot, w.num_sge, wqe)) {
			wqe_free(nic, wqe);
			return FETCH_LATER;
		}
		err = check_request(nic, qp, &w, wqe, &total);
	} else {
		err = HW_VENDOR_ERR_SLOTS;
		w.slots = 1;
	}
	if (err == HW_VENDOR_ERR_NONE && !is_local(w.opcode))
		err = set_destination(nic, qp, &w, wqe);
	wqe->sq_slot = slot;
	wqe->sq_end = slot + w.slots;
	FW_COUNT(nic, wqes);
	fw_list_add_tail(&qp->wqes, &wqe->qp_node);
	qp->outstanding++;
	qp->sq_next = wqe->sq_end;
	if (err != HW_VENDOR_ERR_NONE) {
		FW_COUNT(nic, wqes_bad);
		wqe->opcode = w.opcode;
		wqe->wr_id = w.wr_id;
		wqe_complete_in_order(nic, wqe, wqe_status_of(err), err);
		return FETCHED;
	}
	wqe_fill(qp, &w, wqe, total);
	if (!wqe_dispatch(nic, qp, wqe)) {
		fw_list_del(&wqe->qp_node);
		qp->outstanding--;
		qp->sq_next = slot;
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

/* The queue is empty: its last request is a lone one if its sender seems to wait for it. */
static void note_lone(struct fw_nic *nic, const struct fw_qp *qp)
{
	const struct fw_wqe *last;

	if (qp->outstanding > FW_LONE_REQUESTS || fw_list_empty(&qp->wqes))
		return;
	last = FW_CONTAINER(qp->wqes.prev, struct fw_wqe, qp_node);
	if (last->bytes <= FW_LONE_BYTES && last->tag_bytes <= FW_LONE_BYTES)
		nic->turn_did |= FW_DID_LONE;
}

uint32_t wqe_fetch(struct fw_nic *nic, struct fw_qp *qp, uint32_t budget)
{
	uint32_t done = 0;

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
		if (qp->sq_next == qp->sq_prod) {
			/* Pair D2: entries written before this index are visible now. */
			qp->sq_prod = __atomic_load_n(&qp->record->sq_prod, __ATOMIC_ACQUIRE);
			if (qp->sq_next == qp->sq_prod) {
				if (done)
					note_lone(nic, qp);
				sched_qp_remove(nic, qp);
				break;
			}
			if (qp->sq_prod - qp->sq_next >
			    qp->sq_mask + 1 - (qp->sq_next - qp->sq_cons)) {
				/*
				 * Beyond the ring, or before the fetched entries: no entry is
				 * trusted.
				 */
				FW_COUNT(nic, wqes_bad);
				qp->sq_prod = qp->sq_next;
				qp_error(nic, qp, HW_EVENT_QP_FATAL);
				return done;
			}
		}
		if (fetch_one(nic, qp) == FETCH_LATER)
			return done;
		done += eth_tx_cost(nic);
	}
	return done;
}
