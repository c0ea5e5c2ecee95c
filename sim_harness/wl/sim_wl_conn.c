/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC connections over TCP, made by the connection manager one after another.
 *
 * Workloads incast, outcast and cost use it at their start. Calls libweft.
 * docs/connection-manager.md.
 */
#include "sim_harness/wl/sim_wl_conn.h"

#include <errno.h>

#include "host_driver/weft_cm.h"

enum {
	CONN_PORT = 4420,
	CONN_STEP_NS = 10000,
	CONN_STEPS = 200000, /* until an event has come: a lost SYN is repeated after a second */
};

/* Brings the queue pair to RTS. */
static int ready(struct weft_qp *qp)
{
	struct weft_qp_attr attr = {.state = WEFT_QPS_INIT,
				    .port = 1,
				    .transport = WEFT_QP_TRANSPORT_TCP,
				    .access = WEFT_ACCESS_REMOTE_WRITE};
	int rc = weft_modify_qp(qp, &attr,
				WEFT_QP_STATE | WEFT_QP_PKEY_INDEX | WEFT_QP_PORT |
				    WEFT_QP_TRANSPORT | WEFT_QP_ACCESS_FLAGS);

	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTR};
	if (!rc)
		rc = weft_modify_qp(qp, &attr, WEFT_QP_STATE);
	attr = (struct weft_qp_attr){.state = WEFT_QPS_RTS};
	return rc ? rc : weft_modify_qp(qp, &attr, WEFT_QP_STATE);
}

static int next_event(struct sim *sim, struct weft_comp_channel *channel,
		      enum hw_cm_event_type expected, struct hw_resp_cm_event *event)
{
	uint32_t i;
	int rc = -EAGAIN;

	for (i = 0; i < CONN_STEPS && rc == -EAGAIN; i++) {
		sim_run_for(sim, CONN_STEP_NS);
		rc = weft_cm_get_event(channel, event);
	}
	return rc ? rc : event->type == expected ? 0 : -ECONNABORTED;
}

static int listen_at(struct sim_end *end, struct weft_comp_channel *channel)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP};
	uint16_t port = CONN_PORT;
	uint32_t ep;
	int rc = weft_cm_create(channel, &ep);

	if (!rc)
		rc = weft_cm_bind(end->context, ep, HW_CM_TCP, &port, false);
	return rc ? rc : weft_cm_listen(end->context, ep, 0, &llp);
}

struct weft_comp_channel *wl_conn_channel(struct sim_end *end, bool listens)
{
	struct weft_comp_channel *channel = weft_create_comp_channel(end->context, 0);
	int rc = channel && listens ? listen_at(end, channel) : 0;

	if (!rc)
		return channel;
	errno = -rc;
	return NULL;
}

static int ask(struct wl_conn_half *from, const struct wl_conn_half *to, uint32_t *ep)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP,
					.mpa = HW_MPA_GIVEN | HW_MPA_CRC};
	const struct hw_cm_param param = {.qpn = from->qp->qpn};
	uint16_t port = 0;
	int rc = weft_cm_create(from->channel, ep);

	if (!rc)
		rc = weft_cm_bind(from->end->context, *ep, HW_CM_TCP, &port, false);
	return rc ? rc
		  : weft_cm_connect(from->end->context, *ep,
				    sim_nic_ip(sim_proc_nic(to->end->proc)), CONN_PORT, false, &llp,
				    &param, NULL);
}

int wl_conn_open(struct wl_conn_half *from, struct wl_conn_half *to)
{
	struct sim *sim = from->end->sim;
	const struct hw_cm_param param = {.qpn = to->qp->qpn};
	struct hw_resp_cm_event event = {.ep = 0};
	uint32_t ep;
	int rc = ask(from, to, &ep);

	if (!rc)
		rc = next_event(sim, to->channel, HW_CM_EVENT_REQUEST, &event);
	if (!rc)
		rc = ready(to->qp);
	if (!rc)
		rc = weft_cm_accept(to->end->context, event.ep, &param, NULL);
	if (!rc)
		rc = next_event(sim, from->channel, HW_CM_EVENT_RESPONSE, &event);
	if (!rc)
		rc = ready(from->qp);
	if (!rc)
		rc = weft_cm_accept(from->end->context, ep, NULL, NULL);
	return rc ? rc : next_event(sim, to->channel, HW_CM_EVENT_ESTABLISHED, &event);
}
