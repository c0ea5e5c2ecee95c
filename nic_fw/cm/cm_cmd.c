/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on endpoints of the connection manager.
 *
 * Calls cm.c, l4_port.c and the transport of the endpoint. A command that the state does not allow
 * fails with EINVAL. shared_defs/hw_cm.h; docs/host-interface.md "Connections".
 */
#include "nic_fw/fw_nic.h"

const struct cm_ops *const cm_transports[HW_CM_TRANSPORTS] = {
    [HW_CM_TRANSPORT_RD] = &cm_rd_ops,
    [HW_CM_TRANSPORT_TCP] = &cm_tcp_ops,
};

int cmd_cm_create(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct cm_ep *ep;

	(void)aux;
	if (!cmd->u.cm.eq || !eq_own(nic, client, cmd->u.cm.eq))
		return FW_EINVAL;
	ep = cm_new(nic, client, cmd->u.cm.eq);
	if (!ep)
		return FW_ENOSPC;
	resp->u.handle = ep->index;
	return 0;
}

int cmd_cm_destroy(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);

	(void)aux;
	(void)resp;
	if (!ep)
		return FW_EINVAL;
	return cm_destroy(nic, ep) ? 0 : CMD_LATER;
}

int cmd_cm_bind(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);
	uint16_t port = cmd->u.cm.port;
	int err;

	(void)aux;
	if (!ep || ep->state != CM_IDLE || ep->space || ep->passive ||
	    !l4_port_space_ok(cmd->u.cm.space) || cmd->u.cm.flags & ~(uint32_t)HW_CM_F_REUSE)
		return FW_EINVAL;
	/* A peer that connects to a low port expects a service of the host, whatever the space. */
	if (port && port < nic->host.clients[client].first_port) {
		FW_COUNT(nic, cm_port_denied);
		return FW_EACCES;
	}
	err = l4_port_bind(nic, (uint16_t)cmd->u.cm.space, &port,
			   (cmd->u.cm.flags & HW_CM_F_REUSE) != 0);
	if (err)
		return err;
	ep->space = (uint16_t)cmd->u.cm.space;
	ep->local_port = port;
	resp->u.handle = port;
	return 0;
}

int cmd_cm_listen(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);
	uint32_t backlog = cmd->u.cm.arg;
	int err;

	(void)aux;
	(void)resp;
	if (!ep || !ep->space || ep->passive || cmd->u.cm.transport >= HW_CM_TRANSPORTS ||
	    cmd->u.cm.mpa & ~(uint32_t)HW_MPA_ALL ||
	    (ep->state != CM_IDLE && ep->state != CM_LISTEN))
		return FW_EINVAL;
	if (!backlog || backlog > HW_CM_MAX_BACKLOG)
		backlog = HW_CM_MAX_BACKLOG;
	ep->backlog = (uint16_t)backlog;
	if (ep->state == CM_LISTEN)
		return 0;
	err = l4_port_listen(nic, ep->space, ep->local_port);
	if (err)
		return err;
	ep->transport = cmd->u.cm.transport;
	ep->mpa_options = cmd->u.cm.mpa;
	err = cm_ops_of(ep)->listen(nic, ep);
	if (err) {
		l4_port_unlisten(nic, ep->space, ep->local_port);
		return err;
	}
	cm_listen(nic, ep);
	return 0;
}

int cmd_cm_resolve(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);
	const uint64_t ns_per_ms = 1000000;
	uint8_t mac[WIRE_MAC_BYTES];

	(void)aux;
	(void)resp;
	if (!ep || ep->state != CM_IDLE || ep->passive)
		return FW_EINVAL;
	ep->peer_ip = cmd->u.cm.ip;
	cm_set_state(nic, ep, CM_RESOLVING);
	fw_list_add_tail(&nic->cm.resolving, &ep->wait_node);
	switch (neigh_lookup(nic, ep->peer_ip, mac)) {
	case NEIGH_OK:
		cm_resolved(nic, ep, 0);
		break;
	case NEIGH_UNREACHABLE:
		cm_resolved(nic, ep,
			    neigh_next_hop(nic, ep->peer_ip) ? FW_EHOSTUNREACH : FW_ENETUNREACH);
		break;
	case NEIGH_WAIT:
		fw_timer_set(&nic->timers, &ep->timer,
			     nic->now_ns + (uint64_t)cmd->u.cm.arg * ns_per_ms);
		break;
	}
	return 0;
}

int cmd_cm_data(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_cm_data *data = &cmd->u.cm_data;
	struct cm_ep *ep = cm_own(nic, client, data->ep);

	(void)aux;
	(void)resp;
	/* Data that were sent may have to be repeated, so they must not change. */
	if (!ep || (ep->state != CM_IDLE && ep->state != CM_REQ_RCVD) ||
	    data->bytes > HW_CM_CHUNK_BYTES || data->offset + data->bytes > HW_CM_MAX_DATA)
		return FW_EINVAL;
	memcpy(cm_tx_room(nic, ep) + data->offset, data->data, data->bytes);
	return 0;
}

/*
 * Returns the endpoint of a command that answers a peer; flags: the flags that the command may
 * have. NULL: no such endpoint, or other flags.
 */
static struct cm_ep *answering(struct fw_nic *nic, uint32_t client, const struct hw_cmd_cm *cm,
			       uint32_t flags)
{
	struct cm_ep *ep = cm_own(nic, client, cm->ep);

	if (!ep || (ep->state != CM_REQ_RCVD && ep->state != CM_REP_RCVD) || cm->flags & ~flags)
		return NULL;
	return ep;
}

/* Takes the private data of a command. */
static int cm_cmd_take_data(struct fw_nic *nic, struct cm_ep *ep, const struct hw_cmd_cm *cm)
{
	bool stored = (cm->flags & HW_CM_F_STORED) != 0;

	if (cm->data_bytes > cm_ops_of(ep)->max_data(nic, ep) ||
	    (!stored && cm->data_bytes > HW_CM_INLINE_BYTES))
		return FW_EINVAL;
	if (!cm->data_bytes)
		cm_tx_drop(nic, ep);
	else if (!stored)
		memcpy(cm_tx_room(nic, ep), cm->data, cm->data_bytes);
	else if (!ep->tx_data)
		return FW_EINVAL;
	ep->tx_bytes = cm->data_bytes;
	return 0;
}

static int cm_cmd_take_param(struct fw_nic *nic, struct cm_ep *ep, const struct hw_cmd_cm *cm)
{
	uint32_t psn = ep->param.psn;

	if (cm->param.qpn & ~(uint32_t)FW_QPN_MASK || cm->param.reserved || cm->param.psn ||
	    cm->param.mtu > HW_MAX_MTU)
		return FW_EINVAL;
	ep->param = cm->param;
	ep->param.psn = psn;
	ep->param.srq |= (cm->flags & HW_CM_F_SRQ) != 0;
	return cm_cmd_take_data(nic, ep, cm);
}

int cmd_cm_connect(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_cm *cm = &cmd->u.cm;
	struct cm_ep *ep = cm_own(nic, client, cm->ep);
	int err;

	(void)aux;
	(void)resp;
	if (!ep || ep->state != CM_IDLE || !ep->space || ep->passive || !cm->port ||
	    cm->transport >= HW_CM_TRANSPORTS || cm->mpa & ~(uint32_t)HW_MPA_ALL ||
	    cm->flags & ~(uint32_t)(HW_CM_F_DATAGRAM | HW_CM_F_STORED | HW_CM_F_SRQ))
		return FW_EINVAL;
	if (cm->ip != nic->config.ip && !neigh_next_hop(nic, cm->ip))
		return FW_ENETUNREACH;
	ep->transport = cm->transport;
	ep->mpa_options = cm->mpa;
	err = cm_cmd_take_param(nic, ep, cm);
	if (err)
		return err;
	cm_rename(nic, ep);
	ep->over = false;
	ep->peer_ip = cm->ip;
	ep->peer_port = cm->port;
	ep->datagram = (cm->flags & HW_CM_F_DATAGRAM) != 0;
	if (!ep->datagram)
		cm_tie(nic, ep, cm->param.qpn);
	err = cm_ops_of(ep)->connect(nic, ep);
	if (err)
		cm_untie(nic, ep);
	return err;
}

int cmd_cm_accept(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_cm *cm = &cmd->u.cm;
	struct cm_ep *ep = answering(nic, client, cm, HW_CM_F_STORED | HW_CM_F_SRQ);
	int err;

	(void)aux;
	(void)resp;
	if (!ep)
		return FW_EINVAL;
	if (ep->state == CM_REP_RCVD)
		return cm_ops_of(ep)->accept(nic, ep);
	err = cm_cmd_take_param(nic, ep, cm);
	if (err)
		return err;
	if (!ep->datagram)
		cm_tie(nic, ep, cm->param.qpn);
	return cm_ops_of(ep)->accept(nic, ep);
}

int cmd_cm_reject(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_cm *cm = &cmd->u.cm;
	struct cm_ep *ep = answering(nic, client, cm, HW_CM_F_STORED);
	int err;

	(void)aux;
	(void)resp;
	if (!ep || cm->arg > UINT16_MAX || cm->arg == HW_CM_REJ_REDIRECT)
		return FW_EINVAL;
	err = cm_cmd_take_data(nic, ep, cm);
	if (err)
		return err;
	return cm_ops_of(ep)->reject(nic, ep, (uint16_t)cm->arg);
}

int cmd_cm_disconnect(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		      const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);

	(void)aux;
	(void)resp;
	if (!ep)
		return FW_EINVAL;
	switch ((enum cm_state)ep->state) {
	case CM_REP_SENT:
	case CM_REP_RCVD:
	case CM_ESTABLISHED:
		cm_disconnect(nic, ep);
		return 0;
	case CM_DREQ_SENT:
	case CM_FOUND:
	case CM_LINGER:
		return 0;
	case CM_IDLE:
		/* The peer was faster. */
		return ep->over ? 0 : FW_EINVAL;
	case CM_FREE:
	case CM_RESOLVING:
	case CM_LISTEN:
	case CM_REQ_SENT:
	case CM_REQ_RCVD:
	case CM_STATES:
		break;
	}
	return FW_EINVAL;
}

int cmd_cm_move(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);

	(void)aux;
	(void)resp;
	if (!ep || !cmd->u.cm.eq || !eq_own(nic, client, cmd->u.cm.eq))
		return FW_EINVAL;
	return cm_event_move(nic, ep, cmd->u.cm.eq) ? 0 : CMD_LATER;
}

int cmd_cm_event(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_eq *eq = cmd->u.cm.eq ? eq_own(nic, client, cmd->u.cm.eq) : NULL;

	(void)aux;
	if (!eq)
		return FW_EINVAL;
	cm_event_take(nic, eq, &resp->u.cm_event);
	return 0;
}

int cmd_cm_rest(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct cm_ep *ep = cm_own(nic, client, cmd->u.cm.ep);

	(void)aux;
	return ep ? cm_event_rest(nic, ep, &resp->u.cm_rest) : FW_EINVAL;
}
