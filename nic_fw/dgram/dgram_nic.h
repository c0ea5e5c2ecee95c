/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the instance that dgram/ owns: reliable datagrams, datagrams of UD.
 * docs/wire-format.md.
 */
#ifndef WEFT_FW_DGRAM_NIC_H
#define WEFT_FW_DGRAM_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/line_window.h"
#include "nic_fw/base/list.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/base/station.h"
#include "nic_fw/base/timer.h"

struct rd_flow;
struct rd_peer;
struct rd_session;

/* The receive line of a shard, shared among its senders: rd_grant.c. */
struct rd_grants {
	/* rd_session.grant_node: sessions that may get more, in the order of their turns. */
	struct fw_list turn;
	/* rd_session.held_node: sessions with unused credits, the longest silent first. */
	struct fw_list held;
	uint32_t num_backlogged; /* sessions whose peers have more to send */
	uint32_t open;           /* sessions that are open */
	uint64_t out_bytes;      /* of credits that were granted and not used */
	struct line_window line; /* limit of out_bytes */
	uint64_t first_ns;       /* start of the time in which first_probes were sent */
	uint32_t first_probes;   /* probes that brought new sessions their first credits */
	struct fw_timer timer;
};

/* Sessions made by HELLOs of one class of stations (station.h). */
struct rd_share {
	struct fw_list half_open; /* rd_session.wait_node, oldest first */
	uint16_t num_half_open;
	uint16_t num_foreign;
};

struct rd_nic {
	struct fw_list ready;             /* sessions that may send */
	struct fw_list acks;              /* sessions that owe an ACK */
	uint64_t ack_prompt_ns;           /* until then ACKs wait for nothing */
	struct rd_grants grants;          /* granted to senders */
	struct rd_share shares[STATIONS]; /* by the stations whose HELLOs make sessions */
	uint32_t num_half_open;           /* sessions of which only a HELLO was received */
	uint32_t num_foreign;             /* sessions that no local process has used */
	struct fw_list resolving;         /* sessions that wait for ARP */
	struct fw_list ending;            /* rd_session.ending_node: sessions with ending flows */
	struct fw_list stopped;           /* rd_flow.ready_node: flows that ended and were ready */
	struct fw_pool flows;
	struct fw_pool tx_windows;
	struct fw_pool rx_windows;
	struct fw_pool held;
	struct rd_peer *peers;
	struct fw_ids session_ids; /* numbers of peers */
	struct fw_pool awake;      /* sessions that are not idle */
	struct fw_list awake_list; /* rd_session.awake_node: the one looked at longest ago first */
	uint32_t rest_looks;       /* sessions that rd_rest_look() is to look at */
	uint32_t session_hand;     /* clock hand that searches for an idle session to evict */
	uint32_t *session_hash;
	uint32_t *flow_hash;
	uint8_t *bundles;     /* messages of frames that are staged, RD_BUNDLE_ROOM each */
	uint32_t next_bundle; /* the one to be used next: of FW_TX_STAGE, in turn */
	uint8_t *flat_bundle; /* one received, contiguous */
	/* Found last: packets of a burst, and the requests of a queue, often go the same way. */
	struct rd_session *session_found; /* NULL: none */
	struct rd_flow *flow_found;       /* NULL: none */
};

struct ud_nic {
	struct fw_list sent; /* requests (qp_node) whose frames are staged, not yet with the port */
	struct fw_pool reasms;
	struct fw_pool buffers;
	uint32_t *hash;
	uint64_t error_ns;     /* rate limit of outgoing error messages */
	uint32_t error_tokens; /* spent */
	uint32_t event_tokens; /* the same for events that error messages of peers raise */
	uint64_t event_ns;
};

#endif /* WEFT_FW_DGRAM_NIC_H */
