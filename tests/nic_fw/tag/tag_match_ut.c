/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matching of tagged messages: order, classes, indexes, removals, costs.
 */
#include "tests/nic_fw/tag/tag_match_fix.h"

static struct tag_want exact(uint32_t qpn, uint64_t tag)
{
	return (struct tag_want){.key = {IP_A, qpn, tag, false}};
}

static struct tag_want any_source(uint64_t tag, uint64_t ignore)
{
	return (struct tag_want){.key = {.tag = tag}, .ignore = ignore, .any_src = true};
}

static void post(uint32_t i, struct tag_want want)
{
	recvs[i].want = want;
	recvs[i].number = i;
	CU_ASSERT_TRUE_FATAL(tag_match_post(&match, &recvs[i]));
}

static void arrive(uint32_t i, uint32_t qpn, uint64_t tag)
{
	msgs[i].key = (struct tag_key){IP_A, qpn, tag, false};
	tag_match_add_msg(&match, &msgs[i]);
}

static struct tag_recv *recv_for(uint32_t qpn, uint64_t tag)
{
	const struct tag_key key = {IP_A, qpn, tag, false};

	return tag_match_find_recv(&match, &key);
}

static enum tag_found find(struct tag_want want, uint32_t units, struct tag_msg **found)
{
	return tag_match_find_msg(&match, &want, &units, found);
}

/* ---- posted receives */

static void first_posted_of_all_classes_takes_it(void)
{
	start(BUCKETS);
	post(0, exact(1, 5));
	post(1, any_source(0, UINT64_MAX));
	post(2, exact(1, 6));
	post(3, exact(1, 5));
	CU_ASSERT_PTR_EQUAL(recv_for(1, 5), &recvs[0]);
	CU_ASSERT_PTR_EQUAL(recv_for(1, 6), &recvs[1]);
	tag_match_unpost(&match, &recvs[0]);
	CU_ASSERT_PTR_EQUAL(recv_for(1, 5), &recvs[1]);
	tag_match_unpost(&match, &recvs[1]);
	CU_ASSERT_PTR_EQUAL(recv_for(1, 5), &recvs[3]);
	CU_ASSERT_PTR_EQUAL(recv_for(1, 6), &recvs[2]);
	CU_ASSERT_PTR_NULL(recv_for(2, 6));
	CU_ASSERT_PTR_EQUAL(tag_match_first_recv(&match), &recvs[2]);
	CU_ASSERT_EQUAL(match.num_posted, 2);
}

/* A receive of equal key is removed at the front, in the middle and at the end. */
static void equal_keys_keep_their_order(void)
{
	uint32_t gone, i;

	for (gone = 0; gone < 3; gone++) {
		start(1);
		for (i = 0; i < 3; i++)
			post(i, exact(1, 5));
		post(3, exact(2, 5));
		tag_match_unpost(&match, &recvs[gone]);
		for (i = 0; i < 3; i++) {
			if (i == gone)
				continue;
			CU_ASSERT_PTR_EQUAL(recv_for(1, 5), &recvs[i]);
			tag_match_unpost(&match, &recvs[i]);
		}
		CU_ASSERT_PTR_NULL(recv_for(1, 5));
		CU_ASSERT_PTR_EQUAL(recv_for(2, 5), &recvs[3]);
	}
}

static void spaces_do_not_mix(void)
{
	struct tag_want want = exact(1, 5);
	const struct tag_key msg = {IP_A, 1, 99, true};
	struct tag_msg *found = NULL;

	start(BUCKETS);
	post(0, want);
	want.key.msg = true;
	CU_ASSERT_PTR_NULL(tag_match_find_recv(&match, &msg));
	post(1, want);
	CU_ASSERT_PTR_EQUAL(tag_match_find_recv(&match, &msg), &recvs[1]);
	CU_ASSERT_PTR_EQUAL(recv_for(1, 5), &recvs[0]);
	msgs[0].key = msg;
	tag_match_add_msg(&match, &msgs[0]);
	CU_ASSERT_EQUAL(find(exact(1, 99), 10, &found), TAG_NONE);
	CU_ASSERT_EQUAL(find(want, 10, &found), TAG_FOUND);
	CU_ASSERT_PTR_EQUAL(found, &msgs[0]);
}

/* Sixteen masks have classes; receives of further masks are searched, up to a limit. */
static void receives_beyond_the_classes_are_searched(void)
{
	const struct tag_key key = {IP_A, 1, 0, false};
	struct tag_want want;
	uint32_t i;

	start(BUCKETS);
	for (i = 0; i < TAG_CLASSES; i++)
		post(i, any_source(UINT64_MAX, 1u << i));
	for (; i < TAG_CLASSES + TAG_LINEAR_MAX; i++)
		post(i, any_source(0, UINT64_MAX << (20 + i % 3)));
	CU_ASSERT_EQUAL(match.num_linear, TAG_LINEAR_MAX);
	want = any_source(0, UINT64_C(1) << 50);
	CU_ASSERT_FALSE(tag_match_has_room(&match, &want));
	recvs[i].want = want;
	CU_ASSERT_FALSE(tag_match_post(&match, &recvs[i]));
	/* The first class has room for its own, and is another's once it is empty. */
	want = any_source(3, 1);
	CU_ASSERT_TRUE(tag_match_has_room(&match, &want));
	CU_ASSERT_PTR_EQUAL(tag_match_find_recv(&match, &key), &recvs[TAG_CLASSES]);
	tag_match_unpost(&match, &recvs[0]);
	post(i, any_source(0, UINT64_C(1) << 50));
	CU_ASSERT_FALSE(recvs[i].linear);
	tag_match_unpost(&match, &recvs[TAG_CLASSES]);
	CU_ASSERT_PTR_EQUAL(tag_match_find_recv(&match, &key), &recvs[TAG_CLASSES + 1]);
	while (tag_match_first_recv(&match))
		tag_match_unpost(&match, tag_match_first_recv(&match));
	CU_ASSERT_EQUAL(match.num_linear, 0);
	CU_ASSERT_EQUAL(match.used, 0);
}

static void numbers_find_their_receives(void)
{
	uint32_t i;

	start(16);
	for (i = 0; i < 100; i++) {
		post(i, exact(1, i % 3));
		CU_ASSERT_PTR_EQUAL(tag_match_find_number(&match, i), &recvs[i]);
	}
	CU_ASSERT_PTR_NULL(tag_match_find_number(&match, 100));
	tag_match_unpost(&match, &recvs[50]);
	CU_ASSERT_PTR_NULL(tag_match_find_number(&match, 50));
	CU_ASSERT_PTR_EQUAL(tag_match_find_number(&match, 51), &recvs[51]);
}

/* ---- announcements */

static bool may_announce(struct tag_want want)
{
	return tag_match_may_announce(&match, &want);
}

static void announcements_pass_no_receive_without_one(void)
{
	start(BUCKETS);
	CU_ASSERT_TRUE(may_announce(exact(1, 5)));
	post(0, exact(1, 5));
	CU_ASSERT_FALSE(may_announce(exact(1, 5)));
	CU_ASSERT_TRUE(may_announce(exact(1, 6)));
	CU_ASSERT_TRUE(may_announce(exact(2, 5)));
	tag_match_set_announced(&match, &recvs[0], true);
	CU_ASSERT_TRUE(may_announce(exact(1, 5)));
	post(1, any_source(5, 0)); /* any source: never announced */
	CU_ASSERT_FALSE(may_announce(exact(1, 5)));
	CU_ASSERT_TRUE(may_announce(exact(1, 6)));
	post(2, any_source(0x10, 0xf));
	CU_ASSERT_FALSE(may_announce(exact(1, 0x17)));
	CU_ASSERT_TRUE(may_announce(exact(1, 0x27)));
	tag_match_unpost(&match, &recvs[2]);
	CU_ASSERT_TRUE(may_announce(exact(1, 0x17)));
	tag_match_unpost(&match, &recvs[1]);
	CU_ASSERT_TRUE(may_announce(exact(1, 5)));
	tag_match_set_announced(&match, &recvs[0], false);
	CU_ASSERT_FALSE(may_announce(exact(1, 5)));
}

/* The count of a key passes from its first receive to the next. */
static void announcements_are_counted_for_a_key(void)
{
	start(1);
	post(0, exact(1, 5));
	post(1, exact(1, 5));
	post(2, exact(1, 5));
	tag_match_set_announced(&match, &recvs[1], true);
	tag_match_unpost(&match, &recvs[0]);
	CU_ASSERT_FALSE(may_announce(exact(1, 5)));
	tag_match_set_announced(&match, &recvs[2], true);
	CU_ASSERT_TRUE(may_announce(exact(1, 5)));
	tag_match_set_announced(&match, &recvs[2], false);
	tag_match_unpost(&match, &recvs[1]);
	CU_ASSERT_FALSE(may_announce(exact(1, 5)));
	tag_match_unpost(&match, &recvs[2]);
	CU_ASSERT_TRUE(may_announce(exact(1, 5)));
}

/* A receive that was searched one by one and has no announcement holds others back, too. */
static void announcements_see_receives_beyond_the_classes(void)
{
	uint32_t i;

	start(BUCKETS);
	for (i = 0; i < TAG_CLASSES; i++)
		post(i, any_source(UINT64_MAX, 1u << i));
	post(i, any_source(5, 0xff00));
	CU_ASSERT_TRUE(recvs[i].linear);
	/* Masks that overlap in part: the classes keep want back if it ignores bits they compare.
	 */
	CU_ASSERT_FALSE(may_announce(exact(1, 0x1205)));
	CU_ASSERT_TRUE(may_announce(exact(1, 0x1206)));
	tag_match_set_announced(&match, &recvs[i], true);
	CU_ASSERT_TRUE(may_announce(exact(1, 0x1205)));
}

/* ---- unexpected messages */

static void first_arrived_is_found(void)
{
	struct tag_msg *found = NULL;

	start(BUCKETS);
	arrive(0, 1, 5);
	arrive(1, 2, 5);
	arrive(2, 1, 5);
	CU_ASSERT_EQUAL(find(exact(2, 5), 10, &found), TAG_FOUND);
	CU_ASSERT_PTR_EQUAL(found, &msgs[1]);
	CU_ASSERT_EQUAL(find(any_source(5, 0), 10, &found), TAG_FOUND);
	CU_ASSERT_PTR_EQUAL(found, &msgs[0]);
	tag_match_remove_msg(&match, &msgs[0]);
	CU_ASSERT_EQUAL(find(exact(1, 5), 10, &found), TAG_FOUND);
	CU_ASSERT_PTR_EQUAL(found, &msgs[2]);
	CU_ASSERT_EQUAL(find(exact(1, 6), 10, &found), TAG_NONE);
	CU_ASSERT_PTR_EQUAL(tag_match_first_msg(&match), &msgs[1]);
}

/* An index of 100 messages is built ten at a time, while messages come and go. */
static void index_is_built_in_slices(void)
{
	struct tag_msg *found = NULL;
	uint32_t i;

	start(16);
	for (i = 0; i < 100; i++)
		arrive(i, 1, i);
	for (i = 0; i < 9; i++)
		CU_ASSERT_EQUAL(find(exact(1, 100), 10, &found), TAG_MORE);
	/* The last message it has goes, and so do those before and behind. */
	tag_match_remove_msg(&match, &msgs[89]);
	tag_match_remove_msg(&match, &msgs[88]);
	tag_match_remove_msg(&match, &msgs[90]);
	arrive(100, 1, 100);
	arrive(101, 1, 100);
	CU_ASSERT_EQUAL(find(exact(1, 100), 9, &found), TAG_MORE);
	CU_ASSERT_EQUAL(find(exact(1, 100), 10, &found), TAG_FOUND);
	CU_ASSERT_PTR_EQUAL(found, &msgs[100]);
	CU_ASSERT_EQUAL(find(exact(1, 7), 0, &found), TAG_FOUND);
	CU_ASSERT_EQUAL(find(exact(1, 90), 1, &found), TAG_NONE);
	CU_ASSERT_EQUAL(find(exact(1, 91), 0, &found), TAG_FOUND);
	/* Now it is whole: looking takes no units. */
	arrive(102, 1, 102);
	CU_ASSERT_EQUAL(find(exact(1, 102), 0, &found), TAG_FOUND);
	CU_ASSERT_EQUAL(find(exact(1, 103), 0, &found), TAG_NONE);
}

/* The fifth shape is searched in the order of arrival; what is removed meanwhile is not missed. */
static void fifth_shape_is_searched_in_slices(void)
{
	struct tag_msg *found = NULL;
	uint32_t i;

	start(16);
	for (i = 0; i < 20; i++)
		arrive(i, 1, i);
	for (i = 0; i < TAG_INDEXES; i++)
		CU_ASSERT_EQUAL(find(any_source(1u << 20, 1u << i), 100, &found), TAG_NONE);
	CU_ASSERT_EQUAL(find(any_source(1u << 20, 1u << 8), 5, &found), TAG_MORE);
	for (i = 4; i < 20; i++)
		tag_match_remove_msg(&match, &msgs[i]);
	arrive(20, 1, 1u << 20 | 1u << 8);
	arrive(21, 1, 1u << 20);
	CU_ASSERT_EQUAL(find(any_source(1u << 20, 1u << 8), 5, &found), TAG_FOUND);
	CU_ASSERT_PTR_EQUAL(found, &msgs[20]);
	CU_ASSERT_PTR_NULL(match.search);
	CU_ASSERT_EQUAL(find(any_source(2, 1u << 8), 1, &found), TAG_MORE);
	tag_match_search_end(&match);
	CU_ASSERT_EQUAL(find(any_source(0, 1u << 8), 1, &found), TAG_FOUND);
	/* Once there is no message, it takes the index that was not used for the longest. */
	while (tag_match_first_msg(&match))
		tag_match_remove_msg(&match, tag_match_first_msg(&match));
	CU_ASSERT_EQUAL(find(any_source(1, 2), 0, &found), TAG_NONE);
	CU_ASSERT_EQUAL(find(any_source(0, 1u << 8), 0, &found), TAG_NONE);
	CU_ASSERT_PTR_NULL(match.search);
	CU_ASSERT_EQUAL(match.indexes[0].ignore, 1u << 8);
	CU_ASSERT_EQUAL(match.indexes[1].ignore, 2);
}

/* ---- costs */

/* Ten thousand receives of one key stand in one place; of distinct keys, in short chains. */
static void many_receives_make_no_long_chains(void)
{
	struct tag_msg *found = NULL;
	uint32_t i;

	start(BUCKETS);
	for (i = 0; i < 10000; i++) {
		post(i, exact(1, 5));
		arrive(i, 2, 6);
	}
	tag_match_find_msg(&match, &recvs[0].want, &(uint32_t){20000}, &found);
	/* Numbers and messages' keys are there, too: five keys for each bucket. */
	CU_ASSERT(longest_chain() < 32);
	start(BUCKETS);
	for (i = 0; i < 10000; i++)
		post(i, exact(i % 100, (uint64_t)i << 32));
	CU_ASSERT(longest_chain() < 32);
}

UT_MAIN("nic_fw/tag_match", UT(first_posted_of_all_classes_takes_it),
	UT(equal_keys_keep_their_order), UT(spaces_do_not_mix),
	UT(receives_beyond_the_classes_are_searched), UT(numbers_find_their_receives),
	UT(announcements_pass_no_receive_without_one), UT(announcements_are_counted_for_a_key),
	UT(announcements_see_receives_beyond_the_classes), UT(first_arrived_is_found),
	UT(index_is_built_in_slices), UT(fifth_shape_is_searched_in_slices),
	UT(many_receives_make_no_long_chains))
