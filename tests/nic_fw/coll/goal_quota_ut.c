/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of communicators and schedules: a process and a user get their limit, the refusal names
 * it, others have room, and all is given back.
 *
 * Includes nic_fw/coll/goal_cmd.c, for schedules without their content.
 */
#include "nic_fw/coll/goal_cmd.c"

#include "tests/bench/host.h"

enum {
	PROCESS_MAX = 4,
	USER_MAX = 6,
	UID = 1001,
	OTHER_UID = 1002,
};

static struct fw_ut ut;
static struct hw_goal_peer peers[1];

static uint32_t joined(uint32_t pid, uint32_t uid)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = pid, .uid = uid};
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_OPEN, .u.goal_open = {.runs = 2, .eq = HW_EQ_NONE}};
	struct hw_cmd_resp resp;
	uint32_t client;

	for (uint32_t kind = 0; kind < HW_SHARES_SHARD; kind++) {
		params.limits.process[kind] = PROCESS_MAX;
		params.limits.user[kind] = USER_MAX;
	}
	params.limits.process[HW_SHARE_GOAL] = params.limits.user[HW_SHARE_GOAL] = 1 << 20;
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	return client;
}

static int create(uint32_t client, uint32_t pd, uint32_t stag, struct hw_cmd_resp *resp)
{
	static uint64_t key;
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_CREATE};

	key++;
	cmd.u.goal_comm = (struct hw_cmd_goal_comm){
	    .key = key,
	    .key2 = key,
	    .num_ranks = 1,
	    .pd = pd,
	    .peers_stag = stag,
	    .peers_addr = (uintptr_t)peers,
	};
	return host_cmd(ut.nic, client, &cmd, resp);
}

/* Creates communicators until one is refused; returns their number. */
static uint32_t all_comms(uint32_t client, struct hw_resp_quota *quota)
{
	uint32_t pd = host_pd(ut.nic, client), n = 0;
	uint32_t stag = host_reg(ut.nic, client, pd, peers, sizeof(peers), 0, true);
	struct hw_cmd_resp resp;
	int status;

	while ((status = create(client, pd, stag, &resp)) == 0)
		n++;
	CU_ASSERT_EQUAL(status, FW_EDQUOT);
	*quota = resp.u.quota;
	return n;
}

static void communicators(void)
{
	struct hw_resp_quota quota;
	uint32_t a, b, other;

	fw_ut_begin(&ut);
	a = joined(1, UID);
	b = joined(2, UID);
	other = joined(3, OTHER_UID);
	CU_ASSERT_EQUAL(all_comms(a, &quota), PROCESS_MAX);
	CU_ASSERT_EQUAL(quota.kind, HW_SHARE_COMM);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(quota.limit, PROCESS_MAX);
	CU_ASSERT_EQUAL(all_comms(b, &quota), USER_MAX - PROCESS_MAX);
	CU_ASSERT_EQUAL(quota.kind, HW_SHARE_COMM);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(quota.limit, USER_MAX);
	CU_ASSERT_EQUAL(all_comms(other, &quota), PROCESS_MAX);
	fw_ut_detach(&ut, a);
	fw_ut_detach(&ut, other);
	a = joined(1, UID);
	CU_ASSERT_EQUAL(all_comms(a, &quota), PROCESS_MAX);
	fw_ut_end(&ut);
}

static uint32_t all_schedules(uint32_t client, struct goal_schedule **schedule)
{
	uint32_t n = 0;

	while (n <= USER_MAX &&
	       (schedule[n] = new_schedule(ut.nic, client, &ut.nic->goal.comms[0])))
		n++;
	CU_ASSERT_EQUAL(ut.nic->share.quota.kind, HW_SHARE_SCHEDULE);
	return n;
}

static void schedules(void)
{
	struct goal_schedule *of_a[USER_MAX + 1], *of_b[USER_MAX + 1], *of_other[USER_MAX + 1];
	uint32_t a, b, other;

	fw_ut_begin(&ut);
	a = joined(1, UID);
	b = joined(2, UID);
	other = joined(3, OTHER_UID);
	CU_ASSERT_EQUAL(all_schedules(a, of_a), PROCESS_MAX);
	CU_ASSERT_EQUAL(ut.nic->share.quota.of, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(all_schedules(b, of_b), USER_MAX - PROCESS_MAX);
	CU_ASSERT_EQUAL(ut.nic->share.quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(all_schedules(other, of_other), PROCESS_MAX);
	for (uint32_t i = 0; i < PROCESS_MAX; i++) {
		put_schedule(ut.nic, of_a[i]);
		put_schedule(ut.nic, of_other[i]);
	}
	CU_ASSERT_EQUAL(all_schedules(a, of_a), PROCESS_MAX);
	for (uint32_t i = 0; i < PROCESS_MAX; i++)
		put_schedule(ut.nic, of_a[i]);
	for (uint32_t i = 0; i < USER_MAX - PROCESS_MAX; i++)
		put_schedule(ut.nic, of_b[i]);
	CU_ASSERT_EQUAL(ut.nic->host.clients[a].share->user->held[HW_SHARE_SCHEDULE], 0);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_quota", UT(communicators), UT(schedules))
