/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts of processes and users: see user.h.
 *
 * Counts are atomic, since cores take memory for queues (port_host.c). The lists of accounts belong
 * to the control thread. Calls user_tables.c and libc. docs/security.md, "Shares".
 */
#include "dpdk_app/client/user.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_app/app.h"
#include "dpdk_app/log.h"
#include "dpdk_app/client/user_tables.h"
#include "nic_fw/fw.h"

enum {
	USER_KINDS = HW_SHARES - HW_SHARES_SHARD,
	USER_BUCKETS = 256,
};
#define USER_REPORT_NS UINT64_C(10000000000)

/* Index of a kind in counts. */
static uint32_t index_of(enum hw_share kind)
{
	assert(kind >= HW_SHARES_SHARD && kind < HW_SHARES);
	return kind - HW_SHARES_SHARD;
}

struct counts {
	_Atomic(uint64_t) held[USER_KINDS];
	uint16_t on_nic[CONF_MAX_NICS]; /* connections per NIC */
};

struct user {
	struct user *next;
	uid_t uid;
	uint32_t refs; /* number of processes */
	struct counts counts;
	/* Time of the last log line of user_report() per kind; 0: never. */
	uint64_t reported_ns[HW_SHARES];
};

struct user_process {
	struct user_process *next;
	struct user *user;
	uid_t uid;
	pid_t pid;
	uint32_t refs; /* connections, and objects that outlive them */
	struct counts counts;
};

static const struct {
	const char *word;
	const char *name;
} kinds[HW_SHARES] = {
#define KIND(kind, word, name) [HW_SHARE_##kind] = {word, name},
    HW_SHARES_OF_SHARD(KIND) HW_SHARES_OF_WEFTD(KIND)
#undef KIND
};

static struct user *users[USER_BUCKETS];
static struct user_process *processes[USER_BUCKETS];
static struct hw_share_limits limits;
static struct user_tables found_tables;
static bool connections_set; /* the operator has set a limit for users */
static uint64_t total_max[USER_KINDS];
static _Atomic(uint64_t) total[USER_KINDS];

/* ---- limits */

static uint64_t part(uint64_t table, uint64_t numerator, uint64_t denominator)
{
	uint64_t n =
	    table / denominator * numerator + table % denominator * numerator / denominator;

	return n ? n : 1;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t table_of(enum hw_share kind)
{
	return kind < HW_SHARES_SHARD ? fw_share_max(kind) : total_max[index_of(kind)];
}

/*
 * A process may use its user's whole share of memory, since two processes of the user could do so
 * too.
 */
static uint64_t process_default(enum hw_share kind, uint64_t table)
{
	if (kind == HW_SHARE_BYTES || kind == HW_SHARE_MEMORY)
		return part(table, 3, 4);
	if (kind == HW_SHARE_GOAL)
		return part(table, 1, 4);
	return part(table, 1, 2);
}

static void set_limits(const struct hw_share_limits *quota, const struct user_tables *tables)
{
	total_max[index_of(HW_SHARE_CONNECTION)] = tables->connections;
	total_max[index_of(HW_SHARE_DESCRIPTOR)] = tables->descriptors;
	total_max[index_of(HW_SHARE_BYTES)] = tables->bytes;
	total_max[index_of(HW_SHARE_MAPPING)] = tables->mappings;
	/* Its pages are charged to the cgroups of the processes, which may permit more. */
	total_max[index_of(HW_SHARE_MEMORY)] = largest(
	    tables->memory, largest(quota->process[HW_SHARE_MEMORY], quota->user[HW_SHARE_MEMORY]));
	connections_set = quota->user[HW_SHARE_CONNECTION] != 0;
	for (uint32_t kind = 0; kind < HW_SHARES; kind++) {
		uint64_t table = table_of((enum hw_share)kind);
		uint64_t process = quota->process[kind], user = quota->user[kind];

		if (!process)
			process = process_default((enum hw_share)kind, table);
		/* A process limit raises that of its user: a user may run only one process. */
		if (!user)
			user = part(table, 3, 4) > process ? part(table, 3, 4) : process;
		limits.process[kind] = process < user ? process : user;
		limits.user[kind] = user;
	}
}

void user_init(const struct hw_share_limits *quota, const struct user_tables *tables)
{
	found_tables = *tables;
	set_limits(quota, tables);
	user_tables_read_subuids();
}

void user_change(const struct hw_share_limits *quota)
{
	set_limits(quota, &found_tables);
}

const struct hw_share_limits *user_limits(void)
{
	return &limits;
}

/* ---- accounts */

static struct user *user_get(uid_t uid)
{
	struct user **head = &users[uid % USER_BUCKETS], *user;

	for (user = *head; user; user = user->next) {
		if (user->uid == uid) {
			user->refs++;
			return user;
		}
	}
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	user->refs = 1;
	user->next = *head;
	*head = user;
	return user;
}

static void user_put(struct user *user)
{
	struct user **link = &users[user->uid % USER_BUCKETS];

	if (--user->refs)
		return;
	for (uint32_t i = 0; i < USER_KINDS; i++)
		assert(!user->counts.held[i]);
	while (*link != user)
		link = &(*link)->next;
	*link = user->next;
	free(user);
}

struct user_process *user_join(uid_t uid, pid_t pid)
{
	struct user_process **head = &processes[(uint32_t)pid % USER_BUCKETS], *process;

	for (process = *head; process && pid; process = process->next) {
		if (process->pid == pid && process->uid == uid) {
			process->refs++;
			return process;
		}
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->user = user_get(user_tables_owner(uid));
	if (!process->user) {
		free(process);
		return NULL;
	}
	process->uid = uid;
	process->pid = pid;
	process->refs = 1;
	process->next = *head;
	*head = process;
	return process;
}

void user_leave(struct user_process *process)
{
	struct user_process **link;

	if (!process || --process->refs)
		return;
	for (uint32_t i = 0; i < USER_KINDS; i++)
		assert(!process->counts.held[i]);
	link = &processes[(uint32_t)process->pid % USER_BUCKETS];
	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	user_put(process->user);
	free(process);
}

struct user_process *user_hold(struct user_process *process)
{
	if (process)
		process->refs++;
	return process;
}

uid_t user_uid(const struct user_process *process)
{
	return process->user->uid;
}

/* ---- usage */

static bool add(_Atomic(uint64_t) *held, uint64_t n, uint64_t max)
{
	uint64_t before = atomic_fetch_add_explicit(held, n, memory_order_relaxed);

	if (before <= max && n <= max - before)
		return true;
	atomic_fetch_sub_explicit(held, n, memory_order_relaxed);
	return false;
}

int user_take(struct user_process *process, enum hw_share kind, uint64_t n,
	      struct hw_resp_quota *quota)
{
	uint32_t i = index_of(kind);
	struct user *user;

	if (!process)
		return 0;
	user = process->user;
	if (!add(&process->counts.held[i], n, limits.process[kind])) {
		*quota = (struct hw_resp_quota){kind, HW_SHARE_OF_PROCESS, limits.process[kind]};
		return EDQUOT;
	}
	if (!add(&user->counts.held[i], n, limits.user[kind])) {
		atomic_fetch_sub(&process->counts.held[i], n);
		*quota = (struct hw_resp_quota){kind, HW_SHARE_OF_USER, limits.user[kind]};
		return EDQUOT;
	}
	if (!add(&total[i], n, total_max[i])) {
		atomic_fetch_sub(&process->counts.held[i], n);
		atomic_fetch_sub(&user->counts.held[i], n);
		return ENOMEM;
	}
	return 0;
}

void user_give(struct user_process *process, enum hw_share kind, uint64_t n)
{
	uint32_t i = index_of(kind);

	if (!process)
		return;
	assert(process->counts.held[i] >= n && process->user->counts.held[i] >= n);
	atomic_fetch_sub(&process->counts.held[i], n);
	atomic_fetch_sub(&process->user->counts.held[i], n);
	atomic_fetch_sub(&total[i], n);
}

int user_may_connect(const struct user_process *process, uint32_t nic, uint32_t max,
		     struct hw_resp_quota *quota)
{
	uint64_t of_process = part(max, 1, 2), of_user = part(max, 3, 4);

	if (connections_set)
		of_process = of_user = max;
	if (process->counts.on_nic[nic] >= of_process) {
		*quota =
		    (struct hw_resp_quota){HW_SHARE_CONNECTION, HW_SHARE_OF_PROCESS, of_process};
		return EDQUOT;
	}
	if (process->user->counts.on_nic[nic] >= of_user) {
		*quota = (struct hw_resp_quota){HW_SHARE_CONNECTION, HW_SHARE_OF_USER, of_user};
		return EDQUOT;
	}
	return 0;
}

void user_on_nic(struct user_process *process, uint32_t nic, int change)
{
	process->counts.on_nic[nic] = (uint16_t)(process->counts.on_nic[nic] + change);
	process->user->counts.on_nic[nic] = (uint16_t)(process->user->counts.on_nic[nic] + change);
}

/* ---- reports */

void user_report(struct user_process *process, const char *nic, const char *program,
		 const struct hw_resp_quota *quota)
{
	bool of_user = quota->of == HW_SHARE_OF_USER;
	uint64_t now_ns = app_clock_ns(), *reported_ns;

	if (!process || quota->kind >= HW_SHARES)
		return;
	reported_ns = &process->user->reported_ns[quota->kind];
	if (*reported_ns && now_ns - *reported_ns < USER_REPORT_NS)
		return;
	*reported_ns = now_ns;
	log_at(LOG_LEVEL_ERROR, LOG_HERE,
	       &(struct log_subject){
		   .nic = nic, .program = program, .pid = process->pid, .uid = process->user->uid},
	       "process %d (%s) of user %u is over quota: a %s may have %llu %s; weftd "
	       "--quota %s%s=N sets another limit",
	       (int)process->pid, *program ? program : "?", (unsigned)process->user->uid,
	       of_user ? "user" : "process", (unsigned long long)quota->limit,
	       kinds[quota->kind].name, of_user ? "user:" : "", kinds[quota->kind].word);
}

static bool fill(struct hw_list_item *item, uid_t uid, pid_t pid, const struct counts *counts,
		 uint32_t kind, uint64_t limit)
{
	uint64_t held = atomic_load_explicit(&counts->held[index_of((enum hw_share)kind)],
					     memory_order_relaxed);

	if (!held)
		return false;
	*item = (struct hw_list_item){
	    .id = uid,
	    .client = (uint32_t)pid,
	    .state = kind,
	    .type = pid ? HW_SHARE_OF_PROCESS : HW_SHARE_OF_USER,
	    .a = held,
	    .b = limit,
	};
	return true;
}

/*
 * A cursor is the index of an account, in bucket order, times the number of kinds. Accounts that
 * are created or freed between two answers may be missed or reported twice.
 */
void user_list(uint32_t cursor, struct hw_resp_list *list)
{
	uint32_t at = 0;

	for (uint32_t b = 0; b < 2 * USER_BUCKETS; b++) {
		const struct user *user = b < USER_BUCKETS ? users[b] : NULL;
		const struct user_process *process =
		    b < USER_BUCKETS ? NULL : processes[b - USER_BUCKETS];

		while (user || process) {
			for (uint32_t k = HW_SHARES_SHARD; k < HW_SHARES; k++, at++) {
				struct hw_list_item *item = &list->item[list->count];

				if (at < cursor)
					continue;
				if (list->count == HW_LIST_PER_RESP) {
					list->next = at;
					return;
				}
				list->count += user ? fill(item, user->uid, 0, &user->counts, k,
							   limits.user[k])
						    : fill(item, process->user->uid, process->pid,
							   &process->counts, k, limits.process[k]);
			}
			user = user ? user->next : NULL;
			process = process ? process->next : NULL;
		}
	}
	list->next = at;
}
