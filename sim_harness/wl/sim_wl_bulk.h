/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workloads incast and outcast: their state, shared by sim_wl_bulk.c (traffic) and
 * sim_wl_bulk_check.c (results).
 */
#ifndef WEFT_SIM_WL_BULK_H
#define WEFT_SIM_WL_BULK_H

#include "sim_harness/wl/sim_workload.h"

enum {
	P_FLOWS,
	P_BYTES,
	P_DEPTH,
	P_GBPS,
	P_BUFFER,
	P_ECN,
	P_SLOW_US,
	P_WARM_US,
	P_IDLE_US,
	P_LATE,
	P_FAR,
	P_TCP,
};

enum {
	ETH_GAP_BYTES = 24,  /* preamble, frame check sequence, inter-frame gap */
	WINDOW_NS = 5000000, /* length of a window */
	WINDOWS_MAX = 4096,  /* windows recorded */
};

struct bulk_flow {
	struct weft_ah *ah;              /* RD */
	struct weft_qp *from_qp, *to_qp; /* RD: those of the ends */
	uint32_t sent, received;
	uint64_t bytes;     /* received in time */
	uint64_t *begun_ns; /* per outstanding request; 0: none */
};

struct bulk_end {
	struct sim_run *run;
	struct sim_end end;
	struct weft_comp_channel *conns; /* TCP: events of connections */
	uint32_t index;
	uint32_t num_recvs;
	size_t recv_at; /* offset of the first receive in the buffer */
	bool step_due;
};

struct bulk {
	bool incast, tcp;
	uint32_t num, depth, bytes;
	struct bulk_flow *flow;
	struct bulk_end *ends; /* one per NIC */
	uint64_t under_way;
	uint64_t window[WINDOWS_MAX]; /* bytes received per window */
	uint64_t late_ns;             /* the longest request */
	uint64_t *took_ns;            /* durations of requests that completed in time */
	uint32_t num_took;
};

/* Returns the time from which received data counts. */
uint64_t bulk_measured_ns(const struct sim_run *run);

/* Reports the results of a run. */
void bulk_check(struct sim_run *run);

#endif /* WEFT_SIM_WL_BULK_H */
