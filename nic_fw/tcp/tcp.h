/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP: connections, and the seam to what they carry.
 *
 * tcp_conn.c	connections: states, opening, closing, the table by four-tuple, TIME-WAIT
 * tcp_listen.c	listeners, the queue of SYNs, SYN cookies
 * tcp_rx.c	segments in: acceptability, data in order, FIN, RST
 * tcp_ack.c	what the peer acknowledges
 * tcp_ooo.c	data that came early
 * tcp_tx.c	segments out: data, ACKs, probes
 * tcp_txhdr.c	their headers; SYN-ACKs of listeners, resets
 * tcp_sack.c	the scoreboard: what is in flight, lost, to be sent again (RACK-TLP, SACK)
 * tcp_cong.c	CUBIC, recovery, ECN
 * tcp_frto.c	timeouts that were not needed
 * tcp_timer.c	RTO, tail loss probe, zero windows, keep-alive, delayed ACK
 * tcp_opt.c	options in and out
 * tcp_hash.c	keyed hash: initial sequence numbers, cookies
 * tcp_icmp.c	path MTU, unreachable
 * tcp_flow.h	what they share
 *
 * A connection has no buffers for what it sends: the layer above makes segments when there is
 * window for them (tcp_ops.next), and writes them into frames again whenever they are
 * sent (fill), from the memory where the data lies. What comes in order is handed up in the frame
 * that it came in; what came early is kept, bounded, until its turn. Everything here runs on the
 * core of the shard that owns the local port. RFC 9293, 7323, 2018, 6298, 6675, 8985, 9438, 3168,
 * 5961, 6191, 4987.
 */
#ifndef WEFT_FW_TCP_H
#define WEFT_FW_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/net/ip.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/timer.h"

struct fw_nic;
struct fw_tx_frame;
struct tcp_flow;

enum tcp_state {
	TCP_CLOSED = 0, /* free */
	TCP_SYN_SENT,
	TCP_SYN_RCVD, /* simultaneous open; passive ones wait in the queue of SYNs */
	TCP_ESTABLISHED,
	TCP_FIN_WAIT_1,
	TCP_FIN_WAIT_2,
	TCP_CLOSE_WAIT,
	TCP_CLOSING,
	TCP_LAST_ACK,
	TCP_TIME_WAIT,
	TCP_STATES
};

/* Why a connection is over. */
enum tcp_end {
	TCP_END_CLOSED = 0,  /* both ends had sent FIN, and it was acknowledged */
	TCP_END_RESET,       /* the peer reset it */
	TCP_END_REFUSED,     /* it never was: reset in SYN-SENT */
	TCP_END_TIMEOUT,     /* no answer: of SYN, data, probes or keep-alive */
	TCP_END_UNREACHABLE, /* no next hop, or the network says so and goes on saying it */
};

/* tcp_seg.flags */
enum {
	TCP_SEG_SYN = 0x01,
	TCP_SEG_FIN = 0x02,
	TCP_SEG_SACKED = 0x04,
	TCP_SEG_LOST = 0x08,
	TCP_SEG_RETRANS = 0x10, /* sent again, and that is still in flight */
	TCP_SEG_EVER = 0x20,    /* was ever sent again: no sample of the round trip (Karn) */
	TCP_SEG_ULP = 0x40,     /* the layer above made it; acked() gives it back */
	TCP_SEG_PSH = 0x80,     /* nothing follows at once: the peer shall acknowledge it */
};

/*
 * A segment of the stream from its first transmission until it is acknowledged, embedded at the
 * front of what the layer above knows of it.
 */
struct tcp_seg {
	struct fw_list node; /* tcp_flow.segs, in order of seq */
	uint64_t sent_ns;    /* the last time */
	uint32_t seq;
	uint32_t bytes; /* of the stream; SYN and FIN count one */
	uint8_t flags;  /* TCP_SEG_* */
	uint8_t tries;
};

/* What tcp_ops.fill() may say beside 0 and an error. */
enum {
	TCP_FILL_NOW = 1, /* a piece lies in memory that the next fill() overwrites */
};

/* What a connection carries. All are called on the shard's core, within a turn. */
struct tcp_ops {
	/*
	 * A listener has a connection whose handshake is complete: sets flow->ctx. False: nobody
	 * wants it; it is reset.
	 */
	bool (*accepted)(struct fw_nic *nic, void *listener_ctx, struct tcp_flow *flow);
	/* The connection that tcp_connect() began is established. */
	void (*opened)(struct fw_nic *nic, struct tcp_flow *flow);
	/*
	 * The next bytes of the stream: [offset, offset + bytes) of a frame that is the caller's
	 * again on return. Returns how many were taken; the rest was not received: the peer
	 * will send it again. May close or abort the flow, and must then return bytes.
	 */
	uint32_t (*receive)(struct fw_nic *nic, struct tcp_flow *flow,
			    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes);
	/*
	 * Bytes that came before their turn: the first is ahead bytes behind what receive() was
	 * last given. A look ahead, may be NULL: receive() gets the same bytes again in their turn.
	 */
	void (*early)(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		      uint32_t offset, uint32_t bytes, uint32_t ahead);
	/*
	 * Makes the next segment of the stream, at most max bytes long: sets bytes, and flags to 0
	 * or TCP_SEG_PSH; the rest of struct tcp_seg is TCP's. NULL: there is none; not asked
	 * again before tcp_push().
	 */
	struct tcp_seg *(*next)(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max);
	/*
	 * Writes [from, from + bytes) of a segment into a frame that has headers up to
	 * hdr_offset of its hdr: pieces by eth_tx_hdr() and as in wqe_gather(). from is 0 and
	 * bytes the whole segment but after the path's MTU, or the peer's window, has shrunk.
	 * May set FW_TX_F_BORROW while seg->tries is 0: the segment's ACK says that its first copy
	 * was read. 0, TCP_FILL_NOW; -FW_EBUSY: the memory cannot be read now, and the segment
	 * counts as lost; or another negative errno: the memory is gone. Then the layer above has
	 * to end the connection, by tcp_abort() or behind what can still be said, after it has
	 * returned; nothing more is sent before tcp_push().
	 */
	int (*fill)(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		    uint32_t from, uint32_t bytes, struct fw_tx_frame *frame, uint32_t hdr_offset);
	/*
	 * A piece that fill() took from memory that is not mapped was not there when the port
	 * read it. As after a negative answer of fill(); may be NULL: TCP resets the connection and
	 * calls ended(TCP_END_RESET).
	 */
	void (*unreadable)(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg);
	/* The whole segment is acknowledged, or (flow over) never will be: it is the layer's again.
	 */
	void (*acked)(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, bool ok);
	/* The peer sends nothing more (its FIN, in its turn). */
	void (*peer_closed)(struct fw_nic *nic, struct tcp_flow *flow);
	/* It is over; acked(false) came for every segment; the flow is invalid on return. */
	void (*ended)(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_end why);
};

/* Makes a connection; SYN goes when the next hop is known. NULL: no room, or the tuple is taken. */
struct tcp_flow *tcp_connect(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			     uint16_t local_port, const struct tcp_ops *ops, void *ctx);
/*
 * From now on connections to the port are made, as many as backlog before tcp_accept_done() said
 * that one is the process's. 0, or EADDRINUSE, ENOSPC.
 */
int tcp_listen(struct fw_nic *nic, uint16_t port, uint32_t backlog, const struct tcp_ops *ops,
	       void *ctx);
/* No more; connections that were handed over stay. */
void tcp_unlisten(struct fw_nic *nic, uint16_t port);
/* The flow, of a listener, does not count against its backlog any more. */
void tcp_accept_done(struct fw_nic *nic, struct tcp_flow *flow);

/* There is something for tcp_ops.next(). */
void tcp_push(struct fw_nic *nic, struct tcp_flow *flow);
/*
 * There is room again after receive() did not take all: asks the peer for it. What was held back
 * may end the flow, and its owner with it.
 */
void tcp_resume(struct fw_nic *nic, struct tcp_flow *flow);
/* FIN behind the last segment of next(); ended(CLOSED) follows, at TIME-WAIT's begin. */
void tcp_close(struct fw_nic *nic, struct tcp_flow *flow);
/* RST, at once; acked(false) for all segments, no ended(); the flow is invalid on return. */
void tcp_abort(struct fw_nic *nic, struct tcp_flow *flow);
/* Largest segment now, bytes of the stream (options of every segment taken off). */
uint32_t tcp_mss(const struct tcp_flow *flow);
/* Keep-alive: asks after idle_ns of silence; 0: never. */
void tcp_keepalive(struct fw_nic *nic, struct tcp_flow *flow, uint64_t idle_ns);

/* ip.c: a packet of protocol TCP whose IPv4 header was checked. */
void tcp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info);
/* icmp.c: the network's word on a packet of ours: fragmentation needed, unreachable. */
void tcp_rx_icmp(struct fw_nic *nic, const struct ip_rx_info *info, uint8_t type, uint8_t code,
		 uint16_t mtu, const uint8_t *original, uint32_t original_bytes);
/* neigh.c: a next hop became known, has another MAC, or failed. */
void tcp_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
/* A connection that is off the list of those that wait looks for its next hop (neigh_wait.c). */
void tcp_neigh_look(struct fw_nic *nic, struct fw_list *node);
/* Flows that may send, one burst each in turn; called by fw_poll(). Returns segments sent. */
uint32_t tcp_tx_run(struct fw_nic *nic, uint32_t budget);
/* ACKs that did not ride on data, at the end of a turn. */
void tcp_ack_flush(struct fw_nic *nic);
void tcp_init(struct fw_nic *nic);

#endif /* WEFT_FW_TCP_H */
