/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EDP and ESP (the Ethernet Stream Protocol, not IPsec): datagram ports and reliable streams of
 * packets over raw Ethernet.
 *
 * edp.c: ports, echo, unreachable. esp_conn.c: set-up, close, failure. esp_timer.c: time-outs.
 * esp_tx.c: transfers out, esp_rx.c: packets in, re-requests. Above: goal_msg.c (messages between
 * ranks) and rdmap over ESP; below: eth_tx.c, eth_rx.c. A stream carries packets in order, each at
 * most esp_payload_bytes() long; the layer above segments transfers itself in its fill(). Source:
 * ESPGOAL chapter 3; docs/wire-esp.md.
 */
#ifndef WEFT_FW_ESP_H
#define WEFT_FW_ESP_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "shared_defs/wire_esp.h"

struct fw_nic;
struct fw_rx_frame;
struct fw_tx_frame;
struct esp_stream;
struct esp_xfer;

enum esp_end {
	ESP_END_CLOSED,      /* closed, after all that was queued here was acknowledged */
	ESP_END_RESET,       /* the peer's layer above ended it, or the peer's NIC restarted */
	ESP_END_LOST,        /* the peer does not answer */
	ESP_END_UNREACHABLE, /* it never answered, or has no such port */
};

/* Points of a transfer that is traced. */
enum esp_point {
	ESP_POINT_FIRST, /* its first packet was sent */
	ESP_POINT_LAST,  /* its last one, where that is another */
	ESP_POINT_AGAIN, /* one of them again */
	ESP_POINT_ACKED,
};

enum esp_verdict {
	ESP_TAKEN,
	ESP_FULL, /* not taken: the window closes; esp_resume() opens it again */
};

/* The name of a stream: the same at both ends but for the ranks' order. */
struct esp_key {
	uint16_t service; /* wire_esp_service */
	uint32_t local;   /* rank, or QPN */
	uint32_t remote;
	uint64_t key, key2;
};

/* The layer above. All functions run within a turn of the instance. */
struct esp_ops {
	/*
	 * True if this station may open a stream of this key now. Otherwise its SYNs are dropped,
	 * and it repeats them for a while.
	 */
	bool (*expects)(struct fw_nic *nic, const struct esp_key *key, const uint8_t *mac);
	/*
	 * Several SYNs of a stream that was opened here had no answer, so the peer's MAC may have
	 * changed. Writes the MAC known by now, and requests it anew. May be NULL. May stage a
	 * frame.
	 */
	void (*doubt)(struct fw_nic *nic, void *ctx, uint8_t *mac);
	/*
	 * Returns the context for a stream that a peer opened. The peer has answered our answer to
	 * its SYN, so the SYN is not an old one. NULL: the stream is reset.
	 */
	void *(*accept)(struct fw_nic *nic, const struct esp_key *key, struct esp_stream *stream);
	/*
	 * Handles one packet, in order. The frame is the caller's again on return. May abort the
	 * stream, and must not read the frame after that.
	 */
	enum esp_verdict (*receive)(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				    uint32_t offset, uint32_t bytes);
	/*
	 * Writes packet number i of the transfer into a frame that has EDP and ESP headers: header
	 * bytes by eth_tx_hdr(), payload as pieces, at most max bytes together. Called again for
	 * each retransmission, with the same result. It may set FW_TX_F_BORROW if the memory stays
	 * as it is until the transfer is acknowledged, or the layer calls eth_tx_settle(): a packet
	 * that is acknowledged by number was read. Returns the bytes, or a negative errno: the
	 * memory is gone, and the stream carries the packet empty; -FW_EAGAIN: it queries the peer
	 * first whether it has the packet (esp_may_have()).
	 */
	int (*fill)(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i, uint32_t max,
		    struct fw_tx_frame *frame, uint32_t hdr_offset);
	/*
	 * The same for several packets that were not sent before, as a run (fw_port.h, struct
	 * fw_tx_frame): adds its header bytes to the piece that ends with EDP and ESP headers by
	 * eth_tx_hdr_more(), the payload of all, FW_TX_F_BORROW, and sets run_bytes. False: they go
	 * one by one. NULL: they always do.
	 */
	bool (*fill_run)(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i,
			 uint32_t packets, struct fw_tx_frame *frame, uint32_t hdr_offset);
	/* The stream that esp_open() made is established: esp_payload_bytes() is final. May be
	 * NULL.
	 */
	void (*opened)(struct fw_nic *nic, void *ctx);
	/*
	 * The port could not read memory of packet number i that fill() pointed at. Returns a
	 * negative errno, as fill() does. NULL: the packet goes empty.
	 */
	int (*unreadable)(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i);
	/* The transfer is acknowledged as a whole (ok), or the stream ended before. */
	void (*sent)(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, bool ok);
	/* A transfer with the flag traced passed a point; ACKED comes before sent(). May be NULL.
	 */
	void (*passed)(struct fw_nic *nic, struct esp_xfer *xfer, enum esp_point point);
	/* Packets wait that receive() did not take: notification of ESPGOAL 4.1.5. May be NULL. */
	void (*full)(struct fw_nic *nic, void *ctx);
	/*
	 * The stream has ended; its handle is invalid on return. sent(false) came before for all
	 * transfers, unless forgets() returned true.
	 */
	void (*ended)(struct fw_nic *nic, void *ctx, enum esp_end why);
	/*
	 * True: the layer above finds the transfers of a stream that ended itself, and takes each
	 * out of the list (esp_xfer.node): there may be too many for a turn. sent(false) is not
	 * called. NULL: never.
	 */
	bool (*forgets)(const void *ctx);
};

/*
 * A transfer: packets 0..packets-1, embedded in the layer above's own record. Transfers are queued
 * in order; consecutive transfers that are not yet sent merge into one transmission (paper 3.2).
 */
struct esp_xfer {
	struct fw_list node;
	uint32_t packets;
	uint32_t sent;  /* packets given a number */
	uint32_t acked; /* packets acknowledged */
	uint32_t first_seq;
	bool traced; /* set by the layer above, before esp_send() too: esp_ops.passed */
};

/* Registers the layer above a service. */
void esp_listen(struct fw_nic *nic, enum wire_esp_service service, const struct esp_ops *ops);

/* True if the client may have one more stream; for use in expects(). */
bool esp_may(struct fw_nic *nic, uint32_t client);
/* In accept(): books the stream into the client's share. False: the share is used up. */
bool esp_own(struct fw_nic *nic, struct esp_stream *stream, uint32_t client);

/*
 * Opens a stream to a peer in the client's share; set-up begins at once and repeats itself. NULL:
 * no stream left, or the share is used up. Packets may be queued before it is established. A SYN of
 * the peer with the same key joins it, whichever of the two is first.
 */
struct esp_stream *esp_open(struct fw_nic *nic, uint32_t client, const struct esp_key *key,
			    const uint8_t *mac, uint8_t shard, void *ctx);

/* Queues a transfer of at least one packet. */
void esp_send(struct fw_nic *nic, struct esp_stream *stream, struct esp_xfer *xfer);

/*
 * Returns the transfer behind this one (NULL: the first) if packets of it were sent and are not all
 * acknowledged; NULL: none was. There are no more of these than packets in a window.
 */
struct esp_xfer *esp_next_sent(const struct esp_stream *stream, const struct esp_xfer *xfer);
/* Takes back a transfer that is not sent at all. */
void esp_withdraw(struct fw_nic *nic, struct esp_stream *stream, struct esp_xfer *xfer);
/* Calls sent(false) for all that is queued; packets that have a number are sent empty. */
void esp_cancel(struct fw_nic *nic, struct esp_stream *stream);
/* The same without callbacks: the layer above removes the rest of the list itself. */
void esp_forget(struct fw_nic *nic, struct esp_stream *stream);
/* Replaces the context. */
void esp_rebind(struct esp_stream *stream, void *ctx);
/*
 * Sets how long the peer may be silent, or not answer a SYN, before it is lost; never less than
 * half a second. UINT64_MAX: for ever.
 */
void esp_set_patience(struct fw_nic *nic, struct esp_stream *stream, uint64_t ns);
/*
 * For fill(): true if packet i was sent before, and the peer has not answered yet that it lacks it.
 */
bool esp_may_have(const struct esp_stream *stream, const struct esp_xfer *xfer, uint32_t i);
/* Returns how long an awaited peer has been silent. */
uint64_t esp_silent_ns(const struct fw_nic *nic, const struct esp_stream *stream);
const uint8_t *esp_peer_mac(const struct esp_stream *stream);
/* The class of its peer (station.h). */
uint8_t esp_station(const struct esp_stream *stream);
/* True if nothing is queued, and all that was sent is acknowledged. */
bool esp_is_idle(const struct esp_stream *stream);
/* True if the peer has no room: packets in flight wait there for the layer above. */
bool esp_is_held(const struct esp_stream *stream);

/*
 * Returns the payload of one packet, in bytes; grows once when the peer's MTU is known. At least
 * 1,024.
 */
uint32_t esp_payload_bytes(const struct esp_stream *stream);

/*
 * There is room again after receive() returned ESP_FULL. Makes no callback: packets follow later in
 * the turn.
 */
void esp_resume(struct fw_nic *nic, struct esp_stream *stream);

/*
 * Watches a peer from which packets are awaited: sends probes while it is silent, and calls
 * ended(LOST) when it does not answer. Counts calls; unwatch as often.
 */
void esp_watch(struct fw_nic *nic, struct esp_stream *stream);
void esp_unwatch(struct fw_nic *nic, struct esp_stream *stream);

/* Closes after everything queued was acknowledged; ended(CLOSED) follows. */
void esp_close(struct fw_nic *nic, struct esp_stream *stream);
/* The same without a waiting process: after ns the stream ends (LOST) even if the peer answers. */
void esp_close_within(struct fw_nic *nic, struct esp_stream *stream, uint64_t ns);
/* Ends the stream at once: RST to the peer, sent(false) for queued transfers, no ended(). */
void esp_abort(struct fw_nic *nic, struct esp_stream *stream);

/* Handles a frame with WIRE_ETHERTYPE_ESP. */
void edp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame);
/*
 * A stage of fw_poll(): serves streams that may send, one burst each in turn. Returns packets sent.
 */
uint32_t esp_tx_run(struct fw_nic *nic, uint32_t budget);
/* Sends ACKs that were not piggybacked on data, at the end of a turn. */
void esp_ack_flush(struct fw_nic *nic);
/* Returns when the next of them must be sent; UINT64_MAX: none waits. */
uint64_t esp_ack_next_ns(const struct fw_nic *nic);

#endif /* WEFT_FW_ESP_H */
