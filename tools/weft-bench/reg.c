/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench reg: the cost of registering memory, and the savings by the registration cache. Calls
 * reg_cost.c, reg_ping.c and reg_heap.c in processes of their own (crew.c). docs/memory.md has the
 * figures.
 */
#include "tools/weft-bench/reg.h"

#include <string.h>

#include "tools/weft-bench/report.h"

static const struct {
	const char *name;
	crew_fn fn;
	int ranks;
} parts[] = {
    {"cost", reg_cost, 1},
    {"policy", reg_policies, 1},
    {"table2", reg_ping, 2},
    {"heap", reg_heap, 2},
};

int reg_run(struct opts *o)
{
	json_t *rows = json_array(), *j;
	int rc = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !rc; i++)
		if (!o->part || !strcmp(o->part, parts[i].name))
			rc = crew_run(o, parts[i].ranks, parts[i].fn, NULL, rows);
	if (!rc && o->json) {
		j = report_base(o, o->device ? o->device : "");
		json_object_set(j, "rows", rows);
		report_json(j);
	} else if (!rc) {
		crew_print(rows);
	}
	json_decref(rows);
	return rc ? BENCH_FAILED : BENCH_OK;
}
