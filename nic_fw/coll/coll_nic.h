/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the instance that coll/ owns: the interpreter, reliable groups.
 * docs/collectives.md, docs/wire-group.md.
 */
#ifndef WEFT_FW_COLL_NIC_H
#define WEFT_FW_COLL_NIC_H

#include <stdint.h>

#include "nic_fw/base/buddy.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/multi.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/base/timer.h"

struct goal_comm;
struct goal_loading;
struct goal_schedule;

struct goal_heap {
	uint8_t *base;
	struct buddy buddy;
	/*
	 * Ring of large freed blocks. They stay unusable until the port has taken their pages back.
	 */
	struct goal_heap_gone {
		uint64_t offset, left_bytes;
	} * gone; /* GOAL_HEAP_GONE */
	uint32_t gone_head, gone_count;
};

struct goal_nic {
	struct goal_heap heap;
	struct goal_comm *comms;
	struct fw_ids comm_ids;
	struct goal_schedule *schedules;
	struct fw_ids schedule_ids;
	struct goal_loading *loads; /* GOAL_MAX_LOADS */
	struct fw_timer orphan_timer;
	uint32_t loads_active;
	uint32_t load_hand;     /* the load that made the last step */
	struct fw_list clients; /* clients with runs that can proceed */
	struct fw_list lost;    /* goal_comm.lost_node: communicators that have lost ranks */
	struct fw_list drains;  /* goal_link.lost_node: links to be freed */
	struct fw_pool links;
	struct fw_pool runs;
	struct fw_pool sends;
	struct fw_pool recvs;
	struct fw_pool unexps;
	struct fw_pool calcs;
	uint32_t *run_hash;  /* GOAL_MAX_RUNS */
	uint32_t *send_hash; /* GOAL_HASH_SIZE each */
	uint32_t *recv_hash;
	uint32_t *unexp_hash;
	struct fw_multi **wild_recvs;  /* GOAL_HASH_SIZE */
	struct fw_multi **wild_unexps; /* GOAL_WILD_SHAPES * GOAL_HASH_SIZE */
	struct fw_multi **self_hash;   /* GOAL_HASH_SIZE */
};

struct mgrp_nic {
	struct fw_pool spaces;
	uint32_t *hash; /* MGRP_HASH_SIZE: communicators by key */
	struct fw_list ready;
	struct fw_list due; /* spaces that owe a STATUS */
};

#endif /* WEFT_FW_COLL_NIC_H */
