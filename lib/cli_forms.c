/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's command line described for others: man(7), bash's completion, JSON. `make install`
 * puts the first two where man and bash look for them.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/cli_help.h"
#include "lib/json_text.h"

/* ---- man(7) --------------------------------------------------------------------------------- */

/* Characters that troff takes for its own are escaped; so is a line that begins like a request. */
static void roff(FILE *f, const char *text)
{
	bool begin = true;

	for (; *text; text++) {
		if (begin && (*text == '.' || *text == '\''))
			fputs("\\&", f);
		begin = *text == '\n';
		if (*text == '\\')
			fputs("\\e", f);
		else if (*text == '-')
			fputs("\\-", f);
		else
			fputc(*text, f);
	}
}

/* A text whose line ends stay. */
static void roff_lines(FILE *f, const char *text)
{
	fputs(".nf\n", f);
	roff(f, text);
	fputs("\n.fi\n", f);
}

static void roff_term(FILE *f, const char *term, const char *text)
{
	fputs(".TP\n.B ", f);
	roff(f, term);
	fputc('\n', f);
	roff(f, text);
	fputc('\n', f);
}

/* Blank lines part paragraphs. */
static void roff_paragraphs(FILE *f, const char *text)
{
	const char *end;

	for (; (end = strstr(text, "\n\n")); text = end + 2) {
		char piece[2048];

		snprintf(piece, sizeof(piece), "%.*s", (int)(end - text), text);
		roff(f, piece);
		fputs("\n.PP\n", f);
	}
	roff(f, text);
	fputc('\n', f);
}

void cli_form_man(const struct cli_program *p, FILE *f)
{
	char term[64], phrase[CLI_PHRASE_CHARS];

	fprintf(f, ".TH %s %d \"\" \"%s %s\"\n.SH NAME\n", p->name, p->section, p->name,
		p->version);
	roff(f, p->name);
	fputs(" \\- ", f);
	roff(f, p->summary);
	fputs("\n.SH SYNOPSIS\n", f);
	roff_lines(f, p->usage);
	fputs(".SH DESCRIPTION\n", f);
	roff_paragraphs(f, p->about);
	if (p->num_commands)
		fputs(".SH COMMANDS\n", f);
	for (uint32_t i = 0; i < p->num_commands; i++) {
		const struct cli_command *c = &p->commands[i];

		snprintf(term, sizeof(term), "%s%s%s", c->name, c->args ? " " : "",
			 c->args ? c->args : "");
		roff_term(f, term, c->help);
	}
	fputs(".SH OPTIONS\n", f);
	for (uint32_t i = 0; i < p->num_options; i++) {
		const struct cli_option *row = &p->options[i];

		if (row->kind == CLI_GROUP) {
			fputs(".SS ", f);
			roff(f, row->name);
			fputc('\n', f);
			continue;
		}
		cli_help_term(row, term, sizeof(term));
		cli_help_phrase(row, phrase, sizeof(phrase));
		roff_term(f, term, phrase);
	}
	roff_term(f, "--help[=FORM]",
		  "this text; FORM man, bash or json: as a man page, completion "
		  "for bash, JSON");
	roff_term(f, "--version", "the version");
	fputs(".SH NOTES\n", f);
	if (p->more) {
		fputs(".nf\n", f);
		p->more(f);
		fputs(".fi\n.PP\n", f);
	}
	roff_lines(f, p->after);
}

/* ---- bash ----------------------------------------------------------------------------------- */

static bool takes_file(const struct cli_option *row)
{
	return row->value && (strstr(row->value, "FILE") || strstr(row->value, "DIR"));
}

/* A case of the word before: what may follow it. */
static void bash_value(FILE *f, const struct cli_option *row)
{
	const char *c = row->choices;

	fprintf(f, "\t--%s", row->name);
	if (row->letter)
		fprintf(f, "|-%c", row->letter);
	fputs(")\n", f);
	if (c) {
		fputs("\t\tCOMPREPLY=($(compgen -W \"", f);
		for (; *c; c++)
			fputc(*c == '|' ? ' ' : *c, f);
		fputs("\" -- \"$cur\"))\n", f);
	} else if (takes_file(row)) {
		fputs("\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n", f);
	}
	fputs("\t\treturn\n\t\t;;\n", f);
}

void cli_form_bash(const struct cli_program *p, FILE *f)
{
	char function[64];

	snprintf(function, sizeof(function), "_%s", p->name);
	for (char *c = function; *c; c++)
		if (*c == '-')
			*c = '_';
	fprintf(f, "# bash completion for %s: %s --help=bash\n%s()\n{\n", p->name, p->name,
		function);
	fputs("\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	      "\tCOMPREPLY=()\n"
	      "\tcase ${COMP_WORDS[COMP_CWORD - 1]} in\n",
	      f);
	for (uint32_t i = 0; i < p->num_options; i++)
		if (p->options[i].value)
			bash_value(f, &p->options[i]);
	fputs("\tesac\n\tif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"", f);
	for (uint32_t i = 0; i < p->num_options; i++)
		if (p->options[i].kind != CLI_GROUP)
			fprintf(f, "--%s ", p->options[i].name);
	fputs("--help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n", f);
	if (p->num_commands) {
		fputs("\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"", f);
		for (uint32_t i = 0; i < p->num_commands; i++)
			fprintf(f, "%s%s", i ? " " : "", p->commands[i].name);
		fputs("\" -- \"$cur\"))\n\t\treturn\n\tfi\n", f);
	}
	fputs("\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n}\n", f);
	fprintf(f, "complete -F %s %s\n", function, p->name);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void member(FILE *f, const char *name, const char *text)
{
	fprintf(f, ", \"%s\": ", name);
	json_text_string(f, text);
}

static void json_choices(FILE *f, const char *c)
{
	fputs(", \"choices\": [", f);
	while (*c) {
		char word[64];
		size_t n = strcspn(c, "|");

		snprintf(word, sizeof(word), "%.*s", (int)n, c);
		json_text_string(f, word);
		c += n;
		if (*c) {
			fputs(", ", f);
			c++;
		}
	}
	fputc(']', f);
}

static void json_option(FILE *f, const struct cli_option *row, const char *group)
{
	char letter[2] = {row->letter, '\0'};

	fputs("\n    {\"name\": ", f);
	json_text_string(f, row->name);
	if (group)
		member(f, "group", group);
	if (row->letter)
		member(f, "letter", letter);
	member(f, "value", row->value);
	member(f, "help", row->help);
	if (row->initial)
		member(f, "default", row->initial);
	if (row->shown)
		member(f, "default_is", row->shown);
	if (row->high)
		fprintf(f, ", \"low\": %" PRIu64 ", \"high\": %" PRIu64, row->low, row->high);
	if (row->most > 0)
		fprintf(f, ", \"low\": %.10g, \"high\": %.10g", row->least, row->most);
	if (row->choices)
		json_choices(f, row->choices);
	if (row->of)
		member(f, "commands", row->of);
	fputc('}', f);
}

void cli_form_json(const struct cli_program *p, FILE *f)
{
	const char *group = NULL, *comma = "";

	fputs("{\"name\": ", f);
	json_text_string(f, p->name);
	member(f, "version", p->version);
	member(f, "summary", p->summary);
	member(f, "usage", p->usage);
	fputs(",\n  \"commands\": [", f);
	for (uint32_t i = 0; i < p->num_commands; i++) {
		fprintf(f, "%s\n    {\"name\": ", i ? "," : "");
		json_text_string(f, p->commands[i].name);
		member(f, "args", p->commands[i].args);
		member(f, "help", p->commands[i].help);
		fputc('}', f);
	}
	fputs("],\n  \"options\": [", f);
	for (uint32_t i = 0; i < p->num_options; i++) {
		if (p->options[i].kind == CLI_GROUP) {
			group = p->options[i].name;
			continue;
		}
		fputs(comma, f);
		json_option(f, &p->options[i], group);
		comma = ",";
	}
	fputs("]}\n", f);
}
