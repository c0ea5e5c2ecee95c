/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many sessions of RD the stations of a link may make here by their HELLOs.
 *
 * One station may own many addresses, or answer for them: its sessions count for its MAC, those of
 * peers beyond a gateway for the gateway's. MACs fall into classes by a keyed hash, so that nobody
 * chooses whose share it uses. What is known by a HELLO alone gives way first where there is most
 * of it; no class fills more than half of the table; a part of it no HELLO takes. Calls
 * rd_session.c. docs/security.md "RD sessions".
 */
#include "nic_fw/fw_nic.h"

void rd_share_init(struct fw_nic *nic)
{
	uint32_t i;

	for (i = 0; i < RD_SHARES; i++)
		fw_list_init(&nic->rd.shares[i].half_open);
}

static uint32_t share_of(struct fw_nic *nic, const uint8_t *mac)
{
	return fw_keyed_mac(nic, mac) % RD_SHARES;
}

bool rd_share_room(struct fw_nic *nic, const uint8_t *mac)
{
	uint32_t share = share_of(nic, mac);

	if (nic->rd.num_foreign >= RD_FOREIGN_MAX ||
	    (fw_ids_used(&nic->rd.session_ids) >= HW_MAX_PEERS / 2 &&
	     nic->rd.shares[share].num_foreign >= RD_SHARE_MAX))
		return rd_session_evict(nic, 0, share);
	return true;
}

/* Sessions that nothing more is heard of are few: the oldest goes where there are most. */
static void make_room(struct fw_nic *nic)
{
	struct rd_share *most = &nic->rd.shares[0];
	uint32_t i;

	for (i = 1; i < RD_SHARES; i++)
		if (nic->rd.shares[i].num_half_open > most->num_half_open)
			most = &nic->rd.shares[i];
	rd_session_release(nic, FW_CONTAINER(most->half_open.next, struct rd_session, wait_node));
}

void rd_share_take(struct fw_nic *nic, struct rd_session *s, const uint8_t *mac)
{
	struct rd_share *share;

	if (nic->rd.num_half_open == RD_HALF_OPEN)
		make_room(nic);
	s->station = (uint8_t)share_of(nic, mac);
	share = &nic->rd.shares[s->station];
	s->foreign = true;
	s->half_open = true;
	nic->rd.num_foreign++;
	share->num_foreign++;
	nic->rd.num_half_open++;
	share->num_half_open++;
	fw_list_add_tail(&share->half_open, &s->wait_node);
}

void rd_share_heard(struct fw_nic *nic, struct rd_session *s)
{
	if (!s->half_open)
		return;
	fw_list_del(&s->wait_node);
	s->half_open = false;
	nic->rd.num_half_open--;
	nic->rd.shares[s->station].num_half_open--;
}

void rd_share_leave(struct fw_nic *nic, struct rd_session *s)
{
	if (!s->foreign)
		return;
	rd_share_heard(nic, s);
	s->foreign = false;
	nic->rd.num_foreign--;
	nic->rd.shares[s->station].num_foreign--;
}
