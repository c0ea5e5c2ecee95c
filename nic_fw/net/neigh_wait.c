/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints, sessions and connections that wait for a next hop look it up again, some per turn.
 *
 * Thousands may wait, for one address or for as many, and each answer concerns others of them. So
 * an answer makes all waiters of a kind due, in constant time. They then look in the table of
 * neighbours one after another, one unit each (slice.h). Calls neigh_lookers of net_up.h.
 */
#include "nic_fw/fw_nic.h"

void neigh_wait_init(struct fw_nic *nic)
{
	uint32_t kind;

	for (kind = 0; kind < NEIGH_WAIT_KINDS; kind++)
		fw_list_init(&nic->net.neigh_due[kind]);
}

void neigh_wait_over(struct fw_nic *nic, enum neigh_wait_kind kind, struct fw_list *waiting)
{
	fw_list_splice_tail(&nic->net.neigh_due[kind], waiting);
	slice_wait(&nic->slices, SLICE_NEIGH);
	neigh_wait_run(nic);
}

void neigh_wait_run(struct fw_nic *nic)
{
	uint32_t kind;

	/* Round robin over the kinds: a kind with many waiters delays itself only. */
	while (neigh_wait_pending(nic))
		for (kind = 0; kind < NEIGH_WAIT_KINDS; kind++) {
			if (fw_list_empty(&nic->net.neigh_due[kind]))
				continue;
			if (!slice_take(nic, 1))
				return;
			neigh_lookers[kind](nic, fw_list_take(&nic->net.neigh_due[kind]));
		}
}

bool neigh_wait_pending(const struct fw_nic *nic)
{
	uint32_t kind;

	for (kind = 0; kind < NEIGH_WAIT_KINDS; kind++)
		if (!fw_list_empty(&nic->net.neigh_due[kind]))
			return true;
	return false;
}
