/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TCP's private header: the state of a connection and of an instance, and the calls between
 * tcp_*.c.
 *
 * The layers above include tcp.h and touch ctx of struct tcp_flow, nothing else. The first two
 * cache lines of a flow are those that data in order, its ACK and the answer touch.
 */
#ifndef WEFT_FW_TCP_FLOW_H
#define WEFT_FW_TCP_FLOW_H

#include <assert.h>

#include "nic_fw/net/ip.h"
#include "nic_fw/tcp/tcp_nic.h"
#include "nic_fw/base/floor.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/base/rtt.h"
#include "nic_fw/tcp/tcp.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/wire_tcp.h"

enum {
	TCP_MAX_FLOWS = 4096, /* of an instance, those in TIME-WAIT included */
	TCP_HASH_SIZE = 4096,
	TCP_MAX_LISTENERS = 1024,
	TCP_MAX_SYNS = 1024, /* half-open passive ones; beyond: cookies */
	TCP_SYN_HASH_SIZE = 1024,
	TCP_CHUNK_BYTES = 2048,
	TCP_CHUNK_DATA = TCP_CHUNK_BYTES - 40,
	TCP_MAX_CHUNKS = 16384,     /* of an instance */
	TCP_MAX_FLOW_CHUNKS = 1024, /* of a connection */
	TCP_RANGES = 64,            /* of early bytes of a connection, with gaps between them */
	TCP_RCV_WINDOW = 1 << 20,   /* bytes */
	TCP_RCV_WSCALE = 6,
	TCP_SACK_BLOCKS = 4, /* at most in a segment; 3 beside timestamps */
	TCP_MIN_MSS = 64,    /* lower bound for the MSS of peers and for ICMP messages */
	TCP_IW_SEGMENTS = 10,
	TCP_DUP_THRESH = 3,
	TCP_TX_QUANTUM = 16,  /* of a flow before the next flow, in units of eth_tx_cost() */
	TCP_SYN_TRIES = 6,    /* SYN */
	TCP_SYNACK_TURN = 16, /* SYN-ACKs repeated in one call of the timer */
	TCP_KEEP_TRIES = 5,
	TCP_CHALLENGES = 100, /* a second, of an instance: RFC 5961 10 */
	TCP_RESETS = 200,     /* a second, for segments of no connection */
	TCP_MIN_PATH_MTU = 552,
};

#define TCP_INITIAL_RTO_NS UINT64_C(1000000000) /* RFC 6298 2.1 */
#define TCP_SLOW_RTO_NS    UINT64_C(3000000000) /* after a SYN that was sent again */
#define TCP_MIN_RTO_NS     UINT64_C(200000000)
#define TCP_MAX_RTO_NS     UINT64_C(60000000000)
#define TCP_GIVE_UP_NS     UINT64_C(100000000000) /* RFC 9293 3.8.3, R2 */
#define TCP_ACK_DELAY_NS   UINT64_C(40000000)
#define TCP_ACK_RIDE_NS    UINT64_C(200000) /* for data that is likely to follow: see tcp_tx.c */
#define TCP_TIME_WAIT_NS   UINT64_C(60000000000)
#define TCP_FIN_WAIT_2_NS  UINT64_C(60000000000) /* for the FIN of a peer */
#define TCP_PTO_ACK_NS     UINT64_C(50000000)    /* RFC 8985 7.2: the peer may wait with its ACK */
#define TCP_PTO_MIN_NS     UINT64_C(1000000)
#define TCP_TS_TICK_NS     UINT64_C(1000000)
#define TCP_PAWS_AGE_NS    UINT64_C(2073600000000000) /* 24 days: RFC 7323 5.5 */
#define TCP_MTU_AGE_NS     UINT64_C(600000000000)     /* RFC 1191 6.3: not less than 5 minutes */
#define TCP_NEIGH_AGE_NS   UINT64_C(1000000000) /* the next hop is looked up again, used or not */
#define TCP_ANSWER_NS      UINT64_C(500000000)
#define TCP_SECOND_NS      UINT64_C(1000000000)

/* tcp_flow.flags */
enum {
	TCP_F_TS = 0x0001,   /* timestamps in every segment */
	TCP_F_SACK = 0x0002, /* the peer takes, and sends, SACK */
	TCP_F_WSCALE = 0x0004,
	TCP_F_ECN = 0x0008,      /* negotiated */
	TCP_F_ECE = 0x0010,      /* CE was received, and no CWR since */
	TCP_F_CWR = 0x0020,      /* to be sent with the next new data */
	TCP_F_ACK_NOW = 0x0040,  /* at the end of this turn, or on data before */
	TCP_F_RIDE = 0x0080,     /* responses have carried the ACKs of their requests */
	TCP_F_RECOVERY = 0x0100, /* fast recovery until snd_una reaches recover */
	TCP_F_LOSS = 0x0200,     /* after RTO, likewise */
	TCP_F_LIMITED = 0x0400,  /* cwnd held data back since the last ACK */
	TCP_F_CLOSE = 0x0800,    /* tcp_close(): FIN when next() has no more segments */
	TCP_F_FIN_RCVD = 0x1000, /* in order */
	TCP_F_MORE = 0x2000,     /* next() may have something */
	TCP_F_STALLED = 0x4000,  /* receive() did not take all */
	TCP_F_PROBE = 0x8000,    /* a probe is sent, whatever cwnd is */
};

/* The event that tcp_flow.loss_ns is the deadline of. */
enum tcp_loss_timer {
	TCP_LOSS_NONE = 0,
	TCP_LOSS_RTO,
	TCP_LOSS_REORDER, /* RACK: a segment is lost when it is not acknowledged by then */
	TCP_LOSS_TLP,
	TCP_LOSS_PERSIST, /* the peer's window is too small */
};

/* After a timeout: tcp_frto.c. */
enum tcp_frto {
	TCP_FRTO_OFF = 0, /* none, or lost segments are sent again as usual */
	TCP_FRTO_WAIT,    /* the first segment was sent again */
	TCP_FRTO_NEW,     /* it arrived: new data goes first */
};

/* Probing for a larger path MTU: tcp_icmp.c. */
enum tcp_probing {
	TCP_PROBE_NONE = 0, /* as large as the link's */
	TCP_PROBE_WANTED,   /* from probe_ns on */
	TCP_PROBE_OUT,      /* the segment that ends at probe_end */
};

/* Bytes that arrived out of order, or that the layer above did not take. */
struct tcp_chunk {
	struct fw_list node; /* tcp_flow.early, in order of seq, none overlap */
	uint32_t seq;
	uint32_t bytes;
	uint32_t flags;   /* of the frame: FW_RX_CRC_OK */
	uint32_t station; /* charged for it: the peer's */
	uint8_t data[TCP_CHUNK_DATA];
};
static_assert(sizeof(struct tcp_chunk) <= TCP_CHUNK_BYTES, "");

/* Early bytes without a gap between them. */
struct tcp_range {
	uint32_t from, to;
	struct tcp_chunk *last; /* that holds the byte before to */
};

struct tcp_block {
	uint32_t from, to;
};

/* CUBIC, RFC 9438; windows in bytes. */
struct tcp_cubic {
	/* Start of congestion avoidance, moved by the time that cwnd was not used. */
	uint64_t epoch_ns;
	uint64_t seen_ns;  /* the last ACK in it; epoch_ns 0: not begun */
	uint64_t k_ms1024; /* K, in 1/1024 s */
	uint32_t w_max, w_est;
	uint32_t origin;    /* cwnd's inflection point in this epoch */
	uint32_t est_acked; /* bytes that w_est has not grown for yet */
	uint32_t prior;     /* cwnd before the last reduction */
};

/* Only for data that is lost or out of order: untouched before. */
struct tcp_aside {
	struct tcp_range range[TCP_RANGES];      /* in order of from, with gaps between them */
	struct tcp_block block[TCP_SACK_BLOCKS]; /* the latest first */
	struct tcp_cubic cut_cubic;              /* with tcp_flow.cut_cwnd */
	uint32_t cut_ssthresh;
};

struct tcp_listener;

struct tcp_flow {
	void *ctx; /* the layer above's */
	enum tcp_user user;
	struct fw_list segs; /* tcp_seg.node by seq: sent; at the end perhaps one that is not */
	struct fw_list ready_node; /* tcp_nic.ready */
	struct fw_list ack_node;   /* tcp_nic.acks */
	uint32_t peer_ip;          /* network byte order */
	uint16_t peer_port, local_port;
	uint32_t snd_una, snd_nxt;
	uint32_t snd_wnd; /* bytes from snd_una on */
	uint32_t snd_wl1; /* seq of the segment that last set it */
	uint32_t rcv_nxt; /* acknowledged up to here */
	uint32_t rcv_up;  /* taken by the layer above up to here */
	uint32_t rcv_adv; /* furthest right edge of the window that was advertised */
	uint32_t ts_recent;
	uint32_t cwnd, pipe; /* bytes */
	uint16_t flags;      /* TCP_F_* */
	uint16_t mss;        /* of payload */
	uint8_t state;       /* tcp_state; changed by tcp_set_state() only */
	uint8_t snd_wscale;
	uint8_t busy;    /* calls of the layer above under way: freed when the last returns */
	uint8_t probing; /* tcp_probing */

	/* state for opening, losses and timers */
	uint32_t hash_next; /* index + 1; 0: the last */
	struct fw_timer timer;
	uint64_t loss_ns; /* tcp_loss_timer's deadline */
	uint64_t ack_ns;  /* delayed ACK; 0: none */
	uint64_t wait_ns; /* TIME-WAIT, FIN-WAIT-2; 0: neither */
	struct fw_rtt rtt;
	uint64_t rto_ns;
	uint64_t heard_ns;     /* last acceptable segment */
	uint64_t sent_ns;      /* last data, for the restart after silence */
	uint64_t trouble_ns;   /* begin of the time without progress; 0: no retransmission */
	uint64_t ts_recent_ns; /* when ts_recent was set */
	uint64_t keep_ns;      /* silence before the first keep-alive; 0: none */
	uint64_t neigh_ns;
	uint64_t answered_ns;  /* last time that tcp_may_answer() returned true */
	uint32_t neigh_change; /* tcp_nic.neigh_changes when mac was looked up */
	uint8_t mac[WIRE_MAC_BYTES];
	uint8_t loss_timer;       /* tcp_loss_timer */
	uint8_t backoff;          /* of RTO or persist timer */
	uint8_t station;          /* class of the peer: station.h */
	struct fw_list wait_node; /* tcp_nic.resolving, or time_wait */
	uint32_t iss, irs;
	uint32_t ts_offset;
	uint32_t snd_wnd_max;
	uint32_t last_ack; /* rcv_nxt as last sent: RFC 7323 4.3 */
	uint64_t probe_ns;
	uint32_t probe_end;
	uint16_t path_mtu;
	uint16_t peer_mss;
	uint8_t keep_tries;
	uint8_t syn_tries; /* timeouts of SYN, or of the SYN-ACK */
	uint8_t dup_acks;
	uint8_t unreachable; /* the network reported it */
	bool fin_seen;       /* the peer's FIN, perhaps out of order, at peer_fin */
	bool kept_back;      /* a segment was not sent: a page of it was not available */
	uint32_t peer_fin;
	struct tcp_seg ctl; /* SYN, then FIN */

	/* losses: tcp_sack.c */
	uint64_t rack_sent_ns, rack_rtt_ns, min_rtt_ns;
	uint32_t rack_end;
	uint32_t fack;      /* highest byte that was acknowledged or SACKed */
	uint32_t recover;   /* snd_nxt when recovery began */
	uint32_t dsack_end; /* snd_nxt when the reordering window last grew */
	uint32_t tlp_end;   /* snd_nxt when the probe went; tlp_out */
	uint32_t sacked;    /* segments marked */
	uint32_t lost;      /* segments marked, not sent again */
	bool tlp_out, tlp_retrans;
	bool reordering; /* was ever detected */
	uint8_t reo_mult, reo_persist;

	/* congestion: tcp_cong.c */
	uint32_t ssthresh;
	uint32_t prr_flight, prr_delivered, prr_out;
	uint32_t cwr_end;      /* no further cut for ECN before this is acknowledged */
	uint32_t cut_cwnd;     /* before the last cut: a spurious one is undone */
	uint32_t undo_retrans; /* retransmissions not yet reported needless by DSACK */
	uint32_t rto_ts;       /* our clock of timestamps at the timeout: frto */
	uint8_t frto;          /* tcp_frto */
	struct tcp_cubic cubic;

	/* early data: tcp_ooo.c */
	struct fw_list early;
	uint32_t early_chunks;
	uint32_t num_ranges;
	uint32_t num_blocks;
	struct tcp_block dsack; /* from == to: none */
	struct tcp_aside *aside;

	/* the receive window as a grant: tcp_grant.c */
	struct fw_list grant_node; /* tcp_grants.turn */
	struct fw_list held_node;  /* tcp_grants.held */
	uint64_t held_ns;          /* time of the last grant or data */
	uint64_t mark_ns;          /* time of the grant beyond mark that is measured; 0: none */
	uint64_t came_ns;          /* time of the last data */
	uint32_t mark;
	uint32_t rcv_limit;       /* right edge that may be announced */
	uint32_t rcv_high;        /* end of the furthest data */
	uint32_t rcv_begun;       /* rcv_high when the peer began, or began again */
	uint32_t rcv_out;         /* its part of tcp_grants.out_bytes */
	uint32_t rcv_alone;       /* the window when no other peer sends */
	struct fw_floor rcv_path; /* of the times from a grant to its data */
	uint8_t reminders;
	bool backlogged; /* the peer has more to send */
	bool granted;    /* counts in tcp_grants.open */
	/* and as a sender: tcp_tx.c */
	bool fresh;    /* nothing was sent since it began, or began again: tcp_cong_restart() */
	bool knocking; /* a part of a segment was sent, to get a window for the rest */

	struct tcp_listener *listener; /* counts against its backlog */
	struct fw_list pending_node;   /* tcp_listener.flows */
	struct fw_list awake_node;     /* tcp_nic.awake */
};
static_assert(offsetof(struct tcp_flow, hash_next) <= 128, "two cache lines of hot state");

struct tcp_listener {
	void *ctx;
	enum tcp_user user;
	uint32_t hash_next;
	uint32_t backlog;
	struct fw_list flows;     /* flows for which tcp_accept_done() was not called */
	struct fw_list asking;    /* of the layer above: mpa_conn.node with an incomplete request */
	struct fw_list half_open; /* tcp_syn.listener_node */
	uint32_t pending;         /* number of flows */
	uint32_t syns;            /* and of half_open */
	uint32_t serial;          /* differs from that of an earlier listener of the port */
	uint16_t port;
	bool used;
};

/* A half-open connection: SYN received, SYN-ACK sent. */
struct tcp_syn {
	struct fw_list node;          /* tcp_nic.syn_lists */
	struct fw_list listener_node; /* tcp_listener.half_open; tcp_nic.syn_ended */
	uint32_t serial;              /* of its listener */
	uint64_t sent_ns, due_ns;
	uint32_t hash_next;
	uint32_t peer_ip;
	uint16_t peer_port, local_port;
	uint32_t iss, irs;
	uint32_t ts_recent, ts_offset;
	uint32_t snd_wnd;
	uint16_t mss;
	uint16_t window; /* that the SYN-ACK announced */
	uint8_t wscale;
	uint8_t flags; /* TCP_F_TS, SACK, WSCALE, ECN */
	uint8_t tries;
	uint8_t mac[WIRE_MAC_BYTES];
};

/* Options of a received segment. */
struct tcp_options {
	uint32_t ts_val, ts_ecr;
	uint16_t mss; /* 0: not present */
	uint8_t wscale;
	bool has_ts, has_wscale, sack_ok;
	uint8_t num_sack;
	struct tcp_block sack[TCP_SACK_BLOCKS];
};

/* A received segment, checked: sequence numbers in host byte order. */
struct tcp_in {
	const struct fw_rx_frame *frame;
	const struct ip_rx_info *info;
	uint32_t seq, ack;
	uint32_t window; /* as in the header, not scaled */
	uint32_t offset; /* of the payload in the frame */
	uint32_t bytes;  /* of payload */
	uint32_t segs;   /* more than one: a run in order, which bytes and flags are of */
	uint16_t src_port, dst_port;
	uint8_t flags;
	struct tcp_options opt;
};

static inline uint32_t tcp_in_len(const struct tcp_in *in)
{
	return in->bytes + !!(in->flags & WIRE_TCP_SYN) + !!(in->flags & WIRE_TCP_FIN);
}

static inline uint32_t tcp_max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t tcp_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t tcp_seg_end(const struct tcp_seg *seg)
{
	return seg->seq + seg->bytes;
}

/* Returns the window from rcv_nxt on that a segment may announce, and that one received may use. */
static inline uint32_t tcp_rcv_window(const struct tcp_flow *flow)
{
	uint32_t edge = flow->rcv_up + TCP_RCV_WINDOW;

	if (!(flow->flags & TCP_F_WSCALE) && seq_lt(flow->rcv_nxt + UINT16_MAX, edge))
		edge = flow->rcv_nxt + UINT16_MAX;
	if (seq_lt(flow->rcv_limit, edge))
		edge = flow->rcv_limit;
	/* An announced window is not withdrawn: RFC 9293 3.8.6. */
	if (seq_lt(edge, flow->rcv_adv))
		edge = flow->rcv_adv;
	return edge - flow->rcv_nxt;
}

static inline bool tcp_synchronized(const struct tcp_flow *flow)
{
	return flow->state >= TCP_ESTABLISHED;
}

/* ---- tcp_opt.c */

/* Returns false when malformed (a length past the end). */
bool tcp_opt_parse(const uint8_t *data, uint32_t bytes, struct tcp_options *opt);
/* Writes the options of a SYN; returns their length, a multiple of 4. flags: TCP_F_*. */
uint32_t tcp_opt_syn(uint8_t *dst, uint16_t mss, uint16_t flags, uint8_t wscale, uint32_t ts_val,
		     uint32_t ts_ecr);
uint32_t tcp_opt_ts(uint8_t *dst, uint32_t ts_val, uint32_t ts_ecr);
uint32_t tcp_opt_sack(uint8_t *dst, const struct tcp_block *blocks, uint32_t count);

/* ---- tcp_hash.c: keyed hash (keyed.h): ISNs, cookies, time stamp offsets */

uint64_t tcp_keyed(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port,
		   uint64_t extra);
uint32_t tcp_isn(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port, uint16_t local_port);
/* Start value of our timestamp clock towards that peer. */
uint32_t tcp_ts_offset(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
		       uint16_t local_port);
static inline uint32_t tcp_ts_now(uint64_t now_ns)
{
	return (uint32_t)(now_ns / TCP_TS_TICK_NS);
}
/*
 * Counts one more of a kind that is limited to per_second, plus or minus a random spread. The
 * spread hides from a counting attacker how many others got (CVE-2016-5696).
 */
bool tcp_allowed(struct fw_nic *nic, struct tcp_bucket *bucket, uint32_t per_second,
		 uint32_t spread);

/* ---- tcp_conn.c */

struct tcp_flow *tcp_find(const struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			  uint16_t local_port);
void tcp_conn_unhash(struct fw_nic *nic, struct tcp_flow *flow);
/* Gives a flow of the pool the values of one without a past, and enters it into the table. */
void tcp_conn_start(struct fw_nic *nic, struct tcp_flow *flow, uint32_t peer_ip, uint16_t peer_port,
		    uint16_t local_port, enum tcp_user user);
/* Returns a flow of the tuple in CLOSED, counted nowhere; NULL: no room. */
struct tcp_flow *tcp_flow_new(struct fw_nic *nic, uint32_t peer_ip, uint16_t peer_port,
			      uint16_t local_port, enum tcp_user user);
void tcp_set_state(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_state state);
/* Ends the flow: frees all its resources and notifies the layer above, unless that ended it. */
void tcp_end(struct fw_nic *nic, struct tcp_flow *flow, enum tcp_end why);
void tcp_enter_time_wait(struct fw_nic *nic, struct tcp_flow *flow);
/* Bracket calls of the layer above; leave returns false when the flow has ended. */
static inline void tcp_enter(struct tcp_flow *flow)
{
	flow->busy++;
}
bool tcp_leave(struct fw_nic *nic, struct tcp_flow *flow);
void tcp_set_mss(struct fw_nic *nic, struct tcp_flow *flow);
/* The same for packets of mtu bytes. */
uint16_t tcp_mss_for(const struct tcp_flow *flow, uint32_t mtu);
/* Sets our initial sequence number; sent: of SYN, 1 when it is acknowledged already. */
void tcp_number_from(struct tcp_flow *flow, uint32_t iss, uint32_t sent);
/* Applies the options of both ends' SYNs. */
void tcp_negotiated(struct fw_nic *nic, struct tcp_flow *flow, uint16_t mss, bool ts, bool sack,
		    bool wscale, uint8_t shift);

/* ---- tcp_listen.c */

/* Handles a segment of no connection: a SYN, the ACK of one, or neither. True: taken. */
bool tcp_listen_rx(struct fw_nic *nic, struct tcp_in *in);
struct tcp_listener *tcp_find_listener(const struct fw_nic *nic, uint16_t port);
/* SYN-ACKs without an answer. */
void tcp_syn_fire(struct fw_nic *nic, struct fw_timer *timer);

/* ---- tcp_rx.c */

void tcp_flow_rx(struct fw_nic *nic, struct tcp_flow *flow, struct tcp_in *in);
/* Takes the peer's FIN, if it has come and all data before it was handed up. */
void tcp_take_fin(struct fw_nic *nic, struct tcp_flow *flow);

/* ---- tcp_ack.c: acknowledgements from the peer */

/* Returns false when the rest of the segment is to be ignored. */
bool tcp_ack_rx(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in);

/* ---- tcp_ooo.c */

/* Keeps [offset, offset + bytes) of a frame, which are the stream's from seq on. */
void tcp_early_keep(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in,
		    uint32_t seq, uint32_t offset, uint32_t bytes);
/* Hands up kept bytes that are next; rcv_nxt and rcv_up move. */
void tcp_early_deliver(struct fw_nic *nic, struct tcp_flow *flow);
void tcp_early_drop(struct fw_nic *nic, struct tcp_flow *flow);
/* Notes that [from, to) arrived out of order, for SACK. */
void tcp_early_note(struct tcp_flow *flow, uint32_t from, uint32_t to);
/* Stores the SACK blocks to report now, the latest first; returns how many, at most max. */
uint32_t tcp_early_blocks(const struct tcp_flow *flow, struct tcp_block *blocks, uint32_t max);

/* ---- tcp_tx.c */

void tcp_ready(struct fw_nic *nic, struct tcp_flow *flow);
/* Owes an ACK, sent at the end of the turn at the latest. */
void tcp_ack_soon(struct fw_nic *nic, struct tcp_flow *flow);
/*
 * True if an unacceptable segment without data may be answered: once in TCP_ANSWER_NS. Otherwise
 * two ends whose numbers a forger has moved apart would answer each other for ever.
 */
bool tcp_may_answer(struct fw_nic *nic, struct tcp_flow *flow);
/*
 * Sends a bare segment without payload from seq at once. False: no room; the caller's timer
 * retries.
 */
bool tcp_tx_bare(struct fw_nic *nic, struct tcp_flow *flow, uint32_t seq, uint8_t flags);
/* RFC 5961: sends an ACK with our state, rate-limited. */
void tcp_challenge(struct fw_nic *nic, struct tcp_flow *flow);
/* Bytes of the segment that were sent and are not acknowledged. */
uint32_t tcp_seg_out(const struct tcp_flow *flow, const struct tcp_seg *seg);
/* The next hop is known, mac holds it. */
bool tcp_have_neigh(struct fw_nic *nic, struct tcp_flow *flow);

/* ---- tcp_txhdr.c */

/* Headers of a segment up to its payload; returns where that begins. sack: room for blocks. */
uint32_t tcp_tx_header(struct fw_nic *nic, struct tcp_flow *flow, struct fw_tx_frame *frame,
		       uint32_t seq, uint8_t flags, uint32_t payload, bool sack, uint8_t ect);
/* Inserts the checksum: the port does it with payload, this function without. */
void tcp_tx_checksum(struct fw_nic *nic, struct fw_tx_frame *frame, uint32_t peer_ip,
		     uint32_t hdr_end, uint32_t payload);
/* Sends a segment of no connection: a listener's SYN-ACK, or a reset. opts: multiple of 4 bytes. */
void tcp_tx_stray(struct fw_nic *nic, uint32_t peer_ip, const uint8_t *mac, uint16_t peer_port,
		  uint16_t local_port, uint32_t seq, uint32_t ack, uint8_t flags, uint16_t window,
		  const uint8_t *opts, uint32_t opt_bytes);
/* Sends RST for a segment of no connection: RFC 9293 3.10.7.1, rate-limited. */
void tcp_tx_reset_for(struct fw_nic *nic, const struct tcp_in *in);

/* ---- tcp_sack.c */

/* Returns the bytes of a segment that count as in flight. */
uint32_t tcp_seg_pipe(const struct tcp_flow *flow, const struct tcp_seg *seg);
/* Changes flags and keeps pipe and the counts right. */
void tcp_seg_mark(struct tcp_flow *flow, struct tcp_seg *seg, uint8_t set, uint8_t clear);

/* The effect of an ACK, for the congestion window. */
struct tcp_acked {
	uint64_t rtt_ns;    /* of the latest sent; 0: no sample */
	uint32_t bytes;     /* cumulatively acknowledged */
	uint32_t delivered; /* these, and newly SACKed ones */
	uint32_t una_before;
	uint32_t ts_ecr; /* has_ecr: of the segment that moved what is acknowledged in order */
	bool has_ecr;
	bool older; /* it echoes a timestamp of before the last timeout */
	/* A segment that was sent once and marked lost by a timeout is acknowledged; the latest: */
	bool orig;
	uint32_t orig_end;
	uint64_t orig_sent_ns;
	bool dsack;
	bool undo; /* every retransmission of the last recovery was needless */
	bool sacked_new;
};
/* A segment is newly acknowledged (or SACKed): RACK.update, a round-trip sample. */
void tcp_rack_update(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg,
		     struct tcp_acked *acked);
void tcp_sack_rx(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in,
		 struct tcp_acked *acked);
/* Marks segments that are lost by now. Returns true if any was. */
bool tcp_detect_loss(struct fw_nic *nic, struct tcp_flow *flow);
/* After RTO: marks all segments that are not SACKed as lost. */
void tcp_mark_all_lost(struct tcp_flow *flow);
/* The timeout was spurious: marks all as in flight. */
void tcp_mark_none_lost(struct tcp_flow *flow);
/* Returns the first lost segment that was not sent again, or NULL. */
struct tcp_seg *tcp_first_lost(const struct tcp_flow *flow);

/* ---- tcp_cong.c */

void tcp_cong_open(struct tcp_flow *flow);
/* After an ACK: cwnd grows, or recovery continues or ends. */
void tcp_cong_acked(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_acked *acked);
/* A segment is lost: recovery begins, unless it is under way. */
void tcp_cong_lost(struct fw_nic *nic, struct tcp_flow *flow);
void tcp_cong_rto(struct fw_nic *nic, struct tcp_flow *flow);
void tcp_cong_ecn(struct fw_nic *nic, struct tcp_flow *flow);
/* The last reduction was spurious: restores the state before it. */
void tcp_cong_undo(struct fw_nic *nic, struct tcp_flow *flow);
/* Before data after silence: RFC 5681 4.1. */
void tcp_cong_restart(struct fw_nic *nic, struct tcp_flow *flow);
bool tcp_cong_may_send(const struct tcp_flow *flow, uint32_t bytes);

/* ---- tcp_frto.c: spurious timeouts */

/* Call before a timeout is acted on. */
void tcp_frto_begin(struct fw_nic *nic, struct tcp_flow *flow);
/* An ACK came; call before losses are detected. dup: as RFC 5681 2 defines it. */
void tcp_frto_acked(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_acked *acked,
		    bool dup);

/* ---- tcp_icmp.c: the path's MTU */

/* Returns the largest next new segment: the MSS, or the size of an MTU probe. */
uint32_t tcp_probe_room(struct fw_nic *nic, struct tcp_flow *flow);
static inline bool tcp_is_probe(const struct tcp_flow *flow, const struct tcp_seg *seg)
{
	return flow->probing == TCP_PROBE_OUT && tcp_seg_end(seg) == flow->probe_end;
}
/* The probe segment is acknowledged, or is sent again. */
void tcp_probe_done(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_seg *seg);
/* True if only the probe segment is lost: no sign of congestion. RFC 4821 7.6.2 */
bool tcp_probe_lost(const struct tcp_flow *flow);

/* ---- tcp_grant.c: receive windows */

void tcp_grant_init(struct fw_nic *nic);
/* Handles connections whose window was opened and whose peers have been silent since. */
void tcp_grant_fire(struct fw_nic *nic, struct fw_timer *timer);
/* Returns the window of a new connection, at most 65,535 bytes. */
uint32_t tcp_grant_first(const struct fw_nic *nic);
void tcp_grant_open(struct fw_nic *nic, struct tcp_flow *flow);
/* The peer's numbers and the window advertised to it are known. */
void tcp_grant_begin(struct tcp_flow *flow, uint32_t window);
/* A segment with this right edge of the window is sent. */
void tcp_grant_announce(struct fw_nic *nic, struct tcp_flow *flow, uint32_t edge);
/* Data was received, and was handled. */
void tcp_grant_rx(struct fw_nic *nic, struct tcp_flow *flow, const struct tcp_in *in);
/* The connection receives no more data. May be called again. */
void tcp_grant_close(struct fw_nic *nic, struct tcp_flow *flow);

/* ---- tcp_timer.c */

void tcp_rtt_sample(struct tcp_flow *flow, uint64_t rtt_ns);
/* Sets the loss timer again: data was sent, or an ACK came. */
void tcp_loss_rearm(struct fw_nic *nic, struct tcp_flow *flow);
/* A deadline of the flow came nearer, or all are to be checked. */
void tcp_timer_update(struct fw_nic *nic, struct tcp_flow *flow);
void tcp_timer_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_TCP_FLOW_H */
