/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings that a process lends to its queue pairs: see lent.h.
 *
 * Their room is a part of the BAR that stays the process's until it detaches: which queue has which
 * ring is its own affair. Calls bar.c. docs/host-interface.md, "Lent rings".
 */
#include "nic_fw/fw_nic.h"

static_assert((int)HW_RING_MAX_BYTES <= (int)HW_BAR_DYNAMIC, "any ring has room at place 0");

/*
 * Only bytes that were charged to the process's share count: reading others would commit pages that
 * nobody asked for.
 */
static uint8_t *lent_ring(struct fw_nic *nic, const struct fw_qp *qp, uint32_t place,
			  uint64_t bytes)
{
	const struct fw_bar *bar = &nic->host.clients[qp->client].bar;
	uint64_t offset = (uint64_t)place * HW_RING_PLACE_BYTES;

	return offset + bytes <= bar->charged ? bar->base + offset : NULL;
}

bool lent_sq_moved(struct fw_nic *nic, struct fw_qp *qp, uint32_t place)
{
	uint8_t *ring;

	if (!(qp->flags & HW_QP_F_LENT))
		return true;
	ring = lent_ring(nic, qp, place, (uint64_t)(qp->sq_mask + 1) * HW_SQ_SLOT_BYTES);
	if (!ring)
		return false;
	qp->sq_ring = ring;
	qp->sq_place = place;
	return true;
}

bool lent_rq_moved(struct fw_nic *nic, struct fw_qp *qp, uint32_t place)
{
	uint8_t *ring;

	if (!(qp->flags & HW_QP_F_LENT))
		return true;
	ring = lent_ring(nic, qp, place, (uint64_t)(qp->rq_mask + 1) * qp->rq_stride_bytes);
	if (!ring)
		return false;
	qp->rq_ring = ring;
	qp->rq_place = place;
	return true;
}

void lent_begin(struct fw_nic *nic, struct fw_qp *qp)
{
	(void)lent_sq_moved(nic, qp, 0);
	if (qp->rq_stride_bytes)
		(void)lent_rq_moved(nic, qp, 0);
}

int cmd_alloc_rings(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		    const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_alloc_rings *rings = &cmd->u.alloc_rings;

	(void)aux;
	if (rings->bytes < HW_RING_MIN_BYTES || rings->bytes > HW_RING_MAX_BYTES ||
	    rings->bytes & (rings->bytes - 1) || !rings->count || rings->count > HW_RINGS_MAX)
		return FW_EINVAL;
	return bar_alloc(nic, client, (uint64_t)rings->count * rings->bytes, &resp->u.rings.offset)
		   ? FW_ENOMEM
		   : 0;
}
