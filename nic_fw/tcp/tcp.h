/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP: connections, and the seam to the layer above.
 *
 * tcp_conn.c	connections: states, opening, closing, the table by four-tuple, TIME-WAIT
 * tcp_rest.c	idle connections: their small form
 * tcp_listen.c	listeners, the queue of SYNs, SYN cookies
 * tcp_rx.c	segments in: acceptability, data in order, FIN, RST
 * tcp_ack.c	acknowledgements from the peer
 * tcp_ooo.c	data out of order
 * tcp_tx.c	segments out: data, ACKs, probes
 * tcp_run.c	runs of segments, out and in
 * tcp_txhdr.c	their headers; SYN-ACKs of listeners, resets
 * tcp_sack.c	the scoreboard: what is in flight, lost, to be sent again (RACK-TLP, SACK)
 * tcp_cong.c	CUBIC, recovery, ECN
 * tcp_frto.c	spurious timeouts
 * tcp_grant.c	receive windows as grants, when several peers send
 * tcp_timer.c	RTO, tail loss probe, zero windows, keep-alive, delayed ACK
 * tcp_opt.c	options in and out
 * tcp_hash.c	keyed hash: initial sequence numbers, cookies
 * tcp_icmp.c	path MTU, unreachable
 * tcp_flow.h	private header
 *
 * A connection has no send buffers: the layer above makes segments when the window allows them
 * (tcp_ops.next), and writes them into a frame each time they are sent (fill), from the memory
 * where the data lies. Data in order is handed up in the frame that it came in; data out of order
 * is kept, bounded, until it is next. Everything here runs on the core of the shard that owns the
 * local port. RFC 9293, 7323, 2018, 6298, 6675, 8985, 9438, 3168,
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

/* Reasons for the end of a connection. */
enum tcp_end {
	TCP_END_CLOSED = 0,  /* both ends sent FIN, and both were acknowledged */
	TCP_END_RESET,       /* the peer reset it */
	TCP_END_REFUSED,     /* reset in SYN-SENT, before it was established */
	TCP_END_TIMEOUT,     /* no answer to SYN, data, probes or keep-alive */
	TCP_END_UNREACHABLE, /* no next hop, or the network keeps reporting the peer unreachable */
};

/* tcp_seg.flags */
enum {
	TCP_SEG_SYN = 0x01,
	TCP_SEG_FIN = 0x02,
	TCP_SEG_SACKED = 0x04,
	TCP_SEG_LOST = 0x08,
	TCP_SEG_RETRANS = 0x10, /* sent again, and that copy is still in flight */
	TCP_SEG_EVER = 0x20,    /* was retransmitted: no sample of the round trip (Karn) */
	TCP_SEG_ULP = 0x40,     /* the layer above made it; acked() returns it */
	TCP_SEG_PSH = 0x80,     /* no data follows at once: the peer should acknowledge it */
};

/*
 * A segment of the stream from its first transmission until it is acknowledged, embedded at the
 * front of the layer above's own record of it.
 */
struct tcp_seg {
	struct fw_list node; /* tcp_flow.segs, in order of seq */
	uint64_t sent_ns;    /* the last time */
	uint32_t seq;
	uint32_t bytes; /* of the stream; SYN and FIN count one */
	uint8_t flags;  /* TCP_SEG_* */
	uint8_t tries;
};

enum {
	TCP_ISN_TICK_NS = 4000, /* initial sequence numbers advance by one: RFC 9293 3.4.1 */
};

/* Results of tcp_ops.fill() besides 0 and an error. */
enum {
	TCP_FILL_NOW = 1, /* a piece lies in memory that the next fill() overwrites */
};

/* Layers above: a number, since addresses of code change with an upgrade. */
enum tcp_user {
	TCP_USER_NONE, /* it has given up the connection */
	TCP_USER_MPA,
	TCP_USERS
};

/* The layer above a connection. All functions run on the shard's core, within a turn. */
struct tcp_ops {
	/*
	 * A listener has a connection whose handshake is complete: sets flow->ctx. False: the
	 * connection is refused and reset.
	 */
	bool (*accepted)(struct fw_nic *nic, void *listener_ctx, struct tcp_flow *flow);
	/* The connection that tcp_connect() began is established. */
	void (*opened)(struct fw_nic *nic, struct tcp_flow *flow);
	/*
	 * The next bytes of the stream: [offset, offset + bytes) of a frame that is the caller's
	 * again on return. Returns the number of bytes taken. The rest counts as not received: the
	 * peer will send it again. May close or abort the flow, and must then return bytes.
	 */
	uint32_t (*receive)(struct fw_nic *nic, struct tcp_flow *flow,
			    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes);
	/*
	 * Bytes that arrived out of order: the first is ahead bytes after those last given to
	 * receive(). Only a preview, may be NULL: receive() gets the same bytes again in order.
	 */
	void (*early)(struct fw_nic *nic, struct tcp_flow *flow, const struct fw_rx_frame *frame,
		      uint32_t offset, uint32_t bytes, uint32_t ahead);
	/*
	 * Makes the next segment of the stream, at most max bytes long: sets bytes, and flags to 0
	 * or TCP_SEG_PSH; TCP owns the rest of struct tcp_seg. NULL: there is none; TCP calls again
	 * only after tcp_push().
	 */
	struct tcp_seg *(*next)(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max);
	/*
	 * Writes [from, from + bytes) of a segment into a frame that has headers up to hdr_offset
	 * of its hdr: pieces by eth_tx_hdr() and as in wqe_gather(). from is 0 and bytes the whole
	 * segment, unless the path's MTU or the peer's window has shrunk. May set FW_TX_F_BORROW
	 * while seg->tries is 0: the segment's ACK confirms that its first copy was read. Returns
	 * 0; TCP_FILL_NOW; -FW_EBUSY: the memory cannot be read now, and the segment counts as
	 * lost; or another negative errno: the memory is gone. After the latter the layer above has
	 * to end the connection once fill() has returned, by tcp_abort() or after its last message;
	 * nothing more is sent before tcp_push().
	 */
	int (*fill)(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		    uint32_t from, uint32_t bytes, struct fw_tx_frame *frame, uint32_t hdr_offset);
	/*
	 * next() and fill() of several new segments that leave as a run (fw_port.h, struct
	 * fw_tx_frame): at most most, each with at most max bytes, of equal length but for the
	 * last, which may be shorter. Adds to a frame that has headers up to hdr_offset a piece of
	 * its hdr, where the run's CRC32C begins, and the payload of all; sets run_bytes and
	 * FW_TX_F_BORROW. Appends the segments to *segs. Returns their number; 0: the next one goes
	 * alone, nothing was done. May be NULL.
	 */
	uint32_t (*next_run)(struct fw_nic *nic, struct tcp_flow *flow, uint32_t max, uint32_t most,
			     struct fw_tx_frame *frame, uint32_t hdr_offset, struct fw_list *segs);
	/*
	 * receive() of the segments of a run, the first of which has bytes at offset. True: all
	 * were taken; false: nothing was done, they are received one by one. May be NULL.
	 */
	bool (*receive_run)(struct fw_nic *nic, struct tcp_flow *flow,
			    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes);
	/*
	 * The port could not read a piece that fill() took from memory that is not mapped. The same
	 * rules apply as after a negative result of fill(). May be NULL: TCP resets the connection
	 * and calls ended(TCP_END_RESET).
	 */
	void (*unreadable)(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg);
	/*
	 * The whole segment is acknowledged, or never will be (the flow has ended): it belongs to
	 * the layer above again.
	 */
	void (*acked)(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_seg *seg, bool ok);
	/* The peer sends no more data (its FIN, in order). */
	void (*peer_closed)(struct fw_nic *nic, struct tcp_flow *flow);
	/*
	 * The connection has ended; acked(false) came for every segment; the flow is invalid on
	 * return.
	 */
	void (*ended)(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_end why);
	/*
	 * The connection is idle and may rest: the flow becomes invalid, and number, not 0, is the
	 * connection's name until woken(). Returns memory that the layer above lends for as long:
	 * what it needs of a connection only while that is awake. NULL: it has work for the
	 * connection soon. Without this function its connections never rest.
	 */
	struct tcp_rest_lent *(*rest)(struct fw_nic *nic, struct tcp_flow *flow, uint32_t number);
	/*
	 * It goes on, as this flow, whose ctx the layer above sets; for whatever reason, also
	 * within a call of tcp_wake(). The memory is the layer's again.
	 */
	void (*woken)(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_rest_lent *lent);
};

/* Sets the functions of a layer above. */
void tcp_serve(struct fw_nic *nic, enum tcp_user user, const struct tcp_ops *ops);
/*
 * Makes a connection; the SYN is sent when the next hop is known. NULL: no room, or the tuple is
 * taken.
 */
struct tcp_flow *tcp_connect(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			     uint16_t local_port, enum tcp_user user, void *ctx);
/*
 * Accepts connections to the port, at most backlog of them before tcp_accept_done() is called for
 * one. Returns 0, or EADDRINUSE, ENOSPC.
 */
int tcp_listen(struct fw_nic *nic, uint16_t port, uint32_t backlog, enum tcp_user user, void *ctx);
/* Ends the listener; connections that were handed over stay. */
void tcp_unlisten(struct fw_nic *nic, uint16_t port);
/* The flow, of a listener, no longer counts against its backlog. */
void tcp_accept_done(struct fw_nic *nic, struct tcp_flow *flow);

/* Wakes a connection that rests. */
struct tcp_flow *tcp_wake(struct fw_nic *nic, uint32_t number);
/* Notifies TCP that tcp_ops.next() has a segment. */
void tcp_push(struct fw_nic *nic, struct tcp_flow *flow);
/*
 * There is room again after receive() did not take all: opens the window. Data that was held back
 * may end the flow, and its owner with it.
 */
void tcp_resume(struct fw_nic *nic, struct tcp_flow *flow);
/* Sends FIN after the last segment of next(); ended(CLOSED) follows, when TIME-WAIT begins. */
void tcp_close(struct fw_nic *nic, struct tcp_flow *flow);
/* Sends RST at once; acked(false) for all segments, no ended(); the flow is invalid on return. */
void tcp_abort(struct fw_nic *nic, struct tcp_flow *flow);
/* Keep-alive: probes after idle_ns of silence; 0: never. */
void tcp_keepalive(struct fw_nic *nic, struct tcp_flow *flow, uint64_t idle_ns);

/* Handles a packet of protocol TCP whose IPv4 header was checked. */
void tcp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info);
/* Handles an ICMP error about a packet of ours: fragmentation needed, unreachable. */
void tcp_rx_icmp(struct fw_nic *nic, const struct ip_rx_info *info, uint8_t type, uint8_t code,
		 uint16_t mtu, const uint8_t *original, uint32_t original_bytes);
/* A next hop became known, has another MAC, or failed. */
void tcp_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
/* A connection taken off the waiting list looks up its next hop (neigh_wait.c). */
void tcp_neigh_look(struct fw_nic *nic, struct fw_list *node);
/*
 * A stage of fw_poll(): serves flows that may send, one burst each in turn. Returns segments sent.
 */
uint32_t tcp_tx_run(struct fw_nic *nic, uint32_t budget);
/* Sends ACKs that were not piggybacked on data, at the end of a turn. */
void tcp_ack_flush(struct fw_nic *nic);
void tcp_init(struct fw_nic *nic);
/* Returns the number of connections without those in TIME-WAIT, which hold nothing of a process. */
uint32_t tcp_flows_open(const struct fw_nic *nic);
/* Ends all connections in TIME-WAIT: the instance goes. */
void tcp_drop_time_wait(struct fw_nic *nic);

/* slice_job: frees half-open connections whose listener has ended. */
void tcp_syn_slice(struct fw_nic *nic);
bool tcp_syn_pending(const struct fw_nic *nic);

#endif /* WEFT_FW_TCP_H */
