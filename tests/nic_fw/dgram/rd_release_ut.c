/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rd_session.c: a session that makes room for another one leaves no timer, no place in a list and
 * no share behind.
 */
#include <arpa/inet.h>

#include "tests/bench/host.h"

static struct fw_ut ut;

static void nothing_is_left(void)
{
	const struct fw_account *user;
	struct rd_session *s;
	uint32_t timers, i;

	fw_ut_begin(&ut);
	fw_ut_poll(&ut, 1000);
	user = ut.nic->host.clients[0].share->user;
	for (i = 0; i < 2; i++) {
		timers = ut.nic->timers.count;
		s = share_session_get(ut.nic, 0, htonl(0x0a4d0007), 5);
		CU_ASSERT_PTR_NOT_NULL_FATAL(s);
		CU_ASSERT_EQUAL(user->held[HW_SHARE_SESSION], 1);
		CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->rd.session_ids), 1);
		/* As if it were in use in each way. */
		fw_timer_set(&ut.nic->timers, &s->timer, UINT64_MAX - 1);
		fw_timer_set(&ut.nic->timers, &s->pace_timer, UINT64_MAX - 1);
		if (!fw_list_linked(&s->ready_node))
			fw_list_add_tail(&ut.nic->rd.ready, &s->ready_node);
		if (!fw_list_linked(&s->ack_node))
			fw_list_add_tail(&ut.nic->rd.acks, &s->ack_node);
		rd_session_release(ut.nic, s);
		CU_ASSERT_EQUAL(ut.nic->timers.count, timers);
		CU_ASSERT_TRUE(fw_list_empty(&ut.nic->rd.ready));
		CU_ASSERT_TRUE(fw_list_empty(&ut.nic->rd.acks));
		CU_ASSERT_EQUAL(user->held[HW_SHARE_SESSION], 0);
		CU_ASSERT_EQUAL(fw_ids_used(&ut.nic->rd.session_ids), 0);
		CU_ASSERT_EQUAL(ut.nic->rd.awake.used, 0);
		CU_ASSERT_PTR_NULL(rd_session_look_up(ut.nic, htonl(0x0a4d0007), 5));
	}
	fw_ut_end(&ut);
	bench_port_free(&ut.port);
}

UT_MAIN("nic_fw/dgram/rd_release", UT(nothing_is_left))
