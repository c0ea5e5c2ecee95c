/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The private header of ESP: the stream and its windows.
 *
 * edp.c, esp_conn.c, esp_timer.c, esp_tx.c, esp_rx.c and their tests include it; the layers above
 * see esp.h alone. docs/wire-esp.md has the rules that these fields carry out.
 */
#ifndef WEFT_FW_ESP_STREAM_H
#define WEFT_FW_ESP_STREAM_H

#include "nic_fw/stream/esp.h"
#include "nic_fw/fw_port.h"
#include "nic_fw/base/rtt.h"
#include "nic_fw/base/share.h"
#include "nic_fw/base/timer.h"

enum {
	ESP_MAX_STREAMS = WIRE_EDP_PORT_SPAN - 1, /* of a shard; each has a port */
	ESP_MAX_HELD = 1024,                      /* frames held for order or room, of a shard */
	ESP_BURST = 32,         /* default burst_length: packets in flight, at most */
	ESP_INITIAL_BURST = 16, /* default initial_burst_length: before TXS is acknowledged */
	ESP_MAX_BURST = WIRE_ESP_WINDOW - 1, /* a FIN after them must fit the window */
	ESP_REORDER = 3,                     /* packets behind a hole before a re-request */
	ESP_TRIES = 12,                      /* unanswered packets until a peer is lost */
	ESP_OPEN_TRIES = 8,          /* least number of SYNs: a core that was away has sent fewer */
	ESP_DOUBT_TRIES = 2,         /* SYNs without an answer after which the MAC is in doubt */
	ESP_TX_QUANTUM = 8,          /* of one stream in a turn, in units of eth_tx_cost() */
	ESP_SMALL_BYTES = 256,       /* payload whose ACK may wait for a response */
	ESP_HDR_BYTES = 14 + 8 + 32, /* Ethernet, EDP, ESP */
};
#define ESP_MIN_RTO_NS   UINT64_C(200000)
#define ESP_FIRST_RTO_NS UINT64_C(1000000)
#define ESP_MAX_RTO_NS   UINT64_C(100000000)
#define ESP_OPEN_NS      UINT64_C(10000000000) /* how long a SYN is repeated, by default */
#define ESP_SILENCE_NS   UINT64_C(1000000000)  /* a peer is lost after that at least, by default */
#define ESP_PATIENCE_NS  UINT64_C(500000000)   /* the least that both may be set to */
#define ESP_DRAIN_NS     UINT64_C(10000000000) /* how long our FIN answers that of the peer */
#define ESP_LINGER_NS    UINT64_C(300000000)   /* how long our last ACK is repeated */
#define ESP_ACK_NS       UINT64_C(20000)       /* longest delay of an ACK */
#define ESP_WATCH_NS     UINT64_C(20000000)    /* silence of a watched peer before a probe */

enum esp_state {
	ESP_FREE,
	ESP_SYN_SENT, /* awaiting SYN, ACK of the peer, or its own SYN */
	ESP_SYN_RCVD, /* SYN, ACK was sent: awaiting anything with our incarnation */
	ESP_OPEN,
	ESP_CLOSING,  /* closed above: FIN follows the queue; awaiting its ACK */
	ESP_DRAINING, /* ended by the peer's FIN, the layer above is gone: our FIN awaits its ACK */
	ESP_LINGERING, /* closed; our last ACK may be lost and is repeated on request */
	ESP_STATES
};

/* A packet that has a number. */
struct esp_slot {
	struct esp_xfer *xfer; /* NULL: FIN */
	uint32_t index;        /* packet of the transfer */
	uint8_t flags;         /* WIRE_ESP_TXS, TXF, TXR, FIN */
	uint8_t tries;         /* times sent */
	uint8_t asks;          /* queries whether the peer has it */
	bool acked;
	bool large;       /* more than ESP_SMALL_BYTES */
	uint64_t sent_ns; /* last time */
};

/* A frame held for order or room. */
struct esp_held {
	struct fw_rx_frame frame;
	uint32_t offset, bytes; /* payload in it */
	uint8_t flags;          /* of its ESP header */
};

struct esp_stream {
	enum esp_state state;
	uint16_t local_port, remote_port;
	uint8_t peer_mac[6];
	uint8_t peer_shard;
	uint8_t station; /* class of the peer: station.h */
	uint8_t tries;   /* unanswered sends of the packet that the timer repeats */
	uint8_t probes;  /* since a packet was received */
	bool watching;   /* an action of the peer is awaited: its silence counts */
	uint32_t src_inc, dst_inc;
	uint32_t frame_bytes; /* largest Ethernet payload, the smaller one of both ends */
	struct esp_key key;   /* its service is the layer above: esp_nic.ops */
	void *ctx;            /* NULL: half open, or draining: the layer above does not know it */
	uint64_t opened_ns;   /* when it was made, or began to drain or to linger */
	uint64_t heard_ns;    /* last packet of the peer, or begin of the wait for it */
	uint64_t probe_ns;    /* the last probe */
	uint64_t silence_ns;  /* least silence after which a peer is lost */
	uint64_t open_ns;     /* how long a SYN is repeated */
	uint64_t end_ns;      /* it has ended by then, whatever the peer reports; 0: no such time */
	uint32_t watchers;
	uint32_t hash_next; /* index + 1 */

	/* out */
	uint32_t snd_una;    /* first that is not acknowledged */
	uint32_t snd_next;   /* next number */
	uint32_t snd_window; /* packets from snd_una on that the peer has room for */
	uint32_t txs_seq;    /* the last TXS */
	bool tx_idle;        /* the last packet was TXF: the next one is TXS */
	bool txs_unacked;
	uint64_t asked_ns; /* time of the last query for the timer's packet */
	bool fin_queued;   /* FIN follows the queue */
	bool fin_sent;
	bool peer_fin;                         /* its FIN was taken while ours was on its way */
	struct fw_list queue;                  /* esp_xfer.node: not wholly acknowledged */
	struct esp_xfer *next_xfer;            /* the first that has packets without number; NULL */
	struct esp_slot slot[WIRE_ESP_WINDOW]; /* by number modulo the window */
	struct fw_rtt rtt;

	/* in */
	uint32_t rcv_next;
	uint64_t received; /* bit i: rcv_next + i is held; bit 0 too while blocked */
	struct esp_held *held[WIRE_ESP_WINDOW];
	bool rx_open; /* TXS was taken and TXF was not: we drive */
	bool blocked; /* receive() returned ESP_FULL, or the turn has done enough */
	bool put_off; /* blocked for the latter reason: it goes on in a later turn */
	bool dear;    /* the last packet took dear work */
	bool resumed;
	bool ack_now, ack_due;
	bool rrq_due;
	bool ack_behind;     /* the peer sent a request: the ACK goes after our data */
	bool rx_large;       /* the transfer that comes in has more than small packets */
	uint32_t rx_unacked; /* packets taken since the last ACK */
	uint32_t rrq_hole;   /* rcv_next at the last request for holes */
	uint64_t rrq_ns;
	/*
	 * Last request for the packets before the peer's next: rcv_next, that number, and the time.
	 */
	uint32_t tail_hole, tail_next;
	uint64_t tail_ns;
	uint8_t rrq_tries;
	uint64_t ack_ns; /* when a waiting ACK must go */

	struct share_owner share; /* owner; none until accept() */

	struct fw_timer timer;     /* repetition: SYN, TXS, TXF, FIN; re-requests; probes */
	struct fw_list ready_node; /* in nic->esp.ready: has packets to send */
	struct fw_list ack_node;   /* in nic->esp.acks: owes an ACK */
};

/* esp_conn.c */
void esp_set_state(struct fw_nic *nic, struct esp_stream *s, enum esp_state state);
struct esp_stream *esp_by_port(struct fw_nic *nic, uint16_t port);
/* Notifies the layer above of the end; the stream is free on return. */
void esp_end(struct fw_nic *nic, struct esp_stream *s, enum esp_end why);
/*
 * The peer is gone. If both ends had closed and all was acknowledged, only its last ACK is missing.
 */
void esp_end_without_peer(struct fw_nic *nic, struct esp_stream *s, enum esp_end why);
/* Sends the packet of the set-up that the state asks for. */
void esp_send_handshake(struct fw_nic *nic, struct esp_stream *s);
void esp_rx_syn(struct fw_nic *nic, const uint8_t *mac, const struct wire_edp *edp,
		const struct wire_esp *esp, const struct fw_rx_frame *frame, uint32_t offset,
		uint32_t bytes);
/*
 * Handles a report of the station that a packet of ours, whose headers it quotes, found no stream.
 */
void esp_rx_unreachable(struct fw_nic *nic, const uint8_t *mac, const struct wire_edp *edp,
			const struct wire_esp *esp);
/* Returns the destination port of packets. */
uint16_t esp_remote_port(const struct esp_stream *s);
/* The handshake is complete. False: the layer above refused the stream, which is gone. */
bool esp_opened(struct fw_nic *nic, struct esp_stream *s);
/*
 * Our FIN was acknowledged and the peer's taken: CLOSED, except for the last ACK, which may be
 * lost.
 */
void esp_finish(struct fw_nic *nic, struct esp_stream *s);

/* esp_timer.c */
/* Sets the one timer to the earliest deadline of the stream. */
void esp_timer_update(struct fw_nic *nic, struct esp_stream *s);
/* Returns the time-out of the try after so many. */
uint64_t esp_timer_rto_ns(const struct esp_stream *s, uint32_t tries);

/* esp_tx.c */
/* Sends a packet without number: ACK, RRQ, RST, SYN. False: no room in the port. */
bool esp_tx_bare(struct fw_nic *nic, struct esp_stream *s, uint8_t flags, uint32_t rrq_count);
/*
 * The same, after all data: a receiver of it that lacks an earlier packet detects that one is lost.
 */
bool esp_tx_behind(struct fw_nic *nic, struct esp_stream *s, uint8_t flags);
/* The peer has acknowledged up to ack, and holds the packets whose bits are set. */
void esp_tx_acked(struct fw_nic *nic, struct esp_stream *s, uint32_t ack, uint64_t received,
		  uint32_t window);
/* The peer requests missing packets, and count more. */
void esp_tx_requested(struct fw_nic *nic, struct esp_stream *s, uint64_t received, uint32_t count);
/* Sends a numbered packet again. */
bool esp_tx_again(struct fw_nic *nic, struct esp_stream *s, uint32_t seq);
void esp_tx_ready(struct fw_nic *nic, struct esp_stream *s);
/* Ends all queued transfers: packets that have a number are sent empty. */
void esp_tx_drop(struct fw_nic *nic, struct esp_stream *s);

/* esp_rx.c */
void esp_rx(struct fw_nic *nic, struct esp_stream *s, const struct wire_esp *esp,
	    const struct fw_rx_frame *frame, uint32_t offset, uint32_t bytes);
/* Delivers held packets that are in order. */
void esp_rx_deliver(struct fw_nic *nic, struct esp_stream *s);
void esp_rx_drop(struct fw_nic *nic, struct esp_stream *s);
/* On the timer: queries the last number that the peer has sent, and requests holes. */
void esp_rx_request(struct fw_nic *nic, struct esp_stream *s);
uint32_t esp_rx_window(const struct esp_stream *s);

/* edp.c */
/*
 * Begins a frame with Ethernet, EDP and ESP headers; NULL: no room. The rest is added as pieces,
 * then edp_tx_end().
 */
struct fw_tx_frame *edp_tx_begin(struct fw_nic *nic, const uint8_t *mac, uint16_t dst_port,
				 uint16_t src_port, uint8_t type);
/*
 * Sends the frame. False: memory of a process that it points at was not readable, and it was not
 * sent.
 */
bool edp_tx_end(struct fw_nic *nic, struct fw_tx_frame *frame, bool control);

/* Timers: up/timer_fires.c. */
void esp_timer_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_ESP_STREAM_H */
