/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command slots: the NIC's side. See cmd_slot.h.
 *
 * A command is copied once, with its doorbell, so the process cannot change it afterwards. It is
 * carried out as a slice of bulk work (slice.h), in this turn or those that follow: a few in a
 * turn, one of each process in turn, and those of a process in the order of their doorbells. A
 * command that is not finished goes to the end of that order. Calls cmd_again().
 * docs/host-interface.md, pairs D2 (rung and serial) and K1 (done).
 */
#include "nic_fw/fw_nic.h"

static struct fw_cmd_slot *slots_of(struct fw_nic *nic, uint32_t client)
{
	return &nic->host.cmd_slots[(size_t)client * HW_CMD_SLOTS];
}

static struct hw_cmd_slot *record_of(struct fw_nic *nic, uint32_t client, uint32_t index)
{
	struct hw_cmd_slot *first = client_bar(&nic->host.clients[client], HW_BAR_CMD_SLOTS);

	return &first[index];
}

void cmd_slot_init_client(struct fw_nic *nic, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < HW_CMD_SLOTS; i++)
		fw_list_init(&slots_of(nic, client)[i].node);
}

/*
 * A copy to unmapped memory that was given up may still run after the QP has left its working
 * states, or has gone. weftd detects its end, and holds the answer until then.
 */
static bool waits_for_copies(const struct fw_client *client, const struct hw_cmd *cmd)
{
	const struct hw_cmd_modify_qp *modify = &cmd->u.modify_qp;

	if (!client->has_unmapped)
		return false;
	if (cmd->op == HW_CMD_DESTROY_QP || cmd->op == HW_CMD_DESTROY_SRQ)
		return true;
	return cmd->op == HW_CMD_MODIFY_QP && modify->mask & HW_QP_STATE &&
	       (modify->attr.state == HW_QPS_RESET || modify->attr.state == HW_QPS_SQE ||
		modify->attr.state == HW_QPS_ERR);
}

/*
 * Room in the BAR has to be looked for among many free parts, or its pages are not there yet: weftd
 * makes them when the answer passes it.
 */
static bool is_slow(const struct fw_client *client, uint32_t op)
{
	switch (op) {
	case HW_CMD_CREATE_CQ:
	case HW_CMD_CREATE_SRQ:
	case HW_CMD_CREATE_QP:
	case HW_CMD_ALLOC_RINGS:
		return !bar_is_quick(&client->bar, true);
	case HW_CMD_DESTROY_CQ:
	case HW_CMD_DESTROY_SRQ:
	case HW_CMD_DESTROY_QP:
		return !bar_is_quick(&client->bar, false);
	default:
		return false;
	}
}

/* Returns true if *resp is the answer. */
static bool cmd_slot_carry_out(struct fw_nic *nic, uint32_t client, struct fw_cmd_slot *slot,
			       struct hw_cmd_resp *resp)
{
	bool answered;
	int err = 0;

	if (!hw_cmd_by_slot(slot->cmd.op))
		err = FW_EOPNOTSUPP;
	else if (waits_for_copies(&nic->host.clients[client], &slot->cmd) ||
		 is_slow(&nic->host.clients[client], slot->cmd.op))
		err = FW_EAGAIN;
	if (err) {
		*resp =
		    (struct hw_cmd_resp){.op = slot->cmd.op, .tag = slot->cmd.tag, .status = err};
		return true;
	}
	nic->slices.resume = slot->resume;
	/* None of these commands is answered elsewhere. */
	if (cmd_again(nic, client, &slot->cmd, resp, &answered) != CMD_LATER)
		assert(answered);
	slot->resume = nic->slices.resume;
	return answered;
}

static void cmd_slot_answer(struct fw_nic *nic, uint32_t client, uint32_t index, uint32_t serial,
			    const struct hw_cmd_resp *resp)
{
	struct hw_cmd_slot *record = record_of(nic, client, index);

	record->resp = *resp;
	/* Pair K1: the answer before its serial. */
	__atomic_store_n(&record->done, serial, __ATOMIC_RELEASE);
}

/* A client that has commands left goes behind the others. */
static void queue_client(struct fw_nic *nic, struct fw_client *client)
{
	if (!fw_list_empty(&client->slots))
		fw_list_add_tail(&nic->slices.slots, &client->slots_node);
}

void cmd_slot_slice(struct fw_nic *nic)
{
	struct hw_cmd_resp resp;

	while (!fw_list_empty(&nic->slices.slots) && slice_take(nic, FW_SLICE_SLOT_UNITS)) {
		struct fw_client *client =
		    FW_CONTAINER(fw_list_take(&nic->slices.slots), struct fw_client, slots_node);
		uint32_t number = (uint32_t)(client - nic->host.clients);
		struct fw_cmd_slot *slot =
		    FW_CONTAINER(fw_list_take(&client->slots), struct fw_cmd_slot, node);

		nic->turn_did |= FW_DID_COMMAND;
		if (cmd_slot_carry_out(nic, number, slot, &resp))
			cmd_slot_answer(nic, number, (uint32_t)(slot - slots_of(nic, number)),
					slot->serial, &resp);
		else
			fw_list_add_tail(&client->slots, &slot->node);
		queue_client(nic, client);
	}
}

void cmd_slot_doorbell(struct fw_nic *nic, uint32_t client, uint32_t index)
{
	struct fw_client *owner = &nic->host.clients[client];
	struct hw_cmd_slot *record;
	struct fw_cmd_slot *slot;

	if (index >= HW_CMD_SLOTS) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	slot = &slots_of(nic, client)[index];
	record = record_of(nic, client, index);
	/* Pair D2: what the host stored before it rang is visible. */
	(void)__atomic_exchange_n(&record->rung, 0, __ATOMIC_ACQ_REL);
	/* The slot's command is not answered yet. */
	if (fw_list_linked(&slot->node)) {
		FW_COUNT(nic, doorbells_bad);
		return;
	}
	slot->serial = __atomic_load_n(&record->serial, __ATOMIC_RELAXED);
	slot->resume = 0;
	fw_copy_once(&slot->cmd, &record->cmd, sizeof(slot->cmd));
	FW_COUNT(nic, commands);
	FW_COUNT(nic, commands_slot);
	fw_list_add_tail(&owner->slots, &slot->node);
	if (!fw_list_linked(&owner->slots_node))
		fw_list_add_tail(&nic->slices.slots, &owner->slots_node);
	slice_wait(&nic->slices, SLICE_SLOTS);
	/* At once, if bulk work has left units in this turn. */
	cmd_slot_slice(nic);
}

void cmd_slot_forget_client(struct fw_nic *nic, uint32_t client)
{
	struct fw_client *leaving = &nic->host.clients[client];

	while (!fw_list_empty(&leaving->slots))
		(void)fw_list_pop(&leaving->slots);
	fw_list_del(&leaving->slots_node);
}
