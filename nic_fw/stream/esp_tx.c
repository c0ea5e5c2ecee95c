/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP, sending: transfers become packets, packets wait for their acknowledgement.
 *
 * esp_tx_run() is a stage of fw_poll(). Calls the layer above (esp_ops.fill) and edp.c. A
 * transmission begins with TXS and ends with TXF; transfers queued meanwhile belong to it, and TXR
 * marks the end of each. Until TXS is acknowledged the sender repeats and sends no more than an
 * initial burst; then the receiver sends re-requests. TXF changes the state of the connection, so
 * the sender repeats that one too: if its acknowledgement is lost, it is requested again, which
 * closes a gap of ESPGOAL 3.2.1. docs/wire-esp.md.
 */
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/fw_nic.h"

enum {
	EDP_OFFSET = sizeof(struct wire_eth),
	ESP_OFFSET = EDP_OFFSET + sizeof(struct wire_edp),
	ASKS = 2,                /* answers awaited before a packet that was sent counts as lost */
	RRQ_MIN_AGE_DIVISOR = 2, /* of an RTT: packets sent within it are still in flight */
};

static struct esp_slot *slot_of(struct esp_stream *s, uint32_t seq)
{
	return &s->slot[seq % WIRE_ESP_WINDOW];
}

void esp_tx_ready(struct fw_nic *nic, struct esp_stream *s)
{
	if (!fw_list_linked(&s->ready_node))
		fw_list_add_tail(&nic->esp.ready, &s->ready_node);
}

/* Every packet carries the receive state of its sender. */
static void esp_tx_put_header(struct esp_stream *s, struct fw_tx_frame *frame, uint32_t seq,
			      uint8_t numbered, uint8_t flags, uint32_t rrq_count)
{
	struct wire_esp *esp = (struct wire_esp *)(frame->hdr + ESP_OFFSET);
	bool ack = s->state != ESP_SYN_SENT;

	esp->seq = be32_put(seq);
	esp->ack = be32_put(ack ? s->rcv_next : 0);
	esp->flags = (uint8_t)(flags | (ack ? WIRE_ESP_ACK : 0));
	esp->numbered = numbered;
	esp->window = be16_put((uint16_t)esp_rx_window(s));
	esp->src_inc = be32_put(s->src_inc);
	esp->dst_inc = be32_put(ack ? s->dst_inc : 0);
	esp->rrq_count = be32_put(rrq_count);
	esp->received = be64_put(ack ? s->received & ~UINT64_C(1) : 0);
	eth_tx_hdr(frame, EDP_OFFSET, sizeof(struct wire_edp) + sizeof(*esp), 0);
	if (!ack)
		return;
	s->rx_unacked = 0;
	/* A due re-request stays due: this packet carries the acknowledgement only. */
	if (s->rrq_due && !(flags & WIRE_ESP_RRQ))
		return;
	s->rrq_due = false;
	s->ack_behind = false;
	s->ack_due = false;
	s->ack_now = false;
	fw_list_del(&s->ack_node);
}

static bool tx_bare(struct fw_nic *nic, struct esp_stream *s, uint8_t numbered, uint8_t flags,
		    uint32_t rrq_count)
{
	struct fw_tx_frame *frame =
	    edp_tx_begin(nic, s->peer_mac, esp_remote_port(s), s->local_port, WIRE_EDP_ESP);

	if (!frame)
		return false;
	esp_tx_put_header(s, frame, flags & WIRE_ESP_SYN ? s->snd_una : s->snd_next, numbered,
			  flags, rrq_count);
	if (flags & WIRE_ESP_SYN) {
		struct wire_esp_open *open = (struct wire_esp_open *)(frame->hdr + ESP_HDR_BYTES);

		memset(open, 0, sizeof(*open));
		open->service = be16_put(s->key.service);
		open->mtu = be16_put(nic->config.mtu);
		open->src_rank = be32_put(s->key.local);
		open->dst_rank = be32_put(s->key.remote);
		open->key = be64_put(s->key.key);
		open->key2 = be64_put(s->key.key2);
		eth_tx_hdr(frame, ESP_HDR_BYTES, sizeof(*open), 0);
	}
	return edp_tx_end(nic, frame, numbered != WIRE_ESP_BEHIND);
}

bool esp_tx_bare(struct fw_nic *nic, struct esp_stream *s, uint8_t flags, uint32_t rrq_count)
{
	return tx_bare(nic, s, 0, flags, rrq_count);
}

bool esp_tx_behind(struct fw_nic *nic, struct esp_stream *s, uint8_t flags)
{
	return tx_bare(nic, s, WIRE_ESP_BEHIND, flags, 0);
}

static void esp_tx_tell(struct fw_nic *nic, const struct esp_stream *s, const struct esp_slot *slot)
{
	struct esp_xfer *xfer = slot->xfer;

	if (slot->tries > 1)
		nic->esp.ops[s->key.service]->passed(nic, xfer, ESP_POINT_AGAIN);
	else if (!slot->index)
		nic->esp.ops[s->key.service]->passed(nic, xfer, ESP_POINT_FIRST);
	else if (slot->index + 1 == xfer->packets)
		nic->esp.ops[s->key.service]->passed(nic, xfer, ESP_POINT_LAST);
}

bool esp_may_have(const struct esp_stream *s, const struct esp_xfer *xfer, uint32_t i)
{
	const struct esp_slot *slot = &s->slot[(xfer->first_seq + i) % WIRE_ESP_WINDOW];

	return slot->tries && !(slot->asks >= ASKS && s->heard_ns > slot->sent_ns);
}

/*
 * Makes the frame of a packet a bare re-request, which the peer answers with what it has. frame:
 * has segs segments without the packet's data.
 */
static bool ask(struct fw_nic *nic, struct esp_stream *s, struct esp_slot *slot,
		struct fw_tx_frame *frame, uint32_t segs)
{
	frame->num_seg = segs;
	esp_tx_put_header(s, frame, s->snd_next, 0, WIRE_ESP_RRQ, 0);
	slot->sent_ns = nic->now_ns;
	if (slot->asks < ASKS)
		slot->asks++;
	if (slot->tries < UINT8_MAX)
		slot->tries++;
	return edp_tx_end(nic, frame, true);
}

/* The frame of a packet was not sent, since the port could not read its memory. */
static int tell_unreadable(struct fw_nic *nic, struct esp_stream *s, const struct esp_slot *slot)
{
	const struct esp_ops *ops = nic->esp.ops[s->key.service];

	return ops->unreadable ? ops->unreadable(nic, s->ctx, slot->xfer, slot->index) : -FW_EFAULT;
}

/* Sends a packet that has a number; empty: without its payload. */
static bool send_as(struct fw_nic *nic, struct esp_stream *s, uint32_t seq, bool empty)
{
	struct esp_slot *slot = slot_of(s, seq);
	struct fw_tx_frame *frame =
	    edp_tx_begin(nic, s->peer_mac, s->remote_port, s->local_port, WIRE_EDP_ESP);
	uint32_t bare;

	if (!frame)
		return false;
	bare = frame->num_seg;
	esp_tx_put_header(s, frame, seq, 1, slot->flags, 0);
	if (slot->xfer && !empty) {
		uint32_t segs = frame->num_seg;
		int bytes =
		    nic->esp.ops[s->key.service]->fill(nic, s->ctx, slot->xfer, slot->index,
						       esp_payload_bytes(s), frame, ESP_HDR_BYTES);

		if (bytes == -FW_EAGAIN)
			return ask(nic, s, slot, frame, bare);
		/* The memory is gone: the number must be sent all the same, without payload. */
		if (bytes < 0)
			frame->num_seg = segs;
		slot->large = bytes > ESP_SMALL_BYTES;
		/* An ACK may be for the packet that was sent before, while this one is read. */
		if (slot->tries)
			frame->flags &= ~(uint32_t)FW_TX_F_BORROW;
	}
	if (!edp_tx_end(nic, frame, slot->flags & WIRE_ESP_STATE_FLAGS)) {
		if (tell_unreadable(nic, s, slot) != -FW_EAGAIN)
			return send_as(nic, s, seq, true);
		frame = edp_tx_begin(nic, s->peer_mac, s->remote_port, s->local_port, WIRE_EDP_ESP);
		return frame && ask(nic, s, slot, frame, frame->num_seg);
	}
	slot->sent_ns = nic->now_ns;
	if (slot->tries < UINT8_MAX)
		slot->tries++;
	FW_COUNT(nic, esp_tx_packets);
	if (slot->tries > 1)
		FW_COUNT(nic, esp_tx_retransmits);
	if (__builtin_expect(slot->xfer && slot->xfer->traced, 0))
		esp_tx_tell(nic, s, slot);
	return true;
}

/*
 * Returns how many packets of data may follow those that were sent: a burst of unacknowledged ones;
 * before TXS is acknowledged, the initial one.
 */
static uint32_t esp_tx_window(const struct fw_nic *nic, const struct esp_stream *s)
{
	uint32_t in_flight = s->snd_next - s->snd_una, limit = nic->config.esp_burst, begun;

	if (s->snd_window < limit)
		limit = s->snd_window;
	limit = limit > in_flight ? limit - in_flight : 0;
	if (!s->txs_unacked && !s->tx_idle)
		return limit;
	begun = s->tx_idle && !s->txs_unacked ? 0 : s->snd_next - s->txs_seq;
	begun = begun < nic->config.esp_initial_burst ? nic->config.esp_initial_burst - begun : 0;
	return limit < begun ? limit : begun;
}

/* Returns how many of the next packets may leave as a run, up to units of work; 1: none. */
static uint32_t esp_tx_run_length(struct fw_nic *nic, const struct esp_stream *s, uint32_t units)
{
	const struct esp_xfer *xfer = s->next_xfer;
	uint32_t payload = esp_payload_bytes(s), n, room;

	if (!nic->port.tx_run || !xfer || xfer->traced || xfer->packets - xfer->sent < 2 ||
	    !nic->esp.ops[s->key.service]->fill_run)
		return 1;
	n = esp_tx_window(nic, s);
	room = FW_RUN_BYTES / payload;
	n = n < room ? n : room;
	room = units * ETH_TX_UNIT_BYTES / payload;
	n = n < room ? n : room;
	n = n < nic->net.tx_allow ? n : nic->net.tx_allow;
	room = xfer->packets - xfer->sent;
	n = n < room ? n : room;
	if (n < 2)
		return 1;
	room = nic->port.tx_run(nic->port.ctx, s->peer_mac);
	return n < room ? n : room;
}

/* Sends n packets that have numbers, from seq on, as a run. False: they go one by one. */
static bool send_run(struct fw_nic *nic, struct esp_stream *s, uint32_t seq, uint32_t n)
{
	struct esp_slot *slot = slot_of(s, seq);
	struct fw_tx_frame *frame =
	    edp_tx_begin(nic, s->peer_mac, s->remote_port, s->local_port, WIRE_EDP_ESP);
	uint32_t i;

	if (!frame)
		return false;
	esp_tx_put_header(s, frame, seq, 1, slot->flags | slot_of(s, seq + n - 1)->flags, 0);
	if (!nic->esp.ops[s->key.service]->fill_run(nic, s->ctx, slot->xfer, slot->index, n, frame,
						    ESP_HDR_BYTES))
		return false;
	frame->run = (uint16_t)n;
	(void)edp_tx_end(nic, frame, false);
	for (i = 0; i < n; i++) {
		slot = slot_of(s, seq + i);
		slot->large = true;
		slot->sent_ns = nic->now_ns;
		slot->tries = 1;
	}
	FW_ADD(nic, esp_tx_packets, n);
	return true;
}

static bool send_packet(struct fw_nic *nic, struct esp_stream *s, uint32_t seq)
{
	return send_as(nic, s, seq, false);
}

bool esp_tx_again(struct fw_nic *nic, struct esp_stream *s, uint32_t seq)
{
	return slot_of(s, seq)->acked || send_packet(nic, s, seq);
}

/* Gives the next packet of the queue a number and its flags. */
static void number(struct esp_stream *s)
{
	struct esp_slot *slot = slot_of(s, s->snd_next);
	struct esp_xfer *xfer = s->next_xfer;

	memset(slot, 0, sizeof(*slot));
	if (!xfer) {
		slot->flags = WIRE_ESP_FIN;
		s->fin_sent = true;
		s->snd_next++;
		return;
	}
	slot->xfer = xfer;
	slot->index = xfer->sent;
	if (!xfer->sent)
		xfer->first_seq = s->snd_next;
	if (s->tx_idle) {
		slot->flags |= WIRE_ESP_TXS;
		s->txs_seq = s->snd_next;
		s->txs_unacked = true;
		s->tx_idle = false;
	}
	if (++xfer->sent == xfer->packets) {
		slot->flags |= WIRE_ESP_TXR;
		s->next_xfer = xfer->node.next == &s->queue
				   ? NULL
				   : FW_CONTAINER(xfer->node.next, struct esp_xfer, node);
	}
	/* More may be queued later; for now this is the end. */
	if (!s->next_xfer) {
		slot->flags |= WIRE_ESP_TXF;
		s->tx_idle = true;
	}
	s->snd_next++;
}

static bool esp_tx_may_send(const struct fw_nic *nic, const struct esp_stream *s)
{
	if (s->state != ESP_OPEN && s->state != ESP_CLOSING && s->state != ESP_DRAINING)
		return false;
	if (!s->next_xfer)
		return s->fin_queued && !s->fin_sent && s->snd_next - s->snd_una < WIRE_ESP_WINDOW;
	return esp_tx_window(nic, s) > 0;
}

/*
 * The window is closed and nothing is in flight: the packet that would start a transmission changes
 * the connection's state and is sent, so that the receiver knows that it drives.
 */
static bool esp_tx_may_start(const struct esp_stream *s)
{
	return s->state == ESP_OPEN && s->next_xfer && s->tx_idle && s->snd_next == s->snd_una;
}

static bool may_go(const struct fw_nic *nic, const struct esp_stream *s)
{
	return esp_tx_may_send(nic, s) || esp_tx_may_start(s);
}

/* Sends the next packet, or several as a run, up to units of work. False: no room. */
static bool esp_tx_next(struct fw_nic *nic, struct esp_stream *s, uint32_t units)
{
	uint32_t seq = s->snd_next, n = esp_tx_run_length(nic, s, units), i;

	for (i = 0; i < n; i++)
		number(s);
	if (n > 1 && send_run(nic, s, seq, n))
		return true;
	for (i = 0; i < n; i++)
		if (!send_packet(nic, s, seq + i))
			return false;
	return true;
}

uint32_t esp_tx_run(struct fw_nic *nic, uint32_t budget)
{
	uint32_t done = 0, rounds = 0;

	nic->esp.unreachables = 0;
	(void)eth_tx_cost(nic);
	while (done < budget && !fw_list_empty(&nic->esp.ready) && eth_tx_room(nic)) {
		struct esp_stream *s =
		    FW_CONTAINER(nic->esp.ready.next, struct esp_stream, ready_node);
		uint32_t sent = 0;

		fw_list_del(&s->ready_node);
		if (s->resumed) {
			s->resumed = false;
			esp_rx_deliver(nic, s);
			sent = fw_dear_take(nic);
			if (s->state == ESP_FREE) {
				done += sent;
				continue;
			}
		}
		while (sent < ESP_TX_QUANTUM && may_go(nic, s) && eth_tx_room(nic)) {
			if (!esp_tx_next(nic, s, ESP_TX_QUANTUM - sent))
				break;
			sent += eth_tx_cost(nic);
		}
		if (may_go(nic, s))
			esp_tx_ready(nic, s);
		esp_timer_update(nic, s);
		done += sent;
		if (!sent && ++rounds > budget)
			break;
	}
	return done;
}

/* ---- acknowledgements and requests ---------------------------------------------------------- */

static void ack_packet(struct fw_nic *nic, struct esp_stream *s, uint32_t seq)
{
	struct esp_slot *slot = slot_of(s, seq);

	if (slot->acked)
		return;
	slot->acked = true;
	if (slot->tries == 1)
		fw_rtt_sample(&s->rtt, nic->now_ns - slot->sent_ns);
	if (slot->xfer)
		slot->xfer->acked++;
	s->tries = 0;
}

/*
 * Transfers whose last packet is acknowledged leave the queue, in order. The peer may hold that
 * packet while it waits for one of a cancelled transfer: then its layer above has not received it.
 */
static void finish_transfers(struct fw_nic *nic, struct esp_stream *s)
{
	while (!fw_list_empty(&s->queue)) {
		struct esp_xfer *xfer = FW_CONTAINER(s->queue.next, struct esp_xfer, node);

		if (xfer->acked < xfer->packets ||
		    seq_lt(s->snd_una, xfer->first_seq + xfer->packets))
			return;
		fw_list_del(&xfer->node);
		if (__builtin_expect(xfer->traced, 0))
			nic->esp.ops[s->key.service]->passed(nic, xfer, ESP_POINT_ACKED);
		nic->esp.ops[s->key.service]->sent(nic, s->ctx, xfer, true);
	}
}

struct esp_xfer *esp_next_sent(const struct esp_stream *stream, const struct esp_xfer *xfer)
{
	struct fw_list *next = xfer ? xfer->node.next : stream->queue.next;
	struct esp_xfer *found = FW_CONTAINER(next, struct esp_xfer, node);

	FW_WALK_STEP();
	return next == &stream->queue || !found->sent ? NULL : found;
}

void esp_tx_acked(struct fw_nic *nic, struct esp_stream *s, uint32_t ack, uint64_t received,
		  uint32_t window)
{
	uint32_t i;

	/* An old ACK, or one for packets that were never sent. */
	if (seq_lt(ack, s->snd_una) || seq_lt(s->snd_next, ack)) {
		FW_COUNT(nic, esp_acks_stale);
		return;
	}
	while (s->snd_una != ack) {
		ack_packet(nic, s, s->snd_una);
		s->snd_una++;
	}
	/* Packets held by the peer are not taken by its layer above, but need not be sent again. */
	for (i = 1; i < WIRE_ESP_WINDOW && received >> i; i++)
		if (received >> i & 1 && seq_lt(ack + i, s->snd_next))
			ack_packet(nic, s, ack + i);
	if (s->txs_unacked && (seq_lt(s->txs_seq, s->snd_una) || slot_of(s, s->txs_seq)->acked))
		s->txs_unacked = false;
	s->snd_window = window;
	finish_transfers(nic, s);
	if (s->state == ESP_FREE)
		return;
	if (s->fin_sent && s->snd_una == s->snd_next && s->state != ESP_LINGERING) {
		if (s->state == ESP_DRAINING || s->peer_fin)
			esp_finish(nic, s);
		else
			esp_timer_update(nic, s);
		return;
	}
	if (may_go(nic, s))
		esp_tx_ready(nic, s);
	esp_timer_update(nic, s);
}

void esp_tx_requested(struct fw_nic *nic, struct esp_stream *s, uint64_t received, uint32_t count)
{
	uint64_t rtt_ns = s->rtt.srtt_ns ? s->rtt.srtt_ns : ESP_MIN_RTO_NS;
	uint64_t age = rtt_ns / RRQ_MIN_AGE_DIVISOR;
	uint32_t seq = s->snd_una, end = 0, i;

	FW_COUNT(nic, esp_rrq_rx);
	for (i = 1; i < WIRE_ESP_WINDOW; i++)
		if (received >> i & 1)
			end = i + 1;
	end += count < WIRE_ESP_WINDOW ? count : WIRE_ESP_WINDOW;
	for (i = 0; i < end && seq_lt(seq + i, s->snd_next) && eth_tx_room(nic); i++) {
		struct esp_slot *slot = slot_of(s, seq + i);

		if (slot->acked || nic->now_ns - slot->sent_ns < age)
			continue;
		if (!esp_tx_again(nic, s, seq + i))
			break;
	}
}

void esp_send(struct fw_nic *nic, struct esp_stream *s, struct esp_xfer *xfer)
{
	assert(xfer->packets && !s->fin_queued);
	xfer->sent = 0;
	xfer->acked = 0;
	fw_list_add_tail(&s->queue, &xfer->node);
	if (!s->next_xfer)
		s->next_xfer = xfer;
	esp_tx_ready(nic, s);
}

/* Detaches all packets from their transfers. Unsent packets will never be sent. */
static void forget_transfers(struct esp_stream *s)
{
	uint32_t seq;

	for (seq = s->snd_una; seq != s->snd_next; seq++)
		slot_of(s, seq)->xfer = NULL;
	s->next_xfer = NULL;
}

void esp_tx_drop(struct fw_nic *nic, struct esp_stream *s)
{
	const struct esp_ops *ops = nic->esp.ops[s->key.service];
	struct fw_list *pos;

	if (s->ctx && ops->forgets && ops->forgets(s->ctx)) {
		esp_forget(nic, s);
		return;
	}
	forget_transfers(s);
	while ((pos = fw_list_pop(&s->queue)))
		ops->sent(nic, s->ctx, FW_CONTAINER(pos, struct esp_xfer, node), false);
}

void esp_forget(struct fw_nic *nic, struct esp_stream *s)
{
	(void)nic;
	forget_transfers(s);
	fw_list_del(&s->queue);
}

void esp_cancel(struct fw_nic *nic, struct esp_stream *s)
{
	esp_tx_drop(nic, s);
}

void esp_withdraw(struct fw_nic *nic, struct esp_stream *s, struct esp_xfer *xfer)
{
	(void)nic;
	assert(!xfer->sent);
	if (s->next_xfer == xfer)
		s->next_xfer = xfer->node.next == &s->queue
				   ? NULL
				   : FW_CONTAINER(xfer->node.next, struct esp_xfer, node);
	fw_list_del(&xfer->node);
}

uint32_t esp_payload_bytes(const struct esp_stream *s)
{
	return s->frame_bytes - (uint32_t)(sizeof(struct wire_edp) + sizeof(struct wire_esp)) -
	       WIRE_EDP_CRC_BYTES;
}
