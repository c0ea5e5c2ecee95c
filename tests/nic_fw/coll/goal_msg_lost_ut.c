/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_fw/coll/goal_msg.c: messages of a rank that is lost, of a stream that has ended, and of a run
 * that ends.
 */
#include "tests/nic_fw/coll/goal_send_fix.h"

/* A rank is lost: its messages that are over are freed, the others end their runs. */
static void messages_of_a_lost_rank(void)
{
	uint32_t used;

	prepare(false);
	make_send(EAGER, 10, GOAL_REF(0, 0));
	load(false);
	used = ut.nic->goal.sends.used;
	(void)start();
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used,
			used + 4); /* and SEND, its header, an announcement */
	(void)lose(TO, ESP_END_LOST);
	turns(10);
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used + 3);
	CU_ASSERT_NOT_EQUAL(record->done, serial);
	(void)lose(2, ESP_END_UNREACHABLE);
	ends_with(HW_GOAL_UNREACHABLE, 2, FW_NONE);
	end();
	prepare(false);
	make_send(EAGER, 700, GOAL_REF(0, 0));
	load(false);
	(void)start();
	(void)lose(TO, ESP_END_LOST);
	ends_with(HW_GOAL_PEER_LOST, TO, FW_NONE);
	/* And a send that begins finds the rank lost. */
	(void)start_in(0, false);
	ends_with(HW_GOAL_PEER_LOST, TO, EAGER);
	end();
}

/* A stream that ended leaves of a message what its kind says. */
static void messages_of_an_ended_stream(void)
{
	struct goal_send *send;
	struct goal_run *run;
	uint32_t used, settles;

	prepare(false);
	make_send(SHORT, 10, GOAL_REF(0, 0));
	make_send(EAGER, 700, GOAL_REF(0, 0));
	make_send(SCATTER, LARGE_BYTES, GOAL_REF(0, 0));
	load(false);
	run = start();
	used = ut.nic->goal.sends.used;
	/* A message that waits, or is copied, is the run's own. */
	send = message_of(SCATTER);
	goal_send_lost(ut.nic, send);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_WAITING);
	send = message_of(EAGER);
	send->staging = true;
	goal_send_lost(ut.nic, send);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_EAGER);
	CU_ASSERT_TRUE(fw_list_linked(&send->xfer.node));
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used);
	send->staging = false;
	/* Frames under way read its memory. */
	settles = ut.port.settles;
	goal_send_lost(ut.nic, send);
	CU_ASSERT_EQUAL(ut.port.settles, settles + 1);
	CU_ASSERT_EQUAL(send->kind, GOAL_SEND_WAITING);
	CU_ASSERT_FALSE(fw_list_linked(&send->xfer.node));
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used);
	goal_send_lost(ut.nic, message_of(SHORT));
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used - 1);
	CU_ASSERT_EQUAL(ut.port.settles, settles + 1);
	CU_ASSERT_PTR_NOT_NULL(run);
	end();
}

/* A run that ends gives memory back that frames under way read; a copy is the NIC's. */
static void runs_that_end(void)
{
	struct goal_send *send;
	uint32_t settles;

	prepare(false);
	make_send(EAGER, 700, GOAL_REF(0, 0));
	load(false);
	settles = (start(), ut.port.settles);
	send = message_of(EAGER);
	goal_run_fail(ut.nic, send->run, HW_GOAL_CANCELED, RANK, FW_NONE);
	ends_with(HW_GOAL_CANCELED, RANK, FW_NONE);
	CU_ASSERT_EQUAL(ut.port.settles, settles + 1);
	CU_ASSERT_PTR_NULL(send->run);
	CU_ASSERT_TRUE(fw_list_linked(&send->xfer.node));
	end();
	prepare(false);
	make_send(EAGER, PIECES * PIECE_BYTES, GOAL_REF_PIECES(0, PIECES));
	load(false);
	settles = (start(), ut.port.settles);
	send = message_of(EAGER);
	CU_ASSERT_PTR_NOT_NULL(send->staged);
	goal_run_fail(ut.nic, send->run, HW_GOAL_CANCELED, RANK, FW_NONE);
	ends_with(HW_GOAL_CANCELED, RANK, FW_NONE);
	CU_ASSERT_EQUAL(ut.port.settles, settles);
	end();
}

/* Messages that wait are freed with their run, in slices. */
static void messages_that_wait(void)
{
	struct goal_run *run;
	uint32_t used;

	prepare(false);
	load(false);
	used = ut.nic->goal.sends.used;
	run = start();
	/* SEND, its header, and the announcement of LARGE. */
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used + 3);
	ut.nic->slices.left = 0;
	CU_ASSERT_FALSE(goal_msg_trim_run(ut.nic, run));
	CU_ASSERT_FALSE(fw_list_empty(&run->sends));
	ut.nic->slices.left = 1;
	CU_ASSERT_FALSE(goal_msg_trim_run(ut.nic, run));
	CU_ASSERT_TRUE(fw_list_empty(&run->sends));
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, used + 2);
	CU_ASSERT_FALSE(fw_list_empty(&run->recvs));
	ut.nic->slices.left = 4;
	CU_ASSERT_TRUE(goal_msg_trim_run(ut.nic, run));
	CU_ASSERT_TRUE(fw_list_empty(&run->recvs));
	CU_ASSERT_EQUAL(ut.nic->goal.recvs.used, 0);
	end();
}

/* A copy that is made for a rank that is lost by then ends the run. */
static void copy_for_a_lost_rank(void)
{
	struct goal_send *send;
	struct esp_stream *stream;
	struct goal_run *run;

	prepare(false);
	make_send(EAGER, 700, GOAL_REF(0, 0));
	load(true);
	ut.port.host_busy = true;
	run = start();
	send = message_of(EAGER);
	CU_ASSERT_TRUE(send->staging);
	stream = send->link->stream;
	send->link->stream = NULL;
	goal_msg_staged(ut.nic, run, send);
	send->link->stream = stream;
	CU_ASSERT_EQUAL(run->fault, HW_GOAL_PEER_LOST);
	CU_ASSERT_EQUAL(run->fault_rank, TO);
	CU_ASSERT_EQUAL(run->fault_op, EAGER);
	ends_with(HW_GOAL_PEER_LOST, TO, EAGER);
	ut.port.host_busy = false;
	end();
}

UT_MAIN("nic_fw/coll/goal_msg_lost", UT(messages_of_a_lost_rank), UT(messages_of_an_ended_stream),
	UT(runs_that_end), UT(messages_that_wait), UT(copy_for_a_lost_rank))
