/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owners of objects that outlive a client: RD sessions, TCP connections and listeners, ESP streams.
 *
 * A session serves other processes and peers after the process that caused it has ended. A
 * connection or stream still closes towards its peer. Each stays in the share of its process while
 * that lives, and in its user's share until it is freed. Calls share.c.
 * docs/security.md "Shares".
 */
#include "nic_fw/fw_nic.h"

bool share_own(struct fw_nic *nic, uint32_t client, enum hw_share kind, struct share_owner *owner)
{
	struct fw_account *process = nic->share.holders[client].process;
	struct fw_account *user = nic->share.holders[client].user;

	assert(!owner->process && !owner->user);
	if (!share_may(nic, client, kind, 1))
		return false;
	*owner = (struct share_owner){
	    (uint16_t)(process - nic->share.processes + 1),
	    (uint16_t)(user - nic->share.users + 1),
	    process->serial,
	    user->serial,
	};
	process->held[kind]++;
	user->held[kind]++;
	return true;
}

static void share_owner_give(struct fw_account *accounts, uint32_t place, uint32_t serial,
			     enum hw_share kind)
{
	/* An account that ended since has no part in the object. */
	if (place && accounts[place - 1].serial == serial && accounts[place - 1].held[kind])
		accounts[place - 1].held[kind]--;
}

void share_disown(struct fw_nic *nic, enum hw_share kind, struct share_owner *owner)
{
	share_owner_give(nic->share.processes, owner->process, owner->process_serial, kind);
	share_owner_give(nic->share.users, owner->user, owner->user_serial, kind);
	*owner = (struct share_owner){0};
}
