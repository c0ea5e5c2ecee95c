/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint: a simulated process with all that libweft needs to move data.
 *
 * Protection domain, completion queue, queue pair and one registered buffer, made with
 * libweft's public calls and torn down again. What a test needs beyond it, it makes in the
 * endpoint's context by itself. Used by sim_workload_*.c and tests/sim; one thread per
 * struct sim.
 */
#ifndef WEFT_SIM_END_H
#define WEFT_SIM_END_H

#include "host_driver/weft.h"
#include "sim_harness/sim.h"

enum {
	SIM_END_QKEY = 0x1234,
};

/* What to make; zero fields get the default named beside them. */
struct sim_end_attr {
	enum weft_qp_type type;    /* RD */
	uint32_t qp_flags;         /* enum weft_qp_flags */
	uint32_t access;           /* of QP and buffer: all remote rights */
	uint32_t max_wr;           /* of each queue: 128 */
	uint32_t max_sge;          /* 16 */
	uint32_t max_inline_bytes; /* 256 */
	uint32_t srq_wr;           /* 0: no SRQ */
	uint32_t cqe;              /* 4 * max_wr */
	size_t bytes;              /* of the buffer: 1 MiB */
	bool unmapped;             /* the NIC reaches the buffer through host_read/host_write */
	bool events;               /* the CQ has a completion channel */
	bool inactive;             /* the QP stays in RESET */
};

struct sim_end {
	struct sim *sim;
	struct sim_proc *proc;
	struct weft_context *context;
	struct weft_pd *pd;
	struct weft_comp_channel *channel;
	struct weft_cq *cq;
	struct weft_srq *srq;
	struct weft_qp *qp;
	struct weft_mr *mr;
	uint8_t *buf;
	size_t bytes;
};

/* attr NULL: all defaults. 0 or a negative errno; after a failure the end is empty. */
int sim_end_open(struct sim_end *end, struct sim_nic *nic, const struct sim_end_attr *attr);

/* Destroys what there is, in order; objects that others made in the context go with it. */
void sim_end_close(struct sim_end *end);

/* The process dies; the host's part is cleaned up. */
void sim_end_kill(struct sim_end *end);

/*
 * An address handle for a NIC by its IP; runs the simulation while ARP is under way, and tries
 * again a few times when it fails.
 */
struct weft_ah *sim_end_ah(struct sim_end *end, const struct sim_nic *peer);

/* The buffer from offset on as an SGE. */
struct weft_sge sim_end_sge(const struct sim_end *end, size_t offset, uint32_t bytes);

/* Posts one receive into [offset, offset + bytes) to the QP, or its SRQ. 0 or -errno. */
int sim_end_recv(struct sim_end *end, uint64_t wr_id, size_t offset, uint32_t bytes);

/*
 * Runs the simulation until n completions have been polled from a CQ, at most limit_ns.
 * Returns how many there are in wc.
 */
uint32_t sim_cq_wait(struct sim *sim, struct weft_cq *cq, struct weft_wc *wc, uint32_t n,
		     uint64_t limit_ns);
uint32_t sim_end_wait(struct sim_end *end, struct weft_wc *wc, uint32_t n, uint64_t limit_ns);

#endif /* WEFT_SIM_END_H */
