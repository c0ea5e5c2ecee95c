/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pictures of the random settings: each parameter against latency and bandwidth (espgoal figure
 * 6.2), and the linear models' coefficients. Called by pictures.c.
 */
#include "tools/weft-tune/pictures.h"

#include <math.h>
#include <stdlib.h>

enum {
	ACROSS = 4, /* panels beside each other */
};

static const struct tune_model *model_of(const struct tune_analysis *a, unsigned int metric)
{
	for (size_t i = 0; i < a->num_models; i++)
		if (a->models[i].metric == metric)
			return &a->models[i];
	return NULL;
}

/* The metrics of a sample's panels: latency and the longest bulk that was measured. */
static size_t panel_metrics(const struct tune_analysis *a, const struct tune_verdict *v,
			    unsigned int metrics[2])
{
	static const unsigned int wanted[] = {TUNE_lat_us, TUNE_bw_10m, TUNE_bw_1m};
	size_t num = 0;

	for (size_t w = 0; w < 3 && num < 2; w++)
		for (size_t i = 0; i < a->num; i++)
			if (a->entries[i].method == v->method &&
			    a->entries[i].phase == TUNE_SEARCH &&
			    !isnan(a->entries[i].result.value[wanted[w]])) {
				metrics[num++] = wanted[w];
				break;
			}
	/* Another objective's search has its own metric alone. */
	if (!num)
		metrics[num++] = tune_objective_metric(v->objective);
	return num;
}

static void sample_data(FILE *f, const struct tune_choice *c, size_t num,
			const unsigned int *metrics, size_t num_metrics)
{
	for (unsigned int p = 0; p < TUNE_P; p++)
		fprintf(f, "%s%s", p ? "\t" : "", tune_param_word(p));
	for (size_t m = 0; m < num_metrics; m++)
		fprintf(f, "\t%s", tune_metric_name(metrics[m]));
	putc('\n', f);
	for (size_t i = 0; i < num; i++) {
		for (unsigned int p = 0; p < TUNE_P; p++)
			fprintf(f, "%s%u", p ? "\t" : "", c[i].setting.param[p]);
		for (size_t m = 0; m < num_metrics; m++)
			fprintf(f, "\t%g", c[i].figure[metrics[m]].median);
		putc('\n', f);
	}
}

/* The model's line over one parameter, the others at their means; NAN: not significant. */
static void model_line(const struct tune_model *model, const struct tune_choice *c, size_t num,
		       unsigned int param, double *base, double *slope)
{
	*base = *slope = NAN;
	for (size_t i = 0; model && i < model->fit.columns; i++) {
		double mean_x = 0, mean_y = 0;

		if (model->param[i] != param || !(model->fit.p[i + 1] < TUNE_ALPHA))
			continue;
		for (size_t k = 0; k < num; k++) {
			mean_x += c[k].setting.param[param] / (double)num;
			mean_y += c[k].figure[model->metric].median / (double)num;
		}
		*slope = model->fit.b[i + 1];
		*base = mean_y - *slope * mean_x;
	}
}

static void panel(const struct tune_analysis *a, FILE *gp, unsigned int param, unsigned int metric,
		  int column, const struct tune_choice *c, size_t num)
{
	double base, slope;

	model_line(model_of(a, metric), c, num, param, &base, &slope);
	fprintf(gp, "set xlabel '%s' offset 0,0.6\nset xrange [0:%u]\nset xtics %u\n",
		tune_param_word(param), a->plan->space.highest[param],
		a->plan->space.highest[param] > 600 ? 250u : 50u);
	fprintf(gp, "plot 'scatter.tsv' using %u:%d with points pt 7 ps 0.35 lc rgb '%s' notitle",
		param + 1, column, metric == TUNE_lat_us ? "#0060ad" : "#1a8040");
	if (!isnan(slope))
		fprintf(gp, ", \\\n\t%g + %g * x with lines lw 1.5 lc rgb '#c03020' notitle", base,
			slope);
	putc('\n', gp);
}

/* Whole steps that give some five tics. */
static double tic_step(double width)
{
	double step = pow(10, floor(log10(width / 4)));

	return width / step > 20 ? step * 5 : width / step > 8 ? step * 2 : step;
}

bool picture_scatter(const struct tune_analysis *a, struct pic *pic)
{
	const struct tune_verdict *v = picture_sample(a);
	unsigned int metrics[2], params = (unsigned int)__builtin_popcount(a->plan->space.params);
	unsigned int across = params < ACROSS ? params : ACROSS;
	struct tune_filter f;
	struct tune_choice *c;
	size_t num_metrics, num, rows;

	if (!v)
		return false;
	f = (struct tune_filter){v->method, v->objective, TUNE_SEARCH, 0, -1, 1};
	c = tune_choices(a, &f, &num);
	num_metrics = panel_metrics(a, v, metrics);
	rows = num_metrics * ((params + across - 1) / across);
	sample_data(pic->tsv, c, num, metrics, num_metrics);
	pic->width = 300 * across + 80;
	pic->height = 230 * (unsigned int)rows + 85;
	fprintf(pic->gp,
		"set key autotitle columnhead\nset key off\n"
		"set multiplot layout %zu,%u margins %g,0.985,%g,%g spacing 0.05,%g title "
		"'%zu random settings; red: the linear model where significant (0.001)'\n",
		rows, across, across < 3 ? 0.13 : 0.06, 60.0 / pic->height, 1 - 40.0 / pic->height,
		55.0 / pic->height, num);
	for (size_t m = 0; m < num_metrics; m++) {
		double low = INFINITY, high = -INFINITY;
		unsigned int column = 0;
		char range[64];

		for (size_t i = 0; i < num; i++) {
			low = fmin(low, c[i].figure[metrics[m]].median);
			high = fmax(high, c[i].figure[metrics[m]].median);
		}
		picture_range(low, high, range);
		fprintf(pic->gp, "set yrange %s\nset ytics %g\n", range,
			tic_step(high > low ? high - low : fabs(high) + 1));
		for (unsigned int p = 0; p < TUNE_P; p++) {
			if (!(a->plan->space.params & (UINT32_C(1) << p)))
				continue;
			fprintf(pic->gp, "set ylabel '%s' offset 0.4\nset format y '%%g'\n",
				column % across ? "" : picture_axis(metrics[m]));
			panel(a, pic->gp, p, metrics[m], (int)(TUNE_P + 1 + m), c, num);
			column++;
		}
		/* The last row of a metric may be short. */
		for (; column % across; column++)
			fprintf(pic->gp, "set multiplot next\n");
	}
	fprintf(pic->gp, "unset multiplot\n");
	free(c);
	return num > 0;
}

/* Change of the metric over a parameter's whole range, with 99.9 %, and the paper's. */
static void effects(const struct tune_analysis *a, const struct tune_model *model,
		    const double *paper, FILE *f)
{
	for (size_t i = 1; i <= model->fit.columns; i++) {
		unsigned int p = model->param[i - 1];
		double range = a->plan->space.highest[p];

		if (isnan(model->fit.b[i]))
			continue;
		/* 3.29: what 99.9 % of a normal variable lies within; degrees of freedom abound. */
		fprintf(f, "%zu\t%s\t%g\t%g\t%d\t%g\n", i, tune_param_word(p),
			model->fit.b[i] * range, 3.29 * model->fit.error[i] * range,
			model->fit.p[i] < TUNE_ALPHA, paper ? paper[p + 1] * range : NAN);
	}
}

static void effect_panel(const struct tune_model *model, const double *paper, unsigned int block,
			 FILE *gp)
{
	fprintf(
	    gp,
	    "set title '%s: adjusted R^2 %.3f'\n"
	    "set ylabel 'change over the whole range, %s'\n"
	    "plot 'coefficients.tsv' index %u using 1:($5 > 0 ? $3 : NaN):xtic(2) with boxes ls 1 "
	    "title 'significant at 0.001', \\\n"
	    "\t'' index %u using 1:($5 > 0 ? NaN : $3):xtic(2) with boxes ls 2 title 'not "
	    "significant', \\\n"
	    "\t'' index %u using 1:($3 - $4):(0):(2 * $4) with vectors nohead lc rgb '#222222' "
	    "lw 1.6 title '99.9%% interval'",
	    picture_axis(model->metric), model->fit.adjusted_r2, tune_metric_unit(model->metric),
	    block, block, block);
	if (paper)
		fprintf(gp,
			", \\\n\t'' index %u using ($1 + 0.3):6 with points pt 13 ps 1 lc rgb "
			"'#d08000' title 'the paper'",
			block);
	putc('\n', gp);
}

bool picture_coefficients(const struct tune_analysis *a, struct pic *pic)
{
	static const unsigned int wanted[] = {TUNE_lat_us, TUNE_bw_1m, TUNE_bw_10m};
	static const double *const paper[] = {paper_latency, paper_bandwidth, NULL};
	const struct tune_model *models[3];
	const double *theirs[3];
	unsigned int num = 0;

	for (int i = 0; i < 3; i++) {
		models[num] = model_of(a, wanted[i]);
		theirs[num] = paper[i];
		if (models[num])
			num++;
	}
	if (!num && a->num_models) {
		models[0] = &a->models[0];
		theirs[0] = NULL;
		num = 1;
	}
	for (unsigned int i = 0; i < num; i++) {
		fprintf(pic->tsv, "%s# %s\n", i ? "\n\n" : "", tune_metric_name(models[i]->metric));
		effects(a, models[i], theirs[i], pic->tsv);
	}
	pic->width = 860;
	pic->height = 310 * num + 30;
	fprintf(pic->gp,
		"set style fill solid 0.85\nset boxwidth 0.5\nset style line 1 lc rgb '#0060ad'\n"
		"set style line 2 lc rgb '#b8c4d0'\nset xrange [0.4:%d.6]\nset xtics rotate by "
		"-20\nset xzeroaxis lt 1 lc rgb '#555555'\nset key outside right top\n"
		"set multiplot layout %u,1\n",
		__builtin_popcount(a->plan->space.params), num ? num : 1);
	for (unsigned int i = 0; i < num; i++)
		effect_panel(models[i], theirs[i], i, pic->gp);
	fprintf(pic->gp, "unset multiplot\n");
	return num > 0;
}
