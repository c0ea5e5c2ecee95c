/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matching of tagged messages: random operations, compared with a sequential matcher that
 * searches lists in order (struct ref).
 */
#include <stdlib.h>

#include "lib/prng.h"
#include "tests/nic_fw/tag/tag_match_fix.h"

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

UT_MAIN("nic_fw/tag_match_random", UT(random_operations_of_few_shapes),
	UT(random_operations_of_many_shapes), UT(random_operations_that_all_collide))
