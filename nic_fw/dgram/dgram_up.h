/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that dgram/ makes to floors above it: datagrams of the connection manager.
 * up/dgram_up.c fills it in.
 */
#ifndef WEFT_FW_DGRAM_UP_H
#define WEFT_FW_DGRAM_UP_H

#include "nic_fw/dgram/dgram.h"

struct dgram_up {
	void (*cm)(struct fw_nic *nic, const struct rdmap_seg *pkt);
};

extern const struct dgram_up dgram_up;

#endif /* WEFT_FW_DGRAM_UP_H */
