/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC domains, and XRC_RECV QPs in several processes.
 *
 * Domains are compared by a number that is given out once: two openings of one file share it, and a
 * process that closes its own does not affect the others. A QP lives until the last process that
 * has it open releases it; after its maker has gone, another one represents it. IBA annex A14; the
 * rules of opening are those of ibv_open_xrcd(3).
 */
#include "nic_fw/fw_nic.h"

struct fw_xrcd *xrcd_own(struct fw_nic *nic, uint32_t client, uint32_t handle)
{
	struct fw_xrcd *xrcd;

	if (handle >= nic->host.xrcd_ids.high)
		return NULL;
	xrcd = &nic->host.xrcds[handle];
	return xrcd->used && xrcd->client == client ? xrcd : NULL;
}

/* Returns any opening of this file's domain; NULL: there is none. */
static const struct fw_xrcd *find_file(const struct fw_nic *nic,
				       const struct hw_cmd_open_xrcd *open)
{
	uint32_t i;

	for (i = 0; i < nic->host.xrcd_ids.high; i++) {
		const struct fw_xrcd *xrcd = &nic->host.xrcds[i];

		if (xrcd->used && xrcd->is_file && xrcd->file_dev == open->file_dev &&
		    xrcd->file_ino == open->file_ino)
			return xrcd;
	}
	return NULL;
}

/* Finds the domain to open; 0 in *domain: a new one. */
static int choose_domain(const struct fw_nic *nic, const struct hw_cmd_open_xrcd *open,
			 uint64_t *domain)
{
	const struct fw_xrcd *other;

	*domain = 0;
	if (open->flags & ~(uint32_t)HW_XRCD_F_ALL || open->reserved)
		return FW_EINVAL;
	if (!(open->flags & HW_XRCD_F_FILE))
		return open->file_dev || open->file_ino ? FW_EINVAL : 0;
	other = find_file(nic, open);
	if (!other)
		return open->flags & HW_XRCD_F_CREATE ? 0 : FW_EAGAIN;
	if (open->flags & HW_XRCD_F_EXCL)
		return FW_EINVAL;
	*domain = other->domain;
	return 0;
}

int cmd_open_xrcd(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_open_xrcd *open = &cmd->u.open_xrcd;
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_xrcd *xrcd;
	uint64_t domain;
	uint32_t handle;
	int err = choose_domain(nic, open, &domain);

	(void)aux;
	if (err)
		return err;
	if (owner->share->held[HW_SHARE_XRCD] >= HW_MAX_XRCD_PER_CLIENT)
		return FW_ENOSPC;
	if (!share_may(nic, client, HW_SHARE_XRCD, 1))
		return FW_EDQUOT;
	handle = fw_ids_get(&nic->host.xrcd_ids);
	if (handle == FW_NONE)
		return FW_ENOMEM;
	xrcd = &nic->host.xrcds[handle];
	memset(xrcd, 0, sizeof(*xrcd));
	xrcd->used = true;
	xrcd->is_file = open->flags & HW_XRCD_F_FILE;
	xrcd->client = (uint16_t)client;
	xrcd->domain = domain ? domain : ++nic->host.xrc_domains;
	xrcd->file_dev = open->file_dev;
	xrcd->file_ino = open->file_ino;
	fw_list_add_tail(&owner->xrcds, &xrcd->node);
	share_take(nic, client, HW_SHARE_XRCD, 1);
	resp->u.handle = handle;
	return 0;
}

void xrcd_close(struct fw_nic *nic, uint32_t handle)
{
	struct fw_xrcd *xrcd = &nic->host.xrcds[handle];

	assert(xrcd->used && !xrcd->refs);
	xrcd->used = false;
	fw_list_del(&xrcd->node);
	share_give(nic, xrcd->client, HW_SHARE_XRCD, 1);
	fw_ids_put(&nic->host.xrcd_ids, handle);
}

int cmd_close_xrcd(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct fw_xrcd *xrcd = xrcd_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	(void)resp;
	if (!xrcd)
		return FW_EINVAL;
	if (xrcd->refs)
		return FW_EBUSY;
	xrcd_close(nic, cmd->u.obj.handle);
	return 0;
}

struct fw_srq *xrc_srq(struct fw_nic *nic, const struct fw_qp *qp, uint32_t srqn)
{
	uint32_t index = srqn - XRC_SRQN_FIRST;
	struct fw_srq *srq;

	if (index >= nic->host.srq_ids.high)
		return NULL;
	srq = &nic->host.srqs[index];
	/* An SRQ without XRC has no domain, and no QP is of domain 0. */
	return srq->used && !srq->ending && srq->domain == qp->domain &&
		       !nic->host.clients[srq->client].closing
		   ? srq
		   : NULL;
}

uint32_t xrc_srq_pd(struct fw_nic *nic, const struct fw_qp *qp, uint32_t srqn)
{
	const struct fw_srq *srq = xrc_srq(nic, qp, srqn);

	return srq ? srq->pd : FW_NONE;
}

/* ---- QPs in several processes */

static struct fw_qp_open *find_open(const struct fw_qp *qp, uint32_t client)
{
	struct fw_list *pos;

	if (qp->type != HW_QPT_XRC_RECV)
		return NULL;
	fw_list_for_each (pos, &qp->opens) {
		struct fw_qp_open *open = FW_CONTAINER(pos, struct fw_qp_open, qp_node);

		if (open->client == client)
			return open;
	}
	return NULL;
}

bool xrc_is_open(const struct fw_qp *qp, uint32_t client)
{
	return find_open(qp, client) != NULL;
}

/* A process opens a QP once: the second time is an error. */
int cmd_open_qp(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_xrcd *xrcd = xrcd_own(nic, client, cmd->u.open_qp.xrcd);
	struct fw_qp *qp = qp_find_live(nic, cmd->u.open_qp.qpn);
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_qp_open *open;

	(void)aux;
	if (!xrcd || !qp || qp->type != HW_QPT_XRC_RECV || qp->domain != xrcd->domain)
		return FW_EINVAL;
	if (qp->client == client || xrc_is_open(qp, client))
		return FW_EBUSY;
	if (!share_may(nic, client, HW_SHARE_QP, 1))
		return FW_EDQUOT;
	open = fw_pool_get(&nic->host.qp_opens);
	if (!open)
		return FW_ENOMEM;
	open->qp = qp;
	open->client = client;
	open->xrcd = cmd->u.open_qp.xrcd;
	fw_list_add_tail(&qp->opens, &open->qp_node);
	fw_list_add_tail(&owner->qp_opens, &open->node);
	share_take(nic, client, HW_SHARE_QP, 1);
	xrcd->refs++;
	resp->u.create_qp.qpn = qp->qpn;
	return 0;
}

bool xrc_let_go(struct fw_nic *nic, struct fw_qp *qp, uint32_t client)
{
	struct fw_qp_open *open = find_open(qp, client);

	if (open) {
		share_give(nic, client, HW_SHARE_QP, 1);
		nic->host.xrcds[open->xrcd].refs--;
	} else if (qp->type == HW_QPT_XRC_RECV && !fw_list_empty(&qp->opens)) {
		/* Its maker leaves: the next process takes over the QP's resources. */
		open = FW_CONTAINER(qp->opens.next, struct fw_qp_open, qp_node);
		share_give(nic, qp->client, HW_SHARE_QP, 1);
		nic->host.xrcds[qp->xrcd].refs--;
		fw_list_del(&qp->node);
		fw_list_add_tail(&nic->host.clients[open->client].qps, &qp->node);
		qp->client = (uint16_t)open->client;
		qp->xrcd = open->xrcd;
	} else {
		return false;
	}
	fw_list_del(&open->qp_node);
	fw_list_del(&open->node);
	fw_pool_put(&nic->host.qp_opens, open);
	return true;
}

void xrc_event(struct fw_nic *nic, const struct fw_qp *qp, enum hw_event_type type)
{
	const struct fw_list *pos;

	eq_async(nic, qp->client, type, qp->qpn);
	if (qp->type != HW_QPT_XRC_RECV)
		return;
	fw_list_for_each (pos, &qp->opens)
		eq_async(nic, FW_CONTAINER(pos, struct fw_qp_open, qp_node)->client, type, qp->qpn);
}
