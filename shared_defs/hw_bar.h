/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BAR: what a process maps of its NIC.
 *
 *	offset 0		hw_bar_header (one page)
 *	HW_BAR_DB_RING		doorbell ring, HW_DB_RING_ENTRIES words
 *	HW_BAR_DYNAMIC ...	records and rings of QPs, CQs, SRQs, EQs, where the NIC put them
 *
 * The whole is a memfd that weftd made and sealed; pages are committed as they are
 * touched. Everything the host can write is untrusted: the NIC reads it once, copies,
 * checks. Written and read by host_driver/weft_db.h and nic_fw/host/db.c; each release/acquire
 * pair (D1, D2, ...) is named in docs/host-interface.md.
 */
#ifndef WEFT_HW_BAR_H
#define WEFT_HW_BAR_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HW_BAR_MAGIC = 0x54464557, /* "WEFT" */
	HW_BAR_VERSION = 2,
	HW_BAR_PAGE_BYTES = 4096,
	HW_CACHE_LINE_BYTES = 64,

	/*
	 * An object has at most one entry in the ring (its rung word), and a client has fewer
	 * QPs and CQs than entries: the ring cannot overflow.
	 */
	HW_DB_RING_ENTRIES = 65536,
	HW_BAR_DB_RING = HW_BAR_PAGE_BYTES,
	HW_BAR_DYNAMIC = HW_BAR_DB_RING + HW_DB_RING_ENTRIES * 4,
};

enum hw_nic_state {
	HW_NIC_STARTING = 0,
	HW_NIC_RUNNING = 1,
	HW_NIC_STOPPED = 2, /* weftd ended: nothing will be served any more */
};

struct hw_bar_header {
	/* line 0: written once by the NIC, before the process sees it */
	uint32_t magic;
	uint32_t version;
	uint64_t bar_bytes;
	uint32_t client;
	uint32_t reserved0[11];
	/* line 1: written by the NIC */
	uint32_t nic_state; /* hw_nic_state */
	uint32_t sleeping;  /* 1: the NIC will not look at doorbells until its eventfd is rung */
	uint32_t link_up;
	uint32_t reserved1[13];
	/* line 2: written by the host: next free entry of the doorbell ring, free-running */
	uint32_t db_tail;
	uint32_t reserved2;
	/* CLOCK_MONOTONIC, ns, before the doorbell eventfd is written; 0: not told. Statistics
	 * only. */
	uint64_t wake_ns;
	/*
	 * Datagrams of rsockets that the process has dropped, since they named another address than
	 * they came from. Statistics only.
	 */
	uint32_t forged;
	uint32_t reserved4[11];
	/* line 3: the NIC's clock when the process attached, ns */
	uint64_t clock_ns;
	uint32_t reserved3[14];
};
static_assert(sizeof(struct hw_bar_header) == 256, "");
static_assert(offsetof(struct hw_bar_header, nic_state) == 64, "");
static_assert(offsetof(struct hw_bar_header, db_tail) == 128, "");
static_assert(offsetof(struct hw_bar_header, wake_ns) == 136, "");
static_assert(offsetof(struct hw_bar_header, forged) == 144, "");
static_assert(offsetof(struct hw_bar_header, clock_ns) == 192, "");

/* An entry of the doorbell ring: kind in the top byte, object number below; 0 is empty. */
enum hw_db_kind {
	HW_DB_SQ = 1,       /* the QP's send queue has new requests */
	HW_DB_CQ_ARM = 2,   /* the CQ's arm word changed */
	HW_DB_GOAL_RUN = 3, /* a run record was filled (hw_goal.h); object: its index */
	HW_DB_EQ = 4,       /* the event queue's interrupts are not masked any more */
};
#define HW_DB_ENTRY(kind, id) ((uint32_t)(kind) << 24 | (uint32_t)(id))
#define HW_DB_KIND(entry)     ((entry) >> 24)
#define HW_DB_ID(entry)       ((entry)&0xffffffu)

/* Per QP: a line that the host writes and one that the NIC writes. */
struct hw_qp_record {
	uint32_t sq_prod; /* slots, free-running */
	uint32_t rq_prod; /* requests, free-running */
	uint32_t rung;    /* 1 while an entry of this QP stands in the doorbell ring */
	uint32_t reserved0[13];
	uint32_t sq_cons; /* slots the NIC is done with, in order */
	uint32_t rq_cons; /* requests the NIC has taken */
	uint32_t reserved1[14];
};
static_assert(sizeof(struct hw_qp_record) == 128, "");
static_assert(offsetof(struct hw_qp_record, sq_cons) == 64, "");

/*
 * Per CQ. arm: the low 30 bits are the low bits of the consumer index up to which the
 * process has polled, bit 31 set means armed, bit 30 set means solicited only. The NIC
 * raises an event when it has an entry at or beyond that index, at once if it already has.
 */
struct hw_cq_record {
	uint32_t cons; /* entries polled, free-running */
	uint32_t arm;
	uint32_t rung;
	uint32_t reserved0[13];
	uint32_t prod; /* entries written; for tools, the phase bit rules */
	uint32_t reserved1[15];
};
static_assert(sizeof(struct hw_cq_record) == 128, "");
static_assert(offsetof(struct hw_cq_record, prod) == 64, "");

#define HW_CQ_ARM_ARMED     0x80000000u
#define HW_CQ_ARM_SOLICITED 0x40000000u
#define HW_CQ_ARM_INDEX     0x3fffffffu

struct hw_srq_record {
	uint32_t prod; /* requests, free-running */
	uint32_t reserved0[15];
	uint32_t cons; /* requests the NIC has taken */
	uint32_t reserved1[15];
};
static_assert(sizeof(struct hw_srq_record) == 128, "");
static_assert(offsetof(struct hw_srq_record, cons) == 64, "");

/*
 * Per EQ: the host's consumer index, so that the NIC never overwrites an unread entry and knows
 * when the handler of its interrupt is done; and the mask of its interrupts.
 */
struct hw_eq_record {
	uint32_t cons;
	uint32_t masked; /* not 0: no interrupts; HW_DB_EQ after it was cleared */
	uint32_t rung;
	uint32_t reserved0[13];
};
static_assert(sizeof(struct hw_eq_record) == 64, "");
static_assert(offsetof(struct hw_eq_record, masked) == 4, "");

#endif /* WEFT_HW_BAR_H */
