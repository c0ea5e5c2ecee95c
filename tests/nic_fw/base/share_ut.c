/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of processes and users: limits, the rest that stays for others, reports, and that all is
 * given back.
 */
#include <arpa/inet.h>

#include "tests/bench/host.h"

enum {
	UID_A = 1001,
	UID_B = 1002,
	PROCESS_MAX = 4,
	USER_MAX = 6,
};

static struct fw_ut ut;

static int join(uint32_t pid, uint32_t uid, uint32_t *client)
{
	struct fw_client_params params = {
	    .bar_bytes = FW_UT_BAR_BYTES,
	    .pid = pid,
	    .uid = uid,
	};
	uint32_t kind;

	for (kind = 0; kind < HW_SHARES_SHARD; kind++) {
		params.limits.process[kind] = PROCESS_MAX;
		params.limits.user[kind] = USER_MAX;
	}
	params.limits.process[HW_SHARE_GOAL] = GOAL_HEAP_BYTES / 2;
	params.limits.user[HW_SHARE_GOAL] = GOAL_HEAP_BYTES / 4 * 3;
	return fw_ut_attach(&ut, &params, client);
}

static uint32_t joined(uint32_t pid, uint32_t uid)
{
	uint32_t client;

	CU_ASSERT_EQUAL_FATAL(join(pid, uid, &client), 0);
	return client;
}

/* Allocates PDs until one is refused; returns their number. */
static uint32_t all_pds(uint32_t client, struct hw_resp_quota *quota)
{
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;
	uint32_t n = 0;
	int status;

	while ((status = host_cmd(ut.nic, client, &cmd, &resp)) == 0)
		n++;
	CU_ASSERT_EQUAL(status, FW_EDQUOT);
	*quota = resp.u.quota;
	return n;
}

static void process_then_user(void)
{
	struct hw_resp_quota quota;
	uint32_t a, b, other;

	fw_ut_begin(&ut);
	a = joined(1, UID_A);
	b = joined(2, UID_A);
	other = joined(3, UID_B);
	CU_ASSERT_EQUAL(all_pds(a, &quota), PROCESS_MAX);
	CU_ASSERT_EQUAL(quota.kind, HW_SHARE_PD);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(quota.limit, PROCESS_MAX);
	CU_ASSERT_EQUAL(all_pds(b, &quota), USER_MAX - PROCESS_MAX);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(quota.limit, USER_MAX);
	CU_ASSERT_EQUAL(all_pds(other, &quota), PROCESS_MAX);
	/* The end of one process makes room for the other. */
	fw_ut_detach(&ut, a);
	CU_ASSERT_EQUAL(all_pds(b, &quota), PROCESS_MAX - (USER_MAX - PROCESS_MAX));
	fw_ut_end(&ut);
}

/* A process that opens the device several times has one share, not several. */
static void one_process_with_many_clients(void)
{
	struct hw_resp_quota quota;
	uint32_t a, again;

	fw_ut_begin(&ut);
	a = joined(1, UID_A);
	again = joined(1, UID_A);
	CU_ASSERT_EQUAL(all_pds(a, &quota), PROCESS_MAX);
	CU_ASSERT_EQUAL(all_pds(again, &quota), 0);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_PROCESS);
	/* The same pid with other rights is another process. */
	CU_ASSERT_EQUAL(all_pds(joined(1, UID_B), &quota), PROCESS_MAX);
	fw_ut_end(&ut);
}

/* Without limits a process has all of each kind, but of the memory for GOAL its default. */
static void limits_by_default(void)
{
	struct fw_client_params params = {.bar_bytes = FW_UT_BAR_BYTES, .pid = 9, .uid = UID_A};
	const struct fw_account *process, *user;
	uint32_t client, kind;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, &params, &client), 0);
	process = ut.nic->share.holders[client].process;
	user = ut.nic->share.holders[client].user;
	for (kind = 0; kind < HW_SHARES_SHARD; kind++) {
		CU_ASSERT_EQUAL(user->limit[kind], share_max[kind]);
		CU_ASSERT_EQUAL(process->limit[kind], share_process_default[kind]
							  ? share_process_default[kind]
							  : share_max[kind]);
	}
	CU_ASSERT_TRUE(process->limit[HW_SHARE_GOAL] < user->limit[HW_SHARE_GOAL]);
	fw_ut_end(&ut);
}

static void attachments(void)
{
	uint32_t client[USER_MAX + 2], i;

	fw_ut_begin(&ut);
	for (i = 0; i < PROCESS_MAX; i++)
		client[i] = joined(1, UID_A);
	CU_ASSERT_EQUAL(join(1, UID_A, &client[i]), FW_EDQUOT);
	CU_ASSERT_EQUAL(fw_quota(ut.nic).kind, HW_SHARE_CLIENT);
	CU_ASSERT_EQUAL(fw_quota(ut.nic).of, HW_SHARE_OF_PROCESS);
	for (; i < USER_MAX; i++)
		client[i] = joined(2, UID_A);
	CU_ASSERT_EQUAL(join(3, UID_A, &client[i]), FW_EDQUOT);
	CU_ASSERT_EQUAL(fw_quota(ut.nic).of, HW_SHARE_OF_USER);
	client[i] = joined(4, UID_B);
	fw_ut_detach(&ut, client[0]);
	client[0] = joined(3, UID_A);
	fw_ut_end(&ut);
}

static void goal_memory(void)
{
	uint32_t a, b, other;
	void *of_a, *of_b, *of_other;

	fw_ut_begin(&ut);
	a = joined(1, UID_A);
	b = joined(2, UID_A);
	other = joined(3, UID_B);
	of_a = goal_heap_alloc(ut.nic, a, GOAL_HEAP_BYTES / 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(of_a);
	CU_ASSERT_PTR_NULL(goal_heap_alloc(ut.nic, a, 1));
	of_b = goal_heap_alloc(ut.nic, b, GOAL_HEAP_BYTES / 4);
	CU_ASSERT_PTR_NOT_NULL_FATAL(of_b);
	CU_ASSERT_PTR_NULL(goal_heap_alloc(ut.nic, b, 1));
	CU_ASSERT_EQUAL(ut.nic->share.quota.kind, HW_SHARE_GOAL);
	CU_ASSERT_EQUAL(ut.nic->share.quota.of, HW_SHARE_OF_USER);
	of_other = goal_heap_alloc(ut.nic, other, GOAL_HEAP_BYTES / 4);
	CU_ASSERT_PTR_NOT_NULL_FATAL(of_other);
	goal_heap_free(ut.nic, a, of_a);
	goal_heap_free(ut.nic, b, of_b);
	goal_heap_free(ut.nic, other, of_other);
	CU_ASSERT_EQUAL(ut.nic->host.clients[a].share->user->held[HW_SHARE_GOAL], 0);
	fw_ut_end(&ut);
}

/* Many processes of one user leave a quarter of the common resources. */
static void contexts_of_a_user(void)
{
	static void *elem[GOAL_MAX_CALCS];
	static uint32_t of[GOAL_MAX_CALCS];
	uint32_t client[PROCESS_MAX], other, i, n = 0, before;

	fw_ut_begin(&ut);
	for (i = 0; i < PROCESS_MAX; i++) {
		client[i] = joined(1 + i, UID_A);
		while ((elem[n] = goal_take(ut.nic, client[i], GOAL_TABLE_CALCS)) != NULL)
			of[n++] = client[i];
	}
	CU_ASSERT_EQUAL(n, GOAL_MAX_CALCS - GOAL_MAX_CALCS / SHARE_POOL_PARTS);
	before = n;
	other = joined(9, UID_B);
	while ((elem[n] = goal_take(ut.nic, other, GOAL_TABLE_CALCS)) != NULL)
		of[n++] = other;
	CU_ASSERT_TRUE(n - before >= (GOAL_MAX_CALCS - before) / 3 * 2);
	while (n--)
		goal_give(ut.nic, of[n], GOAL_TABLE_CALCS, elem[n]);
	CU_ASSERT_EQUAL(ut.nic->host.clients[other].share->user->goal[GOAL_TABLE_CALCS], 0);
	fw_ut_end(&ut);
}

/* Sends CREATE_AH for addresses without a station until one is refused; returns how many wait. */
static uint32_t all_ah_waits(uint32_t client)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_AH, .u.create_ah.av.flags = HW_AV_F_GRH};
	struct hw_cmd_resp resp;
	uint32_t n = 0;
	int status;

	cmd.u.create_ah.pd = host_pd(ut.nic, client);
	do {
		cmd.u.create_ah.av.dst_ip = htonl(0x0a4d0064 + n % 100);
		status = host_cmd(ut.nic, client, &cmd, &resp);
	} while (status == -1 && ++n < 2 * FW_AH_WAITERS);
	CU_ASSERT_EQUAL(status, FW_EAGAIN);
	return n;
}

static void waits_for_addresses(void)
{
	uint32_t a, b, n;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &a), 0);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &b), 0);
	n = all_ah_waits(a);
	CU_ASSERT_EQUAL(n, FW_AH_WAITERS - FW_AH_WAITERS / SHARE_POOL_PARTS);
	CU_ASSERT_EQUAL(all_ah_waits(b), FW_AH_WAITERS - n);
	CU_ASSERT_EQUAL(ut.nic->host.clients[a].share->user->ah_waits, n);
	/* The process ends, and another one of its user has no entries yet. */
	fw_ut_detach(&ut, a);
	CU_ASSERT_EQUAL(ut.nic->host.ah_waiting, FW_AH_WAITERS - n);
	fw_ut_detach(&ut, b);
	CU_ASSERT_EQUAL(ut.nic->host.ah_waiting, 0);
	fw_ut_end(&ut);
}

/* Messages that arrive for one user leave room for those of others. */
static void messages_under_way(void)
{
	struct rdmap_seg pkt = {.msn = 1, .src_ip = 1};
	struct fw_account *user;
	struct recv_msg *msg;
	struct fw_qp *qp;

	fw_ut_begin(&ut);
	user = ut.nic->host.clients[0].share->user;
	qp = host_qp(ut.nic, 0, HW_QPT_RD, host_pd(ut.nic, 0), host_cq(ut.nic, 0, 8, HW_EQ_NONE),
		     HW_SRQ_NONE);
	CU_ASSERT_EQUAL(recv_begin(ut.nic, qp, &pkt, false, &msg), RDMAP_REFUSE);
	user->recv_msgs = FW_MAX_RECV_MSGS - FW_MAX_RECV_MSGS / SHARE_POOL_PARTS;
	CU_ASSERT_EQUAL(recv_begin(ut.nic, qp, &pkt, false, &msg), RDMAP_DROP);
	CU_ASSERT_EQUAL(ut.nic->counters.recv_msgs_share_refused, 1);
	user->recv_msgs = 0;
	fw_ut_end(&ut);
}

/* ---- sessions */

static struct rd_session *session(uint32_t client, uint32_t peer)
{
	return share_session_get(ut.nic, client, htonl(0x0a000000 + peer), 0);
}

static void sessions(void)
{
	struct rd_session *s[USER_MAX];
	uint32_t a, b, other, i, peer = 0;

	fw_ut_begin(&ut);
	fw_ut_poll(&ut, 1000);
	a = joined(1, UID_A);
	b = joined(2, UID_A);
	other = joined(3, UID_B);
	for (i = 0; i < PROCESS_MAX; i++) {
		s[i] = session(a, ++peer);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s[i]);
		s[i]->used_ns = ut.now_ns;
	}
	CU_ASSERT_PTR_NULL(session(a, ++peer));
	CU_ASSERT_EQUAL(ut.nic->counters.rd_sessions_share_refused, 1);
	for (; i < USER_MAX; i++) {
		s[i] = session(b, ++peer);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s[i]);
		s[i]->used_ns = ut.now_ns;
	}
	CU_ASSERT_PTR_NULL(session(b, ++peer));
	CU_ASSERT_PTR_NOT_NULL(session(other, ++peer));
	/* Sessions outlive their process and stay with its user. */
	fw_ut_detach(&ut, a);
	fw_ut_detach(&ut, b);
	a = joined(4, UID_A);
	CU_ASSERT_PTR_NULL(session(a, ++peer));
	CU_ASSERT_EQUAL(ut.nic->host.clients[a].share->user->held[HW_SHARE_SESSION], USER_MAX);
	/* An idle session makes room for another one of the same user. */
	fw_ut_poll(&ut, RD_EVICT_IDLE_NS + 1000);
	CU_ASSERT_PTR_NOT_NULL(session(a, ++peer));
	CU_ASSERT_EQUAL(ut.nic->host.clients[a].share->user->held[HW_SHARE_SESSION], USER_MAX);
	CU_ASSERT_EQUAL(ut.nic->host.clients[a].share->process->held[HW_SHARE_SESSION], 1);
	CU_ASSERT_EQUAL(ut.nic->host.clients[other].share->user->held[HW_SHARE_SESSION], 1);
	fw_ut_detach(&ut, a);
	fw_ut_detach(&ut, other);
	fw_ut_end(&ut);
}

/* Users that are gone and left sessions take no place from new users. */
static void users_that_have_gone(void)
{
	struct fw_client_params params = {.tool = true};
	struct hw_resp_attach resp;
	uint32_t client, i;

	fw_ut_begin(&ut);
	fw_ut_poll(&ut, 1000);
	for (i = 0; i < 3 * SHARE_USERS; i++) {
		params.pid = i + 1;
		params.uid = UID_A + i;
		CU_ASSERT_EQUAL_FATAL(fw_client_attach(ut.nic, &params, &client, &resp), 0);
		CU_ASSERT_PTR_NOT_NULL(session(client, i));
		fw_client_detach(ut.nic, client);
	}
	/* Sessions of users that lost their place have no owner and are evicted as others are. */
	fw_ut_poll(&ut, RD_EVICT_IDLE_NS + 1000);
	for (i = 0; i < HW_MAX_PEERS; i++)
		(void)rd_session_evict(ut.nic, 0, FW_NONE);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->rd.session_ids), 0);
	for (i = 0; i < SHARE_USERS; i++)
		CU_ASSERT_EQUAL(ut.nic->share.users[i].held[HW_SHARE_SESSION], 0);
	fw_ut_end(&ut);
}

/* ---- memory of queues, which the port counts */

static uint64_t taken_bytes, room_bytes;

static bool take(void *ctx, uint32_t client, uint64_t bytes, struct hw_resp_quota *quota)
{
	(void)ctx;
	(void)client;
	if (bytes > room_bytes - taken_bytes) {
		*quota = (struct hw_resp_quota){HW_SHARE_BYTES, HW_SHARE_OF_USER, room_bytes};
		return false;
	}
	taken_bytes += bytes;
	return true;
}

static void memory_of_queues(void)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_CQ, .u.create_cq = {4096, HW_EQ_NONE, 0}};
	struct fw_client *owner;
	struct hw_cmd_resp resp;
	uint64_t before;
	uint32_t client, n = 0, again = 0;
	int status;

	fw_ut_begin(&ut);
	taken_bytes = 0;
	room_bytes = 1 << 20;
	ut.nic->port.bar_take = take;
	client = joined(1, UID_A);
	owner = &ut.nic->host.clients[client];
	/* EQ 0 exists from the first. */
	CU_ASSERT_TRUE(taken_bytes > 0);
	/* 256 KiB each */
	while ((status = host_cmd(ut.nic, client, &cmd, &resp)) == 0)
		n++;
	CU_ASSERT_TRUE(n > 0 && n < PROCESS_MAX);
	CU_ASSERT_EQUAL(status, FW_EDQUOT);
	CU_ASSERT_EQUAL(resp.u.quota.kind, HW_SHARE_BYTES);
	CU_ASSERT_EQUAL(resp.u.quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(taken_bytes, owner->bar.charged - HW_BAR_DYNAMIC);
	/* Memory of queues that ended is used again for new ones, and is charged once. */
	before = taken_bytes;
	while (!fw_list_empty(&owner->cqs))
		CU_ASSERT_EQUAL_FATAL(
		    host_obj(ut.nic, client, HW_CMD_DESTROY_CQ,
			     FW_CONTAINER(owner->cqs.next, struct fw_cq, node)->index, NULL),
		    0);
	while (!host_cmd(ut.nic, client, &cmd, &resp))
		again++;
	CU_ASSERT_EQUAL(again, n);
	CU_ASSERT_EQUAL(taken_bytes, before);
	fw_ut_end(&ut);
}

/* The operator changes the limits of processes that run; 0 is the default again. */
static void limits_that_change(void)
{
	struct hw_share_limits limits = {0};
	struct hw_cmd cmd = {.op = HW_CMD_ALLOC_PD};
	struct hw_cmd_resp resp;
	struct hw_resp_quota quota;
	uint32_t a, b;

	fw_ut_begin(&ut);
	a = joined(1, UID_A);
	b = joined(2, UID_A);
	CU_ASSERT_EQUAL(all_pds(a, &quota), PROCESS_MAX);
	limits.process[HW_SHARE_PD] = PROCESS_MAX + 2;
	limits.user[HW_SHARE_PD] = PROCESS_MAX + 1;
	fw_set_limits(ut.nic, &limits);
	CU_ASSERT_EQUAL(all_pds(a, &quota), 1);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_USER);
	CU_ASSERT_EQUAL(quota.limit, PROCESS_MAX + 1);
	/* Less than is held: nothing is taken away, and nothing is added. */
	limits.process[HW_SHARE_PD] = 1;
	limits.user[HW_SHARE_PD] = UINT64_MAX;
	fw_set_limits(ut.nic, &limits);
	CU_ASSERT_EQUAL(all_pds(a, &quota), 0);
	CU_ASSERT_EQUAL(quota.of, HW_SHARE_OF_PROCESS);
	CU_ASSERT_EQUAL(quota.limit, 1);
	CU_ASSERT_EQUAL(all_pds(b, &quota), 1);
	limits.process[HW_SHARE_PD] = 0;
	fw_set_limits(ut.nic, &limits);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, a, &cmd, &resp), 0);
	CU_ASSERT_EQUAL(host_cmd(ut.nic, b, &cmd, &resp), 0);
	fw_ut_detach(&ut, a);
	fw_ut_detach(&ut, b);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/base/share", UT(process_then_user), UT(one_process_with_many_clients),
	UT(limits_by_default), UT(attachments), UT(goal_memory), UT(contexts_of_a_user),
	UT(waits_for_addresses), UT(messages_under_way), UT(sessions), UT(users_that_have_gone),
	UT(memory_of_queues), UT(limits_that_change))
