/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that leave: no staged frame points into their memory from the first moment on, however
 * long their objects take.
 */
#include "tests/bench/host.h"

enum {
	MANY = 300, /* objects: more than the call itself frees */
};

static struct fw_ut ut;

/* A frame of some memory, for which the port has no room. */
static void stage(uint32_t client, const void *mem)
{
	struct fw_tx_frame *frame = eth_tx_begin(ut.nic);

	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	memset(frame->hdr, 0, sizeof(frame->hdr));
	eth_tx_hdr(frame, 0, 60, 0);
	frame->seg[frame->num_seg++] =
	    (struct fw_tx_seg){.mem = mem, .client = client, .bytes = 100, .kind = FW_TX_MEM};
	eth_tx_commit(ut.nic, frame);
}

static void frames_of_one_that_leaves(void)
{
	static const uint8_t own[100], others[100];
	uint32_t client, i;

	fw_ut_begin(&ut);
	CU_ASSERT_EQUAL_FATAL(fw_ut_attach(&ut, NULL, &client), 0);
	for (i = 0; i < MANY; i++)
		(void)host_cq(ut.nic, client, 1, HW_EQ_NONE);
	fw_ut_poll(&ut, 1000);
	ut.port.tx_room = 0;
	stage(0, others);
	stage(client, own);
	stage(0, others);
	CU_ASSERT_EQUAL(ut.nic->net.tx_count, 3);
	CU_ASSERT_EQUAL(fw_client_detach(ut.nic, client), FW_DETACH_PENDING);
	CU_ASSERT_EQUAL_FATAL(ut.nic->net.tx_count, 2);
	for (i = 0; i < 2; i++)
		CU_ASSERT_PTR_EQUAL(ut.nic->net.tx[i].seg[1].mem, others);
	ut.port.tx_room = UINT32_MAX;
	for (i = 0; i < 1000 && !ut.port.num_detached; i++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(ut.port.num_detached, 1);
	CU_ASSERT_EQUAL(ut.port.last_detached, client);
	ut.client[client].bar = NULL;
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

UT_MAIN("nic_fw/host/client", UT(frames_of_one_that_leaves))
