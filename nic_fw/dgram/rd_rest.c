/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle sessions of RD.
 *
 * A process may talk to thousands of peers, but to few at a time. A session without messages,
 * packets in flight, holes, refusals or timers is put to rest: what it must know when it goes on
 * (PSNs, epochs, credits, RTT, window) is copied into struct rd_peer as it is, and its struct
 * rd_session goes back to the pool. A look-up of the peer wakes it. The pool has one for each peer,
 * so none ever waits.
 *
 * Memory that was touched once stays in use, so the number of sessions awake at a time counts: each
 * one that is woken lets this file look at two others, at the end of the turn. Calls no other file.
 */
#include "nic_fw/fw_nic.h"

enum {
	REST_LOOKS = 2, /* for each session that was woken: more rest than wake */
	REST_LOOKS_TURN = 64,
};

static_assert(RD_KEPT_AT % 8 == 0, "kept members have the alignment of the session's");
/* With its entry of the neighbour table and a process's address handle. */
static_assert(sizeof(struct rd_peer) + sizeof(struct neigh) + sizeof(struct fw_ah) <= 400,
	      "memory of an idle peer");

static void rd_rest_init(struct rd_session *s, uint32_t index, const struct rd_peer *peer)
{
	memset(s, 0, sizeof(*s));
	s->recv = (struct recv_peer){.life = peer->life, .ip = peer->ip, .shard = peer->shard};
	s->index = index;
	s->peer_ip = peer->ip;
	s->peer_shard = peer->shard;
	fw_list_init(&s->ready_node);
	fw_list_init(&s->ack_node);
	fw_list_init(&s->grant_node);
	fw_list_init(&s->held_node);
	fw_list_init(&s->wait_node);
	fw_list_init(&s->flows);
	fw_list_init(&s->all_flows);
	fw_list_init(&s->ended);
	fw_list_init(&s->failing);
	fw_list_init(&s->ending_node);
	fw_list_init(&s->recv.recvs);
	fw_list_init(&s->tag_sends);
	fw_list_init(&s->tag_written);
	fw_timer_init(&s->timer, FW_TIMER_RD_SESSION);
	fw_timer_init(&s->pace_timer, FW_TIMER_RD_PACE);
}

/* Nothing is in flight, and nothing is missing. */
static void rd_rest_restore(struct rd_session *s, const struct rd_peer *peer)
{
	memcpy((uint8_t *)s + RD_KEPT_AT, peer->kept, RD_KEPT_BYTES);
	s->tx_una = s->tx_psn;
	s->rx_high = s->rx_psn;
}

static struct rd_session *rd_rest_take(struct fw_nic *nic, struct rd_peer *peer)
{
	struct rd_session *s = fw_pool_get(&nic->rd.awake);

	assert(s && peer->awake == FW_NONE);
	rd_rest_init(s, (uint32_t)(peer - nic->rd.peers), peer);
	peer->awake = fw_pool_index(&nic->rd.awake, s);
	fw_list_add_tail(&nic->rd.awake_list, &s->awake_node);
	if (nic->rd.awake.used > nic->config.rd_awake && nic->rd.rest_looks < REST_LOOKS_TURN)
		nic->rd.rest_looks += REST_LOOKS;
	return s;
}

static void rd_rest_put(struct fw_nic *nic, struct rd_peer *peer, struct rd_session *s)
{
	peer->life = s->recv.life;
	peer->awake = FW_NONE;
	if (nic->rd.session_found == s)
		nic->rd.session_found = NULL;
	fw_list_del(&s->awake_node);
	fw_pool_put(&nic->rd.awake, s);
}

struct rd_session *rd_rest_new(struct fw_nic *nic, uint32_t index, uint32_t ip, uint8_t shard)
{
	struct rd_peer *peer = &nic->rd.peers[index];

	assert(!peer->used);
	/* Receives of an earlier session of this number may still be completing: its life goes on.
	 */
	peer->used = true;
	peer->ip = ip;
	peer->shard = shard;
	peer->awake = FW_NONE;
	return rd_rest_take(nic, peer);
}

struct rd_session *rd_rest_wake(struct fw_nic *nic, struct rd_peer *peer)
{
	struct rd_session *s;

	if (peer->awake != FW_NONE)
		return fw_pool_at(&nic->rd.awake, peer->awake);
	s = rd_rest_take(nic, peer);
	rd_rest_restore(s, peer);
	return s;
}

const struct rd_session *rd_rest_view(const struct fw_nic *nic, const struct rd_peer *peer,
				      struct rd_session *copy)
{
	if (peer->awake != FW_NONE)
		return fw_pool_at(&nic->rd.awake, peer->awake);
	rd_rest_init(copy, (uint32_t)(peer - nic->rd.peers), peer);
	rd_rest_restore(copy, peer);
	return copy;
}

void rd_rest_end(struct fw_nic *nic, struct rd_session *s)
{
	struct rd_peer *peer = &nic->rd.peers[s->index];

	peer->used = false;
	rd_rest_put(nic, peer, s);
}

/* True if all members that are not kept have their first values, or are not looked at. */
static bool rd_rest_may(const struct rd_session *s)
{
	return ((s->state == RD_OPEN && s->confirmed) || s->state == RD_CLOSED) && !s->tx &&
	       s->tx_una == s->tx_psn && !s->hole_ns && !rd_is_amid(s) &&
	       fw_list_empty(&s->all_flows) && fw_list_empty(&s->flows) &&
	       s->rx_high == s->rx_psn && !s->any_refused && !s->ack_due && !s->pend &&
	       !s->half_open && !s->backlogged && !s->rx_out_bytes && !s->look_for &&
	       !s->look_next && (!s->probe.ns || s->ts_echo_ns >= s->probe.ns) &&
	       fw_list_empty(&s->ended) && fw_list_empty(&s->failing) &&
	       !fw_list_linked(&s->ending_node) && !fw_list_linked(&s->ready_node) &&
	       !fw_list_linked(&s->grant_node) && !fw_list_linked(&s->held_node) &&
	       !fw_list_linked(&s->wait_node) && !fw_timer_is_set(&s->timer) &&
	       !fw_timer_is_set(&s->pace_timer);
}

void rd_rest_look(struct fw_nic *nic)
{
	for (; nic->rd.rest_looks && nic->rd.awake.used > nic->config.rd_awake;
	     nic->rd.rest_looks--) {
		struct rd_session *s =
		    FW_CONTAINER(fw_list_pop(&nic->rd.awake_list), struct rd_session, awake_node);
		struct rd_peer *peer = &nic->rd.peers[s->index];

		fw_list_add_tail(&nic->rd.awake_list, &s->awake_node);
		if (!rd_rest_may(s))
			continue;
		memcpy(peer->kept, (const uint8_t *)s + RD_KEPT_AT, RD_KEPT_BYTES);
		rd_rest_put(nic, peer, s);
	}
	nic->rd.rest_looks = 0;
}
