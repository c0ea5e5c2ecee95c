/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP, queries: the times of their answers, queries of three versions, malformed ones, floods.
 */
#include "tests/bench/stubs/net.h"
#include "tests/nic_fw/net/igmp_fix.h"

/* A message with options of IPv4, whole words of them. */
static void query_options(const void *message, uint32_t bytes, uint32_t dst, const uint8_t *option,
			  uint32_t option_bytes)
{
	struct wire_igmp head;
	struct frame f;
	uint32_t at;

	net_put_ip(&f, WIRE_IPPROTO_IGMP);
	frame_add(&f, option, option_bytes);
	net_iph(&f)->version_ihl += (uint8_t)(option_bytes / 4);
	net_iph(&f)->ttl = 1;
	memcpy(&net_iph(&f)->dst, &dst, 4);
	wire_group_mac(dst, net_eth(&f)->dst);
	at = f.n;
	frame_add(&f, message, bytes);
	memcpy(&head, message, sizeof(head));
	head.checksum = be16_put(wire_sum_fold(wire_sum_add(0, message, bytes)));
	memcpy(f.b + at, &head, sizeof(head));
	frame_seal_ip(&f);
	net_rx(&f);
}

/* A query with the router alert option; sources follow where there are any. */
static void query_bytes(const void *message, uint32_t bytes, uint32_t dst, bool alert)
{
	static const uint8_t option[OPTION] = {148, 4, 0, 0};

	query_options(message, bytes, dst, option, alert ? sizeof(option) : 0);
}

static void query_v3(uint8_t code, uint32_t group, uint8_t qrv, uint8_t qqic,
		     const uint32_t *source, uint16_t num)
{
	struct {
		struct wire_igmp_query query;
		uint32_t source[64];
	} message = {.query.head.type = WIRE_IGMP_QUERY,
		     .query.head.max_resp_code = code,
		     .query.flags = qrv,
		     .query.qqic = qqic,
		     .query.num_sources = be16_put(num)};

	memcpy(&message.query.head.group, &group, 4);
	if (num)
		memcpy(message.source, source, num * sizeof(*source));
	query_bytes(&message, sizeof(message.query) + num * 4u,
		    group ? group : net_ip(224, 0, 0, 1), true);
}

static void query_old(uint8_t code, uint32_t group)
{
	struct wire_igmp message = {.type = WIRE_IGMP_QUERY, .max_resp_code = code};

	memcpy(&message.group, &group, 4);
	query_bytes(&message, sizeof(message), group ? group : net_ip(224, 0, 0, 1), code != 0);
}

static void a_general_query_is_answered_once(void)
{
	uint32_t a = net_ip(239, 1, 1, 1), b = net_ip(239, 1, 1, 2);

	begin();
	(void)join(a);
	(void)join(b);
	(void)join(net_ip(224, 0, 0, 1)); /* never reported */
	net_advance(IGMP_GAP_NS);
	pass(2000);
	net.num_sent = 0;
	random_value = 3000 * (uint64_t)MS - 1;
	query_v3(100, 0, 3, 60, NULL, 0);
	CU_ASSERT_EQUAL(net.nic->net.igmp.robustness, 3);
	CU_ASSERT_EQUAL(net.nic->net.igmp.query_interval_s, 60);
	/* A query that would be answered later changes nothing; an earlier one does. */
	random_value = UINT64_C(4000) * MS - 1;
	query_v3(100, 0, 0, 0, NULL, 0);
	CU_ASSERT_EQUAL(net.nic->net.igmp.robustness, 3);
	random_value = UINT64_C(1000) * MS - 1;
	query_v3(100, 0, 3, 60, NULL, 0);
	/* A query of one group changes nothing either: the answer to the general one covers it. */
	random_value = UINT64_C(1500) * MS - 1;
	query_v3(100, a, 3, 60, NULL, 0);
	net_advance(UINT64_C(1000) * MS - 1);
	CU_ASSERT_EQUAL(net.num_sent, 0);
	net_advance(1);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(records_of(0), 2);
	expect_record(0, 0, WIRE_IGMP_IS_EXCLUDE, a, 0);
	expect_record(0, 1, WIRE_IGMP_IS_EXCLUDE, b, 0);
	expect_golden(0, "v3_current_state");
	pass(20000);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	CU_ASSERT_EQUAL(CNT(igmp_queries_rx), 4);
	net_end();
}

/* Codes from 128 on are floats: 0x80 is 128 units, 0xff 31744 (RFC 3376 4.1.1). */
static void the_longest_delay(void)
{
	begin();
	(void)join(net_ip(239, 1, 1, 1));
	pass(2000);
	random_value = UINT64_MAX; /* modulo the longest */
	query_v3(0x80, 0, 0, 0xff, NULL, 0);
	CU_ASSERT_TRUE(net.nic->net.igmp.general_ns - net.nic->now_ns <= 128 * IGMP_UNIT_NS);
	random_value = 128 * IGMP_UNIT_NS - 1;
	net.nic->net.igmp.general_ns = 0;
	query_v3(0x80, 0, 0, 0xff, NULL, 0);
	CU_ASSERT_EQUAL(net.nic->net.igmp.general_ns - net.nic->now_ns, 128 * IGMP_UNIT_NS);
	CU_ASSERT_EQUAL(net.nic->net.igmp.query_interval_s, 31744);
	random_value = 31744 * IGMP_UNIT_NS - 1;
	net.nic->net.igmp.general_ns = 0;
	query_v3(0xff, 0, 0, 0xff, NULL, 0);
	CU_ASSERT_EQUAL(net.nic->net.igmp.general_ns - net.nic->now_ns, 31744 * IGMP_UNIT_NS);
	net.nic->net.igmp.general_ns = 0;
	query_v3(127, 0, 0, 0, NULL, 0);
	CU_ASSERT_TRUE(net.nic->net.igmp.general_ns - net.nic->now_ns <= 127 * IGMP_UNIT_NS);
	net_end();
}

static void queries_of_a_group_and_sources(void)
{
	uint32_t a = net_ip(239, 1, 1, 1), i;
	uint32_t source[64];
	struct mcast_group *group;

	begin();
	for (i = 0; i < 64; i++)
		source[i] = net_ip(10, 0, 0, i);
	group = join(a);
	pass(2000);
	net.num_sent = 0;
	random_value = 500 * MS - 1;
	query_v3(10, net_ip(239, 9, 9, 9), 2, 125, NULL, 0); /* not ours */
	CU_ASSERT_EQUAL(CNT(drop_not_our_mac), 1);
	query_v3(10, a, 2, 125, source, 3);
	query_v3(10, a, 2, 125, source + 2, 2); /* one of them is recorded */
	CU_ASSERT_EQUAL(group->num_sources, 4);
	net_advance(500 * MS);
	CU_ASSERT_EQUAL(net.num_sent, 1);
	expect_record(0, 0, WIRE_IGMP_IS_INCLUDE, a, 4);
	expect_golden(0, "v3_sources");
	/* A query of all while sources are pending: all; sources while all are pending: all. */
	query_v3(10, a, 2, 125, source, 3);
	query_v3(10, a, 2, 125, NULL, 0);
	query_v3(10, a, 2, 125, source, 3);
	net_advance(500 * MS);
	CU_ASSERT_EQUAL(net.num_sent, 2);
	expect_record(1, 0, WIRE_IGMP_IS_EXCLUDE, a, 0);
	/* More sources than are recorded, in one query or in several. */
	query_v3(10, a, 2, 125, source, IGMP_MAX_SOURCES + 1);
	net_advance(500 * MS);
	expect_record(2, 0, WIRE_IGMP_IS_EXCLUDE, a, 0);
	query_v3(10, a, 2, 125, source, IGMP_MAX_SOURCES);
	CU_ASSERT_EQUAL(group->num_sources, IGMP_MAX_SOURCES);
	query_v3(10, a, 2, 125, source + IGMP_MAX_SOURCES, 1);
	net_advance(500 * MS);
	expect_record(3, 0, WIRE_IGMP_IS_EXCLUDE, a, 0);
	CU_ASSERT_EQUAL(net.num_sent, 4);
	/* The group was left before the answer: the answer is a leave. */
	query_v3(10, a, 2, 125, NULL, 0);
	leave(group);
	net_advance(IGMP_GAP_NS);
	expect_record(4, 0, WIRE_IGMP_TO_INCLUDE, a, 0);
	pass(5000);
	CU_ASSERT_EQUAL(net.num_sent, 6);
	net_end();
}

static void older_queriers(void)
{
	uint32_t a = net_ip(239, 1, 1, 1), b = net_ip(239, 1, 1, 2), bytes, i;
	struct mcast_group *group;
	const uint8_t *message;

	begin();
	group = join(a);
	(void)join(b);
	pass(2000);
	net.num_sent = 0;
	random_value = 100 * MS - 1;
	query_old(100, 0); /* version 2 */
	CU_ASSERT_EQUAL(CNT(igmp_queries_v2_rx), 1);
	net_advance(100 * MS);
	net_advance(IGMP_GAP_NS);
	CU_ASSERT_EQUAL(net.num_sent, 2);
	for (i = 0; i < 2; i++) {
		message = sent(i, i ? b : a, &bytes);
		CU_ASSERT_EQUAL(bytes, 8);
		CU_ASSERT_EQUAL(message[0], WIRE_IGMP_V2_REPORT);
		CU_ASSERT_EQUAL(memcmp(message + 4, i ? &b : &a, 4), 0);
	}
	expect_golden(0, "v2_report");
	/* A report by another member suppresses ours. */
	query_old(100, 0);
	query_bytes(&(struct wire_igmp){.type = WIRE_IGMP_V2_REPORT, .group = {{239, 1, 1, 2}}}, 8,
		    b, true);
	net_advance(200 * MS);
	net_advance(IGMP_GAP_NS);
	CU_ASSERT_EQUAL(net.num_sent, 3);
	(void)sent(2, a, &bytes);
	query_old(10, b);
	net_advance(200 * MS);
	CU_ASSERT_EQUAL(net.num_sent, 4);
	leave(group);
	pass(5000);
	CU_ASSERT_EQUAL(net.num_sent, 5);
	message = sent(4, net_ip(224, 0, 0, 2), &bytes);
	CU_ASSERT_EQUAL(message[0], WIRE_IGMP_V2_LEAVE);
	expect_golden(4, "v2_leave");
	CU_ASSERT_PTR_NULL(mcast_find(net.nic, a));
	CU_ASSERT_EQUAL(CNT(igmp_leaves_tx), 1);
	/* Version 1: no leaves. */
	query_old(0, 0);
	CU_ASSERT_EQUAL(CNT(igmp_queries_v1_rx), 1);
	net_advance(100 * MS);
	CU_ASSERT_EQUAL(net.num_sent, 6);
	message = sent(5, b, &bytes);
	CU_ASSERT_EQUAL(message[0], WIRE_IGMP_V1_REPORT);
	leave(mcast_find(net.nic, b));
	pass(5000);
	CU_ASSERT_EQUAL(net.num_sent, 6);
	CU_ASSERT_EQUAL(net.nic->net.mcast_group_pool.used, 0);
	/* After robustness * interval + response time version 3 is used again. */
	net_advance((2 * 125 + 10) * IGMP_UNSOLICITED_NS);
	(void)join(a);
	net_advance(0);
	CU_ASSERT_EQUAL(records_of(6), 1);
	net_end();
}

static void what_is_no_query(void)
{
	struct wire_igmp_query good = {.head = {.type = WIRE_IGMP_QUERY, .max_resp_code = 100}};
	struct wire_igmp_query bad;
	uint32_t all = net_ip(224, 0, 0, 1), n;
	uint8_t whole[64] = {0};

	begin();
	(void)join(net_ip(239, 1, 1, 1));
	pass(2000);
	net.num_sent = 0;
	query_bytes(&good, sizeof(good), all, false); /* no router alert */
	CU_ASSERT_EQUAL(CNT(drop_igmp), 1);
	bad = good;
	bad.num_sources = be16_put(1);
	query_bytes(&bad, sizeof(bad), all, true); /* a source that is missing */
	bad.num_sources = be16_put(0xffff);
	query_bytes(&bad, sizeof(bad), all, true);
	bad = good;
	bad.head.group = be32_put(0x0a000001);
	query_bytes(&bad, sizeof(bad), all, true); /* no group */
	CU_ASSERT_EQUAL(CNT(drop_igmp), 4);
	memcpy(whole, &good, sizeof(good));
	for (n = 9; n < sizeof(good); n++)
		query_bytes(whole, n, all, true); /* of no version */
	CU_ASSERT_EQUAL(CNT(drop_igmp), 7);
	CU_ASSERT_EQUAL(net.nic->net.igmp.general_ns, 0);
	CU_ASSERT_EQUAL(net.nic->timers.count, 0);
	query_bytes(&(struct wire_igmp){.type = WIRE_IGMP_V2_LEAVE, .group = {{239, 1, 1, 1}}}, 8,
		    all, true);
	query_bytes(&(struct wire_igmp){.type = 0x13}, 8, all, true); /* DVMRP */
	CU_ASSERT_EQUAL(CNT(drop_igmp), 7);
	CU_ASSERT_EQUAL(net_drops(), 7);
	query_bytes(&good, sizeof(good), all, true);
	CU_ASSERT_NOT_EQUAL(net.nic->net.igmp.general_ns, 0);
	net_end();
}

/* The router alert may stand behind other options, each of which gives its length. */
static void options_before_the_alert(void)
{
	static const struct {
		uint8_t option[12];
		uint32_t bytes;
		bool alert;
	} list[] = {
	    {{148, 4, 0, 0}, 4, true},
	    {{1, 1, 1, 1, 148, 4, 0, 0}, 8, true},
	    {{7, 3, 4, 1, 148, 4, 0, 0}, 8, true},
	    {{7, 7, 4, 0, 0, 0, 0, 1, 148, 4, 0, 0}, 12, true},
	    {{1, 148, 4, 0, 0, 0, 0, 0}, 8, true},
	    {{1, 148, 4, 0}, 4, false},               /* cut short */
	    {{1, 1, 1, 148}, 4, false},               /* without its length */
	    {{148, 3, 0, 0}, 4, false},               /* of another length */
	    {{0, 0, 0, 0, 148, 4, 0, 0}, 8, false},   /* behind the end of the options */
	    {{0, 4, 0, 0, 148, 4, 0, 0}, 8, false},   /* likewise, as if the end had a length */
	    {{7, 0, 0, 0, 148, 4, 0, 0}, 8, false},   /* behind one of no length */
	    {{7, 200, 0, 0, 148, 4, 0, 0}, 8, false}, /* behind one that is longer than all */
	    {{7, 8, 148, 4, 0, 0, 0, 0}, 8, false},   /* within another */
	};
	const struct wire_igmp_query good = {
	    .head = {.type = WIRE_IGMP_QUERY, .max_resp_code = 100}};
	uint32_t i, drops = 0;

	begin();
	(void)join(net_ip(239, 1, 1, 1));
	pass(2000);
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		query_options(&good, sizeof(good), net_ip(224, 0, 0, 1), list[i].option,
			      list[i].bytes);
		drops += !list[i].alert;
		CU_ASSERT_EQUAL(CNT(drop_igmp), drops);
	}
	net_end();
}

static void what_ip_lets_through(void)
{
	struct frame f;
	struct wire_igmp message = {.type = WIRE_IGMP_QUERY};
	uint32_t n;

	begin();
	message.checksum = be16_put(wire_sum_fold(wire_sum_add(0, &message, sizeof(message))));
	for (n = 0; n < 4; n++) {
		net_put_ip(&f, WIRE_IPPROTO_IGMP);
		net_iph(&f)->ttl = n == 1 ? 2 : 1;
		net_iph(&f)->src = be32_put(n == 0 ? 0 : 0x0a4d0002); /* a switch without address */
		frame_add(&f, &message, sizeof(message));
		if (n == 2)
			f.b[f.n - 1] ^= 1;
		if (n == 3)
			f.n -= 2;
		frame_seal_ip(&f);
		net_rx(&f); /* to the NIC's own address */
	}
	CU_ASSERT_EQUAL(CNT(igmp_queries_v1_rx), 1);
	CU_ASSERT_EQUAL(CNT(drop_igmp), 3);
	net_put_ip(&f, WIRE_IPPROTO_ICMP);
	net_iph(&f)->src = be32_put(0);
	frame_seal_ip(&f);
	net_rx(&f);
	CU_ASSERT_EQUAL(CNT(drop_ip_header), 1);
	net_end();
}

static void one_query(void)
{
	query_v3(100, 0, 3, 60, NULL, 0);
}

static void one_old_query(void)
{
	query_old(100, 0);
}

/* Queries whose answers are due at once, each in a turn of its own. */
static void queries_in_a_row(void)
{
	for (uint32_t i = 0; i < 20; i++) {
		one_query();
		net_advance(2);
	}
}

/* However many queries come, all groups are looked at once in the gap between two messages. */
static void one_look_in_a_gap(void)
{
	enum {
		GROUPS = 250
	};
	uint32_t i;

	begin();
	for (i = 1; i <= GROUPS; i++)
		(void)join(net_ip(239, 1, 0, (uint8_t)i));
	pass(3000);
	net.num_sent = 0;
	fw_walk_steps = 0;
	queries_in_a_row();
	CU_ASSERT(fw_walk_steps <= 4 * GROUPS);
	net_end();
}

/* A stranger's query costs the same whatever there is to report. */
static void queries_do_not_walk(void)
{
	uint64_t few, many, old;
	uint32_t i;

	begin();
	(void)join(net_ip(239, 1, 0, 1));
	pass(3000);
	net.num_sent = 0;
	one_query();
	few = steps_of(one_query);
	for (i = 2; i < 250; i++)
		(void)join(net_ip(239, 1, 0, (uint8_t)i));
	net.num_sent = 0;
	pass(3000);
	one_query();
	many = steps_of(one_query);
	CU_ASSERT(many <= few + few / 8);
	/* A query of an older version sets a timer for every group, but a flood does so only once.
	 */
	one_old_query();
	old = steps_of(one_old_query);
	CU_ASSERT(old <= few + few / 2);
	net_end();
}

UT_MAIN("nic_fw/net/igmp_rx", UT(a_general_query_is_answered_once), UT(the_longest_delay),
	UT(queries_of_a_group_and_sources), UT(older_queriers), UT(what_is_no_query),
	UT(options_before_the_alert), UT(what_ip_lets_through), UT(queries_do_not_walk),
	UT(one_look_in_a_gap))
