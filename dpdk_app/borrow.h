/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Borrowed payload: a frame to a NIC that the same core polls is handed over with its
 * payload still in the process's memory, and is copied once, by its receiver.
 *
 * Such a frame is an mbuf that holds the headers and, behind them, where the pieces lie. The
 * sender's shard keeps a reference to each until its receiver has freed it; borrow_settle() turns
 * those that still wait into ordinary frames. Since one core sends, receives and settles, no frame
 * is read while its memory goes. Called by port_tx.c and port_rx.c on that core.
 */
#ifndef WEFT_APP_BORROW_H
#define WEFT_APP_BORROW_H

#include <stdbool.h>
#include <stdint.h>

#include "dpdk_app/app.h"
#include "nic_fw/fw_port.h"

struct rte_mbuf;

enum {
	BORROW_LEAST_BYTES = 1024, /* shorter frames are copied as fast */
};

/* Registers the mark of borrowed frames with DPDK. Once, before cores run. 0 or -errno. */
int borrow_init(void) __attribute__((warn_unused_result));

/*
 * Makes m the frame without copying its payload, and keeps a reference to it. False: the
 * frame does not lend itself to it (its size, its pieces, or too many are under way), and m is
 * as it was.
 */
bool borrow_frame(struct shard *shard, const struct fw_tx_frame *frame, struct rte_mbuf *m);

/* True when the payload of a frame lies in the memory of a process. */
bool borrow_is_borrowed(const struct rte_mbuf *m);

/* The pieces of a borrowed frame, at most FW_RX_SEGS_MAX, its CRC32C's place included. They are
 * the mbuf's as long as it is borrowed. */
uint32_t borrow_pieces(const struct rte_mbuf *m, struct fw_rx_seg *seg);

/* Copies the payload of a borrowed frame, with CRC32C and checksum: an ordinary one from then on.
 */
void borrow_copy(struct rte_mbuf *m);

/* Gives back the references to frames that their receivers are done with. */
void borrow_sweep(struct shard *shard);

/* On return no frame that this shard sent points into memory of a process. */
void borrow_settle(struct shard *shard);

/* Gives all references back at the end: no frame is under way, no core runs. */
void borrow_drop(struct shard *shard);

#endif /* WEFT_APP_BORROW_H */
