/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet out: staging, bursts, a full port, faults, frames of a client that ends.
 */
#include "tests/bench/stubs/net.h"

enum {
	MEMORY_BYTES = 64
};

/* Memory that frames point at, with margins on both sides. */
static uint8_t around[3 * MEMORY_BYTES];
static uint8_t *const memory = around + MEMORY_BYTES;

/* Stages a frame whose first byte is tag, with a piece of a client if client is not 0. */
static struct fw_tx_frame *stage(uint8_t tag, uint16_t client, bool host)
{
	struct fw_tx_frame *frame = eth_tx_begin(net.nic);

	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	frame->hdr[0] = tag;
	eth_tx_hdr(frame, 0, 14, 0);
	if (client || host)
		frame->seg[frame->num_seg++] =
		    (struct fw_tx_seg){.mem = host ? NULL : memory,
				       .addr = (uintptr_t)memory,
				       .bytes = MEMORY_BYTES,
				       .client = client,
				       .kind = host ? FW_TX_HOST : FW_TX_MEM};
	return frame;
}

static void staged_frames_leave_in_one_burst(void)
{
	uint8_t i;

	net_init(0);
	for (i = 0; i < 5; i++)
		eth_tx_commit(net.nic, stage(i, 0, false));
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_flush();
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 5);
	CU_ASSERT_EQUAL(net.port.tx_calls, 1);
	for (i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(net.sent[i].b[0], i);
	CU_ASSERT_EQUAL(CNT(tx_frames), 5);
	CU_ASSERT_EQUAL(CNT(tx_bytes), 5 * 14);
	net_end();
}

static void length_counts_the_crc(void)
{
	struct fw_tx_frame *frame;

	net_init(0);
	frame = stage(1, 0, false);
	eth_tx_hdr(frame, 14, 10, FW_TX_F_CRC_BEGIN | FW_TX_F_CRC_END);
	eth_tx_commit(net.nic, frame);
	net_flush(); /* the port compares frame->bytes with the assembled length */
	CU_ASSERT_EQUAL(net.sent[0].n, 28);
	net_end();
}

static void full_stage_flushes_itself(void)
{
	uint32_t i;

	net_init(0);
	for (i = 0; i < FW_TX_STAGE + 1; i++)
		eth_tx_commit(net.nic, stage((uint8_t)i, 0, false));
	CU_ASSERT_EQUAL(net.num_sent, FW_TX_STAGE);
	CU_ASSERT_EQUAL(eth_tx_room(net.nic), FW_TX_STAGE - 1);
	net_end();
}

static void full_port_keeps_order(void)
{
	uint8_t i;

	net_init(0);
	net.port.tx_room = 3;
	for (i = 0; i < 8; i++)
		eth_tx_commit(net.nic, stage(i, 0, false));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 3);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 5);
	CU_ASSERT_EQUAL(CNT(tx_backpressure), 1);
	net_flush();
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 5);
	net.port.tx_room = 100;
	eth_tx_commit(net.nic, stage(8, 0, false));
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 9);
	for (i = 0; i < 9; i++)
		CU_ASSERT_EQUAL(net.sent[i].b[0], i);
	net_end();
}

static void no_room_at_all(void)
{
	uint32_t i;

	net_init(0);
	net.port.tx_room = 0;
	for (i = 0; i < FW_TX_STAGE; i++)
		eth_tx_commit(net.nic, stage(1, 0, false));
	CU_ASSERT_EQUAL(eth_tx_room(net.nic), 0);
	CU_ASSERT_PTR_NULL(eth_tx_begin(net.nic));
	net.port.tx_room = 1;
	CU_ASSERT_PTR_NOT_NULL(eth_tx_begin(net.nic));
	CU_ASSERT_EQUAL(eth_tx_room(net.nic), 1);
	net_end();
}

/* The port's allowance bounds frames of data, but not ACKs and ARP. */
static void allowance_of_the_turn(void)
{
	struct fw_tx_frame *frame;

	net_init(0);
	net.nic->net.tx_allow = 2;
	CU_ASSERT_EQUAL(eth_tx_room(net.nic), 2);
	frame = stage(1, 0, false);
	frame->flags = FW_TX_F_CONTROL;
	eth_tx_commit(net.nic, frame);
	CU_ASSERT_EQUAL(eth_tx_room(net.nic), 2);
	eth_tx_commit(net.nic, stage(2, 0, false));
	eth_tx_commit(net.nic, stage(3, 0, false));
	CU_ASSERT_EQUAL(eth_tx_room(net.nic), 0);
	frame = stage(4, 0, false);
	frame->flags = FW_TX_F_CONTROL;
	eth_tx_commit(net.nic, frame);
	CU_ASSERT_EQUAL(net.nic->net.tx_allow, 0);
	net_flush();
	CU_ASSERT_EQUAL(net.num_sent, 4);
	net_end();
}

static void fault_of_a_process(void)
{
	net_init(0);
	net.port.host_fault = true;
	eth_tx_commit(net.nic, stage(1, 0, false));
	CU_ASSERT_EQUAL(eth_tx_commit_now(net.nic, stage(2, NET_CLIENT, true)), -FW_EFAULT);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(CNT(host_faults), 1);
	CU_ASSERT_EQUAL(CNT(tx_frames), 1);
	/* A fault of the frame before does not affect it. */
	eth_tx_commit(net.nic, stage(3, NET_CLIENT, true));
	CU_ASSERT_EQUAL(eth_tx_commit_now(net.nic, stage(4, 0, false)), 0);
	CU_ASSERT_EQUAL(net.sent[1].b[0], 4);
	net.port.host_fault = false;
	CU_ASSERT_EQUAL(eth_tx_commit_now(net.nic, stage(5, NET_CLIENT, true)), 0);
	CU_ASSERT_EQUAL(net.sent[2].n, 14 + MEMORY_BYTES);
	CU_ASSERT_EQUAL(CNT(host_reads), 3);
	net_end();
}

static void now_without_room(void)
{
	net_init(0);
	net.port.tx_room = 1;
	eth_tx_commit(net.nic, stage(1, 0, false));
	CU_ASSERT_EQUAL(eth_tx_try_now(net.nic, stage(2, 0, false)), -FW_EAGAIN);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 0);
	CU_ASSERT_EQUAL(eth_tx_commit_now(net.nic, stage(3, 0, false)), 0);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 1);
	CU_ASSERT_EQUAL(eth_tx_try_now(net.nic, stage(4, 0, false)), -FW_EAGAIN);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 1);
	net.port.tx_room = 2;
	CU_ASSERT_EQUAL(eth_tx_try_now(net.nic, stage(5, 0, false)), 0);
	CU_ASSERT_EQUAL(net.num_sent, 3);
	CU_ASSERT_EQUAL(net.sent[1].b[0], 3);
	CU_ASSERT_EQUAL(net.sent[2].b[0], 5);
	net_end();
}

static void forgets_one_client_only(void)
{
	net_init(0);
	net.port.tx_room = 1;
	eth_tx_commit(net.nic, stage(1, 5, false));
	eth_tx_commit(net.nic, stage(2, 5, false));
	eth_tx_commit(net.nic, stage(3, 6, false));
	eth_tx_commit(net.nic, stage(4, 5, true));
	eth_tx_commit(net.nic, stage(5, 0, false));
	eth_tx_forget(net.nic, 5);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 2);
	net.port.tx_room = 10;
	net_flush();
	CU_ASSERT_EQUAL(net.sent[1].b[0], 3);
	CU_ASSERT_EQUAL(net.sent[2].b[0], 5);
	net_end();
}

/* Packets of a run that is dropped before it left take no part in the ids of those behind it. */
static void forgets_runs(void)
{
	struct fw_tx_frame *frame;

	net_init(0);
	net.port.tx_room = 0;
	eth_tx_commit(net.nic, stage(1, 0, false));
	frame = stage(2, 5, false);
	frame->run = 7;
	eth_tx_commit(net.nic, frame);
	frame = stage(3, 6, false);
	frame->run = 3;
	eth_tx_commit(net.nic, frame);
	CU_ASSERT_EQUAL(net.nic->net.tx_more, 6 + 2);
	eth_tx_forget(net.nic, 5);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 2);
	CU_ASSERT_EQUAL(net.nic->net.tx_more, 2);
	eth_tx_forget_mem(net.nic, memory, MEMORY_BYTES);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 1);
	CU_ASSERT_EQUAL(net.nic->net.tx_more, 0);
	net.port.tx_room = 10;
	net_end();
}

/*
 * Memory that the NIC gives back: frames that point at any byte of it are sent before, or dropped.
 */
static void forgets_memory(void)
{
	net_init(0);
	net.port.tx_room = 1;
	eth_tx_commit(net.nic, stage(1, 5, false));
	eth_tx_forget_mem(net.nic, memory + MEMORY_BYTES, MEMORY_BYTES);
	eth_tx_forget_mem(net.nic, around, MEMORY_BYTES);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	eth_tx_commit(net.nic, stage(2, 6, false));
	eth_tx_commit(net.nic, stage(3, 0, false));
	eth_tx_forget_mem(net.nic, memory, 1);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(net.nic->net.tx_count, 1);
	net.port.tx_room = 10;
	net_flush();
	CU_ASSERT_EQUAL(net.sent[1].b[0], 3);
	net_end();
}

/* Staged frames are sent before settling: the port cannot settle a frame that it does not have. */
static void settles_what_was_sent(void)
{
	net_init(0);
	eth_tx_commit(net.nic, stage(1, 5, false));
	eth_tx_settle(net.nic);
	CU_ASSERT_EQUAL(net.port.settles, 1);
	CU_ASSERT_EQUAL(net.port.settled, 1);
	eth_tx_commit(net.nic, stage(2, 5, false));
	eth_tx_forget(net.nic, 5);
	CU_ASSERT_EQUAL(net.port.settles, 2);
	CU_ASSERT_EQUAL(net.port.settled, 2);
	net.nic->port.tx_settle = NULL;
	eth_tx_commit(net.nic, stage(3, 5, false));
	eth_tx_settle(net.nic);
	CU_ASSERT_EQUAL(net.num_sent, 3);
	net_end();
}

UT_MAIN("nic_fw/net/eth_tx", UT(staged_frames_leave_in_one_burst), UT(length_counts_the_crc),
	UT(full_stage_flushes_itself), UT(full_port_keeps_order), UT(no_room_at_all),
	UT(allowance_of_the_turn), UT(fault_of_a_process), UT(now_without_room),
	UT(forgets_one_client_only), UT(forgets_runs), UT(forgets_memory),
	UT(settles_what_was_sent))
