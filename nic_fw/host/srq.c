/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: commands, and the limit event.
 *
 * rq.c reports each receive that a message takes. Calls bar.c and eq.c. The limit is
 * mvapich-reduced-memory's low watermark. IBA 10.2.9, 11.2.3.
 */
#include "nic_fw/fw_nic.h"

/* hw_cmd_srq.mask */
enum {
	SRQ_MASK_MAX_WR = 1,
	SRQ_MASK_LIMIT = 2,
};

struct fw_srq *srq_own(struct fw_nic *nic, uint32_t client, uint32_t number)
{
	struct fw_srq *srq;

	if (number >= nic->host.srq_ids.high)
		return NULL;
	srq = &nic->host.srqs[number];
	return srq->used && srq->client == client ? srq : NULL;
}

uint32_t srq_available(struct fw_nic *nic, struct fw_srq *srq)
{
	if (srq->error)
		return 0;
	srq->prod = __atomic_load_n(&srq->record->prod, __ATOMIC_ACQUIRE);
	if (srq->prod - srq->cons <= srq->mask + 1)
		return srq->prod - srq->cons;
	/*
	 * More than the ring holds: the index is invalid, and the SRQ stays in error until it is
	 * destroyed.
	 */
	FW_COUNT(nic, wqes_bad);
	srq->error = true;
	eq_async(nic, srq->client, HW_EVENT_SRQ_ERR, srq->index);
	return 0;
}

static void check_limit(struct fw_nic *nic, struct fw_srq *srq)
{
	if (!srq->limit || srq->prod - srq->cons >= srq->limit)
		return;
	/* The process may have posted since the last read of the index. */
	if (srq_available(nic, srq) >= srq->limit || srq->error)
		return;
	srq->limit = 0;
	eq_async(nic, srq->client, HW_EVENT_SRQ_LIMIT, srq->index);
}

void srq_taken(struct fw_nic *nic, struct fw_srq *srq)
{
	srq->cons++;
	__atomic_store_n(&srq->record->cons, srq->cons, __ATOMIC_RELEASE);
	check_limit(nic, srq);
}

static void srq_fill_resp(const struct fw_srq *srq, struct hw_resp_srq *resp)
{
	resp->srq = srq->index;
	resp->max_wr = srq->max_wr;
	resp->max_sge = srq->max_sge;
	resp->limit = srq->limit;
	resp->record_offset = srq->record_offset;
	resp->ring_offset = srq->ring_offset;
	resp->entries = srq->mask + 1;
	resp->stride_bytes = srq->stride_bytes;
	resp->srqn = srq->domain ? srq->index + XRC_SRQN_FIRST : 0;
}

static uint64_t ring_bytes(const struct fw_srq *srq)
{
	return (uint64_t)(srq->mask + 1) * srq->stride_bytes;
}

static int srq_alloc_memory(struct fw_nic *nic, uint32_t client, struct fw_srq *srq)
{
	struct fw_client *owner = &nic->host.clients[client];

	if (bar_record_alloc(nic, client, &srq->record_offset))
		return FW_ENOMEM;
	if (bar_alloc(nic, client, ring_bytes(srq), &srq->ring_offset)) {
		bar_record_free(nic, client, srq->record_offset);
		return FW_ENOMEM;
	}
	srq->record = client_bar(owner, srq->record_offset);
	srq->ring = client_bar(owner, srq->ring_offset);
	return 0;
}

static void tie_xrc(struct fw_srq *srq, uint32_t number, struct fw_xrcd *xrcd, struct fw_cq *cq)
{
	srq->domain = xrcd->domain;
	srq->xrcd = number;
	srq->cq = cq;
	xrcd->refs++;
	cq->refs++;
}

int cmd_create_srq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_srq *create = &cmd->u.srq;
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_pd *pd = pd_own(nic, client, create->pd);
	bool xrc = create->flags & HW_SRQ_F_XRC;
	struct fw_xrcd *xrcd = xrc ? xrcd_own(nic, client, create->xrcd) : NULL;
	struct fw_cq *cq = xrc ? cq_own(nic, client, create->cq) : NULL;
	struct fw_srq *srq;
	uint32_t index;

	(void)aux;
	if (create->flags & ~(uint32_t)HW_SRQ_F_ALL || (xrc && (!xrcd || !cq)) ||
	    (!xrc && (create->xrcd || create->cq)))
		return FW_EINVAL;
	if (!pd || !create->max_wr || create->max_wr > HW_MAX_WR || create->max_sge > HW_MAX_SGE)
		return FW_EINVAL;
	if (!share_may(nic, client, HW_SHARE_SRQ, 1))
		return FW_EDQUOT;
	index = fw_ids_get(&nic->host.srq_ids);
	if (index == FW_NONE)
		return FW_ENOMEM;
	srq = &nic->host.srqs[index];
	memset(srq, 0, sizeof(*srq));
	srq->mask = fw_pow2_at_least(create->max_wr) - 1;
	srq->max_sge = create->max_sge;
	srq->stride_bytes = hw_rq_stride_bytes(srq->max_sge);
	if (srq_alloc_memory(nic, client, srq)) {
		fw_ids_put(&nic->host.srq_ids, index);
		return FW_ENOMEM;
	}
	srq->max_wr = srq->mask + 1;
	srq->pd = create->pd;
	srq->index = index;
	srq->client = (uint16_t)client;
	srq->used = true;
	fw_list_init(&srq->open_recvs);
	pd->refs++;
	if (xrc)
		tie_xrc(srq, create->xrcd, xrcd, cq);
	fw_list_add_tail(&owner->srqs, &srq->node);
	share_take(nic, client, HW_SHARE_SRQ, 1);
	srq_fill_resp(srq, &resp->u.srq);
	return 0;
}

void srq_destroy(struct fw_nic *nic, uint32_t index)
{
	struct fw_srq *srq = &nic->host.srqs[index];

	assert(srq->used && !srq->refs);
	if (srq->domain) {
		assert(fw_list_empty(&srq->open_recvs));
		nic->host.xrcds[srq->xrcd].refs--;
		srq->cq->refs--;
	}
	bar_free(nic, srq->client, srq->ring_offset, ring_bytes(srq));
	bar_record_free(nic, srq->client, srq->record_offset);
	srq->used = false;
	nic->host.pds[srq->pd].refs--;
	fw_list_del(&srq->node);
	share_give(nic, srq->client, HW_SHARE_SRQ, 1);
	fw_ids_put(&nic->host.srq_ids, index);
}

int cmd_destroy_srq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		    const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_srq *srq = srq_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	(void)resp;
	if (!srq)
		return FW_EINVAL;
	if (srq->refs)
		return FW_EBUSY;
	if (!host_up.forget_srq(nic, srq) || (srq->cq && !cq_settled(nic, srq->cq)))
		return CMD_LATER;
	srq_destroy(nic, srq->index);
	return 0;
}

/* A limit that is already crossed when it is set raises its event at once. */
int cmd_modify_srq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_srq *modify = &cmd->u.srq;
	struct fw_srq *srq = srq_own(nic, client, modify->srq);

	(void)aux;
	if (!srq || modify->mask & ~(uint32_t)(SRQ_MASK_MAX_WR | SRQ_MASK_LIMIT))
		return FW_EINVAL;
	if (modify->mask & SRQ_MASK_MAX_WR)
		return FW_EOPNOTSUPP;
	if (modify->mask & SRQ_MASK_LIMIT) {
		if (modify->limit > srq->max_wr)
			return FW_EINVAL;
		srq->limit = modify->limit;
		if (srq->limit)
			(void)srq_available(nic, srq);
		check_limit(nic, srq);
	}
	srq_fill_resp(srq, &resp->u.srq);
	return 0;
}

int cmd_query_srq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct fw_srq *srq = srq_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	if (!srq)
		return FW_EINVAL;
	srq_fill_resp(srq, &resp->u.srq);
	return 0;
}
