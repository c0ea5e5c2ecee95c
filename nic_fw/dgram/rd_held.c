/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RD, receiving: packets that came before their turn.
 *
 * An early packet is held at its PSN: only its header and the payload of a request, since other
 * payload is in place already. The receive window names the packet that follows each PSN in its
 * flow, so a packet in its turn finds the held ones behind it. Cancellations are held, too, until
 * the window has moved over them. Calls rd_rx.c, rd_cancel.c. ARCHITECTURE.md "RD in one page".
 */
#include "nic_fw/fw_nic.h"

void rd_held_put(struct fw_nic *nic, struct rd_held *held)
{
	station_give(nic, held->station, STATION_RD_HELD);
	fw_pool_put(&nic->rd.held, held);
}

static void drop_held(struct fw_nic *nic, struct rd_session *s, uint32_t psn)
{
	struct rd_held **slot = &s->rx->held[psn % WIRE_RD_WINDOW];

	rd_held_put(nic, *slot);
	*slot = NULL;
	s->held_count--;
}

static void free_rx_window(struct fw_nic *nic, struct rd_session *s)
{
	if (!s->rx || s->held_count)
		return;
	fw_pool_put(&nic->rd.rx_windows, s->rx);
	s->rx = NULL;
}

/* Handles one held packet whose predecessor was delivered or refused. */
static void settle_one(struct fw_nic *nic, struct rd_session *s, uint32_t psn, bool refused)
{
	struct rd_held *held = s->rx->held[psn % WIRE_RD_WINDOW];
	struct rdmap_seg pkt = held->pkt;
	uint8_t data[RDMAP_HELD_BYTES];

	memcpy(data, held->held, sizeof(data));
	drop_held(nic, s, psn);
	if (refused)
		rd_rx_mark_refused(nic, s, psn);
	else
		(void)rd_rx_deliver(nic, s, psn, rdmap_rx_qp(nic, &pkt), &pkt, data);
}

void rd_held_follow(struct fw_nic *nic, struct rd_session *s, uint32_t psn)
{
	uint32_t epoch = s->epoch;

	while (s->rx) {
		uint8_t *next = &s->rx->next[psn % (2 * WIRE_RD_WINDOW)];
		bool refused = rd_bit(&s->refused, psn);
		uint8_t distance = *next;

		*next = 0;
		if (!distance || !s->rx->held[(psn + distance) % WIRE_RD_WINDOW])
			break;
		psn += distance;
		settle_one(nic, s, psn, refused);
		/* The delivered packet may have ended the session (a peer's restart). */
		if (s->epoch != epoch)
			return;
	}
	free_rx_window(nic, s);
}

/* Holds a packet at its PSN, with that much of its payload. False: its station has no room. */
static bool held_get(struct fw_nic *nic, struct rd_session *s, uint32_t psn,
		     const struct rdmap_seg *pkt, uint32_t bytes)
{
	struct rd_held *held = station_may(nic, s->station, STATION_RD_HELD, nic->rd.held.max)
				   ? fw_pool_get(&nic->rd.held)
				   : NULL;
	struct eth_cursor cursor;

	if (held && !s->rx) {
		s->rx = fw_pool_get(&nic->rd.rx_windows);
		if (s->rx)
			memset(s->rx, 0, sizeof(*s->rx));
	}
	if (!held || !s->rx) {
		if (held)
			fw_pool_put(&nic->rd.held, held);
		FW_DROP(nic, drop_rd_no_memory);
		return false;
	}
	held->station = s->station;
	station_take(nic, held->station, STATION_RD_HELD);
	s->rx->held[psn % WIRE_RD_WINDOW] = held;
	s->held_count++;
	held->pkt = *pkt;
	held->pkt.frame = NULL;
	held->pkt.hdr = NULL;
	memset(held->held, 0, sizeof(held->held));
	eth_cursor_init(&cursor, pkt->frame, pkt->data_offset, bytes);
	eth_cursor_copy(&cursor, held->held, bytes);
	return true;
}

bool rd_held_add(struct fw_nic *nic, struct rd_session *s, uint32_t psn, uint16_t distance,
		 const struct rdmap_seg *pkt)
{
	uint32_t before = (psn - distance) % (2 * WIRE_RD_WINDOW), bytes = 0;

	if (s->rx && s->rx->next[before]) {
		/* A packet has one successor: a second one would never be found again. */
		FW_DROP(nic, drop_rd_malformed);
		return false;
	}
	/*
	 * Payload of requests, and of short Sends, which may be envelopes of tagged endpoints: it
	 * is used in the packet's turn.
	 */
	if (rdmap_tx_is_self_contained(pkt->opcode) ||
	    (!pkt->tagged && pkt->data_bytes <= RDMAP_HELD_BYTES))
		bytes = pkt->data_bytes < RDMAP_HELD_BYTES ? pkt->data_bytes : RDMAP_HELD_BYTES;
	if (!held_get(nic, s, psn, pkt, bytes))
		return false;
	s->rx->next[before] = (uint8_t)distance;
	FW_COUNT(nic, rd_rx_out_of_order);
	return true;
}

bool rd_held_cancel(struct fw_nic *nic, struct rd_session *s, const struct rdmap_seg *pkt,
		    uint32_t psn)
{
	if (pkt->data_bytes != sizeof(struct wire_rd_cancel)) {
		FW_DROP(nic, drop_rd_malformed);
		return false;
	}
	if (!held_get(nic, s, psn, pkt, pkt->data_bytes))
		return false;
	s->cancels++;
	rd_bit_set(&s->delivered, psn);
	return true;
}

void rd_held_run_cancels(struct fw_nic *nic, struct rd_session *s, uint32_t psn)
{
	struct wire_rd_cancel cancel;

	for (; s->cancels && psn != s->rx_psn; psn++) {
		const struct rd_held *held = s->rx->held[psn % WIRE_RD_WINDOW];

		if (!held || held->pkt.dst_qpn)
			continue;
		memcpy(&cancel, held->held, sizeof(cancel));
		drop_held(nic, s, psn);
		s->cancels--;
		rd_cancel_rx(nic, s, &cancel);
	}
	free_rx_window(nic, s);
}
