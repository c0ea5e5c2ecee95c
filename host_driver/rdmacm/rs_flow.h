/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of a stream's flow control: rings, credits, sizes of messages. No verbs here.
 *
 * A receiver owns a ring of bytes that the sender fills by Write with immediate, one message after
 * the other; a message never goes round the end of the ring. The sender counts what lies in the
 * ring and how many messages do; the receiver gives whole messages back as credits. What the peer
 * says is checked: a message or a credit that does not fit is told as an error. Called by
 * rs_stream.c under the lock of its socket; calls nothing.
 */
#ifndef WEFT_RDMACM_RS_FLOW_H
#define WEFT_RDMACM_RS_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/*
	 * Receives beside those of data: a FIN, and credits. A credit gives back at least half of
	 * the ring or half of the messages, so at most two of each kind are not taken yet.
	 */
	RS_CTL_MSGS = 8,
	RS_RING_BYTES_MIN = 4096,
	RS_RING_BYTES_MAX = 1 << 28, /* what an immediate can say, and more than anybody wants */
	RS_PIECE_BYTES_MAX = 1 << 16,
	RS_MSGS_MIN = 4,
	RS_MSGS_MAX = 8192,
};

/* A queue of sizes; the room is that of the messages that may be under way. */
struct rs_fifo {
	uint32_t *sizes;
	uint32_t room, first, count;
};

/* What we may still put into the peer's ring. */
struct rs_tx_flow {
	struct rs_fifo msgs; /* in the peer's ring, as far as we know */
	uint32_t ring_bytes, at, free_bytes;
};

/* What the peer has put into ours. */
struct rs_rx_flow {
	struct rs_fifo msgs; /* not read to their ends; of the first one read_bytes are read */
	uint32_t ring_bytes;
	uint32_t at;             /* where the next message goes */
	uint32_t from;           /* where the next byte to be read is */
	uint32_t read_bytes;     /* of the first message */
	uint32_t unread_bytes;   /* of all messages */
	uint32_t credits;        /* messages read and not given back yet */
	uint32_t credited_bytes; /* theirs */
};

/* Our own copies of data under way, freed in the order in which they were taken. */
struct rs_tx_buf {
	uint32_t bytes, at, free_bytes;
};

/* 0 or -ENOMEM. room: of messages. */
int rs_fifo_init(struct rs_fifo *f, uint32_t room);
void rs_fifo_free(struct rs_fifo *f);
/* There is room; there is one. */
void rs_fifo_push(struct rs_fifo *f, uint32_t size);
uint32_t rs_fifo_pop(struct rs_fifo *f);

/* 0 or -ENOMEM. */
int rs_tx_init(struct rs_tx_flow *tx, uint32_t ring_bytes, uint32_t msgs);
int rs_rx_init(struct rs_rx_flow *rx, uint32_t ring_bytes, uint32_t msgs);
void rs_buf_init(struct rs_tx_buf *buf, uint32_t bytes);

/*
 * How long the next message may be: at most want, 0 when credits must come first. Never so short
 * that the ring fills with crumbs: rather less than half of the ring stays unused until a credit
 * comes, which is certain as soon as the peer has read the rest.
 */
uint32_t rs_tx_piece(const struct rs_tx_flow *tx, size_t want);
/* The message goes; returns its offset in the peer's ring. bytes: of rs_tx_piece(), or 0. */
uint32_t rs_tx_sent(struct rs_tx_flow *tx, uint32_t bytes);
/* The peer has read n messages; -EPROTO: more than there are. */
int rs_tx_credit(struct rs_tx_flow *tx, uint32_t n);

/* A message is there; -EPROTO: it does not fit. */
int rs_rx_arrived(struct rs_rx_flow *rx, uint32_t bytes);
/*
 * A stretch of unread bytes without a break, skip bytes after the first unread one: its length and
 * its offset in the ring.
 */
uint32_t rs_rx_stretch(const struct rs_rx_flow *rx, uint32_t skip, uint32_t *offset);
/* bytes (at most unread_bytes) are read. */
void rs_rx_read(struct rs_rx_flow *rx, uint32_t bytes);
/* Credits to be given now; 0: it is too early. They count as given. */
uint32_t rs_rx_take_credits(struct rs_rx_flow *rx);

/* A stretch of at most want bytes to be used next; 0: none is free. */
uint32_t rs_buf_room(const struct rs_tx_buf *buf, uint32_t want);
/* bytes of rs_buf_room() are taken; returns their offset. */
uint32_t rs_buf_take(struct rs_tx_buf *buf, uint32_t bytes);
/* The oldest bytes that were taken are free again. */
void rs_buf_release(struct rs_tx_buf *buf, uint32_t bytes);

#endif /* WEFT_RDMACM_RS_FLOW_H */
