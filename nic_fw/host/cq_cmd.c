/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands on completion queues and event queues.
 *
 * Calls bar.c for their memory. client.c uses the functions for EQ 0 and at detach. The data path
 * is in cq.c and eq.c. IBA 11.2.7; docs/host-interface.md.
 */
#include "nic_fw/fw_nic.h"

enum {
	CQES_PER_UNIT = 4, /* of a ring that gets another size */
};

/* Returns the smallest power of two that is at least n, which is at most 2^31. */
uint32_t fw_pow2_at_least(uint32_t n)
{
	return n <= 1 ? 1 : UINT32_C(1) << (32 - __builtin_clz(n - 1));
}

struct fw_eq *eq_own(struct fw_nic *nic, uint32_t client, uint32_t number)
{
	const struct fw_client *owner = &nic->host.clients[client];

	if (number >= HW_MAX_EQ_PER_CLIENT || owner->eq[number] == FW_NONE)
		return NULL;
	return &nic->host.eqs[owner->eq[number]];
}

struct fw_cq *cq_own(struct fw_nic *nic, uint32_t client, uint32_t number)
{
	struct fw_cq *cq;

	if (number >= nic->host.cq_ids.high)
		return NULL;
	cq = &nic->host.cqs[number];
	return cq->used && cq->client == client ? cq : NULL;
}

static uint64_t eq_bytes(uint32_t entries)
{
	return sizeof(struct hw_eq_record) + (uint64_t)entries * sizeof(struct hw_eqe);
}

/* Record and ring are one piece: the record's line, then the entries. */
int eq_create(struct fw_nic *nic, uint32_t client, uint32_t number, uint32_t vector,
	      uint32_t entries, struct hw_resp_create_eq *resp)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_eq *eq;
	uint64_t offset;
	uint32_t index;

	entries = fw_pow2_at_least(entries);
	if (bar_alloc(nic, client, eq_bytes(entries), &offset))
		return FW_ENOMEM;
	index = fw_ids_get(&nic->host.eq_ids);
	if (index == FW_NONE) {
		bar_free(nic, client, offset, eq_bytes(entries));
		return FW_ENOMEM;
	}
	eq = &nic->host.eqs[index];
	memset(eq, 0, sizeof(*eq));
	eq->record_offset = offset;
	eq->ring_offset = offset + sizeof(struct hw_eq_record);
	eq->record = client_bar(owner, eq->record_offset);
	eq->ring = client_bar(owner, eq->ring_offset);
	memset(eq->record, 0, sizeof(*eq->record));
	eq->mask = entries - 1;
	eq->used = true;
	eq->client = (uint16_t)client;
	eq->number = number;
	fw_list_init(&eq->irq_node);
	fw_list_init(&eq->cm_events);
	moder_init(nic, eq);
	moder_join(nic, eq, vector);
	owner->eq[number] = index;
	share_take(nic, client, HW_SHARE_EQ, 1);
	resp->eq = number;
	resp->entries = entries;
	resp->record_offset = eq->record_offset;
	resp->ring_offset = eq->ring_offset;
	return 0;
}

void eq_destroy(struct fw_nic *nic, uint32_t index)
{
	struct fw_eq *eq = &nic->host.eqs[index];
	struct fw_client *owner = &nic->host.clients[eq->client];

	assert(eq->used && !eq->refs);
	moder_end(nic, eq);
	fw_list_del(&eq->irq_node);
	bar_free(nic, eq->client, eq->record_offset, eq_bytes(eq->mask + 1));
	eq->used = false;
	owner->eq[eq->number] = FW_NONE;
	share_give(nic, eq->client, HW_SHARE_EQ, 1);
	fw_ids_put(&nic->host.eq_ids, index);
}

int cmd_create_eq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_create_eq *create = &cmd->u.create_eq;
	const struct fw_client *owner = &nic->host.clients[client];
	uint32_t number = 1;

	(void)aux;
	if (create->vector >= HW_NUM_VECTORS || !create->entries ||
	    create->entries > FW_EQ_MAX_ENTRIES)
		return FW_EINVAL;
	if (!share_may(nic, client, HW_SHARE_EQ, 1))
		return FW_EDQUOT;
	while (number < HW_MAX_EQ_PER_CLIENT && owner->eq[number] != FW_NONE)
		number++;
	if (number == HW_MAX_EQ_PER_CLIENT)
		return FW_ENOSPC;
	return eq_create(nic, client, number, create->vector, create->entries, &resp->u.create_eq);
}

int cmd_destroy_eq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct fw_eq *eq = eq_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	(void)resp;
	if (!eq || !eq->number)
		return FW_EINVAL; /* EQ 0 lives as long as the client */
	if (eq->refs)
		return FW_EBUSY;
	eq_destroy(nic, nic->host.clients[client].eq[eq->number]);
	return 0;
}

static uint64_t cq_bytes(uint32_t entries)
{
	return (uint64_t)entries * sizeof(struct hw_cqe);
}

static int cq_alloc_memory(struct fw_nic *nic, uint32_t client, struct fw_cq *cq, uint32_t entries)
{
	struct fw_client *owner = &nic->host.clients[client];

	if (bar_record_alloc(nic, client, &cq->record_offset))
		return FW_ENOMEM;
	if (bar_alloc(nic, client, cq_bytes(entries), &cq->ring_offset)) {
		bar_record_free(nic, client, cq->record_offset);
		return FW_ENOMEM;
	}
	cq->record = client_bar(owner, cq->record_offset);
	cq->ring = client_bar(owner, cq->ring_offset);
	cq->mask = entries - 1;
	return 0;
}

int cmd_create_cq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct hw_cmd_create_cq *create = &cmd->u.create_cq;
	struct fw_client *owner = &nic->host.clients[client];
	struct fw_eq *eq = NULL;
	struct fw_cq *cq;
	uint32_t index, vector = create->flags >> HW_CQ_VECTOR_SHIFT;

	(void)aux;
	if (!create->entries || create->entries > HW_MAX_CQE ||
	    create->flags & ~(uint32_t)HW_CQ_VECTOR_MASK || vector > HW_NUM_VECTORS)
		return FW_EINVAL;
	if (create->eq != HW_EQ_NONE) {
		eq = eq_own(nic, client, create->eq);
		if (!eq)
			return FW_EINVAL;
	}
	if (!share_may(nic, client, HW_SHARE_CQ, 1))
		return FW_EDQUOT;
	index = fw_ids_get(&nic->host.cq_ids);
	if (index == FW_NONE)
		return FW_ENOMEM;
	cq = &nic->host.cqs[index];
	memset(cq, 0, sizeof(*cq));
	if (cq_alloc_memory(nic, client, cq, fw_pow2_at_least(create->entries))) {
		fw_ids_put(&nic->host.cq_ids, index);
		return FW_ENOMEM;
	}
	cq->used = true;
	cq->client = (uint16_t)client;
	cq->index = index;
	cq->eq = create->eq;
	cq->event_queue = eq;
	fw_list_init(&cq->hidden_node);
	fw_list_init(&cq->late.node);
	fw_list_init(&cq->late.flushes);
	/* The first CQ of an event queue moves it to its vector. */
	if (eq && vector && !eq->refs && eq->vector != vector - 1) {
		moder_leave(nic, eq);
		moder_join(nic, eq, vector - 1);
	}
	if (eq)
		eq->refs++;
	fw_list_add_tail(&owner->cqs, &cq->node);
	share_take(nic, client, HW_SHARE_CQ, 1);
	resp->u.create_cq.cq = index;
	resp->u.create_cq.entries = cq->mask + 1;
	resp->u.create_cq.record_offset = cq->record_offset;
	resp->u.create_cq.ring_offset = cq->ring_offset;
	return 0;
}

static void resize_cancel(struct fw_nic *nic, struct fw_cq *cq)
{
	if (!cq->resize.serial)
		return;
	bar_free(nic, cq->client, cq->resize.offset, cq_bytes(cq->resize.entries));
	cq->resize.serial = 0;
}

void cq_destroy(struct fw_nic *nic, uint32_t index)
{
	struct fw_cq *cq = &nic->host.cqs[index];

	assert(cq->used && !cq->refs && fw_list_empty(&cq->late.flushes));
	moder_unhide(nic, cq);
	fw_list_del(&cq->late.node);
	resize_cancel(nic, cq);
	bar_free(nic, cq->client, cq->ring_offset, cq_bytes(cq->mask + 1));
	bar_record_free(nic, cq->client, cq->record_offset);
	if (cq->event_queue)
		cq->event_queue->refs--;
	cq->used = false;
	fw_list_del(&cq->node);
	share_give(nic, cq->client, HW_SHARE_CQ, 1);
	fw_ids_put(&nic->host.cq_ids, index);
}

int cmd_destroy_cq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		   const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	const struct fw_cq *cq = cq_own(nic, client, cmd->u.obj.handle);

	(void)aux;
	(void)resp;
	if (!cq)
		return FW_EINVAL;
	if (cq->refs)
		return FW_EBUSY;
	cq_destroy(nic, cq->index);
	return 0;
}

/* A later command replaces one under way: the process sent two. */
static int resize_begin(struct fw_nic *nic, struct fw_cq *cq, uint32_t entries)
{
	uint32_t cons = __atomic_load_n(&cq->record->cons, __ATOMIC_ACQUIRE);
	uint64_t offset;

	resize_cancel(nic, cq);
	entries = fw_pow2_at_least(entries);
	if (cq->prod - cons > cq->mask + 1)
		return FW_EINVAL;
	if (cq->prod - cons > entries)
		return FW_EBUSY;
	if (bar_alloc(nic, cq->client, cq_bytes(entries), &offset))
		return FW_ENOMEM;
	/* 0 marks no command. */
	if (!++nic->host.cq_resizes)
		nic->host.cq_resizes++;
	cq->resize = (struct cq_resize){
	    .serial = nic->host.cq_resizes,
	    .entries = entries,
	    .cons = cons,
	    .copied = cons,
	    .offset = offset,
	};
	return 0;
}

/*
 * Fills a part of the new ring: first phases that mean "not written yet", then the unpolled
 * entries. Entries that arrive meanwhile go to the old ring, whose capacity bounds them. Indices
 * continue, so the phase of an index follows from the new size. True: all is copied.
 */
static bool resize_step(struct fw_nic *nic, struct fw_cq *cq)
{
	struct cq_resize *r = &cq->resize;
	struct hw_cqe *ring = client_bar(&nic->host.clients[cq->client], r->offset);
	uint32_t n;

	while (r->cleared < r->entries) {
		if (!slice_take(nic, 1))
			return false;
		for (n = 0; n < CQES_PER_UNIT && r->cleared < r->entries; n++, r->cleared++) {
			uint32_t i = r->cons + r->cleared;

			ring[i & (r->entries - 1)].phase = (i & r->entries) != 0;
		}
	}
	while (r->copied != cq->prod) {
		if (!slice_take(nic, 1))
			return false;
		for (n = 0; n < CQES_PER_UNIT && r->copied != cq->prod; n++, r->copied++) {
			struct hw_cqe *slot = &ring[r->copied & (r->entries - 1)];

			*slot = cq->ring[r->copied & cq->mask];
			slot->phase = !(r->copied & r->entries);
			/* It stays invisible. */
			if (cq->has_late && r->copied == cq->late.at)
				slot->phase = !slot->phase;
		}
	}
	return true;
}

void cq_resize_show(struct fw_nic *nic, struct fw_cq *cq, uint32_t index)
{
	const struct cq_resize *r = &cq->resize;
	struct hw_cqe *slot;

	if (!r->serial || (int32_t)(r->copied - index) <= 0)
		return;
	slot = client_bar(&nic->host.clients[cq->client], r->offset);
	slot += index & (r->entries - 1);
	/* It was copied before its status, opcode and flags were stored. */
	*slot = cq->ring[index & cq->mask];
	slot->phase = !(index & r->entries);
}

static void resize_over(struct fw_nic *nic, struct fw_cq *cq, struct hw_resp_create_cq *resp)
{
	bar_free(nic, cq->client, cq->ring_offset, cq_bytes(cq->mask + 1));
	cq->ring_offset = cq->resize.offset;
	cq->ring = client_bar(&nic->host.clients[cq->client], cq->ring_offset);
	cq->mask = cq->resize.entries - 1;
	cq->cons = cq->resize.cons;
	cq->resize.serial = 0;
	resp->cq = cq->index;
	resp->entries = cq->mask + 1;
	resp->record_offset = cq->record_offset;
	resp->ring_offset = cq->ring_offset;
	resp->prod = cq->prod;
}

/*
 * The process holds its poll lock until the answer, so its consumer index is exact. If it is not,
 * the process loses completions of its own only.
 */
int cmd_resize_cq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_cq *cq = cq_own(nic, client, cmd->u.cq.cq);
	int err = 0;

	(void)aux;
	if (!cq || !cmd->u.cq.entries || cmd->u.cq.entries > HW_MAX_CQE)
		return FW_EINVAL;
	if (!nic->slices.resume && !cq->overrun)
		err = resize_begin(nic, cq, cmd->u.cq.entries);
	else if (nic->slices.resume && cq->resize.serial != nic->slices.resume)
		return FW_EBUSY; /* a later command has begun another */
	if (err)
		return err;
	if (cq->overrun || cq->prod - cq->resize.cons > cq->resize.entries) {
		err = cq->overrun ? FW_EINVAL : FW_EBUSY;
		resize_cancel(nic, cq);
		return err;
	}
	if (!resize_step(nic, cq)) {
		nic->slices.resume = cq->resize.serial;
		return CMD_LATER;
	}
	resize_over(nic, cq, &resp->u.create_cq);
	return 0;
}

int cmd_modify_cq(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd,
		  const struct fw_cmd_aux *aux, struct hw_cmd_resp *resp)
{
	struct fw_cq *cq = cq_own(nic, client, cmd->u.cq.cq);

	(void)aux;
	(void)resp;
	if (!cq || cmd->u.cq.count > UINT16_MAX || cmd->u.cq.period_us > MODER_MAX_PERIOD_US)
		return FW_EINVAL;
	cq->moder_count = cmd->u.cq.count;
	cq->moder_period_us = cmd->u.cq.period_us;
	moder_modified(nic, cq);
	return 0;
}
