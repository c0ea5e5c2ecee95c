/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP, receiving: hands packets in order to the layer above, and requests missing ones.
 *
 * Calls esp_ops of the layer above and esp_tx.c. Once TXS was taken the receiver drives: it sends
 * re-requests (RRQ) for holes, and for more when no packet comes, until TXF was taken. Packets that
 * arrive out of order, or while the layer above is full, stay held in the port's buffers. ESPGOAL
 * 3.1 and 3.2; docs/wire-esp.md.
 */
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/fw_nic.h"

enum {
	ACK_EVERY = 8, /* packets, within a burst */
};

uint32_t esp_rx_window(const struct esp_stream *s)
{
	return s->blocked && !s->put_off ? 0 : ESP_MAX_BURST;
}

/* ---- held frames ------------------------------------------------------------------------------
 */

static void esp_rx_release(struct fw_nic *nic, struct esp_stream *s, uint32_t seq)
{
	struct esp_held *held = s->held[seq % WIRE_ESP_WINDOW];

	s->held[seq % WIRE_ESP_WINDOW] = NULL;
	nic->port.rx_release(nic->port.ctx, held->frame.cookie);
	station_give(nic, s->station, STATION_ESP_HELD);
	fw_pool_put(&nic->esp.held, held);
}

void esp_rx_drop(struct fw_nic *nic, struct esp_stream *s)
{
	uint32_t i;

	for (i = 0; i < WIRE_ESP_WINDOW; i++)
		if (s->received >> i & 1)
			esp_rx_release(nic, s, s->rcv_next + i);
	s->received = 0;
}

/*
 * Makes held keep a frame beyond this turn: a copy, where the frame's bytes are its sender's or
 * those of a run. False: no memory.
 */
static bool esp_rx_keep(struct fw_nic *nic, const struct fw_rx_frame *frame, struct esp_held *held)
{
	if (frame->flags & FW_RX_LENT)
		return nic->port.rx_copy(nic->port.ctx, frame, &held->frame);
	held->frame = *frame;
	/* The frame is in the array that the port reads when the burst is over. */
	assert(frame >= nic->net.rx && frame < nic->net.rx + FW_BURST);
	nic->net.rx[frame - nic->net.rx].flags |= FW_RX_HELD;
	return true;
}

/*
 * Holds the frame beyond this turn. False: too many are held; the packet will be requested again.
 */
static bool esp_rx_hold(struct fw_nic *nic, struct esp_stream *s, uint32_t seq, uint8_t flags,
			const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	struct esp_held *held = station_may(nic, s->station, STATION_ESP_HELD, nic->esp.held.max)
				    ? fw_pool_get(&nic->esp.held)
				    : NULL;

	if (!held || !esp_rx_keep(nic, frame, held)) {
		if (held)
			fw_pool_put(&nic->esp.held, held);
		FW_DROP(nic, drop_esp_no_memory);
		return false;
	}
	station_take(nic, s->station, STATION_ESP_HELD);
	held->offset = offset;
	held->bytes = bytes;
	held->flags = flags;
	s->held[seq % WIRE_ESP_WINDOW] = held;
	s->received |= UINT64_C(1) << (seq - s->rcv_next);
	return true;
}

/* ---- acknowledging ----------------------------------------------------------------------------
 */

static void esp_rx_owe_ack(struct fw_nic *nic, struct esp_stream *s, bool now)
{
	if (!s->ack_due) {
		s->ack_due = true;
		s->ack_ns = nic->now_ns + ESP_ACK_NS;
		fw_list_add_tail(&nic->esp.acks, &s->ack_node);
	}
	if (now && !s->ack_now) {
		s->ack_now = true;
		fw_list_del(&s->ack_node);
		fw_list_add_head(&nic->esp.acks, &s->ack_node);
	}
}

void esp_ack_flush(struct fw_nic *nic)
{
	/* Urgent ones come first in the list, then the others by their time. */
	while (!fw_list_empty(&nic->esp.acks)) {
		struct esp_stream *s =
		    FW_CONTAINER(nic->esp.acks.next, struct esp_stream, ack_node);

		if (!s->ack_now && s->ack_ns > nic->now_ns)
			return;
		if (s->ack_behind && !s->rrq_due
			? !esp_tx_behind(nic, s, 0)
			: !esp_tx_bare(nic, s, s->rrq_due ? WIRE_ESP_RRQ : 0, 0))
			return;
		FW_COUNT(nic, esp_tx_acks);
	}
}

uint64_t esp_ack_next_ns(const struct fw_nic *nic)
{
	const struct esp_stream *s;

	if (fw_list_empty(&nic->esp.acks))
		return UINT64_MAX;
	s = FW_CONTAINER(nic->esp.acks.next, struct esp_stream, ack_node);
	return s->ack_now ? nic->now_ns : s->ack_ns;
}

/* ---- in order -----------------------------------------------------------------------------------
 */

/* The peer has closed: closes our end, too, and notifies the layer above. */
static void esp_rx_peer_closed(struct fw_nic *nic, struct esp_stream *s)
{
	const struct esp_ops *ops = nic->esp.ops[s->key.service];
	void *ctx = s->ctx;

	s->peer_fin = true;
	if (s->state == ESP_CLOSING) {
		if (s->fin_sent && s->snd_una == s->snd_next)
			esp_finish(nic, s);
		return;
	}
	if (s->state != ESP_OPEN)
		return;
	esp_tx_drop(nic, s);
	esp_set_state(nic, s, ESP_DRAINING);
	s->opened_ns = nic->now_ns;
	s->fin_queued = true;
	s->ctx = NULL;
	esp_tx_ready(nic, s);
	ops->ended(nic, ctx, ESP_END_CLOSED);
}

/* The packet, and those behind it, wait for a later turn. */
static void esp_rx_put_off(struct fw_nic *nic, struct esp_stream *s)
{
	s->blocked = true;
	s->put_off = true;
	esp_resume(nic, s);
}

/*
 * True if the next packet shall wait for a later turn: frames of others behind it need not wait for
 * its copies. Where frames that came early have need of the places it does not wait.
 */
static bool shall_wait(const struct fw_nic *nic, const struct esp_stream *s)
{
	return __builtin_expect(s->dear, 0) && fw_dear_waits(nic, true) &&
	       nic->esp.held.used < nic->esp.held.max / 2 &&
	       station_may(nic, s->station, STATION_ESP_HELD, nic->esp.held.max);
}

/*
 * Delivers packet rcv_next, or a run from it on. False: the layer above has no room, or the stream
 * has ended. A run for which there is no room is declined: its packets come one by one.
 */
static bool esp_rx_take(struct fw_nic *nic, struct esp_stream *s, uint8_t flags,
			const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	enum esp_verdict verdict = ESP_TAKEN;
	uint32_t dear = nic->dear, packets = frame && frame->run > 1 ? frame->run : 1;

	if (!(flags & WIRE_ESP_FIN) && s->ctx)
		verdict = nic->esp.ops[s->key.service]->receive(nic, s->ctx, frame, offset, bytes);
	if (s->state == ESP_FREE)
		return false;
	s->dear = nic->dear != dear;
	if (verdict == ESP_FULL && packets > 1) {
		eth_run_decline(nic);
		return false;
	}
	if (verdict == ESP_FULL && fw_dear_waits(nic, true)) {
		esp_rx_put_off(nic, s);
		return false;
	}
	if (verdict == ESP_FULL) {
		s->blocked = true;
		if (nic->esp.ops[s->key.service]->full)
			nic->esp.ops[s->key.service]->full(nic, s->ctx);
		return false;
	}
	FW_ADD(nic, esp_rx_packets, packets);
	s->rcv_next += packets;
	s->received >>= packets;
	s->rrq_tries = 0;
	s->rrq_ns = nic->now_ns;
	if (flags & WIRE_ESP_TXS)
		s->rx_open = true;
	if (flags & (WIRE_ESP_TXF | WIRE_ESP_FIN))
		s->rx_open = false;
	/* The sender of a large transfer waits for its end, however short the last packet is. */
	if (bytes > ESP_SMALL_BYTES)
		s->rx_large = true;
	esp_rx_owe_ack(nic, s,
		       (flags & WIRE_ESP_TXS && bytes > ESP_SMALL_BYTES) ||
			   (flags & WIRE_ESP_TXF && s->rx_large) || flags & WIRE_ESP_FIN ||
			   (s->rx_unacked += packets) >= ACK_EVERY);
	if (flags & WIRE_ESP_TXF)
		s->rx_large = false;
	if (flags & WIRE_ESP_FIN) {
		esp_rx_peer_closed(nic, s);
		return false;
	}
	return true;
}

void esp_rx_deliver(struct fw_nic *nic, struct esp_stream *s)
{
	bool was_blocked = s->blocked;

	s->blocked = false;
	s->put_off = false;
	while (s->received & 1) {
		uint32_t seq = s->rcv_next;
		struct esp_held *held = s->held[seq % WIRE_ESP_WINDOW];
		bool fin = held->flags & WIRE_ESP_FIN;

		if (fw_dear_waits(nic, s->dear)) {
			esp_rx_put_off(nic, s);
			break;
		}
		if (fin) {
			/* The stream may be gone after it. */
			struct esp_held last = *held;

			s->received &= ~UINT64_C(1);
			esp_rx_release(nic, s, seq);
			(void)esp_rx_take(nic, s, last.flags, NULL, 0, 0);
			return;
		}
		/*
		 * The bit stays until the packet is taken: aborting the stream here releases it by
		 * that.
		 */
		if (!esp_rx_take(nic, s, held->flags, &held->frame, held->offset, held->bytes))
			break;
		esp_rx_release(nic, s, seq);
	}
	if (s->state == ESP_FREE)
		return;
	/* The window is open again. */
	if (was_blocked && !s->blocked) {
		s->rrq_ns = nic->now_ns;
		esp_rx_owe_ack(nic, s, true);
	}
}

void esp_resume(struct fw_nic *nic, struct esp_stream *s)
{
	if (!s->blocked || s->resumed)
		return;
	s->resumed = true;
	esp_tx_ready(nic, s);
}

/* ---- out of order -------------------------------------------------------------------------------
 */

/* Sends an early re-request when enough packets arrived after the hole, and none was just sent. */
static void ask_early(struct fw_nic *nic, struct esp_stream *s)
{
	if (s->blocked || __builtin_popcountll(s->received) < ESP_REORDER)
		return;
	if (s->rrq_hole == s->rcv_next && nic->now_ns - s->rrq_ns < esp_timer_rto_ns(s, 0) / 2)
		return;
	s->rrq_hole = s->rcv_next;
	s->rrq_ns = nic->now_ns;
	s->rrq_due = true;
	esp_rx_owe_ack(nic, s, true);
	FW_COUNT(nic, esp_rrq_tx);
}

void esp_rx_request(struct fw_nic *nic, struct esp_stream *s)
{
	s->rrq_ns = nic->now_ns;
	s->rrq_hole = s->rcv_next;
	FW_COUNT(nic, esp_rrq_tx);
	(void)esp_tx_bare(nic, s, WIRE_ESP_RRQ, 0);
}

/*
 * The packet names the next number to be sent, and was sent after all before it: those not here by
 * now are lost.
 */
static void look_for_tail(struct fw_nic *nic, struct esp_stream *s, uint32_t next)
{
	uint32_t ahead = next - s->rcv_next, end;

	if (!ahead || ahead > WIRE_ESP_WINDOW || s->blocked)
		return;
	end = s->received ? 64 - (uint32_t)__builtin_clzll(s->received) : 0;
	if (ahead <= end)
		return;
	/*
	 * Each request is answered by a packet like this one. After a forged ACK two ends could
	 * disagree for good; the limit keeps them from repeating requests and answers at wire
	 * speed.
	 */
	if (s->tail_hole == s->rcv_next && s->tail_next == next &&
	    nic->now_ns - s->tail_ns < esp_timer_rto_ns(s, 0) / 2)
		return;
	s->tail_hole = s->rcv_next;
	s->tail_next = next;
	s->tail_ns = nic->now_ns;
	s->rrq_ns = nic->now_ns;
	s->rrq_hole = s->rcv_next;
	FW_COUNT(nic, esp_rrq_tx);
	(void)esp_tx_bare(nic, s, WIRE_ESP_RRQ, ahead - end);
}

/* Takes a run that is next, and for which nothing waits; its packets come one by one otherwise. */
static void run(struct fw_nic *nic, struct esp_stream *s, const struct wire_esp *esp,
		const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	if (be32_get(esp->seq) != s->rcv_next || s->received || s->blocked || !s->ctx ||
	    !nic->esp.ops[s->key.service]->fill_run || shall_wait(nic, s)) {
		eth_run_decline(nic);
		return;
	}
	nic->net.run_taken = frame->run;
	(void)esp_rx_take(nic, s, esp->flags, frame, offset, bytes);
}

static void numbered(struct fw_nic *nic, struct esp_stream *s, const struct wire_esp *esp,
		     const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	uint32_t seq = be32_get(esp->seq), ahead = seq - s->rcv_next;

	/* A duplicate, or beyond the sender's window: the peer may have missed our answer. */
	if (ahead >= WIRE_ESP_WINDOW || s->received >> ahead & 1) {
		FW_COUNT(nic, esp_rx_duplicates);
		esp_rx_owe_ack(nic, s, true);
		return;
	}
	if (!ahead && !s->blocked && shall_wait(nic, s))
		esp_rx_put_off(nic, s);
	if (!ahead && !s->blocked) {
		if (esp_rx_take(nic, s, esp->flags, frame, offset, bytes)) {
			esp_rx_deliver(nic, s);
			return;
		}
		if (s->state == ESP_FREE || !s->blocked)
			return;
	}
	if (ahead)
		FW_COUNT(nic, esp_rx_out_of_order);
	/* A new hole is requested when it has lasted. */
	if (!s->received)
		s->rrq_ns = nic->now_ns;
	if (!esp_rx_hold(nic, s, seq, esp->flags, frame, offset, bytes))
		return;
	if (esp->flags & (WIRE_ESP_TXF | WIRE_ESP_TXS))
		esp_rx_owe_ack(nic, s, true);
	ask_early(nic, s);
}

void esp_rx(struct fw_nic *nic, struct esp_stream *s, const struct wire_esp *esp,
	    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes)
{
	uint8_t flags = esp->flags;

	s->heard_ns = nic->now_ns;
	s->probes = 0;
	if (flags & WIRE_ESP_RST) {
		esp_end(nic, s, ESP_END_RESET);
		return;
	}
	if (!(flags & WIRE_ESP_ACK) || (flags & WIRE_ESP_FIN && bytes)) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	if (s->state == ESP_SYN_RCVD && !esp_opened(nic, s))
		return;
	esp_tx_acked(nic, s, be32_get(esp->ack), be64_get(esp->received), be16_get(esp->window));
	if (s->state == ESP_FREE)
		return;
	if (flags & WIRE_ESP_RRQ) {
		/* A re-request is answered in any case. */
		s->ack_behind = true;
		esp_rx_owe_ack(nic, s, true);
		if (be32_get(esp->ack) == s->snd_una)
			esp_tx_requested(nic, s, be64_get(esp->received), be32_get(esp->rrq_count));
	}
	if (__builtin_expect(frame->run > 1, 0))
		run(nic, s, esp, frame, offset, bytes);
	else if (esp->numbered == 1)
		numbered(nic, s, esp, frame, offset, bytes);
	else if (esp->numbered == WIRE_ESP_BEHIND)
		look_for_tail(nic, s, be32_get(esp->seq));
	if (s->state != ESP_FREE)
		esp_timer_update(nic, s);
}
