/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance: one shard of one NIC, all its tables in its arena.
 *
 * Only files of nic_fw include it. fw_init() (fw.c) lays the tables out in the arena; none is
 * touched beyond its used part.
 */
#ifndef WEFT_FW_NIC_H
#define WEFT_FW_NIC_H

#include <assert.h>
#include <string.h>

#include "nic_fw/host/ah.h"
#include "nic_fw/host/client.h"
#include "nic_fw/cm/cm.h"
#include "nic_fw/host/cmd.h"
#include "nic_fw/host/cmd_slot.h"
#include "shared_defs/hw_cmd_slot.h"
#include "nic_fw/base/counters.h"
#include "nic_fw/host/cq.h"
#include "nic_fw/dgram/dgram.h"
#include "nic_fw/stream/esp_stream.h"
#include "nic_fw/host/llp.h"
#include "nic_fw/net/eth.h"
#include "nic_fw/net/eth_run.h"
#include "nic_fw/fw.h"
#include "nic_fw/fw_port.h"
#include "nic_fw/net/net_nic.h"
#include "nic_fw/net/net_up.h"
#include "nic_fw/net/l4_port.h"
#include "nic_fw/stream/stream_up.h"
#include "nic_fw/dgram/dgram_up.h"
#include "nic_fw/host/host_up.h"
#include "nic_fw/base/err.h"
#include "nic_fw/stream/esp_nic.h"
#include "nic_fw/rdmap/rdmap_nic.h"
#include "nic_fw/mpa/mpa_nic.h"
#include "nic_fw/coll/goal.h"
#include "nic_fw/coll/goal_ending.h"
#include "nic_fw/coll/goal_local.h"
#include "nic_fw/coll/goal_lost.h"
#include "nic_fw/coll/goal_match.h"
#include "nic_fw/coll/goal_msg_tx.h"
#include "nic_fw/coll/goal_slow.h"
#include "nic_fw/coll/goal_take.h"
#include "nic_fw/coll/goal_timers.h"
#include "nic_fw/host/guess.h"
#include "nic_fw/net/ip.h"
#include "nic_fw/base/hash.h"
#include "nic_fw/base/keyed.h"
#include "nic_fw/base/list.h"
#include "nic_fw/net/mac_filter.h"
#include "nic_fw/net/mcast.h"
#include "nic_fw/host/mem.h"
#include "nic_fw/coll/mgrp.h"
#include "nic_fw/mpa/mpa.h"
#include "nic_fw/base/pool.h"
#include "nic_fw/host/qp.h"
#include "nic_fw/host/lent.h"
#include "nic_fw/dgram/rd.h"
#include "nic_fw/dgram/rd_bundle.h"
#include "nic_fw/dgram/rd_flow.h"
#include "nic_fw/dgram/rd_notice.h"
#include "nic_fw/dgram/rd_slot.h"
#include "nic_fw/rdmap/rdmap.h"
#include "nic_fw/rdmap/rdmap_up.h"
#include "nic_fw/rdmap/requester.h"
#include "nic_fw/host/rq.h"
#include "nic_fw/host/sched.h"
#include "nic_fw/base/share.h"
#include "nic_fw/base/slice.h"
#include "nic_fw/host/slow_atomic.h"
#include "nic_fw/base/stage.h"
#include "nic_fw/base/station.h"
#include "nic_fw/tcp/tcp_flow.h"
#include "nic_fw/tcp/tcp_rest.h"
#include "nic_fw/tag/tag.h"
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
	FW_TX_STAGE = FW_BURST,
};

struct fw_nic {
	struct fw_port port;
	struct fw_config config;
	uint64_t now_ns;
	uint64_t turn_ns; /* when the last turn began: fw_now() moves now_ns between turns */
	uint64_t gap_ns;  /* between this turn and the one before, or the planned wake-up */
	/* fw_count_absence() */
	uint64_t there_ns; /* until then it was present, or asleep without work */
	uint64_t away_ns;  /* total time of its absences */
	uint32_t absences;
	struct fw_counters counters;
	struct fw_stages stages;
	fw_trace_fn trace;
	void *trace_ctx;
	bool link_up;
	bool stopped;
	struct fw_key key; /* keyed.c */
	struct fw_hash_key hash_key;
	uint32_t qpn_base; /* nic_index and shard in a QPN's upper bits */
	uint64_t start_ns; /* of the first turn */
	struct fw_slices slices;
	struct fw_timers timers;
	uint8_t *scratch;   /* FW_SCRATCH_BYTES: for memory that is not mapped */
	uint32_t dear;      /* dear.h: units charged to this stage */
	uint32_t dear_most; /* of a stage in this turn */
	bool dear_rests;    /* no copies of unmapped memory in this turn that can wait */
	uint32_t turns;     /* modulo 2^32 */
	uint32_t turn_did;  /* FW_DID_* */

	/* state of each floor */
	struct share_nic share;
	struct station_nic station;
	struct net_nic net;
	struct tcp_nic tcp;
	struct esp_nic esp;
	struct host_nic host;
	struct rdmap_nic rdmap;
	struct rd_nic rd;
	struct ud_nic ud;
	struct mpa_nic mpa;
	struct cm_nic cm;
	struct goal_nic goal;
	struct mgrp_nic mgrp;
	struct tag_nic tag;
};

enum {
	FW_SCRATCH_BYTES = 65536,
	FW_SOON_NS = 10000, /* wait for room in the port */
};

#define FW_COUNT(nic, name)  ((nic)->counters.name++)
#define FW_ADD(nic, name, n) ((nic)->counters.name += (n))

static inline void fw_trace(const struct fw_nic *nic, enum trace_event event, uint32_t qpn,
			    uint64_t arg0, uint64_t arg1)
{
	if (__builtin_expect(nic->trace != NULL, 0))
		nic->trace(nic->trace_ctx, nic->now_ns, event, qpn, arg0, arg1);
}

/* The present, as the beginning of a wait (fw_waited()). */
static inline struct fw_moment fw_moment_now(const struct fw_nic *nic)
{
	return (struct fw_moment){
	    .ns = nic->now_ns,
	    .away = (uint32_t)(nic->away_ns / FW_AWAY_UNIT_NS),
	    .absences = nic->absences,
	};
}

/* The time within a turn if the port has a clock, else that of the turn. */
static inline uint64_t fw_clock_ns(const struct fw_nic *nic)
{
	uint64_t ns = nic->port.clock_ns ? nic->port.clock_ns(nic->port.ctx) : 0;

	return ns > nic->now_ns ? ns : nic->now_ns;
}

/* hw_bar_header.poll_cpu */
static inline uint32_t fw_poll_cpu(const struct fw_nic *nic)
{
	return nic->port.poll_cpu ? nic->port.poll_cpu(nic->port.ctx) : 0;
}

/* True if a QP is visible to others: its process is not leaving, or shares it (xrc.h). */
static inline bool qp_is_live(const struct fw_nic *nic, const struct fw_qp *qp)
{
	return !nic->host.clients[qp->client].closing ||
	       (qp->type == HW_QPT_XRC_RECV && !fw_list_empty(&qp->opens));
}

/* As qp_find(), for requests from outside: hides QPs of a process that is leaving. */
static inline struct fw_qp *qp_find_live(struct fw_nic *nic, uint32_t qpn)
{
	struct fw_qp *qp = qp_find(nic, qpn);

	return qp && qp_is_live(nic, qp) ? qp : NULL;
}

/* Enters a stage. Pass its result to the next call, at the stage's end. */
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

/* A step of each packet or request, where a call would cost as much; and one of few of them. */
#define FW_INLINE static inline __attribute__((always_inline))
#define FW_APART  static __attribute__((noinline))

#include "nic_fw/base/dear.h"
#include "nic_fw/dgram/rd_find.h"
#include "nic_fw/net/eth_stage.h"

#endif /* WEFT_FW_NIC_H */
