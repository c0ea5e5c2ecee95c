/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures and their output; see report.h.
 */
#include "tools/weft-bench/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/stats.h"
#include "tools/weft-bench/oob.h"

int samples_add(struct samples *s, uint64_t ns)
{
	if (s->count == s->space) {
		size_t space = s->space ? 2 * s->space : 65536;
		uint32_t *p = realloc(s->ns, space * sizeof(*p));

		if (!p)
			return fail("out of memory for %zu round trips: lower --iters", space);
		s->ns = p;
		s->space = space;
	}
	s->ns[s->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
	return 0;
}

void samples_free(struct samples *s)
{
	free(s->ns);
	*s = (struct samples){0};
}

void rounds_free(struct rounds *r)
{
	samples_free(&r->rtt);
	samples_free(&r->nic);
	samples_free(&r->wake);
}

int samples_save(const struct samples *s, const char *path)
{
	FILE *f = fopen(path, "w");
	bool ok = f;
	size_t i;

	for (i = 0; ok && i < s->count; i++)
		ok = fprintf(f, "%u\n", s->ns[i]) > 0;
	if (f && fclose(f))
		ok = false;
	return ok ? 0 : fail("%s: %s", path, strerror(errno));
}

/* Microseconds. */
struct lat {
	double min, max, typical, avg, stdev, p99, p99_9;
};

/* The sample that a share q of all does not exceed, chosen as perftest does. */
static double quantile(const struct samples *s, double q, double scale)
{
	size_t at = (size_t)ceil((double)s->count * q);

	if (at >= s->count)
		at = s->count - 1;
	return s->ns[at] * scale;
}

/* parts: 1 whole round trips, 2 halves. */
static struct lat summarise(struct samples *s, int parts)
{
	double scale = 1e-3 / parts, sum = 0, square = 0, d;
	struct lat l = {0};
	size_t i;

	if (!s->count)
		return l;
	stats_sort_u32(s->ns, s->count);
	for (i = 0; i < s->count; i++)
		sum += s->ns[i] * scale;
	l.avg = sum / (double)s->count;
	for (i = 0; i < s->count; i++) {
		d = s->ns[i] * scale - l.avg;
		square += d * d;
	}
	l.min = s->ns[0] * scale;
	l.max = s->ns[s->count - 1] * scale;
	l.typical = s->ns[s->count / 2] * scale;
	l.stdev = sqrt(square / (double)s->count);
	l.p99 = quantile(s, 0.99, scale);
	l.p99_9 = quantile(s, 0.999, scale);
	return l;
}

static json_t *lat_json(const struct lat *l)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "min", l->min, "max", l->max,
			 "typical", l->typical, "avg", l->avg, "stdev", l->stdev, "p99", l->p99,
			 "p99_9", l->p99_9);
}

json_t *report_base(const struct opts *o, const char *device)
{
	struct rusage use;
	double cpu_s;

	getrusage(RUSAGE_SELF, &use);
	cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		(double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	return json_pack("{s:s, s:b, s:s, s:s, s:s, s:I, s:I, s:b, s:f}", "mode",
			 bench_mode_str(o->mode), "loop", o->loop, "qp", bench_qp_str(o), "op",
			 bench_op_str(o->op), "device", device, "size", (json_int_t)o->size,
			 "window", (json_int_t)o->window, "event", o->event, "cpu_s", cpu_s);
}

void report_json(json_t *object)
{
	char *text = json_dumps(object, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));

	if (text)
		puts(text);
	free(text);
	json_decref(object);
	fflush(stdout);
}

void report_more(const struct opts *o, const char *device, json_t *more)
{
	json_t *object = report_base(o, device);

	json_object_update_new(object, more);
	report_json(object);
}

static void print_head(const struct opts *o, const char *device)
{
	const char *kind = "";

	if (o->op == BENCH_WRITE)
		kind = o->qp == WEFT_QPT_UD ? " (Write-Record)" : " (with immediate)";
	printf("%s%s %s%s over %s on %s, %s, window %u\n", o->loop ? "loop " : "",
	       bench_mode_str(o->mode), bench_op_str(o->op), kind, bench_qp_str(o), device,
	       o->event ? "blocking" : "polling", o->mode == BENCH_LAT ? 1 : o->window);
}

static json_t *rounds_json(const struct rounds *r, const struct lat *rtt, const struct lat *l,
			   const struct lat *nic)
{
	json_t *j = json_object();

	json_object_set_new(j, "iters", json_integer((json_int_t)r->rtt.count));
	json_object_set_new(j, "rtt_us", lat_json(rtt));
	json_object_set_new(j, "latency_us", lat_json(l));
	if (r->nic.count)
		json_object_set_new(j, "nic_us", lat_json(nic));
	json_object_set_new(j, "resent", json_integer((json_int_t)r->resent));
	json_object_set_new(j, "errors", json_integer((json_int_t)r->errors));
	return j;
}

void report_lat(const struct opts *o, const char *device, struct rounds *r)
{
	bool whole = o->op >= BENCH_READ;
	struct lat rtt = summarise(&r->rtt, 1), l = summarise(&r->rtt, whole ? 1 : 2);
	struct lat nic = summarise(&r->nic, 1);

	if (o->json) {
		report_more(o, device, rounds_json(r, &rtt, &l, &nic));
		return;
	}
	print_head(o, device);
	printf(" #bytes #iterations  t_min[us]  t_max[us]  t_typical[us]  t_avg[us]  t_stdev[us]"
	       "  99%%[us]  99.9%%[us]\n");
	printf(" %-6u %-11zu  %-9.2f  %-9.2f  %-13.2f  %-9.2f  %-11.2f  %-7.2f  %.2f\n", o->size,
	       r->rtt.count, l.min, l.max, l.typical, l.avg, l.stdev, l.p99, l.p99_9);
	printf(" %s; all bytes checked: %llu wrong messages",
	       whole ? "whole round trips" : "half of the round trip",
	       (unsigned long long)r->errors);
	if (o->qp == WEFT_QPT_UD)
		printf(", %llu sent again", (unsigned long long)r->resent);
	printf("\n");
	if (r->nic.count)
		printf(" from doorbell to the receiver's completion, by the NIC's clock: typical "
		       "%.2f us, "
		       "99%% %.2f, 99.9%% %.2f, greatest %.2f\n",
		       nic.typical, nic.p99, nic.p99_9, nic.max);
}

json_t *flow_json(const struct flow *f)
{
	return json_pack("{s:I, s:I, s:f, s:I, s:I, s:I}", "messages", (json_int_t)f->messages,
			 "bytes", (json_int_t)f->bytes, "seconds", f->seconds, "received",
			 (json_int_t)f->received, "lost", (json_int_t)f->lost, "errors",
			 (json_int_t)f->errors);
}

int flow_parse(const json_t *msg, struct flow *f)
{
	f->seconds = json_number_value(json_object_get(msg, "seconds"));
	return oob_number(msg, "messages", INT64_MAX, &f->messages) ||
		       oob_number(msg, "bytes", INT64_MAX, &f->bytes) ||
		       oob_number(msg, "received", INT64_MAX, &f->received) ||
		       oob_number(msg, "lost", INT64_MAX, &f->lost) ||
		       oob_number(msg, "errors", INT64_MAX, &f->errors)
		   ? -1
		   : 0;
}

void report_flow(const struct opts *o, const char *device, const struct flow *f)
{
	double gbps = 0, mmps = 0;
	json_t *j;

	if (f->seconds > 0) {
		gbps = (double)f->bytes * 8e-9 / f->seconds;
		mmps = (double)f->messages * 1e-6 / f->seconds;
	}
	if (o->json) {
		j = flow_json(f);
		json_object_set_new(j, "gbps", json_real(gbps));
		json_object_set_new(j, "mmps", json_real(mmps));
		report_more(o, device, j);
		return;
	}
	print_head(o, device);
	printf(" #bytes #messages   time[s]  BW[Gb/s]  MsgRate[M/s]  lost       wrong\n");
	printf(" %-6u %-11llu %-8.3f %-9.3f %-13.4f %-10llu %llu\n", o->size,
	       (unsigned long long)f->messages, f->seconds, gbps, mmps, (unsigned long long)f->lost,
	       (unsigned long long)f->errors);
	if (o->op == BENCH_PUT)
		printf(" measured from the first messages after warm-up on; the last %u were "
		       "checked\n",
		       o->window);
	else
		printf(
		    " measured from the first messages after warm-up on; all %llu were checked\n",
		    (unsigned long long)f->received);
}
