/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * After which commands a process waits for copies to its memory that the core has given up: after
 * those that give memory back to it. Copies are the test's.
 */
#include "dpdk_app/client/client.h"
#include "dpdk_app/client/hostcopy.h"
#include "dpdk_app/client/msg.h"
#include "tests/ut.h"

uint64_t __wrap_hostcopy_mark(const struct hostcopy *copy);
bool __wrap_hostcopy_passed(struct hostcopy *copy, uint64_t mark);

static uint64_t num_requested, num_done;

uint64_t __wrap_hostcopy_mark(const struct hostcopy *copy)
{
	(void)copy;
	return num_requested;
}

bool __wrap_hostcopy_passed(struct hostcopy *copy, uint64_t mark)
{
	(void)copy;
	return num_done >= mark;
}

/* True if the answer waits while a copy is in progress. It never waits when all have finished. */
static bool held(struct hw_cmd cmd)
{
	static int worker;
	struct client c = {.copy = (struct hostcopy *)&worker};
	struct msg msg = {.kind = MSG_CMD, .cmd = cmd};
	bool waits;

	num_requested = num_done = 7;
	CU_ASSERT_FALSE(client_hold(&c, &msg));
	msg.copy_mark = 0;
	num_requested++;
	waits = client_hold(&c, &msg);
	CU_ASSERT_PTR_EQUAL(c.held, waits ? &msg : NULL);
	/* Later copies do not count. */
	c.held = NULL;
	num_requested++;
	num_done++;
	CU_ASSERT_FALSE(client_hold(&c, &msg));
	/* A process that ends does not wait. */
	num_done = 0;
	c.doomed = true;
	CU_ASSERT_FALSE(client_hold(&c, &msg));
	return waits;
}

static bool modify_held(enum hw_qp_state state, uint32_t mask)
{
	struct hw_cmd cmd = {.op = HW_CMD_MODIFY_QP};

	cmd.u.modify_qp.mask = mask;
	cmd.u.modify_qp.attr.state = state;
	return held(cmd);
}

static void commands(void)
{
	const enum hw_cmd_op give[] = {
	    HW_CMD_DEREG_MR,    HW_CMD_MODIFY_MR,         HW_CMD_DEALLOC_MW, HW_CMD_DESTROY_QP,
	    HW_CMD_DESTROY_SRQ, HW_CMD_GOAL_COMM_DESTROY, HW_CMD_GOAL_CANCEL};
	const enum hw_cmd_op others[] = {HW_CMD_REG_MR, HW_CMD_CREATE_QP, HW_CMD_QUERY_QP,
					 HW_CMD_GOAL_LOAD};
	uint32_t i;

	for (i = 0; i < sizeof(give) / sizeof(give[0]); i++)
		CU_ASSERT_TRUE(held((struct hw_cmd){.op = give[i]}));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CU_ASSERT_FALSE(held((struct hw_cmd){.op = others[i]}));
}

/* A queue pair that leaves its working states gives all its buffers back. */
static void states(void)
{
	CU_ASSERT_TRUE(modify_held(HW_QPS_RESET, HW_QP_STATE));
	CU_ASSERT_TRUE(modify_held(HW_QPS_ERR, HW_QP_STATE));
	CU_ASSERT_TRUE(modify_held(HW_QPS_SQE, HW_QP_STATE));
	CU_ASSERT_FALSE(modify_held(HW_QPS_INIT, HW_QP_STATE));
	CU_ASSERT_FALSE(modify_held(HW_QPS_RTR, HW_QP_STATE | HW_QP_RNR_RETRY));
	CU_ASSERT_FALSE(modify_held(HW_QPS_RTS, HW_QP_STATE));
	CU_ASSERT_FALSE(modify_held(HW_QPS_RESET, HW_QP_RNR_RETRY));
}

UT_MAIN("dpdk_app/client_hold", UT(commands), UT(states))
