/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport without acknowledgements: datagrams (ud_tx.c, ud_rx.c, reassembly of long messages and
 * Write-Records in ud_reasm.c), and unreliable connections (ud_tx.c, uc_rx.c). The thesis
 * 6.3.2-6.3.6; Grant et al. (IPDPS 2011) for Write-Record.
 */
#ifndef WEFT_FW_UD_H
#define WEFT_FW_UD_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/dgram/dgram.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/timer.h"

struct fw_nic;
struct fw_qp;
struct fw_wqe;

enum {
	UD_REASM_MAX = 256,   /* incomplete messages, of all QPs */
	UD_REASM_PER_QP = 32, /* and of one QP: no QP starves the others */
	UD_MAX_SEGMENTS = 64, /* of one message: 64 KiB at the least MTU */
	UD_ERROR_BURST = 32,  /* error messages at once, then one per interval; both ways */
	UC_BURST = 16,        /* segments of one message in a turn, so that other QPs send, too */
};
#define UD_REASM_TIMEOUT_NS UINT64_C(100000000)
/* Wait of a record whose last segment came before others. */
#define UD_RECORD_GRACE_NS UINT64_C(1000000)
/* Further wait after the core was absent: the rest may lie in the port. */
#define UD_REASM_AGAIN_NS    UINT64_C(1000000)
#define UD_ERROR_INTERVAL_NS UINT64_C(1000000)

/* Sends frames of the request. True: it is finished (sent or failed: wqe_complete was called). */
bool ud_tx(struct fw_nic *nic, struct fw_wqe *wqe);
void ud_rx(struct fw_nic *nic, struct rdmap_seg *pkt);
/* Receives a segment of an unreliable connection. */
void uc_rx(struct fw_nic *nic, struct rdmap_seg *pkt);

/* A message of several segments, or a Write-Record. */
struct ud_reasm {
	struct fw_list qp_node; /* qp->recv_msgs */
	struct fw_qp *qp;
	uint32_t hash_next;
	uint32_t src_ip;
	uint32_t src_qpn;
	uint32_t ssn;
	bool record;
	uint8_t flags;  /* WIRE_DGRAM_F_* seen */
	uint8_t opcode; /* wire_rdmap_opcode */
	uint32_t imm;   /* as on the wire */
	uint32_t msg_bytes;
	uint32_t segment_bytes; /* of all but the last; 0: only the last has come */
	uint32_t last_bytes;    /* of the last; 0: missing */
	uint32_t stag;          /* record */
	uint64_t to;            /* record: of the message's first byte */
	uint64_t got;           /* bit per segment */
	struct fw_timer timer;
	struct fw_moment since; /* when the timer's time began */
	uint64_t wait_ns;       /* of the timer */
	uint32_t buffer;        /* index of its 64 KiB in nic->ud.buffers; FW_NONE for a record */
};

void ud_reasm_rx(struct fw_nic *nic, struct fw_qp *qp, struct rdmap_seg *pkt);
/*
 * A QP leaves the states in which it works: flushes its incomplete messages. True: nothing is left.
 */
bool ud_flush_step(struct fw_nic *nic, struct fw_qp *qp);

/* Delivers a whole message to a receive of the QP: data from the packet, or from buffer. */
void ud_deliver(struct fw_nic *nic, struct fw_qp *qp, const struct rdmap_seg *pkt,
		const uint8_t *buffer);

/* Reports an error to the sender of pkt only; rate-limited. Layer and code: RFC 5040 4.8. */
void ud_tx_error(struct fw_nic *nic, const struct fw_qp *qp, const struct rdmap_seg *pkt,
		 uint8_t layer_etype, uint8_t code);
/*
 * Token bucket of error messages: UD_ERROR_BURST at once, one more per UD_ERROR_INTERVAL_NS. False:
 * not now. Both words are initially 0.
 */
bool ud_rate_limit(uint64_t now_ns, uint64_t *last_ns, uint32_t *spent);

/* Timers: up/timer_fires.c. */
void ud_reasm_timer_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_UD_H */
