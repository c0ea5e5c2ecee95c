/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable datagrams: sessions between shards, flows between QPs, the window of PSNs.
 *
 * rd_session.c	the table, epochs, restart of a peer, idle sessions
 * rd_hello.c	HELLO and its answers, cookies
 * rd_share.c	how many sessions the stations of a link may make
 * rd_flow.c	messages of one QP pair in order; refusals; what fails when
 * rd_tx.c	packets out; the send window; retransmission
 * rd_ack.c	acknowledgements out and in; RTT; loss detection
 * rd_cong.c	the congestion window
 * rd_grant.c	what each of those that send to this NIC may send
 * rd_cancel.c	messages that end in the middle: their receives are given back
 * rd_rx.c	packets in: window, duplicates, order of delivery within a flow
 * rd_timer.c	tail probe, RTO, retry exhaustion
 *
 * ARCHITECTURE.md "RD in one page" has the rules, docs/wire-format.md the packets. A session is
 * 128 hot bytes and the rest of struct rd_session while idle; windows are taken from pools
 * while packets are in flight.
 */
#ifndef WEFT_FW_RD_H
#define WEFT_FW_RD_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/dgram/dgram.h"
#include "nic_fw/rdmap/rdmap_seg.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/share.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/dgram/dgram_nic.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"

struct fw_nic;
struct fw_qp;
struct fw_wqe;

enum {
	RD_REORDER_THRESHOLD = 3, /* PSNs beyond a hole that say it is lost */
	RD_DOUBT_BACKOFF = 2,     /* time-outs in a row after which the peer's MAC is in doubt */
	RD_MAX_BACKOFF = 10,
	RD_GIVE_UP_BACKOFF = 4,  /* time-outs in a row after which nobody need wait for more */
	RD_SESSION_QUANTUM = 16, /* packets a session may send before the next one's turn */
	RD_FLOW_QUANTUM = 8,     /* and a flow within it */
	RD_HELD_BYTES = 52,      /* payload of a request held until its turn: an atomic's */
	RD_ACK_EVERY = 8,        /* data packets at most that one delayed ACK stands for */
	RD_HALF_OPEN = 512,      /* sessions by HELLO alone: nothing more was heard of the peer */
	RD_SHARE_MAX =
	    HW_MAX_PEERS / 4, /* that a class's HELLOs made, once half of all are taken */
	RD_FOREIGN_MAX =
	    HW_MAX_PEERS / 8 * 7, /* that HELLOs made; the rest is for processes here */
	RD_MSN_AHEAD = 64,        /* RC: receives that may be taken for messages not yet begun */
	RD_LIMIT_TRIES =
	    3, /* before a limit of time is one: round trips may look longer than it is */
	RD_ANSWER_LOOKS = 30,     /* without progress at a peer that is heard: it does not come */
	RD_WITHDRAW_TRIES = 3,    /* transmissions of a PSN after which it may be withdrawn */
	RD_WITHDRAW_SPAN = 32,    /* PSNs in flight from which on a lost one stands in the way */
	RD_WITHDRAW_TIMEOUTS = 4, /* in a row: what else there may be waits for them, too */
	RD_CREDIT_FIRST = 2,      /* packets that a new session may send before it is granted any */
	RD_CREDIT_MAX = 128,      /* given and not used: what 8 bits tell */
	RD_CREDIT_IDLE = 8,       /* and one that was idle, at most */
	RD_WITHDRAW_BACKOFF = 6,  /* doublings of the wait of a flow that does not get through */
};
#define RD_ACK_DELAY_NS     UINT64_C(20000) /* that an ACK waits for data going back */
#define RD_GAP_NS           UINT64_C(10000) /* a core that polls is away no longer than this */
#define RD_MIN_RTO_NS       UINT64_C(200000)
#define RD_INITIAL_RTO_NS   UINT64_C(2000000)
#define RD_MAX_RTO_NS       UINT64_C(1000000000)
#define RD_HELLO_RETRY_NS   UINT64_C(10000000)
#define RD_AWAIT_NS         UINT64_C(20000000) /* between probes while only responses are awaited */
#define RD_SILENT_NS        UINT64_C(60000000) /* three such: the peer is not heard */
#define RD_LOOK_NS          UINT64_C(1000000000)  /* between looks for answers that do not come */
#define RD_ASTRAY_NS        UINT64_C(1000000000)  /* no packet is overtaken by one so much later */
#define RD_STALE_NS         UINT64_C(30000000000) /* unused so long, a session is opened anew */
#define RD_EVICT_IDLE_NS    UINT64_C(60000000000) /* and may be forgotten after this */
#define RD_ERROR_BACKOFF_NS UINT64_C(1000000)     /* doubled each time */
#define RD_ERROR_TRIES      12 /* 2 s: a Terminate that explains them does not come any more */
#define RD_QUIET_UNIT_NS    UINT64_C(1000)        /* of the time that a reset tells */
#define RD_COOKIE_NS        UINT64_C(16000000000) /* a cookie is good for one to two of these */
#define RD_HELLO_TRIES      20                    /* 14 s, with back-off up to RD_MAX_RTO_NS */

enum rd_state {
	RD_FREE = 0,
	RD_CLOSED,     /* known peer, nothing agreed; opens on the next message */
	RD_RESOLVING,  /* awaiting ARP */
	RD_HELLO_SENT, /* awaiting the peer's HELLO */
	RD_OPEN,
	RD_STATES
};

/* rd_slot.state */
enum {
	RD_SLOT_SENT = 1,
	RD_SLOT_LOST, /* to be sent again */
	/*
	 * The peer has it, and may still refuse it in its turn; or it must outlast something
	 * (rd_ack.c).
	 */
	RD_SLOT_HELD,
	RD_SLOT_ACKED,
};

/* One PSN in flight. */
struct rd_slot {
	uint64_t sent_ns;
	struct fw_moment first_sent;
	struct fw_wqe *msg;   /* NULL: void, its message is gone */
	struct rd_flow *flow; /* of it; NULL with msg */
	uint32_t offset;      /* of the payload in the message */
	uint32_t bytes;
	uint16_t flow_distance;
	uint8_t state;
	uint8_t tries;
	bool withdrawn; /* a void packet was sent for it: its payload comes under another PSN */
};

struct rd_tx_window {
	struct rd_slot slot[WIRE_RD_WINDOW]; /* by psn % WIRE_RD_WINDOW */
};

/* A packet that was taken before its predecessor in the flow was delivered. */
struct rd_held {
	struct rdmap_seg pkt;        /* frame is not valid any more */
	uint8_t held[RD_HELD_BYTES]; /* payload of read requests, atomics, terminates */
};

struct rd_rx_window {
	struct rd_held *held[WIRE_RD_WINDOW]; /* by psn % WIRE_RD_WINDOW */
	/* psn % (2 * WINDOW) -> distance to the next of the flow, 0: none known */
	uint8_t next[2 * WIRE_RD_WINDOW];
};

/* Bits of one window's worth of PSNs, by psn % (2 * WIRE_RD_WINDOW). */
struct rd_bits {
	uint64_t word[2 * WIRE_RD_WINDOW / 64];
};

/* The least of what was seen of late: of round trips, what the path takes without queues. */
struct rd_floor {
	uint64_t at_ns;  /* since when ns is the least */
	uint32_t ns;     /* 0: nothing was seen yet */
	uint32_t old_ns; /* of the time before; 0: none */
};
#define RD_FLOOR_NS UINT64_C(5000000000) /* forgotten after one to two of these */

static inline void rd_floor_add(struct rd_floor *f, uint64_t now_ns, uint32_t ns)
{
	if (f->ns && now_ns - f->at_ns > RD_FLOOR_NS) {
		f->old_ns = f->ns;
		f->ns = 0;
	}
	if (!f->ns)
		f->at_ns = now_ns;
	if (!f->ns || ns < f->ns)
		f->ns = ns;
}

static inline uint64_t rd_floor_ns(const struct rd_floor *f)
{
	return f->old_ns && f->old_ns < f->ns ? f->old_ns : f->ns;
}

struct rd_session {
	/* hot: sending */
	uint32_t tx_psn;     /* next to use */
	uint32_t tx_una;     /* oldest not acknowledged */
	uint32_t peer_epoch; /* what packets to the peer carry */
	uint32_t lost;       /* slots in RD_SLOT_LOST */
	uint32_t sent;       /* slots in RD_SLOT_SENT: in flight as congestion control counts */
	uint32_t resent;     /* of those, not for the first time */
	uint32_t cwnd;       /* packets that may be in flight */
	uint32_t srtt_ns;
	uint32_t rttvar_ns;
	uint16_t segment_bytes;
	uint8_t state; /* rd_state; rd_set_state() only */
	uint8_t backoff;
	struct rd_tx_window *tx;   /* NULL: nothing in flight */
	struct fw_list ready_node; /* in nic->rd.ready while it may send */
	/* hot: receiving */
	uint32_t rx_psn;         /* next expected: all before were accepted */
	uint32_t rx_high;        /* one past the highest accepted */
	uint32_t epoch;          /* what packets of the peer must carry */
	uint32_t ts_echo;        /* last timestamp received */
	uint64_t ts_echo_ns;     /* when */
	struct rd_rx_window *rx; /* NULL: no holes */
	uint8_t peer_mac[WIRE_MAC_BYTES];
	bool ack_due; /* in nic->rd.acks */
	bool answers; /* data went back soon after data came: an ACK may wait to ride on it */
	uint8_t ack_packets;      /* data packets since the last ACK */
	bool any_refused;         /* some bit of refused is set */
	bool grant_due;           /* the peer must be told its limit now */
	uint8_t credit_used;      /* as our headers tell it: packets of data sent, modulo 256 */
	uint8_t credit_limit;     /* up to which the peer lets us send */
	uint32_t heard_timestamp; /* of the latest header whose credits were taken */
	uint64_t heard_ns;        /* when that came; long ago: none has */
	uint8_t credit_asks; /* probes sent for want of credits since the last that were given */
	bool more;           /* of the packet that is being made: others will follow */
	uint32_t rx_used;    /* packets that the peer said it had sent, from its side */
	uint32_t rx_limit;   /* that it may */
	uint32_t rx_taken;   /* accepted ones */
	bool confirmed;      /* the peer has used our epoch: it is no echo of the past */
	/* rest */
	struct fw_list grant_node; /* rd_grants.turn */
	struct fw_list held_node;  /* rd_grants.held */
	uint64_t held_ns;          /* when it was last given credits, or heard */
	struct rd_floor rx_path;   /* of the round trips of its packets */
	uint32_t rx_told;          /* rx_limit as our last header told it */
	uint32_t rx_out_bytes;     /* its part of rd_grants.out_bytes */
	uint32_t rx_pkt_bytes;     /* of its packets, on the line */
	uint8_t reminders;         /* that it was given credits, since it was heard */
	uint32_t rx_void_used;     /* rx_used at rx_void_ns */
	uint64_t rx_void_ns;       /* when it was last seen what does not come any more */
	bool rx_here;              /* a packet of data is being looked at: it comes to rx_taken */
	uint8_t rx_alone;          /* credits that it may have while nobody else asks */
	uint8_t rx_doubt;          /* packets of data until its unused credits count again */
	bool asks;                 /* its last packet said that it has more */
	struct fw_list ack_node;
	uint64_t ack_since_ns;    /* when ack_due was set */
	uint64_t rx_data_ns;      /* when the last data packet came */
	struct fw_list flows;     /* with something to send: rd_flow.ready_node */
	struct fw_list all_flows; /* rd_flow.session_node */
	struct fw_list recvs;     /* recv_msg.peer_node: of messages that are not whole */
	uint32_t life;            /* counts how often it ended: recv_msg.life */
	struct rd_bits received;  /* the window */
	struct rd_bits delivered; /* the window and one behind */
	struct rd_bits refused;
	uint32_t peer_ip; /* network byte order */
	uint32_t index;
	uint32_t hash_next;
	uint8_t peer_shard;
	uint8_t hello_tries;
	bool tlp_sent; /* the timer's next expiry is an RTO */
	bool pend;     /* a new epoch was offered and not yet used by the peer */
	bool ece;      /* to tell the peer: congestion was seen */
	bool astray;   /* it acknowledged PSNs that were never sent: somebody forged them */
	uint16_t held_count;
	uint16_t cancels;    /* of those held: cancellations that wait for PSNs before them */
	uint32_t pend_epoch; /* ours, of the session to come */
	uint32_t pend_peer_epoch;
	uint32_t pend_psn;
	uint32_t pend_tx_psn; /* ours */
	uint32_t first_psn;   /* ours, as this session's HELLO told it */
	uint16_t pend_mtu;
	uint32_t rnr_timer_ns; /* largest asked of the peer since the last ACK */
	uint32_t cwnd_fp;      /* the window in 1/256 packets, rd_cong.c */
	uint32_t undo_cwnd_fp; /* what it was before the first of a row of time-outs; 0: none */
	uint64_t cut_ns;       /* when it was last made smaller */
	uint64_t pace_ns;      /* below one packet: when the next may leave; 0: never was */
	uint32_t rtt_ns;       /* the last sample */
	uint32_t path_ns;      /* what the path takes when that is longer than queues should */
	uint32_t path_from_fp; /* the window since when samples are counted to find that out */
	uint16_t path_above;   /* samples above the target */
	uint16_t path_below;
	uint64_t hello_ns; /* when our last HELLO left */
	bool slow_start;   /* no sign of congestion yet: the window doubles */
	struct fw_timer pace_timer;
	uint64_t rto_base_ns; /* last progress: new data acknowledged, or first packet in flight */
	uint64_t hole_ns;     /* when the oldest hole may be called lost; 0: none */
	struct fw_moment probe; /* when the oldest probe left that was not answered */
	uint64_t used_ns;
	uint64_t reset_sent_ns;
	uint64_t looked_ns;       /* when rd_flow_check_answers() was last called */
	uint32_t peer_next;       /* the peer's PSNs before this one were sent before its ACK */
	uint32_t neigh_seen;      /* nic->net.neigh_changes when peer_mac was looked up */
	struct fw_list wait_node; /* nic->rd.resolving in RD_RESOLVING; rd_share.half_open */
	bool half_open;           /* made by a HELLO, and nothing more was heard */
	bool foreign;             /* made by a HELLO, and no process here has used it */
	uint8_t station;          /* of those: the station's class, its place in nic->rd.shares */
	struct share_owner share; /* whose request made it */
	uint64_t cookie;          /* the peer's, to return in our HELLO; 0: none */
	uint64_t epoch_ns;        /* since when another epoch than this is not taken */
	uint64_t pend_ns;         /* when the HELLO came that pend answers */
	struct fw_timer timer;
};

/* Messages of one (QP, peer QP, class) in order. Exists while it has messages. */
struct rd_flow {
	struct fw_list qp_node;      /* qp->flows */
	struct fw_list session_node; /* session->all_flows */
	struct fw_list ready_node;   /* session->flows */
	struct fw_list msgs;         /* fw_wqe.flow_node: not completed, in order */
	struct fw_wqe *next;         /* the message to send from; NULL: all sent */
	struct fw_qp *qp;
	struct rd_session *session;
	uint32_t dst_qpn;
	uint32_t last_psn;    /* valid while outstanding */
	uint32_t outstanding; /* PSNs in flight */
	uint32_t hash_next;
	bool response;    /* class */
	bool refused;     /* a packet was refused: no sending until all are resolved */
	bool backing_off; /* the RNR timer runs */
	uint8_t rnr_tries;
	uint8_t error_tries; /* refusals that asked for no timer, one after another */
	uint8_t looks;       /* in a row at which look_ssn had look_bytes and awaited the rest */
	uint32_t rnr_ns;
	uint32_t look_ssn;
	uint32_t look_bytes;
	struct fw_moment since; /* when it began */
	uint64_t heard_ns;      /* when the peer last told that it has a packet of it; 0: never */
	struct fw_timer rnr_timer;
	/* Its packets do not get through (rd_tx.c, withdrawal). */
	bool withdrew;             /* the first refusal of this round was asked for by us */
	uint8_t withdrawals;       /* rounds in a row; while not 0 one packet at a time is sent */
	struct fw_wqe *resume_msg; /* where the first withdrawn packet stood */
	uint32_t resume_bytes;
	struct fw_moment stuck; /* when that packet was first sent; none: it gets through */
};

static inline bool rd_bit(const struct rd_bits *bits, uint32_t psn)
{
	return bits->word[psn / 64 % 4] >> (psn % 64) & 1;
}

static inline void rd_bit_set(struct rd_bits *bits, uint32_t psn)
{
	bits->word[psn / 64 % 4] |= UINT64_C(1) << (psn % 64);
}

static inline void rd_bit_clear(struct rd_bits *bits, uint32_t psn)
{
	bits->word[psn / 64 % 4] &= ~(UINT64_C(1) << (psn % 64));
}

/* A packet in flight is so no more: lost or acknowledged. */
static inline void rd_slot_landed(struct rd_session *session, const struct rd_slot *slot)
{
	session->sent--;
	if (slot->tries)
		session->resent--;
}

/* rd_session.c */
struct rd_session *rd_session_find(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard);
/* Finds or makes; NULL when the table is full and no session is idle. */
struct rd_session *rd_session_get(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard);
/*
 * Gives up an idle session near the clock's hand that requests of this user made (its place + 1; 0:
 * any), or HELLOs of this class of stations (FW_NONE: any). False: there is none.
 */
bool rd_session_evict(struct fw_nic *nic, uint32_t user, uint32_t station);
void rd_session_start(struct fw_nic *nic, struct rd_session *session);
/* Forgets a session that nothing waits for. */
void rd_session_release(struct fw_nic *nic, struct rd_session *session);
/* Takes over what the peer's HELLO tells: the session is OPEN. */
void rd_session_adopt(struct fw_nic *nic, struct rd_session *session, uint32_t peer_epoch,
		      uint32_t psn, uint16_t peer_mtu);
/* The peer does not know this epoch, and has carried out nothing of it for quiet_us. */
void rd_session_reset(struct fw_nic *nic, struct rd_session *session, uint32_t epoch,
		      uint32_t quiet_us);
/* Never 0. */
uint32_t rd_session_new_epoch(struct fw_nic *nic);
/* A HELLO alone has opened it: asks the peer whether it lives in that epoch. */
void rd_session_ask(struct fw_nic *nic, struct rd_session *session);
/*
 * The peer used the epoch that was offered: the old session is over. It had forgotten it by
 * since_ns, or before.
 */
void rd_session_commit(struct fw_nic *nic, struct rd_session *session, uint64_t since_ns);
/* The peer has used our epoch, or named it: data may be sent. */
void rd_session_confirm(struct fw_nic *nic, struct rd_session *session);
/* Everything in flight fails; the session is CLOSED and starts anew on the next message. */
void rd_session_fail(struct fw_nic *nic, struct rd_session *session, enum hw_status status,
		     enum hw_vendor_err vendor_err);
/*
 * The two ends disagree about what was sent, for somebody forges packets: what was begun fails, the
 * rest is sent in a new session.
 */
void rd_session_renew(struct fw_nic *nic, struct rd_session *session);
/* The peer is silent: takes its MAC from ARP anew and has it asked for. */
void rd_session_doubt_mac(struct fw_nic *nic, struct rd_session *session);
/* Looks the peer's MAC up anew if neighbours have changed; before anything is sent to it. */
void rd_session_fresh_mac(struct fw_nic *nic, struct rd_session *session);
void rd_session_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
/* A session that is off the list of those that wait looks for its next hop (neigh_wait.c). */
void rd_session_neigh_look(struct fw_nic *nic, struct fw_list *node);
void rd_session_hello_timer(struct fw_nic *nic, struct rd_session *session);

/* rd_hello.c */
void rd_hello_rx(struct fw_nic *nic, const struct rdmap_seg *pkt,
		 const struct wire_rd_hello *hello);
/* The cookie that a HELLO of that peer with this epoch has to return now. */
uint64_t rd_hello_cookie(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard, uint32_t epoch);
/* The session's own HELLO, which opens it. */
void rd_hello_tx(struct fw_nic *nic, struct rd_session *session);
/* Tells a peer that its session is not known here; nothing where the peer's MAC is not known. */
void rd_hello_tx_reset(struct fw_nic *nic, const struct rdmap_seg *pkt, uint32_t epoch);

/* rd_share.c */
void rd_share_init(struct fw_nic *nic);
/*
 * True if a HELLO from this MAC may create one more session; may give up a session of the same
 * share.
 */
bool rd_share_room(struct fw_nic *nic, const uint8_t *mac);
/* A HELLO from this MAC made the session. */
void rd_share_take(struct fw_nic *nic, struct rd_session *session, const uint8_t *mac);
/* More than a HELLO was heard of its peer, or it is no more what a HELLO made. */
void rd_share_heard(struct fw_nic *nic, struct rd_session *session);
/* A process here uses it, or it ends: it counts for nobody. */
void rd_share_leave(struct fw_nic *nic, struct rd_session *session);

/* rd_flow.c */
/* Queues a message (its dst_ip, dst_qpn, kind are set). False: no memory; try again later. */
bool rd_flow_send(struct fw_nic *nic, struct fw_wqe *msg);
/* The packet of this slot was accepted, or refused. */
void rd_flow_acked(struct fw_nic *nic, struct rd_slot *slot);
void rd_flow_refused(struct fw_nic *nic, struct rd_slot *slot, uint32_t rnr_ns);
/* A read or atomic response arrived in full. */
void rd_flow_response(struct fw_nic *nic, struct fw_wqe *msg);
/* The peer named the message that it could not carry out. */
void rd_flow_terminated(struct fw_nic *nic, struct fw_qp *qp, uint32_t src_ip, uint32_t src_qpn,
			uint32_t ssn, enum hw_status status);
/* True if a Terminate for this packet's message is in flight, not yet acknowledged. */
bool rd_flow_is_terminating(struct fw_nic *nic, const struct fw_qp *qp,
			    const struct rdmap_seg *pkt);
/* Fails all its messages, in order, and ends it. */
void rd_flow_fail(struct fw_nic *nic, struct rd_flow *flow, enum hw_status status,
		  enum hw_vendor_err vendor_err);
/* Takes one message out of its flow whatever its state; its PSNs become void. */
void rd_flow_remove(struct fw_nic *nic, struct fw_wqe *msg);
void rd_flow_ready(struct fw_nic *nic, struct rd_flow *flow);
/* True if it has something to send and may send. */
bool rd_flow_may_send(const struct fw_nic *nic, const struct rd_flow *flow);
/* True if its packets may be sent again: its QP is not being destroyed. */
bool rd_flow_may_resend(const struct fw_nic *nic, const struct rd_flow *flow);
/* The next message behind msg that is to be sent; NULL: none. */
struct fw_wqe *rd_flow_next(const struct rd_flow *flow, const struct fw_wqe *msg);
/* A message was taken out: the rest goes on, and completes as far as it may. */
void rd_flow_settle(struct fw_nic *nic, struct rd_flow *flow);
/*
 * Fails every message of the session and frees responses; but flows of which nothing was sent until
 * since_ns stay, to be sent anew (UINT64_MAX: none).
 */
void rd_flow_fail_session(struct fw_nic *nic, struct rd_session *session, enum hw_status status,
			  enum hw_vendor_err vendor_err, uint64_t since_ns);
/* Nothing of what was sent has reached the peer: all of it is to be sent anew. */
void rd_flow_rewind(struct fw_nic *nic, struct rd_session *session);
/*
 * The flows that only await responses: fails those whose QP's limit is reached, the peer having
 * said nothing since session->probe (silent). True: some are left.
 */
bool rd_flow_check_awaiting(struct fw_nic *nic, struct rd_session *session, bool silent);
/*
 * Fails the flows whose turn has been at a request that awaits its answer, or more of it, for
 * RD_ANSWER_LOOKS calls; the peer was heard between them.
 */
void rd_flow_check_answers(struct fw_nic *nic, struct rd_session *session);
/* How long a request of this QP may stay unacknowledged; UINT64_MAX: for ever. */
uint64_t rd_limit_ns(const struct fw_qp *qp);
/*
 * True if its packets have been unacknowledged for longer than its QP's timeout and retries allow.
 */
bool rd_flow_is_over_limit(const struct fw_nic *nic, const struct rd_flow *flow);
/* Fails the flows whose QP's timeout and retry count are used up. */
void rd_flow_check_limits(struct fw_nic *nic, struct rd_session *session);

/* Ends a flow: its PSNs in flight become void, its messages go to the list. */
void rd_flow_detach(struct fw_nic *nic, struct rd_flow *flow, struct fw_list *msgs);
void rd_flow_free(struct fw_nic *nic, struct rd_flow *flow);
/* Ends one message with a status; the rest of the flow goes on. */
void rd_msg_fail(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
		 enum hw_vendor_err vendor_err);
/* A flow is left that the QP's state ends. */
bool rd_flush_due(const struct fw_qp *qp);
/* Moves the messages of one of them to qp->flush_msgs. False: none, or no units. */
bool rd_flush_flow(struct fw_nic *nic, struct fw_qp *qp);

/* rd_llp.c */
/* The region under a read response is gone: the response becomes a Terminate. */
void rd_llp_response_failed(struct fw_nic *nic, struct fw_wqe *response);

/* rd_tx.c */
uint32_t rd_tx_run(struct fw_nic *nic, uint32_t budget);
void rd_session_ready(struct fw_nic *nic, struct rd_session *session);
void rd_tx_paced(struct fw_nic *nic, struct fw_timer *timer);
/* Headers of any RD packet but HELLO. */
void rd_tx_headers(struct fw_nic *nic, struct rd_session *session, struct fw_tx_frame *frame,
		   uint8_t type, uint32_t psn, uint16_t flow_distance, uint32_t payload_bytes);
void rd_tx_probe(struct fw_nic *nic, struct rd_session *session);

/* rd_ack.c */
void rd_ack_due(struct fw_nic *nic, struct rd_session *session);
void rd_ack_flush(struct fw_nic *nic);
/* An ACK left, alone or on data. */
void rd_ack_sent(struct rd_session *session);
/* When the next delayed ACK must leave; UINT64_MAX: none waits. */
uint64_t rd_ack_next_ns(const struct fw_nic *nic);
void rd_ack_cumulative(struct fw_nic *nic, struct rd_session *session, uint32_t ack,
		       uint32_t timestamp_echo, bool ece);
void rd_ack_rx(struct fw_nic *nic, struct rd_session *session, const struct wire_rd *rd,
	       const struct wire_rd_ack *ack, bool ece);

/* How long ago our clock said what the peer returns; 0: not known. */
uint32_t rd_ack_rtt_ns(const struct fw_nic *nic, uint32_t timestamp_echo);
/* Looks for holes that have become old enough to be called lost. */
void rd_ack_holes(struct fw_nic *nic, struct rd_session *session);

/* rd_cancel.c */
/* A flow of Sends ended, or one of them: tells the peer, who may hold receives for them. */
void rd_cancel_msgs(struct fw_nic *nic, const struct fw_list *msgs);
void rd_cancel_msg(struct fw_nic *nic, const struct fw_wqe *msg);
void rd_cancel_put(const struct fw_wqe *msg, struct wire_rd_cancel *cancel);
void rd_cancel_rx(struct fw_nic *nic, const struct rd_session *session,
		  const struct wire_rd_cancel *cancel);

/* rd_rx.c */
void rd_rx(struct fw_nic *nic, struct rdmap_seg *pkt, const struct wire_rd *rd);

/* rd_grant.c */
void rd_grant_init(struct fw_nic *nic);
void rd_grant_open(struct fw_nic *nic, struct rd_session *session);
void rd_grant_close(struct fw_nic *nic, struct rd_session *session);
/* A packet of the peer's: what it tells of credits, its own and ours. */
void rd_grant_rx(struct fw_nic *nic, struct rd_session *session, const struct rdmap_seg *pkt,
		 const struct wire_rd *rd);
/* A packet of data was accepted. */
void rd_grant_taken(struct rd_session *session);
/* A packet is about to leave after an idle time: credits of old times are not for now. */
void rd_grant_idle(struct rd_session *session);

/* True if a count of credits, modulo 256, is beyond another, by RD_CREDIT_MAX at most. */
static inline bool rd_credit_beyond(uint8_t a, uint8_t b)
{
	return (uint8_t)(a - b - 1) < RD_CREDIT_MAX;
}

static inline bool rd_has_credit(const struct rd_session *s)
{
	return rd_credit_beyond(s->credit_limit, s->credit_used);
}

/* It has packets to send and may not, for want of credits. */
static inline bool rd_lacks_credit(const struct rd_session *s)
{
	return !rd_has_credit(s) && (s->lost || !fw_list_empty(&s->flows));
}

/* rd_cong.c */
void rd_cong_init(struct fw_nic *nic, struct rd_session *session);
/*
 * A round trip took rtt_ns, and so many packets in flight were acknowledged with it; ece: the
 * peer saw congestion marks on our packets.
 */
void rd_cong_sample(struct fw_nic *nic, struct rd_session *session, uint32_t rtt_ns, uint32_t acked,
		    bool ece);
/* One packet was lost; the sample that came with that news was taken before. */
void rd_cong_loss(struct fw_nic *nic, struct rd_session *session);
void rd_cong_timeout(struct fw_nic *nic, struct rd_session *session);
/* The time-outs since the window was so large were no congestion. */
void rd_cong_restore(struct fw_nic *nic, struct rd_session *session, uint32_t cwnd_fp);
/* A packet is about to leave, and none is in flight. */
void rd_cong_start(struct fw_nic *nic, struct rd_session *session);
/* A packet left: when the next may, where the window is below one; 0: no pacing. */
uint64_t rd_cong_pace_ns(const struct fw_nic *nic, struct rd_session *session);

/* rd_timer.c */
void rd_timer_arm(struct fw_nic *nic, struct rd_session *session);
/* Something of a message came, and waits for more of it: looks whether the peer is still there. */
void rd_timer_watch(struct fw_nic *nic, struct rd_session *session);
void rd_timer_fire(struct fw_nic *nic, struct fw_timer *timer);
uint64_t rd_rnr_timer_ns(uint8_t code); /* IBA table 45 */

#endif /* WEFT_FW_RD_H */
