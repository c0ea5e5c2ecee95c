/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts of processes and users: see share.h.
 *
 * All is counted where objects are made and freed, so a process that is killed gives back
 * everything when its client is detached. share_owner.c has what outlives them. docs/security.md
 * "Shares".
 */
#include "nic_fw/fw_nic.h"

static_assert((int)SHARE_GOAL_TABLES == (int)GOAL_TABLES, "a count of each");
static_assert((int)CLIENT_GOAL_TABLES == (int)GOAL_TABLES, "a count of each");

uint64_t fw_share_max(enum hw_share kind)
{
	static const uint64_t max[HW_SHARES] = {
	    [HW_SHARE_QP] = HW_MAX_QP,
	    [HW_SHARE_CQ] = HW_MAX_CQ,
	    [HW_SHARE_SRQ] = HW_MAX_SRQ,
	    [HW_SHARE_MR] = HW_MAX_MR,
	    [HW_SHARE_MW] = HW_MAX_MR,
	    [HW_SHARE_PD] = HW_MAX_PD,
	    [HW_SHARE_AH] = HW_MAX_AH,
	    [HW_SHARE_MCAST] = HW_MAX_TOTAL_MCAST,
	    [HW_SHARE_GROUP] = HW_MAX_MCAST_GRP,
	    [HW_SHARE_CM] = HW_MAX_CM,
	    [HW_SHARE_EQ] = FW_MAX_EQS,
	    [HW_SHARE_XRCD] = HW_MAX_XRCD,
	    [HW_SHARE_SESSION] = HW_MAX_PEERS,
	    [HW_SHARE_TCP] = MPA_MAX_CONNS,
	    [HW_SHARE_LISTENER] = TCP_MAX_LISTENERS,
	    [HW_SHARE_STREAM] = ESP_MAX_STREAMS,
	    [HW_SHARE_COMM] = HW_MAX_GOAL_COMMS,
	    [HW_SHARE_SCHEDULE] = HW_MAX_GOAL_SCHEDULES,
	    [HW_SHARE_GOAL] = GOAL_HEAP_BYTES,
	    [HW_SHARE_CLIENT] = HW_MAX_CLIENTS,
	};

	return max[kind];
}

/* ---- accounts */

static uint64_t limit_of(uint64_t asked, uint64_t max)
{
	return asked && asked < max ? asked : max;
}

static void account_open(struct fw_account *account, uint32_t uid, uint32_t pid,
			 const uint64_t *limits)
{
	uint32_t serial = account->serial + 1, kind;

	memset(account, 0, sizeof(*account));
	account->serial = serial;
	account->uid = uid;
	account->pid = pid;
	for (kind = 0; kind < HW_SHARES_SHARD; kind++)
		account->limit[kind] = limit_of(limits[kind], fw_share_max((enum hw_share)kind));
}

void share_init(struct fw_nic *nic)
{
	static const uint64_t none[HW_SHARES];
	struct fw_client *orphans = &nic->host.clients[FW_CLIENT_ORPHANS];

	orphans->process = &nic->share.processes[SHARE_PROCESSES];
	orphans->user = &nic->share.users[SHARE_USERS];
	account_open(orphans->process, 0, 0, none);
	account_open(orphans->user, 0, 0, none);
}

/* Kinds whose objects may outlive the client that made them: share_owner.c. */
static const enum hw_share lasting[] = {HW_SHARE_SESSION, HW_SHARE_TCP, HW_SHARE_LISTENER,
					HW_SHARE_STREAM};

static uint64_t left_behind(const struct fw_account *account)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		n += account->held[lasting[i]];
	return n;
}

static bool is_used(const struct fw_account *account)
{
	return account->clients || left_behind(account);
}

/* A place for one more; it exists, since there are at least as many as clients. */
static struct fw_account *free_place(struct fw_account *accounts, uint32_t num)
{
	struct fw_account *best = NULL;
	uint32_t i;

	for (i = 0; i < num; i++) {
		struct fw_account *account = &accounts[i];

		if (account->clients)
			continue;
		if (!is_used(account))
			return account;
		/* The account with the fewest of all that exist for what they left alone. */
		if (!best || left_behind(account) < left_behind(best))
			best = account;
	}
	assert(best);
	return best;
}

static struct fw_account *user_of(struct fw_nic *nic, const struct fw_client_params *params)
{
	struct fw_account *account;
	uint32_t i;

	for (i = 0; i < SHARE_USERS; i++)
		if (is_used(&nic->share.users[i]) && nic->share.users[i].uid == params->uid)
			return &nic->share.users[i];
	account = free_place(nic->share.users, SHARE_USERS);
	account_open(account, params->uid, 0, params->limits.user);
	return account;
}

static struct fw_account *process_of(struct fw_nic *nic, const struct fw_client_params *params)
{
	struct fw_account *account;
	uint32_t i;

	for (i = 0; params->pid && i < SHARE_PROCESSES; i++)
		if (nic->share.processes[i].clients && nic->share.processes[i].pid == params->pid &&
		    nic->share.processes[i].uid == params->uid)
			return &nic->share.processes[i];
	account = free_place(nic->share.processes, SHARE_PROCESSES);
	account_open(account, params->uid, params->pid, params->limits.process);
	if (!params->limits.process[HW_SHARE_GOAL])
		account->limit[HW_SHARE_GOAL] = GOAL_CLIENT_QUOTA_BYTES;
	return account;
}

int share_join(struct fw_nic *nic, struct fw_client *client, const struct fw_client_params *params)
{
	uint32_t number = (uint32_t)(client - nic->host.clients);

	memset(client->held, 0, sizeof(client->held));
	client->user = user_of(nic, params);
	client->process = process_of(nic, params);
	if (!share_may(nic, number, HW_SHARE_CLIENT, 1))
		return FW_EDQUOT;
	client->user->clients++;
	client->process->clients++;
	share_take(nic, number, HW_SHARE_CLIENT, 1);
	return 0;
}

void share_leave(struct fw_nic *nic, struct fw_client *client)
{
	uint32_t kind;

	share_give(nic, (uint32_t)(client - nic->host.clients), HW_SHARE_CLIENT, 1);
	for (kind = 0; kind < HW_SHARES_SHARD; kind++)
		assert(!client->held[kind]);
	assert(client->user->clients && client->process->clients);
	client->user->clients--;
	assert(client->user->clients ||
	       (!client->user->recv_msgs && !client->user->ud_reasms && !client->user->ah_waits));
	/* Its sessions, connections and streams stay its user's. */
	client->process->clients--;
	for (kind = 0; !client->process->clients && kind < sizeof(lasting) / sizeof(lasting[0]);
	     kind++)
		client->process->held[lasting[kind]] = 0;
	client->user = client->process = NULL;
}

/* ---- what they hold */

static bool has_room(struct fw_nic *nic, const struct fw_account *account, enum hw_share_of of,
		     enum hw_share kind, uint64_t n)
{
	if (n <= account->limit[kind] && account->held[kind] <= account->limit[kind] - n)
		return true;
	/* Without a limit of its own it is the table that is full, as will be seen there. */
	if (account->limit[kind] == fw_share_max(kind))
		return true;
	nic->share.quota_met = true;
	nic->share.quota = (struct hw_resp_quota){kind, of, account->limit[kind]};
	return false;
}

bool share_may(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n)
{
	const struct fw_client *owner = &nic->host.clients[client];

	return has_room(nic, owner->process, HW_SHARE_OF_PROCESS, kind, n) &&
	       has_room(nic, owner->user, HW_SHARE_OF_USER, kind, n);
}

void share_take(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n)
{
	struct fw_client *owner = &nic->host.clients[client];

	owner->held[kind] += n;
	owner->process->held[kind] += n;
	owner->user->held[kind] += n;
}

void share_give(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n)
{
	struct fw_client *owner = &nic->host.clients[client];

	assert(owner->held[kind] >= n && owner->process->held[kind] >= n &&
	       owner->user->held[kind] >= n);
	owner->held[kind] -= n;
	owner->process->held[kind] -= n;
	owner->user->held[kind] -= n;
}

struct hw_resp_quota fw_quota(const struct fw_nic *nic)
{
	return nic->share.quota;
}
