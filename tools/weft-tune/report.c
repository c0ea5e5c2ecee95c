/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of a run; see report.h. Its tables of linear models are in report_model.c.
 */
#include "tools/weft-tune/report.h"
#include "tools/weft-tune/apply.h"
#include "tools/weft-tune/pictures.h"
#include "tools/weft-tune/report_model.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const char *const captions[PICTURES] = {
    [PICTURE_SCATTER] = "Each parameter of the random settings against what was measured "
			"(espgoal figure 6.2).",
    [PICTURE_COEFFICIENTS] = "What the linear models say that each parameter changes over its "
			     "whole range.",
    [PICTURE_GENERATIONS_LATENCY] = "Parameters and latency by generation (espgoal figure 6.4). "
				    "Boxes: quartiles; whiskers: 1.5 boxes at most; dots: the "
				    "extremes.",
    [PICTURE_GENERATIONS_BANDWIDTH] = "Parameters and bandwidth by generation (espgoal figure "
				      "6.5).",
    [PICTURE_GENERATIONS_OTHER] = "Parameters and objective by generation.",
    [PICTURE_OPTIMA] = "The genetic optima for latency and for bandwidth, measured in turn "
		       "(espgoal figure 6.6).",
    [PICTURE_FINALS] = "The best of each search and the initial setting and the references, "
		       "measured in turn: median "
		       "and the interval that holds it with 95 %.",
    [PICTURE_PARETO] =
	"Latency against interrupts a second, bandwidth as colour. No setting is "
	"better than one of the front in one of the three without being worse in another (by more "
	"than 2 %).",
    [PICTURE_PROGRESS] = "The best full measurement so far. Halving's short measurements do not "
			 "count, so its line begins late.",
};

static void show_picture(struct doc *doc, uint32_t drawn, enum picture picture)
{
	if (drawn & (UINT32_C(1) << picture))
		doc_picture(doc, picture_name(picture), captions[picture]);
}

/* "20.1 us", "-" for nothing. */
static const char *value_text(unsigned int metric, double value, char text[64])
{
	if (isnan(value))
		snprintf(text, 64, "-");
	else
		snprintf(text, 64, "%.4g%s%s", value, *tune_metric_unit(metric) ? " " : "",
			 tune_metric_unit(metric));
	return text;
}

static const struct tune_choice *initial_choice(const struct tune_verdict *v)
{
	for (size_t i = 0; i < v->num_choices; i++)
		if (v->choices[i].initial)
			return &v->choices[i];
	return NULL;
}

/* What the search came upon itself. */
static const struct tune_choice *own_best(const struct tune_verdict *v)
{
	if (v->objective == TUNE_PARETO)
		return tune_verdict_best(v);
	return v->num_choices ? &v->choices[v->own] : NULL;
}

/* How the best one compares with what was set before, in words. */
static void versus_text(const struct tune_verdict *v, char *text, size_t chars)
{
	const struct tune_choice *best = tune_verdict_best(v);
	unsigned int metric = tune_objective_metric(v->objective);
	double share = 100 * v->versus_initial.share;

	if (best && best->initial)
		snprintf(text, chars, "it is the initial setting");
	else if (isnan(v->versus_initial.differ.p))
		snprintf(text, chars, "the initial setting was not measured beside it");
	else if (!v->versus_initial.distinct && fabs(v->versus_initial.differ.share - 0.5) == 0.5)
		snprintf(text, chars,
			 "%.1f %% %s than the initial setting, every time, but that was too few "
			 "for a significance of 0.001 (p = %.2g, Mann-Whitney)",
			 fabs(share), (share > 0) == tune_metric_rises(metric) ? "better" : "worse",
			 v->versus_initial.differ.p);
	else if (!v->versus_initial.distinct)
		snprintf(text, chars,
			 "indistinguishable from the initial setting (p = %.2g, Mann-Whitney)",
			 v->versus_initial.differ.p);
	else
		snprintf(text, chars, "%.1f %% %s than the initial setting (p = %.2g)", fabs(share),
			 (share > 0) == tune_metric_rises(metric) ? "better" : "worse",
			 v->versus_initial.differ.p);
}

static void date_text(double unix_s, char text[32])
{
	time_t t = (time_t)unix_s;
	struct tm tm;

	strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&t, &tm));
}

static void about(struct doc *doc, const struct tune_analysis *a, bool complete)
{
	const struct tune_plan *plan = a->plan;
	char first[32] = "", last[32] = "", setting[TUNE_SETTING_CHARS];
	double took_s = 0;

	for (size_t i = 0; i < a->num; i++)
		took_s += a->entries[i].took_s;
	doc_para(doc, "%s", plan->what);
	if (!complete)
		doc_para(doc, "**The run is not finished: this is what there is so far.** "
			      "`weft-tune --resume DIR` goes on with it.");
	if (a->num) {
		date_text(a->entries[0].when_s, first);
		date_text(a->entries[a->num - 1].when_s, last);
		doc_para(doc,
			 "%zu measurements from %s to %s, %.4g s of measuring; weft-tune %s. The "
			 "initial setting: `%s`.",
			 a->num, first, last, took_s, WEFT_VERSION,
			 tune_setting_text(&plan->space.base, HW_COALESCE_SET_PARAMS, setting));
	}
	doc_para(doc,
		 "The same again%s:", strcmp(plan->target, "sim") ? "" : ", with the same figures");
	doc_code(doc, plan->command);
}

enum {
	MAX_REFERENCES = TUNE_REFERENCES + 1, /* and the initial setting */
};

/* The rows to compare with, by name, as the search measured them in its end; their number. */
static size_t references(const struct tune_verdict *v,
			 const struct tune_choice *choices[MAX_REFERENCES],
			 const char *names[MAX_REFERENCES])
{
	const struct tune_choice *initial = initial_choice(v);
	size_t num = 0;

	if (initial) {
		choices[num] = initial;
		names[num++] = "initial";
	}
	for (size_t i = 0; i < v->num_references; i++) {
		choices[num] = &v->references[i];
		names[num++] = tune_reference_name(v->references[i].phase);
	}
	return num;
}

/* All metrics of the best one beside those of the references. */
static void best_table(struct doc *doc, const struct tune_choice *best,
		       const struct tune_verdict *v)
{
	const char *titles[4 + MAX_REFERENCES] = {"measured", "best: median", "interval of 95 %",
						  "spread (MAD)"};
	char cells[4 + MAX_REFERENCES][DOC_CELL_CHARS], texts[MAX_REFERENCES][64];
	const struct tune_choice *refs[MAX_REFERENCES];
	const char *names[MAX_REFERENCES];
	unsigned int num = (unsigned int)references(v, refs, names);

	for (unsigned int i = 0; i < num; i++) {
		snprintf(texts[i], sizeof(texts[i]), "reference: %s", names[i]);
		titles[4 + i] = texts[i];
	}
	doc_table(doc, 4 + num, titles);
	for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++) {
		const struct tune_figure *f = &best->figure[m];
		char text[64];

		if (!f->num)
			continue;
		DOC_CELL(cells, 0, "%s", picture_axis(m));
		DOC_CELL(cells, 1, "%.5g", f->median);
		DOC_CELL(cells, 2, "%.5g to %.5g%s", f->low, f->high, f->num < 6 ? " (all)" : "");
		DOC_CELL(cells, 3, "%.2g", f->mad);
		for (unsigned int i = 0; i < num; i++)
			DOC_CELL(cells, 4 + i, "%s",
				 value_text(m, refs[i]->figure[m].median, text));
		doc_row(doc, 4 + num, cells);
	}
	doc_table_end(doc);
}

static void best_of(struct doc *doc, const struct tune_analysis *a, enum tune_objective objective)
{
	const struct tune_verdict *v = NULL;
	const struct tune_choice *best = tune_best(a, objective, &v);
	char title[64], versus[240], text[TUNE_TEXT_CHARS];

	if (!best)
		return;
	snprintf(title, sizeof(title), "Best for %s", tune_objective_name(objective));
	doc_heading(doc, 2, title);
	versus_text(v, versus, sizeof(versus));
	if (objective == TUNE_PARETO)
		doc_para(doc, "The knee of the front (by %s), nearest to the best of everything:",
			 tune_method_name(v->method));
	else
		doc_para(doc, "By %s, %s%s%s:", tune_method_name(v->method), versus,
			 v->alike > 1
			     ? "; of settings that cannot be told apart it is the one that changes "
			       "the fewest parameters"
			     : "",
			 v->verified ? "" : "; measured in the search alone, so luck is in it");
	tune_by_hand(a->plan->target, a->plan->name, &best->setting, a->plan->space.params, text,
		     sizeof(text));
	doc_code(doc, text);
	best_table(doc, best, v);
}

static void searches(struct doc *doc, const struct tune_analysis *a)
{
	char cells[6][DOC_CELL_CHARS], text[64];

	doc_heading(doc, 2, "Searches");
	doc_table(doc, 6,
		  (const char *const[]){"method", "objective", "measurements", "as full ones",
					"in the end", "best: median"});
	for (size_t i = 0; i < a->num_verdicts; i++) {
		const struct tune_verdict *v = &a->verdicts[i];
		unsigned int metric = tune_objective_metric(v->objective);
		const struct tune_choice *best = own_best(v);

		DOC_CELL(cells, 0, "%s", tune_method_name(v->method));
		DOC_CELL(cells, 1, "%s", tune_objective_name(v->objective));
		DOC_CELL(cells, 2, "%zu", v->searched);
		DOC_CELL(cells, 3, "%.4g", v->effort);
		DOC_CELL(cells, 4, "%zu", v->finals);
		DOC_CELL(cells, 5, "%s",
			 value_text(metric, best ? best->figure[metric].median : NAN, text));
		doc_row(doc, 6, cells);
	}
	doc_table_end(doc);
	for (size_t i = 0; i < a->num_verdicts; i++) {
		const struct tune_verdict *v = &a->verdicts[i];

		if (v->method == TUNE_HILL)
			doc_para(doc,
				 "Hill climbing for %s: %zu climbs, %zu places; at **%zu of them "
				 "no neighbour differs by more than the noise**%s",
				 tune_objective_name(v->objective), v->climbs, v->places, v->flat,
				 v->flat * 4 > v->places
				     ? ": the space is flat there, as the paper saw, and a climb "
				       "has nowhere to go."
				     : ".");
	}
}

/* Halving beside the genetic algorithm, for each objective that has both. */
static void halving(struct doc *doc, const struct tune_analysis *a)
{
	for (size_t i = 0; i < a->num_verdicts; i++)
		for (size_t j = 0; j < a->num_verdicts; j++) {
			const struct tune_verdict *h = &a->verdicts[i], *g = &a->verdicts[j];
			unsigned int metric = tune_objective_metric(h->objective);
			const struct tune_choice *x = own_best(h), *y = own_best(g);
			char mine[64], theirs[64];

			if (h->method != TUNE_HALVING || g->method != TUNE_GENETIC ||
			    h->objective != g->objective || !x || !y)
				continue;
			doc_para(
			    doc,
			    "For %s halving came to %s with %zu measurements (%.4g full ones), "
			    "the genetic algorithm to %s with %zu: %+.2f %%.",
			    tune_objective_name(h->objective),
			    value_text(metric, x->figure[metric].median, mine),
			    h->searched + h->finals, h->effort + (double)h->finals,
			    value_text(metric, y->figure[metric].median, theirs),
			    g->searched + g->finals,
			    100 * (x->figure[metric].median / y->figure[metric].median - 1));
		}
}

static void side_by_side(struct doc *doc, const struct tune_analysis *a)
{
	char cells[4][DOC_CELL_CHARS], text[TUNE_SETTING_CHARS], median[32];

	if (!a->compared)
		return;
	doc_heading(doc, 2, "Both optima side by side");
	for (int i = 0; i < 2; i++)
		doc_para(doc, "Optimum for %s: `%s`.", i ? "bandwidth" : "latency",
			 tune_setting_text(&a->optima[i].setting, a->plan->space.params, text));
	snprintf(median, sizeof(median), "median of %zu", a->optima[0].figure[TUNE_lat_us].num);
	doc_table(doc, 4,
		  (const char *const[]){median, "optimum for latency", "optimum for bandwidth",
					"difference (Mann-Whitney)"});
	for (unsigned int m = 0; m < TUNE_NUM_METRICS; m++) {
		const struct tune_versus *v = &a->versus[m];
		char value[64];

		if (isnan(v->differ.p))
			continue;
		DOC_CELL(cells, 0, "%s", picture_axis(m));
		for (int i = 0; i < 2; i++)
			DOC_CELL(cells, 1 + i, "%s",
				 value_text(m, a->optima[i].figure[m].median, value));
		if (v->distinct)
			DOC_CELL(cells, 3, "%+.2f %%, p = %.2g", 100 * v->share, v->differ.p);
		else
			DOC_CELL(cells, 3, "indistinguishable, p = %.2g", v->differ.p);
		doc_row(doc, 4, cells);
	}
	doc_table_end(doc);
}

static void front(struct doc *doc, const struct tune_analysis *a)
{
	for (size_t i = 0; i < a->num_verdicts; i++) {
		const struct tune_verdict *v = &a->verdicts[i];
		char cells[4][DOC_CELL_CHARS], text[64];

		if (v->objective != TUNE_PARETO || !v->num_front)
			continue;
		doc_heading(doc, 2, "Pareto front");
		doc_table(doc, 4,
			  (const char *const[]){"setting", "latency, us", "interrupts a second",
						"bandwidth of 10 MB, MB/s"});
		for (size_t k = 0; k < v->num_front; k++) {
			const struct tune_choice *c = &v->front[k];
			size_t at = 0;

			/* By number in the order of the parameters: words would fill the page. */
			for (unsigned int p = 0; p < TUNE_P; p++)
				if (a->plan->space.params & (UINT32_C(1) << p))
					at += (size_t)snprintf(
					    text + at, at < sizeof(text) ? sizeof(text) - at : 0,
					    "%s%u", at ? " " : "", c->setting.param[p]);
			DOC_CELL(cells, 0, "`%s`%s", text, k == v->knee ? " **knee**" : "");
			DOC_CELL(cells, 1, "%.4g", c->figure[TUNE_lat_us].median);
			DOC_CELL(cells, 2, "%.4g", c->figure[TUNE_irqs_per_s].median);
			DOC_CELL(cells, 3, "%.4g", c->figure[TUNE_bw_10m].median);
			doc_row(doc, 4, cells);
		}
		doc_table_end(doc);
		doc_para(doc,
			 "The numbers of a setting: `rx-usecs rx-frames tx-usecs tx-frames` and "
			 "these with `-irq`, those that were searched.");
	}
}

static void title_text(const struct tune_plan *plan, char title[160])
{
	if (plan->paper)
		snprintf(title, 160, "Interrupt moderation: the study of espgoal 6.2 (%s)",
			 plan->target);
	else
		snprintf(title, 160, "Interrupt moderation for %s (%s%s%.60s)",
			 tune_objective_name(plan->objective), plan->target, *plan->name ? " " : "",
			 plan->name);
}

int report_write(const struct tune_analysis *a, bool complete, const char *dir,
		 char note[TUNE_ERROR_CHARS], char *error)
{
	char title[160];
	struct doc doc;
	uint32_t drawn;
	int rc = pictures_draw(a, dir, &drawn, note, error);

	title_text(a->plan, title);
	if (!rc)
		rc = doc_open(&doc, dir, "report", title, error);
	if (rc)
		return rc;
	about(&doc, a, complete);
	for (int i = 0; i < TUNE_OBJECTIVES; i++)
		best_of(&doc, a, (enum tune_objective)i);
	show_picture(&doc, drawn, PICTURE_FINALS);
	searches(&doc, a);
	halving(&doc, a);
	show_picture(&doc, drawn, PICTURE_PROGRESS);
	report_models(&doc, a);
	show_picture(&doc, drawn, PICTURE_SCATTER);
	show_picture(&doc, drawn, PICTURE_COEFFICIENTS);
	side_by_side(&doc, a);
	show_picture(&doc, drawn, PICTURE_OPTIMA);
	front(&doc, a);
	show_picture(&doc, drawn, PICTURE_PARETO);
	for (int i = PICTURE_GENERATIONS_LATENCY; i <= PICTURE_GENERATIONS_OTHER; i++)
		show_picture(&doc, drawn, (enum picture)i);
	doc_heading(&doc, 2, "To apply it");
	doc_code(&doc,
		 "weft-tune apply DIR --device NIC      # or --netdev IFACE; --objective where "
		 "there are several");
	doc_para(&doc, "DIR is the folder of this report. Every measurement is in "
		       "`measurements.csv`, `measurements.json`; results in `result.json`.");
	return doc_close(&doc, error);
}

/* A line with the rows that a result is to be compared with. */
static void summary_references(const struct tune_verdict *v, FILE *out)
{
	unsigned int metric = tune_objective_metric(v->objective);
	const struct tune_choice *refs[MAX_REFERENCES];
	const char *names[MAX_REFERENCES];
	size_t num = references(v, refs, names);
	char value[64];

	for (size_t i = 0; i < num; i++)
		fprintf(out, "%s%s %s", i ? ", " : "           references: ", names[i],
			value_text(metric, refs[i]->figure[metric].median, value));
	if (num)
		putc('\n', out);
}

void report_summary(const struct tune_analysis *a, const char *dir, FILE *out)
{
	char text[TUNE_SETTING_CHARS], versus[240], value[64];

	for (int i = 0; i < TUNE_OBJECTIVES; i++) {
		const struct tune_verdict *v;
		const struct tune_choice *best = tune_best(a, (enum tune_objective)i, &v);
		unsigned int metric = tune_objective_metric((unsigned int)i);

		if (!best)
			continue;
		versus_text(v, versus, sizeof(versus));
		fprintf(out, "%-10s %s\n", tune_objective_name((unsigned int)i),
			tune_setting_text(&best->setting, a->plan->space.params, text));
		if (i == TUNE_PARETO)
			fprintf(out,
				"           the knee of %zu settings that none is better than: "
				"%.4g us, %.4g interrupts/s, %.4g MB/s\n",
				v->num_front, best->figure[TUNE_lat_us].median,
				best->figure[TUNE_irqs_per_s].median,
				best->figure[TUNE_bw_10m].median);
		else
			fprintf(out, "           %s by %s with %zu measurements; %s\n",
				value_text(metric, best->figure[metric].median, value),
				tune_method_name(v->method), v->searched + v->finals, versus);
		summary_references(v, out);
	}
	fprintf(out, "report     %s/report.html, report.md\n", dir);
}
