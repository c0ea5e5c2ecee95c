/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notices: short messages that the NIC itself sends because of a peer's packets.
 *
 * They are Terminates, and the NACKs and DONEs of tagged endpoints. A peer can cause any number of
 * them in the names of any number of queue pairs, and acknowledge none, so they are charged to its
 * session and its station, and to no process here. The limit of a session is twice the number of
 * packets that its window admits. A request whose notice is beyond the limit counts as not
 * received, or the notice is sent later. Calls station.c.
 */
#include "nic_fw/fw_nic.h"

bool rd_notice_may(struct fw_nic *nic, uint32_t ip, uint32_t qpn)
{
	const struct rd_session *session =
	    rd_session_find(nic, ip, (uint8_t)(qpn >> 16 & (WIRE_DGRAM_SHARDS - 1)));

	if (session && nic->rdmap.notices_to[session->index] >= RD_ANSWERS)
		return false;
	return station_may(nic, session ? session->station : STATION_NONE, STATION_NOTICES,
			   RD_NOTICES);
}

void rd_notice_charge(struct fw_nic *nic, struct fw_wqe *msg)
{
	const struct rd_session *session = msg->flow->session;

	msg->notice_to = (uint16_t)(session->index + 1);
	msg->station = session->station;
	nic->rdmap.notices_to[session->index]++;
	station_take(nic, msg->station, STATION_NOTICES);
}
