/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots of the send window of RD by PSN: rd_slot.c.
 *
 * fw_nic.h includes it behind rd.h, which has the structures.
 */
#ifndef WEFT_FW_RD_SLOT_H
#define WEFT_FW_RD_SLOT_H

#include "nic_fw/dgram/rd.h"

/* Gives each packet in flight a slot of its own. */
void rd_slot_spread(const struct rd_session *session);
/* The first n packets of a slot in flight are acknowledged: the others go on in the next slot. */
void rd_slot_cut(const struct rd_session *session, uint32_t psn, uint32_t n);

/*
 * Returns the slot of a PSN in flight. All slots are reached in this way but where runs are sent
 * and acknowledged whole.
 */
static inline struct rd_slot *rd_slot_at(const struct rd_session *session, uint32_t psn)
{
	if (__builtin_expect(session->tx->rows, 0))
		rd_slot_spread(session);
	return &session->tx->slot[psn % WIRE_RD_WINDOW];
}

/* Returns the slot of the oldest PSN in flight, which always has values of its own; to be read. */
static inline const struct rd_slot *rd_slot_oldest(const struct rd_session *session)
{
	return &session->tx->slot[session->tx_una % WIRE_RD_WINDOW];
}

/* A packet leaves the network: lost or acknowledged. */
static inline void rd_slot_landed(struct rd_session *session, const struct rd_slot *slot)
{
	session->sent--;
	if (slot->tries)
		session->resent--;
}

#endif /* WEFT_FW_RD_SLOT_H */
