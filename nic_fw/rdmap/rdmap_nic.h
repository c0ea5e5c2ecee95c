/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that rdmap/ owns.
 */
#ifndef WEFT_FW_RDMAP_NIC_H
#define WEFT_FW_RDMAP_NIC_H

#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"

struct rdmap_nic {
	uint32_t terminates;       /* Terminates that peers have not acknowledged */
	uint16_t *notices_to;      /* STATION_NOTICES by the place of a session of RD */
	struct fw_pool esp_lasts;  /* Terminates whose QP has failed */
	struct fw_list esp_faults; /* esp_rdmap.fault_node */
};

#endif /* WEFT_FW_RDMAP_NIC_H */
