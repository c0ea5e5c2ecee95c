/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing of command lines by a table; see cli.h. cli_config.c has the files, cli_help.c and
 * cli_forms.c have the descriptions.
 */
#include "lib/cli.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLI_HELP = 0x10000, /* values of getopt_long() past those of rows */
	CLI_VERSION,
};

bool cli_wrong(struct cli *cli, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(cli->error, sizeof(cli->error), format, list);
	va_end(list);
	return false;
}

int cli_say(const struct cli *cli)
{
	fprintf(stderr, "%s: %s (%s --help tells more)\n", cli->program->name, cli->error,
		cli->program->name);
	return CLI_USAGE;
}

/* ---- values --------------------------------------------------------------------------------- */

bool cli_parse_number(const char *text, uint64_t *value)
{
	static const char suffixes[] = "KMG";
	int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const char *suffix;
	uint64_t v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, base);
	if (errno || (base == 16 && end == text + 1))
		return false;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		unsigned int shift = 10 * (unsigned int)(suffix - suffixes + 1);

		if (v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		end++;
	}
	if (*end)
		return false;
	*value = v;
	return true;
}

static bool parse_real(const char *text, double *value)
{
	char *end;
	double v;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	errno = 0;
	v = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(v))
		return false;
	*value = v;
	return true;
}

bool cli_number(struct cli *cli, const char *text, uint64_t *value)
{
	const struct cli_option *row = cli->row;
	uint64_t high = row->high ? row->high : UINT64_MAX, v;

	if (!cli_parse_number(text, &v) || v < row->low || v > high)
		return cli_wrong(
		    cli, "--%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%.80s'",
		    row->name, row->low, high, text);
	*value = v;
	return true;
}

bool cli_real(struct cli *cli, const char *text, double *value)
{
	const struct cli_option *row = cli->row;
	double v;

	if (!parse_real(text, &v) || v < row->least || v > row->most)
		return cli_wrong(cli, "--%s takes a number from %.10g to %.10g, not '%.80s'",
				 row->name, row->least, row->most, text);
	*value = v;
	return true;
}

/* The index of text among "one|two|three"; -1: it is none of them. */
static int choice(const char *choices, const char *text)
{
	size_t chars = strlen(text);

	for (int i = 0;; i++) {
		size_t n = strcspn(choices, "|");

		if (n == chars && !memcmp(choices, text, n))
			return i;
		if (!choices[n])
			return -1;
		choices += n + 1;
	}
}

static void put(const struct cli_option *row, void *values, uint64_t v)
{
	char *at = (char *)values + row->offset;
	uint32_t v32 = (uint32_t)v;
	uint16_t v16 = (uint16_t)v;
	uint8_t v8 = (uint8_t)v;

	switch (row->bytes) {
	case 1:
		memcpy(at, &v8, 1);
		return;
	case 2:
		memcpy(at, &v16, 2);
		return;
	case 4:
		memcpy(at, &v32, 4);
		return;
	default:
		assert(row->bytes == 8);
		memcpy(at, &v, 8);
	}
}

static bool store_choice(struct cli *cli, const struct cli_option *row, void *values,
			 const char *text)
{
	int i = choice(row->choices, text);
	char list[160];
	size_t at = 0;

	if (i >= 0) {
		put(row, values, (uint64_t)i);
		return true;
	}
	for (const char *c = row->choices; *c && at + 8 < sizeof(list); c++) {
		if (*c == '|')
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s",
					       strchr(c + 1, '|') ? ", " : " or ");
		else
			list[at++] = *c;
	}
	list[at] = '\0';
	return cli_wrong(cli, "--%s takes %s, not '%.60s'", row->name, list, text);
}

bool cli_store(struct cli *cli, const struct cli_option *row, void *values, const char *text)
{
	uint64_t v = 1;
	double real;

	cli->row = row;
	switch (row->kind) {
	case CLI_FLAG:
		put(row, values, v);
		return true;
	case CLI_NUMBER:
		if (!cli_number(cli, text, &v))
			return false;
		assert(row->bytes == 8 || v >> 8 * row->bytes == 0);
		put(row, values, v);
		return true;
	case CLI_REAL:
		if (!cli_real(cli, text, &real))
			return false;
		assert(row->bytes == sizeof(real));
		memcpy((char *)values + row->offset, &real, sizeof(real));
		return true;
	case CLI_TEXT:
		assert(row->bytes == sizeof(text));
		memcpy((char *)values + row->offset, &text, sizeof(text));
		return true;
	case CLI_CHOICE:
		return store_choice(cli, row, values, text);
	case CLI_CALL:
	case CLI_GROUP:
		break;
	}
	assert(!"a row without a way to take its value");
	return false;
}

/* ---- the table ------------------------------------------------------------------------------ */

bool cli_given(const struct cli *cli, const char *name)
{
	for (uint32_t i = 0; i < cli->program->num_options; i++)
		if (cli->given[i] && !strcmp(cli->program->options[i].name, name))
			return true;
	return false;
}

const struct cli_command *cli_find_command(const struct cli_program *program, const char *name)
{
	for (uint32_t i = 0; i < program->num_commands; i++)
		if (!strcmp(program->commands[i].name, name))
			return &program->commands[i];
	return NULL;
}

/* "a b c" as "a, b and c". */
static void list_commands(const char *of, char *text, size_t chars)
{
	size_t at = 0;

	for (; *of && at + 8 < chars; of++) {
		if (*of == ' ')
			at += (size_t)snprintf(text + at, chars - at, "%s",
					       strchr(of + 1, ' ') ? ", " : " and ");
		else
			text[at++] = *of;
	}
	text[at] = '\0';
}

bool cli_check_command(struct cli *cli, const char *command)
{
	size_t chars = strlen(command);

	for (uint32_t i = 0; i < cli->program->num_options; i++) {
		const struct cli_option *row = &cli->program->options[i];
		const char *of = row->of;
		char list[120];

		if (!cli->given[i] || !of)
			continue;
		while (of && !(!strncmp(of, command, chars) && (!of[chars] || of[chars] == ' '))) {
			of = strchr(of, ' ');
			of = of ? of + 1 : NULL;
		}
		if (of)
			continue;
		list_commands(row->of, list, sizeof(list));
		return cli_wrong(cli, "--%s is for %s", row->name, list);
	}
	return true;
}

/* ---- command lines -------------------------------------------------------------------------- */

/* Explains why getopt_long() returned ':' or '?'. */
static bool refuse(struct cli *cli, int opt, char *const *argv)
{
	const char *word = argv[optind - 1];
	uint32_t row = (uint32_t)optopt - 0x100;

	if (opt == ':')
		return cli_wrong(cli, "%.80s needs a value", word);
	if (!optopt)
		return cli_wrong(cli, "there is no option '%.80s'", word);
	if (optopt >= 0x100 && row < cli->program->num_options)
		return cli_wrong(cli, "--%s takes no value", cli->program->options[row].name);
	if (optopt >= 0x100)
		return cli_wrong(cli, "--version takes no value");
	/* Not word: getopt goes on from a word of short options only after its last. */
	return cli_wrong(cli, "there is no option '-%c'", optopt);
}

/* The row of what getopt_long() returned: a letter, or 0x100 and the row's number. */
static uint32_t row_of(const struct cli_program *p, int opt)
{
	uint32_t i = 0;

	if (opt >= 0x100)
		return (uint32_t)opt - 0x100;
	while (i < p->num_options && p->options[i].letter != opt)
		i++;
	return i;
}

/* The tables that getopt_long() takes. longs: CLI_OPTIONS_MAX + 3; letters: 2 * CLI_OPTIONS_MAX. */
static void fill(const struct cli_program *p, struct option *longs, char *letters)
{
	struct option *l = longs;
	char *c = letters;

	if (p->in_order)
		*c++ = '+';
	*c++ = ':';
	*c++ = 'h';
	for (uint32_t i = 0; i < p->num_options; i++) {
		const struct cli_option *row = &p->options[i];

		if (row->kind == CLI_GROUP)
			continue;
		*l++ = (struct option){row->name, row->value ? required_argument : no_argument,
				       NULL, (int)(0x100 + i)};
		if (!row->letter)
			continue;
		*c++ = row->letter;
		if (row->value)
			*c++ = ':';
	}
	*c = '\0';
	*l++ = (struct option){"help", optional_argument, NULL, CLI_HELP};
	*l++ = (struct option){"version", no_argument, NULL, CLI_VERSION};
	*l = (struct option){NULL, 0, NULL, 0};
}

static int help(struct cli *cli, const char *form)
{
	if (cli_help(cli->program, form ? form : "text", stdout))
		return CLI_DONE;
	cli_wrong(cli, "--help takes text, man, bash or json, not '%.40s'", form);
	return CLI_USAGE;
}

static bool store_initial(struct cli *cli)
{
	for (uint32_t i = 0; i < cli->program->num_options; i++) {
		const struct cli_option *row = &cli->program->options[i];

		if (row->initial && !row->apply && !cli_store(cli, row, cli->values, row->initial))
			return false;
	}
	return true;
}

int cli_parse(struct cli *cli, const struct cli_program *program, void *values, void *context,
	      int argc, char **argv)
{
	struct option longs[CLI_OPTIONS_MAX + 3];
	char letters[2 * CLI_OPTIONS_MAX + 4];
	int opt;

	assert(program->num_options <= CLI_OPTIONS_MAX);
	memset(cli, 0, sizeof(*cli));
	cli->program = program;
	cli->values = values;
	cli->context = context;
	fill(program, longs, letters);
	if (!store_initial(cli))
		assert(!"a default out of its bounds");
	opterr = 0;
	optind = 0; /* anew, where one process parses several command lines */
	while ((opt = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct cli_option *row;

		if (opt == 'h' || opt == CLI_HELP)
			return help(cli, optarg);
		if (opt == CLI_VERSION) {
			printf("%s %s\n", program->name, program->version);
			return CLI_DONE;
		}
		if (opt == ':' || opt == '?') {
			refuse(cli, opt, argv);
			return CLI_USAGE;
		}
		cli->row = row = &program->options[row_of(program, opt)];
		cli->given[row - program->options] = true;
		if (!(row->apply ? row->apply(cli, optarg) : cli_store(cli, row, values, optarg)))
			return CLI_USAGE;
	}
	cli->words = argv + optind;
	cli->num_words = argc - optind;
	return CLI_RUN;
}

int cli_take(struct cli *cli, const struct cli_program *program, void *values, void *context,
	     int argc, char **argv)
{
	int rc = cli_parse(cli, program, values, context, argc, argv);

	return rc == CLI_USAGE ? cli_say(cli) : rc;
}
