/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions that HELLOs make: how many of all, and of one class of stations, and which give way to
 * further ones. The table of sessions is the test's own. See nic_fw/dgram/rd_share.c.
 */
#include <stdlib.h>

#include "nic_fw/fw_nic.h"
#include "tests/ut.h"

enum {
	SESSIONS = RD_HALF_OPEN + 8,
};

static struct {
	struct fw_nic *nic;
	struct rd_session *session;
	uint32_t num_evictions, evicted_user, evicted_station, num_released;
	struct rd_session *released;
	bool room;
} w;

bool rd_session_evict(struct fw_nic *nic, uint32_t user, uint32_t station)
{
	(void)nic;
	w.num_evictions++;
	w.evicted_user = user;
	w.evicted_station = station;
	return w.room;
}

void rd_session_release(struct fw_nic *nic, struct rd_session *s)
{
	w.num_released++;
	w.released = s;
	rd_share_leave(nic, s);
}

static void begin(void)
{
	uint32_t i;

	memset(&w, 0, sizeof(w));
	w.nic = calloc(1, sizeof(*w.nic));
	w.session = calloc(SESSIONS, sizeof(*w.session));
	CU_ASSERT_FATAL(w.nic && w.session);
	for (i = 0; i < SESSIONS; i++)
		fw_list_init(&w.session[i].wait_node);
	rd_share_init(w.nic);
}

static void end(void)
{
	free(w.session);
	free(w.nic);
}

/* An address of a class of its own for each number below the classes. */
static const uint8_t *mac_of(uint32_t n)
{
	static uint8_t mac[6];
	uint32_t k;

	for (k = 0;; k++) {
		memcpy(mac + 2, &k, sizeof(k));
		if (station_of(w.nic, mac) == n + 1)
			return mac;
	}
}

static const struct rd_share *share_of(uint32_t n)
{
	return &w.nic->rd.shares[n + 1];
}

static void check(uint32_t n, uint32_t foreign, uint32_t half_open)
{
	CU_ASSERT_EQUAL(share_of(n)->num_foreign, foreign);
	CU_ASSERT_EQUAL(share_of(n)->num_half_open, half_open);
}

static void check_all(uint32_t foreign, uint32_t half_open)
{
	CU_ASSERT_EQUAL(w.nic->rd.num_foreign, foreign);
	CU_ASSERT_EQUAL(w.nic->rd.num_half_open, half_open);
}

static void each_counts_in_its_class(void)
{
	struct rd_session *a, *b, *c;

	begin();
	a = &w.session[0];
	b = &w.session[1];
	c = &w.session[2];
	rd_share_take(w.nic, a, mac_of(0));
	rd_share_take(w.nic, b, mac_of(1));
	rd_share_take(w.nic, c, mac_of(1));
	CU_ASSERT_EQUAL(a->station, 1);
	CU_ASSERT_TRUE(a->foreign && a->half_open);
	check_all(3, 3);
	check(0, 1, 1);
	check(1, 2, 2);
	/* The peer sent something: it is there. */
	rd_share_heard(w.nic, b);
	CU_ASSERT_TRUE(b->foreign);
	CU_ASSERT_FALSE(b->half_open || fw_list_linked(&b->wait_node));
	check_all(3, 2);
	check(1, 2, 1);
	rd_share_heard(w.nic, b);
	check_all(3, 2);
	/* They end: one that was heard, one that was not. */
	rd_share_leave(w.nic, b);
	CU_ASSERT_FALSE(b->foreign);
	check_all(2, 2);
	check(1, 1, 1);
	rd_share_leave(w.nic, c);
	CU_ASSERT_FALSE(fw_list_linked(&c->wait_node));
	check_all(1, 1);
	check(1, 0, 0);
	/* A session that a process here made counts nowhere. */
	rd_share_leave(w.nic, c);
	rd_share_heard(w.nic, c);
	check_all(1, 1);
	check(0, 1, 1);
	end();
}

/* The oldest of the class that has most of them gives way. */
static void give_way(uint32_t most)
{
	uint32_t i;

	begin();
	for (i = 0; i < RD_HALF_OPEN; i++)
		rd_share_take(w.nic, &w.session[i], mac_of(i % 8 ? most : 3));
	CU_ASSERT_EQUAL(w.num_released, 0);
	rd_share_take(w.nic, &w.session[i], mac_of(5));
	CU_ASSERT_EQUAL(w.num_released, 1);
	CU_ASSERT_PTR_EQUAL(w.released, &w.session[1]);
	check_all(RD_HALF_OPEN, RD_HALF_OPEN);
	check(5, 1, 1);
	check(most, RD_HALF_OPEN / 8 * 7 - 1, RD_HALF_OPEN / 8 * 7 - 1);
	rd_share_take(w.nic, &w.session[i + 1], mac_of(5));
	CU_ASSERT_PTR_EQUAL(w.released, &w.session[2]);
	/* Sessions that were heard do not count for that. */
	rd_share_heard(w.nic, &w.session[0]);
	rd_share_take(w.nic, &w.session[i + 2], mac_of(5));
	CU_ASSERT_EQUAL(w.num_released, 2);
	end();
}

static void those_known_by_a_hello_alone_give_way(void)
{
	give_way(0);
	give_way(200);
	give_way(STATIONS - 2);
}

static void hellos_do_not_fill_the_table(void)
{
	uint32_t user = 99;

	begin();
	w.evicted_user = user;
	w.nic->rd.num_foreign = RD_FOREIGN_MAX - 1;
	CU_ASSERT_TRUE(rd_share_room(w.nic, mac_of(7)));
	CU_ASSERT_EQUAL(w.num_evictions, 0);
	w.nic->rd.num_foreign++;
	CU_ASSERT_FALSE(rd_share_room(w.nic, mac_of(7)));
	CU_ASSERT_EQUAL(w.num_evictions, 1);
	CU_ASSERT_EQUAL(w.evicted_user, 0);
	CU_ASSERT_EQUAL(w.evicted_station, 8);
	w.room = true;
	CU_ASSERT_TRUE(rd_share_room(w.nic, mac_of(7)));
	end();
}

/* Once half of all sessions are taken. */
static void one_class_does_not_fill_it_either(void)
{
	struct rd_share *share;

	begin();
	share = &w.nic->rd.shares[8];
	share->num_foreign = RD_SHARE_MAX;
	w.nic->rd.session_ids.high = HW_MAX_PEERS / 2 - 1;
	CU_ASSERT_TRUE(rd_share_room(w.nic, mac_of(7)));
	w.nic->rd.session_ids.high++;
	CU_ASSERT_FALSE(rd_share_room(w.nic, mac_of(7)));
	CU_ASSERT_EQUAL(w.evicted_station, 8);
	CU_ASSERT_TRUE(rd_share_room(w.nic, mac_of(6)));
	share->num_foreign--;
	CU_ASSERT_TRUE(rd_share_room(w.nic, mac_of(7)));
	CU_ASSERT_EQUAL(w.num_evictions, 1);
	end();
}

UT_MAIN("nic_fw/dgram/rd_share", UT(each_counts_in_its_class),
	UT(those_known_by_a_hello_alone_give_way), UT(hellos_do_not_fill_the_table),
	UT(one_class_does_not_fill_it_either))
