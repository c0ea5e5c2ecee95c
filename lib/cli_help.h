/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that the forms of --help share; only cli_help.c and cli_forms.c include it.
 */
#ifndef WEFT_LIB_CLI_HELP_H
#define WEFT_LIB_CLI_HELP_H

#include "lib/cli.h"

enum {
	CLI_PHRASE_CHARS = 1024,
};

/* The help of a row, its bounds and default behind it: "how many (1 to 32; default 4)". */
void cli_help_phrase(const struct cli_option *row, char *text, size_t chars);
/* "-o, --output FILE" */
void cli_help_term(const struct cli_option *row, char *text, size_t chars);

void cli_form_man(const struct cli_program *program, FILE *f);
void cli_form_bash(const struct cli_program *program, FILE *f);
void cli_form_json(const struct cli_program *program, FILE *f);

#endif /* WEFT_LIB_CLI_HELP_H */
