/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resources shared by processes and users: for each kind the word used in `weftd --quota` and
 * `weftctl users`, and the name used in messages.
 *
 * Kinds of the first list are tables of a shard, counted by nic_fw/base/share.c. Kinds of the
 * second list belong to the whole weftd, counted by dpdk_app/client/user.c. docs/operating.md,
 * "Quotas".
 */
#ifndef WEFT_HW_SHARE_H
#define WEFT_HW_SHARE_H

#include <assert.h>
#include <stdint.h>

#define HW_SHARES_OF_SHARD(X)                                                                      \
	X(QP, "qp", "queue pairs")                                                                 \
	X(CQ, "cq", "completion queues")                                                           \
	X(SRQ, "srq", "shared receive queues")                                                     \
	X(MR, "mr", "memory regions and windows")                                                  \
	X(MW, "mw", "memory windows")                                                              \
	X(PD, "pd", "protection domains")                                                          \
	X(AH, "ah", "address handles")                                                             \
	X(MCAST, "mcast", "attachments to groups")                                                 \
	X(GROUP, "groups", "multicast groups")                                                     \
	X(CM, "cm", "connection endpoints")                                                        \
	X(EQ, "eq", "event queues")                                                                \
	X(XRCD, "xrcd", "XRC domains")                                                             \
	X(SESSION, "sessions", "RD sessions")                                                      \
	X(TCP, "tcp", "TCP connections")                                                           \
	X(LISTENER, "listeners", "TCP listeners")                                                  \
	X(STREAM, "streams", "ESP streams")                                                        \
	X(COMM, "comms", "communicators")                                                          \
	X(SCHEDULE, "schedules", "schedules")                                                      \
	X(GOAL, "goal", "bytes of GOAL memory")                                                    \
	X(CLIENT, "clients", "attachments")

#define HW_SHARES_OF_WEFTD(X)                                                                      \
	X(CONNECTION, "connections", "connections to weftd")                                       \
	X(DESCRIPTOR, "descriptors", "descriptors of weftd")                                       \
	X(BYTES, "bytes", "bytes of queues and buffers")                                           \
	X(MAPPING, "mappings", "mappings of weftd's address space")                                \
	X(MEMORY, "memory", "bytes of registered memory")

/* Kinds by number; kinds of a shard come first. */
enum hw_share {
#define HW_SHARE_NUMBER(kind, word, name) HW_SHARE_##kind,
	HW_SHARES_OF_SHARD(HW_SHARE_NUMBER) HW_SHARES_SHARD,
	HW_SHARES_BEFORE_WEFTD = HW_SHARES_SHARD - 1,
	HW_SHARES_OF_WEFTD(HW_SHARE_NUMBER)
#undef HW_SHARE_NUMBER
	HW_SHARES
};
static_assert((int)HW_SHARE_CONNECTION == (int)HW_SHARES_SHARD, "no number is left out");

/* The limit that a command reached: a process's or a user's. */
enum hw_share_of {
	HW_SHARE_OF_PROCESS,
	HW_SHARE_OF_USER,
};

/* Limits of every process and of every user, by kind; 0: the whole table. */
struct hw_share_limits {
	uint64_t process[HW_SHARES];
	uint64_t user[HW_SHARES];
};

#endif /* WEFT_HW_SHARE_H */
