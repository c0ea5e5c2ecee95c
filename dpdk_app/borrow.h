/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Borrowed payload: a frame to a NIC that the same core polls is passed on with its payload still
 * in the process's memory, and is copied once, by its receiver.
 *
 * Such a frame is an mbuf with the headers and, after them, a list of the pieces' locations. The
 * sender's shard holds a reference to each frame until its receiver has freed it. borrow_settle()
 * converts the frames still waiting into ordinary ones. The CRC32C is left out unless --crc is on.
 * A run of packets travels in the same way, as one frame; settled, it carries its payload itself. A
 * wire to the kernel takes runs, too (wire/wire_runs.h), and copies them as it sends them.
 * Because one core sends, receives and settles, no frame is read after its memory is released. All
 * functions run on that core.
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

/*
 * Registers the mark of borrowed frames with DPDK. Call it once, before cores run. Returns 0 or
 * -errno.
 */
int borrow_init(void) __attribute__((warn_unused_result));

/*
 * Fills m with the frame without copying its payload, and keeps a reference to it. crc: with its
 * CRC32C. Returns false, with m unchanged, if the frame cannot be borrowed (its size, its pieces,
 * or too many are under way).
 */
bool borrow_frame(struct shard *shard, const struct fw_tx_frame *frame, bool crc,
		  struct rte_mbuf *m);

/* Returns true if the payload of a frame lies in a process's memory. */
bool borrow_is_borrowed(const struct rte_mbuf *m);

/*
 * Returns the pieces of a borrowed frame, at most FW_RX_SEGS_MAX, including the place of its
 * CRC32C. They stay valid while the mbuf is borrowed.
 */
uint32_t borrow_pieces(const struct rte_mbuf *m, struct fw_rx_seg *seg);

/*
 * Returns the packets of a frame: 1; of a run (struct fw_tx_frame) their number, *segment_bytes the
 * payload of each but the last; 0: the payload is lost.
 */
uint32_t borrow_packets(const struct rte_mbuf *m, uint32_t *segment_bytes);

/* Returns the packets of n frames. */
uint32_t borrow_count(struct rte_mbuf *const *frames, uint32_t n);

/*
 * Copies the payload of a borrowed frame, with CRC32C and checksum; it is an ordinary frame
 * afterwards. Not for runs.
 */
void borrow_copy(struct rte_mbuf *m);

/*
 * Writes a packet of a borrowed frame, counted from 0, as a wire would carry it; m is unchanged.
 * Returns its bytes: m->pkt_len if it is the only one.
 */
uint32_t borrow_seal(const struct rte_mbuf *m, uint32_t packet, uint8_t *dst);

/*
 * Makes m, an empty mbuf with room for it, a packet of a run, counted from 0: an ordinary frame,
 * without the checksum that is left out of the run.
 */
void borrow_cut(const struct rte_mbuf *run, uint32_t packet, struct rte_mbuf *m);

/* Releases the references to frames that their receivers have freed. */
void borrow_sweep(struct shard *shard);

/* On return, no frame that this shard sent refers to a process's memory. */
void borrow_settle(struct shard *shard);
/* The same for the frames that lie in these bytes. */
void borrow_settle_mem(struct shard *shard, const void *mem, size_t bytes);

/* Releases all references at shutdown, when no frame is under way and no core runs. */
void borrow_drop(struct shard *shard);

#endif /* WEFT_APP_BORROW_H */
