/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints of the connection manager: their states, their private data, and their ends.
 *
 * Calls the transport of an endpoint (struct cm_ops), cm_event.c to notify the process, and qp.c to
 * end the endpoint's queue pair. docs/connection-manager.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	ID_PLACE_MASK = 0xffff,
};

/* ---- private data --------------------------------------------------------------------------- */

uint8_t *cm_tx_room(struct fw_nic *nic, struct cm_ep *ep)
{
	if (!ep->tx_data) {
		ep->tx_data = fw_pool_get(&nic->cm.data);
		assert(ep->tx_data);
		/* Stale data of another process must not go to this endpoint's peer. */
		memset(ep->tx_data, 0, CM_DATA_BYTES);
	}
	return ep->tx_data;
}

void cm_tx_drop(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->tx_bytes = 0;
	if (ep->tx_data)
		fw_pool_put(&nic->cm.data, ep->tx_data);
	ep->tx_data = NULL;
}

void cm_rx_free(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->rx_bytes = 0;
	ep->rest = false;
	if (ep->rx_data)
		fw_pool_put(&nic->cm.data, ep->rx_data);
	ep->rx_data = NULL;
}

/*
 * Drops a rest that the process did not fetch: rdma_cm can report only 255 bytes, and does not
 * fetch it.
 */
static void rx_drop(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->rest)
		FW_COUNT(nic, cm_data_unread);
	cm_rx_free(nic, ep);
}

uint8_t *cm_rx_room(struct fw_nic *nic, struct cm_ep *ep, uint32_t bytes)
{
	if (!bytes || ep->client == CM_NO_CLIENT)
		return NULL;
	if (ep->rest)
		rx_drop(nic, ep);
	if (ep->rx_data) {
		FW_COUNT(nic, cm_data_unread);
		return NULL;
	}
	assert(bytes <= HW_CM_MAX_DATA);
	ep->rx_data = fw_pool_get(&nic->cm.data);
	assert(ep->rx_data);
	ep->rx_bytes = (uint16_t)bytes;
	return ep->rx_data;
}

/* ---- states --------------------------------------------------------------------------------- */

/* Unties the endpoint's QP, and returns it. */
static struct fw_qp *untie(struct fw_nic *nic, struct cm_ep *ep)
{
	struct fw_qp *qp = ep->qpn ? qp_find(nic, ep->qpn) : NULL;

	ep->qpn = 0;
	if (!qp || qp->cm != ep->index + 1)
		return NULL;
	qp->cm = 0;
	return qp;
}

void cm_untie(struct fw_nic *nic, struct cm_ep *ep)
{
	(void)untie(nic, ep);
}

void cm_set_state(struct fw_nic *nic, struct cm_ep *ep, enum cm_state state)
{
	static const uint16_t legal[CM_STATES] = {
	    [CM_FREE] = 1 << CM_IDLE,
	    [CM_IDLE] = 1 << CM_RESOLVING | 1 << CM_LISTEN | 1 << CM_REQ_SENT | 1 << CM_REQ_RCVD |
			1 << CM_FREE,
	    [CM_RESOLVING] = 1 << CM_IDLE | 1 << CM_FREE,
	    [CM_LISTEN] = 1 << CM_FREE,
	    [CM_REQ_SENT] =
		1 << CM_IDLE | 1 << CM_REP_RCVD | 1 << CM_FOUND | 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_REQ_RCVD] = 1 << CM_REP_SENT | 1 << CM_FOUND | 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_REP_SENT] = 1 << CM_ESTABLISHED | 1 << CM_DREQ_SENT | 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_REP_RCVD] = 1 << CM_ESTABLISHED | 1 << CM_DREQ_SENT | 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_ESTABLISHED] = 1 << CM_DREQ_SENT | 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_DREQ_SENT] = 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_FOUND] = 1 << CM_LINGER | 1 << CM_FREE,
	    [CM_LINGER] = 1 << CM_IDLE | 1 << CM_FREE,
	};

	assert(legal[ep->state] & 1 << state);
	fw_trace(nic, TRACE_CM_STATE, ep->qpn, ep->state, state);
	nic->cm.num_listeners += state == CM_LISTEN;
	nic->cm.num_listeners -= ep->state == CM_LISTEN;
	ep->state = (uint8_t)state;
	/* Each end has received the other's private data. */
	if (state == CM_ESTABLISHED)
		cm_tx_drop(nic, ep);
	if (state == CM_ESTABLISHED && ep->rest)
		rx_drop(nic, ep);
	/* The request has failed. The process may tie another queue pair for its next request. */
	if (state == CM_IDLE)
		(void)untie(nic, ep);
}

struct cm_ep *cm_own(struct fw_nic *nic, uint32_t client, uint32_t ep)
{
	if (ep >= nic->cm.ids.high || nic->cm.eps[ep].state == CM_FREE ||
	    nic->cm.eps[ep].client != client)
		return NULL;
	return &nic->cm.eps[ep];
}

struct cm_ep *cm_find(struct fw_nic *nic, uint64_t local_id)
{
	uint32_t place = (uint32_t)(local_id & ID_PLACE_MASK);
	struct cm_ep *ep;

	if (place >= nic->cm.ids.high)
		return NULL;
	ep = &nic->cm.eps[place];
	return ep->state != CM_FREE && ep->local_id == local_id ? ep : NULL;
}

static uint32_t *cm_bucket(struct fw_nic *nic, uint32_t peer_ip, uint64_t peer_id)
{
	return &nic->cm.hash[fw_hash_keyed(&nic->hash_key, peer_ip, (uint32_t)peer_id,
					   (uint32_t)(peer_id >> 32)) %
			     CM_HASH_SIZE];
}

struct cm_ep *cm_find_peer(struct fw_nic *nic, uint32_t peer_ip, uint64_t peer_id)
{
	struct cm_ep *ep;

	fw_chain_for_each (ep, *cm_bucket(nic, peer_ip, peer_id), nic->cm.eps, hash_next)
		if (ep->peer_ip == peer_ip && ep->peer_id == peer_id)
			return ep;
	return NULL;
}

void cm_hash(struct fw_nic *nic, struct cm_ep *ep)
{
	uint32_t *head = cm_bucket(nic, ep->peer_ip, ep->peer_id);

	assert(!ep->hashed);
	fw_chain_add(head, &ep->hash_next, ep->index);
	ep->hashed = true;
}

static void cm_unhash(struct fw_nic *nic, struct cm_ep *ep)
{
	if (!ep->hashed)
		return;
	fw_chain_del(cm_bucket(nic, ep->peer_ip, ep->peer_id), ep, nic->cm.eps, hash_next);
	ep->hashed = false;
}

void cm_orphan(struct fw_nic *nic, struct cm_ep *ep)
{
	fw_list_del(&ep->node);
	/* That of a connection over TCP lives as long as the connection. */
	if (!ep->mpa)
		fw_list_add_tail(ep->state == CM_LINGER ? &nic->cm.lingering : &nic->cm.orphans,
				 &ep->node);
}

/*
 * Gives up the oldest endpoint that is needed only to answer late messages. Without one, the oldest
 * that still waits for its peer to acknowledge the end: no share has it, and its peer is
 * notified of the end when it sends again.
 */
static bool cm_reclaim(struct fw_nic *nic)
{
	struct fw_list *from =
	    fw_list_empty(&nic->cm.lingering) ? &nic->cm.orphans : &nic->cm.lingering;

	if (fw_list_empty(from))
		return false;
	cm_free(nic, FW_CONTAINER(from->next, struct cm_ep, node));
	return true;
}

void cm_rename(struct fw_nic *nic, struct cm_ep *ep)
{
	uint64_t name = nic->port.random64(nic->port.ctx);

	ep->local_id = (name & ~(uint64_t)ID_PLACE_MASK) | ep->index;
	/* 0 identifies no endpoint. */
	if (!ep->local_id)
		ep->local_id = ID_PLACE_MASK + 1u;
}

struct cm_ep *cm_new(struct fw_nic *nic, uint32_t client, uint32_t eq)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_eq *queue = eq_own(nic, client, eq);
	struct cm_ep *ep;
	uint32_t place;

	assert(queue);
	if (!share_may(nic, client, HW_SHARE_CM, 1))
		return NULL;
	place = fw_ids_get(&nic->cm.ids);
	if (place == FW_NONE && cm_reclaim(nic))
		place = fw_ids_get(&nic->cm.ids);
	if (place == FW_NONE)
		return NULL;
	ep = &nic->cm.eps[place];
	memset(ep, 0, sizeof(*ep));
	ep->index = place;
	cm_rename(nic, ep);
	ep->client = (uint16_t)client;
	ep->eq = eq;
	ep->listener = FW_NONE;
	ep->transport = HW_CM_TRANSPORT_RD;
	fw_timer_init(&ep->timer, FW_TIMER_CM);
	fw_list_init(&ep->node);
	fw_list_add_tail(&owner->cms, &ep->node);
	share_take(nic, client, HW_SHARE_CM, 1);
	queue->refs++;
	cm_set_state(nic, ep, CM_IDLE);
	return ep;
}

static struct fw_list *listeners(struct fw_nic *nic, uint16_t space, uint16_t port)
{
	return &nic->cm.listeners[fw_hash_keyed(&nic->hash_key, space, port, 0) % CM_LISTEN_HASH];
}

void cm_listen(struct fw_nic *nic, struct cm_ep *ep)
{
	cm_set_state(nic, ep, CM_LISTEN);
	fw_list_add_tail(listeners(nic, ep->space, ep->local_port), &ep->wait_node);
}

struct cm_ep *cm_listener(struct fw_nic *nic, uint16_t space, uint16_t port, uint32_t *shard)
{
	struct fw_list *chain = listeners(nic, space, port), *pos;

	*shard = l4_port_shard(nic, space, port);
	if (*shard != nic->config.shard)
		return NULL;
	fw_list_for_each (pos, chain) {
		struct cm_ep *ep = FW_CONTAINER(pos, struct cm_ep, wait_node);

		/* A listener whose process is ending receives no more requests. */
		if (ep->space == space && ep->local_port == port &&
		    !nic->host.clients[ep->client].closing)
			return ep;
	}
	return NULL;
}

void cm_tie(struct fw_nic *nic, struct cm_ep *ep, uint32_t qpn)
{
	struct fw_qp *qp = qp_own(nic, ep->client, qpn);

	/* The peer chooses this number freely; a tied QP must be the process's own. */
	if (!qp || qp->cm != 0 || ep->qpn)
		return;
	ep->qpn = qpn;
	qp->cm = ep->index + 1;
}

/* The QP is connected to that peer: it fails with the connection, as RFC 5040 6.8 requires. */
static void end_qp(struct fw_nic *nic, struct cm_ep *ep)
{
	struct fw_qp *qp = untie(nic, ep);

	if (qp && qp_is_rc(qp) && qp->state != HW_QPS_RESET && qp->state != HW_QPS_ERR)
		qp_set_state(nic, qp, HW_QPS_ERR);
}

void cm_closed(struct fw_nic *nic, struct cm_ep *ep)
{
	end_qp(nic, ep);
	FW_COUNT(nic, cm_closed);
	ep->over = true;
	cm_event(nic, ep, HW_CM_EVENT_DISCONNECTED, 0);
}

void cm_disconnect(struct fw_nic *nic, struct cm_ep *ep)
{
	end_qp(nic, ep);
	cm_ops_of(ep)->disconnect(nic, ep);
}

void cm_qp_down(struct fw_nic *nic, struct fw_qp *qp)
{
	struct cm_ep *ep;

	if (!qp->cm)
		return;
	ep = &nic->cm.eps[qp->cm - 1];
	assert(ep->qpn == qp->qpn);
	(void)untie(nic, ep);
	switch ((enum cm_state)ep->state) {
	case CM_REP_SENT:
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
		cm_ops_of(ep)->disconnect(nic, ep);
		break;
	case CM_FREE:
	case CM_IDLE:
	case CM_RESOLVING:
	case CM_LISTEN:
	case CM_REQ_SENT:
	case CM_REQ_RCVD:
	case CM_DREQ_SENT:
	case CM_FOUND:
	case CM_LINGER:
	case CM_STATES:
		break;
	}
}

/* It waits no longer, and goes on with no parameters. */
static void wait_end(struct cm_ep *ep)
{
	fw_list_del(&ep->wait_node);
	ep->param = (struct hw_cm_param){0};
}

/* From now on no process is notified of it. */
static void leave_client(struct fw_nic *nic, struct cm_ep *ep)
{
	/* It stays in its state, so a second end of the wait must find a list. */
	if (cm_waits(ep))
		fw_list_del(&ep->wait_node);
	if (cm_event_is_request(ep))
		cm_event_fetched(nic, ep);
	cm_event_drop(nic, ep);
	rx_drop(nic, ep);
	(void)untie(nic, ep);
	eq_own(nic, ep->client, ep->eq)->refs--;
	share_give(nic, ep->client, HW_SHARE_CM, 1);
	ep->client = CM_NO_CLIENT;
	cm_orphan(nic, ep);
	/* Passive endpoints share the port of their listener. */
	if (ep->space && !ep->passive)
		l4_port_release(nic, ep->space, ep->local_port, ep->state == CM_LISTEN);
}

void cm_free(struct fw_nic *nic, struct cm_ep *ep)
{
	assert(ep->client == CM_NO_CLIENT && !ep->qpn && !ep->mpa);
	fw_timer_cancel(&nic->timers, &ep->timer);
	cm_unhash(nic, ep);
	fw_list_del(&ep->node);
	cm_tx_drop(nic, ep);
	cm_set_state(nic, ep, CM_FREE);
	fw_ids_put(&nic->cm.ids, ep->index);
}

/* Ends connections without a request. The listener accepts no more from here on. */
static bool end_asking(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->state != CM_LISTEN)
		return true;
	ep->ending = true;
	return !cm_ops_of(ep)->end_asking || cm_ops_of(ep)->end_asking(nic, ep);
}

/* Drops a request that its process has not fetched: the peer repeats it for the next listener. */
static void end_unseen(struct fw_nic *nic, struct cm_ep *ep)
{
	leave_client(nic, ep);
	/* Over TCP the peer repeats nothing. */
	if (ep->mpa)
		cm_ops_of(ep)->abandon(nic, ep);
	else
		cm_free(nic, ep);
}

/* Ends the requests of a listener, place by place: one listener may own all of them. */
static bool end_listener(struct fw_nic *nic, struct cm_ep *listener)
{
	uint32_t i;

	/* It accepts no more requests: places that the walk has passed get none again. */
	fw_list_del(&listener->wait_node);
	for (i = nic->slices.resume; i < nic->cm.ids.high; i++) {
		struct cm_ep *ep = &nic->cm.eps[i];
		bool its = ep->state != CM_FREE && ep->client == listener->client &&
			   ep->listener == listener->index;

		if ((its || i % CM_PLACES_PER_UNIT == 0) &&
		    !slice_take(nic, its && cm_event_is_request(ep) ? FW_SLICE_CM_UNITS : 1)) {
			nic->slices.resume = i;
			return false;
		}
		if (!its)
			continue;
		if (cm_event_is_request(ep))
			end_unseen(nic, ep);
		else
			ep->listener = FW_NONE;
	}
	return true;
}

bool cm_destroy(struct fw_nic *nic, struct cm_ep *ep)
{
	if (!end_asking(nic, ep))
		return false;
	/* When a process ends, each of its endpoints is ended by its own. */
	if (ep->state == CM_LISTEN && !nic->host.clients[ep->client].closing &&
	    !end_listener(nic, ep))
		return false;
	leave_client(nic, ep);
	cm_ops_of(ep)->abandon(nic, ep);
	return true;
}

bool cm_client_leave(struct fw_nic *nic, uint32_t client)
{
	struct fw_list *cms = &nic->host.clients[client].cms;

	while (!fw_list_empty(cms)) {
		struct cm_ep *ep = FW_CONTAINER(cms->next, struct cm_ep, node);

		if (!end_asking(nic, ep) || !slice_take(nic, FW_SLICE_CM_UNITS))
			return false;
		/* The listener may be gone, and its place another's. */
		ep->listener = FW_NONE;
		if (ep->passive && cm_event_is_request(ep))
			end_unseen(nic, ep);
		else
			(void)cm_destroy(nic, ep);
	}
	return true;
}

void cm_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok)
{
	(void)ip;
	(void)ok;
	neigh_wait_over(nic, NEIGH_WAIT_CM, &nic->cm.resolving);
}

void cm_neigh_look(struct fw_nic *nic, struct fw_list *node)
{
	struct cm_ep *ep = FW_CONTAINER(node, struct cm_ep, wait_node);
	uint8_t mac[WIRE_MAC_BYTES];

	switch (neigh_lookup(nic, ep->peer_ip, mac)) {
	case NEIGH_WAIT:
		fw_list_add_tail(&nic->cm.resolving, &ep->wait_node);
		break;
	case NEIGH_OK:
		cm_resolved(nic, ep, 0);
		break;
	case NEIGH_UNREACHABLE:
		cm_resolved(nic, ep, FW_EHOSTUNREACH);
		break;
	}
}

void cm_resolved(struct fw_nic *nic, struct cm_ep *ep, int err)
{
	wait_end(ep);
	fw_timer_cancel(&nic->timers, &ep->timer);
	cm_set_state(nic, ep, CM_IDLE);
	cm_event(nic, ep, HW_CM_EVENT_RESOLVED, (uint32_t)err);
}
