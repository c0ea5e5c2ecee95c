/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A document that is written as Markdown and as HTML at once. Text may hold `code` and **bold**,
 * which HTML gets as tags. The HTML has its pictures inside. Called by report.c.
 */
#ifndef WEFT_TUNE_DOC_H
#define WEFT_TUNE_DOC_H

#include <stdio.h>

#include "tools/weft-tune/record.h"

struct doc {
	FILE *md, *html;
	char dir[TUNE_PATH_CHARS];
	bool bad; /* something could not be written */
};

enum {
	DOC_CELL_CHARS = 96,
};

/* Puts text into a cell of a row, cut to DOC_CELL_CHARS. */
#define DOC_CELL(cells, i, ...) snprintf((cells)[i], DOC_CELL_CHARS, __VA_ARGS__)

/* dir/NAME.md and dir/NAME.html. Returns 0, or a negative errno with a line in error. */
int doc_open(struct doc *doc, const char *dir, const char *name, const char *title, char *error);
int doc_close(struct doc *doc, char *error);

void doc_heading(struct doc *doc, int level, const char *text);
void doc_para(struct doc *doc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A block of commands or settings, as they are. */
void doc_code(struct doc *doc, const char *text);

/* Begins a table with its header; rows, then the end. Cells are text as in paragraphs. */
void doc_table(struct doc *doc, size_t num, const char *const *head);
void doc_row(struct doc *doc, size_t num, char cells[][DOC_CELL_CHARS]);
void doc_table_end(struct doc *doc);

/* dir/pictures/NAME.svg. */
void doc_picture(struct doc *doc, const char *name, const char *caption);

#endif /* WEFT_TUNE_DOC_H */
