/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capture of one NIC: every received and sent frame, as pcapng through a pipe or into a file.
 *
 * port_rx.c and port_tx.c add frames on the cores and never wait: frames that do not fit the buffer
 * are counted. A thread writes. client_cmd.c starts a capture through a pipe (HW_CMD_CAPTURE),
 * capture_conf.c one into a file (--capture); control.c frees it after the reader has gone or the
 * file is full.
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
 * Starts a capture and returns the reader's end of the pipe. 0; -EBUSY: a capture is already
 * running; or -errno. Control thread.
 */
int capture_start(struct nic *nic, int *read_fd) __attribute__((warn_unused_result));

/*
 * Starts a capture into a file, which is emptied, until it has that many bytes. Returns 0, or
 * -errno: -EBUSY as above, else own_file_reason() says why. Control thread.
 */
int capture_to_file(struct nic *nic, const char *path, uint64_t limit_bytes)
    __attribute__((warn_unused_result));

/* Returns true if a capture into a file runs. Control thread. */
bool capture_has_file(const struct nic *nic);

/* Records a frame. On the shard's core. */
void capture_frame(struct capture *capture, const struct shard *shard, enum capture_dir dir,
		   const struct rte_mbuf *m);

/* Returns the number of frames of a shard dropped because the buffer was full. Any thread. */
uint64_t capture_dropped(const struct capture *capture, const struct shard *shard);

/* Returns true once the reader has gone. Control thread. */
bool capture_finished(const struct capture *capture);

/*
 * Ends the capture: on return no core uses it (lcore_quiesce), and buffered frames were written if
 * the reader accepted them at once. Control thread.
 */
void capture_stop(struct nic *nic);

#endif /* WEFT_APP_CAPTURE_H */
