/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpa_rdmap.c: a connection rests only while nothing of it is under way, and wakes as it was.
 */
#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	NAME = 17,
};

static struct fw_nic nic;
static struct mpa_conn conn;
static struct mpa_setup setup;
static struct tcp_flow flow;
static struct fw_list other;

/* An idle connection. */
static void begin(void)
{
	memset(&conn, 0, sizeof(conn));
	mpa_rdmap_init_conn(&conn);
	conn.state = MPA_FPDU;
	conn.flow = &flow;
	flow.ctx = &conn;
	fw_list_init(&other);
}

static bool rests(void)
{
	struct tcp_rest_lent *lent = mpa_rdmap_rest(&nic, &flow, NAME);

	if (!lent) {
		CU_ASSERT_PTR_EQUAL(conn.flow, &flow);
		CU_ASSERT_EQUAL(conn.rest, 0);
		return false;
	}
	CU_ASSERT_PTR_EQUAL(lent, &conn.lent);
	CU_ASSERT_PTR_NULL(conn.flow);
	CU_ASSERT_EQUAL(conn.rest, NAME);
	return true;
}

static void an_idle_connection_rests(void)
{
	begin();
	CU_ASSERT_TRUE(rests());
}

/* Each thing alone keeps it awake. */
static void whatever_is_under_way(void)
{
	uint32_t state;

	for (state = 0; state < MPA_STATES; state++) {
		begin();
		conn.state = (uint8_t)state;
		CU_ASSERT_EQUAL(rests(), state == MPA_FPDU);
	}
	begin();
	conn.setup = &setup;
	CU_ASSERT_FALSE(rests());
	begin();
	fw_list_add_tail(&conn.out, &other);
	CU_ASSERT_FALSE(rests());
	begin();
	fw_list_add_tail(&conn.segs, &other);
	CU_ASSERT_FALSE(rests());
	begin();
	conn.partial = (void *)&setup;
	CU_ASSERT_FALSE(rests());
	begin();
	conn.rtr_due = true;
	CU_ASSERT_FALSE(rests());
	begin();
	fw_list_add_tail(&other, &conn.node);
	CU_ASSERT_FALSE(rests());
	begin();
	conn.retry_due = true;
	CU_ASSERT_FALSE(rests());
	begin();
	conn.fault_msg = (void *)&setup;
	CU_ASSERT_FALSE(rests());
	begin();
	conn.timer.pos = 1;
	CU_ASSERT_FALSE(rests());
	begin();
	CU_ASSERT_TRUE(rests());
}

UT_MAIN("nic_fw/mpa/mpa_rest", UT(an_idle_connection_rests), UT(whatever_is_under_way))
