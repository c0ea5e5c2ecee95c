/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for ended runs are found and freed in turns, however many there are for runs to come,
 * and while they change. The position of the walk counts the messages visited; nothing is timed.
 * See nic_fw/coll/goal_sweep.c.
 */
#include "tests/bench/host.h"

enum {
	NEXT_INSTANCE = 100,
	MESSAGES = 2000,
	EVERY = 4, /* one in so many is for a run that is over */
	LOOKS_PER_TURN = 4 * FW_SLICE_UNITS,
};

static struct fw_ut ut;
static struct goal_comm *comm;

static void begin(void)
{
	fw_ut_begin(&ut);
	comm = host_comm(ut.nic, 2, NEXT_INSTANCE);
}

static struct goal_unexp *message(uint32_t instance, uint32_t tag)
{
	const struct goal_key4 key = {.instance = instance, .rank = 1, .tag = tag};
	struct goal_unexp *unexp = goal_unexp_new(ut.nic, comm, &key, 8, false);

	CU_ASSERT_PTR_NOT_NULL_FATAL(unexp);
	return unexp;
}

static void messages(void)
{
	uint32_t i;

	for (i = 0; i < MESSAGES; i++)
		(void)message(i % EVERY ? NEXT_INSTANCE + i : NEXT_INSTANCE - 1, i);
}

static void end(void)
{
	while (!fw_list_empty(&comm->unexps))
		goal_unexp_free(ut.nic,
				FW_CONTAINER(comm->unexps.next, struct goal_unexp, comm_node));
	fw_ut_poll(&ut, 1000);
	CU_ASSERT_FALSE(slice_pending(ut.nic));
	fw_ut_end(&ut);
}

static uint32_t count(bool over)
{
	struct fw_list *pos;
	uint32_t n = 0;

	fw_list_for_each (pos, &comm->unexps)
		n += (FW_CONTAINER(pos, struct goal_unexp, comm_node)->key.instance <
		      NEXT_INSTANCE) == over;
	return n;
}

/* Messages after the position of the walk. */
static uint32_t ahead(void)
{
	struct fw_list *pos;
	uint32_t n = 0;

	for (pos = comm->sweep_unexp; pos != &comm->unexps; pos = pos->next)
		n++;
	return n;
}

static void in_turns(void)
{
	uint32_t turns, left, was;

	begin();
	messages();
	fw_ut_poll(&ut, 1000);
	goal_sweep(ut.nic, comm);
	left = ahead();
	CU_ASSERT(left >= MESSAGES - LOOKS_PER_TURN);
	for (turns = 0; left && turns < MESSAGES; turns++) {
		was = left;
		fw_ut_poll(&ut, 1000);
		left = ahead();
		CU_ASSERT(was - left <= LOOKS_PER_TURN);
	}
	CU_ASSERT_EQUAL(count(true), 0);
	CU_ASSERT_EQUAL(count(false), MESSAGES - MESSAGES / EVERY);
	end();
}

/* Another run ends meanwhile: its messages before the position are found as well. */
static void once_more(void)
{
	uint32_t turns;

	begin();
	messages();
	goal_sweep(ut.nic, comm);
	fw_ut_poll(&ut, 1000);
	comm->next_instance = NEXT_INSTANCE + EVERY;
	goal_sweep(ut.nic, comm);
	for (turns = 0; slice_pending(ut.nic) && turns < MESSAGES; turns++)
		fw_ut_poll(&ut, 1000);
	CU_ASSERT_EQUAL(count(true), 0);
	CU_ASSERT_EQUAL(count(false), MESSAGES - MESSAGES / EVERY - (EVERY - 1));
	end();
}

/* The message at the position is taken by its receive; others arrive. */
static void while_it_changes(void)
{
	uint32_t turns, i = 0, taken = 0;

	begin();
	messages();
	goal_sweep(ut.nic, comm);
	for (turns = 0; slice_pending(ut.nic) && turns < MESSAGES; turns++) {
		if (comm->sweep_unexp != &comm->unexps) {
			goal_unexp_free(
			    ut.nic, FW_CONTAINER(comm->sweep_unexp, struct goal_unexp, comm_node));
			taken++;
		}
		(void)message(NEXT_INSTANCE + MESSAGES + i, i);
		i++;
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_NOT_EQUAL(taken, 0);
	CU_ASSERT_EQUAL(count(true), 0);
	end();
}

/* ---- announcements that came before their sends */

static struct goal_link link;

static void announcement(uint32_t instance, uint32_t tag)
{
	const struct goal_key4 key = {.instance = instance, .rank = 1, .tag = tag};
	struct goal_send *send =
	    goal_send_new(ut.nic, 0, &link, GOAL_SEND_ANNOUNCED, WIRE_GOAL_DATA, &key);

	CU_ASSERT_PTR_NOT_NULL_FATAL(send);
	link.announced++;
	fw_list_add_tail(&comm->announced, &send->run_node);
}

static void announcements(void)
{
	uint32_t i;

	begin();
	memset(&link, 0, sizeof(link));
	fw_list_init(&link.sends);
	for (i = 0; i < MESSAGES; i++)
		announcement(i % EVERY ? NEXT_INSTANCE + i : NEXT_INSTANCE - 1, i);
}

static struct goal_send *send_at(struct fw_list *node)
{
	return FW_CONTAINER(node, struct goal_send, run_node);
}

static void end_announcements(uint32_t left)
{
	CU_ASSERT_EQUAL(link.announced, left);
	CU_ASSERT_EQUAL(ut.nic->goal.sends.used, left);
	while (!fw_list_empty(&comm->announced)) {
		CU_ASSERT_TRUE(send_at(comm->announced.next)->key.instance >= NEXT_INSTANCE);
		goal_send_free(ut.nic, send_at(comm->announced.next));
	}
	CU_ASSERT_EQUAL(link.announced, 0);
	CU_ASSERT_TRUE(fw_list_empty(&link.sends));
	end();
}

static void announcements_in_turns(void)
{
	uint32_t turns, was, left = MESSAGES;

	announcements();
	goal_sweep(ut.nic, comm);
	for (turns = 0; slice_pending(ut.nic) && turns < MESSAGES; turns++) {
		was = left;
		fw_ut_poll(&ut, 1000);
		CU_ASSERT_TRUE(ut.nic->turn_did & FW_DID_LEAVE);
		left = link.announced;
		CU_ASSERT(was - left <= LOOKS_PER_TURN);
	}
	CU_ASSERT(turns > 5);
	end_announcements(MESSAGES - MESSAGES / EVERY);
}

/* The send at the position of the walk comes. */
static void announcements_while_they_change(void)
{
	uint32_t turns, taken = 0, current = 0;

	announcements();
	goal_sweep(ut.nic, comm);
	for (turns = 0; slice_pending(ut.nic) && turns < MESSAGES; turns++) {
		if (comm->sweep_announced != &comm->announced) {
			current += send_at(comm->sweep_announced)->key.instance >= NEXT_INSTANCE;
			goal_send_free(ut.nic, send_at(comm->sweep_announced));
			taken++;
		}
		fw_ut_poll(&ut, 1000);
	}
	CU_ASSERT_NOT_EQUAL(taken, 0);
	end_announcements(MESSAGES - MESSAGES / EVERY - current);
}

/* Its send comes, which becomes one of a run. */
static void an_announcement_that_is_none_any_more(void)
{
	struct goal_send *send;

	begin();
	memset(&link, 0, sizeof(link));
	fw_list_init(&link.sends);
	announcement(NEXT_INSTANCE, 0);
	send = send_at(comm->announced.next);
	goal_send_unannounce(ut.nic, send);
	CU_ASSERT_EQUAL(link.announced, 0);
	CU_ASSERT_TRUE(fw_list_empty(&comm->announced));
	CU_ASSERT_FALSE(fw_list_linked(&send->run_node));
	send->kind = GOAL_SEND_DATA;
	goal_send_free(ut.nic, send);
	end_announcements(0);
}

/* Its communicator is gone: there is no walk. */
static void announcements_of_no_communicator(void)
{
	begin();
	memset(&link, 0, sizeof(link));
	fw_list_init(&link.sends);
	announcement(NEXT_INSTANCE, 0);
	link.comm = FW_NONE;
	end_announcements(1);
}

UT_MAIN("nic_fw/coll/goal_sweep", UT(in_turns), UT(once_more), UT(while_it_changes),
	UT(announcements_in_turns), UT(announcements_while_they_change),
	UT(an_announcement_that_is_none_any_more), UT(announcements_of_no_communicator))
