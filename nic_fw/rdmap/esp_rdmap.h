/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: the state that a queue pair has for its two streams.
 *
 * A QP's requests and their answers use one stream, which it opens; those of its peer use another,
 * which the peer opens. A peer without a receive for our Send therefore delays our requests alone,
 * and never the answers to its own. llp.h, the streams below and a stage of fw_poll() call
 * esp_rdmap.c. docs/wire-esp.md, "RC over ESP".
 */
#ifndef WEFT_FW_ESP_RDMAP_H
#define WEFT_FW_ESP_RDMAP_H

#include "nic_fw/stream/esp.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/hw_cqe.h"

struct fw_qp;
struct fw_wqe;
struct rdmap_seg;
struct rdmap_error;

enum {
	/* Streams that outlive their QP to report its failure to the peer. */
	ESP_RDMAP_MAX_LAST = 256,
};

/* The context of a stream. */
struct esp_rdmap_side {
	struct fw_qp *qp;          /* NULL: the QP failed, and a Terminate was queued */
	struct esp_stream *stream; /* NULL: none */
	bool requester;            /* it carries our requests; otherwise the peer's */
	bool hollow;               /* a packet came without its data: later packets are ignored */
	/*
	 * Memory under a packet of message fault_ssn was gone. That message and later ones are sent
	 * without data from then on; earlier ones are sent whole, also when repeated.
	 */
	bool faulty;
	bool fault_due;     /* esp_rdmap_run() has not seen it yet */
	uint8_t fault_err;  /* hw_vendor_err */
	uint32_t fault_ssn; /* of the request, or of the request that the response answers */
};

/* State of a QP with HW_QP_TRANSPORT_ESP; idle in all others. */
struct esp_rdmap {
	struct esp_rdmap_side out, in;
	bool open;              /* out: established */
	bool watched;           /* out: answers are awaited */
	bool noticed;           /* in: a notice is in flight */
	uint8_t rnr_tries;      /* notices without progress */
	struct fw_moment since; /* when the opening began */
	/*
	 * Progress of the send queue's front when it was last checked, and the number of checks
	 * since.
	 */
	uint32_t look_ssn;
	/* Bytes of its answer; for an unacknowledged request: its acknowledged packets. */
	uint32_t look_done;
	uint8_t looks;
	bool look_acked;
	/* The peer has reported since that it is not ready, which may take any time. */
	bool look_rnr;
	struct fw_list waiting;      /* fw_wqe.flow_node: requests that wait until it is open */
	struct fw_list fault_node;   /* nic->rdmap.esp_faults */
	struct fw_timer open_timer;  /* out: time of the next try */
	struct fw_timer look_timer;  /* out: detects answers that do not come */
	struct fw_timer ready_timer; /* time to check for a receive, or for a slow page, again */
	struct esp_xfer notice;      /* in: the receiver is not ready */
};

/* A Terminate that outlives the QP's part of its stream. */
struct esp_rdmap_last {
	struct esp_rdmap_side side; /* first: a stream's context is a side */
	struct esp_xfer xfer;
	uint32_t ssn;
	uint8_t layer_etype, code;
	uint8_t station; /* charged for it: the peer's */
	bool delivered;
};

extern const struct esp_ops esp_rdmap_ops;
void esp_rdmap_init(struct fw_nic *nic);
/*
 * Handles packets whose memory was gone when they were sent; runs in each turn after esp_tx_run().
 */
void esp_rdmap_run(struct fw_nic *nic);

/* esp_rdmap_tx.c: esp_ops.fill and .unreadable */
int esp_rdmap_fill(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i, uint32_t max,
		   struct fw_tx_frame *frame, uint32_t hdr_offset);
int esp_rdmap_unreadable(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i);
/*
 * True if the transfer is the side's notice that its receiver is not ready; otherwise it is a
 * message's.
 */
bool esp_rdmap_is_notice(const struct esp_rdmap_side *side, const struct esp_xfer *xfer);
struct fw_wqe *esp_rdmap_msg_of(struct esp_xfer *xfer);
/* Returns the first request that the peer has not taken, if a packet of it was sent; else NULL. */
struct fw_wqe *esp_rdmap_unacked(const struct fw_qp *qp);

/* esp_rdmap_rx.c: esp_ops.receive, and the timer of a receiver that was not ready. */
enum esp_verdict esp_rdmap_receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				   uint32_t offset, uint32_t bytes);
void esp_rdmap_ready_fire(struct fw_nic *nic, struct fw_timer *timer);

/* Timers: up/timer_fires.c. */
void esp_rdmap_open_fire(struct fw_nic *nic, struct fw_timer *timer);
void esp_rdmap_look_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_ESP_RDMAP_H */
