/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BAR: the part of the NIC that a process maps.
 *
 * 	offset 0		hw_bar_header (one page)
 * 	HW_BAR_DB_RING		doorbell ring, HW_DB_RING_ENTRIES words
 * 	HW_BAR_CMD_SLOTS	command slots: hw_cmd_slot.h
 * 	HW_BAR_DYNAMIC ...	records and rings of QPs, CQs, SRQs, EQs, placed by the NIC
 *
 * The BAR is a memfd that weftd created and sealed; pages are committed on first access. All memory
 * that the host can write is untrusted: the NIC reads a value once, copies it, then checks it.
 * host_driver/weft_db.h writes doorbells, nic_fw/host/db.c reads them. docs/host-interface.md names
 * each release/acquire pair (D1, D2, ...).
 */
#ifndef WEFT_HW_BAR_H
#define WEFT_HW_BAR_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HW_BAR_MAGIC = 0x54464557, /* "WEFT" */
	HW_BAR_VERSION = 3,
	HW_BAR_PAGE_BYTES = 4096,
	HW_CACHE_LINE_BYTES = 64,

	/*
	 * An object has at most one entry in the ring (its rung word), and a client has fewer QPs
	 * and CQs than the ring has entries. The ring therefore cannot overflow.
	 */
	HW_DB_RING_ENTRIES = 65536,
	HW_BAR_DB_RING = HW_BAR_PAGE_BYTES,
	HW_BAR_CMD_SLOTS = HW_BAR_DB_RING + HW_DB_RING_ENTRIES * 4,
	HW_CMD_SLOTS = 16,
	HW_BAR_DYNAMIC = HW_BAR_CMD_SLOTS + 3 * HW_BAR_PAGE_BYTES,
};

enum hw_nic_state {
	HW_NIC_STARTING = 0,
	HW_NIC_RUNNING = 1,
	HW_NIC_STOPPED = 2, /* weftd ended: requests are no longer processed */
};

struct hw_bar_header {
	/* line 0: written once by the NIC, before the process maps it */
	uint32_t magic;
	uint32_t version;
	uint64_t bar_bytes;
	uint32_t client;
	uint32_t reserved0[11];
	/* line 1: written by the NIC */
	uint32_t nic_state; /* hw_nic_state */
	uint32_t sleeping;  /* 1: the NIC does not poll doorbells until its eventfd is written */
	uint32_t link_up;
	/*
	 * 1 + the CPU of the thread that polls for the NIC, or polled before it slept; 0: unknown.
	 * A process that waits for the NIC gives up its CPU only where the NIC needs it.
	 */
	uint32_t poll_cpu;
	uint32_t reserved1[12];
	/* line 2: written by the host: next free entry of the doorbell ring, free-running */
	uint32_t db_tail;
	uint32_t reserved2;
	/*
	 * CLOCK_MONOTONIC in ns before the doorbell eventfd was written; 0: unknown. Statistics
	 * only.
	 */
	uint64_t wake_ns;
	/*
	 * Number of rsocket datagrams that the process dropped because their header named another
	 * source address than the packet. Statistics only.
	 */
	uint32_t forged;
	uint32_t reserved4[11];
	/* line 3: the NIC's clock at the time of attach, in ns */
	uint64_t clock_ns;
	uint32_t reserved3[14];
	/*
	 * line 4: written by the host: collectives of an MPI library that ran on the NIC, and those
	 * that the library carried out itself. Statistics only.
	 */
	uint64_t coll_nic_calls;
	uint64_t coll_nic_bytes;
	uint64_t coll_left_calls;
	uint64_t coll_left_bytes;
	uint32_t reserved5[8];
};
static_assert(sizeof(struct hw_bar_header) == 320, "");
static_assert(offsetof(struct hw_bar_header, nic_state) == 64, "");
static_assert(offsetof(struct hw_bar_header, poll_cpu) == 76, "");
static_assert(offsetof(struct hw_bar_header, db_tail) == 128, "");
static_assert(offsetof(struct hw_bar_header, wake_ns) == 136, "");
static_assert(offsetof(struct hw_bar_header, forged) == 144, "");
static_assert(offsetof(struct hw_bar_header, clock_ns) == 192, "");
static_assert(offsetof(struct hw_bar_header, coll_nic_calls) == 256, "");
static_assert(sizeof(struct hw_bar_header) <= HW_BAR_PAGE_BYTES, "");

/* Entry of the doorbell ring: kind in the top byte, object number below; 0: empty. */
enum hw_db_kind {
	HW_DB_SQ = 1,       /* the QP's send queue has new requests */
	HW_DB_CQ_ARM = 2,   /* the CQ's arm word has changed */
	HW_DB_GOAL_RUN = 3, /* a run record was filled in (hw_goal.h); object: its index */
	HW_DB_EQ = 4,       /* the event queue's interrupts were unmasked */
	HW_DB_RQ = 5,       /* the receive queue of a tagged endpoint has new operations */
	HW_DB_CMD = 6,      /* a command slot was filled in (hw_cmd_slot.h); object: its index */
};
#define HW_DB_ENTRY(kind, id) ((uint32_t)(kind) << 24 | (uint32_t)(id))
#define HW_DB_KIND(entry)     ((entry) >> 24)
#define HW_DB_ID(entry)       ((entry)&0xffffffu)

/* Per QP: one line written by the host and one written by the NIC. */
struct hw_qp_record {
	uint32_t sq_prod; /* slots posted, free-running */
	uint32_t rq_prod; /* requests posted, free-running */
	uint32_t rung;    /* 1 while the doorbell ring holds an HW_DB_SQ entry of this QP */
	uint32_t rq_rung; /* likewise for HW_DB_RQ */
	/* HW_QP_F_LENT: places of the rings, in units of HW_RING_PLACE_BYTES from the BAR's start
	 */
	uint32_t sq_place;
	uint32_t rq_place;
	uint32_t reserved0[10];
	uint32_t sq_cons; /* slots the NIC has finished, in order */
	uint32_t rq_cons; /* requests the NIC has taken */
	uint32_t reserved1[14];
};
static_assert(sizeof(struct hw_qp_record) == 128, "");
static_assert(offsetof(struct hw_qp_record, sq_place) == 16, "");
static_assert(offsetof(struct hw_qp_record, sq_cons) == 64, "");

/*
 * Per CQ. arm: the low 30 bits are those of the consumer index up to which the process has polled;
 * bit 31: armed; bit 30: solicited only. The NIC raises an event when an entry at or beyond that
 * index exists, immediately if there already is one.
 */
struct hw_cq_record {
	uint32_t cons; /* entries polled, free-running */
	uint32_t arm;
	uint32_t rung;
	uint32_t reserved0[13];
	uint32_t prod; /* entries written; for tools: the phase bit is authoritative */
	uint32_t reserved1[15];
};
static_assert(sizeof(struct hw_cq_record) == 128, "");
static_assert(offsetof(struct hw_cq_record, prod) == 64, "");

#define HW_CQ_ARM_ARMED     0x80000000u
#define HW_CQ_ARM_SOLICITED 0x40000000u
#define HW_CQ_ARM_INDEX     0x3fffffffu

struct hw_srq_record {
	uint32_t prod; /* requests posted, free-running */
	uint32_t reserved0[15];
	uint32_t cons; /* requests the NIC has taken */
	uint32_t reserved1[15];
};
static_assert(sizeof(struct hw_srq_record) == 128, "");
static_assert(offsetof(struct hw_srq_record, cons) == 64, "");

/*
 * Per EQ: the host's consumer index and the mask of its interrupts. From the index the NIC knows
 * which entries are unread, so that it does not overwrite them, and when the interrupt handler has
 * finished.
 */
struct hw_eq_record {
	uint32_t cons;
	uint32_t masked; /* nonzero: no interrupts; ring HW_DB_EQ after clearing it */
	uint32_t rung;
	uint32_t reserved0[13];
};
static_assert(sizeof(struct hw_eq_record) == 64, "");
static_assert(offsetof(struct hw_eq_record, masked) == 4, "");

#endif /* WEFT_HW_BAR_H */
