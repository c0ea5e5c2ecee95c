/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv4 groups: the QPs attached to each (mcast.c), and the reports to routers (igmp.c,
 * igmp_rx.c).
 *
 * A group exists from the first attachment on until its leaving has been reported as often as IGMP
 * wants. A datagram to a group arrives once and is handed to each attached QP (ud_rx.c). IBA
 * 10.5.2, 11.3 (attach, detach); RFC 1112 (groups of IPv4), RFC 3376 (IGMP version 3).
 */
#ifndef WEFT_FW_MCAST_H
#define WEFT_FW_MCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/list.h"
#include "nic_fw/base/timer.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/wire_igmp.h"

struct fw_nic;
struct fw_qp;
struct fw_rx_frame;
struct ip_rx_info;

enum {
	MCAST_HASH_SIZE = 1024,
	IGMP_MAX_SOURCES = 32, /* of one query; for more, the whole group is reported */
	IGMP_ROBUSTNESS = 2,
	IGMP_QUERY_INTERVAL_S = 125,
};
#define IGMP_UNSOLICITED_NS UINT64_C(1000000000) /* RFC 3376 8.11 */
#define IGMP_GAP_NS         UINT64_C(10000000)   /* between two messages of ours: 100 a second */
#define IGMP_UNIT_NS        UINT64_C(100000000)  /* of max_resp_code */
#define IGMP_V1_RESPONSE_NS UINT64_C(10000000000)

struct mcast_group {
	uint32_t ip;        /* network byte order */
	uint32_t hash_next; /* index + 1 */
	uint32_t num_members;
	uint32_t client;        /* client whose share it is in; FW_NONE: it has no member */
	struct fw_list members; /* mcast_member.group_node, in order of attachment */
	struct fw_list node;    /* in nic->net.mcast_groups */
	uint64_t rx_packets;
	/* igmp.c: reports left of a change, and the time of the next */
	uint32_t changes_left;
	uint64_t change_ns;
	/* igmp_rx.c: time at which a query is to be answered, 0: none; for these sources, 0: all */
	uint64_t query_ns;
	uint32_t num_sources;
	uint32_t source[IGMP_MAX_SOURCES]; /* network byte order */
};

struct mcast_member {
	struct fw_list group_node;
	struct fw_list qp_node; /* qp->mcasts */
	struct mcast_group *group;
	struct fw_qp *qp;
};

/* State of IGMP for the network; the groups have their own part. */
struct igmp {
	struct fw_timer timer;
	uint64_t general_ns;   /* time at which a general query is to be answered, 0: none */
	uint64_t next_tx_ns;   /* no message before this time */
	uint64_t next_look_ns; /* no scan of all groups before this time */
	uint64_t spread_ns;    /* last time that groups got times to answer a general query */
	uint64_t v1_until_ns;  /* a querier of version 1 is presumed until then; likewise */
	uint64_t v2_until_ns;  /* version 2 (RFC 3376 7.2.1) */
	uint32_t robustness;
	uint32_t query_interval_s;
	uint32_t version; /* version spoken now; for the counters */
};

/* Returns the group with this address (network byte order), attached or leaving; or NULL. */
struct mcast_group *mcast_find(const struct fw_nic *nic, uint32_t ip);
/* True if datagrams to the group are wanted here. */
static inline bool mcast_has_members(const struct mcast_group *group)
{
	return group && group->num_members;
}
/* Removes a group without members whose reports are all sent. */
void mcast_forget(struct fw_nic *nic, struct mcast_group *group);
/* Returns the QP's attachment to the group; NULL: it has none. */
struct mcast_member *mcast_member_of(const struct fw_qp *qp, uint32_t ip);
/* Attaches a QP that is not attached yet. 0 or FW_ENOSPC. */
int mcast_attach(struct fw_nic *nic, struct fw_qp *qp, uint32_t ip);
void mcast_detach(struct fw_nic *nic, struct mcast_member *member);

/* igmp.c. Once, at fw_init(). */
void igmp_init(struct fw_nic *nic);
/* The group has got its first member, or lost its last one. */
void igmp_changed(struct fw_nic *nic, struct mcast_group *group);
/* The link is up again: the network may have lost its state, or be another one. */
void igmp_link_up(struct fw_nic *nic);
/* Returns the version to speak: that of the oldest recent querier (RFC 3376 7.2.1). */
uint32_t igmp_version(struct fw_nic *nic);
/* Returns a random time within (0, max]. */
uint64_t igmp_delay_ns(struct fw_nic *nic, uint64_t max_ns);
/* Every host is in 224.0.0.1, and none reports it (RFC 3376 5). */
bool igmp_is_reported(const struct mcast_group *group);
/*
 * Notes that a report of a group is due at a time. A timer that fires too early does no harm: it
 * scans all groups, at most once in IGMP_GAP_NS. A process or a stranger's query cannot cause more
 * scans.
 */
void igmp_due_at(struct fw_nic *nic, uint64_t at_ns);

/* igmp_rx.c */
void igmp_rx(struct fw_nic *nic, const struct fw_rx_frame *frame, const struct ip_rx_info *info);

/* Timers: up/timer_fires.c. */
void igmp_timer_fire(struct fw_nic *nic, struct fw_timer *timer);

#endif /* WEFT_FW_MCAST_H */
