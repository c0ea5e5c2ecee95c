/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matching of tagged messages: order, classes, indexes, removals, costs; and random operations
 * compared with a sequential matcher that searches lists in order (struct ref).
 */
#include <stdlib.h>

#include "lib/prng.h"
#include "nic_fw/tag/tag_match.h"
#include "tests/ut.h"

enum {
	BUCKETS = 4096,
	NODES = 20000,
	IP_A = 0x0a000001,
};

static const uint64_t secret[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
static struct fw_multi *bucket[BUCKETS];
static struct tag_table table;
static struct tag_match match;
static struct tag_recv recvs[NODES];
static struct tag_msg msgs[NODES];

static void start(uint32_t buckets)
{
	memset(bucket, 0, sizeof(bucket));
	memset(recvs, 0, sizeof(recvs));
	memset(msgs, 0, sizeof(msgs));
	tag_table_init(&table, bucket, buckets, secret);
	tag_match_init(&match, &table, 7);
}

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

/* Longest chain of the table. */
static uint32_t longest_chain(void)
{
	uint32_t i, len, longest = 0;

	for (i = 0; i < BUCKETS; i++) {
		struct fw_multi *at = bucket[i];

		for (len = 0; at; at = at->next)
			len++;
		longest = len > longest ? len : longest;
	}
	return longest;
}

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

/* ---- random operations beside a sequential matcher */

enum {
	RAND_RECVS = 400,
	RAND_MSGS = 400,
	RAND_OPS = 1000000,
};

/* Indices of posted receives and of unexpected messages, each in order. */
struct ref {
	uint32_t posted[RAND_RECVS];
	uint32_t num_posted;
	uint32_t arrived[RAND_MSGS];
	uint32_t num_arrived;
	bool is_posted[RAND_RECVS];
	bool is_arrived[RAND_MSGS];
	uint32_t next_number;
};

struct random_run {
	uint64_t prng;
	uint32_t shapes; /* masks that receives have */
	uint32_t tags;
	uint32_t most; /* receives and messages of which it draws */
	uint64_t matched;
	uint64_t searched; /* receives that were searched for in several slices */
};

static struct ref ref;
static struct random_run run;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(prng_next(&run.prng) % below);
}

static void ref_remove(uint32_t *list, uint32_t *num, uint32_t value)
{
	uint32_t i = 0;

	while (list[i] != value)
		i++;
	(*num)--;
	memmove(&list[i], &list[i + 1], (*num - i) * sizeof(list[0]));
}

/* The definition, written down a second time. */
static bool ref_fits(const struct tag_want *want, const struct tag_key *key)
{
	if (want->key.msg != key->msg)
		return false;
	if (!want->any_src && want->key.src_ip != key->src_ip)
		return false;
	if (!want->any_src && want->key.src_qpn != key->src_qpn)
		return false;
	return key->msg || (want->key.tag | want->ignore) == (key->tag | want->ignore);
}

static struct tag_recv *ref_recv(const struct tag_key *key)
{
	uint32_t i;

	for (i = 0; i < ref.num_posted; i++)
		if (ref_fits(&recvs[ref.posted[i]].want, key))
			return &recvs[ref.posted[i]];
	return NULL;
}

static struct tag_msg *ref_msg(const struct tag_want *want)
{
	uint32_t i;

	for (i = 0; i < ref.num_arrived; i++)
		if (ref_fits(want, &msgs[ref.arrived[i]].key))
			return &msgs[ref.arrived[i]];
	return NULL;
}

/* True if a posted receive without announcement could take a message that want takes. */
static bool ref_stands_before(const struct tag_want *want)
{
	uint64_t either;
	uint32_t i;

	for (i = 0; i < ref.num_posted; i++) {
		const struct tag_recv *r = &recvs[ref.posted[i]];

		either = r->want.ignore | want->ignore;
		if (!r->announced && r->want.key.msg == want->key.msg &&
		    (r->want.any_src || r->want.key.src_qpn == want->key.src_qpn) &&
		    (want->key.msg || (r->want.key.tag | either) == (want->key.tag | either)))
			return true;
	}
	return false;
}

static struct tag_key random_key(void)
{
	return (struct tag_key){IP_A, 1 + draw(3), draw(run.tags), draw(8) == 0};
}

static struct tag_want random_want(void)
{
	uint32_t shape = draw(run.shapes);

	return (struct tag_want){.key = random_key(),
				 .ignore = shape < 2   ? 0
					   : shape < 4 ? UINT64_MAX
						       : shape - 4,
				 .any_src = shape % 2 == 1};
}

static void unpost(struct tag_recv *r)
{
	uint32_t i = (uint32_t)(r - recvs);

	tag_match_unpost(&match, r);
	ref_remove(ref.posted, &ref.num_posted, i);
	ref.is_posted[i] = false;
	memset(r, 0xa5, sizeof(*r));
	memset(r, 0, sizeof(*r));
}

static void remove_msg(struct tag_msg *msg)
{
	uint32_t i = (uint32_t)(msg - msgs);

	tag_match_remove_msg(&match, msg);
	ref_remove(ref.arrived, &ref.num_arrived, i);
	ref.is_arrived[i] = false;
	memset(msg, 0, sizeof(*msg));
}

static bool random_arrival(void)
{
	struct tag_key key = random_key();
	struct tag_recv *r = tag_match_find_recv(&match, &key);
	uint32_t i = draw(run.most);

	if (r != ref_recv(&key))
		return false;
	if (r) {
		run.matched++;
		if (draw(8) > 0) /* else: a buffer of several messages stays */
			unpost(r);
	} else if (!ref.is_arrived[i]) {
		msgs[i].key = key;
		tag_match_add_msg(&match, &msgs[i]);
		ref.arrived[ref.num_arrived++] = i;
		ref.is_arrived[i] = true;
	}
	return true;
}

/* A search in slices; between slices a message goes, or one comes that no receive takes. */
static enum tag_found random_search(const struct tag_want *want, struct tag_msg **found)
{
	uint32_t rounds = 0, units;
	enum tag_found result;

	for (;;) {
		units = 1 + draw(40);
		result = tag_match_find_msg(&match, want, &units, found);
		if (result != TAG_MORE)
			return result;
		if (rounds++ == 0)
			run.searched++;
		if (draw(2) == 0 && ref.num_arrived > 0)
			remove_msg(&msgs[ref.arrived[draw(ref.num_arrived)]]);
		if (draw(2) == 0)
			random_arrival();
		if (rounds > 3 && draw(20) == 0) {
			tag_match_search_end(&match);
			return TAG_MORE;
		}
	}
}

static bool random_recv(void)
{
	struct tag_want want = random_want();
	uint32_t i = draw(run.most);
	struct tag_msg *found = NULL;
	enum tag_found result = random_search(&want, &found);
	bool may;

	if (result == TAG_MORE)
		return true;
	if (found != ref_msg(&want) || (result == TAG_FOUND) != (found != NULL))
		return false;
	if (found) {
		run.matched++;
		if (draw(8) > 0) /* else: a peek */
			remove_msg(found);
		return true;
	}
	may = tag_match_may_announce(&match, &want);
	if (may && !want.any_src && ref_stands_before(&want))
		return false;
	if (ref.is_posted[i])
		return true;
	recvs[i].want = want;
	recvs[i].number = ref.next_number;
	if (!tag_match_has_room(&match, &want))
		return !tag_match_post(&match, &recvs[i]) && match.num_linear == TAG_LINEAR_MAX;
	if (!tag_match_post(&match, &recvs[i]))
		return false;
	ref.next_number += 1 + draw(1u << 16);
	ref.posted[ref.num_posted++] = i;
	ref.is_posted[i] = true;
	if (may && !want.any_src && draw(4) > 0)
		tag_match_set_announced(&match, &recvs[i], true);
	return true;
}

static bool random_cancel(void)
{
	struct tag_recv *r;

	if (ref.num_posted == 0)
		return true;
	r = &recvs[ref.posted[draw(ref.num_posted)]];
	if (tag_match_find_number(&match, r->number) != r)
		return false;
	if (draw(2) == 0)
		tag_match_set_announced(&match, r, draw(2) == 0);
	else
		unpost(r);
	return true;
}

static bool random_step(void)
{
	uint32_t i = draw(run.most);

	switch (draw(16)) {
	case 0:
		return random_cancel();
	case 1:
		if (ref.is_arrived[i])
			remove_msg(&msgs[i]);
		return true;
	case 2:
		/* Now and then nothing is left, so that classes and indexes change their shapes. */
		while (draw(500) == 0 && ref.num_posted + ref.num_arrived > 0) {
			while (ref.num_posted > 0)
				unpost(&recvs[ref.posted[0]]);
			while (ref.num_arrived > 0)
				remove_msg(&msgs[ref.arrived[0]]);
		}
		return true;
	default:
		return draw(2) == 0 ? random_arrival() : random_recv();
	}
}

static bool counts_agree(void)
{
	const struct tag_recv *r = tag_match_first_recv(&match);
	const struct tag_msg *msg = tag_match_first_msg(&match);

	return match.num_posted == ref.num_posted && match.num_arrived == ref.num_arrived &&
	       r == (ref.num_posted ? &recvs[ref.posted[0]] : NULL) &&
	       msg == (ref.num_arrived ? &msgs[ref.arrived[0]] : NULL);
}

static void random_operations(uint64_t seed, uint32_t buckets, uint32_t shapes, uint32_t tags,
			      uint32_t most)
{
	uint32_t op = 0;

	start(buckets);
	memset(&ref, 0, sizeof(ref));
	run = (struct random_run){.prng = seed, .shapes = shapes, .tags = tags, .most = most};
	ref.next_number = UINT32_MAX - 1000; /* wraps in the run */
	while (op < RAND_OPS && random_step() && counts_agree())
		op++;
	if (op < RAND_OPS)
		printf(" seed %llu: operation %u is wrong ", (unsigned long long)seed, op);
	CU_ASSERT_EQUAL(op, RAND_OPS);
	CU_ASSERT(run.matched > RAND_OPS / 10);
	while (ref.num_posted > 0)
		unpost(&recvs[ref.posted[0]]);
	while (ref.num_arrived > 0)
		remove_msg(&msgs[ref.arrived[0]]);
	CU_ASSERT_EQUAL(longest_chain(), 0);
	CU_ASSERT_EQUAL(match.used, 0);
}

static void random_operations_of_few_shapes(void)
{
	random_operations(1, BUCKETS, 4, 6, 100);
	random_operations(2, 16, 4, 60, RAND_RECVS);
}

static void random_operations_of_many_shapes(void)
{
	random_operations(3, BUCKETS, 8, 12, 200);
	random_operations(4, 64, 40, 40, RAND_RECVS);
	CU_ASSERT(run.searched > 1000);
}

/* Every key meets every other in one chain. */
static void random_operations_that_all_collide(void)
{
	random_operations(5, 1, 8, 12, 100);
	random_operations(6, 1, 40, 30, 100);
}

UT_MAIN("nic_fw/tag_match", UT(first_posted_of_all_classes_takes_it),
	UT(equal_keys_keep_their_order), UT(spaces_do_not_mix),
	UT(receives_beyond_the_classes_are_searched), UT(numbers_find_their_receives),
	UT(announcements_pass_no_receive_without_one), UT(announcements_are_counted_for_a_key),
	UT(announcements_see_receives_beyond_the_classes), UT(first_arrived_is_found),
	UT(index_is_built_in_slices), UT(fifth_shape_is_searched_in_slices),
	UT(many_receives_make_no_long_chains), UT(random_operations_of_few_shapes),
	UT(random_operations_of_many_shapes), UT(random_operations_that_all_collide))
