/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pictures of searches: box plots of each generation (espgoal figures 6.4, 6.5), both optima side
 * by side (6.6), the finals, the Pareto front, the best so far. Called by pictures.c.
 */
#include "tools/weft-tune/pictures.h"

#include <math.h>
#include <stdlib.h>

enum {
	SHOWN_FINALS = 7,
};

#define REFERENCE_COLOUR "#777777"

/* Of a logarithmic scale that may have less than two decades. */
#define TICS "0.1,0.2,0.5,1,2,5,10,20,50,100,200,500,1000,2000"

/* What a box plot has, for gnuplot: x, box, whiskers, median, least and most. */
static void put_box(FILE *f, double x, const double *values, size_t num)
{
	struct stat_box b;

	stat_box(values, num, &b);
	fprintf(f, "%g\t%g\t%g\t%g\t%g\t%g\t%g\t%g\n", x, b.quarter, b.low, b.high,
		b.three_quarters, b.median, b.least, b.most);
}

/* Plot of a block of put_box()es. */
static void plot_boxes(FILE *gp, const char *file, unsigned int block, const char *colour,
		       bool ends)
{
	fprintf(
	    gp,
	    "plot '%s' index %u using 1:2:3:4:5 with candlesticks whiskerbars 0.4 lw 0.7 lc rgb "
	    "'%s' fs solid 0.35 notitle, \\\n"
	    "\t'' index %u using 1:6:6:6:6 with candlesticks lw 1.6 lc rgb '#111111' notitle",
	    file, block, colour, block);
	if (ends)
		fprintf(gp,
			", \\\n\t'' index %u using 1:($7 < $3 ? $7 : NaN) with points pt 7 ps 0.2 "
			"lc rgb "
			"'#999999' notitle, \\\n"
			"\t'' index %u using 1:($8 > $4 ? $8 : NaN) with points pt 7 ps 0.2 lc rgb "
			"'#999999' notitle",
			block, block);
	putc('\n', gp);
}

/* The genetic search for an objective; -1: for one of those that have no picture of their own. */
static const struct tune_verdict *genetic(const struct tune_analysis *a, int objective)
{
	for (size_t i = 0; i < a->num_verdicts; i++) {
		const struct tune_verdict *v = &a->verdicts[i];

		if (v->method == TUNE_GENETIC && (objective < 0 ? v->objective > TUNE_BANDWIDTH
								: (int)v->objective == objective))
			return v;
	}
	return NULL;
}

/* A block: one quantity over the generations. metric < 0: parameter param. */
static uint32_t generation_block(const struct tune_analysis *a, const struct tune_verdict *v,
				 unsigned int param, int metric, FILE *f)
{
	struct tune_filter filter = {v->method, v->objective, TUNE_SEARCH, 0, -1, 0};
	double *values = malloc((a->num ? a->num : 1) * sizeof(*values));
	size_t num, i = 0;

	if (!values)
		abort();
	for (;; filter.step++) {
		num = 0;
		for (; i < a->num; i++) {
			const struct tune_entry *e = &a->entries[i];

			if (tune_wanted(&filter, e))
				values[num++] =
				    metric < 0 ? e->setting.param[param] : e->result.value[metric];
			else if (num)
				break;
		}
		if (!num)
			break;
		put_box(f, (double)filter.step, values, num);
	}
	free(values);
	return (uint32_t)filter.step;
}

/* A quantity that shrinks to a tenth and less shows its end in a logarithmic scale alone. */
static const char *log_scale(const struct tune_verdict *v, unsigned int metric)
{
	double low = INFINITY, high = v->worst;

	for (size_t i = 0; i < v->num_choices; i++)
		low = fmin(low, v->choices[i].figure[metric].median);
	return low > 0 && high > 10 * low ? "set logscale y\nset ytics (" TICS ")\n"
					  : "unset logscale y\nset ytics autofreq\n";
}

bool picture_generations(const struct tune_analysis *a, struct pic *pic, int objective)
{
	const struct tune_verdict *v = genetic(a, objective);
	unsigned int block = 0, metric;
	uint32_t generations = 0;
	char file[64];

	if (!v)
		return false;
	snprintf(file, sizeof(file), "%s.tsv", pic->name);
	metric = tune_objective_metric(v->objective);
	fprintf(pic->tsv, "# generation, box, whiskers, box, median, least, most\n");
	for (unsigned int p = 0; p < TUNE_P; p++) {
		if (!(a->plan->space.params & (UINT32_C(1) << p)))
			continue;
		fprintf(pic->tsv, "# %s\n", tune_param_word(p));
		generations = generation_block(a, v, p, -1, pic->tsv);
		fprintf(pic->tsv, "\n\n");
		block++;
	}
	fprintf(pic->tsv, "# %s\n", tune_metric_name(metric));
	generation_block(a, v, 0, (int)metric, pic->tsv);
	pic->width = 1150;
	pic->height = 250 * ((block + 3) / 3) + 60;
	fprintf(pic->gp,
		"set key off\nset xrange [-1:%u]\nset boxwidth 0.6\nset xlabel 'generation' offset "
		"0,0.6\nset multiplot layout %u,3 title 'Genetic search for %s'\n",
		generations, (block + 3) / 3, tune_objective_name(v->objective));
	block = 0;
	for (unsigned int p = 0; p < TUNE_P; p++) {
		if (!(a->plan->space.params & (UINT32_C(1) << p)))
			continue;
		fprintf(pic->gp, "set title '%s' offset 0,-0.7\nset yrange [0:%g]\n",
			tune_param_word(p), a->plan->space.highest[p] * 1.04);
		plot_boxes(pic->gp, file, block++, "#0060ad", true);
	}
	fprintf(pic->gp, "set title '%s' offset 0,-0.7\nset yrange [*:*]\n%s", picture_axis(metric),
		log_scale(v, metric));
	plot_boxes(pic->gp, file, block, "#c03020", true);
	fprintf(pic->gp, "unset multiplot\n");
	return true;
}

bool picture_optima(const struct tune_analysis *a, struct pic *pic)
{
	static const unsigned int metrics[2] = {TUNE_lat_us, TUNE_bw_10m};
	struct tune_filter f = {TUNE_GENETIC, TUNE_LATENCY, TUNE_COMPARE, -1, 0, 0};

	if (!a->compared)
		return false;
	pic->width = 820;
	pic->height = 430;
	fprintf(pic->gp, "set key off\nset xrange [0.4:2.6]\nset boxwidth 0.4\n"
			 "set offsets 0,0,graph 0.05,graph 0.05\nset bmargin 4\n"
			 "set xtics (\"optimum\\nfor latency\" 1, \"optimum\\nfor bandwidth\" 2)\n"
			 "set multiplot layout 1,2\n");
	for (unsigned int m = 0; m < 2; m++) {
		fprintf(pic->tsv, "# %s\n", tune_metric_name(metrics[m]));
		for (int i = 0; i < 2; i++) {
			size_t num;
			double *values;

			f.candidate = i;
			values = tune_values(a, &f, metrics[m], &num);
			put_box(pic->tsv, i + 1, values, num);
			free(values);
		}
		fprintf(pic->tsv, "\n\n");
		fprintf(pic->gp, "set ylabel '%s'\nset title '%zu runs each, in turn: %s'\n",
			picture_axis(metrics[m]), a->optima[0].figure[metrics[m]].num,
			a->versus[metrics[m]].distinct ? "they differ" : "indistinguishable");
		plot_boxes(pic->gp, "optima.tsv", m, m ? "#1a8040" : "#0060ad", true);
	}
	fprintf(pic->gp, "unset multiplot\n");
	return true;
}

/* A place of a panel of finals: its tic, and its line of figures. */
static void put_final(struct pic *pic, size_t place, const char *name, const struct tune_figure *f,
		      bool reference)
{
	fprintf(pic->gp, "%s'%s' %zu", place > 1 ? ", " : "", name, place);
	fprintf(pic->tsv, "%zu\t%g\t%g\t%g\t%d\n", place, f->median, f->low, f->high, reference);
}

/* A panel: the finals of one search, the best first, and behind them in grey the references. */
static void finals_panel(const struct tune_verdict *v, unsigned int block, struct pic *pic)
{
	unsigned int metric = tune_objective_metric(v->objective);
	size_t num = v->num_choices < SHOWN_FINALS ? v->num_choices : SHOWN_FINALS;

	fprintf(pic->gp,
		"set title 'Finals of %s, %s%s'\nset ylabel '%s'\nset xrange [0.3:%zu.7]\n"
		"set xtics rotate by 30 right (",
		tune_method_name(v->method), tune_objective_name(v->objective),
		v->num_references ? "; references grey" : "", picture_axis(metric),
		num + v->num_references);
	for (size_t i = 0; i < num; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s%zu", v->choices[i].initial ? "initial, " : "",
			 i + 1);
		put_final(pic, i + 1, name, &v->choices[i].figure[metric], false);
	}
	for (size_t i = 0; i < v->num_references; i++)
		put_final(pic, num + i + 1, tune_reference_name(v->references[i].phase),
			  &v->references[i].figure[metric], true);
	fprintf(pic->tsv, "\n\n");
	fprintf(
	    pic->gp,
	    ")\nplot 'finals.tsv' index %u using 1:($5 > 0 ? NaN : $2):3:4 with yerrorbars pt 7 ps "
	    "0.8 lw 1.5 lc rgb '%s' notitle",
	    block, tune_metric_rises(metric) ? "#1a8040" : "#0060ad");
	if (v->num_references)
		fprintf(
		    pic->gp,
		    ", \\\n\t'' index %u using 1:($5 > 0 ? $2 : NaN):3:4 with yerrorbars pt 5 ps "
		    "0.8 lw 1.5 lc rgb '" REFERENCE_COLOUR "' notitle",
		    block);
	putc('\n', pic->gp);
}

bool picture_finals(const struct tune_analysis *a, struct pic *pic)
{
	unsigned int num = 0, across;

	for (size_t i = 0; i < a->num_verdicts; i++)
		num += a->verdicts[i].verified && a->verdicts[i].objective != TUNE_PARETO;
	if (!num)
		return false;
	across = num < 2 ? 1 : 2;
	pic->width = 430 * across + 20;
	pic->height = 290 * ((num + across - 1) / across) + 20;
	fprintf(pic->tsv, "# place, median, interval of 95 %% for it, 1: a reference\n");
	fprintf(pic->gp,
		"set key off\nset offsets 0,0,graph 0.08,graph 0.08\n"
		"set multiplot layout %u,%u\n",
		(num + across - 1) / across, across);
	num = 0;
	for (size_t i = 0; i < a->num_verdicts; i++)
		if (a->verdicts[i].verified && a->verdicts[i].objective != TUNE_PARETO)
			finals_panel(&a->verdicts[i], num++, pic);
	fprintf(pic->gp, "unset multiplot\n");
	return true;
}

static void put_point(FILE *f, const struct tune_choice *c)
{
	fprintf(f, "%g\t%g\t%g\n", c->figure[TUNE_lat_us].median, c->figure[TUNE_irqs_per_s].median,
		c->figure[TUNE_bw_10m].median);
}

/* A range that holds a point, too. */
static void widen(const struct tune_choice *c, double low[2], double high[2])
{
	for (int m = 0; m < 2; m++) {
		double value = c->figure[m ? TUNE_irqs_per_s : TUNE_lat_us].median;

		low[m] = value > 0 ? fmin(low[m], value) : low[m];
		high[m] = fmax(high[m], value);
	}
}

static void put_reference(FILE *f, const struct tune_choice *c, const char *name)
{
	fprintf(f, "%g\t%g\t%s\n", c->figure[TUNE_lat_us].median, c->figure[TUNE_irqs_per_s].median,
		name);
}

/* A block with the initial setting and the references, each with its name. */
static void put_references(const struct tune_verdict *v, FILE *f, double low[2], double high[2])
{
	const struct tune_choice *initial = NULL;

	for (size_t i = 0; i < v->num_choices; i++)
		if (v->choices[i].initial)
			initial = &v->choices[i];
	for (size_t i = 0; i < v->num_references; i++) {
		const struct tune_choice *c = &v->references[i];
		char name[64];
		bool same = initial && tune_same(&c->setting, &initial->setting);

		snprintf(name, sizeof(name), "%s%s", tune_reference_name(c->phase),
			 same ? " (initial)" : "");
		put_reference(f, c, name);
		widen(c, low, high);
		initial = same ? NULL : initial;
	}
	if (initial) {
		put_reference(f, initial, "initial");
		widen(initial, low, high);
	}
}

bool picture_pareto(const struct tune_analysis *a, struct pic *pic)
{
	const struct tune_verdict *v = NULL;
	struct tune_filter f;
	double low[2] = {INFINITY, INFINITY}, high[2] = {1e-9, 1e-9};
	struct tune_choice *c;
	size_t num;

	for (size_t i = 0; i < a->num_verdicts; i++)
		if (a->verdicts[i].objective == TUNE_PARETO && a->verdicts[i].num_front)
			v = &a->verdicts[i];
	if (!v)
		return false;
	f = (struct tune_filter){v->method, v->objective, TUNE_SEARCH, -1, -1, 0};
	c = tune_choices(a, &f, &num);
	fprintf(
	    pic->tsv,
	    "# latency, interrupts a second, bandwidth: all, the front, the knee, references\n");
	for (size_t i = 0; i < num; i++) {
		put_point(pic->tsv, &c[i]);
		widen(&c[i], low, high);
	}
	fprintf(pic->tsv, "\n\n");
	for (size_t i = 0; i < v->num_front; i++)
		put_point(pic->tsv, &v->front[i]);
	fprintf(pic->tsv, "\n\n");
	put_point(pic->tsv, &v->front[v->knee]);
	fprintf(pic->tsv, "\n\n");
	put_references(v, pic->tsv, low, high);
	free(c);
	pic->width = 860;
	pic->height = 540;
	fprintf(pic->gp, "set xrange [%g:%g]\nset yrange [%g:%g]\n", low[0] * 0.8, high[0] * 1.25,
		low[1] * 0.7, high[1] * 5);
	fprintf(
	    pic->gp,
	    "set logscale xy\nset xtics (" TICS
	    ")\nset xlabel '%s'\nset ylabel '%s'\nset cblabel '%s' offset 1.5\n"
	    "set palette defined (0 '#30308f', 0.5 '#20a090', 1 '#f0c020')\n"
	    "set key top right box lc rgb '#cccccc' opaque\n"
	    "plot 'pareto.tsv' index 0 using 1:2 with points pt 7 ps 0.3 lc rgb '#bbbbbb' title "
	    "'measured', \\\n"
	    "\t'' index 1 using 1:2:3 with points pt 7 ps 1 lc palette title 'none is better in "
	    "all three', \\\n"
	    "\t'' index 2 using 1:2 with points pt 6 ps 2 lw 2 lc rgb '#c03020' title 'the "
	    "knee', \\\n"
	    "\t'' index 3 using 1:2 with points pt 2 ps 1.4 lw 2 lc rgb '#111111' title "
	    "'reference', \\\n"
	    "\t'' index 3 using 1:2:3 with labels left offset 0.8,0.5 font ',11' notitle\n",
	    picture_axis(TUNE_lat_us), picture_axis(TUNE_irqs_per_s), picture_axis(TUNE_bw_10m));
	return true;
}

/* Best full measurement so far, a line for each that bettered it. */
static void put_progress(const struct tune_analysis *a, const struct tune_verdict *v, FILE *f)
{
	const struct tune_filter want = {v->method, v->objective, TUNE_SEARCH, -1, -1, 0};
	unsigned int metric = tune_objective_metric(v->objective);
	double best = NAN;
	size_t num = 0;

	fprintf(f, "# %s, %s\n", tune_method_name(v->method), tune_objective_name(v->objective));
	for (size_t i = 0; i < a->num; i++) {
		const struct tune_entry *e = &a->entries[i];
		double value = e->result.value[metric];

		if (!tune_wanted(&want, e))
			continue;
		num++;
		if (e->effort.effort < 1 || isnan(value) ||
		    (!isnan(best) &&
		     tune_metric_cost(metric, value) >= tune_metric_cost(metric, best)))
			continue;
		best = value;
		fprintf(f, "%zu\t%g\n", num, best);
	}
	fprintf(f, "%zu\t%g\n\n\n", num, best);
}

/* References as lines across a panel: no search has to find them. */
static void progress_references(const struct tune_analysis *a, enum tune_objective objective,
				FILE *gp)
{
	unsigned int metric = tune_objective_metric(objective);

	for (size_t i = 0; i < a->num_verdicts; i++) {
		const struct tune_verdict *v = &a->verdicts[i];

		if (v->objective != objective || !v->num_references)
			continue;
		for (size_t k = 0; k < v->num_references; k++)
			fprintf(gp,
				", \\\n\t%g with lines dt %zu lw 1.5 lc rgb '" REFERENCE_COLOUR
				"' title 'reference: %s'",
				v->references[k].figure[metric].median, k + 2,
				tune_reference_name(v->references[k].phase));
		/* Every search for the objective measured them: one will do. */
		return;
	}
}

static void progress_panel(const struct tune_analysis *a, enum tune_objective objective, FILE *gp)
{
	static const char *const colours[TUNE_METHODS] = {
	    [TUNE_RANDOM] = "#888888",  [TUNE_LINEAR] = "#7030a0",  [TUNE_HILL] = "#d08000",
	    [TUNE_GENETIC] = "#0060ad", [TUNE_HALVING] = "#c03020", [TUNE_GRID] = "#1a8040"};
	unsigned int metric = tune_objective_metric(objective);
	const char *before = "plot", *scale = "";

	for (size_t i = 0; i < a->num_verdicts && !*scale; i++)
		if (a->verdicts[i].objective == objective)
			scale = log_scale(&a->verdicts[i], metric);
	fprintf(gp, "set title 'Best so far: %s'\nset ylabel '%s'\nset key %s right\n%s",
		tune_objective_name(objective), picture_axis(metric),
		tune_metric_rises(metric) ? "bottom" : "top", scale);
	for (size_t i = 0; i < a->num_verdicts; i++) {
		if (a->verdicts[i].objective != objective)
			continue;
		fprintf(
		    gp,
		    "%s 'progress.tsv' index %zu using 1:2 with steps lw 2 lc rgb '%s' title '%s'",
		    before, i, colours[a->verdicts[i].method],
		    tune_method_name(a->verdicts[i].method));
		before = ", \\\n\t";
	}
	progress_references(a, objective, gp);
	putc('\n', gp);
}

bool picture_progress(const struct tune_analysis *a, struct pic *pic)
{
	bool has[TUNE_OBJECTIVES] = {false};
	unsigned int panels = 0;

	for (size_t i = 0; i < a->num_verdicts; i++) {
		put_progress(a, &a->verdicts[i], pic->tsv);
		panels += !has[a->verdicts[i].objective] && a->verdicts[i].objective != TUNE_PARETO;
		has[a->verdicts[i].objective] = a->verdicts[i].objective != TUNE_PARETO;
	}
	if (!panels)
		return false;
	pic->width = 760;
	pic->height = 330 * panels + 20;
	fprintf(pic->gp,
		"set logscale x\nset xlabel 'measurements'\nset autoscale fix\nset offsets "
		"0,0,graph 0.06,graph "
		"0.06\nset multiplot layout %u,1\n",
		panels);
	for (int i = 0; i < TUNE_OBJECTIVES; i++)
		if (has[i])
			progress_panel(a, (enum tune_objective)i, pic->gp);
	fprintf(pic->gp, "unset multiplot\n");
	return true;
}
