/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC over ESP: what a queue pair keeps of its two streams.
 *
 * A QP's requests and the answers to them travel on one stream, which it opens; those of its peer
 * on another, which the peer opens. So a peer that has no receive for our Send holds up our
 * requests alone, and never the answers to its own. esp_rdmap.c is called through llp.h by RDMAP
 * and the send queue, by the streams below it, and by fw_poll(). docs/wire-esp.md, "RC over ESP".
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
	ESP_RDMAP_MAX_LAST = 256, /* streams that outlive their QP to tell the peer why it failed */
};

/* The context of a stream. */
struct esp_rdmap_side {
	struct fw_qp *qp;          /* NULL: the QP failed, and a Terminate is on its way */
	struct esp_stream *stream; /* NULL: none */
	bool requester;            /* our requests go out on it; else the peer's come in */
	bool hollow;               /* a packet came without its data: nothing behind it counts */
	/*
	 * Memory under a packet of message fault_ssn was gone. That message and those behind it go
	 * without data from then on; those before it go whole, sent again or for the first time.
	 */
	bool faulty;
	bool fault_due;     /* esp_rdmap_run() has not seen it yet */
	uint8_t fault_err;  /* hw_vendor_err */
	uint32_t fault_ssn; /* of the request, or of that which the response answers */
};

/* State of a QP with HW_QP_TRANSPORT_ESP; idle in all others. */
struct esp_rdmap {
	struct esp_rdmap_side out, in;
	bool open;              /* out: established */
	bool watched;           /* out: answers are awaited */
	bool noticed;           /* in: a notice is on its way */
	uint8_t rnr_tries;      /* notices without progress */
	struct fw_moment since; /* when opening began */
	/*
	 * Progress of the send queue's front when it was last checked, and the number of checks
	 * since.
	 */
	uint32_t look_ssn;
	uint32_t look_done; /* bytes of its answer; not acknowledged yet: packets that are */
	uint8_t looks;
	bool look_acked;
	bool look_rnr; /* the peer has told since that it is not ready: that may take for ever */
	struct fw_list waiting;      /* fw_wqe.flow_node: requests until it is open */
	struct fw_list fault_node;   /* nic->rdmap.esp_faults */
	struct fw_timer open_timer;  /* out: when to try again */
	struct fw_timer look_timer;  /* out: answers that do not come */
	struct fw_timer ready_timer; /* when to look for a receive, or at a slow page, again */
	struct esp_xfer notice;      /* in: receiver not ready */
};

/* A Terminate that outlives the QP's part of its stream. */
struct esp_rdmap_last {
	struct esp_rdmap_side side; /* first: a stream's context is a side */
	struct esp_xfer xfer;
	uint32_t ssn;
	uint8_t layer_etype, code;
};

void esp_rdmap_init(struct fw_nic *nic);
/* Packets whose memory was gone when they were to be sent; in each turn behind esp_tx_run(). */
void esp_rdmap_run(struct fw_nic *nic);

/* The first request of the QP that is neither answered nor failed; NULL: none. */
struct fw_wqe *esp_rdmap_oldest(struct fw_qp *qp);
/* The request ends so in its turn; nothing is sent behind it any more. */
void esp_rdmap_fail_request(struct fw_nic *nic, struct fw_wqe *msg, enum hw_status status,
			    enum hw_vendor_err vendor_err);

/* esp_rdmap_tx.c: esp_ops.fill and .unreadable */
int esp_rdmap_fill(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer, uint32_t i, uint32_t max,
		   struct fw_tx_frame *frame, uint32_t hdr_offset);
void esp_rdmap_unreadable(struct fw_nic *nic, void *ctx, struct esp_xfer *xfer);
/* The transfer is the side's notice that its receiver is not ready; else it is a message's. */
bool esp_rdmap_is_notice(const struct esp_rdmap_side *side, const struct esp_xfer *xfer);
struct fw_wqe *esp_rdmap_msg_of(struct esp_xfer *xfer);

/* esp_rdmap_rx.c: esp_ops.receive, and the timer of one that was not ready. */
enum esp_verdict esp_rdmap_receive(struct fw_nic *nic, void *ctx, const struct fw_rx_frame *frame,
				   uint32_t offset, uint32_t bytes);
void esp_rdmap_ready_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_ESP_RDMAP_H */
