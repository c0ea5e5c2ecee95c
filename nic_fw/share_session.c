/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owners of RD sessions: a session that a request opened is in the share of its process and user.
 *
 * Sessions outlive the process whose request made them: other processes use them, and peers. They
 * stay in its user's share until they are given up. Calls share.c, rd_session.c.
 * docs/security.md "Shares".
 */
#include "nic_fw/fw_nic.h"

struct rd_session *share_session_get(struct fw_nic *nic, uint32_t client, uint32_t peer_ip,
				     uint8_t peer_shard)
{
	struct fw_account *process = nic->clients[client].process;
	struct fw_account *user = nic->clients[client].user;
	struct rd_session *session;

	if (!share_may(nic, client, HW_SHARE_SESSION, 1) &&
	    (!rd_session_evict(nic, (uint32_t)(user - nic->users) + 1, FW_NONE) ||
	     !share_may(nic, client, HW_SHARE_SESSION, 1))) {
		FW_COUNT(nic, rd_sessions_share_refused);
		return NULL;
	}
	session = rd_session_get(nic, peer_ip, peer_shard);
	if (!session)
		return NULL;
	session->share = (struct share_session){
	    (uint32_t)(process - nic->processes) + 1,
	    (uint32_t)(user - nic->users) + 1,
	    process->serial,
	    user->serial,
	};
	process->held[HW_SHARE_SESSION]++;
	user->held[HW_SHARE_SESSION]++;
	return session;
}

static void give_session(struct fw_account *accounts, uint32_t place, uint32_t serial)
{
	/* An account that was given up since has no part in it. */
	if (place && accounts[place - 1].serial == serial &&
	    accounts[place - 1].held[HW_SHARE_SESSION])
		accounts[place - 1].held[HW_SHARE_SESSION]--;
}

void share_session_give(struct fw_nic *nic, const struct rd_session *session)
{
	give_session(nic->processes, session->share.process, session->share.process_serial);
	give_session(nic->users, session->share.user, session->share.user_serial);
}
