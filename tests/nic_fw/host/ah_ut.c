/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: those that need no ARP, those that wait for it, those that are refused, and the
 * destination of requests with them.
 */
#include "tests/bench/host.h"

#include <arpa/inet.h>

static int create_ah(struct fw_ut *ut, uint32_t client, uint32_t pd, uint32_t ip, uint8_t flags,
		     uint32_t *handle)
{
	struct hw_cmd cmd = {.op = HW_CMD_CREATE_AH};
	struct hw_cmd_resp resp;
	int rc;

	cmd.u.create_ah.pd = pd;
	cmd.u.create_ah.av.dst_ip = htonl(ip);
	cmd.u.create_ah.av.flags = flags;
	cmd.u.create_ah.av.sgid_index = 1;
	rc = host_cmd(ut->nic, client, &cmd, &resp);
	*handle = resp.u.handle;
	return rc;
}

static void handles_that_need_no_arp(void)
{
	uint32_t pd, other, own, by_qpn;
	struct fw_ut ut;
	bool found;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	other = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0x0a4d0001, HW_AV_F_GRH, &own), 0);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0, 0, &by_qpn), 0);
	CU_ASSERT_EQUAL(ut.port.frames_sent, 0);
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, own, 0xffffff, &found), htonl(0x0a4d0001));
	CU_ASSERT_TRUE(found);
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, by_qpn, 5, &found), htonl(0x0a4d0064));
	CU_ASSERT_TRUE(found);
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, by_qpn, 1u << 19 | 5, &found), htonl(0x0a4d0001));
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, by_qpn, 9u << 19, &found), 0);
	CU_ASSERT_TRUE(found);
	/* Bits above a QPN do not select anything beyond the table. */
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, by_qpn, UINT32_MAX, &found), 0);
	(void)ah_dst_ip(ut.nic, 0, other, own, 5, &found);
	CU_ASSERT_FALSE(found);
	(void)ah_dst_ip(ut.nic, 1, pd, own, 5, &found);
	CU_ASSERT_FALSE(found);
	(void)ah_dst_ip(ut.nic, 0, pd, 1000, 5, &found);
	CU_ASSERT_FALSE(found);
	(void)ah_dst_ip(ut.nic, 0, pd, UINT32_MAX, 5, &found);
	CU_ASSERT_FALSE(found);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, pd, NULL), FW_EBUSY);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_AH, own, NULL), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_AH, own, NULL), FW_EINVAL);
	(void)ah_dst_ip(ut.nic, 0, pd, own, 5, &found);
	CU_ASSERT_FALSE(found);
	fw_ut_end(&ut);
}

static void handles_that_are_refused(void)
{
	uint32_t pd, client2, handle;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client2), 0);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(create_ah(&ut, client2, pd, 0, 0, &handle), FW_EINVAL);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0, HW_AV_F_GRH, &handle), FW_EINVAL);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0xf0000001, HW_AV_F_GRH, &handle), FW_EINVAL);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0x08080808, HW_AV_F_GRH, &handle), FW_ENETUNREACH);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0x0a4d0009, 0x80, &handle), FW_EINVAL);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.ah_ids), 0);
	fw_ut_end(&ut);
}

/* Its MAC follows from its address: no ARP, on this link or beyond. */
static void a_group_needs_no_arp(void)
{
	uint32_t pd, handle;
	struct fw_ut ut;
	bool found;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL_FATAL(create_ah(&ut, 0, pd, 0xefffffff, HW_AV_F_GRH, &handle), 0);
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, handle, 0xffffff, &found), htonl(0xefffffff));
	CU_ASSERT_TRUE(found);
	CU_ASSERT_EQUAL(ah_hop_limit(ut.nic, handle), 1); /* 0 was given */
	CU_ASSERT_EQUAL(ut.port.frames_sent, 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_AH, handle, NULL), 0);
	fw_ut_end(&ut);
}

static void a_handle_waits_for_arp(void)
{
	uint32_t pd, handle, tag;
	struct fw_ut ut;
	bool found;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0x0a4d0009, HW_AV_F_GRH, &handle), -1);
	tag = ut.nic->host.ah_waiters[0].tag;
	CU_ASSERT_EQUAL(ut.nic->host.ah_waiting, 1);
	/* Until the answer arrives the handle cannot be used, nor destroyed by a guessed number. */
	(void)ah_dst_ip(ut.nic, 0, pd, 0, 5, &found);
	CU_ASSERT_FALSE(found);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DESTROY_AH, 0, NULL), FW_EINVAL);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, pd, NULL), FW_EBUSY);
	neigh_resolved(ut.nic, htonl(0x0a4d000a), true);
	CU_ASSERT_EQUAL(ut.port.num_done, 0);
	neigh_resolved(ut.nic, htonl(0x0a4d0009), true);
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done.op, HW_CMD_CREATE_AH);
	CU_ASSERT_EQUAL(ut.port.done.tag, tag);
	CU_ASSERT_EQUAL(ut.port.done.status, 0);
	CU_ASSERT_EQUAL(ah_dst_ip(ut.nic, 0, pd, ut.port.done.u.handle, 5, &found),
			htonl(0x0a4d0009));
	CU_ASSERT_TRUE(found);
	CU_ASSERT_EQUAL(ut.nic->host.ah_waiting, 0);
	fw_ut_end(&ut);
}

static void no_answer_to_arp_is_a_timeout(void)
{
	uint32_t pd, handle, i;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	pd = host_pd(ut.nic, 0);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0x0a4d0009, HW_AV_F_GRH, &handle), -1);
	for (i = 0; i < 20 && !ut.port.num_done; i++)
		fw_ut_poll(&ut, NEIGH_RETRY_NS / 2);
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done.status, FW_ETIMEDOUT);
	CU_ASSERT_TRUE(ut.port.frames_sent >= NEIGH_TRIES);
	CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->host.ah_ids), 0);
	CU_ASSERT_EQUAL(host_obj(ut.nic, 0, HW_CMD_DEALLOC_PD, pd, NULL), 0);
	fw_ut_end(&ut);
}

static void waiting_handles_of_a_process_that_goes(void)
{
	const uint32_t share = FW_AH_WAITERS - FW_AH_WAITERS / SHARE_POOL_PARTS;
	uint32_t client2, pd2, pd, handle, i;
	struct fw_ut ut;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client2), 0);
	pd = host_pd(ut.nic, 0);
	pd2 = host_pd(ut.nic, client2);
	CU_ASSERT_EQUAL(create_ah(&ut, 0, pd, 0x0a4d0009, HW_AV_F_GRH, &handle), -1);
	for (i = 0; i < share; i++)
		CU_ASSERT_EQUAL_FATAL(
		    create_ah(&ut, client2, pd2, 0x0a4d0009, HW_AV_F_GRH, &handle), -1);
	CU_ASSERT_EQUAL(create_ah(&ut, client2, pd2, 0x0a4d0009, HW_AV_F_GRH, &handle), FW_EAGAIN);
	fw_ut_detach(&ut, client2);
	CU_ASSERT_EQUAL(ut.nic->host.ah_waiting, 1);
	neigh_resolved(ut.nic, htonl(0x0a4d0009), true);
	CU_ASSERT_EQUAL(ut.port.num_done, 1);
	CU_ASSERT_EQUAL(ut.port.done_client, 0);
	fw_ut_end(&ut);
}

UT_MAIN("nic_fw/host/ah", UT(handles_that_need_no_arp), UT(handles_that_are_refused),
	UT(a_group_needs_no_arp), UT(a_handle_waits_for_arp), UT(no_answer_to_arp_is_a_timeout),
	UT(waiting_handles_of_a_process_that_goes))
