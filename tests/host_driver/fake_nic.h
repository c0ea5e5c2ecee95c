/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A passive NIC behind libweft's channel seam, in the test's process.
 *
 * The tests of host_driver attach to it (fake_open), inspect the host's writes to the BAR, and
 * write completions and events as firmware would. Commands succeed, with plain limits, and are
 * counted. A socket pair stands for weftd's socket: fake_die() closes it.
 */
#ifndef WEFT_TESTS_FAKE_NIC_H
#define WEFT_TESTS_FAKE_NIC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "host_driver/weft.h"
#include "host_driver/weft_chan.h"
#include "host_driver/weft_priv.h"

enum {
	FAKE_BAR_BYTES = 16 << 20,
	FAKE_OBJECTS = 64,
	FAKE_MEMS = 512,
	FAKE_EQ_ENTRIES = 16,
	FAKE_QPN_BASE = 0x1100,
};

struct fake_cq {
	struct hw_cqe *ring;
	struct hw_cq_record *record;
	uint64_t record_offset;
	uint32_t entries;
	uint32_t prod;
};

struct fake_eq {
	struct hw_eqe *ring;
	struct hw_eq_record *record;
	uint32_t entries;
	uint32_t prod;
	int event_fd; /* our descriptor; the host has a duplicate */
};

struct fake_qp {
	struct hw_qp_record *record;
	uint8_t *sq;
	uint8_t *rq;
	uint32_t sq_slots;
	uint32_t rq_entries;
	uint32_t rq_stride_bytes;
	uint32_t state;
	bool lent; /* sq and rq lie where its record says: fake_rings() */
};

struct fake_mr {
	bool used;
	struct hw_cmd_reg_mr cmd;
	uint8_t *mapping; /* offset of addr, in memory of ALLOC_MEM */
	uint64_t slack;   /* offset of addr within its page */
};

/* Memory of ALLOC_MEM; its key is keys + its index. */
struct fake_mem {
	int fd;          /* -1: free */
	uint8_t *anchor; /* with fake_nic.seals */
};

struct fake_nic {
	pthread_mutex_t lock;
	uint8_t *bar;
	uint64_t bar_next;
	uint32_t db_head;
	int pair[2];     /* [0] is the host's hangup_fd */
	int doorbell_fd; /* our end */
	uint32_t num_eq, num_cq, num_qp, num_srq, num_mr, num_other;
	struct fake_eq eq[FAKE_OBJECTS];
	struct fake_cq cq[FAKE_OBJECTS];
	struct fake_qp qp[FAKE_OBJECTS];
	struct hw_srq_record *srq_record[FAKE_OBJECTS];
	struct fake_mr mr[FAKE_OBJECTS];
	struct fake_mem mem[FAKE_MEMS];
	uint64_t keys; /* different for each fake */
	struct hw_resp_attach start;
	struct hw_cmd_tag_open tag_open;    /* the last one */
	struct hw_resp_tag_query tag_stats; /* the answer to each query */
	uint32_t commands[HW_CMD_OPS];
	int fail_op;     /* this command fails ... */
	int fail_status; /* ... with this errno */
	uint32_t max_wr;
	bool refuse_memfd;
	bool seals;   /* as in weftd: memory is sealed once a region is in it */
	bool lends;   /* knows ALLOC_RINGS and HW_QP_F_LENT */
	bool no_tags; /* an older NIC: TAG_QUERY is an unknown command */
	bool closed;
};

/* Attaches to a new fake. flags: WEFT_CHAN_F_*. Never NULL. */
struct weft_context *fake_open(struct fake_nic **nic, uint32_t flags);
/* Closes the context, and frees the fake. */
void fake_close(struct weft_context *context, struct fake_nic *nic);

/* Simulates that weftd is killed. */
void fake_die(struct fake_nic *nic);

/* Reads the next doorbell and answers it as the firmware does; 0: none. */
uint32_t fake_doorbell(struct fake_nic *nic);

/* Writes an entry, phase and release as the firmware does. */
void fake_cqe(struct fake_nic *nic, const struct weft_cq *cq, struct hw_cqe cqe);
/* Likewise; raises the interrupt if irq is set. */
void fake_eqe(struct fake_nic *nic, uint32_t eq, struct hw_eqe eqe, bool irq);

struct fake_qp *fake_qp(struct fake_nic *nic, const struct weft_qp *qp);
/* Returns the control slot at a slot index. */
/* Looks where the rings of a lent QP are now. */
void fake_rings(struct fake_nic *nic, struct fake_qp *qp);
const struct hw_sq_wqe *fake_slot(const struct fake_qp *qp, uint32_t index);

/* Makes a PD, a CQ and a QP in RTS, with libweft. */
struct fake_setup {
	struct fake_nic *nic;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_cq *cq;
	struct weft_qp *qp;
	struct weft_ah *ah;
	struct fake_qp *hw;
};
void fake_setup(struct fake_setup *s, enum weft_qp_type type, const struct weft_qp_cap *cap,
		uint32_t cq_entries);
void fake_teardown(struct fake_setup *s);

#endif /* WEFT_TESTS_FAKE_NIC_H */
