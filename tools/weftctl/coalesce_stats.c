/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Effects of interrupt moderation: counters of vectors, and the time from completion to interrupt.
 * Calls libweft.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "shared_defs/hw_coalesce.h"
#include "shared_defs/hw_limits.h"
#include "tools/weftctl/coalesce.h"

enum {
	BAR_CHARS = 40,
	WATCH_LINES = 20, /* between two lines of titles */
};

static double wait_us(const struct weft_vector *v, uint32_t percentile)
{
	return (double)weft_vector_wait_ns(v, percentile) * 1e-3;
}

static uint64_t wait_count(const struct weft_vector *v)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++)
		n += v->wait[i];
	return n;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static json_t *json_vector(const char *nic, uint32_t vector, const struct weft_vector *v)
{
	json_t *row = json_pack("{s:s, s:I, s:I}", "nic", nic, "vector", (json_int_t)vector,
				"event_queues", (json_int_t)v->event_queues);
	json_t *buckets = json_array(), *begins = json_array();

#define X(name) json_object_set_new(row, #name, json_integer((json_int_t)v->name));
	HW_VECTOR_COUNTERS(X)
#undef X
	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++) {
		json_array_append_new(begins, json_integer((json_int_t)weft_vector_bucket_ns(i)));
		json_array_append_new(buckets, json_integer((json_int_t)v->wait[i]));
	}
	json_object_set_new(row, "wait",
			    json_pack("{s:f, s:f, s:f, s:o, s:o}", "mean_us",
				      ratio((double)v->wait_sum_ns, (double)wait_count(v)) * 1e-3,
				      "p50_us", wait_us(v, 5000), "p99_us", wait_us(v, 9900),
				      "from_ns", begins, "buckets", buckets));
	return row;
}

static bool has_wait_beyond(const struct weft_vector *v, uint32_t bucket)
{
	for (uint32_t i = bucket + 1; i < WEFT_VECTOR_BUCKETS; i++)
		if (v->wait[i])
			return true;
	return false;
}

/*
 * One line for each nonempty bucket, and for the one before it, whose end is its start; several
 * empty ones are a line of dots.
 */
static void print_wait(const struct weft_vector *v)
{
	bool dots = true; /* none at the start */
	uint64_t most = 1;
	uint32_t i;

	for (i = 0; i < WEFT_VECTOR_BUCKETS; i++)
		most = most > v->wait[i] ? most : v->wait[i];
	for (i = 0; i < WEFT_VECTOR_BUCKETS; i++) {
		int bar = (int)((double)v->wait[i] / (double)most * BAR_CHARS + 0.5);
		bool next = i + 1 < WEFT_VECTOR_BUCKETS && v->wait[i + 1];
		double to = (double)weft_vector_bucket_ns(i + 1) * 1e-3;

		if (!v->wait[i] && !next) {
			if (!dots && has_wait_beyond(v, i))
				printf("     ...\n");
			dots = true;
			continue;
		}
		dots = false;
		if (!i)
			printf("     wait of none            : ");
		else if (i + 1 == WEFT_VECTOR_BUCKETS)
			printf("     wait longer             : ");
		else
			printf("     wait below %10.3f us: ", to);
		printf("%12" PRIu64 "%s%.*s\n", v->wait[i], bar ? " " : "", bar,
		       "########################################");
	}
}

static void print_vector(const char *nic, uint32_t vector, const struct weft_vector *v)
{
	printf("%s vector %u statistics:\n", nic, vector);
	printf("     event_queues: %u\n", v->event_queues);
#define X(name) printf("     " #name ": %" PRIu64 "\n", v->name);
	HW_VECTOR_COUNTERS(X)
#undef X
	printf("     interrupts_per_completion: %.4f\n",
	       ratio((double)v->interrupts, (double)v->completions));
	if (!wait_count(v))
		return;
	printf("     wait_mean_us: %.3f\n",
	       ratio((double)v->wait_sum_ns, (double)wait_count(v)) * 1e-3);
	printf("     wait_p50_us: %.3f\n     wait_p99_us: %.3f\n", wait_us(v, 5000),
	       wait_us(v, 9900));
	print_wait(v);
}

static int query(struct weft_context *context, uint32_t vector, struct weft_vector *v)
{
	int rc = weft_query_vector(context, vector, WEFT_COALESCE_ALL_SHARDS, v);

	if (rc)
		return fail("%s: vector %u: %s", context->name, vector, strerror(-rc));
	return CTL_OK;
}

static bool is_used(const struct weft_vector *v)
{
	return v->event_queues || v->completions || v->interrupts;
}

int coalesce_stats(struct weft_context *context, const struct ctl *ctl, json_t *rows)
{
	struct weft_vector v;
	uint32_t first, end;
	bool any = false;
	int rc = coalesce_vectors(context, ctl, &first, &end);

	for (uint32_t i = first; rc == CTL_OK && i < end; i++) {
		rc = query(context, i, &v);
		if (rc != CTL_OK)
			return rc;
		if (ctl->json) {
			json_array_append_new(rows, json_vector(context->name, i, &v));
		} else if (ctl->has_vector || is_used(&v)) {
			print_vector(context->name, i, &v);
			any = true;
		}
	}
	if (rc == CTL_OK && !ctl->json && !any)
		printf("%s: no vector has been used\n", context->name);
	return rc;
}

/* ---- --watch */

static void subtract(struct weft_vector *v, const struct weft_vector *before)
{
#define X(name) v->name -= before->name;
	HW_VECTOR_COUNTERS(X)
#undef X
	for (uint32_t i = 0; i < WEFT_VECTOR_BUCKETS; i++)
		v->wait[i] -= before->wait[i];
	v->wait_sum_ns -= before->wait_sum_ns;
}

static void sleep_s(double s)
{
	struct timespec ts = {.tv_sec = (time_t)s,
			      .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void print_gain(const char *nic, uint32_t vector, const struct weft_vector *gain,
		       const struct weft_coalesce *now, double seconds, bool json)
{
	double completions = (double)gain->completions, irqs = (double)gain->interrupts;

	if (!json) {
		printf("%-8s %6u %11.0f %10.0f %9.4f %8.2f %8.2f %8u %9u %8u %9u\n", nic, vector,
		       completions / seconds, irqs / seconds, ratio(irqs, completions),
		       wait_us(gain, 5000), wait_us(gain, 9900), now->param[WEFT_COALESCE_RX_USECS],
		       now->param[WEFT_COALESCE_RX_FRAMES], now->param[WEFT_COALESCE_TX_USECS],
		       now->param[WEFT_COALESCE_TX_FRAMES]);
		return;
	}
	printf("{\"nic\": \"%s\", \"vector\": %u, \"seconds\": %.6f, \"completions\": %" PRIu64
	       ", \"interrupts\": %" PRIu64 ", \"coalesced\": %" PRIu64
	       ", \"p50_us\": %.3f, \"p99_us\": %.3f, \"rx-usecs\": %u, \"rx-frames\": %u, "
	       "\"tx-usecs\": %u, \"tx-frames\": %u}\n",
	       nic, vector, seconds, gain->completions, gain->interrupts, gain->coalesced,
	       wait_us(gain, 5000), wait_us(gain, 9900), now->param[WEFT_COALESCE_RX_USECS],
	       now->param[WEFT_COALESCE_RX_FRAMES], now->param[WEFT_COALESCE_TX_USECS],
	       now->param[WEFT_COALESCE_TX_FRAMES]);
}

/*
 * The vectors with a nonzero counter; the first one if there is none, so that a line is printed
 * anyway.
 */
static int watch_round(struct weft_context *context, const struct ctl *ctl, uint32_t first,
		       uint32_t end, struct weft_vector *before, double seconds)
{
	struct weft_vector gain[HW_NUM_VECTORS];
	uint64_t any = 0;
	uint32_t i;

	for (i = first; i < end; i++) {
		struct weft_vector v;

		if (query(context, i, &v) != CTL_OK)
			return CTL_FAILED;
		gain[i] = v;
		subtract(&gain[i], &before[i]);
		before[i] = v;
		any += gain[i].completions + gain[i].interrupts;
	}
	for (i = first; i < end; i++) {
		struct weft_coalesce now;

		if (any ? !gain[i].completions && !gain[i].interrupts : i > first)
			continue;
		if (weft_query_coalesce(context, i, NULL, &now))
			return fail("%s: vector %u: cannot read its settings", context->name, i);
		print_gain(context->name, i, &gain[i], &now, seconds, ctl->json);
	}
	return fflush(stdout) ? fail("standard output: %s", strerror(errno)) : CTL_OK;
}

int coalesce_watch(struct weft_context *context, const struct ctl *ctl)
{
	struct weft_vector before[HW_NUM_VECTORS];
	uint32_t first, end;
	double last;
	int rc = coalesce_vectors(context, ctl, &first, &end);

	if (rc == CTL_OK && end > HW_NUM_VECTORS)
		end = HW_NUM_VECTORS;
	for (uint32_t i = first; rc == CTL_OK && i < end; i++)
		rc = query(context, i, &before[i]);
	last = clock_now_s();
	for (uint64_t n = 0; rc == CTL_OK && (!ctl->count || n < ctl->count); n++) {
		double now;

		if (!ctl->json && n % WATCH_LINES == 0)
			printf("%-8s %6s %11s %10s %9s %8s %8s %8s %9s %8s %9s\n", "NIC", "VECTOR",
			       "COMPL/S", "IRQ/S", "IRQ/COMPL", "P50_US", "P99_US", "RX_USECS",
			       "RX_FRAMES", "TX_USECS", "TX_FRAMES");
		fflush(stdout);
		sleep_s(ctl->watch_s);
		now = clock_now_s();
		rc = watch_round(context, ctl, first, end, before, now - last);
		last = now;
	}
	return rc;
}
