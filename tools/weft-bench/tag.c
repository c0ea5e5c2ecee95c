/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft-bench tag: messages that the NIC matches, between two processes. Calls tag_*.c in processes
 * of their own (crew.c). docs/tagged.md has the figures.
 *
 *	lat		half a round trip, by size
 *	bw		stream of long messages
 *	rate		stream of messages of 64 bytes
 *	match		latency behind many posted receives, and behind many unexpected messages
 *	overlap		computation that a message hides (Rashti's thesis, equation 3.4)
 *	adapt		announcements sent and used, over time
 *	freq		small messages from memory that is not registered (Rashti's thesis, chapter
 *5)
 *	ring		latency of messages that are written to rings of buffers, one for each peer
 */
#include "tools/weft-bench/tag.h"

#include <string.h>

#include "tools/weft-bench/report.h"

static const struct {
	const char *name;
	crew_fn fn;
} parts[] = {
    {"lat", tag_lat},         {"bw", tag_bw},       {"rate", tag_rate}, {"match", tag_match},
    {"overlap", tag_overlap}, {"adapt", tag_adapt}, {"freq", tag_freq}, {"ring", tag_ring},
};

int tag_run(struct opts *o)
{
	json_t *rows = json_array(), *j;
	int rc = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !rc; i++)
		if (!o->part || !strcmp(o->part, parts[i].name))
			rc = crew_run(o, 2, parts[i].fn, NULL, rows);
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
