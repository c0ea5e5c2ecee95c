/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion and event queue entries, NIC to host.
 *
 * A CQE is one cache line. The word with the phase bit is stored last: the NIC stores it with
 * release order; the host loads it with acquire order and then reads the rest
 * (docs/host-interface.md, pair C1). The phase starts at 1 and flips at each turn of the ring,
 * which is initially zero.
 *
 * nic_fw/host/cq.c and eq.c write entries; host_driver/weft_poll.c and weft_event.c read them.
 */
#ifndef WEFT_HW_CQE_H
#define WEFT_HW_CQE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_defs/status.h"

/* The values of enum ibv_wc_opcode. */
enum hw_cqe_opcode {
	HW_CQE_SEND = 0,
	HW_CQE_WRITE = 1,
	HW_CQE_READ = 2,
	HW_CQE_CMP_SWAP = 3,
	HW_CQE_FETCH_ADD = 4,
	HW_CQE_BIND_MW = 5,
	HW_CQE_LOCAL_INV = 6,
	HW_CQE_ATOMIC = 64, /* specific to weft: HW_WQE_ATOMIC */
	HW_CQE_RECV = 128,
	HW_CQE_RECV_WRITE_IMM = 129,
	/* Specific to weft: a logged UD Write, consumes no receive. */
	HW_CQE_RECV_WRITE_RECORD = 192,
	/* Tagged endpoints (hw_tag.h): a send, a receive, a peek. */
	HW_CQE_TSEND = 193,
	HW_CQE_TRECV = 194,
	HW_CQE_TPEEK = 195,
};

/* hw_cqe.flags */
enum {
	HW_CQE_F_GRH = 0x01, /* 40 bytes of GRH precede the data; src_ip is valid */
	HW_CQE_F_IMM = 0x02, /* imm_inv is immediate data */
	HW_CQE_F_INV = 0x04, /* imm_inv is the STag that the peer invalidated */
	HW_CQE_F_SOLICITED = 0x08,
	HW_CQE_F_PARTIAL = 0x10, /* Write-Record: timed out; record_map shows the received pieces */
	HW_CQE_F_XRC = 0x20,     /* a receive of an XRC SRQ; qpn may belong to another process */
	HW_CQE_F_RELEASED = 0x40, /* TRECV: the buffer of a MULTI receive serves no more messages */
};

struct hw_cqe {
	uint64_t wr_id;
	uint64_t timestamp_ns; /* the NIC's clock when it wrote the entry */
	uint32_t bytes;        /* payload bytes received or read, including the GRH if present */
	uint32_t imm_inv;
	uint32_t qpn;
	uint32_t src_qpn;
	/* The word stored last; see the top of this file. */
	uint8_t status; /* hw_status */
	uint8_t opcode; /* hw_cqe_opcode */
	uint8_t flags;
	uint8_t phase;
	uint32_t vendor_err; /* HW_VENDOR_ERR_*; record: bytes per bit of record_map */
	/* send: slot after the request; record: target STag; XRC: number of the SRQ */
	uint32_t sq_index;
	uint32_t src_ip;     /* network byte order */
	uint64_t record_to;  /* record: tagged offset of the message */
	uint64_t record_map; /* record: bit i: piece i of the message is valid */
};
static_assert(sizeof(struct hw_cqe) == 64, "one cache line");
static_assert(offsetof(struct hw_cqe, bytes) == 16, "");
static_assert(offsetof(struct hw_cqe, status) == 32, "");
static_assert(offsetof(struct hw_cqe, phase) == 35, "");
static_assert(offsetof(struct hw_cqe, vendor_err) == 36, "");
static_assert(offsetof(struct hw_cqe, record_to) == 48, "");

/* Reason of a failed request, in more detail than the status. The host prints them by name. */
enum hw_vendor_err {
	HW_VENDOR_ERR_NONE = 0,
	HW_VENDOR_ERR_OPCODE = 1, /* opcode not supported by this QP type */
	HW_VENDOR_ERR_SLOTS = 2,  /* slot count does not match the request */
	HW_VENDOR_ERR_NUM_SGE = 3,
	HW_VENDOR_ERR_FLAGS = 4,
	HW_VENDOR_ERR_AH = 5,   /* no such address handle, or it belongs to another PD */
	HW_VENDOR_ERR_LKEY = 6, /* no such STag, or wrong key or PD */
	HW_VENDOR_ERR_BOUNDS = 7,
	HW_VENDOR_ERR_ACCESS = 8,
	HW_VENDOR_ERR_TOO_LONG = 9,
	HW_VENDOR_ERR_ALIGN = 10, /* an atomic's address is no multiple of its size */
	HW_VENDOR_ERR_QUEUE = 11, /* producer index exceeds the ring */
	HW_VENDOR_ERR_PEER_RESTART = 12,
	HW_VENDOR_ERR_HOST_FAULT = 13,  /* access to the process's memory failed */
	HW_VENDOR_ERR_UNREACHABLE = 14, /* no ARP response */
	HW_VENDOR_ERR_RD_ATOMIC = 15,   /* the QP allows none */
	HW_VENDOR_ERR_CQ_OVERRUN = 16,
	HW_VENDOR_ERR_NO_MESSAGE = 17, /* a peek found none */
	HW_VENDOR_ERR_CANCELED = 18,   /* the receive was withdrawn by its process */
	HW_VENDOR_ERRS
};

enum hw_event_type {
	HW_EVENT_NONE = 0,
	HW_EVENT_COMPLETION = 1, /* id: CQ number */
	HW_EVENT_CQ_ERR = 2,     /* id: CQ number */
	HW_EVENT_QP_FATAL = 3,   /* id: QPN, also in the next four */
	HW_EVENT_QP_REQ_ERR = 4,
	HW_EVENT_QP_ACCESS_ERR = 5,
	HW_EVENT_COMM_EST = 6,
	HW_EVENT_QP_LAST_WQE = 7,
	HW_EVENT_SRQ_LIMIT = 8, /* id: SRQ number */
	HW_EVENT_SRQ_ERR = 9,
	HW_EVENT_PORT_ACTIVE = 10,
	HW_EVENT_PORT_ERR = 11,
	HW_EVENT_DEVICE_FATAL = 12,
	/* id: QPN; aux: ssn of the refused message; a peer reported an error. */
	HW_EVENT_PEER_ERROR = 13,
	HW_EVENT_SQ_DRAINED = 14,   /* id: QPN; requested with EN_SQD_ASYNC_NOTIFY */
	HW_EVENT_GOAL_RUN = 15,     /* id: run record; aux: its serial */
	HW_EVENT_CM = 16,           /* CM_EVENT can return an event (hw_cm.h) */
	HW_EVENT_TAG_POOL_LOW = 17, /* id: QPN; little of the pool of a tagged endpoint is free */
	HW_EVENTS
};

/* Event queue entry; the phase, as in hw_cqe, is in the word stored last. */
struct hw_eqe {
	uint32_t id;
	uint32_t aux;        /* PEER_ERROR: ssn; COMPLETION: the arm sequence that it answers */
	uint32_t aux2;       /* PEER_ERROR: src_ip, network byte order */
	uint8_t type;        /* hw_event_type */
	uint8_t code;        /* PEER_ERROR: error code of the Terminate */
	uint8_t layer_etype; /* PEER_ERROR: layer and error type of the Terminate */
	uint8_t phase;
};
static_assert(sizeof(struct hw_eqe) == 16, "");
static_assert(offsetof(struct hw_eqe, type) == 12, "");
static_assert(offsetof(struct hw_eqe, phase) == 15, "");

#endif /* WEFT_HW_CQE_H */
