/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events. Events without a verbs equivalent (a datagram that a peer refused, a
 * finished run of a schedule) are taken and discarded. Calls weft_event.c.
 */
#include <errno.h>

#include "host_driver/verbs/vb.h"

static const struct {
	enum weft_event_type weft;
	enum ibv_event_type ibv;
} types[] = {
    {WEFT_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR},
    {WEFT_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL},
    {WEFT_EVENT_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
    {WEFT_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
    {WEFT_EVENT_COMM_EST, IBV_EVENT_COMM_EST},
    {WEFT_EVENT_SQ_DRAINED, IBV_EVENT_SQ_DRAINED},
    {WEFT_EVENT_QP_LAST_WQE, IBV_EVENT_QP_LAST_WQE_REACHED},
    {WEFT_EVENT_SRQ_LIMIT, IBV_EVENT_SRQ_LIMIT_REACHED},
    {WEFT_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR},
    {WEFT_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE},
    {WEFT_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR},
    {WEFT_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL},
};

enum {
	NUM_TYPES = sizeof(types) / sizeof(types[0])
};

/* Returns false for events without a verbs equivalent. */
static bool convert(const struct weft_async_event *w, struct ibv_async_event *event)
{
	size_t i = 0;

	while (i < NUM_TYPES && types[i].weft != w->type)
		i++;
	if (i == NUM_TYPES)
		return false;
	event->event_type = types[i].ibv;
	if (w->qp)
		event->element.qp = &((struct vb_qp *)w->qp->user)->ibv;
	else if (w->cq)
		event->element.cq = &((struct vb_cq *)w->cq->user)->ibv;
	else if (w->srq)
		event->element.srq = &((struct vb_srq *)w->srq->user)->ibv;
	else
		event->element.port_num = VB_PORT;
	return true;
}

/* Returns -1 on failure, as the manual page specifies. */
VB_API int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct weft_async_event w;

	for (;;) {
		int rc = weft_get_async_event(vb_context_of(context)->weft, &w);

		if (rc < 0)
			return vb_result(rc) ? -1 : 0;
		if (convert(&w, event))
			return 0;
		weft_ack_async_event(&w);
	}
}

VB_API void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct weft_async_event w = {0};

	for (size_t i = 0; i < NUM_TYPES; i++)
		if (types[i].ibv == event->event_type)
			w.type = types[i].weft;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		w.cq = vb_cq_of(event->element.cq)->weft;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		w.qp = vb_qp_of(event->element.qp)->weft;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		w.srq = vb_srq_of(event->element.srq)->weft;
		break;
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_WQ_FATAL:
		break;
	}
	weft_ack_async_event(&w);
}
