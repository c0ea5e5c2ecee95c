/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of one process in the tables of collectives, which all processes of a shard share.
 *
 * The rule is fw_pool_has_share()'s, the counts are the client's. Every file that takes or returns
 * a context of a collective uses these functions. Calls pool.h.
 */
#include "nic_fw/fw_nic.h"

static_assert(sizeof(((struct fw_client *)NULL)->goal_held) == GOAL_TABLES * sizeof(uint32_t),
	      "a count of each");

static struct fw_pool *pool_of(struct fw_nic *nic, enum goal_table table)
{
	switch (table) {
	case GOAL_TABLE_LINKS:
		return &nic->goal.links;
	case GOAL_TABLE_RUNS:
		return &nic->goal.runs;
	case GOAL_TABLE_SENDS:
		return &nic->goal.sends;
	case GOAL_TABLE_RECVS:
		return &nic->goal.recvs;
	case GOAL_TABLE_UNEXPS:
		return &nic->goal.unexps;
	case GOAL_TABLE_CALCS:
		return &nic->goal.calcs;
	case GOAL_TABLE_SPACES:
		return &nic->mgrp.spaces;
	case GOAL_TABLES:
		break;
	}
	assert(!"a table");
	return NULL;
}

void *goal_take(struct fw_nic *nic, uint32_t client, enum goal_table table)
{
	struct fw_pool *pool = pool_of(nic, table);
	uint32_t *held = &nic->host.clients[client].goal_held[table];
	uint32_t *user_held = &nic->host.clients[client].share->user->goal[table];
	void *elem;

	if (!fw_pool_has_share(pool, *held) || !share_pool_may(pool, *user_held)) {
		FW_COUNT(nic, goal_share_refused);
		return NULL;
	}
	elem = fw_pool_get(pool);
	*held += elem != NULL;
	*user_held += elem != NULL;
	return elem;
}

void goal_give(struct fw_nic *nic, uint32_t client, enum goal_table table, void *elem)
{
	uint32_t *held = &nic->host.clients[client].goal_held[table];

	assert(*held);
	--*held;
	nic->host.clients[client].share->user->goal[table]--;
	fw_pool_put(pool_of(nic, table), elem);
}

uint32_t goal_table_max(struct fw_nic *nic, enum goal_table table)
{
	return pool_of(nic, table)->max;
}

void goal_move(struct fw_nic *nic, uint32_t from, uint32_t to, enum goal_table table)
{
	assert(nic->host.clients[from].goal_held[table]);
	nic->host.clients[from].goal_held[table]--;
	nic->host.clients[from].share->user->goal[table]--;
	nic->host.clients[to].goal_held[table]++;
	nic->host.clients[to].share->user->goal[table]++;
}
