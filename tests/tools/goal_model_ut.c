/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tools/goal-run/model.c, match.c: times computed by hand, closed forms, matching.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "host_driver/goal/file/goal_text.h"
#include "tests/ut.h"
#include "tools/goal-run/match.c"
#include "tools/goal-run/model.c"

static const struct model_params usual = {2500, 1500, 1000, 6, 0, 65535};
static const struct model_params small = {10, 2, 3, 1, 0, 100};

/* The schedules of text; run with params. */
static int run_text(const char *text, const struct model_params *params,
		    struct model_result *result)
{
	struct goal_error err;
	struct goal_set set;
	int rc = goal_text_read(text, strlen(text), "x", &set, &err);

	if (rc)
		fprintf(stderr, "%s\n", err.text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	rc = model_run(&set, params, result);
	goal_set_free(&set);
	return rc;
}

/* A text that is written with fprintf; text_take() ends it. */
struct text {
	char *text;
	size_t bytes;
	FILE *f;
};

static void text_begin(struct text *t)
{
	*t = (struct text){0};
	t->f = open_memstream(&t->text, &t->bytes);
	CU_ASSERT_PTR_NOT_NULL_FATAL(t->f);
}

static uint64_t text_finish_ns(struct text *t, const struct model_params *params)
{
	struct model_result result;
	uint64_t ns;

	fclose(t->f);
	CU_ASSERT_EQUAL_FATAL(run_text(t->text, params, &result), 0);
	CU_ASSERT_EQUAL(result.num_unmatched, 0);
	ns = result.finish_ns;
	model_result_free(&result);
	free(t->text);
	return ns;
}

/* One row of predicted.tsv. */
static void check_row(const char *file, const struct model_params *params, const char *expected)
{
	struct model_result result;
	struct goal_error err;
	struct goal_set set;
	char path[160], got[256] = "", *at = got;

	snprintf(path, sizeof(path), "tests/golden/goal/%s", file);
	CU_ASSERT_EQUAL_FATAL(goal_file_load(path, &set, &err), 0);
	CU_ASSERT_EQUAL_FATAL(model_run(&set, params, &result), 0);
	if (result.num_unmatched)
		snprintf(got, sizeof(got), "deadlock");
	for (uint32_t r = 0; !result.num_unmatched && r < set.num_ranks; r++)
		at += snprintf(at, sizeof(got) - (size_t)(at - got), "%s%" PRIu64, r ? "," : "",
			       result.rank_ns[r]);
	CU_ASSERT_STRING_EQUAL(got, expected);
	if (strcmp(got, expected))
		fprintf(stderr, "%s: %s, by hand %s\n", file, got, expected);
	model_result_free(&result);
	goal_set_free(&set);
}

static void by_hand(void)
{
	FILE *f = fopen("tests/golden/goal/predicted.tsv", "r");
	char line[512], file[64], expected[256];
	struct model_params p;
	int rows = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#')
			continue;
		CU_ASSERT_EQUAL_FATAL(sscanf(line,
					     "%63s %" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64
					     ",%" SCNu64 ",%" SCNu64 " %255s",
					     file, &p.L, &p.o, &p.g, &p.G, &p.O, &p.S, expected),
				      8);
		check_row(file, &p, expected);
		rows++;
	}
	fclose(f);
	CU_ASSERT_EQUAL(rows, 14);
}

/* Dissemination on 2^k ranks, 1 byte: k rounds of 2o + L. */
static void dissemination(void)
{
	for (uint32_t k = 1; k <= 8; k++) {
		uint32_t n = 1u << k;
		struct text t;

		text_begin(&t);
		fprintf(t.f, "num_ranks %u\n", n);
		for (uint32_t r = 0; r < n; r++) {
			fprintf(t.f, "rank %u {\n", r);
			for (uint32_t i = 0; i < k; i++) {
				fprintf(t.f, "s%u: send 1b to %u tag %u\n", i, (r + (1u << i)) % n,
					i);
				if (i)
					fprintf(t.f, "s%u requires r%u\n", i, i - 1);
				fprintf(t.f, "r%u: recv 1b from %u tag %u\n", i,
					(r + n - (1u << i)) % n, i);
			}
			fprintf(t.f, "}\n");
		}
		CU_ASSERT_EQUAL(text_finish_ns(&t, &usual), k * 5500);
	}
}

/* A binomial broadcast of s bytes on 2^k ranks: k (2o + L + (s - 1)G), the larger subtree first. */
static void binomial_broadcast(void)
{
	const uint32_t bytes = 8;

	for (uint32_t k = 1; k <= 6; k++) {
		uint32_t n = 1u << k;
		struct text t;

		text_begin(&t);
		fprintf(t.f, "num_ranks %u\n", n);
		for (uint32_t r = 0; r < n; r++) {
			uint32_t from = 0;

			fprintf(t.f, "rank %u {\n", r);
			for (uint32_t bit = 1; bit <= r; bit *= 2)
				if (r & bit)
					from = bit;
			if (r)
				fprintf(t.f, "r: recv %ub from %u\n", bytes, r - from);
			for (uint32_t bit = r ? from * 2 : 1; bit < n; bit *= 2) {
				fprintf(t.f, "s%u: send %ub to %u\n", bit, bytes, r + bit);
				if (r)
					fprintf(t.f, "s%u requires r\n", bit);
			}
			fprintf(t.f, "}\n");
		}
		CU_ASSERT_EQUAL(text_finish_ns(&t, &usual), k * (5500 + (bytes - 1) * 6));
	}
}

/* The chain of ESPGOAL 4.2.3: all messages have arrived before the receive that starts it. */
static void chain_of_receives(void)
{
	enum {
		CHAIN = 100000
	};
	struct text t;

	text_begin(&t);
	fprintf(t.f, "num_ranks 2\nrank 0 {\n");
	for (int i = 0; i < CHAIN; i++) {
		fprintf(t.f, "s%d: send 1b to 1 tag 1\n", i);
		if (i)
			fprintf(t.f, "s%d requires s%d\n", i, i - 1);
	}
	fprintf(t.f, "last: send 1b to 1 tag 2\nlast requires s%d\n}\nrank 1 {\n", CHAIN - 1);
	fprintf(t.f, "first: recv 1b from 0 tag 2\n");
	for (int i = 0; i < CHAIN; i++) {
		fprintf(t.f, "r%d: recv 1b from 0 tag 1\n", i);
		if (i)
			fprintf(t.f, "r%d requires r%d\n", i, i - 1);
		else
			fprintf(t.f, "r0 requires first\n");
	}
	fprintf(t.f, "}\n");
	/*
	 * Sends every gap of 3; the last arrives at 3 CHAIN + 12, when o of the one before is over.
	 */
	CU_ASSERT_EQUAL(text_finish_ns(&t, &small), 3 * CHAIN + 14);
}

/* Messages of one key are taken in the order of their arrival, receives in that of posting. */
static void first_come(void)
{
	struct model_result result;

	/* The second message starts the long calc: it fits the receive posted second. */
	CU_ASSERT_EQUAL(run_text("num_ranks 2\nrank 0 {\nsend 1b to 1\ncalc 1000\n"
				 "x: calc 1\ny: send 1b to 1\ny requires x\n}\n"
				 "rank 1 {\nrecv 1b from 0\nr: recv 1b from 0\nc: calc 5000\n"
				 "c requires r\n}\n",
				 &small, &result),
			0);
	/* y leaves at 2 + 1000 + 1, comes at 1015, o, then the calc */
	CU_ASSERT_EQUAL(result.rank_ns[1], 1003 + 12 + 2 + 5000);
	model_result_free(&result);
	/* An any-tag send matches the first receive of all; an older wildcard goes before a key. */
	CU_ASSERT_EQUAL(run_text("num_ranks 3\nrank 0 {\nsend 1b to 2 tag -1\n}\n"
				 "rank 1 {\na: calc 100\nb: send 1b to 2 tag 9\nb requires a\n}\n"
				 "rank 2 {\nw: recv 1b from 0 tag 4\nrecv 1b from -1 tag 9\n"
				 "recv 1b from 1 tag 9\nx: calc 1\nx requires w\n}\n",
				 &small, &result),
			0);
	CU_ASSERT_EQUAL(result.num_unmatched, 1);
	CU_ASSERT_EQUAL(result.unmatched[0], 5);
	CU_ASSERT_EQUAL(result.rank_ns[2], 100 + 12 + 2);
	model_result_free(&result);
}

/* True if two operations of the same receiver match. */
static bool fits(const struct match *m, uint32_t a, uint32_t b)
{
	uint32_t src_a = source(m, a), src_b = source(m, b);
	uint32_t tag_a = m->set->ops[a].tag, tag_b = m->set->ops[b].tag;

	return (src_a == src_b || src_a == GOAL_ANY || src_b == GOAL_ANY) &&
	       (tag_a == tag_b || tag_a == GOAL_ANY || tag_b == GOAL_ANY);
}

/* Matching against the plain rule: the first in the list that matches. */
static void matching_as_by_list(void)
{
	enum {
		OPS = 3000
	};
	static uint32_t waiting[OPS];
	uint64_t seed = 88172645463325252ull;
	struct goal_error err;
	struct goal_set set;
	struct text t;

	for (int round = 0; round < 20; round++) {
		uint32_t num_waiting = 0, taken = 0;
		struct match *m;

		text_begin(&t);
		fprintf(t.f, "num_ranks 3\n");
		for (int r = 0; r < 3; r++) {
			fprintf(t.f, "rank %d {\n", r);
			for (int i = 0; i < OPS / 3; i++) {
				int peer, tag;
				bool send;

				seed ^= seed << 13;
				seed ^= seed >> 7;
				seed ^= seed << 17;
				send = seed >> 40 & 1;
				peer = (int)(seed >> 8) % (send ? 3 : round % 2 ? 4 : 3);
				tag = (int)(seed >> 20 & 0xff) % (round % 4 > 1 ? 5 : 4);
				fprintf(t.f, "%s 1b %s %d tag %d\n", send ? "send" : "recv",
					send ? "to" : "from", abs(peer) == 3 ? -1 : abs(peer),
					tag == 4 ? -1 : tag);
			}
			fprintf(t.f, "}\n");
		}
		fclose(t.f);
		CU_ASSERT_EQUAL_FATAL(goal_text_read(t.text, t.bytes, "x", &set, &err), 0);
		free(t.text);
		m = match_create(&set);
		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		/* Each operation once, the ranks mixed: 1009 is prime to OPS. */
		for (uint32_t i = 0; i < OPS; i++) {
			uint32_t op = (uint32_t)((uint64_t)i * 1009 % OPS), want = GOAL_NO_OP, at;

			for (at = 0; at < num_waiting; at++)
				if (is_msg(m, op) != is_msg(m, waiting[at]) &&
				    receiver(m, op) == receiver(m, waiting[at]) &&
				    fits(m, op, waiting[at]))
					break;
			if (at < num_waiting) {
				want = waiting[at];
				memmove(waiting + at, waiting + at + 1,
					(--num_waiting - at) * sizeof(*waiting));
				taken++;
			} else {
				waiting[num_waiting++] = op;
			}
			CU_ASSERT_EQUAL_FATAL(match_take_or_wait(m, op), want);
		}
		CU_ASSERT_EQUAL(match_waiting(m, NULL), num_waiting);
		CU_ASSERT(taken > OPS / 6);
		match_free(m);
		goal_set_free(&set);
	}
}

/* Messages arrive in the reverse order of receives from any source: no search is needed. */
static void many_wildcards(void)
{
	enum {
		OPS = 50000
	};
	struct text t;

	text_begin(&t);
	fprintf(t.f, "num_ranks 2\nrank 0 {\n");
	for (int i = 0; i < OPS; i++) {
		fprintf(t.f, "s%d: send 1b to 1 tag %d\n", i, i);
		if (i)
			fprintf(t.f, "s%d requires s%d\n", i, i - 1);
	}
	fprintf(t.f, "}\nrank 1 {\n");
	for (int i = OPS - 1; i >= 0; i--)
		fprintf(t.f, "recv 1b from -1 tag %d\n", i);
	fprintf(t.f, "}\n");
	CU_ASSERT_EQUAL(text_finish_ns(&t, &small), 3 * (OPS - 1) + 14);
}

/* Extreme times. */
static void beyond_the_end_of_time(void)
{
	struct model_params p = small;
	struct model_result result;

	CU_ASSERT_EQUAL(
	    run_text("num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n", &p, &result),
	    -ERANGE);
	CU_ASSERT_EQUAL(
	    run_text("num_ranks 1\nrank 0 {\ncalc 4611686018427387904\n}\n", &p, &result), 0);
	CU_ASSERT_EQUAL(result.finish_ns, MODEL_MAX_NS);
	model_result_free(&result);
	CU_ASSERT_EQUAL(run_text("num_ranks 1\nrank 0 {\na: calc 4611686018427387904\nb: calc 1\n"
				 "b requires a\n}\n",
				 &p, &result),
			-ERANGE);
	p.G = 1ull << 40;
	CU_ASSERT_EQUAL(run_text("num_ranks 1\nrank 0 {\nsend 16777217b to 0\n}\n", &p, &result),
			-ERANGE);
	CU_ASSERT_EQUAL(
	    run_text("num_ranks 1\nrank 0 {\nsend 18446744073709551615b to 0\n}\n", &p, &result),
	    -ERANGE);
	p = (struct model_params){MODEL_MAX_PARAM, MODEL_MAX_PARAM, MODEL_MAX_PARAM, 0, 0, 0};
	CU_ASSERT_EQUAL(
	    run_text("num_ranks 1\nrank 0 {\nsend 0b to 0\nrecv 0b from 0\n}\n", &p, &result), 0);
	/* To itself: the arrival waits only for L. */
	CU_ASSERT_EQUAL(result.finish_ns, 3 * MODEL_MAX_PARAM);
	model_result_free(&result);
}

/* Numbers of cpus and nics are names: the highest takes no more room than the first. */
static void any_cpu(void)
{
	struct model_result a, b;

	CU_ASSERT_EQUAL(run_text("num_ranks 2\nrank 0 {\nsend 9b to 1\nsend 9b to 1 cpu 1 nic 1\n"
				 "calc 7 cpu 2\n}\nrank 1 {\nrecv 9b from 0\nrecv 9b from 0\n}\n",
				 &small, &a),
			0);
	CU_ASSERT_EQUAL(run_text("num_ranks 2\nrank 0 {\nsend 9b to 1 cpu 63 nic 64\n"
				 "send 9b to 1 cpu 255 nic 255\ncalc 7 cpu 128\n}\n"
				 "rank 1 {\nrecv 9b from 0\nrecv 9b from 0\n}\n",
				 &small, &b),
			0);
	for (int r = 0; r < 2; r++)
		CU_ASSERT_EQUAL(a.rank_ns[r], b.rank_ns[r]);
	/* Both at once: 12, o, 8G. */
	CU_ASSERT_EQUAL(a.rank_ns[1], 22);
	model_result_free(&a);
	model_result_free(&b);
}

UT_MAIN("tools/goal_model", UT(by_hand), UT(dissemination), UT(binomial_broadcast),
	UT(chain_of_receives), UT(first_come), UT(matching_as_by_list), UT(many_wildcards),
	UT(beyond_the_end_of_time), UT(any_cpu))
