/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event queues: events for the process, and its interrupts.
 *
 * fw_poll() ends with eq_flush_irqs(), so that a turn raises at most one interrupt per EQ, when
 * moder.c allows it. Calls moder.c and port->irq(). docs/host-interface.md, pair E1 (phase of an
 * entry).
 */
#include "nic_fw/fw_nic.h"

/* Returns the free entries; an impossible consumer index counts as full. */
static uint32_t eq_room(const struct fw_eq *eq)
{
	uint32_t cons = __atomic_load_n(&eq->record->cons, __ATOMIC_ACQUIRE);
	uint32_t waiting = eq->prod - cons;

	return waiting > eq->mask + 1 ? 0 : eq->mask + 1 - waiting;
}

bool eq_is_full(struct fw_eq *eq)
{
	return !eq_room(eq);
}

static bool eq_write_entry(struct fw_nic *nic, struct fw_eq *eq, const struct hw_eqe *eqe,
			   uint32_t spare)
{
	struct hw_eqe *slot = &eq->ring[eq->prod & eq->mask];
	struct hw_eqe entry = *eqe;
	uint32_t word;

	if (nic->host.clients[eq->client].closing)
		return true; /* no reader */
	if (eq_room(eq) <= spare)
		return false;
	entry.phase = !(eq->prod & (eq->mask + 1));
	memcpy(&word, &entry.type, sizeof(word));
	slot->id = entry.id;
	slot->aux = entry.aux;
	slot->aux2 = entry.aux2;
	/* Pair E1. */
	__atomic_store_n((uint32_t *)(void *)&slot->type, word, __ATOMIC_RELEASE);
	eq->prod++;
	nic->host.vectors[eq->vector].counter[HW_VECTOR_events]++;
	FW_COUNT(nic, events);
	fw_trace(nic, TRACE_EQE, 0, entry.type, entry.id);
	return true;
}

bool eq_write(struct fw_nic *nic, struct fw_eq *eq, const struct hw_eqe *eqe)
{
	return eq_write_entry(nic, eq, eqe, 0);
}

void eq_raise(struct fw_nic *nic, struct fw_eq *eq, enum hw_vector_counter cause)
{
	if (eq->irq_pending)
		return;
	eq->irq_pending = true;
	eq->moder.cause = (uint8_t)cause;
	fw_list_add_tail(&nic->host.irq_list, &eq->irq_node);
}

/* Events that a peer can cause at will may fill only half of the ring. */
static bool is_peers_doing(uint8_t type)
{
	return type == HW_EVENT_PEER_ERROR || type == HW_EVENT_COMM_EST;
}

void eq_post(struct fw_nic *nic, uint32_t client, uint32_t eq, const struct hw_eqe *eqe)
{
	uint32_t index;
	struct fw_eq *queue;

	assert(client < HW_MAX_CLIENTS && eq < HW_MAX_EQ_PER_CLIENT);
	index = nic->host.clients[client].eq[eq];
	if (index == FW_NONE)
		return;
	queue = &nic->host.eqs[index];
	if (!eq_write_entry(nic, queue, eqe,
			    is_peers_doing(eqe->type) ? (queue->mask + 1) / 2 : 0)) {
		FW_COUNT(nic, events_lost);
		return;
	}
	moder_other(nic, queue);
}

void eq_async(struct fw_nic *nic, uint32_t client, enum hw_event_type type, uint32_t id)
{
	struct hw_eqe eqe = {.id = id, .type = (uint8_t)type};

	if (type != HW_EVENT_NONE)
		eq_post(nic, client, 0, &eqe);
}

void eq_flush_irqs(struct fw_nic *nic)
{
	struct fw_list *node;

	while ((node = fw_list_pop(&nic->host.irq_list))) {
		struct fw_eq *eq = FW_CONTAINER(node, struct fw_eq, irq_node);

		eq->irq_pending = false;
		if (!moder_raise(nic, eq))
			continue;
		FW_COUNT(nic, interrupts);
		fw_trace(nic, TRACE_IRQ, 0, eq->client, eq->number);
		nic->port.irq(nic->port.ctx, eq->client, eq->number);
	}
}
