/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow control of a stream: see rs_flow.h.
 */
#include "host_driver/rdmacm/rs_flow.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int rs_fifo_init(struct rs_fifo *f, uint32_t room)
{
	*f = (struct rs_fifo){.sizes = calloc(room, sizeof(uint32_t)), .room = room};
	return f->sizes ? 0 : -ENOMEM;
}

void rs_fifo_free(struct rs_fifo *f)
{
	free(f->sizes);
	*f = (struct rs_fifo){0};
}

void rs_fifo_push(struct rs_fifo *f, uint32_t size)
{
	assert(f->count < f->room);
	f->sizes[(f->first + f->count) % f->room] = size;
	f->count++;
}

uint32_t rs_fifo_pop(struct rs_fifo *f)
{
	uint32_t size = f->sizes[f->first];

	assert(f->count);
	f->first = (f->first + 1) % f->room;
	f->count--;
	return size;
}

/* ---- the peer's ring ----------------------------------------------------------------------- */

int rs_tx_init(struct rs_tx_flow *tx, uint32_t ring_bytes, uint32_t msgs)
{
	*tx = (struct rs_tx_flow){.ring_bytes = ring_bytes, .free_bytes = ring_bytes};
	return rs_fifo_init(&tx->msgs, msgs);
}

uint32_t rs_tx_piece(const struct rs_tx_flow *tx, size_t want)
{
	uint32_t to_end = tx->ring_bytes - tx->at;
	uint32_t longest = tx->ring_bytes / 4;
	uint32_t bytes;

	if (tx->msgs.count == tx->msgs.room)
		return 0;
	if (longest > RS_PIECE_BYTES_MAX)
		longest = RS_PIECE_BYTES_MAX;
	bytes = want < longest ? (uint32_t)want : longest;
	/*
	 * A short message at the end of the ring is acceptable: the next one begins at the start of
	 * the ring.
	 */
	if (bytes > to_end)
		bytes = to_end;
	return bytes <= tx->free_bytes ? bytes : 0;
}

uint32_t rs_tx_sent(struct rs_tx_flow *tx, uint32_t bytes)
{
	uint32_t at = tx->at;

	assert(bytes <= tx->free_bytes && bytes <= tx->ring_bytes - at);
	rs_fifo_push(&tx->msgs, bytes);
	tx->free_bytes -= bytes;
	tx->at = at + bytes == tx->ring_bytes ? 0 : at + bytes;
	return at;
}

int rs_tx_credit(struct rs_tx_flow *tx, uint32_t n)
{
	if (n > tx->msgs.count)
		return -EPROTO;
	while (n--)
		tx->free_bytes += rs_fifo_pop(&tx->msgs);
	return 0;
}

/* ---- our ring ------------------------------------------------------------------------------ */

int rs_rx_init(struct rs_rx_flow *rx, uint32_t ring_bytes, uint32_t msgs)
{
	*rx = (struct rs_rx_flow){.ring_bytes = ring_bytes};
	return rs_fifo_init(&rx->msgs, msgs);
}

int rs_rx_arrived(struct rs_rx_flow *rx, uint32_t bytes)
{
	uint64_t used = (uint64_t)rx->unread_bytes + rx->read_bytes + rx->credited_bytes;

	if (rx->msgs.count + rx->credits >= rx->msgs.room || bytes > rx->ring_bytes - rx->at ||
	    used + bytes > rx->ring_bytes)
		return -EPROTO;
	rs_fifo_push(&rx->msgs, bytes);
	rx->unread_bytes += bytes;
	rx->at = rx->at + bytes == rx->ring_bytes ? 0 : rx->at + bytes;
	/* A message of 0 bytes counts as read on arrival. */
	if (bytes == 0 && rx->unread_bytes == 0)
		rs_rx_read(rx, 0);
	return 0;
}

uint32_t rs_rx_stretch(const struct rs_rx_flow *rx, uint32_t skip, uint32_t *offset)
{
	uint32_t left, to_end;

	if (skip >= rx->unread_bytes)
		return 0;
	left = rx->unread_bytes - skip;
	*offset = (uint32_t)(((uint64_t)rx->from + skip) % rx->ring_bytes);
	to_end = rx->ring_bytes - *offset;
	return left < to_end ? left : to_end;
}

void rs_rx_read(struct rs_rx_flow *rx, uint32_t bytes)
{
	assert(bytes <= rx->unread_bytes);
	rx->unread_bytes -= bytes;
	rx->from = (uint32_t)(((uint64_t)rx->from + bytes) % rx->ring_bytes);
	rx->read_bytes += bytes;
	while (rx->msgs.count && rx->read_bytes >= rx->msgs.sizes[rx->msgs.first]) {
		uint32_t size = rs_fifo_pop(&rx->msgs);

		rx->read_bytes -= size;
		rx->credits++;
		rx->credited_bytes += size;
	}
}

uint32_t rs_rx_take_credits(struct rs_rx_flow *rx)
{
	uint32_t n = rx->credits;

	if (rx->credited_bytes < rx->ring_bytes / 2 && n < rx->msgs.room / 2)
		return 0;
	rx->credits = 0;
	rx->credited_bytes = 0;
	return n;
}

/* ---- data under way ------------------------------------------------------------------------ */

void rs_buf_init(struct rs_tx_buf *buf, uint32_t bytes)
{
	*buf = (struct rs_tx_buf){.bytes = bytes, .free_bytes = bytes};
}

uint32_t rs_buf_room(const struct rs_tx_buf *buf, uint32_t want)
{
	uint32_t to_end = buf->bytes - buf->at;
	uint32_t room = buf->free_bytes < to_end ? buf->free_bytes : to_end;

	return want < room ? want : room;
}

uint32_t rs_buf_take(struct rs_tx_buf *buf, uint32_t bytes)
{
	uint32_t at = buf->at;

	assert(bytes <= buf->free_bytes && bytes <= buf->bytes - at);
	buf->free_bytes -= bytes;
	buf->at = at + bytes == buf->bytes ? 0 : at + bytes;
	return at;
}

void rs_buf_release(struct rs_tx_buf *buf, uint32_t bytes)
{
	assert(buf->free_bytes + bytes <= buf->bytes);
	buf->free_bytes += bytes;
}
