/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance: one shard of one NIC, all its tables in its arena.
 *
 * Included by every .c of nic_fw and by nothing else. fw_init() (fw.c) lays the tables out
 * in the arena; none is touched beyond what was used.
 */
#ifndef WEFT_FW_NIC_H
#define WEFT_FW_NIC_H

#include <assert.h>
#include <string.h>

#include "nic_fw/host/ah.h"
#include "nic_fw/host/client.h"
#include "nic_fw/cm/cm.h"
#include "nic_fw/host/cmd.h"
#include "nic_fw/base/counters.h"
#include "nic_fw/host/cq.h"
#include "nic_fw/dgram/dgram.h"
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/rdmap/llp.h"
#include "nic_fw/net/eth.h"
#include "nic_fw/fw.h"
#include "nic_fw/fw_port.h"
#include "nic_fw/coll/goal.h"
#include "nic_fw/coll/goal_ending.h"
#include "nic_fw/host/guess.h"
#include "nic_fw/net/ip.h"
#include "nic_fw/base/keyed.h"
#include "nic_fw/base/list.h"
#include "nic_fw/net/mac_filter.h"
#include "nic_fw/net/mcast.h"
#include "nic_fw/host/mem.h"
#include "nic_fw/coll/mgrp.h"
#include "nic_fw/mpa/mpa.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/host/qp.h"
#include "nic_fw/dgram/rd.h"
#include "nic_fw/rdmap/rdmap.h"
#include "nic_fw/rdmap/rq.h"
#include "nic_fw/host/sched.h"
#include "nic_fw/base/share.h"
#include "nic_fw/base/slice.h"
#include "nic_fw/base/stage.h"
#include "nic_fw/tcp/tcp_flow.h"
#include "nic_fw/base/timer.h"
#include "nic_fw/dgram/ud.h"
#include "nic_fw/host/wqe.h"
#include "nic_fw/host/xrc.h"
#include "shared_defs/trace_events.h"
#include "shared_defs/wire_mpa.h"

enum {
	FW_MAX_EQS = 8192,
	FW_MAX_WQES = 1 << 18,
	FW_MAX_FLOWS = 1 << 17,
	FW_MAX_RECV_MSGS = 1 << 16,
	FW_MAX_HELD = 1 << 16,
	FW_MAX_WINDOWS = HW_MAX_PEERS,
	FW_MAX_TIMERS = 1 << 19,
	FW_HASH_SIZE = 1 << 14, /* heads of each hash table */
	FW_AH_WAITERS = 256,    /* CREATE_AH commands that wait for ARP */
	FW_TX_STAGE = FW_BURST,
	FW_ESP_HASH_SIZE = 4096,
	FW_ESP_SERVICES = 4,
};

struct fw_ah_waiter {
	bool used;
	uint32_t client;
	uint32_t ip; /* next hop, network byte order */
	uint32_t ah;
	uint32_t tag;
	struct fw_timer timer; /* answers at last, whatever becomes of ARP */
};

struct fw_nic {
	struct fw_port port;
	struct fw_config config;
	uint64_t now_ns;
	uint64_t turn_ns; /* when the last turn began: fw_now() moves now_ns between turns */
	uint64_t gap_ns;  /* between this turn and the one before, or when it was to be woken */
	/* fw_count_absence() */
	uint64_t there_ns; /* until then it was there, or asleep and not wanted */
	uint64_t away_ns;  /* all that it was away */
	uint32_t absences;
	struct fw_counters counters;
	struct fw_stages stages;
	fw_trace_fn trace;
	void *trace_ctx;
	bool link_up;
	bool stopped;
	struct fw_key key; /* keyed.c */
	uint32_t qpn_base; /* nic_index and shard in a QPN's upper bits */

	/* staged frames to send */
	struct fw_tx_frame *tx; /* FW_TX_STAGE */
	uint32_t tx_count;
	uint32_t tx_allow;      /* frames of data that may still be staged in this turn */
	struct fw_rx_frame *rx; /* FW_BURST */

	struct fw_slices slices;
	struct fw_list db_clients;
	struct fw_list sched_qps;
	struct fw_list rd_ready;              /* sessions that may send */
	struct fw_list rd_acks;               /* sessions that owe an ACK */
	struct rd_grants rd_grants;           /* to those that send to us */
	struct rd_share rd_shares[RD_SHARES]; /* of stations whose HELLOs make sessions */
	uint32_t num_half_open;               /* sessions that nothing but a HELLO was heard of */
	uint32_t num_foreign;                 /* that no process here has used */
	uint64_t start_ns;                    /* of the first turn */
	struct fw_list rd_resolving;          /* sessions that wait for ARP */
	struct fw_list neigh_due[NEIGH_WAIT_KINDS]; /* who waited for it, and is to look again */
	uint32_t neigh_changes; /* addresses learned: sessions look theirs up anew */
	uint32_t terminates;    /* that peers have not acknowledged */
	struct fw_list irq_list;
	struct fw_list
	    ud_sent; /* UD requests (qp_node) whose frames are staged, not yet with the port */
	uint32_t *recv_hash;   /* FW_HASH_SIZE: recv_msg by peer's QP and ours */
	uint32_t recv_seed;    /* of its places, drawn with the first; 0: not yet */
	uint32_t recv_serial;  /* last recv_msg.serial given out */
	struct fw_qp *null_qp; /* answers in the name of QPs that do not exist */
	struct fw_timers timers;

	struct fw_account *processes, *users; /* SHARE_PROCESSES, SHARE_USERS, and the orphans' */
	bool quota_met;                       /* in this command: quota says whose */
	struct hw_resp_quota quota;

	struct fw_client *clients;
	uint32_t cq_resizes;                  /* RESIZE_CQ that began: the serial of the last */
	struct fw_bar_extent *client_extents; /* FW_BAR_EXTENTS for each client: its bar.free */
	struct fw_ids client_ids;
	struct fw_pd *pds;
	struct fw_ids pd_ids;
	struct fw_mr *mrs;
	struct fw_ids mr_ids;
	struct guess *guesses; /* GUESS_PLACES */
	struct fw_cq *cqs;
	struct fw_ids cq_ids;
	struct fw_eq *eqs;
	struct fw_ids eq_ids;
	struct fw_srq *srqs;
	struct fw_ids srq_ids;
	struct fw_xrcd *xrcds;
	struct fw_ids xrcd_ids;
	uint64_t xrc_domains; /* the last number given out */
	struct fw_pool qp_opens;
	struct hw_qp_record *null_record; /* of QPs that have none: nothing is ever posted */
	struct fw_qp *qps;
	struct fw_ids qp_ids;
	struct fw_ah *ahs;
	struct fw_ids ah_ids;
	struct fw_ah_waiter *ah_waiters;
	uint32_t ah_waiting;
	struct moder_vector vectors[HW_NUM_VECTORS];

	struct neigh *neigh;
	uint32_t *neigh_hash;
	uint32_t neigh_count;
	uint32_t neigh_strangers[NEIGH_STRANGERS]; /* index + 1: asked for, oldest at neigh_turn */
	uint32_t neigh_turn;
	struct neigh_rate neigh_rates[NEIGH_RATES];

	struct fw_pool mac_filters;
	uint32_t mac_filter_hash[MAC_FILTER_HASH_SIZE];
	struct fw_list mcast_groups; /* in the order in which they were made */
	struct fw_pool mcast_group_pool;
	struct fw_pool mcast_members;
	uint32_t mcast_hash[MCAST_HASH_SIZE];
	struct igmp igmp;

	struct fw_pool wqes;
	struct fw_pool wqe_exts;
	struct fw_pool flows;
	struct fw_pool tx_windows;
	struct fw_pool rx_windows;
	struct fw_pool held;
	struct fw_pool recv_msgs;
	struct fw_pool ud_reasms;
	struct fw_pool ud_buffers;
	uint32_t *ud_hash;
	uint64_t ud_error_ns;     /* rate limit of error messages out */
	uint32_t ud_error_tokens; /* spent */
	uint32_t ud_event_tokens; /* the same for events that error messages of peers raise */
	uint64_t ud_event_ns;
	struct rd_session *sessions;
	struct fw_ids session_ids;
	uint32_t session_hand; /* clock hand that looks for an idle session to give up */
	uint32_t *session_hash;
	uint32_t *flow_hash;
	/* ESP */
	struct esp_stream *esp_streams;
	struct fw_ids esp_ids;
	struct fw_pool esp_held;
	uint32_t *esp_hash;       /* FW_ESP_HASH_SIZE */
	struct fw_list esp_ready; /* streams that may send */
	struct fw_list
	    esp_acks; /* streams that owe an ACK: those that must go first, then by time */
	uint32_t esp_unreachables;       /* sent in this turn */
	struct fw_pool esp_rdmap_lasts;  /* Terminates whose QP has failed */
	struct fw_list esp_rdmap_faults; /* esp_rdmap.fault_node */
	const struct esp_ops *esp_ops[FW_ESP_SERVICES];

	/* connection manager */
	struct cm_ep *cm_eps; /* HW_MAX_CM */
	struct fw_ids cm_ids;
	struct fw_pool cm_data;                      /* private data, CM_DATA_BYTES each */
	uint32_t *cm_hash;                           /* CM_HASH_SIZE: passive ones by peer */
	uint32_t *cm_ports;                          /* where the port has no table */
	struct fw_list cm_listeners[CM_LISTEN_HASH]; /* by space, port; cm_ep.wait_node */
	uint32_t cm_num_listeners;
	struct fw_list cm_resolving; /* cm_ep.wait_node */
	struct fw_list cm_orphans;   /* cm_ep.node: whose process is gone */

	/* MPA over TCP */
	struct fw_pool mpa_conns;  /* struct mpa_conn */
	struct fw_pool mpa_setups; /* struct mpa_setup */
	struct fw_pool mpa_segs;
	struct fw_pool mpa_partials;
	struct fw_list mpa_faults; /* mpa_conn.fault_node */
	struct fw_list mpa_held;   /* mpa_partial.node, as they began */
	struct tcp_nic tcp;

	/* collectives */
	struct goal_heap goal_heap;
	struct goal_comm *goal_comms;
	struct fw_ids goal_comm_ids;
	struct goal_schedule *goal_schedules;
	struct fw_ids goal_schedule_ids;
	struct goal_loading goal_loads[GOAL_MAX_LOADS];
	struct fw_timer goal_orphan_timer;
	uint32_t goal_loads_active;
	uint32_t goal_load_hand;     /* the load that had a step last */
	struct fw_list goal_clients; /* with runs that can go on */
	struct fw_pool goal_links;
	struct fw_pool goal_runs;
	struct fw_pool goal_sends;
	struct fw_pool goal_recvs;
	struct fw_pool goal_unexps;
	struct fw_pool goal_calcs;
	uint32_t *goal_run_hash;  /* GOAL_MAX_RUNS */
	uint32_t *goal_send_hash; /* GOAL_HASH_SIZE each */
	uint32_t *goal_recv_hash;
	uint32_t *goal_unexp_hash;
	/* reliable groups */
	struct fw_pool mgrp_spaces;
	uint32_t *mgrp_hash; /* MGRP_HASH_SIZE: communicators by key */
	struct fw_list mgrp_ready;
	struct fw_list mgrp_due; /* spaces that owe a STATUS */
	uint8_t *scratch;        /* FW_SCRATCH_BYTES: for memory that is not mapped */
	bool mem_busy;           /* why mem.c failed last: not now, else not at all */
};

enum {
	FW_SCRATCH_BYTES = 65536,
	FW_SOON_NS = 10000, /* when waiting for room in the port */
};

#define FW_COUNT(nic, name)  ((nic)->counters.name++)
#define FW_ADD(nic, name, n) ((nic)->counters.name += (n))

static inline void fw_trace(const struct fw_nic *nic, enum trace_event event, uint32_t qpn,
			    uint64_t arg0, uint64_t arg1)
{
	if (__builtin_expect(nic->trace != NULL, 0))
		nic->trace(nic->trace_ctx, nic->now_ns, event, qpn, arg0, arg1);
}

/* The time within a turn, where the port has a clock; else that of the turn. */
static inline uint64_t fw_clock_ns(const struct fw_nic *nic)
{
	uint64_t ns = nic->port.clock_ns ? nic->port.clock_ns(nic->port.ctx) : 0;

	return ns > nic->now_ns ? ns : nic->now_ns;
}

/* Whether a QP is there for others: its process is not leaving, or shares it (xrc.h). */
static inline bool qp_is_live(const struct fw_nic *nic, const struct fw_qp *qp)
{
	return !nic->clients[qp->client].closing || !fw_list_empty(&qp->opens);
}

/* qp_find() for whoever comes from outside: one whose process is leaving is not there. */
static inline struct fw_qp *qp_find_live(struct fw_nic *nic, uint32_t qpn)
{
	struct fw_qp *qp = qp_find(nic, qpn);

	return qp && qp_is_live(nic, qp) ? qp : NULL;
}

/* Enters a stage; give what it returned to the next call, at the stage's end. */
static inline uint8_t fw_stage_enter(struct fw_nic *nic, uint8_t stage)
{
	if (__builtin_expect(nic->stages.clock != NULL, 0))
		return fw_stage_switch(&nic->stages, stage);
	return stage;
}

/* Counts a frame that is not used; reason is a drop_* counter. */
#define FW_DROP(nic, reason)                                                                       \
	do {                                                                                       \
		FW_COUNT(nic, reason);                                                             \
		fw_trace(nic, TRACE_DROP, 0,                                                       \
			 offsetof(struct fw_counters, reason) / sizeof(uint64_t), 0);              \
	} while (0)

/* Copies bytes of shared memory once: the compiler may not read the source again. */
static inline void fw_copy_once(void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
	__asm__ volatile("" : : "r"(dst) : "memory");
}

/* Mixes a key for the hash tables. */
static inline uint32_t fw_hash(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t h = (uint64_t)a * 0x9e3779b97f4a7c15u;

	h ^= (uint64_t)b * 0xc2b2ae3d27d4eb4fu;
	h ^= (uint64_t)c * 0x165667b19e3779f9u;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> 32);
}

#endif /* WEFT_FW_NIC_H */
