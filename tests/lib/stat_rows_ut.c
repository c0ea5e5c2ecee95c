/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of counters: names as metrics, units, families. See lib/stat_rows.h.
 */
#include "lib/stat_rows.h"

#include <ctype.h>
#include <string.h>

#include "tests/ut.h"

static void names(void)
{
	struct stat_metric metric;

	CU_ASSERT_FATAL(stat_metric_of("rx_frames", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_rx_frames");
	CU_ASSERT_PTR_NULL(metric.label);
	CU_ASSERT(metric.kind == STAT_COUNTER && metric.scale == 1);

	CU_ASSERT_FATAL(stat_metric_of("core_busy_ns", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_core_busy_seconds");
	CU_ASSERT(metric.kind == STAT_COUNTER && metric.scale == 1e-9);

	CU_ASSERT_FATAL(stat_metric_of("qps_used", &metric));
	CU_ASSERT(metric.kind == STAT_GAUGE);
	CU_ASSERT_FATAL(stat_metric_of("wqes_used_max", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_wqes_used_max");
}

static void families(void)
{
	struct stat_metric metric;

	CU_ASSERT_FATAL(stat_metric_of("drop_ip_checksum", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_drops");
	CU_ASSERT_STRING_EQUAL(metric.label, "reason");
	CU_ASSERT_STRING_EQUAL(metric.value, "ip_checksum");

	CU_ASSERT_FATAL(stat_metric_of("port_drop_wire_full", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_port_drops");
	CU_ASSERT_STRING_EQUAL(metric.value, "wire_full");

	/* Rows of these names come before the family of their prefix. */
	CU_ASSERT_FATAL(stat_metric_of("core_turns_lost", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_core_turns_lost");
	CU_ASSERT_FATAL(stat_metric_of("core_turns_plain", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_core_turns_by_kind");
	CU_ASSERT_FATAL(stat_metric_of("cycles_idle", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_cycles_idle");
	CU_ASSERT_FATAL(stat_metric_of("core_ns_max_query", &metric));
	CU_ASSERT(metric.scale == 1e-9 && metric.kind == STAT_GAUGE);
}

static void queues(void)
{
	struct stat_metric metric;

	CU_ASSERT_FATAL(stat_metric_of("xsk_queue31_rx_ring_full", &metric));
	CU_ASSERT_STRING_EQUAL(metric.name, "weft_xsk_rx_ring_full");
	CU_ASSERT_STRING_EQUAL(metric.label, "queue");
	CU_ASSERT_STRING_EQUAL(metric.value, "31");
	CU_ASSERT_FALSE(stat_metric_of("xsk_queue_rx", &metric));
	CU_ASSERT_FALSE(stat_metric_of("xsk_queue1_rxx", &metric));
}

static void unknown(void)
{
	struct stat_metric metric;
	char name[2 * STAT_NAME_CHARS];

	CU_ASSERT_FALSE(stat_metric_of("", &metric));
	CU_ASSERT_FALSE(stat_metric_of("nothing", &metric));
	CU_ASSERT_FALSE(stat_metric_of("_used_max", &metric));
	/* A counter has no highest value. */
	CU_ASSERT_FALSE(stat_metric_of("rx_frames_used_max", &metric));
	/* Text of any length from a weftd stays within its field. */
	memset(name, '1', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "drop_", 5);
	CU_ASSERT_FATAL(stat_metric_of(name, &metric));
	CU_ASSERT(strlen(metric.value) < sizeof(metric.value));
	memcpy(name, "xsk_queue", 9);
	CU_ASSERT_FALSE(stat_metric_of(name, &metric));
	CU_ASSERT_PTR_NULL(stat_row_of(name));
}

/* Prometheus' rules for names, and sentences that stand alone. */
static void table(void)
{
	struct stat_metric metric;
	size_t num, i, k;
	const struct stat_row *rows = stat_rows(&num);

	for (i = 0; i < num; i++) {
		const char *at = strchr(rows[i].name, '#');
		char name[STAT_NAME_CHARS];

		strcpy(name, rows[i].name);
		if (at)
			name[at - rows[i].name] = '7';
		CU_ASSERT_FATAL(stat_metric_of(name, &metric));
		CU_ASSERT_PTR_EQUAL(stat_row_of(name), &rows[i]);
		for (k = 0; metric.name[k]; k++)
			CU_ASSERT(islower((unsigned char)metric.name[k]) ||
				  isdigit((unsigned char)metric.name[k]) || metric.name[k] == '_');
		CU_ASSERT_PTR_NULL(strstr(metric.name, "_ns"));
		CU_ASSERT(isupper((unsigned char)rows[i].help[0]) ||
			  isdigit((unsigned char)rows[i].help[0]));
		CU_ASSERT_NOT_EQUAL(rows[i].help[strlen(rows[i].help) - 1], '.');
		for (k = 0; k < i; k++)
			CU_ASSERT_STRING_NOT_EQUAL(rows[k].name, rows[i].name);
	}
}

static void units(void)
{
	CU_ASSERT_STRING_EQUAL(stat_unit_of("rx_bytes"), "bytes");
	CU_ASSERT_STRING_EQUAL(stat_unit_of("core_turn_ns_max"), "nanoseconds");
	CU_ASSERT_STRING_EQUAL(stat_unit_of("rx_frames"), "");
}

UT_MAIN("lib/stat_rows", UT(names), UT(families), UT(queues), UT(unknown), UT(table), UT(units))
