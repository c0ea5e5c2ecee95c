/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that tag/ owns: tagged endpoints. docs/tagged.md.
 */
#ifndef WEFT_FW_TAG_NIC_H
#define WEFT_FW_TAG_NIC_H

#include <stdint.h>

#include "nic_fw/base/buddy.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/tag/tag_match.h"

struct tag_ep;

struct tag_nic {
	struct tag_table table;    /* of all endpoints; made with the first */
	struct fw_multi **buckets; /* TAG_BUCKETS */
	struct tag_ep *eps;        /* HW_MAX_QP, by the place of the queue pair */
	struct fw_pool posteds;    /* struct tag_posted */
	struct fw_pool arrivals;
	struct fw_pool sends;
	struct fw_pool kept; /* TAG_KEPT_BYTES: inline data of sends that became an RTS */
	struct fw_pool peers;
	struct fw_pool rtrs;
	struct fw_pool shares;
	uint32_t *share_hash; /* TAG_SHARE_HASH: tag_share by its endpoint, IP and QPN */
	uint32_t *peer_hash;  /* FW_HASH_SIZE: tag_peer by its endpoint, IP and QPN */
	struct fw_list work;  /* fw_client.tag_node: processes with work for a later turn */
	struct fw_list downs; /* tag_send.peer_node: their peer's session has ended */
	struct fw_list lost;  /* tag_posted.written, likewise */
	/* Memory of the records of pools (struct buddy_block), TAG_RECORDS_BYTES. */
	struct buddy records;
	uint8_t *records_base;
	struct buddy_block *records_blocks;
	/* Limits of this turn, for all endpoints: what is left of them. */
	uint32_t copy_left; /* bytes that they copy */
	uint32_t ops_left;
	uint32_t looks_left;
};

#endif /* WEFT_FW_TAG_NIC_H */
