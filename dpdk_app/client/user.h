/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of processes and users in weftd as a whole: connections, descriptors, memory, mappings.
 *
 * An account exists for each connected process and for its user. There are limits for a process,
 * for all processes of a user, and for all processes together. The firmware counts the tables of a
 * shard (nic_fw/base/share.h) by the limits that user_limits() returns. The functions run on the
 * control thread unless stated otherwise.
 */
#ifndef WEFT_APP_USER_H
#define WEFT_APP_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared_defs/hw_cmd.h"

struct user_process;

/* Resources of one weftd, for the kinds that are not counted by shards. */
struct user_tables {
	uint64_t connections;
	uint64_t descriptors;
	uint64_t bytes;
	uint64_t mappings; /* in weftd's address space */
	uint64_t memory;   /* bytes that processes may register */
};

/* Determines the available resources from the limits of the process, the kernel and its cgroup. */
struct user_tables user_find_tables(void);

/*
 * Sets the limits from quota; a value of 0 selects half of each table for a process and three
 * quarters for a user. Call it once, before the first connection.
 */
void user_init(const struct hw_share_limits *quota, const struct user_tables *tables);

/*
 * Sets other limits while weftd runs. What is held beyond a lower one stays; no more is given until
 * enough has come back. The caller passes user_limits() to the shards.
 */
void user_change(const struct hw_share_limits *quota);

/* Returns all limits in force, including those of a shard's tables. */
const struct hw_share_limits *user_limits(void);

/*
 * Returns the account of a process for one more connection; release it with user_leave(). NULL: out
 * of memory. pid 0: unknown process, which gets an account of its own.
 */
struct user_process *user_join(uid_t uid, pid_t pid) __attribute__((warn_unused_result));
void user_leave(struct user_process *process);
/* Takes another reference, for objects that may outlive the connection. NULL stays NULL. */
struct user_process *user_hold(struct user_process *process);

/* Returns the user to whom the share belongs; for a uid assigned by /etc/subuid, its owner. */
uid_t user_uid(const struct user_process *process);

/*
 * Takes n of a kind. Returns 0; EDQUOT: the share in *quota is exhausted; ENOMEM: weftd's total is
 * exhausted. NULL has no limit. Any thread.
 */
int user_take(struct user_process *process, enum hw_share kind, uint64_t n,
	      struct hw_resp_quota *quota) __attribute__((warn_unused_result));
void user_give(struct user_process *process, enum hw_share kind, uint64_t n);

/*
 * Checks whether the process may have another connection to a NIC with max connections: at most
 * half of them per process and three quarters per user. user_on_nic() adds or removes one.
 */
int user_may_connect(const struct user_process *process, uint32_t nic, uint32_t max,
		     struct hw_resp_quota *quota) __attribute__((warn_unused_result));
void user_on_nic(struct user_process *process, uint32_t nic, int change);

/*
 * Logs which share is exhausted, by whom, and how to raise it; the same line at most every ten
 * seconds.
 */
void user_report(struct user_process *process, const char *nic, const char *program,
		 const struct hw_resp_quota *quota);

/* HW_LIST_USERS: fills the answer from the cursor on. */
void user_list(uint32_t cursor, struct hw_resp_list *list);

#endif /* WEFT_APP_USER_H */
