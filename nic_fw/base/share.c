/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts of processes and users: see share.h.
 *
 * Objects are counted where they are made and freed, so detaching the client of a killed process
 * returns its whole share. share_owner.c handles objects that outlive their client.
 * docs/security.md "Shares".
 */
#include "nic_fw/fw_nic.h"

uint64_t fw_share_max(enum hw_share kind)
{
	return share_max[kind];
}

/* ---- accounts */

static uint64_t limit_of(uint64_t asked, uint64_t max)
{
	return asked && asked < max ? asked : max;
}

static void account_limit(struct fw_account *account, const uint64_t *limits)
{
	uint32_t kind;

	for (kind = 0; kind < HW_SHARES_SHARD; kind++)
		account->limit[kind] = limit_of(limits[kind], fw_share_max((enum hw_share)kind));
}

static void process_limit(struct fw_account *account, const uint64_t *limits)
{
	uint32_t kind;

	account_limit(account, limits);
	for (kind = 0; kind < HW_SHARES_SHARD; kind++)
		if (!limits[kind] && share_process_default[kind])
			account->limit[kind] = share_process_default[kind];
}

static void account_open(struct fw_account *account, uint32_t uid, uint32_t pid,
			 const uint64_t *limits)
{
	uint32_t serial = account->serial + 1;

	memset(account, 0, sizeof(*account));
	account->serial = serial;
	account->uid = uid;
	account->pid = pid;
	account_limit(account, limits);
}

void share_init(struct fw_nic *nic)
{
	static const uint64_t none[HW_SHARES];
	struct share_holder *orphans = &nic->share.holders[FW_CLIENT_ORPHANS];

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

/* A free account always exists: there are at least as many accounts as clients. */
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
		/* The account that owns the fewest objects left behind. */
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
	process_limit(account, params->limits.process);
	return account;
}

void fw_set_limits(struct fw_nic *nic, const struct hw_share_limits *limits)
{
	uint32_t i;

	for (i = 0; i < SHARE_PROCESSES; i++)
		if (is_used(&nic->share.processes[i]))
			process_limit(&nic->share.processes[i], limits->process);
	for (i = 0; i < SHARE_USERS; i++)
		if (is_used(&nic->share.users[i]))
			account_limit(&nic->share.users[i], limits->user);
}

int share_join(struct fw_nic *nic, uint32_t client, const struct fw_client_params *params)
{
	struct share_holder *holder = &nic->share.holders[client];

	memset(holder->held, 0, sizeof(holder->held));
	holder->user = user_of(nic, params);
	holder->process = process_of(nic, params);
	if (!share_may(nic, client, HW_SHARE_CLIENT, 1))
		return FW_EDQUOT;
	holder->user->clients++;
	holder->process->clients++;
	share_take(nic, client, HW_SHARE_CLIENT, 1);
	return 0;
}

void share_leave(struct fw_nic *nic, uint32_t client)
{
	struct share_holder *holder = &nic->share.holders[client];
	uint32_t kind;

	share_give(nic, client, HW_SHARE_CLIENT, 1);
	for (kind = 0; kind < HW_SHARES_SHARD; kind++)
		assert(!holder->held[kind]);
	assert(holder->user->clients && holder->process->clients);
	holder->user->clients--;
	assert(holder->user->clients ||
	       (!holder->user->recv_msgs && !holder->user->ud_reasms && !holder->user->ah_waits));
	/* Sessions, connections and streams of the process stay in its user's share. */
	holder->process->clients--;
	for (kind = 0; !holder->process->clients && kind < sizeof(lasting) / sizeof(lasting[0]);
	     kind++)
		holder->process->held[lasting[kind]] = 0;
	holder->user = holder->process = NULL;
}

/* ---- use of shares */

static bool has_room(struct fw_nic *nic, const struct fw_account *account, enum hw_share_of of,
		     enum hw_share kind, uint64_t n)
{
	if (n <= account->limit[kind] && account->held[kind] <= account->limit[kind] - n)
		return true;
	/*
	 * Without a limit of its own, the account is bounded by the table, which reports when it is
	 * full.
	 */
	if (account->limit[kind] == fw_share_max(kind))
		return true;
	nic->share.quota_met = true;
	nic->share.quota = (struct hw_resp_quota){kind, of, account->limit[kind]};
	return false;
}

bool share_may(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n)
{
	const struct share_holder *owner = &nic->share.holders[client];

	return has_room(nic, owner->process, HW_SHARE_OF_PROCESS, kind, n) &&
	       has_room(nic, owner->user, HW_SHARE_OF_USER, kind, n);
}

void share_take(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n)
{
	struct share_holder *owner = &nic->share.holders[client];

	owner->held[kind] += n;
	owner->process->held[kind] += n;
	owner->user->held[kind] += n;
}

void share_give(struct fw_nic *nic, uint32_t client, enum hw_share kind, uint64_t n)
{
	struct share_holder *owner = &nic->share.holders[client];

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
