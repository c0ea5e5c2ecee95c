/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of NICs in the style of ethtool -S. Called by main.c.
 */
#include "tools/weftctl/ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct stats {
	const struct ctl *ctl;
	json_t *nics; /* name: {counter: value} */
};

/* One shard's counters: added up, or under "shardN.name". */
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

static int add_nic(struct weft_context *context, void *arg)
{
	struct weft_device_attr dev;
	struct stats *s = arg;
	json_t *sums = json_object(), *value;
	const char *key;
	uint32_t shard;
	void *next;
	int rc = weft_query_device(context, &dev);

	rc = rc ? fail("%s: %s", context->name, strerror(-rc)) : CTL_OK;
	for (shard = 0; rc == CTL_OK && shard < dev.num_shards; shard++)
		rc = add_shard(context, s->ctl, shard, sums);
	if (s->ctl->nonzero) {
		json_object_foreach_safe(sums, next, key, value)
		{
			if (!json_integer_value(value))
				json_object_del(sums, key);
		}
	}
	json_object_set_new(s->nics, context->name, sums);
	return rc;
}

int run_stats(const struct ctl *ctl)
{
	struct stats s = {.ctl = ctl, .nics = json_object()};
	const char *nic, *name;
	json_t *sums, *value;
	int rc = each_nic(ctl, add_nic, &s);

	if (rc != CTL_OK) {
		json_decref(s.nics);
		return rc;
	}
	if (ctl->json) {
		out_json(s.nics);
		return CTL_OK;
	}
	json_object_foreach (s.nics, nic, sums) {
		printf("%s statistics:\n", nic);
		json_object_foreach (sums, name, value)
			printf("     %s: %" JSON_INTEGER_FORMAT "\n", name,
			       json_integer_value(value));
	}
	json_decref(s.nics);
	return CTL_OK;
}
