/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench's figures: percentiles, halves of round trips, reports of the other end.
 */
#include "tools/weft-bench/report.c"
#include "tools/weft-bench/oob.c"
#include "tools/weft-bench/util.c"

#include <unistd.h>

#include "tests/tmp.h"
#include "tests/ut.h"

static void one_to_a_thousand(void)
{
	struct samples s = {0};
	struct lat l;
	uint64_t i;

	for (i = 1000; i > 0; i--)
		CU_ASSERT_EQUAL(samples_add(&s, i * 1000), 0);
	l = summarise(&s, 1);
	CU_ASSERT_DOUBLE_EQUAL(l.min, 1, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(l.max, 1000, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(l.typical, 501, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(l.avg, 500.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(l.p99, 991, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(l.p99_9, 1000, 1e-9);
	/* Standard deviation of 1..n: sqrt((n^2 - 1) / 12). */
	CU_ASSERT_DOUBLE_EQUAL(l.stdev, sqrt((1e6 - 1) / 12), 1e-6);
	l = summarise(&s, 2);
	CU_ASSERT_DOUBLE_EQUAL(l.typical, 250.5, 1e-9);
	samples_free(&s);
}

static void none_and_one(void)
{
	struct samples s = {0};
	struct lat l = summarise(&s, 1);

	CU_ASSERT_EQUAL(l.max, 0);
	CU_ASSERT_EQUAL(samples_add(&s, (uint64_t)1 << 40), 0);
	l = summarise(&s, 1);
	CU_ASSERT_DOUBLE_EQUAL(l.p99_9, UINT32_MAX * 1e-3, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(l.stdev, 0, 1e-9);
	samples_free(&s);
}

static void grows(void)
{
	struct samples s = {0};
	uint32_t i;

	for (i = 0; i < 200000; i++)
		CU_ASSERT_EQUAL_FATAL(samples_add(&s, i), 0);
	CU_ASSERT_EQUAL(s.count, 200000);
	CU_ASSERT_EQUAL(s.ns[199999], 199999);
	samples_free(&s);
}

static void account_travels(void)
{
	struct flow f = {.messages = 5,
			 .bytes = (uint64_t)1 << 41,
			 .seconds = 0.25,
			 .received = 6,
			 .lost = 1,
			 .errors = 2};
	struct flow g = {0};
	json_t *j = flow_json(&f);

	CU_ASSERT_EQUAL(flow_parse(j, &g), 0);
	CU_ASSERT_EQUAL(g.bytes, f.bytes);
	CU_ASSERT_EQUAL(g.received, 6);
	CU_ASSERT_EQUAL(g.lost, 1);
	CU_ASSERT_EQUAL(g.errors, 2);
	CU_ASSERT_DOUBLE_EQUAL(g.seconds, 0.25, 0);
	json_object_set_new(j, "errors", json_integer(-1));
	CU_ASSERT_EQUAL(flow_parse(j, &g), -1);
	json_object_set_new(j, "errors", json_string("0"));
	CU_ASSERT_EQUAL(flow_parse(j, &g), -1);
	json_object_del(j, "errors");
	CU_ASSERT_EQUAL(flow_parse(j, &g), -1);
	json_decref(j);
}

/* Samples of a file, one a line; a folder that is not there. */
static void saved(void)
{
	struct samples s = {0};
	char path[TMP_PATH_BYTES], text[32] = "";
	FILE *f;

	close(tmp_file(path));
	CU_ASSERT(!samples_add(&s, 5200) && !samples_add(&s, 0));
	CU_ASSERT_EQUAL(samples_save(&s, path), 0);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fread(text, 1, sizeof(text) - 1, f), 7);
	CU_ASSERT_STRING_EQUAL(text, "5200\n0\n");
	fclose(f);
	unlink(path);
	CU_ASSERT_EQUAL(samples_save(&s, "/nowhere/samples"), -1);
	CU_ASSERT_EQUAL(samples_save(&s, "/dev/full"), -1);
	samples_free(&s);
}

/* The one-way time by the NIC's clock is printed where it is known, and only there. */
static void way_by_the_nics_clock(void)
{
	struct rounds r = {.errors = 3, .resent = 1};
	struct lat rtt, nic;
	json_t *j;

	CU_ASSERT_EQUAL(samples_add(&r.rtt, 8000), 0);
	rtt = summarise(&r.rtt, 1);
	nic = summarise(&r.nic, 1);
	j = rounds_json(&r, &rtt, &rtt, &nic);
	CU_ASSERT_PTR_NULL(json_object_get(j, "nic_us"));
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(j, "errors")), 3);
	json_decref(j);
	CU_ASSERT_EQUAL(samples_add(&r.nic, 1500), 0);
	nic = summarise(&r.nic, 1);
	j = rounds_json(&r, &rtt, &rtt, &nic);
	CU_ASSERT_DOUBLE_EQUAL(
	    json_real_value(json_object_get(json_object_get(j, "nic_us"), "p99")), 1.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(
	    json_real_value(json_object_get(json_object_get(j, "rtt_us"), "p99")), 8, 1e-9);
	json_decref(j);
	rounds_free(&r);
}

UT_MAIN("tools/report", UT(saved), UT(way_by_the_nics_clock), UT(one_to_a_thousand),
	UT(none_and_one), UT(grows), UT(account_travels))
