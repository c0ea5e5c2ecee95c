/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --help as text, and which form is asked for; cli_forms.c has those for programs.
 */
#include "lib/cli_help.h"

#include <inttypes.h>
#include <string.h>

enum {
	HELP_COLUMNS = 80,
	HELP_INDENT = 26, /* where the phrases begin */
};

void cli_help_phrase(const struct cli_option *row, char *text, size_t chars)
{
	size_t at = (size_t)snprintf(text, chars, "%s", row->help ? row->help : "");
	const char *initial = row->initial ? row->initial : row->shown, *comma = "";

	if (at >= chars)
		return;
	if (row->high && row->high != UINT64_MAX && row->value)
		at += (size_t)snprintf(text + at, chars - at, " (%" PRIu64 " to %" PRIu64, row->low,
				       row->high);
	else if (row->most > 0)
		at += (size_t)snprintf(text + at, chars - at, " (%.10g to %.10g", row->least,
				       row->most);
	else if (initial)
		at += (size_t)snprintf(text + at, chars - at, " (");
	else
		return;
	if ((row->high && row->high != UINT64_MAX) || row->most > 0)
		comma = "; ";
	if (at < chars && initial)
		at += (size_t)snprintf(text + at, chars - at, "%sdefault %s", comma, initial);
	if (at < chars)
		snprintf(text + at, chars - at, ")");
}

void cli_help_term(const struct cli_option *row, char *text, size_t chars)
{
	char letter[8] = "";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(text, chars, "%s--%s%s%s", letter, row->name, row->value ? " " : "",
		 row->value ? row->value : "");
}

/* Words of text from column indent on; the first line begins with left. */
static void wrapped(FILE *f, const char *left, const char *text, size_t indent)
{
	size_t at = strlen(left);

	fputs(left, f);
	if (at + 1 >= indent) {
		fputc('\n', f);
		at = 0;
	}
	while (*text) {
		size_t n = strcspn(text, " \n");

		if (at > indent && at + 1 + n > HELP_COLUMNS) {
			fputc('\n', f);
			at = 0;
		}
		if (at < indent) {
			fprintf(f, "%*s", (int)(indent - at), "");
			at = indent;
		} else {
			fputc(' ', f);
			at++;
		}
		fwrite(text, 1, n, f);
		at += n;
		text += n + strspn(text + n, " \n");
	}
	fputc('\n', f);
}

static void option(FILE *f, const struct cli_option *row, bool first)
{
	char term[64], left[72], phrase[CLI_PHRASE_CHARS];

	if (row->kind == CLI_GROUP) {
		fprintf(f, "%s%s\n", first ? "" : "\n", row->name);
		return;
	}
	cli_help_term(row, term, sizeof(term));
	cli_help_phrase(row, phrase, sizeof(phrase));
	snprintf(left, sizeof(left), "  %s", term);
	wrapped(f, left, phrase, HELP_INDENT);
}

static void commands(FILE *f, const struct cli_program *p)
{
	for (uint32_t i = 0; i < p->num_commands; i++) {
		const struct cli_command *c = &p->commands[i];
		char left[72];

		snprintf(left, sizeof(left), "  %s%s%s", c->name, c->args ? " " : "",
			 c->args ? c->args : "");
		wrapped(f, left, c->help, HELP_INDENT);
	}
	fputc('\n', f);
}

static void text(const struct cli_program *p, FILE *f)
{
	const char *line = p->usage;
	const char *begin = "Usage: ";

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		fprintf(f, "%s%.*s\n", begin, (int)strcspn(line, "\n"), line);
		begin = "       ";
	}
	fprintf(f, "\n%s\n\n", p->about);
	if (p->num_commands)
		commands(f, p);
	for (uint32_t i = 0; i < p->num_options; i++)
		option(f, &p->options[i], !i);
	wrapped(f, "  --help[=FORM]",
		"this text; FORM man, bash or json: as a man page, completion "
		"for bash, JSON",
		HELP_INDENT);
	wrapped(f, "  --version", "the version", HELP_INDENT);
	if (p->more) {
		fputc('\n', f);
		p->more(f);
	}
	fprintf(f, "\n%s\n", p->after);
}

bool cli_help(const struct cli_program *program, const char *form, FILE *f)
{
	static const struct {
		const char *name;
		void (*print)(const struct cli_program *program, FILE *f);
	} forms[] = {
	    {"text", text},
	    {"man", cli_form_man},
	    {"bash", cli_form_bash},
	    {"json", cli_form_json},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(form, forms[i].name))
			continue;
		forms[i].print(program, f);
		return true;
	}
	return false;
}
