/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work in slices: units of a turn, and whose turn it is. See slice.h.
 *
 * Run by fw_poll(); calls qp_flush.c, client.c and cmd.c for what waits.
 */
#include "nic_fw/fw_nic.h"

enum slice_kind {
	SLICE_FLUSH,
	SLICE_LEAVE,
	SLICE_COMMAND,
	SLICE_ABORT, /* receives of sessions that are over */
	SLICE_NEIGH, /* who waited for a next hop */
	SLICE_RUNS,  /* of GOAL that failed */
	SLICE_SWEEP, /* what came for those that are over */
	SLICE_HEAP,  /* pages of blocks that are free */
	SLICE_KINDS
};
static_assert(FW_SLICE_UNITS == FW_SLICE_QUANTUM, "more would have to be divided");

void slice_init(struct fw_nic *nic)
{
	struct fw_slices *s = &nic->slices;

	fw_list_init(&s->flushes);
	fw_list_init(&s->leaving);
	fw_list_init(&s->commands);
	fw_list_init(&s->aborted);
	fw_list_init(&s->endings);
	fw_list_init(&s->sweeps);
	s->left = FW_SLICE_UNITS;
}

void slice_allow(struct fw_nic *nic)
{
	if (nic->slices.left < FW_SLICE_AT_ONCE)
		nic->slices.left = FW_SLICE_AT_ONCE;
}

bool slice_take(struct fw_nic *nic, uint32_t units)
{
	struct fw_slices *s = &nic->slices;

	if (!s->left)
		return false;
	s->left -= units < s->left ? units : s->left;
	s->taken += units;
	return true;
}

static void run_flush(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.flushes);

	if (!node)
		return;
	/* It goes behind the others, and off the list for good when it is over. */
	fw_list_add_tail(&nic->slices.flushes, node);
	nic->slices.bulk |= FW_BULK_FLUSH;
	qp_flush_run(nic, FW_CONTAINER(node, struct fw_qp, flush_node));
}

static void run_leaving(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.leaving);

	if (!node)
		return;
	fw_list_add_tail(&nic->slices.leaving, node);
	nic->slices.bulk |= FW_BULK_LEAVE;
	client_leave_run(nic, FW_CONTAINER(node, struct fw_client, leave_node));
}

static void run_command(struct fw_nic *nic)
{
	struct fw_list *node = fw_list_pop(&nic->slices.commands);
	struct slice_command *kept;
	struct hw_cmd_resp resp;

	if (!node)
		return;
	kept = FW_CONTAINER(node, struct slice_command, node);
	nic->slices.bulk |= FW_BULK_COMMAND;
	/* It is looked at whole once more: what it names may have gone meanwhile. */
	(void)slice_take(nic, 1);
	nic->slices.resume = kept->resume;
	if (!cmd_again(nic, kept->client, &kept->cmd, &resp)) {
		kept->resume = nic->slices.resume;
		fw_list_add_tail(&nic->slices.commands, node);
		return;
	}
	nic->port.cmd_done(nic->port.ctx, kept->client, &resp);
	fw_pool_put(&nic->slices.command_pool, kept);
}

static void run_aborts(struct fw_nic *nic)
{
	if (fw_list_empty(&nic->slices.aborted))
		return;
	nic->slices.bulk |= FW_BULK_FLUSH;
	recv_abort_run(nic);
}

static void run_kind(struct fw_nic *nic, enum slice_kind kind)
{
	switch (kind) {
	case SLICE_FLUSH:
		run_flush(nic);
		break;
	case SLICE_LEAVE:
		run_leaving(nic);
		break;
	case SLICE_COMMAND:
		run_command(nic);
		break;
	case SLICE_ABORT:
		run_aborts(nic);
		break;
	case SLICE_NEIGH:
		neigh_wait_run(nic);
		break;
	case SLICE_RUNS:
		goal_ending_run(nic);
		break;
	case SLICE_SWEEP:
		goal_sweep_run(nic);
		break;
	case SLICE_HEAP:
		if (goal_heap_pending(nic))
			nic->slices.bulk |= FW_BULK_LEAVE;
		goal_heap_run(nic);
		break;
	case SLICE_KINDS:
		break;
	}
}

uint32_t slice_run(struct fw_nic *nic)
{
	struct fw_slices *s = &nic->slices;
	uint32_t tries;

	if (s->taken > s->most)
		s->most = s->taken;
	s->taken = 0;
	s->bulk = 0;
	s->left = FW_SLICE_UNITS;
	if (!slice_pending(nic))
		return 0;
	/*
	 * Each kind in turn, from one turn of the core to the next, so that none waits for
	 * another's end; each with a whole quantum, so that none has for ever less than its work
	 * begins with.
	 */
	for (tries = 0; tries < SLICE_KINDS && s->left >= FW_SLICE_QUANTUM; tries++) {
		uint32_t kind = s->next_kind;

		s->next_kind = (kind + 1) % SLICE_KINDS;
		run_kind(nic, (enum slice_kind)kind);
	}
	return s->taken;
}

uint32_t fw_bulk(const struct fw_nic *nic)
{
	return nic->slices.bulk;
}

bool slice_pending(const struct fw_nic *nic)
{
	const struct fw_slices *s = &nic->slices;

	return !fw_list_empty(&s->flushes) || !fw_list_empty(&s->leaving) ||
	       !fw_list_empty(&s->commands) || !fw_list_empty(&s->aborted) ||
	       !fw_list_empty(&s->endings) || !fw_list_empty(&s->sweeps) ||
	       neigh_wait_pending(nic) || goal_heap_pending(nic);
}

bool slice_keep(struct fw_nic *nic, uint32_t client, const struct hw_cmd *cmd)
{
	struct slice_command *kept = fw_pool_get(&nic->slices.command_pool);

	if (!kept)
		return false;
	kept->client = client;
	kept->resume = nic->slices.resume;
	kept->cmd = *cmd;
	fw_list_add_tail(&nic->slices.commands, &kept->node);
	return true;
}

void slice_forget_client(struct fw_nic *nic, uint32_t client)
{
	struct fw_list *pos, *next;

	/* As many as there are contexts, whose cost a detach has once. */
	for (pos = nic->slices.commands.next; pos != &nic->slices.commands; pos = next) {
		struct slice_command *kept = FW_CONTAINER(pos, struct slice_command, node);

		next = pos->next;
		if (kept->client != client)
			continue;
		fw_list_del(&kept->node);
		fw_pool_put(&nic->slices.command_pool, kept);
	}
}
