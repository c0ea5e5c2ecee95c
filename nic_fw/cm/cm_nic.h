/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that cm/ owns. docs/connection-manager.md.
 */
#ifndef WEFT_FW_CM_NIC_H
#define WEFT_FW_CM_NIC_H

#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"

struct cm_ep;

enum {
	CM_LISTEN_HASH = 256,
};

struct cm_nic {
	struct cm_ep *eps; /* HW_MAX_CM */
	struct fw_ids ids;
	struct fw_pool data;                      /* private data, CM_DATA_BYTES each */
	struct fw_pool waiting;                   /* struct cm_waiting */
	uint32_t *hash;                           /* CM_HASH_SIZE: passive ones by peer */
	struct fw_list listeners[CM_LISTEN_HASH]; /* by space, port; cm_ep.wait_node */
	uint32_t num_listeners;
	struct fw_list resolving; /* cm_ep.wait_node */
	/* cm_ep.node: endpoints without a process. Those in LINGER have notified their peers. */
	struct fw_list orphans, lingering;
};

#endif /* WEFT_FW_CM_NIC_H */
