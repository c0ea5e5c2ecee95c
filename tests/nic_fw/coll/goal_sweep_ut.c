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

UT_MAIN("nic_fw/coll/goal_sweep", UT(in_turns), UT(once_more), UT(while_it_changes))
