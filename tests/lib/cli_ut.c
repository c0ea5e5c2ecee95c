/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command line by a table: values, defaults, refusals, configuration files, and the forms of
 * --help. Runs lib/cli.c, cli_config.c, cli_help.c and cli_forms.c.
 */
#include <stdlib.h>
#include <unistd.h>

#include "lib/cli.h"
#include "tests/tmp.h"
#include "tests/ut.h"

struct values {
	uint8_t small;
	uint16_t port;
	uint32_t count;
	uint64_t large;
	double share;
	const char *name;
	bool flag;
	uint32_t mode;
	bool off;
	uint32_t called;
};

static struct values v;
static struct cli cli;

static bool take_called(struct cli *of, const char *text)
{
	uint64_t n;

	if (!cli_number(of, text, &n))
		return false;
	((struct values *)of->values)->called += (uint32_t)n;
	*(uint32_t *)of->context += 1;
	return true;
}

#define FIELD(member) CLI_FIELD(struct values, member)

static const struct cli_option rows[] = {
    {.name = "Numbers", .kind = CLI_GROUP},
    {.name = "small",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(small),
     .low = 1,
     .high = 63,
     .help = "a small number"},
    {.name = "port",
     .letter = 'p',
     .value = "PORT",
     .kind = CLI_NUMBER,
     FIELD(port),
     .high = 65535,
     .initial = "18515",
     .help = "where"},
    {.name = "count",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(count),
     .high = UINT32_MAX,
     .of = "run stop",
     .help = "how many"},
    {.name = "large",
     .value = "N",
     .kind = CLI_NUMBER,
     FIELD(large),
     .shown = "as it comes",
     .help = "any number"},
    {.name = "share",
     .value = "PERCENT",
     .kind = CLI_REAL,
     FIELD(share),
     .most = 100,
     .initial = "12.5",
     .help = "a share"},
    {.name = "Others", .kind = CLI_GROUP},
    {.name = "name",
     .value = "FILE",
     .kind = CLI_TEXT,
     FIELD(name),
     .of = "run",
     .help = "a \"name\" that is explained at such length that it does not fit one line of eighty "
	     "columns"},
    {.name = "flag", .letter = 'f', .kind = CLI_FLAG, FIELD(flag), .help = "a flag"},
    {.name = "mode",
     .value = "HOW",
     .kind = CLI_CHOICE,
     FIELD(mode),
     .choices = "slow|fast|best",
     .initial = "fast",
     .help = "how"},
    {.name = "filter",
     .value = "on|off",
     .kind = CLI_CHOICE,
     FIELD(off),
     .choices = "on|off",
     .initial = "on",
     .help = "filter"},
    {.name = "called", .value = "N", .apply = take_called, .low = 1, .high = 9, .help = "adds up"},
    {CLI_CONFIG, .apply = cli_config},
};

static const struct cli_command commands[] = {
    {"run", "FILE", "runs"},
    {"stop", NULL, "ends"},
    {"show", NULL, "-shows"},
};

static const struct cli_program program = {
    .name = "ut-tool",
    .section = 8,
    .version = "1.2",
    .summary = "tests - nothing else",
    .usage = "ut-tool run FILE\nut-tool stop",
    .about = "What it does.\n\n.It does it.",
    .after = "Exit status: 0.",
    .options = rows,
    .num_options = sizeof(rows) / sizeof(rows[0]),
    .commands = commands,
    .num_commands = 3,
};

/* Parses a command line given as one string; the words stay in use until the next. */
static int parse(const char *line)
{
	static char copy[512];
	static char *argv[40];
	static uint32_t calls;
	int argc = 1;
	char *rest;

	snprintf(copy, sizeof(copy), "%s", line);
	argv[0] = copy + strlen(copy);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(&v, 0, sizeof(v));
	calls = 0;
	return cli_parse(&cli, &program, &v, &calls, argc, argv);
}

static void refuse(const char *line, const char *text)
{
	CU_ASSERT_EQUAL(parse(line), CLI_USAGE);
	CU_ASSERT_STRING_EQUAL(cli.error, text);
	if (strcmp(cli.error, text))
		printf("\n%s: %s\n", line, cli.error);
}

static void defaults(void)
{
	CU_ASSERT_EQUAL(parse(""), CLI_RUN);
	CU_ASSERT(v.port == 18515 && v.share == 12.5 && v.mode == 1 && !v.off && !v.flag);
	CU_ASSERT(!v.small && !v.name && !cli.num_words);
	CU_ASSERT_FALSE(cli_given(&cli, "port"));
}

static void values(void)
{
	CU_ASSERT_EQUAL(parse("one --small 63 -p 0 --count 4294967295 two --large 0x10 --share 0 "
			      "--name x -f --mode best --filter off --called 2 --called=3 three"),
			CLI_RUN);
	CU_ASSERT(v.small == 63 && v.port == 0 && v.count == UINT32_MAX && v.large == 16);
	CU_ASSERT(v.share == 0 && !strcmp(v.name, "x") && v.flag && v.mode == 2 && v.off);
	CU_ASSERT(v.called == 5 && *(uint32_t *)cli.context == 2);
	CU_ASSERT(cli.num_words == 3 && !strcmp(cli.words[0], "one") &&
		  !strcmp(cli.words[2], "three"));
	CU_ASSERT(cli_given(&cli, "port") && cli_given(&cli, "flag"));
	CU_ASSERT_EQUAL(parse("--large 18446744073709551615 --count 4K"), CLI_RUN);
	CU_ASSERT(v.large == UINT64_MAX && v.count == 4096);
	/* Abbreviated, and the end of options. */
	CU_ASSERT_EQUAL(parse("--sm 5 -- --flag"), CLI_RUN);
	CU_ASSERT(v.small == 5 && !v.flag && cli.num_words == 1);
}

static void refusals(void)
{
	refuse("--small 0", "--small takes a whole number from 1 to 63, not '0'");
	refuse("--small 64", "--small takes a whole number from 1 to 63, not '64'");
	refuse("--small 1x", "--small takes a whole number from 1 to 63, not '1x'");
	refuse("--small -1", "--small takes a whole number from 1 to 63, not '-1'");
	refuse("--small +1", "--small takes a whole number from 1 to 63, not '+1'");
	refuse("--small 1KK", "--small takes a whole number from 1 to 63, not '1KK'");
	refuse("--small 0x", "--small takes a whole number from 1 to 63, not '0x'");
	refuse("--large 17179869184G",
	       "--large takes a whole number from 0 to 18446744073709551615, "
	       "not '17179869184G'");
	refuse("--share 100.1", "--share takes a number from 0 to 100, not '100.1'");
	refuse("--share nan", "--share takes a number from 0 to 100, not 'nan'");
	refuse("--share -1", "--share takes a number from 0 to 100, not '-1'");
	refuse("--share 1%", "--share takes a number from 0 to 100, not '1%'");
	refuse("--mode slo", "--mode takes slow, fast or best, not 'slo'");
	refuse("--filter maybe", "--filter takes on or off, not 'maybe'");
	refuse("--called 10", "--called takes a whole number from 1 to 9, not '10'");
	refuse("--bogus", "there is no option '--bogus'");
	refuse("word --bogus=3 word", "there is no option '--bogus=3'");
	refuse("--fl -fxf", "there is no option '-x'");
	refuse("--flag=3", "--flag takes no value");
	refuse("--version=3", "--version takes no value");
	refuse("-f --name", "--name needs a value");
	refuse("-p", "-p needs a value");
	refuse("--help=html", "--help takes text, man, bash or json, not 'html'");
}

static void of_commands(void)
{
	CU_ASSERT_EQUAL(parse("show --count 3"), CLI_RUN);
	CU_ASSERT_FALSE(cli_check_command(&cli, "show"));
	CU_ASSERT_STRING_EQUAL(cli.error, "--count is for run and stop");
	CU_ASSERT_FALSE(cli_check_command(&cli, "sto"));
	CU_ASSERT_TRUE(cli_check_command(&cli, "stop"));
	CU_ASSERT_TRUE(cli_check_command(&cli, "run"));
	CU_ASSERT_EQUAL(parse("show --small 3"), CLI_RUN);
	CU_ASSERT_TRUE(cli_check_command(&cli, "show"));
	CU_ASSERT_PTR_EQUAL(cli_find_command(&program, "stop"), &commands[1]);
	CU_ASSERT_PTR_NULL(cli_find_command(&program, "st"));
}

/* Writes a file and parses "--config FILE" and more. */
static int parse_file(const char *text, const char *more)
{
	char path[TMP_PATH_BYTES], line[TMP_PATH_BYTES + 64];
	int fd = tmp_file(path), rc;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(line, sizeof(line), "--config %s %s", path, more);
	rc = parse(line);
	unlink(path);
	return rc;
}

static void files(void)
{
	CU_ASSERT_EQUAL(parse_file("# comment\n[section]\nsmall = 3\n  name=a b  # behind\n\nflag\n"
				   "called = 4\ncalled=5",
				   "--small 4"),
			CLI_RUN);
	CU_ASSERT(v.small == 4 && !strcmp(v.name, "a b") && v.flag && v.called == 9);
	CU_ASSERT_EQUAL(parse_file("small = 3\nsmell = 4\n", ""), CLI_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(cli.error, ":2: unknown word \"smell\"; ut-tool --help"));
	CU_ASSERT_EQUAL(parse_file("small = 64\n", ""), CLI_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(cli.error, ":1: --small takes a whole number from 1 to 63"));
	CU_ASSERT_EQUAL(parse_file("Numbers\n", ""), CLI_USAGE);
	CU_ASSERT_EQUAL(parse_file("small 3\n", ""), CLI_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(cli.error, "write \"small = N\""));
	CU_ASSERT_EQUAL(parse_file("flag = yes\n", ""), CLI_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(cli.error, "takes no value"));
	refuse("--config /nonexistent", "--config /nonexistent: No such file or directory");
}

/* The texts that fields point to have room together. */
static void long_files(void)
{
	char text[2048] = "name = ";

	memset(text + 7, 'x', 600);
	CU_ASSERT_EQUAL(parse_file(text, ""), CLI_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(cli.error, "line longer than 510 characters"));
	for (int i = 0; i < 100; i++)
		CU_ASSERT_EQUAL(parse_file("name = a-name-of-some-characters-that-is-kept\n", ""),
				CLI_RUN);
}

/* A form of --help as one string. */
static const char *form(const char *name)
{
	static char text[16384];
	FILE *f = tmpfile();
	size_t n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_TRUE(cli_help(&program, name, f));
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void has(const char *text, const char *part)
{
	CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
	if (!strstr(text, part))
		printf("\nno \"%s\" in\n%s", part, text);
}

static void text_form(void)
{
	const char *text = form("text");

	has(text, "Usage: ut-tool run FILE\n       ut-tool stop\n\nWhat it does.\n");
	has(text, "  run FILE                runs\n  stop                    ends\n");
	has(text, "\nNumbers\n  --small N               a small number (1 to 63)\n"
		  "  -p, --port PORT         where (0 to 65535; default 18515)\n");
	has(text, "any number (default as it comes)\n");
	has(text, "a share (0 to 100; default 12.5)\n");
	has(text,
	    "  --name FILE             a \"name\" that is explained at such length that it does\n"
	    "                          not fit one line of eighty columns\n");
	has(text, "\nExit status: 0.\n");
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		CU_ASSERT(strcspn(line, "\n") <= 80);
}

static void man_form(void)
{
	const char *text = form("man");

	has(text,
	    ".TH ut-tool 8 \"\" \"ut-tool 1.2\"\n.SH NAME\nut\\-tool \\- tests \\- nothing else\n");
	has(text, "What it does.\n.PP\n\\&.It does it.\n");
	has(text, ".TP\n.B \\-p, \\-\\-port PORT\nwhere (0 to 65535; default 18515)\n");
	has(text, ".TP\n.B show\n\\-shows\n");
	has(text, ".SS Others\n");
}

static void bash_form(void)
{
	const char *text = form("bash");

	has(text, "_ut_tool()\n");
	has(text, "\t--mode)\n\t\tCOMPREPLY=($(compgen -W \"slow fast best\" -- \"$cur\"))\n");
	has(text, "\t--port|-p)\n\t\treturn\n");
	has(text, "\t--name)\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n");
	has(text, "compgen -W \"run stop show\"");
	has(text, "complete -F _ut_tool ut-tool\n");
}

static void json_form(void)
{
	const char *text = form("json");

	has(text, "{\"name\": \"ut-tool\", \"version\": \"1.2\"");
	has(text,
	    "{\"name\": \"port\", \"group\": \"Numbers\", \"letter\": \"p\", \"value\": \"PORT\", "
	    "\"help\": \"where\", \"default\": \"18515\", \"low\": 0, \"high\": 65535}");
	has(text, "\"help\": \"a \\\"name\\\" that");
	has(text, "\"choices\": [\"slow\", \"fast\", \"best\"]");
	has(text, "\"usage\": \"ut-tool run FILE\\u000aut-tool stop\"");
}

UT_MAIN("lib/cli", UT(defaults), UT(values), UT(refusals), UT(of_commands), UT(files),
	UT(long_files), UT(text_form), UT(man_form), UT(bash_form), UT(json_form))
