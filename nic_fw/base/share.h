/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of processes and users in a shard's tables: how much each holds, and may hold.
 *
 * Every attached client belongs to two accounts: its process's and its user's. A command that makes
 * an object asks share_may() first and books it with share_take(); the end of the object, or of its
 * client, books it back with share_give(). shared_defs/hw_share.h has the kinds, weftd the limits.
 */
#ifndef WEFT_FW_SHARE_H
#define WEFT_FW_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "nic_fw/base/pool.h"
#include "shared_defs/hw_cmd.h"
#include "shared_defs/hw_limits.h"
#include "shared_defs/hw_share.h"

struct fw_client_params;
struct fw_nic;
struct rd_session;

enum {
	SHARE_GOAL_TABLES = 7,              /* GOAL_TABLES, which goal.h has */
	FW_CLIENT_ORPHANS = HW_MAX_CLIENTS, /* a client's number: holds what processes left */
	SHARE_PROCESSES = HW_MAX_CLIENTS,
	/* Users without a client who own what is not given up yet have a place, too. */
	SHARE_USERS = 2 * HW_MAX_CLIENTS,
	SHARE_POOL_PARTS = 4, /* a user may hold all of a pool but one of so many parts */
};

struct fw_account {
	uint32_t uid;
	uint32_t pid;     /* 0: a user's account, or a process that is not known */
	uint32_t clients; /* attached; with what outlives them: what the account exists for */
	uint32_t serial;  /* tells the lives of this place apart */
	uint64_t held[HW_SHARES_SHARD];
	uint64_t limit[HW_SHARES_SHARD];
	/* Contexts that come and go with traffic: of fw_nic.host.wqes, .flows, of enum goal_table.
	 */
	uint32_t wqes;
	uint32_t flows;
	uint32_t goal[SHARE_GOAL_TABLES];
	/* A user's alone: what its peers' messages, and its own commands, take for a while. */
	uint32_t recv_msgs;
	uint32_t ud_reasms;
	uint32_t ah_waits;
};

/* The accounts that an object is in the share of; they may have gone since. Zeroed: none. */
struct share_owner {
	uint32_t process, user; /* place + 1; 0: nobody's */
	uint32_t process_serial, user_serial;
};

/* A client's part: holders[] by the client's number. */
struct share_holder {
	struct fw_account *user, *process;
	uint64_t held[HW_SHARES_SHARD];
};

/* The part of the instance that share.c owns. */
struct share_nic {
	struct share_holder *holders;         /* FW_CLIENT_ORPHANS + 1 */
	struct fw_account *processes, *users; /* SHARE_PROCESSES, SHARE_USERS, and the orphans' */
	bool quota_met;                       /* in this command: quota names the limit */
	struct hw_resp_quota quota;
};

/* For each kind: objects that a shard has, and what a process without a limit may hold (0: all). */
extern const uint64_t share_max[HW_SHARES], share_process_default[HW_SHARES];

/* Once, at fw_init(): the account of what processes leave behind. */
void share_init(struct fw_nic *nic);

/* A client joins the accounts of its process and user. 0 or FW_EDQUOT. */
int share_join(struct fw_nic *nic, uint32_t client, const struct fw_client_params *params);
/* The client has given back everything. */
void share_leave(struct fw_nic *nic, uint32_t client);

/*
 * Whether the client's process and user may have n more of a kind. Where not, fw_quota() says why,
 * and fw_cmd() answers EDQUOT when its command fails for want of memory or room.
 */
bool share_may(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n);
void share_take(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n);
void share_give(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n);

/* The session that a request of the client asks for, which is not there: NULL: try again later. */
struct rd_session *share_session_get(struct fw_nic *nic, uint32_t client, uint32_t peer_ip,
				     uint8_t peer_shard);
/*
 * Books an object that may outlive the client into the share of its process and user. False: they
 * have theirs. share_disown() books it back when the object is freed; an owner of none, too.
 */
bool share_own(struct fw_nic *nic, uint32_t client, enum hw_share kind, struct share_owner *owner);
void share_disown(struct fw_nic *nic, enum hw_share kind, struct share_owner *owner);

/*
 * Whether a user who holds so many elements of a pool may take another one. A process's share is
 * fw_pool_has_share(), which many processes of one user together would escape.
 */
static inline bool share_pool_may(const struct fw_pool *pool, uint32_t held)
{
	return held < pool->max - pool->max / SHARE_POOL_PARTS;
}

#endif /* WEFT_FW_SHARE_H */
