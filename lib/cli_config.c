/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration files: a line "word = value" is the option --word value, a line "word" an option
 * without value. "#" begins a comment; lines "[section]" carry no meaning. Files may name others.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "lib/cli.h"

enum {
	CONFIG_DEPTH = 4, /* files that name files */
	CONFIG_LINE_CHARS = 512,
	CONFIG_KEPT_CHARS = 16384, /* of all values */
};

/* The text without the blanks around it: cut off behind, a pointer into it. */
static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r\n");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	return text;
}

static const struct cli_option *find(const struct cli_program *p, const char *word)
{
	for (uint32_t i = 0; i < p->num_options; i++)
		if (p->options[i].kind != CLI_GROUP && !strcmp(p->options[i].name, word))
			return &p->options[i];
	return NULL;
}

/* A copy that stays until the next cli_parse(); NULL: there is no room. */
static const char *keep(struct cli *cli, const char *text)
{
	static char room[CONFIG_KEPT_CHARS];
	size_t bytes = strlen(text) + 1;
	char *copy = room + cli->kept_bytes;

	if (bytes > sizeof(room) - cli->kept_bytes)
		return NULL;
	cli->kept_bytes += (uint32_t)bytes;
	return memcpy(copy, text, bytes);
}

/* Where a line stands; a line that is in no file has none. */
struct place {
	const char *path;
	uint32_t number;
};

static bool wrong(struct cli *cli, const struct place *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool wrong(struct cli *cli, const struct place *at, const char *format, ...)
{
	char reason[CLI_ERROR_CHARS];
	va_list list;

	va_start(list, format);
	vsnprintf(reason, sizeof(reason), format, list);
	va_end(list);
	if (!at->path)
		return cli_wrong(cli, "%s", reason);
	return cli_wrong(cli, "%.80s:%u: %.160s", at->path, at->number, reason);
}

static bool apply(struct cli *cli, const struct cli_option *row, const struct place *at,
		  const char *value)
{
	char reason[CLI_ERROR_CHARS];
	const char *kept = NULL;

	/* Rows may keep a pointer to their text, which outlives the line. */
	if (value) {
		kept = keep(cli, value);
		if (!kept)
			return wrong(cli, at,
				     "the values of files are longer than %d characters in all",
				     CONFIG_KEPT_CHARS);
	}
	cli->row = row;
	cli->given[row - cli->program->options] = true;
	if (row->apply ? row->apply(cli, kept) : cli_store(cli, row, cli->values, kept))
		return true;
	snprintf(reason, sizeof(reason), "%s", cli->error);
	return wrong(cli, at, "%s", reason);
}

static bool config_line(struct cli *cli, const struct place *at, char *line)
{
	const struct cli_option *row;
	char *value = strchr(line, '=');
	char *word;

	if (value)
		*value++ = '\0';
	word = trim(line);
	value = value ? trim(value) : NULL;
	row = find(cli->program, word);
	if (!row && !value) {
		/* "nics 4" */
		word[strcspn(word, " \t")] = '\0';
		row = find(cli->program, word);
	}
	if (!row)
		return wrong(cli, at, "unknown word \"%.40s\"; %s --help lists them", word,
			     cli->program->name);
	if (row->value && (!value || !*value))
		return wrong(cli, at, "write \"%s = %s\"", word, row->value);
	if (!row->value && value)
		return wrong(cli, at, "\"%s\" takes no value", word);
	return apply(cli, row, at, value);
}

bool cli_line(struct cli *cli, const struct cli_program *program, void *values, void *context,
	      const char *line)
{
	const struct place nowhere = {NULL, 0};
	char copy[CONFIG_LINE_CHARS];

	memset(cli, 0, sizeof(*cli));
	cli->program = program;
	cli->values = values;
	cli->context = context;
	if (strlen(line) >= sizeof(copy))
		return cli_wrong(cli, "line longer than %d characters", CONFIG_LINE_CHARS - 2);
	strcpy(copy, line);
	return config_line(cli, &nowhere, copy);
}

bool cli_config(struct cli *cli, const char *path)
{
	char line[CONFIG_LINE_CHARS];
	uint32_t number = 0;
	bool good = true;
	FILE *file;

	if (cli->depth == CONFIG_DEPTH)
		return cli_wrong(cli, "--config %.80s: files name each other too deeply", path);
	file = fopen(path, "re");
	if (!file)
		return cli_wrong(cli, "--config %.80s: %s", path, strerror(errno));
	cli->depth++;
	while (good && fgets(line, sizeof(line), file)) {
		char *text;

		number++;
		if (!strchr(line, '\n') && !feof(file)) {
			good = cli_wrong(cli, "%.80s:%u: line longer than %d characters", path,
					 number, CONFIG_LINE_CHARS - 2);
			break;
		}
		line[strcspn(line, "#")] = '\0';
		text = trim(line);
		if (*text && *text != '[')
			good = config_line(cli, &(struct place){path, number}, text);
	}
	if (good && ferror(file))
		good = cli_wrong(cli, "--config %.80s: %s", path, strerror(errno));
	cli->depth--;
	fclose(file);
	return good;
}
