/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of processes and users in a shard's tables: their use and their limits.
 *
 * Every attached client belongs to two accounts: its process's and its user's. A command that makes
 * an object first checks share_may() and books the object with share_take(). The end of the object,
 * or of its client, books it back with share_give(). shared_defs/hw_share.h has the kinds; weftd
 * sets the limits.
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
	FW_CLIENT_ORPHANS = HW_MAX_CLIENTS, /* a client number: owns objects that processes left */
	SHARE_PROCESSES = HW_MAX_CLIENTS,
	/* Includes users without a client whose objects are not freed yet. */
	SHARE_USERS = 2 * HW_MAX_CLIENTS,
	SHARE_POOL_PARTS = 4, /* a user may hold all of a pool but one of so many parts */
};

struct fw_account {
	uint32_t uid;
	uint32_t pid; /* 0: a user's account, or a process that is not known */
	/* Attached clients, plus owned objects that outlive them: the account is free at 0. */
	uint32_t clients;
	uint32_t serial; /* distinguishes the lives of this slot */
	uint64_t held[HW_SHARES_SHARD];
	uint64_t limit[HW_SHARES_SHARD];
	/*
	 * Contexts that come and go with traffic: of fw_nic.host.wqes, .flows, of enum goal_table.
	 */
	uint32_t wqes;
	uint32_t flows;
	uint32_t goal[SHARE_GOAL_TABLES];
	/* Users only: state held for a while by peers' messages and by the user's own commands. */
	uint32_t recv_msgs;
	uint32_t ud_reasms;
	uint32_t ah_waits;
	uint32_t tag_posteds, tag_arrivals, tag_sends, tag_peers; /* of tagged endpoints */
};

/* The accounts that an object is booked in; they may have ended since. Zeroed: none. */
struct share_owner {
	uint16_t process, user; /* slot + 1; 0: no owner */
	uint32_t process_serial, user_serial;
};
static_assert((int)SHARE_USERS < UINT16_MAX && (int)SHARE_PROCESSES < UINT16_MAX, "slots");

/* A client's part: holders[] by the client's number. */
struct share_holder {
	struct fw_account *user, *process;
	uint64_t held[HW_SHARES_SHARD];
};

/* The part of the instance that share.c owns. */
struct share_nic {
	struct share_holder *holders;         /* FW_CLIENT_ORPHANS + 1 */
	struct fw_account *processes, *users; /* SHARE_PROCESSES, SHARE_USERS, and the orphans' */
	bool quota_met;                       /* set in this command: quota names the limit */
	struct hw_resp_quota quota;
};

/* For each kind: objects that a shard has, and the default limit of a process (0: all). */
extern const uint64_t share_max[HW_SHARES], share_process_default[HW_SHARES];

/* Once, at fw_init(): makes the account of objects that processes leave behind. */
void share_init(struct fw_nic *nic);

/* Adds a client to the accounts of its process and user. Returns 0 or FW_EDQUOT. */
int share_join(struct fw_nic *nic, uint32_t client, const struct fw_client_params *params);
/* Removes a client that has freed all its objects from its accounts. */
void share_leave(struct fw_nic *nic, uint32_t client);

/*
 * True if the client's process and user may have n more of a kind. Otherwise fw_quota() reports the
 * limit, and fw_cmd() answers EDQUOT when its command fails for lack of memory or room.
 */
bool share_may(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n);
void share_take(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n);
void share_give(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n);

/* Makes the RD session for a client's request, in its share. NULL: try again later. */
struct rd_session *share_session_get(struct fw_nic *nic, uint32_t client, uint32_t peer_ip,
				     uint8_t peer_shard);
/*
 * Books an object that may outlive the client into the share of its process and user. Returns false
 * when the share is used up. share_disown() books it back when the object is freed; an owner of
 * none is allowed.
 */
bool share_own(struct fw_nic *nic, uint32_t client, enum hw_share kind, struct share_owner *owner);
void share_disown(struct fw_nic *nic, enum hw_share kind, struct share_owner *owner);

/*
 * True if a user that holds so many elements of a pool may take another one. fw_pool_has_share()
 * limits a process; this limit bounds many processes of one user together.
 */
static inline bool share_pool_may(const struct fw_pool *pool, uint32_t held)
{
	return held < pool->max - pool->max / SHARE_POOL_PARTS;
}

#endif /* WEFT_FW_SHARE_H */
