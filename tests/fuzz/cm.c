/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that connect; see cm.h. Calls proc.c.
 */
#include "tests/fuzz/cm.h"

enum act {
	ACT_LISTEN,
	ACT_CONNECT,
	ACT_HEAR,
	ACT_ACCEPT,
	ACT_REJECT,
	ACT_DISCONNECT,
	ACT_DESTROY,
	ACT_RESOLVE,
	ACTS
};

static void remember(struct cm_end *end, uint32_t ep)
{
	end->ep[end->num++ % CM_KEPT] = ep;
}

static int run(struct w_proc *p, enum hw_cmd_op op, const struct hw_cmd_cm *cm,
	       struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = op, .u.cm = *cm};

	return proc_cmd(p, &cmd, resp);
}

/* FW_NONE: the table is full. */
static uint32_t create(struct cm_end *end, struct w_proc *p, uint32_t space, uint16_t port)
{
	struct hw_cmd_cm cm = {.eq = end->eq};
	struct hw_cmd_resp resp;

	if (run(p, HW_CMD_CM_CREATE, &cm, &resp))
		return FW_NONE;
	cm = (struct hw_cmd_cm){.ep = resp.u.handle, .space = space, .port = port};
	remember(end, cm.ep);
	(void)run(p, HW_CMD_CM_BIND, &cm, &resp);
	return cm.ep;
}

static void listen_on(struct cm_end *end, struct w_proc *p, uint32_t space, uint32_t backlog)
{
	struct hw_cmd_cm cm = {
	    .ep = create(end, p, space, CM_PORT),
	    .arg = backlog,
	    /* A listener that also takes requests in datagrams. */
	    .transport = space == HW_CM_TCP ? HW_CM_TRANSPORT_TCP : HW_CM_TRANSPORT_RD,
	};
	struct hw_cmd_resp resp;

	if (cm.ep != FW_NONE)
		(void)run(p, HW_CMD_CM_LISTEN, &cm, &resp);
}

void cm_begin(struct cm_end *end, struct w_proc *p)
{
	*end = (struct cm_end){.eq = proc_eq(p, NULL)};
	listen_on(end, p, HW_CM_TCP, 0);
}

static uint32_t space_of(const struct rec *r)
{
	return r->c & 1 ? HW_CM_UDP : HW_CM_TCP;
}

static void fill_answer(struct hw_cmd_cm *cm, const struct rec *r, uint32_t qpn)
{
	cm->param.qpn = r->c & 2 ? qpn : r->x & 0xffffff;
	cm->param.retry_count = 7;
	cm->data_bytes = r->c >> 2 & 31;
	memcpy(cm->data, &r->y, sizeof(r->y));
}

static void connect_to(struct cm_end *end, struct w_proc *p, const struct rec *r, uint32_t peer_ip,
		       uint32_t qpn)
{
	struct hw_cmd_cm cm = {.ep = create(end, p, space_of(r), 0),
			       .ip = peer_ip,
			       .port = CM_PORT,
			       .flags = r->c & 1 ? HW_CM_F_DATAGRAM : 0,
			       .transport = r->x >> 30 & !(r->c & 1)};
	struct hw_cmd_resp resp;

	if (cm.ep == FW_NONE)
		return;
	fill_answer(&cm, r, qpn);
	(void)run(p, HW_CMD_CM_CONNECT, &cm, &resp);
}

/* Keeps a request; acknowledges the answer to an own request, unless r says otherwise. */
static void hear(struct cm_end *end, struct w_proc *p, const struct rec *r)
{
	struct hw_cmd_cm cm = {.eq = end->eq};
	struct hw_cmd_resp resp;
	struct hw_resp_cm_event event;

	if (run(p, HW_CMD_CM_EVENT, &cm, &resp))
		return;
	event = resp.u.cm_event;
	W_CHECK(event.data_bytes <= HW_CM_EVENT_BYTES &&
		    event.data_bytes + event.rest_bytes <= HW_CM_MAX_DATA,
		"%u + %u bytes of private data", event.data_bytes, event.rest_bytes);
	if (event.type == HW_CM_EVENT_REQUEST)
		remember(end, event.ep);
	cm = (struct hw_cmd_cm){.ep = event.ep};
	if (event.type == HW_CM_EVENT_RESPONSE && !(r->c & 1))
		(void)run(p, HW_CMD_CM_ACCEPT, &cm, &resp);
}

/* Receives the next event, which must be of this type. */
static uint32_t expect(const struct cm_end *end, struct w_proc *p, enum hw_cm_event_type type)
{
	struct hw_cmd_cm cm = {.eq = end->eq};
	struct hw_cmd_resp resp;

	world_run(100 * W_MS, NULL);
	W_CHECK(!run(p, HW_CMD_CM_EVENT, &cm, &resp) && resp.u.cm_event.type == type,
		"event %u of a connection, not %u", resp.u.cm_event.type, type);
	return resp.u.cm_event.ep;
}

void cm_join(struct cm_end *from, struct w_proc *pf, const struct w_qp *qf, struct cm_end *to,
	     struct w_proc *pt, const struct w_qp *qt)
{
	struct hw_cmd_cm cm = {
	    .ep = create(from, pf, HW_CM_TCP, 0),
	    .ip = w->nic[pt->nic].fw->config.ip,
	    .port = CM_PORT,
	    .transport = HW_CM_TRANSPORT_TCP,
	    .param = {.qpn = qf->made.qpn, .responder_resources = 8, .initiator_depth = 8},
	};
	struct hw_cmd_resp resp;

	W_CHECK(!run(pf, HW_CMD_CM_CONNECT, &cm, &resp), "no request over TCP");
	cm.ep = expect(to, pt, HW_CM_EVENT_REQUEST);
	remember(to, cm.ep);
	W_CHECK(!proc_rts(pt, qt, 0, NULL), "no RTS over TCP");
	cm = (struct hw_cmd_cm){.ep = cm.ep, .param = cm.param};
	cm.param.qpn = qt->made.qpn;
	W_CHECK(!run(pt, HW_CMD_CM_ACCEPT, &cm, &resp), "not accepted over TCP");
	cm = (struct hw_cmd_cm){.ep = expect(from, pf, HW_CM_EVENT_RESPONSE)};
	W_CHECK(!proc_rts(pf, qf, 0, NULL), "no RTS over TCP");
	W_CHECK(!run(pf, HW_CMD_CM_ACCEPT, &cm, &resp), "not ready over TCP");
	(void)expect(to, pt, HW_CM_EVENT_ESTABLISHED);
}

void cm_step(struct cm_end *end, struct w_proc *p, const struct rec *r, uint32_t peer_ip,
	     uint32_t qpn)
{
	struct hw_cmd_cm cm = {.ep = end->ep[(r->b >> 4) % CM_KEPT]};
	struct hw_cmd_resp resp;

	switch ((enum act)(r->b % ACTS)) {
	case ACT_LISTEN:
		listen_on(end, p, space_of(r), r->x & 3);
		break;
	case ACT_CONNECT:
		connect_to(end, p, r, r->c & 0x80 ? w->nic[p->nic].fw->config.ip : peer_ip, qpn);
		break;
	case ACT_HEAR:
		hear(end, p, r);
		break;
	case ACT_ACCEPT:
		fill_answer(&cm, r, qpn);
		(void)run(p, HW_CMD_CM_ACCEPT, &cm, &resp);
		break;
	case ACT_REJECT:
		cm.arg = HW_CM_REJ_CONSUMER;
		cm.data_bytes = r->c & 31;
		(void)run(p, HW_CMD_CM_REJECT, &cm, &resp);
		break;
	case ACT_DISCONNECT:
		(void)run(p, HW_CMD_CM_DISCONNECT, &cm, &resp);
		break;
	case ACT_DESTROY:
		(void)run(p, HW_CMD_CM_DESTROY, &cm, &resp);
		break;
	case ACT_RESOLVE:
		cm.ip = peer_ip + (r->x << 24);
		cm.arg = r->y & 0xfff;
		(void)run(p, HW_CMD_CM_RESOLVE, &cm, &resp);
		break;
	case ACTS:
		break;
	}
}

void cm_sane(struct hw_cmd *cmd, const struct rec *r, uint32_t eq, uint32_t ip, uint32_t qpn)
{
	if (cmd->op == HW_CMD_CM_DATA) {
		cmd->u.cm_data.ep = r->b % 16;
		cmd->u.cm_data.bytes = r->x & 0x7f;
		cmd->u.cm_data.offset = r->x >> 8 & 0x1ff;
		return;
	}
	cmd->u.cm =
	    (struct hw_cmd_cm){.ep = r->b % 16,
			       .eq = eq,
			       .space = space_of(r),
			       .port = cmd->op == HW_CMD_CM_CONNECT || r->x & 1 ? CM_PORT : 0,
			       .ip = ip};
	switch (cmd->op) {
	case HW_CMD_CM_BIND:
		cmd->u.cm.flags = r->x & 2 ? HW_CM_F_REUSE : 0;
		break;
	case HW_CMD_CM_CONNECT:
		cmd->u.cm.flags = r->c & 1 ? HW_CM_F_DATAGRAM : 0;
		fill_answer(&cmd->u.cm, r, qpn);
		break;
	case HW_CMD_CM_ACCEPT:
		fill_answer(&cmd->u.cm, r, qpn);
		break;
	case HW_CMD_CM_LISTEN:
	case HW_CMD_CM_RESOLVE:
		cmd->u.cm.arg = r->x & 0xfff;
		break;
	default:
		break;
	}
}
