/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a request: its CQE, its slots, its context; and flushing.
 *
 * Transports complete requests in the order in which completions are due (RC, UD: of the send
 * queue; RD: of each flow). Slots are retired in the order of the queue. Thousands of requests may
 * wait for one that ends: the turn has units for some, the rest follows in slices. Calls cq.c, and
 * qp.c when a failure stops the queue. IBA 10.8.5, 10.10.2 (flushing).
 */
#include "nic_fw/fw_nic.h"

/* Peers cause the other kinds: their stations are charged for them (station.h). */
static bool is_charged(uint8_t kind)
{
	return (kind <= FW_WQE_LAST_REQUEST && kind != FW_WQE_TAG_NACK) || kind == FW_WQE_TAG_REPLY;
}

static bool wqe_is_response(uint8_t kind)
{
	return kind == FW_WQE_READ_RESPONSE || kind == FW_WQE_ATOMIC_RESPONSE;
}

struct fw_wqe *wqe_alloc(struct fw_nic *nic, struct fw_qp *qp, enum fw_wqe_kind kind)
{
	struct fw_client *owner = &nic->host.clients[qp->client];
	struct fw_wqe *wqe;
	uint16_t sink_tag;

	if (is_charged((uint8_t)kind) &&
	    (!fw_pool_has_share(&nic->host.wqes, owner->wqes_held) ||
	     !share_pool_may(&nic->host.wqes, owner->share->user->wqes))) {
		FW_COUNT(nic, wqes_share_refused);
		return NULL;
	}
	wqe = fw_pool_get(&nic->host.wqes);
	if (!wqe)
		return NULL;
	if (is_charged((uint8_t)kind)) {
		owner->wqes_held++;
		owner->share->user->wqes++;
	}
	sink_tag = wqe->sink_tag;
	/* The SGEs are set before num_sge counts them. */
	memset(wqe, 0, offsetof(struct fw_wqe, sge));
	wqe->sink_tag = sink_tag;
	fw_list_init(&wqe->qp_node);
	fw_list_init(&wqe->flow_node);
	fw_list_init(&wqe->read_node);
	wqe->qp = qp;
	wqe->kind = (uint8_t)kind;
	wqe->src_qpn = qp->qpn;
	if (qp_is_connected(qp))
		wqe->incarnation = kind == FW_WQE_REQUEST ? qp->incarnation_tx : qp->incarnation_rx;
	wqe->ext = FW_NONE;
	nic->rdmap.terminates += kind == FW_WQE_TERMINATE;
	return wqe;
}

struct fw_wqe *wqe_alloc_response(struct fw_nic *nic, struct fw_qp *qp, enum fw_wqe_kind kind,
				  uint8_t station)
{
	uint32_t max = nic->host.wqes.max;
	struct fw_wqe *wqe;

	assert(wqe_is_response((uint8_t)kind));
	if (!station_may(nic, station, STATION_RESPONSES, max - max / SHARE_POOL_PARTS)) {
		FW_COUNT(nic, responses_held_back);
		return NULL;
	}
	wqe = wqe_alloc(nic, qp, kind);
	if (!wqe)
		return NULL;
	wqe->station = station;
	station_take(nic, station, STATION_RESPONSES);
	return wqe;
}

/* Ends the charge to its peer's station. */
static void discharge(struct fw_nic *nic, const struct fw_wqe *wqe)
{
	if (wqe_is_response(wqe->kind)) {
		station_give(nic, wqe->station, STATION_RESPONSES);
		if (!wqe->tag_handle && wqe->qp->responder_slots)
			wqe->qp->responder_slots--;
	} else if (wqe->notice_to) {
		nic->rdmap.notices_to[wqe->notice_to - 1]--;
		station_give(nic, wqe->station, STATION_NOTICES);
	}
}

void wqe_free(struct fw_nic *nic, struct fw_wqe *wqe)
{
	fw_list_del(&wqe->qp_node);
	if (fw_list_linked(&wqe->flow_node))
		fw_list_del(&wqe->flow_node);
	if (fw_list_linked(&wqe->read_node))
		fw_list_del(&wqe->read_node);
	if (wqe->ext != FW_NONE)
		fw_pool_put(&nic->host.wqe_exts, fw_pool_at(&nic->host.wqe_exts, wqe->ext));
	if (is_charged(wqe->kind)) {
		nic->host.clients[wqe->qp->client].wqes_held--;
		nic->host.clients[wqe->qp->client].share->user->wqes--;
	} else {
		discharge(nic, wqe);
	}
	nic->rdmap.terminates -= wqe->kind == FW_WQE_TERMINATE;
	fw_pool_put(&nic->host.wqes, wqe);
}

bool wqe_extend(struct fw_nic *nic, struct fw_wqe *wqe, uint32_t num_sge)
{
	struct fw_wqe_ext *ext;

	if (num_sge <= FW_WQE_SGES)
		return true;
	ext = fw_pool_get(&nic->host.wqe_exts);
	if (!ext)
		return false;
	wqe->ext = fw_pool_index(&nic->host.wqe_exts, ext);
	return true;
}

void wqe_set_sge(const struct fw_nic *nic, struct fw_wqe *wqe, uint32_t i, const struct hw_sge *sge)
{
	struct fw_wqe_ext *ext;

	if (i < FW_WQE_SGES) {
		wqe->sge[i] = *sge;
		return;
	}
	ext = fw_pool_at(&nic->host.wqe_exts, wqe->ext);
	ext->sge[i - FW_WQE_SGES] = *sge;
}

void wqe_end(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
	     enum hw_vendor_err vendor_err)
{
	struct fw_wqe ended;

	assert(wqe->kind != FW_WQE_REQUEST);
	if (__builtin_expect(!wqe->tag_handle, 1)) {
		wqe_free(nic, wqe);
		return;
	}
	/* Its owner may complete a receive, which may end the queue pair and all its messages. */
	ended = *wqe;
	wqe_free(nic, wqe);
	host_up.tag_ended(nic, &ended, status, vendor_err);
}

enum hw_status wqe_status_of(enum hw_vendor_err err)
{
	switch (err) {
	case HW_VENDOR_ERR_NONE:
		return HW_STATUS_SUCCESS;
	case HW_VENDOR_ERR_LKEY:
	case HW_VENDOR_ERR_BOUNDS:
	case HW_VENDOR_ERR_ACCESS:
	case HW_VENDOR_ERR_HOST_FAULT:
		return HW_STATUS_LOC_PROT_ERR;
	case HW_VENDOR_ERR_TOO_LONG:
		return HW_STATUS_LOC_LEN_ERR;
	case HW_VENDOR_ERR_PEER_RESTART:
		return HW_STATUS_REM_ABORT_ERR;
	case HW_VENDOR_ERR_UNREACHABLE:
		return HW_STATUS_RETRY_EXC_ERR;
	case HW_VENDOR_ERR_OPCODE:
	case HW_VENDOR_ERR_SLOTS:
	case HW_VENDOR_ERR_NUM_SGE:
	case HW_VENDOR_ERR_FLAGS:
	case HW_VENDOR_ERR_AH:
	case HW_VENDOR_ERR_ALIGN:
	case HW_VENDOR_ERR_QUEUE:
	case HW_VENDOR_ERR_RD_ATOMIC:
	case HW_VENDOR_ERR_CQ_OVERRUN:
	case HW_VENDOR_ERR_NO_MESSAGE:
	case HW_VENDOR_ERR_CANCELED:
	case HW_VENDOR_ERRS:
		break;
	}
	return HW_STATUS_LOC_QP_OP_ERR;
}

/* By enum hw_wqe_opcode; all others have HW_CQE_SEND, which is 0. */
static const uint8_t cqe_opcodes[HW_WQE_OPCODES] = {
    [HW_WQE_WRITE] = HW_CQE_WRITE,       [HW_WQE_WRITE_IMM] = HW_CQE_WRITE,
    [HW_WQE_READ] = HW_CQE_READ,         [HW_WQE_FETCH_ADD] = HW_CQE_FETCH_ADD,
    [HW_WQE_CMP_SWAP] = HW_CQE_CMP_SWAP, [HW_WQE_LOCAL_INV] = HW_CQE_LOCAL_INV,
    [HW_WQE_BIND_MW] = HW_CQE_BIND_MW,   [HW_WQE_WRITE_RECORD] = HW_CQE_WRITE,
    [HW_WQE_TSEND] = HW_CQE_TSEND,       [HW_WQE_ATOMIC] = HW_CQE_ATOMIC,
};

/* Returns false when the CQ could not take it. */
static inline bool write_cqe(struct fw_nic *nic, struct fw_qp *qp, uint64_t wr_id, uint8_t opcode,
			     uint32_t bytes, uint32_t sq_end, enum hw_status status,
			     uint32_t vendor_err)
{
	struct hw_cqe cqe = {
	    .wr_id = wr_id,
	    .bytes = bytes,
	    .qpn = qp->qpn,
	    .status = (uint8_t)status,
	    .opcode = opcode < HW_WQE_OPCODES ? cqe_opcodes[opcode] : (uint8_t)HW_CQE_SEND,
	    .vendor_err = vendor_err,
	    .sq_index = sq_end,
	};

	fw_trace(nic, TRACE_CQE, qp->qpn, wr_id, status);
	return cq_post(nic, qp->send_cq, &cqe);
}

/* True if a request has a completion although it succeeds. */
static inline bool wants_completion(const struct fw_wqe *wqe)
{
	return wqe->flags & HW_WQE_F_SIGNALED || wqe->qp->flags & HW_QP_F_SQ_SIG_ALL;
}

/* Completes a request; the completion of an open send comes later, unless it failed. */
static bool wqe_done_report(struct fw_nic *nic, const struct fw_wqe *wqe, enum hw_status status,
			    uint32_t vendor_err)
{
	struct fw_qp *qp = wqe->qp;
	bool tagged = wqe->opcode == HW_WQE_TSEND;

	if (wqe->tag_handle)
		return host_up.tag_sent(nic, wqe, status, (enum hw_vendor_err)vendor_err);
	/* Its data could not be written to the receive that it was for. */
	if (status == HW_STATUS_SUCCESS && wqe->tag_status)
		status = (enum hw_status)wqe->tag_status;
	if (status == HW_STATUS_SUCCESS && !wants_completion(wqe))
		return true;
	return write_cqe(nic, qp, wqe->wr_id, wqe->opcode, tagged ? wqe->tag_bytes : wqe->bytes,
			 wqe->sq_end, status, vendor_err);
}

void wqe_done_later(struct fw_nic *nic, struct fw_qp *qp)
{
	if (!fw_list_linked(&qp->done_node))
		fw_list_add_tail(&nic->slices.done, &qp->done_node);
	slice_wait(&nic->slices, SLICE_DONE);
}

/*
 * Frees finished requests at the head of the send queue and publishes the index to the host. looks:
 * the number of requests that take no unit of the turn.
 */
static void retire(struct fw_nic *nic, struct fw_qp *qp, uint32_t looks)
{
	bool moved = false;

	while (!fw_list_empty(&qp->wqes)) {
		struct fw_wqe *wqe = FW_CONTAINER(qp->wqes.next, struct fw_wqe, qp_node);

		if (wqe->state != FW_WQE_DONE)
			break;
		if (!looks && !slice_take_done(nic)) {
			wqe_done_later(nic, qp);
			break;
		}
		looks = looks ? looks - 1 : FW_SLICE_LOOKS - 1;
		qp->sq_cons = wqe->sq_end;
		moved = true;
		wqe_free(nic, wqe);
	}
	if (moved)
		__atomic_store_n(&qp->record->sq_cons, qp->sq_cons, __ATOMIC_RELEASE);
}

static bool is_local_fault(enum hw_status status)
{
	return status == HW_STATUS_LOC_LEN_ERR || status == HW_STATUS_LOC_QP_OP_ERR ||
	       status == HW_STATUS_LOC_PROT_ERR || status == HW_STATUS_MW_BIND_ERR ||
	       status == HW_STATUS_LOC_ACCESS_ERR;
}

/* True if a request that ends with this status stops its queue: IBA 10.10.2.3. */
static bool stops_queue(const struct fw_qp *qp, enum hw_status status)
{
	if (status == HW_STATUS_SUCCESS || status == HW_STATUS_WR_FLUSH_ERR)
		return false;
	return qp_is_rc(qp) || is_local_fault(status);
}

static void stop_queue(struct fw_nic *nic, struct fw_qp *qp, enum hw_status status)
{
	if (!stops_queue(qp, status) || qp->state == HW_QPS_ERR || qp->state == HW_QPS_RESET)
		return;
	qp->sq_flushed = true;
	if (qp_is_rc(qp))
		qp_error(nic, qp, HW_EVENT_NONE);
	else
		qp_sq_error(nic, qp);
}

/* Ends a request but for its slots. False: its CQ could not take the completion. */
static bool wqe_done_end(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
			 enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = wqe->qp;

	assert(wqe->kind == FW_WQE_REQUEST && wqe->state != FW_WQE_DONE);
	/* The request was not acknowledged: its frames may still be under way. */
	if (status != HW_STATUS_SUCCESS)
		eth_tx_settle(nic);
	fw_list_del(&wqe->flow_node);
	wqe->state = FW_WQE_DONE;
	wqe->status = (uint8_t)status;
	qp->outstanding--;
	if (wqe_is_under_way(wqe) && wqe_is_read_or_atomic(wqe->opcode)) {
		qp->rd_atomics--;
		fw_list_del(&wqe->read_node);
	}
	wqe->flow = NULL;
	wqe->streamed = false;
	return wqe_done_report(nic, wqe, status, vendor_err);
}

/* Requests of the queue have ended, the last one with this status; ok: as wqe_done_end() says. */
static void wqe_done_advance(struct fw_nic *nic, struct fw_qp *qp, uint32_t ended,
			     enum hw_status status, bool ok)
{
	retire(nic, qp, ended);
	if (status != HW_STATUS_SUCCESS)
		stop_queue(nic, qp, status);
	if (!ok && qp->state != HW_QPS_ERR && qp->state != HW_QPS_RESET)
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
	else
		qp_unblock(nic, qp);
}

static void wqe_done_finish(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
			    enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = wqe->qp;
	bool ok = wqe_done_end(nic, wqe, status, vendor_err);

	wqe_done_advance(nic, qp, 1, status, ok);
}

/* Completes requests that waited for earlier ones of their queue and are now the oldest. */
static void complete_waiting(struct fw_nic *nic, struct fw_qp *qp)
{
	uint32_t n;

	for (n = 0; !fw_list_empty(&qp->wqes) && !qp->flushing; n++) {
		struct fw_wqe *wqe = FW_CONTAINER(qp->wqes.next, struct fw_wqe, qp_node);

		if (wqe_is_under_way(wqe) || !wqe->answered || wqe->state == FW_WQE_DONE)
			break;
		if (n && !slice_take_done(nic)) {
			wqe_done_later(nic, qp);
			break;
		}
		wqe_done_finish(nic, wqe, (enum hw_status)wqe->status,
				(enum hw_vendor_err)wqe->vendor_err);
	}
}

void wqe_done_slice(struct fw_nic *nic)
{
	while (!fw_list_empty(&nic->slices.done) && slice_take(nic, 1)) {
		struct fw_qp *qp =
		    FW_CONTAINER(fw_list_take(&nic->slices.done), struct fw_qp, done_node);

		nic->turn_did |= FW_DID_FLUSH;
		/* A flush takes all that is left of the send queue. */
		if (!qp->flushing) {
			retire(nic, qp, 1);
			complete_waiting(nic, qp);
		}
		if (llp_of(qp)->complete)
			llp_of(qp)->complete(nic, qp);
	}
}

bool wqe_settle(struct fw_qp *qp, struct fw_wqe *wqe)
{
	if (!wqe->ssn)
		return false; /* carried out here */
	if (qp->sq_refused == wqe) {
		qp->sq_refused = NULL;
	} else if (qp->sq_refused) {
		/* Its answer will not come any more. */
		if (!wqe->answered && wqe_has_answer(wqe))
			wqe->status = HW_STATUS_WR_FLUSH_ERR;
		wqe->answered = true;
		wqe->state = FW_WQE_RESPONSE;
	} else if (qp->sq_lost) {
		if (!wqe->answered)
			wqe->status = qp->sq_lost;
		wqe->answered = true;
		wqe->state = FW_WQE_RESPONSE;
	}
	/*
	 * Without the acknowledgement a stream may send the request again, although its answer has
	 * come.
	 */
	return wqe->answered && (wqe->state == FW_WQE_RESPONSE || wqe->status != HW_STATUS_SUCCESS);
}

/*
 * The request ends while its queue is being flushed: it stays in its place and is flushed with the
 * rest.
 */
static void leave_to_flush(struct fw_wqe *wqe)
{
	fw_list_del(&wqe->flow_node);
	wqe->flow = NULL;
	wqe->streamed = false;
}

void wqe_complete(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
		  enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = wqe->qp;

	if (qp->flushing) {
		leave_to_flush(wqe);
		return;
	}
	if (status == HW_STATUS_SUCCESS && qp_is_unreliable(qp) &&
	    (nic->net.tx_count || !fw_list_empty(&nic->ud.sent))) {
		/*
		 * Staged frames still point at its memory: wqe_complete_sent() completes it later.
		 */
		wqe->state = FW_WQE_SENT;
		fw_list_add_tail(&nic->ud.sent, &wqe->flow_node);
		return;
	}
	wqe_done_finish(nic, wqe, status, vendor_err);
	complete_waiting(nic, qp);
}

void wqe_complete_in_order(struct fw_nic *nic, struct fw_wqe *wqe, enum hw_status status,
			   enum hw_vendor_err vendor_err)
{
	struct fw_qp *qp = wqe->qp;

	if (qp->flushing) {
		leave_to_flush(wqe);
		return;
	}
	if (wqe_is_under_way(wqe) && wqe_is_read_or_atomic(wqe->opcode)) {
		qp->rd_atomics--;
		fw_list_del(&wqe->read_node);
	}
	wqe->flow = NULL;
	wqe->streamed = false;
	wqe->answered = true;
	wqe->status = (uint8_t)status;
	wqe->vendor_err = vendor_err;
	if (stops_queue(qp, status))
		qp->sq_failing = true;
	complete_waiting(nic, qp);
}

void wqe_done_now(struct fw_nic *nic, const struct fw_wqe *wqe)
{
	struct fw_qp *qp = wqe->qp;

	assert(!wqe->tag_handle && !wqe->tag_status);
	qp->sq_next = wqe->sq_end;
	qp->sq_cons = wqe->sq_end;
	__atomic_store_n(&qp->record->sq_cons, qp->sq_cons, __ATOMIC_RELEASE);
	if (!wants_completion(wqe))
		return;
	if (!write_cqe(nic, qp, wqe->wr_id, wqe->opcode, wqe->bytes, wqe->sq_end, HW_STATUS_SUCCESS,
		       HW_VENDOR_ERR_NONE))
		qp_error(nic, qp, HW_EVENT_QP_FATAL);
}

/*
 * Returns the sent request that follows another in its queue; NULL: that one is the last, or one
 * follows that was not sent, and completes in between.
 */
static struct fw_wqe *wqe_sent_next(struct fw_nic *nic, const struct fw_wqe *wqe)
{
	struct fw_wqe *next = FW_CONTAINER(nic->ud.sent.next, struct fw_wqe, flow_node);

	return !fw_list_empty(&nic->ud.sent) && wqe->qp_node.next == &next->qp_node ? next : NULL;
}

void wqe_complete_sent(struct fw_nic *nic)
{
	while (!nic->net.tx_count && !fw_list_empty(&nic->ud.sent)) {
		struct fw_wqe *wqe = FW_CONTAINER(nic->ud.sent.next, struct fw_wqe, flow_node);
		struct fw_qp *qp = wqe->qp;
		bool first = qp->wqes.next == &wqe->qp_node, ok = true;
		uint32_t ended = 0;

		/* No request after a flushed one succeeds. */
		if (qp->flushing) {
			fw_list_del(&wqe->flow_node);
			continue;
		}
		for (; ok && wqe; wqe = wqe_sent_next(nic, wqe), ended++) {
			/* It frees the slots of earlier requests, unless those are not over. */
			if (first && wants_completion(wqe))
				__atomic_store_n(&qp->record->sq_cons, wqe->sq_end,
						 __ATOMIC_RELEASE);
			ok = wqe_done_end(nic, wqe, HW_STATUS_SUCCESS, HW_VENDOR_ERR_NONE);
		}
		wqe_done_advance(nic, qp, ended, HW_STATUS_SUCCESS, ok);
		complete_waiting(nic, qp);
	}
}

/* True if a connection's oldest request was over before the flush: it keeps its status. */
static bool was_over(struct fw_qp *qp, struct fw_wqe *wqe)
{
	bool over = !qp->sq_flushed && qp_is_rc(qp) && wqe_settle(qp, wqe);

	if (!over || (wqe->status != HW_STATUS_SUCCESS && wqe->status != HW_STATUS_WR_FLUSH_ERR))
		qp->sq_flushed = true;
	return over;
}

/* Flushes the request at the head of the send queue. */
static void flush_fetched(struct fw_nic *nic, struct fw_qp *qp, bool complete)
{
	struct fw_wqe *wqe = FW_CONTAINER(qp->wqes.next, struct fw_wqe, qp_node);

	/* Unlinks it from its transport, or from the list of sent requests. */
	fw_list_del(&wqe->flow_node);
	wqe->flow = NULL;
	wqe->streamed = false;
	if (wqe->state != FW_WQE_DONE) {
		if (!was_over(qp, wqe)) {
			wqe->status = HW_STATUS_WR_FLUSH_ERR;
			wqe->vendor_err = HW_VENDOR_ERR_NONE;
		}
		wqe->state = FW_WQE_DONE;
		if (complete || wqe->tag_handle)
			(void)wqe_done_report(nic, wqe, (enum hw_status)wqe->status,
					      wqe->vendor_err);
	}
	if (qp->sq_refused == wqe)
		qp->sq_refused = NULL;
	qp->sq_cons = wqe->sq_end;
	wqe_free(nic, wqe);
}

/* Flushes a request that was posted and never fetched: only its wr_id is used. */
static void flush_posted(struct fw_nic *nic, struct fw_qp *qp, uint32_t prod)
{
	struct hw_sq_wqe w;
	uint32_t slots;

	fw_copy_once(&w, qp->sq_ring + (size_t)(qp->sq_next & qp->sq_mask) * HW_SQ_SLOT_BYTES,
		     sizeof(w));
	slots = w.slots ? w.slots : 1;
	if (slots > prod - qp->sq_next)
		slots = prod - qp->sq_next;
	qp->sq_next += slots;
	qp->sq_cons = qp->sq_next;
	(void)write_cqe(nic, qp, w.wr_id, w.opcode, 0, qp->sq_next, HW_STATUS_WR_FLUSH_ERR,
			HW_VENDOR_ERR_NONE);
}

/* Returns the process's producer index, within the fetched entries and the ring. */
static uint32_t posted_until(const struct fw_qp *qp)
{
	uint32_t prod = __atomic_load_n(&qp->record->sq_prod, __ATOMIC_ACQUIRE);

	/* An invalid index: no entry after the fetched ones is trusted. */
	return prod - qp->sq_cons > qp->sq_mask + 1 ? qp->sq_next : prod;
}

bool wqe_is_posted(const struct fw_qp *qp)
{
	return posted_until(qp) != qp->sq_next;
}

bool wqe_flush_step(struct fw_nic *nic, struct fw_qp *qp)
{
	bool complete = qp->state == HW_QPS_ERR || qp->state == HW_QPS_SQE;
	uint32_t prod = qp->sq_next;
	bool over = true;

	while (over && !fw_list_empty(&qp->wqes)) {
		over = slice_take(nic, 1);
		if (over)
			flush_fetched(nic, qp, complete);
	}
	/* In RESET they are dropped as a whole. */
	if (over && complete) {
		prod = posted_until(qp);
		if (!lent_sq(nic, qp))
			prod = qp->sq_next;
		while (over && qp->sq_next != prod) {
			over = slice_take(nic, 1);
			if (over)
				flush_posted(nic, qp, prod);
		}
		qp->sq_prod = qp->sq_next;
	}
	__atomic_store_n(&qp->record->sq_cons, qp->sq_cons, __ATOMIC_RELEASE);
	return over;
}
