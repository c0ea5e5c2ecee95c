/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over TCP; see link.h.
 */
#include "tools/weft-bench/link.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "host_driver/weft_cm.h"
#include "lib/clock.h"

static struct weft_cm_llp llp_of(const struct link *l)
{
	return (struct weft_cm_llp){.transport = HW_CM_TRANSPORT_TCP, .mpa = l->mpa};
}

static int failed(const char *what, int rc)
{
	return fail("connecting over TCP: %s: %s", what, strerror(-rc));
}

static const char *event_name(uint32_t type)
{
	switch ((enum hw_cm_event_type)type) {
	case HW_CM_EVENT_REJECTED:
		return "rejected";
	case HW_CM_EVENT_UNREACHABLE:
		return "no answer";
	case HW_CM_EVENT_DISCONNECTED:
		return "disconnected";
	case HW_CM_EVENT_NONE:
	case HW_CM_EVENT_RESOLVED:
	case HW_CM_EVENT_REQUEST:
	case HW_CM_EVENT_RESPONSE:
	case HW_CM_EVENT_ESTABLISHED:
	case HW_CM_EVENT_TIMEWAIT_EXIT:
	case HW_CM_EVENTS:
		break;
	}
	return NULL;
}

/* Waits for an event of that type; skips progress events of other connections. */
static int wait_for(struct link *l, enum hw_cm_event_type type, struct hw_resp_cm_event *event)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)(l->timeout_s * 1e9);

	for (;;) {
		int rc = weft_cm_get_event(l->channel, event);

		if (rc == 0 && event->type == type)
			return 0;
		if (rc == 0 && event_name(event->type))
			return fail("connecting over TCP: %s", event_name(event->type));
		if (rc == 0)
			continue;
		if (rc != -EAGAIN)
			return failed("its events", rc);
		if (clock_now_ns() > end_ns)
			return fail("connecting over TCP: nothing moves for %.0f s", l->timeout_s);
		(void)poll(&(struct pollfd){.fd = l->channel->fd, .events = POLLIN}, 1, 10);
	}
}

/* From RESET to RTS: the connection determines the peer. */
static int make_ready(struct weft_qp *qp, uint32_t access, uint32_t max_rd_atomic)
{
	struct weft_qp_attr attr = {
	    .state = WEFT_QPS_INIT,
	    .port = 1,
	    .access = access,
	    .transport = WEFT_QP_TRANSPORT_TCP,
	    .max_rd_atomic = (uint8_t)max_rd_atomic,
	    .max_dest_rd_atomic = (uint8_t)max_rd_atomic,
	};
	int rc = weft_modify_qp(qp, &attr,
				WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
				    WEFT_QP_ACCESS_FLAGS | WEFT_QP_TRANSPORT);

	attr.state = WEFT_QPS_RTR;
	if (!rc)
		rc = weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_DEST_RD_ATOMIC);
	attr.state = WEFT_QPS_RTS;
	if (!rc)
		rc = weft_modify_qp(qp, &attr, WEFT_QP_STATE | WEFT_QP_MAX_QP_RD_ATOMIC);
	return rc ? failed("the queue pair", rc) : 0;
}

static struct hw_cm_param param_of(const struct weft_qp *qp, uint32_t max_rd_atomic)
{
	return (struct hw_cm_param){
	    .qpn = qp->qpn,
	    .responder_resources = (uint8_t)max_rd_atomic,
	    .initiator_depth = (uint8_t)max_rd_atomic,
	    .retry_count = 7,
	    .rnr_retry_count = 7,
	    .qp_type = WEFT_QPT_RC,
	};
}

int link_open(struct link *l, const struct opts *o, struct weft_context *context,
	      const struct link *share)
{
	uint16_t port = 0;
	int rc;

	*l = (struct link){.context = context, .mpa = o->mpa, .timeout_s = o->timeout_s};
	l->channel = share ? share->channel : weft_create_comp_channel(context, 0);
	if (!l->channel)
		return failed("a channel", -errno);
	rc = weft_cm_create(l->channel, &l->ep);
	if (!rc)
		rc = weft_cm_bind(context, l->ep, HW_CM_TCP, &port, false);
	l->port = port;
	return rc ? failed("a port", rc) : 0;
}

int link_listen(struct link *l, const struct opts *o, struct weft_context *context)
{
	struct weft_cm_llp llp;
	int rc;

	if (link_open(l, o, context, NULL))
		return -1;
	llp = llp_of(l);
	rc = weft_cm_listen(context, l->ep, 0, &llp);
	return rc ? failed("listening", rc) : 0;
}

int link_call(struct link *l, const struct weft_qp *qp, uint32_t ip, uint16_t port,
	      uint32_t max_rd_atomic)
{
	struct hw_cm_param param = param_of(qp, max_rd_atomic);
	struct weft_cm_llp llp = llp_of(l);
	int rc = weft_cm_connect(l->context, l->ep, ip, port, false, &llp, &param, NULL);

	return rc ? failed("asking for it", rc) : 0;
}

int link_answer(struct link *l, struct weft_qp *qp, uint32_t access, uint32_t max_rd_atomic)
{
	struct hw_cm_param param = param_of(qp, max_rd_atomic);
	struct hw_resp_cm_event event;
	int rc;

	if (wait_for(l, HW_CM_EVENT_REQUEST, &event) || make_ready(qp, access, max_rd_atomic))
		return -1;
	rc = weft_cm_accept(l->context, event.ep, &param, NULL);
	return rc ? failed("accepting", rc) : 0;
}

int link_finish(struct link *l, struct weft_qp *qp, uint32_t access, uint32_t max_rd_atomic)
{
	struct hw_resp_cm_event event;
	int rc;

	if (wait_for(l, HW_CM_EVENT_RESPONSE, &event) || make_ready(qp, access, max_rd_atomic))
		return -1;
	rc = weft_cm_accept(l->context, event.ep, NULL, NULL);
	return rc ? failed("saying that the queue pair is ready", rc) : 0;
}

void link_close(struct link *l)
{
	if (!l->channel)
		return;
	(void)weft_cm_destroy(l->context, l->ep);
	l->channel = NULL;
}
