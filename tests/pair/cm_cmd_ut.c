/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of the connection manager with each field wrong in turn: none changes the endpoint,
 * which can be used afterwards. nic_fw/cm/cm_cmd.c.
 */
#include "tests/pair/cm_pair.h"

static struct cp cp;

static int command(uint32_t e, enum hw_cmd_op op, const struct hw_cmd_cm *cm)
{
	return cp_cmd(&cp, e, op, cm, NULL);
}

static void wrong_binds(void)
{
	struct hw_cmd_cm cm;
	uint32_t ep;

	cp_begin(&cp);
	ep = cp_create(&cp, 0);
	cm = (struct hw_cmd_cm){.ep = ep, .space = HW_CM_TCP};
	cm.flags = HW_CM_F_STORED;
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_BIND, &cm), FW_EINVAL);
	cm.flags = 0;
	cm.space = UINT32_MAX;
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_BIND, &cm), FW_EINVAL);
	cm.space = HW_CM_TCP;
	cm.ep = ep + 1;
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_BIND, &cm), FW_EINVAL);
	cm.ep = ep;
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_BIND, &cm), 0);
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_BIND, &cm), FW_EINVAL);
	cp_end(&cp);
}

/* Neither unbound nor with a field out of range. */
static void wrong_connects(void)
{
	const struct hw_cmd_cm good = {.port = CP_PORT};
	struct hw_cmd_cm cm = good;
	uint32_t ep;

#define WRONG(what)                                                                                \
	do {                                                                                       \
		cm = good;                                                                         \
		cm.ep = ep;                                                                        \
		cm.ip = cp.rp.end[1].nic->config.ip;                                               \
		what;                                                                              \
		CU_ASSERT_EQUAL(command(0, HW_CMD_CM_CONNECT, &cm), FW_EINVAL);                    \
	} while (0)

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, 0);
	ep = cp_create(&cp, 0);
	WRONG((void)0);
	CU_ASSERT_EQUAL(cp_simple(&cp, 0, HW_CMD_CM_DESTROY, ep), 0);
	ep = cp_bound(&cp, 0, HW_CM_TCP, 0);
	WRONG(cm.port = 0);
	WRONG(cm.transport = HW_CM_TRANSPORTS);
	WRONG(cm.mpa = (uint16_t)(HW_MPA_ALL + 1));
	WRONG(cm.flags = HW_CM_F_REUSE);
	WRONG(cm.param.qpn = FW_QPN_MASK + 1);
	WRONG(cm.param.reserved = 1);
	WRONG(cm.param.psn = 1);
	WRONG(cm.param.mtu = HW_MAX_MTU + 1);
	WRONG(cm.data_bytes = HW_CM_MAX_DATA + 1);
	WRONG(cm.data_bytes = HW_CM_INLINE_BYTES + 1);
	cm = good;
	cm.ep = ep;
	cm.ip = cp.rp.end[1].nic->config.ip;
	cm.param.mtu = 1024;
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_CONNECT, &cm), 0);
	CU_ASSERT_EQUAL(command(0, HW_CMD_CM_CONNECT, &cm), FW_EINVAL);
	rp_run(&cp.rp, CP_S);
	(void)cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	cp_end(&cp);
#undef WRONG
}

/* The endpoint of a request can be asked for nothing but an answer, and that is checked, too. */
static void wrong_answers(void)
{
	struct hw_resp_cm_event ev;
	struct hw_cmd_cm cm;

	cp_begin(&cp);
	(void)cp_listen(&cp, HW_CM_TCP, HW_CM_MAX_BACKLOG + 1);
	(void)cp_ask(&cp, HW_CM_TCP, 0);
	rp_run(&cp.rp, CP_S);
	ev = cp_expect(&cp, 1, CP_NONE, HW_CM_EVENT_REQUEST);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .flags = HW_CM_F_REUSE};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_ACCEPT, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .param = {.reserved = 1}};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_ACCEPT, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .flags = HW_CM_F_SRQ};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_REJECT, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .arg = UINT16_MAX + 1};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_REJECT, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .arg = HW_CM_REJ_REDIRECT};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_REJECT, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .port = CP_PORT};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_CONNECT, &cm), FW_EINVAL);
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_LISTEN, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep, .eq = HW_MAX_EQ_PER_CLIENT};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_MOVE, &cm), FW_EINVAL);
	cm = (struct hw_cmd_cm){.ep = ev.ep};
	CU_ASSERT_EQUAL(command(1, HW_CMD_CM_MOVE, &cm), FW_EINVAL);
	CU_ASSERT_EQUAL(cp_accept(&cp, 1, ev.ep, 0), 0);
	cp_end(&cp);
}

UT_MAIN("pair/cm_cmd", UT(wrong_binds), UT(wrong_connects), UT(wrong_answers))
