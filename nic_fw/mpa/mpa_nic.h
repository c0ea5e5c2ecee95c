/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that mpa/ owns.
 */
#ifndef WEFT_FW_MPA_NIC_H
#define WEFT_FW_MPA_NIC_H

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/base/timer.h"

struct mpa_nic {
	struct fw_pool conns;  /* struct mpa_conn */
	struct fw_pool setups; /* struct mpa_setup */
	struct fw_pool segs;
	struct fw_pool partials;
	uint8_t *terms; /* mpa_term(): MPA_TERM_MAX bytes of each connection, by its place */
	struct fw_timer
	    *retries;          /* delays after a lack of memory, of each connection, by its place */
	struct fw_list faults; /* mpa_conn.node */
	struct fw_list held;   /* mpa_partial.node, oldest first */
};

#endif /* WEFT_FW_MPA_NIC_H */
