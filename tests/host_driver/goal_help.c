/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of the tests of libgoal's formats; see goal_help.h.
 */
#include "tests/host_driver/goal_help.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

int help_read(const void *data, size_t bytes, struct goal_set *set, struct goal_error *err)
{
	char *copy = malloc(bytes ? bytes : 1);
	int rc;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, data, bytes);
	rc = goal_bin_is(copy, bytes) ? goal_bin_read(copy, bytes, "x", set, err)
				      : goal_text_read(copy, bytes, "x", set, err);
	free(copy);
	return rc;
}

void help_read_ok(const char *text, struct goal_set *set)
{
	struct goal_error err;
	int rc = help_read(text, strlen(text), set, &err);

	if (rc)
		fprintf(stderr, "%s\n%s", err.text, text);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
}

char *help_write(const struct goal_set *set)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(goal_text_write(set, out), 0);
	CU_ASSERT_EQUAL(fclose(out), 0);
	return text;
}

char *help_golden(const char *name)
{
	char path[256], *text;
	size_t bytes;
	FILE *f;

	snprintf(path, sizeof(path), "tests/golden/goal/%s", name);
	f = fopen(path, "r");
	text = calloc(1, 65536);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	bytes = fread(text, 1, 65535, f);
	CU_ASSERT(bytes > 0 && feof(f));
	fclose(f);
	return text;
}

bool help_equal(const struct goal_set *a, const struct goal_set *b)
{
	if (a->num_ranks != b->num_ranks || a->num_ops != b->num_ops)
		return false;
	if (memcmp(a->rank_first, b->rank_first, (a->num_ranks + 1) * sizeof(*a->rank_first)) ||
	    memcmp(a->num_waits, b->num_waits, a->num_ops * sizeof(*a->num_waits)))
		return false;
	for (uint32_t i = 0; i < a->num_ops; i++) {
		struct goal_op x = a->ops[i], y = b->ops[i];

		x.line = y.line = 0;
		if (memcmp(&x, &y, sizeof(x)))
			return false;
	}
	for (int w = 0; w < GOAL_NUM_WAITS; w++) {
		const struct goal_edges *x = &a->edges[w], *y = &b->edges[w];

		if (memcmp(x->first, y->first, (a->num_ops + 1) * sizeof(*x->first)) ||
		    memcmp(x->target, y->target, x->first[a->num_ops] * sizeof(*x->target)))
			return false;
	}
	return true;
}

uint64_t help_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Reads; if that succeeds, writes and reads again. Returns 1 if it succeeded. */
static unsigned int round_trip(const void *data, size_t bytes)
{
	struct goal_set set, again;
	struct goal_error err;
	char *text;

	if (help_read(data, bytes, &set, &err)) {
		CU_ASSERT(strncmp(err.text, "x:", 2) == 0);
		CU_ASSERT_PTR_NULL(set.ops);
		return 0;
	}
	text = help_write(&set);
	help_read_ok(text, &again);
	CU_ASSERT(help_equal(&set, &again));
	free(text);
	goal_set_free(&set);
	goal_set_free(&again);
	return 1;
}

unsigned int help_torture(const void *data, size_t bytes, unsigned int num, uint64_t seed)
{
	static const char text[] = "\n {}:-/*19abt#\"\r\t";
	unsigned int good = 0;
	uint8_t *copy = malloc(bytes + 1);

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	for (size_t n = 0; n <= bytes; n++)
		good += round_trip(data, n);
	for (unsigned int i = 0; i < num; i++) {
		size_t n = bytes, at = help_random(&seed) % bytes,
		       from = help_random(&seed) % bytes;
		size_t len = 1 + help_random(&seed) % 24;

		memcpy(copy, data, bytes);
		switch (help_random(&seed) % 5) {
		case 0: /* one bit */
			copy[at] ^= (uint8_t)(1u << help_random(&seed) % 8);
			break;
		case 1: /* one byte, to a value with a meaning */
			copy[at] = (uint8_t)text[help_random(&seed) % (sizeof(text) - 1)];
			break;
		case 2: /* any byte */
			copy[at] = (uint8_t)help_random(&seed);
			break;
		case 3: /* a piece is missing */
			len = len < bytes - at ? len : bytes - at;
			memmove(copy + at, copy + at + len, bytes - at - len);
			n = bytes - len;
			break;
		default: /* a piece replaces another one */
			len = len < bytes - at ? len : bytes - at;
			len = len < bytes - from ? len : bytes - from;
			memmove(copy + at, copy + from, len);
			break;
		}
		good += round_trip(copy, n);
	}
	free(copy);
	return good;
}
