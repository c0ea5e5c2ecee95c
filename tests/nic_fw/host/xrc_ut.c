/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of XRC from a hostile process: foreign handles, reserved fields, quotas; and processes
 * that end in any order with shared objects.
 */
#include "tests/bench/host.h"

static struct fw_ut ut;

static int open_xrcd(uint32_t client, uint32_t flags, uint64_t ino, uint32_t *handle)
{
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_XRCD, .u.open_xrcd = {flags, 0, 7, ino}};
	struct hw_cmd_resp resp;
	int status;

	if (!(flags & HW_XRCD_F_FILE))
		cmd.u.open_xrcd.file_dev = 0;
	status = host_cmd(ut.nic, client, &cmd, &resp);
	*handle = resp.u.handle;
	return status;
}

static int create_srq(uint32_t client, struct hw_cmd_srq srq, struct hw_resp_srq *made)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_SRQ, .u.srq = srq};
	struct hw_cmd_resp resp;
	int status;

	cmd.u.srq.max_wr = 4;
	cmd.u.srq.max_sge = 1;
	status = host_cmd(ut.nic, client, &cmd, &resp);
	*made = resp.u.srq;
	return status;
}

static int create_recv(uint32_t client, struct hw_cmd_create_qp qp, uint32_t *qpn)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_QP, .u.create_qp = qp};
	struct hw_cmd_resp resp;
	int status = host_cmd(ut.nic, client, &cmd, &resp);

	*qpn = resp.u.create_qp.qpn;
	return status;
}

static int open_qp(uint32_t client, uint32_t xrcd, uint32_t qpn)
{
	struct hw_cmd cmd = {.op = HW_CMD_OPEN_QP, .u.open_qp = {xrcd, qpn}};
	struct hw_cmd_resp resp;

	return host_cmd(ut.nic, client, &cmd, &resp);
}

static void test_domains(void)
{
	uint32_t other, a, b, c, i;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &other), 0);
	CU_ASSERT_EQUAL(open_xrcd(0, 0x8, 0, &a), FW_EINVAL);
	CU_ASSERT_EQUAL(open_xrcd(0, 0, 5, &a), FW_EINVAL);
	CU_ASSERT_EQUAL(open_xrcd(0, HW_XRCD_F_FILE, 5, &a), FW_EAGAIN);
	CU_ASSERT_EQUAL(open_xrcd(0, HW_XRCD_F_FILE | HW_XRCD_F_CREATE, 5, &a), 0);
	CU_ASSERT_EQUAL(open_xrcd(other, HW_XRCD_F_FILE, 5, &b), 0);
	CU_ASSERT_EQUAL(open_xrcd(other, 0, 0, &c), 0);
	CU_ASSERT_EQUAL(ut.nic->host.xrcds[a].domain, ut.nic->host.xrcds[b].domain);
	CU_ASSERT_NOT_EQUAL(ut.nic->host.xrcds[a].domain, ut.nic->host.xrcds[c].domain);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, b, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, HW_MAX_XRCD, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, a, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, a, NULL), FW_EINVAL);
	/* b's opening keeps the domain */
	CU_ASSERT_EQUAL(open_xrcd(0, HW_XRCD_F_FILE, 5, &a), 0);
	CU_ASSERT_EQUAL(ut.nic->host.xrcds[a].domain, ut.nic->host.xrcds[b].domain);
	for (i = 1; i < HW_MAX_XRCD_PER_CLIENT; i++)
		CU_ASSERT_EQUAL(open_xrcd(0, 0, 0, &c), 0);
	CU_ASSERT_EQUAL(open_xrcd(0, 0, 0, &c), FW_ENOSPC);
	fw_ut_end(&ut);
}

static void test_srqs(void)
{
	struct hw_resp_srq made;
	const struct fw_cq *cq, *foreign_cq;
	uint32_t other, pd, xrcd, foreign, qpn;
	struct hw_cmd_create_qp rc = {.type = HW_QPT_RC, .sq_slots = 4};

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &other), 0);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 8, HW_EQ_NONE);
	foreign_cq = host_cq(ut.nic, other, 8, HW_EQ_NONE);
	CU_ASSERT_EQUAL(open_xrcd(0, 0, 0, &xrcd), 0);
	CU_ASSERT_EQUAL(open_xrcd(other, 0, 0, &foreign), 0);
#define SRQ(f, x, c)                                                                               \
	create_srq(0, (struct hw_cmd_srq){.pd = pd, .flags = f, .xrcd = x, .cq = c}, &made)
	CU_ASSERT_EQUAL(SRQ(2, 0, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(SRQ(0, foreign, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(SRQ(0, 0, foreign_cq->index), FW_EINVAL);
	CU_ASSERT_EQUAL(SRQ(HW_SRQ_F_XRC, foreign, cq->index), FW_EINVAL);
	CU_ASSERT_EQUAL(SRQ(HW_SRQ_F_XRC, HW_MAX_XRCD, cq->index), FW_EINVAL);
	CU_ASSERT_EQUAL(SRQ(HW_SRQ_F_XRC, xrcd, foreign_cq->index), FW_EINVAL);
	CU_ASSERT_EQUAL(SRQ(0, 0, 0), 0);
	CU_ASSERT_EQUAL(made.srqn, 0);
	CU_ASSERT_EQUAL(SRQ(HW_SRQ_F_XRC, xrcd, cq->index), 0);
	CU_ASSERT_EQUAL(made.srqn, made.srq + XRC_SRQN_FIRST);
	/* The SRQ keeps its domain and CQ in use; a QP cannot have it as its own. */
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, xrcd, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_CQ, cq->index, NULL), FW_EBUSY);
	rc.pd = pd;
	rc.send_cq = rc.recv_cq = cq->index;
	rc.srq = made.srq;
	CU_ASSERT_EQUAL(create_recv(0, rc, &qpn), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_SRQ, made.srq, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, xrcd, NULL), 0);
	fw_ut_end(&ut);
}

static void test_bare_qp(void)
{
	const struct hw_cmd_create_qp good = {.type = HW_QPT_XRC_RECV, .srq = HW_SRQ_NONE};
	struct hw_cmd_create_qp qp;
	uint32_t other, qpn, xrcd, foreign, pd;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &other), 0);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(open_xrcd(0, 0, 0, &xrcd), 0);
	CU_ASSERT_EQUAL(open_xrcd(other, 0, 0, &foreign), 0);
#define WITH(field, value) (qp = good, qp.xrcd = xrcd, qp.field = value, create_recv(0, qp, &qpn))
	CU_ASSERT_EQUAL(WITH(xrcd, foreign), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(sq_slots, 4), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(send_cq, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(recv_cq, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_send_wr, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_recv_wr, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_send_sge, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_recv_sge, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_inline_bytes, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(flags, HW_QP_F_SQ_SIG_ALL), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(srq, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(pd, pd + 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(type, HW_QPT_RC), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(type, HW_QPT_XRC_RECV), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_CLOSE_XRCD, xrcd, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, other, HW_CMD_DESTROY_QP, qpn, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(open_qp(other, foreign, qpn), FW_EINVAL);
	CU_ASSERT_EQUAL(open_qp(other, xrcd, qpn), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_QP, qpn, NULL), 0);
	fw_ut_end(&ut);
}

/* The queue pair that sends receives nothing. */
static void test_sending_qp(void)
{
	const struct hw_cmd_create_qp good = {
	    .type = HW_QPT_XRC_SEND, .srq = HW_SRQ_NONE, .sq_slots = 4, .max_send_wr = 4};
	const struct fw_cq *cq;
	struct hw_cmd_create_qp qp;
	uint32_t qpn, pd;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	cq = host_cq(ut.nic, 0, 16, HW_EQ_NONE);
#undef WITH
#define WITH(field, value)                                                                         \
	(qp = good, qp.pd = pd, qp.send_cq = qp.recv_cq = cq->index, qp.field = value,             \
	 create_recv(0, qp, &qpn))
	CU_ASSERT_EQUAL(WITH(max_recv_wr, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_recv_sge, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(srq, 0), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(xrcd, 1), FW_EINVAL);
	CU_ASSERT_EQUAL(WITH(max_send_sge, 1), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_QP, qpn, NULL), 0);
	fw_ut_end(&ut);
}

/* Three processes share a QP; they end in each order, by command or by death. */
static void test_ends(void)
{
	static const uint8_t order[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct hw_cmd_create_qp recv = {.type = HW_QPT_XRC_RECV, .srq = HW_SRQ_NONE};
	uint32_t client[3], xrcd[3], qpn, i, k, round;

	for (round = 0; round < 12; round++) {
		fw_ut_begin(&ut);
		client[0] = 0;
		for (i = 1; i < 3; i++)
			CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client[i]), 0);
		for (i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(
			    open_xrcd(client[i], HW_XRCD_F_FILE | HW_XRCD_F_CREATE, 5, &xrcd[i]),
			    0);
		recv.xrcd = xrcd[0];
		CU_ASSERT_EQUAL_FATAL(create_recv(0, recv, &qpn), 0);
		CU_ASSERT_EQUAL(open_qp(0, xrcd[0], qpn), FW_EBUSY);
		CU_ASSERT_EQUAL(open_qp(client[1], xrcd[1], qpn), 0);
		CU_ASSERT_EQUAL(open_qp(client[2], xrcd[2], qpn), 0);
		CU_ASSERT_EQUAL(open_qp(client[2], xrcd[2], qpn), FW_EBUSY);
		for (k = 0; k < 3; k++) {
			i = order[round / 2][k];
			CU_ASSERT_PTR_NOT_NULL(qp_find(ut.nic, qpn));
			CU_ASSERT_EQUAL(ut.nic->host.clients[client[i]].share->held[HW_SHARE_QP],
					1);
			if (round % 2) {
				fw_ut_detach(&ut, client[i]);
				continue;
			}
			CU_ASSERT_EQUAL(host_obj(ut.nic, client[i], HW_CMD_DESTROY_QP, qpn, NULL),
					0);
			CU_ASSERT_EQUAL(host_obj(ut.nic, client[i], HW_CMD_DESTROY_QP, qpn, NULL),
					FW_EINVAL);
			CU_ASSERT_EQUAL(
			    host_obj(ut.nic, client[i], HW_CMD_CLOSE_XRCD, xrcd[i], NULL), 0);
		}
		CU_ASSERT_PTR_NULL(qp_find(ut.nic, qpn));
		fw_ut_end(&ut);
	}
}

UT_MAIN("nic_fw/host/xrc", UT(test_domains), UT(test_srqs), UT(test_bare_qp), UT(test_sending_qp),
	UT(test_ends))
