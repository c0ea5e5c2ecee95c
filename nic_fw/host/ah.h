/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: destinations of datagrams.
 *
 * ah.c makes them; the answer waits until ARP has resolved the next hop (neigh.c), as in rdma-core,
 * and is ETIMEDOUT or EHOSTUNREACH if that fails. wqe.c reads them.
 */
#ifndef WEFT_FW_AH_H
#define WEFT_FW_AH_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "shared_defs/hw_cmd.h"

struct fw_nic;
struct fw_timer;

struct fw_ah {
	bool used;
	uint16_t client;
	uint32_t pd;
	struct hw_av av;
	struct fw_list node;
};

/* Timers: up/timer_fires.c. */
void ah_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_AH_H */
