/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of RD: packets of a run that are in flight and that one slot of the send window stands for.
 *
 * Most runs are sent once and acknowledged whole, and need no record of each packet. As soon as
 * anything else looks at slots (rd_slot_at()), each packet gets its own. rd_tx.c makes rows,
 * rd_ack.c takes them.
 */
#include "nic_fw/fw_nic.h"

/* Makes the slot of the packet i places behind the first of a row. */
static void rd_slot_put(const struct rd_session *s, uint32_t psn, uint32_t i, uint32_t row)
{
	const struct rd_slot *first = &s->tx->slot[psn % WIRE_RD_WINDOW];
	struct rd_slot *slot = &s->tx->slot[(psn + i) % WIRE_RD_WINDOW];

	*slot = *first;
	slot->offset = first->offset + i * first->bytes;
	slot->bytes = i + 1 < first->row ? first->bytes : first->row_end_bytes;
	slot->flow_distance = 1;
	slot->row = (uint8_t)row;
}

void rd_slot_cut(const struct rd_session *s, uint32_t psn, uint32_t n)
{
	uint32_t row = s->tx->slot[psn % WIRE_RD_WINDOW].row;

	assert(n && n < row);
	rd_slot_put(s, psn, n, row - n);
}

void rd_slot_spread(const struct rd_session *s)
{
	uint32_t psn, row, i;

	for (psn = s->tx_una; psn != s->tx_psn; psn += row) {
		struct rd_slot *first = &s->tx->slot[psn % WIRE_RD_WINDOW];

		row = first->row;
		assert(row && row <= s->tx_psn - psn);
		for (i = 1; i < row; i++)
			rd_slot_put(s, psn, i, 1);
		first->row = 1;
	}
	s->tx->rows = false;
}
