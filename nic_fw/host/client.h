/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes attached to this instance, their BARs and the objects that they own.
 *
 * client.c: fw_client_attach(), fw_client_detach(). bar.c: the dynamic part of a BAR. Objects
 * (qp.c, cq.c ...) are in the client's lists so that detach finds them. docs/host-interface.md.
 */
#ifndef WEFT_FW_CLIENT_H
#define WEFT_FW_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/share.h"
#include "shared_defs/hw_bar.h"
#include "shared_defs/hw_limits.h"

struct fw_nic;
struct slow_atomic;

enum {
	/*
	 * Limit of remembered free extents of one BAR: enough for a process that destroys every
	 * second of all existing queue pairs. A search takes some 10 us of a core.
	 */
	FW_BAR_EXTENTS = HW_MAX_QP / 2,
	/* A search of so many takes no longer than a unit or two of bulk work (slice.h). */
	FW_BAR_QUICK_EXTENTS = 256,
	FW_BAR_RECORD_BYTES = 128,
	/* Rings take multiples of this, so that those of small queues share pages. */
	FW_BAR_UNIT_BYTES = 512,
	/* Enough pages for the records of all objects that a client can have. */
	FW_BAR_RECORD_PAGES = (HW_MAX_QP + HW_MAX_CQ + HW_MAX_SRQ + HW_MAX_EQ_PER_CLIENT) *
			      FW_BAR_RECORD_BYTES / HW_BAR_PAGE_BYTES,
	/* Pages added together, before half of the existing records is used. */
	FW_BAR_RECORD_CHUNK = 16,
};

/*
 * Allocator of a BAR's dynamic part. Rings take units, first fit, from the beginning of a page if
 * they have a page or more; records share pages of their own. The allocator's state lies in the
 * arena: the NIC trusts no content of the BAR.
 */
struct fw_bar {
	uint8_t *base;
	uint64_t bytes;
	uint64_t high;    /* everything from here on was never given out */
	uint64_t charged; /* highest value of it that was reported to the port */
	uint32_t num_free;
	uint32_t num_record_pages;
	uint32_t record_free; /* first of the record pages with room, FW_NONE */
	uint32_t record_last; /* last of these pages; valid while there is one */
	uint32_t num_records_free;
	struct fw_bar_extent {
		uint64_t offset;
		uint64_t bytes;
	} * free; /* FW_BAR_EXTENTS, sorted by offset; of nic->host.client_extents */
	struct fw_bar_record_page {
		uint64_t offset;
		uint32_t free_mask; /* bit per record */
		uint32_t next;      /* page with room, FW_NONE; valid while this one has room */
	} record_page[FW_BAR_RECORD_PAGES];
};

/* Forgets all allocations; the whole BAR is zero. Call bar_records_ahead() next. */
void bar_init(struct fw_bar *bar, void *base, uint64_t bytes);
/*
 * Allocates units; a page or more begins at a page. Returns 0 with *offset, or -ENOMEM. The memory
 * keeps its old content.
 */
int bar_alloc(struct fw_nic *nic, uint32_t client, uint64_t bytes, uint64_t *offset);
void bar_free(struct fw_nic *nic, uint32_t client, uint64_t offset, uint64_t bytes);
/*
 * Adds pages for records in time: the port prepares them (fw_port.bar_ahead) before a core writes
 * to them, which would otherwise cost it a page fault.
 */
void bar_records_ahead(struct fw_nic *nic, uint32_t client);
/*
 * True if an object can be made or destroyed at once: among few free extents, and, if it is made,
 * with a record of a page that is there.
 */
bool bar_is_quick(const struct fw_bar *bar, bool make);
/* Allocates a zeroed record of FW_BAR_RECORD_BYTES, line-aligned. */
int bar_record_alloc(struct fw_nic *nic, uint32_t client, uint64_t *offset);
void bar_record_free(struct fw_nic *nic, uint32_t client, uint64_t offset);

enum {
	CLIENT_GOAL_TABLES = 7, /* GOAL_TABLES, which goal.h has */
};

struct fw_client {
	bool used;
	bool tool;
	bool closing;        /* detach is under way: others see none of its objects */
	bool has_unmapped;   /* it has, or had, a region that the port reads and writes */
	bool may_be_late;    /* a write to its memory was given up: mem_late() looks */
	uint32_t db_head;    /* next entry of the doorbell ring to read */
	uint32_t wqes_held;  /* contexts of its requests (fw_pool_has_share()) */
	uint32_t flows_held; /* and flows of them, of nic->rd.flows */
	/* Contexts of its tagged endpoints, of nic->tag; bytes of their records. */
	uint32_t tag_posteds_held, tag_arrivals_held, tag_sends_held, tag_peers_held;
	uint64_t tag_records_bytes;
	struct fw_list tag_work;      /* tag_ep.work_node: endpoints with work for a later turn */
	struct fw_list tag_node;      /* in nic->tag.work while there are any */
	struct share_holder *share;   /* nic->share.holders[] of its number */
	struct hw_bar_header *header; /* = bar.base */
	uint32_t *db_ring;
	struct fw_list db_node;    /* in nic->host.db_clients: attached clients with a BAR */
	struct fw_list leave_node; /* in nic->slices.leaving while closing */
	struct fw_bar bar;
	uint32_t pid;
	uint8_t use;         /* fw_client_params.use */
	bool sees_all;       /* fw_client_params.sees_all */
	uint32_t first_port; /* fw_client_params.first_port */
	char name[24];
	struct fw_list qps, cqs, srqs, mrs, pds, ahs, cms; /* owned objects */
	struct fw_list xrcds, qp_opens;                    /* xrc.h */
	/* Atomics on its memory (slow_atomic.h); the one that the port has, or NULL. */
	struct fw_list atomics;
	uint32_t atomics_held;
	struct slow_atomic *atomic_now;
	uint32_t eq[HW_MAX_EQ_PER_CLIENT]; /* index into nic->host.eqs, FW_NONE */
	struct fw_list slots;              /* fw_cmd_slot.node: commands to carry out */
	struct fw_list slots_node;         /* in nic->slices.slots while there are any */
	uint32_t leave_eq;                 /* closing: numbers of event queues above are free */
	/* collectives (goal.h) */
	uint64_t goal_bytes;                    /* of the goal heap, charged to it */
	uint32_t goal_held[CLIENT_GOAL_TABLES]; /* elements of each, enum goal_table */
	uint64_t goal_runs_offset;              /* of the run table in the BAR */
	uint32_t goal_num_runs;                 /* 0: no table */
	uint32_t goal_eq;                       /* HW_EQ_NONE */
	uint32_t *goal_active;            /* heap: for each record, its run's number + 1; 0: none */
	struct goal_ending *goal_endings; /* heap: for each record; notified while node is linked */
	struct goal_list {
		struct hw_goal_peer *peers; /* heap; NULL: none is made */
		uint32_t *links;
		uint32_t num, done;
		uint32_t serial; /* fw_slices.resume of the command that makes it */
		uint64_t tried_ns;
	} goal_list; /* goal_list.c */
	struct fw_list goal_comms;
	struct fw_list goal_links; /* of communicators that it destroyed, draining */
	struct fw_list goal_ready; /* runs that can go on */
	struct fw_list goal_node;  /* in nic->goal.clients while there are any */
};

static inline void *client_bar(const struct fw_client *client, uint64_t offset)
{
	return client->bar.base + offset;
}

#endif /* WEFT_FW_CLIENT_H */
