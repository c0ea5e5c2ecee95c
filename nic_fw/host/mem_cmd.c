/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on protection domains, memory regions and memory windows.
 *
 * Calls port->mem_unmap(). client.c uses the functions at detach. The objects' rights are checked
 * in mem.c. IBA 11.2.8 (regions), 11.2.9 (windows).
 */
#include "nic_fw/fw_nic.h"

struct fw_pd *pd_own(struct fw_nic *nic, uint32_t client, uint32_t handle)
{
	struct fw_pd *pd;

	if (handle >= nic->host.pd_ids.high)
		return NULL;
	pd = &nic->host.pds[handle];
	return pd->used && pd->client == client ? pd : NULL;
}

int cmd_alloc_pd(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_pd *pd;
	uint32_t index;

	(void)cmd;
	(void)aux;
	if (!share_may(nic, client, HW_SHARE_PD, 1))
		return FW_EDQUOT;
	index = fw_ids_get(&nic->host.pd_ids);
	if (index == FW_NONE)
		return FW_ENOMEM;
	pd = &nic->host.pds[index];
	pd->used = true;
	pd->client = client;
	pd->refs = 0;
	fw_list_add_tail(&owner->pds, &pd->node);
	share_take(nic, client, HW_SHARE_PD, 1);
	resp->u.handle = index;
	return 0;
}

void pd_destroy(struct fw_nic *nic, uint32_t index)
{
	struct fw_pd *pd = &nic->host.pds[index];

	assert(pd->used && !pd->refs);
	pd->used = false;
	fw_list_del(&pd->node);
	share_give(nic, pd->client, HW_SHARE_PD, 1);
	fw_ids_put(&nic->host.pd_ids, index);
}

int cmd_dealloc_pd(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_pd *pd = pd_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	(void)resp;
	if (!pd)
		return FW_EINVAL;
	if (pd->refs)
		return FW_EBUSY;
	pd_destroy(nic, cmd->u.obj.handle);
	return 0;
}

static uint32_t draw(struct fw_nic *nic)
{
	return (uint32_t)(nic->port.random64(nic->port.ctx) >> 32);
}

/* Draws any key except 0, with which STag 0 would be valid, and the previous one. */
static uint16_t draw_key(struct fw_nic *nic, uint16_t old)
{
	uint16_t key = (uint16_t)(1 + draw(nic) % (STAG_KEYS - 1 - (old ? 1 : 0)));

	return old && key >= old ? (uint16_t)(key + 1) : key;
}

/*
 * Takes a number for a region or window, and draws a key: peers that were not given them can only
 * guess. Windows come first in the client's list: at its end they go before their regions.
 */
static struct fw_mr *mr_take(struct fw_nic *nic, uint32_t client, uint32_t pd, enum fw_mr_kind kind,
			     uint32_t *index)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_mr *mr;
	uint16_t key;

	*index = fw_ids_draw(&nic->host.mr_ids, MR_SPREAD, draw(nic));
	if (*index == FW_NONE)
		return NULL;
	mr = &nic->host.mrs[*index];
	key = draw_key(nic, mr->key);
	memset(mr, 0, sizeof(*mr));
	mr->key = key;
	mr->stag = stag_make(*index, key);
	mr->pd = pd;
	mr->client = (uint16_t)client;
	mr->kind = (uint8_t)kind;
	fw_list_init(&mr->qp_node);
	if (kind == FW_MR_WINDOW)
		fw_list_add_head(&owner->mrs, &mr->node);
	else
		fw_list_add_tail(&owner->mrs, &mr->node);
	share_take(nic, client, HW_SHARE_MR, 1);
	if (kind == FW_MR_WINDOW)
		share_take(nic, client, HW_SHARE_MW, 1);
	nic->host.pds[pd].refs++;
	return mr;
}

void mr_destroy(struct fw_nic *nic, uint32_t index)
{
	struct fw_mr *mr = &nic->host.mrs[index];
	void *map_base = mr->map_base;

	assert(mr->kind != FW_MR_FREE && !mr->windows);
	if (mr->kind == FW_MR_WINDOW) {
		mem_unbind(nic, mr);
		share_give(nic, mr->client, HW_SHARE_MW, 1);
	} else if (!nic->host.clients[mr->client].closing) { /* done once for all of its objects */
		eth_tx_forget(nic, mr->client);
	}
	mr->kind = FW_MR_FREE;
	mr->stag = mem_stag_void(index);
	mr->mapping = NULL;
	mr->map_base = NULL;
	fw_list_del(&mr->node);
	share_give(nic, mr->client, HW_SHARE_MR, 1);
	nic->host.pds[mr->pd].refs--;
	fw_ids_put_drawn(&nic->host.mr_ids, index);
	if (map_base)
		nic->port.mem_unmap(nic->port.ctx, mr->client, map_base);
}

static bool range_wraps(uint64_t start, uint64_t bytes)
{
	return start + (bytes - 1) < start;
}

/* Memory that a peer may write must be writable by the process (IBA 10.6.3.1). */
static bool is_access_legal(uint32_t access)
{
	return !(access & ~(uint32_t)HW_ACCESS_ALL) &&
	       (!(access & (HW_ACCESS_REMOTE_WRITE | HW_ACCESS_REMOTE_ATOMIC)) ||
		access & HW_ACCESS_LOCAL_WRITE);
}

static int check_reg_mr(const struct hw_cmd_reg_mr *reg, const struct fw_cmd_aux *aux)
{
	if (!reg->bytes || reg->bytes > HW_MAX_MR_BYTES || range_wraps(reg->addr, reg->bytes) ||
	    range_wraps(reg->iova, reg->bytes))
		return FW_EINVAL;
	if (!is_access_legal(reg->access) || reg->flags & ~(uint32_t)HW_REG_F_MAPPED ||
	    reg->reserved || reg->reserved0)
		return FW_EINVAL;
	if (!(reg->flags & HW_REG_F_MAPPED))
		return aux && aux->mapping ? FW_EINVAL : 0;
	if (!aux || !aux->mapping || aux->offset > aux->map_bytes ||
	    reg->bytes > aux->map_bytes - aux->offset)
		return FW_EFAULT;
	return 0;
}

int cmd_reg_mr(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
	       const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_reg_mr *reg = &cmd->u.reg_mr;
	bool mapped = reg->flags & HW_REG_F_MAPPED;
	struct fw_mr *mr;
	uint32_t index;
	int err;

	if (!pd_own(nic, client, reg->pd))
		return FW_EINVAL;
	err = check_reg_mr(reg, aux);
	if (err)
		return err;
	if (!share_may(nic, client, HW_SHARE_MR, 1))
		return FW_EDQUOT;
	mr = mr_take(nic, client, reg->pd, FW_MR_REGION, &index);
	if (!mr)
		return FW_ENOMEM;
	mr->addr = reg->addr;
	mr->bytes = reg->bytes;
	mr->iova = reg->access & HW_ACCESS_ZERO_BASED ? 0 : reg->iova;
	mr->access = reg->access;
	if (mapped) {
		mr->map_base = aux->handle ? aux->handle : aux->mapping;
		mr->mapping = (uint8_t *)aux->mapping + aux->offset;
		FW_COUNT(nic, mrs_mapped);
	} else {
		nic->host.clients[client].has_unmapped = true;
		FW_COUNT(nic, mrs_process_vm);
	}
	resp->u.mr.stag = stag_make(index, mr->key);
	resp->u.mr.mapped = mapped;
	return 0;
}

/* Returns the caller's region or window with this STag, dead ones too. */
static struct fw_mr *mr_own(struct fw_nic *nic, uint32_t client, uint32_t stag, bool window)
{
	uint32_t index = stag_index(stag);
	struct fw_mr *mr;

	if (index >= nic->host.mr_ids.high)
		return NULL;
	mr = &nic->host.mrs[index];
	if (mr->kind == FW_MR_FREE || mr->client != client || mr->key != stag_key(stag) ||
	    (mr->kind == FW_MR_WINDOW) != window)
		return NULL;
	return mr;
}

int cmd_dereg_mr(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_mr *mr = mr_own(nic, client, cmd->u.obj.handle, false);

	(void)aux;
	(void)resp;
	if (!mr)
		return FW_EINVAL;
	if (mr->windows)
		return FW_EBUSY;
	mr_destroy(nic, stag_index(cmd->u.obj.handle));
	return 0;
}

/*
 * Gives a region other rights, or another domain (IBA 11.2.8.3). Earlier accesses keep their old
 * rights only for frames that are already staged: each segment is checked.
 */
int cmd_modify_mr(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_modify_mr *modify = &cmd->u.modify_mr;
	struct fw_mr *mr = mr_own(nic, client, modify->stag, false);
	struct fw_pd *pd = pd_own(nic, client, modify->pd);

	(void)aux;
	if (!mr || !pd || modify->reserved || !is_access_legal(modify->access) ||
	    (modify->access ^ mr->access) & HW_ACCESS_ZERO_BASED)
		return FW_EINVAL;
	if (mr->windows)
		return FW_EBUSY;
	eth_tx_forget(nic, mr->client);
	nic->host.pds[mr->pd].refs--;
	pd->refs++;
	mr->pd = modify->pd;
	mr->access = modify->access;
	resp->u.mr.stag = modify->stag;
	resp->u.mr.mapped = mr->mapping != NULL;
	return 0;
}

int cmd_alloc_mw(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		 const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_alloc_mw *alloc = &cmd->u.alloc_mw;
	struct fw_mr *mw;
	uint32_t index;

	(void)aux;
	if (!pd_own(nic, client, alloc->pd) || (alloc->type != 1 && alloc->type != 2))
		return FW_EINVAL;
	if (!share_may(nic, client, HW_SHARE_MR, 1) || !share_may(nic, client, HW_SHARE_MW, 1))
		return FW_EDQUOT;
	mw = mr_take(nic, client, alloc->pd, FW_MR_WINDOW, &index);
	if (!mw)
		return FW_ENOMEM;
	mw->mw_type = (uint8_t)alloc->type;
	resp->u.handle = stag_make(index, mw->key);
	return 0;
}

/* The process may have lost count of a type 2 window's key: only the number is compared. */
int cmd_dealloc_mw(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	uint32_t index = stag_index(cmd->u.obj.handle);
	const struct fw_mr *mw;

	(void)aux;
	(void)resp;
	if (index >= nic->host.mr_ids.high)
		return FW_EINVAL;
	mw = &nic->host.mrs[index];
	if (mw->kind != FW_MR_WINDOW || mw->client != client)
		return FW_EINVAL;
	mr_destroy(nic, index);
	return 0;
}
