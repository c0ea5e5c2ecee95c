/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint: a simulated process with the objects that libweft needs to move data.
 *
 * It has a protection domain, completion queue, queue pair and one registered buffer, created with
 * libweft's public calls and destroyed again. A test creates further objects in the endpoint's
 * context itself. sim_harness/wl and tests/sim use it; one thread per struct sim.
 */
#ifndef WEFT_SIM_END_H
#define WEFT_SIM_END_H

#include "host_driver/weft.h"
#include "sim_harness/sim.h"

enum {
	SIM_END_QKEY = 0x1234,
};

/* Objects to create; a zero field gets the default named beside it. */
struct sim_end_attr {
	enum weft_qp_type type;    /* default: RD */
	uint32_t qp_flags;         /* enum weft_qp_flags */
	uint32_t access;           /* of QP and buffer; default: all remote rights */
	uint32_t max_wr;           /* per queue; default: 128 */
	uint32_t max_sge;          /* default: 16 */
	uint32_t max_inline_bytes; /* default: 256 */
	uint32_t srq_wr;           /* default 0: no SRQ */
	uint32_t cqe;              /* default: 4 * max_wr */
	size_t bytes;              /* of the buffer; default: 1 MiB */
	bool unmapped;             /* the NIC accesses the buffer through host_read/host_write */
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

/*
 * Creates an endpoint. attr NULL: all defaults. Returns 0 or a negative errno; after a failure the
 * endpoint is empty.
 */
int sim_end_open(struct sim_end *end, struct sim_nic *nic, const struct sim_end_attr *attr);

/* Destroys the objects in order, including objects that others created in the context. */
void sim_end_close(struct sim_end *end);

/* Kills the process and frees the host's part. */
void sim_end_kill(struct sim_end *end);

/*
 * Returns an address handle for a NIC by its IP address. Runs the simulation during ARP and retries
 * a few times on failure.
 */
struct weft_ah *sim_end_ah(struct sim_end *end, const struct sim_nic *peer);

/* Returns part of the buffer as an SGE. */
struct weft_sge sim_end_sge(const struct sim_end *end, size_t offset, uint32_t bytes);

/* Posts a receive into [offset, offset + bytes) to the QP or its SRQ. Returns 0 or -errno. */
int sim_end_recv(struct sim_end *end, uint64_t wr_id, size_t offset, uint32_t bytes);

/*
 * Runs the simulation until n completions have been polled from the end's CQ, at most limit_ns.
 * Returns the number stored in wc.
 */
uint32_t sim_end_wait(struct sim_end *end, struct weft_wc *wc, uint32_t n, uint64_t limit_ns);

#endif /* WEFT_SIM_END_H */
