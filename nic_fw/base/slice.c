/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work in slices: the units of a turn and the order of the kinds of work. See slice.h.
 *
 * Calls slice_jobs[], which up/slice_jobs.c fills in.
 */
#include "nic_fw/fw_nic.h"

static_assert(FW_SLICE_UNITS == FW_SLICE_QUANTUM, "more would have to be divided");

void slice_init(struct fw_nic *nic)
{
	struct fw_slices *s = &nic->slices;

	fw_list_init(&s->flushes);
	fw_list_init(&s->leaving);
	fw_list_init(&s->commands);
	fw_list_init(&s->slots);
	fw_list_init(&s->aborted);
	fw_list_init(&s->endings);
	fw_list_init(&s->sweeps);
	fw_list_init(&s->done);
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

bool slice_take_done(struct fw_nic *nic)
{
	if (!nic->slices.done_left)
		return slice_take(nic, 1);
	nic->slices.done_left--;
	return true;
}

bool slice_look(struct fw_nic *nic, uint32_t *looks)
{
	if (!*looks) {
		if (!slice_take(nic, 1))
			return false;
		*looks = FW_SLICE_LOOKS;
	}
	(*looks)--;
	return true;
}

static bool slice_has_work(const struct fw_nic *nic, enum slice_kind kind)
{
	const struct fw_slices *s = &nic->slices;

	switch (kind) {
	case SLICE_FLUSH:
		return !fw_list_empty(&s->flushes);
	case SLICE_LEAVE:
		return !fw_list_empty(&s->leaving);
	case SLICE_COMMAND:
		return !fw_list_empty(&s->commands);
	case SLICE_SLOTS:
		return !fw_list_empty(&s->slots);
	case SLICE_ABORT:
		return !fw_list_empty(&s->aborted);
	case SLICE_RUNS:
		return !fw_list_empty(&s->endings);
	case SLICE_SWEEP:
		return !fw_list_empty(&s->sweeps);
	case SLICE_DONE:
		return !fw_list_empty(&s->done);
	case SLICE_NEIGH:
	case SLICE_HEAP:
	case SLICE_TAG:
	case SLICE_FLOWS:
	case SLICE_SYNS:
	case SLICE_LOST:
	case SLICE_KINDS:
		break;
	}
	return slice_jobs[kind].pending(nic);
}

static void forget_idle(struct fw_nic *nic)
{
	struct fw_slices *s = &nic->slices;
	uint32_t left;

	for (left = s->waiting; left; left &= left - 1)
		if (!slice_has_work(nic, (enum slice_kind)__builtin_ctz(left)))
			s->waiting &= ~(left & -left);
}

uint32_t slice_run(struct fw_nic *nic)
{
	struct fw_slices *s = &nic->slices;
	uint32_t tries;

	if (s->taken > s->most)
		s->most = s->taken;
	s->taken = 0;
	s->done_left = FW_SLICE_DONE;
	s->left = FW_SLICE_UNITS;
	forget_idle(nic);
	if (!s->waiting)
		return 0;
	/*
	 * Serves the kinds round robin across turns, so that no kind waits for the end of another.
	 * Each kind gets a whole quantum, so that a job whose first step is large still makes
	 * progress.
	 */
	for (tries = 0; tries < SLICE_KINDS && s->left >= FW_SLICE_QUANTUM; tries++) {
		uint32_t kind = s->next_kind;

		s->next_kind = (kind + 1) % SLICE_KINDS;
		slice_jobs[kind].run(nic);
	}
	return s->taken;
}

bool slice_pending(const struct fw_nic *nic)
{
	uint32_t left;

	for (left = nic->slices.waiting; left; left &= left - 1)
		if (slice_has_work(nic, (enum slice_kind)__builtin_ctz(left)))
			return true;
	return false;
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
	slice_wait(&nic->slices, SLICE_COMMAND);
	return true;
}

void slice_forget_client(struct fw_nic *nic, uint32_t client)
{
	struct fw_list *pos, *next;

	/* Bounded by the number of contexts; a detach pays this cost once. */
	for (pos = nic->slices.commands.next; pos != &nic->slices.commands; pos = next) {
		struct slice_command *kept = FW_CONTAINER(pos, struct slice_command, node);

		next = pos->next;
		if (kept->client != client)
			continue;
		fw_list_del(&kept->node);
		fw_pool_put(&nic->slices.command_pool, kept);
	}
}
