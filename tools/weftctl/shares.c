/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares: the use and the limits of users and processes, by kind. The command users, and a column
 * of clients. Calls libweft's tool functions and out.c. shared_defs/hw_share.h has the kinds.
 */
#include "tools/weftctl/ctl.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "shared_defs/hw_share.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const words[HW_SHARES] = {
#define WORD(kind, word, name) [HW_SHARE_##kind] = word,
    HW_SHARES_OF_SHARD(WORD) HW_SHARES_OF_WEFTD(WORD)
#undef WORD
};

json_t *shares_user(uint32_t uid)
{
	struct passwd entry, *found = NULL;
	char number[16], room[4096];

	snprintf(number, sizeof(number), "%u", uid);
	if (getpwuid_r(uid, &entry, room, sizeof(room), &found))
		found = NULL;
	return json_string(found ? found->pw_name : number);
}

/* Every NIC of a weftd reports the kinds of weftd as a whole alike. */
static json_t *row_of(const struct weft_context *context, const struct weft_list_item *item,
		      uint32_t shard)
{
	const char *word = item->state < HW_SHARES ? words[item->state] : "?";
	bool whole = item->state >= HW_SHARES_SHARD;
	json_t *row =
	    json_pack("{s:I, s:o, s:I, s:s, s:I, s:I, s:I}", "uid", (json_int_t)item->id, "user",
		      shares_user(item->id), "pid", (json_int_t)item->client, "kind", word, "held",
		      (json_int_t)item->a, "limit", (json_int_t)item->b, "percent",
		      (json_int_t)(item->b ? (double)item->a * 100 / (double)item->b : 0));

	if (!row)
		return NULL;
	json_object_set_new(row, "nic", json_string(whole ? "all" : context->name));
	json_object_set_new(row, "shard", whole ? json_string("-") : json_integer(shard));
	return row;
}

/* NICs of one weftd report the same of it; another weftd may be in the same directory. */
static bool is_known(const json_t *rows, const json_t *row)
{
	const json_t *other;
	size_t i;

	json_array_foreach (rows, i, other) {
		if (json_equal(other, row))
			return true;
	}
	return false;
}

/* Adds a list's rows, of users' sums or of processes, to rows. Returns an exit code. */
static int collect(struct weft_context *context, enum weft_list_kind kind, uint32_t shard,
		   enum hw_share_of of, json_t *rows)
{
	struct weft_list_item items[CTL_BATCH];
	uint32_t cursor = 0;
	json_t *row;
	int n, i;

	while ((n = weft_list(context, kind, shard, &cursor, items, CTL_BATCH)) > 0) {
		for (i = 0; i < n; i++) {
			if (items[i].type != (uint32_t)of)
				continue;
			row = row_of(context, &items[i], shard);
			if (is_known(rows, row))
				json_decref(row);
			else if (json_array_append_new(rows, row))
				return fail("out of memory");
		}
	}
	return n ? fail("%s: %s", context->name, strerror(-n)) : CTL_OK;
}

int shares_of_processes(struct weft_context *context, uint32_t shard, json_t **shares)
{
	int rc;

	*shares = json_array();
	rc = collect(context, WEFT_LIST_SHARES, shard, HW_SHARE_OF_PROCESS, *shares);
	if (rc == CTL_OK)
		rc = collect(context, WEFT_LIST_USERS, 0, HW_SHARE_OF_PROCESS, *shares);
	if (rc == CTL_OK)
		return rc;
	json_decref(*shares);
	*shares = NULL;
	return rc;
}

json_t *shares_largest(const json_t *shares, uint32_t uid, uint32_t pid)
{
	const json_t *best = NULL, *row;
	size_t i;

	json_array_foreach (shares, i, row) {
		if (json_integer_value(json_object_get(row, "uid")) != uid ||
		    json_integer_value(json_object_get(row, "pid")) != pid)
			continue;
		if (!best || json_integer_value(json_object_get(row, "percent")) >
				 json_integer_value(json_object_get(best, "percent")))
			best = row;
	}
	if (!best)
		return json_string("-");
	return json_sprintf("%s:%d%%", json_string_value(json_object_get(best, "kind")),
			    (int)json_integer_value(json_object_get(best, "percent")));
}

static int users_of_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	json_t *rows = arg;
	int rc = weft_query_device(context, &dev);
	uint32_t shard;

	if (rc)
		return fail("%s: %s", context->name, strerror(-rc));
	rc = collect(context, WEFT_LIST_USERS, 0, HW_SHARE_OF_USER, rows);
	for (shard = 0; shard < dev.num_shards && rc == CTL_OK; shard++)
		rc = collect(context, WEFT_LIST_SHARES, shard, HW_SHARE_OF_USER, rows);
	return rc;
}

int run_users(const struct ctl *ctl)
{
	static const struct out_column columns[] = {
	    {"user", "USER"}, {"nic", "NIC"},     {"shard", "SHARD"},     {"kind", "KIND"},
	    {"held", "HELD"}, {"limit", "LIMIT"}, {"percent", "PERCENT"},
	};
	json_t *rows = json_array();
	bool some;
	int rc = each_nic(ctl, users_of_nic, rows, &some);

	return out_rows(ctl, rc, some, columns, COUNT(columns), rows);
}
