/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of the sessions of RD that the stations of a link may make here by their HELLOs.
 *
 * Sessions known by a HELLO alone give way first, in the class of stations (station.h) that has
 * most of them. No class fills more than half of the table, and HELLOs never fill a part of it.
 * Calls rd_session.c. docs/security.md "RD sessions".
 */
#include "nic_fw/fw_nic.h"

void rd_share_init(struct fw_nic *nic)
{
	uint32_t i;

	for (i = 0; i < STATIONS; i++)
		fw_list_init(&nic->rd.shares[i].half_open);
}

bool rd_share_room(struct fw_nic *nic, const uint8_t *mac)
{
	uint32_t share = station_of(nic, mac);

	if (nic->rd.num_foreign >= RD_FOREIGN_MAX ||
	    (fw_ids_used(&nic->rd.session_ids) >= HW_MAX_PEERS / 2 &&
	     nic->rd.shares[share].num_foreign >= RD_SHARE_MAX))
		return rd_session_evict(nic, 0, share);
	return true;
}

/*
 * Few sessions may be without further packets of the peer: evicts the oldest of the largest class.
 */
static void rd_share_make_room(struct fw_nic *nic)
{
	struct rd_share *most = &nic->rd.shares[0];
	uint32_t i;

	for (i = 1; i < STATIONS; i++)
		if (nic->rd.shares[i].num_half_open > most->num_half_open)
			most = &nic->rd.shares[i];
	rd_session_release(nic, FW_CONTAINER(most->half_open.next, struct rd_session, wait_node));
}

void rd_share_take(struct fw_nic *nic, struct rd_session *s, const uint8_t *mac)
{
	struct rd_share *share;

	if (nic->rd.num_half_open == RD_HALF_OPEN)
		rd_share_make_room(nic);
	s->station = station_of(nic, mac);
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
