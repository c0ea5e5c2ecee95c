/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The peers of a tagged endpoint: what both ends must agree on before a receive is announced.
 *
 * A peer is known from the first message on, and forgets all when its session has ended. Without
 * memory for it nothing is announced. A station that has as many as it may gets a new one for one
 * with which nothing is announced: the end that forgets, announces and keeps nothing until the next
 * message. Calls tag_rtr.c, tag_send.c, tag_share.c. docs/tagged.md, "Order of announcements".
 */
#include "nic_fw/fw_nic.h"

static uint32_t *tag_peer_chain(struct fw_nic *nic, const struct tag_ep *ep, uint32_t ip,
				uint32_t qpn)
{
	return &nic->tag
		    .peer_hash[fw_hash_keyed(&nic->hash_key, ip, qpn, ep->qp->qpn) % FW_HASH_SIZE];
}

static struct tag_peer *tag_peer_look_up(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip,
					 uint32_t qpn)
{
	struct tag_peer *peer = ep->last_peer;

	if (peer && peer->ip == ip && peer->qpn == qpn)
		return peer;
	fw_chain_for_each (peer, *tag_peer_chain(nic, ep, ip, qpn), fw_pool_table(&nic->tag.peers),
			   hash_next)
		if (peer->ep == ep && peer->ip == ip && peer->qpn == qpn) {
			ep->last_peer = peer;
			return peer;
		}
	return NULL;
}

static struct rd_session *session_of(struct fw_nic *nic, uint32_t ip, uint32_t qpn)
{
	return rd_session_find(nic, ip, (uint8_t)(qpn >> 16 & (WIRE_DGRAM_SHARDS - 1)));
}

/* Forgets what both ends had agreed on: the other end has done so, too. */
static void renew(struct fw_nic *nic, struct tag_peer *peer, const struct rd_session *session)
{
	tag_rtr_forget(nic, peer);
	peer->session = session->index;
	peer->life = session->recv.life;
	peer->sent = false;
	peer->taken = false;
}

struct tag_peer *tag_peer_find(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip, uint32_t qpn)
{
	struct tag_peer *peer = tag_peer_look_up(nic, ep, ip, qpn);
	const struct rd_session *session;

	if (!peer)
		return NULL;
	session = session_of(nic, ip, qpn);
	if (!session)
		return NULL;
	if (peer->session != session->index || peer->life != session->recv.life)
		renew(nic, peer, session);
	return peer;
}

/* Frees a peer with which nothing is announced. */
static void tag_peer_free(struct fw_nic *nic, struct tag_peer *peer)
{
	struct tag_ep *ep = peer->ep;
	struct fw_client *owner = &nic->host.clients[ep->qp->client];

	fw_chain_del(tag_peer_chain(nic, ep, peer->ip, peer->qpn), peer,
		     fw_pool_table(&nic->tag.peers), hash_next);
	if (ep->last_peer == peer)
		ep->last_peer = NULL;
	fw_list_del(&peer->ep_node);
	fw_list_del(&peer->station_node);
	tag_share_give(peer->share, TAG_HELD_PEERS, 1);
	tag_share_put(nic, peer->share);
	owner->tag_peers_held--;
	owner->share->user->tag_peers--;
	fw_pool_put(&nic->tag.peers, peer);
}

/* Forgets a peer of this station with which nothing is announced. False: none was seen. */
static bool forget_one(struct fw_nic *nic, struct tag_share *station)
{
	uint32_t n;

	for (n = 0; n < TAG_PEERS_LOOK && !fw_list_empty(&station->peers); n++) {
		struct tag_peer *peer =
		    FW_CONTAINER(fw_list_take(&station->peers), struct tag_peer, station_node);

		fw_list_add_tail(&station->peers, &peer->station_node);
		if (!peer->num_rtrs && !peer->num_announced && !peer->num_watched) {
			tag_peer_free(nic, peer);
			return true;
		}
	}
	return false;
}

/* Takes a place for a peer in the part of its station. NULL: there is none. */
static struct tag_peer *take_place(struct fw_nic *nic, const struct tag_ep *ep,
				   struct tag_share *share)
{
	const struct fw_client *owner = &nic->host.clients[ep->qp->client];
	uint64_t free =
	    tag_share_free(&nic->tag.peers, owner->tag_peers_held, owner->share->user->tag_peers);

	if (!tag_share_may(share, TAG_HELD_PEERS, 1, free) && !forget_one(nic, share->station)) {
		FW_COUNT(nic, tag_peers_share_refused);
		return NULL;
	}
	return fw_pool_get(&nic->tag.peers);
}

struct tag_peer *tag_peer_get(struct fw_nic *nic, struct tag_ep *ep, uint32_t ip, uint32_t qpn)
{
	struct fw_client *owner = &nic->host.clients[ep->qp->client];
	struct tag_peer *peer = tag_peer_find(nic, ep, ip, qpn);
	const struct rd_session *session;
	struct tag_share *share;

	if (peer)
		return peer;
	session = session_of(nic, ip, qpn);
	if (!session || tag_peer_look_up(nic, ep, ip, qpn))
		return NULL;
	share = tag_share_get(nic, ep, ip, qpn);
	if (!share)
		return NULL;
	peer = take_place(nic, ep, share);
	if (!peer) {
		tag_share_put(nic, share);
		return NULL;
	}
	memset(peer, 0, sizeof(*peer));
	peer->ep = ep;
	peer->share = share;
	tag_share_take(share, TAG_HELD_PEERS, 1);
	fw_list_add_tail(&share->station->peers, &peer->station_node);
	peer->ip = ip;
	peer->qpn = qpn;
	fw_list_init(&peer->rtrs);
	fw_list_init(&peer->announced);
	renew(nic, peer, session);
	fw_list_add_tail(&ep->peers, &peer->ep_node);
	fw_chain_add(tag_peer_chain(nic, ep, ip, qpn), &peer->hash_next,
		     fw_pool_index(&nic->tag.peers, peer));
	owner->tag_peers_held++;
	owner->share->user->tag_peers++;
	ep->last_peer = peer;
	return peer;
}

bool tag_peer_flush(struct fw_nic *nic, struct tag_ep *ep)
{
	while (!fw_list_empty(&ep->peers)) {
		struct tag_peer *peer = FW_CONTAINER(ep->peers.next, struct tag_peer, ep_node);

		if (!slice_take(nic, FW_SLICE_FLOW_UNITS))
			return false;
		tag_rtr_forget(nic, peer);
		tag_peer_free(nic, peer);
	}
	return true;
}

void tag_peer_took(struct fw_nic *nic, struct tag_ep *ep, const struct rdmap_seg *pkt)
{
	struct tag_peer *peer = tag_peer_get(nic, ep, pkt->src_ip, pkt->src_qpn);

	if (!peer)
		return;
	peer->taken = true;
	peer->taken_ssn = pkt->ssn;
}

void tag_peer_gone(struct fw_nic *nic, struct fw_list *sends, struct fw_list *written)
{
	tag_send_peer_down(nic, sends);
	tag_rtr_peer_down(nic, written);
	slice_wait(&nic->slices, SLICE_TAG);
	tag_peer_slice(nic);
}

bool tag_peer_slice_pending(const struct fw_nic *nic)
{
	return !fw_list_empty(&nic->tag.downs) || !fw_list_empty(&nic->tag.lost);
}

void tag_peer_slice(struct fw_nic *nic)
{
	tag_send_slice(nic);
	tag_rtr_slice(nic);
}
