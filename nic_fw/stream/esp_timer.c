/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one timer of an ESP stream: time-outs of the handshake and of packets, requests for missing
 * packets, probes of a peer that is silent, and the ends of waits.
 *
 * Calls esp_tx.c and esp_rx.c to repeat and to request, esp_conn.c to end the stream. ESPGOAL 3.2;
 * docs/wire-esp.md.
 */
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/fw_nic.h"

uint64_t esp_timer_rto_ns(const struct esp_stream *s, uint32_t tries)
{
	uint64_t ns = fw_rtt_timeout_ns(&s->rtt, ESP_FIRST_RTO_NS, ESP_MIN_RTO_NS);

	while (tries-- && ns < ESP_MAX_RTO_NS)
		ns *= 2;
	return ns < ESP_MAX_RTO_NS ? ns : ESP_MAX_RTO_NS;
}

/*
 * The packet that the sender itself repeats: TXS until it is acknowledged; the last one if it is
 * TXF or FIN, also when more was queued since that its acknowledgement holds up. False: the
 * receiver drives, or nothing is in flight.
 */
static bool repeated(const struct esp_stream *s, uint32_t *seq)
{
	if (s->snd_una == s->snd_next)
		return false;
	if (s->txs_unacked)
		*seq = s->txs_seq;
	else if (s->tx_idle || s->fin_sent)
		*seq = s->snd_next - 1;
	else
		return false;
	return !s->slot[*seq % WIRE_ESP_WINDOW].acked;
}

/* True if packets are missing that the peer ought to send. */
static bool drives(const struct esp_stream *s)
{
	return !s->blocked && (s->rx_open || s->received);
}

/* True if an action of the peer is awaited. */
static bool watches(const struct esp_stream *s)
{
	return s->watchers || s->snd_una != s->snd_next || s->next_xfer ||
	       s->state == ESP_CLOSING || s->state == ESP_DRAINING;
}

/* Silence counts only while an action is awaited. */
static void watch_update(const struct fw_nic *nic, struct esp_stream *s)
{
	if (watches(s) && !s->watching) {
		s->heard_ns = nic->now_ns;
		s->probes = 0;
	}
	s->watching = watches(s);
	if (!s->probes)
		s->probe_ns = s->heard_ns;
}

/*
 * Returns when the packet that the sender repeats is due, counted from its last sending or request.
 */
static uint64_t tail_due_ns(const struct esp_stream *s, uint32_t seq)
{
	uint64_t from = s->slot[seq % WIRE_ESP_WINDOW].sent_ns;

	return (from < s->asked_ns ? s->asked_ns : from) + esp_timer_rto_ns(s, s->tries);
}

/*
 * A small packet is repeated. A large one may only be queued in the network, where a copy would add
 * to the load. So the NIC queries the peer instead, which requests again all that it lacks of the
 * packets sent before the question.
 */
static void tail_repeat(struct fw_nic *nic, struct esp_stream *s, uint32_t seq)
{
	struct esp_slot *slot = &s->slot[seq % WIRE_ESP_WINDOW];
	bool sent;

	FW_COUNT(nic, esp_timeouts);
	s->tries += s->tries < UINT8_MAX;
	if (slot->large)
		sent = esp_tx_behind(nic, s, WIRE_ESP_RRQ);
	else
		sent = esp_tx_again(nic, s, seq);
	if (slot->large || !sent)
		s->asked_ns = nic->now_ns;
}

void esp_timer_update(struct fw_nic *nic, struct esp_stream *s)
{
	uint64_t at = UINT64_MAX, when;
	uint32_t seq;

	if (s->state == ESP_SYN_SENT || s->state == ESP_SYN_RCVD) {
		if (!fw_timer_is_set(&s->timer))
			fw_timer_set(&nic->timers, &s->timer,
				     nic->now_ns + esp_timer_rto_ns(s, s->tries));
		return;
	}
	if (s->state == ESP_LINGERING) {
		fw_timer_set(&nic->timers, &s->timer, s->opened_ns + ESP_LINGER_NS);
		return;
	}
	if (repeated(s, &seq))
		at = tail_due_ns(s, seq);
	if (drives(s)) {
		when = s->rrq_ns + esp_timer_rto_ns(s, s->rrq_tries);
		at = when < at ? when : at;
	}
	watch_update(nic, s);
	if (s->watching) {
		when = s->probe_ns + ESP_WATCH_NS;
		at = when < at ? when : at;
	}
	if (s->end_ns && s->end_ns < at)
		at = s->end_ns;
	if (at == UINT64_MAX)
		fw_timer_cancel(&nic->timers, &s->timer);
	else
		fw_timer_set(&nic->timers, &s->timer, at);
}

static void fire_handshake(struct fw_nic *nic, struct esp_stream *s)
{
	/*
	 * The opener repeats its SYN as long as the peer may need; the other end repeats as long as
	 * it receives SYNs.
	 */
	if (s->tries >= ESP_OPEN_TRIES &&
	    (nic->now_ns - s->opened_ns > s->open_ns ||
	     (s->state == ESP_SYN_RCVD && nic->now_ns - s->heard_ns > ESP_SILENCE_NS))) {
		esp_end(nic, s, ESP_END_UNREACHABLE);
		return;
	}
	if (s->tries < UINT8_MAX)
		s->tries++;
	if (s->state == ESP_SYN_SENT && s->ctx && s->tries >= ESP_DOUBT_TRIES &&
	    nic->esp.ops[s->key.service]->doubt)
		nic->esp.ops[s->key.service]->doubt(nic, s->ctx, s->peer_mac);
	esp_send_handshake(nic, s);
	esp_timer_update(nic, s);
}

/* True if the peer was silent in spite of all probes; an answer of any kind restarts the count. */
static bool is_lost(const struct fw_nic *nic, const struct esp_stream *s, uint32_t tries)
{
	return tries >= ESP_TRIES && nic->now_ns - s->heard_ns > s->silence_ns;
}

void esp_timer_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct esp_stream *s = FW_CONTAINER(timer, struct esp_stream, timer);
	uint32_t seq;

	if (s->state == ESP_SYN_SENT || s->state == ESP_SYN_RCVD) {
		fire_handshake(nic, s);
		return;
	}
	if (s->state == ESP_LINGERING) {
		esp_end(nic, s, ESP_END_CLOSED);
		return;
	}
	if (is_lost(nic, s, s->tries) || is_lost(nic, s, s->rrq_tries) ||
	    is_lost(nic, s, s->probes) || (s->end_ns && s->end_ns <= nic->now_ns) ||
	    (s->state == ESP_DRAINING && nic->now_ns - s->opened_ns > ESP_DRAIN_NS)) {
		esp_end_without_peer(nic, s, ESP_END_LOST);
		return;
	}
	if (repeated(s, &seq) && tail_due_ns(s, seq) <= nic->now_ns)
		tail_repeat(nic, s, seq);
	if (drives(s) && s->rrq_ns + esp_timer_rto_ns(s, s->rrq_tries) <= nic->now_ns) {
		s->rrq_tries += s->rrq_tries < UINT8_MAX;
		esp_rx_request(nic, s);
	}
	if (s->watching && s->probe_ns + ESP_WATCH_NS <= nic->now_ns) {
		s->probes += s->probes < UINT8_MAX;
		s->probe_ns = nic->now_ns;
		esp_rx_request(nic, s);
	}
	esp_timer_update(nic, s);
}
