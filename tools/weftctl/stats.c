/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of NICs in the style of ethtool -S.
 */
#include "tools/weftctl/ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct stats {
	const struct ctl *ctl;
	json_t *nics; /* name: {counter: value} */
};

/* Properties of a core or a shard, which have no meaning as a sum. */
static bool names_core(const char *name)
{
	return !strcmp(name, "core_cpu") || !strcmp(name, "core_role") ||
	       !strcmp(name, "shard_load_permille");
}

/* One shard's counters: summed, or under "shardN.name". */
static int add_shard(struct weft_context *context, const struct ctl *ctl, uint32_t shard,
		     json_t *sums)
{
	struct weft_stat stats[CTL_BATCH];
	uint32_t cursor = 0;
	char name[64];
	json_int_t v;
	int n, i;

	while ((n = weft_stats(context, shard, &cursor, stats, CTL_BATCH)) > 0) {
		for (i = 0; i < n; i++) {
			stats[i].name[sizeof(stats[i].name) - 1] = '\0';
			if (!ctl->per_shard && names_core(stats[i].name))
				continue;
			if (ctl->per_shard)
				snprintf(name, sizeof(name), "shard%u.%.40s", shard, stats[i].name);
			else
				snprintf(name, sizeof(name), "%.40s", stats[i].name);
			v = json_integer_value(json_object_get(sums, name));
			json_object_set_new(sums, name,
					    json_integer(v + (json_int_t)stats[i].value));
		}
	}
	return n ? fail("%s: %s", context->name, strerror(-n)) : CTL_OK;
}

int stats_value(struct weft_context *context, uint32_t shard, const char *name, uint64_t *value)
{
	struct weft_stat stats[CTL_BATCH];
	uint32_t cursor = 0;
	int n;

	while ((n = weft_stats(context, shard, &cursor, stats, CTL_BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			if (strncmp(stats[i].name, name, sizeof(stats[i].name)))
				continue;
			*value = stats[i].value;
			return 0;
		}
	}
	return n ? n : -ENOENT;
}

/* Keeps only nonzero ones. */
static json_t *without_zeros(json_t *sums)
{
	json_t *left = json_object();
	void *at;

	for (at = json_object_iter(sums); at; at = json_object_iter_next(sums, at))
		if (json_integer_value(json_object_iter_value(at)))
			json_object_set(left, json_object_iter_key(at), json_object_iter_value(at));
	json_decref(sums);
	return left;
}

static int add_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	struct stats *s = arg;
	json_t *sums = json_object();
	uint32_t shard;
	int rc = weft_query_device(context, &dev);

	rc = rc ? fail("%s: %s", context->name, strerror(-rc)) : CTL_OK;
	for (shard = 0; rc == CTL_OK && shard < dev.num_shards; shard++)
		rc = add_shard(context, s->ctl, shard, sums);
	if (s->ctl->nonzero)
		sums = without_zeros(sums);
	if (rc == CTL_OK)
		json_object_set_new(s->nics, context->name, sums);
	else
		json_decref(sums);
	return rc;
}

static void print_stats(json_t *nics)
{
	void *nic, *stat;

	for (nic = json_object_iter(nics); nic; nic = json_object_iter_next(nics, nic)) {
		json_t *sums = json_object_iter_value(nic);

		printf("%s statistics:\n", json_object_iter_key(nic));
		for (stat = json_object_iter(sums); stat; stat = json_object_iter_next(sums, stat))
			printf("     %s: %" JSON_INTEGER_FORMAT "\n", json_object_iter_key(stat),
			       json_integer_value(json_object_iter_value(stat)));
	}
}

int run_stats(const struct ctl *ctl)
{
	struct stats s = {.ctl = ctl, .nics = json_object()};
	bool some;
	int rc = each_nic(ctl, add_nic, &s, &some);

	if (some && ctl->json)
		return out_json(s.nics) == CTL_OK ? rc : CTL_FAILED;
	if (some)
		print_stats(s.nics);
	json_decref(s.nics);
	return rc;
}
