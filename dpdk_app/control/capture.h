/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture of one NIC: every frame it takes and sends, as pcapng through a pipe.
 *
 * port_rx.c and port_tx.c put frames in on the cores, never waiting: what does not fit the
 * buffer is counted. A thread of its own writes the pipe. client_cmd.c starts it
 * (HW_CMD_CAPTURE), control.c clears away after the reader has gone.
 */
#ifndef WEFT_APP_CAPTURE_H
#define WEFT_APP_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"

/* The direction bits of pcapng's epb_flags. */
enum capture_dir {
	CAPTURE_IN = 1,
	CAPTURE_OUT = 2,
};

enum {
	CAPTURE_RING_BYTES = 4 << 20, /* per shard */
};

/*
 * Starts a capture and gives the end of the pipe that its reader takes. 0; -EBUSY: one
 * runs already; or -errno. Control thread.
 */
int capture_start(struct nic *nic, int *read_fd) __attribute__((warn_unused_result));

/* A frame passes. On the shard's core. */
void capture_frame(struct capture *capture, const struct shard *shard, enum capture_dir dir,
		   const struct rte_mbuf *m);

/* Frames of a shard that found the buffer full. Any thread. */
uint64_t capture_dropped(const struct capture *capture, const struct shard *shard);

/* True once the reader has gone. Control thread. */
bool capture_finished(const struct capture *capture);

/*
 * Ends it: no core uses it any more when this returns (lcore_quiesce), what is buffered is
 * written if the reader takes it at once. Control thread.
 */
void capture_stop(struct nic *nic);

#endif /* WEFT_APP_CAPTURE_H */
