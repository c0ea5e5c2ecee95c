/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of processes and users in weftd as a whole: connections, descriptors, memory, mappings.
 *
 * An account exists for each process that has a connection, and one for its user. A limit of each
 * stands against what a process has, what all processes of its user have, and what all have
 * together. The tables of a shard are counted in the firmware (nic_fw/base/share.h), by the limits
 * that user_limits() gives. Functions run on the control thread, but where said.
 */
#ifndef WEFT_APP_USER_H
#define WEFT_APP_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared_defs/hw_cmd.h"

struct user_process;

/* All that one weftd can give away, of the kinds that no shard counts. */
struct user_tables {
	uint64_t connections;
	uint64_t descriptors;
	uint64_t bytes;
	uint64_t mappings; /* of weftd's address space */
	uint64_t memory;   /* bytes that processes may register */
};

/* Finds out what there is to share: limits of the process, of the kernel and of its cgroup. */
struct user_tables user_find_tables(void);

/*
 * Sets the limits: what quota says; where it has 0, a half of each table for a process and three
 * quarters for a user. Once, before the first connection.
 */
void user_init(const struct hw_share_limits *quota, const struct user_tables *tables);

/* Every limit that is in force, those of a shard's tables included. */
const struct hw_share_limits *user_limits(void);

/*
 * The account of a process, for one more connection that it has; to be given back with
 * user_leave(). NULL: no memory. pid 0 is a process that is not known: it shares with none.
 */
struct user_process *user_join(uid_t uid, pid_t pid) __attribute__((warn_unused_result));
void user_leave(struct user_process *process);
/* One more to be given back: for what may outlive the connection. NULL stays NULL. */
struct user_process *user_hold(struct user_process *process);

/* The user whose share it is: of the uids that /etc/subuid gives to somebody, that one. */
uid_t user_uid(const struct user_process *process);

/*
 * Takes n of a kind. 0; EDQUOT: the share of the process or user is used up, and *quota says
 * which; ENOMEM: all of weftd's are. NULL has no limit. Any thread.
 */
int user_take(struct user_process *process, enum hw_share kind, uint64_t n,
	      struct hw_resp_quota *quota) __attribute__((warn_unused_result));
void user_give(struct user_process *process, enum hw_share kind, uint64_t n);

/*
 * Whether the process may have one more connection to a NIC that takes so many: no process gets
 * more than a half of them, no user more than three quarters. user_on_nic() counts it in or out.
 */
int user_may_connect(const struct user_process *process, uint32_t nic, uint32_t max,
		     struct hw_resp_quota *quota) __attribute__((warn_unused_result));
void user_on_nic(struct user_process *process, uint32_t nic, int change);

/*
 * Says in the log which share is used up, who used it and what raises it; the same at most every
 * ten seconds.
 */
void user_tell(struct user_process *process, const char *nic, const char *program,
	       const struct hw_resp_quota *quota);

/* HW_LIST_USERS: fills the answer from the cursor on. */
void user_list(uint32_t cursor, struct hw_resp_list *list);

#endif /* WEFT_APP_USER_H */
