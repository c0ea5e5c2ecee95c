/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: RDMAP messages as transfers of a stream, one DDP segment in each packet.
 *
 * Calls wqe_done.c, esp.h. esp_rdmap_tx.c writes packets, esp_rdmap_rx.c reads them. The layer that
 * takes a message acknowledges it, so a request is complete when its transfer is, and a read when
 * it is answered. A receiver that is not ready leaves the packet to ESP, which holds it and closes
 * the window, and notifies the requester, which counts the notices (rnr_retry). RFC 5040, RFC 5041;
 * docs/wire-esp.md, "RC over ESP".
 */
#include "nic_fw/fw_nic.h"

#define MAC_RETRY_NS  UINT64_C(100000)      /* between look-ups of the peer's MAC */
#define OPEN_RETRY_NS UINT64_C(10000000)    /* after the network refused */
#define ANSWER_NS     UINT64_C(30000000000) /* how long answers wait for a silent requester */

enum {
	HDR_BYTES = sizeof(struct wire_esp_rdmap) + sizeof(struct wire_ddp_untagged),
	QUEUED_AT_ONCE = 16, /* requests that waited for their stream */
};

static struct esp_rdmap *of_notice(struct esp_xfer *xfer)
{
	return FW_CONTAINER(xfer, struct esp_rdmap, notice);
}

/* ---- completions ---------------------------------------------------------------------------- */

/* While answers are awaited the stream is watched, so that a dead peer is detected. */
static void update_watch(struct fw_nic *nic, struct fw_qp *qp)
{
	struct esp_rdmap *esp = qp->esp;
	bool wanted = esp->open && qp->rd_atomics;

	if (wanted == esp->watched)
		return;
	esp->watched = wanted;
	if (wanted)
		esp_watch(nic, esp->out.stream);
	else
		esp_unwatch(nic, esp->out.stream);
}

/*
 * Runs every second while requests wait. The stream's own timer detects a silent peer. If the peer
 * is alive but makes no progress with the first request in LLP_ANSWER_LOOKS looks, no answer will
 * come: a forger has acknowledged the request in the peer's name, or answered in ours. Answers come
 * in order, so none behind it comes either.
 */
void esp_rdmap_look_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct esp_rdmap *esp = FW_CONTAINER(timer, struct esp_rdmap, look_timer);
	struct fw_qp *qp = esp->out.qp;
	struct fw_wqe *first, *failed;
	uint32_t done;
	bool acked;

	if (!esp->open || fw_list_empty(&qp->wqes))
		return;
	first = FW_CONTAINER(qp->wqes.next, struct fw_wqe, qp_node);
	acked = first->state == FW_WQE_RESPONSE;
	done = acked ? first->read_bytes : first->xfer.acked;
	fw_timer_set(&nic->timers, timer, nic->now_ns + LLP_LOOK_NS);
	if (!first->streamed || first->ssn != esp->look_ssn || acked != esp->look_acked ||
	    done != esp->look_done || esp->look_rnr) {
		esp->look_ssn = first->ssn;
		esp->look_acked = acked;
		esp->look_done = done;
		esp->look_rnr = false;
		esp->looks = 0;
		return;
	}
	if (esp_silent_ns(nic, esp->out.stream) < LLP_LOOK_NS)
		esp->looks++;
	if (esp->looks < LLP_ANSWER_LOOKS)
		return;
	failed = requester_oldest(qp);
	FW_COUNT(nic, retry_exceeded);
	requester_fail(nic, failed ? failed : first, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
}

static void look_for_answers(struct fw_nic *nic, struct esp_rdmap *esp)
{
	if (esp->open && !fw_timer_is_set(&esp->look_timer))
		fw_timer_set(&nic->timers, &esp->look_timer, nic->now_ns + LLP_LOOK_NS);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void esp_rdmap_queue(struct fw_nic *nic, struct esp_stream *stream, struct fw_wqe *msg)
{
	uint32_t room = esp_payload_bytes(stream) - HDR_BYTES;

	msg->segment_bytes = room & ~7u;
	msg->xfer.packets = 1;
	if (!rdmap_tx_is_self_contained(msg->rdmap_opcode) && msg->bytes)
		msg->xfer.packets = (uint32_t)(((uint64_t)msg->bytes + msg->segment_bytes - 1) /
					       msg->segment_bytes);
	if (!msg->begun_ns)
		msg->begun_ns = nic->now_ns;
	fw_trace(nic, TRACE_RDMAP_TX, msg->src_qpn, msg->wr_id, msg->bytes);
	esp_send(nic, stream, &msg->xfer);
}

/*
 * Makes the stream's key of the requester's QPN and sq_psn, and of its address and rq_psn. Both
 * ends know these numbers, and a stream of an earlier connection has others.
 */
static struct esp_key key_of(const struct fw_qp *qp, bool requester, uint32_t own_ip)
{
	uint32_t qpn = requester ? qp->qpn : qp->dst_qpn;
	uint32_t ip = requester ? own_ip : qp->dst_ip;
	uint32_t sq_psn = requester ? qp->attr.sq_psn : qp->attr.rq_psn;
	uint32_t rq_psn = requester ? qp->attr.rq_psn : qp->attr.sq_psn;

	struct be32 wire_ip;

	memcpy(&wire_ip, &ip, sizeof(wire_ip));
	return (struct esp_key){
	    .service = WIRE_ESP_RDMAP,
	    .local = qp->qpn,
	    .remote = qp->dst_qpn,
	    .key = (uint64_t)qpn << 24 | sq_psn,
	    .key2 = (uint64_t)be32_get(wire_ip) << 32 | rq_psn,
	};
}

static bool gives_up(const struct fw_nic *nic, const struct fw_qp *qp)
{
	return fw_waited(nic, &qp->esp->since, qp_limit_ns(qp));
}

static void open_failed(struct fw_nic *nic, struct fw_qp *qp, uint64_t retry_ns)
{
	struct fw_wqe *msg = requester_oldest(qp);

	if (!msg)
		return;
	if (gives_up(nic, qp)) {
		FW_COUNT(nic, retry_exceeded);
		requester_fail(nic, msg, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
		return;
	}
	fw_timer_set(&nic->timers, &qp->esp->open_timer, nic->now_ns + retry_ns);
}

static void try_open(struct fw_nic *nic, struct fw_qp *qp)
{
	struct esp_rdmap *esp = qp->esp;
	struct esp_key key = key_of(qp, true, nic->config.ip);
	uint8_t shard = (uint8_t)(qp->dst_qpn >> FW_QPN_SHARD_SHIFT & (WIRE_EDP_SHARDS - 1));
	uint8_t mac[WIRE_MAC_BYTES];

	switch (neigh_lookup(nic, qp->dst_ip, mac)) {
	case NEIGH_OK:
		break;
	case NEIGH_WAIT:
		open_failed(nic, qp, MAC_RETRY_NS);
		return;
	case NEIGH_UNREACHABLE:
		open_failed(nic, qp, OPEN_RETRY_NS);
		return;
	}
	esp->out.hollow = esp->out.faulty = esp->out.fault_due = false;
	esp->out.stream = esp_open(nic, qp->client, &key, mac, shard, &esp->out);
	if (!esp->out.stream) {
		open_failed(nic, qp, OPEN_RETRY_NS);
		return;
	}
	esp_set_patience(nic, esp->out.stream, qp_limit_ns(qp));
}

/* Passes on requests that waited for the stream. There may be thousands: some in a turn. */
static void queue_waiting(struct fw_nic *nic, struct esp_rdmap *esp)
{
	uint32_t left = QUEUED_AT_ONCE;
	struct fw_list *node;

	while (left-- && (node = fw_list_pop(&esp->waiting)))
		esp_rdmap_queue(nic, esp->out.stream, FW_CONTAINER(node, struct fw_wqe, flow_node));
	if (!fw_list_empty(&esp->waiting))
		fw_timer_set(&nic->timers, &esp->open_timer, nic->now_ns + FW_SOON_NS);
}

void esp_rdmap_open_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct esp_rdmap *esp = FW_CONTAINER(timer, struct esp_rdmap, open_timer);

	if (esp->open)
		queue_waiting(nic, esp);
	else
		try_open(nic, esp->out.qp);
}

static void esp_rdmap_opened(struct fw_nic *nic, void *ctx)
{
	struct esp_rdmap_side *side = ctx;
	struct esp_rdmap *esp = side->qp->esp;

	esp->open = true;
	queue_waiting(nic, esp);
	update_watch(nic, side->qp);
	look_for_answers(nic, esp);
}

/*
 * The requests of a stream may be very many. They are in the send queue, too, which completes them
 * in slices; those that are on the stream's list alone are few.
 */
static bool esp_rdmap_forgets(const void *ctx)
{
	const struct esp_rdmap_side *side = ctx;

	return side->qp && side->requester;
}

/* Requests of a stream that is lost end before another one is opened. */
static bool esp_rdmap_is_ready(const struct fw_qp *qp)
{
	return !qp->sq_lost;
}

static bool esp_rdmap_send(struct fw_nic *nic, struct fw_wqe *msg)
{
	struct esp_rdmap *esp = msg->qp->esp;

	msg->state = FW_WQE_QUEUED;
	if (msg->kind != FW_WQE_REQUEST) {
		if (!esp->in.stream)
			return false;
		msg->streamed = true;
		esp_rdmap_queue(nic, esp->in.stream, msg);
		return true;
	}
	msg->streamed = true;
	if (esp->open && fw_list_empty(&esp->waiting)) {
		esp_rdmap_queue(nic, esp->out.stream, msg);
		update_watch(nic, msg->qp);
		look_for_answers(nic, esp);
		return true;
	}
	fw_list_add_tail(&esp->waiting, &msg->flow_node);
	if (esp->open) {
		update_watch(nic, msg->qp);
		look_for_answers(nic, esp);
	} else if (!esp->out.stream && !fw_timer_is_set(&esp->open_timer)) {
		/*
		 * The timer opens it, because callers do not expect that the request fails at once.
		 */
		esp->since = fw_moment_now(nic);
		fw_timer_set(&nic->timers, &esp->open_timer, nic->now_ns);
	}
	return true;
}

static void esp_rdmap_sent(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, bool ok)
{
	struct esp_rdmap_side *side = ctx;
	struct fw_wqe *msg;

	if (!side->qp) {
		if (!ok)
			return;
		/* The peer has the notice: packets that were not taken may be offered again. */
		FW_CONTAINER(side, struct esp_rdmap_last, side)->delivered = true;
		esp_resume(nic, side->stream);
		return;
	}
	if (esp_rdmap_is_notice(side, xfer)) {
		of_notice(xfer)->noticed = false;
		return;
	}
	msg = esp_rdmap_msg_of(xfer);
	if (msg->kind != FW_WQE_REQUEST) {
		wqe_free(nic, msg);
		return;
	}
	if (!ok)
		return; /* the end of the stream determines its status */
	side->qp->esp->rnr_tries = 0;
	requester_acked(nic, msg);
}

static void esp_rdmap_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
			       enum hw_vendor_err vendor_err)
{
	if (msg->kind == FW_WQE_REQUEST) {
		requester_fail(nic, msg, status, vendor_err);
		return;
	}
	/* The response was queued just now. */
	esp_withdraw(nic, msg->qp->esp->in.stream, &msg->xfer);
	wqe_free(nic, msg);
}

struct fw_wqe *esp_rdmap_unacked(const struct fw_qp *qp)
{
	const struct esp_rdmap *esp = qp->esp;
	struct esp_xfer *xfer = esp->open ? esp_next_sent(esp->out.stream, NULL) : NULL;

	return xfer ? esp_rdmap_msg_of(xfer) : NULL;
}

/*
 * Finds a request that a peer can know and has not answered: one that waits for its answer, or one
 * with packets in flight. A queue may hold thousands of others.
 */
static struct fw_wqe *esp_rdmap_find(struct fw_qp *qp, uint32_t ssn)
{
	struct fw_wqe *msg = requester_find_read(qp, ssn);
	struct esp_xfer *xfer = NULL;

	if (msg || !qp->esp->open)
		return msg;
	while ((xfer = esp_next_sent(qp->esp->out.stream, xfer))) {
		msg = esp_rdmap_msg_of(xfer);
		if (msg->ssn == ssn && !msg->answered)
			return msg;
	}
	return NULL;
}

static void esp_rdmap_terminated(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
				 uint32_t ssn, enum hw_status status)
{
	struct fw_wqe *msg = esp_rdmap_find(qp, ssn);

	(void)pkt;
	if (msg)
		requester_fail(nic, msg, status, HW_VENDOR_ERR_NONE);
}

static void end_side(struct fw_nic *nic, struct esp_rdmap_side *side)
{
	struct esp_stream *stream = side->stream;

	side->stream = NULL;
	if (stream)
		esp_abort(nic, stream);
}

/* Fails the peer's request ssn: sends a Terminate, and closes the stream behind it. */
static void esp_rdmap_terminate(struct fw_nic *nic, struct fw_qp *qp, uint32_t ssn,
				const struct rdmap_error *error)
{
	struct esp_stream *stream = qp->esp->in.stream;
	struct esp_rdmap_last *last;
	uint8_t station;

	if (!stream)
		return;
	station = esp_station(stream);
	last = station_may(nic, station, STATION_ESP_LASTS, nic->rdmap.esp_lasts.max)
		   ? fw_pool_get(&nic->rdmap.esp_lasts)
		   : NULL;
	/*
	 * Without memory for the Terminate an RST notifies the peer that its requests have failed.
	 */
	qp->esp->in.stream = NULL;
	if (!last) {
		esp_abort(nic, stream);
		return;
	}
	*last = (struct esp_rdmap_last){
	    .side = {.stream = stream},
	    .xfer = {.packets = 1},
	    .ssn = ssn,
	    .layer_etype = error->layer_etype,
	    .code = error->code,
	    .station = station,
	};
	station_take(nic, station, STATION_ESP_LASTS);
	fw_list_init(&last->xfer.node);
	esp_cancel(nic, stream);
	esp_rebind(stream, &last->side);
	esp_send(nic, stream, &last->xfer);
	esp_close_within(nic, stream, ANSWER_NS);
	FW_COUNT(nic, terminates_tx);
}

/* The region under a read response is gone: notifies the peer, and ends its stream. */
static void run_response_fault(struct fw_nic *nic, struct fw_qp *qp)
{
	const struct rdmap_error gone = {
	    WIRE_TERM_LAYER_RDMAP << 4 | WIRE_TERM_RDMAP_PROTECTION,
	    WIRE_TERM_PROT_INVALID_STAG,
	};
	struct esp_rdmap_side *side = &qp->esp->in;

	side->fault_due = false;
	side->faulty = false;
	/* All memory of an ending process is gone; the peer made no error. */
	if (!qp_is_live(nic, qp)) {
		fw_timer_cancel(&nic->timers, &qp->esp->ready_timer);
		end_side(nic, side);
		return;
	}
	esp_rdmap_terminate(nic, qp, side->fault_ssn, &gone);
}

static void run_request_fault(struct fw_nic *nic, struct fw_qp *qp)
{
	struct esp_rdmap_side *side = &qp->esp->out;
	enum hw_vendor_err err = (enum hw_vendor_err)side->fault_err;
	struct fw_wqe *msg = esp_rdmap_find(qp, side->fault_ssn);

	side->fault_due = false;
	if (!msg && !qp->sq_failing)
		msg = requester_oldest(qp);
	/* Earlier requests may still be answered. */
	if (msg)
		requester_fail(nic, msg, wqe_status_of(err), err);
}

void esp_rdmap_run(struct fw_nic *nic)
{
	struct fw_list *node;

	while ((node = fw_list_pop(&nic->rdmap.esp_faults))) {
		struct esp_rdmap *esp = FW_CONTAINER(node, struct esp_rdmap, fault_node);

		if (esp->in.fault_due)
			run_response_fault(nic, esp->out.qp);
		if (esp->out.fault_due)
			run_request_fault(nic, esp->out.qp);
	}
}

/* ---- streams --------------------------------------------------------------------------------- */

static bool expects(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac)
{
	const struct fw_qp *qp = qp_find_live(nic, key->local);
	uint8_t known[WIRE_MAC_BYTES];
	struct esp_key want;

	if (!qp || qp->type != HW_QPT_RC || qp->llp != LLP_ESP || !qp_can_receive(qp) ||
	    qp->esp->in.stream)
		return false;
	want = key_of(qp, false, nic->config.ip);
	/* In RTR the PSN that we shall send with is unknown. */
	if (key->remote != want.remote || key->key != want.key ||
	    key->key2 >> 32 != want.key2 >> 32 ||
	    (qp->state != HW_QPS_RTR && key->key2 != want.key2))
		return false;
	/* The table may be wrong: the look-up starts a request, and the SYN comes again. */
	return neigh_lookup(nic, qp->dst_ip, known) == NEIGH_OK &&
	       neigh_source(nic, qp->dst_ip, mac) == NEIGH_SOURCE_RIGHT && esp_may(nic, qp->client);
}

static void doubt(struct fw_nic *nic, void *ctx, uint8_t *mac)
{
	(void)neigh_lookup(nic, ((struct esp_rdmap_side *)ctx)->qp->dst_ip, mac);
	neigh_doubt(nic, ((struct esp_rdmap_side *)ctx)->qp->dst_ip);
}

static void *accept_stream(struct fw_nic *nic, const struct esp_key *key, struct esp_stream *stream)
{
	struct fw_qp *qp = qp_find_live(nic, key->local);

	/* The QP may have changed since the SYN. */
	if (!qp || !expects(nic, key, esp_peer_mac(stream)) || !esp_own(nic, stream, qp->client))
		return NULL;
	qp->esp->in.stream = stream;
	qp->esp->in.hollow = qp->esp->in.faulty = qp->esp->in.fault_due = false;
	esp_set_patience(nic, stream, ANSWER_NS);
	return &qp->esp->in;
}

static void esp_rdmap_ended(struct fw_nic *nic, void *ctx, enum esp_end why)
{
	struct esp_rdmap_side *side = ctx;
	struct fw_qp *qp = side->qp;
	struct esp_rdmap_last *last;

	if (!qp) {
		last = FW_CONTAINER(side, struct esp_rdmap_last, side);
		station_give(nic, last->station, STATION_ESP_LASTS);
		fw_pool_put(&nic->rdmap.esp_lasts, last);
		return;
	}
	side->stream = NULL;
	/* An answer on the other stream may wait for a page, so the timer goes on. */
	if (!side->requester)
		return;
	qp->esp->open = false;
	qp->esp->watched = false;
	fw_timer_cancel(&nic->timers, &qp->esp->open_timer);
	/* The oldest request fails, and the QP with it. */
	requester_lost(nic, qp,
		       why == ESP_END_LOST || why == ESP_END_UNREACHABLE ? HW_STATUS_RETRY_EXC_ERR
									 : HW_STATUS_REM_OP_ERR);
}

/* Detaches the requests of the stream, which may be very many and are in the send queue, too. */
static void end_requests(struct fw_nic *nic, struct esp_rdmap *esp)
{
	if (esp->out.stream)
		esp_forget(nic, esp->out.stream);
	end_side(nic, &esp->out);
}

static void esp_rdmap_stop_qp(struct fw_nic *nic, struct fw_qp *qp)
{
	struct esp_rdmap *esp = qp->esp;

	fw_timer_cancel(&nic->timers, &esp->open_timer);
	fw_timer_cancel(&nic->timers, &esp->look_timer);
	fw_timer_cancel(&nic->timers, &esp->ready_timer);
	fw_list_del(&esp->fault_node);
	esp->open = false;
	esp->watched = false;
	esp->out.faulty = esp->out.fault_due = false;
	esp->in.faulty = esp->in.fault_due = false;
	esp->rnr_tries = 0;
	end_requests(nic, esp);
	end_side(nic, &esp->in);
	/* The send queue flushes them, and takes each off this list. */
	fw_list_del(&esp->waiting);
	qp->responder_slots = 0;
}

static void esp_rdmap_init_qp(struct fw_qp *qp)
{
	struct esp_rdmap *esp = qp->esp;

	memset(esp, 0, sizeof(*esp));
	esp->out = (struct esp_rdmap_side){.qp = qp, .requester = true};
	esp->in = (struct esp_rdmap_side){.qp = qp};
	fw_list_init(&esp->waiting);
	fw_list_init(&esp->fault_node);
	fw_list_init(&esp->notice.node);
	fw_timer_init(&esp->open_timer, FW_TIMER_ESP_RDMAP_OPEN);
	fw_timer_init(&esp->look_timer, FW_TIMER_ESP_RDMAP_LOOK);
	fw_timer_init(&esp->ready_timer, FW_TIMER_ESP_RDMAP_READY);
}

static void esp_rdmap_refuse(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
			     const struct rdmap_error *error)
{
	esp_rdmap_terminate(nic, qp, pkt->ssn, error);
}

const struct llp_ops esp_llp_ops = {
    .stream = true,
    .send_imm = true,
    .init_qp = esp_rdmap_init_qp,
    .is_ready = esp_rdmap_is_ready,
    .send = esp_rdmap_send,
    .answered = requester_answered,
    .complete = requester_complete,
    .advanced = update_watch,
    .terminated = esp_rdmap_terminated,
    .refuse = esp_rdmap_refuse,
    .msg_fail = esp_rdmap_msg_fail,
    .stop_qp = esp_rdmap_stop_qp,
};

const struct esp_ops esp_rdmap_ops = {
    .expects = expects,
    .doubt = doubt,
    .accept = accept_stream,
    .opened = esp_rdmap_opened,
    .receive = esp_rdmap_receive,
    .fill = esp_rdmap_fill,
    .unreadable = esp_rdmap_unreadable,
    .sent = esp_rdmap_sent,
    .forgets = esp_rdmap_forgets,
    .ended = esp_rdmap_ended,
};

void esp_rdmap_init(struct fw_nic *nic)
{
	fw_list_init(&nic->rdmap.esp_faults);
}
