/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions of RD: one per (this shard, peer address, peer shard).
 *
 * A session opens with HELLO and its reply (rd_hello.c), which exchange each side's epoch, first
 * PSN and MTU. Every other packet carries the receiver's epoch, so that packets of an earlier
 * session, or of a station that never saw the HELLO, are dropped. The end that a HELLO of the peer
 * opened sends data only after the peer has used its epoch. Calls rd_hello.c, rd_flow.c and
 * neigh.c. ARCHITECTURE.md "RD in one page"; docs/wire-format.md "Opening a session".
 */
#include <assert.h>
#include <stddef.h>

#include "nic_fw/fw_nic.h"

static_assert(offsetof(struct rd_session, rx_data) <= 192, "a packet touches three cache lines");
static_assert(sizeof(struct rd_session) <= 832, "thirteen cache lines");

static void set_state(struct fw_nic *nic, struct rd_session *s, enum rd_state state)
{
	static const uint8_t legal[RD_STATES] = {
	    [RD_FREE] = 1 << RD_CLOSED,
	    [RD_CLOSED] = 1 << RD_RESOLVING | 1 << RD_HELLO_SENT | 1 << RD_OPEN | 1 << RD_FREE,
	    [RD_RESOLVING] = 1 << RD_HELLO_SENT | 1 << RD_OPEN | 1 << RD_CLOSED,
	    [RD_HELLO_SENT] = 1 << RD_OPEN | 1 << RD_CLOSED,
	    [RD_OPEN] = 1 << RD_CLOSED,
	};

	assert(legal[s->state] & 1 << state);
	if (s->state == RD_OPEN)
		rd_grant_close(nic, s);
	if (state == RD_OPEN)
		rd_grant_open(nic, s);
	if (s->half_open)
		rd_share_heard(nic, s);
	if (state == RD_RESOLVING)
		fw_list_add_tail(&nic->rd.resolving, &s->wait_node);
	else
		fw_list_del(&s->wait_node);
	s->state = (uint8_t)state;
}

uint32_t rd_session_new_epoch(struct fw_nic *nic)
{
	uint32_t epoch;

	do
		epoch = (uint32_t)(nic->port.random64(nic->port.ctx) >> 32);
	while (!epoch);
	return epoch;
}

static uint32_t *rd_session_bucket(struct fw_nic *nic, uint32_t ip, uint8_t shard)
{
	return &nic->rd.session_hash[fw_hash_keyed(&nic->hash_key, ip, shard, 0) % HW_MAX_PEERS];
}

struct rd_session *rd_session_look_up(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard)
{
	struct rd_peer *peer;

	fw_chain_for_each (peer, *rd_session_bucket(nic, peer_ip, peer_shard), nic->rd.peers,
			   hash_next)
		if (peer->ip == peer_ip && peer->shard == peer_shard) {
			nic->rd.session_found = rd_rest_wake(nic, peer);
			return nic->rd.session_found;
		}
	return NULL;
}

static void new_session_epoch(struct fw_nic *nic, struct rd_session *s)
{
	s->epoch = rd_session_new_epoch(nic);
	s->epoch_ns = nic->now_ns;
	s->cookie = 0;
}

/*
 * True if it was unused for so long that the peer, too, would send a new HELLO before data
 * (RD_STALE_NS): evicting such a session cannot lose a message.
 */
static bool is_idle(const struct fw_nic *nic, const struct rd_session *s)
{
	return nic->now_ns - s->used_ns > RD_EVICT_IDLE_NS && fw_list_empty(&s->all_flows) &&
	       !s->tx && !rd_is_amid(s) && !s->ack_due && !fw_list_linked(&s->ending_node) &&
	       (s->state == RD_OPEN || s->state == RD_CLOSED);
}

void rd_session_release(struct fw_nic *nic, struct rd_session *s)
{
	assert(fw_list_empty(&s->all_flows) && fw_list_empty(&s->ended) &&
	       fw_list_empty(&s->failing));
	fw_list_del(&s->ending_node);
	fw_chain_del(rd_session_bucket(nic, s->peer_ip, s->peer_shard), &nic->rd.peers[s->index],
		     nic->rd.peers, hash_next);
	fw_timer_cancel(&nic->timers, &s->timer);
	fw_timer_cancel(&nic->timers, &s->pace_timer);
	fw_list_del(&s->ready_node);
	fw_list_del(&s->ack_node);
	if (s->state != RD_CLOSED)
		set_state(nic, s, RD_CLOSED);
	recv_abort_peer(nic, &s->recv);
	if (!fw_list_empty(&s->tag_sends) || !fw_list_empty(&s->tag_written))
		host_up.tag_peer_down(nic, &s->tag_sends, &s->tag_written);
	rd_share_leave(nic, s);
	set_state(nic, s, RD_FREE);
	share_disown(nic, HW_SHARE_SESSION, &s->share);
	fw_ids_put(&nic->rd.session_ids, s->index);
	rd_rest_end(nic, s);
}

bool rd_session_evict(struct fw_nic *nic, uint32_t user, uint32_t station)
{
	struct rd_session copy;
	uint32_t i;

	for (i = 0; i < 64 && nic->rd.session_ids.high; i++) {
		struct rd_peer *peer =
		    &nic->rd.peers[nic->rd.session_hand++ % nic->rd.session_ids.high];
		const struct rd_session *s;

		if (!peer->used)
			continue;
		s = rd_rest_view(nic, peer, &copy);
		if ((!user || s->share.user == user) &&
		    (station == FW_NONE || (s->foreign && s->station == station)) &&
		    is_idle(nic, s)) {
			rd_session_release(nic, rd_rest_wake(nic, peer));
			return true;
		}
	}
	return false;
}

static void hello_timer(struct fw_nic *nic, struct rd_session *s);

void rd_session_fire(struct fw_nic *nic, struct fw_timer *timer)
{
	struct rd_session *s = FW_CONTAINER(timer, struct rd_session, timer);

	if (s->state == RD_OPEN && s->confirmed)
		rd_timer_fire(nic, timer);
	else
		hello_timer(nic, s);
}

struct rd_session *rd_session_get(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard)
{
	struct rd_session *s = rd_session_find(nic, peer_ip, peer_shard);
	uint32_t *head;
	uint32_t i;

	if (s)
		return s;
	i = fw_ids_get(&nic->rd.session_ids);
	if (i == FW_NONE && rd_session_evict(nic, 0, FW_NONE))
		i = fw_ids_get(&nic->rd.session_ids);
	if (i == FW_NONE)
		return NULL;
	s = rd_rest_new(nic, i, peer_ip, peer_shard);
	new_session_epoch(nic, s);
	s->neigh_seen = nic->net.neigh_changes;
	set_state(nic, s, RD_CLOSED);
	head = rd_session_bucket(nic, peer_ip, peer_shard);
	fw_chain_add(head, &nic->rd.peers[i].hash_next, i);
	return s;
}

static uint64_t hello_delay_ns(const struct rd_session *s)
{
	uint64_t ns = RD_HELLO_RETRY_NS << (s->hello_tries < 9 ? s->hello_tries : 9);

	return ns < RD_MAX_RTO_NS ? ns : RD_MAX_RTO_NS;
}

/* A session that a HELLO made stays charged to the station of that HELLO. */
static void know_station(struct fw_nic *nic, struct rd_session *s)
{
	if (!s->foreign)
		s->station = station_of(nic, s->peer_mac);
}

static void send_first_hello(struct fw_nic *nic, struct rd_session *s)
{
	know_station(nic, s);
	set_state(nic, s, RD_HELLO_SENT);
	s->hello_tries = 0;
	rd_hello_tx(nic, s);
	fw_timer_set(&nic->timers, &s->timer, nic->now_ns + hello_delay_ns(s));
}

/*
 * A HELLO alone has opened the session, and it may be an echo of the past. The peer may still be in
 * its old session with us, where a packet of the new one could pass for an old one with the same
 * PSN. A probe is therefore sent first, and no data before the peer has used our epoch. A peer that
 * has no record of the session answers with a reset.
 */
void rd_session_ask(struct fw_nic *nic, struct rd_session *s)
{
	if (fw_timer_is_set(&s->timer))
		return;
	s->hello_tries = 0;
	rd_tx_probe(nic, s);
	fw_timer_set(&nic->timers, &s->timer, nic->now_ns + hello_delay_ns(s));
}

void rd_session_confirm(struct fw_nic *nic, struct rd_session *s)
{
	s->confirmed = true;
	fw_timer_cancel(&nic->timers, &s->timer);
	if (!fw_list_empty(&s->flows))
		rd_session_ready(nic, s);
}

/*
 * True if the peer was offered another session and may use it. An older one is as stale as a
 * session: the peer sends a new HELLO before data.
 */
static bool offer_is_recent(const struct fw_nic *nic, const struct rd_session *s)
{
	return s->pend && nic->now_ns - s->pend_ns <= RD_STALE_NS;
}

void rd_session_start(struct fw_nic *nic, struct rd_session *s)
{
	/* A local process has something to send to that peer. */
	if (s->half_open)
		rd_share_heard(nic, s);
	if (s->state == RD_OPEN && !s->tx && !rd_is_amid(s) && fw_list_empty(&s->all_flows) &&
	    nic->now_ns - s->used_ns > RD_STALE_NS) {
		if (offer_is_recent(nic, s)) {
			rd_session_commit(nic, s, nic->now_ns);
			return;
		}
		/* The peer may have evicted its session meanwhile: send a new HELLO before data. */
		set_state(nic, s, RD_CLOSED);
		new_session_epoch(nic, s);
		s->pend = false;
	}
	if (s->state == RD_OPEN && !s->confirmed)
		rd_session_ask(nic, s);
	if (s->state != RD_CLOSED)
		return;
	s->tx_psn = (uint32_t)nic->port.random64(nic->port.ctx);
	s->tx_una = s->tx_psn;
	s->first_psn = s->tx_psn;
	s->peer_epoch = 0;
	s->hello_tries = 0;
	switch (neigh_lookup(nic, s->peer_ip, s->peer_mac)) {
	case NEIGH_OK:
		send_first_hello(nic, s);
		return;
	case NEIGH_WAIT:
		/*
		 * neigh.c calls back; the timer looks again in case it had no room for a request.
		 */
		set_state(nic, s, RD_RESOLVING);
		fw_timer_set(&nic->timers, &s->timer, nic->now_ns + hello_delay_ns(s));
		return;
	case NEIGH_UNREACHABLE:
		/* The timer reports the failure, because the caller's message is not queued yet. */
		set_state(nic, s, RD_RESOLVING);
		fw_timer_set(&nic->timers, &s->timer, nic->now_ns);
		return;
	}
}

/* The address may be known by now, or known to be unreachable. */
static void look_up(struct fw_nic *nic, struct rd_session *s)
{
	switch (neigh_lookup(nic, s->peer_ip, s->peer_mac)) {
	case NEIGH_OK:
		send_first_hello(nic, s);
		break;
	case NEIGH_WAIT:
		break;
	case NEIGH_UNREACHABLE:
		rd_session_fail(nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_UNREACHABLE);
		break;
	}
}

void rd_session_doubt_mac(struct fw_nic *nic, struct rd_session *s)
{
	uint8_t mac[WIRE_MAC_BYTES];

	if (neigh_lookup(nic, s->peer_ip, mac) == NEIGH_OK)
		memcpy(s->peer_mac, mac, sizeof(mac));
	neigh_doubt(nic, s->peer_ip);
}

void rd_session_fresh_mac(struct fw_nic *nic, struct rd_session *s)
{
	uint8_t mac[WIRE_MAC_BYTES];

	if (s->neigh_seen == nic->net.neigh_changes)
		return;
	s->neigh_seen = nic->net.neigh_changes;
	if (neigh_lookup(nic, s->peer_ip, mac) == NEIGH_OK)
		memcpy(s->peer_mac, mac, sizeof(mac));
}

/*
 * Marks open sessions to check their next hop before they send again: one next hop may serve all of
 * them.
 */
void rd_session_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)ip;
	nic->net.neigh_changes += ok;
	neigh_wait_over(nic, NEIGH_WAIT_RD, &nic->rd.resolving);
}

void rd_session_neigh_look(struct fw_nic *nic, struct fw_list *node)
{
	struct rd_session *s = FW_CONTAINER(node, struct rd_session, wait_node);

	look_up(nic, s);
	if (s->state == RD_RESOLVING && !fw_list_linked(&s->wait_node))
		fw_list_add_tail(&nic->rd.resolving, &s->wait_node);
}

static void hello_timer(struct fw_nic *nic, struct rd_session *s)
{
	if (s->state != RD_HELLO_SENT && s->state != RD_RESOLVING && s->state != RD_OPEN)
		return;
	if (s->state == RD_OPEN && fw_list_empty(&s->all_flows))
		return;
	if (++s->hello_tries >= RD_HELLO_TRIES || fw_list_empty(&s->all_flows)) {
		rd_session_fail(nic, s, HW_STATUS_RETRY_EXC_ERR, HW_VENDOR_ERR_NONE);
		return;
	}
	rd_flow_check_limits(nic, s);
	if (s->state == RD_RESOLVING) {
		look_up(nic, s);
		if (s->state != RD_RESOLVING)
			return;
	} else {
		if (s->hello_tries >= RD_HELLO_DOUBT)
			rd_session_doubt_mac(nic, s);
		if (s->state == RD_OPEN)
			rd_tx_probe(nic, s);
		else
			rd_hello_repeat(nic, s);
	}
	fw_timer_set(&nic->timers, &s->timer, nic->now_ns + hello_delay_ns(s));
}

void rd_session_adopt(struct fw_nic *nic, struct rd_session *s, uint32_t peer_epoch, uint32_t psn,
		      uint16_t peer_mtu, bool bundle)
{
	uint32_t mtu = peer_mtu < nic->config.mtu ? peer_mtu : nic->config.mtu;

	if (s->state == RD_CLOSED) {
		s->tx_psn = (uint32_t)nic->port.random64(nic->port.ctx);
		s->tx_una = s->tx_psn;
		s->first_psn = s->tx_psn;
	}
	know_station(nic, s);
	s->peer_epoch = peer_epoch;
	s->segment_bytes = (uint16_t)dgram_segment_bytes(mtu, true);
	s->bundle = bundle;
	s->rx_psn = psn;
	s->rx_high = psn;
	memset(&s->received, 0, sizeof(s->received));
	memset(&s->delivered, 0, sizeof(s->delivered));
	memset(&s->refused, 0, sizeof(s->refused));
	s->any_refused = false;
	s->rtt = (struct fw_rtt){0};
	s->path_ns = 0;
	rd_cong_init(nic, s);
	s->backoff = 0;
	s->undo_cwnd_fp = 0;
	s->ts_echo_ns = 0;
	s->probe.ns = 0;
	s->confirmed = false;
	s->astray = false;
	s->una_ns = nic->now_ns;
	s->used_ns = nic->now_ns;
	fw_timer_cancel(&nic->timers, &s->timer);
	set_state(nic, s, RD_OPEN);
	FW_COUNT(nic, rd_sessions_opened);
}

static void free_windows(struct fw_nic *nic, struct rd_session *s)
{
	uint32_t i;

	if (s->tx)
		fw_pool_put(&nic->rd.tx_windows, s->tx);
	s->tx = NULL;
	s->lost = 0;
	s->sent = 0;
	s->resent = 0;
	fw_timer_cancel(&nic->timers, &s->pace_timer);
	if (s->rx) {
		for (i = 0; i < WIRE_RD_WINDOW; i++)
			if (s->rx->held[i])
				rd_held_put(nic, s->rx->held[i]);
		fw_pool_put(&nic->rd.rx_windows, s->rx);
	}
	s->rx = NULL;
	s->held_count = 0;
	s->cancels = 0;
	s->tx_una = s->tx_psn;
	s->tlp_sent = false;
	s->hole_ns = 0;
}

/*
 * Ends the current session: it is CLOSED when its messages complete. The caller calls
 * rd_ending_run() when the session is in its next state.
 */
static void close_session(struct fw_nic *nic, struct rd_session *s, enum hw_status status,
			  enum hw_vendor_err vendor_err, uint64_t since_ns)
{
	if (s->state != RD_CLOSED)
		set_state(nic, s, RD_CLOSED);
	fw_timer_cancel(&nic->timers, &s->timer);
	fw_list_del(&s->ready_node);
	fw_list_del(&s->ack_node);
	s->ack_due = false;
	free_windows(nic, s);
	new_session_epoch(nic, s);
	rd_ending_session(nic, s, status, vendor_err, since_ns);
	recv_abort_peer(nic, &s->recv);
	if (!fw_list_empty(&s->tag_sends) || !fw_list_empty(&s->tag_written))
		host_up.tag_peer_down(nic, &s->tag_sends, &s->tag_written);
}

/*
 * Requests that were first sent in that time count as never sent. Clocks may differ by a
 * thousandth.
 */
void rd_session_reset(struct fw_nic *nic, struct rd_session *s, uint32_t epoch, uint32_t quiet_us)
{
	uint64_t quiet_ns = quiet_us * RD_QUIET_UNIT_NS;
	uint64_t since_ns;

	if (s->state != RD_OPEN || epoch != s->peer_epoch)
		return;
	FW_COUNT(nic, rd_peer_restarts);
	quiet_ns -= quiet_ns / 1024;
	since_ns = quiet_ns < nic->now_ns ? nic->now_ns - quiet_ns : 0;
	/* The HELLO that opened it was an echo of the past: no data were sent yet. */
	if (!s->confirmed)
		since_ns = 0;
	/* The peer may use what it was offered already. */
	if (s->pend) {
		rd_session_commit(nic, s, since_ns < s->pend_ns ? since_ns : s->pend_ns);
		return;
	}
	if (s->confirmed)
		FW_COUNT(nic, rd_sessions_failed);
	close_session(nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_PEER_RESTART, since_ns);
	rd_ending_run(nic);
}

void rd_session_fail(struct fw_nic *nic, struct rd_session *s, enum hw_status status,
		     enum hw_vendor_err vendor_err)
{
	FW_COUNT(nic, rd_sessions_failed);
	s->pend = false;
	close_session(nic, s, status, vendor_err, UINT64_MAX);
	rd_ending_run(nic);
}

void rd_session_renew(struct fw_nic *nic, struct rd_session *s)
{
	FW_COUNT(nic, rd_sessions_failed);
	s->pend = false;
	close_session(nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_PEER_RESTART, nic->now_ns);
	rd_ending_run(nic);
}

void rd_session_commit(struct fw_nic *nic, struct rd_session *s, uint64_t since_ns)
{
	uint32_t epoch = s->pend_epoch;
	uint32_t peer_epoch = s->pend_peer_epoch;
	uint32_t psn = s->pend_psn;
	uint32_t tx_psn = s->pend_tx_psn;
	uint16_t mtu = s->pend_mtu;
	bool bundle = s->pend_bundle;

	s->pend = false;
	FW_COUNT(nic, rd_peer_restarts);
	close_session(nic, s, HW_STATUS_REM_ABORT_ERR, HW_VENDOR_ERR_PEER_RESTART, since_ns);
	s->epoch = epoch;
	rd_session_adopt(nic, s, peer_epoch, psn, mtu, bundle);
	s->tx_psn = tx_psn;
	s->tx_una = tx_psn;
	s->first_psn = tx_psn;
	rd_session_confirm(nic, s);
	rd_ending_run(nic);
}
