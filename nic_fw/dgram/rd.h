/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable datagrams: sessions between shards, the window of PSNs. rd_flow.h has the flows of QPs.
 *
 *	rd_session.c	the table, epochs, restart of a peer, eviction
 *	rd_rest.c	idle sessions
 *	rd_hello.c	HELLO and its answers, cookies
 *	rd_share.c	limits of the sessions that stations of a link may make
 *	rd_tx.c		outgoing packets; the send window; retransmission
 *	rd_run.c	packets of a message in one frame; rd_bundle.h: short messages
 *	rd_ack.c	acknowledgements out and in; RTT; loss detection
 *	rd_cong.c	the congestion window
 *	rd_grant.c	credits of each sender to this NIC
 *	rd_cancel.c	messages that end in the middle: their receives are given back
 *	rd_rx.c		incoming packets: window, duplicates, order of delivery within a flow
 *	rd_held.c	packets that came before their turn
 *	rd_timer.c	tail probe, RTO, retry exhaustion
 *
 * ARCHITECTURE.md "RD in one page" has the rules, docs/wire-format.md the packets. An idle
 * session is a struct rd_peer; struct rd_session, and windows while packets are in flight, are
 * taken from pools.
 */
#ifndef WEFT_FW_RD_H
#define WEFT_FW_RD_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic_fw/base/floor.h"
#include "nic_fw/dgram/dgram.h"
#include "nic_fw/rdmap/rdmap_seg.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/rtt.h"
#include "nic_fw/base/share.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/dgram/dgram_nic.h"
#include "shared_defs/hw_cqe.h"
#include "shared_defs/hw_limits.h"

struct fw_nic;
struct fw_qp;
struct fw_wqe;
struct rdmap_error;

enum {
	RD_REORDER_THRESHOLD = 3, /* PSNs beyond a hole after which it counts as lost */
	RD_DOUBT_BACKOFF = 2,     /* time-outs in a row after which the peer's MAC is in doubt */
	RD_HELLO_DOUBT = 4,       /* HELLOs without an answer, likewise */
	RD_MAX_BACKOFF = 10,
	RD_GIVE_UP_BACKOFF = 4, /* time-outs in a row after which a session may be given up */
	/* Packets that a session may send before the next session's turn. */
	RD_SESSION_QUANTUM = 16,
	/* Payload up to which a session that is alone may go on with them. */
	RD_SESSION_ALONE_BYTES = 65536,
	/* Answers and Terminates of one flow that wait; and notices of one session. */
	RD_ANSWERS = 2 * HW_MAX_RD_ATOMIC,
	RD_NOTICES = 1 << 14,                 /* of all sessions that peers may ask for */
	RD_CANCEL_LOOKS = 2 * WIRE_RD_WINDOW, /* messages that rd_cancel_flow() looks at */
	RD_FLOW_QUANTUM = 8,                  /* packets that a flow may send within it */
	RD_FLOW_LOOKS = 16,                   /* flows that send nothing, likewise */
	RD_ACK_EVERY = 8,                     /* data packets that one delayed ACK covers at most */
	RD_HALF_OPEN = 512, /* sessions made by HELLO alone, without further packets of the peer */
	RD_SHARE_MAX = HW_MAX_PEERS / 4, /* of one class of stations, once half of all are taken */
	RD_FOREIGN_MAX = HW_MAX_PEERS / 8 * 7, /* made by HELLOs; the rest is for local processes */
	/* Retries before a time limit counts: round trips may look longer than the limit. */
	RD_LIMIT_TRIES = 3,
	RD_WITHDRAW_TRIES = 3, /* transmissions of a PSN after which it may be withdrawn */
	RD_WITHDRAW_SPAN = 32, /* PSNs in flight from which on a lost one blocks the window */
	/* Time-outs in a row after which the number in flight does not matter. */
	RD_WITHDRAW_TIMEOUTS = 4,
	RD_CREDIT_FIRST = 2, /* packets that a new session may send before it gets a grant */
	RD_CREDIT_MAX = 128, /* granted and not used: limit of an 8-bit count */
	RD_CREDIT_IDLE = 8,  /* credits that an idle session keeps at most */
	/* Doublings of the wait of a flow whose packets do not get through. */
	RD_WITHDRAW_BACKOFF = 6,
};
#define RD_ACK_PROMPT_NS UINT64_C(10000000) /* how long ACKs do not wait on a core that sleeps */
#define RD_ACK_DELAY_NS  UINT64_C(20000)    /* that an ACK waits for data in the other direction */
#define RD_GAP_NS        UINT64_C(10000)    /* longest absence of a core that polls */
/* Longest absence of its core that a receiver keeps out of the timestamps that it echoes. */
#define RD_ECHO_GAP_NS      UINT64_C(60000000)
#define RD_MIN_RTO_NS       UINT64_C(200000)
#define RD_INITIAL_RTO_NS   UINT64_C(2000000)
#define RD_MAX_RTO_NS       UINT64_C(1000000000)
#define RD_HELLO_RETRY_NS   UINT64_C(2000000)
#define RD_AWAIT_NS         UINT64_C(20000000) /* between probes while only responses are awaited */
#define RD_SILENT_NS        UINT64_C(60000000) /* three such: the peer is silent */
#define RD_ASTRAY_NS        UINT64_C(1000000000)  /* limit of reordering on the path */
#define RD_STALE_NS         UINT64_C(30000000000) /* age of an unused session that is opened anew */
#define RD_EVICT_IDLE_NS    UINT64_C(60000000000) /* and may be evicted after this */
#define RD_ERROR_BACKOFF_NS UINT64_C(1000000)     /* doubled each time */
#define RD_ERROR_TRIES      12 /* 2 s: the Terminate that explains them will not come any more */
#define RD_QUIET_UNIT_NS    UINT64_C(1000)        /* unit of the quiet time in a reset */
#define RD_COOKIE_NS        UINT64_C(16000000000) /* a cookie is valid for one to two of these */
#define RD_HELLO_TRIES      22                    /* 14 s, with back-off up to RD_MAX_RTO_NS */

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
	 * The peer has it, and may still refuse it in its turn; or it must outlast its request
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
	bool withdrawn; /* a void packet was sent for it: its payload is sent under another PSN */
	/*
	 * Packets of a run that it stands for, from this PSN on, none of which has met with
	 * anything yet: the slots of the others have no values (rd_slot.c). Mostly 1.
	 */
	uint8_t row;
	uint16_t row_end_bytes; /* of the last one of several; the others have bytes */
};
static_assert(sizeof(struct rd_slot) <= 64, "one cache line for each packet in flight");

struct rd_tx_window {
	struct rd_slot slot[WIRE_RD_WINDOW]; /* by psn % WIRE_RD_WINDOW; rd_slot_at() */
	bool rows;                           /* a slot may stand for several packets */
};

/* A packet that was accepted before its predecessor in the flow was delivered. */
struct rd_held {
	struct rdmap_seg pkt;           /* its frame and hdr are invalid */
	uint8_t held[RDMAP_HELD_BYTES]; /* payload of read requests, atomics, terminates */
	uint8_t station;                /* charged for it */
};

struct rd_rx_window {
	struct rd_held *held[WIRE_RD_WINDOW]; /* by psn % WIRE_RD_WINDOW */
	/* psn % (2 * WINDOW) -> distance to the next PSN of the flow, 0: none known */
	uint8_t next[2 * WIRE_RD_WINDOW];
};

/* Bits of one window's worth of PSNs, by psn % (2 * WIRE_RD_WINDOW). */
struct rd_bits {
	uint64_t word[2 * WIRE_RD_WINDOW / 64];
};

/*
 * A session in use. An idle one keeps no more than its part from tx_psn to the last member before
 * peer_ip (rd_rest.c); all others have their first values then.
 */
struct rd_session {
	/* Hot. */
	struct rd_tx_window *tx;   /* NULL: nothing in flight */
	struct rd_rx_window *rx;   /* NULL: no holes */
	struct fw_list ready_node; /* in nic->rd.ready while it may send */
	struct fw_list ack_node;
	uint32_t lost;    /* slots in RD_SLOT_LOST */
	uint32_t sent;    /* slots in RD_SLOT_SENT: in flight for congestion control */
	uint32_t resent;  /* of those, repeated ones */
	bool ack_due;     /* in nic->rd.acks */
	bool any_refused; /* some bit of refused is set */
	bool more;        /* other packets will follow the one being made */
	uint8_t rx_here;  /* data packets being handled, which will count in rx_taken */
	uint32_t tx_una;  /* oldest not acknowledged */
	uint32_t rx_high; /* one past the highest accepted */
	/* Kept while idle. Hot: sending and receiving. */
	uint32_t tx_psn;     /* next to use */
	uint32_t peer_epoch; /* in packets to the peer */
	uint32_t cwnd;       /* packets that may be in flight */
	uint16_t segment_bytes;
	uint8_t state; /* rd_state; rd_set_state() only */
	uint8_t backoff;
	uint32_t rx_psn;       /* next expected: all before were accepted */
	uint32_t epoch;        /* required in packets of the peer */
	uint32_t ts_echo;      /* last timestamp received */
	uint8_t credit_used;   /* as in our headers: packets of data sent, modulo 256 */
	uint8_t credit_limit;  /* limit that the peer granted */
	uint8_t credit_probes; /* probes sent for lack of credits since the last grant */
	bool confirmed; /* the peer has used our epoch, so its HELLO was no echo of the past */
	uint32_t heard_timestamp; /* of the latest header whose credits were accepted */
	uint8_t peer_mac[WIRE_MAC_BYTES];
	bool answers; /* data were sent soon after data came: an ACK may wait to be piggybacked */
	uint8_t ack_packets; /* data packets since the last ACK */
	uint32_t rx_used;    /* packets that the peer reports as sent, extended to 32 bits */
	uint32_t rx_limit;   /* packets that it may send */
	uint32_t rx_taken;   /* accepted packets */
	struct fw_rtt rtt;
	uint64_t ts_echo_ns;      /* time of its arrival */
	uint64_t heard_ns;        /* time of its arrival; long ago: none */
	uint32_t rx_announced;    /* rx_limit in our last header */
	uint32_t rx_pkt_bytes;    /* length of its packets on the line */
	struct fw_moment rx_data; /* time of the last data packet */
	uint64_t used_ns;
	struct fw_floor rx_path; /* of the round trips of its packets */
	uint32_t peer_next;      /* PSNs of the peer before this one were sent before its ACK */
	uint32_t neigh_seen;     /* nic->net.neigh_changes at the last look-up of peer_mac */
	/* Last progress: time of new acknowledged data, or of the first packet in flight. */
	uint64_t rto_base_ns;
	uint64_t una_ns;       /* time when tx_una last moved, or when the session opened */
	uint32_t cwnd_fp;      /* the window in 1/256 packets, rd_cong.c */
	uint32_t rtt_ns;       /* the last sample */
	uint8_t rx_alone;      /* credits that it may have while no other session is backlogged */
	uint8_t rx_doubt;      /* packets of data until its unused credits count again */
	uint8_t reminders;     /* headers that repeated its grant since its last packet */
	bool grant_due;        /* the peer must receive its limit now */
	bool slow_start;       /* no sign of congestion yet: the window doubles */
	bool tlp_sent;         /* the timer's next expiry is an RTO */
	bool ece;              /* the peer must be notified of congestion */
	bool astray;           /* it acknowledged PSNs that were never sent: packets are forged */
	uint64_t cut_ns;       /* time of its last decrease */
	uint64_t pace_ns;      /* below one packet: time of the next packet; 0: never paced */
	uint64_t looked_ns;    /* time of the last rd_flow_check_answers() */
	uint64_t rx_void_ns;   /* time of the last check for packets that will not come */
	uint32_t rx_void_used; /* rx_used at rx_void_ns */
	uint32_t undo_cwnd_fp; /* its value before the first of several time-outs; 0: none */
	uint32_t path_ns;      /* time of the path, if it is longer than queues should be */
	uint32_t path_from_fp; /* the window when counting of samples for path_ns began */
	uint16_t path_above;   /* samples above the target */
	uint16_t path_below;
	uint32_t first_psn; /* ours, as in this session's HELLO */
	uint64_t reset_sent_ns;
	uint64_t epoch_ns;        /* start of this epoch */
	struct share_owner share; /* owner of the request that made it */
	uint8_t hello_tries;
	bool bundle;     /* the peer takes bundles */
	bool foreign;    /* made by a HELLO, and no local process has used it */
	uint8_t station; /* its class: station.h */
	uint8_t rx_void; /* packets reported until rx_void_ns that have not come: void soon */
	/* Not kept from here on. */
	uint32_t peer_ip; /* network byte order */
	uint32_t index;
	uint8_t peer_shard;
	uint8_t rx_late; /* of the data packets being handled: how many count in rx_void */
	bool half_open;  /* made by a HELLO, without further packets */
	bool pend;       /* a new epoch was offered and not yet used by the peer */
	bool backlogged; /* its last packet reported that it has more */
	uint16_t held_count;
	uint16_t cancels;         /* held cancellations that wait for earlier PSNs */
	struct fw_list flows;     /* flows with something to send: rd_flow.ready_node */
	struct fw_list all_flows; /* rd_flow.session_node */
	struct rd_bits received;  /* within the window */
	struct rd_bits delivered; /* within the window and one behind */
	struct rd_bits refused;
	struct recv_peer recv;     /* receives that its messages have taken; its life */
	struct fw_list grant_node; /* rd_grants.turn */
	struct fw_list held_node;  /* rd_grants.held */
	uint64_t held_ns;          /* time of its last grant, or packet */
	uint64_t ack_since_ns;     /* time when ack_due was set */
	uint64_t hole_ns;          /* time when the oldest hole counts as lost; 0: none */
	struct fw_list tag_sends; /* tag_send.peer_node: tagged sends that the peer has not ended */
	struct fw_list tag_written; /* tag_posted.written: receives that the peer began to fill */
	struct fw_timer timer;
	struct fw_timer pace_timer;
	struct fw_moment probe; /* time of the oldest unanswered probe */
	struct fw_list ended;   /* rd_flow.session_node: flows of earlier lives, not looked at */
	struct fw_list failing; /* rd_flow.session_node: flows whose messages complete */
	struct fw_list ending_node; /* in nic->rd.ending while ended or failing may have flows */
	uint64_t end_since_ns;      /* of ended: rd_ending_session() */
	uint32_t rx_out_bytes;      /* its part of rd_grants.out_bytes */
	uint8_t end_status;         /* hw_status */
	uint8_t end_vendor_err;     /* hw_vendor_err */
	/* Checks of its flows in slices, rd_fail.c: those under way, and those to follow. */
	uint8_t look_for, look_next;
	uint32_t look_serial; /* of the check; rd_flow.look_serial: looked at */
	bool look_left;       /* a flow looked at awaits responses */
	bool awaits;          /* the last whole check found such a flow */
	uint32_t pend_epoch;  /* ours, of the next session */
	uint32_t pend_peer_epoch;
	uint32_t pend_psn;
	uint32_t pend_tx_psn;  /* ours */
	uint64_t pend_ns;      /* arrival of the HELLO that pend answers */
	uint64_t hello_ns;     /* time of our HELLO, when it was not a repeated one */
	uint64_t cookie;       /* the peer's, to return in our HELLO; 0: none */
	uint32_t rnr_timer_ns; /* largest requested of the peer since the last ACK */
	uint16_t pend_mtu;
	bool pend_bundle;
	struct fw_list wait_node;  /* nic->rd.resolving in RD_RESOLVING; rd_share.half_open */
	struct fw_list awake_node; /* in nic->rd.awake_list */
};

enum {
	RD_KEPT_AT = offsetof(struct rd_session, tx_psn),
	RD_KEPT_BYTES = offsetof(struct rd_session, peer_ip) - RD_KEPT_AT,
};

/* A shard of a peer, known by its number: rd_session.index. */
struct rd_peer {
	uint32_t ip; /* network byte order */
	uint32_t hash_next;
	uint32_t awake; /* number of its session in nic->rd.awake; FW_NONE: idle */
	uint32_t life;  /* recv_peer.life, while idle */
	uint8_t shard;
	bool used;
	uint8_t kept[RD_KEPT_BYTES]; /* of its session, while idle */
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

/* Sets, or clears, the bits of n <= 64 PSNs. */
static inline void rd_bits_put(struct rd_bits *bits, uint32_t psn, uint32_t n, bool value)
{
	uint64_t mask = UINT64_MAX >> (64 - n);
	uint64_t *low = &bits->word[psn / 64 % 4], *high = &bits->word[(psn / 64 + 1) % 4];
	uint64_t over = psn % 64 ? mask >> (64 - psn % 64) : 0;

	*low = (*low & ~(mask << psn % 64)) | (value ? mask << psn % 64 : 0);
	*high = (*high & ~over) | (value ? over : 0);
}

/* rd_rest.c */
/* Makes the session of a peer that has none yet, in its first state. */
struct rd_session *rd_rest_new(struct fw_nic *nic, uint32_t index, uint32_t ip, uint8_t shard);
/* Returns the session of a peer, which is in use from here on. */
struct rd_session *rd_rest_wake(struct fw_nic *nic, struct rd_peer *peer);
/* Returns the session without waking it: that of an idle peer is made in *copy. */
const struct rd_session *rd_rest_view(const struct fw_nic *nic, const struct rd_peer *peer,
				      struct rd_session *copy);
/* The session ends: its peer is not known any more. */
void rd_rest_end(struct fw_nic *nic, struct rd_session *session);
/* Looks at some sessions, and lets those rest that are idle. */
void rd_rest_look(struct fw_nic *nic);

/* rd_session.c */
/* Looks into the table; rd_session_find() in rd_find.h tries the session found last first. */
struct rd_session *rd_session_look_up(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard);
/* Finds or makes a session; NULL when the table is full and no session is idle. */
struct rd_session *rd_session_get(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard);
/*
 * Evicts an idle session near the clock's hand that requests of this user made (its place + 1; 0:
 * any), or HELLOs of this class of stations (FW_NONE: any). False: there is none.
 */
bool rd_session_evict(struct fw_nic *nic, uint32_t user, uint32_t station);
void rd_session_start(struct fw_nic *nic, struct rd_session *session);
/* Frees a session that nothing waits for. */
void rd_session_release(struct fw_nic *nic, struct rd_session *session);
/* Takes the values of the peer's HELLO: the session is OPEN. bundle: the peer takes bundles. */
void rd_session_adopt(struct fw_nic *nic, struct rd_session *session, uint32_t peer_epoch,
		      uint32_t psn, uint16_t peer_mtu, bool bundle);
/* The peer does not know this epoch, and has carried out nothing of it for quiet_us. */
void rd_session_reset(struct fw_nic *nic, struct rd_session *session, uint32_t epoch,
		      uint32_t quiet_us);
/* Draws a new epoch, never 0. */
uint32_t rd_session_new_epoch(struct fw_nic *nic);
/* A HELLO alone has opened the session: queries the peer for that epoch. */
void rd_session_ask(struct fw_nic *nic, struct rd_session *session);
/*
 * The peer used the epoch that was offered: the old session has ended. The peer had lost it at
 * since_ns at the latest.
 */
void rd_session_commit(struct fw_nic *nic, struct rd_session *session, uint64_t since_ns);
/* The peer has used our epoch, or named it: allows data. */
void rd_session_confirm(struct fw_nic *nic, struct rd_session *session);
/*
 * Fails everything in flight, in slices; the session is CLOSED and opens anew with the next
 * message.
 */
void rd_session_fail(struct fw_nic *nic, struct rd_session *session, enum hw_status status,
		     enum hw_vendor_err vendor_err);
/*
 * Forged packets made the two ends disagree about sent PSNs: fails messages in progress, and sends
 * the rest in a new session.
 */
void rd_session_renew(struct fw_nic *nic, struct rd_session *session);
/* The peer is silent: requests its MAC by ARP. */
void rd_session_doubt_mac(struct fw_nic *nic, struct rd_session *session);
/* Looks up the peer's MAC if neighbours have changed; before any packet to it. */
void rd_session_fresh_mac(struct fw_nic *nic, struct rd_session *session);
void rd_session_neigh_done(struct fw_nic *nic, uint32_t ip, bool ok);
/* A waiting session looks up its next hop (neigh_wait.c). */
void rd_session_neigh_look(struct fw_nic *nic, struct fw_list *node);

/* rd_hello.c */
void rd_hello_rx(struct fw_nic *nic, const struct rdmap_seg *pkt,
		 const struct wire_rd_hello *hello);
/* Returns the cookie that a HELLO of that peer with this epoch must contain now. */
uint64_t rd_hello_cookie(struct fw_nic *nic, uint32_t peer_ip, uint8_t peer_shard, uint32_t epoch);
/* Sends the session's own HELLO, which opens it. */
void rd_hello_tx(struct fw_nic *nic, struct rd_session *session);
/* Sends it once more: the answer may be one to the first. */
void rd_hello_repeat(struct fw_nic *nic, struct rd_session *session);
/* Notifies a peer that its session is unknown; does nothing if the peer's MAC is unknown. */
void rd_hello_tx_reset(struct fw_nic *nic, const struct rdmap_seg *pkt, uint32_t epoch);

/* rd_share.c */
void rd_share_init(struct fw_nic *nic);
/*
 * True if a HELLO from this MAC may create one more session; may give up a session of the same
 * share.
 */
bool rd_share_room(struct fw_nic *nic, const uint8_t *mac);
/* Charges the session to the station whose HELLO made it. */
void rd_share_take(struct fw_nic *nic, struct rd_session *session, const uint8_t *mac);
/*
 * Ends the half-open state: more than a HELLO was received of its peer, or a local process uses it.
 */
void rd_share_heard(struct fw_nic *nic, struct rd_session *session);
/* A local process uses it, or it ends: it is charged to no station any more. */
void rd_share_leave(struct fw_nic *nic, struct rd_session *session);

/* rd_term.c */
/* Queues a Terminate to the source of pkt. */
void rd_term_refuse(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		    const struct rdmap_error *error);
/* The answering QP goes away: a Terminate notifies the peer, which may have the request's ACK. */
void rd_term_response_lost(struct fw_nic *nic, const struct fw_wqe *response);
/* The region under a read response is gone: the response becomes a Terminate. */
void rd_term_response_failed(struct fw_nic *nic, struct fw_wqe *response);

/* rd_tx.c */
uint32_t rd_tx_run(struct fw_nic *nic, uint32_t budget);
void rd_session_ready(struct fw_nic *nic, struct rd_session *session);
void rd_tx_paced(struct fw_nic *nic, struct fw_timer *timer);
/* Writes the headers of any RD packet but HELLO. */
void rd_tx_headers(struct fw_nic *nic, struct rd_session *session, struct fw_tx_frame *frame,
		   uint8_t type, uint32_t psn, uint16_t flow_distance, uint32_t payload_bytes);
void rd_tx_probe(struct fw_nic *nic, struct rd_session *session);

/* rd_run.c */
/*
 * Gathers the payload of a run behind room for two pieces of headers, which the caller adds;
 * *num_seg: pieces with these. Returns why it cannot be read, or that it must be read at once: the
 * packets go one by one then.
 */
enum hw_vendor_err rd_run_gather(struct fw_nic *nic, const struct fw_wqe *msg, uint32_t offset,
				 uint32_t bytes, struct fw_tx_frame *frame, uint32_t *num_seg);
/* The headers are there: makes the frame that of n packets, with all its pieces. */
void rd_run_seal(struct fw_tx_frame *frame, uint32_t num_seg, uint32_t n, uint32_t segment_bytes);
extern const struct eth_run_kind rd_run_kind;
/* Makes a packet of a run, of which all is parsed, that from byte at on with bytes of payload. */
void rd_run_part(const struct rdmap_seg *run, uint32_t at, uint32_t bytes, struct rdmap_seg *part);

/* rd_ack.c */
void rd_ack_due(struct fw_nic *nic, struct rd_session *session);
void rd_ack_flush(struct fw_nic *nic);
/* An ACK left, alone or piggybacked on data. */
void rd_ack_sent(struct rd_session *session);
/* Returns the time when the next delayed ACK must leave; UINT64_MAX: none waits. */
uint64_t rd_ack_next_ns(const struct fw_nic *nic);

/*
 * Lets ACKs that wait for data to ride on leave with the next turn: none may follow soon. Returns
 * true if there are such.
 */
bool rd_ack_hurry(struct fw_nic *nic);
void rd_ack_cumulative(struct fw_nic *nic, struct rd_session *session, uint32_t ack,
		       uint32_t timestamp_echo, bool ece);
/* True if the peer may acknowledge all PSNs before this one. */
bool rd_ack_fits(const struct rd_session *session, uint32_t ack);
void rd_ack_rx(struct fw_nic *nic, struct rd_session *session, const struct wire_rd *rd,
	       const struct wire_rd_ack *ack, bool ece);

/* Returns the age of a timestamp that the peer echoes; 0: not known. */
uint32_t rd_ack_rtt_ns(const struct fw_nic *nic, uint32_t timestamp_echo);
/* Checks for holes that are old enough to count as lost. */
void rd_ack_holes(struct fw_nic *nic, struct rd_session *session);

/* rd_cancel.c */
/* A flow of Sends ends, or one Send: notifies the peer, which may hold receives for them. */
void rd_cancel_flow(struct fw_nic *nic, const struct rd_flow *flow);
void rd_cancel_msg(struct fw_nic *nic, const struct fw_wqe *msg);
void rd_cancel_put(const struct fw_wqe *msg, struct wire_rd_cancel *cancel);
void rd_cancel_rx(struct fw_nic *nic, const struct rd_session *session,
		  const struct wire_rd_cancel *cancel);

/* rd_rx.c */
void rd_rx(struct fw_nic *nic, struct rdmap_seg *pkt, const struct wire_rd *rd);
/*
 * Delivers a packet in its turn; marks it delivered or refused. False: it counts as lost. An atomic
 * whose page is not there is not refused, because that would use up its sender's RNR tries.
 */
bool rd_rx_deliver(struct fw_nic *nic, struct rd_session *session, uint32_t psn, struct fw_qp *qp,
		   struct rdmap_seg *pkt, const uint8_t *held);
void rd_rx_mark_refused(struct fw_nic *nic, struct rd_session *session, uint32_t psn);

/* rd_held.c */
/* Holds an early packet. False: it cannot be held, and counts as lost. */
bool rd_held_add(struct fw_nic *nic, struct rd_session *session, uint32_t psn, uint16_t distance,
		 const struct rdmap_seg *pkt);
/* Follows the chain of packets that waited for psn; iterative, at most a window long. */
void rd_held_follow(struct fw_nic *nic, struct rd_session *session, uint32_t psn);
/*
 * Takes a cancellation, which belongs to no flow. It is carried out when all earlier PSNs have
 * come, because packets of the messages that it ends may be among them. False: it cannot be held.
 */
bool rd_held_cancel(struct fw_nic *nic, struct rd_session *session, const struct rdmap_seg *pkt,
		    uint32_t psn);
/* The window has moved over PSNs from psn on: carries out the cancellations among them. */
void rd_held_run_cancels(struct fw_nic *nic, struct rd_session *session, uint32_t psn);
void rd_held_put(struct fw_nic *nic, struct rd_held *held);

/* rd_grant.c */
void rd_grant_init(struct fw_nic *nic);
void rd_grant_open(struct fw_nic *nic, struct rd_session *session);
/* Gives a session that a HELLO has just made more credits if few begin. */
void rd_grant_first(struct fw_nic *nic, struct rd_session *session);
void rd_grant_close(struct fw_nic *nic, struct rd_session *session);
/* Handles the credits in the header of a frame, which has so many packets of data. */
void rd_grant_rx(struct fw_nic *nic, struct rd_session *session, const struct rdmap_seg *pkt,
		 const struct wire_rd *rd, uint32_t packets);
/* Counts an accepted packet of data. */
void rd_grant_taken(struct rd_session *session, uint32_t packets);
/* A packet is about to leave after an idle time: discards old credits. */
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

/*
 * True if packets are held whose predecessors have not come, or receives of incomplete messages, or
 * if the peer has not matched tagged sends, or has filled a tagged receive in part.
 * rd_timer_watch() is due then: without it nothing would notice that the peer is gone.
 */
static inline bool rd_is_amid(const struct rd_session *s)
{
	return s->rx || recv_is_open(&s->recv) || !fw_list_empty(&s->tag_sends) ||
	       !fw_list_empty(&s->tag_written);
}

/* True if it has packets to send and no credits. */
static inline bool rd_lacks_credit(const struct rd_session *s)
{
	return !rd_has_credit(s) && (s->lost || !fw_list_empty(&s->flows));
}

/* rd_cong.c */
void rd_cong_init(struct fw_nic *nic, struct rd_session *session);
/*
 * A round trip took rtt_ns, and acked packets were acknowledged with it; ece: the peer received our
 * packets with congestion marks.
 */
void rd_cong_sample(struct fw_nic *nic, struct rd_session *session, uint32_t rtt_ns, uint32_t acked,
		    bool ece);
/* One packet was lost; the sample of the same ACK was taken before. */
void rd_cong_loss(struct fw_nic *nic, struct rd_session *session);
void rd_cong_timeout(struct fw_nic *nic, struct rd_session *session);
/* The time-outs since the window had this size were no congestion. */
void rd_cong_restore(struct fw_nic *nic, struct rd_session *session, uint32_t cwnd_fp);
/* A packet is about to leave, and none is in flight. */
void rd_cong_start(struct fw_nic *nic, struct rd_session *session);
/*
 * A packet left. Returns the time of the next one if the window is below one packet; 0: no pacing.
 */
uint64_t rd_cong_pace_ns(const struct fw_nic *nic, struct rd_session *session);

/* rd_timer.c */
void rd_timer_arm(struct fw_nic *nic, struct rd_session *session);
/* A part of a message came, and the rest is awaited: starts to check that the peer is alive. */
void rd_timer_watch(struct fw_nic *nic, struct rd_session *session);
void rd_timer_fire(struct fw_nic *nic, struct fw_timer *timer);

/* Timers: up/timer_fires.c. */
void rd_session_fire(struct fw_nic *nic, struct fw_timer *timer);
void rd_grant_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_RD_H */
