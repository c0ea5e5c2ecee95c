/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress line; see progress.h.
 */
#include "tools/weft-tune/progress.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
	BAR_CHARS = 24,
	COLUMNS = 79, /* where the terminal does not say */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void tune_progress_init(struct tune_progress *progress, FILE *out, uint64_t expected,
			uint64_t first)
{
	struct winsize size = {0};

	*progress = (struct tune_progress){
	    .out = out, .expected = expected, .first = first, .columns = COLUMNS, .best = NAN};
	progress->begin_s = now_s();
	if (out && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col > 20)
		progress->columns = size.ws_col - 1;
}

static void time_text(double s, char *text, size_t chars)
{
	unsigned long whole = (unsigned long)(s + 0.5);

	if (whole >= 3600)
		snprintf(text, chars, "%lu h %02lu min", whole / 3600, whole / 60 % 60);
	else
		snprintf(text, chars, "%lu:%02lu", whole / 60, whole % 60);
}

void tune_progress_text(const struct tune_progress *p, uint64_t num, double elapsed_s, char *text,
			size_t chars)
{
	uint64_t all = num > p->expected ? num : p->expected;
	unsigned int metric = tune_objective_metric(p->objective);
	char bar[BAR_CHARS + 1], left[32] = "-", best[48] = "";
	size_t full = all ? (size_t)(num * BAR_CHARS / all) : 0;

	memset(bar, '.', BAR_CHARS);
	memset(bar, '#', full);
	bar[BAR_CHARS] = '\0';
	if (num > p->first)
		time_text(elapsed_s * (double)(all - num) / (double)(num - p->first), left,
			  sizeof(left));
	if (!isnan(p->best))
		snprintf(best, sizeof(best), ", best %.4g %s", p->best, tune_metric_unit(metric));
	snprintf(text, chars, "[%s] %llu/%llu, %s left: %s %s %s%s", bar, (unsigned long long)num,
		 (unsigned long long)all, left, tune_method_name(p->method),
		 tune_objective_name(p->objective), tune_phase_name(p->phase), best);
}

void tune_progress_step(struct tune_progress *p, uint64_t num, const struct tune_entry *entry)
{
	unsigned int metric = tune_objective_metric(entry->objective);
	double value = entry->result.value[metric], now;
	char text[256];

	if (p->method != entry->method || p->objective != entry->objective)
		p->best = NAN;
	p->method = entry->method;
	p->objective = entry->objective;
	p->phase = entry->phase;
	if (!isnan(value) &&
	    (isnan(p->best) || tune_metric_cost(metric, value) < tune_metric_cost(metric, p->best)))
		p->best = value;
	now = now_s();
	if (!p->out || now < p->shown_s + 0.1)
		return;
	p->shown_s = now;
	tune_progress_text(p, num, now - p->begin_s, text, sizeof(text));
	if (strlen(text) > p->columns)
		text[p->columns] = '\0';
	fprintf(p->out, "\r%s%*s", text,
		(int)(p->chars > strlen(text) ? p->chars - strlen(text) : 0), "");
	fflush(p->out);
	p->chars = (unsigned int)strlen(text);
}

void tune_progress_end(struct tune_progress *p)
{
	if (p->out && p->chars) {
		fprintf(p->out, "\r%*s\r", (int)p->chars, "");
		fflush(p->out);
	}
	p->chars = 0;
}
