/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markdown and HTML at once; see doc.h.
 */
#include "tools/weft-tune/doc.h"
#include "tools/weft-tune/record_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const char style[] =
    "body{font-family:sans-serif;max-width:62em;margin:2em auto;padding:0 1em;line-height:1.45;"
    "color:#222}h1,h2{border-bottom:1px solid #ccc;padding-bottom:.2em}"
    "table{border-collapse:collapse;margin:1em 0;font-size:92%}"
    "td,th{border:1px solid #ccc;padding:.25em .6em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}th{background:#f2f2f2}"
    "pre{background:#f5f5f5;padding:.7em;overflow-x:auto}code{background:#f5f5f5}"
    "figure{margin:1.5em 0}img{max-width:100%}figcaption{color:#555;font-size:92%}";

static void put_char(FILE *f, char c)
{
	switch (c) {
	case '&':
		fputs("&amp;", f);
		break;
	case '<':
		fputs("&lt;", f);
		break;
	case '>':
		fputs("&gt;", f);
		break;
	case '"':
		fputs("&quot;", f);
		break;
	default:
		putc(c, f);
	}
}

static void put_plain(FILE *f, const char *text)
{
	for (; *text; text++)
		put_char(f, *text);
}

/* With `code` and **bold**. */
static void put_marked(FILE *f, const char *text)
{
	bool code = false, bold = false;

	for (; *text; text++) {
		if (*text == '`') {
			fputs(code ? "</code>" : "<code>", f);
			code = !code;
		} else if (!code && text[0] == '*' && text[1] == '*') {
			fputs(bold ? "</b>" : "<b>", f);
			bold = !bold;
			text++;
		} else {
			put_char(f, *text);
		}
	}
}

static FILE *open_file(const char *dir, const char *name, const char *suffix, char *error)
{
	char path[TUNE_PATH_CHARS + 16];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
	f = fopen(path, "we");
	if (!f)
		tune_fail(error, 0, "%s: cannot be written: %s", path, strerror(errno));
	return f;
}

int doc_open(struct doc *doc, const char *dir, const char *name, const char *title, char *error)
{
	*doc = (struct doc){0};
	snprintf(doc->dir, sizeof(doc->dir), "%s", dir);
	doc->md = open_file(dir, name, "md", error);
	doc->html = doc->md ? open_file(dir, name, "html", error) : NULL;
	if (!doc->html) {
		if (doc->md)
			fclose(doc->md);
		return -EIO;
	}
	fprintf(doc->html, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
			   "<meta name=\"viewport\" content=\"width=device-width\"><title>");
	put_plain(doc->html, title);
	fprintf(doc->html, "</title><style>%s</style></head><body>\n", style);
	doc_heading(doc, 1, title);
	return 0;
}

int doc_close(struct doc *doc, char *error)
{
	bool bad = doc->bad;

	fputs("</body></html>\n", doc->html);
	bad = ferror(doc->md) || ferror(doc->html) || bad;
	bad = fclose(doc->md) || bad;
	bad = fclose(doc->html) || bad;
	return bad ? tune_fail(error, -EIO, "the report in %s cannot be written", doc->dir) : 0;
}

void doc_heading(struct doc *doc, int level, const char *text)
{
	fprintf(doc->md, "%s%.*s %s\n\n", level > 1 ? "\n" : "", level, "####", text);
	fprintf(doc->html, "<h%d>", level);
	put_plain(doc->html, text);
	fprintf(doc->html, "</h%d>\n", level);
}

void doc_para(struct doc *doc, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) >= (int)sizeof(text))
		doc->bad = true;
	va_end(ap);
	fprintf(doc->md, "%s\n\n", text);
	fputs("<p>", doc->html);
	put_marked(doc->html, text);
	fputs("</p>\n", doc->html);
}

void doc_code(struct doc *doc, const char *text)
{
	fprintf(doc->md, "```\n%s\n```\n\n", text);
	fputs("<pre>", doc->html);
	put_plain(doc->html, text);
	fputs("</pre>\n", doc->html);
}

static void put_cell(struct doc *doc, const char *tag, const char *text)
{
	fprintf(doc->md, " %s |", text);
	fprintf(doc->html, "<%s>", tag);
	put_marked(doc->html, text);
	fprintf(doc->html, "</%s>", tag);
}

static void begin_row(struct doc *doc)
{
	putc('|', doc->md);
	fputs("<tr>", doc->html);
}

static void end_row(struct doc *doc)
{
	putc('\n', doc->md);
	fputs("</tr>\n", doc->html);
}

void doc_table(struct doc *doc, size_t num, const char *const *head)
{
	fputs("<table>\n", doc->html);
	begin_row(doc);
	for (size_t i = 0; i < num; i++)
		put_cell(doc, "th", head[i]);
	end_row(doc);
	putc('|', doc->md);
	for (size_t i = 0; i < num; i++)
		fputs(i ? " ---: |" : " --- |", doc->md);
	putc('\n', doc->md);
}

void doc_row(struct doc *doc, size_t num, char cells[][DOC_CELL_CHARS])
{
	begin_row(doc);
	for (size_t i = 0; i < num; i++)
		put_cell(doc, "td", cells[i]);
	end_row(doc);
}

void doc_table_end(struct doc *doc)
{
	putc('\n', doc->md);
	fputs("</table>\n", doc->html);
}

/* The picture in the page itself, as a data URL. */
static void put_picture(struct doc *doc, FILE *svg)
{
	int c;

	while ((c = getc(svg)) != EOF)
		if (isalnum(c) || (c && strchr("-_.~ ,;:/=()!*@+$", c)))
			putc(c, doc->html);
		else
			fprintf(doc->html, "%%%02X", (unsigned int)c & 0xff);
}

void doc_picture(struct doc *doc, const char *name, const char *caption)
{
	char path[TUNE_PATH_CHARS + 64];
	FILE *svg;

	snprintf(path, sizeof(path), "%s/pictures/%s.svg", doc->dir, name);
	svg = fopen(path, "re");
	if (!svg) {
		doc->bad = true;
		return;
	}
	fprintf(doc->md, "![%s](pictures/%s.svg)\n\n%s\n\n", name, name, caption);
	fputs("<figure><img alt=\"", doc->html);
	put_plain(doc->html, name);
	fputs("\" src=\"data:image/svg+xml,", doc->html);
	put_picture(doc, svg);
	fputs("\"><figcaption>", doc->html);
	put_marked(doc->html, caption);
	fputs("</figcaption></figure>\n", doc->html);
	fclose(svg);
}
