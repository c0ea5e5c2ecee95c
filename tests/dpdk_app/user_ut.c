/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of weftd as a whole: limits and their defaults, refusals, owners of uids, parsing of the
 * kernel's files.
 *
 * Runs dpdk_app/client/user.c and user_tables.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dpdk_app/client/client.h"
#include "dpdk_app/client/user.h"
#include "dpdk_app/client/user_tables.h"
#include "tests/ut.h"

static const struct user_tables tables = {
    .connections = 4096, .descriptors = 100, .bytes = 1 << 20, .mappings = 1000, .memory = 4 << 20};

/* Uids that no line of /etc/subuid delegates: each is a user of its own. */
enum {
	UID_A = 51001,
	UID_B = 51002,
};

static void defaults(void)
{
	const struct hw_share_limits none = {0};
	const struct hw_share_limits *l = user_limits();

	user_init(&none, &tables);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_QP], HW_MAX_QP / 2);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_QP], HW_MAX_QP / 4 * 3);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_CLIENT], HW_MAX_CLIENTS / 2);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_CLIENT], HW_MAX_CLIENTS / 4 * 3);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_DESCRIPTOR], 50);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_DESCRIPTOR], 75);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_BYTES], (1 << 20) / 4 * 3);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_BYTES], (1 << 20) / 4 * 3);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_MAPPING], 500);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_MAPPING], 750);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_MEMORY], 3 << 20);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_MEMORY], 3 << 20);
	for (uint32_t kind = 0; kind < HW_SHARES; kind++)
		CU_ASSERT_TRUE(l->process[kind] > 0 && l->user[kind] >= l->process[kind]);
}

static void what_the_operator_says(void)
{
	struct hw_share_limits quota = {0};
	const struct hw_share_limits *l = user_limits();

	quota.process[HW_SHARE_QP] = HW_MAX_QP; /* more than a user's default */
	quota.process[HW_SHARE_CQ] = 7;
	quota.user[HW_SHARE_MR] = 10; /* less than a process's default */
	quota.user[HW_SHARE_AH] = HW_MAX_AH;
	user_init(&quota, &tables);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_QP], HW_MAX_QP);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_QP], HW_MAX_QP);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_CQ], 7);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_CQ], HW_MAX_CQ / 4 * 3);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_MR], 10);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_MR], 10);
	CU_ASSERT_EQUAL(l->process[HW_SHARE_AH], HW_MAX_AH / 2);
	CU_ASSERT_EQUAL(l->user[HW_SHARE_AH], HW_MAX_AH);
}

static void process_then_user_then_all(void)
{
	const struct hw_share_limits none = {0};
	struct user_process *a, *b, *other;
	struct hw_resp_quota quota;

	user_init(&none, &tables);
	a = user_join(UID_A, 1);
	b = user_join(UID_A, 2);
	other = user_join(UID_B, 3);
	CU_ASSERT_FATAL(a && b && other);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_DESCRIPTOR, 51, &quota), EDQUOT);
	CU_ASSERT_EQUAL(quota.kind, HW_SHARE_DESCRIPTOR);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(quota.limit, 50);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_DESCRIPTOR, 50, &quota), 0);
	CU_ASSERT_EQUAL(user_take(b, HW_SHARE_DESCRIPTOR, 25, &quota), 0);
	CU_ASSERT_EQUAL(user_take(b, HW_SHARE_DESCRIPTOR, 1, &quota), EDQUOT);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(quota.limit, 75);
	/* Another user gets the rest, and none gets more than there is. */
	CU_ASSERT_EQUAL(user_take(other, HW_SHARE_DESCRIPTOR, 25, &quota), 0);
	CU_ASSERT_EQUAL(user_take(other, HW_SHARE_DESCRIPTOR, 1, &quota), ENOMEM);
	user_give(a, HW_SHARE_DESCRIPTOR, 50);
	CU_ASSERT_EQUAL(user_take(other, HW_SHARE_DESCRIPTOR, 1, &quota), 0);
	/* A refusal took nothing from the account. */
	user_give(b, HW_SHARE_DESCRIPTOR, 25);
	user_give(other, HW_SHARE_DESCRIPTOR, 26);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_BYTES, UINT64_MAX, &quota), EDQUOT);
	CU_ASSERT_EQUAL(user_take(NULL, HW_SHARE_BYTES, UINT64_MAX, &quota), 0);
	user_leave(a);
	user_leave(b);
	user_leave(other);
}

/* Registered memory counts in the cgroups of its processes, so the operator may allow more. */
static void more_memory_than_was_found(void)
{
	struct user_process *a = user_join(UID_A, 1);
	struct hw_share_limits quota = {0};
	struct hw_resp_quota why;

	quota.user[HW_SHARE_MEMORY] = 8 << 20;
	quota.process[HW_SHARE_MEMORY] = 8 << 20;
	quota.user[HW_SHARE_MAPPING] = quota.process[HW_SHARE_MAPPING] = 2000;
	user_init(&quota, &tables);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_MEMORY, 8 << 20, &why), 0);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_MEMORY, 1, &why), EDQUOT);
	CU_ASSERT_EQUAL(why.kind, HW_SHARE_MEMORY);
	user_give(a, HW_SHARE_MEMORY, 8 << 20);
	/* The kernel's limits remain. */
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_MAPPING, 1001, &why), ENOMEM);
	user_leave(a);
}

/* An account stays while memory of its user outlives the connection. */
static void what_outlives(void)
{
	const struct hw_share_limits none = {0};
	struct user_process *a = user_join(UID_A, 1);
	struct hw_resp_quota quota;

	user_init(&none, &tables);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_MAPPING, 500, &quota), 0);
	CU_ASSERT_PTR_EQUAL(user_hold(a), a);
	CU_ASSERT_PTR_NULL(user_hold(NULL));
	user_leave(a);
	CU_ASSERT_PTR_EQUAL(user_join(UID_A, 1), a);
	CU_ASSERT_EQUAL(user_take(a, HW_SHARE_MAPPING, 1, &quota), EDQUOT);
	user_leave(a);
	user_give(a, HW_SHARE_MAPPING, 500);
	user_leave(a);
}

/* Connections of one process share an account; those of unknown processes only their user's. */
static void accounts(void)
{
	struct user_process *a = user_join(UID_A, 1), *unknown;

	CU_ASSERT_PTR_EQUAL(user_join(UID_A, 1), a);
	unknown = user_join(UID_A, 0);
	CU_ASSERT_PTR_NOT_EQUAL(user_join(UID_A, 0), unknown);
	CU_ASSERT_EQUAL(user_uid(unknown), UID_A);
	user_leave(a);
	CU_ASSERT_PTR_EQUAL(user_join(UID_A, 1), a);
	user_leave(a);
	user_leave(a);
	user_leave(unknown);
	user_leave(NULL);
}

static void connections_of_a_nic(void)
{
	enum {
		MAX = 16
	};
	struct hw_share_limits limits = {0};
	struct user_process *a = user_join(UID_A, 1), *b = user_join(UID_A, 2);
	struct hw_resp_quota quota;
	uint32_t n;

	user_init(&limits, &tables);
	for (n = 0; !user_may_connect(a, 3, MAX, &quota); n++)
		user_on_nic(a, 3, 1);
	CU_ASSERT_EQUAL(n, MAX / 2);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_PROCESS);
	for (; !user_may_connect(b, 3, MAX, &quota); n++)
		user_on_nic(b, 3, 1);
	CU_ASSERT_EQUAL(n, MAX / 4 * 3);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(user_may_connect(a, 4, MAX, &quota), 0);
	user_on_nic(a, 3, -1);
	CU_ASSERT_EQUAL(user_may_connect(b, 3, MAX, &quota), 0);
	/* An operator's limit replaces the default. */
	limits.user[HW_SHARE_CONNECTION] = 4096;
	user_init(&limits, &tables);
	CU_ASSERT_EQUAL(user_may_connect(a, 3, MAX, &quota), 0);
	user_leave(a);
	user_leave(b);
}

/* As many as an answer holds, and the rest in the next one. */
static void lists(void)
{
	const struct hw_share_limits none = {0};
	struct user_process *process[8];
	struct hw_resp_list list = {0};
	struct hw_resp_quota quota;
	uint32_t cursor = 0, of_users = 0, of_processes = 0;
	uint64_t sum = 0;

	user_init(&none, &tables);
	for (uint32_t i = 0; i < 8; i++) {
		process[i] = user_join(UID_A + i / 4, (pid_t)(100 + i));
		CU_ASSERT_EQUAL(user_take(process[i], HW_SHARE_DESCRIPTOR, i + 1, &quota), 0);
	}
	do {
		memset(&list, 0, sizeof(list));
		user_list(cursor, &list);
		for (uint32_t i = 0; i < list.count; i++) {
			CU_ASSERT_EQUAL(list.item[i].state, HW_SHARE_DESCRIPTOR);
			if (list.item[i].type == HW_SHARE_OF_USER) {
				CU_ASSERT_EQUAL(list.item[i].client, 0);
				CU_ASSERT_EQUAL(list.item[i].b, 75);
				of_users++;
				sum += list.item[i].a;
			} else {
				CU_ASSERT_EQUAL(list.item[i].b, 50);
				of_processes++;
			}
		}
		cursor = list.next;
	} while (list.count);
	CU_ASSERT_EQUAL(of_users, 2);
	CU_ASSERT_EQUAL(of_processes, 8);
	CU_ASSERT_EQUAL(sum, 36);
	for (uint32_t i = 0; i < 8; i++) {
		user_give(process[i], HW_SHARE_DESCRIPTOR, i + 1);
		user_leave(process[i]);
	}
}

/* ---- files */

static void uids_of_user_namespaces(void)
{
	static char text[] = "root:100000:65536\n"
			     "51001:200000:10\n"
			     "nobody-has-this-name:300000:10\n"
			     "rubbish\n"
			     "51002:400000:1\n";
	struct user_process *a, *b;
	FILE *file = fmemopen(text, sizeof(text) - 1, "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	user_tables_read_ranges(file);
	fclose(file);
	CU_ASSERT_EQUAL(user_tables_owner(99999), 99999);
	CU_ASSERT_EQUAL(user_tables_owner(100000), 0);
	CU_ASSERT_EQUAL(user_tables_owner(165535), 0);
	CU_ASSERT_EQUAL(user_tables_owner(165536), 165536);
	CU_ASSERT_EQUAL(user_tables_owner(200009), UID_A);
	CU_ASSERT_EQUAL(user_tables_owner(200010), 200010);
	CU_ASSERT_EQUAL(user_tables_owner(300000), 300000);
	CU_ASSERT_EQUAL(user_tables_owner(400000), UID_B);
	CU_ASSERT_EQUAL(user_tables_owner(0), 0);
	/* One user has one share, whatever uids its processes run with. */
	a = user_join(200003, 1);
	b = user_join(UID_A, 2);
	CU_ASSERT_FATAL(a && b);
	CU_ASSERT_EQUAL(user_uid(a), UID_A);
	CU_ASSERT_EQUAL(user_uid(b), UID_A);
	user_leave(a);
	user_leave(b);
}

static void memory_of_the_machine(void)
{
	static const char text[] = "MemTotal:       24683532 kB\n"
				   "MemFree:        23000000 kB\n"
				   "MemAvailable:   24074240 kB\n";

	CU_ASSERT_EQUAL(user_tables_kb(text, "MemAvailable"), UINT64_C(24074240) << 10);
	CU_ASSERT_EQUAL(user_tables_kb(text, "MemTotal"), UINT64_C(24683532) << 10);
	CU_ASSERT_EQUAL(user_tables_kb(text, "Mem"), 0);
	CU_ASSERT_EQUAL(user_tables_kb("", "MemTotal"), 0);
	CU_ASSERT_TRUE(user_tables_memory_bytes() > 0);
	CU_ASSERT_TRUE(user_tables_memory_total() >= user_tables_memory_bytes());
}

static void cgroups(void)
{
	static const char text[] = "12:pids:/a\n"
				   "5:memory:/system.slice/weftd.service\n"
				   "0::/unified/one\n";
	char path[64];

	CU_ASSERT_TRUE(user_tables_cgroup(text, "memory", path, sizeof(path)));
	CU_ASSERT_STRING_EQUAL(path, "/system.slice/weftd.service");
	CU_ASSERT_TRUE(user_tables_cgroup(text, "", path, sizeof(path)));
	CU_ASSERT_STRING_EQUAL(path, "/unified/one");
	CU_ASSERT_FALSE(user_tables_cgroup(text, "cpu", path, sizeof(path)));
	CU_ASSERT_FALSE(user_tables_cgroup(text, "memory", path, 8));
	CU_ASSERT_FALSE(user_tables_cgroup("", "", path, sizeof(path)));
	CU_ASSERT_FALSE(user_tables_cgroup("no colon\n0::/x\n", "", path, sizeof(path)));
}

UT_MAIN("dpdk_app/user", UT(defaults), UT(what_the_operator_says), UT(process_then_user_then_all),
	UT(more_memory_than_was_found), UT(what_outlives), UT(accounts), UT(connections_of_a_nic),
	UT(lists), UT(uids_of_user_namespaces), UT(memory_of_the_machine), UT(cgroups))
