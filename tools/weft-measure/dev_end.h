/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of target device: each has a NIC and blocks on its completion channel.
 *
 * target_device.c forks one for each end. They share a struct dev_shared with it, and talk over a
 * socket: a byte of enum dev_word each way, so that either side sees at once when the other has
 * died. What a run gave is in the shared memory when DEV_DONE was said.
 */
#ifndef WEFT_MEASURE_DEV_END_H
#define WEFT_MEASURE_DEV_END_H

#include <sys/types.h>

#include "tools/weft-measure/target.h"

enum dev_word {
	DEV_READY = 1, /* end: its NIC is open, ip and qpn are there */
	DEV_CONNECT,   /* target: the peer's ip and qpn are there */
	DEV_RUN,       /* target: plan is there */
	DEV_RUNNING,   /* end: connected, or it listens to the load */
	DEV_DONE,      /* end: its part of the load is over */
	DEV_FAILED,    /* end: error says why; it ends */
};

struct dev_shared {
	uint32_t ip, qpn, peer_ip, peer_qpn;
	bool is_a;
	int cpu; /* to run on; -1: any */
	char device[64];
	struct load_plan plan;
	/* after DEV_DONE */
	struct load load;
	double seconds;
	double cpu_seconds;
	char error[TUNE_ERROR_CHARS];
};

/* Runs the end until its socket is closed, or something fails; its exit status. */
int dev_end_main(int fd, struct dev_shared *shared);

/* dev_cpu.c: a CPU for end 0 or 1 that no core of the weftd behind this NIC has; -1: none. */
int dev_cpu_for(const char *device, uint32_t end);

#endif /* WEFT_MEASURE_DEV_END_H */
