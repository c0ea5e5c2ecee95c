/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of a burst that are taken as a run; eth_join.c.
 */
#ifndef WEFT_FW_ETH_JOIN_H
#define WEFT_FW_ETH_JOIN_H

#include <stdint.h>

struct fw_nic;
struct fw_rx_frame;

enum {
	ETH_JOIN_LEAST = 512, /* bytes of a frame that may be a part of a run; headers fit */
};

/*
 * Handles the first of n frames as a run, if they are one. Returns how many; 0: the first one is no
 * part of a run, nothing was done.
 */
uint32_t eth_join_rx(struct fw_nic *nic, struct fw_rx_frame *frames, uint32_t n);

#endif /* WEFT_FW_ETH_JOIN_H */
