/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of ranks of a new communicator: short ones are read with the command, long ones in
 * parts, one list of a process at a time; one that is wrong, or whose process leaves, is freed.
 */
#include "tests/bench/host.h"

enum {
	PART_BYTES = 4096,
	FIRST_BYTES = 5 * PART_BYTES, /* with the command */
	SHORT_RANKS = 1024,
	TURNS = 400,
};

static struct fw_ut ut;
static struct hw_goal_peer peers[HW_MAX_GOAL_RANKS];
static uint32_t client, pd, stag;

static void begin_with(uint64_t share_bytes)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = 1, .uid = 1};
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_OPEN, .u.goal_open = {.runs = 2, .eq = HW_EQ_NONE}};
	struct hw_cmd_resp resp;

	for (uint32_t kind = 0; kind < HW_SHARES_SHARD; kind++)
		params.limits.process[kind] = params.limits.user[kind] = 64;
	params.limits.process[HW_SHARE_GOAL] = params.limits.user[HW_SHARE_GOAL] = share_bytes;
	memset(peers, 0, sizeof(peers));
	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	CU_ASSERT_EQUAL_FATAL(host_cmd(ut.nic, client, &cmd, &resp), 0);
	pd = host_pd(ut.nic, client);
	stag = host_reg(ut.nic, client, pd, peers, sizeof(peers), 0, false);
}

static void begin(void)
{
	begin_with(16 << 20);
}

static enum fw_cmd_result create_from(const struct hw_goal_peer *list, uint32_t list_stag,
				      uint64_t key, uint32_t ranks, struct hw_cmd_resp *resp)
{
	struct hw_cmd cmd = {.op = HW_CMD_GOAL_COMM_CREATE, .tag = (uint32_t)key};

	cmd.u.goal_comm = (struct hw_cmd_goal_comm){
	    .key = key,
	    .key2 = key,
	    .num_ranks = ranks,
	    .pd = pd,
	    .peers_stag = list_stag,
	    .peers_addr = (uintptr_t)list,
	};
	return fw_cmd(ut.nic, client, &cmd, NULL, resp);
}

static enum fw_cmd_result create(uint64_t key, uint32_t ranks, struct hw_cmd_resp *resp)
{
	return create_from(peers, stag, key, ranks, resp);
}

/* Polls until so many communicators are there. Returns the most bytes that a turn has read. */
static uint64_t until(uint32_t comms)
{
	uint64_t before, most = 0;
	uint32_t turns;

	for (turns = 0; fw_ids_used(&ut.nic->goal.comm_ids) < comms; turns++) {
		before = ut.nic->counters.host_read_bytes;
		fw_ut_poll(&ut, 1000);
		before = ut.nic->counters.host_read_bytes - before;
		most = before > most ? before : most;
		CU_ASSERT_FATAL(turns < 2 * TURNS);
	}
	return most;
}

static void short_ones_at_once(void)
{
	struct hw_cmd_resp resp;

	begin();
	CU_ASSERT_EQUAL(create(1, SHORT_RANKS, &resp), FW_CMD_DONE);
	CU_ASSERT_EQUAL(resp.status, 0);
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

static void long_ones_in_parts(void)
{
	uint64_t before;
	struct hw_cmd_resp resp;

	begin();
	before = ut.nic->counters.host_read_bytes;
	CU_ASSERT_EQUAL(create(1, HW_MAX_GOAL_RANKS, &resp), FW_CMD_PENDING);
	CU_ASSERT_TRUE(ut.nic->counters.host_read_bytes - before <= FIRST_BYTES);
	/* The second one waits for the first. */
	CU_ASSERT_EQUAL(create(2, HW_MAX_GOAL_RANKS, &resp), FW_CMD_PENDING);
	CU_ASSERT_TRUE(until(2) <= PART_BYTES);
	CU_ASSERT_EQUAL(ut.nic->counters.host_read_bytes - before, 2 * sizeof(peers));
	CU_ASSERT_PTR_NULL(ut.nic->host.clients[client].goal_list.peers);
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

/* Two commands at a time have a list each, of their own ranks. */
static void a_list_is_of_one_command(void)
{
	static struct hw_goal_peer others[HW_MAX_GOAL_RANKS];
	const struct hw_goal_peer *const lists[] = {peers, others};
	struct hw_cmd_resp resp;
	uint32_t k;

	begin();
	for (k = 0; k < HW_MAX_GOAL_RANKS; k++) {
		uint32_t other = ~k;

		memcpy(peers[k].mac, &k, sizeof(k));
		memcpy(others[k].mac, &other, sizeof(other));
	}
	CU_ASSERT_EQUAL(create(1, HW_MAX_GOAL_RANKS, &resp), FW_CMD_PENDING);
	CU_ASSERT_EQUAL(create_from(others,
				    host_reg(ut.nic, client, pd, others, sizeof(others), 0, false),
				    2, HW_MAX_GOAL_RANKS, &resp),
			FW_CMD_PENDING);
	(void)until(2);
	for (k = 0; k < 2; k++) {
		const struct goal_comm *comm = goal_comm_find(ut.nic, k + 1, k + 1, 0);

		CU_ASSERT_PTR_NOT_NULL_FATAL(comm);
		CU_ASSERT_EQUAL(memcmp(comm->peers, lists[k], sizeof(others)), 0);
	}
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

/* Short and long, and one whose last part is a single rank. */
static void all_of_it_is_read(void)
{
	static const uint32_t sizes[] = {3, SHORT_RANKS, SHORT_RANKS + 1, 5 * SHORT_RANKS + 1};
	const struct goal_comm *comm;
	struct hw_cmd_resp resp;
	uint32_t i, k, linked;

	begin();
	for (k = 0; k < sizeof(peers) / sizeof(peers[0]); k++)
		memcpy(peers[k].mac, &k, sizeof(k));
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		(void)create(i + 1, sizes[i], &resp);
		(void)until(i + 1);
		comm = goal_comm_find(ut.nic, i + 1, i + 1, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(comm);
		CU_ASSERT_EQUAL(comm->num_ranks, sizes[i]);
		CU_ASSERT_EQUAL(memcmp(comm->peers, peers, sizes[i] * sizeof(peers[0])), 0);
		for (k = linked = 0; k < sizes[i]; k++)
			linked += comm->links[k] != FW_NONE;
		CU_ASSERT_EQUAL(linked, 0);
	}
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

/* There is room for the peers, but not for their links as well. */
static void half_of_it_finds_no_memory(void)
{
	const uint64_t bytes = HW_MAX_GOAL_RANKS * sizeof(peers[0]);
	struct hw_cmd_resp resp;
	uint64_t before;

	begin_with(bytes + bytes / 8);
	before = ut.nic->host.clients[client].goal_bytes;
	CU_ASSERT_EQUAL(create(1, HW_MAX_GOAL_RANKS, &resp), FW_CMD_DONE);
	/* It is its share that is at an end. */
	CU_ASSERT_EQUAL(resp.status, FW_EDQUOT);
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].goal_bytes, before);
	CU_ASSERT_PTR_NULL(ut.nic->host.clients[client].goal_list.peers);
	CU_ASSERT_EQUAL(create(2, SHORT_RANKS / 8, &resp), FW_CMD_DONE);
	CU_ASSERT_EQUAL(resp.status, 0);
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

static void wrong_ones_are_freed(void)
{
	struct hw_cmd_resp resp;
	uint64_t bytes;
	uint32_t i;

	begin();
	bytes = ut.nic->host.clients[client].goal_bytes;
	peers[HW_MAX_GOAL_RANKS - 1].reserved = 1;
	CU_ASSERT_EQUAL(create(1, HW_MAX_GOAL_RANKS, &resp), FW_CMD_PENDING);
	for (i = 0; i < TURNS; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->goal.comm_ids), 0);
	CU_ASSERT_EQUAL(ut.nic->host.clients[client].goal_bytes, bytes);
	/* The process leaves while a list is read. */
	CU_ASSERT_EQUAL(create(2, HW_MAX_GOAL_RANKS, &resp), FW_CMD_PENDING);
	fw_ut_detach(&ut, client);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/coll/goal_list", UT(short_ones_at_once), UT(long_ones_in_parts),
	UT(a_list_is_of_one_command), UT(all_of_it_is_read), UT(half_of_it_finds_no_memory),
	UT(wrong_ones_are_freed))
