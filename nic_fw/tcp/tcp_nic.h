/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the instance that tcp/ owns. docs/tcp.md.
 */
#ifndef WEFT_FW_TCP_NIC_H
#define WEFT_FW_TCP_NIC_H

#include <stdint.h>

#include "nic_fw/base/line_window.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/tcp/tcp.h"

struct tcp_listener;

enum {
	TCP_LISTEN_HASH_SIZE = 256,
	TCP_SYNACK_TRIES = 5, /* of a passive open */
};

/* A rate limit: at most limit in a second. */
struct tcp_bucket {
	uint64_t since_ns;
	uint32_t spent, limit; /* in this second */
};

/* The receive line of a shard, shared among its connections: tcp_grant.c. */
struct tcp_grants {
	struct fw_list turn; /* tcp_flow.grant_node: may get more, in the order of their turns */
	struct fw_list held; /* tcp_flow.held_node: with unused window, the longest silent first */
	uint32_t open;       /* connections that may receive */
	uint32_t num_backlogged; /* connections whose peers have more to send */
	uint32_t came_bytes;     /* of segments, since the last sample of line */
	uint64_t out_bytes;      /* of window that was granted and not used */
	struct line_window line; /* limit of out_bytes */
	struct fw_timer timer;
};

struct tcp_nic {
	const struct tcp_ops *ops[TCP_USERS];
	struct fw_pool flows; /* of connections that do not rest */
	struct fw_pool rests; /* struct tcp_rest: of those that do */
	uint32_t *rest_hash;  /* TCP_HASH_SIZE: of rests */
	uint32_t num_flows;   /* of both pools */
	uint32_t num_flows_max;
	uint32_t rest_looks;  /* connections that tcp_rest_look() is to look at */
	struct fw_list awake; /* tcp_flow.awake_node: those that are not in TIME-WAIT */
	uint32_t *hash;       /* TCP_HASH_SIZE */
	struct fw_list ready;
	struct fw_list acks;
	struct fw_list resolving; /* tcp_flow.wait_node: next hop not known yet */
	struct fw_list time_wait; /* oldest first */
	struct tcp_listener *listeners;
	uint32_t listen_hash[TCP_LISTEN_HASH_SIZE];
	uint32_t num_listeners;
	struct fw_pool syns;
	uint32_t *syn_hash;
	/* tcp_syn.node by the number of tries, each in the order of deadlines. */
	struct fw_list syn_lists[TCP_SYNACK_TRIES];
	struct fw_list syn_ended; /* tcp_syn.listener_node: their listener has ended */
	uint32_t listen_serial;   /* of the latest listener */
	struct fw_timer syn_timer;
	struct fw_pool chunks;
	struct tcp_aside *asides; /* of each flow, by its place */
	uint64_t cookie_ns;       /* the last SYN cookie; 0: none */
	uint32_t neigh_changes;
	struct tcp_bucket challenges, resets;
	struct tcp_grants grants;
};

#endif /* WEFT_FW_TCP_NIC_H */
