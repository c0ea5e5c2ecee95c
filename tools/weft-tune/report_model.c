/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of the linear models; see report_model.h. espgoal 6.2, the table of coefficients.
 */
#include "tools/weft-tune/report_model.h"
#include "tools/weft-tune/pictures.h"

#include <math.h>

static const double *paper_of(unsigned int metric, double *r2)
{
	*r2 = metric == TUNE_lat_us ? PAPER_LATENCY_R2 : PAPER_BANDWIDTH_R2;
	return metric == TUNE_lat_us  ? paper_latency
	       : metric == TUNE_bw_1m ? paper_bandwidth
				      : NULL;
}

static void model_rows(struct doc *doc, const struct tune_model *m, const double *paper)
{
	const struct stat_fit *f = &m->fit;
	size_t columns = paper ? 6 : 5;
	char cells[6][DOC_CELL_CHARS];

	for (size_t i = 0; i <= f->columns; i++) {
		bool significant = f->p[i] < TUNE_ALPHA;

		DOC_CELL(cells, 0, "%s", i ? tune_param_word(m->param[i - 1]) : "constant");
		if (isnan(f->b[i])) {
			DOC_CELL(cells, 1, "-");
			DOC_CELL(cells, 2, "-");
			DOC_CELL(cells, 3, "-");
			DOC_CELL(cells, 4, "-");
		} else {
			DOC_CELL(cells, 1, significant ? "**%.4g**" : "%.4g", f->b[i]);
			DOC_CELL(cells, 2, "%.2g", f->error[i]);
			DOC_CELL(cells, 3, "%.2f", f->t[i]);
			DOC_CELL(cells, 4, f->p[i] < 1e-15 ? "< 1e-15" : "%.2g", f->p[i]);
		}
		if (paper)
			DOC_CELL(cells, 5, "%.4g", paper[i ? m->param[i - 1] + 1 : 0]);
		doc_row(doc, columns, cells);
	}
}

void report_models(struct doc *doc, const struct tune_analysis *a)
{
	if (!a->num_models)
		return;
	doc_heading(doc, 2, "Linear models");
	doc_para(doc,
		 "Least squares over %zu random settings: Y = b0 + sum of bi times parameter i; "
		 "bold: not 0 with a significance of 0.001. Units are those of the metric per "
		 "microsecond or frame.",
		 a->models[0].fit.rows);
	for (size_t i = 0; i < a->num_models; i++) {
		const struct tune_model *m = &a->models[i];
		char cells[6][DOC_CELL_CHARS], title[96];
		const double *paper;
		double r2;

		paper = paper_of(m->metric, &r2);
		snprintf(title, sizeof(title), "%s", picture_axis(m->metric));
		doc_heading(doc, 3, title);
		doc_table(doc, paper ? 6 : 5,
			  (const char *const[]){"parameter", "coefficient", "standard error", "t",
						"p", "the paper (Tigon3, 1 Gb/s)"});
		model_rows(doc, m, paper);
		DOC_CELL(cells, 0, "adjusted R²");
		DOC_CELL(cells, 1, "%.4f", m->fit.adjusted_r2);
		for (int c = 2; c < 5; c++)
			DOC_CELL(cells, c, " ");
		DOC_CELL(cells, 5, "%.4f", r2);
		doc_row(doc, paper ? 6 : 5, cells);
		doc_table_end(doc);
	}
}
