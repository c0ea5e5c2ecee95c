/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command colls: which share of the collectives of MPI programs ran on the NIC. The processes
 * count them (host_driver/mpi/mc_count.c) in memory that the NIC reads.
 *
 * Calls libweft's tool functions, shares.c and out.c.
 */
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static json_t *percent(uint64_t part, uint64_t rest)
{
	double all = (double)part + (double)rest;

	return all > 0 ? json_real(100 * (double)part / all) : json_null();
}

static json_t *row_of(const struct weft_context *context, uint32_t shard,
		      const struct weft_list_item *item, const json_t *programs)
{
	char key[24];
	const json_t *program;

	snprintf(key, sizeof(key), "%u.%u", item->id, item->client);
	program = json_object_get(programs, key);
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:s, s:I, s:I, s:o, s:I, s:I, s:o}", "nic",
			 context->name, "shard", (json_int_t)shard, "client", (json_int_t)item->id,
			 "pid", (json_int_t)item->client, "uid", (json_int_t)item->state, "user",
			 shares_user(item->state), "program",
			 program ? json_string_value(program) : "-", "nic_calls",
			 (json_int_t)item->a, "left_calls", (json_int_t)item->more[0],
			 "calls_percent", percent(item->a, item->more[0]), "nic_bytes",
			 (json_int_t)item->b, "left_bytes", (json_int_t)item->more[1],
			 "bytes_percent", percent(item->b, item->more[1]));
}

/* Adds the names of the attached programs, by client and process number, to programs. 0, -errno. */
static int list_programs(struct weft_context *context, uint32_t shard, json_t *programs)
{
	struct weft_list_item items[CTL_BATCH];
	uint32_t cursor = 0;
	char key[24];
	int n, i;

	while ((n = weft_list(context, WEFT_LIST_CLIENTS, shard, &cursor, items, CTL_BATCH)) > 0)
		for (i = 0; i < n; i++) {
			snprintf(key, sizeof(key), "%u.%u", items[i].id, (uint32_t)items[i].a);
			items[i].name[sizeof(items[i].name) - 1] = '\0';
			json_object_set_new(programs, key, json_string(items[i].name));
		}
	return n;
}

static int colls_of_shard(struct weft_context *context, uint32_t shard, json_t *rows)
{
	struct weft_list_item items[CTL_BATCH];
	json_t *programs = json_object();
	uint32_t cursor = 0;
	int n, i;

	n = list_programs(context, shard, programs);
	while (n >= 0 &&
	       (n = weft_list(context, WEFT_LIST_COLLS, shard, &cursor, items, CTL_BATCH)) > 0)
		for (i = 0; i < n; i++)
			json_array_append_new(rows, row_of(context, shard, &items[i], programs));
	json_decref(programs);
	return n;
}

static int colls_of_nic(struct weft_context *context, void *rows)
{
	struct weft_device_attr dev;
	int rc = weft_query_device(context, &dev);

	for (uint32_t shard = 0; rc == 0 && shard < dev.num_shards; shard++)
		rc = colls_of_shard(context, shard, rows);
	if (rc == -EINVAL)
		return fail("%s: its firmware does not know of collectives; weftctl upgrade",
			    context->name);
	return rc ? fail("%s: %s", context->name, strerror(-rc)) : CTL_OK;
}

int run_colls(const struct ctl *ctl)
{
	static const struct out_column columns[] = {
	    {"nic", "NIC"},
	    {"client", "CLIENT"},
	    {"pid", "PID"},
	    {"user", "USER"},
	    {"nic_calls", "NIC_CALLS"},
	    {"left_calls", "LEFT_CALLS"},
	    {"calls_percent", "CALLS%"},
	    {"nic_bytes", "NIC_BYTES"},
	    {"left_bytes", "LEFT_BYTES"},
	    {"bytes_percent", "BYTES%"},
	    {"program", "PROGRAM"},
	};
	json_t *rows = json_array();
	bool some;
	int rc = each_nic(ctl, colls_of_nic, rows, &some);

	return out_rows(ctl, rc, some, columns, COUNT(columns), rows);
}
