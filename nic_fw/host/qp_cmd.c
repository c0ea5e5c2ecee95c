/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on queue pairs: create, modify, query, destroy.
 *
 * client.c uses the functions at detach. Calls qp.c (state machine) and qp_attr.c (legality of
 * attributes). IBA 11.2.4.
 */
#include "nic_fw/fw_nic.h"

struct fw_qp *qp_own(struct fw_nic *nic, uint32_t client, uint32_t qpn)
{
	struct fw_qp *qp = qp_find(nic, qpn);

	return qp && (qp->client == client || xrc_is_open(qp, client)) ? qp : NULL;
}

/* The objects of a new QP, checked to be the client's. */
struct parts {
	struct fw_pd *pd; /* NULL with XRC_RECV, and so the next two */
	struct fw_cq *send_cq;
	struct fw_cq *recv_cq;
	struct fw_xrcd *xrcd; /* XRC_RECV */
	struct fw_srq *srq;   /* NULL: a receive queue of its own */
};

static int qp_cmd_check_type(const struct hw_cmd_create_qp *create)
{
	const uint32_t of_ud =
	    HW_QP_F_UD_LONG | HW_QP_F_BLOCK_SELF_MCAST_LB | HW_QP_F_NO_PEER_ERROR;

	if (create->type != HW_QPT_UD && create->type != HW_QPT_RD && create->type != HW_QPT_RC &&
	    create->type != HW_QPT_UC && create->type != HW_QPT_XRC_SEND &&
	    create->type != HW_QPT_XRC_RECV)
		return FW_EINVAL;
	if (create->flags & ~(uint32_t)(HW_QP_F_SQ_SIG_ALL | HW_QP_F_TAGGED | HW_QP_F_LENT | of_ud))
		return FW_EINVAL;
	if (create->flags & HW_QP_F_TAGGED &&
	    (create->type != HW_QPT_RD || create->srq != HW_SRQ_NONE || !create->max_recv_wr ||
	     create->flags & HW_QP_F_LENT))
		return FW_EINVAL;
	if (create->flags & of_ud && create->type != HW_QPT_UD)
		return FW_EINVAL;
	return 0;
}

/* It has no queue: no request is posted to it. */
static bool is_bare(const struct hw_cmd_create_qp *create)
{
	return !create->pd && !create->send_cq && !create->recv_cq && create->srq == HW_SRQ_NONE &&
	       !create->sq_slots && !create->max_send_wr && !create->max_recv_wr &&
	       !create->max_send_sge && !create->max_recv_sge && !create->max_inline_bytes &&
	       !create->flags;
}

static bool may_be_lent(const struct hw_cmd_create_qp *create)
{
	return create->sq_slots <= HW_RING_MAX_BYTES / HW_SQ_SLOT_BYTES &&
	       (uint64_t)fw_pow2_at_least(create->max_recv_wr) *
		       hw_rq_stride_bytes(create->max_recv_sge) <=
		   HW_RING_MAX_BYTES;
}

static int check_sizes(const struct hw_cmd_create_qp *create)
{
	if (create->type == HW_QPT_XRC_RECV)
		return is_bare(create) ? 0 : FW_EINVAL;
	if (create->xrcd)
		return FW_EINVAL;
	/* Peers' SRQs take its messages; it receives none. */
	if (create->type == HW_QPT_XRC_SEND &&
	    (create->max_recv_wr || create->max_recv_sge || create->srq != HW_SRQ_NONE))
		return FW_EINVAL;
	if (create->max_send_wr > HW_MAX_WR || create->max_recv_wr > HW_MAX_WR ||
	    create->max_send_sge > HW_MAX_SGE || create->max_recv_sge > HW_MAX_SGE ||
	    create->max_inline_bytes > HW_MAX_INLINE_BYTES)
		return FW_EINVAL;
	/* A request takes a slot at least. */
	if (!create->sq_slots || create->sq_slots > HW_MAX_SQ_SLOTS ||
	    create->sq_slots & (create->sq_slots - 1) || create->sq_slots < create->max_send_wr)
		return FW_EINVAL;
	return create->flags & HW_QP_F_LENT && !may_be_lent(create) ? FW_EINVAL : 0;
}

static int find_parts(struct fw_nic *nic, uint32_t client, const struct hw_cmd_create_qp *create,
		      struct parts *parts)
{
	*parts = (struct parts){0};
	if (create->type == HW_QPT_XRC_RECV) {
		parts->xrcd = xrcd_own(nic, client, create->xrcd);
		return parts->xrcd ? 0 : FW_EINVAL;
	}
	parts->pd = pd_own(nic, client, create->pd);
	parts->send_cq = cq_own(nic, client, create->send_cq);
	parts->recv_cq = cq_own(nic, client, create->recv_cq);
	if (!parts->pd || !parts->send_cq || !parts->recv_cq)
		return FW_EINVAL;
	if (create->srq == HW_SRQ_NONE)
		return 0;
	parts->srq = srq_own(nic, client, create->srq);
	/* An XRC SRQ serves the QPs of its domain. */
	return parts->srq && !parts->srq->domain ? 0 : FW_EINVAL;
}

static uint64_t sq_bytes(const struct fw_qp *qp)
{
	return (uint64_t)(qp->sq_mask + 1) * HW_SQ_SLOT_BYTES;
}

static uint64_t rq_bytes(const struct fw_qp *qp)
{
	return (uint64_t)(qp->rq_mask + 1) * qp->rq_stride_bytes;
}

static bool has_rq(const struct fw_qp *qp)
{
	return qp->rq_stride_bytes != 0;
}

/* Both rings, the receive queue right after the send queue: one piece of the BAR. */
static uint64_t rings_bytes(const struct fw_qp *qp)
{
	return sq_bytes(qp) + (has_rq(qp) ? rq_bytes(qp) : 0);
}

static uint64_t record_offset(const struct fw_nic *nic, const struct fw_qp *qp)
{
	if (qp->type == HW_QPT_XRC_RECV)
		return 0;
	return (uint64_t)((uint8_t *)qp->record - nic->host.clients[qp->client].bar.base);
}

static void free_memory(struct fw_nic *nic, const struct fw_qp *qp)
{
	if (qp->type == HW_QPT_XRC_RECV)
		return;
	if (!(qp->flags & HW_QP_F_LENT))
		bar_free(nic, qp->client, qp->sq_offset, rings_bytes(qp));
	bar_record_free(nic, qp->client, record_offset(nic, qp));
}

static int qp_cmd_alloc_memory(struct fw_nic *nic, struct fw_qp *qp)
{
	struct fw_client *owner = &nic->host.clients[qp->client];
	uint64_t record;

	/* It may outlive the process that made it, and that process's BAR. */
	if (qp->type == HW_QPT_XRC_RECV) {
		qp->record = nic->host.null_record;
		return 0;
	}
	if (bar_record_alloc(nic, qp->client, &record))
		return FW_ENOMEM;
	qp->record = (void *)client_bar(owner, record);
	if (qp->flags & HW_QP_F_LENT) {
		lent_begin(nic, qp);
		return 0;
	}
	if (bar_alloc(nic, qp->client, rings_bytes(qp), &qp->sq_offset)) {
		bar_record_free(nic, qp->client, record);
		return FW_ENOMEM;
	}
	qp->sq_ring = client_bar(owner, qp->sq_offset);
	qp->rq_ring = has_rq(qp) ? client_bar(owner, qp->sq_offset + sq_bytes(qp)) : NULL;
	return 0;
}

/*
 * Message numbers continue from the last QP with this number: a peer may still hold pieces of that
 * QP's last message (ud_reasm.c).
 */
static void init_qp(struct fw_nic *nic, struct fw_qp *qp, uint32_t client,
		    const struct hw_cmd_create_qp *create)
{
	uint32_t ssn = qp->ssn;
	uint64_t ended_ns = qp->ended_ns;

	memset(qp, 0, sizeof(*qp));
	qp->ssn = ssn;
	qp->ended_ns = ended_ns;
	qp->qpn = nic->qpn_base | ((uint32_t)(qp - nic->host.qps) + FW_QPN_FIRST);
	qp->pd = create->pd;
	qp->client = (uint16_t)client;
	qp->type = (uint8_t)create->type;
	qp->state = HW_QPS_RESET;
	qp->flags = (uint8_t)create->flags;
	qp->srq = create->srq;
	qp->sq_mask = create->sq_slots ? create->sq_slots - 1 : 0;
	qp->max_send_wr = (uint16_t)create->max_send_wr;
	qp->max_send_sge = (uint8_t)create->max_send_sge;
	qp->max_inline_bytes = (uint16_t)create->max_inline_bytes;
	if (create->srq == HW_SRQ_NONE && create->max_recv_wr) {
		qp->rq_mask = fw_pow2_at_least(create->max_recv_wr) - 1;
		qp->max_recv_wr = (uint16_t)(qp->rq_mask + 1);
		qp->max_recv_sge = (uint8_t)create->max_recv_sge;
		qp->rq_stride_bytes = create->flags & HW_QP_F_TAGGED
					  ? hw_tag_stride_bytes(create->max_recv_sge)
					  : hw_rq_stride_bytes(create->max_recv_sge);
	}
	fw_list_init(&qp->wqes);
	fw_list_init(&qp->reads);
	fw_list_init(&qp->sched_node);
	fw_list_init(&qp->recv_msgs);
	fw_list_init(&qp->atomics);
	fw_list_init(&qp->flows);
	fw_list_init(&qp->mcasts); /* and opens, which has its place */
	fw_list_init(&qp->windows);
	fw_list_init(&qp->done_node);
	fw_list_init(&qp->done_flows);
	fw_list_init(&qp->flush_node);
	fw_list_init(&qp->flush_msgs);
	qp->esp = &nic->host.esps[qp - nic->host.qps];
	fw_list_init(&qp->node);
	qp_attr_reset(qp);
}

static void tie(struct fw_nic *nic, struct fw_qp *qp, const struct parts *parts)
{
	struct fw_client *owner = &nic->host.clients[qp->client];

	if (parts->xrcd) {
		qp->pd = FW_NONE;
		qp->xrcd = (uint32_t)(parts->xrcd - nic->host.xrcds);
		qp->domain = parts->xrcd->domain;
		parts->xrcd->refs++;
	} else {
		qp->send_cq = parts->send_cq;
		qp->recv_cq = parts->recv_cq;
		qp->send_cq->refs++;
		qp->recv_cq->refs++;
		parts->pd->refs++;
	}
	if (parts->srq)
		parts->srq->refs++;
	fw_list_add_tail(&owner->qps, &qp->node);
	share_take(nic, qp->client, HW_SHARE_QP, 1);
	qp->used = true;
}

static void qp_cmd_fill_resp(const struct fw_nic *nic, const struct fw_qp *qp,
			     struct hw_resp_create_qp *resp)
{
	resp->qpn = qp->qpn;
	resp->sq_slots = qp->sq_ring ? qp->sq_mask + 1 : 0;
	resp->max_send_wr = qp->max_send_wr;
	resp->max_recv_wr = qp->max_recv_wr;
	resp->max_send_sge = qp->max_send_sge;
	resp->max_recv_sge = qp->max_recv_sge;
	resp->max_inline_bytes = qp->max_inline_bytes;
	resp->record_offset = record_offset(nic, qp);
	resp->sq_offset = qp->sq_offset;
	if (has_rq(qp)) {
		resp->rq_entries = qp->rq_mask + 1;
		resp->rq_stride_bytes = qp->rq_stride_bytes;
		resp->rq_offset = qp->sq_offset ? qp->sq_offset + sq_bytes(qp) : 0;
	}
}

int cmd_create_qp(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_create_qp *create = &cmd->u.create_qp;
	struct parts parts;
	struct fw_qp *qp;
	uint32_t index;
	int err;

	(void)aux;
	err = qp_cmd_check_type(create);
	if (!err)
		err = check_sizes(create);
	if (!err)
		err = find_parts(nic, client, create, &parts);
	if (err)
		return err;
	if (!share_may(nic, client, HW_SHARE_QP, 1))
		return FW_EDQUOT;
	index = fw_ids_get(&nic->host.qp_ids);
	if (index == FW_NONE)
		return FW_ENOMEM;
	qp = &nic->host.qps[index];
	init_qp(nic, qp, client, create);
	if (qp_cmd_alloc_memory(nic, qp)) {
		fw_ids_put(&nic->host.qp_ids, index);
		return FW_ENOMEM;
	}
	tie(nic, qp, &parts);
	qp_cmd_fill_resp(nic, qp, &resp->u.create_qp);
	return 0;
}

static void destroy(struct fw_nic *nic, struct fw_qp *qp)
{
	assert(fw_list_empty(&qp->wqes) && fw_list_empty(&qp->flows) &&
	       fw_list_empty(&qp->recv_msgs) && fw_list_empty(&qp->windows) &&
	       fw_list_empty(&qp->atomics) && fw_list_empty(&qp->flush_msgs) &&
	       !fw_list_linked(&qp->sched_node));
	free_memory(nic, qp);
	if (qp->type == HW_QPT_XRC_RECV) {
		nic->host.xrcds[qp->xrcd].refs--;
	} else {
		qp->send_cq->refs--;
		qp->recv_cq->refs--;
		nic->host.pds[qp->pd].refs--;
	}
	if (qp->srq != HW_SRQ_NONE)
		nic->host.srqs[qp->srq].refs--;
	assert(fw_list_empty(&qp->done_flows));
	fw_list_del(&qp->done_node);
	fw_list_del(&qp->node);
	share_give(nic, qp->client, HW_SHARE_QP, 1);
	qp->used = false;
	qp->ended_ns = nic->now_ns;
	fw_ids_put(&nic->host.qp_ids, (uint32_t)(qp - nic->host.qps));
}

bool qp_let_go(struct fw_nic *nic, struct fw_qp *qp, uint32_t client)
{
	assert(qp->used);
	if (xrc_let_go(nic, qp, client))
		return true;
	while (qp->type == HW_QPT_UD && !fw_list_empty(&qp->mcasts)) {
		if (!slice_take(nic, FW_SLICE_MCAST_UNITS))
			return false;
		mcast_detach(nic, FW_CONTAINER(qp->mcasts.next, struct mcast_member, qp_node));
	}
	if (!slice_take(nic, FW_SLICE_QP_UNITS))
		return false;
	/* If it is already in RESET, its flush continues by itself. */
	if (!qp->flushing || qp->state != HW_QPS_RESET)
		qp_set_state(nic, qp, HW_QPS_RESET);
	else
		qp_flush_run(nic, qp);
	if (qp->flushing || (qp->tag && !host_up.tag_close(nic, qp)))
		return false;
	destroy(nic, qp);
	return true;
}

/* False: completions of the QP wait for a copy (cq.h). */
static bool are_cqs_settled(struct fw_nic *nic, struct fw_qp *qp)
{
	return (!qp->send_cq || cq_settled(nic, qp->send_cq)) &&
	       (!qp->recv_cq || cq_settled(nic, qp->recv_cq));
}

int cmd_destroy_qp(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_qp *qp = qp_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	(void)resp;
	if (!qp)
		return FW_EINVAL;
	if (!are_cqs_settled(nic, qp))
		return CMD_LATER;
	return qp_let_go(nic, qp, client) ? 0 : CMD_LATER;
}

/* All is checked before any change: a refused command leaves the QP as it was. */
int cmd_modify_qp(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_modify_qp *modify = &cmd->u.modify_qp;
	struct fw_qp *qp = qp_own(nic, client, modify->qpn);
	enum hw_qp_state from, to;
	int err;

	(void)aux;
	if (!qp)
		return FW_EINVAL;
	from = (enum hw_qp_state)qp->state;
	to = from;
	if (modify->mask & HW_QP_STATE) {
		if (modify->attr.state >= HW_QPS_STATES)
			return FW_EINVAL;
		to = (enum hw_qp_state)modify->attr.state;
	}
	if (!qp_attr_is_legal(qp->type, from, to,
			      modify->mask | qp_attr_excused(qp, &modify->attr, modify->mask, to)))
		return FW_EINVAL;
	err = qp_attr_check(nic, qp, &modify->attr, modify->mask);
	if (err)
		return err;
	/* It has no memory for messages yet. */
	if (to == HW_QPS_RTR && qp->flags & HW_QP_F_TAGGED && !qp->tag)
		return FW_EINVAL;
	/* Requests posted in SQE are flushed, though their doorbell is still to be read. */
	if (from == HW_QPS_SQE && to == HW_QPS_RTS && !qp->flushing && wqe_is_posted(qp)) {
		qp_flush(nic, qp);
		/* A full CQ ends it. */
		if (qp->state != from)
			return FW_EINVAL;
	}
	/* Completions flushed by the old state come first, and those that wait for a late copy. */
	if (qp->flushing && to != HW_QPS_ERR && to != HW_QPS_RESET)
		return CMD_LATER;
	if (from == HW_QPS_SQE && to == HW_QPS_RTS && !cq_settled(nic, qp->send_cq))
		return CMD_LATER;
	qp_attr_apply(nic, qp, &modify->attr, modify->mask);
	if (to != from || (to == HW_QPS_RESET && !qp->flushing))
		qp_set_state(nic, qp, to);
	/* After the answer no earlier request is touched. */
	if (to == HW_QPS_RESET && (qp->flushing || !are_cqs_settled(nic, qp)))
		return CMD_LATER;
	resp->u.qp_attr = qp->attr;
	resp->u.qp_attr.state = qp->state;
	return 0;
}

int cmd_query_qp(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct fw_qp *qp = qp_own(nic, client, cmd->u.obj.handle);
	struct hw_resp_query_qp *query = &resp->u.query_qp;

	(void)aux;
	if (!qp)
		return FW_EINVAL;
	query->attr = qp->attr;
	query->attr.state = qp->state;
	query->attr.cur_state = qp->state;
	query->attr.sq_draining = qp->sq_draining;
	query->max_send_wr = qp->max_send_wr;
	query->max_recv_wr = qp->max_recv_wr;
	query->max_send_sge = qp->max_send_sge;
	query->max_recv_sge = qp->max_recv_sge;
	query->max_inline_bytes = qp->max_inline_bytes;
	query->type = qp->type;
	return 0;
}
