/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ESP streams: set-up that survives the loss and repetition of any packet, close, failure.
 *
 * Calls esp_timer.c, esp_tx.c, esp_rx.c and the layer above (esp_ops). Every state takes a SYN and
 * answers with its own handshake packet (ESPGOAL 3.2.1 and figure 3.3); both ends may open at once.
 * Incarnations distinguish a stream from an older one between the same ends. Close is an addition
 * of weft: FIN is a numbered packet after everything queued, answered with a FIN. docs/wire-esp.md
 * has the state machine as a picture.
 */
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/fw_nic.h"

static uint32_t *esp_conn_bucket(struct fw_nic *nic, const struct esp_key *key)
{
	uint64_t h = fw_siphash(nic->config.hash_secret, key->key, key->key2,
				(uint64_t)key->local << 32 | key->remote);

	return &nic->esp.hash[h % FW_ESP_HASH_SIZE];
}

static struct esp_stream *esp_conn_find(struct fw_nic *nic, const struct esp_key *key)
{
	struct esp_stream *s;

	fw_chain_for_each (s, *esp_conn_bucket(nic, key), nic->esp.streams, hash_next)
		if (s->key.service == key->service && s->key.local == key->local &&
		    s->key.remote == key->remote && s->key.key == key->key &&
		    s->key.key2 == key->key2)
			return s;
	return NULL;
}

static uint32_t index_of(const struct fw_nic *nic, const struct esp_stream *s)
{
	return (uint32_t)(s - nic->esp.streams);
}

struct esp_stream *esp_by_port(struct fw_nic *nic, uint16_t port)
{
	uint32_t first = WIRE_EDP_PORT_BASE + (uint32_t)nic->config.shard * WIRE_EDP_PORT_SPAN + 1;
	struct esp_stream *s;

	if (port < first || port - first >= nic->esp.ids.high)
		return NULL;
	s = &nic->esp.streams[port - first];
	return s->state == ESP_FREE ? NULL : s;
}

void esp_set_state(struct fw_nic *nic, struct esp_stream *s, enum esp_state state)
{
	static const uint8_t legal[ESP_STATES] = {
	    [ESP_FREE] = 1 << ESP_SYN_SENT | 1 << ESP_SYN_RCVD,
	    [ESP_SYN_SENT] = 1 << ESP_SYN_RCVD | 1 << ESP_OPEN | 1 << ESP_CLOSING | 1 << ESP_FREE,
	    [ESP_SYN_RCVD] = 1 << ESP_OPEN | 1 << ESP_CLOSING | 1 << ESP_FREE,
	    [ESP_OPEN] = 1 << ESP_CLOSING | 1 << ESP_DRAINING | 1 << ESP_FREE,
	    [ESP_CLOSING] = 1 << ESP_LINGERING | 1 << ESP_FREE,
	    [ESP_DRAINING] = 1 << ESP_FREE,
	    [ESP_LINGERING] = 1 << ESP_FREE,
	};

	assert(legal[s->state] >> state & 1);
	fw_trace(nic, TRACE_ESP_STATE, index_of(nic, s), s->state, state);
	s->state = state;
	s->tries = 0;
}

static struct esp_stream *new_stream(struct fw_nic *nic, const struct esp_key *key,
				     const uint8_t *mac)
{
	uint32_t i = fw_ids_get(&nic->esp.ids);
	struct esp_stream *s;
	uint32_t *head;

	if (i == FW_NONE)
		return NULL;
	s = &nic->esp.streams[i];
	memset(s, 0, sizeof(*s));
	s->key = *key;
	memcpy(s->peer_mac, mac, WIRE_MAC_BYTES);
	s->station = station_of(nic, mac);
	s->local_port = (uint16_t)(WIRE_EDP_PORT_BASE +
				   (uint32_t)nic->config.shard * WIRE_EDP_PORT_SPAN + 1 + i);
	s->src_inc = (uint32_t)(nic->port.random64(nic->port.ctx) >> 32) | 1;
	s->snd_una = s->snd_next = (uint32_t)nic->port.random64(nic->port.ctx);
	s->frame_bytes = HW_MIN_MTU;
	s->opened_ns = s->heard_ns = nic->now_ns;
	s->silence_ns = ESP_SILENCE_NS;
	s->open_ns = ESP_OPEN_NS;
	s->tx_idle = true;
	fw_list_init(&s->queue);
	fw_list_init(&s->ready_node);
	fw_list_init(&s->ack_node);
	fw_timer_init(&s->timer, FW_TIMER_ESP);
	head = esp_conn_bucket(nic, key);
	fw_chain_add(head, &s->hash_next, i);
	return s;
}

static void free_stream(struct fw_nic *nic, struct esp_stream *s)
{
	fw_chain_del(esp_conn_bucket(nic, &s->key), s, nic->esp.streams, hash_next);
	fw_timer_cancel(&nic->timers, &s->timer);
	fw_list_del(&s->ready_node);
	fw_list_del(&s->ack_node);
	esp_rx_drop(nic, s);
	esp_set_state(nic, s, ESP_FREE);
	share_disown(nic, HW_SHARE_STREAM, &s->share);
	fw_ids_put(&nic->esp.ids, index_of(nic, s));
}

void esp_end(struct fw_nic *nic, struct esp_stream *s, enum esp_end why)
{
	const struct esp_ops *ops = nic->esp.ops[s->key.service];
	void *ctx = s->ctx;

	if (ctx)
		esp_tx_drop(nic, s);
	free_stream(nic, s);
	if (ctx)
		ops->ended(nic, ctx, why);
}

void esp_finish(struct fw_nic *nic, struct esp_stream *s)
{
	void *ctx = s->ctx;

	/* Our FIN answered the peer's and acknowledged it: an ACK of ours confirms that. */
	if (s->state == ESP_DRAINING) {
		esp_end(nic, s, ESP_END_CLOSED);
		return;
	}
	esp_set_state(nic, s, ESP_LINGERING);
	s->opened_ns = nic->now_ns;
	s->ctx = NULL;
	esp_timer_update(nic, s);
	nic->esp.ops[s->key.service]->ended(nic, ctx, ESP_END_CLOSED);
}

void esp_end_without_peer(struct fw_nic *nic, struct esp_stream *s, enum esp_end why)
{
	bool closed = s->state == ESP_CLOSING && s->fin_sent && fw_list_empty(&s->queue);

	esp_end(nic, s, closed ? ESP_END_CLOSED : why);
}

bool esp_opened(struct fw_nic *nic, struct esp_stream *s)
{
	bool ours = s->ctx;

	if (!s->ctx)
		s->ctx = nic->esp.ops[s->key.service]->accept(nic, &s->key, s);
	if (!s->ctx) {
		esp_abort(nic, s);
		return false;
	}
	FW_COUNT(nic, esp_streams_opened);
	esp_set_state(nic, s, s->fin_queued ? ESP_CLOSING : ESP_OPEN);
	esp_tx_ready(nic, s);
	if (ours && nic->esp.ops[s->key.service]->opened)
		nic->esp.ops[s->key.service]->opened(nic, s->ctx);
	return true;
}

/* ---- the layer above ----------------------------------------------------------------------------
 */

void esp_listen(struct fw_nic *nic, enum wire_esp_service service, const struct esp_ops *ops)
{
	assert((uint32_t)service < FW_ESP_SERVICES);
	nic->esp.ops[service] = ops;
}

void esp_send_handshake(struct fw_nic *nic, struct esp_stream *s)
{
	/* Without room in the port the timer repeats it. */
	(void)esp_tx_bare(nic, s, WIRE_ESP_SYN, 0);
}

bool esp_may(struct fw_nic *nic, uint32_t client)
{
	if (share_may(nic, client, HW_SHARE_STREAM, 1))
		return true;
	FW_COUNT(nic, esp_share_refused);
	return false;
}

bool esp_own(struct fw_nic *nic, struct esp_stream *s, uint32_t client)
{
	if (share_own(nic, client, HW_SHARE_STREAM, &s->share))
		return true;
	FW_COUNT(nic, esp_share_refused);
	return false;
}

struct esp_stream *esp_open(struct fw_nic *nic, uint32_t client, const struct esp_key *key,
			    const uint8_t *mac, uint8_t shard, void *ctx)
{
	struct esp_stream *s = esp_conn_find(nic, key);
	bool owned;

	if (s && s->state == ESP_SYN_RCVD && !s->ctx && !memcmp(s->peer_mac, mac, WIRE_MAC_BYTES)) {
		if (!esp_own(nic, s, client))
			return NULL;
		/* The peer was first. */
		s->ctx = ctx;
		return s;
	}
	if (!esp_may(nic, client))
		return NULL;
	s = new_stream(nic, key, mac);
	if (!s)
		return NULL;
	owned = esp_own(nic, s, client);
	assert(owned);
	(void)owned;
	s->ctx = ctx;
	s->peer_shard = shard;
	esp_set_state(nic, s, ESP_SYN_SENT);
	esp_send_handshake(nic, s);
	esp_timer_update(nic, s);
	return s;
}

void esp_watch(struct fw_nic *nic, struct esp_stream *s)
{
	if (!s->watchers++)
		esp_timer_update(nic, s);
}

void esp_unwatch(struct fw_nic *nic, struct esp_stream *s)
{
	(void)nic;
	assert(s->watchers);
	s->watchers--;
}

void esp_rebind(struct esp_stream *s, void *ctx)
{
	s->ctx = ctx;
}

void esp_set_patience(struct fw_nic *nic, struct esp_stream *s, uint64_t ns)
{
	(void)nic;
	if (ns < ESP_PATIENCE_NS)
		ns = ESP_PATIENCE_NS;
	s->silence_ns = ns;
	s->open_ns = ns;
}

uint64_t esp_silent_ns(const struct fw_nic *nic, const struct esp_stream *s)
{
	return nic->now_ns - s->heard_ns;
}

bool esp_is_idle(const struct esp_stream *s)
{
	return s->snd_una == s->snd_next && fw_list_empty(&s->queue);
}

bool esp_is_held(const struct esp_stream *s)
{
	return s->state == ESP_OPEN && !s->snd_window;
}

const uint8_t *esp_peer_mac(const struct esp_stream *s)
{
	return s->peer_mac;
}

uint8_t esp_station(const struct esp_stream *s)
{
	return s->station;
}

void esp_close(struct fw_nic *nic, struct esp_stream *s)
{
	if (s->fin_queued)
		return;
	s->fin_queued = true;
	if (s->state == ESP_OPEN)
		esp_set_state(nic, s, ESP_CLOSING);
	/* The layer above will not report room any more: held packets are offered again now. */
	esp_resume(nic, s);
	esp_tx_ready(nic, s);
	esp_timer_update(nic, s);
}

void esp_close_within(struct fw_nic *nic, struct esp_stream *s, uint64_t ns)
{
	s->end_ns = nic->now_ns + ns;
	esp_close(nic, s);
}

void esp_abort(struct fw_nic *nic, struct esp_stream *s)
{
	if (s->state != ESP_SYN_SENT)
		(void)esp_tx_bare(nic, s, WIRE_ESP_RST, 0);
	esp_tx_drop(nic, s);
	s->ctx = NULL;
	free_stream(nic, s);
}

/* ---- set-up */

/* Adopts the fields of the peer's handshake packet. */
static void adopt(struct fw_nic *nic, struct esp_stream *s, const struct wire_edp *edp,
		  const struct wire_esp *esp, const struct wire_esp_open *open)
{
	uint32_t mtu = be16_get(open->mtu);

	s->remote_port = be16_get(edp->src_port);
	s->dst_inc = be32_get(esp->src_inc);
	s->rcv_next = be32_get(esp->seq);
	s->snd_window = be16_get(esp->window);
	s->heard_ns = nic->now_ns;
	if (mtu > nic->config.mtu)
		mtu = nic->config.mtu;
	if (mtu > s->frame_bytes)
		s->frame_bytes = mtu;
}

/*
 * Makes a half-open stream. The layer above is notified when the peer has answered: a SYN alone may
 * be forged or old.
 */
static void accept_syn(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac,
		       const struct wire_edp *edp, const struct wire_esp *esp,
		       const struct wire_esp_open *open)
{
	struct esp_stream *s;

	if (!nic->esp.ops[key->service]->expects(nic, key, mac)) {
		FW_COUNT(nic, esp_syn_early);
		return;
	}
	s = new_stream(nic, key, mac);
	if (!s)
		return;
	adopt(nic, s, edp, esp, open);
	esp_set_state(nic, s, ESP_SYN_RCVD);
	esp_send_handshake(nic, s);
	esp_timer_update(nic, s);
}

/* Handles a SYN that does not name our incarnation. */
static void rx_first_syn(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac,
			 const struct wire_edp *edp, const struct wire_esp *esp,
			 const struct wire_esp_open *open)
{
	struct esp_stream *s = esp_conn_find(nic, key);

	if (!s) {
		accept_syn(nic, key, mac, edp, esp, open);
	} else if (memcmp(s->peer_mac, mac, WIRE_MAC_BYTES)) {
		FW_DROP(nic, drop_esp_no_stream);
	} else if (s->state == ESP_SYN_SENT) {
		/* Both opened at once: one connection. */
		adopt(nic, s, edp, esp, open);
		esp_set_state(nic, s, ESP_SYN_RCVD);
		esp_send_handshake(nic, s);
		esp_timer_update(nic, s);
	} else if (be32_get(esp->src_inc) == s->dst_inc) {
		/* It was sent again, or our answer was lost. */
		s->heard_ns = nic->now_ns;
		esp_send_handshake(nic, s);
	} else {
		/*
		 * The peer began anew, or the SYN is an old one that was delayed. A probe decides:
		 * a peer that has no such stream answers unreachable, and its next SYN is accepted.
		 */
		FW_COUNT(nic, esp_syn_foreign);
		(void)esp_tx_bare(nic, s, s->state == ESP_SYN_RCVD ? WIRE_ESP_SYN : 0, 0);
	}
}

static void rx_syn_ack(struct fw_nic *nic, struct esp_stream *s, const struct wire_edp *edp,
		       const struct wire_esp *esp, const struct wire_esp_open *open)
{
	if (s->state == ESP_SYN_SENT) {
		adopt(nic, s, edp, esp, open);
		(void)esp_opened(nic, s);
	} else if (be32_get(esp->src_inc) != s->dst_inc) {
		FW_DROP(nic, drop_esp_incarnation);
		return;
	} else if (s->state == ESP_SYN_RCVD && !esp_opened(nic, s)) {
		return;
	}
	s->heard_ns = nic->now_ns;
	/* The third packet of the handshake; it is sent again for each repetition of the second. */
	(void)esp_tx_bare(nic, s, 0, 0);
	esp_timer_update(nic, s);
}

void esp_rx_syn(struct fw_nic *nic, const uint8_t *mac, const struct wire_edp *edp,
		const struct wire_esp *esp, const struct fw_rx_frame *frame, uint32_t offset,
		uint32_t bytes)
{
	struct wire_esp_open open;
	struct eth_cursor cursor;
	struct esp_key key;
	uint32_t service;

	if (!(esp->flags & WIRE_ESP_SYN) || bytes < sizeof(open)) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	eth_cursor_init(&cursor, frame, offset, bytes);
	eth_cursor_copy(&cursor, &open, sizeof(open));
	service = be16_get(open.service);
	if (service >= FW_ESP_SERVICES || !nic->esp.ops[service] ||
	    be16_get(open.mtu) < HW_MIN_MTU || be32_get(open.reserved)) {
		FW_DROP(nic, drop_esp_malformed);
		return;
	}
	key = (struct esp_key){
	    .service = (uint16_t)service,
	    .local = be32_get(open.dst_rank),
	    .remote = be32_get(open.src_rank),
	    .key = be64_get(open.key),
	    .key2 = be64_get(open.key2),
	};
	if (esp->flags & WIRE_ESP_ACK) {
		struct esp_stream *s = esp_by_port(nic, be16_get(edp->dst_port));

		if (s && s == esp_conn_find(nic, &key))
			rx_syn_ack(nic, s, edp, esp, &open);
		else
			FW_DROP(nic, drop_esp_no_stream);
		return;
	}
	rx_first_syn(nic, &key, mac, edp, esp, &open);
}

uint16_t esp_remote_port(const struct esp_stream *s)
{
	/* A first SYN goes to the master port: the peer's own is not known yet. */
	return s->state == ESP_SYN_SENT
		   ? (uint16_t)(WIRE_EDP_PORT_BASE + s->peer_shard * WIRE_EDP_PORT_SPAN)
		   : s->remote_port;
}

void esp_rx_unreachable(struct fw_nic *nic, const uint8_t *mac, const struct wire_edp *edp,
			const struct wire_esp *esp)
{
	struct esp_stream *s = esp_by_port(nic, be16_get(edp->src_port));

	/* Only a station that saw our packets can quote them; other reports are dropped. */
	if (!s || memcmp(s->peer_mac, mac, WIRE_MAC_BYTES) ||
	    be32_get(esp->src_inc) != s->src_inc || be32_get(esp->dst_inc) != s->dst_inc ||
	    be16_get(edp->dst_port) != esp_remote_port(s)) {
		FW_DROP(nic, drop_esp_incarnation);
		return;
	}
	FW_COUNT(nic, edp_unreachable_rx);
	if (s->state == ESP_SYN_SENT)
		esp_end(nic, s, ESP_END_UNREACHABLE);
	else
		esp_end_without_peer(nic, s, ESP_END_RESET);
}
