/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RD sessions that requests open, each in the share of the request's process and user.
 *
 * A user whose share is full gives up an idle session for another. Calls share_owner.c,
 * rd_session.c. docs/security.md "Shares".
 */
#include "nic_fw/fw_nic.h"

struct rd_session *share_session_get(struct fw_nic *nic, uint32_t client, uint32_t peer_ip,
				     uint8_t peer_shard)
{
	const struct fw_account *user = nic->host.clients[client].share->user;
	struct rd_session *session;
	bool owned;

	if (!share_may(nic, client, HW_SHARE_SESSION, 1) &&
	    (!rd_session_evict(nic, (uint32_t)(user - nic->share.users) + 1, FW_NONE) ||
	     !share_may(nic, client, HW_SHARE_SESSION, 1))) {
		FW_COUNT(nic, rd_sessions_share_refused);
		return NULL;
	}
	session = rd_session_get(nic, peer_ip, peer_shard);
	if (!session)
		return NULL;
	owned = share_own(nic, client, HW_SHARE_SESSION, &session->share);
	assert(owned);
	(void)owned;
	return session;
}
