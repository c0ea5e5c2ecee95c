/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of the connection manager: they wait at their endpoint, in the order of their event queue,
 * until the process fetches them.
 *
 * Calls eq.c and moder.c to notify the process, and cm.c for private data.
 * docs/connection-manager.md.
 */
#include "nic_fw/fw_nic.h"

/* Writes an entry to the event queue, and no other until the process has found the queue empty. */
static void cm_notify(struct fw_nic *nic, struct fw_eq *queue)
{
	struct hw_eqe eqe = {.type = HW_EVENT_CM};

	if (queue->cm_notified)
		return;
	if (!eq_write(nic, queue, &eqe)) {
		/*
		 * The queue holds entries that the process has not taken, so it will look for
		 * events anyway.
		 */
		FW_COUNT(nic, events_lost);
	}
	queue->cm_notified = true;
	moder_other(nic, queue);
}

void cm_event(struct fw_nic *nic, struct cm_ep *ep, enum hw_cm_event_type type, uint32_t status)
{
	struct cm_waiting_event *event;
	struct fw_eq *queue;
	uint8_t at;

	if (ep->client == CM_NO_CLIENT)
		return;
	if (ep->ev_count == CM_MAX_EVENTS) {
		/* The process creates events without fetching earlier ones. */
		FW_COUNT(nic, events_lost);
		return;
	}
	if (!ep->ev_count) {
		ep->queue = fw_pool_get(&nic->cm.waiting);
		ep->queue->ep = ep->index;
	}
	at = (uint8_t)((ep->ev_first + ep->ev_count++) % CM_MAX_EVENTS);
	event = &ep->queue->events[at];
	event->type = (uint8_t)type;
	event->status = (uint16_t)status;
	event->at = at;
	queue = eq_own(nic, ep->client, ep->eq);
	fw_list_add_tail(&queue->cm_events, &event->node);
	cm_notify(nic, queue);
}

static bool carries_data(enum hw_cm_event_type type, const struct cm_ep *ep)
{
	return type == HW_CM_EVENT_REQUEST || type == HW_CM_EVENT_RESPONSE ||
	       type == HW_CM_EVENT_REJECTED || (type == HW_CM_EVENT_ESTABLISHED && ep->datagram);
}

/* Copies the data that fit; the rest waits for cm_event_rest(). */
static void give_data(struct fw_nic *nic, struct cm_ep *ep, struct hw_resp_cm_event *event)
{
	uint32_t n = ep->rx_bytes < HW_CM_EVENT_BYTES ? ep->rx_bytes : HW_CM_EVENT_BYTES;

	/* Data that wait belong to another event. */
	if (ep->rest || !n)
		return;
	event->data_bytes = (uint16_t)n;
	event->rest_bytes = ep->rx_bytes - n;
	memcpy(event->data, ep->rx_data, n);
	if (event->rest_bytes)
		ep->rest = true;
	else
		cm_rx_free(nic, ep);
}

int cm_event_rest(struct fw_nic *nic, struct cm_ep *ep, struct hw_resp_cm_rest *rest)
{
	if (!ep->rest)
		return FW_ENOENT;
	rest->bytes = ep->rx_bytes - (uint32_t)HW_CM_EVENT_BYTES;
	memcpy(rest->data, ep->rx_data + HW_CM_EVENT_BYTES, rest->bytes);
	cm_rx_free(nic, ep);
	return 0;
}

/* The first event is taken, or never will be. */
static void cm_event_over(struct fw_nic *nic, struct cm_ep *ep)
{
	ep->ev_first = (uint8_t)((ep->ev_first + 1u) % CM_MAX_EVENTS);
	if (--ep->ev_count)
		return;
	fw_pool_put(&nic->cm.waiting, ep->queue);
	ep->queue = NULL;
}

void cm_event_drop(struct fw_nic *nic, struct cm_ep *ep)
{
	while (ep->ev_count) {
		fw_list_del(&ep->queue->events[ep->ev_first].node);
		cm_event_over(nic, ep);
	}
}

void cm_event_fetched(struct fw_nic *nic, struct cm_ep *ep)
{
	if (ep->listener != FW_NONE && nic->cm.eps[ep->listener].waiting)
		nic->cm.eps[ep->listener].waiting--;
	/* A connection at rest was accepted. */
	if (ep->mpa && ep->mpa->flow)
		tcp_accept_done(nic, ep->mpa->flow);
}

void cm_event_take(struct fw_nic *nic, struct fw_eq *eq, struct hw_resp_cm_event *event)
{
	struct fw_list *node = fw_list_pop(&eq->cm_events);
	struct cm_waiting_event *waiting;
	struct cm_ep *ep;

	memset(event, 0, sizeof(*event));
	/* With the last event taken, the next one must be notified again. */
	eq->cm_notified = !fw_list_empty(&eq->cm_events);
	if (!node)
		return;
	waiting = FW_CONTAINER(node, struct cm_waiting_event, node);
	ep = &nic->cm.eps[FW_CONTAINER(waiting - waiting->at, struct cm_waiting, events)->ep];
	assert(waiting->at == ep->ev_first && ep->ev_count);
	event->type = waiting->type;
	event->status = waiting->status;
	cm_event_over(nic, ep);
	event->ep = ep->index;
	event->listener = ep->listener;
	event->more = !fw_list_empty(&eq->cm_events);
	event->peer_ip = ep->peer_ip;
	event->peer_port = ep->peer_port;
	event->local_port = ep->local_port;
	/* It may wait again by now, and then has no parameters. */
	if (!cm_waits(ep)) {
		event->local_psn = ep->param.psn;
		event->param = ep->peer;
	}
	event->space = ep->space;
	event->transport = ep->transport;
	if (carries_data((enum hw_cm_event_type)event->type, ep))
		give_data(nic, ep, event);
	if (event->type == HW_CM_EVENT_REQUEST)
		cm_event_fetched(nic, ep);
}

bool cm_event_is_request(const struct cm_ep *ep)
{
	return ep->ev_count && ep->queue->events[ep->ev_first].type == HW_CM_EVENT_REQUEST;
}

static void move(struct fw_nic *nic, struct cm_ep *ep, uint32_t eq)
{
	struct fw_eq *queue = eq_own(nic, ep->client, eq);
	struct cm_waiting_event *event;
	uint32_t i;

	eq_own(nic, ep->client, ep->eq)->refs--;
	queue->refs++;
	ep->eq = eq;
	if (!ep->ev_count)
		return;
	for (i = 0; i < ep->ev_count; i++) {
		event = &ep->queue->events[(ep->ev_first + i) % CM_MAX_EVENTS];
		fw_list_del(&event->node);
		fw_list_add_tail(&queue->cm_events, &event->node);
	}
	cm_notify(nic, queue);
}

/*
 * Requests that were not fetched are events of their listener, so they move with it, place by
 * place. Meanwhile new requests are reported to the new queue from the first on.
 */
bool cm_event_move(struct fw_nic *nic, struct cm_ep *ep, uint32_t eq)
{
	uint32_t i;

	if (ep->eq != eq)
		move(nic, ep, eq);
	if (ep->state != CM_LISTEN || !ep->waiting)
		return true;
	for (i = nic->slices.resume; i < nic->cm.ids.high; i++) {
		struct cm_ep *asked = &nic->cm.eps[i];
		bool its = asked->state != CM_FREE && asked->client == ep->client &&
			   asked->listener == ep->index && asked->eq != eq &&
			   cm_event_is_request(asked);

		if ((its || i % CM_PLACES_PER_UNIT == 0) && !slice_take(nic, 1)) {
			nic->slices.resume = i;
			return false;
		}
		if (its)
			move(nic, asked, eq);
	}
	return true;
}
