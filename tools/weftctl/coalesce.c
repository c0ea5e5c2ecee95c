/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interrupt moderation: shows it as ethtool -c does, sets it in ethtool -C's words.
 *
 * Calls libweft and, for --stats and --watch, coalesce_stats.c. docs/tuning.md.
 */
#include "tools/weftctl/coalesce.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/coalesce_words.h"

int coalesce_vectors(struct weft_context *context, const struct ctl *ctl, uint32_t *first,
		     uint32_t *end)
{
	struct weft_device_attr dev;
	int rc = weft_query_device(context, &dev);

	if (rc)
		return fail("%s: %s", context->name, strerror(-rc));
	*first = ctl->has_vector ? ctl->vector : 0;
	*end = ctl->has_vector ? ctl->vector + 1 : dev.num_vectors;
	if (*end > dev.num_vectors)
		return fail("%s has vectors 0 to %u: there is no vector %u", context->name,
			    dev.num_vectors - 1, ctl->vector);
	return CTL_OK;
}

/* One vector, and others with the same settings. */
struct shown {
	struct weft_coalesce set, now;
};

static const char *const mode_names[] = {
    [WEFT_COALESCE_FIXED] = "fixed",
    [WEFT_COALESCE_ADAPTIVE] = "adaptive",
    [WEFT_COALESCE_TARGET] = "target",
};

static const char *mode_name(const struct weft_coalesce *c)
{
	uint32_t mode = (uint32_t)c->mode;

	return mode < sizeof(mode_names) / sizeof(mode_names[0]) ? mode_names[mode] : "unknown";
}

static void print_params(const struct weft_coalesce *c, const uint32_t *param, size_t num)
{
	for (size_t i = 0; i < num; i++)
		printf("%s:\t%u\n", coalesce_word(param[i]), c->param[param[i]]);
	putchar('\n');
}

/* Layout and words of ethtool -c, and weft's additional settings. */
static void print_shown(const char *nic, uint32_t first, uint32_t last, const struct shown *s)
{
	static const uint32_t rx[] = {WEFT_COALESCE_RX_USECS, WEFT_COALESCE_RX_FRAMES,
				      WEFT_COALESCE_RX_USECS_IRQ, WEFT_COALESCE_RX_FRAMES_IRQ};
	static const uint32_t tx[] = {WEFT_COALESCE_TX_USECS, WEFT_COALESCE_TX_FRAMES,
				      WEFT_COALESCE_TX_USECS_IRQ, WEFT_COALESCE_TX_FRAMES_IRQ};
	const char *adaptive = s->set.mode == WEFT_COALESCE_ADAPTIVE ? "on" : "off";

	if (first == last)
		printf("Coalesce parameters for %s, vector %u:\n", nic, first);
	else
		printf("Coalesce parameters for %s, vectors %u to %u:\n", nic, first, last);
	printf("Adaptive RX: %s  TX: %s\n", adaptive, adaptive);
	if (s->set.mode == WEFT_COALESCE_TARGET)
		printf("Target: p%.6g within %.6g us\n", s->set.target_percentile / 100.0,
		       s->set.target_ns / 1000.0);
	if (s->set.mode != WEFT_COALESCE_FIXED)
		printf("Chosen now: rx-usecs %u rx-frames %u tx-usecs %u tx-frames %u\n",
		       s->now.param[WEFT_COALESCE_RX_USECS], s->now.param[WEFT_COALESCE_RX_FRAMES],
		       s->now.param[WEFT_COALESCE_TX_USECS], s->now.param[WEFT_COALESCE_TX_FRAMES]);
	putchar('\n');
	print_params(&s->set, rx, sizeof(rx) / sizeof(rx[0]));
	print_params(&s->set, tx, sizeof(tx) / sizeof(tx[0]));
}

static json_t *json_shown(const char *nic, uint32_t vector, const struct shown *s)
{
	bool adaptive = s->set.mode == WEFT_COALESCE_ADAPTIVE;
	json_t *row =
	    json_pack("{s:s, s:I, s:s, s:b, s:b}", "nic", nic, "vector", (json_int_t)vector, "mode",
		      mode_name(&s->set), "adaptive-rx", adaptive, "adaptive-tx", adaptive);
	json_t *now = json_object();

	for (uint32_t i = 0; i < WEFT_COALESCE_NUM_PARAMS; i++)
		json_object_set_new(row, coalesce_word(i), json_integer(s->set.param[i]));
	if (s->set.mode == WEFT_COALESCE_TARGET)
		json_object_set_new(row, "target",
				    json_pack("{s:f, s:f}", "percentile",
					      s->set.target_percentile / 100.0, "us",
					      s->set.target_ns / 1000.0));
	for (uint32_t i = 0; i <= WEFT_COALESCE_TX_FRAMES; i++)
		json_object_set_new(now, coalesce_word(i), json_integer(s->now.param[i]));
	json_object_set_new(row, "now", now);
	return row;
}

static int show_nic(struct weft_context *context, const struct ctl *ctl, json_t *rows)
{
	struct shown group = {0}, s;
	uint32_t first, end, begin = 0, v;
	int rc = coalesce_vectors(context, ctl, &first, &end);

	for (v = first; rc == CTL_OK && v < end; v++) {
		memset(&s, 0, sizeof(s));
		rc = weft_query_coalesce(context, v, &s.set, &s.now);
		if (rc)
			return fail("%s: vector %u: %s", context->name, v, strerror(-rc));
		if (ctl->json) {
			json_array_append_new(rows, json_shown(context->name, v, &s));
			continue;
		}
		if (v > first && memcmp(&s, &group, sizeof(s)) != 0)
			print_shown(context->name, begin, v - 1, &group);
		if (v == first || memcmp(&s, &group, sizeof(s)) != 0)
			begin = v;
		group = s;
	}
	if (rc == CTL_OK && !ctl->json)
		print_shown(context->name, begin, end - 1, &group);
	return rc;
}

/* The limits are set, but not in effect now: printed once, since nothing else would show it. */
static void warn_adaptive(struct weft_context *context, const struct ctl *ctl, uint32_t vector)
{
	const uint32_t chosen =
	    WEFT_COALESCE_SET(WEFT_COALESCE_TX_FRAMES + 1) - 1; /* vectors without irq */
	struct weft_coalesce set;

	if (!(ctl->setting.set & chosen) || weft_query_coalesce(context, vector, &set, NULL) ||
	    set.mode == WEFT_COALESCE_FIXED)
		return;
	fprintf(stderr,
		"weftctl: %s: the NIC chooses these limits itself (%s); yours hold from "
		"\"adaptive off\" on\n",
		context->name, mode_name(&set));
}

static int set_nic(struct weft_context *context, const struct ctl *ctl)
{
	const struct hw_coalesce *hw = &ctl->setting.coalesce;
	struct weft_coalesce c = {.mode = (enum weft_coalesce_mode)hw->mode,
				  .target_percentile = hw->target_percentile,
				  .target_ns = hw->target_ns};
	uint32_t first, end;
	int rc = coalesce_vectors(context, ctl, &first, &end);

	if (rc != CTL_OK)
		return rc;
	memcpy(c.param, hw->param, sizeof(c.param));
	rc = weft_set_coalesce(context, ctl->has_vector ? ctl->vector : WEFT_COALESCE_ALL_VECTORS,
			       ctl->setting.set, &c);
	if (rc == -EPERM)
		return fail("%s: only root and the user that weftd runs as may set it",
			    context->name);
	if (rc)
		return fail("%s: %s", context->name, strerror(-rc));
	warn_adaptive(context, ctl, first);
	return CTL_OK;
}

struct coalesce {
	const struct ctl *ctl;
	json_t *rows;
};

static int coalesce_nic(struct weft_context *context, void *arg)
{
	const struct coalesce *c = arg;
	int rc = CTL_OK;

	if (c->ctl->setting.set)
		rc = set_nic(context, c->ctl);
	if (rc != CTL_OK || (c->ctl->setting.set && !c->ctl->json))
		return rc;
	if (c->ctl->watch_s > 0)
		return coalesce_watch(context, c->ctl);
	if (c->ctl->stats)
		return coalesce_stats(context, c->ctl, c->rows);
	return show_nic(context, c->ctl, c->rows);
}

int run_coalesce(const struct ctl *ctl)
{
	struct coalesce c = {.ctl = ctl, .rows = json_array()};
	bool some;
	int rc = each_nic(ctl, coalesce_nic, &c, &some);

	if (some && ctl->json && !(ctl->watch_s > 0))
		return out_json(c.rows) == CTL_OK ? rc : CTL_FAILED;
	json_decref(c.rows);
	return rc;
}
