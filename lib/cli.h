/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines from one table of rows. A row describes an option completely: its word, what it
 * takes, its bounds and default, the field it sets, its help. From the table come the parsing of
 * command lines and of configuration files, and --help as text, man page, bash completion or JSON.
 *
 * cli_parse() takes options in order and calls libc's getopt_long(); words may stand between
 * options, and options may be abbreviated. Not thread-safe, as getopt_long() is not.
 */
#ifndef WEFT_LIB_CLI_H
#define WEFT_LIB_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	CLI_OPTIONS_MAX = 96,
	CLI_ERROR_CHARS = 256,
};

/* Results of cli_parse(), and exit statuses; CLI_RUN: the program goes on. */
enum {
	CLI_RUN = -1,
	CLI_DONE = 0, /* --help or --version was printed */
	CLI_FAILED = 1,
	CLI_USAGE = 2,
};

enum cli_kind {
	CLI_CALL,   /* apply() takes the value */
	CLI_GROUP,  /* no option: a heading of --help */
	CLI_FLAG,   /* takes no value; sets a bool */
	CLI_NUMBER, /* a whole number from low to high into an unsigned field; K, M, G: powers of
		       1024 */
	CLI_REAL,   /* a number from least to most into a double */
	CLI_TEXT,   /* into a const char * */
	CLI_CHOICE, /* one of the words of choices; its index into an unsigned field or a bool */
};

struct cli;

struct cli_option {
	const char *name;  /* without its dashes; of a group the heading */
	char letter;       /* 0: none */
	const char *value; /* as --help names it; NULL: the option takes none */
	const char *help;  /* a phrase without a full stop; bounds and default are added to it */
	enum cli_kind kind;
	uint32_t bytes; /* of the field, at offset into the values: CLI_FIELD() */
	size_t offset;
	uint64_t low, high;  /* high 0: no bound */
	double least, most;  /* of CLI_REAL */
	const char *choices; /* "one|two|three" */
	const char
	    *initial;      /* the default as a value; stored before parsing if there is no apply */
	const char *shown; /* the default in words, where it follows from something else */
	const char *of;    /* names of the commands that take it, with blanks; NULL: all */
	/*
	 * In place of kind's storing: takes text, NULL of an option without value. cli->row is the
	 * row. False after cli_wrong().
	 */
	bool (*apply)(struct cli *cli, const char *text);
};

/* The field that a row sets. */
#define CLI_FIELD(type, member)                                                                    \
	.offset = offsetof(type, member), .bytes = sizeof(((type *)NULL)->member)

/* Fields of a row that every program may have, with .apply = cli_config: options from a file. */
#define CLI_CONFIG                                                                                 \
	.name = "config", .value = "FILE",                                                         \
	.help = "take options from FILE, lines \"word = value\" or \"word\""

/* The first word of a command line. */
struct cli_command {
	const char *name; /* a heading if usage is NULL and help is NULL */
	const char *args; /* what stands behind it, "" or NULL: nothing */
	const char *help;
};

struct cli_program {
	const char *name;
	int section;         /* of its man page */
	const char *version; /* what --version prints behind the name */
	const char *summary; /* one line of the man page: "what the program does" */
	const char *usage;   /* forms of the command line, a line each, without "Usage: " */
	const char *about;   /* paragraphs before the options */
	const char *after;   /* paragraphs behind them: exit status, examples */
	const struct cli_option *options;
	uint32_t num_options;
	const struct cli_command *commands;
	uint32_t num_commands;
	bool in_order; /* options end at the first word: what follows is another's command line */
	/* Prints what only the program knows, behind the options; NULL. */
	void (*more)(FILE *f);
};

struct cli {
	const struct cli_program *program;
	void *values;  /* fields of rows are in it */
	void *context; /* the program's own, for apply() */
	const struct cli_option *row;
	char **words; /* what is no option */
	int num_words;
	uint32_t kept_bytes;         /* of values of configuration files */
	uint32_t depth;              /* of configuration files */
	bool given[CLI_OPTIONS_MAX]; /* by row */
	char error[CLI_ERROR_CHARS]; /* one line: what is wrong and how to mend it */
};

/*
 * Stores defaults, then takes the command line. CLI_USAGE: cli->error says why, nothing is printed.
 * context may be NULL.
 */
int cli_parse(struct cli *cli, const struct cli_program *program, void *values, void *context,
	      int argc, char **argv);

/* The same; what is wrong is printed: "NAME: ERROR (NAME --help tells more)". */
int cli_take(struct cli *cli, const struct cli_program *program, void *values, void *context,
	     int argc, char **argv);

/* Fills cli->error. Returns false. */
bool cli_wrong(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints cli->error, and returns CLI_USAGE. */
int cli_say(const struct cli *cli);

/* True if the option of that word was given. */
bool cli_given(const struct cli *cli, const char *name);

/* False after cli_wrong() if an option was given that is not of this command. */
bool cli_check_command(struct cli *cli, const char *command);

/* The command of that name; NULL. */
const struct cli_command *cli_find_command(const struct cli_program *program, const char *name);

/* Values within the bounds of cli->row. False after cli_wrong(). */
bool cli_number(struct cli *cli, const char *text, uint64_t *value);
bool cli_real(struct cli *cli, const char *text, double *value);

/* Stores text as the row's value, as the command line does where there is no apply. */
bool cli_store(struct cli *cli, const struct cli_option *row, void *values, const char *text);

/*
 * Parses a whole number: all of text, without sign and blanks; hexadecimal behind 0x; K, M or G at
 * its end.
 */
bool cli_parse_number(const char *text, uint64_t *value);

/*
 * Takes one line of a configuration file into values that are complete already. False: cli->error
 * says why. context may be NULL.
 */
bool cli_line(struct cli *cli, const struct cli_program *program, void *values, void *context,
	      const char *line);

/* apply() of CLI_CONFIG. */
bool cli_config(struct cli *cli, const char *path);

/* --help=FORM: "text", "man", "bash" or "json". False: there is no such form. */
bool cli_help(const struct cli_program *program, const char *form, FILE *f);

#endif /* WEFT_LIB_CLI_H */
