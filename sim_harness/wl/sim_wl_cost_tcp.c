/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workload cost: an RC connection over TCP, made by the connection manager. See sim_wl_cost.c.
 * docs/connection-manager.md.
 */
#include "sim_harness/wl/sim_wl_cost.h"

#include <errno.h>

#include "host_driver/weft_cm.h"

enum {
	CT_PORT = 4420,
	CT_STEP_NS = 10000,
	CT_STEPS = 10000, /* until an event has come */
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

	for (i = 0; i < CT_STEPS && rc == -EAGAIN; i++) {
		sim_run_for(sim, CT_STEP_NS);
		rc = weft_cm_get_event(channel, event);
	}
	return rc ? rc : event->type == expected ? 0 : -ECONNABORTED;
}

static int listen_at(struct sim_end *end, struct weft_comp_channel *channel)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP};
	uint16_t port = CT_PORT;
	uint32_t ep;
	int rc = weft_cm_create(channel, &ep);

	if (!rc)
		rc = weft_cm_bind(end->context, ep, HW_CM_TCP, &port, false);
	return rc ? rc : weft_cm_listen(end->context, ep, 0, &llp);
}

static int ask(struct cost *c, struct weft_comp_channel *channel, uint32_t *ep)
{
	const struct weft_cm_llp llp = {.transport = HW_CM_TRANSPORT_TCP,
					.mpa = HW_MPA_GIVEN | HW_MPA_CRC};
	const struct hw_cm_param param = {.qpn = c->from.qp->qpn};
	uint16_t port = 0;
	int rc = weft_cm_create(channel, ep);

	if (!rc)
		rc = weft_cm_bind(c->from.context, *ep, HW_CM_TCP, &port, false);
	return rc ? rc
		  : weft_cm_connect(c->from.context, *ep, sim_nic_ip(sim_nic_at(c->run->sim, 1)),
				    CT_PORT, false, &llp, &param, NULL);
}

int cost_tcp_open(struct cost *c)
{
	struct weft_comp_channel *at_from = weft_create_comp_channel(c->from.context, 0);
	struct weft_comp_channel *at_to = weft_create_comp_channel(c->to.context, 0);
	const struct hw_cm_param param = {.qpn = c->to.qp->qpn};
	struct hw_resp_cm_event event = {.ep = 0};
	uint32_t ep;
	int rc;

	if (!at_from || !at_to)
		return -errno;
	rc = listen_at(&c->to, at_to);
	if (!rc)
		rc = ask(c, at_from, &ep);
	if (!rc)
		rc = next_event(c->run->sim, at_to, HW_CM_EVENT_REQUEST, &event);
	if (!rc)
		rc = ready(c->to.qp);
	if (!rc)
		rc = weft_cm_accept(c->to.context, event.ep, &param, NULL);
	if (!rc)
		rc = next_event(c->run->sim, at_from, HW_CM_EVENT_RESPONSE, &event);
	if (!rc)
		rc = ready(c->from.qp);
	if (!rc)
		rc = weft_cm_accept(c->from.context, ep, NULL, NULL);
	return rc ? rc : next_event(c->run->sim, at_to, HW_CM_EVENT_ESTABLISHED, &event);
}
