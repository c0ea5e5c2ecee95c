/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow control of a stream: rings, credits, message sizes. Contains no verbs calls.
 *
 * A receiver owns a ring of bytes. The sender fills it by Write with immediate, one message after
 * another; a message never wraps around the end of the ring. The sender counts the bytes and the
 * messages in the ring. The receiver returns whole messages as credits. Input of the peer is
 * checked: a message or a credit that does not fit is reported as an error. Everything runs under
 * the lock of the socket.
 */
#ifndef WEFT_RDMACM_RS_FLOW_H
#define WEFT_RDMACM_RS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/*
	 * Receives needed in addition to those for data: a FIN, and credits. A credit returns at
	 * least half of the ring or half of the messages, so at most two of each kind are
	 * outstanding.
	 */
	RS_CTL_MSGS = 8,
	RS_RING_BYTES_MIN = 4096,
	RS_RING_BYTES_MAX = 1 << 28, /* fits an immediate */
	RS_PIECE_BYTES_MAX = 1 << 16,
	RS_MSGS_MIN = 4,
	RS_MSGS_MAX = 8192,
};

/* A queue of message sizes; room is the limit of outstanding messages. */
struct rs_fifo {
	uint32_t *sizes;
	uint32_t room, first, count;
};

/* Sender's view of the peer's ring. */
struct rs_tx_flow {
	struct rs_fifo msgs; /* in the peer's ring, as far as known */
	uint32_t ring_bytes, at, free_bytes;
};

/* Receiver's view of its own ring. */
struct rs_rx_flow {
	struct rs_fifo msgs; /* not fully read; read_bytes of the first one are read */
	uint32_t ring_bytes;
	uint32_t at;             /* offset of the next message */
	uint32_t from;           /* offset of the next byte to read */
	uint32_t read_bytes;     /* bytes read of the first message */
	uint32_t unread_bytes;   /* unread bytes of all messages */
	uint32_t credits;        /* messages read but not yet returned */
	uint32_t credited_bytes; /* bytes of those messages */
};

/* Buffer for copies of data under way, released in the order of allocation. */
struct rs_tx_buf {
	uint32_t bytes, at, free_bytes;
};

/* Returns 0 or -ENOMEM. room counts messages. */
int rs_fifo_init(struct rs_fifo *f, uint32_t room);
void rs_fifo_free(struct rs_fifo *f);
/* The caller ensures that there is room, or an element. */
void rs_fifo_push(struct rs_fifo *f, uint32_t size);
uint32_t rs_fifo_pop(struct rs_fifo *f);

/* Each returns 0 or -ENOMEM. */
int rs_tx_init(struct rs_tx_flow *tx, uint32_t ring_bytes, uint32_t msgs);
int rs_rx_init(struct rs_rx_flow *rx, uint32_t ring_bytes, uint32_t msgs);
void rs_buf_init(struct rs_tx_buf *buf, uint32_t bytes);

/*
 * Returns the length of the next message: at most want; 0 when credits must arrive first. Avoids
 * filling the ring with very short messages: up to half of the ring stays unused until a credit
 * arrives, which is certain once the peer has read the rest.
 */
uint32_t rs_tx_piece(const struct rs_tx_flow *tx, size_t want);
/*
 * Accounts for a sent message; returns its offset in the peer's ring. bytes: from rs_tx_piece(), or
 * 0.
 */
uint32_t rs_tx_sent(struct rs_tx_flow *tx, uint32_t bytes);
/* The peer has read n messages; -EPROTO: more than are outstanding. */
int rs_tx_credit(struct rs_tx_flow *tx, uint32_t n);

/* Accounts for a received message; -EPROTO: it does not fit. */
int rs_rx_arrived(struct rs_rx_flow *rx, uint32_t bytes);
/*
 * Returns the length of a contiguous range of unread bytes, skip bytes after the first unread one,
 * and its offset in the ring.
 */
uint32_t rs_rx_stretch(const struct rs_rx_flow *rx, uint32_t skip, uint32_t *offset);
/* Marks bytes (at most unread_bytes) as read. */
void rs_rx_read(struct rs_rx_flow *rx, uint32_t bytes);
/* Returns the credits to send now and counts them as sent; 0: too early. */
uint32_t rs_rx_take_credits(struct rs_rx_flow *rx);

/* Returns the length of the contiguous range to use next, at most want; 0: none is free. */
uint32_t rs_buf_room(const struct rs_tx_buf *buf, uint32_t want);
/* Takes bytes from rs_buf_room(); returns their offset. */
uint32_t rs_buf_take(struct rs_tx_buf *buf, uint32_t bytes);
/* Releases the oldest bytes. */
void rs_buf_release(struct rs_tx_buf *buf, uint32_t bytes);

#endif /* WEFT_RDMACM_RS_FLOW_H */
